"""Rows of calls of `wengert.scipy`: each against SciPy's own function, and its gradients against differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg


class Row:
    """A call, the first `followed` arguments of which are followed.

    Args:
        name: below `scipy.`, such as "signal.lfilter".
        args: arrays and anything else.
        followed: how many of them are tensors.
        slopes: whether gradients are checked, too.
        kwargs: further arguments.
    """

    def __init__(self, name: str, *args: Any, followed: int = 1, slopes: bool = True, **kwargs: Any) -> None:
        self.module, _, self.name = name.rpartition(".")
        self.args, self.followed, self.slopes, self.kwargs = args, followed, slopes, kwargs

    def __repr__(self) -> str:
        shown = [f"{k}={v}" for k, v in self.kwargs.items() if isinstance(v, (str, int, float, bool))]
        return "-".join([self.name, *(str(a) for a in self.args if isinstance(a, (str, int))), *shown])

    def ours(self) -> Callable[..., Any]:
        return getattr(importlib.import_module(f"wengert.scipy.{self.module}"), self.name)

    def theirs(self) -> Callable[..., Any]:
        return getattr(importlib.import_module(f"scipy.{self.module}"), self.name)

    def check_values(self, tolerance: float = 1e-10) -> None:
        tensors = [wg.tensor(np.asarray(a)) for a in self.args[: self.followed]]
        found = self.ours()(*tensors, *self.args[self.followed :], **self.kwargs)
        expected = self.theirs()(*self.args, **self.kwargs)
        same_values(found, expected, tolerance)

    def check_slopes(self, tolerance: float = 1e-5) -> None:
        if not self.slopes:
            return

        def f(*args: Any) -> Any:
            found = self.ours()(*args, *self.args[self.followed :], **self.kwargs)
            parts = [p for p in found if isinstance(p, wg.Tensor)] if isinstance(found, tuple) else [found]
            return sum((abs_square(p * (1 + weights(p.shape))) for p in parts), 0.0)

        args = [np.array(a, np.result_type(np.asarray(a), float)) for a in self.args[: self.followed]]
        check_slope(f, args, tolerance)


def check_slope(f: Callable[..., Any], args: list[Any], tolerance: float = 1e-5, e: float = 1e-5) -> None:
    """The derivative in one direction: reverse mode, forward mode and a difference of two values, 2 e apart."""
    rng = np.random.default_rng(5)
    steps = [rng.normal(size=np.shape(a)) for a in args]
    steps = [s + 1j * s[::-1] if np.iscomplexobj(a) and s.ndim else s for s, a in zip(steps, args, strict=True)]
    slopes = wg.grad(f, argnums=tuple(range(len(args))))(*args)
    reverse = sum(np.real(np.sum(np.conj(g) * s)) for g, s in zip(slopes, steps, strict=True))
    _, forward = wg.jvp(
        f, tuple(args), tuple(np.asarray(s, np.asarray(a).dtype) for s, a in zip(steps, args, strict=True))
    )

    def at(size: float) -> float:
        return float(np.asarray(f(*(wg.tensor(np.asarray(a + size * s)) for a, s in zip(args, steps, strict=True)))))

    difference = (at(e) - at(-e)) / (2 * e)
    scale = 1 + abs(difference)
    assert abs(reverse - difference) < tolerance * scale, (reverse, difference)
    assert abs(float(np.asarray(forward)) - reverse) < 1e-8 * scale, (forward, reverse)


def abs_square(x: Any) -> Any:
    return np.sum(np.real(x) * np.real(x) + np.imag(x) * np.imag(x))


def weights(shape: Any) -> Any:
    """Numbers that differ from element to element."""
    return np.sin(np.arange(int(np.prod(shape)), dtype=float)).reshape(shape) / 3


def same_values(found: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same_values(a, b, tolerance)
        return
    array = found.numpy() if isinstance(found, wg.Tensor) else np.asarray(found)
    assert array.shape == np.shape(expected)
    assert array.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(array, expected, rtol=tolerance, atol=tolerance)
