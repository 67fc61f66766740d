"""The machinery of the native engine's conformance tests: one program run as machine code and by NumPy's kernels.

The reference never meets machine code: while it runs, a native segment that is called raises.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import op_checks as checks

from wengert._control.call import Program
from wengert._core.graph import Graph
from wengert._engines.native import engine
from wengert._engines.numpy import NUMPY
from wengert._engines.numpy.execute import executable
from wengert._engines.refine import COMPILED

Array = np.ndarray[Any, Any]


@contextmanager
def numpy_only() -> Iterator[None]:
    """What is compiled inside runs by NumPy's kernels, and nothing inside runs as machine code."""
    before = os.environ.get("WENGERT_JIT")
    run = engine.Segment.run

    def refused(self: Any, *natives: Any) -> Any:
        raise AssertionError("machine code ran in the reference")

    os.environ["WENGERT_JIT"] = "0"
    engine.Segment.run = refused  # type: ignore[method-assign]
    try:
        yield
    finally:
        engine.Segment.run = run  # type: ignore[method-assign]
        if before is None:
            del os.environ["WENGERT_JIT"]
        else:
            os.environ["WENGERT_JIT"] = before


def outcome(run: Callable[[], Any]) -> Any:
    """The results as arrays, or the exception's type."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in run()]
    except Exception as error:  # noqa: BLE001  # which one it is, is compared
        return type(error)


class Pair:
    """One graph as machine code and as NumPy's kernels.

    Args:
        make: traces the graph; called twice, since programs inside keep what they were compiled to.
    """

    def __init__(self, make: Callable[[], Graph]) -> None:
        self.graph = make()
        self.native = executable(Program(self.graph), NUMPY.kernels)
        with numpy_only():
            self.plain = executable(Program(make()), NUMPY.kernels)

    def both(self, natives: Sequence[Any]) -> tuple[Any, Any]:
        """What the two give; each gets copies of its own."""
        found = outcome(lambda: self.native(*[x.copy() for x in natives]))
        with numpy_only():
            return found, outcome(lambda: self.plain(*[x.copy() for x in natives]))


def segments(run: Callable[..., Any]) -> list[Any]:
    """The native segments that an executable calls."""
    space = getattr(run, "__globals__", {})
    return [x for x in space.values() if isinstance(x, engine.Segment)]


def require_same(found: Any, wanted: Any, what: str, tolerance: dict[str, float] | None = None) -> None:
    """The same types, shapes, dtypes, NaN, infinities and signs of zeros; values to the bit, or to a tolerance.

    Args:
        found: arrays, or an exception's type.
        wanted: by NumPy's kernels.
        tolerance: by the dtype's name, relative to the largest entry; None: to the bit.
    """
    if isinstance(wanted, type) or isinstance(found, type):
        assert found is wanted, f"{what}: machine code gives {found}, NumPy's kernels {wanted}"
        return
    assert len(found) == len(wanted), f"{what}: {len(found)} results, wanted {len(wanted)}"
    for place, (x, y) in enumerate(zip(found, wanted, strict=True)):
        where = f"{what}: result {place}"
        assert x.shape == y.shape, f"{where} has shape {x.shape}, wanted {y.shape}"
        assert x.dtype == y.dtype, f"{where} has dtype {x.dtype}, wanted {y.dtype}"
        if x.dtype == object:
            continue
        if tolerance is None or x.dtype.kind not in "fc":
            _require_bits(x, y, where)
        else:
            _require_near(x, y, tolerance[x.dtype.name], where)


def _require_bits(x: Array, y: Array, where: str) -> None:
    same = (x == y) | ((x != x) & (y != y))
    if x.dtype.kind == "f":
        same &= (np.signbit(x) == np.signbit(y)) | (x != x)
    assert np.all(same), f"{where} differs at {np.argwhere(~same)[:5].tolist()}: {x[~same][:5]}, wanted {y[~same][:5]}"


def _require_near(x: Array, y: Array, tolerance: float, where: str) -> None:
    kinds = (np.isnan(x) == np.isnan(y)) & (np.isinf(x) == np.isinf(y)) & (~np.isinf(y) | (x == y))
    assert np.all(kinds), f"{where}: NaN or infinite at other places {np.argwhere(~kinds)[:5].tolist()}: {x[~kinds][:5]}, wanted {y[~kinds][:5]}"
    some = np.isfinite(y)
    if np.any(some):
        error = np.max(np.abs(x[some] - y[some]))
        bound = tolerance * max(np.max(np.abs(y[some])), np.finfo(x.dtype).tiny)
        assert error <= bound, f"{where} differs by {error}, allowed are {bound}: {x}, wanted {y}"
