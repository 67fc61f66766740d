"""TensorFlow kernels of `_prims/sparse.py`: products as gathers and sums, systems by SciPy on the host, for TensorFlow
has no sparse factorisation that is differentiated or batched.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .common import in_float32, on_host


def _matmul(data: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor, x: tf.Tensor, height: int) -> Any:
    return tf.math.unsorted_segment_sum(data[:, None] * tf.gather(x, columns), rows, height)


KERNELS: dict[str, Any] = {"sparse_matmul": in_float32(_matmul), "sparse_solve": on_host("sparse_solve")}
