"""Fuses a product of matrices with the sum that reads it: the product is added to the other operand in place.

`joined(graph)` finds sums of a product that nothing else reads, and of something that is stored in any case: another
such product, or an operand of the graph if the sum is stored, too, as a loop's carries are (the gradient of a weight,
to which each step adds). Each becomes one node, `JOINED`, which adds in place if nobody else reads what it adds to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...._core.graph import Graph, Node
from ...._core.op import Op
from ...._core.tensor import Value
from ..ir.loops import FLOATS
from ..plan.schedule import is_small, static_size
from . import nests
from .blocks import IN_PLACE, SINGLES, Block, singles
from .forms import TYPE_OF, Form, Stored
from .matrices import FEW_EVEN
from .products import add_einsum, add_matmul

_PRODUCTS = ("matmul", "einsum")


def _no_types(operands: tuple[Any, ...], name: str, rest: tuple[Any, ...]) -> Any:
    raise AssertionError("joined products are made for lowering only")


JOINED = Op("joined", ("operands",), ("name", "rest"), ("out",), "general", _no_types, None, is_variadic=True)


def joined(graph: Graph) -> Graph:
    """The graph with sums of products as one node each."""
    return _Search(graph).run()


class _Search:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producers = {v.key: node for node in graph.nodes for v in node.outputs}
        self.reads = Counter(v.key for node in graph.nodes for v in node.inputs)
        self.reads.update(v.key for v in graph.outputs)
        self.stored = {v.key for v in graph.outputs}
        for node in graph.nodes:
            if node.op.name in SINGLES:
                self.stored.update(v.key for v in node.inputs)
        self.operands = {v.key for v in graph.inputs}
        self.gone: set[int] = set()  # products that are part of a sum
        self.sums: set[int] = set()  # such sums

    def run(self) -> Graph:
        nodes = [self.replaced(node) for node in self.graph.nodes]
        kept = [node for node in nodes if not any(v.key in self.gone for v in node.outputs)]
        return Graph.of(self.graph.name, self.graph.inputs, kept, self.graph.outputs, self.graph.guards)

    def replaced(self, node: Node) -> Node:
        if node.op.name != "add" or TYPE_OF.get(node.outputs[0].dtype) not in FLOATS or is_small(node.outputs[0]):
            return node
        x, y = node.inputs
        for total, product in ((x, y), (y, x)):
            if self.is_product(product) and self.is_there(total, node.outputs[0]) and total.shape == product.shape:
                found = self.producers[product.key]
                self.gone.add(product.key)
                self.sums.add(node.outputs[0].key)
                return node.remade(JOINED, (total, *found.inputs), (found.op.name, found.attrs))
        return node

    def is_product(self, value: Value) -> bool:
        """Whether a value is a product of two, large enough to be made by a call, that one node reads once."""
        node = self.producers.get(value.key)
        if node is None or node.op.name not in _PRODUCTS or len(node.inputs) != 2 or value.key in self.gone:
            return False
        size = static_size(value.shape)
        return self.reads[value.key] == 1 and (size is None or size > FEW_EVEN)

    def is_there(self, total: Value, out: Value) -> bool:
        """Whether what a product is to be added to is stored, and to store the sum as well costs nothing more."""
        if self.is_product(total) or (total.key in self.sums and self.reads[total.key] == 1):
            return True
        return total.key in self.operands and out.key in self.stored


def _joined(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    name, rest = node.attrs
    target = _start(block, node)
    if name == "matmul":
        add_matmul(block, forms[1], forms[2], target)
    else:
        add_einsum(block, forms[1], forms[2], rest, target)
    return [target]


def _start(block: Block, node: Node) -> Stored:
    """What is added to, where the sum may be."""
    target, form = block.targets.get(node.outputs[0].key), block.forms[node.inputs[0].key]
    if target is None or block.may_take(node, 0):
        return block.taken(node, 0)
    if not (type(form) is Stored and form.array is target.array and form.is_dense):
        nests.copy(block.b, form, target)
    return target


LOWERED = singles({"joined": _joined})
IN_PLACE.add("joined")
