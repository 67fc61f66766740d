"""Writes inside loops and branches of ours, beside captured tensors, under tapes and in custom gradients."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

X = np.arange(1.0, 5.0)


def recurrence(x: Any) -> Any:
    a = wnp.zeros(4)
    a[0] = 1.0
    wg.fori_loop(1, 4, lambda i, s: (a.__setitem__(i, a[i - 1] * x[i]), s)[1], 0.0)
    return a


def first_write_inside(x: Any) -> Any:
    a = x * 1.0

    def body(i: Any, s: Any) -> Any:
        s = s + a.sum()
        a[i] = s
        return s

    wg.fori_loop(0, 3, body, 0.0)
    return a


def view_read_before(x: Any) -> Any:
    a = x * 1.0
    r = a[1:3]

    def body(i: Any, s: Any) -> Any:
        s = s + r.sum()
        a[1] = s
        r[1] += 0.5 * s
        return s

    wg.fori_loop(0, 3, body, 0.0)
    return a


def while_reads(x: Any) -> Any:
    a = x * 1.0
    wg.while_loop(lambda i: a[0] < 5.0, lambda i: (a.__setitem__(0, a[0] * 1.5), i + 1)[1], 0)
    return a


def branch_writes(x: Any) -> Any:
    a = x * 1.0
    wg.cond(x[0] > 0, lambda: (a.__setitem__(0, 10 * a[1]), a[2])[1], lambda: a[3])
    return a


def scan_writes_to_its_carry(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        c[0] = c[0] * v
        c *= 1.1
        return c, c.sum()

    return wg.scan(step, wnp.ones(2) * x[0], x, checkpoint="sqrt")[1]


def branch_scans_over_what_it_writes_to(x: Any) -> Any:
    a = x * 1.0

    def step(c: Any, row: Any) -> Any:
        a[0] = a[1] * a[2] + row * c[3]
        return c * 1.5, a[0]

    def scanned() -> Any:
        c, rows = wg.scan(step, a, a)
        return a * c + rows

    return wg.cond(x[0] > 0, scanned, lambda: a)


def sorted_in_place(x: Any) -> Any:
    a = wnp.stack([x[::-1], x * 1.5])

    def body(i: Any, s: Any) -> Any:
        a[i].sort()
        a[:, i].partition(0)
        a[0, i] = a[1, i] * a[i, 0]
        return s + a[0, 0]

    a[1, 3] = wg.fori_loop(0, 2, body, 0.0)
    return wg.sum(a * wnp.arange(1.0, 9).reshape(2, 4), axis=0)


def flat_places_that_a_trace_does_not_know(x: Any) -> Any:
    a = wnp.outer(x, x)[:2]

    def body(i: Any, s: Any) -> Any:
        a.flat[2 * i] = a.flat[-i - 1] * x[i]
        a.flat[wnp.stack([i, i + 3])] = x[1:3]
        return s + a.flat[i + 1] * a.flat[wnp.stack([i, i + 2])].sum()

    a[1, 3] = wg.fori_loop(0, 3, body, 0.0)
    return wg.sum(a * wnp.arange(1.0, 9).reshape(2, 4), axis=0)


PROGRAMS = {
    branch_scans_over_what_it_writes_to: [313.75, 38.25, 78.5625, 141.0],
    sorted_in_place: None,
    flat_places_that_a_trace_does_not_know: None,
    recurrence: [1.0, 2.0, 6.0, 24.0],
    first_write_inside: [10.0, 29.0, 75.0, 4.0],
    view_read_before: None,
    while_reads: [5.0625, 2.0, 3.0, 4.0],
    branch_writes: [20.0, 2.0, 3.0, 4.0],
    scan_writes_to_its_carry: None,
}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_loops_and_branches_carry_writes(f: Any) -> None:
    eagerly = np.asarray(f(wg.tensor(X)))
    if PROGRAMS[f] is not None:
        np.testing.assert_allclose(eagerly, PROGRAMS[f])
    np.testing.assert_allclose(wg.function(f)(X), eagerly)
    e = np.eye(4)[1] * 1e-6
    slope = (np.asarray(f(wg.tensor(X + e))) - np.asarray(f(wg.tensor(X - e)))).sum() / 2e-6
    for gradient in (wg.grad(f)(X), wg.function(wg.grad(f))(X)):
        np.testing.assert_allclose(gradient[1], slope, rtol=1e-6)


def test_a_function_sees_what_was_written_to_a_tensor_that_it_captured() -> None:
    a = wnp.zeros(4)
    f = wg.function(lambda x: x + a)
    np.testing.assert_array_equal(f(X), X)
    for place in (2, 1):
        a[place] = 5.0
        np.testing.assert_array_equal(f(X), X + np.asarray(a))


def test_a_function_does_not_write_to_a_tensor_from_outside() -> None:
    fresh, written = wnp.zeros(4), wnp.zeros(4)
    written[0] = 1.0
    for a in (fresh, written):
        with pytest.raises(wg.TracingError, match=r"made outside.*wg\.buffer"):
            wg.function(lambda x, a=a: a.__setitem__(0, x[0]))(X)


def test_a_tape_answers_for_arrays_and_views_that_were_written_to() -> None:
    with wg.GradientTape(persistent=True) as tape:
        x = wg.tensor(X)
        tape.watch(x)
        a = wnp.zeros(4)
        view = a[1:]
        a[1] = x[0] * x[1]
    for target in (a, view):
        np.testing.assert_array_equal(np.asarray(tape.gradient(target, x)), [2.0, 1.0, 0.0, 0.0])


def change(y: Any) -> Any:
    y[0] = y[1] * y[2]
    return y


def test_derivatives_of_a_function_that_writes_to_its_argument() -> None:
    x = X[:3]
    np.testing.assert_allclose(wg.jacobian(change)(x), [[0, 3, 2], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(wg.jacobian(lambda y: change(y)[:2])(x), [[0, 3, 2], [0, 1, 0]])
    np.testing.assert_allclose(wg.linearize(change, x)[1](x), [12, 2, 3])
    np.testing.assert_allclose(wg.hessian(lambda y: (change(y) ** 3).sum())(x)[1], [0, 336, 324])
    np.testing.assert_allclose(wg.grad(wg.recompute_grad(lambda y: (change(y) ** 2).sum()))(x), [0, 40, 30])


def test_a_caller_keeps_what_it_passed() -> None:
    x = wg.tensor(X)
    for f in (wg.function(change), wg.grad(lambda y: change(y).sum()), wg.checkpoint(change)):
        f(x)
        np.testing.assert_array_equal(np.asarray(x), X)
    y = wg.tensor(x)
    y += 1.0
    np.testing.assert_array_equal(np.asarray(x), X)


def test_in_place_operators_have_numpys_rules() -> None:
    with pytest.raises(TypeError, match="same_kind"):
        operator.iadd(wnp.zeros(4, dtype=int), wg.tensor(X))
    with pytest.raises(ValueError, match=r"\+="):
        operator.iadd(wg.tensor(X), X.reshape(1, 4))


def into_out(policy: Any, x: Any) -> Any:
    a = x * 1.0
    wg.fori_loop(0, 6, lambda i, c: (wnp.multiply(a, wnp.sin(c * x), a), c + 0.1)[1], 0.3, checkpoint=policy)
    return a


def by_scan(policy: Any, x: Any) -> Any:
    a = x * 1.0

    def step(c: Any, y: Any) -> Any:
        a[1:] += a[:-1] * y
        return c + y, None

    wg.scan(step, 0.0, x, checkpoint=policy)
    return a


@pytest.mark.parametrize("program", [into_out, by_scan])
@pytest.mark.parametrize("policy", ["sqrt", 1, 3, "auto"])
def test_first_writes_in_a_loop_have_gradients_by_every_policy(program: Any, policy: Any) -> None:
    """The memory of a tensor begins with its first write, in the loop; the tensor is older."""
    wanted = wg.grad(lambda x: program("all", x) @ np.cos(X))(X)
    for way in (lambda f: f, wg.function):
        np.testing.assert_allclose(way(wg.grad(lambda x: program(policy, x) @ np.cos(X)))(X), wanted, rtol=1e-13)


def recomputed_steps(x: Any) -> Any:
    """Steps that write to arrays of before, and return something else; a buffer and a tensor."""
    a, b = x * 1.0, wg.buffer(x * 2.0)

    def step(y: Any) -> Any:
        a[1:] += wnp.sin(a[:-1]) * y[0]
        b[0] = y[1] * a[2]
        return y * 1.0

    y = wg.checkpoint(step)(x)
    return (a * b.value) @ wnp.cos(y)


def nested_recomputed_steps(x: Any) -> Any:
    a, row = wg.buffer(np.zeros(4)), wnp.array(x)
    view = row[1:]

    def outer(y: Any) -> Any:
        def inner(z: Any) -> Any:
            a[1] = a[0] * z[0]
            view[0] = z[1] * z[0]
            return z * 2.0

        r = wg.checkpoint(inner)(y)
        a[2] = a[1] * r[1]
        return r * a[2]

    a[0] = x[0]
    for _ in range(3):
        x = wg.checkpoint(outer)(x * 0.5)
    return wg.sum(x) + wg.sum(a.value * row * X)


def recomputed_steps_of_a_loop(x: Any) -> Any:
    a = wg.buffer(np.zeros(5))

    def step(i: Any, s: Any) -> Any:
        def f(s: Any) -> Any:
            a[i] = s * x[0] + a[i - 1]
            return wg.sin(s) * x[1]

        return wg.checkpoint(f)(s)

    return wg.fori_loop(1, 5, step, x[2]) + wg.sum(a.value**2)


def recomputed_loop(x: Any) -> Any:
    a, b = wg.buffer(np.zeros(5)), wnp.zeros(3)

    def f(x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            a[i] = s * x[0] + a[i - 1]
            return wg.sin(s) * x[1]

        b[1:] = x[:2] * x[3]
        return wg.fori_loop(1, 5, step, x[2])

    return wg.checkpoint(f)(x) * wg.sum(b) + wg.sum(a.value**2)


def recomputed_function(x: Any) -> Any:
    a = wg.buffer(np.zeros(5))

    @wg.function
    def f(x: Any) -> Any:
        a[1] = x[0] * x[1]
        a[2] = a[1] * x[2]
        return x[0] * a[2]

    return wg.checkpoint(f)(x) + wg.sum(a.value**2)


def recomputed_with_the_argument_as_target(x: Any) -> Any:
    """What is written to is what the function is called with, which it keeps as it was."""
    y = x * 1.0

    def f(c: Any) -> Any:
        wnp.multiply(c, 3.0, y)
        y[1] = c[2] * y[0]
        return c * c

    return wg.sum(wg.checkpoint(f)(y)) + y @ y


RECOMPUTED = [
    recomputed_steps, nested_recomputed_steps, recomputed_steps_of_a_loop, recomputed_loop, recomputed_function,
    recomputed_with_the_argument_as_target,
]  # fmt: skip


@pytest.mark.parametrize("f", RECOMPUTED)
def test_writes_of_recomputed_functions_have_gradients(f: Any) -> None:
    """They are results of the function as what it returns is."""

    def value(x: Any) -> float:
        return f(wg.tensor(x)).item()  # by value: an array of NumPy would share its memory with the argument

    plain = np.array([(value(X + e) - value(X - e)) / 2e-6 for e in 1e-6 * np.eye(4)])
    slope = wg.function(wg.grad(f))
    for way in (lambda g: g, wg.function):
        np.testing.assert_allclose(way(wg.grad(f))(X), plain, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(way(wg.jacobian(f, mode="forward"))(X), plain, rtol=1e-7, atol=1e-8)
        curves = np.array([(slope(X + e) - slope(X - e)) / 2e-5 for e in 1e-5 * np.eye(4)])
        for second in (wg.hessian(f), wg.jacobian(wg.grad(f), mode="reverse")):
            np.testing.assert_allclose(way(second)(X), curves, rtol=1e-5, atol=1e-7)
        rows = way(wg.vmap(wg.grad(f)))(np.stack([X, X + 0.1]))
        np.testing.assert_allclose(rows, [slope(X), slope(X + 0.1)], rtol=1e-12)


def test_a_recomputed_loop_may_assign_a_variable() -> None:
    """The loop of a backward pass that is traced leaves what it assigned where that pass reads it."""
    w = wg.Variable(2.0)

    def f(x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            w.assign(w + i + 1.0)
            return s * w

        return wg.fori_loop(0, 3, step, wg.sum(x * x)) * w * x[0]

    def loss(x: Any) -> Any:
        w.assign(2.0)
        return wg.checkpoint(f)(x)

    # w is 3, 5, 8 in the loop, and 8 behind it
    slope = 3 * 5 * 8 * 8 * (2 * X * X[0] + (X @ X) * np.eye(4)[0])
    np.testing.assert_allclose(wg.grad(loss)(X), slope, rtol=1e-12)
    first = np.outer(np.eye(4)[0], X)
    wanted = 3 * 5 * 8 * 8 * 2 * (np.eye(4) * X[0] + first + first.T)
    np.testing.assert_allclose(wg.hessian(loss)(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.jacobian(wg.grad(loss), mode="reverse")(X), wanted, rtol=1e-12)


# -- who gets a tensor may write to it, and changes no other -----------------------------------------------------------


def _written(y: Any) -> Any:
    y += 10.0
    return y


def _scan_of_outer(x: Any) -> Any:
    return wg.scan(lambda c, _: (x, _written(c)), x, None, length=3)


def _scan_of_a_pair(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        y = _written(c[0]) * 2.0
        return (y, y), (y, c[1])

    return wg.scan(step, (x, x * 2.0), None, length=3)


def _scan_of_views(x: Any) -> Any:
    z = wg.concatenate([x, x])

    def step(c: Any, _: Any) -> Any:
        y = z[4:]
        _written(c)
        z[5] = c[0]
        return z[:4], (y, z)

    return wg.scan(step, x * 3.0, None, length=3)


def _scan_of_slices(x: Any) -> Any:
    return wg.scan(lambda c, row: (_written(row), _written(c)), x, wg.stack([x, x, x]))


def _results_written_outside(x: Any) -> Any:
    return wg.scan(lambda c, _: (c * 2.0, _written(x)), x * 3.0, None, length=3), x


def _while_of_outer(x: Any) -> Any:
    return wg.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, (_written(c), x)[1]), (0, x * 2.0)), x


def _while_swaps(x: Any) -> Any:
    return wg.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: [i + 1, (_written(a), b)[1], b], [wg.tensor(0), x, x * 2.0]
    )


def _fori_of_outer(x: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, c: (_written(c), x)[1], x * 2.0), x


def _branch_of_outer(x: Any) -> Any:
    return _written(wg.cond(x[0] > 0, lambda: x, lambda: x * 2.0)), x


def _recomputed_twice(x: Any) -> Any:
    y, z = wg.checkpoint(lambda a: (a, a))(x)
    return _written(y), z, x


def _recomputed_outer(x: Any) -> Any:
    return _written(wg.checkpoint(lambda: x)()), x


def _custom(x: Any) -> Any:
    y, z = wg.custom_gradient(lambda a: ((a, a), lambda d, e: d + 2.0 * e))(x)
    return _written(y), z, x


def _function_of_views(x: Any) -> Any:
    y, z, v = wg.function(lambda a: (a, a, a[:1]))(x)
    return _written(y), z, v, x


def _tangents(x: Any) -> Any:
    y, t = wg.jvp(lambda a: (a, a), (x,), (x,))
    return _written(y[0]), _written(t[0]), y, t, x


def _pulled(x: Any) -> Any:
    y, pull = wg.vjp(lambda a: (a, a), x)
    return _written(y[0]), y, pull((x, x)), x


def _mapped(x: Any) -> Any:
    y, z = wg.vmap(lambda a: (a, a))(x)
    return _written(y), z, x


APART = [
    _scan_of_outer, _scan_of_a_pair, _scan_of_views, _scan_of_slices, _results_written_outside, _while_of_outer,
    _while_swaps, _fori_of_outer, _branch_of_outer, _recomputed_twice, _recomputed_outer, _custom, _function_of_views,
    _tangents, _pulled, _mapped,
]  # fmt: skip


@pytest.mark.parametrize("f", APART, ids=lambda f: f.__name__)
def test_what_steps_and_calls_return_is_the_receivers_own(f: Any) -> None:
    def loss(x: Any) -> Any:
        return sum((i + 1.0) * wg.sum(wg.sin(leaf)) for i, leaf in enumerate(wg.tree.leaves(f(x * 1.0))))

    eager, traced = wg.tree.leaves(f(wg.tensor(X))), wg.tree.leaves(wg.function(f)(wg.tensor(X)))
    for one, other in zip(eager, traced, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(loss)(X), wg.function(wg.grad(loss))(X), rtol=1e-12)


def row_from_another(x: Any) -> Any:
    x = x.copy()
    x[3] = x[4]
    return x


def inner_from_above(x: Any) -> Any:
    y = x.copy()
    y[1:-1, 1:-1] = x[:-2, 1:-1]
    return y


def every_other_column(x: Any) -> Any:
    y = x.copy()
    y[:, ::2] = 0.0
    y[::-3, 1] += x[::3, 0]
    return y


def at_numbers(x: Any) -> Any:
    y = x.copy()
    y[[1, 4, 1], 2] = x[:3, 0]
    y[:, [0, -1]] *= x[:, [1, 2]]
    return y


def written_and_read(x: Any) -> Any:
    """The first version has another reader, and so has what was there before."""
    y = x.copy()
    y[2] = x[0] * 2
    before = y * 1.0
    y[3] = before[1]
    return before * x + y


@pytest.mark.parametrize("f", [row_from_another, inner_from_above, every_other_column, at_numbers, written_and_read])
@pytest.mark.parametrize("shape", [(5, 3), (60, 70)])
def test_writes_to_copies_of_arguments(f: Any, shape: tuple[int, ...]) -> None:
    """In machine code: values, gradients, and the argument stays as it is, also where two calls share it."""
    x = np.random.default_rng(5).normal(size=shape)
    given = x.copy()
    compiled = wg.function(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), f(x))
        np.testing.assert_array_equal(x, given)
    gradient = wg.grad(lambda x: (f(x) ** 2).sum())
    np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-12)
    direction = np.cos(x)
    along = lambda x: wg.jvp(gradient, (x,), (direction,))[1]
    np.testing.assert_allclose(wg.function(along)(x), along(x), rtol=1e-12)
