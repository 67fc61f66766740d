"""The JSON form of `tests/spec/oracle.json`, read: what records it and what tests against it decode it alike."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(data: Any) -> Any:
    """Nested lists with NaN and infinities as numbers."""
    if isinstance(data, list):
        return [numbers(d) for d in data]
    return float(data) if isinstance(data, str) else data


def array_of(value: Any) -> np.ndarray:
    """An array from its dtype, its shape and its numbers."""
    dtype = "float32" if value["dtype"] == "bfloat16" else value["dtype"]
    if "re" in value:
        re, im = (np.array(numbers(value[part]), float) for part in ("re", "im"))
        return (re + 1j * im).astype(dtype).reshape(value["shape"])
    return np.array(numbers(value["data"])).astype(dtype).reshape(value["shape"])


def decoded(value: Any, ops: Any) -> Any:
    """A recorded value: arrays, tuples, slices and the like; functions are evaluated with a namespace of ops."""
    if isinstance(value, list):
        return [decoded(v, ops) for v in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value and "shape" in value:
        return array_of(value)
    if "tuple" in value:
        return tuple(decoded(v, ops) for v in value["tuple"])
    if "slice" in value:
        return slice(*value["slice"])
    if "ellipsis" in value:
        return Ellipsis
    if "float" in value:
        return float(value["float"])
    if "fn" in value:
        return eval(value["fn"], {"ops": ops, "np": np})  # the file is the project's own
    return {k: decoded(v, ops) for k, v in value.items()}
