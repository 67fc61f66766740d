"""Branches and loops: their values and derivatives, as docs/semantics/control_flow.md promises them.

Each row runs eagerly, traced and under two `function` layers, and its gradients come through the functional API,
`wg.gradients` and `GradientTape`: all of these agree. A comment names the decision (docs/semantics/decisions.md)
where we differ from what other systems do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import STATE

Program = Callable[..., Any]
T, F = np.bool_(True), np.bool_(False)
sg = wg.stop_gradient


class Row(NamedTuple):
    """One measured value.

    Attributes:
        name: what it shows.
        f: called with `given`, then with `xs`, as tensors.
        xs: the sources.
        value: what f returns (of several results only the numbers in it are compared).
        grads: of the sum of the floating results, for each source; None: not connected.
        given: booleans and integers that f takes besides; a predicate among them is symbolic in a trace.
        eager: the gradients of an eager run, where it only knows what ran (decision 6).
        higher: the second derivative of a function of one number, the third, ...
        ends: of those, what `gradients` and tapes give in a trace (the gradient of a linear function counts as
            connected in the functional API only, decision 3).
        taped: of those, what an eager tape gives.
    """

    name: str
    f: Program
    xs: tuple[Any, ...]
    value: Any
    grads: list[Any]
    given: tuple[Any, ...] = ()
    eager: list[Any] | None = None
    higher: tuple[Any, ...] = ()
    ends: tuple[Any, ...] | None = None
    taped: tuple[Any, ...] | None = None


def no_gradient(x: Any) -> Any:
    return _no_gradient(x)


_no_gradient = wg.primitive("no_gradient_for_control", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)


# -- programs of more than a line -------------------------------------------------------------------------------------


def nested(p: Any, q: Any, x: Any, y: Any) -> Any:
    return wg.cond(p, lambda: 2.0, lambda: wg.cond(q, lambda: 2 * x * y, lambda: 5 * x))


def even_and_odd(x: Any) -> Any:
    """Multiplies by x at even steps, adds x at odd ones."""
    step = lambda i, y: (i + 1, wg.cond(i % 2 == 0, lambda: y * x, lambda: y + x))
    return wg.while_loop(lambda i, y: i < 4, step, (0, x))[1]


def third_order_mix(x: Any) -> Any:
    """x, then x^2, x^3 and x^6."""
    step = lambda i, y: (i + 1, wg.cond(i == 1, lambda: y * x, lambda: y * y))
    return wg.while_loop(lambda i, y: i < 3, step, (0, x))[1]


def two_variables(which: str) -> Program:
    def f(x: Any, y: Any) -> Any:
        v, w = wg.while_loop(lambda v, w: v < 45, lambda v, w: (v * w, v + w), (x, y))
        return {"first": v, "second": w, "both": (v, w)}[which]

    return f


def passed_through(which: str) -> Program:
    def f(x: Any, y: Any) -> Any:
        v, w = wg.while_loop(lambda v, w: v < 45, lambda v, w: (v * w, w), (x, y))
        return {"second": w, "both": (v, w)}[which]

    return f


def times(count: int, step: Program) -> Program:
    """A loop of so many steps over one variable."""
    return lambda x, *rest: wg.while_loop(lambda i, v: i < count, lambda i, v: (i + 1, step(v, *rest)), (0, x))[1]


def counted(x: Any, n: Any) -> Any:
    return wg.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x), (0, x))


def polynomial(n: Any) -> Any:
    """The sum of n^k for k to 5, each power by a loop of its own."""

    def outer(k: Any, total: Any) -> Any:
        power = wg.while_loop(lambda j, p: j < k, lambda j, p: (j + 1, p * n), (0, n * 0 + 1))[1]
        return k + 1, total + power

    return wg.while_loop(lambda k, total: k < 6, outer, (0, n * 0))[1]


def unrelated(x: Any, z: Any) -> Any:
    return wg.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * x, b + 1.0), (0, x, z))[2]


def swapped(x: Any, z: Any) -> Any:
    return wg.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), (0, x, z))[1]


def gradient_inside(x: Any) -> Any:
    """The gradient of a^3, for the loop variable a."""
    return times(2, lambda a: wg.grad(lambda b: b * b * b)(a))(x)


def tape_inside(x: Any) -> Any:
    def step(a: Any) -> Any:
        with wg.GradientTape() as tape:
            tape.watch(a)
            y = a * a * a
        return tape.gradient(y, a)

    return times(2, step)(x)


def outer_gradient_inside(x: Any) -> Any:
    """The gradient of an outside y = x^2 with respect to an outside x, asked for in the body."""
    return times(1, lambda v: v + wg.grad(lambda z: z * z)(x) * v / 2)(x) + x * 0


def written(x: Any) -> Any:
    """Writes v, v x, v x^2, ... into an array."""

    def step(i: Any, v: Any, rows: Any) -> Any:
        return i + 1, v * x, rows.at[i].set(v)

    return wg.while_loop(lambda i, v, rows: i < 4, step, (0, x * 0 + 1, wg.zeros(4)))[2]


def half_written(x: Any) -> Any:
    """What is not written is 0 and has no gradient."""
    step = lambda i, v, rows: (i + 1, v * x, rows.at[i].set(v))
    return wg.while_loop(lambda i, v, rows: i < 2, step, (0, x, wg.zeros(4)))[2]


def read(ta: Any) -> Any:
    return wg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + ta[i] ** 2), (0, ta[0] * 0))[1]


def gathered(w: Any) -> Any:
    step = lambda i, s: (i + 1, s + 2 * wg.sum(wg.take(w, wg.reshape(i, (1,)), axis=0)))
    return wg.while_loop(lambda i, s: i < 3, step, (0, w[0] * 0))[1]


def grown(x: Any) -> Any:
    return wg.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, wg.concatenate([v, 2 * v])), (0, x), shape_invariants=((), (None,))
    )[1]


def fixed_by(m: Any) -> Program:
    return lambda v, y: wg.while_loop(lambda v: wg.full((), True), lambda v: v * y, v, maximum_iterations=m)


def nan_condition(x: Any) -> Any:
    return wg.while_loop(lambda v: v < np.nan, lambda v: v * v, x)


SQUARES = lambda v: v * v
V = [2.0, 3.0]

BRANCHES = [
    Row("the branch taken",
        lambda p, x, y: wg.cond(p, lambda: 2 * x, lambda: 3 * y), (1, 2), 2, [2, 0], (T,), [2, None]),
    Row("the branch taken",
        lambda p, x, y: wg.cond(p, lambda: 2 * x, lambda: 3 * y), (1, 2), 6, [0, 3], (F,), [None, 3]),
    Row("the branch taken",
        lambda p, x, y: wg.cond(p, lambda x, y: 2 * x, lambda x, y: 3 * y, x, y), (1, 2), 2, [2, 0], (T,)),
    Row("the branch taken",
        lambda p, x, y: wg.cond(p, lambda x, y: 2 * x, lambda x, y: 3 * y, x, y), (1, 2), 6, [0, 3], (F,)),
    Row("used in the other branch only",
        lambda p, x: wg.cond(p, lambda: 2 * x, lambda: 7.0), (1,), 7, [0], (F,), [None]),
    # an operand always counts as connected, in eager runs, too (decision 5)
    Row("used in the other branch only",
        lambda p, x: wg.cond(p, lambda v: 2 * v, lambda v: 7.0, x), (1,), 7, [0], (F,)),
    Row("used in no branch", lambda p, x, y: wg.cond(p, lambda: 2 * y, lambda: 7.0), (1, 2), 4, [None, 2], (T,)),
    # where versions 2 and 3 of the document give zeros for what no branch uses: that is so for operands here
    Row("used in no branch", lambda p, x, y: wg.cond(p, lambda v: 2 * y, lambda v: 7.0, x), (1, 2), 4, [0, 2], (T,)),
    Row("stopped in a branch",
        lambda p, x: wg.cond(p, lambda: sg(x) * 2, lambda: 5 * x), ([1, 2],), [2, 4], [[0, 0]], (T,), [None]),
    Row("stopped in a branch",
        lambda p, x: wg.cond(p, lambda: sg(x) * 2, lambda: 5 * x), ([1, 2],), [5, 10], [[5, 5]], (F,)),
    Row("stopped in a branch",
        lambda p, x: wg.cond(p, lambda: sg(x) * 2, lambda: sg(x)), ([1, 2],), [2, 4], [None], (T,)),
    Row("no gradient to the predicate", lambda x: wg.cond(x > 1, lambda: x * x, lambda: x), (2,), 4, [4]),
    Row("no gradient to the predicate", lambda x: wg.cond(x > 1, lambda: 1.0, lambda: 0.0), (2,), 1, [None]),
    Row("a predicate of one element",
        lambda x: wg.cond(wg.reshape(x > 1, (1, 1)), lambda: x * x, lambda: x), (2,), 4, [4]),
    Row("results without a gradient",
        lambda p, x: wg.cond(p, lambda: (x * x, 1, True, "a"), lambda: (x, 2, False, "a")),
        (2,), (4, 1, True, "a"), [4], (T,)),
    Row("results without a gradient",
        lambda p, x: wg.cond(p, lambda: wg.astype(x * x, int), lambda: 1), (2,), 4, [None], (T,)),
    Row("several results", lambda p, x: wg.cond(p, lambda: (x * x, 3 * x), lambda: (x, x))[0], (2,), 4, [4], (T,)),
    Row("several results", lambda p, x: wg.cond(p, lambda: (x * x, 3 * x), lambda: (x, x))[1], (2,), 6, [3], (T,)),
    Row("several results", lambda p, x: wg.cond(p, lambda: (x * x, 3 * x), lambda: (x, x)), (2,), (4, 6), [7], (T,)),
    Row("branches in a branch", nested, (1, 2), 2, [0, 0], (T, F), [None, None]),
    Row("branches in a branch", nested, (1, 2), 4, [4, 2], (F, T)),
    Row("branches in a branch", nested, (1, 2), 5, [5, 0], (F, F), [5, None]),
    Row("second derivative of a branch",
        lambda p, x: wg.cond(p, lambda: x * x * x, lambda: x), (3,), 27, [27], (T,), None, (18, 6)),
    # an eager tape does not know of x^3 (decision 6)
    Row("second derivative of a branch",
        lambda p, x: wg.cond(p, lambda: x * x * x, lambda: x), (3,), 3, [1], (F,), None, (0,), None, (None,)),
    Row("second derivative of a branch",
        lambda p, x: wg.cond(p, lambda v: v * v * v, lambda v: v, x), (3,), 3, [1], (F,), None, (0,), None, (None,)),
    Row("second derivative of a branch",
        lambda p, x: wg.cond(p, lambda: 2 * x, lambda: x), (3,), 6, [2], (T,), None, (0,), (None,), (None,)),
    Row("None in both branches",
        lambda p, x: wg.cond(p, lambda: (x * x, None), lambda: (x, None)), (3,), (9, None), [6], (T,)),
    Row("nan in the branch not taken", lambda x: wg.cond(x > 0, lambda: wg.sqrt(x), lambda: 2 * x), (-1,), -2, [2]),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 1.0]), (3,), 9, [6], (0,)),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 1.0]), (3,), 15, [5], (1,)),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 1.0]), (3,), 1, [0], (2,), [None]),
    # out of range: the last (decision 18)
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 1.0]), (3,), 1, [0], (-1,), [None]),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 1.0]), (3,), 1, [0], (7,), [None]),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 100 * x]), (3,), 300, [100], (2,)),
    Row("switch", lambda i, x: wg.switch(i, [lambda: x * x, lambda: 5 * x, lambda: 100 * x]), (3,), 300, [100], (-1,)),
    Row("second derivative of a switch",
        lambda i, x: wg.switch(i, [lambda: x * x * x, lambda: 5 * x]), (3,), 27, [27], (0,), None, (18, 6)),
    Row("second derivative of a switch",
        lambda x: wg.cond(x < 1, lambda: 2 * x, lambda: wg.cond(x < 10, lambda: x * x, lambda: x)), (3,), 9, [6]),
    Row("a branch in a loop", even_and_odd, (2,), 14, [17]),
    Row("a branch in a loop", third_order_mix, (2,), 64, [192], (), None, (480, 960)),
    Row("a loop in a branch", lambda p, x: wg.cond(p, lambda: times(2, SQUARES)(x), lambda: x), (2,), 16, [32], (T,)),
    Row("a loop in a branch", lambda p, x: wg.cond(p, lambda: times(2, SQUARES)(x), lambda: x), (2,), 2, [1], (F,)),
]  # fmt: skip
LOOPS = [
    Row("squares until eight",
        lambda x: wg.while_loop(lambda v: v < 8, SQUARES, x), (2,), 16, [32], (), None, (48, 48, 24)),
    Row("two loop variables", two_variables("first"), (5, 3), 120, [39, 55]),
    Row("two loop variables", two_variables("second"), (5, 3), 23, [4, 6]),
    Row("two loop variables", two_variables("both"), (5, 3), (120, 23), [43, 61]),
    Row("no iteration", lambda x, w: wg.while_loop(lambda v: v < 8, lambda v: v * w, x), (100, 3), 100, [1, 0]),
    Row("an invariant", lambda x, y: wg.while_loop(lambda v: v * y < 54, lambda v: v * y, x), (2, 3), 18, [9, 12]),
    Row("an invariant", lambda x, y: wg.while_loop(lambda v: v < 8, lambda v: v * y, x), (2, 3), 18, [9, 12]),
    # upstream's eager tape gives None; a capture of a loop is connected always, its condition included (decision 5)
    Row("used in the condition only",
        lambda x, y: wg.while_loop(lambda v: v + y < 9, lambda v: 3 * v, x), (1, 2), 9, [9, 0]),
    Row("used in the condition only",
        lambda v, x: wg.while_loop(lambda u: u < x, lambda u: 2 * u, v), (1, 5), 8, [8, 0]),
    Row("used to no effect",
        lambda x, y: wg.while_loop(lambda v: v < 8, lambda v: (v * y, v * v)[1], x), (2, 3), 16, [32, 0]),
    Row("passed through", passed_through("both"), (2, 3), (54, 3), [27, 55]),
    Row("passed through", passed_through("second"), (2, 3), 3, [0, 1]),
    Row("overwritten", lambda x: wg.while_loop(lambda v: v < 8, lambda v: 9.0, x), (2,), 9, [0]),
    Row("overwritten", lambda x: wg.while_loop(lambda v: v < 8, lambda v: 9.0, x), (20,), 20, [1]),
    Row("stopped in the body", times(3, lambda v: sg(v) * 2), (2,), 16, [0]),
    Row("stopped in the body", times(0, lambda v: sg(v) * 2), (2,), 2, [1]),
    Row("stopped in the body", times(3, lambda v, w: v * sg(w)), (2, 3), 54, [27, 0]),
    Row("stopped in the body", times(3, lambda v, w: sg(v) * w), (2, 3), 54, [0, 18]),
    Row("integer loop variables", lambda n, x: counted(x, n)[1], (2,), 32, [80], (4,)),
    Row("integer loop variables", lambda n, x: counted(x, n), (2,), (4, 32), [80], (4,)),
    # integers are constants: upstream's float zero for an integer result is None here (decisions 2, 5)
    Row("integer loop variables", lambda n, x: counted(x, n)[0], (2,), 4, [None], (4,)),
    Row("booleans and strings",
        lambda x: wg.while_loop(lambda b, s, v: b, lambda b, s, v: (v * v < 8, s, v * v), (True, "a", x)),
        (2,), (False, "a", 16), [32]),
    Row("the counter as a factor",
        lambda x: wg.fori_loop(0, 4, lambda i, s: s + wg.astype(i, float) * x, x * 0), (2,), 12, [6]),
    Row("a float counter",
        lambda n, x: wg.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x), (0.0, x))[1], (3, 2), 16, [0, 32]),
    Row("a float counter", lambda n: wg.while_loop(lambda i: i < n, lambda i: i + 1, 0.0), (3,), 3, [0]),
    Row("an unrelated loop variable", unrelated, (2, 5), 8, [0, 1]),
    Row("swapped", swapped, (2, 5), 5, [0, 1]),
    Row("one tensor in two places",
        lambda x: wg.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b), (0, x, x))[1], (2,), 16, [32]),
    Row("one tensor in two places", lambda x: times(3, lambda v: v * x)(x), (2,), 16, [32]),
    Row("a condition of nan", nan_condition, (2,), 2, [1]),
    Row("a gradient in the body", gradient_inside, (2,), 432, [864]),
    Row("a gradient in the body", tape_inside, (2,), 432, [864]),
    Row("loops in a loop", polynomial, (3,), 364, [547], (), None, (668,)),
    Row("a condition of one element",
        lambda x: wg.while_loop(lambda v: v < 40, lambda v: v * 9, x), ([[5]],), [[45]], [[[9]]]),
    Row("structures",
        lambda x, y: wg.while_loop(lambda d: d["v"] < 8, lambda d: {"v": d["v"] * y}, {"v": x})["v"], (2, 3), 18, [9, 12]),
    Row("structures", lambda x: wg.while_loop(lambda v: v < 8, lambda v: [v * v], [x]), (2,), [16], [32]),
    Row("maximum_iterations", fixed_by(3), (2, 3), 54, [27, 54]),
    Row("maximum_iterations", lambda n, v, y: fixed_by(n)(v, y), (2, 3), 54, [27, 54], (3,)),
    Row("maximum_iterations", fixed_by(0), (2, 3), 2, [1, 0]),
    Row("maximum_iterations", lambda n, v, y: fixed_by(n)(v, y), (2, 3), 2, [1, 0], (np.int64(0),)),
    Row("a growing shape", grown, ([2],), [2, 4, 4, 8, 4, 8, 8, 16], [[27]]),
    Row("an array written", written, (2,), [1, 2, 4, 8], [17]),
    Row("an array written", lambda ta: read(ta), ([1, 2, 3],), 14, [[2, 4, 6]]),
    Row("an array written", half_written, (2,), [2, 4, 0, 0], [5]),
    Row("map and scan", lambda e, p: wg.map(lambda v: p * v * v, e), ([1, 2, 3], 2), [2, 8, 18], [[4, 8, 12], 14]),
    Row("map and scan",
        lambda e, v: wg.scan(lambda a, x: (a * x, a * x), v, e)[1], ([1, 2, 3], 1), [1, 2, 6], [[9, 4, 2], 9]),
    Row("map and scan", lambda e, v: wg.scan(lambda a, x: (a * x, None), v, e)[0], ([2, 3, 4, 5, 6], 2), 1440,
        [[720, 480, 360, 288, 240], 720]),
    Row("gathered rows", gathered, ([1, 2, 3],), 12, [[2, 2, 2]]),
    Row("gathered rows", lambda x: wg.take(times(2, SQUARES)(x), np.array([0]), axis=0), ([2],), [16], [[32]]),
]  # fmt: skip
ROWS = [*BRANCHES, *LOOPS]


# -- interfaces ------------------------------------------------------------------------------------------------------------


def floats(result: Any) -> list[Any]:
    """The floating tensors of a result."""
    return [x for x in wg.tree.leaves(result) if isinstance(x, wg.Tensor) and x.dtype.kind == "f"]


def total(f: Program, given: tuple[Any, ...]) -> Program:
    """f as a function of its sources alone that returns one tensor."""

    def run(*xs: Any) -> Any:
        terms = [wg.sum(x) for x in floats(f(*given, *xs))]
        return sum(terms[1:], start=terms[0]) if terms else 0.0

    return run


def layered(f: Program) -> Program:
    return wg.function(wg.function(f))


def functional(f: Program, given: tuple[Any, ...], xs: tuple[Any, ...]) -> Any:
    return wg.grads(total(f, given), unconnected_gradients="none")([*xs])


def symbolic(f: Program, given: tuple[Any, ...], xs: tuple[Any, ...]) -> Any:
    return wg.gradients(floats(f(*given, *xs)), [*xs])


def taped(f: Program, given: tuple[Any, ...], xs: tuple[Any, ...]) -> Any:
    with wg.GradientTape() as tape:
        tape.watch([*xs])
        y = floats(f(*given, *xs))
    return tape.gradient(y, [*xs]) if y else [None] * len(xs)


def inside(interface: Any, layers: Callable[[Program], Program]) -> Any:
    """An interface that is opened in a trace."""
    return lambda f, given, xs: layers(lambda g, x: interface(f, g, x))(given, xs)


def over(interface: Any, layers: Callable[[Program], Program]) -> Any:
    """An interface that looks at a traced function from outside."""
    return lambda f, given, xs: interface(layers(f), given, xs)


EAGER = {"functional": functional, "tape": taped}
TRACED = {
    "functional inside": inside(functional, wg.function), "functional inside two": inside(functional, layered),
    "functional over": over(functional, wg.function), "functional over two": over(functional, layered),
    "gradients": inside(symbolic, wg.function), "gradients inside two": inside(symbolic, layered),
    "gradients over two": inside(over(symbolic, layered), wg.function),
    "tape inside": inside(taped, wg.function), "tape inside two": inside(taped, layered),
    "tape over": over(taped, wg.function), "tape over two": over(taped, layered),
}  # fmt: skip
INTERFACES = {**EAGER, **TRACED}


def tensors(values: Any) -> tuple[Any, ...]:
    return (*[wg.tensor(np.asarray(v, float)) for v in values],)


def constants(values: Any) -> tuple[Any, ...]:
    return (*[wg.tensor(np.asarray(v)) for v in values],)


def plain(result: Any) -> Any:
    """Tensors as numbers and lists, structures as they are."""
    if isinstance(result, (wg.Tensor, np.ndarray, np.generic)):
        return np.asarray(result.numpy() if isinstance(result, wg.Tensor) else result).tolist()
    if isinstance(result, (list, tuple)):
        return type(result)(map(plain, result))
    return result


def ids(rows: list[Row]) -> list[str]:
    return [f"{row.name}-{index}" for index, row in enumerate(rows)]


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_values(row: Row) -> None:
    """Eagerly, traced and under two layers."""
    given, xs = constants(row.given), tensors(row.xs)
    for f in (row.f, wg.function(row.f), layered(row.f)):
        assert plain(f(*given, *xs)) == row.value


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_gradients(row: Row, interface: str) -> None:
    """The sources' gradients, None where nothing is connected."""
    wanted = row.eager if row.eager is not None and interface in EAGER else row.grads
    assert plain(INTERFACES[interface](row.f, constants(row.given), tensors(row.xs))) == wanted


