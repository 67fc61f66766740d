"""log-sum-exp by its parts."""

from typing import Any

import numpy as np

import wengert as wg


def log_sum_exp(x: Any) -> Any:
    largest = wg.max(x)
    return wg.log(wg.sum(wg.exp(x - largest))) + largest


_value = wg.function(log_sum_exp)
_gradient = wg.function(wg.grad(log_sum_exp))


def primal(given: dict[str, Any]) -> Any:
    x = np.array(given["x"], dtype=np.float64)
    return lambda: _value(x), float


def gradient(given: dict[str, Any]) -> Any:
    x = np.array(given["x"], dtype=np.float64)
    return lambda: _gradient(x), np.ndarray.tolist
