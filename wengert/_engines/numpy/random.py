"""NumPy kernels of `_prims/random.py`."""

from __future__ import annotations

from typing import Any

from . import threefry

KERNELS: dict[str, Any] = {
    "random_bits": threefry.random_bits,
    "random_split": threefry.split,
    "random_fold_in": threefry.fold_in,
}
