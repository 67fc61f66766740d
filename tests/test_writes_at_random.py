"""Random programs of views, writes and reads on tensors, against NumPy; gradients against differences."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert._engines.numpy import buffer

COUNT = int(os.environ.get("WENGERT_WRITE_PROGRAMS", "60"))  # more of them: a longer hunt
SHAPE = (4, 3)


def some_slice(rng: np.random.Generator, size: int) -> slice:
    start, stop = sorted(rng.integers(0, size + 1, 2))
    step = int(rng.integers(1, 3))
    if rng.random() < 0.25:
        return slice(None, None, -step)
    return slice(int(start), int(max(stop, min(start + 1, size))), step)


def some_index(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    if not shape:
        return ...
    made = []
    for size in shape[: int(rng.integers(1, len(shape) + 1))]:
        made.append(int(rng.integers(-size, size)) if size and rng.random() < 0.3 else some_slice(rng, size))
    return (*made,) if rng.random() < 0.8 else (*made, None)


def some_view(rng: np.random.Generator, v: Any, np_: Any) -> Any:
    kind = rng.integers(0, 8)
    if kind == 0:
        return v.T
    if kind == 1:
        return v.reshape(-1)
    if kind == 2:
        return np_.flip(v)
    if kind == 3 and v.ndim == 2:
        return v.swapaxes(0, 1)
    if kind == 4:
        return np_.expand_dims(v, 0) if v.ndim < 3 else v[0]
    return v[some_index(rng, v.shape)] if v.ndim else v


def program(seed: int, np_: Any, x: Any) -> Any:
    """A program: the same for all namespaces."""
    rng = np.random.default_rng(seed)
    held = [x, x * 2.0]
    kept = []
    for _ in range(12):
        target = held[int(rng.integers(len(held)))]
        kind = int(rng.integers(0, 8))
        source = held[int(rng.integers(len(held)))]
        if kind <= 2:
            found = some_view(rng, target, np_)
            if found.ndim and found.size:
                held.append(found)
        elif kind == 3 and target.ndim:
            index = some_index(rng, target.shape)
            target[index] = source.sum() * 0.1
        elif kind == 4 and target.ndim:
            target += source.sum() * 0.1
        elif kind == 5 and target.ndim:
            target[some_index(rng, target.shape)] *= 0.5
        elif kind == 6 and target.ndim and target.shape[0] > 1:
            target[1:] += target[:-1] * 0.3
        elif target.ndim:
            target[[0, -1]] = np_.sin(target[[-1, 0]])
        kept.append(source.sum())
    total = sum(kept) * 0.1
    for v in held:
        total = total + (v * np.cos(np.arange(v.size)).reshape(v.shape)).sum()
    return total


def an_entry(rng: np.random.Generator, size: int, extents: Any) -> Any:
    """An entry of an index for one axis; index arrays among them are of one shape, or broadcast to it."""
    kind = rng.integers(0, 8)
    if kind < 2:
        return int(rng.integers(-size, size))
    if kind < 4:
        return some_slice(rng, size)
    if kind == 4:
        return [int(i) for i in rng.integers(-size, size, extents[-1])]
    if kind == 5:
        return rng.random(size) < 0.6
    return rng.integers(-size, size, extents if rng.random() < 0.7 else (*extents[:-1], 1))


VIEWS: list[Any] = [
    lambda v: v, lambda v: v.T, lambda v: v.reshape(-1), lambda v: v[1:], lambda v: v[::-1], lambda v: v[..., 0],
    lambda v: v.swapaxes(0, 1), lambda v: v.reshape(3, -1), lambda v: v.T[1:].T,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4 * COUNT))
def test_a_random_index_of_a_view_addresses_what_it_does_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view, kind = VIEWS[rng.integers(len(VIEWS))], rng.integers(0, 4)
    array = rng.uniform(-1, 1, (3, 2, 4))
    extents = (2, 3) if rng.random() < 0.3 else (3,)
    entries = [an_entry(rng, n, extents) for n in view(array).shape[: rng.integers(1, 4)]]
    if rng.random() < 0.3:
        entries.insert(rng.integers(0, len(entries) + 1), [..., None][rng.integers(2)])
    index = (*entries,)
    try:
        values = np.array(rng.uniform(-1, 1, view(array)[index].shape))
    except IndexError:
        values = None

    def written(np_: Any, x: Any, v: Any) -> Any:
        x = x * 1.0
        x[0, 0, 0] = 0.5  # from here on it is a memory
        target = view(x)
        if kind == 0:
            target[index] = v
        elif kind == 1:
            target[index] += v
        elif kind == 2:
            np_.subtract.at(target, index, v)
        else:
            target[index] *= v
        read = target[index]
        return (x * np.cos(np.arange(24.0)).reshape(3, 2, 4)).sum() + (read * read).sum()

    if values is None:
        with pytest.raises(IndexError):
            written(wnp, wg.tensor(array), 1.0)
        return
    gradient = wg.value_and_grad(lambda x, v: written(wnp, x, v), argnums=(0, 1), unconnected_gradients="zero")
    value, found = gradient(array, values)
    np.testing.assert_allclose(value, written(np, array, values), rtol=1e-11)
    directions, h = (rng.standard_normal(array.shape), np.array(rng.standard_normal(values.shape))), 1e-6
    ends = [written(np, array + s * directions[0], values + s * directions[1]) for s in (h, -h)]
    slope = sum((g * d).sum() for g, d in zip(found, directions, strict=True))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_program_is_numpys(seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1, 1, SHAPE)
    expected = program(seed, np, x.copy())
    value, gradient = wg.value_and_grad(lambda t: program(seed, wnp, t))(x)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-11)
    direction, h = np.random.default_rng(seed + 1).standard_normal(SHAPE), 1e-6
    slope = (program(seed, np, x + h * direction) - program(seed, np, x - h * direction)) / (2 * h)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-5, atol=1e-6)
    if seed % 6 == 0:
        np.testing.assert_allclose(wg.function(lambda t: program(seed, wnp, t))(x), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(COUNT, 2 * COUNT))
def test_a_random_program_whose_writes_wait_for_the_next_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(buffer, "_WIDE", 0)
    test_a_random_program_is_numpys(seed)
