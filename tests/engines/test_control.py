"""Branches and loops on every engine: the rows of tests/control/test_values.py, and random programs, all as NumPy's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.control.test_values import ROWS, Row, ids, total
from tests.control.test_varying_shapes import PROGRAMS as VARYING
from tests.control.test_varying_shapes import outcome
from tests.support.control_checks import choices_of, eager, found_by, random_point, traced
from tests.support.control_programs import random_program
from tests.support.engines import each_program, every_users_engine, native, ndarray, skip_what_it_cannot
from wengert._core.state import STATE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def functional(row: Row) -> Callable[..., Any]:
    """The value of a row's program and its gradients, as a function of its predicates and sources."""

    def run(given: Any, xs: Any) -> Any:
        return wg.value_and_grads(total(row.f, given), unconnected_gradients="zero")(xs)

    return run


@every_users_engine
@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_a_row(row: Row, engine: str) -> None:
    skip_what_it_cannot(engine, row.name)
    sources = [np.asarray(x, float) for x in row.xs]
    given = (*map(np.asarray, row.given),)
    on_numpy = (*map(wg.tensor, given),), [*map(wg.tensor, sources)]
    ours = (*[wg.tensor(native(engine, g)) for g in given],), [wg.tensor(native(engine, x)) for x in sources]
    for derive in (functional(row), wg.function(functional(row))):
        want, got = derive(*on_numpy), derive(*ours)
        for a, b in zip([got.value, *got.grads], [want.value, *want.grads], strict=True):
            np.testing.assert_allclose(ndarray(a), ndarray(b), rtol=1e-12, atol=1e-12)


NO_STEPS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: wg.scan(lambda c, _: (c, c), x, None, length=0),
    "scan, backwards": lambda x: wg.scan(lambda c, _: (c, c), x, None, length=0, reverse=True),
    "scan over nothing": lambda x: wg.scan(lambda c, v: (c, v), x, x[:0]),
    "scan that stacks what it captures": lambda x: wg.scan(lambda c, _: (c, x), x * 2.0, None, length=0),
    "scan that swaps": lambda x: wg.scan(lambda c, _: ((c[1], c[0]), {"a": c[0]}), (x, x * 3.0), None, length=0),
    "fori_loop": lambda x: wg.fori_loop(0, 0, lambda i, c: c, x),
    "fori_loop, backwards in time": lambda x: wg.fori_loop(3, 1, lambda i, c: (c[1], c[0]), (x, x * 3.0)),
    "while_loop": lambda x: wg.while_loop(lambda i, c: i < 0, lambda i, c: (i, c), (0, x))[1],
}  # fmt: skip


@every_users_engine
@pytest.mark.parametrize("name", NO_STEPS)
def test_loops_of_no_steps_that_give_back_what_they_got(name: str, engine: str) -> None:
    x = np.array([2.0, 3.0])

    def f(v: Any) -> Any:
        parts = [part for part in wg.tree.leaves(NO_STEPS[name](v)) if not isinstance(part, int)]
        return sum((wg.sum(part * part) for part in parts), start=wg.sum(v))

    wanted = wg.grad(f)(x)
    for way in (wg.grad(f), wg.function(wg.grad(f)), wg.grad(wg.function(f)), wg.jacobian(wg.function(f))):
        np.testing.assert_allclose(ndarray(way(wg.tensor(native(engine, x)))), wanted)
    for made in (NO_STEPS[name], wg.function(NO_STEPS[name])):
        got = wg.tree.leaves(made(wg.tensor(native(engine, x))))
        assert [np.shape(ndarray(a)) for a in got] == [np.shape(a) for a in wg.tree.leaves(NO_STEPS[name](x))]


@every_users_engine
@pytest.mark.parametrize("name", VARYING)
def test_variables_whose_shape_changes(name: str, engine: str) -> None:
    """Compiled, and the gradient of what is compiled: what only a run tells is as on NumPy's arrays, or an error."""
    f = VARYING[name]
    compiled = wg.function(f)
    ways = [(f, compiled), tuple(wg.grad(lambda x, g=g: wg.sum(g(x) ** 2)) for g in (f, compiled))]
    for x in (np.array([3.0]), np.array([3.0, 4.0]), np.array([3.0, 4.0, 5.0])):
        for eager_way, way in ways:
            want = outcome(eager_way, x)
            got = outcome(lambda x, way=way: ndarray(way(wg.tensor(native(engine, x)))), x)
            if want is ValueError or got is ValueError:
                assert want is got
            else:
                np.testing.assert_allclose(got, want, rtol=1e-10)


# the random programs of tests/control/test_programs.py, written for a namespace: here one that makes an engine's arrays
class Namespace:
    """`wg`, whose `asarray` gives tensors of an engine."""

    def __init__(self, engine: str) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(wg, name)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        found = wg.asarray(x, dtype=dtype)
        if isinstance(x, wg.Tensor) or not isinstance(found, wg.Tensor) or STATE.builder is not None:
            return found
        return wg.tensor(native(self.engine, found.numpy()))


@each_program()
def test_a_random_program(engine: str, seed: int) -> None:
    program = random_program(random.Random(seed))
    skip_what_it_cannot(engine, f"program {seed}")
    point = random_point(choices_of(seed))
    want = found_by(eager, program, point)
    for way in (eager, traced):
        namespace = program.namespace()
        f = namespace["make"](Namespace(engine), "float64", "auto")  # XLA keeps all only where a bound is known
        value, (of_x, of_v) = way(f)(*[wg.tensor(native(engine, t.numpy())) for t in point.tensors()])
        for a, b in zip((value, of_x, of_v, namespace["make"].state.value), want, strict=True):
            np.testing.assert_allclose(ndarray(a), b, rtol=1e-10, atol=1e-10, err_msg=program.source)
