"""Branches over arrays whose extent is made of an unknown one (`x[::2]`, `concatenate([x, x])`), which does not tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "argument": lambda x, s, i: wg.cond(i > 0, lambda v: v * v * s, lambda v: wg.sin(v * s), x[::2]),
    "captured": lambda x, s, i: _of(x[::2], lambda v: wg.switch(i, [lambda: wg.sin(v * s), lambda: v * v * s])),
    "both": lambda x, s, i: _of(
        wg.concatenate([x, x]), lambda v: wg.switch(i, [lambda c: wg.sin(c * s), lambda c: c * v * s], v)
    ),
    "captured beside a number": lambda x, s, i: _of(
        x[1:], lambda v: wg.cond(i > 0, lambda s: wg.exp(v * s), lambda s: wg.sin(s) * v, s)
    ),
    "table": lambda x, s, i: _of(
        wg.concatenate([x, x]),
        lambda v: wg.switch(i, [lambda s: wg.exp(v[:, None] * s * v / 9) @ v, lambda s: wg.sin(s) * v], s),
    ),
    "one branch": lambda x, s, i: _of(x[::2] * s, lambda v: wg.switch(i, [lambda c: v], v)),
    "in a loop": lambda x, s, i: _of(
        x[1:], lambda v: wg.fori_loop(0, 2, lambda j, c: wg.cond(j > i, lambda c: c * v * s, lambda c: wg.sin(c * s), c), v)
    ),
    "in a while loop": lambda x, s, i: wg.while_loop(
        lambda c, k: k < 3,
        lambda c, k: (wg.cond(k > i, lambda c: c * c[::-1] * s, lambda c: wg.sin(c * s), c), k + 1), (x[1:], 0),
    )[0],
    "in a batch": lambda x, s, i: wg.vmap(
        lambda r: wg.cond(r > 0.2 + i, lambda s: s * r * wg.sum(x[::2]), lambda s: wg.sin(s * r), s)
    )(x[::2]),
}  # fmt: skip


def _of(v: Any, f: Callable[[Any], Any]) -> Any:
    return f(v)


def derivatives(f: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    gradient = wg.grad(f, argnums=(0, 1))
    return {
        "value": f,
        "gradient": gradient,
        "tangent": lambda x, s, i: wg.jvp(lambda x, s: f(x, s, i), (x, s), (x, s))[1],
        "second order": wg.grad(lambda x, s, i: sum(wg.sum(g**2) for g in gradient(x, s, i)), argnums=(0, 1)),
    }


@pytest.mark.parametrize("order", ["value", "gradient", "tangent", "second order"])
@pytest.mark.parametrize("name", [*PROGRAMS])
def test_compiled_for_all_sizes_is_eager(name: str, order: str) -> None:
    f = derivatives(lambda x, s, i: wg.sum(wg.sin(PROGRAMS[name](x, s, i))))[order]
    spec = [wg.TensorSpec((None,), "float64"), wg.TensorSpec((), "float64"), wg.TensorSpec((), "int64")]
    compiled = wg.function(f, input_signature=spec)
    for size in (2, 3, 6):
        x = np.arange(1.0, size + 1) / size
        for i in (0, 1):
            found, wanted = wg.tree.leaves(compiled(x, 0.3, i)), wg.tree.leaves(f(x, 0.3, i))
            for a, b in zip(found, wanted, strict=True):
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    assert compiled.trace_count == 1