HIGHER = [row for row in ROWS if row.higher]


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("row", HIGHER, ids=ids(HIGHER))
def test_higher_orders(row: Row, interface: str) -> None:
    """The gradient of the gradient, through the same interface at each level."""
    given, xs = constants(row.given), tensors(row.xs)
    is_functional = interface.startswith("functional")
    wanted = row.higher if is_functional or row.ends is None else row.ends
    if interface == "tape" and row.taped is not None:
        wanted = row.taped
    for order, expected in enumerate(wanted, 2):
        assert plain(INTERFACES[interface](derivative(row.f, order - 1, is_functional), given, xs)) == [expected]


def derivative(f: Program, order: int, is_functional: bool) -> Program:
    """The derivative of a function of one number, by the functional API or by tapes."""
    if not order:
        return f
    before = derivative(f, order - 1, is_functional)
    interface = functional if is_functional else taped
    return lambda *args: interface(before, args[:-1], args[-1:])[0]


# -- rows that no table holds -----------------------------------------------------------------------------------------


def everywhere(f: Program, *args: Any) -> list[Any]:
    """What a function of tensors gives eagerly, traced and under two layers."""
    return [plain(run(*args)) for run in (f, wg.function(f), layered(f))]


def traced_only(f: Program, *args: Any) -> list[Any]:
    return [plain(run(*args)) for run in (wg.function(f), layered(f))]


