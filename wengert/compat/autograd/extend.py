"""What packages use to declare primitives, derivatives and vector spaces of their own."""

from __future__ import annotations

from .core import (
    JVPNode,
    SparseObject,
    VJPNode,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    defvspace,
    vspace,
)
from .tracer import Box, notrace_primitive, primitive, register_notrace

__all__ = [
    "Box", "JVPNode", "SparseObject", "VJPNode", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums",
    "defvjp", "defvjp_argnum", "defvjp_argnums", "defvspace", "notrace_primitive", "primitive", "register_notrace",
    "vspace",
]  # fmt: skip
