"""torch kernels of `_prims/sparse.py`: products as gathers and sums, systems by SciPy on the host, for torch has no
sparse factorisation."""

from __future__ import annotations

from typing import Any

import torch

from .common import in_float32, on_host


def _matmul(data: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, x: torch.Tensor, height: int) -> Any:
    return x.new_zeros((height, x.shape[1])).index_add_(0, rows, data[:, None] * x[columns])


KERNELS: dict[str, Any] = {"sparse_matmul": in_float32(_matmul), "sparse_solve": on_host("sparse_solve")}
