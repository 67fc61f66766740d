"""Helpers of this engine's files: `Native`, dtypes, shapes known at run time only, kernels that run on the host, rows
and histories of loops.

A kernel of this engine works on TensorFlow's own tensors, eager or symbolic. What the core holds is a `Native` around
one, which tells its shape as a tuple and its dtype as NumPy's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..._core import dtypes
from ..._core.types import TensorType, tensor_type
from ..on_host import host_kernel
from ..subnormals import with_subnormals

Kernel = Callable[..., Any]

TRACING = threading.local()  # `depth`: how many programs are being traced for TensorFlow, where loops must be its own

_DTYPES: dict[Any, np.dtype[Any]] = {}  # TensorFlow's -> NumPy's


def numpy_dtype(x: Any) -> np.dtype[Any]:
    """A tensor's dtype as NumPy's."""
    found = _DTYPES.get(x.dtype)
    if found is None:
        found = _DTYPES[x.dtype] = np.dtype(x.dtype.as_numpy_dtype)
    return found


class Native:
    """A TensorFlow tensor as the core sees arrays.

    Attributes:
        array: the tensor.
        shape: its extents, None where only a run will tell.
        dtype: NumPy's.
    """

    __slots__ = ("array", "dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = (*array.shape,)
        self.dtype = numpy_dtype(array)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    __index__ = __int__

    def __repr__(self) -> str:
        return f"Native({self.array!r})"


def entered(x: Any) -> Native:
    """A tensor, or what is read as one (a `tf.Variable`), as a native."""
    return Native(x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x))


def held(x: object) -> Any:
    """A kernel's result as a native; what a loop has kept passes as it is."""
    if isinstance(x, tf.Tensor):
        return Native(x)
    return Native(tf.constant(x)) if isinstance(x, np.generic) else x  # pyright: ignore[reportArgumentType]  # the stubs know less than TensorFlow


def opened(x: Any) -> Any:
    """A native's tensor; what a loop has kept passes as it is."""
    return x.array if type(x) is Native else x


def on_natives(kernel: Kernel) -> Kernel:
    """A kernel on tensors as one on natives."""

    def run(*operands_and_attrs: Any) -> Any:
        result = kernel(*map(opened, operands_and_attrs))
        return (*map(held, result),) if isinstance(result, (tuple, list)) else held(result)

    for mark in ("is_on_host", "on_host_when"):
        if hasattr(kernel, mark):
            setattr(run, mark, getattr(kernel, mark))
    return run


def is_eager(x: object) -> bool:
    """Whether a tensor holds values; the symbolic ones of a graph do not."""
    return not tf.is_symbolic_tensor(x) if isinstance(x, tf.Tensor) else True


def ndarray_from(x: tf.Tensor) -> np.ndarray[Any, Any]:
    """The values of an eager tensor or of a variable: NumPy takes none of no axes whose dtype is not one of its own."""
    return np.asarray(x.numpy() if hasattr(x, "numpy") else x)


def values_of(*xs: Any) -> tuple[np.ndarray[Any, Any], ...] | None:
    """Tensors as ndarrays if their values are at hand, for checks; None in graphs."""
    if not all(map(is_eager, xs)):
        return None
    return (*map(ndarray_from, xs),)


# -- shapes ------------------------------------------------------------------------------------------------------------


def extents(x: Any) -> list[Any]:
    """The extents of a tensor, as scalars of a graph where only a run will tell."""
    known = x.shape.as_list()
    if None not in known:
        return known
    told = tf.shape(x)
    return [told[i] if n is None else n for i, n in enumerate(known)]


def as_shape(shape: Any) -> Any:
    """Extents as TensorFlow's functions take them."""
    if not len(shape):
        return tf.constant([], tf.int32)
    if any(isinstance(n, tf.Tensor) for n in shape):
        return tf.stack([*map(_extent, shape)])
    return [*shape]


def _extent(n: int | tf.Tensor) -> Any:
    return tf.cast(n, tf.int32)


def count_of(shape: Any) -> Any:
    """The number of elements."""
    total: Any = 1
    for n in shape:
        total = total * n
    return total


def is_empty(x: Any) -> bool:
    """Whether a tensor is known to have no elements."""
    return 0 in x.shape.as_list()


# -- dtypes ------------------------------------------------------------------------------------------------------------


