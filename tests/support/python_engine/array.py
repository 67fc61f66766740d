"""`PyArray`: the array of the plain-Python test engine.

Owns an immutable array of Python scalars in row-major order and the movements of its elements. It exists so
that the core can be run on something that is not NumPy: values are computed by Python alone, and only the
conversion in `interop.py` meets an ndarray. Clear before fast; strict as the primitives are: nothing broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from itertools import product
from math import prod
from typing import Any

from tests.support.python_engine.dtypes import rounder

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PyArray:
    """Shape, dtype and the flat row-major list of values.

    Attributes:
        shape: tuple of ints.
        dtype: a numpy dtype object, which says how wide the values are.
        flat: list of bool, int, float or complex, already rounded to the dtype. Never changed in place.
    """

    shape: Shape
    dtype: Any
    flat: list[Any]

    def __post_init__(self) -> None:
        if len(self.flat) != prod(self.shape):
            raise ValueError(f"PyArray: {len(self.flat)} values do not fill shape {self.shape}")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.flat)

    def __bool__(self) -> bool:
        """The truth of the value of an array of one element."""
        (value,) = self.flat
        return bool(value)

    # NumPy would take an array of objects for an answer; on this engine that is a leak, and it has to be seen
    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("an array of the plain-Python engine went to NumPy without interop.to_numpy")

    def __repr__(self) -> str:
        return f"PyArray({to_nested(self)!r}, {self.dtype.name})"


def make(shape: Iterable[int], dtype: Any, values: Iterable[Any]) -> PyArray:
    """An array of `values`, each rounded to `dtype`."""
    return PyArray(tuple(shape), dtype, list(map(rounder(dtype), values)))


def full(shape: Iterable[int], dtype: Any, value: Any) -> PyArray:
    """An array that holds one value everywhere."""
    shape = tuple(shape)
    return PyArray(shape, dtype, [rounder(dtype)(value)] * prod(shape))


def to_nested(x: PyArray) -> Any:
    """The values as nested lists (a bare scalar for shape ())."""
    if not x.shape:
        return x.flat[0]
    if x.ndim == 1:
        return list(x.flat)
    block = prod(x.shape[1:])
    rows = (x.flat[i * block : (i + 1) * block] for i in range(x.shape[0]))
    return [to_nested(PyArray(x.shape[1:], x.dtype, row)) for row in rows]


def strides(shape: Sequence[int]) -> Shape:
    """Steps in the flat list from one element to the next along each axis."""
    steps = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        steps[i] = steps[i + 1] * shape[i + 1]
    return tuple(steps)


def indices(shape: Iterable[int]) -> Iterator[Shape]:
    """Every multi-index of a shape in row-major order."""
    return product(*map(range, shape))


def offsets(shape: Sequence[int], steps: Sequence[int], start: int = 0) -> list[int]:
    """``start + sum(index * steps)`` for every multi-index of `shape`, in row-major order."""
    found = [start]
    for length, step in zip(shape, steps, strict=True):
        found = [base + i * step for base in found for i in range(length)]
    return found


def map1(fn: Callable[[Any], Any], x: PyArray, dtype: Any = None) -> PyArray:
    """`fn` of every element."""
    return make(x.shape, dtype or x.dtype, map(fn, x.flat))


def map2(fn: Callable[[Any, Any], Any], x: PyArray, y: PyArray, dtype: Any = None) -> PyArray:
    """`fn` of every pair of elements of two arrays of one shape."""
    return make(x.shape, dtype or x.dtype, map(fn, x.flat, strict_partner(x, y).flat))


def strict_partner(x: PyArray, y: PyArray) -> PyArray:
    """y, if it is an array of x's shape."""
    if type(y) is not PyArray or x.shape != y.shape:
        raise ValueError(f"operands of shapes {x.shape} and {getattr(y, 'shape', type(y))}, wanted equal ones")
    return y


def convert(x: PyArray, dtype: Any) -> PyArray:
    """The values rounded to another dtype."""
    return x if dtype == x.dtype else make(x.shape, dtype, x.flat)


def broadcast_to(x: PyArray, shape: Sequence[int]) -> PyArray:
    """The array repeated along new leading axes and axes of length 1."""
    shape = tuple(shape)
    lead = len(shape) - x.ndim
    if lead < 0 or any(a not in (1, b) for a, b in zip(x.shape, shape[lead:], strict=True)):
        raise ValueError(f"broadcast_to: shape {x.shape} does not broadcast to {shape}")
    moving = [0 if n == 1 else step for n, step in zip(x.shape, strides(x.shape), strict=True)]
    return _gather(x, shape, [0] * lead + moving)


