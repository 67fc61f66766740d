"""Programs with loops and branches of one number, whose gradients are the same on every framework's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg


def a_scan(policy: Any, reverse: bool = False) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        rows = wg.tensor(np.arange(1.0, 30.0)) / 7
        last, ys = wg.scan(
            lambda c, t: (wg.sin(c) * x * 0.5 + t, c * c * t), x, rows, reverse=reverse, checkpoint=policy
        )
        return last * ys.sum()

    return f


def a_while(policy: Any, most: int | None = None) -> Callable[[Any], Any]:
    return lambda x: wg.while_loop(
        lambda i, v: v < 50.0, lambda i, v: (i + 1, v * (1 + 0.03 * x) + 0.1 * wg.sin(v)), (0, x),
        maximum_iterations=most, checkpoint=policy,
    )[1]  # fmt: skip


def nested(x: Any) -> Any:
    def inner(v: Any) -> Any:
        return wg.while_loop(lambda u: u < 20.0, lambda u: u * 1.5 + x * wg.cos(u), v * 0.1 + 1.0) * 0.3

    return wg.fori_loop(0, 5, lambda i, v: inner(v), x)


def branching(x: Any) -> Any:
    step = lambda v: wg.cond(v > 1, lambda u: u * wg.sin(u), lambda u: nested(u) * 2, v)
    return wg.fori_loop(0, 4, lambda i, v: step(v) + 0.1, x)


def buffered(x: Any) -> Any:
    b = wg.buffer((6,), dtype="float64")
    b[0] = x

    def body(k: Any, v: Any) -> Any:
        b[k + 1] = wg.sin(b[k]) * x
        return v

    wg.fori_loop(0, 5, body, x)
    return b.value.sum()
