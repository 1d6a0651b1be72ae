"""Colours that tell things apart still do so for people who see fewer of them: checked by
simulation.
"""

import itertools

import numpy as np
import pytest

from book.figures.style import STYLE
from book.palette import ROLES, SERIES, colours

# What somebody without one kind of cone sees, for linear RGB: Machado, Oliveira and Fernandes
# (2009), severity 1.
DEFICIENCIES = {
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
WHITE = TO_XYZ.sum(axis=1)
CLEARLY = 10  # CIELAB distance; 2.3 is just noticeable side by side
READABLE = 4.5  # contrast of a word on its ground: WCAG 2.2, level AA
GROUNDS = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#121212", "#29313d")}


def linear(colour):
    """Return a "#rrggbb" as linear RGB from 0 to 1."""
    values = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIELAB coordinates of linear RGB, seen in daylight."""
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def closest(colours, matrix):
    """Return the smallest distance between two of the colours, as somebody with a deficiency sees
    them.
    """
    seen = [lab(np.array(matrix) @ linear(colour)) for colour in colours]
    return min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))


def test_the_simulation_takes_red_for_green():
    red_and_green = ["#c04000", "#5a7a00"]
    assert closest(red_and_green, np.eye(3)) > 50
    assert closest(red_and_green, DEFICIENCIES["no green cones"]) < CLEARLY


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_lines_of_a_figure_stay_apart(deficiency):
    colours = [each["color"] for each in STYLE["axes.prop_cycle"]]
    assert len(colours) == 5
    assert closest(colours, DEFICIENCIES[deficiency]) > CLEARLY


@pytest.mark.parametrize("sight", [*DEFICIENCIES, "all cones"])
@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("names", [ROLES, SERIES], ids=["roles", "series"])
def test_the_colours_of_a_theme_stay_apart(names, theme, sight):
    shown = [colours(theme)[name] for name in names]
    assert closest(shown, DEFICIENCIES.get(sight, np.eye(3))) > CLEARLY


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("role", ROLES)
def test_a_role_can_be_read_as_a_word(role, theme):
    shown = luminance(colours(theme)[role])
    for ground in map(luminance, GROUNDS[theme]):
        assert (max(shown, ground) + 0.05) / (min(shown, ground) + 0.05) > READABLE


def luminance(colour):
    """Return how bright a "#rrggbb" is, from 0 to 1."""
    return float(TO_XYZ[1] @ linear(colour))
