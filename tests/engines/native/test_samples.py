"""Array programs that were wrong once: the smallest forms of what the fuzzer found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.fuzz.case import Case
from tests.fuzz.classes import ORACLES
from tests.fuzz.program import Input, Program
from tests.support.native_checks import TOLERANCE, Twins, numpy_only, require_same
from wengert._passes import optimise
from wengert._passes.dce import drop_unused

RNG = np.random.default_rng(8)


def test_product_with_a_constant_whose_rows_are_told() -> None:
    source = "def f(x0):\n    return wg.matmul(x0, wg.sum(x0, axis=0)) * 0.1\n"
    ORACLES["compiled"](Case(Program(source, (Input((16, 1)),), least=8), "compiled"))


@pytest.mark.parametrize("engine", ["machine code", "NumPy's kernels"])
def test_products_with_a_nan_in_a_long_axis_have_second_derivatives(engine: str) -> None:
    """NumPy's kernel scans the blocks of a long axis side by side."""
    x = RNG.normal(size=195)
    x[17] = np.nan

    def curvature(x: Any) -> Any:
        return wg.grad(lambda x: wg.sum(wg.sin(wg.grad(wg.prod)(x))))(x)

    if engine == "machine code":
        found = np.asarray(wg.function(curvature)(x))
    else:
        with numpy_only():
            found = np.asarray(wg.function(curvature)(x))
    assert np.isnan(found).all()


EMPTY = [(0,), (64, 0), (0, 64), (3, 0), (100, 0), (0, 100), (2, 0, 5)]
REDUCED = ["sum", "prod", "max", "min", "any", "all", "argmax", "count_nonzero", "cumsum", "cumprod", "sort", "flip"]


@pytest.mark.parametrize("name", REDUCED)
def test_axes_of_no_elements(name: str) -> None:
    for shape in EMPTY:
        for axis in (None, 0, -1):

            def f(x: Any, axis: int | None = axis) -> Any:
                return getattr(wg, name)(x, axis=axis)

            for dtype in ("float64", "float32", "int64", "bool"):
                x = np.zeros(shape, dtype)
                found, wanted = Twins(f).both(x)
                require_same(found, wanted, f"{name} of {dtype}{shape} along {axis}")


def test_loops_for_nobody_are_not_run() -> None:
    """The backward pass of a backward pass needs a loop only for its slopes; what was saved for others goes, and so does it."""
    x, y = RNG.normal(size=(66, 66)), RNG.normal(size=66)

    def f(x: Any, y: Any) -> Any:
        halves = wg.min(y / (2.0 + wg.square(wg.ops.relu(x))), axis=0)
        return wg.sum(wg.map(lambda c: wg.sin(c) + 0.5 * c, halves))

    def curvature(x: Any, y: Any) -> Any:
        return wg.grad(lambda x, y: wg.sum(wg.sin(wg.grad(f)(x, y))), (0, 1))(x, y)

    graph = drop_unused(wg.function(curvature).trace(x, y))
    assert [node for node in graph.nodes if node.op.name == "loop" and not node.outputs] == []
    require_same(*Twins(curvature).both(x, y), "curvature", TOLERANCE)


LOOPS_WITH_ENDS: dict[str, Callable[[Any], Any]] = {
    "a count": lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * i, x),
    "a scan": lambda x: wg.scan(lambda c, y: (c * y, c), wg.asarray(1.0), x),
    "a count in a scan": lambda x: wg.scan(
        lambda c, y: (wg.fori_loop(0, 3, lambda i, d: d * y, c), c), wg.asarray(1.0), x
    ),
    "at most so many": lambda x: wg.while_loop(lambda c: wg.sum(c) < 9, lambda c: c * 2.0, x, maximum_iterations=5),
    "a gradient": lambda x: wg.grad(lambda x: wg.sum(wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * c, x)))(x),
    "a gradient of snapshots": lambda x: wg.grad(
        lambda x: wg.sum(wg.fori_loop(0, 9, lambda i, c: wg.sin(c) * c, x, checkpoint=2))
    )(x),
}


@pytest.mark.parametrize("form", LOOPS_WITH_ENDS)
def test_loops_that_end_are_not_run_for_nobody(form: str) -> None:
    def f(x: Any) -> Any:
        LOOPS_WITH_ENDS[form](x)
        return x * 2.0

    graph = wg.function(f).trace(np.arange(1.0, 4.0))
    assert [node for node in graph.nodes if node.op.facts.holds]
    assert [node for node in drop_unused(graph).nodes if node.op.facts.holds] == []


