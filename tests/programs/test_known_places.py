"""Elements at known places are taken from what makes them; values, errors and gradients stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import wengert as wg
from wengert._passes import optimise
from wengert._passes.makers import Joint

Program = Callable[[Any], Any]
RNG = np.random.default_rng(7)
PLACES = RNG.integers(-24, 24, 20)
ROWS, COLUMNS = RNG.integers(-4, 4, (5, 3)), RNG.integers(0, 6, (5, 3))
HELD = RNG.normal(size=(4, 6))
HELD[1, 2] = -0.0


SOME = np.array([0, 7, 3, 3, -1])


def sliced(made: Any) -> Any:
    return made[:, 0], made[1:3, 1].sum(), made[:, 2], made[::2, 1].sum()


def flat(made: Any) -> Any:
    return made.reshape(-1)[PLACES]


PROGRAMS: dict[str, Program] = {
    "moved": lambda x: flat(x.T[::-1].reshape(2, 12).T),
    "two indices": lambda x: np.flip(x, 1)[ROWS, COLUMNS],
    "of constants": lambda x: flat(x) * flat(HELD.T + 1.0),
    "plus a constant": lambda x: flat(HELD - 0.5 * x),
    "interleaved": lambda x: flat(np.stack([np.sin(x[:2, 1]), x[2:, 1], x[0, :2], HELD[0, :2]] * 3, -1)),
    "joined unequally": lambda x: flat(np.concatenate([x[:, :1], HELD[:, :2], x[:, 3:] * x[:, 2:5]], 1)),
    "computed of joined": lambda x: (np.stack([x[:, 0], x[:, 1]], 1) + np.stack([x[:, 2], HELD[:, 3]], 1)).reshape(-1)[
        SOME
    ],
    "computed and sliced": lambda x: sum(
        sliced(0.5 * np.stack([x[:, 1], np.exp(x[:, 0]), HELD[:, 1]], 1) - HELD[:, :3])
    ),
    "sliced across": lambda x: (lambda y: y[:3] * y[1:])(0.5 * np.concatenate([x[:2], HELD[2:]])),
    "one piece": lambda x: np.concatenate([np.exp(x[0]), x[1]])[np.array([7, 8, 6, 11])],
    "padded": lambda x: flat(np.pad(x[:2, 1:5] * 3.0, ((0, 2), (2, 0))) + np.pad(x[2:, :], ((2, 0), (0, 0)))),
    "padding alone": lambda x: np.pad(x, 2)[np.array([0, 1]), np.array([3, 9])],
    "read again": lambda x: (lambda y: flat(y) + y.sum())(np.stack([x[0], x[1] + 1.0, x[2], x[3]])),
    "none": lambda x: x.T[np.zeros(0, int), np.zeros(0, int)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_stay(name: str) -> None:
    f = PROGRAMS[name]
    x = RNG.normal(size=(4, 6))
    x[0, 1], x[3, 2], x[2, 2] = np.inf, np.nan, -0.0
    np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-15)
    x = np.nan_to_num(x, posinf=2.0)

    def loss(x: Any) -> Any:
        return (f(x) ** 2).sum()

    assert np.allclose(wg.function(wg.grad(loss))(x), wg.grad(loss)(x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("name", "gone"), [
    ("moved", {"transpose", "flip"}), ("padded", {"pad"}), ("one piece", {"concatenate"}),
    ("computed and sliced", {"concatenate"}), ("of constants", {"transpose", "add_number"}), ("padding alone", {"pad", "gather"}),
])  # fmt: skip
def test_what_only_moves_is_left_out(name: str, gone: set[str]) -> None:
    ops = {node.op.name for node in optimise(traced(PROGRAMS[name])).nodes}
    assert not gone & ops, ops


def traced(f: Program) -> Any:
    graph = wg.Graph()
    with graph.as_default():
        graph.finish([f(graph.add_input((4, 6), np.dtype(np.float64)))])
    return graph


@pytest.mark.parametrize("name", ["interleaved", "computed of joined"])
def test_interleaved_pieces_lie_behind_one_another(name: str) -> None:
    (joined,) = [n for n in optimise(traced(PROGRAMS[name])).nodes if n.op.name == "concatenate"]
    assert joined.attrs == (0,)


def test_places_outside_still_raise() -> None:
    at = np.array([0, 24])
    with pytest.raises(IndexError):
        wg.function(lambda x: x.T.reshape(-1)[at])(np.ones((4, 6)))


def test_parts_of_what_is_moved_are_constants() -> None:
    """A large constant in another shape is no new constant, but a small part of it is."""
    large = np.arange(20_000.0)
    graph = wg.Graph()
    with graph.as_default():
        x = graph.add_input((4,), np.dtype(np.float64))
        graph.finish([wg.tensor(large).reshape(100, 200)[:, 1:][3, 5:9] * x])
    nodes = optimise(graph).nodes
    assert [node.op.name for node in nodes] == ["constant", "mul"]
    assert nodes[0].attrs[0].tolist() == [606.0, 607.0, 608.0, 609.0]


def unknowns(x: Any) -> Any:
    """Three unknowns that are joined, computed with as one, and taken apart again, in many steps."""
    rows = [x]
    for k in range(1, 150):
        a, b, c = rows[-1]
        rows.append(np.stack([np.sin(b) - a * 0.4, a * (0.6 - c) - b * 0.3, a * b - c * 0.5]) / (1 + 0.001 * k))
    return np.stack(rows).sum(0) + rows[-1] * rows[7]


def test_unknowns_of_long_programs_are_computed_one_by_one() -> None:
    x = np.array([0.3, -0.2, 0.7])
    graph = optimise(wg.function(unknowns).trace(x))
    makers = {v.key: node.op.name for node in graph.nodes for v in node.outputs}
    of_what = {makers.get(node.inputs[0].key) for node in graph.nodes if node.op.name == "slice"}
    assert len(graph.nodes) > 800
    assert "times_number" not in of_what
    assert "div" not in of_what
    np.testing.assert_allclose(wg.function(unknowns)(x), unknowns(x), rtol=1e-13)
    forward = wg.function(wg.jacobian(unknowns, mode="forward"))(x)
    np.testing.assert_allclose(forward, wg.jacobian(unknowns, mode="reverse")(x), rtol=1e-12, atol=1e-14)


class Asked(tuple[int, ...]):
    """Counts how often it is read."""

    count = 0

    def __getitem__(self, place: Any) -> Any:
        Asked.count += 1
        return super().__getitem__(place)


def test_the_part_that_a_slice_takes_of_is_found_without_asking_all() -> None:
    ends = Asked([*range(2, 2001, 2)])
    for first, stop, part in ((0, 2, 0), (1, 2, 0), (1400, 1402, 700), (1401, 1402, 700), (1401, 1403, None), (1998, 2000, 999), (2000, 2001, None)):  # fmt: skip
        Asked.count = 0
        assert Joint(0, ends).part_of(cast(Any, SimpleNamespace(attrs=((first,), (stop,), (1,))))) == part
        assert Asked.count <= 13
    # parts of nothing, of which no slice takes anything
    assert Joint(1, (0, 0, 3, 3, 5)).part_of(cast(Any, SimpleNamespace(attrs=((0, 0), (1, 3), (1, 1))))) == 2
    assert Joint(1, (0, 0, 3, 3, 5)).part_of(cast(Any, SimpleNamespace(attrs=((0, 3), (1, 4), (1, 1))))) == 4