ONE, TWO, THREE = (wg.tensor(float(n)) for n in (1, 2, 3))


def pulled(f: Program, sources: Any) -> Any:
    """The gradients of what f returns, by a tape, for tensors and Variables."""
    with wg.GradientTape() as tape:
        tape.watch([s for s in wg.tree.leaves(sources) if isinstance(s, wg.Tensor)])
        y = f()
    return tape.gradient(y, sources)


def test_no_gradient_to_the_predicate() -> None:
    """A boolean is a constant."""
    f = lambda x: wg.gradients(wg.cond(x > 1, lambda: x * x, lambda: x), [x > 1])
    assert traced_only(f, TWO) == [[None]] * 2
    given = lambda p, x: wg.gradients(wg.cond(p, lambda: x * x, lambda: x), [p])
    assert traced_only(given, wg.tensor(True), TWO) == [[None]] * 2


def test_a_python_bool_is_a_predicate() -> None:
    """Upstream refuses one; here it is known, so that the branch runs as plain Python (decision 18)."""
    assert everywhere(lambda x: wg.cond(True, lambda: x * x, lambda: x), TWO) == [4] * 3
    assert everywhere(lambda x: wg.cond(np.bool_(False), lambda: x * x, lambda: x), TWO) == [2] * 3


@pytest.mark.parametrize(("p", "wanted"), [(True, [[4, 6], [0, 0]]), (False, [[0, 0], [3, 3]])])
def test_variables_of_branches(p: bool, wanted: Any) -> None:
    """Each branch reads a Variable of its own; one that none reads is not connected."""
    v, w, unused = (wg.Variable(np.array([2.0, 3.0])) for _ in range(3))
    run = lambda p: pulled(lambda: wg.cond(p, lambda: v * v, lambda: 3 * w), [v, w, unused])
    assert traced_only(run, wg.tensor(p)) == [[*wanted, None]] * 2
    # an eager run reads the Variable of the branch taken only (decision 6)
    eager = [wanted[0], None, None] if p else [None, wanted[1], None]
    assert plain(run(wg.tensor(p))) == eager
    constant = lambda p: pulled(lambda: wg.cond(p, lambda: v * 2, lambda: wg.ones(2)), [v, unused])
    assert traced_only(constant, wg.tensor(False)) == [[[0, 0], None]] * 2


