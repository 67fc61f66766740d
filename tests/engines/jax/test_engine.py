"""The JAX engine: the kind of array, the device and the dtypes that come out; programs under JAX's transformations; loops
that XLA differentiates in fixed memory. That each op agrees with NumPy's is tested in tests/engines/test_conformance.py.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.loop_programs import a_scan, a_while, branching, buffered, nested
from wengert._core.engine import ENGINES, Engine, register_engine

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

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
BRIDGED = [ten_times, sevenfold, recomputed, compiled]
ONE_ARGUMENT_SERIES = ["erf", "erfc", "ndtr", "i0e", "i1e", "expi", "exp1", "log_ndtr", "erfcx"]
every_bridge = pytest.mark.parametrize(
    "f", BRIDGED, ids=["custom_gradient", "custom_grad", "recompute_grad", "function"]
)


# -- what comes out -----------------------------------------------------------------------------------------------------


def test_what_comes_out_is_the_kind_that_went_in() -> None:
    x = jnp.asarray(X)
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
    tree = wg.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x]})
    assert isinstance(tree["b"][0], jax.Array)
    assert type(wg.sin(X)) is np.ndarray
    assert type(wg.tensor(x) + X) is wg.Tensor


def test_a_tensor_of_a_jax_array() -> None:
    x = jnp.asarray(X)
    t = wg.tensor(x)
    assert (t.engine, t.device, t.shape, t.dtype) == ("jax", "cpu", (3,), np.dtype(x.dtype))
    assert t.native is x
    assert "Tensor([0.5, 1. , 1.5]" in repr(t)
    with wg.GradientTape() as tape:
        tape.watch(t)
        y = (t * t).sum()
    assert tape.gradient(y, t).engine == "jax"


@pytest.mark.parametrize("name", ONE_ARGUMENT_SERIES)
def test_series_end_wherever_their_argument_lies(name: str) -> None:
    """JAX's `expi` and `exp1` look for a term of no weight for ever if one number of an array is near 0."""
    x = np.array([1e-307, 1e-300, 1e-8, 0.3, 2.0, 40.0, 1e8, 1e300, np.inf, np.nan])
    x = np.concatenate([-x, x])
    with np.errstate(all="ignore"):
        close(getattr(wg.special, name)(jnp.asarray(x)), getattr(wg.special, name)(x), 1e-9)


def test_nothing_is_imported_before_a_jax_array_arrives_and_jaxs_switches_stay() -> None:
    code = """
import sys, numpy as np, jax, wengert as wg
before = dict(jax.config.values)
wg.grad(lambda x: (x**2).sum())(np.ones(3))
assert "wengert._engines.jax" not in sys.modules
g = wg.grad(lambda x: (wg.sin(x) ** 2).sum())(jax.numpy.ones(3))
assert "wengert._engines.jax" in sys.modules and g.dtype == "float32", g.dtype
assert dict(jax.config.values) == before
"""
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_an_import_of_the_library_does_not_import_jax() -> None:
    code = "import sys, wengert; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# where JAX 0.6 has it, and where later ones have
enable_x64: Any = (jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")).enable_x64

PROGRAMS_32: list[Callable[[Any], Any]] = [
    lambda t: (wg.sin(t) * 2.0).sum(),
    lambda t: (t * np.arange(3.0)).sum(),
    lambda t: wg.mean(t**2) + wg.std(t),
    lambda t: wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, t).sum(),
    lambda t: wg.sort(t)[1] * wg.argmax(t),
    lambda t: wg.cumsum(t)[np.array([0, 2])].sum(),
    lambda t: wg.random.normal(wg.random.key(3), (3,)) @ t,
]


@pytest.mark.parametrize("f", PROGRAMS_32)
def test_without_64_bits_everything_is_32_bits_wide(f: Callable[[Any], Any]) -> None:
    with enable_x64(False):
        x = jnp.asarray(X)
        want = wg.grad(f)(X)
        for got in (wg.grad(f)(x), wg.function(wg.grad(f))(x), jax.jit(jax.grad(wg.function(f)))(x)):
            assert got.dtype == np.float32
            close(got, want, 1e-5)  # as float32 is exact


def test_two_frameworks_in_one_call_are_refused_by_name() -> None:
    class Other:
        shape, dtype, ndim = (3,), np.dtype("float64"), 1

    register_engine(Engine("other", (Other,), to_numpy=lambda x: X, from_numpy=lambda a: Other(), is_framework=True))
    try:
        x = jnp.asarray(X)
        for call in (
            lambda: wg.add(x, Other()), lambda: wg.grad(lambda a, b: (a * b).sum())(x, Other()),
            lambda: wg.function(lambda a, b: a * b)(x, Other()), lambda: wg.concatenate([x, Other()]),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="jax and other"):
                call()
    finally:
        from wengert._core import engine

        engine.FRAMEWORK_ENGINES.remove(ENGINES.pop("other"))
        del engine.ENGINE_OF[Other], engine.KERNELS_OF[Other]


