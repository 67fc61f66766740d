"""NumPy's order of complex numbers: by real parts, equal ones by imaginary parts, and NaN last.

Of numbers with NaN those with a real part come first, then those with an imaginary part, as `numpy.sort` has it.
"""

from __future__ import annotations

import math

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.op import Op
from .._core.tensor import Tensor
from .._prims import discrete as D
from .._prims import reductions as R
from .._prims import sorting as O
from .._prims import structural as S
from .._prims import windows as W
from . import promotion
from .shapes import permuted, reshaped


def argsort(x: Tensor, axis: int, descending: bool) -> Tensor:
    """The positions that sort: stable sorts by one key after another, the most important last."""
    order = O.argsort(S.imag(x), axis=axis, descending=descending)
    for key in (S.real(x), _group(x)):
        step = O.argsort(O.permute_along(key, order, axis=axis), axis=axis, descending=descending)
        order = O.permute_along(order, step, axis=axis)
    return order


def sort(x: Tensor, axis: int, descending: bool) -> Tensor:
    return O.permute_along(x, argsort(x, axis, descending), axis=axis)


def _group(x: Tensor) -> Tensor:
    """0 for numbers, 1 with NaN in the imaginary part, 2 in the real one, 3 in both."""
    in_real, in_imag = (promotion.cast(apply(D.isnan, (part,)), dtypes.int64) for part in (S.real(x), S.imag(x)))
    return S.add(S.add(in_real, in_real), in_imag)


def place_of_extreme(x: Tensor, axis: int, is_largest: bool) -> Tensor:
    """The first position of the extreme along an axis, or of the first NaN."""
    fold, edge = (R.reduce_max, -math.inf) if is_largest else (R.reduce_min, math.inf)

    def along(op: Op, part: Tensor) -> Tensor:
        return promotion.broadcast(reshaped(apply(op, (part,), ((axis,),)), S.kept(part.shape, (axis,))), part.shape)

    real, imag = S.real(x), S.imag(x)
    has_extreme = apply(D.eq, (real, along(fold, real)))
    rest = S.select(has_extreme, imag, S.fill(imag, edge))
    is_extreme = apply(D.logical_and, (has_extreme, apply(D.eq, (rest, along(fold, rest)))))
    is_nan = apply(D.isnan, (x,))
    chosen = apply(D.logical_or, (is_nan, apply(D.logical_and, (is_extreme, _none_of(along(R.reduce_any, is_nan))))))
    return R.argmax(promotion.cast(chosen, dtypes.int32), axis=axis)


def _none_of(x: Tensor) -> Tensor:
    return apply(D.logical_not, (x,))


def extreme(x: Tensor, axes: tuple[int, ...], is_largest: bool) -> Tensor:
    """The extreme over axes; the first of equal ones, which has the gradient."""
    rest = (*[i for i in range(x.ndim) if i not in axes],)
    lead = (*[x.shape[i] for i in rest],)
    line = reshaped(permuted(x, (*rest, *sorted(axes))), (*lead, dims.size_of([x.shape[i] for i in axes])))
    place = place_of_extreme(line, len(lead), is_largest)
    return reshaped(W.take_along(line, reshaped(place, (*lead, 1))), lead)
