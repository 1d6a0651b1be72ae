"""How far a right answer may lie from the reference: one table for all checks."""

# By dtype: (relative, absolute). Right answers may add in another order, or subtract a logarithm
# where the reference divides; they stay a hundred times closer than this; in half precision, where
# each step rounds at 0.1 % or 0.4 %, a few times. What must hold exactly (a weight of 0, a weight
# of 1) is a law of its own, not a number to compare.
TOLERANCES = {
    "float64": (1e-8, 1e-10),
    "float32": (1e-4, 1e-6),
    "float16": (1e-2, 4e-3),
    "bfloat16": (4e-2, 3e-2),
}
