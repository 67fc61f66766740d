"""Programs as data: a text of one function `f`, a step a line, and descriptions of the arrays that it is called with."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import wengert as wg
from tests.fuzz import given
from tests.support import layouts
from tests.support.native_checks import specials

Array = np.ndarray[Any, Any]
PLAIN = "plain"


class Input(NamedTuple):
    """An array: drawn by a seed, or of given elements.

    Attributes:
        layout: how it lies in memory, of `LAYOUTS`.
        is_special: whether some elements are infinities, NaN, zeros.
        values: the elements in order; None where they are drawn.
    """

    shape: tuple[int, ...]
    dtype: str = "float64"
    seed: int = 0
    layout: str = PLAIN
    is_special: bool = False
    values: tuple[Any, ...] | None = None

    def array(self) -> Array:
        """The elements, laid out as it says: a new array at each call."""
        return laid_out(self.elements(), self.layout)

    def elements(self) -> Array:
        found = self._drawn() if self.values is None else np.array(self.values, self.dtype).reshape(self.shape)
        if self.layout == "broadcast" and found.ndim and found.shape[0]:
            found = np.repeat(found[:1], found.shape[0], axis=0)
        return found

    def _drawn(self) -> Array:
        rng = np.random.default_rng(self.seed)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return np.asarray(rng.random(self.shape) < 0.5)
        if dtype.kind in "iu":
            return np.asarray(rng.integers(0 if dtype.kind == "u" else -5, 9, self.shape), dtype)
        found = np.asarray(rng.normal(size=self.shape))
        if dtype.kind == "c":
            return np.asarray(found + 1j * rng.normal(size=self.shape), dtype)
        if self.is_special:
            found = np.where(rng.random(self.shape) < 0.2, rng.choice(_moderate(), self.shape), found)
        return np.asarray(found, dtype)


def _moderate() -> Array:
    """Special numbers without large ones and small ones, where all rounding is large in the end."""
    found = specials("float64")
    return found[~np.isfinite(found) | (found == 0) | ((np.abs(found) < 3) & (np.abs(found) > 0.1))]


def of_values(array: Array, layout: str = PLAIN) -> Input:
    """An input with these elements."""
    values = (*np.asarray(array).astype(_exact(array.dtype)).ravel().tolist(),)
    return Input((*array.shape,), array.dtype.name, layout=layout, values=values)


def _exact(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype == ml_dtypes.bfloat16 else dtype


# -- layouts ----------------------------------------------------------------------------------------------------------


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    PLAIN: np.array,
    "fortran": lambda a: np.array(a, order="F"),
    "strided": layouts.strided,
    "reversed": layouts.backwards,
    "unaligned": layouts.unaligned,
    "read-only": layouts.read_only,
    "inner": layouts.inner,
    "broadcast": layouts.repeated,  # the elements must be so; `Input.elements` sees to it
}


def laid_out(a: Array, layout: str) -> Array:
    """An array of the same elements with another layout."""
    return LAYOUTS[layout](a)


# -- programs ---------------------------------------------------------------------------------------------------------


class Program(NamedTuple):
    """A program.

    Attributes:
        source: the text of `f(x0, x1, ...)`; it may use `wg`, `np`, `given` and `policy` (what its loops keep).
        inputs: what it is called with.
        least: from which extent on sizes are known at run time when it is compiled; None for the engine's own choice.
        seed: where the choices of its checks come from.
    """

    source: str
    inputs: tuple[Input, ...] = ()
    least: int | None = None
    seed: str = "0"

    def arrays(self) -> list[Array]:
        """What it is called with, new arrays at each call."""
        return [x.array() for x in self.inputs]

    def build(self, **names: Any) -> Callable[..., Any]:
        """The function, of tensors or arrays; names given here stand for those in its text."""
        scope: dict[str, Any] = {"wg": wg, "np": np, "given": given, "policy": "auto", **names}
        exec(compile(self.source, "<program>", "exec"), scope)
        f = scope["f"]
        return lambda *xs: f(*[x if isinstance(x, wg.Tensor) else wg.tensor(x) for x in xs])

    def steps(self) -> int:
        """How many statements it has, those of blocks included and definitions not counted."""
        counted = (ast.Assign, ast.Expr)
        return sum(isinstance(node, counted) for node in ast.walk(ast.parse(self.source)))

    def is_all_double(self) -> bool:
        """Whether every float in it is of double precision."""
        text = self.source
        return all(name not in text for name in SINGLE_NAMES) and all(
            np.dtype(x.dtype).kind in "iub" or x.dtype in ("float64", "complex128") for x in self.inputs
        )

    def is_half(self) -> bool:
        """Whether half floats are in it."""
        return any(name in self.source or any(x.dtype == name for x in self.inputs) for name in HALVES)

    def is_complex(self) -> bool:
        return "complex" in self.source or any(np.dtype(x.dtype).kind == "c" for x in self.inputs)

    def places(self) -> tuple[int, ...]:
        """Which inputs can be differentiated."""
        return (*[i for i, x in enumerate(self.inputs) if np.dtype(x.dtype).kind not in "iub"],)

    def size(self) -> int:
        return sum(math.prod(x.shape) for x in self.inputs)


HALVES = ("float16", "bfloat16")
SINGLE_NAMES = (*HALVES, "float32", "complex64")
