"""`np.emath` and `np.lib.stride_tricks` of tensors: NumPy's values, and gradients of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.scipy_rows import check_slope

OUTSIDE, INSIDE = np.array([-0.3, 0.2, 1.9]), np.array([0.3, 0.2, 0.9])


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arcsin", "arccos", "arctanh"])
@pytest.mark.parametrize("x", [OUTSIDE, INSIDE, INSIDE + 0.2j], ids=["outside", "inside", "complex"])
def test_functions_are_complex_where_real_ones_end(name: str, x: Any) -> None:
    theirs, ours = getattr(np.emath, name), getattr(wnp.emath, name)
    found = ours(wg.tensor(x)).numpy()
    np.testing.assert_allclose(found, theirs(x), rtol=1e-13)
    assert found.dtype == theirs(x).dtype
    if x.dtype.kind == "f":
        check_slope(lambda t: (theirs(t).real + theirs(t).imag).sum(), [x])  # NumPy's own name is followed, too


def test_powers_and_logarithms_of_any_base() -> None:
    np.testing.assert_allclose(wnp.emath.power(wg.tensor(OUTSIDE), 0.7).numpy(), np.emath.power(OUTSIDE, 0.7))
    np.testing.assert_allclose(wnp.emath.logn(3, wg.tensor(OUTSIDE)).numpy(), np.emath.logn(3, OUTSIDE))


def test_a_trace_takes_complex_operands_only() -> None:
    compiled: Any = wg.function(lambda x: wnp.emath.sqrt(x))
    np.testing.assert_allclose(compiled(OUTSIDE + 0j), np.emath.sqrt(OUTSIDE))
    with pytest.raises(wg.TracingError, match=r"x \+ 0j"):
        compiled(OUTSIDE)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
def test_windows(wrap: Callable[..., Any]) -> None:
    m = np.arange(12.0).reshape(3, 4)
    weights = np.cos(np.arange(24.0)).reshape(2, 3, 2, 2)
    np.testing.assert_allclose(
        wrap(lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)))(m),
        np.lib.stride_tricks.sliding_window_view(m, (2, 2)),
    )
    found = wrap(wg.grad(lambda x: (weights * wnp.lib.stride_tricks.sliding_window_view(x, (2, 2))).sum()))(m)
    wanted = np.zeros((3, 4))
    for i, j in np.ndindex(2, 3):
        wanted[i : i + 2, j : j + 2] += weights[i, j]
    np.testing.assert_allclose(found, wanted)


def test_strides_that_leave_the_memory_are_refused() -> None:
    x = wnp.arange(4.0)
    with pytest.raises(ValueError, match="leaves the memory"):
        wg.grad(lambda t: wnp.lib.stride_tricks.as_strided(t, (3,), (16,)).sum())(x)


@pytest.mark.parametrize("lock", [lambda x: x.setflags(write=False), lambda x: setattr(x.flags, "writeable", False)])
def test_views_that_a_locked_tensor_had_are_written_to(lock: Callable[[Any], None]) -> None:
    x = wnp.arange(4.0)
    part = x[1:]
    rest = part[1:]
    lock(x)
    part[0], rest[0] = 7.0, 8.0
    assert x.numpy().tolist() == [0.0, 7.0, 8.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        x[1:][0] = 1.0


def test_a_locked_tensor_is_not_written_to() -> None:
    x = wnp.arange(4.0)
    x.setflags(write=False)
    assert not x.flags.writeable
    for write in (
        lambda: x.__setitem__(0, 1.0), lambda: x.__imul__(2.0), lambda: x[1:].__setitem__(0, 1.0), x.sort,
        lambda: x.fill(0.0), lambda: wnp.add.at(x, [0], 1.0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            write()
    np.testing.assert_array_equal(x.numpy(), np.arange(4.0))
    x.setflags(write=True)
    x[0] = 9.0
    assert x[0] == 9.0
    assert x.flags.writeable
