"""NumPy's iterators and makers of ufuncs, over tensors: elements come one by one, and what is made of them is recorded.

Without tensors among the arguments these are NumPy's own. The elements that can be written to are views of no axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..ops.memory.sharing import item_of
from ..ops.promotion import as_tensor, broadcast_shapes, names_errors
from ..ops.subscript import known_values
from ._calling import vectorize
from ._creation import zeros
from ._objects import tensor_among


def _extents(x: Any, name: str) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in x.shape):
        raise TypeError(
            at_user_line(f"np.{name}: the extents {x.shape} are known at run time only; use wg.vmap or wg.fori_loop")
        )
    return (*x.shape,)


def _element(x: Tensor, place: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """The index in x of a place in the shape that x is broadcast to."""
    own = place[len(extents) - x.ndim :] if x.ndim else ()
    return (*[0 if n == 1 else i for i, n in zip(own, x.shape, strict=True)],)


class ndenumerate:
    """Pairs of an index and the element there, in the array's order.

    Example:
        >>> import wengert.numpy as np
        >>> [(i, float(v)) for i, v in np.ndenumerate(np.array([[1.0, 2.0]]))]
        [((0, 0), 1.0), ((0, 1), 2.0)]
    """

    _array: Tensor
    _places: np.ndindex

    def __new__(cls, arr: ArrayLike) -> Any:
        if not tensor_among(arr):
            return np.ndenumerate(arr)
        self = super().__new__(cls)
        self._array = as_tensor(arr, "ndenumerate")
        self._places = np.ndindex(*_extents(self._array, "ndenumerate"))
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        place = next(self._places)
        return place, self._array[place]

    def __iter__(self) -> Iterator[Any]:
        return self


class broadcast:
    """Arrays in the shape in which they meet, to iterate over.

    Example:
        >>> import wengert.numpy as np
        >>> [float(a * b) for a, b in np.broadcast(np.array([[1.0], [2.0]]), np.array([3.0, 4.0]))]
        [3.0, 4.0, 6.0, 8.0]
    """

    _arrays: list[Tensor]
    shape: tuple[int, ...]

    def __new__(cls, *arrays: Any) -> Any:
        if not tensor_among(arrays):
            return np.broadcast(*arrays)
        self = super().__new__(cls)
        self._arrays = [as_tensor(x, "broadcast") for x in arrays]
        shape: Any = ()
        for x in self._arrays:
            shape = broadcast_shapes(shape, x.shape, "broadcast")
        self.shape = (*shape,)
        self.index = 0
        return self

    nd = property(lambda self: len(self.shape), doc="The number of axes.")
    ndim = nd
    size = property(lambda self: math.prod(self.shape), doc="The number of elements.")
    numiter = property(lambda self: len(self._arrays), doc="The number of arrays.")
    iters = property(lambda self: (*[ops.broadcast_to(x, self.shape).flat for x in self._arrays],))

    def reset(self) -> None:
        """Begins again at the first element."""
        self.index = 0

    def __next__(self) -> tuple[Any, ...]:
        if self.index >= self.size:
            raise StopIteration
        place = (*map(int, np.unravel_index(self.index, self.shape)),)
        self.index += 1
        return (*[x[_element(x, place, self.shape)] for x in self._arrays],)

    def __iter__(self) -> Iterator[Any]:
        return self


_SEQUENCES = ("readwrite", "writeonly", "updateifcopy")


class nditer:
    """An iterator over arrays in step; elements of those that are written to ("readwrite") are views of no axes.

    Tensors take the flags `multi_index`, `c_index` and `external_loop`; those about memory change nothing.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.array([1.0, 2.0])
        >>> with np.nditer(a, op_flags=["readwrite"]) as it:
        ...     for x in it:
        ...         x[...] = 2 * x
        >>> a
        Tensor([2., 4.], shape=(2,), dtype=float64)
    """

    def __new__(
        cls, op: ArrayLike, flags: Any = None, op_flags: Any = None, op_dtypes: object = None, order: str = "K",
        casting: str = "safe", op_axes: object = None, itershape: Any = None, buffersize: object = 0,
    ) -> Any:  # fmt: skip
        if not tensor_among(op):
            given: Any = (op, flags or [], op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize)
            return np.nditer(*given)
        if op_axes is not None or op_dtypes is not None or order == "F":
            raise TypeError(
                at_user_line(
                    "np.nditer: over tensors without op_axes=, op_dtypes= and order='F'; use loops over indices"
                )
            )
        self = super().__new__(cls)
        self._open([*op] if isinstance(op, (list, tuple)) else [op], {*(flags or ())}, op_flags, itershape)
        return self

    def _open(self, given: list[Any], flags: set[str], op_flags: Any, itershape: Any) -> None:
        arrays = [x if x is None or isinstance(x, Tensor) else as_tensor(x, "nditer") for x in given]
        shape: Any = () if itershape is None else (*itershape,)
        for x in arrays:
            shape = shape if x is None else broadcast_shapes(shape, _extents(x, "nditer"), "nditer")
        dtype = np.result_type(*[x.dtype for x in arrays if x is not None])
        self.shape = (*shape,)
        self.operands = (*[zeros(self.shape, dtype) if x is None else x for x in arrays],)
        each = [op_flags] * len(arrays) if op_flags and isinstance(op_flags[0], str) else op_flags or [()] * len(arrays)
        self._writes = [x is None or not {*f}.isdisjoint(_SEQUENCES) for x, f in zip(arrays, each, strict=True)]
        self._chunks = "external_loop" in flags
        self.has_multi_index, self.has_index = "multi_index" in flags, "c_index" in flags
        self.iterindex = 0

    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    nop = property(lambda self: len(self.operands), doc="The number of arrays.")
    itersize = property(lambda self: math.prod(self.shape), doc="The number of elements.")
    finished = property(lambda self: self.iterindex >= self.itersize, doc="Whether all elements have come.")
    index = property(lambda self: self.iterindex, doc="The place in row-major order.")

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the elements that are on."""
        return (*map(int, np.unravel_index(self.iterindex, self.shape)),)

    @property
    def value(self) -> Any:
        """The elements that are on: one, or a tuple of them."""
        found = (*map(self._at, range(self.nop)),)
        return found[0] if self.nop == 1 else found

    def _at(self, number: int) -> Any:
        x = self.operands[number]
        if self._chunks:
            return ops.ravel(x) if (*x.shape,) == self.shape else ops.ravel(ops.broadcast_to(x, self.shape))
        place = _element(x, self.multi_index, self.shape)
        return item_of(x, (*place, ...)) if self._writes[number] else x[place]

    def __getitem__(self, number: Any) -> Any:
        numbers = range(self.nop)[number]
        return (*map(self._at, numbers),) if isinstance(numbers, range) else self._at(numbers)

    def __setitem__(self, number: int, value: ArrayLike) -> None:
        self._at(number)[...] = value

    def iternext(self) -> bool:
        """Goes on to the next elements; says whether there are any."""
        self.iterindex += self.itersize if self._chunks else 1
        return not self.finished

    def reset(self) -> None:
        """Begins again at the first elements."""
        self.iterindex = 0

    def close(self) -> None:
        """Nothing is left to write: each element was written when it came."""

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iternext()

    def __len__(self) -> int:
        return self.itersize

    def __enter__(self) -> nditer:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


