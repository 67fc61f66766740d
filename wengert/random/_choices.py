"""Draws without a gradient: counts, choices, orders; and dropout, whose mask is one."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import piecewise as W
from .._prims import random as Z
from .._prims import structural as S
from ..ops import promotion
from ..ops.draws import key_of, open_unit, unit
from ..ops.elementwise import add, divide, less, log, multiply, subtract
from ..ops.indexing import argsort, take, where
from ..ops.joining import stack
from ..ops.ordering import searchsorted
from ..ops.promotion import as_float, as_tensor, names_errors, normal_axis, outward
from ..ops.reductions import argmax, cumsum
from ..ops.shapes import known_extent, new_shape, part, reshaped
from ..special import betaincc, gammaincc
from ._families import drawn_for, gumbel
from ._keys import split

_UINT64 = np.dtype(np.uint64)
_HALVINGS = 31  # counts up to 2^31


@names_errors
def bernoulli(key: Any, p: ArrayLike = 0.5, shape: ShapeLike | None = None) -> Tensor:
    """Booleans that are true with probability p.

    Args:
        key: a key.
        p: the probabilities; nothing is differentiated in them.
        shape: the shape; None means that of `p`, which broadcasts to it.

    Returns:
        A tensor of booleans.

    Example:
        >>> import wengert as wg
        >>> wg.random.bernoulli(wg.random.key(7), 0.9, (3,)).dtype
        dtype('bool')
    """
    (share,), _ = drawn_for((p,), shape, None, "bernoulli")
    return less(unit(key_of(key, "bernoulli"), tuple(share.shape), share.dtype), S.stop_gradient(share))


@names_errors
def rademacher(key: Any, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Tensor:
    """Signs, -1 or 1 with equal probability.

    Args:
        key: a key.
        shape: the shape.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.random.rademacher(wg.random.key(7), (3,)).shape
        (3,)
    """
    wanted = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    words = Z.random_bits(key_of(key, "rademacher"), shape=new_shape(shape, "random.rademacher"))
    sign = promotion.cast(apply(D.right_shift, (words, S.fill(words, 31))), dtypes.int64)
    return promotion.cast(subtract(multiply(sign, 2), 1), wanted)


@names_errors
def randint(key: Any, shape: ShapeLike, minval: int, maxval: int, dtype: DTypeLike | None = None) -> Tensor:
    """Whole numbers from minval up to, and without, maxval; the same on every engine.

    Args:
        key: a key.
        shape: the shape.
        minval: the lowest number, an integer.
        maxval: the first number beyond, an integer above it, at most 2^32 away.
        dtype: an integer dtype; None means int64.

    Returns:
        A tensor. No number is more than 2^-32 of its probability off.

    Raises:
        ValueError: for bounds that do not ascend, or lie too far apart.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.randint(wg.random.key(7), (100,), 1, 7)
        >>> int(x.min()), int(x.max())
        (1, 6)
    """
    low, span = operator.index(minval), operator.index(maxval) - operator.index(minval)
    if not 1 <= span <= 2**32:
        raise ValueError(
            at_user_line(f"random.randint: the bounds {minval} and {maxval} do not hold 1 to 2^32 numbers")
        )
    size = new_shape(shape, "random.randint")
    words = Z.random_bits(key_of(key, "randint"), shape=(*size, 2))
    last = words.ndim - 1
    high, rest = (promotion.cast(reshaped(part(words, last, i, i + 1), size), _UINT64) for i in (0, 1))
    # the upper half of the 96-bit product of 64 random bits and the span
    carried = apply(D.right_shift, (S.times_number(rest, number=span), S.fill(rest, 32)))
    number = apply(D.right_shift, (S.add(S.times_number(high, number=span), carried), S.fill(rest, 32)))
    wanted = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    if not dtypes.is_integer(wanted):
        raise TypeError(at_user_line(f"random.randint: dtype is {wanted.name}, wanted an integer one"))
    return promotion.cast(add(promotion.cast(number, dtypes.int64), low), wanted)


@names_errors
def categorical(key: Any, logits: ArrayLike, axis: int = -1, shape: ShapeLike | None = None) -> Tensor:
    """Classes with the probabilities softmax(logits).

    Args:
        key: a key.
        logits: logarithms of weights along an axis; nothing is differentiated in them.
        axis: that axis.
        shape: the shape of the draws, to which the other axes broadcast; None means that of the other axes.

    Returns:
        A tensor of class numbers (int64).

    Raises:
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.random.categorical(wg.random.key(7), [0.0, -float("inf")], shape=(3,)).numpy()
        array([0, 0, 0])
    """
    weights = S.stop_gradient(as_float(as_tensor(logits, "random.categorical")))
    axis = normal_axis(axis, weights.ndim, "random.categorical")
    order = (*[i for i in range(weights.ndim) if i != axis], axis)
    weights = S.transpose(weights, perm=order)
    lead = tuple(weights.shape[:-1])
    size = lead if shape is None else new_shape(shape, "random.categorical")
    if promotion.broadcast_shapes(size, lead, "random.categorical") != size:
        raise ValueError(at_user_line(f"random.categorical: shape is {size}, and logits has shape {lead} besides"))
    noise = gumbel(key, (*size, weights.shape[-1]), weights.dtype)
    return argmax(add(noise, weights), axis=-1)


@names_errors
def permutation(key: Any, x: ArrayLike, axis: int = 0) -> Any:
    """An array in random order along an axis, or the numbers below an integer; the same on every engine.

    Args:
        key: a key.
        x: an array, or an integer.
        axis: the axis along which slices change places.

    Returns:
        A tensor, or an array if x is one; gradients go back to where each slice came from.

    Example:
        >>> import wengert as wg
        >>> sorted(wg.random.permutation(wg.random.key(7), 4).numpy().tolist())
        [0, 1, 2, 3]
    """
    is_count = isinstance(x, (int, np.integer))
    a = _numbers_below(x, "random.permutation: x") if is_count else as_tensor(x, "random.permutation")
    axis = normal_axis(axis, a.ndim, "random.permutation")
    words = Z.random_bits(key_of(key, "permutation"), shape=(2, a.shape[axis]))
    first, second = (promotion.cast(reshaped(part(words, 0, i, i + 1), (a.shape[axis],)), _UINT64) for i in (0, 1))
    # 64 bits, so that equal ones, which would keep their order, hardly occur
    mixed = S.add(apply(D.left_shift, (first, S.fill(first, 32))), second)
    result = take(a, argsort(mixed), axis=axis)
    return result if is_count else outward(result, x)


def _numbers_below(count: Any, what: str) -> Tensor:
    """The whole numbers below a count, which is not negative."""
    (size,) = new_shape(count, what)
    return S.iota(size=size, dtype=dtypes.int64)


@names_errors
def choice(
    key: Any, a: ArrayLike, shape: ShapeLike = (), replace: bool = True, p: ArrayLike | None = None, axis: int = 0
) -> Any:
    """Elements, or slices, of an array picked at random.

    Args:
        key: a key.
        a: an array, or an integer for the numbers below it.
        shape: the shape of the draws.
        replace: whether the same element may be picked again.
        p: the probabilities along the axis; None means equal ones. Nothing is differentiated in them.
        axis: the axis along which slices are picked.

    Returns:
        A tensor, or an array if `a` is one, with `shape` in the place of the axis; gradients go to what was picked.

    Raises:
        ValueError: if `a` is negative; if more are wanted than there are, without `replace`.

    Example:
        >>> import wengert as wg
        >>> wg.random.choice(wg.random.key(7), 10, (3,), replace=False).shape
        (3,)
    """
    is_count = isinstance(a, (int, np.integer))
    x = _numbers_below(a, "random.choice: a") if is_count else as_tensor(a, "random.choice")
    axis = normal_axis(axis, x.ndim, "random.choice")
    count, size = known_extent(x, axis, "random.choice"), new_shape(shape, "random.choice")
    wanted = 1
    for n in size:
        wanted = wanted * n
    if type(count) is int and count == 0 and wanted != 0:
        raise ValueError(at_user_line(f"random.choice: {wanted} are wanted of an `a` without elements"))
    if not replace and wanted > count:
        raise ValueError(at_user_line(f"random.choice: {wanted} different ones are wanted of {count}"))
    if p is not None:
        weights = S.stop_gradient(as_float(as_tensor(p, "random.choice")))
        if tuple(weights.shape) != (count,):
            raise ValueError(at_user_line(f"random.choice: p has shape {weights.shape}, wanted {(count,)}"))
        places = _weighted(key, weights, size, wanted, replace)
    elif replace:
        places = randint(key, size, 0, max(count, 1))
    else:
        places = reshaped(part(permutation(key, count), 0, 0, wanted), size)
    result = take(x, places, axis=axis)
    return result if is_count else outward(result, a)


def _weighted(key: Any, weights: Tensor, size: Any, wanted: Any, replace: bool) -> Tensor:
    if not replace:  # the largest of log p and Gumbel's noise are draws without replacement
        noise = add(log(weights), gumbel(key, weights.shape, weights.dtype))
        return reshaped(part(argsort(noise, descending=True), 0, 0, wanted), size)
    sums = cumsum(weights, axis=0)
    last = known_extent(weights, 0, "random.choice") - 1
    height = multiply(unit(key_of(key, "choice"), size, weights.dtype), reshaped(part(sums, 0, last, last + 1), ()))
    place = promotion.cast(searchsorted(sums, height, side="right"), dtypes.int64)
    return apply(W.minimum, (place, S.fill(place, last)))


@names_errors
def dropout(key: Any, x: ArrayLike, rate: Any, noise_shape: Any = None) -> Any:
    """An array with a share of its elements set to 0, and the others divided by what share is kept.

    Args:
        key: a key.
        x: an array of floats.
        rate: the share that is set to 0, a number from 0 to below 1; nothing is differentiated in it.
        noise_shape: a shape that broadcasts to x's: elements that share a place in it go together. None means x's.

    Returns:
        An array of x's shape in its kind.

    Raises:
        ValueError: for another rate.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.dropout(wg.random.key(7), wg.ones((1000,)), 0.25)
        >>> abs(float(x.mean()) - 1) < 0.1
        True
    """
    a = as_float(as_tensor(x, "random.dropout"))
    share = float(rate)
    if not 0 <= share < 1:
        raise ValueError(at_user_line(f"random.dropout: rate is {rate}, wanted a number from 0 to below 1"))
    size = tuple(a.shape) if noise_shape is None else new_shape(noise_shape, "random.dropout")
    inner = dtypes.float32 if dtypes.is_half(a.dtype) else dtypes.real_of(a.dtype)
    is_kept = less(unit(key_of(key, "dropout"), size, inner), 1 - share)
    return outward(where(is_kept, multiply(a, 1 / (1 - share)), 0.0), x)


# -- counts ------------------------------------------------------------------------------------------------------------


def _smallest(mass: Any, u: Tensor) -> Tensor:
    """The smallest count up to which at least a share u of the mass lies, by halving."""
    low, high = S.fill(u, -1), S.fill(u, 2.0**_HALVINGS)
    for _ in range(_HALVINGS + 1):
        middle = D.floor(multiply(add(low, high), 0.5))
        is_enough = apply(D.le, (u, mass(middle)))
        low, high = S.select(is_enough, low, middle), S.select(is_enough, middle, high)
    return promotion.cast(high, dtypes.int64)


@names_errors
def poisson(key: Any, lam: Any, shape: Any = None) -> Tensor:
    """Counts of Poisson's distribution.

    Args:
        key: a key.
        lam: the means, not negative and below 2^31; nothing is differentiated in them.
        shape: the shape; None means that of `lam`, which broadcasts to it.

    Returns:
        A tensor of counts (int64).

    Example:
        >>> import wengert as wg
        >>> x = wg.random.poisson(wg.random.key(7), 4.0, (1000,))
        >>> abs(float(x.mean()) - 4) < 0.3
        True
    """
    (mean,), _ = drawn_for((lam,), shape, None, "poisson")
    mean = promotion.cast(S.stop_gradient(mean), dtypes.float64)
    u = open_unit(key_of(key, "poisson"), tuple(mean.shape), mean.dtype)
    none = S.fill(mean, 0)

    def mass(count: Tensor) -> Tensor:
        is_one = apply(D.lt, (count, none))
        inside = gammaincc(add(S.select(is_one, none, count), 1.0), mean)
        return S.select(is_one, none, inside)

    return _smallest(mass, u)


@names_errors
def binomial(key: Any, n: Any, p: Any, shape: Any = None) -> Tensor:
    """How many of n trials succeed.

    Args:
        key: a key.
        n: the numbers of trials, below 2^31.
        p: the probability that one succeeds; shapes broadcast. Nothing is differentiated in either.
        shape: the shape; None means that of the parameters, which broadcast to it.

    Returns:
        A tensor of counts (int64).

    Example:
        >>> import wengert as wg
        >>> x = wg.random.binomial(wg.random.key(7), 10, 0.3, (1000,))
        >>> abs(float(x.mean()) - 3) < 0.2
        True
    """
    (trials, share), _ = drawn_for((n, p), shape, None, "binomial")
    trials, share = (promotion.cast(S.stop_gradient(v), dtypes.float64) for v in (trials, share))
    u = open_unit(key_of(key, "binomial"), tuple(trials.shape), trials.dtype)
    none, one = S.fill(trials, 0), S.fill(trials, 1)

    def mass(count: Tensor) -> Tensor:
        is_none, is_all = apply(D.lt, (count, none)), apply(D.le, (trials, count))
        inside = apply(D.logical_not, (apply(D.logical_or, (is_none, is_all)),))
        k, rest = S.select(inside, count, none), S.select(inside, S.sub(trials, count), one)
        return S.select(inside, betaincc(add(k, 1.0), rest, share), S.select(is_none, none, one))

    return _smallest(mass, u)


@names_errors
def multinomial(key: Any, n: Any, p: ArrayLike, shape: ShapeLike | None = None) -> Tensor:
    """How many of n trials fall on each class.

    Args:
        key: a key.
        n: the numbers of trials, below 2^31.
        p: the probabilities of the classes along the last axis, which are brought to sum 1; the other axes broadcast
            with n. Nothing is differentiated in either.
        shape: the shape without the classes; None means that of the parameters, which broadcast to it.

    Returns:
        A tensor of counts (int64) whose last axis adds up to n.

    Raises:
        ValueError: if p is a number, or for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.multinomial(wg.random.key(7), 10, [0.2, 0.3, 0.5], (4,))
        >>> x.shape, x.sum(axis=-1).numpy()
        ((4, 3), array([10, 10, 10, 10]))
    """
    share = S.stop_gradient(as_float(as_tensor(p, "random.multinomial")))
    if share.ndim == 0:
        raise ValueError(at_user_line("random.multinomial: p is a number, wanted the probabilities along an axis"))
    classes = known_extent(share, share.ndim - 1, "random.multinomial")
    share = promotion.cast(share, dtypes.float64)
    columns = [reshaped(part(share, share.ndim - 1, i, i + 1), tuple(share.shape[:-1])) for i in range(classes)]
    lead = promotion.broadcast_shapes(as_tensor(n).shape, tuple(share.shape[:-1]), "random.multinomial")
    size = lead if shape is None else new_shape(shape, "random.multinomial")
    left = promotion.broadcast(promotion.cast(S.stop_gradient(as_tensor(n)), dtypes.int64), size)
    # the first class against all others, then the second one among what is left, ...; from the end the sums of what
    # is left are exact to rounding
    rests = [columns[-1]]
    for column in columns[-2::-1]:
        rests.append(add(rests[-1], column))
    rests.reverse()
    keys = split(key_of(key, "multinomial"), max(classes - 1, 1))
    counts = []
    for i in range(classes - 1):
        is_left = apply(D.gt, (rests[i], S.fill(rests[i], 0)))
        ratio = divide(columns[i], S.select(is_left, rests[i], S.fill(rests[i], 1)))
        counts.append(binomial(keys[i], left, ratio, size))
        left = S.sub(left, counts[-1])
    return stack([*counts, left], axis=-1)


__all__ = [
    "bernoulli", "binomial", "categorical", "choice", "dropout", "multinomial", "permutation", "poisson", "rademacher",
    "randint",
]  # fmt: skip
