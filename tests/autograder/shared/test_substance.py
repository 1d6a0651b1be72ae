"""An answer in another form is judged by what it says."""

import numpy as np
import pytest

from autograder.shared.substance import like
from autograder.shared.wire import Tensor

MASK = Tensor(np.array([[[[True, False], [True, True]]]]), "bool")


@pytest.mark.parametrize(
    ("wanted", "got", "form"),
    [
        (np.eye(2), np.eye(2, dtype=np.int64), np.eye(2)),
        (np.eye(2), np.eye(2, dtype=bool), np.eye(2)),
        (np.array([3, 4]), np.array([3.0, 4.0]), np.array([3, 4])),
        (np.array([3, 4]), np.array([3.0, 4.5]), np.array([3.0, 4.5])),
        (np.eye(2, dtype=np.float32), np.eye(2), np.eye(2)),
        (np.eye(2), np.eye(2, dtype=complex), np.eye(2, dtype=complex)),
        (np.eye(2), [1.0], [1.0]),
    ],
)
def test_the_dtype_is_the_wanted_one_where_nothing_is_lost(wanted, got, form):
    brought = like(wanted, got)
    assert getattr(brought, "dtype", None) == getattr(form, "dtype", None)
    assert np.array_equal(brought, form)


@pytest.mark.parametrize(
    ("wanted", "got", "form"),
    [
        (3, 3.0, 3),
        (3.0, 3, 3.0),
        (3, 3.5, 3.5),
        (3, float("nan"), float("nan")),
        (3, float("inf"), float("inf")),
        (2**60, 2.0**60, 2.0**60),
        (3, True, True),
    ],
)
def test_a_whole_number_may_be_a_float(wanted, got, form):
    brought = like(wanted, got)
    assert type(brought) is type(form)
    assert str(brought) == str(form)


@pytest.mark.parametrize(
    ("wanted", "got", "form"),
    [
        (0.5, Tensor(np.array(0.5, dtype=np.float32), "float32"), 0.5),
        (0.5, np.array(0.5), 0.5),
        (3, Tensor(np.array(3), "int64"), 3),
        (3, Tensor(np.array(3.0, dtype=np.float32), "float32"), 3),
    ],
)
def test_a_tensor_without_axes_is_a_number(wanted, got, form):
    brought = like(wanted, got)
    assert type(brought) is type(form)
    assert brought == form


@pytest.mark.parametrize("got", [np.array([0.5]), Tensor(np.array(True), "bool")], ids=str)
def test_any_other_tensor_is_no_number(got):
    assert like(0.5, got) is got


def test_a_mask_that_broadcasts_is_the_mask():
    brought = like(MASK, Tensor(np.array([[1, 0], [1, 1]]), "int64"))
    assert brought.dtype == "bool"
    assert np.array_equal(brought.values, MASK.values)
    other = Tensor(np.ones((3, 3), dtype=bool), "bool")
    assert like(MASK, other).values.shape == (3, 3)
