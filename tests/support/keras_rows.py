"""Custom gradients of ours in Keras, one source for every backend: `python tests/support/keras_rows.py` with KERAS_BACKEND set.

Each function is a case of what Keras's own custom gradient does differently on its backends
(docs/semantics/custom_gradients.md), with the one right answer, or a model that trains. Prints a line of
JSON: the name of each and "ok", or what was wrong.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import itertools
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wn

BACKEND = keras.backend.backend()
ROWS: dict[str, Callable[[], None]] = {}


def row(f: Callable[[], None]) -> Callable[[], None]:
    ROWS[f.__name__] = f
    return f


def array(x: Any, dtype: str = "float32") -> Any:
    """An array of the backend."""
    return keras.ops.convert_to_tensor(np.asarray(x, dtype))


def gradients(f: Callable[..., Any], *xs: Any) -> list[Any]:
    """The backend's own gradients of the sum of f(*xs); None, where the backend can say so, for no gradient."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch([x for x in xs if not isinstance(x, keras.Variable)])
            y = tf.reduce_sum(f(*xs))
        return tape.gradient(y, [x.value if isinstance(x, keras.Variable) else x for x in xs])
    if BACKEND == "jax":
        import jax

        places = [i for i, x in enumerate(xs) if "float" in str(x.dtype)]

        def of_floats(*floats: Any) -> Any:
            args = [*xs]
            for i, v in zip(places, floats, strict=True):
                args[i] = v
            return f(*args).sum()

        found = jax.grad(of_floats, (*range(len(places)),))(*[xs[i] for i in places])
        return [found[places.index(i)] if i in places else None for i in range(len(xs))]
    import torch

    leaves = [x.value if isinstance(x, keras.Variable) else x.clone() for x in xs]
    for x in leaves:
        if x.dtype.is_floating_point:
            x.requires_grad_(True)
    wanted = [x for x in leaves if x.requires_grad]
    found = iter(torch.autograd.grad(f(*leaves).sum(), wanted, allow_unused=True))
    return [next(found) if x.requires_grad else None for x in leaves]


def second(f: Callable[[Any], Any], x: Any) -> Any:
    """The second derivative, by the backend."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope = tape.gradient(y, x)
        return outer.gradient(slope, x)
    if BACKEND == "jax":
        import jax

        return jax.grad(jax.grad(f))(x)
    import torch

    x = x.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(slope, x)[0]


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(keras.ops.convert_to_numpy(got), want, rtol=1e-5, atol=1e-6)  # float32


def nothing(got: Any) -> None:
    """No gradient: None, or zeros where the backend knows no None."""
    assert got is None or (BACKEND == "jax" and not np.any(np.asarray(got)))


def refused(kind: type[BaseException], f: Callable[..., Any], *xs: Any) -> None:
    try:
        gradients(f, *xs)
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def with_rule(rule: Callable[..., Any]) -> Callable[[Any], Any]:
    """x * x with a gradient of its own."""
    return wg.custom_gradient(lambda x: (x * x, rule))


# -- what the rule is given ---------------------------------------------------------------------------------------------


@row
def one_cotangent_for_one_output() -> None:
    """One cotangent for one output."""
    seen: list[Any] = []

    @wg.custom_gradient
    def f(x: Any) -> Any:
        def rule(*given: Any) -> Any:
            seen.append(len(given))
            return given[0] * 3

        return x * x, rule

    close(gradients(f, array(2.0))[0], 3.0)
    assert set(seen) == {1}


@row
def the_form_that_suits_every_backend() -> None:
    """The form that works on all of Keras's backends."""

    @wg.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = wg.exp(x)

        def rule(*args: Any, upstream: Any = None) -> Any:
            if upstream is None:
                (upstream,) = args
            return upstream * (1 - 1 / (1 + e))

        return wg.log(1 + e), rule

    close(gradients(log1pexp, array(100.0))[0], 1.0)


@row
def a_rule_of_the_cotangent_alone() -> None:
    close(gradients(with_rule(lambda upstream: upstream * 7), array(2.0))[0], 7.0)


@row
def a_rule_with_the_cotangent_by_keyword() -> None:
    def rule(*args: Any, upstream: Any) -> Any:
        (x,) = args
        return upstream * x * 10

    close(gradients(with_rule(rule), array(2.0))[0], 20.0)


# -- what it gives ------------------------------------------------------------------------------------------------------


