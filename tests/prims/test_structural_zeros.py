"""Zeros that a choice put in stay zero in forward mode as in reverse; ordinary zeros do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RELU = [-1.0, 2.0]
AT_ZERO = [0.0, 4.0]


def in_a_loop(x: Any) -> Any:
    """The zeros get into the loop variable at the first step, and meet the slope in the second."""
    return wg.fori_loop(0, 2, lambda i, c: wg.where(i == 0, wg.ops.relu(c), wg.sqrt(c)), x)


def entering_a_loop(x: Any) -> Any:
    """A loop variable without a tangent at the start."""
    return wg.fori_loop(0, 2, lambda i, c: (c[0] + wg.sqrt(c[1]), wg.ops.relu(x)), (x * 0.5, np.zeros(2)))[0]


PROGRAMS = {
    "relu": (lambda x: wg.concatenate([wg.sqrt(wg.ops.relu(x)), x, x * x]), RELU),
    "log of where": (lambda x: wg.log(wg.where(x > 0, x, 0.0)), RELU),
    "sqrt of pad": (lambda x: wg.sqrt(wg.pad(x, 1)), [1.0, 2.0]),
    "sqrt of tril": (lambda x: wg.sqrt(wg.tril(wg.outer(x, x))), [1.0, 2.0]),
    "sqrt of diag": (lambda x: wg.sqrt(wg.diag(x)), [1.0, 2.0]),
    "sqrt of concatenate": (lambda x: wg.sqrt(wg.concatenate([x, np.zeros(2)])), [1.0, 2.0]),
    "sqrt of a write": (lambda x: wg.sqrt(wg.ops.zeros(4).at[1:3].set(x)), [1.0, 2.0]),
    "sqrt of an added write": (lambda x: wg.sqrt(wg.ops.zeros(4).at[1:3].add(x)), [1.0, 2.0]),
    "unit tangents of sqrt": (wg.sqrt, AT_ZERO),
    "unit tangents of log": (lambda x: wg.log(x) * 2, AT_ZERO),
    "norm of order -1": (lambda x: wg.linalg.norm(x, -1), AT_ZERO),
    "norm beside infinity": (wg.linalg.norm, [np.inf, 2.0]),
    "norm of order 3 beside infinity": (lambda x: wg.linalg.norm(x, 3), [np.inf, 2.0]),
    "std beside infinity": (lambda x: wg.std(wg.concatenate([x, x * x])), [np.inf, 2.0]),
    "relu of sqrt": (lambda x: wg.ops.relu(-wg.sqrt(x)), AT_ZERO),
    "maximum with a constant": (lambda x: wg.sqrt(wg.maximum(x, 0.0)), RELU),
    "clip": (lambda x: wg.sqrt(wg.clip(x, 0.0, 3.0)), RELU),
    "inner function": (wg.function(lambda x: wg.sqrt(wg.ops.relu(x))), RELU),
    "relu before a call": (lambda x: wg.function(lambda y: wg.sqrt(y))(wg.ops.relu(x)), RELU),
    "relu in a call": (lambda x: wg.sqrt(wg.function(wg.ops.relu)(x)), RELU),
    "branch": (lambda x: wg.sqrt(wg.cond(x[1] > 0, wg.ops.relu, lambda x: x, x)), RELU),
    "loop": (in_a_loop, RELU),
    "entering a loop": (entering_a_loop, RELU),
    "scan": (lambda x: wg.scan(lambda c, y: (c, wg.sqrt(y)), 0.0, wg.ops.relu(x))[1], RELU),
    "recomputed": (lambda x: wg.sqrt(wg.recompute_grad(wg.ops.relu)(x)), RELU),
    "custom gradient": (
        lambda x: wg.sqrt(wg.custom_gradient(lambda y: (y * 1, lambda u: u * 1))(wg.ops.relu(x))), RELU,
    ),
    "vmap": (lambda x: wg.vmap(lambda y: wg.sqrt(wg.ops.relu(y)))(x), RELU),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_agrees_with_reverse(name: str) -> None:
    f, at = PROGRAMS[name]
    x = np.array(at)
    wanted = np.asarray(wg.jacobian(f, mode="reverse")(x))
    for way in (lambda g: g, wg.function):
        for mode in ("forward", "auto"):
            np.testing.assert_allclose(way(wg.jacobian(f, mode=mode))(x), wanted, rtol=1e-14, err_msg=mode)
        # the choices' own zeros alone, of a tangent without any
        if not np.isnan(wanted).any() and np.isfinite(wanted).all():
            along = wanted.sum(axis=-1)
            np.testing.assert_allclose(way(lambda x: wg.jvp(f, (x,), (np.ones(2),))[1])(x), along, rtol=1e-14)
            np.testing.assert_allclose(way(lambda x: wg.linearize(f, x)[1](np.ones(2)))(x), along, rtol=1e-14)
    both = wg.vmap(wg.jacobian(f, mode="forward"))(np.stack([x, x]))
    np.testing.assert_allclose(both, [wanted, wanted], rtol=1e-14)


def _scan(step: Any, first: Any = 0.0, **options: Any) -> Any:
    return lambda x: wg.scan(step, first, x, **options)


def _root(c: Any, y: Any) -> Any:
    return c, wg.sqrt(y)


def _of_two_loops(x: Any) -> Any:
    return wg.scan(lambda c, row: (c, _scan(_root)(row)[1]), 0.0, wg.stack([x, x]))[1]


INNER = wg.function(wg.sqrt)
LONE = {
    "the first of a scan": lambda x: _scan(_root)(x)[1][0],
    "the first of a scan from behind": lambda x: _scan(_root, reverse=True)(x)[1][0],
    "the first of a scan between snapshots": lambda x: _scan(_root, checkpoint=1)(x)[1][0],
    "the first of calls in a scan": lambda x: _scan(lambda c, y: (c, INNER(y)))(x)[1][0],
    "the first of branches in a scan": lambda x: _scan(lambda c, y: (c, wg.cond(c > -1, wg.sqrt, wg.exp, y)))(x)[1][0],
    "a mask of a scan": lambda x: wg.where(x > 0, _scan(_root)(x)[1], 0.0).sum(),
    "a mask of two loops": lambda x: wg.where(x > 0, _of_two_loops(x), 0.0).sum(),
    "a mask of map": lambda x: wg.where(x > 0, wg.map(wg.sqrt, x), 0.0).sum(),
    "a mask in a scan": lambda x: _scan(lambda c, y: (c, wg.where(y > 0, wg.sqrt(y), 0.0)))(x)[1].sum(),
    "what the next step writes over": lambda x: _scan(lambda c, y: (wg.sqrt(y), c), 1.0)(x)[0],
    "in a counted loop": lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sqrt(x[i]), 0.0),
    "in a while loop": lambda x: wg.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, wg.sqrt(x[i])), (0, 0.0))[1],
    "results of a call": lambda x: wg.function(lambda x: (wg.sqrt(x[0]), wg.sqrt(x[1])))(x)[0],
}


@pytest.mark.parametrize("name", LONE)
def test_lone_numbers_in_loops_hold_structural_zeros(name: str) -> None:
    """The cotangent of one step may be a zero that a choice among steps has put in, and its slope infinite."""
    f, x = LONE[name], np.array([4.0, 0.0, 1.0])
    eager = wg.grad(f)(x)
    assert np.isfinite(eager).all() and eager.any()
    for compiled in (wg.function(wg.grad(f)), wg.grad(wg.function(f))):
        np.testing.assert_allclose(compiled(x), eager, rtol=1e-14)


def _pair(x: Any) -> tuple[Any, Any]:
    return wg.sqrt(x[0]), wg.exp(x[1])


BESIDE = {
    "call": lambda x: wg.function(_pair)(x),
    "cond": lambda x: wg.cond(x[1] > 0, _pair, lambda x: (x[0], x[1]), x),
    "stacks of a scan": lambda x: (
        (ys := _scan(lambda c, y: (c, _pair(y)))(wg.stack([x, x]))[1]) and (ys[0][0], ys[1][0])
    ),
    "carries of a loop": lambda x: wg.fori_loop(
        0, 2, lambda i, c: (c[0] + _pair(x)[0], c[1] + _pair(x)[1]), (0.0, 0.0)
    ),
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("is_first", [True, False])
def test_zeros_of_one_result_are_not_those_of_another(name: str, is_first: bool) -> None:
    """What a choice has left out of one result says nothing of a zero that a product has made of another's cotangent."""

    def f(x: Any) -> Any:
        ordinary, masked = BESIDE[name](x) if is_first else (wg.sqrt(x[0]), BESIDE[name](x)[1])
        return ordinary * 0.0 + wg.where(x[1] > 2.0, masked, 0.0)

    x = np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        eager = wg.grad(f)(x)
        for compiled in (wg.function(wg.grad(f)), wg.grad(wg.function(f))):
            np.testing.assert_array_equal(compiled(x), eager)


