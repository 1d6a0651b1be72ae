"""What crosses between grader and learner: everything comes back as it went, and nothing that
anybody writes can hurt.
"""

import json

import numpy as np
import pytest

from autograder.shared.tolerances import same
from autograder.shared.wire import (
    LARGEST_ARRAY,
    LARGEST_TEXT,
    Opaque,
    WireError,
    decode,
    encode,
    from_json,
    plain,
    to_json,
)


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
        np.array([[1.5, -0.0], [2.5, 3.5]], dtype=">f8"),
        np.arange(6).reshape(2, 3).T,
    ],
)
def test_plain_values_come_back_as_they_went(value):
    assert same(decode(encode(plain(value))), value)
    assert same(from_json(json.loads(json.dumps(to_json(plain(value))))), value)  # as in a file


def test_arrays_that_came_can_be_written_to():
    array = decode(encode(np.zeros(3)))
    array[0] = 1
    assert array.tolist() == [1, 0, 0]


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
        '{"array":"bool","shape":[0,4611686018427387904],"values":[]}',
        '{"array":"float64","shape":[1],"values":["1"]}',
        '{"array":"int8","shape":[1],"values":[100000]}',
        '{"array":"int64","shape":[1],"values":[1.5e400]}',
        '{"array":"float64","shape":[1],"bytes":"AAAA"}',
        '{"array":"float64","shape":[2],"bytes":"AAAAAAAAAAA="}',
        '{"array":"int8","shape":[3],"bytes":"A*AAA"}',
        '{"array":"int8","shape":[3],"bytes":"ü"}',
        '{"array":"object","shape":[1],"bytes":"AAAAAAAAAAA="}',
        '{"tensor":"bfloat16","shape":[2],"bytes":"AAAAAA=="}',
        '{"tensor":"object","shape":[1],"bytes":"AAAA"}',
        '{"array":"int8","shape":[3],"bytes":["AAAA"]}',
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


def test_any_bytes_are_truth_values():
    value = decode('{"array":"bool","shape":[3],"bytes":"AAL/"}')
    assert value.tolist() == [False, True, True]
    assert value.view("uint8").tolist() == [0, 1, 1]


def test_a_list_of_more_items_than_any_answer_has_is_refused_unread():
    with pytest.raises(WireError, match="more than 100,000 parts"):
        decode(f"[{','.join(['-9'] * 100_001)}]")
    assert len(decode(f"[{','.join(['-9'] * 50_000)}]")) == 50_000
