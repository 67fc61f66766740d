"""The state of an initial value problem as one vector, and its right-hand side as a function of that vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._control import series as _rules_of_programs
from .._control.call import Program
from .._control.closed import Closed
from .._control.implicit import pulled, rows_of_jacobian
from .._control.region import close_body, closure_of, trace_body
from .._control.values import Leaves
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.dims import Dim
from .._core.engine import ndarray_of
from .._core.kinds import ARRAYS
from .._core.structure import LEAF, flatten, unflatten
from .._core.tensor import Tensor, Value, fresh
from .._core.types import tensor_type, type_of
from .._core.user_line import at_user_line
from .._transforms.jets import solution_terms
from ..ops.joining import concatenate
from ..ops.promotion import as_tensor, cast
from ..ops.shapes import reshape
from ._radau import residual

Array = np.ndarray[Any, Any]

assert _rules_of_programs  # imported for what it declares: series through branches and loops in a right-hand side


class State:
    """What y0 looks like: a vector as it is, or a nested structure whose arrays are laid out in one vector.

    Attributes:
        start: y0 as a vector, float64 or complex128.
        dtype: of the vector.
    """

    def __init__(self, y0: ArrayLike) -> None:
        leaves = Leaves(y0, "y0")
        self._leaves = leaves
        self.is_bare = leaves.spec is LEAF
        if not leaves.tensors or len(leaves.tensors) < len(leaves.fixed):
            raise TypeError(at_user_line(f"solve_ivp: wanted arrays in y0, got {y0!r}"))
        if self.is_bare and len(leaves.tensors[0].shape) != 1:
            raise ValueError(at_user_line("`y0` must be 1-dimensional."))
        is_complex = any(dtypes.is_complex(x.dtype) for x in leaves.tensors)
        self.dtype = dtypes.complex128 if is_complex else dtypes.float64
        self.shapes = [x.shape for x in leaves.tensors]
        if not self.is_bare and any(isinstance(d, Dim) for shape in self.shapes for d in shape):
            raise TypeError(at_user_line("solve_ivp: a nested y0 must have shapes that are known in the trace"))
        self.start = self.vector(leaves.tensors)
        data = self.start._data
        if type(data) is not Value and not np.isfinite(ndarray_of(data)).all():
            raise ValueError(at_user_line("All components of the initial state `y0` must be finite."))

    def vector(self, tensors: Sequence[Tensor]) -> Tensor:
        """Arrays of the structure as one vector."""
        parts = [cast(x, self.dtype) for x in tensors]
        return parts[0] if self.is_bare else concatenate([reshape(x, (-1,)) for x in parts])

    def opened(self, vector: Tensor) -> Any:
        """A vector as the user sees it."""
        return vector if self.is_bare else self._leaves.rebuilt(self._parts(vector, ()))

    def opened_rows(self, rows: Tensor, count: ArrayLike) -> Any:
        """Vectors, one a row, as the user sees them: the points of time along the last axis."""
        columns = rows.T
        return columns if self.is_bare else self._leaves.rebuilt(self._parts(columns, (count,)))

    def _parts(self, x: Tensor, rest: tuple[Any, ...]) -> list[Tensor]:
        parts, start = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            parts.append(reshape(x[start : start + size], (*shape, *rest)))
            start += size
        return parts

    def closed(self, value: ArrayLike) -> Tensor:
        """What `fun` returned, as a vector."""
        if self.is_bare:
            tensors = [as_tensor(value, "solve_ivp: the result of fun")]
        else:
            found = Leaves(value, "the result of fun")
            tensors = found.tensors
            if found.spec != self._leaves.spec or len(tensors) != len(self.shapes):
                raise TypeError(at_user_line("solve_ivp: fun must return the structure of y0"))
        for index, (x, shape) in enumerate(zip(tensors, self.shapes, strict=True)):
            if dtypes.is_complex(x.dtype) and not dtypes.is_complex(self.dtype):
                raise TypeError(at_user_line("solve_ivp: fun returned complex numbers for a real y0"))
            if (*x.shape,) != (*shape,):
                raise ValueError(
                    at_user_line(
                        f"solve_ivp: {self._leaves.path(index)} has shape {shape}, but fun returned shape {x.shape}"
                    )
                )
        return self.vector(tensors)


class Field:
    """The right-hand side as a function of a vector."""

    def __init__(self, fun: Callable[..., Any], state: State, args: Sequence[Any]) -> None:
        self.fun = fun
        self.state = state
        self.args = (*map(_with_tensors, args),)

    def __call__(self, t: Any, y: Any) -> Any:
        """f(t, y) in the kind of y: an ndarray, which nobody follows, or a tensor."""
        if type(y) is np.ndarray:
            return self._values(t, y)
        return self.evaluate(t if type(t) is Tensor else fresh(np.asarray(t, np.float64)), y)

    def evaluate(self, t: Tensor, y: Tensor) -> Tensor:
        """f(t, y) of tensors."""
        return self.state.closed(self.fun(t, self.state.opened(y), *self.args))

    def jacobian(self, t: Tensor, y: Tensor) -> Tensor:
        """The derivative of f(t, y) with respect to y, a matrix; `fun` is traced for it."""

        def pull(arguments: list[Tensor]) -> Sequence[Tensor]:
            t, y, ct = arguments
            return pulled(lambda: self.evaluate(t, y), y, ct)

        types = [type_of(t), type_of(y), type_of(y)]
        closed = Closed(pull, types, "fun.pull")
        if closed.error is not None:
            raise closed.error
        return rows_of_jacobian(closed, [t, y], int(y.shape[0]), y.dtype)

    def terms(self, t: ArrayLike, y: Any, order: int) -> list[Any]:
        """The terms of the solution's series from y at t on, in the kind of y."""
        is_plain = type(y) is np.ndarray
        time = t if type(t) is Tensor else fresh(np.asarray(t, np.float64))
        found = solution_terms(self.evaluate, time, fresh(y) if is_plain else y, order)
        return [ndarray_of(x._data) for x in found] if is_plain else found

    def residual(self) -> tuple[Program, tuple[Tensor, ...]]:
        """What is zero for the stages of Radau: from stages, t, h, y and the tensors returned beside it."""
        n = int(self.state.start.shape[0])
        scalar, vector, stages = (tensor_type(s, self.state.dtype) for s in ((), (n,), (3 * n,)))

        def run(arguments: list[Tensor]) -> list[Tensor]:
            z, t, h, y = arguments
            return [residual(self.evaluate, z, t, h, y)]

        body = trace_body(run, [(kind, False) for kind in (stages, scalar, scalar, vector)], "solve_ivp.residual")
        closure = closure_of([body])
        if closure.written:
            raise TypeError(at_user_line("solve_ivp: fun must not assign Variables where the method is 'Radau'"))
        return close_body(body, closure, 4, returns_state=False), closure.operands()

    def _values(self, t: float, y: Array) -> Array:
        state = self.state
        found = self.fun(fresh(np.asarray(t, np.float64)), state.opened(fresh(y)), *self.args)
        if state.is_bare and type(found) in (list, tuple) and all(_is_plain_scalar(x) for x in found):
            found = np.array([x._data if type(x) is Tensor else x for x in found])
        return ndarray_of(state.closed(found)._data)


def _is_plain_scalar(x: Tensor) -> bool:
    return type(x) in (float, int) or (
        type(x) is Tensor and isinstance(x._data, np.ndarray | np.generic) and not x.shape
    )


def _with_tensors(value: ArrayLike) -> Any:
    """An argument with tensors for its arrays; numbers stay, so that an int may be a size or a power."""
    leaves, spec = flatten(value)
    return unflatten(
        spec, [constant(x) if isinstance(x, ARRAYS) and dtypes.is_supported(x.dtype) else x for x in leaves]
    )
