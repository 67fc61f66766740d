"""Index tables for cofactors: for each entry of a square matrix its sign, and which rows and columns its minor has."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def minors(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The sign of each entry's minor, and for each row (or column) the others, which its minors consist of."""
    places = np.arange(n, dtype=np.int64)
    signs = 1.0 - 2.0 * ((places[:, None] + places) % 2)
    others = places[: max(n - 1, 0)] + (places[: max(n - 1, 0)] >= places[:, None])
    return signs, others


__all__ = ["minors"]
