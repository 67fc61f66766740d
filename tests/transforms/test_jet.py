"""`jet`: derivatives of all orders along a curve, beside nested forward mode and mpmath's series."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support import op_checks as checks
from tests.support.paths import SPEC
from wengert._core import dtypes
from wengert._core.op import REGISTRY, Op
from wengert._core.tensor import fresh

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def nested(f: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    """The derivative of an order, by forward mode in forward mode."""
    for _ in range(order):
        f = (lambda g: lambda t: wg.jvp(g, (t,), (np.ones_like(t),), unconnected_gradients="zero")[1])(f)
    return f


def require_as_nested(f: Callable[[Any], Any], at: Any, order: int = 3, rtol: float = 1e-9) -> None:
    at = np.asarray(at, dtype=float)
    _, got = wg.jet(f, [at], [[np.ones_like(at)] + [None] * (order - 1)])
    want = [nested(f, k)(at) for k in range(1, order + 1)]
    for k, (x, y) in enumerate(zip(got, want, strict=True), 1):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-10, err_msg=f"order {k}")


# -- beside mpmath ----------------------------------------------------------------------------------------------------

# derivatives of orders 0 to 8, recorded by tests/spec/make_jet.py
EXACT = json.loads((SPEC / "jet.json").read_text(encoding="utf-8"))


def power(p: float) -> Callable[[Any], Any]:
    return lambda x: x**p


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in (
        "exp", "log", "expm1", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sqrt", "cbrt", "arcsin", "arccos",
        "arctan", "arcsinh", "arccosh", "arctanh",
    )},
    **{name: getattr(wg.special, name) for name in ("erf", "gammaln", "j0", "expit")},
    "expit in its tail": wg.special.expit,
    **{f"x ** {p}": power(p) for p in (2, 3, 7, -2, 0.5, 2.5, -1.5)},
    "x ** x": lambda x: x**x, "2 ** x": lambda x: 2.0**x,
    "quotients": lambda x: np.sin(x) / np.sqrt(1 + x * x) + np.arctan2(x, x * x + 1) + np.hypot(x, 2.0),
}  # fmt: skip


def test_each_function_has_its_record() -> None:
    assert FUNCTIONS.keys() == EXACT.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_functions_as_mpmath_has_them(name: str) -> None:
    exact = EXACT[name]
    order = len(exact["derivatives"]) - 1
    y, found = wg.jet(FUNCTIONS[name], [exact["at"]], [[1.0] + [0.0] * (order - 1)])
    np.testing.assert_allclose([y, *found], exact["derivatives"], rtol=1e-12, atol=1e-14)


# -- every op ---------------------------------------------------------------------------------------------------------

# their derivatives of higher orders are not numbers at the samples, or are of programs (tested below)
EXCEPT = {"loop_back"}


def differentiable() -> list[Op]:
    return [
        op for op in REGISTRY.values()
        if op.kind in checks.DIFFERENTIABLE and not op.facts.holds and op.name not in EXCEPT and op.body is None
    ]  # fmt: skip


@pytest.mark.sampled(40)
@pytest.mark.parametrize("op", differentiable(), ids=str)
def test_ops_along_a_curve_as_forward_mode_in_forward_mode(op: Op) -> None:
    case = next((c for c in checks.cases(op) if c.active and checks.is_exact(c)), None)
    if case is None:
        return
    first, second = (checks.directions(case, checks.rng_for(op, salt)) for salt in (2, 3))
    if op.name in checks.SYMMETRIC:
        first, second = ({i: checks._hermitian(v) for i, v in d.items()} for d in (first, second))

    def along(t: Any) -> list[Any]:
        moved = [
            wg.tensor(x) + t * (0.1 * first[i]) + t * t * (0.1 * second[i]) if i in first else fresh(x)
            for i, x in enumerate(case.operands)
        ]
        return [o for o in checks._call(case, (*moved,)) if dtypes.is_inexact(o.dtype)]

    _, got = wg.jet(along, [0.0], [[1.0, 0.0, 0.0]], unconnected_gradients="zero")
    for k in (1, 2, 3):
        want = nested(along, k)(0.0)
        for x, y in zip(got, want, strict=True):
            x, y = np.asarray(x[k - 1]), np.asarray(y)
            scale = np.max(np.abs(y), where=np.isfinite(y), initial=1.0)
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9 * scale, err_msg=f"{case}, order {k}")


# -- programs ---------------------------------------------------------------------------------------------------------


@wg.custom_gradient(jvp=lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))
def own_sine(x: Any) -> Any:
    return np.sin(x), lambda ct: ct * np.cos(x)


@wg.custom_gradient
def own_exponential(x: Any) -> Any:
    y = np.exp(x)
    return y, lambda ct: ct * y


def cosine_kept(x: Any) -> Any:
    slope = np.cos(x)
    return np.sin(x), lambda ct: ct * slope


def pair(t: Any) -> Any:
    return wg.stack([t, t * t])


def matrix(t: Any) -> Any:
    return wg.stack([wg.stack([2 + t, t * t]), wg.stack([t * t, 2 * t])])


def written(t: Any) -> Any:
    a = np.zeros(3) * t
    a[0] = t * t
    a[1:] += np.sin(t)
    return a * t


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda t: np.linalg.solve(matrix(t), pair(t)),
    "eigh": lambda t: np.linalg.eigh(matrix(t))[0],
    "cholesky": lambda t: np.linalg.cholesky(matrix(t)),
    "inv": lambda t: np.linalg.inv(matrix(t)),
    "einsum of three": lambda t: np.einsum("i,ij,j->", pair(t), matrix(t), pair(1 + t)),
    "logsumexp": lambda t: wg.special.logsumexp(pair(t)),
    "a rule of the user's": lambda t: own_sine(t) * t,
    "a rule that keeps a value": lambda t: own_exponential(t) * t,
    "a rule that keeps a cosine": lambda t: wg.custom_gradient(cosine_kept)(t) * t,
    "recomputed": lambda t: wg.recompute_grad(lambda x: np.sin(x) * x)(t),
    "a compiled function": lambda t: wg.function(lambda x: np.sin(x) * x)(t) * t,
    "writes": written,
    "a batch": lambda t: wg.vmap(lambda x: wg.cond(x > 1, lambda y: y * y, np.sin, x))(t * np.array([1.0, 2.0])),
    "a gradient": lambda t: wg.grad(lambda x: wg.fori_loop(0, 3, lambda i, c: np.sin(c) * x, x))(t),
    "a Hessian": lambda t: wg.hessian(lambda x: (x**3).prod())(pair(t)),
    "fori_loop": lambda t: wg.fori_loop(0, 4, lambda i, c: np.sin(c) * t + c, t),
    "scan": lambda t: wg.scan(lambda c, x: (np.sin(c) * x, (c * t, c > 1)), t, t * np.arange(3.0))[1][0],
    "a loop that moves its stacks only": lambda t: wg.scan(lambda c, x: (c + 1.0, c * x), 1.0, t * np.arange(3.0))[1],
    "while_loop": lambda t: wg.while_loop(lambda c: c < 3.0, lambda c: c * (1 + t) + 0.1, t),
    "cond": lambda t: wg.cond(t > 0, lambda x: np.sin(x) * x, lambda x: x * 2, t),
    "a branch that does not move": lambda t: wg.cond(t < 0, np.sin, lambda x: 0 * wg.stop_gradient(x) + 1.0, t),
    "a branch in a loop": lambda t: wg.fori_loop(
        0, 3, lambda i, c: wg.cond(c > 1, lambda c: c * 0.5, lambda c: c * c + t, c), t
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_as_forward_mode_in_forward_mode(f: Callable[[Any], Any], is_compiled: bool) -> None:
    require_as_nested(wg.function(f) if is_compiled else f, 0.4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["fori_loop", "while_loop", "cond", "scan", "a branch in a loop"])
def test_jet_inside_a_compiled_function(name: str) -> None:
    f = PROGRAMS[name]
    found = wg.function(lambda t: wg.jet(f, [t], [[1.0, 0.0, 0.0]])[1])(0.4)
    for k, x in enumerate(found, 1):
        np.testing.assert_allclose(x, nested(f, k)(0.4), rtol=1e-10, atol=1e-10)


def test_jet_is_differentiated_and_batched() -> None:
    third = lambda t: wg.jet(np.tanh, [t], [[1.0, 0.0, 0.0]])[1][2]
    fourth = nested(np.tanh, 4)(0.3)
    assert np.isclose(wg.grad(third)(0.3), fourth, rtol=1e-12)
    assert np.isclose(wg.function(wg.grad(third))(0.3), fourth, rtol=1e-12)
    assert np.isclose(wg.jvp(third, (0.3,), (1.0,))[1], fourth, rtol=1e-12)
    assert np.isclose(wg.jet(third, [0.3], [[1.0]])[1][0], fourth, rtol=1e-12)
    points = np.array([0.3, 0.5])
    np.testing.assert_allclose(wg.vmap(third)(points), [third(x) for x in points], rtol=1e-12)


def test_the_curve_itself_may_bend() -> None:
    curve = lambda t: (np.sin(t), t**3 + 1.0)
    f = lambda x, y: x * y + np.exp(x)
    (x, y), (xs, ys) = wg.jet(curve, [0.7], [[1.0, 0.0, 0.0, 0.0]])
    _, got = wg.jet(f, [x, y], [xs, ys])
    np.testing.assert_allclose(got, [nested(lambda t: f(*curve(t)), k)(0.7) for k in range(1, 5)], rtol=1e-12)


# -- kinks and structural zeros ---------------------------------------------------------------------------------------

KINKS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "abs": (np.abs, 0.0), "maximum of equals": (lambda t: np.maximum(t, 2 * t - 1) * t, 1.0), "sqrt": (np.sqrt, 0.0),
    "power 0": (lambda t: t**0.0, 0.0), "power 3": (lambda t: t**3, 0.0), "power -2": (lambda t: t**-2.0, 0.0),
    "powers": (lambda t: t ** np.array([2.0, 0.0, 3.0]), [0.0, 0.0, 1.0]),
    "where": (lambda t: np.where(t > 0, np.log(t), 0.0), [0.0, 1.0]),
    "relu in sqrt": (lambda t: wg.sqrt(wg.ops.relu(t)), [-1.0, 4.0]),
    "floor": (lambda t: np.floor(t) * t, 1.5), "interp": (lambda t: np.interp(t * t, [0.0, 1, 2], [0.0, 3, 1]), 0.8),
}  # fmt: skip


@pytest.mark.parametrize(("f", "at"), KINKS.values(), ids=KINKS)
def test_kinks_as_forward_mode_in_forward_mode(f: Any, at: Any) -> None:
    require_as_nested(f, at)


def test_the_first_infinite_order_of_a_root_is_infinite() -> None:
    assert [float(x) for x in wg.jet(lambda t: t**1.5, [0.0], [[1.0, 0.0]])[1]] == [0.0, np.inf]
    assert [float(x) for x in wg.jet(lambda t: t**2.5, [0.0], [[1.0, 0.0, 0.0]])[1]] == [0.0, 0.0, np.inf]


# -- arguments --------------------------------------------------------------------------------------------------------


def test_structures_kinds_and_integers() -> None:
    f = lambda d: {"a": d["x"] * 2, "b": np.sin(d["y"]), "n": 3}
    y, found = wg.jet(f, [{"x": 1.0, "y": np.ones(2)}], [{"x": [1.0, 0.0], "y": [np.ones(2), None]}])
    assert y["n"] == 3 and type(found["b"][1]) is np.ndarray
    np.testing.assert_allclose(found["b"][1], -np.sin(np.ones(2)))
    assert [float(x) for x in found["a"]] == [2.0, 0.0]
    _, (value, place) = wg.jet(lambda x: (x.max(), x.argmax()), [np.array([1.0, 2.0])], [[np.array([1.0, 3.0])]])
    assert float(value[0]) == 3.0 and place == [None]
    assert wg.jet(np.sin, [np.float32(1)], [[np.float32(1)]])[1][0].dtype == np.float32
    assert wg.jet(np.sin, [1.0], [[]])[1] == []
    x = np.array([0.5 + 0.2j])
    third = wg.jet(lambda z: np.exp(z * z), [x], [[np.ones_like(x), None, None]])[1][2]
    np.testing.assert_allclose(third, (8 * x**3 + 12 * x) * np.exp(x * x), rtol=1e-12)


WRONG: Sequence[tuple[Any, Any, Any, type[Exception], str]] = [
    (np.sin, [1.0], [[1.0], [2.0]], ValueError, "one for each of 1 primals, got 2"),
    (lambda a, b: a * b, [1.0, 2.0], [[1.0], [2.0, 0.0]], ValueError, "1 derivatives of a and 2 of b"),
    (np.sin, [1.0], [[np.ones(2)]], ValueError, r"shape \(2,\)"),
    (np.sin, [1.0], [1.0], TypeError, "a list of them, got float"),
    (np.sin, 1.0, [[1.0]], TypeError, "primals, got float"),
    (np.sin, [1.0], [[1j]], TypeError, "complex"),
    (3, [1.0], [[1.0]], TypeError, "callable"),
    (lambda x: 3.0, [1.0], [[1.0]], wg.DisconnectedError, "depends on its arguments"),
]


@pytest.mark.parametrize(("f", "primals", "series", "kind", "words"), WRONG, ids=[w[-1] for w in WRONG])
def test_wrong_arguments_say_what_was_wanted(f: Any, primals: Any, series: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        wg.jet(f, primals, series)


def test_a_rule_without_a_forward_derivative_is_a_lookup_error() -> None:
    twice = wg.primitive("jet_twice", spec=lambda x: x, numpy=lambda x: 2 * x, vjp=lambda ct, out, x: (2 * ct,))
    with pytest.raises(LookupError, match="jet_twice"):
        wg.jet(twice, [1.0], [[1.0]])


def test_work_grows_with_the_second_power_of_the_order() -> None:
    def count(order: int) -> int:
        graph = wg.Graph()
        with graph.as_default():
            t = graph.add_input((), np.dtype(float))
            wg.jet(lambda t: np.sin(t) * np.exp(t) / (1 + t * t), [t], [[1.0] + [None] * (order - 1)])
            return len(graph.nodes)

    assert count(20) < 5 * count(10)
