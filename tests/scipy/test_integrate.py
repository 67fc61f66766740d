"""`wengert.scipy.integrate`: values against SciPy's, gradients against differences and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import wengert as wg
from tests.support.scipy_rows import Row, check_slope
from wengert.scipy import integrate

RNG = np.random.default_rng(3)
Y = RNG.normal(size=(2, 9))
T = np.cumsum(0.3 + RNG.uniform(size=9))


def followed(f, *args):
    """A function's value while its arguments are followed."""
    return float(wg.value_and_grad(f)(*args)[0])


ROWS = [
    *[Row(f"integrate.{name}", Y[:, :n], T[:n], followed=2)
      for name in ("trapezoid", "cumulative_trapezoid", "simpson") for n in (2, 3, 8, 9)],
    *[Row(f"integrate.{name}", Y.T, axis=0, dx=0.3) for name in ("trapezoid", "simpson", "cumulative_simpson", "romb")],
    Row("integrate.cumulative_trapezoid", Y, T, initial=0, followed=2),
    Row("integrate.simpson", Y, np.stack([T, T**2 + T]), followed=2),
    *[Row("integrate.cumulative_simpson", Y[:, :n], x=T[:n], initial=1.5) for n in (2, 3, 8, 9)],
    Row("integrate.romb", Y, 0.2, followed=2),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_values_are_scipys(row: Row) -> None:
    row.check_values()


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_gradients_are_those_of_differences(row: Row) -> None:
    row.check_slopes()


def test_fixed_quad_follows_limits_and_arguments() -> None:
    def f(a, b, k):
        return integrate.fixed_quad(lambda x, k: np.exp(-k * x), a, b, (k,), n=7)[0]

    check_slope(f, [0.2, 1.3, 0.7])
    np.testing.assert_allclose(f(0.2, 1.3, 0.7), (np.exp(-0.14) - np.exp(-0.91)) / 0.7, rtol=1e-9)


INTEGRANDS = {
    "smooth": (lambda x, k: np.exp(-k * x * x), 0.1, 1.7, 0.8),
    "backwards": (lambda x, k: np.sin(k * x), 2.0, -1.0, 1.3),
    "half line": (lambda x, k: np.exp(-k * x) * x, 0.3, np.inf, 1.4),
    "left half line": (lambda x, k: np.exp(k * x), -np.inf, 0.5, 1.4),
    "line": (lambda x, k: np.exp(-((x - k) ** 2)), -np.inf, np.inf, 0.4),
    "kink": (lambda x, k: abs(x - k) ** 1.5, 0.0, 1.0, 0.3),
}


@pytest.mark.parametrize("name", INTEGRANDS)
def test_an_integral_follows_its_finite_limits_and_arguments(name: str) -> None:
    f, a, b, k = INTEGRANDS[name]
    finite = [x for x in (a, b) if np.isfinite(x)]

    def value(k, *limits):
        given = iter(limits)
        low, high = (next(given) if np.isfinite(x) else x for x in (a, b))
        return integrate.quad(f, low, high, args=(k,))[0]

    assert followed(value, k, *finite) == pytest.approx(scipy.integrate.quad(f, a, b, args=(k,))[0], rel=1e-12)
    check_slope(value, [k, *finite])


def test_derivatives_of_powers_that_are_singular_at_a_limit() -> None:
    # beta(p, q): the derivatives have logarithms, too
    def beta(p, q):
        return integrate.quad(lambda x: x ** (p - 1) * (1 - x) ** (q - 1), 0.0, 1.0)[0]

    p, q = 0.6, 0.7
    digamma = scipy.special.digamma
    expected = scipy.special.beta(p, q) * (np.array([digamma(p), digamma(q)]) - digamma(p + q))
    np.testing.assert_allclose(wg.grad(beta, argnums=(0, 1))(p, q), expected, rtol=1e-7)


def test_an_integral_is_differentiated_twice_in_its_limit_and_what_it_captures() -> None:
    def f(b):
        return integrate.quad(lambda x: np.sin(b * x), 0.0, b)[0]  # (1 - cos(b^2)) / b

    b = 1.2
    first = 2 * np.sin(b * b) - (1 - np.cos(b * b)) / b**2
    second = 4 * b * np.cos(b * b) - 2 * np.sin(b * b) / b + 2 * (1 - np.cos(b * b)) / b**3
    np.testing.assert_allclose(wg.grad(f)(b), first, rtol=1e-9)
    np.testing.assert_allclose(wg.grad(wg.grad(f))(b), second, rtol=1e-8)
    np.testing.assert_allclose(wg.jvp(f, (b,), (1.0,))[1], first, rtol=1e-9)


def test_integrals_of_complex_functions_and_their_reports() -> None:
    def f(k):
        return np.abs(integrate.quad(lambda x: np.exp(1j * k * x), 0, 1, complex_func=True)[0])

    check_slope(f, [1.1])
    with wg.GradientTape() as tape:
        k = wg.Variable(1.1)
        value, error, info = integrate.quad(lambda x: k * x, 0, 1, full_output=True)
    assert info["neval"] == 21
    assert error < 1e-10
    np.testing.assert_allclose(tape.gradient(value, k), 0.5)


def test_integrals_over_two_and_three_variables() -> None:
    def plane(a, b, k):
        return integrate.dblquad(lambda y, x, k: np.exp(-k * x * y), 0, a, lambda x: b * x, lambda x: 1 + x, (k,))[0]

    check_slope(plane, [0.9, 0.3, 1.2])
    assert followed(plane, 0.9, 0.3, 1.2) == pytest.approx(
        scipy.integrate.dblquad(lambda y, x: np.exp(-1.2 * x * y), 0, 0.9, lambda x: 0.3 * x, lambda x: 1 + x)[0]
    )
    same = wg.grad(
        lambda k: integrate.nquad(lambda y, x: np.exp(-k * x * y), [lambda x: (0.3 * x, 1 + x), (0, 0.9)])[0]
    )
    np.testing.assert_allclose(same(1.2), wg.grad(plane, argnums=2)(0.9, 0.3, 1.2), rtol=1e-10)


IN_TRACES = {
    "a range": lambda a: integrate.quad(lambda x: np.exp(-a * x**2), 0, 2.0)[0],
    "an infinite one": lambda a: integrate.quad(lambda x: np.exp(-a * x**2), 0, np.inf)[0],
    "all numbers": lambda a: integrate.quad(lambda x: np.exp(-a * x**2), -np.inf, np.inf)[0],
    "from the end": lambda a: integrate.quad(lambda x: np.exp(a * x), 0.0, -np.inf)[0],
    "a followed limit": lambda a: integrate.quad(lambda x: np.exp(-x * x), a, 0.5)[0],
    "a singular end": lambda a: integrate.quad(lambda x: x ** (-a / 3), 0, 1)[0],
    "a point": lambda a: integrate.quad(lambda x: a * np.abs(x - 0.3), 0, 1, points=[0.3])[0],
    "arguments": lambda a: integrate.quad(lambda x, k: np.sin(k * x), 0, 1, args=(a,))[0],
}


@pytest.mark.parametrize("name", IN_TRACES)
def test_integrals_in_traces(name: str) -> None:
    f = IN_TRACES[name]
    value, slope = wg.value_and_grad(f)(1.5)
    found = wg.function(wg.value_and_grad(f))(1.5)
    np.testing.assert_allclose([found.value, found.grad], [value, slope], rtol=1e-9)
    np.testing.assert_allclose(wg.vmap(f)(np.array([1.5, 1.5])), [value, value], rtol=1e-9)


def test_an_integral_in_a_trace_tells_its_error() -> None:
    kinked = lambda a: integrate.quad(lambda x: np.abs(x - a / 5), 0, 1)
    value, error = wg.function(kinked)(1.5)
    assert abs(value - (0.3**2 + 0.7**2) / 2) < error < 1e-6


@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_stiff_methods_in_traces(method: str) -> None:
    def end(k: Any) -> Any:
        field = lambda t, y: np.stack([-k * y[0] + y[1], -300.0 * y[1]])
        found = integrate.solve_ivp(
            field, (0, 1.0), [2.0, 1.0], method=method, rtol=1e-6, dense_output=method == "LSODA"
        )
        return wg.sum(found.y[:, -1]) + (wg.sum(found.sol(0.3)) if method == "LSODA" else 0.0)

    np.testing.assert_allclose(wg.function(wg.grad(end))(1.5), wg.grad(end)(1.5), rtol=1e-4)


def test_times_in_traces() -> None:
    f = lambda k: wg.sum(integrate.odeint(lambda y, t: -k * y, [2.0, 1.0], [0.0, 0.5, 1.0])[1:])
    np.testing.assert_allclose(wg.function(wg.grad(f))(1.5), wg.grad(f)(1.5), rtol=1e-6)
    sol = lambda t: integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True).sol(t)
    with pytest.raises(wg.TracingError, match="dense_output"):
        wg.function(sol)(0.5)


