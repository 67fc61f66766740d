"""What counts as equal: to the bit, within rounding, or as far apart as rounding drives a program's results."""

from __future__ import annotations

import ast
import math
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import wengert as wg
from tests.fuzz.program import SINGLE_NAMES, Program
from tests.support.engines import ndarray
from tests.support.native_checks import outcome, require_same

Array = np.ndarray[Any, Any]
Outcome = Any  # a list of arrays, or the type of an exception
Way = Callable[[Callable[..., Any]], Outcome]  # what is made of a program's function

# How far two ways may be apart, relative to the largest entry or to one: sums run in other orders in other ways. What is
# farther apart is held against what rounding does to the program (`is_rounding`).
TOLERANCE = {"float64": 1e-10, "float32": 2e-4, "float16": 3e-2, "bfloat16": 2e-1}
NUDGES = 12  # runs with rounding of its own after each step, of each element or of whole arrays
SIZE = 8.0  # of a nudge, in last bits
FACTOR = 100.0  # how much farther apart than nudged runs two ways may be, where those are near each other
NEAR = 1e-2  # ... which is this; at a jump it is twice

# What programs raise where NumPy's kernels cannot compute them, or where a gradient is asked for that there is none of.
RAISED = (TypeError, LookupError, NotImplementedError)


class Refused(Exception):
    """A way that the library does not go for this program, and says so: no finding."""


def outcome_of(f: Callable[..., Any], arrays: Sequence[Any]) -> Outcome:
    """All arrays of a result, or the type of the exception that was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return outcome(lambda: [ndarray(x) for x in wg.tree.leaves(f(*arrays)) if x is not None])
        except RAISED as error:
            return type(error)


def precision(program: Program) -> float:
    """The tolerance of the coarsest dtype that a program holds: it reaches the others."""
    text = program.source + " ".join(x.dtype for x in program.inputs)
    found = [name for name in SINGLE_NAMES if name in text]
    return max([TOLERANCE["float64"], *[TOLERANCE.get(name, TOLERANCE["float32"]) for name in found]])


def same_bits(found: Outcome, wanted: Outcome, what: str) -> None:
    require_same(*map(_comparable, (found, wanted)), what)


def near(found: Outcome, wanted: Outcome, what: str, tolerance: float) -> None:
    """Raises AssertionError unless results are equal within a tolerance."""
    for x, y in zip(found, wanted, strict=False) if isinstance(found, list) and isinstance(wanted, list) else ():
        assert x.dtype == y.dtype, f"{what}: dtype {x.dtype}, wanted {y.dtype}"
    table = dict.fromkeys(("float64", "float32", "float16", "complex64", "complex128"), tolerance)
    require_same(*[_beside_one(_comparable(x)) for x in (found, wanted)], what, table)


def _comparable(found: Outcome) -> Outcome:
    """Results as NumPy can compare them."""
    if isinstance(found, type):
        return found
    return [x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x for x in found]


def _beside_one(found: Outcome) -> Outcome:
    """Results with a one beside them: what cancels to nothing is as large as rounding makes it."""
    if isinstance(found, type):
        return found
    return [np.concatenate([x.ravel(), np.ones(1, x.dtype)]) if x.dtype.kind in "fc" and x.shape else
            np.stack([x, np.ones((), x.dtype)]) if x.dtype.kind in "fc" else x for x in found]  # fmt: skip


# -- rounding ---------------------------------------------------------------------------------------------------------


class _Nudged(ast.NodeTransformer):
    """Follows each assignment in a program by one more, of the same values rounded otherwise."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id[0] != "_"]
        after = [ast.parse(f"{name} = nudge({name})").body[0] for name in names]
        return [node, *after]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        if node.name == "f":
            node.body[:0] = [ast.parse(f"{a.arg} = nudge({a.arg})").body[0] for a in node.args.args]
        return node


def nudged(program: Program, number: int) -> Callable[..., Any]:
    """A program's function with each value changed in its last bits."""
    rng = random.Random(number)

    def nudge(x: Any) -> Any:
        if not isinstance(x, (wg.Tensor, np.ndarray)) or np.dtype(x.dtype).kind in "iub":
            return x
        eps = float(ml_dtypes.finfo(x.dtype).eps)
        if number % 2 == 0 and x.ndim and isinstance(x.shape[-1], int) and 1 < math.prod(x.shape) <= 10**5:
            # each element otherwise; equal ones of the other runs stay so, as do their eigenvalues and their spread
            own = np.random.default_rng(rng.randrange(2**32)).choice([-1.0, 1.0], x.shape)
            return x * (1.0 + SIZE * eps * own).astype(x.dtype)
        return x * (1.0 + rng.choice([-SIZE, SIZE]) * eps)

    source = ast.unparse(ast.fix_missing_locations(_Nudged().visit(ast.parse(program.source))))
    return program._replace(source=source).build(nudge=nudge)


def is_rounding(program: Program, found: Outcome, wanted: Outcome, way: Way) -> bool:
    """Whether results are as far apart as rounding drives them: between two ties, at a jump, or after a cancellation.

    Args:
        program: what was run.
        found: its results in some way.
        wanted: its results eagerly, or by NumPy's kernels.
        way: makes such results of its function.
    """
    runs = [way(nudged(program, number)) for number in range(NUDGES)]
    if isinstance(found, type) or isinstance(wanted, type):
        return any(_kind(run) != _kind(wanted) for run in runs)
    if _kind(found) != _kind(wanted):
        return False
    base = precision(program)
    for place, (x, y) in enumerate(zip(found, wanted, strict=True)):
        others = [run[place] for run in runs if _kind(run) == _kind(wanted)]
        if len(others) < len(runs) or any(_is_finite(o) != _is_finite(y) for o in others):
            return True
        if x.dtype.kind in "iub":
            if not np.array_equal(x, y) and all(np.array_equal(o, y) for o in others):
                return False
            continue
        spread = max(_apart(o, y) for o in others)
        if _is_finite(x) != _is_finite(y) or _apart(x, y) > max(2 * spread, min(FACTOR * spread, NEAR)) + base:
            return False
    return True


def _kind(found: Outcome) -> Any:
    return found if isinstance(found, type) else [(x.shape, x.dtype) for x in found]


def _is_finite(x: Array) -> bool:
    return bool(np.all(np.isfinite(x.astype(complex)))) if x.dtype.kind not in "iub" else True


def _apart(x: Array, y: Array) -> float:
    """The largest difference of elements, relative to the largest element or to one."""
    wide = np.complex128
    x, y = x.astype(wide), y.astype(wide)
    some = np.isfinite(x) & np.isfinite(y)
    if not np.any(some):
        return 0.0
    return float(np.max(np.abs(x[some] - y[some])) / (1.0 + np.max(np.abs(y[some]))))
