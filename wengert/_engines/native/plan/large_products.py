"""Which products of matrices make much of little, as the scores of attention do: `row_blocks.py` begins with them, and
code with such a product is made for its sizes (`sizes.py`)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...._core.graph import Graph, Node

LEAST = 1 << 20  # bytes
FEWEST = 16  # rows
TIMES = 2  # how many times as many elements as both operands
_FLOATS = (np.float32, np.float64)


def is_large_product(node: Node) -> bool:
    """Whether a product is large beside its operands, and one of a batch."""
    if node.op.name != "matmul" or node.outputs[0].dtype not in _FLOATS:
        return False
    (out,) = node.outputs
    if len(out.shape) < 3 or not all(type(n) is int for v in (*node.inputs, out) for n in v.shape):
        return False
    is_large = prod(out.shape) >= TIMES * sum(prod(v.shape) for v in node.inputs)
    return is_large and out.shape[-2] >= FEWEST and bytes_of(out) >= LEAST


def has_large_product(graph: Graph) -> bool:
    """Whether there is one outside of loops and branches."""
    return any(map(is_large_product, graph.nodes))


def bytes_of(value: Any) -> int:
    """The bytes of a value whose extents are numbers."""
    return prod(value.shape) * value.dtype.itemsize


__all__ = ["has_large_product", "is_large_product"]