def test_zeros_of_a_variable() -> None:
    """Of its shape and dtype, whatever the default is."""
    for dtype in ("float32", "float64"):
        v = wg.Variable(np.ones((2, 3), dtype))
        f = lambda p: pulled(lambda: wg.cond(p, lambda: wg.sum(v), lambda: wg.sum(v) * 0 + 7), v)  # noqa: B023  # called before v changes
        g = lambda p: pulled(lambda: wg.cond(p, lambda: wg.sum(v * 1), lambda: wg.zeros((), v.dtype)), v)  # noqa: B023  # called before v changes
        for run in (wg.function(f), layered(f), wg.function(g), layered(g)):
            found = run(wg.tensor(False))
            assert (found.dtype, found.numpy().tolist()) == (np.dtype(dtype), np.zeros((2, 3)).tolist())


@pytest.mark.parametrize("layers", ["eager", "one", "two"])
def test_an_assignment_in_a_branch(layers: str) -> None:
    """The gradient is of the read behind it; decision 21: what the branch taken writes stays."""
    v = wg.Variable(np.array([1.0, 2.0]))

    def branch() -> Any:
        v.assign_add(np.ones(2))
        return v * 1.0

    def run(p: Any) -> Any:
        with wg.GradientTape() as tape:
            y = wg.cond(p, branch, lambda: v * 2)
        return y, tape.gradient(y, v)

    run = {"eager": run, "one": wg.function(run), "two": layered(run)}[layers]
    assert plain(run(wg.tensor(True))) == ([2, 3], [1, 1])
    assert plain(v.value) == [2, 3]
    assert plain(run(wg.tensor(False))) == ([4, 6], [2, 2])
    assert plain(v.value) == [2, 3]


