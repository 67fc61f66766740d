"""Stands for SciPy's compiled image filters in the copy of its morphology that `adopt/_scipy_source.py` executes.

`min_or_max_filter` of tensors is a minimum or maximum over the footprint; all else is SciPy's own.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.tensor import is_tensor_or_variable
from ._edges import MODES
from ._images import neighbours

_COMPILED: Any = importlib.import_module("scipy.ndimage._nd_image")
_SUPPORT: Any = importlib.import_module("scipy.ndimage._ni_support")
_NAMES = {_SUPPORT._extend_mode_to_code(mode): mode for mode in MODES[::-1]}


def min_or_max_filter(
    input: ArrayLike, footprint: numpy.ndarray[Any, Any], structure: numpy.ndarray[Any, Any] | None, output: Any,
    mode: int, cval: float, origins: tuple[int, ...], minimum: int,
) -> None:  # fmt: skip
    """Writes to `output` the least (or largest) of the neighbours, each less (or more) by the structure there."""
    if not (is_tensor_or_variable(input) or is_tensor_or_variable(output)):
        _COMPILED.min_or_max_filter(input, footprint, structure, output, mode, cval, origins, minimum)
        return
    near = neighbours(input, None, footprint, _NAMES[mode], cval, [*origins], None, "min_or_max_filter")
    if structure is not None:
        height = numpy.reshape(structure[footprint.astype(bool)], (-1, *(1,) * output.ndim))
        near = near - height if minimum else near + height
    output[...] = np.min(near, axis=0) if minimum else np.max(near, axis=0)


def __getattr__(name: str) -> Any:
    return getattr(_COMPILED, name)


__all__ = ["min_or_max_filter"]
