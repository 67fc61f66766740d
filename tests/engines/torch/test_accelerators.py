"""Tensors whose elements NumPy cannot read, as those on an accelerator: only the engine's own copy to the host may."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

torch = pytest.importorskip("torch", reason="torch is not installed")

X = np.array([3.0, 1.0, 2.0, 0.0])
INTS = np.array([2, 0, 1, 1])


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU every tensor pretends: `np.asarray` refuses it, as it refuses CUDA's."""

    def refused(self: Any, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")

    numpy = torch.Tensor.numpy

    def by_the_engine(self: Any) -> Any:
        return (
            numpy(self) if sys._getframe(1).f_globals["__name__"] == "wengert._engines.torch.common" else refused(self)
        )

    monkeypatch.setattr(torch.Tensor, "numpy", by_the_engine)
    monkeypatch.setattr(torch.Tensor, "__array__", refused)


CALLS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "nonzero": (wg.ops.nonzero, (X,)),
    "argwhere": (wnp.argwhere, (X,)),
    "flatnonzero": (wnp.flatnonzero, (X,)),
    "where of one": (wnp.where, (X,)),
    "boolean_mask": (wg.ops.boolean_mask, (X, X > 1)),
    "masked_select": (wg.ops.masked_select, (X, X > 1)),
    "a mask as index": (lambda x, m: x[m], (X, X > 1)),
    "repeat": (wg.ops.repeat, (X, INTS)),
    "repeat evenly": (wg.ops.repeat, (X, np.array(2))),
    "roll": (wg.ops.roll, (X, np.array(1))),
    "bincount": (wg.ops.bincount, (INTS,)),
    "segment_sum": (wg.ops.segment_sum, (X, np.sort(INTS))),
    "unique": (wnp.unique, (INTS,)),
    "digitize": (wnp.digitize, (X, np.array([0.5, 1.5, 2.5]))),
    "searchsorted": (wnp.searchsorted, (np.sort(X), X)),
    "quantile": (wnp.quantile, (X, np.array([0.25, 0.5]))),
    "percentile": (wnp.percentile, (X, np.array([25.0, 50.0]))),
    "histogram": (lambda x: wnp.histogram(x, 3)[0], (X,)),
    "interp": (wnp.interp, (X, np.array([0.0, 2.0, 4.0]), np.array([1.0, 5.0, 2.0]))),
    "delete": (wnp.delete, (X, np.array([0, 2]))),
    "insert": (lambda x, v: wnp.insert(x, 1, v), (X, np.array(7.0))),
    "split": (lambda x, at: wnp.split(x, at)[1], (X, np.array([1, 3]))),
    "clip": (wnp.clip, (X, np.array(0.5), np.array(2.5))),
    "take": (wnp.take, (X, INTS)),
    "pinv": (lambda x, bound: wg.linalg.pinv(wnp.outer(x, x) + wnp.eye(4), bound), (X, np.array(1e-9))),
    "xor of wide unsigned integers": (wg.ops.bitwise_xor, (INTS.astype(np.uint64), INTS[::-1].astype(np.uint64))),
    "where of wide unsigned integers": (wnp.where, (X > 1, INTS.astype(np.uint32), INTS[::-1].astype(np.uint32))),
    "minimize": (lambda x: wg.optimize.minimize(lambda v: ((v - 1) ** 2).sum(), x).x, (X,)),
    "within bounds": (
        lambda x, low, high: wg.optimize.least_squares(lambda v: v - 5, x, bounds=(low, high)).x,
        (X + 0.5, np.zeros(4), np.full(4, 4.0)),
    ),
    "solve_ivp": (lambda x: wg.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y[:, -1], (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("elsewhere")
def test_what_depends_on_values_asks_the_engine_for_them(name: str) -> None:
    call, arrays = CALLS[name]
    wanted = call(*arrays)
    got = call(*map(torch.from_numpy, arrays))
    for mine, want in zip(*[y if isinstance(y, (tuple, list)) else [y] for y in (got, wanted)], strict=True):
        np.testing.assert_allclose(mine.tolist(), np.asarray(want), rtol=1e-6)


@pytest.mark.usefixtures("elsewhere")
def test_a_gradient_through_what_depends_on_values() -> None:
    def loss(x: Any, counts: Any) -> Any:
        return (wg.ops.repeat(x, counts) ** 2).sum() + (wnp.roll(x, counts[0]) * x).sum() + x[x > 1].sum()

    got = wg.grad(loss)(torch.from_numpy(X), torch.from_numpy(INTS))
    np.testing.assert_allclose(got.tolist(), wg.grad(loss)(X, INTS))