def is_half(x: Any) -> bool:
    return x.dtype in (tf.float16, tf.bfloat16)


def widened(x: Any) -> Any:
    """A half float tensor in float32; anything else as it is."""
    return tf.cast(x, tf.float32) if isinstance(x, tf.Tensor) and is_half(x) else x


def narrowed(result: tf.Tensor, dtype: tf.DType) -> Any:
    if isinstance(result, tuple):
        return (*[narrowed(r, dtype) for r in result],)
    return tf.cast(result, dtype) if result.dtype == tf.float32 else result


def in_float32(function: Kernel) -> Kernel:
    """A kernel that computes half floats in float32 and rounds once, at the end."""

    def kernel(x: Any, *rest: Any) -> Any:
        if not is_half(x):
            return function(x, *rest)
        return narrowed(function(widened(x), *map(widened, rest)), x.dtype)

    return kernel


_NARROW = {
    tf.int8: tf.int32, tf.int16: tf.int32, tf.uint8: tf.int32, tf.uint16: tf.int32, tf.uint32: tf.int64,
    tf.bool: tf.int32,
}  # fmt: skip


def in_wider_integers(function: Kernel) -> Kernel:
    """A kernel that computes narrow integers in int32 or int64, for want of TensorFlow's own.

    Results are of the wide dtype only while they are computed: they wrap as the narrow ones do.
    """

    def kernel(x: tf.Tensor, *rest: tf.Tensor | tuple[int, ...]) -> Any:
        wide = _NARROW.get(x.dtype)
        if wide is None:
            return function(x, *rest)
        found = function(tf.cast(x, wide), *[
            tf.cast(r, wide) if isinstance(r, tf.Tensor) and r.dtype == x.dtype else r for r in rest
        ])  # fmt: skip
        return tf.cast(found, x.dtype) if found.dtype == wide else found

    return kernel


def as_signed(function: Kernel) -> Kernel:
    """A kernel on uint64 by way of int64, where only the bits matter."""

    def kernel(x: tf.Tensor, *rest: tf.Tensor | tuple[int, ...]) -> Any:
        if x.dtype != tf.uint64:
            return function(x, *rest)
        cast = [tf.bitcast(r, tf.int64) if isinstance(r, tf.Tensor) and r.dtype == tf.uint64 else r for r in rest]
        found = function(tf.bitcast(x, tf.int64), *cast)
        return tf.bitcast(found, tf.uint64) if found.dtype == tf.int64 else found

    return kernel


def any_integer(function: Kernel) -> Kernel:
    """A kernel that is right on int32, int64 and floats, for all integers."""
    return as_signed(in_wider_integers(function))


# -- the host ----------------------------------------------------------------------------------------------------------


def type_of_tensor(x: Any) -> TensorType:
    """A tensor's type as type rules read it."""
    return tensor_type((*x.shape,), numpy_dtype(x))


