"""JAX's switch of 64 bits, for a while: other tests want it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def x64(is_on: bool) -> Iterator[None]:
    """Context manager: inside, JAX has numbers of 64 bits, or has none."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", is_on)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