def _two_steps(sums: Any, checkpoint: Any = "all") -> Any:
    return wg.fori_loop(0, 4, lambda i, c: (*map(np.add, c, sums()),), (0.0, 0.0), checkpoint=checkpoint)


BESIDE_AGAIN = {
    "carries of a loop": lambda x: _two_steps(lambda: _pair(x)),
    "carries of a loop with snapshots": lambda x: _two_steps(lambda: _pair(x), 2),
    "a call in a loop": lambda x: _two_steps(lambda: wg.function(_pair)(x)),
    "branches in a loop": lambda x: _two_steps(lambda: wg.cond(x[1] > 0, _pair, lambda x: (x[0], x[1]), x)),
    "carries while a condition holds": lambda x: wg.while_loop(
        lambda i, a, b: i < 2, lambda i, a, b: (i + 1, *map(np.add, (a, b), _pair(x))), (0, 0.0, 0.0)
    )[1:],
}


@pytest.mark.parametrize("name", BESIDE_AGAIN)
def test_zeros_of_one_result_are_not_those_of_another_the_second_time(name: str) -> None:
    """The same of the derivative of a backward pass, and of what regions hold each other."""

    def f(x: Any) -> Any:
        ordinary, masked = BESIDE_AGAIN[name](x)
        return ordinary * 0.0 + wg.where(x[1] > 2.0, masked, 0.0)

    def slope(x: Any) -> Any:
        return np.sum(wg.grad(f)(x) * np.array([1.0, 0.5]))

    x = np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        eager = wg.grad(slope)(x)
        assert np.isnan(eager[0])
        np.testing.assert_array_equal(wg.function(wg.grad(slope))(x), eager)


