"""Lets JAX's `checkify` look for NaN in what our primitives compute: its table of rules is a private part of JAX's."""

from __future__ import annotations

from functools import partial
from typing import Any

try:
    from jax._src import checkify
except ImportError:  # a release that keeps it elsewhere: programs run as before, and NaN inside them is not seen
    checkify = None


def looked_at(primitive: Any) -> None:
    """From now on `checkify` with `nan_checks` says when a result of the primitive holds NaN."""
    if checkify is not None:
        checkify.error_checks[primitive] = partial(checkify.nan_error_check, primitive)


__all__ = ["looked_at"]
