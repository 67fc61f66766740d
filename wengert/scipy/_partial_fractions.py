"""Roots that count as one: what partial fractions of `scipy.signal` are made by."""

from __future__ import annotations

from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from ..ops.conversion import stop_gradient
from ._conversions import floats, recorded

_CHOICES = {
    "max": numpy.argmax, "maximum": numpy.argmax, "min": numpy.argmin, "minimum": numpy.argmin, "avg": None,
    "mean": None,
}  # fmt: skip


@recorded
def unique_roots(p: ArrayLike, tol: float = 1e-3, rtype: str = "min") -> Any:
    """Roots without those that lie within `tol` of one before, with gradients, and how many each stands for.

    Args:
        p: the roots.
        tol: how near roots count as one.
        rtype: what stands for several: "min", "max" or "avg".

    Returns:
        The roots, and whole numbers, which have no gradient.
    """
    if rtype not in _CHOICES:
        raise ValueError(f"`rtype` must be one of {{{', '.join(map(repr, _CHOICES))}}}")
    roots = floats(p)
    numbers, choose = stop_gradient(roots).numpy(), _CHOICES[rtype]
    used = numpy.zeros(len(numbers), bool)
    unique: list[Any] = []
    counts: list[int] = []
    for i in range(len(numbers)):
        if used[i]:
            continue
        group = numpy.flatnonzero((numpy.abs(numbers - numbers[i]) <= tol) & ~used)
        used[group] = True
        counts.append(len(group))
        unique.append(np.mean(roots[group]) if choose is None else roots[int(group[choose(numbers[group])])])
    return np.stack(unique) if unique else roots[:0], numpy.asarray(counts)


__all__ = ["unique_roots"]
