"""GPUs as their data sheets describe them: what chapter 10 calculates with.

Peaks are those without sparsity; the one of float32 is that of the ordinary units, and "tf32" that
of the matrix units, which multiply float32 numbers rounded to TF32.
"""

H100 = {
    "name": "H100, 80 GB (data sheet)",
    "multiprocessors": 132,
    "bandwidth": 3.35e12,  # bytes a second
    "memory": 80e9,  # bytes
    "peak": {"float32": 67e12, "bfloat16": 989e12},  # FLOPs a second
    "tf32": 495e12,
}
A100 = {
    "name": "A100, 40 GB (data sheet)",
    "multiprocessors": 108,
    "bandwidth": 1.555e12,
    "memory": 40e9,
    "peak": {"float32": 19.5e12, "bfloat16": 312e12},
    "tf32": 156e12,
}
RTX_4090 = {
    "name": "RTX 4090, 24 GB (data sheet)",
    "multiprocessors": 128,
    "bandwidth": 1.008e12,
    "memory": 24e9,
    "peak": {"float32": 82.6e12, "bfloat16": 165.2e12},
    "tf32": 82.6e12,
}
T4 = {  # its matrix units know float16, and not bfloat16
    "name": "T4, 16 GB (data sheet)",
    "multiprocessors": 40,
    "bandwidth": 0.32e12,
    "memory": 16e9,
    "peak": {"float32": 8.1e12, "float16": 65e12},
}
SHEETS = (H100, A100, RTX_4090, T4)


def sixteen_bits(sheet):
    """Return the format of 16 bits that a device's matrix units multiply."""
    return next(name for name in sheet["peak"] if name != "float32")


def sheet_of(name):
    """Return the data sheet of a GPU by the name that PyTorch gives it, or None where it is none of
    these: an A100 with 80 GB or an H100 for PCIe has other speeds.
    """
    names = {"H100 80GB HBM3": H100, "A100-SXM4-40GB": A100, "RTX 4090": RTX_4090, "Tesla T4": T4}
    return next((sheet for known, sheet in names.items() if name.endswith(known)), None)
