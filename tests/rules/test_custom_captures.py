"""What a custom gradient's function closes over: refused, in every mode, where it is being differentiated and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Wrap = Callable[[Any], Any]


def _gradient(x: Any, w: Any) -> Any:
    return wg.custom_gradient(lambda c: (c * w, lambda upstream: upstream * 2.0))(x)


def _grad(x: Any, w: Any) -> Any:
    return wg.custom_grad(lambda c, save: (c * w, lambda dy, saved: dy * 2.0))(x)


@pytest.fixture(params=[_gradient, _grad], ids=["custom_gradient", "custom_grad"])
def times(request: pytest.FixtureRequest) -> Any:
    """x times w by a custom gradient that closes over w and says 2 for x."""
    return request.param


# -- ways to run a function of x and w --------------------------------------------------------------------------------

PROGRAMS: dict[str, Wrap] = {
    "plain": lambda f: f,
    "function": wg.function,
    "recompute": wg.recompute_grad,
    "compiled recompute": lambda f: wg.function(wg.recompute_grad(f)),
    "fori_loop": lambda f: lambda x, w: wg.fori_loop(0, 2, lambda i, c: f(c, w), x),
    "all kept": lambda f: lambda x, w: wg.fori_loop(0, 2, lambda i, c: f(c, w), x, checkpoint="all"),
    "compiled loop": lambda f: wg.function(lambda x, w: wg.fori_loop(0, 2, lambda i, c: f(c, w), x)),
    "while_loop": lambda f: wg.function(
        lambda x, w: wg.while_loop(lambda i, c: i < 2, lambda i, c: (i + 1, f(c, w)), (0, x))[1]
    ),
    "scan": lambda f: wg.function(lambda x, w: wg.scan(lambda c, _: (f(c, w), c), x, None, length=2)[0]),
    "cond": lambda f: lambda x, w: wg.cond(x < 10.0, lambda: f(x, w), lambda: x),
    "compiled cond": lambda f: wg.function(lambda x, w: wg.cond(x < 10.0, lambda: f(x, w), lambda: x)),
    "vmap": lambda f: lambda x, w: wg.sum(wg.vmap(lambda a: f(a, w))(wg.stack([x, x]))),
    "vmap past it": lambda f: lambda x, w: wg.sum(wg.vmap(lambda a: a * f(x, w))(np.ones(2))),
    "vmap of both": lambda f: lambda x, w: wg.sum(wg.vmap(f)(wg.stack([x, x]), wg.stack([w, w]))),
}  # fmt: skip

BOTH = (0, 1)


def _taped(f: Any) -> Any:
    with wg.GradientTape() as tape:
        x, w = wg.tensor(1.0), wg.tensor(3.0)
        tape.watch([x, w])
        y = f(x, w)
    return tape.gradient(y, [x, w])


def _in_a_graph(f: Any) -> Any:
    with wg.Graph().as_default():
        x, w = wg.tensor(1.0), wg.tensor(3.0)
        return wg.gradients(f(x, w), [x, w])


MODES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: wg.grad(f, argnums=BOTH)(1.0, 3.0),
    "compiled grad": lambda f: wg.function(wg.grad(f, argnums=BOTH))(1.0, 3.0),
    "vjp": lambda f: wg.vjp(f, 1.0, 3.0)[1](1.0),
    "zeros on request": lambda f: wg.grad(f, argnums=BOTH, unconnected_gradients="zero")(1.0, 3.0),
    "tape": _taped,
    "gradients": _in_a_graph,
    "jvp": lambda f: wg.jvp(f, (1.0, 3.0), (1.0, 1.0)),
    "linearize": lambda f: wg.linearize(f, 1.0, 3.0),
    "jacobian": lambda f: wg.jacobian(f, argnums=BOTH)(1.0, 3.0),
    "forward jacobian": lambda f: wg.jacobian(f, argnums=BOTH, mode="forward")(1.0, 3.0),
    "hessian": lambda f: wg.hessian(f, argnums=BOTH)(1.0, 3.0),
    "vmap of grad": lambda f: wg.vmap(wg.grad(f, argnums=BOTH))(np.ones(2), np.ones(2)),
    "grad of vmap": lambda f: wg.grad(lambda x: wg.sum(wg.vmap(lambda a: f(a, x))(np.ones(2))))(3.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_value_that_is_differentiated_is_refused_by_name(mode: str, program: str, times: Any) -> None:
    f = PROGRAMS[program](times)
    with pytest.raises(wg.DisconnectedError, match="its output depends on w .*pass it as an argument") as caught:
        MODES[mode](lambda x, w: f(x, w) + w * w)
    assert isinstance(caught.value, wg.LostGradientError)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_value_that_is_not_differentiated_is_a_constant(program: str, times: Any) -> None:
    f = PROGRAMS[program](times)
    steps = 2 if program.startswith("vmap") else 1
    wanted = 4.0 if "loop" in program or program in ("scan", "all kept") else steps * 2.0
    assert wg.grad(f)(1.0, 3.0) == wanted
    assert wg.grad(lambda x, w: f(x, wg.stop_gradient(w)) + w, argnums=BOTH)(1.0, 3.0) == (wanted, 1.0)
    assert wg.function(wg.grad(f))(1.0, 3.0) == wanted


@pytest.mark.parametrize("compiled", [False, True])
def test_a_value_of_an_outer_level_is_refused(compiled: bool, times: Any) -> None:
    def f(w: Any) -> Any:
        return wg.grad(lambda x: times(x, w))(1.0) + w * w

    with pytest.raises(wg.DisconnectedError, match="depends on w "):
        wg.grad(wg.function(f) if compiled else f)(3.0)


@pytest.mark.parametrize("way", [lambda f: f, wg.function], ids=["eager", "compiled"])
def test_an_argument_of_a_custom_gradient_around_it_is_refused(way: Wrap, times: Any) -> None:
    outer = wg.custom_gradient(lambda c, d: (times(c, d), lambda upstream: (upstream, upstream)))
    assert wg.grad(way(lambda x, w: outer(x, w)))(1.0, 3.0) == 1.0
    with pytest.raises(wg.DisconnectedError, match="depends on w "):
        wg.grad(way(lambda x, w: outer(x, w)), argnums=BOTH)(1.0, 3.0)


def test_what_only_the_rule_reads_is_differentiated_there() -> None:
    def f(x: Any, w: Any) -> Any:
        def g(c: Any) -> Any:
            twice = 2.0 * w
            return c * 1.0, lambda upstream: upstream * twice

        return wg.custom_gradient(g)(x) + w

    for way in (f, wg.function(f)):
        assert wg.grad(way, argnums=BOTH)(1.0, 3.0) == (6.0, 1.0)
        assert wg.grad(lambda w, way=way: wg.grad(way)(1.0, w))(3.0) == 2.0
        assert wg.jvp(way, (1.0, 3.0), (1.0, 1.0))[1] == 7.0


@pytest.mark.parametrize("use", [wg.stop_gradient, wg.sign, lambda w: wg.astype(w, "int32"), lambda w: w > 0.0])
def test_a_path_that_carries_nothing_is_no_loss(use: Any) -> None:
    def f(x: Any, w: Any) -> Any:
        return wg.custom_gradient(lambda c: (c * use(w), lambda upstream: upstream * 2.0))(x) + w

    for way in (f, wg.function(f)):
        assert wg.grad(way, argnums=BOTH)(1.0, 3.0) == (2.0, 1.0)
        assert wg.jvp(way, (1.0, 3.0), (1.0, 1.0))[1] == 3.0


WAYS = {
    "grad": lambda f: wg.grad(f)(3.0),
    "jvp": lambda f: wg.jvp(f, (3.0,), (1.0,)),
    "linearize": lambda f: wg.linearize(f, 3.0),
    "compiled": lambda f: wg.function(wg.grad(f))(3.0),
    "of compiled": lambda f: wg.grad(wg.function(f))(3.0),
    "vmap": lambda f: wg.vmap(wg.grad(f))(np.ones(3)),
    "hessian": lambda f: wg.hessian(f)(3.0),
    "in a loop": lambda f: wg.grad(lambda x: wg.fori_loop(0, 2, lambda i, c: f(c), x))(3.0),
    "in a branch": lambda f: wg.grad(lambda x: wg.cond(x > 0, f, lambda c: c, x))(3.0),
    "compiled loop": lambda f: wg.function(wg.grad(lambda x: wg.fori_loop(0, 2, lambda i, c: f(c), x)))(3.0),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_argument_that_is_closed_over_as_well_is_refused(times: Any, way: str) -> None:
    # the rule answers for the argument; what flows to the captured one would be lost
    with pytest.raises(wg.DisconnectedError, match="being differentiated and is not an argument"):
        WAYS[way](lambda x: times(x, x))


def test_an_argument_that_is_closed_over_by_its_values_alone_is_an_argument() -> None:
    def f(x: Any) -> Any:
        return wg.custom_gradient(lambda c: (c * wg.stop_gradient(x), lambda up: up * c))(x)

    assert wg.grad(f)(3.0) == 3.0
    assert wg.function(wg.grad(f))(3.0) == 3.0
    assert wg.jvp(f, (3.0,), (1.0,)) == (9.0, 3.0)


def test_the_rule_may_use_what_the_function_got_and_captured() -> None:
    def f(x: Any) -> Any:
        return wg.custom_gradient(lambda c: (c * c, lambda up: up * (c + x)))(x)

    for way in (f, wg.function(f)):
        assert wg.grad(way)(3.0) == 6.0
        assert wg.grad(wg.grad(way))(3.0) == 2.0


def test_a_value_returned_as_it_is_is_refused() -> None:
    def f(x: Any, w: Any) -> Any:
        return wg.custom_gradient(lambda c: (w, lambda upstream: upstream))(x) + w

    for way in (f, wg.function(f)):
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            wg.grad(way, argnums=BOTH)(1.0, 3.0)
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            wg.jvp(way, (1.0, 3.0), (1.0, 1.0))


class _Layer:
    def __init__(self, weight: Any) -> None:
        self.parts = {"weight": [weight]}

    @wg.custom_gradient
    def scaled(self, x: Any) -> Any:
        return x * self.parts["weight"][0], lambda upstream: upstream


def test_the_error_says_where_the_value_was_found() -> None:
    with pytest.raises(
        wg.DisconnectedError, match=r"scaled: .* self\.parts\['weight'\]\[0\] \(shape \(2,\), float64\)"
    ):
        wg.grad(lambda w: wg.sum(_Layer(w).scaled(2.0) + w))(np.ones(2))


@pytest.mark.parametrize("compiled", [False, True])
def test_variables_are_named_and_those_of_the_rule_are_its_own(compiled: bool) -> None:
    weight = wg.Variable(3.0, name="weight")

    def bare(x: Any) -> Any:
        return wg.custom_grad(lambda c, save: (c * weight, lambda dy: dy * 2.0))(x) + weight

    def told(x: Any) -> Any:
        def g(c: Any) -> Any:
            return c * weight, lambda upstream, variables: (upstream * 2.0, [upstream * 10.0])

        return wg.custom_gradient(g)(x) + weight

    bare, told = (wg.function(bare), wg.function(told)) if compiled else (bare, told)
    with pytest.raises(TypeError, match="the Variable weight"):
        wg.variable_grads(lambda: bare(wg.tensor(1.0)))
    assert wg.grad(bare)(1.0) == 2.0
    assert wg.variable_grads(lambda: told(wg.tensor(1.0))).grads["weight"].item() == 11.0


def test_a_saved_program_refuses_as_it_did(tmp_path: Any, times: Any) -> None:
    f = wg.function(lambda x, w: times(x, w) + w)
    f(1.0, 3.0)
    wg.save(f, tmp_path / "f")
    loaded = wg.load(tmp_path / "f")
    assert wg.grad(loaded)(1.0, 3.0) == 2.0
    with pytest.raises(wg.DisconnectedError, match="depends on w "):
        wg.grad(loaded, argnums=BOTH)(1.0, 3.0)


# -- what one result reads is no matter of another --------------------------------------------------------------------

UNREAD: dict[str, Callable[[Any, Any], Any]] = {
    "function": lambda c, w: wg.function(lambda d: (d * w, d))(c)[1],
    "nested function": lambda c, w: wg.function(lambda d: wg.function(lambda e: (e * w, e))(d))(c)[1],
    "cond": lambda c, w: wg.cond(c > 0, lambda: (c * w, c), lambda: (c, c))[1],
    "fori_loop": lambda c, w: wg.fori_loop(0, 2, lambda i, s: (s[0] * w, s[1] * 2.0), (c, c))[1],
    "while_loop": lambda c, w: wg.while_loop(lambda a, b: b < 9.0, lambda a, b: (a * w, b * 2.0), [c, c])[1],
    "scan": lambda c, w: wg.scan(lambda s, i: (s * 2.0, s * w), c, length=2)[0],
}
READ: dict[str, Callable[[Any, Any], Any]] = {
    "function": lambda c, w: wg.function(lambda d: (d * w, d))(c)[0],
    "cond": lambda c, w: wg.cond(c > 0, lambda: (c * w, c), lambda: (c, c))[0],
    "fori_loop": lambda c, w: wg.fori_loop(0, 3, lambda i, s: (s[0] + s[1], s[1] * w), (c, c))[0],  # a step later
    "while_loop": lambda c, w: wg.while_loop(lambda a, b: b < 9.0, lambda a, b: (a * w, b * 2.0), [c, c])[0],
    "scan": lambda c, w: wg.scan(lambda s, i: (s * 2.0, s * w), c, length=2)[1][0],
}
RUNS: dict[str, Wrap] = {
    "plain": lambda f: f,
    "function": wg.function,
    "recompute": wg.recompute_grad,
    "compiled recompute": lambda f: wg.function(wg.recompute_grad(f)),
    "function inside": lambda f: lambda x, w: wg.function(lambda y: f(y, w))(x),
    "recompute inside": lambda f: lambda x, w: wg.recompute_grad(lambda y: f(y, w))(x),
}


def _closing_over(inside: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, w: wg.custom_gradient(lambda c: (inside(c, w), lambda upstream: upstream * 5.0))(x) + w


@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("region", UNREAD)
def test_a_value_that_another_result_of_a_region_reads_is_no_matter(region: str, way: str) -> None:
    f = RUNS[way](_closing_over(UNREAD[region]))
    assert wg.grad(f, argnums=BOTH)(1.0, 3.0) == (5.0, 1.0)
    assert wg.jvp(f, (1.0, 3.0), (1.0, 2.0))[1] == 7.0
    assert wg.jacobian(f, argnums=BOTH, mode="forward")(1.0, 3.0) == (5.0, 1.0)


@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("region", READ)
def test_a_value_that_the_result_of_a_region_reads_is_refused(region: str, way: str) -> None:
    f = RUNS[way](_closing_over(READ[region]))
    with pytest.raises(wg.errors.CapturedError, match="depends on w "):
        wg.grad(f, argnums=BOTH)(1.0, 3.0)
    with pytest.raises(wg.errors.CapturedError, match="depends on w "):
        wg.jvp(f, (1.0, 3.0), (1.0, 2.0))


def test_a_rule_whose_result_nothing_reads_is_not_asked_by_a_recomputation() -> None:
    def refuses(upstream: Any) -> Any:
        raise AssertionError("asked")

    def both(y: Any) -> Any:
        return wg.custom_gradient(lambda c: (c * 2.0, refuses))(y), y * 3.0

    assert wg.grad(lambda x: both(x)[1])(2.0) == 3.0
    assert wg.grad(lambda x: wg.recompute_grad(both)(x)[1])(2.0) == 3.0


# -- loops with snapshots: what their results depend on, the steps tell -----------------------------------------------


def _by_a_scan(x: Any, w: Any, policy: Any, reads: str) -> Any:
    def inner(c: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            more = {"rows": row, "w": w}.get(reads, 0.0)
            return wg.sin(c) + more, c * (row if reads == "rows in results" else 1.0)

        carry, results = wg.scan(step, c, x, checkpoint=policy)
        return carry + (wg.sum(results) if "results" in reads else 0.0)

    def rule(c: Any) -> Any:
        y, pull = wg.vjp(inner, c)
        return y, lambda upstream: pull(upstream)

    return wg.custom_gradient(rule)(x[0] * 1.0)


@pytest.mark.parametrize("policy", ["all", 1, 3, "sqrt", "auto"])
@pytest.mark.parametrize("reads", ["nothing", "results", "rows", "rows in results", "w"])
def test_a_loop_with_snapshots_depends_on_what_its_steps_read(reads: str, policy: Any) -> None:
    x = np.array([1.0, 2.0, 0.5])
    gradient = wg.grad(lambda x, w: _by_a_scan(x, w, policy, reads), argnums=BOTH, unconnected_gradients="zero")
    if reads not in ("nothing", "results"):
        with pytest.raises(wg.errors.CapturedError, match="depends on " + ("w" if reads == "w" else "x")):
            gradient(x, 3.0)
        return
    v = [1.0, np.sin(1.0), np.sin(np.sin(1.0))]
    slopes = np.cumprod(np.cos(v))
    expected = slopes[2] if reads == "nothing" else slopes[2] + 1.0 + slopes[0] + slopes[1]
    found = gradient(x, 3.0)
    np.testing.assert_allclose(found[0], [expected, 0.0, 0.0], rtol=1e-13)
    assert found[1] == 0.0
