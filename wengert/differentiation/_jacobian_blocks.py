"""Jacobians in blocks: of parts of the results by what is read of the arguments, each found the way that takes least.

A result is often joined from parts, of which some depend on few numbers, or element by element on many, and others,
such as a sum over all, on everything. Forwards, a part takes a direction for each number that it depends on, or one for
all where each element depends on the one at the same place alone; backwards, one for each of its elements. An argument
that is read in slices is taken apart in these: what they and the whole contribute adds up.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, cast

from .._control.jacobians import as_columns, as_diagonal, as_rows, images
from .._core import dtypes
from .._core.op import named
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.structural import add, concatenate, full, pad, reshape, row, slice_, zeros_of
from .._transforms.linearize import LinearPart
from .._transforms.recorded_ops import RecordedOp

LEAST = 1024  # elements of a Jacobian, from which on looking pays
MOST_PARTS, MOST_READS = 16, 8  # of a result, of an argument
BACKWARDS = 1.5  # what a direction costs backwards, beside one forwards
ENOUGH = 0.7  # of the usual way's cost, as estimated

Pulled = Callable[[Tensor, Tensor], "list[Tensor | None]"]
"""From a part of a result and a cotangent of it to the cotangents of the arguments."""


class _Part(NamedTuple):
    """A part of a result, or all of it.

    Attributes:
        tensor: it.
        needs: the numbers of the steps that it is computed in.
    """

    tensor: Tensor
    needs: frozenset[int]


class _Read(NamedTuple):
    """What is read of an argument in one place: all of it, or a slice.

    Attributes:
        source: the number of the argument.
        tensors: what the steps read.
        start: where it begins in the argument; -1 for all of it.
        size: how many elements it has.
        skipped: the numbers of steps that read the same argument in other places.
        states: by the keys of the tensors that depend on it, whether each element does on that at the same place alone.
        reaches: the numbers of the steps that depend on it.
    """

    source: int
    tensors: list[Tensor]
    start: int
    size: int
    skipped: frozenset[int]
    states: dict[int, bool]
    reaches: frozenset[int]

    def directions(self, part: _Part) -> int:
        """How many directions a part takes forwards."""
        state = self.states.get(part.tensor._key)
        return 0 if state is None else 1 if state else self.size


class Blocks:
    """The blocks of one Jacobian.

    Args:
        steps: what ran.
        sources: the arguments.
        results: what is differentiated.
    """

    def __init__(self, steps: Sequence[RecordedOp], sources: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        self.steps, self.sources, self.results = steps, sources, results
        makers = {out._key: step for step in steps for out in step.outs}
        self.axes = [_axis_of(makers.get(y._key)) for y in results]
        self.parts = [
            [_Part(t, _needs(steps, t)) for t in _parts(y, axis, makers)]
            for y, axis in zip(results, self.axes, strict=True)
        ]  # fmt: skip
        self.reads = [read for number, x in enumerate(sources) for read in _reads(steps, number, x)]
        self.work = [_work(step) for step in steps]
        self.is_back = {p.tensor._key: self._backwards(p) < self._forwards(p) for p in self._all_parts()}

    @staticmethod
    def apply_to(sources: Sequence[Tensor], results: Sequence[Tensor]) -> bool:
        """Whether to look: the sizes are known, not small, and all numbers are of one real dtype."""
        shapes = [x.shape for x in (*sources, *results)]
        if not sources or not results or any(type(d) is not int for shape in shapes for d in shape):
            return False
        kinds = {x.dtype for x in (*sources, *results)}
        many = sum(map(_size, sources)) * sum(map(_size, results))
        return len(kinds) == 1 and not dtypes.is_complex(kinds.pop()) and many >= LEAST

    def are_cheaper(self, prefers_forward: bool) -> bool:
        """Whether they take clearly less than the usual way: all forwards, or all backwards."""
        if prefers_forward:
            usual = sum(self._cost(self._reached(n), _size(x)) for n, x in enumerate(self.sources))
        else:
            usual = sum(self._cost(_needs(self.steps, y), BACKWARDS * _size(y)) for y in self.results)
        width = sum(map(_size, self.sources))
        written = width * sum(map(_size, self.results))
        total = 0.0
        for part in self._all_parts():
            if self.is_back[part.tensor._key]:
                total += self._backwards(part) + width * _size(part.tensor)
        for read in self.reads:
            for is_diagonal, parts in self._targets(read).items():
                needs = frozenset[int]().union(*(p.needs for p in parts))
                total += self._cost(read.reaches & needs, 1 if is_diagonal else read.size)
                total += sum(_size(p.tensor) for p in parts) * _size(self.sources[read.source])
        return total < ENOUGH * (usual + written)

    def found(self, pulled: Pulled, chunk: int | None, name: str) -> list[list[Tensor | None]]:
        """For each result a block for each argument, or None where it does not depend on it.

        Raises:
            LookupError: an op has no forward derivative.
        """
        terms: dict[tuple[int, int], list[Tensor]] = defaultdict(list)  # by the key of a part and the argument
        for read in self.reads:
            for is_diagonal, parts in self._targets(read).items():
                blocks = self._diagonal(read, parts) if is_diagonal else self._forward(read, parts, chunk, name)
                for part, block in zip(parts, blocks, strict=True):
                    if block is not None:
                        terms[part.tensor._key, read.source].append(self._placed(block, read))
        for part in self._all_parts():
            if self.is_back[part.tensor._key]:
                seen = images(lambda seed, p=part: pulled(p.tensor, seed), part.tensor, chunk, name)
                for number, (image, x) in enumerate(zip(seen, self.sources, strict=True)):
                    if image is not None:
                        terms[part.tensor._key, number].append(as_rows(image, part.tensor, x))
        return [
            [self._whole(parts, axis, number, terms) for number in range(len(self.sources))]
            for parts, axis in zip(self.parts, self.axes, strict=True)
        ]

    # -- what it takes ------------------------------------------------------------------------------------------------

    def _all_parts(self) -> list[_Part]:
        return [*{p.tensor._key: p for parts in self.parts for p in parts}.values()]

    def _reached(self, source: int) -> frozenset[int]:
        """The numbers of the steps that depend on an argument."""
        return frozenset[int]().union(*(read.reaches for read in self.reads if read.source == source))

    def _cost(self, numbers: Iterable[int], directions: float) -> float:
        return directions * sum(self.work[n] for n in numbers)

    def _forwards(self, part: _Part) -> float:
        return sum(self._cost(read.reaches & part.needs, read.directions(part)) for read in self.reads)

    def _backwards(self, part: _Part) -> float:
        return self._cost(part.needs, BACKWARDS * _size(part.tensor))

    def _targets(self, read: _Read) -> dict[bool, list[_Part]]:
        """The parts that directions of a read are pushed to: those that take one for all, and the others."""
        found: dict[bool, list[_Part]] = {}
        for part in self._all_parts():
            if not self.is_back[part.tensor._key] and part.tensor._key in read.states:
                found.setdefault(read.states[part.tensor._key], []).append(part)
        return found

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _linear(self, read: _Read, parts: Sequence[_Part], may_hold_zeros: bool) -> LinearPart:
        steps = [step for n, step in enumerate(self.steps) if n not in read.skipped]
        return LinearPart(steps, read.tensors, [p.tensor for p in parts], may_hold_zeros)

    def _diagonal(self, read: _Read, parts: Sequence[_Part]) -> list[Tensor | None]:
        """Blocks of which only the diagonal is not zero, by one direction of ones."""
        ones = [full(shape=t.shape, value=1, dtype=t.dtype) for t in read.tensors]
        found = self._linear(read, parts, False)(ones)
        return [
            as_diagonal(d, p.tensor, read.tensors[0]) if isinstance(d, Tensor) else None
            for d, p in zip(found, parts, strict=True)
        ]

    def _forward(self, read: _Read, parts: Sequence[_Part], chunk: int | None, name: str) -> list[Tensor | None]:
        first, linear = read.tensors[0], self._linear(read, parts, read.size != 1)

        def push(dot: Tensor) -> list[Tensor | None]:
            found = linear([reshape(dot, shape=t.shape) for t in read.tensors])
            return [
                t if t is None or isinstance(t, Tensor) else zeros_of(type_of(p.tensor))
                for t, p in zip(found, parts, strict=True)
            ]

        return [
            None if image is None else as_columns(image, p.tensor, first)
            for image, p in zip(images(push, first, chunk, name), parts, strict=True)
        ]

    def _placed(self, block: Tensor, read: _Read) -> Tensor:
        """A block of a slice's columns as one of all columns."""
        x = self.sources[read.source]
        if read.start < 0:
            return block
        axes = len(block.shape) - len(read.tensors[0].shape)
        rows, none = cast("tuple[int, ...]", block.shape[:axes]), (0,) * axes
        behind = _size(x) - read.start - read.size
        columns = reshape(block, shape=(*rows, read.size))
        return pad(columns, low=(*none, read.start), high=(*none, behind), interior=(*none, 0))

    def _whole(
        self, parts: Sequence[_Part], axis: int, number: int, terms: dict[tuple[int, int], list[Tensor]]
    ) -> Tensor | None:  # fmt: skip
        """The block of a result by an argument."""
        x = self.sources[number]
        found = [_total(terms.get((p.tensor._key, number), [])) for p in parts]
        if all(block is None for block in found):
            return None
        blocks = [as_rows(None, p.tensor, x) if b is None else b for b, p in zip(found, parts, strict=True)]
        return blocks[0] if len(blocks) == 1 else concatenate(*blocks, axis=axis)


