"""Views by strides against NumPy's: what they see, their gradients, before and after writes, and how they compile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp


class View(NamedTuple):
    """A view of an array of a shape: where it starts, its extents and strides, in elements."""

    shape: tuple[int, ...]
    first: int
    extents: tuple[int, ...]
    steps: tuple[int, ...]

    def of(self, x: Any, n: Any) -> Any:
        strides = (*[8 * step for step in self.steps],)
        return n.lib.stride_tricks.as_strided(x.reshape(-1)[self.first :], self.extents, strides)


VIEWS = {
    "long_windows": View((40,), 0, (36, 5), (1, 1)),
    "long_windows_backwards": View((40,), 37, (36, 3), (-1, 1)),
    "two_windows_of_each_place": View((60,), 0, (3, 30, 4), (8, 1, 1)),
    "windows_of_batches": View((3, 30), 0, (3, 26, 5), (30, 1, 1)),
    "windows_of_images": View((2, 9, 9), 0, (2, 7, 7, 3, 3), (81, 9, 1, 9, 1)),
    "windows_of_rows_with_columns": View((30, 3), 0, (26, 3, 5), (3, 1, 3)),
    "windows": View((9,), 0, (7, 3), (1, 1)),
    "windows_apart": View((9,), 1, (3, 3), (2, 1)),
    "windows_backwards": View((9,), 6, (5, 3), (-1, 1)),
    "elements_backwards": View((9,), 2, (5, 3), (1, -1)),
    "windows_of_rows": View((4, 5), 0, (4, 3, 3), (5, 1, 1)),
    "windows_of_two_axes": View((4, 5), 0, (3, 3, 2, 3), (5, 1, 5, 1)),
    "dilated": View((4, 5), 0, (4, 1, 3), (5, 1, 2)),
    "repeated": View((4, 5), 5, (3, 2, 5), (0, 5, 1)),
    "repeated_windows": View((9,), 0, (2, 4, 3), (0, 1, 1)),
    "over_the_edge_of_rows": View((4, 5), 1, (8, 4), (2, 1)),
    "diagonals": View((5, 5), 0, (3, 3), (6, 1)),
    "one": View((4, 5), 7, (1, 1), (3, 1)),
    "number": View((1,), 0, (2, 3), (0, 0)),
}


def _ours(view: View, x: Any) -> Any:
    return view.of(x, wnp)


@pytest.mark.parametrize("name", VIEWS)
def test_views_by_strides_see_what_those_of_numpy_see(name: str) -> None:
    view = VIEWS[name]
    x = np.random.default_rng(3).standard_normal(view.shape)
    wanted = view.of(x, np)
    np.testing.assert_array_equal(_ours(view, wg.tensor(x)).numpy(), wanted)
    np.testing.assert_array_equal(wg.function(lambda x: _ours(view, x))(x), wanted)

    def after_a_write(x: Any) -> Any:
        held = wg.tensor(x) * 1.0
        held[...] = 2.0 * x
        return _ours(view, held)

    np.testing.assert_array_equal(after_a_write(wg.tensor(x)).numpy(), 2 * wanted)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_gradients_of_views_by_strides_add_up_where_they_see_an_element_often(name: str, compiled: bool) -> None:
    view = VIEWS[name]
    rng = np.random.default_rng(4)
    x, weights = rng.standard_normal(view.shape), rng.standard_normal(view.extents)
    wanted = np.zeros(x.size)
    np.add.at(wanted, view.of(np.arange(x.size).reshape(view.shape), np), weights)
    grad = wg.grad(lambda x: (weights * _ours(view, x)).sum())
    found = (wg.function(grad) if compiled else grad)(x)
    np.testing.assert_allclose(found, wanted.reshape(x.shape), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("window", [(3,), (2, 3)], ids=["one_axis", "two_axes"])
@pytest.mark.parametrize("flat", [False, True], ids=["of_an_argument", "of_its_elements_in_a_row"])
def test_sliding_windows_are_machine_code(window: tuple[int, ...], flat: bool) -> None:
    x = np.random.default_rng(5).standard_normal((6, 7))

    def f(x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(
            x.reshape(-1) if flat else x, window[:1] if flat else window, 0 if flat else (*range(2 - len(window), 2),)
        )
        return np.sum(np.max(windows, -1) ** 2)

    compiled = wg.function(wg.value_and_grad(f))
    value, gradient = compiled(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, wg.grad(f)(x), rtol=1e-13)
    assert {part.by for part in compiled.report(x).parts} == {"machine code"}


GRIDS = {
    "windows": np.arange(36)[:, None] + np.arange(5),
    "apart": 2 * np.arange(16)[:, None] + np.array([0, 3, 1]),
    "elements_first": np.arange(3)[:, None] + np.arange(30),
    "backwards": 39 - np.arange(30)[:, None] - np.arange(4),
    "three_axes": np.arange(20)[:, None, None] + np.arange(2)[:, None] + 3 * np.arange(4),
    "one_slice": np.arange(40)[:, None],
    "repeated": np.zeros((20, 3), int) + np.arange(3),
    "no_grid": (np.arange(36)[:, None] + np.arange(5)) % 7,
    "short": np.arange(4)[:, None] + np.arange(4),
    "from_the_end": np.arange(36)[:, None] - np.arange(5),
}


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("name", GRIDS)
def test_known_index_arrays_of_several_axes_take_what_numpy_takes(name: str, columns: int | None) -> None:
    rng = np.random.default_rng(6)
    x, index = rng.standard_normal((40,) if columns is None else (40, columns)), GRIDS[name]
    weights = rng.standard_normal(x[index].shape)
    wanted = np.zeros(x.shape)
    np.add.at(wanted, index, weights)
    for take in (lambda x: x[index], lambda x: np.take(x, index, axis=0), lambda x: np.take(x.T, index, axis=-1).T.T):
        np.testing.assert_array_equal(wg.function(take)(x), take(x))
    for take in (lambda x: x[index], lambda x: np.take(x, index, axis=0)):
        found = wg.function(wg.grad(lambda x, take=take: (weights * take(x)).sum()))(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
    mixed = lambda x: x[None, index] if columns is None else x[:, None][index, :, 1]
    np.testing.assert_array_equal(wg.function(mixed)(x), mixed(x))


def test_known_positions_beyond_the_axis_are_refused() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        wg.function(lambda x: x[np.arange(36)[:, None] + np.arange(6)])(np.zeros(40))
