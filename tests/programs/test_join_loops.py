"""Loops that take the same steps are one, and branches of one index: forward mode's values and tangents, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._passes import optimise

X, Y = np.array([0.4, -0.7, 1.1]), np.array([1.3, 0.2, 0.9])
ROWS = np.linspace(-1, 1, 12).reshape(4, 3)


def decay(x: Any, y: Any) -> Any:
    """Until it is small; what follows asks how the loop has ended."""

    def step(k: Any, v: Any, w: Any) -> Any:
        return k + 1, wg.sin(v) * w[::-1] * 0.7, w * 0.9 + 0.01 * v * v

    k, v, w = wg.while_loop(lambda k, v, w: (k < 40) & (wg.sum(v * v) > 1e-3), step, (0, x * y, y))
    return wg.where(k < 3, 0.0, v * w * k)


def counted(x: Any, y: Any) -> Any:
    return wg.fori_loop(0, 5, lambda i, v: wg.tanh(v * y + v[0]) + i * 0.1 * x, x)


def stacked(x: Any, y: Any) -> Any:
    def step(v: Any, row: Any) -> Any:
        new = wg.cos(v * row) + y
        return new, (new * v, row + 1.0)

    last, (rows, others) = wg.scan(step, x, ROWS)
    return wg.sin(last) + rows.sum(0) * others[1] + rows[2]


def backwards(x: Any, y: Any) -> Any:
    last, rows = wg.scan(lambda v, row: (v * row + y, v), x, ROWS, reverse=True)
    return last * rows[0]


def nested(x: Any, y: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        inner = wg.while_loop(lambda s: wg.sum(s * s) > 1.0, lambda s: s * 0.8 * wg.cos(s * y), v)
        return wg.scan(lambda c, row: (c + wg.sin(inner * row), None), v, ROWS)[0]

    return wg.fori_loop(0, 3, step, x)


def branching(x: Any, y: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        return wg.cond(v[0] > 0.3, lambda v: v * y - 0.4, lambda v: wg.exp(v) * 0.5, v)

    return wg.fori_loop(0, 6, step, x)


def halved(x: Any) -> Any:
    return wg.custom_gradient(lambda v: (v * v, lambda ct: ct * v), jvp=lambda p, t: (p[0] * p[0], t[0] * p[0]))(x)


def ruled(x: Any, y: Any) -> Any:
    """A rule of the user's says half of the derivative, and one path is stopped."""
    return wg.fori_loop(0, 4, lambda i, v: halved(v) * 0.5 + wg.stop_gradient(v) * y, x)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f for f in (decay, counted, stacked, backwards, nested, branching, ruled)
}
DERIVATIVES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "jvp": lambda f: lambda x, y: wg.jvp(f, (x, y), (y, x)),
    "one argument": lambda f: wg.jacobian(f, mode="forward"),
    "both arguments": lambda f: wg.jacobian(f, (0, 1), mode="forward"),
    "value, too": lambda f: wg.value_and_jacobian(f, mode="forward"),
    "hessian": lambda f: wg.hessian(lambda x, y: (f(x, y) ** 2).sum()),
    "twice": lambda f: wg.jacobian(wg.jacobian(f, mode="forward"), mode="forward"),
    "gradient of it": lambda f: wg.grad(lambda x, y: (wg.jacobian(f, mode="forward")(x, y) ** 2).sum()),
    "jet": lambda f: lambda x, y: wg.jet(lambda x: f(x, y), (x,), ([y, x],)),
    "batched": lambda f: lambda x, y: wg.vmap(wg.jacobian(f, mode="forward"))(wg.stack([x, y]), wg.stack([y, y])),
}
ONE_LOOP = ("jvp", "one argument", "both arguments", "value, too", "jet")


