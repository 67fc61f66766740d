"""`integrate.solve_ivp`: SciPy's steps and results, derivatives against exact solutions, eagerly and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate as scipy_integrate

import wengert as wg

solve_ivp = wg.integrate.solve_ivp
EXPLICIT = ("RK23", "RK45", "DOP853")
SCIPYS = (*EXPLICIT, "Radau")
METHODS = (*SCIPYS, "taylor")
PREY = (1.5, 1.0, 3.0, 1.0)
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def prey(t: Any, z: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return [a * z[0] - b * z[0] * z[1], -c * z[1] + d * z[0] * z[1]]


def forced(t: Any, y: Any) -> Any:
    return [y[1], -y[0] + np.sin(3 * t)]


def robertson(t: Any, y: Any) -> Any:
    slow, fast, fastest = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return [-slow + fast, slow - fast - fastest, fastest]


def van_der_pol(t: Any, y: Any, mu: Any) -> Any:
    return [y[1], mu * (1 - y[0] * y[0]) * y[1] - y[0]]


def oscillator(t: Any, y: Any, w: Any) -> Any:
    return [y[1], -w * w * y[0]]


def swinging(y: Any, w: Any, t0: Any, t1: Any) -> Any:
    """The exact place of the oscillator."""
    return y[0] * np.cos(w * (t1 - t0)) + y[1] / w * np.sin(w * (t1 - t0))


def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return scipy_integrate.solve_ivp(*args, **kwargs), solve_ivp(*args, **kwargs)


# -- SciPy's results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.parametrize("span", [(0, 4), (3.0, -1.0)])
@pytest.mark.parametrize("count", [None, 9])
@pytest.mark.parametrize("tolerances", [{}, {"rtol": 1e-6, "atol": np.array([1e-8, 1e-7])}])
def test_explicit_methods_take_scipys_steps(method: str, span: Any, count: Any, tolerances: Any) -> None:
    t_eval = None if count is None else np.linspace(*span, count)
    wanted, found = both(prey, span, np.array([10.0, 5.0]), method=method, t_eval=t_eval, args=PREY, **tolerances)
    assert (found.nfev, found.njev, found.nlu, found.status) == (wanted.nfev, 0, 0, 0)
    assert found.success and found.message == wanted.message
    # rounding, which the feedback of the step control magnifies
    np.testing.assert_allclose(found.t, wanted.t, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.y, wanted.y, rtol=1e-6)


@pytest.mark.parametrize("method", EXPLICIT)
def test_time_dependence_and_complex_numbers(method: str) -> None:
    wanted, found = both(forced, (0, 3), np.array([1.0, 0.0]), method=method, t_eval=np.array([0.0, 0.5, 3.0]))
    np.testing.assert_allclose(found.y, wanted.y, rtol=1e-9, atol=1e-12)  # rounding, magnified by step control
    wanted, found = both(lambda t, y: 1j * y, (0, 2), np.array([1.0 + 0.5j]), method=method, rtol=1e-6)
    assert found.nfev == wanted.nfev and found.y.dtype == np.complex128
    # where a step errs hardly at all (DOP853) its estimated error is rounding, and so is the length of the next step
    np.testing.assert_allclose(found.y, wanted.y, rtol=1e-6)


@pytest.mark.parametrize(
    ("fun", "span", "y0", "args"),
    [(robertson, (0, 1e4), [1.0, 0.0, 0.0], ()), (van_der_pol, (0, 3000.0), [2.0, 0.0], (1000.0,))],
)
def test_stiff_problems(fun: Any, span: Any, y0: Any, args: Any) -> None:
    times = np.linspace(*span, 7)
    options: dict[str, Any] = {"method": "Radau", "rtol": 1e-6, "atol": 1e-9, "args": args}
    wanted, found = both(fun, span, np.array(y0), t_eval=times, **options)
    scale = 1e-9 + np.abs(wanted.y)
    # the Jacobian is exact and newer than SciPy's: other steps, of the same tolerated error
    assert found.success and np.max(np.abs(found.y - wanted.y) / scale) < 1e-3
    assert found.nfev < 1.3 * wanted.nfev
    traced = wg.function(lambda y: solve_ivp(fun, span, y, t_eval=times, **options).y)(np.array(y0))
    assert np.max(np.abs(traced - found.y) / scale) < 1e-3  # the order of sums differs, and with it the steps


@pytest.mark.parametrize("method", METHODS)
def test_a_trace_takes_the_same_steps(method: str) -> None:
    y0, times = np.array([10.0, 5.0]), np.linspace(3.0, 0.0, 6)

    def run(y0: Any, t_eval: Any) -> Any:
        sol = solve_ivp(prey, (3.0, 0.0), y0, method=method, t_eval=t_eval, args=PREY)
        return sol.t, sol.y, sol.nfev, sol.njev, sol.nlu, sol.status, sol.success

    eager, traced = run(y0, times), wg.function(run)(y0, times)
    assert traced[2:] == eager[2:]
    np.testing.assert_allclose(traced[1], eager[1], rtol=1e-9)  # rounding, magnified by step control
    ends = wg.function(lambda y: solve_ivp(prey, (3.0, 0.0), y, method=method, args=PREY))(y0)
    np.testing.assert_array_equal(ends.t, [3.0, 0.0])
    np.testing.assert_allclose(ends.y[:, 1], eager[1][:, -1], rtol=1e-7)  # the interpolant ends in the step


def test_nested_states() -> None:
    def fun(t: Any, y: Any, k: Any) -> Any:
        return {"place": y["speed"], "speed": -k["stiffness"] * y["place"]}

    y0 = {"place": np.ones((2, 3)), "speed": np.zeros((2, 3))}
    sol = solve_ivp(fun, (0, 1), y0, args=({"stiffness": 4.0},), t_eval=np.array([0.0, 0.5, 1.0]), **TIGHT)
    assert sol.y["place"].shape == (2, 3, 3)
    np.testing.assert_allclose(sol.y["place"][0, 0], np.cos(2 * sol.t), rtol=1e-7)  # the tolerance of the solution

    def end(k: Any) -> Any:
        return solve_ivp(fun, (0, 1), y0, args=({"stiffness": k},), **TIGHT).y["place"][1, 2, -1]

    assert abs(wg.grad(end)(4.0) + np.sin(2.0) / 4) < 1e-7  # the tolerance of the solution


def test_tensors_come_out_where_tensors_go_in() -> None:
    assert isinstance(solve_ivp(forced, (0, 1), wg.tensor([1.0, 0.0])).y, wg.Tensor)
    assert type(solve_ivp(forced, (0, 1), np.array([1.0, 0.0])).y) is np.ndarray


# -- derivatives ------------------------------------------------------------------------------------------------------


def place(method: str, **options: Any) -> Any:
    def at_end(y0: Any, w: Any, t0: Any, t1: Any) -> Any:
        return solve_ivp(oscillator, (t0, t1), y0, method=method, args=(w,), **{**TIGHT, **options}).y[0, -1]

    return at_end


POINT = (np.array([1.0, 0.5]), 1.3, 0.25, 1.75)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "taylor"])
@pytest.mark.parametrize("is_traced", [False, True])
def test_gradients_of_the_oscillator(method: str, is_traced: bool) -> None:
    f = wg.function(place(method)) if is_traced else place(method)
    wanted = wg.grad(swinging, (0, 1, 2, 3))(*POINT)
    for found, exact in zip(wg.grad(f, (0, 1, 2, 3))(*POINT), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-6)  # what the tolerance of the solution lets expect


@pytest.mark.sampled(1)  # five seconds each
@pytest.mark.parametrize("method", SCIPYS)
def test_second_and_third_derivatives(method: str) -> None:
    y0, w, t0, t1 = POINT
    options = {"rtol": 1e-6, "atol": 1e-8}
    f = wg.function(lambda w, t1: place(method, **options)(y0, w, t0, t1))

    def exact(w: Any, t1: Any) -> Any:
        return swinging(y0, w, t0, t1)

    for n in (2, 3):
        found, wanted = f, exact
        for _ in range(n - 1):
            found, wanted = wg.grad(found), wg.grad(wanted)
        # what the tolerance of the solution lets expect; each order costs a power of the interval
        np.testing.assert_allclose(wg.grad(found)(w, t1), wg.grad(wanted)(w, t1), rtol=2e-4)
    mixed = wg.grad(lambda t: wg.grad(f)(w, t))(t1)
    np.testing.assert_allclose(mixed, wg.grad(lambda t: wg.grad(exact)(w, t))(t1), rtol=1e-4)  # as above


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("is_traced", [False, True])
def test_gradients_in_the_times_and_in_what_fun_closes_over(method: str, is_traced: bool) -> None:
    rate = wg.Variable(0.7)
    weights = np.array([1.0, -2.0, 0.5])

    def total(times: Any) -> Any:
        return (solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), np.array([1.5]), method=method, t_eval=times,
                          rtol=1e-7, atol=1e-9).y[0] * weights).sum()  # fmt: skip

    f = wg.function(total) if is_traced else total
    times = np.array([0.0, 0.8, 2.0])
    with wg.GradientTape() as tape:
        watched = wg.tensor(times)
        tape.watch(watched)
        value = f(watched)
    by_times, by_rate = tape.gradient(value, [watched, rate])
    exact = 1.5 * np.exp(-0.7 * times)
    np.testing.assert_allclose(by_times.numpy(), -0.7 * exact * weights, rtol=2e-4)  # a derivative of the interpolant
    np.testing.assert_allclose(by_rate.numpy(), (-times * exact * weights).sum(), rtol=1e-5)  # the solution's tolerance


def test_predators_against_differences() -> None:
    y0 = np.array([10.0, 5.0])

    def f(y0: Any, p: Any) -> Any:
        return solve_ivp(prey, (0.0, 2.0), y0, args=(p[0], p[1], p[2], p[3]), **TIGHT).y[:, -1].sum()

    p = np.array(PREY)
    by_state, by_parameters = wg.grad(wg.function(f), (0, 1))(y0, p)
    step = 1e-5
    for gradient, at in ((by_state, lambda d: f(y0 + d, p)), (by_parameters, lambda d: f(y0, p + d))):
        for unit, slope in zip(np.eye(gradient.size) * step, gradient, strict=True):
            # the error of differences with this step, and that of the solution divided by it
            np.testing.assert_allclose(slope, (at(unit) - at(-unit)) / (2 * step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_policies_agree_bit_for_bit(method: str) -> None:
    found = [
        wg.grad(wg.function(place(method, checkpoint=policy, rtol=1e-5)), (0, 1))(*POINT)
        for policy in ("all", "auto", "sqrt", 3)
    ]
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("is_traced", [False, True])
def test_an_interval_of_no_length_has_the_slope_as_derivative(is_traced: bool) -> None:
    def f(t1: Any) -> Any:
        return solve_ivp(lambda t, y: -3 * y, (1.0, t1), np.array([2.0])).y[0, -1]

    f = wg.function(f) if is_traced else f
    assert f(1.0) == 2.0 and wg.grad(f)(1.0) == -6.0


# -- failures and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SCIPYS)
def test_a_pole_ends_the_integration(method: str) -> None:
    options: dict[str, Any] = {"method": method, "t_eval": np.array([0.5, 2.0])}
    with np.errstate(all="ignore"):
        wanted, found = both(lambda t, y: y * y, (0.0, 2.0), np.array([1.0]), **options)
        traced = wg.function(lambda y: solve_ivp(lambda t, y: y * y, (0.0, 2.0), y, **options))(np.array([1.0]))
    assert (found.status, found.success, found.message) == (-1, False, wanted.message)
    np.testing.assert_array_equal(found.t, wanted.t)
    assert traced.status == -1 and not traced.success
    np.testing.assert_allclose(traced.y[0, 0], found.y[0, 0], rtol=1e-9)  # rounding, magnified by step control
    assert np.isnan(traced.y[0, 1])


# -- Taylor's method --------------------------------------------------------------------------------------------------


def lorenz(t: Any, y: Any) -> Any:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(("fun", "y0"), [(lorenz, [1.0, 1.0, 1.0]), (forced, [1.0, 0.0])], ids=["lorenz", "forced"])
def test_taylor_is_as_exact_as_it_is_asked_to_be(fun: Any, y0: Any, rtol: float) -> None:
    times, y0 = np.linspace(0, 3, 7), np.array(y0)
    exact = scipy_integrate.solve_ivp(fun, (0, 3), y0, method="DOP853", t_eval=times, rtol=3e-14, atol=1e-15).y
    found = solve_ivp(fun, (0, 3), y0, method="taylor", t_eval=times, rtol=rtol, atol=rtol)
    assert found.success and np.max(np.abs(found.y - exact)) < 100 * rtol
    few = scipy_integrate.solve_ivp(fun, (0, 3), y0, method="DOP853", rtol=rtol, atol=rtol).nfev
    assert found.nfev < few  # in long steps


def test_taylor_goes_back_in_time_and_through_functions_branches_and_loops() -> None:
    inner = wg.function(lambda y, k: np.sin(y) * k)

    def fun(t: Any, y: Any, k: Any) -> Any:
        slope = inner(y, k) + wg.fori_loop(0, 2, lambda i, c: np.cos(c) * t, y)
        return wg.cond(t > -1, lambda s: s, lambda s: 2 * s, slope)

    def end(k: Any, method: str) -> Any:
        options = {"rtol": 1e-5, "atol": 1e-7}
        return solve_ivp(fun, (1, 0), np.array([1.0]), method=method, args=(k,), **options).y[0, -1]

    compiled = wg.function(lambda k: end(k, "taylor"))
    value, slope = wg.value_and_grad(wg.function(lambda k: end(k, "DOP853")))(0.3)
    assert np.isclose(end(0.3, "taylor"), value, rtol=1e-5) and np.isclose(compiled(0.3), value, rtol=1e-5)
    assert np.isclose(wg.grad(compiled)(0.3), slope, rtol=1e-4)
    assert np.isclose(wg.jvp(compiled, (0.3,), (1.0,))[1], slope, rtol=1e-4)


def test_taylor_finds_the_jumps_that_its_series_cannot_know() -> None:
    def switched(t: Any, y: Any) -> Any:
        return wg.cond(y[0] > 0.5, lambda y: -y, lambda y: -2 * y, y)

    found = solve_ivp(switched, (0, 2), np.array([1.0]), method="taylor", rtol=1e-8, atol=1e-9)
    assert np.isclose(found.y[0, -1], 0.5 * np.exp(-2 * (2 - np.log(2))), rtol=1e-6)  # the jump is stepped over
    kinked = solve_ivp(lambda t, y: np.abs(np.sin(3 * t)) + 0 * y, (0, 3), np.zeros(1), method="taylor", rtol=1e-8)
    assert np.isclose(kinked.y[0, -1], (5 - np.cos(9 - 2 * np.pi)) / 3, atol=1e-4)  # 1e-6 asked for in each step


def test_taylor_takes_first_and_longest_steps_and_polynomials_at_once() -> None:
    assert solve_ivp(lambda t, y: 3 * t * t + 0 * y, (0, 4), np.zeros(1), method="taylor").t.shape == (2,)
    assert np.isclose(solve_ivp(lambda t, y: 3 * t * t + 0 * y, (0, 4), np.zeros(1), method="taylor").y[0, -1], 64.0)
    found = solve_ivp(forced, (0, 1), np.array([1.0, 0.0]), method="taylor", first_step=0.01, max_step=0.25)
    assert np.isclose(found.t[1], 0.01) and np.max(np.diff(found.t)) <= 0.25 + 1e-12
    moving = solve_ivp(lambda t, y: 1j * y, (0, 2), np.array([1.0 + 0.5j]), method="taylor", rtol=1e-9)
    assert np.isclose(moving.y[0, -1], (1 + 0.5j) * np.exp(2j), rtol=1e-8)


def test_taylor_has_second_derivatives() -> None:
    y0, w, t0, t1 = POINT
    f = wg.function(lambda w: place("taylor", rtol=1e-5, atol=1e-7)(y0, w, t0, t1))
    exact = wg.grad(wg.grad(lambda w: swinging(y0, w, t0, t1)))(w)
    assert np.isclose(wg.grad(wg.grad(f))(w), exact, rtol=1e-4)


def _scales_in(graph: Any) -> int:
    """How often a tangent that may hold structural zeros is multiplied by a slope, in loops too."""
    inner = [
        program.graph for node in graph.nodes for program in getattr(node.attrs[0] if node.attrs else 0, "inner", ())
    ]
    return sum(node.op.name == "scale" for node in graph.nodes) + sum(map(_scales_in, inner))


def test_taylors_steps_multiply_tangents_by_finite_slopes() -> None:
    def field(t: Any, y: Any, p: Any) -> Any:
        return wg.stack([y[1], -y[0] * (1 + wg.sqrt(p))])

    def end(y0: Any, p: Any) -> Any:
        return solve_ivp(field, (0.0, 1.0), y0, method="taylor", args=(p,), rtol=1e-8).y[:, -1]

    y0 = np.array([1.0, 0.5])
    of_start, of_both = wg.jacobian(end, mode="forward"), wg.jacobian(end, (0, 1), mode="forward")
    assert _scales_in(wg.function(of_start).trace(y0, 0.0)) < 20  # before the steps, where lengths are chosen
    # a parameter's slope may be infinite all the same: beside it the start's tangents stay as they are
    for found in (wg.function(of_start)(y0, 0.0), wg.function(of_both)(y0, 0.0)[0]):
        np.testing.assert_allclose(found, [[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]], rtol=1e-6)


def test_a_pole_ends_taylors_method() -> None:
    options: dict[str, Any] = {"method": "taylor", "t_eval": np.array([0.5, 2.0])}
    with np.errstate(all="ignore"):
        found = solve_ivp(lambda t, y: y * y, (0.0, 2.0), np.array([1.0]), **options)
        traced = wg.function(lambda y: solve_ivp(lambda t, y: y * y, (0.0, 2.0), y, **options))(np.array([1.0]))
    assert (found.status, found.success) == (-1, False) and found.t.tolist() == [0.5]
    np.testing.assert_allclose(traced.y[0], [found.y[0, 0], np.nan], rtol=1e-9)  # rounding, magnified by step control
    assert np.isclose(found.y[0, 0], 2.0, rtol=1e-3) and traced.status == -1


def test_empty_and_single() -> None:
    found = solve_ivp(lambda t, y: y, (0, 1), np.zeros(0))
    assert found.y.shape == (0, 2) and found.success
    found = solve_ivp(forced, (2, 2), np.array([1.0, 0.0]), t_eval=np.array([2.0]))
    np.testing.assert_array_equal(found.y, [[1.0], [0.0]])
    assert solve_ivp(forced, (0, 1), np.array([1.0, 0.0]), t_eval=np.zeros(0)).y.shape == (2, 0)


def test_errors() -> None:
    y0 = np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="`method` must be one of"):
        solve_ivp(forced, (0, 1), y0, method="Euler")
    with pytest.raises(ValueError, match="not within `t_span`"):
        solve_ivp(forced, (0, 1), y0, t_eval=[0.5, 1.5])
    with pytest.raises(ValueError, match="not properly sorted"):
        solve_ivp(forced, (1, 0), y0, t_eval=[0.5, 0.75])
    with pytest.raises(ValueError, match="`t_eval` must be 1-dimensional"):
        solve_ivp(forced, (0, 1), y0, t_eval=[[0.5]])
    with pytest.raises(ValueError, match="`y0` must be 1-dimensional"):
        solve_ivp(forced, (0, 1), 1.0)
    with pytest.raises(ValueError, match="must be finite"):
        solve_ivp(forced, (0, 1), np.array([np.nan, 0.0]))
    with pytest.raises(ValueError, match="complex domain"):
        solve_ivp(forced, (0, 1), y0 + 0j, method="Radau")
    with pytest.raises(ValueError, match="`atol` has wrong shape"):
        solve_ivp(forced, (0, 1), y0, atol=np.ones(3))
    with pytest.raises(ValueError, match="`atol` must be positive"):
        solve_ivp(forced, (0, 1), y0, atol=-1.0)
    with pytest.raises(TypeError, match="cannot be unpacked"):
        solve_ivp(forced, (0, 1), y0, args=3.0)
    with pytest.raises(TypeError, match="callable"):
        solve_ivp(3, (0, 1), y0)
    with pytest.raises(ValueError, match="fun returned shape"):
        solve_ivp(lambda t, y: y[:1], (0, 1), y0)
    with pytest.raises(TypeError, match="complex numbers for a real y0"):
        solve_ivp(lambda t, y: 1j * y, (0, 1), y0)
    with pytest.raises(ValueError, match="unknown checkpoint"):
        solve_ivp(forced, (0, 1), y0, checkpoint="some")
    with pytest.warns(UserWarning, match="`rtol` is too small"):
        solve_ivp(forced, (0, 0.1), y0, rtol=0.0, method="DOP853")


@pytest.mark.parametrize("method", [*EXPLICIT, "Radau", "taylor"])
@pytest.mark.parametrize("is_gradient", [False, True], ids=["value", "gradient"])
def test_compiled_steps_are_machine_code(method: str, is_gradient: bool) -> None:
    pytest.importorskip("llvmlite", reason="nothing is machine code without it")

    def end(mu: Any) -> Any:
        def oscillator(t: Any, y: Any, mu: Any) -> Any:
            return wg.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        return solve_ivp(oscillator, (0.0, 0.5), np.array([2.0, 0.0]), method=method, args=(mu,)).y[0, -1]

    f = wg.function(wg.grad(end) if is_gradient else end)
    by = {part.by for part in f.report(3.0).parts}
    assert by == {"machine code"}, by
