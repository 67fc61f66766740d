"""JAX kernels of `_prims/sparse.py`: products as gathers and sums, systems by SciPy on the host, for XLA has no sparse
factorisation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .common import in_float32, on_host


def _matmul(data: jax.Array, rows: jax.Array, columns: jax.Array, x: jax.Array, height: int) -> Any:
    return jnp.zeros((height, x.shape[1]), x.dtype).at[rows].add(data[:, None] * x[columns])


KERNELS: dict[str, Any] = {"sparse_matmul": in_float32(_matmul), "sparse_solve": on_host("sparse_solve")}
