"""A function of `wengert.scipy` held against SciPy's: values, both modes against each other and against differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg


def parts(result: Any) -> list[Any]:
    """The arrays of a result, which may be a tuple."""
    return [p for item in result for p in parts(item)] if isinstance(result, tuple) else [result]


def agrees_with_scipy(
    ours: Callable[..., Any], theirs: Callable[..., Any], args: tuple[Any, ...], rtol: float = 1e-10, h: float = 1e-3,
    slope_rtol: float = 1e-6, take: Callable[[Any], Any] = lambda result: result,
) -> None:  # fmt: skip
    """Checks values and first derivatives at float or complex arrays.

    Args:
        ours: the function on tensors.
        theirs: SciPy's on arrays.
        args: what both take.
        rtol: of the values.
        h: the largest step of the differences, which are extrapolated.
        slope_rtol: of the derivatives.
        take: what of both results is compared, where signs or orders are free.
    """
    want = parts(take(theirs(*args)))
    got = parts(take(ours(*[wg.tensor(a) for a in args])))
    assert len(want) == len(got)
    for theirs_part, ours_part in zip(want, got, strict=True):
        assert isinstance(ours_part, wg.Tensor)
        assert ours_part.dtype == np.asarray(theirs_part).dtype
        np.testing.assert_allclose(ours_part.numpy(), theirs_part, rtol=rtol, atol=1e-12)
    weights = [_random(np.shape(w), i, True) for i, w in enumerate(want)]

    def loss(*values: Any) -> Any:
        return sum(wg.sum(wg.real(w * r)) for w, r in zip(weights, parts(take(ours(*values))), strict=True))

    def plain(*values: Any) -> Any:
        return sum(np.sum(np.real(w * r)) for w, r in zip(weights, parts(take(theirs(*values))), strict=True))

    for i, x in enumerate(args):
        direction = _random(x.shape, 50 + i, np.iscomplexobj(x))

        def at(value: Any, f: Callable[..., Any], i: int = i) -> Any:
            return f(*[value if j == i else a for j, a in enumerate(args)])

        reverse = np.sum(np.real(np.conj(direction) * np.asarray(wg.grad(loss, argnums=i)(*args))))
        forward = wg.jvp(lambda v, i=i: at(v, loss, i), (x,), (direction,))[1]
        np.testing.assert_allclose(forward, reverse, rtol=1e-8, atol=1e-10)
        steps = [h / 2**k for k in range(3)]
        rows = [(at(x + s * direction, plain) - at(x - s * direction, plain)) / (2 * s) for s in steps]
        once = [(4 * b - a) / 3 for a, b in itertools.pairwise(rows)]
        np.testing.assert_allclose(reverse, (16 * once[1] - once[0]) / 15, rtol=slope_rtol, atol=1e-8)


def _random(shape: tuple[int, ...], seed: int, is_complex: bool) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0.0)