def reshape(x: PyArray, shape: Iterable[int]) -> PyArray:
    """The same values under another shape of the same size."""
    return PyArray(tuple(shape), x.dtype, x.flat)


def transpose(x: PyArray, perm: Sequence[int]) -> PyArray:
    """Axis i of the result is axis perm[i] of x."""
    steps = strides(x.shape)
    return _gather(x, [x.shape[p] for p in perm], [steps[p] for p in perm])


def flip(x: PyArray, axes: Iterable[int]) -> PyArray:
    """The array read backwards along `axes`."""
    axes, steps = set(axes), strides(x.shape)
    if not x.size:
        return x
    start = sum((x.shape[a] - 1) * steps[a] for a in axes)
    return _gather(x, x.shape, [-s if i in axes else s for i, s in enumerate(steps)], start)


def slice_(x: PyArray, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> PyArray:
    """``x[start:stop:step, ...]`` with Python's rules; a stop of None reads to the end (or the beginning)."""
    ranges = [range(*slice(a, b, c).indices(n)) for a, b, c, n in zip(starts, stops, steps, x.shape, strict=True)]
    shape = tuple(map(len, ranges))
    if not prod(shape):
        return PyArray(shape, x.dtype, [])
    jumps = strides(x.shape)
    start = sum(r.start * jump for r, jump in zip(ranges, jumps, strict=True))
    return _gather(x, shape, [r.step * jump for r, jump in zip(ranges, jumps, strict=True)], start)


def take_flat(x: PyArray, positions: Sequence[int], shape: Iterable[int] | None = None) -> PyArray:
    """The elements at flat positions."""
    shape = (len(positions),) if shape is None else tuple(shape)
    return PyArray(shape, x.dtype, [x.flat[i] for i in positions])


def concatenate(arrays: Sequence[PyArray], axis: int) -> PyArray:
    """The arrays one after the other along `axis`."""
    first = arrays[0]
    axis %= first.ndim
    length = sum(a.shape[axis] for a in arrays)
    blocks = [prod(a.shape[axis:]) for a in arrays]
    values = [
        value
        for row in range(prod(first.shape[:axis]))
        for a, block in zip(arrays, blocks, strict=True)
        for value in a.flat[row * block : (row + 1) * block]
    ]
    return PyArray((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype, values)


def lanes(x: PyArray, axes: Sequence[int]) -> tuple[Shape, list[list[Any]]]:
    """The shape without `axes`, and for each of its elements the row-major list of values over `axes`."""
    gone = [a % x.ndim for a in axes]
    steps = strides(x.shape)
    kept = [i for i in range(x.ndim) if i not in gone]
    inner = offsets([x.shape[i] for i in sorted(gone)], [steps[i] for i in sorted(gone)])
    shape = tuple(x.shape[i] for i in kept)
    starts = offsets(shape, [steps[i] for i in kept])
    return shape, [[x.flat[start + i] for i in inner] for start in starts]


def reduce(x: PyArray, axes: Sequence[int], fn: Callable[[Any, Any], Any], init: Any, dtype: Any = None) -> PyArray:
    """Fold `fn` over `axes` (all dropped from the shape), from `init`; rounded once, at the end."""
    shape, groups = lanes(x, axes)
    return make(shape, dtype or x.dtype, (fold(fn, group, init) for group in groups))


def along(x: PyArray, axis: int, fn: Callable[[list[Any]], list[Any]], dtype: Any = None) -> PyArray:
    """Replace each one-dimensional lane along `axis` by `fn` of it (the same length for all)."""
    axis %= x.ndim
    shape, groups = lanes(x, (axis,))
    results = [fn(group) for group in groups]
    length = len(results[0]) if results else x.shape[axis]
    moved = make((*shape, length), dtype or x.dtype, (v for lane in results for v in lane))
    perm = list(range(len(shape)))
    perm.insert(axis, len(shape))
    return transpose(moved, perm)


def _gather(x: PyArray, shape: Sequence[int], steps: Sequence[int], start: int = 0) -> PyArray:
    return PyArray(tuple(shape), x.dtype, [x.flat[i] for i in offsets(shape, steps, start)])