def test_zeros_on_request() -> None:
    """Zeros on request, beside an x that is connected."""
    f = lambda p, x, y: wg.gradients(wg.cond(p, lambda: 2 * x, lambda: x), [x, y], unconnected_gradients="zero")
    assert traced_only(f, wg.tensor(True), ONE, wg.tensor([1.0, 2.0])) == [[2, [0, 0]]] * 2


def test_a_gradient_asked_for_in_a_branch() -> None:
    """Of an outside y: 6; of a y of the branch: 27, whose own gradient is 18."""

    def outside(p: Any, x: Any) -> Any:
        y = x * x
        return wg.cond(p, lambda: wg.gradients(y, [x])[0], lambda: 0.0)

    def inside_it(p: Any, x: Any) -> Any:
        value = wg.cond(p, lambda: wg.gradients(x * x * x, [x])[0], lambda: 0.0)
        return value, wg.gradients(value, [x])[0]

    functional_ = lambda p, x: wg.cond(p, lambda: wg.grad(lambda z: z * z * z)(x), lambda: 0.0)
    assert traced_only(outside, wg.tensor(True), THREE) == [6] * 2
    assert traced_only(inside_it, wg.tensor(True), THREE) == [(27, 18)] * 2
    assert everywhere(functional_, wg.tensor(True), THREE) == [27] * 3
    assert everywhere(lambda p, x: wg.grad(lambda z: functional_(p, z))(x), wg.tensor(True), THREE) == [18] * 3


@pytest.mark.parametrize("p", [True, False])
def test_rows_through_a_branch(p: bool) -> None:
    """The values of the gradient where one branch gathers and the other is dense."""
    rows = lambda p, w: wg.cond(p, lambda: wg.sum(wg.take(w, np.array([0, 1]), axis=0)), lambda: wg.sum(5 * w[:2]))
    w, wanted = wg.ones((3,)), [1, 1, 0] if p else [5, 5, 0]
    run = lambda p, w: wg.grad(lambda w: rows(p, w))(w)
    assert everywhere(run, wg.tensor(p), w) == [wanted] * 3


@pytest.mark.parametrize(
    ("first", "second", "p", "values", "indices"),
    [
        ("rows", "dense", True, [1, 1], [0, 0]),
        ("rows", "dense", False, [5, 5, 0], [0, 1, 2]),
        ("rows", "rows", True, [1, 1], [0, 0]),
        ("rows", "none", False, [], []),
    ],
)
def test_rows_stay_rows(first: str, second: str, p: bool, values: list[float], indices: list[int]) -> None:
    """With sparse=True rows come out, all of them where the branch taken is dense."""
    branches: dict[str, Any] = {
        "rows": lambda w: wg.take(w, np.array([0, 0]), axis=0), "dense": lambda w: 5 * w[:2],
        "none": lambda w: wg.ones((2,)),
    }  # fmt: skip

    @wg.function
    def gradient(p: Any, w: Any) -> Any:
        y = wg.cond(p, lambda: branches[first](w), lambda: branches[second](w))
        found = wg.gradients(y, [w], sparse=True)[0]
        return found.values, found.indices

    found = gradient(wg.tensor(p), wg.ones((3,)))
    assert (found[0].numpy().tolist(), found[1].numpy().tolist()) == (values, indices)


