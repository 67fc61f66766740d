"""The one table of the plain-Python engine's kernels: `KERNELS`, by op name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert._engines.python import elementwise, indexing, linear, passing, reductions

KERNELS: dict[str, Callable[..., Any]] = {
    **elementwise.KERNELS,
    **reductions.KERNELS,
    **indexing.KERNELS,
    **linear.KERNELS,
    **passing.KERNELS,
}
