"""Calls of single functions on vectors of any size; most of them compute with sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wn

PLAIN: dict[str, Callable[[Any], Any]] = {
    "zeros_like": lambda x: wg.zeros_like(x) + x, "full_like": lambda x: wg.full_like(x, 2.0) * x,
    "mean": wg.mean, "std": wg.std, "median": wg.median, "quantile": lambda x: wg.quantile(x, 0.3),
    "where": lambda x: wg.where(x > 1, x, 0.0), "clip": lambda x: wg.clip(x, 0, 1), "roll": lambda x: wg.roll(x, 1),
    "take": lambda x: wg.take(x, np.array([0, 1])), "split": lambda x: wg.split(wg.concatenate([x, x]), 2)[1],
    "convolve": lambda x: wg.convolve(x, np.ones(2, np.float32)), "gammainc": lambda x: wg.special.gammainc(2.0, x),
    "interp": lambda x: wg.interp(x, np.float32([0.0, 1.0]), np.float32([0.0, 1.0])), "average": wg.average,
    "stack": lambda x: wg.stack([x, wg.flip(x, 0)]), "of NumPy's names": lambda x: wn.mean(wn.ones_like(x) * x),
}  # fmt: skip
