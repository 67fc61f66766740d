"""Ops are treated by the facts that their declarations state: a new op gets the treatment that its facts ask for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support import op_checks as checks
from wengert._control.call import Program, inner_programs
from wengert._core.analysis import values_with_own_dims
from wengert._core.engine import ENGINE_OF
from wengert._core.graph import Graph, Node
from wengert._core.op import REGISTRY, Op, elementwise, stated
from wengert._core.state import building
from wengert._core.tensor import fresh
from wengert._engines.native.plan.prepare import count_nodes, ready
from wengert._engines.native.plan.rare_cases import without_rare
from wengert._engines.native.plan.schedule import Kind, schedule
from wengert._passes.dce import drop_unused

X = np.linspace(0.5, 2.0, 50)
_count = itertools.count()


def fresh_name(stem: str) -> str:
    """Names of primitives are for the whole process."""
    return f"fact_{stem}_{next(_count)}"


@pytest.mark.parametrize("fact", ["moves", "mixes", "places", "cost"])
def test_a_fact_that_is_none_is_refused(fact: str) -> None:
    with pytest.raises(TypeError, match=f"wanted {fact} to be one of .*, got 'cheap'"):
        elementwise("fact_of_no_op", "x", partials=lambda x: x, registry={}, **{fact: "cheap"})
    with pytest.raises(TypeError, match=f"primitive .*wanted {fact} to be one of .*, got 'cheap'"):
        wg.primitive(fresh_name("refused"), spec=lambda x: x, numpy=np.square, **{fact: "cheap"})


# -- moves ------------------------------------------------------------------------------------------------------------


def elements_of(x: Any) -> Any:
    return np.asarray(ENGINE_OF[type(x._data)].to_numpy(x._data))


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.moves], ids=str)
def test_an_op_does_with_elements_what_its_declaration_states(op: Op) -> None:
    for case in checks.cases(op):
        operands = [fresh(np.array(x)) for x in case.operands]
        for x, out in zip(operands, checks._call(case, (*operands,)), strict=False):
            given, found = elements_of(x), elements_of(out)
            if op.facts.moves == "same":
                np.testing.assert_array_equal(found, given)
            assert set(found.ravel()) <= set(given.ravel())
            assert op.facts.moves == "some" or set(found.ravel()) == set(given.ravel())


def test_the_pattern_of_what_only_moves_elements_is_exact() -> None:
    def reverse(**facts: Any) -> Any:
        return wg.primitive(fresh_name("reverse"), spec=lambda x: x, numpy=lambda x: x[::-1], **facts)

    exact, dense = (wg.sparsity(op)(np.ones(4)).toarray() for op in (reverse(moves="all"), reverse()))
    np.testing.assert_array_equal(exact, np.eye(4, dtype=bool)[::-1])
    assert dense.all()


def test_another_name_is_no_node_for_machine_code() -> None:
    def nodes_with(**facts: Any) -> int:
        op = wg.primitive(fresh_name("name"), spec=lambda x: x, numpy=lambda x: x, **facts)
        graph = Graph("named")
        with building(graph):
            graph.finish([op(graph.add_input((3,), np.dtype(np.float64)))])
        return len(ready(graph).nodes)

    assert nodes_with(moves="same") == 0
    assert nodes_with() == 1


def test_flags_that_are_moved_are_as_rarely_set_as_before() -> None:
    def nodes_with(**facts: Any) -> int:
        op = wg.primitive(fresh_name("turn"), spec=lambda x: x, numpy=lambda x: x[::-1], **facts)
        graph = Graph("flags")
        with building(graph):
            x, flag = graph.add_input((3,), np.dtype(np.float64)), graph.add_input((3,), np.dtype(bool))
            graph.finish([REGISTRY["select"](op(REGISTRY["rarely"](flag)), wg.exp(x), x)])
        return len([node for node in without_rare(graph).nodes if node.op.name == "exp"])

    assert nodes_with(moves="all") == 0
    assert nodes_with() == 1


# -- mixes ------------------------------------------------------------------------------------------------------------


def reached(mixes: str, shape: tuple[int, ...], place: tuple[int, ...], out: tuple[int, ...], attrs: Any) -> Any:
    """Which elements of a result may be made of an element of an operand, by what the op states."""
    where = np.ones(out, bool)
    for axis, at in enumerate(place):
        index = np.indices(out)[axis] if axis < len(out) else np.zeros(out)
        if mixes == "nothing" or (mixes == "matrices" and axis < len(shape) - 2):
            where &= index == at
        elif mixes == "earlier":
            is_along = axis == attrs["axis"] % len(shape)
            where &= index == at if not is_along else index <= at if attrs["reverse"] else index >= at
        elif mixes == "axes":
            axes = [a % len(shape) for a in (attrs["axes"] if "axes" in attrs else [attrs["axis"]])]
            if axis not in axes:
                place_in_out = axis if len(out) == len(shape) else axis - len([a for a in axes if a < axis])
                where &= np.indices(out)[place_in_out] == at
    return where


@pytest.mark.parametrize("op", [o for o in REGISTRY.values() if o.facts.mixes != "all" and not o.facts.moves], ids=str)
def test_an_element_is_made_of_no_others_than_the_op_states(op: Op) -> None:
    rng = np.random.default_rng(0)
    for case in checks.cases(op)[:2]:
        arrays, attrs = [np.array(x) for x in case.operands], dict(zip(op.attrs, case.attrs, strict=True))
        before = [elements_of(x) for x in checks._call(case, (*map(fresh, arrays),))]
        for i, x in enumerate(arrays):
            if x.dtype.kind not in "fc" or not x.size:
                continue
            for place in map(tuple, rng.permutation(np.argwhere(np.ones(x.shape)))[:4]):
                changed = [np.array(y) for y in arrays]
                changed[i][place] *= 1.01
                for old, new in zip(before, checks._call(case, (*map(fresh, changed),)), strict=True):
                    differs = ~((old == elements_of(new)) | ((old != old) & (elements_of(new) != elements_of(new))))
                    is_stated = reached(op.facts.mixes, x.shape, place, old.shape, attrs)
                    if op.facts.mixes == "matrices" or x.shape == arrays[0].shape:
                        assert not (differs & ~is_stated).any()


def test_patterns_of_ones_own_ops_are_what_they_state() -> None:
    def pattern(numpy: Any, at: Any, **stated: Any) -> Any:
        attrs = stated.pop("attrs", {})
        op = wg.primitive(fresh_name("mixed"), spec=lambda *xs, **_: at, numpy=numpy, **stated)
        return wg.sparsity(lambda x: op(x, **attrs))(np.ones((2, 3))).toarray()

    spec = wg.TensorSpec((2, 3), float)
    eye, ones = (lambda n: np.eye(n, dtype=bool)), (lambda *shape: np.ones(shape, dtype=bool))
    np.testing.assert_array_equal(pattern(np.exp, spec, mixes="nothing"), eye(6))
    assert pattern(np.exp, spec).all()
    last = {"attrs": {"axis": 1}}
    np.testing.assert_array_equal(pattern(np.sort, spec, mixes="axes", **last), np.kron(eye(2), ones(3, 3)))
    np.testing.assert_array_equal(pattern(np.cumsum, spec, mixes="earlier", **last), np.kron(eye(2), np.tri(3)) > 0)
    summed = pattern(np.sum, wg.TensorSpec((2,), float), mixes="axes", **last)
    np.testing.assert_array_equal(summed, np.kron(eye(2), ones(1, 3)))
    assert pattern(np.exp, spec, mixes="axes").all()  # of no axis that it has been told


# -- linear_in --------------------------------------------------------------------------------------------------------


def test_a_rule_that_applies_a_linear_op_serves_forward_mode() -> None:
    def ruled(**facts: Any) -> Any:
        double = wg.primitive(
            fresh_name("double"), spec=lambda x: x, numpy=lambda x: 2.0 * x, vjp=lambda ct, out, x: 2.0 * ct, **facts
        )
        return wg.custom_gradient(lambda x: (wg.sum(x * x), lambda ct: double(ct) * x))

    np.testing.assert_allclose(wg.jvp(ruled(linear=True), (X,), (X,))[1], 2 * np.sum(X * X))
    with pytest.raises(LookupError, match="forward mode needs the rule's transpose"):
        wg.jvp(ruled(), (X,), (X,))


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.linear_in], ids=str)
def test_what_an_op_is_linear_in_is_an_operand_that_it_is_linear_in(op: Op) -> None:
    place = op.operands.index(op.facts.linear_in)
    for case in checks.cases(op):
        once, thrice = ([k * x if i == place else x for i, x in enumerate(case.operands)] for k in (1.0, 3.0))
        for x, y in zip(*[checks._call(case, (*map(fresh, map(np.array, xs)),)) for xs in (once, thrice)], strict=True):
            np.testing.assert_allclose(3.0 * elements_of(x), elements_of(y), rtol=1e-9, atol=1e-12)


# -- buffer, writes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.writes], ids=str)
def test_what_an_op_writes_to_is_an_operand_of_the_results_type(op: Op) -> None:
    for case in checks.cases(op):
        (out,) = checks._call(case, (*map(fresh, map(np.array, case.operands)),))
        before = np.asarray(case.operands[op.operands.index(op.facts.writes)])
        assert (elements_of(out).shape, elements_of(out).dtype) == (before.shape, before.dtype)


@pytest.mark.parametrize("name", ["scatter_add", "buffer_add"])
def test_readers_of_what_is_written_to_come_first(name: str) -> None:
    graph = Graph("written")
    with building(graph):
        x, new, i = (graph.add_input(s, np.dtype(d)) for s, d in (((9,), float), ((2,), float), ((2,), np.int64)))
        if name == "scatter_add":
            outs = [REGISTRY[name](x, new, i), REGISTRY["gather"](x, i)]
        else:
            b = REGISTRY["buffer_new"](x)
            written = REGISTRY[name](new, b, i, template=(None,))
            outs = [REGISTRY["buffer_value"](written), REGISTRY["buffer_get"](b, i, template=(None,))]
        graph.finish(outs)
    nodes = [renamed(node) for node in graph.nodes]
    steps = schedule(nodes, [Kind.SINGLE] * len(nodes), graph.outputs).steps
    (place,) = [k for k, node in enumerate(steps) if node.op.facts.writes]
    assert all(k < place for k, node in enumerate(steps) if graph.outputs[1] in node.outputs)


# -- states -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.states is not None], ids=str)
def test_an_op_gives_the_value_that_its_attributes_state(op: Op) -> None:
    assert not op.operands
    for case in checks.cases(op):
        (out,) = checks._call(case, ())
        np.testing.assert_array_equal(elements_of(out), np.broadcast_to(stated(op, case.attrs), out.shape))


# -- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.places], ids=str)
def test_places_count_from_zero(op: Op) -> None:
    for case in checks.cases(op):
        (out,) = checks._call(case, (*[fresh(np.array(x)) for x in case.operands],))
        assert elements_of(out).size == 0 or elements_of(out).min() >= 0


# -- operator, grounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.operator], ids=str)
def test_an_op_computes_what_its_operator_does(op: Op) -> None:
    for case in checks.cases(op):
        (out,) = checks._call(case, (*[fresh(np.array(x)) for x in case.operands],))
        names = [f"x{i}" for i in range(len(case.operands) + len(case.attrs))]
        text = f" {op.facts.operator} ".join(names) if len(names) > 1 else f"{op.facts.operator}{names[0]}"
        wanted = eval(text, dict(zip(names, [*map(np.array, case.operands), *case.attrs], strict=True)))
        np.testing.assert_array_equal(elements_of(out), wanted)


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.grounds is not None], ids=str)
def test_the_grounds_of_a_sum_are_terms_of_it(op: Op) -> None:
    """One of its terms that is not there leaves the others; a ground that is not there leaves zeros."""
    assert op.kind == "linear" and set(op.facts.grounds or ()) <= set(op.operands)
    for case in checks.cases(op):
        arrays = [np.array(x) for x in case.operands]
        terms = [i for i in range(len(arrays)) if op.rules[op.position(i)] is not None]
        parts = []
        for term in terms:
            alone = [x if i == term or i not in terms else np.zeros_like(x) for i, x in enumerate(arrays)]
            parts.append(elements_of(checks._call(case, (*map(fresh, alone),))[0]))
        (whole,) = checks._call(case, (*map(fresh, arrays),))
        np.testing.assert_allclose(np.sum(parts, 0), elements_of(whole), rtol=1e-12)


# -- exact, in_float32 -----------------------------------------------------------------------------------------------


def cases_of_halves(op: Op) -> Any:
    """Cases with operands that are rounded to halves, each with the same in a wider dtype."""
    for case in checks.cases(op):
        halves = [np.array(x) for x in case.operands]
        halves = [x.astype(np.float16) if x.dtype.kind == "f" else x for x in halves]
        yield case, halves, lambda dtype, xs=halves: [x.astype(dtype) if x.dtype.kind == "f" else x for x in xs]


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.exact], ids=str)
def test_nothing_rounds_what_an_op_gives_exactly(op: Op) -> None:
    for case, halves, in_dtype in cases_of_halves(op):
        found, wide = (checks._call(case, (*map(fresh, xs),)) for xs in (halves, in_dtype(np.float64)))
        for x, y in zip(found, wide, strict=True):
            np.testing.assert_array_equal(elements_of(x).astype(elements_of(y).dtype), elements_of(y))


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.facts.in_float32], ids=str)
def test_half_floats_are_computed_in_float32_where_an_op_states_it(op: Op) -> None:
    for case, halves, in_dtype in cases_of_halves(op):
        found, wide = (checks._call(case, (*map(fresh, xs),)) for xs in (halves, in_dtype(np.float32)))
        for x, y in zip(found, wide, strict=True):
            np.testing.assert_array_equal(elements_of(x), elements_of(y).astype(elements_of(x).dtype))


# -- holds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", REGISTRY.values(), ids=str)
def test_what_has_programs_among_its_attributes_states_it(op: Op) -> None:
    cases = checks.cases(op) if op.name != "loop_back" else []
    attrs = [a for case in cases for a in case.attrs]
    holds = any(isinstance(a, Program) or getattr(a, "inner", ()) for a in attrs)
    assert bool(op.facts.holds) == holds or op.name == "loop_back"


def test_regions_are_known_by_what_they_hold() -> None:
    graph = Graph("renamed")
    with building(graph):
        x = graph.add_input((40,), np.dtype(np.float64))
        y = wg.cond(wg.sum(x) > 0, lambda v: wg.exp(wg.sin(v)) * v, lambda v: v, x)
        wg.gradients(y, [x])  # which nothing reads: the branches save for it in vain
        graph.finish([y])
    graph.nodes[:] = [renamed(node) for node in graph.nodes]
    node, _ = [node for node in graph.nodes if node.op.facts.holds]
    assert node.op.name == "other"
    assert len(values_with_own_dims([node])) == len(node.outputs) > 1
    assert [place for _, place in inner_programs(node.op, node.attrs, 1)] == [0, 0]
    assert count_nodes(graph) > len(graph.nodes)
    (pruned,) = [node for node in drop_unused(graph).nodes if node.op.facts.holds]
    assert len(pruned.outputs) == 1


def renamed(node: Node) -> Node:
    """The node with an op that nothing knows by its name."""
    op = object.__new__(type(node.op))  # `copy` gives an op itself, as it does a function
    vars(op).update(vars(node.op), name="other")
    return node.remade(op, node.inputs, node.attrs)


# -- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "runs"), [("dear", 3), ("light", 6), ("move", 6), ("free", 6)])
def test_what_costs_little_is_computed_again_in_a_loops_backward_pass(cost: Any, runs: int) -> None:
    seen = []

    def square(x: Any) -> Any:
        seen.append(x)
        return x * x

    op = wg.primitive(
        fresh_name("square"), spec=lambda x: x, numpy=square, vjp=lambda ct, out, x: 2.0 * ct * x, cost=cost
    )

    def loss(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return wg.exp(-c * c) * wg.sin(op(c)), None

        return wg.sum(wg.scan(step, x, None, length=3)[0])

    def plain(x: Any) -> Any:
        for _ in range(3):
            x = wg.exp(-x * x) * wg.sin(x * x)
        return wg.sum(x)

    gradient = wg.function(wg.grad(loss))
    np.testing.assert_allclose(gradient(X), wg.grad(plain)(X), rtol=1e-12)
    seen.clear()
    gradient(X)
    assert len(seen) == runs


def test_each_kind_of_cost_is_stated_by_some_op() -> None:
    assert {op.facts.cost for op in REGISTRY.values()} == {"free", "move", "light", "dear"}


# -- flops ------------------------------------------------------------------------------------------------------------


def counted(f: Any, *args: Any) -> int:
    return sum(part.flops for part in wg.function(f).report(*args).parts)


def test_reports_count_the_operations_that_ops_state() -> None:
    a, b = np.ones((2, 3)), np.ones((3, 4))
    assert counted(np.matmul, a, b) == 2 * 2 * 3 * 4
    assert counted(lambda x, y, z: np.einsum("ij,jk,kl->il", x, y, z), a, b, b.T) >= 2 * (2 * 3 * 4 + 2 * 3 * 4)
    image, kernel = np.ones((1, 2, 8)), np.ones((5, 2, 3))
    conv = REGISTRY["conv"].facts.flops
    assert conv is not None and conv((1, 5, 6), image.shape, kernel.shape) == 2 * 5 * 6 * 2 * 3


def test_reports_count_what_ones_own_op_states() -> None:
    op = wg.primitive(
        fresh_name("counted"), spec=lambda x, **_: x, numpy=lambda x, **_: x,
        flops=lambda out, x, power: power * len(x) * x[0],
    )  # fmt: skip
    assert counted(lambda x: op(x, power=7), np.ones((5, 2))) == 7 * 2 * 5
    with pytest.raises(TypeError, match="primitive: flops must be callable, got int"):
        wg.primitive(fresh_name("refused"), spec=lambda x: x, numpy=np.square, flops=3)
