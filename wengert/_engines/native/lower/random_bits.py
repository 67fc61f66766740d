"""Keyed random bits: Threefry-2x32 with 20 rounds, bit for bit as `_engines/numpy/threefry.py` has it.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from ...._core.graph import Node
from ...threefry import PARITY, ROTATIONS
from ..ir.builder import Builder
from ..ir.loops import Operand
from .blocks import Block, singles
from .forms import Form, Index, count_of
from .scatters import over

_SPLIT = 1 << 62
_FOLD_IN = 1 << 63
_LOW_62_BITS = (1 << 62) - 1


def block_of(b: Builder, key: tuple[Operand, Operand], counter: Operand) -> tuple[Operand, Operand]:
    """The two words that belong to a key and a counter, a u64."""
    k0, k1 = key
    parity = b.let("xor", "u32", b.let("xor", "u32", k0, k1), PARITY)
    keys = (k0, k1, parity)
    x0 = b.let("add", "u32", b.convert("u32", "u64", counter), k0)
    x1 = b.let("add", "u32", b.convert("u32", "u64", b.let("shr", "u64", counter, 32)), k1)
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = b.let("add", "u32", x0, x1)
            turned = b.let("or", "u32", b.let("shl", "u32", x1, rotation), b.let("shr", "u32", x1, 32 - rotation))
            x1 = b.let("xor", "u32", turned, x0)
        x0 = b.let("add", "u32", x0, keys[(group + 1) % 3])
        x1 = b.let("add", "u32", b.let("add", "u32", x1, keys[(group + 2) % 3]), group + 1)
    return x0, x1


def _key(b: Builder, form: Form, lead: Index) -> tuple[Operand, Operand]:
    return form.at(b, (*lead, 0)), form.at(b, (*lead, 1))


def _random_bits(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """Two elements a block; the last one may be alone."""
    b, (keys,) = block.b, forms
    out = node.outputs[0]
    lead = keys.shape[:-1]
    target = block.fresh(block.shape(out), "u32")
    count = count_of(b, target.shape[len(lead) :])
    pairs = b.divided(count, 2)

    def draw(index: Index) -> None:
        key = _key(b, keys, index)
        start: Operand = 0
        for i, n in zip(index, lead, strict=True):
            start = b.add(b.mul(start, n), i)
        start = b.mul(start, count)
        with b.loop(0, pairs) as number:
            low, high = block_of(b, key, b.convert("u64", "i64", number))
            place = b.add(start, b.mul(number, 2))
            b.store(target.array, b.add(target.offset, place), low)
            b.store(target.array, b.add(target.offset, b.add(place, 1)), high)
        with b.when(b.let("ne", "i64", b.mul(pairs, 2), count)):
            low, _ = block_of(b, key, b.convert("u64", "i64", _operand(b, pairs)))
            b.store(target.array, b.add(target.offset, b.add(start, b.sub(count, 1))), low)

    over(b, lead, draw)
    return [target]


def _operand(b: Builder, x: Operand) -> Operand:
    """A number as a register, so that its type can be changed."""
    return b.get(b.var("i64", x)) if type(x) is int else x


def _random_split(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    b, (keys,) = block.b, forms
    lead = keys.shape[:-1]
    target = block.fresh(block.shape(node.outputs[0]), "u32")

    def split(index: Index) -> None:
        key = _key(b, keys, index)
        with b.loop(0, target.shape[len(lead)]) as child:
            low, high = block_of(b, key, b.let("add", "u64", b.convert("u64", "i64", child), _SPLIT))
            target.store(b, (*index, child, 0), low)
            target.store(b, (*index, child, 1), high)

    over(b, lead, split)
    return [target]


def _random_fold_in(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    b, (keys, data) = block.b, forms
    lead = keys.shape[:-1]
    target = block.fresh(block.shape(node.outputs[0]), "u32")

    def fold(index: Index) -> None:
        number = _wide(b, data.type, data.at(b, index))
        counter = b.let("or", "u64", b.let("and", "u64", number, _LOW_62_BITS), _FOLD_IN)
        low, high = block_of(b, _key(b, keys, index), counter)
        target.store(b, (*index, 0), low)
        target.store(b, (*index, 1), high)

    over(b, lead, fold)
    return [target]


def _wide(b: Builder, type_: str, x: Operand) -> Operand:
    """An integer as a u64, its sign kept first, so that equal integers give equal keys whatever their width."""
    if type(x) is int:
        return x
    signed = b.convert("i64", type_, x) if type_ != "u64" else x
    return b.convert("u64", "i64", signed) if type_ != "u64" else signed


LOWERED = singles({
    "random_bits": _random_bits, "random_split": _random_split, "random_fold_in": _random_fold_in,
})  # fmt: skip
