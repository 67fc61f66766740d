"""The fast path of a compiled function on JAX arrays: calls XLA's program at once when a call is like the last one.

`looks` gives what must be the same: the types of the operands. What else decides, JAX's compiled function checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import jax

from ..._control.call import Program
from ..._core.engine import Ready
from .meshes import explicit_mesh
from .programs import form_of

_ATTRIBUTES = ("__class__", "aval")  # what has values; shape, dtype, whether it is weak, and the mesh
_look = attrgetter(*_ATTRIBUTES)


def looks(arguments: Sequence[object]) -> tuple[Any, ...] | None:
    """What decides how a program runs on arrays; None where one of them is no array."""
    try:
        return (*map(_look, arguments),)
    except AttributeError:
        return None


def ready(program: Program, arrays: Sequence[jax.Array]) -> Ready | None:
    """A program as JAX has compiled it; None where that does not do, or needs more.

    What else decides, as the device and the 64-bit switch, JAX's compiled function looks at by itself.
    """
    form = form_of(program)
    return Ready(form.jitted, _ATTRIBUTES) if form.can_jit and explicit_mesh(arrays) is None else None


__all__ = ["looks", "ready"]
