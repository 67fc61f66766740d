"""The states of a loop kept for its reverse pass: never more than the budget, never more steps run again than promised.

A state is its step's number here, so that every state handed over can be checked. Extra steps are those that `advance`
runs. The closed form is Griewank and Walther's (ACM TOMS 26, 2000); the module under test cites the rest.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from math import comb, isqrt
from typing import Any, ClassVar

import numpy as np
import pytest

from wengert._transforms.snapshots import NEVER, EvenSnapshots, Snapshots

BUDGETS = range(1, 9)
LENGTHS = range(300)


def repetitions(n: int, s: int) -> int:
    """The least t with C(s + t, t) >= n."""
    t = 0
    while comb(s + t, t) < n:
        t += 1
    return t


def fewest(n: int, s: int) -> int:
    """p(n, s): the fewest forward steps that reverse n steps, the first sweep to state n - 1 included."""
    t = repetitions(n, s)
    return t * n - comb(s + t, t - 1) if t else 0


def fewest_extra(n: int, s: int, last: bool) -> int:
    return fewest(n, s) - (n - 1) if last else fewest(n + 1, s) - n


class Pass:
    """Runs `n` steps and the reverse pass, and checks all of it but the number of extra steps."""

    def __init__(self, snapshots: Snapshots, budget: int, n: int, last: bool = False) -> None:
        self.extra = self.calls = 0
        self.end = n
        # With the last state in hand, a state is offered once the loop is known to go on after its step.
        for step in range(n - 1 if last else n):
            snapshots.offer(step, step)
            assert snapshots.kept <= budget
        if last and n:
            snapshots.reverse(n, self.advance, self.pull, last=n - 1)
        else:
            snapshots.reverse(n, self.advance, self.pull)
        assert self.end == 0
        assert snapshots.kept == 0
        assert snapshots.most_kept <= budget

    def advance(self, state: int, start: int, stop: int) -> int:
        assert state == start < stop < self.end
        self.extra += stop - start
        self.calls += 1
        return stop

    def pull(self, state: int, step: int) -> None:
        assert state == step == self.end - 1
        self.end = step


def test_the_closed_form_is_the_optimum() -> None:
    @lru_cache(None)
    def optimum(n: int, s: int) -> int:
        if s == 1 or n <= 1:
            return n * (n - 1) // 2
        return min(m + optimum(n - m, s - 1) + optimum(m, s) for m in range(1, n))

    assert all(fewest(n, s) == optimum(n, s) for s in range(1, 6) for n in range(60))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("s", BUDGETS)
def test_a_known_trip_count_is_reversed_by_the_binomial_optimum(s: int, last: bool) -> None:
    for n in LENGTHS:
        if n:
            assert Pass(Snapshots(s, n), s, n, last).extra == fewest_extra(n, s, last), n


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("s", BUDGETS)
def test_an_unknown_trip_count_costs_no_more_up_to_half_of_s_plus_1_times_s_plus_2(s: int, last: bool) -> None:
    for n in range(1, (s + 1) * (s + 2) // 2 + 1):
        assert Pass(Snapshots(s), s, n, last).extra == fewest_extra(n, s, last), n


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("s", BUDGETS)
def test_an_unknown_trip_count_repeats_no_step_more_often_than_the_optimum_must(s: int, last: bool) -> None:
    for n in LENGTHS:
        extra = Pass(Snapshots(s), s, n, last).extra
        assert extra <= max(repetitions(n if last else n + 1, s) - 1, 0) * n, n
        assert extra <= repetitions(n, s) * n, n


@pytest.mark.parametrize("s", [9, 16, 20, 33, 64])
def test_larger_budgets_keep_the_bounds(s: int) -> None:
    exact = (s + 1) * (s + 2) // 2
    for n in (s, s + 1, s + 2, exact - 1, exact, exact + 1, exact + s, 2 * exact, comb(s + 3, 3), comb(s + 3, 3) + 1):
        extra = Pass(Snapshots(s), s, n).extra
        best = fewest_extra(n, s, last=False)
        assert best <= extra <= (repetitions(n + 1, s) - 1) * n
        if n <= exact:
            assert extra == best


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("s", [8, 200])
def test_a_million_steps(s: int, known: bool) -> None:
    n = 1_000_000
    done = Pass(Snapshots(s, n if known else None), s, n)
    assert done.extra <= (repetitions(n + 1, s) - 1) * n
    assert done.calls <= n  # one for each contiguous stretch
    if known:
        assert done.extra == fewest_extra(n, s, last=False)


def test_few_of_a_million_states_are_made() -> None:
    made = []
    snapshots = Snapshots(200)
    while snapshots.next_step < 1_000_000:
        snapshots.offer(snapshots.next_step, lambda: made.append(1))
    assert len(made) < 20_000
    exact = 201 * 202 // 2
    assert len(made) > exact // 2  # up to there a snapshot is due every other step


class State:
    """Something that is seen to be alive."""

    alive: ClassVar[weakref.WeakSet[State]] = weakref.WeakSet()

    def __init__(self, step: int) -> None:
        self.step = step
        self.alive.add(self)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("s", [1, 2, 5])
def test_states_die_when_they_are_not_needed(s: int, known: bool) -> None:
    n = 60

    def advance(state: State, start: int, stop: int) -> State:
        assert state.step == start
        assert len(State.alive) <= s
        return State(stop)

    def pull(state: State, step: int) -> None:
        assert state.step == step
        assert len(State.alive) <= s + 1  # the working state
        del state
        assert all(other.step <= step for other in State.alive)

    snapshots = Snapshots(s, n if known else None)
    for step in range(n):
        snapshots.offer(step, lambda step=step: State(step))
        assert len(State.alive) <= s
    snapshots.reverse(n, advance, pull)
    assert not State.alive


def test_one_step_is_pulled_from_the_initial_state_itself() -> None:
    pulled: list[Any] = []

    def pull(state: Any, step: int) -> None:
        pulled.append((state, step))
        assert snapshots.kept == 0

    snapshots = Snapshots(3)
    snapshots.offer(0, "first")
    snapshots.reverse(1, lambda *_: pytest.fail("nothing to run again"), pull)
    assert pulled == [("first", 0)]


@pytest.mark.parametrize("offered", [0, 1])
def test_nothing_is_pulled_after_no_steps(offered: int) -> None:
    def never(*_: Any) -> None:
        pytest.fail("no step was run")

    snapshots, even = Snapshots(2), EvenSnapshots()
    for step in range(offered):
        snapshots.offer(step, "state")
        even.offer(step, "state")
    snapshots.reverse(0, never, never)
    even.reverse(0, never)
    assert snapshots.kept == even.kept == 0


@pytest.mark.parametrize("s", [1, 2, 3, 7])
def test_states_offered_before_the_loop_ended_are_not_used(s: int) -> None:
    for n in range(1, 40):
        snapshots = Snapshots(s)
        for step in range(n + 1):  # the state after the last step is shown, then the loop's test fails
            snapshots.offer(step, step)
        pulled: dict[int, int] = {}
        snapshots.reverse(n, lambda state, start, stop: state + stop - start, pulled.__setitem__)
        assert [*pulled.items()] == [(step, step) for step in range(n - 1, -1, -1)]


@pytest.mark.parametrize("known", [False, True])
def test_a_pass_may_be_made_again_from_the_initial_state(known: bool) -> None:
    s, n = 3, 50
    snapshots = Snapshots(s, n if known else None)
    for step in range(n):
        snapshots.offer(step, step)
    extra = 0

    def advance(state: int, start: int, stop: int) -> int:
        nonlocal extra
        extra += stop - start
        return state + stop - start

    for again in (True, True, False):
        pulled: list[tuple[int, int]] = []
        extra = 0
        snapshots.reverse(n, advance, lambda *pair: pulled.append(pair), again=again)  # noqa: B023  # called at once
        assert pulled == [(step, step) for step in reversed(range(n))]
        assert snapshots.kept == again
    assert extra == fewest(n, s)
    with pytest.raises(ValueError, match="is used up"):
        snapshots.reverse(n, advance, lambda *_: None)


def test_a_snapshot_passed_over_is_an_error() -> None:
    snapshots = Snapshots(4)
    with pytest.raises(ValueError, match="before step 0 was to be kept, but step 1 came next"):
        snapshots.offer(1, "state")
    snapshots.offer(0, "state")
    snapshots.offer(0, "ignored")  # not due
    assert (snapshots.kept, snapshots.next_step) == (1, 1)


def test_no_more_states_are_wanted_once_the_schedule_is_done() -> None:
    one = Snapshots(1)
    one.offer(0, "state")
    assert one.next_step == NEVER
    one.offer(10**9, "state")
    assert one.kept == 1
    known = Snapshots(5, 3)
    for step in range(3):
        known.offer(step, "state")
    assert known.next_step == NEVER


@pytest.mark.parametrize("kind", [Snapshots, EvenSnapshots])
def test_budgets_and_trip_counts_are_integers(kind: Any) -> None:
    for budget in (0, -1):
        with pytest.raises(ValueError, match=f"budget must be at least 1, not {budget}"):
            kind(budget)
    for budget in (2.0, "2", True, np.array([2])):
        with pytest.raises(TypeError, match="budget must be an integer"):
            kind(budget)
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        kind(2, -1)
    with pytest.raises(TypeError, match="steps must be an integer"):
        kind(2, 3.5)
    assert kind(np.int64(2), steps=np.int32(0)).kept == 0


def even_pass(snapshots: EvenSnapshots, n: int, again: bool = False) -> int:
    """Runs and reverses `n` steps; the longest stretch."""
    end, longest = n, 0

    def pull(state: int, start: int, stop: int) -> None:
        nonlocal end, longest
        assert state == start < stop == end
        end, longest = start, max(longest, stop - start)

    snapshots.reverse(n, pull, again=again)
    assert end == 0
    return longest


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("s", [*BUDGETS, 40])
def test_even_snapshots_replay_each_step_once_within_the_budget(s: int, known: bool) -> None:
    for n in LENGTHS:
        snapshots = EvenSnapshots(s, n if known else None)
        for step in range(n):
            snapshots.offer(step, step)
            assert snapshots.kept <= s
        longest = even_pass(snapshots, n)
        assert longest <= (-(-n // s) if known else max(1, 4 * n / s) if s > 1 else n)
        assert snapshots.kept == 0


@pytest.mark.parametrize("known", [False, True])
def test_even_snapshots_balance_states_and_residuals(known: bool) -> None:
    for n in (*LENGTHS, 10_000, 123_457, 1_000_000):
        snapshots = EvenSnapshots(steps=n if known else None)
        while snapshots.next_step < n:
            snapshots.offer(snapshots.next_step, snapshots.next_step)
        most = isqrt(n) + 1 if known else isqrt(2 * n) + 2
        assert snapshots.most_kept <= most
        assert even_pass(snapshots, n, again=True) <= most
        assert even_pass(snapshots, n) <= most
