"""Jacobians in blocks are those of one mode, whatever the parts of a result depend on; and which way each part takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.differentiation import _jacobian_blocks

EXACT = {"rtol": 1e-12, "atol": 1e-13}
N = 40
X = np.random.default_rng(3).normal(size=N)


def rows_and_sum(x: Any) -> Any:
    """Rows that depend on a few parameters and on one element each, and a sum over all."""
    rows = np.sin(x) * x[0] + np.exp(-x * x) / (2 + np.cos(x[1]))
    return np.append(rows, np.sum(np.tanh(x) * np.exp(np.sin(x * x)) * x[1]))


def tall_and_wide(x: Any) -> Any:
    """Many rows of a few parameters, and few of many."""
    p, z = x[:3], x[3:]
    tall = np.tanh(np.outer(np.linspace(-1, 1, 3 * N), p) * p[::-1]).sum(1)
    wide = np.stack([np.sum(np.sin(z) * p[0]), np.sum(z**2), z[0] * z[-1]])
    return np.concatenate([tall, wide])


def differences(x: Any) -> Any:
    return np.concatenate([(x[1:] - x[:-1]) ** 2, np.sin(x[1:]) * x[:-1], [x.sum()]])


def elementwise(x: Any) -> Any:
    return np.tanh(x) * np.sin(x.reshape(4, -1)).reshape(-1) + 1


def in_a_matrix(x: Any) -> Any:
    return np.concatenate([np.sin(x).reshape(4, -1), np.ones((1, N // 4)), x[: N // 4].reshape(1, -1)], 0)


def with_kinks(x: Any) -> Any:
    return np.concatenate([np.where(x > 0, np.sqrt(np.abs(x)), x), np.maximum(x, x[0]), np.stack([np.max(x)])])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f for f in (rows_and_sum, tall_and_wide, differences, elementwise, in_a_matrix, with_kinks)
}
SQUARE = [name for name in PROGRAMS if name != "tall_and_wide"]


def blocks_of(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The Jacobians in blocks that are made of f at X."""
    made: list[Any] = []
    found = _jacobian_blocks.Blocks.found
    monkeypatch.setattr(
        _jacobian_blocks.Blocks, "found", lambda self, *args: (made.append(self), found(self, *args))[1]
    )
    wg.jacobian(f)(X)
    return made


@pytest.mark.parametrize("chunk", [None, 7])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_jacobian_is_that_of_each_mode(name: str, chunk: int | None) -> None:
    f = PROGRAMS[name]
    wanted = wg.jacobian(f, mode="reverse")(X)
    np.testing.assert_allclose(wg.jacobian(f, mode="forward")(X), wanted, **EXACT)
    for way in (wg.jacobian(f, chunk=chunk), wg.function(wg.jacobian(f, chunk=chunk))):
        np.testing.assert_allclose(way(X), wanted, **EXACT)
    value, found = wg.function(wg.value_and_jacobian(f))(X)
    np.testing.assert_allclose(found, wanted, **EXACT)
    np.testing.assert_allclose(value, f(X), **EXACT)


@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_are_what_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blocks_of(PROGRAMS[name], monkeypatch)


def test_each_part_takes_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    (blocks,) = blocks_of(rows_and_sum, monkeypatch)
    (rows, total) = blocks.parts[0]
    assert [blocks.is_back[part.tensor._key] for part in (rows, total)] == [False, True]
    assert [read.directions(rows) for read in blocks.reads] == [1, 1, 1]
    (blocks,) = blocks_of(tall_and_wide, monkeypatch)[-1:]
    assert [blocks.is_back[part.tensor._key] for part in blocks.parts[0]] == [False, True, True, True]


def test_one_mode_stays_where_blocks_do_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    w = np.random.default_rng(0).normal(size=(N, N))
    assert not blocks_of(lambda x: np.tanh(w @ np.tanh(w @ x)), monkeypatch)
    assert not blocks_of(lambda x: x[:3] ** 2, monkeypatch)


