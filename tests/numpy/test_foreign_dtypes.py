"""Arrays of strings, dates, records and objects in a program that is differentiated: NumPy's own functions have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.errors import LostGradientError

NAMES = np.array(["b", "a", "b", "c", "a"])
DATES = np.array(["2020-01-01", "2020-03-05", "2020-02-02"], dtype="datetime64[D]")

LINES = """
np.array(["a", "b"]); np.array([None, 1], dtype=object); np.array([["a", 1], ["b", 2]]); np.array(["2020"], dtype="M8[Y]")
np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])["b"]; np.asarray(["q"]); np.array([[1], [2, 3]], dtype=object)
np.empty(3, dtype=object); np.empty(2, "U3").dtype; np.full(2, "x"); np.zeros(2, "U3"); np.zeros(2, [("a", float)])
np.arange("2020-01", "2020-04", dtype="M8[M]"); np.zeros_like(DATES); np.array(["1.5", "2"]).astype(float)
np.unique(NAMES); np.unique(NAMES, return_inverse=True)[1]; np.argsort(NAMES, kind="stable"); np.sort(DATES)
np.equal(NAMES, "a"); np.less(DATES[0], DATES); np.subtract(DATES[1], DATES); np.absolute(DATES - DATES[1])
np.isin(NAMES, ["a", "c"]); np.isin("a", ["a", "c"]); np.setdiff1d(NAMES, ["a"]); np.where([True, False], "a", "b")
np.concatenate([NAMES, NAMES]); np.stack([NAMES, NAMES]); np.tile(NAMES, 2); np.repeat(NAMES, 2); np.take(NAMES, [0, 1])
np.diff(DATES); np.max(DATES); np.argmax(DATES); np.mean(DATES - DATES[0]); np.searchsorted(np.sort(DATES), DATES[1])
np.lexsort((NAMES,)); np.array_equal(NAMES, NAMES); np.select([[True, False]], [["a", "b"]], "z"); np.atleast_1d("a")
np.minimum(DATES[:2], DATES[1:]); np.reshape(NAMES[:4], (2, 2)); np.flip(NAMES); np.copy(NAMES); np.ravel(NAMES)
"""
CALLS = [call.strip() for line in LINES.strip().splitlines() for call in line.split("; ")]


@pytest.mark.filterwarnings("ignore:.* reads eval, which")  # calls are texts of this file, which stay as they are
def test_they_are_numpys() -> None:
    def f(x: Any) -> Any:
        for call in CALLS:
            wanted = eval(call, {"np": np, "NAMES": NAMES, "DATES": DATES})
            found = eval(call, {"np": wnp, "NAMES": NAMES, "DATES": DATES})
            if isinstance(found, wg.Tensor):
                found = found.numpy()
            assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None), call
            np.testing.assert_array_equal(found, wanted, err_msg=call)
        return (x[wnp.equal(NAMES, "a")] * wnp.array([2.0, 3.0])).sum()

    for g in (wg.grad(f), wg.function(wg.grad(f))):
        np.testing.assert_array_equal(g(np.arange(5.0)), [0, 2, 0, 0, 3])


def test_they_are_written_into() -> None:
    names = NAMES.copy()
    wnp.copyto(names, "x", where=DATES.size < 9)
    wnp.put(names, [1], "y")
    wnp.putmask(names, names == "y", "z")
    assert [*names] == ["x", "z", "x", "x", "x"]


def test_what_is_followed_or_wrong_is_refused_as_before() -> None:
    def refused(f: Any, kind: Any, match: str) -> None:
        with pytest.raises(kind, match=match):
            wg.grad(lambda x: (f(x), x.sum())[1])(np.arange(3.0))

    refused(lambda x: wnp.concatenate([x, NAMES]), TypeError, "<U1")
    refused(lambda x: wnp.array([x[0], "a"]), TypeError, "wanted numbers")
    refused(lambda x: wnp.add(x, "a"), TypeError, "str")
    refused(lambda x: wnp.sum(DATES), TypeError, "datetime64")  # NumPy does not add them either
    refused(lambda x: wnp.array([1.0, 2.0], order="Z"), TypeError, "order")
    refused(lambda x: np.array([x, x]), LostGradientError, "np.array")
    calls: list[Any] = []

    def mine(row: Any) -> Any:
        calls.append(row)
        raise TypeError("mine")

    refused(lambda x: wnp.apply_along_axis(mine, 0, DATES), TypeError, "datetime64")
    refused(lambda x: wnp.apply_along_axis(mine, 0, x), TypeError, "mine")
    assert len(calls) == 1
