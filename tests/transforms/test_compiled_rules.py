"""Formulas of entries that come again: the rules' own numbers to the bit, at fewer calls, and only where nobody watches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support import op_checks as checks
from tests.support.profiled import calls_in, nothing_met
from wengert._core.op import REGISTRY, Op
from wengert._core.repeat_cache import RepeatCache
from wengert._core.state import recording
from wengert._core.tensor import fresh
from wengert._transforms import compiled_rules, reverse, whole_sweeps
from wengert._transforms.reverse import sweep
from wengert._transforms.tape import Tape

TOLD = [op for op in REGISTRY.values() if op.is_open and (op.rules or op.joint) and not op.facts.holds]
OPS = [op for op in REGISTRY.values() if op.has_rule_per_operand and op.kind in checks.DIFFERENTIABLE]


def cotangents(case: checks.Case, masked: bool, is_watched: bool = False) -> list[Any]:
    """The operands' cotangents for a fixed one of the result, a third of which is 0; of a watched sweep if wanted."""
    rng = checks.rng_for(case.op, 7)
    tensors = tuple(map(fresh, case.operands))
    tape = Tape(tensors[i]._key for i in case.active)
    with recording(tape):
        (out,) = checks._call(case, tensors)
    ct = checks._random_like(np.asarray(out._data), rng)
    ct = np.where(rng.random(ct.shape) < 0.3, np.zeros_like(ct), ct)[()]
    with np.errstate(all="ignore"), recording(Tape()) if is_watched else contextlib.nullcontext():
        found = sweep(tape.entries, [(out._key, fresh(ct))], [tensors[i]._key for i in case.active], [masked])
    return [None if x is None else np.asarray(checks._filled(x, case.operands[i])) for x, i in zip(found, case.active)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_formula_gives_to_the_bit_what_the_rules_give(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype)[:3]:
            if not case.active:
                continue
            for masked in (False, True):
                monkeypatch.setattr(whole_sweeps.FORMULAS, "again", 10**6)
                monkeypatch.setattr(RepeatCache, "again", 10**6)
                wanted = cotangents(case, masked)
                monkeypatch.setattr(RepeatCache, "again", 0)
                for plan in op.plans.values():
                    plan.formulas.forget()
                for number in range(6):
                    found = cotangents(case, masked, number > 2)
                    for x, y in zip(found, wanted, strict=True):
                        assert (x is None) == (y is None)
                        if x is not None:
                            np.testing.assert_array_equal(x, y, strict=True)
    for plan in op.plans.values():
        plan.formulas.forget()


def test_most_rules_become_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_sweeps.FORMULAS, "again", 10**6)
    monkeypatch.setattr(RepeatCache, "again", 0)
    made = 0
    ops = [op for op in OPS if op.kind == "elementwise" and any(case.active for case in checks.cases(op))]
    for op in ops:
        case = next(case for case in checks.cases(op) if case.active)
        cotangents(case, False)
        made += any(type(f) is compiled_rules.Formula for plan in op.plans.values() for f in plan.formulas.values())
    assert made >= 0.9 * len(ops)


@pytest.fixture
def unmet() -> Iterator[None]:
    with nothing_met():
        yield


@pytest.mark.usefixtures("unmet")
@pytest.mark.parametrize(
    ("step", "most"),
    [(np.sin, 12), (lambda x: x * x, 14), (lambda x: x + 2.0, 14), (lambda x: x**3, 14), (lambda x: x / 3.0, 40),
     (lambda x: np.array([0.5, 2.0]) * x, 28), (lambda x: x[::-1], 80), (lambda x: x[0] * x, 60)],
)  # fmt: skip
def test_an_op_that_comes_again_takes_few_calls_forward_and_back(step: Any, most: int) -> None:
    def chain(length: int) -> Any:
        def f(x: Any) -> Any:
            for _ in range(length):
                x = step(x)
            return np.sum(x)

        return wg.grad(f)

    x = np.array([0.5, 0.6])
    short, long = chain(20), chain(40)
    whole_sweeps.FORMULAS.forget()  # else the whole sweep's may be made in a call that is counted
    with np.errstate(all="ignore"):
        for gradient in (short, long):
            for _ in range(2):
                gradient(x)
        per_op = (len(calls_in(long, x)) - len(calls_in(short, x))) / 20
    assert per_op <= most


