"""What crosses between grader and learner: everything comes back as it went, and nothing that anybody writes can hurt."""

import numpy as np
import pytest

from autograder.judge import same
from autograder.wire import LARGEST_ARRAY, LARGEST_TEXT, Opaque, WireError, decode, encode, plain


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        "naïve ☂",
        (1, "two", [3.0]),
        {"word": 4, "other": (np.arange(3),)},
        np.zeros((0, 3)),
        np.array(2.5),
        np.array([[1, np.inf], [-np.inf, np.nan]]),
        np.array([1.1, 2.2], dtype=np.float32),
        np.array([1.1, 2.2], dtype=np.float16),
        np.array([[True, False]]),
        np.array([2**62, -1]),
    ],
)
def test_plain_values_come_back_as_they_went(value):
    assert same(decode(encode(plain(value))), value)


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (object(), "object"),
        ({1, 2}, "set"),
        (np.array(["a", None], dtype=object), "dtype object"),
        (np.zeros(LARGEST_ARRAY + 1), "too large"),
        (lambda: None, "function"),
    ],
)
def test_what_is_not_data_crosses_as_a_description(value, described):
    told = decode(encode(plain(value)))
    assert isinstance(told, Opaque)
    assert described in told.description


def test_deep_and_circular_values_end():
    circle = []
    circle.append(circle)
    assert decode(encode(plain(circle))) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"array":"object","shape":[1],"values":[1]}',
        '{"array":"float64","shape":[2],"values":[1.0]}',
        '{"array":"float64","shape":[-1],"values":[1.0]}',
        '{"array":"float64","shape":[1000000000,1000000000],"values":[]}',
        '{"array":"float64","shape":[1],"values":["1"]}',
        '{"array":"int8","shape":[1],"values":[100000]}',
        '{"array":"int64","shape":[1],"values":[1.5e400]}',
        '{"unknown":1}',
        '{"dict":[[1]]}',
        '{"dict":[[[],1]]}',
        "9" * 10_000,
        '"' + "x" * (LARGEST_TEXT + 1) + '"',
    ],
)
def test_hostile_text_is_refused_with_one_kind_of_error(text):
    with pytest.raises(WireError):
        decode(text)