def _total(terms: Sequence[Tensor]) -> Tensor | None:
    found: Tensor | None = None
    for term in terms:
        found = term if found is None else add(found, term)
    return found


def _extents(x: Tensor) -> tuple[int, ...]:
    """The extents of an array; those on the way that only a run tells count for nothing."""
    return (*[d if isinstance(d, int) else 1 for d in x.shape],)


def _size(x: Tensor) -> int:
    return math.prod(_extents(x))


# -- parts of results -------------------------------------------------------------------------------------------------


def _axis_of(maker: RecordedOp | None) -> int:
    """The axis along which a result is joined from parts; -1 if it is not."""
    return cast(int, maker.attrs[0]) if maker is not None and maker.op is concatenate else -1


def _parts(y: Tensor, axis: int, makers: dict[int, RecordedOp]) -> list[Tensor]:
    """What a result is joined from along an axis."""
    found = [y]
    while axis >= 0:
        wider = [part for t in found for part in _joined_from(t, axis, makers)]
        if len(wider) > MOST_PARTS:
            return found
        if len(wider) == len(found):
            return wider
        found = wider
    return found


def _joined_from(x: Tensor, axis: int, makers: dict[int, RecordedOp]) -> Sequence[Tensor]:
    maker = makers.get(x._key)
    return maker.operands if _axis_of(maker) == axis and maker is not None else (x,)


