"""`recompute_grad`: the numbers of the plain function, without its intermediate values."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.modes import every_way, mapped, pushed, pushed_traced
from wengert._core.state import STATE, recording
from wengert._prims.structural import alias
from wengert._transforms.tape import Tape


def close(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x, y, rtol=1e-14)


def test_forward_runs_once_and_once_more_for_each_backward_pass() -> None:
    runs = []

    @wg.recompute_grad
    def square(x: Any) -> Any:
        runs.append(1)
        return x * x

    def chain(x: Any) -> Any:
        y = x
        for _ in range(2):
            y = square(y)
        return y * 1.0

    assert chain(2.0) == 16.0
    assert len(runs) == 2
    runs.clear()
    assert wg.grad(chain)(2.0) == 32.0
    assert len(runs) == 4
    runs.clear()
    wg.function(wg.grad(chain))(2.0)
    assert len(runs) == 2  # traced once each: the graph is repeated, not the Python


@every_way
def test_second_and_third_order(derive: Any) -> None:
    cube = wg.recompute_grad(lambda x: x * x * x)
    assert cube(2.0) == 8.0
    assert derive(cube)(2.0) == 12.0
    assert derive(wg.grad(cube))(2.0) == 12.0
    assert derive(wg.grad(wg.grad(cube)))(2.0) == 6.0


@every_way
def test_keywords_structures_integers_unused(derive: Any) -> None:
    keyword = wg.recompute_grad(lambda x, scale=1.0: x * scale)
    assert derive(lambda s: keyword(2.0, scale=s))(3.0) == 2.0
    assert derive(lambda x: keyword(x=x, scale=3.0))(2.0) == 3.0
    both = wg.recompute_grad(lambda x: (x * 3.0, {"y": [x * 4.0, None, "text"]}))
    assert derive(lambda x: both(x)[0] + both(x)[1]["y"][0])(2.0) == 7.0
    nested = wg.recompute_grad(lambda p: p["a"] * p["b"][0])
    assert derive(nested)({"a": 2.0, "b": (3.0,)}) == {"a": 3.0, "b": (2.0,)}
    integer = wg.recompute_grad(lambda x, n: x * n)
    assert derive(lambda x: integer(x, wg.tensor(3)))(2.0) == 3.0
    assert derive(lambda x: integer(x, 3))(2.0) == 3.0
    unused = wg.recompute_grad(lambda x, y: x * 2.0)
    assert derive(unused, argnums=(0, 1))(1.0, 5.0) == (2.0, 0.0)  # connected: zero, no error
    whole = wg.recompute_grad(lambda x: (x * 2.0, wg.argmax(wg.stack([x, x]))))
    assert derive(lambda x: whole(x)[0])(1.0) == 2.0
    assert derive(lambda x: wg.recompute_grad(lambda a, b: a * b * b)(x, x))(3.0) == 27.0


def test_the_second_run_sees_the_variables_of_the_first() -> None:
    v = wg.Variable(2.0, name="v")

    @wg.recompute_grad
    def f(x: Any) -> Any:
        before = v.value
        v.assign(before * 10.0)
        return x * x * before + x * v

    def loss(x: Any) -> Any:
        y = f(x)
        v.assign(100.0)
        return y

    assert wg.grad(loss)(3.0) == 2 * 3 * 2.0 + 20.0
    assert v.numpy() == 100.0  # assigned once by f, once by loss, and not by the second run
    v.assign(2.0)
    assert wg.grad(f)(3.0) == 32.0
    assert v.numpy() == 20.0
    v.assign(2.0)
    assert wg.function(wg.grad(f))(3.0) == 32.0
    assert v.numpy() == 20.0
    v.assign(2.0)
    assert wg.grad(wg.function(loss))(3.0) == 32.0
    assert v.numpy() == 100.0


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function])
def test_variables_get_their_gradients(wrap: Any) -> None:
    v = wg.Variable([1.0, 2.0], name="v")
    w = wg.Variable([3.0, 4.0], name="w", trainable=False)
    f = wg.recompute_grad(lambda x: wg.sum(wg.exp(v * x) * w))
    x = wg.tensor([0.5, 0.25])
    value, grads = wg.variable_grads(wrap(lambda: f(x)))
    close(grads["v"].numpy(), [3 * 0.5 * np.exp(0.5), 4 * 0.25 * np.exp(0.5)])
    assert list(grads) == ["v"]
    close(value.numpy(), 7 * np.exp(0.5))
    twice = wg.grad(lambda s: wg.variable_grads(lambda: f(x * s)).grads["v"], unconnected_gradients="zero")
    plain = wg.grad(lambda s: wg.variable_grads(lambda: wg.sum(wg.exp(v * x * s) * w)).grads["v"])
    close(twice(1.5), plain(1.5))


@every_way
def test_captured_tensors_get_their_gradients(derive: Any) -> None:
    def f(x: Any, w: Any) -> Any:
        y = 2.0 * w
        return wg.recompute_grad(lambda x: wg.exp(x) * y + w)(x)

    close(derive(f, argnums=(0, 1))(0.5, 3.0), (6 * np.exp(0.5), 2 * np.exp(0.5) + 1))
    close(derive(wg.grad(f), argnums=(0, 1))(0.5, 3.0), (6 * np.exp(0.5), 2 * np.exp(0.5)))


def test_wrapped_names_methods() -> None:
    def f(x: Any) -> Any:
        "doc"
        return x

    g = wg.recompute_grad(f)
    assert g.__wrapped__ is f
    assert (g.__name__, g.__doc__) == ("f", "doc")
    assert wg.checkpoint is wg.recompute_grad

    class Layer:
        scale = 3.0

        @wg.recompute_grad
        def apply(self, x: Any) -> Any:
            return x * x * self.scale

    assert wg.grad(Layer().apply)(2.0) == 12.0
    with pytest.raises(TypeError, match="callable"):
        wg.recompute_grad(3)


@pytest.mark.parametrize("push", [pushed, pushed_traced])
def test_forward_mode_through_recomputation(push: Any) -> None:
    f = wg.recompute_grad(lambda x, y: wg.exp(x) * y)
    close(push(f, (0.5, 3.0), (2.0, 1.0)), 7 * np.exp(0.5))
    close(push(f, (0.5, 3.0), (None, 1.0)), np.exp(0.5))
    close(pushed(wg.grad(f), (0.5, 3.0), (1.0, None)), 3 * np.exp(0.5))


@every_way
def test_nested(derive: Any) -> None:
    inner = wg.recompute_grad(lambda x: wg.sin(x) * x)
    outer = wg.recompute_grad(lambda x: wg.exp(inner(x)) + inner(x))
    plain = lambda x: wg.exp(wg.sin(x) * x) + wg.sin(x) * x
    close(derive(outer)(0.7), wg.grad(plain)(0.7))
    close(derive(wg.grad(outer))(0.7), wg.grad(wg.grad(plain))(0.7))


@every_way
def test_inside_and_around_custom_gradients(derive: Any) -> None:
    custom = wg.custom_gradient(lambda x: (x * x, lambda u: 10.0 * u * x))
    assert derive(wg.recompute_grad(lambda x: custom(x) * 2.0))(3.0) == 60.0
    assert derive(wg.grad(wg.recompute_grad(lambda x: custom(x) * 2.0)))(3.0) == 20.0
    kept = wg.recompute_grad(lambda x: wg.exp(x))
    close(derive(wg.custom_gradient(lambda x: (kept(x), lambda u: u * kept(x) * 2.0)))(0.5), 2 * np.exp(0.5))


def test_only_the_inputs_are_kept() -> None:
    inner = []

    @wg.recompute_grad
    def f(x: Any, y: Any) -> Any:
        big = wg.exp(x) * y
        inner.append(weakref.ref(big))
        return wg.sum(big * big)

    x, y = alias(wg.tensor(np.ones(1000))), wg.tensor(2.0)
    tape = Tape([x._key])
    with recording(tape):
        out = f(x, y)
    gc.collect()
    assert inner[0]() is None
    assert [e.op.name for e in tape.entries] == ["custom"]
    kept = [t for t in tape.entries[0].saved if isinstance(t, wg.Tensor)]
    assert {t._key for t in kept} <= {x._key, y._key}
    assert out.shape == ()


def test_a_compiled_backward_pass_computes_again_and_apart() -> None:
    text = wg.function(wg.grad(wg.recompute_grad(lambda x: wg.sum(wg.exp(wg.sin(x)))))).trace(np.ones(3)).to_text()
    assert text.count("= sin(") == 2
    assert text.count("= exp(") == 2
    assert text.index("= custom(") < text.index("= after(") < text.rindex("= sin(")


def test_batches() -> None:
    f = wg.recompute_grad(lambda x, w: wg.sum(wg.exp(x) * w))
    xs, ws = np.arange(6.0).reshape(2, 3) / 6, np.array([2.0, 3.0])
    g = wg.grad(lambda x, w: wg.sum(mapped(f, x, w)), argnums=(0, 1))
    found = g(xs, ws)
    close(found[0], np.exp(xs) * ws[:, None])
    close(found[1], np.exp(xs).sum(1))
    found = g(xs, 2.0)
    close(found[0], np.exp(xs) * 2)
    close(found[1], np.exp(xs).sum())
    close(pushed(lambda x: mapped(f, x, wg.tensor(ws)), (xs,), (np.ones((2, 3)),)), (np.exp(xs) * ws[:, None]).sum(1))


@every_way
def test_structural_zeros_pass_through(derive: Any) -> None:
    log = wg.recompute_grad(lambda x: wg.log(x))
    with np.errstate(all="ignore"):
        found = derive(lambda x: wg.sum(wg.where(x > 0, log(x), 0.0)))(np.array([0.0, 2.0]))
    assert found.tolist() == [0.0, 0.5]


def test_unknown_dimensions() -> None:
    f = wg.recompute_grad(lambda x: wg.sum(wg.exp(x) * wg.ones(x.shape)))
    g = wg.function(wg.grad(f), input_signature=[wg.TensorSpec((None,))])
    h = wg.grad(wg.function(f, input_signature=[wg.TensorSpec((None,))]))
    for n in (2, 5):
        close(g(np.ones(n)), np.exp(np.ones(n)))
        close(h(np.ones(n)), np.exp(np.ones(n)))


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_exceptions_close_everything(kind: Any) -> None:
    for fails_at in (1, 2):
        runs: list[int] = []

        def f(x: Any, runs: list[int] = runs, fails_at: int = fails_at) -> Any:
            runs.append(1)
            if len(runs) == fails_at:
                raise kind
            return x * x

        with pytest.raises(kind):
            wg.grad(wg.recompute_grad(f))(3.0)
        assert STATE.recorders == ()
        assert STATE.reading == ()
        assert STATE.pins is None
        assert STATE.builder is None


def test_lost_gradients_are_refused_in_the_first_run() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return float(x) * x

    with pytest.raises(wg.LostGradientError):
        wg.grad(wg.recompute_grad(f))(3.0)
    assert len(runs) == 1
    assert wg.recompute_grad(f)(3.0) == 9.0


def test_kinds() -> None:
    f = wg.recompute_grad(lambda x: {"a": x * x, "n": None})
    assert isinstance(f(np.ones(2))["a"], np.ndarray)
    assert isinstance(f(wg.tensor(1.0))["a"], wg.Tensor)
    assert f(2.0)["a"] == 4.0


def test_a_repeated_computation_may_have_results_that_nobody_reads_and_that_can_raise():
    def f(x):
        table = wg.sin(x)
        inner = wg.recompute_grad(lambda y: (y * y, table[np.array([1, 0])]))
        return inner(x)[0].sum()

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(wg.grad(wg.function(f))(x), 2 * x)


def test_what_a_compiled_function_assigns_is_not_assigned_again():
    v = wg.Variable(0.0)

    @wg.function
    def f(x):
        v.assign_add(1.0)
        return wg.sin(x) * v

    x = wg.tensor(0.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = wg.recompute_grad(lambda x: f(x) * 2.0)(x)
    v.assign(7.0)  # between the run and its repetition
    assert tape.gradient(y, x).item() == 2.0
    assert v.numpy() == 7.0


SCALE = wg.Variable(2.0, name="scale")
ZERO: Any = {"unconnected_gradients": "zero"}
RULES: dict[str, Any] = {
    "its function": lambda q: wg.custom_gradient(lambda x: (q(x), lambda up: up * 3.0)),
    "its rule": lambda q: wg.custom_gradient(lambda x: (wg.sin(x), lambda up: up * q(x))),
    "its rule, of a Variable": lambda q: wg.custom_gradient(lambda x: (wg.sin(x), lambda up: up * q(x) * SCALE)),
    "its rule, and a Variable in it": lambda q: RULES["its rule"](wg.recompute_grad(lambda y: q(y) * SCALE)),
    "a pullback of it": lambda q: wg.custom_gradient(lambda x: (q(x), lambda up: wg.vjp(q, x)[1](up)[0])),
    "its gradient": lambda q: wg.custom_gradient(lambda x: (q(x), lambda up: up * wg.grad(q)(x))),
    "its jvp": lambda q: wg.custom_gradient(
        lambda x: (wg.sin(x), lambda up: up * q(x)),
        jvp=lambda primals, tangents: (wg.sin(primals[0]), tangents[0] * q(primals[0])),
    ),
}


@pytest.mark.parametrize("where", RULES)
def test_recomputation_in_a_custom_gradient_in_every_mode(where: str) -> None:
    def body(y: Any) -> Any:
        return wg.sin(y) * y

    plain, recomputed = RULES[where](body), RULES[where](wg.recompute_grad(body))
    x, one = np.array(0.7), np.array(1.0)
    ways = {
        "reverse": lambda f: wg.grad(f)(x),
        "reverse, compiled": lambda f: wg.function(wg.grad(f))(x),
        "reverse, of a compiled function": lambda f: wg.grad(wg.function(f))(x),
        "forward": lambda f: wg.jvp(f, (x,), (one,))[1],
        "forward, compiled": lambda f: wg.function(lambda x: wg.jvp(f, (x,), (one,))[1])(x),
        "forward Jacobian": lambda f: wg.jacobian(f, mode="forward")(x),
        "linearized": lambda f: wg.linearize(f, x)[1](one),
        "linearized under grad": lambda f: wg.grad(lambda x: wg.linearize(f, x)[1](one), **ZERO)(x),
        "second order": lambda f: wg.grad(wg.grad(f), **ZERO)(x),
        "batched": lambda f: wg.vmap(wg.grad(f))(np.array([0.7, 0.2])),
    }
    for name, way in ways.items():
        np.testing.assert_allclose(way(recomputed), way(plain), rtol=1e-12, err_msg=name)


def test_a_captured_value_that_leaves_inside_is_refused() -> None:
    with pytest.raises(wg.LostGradientError):
        wg.grad(lambda x: wg.recompute_grad(lambda c: c * float(x))(2.0) + x)(3.0)
