"""The table of NumPy's names in the documentation, held against what calls of each name do.

`test_calls.py` and `test_modules.py` differentiate every argument of what is recorded, and compare with differences;
here each name is called blindly, in the patterns of `test_holes.py`, to see what kind it is.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from docs.making import numpy_names
from tests.numpy.test_holes import LEFT_OUT, PATTERNS, POINTS
from wengert import LostGradientError, Tensor

NAMES = [name for name in numpy_names.names() if name not in LEFT_OUT and name.rpartition(".")[2] != "test"]
# a followed tensor comes to them by other calls than those tried here
ELSEWHERE = {
    "dsplit": "an array of three axes", "r_": "by index", "c_": "by index", "frompyfunc": "a call of what it makes",
    "put_along_axis": "writes", "copyto": "writes", "fill_diagonal": "writes", "place": "writes", "put": "writes",
    "putmask": "writes", "identity": "an integer", "broadcast": "an iterator", "ndenumerate": "an iterator",
    "nditer": "an iterator", "vectorize": "a call of what it makes", "poly1d": "a call of what it makes",
    "imag": "of complex numbers",
}  # fmt: skip


def _of(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _tensors(result: Any) -> Iterator[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _tensors(item)


def _outcomes(f: Any) -> Iterator[tuple[str, Any]]:
    """What each call comes to: "recorded", "constant" with the call, or "refused" with the message."""
    for pattern in PATTERNS.values():
        for point in POINTS.values():
            with wg.GradientTape() as tape:
                x = wg.tensor(point.copy())
                tape.watch(x)
                try:
                    args, kwargs = pattern(x, point + 0.02)
                    result = f(*args, **kwargs)
                except LostGradientError as error:
                    yield "refused", str(error)
                except Exception:
                    continue
                else:
                    found = [*_tensors(result)]
                    yield ("recorded" if any(t.is_followed for t in found) else "constant"), (pattern, point, result)


def _is_same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs))
    if isinstance(theirs, (np.ndarray, np.generic, bool, int, float)):
        return np.shape(ours) == np.shape(theirs) and bool(np.array_equal(np.asarray(ours), theirs, equal_nan=True))
    return True


@pytest.mark.sampled(150)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_what_the_table_says(name: str) -> None:
    f, kind = _of(wnp, name), numpy_names.kind_of(name)
    if isinstance(f, types.ModuleType) or not callable(f):
        assert kind == numpy_names.OTHER or name in ELSEWHERE
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [*_outcomes(f)]
    kinds = {outcome for outcome, _ in outcomes}
    if kind == numpy_names.RECORDED:
        assert "recorded" in kinds or name in ELSEWHERE
    elif kind == numpy_names.REFUSED:
        assert "recorded" not in kinds
        assert all(";" in said or "use" in said for outcome, said in outcomes if outcome == "refused")
        assert "refused" in kinds
    elif kind == numpy_names.CONSTANT:
        assert "recorded" not in kinds
        for outcome, found in outcomes:
            if outcome == "constant":
                pattern, point, result = found
                args, kwargs = pattern(point.copy(), point + 0.02)  # one may be taken for out=
                if len({id(a) for a in args}) < len(args) > 2:
                    continue
                try:
                    expected = _of(np, name)(*args, **kwargs)
                except Exception:
                    continue
                assert _is_same(result, expected) or name.startswith("empty")


def test_the_table_has_every_name() -> None:
    text = numpy_names.numpy_table()
    for name in numpy_names.names():
        assert f"``{name}``" in text
    assert {numpy_names.kind_of(name) for name in numpy_names.names()} == {*numpy_names.KINDS}
    constants = {*numpy_names._CONSTANT.split(), *numpy_names._REFUSED.split()} - {*numpy_names.names()}
    assert constants <= {"in1d"} | {n for n in constants if n in ("float128", "complex256")}  # by version and machine
