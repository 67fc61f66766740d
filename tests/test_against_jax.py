"""Derivatives beside JAX's, in float64: what JAX says is recorded by `tests/spec/make_jax_values.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.jax_functions import CASES, Case, Library, questions, with_many_steps
from tests.support.paths import SPEC

RECORDED = np.load(SPEC / "jax_values.npz")
KINDS = ("jacobian", "jvp", "grad of vmap", "vmap of jacobian", "hessian", "vmap of grad")


def _while(condition: Any, body: Any, value: Any) -> Any:
    """A loop over one value, whatever its structure."""
    (found,) = wg.while_loop(condition, lambda v: [body(v)], [value])
    return found


LIBRARY = Library(
    n=wg.numpy, cond=wg.cond, switch=wg.switch, while_loop=_while, fori_loop=wg.fori_loop, scan=wg.scan,
    stop_gradient=wg.stop_gradient, vmap=wg.vmap, grad=wg.grad, jvp=wg.jvp, solve=wg.linalg.solve,
    cholesky=wg.linalg.cholesky, inv=wg.linalg.inv, slogdet=wg.linalg.slogdet, eigh=wg.linalg.eigh,
    sigmoid=wg.sigmoid, logsumexp=wg.special.logsumexp, at_set=lambda x, i, v: x.at[i].set(v),
    at_add=lambda x, i, v: x.at[i].add(v), expm1=wg.expm1, gammaln=wg.special.gammaln, erf=wg.special.erf,
)  # fmt: skip


def _asked(case: Case, compiled: bool) -> dict[str, Any]:
    def f(*args: Any) -> Any:
        return case.f(LIBRARY, *args)

    run = wg.function(f) if compiled else f
    return questions(case, run, wg.jacobian, wg.hessian, wg.grad, wg.vmap, wg.jvp)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_agrees_with_jax(case: Case, kind: str, compiled: bool) -> None:
    question = _asked(case, compiled).get(kind)
    if question is None:  # a Hessian and per-example gradients are of scalars
        assert not case.is_scalar
        return
    found = wg.tree.leaves(question())
    names = [name for name in RECORDED.files if name.startswith(f"{case.name}|{kind}|")]
    assert len(found) == len(names) > 0
    for place, array in enumerate(found):
        wanted = RECORDED[f"{case.name}|{kind}|{place}"]
        assert np.shape(array) == wanted.shape
        # relative to the largest element; both libraries lose some digits where a matrix is ill-conditioned
        np.testing.assert_allclose(array, wanted, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_forward_mode_of_a_loop_whose_length_is_an_argument(steps: int) -> None:
    run = wg.function(
        lambda x, n: wg.jvp(lambda v: with_many_steps(LIBRARY, v, n), (x,), (np.ones(2),))[1]
    )  # fmt: skip
    np.testing.assert_allclose(run(np.array([0.5, 1.5]), np.int64(steps)), RECORDED[f"with_many_steps|{steps}"], 1e-12)


def test_there_are_enough_functions() -> None:
    assert len({case.name for case in CASES}) >= 60
