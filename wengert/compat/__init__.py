"""Other libraries' conventions: `autograd` has HIPS/autograd's modules; `v1` TensorFlow 1's graphs with placeholders,
run by sessions; `keras` Keras's names of arguments.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import v1

if TYPE_CHECKING:
    from . import autograd

__all__ = ["autograd", "v1"]


def __getattr__(name: str) -> Any:
    if name == "autograd":  # a tree of modules, which few programs use
        return importlib.import_module(f"{__name__}.autograd")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