def _needs(steps: Sequence[RecordedOp], x: Tensor) -> frozenset[int]:
    """The numbers of the steps that a tensor is computed in."""
    keys, found = {x._key}, set[int]()
    for number in range(len(steps) - 1, -1, -1):
        if any(out._key in keys for out in steps[number].outs):
            found.add(number)
            keys.update(operand._key for operand in steps[number].operands)
    return frozenset(found)


# -- what is read of arguments ----------------------------------------------------------------------------------------


def _reads(steps: Sequence[RecordedOp], source: int, x: Tensor) -> list[_Read]:
    """The places in which an argument is read; one if they are many."""
    slices: dict[tuple[int, int], list[Tensor]] = defaultdict(list)
    numbers: list[int] = []
    for number, step in enumerate(steps):
        if any(operand._key == x._key for operand in step.operands) and (place := _slice_of(step)) is not None:
            slices[place].append(step.outs[0])
            numbers.append(number)
    if len(slices) > MOST_READS:
        slices, numbers = defaultdict(list), []
    skipped = frozenset(numbers)
    found = [_Read(source, [x], -1, _size(x), skipped, *_reach(steps, [x], skipped))]
    for (start, stop), tensors in slices.items():
        found.append(_Read(source, tensors, start, stop - start, frozenset(), *_reach(steps, tensors, frozenset())))
    return found


def _slice_of(step: RecordedOp) -> tuple[int, int] | None:
    """Where a step takes a slice of a vector, without gaps."""
    (x, *_), attrs = step.operands, step.attrs
    if len(x.shape) != 1:
        return None
    if step.op is row:
        return attrs[0], attrs[0] + 1
    if step.op is slice_ and attrs[2] == (1,):
        return attrs[0][0], attrs[1][0]
    return None


def _reach(
    steps: Sequence[RecordedOp], sources: Sequence[Tensor], skipped: frozenset[int]
) -> tuple[dict[int, bool], frozenset[int]]:  # fmt: skip
    """`_Read.states` and `_Read.reaches`."""
    states = {x._key: True for x in sources}
    numbers: set[int] = set()
    for number, step in enumerate(steps):
        if number in skipped or step.op.kind == "stop":
            continue
        found = [x for x in step.operands if x._key in states]
        if found:
            numbers.add(number)
            stays = all(states[x._key] for x in found) and _keeps_places(step, found)
            states.update((out._key, stays) for out in step.outs if dtypes.is_inexact(out.dtype))
    return states, frozenset(numbers)


def _keeps_places(step: RecordedOp, operands: Sequence[Tensor]) -> bool:
    """Whether each element of a result depends on those of the operands at the same place alone."""
    op, out = step.op, step.outs[0]
    if op is reshape or op.facts.moves == "same":
        return len(step.outs) == 1
    is_elementwise = op.facts.mixes == "nothing" and not (op.facts.moves or op.facts.holds or op.is_multi)
    return is_elementwise and all(x.shape == out.shape for x in operands)


def _work(step: RecordedOp) -> float:
    """What a direction costs in a step: operations on numbers."""
    op, out = step.op, step.outs[0] if step.outs else None
    if out is None or op.facts.cost == "free":
        return 0.0
    if op.facts.flops is not None:
        return op.facts.flops(*[_extents(x) for x in (out, *step.operands)], **named(op, step.attrs))
    return float(max(map(_size, (*step.operands, *step.outs))) * (_IN_PROGRAMS if op.facts.holds else 1))


_IN_PROGRAMS = 10  # operations for each element of what a program takes or gives


__all__ = ["Blocks"]
