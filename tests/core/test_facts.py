"""Ops are treated by the facts that their declarations state: a new op gets the treatment that its facts ask for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.op import REGISTRY, elementwise

X = np.linspace(0.5, 2.0, 50)
_count = itertools.count()


def fresh_name(stem: str) -> str:
    """Names of primitives are for the whole process."""
    return f"fact_{stem}_{next(_count)}"


@pytest.mark.parametrize("fact", ["cost"])
def test_a_fact_that_is_none_is_refused(fact: str) -> None:
    with pytest.raises(TypeError, match=f"wanted {fact} to be one of .*, got 'cheap'"):
        elementwise("fact_of_no_op", "x", partials=lambda x: x, registry={}, **{fact: "cheap"})
    with pytest.raises(TypeError, match=f"primitive .*wanted {fact} to be one of .*, got 'cheap'"):
        wg.primitive(fresh_name("refused"), spec=lambda x: x, numpy=np.square, **{fact: "cheap"})


# -- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "runs"), [("dear", 3), ("light", 6), ("move", 6), ("free", 6)])
def test_what_costs_little_is_computed_again_in_a_loops_backward_pass(cost: Any, runs: int) -> None:
    seen = []

    def square(x: Any) -> Any:
        seen.append(x)
        return x * x

    op = wg.primitive(
        fresh_name("square"), spec=lambda x: x, numpy=square, vjp=lambda ct, out, x: 2.0 * ct * x, cost=cost
    )

    def loss(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return wg.exp(-c * c) * wg.sin(op(c)), None

        return wg.sum(wg.scan(step, x, None, length=3)[0])

    def plain(x: Any) -> Any:
        for _ in range(3):
            x = wg.exp(-x * x) * wg.sin(x * x)
        return wg.sum(x)

    gradient = wg.function(wg.grad(loss))
    np.testing.assert_allclose(gradient(X), wg.grad(plain)(X), rtol=1e-12)
    seen.clear()
    gradient(X)
    assert len(seen) == runs


def test_each_kind_of_cost_is_stated_by_some_op() -> None:
    assert {op.facts.cost for op in REGISTRY.values()} == {"free", "move", "light", "dear"}
