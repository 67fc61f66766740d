"""Functions of many ops that come again: what runs in their place gives the same bits and leaves the same tape."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.recurring import Recurring
from wengert._transforms import repeats
from wengert._transforms.tape import Tape
from wengert.stats import _distribution

OFTEN = Recurring.again + 3
NAMES = sorted(n for n in dir(wg.stats) if isinstance(getattr(wg.stats, n), _distribution.Distribution))


@pytest.fixture(autouse=True)
def _forget_before() -> None:
    _forget()


def _forget() -> None:
    repeats.REPEATS.forget()


def _bits(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [bits for part in found for bits in _bits(part)]
    return [(type(found), np.asarray(found).dtype, np.asarray(found).tobytes())]


def _came_often(call: Callable[[], Any]) -> None:
    """The first call runs op by op, the last one at once: both give the same bits."""
    first = call()
    assert not repeats.REPEATS
    for _ in range(OFTEN):
        last = call()
    assert any(repeats.REPEATS.values())
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
    assert any(repeats.REPEATS.values())
    assert found[-1] == found[0]


def _tape(tape: Any) -> Tape:
    return next(v for v in (getattr(tape, name, None) for name in dir(tape)) if isinstance(v, Tape))


def test_a_density_that_comes_again_takes_few_calls() -> None:
    x = wg.tensor(np.linspace(0.1, 0.9, 5))
    calls: list[str] = []

    def counted() -> int:
        calls.clear()
        sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None)
        try:
            wg.stats.beta.logpdf(x, 2.0, 3.0)
        finally:
            sys.setprofile(None)
        return len(calls)

    first = counted()
    for _ in range(OFTEN):
        last = counted()
    assert last < first / 4


def test_what_a_kernel_refuses_is_said_by_its_op() -> None:
    x = wg.tensor(np.ones((2, 3, 4)))
    pairs: Any = [[0, 1], [0, 1]]
    for _ in range(OFTEN):
        wg.tensordot(x, x, axes=pairs)
    with pytest.raises(ValueError, match=r"tensordot: x1 has shape \(2, 3, 4\)"):
        wg.tensordot(x, wg.tensor(np.ones((3, 3, 4))), axes=pairs)


@pytest.mark.parametrize("axes", [1, 2, [[0], [2]]])
def test_contractions_give_the_same_bits_when_they_come_again(axes: Any) -> None:
    a = np.linspace(-1, 1, 27).reshape(3, 3, 3)
    _came_often(lambda: wg.grad(lambda x, y: wg.sum(wg.tensordot(x, y, axes) ** 3), argnums=(0, 1))(a, a + 0.5))


def test_long_arrays_run_op_by_op() -> None:
    x = np.linspace(0.1, 0.9, repeats.LARGEST + 1)
    for _ in range(OFTEN):
        wg.stats.norm.pdf(x)
    assert not repeats.REPEATS
