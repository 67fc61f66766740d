"""Lets JAX's `checkify` look for NaN in what our primitives compute: its table of rules is a private part of JAX's."""

from __future__ import annotations

from functools import partial
from typing import Any

try:
    from jax._src.checkify import error_checks, nan_error_check
except ImportError:  # a release that keeps them elsewhere: programs run as before, and NaN inside them is not seen
    error_checks, nan_error_check = None, None


def looked_at(primitive: Any) -> None:
    """From now on `checkify` with `nan_checks` says when a result of the primitive holds NaN."""
    if error_checks is not None:
        error_checks[primitive] = partial(nan_error_check, primitive)


__all__ = ["looked_at"]
