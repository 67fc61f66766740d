"""Taylor mode: the recorder that pushes series through ops as they run, to any order.

Where an op declares no rule for series (`_prims/series.py`), its series follow from its derivative along the curve:
out' = J(x) x'. The declared rule of that derivative is run once, and what it ran is gone through again term by term.
Terms are made when they are asked for, so it may read the result itself (exp: out' = out x'), and an op that comes up
again on the same operands is the same series (sin and cos are each other's slopes). All is of the second power of the
order, and of the third where slopes are ops without end (lgamma).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.op import Op
from .._core.state import recording
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.series import Series, Term, along, constant, given, multiple, total
from .._prims.structural import alias, fill, zeros_of
from .pushing import Pushing, lacks_tangents, push
from .recorded_ops import Steps
from .replay import replay

WholeRule = Callable[[Sequence[Tensor], tuple[Any, ...], Sequence[Series], int], tuple[list[list[Term]], list[bool]]]
"""From operands, attributes, the operands' series and an order to the terms 1, 2, ... of each result, and whether they
may hold structural zeros."""

WHOLE: dict[str, WholeRule] = {}
"""How ops that hold programs push all terms at once, by what they hold; `_control/series.py` puts the rules here."""


class Jets(Pushing):
    """The recorder of Taylor mode: `series_of` gives the terms of a value.

    At equal eigenvalues or singular values there are no limits here, but NaNs.
    """

    def __init__(self, order: int) -> None:
        super().__init__()
        self.order = order

    def start(self, x: Tensor, terms: Sequence[Term], masked: bool = False) -> None:
        """Gives a source its terms 1, 2, ..."""
        self.set(x, given((x, *terms), masked), masked)

    def series_of(self, x: Tensor) -> Series | None:
        """The series of a value; None if it does not depend on the sources."""
        return self.pushed(x)

    def terms_of(self, x: Tensor) -> list[Term]:
        """The terms 1, 2, ... of a value."""
        series = self.pushed(x)
        return [None] * self.order if series is None else [series[k] for k in range(1, self.order + 1)]

    def follow(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        found = [self.pushed(x) for x in operands]
        if op.kind == "stop" or all(s is None for s in found):
            return
        if op.kind == "custom":  # whose rule may use what the user's function has computed on the way
            env = {key: series for key, (series, _, _) in self._tangents.items() if series is not None}
        else:
            env = {x._key: s for x, s in zip(operands, found, strict=True) if s is not None}
        ran = _Ran(_Curves(env, self.order), op, operands, attrs, outs)
        for index, out in enumerate(outs):
            if dtypes.is_inexact(out.dtype):
                terms = [ran.series[index][k] for k in range(1, self.order + 1)]
                masked = ran.series[index].masked
                self.set(out, given((out, *terms), masked), masked)


class _Curves:
    """What moves while one op's series are found: series by the keys of tensors, and the ops that gave them.

    Attributes:
        ready: terms up to here are there of what came from outside.
    """

    def __init__(self, env: dict[int, Series], ready: int) -> None:
        self.env = env
        self.ready = ready
        self._ran: dict[Any, _Ran] = {}

    def series_of(self, x: Tensor) -> Series:
        found = self.env.get(x._key)
        return constant(x) if found is None else found

    def add(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note of an op that ran in a rule: the series of its results are at hand when asked for."""
        if op.kind == "stop":
            return
        key = (op, (*[x._key for x in operands],), attrs)
        try:
            known = self._ran.get(key)
        except TypeError:  # an attribute that cannot be looked up
            known = None
        if known is None:
            _Ran(self, op, operands, attrs, outs)
            return
        for out, series in zip(outs, known.series, strict=True):
            self.env[out._key] = series

    def note(self, ran: _Ran) -> None:
        try:
            self._ran[ran.op, (*[x._key for x in ran.operands],), ran.attrs] = ran
        except TypeError:  # such an op is not found again
            return


