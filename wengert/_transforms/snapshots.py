"""Which states of a loop are kept while it runs, and how its reverse pass gets the others back.

A loop is a chain of steps: step `i` takes state `i` to state `i + 1`. Its reverse pass wants the states the other way
round, the one before the last step first. `Snapshots` keeps at most `budget` of them and runs steps again for the
others; `EvenSnapshots` keeps states at even distances and replays each stretch between two of them once. Nothing here
knows what a state is: eager loops keep tensors, the compiled kernel keeps rows of a buffer.

What is counted: an *extra* step is one that `advance` runs during the reverse pass. The steps of the forward run are
not extra, nor is the one run that each pulled step may need to make its residuals. The state that `advance` returns and
that goes straight to `pull` is the working state; it is not a snapshot.

With beta(s, t) = C(s + t, t), the fewest forward steps (the first sweep, of n - 1 steps, included) that reverse n steps
with s snapshots are p(n, s) = t*n - C(s + t, t - 1), where t is the least with beta(s, t) >= n (Griewank and Walther,
"Algorithm 799: revolve", ACM TOMS 26, 2000). So the fewest extra steps are

    p(n, s) - (n - 1)   if the caller still has the state before the last step when the reverse pass starts,
    p(n + 1, s) - n     if it does not: the run has then passed the state, as if one more step, free to pull, followed.

A known trip count gives exactly these numbers. An unknown one gives them for n <= beta(s, 2) = (s + 1)(s + 2)/2, as
Stumm and Walther have shown to be possible ("New algorithms for optimal online checkpointing", SIAM J. Sci. Comput. 32,
2010), and beyond at most t - 1 runs for each step (t of n + 1 steps if the last state is not given), hence never more
than t*n: the repetitions are the fewest possible, as in Wang, Moin and Iaccarino, "Minimal repetition dynamic
checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31, 2009.
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from itertools import count
from math import comb, isqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    # Where the next snapshot is taken, and the kept ones that go when it is.
    Plan = Iterator[tuple[int, Sequence[int]]]

__all__ = ["NEVER", "EvenSnapshots", "Snapshots"]

NEVER = sys.maxsize  # a step that no loop reaches; fits the kernel's 64-bit counters
_NOT_GIVEN = object()


class _KeptStates:
    """States by their steps, in ascending order, taken where a plan says."""

    __slots__ = ("_drops", "_plan", "_states", "most_kept", "next_step")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._states: dict[int, Any] = {}
        self.most_kept = 0
        self.next_step, self._drops = next(plan)

    @property
    def kept(self) -> int:
        """The number of states held now."""
        return len(self._states)

    def offer(self, step: int, state: Callable[[], Any] | Any) -> None:
        """Shows the state before step `step`, for the steps 0, 1, 2, ... in order, each before it runs.

        Only the call for `next_step` matters: a caller may compare, and skip all others.

        Args:
            step: the number of the step about to run.
            state: the state, or a function of no arguments that makes it, which is called only if the state is kept
                (so a state that can itself be called needs such a function).

        Raises:
            ValueError: if `next_step` was passed over.
        """
        if step < self.next_step:
            return
        if step > self.next_step:
            raise ValueError(f"the state before step {self.next_step} was to be kept, but step {step} came next")
        for old in self._drops:
            del self._states[old]
        self._states[step] = state() if callable(state) else state
        self.most_kept = max(self.most_kept, len(self._states))
        self.next_step, self._drops = next(self._plan, (NEVER, ()))

    def _begin_reverse(self, steps: int) -> None:
        """No more offers; states at or past the end (offered before the loop's test failed) are of no use."""
        self.next_step, self._drops = NEVER, ()
        states = self._states
        while states and self._latest() >= max(steps, 1):
            states.popitem()

    def _latest(self) -> int:
        try:
            return next(reversed(self._states))
        except StopIteration:
            raise ValueError("the initial state is not kept: it was never offered, or is used up") from None


class Snapshots(_KeptStates):
    """States of a loop, kept while it runs: at most `budget` of them at any time, the initial one included.

    The module's docstring says how many steps the reverse pass runs again. Bookkeeping takes O(budget) memory. Two
    ways to make it cheaper than a call for each step: compare with `next_step` before `offer`, and let a "step" be a
    block of several of the loop's, pulled together.

    Args:
        budget: how many states may be kept.
        steps: the trip count if it is known beforehand.

    Attributes:
        next_step: the step before which a state is wanted next; `NEVER` if no more are.
        kept: the number of states held now.
        most_kept: the largest that `kept` has been.

    Raises:
        TypeError: if `budget` or `steps` is not an integer.
        ValueError: if `budget` is below 1 or `steps` below 0.

    Example:
        >>> snapshots = Snapshots(budget=2)
        >>> state = 1
        >>> for step in range(4):
        ...     snapshots.offer(step, state)
        ...     state *= 2
        >>> pulled = []
        >>> snapshots.reverse(4, lambda state, start, stop: state << (stop - start), lambda *pair: pulled.append(pair))
        >>> pulled
        [(8, 3), (4, 2), (2, 1), (1, 0)]
    """

    __slots__ = ("_budget",)

    def __init__(self, budget: int, steps: int | None = None) -> None:
        self._budget = _at_least(1, "budget", budget)
        super().__init__(
            _unknown_trip_count(self._budget)
            if steps is None
            else _known_trip_count(self._budget, _at_least(0, "steps", steps))
        )

    def reverse(
        self,
        steps: int,
        advance: Callable[[Any, int, int], Any],
        pull: Callable[[Any, int], None],
        *,
        last: object = _NOT_GIVEN,
        again: bool = False,
    ) -> None:
        """Pulls the steps `steps - 1`, ..., 1, 0 of a run that has ended, each once.

        States are dropped once they are not needed, and their slots taken by new ones.

        Args:
            steps: how many steps the run had.
            advance: `advance(state, start, stop)` is the state before step `stop`, from the one before step `start`.
            pull: `pull(state, step)` is given the state before the step.
            last: the state before step `steps - 1`, if the caller still has it: saves running to it. To save all that
                can be, such a caller offers a state only once it knows that its step is not the last.
            again: keep the initial state at the end, so that the pass can be made again, from that state alone
                (p(steps, budget) extra steps). Without it nothing is kept.

        Raises:
            ValueError: if the initial state is not kept.
        """
        self._begin_reverse(steps)
        states, budget = self._states, self._budget
        end = steps
        if last is not _NOT_GIVEN and steps and (steps - 1) not in states:
            end -= 1
            pull(last, end)
        del last
        while end:
            start = self._latest()
            free = budget - len(states)
            if end - start > 1 and free:
                middle = start + _first_stretch(end - start, free + 1)
                states[middle] = advance(states[start], start, middle)
                self.most_kept = max(self.most_kept, len(states))
                continue
            end -= 1
            if start < end:
                pull(advance(states[start], start, end), end)
            elif start or not again:
                pull(states.pop(start), start)  # nothing here holds the state while it is pulled
            else:
                pull(states[0], 0)
        if not again:
            states.clear()


class EvenSnapshots(_KeptStates):
    """States of a loop at even distances; the reverse pass replays each stretch between two of them, once, at once.

    No step is run again but the one time that its residuals are made, and the residuals of one stretch are alive at a
    time. If the trip count n is unknown, the distance starts at 1 and doubles, and every other state goes, each time
    there would be too many.

    Args:
        budget: how many states may be kept, the initial one included. None for states and residuals in balance: at
            most sqrt(2n) + 2 states, and stretches of at most sqrt(2n) + 2 steps; sqrt(n) + 1 if `steps` is given.
        steps: the trip count if it is known beforehand.

    Attributes:
        next_step: the step before which a state is wanted next; `NEVER` if no more are.
        kept: the number of states held now.
        most_kept: the largest that `kept` has been.

    Raises:
        TypeError: if `budget` or `steps` is not an integer.
        ValueError: if `budget` is below 1 or `steps` below 0.

    Example:
        >>> snapshots = EvenSnapshots(budget=3)
        >>> for step in range(7):
        ...     snapshots.offer(step, f"state {step}")
        >>> snapshots.reverse(7, print)
        state 4 4 7
        state 2 2 4
        state 0 0 2
    """

    __slots__ = ()

    def __init__(self, budget: int | None = None, steps: int | None = None) -> None:
        if budget is not None:
            budget = _at_least(1, "budget", budget)
        if steps is None:
            super().__init__(_doubling_distances(budget))
        else:
            super().__init__(_even_distances(budget, _at_least(0, "steps", steps)))

    def reverse(self, steps: int, pull: Callable[[Any, int, int], None], *, again: bool = False) -> None:
        """Pulls the stretches of a run that has ended, the last first; together they are all its steps.

        Args:
            steps: how many steps the run had.
            pull: `pull(state, start, stop)` is given the state before step `start`, and is to run and pull the steps
                `start` to `stop - 1`.
            again: keep the states, so that the pass can be made again.

        Raises:
            ValueError: if the initial state is not kept.
        """
        self._begin_reverse(steps)
        end = steps
        for start in (*reversed(self._states),) if steps else ():
            pull(self._states[start] if again else self._states.pop(start), start, end)
            end = start
        if not again:
            self._states.clear()


def _unknown_trip_count(budget: int) -> Plan:
    """Snapshots for a run that may end at any time.

    Phase t serves runs of up to beta(s, t) steps. It turns what phase t - 1 has left into the stretches of the offline
    schedule, beta(s, t - 1), beta(s - 1, t - 1), ..., beta(2, t - 1) steps long, from the left: their ends stay until
    the phase is over, and whenever a slot is wanted the leftmost other snapshot goes, which only makes longer a stretch
    that is still a part of an offline one. So at any time a stretch with k slots to reverse it (its own and those of
    all later snapshots, free by then) is at most beta(k, t - 1) long, and none of its steps is run more than t - 1
    times. The unfinished stretch at the right keeps to that as well: a snapshot is due before it is longer. In phase 2
    that is the optimum: each step but s + 1 is run again, just once. Phase t ends at step beta(s, t), where the first
    stretch of phase t + 1 does.
    """
    yield 0, ()
    if budget == 1:
        return
    kept, latest = 1, 0
    ends: list[int] = []
    for phase in count(1):
        others, ends, end = deque(ends), [], 0
        for slots in range(budget, 1, -1):
            end += comb(slots + phase - 1, slots)
            while latest < end:
                reach = comb(budget - kept + phase, phase - 1)
                latest = min(latest + reach, end)
                drops: list[int] = []
                while others and kept >= budget - _reserve(budget, phase):
                    drops.append(others.popleft())
                    kept -= 1
                yield latest, drops
                kept += 1
                if latest < end:
                    others.append(latest)
            ends.append(end)


def _reserve(budget: int, phase: int) -> int:
    """How many slots stay free as long as there are snapshots to spare.

    With none free, the stretch at the right may be `phase` steps long and no more, so a snapshot would be due every few
    steps, and early in a phase each one costs an old one, to be run to again. A few free slots let the stretch be far
    longer. An eighth was chosen by trial: of 200 slots, at the start of phase 3, where it is worst, it makes 1.25 times
    the offline number of extra steps instead of 1.7, and 13,000 snapshots in a million steps instead of 340,000. Phase
    2 is to be exact and keeps none.
    """
    return budget // 8 if phase > 2 else 0


def _known_trip_count(budget: int, steps: int) -> Plan:
    """The binomial schedule of `steps + 1` steps, the last of which is free to pull.

    As each stretch is the shortest of the optimal ones, the last is as long as any may be; the schedule is then optimal
    for `steps` steps as well, should the state before the last of them be given.
    """
    yield 0, ()
    position, rest = 0, steps + 1
    for slots in range(budget, 1, -1):
        if rest <= 2:
            return
        stretch = _first_stretch(rest, slots)
        position, rest = position + stretch, rest - stretch
        yield position, ()


def _first_stretch(length: int, slots: int) -> int:
    """Where the next snapshot is best taken in a stretch of `length` > 1 steps whose first state is kept.

    Any m from beta(slots, t - 2) to beta(slots, t - 1) that leaves from beta(slots - 1, t - 1) to beta(slots - 1, t)
    gives p(length, slots); this is the least one.

    Args:
        length: how many steps.
        slots: how many snapshots may be kept, the first one included; at least 2.
    """
    if length <= slots + 1:
        return 1
    t, shorter, short, reach = 1, 0, 1, slots + 1
    while reach < length:
        t += 1
        shorter, short, reach = short, reach, reach * (slots + t) // t
    return max(shorter, length - reach * slots // (slots + t))


def _doubling_distances(budget: int | None) -> Plan:
    positions: list[int] = []
    position, distance = 0, 1
    drops: list[int] = []
    while True:
        yield position, drops
        positions.append(position)
        position, drops = position + distance, []
        if len(positions) == (budget or 2 * distance):
            if budget == 1:
                return
            drops = positions[1::2]
            del positions[1::2]
            distance *= 2
            position += position % distance


def _even_distances(budget: int | None, steps: int) -> Plan:
    distance = max(1, -(-steps // budget) if budget else isqrt(max(steps - 1, 0)) + 1)
    yield 0, ()
    for position in range(distance, steps, distance):
        yield position, ()


def _at_least(least: int, name: str, value: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number