def loops_of(graph: Any) -> int:
    return sum(node.op.name == "loop" for node in optimise(graph).nodes)


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_the_program_as_it_is_written(name: str, derivative: str) -> None:
    way = DERIVATIVES[derivative](PROGRAMS[name])
    found, wanted = wg.tree.leaves(wg.function(way)(X, Y)), wg.tree.leaves(way(X, Y))
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("derivative", ONE_LOOP)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_loop_carries_values_and_tangents(name: str, derivative: str) -> None:
    assert loops_of(wg.function(DERIVATIVES[derivative](PROGRAMS[name])).trace(X, Y)) == 1


def test_loops_inside_are_joined_as_well() -> None:
    graph = optimise(wg.function(wg.jacobian(nested, mode="forward")).trace(X, Y))
    (outer,) = (node for node in graph.nodes if node.op.name == "loop")
    assert loops_of(outer.attrs[0].body.graph) == 2  # the user's two


def test_what_reads_a_loop_stays_behind_it_and_what_comes_between_before() -> None:
    def f(x: Any, y: Any) -> Any:
        first, dot = wg.jvp(lambda v: counted(v, y), (x,), (wg.sin(y),))
        return wg.fori_loop(0, 3, lambda i, v: v * dot, first)

    graph = wg.function(f).trace(X, Y)
    assert loops_of(graph) == 2
    np.testing.assert_allclose(wg.function(f)(X, Y), f(X, Y), rtol=1e-12)


def test_other_loops_stay_apart() -> None:
    def f(x: Any, y: Any) -> Any:
        first = wg.fori_loop(0, 4, lambda i, v: wg.sin(v) + i, x)
        second = wg.fori_loop(0, 4, lambda i, v: wg.exp(v * 0.1) - y, x)
        third = wg.fori_loop(0, 5, lambda i, v: wg.sin(v) + i, x)
        return first + second * third

    assert loops_of(wg.function(f).trace(X, Y)) == 3
    np.testing.assert_allclose(wg.function(f)(X, Y), f(X, Y), rtol=1e-12)


def test_many_loops_side_by_side_find_those_that_they_go_with() -> None:
    def f(x: Any) -> Any:
        return sum(wg.scan(lambda c, r, k=k: (wg.sin(c * r) + k * x, c), wg.zeros(3), ROWS)[0] for k in range(40))

    graph = wg.function(lambda x: wg.jvp(f, (x,), (Y,))).trace(X)
    assert loops_of(graph) == 40
    np.testing.assert_allclose(wg.function(wg.jacobian(f, mode="forward"))(X), wg.jacobian(f)(X), rtol=1e-12)


def test_a_loop_that_is_written_twice_runs_once() -> None:
    def f(x: Any, y: Any) -> Any:
        return decay(x, y) + decay(x, y) * 2.0

    assert loops_of(wg.function(f).trace(X, Y)) == 1
    np.testing.assert_allclose(wg.function(f)(X, Y), f(X, Y), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:a loop runs step by step")
def test_what_prints_is_run_as_often_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    def step(i: Any, v: Any) -> Any:
        wg.debug_print("step {}", i)
        return v * 2.0

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 3, step, x) + wg.fori_loop(0, 3, step, x)

    wg.function(f)(X)
    assert capfd.readouterr().out.count("step 1") == 2


def test_an_interrupted_number_of_steps_is_the_same_for_both() -> None:
    """The number of steps is a result, and stacks of a conditional loop's gradient have as many rows."""

    def f(x: Any) -> Any:
        k, v = wg.while_loop(lambda k, v: k < 7, lambda k, v: (k + 1, wg.sin(v)), (0, x), checkpoint="all")
        return (v * v).sum() * k

    way = wg.hessian(f)
    np.testing.assert_allclose(wg.function(way)(X), way(X), rtol=1e-11)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", range(1, 10))
