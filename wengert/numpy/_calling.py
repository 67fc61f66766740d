"""NumPy's functions that call a function of the user's: along axes, by pieces, element by element.

What the function computes from tensors is recorded. The calls are Python's, one after the other, so `wg.vmap` is the
quicker way wherever it serves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import ops
from .._control.values import connected
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.public import names_errors
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, broadcast, broadcast_shapes, cast, common_dtype, normal_axis, outward
from ._decorators import NO_VALUE, as_numpy
from ._objects import objects_in


@as_numpy
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: object, **kwargs: object) -> Any:
    """A function of vectors on each vector along an axis; its results, of one shape, take the place of the axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.apply_along_axis(np.sum, 0, [[1.0, 2.0], [3.0, 4.0]])
        array([4., 6.])
    """
    x = as_tensor(arr, "apply_along_axis")
    place = normal_axis(axis, x.ndim, "apply_along_axis")
    rest = (*[i for i in range(x.ndim) if i != place],)
    outer_shape = (*[x.shape[i] for i in rest],)
    count = math.prod(outer_shape)
    if not count:
        raise ValueError(at_user_line(f"np.apply_along_axis: an array of shape {x.shape} has no vectors along {axis}"))
    lines = ops.reshape(ops.transpose(x, (*rest, place)), (count, x.shape[place]))
    results = ops.stack([as_tensor(func1d(lines[i], *args, **kwargs), "apply_along_axis") for i in range(count)])
    inner_ndim = results.ndim - 1
    results = ops.reshape(results, (*outer_shape, *results.shape[1:]))
    ndim, leading = len(outer_shape), [*range(len(outer_shape))]
    order = (*leading[:place], *range(ndim, ndim + inner_ndim), *leading[place:])
    return ops.transpose(results, order)


@as_numpy
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Any) -> Any:
    """A reduction `func(a, axis)` over several axes in turn, which stay with length 1.

    Example:
        >>> import wengert.numpy as np
        >>> np.apply_over_axes(np.sum, [[1.0, 2.0], [3.0, 4.0]], [0, 1])
        array([[10.]])
    """
    x = as_tensor(a, "apply_over_axes")
    for axis in axes if isinstance(axes, (list, tuple)) else np.atleast_1d(axes).tolist():
        place = normal_axis(axis, x.ndim, "apply_over_axes")
        result = as_tensor(func(x, place), "apply_over_axes")
        if result.ndim != x.ndim:
            result = ops.expand_dims(result, place)
        if result.ndim != x.ndim:
            raise ValueError(
                at_user_line(
                    f"np.apply_over_axes: the function made shape {result.shape} of {x.shape}; wanted one axis less"
                )
            )
        x = result
    return x


@as_numpy
def piecewise(x: ArrayLike, condlist: ArrayLike, funclist: Any, *args: object, **kw: object) -> Any:
    """A function given by pieces: of the conditions that hold the last one counts. Each function sees all of x, and
    the gradient of what is not taken is zero, also where it is infinite.

    Example:
        >>> import wengert.numpy as np
        >>> np.piecewise([-1.0, 4.0], [[True, False]], [0.0, np.square])
        array([ 0., 16.])
    """
    point = as_tensor(x, "piecewise")
    conditions = _conditions(condlist, point)
    functions = [*funclist]
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            at_user_line(
                f"np.piecewise: {len(functions)} functions for {len(conditions)} conditions; wanted as many or one more"
            )
        )

    def piece(f: Callable[..., Any]) -> Tensor:
        value = f(point, *args, **kw) if callable(f) else f
        return broadcast(cast(as_tensor(value, "piecewise"), point.dtype), point.shape)

    result = piece(functions[-1]) if len(functions) > len(conditions) else ops.zeros_like(point)
    for condition, f in zip(conditions, functions, strict=False):
        result = ops.where(condition, piece(f), result)
    return result


def _conditions(condlist: Any, point: Tensor) -> list[Tensor]:
    """Conditions as boolean tensors; a single one may stand without its list."""
    is_list = isinstance(condlist, (list, tuple)) and (
        not point.ndim or any(as_tensor(c, "piecewise").ndim for c in condlist)
    )
    if not is_list:
        whole = as_tensor(condlist, "piecewise")
        rows = [whole[i] for i in range(whole.shape[0])] if whole.ndim > max(point.ndim, 0) else [whole]
    else:
        rows = [as_tensor(c, "piecewise") for c in condlist]
    return [ops.cast(row, "bool") for row in rows]


_CORE = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*")
Letters = tuple[str, ...]


def _parsed(signature: str) -> tuple[list[Letters], list[Letters]]:
    """The names of the axes of each argument and each result of "(m,n),(n)->(m)"."""
    text = re.sub(r"\s+", "", signature) if isinstance(signature, str) else ""
    if not _SIGNATURE.fullmatch(text):
        raise ValueError(at_user_line(f"vectorize: {signature!r} is no signature such as '(m,n),(n)->(m)'"))
    sides = [[(*re.findall(r"\w+", core),) for core in re.findall(_CORE, side)] for side in text.split("->")]
    return sides[0], sides[1]


def _learn(sizes: dict[str, Any], letters: Letters, extents: tuple[Any, ...]) -> None:
    for letter, extent in zip(letters, extents, strict=True):
        if sizes.setdefault(letter, extent) != extent:
            raise ValueError(
                at_user_line(f"vectorize: the axis {letter!r} of the signature is {sizes[letter]} and {extent}")
            )


def _is_passed_on(value: object) -> bool:
    """Whether an argument is an object of its own, which each call gets as it is."""
    return value is None or isinstance(value, (str, dict)) or (callable(value) and tensor_in(value) is None)


class vectorize:
    """A function of numbers as one of arrays: it is called for each element, and what it computes is recorded.

    Args:
        pyfunc: the function; takes and returns numbers (tensors of no axes), or returns a tuple of them.
        otypes: the dtypes of the results, by their letters in a string or in a list; those of the values if None.
        doc: the docstring; pyfunc's if None.
        excluded: the places and names of arguments that are passed on as they are.
        cache: accepted for NumPy's sake.
        signature: what the function takes and gives where that is no numbers but arrays, as "(m,n),(n)->(m)"; it is
            then called for each place of the axes in front of these.

    Raises:
        ValueError: for a signature that is none; at a call whose arrays do not fit it, or are empty, unless `otypes`
            or the signature says what comes out.
        TypeError: as many arguments as the signature has were not given.

    Example:
        >>> import wengert as wg, wengert.numpy as np
        >>> f = np.vectorize(lambda x, y: x * x if x > y else y)
        >>> wg.grad(lambda x: f(x, 1.0).sum())(np.array([0.5, 3.0]))
        Tensor([0., 6.], shape=(2,), dtype=float64)
    """

    @names_errors
    def __init__(
        self, pyfunc: Callable[..., Any] = NO_VALUE, otypes: Any = None, doc: str | None = None, excluded: Any = None,
        cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self.signature = None if signature is None else _parsed(signature)
        if pyfunc is NO_VALUE:  # a decorator with options: the function comes by a call
            self._options = {"otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature}
        self.pyfunc = pyfunc
        self.otypes = None if otypes is None else [np.dtype(t) for t in otypes]
        self.excluded = {*(excluded or ())}
        self.__name__ = getattr(pyfunc, "__name__", "vectorize")
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element, in the shape in which the arguments meet."""
        if self.pyfunc is NO_VALUE:
            return vectorize(*args, **self._options)
        arrays: dict[Any, Tensor] = {
            key: as_tensor(value, "vectorize") for key, value in (*enumerate(args), *kwargs.items())
            if key not in self.excluded and (self.signature is not None or not _is_passed_on(value))
        }  # fmt: skip
        sizes: dict[str, Any] = {}
        cores = [*self._cores(arrays, sizes)]
        shape: Any = ()
        for array, core in zip(arrays.values(), cores, strict=True):
            shape = broadcast_shapes(shape, array.shape[: array.ndim - len(core)], "vectorize")
        count = math.prod(shape)
        flat = {
            key: ops.reshape(broadcast(array, (*shape, *core)), (count, *core))
            for (key, array), core in zip(arrays.items(), cores, strict=True)
        }
        if not count:
            return self._empty(shape, [*arrays.values()], sizes, args, kwargs)

        def call(i: int) -> Any:
            chosen = [flat[j][i] if j in flat else arg for j, arg in enumerate(args)]
            return self.pyfunc(*chosen, **{k: flat[k][i] if k in flat else v for k, v in kwargs.items()})

        results = [self._checked(call(i), sizes) for i in range(count)]
        is_many = isinstance(results[0], tuple)
        if not is_many:
            results = [(result,) for result in results]
        given = (*args, *kwargs.values())
        found = (*[
            self._objects([*column], shape, given) if self._gives_objects(i) else
            outward(self._gathered([*column], i, shape), *given) for i, column in enumerate(zip(*results, strict=True))
        ],)  # fmt: skip
        return found if is_many else found[0]

    def _gives_objects(self, position: int) -> bool:
        return self.otypes is not None and self.otypes[position].char == "O"

    def _objects(self, values: list[Any], shape: Any, given: tuple[Any, ...]) -> Any:
        made = np.empty(len(values), object)
        for place, value in enumerate(values):
            made[place] = outward(value, *given)
        return objects_in(made.reshape(shape))

    def _cores(self, arrays: dict[Any, Tensor], sizes: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The shape of what the function gets of each array; `sizes` learns what the signature's letters are."""
        if self.signature is None:
            yield from ((),) * len(arrays)
            return
        names = self.signature[0]
        if len(names) != len(arrays):
            raise TypeError(
                at_user_line(f"vectorize: wanted {len(names)} arguments, as the signature has, got {len(arrays)}")
            )
        for array, letters in zip(arrays.values(), names, strict=True):
            if array.ndim < len(letters):
                raise ValueError(
                    at_user_line(f"vectorize: an argument has shape {array.shape}, wanted the axes {letters} at least")
                )
            core = (*array.shape[array.ndim - len(letters) :],)
            _learn(sizes, letters, core)
            yield core

    def _checked(self, result: Any, sizes: dict[str, Any]) -> Any:
        """What the function gave for one place, which must be what the signature says."""
        if self.signature is None:
            return result
        names = self.signature[1]
        given = result if isinstance(result, tuple) else (result,)
        if len(given) != len(names):
            raise ValueError(
                at_user_line(f"vectorize: the function gave {len(given)} results, the signature has {len(names)}")
            )
        tensors = [as_tensor(value, "vectorize") for value in given]
        for x, letters in zip(tensors, names, strict=True):
            if x.ndim != len(letters):
                raise ValueError(
                    at_user_line(f"vectorize: a result has shape {x.shape}, the signature says {letters} for its axes")
                )
            _learn(sizes, letters, (*x.shape,))
        return (*tensors,) if isinstance(result, tuple) else tensors[0]

    def _gathered(self, values: list[Any], position: int, shape: Any) -> Tensor:
        tensors = [as_tensor(value, "vectorize") for value in values]
        dtype = common_dtype(tensors) if self.otypes is None else self.otypes[position]
        return ops.reshape(ops.stack([cast(t, dtype) for t in tensors]), (*shape, *tensors[0].shape))

    def _empty(
        self, shape: Any, arrays: list[Tensor], sizes: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What no call gives: of the dtypes that were given, else of the arguments'; a signature says which axes."""
        if self.otypes is None and self.signature is None:
            raise ValueError(at_user_line("np.vectorize: arguments of size 0 need otypes, which says what comes out"))
        names: list[Letters] = [()] * len(self.otypes or ()) if self.signature is None else self.signature[1]
        unknown = [letter for letters in names for letter in letters if letter not in sizes]
        if unknown:
            raise ValueError(
                at_user_line(f"vectorize: only a call tells the axis {unknown[0]!r} of a result, and there is no place")
            )
        kinds = self.otypes or [common_dtype(arrays)] * len(names)
        empty = [
            ops.zeros((*shape, *[sizes[letter] for letter in letters]), dtypes.as_dtype(kind))
            for kind, letters in zip(kinds, names, strict=True)
        ]
        empty = connected(empty, arrays)
        return outward((*empty,) if len(empty) > 1 else empty[0], *args, *kwargs.values())


__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]
