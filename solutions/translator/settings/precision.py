"""In which precision matrices are multiplied."""

import contextlib
from dataclasses import replace

import torch

from solutions.translator.settings.fields import SettingsError

DTYPES = {
    "float32": torch.float32,
    "tf32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def fastest():
    """Return the narrowest precision that this machine has instructions for. An older GPU has some
    for float16 alone; PyTorch emulates bfloat16 there, and that is slow.
    """
    if torch.cuda.is_available():
        native = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if native else "float16"
    return "bfloat16" if torch.cpu._is_avx512_bf16_supported() else "float32"


def resolved(settings):
    """Return Settings whose precision is not "auto" but what that is on this machine.

    Raises:
        SettingsError: where this machine cannot have the precision, or cannot record.
    """
    if settings.recorded and not torch.cuda.is_available():
        raise SettingsError("recorded is for a GPU, and there is none here; leave out --recorded")
    if settings.precision == "tf32" and not torch.cuda.is_available():
        raise SettingsError("precision tf32 is for a GPU, and there is none here; give float32")
    return replace(settings, precision=fastest()) if settings.precision == "auto" else settings


def products_in(precision, device):
    """Return a context in which matrix products have a precision.

    Args:
        precision: a key of `DTYPES`.
        device: torch.device on which they are computed.
    """
    dtype = DTYPES[precision]
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32)


@contextlib.contextmanager
def float32_products_in(precision, device):
    """Have a GPU round what float32 products multiply to 10 bits (TF32), unless the precision is
    float32. On a CPU nothing changes.

    Args:
        precision: a key of `DTYPES`.
        device: torch.device on which they are computed.
    """
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
