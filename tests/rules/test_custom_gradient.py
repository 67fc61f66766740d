"""`custom_gradient`: TensorFlow's and Keras's, in the form that docs/semantics/custom_gradients.md gives it, in eager
and traced programs and both modes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.modes import every_way, graph_of, mapped, pushed, pushed_traced
from tests.support.profiled import growth_of_calls
from wengert._core.state import STATE, recording
from wengert._passes import optimise
from wengert._transforms.forward import Tangents
from wengert._transforms.replay import replay


def rule(value: Any, gradient: Any) -> Any:
    """A function of x with `value(x)` and the rule `gradient(upstream, x)`."""

    @wg.custom_gradient
    def f(x: Any) -> Any:
        return value(x), lambda upstream: gradient(upstream, x)

    return f


square10 = rule(lambda x: x * x, lambda u, x: 10.0 * u * x)


@wg.custom_gradient
def log1pexp(x: Any) -> Any:
    e = wg.exp(x)
    return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


@wg.custom_gradient
def agnostic(x: Any) -> Any:
    e = wg.exp(x)

    def grad(*args: Any, upstream: Any = None) -> Any:
        if upstream is None:
            (upstream,) = args
        return upstream * (1 - 1 / (1 + e))

    return wg.log(1 + e), grad


# -- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:overflow encountered")
@every_way
def test_the_rule_replaces_the_natural_derivative(derive: Any) -> None:
    x = np.float32(100.0)
    assert log1pexp(x) == np.inf
    assert derive(log1pexp)(x) == 1.0
    assert np.isnan(wg.grad(lambda x: wg.log(1 + wg.exp(x)))(x))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@every_way
def test_the_form_that_suits_every_backend(derive: Any) -> None:
    x = np.array([0.0, 1.0, 1000.0])
    np.testing.assert_allclose(derive(agnostic)(x), [0.5, 0.7310585786300049, 1.0], rtol=1e-15)


@every_way
def test_composition_and_several_inputs(derive: Any) -> None:
    triple = rule(lambda x: x, lambda u, x: 3.0 * u)
    assert derive(lambda x: triple(triple(x)))(2.0) == 9.0

    @wg.custom_gradient
    def swapped(x: Any, y: Any) -> Any:
        return x * y, lambda u: (u * x, u * y)

    assert derive(swapped, argnums=(0, 1))(3.0, 5.0) == (3.0, 5.0)


@every_way
def test_r_value(derive: Any) -> None:
    assert square10(3.0) == 9.0
    assert derive(square10)(3.0) == 30.0


def test_methods_parentheses_names() -> None:
    class Layer:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @wg.custom_gradient
        def bare(self, x: Any) -> Any:
            "doc of bare"
            return x * self.scale, lambda u: u * 7.0

        @wg.custom_gradient()
        def called(self, x: Any, y: Any) -> Any:
            return x * y, lambda u: (u * self.scale, u)

    layer = Layer(2.0)
    assert layer.bare(3.0) == 6.0
    assert wg.grad(layer.bare)(3.0) == 7.0
    assert wg.grad(wg.function(layer.bare))(3.0) == 7.0
    assert wg.grad(layer.called, argnums=(0, 1))(3.0, 4.0) == (2.0, 1.0)
    assert Layer.bare(layer, 3.0) == 6.0
    assert layer.bare.__name__ == "bare"
    assert layer.bare.__doc__ == "doc of bare"
    assert callable(Layer.bare.__wrapped__)
    with pytest.raises(TypeError, match="must be callable"):
        wg.custom_gradient(3)


def test_wrapping_it_copies_nothing_of_its_own() -> None:
    @functools.wraps(square10)
    def twice(x: Any) -> Any:
        return 2 * square10(x)

    assert wg.grad(twice)(3.0) == 60.0
    assert wg.grad(wg.function(square10))(3.0) == 30.0


def test_the_rule_is_called_once_a_request_and_not_at_all_if_unused() -> None:
    calls = []
    f = rule(lambda x: x * x, lambda u, x: calls.append(1) or u)
    assert f(3.0) == 9.0
    wg.grad(lambda x: f(x) * 0 + x, unconnected_gradients="zero")(3.0)
    assert len(calls) == 1
    wg.grad(lambda x: (f(x), x)[1])(3.0)
    assert len(calls) == 1
    g = wg.grad(f)
    g(1.0), g(1.0)
    assert len(calls) == 3


@pytest.mark.parametrize(("pick", "expected"), [((0, 1), 100.0), ((1, 1), 110.0)])
@every_way
def test_unused_outputs_have_zero_upstreams(derive: Any, pick: Any, expected: float) -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        return (x, x * x), lambda da, db: 10.0 * da + 100.0 * db

    def total(x: Any) -> Any:
        outputs = f(x)
        return sum((o for o, p in zip(outputs, pick, strict=True) if p), start=0.0)

    assert derive(total)(3.0) == expected


@every_way
def test_integer_outputs_have_integer_zeros(derive: Any) -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        def grad(du: Any, dn: Any) -> Any:
            assert dn.dtype == np.int64
            assert dn.shape == (2,)
            return 3.0 * du

        return (x, wg.tensor([1, 2])), grad

    assert derive(lambda x: f(x)[0])(3.0) == 3.0


@every_way
def test_nested_inputs_and_outputs(derive: Any) -> None:
    def linear(form: Any) -> Any:
        @wg.custom_gradient
        def f(p: Any) -> Any:
            return {"s": p["a"] + p["b"], "t": p["a"]}, lambda ds, dt: form(5.0 * ds + dt, 7.0 * ds)

        return lambda p: f(p)["s"]

    p = {"a": 1.0, "b": 2.0}
    forms = (lambda a, b: {"b": b, "a": a}, lambda a, b: [a, b], lambda a, b: (a, b), lambda a, b: [{"a": a, "b": b}])
    for form in forms:
        assert derive(linear(form))(p) == {"a": 5.0, "b": 7.0}

    @wg.custom_gradient
    def one_upstream(p: Any) -> Any:
        return {"s": p["a"], "t": p["b"]}, lambda d: d

    with pytest.raises(TypeError):
        derive(lambda p: one_upstream(p)["s"])(p)


@every_way
def test_none_is_no_contribution(derive: Any) -> None:
    nothing = rule(lambda x: x * x, lambda u, x: None)
    assert derive(lambda x: nothing(x) + x)(3.0) == 1.0
    with pytest.raises(wg.DisconnectedError):
        derive(nothing)(3.0)

    @wg.custom_gradient
    def second(x: Any, y: Any) -> Any:
        return x * y, lambda u: (None, u)

    assert derive(second, argnums=(0, 1), unconnected_gradients="zero")(3.0, 5.0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("returned", "error", "says"),
    [
        (lambda u: (u,), ValueError, "1 gradient"),
        (lambda u: [u, u, u], ValueError, "3 gradients"),
        (lambda u: u, ValueError, "wanted 2"),
        (lambda u: (u, wg.tensor([1.0, 1.0])), ValueError, r"shape \(2,\), wanted \(\)"),
        (lambda u: (u, np.ones(5)), ValueError, "shape"),
        (lambda u: (np.float32(1.0), u), TypeError, "float32, wanted float64"),
        (lambda u: (u, 1j), TypeError, "complex128"),
        (lambda u: (u, "one"), TypeError, "not an array"),
    ],
)
@every_way
def test_what_it_returns_is_checked(derive: Any, returned: Any, error: Any, says: str) -> None:
    f = wg.custom_gradient(lambda x, y: (x * y, returned))
    with pytest.raises(error, match=says):
        derive(f, argnums=(0, 1))(np.float64(3.0), np.float64(5.0))


@every_way
def test_numbers_are_converted_never_broadcast(derive: Any) -> None:
    seven = rule(lambda x: x * x, lambda u, x: 7.0)
    assert derive(seven)(np.float32(3.0)) == 7.0
    assert derive(seven)(np.float32(3.0)).dtype == np.float32
    with pytest.raises(ValueError, match="wanted"):
        derive(seven)(np.ones(2))


@pytest.mark.parametrize("returned", [lambda x: x, lambda x: (x, x, x), lambda x: (x, 3.0), lambda x: None])
def test_f_must_return_a_pair_and_runs_once(returned: Any) -> None:
    runs = []

    @wg.custom_gradient
    def f(x: Any) -> Any:
        runs.append(1)
        return returned(x)

    for call in (f, wg.grad(f), wg.function(f)):
        with pytest.raises(TypeError, match="pair"):
            call(np.ones(2))
    assert len(runs) == 3


@every_way
def test_exceptions_of_the_rule_are_raised_where_it_is_used(derive: Any) -> None:
    def boom(u: Any, x: Any) -> Any:
        raise RuntimeError("boom")

    f = rule(lambda x: x * x, boom)
    assert wg.function(f)(3.0) == 9.0  # stored, and not raised unless a gradient is asked for
    for _ in range(2):
        with pytest.raises(RuntimeError, match="boom"):
            derive(f)(3.0)


@pytest.mark.parametrize("where", ["f", "rule"])
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
@every_way
def test_no_recorder_stays_open_after_an_exception(derive: Any, kind: Any, where: str) -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        def grad(u: Any) -> Any:
            if where == "rule":
                raise kind
            return u

        if where == "f":
            raise kind
        return x * x, grad

    with pytest.raises(kind):
        derive(f)(3.0)
    assert STATE.recorders == ()
    assert STATE.builder is None
    assert STATE.reading == ()
    assert STATE.pins is None
    assert wg.grad(square10)(3.0) == 30.0


# -- arguments --------------------------------------------------------------------------------------------------------


@wg.custom_gradient
def product(x: Any, y: Any = 2.0) -> Any:
    return x * y, lambda *u: (1000.0 * u[0], 2000.0 * u[0])


@every_way
def test_followed_keywords_count_as_the_arguments_of_their_names(derive: Any) -> None:
    assert derive(lambda x, y: product(x=x, y=y), argnums=(0, 1))(2.0, 3.0) == (1000.0, 2000.0)
    assert derive(lambda x, y: product(x, y=y), argnums=(0, 1))(2.0, 3.0) == (1000.0, 2000.0)


@every_way
def test_keywords_that_the_rule_cannot_know_are_refused(derive: Any) -> None:
    @wg.custom_gradient
    def only(x: Any, *, y: Any) -> Any:
        return x * y, lambda u: u

    @wg.custom_gradient
    def anything(x: Any, **more: Any) -> Any:
        return x * more["y"], lambda u: u

    for f in (only, anything):
        with pytest.raises(TypeError, match=r"y is not the name of a positional argument|its output depends on y "):
            derive(lambda y, f=f: f(1.0, y=y))(3.0)
        assert derive(lambda x, f=f: f(x, y=2.0))(3.0) == 1.0  # a plain keyword is none of the rule's business


@every_way
def test_positional_numbers_count_as_inputs(derive: Any) -> None:
    @wg.custom_gradient
    def scaled(x: Any, scale: Any) -> Any:
        return x * scale, lambda u: (u * scale, None)

    assert derive(lambda x: scaled(x, 3.0))(np.ones(2)).tolist() == [3.0, 3.0]
    assert derive(lambda x: scaled(x, 3))(np.ones(2)).tolist() == [3.0, 3.0]
    short = wg.custom_gradient(lambda x, scale: (x * scale, lambda u: u))
    with pytest.raises(ValueError, match="wanted 2"):
        derive(lambda x: short(x, 3.0))(np.ones(2))


@every_way
def test_one_tensor_twice_gets_both(derive: Any) -> None:
    f = wg.custom_gradient(lambda x, y: (x * y, lambda u: (10.0 * u, 100.0 * u)))
    assert derive(lambda x: f(x, x))(3.0) == 110.0


@every_way
def test_captured_tensors_that_are_differentiated_are_refused(derive: Any) -> None:
    def through(a: Any, x: Any) -> Any:
        return wg.custom_gradient(lambda a: (a * x, lambda u: u * x))(a)

    assert derive(lambda a: through(a, wg.tensor(2.0)))(5.0) == 2.0
    with pytest.raises(wg.DisconnectedError, match="depends on x "):
        derive(through, argnums=(0, 1), unconnected_gradients="zero")(5.0, 2.0)
    with pytest.raises(wg.DisconnectedError, match="depends on x "):  # also if nothing else is followed
        derive(lambda x: through(wg.tensor(5.0), x))(2.0)
    with pytest.raises(wg.DisconnectedError, match="depends on x "):
        derive(lambda x: through(wg.tensor(5.0), x) + 3.0 * x)(2.0)


@every_way
def test_integer_inputs(derive: Any) -> None:
    for given in (lambda u: (u, None), lambda u: (u, wg.tensor(1)), lambda u: (u, 1)):
        f = wg.custom_gradient(lambda x, n, given=given: (x * n, given))
        assert derive(lambda x, f=f: f(x, wg.tensor(3)))(2.0) == 1.0


@every_way
def test_ops_without_a_gradient_inside(derive: Any) -> None:
    f = rule(lambda x: wg.sum(wg.floor(x)), lambda u, x: 2.0 * u * x)
    assert derive(f)(np.array([1.5, 2.5])).tolist() == [3.0, 5.0]


@every_way
def test_the_outer_rule_hides_the_inner(derive: Any) -> None:
    inner = rule(lambda x: x * x, lambda u, x: 100.0 * u)
    outer = rule(lambda x: inner(x), lambda u, x: 7.0 * u)
    assert derive(outer)(3.0) == 7.0


@every_way
def test_constant_outputs_and_no_arguments(derive: Any) -> None:
    three = rule(lambda x: 3.0, lambda u, x: 2.0 * u)
    assert three(1.0) == 3.0
    assert derive(three)(1.0) == 2.0
    fixed = wg.custom_gradient(lambda: (wg.tensor(5.0), lambda u: None))
    assert fixed().item() == 5.0
    assert derive(lambda x: fixed() * x)(2.0) == 5.0


@every_way
def test_an_output_that_is_the_argument_is_not_counted_twice(derive: Any) -> None:
    assert derive(rule(lambda x: x, lambda u, x: 9.0 * u))(3.0) == 9.0


# -- kinds ------------------------------------------------------------------------------------------------------------


def test_the_kind_that_went_in_comes_out() -> None:
    assert isinstance(square10(np.array([1.0, 2.0])), np.ndarray)
    assert isinstance(square10(2.0), np.float64)
    assert isinstance(square10(wg.tensor([1.0, 2.0])), wg.Tensor)
    assert isinstance(square10(wg.Variable([1.0])), wg.Tensor)
    seen = []
    f = rule(lambda x: seen.append(x) or np.asarray([1.0, 2.0]), lambda u, x: seen.append(u) or np.ones(2))
    assert isinstance(f(np.ones(2)), np.ndarray)
    assert wg.grad(f)(np.ones(2)).tolist() == [1.0, 1.0]
    assert all(isinstance(x, wg.Tensor) for x in seen)
    x = np.ones(2)
    y = rule(lambda x: x, lambda u, x: u)(x)
    y[0] = 5.0
    assert x[0] == 1.0


# -- Keras's way ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda seen: lambda *args, upstream: (seen.extend(args), (10.0 * upstream, 100.0 * upstream))[1],
        lambda seen: lambda x, y, upstream: (seen.extend((x, y)), (10.0 * upstream, 100.0 * upstream))[1],
        lambda seen: lambda *args, upstream=None: (seen.extend(args), [10.0 * upstream, 100.0 * upstream])[1],
    ],
)
@every_way
def test_arguments_and_upstream_by_keyword(derive: Any, make: Any) -> None:
    seen: list[Any] = []
    f = wg.custom_gradient(lambda x, y: (x * y, make(seen)))
    assert derive(f, argnums=(0, 1))(3.0, 5.0) == (10.0, 100.0)
    assert len(seen) == 2
    assert all(isinstance(x, wg.Tensor) for x in seen)


@every_way
def test_upstream_alone_is_tensorflows_way(derive: Any) -> None:
    def f(x: Any) -> Any:
        def grad(upstream: Any) -> Any:
            return upstream * 4.0

        return x * x, grad

    assert derive(wg.custom_gradient(f))(3.0) == 4.0


@every_way
def test_several_outputs_give_keras_a_tuple(derive: Any) -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        def grad(*args: Any, upstream: Any = None) -> Any:
            da, db = upstream
            return 10.0 * da + 100.0 * db

        return (x, x * x), grad

    assert derive(lambda x: f(x)[1])(3.0) == 100.0


# -- variables --------------------------------------------------------------------------------------------------------


def affine(grad_fn: Any, v: wg.Variable) -> Any:
    return wg.custom_gradient(lambda x: (x * v, grad_fn))


@pytest.mark.parametrize(
    "grad_fn",
    [
        lambda u, variables=None: (10.0 * u, [100.0 * u for _ in variables]),
        lambda u, *, variables: (10.0 * u, tuple(100.0 * u for _ in variables)),
        lambda u, **more: (10.0 * u, [100.0 * u for _ in more["variables"]]),
    ],
)
def test_trainable_variables(grad_fn: Any) -> None:
    v = wg.Variable(2.0, name="v")
    f = affine(grad_fn, v)
    assert wg.grad(f)(3.0) == 10.0
    assert wg.grad(wg.function(f))(3.0) == 10.0
    assert wg.function(wg.grad(f))(3.0) == 10.0
    value, grads = wg.variable_grads(lambda: f(wg.tensor(3.0)))
    assert value.item() == 6.0
    assert grads["v"].item() == 100.0
    traced = wg.function(lambda: f(wg.tensor(3.0)))
    assert wg.variable_grads(traced).grads["v"].item() == 100.0


def test_a_rule_that_takes_no_variables_is_refused_at_the_call() -> None:
    f = affine(lambda u: u, wg.Variable(2.0, name="kernel"))
    for call in (f, wg.function(f), wg.grad(f)):
        with pytest.raises(TypeError, match=r"variables.*kernel"):
            call(3.0)


def test_variable_gradients_are_counted_and_checked() -> None:
    v = wg.Variable(2.0, name="v")
    for returned, error in [
        (lambda u: (u, []), ValueError), (lambda u: (u, [u, u]), ValueError), (lambda u: u, TypeError),
        (lambda u: (u, [wg.tensor([1.0, 2.0])]), ValueError),
    ]:  # fmt: skip
        f = affine(lambda u, variables, returned=returned: returned(u), v)
        for derive in (wg.grad, lambda f: wg.function(wg.grad(f))):
            with pytest.raises(error):
                derive(f)(3.0)
    for nothing in ([None], None):
        f = affine(lambda u, variables, nothing=nothing: (u, nothing), v)
        assert wg.grad(f)(3.0) == 1.0
        with pytest.raises(ValueError, match="connected"):
            wg.variable_grads(lambda f=f: f(wg.tensor(3.0)))


def test_other_variables_are_none_of_its_business() -> None:
    fixed, argument = wg.Variable(2.0, trainable=False), wg.Variable(5.0, name="argument")
    f = affine(lambda u, variables=None: 3.0 * u if variables is None else 1 / 0, fixed)
    assert wg.grad(f)(3.0) == 3.0
    f = wg.custom_gradient(lambda x: (x * argument, lambda u: 8.0 * u))
    assert wg.variable_grads(lambda: f(argument)).grads["argument"].item() == 8.0


def test_the_polynomial_of_the_documentation() -> None:
    w = wg.Variable([1.0, 1.0], name="w")

    @wg.custom_gradient
    def linear_poly(x: Any) -> Any:
        constant, slope = wg.sum(w * np.array([1.0, 0.0])), wg.sum(w * np.array([0.0, 1.0]))
        poly = slope * x + constant

        def grad(dpoly: Any, variables: Any) -> Any:
            assert variables == [w]
            return dpoly * slope, [wg.stack([wg.sum(dpoly * x), wg.sum(dpoly)])]

        return poly, grad

    x = np.array([1.0, 2.0, 3.0])
    assert linear_poly(x).tolist() == [2.0, 3.0, 4.0]
    assert wg.grad(linear_poly)(x).tolist() == [1.0, 1.0, 1.0]
    grads = wg.variable_grads(lambda: wg.sum(linear_poly(wg.tensor(x)))).grads
    assert grads["w"].numpy().tolist() == [6.0, 3.0]  # the documented rule; the true gradient is [3, 6]


# -- second order and forward mode ------------------------------------------------------------------------------------


@every_way
def test_the_second_derivative_is_that_of_the_rule(derive: Any) -> None:
    assert derive(wg.grad(square10))(3.0) == 10.0

    @wg.custom_gradient
    def by_result(x: Any) -> Any:
        y = x * x
        return y, lambda u: u * y

    assert derive(by_result)(3.0) == 9.0
    assert derive(wg.grad(by_result))(3.0) == 6.0
    recomputed = rule(lambda x: x * x, lambda u, x: u * (x * x))
    assert derive(wg.grad(recomputed))(3.0) == 6.0
    constant = rule(lambda x: x * x, lambda u, x: 5.0 * u)
    assert derive(wg.grad(constant), unconnected_gradients="zero")(3.0) == 0.0


@every_way
def test_the_upstream_is_differentiated_too(derive: Any) -> None:
    # h = f(x)^2: h' = 2 f 10 x, h'' = 2 (10 x)(10 x) + 2 f 10 by the rule
    h = lambda x: square10(x) ** 2
    assert derive(h)(3.0) == 2 * 9 * 30
    assert derive(wg.grad(h))(3.0) == 2 * 30 * 30 + 2 * 9 * 10


@every_way
def test_a_rule_of_the_rule_is_with_respect_to_the_upstream(derive: Any) -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        @wg.custom_gradient
        def grad(u: Any) -> Any:
            return u * x * x * x, lambda uu: 777.0 * uu

        return x * x, grad

    # the inner function captured x, for which its rule does not answer
    with pytest.raises(wg.DisconnectedError, match="depends on x "):
        derive(wg.grad(f), unconnected_gradients="zero")(3.0)
    assert wg.grad(lambda s: wg.grad(f)(wg.tensor(3.0), dy=s))(1.0) == 777.0


@every_way
def test_a_custom_second_derivative(derive: Any) -> None:
    @wg.custom_gradient
    def slope(x: Any) -> Any:
        return 6.0 * x, lambda dd: dd * 50.0

    f = rule(lambda x: 3.0 * x * x, lambda u, x: u * slope(x))
    assert derive(f)(3.0) == 18.0
    assert derive(wg.grad(f))(3.0) == 50.0


@pytest.mark.parametrize("push", [pushed, pushed_traced])
def test_forward_mode_follows_the_rule(push: Any) -> None:
    assert push(square10, (3.0,), (1.0,)) == 30.0
    assert push(lambda x: square10(x) ** 2, (3.0,), (2.0,)) == 2 * 2 * 9 * 30

    @wg.custom_gradient
    def two(x: Any, y: Any) -> Any:
        return {"s": wg.sum(x) * y, "p": x * y}, lambda ds, dp: (3.0 * dp + ds * y, wg.sum(dp))

    x = np.array([1.0, 2.0])
    tangent = push(lambda x, y: two(x, y)["p"], (x, 5.0), (np.array([1.0, 10.0]), 2.0))
    assert tangent.tolist() == [5.0, 32.0]
    assert push(lambda x, y: two(x, y)["s"], (x, 5.0), (np.array([1.0, 10.0]), None)) == 55.0


@pytest.mark.parametrize("push", [pushed, pushed_traced])
def test_a_rule_that_is_not_linear_is_an_error_never_the_natural_derivative(push: Any) -> None:
    for nonlinear in (
        lambda u, x: u * u, lambda u, x: wg.sign(u) * x, lambda u, x: u + 1.0, lambda u, x: wg.tensor(7.0),
        lambda u, x: wg.where(u > 0, u, 2 * u), lambda u, x: wg.stop_gradient(u),
    ):  # fmt: skip
        f = rule(lambda x: x * x, nonlinear)
        with pytest.raises(LookupError, match="f: forward mode needs the rule's transpose"):
            push(f, (3.0,), (1.0,))
        # x does not depend on the sources here
        assert push(lambda x, f=f: f(wg.tensor(3.0)) * x, (3.0,), (1.0,)) == 9.0
    for linear, slope in (
        (lambda u, x: wg.where(x > 0, u, 0.0), 1.0), (lambda u, x: wg.sum(wg.stack([u, wg.zeros(()), -3.0 * u])), -2.0),
        (lambda u, x: u / x, 0.25), (lambda u, x: None, 0.0), (lambda u, x: wg.zeros(()), 0.0),
    ):  # fmt: skip
        assert push(rule(lambda x: x * x, linear), (4.0,), (1.0,)) == slope


LINEAR = {
    "a sum of terms": lambda u, x: sum([u * x, u * x]),
    "a loop": lambda u, x: wg.fori_loop(0, 2, lambda i, c: c + u * x, wg.zeros_like(x)),
    "a loop over u": lambda u, x: wg.fori_loop(0, 1, lambda i, c: c * 2, u) * x,
    "a loop that carries constants": lambda u, x: wg.while_loop(
        lambda i, s, c: i < 2, lambda i, s, c: (i + 1, s, c + s * u), (0, x, wg.zeros_like(u))
    )[2],
    "a scan": lambda u, x: wg.scan(lambda c, e: (c + e * u * x, c), u * 0, np.array([0.5, 1.5]))[0],
    "stacked results": lambda u, x: wg.sum(wg.scan(lambda c, e: (c, c * e), u, np.array([0.5, 1.5]))[1], axis=0) * x,
    "slices of u": lambda u, x: wg.scan(lambda c, e: (c, 2 * e), 0.0, u)[1] * x,
    "a branch": lambda u, x: wg.cond(wg.sum(x) > 0, lambda: 2 * u * x, lambda: wg.zeros_like(x)),
    "nothing, of a function that is constant": lambda u, x: wg.vjp(wg.floor, x)[1](u)[0] + u * 2 * x,
    "a scan's pullback": lambda u, x: wg.vjp(
        lambda x: wg.scan(lambda c, e: (x, c * 0 + e), x * 0, wg.stack([x, x * x]))[1][1], x
    )[1](u)[0],
    "a solve": lambda u, x: wg.linalg.solve(np.diag([0.5, 0.5]), u) * x,
}
FROM_ZERO = {
    "a loop that decays": lambda u, x: wg.fori_loop(0, 3, lambda i, c: c * 0.5 + u * x, wg.zeros_like(x)),
    "a loop that decays by quotients": lambda u, x: wg.fori_loop(0, 3, lambda i, c: c / x - c + u, wg.zeros(2)),
    "a scan backwards": lambda u, x: wg.scan(lambda c, e: (-0.5 * c + e, c + e), 0.0, u, reverse=True)[1] * x,
    "a loop in a loop": lambda u, x: wg.fori_loop(
        0,
        2,
        lambda i, c: wg.fori_loop(0, 2, lambda j, d: d @ np.array([[0.5, 0.1], [0.2, 0.3]]) + u, c) * x,
        wg.zeros_like(u),
    ),
    "a branch in a loop": lambda u, x: wg.fori_loop(
        0,
        3,
        lambda i, c: wg.cond(i > 1, lambda: wg.where(x > 0.3, c, 0.0) + u, lambda: 2.0 * wg.cumsum(c)),
        wg.zeros_like(u),
    ),
    "a function in a loop": lambda u, x: wg.fori_loop(
        0, 2, lambda i, c: wg.function(lambda d: d * x + wg.flip(d))(c) + u, wg.zeros_like(u)
    ),
}
NOT_LINEAR = {
    "1 added": lambda u, x: sum([u * x, u * x], 1.0),
    "1 added in a loop": lambda u, x: wg.fori_loop(0, 2, lambda i, c: c + u * x, wg.ones_like(x)),
    "a constant that comes later": lambda u, x: wg.fori_loop(
        0, 3, lambda i, c: (c[0] * 0.5 + c[1], c[1] * x + i), (u, wg.zeros_like(x))
    )[0],
    "a function of zero": lambda u, x: wg.fori_loop(0, 2, lambda i, c: wg.cos(c) + u, wg.zeros_like(x)),
    "a power of u": lambda u, x: wg.fori_loop(0, 2, lambda i, c: c * u, u),
    "a branch on u": lambda u, x: wg.cond(wg.sum(u) > 0, lambda: 2 * u * x, lambda: u * x),
    "a branch that is constant": lambda u, x: wg.cond(wg.sum(x) > 0, lambda: x, lambda: 2 * u * x),
    "steps that u counts": lambda u, x: wg.while_loop(lambda i, c: i < wg.sum(u) + 3, lambda i, c: (i + 1, c), (0, u))[
        1
    ],
}


def compiled(rule: Any) -> Any:
    return lambda u, x: wg.function(rule)(u, x)


@pytest.mark.parametrize("wrap", [lambda rule: rule, compiled], ids=["as it is", "compiled"])
@pytest.mark.parametrize("name", LINEAR)
def test_rules_that_are_linear_through_programs_are_transposed(name: str, wrap: Any) -> None:
    f = rule(lambda x: x * x, wrap(LINEAR[name]))
    x, dx = np.array([1.0, 3.0]), np.array([1.0, 10.0])
    np.testing.assert_allclose(pushed(f, (x,), (dx,)), 2 * x * dx)
    np.testing.assert_allclose(wg.grad(lambda x: wg.sum(wg.jvp(f, (x,), (dx,))[1]))(x), 2 * dx)


@pytest.mark.parametrize("push", [pushed, pushed_traced])
@pytest.mark.parametrize("wrap", [lambda rule: rule, compiled], ids=["as it is", "compiled"])
@pytest.mark.parametrize("name", FROM_ZERO)
def test_what_is_linear_in_zero_is_zero(name: str, wrap: Any, push: Any) -> None:
    """Sums that loops begin with zeros, and multiply in each step, are linear in what they add up."""
    x, dx, u = np.array([0.4, 0.7]), np.array([0.3, -1.1]), np.array([1.3, 0.6])
    transposed = push(rule(wg.sin, wrap(FROM_ZERO[name])), (x,), (dx,))
    np.testing.assert_allclose(u @ transposed, dx @ FROM_ZERO[name](wg.tensor(u), wg.tensor(x)).numpy(), rtol=1e-13)


@pytest.mark.parametrize("push", [pushed, pushed_traced])
@pytest.mark.parametrize("wrap", [lambda rule: rule, compiled], ids=["as it is", "compiled"])
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_rules_that_are_not_linear_in_programs_are_errors(name: str, wrap: Any, push: Any) -> None:
    f = rule(lambda x: x * x, wrap(NOT_LINEAR[name]))
    with pytest.raises(LookupError, match="f: forward mode needs the rule's transpose"):
        push(f, (np.array([1.0, 3.0]),), (np.array([1.0, 10.0]),))


@pytest.mark.parametrize("layer", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("policy", ["all", 1])
def test_the_backward_pass_through_a_loop_is_a_linear_rule(layer: Any, policy: Any) -> None:
    """A rule that is the pullback of a loop: what its history is read by is linear in cotangents, and is transposed."""

    def f(x: Any) -> Any:
        c, ys = wg.scan(lambda c, e: (wg.sin(c) * e, c * e), x, wg.stack([x, wg.cos(x)]), checkpoint=policy)
        return c + wg.sum(ys, axis=0)

    @wg.custom_gradient
    def ruled(x: Any) -> Any:
        y, pull = wg.vjp(f, x)
        return y, lambda ct: pull(ct)

    x, dx = np.array([0.4, -1.3]), np.array([1.0, 10.0])
    wanted = wg.jvp(f, (x,), (dx,))[1]
    np.testing.assert_allclose(layer(lambda x: wg.jvp(ruled, (x,), (dx,))[1])(x), wanted, rtol=1e-12)


def test_a_rule_that_multiplies_its_upstream_behind_the_backward_pass_of_a_loop_is_not_linear() -> None:
    f = rule(
        lambda x: x * x, lambda u, x: wg.vjp(lambda x: wg.scan(lambda c, e: (c * e, None), x, x)[0], x)[1](u * u)[0]
    )
    for layer in (lambda f: f, wg.function):
        with pytest.raises(LookupError, match="f: forward mode needs the rule's transpose"):
            layer(lambda x: wg.jvp(f, (x,), (x,))[1])(np.array([1.0]))


def test_a_rule_that_takes_numbers_out_is_not_linear() -> None:
    f = rule(lambda x: x * x, lambda u, x: u if u.item() > 1 else 2 * u)
    assert wg.grad(f)(3.0) == 2.0
    with pytest.raises(LookupError, match=r"Tensor\.item"):
        pushed(f, (3.0,), (1.0,))


@pytest.mark.parametrize("push", [pushed, pushed_traced])
def test_jvp_gives_the_forward_rule(push: Any) -> None:
    def with_jvp(tangent: Any) -> Any:
        return wg.custom_gradient(jvp=lambda primals, tangents: (primals[0] * primals[0], tangent(primals, tangents)))(
            lambda x, n=2: (x * x, lambda u: (u * u, None))
        )

    assert push(with_jvp(lambda p, t: 50.0 * t[0] * p[0]), (3.0,), (2.0,)) == 300.0
    assert push(lambda x: with_jvp(lambda p, t: t[0] * p[1])(x, 4), (3.0,), (2.0,)) == 8.0
    assert push(with_jvp(lambda p, t: None), (3.0,), (2.0,)) == 0.0
    with pytest.raises(ValueError, match="tangent of output"):
        push(with_jvp(lambda p, t: wg.ones(3)), (3.0,), (2.0,))
    with pytest.raises(ValueError, match="structure"):
        push(with_jvp(lambda p, t: (t[0], t[0])), (3.0,), (2.0,))
    bad = wg.custom_gradient(jvp=lambda p, t: t[0])(lambda x: (x * x, lambda u: u))
    with pytest.raises(TypeError, match="pair"):
        push(bad, (3.0,), (2.0,))
    with pytest.raises(TypeError, match="jvp"):
        wg.custom_gradient(jvp=3)


def test_forward_over_reverse_and_reverse_over_forward() -> None:
    assert pushed(wg.grad(square10), (3.0,), (1.0,)) == 10.0
    tangent_of_x = wg.tensor(1.0)

    def slope(x: Any) -> Any:
        recorder = Tangents()
        recorder.set(x, tangent_of_x)
        with recording(recorder):
            y = square10(x)
        return recorder.of(y)

    assert wg.grad(slope)(3.0) == 10.0


# -- batches and graphs -----------------------------------------------------------------------------------------------


@wg.custom_gradient
def weighted(x: Any, w: Any) -> Any:
    z = wg.sin(x)
    return wg.sum(x) * w, lambda u: (u * z * w, 5.0 * u * wg.sum(z))


def test_batches_use_the_rule_of_one_example() -> None:
    xs, ws = np.arange(6.0).reshape(2, 3), np.array([2.0, 3.0])
    assert mapped(weighted, xs, ws).numpy().tolist() == [6.0, 36.0]
    found = wg.grad(lambda x, w: wg.sum(mapped(weighted, x, w)), argnums=(0, 1))(xs, ws)
    np.testing.assert_allclose(found[0], np.sin(xs) * ws[:, None])
    np.testing.assert_allclose(found[1], 5.0 * np.sin(xs).sum(1))
    shared = wg.grad(lambda x, w: wg.sum(mapped(weighted, x, w)), argnums=(0, 1))(xs, 2.0)
    np.testing.assert_allclose(shared[0], np.sin(xs) * 2.0)
    np.testing.assert_allclose(shared[1], 5.0 * np.sin(xs).sum())


def test_batches_of_batches_second_order_and_forward() -> None:
    xs = np.arange(6.0).reshape(2, 3)
    twice = lambda x: wg.sum(mapped(lambda row: mapped(square10, row), x))
    assert wg.grad(twice)(xs).tolist() == (10 * xs).tolist()
    once = lambda x: wg.sum(mapped(square10, x))
    assert wg.grad(lambda x: wg.sum(wg.grad(once)(x)))(xs[0]).tolist() == [10.0] * 3
    assert wg.function(wg.grad(once))(xs[1]).tolist() == (10 * xs[1]).tolist()
    tangent = pushed(lambda x, w: mapped(weighted, x, w), (xs, np.array([2.0, 3.0])), (np.ones((2, 3)), np.ones(2)))
    np.testing.assert_allclose(tangent, np.sin(xs).sum(1) * ([7.0, 8.0]))
    # gradients of each example
    each = mapped(lambda x: wg.grad(square10)(x), xs[1])
    assert each.numpy().tolist() == (10 * xs[1]).tolist()


def test_a_replayed_graph_binds_what_the_rule_captured() -> None:
    graph = graph_of(lambda x, w: weighted(x, w) * w, np.ones(3), 1.0)
    f = lambda x, w: replay(graph, [x, w])[0]
    x = np.arange(3.0)
    found = wg.grad(f, argnums=(0, 1))(x, 2.0)
    np.testing.assert_allclose(found[0], np.sin(x) * 4.0)
    np.testing.assert_allclose(found[1], 10.0 * np.sin(x).sum() + 6.0)
    second = wg.grad(lambda x: wg.sum(wg.grad(f)(x, wg.tensor(2.0))))(x)
    np.testing.assert_allclose(second, np.cos(x) * 4.0)


def test_unknown_dimensions_reach_the_rule() -> None:
    total = rule(lambda x: wg.sum(x * x), lambda u, x: u * wg.ones(x.shape))
    f = wg.function(total, input_signature=[wg.TensorSpec((None,))])
    g = wg.function(wg.grad(total), input_signature=[wg.TensorSpec((None,))])
    for n in (2, 5):
        assert f(np.ones(n)) == n
        assert wg.grad(f)(np.full(n, 3.0)).tolist() == [1.0] * n
        assert g(np.full(n, 3.0)).tolist() == [1.0] * n
    assert f.trace_count == 1
    assert g.trace_count == 1


def test_a_rule_that_nothing_asks_for_costs_nothing() -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        costly = wg.exp(wg.sin(x))
        return x * 2, lambda u: u * costly

    names = [node.op.name for node in optimise(wg.function(f).trace(np.ones(3))).nodes]
    assert "exp" not in names
    assert "custom" not in names


def test_a_masked_zero_meets_the_rule_as_a_plain_zero() -> None:
    # the rule's own 0 * inf is the user's; a zero that it hands on stays structural
    passing = rule(lambda x: x, lambda u, x: u)
    f = lambda x: wg.sum(wg.where(x > 0, passing(wg.log(x)), 0.0))
    with np.errstate(all="ignore"):
        assert wg.grad(f)(np.array([0.0, 2.0])).tolist() == [0.0, 0.5]


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)  # two seconds each
@pytest.mark.parametrize("call", [wg.grad(square10), wg.grad(wg.grad(square10)), wg.function(wg.grad(square10))])
def test_calls_leave_nothing_behind(call: Any) -> None:
    x = wg.tensor(3.0)
    assert growth_of_calls(call, x, times=1_000) < 0.02 * 1024


def test_a_python_number_stays_weak() -> None:
    @wg.custom_gradient
    def two(x: Any) -> Any:
        return 2.0, lambda upstream: x * 0

    x = np.ones(3, np.float32)
    seen = []

    def f(x: Any) -> Any:
        y = x * two(x)
        seen.append(np.dtype(y.dtype))
        return wg.sum(y)

    assert type(two(x)) is float
    f(x), f(wg.tensor(x)), wg.grad(f)(x), wg.function(f)(x), wg.grad(wg.function(f))(x)
    wg.recompute_grad(f)(x), wg.grad(wg.recompute_grad(f))(x), wg.function(wg.recompute_grad(f))(x)
    assert {*seen} == {np.dtype("float32")}


def test_a_python_number_that_is_recomputed_stays_weak() -> None:
    x = np.ones(3, np.float32)
    f = lambda x: wg.sum(x * wg.recompute_grad(lambda y: 2.0)(x))
    for value in (f(x), wg.function(f)(x)):
        assert np.asarray(value).dtype == np.float32


def _by_its_own_tangent(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _needs_itself(x), wg.linear_transpose(lambda u: wg.jvp(_needs_itself, (x,), (u,))[1], x)(t)[0]


_needs_itself = wg.custom_gradient(lambda x: (x * 2.0, lambda up: up * 2.0), jvp=_by_its_own_tangent)


@wg.custom_gradient
def _its_own_gradient(x: Any) -> Any:
    return wg.sin(x), lambda up: up * wg.grad(_its_own_gradient)(x)


@wg.custom_grad
def _its_own_way_back(x: Any) -> Any:
    return wg.sin(x), lambda up: up * wg.grad(_its_own_way_back)(x)


@wg.custom_gradient
def _each_others(x: Any) -> Any:
    return wg.sin(x), lambda up: up * wg.grad(_each_others_too)(x)


@wg.custom_gradient
def _each_others_too(x: Any) -> Any:
    return wg.cos(x), lambda up: up * wg.grad(_each_others)(x)


_one = wg.custom_gradient(lambda x: (wg.sin(x), lambda up: up), jvp=lambda x, u: wg.jvp(_other, x, u))
_other = wg.custom_gradient(lambda x: (wg.sin(x), lambda up: up), jvp=lambda x, u: wg.jvp(_one, x, u))


@pytest.mark.parametrize(
    "f", [_its_own_gradient, _its_own_way_back, _each_others], ids=["own", "custom_grad", "mutual"]
)
@pytest.mark.parametrize("layer", [wg.grad, lambda f: wg.function(wg.grad(f)), lambda f: wg.grad(wg.function(f))])
def test_a_gradient_function_that_needs_itself_is_told(f: Any, layer: Any) -> None:
    with pytest.raises(RecursionError, match="gradient function needs the gradient of"):
        layer(f)(1.0)


@pytest.mark.parametrize("layer", [lambda f: f, wg.function], ids=["eager", "compiled"])
def test_tangents_that_need_each_other_are_told(layer: Any) -> None:
    with pytest.raises(RecursionError, match="its jvp needs the derivative"):
        layer(lambda x: wg.jvp(_one, (x,), (1.0,)))(1.0)


def test_a_gradient_function_may_call_others_and_end() -> None:
    @wg.custom_gradient
    def power(x: Any) -> Any:  # x (x - 1) (x - 2) ... as long as that is positive
        if float(wg.stop_gradient(x).numpy()) < 1:
            return x, lambda up: up
        return x * power(x - 1.0), lambda up: up * wg.grad(lambda y: y * power(y - 1.0))(x)

    assert wg.grad(power)(5.5) == 610.125


def _own_transpose(x: Any) -> Any:
    return wg.linear_transpose(_own_transpose, x)(x)[0]


_transposed = wg.custom_gradient(
    lambda x: (x * 2.0, lambda up: up * 2.0),
    jvp=lambda primals, tangents: (primals[0] * 2.0, _own_transpose(tangents[0])),
)


@pytest.mark.parametrize(
    ("f", "cycle"),
    [
        (_needs_itself, "its jvp needs the derivative"),
        (_transposed, "linear_transpose: _own_transpose needs the transpose"),
    ],
    ids=["jvp", "transpose"],
)
def test_a_rule_that_needs_itself_is_told(f: Any, cycle: str) -> None:
    def pushed(x: Any) -> Any:
        return wg.jvp(f, (x,), (1.0,))

    for g in (pushed, wg.function(pushed), wg.function(wg.grad(lambda x: pushed(x)[1]))):
        with pytest.raises(RecursionError, match=cycle):
            g(3.0)
    assert wg.grad(f)(3.0) == 2.0  # nothing is left open


@pytest.mark.parametrize("layer", [lambda f: f, wg.function], ids=["eager", "compiled"])
def test_a_rule_that_is_the_pullback_of_a_constant_function_has_no_tangent(layer: Any) -> None:
    f = wg.custom_gradient(lambda x: (wg.floor(x), lambda ct: wg.vjp(wg.floor, x)[1](ct)))
    x = np.array([1.5, -0.5])
    np.testing.assert_array_equal(layer(lambda x: wg.jvp(f, (x,), (x,))[1])(x), [0.0, 0.0])


@pytest.mark.parametrize("layer", [lambda f: f, wg.function], ids=["eager", "compiled"])
def test_a_recomputed_function_in_a_branch_under_vmap_has_a_tangent(layer: Any) -> None:
    """Its tangent may hold structural zeros, and a batch of it, too."""

    def f(x: Any, y: Any) -> Any:
        branch = lambda c: wg.recompute_grad(lambda u: wg.sin(u) * y)(c)
        return wg.switch(wg.astype(x, "int64"), [branch, lambda c: c * 2.0], x * y)

    x, y = np.array([0.3, 1.2]), np.array(0.7)

    def slope(x: Any) -> Any:
        return wg.jvp(lambda x: wg.vmap(lambda x: f(x, y))(x), (x,), (wg.ones_like(x),))[1]

    np.testing.assert_allclose(layer(slope)(x), [np.cos(0.21) * 0.49, 1.4], rtol=1e-12)


@pytest.mark.parametrize("taken", [lambda c: c.at[0].set(0.0), lambda c: c[[1]], lambda c: wg.ops.flip(c[[1, 1]], 0)])
def test_a_rule_that_puts_rows_among_zeros_is_transposed_in_a_trace(taken: Any) -> None:
    f = wg.custom_gradient(lambda x: (taken(x), lambda up: wg.vjp(taken, x)[1](up)))
    at = np.array([2.0, 3.0])

    def derivative(x: Any) -> Any:
        return wg.jvp(f, (x,), (x,))[1]

    np.testing.assert_array_equal(wg.function(derivative)(at), derivative(at))
    np.testing.assert_array_equal(derivative(at), wg.jvp(taken, (at,), (at,))[1])


def test_a_rule_that_adds_zeros_of_a_loop_without_steps_is_linear() -> None:
    """Traced for a batch, only the loop says that what is added to the upstream gradient's share is zeros."""

    def curvature(c: Any) -> Any:
        return wg.hvp(lambda a: wg.sum(wg.sin(wg.scan(lambda s, _: (a, s), a, None, length=0)[1])), c, c)

    @wg.custom_gradient
    def g(c: Any) -> Any:
        y, pull = wg.vjp(curvature, c)
        return y, lambda upstream: pull(upstream)

    x = np.ones(2)
    np.testing.assert_array_equal(wg.jvp(lambda x: wg.vmap(g)(x), (x,), (x,))[1], [0.0, 0.0])