def test_directions_that_fill_a_vector_are_no_part_of_the_result(count: int) -> None:
    x = np.linspace(-0.5, 0.9, count)

    def step(k: Any, v: Any) -> Any:
        for _ in range(170):  # long steps: those of few ops are computed number by number
            v = wg.sin(v + v[0]) * 0.5 + v[-1] * x
        return k + 1, v

    def f(x: Any) -> Any:
        return wg.while_loop(lambda k, v: k < 3, step, (0, x))[1]

    traced = wg.function(wg.jacobian(f, mode="forward")).trace(x)
    (loop,) = (node for node in optimise(traced).nodes if node.op.name == "loop")
    lanes = {v.shape[0] for v in loop.inputs if len(v.shape) == 2}
    assert lanes == {{2: 4, 3: 4, 5: 8, 6: 8, 7: 8}.get(count, count)}
    found = wg.function(wg.jacobian(f, mode="forward"))(x)
    assert found.shape == (count, count)
    np.testing.assert_allclose(found, wg.jacobian(f, mode="reverse")(x), rtol=1e-12, atol=1e-14)


# -- branches ---------------------------------------------------------------------------------------------------------

WIDE, ALONG = np.linspace(-1.0, 2.0, 40), np.linspace(1.0, 0.5, 40)


def either(x: Any, y: Any) -> Any:
    return wg.cond(wg.sum(x) > 0.3, lambda v: wg.exp(wg.sin(v)) * y, lambda v: wg.cos(v) ** 2 - y, x)


def one_of_three(x: Any, y: Any) -> Any:
    at = wg.sum(wg.astype(x > 0.5, "int64")) % 3
    return wg.switch(at, [lambda v: wg.sin(v) * y, lambda v: v * v[::-1] - y, lambda v: wg.tanh(v @ y) * v], x)


def in_a_loop(x: Any, y: Any) -> Any:
    return wg.scan(lambda c, r: (either(c * r, y), None), x, np.linspace(-1.0, 1.0, 5))[0]


def twice(x: Any, y: Any) -> Any:
    holds = x[0] > y[0]
    first = wg.cond(holds, lambda v: (wg.exp(v), v * 2.0), lambda v: (v, wg.sin(v)), x)
    second = wg.cond(holds, lambda v, w: v * w, lambda v, w: wg.cos(v) - w, x, y)
    return first[0] * second + first[1]


BRANCHING: dict[str, Callable[[Any, Any], Any]] = {f.__name__: f for f in (either, one_of_three, in_a_loop, twice)}


def switches_of(graph: Any) -> int:
    """Those in loops, too."""
    nodes = optimise(graph).nodes
    inner = [node.attrs[0].body.graph for node in nodes if node.op.name == "loop"]
    return sum(node.op.name == "switch" for node in nodes) + sum(map(switches_of, inner))


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", BRANCHING)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_derivatives_of_joined_branches_are_those_of_the_program(name: str, derivative: str, sign: float) -> None:
    way = DERIVATIVES[derivative](BRANCHING[name])
    found, wanted = wg.tree.leaves(wg.function(way)(sign * WIDE, ALONG)), wg.tree.leaves(way(sign * WIDE, ALONG))
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("derivative", ["jvp", "value, too"])
@pytest.mark.parametrize("name", BRANCHING)
def test_one_index_is_asked_once(name: str, derivative: str) -> None:
    assert switches_of(wg.function(DERIVATIVES[derivative](BRANCHING[name])).trace(WIDE, ALONG)) == 1


def test_branches_that_need_what_others_give_or_that_are_seen_stay_apart() -> None:
    def chained(x: Any, y: Any) -> Any:
        holds = x[0] > 0.0
        first = wg.cond(holds, wg.sin, wg.cos, x)
        return wg.cond(holds, lambda v, w: v * w, lambda v, w: v - w, x, first + y)

    def printed(x: Any, y: Any) -> Any:
        holds = x[0] > 0.0
        first = wg.cond(holds, wg.sin, wg.cos, x)
        wg.debug_print("between {}", x[0])
        return first + wg.cond(holds, wg.cos, wg.sin, x) * y

    for f in (chained, printed):
        assert switches_of(wg.function(f).trace(WIDE, ALONG)) == 2
