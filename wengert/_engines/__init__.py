"""The engines: each runs primitives on one kind of array and never differentiates. They never import each other."""

from __future__ import annotations

import importlib

from .._core.engine import ENGINES, FRAMEWORKS, Engine

FRAMEWORKS.update({
    "jax": f"{__name__}.jax", "jaxlib": f"{__name__}.jax", "tensorflow": f"{__name__}.tensorflow",
    "torch": f"{__name__}.torch", "keras": f"{__name__}.keras",
})  # fmt: skip


def engine_named(name: str) -> Engine:
    """The engine of a name, loaded if it is not in use yet.

    Raises:
        ValueError: if there is none.
    """
    if name not in ENGINES:
        try:
            importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise  # the engine is there, the framework that it needs is not
    if name not in ENGINES:
        raise ValueError(f"there is no engine named {name!r}")
    return ENGINES[name]
