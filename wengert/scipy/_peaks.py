"""Stands for the compiled part of SciPy's `find_peaks`: places are constants, heights and widths have gradients.

The functions stand for those of `scipy.signal._peak_finding_utils` in the copy of the module that is followed.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import ops
from .._core.tensor import Tensor, is_tensor_or_variable
from ..numpy._protocols import _on_values, _plain

Places = np.ndarray[tuple[int], np.dtype[np.intp]]
_HOME = "scipy.signal._peak_finding_utils"


def _theirs(name: str, *args: object) -> Any:
    """What SciPy's function says of the values."""

    def function(*plain: object) -> Any:
        contiguous = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in plain]
        return getattr(importlib.import_module(_HOME), name)(*contiguous)

    return _on_values(function, "scipy.signal's search for peaks", args, {})


def _local_maxima_1d(x: Tensor) -> Any:
    return _theirs("_local_maxima_1d", x)


def _select_by_peak_distance(peaks: Places, priority: Tensor, distance: float) -> Any:
    return _theirs("_select_by_peak_distance", peaks, priority, distance)


def _peak_prominences(x: Tensor, peaks: Places, wlen: int) -> Any:
    values, left, right = _theirs("_peak_prominences", x, peaks, wlen)
    if not is_tensor_or_variable(x):
        return values, left, right
    return x[peaks] - ops.maximum(x[left], x[right]), left, right


def _peak_widths(x: Tensor, peaks: Places, rel_height: float, prominences: Any, left: Any, right: Any) -> Any:
    given = (x, peaks, rel_height, prominences, left, right)
    values = _theirs("_peak_widths", *given)
    if not any(map(is_tensor_or_variable, given)):
        return values
    heights = x[peaks] - prominences * rel_height
    ends = _crossing(x, peaks, heights, values[1], left, -1), _crossing(x, peaks, heights, values[1], right, 1)
    return ends[1] - ends[0], heights, *ends


def _crossing(x: Tensor, peaks: Places, heights: Tensor, levels: np.ndarray[Any, Any], bases: Places, step: int) -> Any:
    """Where the signal falls below the heights beside its peaks, between samples by a line."""
    (values,) = _plain((x,), peek=True)
    places = []
    for peak, level, base in zip(peaks, levels, bases, strict=True):
        i = int(peak)
        while i != base and level < values[i]:
            i += step
        places.append(i)
    at = np.array(places, dtype=np.intp)
    is_between = values[at] < levels
    before = np.where(is_between, at - step, at)
    fall = ops.where(is_between, x[before] - x[at], 1.0)
    return at - step * ops.where(is_between, (heights - x[at]) / fall, 0.0)


__all__: list[str] = []
