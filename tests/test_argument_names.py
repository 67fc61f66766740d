"""Errors about arguments of transforms name the transform that was called, and the argument."""

import numpy as np
import pytest

import wengert as wg

RAGGED = [[1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda f: f(1.0, RAGGED), "function: y:"),
        (lambda f: f(1.0, y={"a": RAGGED}), "function: y"),
        (lambda f: f.trace(RAGGED, 1.0), "function: x:"),
        (lambda f: wg.function(lambda v: f(v, RAGGED))(1.0), "function: y:"),
    ],
)
def test_a_ragged_list_is_refused_by_the_name_of_its_argument(call, place):
    with pytest.raises(ValueError, match=f"{place}.*the nested list is ragged") as told:
        call(wg.function(lambda x, y: x))
    assert "[[1.0], [2.0, 3.0]]" in str(told.value)


def test_the_transpose_of_a_linear_function_tells_errors_by_its_own_name():
    transpose = wg.linear_transpose(lambda x: 2 * x, 1.0)
    assert transpose(3.0) == (6.0,)
    with pytest.raises(ValueError, match=r"^linear_transpose.*: the cotangent has shape \(3,\)"):
        transpose(np.ones(3))
    with pytest.raises(TypeError, match="^linear_transpose: .*int64"):
        wg.linear_transpose(lambda x: x, np.ones(2, int))
