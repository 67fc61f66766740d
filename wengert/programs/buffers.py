"""`buffer`: an array that programs write into, element by element or slice by slice, differentiably.

The object holds the newest version (a tensor, see `_prims/buffer.py`); in a trace the graph under construction does, as
it does for what a `Variable` holds.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike, Index
from .._core.dims import Dim, DimLike, Shape
from .._core.engine import ndarray_of
from .._core.foreign_arrays import no_mask
from .._core.moving import beside
from .._core.operators import Operators
from .._core.other_libraries import jax_array, pandas_priority, torch_function
from .._core.public import public
from .._core.state import STATE
from .._core.tensor import Tensor, Value, tensor_in
from .._core.tracebacks import fold
from .._core.types import tensor_type
from .._core.user_line import at_user_line
from .._prims import buffer as prims
from .._prims import structural
from ..ops import buffer_indexing, promotion
from ..ops.conversion import tensor
from ..ops.memory.versions import Memory
from .variables import attach_operators


class Buffer(Memory, Operators):
    """An array that can be written to; `wg.buffer` makes them."""

    __slots__ = ("__weakref__",)
    _mask = no_mask
    __array_priority__ = 1000
    __pandas_priority__ = pandas_priority
    __torch_function__ = classmethod(torch_function)
    __jax_array__ = jax_array
    name = "buffer"  # in listings of graphs that read or write it

    def __init__(self, initial: Tensor) -> None:
        super().__init__(prims.buffer_new(initial), STATE.builder)

    # -- what users see ---------------------------------------------------------------------------------

    @property
    def value(self) -> Tensor:
        """All elements as a tensor: a copy, which later writes do not change."""
        return prims.buffer_value(self._held)

    __wengert_tensor__ = value.fget

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a read-only NumPy array, a copy. Cuts the gradient, on purpose."""
        return self.value.numpy()

    def __getitem__(self, index: Any) -> Tensor:
        try:  # not `@public`: a read or a write opens nothing, and loops are made of them
            return buffer_indexing.take(self._held, index, "buffer")
        except BaseException as error:
            fold(error)
            raise

    def __setitem__(self, index: Index, value: Any) -> None:
        try:
            value = value if (given := tensor_in(value)) is None else given
            held = self._held
            if type(value) is Tensor:
                value = beside(value, held)
            self._put(buffer_indexing.put(held, index, value, "buffer"))
        except BaseException as error:
            fold(error)
            raise

    @public
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(at_user_line("len() of a buffer of no axes"))
        return operator.index(self.shape[0])

    if TYPE_CHECKING:  # attached below

        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __reduce__(self) -> Any:
        # copying and unpickling make another buffer, with an identity of its own
        return (buffer, (np.array(self.value),))

    def __repr__(self) -> str:
        head = f"<buffer shape={self.shape} dtype={self.dtype.name}"
        if self._tensor is None or type(self._tensor._data) is Value or STATE.builder is not None:
            return f"{head}>"
        text = np.array2string(ndarray_of(self._tensor._data), separator=", ", threshold=20)
        return f"{head} {' '.join(text.split())}>"


attach_operators(Buffer)


@public
def buffer(shape_or_array: object, dtype: DTypeLike | None = None) -> Buffer:
    """An array to write into, `b[index] = value`, with gradients through every write and read.

    Reads `b[index]` are tensors of their own, which later writes do not change; `b.value` is all of it, and a buffer
    works wherever a tensor does, by that value. An index is anything that NumPy takes: integers, slices, arrays,
    ellipsis and masks. A value broadcasts to the shape of `b[index]` and takes the buffer's dtype; where an index
    addresses an element twice, the last value stands and has the gradient. `b[index] += value` works as in NumPy. A
    write, a read, and what the gradient does for either take time in proportion to the slice, not to the array.

    In a `function` a buffer made outside is state, as a `Variable` is: each call goes on from what the last one left.
    In a loop or a branch (`fori_loop`, `cond`, ...) it is carried along by itself.

    Args:
        shape_or_array: an integer or a tuple of integers: zeros of that shape; anything else is the initial content, an
            array, a tensor, a list or a number, which is copied (and differentiated through).
        dtype: of the buffer; by default that of the array, or the default float.

    Returns:
        A buffer with `value`, `shape`, `dtype`, `ndim`, indexing and Python's operators.

    Raises:
        TypeError: for a tuple that is no shape, a dtype that is not numeric, and, in a write, a value whose kind the
            buffer cannot hold (float to int, complex to real).
        ValueError: for a negative extent, and, in a write, a value that does not fit `b[index]`.
        IndexError: in a read or a write, for a place outside of the buffer.
        TracingError: a buffer that a trace made is used outside of it.

    Example:
        Explicit Euler for y' = -a y, and the derivative of where it ends.

        >>> import wengert as wg
        >>> def end(a, n=4, dt=0.25):
        ...     y = wg.buffer(n + 1)
        ...     y[0] = 1.0
        ...     for k in range(n):
        ...         y[k + 1] = y[k] + dt * (-a * y[k])
        ...     return y[n]
        >>> wg.value_and_grad(end)(1.0)
        ValueAndGrad(value=np.float64(0.31640625), grad=np.float64(-0.421875))
    """
    shape = _as_shape(shape_or_array)
    if shape is not None:
        wanted = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
        return Buffer(structural.zeros_of(tensor_type(shape, wanted)))
    initial = tensor(shape_or_array)
    return Buffer(initial if dtype is None else promotion.cast(initial, dtypes.as_dtype(dtype)))


def _as_shape(x: Any) -> Shape | None:
    """The shape that a value stands for; None if it is an array's content."""
    if not isinstance(x, tuple):
        return (_extent(x),) if _is_extent(x) else None
    items = cast("tuple[Any, ...]", x)
    if not all(map(_is_extent, items)):
        said = f"buffer: a tuple is a shape, of integers, got {items!r:.60}; pass content as a list"
        raise TypeError(at_user_line(said))
    return (*map(_extent, items),)


def _is_extent(x: ArrayLike | None) -> bool:
    return type(x) is Dim or (isinstance(x, (int, np.integer)) and not isinstance(x, bool))


def _extent(x: Any) -> DimLike:
    if type(x) is Dim:
        return x
    if x < 0:
        raise ValueError(at_user_line(f"buffer: an extent is not negative, got {x}"))
    return int(x)


__all__ = ["Buffer", "buffer"]
