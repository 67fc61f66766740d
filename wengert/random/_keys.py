"""Keys and their children; bits, and uniform and normal numbers made of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, ShapeLike
from .._core.constant import constant
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import random as Z
from ..ops import promotion
from ..ops.draws import float_dtype, key_of, standard_normal, unit
from ..ops.elementwise import add, bitwise_and, multiply, right_shift, subtract
from ..ops.promotion import as_tensor, cast, names_errors
from ..ops.shapes import joined, new_shape, with_axis

__all__ = ["bits", "fold_in", "key", "normal", "split", "uniform"]

_UINT32 = np.dtype(np.uint32)
_UINT64 = np.dtype(np.uint64)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@names_errors
def key(seed: int) -> Tensor:
    """The key that belongs to a seed.

    Args:
        seed: an integer of 64 bits (from -2^63 to 2^64 - 1), which may be a tensor (in a trace, too).

    Returns:
        A tensor of two uint32 words.

    Raises:
        TypeError: if the seed is not an integer.
        ValueError: if it has more than 64 bits.

    Example:
        >>> import wengert as wg
        >>> wg.random.key(7)
        Tensor([0, 7], shape=(2,), dtype=uint32)
    """
    try:
        number = operator.index(seed)
    except TypeError:
        return _key_of_tensor(seed)
    _require_64_bits(number, "random.key: seed")
    return constant(np.array([number >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF], np.uint32))


def _require_64_bits(number: int, what: str) -> None:
    if not -(2**63) <= number < 2**64:
        raise ValueError(at_user_line(f"{what} is {number}, wanted an integer of 64 bits, from -2**63 to 2**64 - 1"))


def _key_of_tensor(seed: object) -> Tensor:
    """The key of a seed whose value is not known while tracing."""
    number = as_tensor(seed, "random.key: seed")
    if not dtypes.is_integer(number.dtype) or number.shape != ():
        raise TypeError(at_user_line(f"random.key: seed must be an integer, got {seed!r}"))
    wide = cast(cast(number, dtypes.int64), _UINT64) if number.dtype.kind == "i" else cast(number, _UINT64)
    words = (cast(bitwise_and(word, _LOW), _UINT32) for word in (right_shift(wide, _HALF), wide))
    return joined([with_axis(word, 0) for word in words], 0)


@names_errors
def split(key: ArrayLike, n: int = 2) -> Tensor:
    """New keys from one; do not use that one again.

    Args:
        key: a key.
        n: how many.

    Returns:
        A tensor of shape (n, 2), which unpacks into keys. Key j is the same for every n > j.

    Example:
        >>> import wengert as wg
        >>> first, second = wg.random.split(wg.random.key(7))
        >>> first.shape
        (2,)
    """
    (count,) = new_shape(n, "random.split")
    return Z.random_split(key_of(key, "split"), count=count)


@names_errors
def fold_in(key: ArrayLike, data: ArrayLike) -> Tensor:
    """The key that belongs to a key and an integer, such as the number of a step.

    Args:
        key: a key.
        data: an integer, which may be a tensor.

    Returns:
        A key.

    Raises:
        TypeError: if `data` is not an integer.
        ValueError: if it has more than 64 bits.

    Example:
        >>> import wengert as wg
        >>> wg.random.fold_in(wg.random.key(7), 3).shape
        (2,)
    """
    if type(data) is int:
        _require_64_bits(data, "random.fold_in: data")
    number = as_tensor(data, "random.fold_in: data")
    if not dtypes.is_integer(number.dtype):
        raise TypeError(at_user_line(f"random.fold_in: data has dtype {number.dtype.name}, wanted an integer"))
    base = key_of(key, "fold_in")
    return Z.random_fold_in(base, promotion.broadcast(number, tuple(base.shape[:-1])))


@names_errors
def bits(key: ArrayLike, shape: ShapeLike = ()) -> Tensor:
    """Uniform 32-bit words.

    Args:
        key: a key.
        shape: the shape; a longer draw of one axis begins with the shorter one.

    Returns:
        A uint32 tensor.

    Example:
        >>> import wengert as wg
        >>> wg.random.bits(wg.random.key(7), (2,)).dtype
        dtype('uint32')
    """
    return Z.random_bits(key_of(key, "bits"), shape=new_shape(shape, "random.bits"))


@names_errors
def uniform(key: Any, shape: ArrayLike = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Tensor:
    """Uniform numbers in [minval, maxval), the same to the bit on every engine.

    Args:
        key: a key.
        shape: the shape.
        dtype: a floating dtype; None means the default float.
        minval: the lower end, a number or an array that broadcasts to the shape; differentiable.
        maxval: the upper end, which rounding may reach; differentiable.

    Returns:
        A tensor.

    Raises:
        TypeError: for a dtype that is not a floating one.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.uniform(wg.random.key(7), (3,), minval=2.0, maxval=4.0)
        >>> bool((x >= 2.0).all()), bool((x < 4.0).all())
        (True, True)
    """
    wanted, size = float_dtype(dtype, "uniform"), new_shape(shape, "random.uniform")
    draw = unit(key_of(key, "uniform"), size, wanted)
    if type(minval) in (int, float) and type(maxval) in (int, float) and (minval, maxval) == (0, 1):
        return draw
    low, high = (promotion.cast(as_tensor(v, "uniform"), wanted) for v in (minval, maxval))
    return add(multiply(draw, subtract(high, low)), low)


@names_errors
def normal(key: ArrayLike, shape: ShapeLike | None = (), dtype: Any = None) -> Tensor:
    """Standard normal numbers, by the inverse of the distribution function.

    Args:
        key: a key.
        shape: the shape.
        dtype: a floating dtype; None means the default float.

    Returns:
        A tensor; scale and move it to get any normal distribution, with gradients to scale and mean.

    Raises:
        TypeError: for a dtype that is not a floating one.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.normal(wg.random.key(7), (1000,))
        >>> abs(x.mean().item()) < 0.1, abs(x.std().item() - 1) < 0.1
        (True, True)
    """
    wanted, size = float_dtype(dtype, "normal"), new_shape(shape, "random.normal")
    return standard_normal(key_of(key, "normal"), size, wanted)