def two_inputs(rule: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return wg.custom_gradient(lambda a, b: (a * b, rule))


@row
def a_tuple_of_gradients() -> None:
    found = gradients(two_inputs(lambda up: (up * 10, up * 100)), array(2.0), array(3.0))
    close(found[0], 10.0)
    close(found[1], 100.0)


@row
def a_list_of_gradients() -> None:
    found = gradients(two_inputs(lambda up: [up * 10, up * 100]), array(2.0), array(3.0))
    close(found[0], 10.0)
    close(found[1], 100.0)


@row
def too_few_and_too_many_gradients() -> None:
    refused(ValueError, two_inputs(lambda up: (up,)), array(2.0), array(3.0))
    refused(ValueError, two_inputs(lambda up: (up, up, up)), array(2.0), array(3.0))


@row
def none_for_one_of_two_inputs() -> None:
    found = gradients(two_inputs(lambda up: (None, up)), array(2.0), array(3.0))
    nothing(found[0])
    close(found[1], 1.0)


@row
def none_for_the_only_input() -> None:
    nothing(gradients(with_rule(lambda up: None), array(2.0))[0])


@row
def two_outputs() -> None:
    f = wg.custom_gradient(lambda x: ((x, x * x), lambda da, db: 10 * da + 100 * db))
    close(gradients(lambda x: f(x)[1], array(2.0))[0], 100.0)


@row
def dicts() -> None:
    f = wg.custom_gradient(lambda d: (d["a"] * d["b"], lambda up: (up * 5, up * 7)))
    found = gradients(lambda a, b: f({"a": a, "b": b}), array(2.0), array(3.0))
    close(found[0], 5.0)
    close(found[1], 7.0)


@row
def keyword_arguments() -> None:
    f = wg.custom_gradient(lambda x, scale=1.0: (x * scale, lambda up: up * 4))
    close(f(array(2.0), scale=3.0), 6.0)
    close(gradients(lambda x: f(x, scale=3.0), array(2.0))[0], 4.0)


@row
def numbers_as_arguments() -> None:
    f = wg.custom_gradient(lambda x, scale: (x * scale, lambda up: (up * 4, None)))
    close(gradients(lambda x: f(x, 3.0), array(2.0))[0], 4.0)


@row
def no_pair() -> None:
    refused(TypeError, wg.custom_gradient(lambda x: x * x), array(2.0))


@row
def an_error_in_the_function() -> None:
    calls = []

    @wg.custom_gradient
    def f(x: Any) -> Any:
        calls.append(1)
        raise RuntimeError("no")

    refused(RuntimeError, f, array(2.0))
    assert len(calls) == 1


# -- second order -------------------------------------------------------------------------------------------------------


@row
def second_order() -> None:
    close(second(wg.custom_gradient(lambda x: (x * x, lambda up: 10 * up * x)), array(3.0)), 10.0)


@row
def second_order_through_the_result() -> None:
    """The rule uses the result, u * y: its own derivative is that of y."""

    @wg.custom_gradient
    def f(x: Any) -> Any:
        y = x * x
        return y, lambda up: up * y

    close(second(f, array(3.0)), 6.0)


@row
def second_order_through_the_arguments() -> None:
    def rule(*args: Any, upstream: Any) -> Any:
        return upstream * args[0] * args[0]

    close(second(with_rule(rule), array(3.0)), 6.0)


# -- variables, constants, wrong gradients --------------------------------------------------------------------------------


@row
def variables_as_arguments() -> None:
    v = keras.Variable(np.float32(2.0))
    f = with_rule(lambda up: up * 10)
    close(f(v), 4.0)
    if BACKEND != "jax":  # JAX differentiates arrays: Keras hands it the variables' values
        close(gradients(f, v)[0], 10.0)
    close(gradients(f, v.value if BACKEND == "jax" else array(2.0))[0], 10.0)


@row
def captured_tensors() -> None:
    """What the function takes from outside has no gradient by its rule: where it is followed it is refused by name."""

    def outer(x: Any, w: Any) -> Any:
        f = wg.custom_gradient(lambda t: (t * wg.tensor(w), lambda up: up * 3))
        return f(x)

    refused(wg.DisconnectedError, outer, array(2.0), array(5.0))
    close(gradients(lambda x: outer(x, np.float32(5.0)), array(2.0))[0], 3.0)


@row
def a_gradient_of_another_shape() -> None:
    refused(ValueError, with_rule(lambda up: np.ones(5, np.float32)), array(2.0))


@row
def a_gradient_of_another_dtype() -> None:
    refused(TypeError, with_rule(lambda up: np.float16(1.0)), array(2.0))


@row
def a_number_as_gradient() -> None:
    close(gradients(with_rule(lambda up: 7.0), array(2.0))[0], 7.0)


@row
def integer_inputs() -> None:
    f = wg.custom_gradient(lambda x, i: (x * wg.ops.cast(i, "float32"), lambda up: (up * 6, None)))
    found = gradients(f, array(2.0), array(3, "int32"))
    close(found[0], 6.0)
    assert found[1] is None


@row
def forward_mode() -> None:
    """Forward mode uses the rule, which is linear in its cotangent."""
    f = wg.custom_gradient(lambda x: (x * x, lambda up: 10 * up * x))
    close(wg.jvp(f, (array(3.0),), (array(1.0),))[1], 30.0)
    if BACKEND == "jax":
        import jax

        close(jax.jvp(f, (array(3.0),), (array(1.0),))[1], 30.0)


@row
def the_form_on_a_vector() -> None:
    @wg.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = wg.exp(x)
        return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    close(gradients(log1pexp, array([0.0, 1.0, 100.0]))[0], [0.5, 0.7310586, 1.0])


# -- models ---------------------------------------------------------------------------------------------------------------


@wg.custom_gradient
def straight_through(x: Any) -> Any:
    """Rounds, and passes the gradient as if it did not."""
    return wg.round(x * 4) / 4, lambda upstream: upstream


@wg.custom_grad
def doubled(x: Any, save: Any) -> Any:
    save([x])
    return wg.tanh(x), lambda dy, saved: dy * (1 - wg.tanh(saved[0]) ** 2) * 2


smooth = wg.function(lambda x: wg.log(1 + wg.exp(-wg.abs(x))) + wg.maximum(x, 0.0))
lean = wg.recompute_grad(lambda x, w: wg.tanh(x @ w))
cubic = wg.primitive("keras_cubic", spec=lambda x: x, numpy=lambda x: x**3, vjp=lambda ct, out, x: ct * 3 * x**2)


class Quantised(keras.layers.Layer):
    def __init__(self, units: int, act: Callable[..., Any]) -> None:
        super().__init__()
        self.units = units
        self.act = act

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform")

    def call(self, x: Any) -> Any:
        if self.act is lean:
            return lean(x, self.w)
        return self.act(keras.ops.matmul(x, straight_through(self.w)))


def fitted(act: Callable[..., Any], **options: Any) -> None:
    """A model with a layer of ours learns, the last batch smaller than the others."""
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 4)).astype("float32")
    y = np.tanh(x @ rng.normal(size=(4, 1)).astype("float32"))
    layer = Quantised(8, act)
    model = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(1)])
    before = keras.ops.convert_to_numpy(layer.w) if layer.built else None
    model.compile(keras.optimizers.Adam(0.02), "mse", **options)
    losses = model.fit(x, y, batch_size=32, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0], losses
    assert before is not None
    assert np.abs(keras.ops.convert_to_numpy(layer.w) - before).max() > 1e-3
    close(model.predict(x, verbose=0), keras.ops.convert_to_numpy(model(x)))


