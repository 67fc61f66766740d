"""How dependence on sources passes through ops that hold programs: calls, branches, loops, custom rules.

A loop with a known number of steps is followed step by step as long as that is cheap; otherwise until the rows of its
carries do not grow any more, which holds for any number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.constant import constant
from .._core.dtypes import is_inexact
from .._core.state import building
from .._core.types import type_of
from .._prims.structural import zeros_of
from .._transforms.sparsity import (
    REGIONS,
    UNKNOWN,
    Known,
    Site,
    array_of,
    dense,
    grouped,
    interpret,
    nothing,
    pattern,
    picked,
    size_of,
    stacked,
    union,
)
from .closed import Closed
from .custom import CustomRule
from .loop import History, Loop

MOST_NODES = 200_000  # a loop is followed step by step up to this many applications of ops


def _call(site: Site) -> Sequence[Known]:
    return interpret(site.attrs[0].graph, site.operands, site.width)


def _switch(site: Site) -> Sequence[Known]:
    """The branch, where it is known; else what depends on a source in any."""
    programs = site.attrs[0].programs
    index = array_of(site.operands[0])
    if index is not None:
        number = int(not index) if index.dtype == bool else int(index)
        chosen = programs[number] if 0 <= number < len(programs) else programs[-1]
        return interpret(chosen.graph, site.operands[1:], site.width)
    branches = [interpret(program.graph, site.operands[1:], site.width) for program in programs]
    return [Known(None, union(known.rows for known in column)) for column in zip(*branches, strict=True)]


# -- loops ------------------------------------------------------------------------------------------------------------


def _loop(site: Site) -> Sequence[Known]:
    spec: Loop = site.attrs[0]
    return _Steps(site, spec).results()


class _Steps:
    """The steps of one loop."""

    def __init__(self, site: Site, spec: Loop) -> None:
        self.site = site
        self.spec = spec
        self.width = site.width
        counted = spec.is_counted
        count = array_of(site.operands[0]) if counted else None
        self.count = None if count is None else int(count)
        operands, inputs = site.operands[counted:], site.inputs[counted:]
        first = spec.invariants_from()
        self.start, self.invariants = [*operands[: spec.carries]], operands[first:]
        self.xs = [*zip(operands[spec.carries : first], inputs[spec.carries : first], strict=True)]

    def results(self) -> Sequence[Known]:
        followed = self._followed()
        carries, rows = followed if followed is not None else self._united()
        self.followed = -1 if followed is None else len(rows)
        between = [] if self.spec.is_counted else [UNKNOWN]
        return [*carries, *between, *[self._emitted(e, rows) for e in self.spec.emits]]

    def _followed(self) -> tuple[list[Known], list[list[Known]]] | None:
        """The carries at the end and what each step gave; None if the number of steps is not known, or large."""
        spec, carries, rows = self.spec, self.start, []
        most = MOST_NODES // (len(spec.body.graph.nodes) + 1)
        if spec.is_counted and (self.count is None or self.count > most):
            return None
        while True:
            if spec.is_counted:
                if len(rows) == self.count:
                    return carries, rows
            else:
                assert spec.condition is not None
                goes_on = array_of(interpret(spec.condition.graph, [*carries, *self.invariants], self.width)[0])
                if goes_on is None or len(rows) > most:
                    return None
                if not goes_on:
                    return carries, rows
            index = (self.count or 0) - 1 - len(rows) if spec.is_reversed else len(rows)
            slices = [_slice(x, value.shape, index) for x, value in self.xs]
            outs = interpret(spec.body.graph, [*carries, *slices, *self.invariants], self.width)
            rows.append(outs)
            carries = outs[: spec.carries]

    def _united(self) -> tuple[list[Known], list[list[Known]]]:
        """The same for any number of steps."""
        carries = [Known(None, known.rows) for known in self.start]
        slices = [Known(None, None if x.rows is None else grouped(x.rows, value.shape, (0,))) for x, value in self.xs]
        while True:
            outs = interpret(self.spec.body.graph, [*carries, *slices, *self.invariants], self.width)
            grown = [
                Known(None, union((before.rows, after.rows)))
                for before, after in zip(carries, outs[: self.spec.carries], strict=True)
            ]
            if [_entries(k) for k in grown] == [_entries(k) for k in carries]:
                return carries, [outs]
            carries = grown

    def _emitted(self, emit: int | History, rows: list[list[Known]]) -> Known:
        if isinstance(emit, History):  # one thing, which depends on all that the loop depends on
            return Known(None, dense(self.site._replace(outputs=(constant(np.zeros(())),)))[0])
        place = self.spec.first_emit + self.spec.emits.index(emit)
        out = self.site.outputs[place]
        parts = [outs[emit] for outs in rows]
        if self.spec.is_reversed:
            parts = parts[::-1]
        is_followed = len(parts) == self.followed
        if all(known.rows is None for known in parts):
            return _stack([array_of(k) for k in parts]) if is_followed else UNKNOWN
        if not is_followed:  # one stands for all steps
            size_of(out)  # refuses what is known at run time only
            return Known(None, picked(parts[0].rows, np.tile(np.arange(parts[0].rows.shape[0]), out.shape[0])))
        size = next(known.rows.shape[0] for known in parts if known.rows is not None)
        return Known(None, stacked([known.rows for known in parts], [size] * len(parts), self.width))


def _stack(arrays: list[Any]) -> Known:
    """Stacked results that depend on no source."""
    if not arrays or any(a is None for a in arrays):
        return UNKNOWN
    with building(None):
        return Known(constant(np.stack(arrays)), None)


def _entries(known: Known) -> int:
    return 0 if known.rows is None else known.rows.nnz


def _slice(x: Known, shape: Sequence[Any], index: int) -> Known:
    """Slice number `index` along the first axis."""
    if x.value is not None:
        array = array_of(x)
        assert array is not None
        with building(None):
            return Known(constant(np.asarray(array[index])), None)
    if x.rows is None:
        return UNKNOWN
    size = x.rows.shape[0] // shape[0]
    return Known(None, x.rows[index * size : (index + 1) * size])


# -- custom rules -----------------------------------------------------------------------------------------------------


def _custom(site: Site) -> Sequence[Known]:
    """By the rule: what depends on the cotangents in its backward pass is, transposed, what depends on the inputs."""
    rule: CustomRule = site.attrs[0]
    inputs, outs = site.operands[: rule.inputs], site.outputs
    floats = [i for i, out in enumerate(outs) if is_inexact(out.dtype)]
    kept = site.inputs[rule.inputs + rule.outputs :][: rule.kept]

    def pull(tensors: list[Any]) -> list[Any]:
        cotangents = [zeros_of(type_of(out)) for out in outs]
        for i, tensor in zip(floats, tensors, strict=False):
            cotangents[i] = tensor
        found = rule.pull(cotangents, tensors[len(floats) :], True, [True] * rule.inputs)
        return [ct if hasattr(ct, "_data") else None for ct in found]

    with building(None):
        closed = Closed(pull, [*[type_of(outs[i]) for i in floats], *map(type_of, kept)], f"pattern of {rule.name}")
        if closed.error is not None:
            return [Known(None, rows) for rows in dense(site)]
        rest = len(closed.graph.inputs) - len(floats)
        found = iter(pattern(closed.graph, [*[True] * len(floats), *[False] * rest]))
    back = [next(found) if present else None for present in closed.present]
    total = sum(size_of(outs[i]) for i in floats)
    rows = union(
        matrix.T.tocsr() @ known.rows
        for matrix, known in zip(back, inputs, strict=True) if matrix is not None and known.rows is not None
    )  # fmt: skip
    if rows is None:
        rows = nothing(total, site.width)
    results, start = [], 0
    for i, out in enumerate(outs):
        if i not in floats:
            results.append(UNKNOWN)
            continue
        results.append(Known(None, rows[start : start + size_of(out)]))
        start += size_of(out)
    return results


REGIONS.update({"a program": _call, "branches": _switch, "a loop": _loop, "custom": _custom})

__all__ = ["pattern"]  # for who imports it from here, the rules above are there