@pytest.mark.parametrize("name", SQUARE)
def test_it_is_differentiated_again(name: str) -> None:
    f = PROGRAMS[name]
    ways = [wg.grad(lambda x, m=m: (wg.jacobian(f, mode=m)(x) ** 2).sum()) for m in ("auto", "reverse")]
    np.testing.assert_allclose(ways[0](X), ways[1](X), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(wg.function(ways[0])(X), ways[1](X), rtol=1e-10, atol=1e-11)
    both = [wg.vmap(wg.jacobian(f, mode=m))(np.stack([X, X[::-1]])) for m in ("auto", "reverse")]
    np.testing.assert_allclose(both[0], both[1], **EXACT)


def test_structures_of_arguments_and_results() -> None:
    def f(p: Any, x: Any) -> Any:
        return {"rows": np.sin(x) * p["a"] + p["b"][1], "sum": (p["b"] ** 2).sum() * np.tanh(x).sum(), "p": p["a"] * 2}

    p = {"a": np.array(0.3), "b": np.linspace(0, 1, 30)}
    found, wanted = (wg.jacobian(f, (0, 1), mode=mode)(p, X) for mode in ("auto", "reverse"))
    leaves = [*zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True)]
    assert len(leaves) == 9
    for one, other in leaves:
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, **EXACT)


def test_structural_zeros_stay_zeros_beside_infinite_slopes() -> None:
    x = np.concatenate([[0.0], np.linspace(0.5, 1, N - 1)])
    f = lambda x: np.append(np.sqrt(x), np.sum(x))
    found = wg.jacobian(f)(x)
    np.testing.assert_array_equal(found, wg.jacobian(f, mode="forward")(x))
    assert found[0, 0] == np.inf and not found[0, 1:].any()


def test_a_part_without_forward_derivative_goes_the_usual_way() -> None:
    alone = wg.custom_gradient(lambda v: (np.sin(v), lambda ct: np.sign(ct) * ct * ct))
    f = lambda x: np.append(np.tanh(x), np.sum(alone(x) * 0 + np.exp(x)))
    np.testing.assert_allclose(wg.jacobian(f)(X), wg.jacobian(f, mode="reverse")(X), **EXACT)


def test_arguments_that_a_part_or_all_do_not_depend_on() -> None:
    f = lambda x, y: np.append(np.sin(x), np.sum(np.tanh(x)))
    found = wg.jacobian(f, (0, 1), unconnected_gradients="none")(X, X)
    assert found[1] is None
    with pytest.raises(wg.DisconnectedError):
        wg.jacobian(f, (0, 1))(X, X)


# -- random programs --------------------------------------------------------------------------------------------------


def program(rng: np.random.Generator) -> Callable[[Any], Any]:
    """Parts of all kinds, computed from each other and from slices of the argument."""
    unary = [np.sin, np.tanh, lambda v: v * v, lambda v: v[::-1], np.cumsum, lambda v: v - v.mean()]
    plans: list[tuple[Any, ...]] = []
    for _ in range(rng.integers(2, 6)):
        start = int(rng.integers(0, N - 1))
        stop = int(rng.integers(start + 1, N + 1))
        kinds = [unary[int(k)] for k in rng.integers(0, len(unary), rng.integers(1, 4))]
        plans.append((start, stop, kinds, int(rng.integers(0, 5)), int(rng.integers(0, N))))

    def f(x: Any) -> Any:
        parts: list[Any] = []
        for start, stop, kinds, ending, place in plans:
            v = x if ending == 0 else x[start:stop]
            for kind in kinds:
                v = kind(v)
            if ending == 1:
                v = v * x[place]
            elif ending == 2:
                v = np.sum(v * v)[None]
            elif ending == 3 and parts:
                v = v + np.sum(parts[-1])
            parts.append(v)
        return np.concatenate(parts)

    return f


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    f = program(np.random.default_rng(seed))
    wanted = wg.jacobian(f, mode="reverse")(X)
    np.testing.assert_allclose(wg.jacobian(f)(X), wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(wg.function(wg.jacobian(f))(X), wanted, rtol=1e-11, atol=1e-12)