class _PyUfunc:
    """What `frompyfunc` makes: NumPy's ufunc, and beside tensors a function that is called for each element."""

    def __init__(self, func: Callable[..., Any], theirs: np.ufunc) -> None:
        self._theirs, self._ours = theirs, vectorize(func)
        self.__name__ = theirs.__name__

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        return self._ours(*args) if tensor_among(args) and not kwargs else self._theirs(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)

    def reduce(self, array: Tensor, axis: int = 0, **options: Any) -> Any:
        """The function of the elements along an axis, from the first on."""
        return folded(self, array, axis, False) if tensor_among(array) else self._theirs.reduce(array, axis, **options)

    def accumulate(self, array: Tensor, axis: int = 0, **options: Any) -> Any:
        """What `reduce` has on its way."""
        if tensor_among(array):
            return folded(self, array, axis, True)
        return self._theirs.accumulate(array, axis, **options)

    def outer(self, a: Tensor, b: Tensor, /, **options: Any) -> Any:
        """The function of each pair."""
        if not tensor_among((a, b)):
            return self._theirs.outer(a, b, **options)
        first = as_tensor(a)
        return self(ops.reshape(first, (*first.shape, *(1,) * np.ndim(b))), b)


@names_errors
def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, **kwargs: object) -> Any:
    """A function of numbers as a ufunc; of tensors it gives tensors, elsewhere NumPy's arrays of objects.

    Args:
        func: the function.
        nin: the number of its arguments.
        nout: the number of its results.
        **kwargs: `identity`, what `reduce` of nothing is.

    Returns:
        A function with a ufunc's attributes and methods.

    Example:
        >>> import wengert as wg, wengert.numpy as np
        >>> f = np.frompyfunc(lambda x, y: x * y, 2, 1)
        >>> wg.grad(lambda x: f(x, [1.0, 2.0]).sum())(np.array([3.0, 4.0]))
        Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    return _PyUfunc(func, np.frompyfunc(func, nin, nout, **kwargs))


def folded(f: Callable[[Any, Any], Any], array: ArrayLike | None, axis: Axes, running: bool) -> Tensor:
    """A function of two applied along an axis from the first element on, as a ufunc's `reduce` and `accumulate`."""
    x = as_tensor(array)
    lines = ops.moveaxis(x, axis, 0)
    count = _extents(lines, "ufunc.reduce")[0]
    if not count:
        raise ValueError(at_user_line("ufunc.reduce: a function of two without identity takes one element at least"))
    found = itertools.accumulate((lines[i] for i in range(count)), f)
    if running:
        return ops.moveaxis(ops.stack([*found]), 0, axis)
    result = None
    for result in found:  # noqa: B007  # the last one
        pass
    return as_tensor(result)