def test_other_derivatives_of_loops_and_branches() -> None:
    """Forward mode through a while, and the Jacobian of a loop; the Jacobian of a gradient through conds."""
    power = lambda x: wg.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v), (0, x))[1]
    f = lambda x: wg.jvp(power, (x,), (1.0,))
    assert [float(t) for t in f(2.0)] == [float(t) for t in wg.function(f)(2.0)] == [256, 1024]
    twice = lambda x: wg.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * v), (0, x))[1]
    for jacobian in (wg.jacobian(twice), wg.function(wg.jacobian(twice)), wg.jacobian(wg.function(twice))):
        np.testing.assert_array_equal(jacobian(np.array([1.0, 2.0])), [[4, 0], [0, 32]])
    nested = lambda x: wg.cond(x[0] > 0, lambda: wg.cond(x[1] > 0, lambda: x**3, lambda: x), lambda: x * 2).sum()
    gradient = wg.function(wg.grad(nested))
    np.testing.assert_array_equal(wg.jacobian(gradient)(np.array([1.0, 2.0])), [[6, 0], [0, 12]])


def test_twice_from_one_tape() -> None:
    """A persistent tape gives the gradient of a cond twice."""

    def run(p: Any, x: Any) -> Any:
        with wg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = wg.cond(p, lambda: x * x * x, lambda: x)
        return tape.gradient(y, x), tape.gradient(y, x)

    assert everywhere(run, wg.tensor(True), THREE) == [(27, 27)] * 3
    assert plain(run(wg.tensor(True), THREE)) == (27, 27)


def test_a_custom_gradient_with_a_variable_in_a_branch() -> None:
    """x gets dy * w, w gets dy * x (where upstream fails), in branches, loops and functions."""
    w = wg.Variable(3.0)

    @wg.custom_gradient
    def scaled(x: Any) -> Any:
        def pull(dy: Any, variables: Any = None) -> Any:
            return dy * w, [dy * x]

        return x * w, pull

    branch = lambda p, x: pulled(lambda: wg.cond(p, lambda: scaled(x), lambda: x), [x, w])
    loop = lambda x: pulled(lambda: times(2, scaled)(x), [x, w])
    assert everywhere(branch, wg.tensor(True), TWO) == [[3, 2]] * 3
    assert everywhere(loop, TWO) == [[9, 12]] * 3
    assert plain(pulled(lambda: layered(scaled)(TWO), [TWO, w])) == [3, 2]


def test_integers_have_no_gradient() -> None:
    """With respect to an integer bound: None."""
    f = lambda n, x: wg.gradients(counted(x, n)[1], [n])
    assert traced_only(f, wg.tensor(4), TWO) == [[None]] * 2
    only = lambda n: wg.gradients(wg.while_loop(lambda i: i < 9, lambda i: i + 1, n), [n])
    assert traced_only(only, wg.tensor(4)) == [[None]] * 2


