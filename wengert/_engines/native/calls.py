"""Calls of mathematical functions: the name in C's library and what LLVM may know of it."""

from __future__ import annotations

_KIND = {"f64": "double", "f32": "float"}
PURE = "nounwind willreturn memory(none)"


def callee(op: str, type_: str) -> tuple[str, str, dict[str, str]]:
    """The function that does an operation.

    Returns:
        Its name, the attributes of the call, and what the module must declare, by name.
    """
    name = op if type_ == "f64" else f"{op}f"
    kind = _KIND[type_]
    arity = 2 if op in ("pow", "atan2", "hypot", "fmod", "nextafter") else 1
    return name, PURE, {name: f"declare {kind} @{name}({', '.join([kind] * arity)}) {PURE}"}