def _two(f: Any) -> Any:
    return lambda x: (2.5, lambda up: up * 0.0 * wg.ones_like(x) * f)


@pytest.mark.parametrize("layer", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("x", [np.float32(1.0), np.ones(2, np.float32)], ids=["number", "array"])
@pytest.mark.parametrize("made", [
    lambda f: wg.custom_grad(f), lambda f: wg.custom_gradient(f),
    lambda f: wg.custom_gradient(f, jvp=lambda x, u: (2.5, wg.sum(u[0]) * 0.0)),
], ids=["custom_grad", "custom_gradient", "jvp"])  # fmt: skip
def test_a_python_number_that_is_returned_stays_weak(made: Any, x: Any, layer: Any) -> None:
    k = made(_two(1.0))

    def f(x: Any) -> Any:
        return wg.sum(k(x) * wg.ones_like(x) + x)

    assert layer(lambda x: k(x) * np.ones(2, np.float32))(x).dtype == np.float32
    value, gradient = layer(wg.value_and_grad(f))(x)
    assert value.dtype == gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, np.ones_like(x))
    value, tangent = layer(lambda x: wg.jvp(f, (x,), (x,)))(x)
    assert value.dtype == tangent.dtype == np.float32
    assert layer(wg.vmap(lambda y: k(y) * y))(np.stack([x, x])).dtype == np.float32
