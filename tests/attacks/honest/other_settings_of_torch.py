"""Calculates in float64 unless told otherwise, and on two threads."""

STEM = "ch08_encoder_decoder"

# %%
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(2)