@row
def fit_custom_gradient() -> None:
    fitted(straight_through)


@row
def fit_custom_grad() -> None:
    fitted(doubled)


@row
def fit_function() -> None:
    fitted(smooth)


@row
def fit_recompute_grad() -> None:
    fitted(lean)


@row
def fit_a_numpy_kernel() -> None:
    # a call to the host is nothing that XLA could compile
    fitted(cubic, **({"jit_compile": False} if BACKEND == "tensorflow" else {}))


@row
def the_weights_gradient_is_the_rules() -> None:
    layer = Quantised(2, smooth)
    x = array(np.arange(6.0).reshape(2, 3) / 7)
    layer.build(x.shape)
    w = keras.ops.convert_to_numpy(layer.w)
    pushed = smooth_slope(keras.ops.convert_to_numpy(x) @ (np.round(w * 4) / 4))
    want = keras.ops.convert_to_numpy(x).T @ pushed
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x))
        close(tape.gradient(y, layer.trainable_weights[0].value), want)
    elif BACKEND == "jax":
        import jax

        def loss(values: Any) -> Any:
            return layer.stateless_call(values, [], x)[0].sum()

        close(jax.grad(loss)([layer.w.value])[0], want)
    else:
        layer(x).sum().backward()
        close(layer.w.value.grad, want)


def scaled_by(w: Any, with_variables: bool) -> Any:
    """A product with a weight, whose rule gives the weight a hundred times its derivative."""

    @wg.custom_gradient
    def scaled(x: Any) -> Any:
        def full(dy: Any, variables: Any) -> Any:
            return dy * w, [wg.sum(dy * x) * 100.0 for _ in variables]

        return x * w, full if with_variables else lambda dy: dy * w

    return scaled


