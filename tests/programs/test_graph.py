"""Graphs: what a trace makes of a program, how it prints, and what the verifier rejects."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.graph import Graph, Node, symbol
from wengert._core.op import REGISTRY
from wengert._core.state import STATE
from wengert._core.tensor import Value
from wengert._core.verifier import VerificationError, verify
from wengert._passes import rewrite
from wengert._transforms.replay import replay

DOUBLE = np.dtype(float)


def small_graph() -> Graph:
    graph = Graph("small")
    with graph.as_default():
        x = graph.add_input((2,), DOUBLE, "x")
        y = wg.ops.sin(x) * x
        z = wg.ops.sum(y * 2.0)
    return graph.finish([y, z])


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def test_a_graph_knows_which_node_makes_a_value() -> None:
    """Also results that a node is given later, and where nodes were dropped and others came."""
    graph = Graph("known")
    with graph.as_default():
        x = graph.add_input((2,), DOUBLE, "x")
        y = wg.ops.sin(x)
        assert graph.node_of(x._key) is None
        assert graph.node_of(y._key) is graph.nodes[0]
        dropped = wg.ops.cos(y)
        graph.extend(graph.nodes[1], [((3,), DOUBLE)])
        assert graph.node_of(graph.nodes[1].outputs[1].key) is graph.nodes[1]
        graph.shorten(1)
        assert graph.node_of(dropped._key) is None
        z = wg.ops.exp(y)
    assert graph.node_of(y._key) is graph.nodes[0]
    assert graph.node_of(z._key) is graph.nodes[1]
    assert graph.site_of(z._key) == graph.nodes[1].site


def test_a_trace_keeps_no_frame_of_its_sweep() -> None:
    graph = Graph("swept")
    with graph.as_default():
        x = graph.add_input((), DOUBLE, "x")
        wg.grad(lambda v: np.sin(v) * v)(x)
    assert graph._inside == (None, None)
    assert {node.site.code.co_name for node in graph.nodes if node.is_quiet and node.site} == {"<lambda>"}


def test_operations_become_nodes():
    graph = small_graph()
    assert names(graph) == ["sin", "mul", "times_number", "reduce_sum"]
    assert repr(graph) == "<Graph small: 1 inputs, 4 nodes>"
    assert graph.outputs[0].shape == (2,)
    assert graph.outputs[1].shape == ()
    verify(graph)


def test_text():
    assert small_graph().to_text().splitlines() == [
        "graph small(%x: float64[2])",
        "  %2: float64[2] = sin(%x)",
        "  %3: float64[2] = mul(%2, %x)",
        "  %4: float64[2] = times_number(%3, number=2.0)",
        "  %5: float64[] = reduce_sum(%4, axes=(0,))",
        "  return %3, %5",
    ]


def test_text_shows_captures_variables_and_constants():
    w = wg.Variable([1.0, 2.0], name="weights")
    held = wg.tensor([3.0, 4.0])
    graph = Graph("all")
    with graph.as_default():
        x = graph.add_input((2,), DOUBLE, "x")
        y = x * held + w
        w.assign(y)
        z = y * np.array([5.0, 6.0])
    graph.finish([z])
    text = graph.to_text()
    assert "= capture  # float64[2]" in text
    assert "%weights = read weights  # float64[2]" in text
    assert "[5., 6.]" in text
    assert "write weights = " in text
    verify(graph)
    np.testing.assert_array_equal(w.numpy(), [1, 2])


def test_symbols_have_types_and_no_numbers():
    graph = Graph()
    with graph.as_default():
        x = graph.add_input((2, 3), np.dtype(np.float32))
        y = x * 2
        assert y.is_symbolic
        assert (y.shape, y.dtype, y.ndim, y.size) == ((2, 3), np.float32, 2, 6)
        assert "symbolic" in repr(y)
        for use in (lambda: y.numpy(), lambda: y.item(), lambda: bool(y)):
            with pytest.raises(wg.TracingError):
                use()


def test_every_op_is_a_node_under_a_graph():
    """Decision 16: constants included; outer tensors become captures."""
    outer = wg.tensor([1.0, 2.0])
    graph = Graph()
    with graph.as_default():
        a = wg.tensor([1.0, 2.0])
        b = wg.ops.sin(a)
        c = b + outer
        d = c + outer
    assert all(t.is_symbolic for t in (a, b, c, d))
    assert names(graph) == ["constant", "sin", "add", "add"]
    assert len(graph.captures) == 1
    assert not outer.is_symbolic


def test_large_constants_are_held_and_small_ones_copied():
    """Decision 17."""
    small, large = np.zeros(4), np.zeros(100_000)
    graph = Graph()
    with graph.as_default():
        wg.ops.sin(small)
        wg.ops.sin(large)
    held = [node.attrs[0] for node in graph.nodes if node.op.name == "constant"]
    assert not np.shares_memory(held[0], small)
    assert np.shares_memory(held[1], large)


def test_the_type_rule_runs_in_a_trace():
    graph = Graph()
    with graph.as_default():
        x = graph.add_input((2,), DOUBLE)
        y = graph.add_input((3,), DOUBLE)
        with pytest.raises(ValueError, match=r"mul: operand 0 has shape \(2,\)"):
            REGISTRY["mul"](x, y)
        assert graph.nodes == []


def test_a_finished_graph_takes_no_more_nodes():
    graph = small_graph()
    assert graph.is_frozen
    with graph.as_default(), pytest.raises(RuntimeError, match="small is finished: sin cannot be added"):
        wg.ops.sin(symbol(graph.inputs[0]))


def test_symbols_of_another_graph_are_foreign():
    first, second = Graph("first"), Graph("second")
    x = first.add_input((2,), DOUBLE, "x")
    with second.as_default(), pytest.raises(ValueError, match="belongs to another graph than second"):
        wg.ops.sin(x)
    with pytest.raises(ValueError, match="outside the trace"):
        wg.ops.sin(x)
    assert STATE.builder is None


def test_symbols_of_an_outer_graph_are_captured():
    outer = Graph("outer")
    with outer.as_default():
        x = outer.add_input((2,), DOUBLE, "x")
        inner = Graph("inner")
        with inner.as_default():
            y = wg.ops.sin(x)
        inner.finish([y])
    assert [t._key for t, _ in inner.captures.values()] == [x._key]
    verify(inner)


def test_leaving_a_graph_by_an_exception():
    graph = Graph()
    with pytest.raises(ZeroDivisionError), graph.as_default():
        raise ZeroDivisionError
    assert STATE.builder is None
    assert not wg.ops.sin(wg.tensor(1.0)).is_symbolic


def test_replay_runs_a_graph():
    x = np.array([0.5, 1.5])
    y, z = replay(small_graph(), [wg.tensor(x)])
    np.testing.assert_allclose(y.numpy(), np.sin(x) * x)
    np.testing.assert_allclose(z.numpy(), np.sum(np.sin(x) * x) * 2)


def test_gradients_of_a_replay():
    graph = small_graph()
    found = wg.grad(lambda x: replay(graph, [x])[1])(np.array([0.5, 1.5]))
    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(found, 2 * (np.cos(x) * x + np.sin(x)))


def test_a_dropped_graph_is_freed_without_the_collector():
    gc.disable()
    try:
        graph = small_graph()
        alive = weakref.ref(graph)
        del graph
        assert alive() is None
    finally:
        gc.enable()


# -- the verifier --------------------------------------------------------------------------------------------


def broken(change) -> Graph:
    graph = small_graph()
    change(graph)
    return graph


def swap_nodes(graph: Graph) -> None:
    graph.nodes[0], graph.nodes[1] = graph.nodes[1], graph.nodes[0]


def drop_node(graph: Graph) -> None:
    del graph.nodes[1]


def repeat_node(graph: Graph) -> None:
    graph.nodes.append(graph.nodes[0])


def wrong_shape(graph: Graph) -> None:
    graph.nodes[1].outputs[0].shape = (3,)


def wrong_dtype(graph: Graph) -> None:
    graph.nodes[3].outputs[0].dtype = np.dtype(np.float32)


def unknown_output(graph: Graph) -> None:
    graph.outputs.append(Value((), DOUBLE, graph.serial, "ghost"))


def unknown_operand(graph: Graph) -> None:
    ghost = Value((2,), DOUBLE, graph.serial, "ghost")
    graph.nodes[0] = Node(REGISTRY["sin"], (ghost,), graph.nodes[0].outputs, (), None)


def input_twice(graph: Graph) -> None:
    graph.inputs.append(graph.inputs[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swap_nodes, "before its definition"),
        (drop_node, "before its definition"),
        (repeat_node, "is defined twice"),
        (wrong_shape, r"should give float64\[2\]"),
        (wrong_dtype, r"should give float64\[\]"),
        (unknown_output, "the output %ghost is not defined"),
        (unknown_operand, "uses %ghost before its definition"),
        (input_twice, "an input is listed twice"),
    ],
)
def test_the_verifier_rejects(change, said):
    with pytest.raises(VerificationError, match=f"small: .*{said}"):
        verify(broken(change))
    assert STATE.builder is None


def test_the_verifier_passes_what_functions_trace():
    def program(x):
        y = np.sin(x) * np.cumsum(x)
        return np.where(y > 0, np.exp(y), y) / np.max(x)

    fn = wg.function(wg.grad(lambda x: np.sum(program(x))))
    verify(fn.trace(np.array([0.5, 1.0, 2.0])))


def test_nodes_are_put_in_order_in_time_that_grows_with_their_number() -> None:
    """Each is looked at as often as it has operands, however they stand."""
    looks = [0]

    class Looked:
        def __init__(self, inputs: list[Value], outputs: list[Value]) -> None:
            self.read, self.outputs = inputs, outputs

        @property
        def inputs(self) -> list[Value]:
            looks[0] += 1
            return self.read

    values = [Value((), np.dtype(np.float64), Graph("f")) for _ in range(300)]
    chain: list[Any] = [Looked([x], [y]) for x, y in itertools.pairwise(values)]
    assert rewrite.in_order(chain[::-1]) == chain
    assert looks[0] <= 2 * len(chain)
    first, second, third = chain[:3]
    alone: Any = Looked([values[0]], [values[200]])
    assert rewrite.in_order([third, alone, second, first]) == [alone, first, second, third]
    assert rewrite.in_order([second, third, Looked([values[3]], [values[1]])]) is None  # type: ignore[list-item]