def test_second_derivatives_are_of_the_rules() -> None:
    def f(x: Any) -> Any:
        for _ in range(12):
            x = np.sin(x) + 0.1 * x * x
        return np.sum(x)

    x = np.array([0.9, 1.1])
    direction, step = np.array([1.0, -0.5]), 1e-5
    gradient = wg.grad(f)
    for _ in range(3):
        found = wg.grad(lambda x: np.sum(gradient(x) * direction))(x)
    wanted = (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_extents_that_are_new_at_each_call_do_not_fill_the_memory() -> None:
    for count in range(1, 200):
        wg.grad(lambda x: np.sum(np.sinh(x) * np.cosh(x) * x))(np.ones(count))
    for plan in REGISTRY["sinh"].plans.values():
        assert max(len(plan.formulas), len(plan.formulas.seen)) <= plan.formulas.most


def test_exponents_that_are_equal_but_for_their_sign_or_type_have_their_own_formulas() -> None:
    slopes = []
    for number in (0.0, -0.0, 0.0, -0.0) * 6:
        slopes.append(np.signbit(wg.grad(lambda x, number=number: x * number)(np.float64(2.0))))
    assert slopes == [False, True, False, True] * 6


def sum_of_results(case: checks.Case, masked: bool, x: tuple[Any, ...]) -> Any:
    """A sum of all that an op gives, weighed and, where asked, masked."""
    found = checks._call(case, x)
    total: Any = 0.0
    for out in found:
        if out.dtype.kind in "fc":
            weights = np.cos(np.arange(int(out.size), dtype=out.dtype)).reshape(out.shape)
            part = wg.where(np.real(weights) > 0.2, out, 0) if masked else out
            total = total + wg.ops.sum(wg.ops.real(part * weights))
    return total


@pytest.mark.parametrize("op", TOLD, ids=lambda op: op.name)
def test_the_formula_of_a_whole_sweep_gives_to_the_bit_what_its_entries_give(
    op: Op, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reverse, "FEW", 1)  # these tapes are short
    for case in checks.cases(op, np.dtype(np.float64))[:2] if "float64" in map(str, checks.exact_dtypes(op)) else ():
        for masked in (False, True):
            found = []
            for often in (10**6, 0):
                whole_sweeps.FORMULAS.forget()
                monkeypatch.setattr(RepeatCache, "again", 10**6)
                monkeypatch.setattr(whole_sweeps.FORMULAS, "again", often)
                for _ in range(3):
                    tensors = tuple(map(fresh, case.operands))
                    tape = Tape(tensors[i]._key for i in case.active)
                    with recording(tape):
                        total = sum_of_results(case, masked, tensors)
                    with np.errstate(all="ignore"):
                        cts = sweep(tape.entries, [(total._key, fresh(np.float64(1.5)))],
                                    [tensors[i]._key for i in case.active]) if case.active else []  # fmt: skip
                found.append([checks._filled(x, case.operands[i]) for x, i in zip(cts, case.active, strict=True)])
            for x, y in zip(*found, strict=True):
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y), strict=True)


@pytest.mark.usefixtures("unmet")
def test_a_sweep_that_comes_again_takes_no_calls_for_its_ops() -> None:
    def f(x: Any) -> Any:
        for i in range(3):
            x = np.sin(x) * x[i] + np.exp(-x)
        return np.sum(x)

    x = np.linspace(0.1, 0.9, 4)
    value, back = wg.vjp(f, x)
    for _ in range(RepeatCache.again + 3):
        found = back(np.ones_like(value))
    assert len(calls_in(back, np.ones_like(value))) < 95  # 177 where each entry is asked for what it contributes
    whole_sweeps.FORMULAS.clear()
    np.testing.assert_array_equal(found, wg.vjp(f, x)[1](np.ones_like(value)))


def test_programs_that_join_alike_ops_otherwise_have_their_own_sweeps() -> None:
    def joined(x: Any, which: int) -> Any:
        y, z = np.sin(x), np.sin(2.0 * x)
        pair = (y, z)
        return np.sum(np.exp(pair[which]) * pair[1 - which] * y)

    x, step = np.array([0.3, 0.8]), 1e-6
    for _ in range(2 * RepeatCache.again):
        for which in (0, 1):
            found = wg.grad(joined)(x, which)
            for i in range(2):
                e = step * np.eye(2)[i]
                wanted = (joined(x + e, which) - joined(x - e, which)) / (2 * step)
                np.testing.assert_allclose(found[i], wanted, rtol=1e-7)


def test_a_tensor_that_is_written_to_after_it_was_read_keeps_what_was_read() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        y = np.sum(np.sin(a) * a)
        a[0] = 5.0
        return y

    x = np.array([0.3, 0.8])
    wanted = np.sin(x) + x * np.cos(x)
    for _ in range(2 * RepeatCache.again):
        np.testing.assert_allclose(wg.grad(f)(x), wanted, rtol=1e-12)


def test_sweeps_that_are_new_at_each_call_do_not_fill_the_memory() -> None:
    kept = whole_sweeps.FORMULAS
    for count in range(1, kept.most + 50):
        wg.grad(lambda x: np.sum(np.sinh(x) * np.cosh(x) * x))(np.ones(count))
    assert max(len(kept), len(kept.seen)) <= kept.most


def test_what_was_made_first_makes_room_for_what_comes_often_now() -> None:
    kept = RepeatCache[int](8)
    for look in range(9):
        for _ in range(kept.again + 1):
            kept.met(look, lambda: 1)
    assert [*kept] == [2, 3, 4, 5, 6, 7, 8]


