"""`explain` and `DisconnectedError` through branches and loops: what cuts the path inside, and what was not taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

sg = wg.stop_gradient
true = np.bool_(True)


class Situation(NamedTuple):
    """A function of a predicate and x, and what is said of it.

    Attributes:
        f: the function.
        eager: parts of what an eager tape says.
        traced: parts of what a graph says.
        is_error: whether `wg.grad` raises eagerly, and in a trace.
    """

    f: Callable[..., Any]
    eager: tuple[str, ...]
    traced: tuple[str, ...]
    is_error: tuple[bool, bool]


def untaken(p: Any, x: Any) -> Any:
    return wg.cond(p, lambda: 7.0, lambda: 2 * x)


def neither(p: Any, x: Any) -> Any:
    return wg.cond(
        p,
        lambda: sg(x) * 2,
        lambda: wg.astype(wg.astype(x, int), float),
    )


def one(p: Any, x: Any) -> Any:
    return wg.cond(p, lambda: sg(x) * 2, lambda: 5 * x)


def nested(p: Any, x: Any) -> Any:
    inner = wg.function(lambda v: sg(v) * 2)
    return wg.cond(p, lambda: wg.cond(p, lambda: inner(x), lambda: sg(x)), lambda: sg(x) + 1)


def stopped_in_the_body(p: Any, x: Any) -> Any:
    return wg.while_loop(lambda v: v < 8, lambda v: sg(v) * 2, x)


def condition_only(p: Any, x: Any) -> Any:
    return wg.while_loop(lambda v: v < x, lambda v: v * 2, 1.0)


def stopped_invariant(p: Any, x: Any) -> Any:
    return wg.fori_loop(0, 2, lambda i, v: v * sg(x), 1.0)


def operand(p: Any, x: Any) -> Any:
    return wg.cond(p, lambda v: 7.0, lambda v: 8.0, x)


STOPS = "where stop_gradient stops the gradient"
CONSTANT = "which are constants to a gradient"
SITUATIONS = {
    "untaken": Situation(
        untaken, ("does not depend", "in the branches that were taken", "return wg.cond(p, lambda: 7.0", "make x an operand"),
        ("depends differentiably on x", "the gradient is zero if cond.true_fn is taken", "it leads nowhere"), (True, False),
    ),
    "neither": Situation(
        neither, ("does not depend", STOPS, "lambda: sg(x) * 2", "take stop_gradient away"),
        ("does not depend", "the path is cut in a branch", STOPS, "lambda: sg(x) * 2", "convert gives int64 values", CONSTANT,
         "astype(x, int)", "cure: take stop_gradient away", "cure: stay with floating"), (True, True),
    ),
    "one": Situation(
        one, ("does not depend", STOPS, "take stop_gradient away"),
        ("depends differentiably", "zero if cond.true_fn is taken: stop_gradient stops the gradient", "sg(x) * 2"),
        (True, False),
    ),
    "nested": Situation(
        nested, ("does not depend", STOPS, "sg(v) * 2"),
        ("does not depend", "the path is cut in a branch", STOPS, "sg(v) * 2", "take stop_gradient away"), (True, True),
    ),
    "stopped in the body": Situation(
        stopped_in_the_body, ("its gradient is zero", STOPS, "sg(v) * 2"),
        ("depends differentiably", "zero if a step runs: stop_gradient stops the gradient", "sg(v) * 2"), (False, False),
    ),
    "condition only": Situation(
        condition_only, ("its gradient is zero everywhere", "among what a branch or loop takes"),
        ("counts as connected to x, which a loop takes", "gradient is zero", "nothing computed from it reaches"), (False, False),
    ),
    "stopped invariant": Situation(
        stopped_invariant, ("its gradient is zero", STOPS, "v * sg(x)"),
        ("counts as connected to x, which a loop takes", "gradient is zero", STOPS, "v * sg(x)", "take stop_gradient away"),
        (False, False),
    ),
    "operand": Situation(
        operand, ("its gradient is zero everywhere", "among what a branch or loop takes"),
        ("counts as connected to x, which a branch takes", "gradient is zero", "nothing computed from it reaches"),
        (False, False),
    ),
}  # fmt: skip


def require_parts(text: str, parts: tuple[str, ...]) -> None:
    place = -1
    for part in parts:
        found = text.find(part, place + 1)
        assert found > place, f"{part!r} is not (or not in its place) in:\n{text}"
        place = found


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_tape_says_why(name: str) -> None:
    x = wg.tensor(2.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = SITUATIONS[name].f(true, x)
        text = tape.explain(y, x)
    require_parts(text, SITUATIONS[name].eager)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_graph_says_why(name: str) -> None:
    graph = wg.function(SITUATIONS[name].f).trace(true, 2.0)
    require_parts(wg.explain(graph.outputs[0], graph.inputs[1]), SITUATIONS[name].traced)


@pytest.mark.parametrize("mode", ["eager", "traced"])
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_error_says_why(name: str, mode: str) -> None:
    """`wg.grad` raises where nothing is connected, with the words of `explain`; else it gives 0."""
    situation = SITUATIONS[name]

    def run(p: Any, x: Any) -> Any:
        return wg.grad(lambda x: situation.f(p, x))(x)

    is_error = situation.is_error[mode == "traced"]
    run = run if mode == "eager" else wg.function(run)
    if not is_error:
        assert run(true, 2.0) == 0
        return
    with pytest.raises(wg.DisconnectedError) as caught:
        run(true, 2.0)
    require_parts(str(caught.value), getattr(situation, mode))


def test_a_compiled_function_says_what_cuts_inside_its_branches() -> None:
    x = wg.tensor(2.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = wg.function(neither)(true, x)
        text = tape.explain(y, x)
    require_parts(text, ("does not depend", "the path is cut in a compiled function", STOPS, "sg(x) * 2"))
