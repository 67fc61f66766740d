"""The TensorFlow engine: the kind of array, the device and the dtypes that come out; programs under tapes and inside
`tf.function`; loops there. That each op agrees with NumPy's is tested in tests/engines/test_conformance.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.loop_programs import a_scan, a_while, branching, buffered, nested
from tests.support.plain_calls import PLAIN
from wengert._core.graph import Graph
from wengert._core.state import building

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

from wengert._engines.tensorflow.kernels import _counts_from_the_front  # noqa: E402  # needs TensorFlow

X = np.array([0.5, 1.0, 1.5])
A, B = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, -2.0])


def close(got: Any, want: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


@wg.custom_gradient
def ten_times(x: Any) -> Any:
    """A square whose gradient is five times too large, so that a natural one would be seen."""
    return x * x, lambda upstream: upstream * x * 10


@wg.custom_grad
def sevenfold(x: Any, save: Any) -> Any:
    save([x])
    return {"value": x**3, "grad_func": lambda dy, saved: dy * 7 * saved[0]}


recomputed = wg.recompute_grad(lambda x: wg.sin(x) * wg.exp(x))
compiled = wg.function(lambda x: wg.maximum(x, 1.0) ** 3 * ten_times(x))
looping = wg.function(lambda x: wg.fori_loop(0, 3, lambda i, v: ten_times(v) * 0.5, x))
BRIDGED = [ten_times, sevenfold, recomputed, compiled, looping]
every_bridge = pytest.mark.parametrize(
    "f", BRIDGED, ids=["custom_gradient", "custom_grad", "recompute_grad", "function", "loop"]
)


# -- what comes out -----------------------------------------------------------------------------------------------------


def test_what_comes_out_is_the_kind_that_went_in() -> None:
    x = tf.constant(X)
    results = [
        wg.sin(x), wg.grad(lambda v: (v**2).sum())(x), wg.function(lambda v: v * 2)(x), wg.concatenate([x, X]),
        wg.value_and_grad(lambda v: v.sum())(x).value, wg.vmap(lambda v: v * 2)(x), wg.hessian(lambda v: (v**3).sum())(x),
        wg.vjp(lambda v: v * 2, x)[0], wg.jvp(lambda v: v * 2, (x,), (x,))[1], ten_times(x), sevenfold(x), recomputed(x),
        wg.cond(True, lambda v: v, lambda v: -v, x), wg.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x),
        wg.scan(lambda c, t: (c + t, c), 0.0, x)[1], wg.fori_loop(0, 3, lambda i, v: v * 2, x), wg.sum(x),
        wg.grad(lambda v, w: (v * w).sum(), argnums=1)(x, X), wg.jacobian(lambda v: v**2)(x), wg.linalg.norm(x),
        wg.grad(lambda v: wg.tensor(2.0) * 1.0 + 0 * v.sum(), unconnected_gradients="zero")(x),
    ]  # fmt: skip
    assert [type(r).__name__ for r in results] == [type(x).__name__] * len(results)
    assert {r.dtype for r in results} == {tf.float64}
    tree = wg.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x]})
    assert tf.is_tensor(tree["b"][0])
    assert type(wg.sin(X)) is np.ndarray
    assert type(wg.tensor(x) + X) is wg.Tensor
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.complex64):
        assert wg.grad(lambda v: wg.real((v * v).sum()))(tf.cast(x, dtype)).dtype == dtype


def test_a_variable_arrives_as_its_value() -> None:
    v = tf.Variable(X)
    got = wg.grad(lambda t: (t**2).sum())(v)
    assert tf.is_tensor(got)
    close(got, 2 * X)
    close(v * wg.function(lambda t: t + 1)(v), X * (X + 1))


def test_a_tensor_of_a_tensorflow_tensor() -> None:
    x = tf.constant(X)
    t = wg.tensor(x)
    assert (t.engine, t.device, t.shape, t.dtype) == ("tensorflow", "cpu", (3,), np.dtype("float64"))
    assert t.native is x
    assert "Tensor([0.5, 1. , 1.5]" in repr(t)
    assert bool(wg.tensor(tf.constant(True)))
    with wg.GradientTape() as tape:
        tape.watch(t)
        y = (t * t).sum()
    assert tape.gradient(y, t).engine == "tensorflow"


def test_nothing_is_imported_before_a_tensor_arrives() -> None:
    code = """
