"""Positional encodings as others write them."""

import math

import numpy as np
import torch

from solutions import ch02_positional_encoding as reference
from tests.strangers import keeps


def table_in_float32(seq_len, d_model):
    table = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    rates = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)
    return table.numpy()


@keeps(
    0.9,
    "a PyTorch table: float32, also at positions in the thousands",
    most=0.99,
    of="sinusoidal_encoding",
)
def refusing_odd_widths(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    return table_in_float32(seq_len, d_model)


@keeps(
    0.6, "float32, and an odd width fails in words of PyTorch", most=0.9, of="sinusoidal_encoding"
)
def of_any_width(seq_len, d_model):
    return table_in_float32(seq_len, d_model)


@keeps(0, "each column has an angle of its own", most=0.3, of="sinusoidal_encoding")
def one_angle_a_column(seq_len, d_model):
    encoding = np.zeros((seq_len, d_model))
    for position in range(seq_len):
        for i in range(d_model):
            angle = position / 10000 ** (i / d_model)
            encoding[position, i] = np.sin(angle) if i % 2 == 0 else np.cos(angle)
    return encoding


@keeps(0.9, "its blocks are float32", most=0.99, of="offset_matrix")
def blocks_in_float32(offset, d_model):
    matrix = np.zeros((d_model, d_model), dtype=np.float32)
    for i in range(0, d_model, 2):
        turn = offset / 10000 ** (i / d_model)
        matrix[i : i + 2, i : i + 2] = [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    return matrix


def turned_by(angles, x):
    cosines, sines = np.cos(angles), np.sin(angles)
    turned = np.empty(x.shape, np.result_type(x, angles))
    turned[..., ::2] = x[..., ::2] * cosines - x[..., 1::2] * sines
    turned[..., 1::2] = x[..., ::2] * sines + x[..., 1::2] * cosines
    return turned


def angles_of(positions, width, dtype):
    if width % 2:
        raise ValueError("head_dim must be even")
    rates = 1.0 / 10000 ** (np.arange(0, width, 2, dtype=dtype) / width)
    return np.outer(positions.astype(dtype), rates.astype(dtype))


@keeps(
    0.9, "its angles are float32, also at positions in the thousands", most=0.99, of="apply_rotary"
)
def by_float32_angles(x, positions):
    return turned_by(angles_of(positions, x.shape[-1], np.float32), x)


@keeps(0.9, "float64 comes out", most=0.99, of="apply_rotary")
def into_float64(x, positions):
    return turned_by(angles_of(positions, x.shape[-1], np.float64), x)


@keeps(0.45, "x has two axes", most=0.7, of="apply_rotary")
def of_one_head(x, positions):
    seq_len, width = x.shape
    if width % 2:
        raise ValueError("head_dim must be even")
    turned = np.empty_like(x)
    for row in range(seq_len):
        turned[row] = reference.apply_rotary(x[row : row + 1], positions[row : row + 1])[0]
    return turned


@keeps(0.15, "the first half turns with the second, as in GPT-NeoX", most=0.45, of="apply_rotary")
def half_with_half(x, positions):
    width = x.shape[-1]
    angles = np.tile(angles_of(positions, width, np.float64), 2)
    first, second = np.split(x, 2, axis=-1)
    swapped = np.concatenate([-second, first], axis=-1)
    return (x * np.cos(angles) + swapped * np.sin(angles)).astype(x.dtype)