def test_bad_values_raise_where_they_are_at_hand_and_give_nan_where_xla_runs() -> None:
    singular = jnp.ones((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
        wg.linalg.inv(singular)
    with pytest.raises(IndexError, match="out of bounds"):
        wg.take(jnp.asarray(X), np.array([7]))
    assert not np.isfinite(np.asarray(jax.jit(wg.function(wg.linalg.inv))(singular))).any()


# -- under JAX's transformations ------------------------------------------------------------------------------------------


@every_bridge
def test_our_rule_holds_under_jaxs_transformations(f: Callable[[Any], Any]) -> None:
    x = jnp.asarray(X)

    def total(v: Any) -> Any:
        return jnp.sum(f(v))

    gradient = wg.grad(lambda v: f(v).sum())(X)
    close(jax.grad(total)(x), gradient)
    close(jax.jit(jax.grad(total))(x), gradient)
    close(jax.grad(jax.jit(total))(x), gradient)
    close(jax.vmap(jax.grad(f))(x), gradient)
    close(jax.grad(lambda v: jax.vmap(f)(v).sum())(x), gradient)
    close(jax.jvp(f, (x,), (jnp.ones(3),))[1], gradient)
    close(jax.vjp(f, x)[1](jnp.ones(3))[0], gradient)
    close(jax.linearize(f, x)[1](jnp.ones(3)), gradient)
    scanned = jax.grad(lambda v: jax.lax.scan(lambda c, _: (f(c), None), v, None, length=2)[0].sum())
    close(scanned(x), wg.grad(lambda v: f(f(v)).sum())(X))


@every_bridge
def test_second_order_under_jaxs_transformations(f: Callable[[Any], Any]) -> None:
    x = jnp.asarray(X)

    def total(v: Any) -> Any:
        return jnp.sum(f(v))

    want = wg.hessian(lambda v: f(v).sum())(X)
    for nest in (jax.hessian(total), jax.jacrev(jax.jacrev(total)), jax.jacfwd(jax.jacfwd(total))):
        close(nest(x), want)
        close(jax.jit(nest)(x), want)


def test_transforms_and_control_flow_on_tracers() -> None:
    x = jnp.asarray(X)
    kinked = wg.grad(lambda v: (wg.maximum(v, 1.0) ** 3).sum())  # half to each at the tie
    close(jax.jit(kinked)(x), kinked(X))
    close(jax.grad(lambda v: kinked(v).sum())(x), wg.grad(lambda v: kinked(v).sum())(X))
    jacobian = wg.jacobian(lambda v: v**2 * v.sum())
    close(jax.jit(jacobian)(x), jacobian(X))
    close(jax.jit(wg.vmap(lambda v: v**2))(x), X**2)
    close(jax.jit(lambda v: wg.cond(v.sum() > 1, lambda u: u * 2, lambda u: u, v))(x), X * 2)
    close(jax.jit(lambda i, v: wg.switch(i, [lambda u: u, lambda u: u * 3], v))(9, x), X * 3)
    doubling = lambda v: wg.while_loop(lambda u: u.sum() < 50, lambda u: u * 1.5, v).sum()
    close(jax.jit(jax.grad(doubling))(x), wg.grad(doubling)(X))
    counted = lambda v: wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, v).sum()
    close(jax.jit(jax.grad(counted))(x), wg.grad(counted)(X))
    from_outside = lambda v: wg.while_loop(
        lambda i, u: i < wg.tensor(v).sum(), lambda i, u: (i + 1, u * 1.5), (0, 1.0)
    )[1]
    close(jax.jit(from_outside)(x), 1.5**3)


def test_complex_gradients_follow_jaxs_convention_under_jax() -> None:
    f = lambda z: (z * z.conj() * 1j + z**2).sum()
    z = jnp.array([1 + 2j, 3 - 1j])
    close(jax.vjp(wg.function(f), z)[1](1 + 0j)[0], jax.vjp(f, z)[1](1 + 0j)[0])


def test_gathered_rows_integers_and_unused_arguments() -> None:
    rows = wg.function(lambda t: (t[np.array([0, 2, 0])] ** 2).sum())
    close(jax.grad(rows)(jnp.ones((3, 2))), [[4, 4], [0, 0], [2, 2]])
    pair = wg.function(lambda v, i, unused: (v * 2, i + 1))
    close(jax.grad(lambda v: pair(v, jnp.arange(3), v)[0].sum())(jnp.asarray(X)), [2, 2, 2])
    close(jax.linear_transpose(wg.function(lambda v: 3 * v), jnp.asarray(X))(jnp.asarray(X))[0], 3 * X)


def test_variables_are_read_at_each_call() -> None:
    v = wg.Variable(X)
    f = jax.jit(wg.function(lambda t: (v * t).sum()))
    close(f(jnp.asarray(X)), X @ X)


# -- loops ----------------------------------------------------------------------------------------------------------------


POLICIES = ["all", "sqrt", "auto", 1, 2, 3, 8]
LOOPS: dict[str, Callable[[Any], Any]] = {
    **{f"scan {p}": a_scan(p) for p in POLICIES},
    **{f"reversed scan {p}": a_scan(p, True) for p in ("all", "auto", 3)},
    **{f"while of at most 200, {p}": a_while(p, 200) for p in POLICIES},
    **{f"while {p}": a_while(p) for p in ("auto", 1, 2, 3, 8)},
    "nested": nested, "branching": branching, "buffered": buffered,
}  # fmt: skip


@pytest.mark.parametrize("f", LOOPS.values(), ids=LOOPS.keys())
def test_loops_are_differentiated_inside_xla(f: Callable[[Any], Any]) -> None:
    want = wg.value_and_grad(f)(1.3)
    x = jnp.asarray(1.3)
    got = wg.function(wg.value_and_grad(f))(x)
    close(got.value, want.value)
    close(got.grad, want.grad)
    close(jax.jit(jax.grad(wg.function(f)))(x), want.grad)


def test_the_history_of_a_loop_of_unknown_length_has_a_fixed_size() -> None:
    gradient = wg.function(wg.grad(a_while(8))).to_jax()
    memory = jax.jit(gradient).lower(jnp.asarray(1.3)).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 20_000  # bytes: 9 slots of two numbers, and what XLA needs beside


@pytest.mark.parametrize("policy", ["all", "sqrt"])
def test_a_policy_that_keeps_a_state_a_step_needs_a_bound(policy: str) -> None:
    with pytest.raises(ValueError, match="needs maximum_iterations"):
        wg.function(wg.grad(a_while(policy)))(jnp.asarray(1.3))


def test_a_loop_in_batches_and_at_second_order() -> None:
    f = wg.function(lambda v: wg.while_loop(lambda u: u < 50, lambda u: u * u + 1, v))
    want = wg.vmap(wg.grad(lambda v: f(v)))(X)
    close(jax.vmap(jax.grad(f))(jnp.asarray(X)), want)
    close(jax.jit(jax.vmap(jax.grad(f)))(jnp.asarray(X)), want)
    close(jax.jvp(f, (jnp.asarray(0.5),), (1.0,))[1], want[0])
    g = wg.function(lambda v: wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, v))
    close(jax.jit(jax.hessian(g))(jnp.asarray(0.5)), wg.hessian(g)(0.5))


