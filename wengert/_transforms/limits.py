"""Derivatives at equal eigenvalues and singular values, as limits.

There the vectors have no derivative, but smooth functions of values and vectors have one. Let the values part: in the
matrix A + t P, with P diagonal in the basis at hand, they are e + t p, all distinct, and the vectors are the same. The
derivative at A is the limit of those at A + t P, in which 0 / 0 is a ratio of rates by t. These need what came of the
values since: `Trail` keeps it, and p is pushed through it. What is smooth depends neither on the choice of p nor on the
basis in the space of equal values: two choices are compared, and where they differ there is NaN.

In reverse mode the numerators are parts of the vectors' cotangents (`_prims/limits.py`). In forward mode the vectors'
tangents have a part that goes as 1 / t (`Remainder`). If it cancels in a result, what remains of it in the result's
tangent is a mixed second derivative, along the part and along p. If it does not, the result is NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.engine import ndarray_of
from .._core.op import ZERO, Op, Spectrum
from .._core.state import pausing, recording
from .._core.tensor import Tensor, Value
from .._core.types import type_of
from .._prims.discrete import logical_and, logical_not, logical_or
from .._prims.limits import (
    CANCELLED,
    Divide,
    at_rest,
    chosen,
    generic,
    is_within,
    limit_value,
    nan_where,
    of_tangents,
    quotient,
    seldom,
    unbounded,
    without_nothing,
)
from .._prims.piecewise import abs_
from .._prims.reductions import reduce_any, reduce_max
from .._prims.structural import add, broadcast_to, fill, mul, reshape, sub, times_number, zeros_of
from ..errors import NonFiniteError
from .pushing import Pushing, push
from .recorded_ops import RecordedOp, Steps

Sources = Sequence[tuple[Tensor, Tensor]]  # values with their tangents


def has_equal(op: Op, outs: Sequence[Tensor]) -> bool:
    """Whether a decomposition may have equal values, for which limits are needed (in a trace it may)."""
    assert op.spectrum is not None  # the caller has looked
    values = outs[op.spectrum.values]
    if any(type(extent) is int and extent == 0 for extent in values.shape):
        return False
    if type(values._data) is Value:
        return True
    return op.spectrum.shows_equal(ndarray_of(values._data))


class Trail(Steps):
    """What came of the results of decompositions with equal values: a tape keeps it, and sweeps go on with it."""

    is_used = False  # whether there has ever been one, for sweeps to look

    def __init__(self) -> None:
        super().__init__(())
        self.seeds: Sequence[Tensor] = ()  # of the sweep under way: cotangents that may depend on the values, too
        Trail.is_used = True

    def follow(self, outs: Sequence[Tensor]) -> None:
        """Makes the results of a decomposition sources."""
        for out in outs:
            self.watch(out)

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """As `Steps`; but what is a constant to a gradient is none to the values."""
        if op.kind != "stop" or op.name == "stop_gradient":
            self.keep(op, operands, attrs, outs)

    def rates(self, spectrum: Spectrum, outs: tuple[Tensor, ...]) -> _Rates:
        """The rates of all that came of a decomposition's results, as the values part."""
        return _Rates(self, spectrum, outs)


def _ways(spectrum: Spectrum, outs: tuple[Tensor, ...]) -> list[tuple[Tensor, list[tuple[Tensor, Tensor]]]]:
    """Two directions in which the values part, each with tangents of all results; in these the vectors turn, too, into
    others that belong to equal values."""
    values = outs[spectrum.values]
    apart = spectrum.apart(values)
    turns = spectrum.push(outs, generic(spectrum.like(outs)), unbounded(apart))
    ways = []
    for direction, number in ((apart, 1.0), (mul(apart, apart), -2.0)):
        moves = [
            direction if out is values else times_number(t, number=number) for out, t in zip(outs, turns, strict=True)
        ]
        ways.append((direction, [*zip(outs, moves, strict=True)]))
    return ways


def _turns_of(spectrum: Spectrum, sources: Sources) -> list[tuple[Tensor, Tensor]]:
    """Of such a way the vectors' part."""
    return [pair for number, pair in enumerate(sources) if number != spectrum.values]


class following_sweep:
    """Context manager: the trails that the entries of a sweep lead to follow the sweep, too."""

    def __init__(self, trails: Sequence[Trail], seeds: Sequence[Tensor]) -> None:
        self._trails = trails
        self._seeds = seeds
        self._recording: Any = None

    def __enter__(self) -> None:
        self._before = [trail.mark() for trail in self._trails]
        self._recording = [recording(trail) for trail in self._trails]
        for trail, opened in zip(self._trails, self._recording, strict=True):
            trail.follow(self._seeds)
            trail.seeds = self._seeds
            opened.__enter__()

    def __exit__(self, *exc: object) -> None:
        for opened in reversed(self._recording):
            opened.__exit__(*exc)
        for trail, mark in zip(self._trails, self._before, strict=True):
            trail.seeds = ()
            trail.back_to(mark)


