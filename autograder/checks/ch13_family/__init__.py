"""Checks of `ch13_family`.

The contract leaves open, and so nothing here asks: what becomes of spans that overlap, are empty or
come in another order; of a `patch_size` below 1; of positions that are negative, fractions, or have
a batch of their own; of angles in float64, where those of float32 do; whether `RMSNorm` rounds to
the dtype of `x` before its weight, too; in which dtype `SwiGLU` multiplies; how the layers of
`SwiGLU` are initialised.
"""
