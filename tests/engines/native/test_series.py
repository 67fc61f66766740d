"""Series in machine code (modified Bessel functions, polygamma), and functions of what operands repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from docs.making import accuracy
from tests.support import special_accuracy as A
from wengert._core.apply import apply
from wengert._core.op import REGISTRY
from wengert._engines.native.plan.prepare import ready
from wengert._engines.numpy import NUMPY
from wengert._passes import optimise

S = wg.special
HARD = [0.0, -0.0, 1e-300, -1e-8, 7.999999, 8.0, 8.000001, -8.0, 700.0, 1e5, -1e5, np.nan]
X = np.concatenate([np.linspace(-29.7, 30.1, 300), HARD])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "i0": S.i0, "i0e": S.i0e, "i1": S.i1, "i1e": S.i1e,
    **{f"ive {n}": lambda x, n=n: S.ive(n, x) for n in (2, 3, 4, 5)},
    "iv": lambda x: S.iv(2, x),
    **{f"polygamma {n}": lambda x, n=n: S.polygamma(n, x) for n in (0, 1, 2, 6, 7)},
}  # fmt: skip
STATED = accuracy.rows()
POLES = np.array([0.0, -1.0, -2.0, -1e20, np.inf, -np.inf])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_the_kernels(dtype: Any) -> None:
    x = X.astype(dtype)
    with np.errstate(all="ignore"):
        found = wg.function(lambda x: {name: f(x) for name, f in FUNCTIONS.items()})(x)
        for name, f in FUNCTIONS.items():
            assert found[name].dtype == dtype
            # next to digamma's roots below 0 two terms cancel in either: they are right to units of these
            atol = 1e-15 if name == "polygamma 0" else 0.0
            np.testing.assert_allclose(found[name], f(x), 1e-14 if dtype == np.float64 else 1e-6, atol, err_msg=name)


def test_poles_and_ends() -> None:
    names = [name for name in FUNCTIONS if name.startswith("polygamma")]
    with np.errstate(all="ignore"):
        found = wg.function(lambda x: [FUNCTIONS[name](x) for name in names])(POLES)
        for name, values in zip(names, found, strict=True):
            np.testing.assert_array_equal(values, FUNCTIONS[name](POLES), err_msg=name)
        np.testing.assert_allclose(wg.function(S.i0e)(POLES), S.i0e(POLES), 1e-15)


def test_what_overflows_late_is_finite() -> None:
    """e^x is infinite from 709.8 on, the functions are from 713 on."""
    assert wg.function(lambda x: S.iv(2, x))(712.0) == pytest.approx(2.4614821897475353e307, rel=1e-12)


def test_derivatives_are_series_too() -> None:
    x = X[:-1][np.abs(X[:-1]) < 30]
    f = wg.vmap(wg.grad(wg.grad(lambda x: S.i1e(x) + S.digamma(abs(x) + 0.2))))
    compiled = wg.function(f)
    np.testing.assert_allclose(compiled(x), f(x), 1e-12)
    assert {part.why for part in compiled.report(x).parts} == {""}


def test_digamma_of_single_numbers_is_the_librarys() -> None:
    """In vectors ours takes less time, by itself six times as much."""

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, y: S.digamma(y + 5.0), x)

    for count, whys in ((2, {"special.psi"}), (100, {""})):
        x, compiled = np.linspace(1.0, 2.0, count), wg.function(f, name=f"of_{count}")
        np.testing.assert_allclose(compiled(x), f(x), 1e-14)
        assert {part.why for part in compiled.report(x).parts} - {""} == whys - {""}


def test_digamma_is_exact_next_to_its_first_root_below_0() -> None:
    x = np.array([-0.5040830082644554, -0.50408, -0.504, -0.45, -0.5999, -0.6001])
    assert wg.function(S.digamma)(x)[0] == pytest.approx(7.23162849047831e-17, rel=1e-14)
    np.testing.assert_allclose(wg.function(S.digamma)(x[1:]), S.digamma(x[1:]), 2e-15)


def test_slopes_of_beta_are_steps_of_digamma_without_digits_that_cancel() -> None:
    """psi(x + 2) - psi(x) is 1 / x + 1 / (x + 1), also below 0; of tiny and huge steps it is no 0 and no NaN."""
    slope = wg.grad(lambda a, b: wg.sum(S.betaln(a, b)))
    x = np.array([-1000.3, -0.3, 1e-3, 0.7, 30.0, 1e10])
    for f in (slope, wg.function(slope)):
        np.testing.assert_allclose(f(x, np.full(x.shape, 2.0)), -1 / x - 1 / (x + 1), 1e-13)
        small = f(np.array([1e-3, 2.0, 1e20]), np.full(3, 1e-25))
        np.testing.assert_allclose(small, -1e-25 * S.polygamma(1, np.array([1e-3, 2.0, 1e20])), 1e-14)
        tiny = 2.0**-52
        beside_poles = f(np.array([-1e-5, -1e-5, tiny, tiny]), np.array([tiny, -tiny, -1.0, -2.0]))
        np.testing.assert_allclose(beside_poles, [-2.22044604966487e-6, 2.22044604956626e-6, -1.0, -1.5], 1e-14)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(np.array([2.0, np.inf]), np.array([np.inf, 1e-3])), [-np.inf, 0.0])


def test_functions_of_a_library_leave_vectors_to_the_others() -> None:
    """Values and gradients of programs in which both are, in loops of many elements and of few."""

    def f(x: Any, y: Any) -> Any:
        return S.gamma(wg.exp(x)) * S.digamma(y) + S.gammaln(x * y), S.beta(x, y) * wg.sin(S.i0(y)), wg.exp(x)

    slope = wg.grad(lambda x, y: sum(wg.sum(v) for v in f(x, y)), argnums=(0, 1))
    for count in (1, 5, 40, 300, 5000, 200_000):
        x, y = np.random.default_rng(count).uniform(0.2, 2.0, (2, count))
        for g in (f, slope):
            for found, wanted in zip(wg.function(g)(x, y), g(x, y), strict=True):
                np.testing.assert_allclose(found, wanted, 1e-12, 1e-13)


def test_zeta_and_its_slopes_in_loops_are_those_of_the_kernels() -> None:
    ends = [-np.inf, -1e300, -2.5, -2.0, -0.5, 0.0, 1e-300, 0.3, 1.0, 2.0, 7.0, 50.0, 1e10, 1e300, np.inf, np.nan]
    s, q = np.array(np.meshgrid([*ends, 1.01, 2000.0], ends)).reshape(2, -1)

    def f(s: Any, q: Any) -> Any:
        slope = wg.grad(lambda s: wg.sum(S.zeta(s, q)))
        found = (S.zeta(s, q), slope(s), wg.grad(lambda s: wg.sum(slope(s)))(s))
        return wg.fori_loop(0, 2, lambda i, _: found, (s, s, s))

    compiled = wg.function(f)
    with np.errstate(all="ignore"):
        for found, wanted in zip(compiled(s, q), f(s, q), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-12)
        assert {part.by for part in compiled.report(s, q).parts} == {"machine code"}


@pytest.mark.parametrize("name", ["digamma", "ndtr", "ndtri", "log_ndtr", "erfcx", "zeta", "beta", "betaln", "kv 2.5"])
def test_values_of_machine_code_are_as_exact_as_stated(name: str) -> None:
    """Of slopes the factors are other functions, exp in vectors among them."""
    for sample in (s.counted(np.float64) for s in A.samples() if s.name == name and sum(s.orders) == 0):
        f = wg.function(A.function_of(name))
        most = int(STATED[name.split()[0]][A.kind_of(sample.orders, np.float64)])
        assert np.max(A.errors(sample, np.asarray(f(*sample.points)))) <= most, sample.orders


@pytest.mark.parametrize("name", ["ndtr", "ndtri", "log_ndtr", "erfcx", "normal_hazard"])
def test_what_is_not_chosen_raises_no_flag(name: str) -> None:
    x = np.linspace(1e-3, 1 - 1e-3, 99) if name == "ndtri" else np.linspace(-25.0, 35.0, 121)
    primitive = REGISTRY[name]
    compiled = wg.function(lambda x: apply(primitive, (wg.asarray(x),), ()))
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = compiled(x)
        np.testing.assert_allclose(found, NUMPY.kernels[name](x), 1e-13)
    assert {part.why for part in compiled.report(x).parts} == {""}


# -- what operands repeat ----------------------------------------------------------------------------------------------


def shapes_of(f: Callable[..., Any], name: str, *args: Any) -> list[tuple[int, ...]]:
    """The shapes of which an op is computed in the graph for machine code."""
    graph = ready(optimise(wg.function(f).trace(*args)))
    return [node.outputs[0].shape for node in graph.nodes if node.op.name == name]


def test_functions_of_repeated_operands_are_computed_once() -> None:
    x = np.linspace(0.5, 2.0, 12).reshape(3, 4)

    def f(a: Any, b: Any, x: Any) -> Any:
        whole = wg.broadcast_to(a, x.shape)
        rows = wg.broadcast_to(b, x.shape)
        one = wg.exp(S.gammaln(whole * 2.0 + 1.0)) * x
        two = S.betaln(rows, wg.full(x.shape, 2.5)) + S.gammaln(rows + whole)
        return one + two + S.gammaln(x + whole)

    args = 1.5, np.linspace(1.0, 2.0, 4), x
    assert sorted(shapes_of(f, "lgamma", *args)) == [(), (3, 4), (4,)]
    assert shapes_of(f, "betaln", *args) == [(4,)]
    np.testing.assert_allclose(wg.function(f)(*args), f(*args), 1e-13)
    g = wg.grad(lambda a, b, x: wg.sum(f(a, b, x)), argnums=(0, 1, 2))
    for found, wanted in zip(wg.function(g)(*args), g(*args), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-12)


def test_of_no_elements_nothing_is_computed_and_told() -> None:
    f = wg.function(lambda a, x: wg.log(wg.broadcast_to(a, x.shape)) + x)
    with np.errstate(all="raise"):
        assert f(0.0, np.zeros((0, 4))).shape == (0, 4)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        f(0.0, np.zeros((2, 4)))


def test_values_that_are_used_again_and_again_are_looked_at_once() -> None:
    def f(a: Any, x: Any) -> Any:
        whole = wg.broadcast_to(a, x.shape)
        for k in range(1500):
            whole = whole * whole * 1e-3 + whole / (k + 2.0)
        return S.gammaln(whole + 1.5) + x

    x = np.linspace(0.5, 2.0, 12)
    assert shapes_of(f, "lgamma", 0.5, x) == [()]