def test_an_outer_gradient_in_the_body() -> None:
    """Of an outside y with respect to an outside x; with respect to the initial value nothing is connected."""

    def outer(x: Any) -> Any:
        y = x * x
        return wg.fori_loop(0, 2, lambda i, v: v + wg.gradients(y, [x])[0], x)

    assert traced_only(lambda x: (outer(x), *wg.gradients(outer(x), [x])), TWO) == [(10, 5)] * 2

    def initial(x: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            found = wg.gradients(v * v, [x])[0]
            return v if found is None else v + found

        return wg.fori_loop(0, 2, step, x)

    assert traced_only(initial, TWO) == [2] * 2


def test_a_tape_of_a_loop_inside_a_loop() -> None:
    """grad-while-grad-while, against differences."""

    def f(x: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            slope = wg.grad(lambda z: wg.while_loop(lambda u: u < 9, lambda u: u * z * 1.5, z))(v)
            return v + 0.01 * wg.sin(slope)

        return wg.fori_loop(0, 3, step, x)

    x, h = 1.3, 1e-6
    wanted = (f(x + h) - f(x - h)) / (2 * h)
    for run in (f, wg.function(f), layered(f)):
        # central differences: their own errors are about 3e-9 (truncation) and 1e-9 (rounding)
        np.testing.assert_allclose(wg.grad(run)(x), wanted, rtol=1e-7)
        np.testing.assert_allclose(wg.function(wg.grad(run))(x), wanted, rtol=1e-7)


def test_structures_without_tensors() -> None:
    """No loop variables at all."""
    assert wg.while_loop(lambda: False, list, []) == []
    assert wg.function(lambda: wg.while_loop(lambda: False, list, []))() == []


def test_python_loops_under_an_eager_tape() -> None:
    """A Python loop gives the numbers of a while_loop."""

    def f(x: Any) -> Any:
        while x < 8:
            x = x * x
        return x

    assert plain(pulled(lambda: f(TWO), [TWO])) == plain(
        pulled(lambda: wg.while_loop(lambda v: v < 8, SQUARES, TWO), [TWO])
    )


def test_rows_at_a_loops_result() -> None:
    """What a body gathers of an invariant, and of a Variable, comes out dense."""
    v = wg.Variable(np.array([1.0, 2.0, 3.0]))
    assert everywhere(lambda: pulled(lambda: gathered(v.value), v)) == [[2, 2, 2]] * 3


@pytest.mark.parametrize("layers", ["eager", "one", "two"])
def test_variables(layers: str) -> None:
    """Read, assigned and as a start."""
    wrap: Any = {"eager": lambda f: f, "one": wg.function, "two": layered}[layers]
    v = wg.Variable(3.0)
    run = lambda x: (y := wg.fori_loop(0, 2, lambda i, y: y * v, x), y)[1]
    assert plain(wrap(lambda x: pulled(lambda: run(x), [x, v]))(TWO)) == [9, 12]

    def assigning(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            v.assign_add(1.0)
            return y * v

        return wg.fori_loop(0, 2, step, x)

    def both(x: Any) -> Any:
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = assigning(x)
        return y, tape.gradient(y, [x, v])

    assert plain(wrap(both)(TWO)) == (40, [20, 18])
    assert plain(v.value) == 5
    w = wg.Variable(np.float64(1.0))
    found = wrap(lambda n, x: pulled(lambda: wg.fori_loop(0, n, lambda i, y: y * w, x), w))(wg.tensor(0), TWO)
    assert (found.dtype, plain(found)) == (np.float64, 0)
    u = wg.Variable(1.0)
    assert plain(wrap(lambda: pulled(lambda: wg.fori_loop(0, 2, lambda i, y: y * 2, u.value), u))()) == 4


def test_stopped_tensors_inside_a_region() -> None:
    """An outer tensor that a branch or a body uses, in `stop_gradients`."""

    def branch(p: Any, x: Any) -> Any:
        u = x * x
        z = wg.cond(p, lambda: u * x, lambda: x)
        return wg.gradients(z, [x], stop_gradients=[u]), wg.gradients(z, [x])

    def loop(x: Any) -> Any:
        u = x * x
        z = wg.fori_loop(0, 2, lambda i, v: v * u, x)  # x u^2
        return wg.gradients(z, [x], stop_gradients=[u]), wg.gradients(z, [x])

    assert traced_only(branch, wg.tensor(True), THREE) == [([9], [27])] * 2
    assert traced_only(loop, TWO) == [([16], [80])] * 2


def test_tapes_and_functions() -> None:
    """A tape in a function, a function under a tape, and a loop under an eager tape; what did not run.

    An eager cond knows the branch taken only (decision 6); what a loop uses is connected always (decision 5), where
    upstream's eager tape gives None for what the condition alone reads.
    """
    cube = lambda x: x * x * x
    assert plain(wg.function(lambda x: pulled(lambda: cube(x), x))(TWO)) == 12
    assert plain(pulled(lambda: wg.function(cube)(TWO), TWO)) == 12
    assert plain(pulled(lambda: wg.while_loop(lambda v: v < 8, SQUARES, TWO), TWO)) == 32
    branch = lambda p, x: pulled(lambda: wg.cond(p, lambda: 7.0 * TWO, lambda: x), [x])
    assert plain(branch(True, ONE)) == [None]
    assert plain(wg.function(branch)(wg.tensor(True), ONE)) == [0]
    limit = lambda x: pulled(lambda: wg.while_loop(lambda v: v < x, SQUARES, TWO), [x])
    assert everywhere(limit, THREE) == [[0]] * 3


# -- what is saved ----------------------------------------------------------------------------------------------------

BODIES: dict[str, tuple[Program, int]] = {  # the number of stacks that TensorFlow makes: the ceiling
    "v*2.0": (lambda v: v * 2.0, 1), "v*v": (SQUARES, 1), "v+1": (lambda v: v + 1, 0), "sin": (wg.sin, 1),
    "exp": (wg.exp, 1), "tanh": (wg.tanh, 1), "exp(sin v)": (lambda v: wg.exp(wg.sin(v)), 2),
    "v*v*v": (lambda v: v * v * v, 2), "relu": (wg.nn.relu, 1), "sqrt": (wg.sqrt, 1), "v**2": (lambda v: v**2, 2),
    "v*reduce_sum(v)": (lambda v: v * wg.sum(v), 2),
}  # fmt: skip
OURS = {name: count for name, (_, count) in BODIES.items()} | {"v*2.0": 0, "v**2": 1}  # constants are made anew


def node(op_name: str) -> Any:
    builder = STATE.builder
    assert builder is not None
    return next(n for n in builder.nodes if n.op.name == op_name)


@pytest.mark.parametrize("checkpoint", ["all", "auto", "sqrt", 2])
@pytest.mark.parametrize("name", BODIES)
def test_what_a_step_saves(name: str, checkpoint: Any) -> None:
    """What backward reads, no constant and no invariant; a second call adds nothing."""
    body, ceiling = BODIES[name]

    def f(x: Any) -> Any:
        y = wg.fori_loop(0, 3, lambda i, v: body(v), x, checkpoint=checkpoint)
        before = len(node("loop").outputs)
        for _ in range(2):
            wg.gradients(y, [x])
            stage = node("loop").attrs[-1].stages[-1]
            assert len(node("loop").attrs[-1].stages) == 1
            assert len(set(stage.reading.saved)) == OURS[name] <= ceiling
            # stacks, or one history that holds that much a step
            assert len(node("loop").outputs) - before == (OURS[name] if checkpoint == "all" else 1)
        return y

    wg.function(f).trace(np.array([0.5, 0.6]))


def test_a_polynomial() -> None:
    """x*x*y+1 from 4 to 6 results upstream, and 6 after the second call."""

    def f(x: Any, y: Any) -> Any:
        r = wg.fori_loop(0, 3, lambda i, v: v * v * y + 1, x, checkpoint="all")
        counts = [len(node("loop").outputs)]
        for _ in range(2):
            wg.gradients(r, [x, y])
            counts.append(len(node("loop").outputs))
        assert counts[1] - counts[0] <= 2
        assert counts[2] == counts[1]
        return r

    wg.function(f).trace(1.0, 2.0)


def test_an_invariant_is_not_saved() -> None:
    """v*w with an outside w saves the state alone; w itself and what is made of it are there already."""

    def f(x: Any, w: Any) -> Any:
        r = wg.fori_loop(0, 3, lambda i, v: v * wg.sin(w), x, checkpoint="all")
        wg.gradients(r, [x])
        assert node("loop").attrs[-1].stages[-1].reading.saved == ()
        wg.gradients(r, [x, w])
        assert len(node("loop").attrs[-1].stages[-1].reading.saved) == 1
        return r

    wg.function(f).trace(1.0, 2.0)


def test_what_a_branch_saves() -> None:
    """x*(y+1) has one result more once a gradient is asked for, and no more later; x*2.0 none at all.

    A branch that does not fill a slot leaves it empty.
    """

    def f(p: Any, x: Any, y: Any) -> Any:
        r = wg.cond(p, lambda: x * (y + 1), lambda: x * 2.0)
        switch, counts = node("switch"), [len(node("switch").outputs)]
        for _ in range(2):
            wg.gradients(r, [x, y])
            counts.append(len(switch.outputs))
        assert counts == [1, 2, 2]
        assert [n.op.name for n in switch.attrs[-1].programs[1].graph.nodes].count("absent") == 1
        return r

    def linear(p: Any, x: Any) -> Any:
        r = wg.cond(p, lambda: x * 2.0, lambda: x * 3.0)
        wg.gradients(r, [x])
        assert len(node("switch").outputs) == 1
        return r

    wg.function(f).trace(np.bool_(True), 1.0, 2.0)
    wg.function(linear).trace(np.bool_(True), 1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
def test_a_list_of_numbers_is_as_many_loop_variables(wrap):
    two = wrap(lambda: wg.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v + i), [0, 0]))
    assert [int(x) for x in two()] == [5, 10]
    assert type(two()) is list
    for step in (lambda i: i + 1, lambda i: [i + 1], lambda i: (i + 1,)):
        assert [int(x) for x in wrap(lambda step=step: wg.while_loop(lambda i: i < 5, step, [0]))()] == [5]
    assert int(wrap(lambda: wg.ops.while_loop(lambda i: i < 5, lambda i: i + 1, [0]))()[0]) == 5
    nested = wrap(lambda: wg.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, [1.0, 2.0]]))
    np.testing.assert_array_equal(nested()[1], [8, 16])  # inside, a list of numbers is one array


