"""What Keras promises of custom gradients, case by case (docs/semantics/custom_gradients.md), under `jax.grad`,
compiled or not; and the functional interface (docs/semantics/functional.md) on JAX arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402  # where JAX is installed

every_way = pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["plain", "jit"])


def derivative(way: Any, f: Callable[..., Any], *values: Any) -> Any:
    """The derivatives in all arguments, as JAX finds them."""
    found = way(jax.grad(lambda *xs: jnp.sum(f(*xs)), argnums=(*range(len(values)),)))(*map(jnp.asarray, values))
    return found[0] if len(values) == 1 else found


def log1pexp(rule: Any) -> Any:
    def f(x: Any) -> Any:
        e = wg.exp(x)
        return wg.log(1 + e), rule(e)

    return wg.custom_gradient(f)


def agnostic(e: Any) -> Any:
    def grad(*args: Any, upstream: Any = None) -> Any:
        upstream = args[0] if upstream is None else upstream
        return upstream * (1 - 1 / (1 + e))

    return grad


def keyword_only(e: Any) -> Any:
    return lambda *args, upstream: upstream * (1 - 1 / (1 + e))


def by_position(e: Any) -> Any:
    return lambda upstream: upstream * (1 - 1 / (1 + e))


@every_way
@pytest.mark.parametrize("rule", [agnostic, by_position, keyword_only], ids=["agnostic", "by position", "keyword only"])
def test_every_form_of_a_gradient_function(rule: Any, way: Any) -> None:
    assert derivative(way, log1pexp(rule), 100.0) == 1.0
    got = derivative(way, log1pexp(rule), [0.0, 1.0, 100.0])
    np.testing.assert_allclose(got, [0.5, 1 / (1 + np.exp(-1.0)), 1.0], rtol=1e-15)  # rounding


@every_way
def test_tuples_and_lists(way: Any) -> None:
    for kind in (tuple, list):
        f = wg.custom_gradient(lambda a, b, kind=kind: (a * b, lambda u: kind([10 * u, 100 * u])))
        assert derivative(way, f, 2.0, 3.0) == (10.0, 100.0)


@every_way
def test_too_few_and_too_many(way: Any) -> None:
    for rule in (lambda u: (u,), lambda u: (u, u, u)):
        with pytest.raises(ValueError, match="wanted 2"):
            derivative(way, wg.custom_gradient(lambda a, b, rule=rule: (a * b, rule)), 2.0, 3.0)


@every_way
def test_none_is_no_contribution(way: Any) -> None:
    assert derivative(way, wg.custom_gradient(lambda a, b: (a * b, lambda u: (None, u))), 2.0, 3.0) == (0.0, 1.0)
    assert derivative(way, wg.custom_gradient(lambda a: (a * 2, lambda u: None)), 2.0) == 0.0


@every_way
def test_two_outputs(way: Any) -> None:
    f = wg.custom_gradient(lambda a: ((a, 3 * a), lambda da, db: 10 * da + 100 * db))
    assert derivative(way, lambda a: f(a)[1], 2.0) == 100.0
    assert derivative(way, lambda a: f(a)[0] + f(a)[1], 2.0) == 110.0


@every_way
def test_dicts(way: Any) -> None:
    f = wg.custom_gradient(lambda d: (d["a"] * d["b"], lambda u: {"a": 5 * u, "b": 7 * u}))
    assert way(jax.grad(f))({"a": 2.0, "b": 3.0}) == {"a": 5.0, "b": 7.0}


@every_way
def test_keywords_and_numbers(way: Any) -> None:
    @wg.custom_gradient
    def f(x: Any, scale: Any = 1.0) -> Any:
        return x * scale, lambda u: 7 * u

    assert derivative(way, lambda x: f(x, scale=3.0), 2.0) == 7.0
    g = wg.custom_gradient(lambda x, k: (x * k, lambda u: (u * 9, None)))
    assert derivative(way, lambda x: g(x, 3.0), 2.0) == 9.0


@every_way
def test_no_pair_and_an_error_forward(way: Any) -> None:
    with pytest.raises(TypeError, match="pair"):
        derivative(way, wg.custom_gradient(lambda x: x * 2), 2.0)
    calls: list[int] = []

    @wg.custom_gradient
    def broken(x: Any) -> Any:
        calls.append(1)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        derivative(way, broken, 2.0)
    assert len(calls) == 1


@every_way
def test_second_order(way: Any) -> None:
    def by_output(x: Any) -> Any:
        y = x * x
        return y, lambda u: u * y

    def slope(f: Any) -> Any:
        return way(jax.grad(jax.grad(wg.custom_gradient(f))))(3.0)

    assert slope(lambda x: (x * x, lambda u: 10 * u * x)) == 10.0
    assert slope(by_output) == 6.0
    assert slope(lambda x: (x * x, lambda *args, upstream: upstream * args[0] * args[0])) == 6.0


@every_way
def test_variables_and_captured_arrays(way: Any) -> None:
    v = wg.Variable(2.0)
    f = wg.custom_gradient(lambda x, w: (x * w, lambda u: (u * 3, u * 5)))
    assert way(jax.grad(lambda x: f(x, v).native))(2.0) == 3.0

    def captures(x: Any, w: Any) -> Any:
        return wg.custom_gradient(lambda x: (x * wg.tensor(w), lambda u: u * 7))(x)

    # the rule is told of x only: nothing would answer for w
    with pytest.raises(wg.DisconnectedError, match=r"depends on w \(shape \(\), float64\)"):
        derivative(way, captures, 2.0, 5.0)
    assert derivative(way, lambda x: captures(x, jnp.asarray(5.0)), 2.0) == 7.0


@every_way
def test_what_a_gradient_must_be(way: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        derivative(way, wg.custom_gradient(lambda x: (x * 2, lambda u: np.ones(5))), 2.0)
    with pytest.raises(TypeError, match="dtype"):
        derivative(way, wg.custom_gradient(lambda x: (x * 2, lambda u: np.float16(1.0))), 2.0)
    assert derivative(way, wg.custom_gradient(lambda x: (x * 2, lambda u: 7.0)), 2.0) == 7.0
    f = wg.custom_gradient(lambda x, n: (x * n, lambda u: (u * 4, None)))
    assert derivative(way, lambda x: f(x, jnp.asarray(3)), 2.0) == 4.0


def test_forward_mode_and_symbols() -> None:
    f = wg.custom_gradient(lambda x: (x * x, lambda u: 10 * u * x))
    assert jax.jvp(f, (3.0,), (1.0,))[1] == 30.0
    assert jax.jit(lambda x: jax.jvp(f, (x,), (x,))[1])(3.0) == 90.0
    with_jvp = wg.custom_gradient(
        lambda x: (x * x, lambda u: 10 * u * x), jvp=lambda primals, tangents: (primals[0] ** 2, 7 * tangents[0])
    )
    assert with_jvp(jnp.asarray(3.0)) == 9.0
    assert jax.eval_shape(f, jax.ShapeDtypeStruct((2, 3), jnp.float32)).shape == (2, 3)


@every_way
def test_rows_of_custom_grad(way: Any) -> None:
    f = wg.custom_grad(lambda x, save: (x * x, lambda dy, saved: dy * abs(save([x]) or x)))
    np.testing.assert_array_equal(derivative(way, f, [-1.0, -2.0, 3.0]), [1.0, 2.0, 3.0])
    same = wg.custom_grad(lambda x, save: (x, lambda dy, saved: 9 * dy))
    np.testing.assert_array_equal(derivative(way, same, [-1.0, -2.0, 3.0]), [9.0] * 3)


# -- the functional interface --------------------------------------------------------------------------------------------


def same(got: Any, want: Any) -> None:
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, want)


X = jnp.asarray([2.0, 3.0])


def test_values_of_the_functional_examples() -> None:
    same(wg.grad(lambda x: x**2)(X), [4, 6])
    same(wg.grad(wg.grad(lambda x: x**3))(X), [12, 18])
    da, db = wg.grads(lambda a, b: a * b)([X, -X])
    same(da, [-2, -3])
    same(db, [2, 3])
    found = wg.value_and_grad(lambda x: x**2)(X)
    same(found.value, [4, 9])
    same(found.grad, [4, 6])
    both = wg.value_and_grads(lambda a, b: a * b)([X, -X])
    same(both.value, [-4, -9])
    same(both.grads[1], [2, 3])
    a, b = wg.Variable(jnp.asarray([3.0, 4.0]), name="a"), wg.Variable(jnp.asarray([5.0, 6.0]), name="b")
    x = jnp.asarray([1.0, 2.0])
    value, slopes = wg.variable_grads(lambda: wg.sum(a * x * x + b * x))
    assert float(value) == 36
    same(slopes["a"].native, [1, 4])
    same(slopes["b"].native, [1, 2])


def test_sums_weights_and_reuse() -> None:
    gradient = wg.grad(lambda x: x**2)
    same(gradient(X), [4, 6])
    same(gradient(X, dy=jnp.asarray([10.0, 100.0])), [40, 600])
    same(gradient(X, dy=[10.0, 100.0]), [40, 600])
    for dy in (jnp.ones(1), 10.0, jnp.ones(3)):  # checked first, and never broadcast
        with pytest.raises(ValueError, match="dy"):
            gradient(X, dy=dy)


def test_what_f_gives() -> None:
    with pytest.raises(TypeError, match="tensor"):
        wg.grad(lambda x: "no")(X)
    with pytest.raises(wg.DisconnectedError):
        wg.grad(lambda x: jnp.ones(2))(X)
    with pytest.raises(wg.DisconnectedError, match="b"):
        wg.grads(lambda a, b: a * a)([X, X])
    same(wg.grad(lambda x: x)(X), [1, 1])  # decision 4
    same(wg.grad(wg.grad(lambda x: 3 * x))(X), [0, 0])  # decision 3
    with pytest.raises(TypeError, match="int"):
        wg.grad(lambda x: x * x)(jnp.arange(3))


def test_broadcasts_unused_outputs_python_loops_and_third_order() -> None:
    da, db = wg.grads(lambda a, b: a * b)([jnp.asarray(2.0), jnp.asarray([3.0, 4.0])])
    same(da, 7)
    same(db, [2, 2])
    same(wg.grad(lambda x: wg.split(x, 2)[1] * 2)(X), [0, 2])
    same(wg.grad(lambda x: wg.take(x, np.array([0, 0, 2])))(jnp.ones(3)), [2, 0, 1])

    def squared_until_100(x: Any) -> Any:
        while x < 100:
            x = x * x
        return x

    same(wg.grad(squared_until_100)(jnp.asarray(2.0)), 8 * 2.0**7)
    same(wg.grad(wg.grad(wg.grad(lambda x: x**3)))(jnp.asarray(1.0)), 6)


def test_an_error_leaves_nothing_open() -> None:
    def f(x: Any) -> Any:
        raise ZeroDivisionError

    for gradient in (wg.grad(f), jax.jit(wg.grad(f)), jax.grad(wg.function(f))):
        with pytest.raises(ZeroDivisionError):
            gradient(X)
    same(wg.grad(lambda x: x**2)(X), [4, 6])


# -- JAX's own state -----------------------------------------------------------------------------------------------------


def test_nothing_of_jaxs_settings_changes() -> None:
    """By whatever is used of Wengert: what `jax.config` holds, and JAX's answers, stay."""
    code = """
import jax, jax.numpy as jnp
before = dict(jax.config.values)
import wengert as wg
x = jnp.arange(3.0)
wg.grad(lambda x: wg.while_loop(lambda v: v.sum() < 50, lambda v: v * 2 + 1, x).sum())(x)
wg.function(wg.hessian(lambda x: wg.sum(x**3)))(x)
jax.jit(jax.grad(wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: c * c, x).sum())))(x)
jax.vmap(wg.custom_gradient(lambda x: (x, lambda u: u)))(x)
wg.from_jax(jnp.sin)(x)
assert dict(jax.config.values) == before
assert x.dtype == jnp.float32 and jnp.asarray(1.0).dtype == jnp.float32
"""
    environment = {k: v for k, v in os.environ.items() if k != "JAX_ENABLE_X64"} | {
        "PYTHONPATH": os.pathsep.join(sys.path)
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_differentiated_call_is_one_operation_and_its_derivative() -> None:
    f = wg.custom_gradient(lambda x: (x * x, lambda upstream: upstream * x * 10))
    x = jnp.ones(3)
    traced = jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (x,)))(x)
    assert [str(e.primitive) for e in traced.jaxpr.eqns] == ["wengert", "wengert_linear"]
    pulled = jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(x)
    names = [str(e.primitive) for e in pulled.jaxpr.eqns]
    assert names.count("wengert") == 2 and "convert_element_type" not in names  # forwards and backwards


def test_keywords_that_the_rule_cannot_know_are_constants_or_refused() -> None:
    f = wg.custom_gradient(lambda x, *, w: (x * w, lambda upstream: upstream * 3.0))
    x, w = jnp.asarray(2.0), jnp.asarray(1.5)
    for way in (lambda g: g, jax.jit):
        assert way(lambda x, w: f(x, w=w))(x, w) == 3.0
        assert way(jax.grad(lambda x, w: f(x, w=w)))(x, w) == 3.0
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            way(jax.grad(lambda w, x: f(x, w=w)))(w, x)
