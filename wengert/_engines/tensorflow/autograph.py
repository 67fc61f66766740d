"""Tells TensorFlow's AutoGraph to call our functions as they are.

`tf.function` rewrites the source of all that it calls; ours is long, and is to run as it was written. `unconverted`
marks what our functions return; here the functions and methods of our modules are marked, where the engine is in use.
"""

from __future__ import annotations

import sys
from types import FunctionType

from ..._core.public import unconverted


def mark_ours(package: str) -> None:
    """Marks the functions of the modules of a package that are loaded by now."""
    inside = package + "."
    for name, module in [*sys.modules.items()]:
        if name == package or name.startswith(inside):
            for value in [*vars(module).values()]:
                _mark(value, inside)


def _mark(value: object, inside: str) -> None:
    if isinstance(value, FunctionType):
        if value.__module__.startswith(inside):
            unconverted(value)
    elif isinstance(value, type) and value.__module__.startswith(inside):
        for member in [*vars(value).values()]:
            if isinstance(member, FunctionType):
                unconverted(member)
