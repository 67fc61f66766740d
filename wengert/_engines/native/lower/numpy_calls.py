"""Lowers a node that machine code leaves to NumPy: a call of a Python function with the memory where operands lie.

`plan/numpy_calls.py` makes such nodes, `run/numpy_calls.py` is what the code calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...._core.engine import default_engine
from ...._core.graph import Graph, Node
from ...._core.host_kernel import HostKernel
from ...source import Executable, Target, compile_source
from ..ir.loops import Address, Status
from ..plan.numpy_calls import OUTSIDE, alone, is_ours
from ..run.numpy_calls import function_of, words_of
from .blocks import Block, singles
from .forms import Form, Stored
from .formulas import stands_alone
from .standalone import is_alone


def _outside(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    outs = [*map(block.room, node.outputs)]
    call_kernel(block, node.attrs[0], forms, outs)
    return outs


def call_kernel(block: Block, node: Node, forms: Sequence[Form], outs: Sequence[Stored]) -> None:
    """Calls the kernel of a node, which stores its results; an error that it raises ends the function."""
    b = block.b
    function = function_of(_run_of(node), len(forms), len(outs), node.is_quiet, is_ours(node.op))
    arrays = [(v.dtype, len(v.shape)) for v in (*node.inputs, *node.outputs)]
    words = block.setting.constant(words_of(function, arrays, len(forms)))
    places = [*map(block.dense, forms), *outs]
    axes = [extent for x in places for extent in x.shape]
    extents = b.local("i64", max(1, len(axes)))
    for place, extent in enumerate(axes):
        b.store(extents, place, extent)
    addresses = [Address(words), Address(extents), *(Address(x.array, x.offset) for x in places)]
    status = b.call(f"kernel.{len(places)}", addresses, "i32")
    with b.when(b.let("ne", "i32", status, 0)):
        b.leave(Status.INTERRUPTED)


def _run_of(node: Node) -> Executable:
    """The kernel of a node; a user's is told the shape of its result, and asks no rule at each call."""
    kernel = default_engine().kernels[node.op.name]
    if isinstance(kernel, HostKernel):
        (out,) = node.outputs
        kernel = kernel.giving(out.dtype)
        node = Node(node.op, node.inputs, node.outputs, (*node.attrs, out.shape), node.site, node.is_quiet, node.label)
    return compile_source(alone(node), Target(lambda _: kernel, lambda array: array, False))


LOWERED = singles({"outside": _outside}, of_complex=True, of_halves=True)


def taken_in(graph: Graph) -> Graph:
    """Where code stands alone, what it has a way for is no kernel's any more."""
    if not is_alone():
        return graph
    nodes = [_itself(node) if node.op is OUTSIDE and stands_alone(node.attrs[0]) else node for node in graph.nodes]
    return Graph.of(graph.name, graph.inputs, nodes, graph.outputs, graph.guards)


def _itself(node: Node) -> Node:
    inner = node.attrs[0]
    return Node(inner.op, node.inputs, node.outputs, inner.attrs, node.site, node.is_quiet, node.label)