class Scaled(keras.layers.Layer):
    def __init__(self, with_variables: bool) -> None:
        super().__init__()
        self.with_variables = with_variables

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(), initializer="ones")

    def call(self, x: Any) -> Any:
        return scaled_by(self.w, self.with_variables)(x)


def trained(with_variables: bool, eagerly: bool) -> float:
    """The weight after one step."""
    model = keras.Sequential([keras.Input((1,)), Scaled(with_variables)])
    model.compile(keras.optimizers.SGD(1e-3), "mse", run_eagerly=eagerly)
    model.fit(np.ones((8, 1), "float32"), 3 * np.ones((8, 1), "float32"), epochs=1, verbose=0)
    return float(keras.ops.convert_to_numpy(model.layers[-1].w))


@row
def a_weight_that_is_read_is_trained_by_the_rule() -> None:
    for eagerly in (False, True):
        np.testing.assert_allclose(trained(True, eagerly), 1.0 + 1e-3 * 4.0 * 100.0, rtol=1e-5)


@row
def a_weight_that_is_read_and_not_answered_for_is_refused() -> None:
    for eagerly in (False, True):
        with pytest.raises(TypeError, match="variables"):
            trained(False, eagerly)


@row
def a_function_reads_weights_at_each_call() -> None:
    w = keras.Variable(np.float32(2.0))
    f = wg.function(lambda x: x * w)
    for value in (2.0, 2.0, 5.0):
        w.assign(value)
        assert float(keras.ops.convert_to_numpy(f(array(3.0)))) == 3.0 * value


def smooth_slope(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


DRAWN = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


@wg.custom_gradient
def gated(x: Any) -> Any:
    """x where it is positive; its gradient is ten times that."""
    return np.maximum(x, 0), lambda dy: 10.0 * dy * (x > 0)


@keras.saving.register_keras_serializable("rows")
@wg.custom_gradient
def registered(x: Any) -> Any:
    return np.maximum(x, 0), lambda dy: dy


@wg.function
def squashed(x: Any) -> Any:
    return np.tanh(x)


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.predict(DRAWN, verbose=0), b.predict(DRAWN, verbose=0), rtol=1e-6)


def reloaded(model: Any, custom_objects: Any = None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        return keras.models.load_model(f"{folder}/model.keras", custom_objects=custom_objects)


def _elementwise() -> Iterator[tuple[Callable[..., Any], int, Any]]:
    """Our functions of one or two arrays that give an array of floats of their shape, with what they give."""
    for module in (wg.ops, wg.special):
        for name in module.__all__:
            f = getattr(module, name)
            try:
                count = sum(p.default is p.empty for p in inspect.signature(f).parameters.values())
                with np.errstate(all="ignore"):
                    y = f(*[DRAWN] * count) if count in (1, 2) else None
            except Exception:  # which takes something else than arrays
                continue
            if type(y) is np.ndarray and y.shape == DRAWN.shape and y.dtype == DRAWN.dtype:
                yield f, count, y


# these take constants, give NumPy's arrays or any numbers, take rows apart, or write one array of rows into another
NOT_SYMBOLIC = {"convert_to_numpy", "empty_like", "roll", "stack", "vstack", "slice_scatter"}


@row
def functions_of_arrays_stand_in_models_by_name() -> None:
    x = keras.Input(DRAWN.shape[1:])
    seen = 0
    for f, count, wanted in _elementwise():
        if f.__name__ in NOT_SYMBOLIC:
            continue
        again = keras.models.clone_model(keras.Model(x, f(*[x] * count)))
        found = keras.ops.convert_to_numpy(again(array(DRAWN)))
        np.testing.assert_allclose(found, wanted, rtol=5e-4, atol=1e-5, err_msg=f.__name__)
        seen += 1
    assert seen > 150, seen


@row
def activations_are_saved_loaded_and_cloned() -> None:
    for activation, custom in (
        (gated, {"gated": gated}), (squashed, {"squashed": squashed}), (wg.vmap(squashed), {"vmap(squashed)": squashed}),
        (registered, None),
    ):  # fmt: skip
        layers = [keras.Input((3,)), keras.layers.Dense(4, activation=activation), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        same(reloaded(model, custom), model)
        with keras.saving.custom_object_scope(custom or {}):
            copied = keras.models.clone_model(model)
        copied.set_weights(model.get_weights())
        same(copied, model)


@row
def lambda_layers_hold_our_functions() -> None:
    for function, custom in ((gated, {"gated": gated}), (squashed, {"squashed": squashed})):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(function), keras.layers.Dense(1)])
        same(reloaded(model, custom), model)