import sys, numpy as np, tensorflow as tf, wengert as wg
wg.grad(lambda x: (x**2).sum())(np.ones(3))
assert "wengert._engines.tensorflow" not in sys.modules
before = tf.keras.backend.floatx(), tf.executing_eagerly(), tf.config.functions_run_eagerly()
g = wg.grad(lambda x: (wg.sin(x) ** 2).sum())(tf.ones(3))
assert "wengert._engines.tensorflow" in sys.modules and g.dtype == tf.float32, g.dtype
assert (tf.keras.backend.floatx(), tf.executing_eagerly(), tf.config.functions_run_eagerly()) == before
"""
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_an_import_of_the_library_does_not_import_tensorflow() -> None:
    code = "import sys, wengert; sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_two_frameworks_in_one_call_are_refused_by_name() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x, y = tf.constant(X), jax.numpy.asarray(X)
    for call in (
        lambda: wg.add(x, y), lambda: wg.grad(lambda a, b: (a * b).sum())(x, y),
        lambda: wg.function(lambda a, b: a * b)(x, y), lambda: wg.concatenate([x, y]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="jax and tensorflow"):
            call()


def test_what_is_no_number_passes_through() -> None:
    words = tf.constant(["a", "b"])
    y = wg.function(lambda w, t: {"w": w, "t": t * 2})(words, tf.constant(X))
    assert y["w"] is words
    close(y["t"], 2 * X)


def test_bad_values_raise() -> None:
    singular = tf.ones((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
        wg.linalg.inv(singular)
    with pytest.raises(np.linalg.LinAlgError):
        wg.linalg.cholesky(-singular)
    with pytest.raises(IndexError, match="out of bounds"):
        wg.take(tf.constant(X), np.array([7]))


# -- under TensorFlow's tapes ---------------------------------------------------------------------------------------------


def gradient_of(f: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    return tape.gradient(y, x)


def second_of(f: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        slope = tf.reduce_sum(gradient_of(f, x))
    return tape.gradient(slope, x)


def third_of(f: Callable[[Any], Any], x: Any) -> Any:
    return gradient_of(lambda v: second_of(f, v), x)


@every_bridge
def test_our_rule_holds_under_tensorflows_tapes(f: Callable[[Any], Any]) -> None:
    x = tf.constant(X)
    want = wg.grad(lambda v: f(v).sum())(X)
    close(gradient_of(f, x), want)
    close(tf.function(lambda v: gradient_of(f, v))(x), want)
    close(gradient_of(tf.function(f), x), want)
    known = tf.TensorSpec([None], tf.float64)
    close(tf.function(lambda v: gradient_of(f, v), input_signature=[known])(x), want)


@every_bridge
def test_higher_orders_under_tensorflows_tapes(f: Callable[[Any], Any]) -> None:
    x = tf.constant(X)
    first = lambda v: wg.grad(lambda u: f(u).sum())(v).sum()
    want = wg.grad(first)(X)
    close(second_of(f, x), want)
    close(tf.function(lambda v: second_of(f, v))(x), want)
    close(second_of(tf.function(f), x), want)
    third = wg.grad(lambda v: wg.grad(first)(v).sum())(X)
    close(third_of(f, x), third)
    close(tf.function(lambda v: third_of(f, v))(x), third)


def test_a_persistent_tape_and_jacobians() -> None:
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = compiled(x)
        slope = tape.gradient(y, x)
    want = wg.grad(lambda v: compiled(v).sum())(X)
    close(slope, want)
    close(tape.gradient(y, x), want)
    close(tape.gradient(slope, x), wg.grad(lambda v: wg.grad(lambda u: compiled(u).sum())(v).sum())(X))
    close(tape.jacobian(y, x), np.diag(want))
    close(tape.jacobian(y, x, experimental_use_pfor=False), np.diag(want))


def test_gradients_by_name_in_a_graph() -> None:
    @tf.function
    def both(v: Any) -> Any:
        (slope,) = tf.gradients(compiled(v), v)
        return slope, tf.gradients(slope, v)[0]

    slope, curvature = both(tf.constant(X))
    close(slope, wg.grad(lambda v: compiled(v).sum())(X))
    close(curvature, wg.grad(lambda v: wg.grad(lambda u: compiled(u).sum())(v).sum())(X))


def test_transforms_and_control_flow_on_watched_and_symbolic_tensors() -> None:
    x = tf.constant(X)
    kinked = wg.grad(lambda v: (wg.maximum(v, 1.0) ** 3).sum())  # half to each at the tie
    close(tf.function(kinked)(x), kinked(X))
    close(gradient_of(kinked, x), wg.grad(lambda v: kinked(v).sum())(X))
    jacobian = wg.jacobian(lambda v: v**2 * v.sum())
    close(tf.function(jacobian)(x), jacobian(X))
    close(tf.function(wg.vmap(lambda v: v**2))(x), X**2)
    close(tf.function(lambda v: wg.cond(wg.sum(v) > 1, lambda u: u * 2, lambda u: u, v))(x), X * 2)
    pick = tf.function(lambda i, v: wg.switch(i, [lambda u: u, lambda u: u * 3], v))
    close(pick(tf.constant(9), x), X * 3)
    doubling = lambda v: wg.sum(wg.while_loop(lambda u: u.sum() < 50, lambda u: u * 1.5, v))
    close(tf.function(lambda v: gradient_of(doubling, v))(x), wg.grad(doubling)(X))
    counted = lambda v: wg.sum(wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, v))
    close(gradient_of(counted, x), wg.grad(counted)(X))


def test_unused_results_integers_and_complex_numbers() -> None:
    pair = wg.function(lambda v, i, unused: (v * 2, i + 1, wg.sin(v)))
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        unused = tf.constant(X)
        tape.watch(unused)
        y = pair(x, tf.range(3), unused)
    close(tape.gradient(y[0], x), [2, 2, 2])
    assert tape.gradient(y[0], unused) is None
    z = tf.constant([1 + 2j, 3 - 1j])
    f = lambda v: (v * v.conj() * 1j + v**3).real.sum()
    close(gradient_of(wg.function(f), z), wg.grad(f)(z.numpy()))
    rows = wg.function(lambda t: (t[np.array([0, 2, 0])] ** 2).sum())
    close(gradient_of(rows, tf.ones((3, 2), tf.float64)), [[4, 4], [0, 0], [2, 2]])


def test_trainable_variables_of_tensorflow_take_part() -> None:
    v, x = tf.Variable(X), tf.constant(X)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(ten_times(v) * x)
    close(tape.gradient(y, v), 10 * X * X)
    closing = wg.function(lambda t: (wg.tensor(v) ** 2 * t).sum())
    with tf.GradientTape() as tape:
        y = closing(x)
    close(y, (X**3).sum())


def test_variables_are_read_at_each_call_and_not_assigned_in_a_graph() -> None:
    v = wg.Variable(X)
    f = tf.function(wg.function(lambda t: (v * t).sum()))
    close(f(tf.constant(X)), X @ X)
    write = wg.function(lambda t: v.assign(t * 2))
    write(tf.constant(X))
    close(v.numpy(), 2 * X)
    with pytest.raises(TypeError, match="cannot be assigned"):
        tf.function(write)(tf.constant(X))


def test_unknown_extents_in_a_graph() -> None:
    @wg.custom_gradient
    def centred(x: Any) -> Any:
        mean = wg.mean(x, axis=0)
        return wg.sum((x - mean) ** 2, axis=1) @ wg.ones(x.shape[0]), lambda up: up * 2 * (x - mean)

    spec = tf.TensorSpec([None, 3], tf.float64)
    f = tf.function(lambda v: gradient_of(centred, v), input_signature=[spec])
    for rows in (2, 5):
        data = np.random.default_rng(0).normal(size=(rows, 3))
        close(f(tf.constant(data)), 2 * (data - data.mean(0)))
    layer = wg.function(lambda x, w: wg.tanh(x @ w).reshape(-1, 1).sum())
    g = tf.function(
        lambda v: gradient_of(lambda u: layer(u, tf.constant(A[:, :1].repeat(3, 0)[:3])), v), input_signature=[spec]
    )
    data = np.ones((4, 3))
    close(g(tf.constant(data)), wg.grad(lambda u: layer(u, A[:, :1].repeat(3, 0)[:3]))(data))


# -- loops ----------------------------------------------------------------------------------------------------------------


POLICIES = ["all", "sqrt", "auto", 1, 2, 3, 8]
LOOPS: dict[str, Callable[[Any], Any]] = {
    **{f"scan {p}": a_scan(p) for p in POLICIES},
    **{f"reversed scan {p}": a_scan(p, True) for p in ("all", "auto", 3)},
    **{f"while of at most 200, {p}": a_while(p, 200) for p in POLICIES},
    **{f"while {p}": a_while(p) for p in POLICIES},
    "nested": nested, "branching": branching, "buffered": buffered,
}  # fmt: skip


@pytest.mark.parametrize("f", LOOPS.values(), ids=LOOPS.keys())
def test_loops_are_differentiated_inside_graphs(f: Callable[[Any], Any]) -> None:
    want = wg.value_and_grad(f)(1.3)
    x = tf.constant(1.3, tf.float64)
    got = wg.function(wg.value_and_grad(f))(x)
    close(got.value, want.value)
    close(got.grad, want.grad)
    close(tf.function(lambda v: gradient_of(wg.function(f), v))(x), want.grad)
    close(gradient_of(wg.function(f), x), want.grad)


def test_a_loop_in_batches_and_at_second_order() -> None:
    f = wg.function(lambda v: wg.while_loop(lambda u: u < 50, lambda u: u * u + 1, v))
    want = wg.vmap(wg.grad(lambda v: f(v)))(X)
    close(wg.vmap(wg.grad(f))(tf.constant(X)), want)
    close(tf.function(wg.vmap(wg.grad(f)))(tf.constant(X)), want)
    g = wg.function(lambda v: wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, v))
    half = tf.constant(0.5, tf.float64)
    close(second_of(g, half), wg.hessian(g)(0.5))
    close(tf.function(lambda v: second_of(g, v))(half), wg.hessian(g)(0.5))
    close(wg.function(wg.hessian(g))(half), wg.hessian(g)(0.5))


def test_a_loop_whose_variables_change_their_shape_runs_as_python() -> None:
    grown = wg.function(lambda v: wg.while_loop(
        lambda u: u.sum() < 12, lambda u: wg.concatenate([u, u]), v, shape_invariants=wg.TensorSpec((None,))
    ).sum())  # fmt: skip
    close(grown(tf.constant(X)), grown(X))


# -- both ways ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, tf.constant], ids=["numpy", "tensorflow"])
def test_a_tensorflow_function_is_an_op_of_ours(kind: Callable[[Any], Any]) -> None:
    theirs = wg.from_tensorflow(lambda x: tf.reduce_sum(tf.sin(x) ** 2 * x))
    ours = lambda x: (wg.sin(x) ** 2 * x).sum()
    x = kind(X)
    assert type(wg.grad(theirs)(x)) is type(x)
    close(theirs(x), ours(X))
    close(wg.grad(theirs)(x), wg.grad(ours)(X))
    close(wg.hessian(theirs)(x), wg.hessian(ours)(X))
    close(wg.function(wg.grad(theirs))(x), wg.grad(ours)(X))
    close(wg.jvp(theirs, (x,), (x,))[1], wg.jvp(ours, (X,), (X,))[1])
    close(wg.vmap(wg.grad(lambda t: theirs(t)))(x), wg.vmap(wg.grad(lambda t: ours(t)))(X))


def test_a_tensorflow_function_with_a_rule_of_its_own_structures_and_integers() -> None:
    @tf.custom_gradient
    def doubled(x: Any) -> Any:
        return x * 2, lambda ct: ct * 100

    f = wg.from_tensorflow(
        lambda d, k: {"a": doubled(d["u"]) * k, "i": tf.range(3), "z": tf.tensordot(d["w"], d["w"], 1)}
    )
    gradient = wg.grad(lambda d: f(d, 3)["a"].sum() + f(d, 3)["z"])({"u": X, "w": X})
    close(gradient["u"], [300.0] * 3)
    close(gradient["w"], 2 * X)
    complex_ = wg.from_tensorflow(lambda z: tf.math.real(tf.reduce_sum(z * tf.math.conj(z) * 1j + z**3)))
    z = np.array([1 + 2j, 0.5 - 1j])
    close(wg.grad(complex_)(z), wg.grad(lambda v: (v * v.conj() * 1j + v**3).sum().real)(z))


def test_a_tensorflow_function_under_tapes_finds_its_variables() -> None:
    v = tf.Variable(X)
    f = wg.from_tensorflow(lambda x: tf.reduce_sum(v**2 * x), variables=[v])
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    to_v, to_x = tape.gradient(y, [v, x])
    close(to_v, 2 * X * X)
    close(to_x, X**2)
    close(wg.grad(f)(X), X**2)
    close(tf.function(lambda u: gradient_of(f, u))(x), X**2)


def test_a_function_to_tensorflow() -> None:
    ours = wg.function(a_while("auto"))
    theirs = ours.to_tensorflow()
    assert tf.is_tensor(theirs(1.3))
    close(theirs(1.3), ours(1.3))
    x = tf.constant(1.3, tf.float64)
    close(gradient_of(theirs, x), wg.grad(ours)(1.3))
    close(gradient_of(tf.function(theirs), x), wg.grad(ours)(1.3))


def test_a_kernel_written_once_in_numpy() -> None:
    calls: list[type] = []

    def cube(x: Any) -> Any:
        calls.append(type(x))
        return x**3

    op = wg.primitive("tensorflow_cube", spec=lambda x: x, numpy=cube, vjp=lambda ct, out, x: ct * 3 * x**2)
    x = tf.constant(X)
    close(op(x), X**3)
    close(wg.grad(lambda v: op(v).sum())(x), 3 * X**2)
    close(gradient_of(op, x), 3 * X**2)
    close(tf.function(lambda v: gradient_of(op, v))(x), 3 * X**2)
    close(tf.function(op)(x), X**3)
    close(second_of(op, x), 6 * X)
    assert set(calls) == {np.ndarray}
    own = wg.primitive(
        "tensorflow_own",
        spec=lambda x: x,
        numpy=cube,
        tensorflow=lambda x: tf.pow(x, 3),
        vjp=lambda ct, out, x: ct * 3 * x**2,
    )
    calls.clear()
    close(tf.function(lambda v: gradient_of(own, v))(x), 3 * X**2)
    assert not calls


@pytest.mark.parametrize("shape", [(2, 0), (2, 0, 3)])
def test_the_gradient_of_rows_of_no_elements(shape: tuple[int, ...]) -> None:
    """TensorFlow's own scatter refuses updates of what has no elements."""
    for layer in (lambda f: f, wg.function):
        for at in (1, np.array([0, 0])):
            found = layer(wg.grad(lambda x, at=at: wg.sum(wg.take(x, at, axis=0))))(tf.zeros(shape, tf.float64))
            assert found.shape == shape