# -- initial value problems --------------------------------------------------------------------------------------------


def pendulum(t, y, c):
    return [y[1], -c * np.sin(y[0])]


TIMES = np.array([0.0, 0.4, 1.0])
START = np.array([0.5, 0.2])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp_follows_start_and_arguments(method: str) -> None:
    def f(y0, c):
        found = integrate.solve_ivp(pendulum, (0, 1.0), y0, method, TIMES, args=(c,), rtol=1e-8, atol=1e-9)
        return (found.y**2).sum()

    expected = scipy.integrate.solve_ivp(
        pendulum, (0, 1.0), START, "DOP853", TIMES, args=(2.0,), rtol=1e-10, atol=1e-10
    )
    assert followed(f, START, 2.0) == pytest.approx((expected.y**2).sum(), abs=1e-5)
    check_slope(f, [START, 2.0], 1e-4)


def test_odeint_follows_start_times_and_arguments_of_stiff_and_other_problems() -> None:
    def f(y0, c):
        return (integrate.odeint(pendulum, y0, TIMES, (c,), tfirst=True) ** 2).sum()

    check_slope(f, [START, 2.0])
    expected = (scipy.integrate.odeint(pendulum, START, TIMES, (2.0,), tfirst=True) ** 2).sum()
    assert followed(f, START, 2.0) == pytest.approx(expected, abs=1e-6)

    def stiff(k):
        return integrate.odeint(
            lambda y, t: -k * (y - np.cos(t)), 0.5, np.linspace(0, 1, 4), rtol=1e-6, atol=1e-6
        ).sum()

    check_slope(stiff, [2000.0], 1e-4)


