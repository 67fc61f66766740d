"""The machinery of the native engine's conformance tests: one program run as machine code and by NumPy's kernels.

The reference never meets machine code: while it runs, a native segment that is called raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support import op_checks as checks
from wengert._control.call import Program
from wengert._core import dtypes
from wengert._core.graph import Graph
from wengert._core.op import Op
from wengert._engines.native import engine
from wengert._engines.native.llvm import jit
from wengert._engines.numpy.execute import executable

Array = np.ndarray[Any, Any]
TOLERANCE = {
    "float64": 1e-12,
    "float32": 1e-5,
    "float16": 1e-2,
    "complex64": 1e-5,
    "complex128": 1e-12,
}  # of the largest entry
DTYPES = [
    np.dtype(d)
    for d in ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")
]


def noted_modules(monkeypatch: pytest.MonkeyPatch, title: str | None = None) -> list[str]:
    """The modules that LLVM compiles from here on, of one title if it is given; nothing is taken from disk."""
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    seen: list[str] = []
    original = jit.compiled

    def noting(ir: str, own: str, *effort: Any) -> bytes:
        if title in (None, own):
            seen.append(ir)
        return original(ir, own, *effort)

    monkeypatch.setattr(jit, "compiled", noting)
    return seen


@contextmanager
def numpy_only() -> Iterator[None]:
    """What is compiled inside runs by NumPy's kernels, and nothing inside runs as machine code."""

    def refused(self: Any, *natives: Any) -> Any:
        raise AssertionError("machine code ran in the reference")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_JIT", "0")
        patch.setattr(engine.Segment, "run", refused)
        yield


def outcome(run: Callable[[], Any]) -> Any:
    """The results as arrays, or the type of an exception that kernels raise for what they cannot compute."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in run()]
    except (ArithmeticError, IndexError, MemoryError, ValueError, np.linalg.LinAlgError) as error:
        return type(error)


class Pair:
    """One graph as machine code and as NumPy's kernels.

    Args:
        make: traces the graph; called twice, since programs inside keep what they were compiled to.
    """

    def __init__(self, make: Callable[[], Graph]) -> None:
        self.native = executable(Program(make()))
        with numpy_only():
            self.plain = executable(Program(make()))

    def both(self, natives: Sequence[Any]) -> tuple[Any, Any]:
        """What the two give; each gets copies of its own."""
        found = outcome(lambda: self.native(*[x.copy() for x in natives]))
        with numpy_only():
            return found, outcome(lambda: self.plain(*[x.copy() for x in natives]))

    @property
    def is_native(self) -> bool:
        """Whether there is machine code in it."""
        return any(isinstance(x, engine.Segment) for x in self.native.__globals__.values())


class Twins:
    """One function of arrays, called as machine code and by NumPy's kernels."""

    def __init__(self, f: Callable[..., Any], **options: Any) -> None:
        self.native = wg.function(f, **options)
        self.plain = wg.function(lambda *xs: f(*xs), **options)

    def both(self, *arrays: Any) -> tuple[Any, Any]:
        """What the two give: twice called, since the second call may go another way."""
        first, found = (outcome(lambda: _flat(self.native(*arrays))) for _ in range(2))
        if not isinstance(first, type):
            require_same(found, first, "the second call")
        with numpy_only():
            return found, outcome(lambda: _flat(self.plain(*arrays)))


def _flat(result: Any) -> list[Any]:
    return [x for x in wg.tree.leaves(result) if x is not None]


# -- comparing --------------------------------------------------------------------------------------------------------


