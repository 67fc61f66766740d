"""Which extents of programs with windows (convolutions, pooling) may be known at run time only: numbers of examples.

Code for windows knows how many taps, channels and positions there are; kernels for images of any size or any number of
channels would be slow ones. The number of examples does not matter to it. Asked by `sizes.py`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...._core.graph import Graph, Node


def varying(graph: Graph) -> set[int] | None:
    """The extents that may vary where a graph has windows; None where it has none, and all may."""
    examples: set[Any] = set()
    fixed: set[Any] = set()
    found = False
    for node in graph.nodes:
        if node.op.name == "conv":
            _add_convolution(node, examples, fixed)
        elif node.op.name.startswith("window_"):
            examples.update(node.inputs[0].shape[:1])
            fixed.update(node.inputs[0].shape[1:], node.outputs[0].shape[1:])
        else:
            continue
        found = True
    return examples - fixed if found else None


def _add_convolution(node: Node, examples: set[Any], fixed: set[Any]) -> None:
    (x, kernel), out = node.inputs, node.outputs[0]
    spatial = (*x.shape[2:], *kernel.shape[2:], *out.shape[2:])
    if not all(type(n) is int for n in spatial):
        return
    # of a gradient with respect to a kernel, what is its kernel is as large as images, and examples are its channels
    is_plain = prod(kernel.shape[2:]) <= prod(out.shape[2:])
    examples.add(x.shape[0 if is_plain else 1])
    fixed.update(spatial, (kernel.shape[0], out.shape[1], x.shape[1 if is_plain else 0]))


__all__ = ["varying"]
