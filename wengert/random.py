"""Random numbers from keys: stateless, and the same on every engine and any number of threads.

A key is two 32-bit words. Each draw is a pure function of its key, so use a key once: `split` it, or `fold_in` the
number of a step, to get new ones. Keys and bits are integers, constants to a gradient; what is made of them by
arithmetic (`minval`, `maxval`, a scale) is differentiated as usual.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ._core import dtypes
from ._core.apply import apply
from ._core.constant import constant
from ._core.tensor import Tensor
from ._core.where import at_user_line
from ._prims import discrete as D
from ._prims import random as Z
from ._prims import special as P
from ._prims import structural as S
from .ops import promotion
from .ops.elementwise import add, multiply, subtract
from .ops.promotion import as_tensor
from .ops.shapes import new_shape, part, reshaped

__all__ = ["bits", "fold_in", "key", "normal", "split", "uniform"]

_UINT32 = np.dtype(np.uint32)
_UINT64 = np.dtype(np.uint64)


def key(seed: int) -> Tensor:
    """The key that belongs to a seed.

    Args:
        seed: an integer; its low 64 bits count.

    Returns:
        A tensor of two uint32 words.

    Raises:
        TypeError: if the seed is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.random.key(7)
        Tensor([0, 7], shape=(2,), dtype=uint32)
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(at_user_line(f"random.key: seed must be an integer, got {seed!r}")) from None
    return constant(np.array([number >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF], np.uint32))


def _key(value: Any, what: str) -> Tensor:
    tensor = as_tensor(value, what)
    if tensor.dtype != _UINT32 or not tensor.shape or tensor.shape[-1] != 2:
        raise TypeError(
            at_user_line(
                f"random.{what}: wanted a key (two uint32 words; see wg.random.key), got {tensor.dtype.name} of shape "
                f"{tensor.shape}"
            )
        )
    return tensor


def split(key: Any, n: int = 2) -> Tensor:
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
    return Z.random_split(_key(key, "split"), count=count)


def fold_in(key: Any, data: Any) -> Tensor:
    """The key that belongs to a key and an integer, such as the number of a step.

    Args:
        key: a key.
        data: an integer, which may be a tensor.

    Returns:
        A key.

    Raises:
        TypeError: if `data` is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.random.fold_in(wg.random.key(7), 3).shape
        (2,)
    """
    number = as_tensor(data, "fold_in")
    if not dtypes.is_integer(number.dtype):
        raise TypeError(at_user_line(f"random.fold_in: data has dtype {number.dtype.name}, wanted an integer"))
    base = _key(key, "fold_in")
    return Z.random_fold_in(base, promotion.broadcast(number, tuple(base.shape[:-1])))


def bits(key: Any, shape: Any = ()) -> Tensor:
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
    return Z.random_bits(_key(key, "bits"), shape=new_shape(shape, "random.bits"))


def _float_dtype(dtype: Any, what: str) -> np.dtype[Any]:
    wanted = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    if not dtypes.is_float(wanted):
        raise TypeError(at_user_line(f"random.{what}: dtype is {wanted.name}, wanted a floating one"))
    return wanted


def _mantissas(key: Tensor, shape: Any, is_double: bool) -> tuple[Tensor, int]:
    """Uniform integers of as many bits as a float's mantissa holds, and how many those are."""
    if not is_double:
        return S.convert(_shifted(Z.random_bits(key, shape=shape), 8), dtype=dtypes.float32), 24
    # two words make 53 bits; 2^26 high + low is exact in float64
    words = Z.random_bits(key, shape=(*shape, 2))
    last = words.ndim - 1
    high, low = (reshaped(part(words, last, i, i + 1), tuple(words.shape[:-1])) for i in (0, 1))
    upper = S.convert(_shifted(high, 5), dtype=dtypes.float64)
    lower = S.convert(_shifted(low, 6), dtype=dtypes.float64)
    return S.add(S.times_number(upper, number=2.0**26), lower), 53


def _shifted(words: Tensor, places: int) -> Tensor:
    return apply(D.right_shift, (words, S.fill(words, places)))


def _unit(key: Tensor, shape: Any, dtype: np.dtype[Any]) -> Tensor:
    """Uniform numbers in [0, 1), multiples of the dtype's own step (2^-53, 2^-24, 2^-11 or 2^-8)."""
    numbers, width = _mantissas(key, shape, dtype == dtypes.float64)
    if dtypes.is_half(dtype):
        # fewer bits, so that rounding to the narrow dtype cannot give 1
        kept = 11 if dtype == dtypes.float16 else 8
        numbers = D.floor(S.times_number(numbers, number=2.0 ** (kept - width)))
        width = kept
    return promotion.cast(S.times_number(numbers, number=2.0**-width), dtype)


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Tensor:
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
    wanted, size = _float_dtype(dtype, "uniform"), new_shape(shape, "random.uniform")
    draw = _unit(_key(key, "uniform"), size, wanted)
    if type(minval) in (int, float) and type(maxval) in (int, float) and (minval, maxval) == (0, 1):
        return draw
    low, high = (promotion.cast(as_tensor(v, "uniform"), wanted) for v in (minval, maxval))
    return add(multiply(draw, subtract(high, low)), low)


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
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
    wanted, size = _float_dtype(dtype, "normal"), new_shape(shape, "random.normal")
    inner = dtypes.float64 if wanted == dtypes.float64 else dtypes.float32
    numbers, width = _mantissas(_key(key, "normal"), size, inner == dtypes.float64)
    # the middles of 2^(width - 1) equal parts of (-1, 1): symmetric, and never an end
    halves = D.floor(S.times_number(numbers, number=0.5))
    odd = S.add_number(S.times_number(halves, number=2.0), number=1 - 2.0 ** (width - 1))
    centred = S.times_number(odd, number=2.0 ** (1 - width))
    return promotion.cast(S.times_number(P.erfinv(centred), number=math.sqrt(2)), wanted)
