"""What an engine does for each primitive, as its tables say: the source of the table in docs/engines.md.

A kernel may say of itself `is_on_host` (it always runs as NumPy's, on the host) or `on_host_when` (in which cases).
"""

from __future__ import annotations

from .._core.engine import HOST_KERNELS, Engine


def support_of(engine: Engine) -> dict[str, str]:
    """For each primitive that an engine does not simply run: "host", "host: when", or "unsupported: why"."""
    found = {name: f"unsupported: {why}" for name, why in engine.unsupported.items()}
    for name, kernel in engine.kernels.items():
        if name in HOST_KERNELS:
            continue  # of users' primitives, and functions of frameworks
        when = getattr(kernel, "on_host_when", None)
        if when is not None:
            found[name] = f"host: {when}"
        elif getattr(kernel, "is_on_host", False):
            found[name] = "host"
    return found