def test_events_and_where_they_end_a_solution_are_differentiated() -> None:
    def ground(t, y, *_):
        return y[0]

    ground.terminal = True

    def thrown(t, y, g):
        return [y[1], -g]

    def lands(v, g):
        found = integrate.solve_ivp(thrown, (0, 100.0), [0.5, v], events=ground, args=(g,), rtol=1e-9, max_step=0.5)
        assert found.status == 1
        assert found.t_events[0].shape == (1,)
        return found.t_events[0][0] + 0.1 * found.y_events[0][0, 1] + 0.01 * found.t[-1] + found.y[1, -1]

    v, g = 3.0, 9.81

    def exact(v, g):
        root = np.sqrt(v * v + g)
        t = (v + root) / g
        return 1.01 * t - 1.1 * root

    assert followed(lands, v, g) == pytest.approx(exact(v, g), rel=1e-6)
    np.testing.assert_allclose(wg.grad(lands, argnums=(0, 1))(v, g), wg.grad(exact, argnums=(0, 1))(v, g), rtol=1e-5)


def test_dense_output_is_differentiated() -> None:
    def f(c):
        sol = integrate.solve_ivp(pendulum, (0, 1.0), START, dense_output=True, args=(c,), rtol=1e-8, atol=1e-9).sol
        return sol(0.3)[0] + sol(np.array([0.9, 0.2, 0.2]))[1].sum()

    plain = scipy.integrate.solve_ivp(
        pendulum, (0, 1.0), START, dense_output=True, args=(2.0,), rtol=1e-8, atol=1e-9
    ).sol
    expected = plain(0.3)[0] + plain(np.array([0.9, 0.2, 0.2]))[1].sum()
    assert followed(f, 2.0) == pytest.approx(expected, abs=1e-6)
    check_slope(f, [2.0])


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_steps_are_no_longer_than_asked_and_begin_as_asked(method: str) -> None:
    def decay(t, y):
        return -y

    ours = wg.integrate.solve_ivp(decay, (0, 2.0), np.ones(1), method, max_step=0.125, first_step=0.03125)
    theirs = scipy.integrate.solve_ivp(decay, (0, 2.0), np.ones(1), method, max_step=0.125, first_step=0.03125)
    np.testing.assert_allclose(ours.t, theirs.t, atol=1e-12)
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-10)
    with pytest.raises(ValueError, match="max_step"):
        wg.integrate.solve_ivp(decay, (0, 2.0), np.ones(1), max_step=0)


def test_derivatives_of_events_are_right_to_the_fourth():
    """A stone falls for sqrt(2 h / g), and is as fast then as 2 g h says."""

    def fallen(h, what):
        def hit(t, y):
            return y[0]

        hit.terminal = True
        found = integrate.solve_ivp(
            lambda t, y: [y[1], -9.81], (0, 5.0), [h, 0.0 * h], events=hit, rtol=1e-10, atol=1e-12
        )
        return found.t_events[0][0] if what == "t" else found.y_events[0][0][1] if what == "y" else found.y[1, -1]

    known = {"t": lambda h: (h * 2 / 9.81) ** 0.5, "y": lambda h: -((h * 2 * 9.81) ** 0.5)}
    for what in ("t", "y", "end"):
        ours, wanted = lambda h, what=what: fallen(h, what), known["y" if what == "end" else what]
        for order in range(1, 5 if what != "end" else 3):
            ours, wanted = wg.grad(ours), wg.grad(wanted)
            assert ours(3.0) == pytest.approx(wanted(3.0), rel=1e-7), (what, order)


def test_second_derivatives_of_an_event_of_a_field_that_depends_on_all():
    def f(a):
        def event(t, y):
            return y[1] + a * np.cos(t)

        event.terminal = True
        found = integrate.solve_ivp(
            lambda t, y: [y[1], -4.0 * a * y[0] + np.sin(t)], (0, 5.0), [a, 0.3], events=event, rtol=1e-11, atol=1e-12
        )
        return found.t_events[0][0] ** 2 + found.y_events[0][0][0] * 3.0 + found.y[0, -1]

    slope, h = wg.grad(f), 1e-4
    assert slope(1.3) == pytest.approx((f(1.3 + h) - f(1.3 - h)) / (2 * h), rel=1e-6)
    assert wg.grad(slope)(1.3) == pytest.approx((slope(1.3 + h) - slope(1.3 - h)) / (2 * h), rel=1e-6)
    assert wg.jvp(slope, (1.3,), (1.0,))[1] == pytest.approx(wg.grad(slope)(1.3), rel=1e-9)
