"""`primitive`, `register_gradient`, `not_differentiable`: a user's op in every mode, and the errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import move
from wengert._core.graph import Graph
from wengert._core.state import recording
from wengert._transforms.batch import batch
from wengert._transforms.forward import Tangents

X = np.array([0.5, 1.0, 2.0])
_count = itertools.count()


def fresh_name(stem: str) -> str:
    """Names are for the whole process."""
    return f"test_{stem}_{next(_count)}"


def saxpy(**rules):
    return wg.primitive(
        fresh_name("saxpy"), spec=lambda x, y, *, a=1.0: x, numpy=lambda x, y, *, a=1.0: a * x * x + y, **rules
    )


def vjp(ct, out, x, y, *, a=1.0):
    return ct * 2 * a * x, ct


def jvp(tangents, out, x, y, *, a=1.0):
    dx, dy = tangents
    return 2 * a * x * dx + dy


def test_values_kinds_and_attributes():
    op = saxpy()
    assert op(X, X, a=3.0).tolist() == (3 * X * X + X).tolist()
    assert type(op(wg.tensor(X), X)) is wg.Tensor
    assert type(op(2.0, 1.0)) is np.float64
    assert op(move(wg.tensor(X), "python"), X).engine == "python"


def test_reverse_second_order_and_compiled():
    op = saxpy(vjp=vjp)
    f = lambda x: wg.sum(op(x, x, a=3.0) * x)
    expected = wg.grad(lambda x: wg.sum((3.0 * x * x + x) * x))
    np.testing.assert_allclose(wg.grad(f)(X), expected(X))
    np.testing.assert_allclose(wg.function(wg.grad(f))(X), expected(X))
    np.testing.assert_allclose(wg.grad(wg.function(f))(X), expected(X))
    second = lambda g: wg.grad(lambda x: wg.sum(g(x) * x))
    np.testing.assert_allclose(second(wg.grad(f))(X), second(expected)(X))


def test_forward():
    op = saxpy(jvp=jvp)
    x = wg.tensor(X)
    tangents = Tangents()
    with recording(tangents):
        tangents.set(x, wg.ones(3))
        y = op(x, X, a=2.0)
    np.testing.assert_allclose(tangents.of(y).numpy(), 4.0 * X)


@pytest.mark.parametrize("rule", [None, lambda inputs, batched, *, a: a * inputs[0] ** 2 + inputs[1]])
def test_batches(rule):
    op = saxpy(batch=rule)
    graph = Graph()
    with graph.as_default():
        x, y = graph.add_input((3,), np.dtype(float)), graph.add_input((3,), np.dtype(float))
        out = op(x, y, a=2.0)
        graph.finish([out])
    rows = np.arange(12.0).reshape(4, 3)
    (found,) = batch(graph, [wg.tensor(rows), wg.tensor(X)], [True, False], 4)
    np.testing.assert_allclose(found.numpy(), 2.0 * rows**2 + X)


def test_without_rules_a_gradient_is_a_lookup_error_that_names_the_op():
    name = fresh_name("bare")
    op = wg.primitive(name, spec=lambda x: x, numpy=np.cos)
    assert op(0.0) == 1.0
    with pytest.raises(LookupError, match=name):
        wg.grad(op)(1.0)


def test_register_gradient_sees_inputs_outputs_and_attributes():
    name = fresh_name("power")
    op = wg.primitive(name, spec=lambda x, *, n: x, numpy=lambda x, *, n: x**n)

    @wg.register_gradient(name)
    def rule(node, upstream):
        assert node.outputs[0].shape == node.inputs[0].shape
        return upstream * node.attrs["n"] * node.inputs[0] ** (node.attrs["n"] - 1)

    assert wg.grad(lambda x: op(x, n=3))(2.0) == 12.0
    with pytest.raises(KeyError, match=name):
        wg.register_gradient(name)
    with pytest.raises(KeyError, match="sin"):
        wg.register_gradient("sin")


def test_not_differentiable_cuts_the_path_and_says_so():
    name = fresh_name("cut")
    op = wg.primitive(name, spec=lambda x: x, numpy=np.copy)
    wg.not_differentiable(name)
    assert wg.grad(lambda x: op(x) * x)(3.0) == 3.0
    with pytest.raises(wg.DisconnectedError, match=name):
        wg.grad(op)(3.0)
    with pytest.raises(KeyError):
        wg.not_differentiable(name)


def test_a_function_given_for_an_engine_is_its_kernel():
    from wengert._core.engine import HOST_KERNELS, Engine

    name = fresh_name("given")
    wg.primitive(name, spec=lambda x: x, numpy=lambda x: x, jax=lambda x, *, a: (x, a))
    for_jax = HOST_KERNELS[name](Engine("jax", (), to_numpy=np.asarray, from_numpy=np.asarray))
    assert for_jax(5, (("a", 2),)) == (5, 2)


def test_errors():
    with pytest.raises(KeyError, match="sin"):
        wg.primitive("sin", spec=lambda x: x, numpy=np.sin)
    with pytest.raises(TypeError, match="spec"):
        wg.primitive(fresh_name("x"), spec=None, numpy=np.sin)
    with pytest.raises(LookupError, match="did you mean"):
        wg.register_gradient("sinn")
    with pytest.raises(TypeError, match="string"):
        wg.not_differentiable(3)
    wrong = wg.primitive(fresh_name("wrong"), spec=lambda x: x, numpy=lambda x: x[:1])
    with pytest.raises(TypeError, match=r"shape \(1,\).*shape \(3,\)"):
        wrong(X)
    short = wg.primitive(fresh_name("short"), spec=lambda x, y: x, numpy=np.add, vjp=lambda ct, out, x, y: (ct,))
    with pytest.raises(ValueError, match="2 inputs, got 1"):
        wg.grad(short)(1.0, 2.0)


def test_a_rule_that_gives_none_is_named():
    """As of a `return` that was forgotten: the op is on the path, and its gradient leads nowhere."""
    name = fresh_name("forgotten")
    op = wg.primitive(name, spec=lambda x: x, numpy=np.sin, vjp=lambda ct, out, x: None)
    for made in (lambda f: f, wg.function):
        with pytest.raises(wg.DisconnectedError, match=f"the custom gradient of the op {name} gives None") as caught:
            made(wg.grad(lambda x: wg.sum(2.0 * op(x))))(np.ones(3))
        assert "does not depend differentiably on x" in str(caught.value)
        assert "tests/rules/test_extend.py" in str(caught.value)


def test_an_op_may_bear_any_name_in_a_function_too() -> None:
    f = wg.primitive(
        fresh_name("any name: 2-fold"), spec=lambda x: x, numpy=lambda x: 2 * x, vjp=lambda ct, out, x: 2 * ct
    )
    g = wg.primitive(
        fresh_name("any name; 2-fold"), spec=lambda x: x, numpy=lambda x: 3 * x, vjp=lambda ct, out, x: 3 * ct
    )
    compiled = wg.function(wg.value_and_grad(lambda x: (f(x) * g(x)).sum()))
    np.testing.assert_allclose(compiled(np.ones(2)).grad, [12.0, 12.0])
