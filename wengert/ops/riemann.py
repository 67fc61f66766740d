"""Riemann's zeta function of any real number; the sum that it is named for converges above 1 only."""

from __future__ import annotations

import math

import numpy as np

from .._core import dtypes
from .._core.tensor import Tensor
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import incomplete as I
from .._prims import piecewise as W
from .._prims import special as P
from .._prims import structural as S
from .promotion import cast

_AHEAD = 8  # where the Euler-Maclaurin formula takes over
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_LOW = -0.125  # before it 1 - s, of which zeta is taken, is far enough from the pole at 1 to lose no digits
_LOWEST = {4: -66, 8: -340}  # by the bytes of a number: before it zeta overflows, after it the gamma function would


def riemann(s: Tensor) -> Tensor:
    """Riemann's zeta function of real floats.

    References:
        NIST Digital Library of Mathematical Functions, 25.2.8 (up to 1) and 25.4.1 (of negative numbers)
    """
    if isinstance(s._data, (np.ndarray, np.generic)) and not np.any(np.less(s._data, 1)):
        return _above(s)
    wide = cast(s, dtypes.float32) if s.dtype.itemsize < 4 else s
    is_low = D.lt(wide, S.fill(wide, _LOW))
    is_between = D.logical_and(D.lt(wide, S.fill(wide, 1)), D.logical_not(is_low))
    above = _above(S.select(is_low, 1 - wide, S.select(is_between, wide + 2, wide)))
    low = S.select(is_low, wide, S.fill(wide, -1))
    between = S.select(is_between, wide, S.fill(wide, 0))
    return cast(S.select(is_low, _reflected(low) * above, S.select(is_between, _between(between), above)), s.dtype)


def _above(s: Tensor) -> Tensor:
    """From 1 on."""
    return I.zeta(s, S.fill(s, 1), order=0)


def _between(s: Tensor) -> Tensor:
    """From about 0 to 1, by some terms of the sum and the Euler-Maclaurin formula for the others."""
    total = S.fill(s, 1)
    for k in range(2, _AHEAD):
        total = total + E.exp(s * -math.log(k))
    rest = S.fill(s, 0)
    for k in range(len(_BERNOULLI), 0, -1):
        rest = rest * (s + (2 * k - 1)) * (s + 2 * k) / _AHEAD**2 + _BERNOULLI[k - 1] / math.factorial(2 * k)
    return total + E.exp(s * -math.log(_AHEAD)) * (_AHEAD / (s - 1) + 0.5 + s * rest / _AHEAD)


def _reflected(s: Tensor) -> Tensor:
    """What zeta(1 - s) of a negative s is multiplied with: 2 (2 pi)^(s - 1) sin(pi s / 2) gamma(1 - s). The gamma
    function is two, of half the argument each, which overflow no earlier than zeta does.
    """
    within = W.maximum(s, S.fill(s, _LOWEST[s.dtype.itemsize]))
    share = E.exp((within - 1.5) * (math.log(math.pi) / 2))
    return _sine(s) * (P.gamma((1 - within) / 2) * share) * (P.gamma(1 - within / 2) * share)


def _sine(s: Tensor) -> Tensor:
    """sin(pi s / 2), which is 0 where s is an even number."""
    turned = s - 4 * D.floor(s / 4 + 0.5)  # from -2 to 2
    side = D.sign(turned)
    return E.sin(S.select(D.gt(W.abs_(turned), S.fill(s, 1)), 2 * side - turned, turned) * (math.pi / 2))


__all__ = ["riemann"]