def test_a_loop_whose_variables_change_their_shape_runs_as_python() -> None:
    grown = wg.function(lambda v: wg.while_loop(
        lambda u: u.sum() < 12, lambda u: wg.concatenate([u, u]), v, shape_invariants=wg.TensorSpec((None,))
    ).sum())  # fmt: skip
    close(grown(jnp.asarray(X)), grown(X))


# -- both ways ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_a_jax_function_is_an_op_of_ours(kind: Callable[[Any], Any]) -> None:
    theirs = wg.from_jax(lambda x: jnp.sum(jnp.sin(x) ** 2 * x))
    ours = lambda x: (wg.sin(x) ** 2 * x).sum()
    x = kind(X)
    assert type(wg.grad(theirs)(x)) is type(x)
    close(theirs(x), ours(X))
    close(wg.grad(theirs)(x), wg.grad(ours)(X))
    close(wg.hessian(theirs)(x), wg.hessian(ours)(X))
    close(wg.function(wg.grad(theirs))(x), wg.grad(ours)(X))
    close(wg.jvp(theirs, (x,), (x,))[1], wg.jvp(ours, (X,), (X,))[1])
    close(wg.vmap(wg.grad(lambda t: theirs(t)))(x), wg.vmap(wg.grad(lambda t: ours(t)))(X))


def test_a_jax_function_with_a_rule_of_its_own_structures_and_integers() -> None:
    @jax.custom_vjp
    def doubled(x: Any) -> Any:
        return x * 2

    doubled.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 100,))
    f = wg.from_jax(lambda d, k: {"a": doubled(d["u"]) * k, "i": jnp.arange(3), "z": d["w"] @ d["w"]})
    gradient = wg.grad(lambda d: f(d, 3)["a"].sum() + f(d, 3)["z"])({"u": X, "w": X})
    close(gradient["u"], [300.0] * 3)
    close(gradient["w"], 2 * X)
    complex_ = wg.from_jax(lambda z: jnp.sum(z * jnp.conj(z) * 1j + z**3).real)
    z = np.array([1 + 2j, 0.5 - 1j])
    close(wg.grad(complex_)(z), wg.grad(lambda v: (v * v.conj() * 1j + v**3).sum().real)(z))
    theirs = wg.from_jax(lambda x: jnp.sum(x**3))
    close(jax.jit(jax.grad(theirs))(jnp.asarray(X)), 3 * X**2)


