"""Loop variables whose extents change from step to step, met by other arrays: compiled programs do as eager ones.

What an extent is only a run tells, so that it may be 1, and grow by broadcasting, at any step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Function = Callable[[Any], Any]


def loop(body: Callable[[Any, Any], Any], steps: int) -> Function:
    """A loop of one number at the start, whose variable may have any length."""

    def run(x: Any) -> Any:
        start = wg.reshape(wg.sum(x) / 7.0, (1,))
        return wg.while_loop(
            lambda i, v: i < steps, lambda i, v: (i + 1, body(x, v)), [0, start], shape_invariants=[(), (None,)]
        )[1]

    return run


doubled = loop(lambda x, v: wg.concatenate([v, v]), 1)
PROGRAMS: dict[str, Function] = {
    "grows": loop(lambda x, v: x * v, 5),
    "grows from the right": loop(lambda x, v: v * x, 5),
    "meets itself": loop(lambda x, v: v * v * 0.1 + x, 3),
    "meets what it makes": loop(lambda x, v: v + wg.sin(v * x), 5),
    "chosen": loop(lambda x, v: wg.where(x > 3.5, v, x), 5),
    "joined": loop(lambda x, v: wg.concatenate([v, x]) * 1.5, 2),
    "contracted": loop(lambda x, v: wg.reshape(v @ x, (1,)) * x, 2),
    "in a branch": loop(lambda x, v: wg.cond(wg.sum(v) > 2.0, lambda: v * x, lambda: x * 1.0), 4),
    "in a loop": loop(lambda x, v: wg.fori_loop(0, 2, lambda i, c: c * wg.sin(v), x), 3),
    "meets after the loop": lambda x: doubled(x) * x,
    "meets another": lambda x: loop(lambda x, v: x * v, 3)(x) * doubled(x),
    "contracted after the loop": lambda x: doubled(x) @ x,
    "crossed": lambda x: doubled(x)[:, None] * x[None, :],
    "spread": lambda x: wg.ops.broadcast_to(loop(lambda x, v: x * v, 2)(x), (2,)),
}


def outcome(f: Function, x: Any) -> Any:
    """The value, or the kind of error."""
    try:
        return np.asarray(f(x))
    except ValueError:
        return ValueError


@pytest.mark.parametrize("x", [[3.0], [3.0, 4.0], [3.0, 4.0, 5.0]], ids=len)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_loops_broadcast_as_eager_ones_do(name: str, x: Any) -> None:
    f = PROGRAMS[name]
    compiled = wg.function(f)

    def squares(g: Function) -> Function:
        return lambda x: wg.sum(g(x) ** 2)

    pairs = [
        (f, compiled),
        (wg.grad(squares(f)), wg.function(wg.grad(squares(f)))),
        (wg.grad(squares(f)), wg.grad(squares(compiled))),
        (lambda x: wg.jvp(f, (x,), (x,))[1], wg.function(lambda x: wg.jvp(f, (x,), (x,))[1])),
    ]
    for eager, other in pairs:
        wanted, found = outcome(eager, np.array(x)), outcome(other, np.array(x))
        if wanted is ValueError or found is ValueError:
            assert wanted is found
        else:
            assert wanted.shape == found.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_an_extent_that_only_a_run_tells_is_checked_by_the_run() -> None:
    with pytest.raises(ValueError, match=r"does not fit: last step_0 = 2, and extents that meet must be equal"):
        wg.function(PROGRAMS["meets after the loop"])(np.array([3.0, 4.0, 5.0]))


def test_a_saved_loop_checks_its_extents(tmp_path: Any) -> None:
    f = wg.function(PROGRAMS["meets after the loop"], input_signature=[wg.TensorSpec((None,), float)])
    f(np.array([3.0, 4.0]))
    wg.save(f, tmp_path / "f")
    loaded = wg.load(tmp_path / "f")
    np.testing.assert_array_equal(loaded(np.array([3.0, 4.0])), f(np.array([3.0, 4.0])))
    with pytest.raises(ValueError, match="does not fit"):
        loaded(np.array([3.0, 4.0, 5.0]))
