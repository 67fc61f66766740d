"""Functions of many ops that come again: what runs in their place gives the same bits and leaves the same tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import calls_in
from wengert._core.repeat_cache import RepeatCache
from wengert._transforms import recorded_sweeps, repeated_functions
from wengert._transforms.tape import Tape
from wengert.stats import _distribution

OFTEN = RepeatCache.again + 3
NAMES = sorted(n for n in dir(wg.stats) if isinstance(getattr(wg.stats, n), _distribution.Distribution))


@pytest.fixture(autouse=True)
def _forget_before() -> None:
    _forget()


def _forget() -> None:
    repeated_functions.REPEATS.forget()
    recorded_sweeps.SWEEPS.forget()


def _bits(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [bits for part in found for bits in _bits(part)]
    return [(type(found), np.asarray(found).dtype, np.asarray(found).tobytes())]


def _came_often(call: Callable[[], Any]) -> None:
    """The first call runs op by op, the last one at once: both give the same bits."""
    first = call()
    assert not repeated_functions.REPEATS
    for _ in range(OFTEN):
        last = call()
    assert any(repeated_functions.REPEATS.values())
    assert _bits(last) == _bits(first)


def _arguments(name: str, method: str, is_array: bool) -> tuple[Any, ...]:
    family = getattr(wg.stats, name)._family
    points = [-1.0, 0.0, 0.2, 0.5, 1.0, 1.7, np.nan]
    if family.is_discrete and method not in ("ppf", "isf"):
        points = [0.0, 1.0, 2.0, 0.5, -1.0, 3.0, np.nan]
    shapes = [np.float64(v) for v in family.shapes.values()]
    place = (np.float64(0.1),) if not family.is_discrete else (np.float64(0.0),)
    scale = () if family.is_discrete else (np.float64(1.3),)
    x = np.array(points) if is_array else np.array(points[2])
    return (x, *[np.asarray(v) for v in (*shapes, *place, *scale)])


@pytest.mark.parametrize("is_array", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_distribution_gives_the_same_bits_when_it_comes_again(name: str, is_array: bool) -> None:
    distribution = getattr(wg.stats, name)
    for method in distribution.methods:
        args, f = _arguments(name, method, is_array), getattr(distribution, method)
        gradients = wg.value_and_grad(lambda *a, f=f: wg.sum(f(*a)), argnums=tuple(range(len(args))))
        with np.errstate(all="ignore"):
            for call in (f, gradients):
                _forget()
                _came_often(lambda call=call, args=args: call(*args))


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "t"])
def test_second_derivatives_see_each_op(name: str) -> None:
    args = _arguments(name, "logpdf", True)
    f = getattr(wg.stats, name).logpdf

    def slope(s: Any) -> Any:
        return wg.grad(lambda t: wg.sum(f(args[0][2:4], *args[1:-1], t)))(s)

    _came_often(lambda: wg.grad(slope)(1.4))


def test_tapes_hold_the_same_lines_and_what_was_cut() -> None:
    x, scale = wg.tensor([0.1, 0.7]), wg.tensor(1.3)

    def taped() -> Any:
        with wg.GradientTape() as outer, wg.GradientTape() as inner:
            outer.watch(scale)
            inner.watch([x, scale])
            y = wg.stats.gamma.logpdf(x, 2.0, 0.0, scale)
        return y, outer, inner

    def told(y: Any, *tapes: Any) -> Any:
        lines = [[(e.op.name, e.attrs, e.plan.tracked, e.in_types) for e in _tape(t).entries] for t in tapes]
        return lines, [(cut.op, cut.reason, cut.site) for cut in (y._cut, *y._cut.others)]

    found = [told(*taped()) for _ in range(OFTEN)]
    assert any(repeated_functions.REPEATS.values())
    assert found[-1] == found[0]


def _tape(tape: Any) -> Tape:
    return next(v for v in (getattr(tape, name, None) for name in dir(tape)) if isinstance(v, Tape))


def test_a_density_that_comes_again_takes_few_calls() -> None:
    x = wg.tensor(np.linspace(0.1, 0.9, 5))
    counts = [len(calls_in(wg.stats.beta.logpdf, x, 2.0, 3.0)) for _ in range(OFTEN + 1)]
    assert counts[-1] < counts[0] / 4


def test_what_a_kernel_refuses_is_said_by_its_op() -> None:
    x = wg.tensor(np.ones((2, 3, 4)))
    pairs: Any = [[0, 1], [0, 1]]
    for _ in range(OFTEN):
        wg.tensordot(x, x, axes=pairs)
    with pytest.raises(ValueError, match=r"tensordot: x1 has shape \(2, 3, 4\)"):
        wg.tensordot(x, wg.tensor(np.ones((3, 3, 4))), axes=pairs)


def test_long_arrays_run_op_by_op() -> None:
    x = np.linspace(0.1, 0.9, repeated_functions.LARGEST + 1)
    for _ in range(OFTEN):
        wg.stats.norm.pdf(x)
    assert not repeated_functions.REPEATS


def _second(f: Any, *args: Any) -> Callable[[], Any]:
    """Second derivatives by a gradient of weighed gradients."""
    places = (*range(len(args)),)

    def weighed(*args: Any) -> Any:
        found = wg.grad(lambda *a: wg.sum(f(*a)), argnums=places)(*args)
        return sum(wg.sum(g * np.cos(np.arange(g.size)).reshape(g.shape)) for g in found)

    return lambda: wg.grad(weighed, argnums=places)(*args)


_X, _Y = np.array([[0.3, 0.8, 1.2], [0.1, 0.5, 0.9]]), np.array([[1.1, 0.4, 0.7], [0.2, 0.6, 1.3]])
_AGAIN: dict[str, tuple[Any, ...]] = {
    "slopes": (lambda x, y: np.sin(x) * np.exp(-y) + x / y, _X, _Y),
    "products": (lambda x, y: wg.tensordot(x, y.T, 1) ** 3, _X, _Y),
    "rows and places": (lambda x, y: x[1] * y[0, 1:2] + x[:, ::2].sum() * y[[0, 0]], _X, _Y),
    "choices": (lambda x, y: wg.where(x > 0.4, x * y, np.sqrt(y)) + np.maximum(x, y), _X, _Y),
    "powers": (lambda x: x**1 * x**2.5 + x**3, _X),
    "a value with itself": (lambda x: (x + x) * (x - x) * x, _X),
    "sums": (lambda x, y: np.log(np.sum(np.exp(x - y), axis=0)) * np.mean(y), _X, _Y),
}


def _swept_often(call: Callable[[], Any]) -> None:
    """As `_came_often`, where what comes again are sweeps under a tape."""
    first = call()
    for _ in range(OFTEN):
        last = call()
    assert any(recorded_sweeps.SWEEPS.values())
    assert _bits(last) == _bits(first)


@pytest.mark.parametrize("case", list(_AGAIN))
def test_second_derivatives_that_come_again_have_the_same_bits(case: str) -> None:
    _swept_often(_second(*_AGAIN[case]))


def test_third_derivatives_that_come_again_have_the_same_bits() -> None:
    slope = lambda f: wg.grad(lambda x: wg.sum(f(x)))
    _swept_often(lambda: slope(slope(slope(lambda x: np.sin(x) * np.exp(-x) * x)))(_X))


def test_a_sweep_under_a_tape_that_comes_again_takes_few_calls() -> None:
    f, *arrays = _AGAIN["slopes"]
    # of a shape that no other test has: the formulas of ops go by the types of what they are given
    call = _second(f, *[np.tile(a, 3)[:, :8] for a in arrays])
    counts = [len(calls_in(call)) for _ in range(OFTEN + 1)]
    assert counts[-1] < 0.75 * counts[0]


def test_a_users_rule_under_a_tape_runs_each_time() -> None:
    seen: list[int] = []

    @wg.custom_gradient
    def doubled(x: Any) -> Any:
        def back(ct: Any) -> Any:
            seen.append(1)
            return 2.0 * ct

        return 2.0 * x, back

    call = _second(lambda x: np.sin(doubled(np.sin(x))) * x, _X)
    first = call()
    for _ in range(OFTEN):
        seen.clear()
        last = call()
        assert len(seen) >= 1
    assert _bits(last) == _bits(first)


def test_a_captured_array_and_number_are_those_of_each_call() -> None:
    captured: dict[str, Any] = {}
    call = _second(lambda x: captured["array"] * x**3 * captured["number"], _X)
    for often in range(OFTEN):
        for number in (1.5, 2.0, 3.0):
            captured.update(number=number, array=_Y + often)
            np.testing.assert_allclose(call()[0], 6 * _X * (_Y + often) * number * np.cos(np.arange(6.0)).reshape(2, 3))
    assert any(recorded_sweeps.SWEEPS.values())


def test_long_arrays_are_not_held_by_what_comes_again() -> None:
    def f(x: Any) -> Any:
        return wg.sum(wg.arange(repeated_functions.LARGEST + 1.0) * x)

    for _ in range(OFTEN):
        found = repeated_functions.repeated(f, [wg.tensor(2.0)])
    assert found.item() == repeated_functions.LARGEST * (repeated_functions.LARGEST + 1)
    assert [*repeated_functions.REPEATS.values()] == [None]


def test_results_tell_what_cut_their_operands_off() -> None:
    x = wg.tensor([0.1, 0.7])

    def cuts() -> Any:
        with wg.GradientTape() as tape:
            tape.watch(x)
            place = wg.floor(x).astype("int64").astype("float64")
            found = wg.stats.norm.logpdf(x, place, 2.0)
        return [(cut.op, cut.reason, cut.site) for cut in (found._cut, *found._cut.others)]

    found = [cuts() for _ in range(OFTEN)]
    assert any(repeated_functions.REPEATS.values())
    assert found[-1] == found[0] != []


def test_equal_attributes_of_another_sign_have_their_own_sweeps() -> None:
    for number in (0.0, -0.0) * OFTEN:
        found = wg.grad(lambda x, n=number: wg.sum(wg.grad(lambda y: wg.sum(y * y * n))(x)))(_X)
        assert np.signbit(found).all() == np.signbit(number)
