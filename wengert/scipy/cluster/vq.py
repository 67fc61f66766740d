"""`scipy.cluster.vq`: points and the nearest of given ones. To which a point belongs is a constant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

from ... import numpy as np
from ..._core.argument_types import ArrayLike
from ...linalg import norm
from ...ops.conversion import stop_gradient
from ...ops.promotion import outward
from .._conversions import entered, floats, meeting
from .._namespace import listed_in, namespace, plain

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


def _means(x: Any, code: Any, count: int) -> Any:
    """The mean of the points of each group, which is 0 where there is none."""
    member = (code[:, None] == numpy.arange(count)).astype(float)
    return np.matmul((member / numpy.maximum(member.sum(axis=0), 1.0)).T, x if x.ndim > 1 else x[:, None])


def _moved(book: Any, x: Any, code: Any) -> Any:
    """SciPy's points in the middle of groups, with the derivatives of their groups' means."""
    means = np.reshape(_means(x, code, len(book)), book.shape)
    return book + (means - stop_gradient(means))


@_ours
def kmeans(
    obs: ArrayLike, k_or_guess: ArrayLike, iter: int = 20, thresh: float = 1e-05, check_finite: bool = True, *,
    rng: object = None,
) -> Any:  # fmt: skip
    """The points in the middle of k groups and the mean distance to them, with the groups as constants."""
    x = floats(entered(obs))
    known = stop_gradient(x).numpy()
    theirs = import_module("scipy.cluster.vq")
    book, _ = theirs.kmeans(known, plain(k_or_guess), iter, thresh, check_finite, rng=rng)
    moved = _moved(book, x, theirs.vq(known, book)[0])
    return outward(moved, obs), outward(np.mean(vq(x, moved)[1]), obs)


@_ours
def kmeans2(
    data: ArrayLike, k: ArrayLike, iter: int = 10, thresh: float = 1e-05, minit: str = "random",
    missing: str = "warn", check_finite: bool = True, *, rng: object = None,
) -> Any:  # fmt: skip
    """The points in the middle of k groups and the number of each point's group; the groups are constants."""
    x = floats(entered(data))
    theirs = import_module("scipy.cluster.vq")
    book, label = theirs.kmeans2(
        stop_gradient(x).numpy(), plain(k), iter, thresh, minit, missing, check_finite, rng=rng
    )  # fmt: skip
    return outward(_moved(book, x, label), data), label


__getattr__, __dir__ = namespace(__name__, OURS)
