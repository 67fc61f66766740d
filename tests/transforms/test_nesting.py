"""Everything that holds a program or a rule, inside transforms nested two and three deep, against the plain formula.

Each construct is used in two ways: on the variable of the transform next to it, and on captured values only, which run
outside of its batches and linear parts. All of them compute `_formula(x, w)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Body = Callable[[Any, Any], Any]

X, W = 0.7, 1.3


def _formula(x: Any, w: Any) -> Any:
    return x * x * w * w * w


# -- constructs: each a function of two scalars whose value is x^2 w^3 ------------------------------------------------


def _function(x: Any, w: Any) -> Any:
    return wg.function(_formula)(x, w)


def _cond(x: Any, w: Any) -> Any:
    return wg.function(lambda x, w: wg.cond(x < 10.0, lambda: _formula(x, w), lambda: x))(x, w)


def _switch(x: Any, w: Any) -> Any:
    def run(i: Any, x: Any, w: Any) -> Any:
        return wg.switch(i, [lambda: x * w, lambda: _formula(x, w), lambda: x])

    return wg.function(run)(wg.tensor(1), x, w)


def _while_loop(x: Any, w: Any) -> Any:
    def run(x: Any, w: Any) -> Any:
        return wg.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * w), (0, x * x))[1]

    return wg.function(run)(x, w)


def _fori_loop(x: Any, w: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, v: v * w, x * x)


def _scan(x: Any, w: Any) -> Any:
    return wg.function(lambda x, w: wg.scan(lambda v, _: (v * w, v), x * x, None, length=3)[0])(x, w)


def _tangent(primals: Any, tangents: Any) -> Any:
    x, w = primals
    dx, dw = (0.0 * x if dot is None else dot for dot in tangents)  # None stands beside a Python number
    cube = wg.scan(lambda v, _: (v * w, None), dx, None, length=3)[0]
    to_x = wg.cond(x < 10.0, lambda: 2.0 * x * cube, lambda: cube)
    return _formula(x, w), to_x + 3.0 * dw * x * x * w * w


@wg.custom_gradient(jvp=_tangent)
def _ruled(x: Any, w: Any) -> Any:
    """Both rules have a branch and a loop in them, the reverse one a compiled function, too."""

    def rule(upstream: Any) -> Any:
        cube = wg.fori_loop(0, 3, lambda i, v: v * w, upstream)
        to_x = wg.cond(x < 10.0, lambda: 2.0 * x * cube, lambda: cube)
        return to_x, wg.function(lambda u, x, w: 3.0 * u * x * x * w * w)(upstream, x, w)

    return _formula(x, w), rule


def _custom_root(x: Any, w: Any) -> Any:
    def equation(y: Any, x: Any, w: Any) -> Any:
        cube = wg.scan(lambda v, _: (v * w, None), x * x, None, length=3)[0]
        return wg.cond(y > -1e6, lambda: y - cube, lambda: 2.0 * y - cube)

    def solver(f: Any, start: Any, x: Any, w: Any) -> Any:
        return start - f(start, x, w)  # the equation is linear in y, with slope one

    return wg.custom_root(equation, solver)(1.0, x, w)


def _custom_linear_solve(x: Any, w: Any) -> Any:
    def matvec(y: Any) -> Any:
        return wg.cond(w > -10.0, lambda: y / w, lambda: y)

    return wg.custom_linear_solve(matvec, x * x * w * w, lambda mv, b: b * w, lambda mv, b: b * w)


CONSTRUCTS: dict[str, Body] = {
    "function": _function, "cond": _cond, "switch": _switch, "while_loop": _while_loop, "fori_loop": _fori_loop,
    "scan": _scan, "custom_gradient": _ruled, "custom_root": _custom_root,
    "custom_linear_solve": _custom_linear_solve,
}  # fmt: skip

# -- transforms: each makes of f(x, w) another function of two scalars -------------------------------------------------


def _grad_x(f: Body) -> Body:
    return wg.grad(f, argnums=0)


def _grad_w(f: Body) -> Body:
    return wg.grad(f, argnums=1)


def _vmap(f: Body) -> Body:
    """Over x, with w as it is."""
    return lambda x, w: wg.sum(wg.vmap(lambda a: f(a, w))(wg.stack([x, 2.0 * x])))


def _vmap_past(f: Body) -> Body:
    """Over something else: f works on captured values only."""
    return lambda x, w: wg.sum(wg.vmap(lambda a: a * f(x, w))(np.array([1.0, 2.0])))


def _jvp(f: Body) -> Body:
    return lambda x, w: wg.jvp(f, (x, w), (x, 2.0))[1]


def _linearize(f: Body) -> Body:
    return lambda x, w: wg.linearize(f, x, w)[1](x, 2.0)


def _jacobian(f: Body) -> Body:
    def rows(x: Any, w: Any) -> Any:
        return wg.sum(wg.jacobian(lambda a: wg.stack([f(a, w), 3.0 * f(a * a, w)]))(x))

    return rows


def _hessian(f: Body) -> Body:
    return lambda x, w: wg.sum(wg.hessian(lambda a: f(a, w))(x))


def _hvp(f: Body) -> Body:
    return lambda x, w: wg.hvp(lambda a: f(a, w), x, w)


def _compiled(f: Body) -> Body:
    return wg.function(f)


def _recomputed(f: Body) -> Body:
    return wg.recompute_grad(f)


TRANSFORMS: dict[str, Callable[[Body], Body]] = {
    "grad_x": _grad_x, "grad_w": _grad_w, "vmap": _vmap, "vmap_past": _vmap_past, "jvp": _jvp,
    "linearize": _linearize, "jacobian": _jacobian, "hessian": _hessian, "hvp": _hvp, "function": _compiled,
    "recompute_grad": _recomputed,
}  # fmt: skip


def _applied(names: tuple[str, ...], f: Body) -> float:
    for name in names:
        f = TRANSFORMS[name](f)
    return float(np.asarray(f(X, W)))


PAIRS = [*itertools.product(TRANSFORMS, repeat=2)]
TRIPLES = [*itertools.product(TRANSFORMS, repeat=3)]
EVERY = 89  # of the triples one in so many, for each construct others


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_two_transforms_around_a_construct_give_what_the_formula_gives(construct: str) -> None:
    wrong = [n for n in PAIRS if not _agree(n, construct)]
    assert not wrong


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_three_transforms_around_a_construct_give_what_the_formula_gives(construct: str) -> None:
    wrong = [n for n in TRIPLES[[*CONSTRUCTS].index(construct) :: EVERY] if not _agree(n, construct)]
    assert not wrong


def _agree(names: tuple[str, ...], construct: str) -> bool:
    wanted = _applied(names, _formula)
    return bool(np.isclose(_applied(names, CONSTRUCTS[construct]), wanted, rtol=1e-9, atol=1e-12))


@pytest.mark.parametrize("construct", ["function", "cond", "switch", "while_loop", "scan"])
@pytest.mark.parametrize("outer", ["jvp", "linearize", "grad_x"])
@pytest.mark.parametrize("trace", [wg.function, _vmap], ids=["function", "vmap"])
def test_a_sweep_in_a_trace_asks_an_op_for_more_results_and_all_open_recorders_learn_of_them(
    construct: str, outer: str, trace: Callable[[Body], Body]
) -> None:
    """The linear part runs the construct again under the tape of grad; outer tangents must reach what it then saves."""
    f = TRANSFORMS[outer](_grad_w(_linearize(CONSTRUCTS[construct])))
    wanted = TRANSFORMS[outer](_grad_w(_linearize(_formula)))
    np.testing.assert_allclose(trace(f)(X, W), trace(wanted)(X, W), rtol=1e-12)