def test_loops_that_need_not_end_are_run() -> None:
    def f(x: Any) -> Any:
        wg.scan(lambda c, y: (wg.while_loop(lambda d: d < y, lambda d: d * 2.0, c), None), wg.asarray(1.0), x)
        return x * 2.0

    graph = drop_unused(wg.function(f).trace(np.arange(1.0, 4.0)))
    assert len([node for node in graph.nodes if node.op.facts.holds]) == 1


def test_loops_of_a_gradient_that_only_its_slopes_read_are_not_run() -> None:
    """Forward mode gives the gradient beside its slopes: the loops that give the gradient alone are no work."""
    r = np.random.default_rng(3)
    data, kicks, x, v = r.normal(size=(20, 3)), r.normal(size=(4, 3)), r.normal(size=3), r.normal(size=3)
    slope = wg.grad(lambda w: wg.sum(wg.log(np.cosh(data @ w))) + 0.5 * w @ w)

    def energy(x: Any) -> Any:
        def step(w: Any, p: Any) -> Any:
            w, p = wg.fori_loop(0, 3, lambda i, c: (c[0] + 0.05 * c[1], c[1] - 0.05 * slope(c[0])), (w, p))
            return w, wg.sum(w * w)

        return wg.sum(wg.scan(step, x, kicks)[1])

    def curvature(x: Any, v: Any) -> Any:
        return wg.jvp(wg.grad(energy), (x,), (v,))[1]

    graph = optimise(wg.function(curvature).trace(x, v))
    forward, back = [node for node in graph.nodes if node.op.facts.holds]
    assert forward.op.name == back.op.name == "loop"
    # one keeps what the backward pass reads, the other carries values beside tangents
    inner = [node for node in optimise(forward.attrs[-1].body.graph).nodes if node.op.facts.holds]
    assert [node.op.name for node in inner] == ["loop", "loop"]
    require_same(*Twins(curvature).both(x, v), "curvature", TOLERANCE)


def test_loops_that_may_raise_or_not_end_are_run() -> None:
    def f(x: Any, i: Any) -> Any:
        wg.scan(lambda c, j: (c + x[j], None), wg.asarray(0.0), i)
        return x * 2.0

    compiled = wg.function(f)
    x = np.arange(3.0)
    np.testing.assert_array_equal(compiled(x, np.array([0, 2])), x * 2.0)
    with pytest.raises(IndexError):
        compiled(x, np.array([0, 3]))


@pytest.mark.parametrize("function", ["sin", "cos", "exp", "tanh", "cbrt", "arcsinh"])
def test_a_value_that_several_loops_read_has_the_same_bits_in_all(function: str) -> None:
    """By vectors a function may differ in the last bit: a maximum that equals no element would have no gradient."""

    def largest(x: Any) -> Any:
        return wg.max(wg.concatenate([x, getattr(wg, function)(x)]))

    def written(x: Any) -> Any:
        both = wg.concatenate([x, getattr(wg, function)(x)])
        return wg.sum(both.at[1].max(both[-1]) * np.arange(1.0, 1.0 + 2 * len(x)))

    for f in (largest, written):
        for width in (3, 7):
            gradient = wg.vmap(wg.grad(f))
            compiled = wg.function(gradient)
            for _ in range(50):
                x = RNG.normal(size=(6, width))
                np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-12, atol=1e-12)


ROWS_OF_A_BRANCH = """
def f(x0, x1, x2):
    def f22(i1, c2, c3):
        def f18():
            return (x0, x1)
        def f19():
            return (wg.astype(wg.broadcast_to(wg.mean(x2), (3, 3)), 'float64'), wg.astype(wg.broadcast_to(wg.mean(c3), (3,)), 'float64'))
        v20, v21 = wg.switch(i1, [f18, f19])
        return (i1 + 1, v20, c3.at[i1 % c3.shape[0]].add(wg.tanh(wg.sum(v20))))
    c25, v23, v24 = wg.while_loop(lambda i1, c2, c3: i1 < 3, f22, (0, x0, x0))
    def f31(c25):
        return c25
    def f33(c25):
        v32 = wg.take(x1, [-2], axis=0)
        return wg.broadcast_to(v32, (3, 3))
    v34 = wg.switch(wg.astype(wg.floor(wg.sum(wg.real(v24))), 'int64'), [f31, f33], v24)
    return v34
"""


def test_zeros_of_as_many_rows_as_a_branch_gives() -> None:
    """They read no operand, and were planned before the branch, which tells how many there are."""
    inputs = (
        Input((3, 3), "float64", seed=758286932), Input((3,), "float64", seed=116773561),
        Input((4, 3), "float64", seed=241683243),
    )  # fmt: skip
    program = Program(ROWS_OF_A_BRANCH, inputs, least=None, seed="270301 derivatives 525")
    ORACLES["second order"](Case(program, "second order"))