@pytest.mark.parametrize("derive", [lambda f: f, wg.function], ids=["eager", "compiled"])
def test_eigenvalues_of_complex_matrices_are_real(derive) -> None:
    matrix = np.array([[2.0, 1j], [-1j, 3.0]], np.complex64)
    values = derive(wg.linalg.eigvalsh)(tf.constant(matrix))
    assert values.dtype == tf.float32
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=1e-5)
    slope = derive(wg.grad(lambda a: wg.sum(wg.linalg.eigvalsh(a))))(tf.constant(matrix))
    np.testing.assert_allclose(slope, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("places", [False, True])
def test_what_gives_places_is_not_looked_at_for_negative_ones(places: bool) -> None:
    op = wg.primitive(
        f"tf_place_{places}", spec=lambda x: wg.TensorSpec(x.shape, np.int64), numpy=lambda x: np.int64(x > 0),
        places=places,
    )  # fmt: skip
    turn = wg.primitive(f"tf_turn_{places}", spec=lambda x: x, numpy=lambda x: x[::-1], moves="all")
    graph = Graph("places")
    with building(graph):
        graph.finish([turn(op(graph.add_input((2,), np.dtype(np.float64))))])
    makers = {v.key: node for node in graph.nodes for v in node.outputs}
    assert _counts_from_the_front(graph.outputs[0], makers) == places


# -- half floats --------------------------------------------------------------------------------------------------------


def test_one_number_of_a_half_float_comes_out() -> None:
    x = tf.constant(1.5, tf.bfloat16)
    for f in (lambda v: v * 2, wg.function(lambda v: v * 2)):
        assert float(wg.tensor(f(x)).numpy()) == 3.0
    assert float(wg.nextafter(x, x)) == 1.5  # computed by NumPy


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["rint", "mod", "fmod", "floor_divide"])
def test_whole_numbers_and_remainders_of_half_floats(name: str, compiled: bool, dtype: str) -> None:
    x = np.array([-7.5, -2.5, -0.0, 0.5, 1.5, 7.25, np.inf, np.nan], np.float32)
    y = np.array([2.0, -0.75, 3.0, -1.0, 0.0, 0.3, 2.0, 1.0], np.float32)
    count = 1 if name == "rint" else 2
    f = getattr(wg.ops, name)
    arrays = [wg.tensor(v).astype(dtype).astype("float32") for v in (x, y)[:count]]
    with np.errstate(all="ignore"):
        wanted = f(*arrays).astype(dtype).numpy()  # older releases of ml_dtypes divide bfloat16 by zero to NaN
    found = (wg.function(f) if compiled else f)(*[tf.cast(v, dtype) for v in (x, y)[:count]])
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found).astype("float32"), wanted.astype("float32"))