class _Along:
    """The tangents of what came of some sources, pushed through the steps so far whenever one is asked for."""

    def __init__(self, steps: Sequence[RecordedOp], sources: Sources) -> None:
        self._steps = steps
        self._done = 0
        self._pushed = Pushing()
        for source, tangent in sources:
            self._pushed.set(source, tangent)

    def of(self, x: Tensor) -> Tensor | None:
        with pausing(()):
            while self._done < len(self._steps):
                self._done += 1
                _push_step(self._pushed, self._steps[self._done - 1])
        return _tensor(self._pushed.pushed(x))


def _push_step(pushed: Pushing, step: RecordedOp, within: Callable[[], Any] | None = None, masks: bool = False) -> None:
    """Pushes tangents through an op; without a forward derivative the results' are unknown."""
    op, operands, attrs, outs = step
    dots = [pushed.pushed(x) for x in operands]
    if all(dot is None for dot in dots):
        return
    if op is at_rest and not masks:  # how the values part is no tangent of the program's: what rests there still does
        return
    if op.kind == "stop":
        pushed.file(outs, dots[:1], (False,))
        return
    try:
        with pausing(()) if within is None else within():
            results, flags = push(op, operands, attrs, outs, dots, (masks,) * len(operands))
    except (LookupError, NotImplementedError):
        results = (*[fill(out, float("nan")) if dtypes.is_inexact(out.dtype) else None for out in outs],)
        flags = (False,) * len(outs)
    pushed.file(outs, results, (*[masks or flag for flag in flags],))


class _Rates:
    """The rates of change of eigenvalues, as `_prims.limits.Ratios` asks for them."""

    def __init__(self, trail: Trail, spectrum: Spectrum, outs: tuple[Tensor, ...]) -> None:
        with pausing(()):
            ways = _ways(spectrum, outs)
            self._strays = _Along(trail.steps, [(seed, generic(seed)) for seed in trail.seeds])
        self.ways = [direction for direction, _ in ways]
        self._rates = [_Along(trail.steps, sources) for _, sources in ways]
        self._turned = _Along(trail.steps, _turns_of(spectrum, ways[0][1]))

    def of(self, x: Tensor, way: int) -> Tensor | None:
        return self._rates[way].of(x)

    def turned(self, x: Tensor) -> Tensor | None:
        return self._turned.of(x)

    def stray(self, x: Tensor) -> Tensor | None:
        return self._strays.of(x)