@row
def symbolic_tensors_make_an_operation_of_the_model() -> None:
    x, y = keras.Input((3,)), keras.Input((3,))
    slope = wg.grad(lambda x: wg.sum(wg.sin(x)))
    outputs = [
        gated(x), squashed(x), wg.function(lambda a, b: a * b + 1)(x, b=y), slope(x), wg.vmap(slope)(x), wg.add(x, 1.0),
        wg.ops.tanh(x), wg.ops.matmul(x, np.ones((3, 2), "float32")), wn.sum(x, axis=1), wn.maximum(x, y),
    ]  # fmt: skip
    assert [tuple(o.shape) for o in outputs] == [(None, 3)] * 7 + [(None, 2), (None,), (None, 3)]
    found = keras.Model([x, y], outputs).predict([DRAWN, DRAWN[::-1]], verbose=0)
    want = [
        np.maximum(DRAWN, 0), np.tanh(DRAWN), DRAWN * DRAWN[::-1] + 1, np.cos(DRAWN), np.cos(DRAWN), DRAWN + 1,
        np.tanh(DRAWN), DRAWN @ np.ones((3, 2)), DRAWN.sum(1), np.maximum(DRAWN, DRAWN[::-1]),
    ]  # fmt: skip
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@row
def symbolic_tensors_keep_the_extents_that_are_known() -> None:
    x, y = keras.Input((4,)), keras.Input((6, 5))
    sliced: list[tuple[Callable[[Any], Any], tuple[int | None, ...]]] = [
        (lambda x: x[:, :2], (None, 2)), (lambda x: x[..., -3:], (None, 3)), (lambda x: x[:, ::-2], (None, 2)),
        (lambda x: x[1:, None, 1:], (None, 1, 3)), (lambda x: x[::2] * x[0], (None, 4)),
        (lambda x: x[:, np.array([2, 0])], (None, 2)), (lambda x: wg.roll(x, 1, axis=1), (None, 4)),
        (lambda x: wg.diff(x, axis=1), (None, 3)), (lambda x: wg.split(x, 2, axis=1)[1], (None, 2)),
        (lambda x: wg.reshape(x, (-1, 2, 2))[:, :, :1], (None, 2, 1)),
        (lambda x: wg.concatenate([x[:, 1:], x], axis=1), (None, 7)),
        (lambda x: wg.where(x[:, :1] > 0, x, 0.0), (None, 4)), (lambda x: wg.stack([x, x], axis=2)[:, 1:], (None, 3, 2)),
        (lambda x: x[:, 1:] @ np.ones((3, 2), "float32"), (None, 2)), (lambda x: wg.sum(x[:, :2], axis=0), (2,)),
        (lambda x: wg.einsum("ij,ik->ijk", x[:, 1:], x), (None, 3, 4)), (lambda x: wg.flip(x[:, 2:], 1), (None, 2)),
    ]  # fmt: skip
    outputs = [wg.function(f)(x) for f, _ in sliced]
    assert [tuple(o.shape) for o in outputs] == [shape for _, shape in sliced]
    assert wg.function(lambda y: y[:, 1:3, ::2])(y).shape == (None, 2, 3)
    drawn = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    found = keras.Model(x, outputs).predict(drawn, batch_size=3, verbose=0)
    for got, (f, _) in zip(found, sliced, strict=True):
        np.testing.assert_allclose(got, np.asarray(f(drawn)), rtol=1e-5, atol=1e-6)


