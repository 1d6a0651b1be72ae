"""Sines, cosines and rotations, each with two faults."""

import numpy as np

from tests.two_faults import collector

PAIRS = []
two_faults = collector(PAIRS)


def refuse_odd(width):
    if width % 2:
        raise ValueError("the width must be even")


@two_faults("sinusoidal_encoding", "i is the number of the column", "the result may be float32")
def doubled_exponent_in_float32(seq_len, d_model):
    refuse_odd(d_model)
    table = np.zeros((seq_len, d_model), dtype=np.float32)
    position = np.arange(seq_len)[:, None]
    for i in range(0, d_model, 2):
        angle = position / 10000 ** (2 * i / d_model)
        table[:, i : i + 1] = np.sin(angle)
        table[:, i + 1 : i + 2] = np.cos(angle)
    return table


@two_faults("sinusoidal_encoding", "every column has an angle of its own", "positions count from 1")
def an_angle_a_column_from_one(seq_len, d_model):
    refuse_odd(d_model)
    angles = np.arange(1, seq_len + 1)[:, None] / 10000 ** (np.arange(d_model) / d_model)
    table = np.zeros((seq_len, d_model))
    table[:, 0::2] = np.sin(angles[:, 0::2])
    table[:, 1::2] = np.cos(angles[:, 1::2])
    return table


@two_faults(
    "sinusoidal_encoding",
    "the sines come first, then the cosines",
    "an odd width just loses its last cosine",
)
def halves_of_any_width(seq_len, d_model):
    angles = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[:, :d_model]


@two_faults("sinusoidal_encoding", "cosine comes first", "the base is 1000")
def cosine_first_with_base_1000(seq_len, d_model):
    refuse_odd(d_model)
    angles = np.arange(seq_len)[:, None] / 1000 ** (np.arange(0, d_model, 2) / d_model)
    table = np.zeros((seq_len, d_model))
    table[:, 0::2] = np.cos(angles)
    table[:, 1::2] = np.sin(angles)
    return table


@two_faults(
    "sinusoidal_encoding",
    "the exponent runs from 0 to one half",
    "an odd width just loses its last cosine",
)
def half_exponent_of_any_width(seq_len, d_model):
    table = np.zeros((seq_len, d_model))
    for i in range((d_model + 1) // 2):
        angle = np.arange(seq_len) / 10000 ** (i / d_model)
        table[:, 2 * i] = np.sin(angle)
        if 2 * i + 1 < d_model:
            table[:, 2 * i + 1] = np.cos(angle)
    return table


@two_faults("offset_matrix", "the usual rotation matrix will do", "i is the number of the column")
def usual_rotation_with_doubled_exponent(offset, d_model):
    matrix = np.zeros((d_model, d_model))
    for i in range(0, d_model, 2):
        angle = offset / 10000 ** (2 * i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = np.cos(angle)
        matrix[i, i + 1], matrix[i + 1, i] = -np.sin(angle), np.sin(angle)
    return matrix


@two_faults("offset_matrix", "all pairs turn at one rate", "both sines have the same sign")
def one_rate_and_one_sign(offset, d_model):
    matrix = np.eye(d_model) * np.cos(offset)
    for i in range(0, d_model, 2):
        matrix[i, i + 1] = matrix[i + 1, i] = np.sin(offset)
    return matrix


@two_faults(
    "offset_matrix", "only the size of the offset matters", "sines and cosines stand in halves"
)
def size_of_the_offset_in_halves(offset, d_model):
    angles = abs(offset) / 10000 ** (np.arange(0, d_model, 2) / d_model)
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cosines, sines], [-sines, cosines]])


def rotated(x, angles, first, second, dtype):
    refuse_odd(x.shape[-1])
    turned = np.empty(x.shape, dtype=dtype)
    turned[..., first] = x[..., first] * np.cos(angles) - x[..., second] * np.sin(angles)
    turned[..., second] = x[..., first] * np.sin(angles) + x[..., second] * np.cos(angles)
    return turned


def angles_of(positions, head_dim):
    return positions[:, None] / 10000 ** (np.arange(0, head_dim, 2) / head_dim)


@two_faults(
    "apply_rotary",
    "the first half turns with the second",
    "the result is float64 whatever comes in",
)
def halves_in_float64(x, positions):
    half = x.shape[-1] // 2
    angles = angles_of(positions, x.shape[-1])
    return rotated(x, angles, slice(half), slice(half, None), np.float64)


@two_faults(
    "apply_rotary", "rows stand at 0, 1, 2 and so on", "the sign of the sine does not matter"
)
def counted_and_turned_back(x, positions):
    angles = -angles_of(np.arange(x.shape[-2]), x.shape[-1])
    return rotated(x, angles, slice(0, None, 2), slice(1, None, 2), x.dtype)


@two_faults(
    "apply_rotary",
    "the caller's x is free to be turned",
    "the first number can be replaced before the second is made",
)
def turned_in_place(x, positions):
    refuse_odd(x.shape[-1])
    angles = angles_of(positions, x.shape[-1])
    x[..., 0::2] = x[..., 0::2] * np.cos(angles) - x[..., 1::2] * np.sin(angles)
    x[..., 1::2] = x[..., 0::2] * np.sin(angles) + x[..., 1::2] * np.cos(angles)
    return x


@two_faults("apply_rotary", "an odd width leaves a feature over", "positions count from 1")
def odd_widths_from_one(x, positions):
    head_dim = x.shape[-1]
    even = head_dim - head_dim % 2
    angles = (positions[:, None] + 1) / 10000 ** (np.arange(0, even, 2) / head_dim)
    turned = x.copy()
    turned[..., :even] = rotated(
        x[..., :even], angles, slice(0, None, 2), slice(1, None, 2), x.dtype
    )
    return turned