def _rows_or_all(x: Any, i: Any) -> Any:
    return wg.cond(wg.sum(x) > 1.0, lambda: wg.sum(x[i] ** 2) * wg.ones(2), lambda: x[:2] ** 2)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
def test_branches_whose_gradients_are_different_numbers_of_rows_are_batched(wrap):
    def f(x, i):
        return wg.sum(_rows_or_all(x, i))

    xs, rows = np.array([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3], [2.0, 1.0, -0.5]]), np.array([[0], [1], [2]])
    one_by_one = np.stack([wg.grad(f)(x, i) for x, i in zip(xs, rows, strict=True)])
    np.testing.assert_allclose(wrap(wg.vmap(wg.grad(f)))(xs, rows), one_by_one, rtol=1e-13)
    np.testing.assert_allclose(wrap(wg.vmap(wg.grad(f), in_axes=(0, None)))(xs, rows[1]), np.stack(
        [wg.grad(f)(x, rows[1]) for x in xs]
    ), rtol=1e-13)  # fmt: skip
    for x in xs:  # the columns of a Hessian are a batch, too
        slopes = wrap(wg.hessian(lambda x: f(x, np.array([0, 0, 1]))))(x)
        wanted = np.diag([8.0, 4.0, 0.0] if x.sum() > 1 else [2.0, 2.0, 0.0])
        np.testing.assert_allclose(slopes, wanted, rtol=1e-13)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
def test_what_is_given_to_a_loop_or_a_branch_is_connected_in_forward_mode(wrap):
    x = np.ones((1, 2))

    def beside(x):
        start = (0, x, np.ones((2, 1)))
        return wg.while_loop(lambda i, a, b: i < 2, lambda i, a, b: (i + 1, a, b * 2.0), start)[2]

    def beside_recomputed(x):
        loop = wg.recompute_grad(
            lambda c: wg.while_loop(lambda i, a, b: i < 2, lambda i, a, b: (i + 1, a, b * c), (0, x, c))[2]
        )
        return loop(np.ones((2, 1)))

    def in_a_branch(x):
        return wg.cond(wg.sum(x) > 0.0, lambda v: np.ones((2, 1)), lambda v: np.zeros((2, 1)), x)

    for f in (beside, beside_recomputed, in_a_branch):
        np.testing.assert_array_equal(wrap(lambda x, f=f: wg.jvp(f, (x,), (x,))[1])(x), np.zeros((2, 1)))
        for mode in ("reverse", "forward", "auto"):
            np.testing.assert_array_equal(wrap(wg.jacobian(f, mode=mode))(x), np.zeros((2, 1, 1, 2)))


def test_an_index_that_only_an_untaken_branch_has_is_no_error():
    def f(x, last):
        return wg.cond(wg.sum(x) > 1.0, lambda: x[last], lambda: x[0])

    for last in (7, -7):
        xs = np.array([[0.1, 0.2], [0.3, 0.4]])
        np.testing.assert_array_equal(wg.vmap(f, in_axes=(0, None))(xs, last), [0.1, 0.3])
        np.testing.assert_array_equal(wg.vmap(lambda x, last=last: f(x, last))(xs), [0.1, 0.3])
        np.testing.assert_array_equal(wg.vmap(wg.grad(lambda x, last=last: f(x, last)))(xs), [[1.0, 0.0]] * 2)
        one = wg.function(lambda x, last=last: f(x, last))
        assert one(xs[0]) == 0.1
        for taken, at in ((one, xs[0]), (wg.vmap(lambda x, last=last: f(x, last)), xs)):
            with pytest.raises(IndexError, match=f"index {last}"):
                taken(at + 2.0)
    with pytest.raises(IndexError, match="index 7"):  # not inside a branch: when it is traced
        wg.function(lambda x: x[7]).trace(np.ones(2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_python_number_that_a_branch_or_step_gives_stays_weak(dtype: Any) -> None:
    def program(x: Any) -> Any:
        chosen = wg.cond(wg.sum(x) > 0, lambda: 3.0, lambda: 2.0)
        switched = wg.switch(wg.argmax(x), [lambda v: v[0], lambda v: 0.5], x)
        stacked = wg.scan(lambda c, e: (c + 1, (2.5, c)), 1.5, x)[1]
        return x * chosen, x * switched, x * stacked[0], x * wg.map(lambda e: 2.5, x)

    x = np.arange(1, 4).astype(dtype)
    eager, compiled = program(wg.tensor(x)), wg.function(program)(x)
    for found, other in zip(eager, compiled, strict=True):
        assert found.dtype == other.dtype == dtype
        np.testing.assert_array_equal(found, other)