def host_call(function: Callable[..., Any], tensors: Sequence[Any], types: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a function from ndarrays to a tuple of ndarrays of these types gives; a graph calls back."""
    if all(map(is_eager, tensors)):
        return (*[tf.constant(np.asarray(y)) for y in function(*map(ndarray_from, tensors))],)
    wanted = [np.dtype(t[1]) for t in types]

    def run(*arrays: Any) -> list[Any]:
        found = function(*map(np.asarray, arrays))
        return [np.ascontiguousarray(y, d).reshape(np.shape(y)) for y, d in zip(found, wanted, strict=True)]

    outs = tf.numpy_function(with_subnormals(run), [*tensors], [*map(tf.as_dtype, wanted)], stateful=False)
    for out, type_ in zip(outs, types, strict=True):
        out.set_shape([n if isinstance(n, int) else None for n in type_[0]])
    return (*outs,)


def on_host(name: str) -> Kernel:
    """NumPy's kernel of a primitive, for those that TensorFlow has no ops for."""
    return host_kernel(name, host_call, type_of_tensor)


def on_host_when(when: str, kernel: Kernel) -> Kernel:
    """A kernel, marked as one that runs on the host in some cases."""
    kernel.on_host_when = when
    return kernel


# -- histories ---------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What an array of a history is: a list of elements of a type, or (not `is_list`) one tensor of that type."""

    dtype: Any
    shape: tuple[int | None, ...] | None
    is_list: bool = True


def kind_of(x: Any, is_list: bool = True) -> Kind:
    """The kind of a list of tensors like one, or of that one."""
    return Kind(x.dtype, (*x.shape,) if x.shape.rank is not None else None, is_list)


class Bundle(NamedTuple):
    """Some of the values of a row: of a history a list for each of its tensors, of tensors of one type a list for all.

    Attributes:
        places: which values.
        kinds: of the lists.
        form: of the history.
    """

    places: tuple[int, ...]
    kinds: tuple[Kind, ...]
    form: Any


class Rows:
    """Rows of values of some types, in tensor lists.

    Attributes:
        handles: the lists.
        bundles: what is in them.
    """

    __slots__ = ("bundles", "handles")

    def __init__(self, handles: Sequence[Any], bundles: tuple[Bundle, ...]) -> None:
        self.handles = (*handles,)
        self.bundles = bundles


class TensorHistory:
    """A history: tensors that pass where one does.

    Attributes:
        opened: what a recorder has kept, or a pile of histories: rows and tensors. Nothing where nobody reads it.
        arrays: its tensors.
        kinds: what they are.
        is_whole: whether every step's values are kept.
        budget: how many slots the backward pass may fill.
        block: how many steps are a block.
    """

    shape = ()
    ndim = 0
    dtype = dtypes.HISTORY

    def __init__(self, opened: object, is_whole: bool, budget: int = 0, block: int = 0) -> None:
        self.opened: Any = opened
        self.arrays = (*leaves_of(opened),)
        self.kinds = (*_kinds_within(opened),)
        self.is_whole = is_whole
        self.budget = budget
        self.block = block


class HistoryForm(NamedTuple):
    """What a history of other tensors is rebuilt from: its attributes, and the form of what it holds."""

    kinds: tuple[Kind, ...]
    is_whole: bool
    budget: int
    block: int
    opened: Any


class RowsForm(NamedTuple):
    """What rows in other lists are rebuilt from."""

    bundles: tuple[Bundle, ...]


def leaves_of(x: Any) -> list[Any]:
    """The tensors within a nest of lists and tuples of tensors, rows and histories."""
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in leaves_of(part)]
    if type(x) is Rows:
        return [*x.handles]
    return [*x.arrays] if type(x) is TensorHistory else [x]


def form_of(x: Any) -> Any:
    """What such a nest is rebuilt from: None for a tensor."""
    if isinstance(x, (list, tuple)):
        return (*map(form_of, x),)
    if type(x) is Rows:
        return RowsForm(x.bundles)
    if type(x) is TensorHistory:
        return HistoryForm(x.kinds, x.is_whole, x.budget, x.block, form_of(x.opened))
    return None


def nested(form: Any, leaves: Iterator[Any]) -> Any:
    """The nest of a form, its lists as tuples."""
    if form is None:
        return next(leaves)
    if type(form) is RowsForm:
        return Rows([next(leaves) for b in form.bundles for _ in b.kinds], form.bundles)
    if type(form) is HistoryForm:
        return TensorHistory(nested(form.opened, leaves), form.is_whole, form.budget, form.block)
    return (*[nested(part, leaves) for part in form],)


def _kinds_within(x: Any) -> list[Kind]:
    if isinstance(x, (list, tuple)):
        return [kind for part in x for kind in _kinds_within(part)]
    if type(x) is Rows:
        return [kind for b in x.bundles for kind in b.kinds]
    return [kind_of(x, is_list=False)]


def flat(values: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Tensors and histories as tensors alone, and the form to rebuild them from."""
    return leaves_of(values), form_of([*values])


def rebuilt(form: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """The inverse of `flat`."""
    return [*nested((*form,), iter(leaves))]


def dtype_of(dtype: Any) -> Any:
    """NumPy's dtype as TensorFlow's."""
    return tf.as_dtype(dtype)


def is_inexact(x: tf.Tensor) -> bool:
    return dtypes.is_inexact(numpy_dtype(x))


def keeping_nan(function: Callable[..., Any]) -> Any:
    """`tf.maximum` or `tf.minimum`, for graphs that XLA may compile: it passes over NaN in the second operand."""

    def kernel(x: tf.Tensor, y: tf.Tensor) -> Any:
        found = function(x, y)
        return found if tf.executing_eagerly() or not y.dtype.is_floating else tf.where(tf.math.is_nan(y), y, found)

    return kernel