@row
def symbolic_tensors_that_keras_takes_for_sparse_are_dense() -> None:
    x = keras.Input((3,))
    model = keras.Model(x, [wg.sin(x * 2), wg.where(x[:, :1] > 0, x, x * 2)])
    for got, want in zip(
        model.predict(DRAWN, verbose=0), (np.sin(DRAWN * 2), np.where(DRAWN[:, :1] > 0, DRAWN, DRAWN * 2)), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@row
def symbolic_tensors_that_are_closed_over_are_refused() -> None:
    x = keras.Input((3,))
    with pytest.raises(ValueError, match="pass that as an argument, too"):
        wg.cond(wg.sum(x) > 0, lambda: x * 2, lambda: x)
    found = wg.cond(wg.sum(x) > 0, lambda x: x * 2, lambda x: x, x)
    assert found.shape == (None, 3)
    for sign in (1.0, -1.0):
        given = sign * np.abs(DRAWN)
        got = keras.Model(x, found).predict(given, verbose=0)
        np.testing.assert_allclose(got, given * 2 if sign > 0 else given, rtol=1e-6)


@row
def models_of_functions_that_nobody_has_registered_are_cloned() -> None:
    x = keras.Input((3,))
    doubled = wg.function(lambda x: (x * 2, wg.sum(wg.sin(x), axis=1)))
    model = keras.Model(x, [*doubled(keras.layers.Dense(3)(x)), wg.custom_gradient(lambda x: (x**2, lambda ct: ct))(x)])
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    for again in (clone, keras.models.clone_model(clone, input_tensors=keras.Input((3,)))):
        again.set_weights(model.get_weights())
        for got, want in zip(again.predict(DRAWN, verbose=0), model.predict(DRAWN, verbose=0), strict=True):
            np.testing.assert_array_equal(got, want)
    text = model.to_json()
    start = text.index('"here": "') + 9
    with pytest.raises(TypeError, match="Could not locate function"):  # as in another process
        keras.models.model_from_json(text.replace(text[start : start + 32], "0" * 32))


@row
def losses_and_metrics_have_names_that_every_backend_takes() -> None:
    def of_mean(y: Any, p: Any) -> Any:
        return wg.mean((y - p) ** 2, axis=-1)

    class Callable_:
        def __call__(self, y: Any, p: Any) -> Any:
            return of_mean(y, p)

        @wg.function
        def method(self, y: Any, p: Any) -> Any:
            return of_mean(y, p)

    def größe(y: Any, p: Any) -> Any:
        return of_mean(y, p)

    def _private(y: Any, p: Any) -> Any:
        return of_mean(y, p)

    functions = {
        "lambda": lambda y, p: of_mean(y, p), "of_mean": of_mean, "partial": functools.partial(of_mean),
        "Callable": Callable_(), "gr_e": größe, "private": _private,
    }  # fmt: skip
    made = {name: wg.function(f) for name, f in functions.items()}
    made["損失"] = wg.function(of_mean, name="損失")
    assert [f.name for f in made.values()] == [*functions, "function"]
    x, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
    for f in (*made.values(), Callable_().method):
        for options in ({"loss": f}, {"loss": "mse", "metrics": [f]}):
            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            model.compile("sgd", **options)
            assert np.isfinite(model.fit(x, y, verbose=0).history["loss"][0])


@row
def models_of_symbolic_calls_train_by_the_rule_and_are_saved() -> None:
    x = keras.Input((1,))
    model = keras.Model(x, gated(keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")(x)))
    model.compile(keras.optimizers.SGD(1e-3), "mse")
    model.fit(np.ones((8, 1), "float32"), 3 * np.ones((8, 1), "float32"), epochs=1, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0].item(), 1.0 + 1e-3 * 4.0 * 10.0, rtol=1e-5)
    again = reloaded(model, {"gated": gated})
    np.testing.assert_allclose(again.predict(np.ones((2, 1)), verbose=0), 1.04, rtol=1e-5)


@row
def models_of_our_functions_are_saved() -> None:
    """Ours are known by their own names: Keras has another gelu, and no sqrt that it would look up."""
    x = keras.Input((3,))
    h = keras.layers.Dense(3)(x)
    outputs = [
        wg.sin(h), wg.maximum(h, x), wg.add(h, 2.0), wn.multiply(h, x), wg.special.erf(h), wg.special.gammaln(h * h + 1),
        wg.nn.gelu(h), wg.nn.softmax(h), wg.sqrt(h * h), wg.where(h > 0, h, x), wg.clip(h, -1, 1), wg.cumsum(h, axis=1),
        wn.sum(h, axis=1, keepdims=True), wg.linalg.norm(h, axis=1), wg.concatenate([h, x], axis=1), wn.expand_dims(h, 1),
    ]  # fmt: skip
    model = keras.Model(x, outputs)
    for found, wanted in zip(reloaded(model).predict(DRAWN, verbose=0), model.predict(DRAWN, verbose=0), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert len(keras.models.clone_model(model).outputs) == len(outputs)


@row
def a_model_names_no_other_functions() -> None:
    x = keras.Input((3,))
    text = keras.Model(x, wg.sin(x)).to_json()
    name = "wengert.ops:sin"
    assert name in text
    older = keras.models.model_from_json(text.replace(name, "wengert.ops.elementwise:sin"))
    close(older.predict(DRAWN, verbose=0), np.sin(DRAWN))
    names = ["nothing", "promotion", "_one"]
    for other in ("os:getcwd", "wengert.programs.saving:load", *[f"wengert.ops:{name}" for name in names]):
        with pytest.raises(Exception, match="no function of Wengert's"):
            keras.models.model_from_json(text.replace(name, other))


class Calling(keras.layers.Layer):
    """Calls its `function`, which most layers here make in `build`, where the weight is that it reads."""

    function: Callable[..., Any]

    def call(self, x: Any) -> Any:
        return self.function(x)


class Elementwise(Calling):
    """Says what comes of a shape, for Keras's symbols."""

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


class Calls(Elementwise):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def build(self, shape: Any) -> None:
        """Nothing is to be built."""


@row
def what_is_wrong_in_a_rule_is_said_of_symbols_too() -> None:
    wide = wg.custom_gradient(lambda x: (x * 1, lambda dy: dy * np.where(x > 0, np.float64(1.0), np.zeros(3))))
    x = keras.Input((3,))
    model = keras.Sequential([x, keras.layers.Dense(3), Calls(wide)])
    model.compile("sgd", "mse")
    with pytest.raises(TypeError, match="dtype float64, wanted float32"):
        model.fit(DRAWN, DRAWN, verbose=0)


class Tempered(Calling):
    """A function made where the weight is, which it reads."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones")
        self.function = wg.function(lambda x: x * wg.exp(self.w))


@row
def functions_made_in_build_read_the_weight() -> None:
    for eagerly in (False, True):
        model = keras.Sequential([keras.Input((1,)), Tempered()])
        model.compile(keras.optimizers.SGD(1e-3), "mse", run_eagerly=eagerly)
        model.fit(np.ones((8, 1), "float32"), np.zeros((8, 1), "float32"), epochs=1, verbose=0)
        np.testing.assert_allclose(model.get_weights()[0].item(), 1.0 - 1e-3 * 2 * np.e**2, rtol=1e-5)


@row
def rules_read_weights_as_they_are_wherever_they_run() -> None:
    """Also as arrays, and in a compiled step of JAX's after calls outside: there the weight is another one."""
    w = keras.Variable(np.float32(2.0))
    for read in (lambda: w, lambda: wg.tensor(w), lambda: w.value):

        @wg.custom_gradient
        def f(x: Any, read: Any = read) -> Any:
            return x * w, lambda dy, variables=None: (dy * read(), [wg.sum(dy * x)])

        for value in (2.0, 2.0, 5.0):
            w.assign(np.float32(value))
            close(gradients(f, array(1.0))[0], value)
        if BACKEND == "jax":
            import jax

            def stepped(value: Any, x: Any, f: Any = f) -> Any:
                with keras.StatelessScope(state_mapping=[(w, value)]):
                    return f(x)

            for way in (lambda g: g, jax.jit):
                for value in (3.0, 4.0):
                    found = way(jax.grad(stepped, (0, 1)))(array(value), array(1.5))
                    close(found[0], 1.5)
                    close(found[1], value)


class Doubled(Elementwise):
    """A function that reads what Keras computes of the weight."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones")
        self.function = wg.function(lambda x: x * (self.w * 2.0))


class Bridged(Elementwise):
    """A function of the backend's that reads the weight, alone or in a function of ours."""

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.inside = inside

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones")
        bridge = getattr(wg, f"from_{BACKEND}")(lambda x: x * keras.ops.exp(keras.ops.convert_to_tensor(self.w)))
        self.function = wg.function(bridge) if self.inside else bridge


@row
def functions_of_the_backend_read_the_weight_at_each_call() -> None:
    x, y = np.ones((8, 1), "float32"), np.zeros((8, 1), "float32")
    for inside, eagerly in itertools.product((False, True), (False, True)):
        layer = Bridged(inside)
        model = keras.Sequential([keras.Input((1,)), layer])
        model.compile(keras.optimizers.SGD(1e-3), "mse", run_eagerly=eagerly)
        model.fit(x, y, epochs=1, verbose=0)
        np.testing.assert_allclose(model.get_weights()[0].item(), 1.0 - 1e-3 * 2 * np.e**2, rtol=1e-5)
        for value in (2.0, 3.0):
            layer.w.assign(np.array([value], "float32"))
            np.testing.assert_allclose(keras.ops.convert_to_numpy(layer(x)), np.exp(value) * x, rtol=1e-5)


@row
def what_keras_computes_of_a_weight_in_a_function_is_trained() -> None:
    """After calls that nobody differentiates, in steps that a backend compiles, and without."""
    for eagerly in (False, True):
        model, w = keras.Sequential([keras.Input((1,)), Doubled()]), 1.0
        model.compile(keras.optimizers.SGD(1e-2), "mse", run_eagerly=eagerly)
        for _ in range(3):
            close(model.predict(np.ones((8, 1), "float32"), verbose=0), np.full((8, 1), 2 * w))
            model.fit(np.ones((8, 1), "float32"), np.zeros((8, 1), "float32"), epochs=1, verbose=0)
            w -= 1e-2 * 8 * w
        close(model.get_weights()[0].item(), w)


class Valued(keras.layers.Layer):
    """Functions made where the weight is, which read what stands behind it and Keras's variable."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1], 2))
        self.function = wg.function(lambda x: x @ self.w.value)
        self.rule = wg.custom_gradient(self.ruled)

    def ruled(self, x: Any) -> Any:
        def rule(dy: Any, variables: Any = None) -> Any:
            return dy @ wg.transpose(wg.tensor(self.w)), [wg.transpose(x) @ dy]

        return x @ wg.tensor(self.w), rule

    def call(self, x: Any) -> Any:
        return self.function(x) + self.rule(x)


@row
def weights_that_stand_for_other_arrays_in_each_call_are_read_anew() -> None:
    """Keras tries shapes on arrays without values, and reads weights in halves where a layer computes in these."""
    keras.utils.set_random_seed(3)  # from some first weights the training diverges
    before = keras.config.dtype_policy()
    for policy in ("float32", "mixed_bfloat16", "bfloat16"):
        for eagerly in (False, True):
            keras.config.set_dtype_policy(policy)
            try:
                model = keras.Sequential(
                    [keras.Input((3,)), keras.layers.Dense(3), Valued(), keras.layers.Dense(1, dtype="float32")]
                )
            finally:
                keras.config.set_dtype_policy(before)
            model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=eagerly)
            weights = model.get_weights()
            for _ in range(2):
                model.fit(DRAWN, np.ones((8, 1), "float32"), epochs=2, verbose=0)
                model.predict(DRAWN, verbose=0)
            for old, new in zip(weights, model.get_weights(), strict=True):
                assert np.abs(np.asarray(old, "float32") - np.asarray(new, "float32")).max() > 0, policy


class Projected(Calling):
    """A custom gradient made where the weight is, which it reads and answers for."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1], 2))

        @wg.custom_gradient
        def project(x: Any) -> Any:
            def rule(dy: Any, variables: Any = None) -> Any:
                return dy @ wg.transpose(wg.tensor(self.w)), [wg.transpose(x) @ dy]

            return wg.fori_loop(0, 2, lambda _, c: wg.tanh(c), x @ self.w), rule

        self.function = project


@row
def layers_that_read_weights_are_saved_and_exported() -> None:
    """Kept whole, for any number of rows; torch's backend exports no saved models."""
    model = keras.Sequential([keras.Input((3,)), Projected(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(DRAWN, np.ones((8, 1), "float32"), epochs=1, verbose=0)
    same(reloaded(model, {"Projected": Projected}), model)
    if BACKEND == "torch" or importlib.util.find_spec("tensorflow") is None:
        return
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        loaded = tf.saved_model.load(folder)
        for rows in (8, 3):
            close(loaded.serve(DRAWN[:rows]), model.predict(DRAWN[:rows], verbose=0))


@row
def gradients_through_a_model_point_to_its_bridge() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    for f in (model, lambda x: np.sum(model(x))):
        with pytest.raises(wg.LostGradientError, match=rf"wg\.from_{BACKEND}\(model\)"):
            wg.grad(f)(DRAWN)
    bridged = getattr(wg, f"from_{BACKEND}")(model)
    weights = model.get_weights()[0]
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(bridged(x)))(DRAWN), np.tile(weights.T, (8, 1)), rtol=1e-5)


@row
def a_bridged_model_is_read_at_each_call_and_traced_once() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    bridged = getattr(wg, f"from_{BACKEND}")(model)
    compiled = wg.function(bridged)
    slope = wg.function(wg.grad(lambda x: np.sum(bridged(x))))
    for step in range(4):
        for f in (bridged, compiled):
            close(f(DRAWN), keras.ops.convert_to_numpy(model(DRAWN)))
        kernels = [layer.get_weights()[0] for layer in model.layers]
        close(slope(DRAWN), np.tile((kernels[0] @ kernels[1]).T, (8, 1)))
        for weight in model.trainable_weights:
            weight.assign(weight + 0.5 * (step + 1))
    assert compiled.trace_count == slope.trace_count == 1


def main() -> None:
    found = {}
    for name, check in ROWS.items():
        try:
            check()
            found[name] = "ok"
        except BaseException:
            found[name] = traceback.format_exc()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