ORDINARY = {
    "log(x * 0)": (lambda x: wg.log(x * 0.0), 1.0),
    "sqrt(x * x)": (lambda x: wg.sqrt(x * x), 0.0),
    "log(x) * 0": (lambda x: wg.log(x) * 0.0, 0.0),
    "sqrt of a part of x * 0": (lambda x: wg.sqrt(wg.unstack(wg.stack([x * 0.0, x]))[0]), 1.0),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_zero_times_infinity_is_nan(name: str) -> None:
    f, at = ORDINARY[name]
    for way in (lambda g: g, wg.function):
        assert np.isnan(way(wg.grad(f))(at))
        assert np.isnan(way(wg.jacobian(f, mode="forward"))(at))
        assert np.isnan(way(lambda x, f=f: wg.jvp(f, (x,), (1.0,))[1])(at))


# what a Jacobian has in [0, 0] at (0, 2): by reverse mode, by forward mode, and what gradient and directional derivative are
SLOPES_OF_ZERO = {
    "sqrt(x * x)": (lambda x: wg.sqrt(x * x), np.nan, 0.0, np.nan),
    "cbrt(x * x)": (lambda x: wg.cbrt(x * x), np.nan, 0.0, np.nan),
    "sqrt(sin(x) - x)": (lambda x: wg.sqrt(wg.sin(x) - x), np.nan, 0.0, np.nan),
    "log(x) * 0": (lambda x: wg.log(x) * 0.0, 0.0, np.nan, np.nan),
    "log(x) * x": (lambda x: wg.log(x) * x, -np.inf, np.nan, np.nan),
    "sqrt(x * x) * x": (lambda x: wg.sqrt(x * x) * x, 0.0, 0.0, np.nan),
    "sqrt(relu(x))": (lambda x: wg.sqrt(wg.ops.relu(x)), 0.0, 0.0, 0.0),
    "where(x > 0, log(x), 0)": (lambda x: wg.where(x > 0, wg.log(x), 0.0), 0.0, 0.0, 0.0),
}


def all_of_them(x: Any) -> Any:
    return wg.stack([row[0](x) for row in SLOPES_OF_ZERO.values()])


def test_unit_vectors_take_zeros_of_slopes_for_zeros_of_choices() -> None:
    """The table of docs/kinks.md."""
    x, ones = np.array([0.0, 2.0]), np.ones(2)
    _, reverse, forward, along = zip(*SLOPES_OF_ZERO.values(), strict=True)
    for way in (lambda g: g, wg.function):
        rows, columns = way(lambda x: [wg.jacobian(all_of_them, mode=m)(x) for m in ("reverse", "forward")])(x)
        np.testing.assert_equal(np.asarray(rows)[:, 0].tolist(), [[a, 0.0] for a in reverse])
        np.testing.assert_equal(np.asarray(columns)[:, 0].tolist(), [[a, 0.0] for a in forward])
        along_ones = lambda x: [wg.jvp(all_of_them, (x,), (ones,))[1], wg.linearize(all_of_them, x)[1](ones)]
        pushed, linear = way(along_ones)(x)
        np.testing.assert_equal(np.asarray(pushed)[:, 0].tolist(), along)
        np.testing.assert_equal(np.asarray(linear)[:, 0].tolist(), along)
    for f, _, _, wanted in SLOPES_OF_ZERO.values():
        np.testing.assert_equal(wg.grad(lambda x, f=f: wg.sum(f(x)))(x)[0], wanted)


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
def test_of_one_number_by_one_number_the_jacobian_is_the_gradient(mode: str) -> None:
    for f, _, _, wanted in SLOPES_OF_ZERO.values():
        np.testing.assert_equal(wg.jacobian(f, mode=mode)(0.0), wanted)
        np.testing.assert_equal(wg.jacobian(f, mode=mode)(np.zeros(1)), [[wanted]])


def test_least_squares_meets_a_masked_root() -> None:
    def residuals(x: Any) -> Any:
        return wg.concatenate([wg.sqrt(wg.ops.relu(x)) - 1.0, x - 1.0])

    found = wg.optimize.least_squares(residuals, np.array([-1.0, 2.0]))
    assert np.isfinite(np.asarray(found.x)).all()


# -- programs between a function and its gradient ----------------------------------------------------------------------

REGIONS: dict[str, Any] = {
    "function": wg.function,
    "cond": lambda f: lambda x: wg.cond(wg.sum(x) > 0, f, lambda x: x, x),
    "fori_loop": lambda f: lambda x: wg.fori_loop(0, 1, lambda i, c: f(c), x),
    "while_loop": lambda f: lambda x: wg.while_loop(lambda i, c: i < 1, lambda i, c: (i + 1, f(c)), [0, x])[1],
    "scan": lambda f: lambda x: wg.scan(lambda c, y: (c, f(y)), 0.0, np.ones((1, 1)) * x)[1].sum(0),
    "snapshots": lambda f: lambda x: wg.scan(lambda c, y: (f(c), y), x, np.ones((1, 1)), checkpoint="sqrt")[0],
    "loop in a loop": lambda f: REGIONS["fori_loop"](REGIONS["fori_loop"](f)),
    "loop in a function": lambda f: wg.function(REGIONS["fori_loop"](f)),
    "function in a loop": lambda f: REGIONS["fori_loop"](wg.function(f)),
    "function in a branch": lambda f: REGIONS["cond"](wg.function(f)),
    "checkpoint": wg.checkpoint,
    "vmap": wg.vmap,
}


def modes_of(f: Any) -> Any:
    """The gradient of the sum, eagerly, compiled, and of what is compiled."""
    yield wg.grad(lambda x: wg.sum(f(x)))
    yield wg.function(wg.grad(lambda x: wg.sum(f(x))))
    yield wg.grad(lambda x: wg.sum(wg.function(f)(x)))


@pytest.mark.parametrize("name", REGIONS)
def test_zeros_of_slopes_are_no_zeros_of_choices_in_a_program(name: str) -> None:
    """sqrt(x)^2 has slope 1 at 0: its rule finds 0 times infinity there, which must not be a number that is wrong."""
    for gradient in modes_of(REGIONS[name](lambda x: wg.sqrt(x) ** 2)):
        np.testing.assert_allclose(gradient(np.array(AT_ZERO)), [np.nan, 1.0])


@pytest.mark.parametrize("name", REGIONS)
def test_zeros_of_choices_behind_a_program_stay_zero_in_it(name: str) -> None:
    f = REGIONS[name](wg.sqrt)
    for choose in (lambda x: wg.where(x > 0, f(x), 0.0), lambda x: f(x)[1:]):
        for gradient in modes_of(choose):
            np.testing.assert_allclose(gradient(np.array(AT_ZERO)), [0.0, 0.25])


@pytest.mark.parametrize(("step", "wanted"), [
    (lambda x, c: wg.where(x > 0, 2 * wg.sqrt(c), 1.0), [0.0, 0.125]),
    (lambda x, c: wg.sqrt(c) * wg.where(x > 0, 1.0, 0.0), [np.nan, 0.25 * 4**-0.75]),
], ids=["choices", "products"])  # fmt: skip
def test_a_step_back_finds_the_zeros_of_the_step_behind_it(step: Any, wanted: list[float]) -> None:
    count = 3 if np.isfinite(wanted[0]) else 2
    for gradient in modes_of(lambda x: wg.fori_loop(0, count, lambda i, c: step(x, c), x)):
        np.testing.assert_allclose(gradient(np.array(AT_ZERO)), wanted)
