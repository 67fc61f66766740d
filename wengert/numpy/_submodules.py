"""NumPy's modules below `numpy` in which some functions are ours: `np.emath`, `np.lib` and `np.lib.stride_tricks`."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from . import _emath, _strides


class Partly(ModuleType):
    """A module in the place of one of NumPy's: some names are ours, the others its own."""

    def __init__(self, real: ModuleType, ours: Mapping[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        vars(self).update(ours)
        vars(self)["_real"] = real

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_real"], name)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_real"])


def _functions(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}


emath = Partly(np.emath, _functions(_emath))
lib = Partly(np.lib, {"scimath": emath, "stride_tricks": Partly(np.lib.stride_tricks, _functions(_strides))})

__all__ = ["emath", "lib"]