# -- extents in graphs --------------------------------------------------------------------------------------------------


def test_what_a_scan_stacks_has_as_many_rows_as_it_has_steps() -> None:
    def f(xs: Any) -> Any:
        rows = wg.scan(lambda c, x: (c, wg.astype(x + c, "complex64")), 0.0, xs)[1]
        return wg.greater_equal(rows, 1.0)  # of complex numbers: computed by NumPy

    np.testing.assert_array_equal(wg.function(f)(tf.constant(X)), X >= 1.0)


def test_poles_and_limits_of_gamma_functions() -> None:
    zeros, q = np.array([-0.0, 0.0], "f4"), np.array([2.0, 1.0, 0.5, 0.0, -2.0, -2.5], "f4")
    np.testing.assert_array_equal(wg.special.digamma(tf.constant(zeros)), [np.inf, -np.inf])
    poles = wg.special.zeta(tf.constant(np.full(6, 3.0, "f4")), tf.constant(q))
    np.testing.assert_array_equal(np.isposinf(poles), [False, False, False, True, True, False])
    limits = wg.special.zeta(tf.constant(np.full(3, np.inf, "f4")), tf.constant(q[:3]))
    np.testing.assert_array_equal(limits, [0.0, 1.0, np.inf])


def test_places_and_bodies_of_unknown_extents() -> None:
    def f(x: Any) -> Any:  # an extent that is the larger of two, places told by a size, ops made of others backwards
        return wg.sum(x[1:] * x[-1]) + wg.sum(wg.sort(x, axis=0)[::2]) + wg.sum(wg.special.betainc(2.0, x, x / 2))

    x = np.array([[0.3, 1.2], [0.9, 0.4], [0.6, 1.5]])
    total = wg.function(f)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total(x)
        return tape.gradient(y, x)

    of_any_size = tf.function(slope, input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    for rows in (x, x[:1]):
        close(of_any_size(rows), wg.grad(f)(rows), 1e-9)


def test_jacobians_of_loops_under_xla_as_the_page_says() -> None:
    """TensorFlow's own vectorisation makes loops, its own too, that XLA refuses."""
    f = wg.function(lambda x: wg.scan(lambda c, a: (wg.sin(c) + a, c * a), x[0], x)[1])
    x = tf.constant([0.5, 0.7], tf.float64)

    def by_tape(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x, experimental_use_pfor=False)

    wanted = wg.jacobian(f)(np.array([0.5, 0.7]))
    for jacobian in (by_tape, wg.jacobian(f)):
        np.testing.assert_allclose(tf.function(jacobian, jit_compile=True, autograph=False)(x), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", PLAIN)
def test_functions_called_alone_for_any_size(name: str) -> None:
    f, vector = PLAIN[name], tf.TensorSpec([None], tf.float32)

    @tf.function(input_signature=[vector], autograph=False)
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    for size in (2, 5):
        x = np.linspace(0.5, 3.0, size).astype("float32")
        value, found = slope(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-4)
        np.testing.assert_allclose(found, wg.grad(f)(x), rtol=1e-4, atol=1e-5)


def test_diagonals_and_draws_of_any_size() -> None:
    programs: list[Any] = [
        wg.diagonal,
        wg.trace,
        lambda x: x[:, :1] * wg.diag(x[0]),
        lambda x: x * wg.random.uniform(wg.random.key(0), x.shape),
    ]
    x = np.arange(1.0, 17.0).reshape(4, 4)
    for f in map(wg.function, programs):
        run = tf.function(f, input_signature=[tf.TensorSpec([None, None], tf.float64)], autograph=False)
        for rows in (4, 3):
            np.testing.assert_allclose(run(x[:rows, :rows]), f(x[:rows, :rows]), rtol=1e-14)