class _Ran:
    """An op that ran, and the series of its results."""

    def __init__(
        self, curves: _Curves, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]
    ) -> None:
        self.curves, self.op, self.operands, self.attrs, self.outs = curves, op, operands, attrs, outs
        self.inputs = [curves.series_of(x) for x in operands]
        self.moves = [x._key in curves.env for x in operands]
        masked = op.leaves_zeros or any(s.masked for s in self.inputs)
        self._rows: list[Sequence[Term]] = [outs]
        self._found: list[Sequence[Term]] = []  # the rows of an op that gives all at once
        self._make: Callable[[int], Sequence[Term]] | None = None
        self.series = [Series(lambda k, i=i: self._row(k)[i], (out,), masked) for i, out in enumerate(outs)]
        for out, series in zip(outs, self.series, strict=True):
            if dtypes.is_inexact(out.dtype):
                curves.env[out._key] = series
        curves.note(self)

    def _row(self, k: int) -> Sequence[Term]:
        """Term k of each result."""
        while len(self._rows) <= k:
            if self._make is None:
                self._make = self._rule()
            self._rows.append(self._make(len(self._rows)))
        return self._rows[k]

    def _mask(self) -> None:
        for series in self.series:
            series.masked = True

    def _rule(self) -> Callable[[int], Sequence[Term]]:
        op = self.op
        if op.kind == "zero":
            return lambda k: (None,) * len(self.outs)
        if op.facts.holds == "a program" and not all(s.is_given for s in self.inputs):
            return self._inlined()
        if op.facts.holds in WHOLE:
            return self._whole
        if op.jet is not None:
            rule = op.jet.fn(*op.jet.pick((*op.group((*self.inputs,)), *self.series, *self.attrs)))
            if rule is not None:
                return lambda k: (rule(k),)
        if op.kind == "linear":
            if lacks_tangents(op, [x if moves else None for x, moves in zip(self.operands, self.moves, strict=True)]):
                self._mask()
            return self._linear
        return self._multilinear if op.kind == "multilinear" else self._by_derivative()

    def _linear(self, k: int) -> Sequence[Term]:
        op = self.op
        has_rule = [op.rules[op.position(i)] is not None for i in range(len(self.operands))]
        terms = [s[k] if flag else s[0] for s, flag in zip(self.inputs, has_rule, strict=True)]
        if all(t is None or not flag for t, flag in zip(terms, has_rule, strict=True)):
            return (None,) * len(self.outs)
        filled = (*[zeros_of(type_of(x)) if t is None else t for t, x in zip(terms, self.operands, strict=True)],)
        result = apply(op, filled, self.attrs)
        return result if op.is_multi else (result,)

    def _multilinear(self, k: int) -> Sequence[Term]:
        op = self.op
        linear = [op.rules[op.position(i)] is not None and moves for i, moves in enumerate(self.moves)]
        found: Term = None
        for orders in _orders(k, linear):
            terms = [s[j] for s, j in zip(self.inputs, orders, strict=True)]
            if not any(t is None for t in terms):
                found = total((found, apply(op, (*terms,), self.attrs)))
        return (found,)

    def _whole(self, k: int) -> Sequence[Term]:
        """All terms at once where the operands' are there, else as many as are asked for."""
        if len(self._found) < k:
            order = max(k, self.curves.ready) if all(s.is_given for s in self.inputs) else k
            of_outs, masked = WHOLE[self.op.facts.holds](self.operands, self.attrs, self.inputs, order)
            self._found = [*zip(*of_outs, strict=True)]
            for series, flag in zip(self.series, masked, strict=True):
                series.masked = series.masked or flag
        return self._found[k - 1]

    def _inlined(self) -> Callable[[int], Sequence[Term]]:
        """The terms of a program's results where its operands' wait for them: gone through op by op."""
        recorder = Steps(self.curves.env)
        with recording(recorder):
            outs = replay(self.attrs[0].graph, self.operands)
        for step in recorder.steps:
            self.curves.add(*step)
        found = [*map(self.curves.series_of, outs)]
        for series, of_out in zip(self.series, found, strict=True):
            series.masked = series.masked or of_out.masked
        return lambda k: [s[k] for s in found]

    def _by_derivative(self) -> Callable[[int], Sequence[Term]]:
        """The terms from those of the derivative along the curve, whose rule is run here."""
        dots: list[Any] = []
        for x, series, moves in zip(self.operands, self.inputs, self.moves, strict=True):
            if not moves or not dtypes.is_inexact(x.dtype):
                dots.append(None)
                continue
            first = series[1]
            dot = zeros_of(type_of(x)) if first is None else alias(first)  # a tensor that is nothing else
            self.curves.env[dot._key] = along(series)
            dots.append(dot)
        recorder = Steps(self.curves.env)
        with recording(recorder):
            found, masked = push(
                self.op, self.operands, self.attrs, self.outs, dots, [s.masked for s in self.inputs]
            )  # fmt: skip
        for step in recorder.steps:
            self.curves.add(*step)
        for series, flag in zip(self.series, masked, strict=True):
            series.masked = series.masked or flag
        slopes = [self.curves.env.get(d._key, constant(d)) if isinstance(d, Tensor) else None for d in found]
        return lambda k: [None if s is None else multiple(s[k - 1], 1 / k) for s in slopes]


def solution_terms(slope: Callable[[Tensor, Tensor], Tensor], t: Tensor, y: Tensor, order: int) -> list[Tensor]:
    """The terms 1, 2, ... of the solution of dy/dt = slope(t, y) that goes through y at t.

    The slope is run once. Open recorders follow the terms.
    """
    t, y = alias(t), alias(y)  # what else they are used for does not move
    recorder = Steps((t._key, y._key))
    with recording(recorder):
        f = slope(t, y)
    rates = constant(f)
    solution = Series(lambda k: multiple(rates[k - 1], 1 / k), (y,))
    curves = _Curves({t._key: given((t, fill(t, 1))), y._key: solution}, order)
    for step in recorder.steps:
        curves.add(*step)
    rates = curves.series_of(f)
    return [zeros_of(type_of(y)) if (term := solution[k]) is None else term for k in range(1, order + 1)]


def _orders(k: int, moves: Sequence[bool]) -> list[tuple[int, ...]]:
    """The ways to share k among operands that move."""
    if not any(moves):
        return []
    found: list[tuple[int, ...]] = [()]
    last = max(i for i, flag in enumerate(moves) if flag)
    for index, flag in enumerate(moves):
        if index == last:
            found = [(*left, k - sum(left)) for left in found]
        elif flag:
            found = [(*left, j) for left in found for j in range(k - sum(left) + 1)]
        else:
            found = [(*left, 0) for left in found]
    return found


def from_derivatives(derivatives: Sequence[Term]) -> list[Term]:
    """The terms 1, 2, ... of a series from its derivatives."""
    return [multiple(x, 1 / math.factorial(k)) for k, x in enumerate(derivatives, 1)]


def to_derivatives(terms: Sequence[Term]) -> list[Term]:
    """The derivatives that the terms 1, 2, ... of a series say."""
    return [multiple(x, math.factorial(k)) for k, x in enumerate(terms, 1)]


__all__ = ["WHOLE", "Jets", "from_derivatives", "solution_terms", "to_derivatives"]