class Remainder:
    """What the unbounded parts of vectors' tangents leave in the tangents of smooth functions of them."""

    def __init__(self) -> None:
        self._trail = Trail()
        self._reached: set[int] = set()  # what depends on vectors
        self._starts: list[tuple[Spectrum, tuple[Tensor, ...], Tensor]] = []  # decompositions, their operands' tangents
        self._first = ("", 0)  # the first of them, and the key of its first result, for messages
        self._is_hard: Tensor | None = None
        self._is_traced = False
        self._share = 0.0  # of numbers from which something cancels, what remains of it
        self._rests: list[_Mixed] = []
        self._of_bounded: _Mixed | None = None
        self._of_moves: _Along | None = None

    def start(
        self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...], dot: Tensor
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """The bounded parts of the tangents of a decomposition's results; the others are followed from here on."""
        spectrum = op.spectrum
        assert spectrum is not None  # the caller has looked
        if not self._reached.isdisjoint(x._key for x in operands):
            return self._beyond(spectrum.push(outs, dot, of_tangents(quotient)))
        hard: list[Tensor] = []

        def bounded(x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Any) -> Tensor:
            with pausing(()):
                found = logical_and(is_nothing, logical_not(is_dropped))
                hard.append(reduce_any(found, axes=(*range(len(found.shape)),)))
            return without_nothing(x, divisor, is_nothing, is_dropped, rate)

        tangents = spectrum.push(outs, dot, of_tangents(bounded))
        values = outs[spectrum.values]
        with pausing(()):
            flag = functools.reduce(logical_or, hard)
            where = seldom(spectrum.has_equal, values)
            if where is not None:
                flag = logical_and(where, flag)
                self._is_traced = True
            self._is_hard = flag if self._is_hard is None else logical_or(self._is_hard, flag)
        self._share = max(self._share, CANCELLED[dtypes.real_of(values.dtype).name])
        if not self._starts:
            self._first = (op.name, outs[0]._key)
        self._starts.append((spectrum, outs, dot))
        self._reached.update(out._key for out in outs if out is not values)
        self._trail.follow(outs)
        self._rests = []  # what was pushed so far lacks the new sources
        return tangents

    def _beyond(self, tangents: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Tangents of a decomposition of what came of another one's vectors: of their limits nothing is known."""
        is_hard = self._is_hard
        assert is_hard is not None  # there has been another one
        return (*[nan_where(broadcast_to(is_hard, shape=x.shape), x) for x in tangents],)

    def _prepare(self) -> None:
        """Sets out the sources of all that is to be pushed."""
        steps = self._trail.steps
        moved: list[tuple[Tensor, Tensor]] = []
        self._rests, self._of_bounded = [_Mixed(steps), _Mixed(steps)], _Mixed(steps)
        for spectrum, outs, dot in self._starts:
            ways = _ways(spectrum, outs)
            for (direction, sources), rest in zip(ways, self._rests, strict=True):
                rest.start(spectrum, outs, dot, unbounded(direction), sources)
            turns = _turns_of(spectrum, ways[0][1])
            self._of_bounded.start(spectrum, outs, dot, without_nothing, turns)
            moved += [(out, generic(out)) for out, _ in turns]
        self._of_moves = _Along(steps, moved)

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note of an op that ran."""
        self._trail.observe(op, operands, attrs, outs)
        if not self._reached.isdisjoint(x._key for x in operands):
            self._reached.update(out._key for out in outs)

    def added_to(self, tangent: object, primal: Tensor) -> Any:
        """A value's tangent, complete; NaN if its unbounded part does not cancel."""
        if primal._key not in self._reached or not dtypes.is_inexact(primal.dtype):
            return tangent
        with pausing(()):
            if not self._rests:
                self._prepare()
            assert self._of_bounded is not None
            assert self._of_moves is not None
            assert self._is_hard is not None
            where = broadcast_to(self._is_hard, shape=primal.shape)
            rest, other = [mixed.of(primal) for mixed in self._rests]
            by_basis = self._of_bounded.of(primal)
            by_turn, by_move = self._of_bounded.rate(primal), self._of_moves.of(primal)
            differences = [sub(rest, other)] if rest is not None and other is not None else []
            differences += [x for x in (by_turn, by_basis) if x is not None]
            sizes = [abs_(x) for x in (by_move, rest, other, self._of_bounded.part(primal)) if x is not None]
            is_smooth = None
            if differences and sizes:
                size = _largest(functools.reduce(add, sizes))
                is_smooth = functools.reduce(logical_and, [is_within(x, size, self._share) for x in differences])
        known = tangent if isinstance(tangent, Tensor) else zeros_of(type_of(primal))
        whole = known if rest is None else add(known, rest)
        if is_smooth is not None:
            try:
                whole = nan_where(logical_and(where, logical_not(is_smooth)), whole)
            except NonFiniteError as error:
                error.in_gradient_of(*self._first)
                raise
        if self._is_traced:
            assert self._is_hard is not None
            whole = chosen(self._is_hard, whole, known)
        return limit_value(whole, where, known)


def _largest(x: Tensor) -> Tensor:
    """The largest of the elements along the last two axes, those before them being a batch, in place of each."""
    rank = len(x.shape)
    if rank == 0 or 0 in x.shape:
        return x
    axes = (*range(max(rank - 2, 0), rank),)
    top = reshape(reduce_max(x, axes=axes), shape=(*x.shape[: axes[0]], *(1 for _ in axes)))
    return broadcast_to(top, shape=x.shape)


class _Mixed:
    """Mixed second derivatives: of the unbounded parts of tangents, the rates as the values part."""

    def __init__(self, steps: Sequence[RecordedOp]) -> None:
        self._steps = steps
        self._done = 0
        self._rates, self._parts = Pushing(), Pushing()

    def start(
        self, spectrum: Spectrum, outs: tuple[Tensor, ...], dot: Tensor, divide: Divide, sources: Sources
    ) -> None:  # fmt: skip
        """Begins at a decomposition, whose operand has a tangent."""
        for source, tangent in sources:
            self._rates.set(source, tangent)
        with pausing((self._rates,)):
            parts = spectrum.push(outs, dot, divide)
        for number, (out, part) in enumerate(zip(outs, parts, strict=True)):
            if number != spectrum.values:
                self._parts.set(out, part, True)

    def of(self, x: Tensor) -> Tensor | None:
        part = self.part(x)
        return None if part is None else self.rate(part)

    def part(self, x: Tensor) -> Tensor | None:
        """The tangent along the parts."""
        while self._done < len(self._steps):
            step = self._steps[self._done]
            self._done += 1
            _push_step(self._rates, step)
            _push_step(self._parts, step, lambda: pausing((self._rates,)), True)
        return _tensor(self._parts.pushed(x))

    def rate(self, x: Tensor) -> Tensor | None:
        """The rate of a value, or of a tangent that `part` has given."""
        return _tensor(self._rates.pushed(x))


def _tensor(found: Any) -> Tensor | None:
    return None if found is ZERO else found


__all__ = ["Remainder", "Trail", "following_sweep", "has_equal"]
