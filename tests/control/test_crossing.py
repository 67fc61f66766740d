"""What crosses from a forward half to its backward half: the cheapest choice, held against all choices there are."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._control import crossing
from wengert._core.op import REGISTRY


class _Value:
    def __init__(self, key: int, size: int) -> None:
        self.key = key
        self.shape = (size,)
        self.dtype = np.dtype(np.float64)


class _Node:
    def __init__(self, name: str, inputs: list[_Value], out: _Value) -> None:
        self.op = REGISTRY[name]
        self.inputs = inputs
        self.outputs = [out]


def _program(seed: int, count: int) -> tuple[list[_Value], list[Any], set[int]]:
    rng = np.random.default_rng(seed)
    inputs = [_Value(i, int(rng.integers(9, 40))) for i in range(3)]
    values, nodes = [*inputs], []
    for i in range(count):
        name = str(rng.choice(["mul", "exp", "slice", "pad", "add", "reshape"]))
        operands = [values[j] for j in rng.choice(len(values), size=1 + (name in ("mul", "add")))]
        nodes.append(_Node(name, operands, _Value(3 + i, int(rng.integers(9, 40)))))
        values.append(nodes[-1].outputs[0])
    return inputs, nodes, {int(k) for k in rng.choice(np.arange(3, 3 + count), size=max(count // 2, 1))}


def _total(nodes: list[Any], needed: set[int], again: set[int], cost: Any) -> int | None:
    """What a choice costs, or None if it computes again what nothing asks for."""
    makers = {node.outputs[0].key: node for node in nodes}
    values = {v.key: v for node in nodes for v in (*node.inputs, *node.outputs)}
    wanted, seen, total, used = [*needed], set(), 0, set()
    while wanted:
        key = wanted.pop()
        if key in seen:
            continue
        seen.add(key)
        if key in again:
            used.add(key)
            total += crossing._again(makers[key])
            wanted += [v.key for v in makers[key].inputs]
        else:
            total += cost(values[key])
    return total if used == again else None


@pytest.mark.parametrize("seed", range(60))
def test_no_choice_is_cheaper(seed: int) -> None:
    inputs, nodes, needed = _program(seed, 9)
    free = {inputs[0].key}

    def cost(value: Any) -> int:
        return 0 if value.key in free else 2 * crossing.bytes_of(value)

    found = crossing.computed_again(nodes, needed, lambda node: False, cost)
    light = [node.outputs[0].key for node in nodes if crossing.is_light(node)]
    choices = chain.from_iterable(combinations(light, n) for n in range(len(light) + 1))
    totals = [_total(nodes, needed, set(choice), cost) for choice in choices]
    reached = _total(nodes, needed, found, cost)
    assert reached is not None  # nothing is computed in vain
    assert reached == min(t for t in totals if t is not None)


def test_long_programs_are_cut_in_pieces() -> None:
    inputs, nodes, needed = _program(0, 3000)
    found = crossing.computed_again(nodes, needed, lambda node: False, lambda v: 2 * crossing.bytes_of(v))
    everything = _total(nodes, needed, set(), lambda v: 2 * crossing.bytes_of(v))
    reached = _total(nodes, needed, found, lambda v: 2 * crossing.bytes_of(v))
    assert reached is not None and everything is not None and reached < everything


def test_a_step_keeps_what_is_dear_and_no_more() -> None:
    """Of sigmoid(w * h + b) * h, a loop keeps h and the sigmoid; the sum and the product are computed again."""
    w, b = np.linspace(0.5, 1.0, 16), np.linspace(-1.0, 1.0, 16)

    def f(w: Any, b: Any, h: Any) -> Any:
        def step(h: Any) -> Any:
            s = wg.ops.sigmoid(w * h + b) * h
            return s + 0.1 * wg.ops.sin(s)

        return wg.ops.sum(wg.fori_loop(0, 20, lambda i, h: step(h), h))

    program = wg.function(wg.grad(f, argnums=(0, 1, 2)))
    found = program(w, b, np.ones(16))
    graph = program.trace(w, b, np.ones(16))
    loop = next(node for node in graph.nodes if node.op.name == "loop").attrs[0]
    assert len(loop.stages[-1].reading.saved) == 2, graph.to_text()
    for got, wanted in zip(found, wg.grad(f, argnums=(0, 1, 2))(w, b, np.ones(16)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-13)