@names_errors
def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Vectors along an axis each, so that they meet in an index of rows and columns.

    Args:
        *args: vectors; booleans stand for the positions of what is true.

    Returns:
        As many arrays, of as many axes.

    Example:
        >>> import wengert.numpy as np
        >>> [x.shape for x in np.ix_([0, 1], [2, 3, 4])]
        [(2, 1), (1, 3)]
    """
    if not tensor_among(args):
        return np.ix_(*args)
    found = []
    for number, arg in enumerate(args):
        x = as_tensor(arg, "ix_")
        if x.ndim != 1:
            raise ValueError(at_user_line(f"np.ix_: wanted vectors, got shape {x.shape}"))
        if x.dtype.kind == "b":
            x = as_tensor(np.flatnonzero(known_values(x, "np.ix_: a mask")))
        found.append(ops.reshape(x, (*(1,) * number, -1, *(1,) * (len(args) - number - 1))))
    return (*found,)


@names_errors
def einsum_path(*operands: ArrayLike, optimize: str = "greedy", einsum_call: bool = False) -> Any:
    """The order in which `einsum` takes its operands; their shapes decide.

    Args:
        *operands: what `einsum` takes.
        optimize: the way to choose, as NumPy names it.
        einsum_call: accepted for NumPy's sake.

    Returns:
        The path, to be given as `optimize=`, and a text about it.

    Example:
        >>> import wengert.numpy as np
        >>> np.einsum_path("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4)))[0]
        ['einsum_path', (0, 1)]
    """
    if not isinstance(optimize, (str, bool, list, tuple)):
        raise TypeError(at_user_line(f"einsum_path: optimize is {type(optimize).__name__}; wanted a name or a path"))
    blanks: Any = [x if tensor_in(x) is None else np.broadcast_to(0.0, _extents(x, "einsum_path")) for x in operands]
    call: Any = einsum_call
    return np.einsum_path(*blanks, optimize=optimize, einsum_call=call)


@names_errors
def nested_iters(
    op: Any, axes: Any, flags: object = None, op_flags: object = None, op_dtypes: object = None, order: str = "K",
    casting: str = "safe", buffersize: object = 0,
) -> Any:  # fmt: skip
    """NumPy's own, of plain arrays; tensors are refused.

    Args:
        op: arrays.
        axes: which axes each iterator takes.
        flags: as in `numpy.nested_iters`.
        op_flags: as in `numpy.nested_iters`.
        op_dtypes: as in `numpy.nested_iters`.
        order: as in `numpy.nested_iters`.
        casting: as in `numpy.nested_iters`.
        buffersize: as in `numpy.nested_iters`.

    Returns:
        Iterators, one in the other.

    Raises:
        LostGradientError: for tensors.

    Example:
        >>> import numpy, wengert.numpy as np
        >>> rows, elements = np.nested_iters(numpy.ones((2, 3)), [[0], [1]])
        >>> len([x for _ in rows for x in elements])
        6
    """
    if tensor_among(op):
        raise LostGradientError(at_user_line("np.nested_iters takes no tensors; loop over np.ndindex or np.nditer"))
    more: Any = (flags or [], op_flags, op_dtypes, order, casting, buffersize)
    return np.nested_iters(op, axes, *more)


__all__ = ["einsum_path", "ix_"]  # the others are machinery, which the package has, but not `import *`