def require_same(found: Any, wanted: Any, what: str, tolerance: dict[str, float] | None = None) -> None:
    """The same types, shapes, dtypes, NaN and infinities; values and signs of zeros to the bit, or to a tolerance.

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
            require_bits(x, y, where)
        else:
            _require_near(x, y, tolerance[x.dtype.name], where)


def require_bits(x: Array, y: Array, where: str) -> None:
    """Equal to the bit, but for what a NaN holds."""
    same = (x == y) | ((x != x) & (y != y))
    if x.dtype.kind == "f":
        same &= (np.signbit(x) == np.signbit(y)) | (x != x)
    assert np.all(same), f"{where} differs at {np.argwhere(~same)[:5].tolist()}: {x[~same][:5]}, wanted {y[~same][:5]}"


def _require_near(x: Array, y: Array, tolerance: float, where: str) -> None:
    kinds = (np.isnan(x) == np.isnan(y)) & (np.isinf(x) == np.isinf(y)) & (~np.isinf(y) | (x == y))
    places = np.argwhere(~kinds)[:5].tolist()
    assert np.all(kinds), f"{where}: NaN or infinities differ at {places}: {x[~kinds][:5]}, wanted {y[~kinds][:5]}"
    some = np.isfinite(y)
    if np.any(some):
        error = np.max(np.abs(x[some] - y[some]))
        bound = tolerance * np.max(np.abs(y[some])) + np.finfo(x.dtype).tiny
        assert error <= bound, f"{where} differs by {error}, allowed are {bound}: {x}, wanted {y}"


def require_each_near(found: Any, wanted: Any, where: str, tolerance: dict[str, float]) -> None:
    """As `require_same`, but relative to each entry, and signs of zeros count."""
    require_same(found, wanted, where, tolerance)
    for x, y in zip(found, wanted, strict=True) if isinstance(wanted, list) else ():
        if x.dtype.kind == "f":
            some = np.isfinite(y)
            bad = np.abs(x[some] - y[some]) > tolerance[x.dtype.name] * np.abs(y[some]) + 4 * np.finfo(x.dtype).tiny
            assert not np.any(bad), f"{where}: {x[some][bad][:5]}, wanted {y[some][bad][:5]}"
            require_bits(np.where(y == 0, x, 0), np.where(y == 0, y, 0), f"{where}: zeros")


# -- inputs -----------------------------------------------------------------------------------------------------------


def specials(dtype: Any) -> Array:
    """NaN, infinities, zeros of both signs, the least and largest numbers, and those around which ops change."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges = [info.tiny, info.smallest_subnormal, info.max, info.eps, 1e-5, 0.5, 1.5, 2.5, 100.3, 720.0, 1e10]
        edges += [0.0, 1.0, 2.0, 3.0, np.inf, 2.0**31, 2.0**63, 2.0**64]
        return np.array([np.nan, *edges, *[-x for x in edges]], dtype)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [least, most, least + 1, most - 1, *range(4), 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100]
    return np.array([x for x in dict.fromkeys([*some, -1, -2, -3, -7, -64, -100]) if least <= x <= most], dtype)


def every_pair(dtype: Any, operands: int) -> list[Array]:
    """Special numbers as operands: each with each for two, at random for more."""
    alone = specials(dtype)
    if operands == 1:
        return [alone]
    found = [a.ravel() for a in np.meshgrid(alone, alone)]
    rng = np.random.default_rng(0)
    return [*found, *[rng.choice(alone, found[0].size) for _ in range(operands - 2)]]


def cases_of(op: Op, dtype: np.dtype[Any]) -> list[Callable[[], checks.Case]]:
    """What makes an op's samples in a dtype; of none if it does not take it."""
    if dtypes.is_inexact(dtype):
        found = checks.cases(op, dtype) if dtype == np.float64 or dtype in _others(op) else []
        return [lambda number=number: checks.cases(op, dtype)[number] for number in range(len(found))]
    is_integer = op.facts.dtypes.startswith("integer")
    if (
        op in checks._OF_PROGRAMS
        or op.name in POSITIONS
        or not (is_integer or op.facts.dtypes in ("any", "number", "real"))
    ):
        return []
    found = [
        case.with_operands(x.astype(dtype) if is_integer or x.dtype.kind == "f" else x for x in case.operands)
        for case in checks.cases(op)
    ]
    return [lambda case=case: case for case in found if _is_well_typed(case)]


def _others(op: Op) -> list[Any]:
    return [*checks.exact_dtypes(op), *checks.low_dtypes(op)]


POSITIONS = {"last_writes"}  # whose operands are positions, which are int64


def _is_well_typed(case: checks.Case) -> bool:
    """Whether the op takes these dtypes, and NumPy's kernels give what it declares."""
    try:
        with np.errstate(all="ignore"):
            checks.traced(case)
            checks.check_type(case)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError, AssertionError, IndexError):
        return False
    return True
