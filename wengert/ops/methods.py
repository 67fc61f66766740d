"""Attaches arithmetic, comparison and the usual array methods to `Tensor`, which the core keeps bare."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.dims import Dim
from .._core.engine import framework_of
from .._core.labelled import family_of
from .._core.tensor import Tensor, Written, held_now
from . import elementwise as E
from . import linalg, piecewise
from .array_methods import attach_methods
from .memory.writes import write_all
from .promotion import as_tensor, cells_of, is_number_list, is_scalars
from .sparse import is_sparse, right_product, sparse_matmul

_TAKES = (Tensor, np.ndarray, np.generic, bool, int, float, complex, Dim)


def _is_operand(x: object) -> bool:
    """Whether Python's operators take the other operand, rather than giving it its turn."""
    if isinstance(x, _TAKES) or hasattr(type(x), "__wengert_tensor__"):
        return True
    if isinstance(x, list):
        return is_number_list(x)
    return framework_of(type(x)) is not None or family_of(type(x)) == "frame"


def _operator(f: Callable[[Any, Any], Any], python: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    """A binary operator method. Two weak tensors (traced Python numbers) give a weak one, as Python would."""
    by_objects: Callable[[Any, Any], Any] = getattr(operator, python)
    reflected = f"__r{python[2:]}"

    def answers(self: Tensor, kind: type) -> bool:
        """Whether a class of lists has an operator of its own for numbers from the left."""
        return not self.ndim and getattr(kind, reflected, None) is not getattr(list, reflected, None)

    def forward(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind not in _FAST and (not _is_operand(other) or (isinstance(other, list) and answers(self, kind))):
            return NotImplemented
        if isinstance(other, np.ndarray) and other.dtype.char == "O" and not is_scalars(other):
            return by_objects(other, cells_of(self)) if swapped else by_objects(cells_of(self), other)
        result = f(other, self) if swapped else f(self, other)
        if self._weak and _is_weak(other):
            result._weak = True
        return result

    return forward


def _in_place(f: Callable[[Any, Any], Any], sign: str) -> Callable[[Tensor, Any], Any]:
    """An in-place operator: writes to an array. A lone number is rebound, as Python's and NumPy's scalars are.

    A tensor of no axes is a number unless it has a place in memory: one that was made as an array, or is a view.
    """

    is_sum, is_less = sign in ("+", "-"), sign == "-"

    def method(self: Tensor, other: ArrayLike) -> Any:
        if is_sum and type(self) is Written and self._link.increase_promptly(other, is_less):
            return self
        if (not self.ndim and self._link is None) or (type(other) not in _FAST and not _is_operand(other)):
            return NotImplemented
        result = as_tensor(f(held_now(self), other))
        if result is not self:
            write_all(self, result, f"x {sign}= y")
        return self

    return method


_FAST = frozenset({Tensor, float, int, np.ndarray})


def _is_weak(x: ArrayLike) -> bool:
    return x._weak if type(x) is Tensor else type(x) in (bool, int, float, complex)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": E.add,
    "sub": E.subtract,
    "mul": E.multiply,
    "truediv": E.divide,
    "floordiv": E.floor_divide,
    "mod": piecewise.mod,
    "matmul": linalg.matmul,
    "pow": E.power,
    "and": E.bitwise_and,
    "or": E.bitwise_or,
    "xor": E.bitwise_xor,
    "lshift": E.left_shift,
    "rshift": E.right_shift,
}
_IN_PLACE = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "matmul": "@", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARE = {
    "eq": E.equal, "ne": E.not_equal, "lt": E.less, "le": E.less_equal, "gt": E.greater, "ge": E.greater_equal,
}  # fmt: skip


def _unary(f: Callable[[Any], Any]) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        result = f(self)
        result._weak = self._weak
        return result

    return method


def _or_sparse(dense: Callable[[Tensor, Any], Any], multiply: Callable[[Any, Tensor], Any]) -> Any:
    """A product operator that takes SciPy's sparse matrices, too."""

    def method(self: Tensor, other: ArrayLike) -> Any:
        return multiply(other, self) if type(other) not in _FAST and is_sparse(other) else dense(self, other)

    return method


def _scaled(matrix: ArrayLike, x: Tensor) -> Any:
    """A number times one of SciPy's sparse matrices."""
    return importlib.import_module(_SPARSE).as_sparse(matrix) * x  # it stands above this module


_SPARSE = "wengert.scipy._sparse"


def attach_operators() -> None:
    """Gives `Tensor` Python's operators."""
    for name, f in _BINARY.items():
        setattr(Tensor, f"__{name}__", _operator(f, f"__{name}__"))
        setattr(Tensor, f"__r{name}__", _operator(f, f"__{name}__", swapped=True))
    setattr(Tensor, "__matmul__", _or_sparse(Tensor.__matmul__, right_product))  # noqa: B010
    setattr(Tensor, "__mul__", _or_sparse(Tensor.__mul__, _scaled))  # noqa: B010
    setattr(Tensor, "__rmatmul__", _or_sparse(Tensor.__rmatmul__, sparse_matmul))  # noqa: B010
    for name, sign in _IN_PLACE.items():
        setattr(Tensor, f"__i{name}__", _in_place(getattr(Tensor, f"__{name}__"), sign))
    for name, f in _COMPARE.items():
        setattr(Tensor, f"__{name}__", _operator(f, f"__{name}__"))
    setattr(Tensor, "__neg__", _unary(E.negative))  # noqa: B010  # the class declares them for type checkers only
    setattr(Tensor, "__pos__", _unary(E.positive))  # noqa: B010
    setattr(Tensor, "__abs__", _unary(E.abs))  # noqa: B010
    setattr(Tensor, "__invert__", _unary(E.bitwise_not))  # noqa: B010
    for name in ("add", "sub", "mul", "truediv", "pow"):
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(Dim, method, _dim_operator(getattr(Dim, method, None), getattr(Tensor, method)))


def _dim_operator(exact: Callable[..., Any] | None, inexact: Callable[[Tensor, Any], Any]) -> Callable[[Dim, Any], Any]:
    """A Dim's own arithmetic where it gives a Dim; beside floats and in true division a (weak) tensor."""

    def method(self: Dim, other: ArrayLike) -> Any:
        result = NotImplemented if exact is None else exact(self, other)
        if result is NotImplemented and isinstance(other, (int, float, complex, Dim)):
            return inexact(as_tensor(self), as_tensor(other) if type(other) is Dim else other)
        return result

    return method


attach_operators()
attach_methods()
