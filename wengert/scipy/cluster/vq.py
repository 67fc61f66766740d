"""`scipy.cluster.vq`: points and the nearest of given ones. To which a point belongs is a constant."""

from __future__ import annotations

from typing import Any

from ... import numpy as np
from ..._core.argument_types import ArrayLike
from ...linalg import norm
from ...ops.conversion import stop_gradient
from ...ops.promotion import outward
from .._namespace import listed_in, namespace
from .._standing import entered, floats, meeting

OURS: dict[str, Any] = {}
_ours = listed_in(OURS)


@_ours
def whiten(obs: ArrayLike, check_finite: bool | None = None) -> Any:
    """Each column of points in units of its standard deviation; one without any as it is."""
    x = floats(entered(obs))
    spread = np.std(x, axis=0)
    return outward(x / np.where(spread == 0, 1.0, spread), obs)


@_ours
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> Any:
    """The number of the nearest row of the code book for each point, and the distance to it."""
    x, book = meeting(entered(obs), entered(code_book))
    if x.ndim != book.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if x.ndim == 1:
        x, book = x[:, None], book[:, None]
    gaps = stop_gradient(x)[:, None, :] - stop_gradient(book)[None, :, :]
    code = np.argmin(np.sum(gaps * gaps, axis=-1), axis=-1)
    away = x - np.take(book, code, axis=0)
    return outward(code, obs, code_book), outward(norm(away, axis=-1), obs, code_book)


__getattr__, __dir__ = namespace(__name__, OURS)