def test_a_function_to_jax() -> None:
    ours = wg.function(a_while("auto"))
    theirs = ours.to_jax()
    assert isinstance(theirs(1.3), jax.Array)
    close(theirs(1.3), ours(1.3))
    close(jax.jit(jax.grad(theirs))(1.3), wg.grad(ours)(1.3))


def test_a_primitive_with_a_numpy_kernel_only() -> None:
    cube = wg.primitive("jax_test_cube", spec=lambda x: x, numpy=lambda x: x**3, vjp=lambda ct, out, x: ct * 3 * x**2)
    x = jnp.asarray(X)
    for f in (cube, wg.function(cube)):
        total = lambda v, f=f: f(v).sum()
        close(f(x), X**3)
        close(jax.jit(f)(x), X**3)
        close(jax.jit(jax.grad(total))(x), 3 * X**2)
        close(jax.jit(jax.jacrev(jax.grad(total)))(x), np.diag(6 * X))
        close(jax.vmap(f)(x), X**3)


def test_functions_that_scipy_computes_work_inside_xla() -> None:
    f = lambda t: wg.special.log_ndtr(t).sum()
    close(jax.jit(jax.grad(wg.function(f)))(jnp.asarray(X)), wg.grad(f)(X))


def test_printing_inside_xla(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        wg.debug_print("the sum is {:.2f}", x.sum())
        return x * 2

    close(wg.function(f)(jnp.asarray(X)), X * 2)
    jax.effects_barrier()
    assert "the sum is 3.00" in capfd.readouterr().out


def test_poles_and_limits_of_gamma_functions() -> None:
    zeros, q = np.array([-0.0, 0.0], "f4"), np.array([2.0, 1.0, 0.5, 0.0, -2.0, -2.5], "f4")
    np.testing.assert_array_equal(wg.special.digamma(jax.numpy.asarray(zeros)), [np.inf, -np.inf])
    poles = wg.special.zeta(jax.numpy.asarray(np.full(6, 3.0, "f4")), jax.numpy.asarray(q))
    np.testing.assert_array_equal(np.isposinf(poles), [False, False, False, True, True, False])
    limits = wg.special.zeta(jax.numpy.asarray(np.full(3, np.inf, "f4")), jax.numpy.asarray(q[:3]))
    np.testing.assert_array_equal(limits, [0.0, 1.0, np.inf])


def test_a_traced_array_is_an_index() -> None:
    x, i = jnp.arange(5.0), jnp.array([3, 0, 3])
    read = jax.jit(lambda x, i: (wg.tensor(x)[i] * wg.tensor(x)[i[0]]).native)
    np.testing.assert_array_equal(read(x, i), [9.0, 0.0, 9.0])
    np.testing.assert_array_equal(
        jax.jit(lambda x, i: wg.tensor(x).at[i].add(1.0).native)(x, i), [1.0, 1.0, 2.0, 5.0, 4.0]
    )
    with pytest.raises(wg.TracingError, match="how many elements"):
        jax.jit(lambda x: wg.tensor(x)[wg.tensor(x) > 1.0].native)(x)


@pytest.mark.parametrize("name", ["erfcx", "expi", "jv", "logm", "log_ndtr"])
def test_an_op_on_the_host_alone_has_our_derivatives_and_batches(name: str) -> None:
    op = wg.linalg.logm if name == "logm" else getattr(wg.special, name)
    f = {"jv": lambda x: op(1.0, x)}.get(name, op)
    x = A @ A.T if name == "logm" else X

    def total(x: Any) -> Any:
        return f(x).sum()

    with jax.enable_x64() if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        given, want = jnp.asarray(x), wg.grad(total)(x)
        for _ in range(2):
            close(jax.grad(total)(given), want, 1e-9)
            close(jax.jit(jax.grad(total))(given), want, 1e-9)
            close(jax.vmap(f)(jnp.stack([given, 2 * given])), np.stack([f(x), f(2 * x)]), 1e-9)
            close(jax.jvp(total, (given,), (given,))[1], np.sum(want * x), 1e-9)
        close(jax.hessian(total)(given), wg.hessian(total)(x), 1e-8)
        assert "wengert" in str(jax.make_jaxpr(f)(given))