def test_a_constant_that_is_older_than_the_program_does_not_make_its_sweep_new() -> None:
    scale = wg.tensor(np.array([2.0, 3.0]))
    whole_sweeps.FORMULAS.clear()
    for _ in range(RepeatCache.again + 3):
        wg.grad(lambda x: np.sum(np.sin(x) * np.cos(x) * scale))(np.ones(2))
    assert len(whole_sweeps.FORMULAS) == 1


def test_tapes_of_one_tensor_are_alike_whenever_they_run() -> None:
    x, y = wg.tensor(np.ones(2)), wg.tensor(np.full(2, 3.0))
    whole_sweeps.FORMULAS.clear()
    for _ in range(RepeatCache.again + 3):
        with wg.GradientTape(persistent=True) as tape:
            tape.watch((x, y))
            z = -wg.ops.sum(-(x * y * y))
        assert [tape.gradient(z, w).numpy().tolist() for w in (x, y)] == [[9.0, 9.0], [6.0, 6.0]]
    assert len(whole_sweeps.FORMULAS) == 2


def test_a_few_entries_that_come_again_are_swept_by_their_own_formulas() -> None:
    x = np.array([0.3, 0.8])
    whole_sweeps.FORMULAS.forget()
    found = [wg.grad(lambda x: np.sum(x * np.sin(x)))(x) for _ in range(RepeatCache.again + 3)]
    np.testing.assert_allclose(found, [np.sin(x) + x * np.cos(x)] * len(found), rtol=1e-12)
    assert not whole_sweeps.FORMULAS and not whole_sweeps.FORMULAS.seen


@pytest.mark.usefixtures("unmet")
def test_a_rule_of_a_users_own_parts_a_sweep_and_what_lies_around_it_is_one_step() -> None:
    @wg.custom_gradient
    def doubled(x: Any) -> Any:
        return 2.0 * x, lambda ct: 2.0 * ct

    def f(x: Any) -> Any:
        y = np.sin(x) * np.exp(-x) + np.cos(x)
        z = doubled(y)
        return np.sum(np.sin(z) * y * np.exp(-z) * x)

    x = np.linspace(0.1, 0.9, 4)
    value, back = wg.vjp(f, x)
    one = np.ones_like(value)
    first, before = back(one), len(calls_in(back, one))
    for _ in range(RepeatCache.again + 3):
        found = back(one)
    np.testing.assert_array_equal(found, first)
    # 173 before where tests that ran earlier have filled caches, up to 312 where they have not
    assert len(calls_in(back, one)) < min(before, 130)
    e = 1e-6 * np.eye(4)
    np.testing.assert_allclose(found[0], [(f(x + d) - f(x - d)) / 2e-6 for d in e], rtol=1e-6)


def test_what_a_stretch_leaves_beside_a_users_rule_is_added_up_in_the_same_order() -> None:
    @wg.custom_gradient
    def halved(x: Any) -> Any:
        return 0.5 * x, lambda ct: 0.5 * ct

    def gradients(often: int) -> Any:
        whole_sweeps.FORMULAS.forget()
        for _ in range(often):
            found = wg.grad(
                lambda x, w: np.sum(w * np.tanh(halved(w * x) + x) * np.sqrt(halved(x) + w)), argnums=(0, 1)
            )(np.array([0.1, 0.7]), np.array([1.3, 0.4]))
        return found

    np.testing.assert_array_equal(gradients(1), gradients(RepeatCache.again + 3))
    assert whole_sweeps.FORMULAS


def test_gathers_from_a_long_table_stay_rows_when_the_sweep_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.linspace(0.0, 1.0, whole_sweeps.LARGEST_TABLE + 2).reshape(-1, 2)
    rows = [np.array([i, i + 3]) for i in range(5)]
    call = wg.grad(lambda t: sum(np.sum(np.sin(t[i]) ** 2) for i in rows))
    whole_sweeps.FORMULAS.forget()
    first, added, add_rows = call(table), list[Any](), reverse._add_rows
    for _ in range(RepeatCache.again + 3):
        call(table)
    monkeypatch.setattr(reverse, "_add_rows", lambda rows, key, cts: (added.append(key), add_rows(rows, key, cts)))
    np.testing.assert_array_equal(call(table), first)
    assert len(added) == len(rows)


def test_an_op_that_comes_again_under_a_tape_is_swept_by_what_its_rules_come_to_in_ops() -> None:
    def twice(x: Any, y: Any) -> Any:
        return wg.grad(lambda x: wg.sum(wg.sin(x * y) * y))(x)

    x, y = np.linspace(0.1, 0.7, 7), np.linspace(1.0, 2.0, 7)
    rounds = [wg.grad(lambda x: wg.sum(twice(x, y) ** 2))(x) for _ in range(12)]
    for found in rounds[1:]:
        np.testing.assert_array_equal(found, rounds[0])
    np.testing.assert_allclose(rounds[0], -2 * np.cos(x * y) * np.sin(x * y) * y**5, rtol=1e-12)
