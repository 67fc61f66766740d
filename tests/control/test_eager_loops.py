"""Loops that run as plain Python: what they use from outside, loops without steps, Variables, what cannot be repeated."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert._core.budget import BUDGET
from wengert._core.state import STATE

X = np.array([0.5, -1.0, 2.0])
POLICIES = ("all", 1, 3, "sqrt", "auto")


@pytest.fixture(autouse=True)
def nothing_stays_open():
    yield
    assert (STATE.recorders, STATE.reading, STATE.effects, STATE.pins) == ((), (), (), None)
    assert (BUDGET.used, BUDGET.depth, BUDGET.meter) == (0, 0, None)


def gradients(f, *sources):
    """What a tape says of each source, None where it is not connected."""
    tensors = [wg.tensor(s) for s in sources]
    with wg.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    return [None if g is None else g.numpy() for g in tape.gradient(y, tensors)]


# -- captures always count (decision 5) ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_what_body_and_condition_use_is_connected(policy, steps):
    def f(x, in_body, in_condition, unused):
        def cond(v, i):
            return wg.logical_and(i < steps, in_condition.sum() < 100.0)

        def body(v, i):
            return v * 2.0 + 0.0 * wg.stop_gradient(in_body), i + 1

        return wg.while_loop(cond, body, (x, 0), checkpoint=policy)[0]

    dx, body, condition, unused = gradients(f, X, X, X, X)
    np.testing.assert_array_equal(dx, np.full(3, 2.0**steps))
    np.testing.assert_array_equal(body, np.zeros(3))
    np.testing.assert_array_equal(condition, np.zeros(3))
    assert unused is None


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("steps", [0, 4])
def test_captures_of_a_scan_are_connected(policy, steps):
    def f(x, xs, c):
        carry, ys = wg.scan(lambda v, t: (v + t, wg.stop_gradient(c) * 1.0), x, xs, checkpoint=policy)
        return carry

    dx, dxs, dc = gradients(f, X, np.ones((steps, 3)), X)
    np.testing.assert_array_equal(dx, np.ones(3))
    np.testing.assert_array_equal(dxs, np.ones((steps, 3)))
    np.testing.assert_array_equal(dc, np.zeros(3))


def test_captures_of_a_map_of_nothing_are_connected():
    (dc,) = gradients(lambda c: wg.map(lambda t: t * c, np.zeros((0, 3))), X)
    np.testing.assert_array_equal(dc, np.zeros(3))


def test_a_value_made_in_the_loop_is_no_capture():
    # the inner loop uses what the outer step made: that has the gradient it has, and its sources are connected
    def f(x, c):
        def body(v, i):
            scaled = v * c
            return wg.fori_loop(0, 2, lambda j, w: w + scaled, v), i + 1

        return wg.while_loop(lambda v, i: i < 2, body, (x, 0))[0]

    dx, dc = gradients(f, X, X)
    np.testing.assert_allclose(dx, (1 + 2 * X) ** 2, rtol=1e-15)  # one rounding a factor
    np.testing.assert_allclose(dc, 4 * X * (1 + 2 * X), rtol=1e-15)  # as above


def test_variables_that_only_the_condition_reads_are_connected():
    limit = wg.Variable(3.0, name="limit")
    with wg.GradientTape() as tape:
        y = wg.while_loop(lambda v: v < limit, lambda v: v * 2.0, wg.tensor(1.0))
    assert tape.gradient(y, limit).item() == 0.0


def test_cond_connects_no_capture_of_the_branch_not_taken():
    # decision 6: eagerly, only what ran is known
    _, dc = gradients(lambda x, c: wg.cond(True, lambda v: v * 2.0, lambda v: v * c, x), X, X)
    assert dc is None


# -- no steps at all --------------------------------------------------------------------------------------------------


def test_numbers_take_the_dtype_of_the_body_though_it_never_runs():
    scale = wg.tensor(np.float32(2.0))
    out = wg.while_loop(lambda v: v < 0, lambda v: v * scale, 1.0)
    assert out.dtype == np.float32
    assert wg.function(lambda s: wg.while_loop(lambda v: v < 0, lambda v: v * s, 1.0))(scale).dtype == np.float32


def test_a_loop_that_never_runs_does_not_mind_a_broken_body():
    def broken(v):
        raise ZeroDivisionError

    dx, dc = gradients(lambda x, c: wg.while_loop(lambda v: v.sum() < -99, broken, x), X, X)
    np.testing.assert_array_equal(dx, np.ones(3))
    assert dc is None


def test_a_loop_that_never_runs_assigns_nothing():
    v = wg.Variable(1.0)

    def body(x):
        v.assign(x)
        return x * v

    (dx,) = gradients(lambda x: wg.while_loop(lambda x: x < 0, body, x), 2.0)
    assert (dx, v.numpy()) == (1.0, 1.0)


# -- Variables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_run_again_read_what_the_first_run_read(policy):
    w = wg.Variable(X, name="w")
    with wg.GradientTape() as tape:
        y = wg.fori_loop(0, 7, lambda i, v: wg.sin(v * w), w.value, checkpoint=policy)
    w.assign(np.zeros(3))  # between the run and its backward pass
    found = tape.gradient(y, w).numpy()
    w.assign(X)
    with wg.GradientTape() as tape:
        y = wg.fori_loop(0, 7, lambda i, v: wg.sin(v * w), w.value, checkpoint="all")
    np.testing.assert_array_equal(found, tape.gradient(y, w).numpy())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_body_that_assigns_variables_keeps_everything(policy):
    count = wg.Variable(0.0, name="count")

    def f(x):
        count.assign(0.0)

        def body(i, v):
            count.assign_add(1.0)
            return wg.sin(v) * count

        return wg.fori_loop(0, 5, body, x, checkpoint=policy).sum()

    found = wg.grad(f)(X)
    assert count.numpy() == 5
    np.testing.assert_array_equal(found, wg.grad(lambda x: _unrolled(x, 5))(X))


def _unrolled(x, steps):
    for i in range(steps):
        x = wg.sin(x) * (i + 1.0)
    return x.sum()


def _assigns_late(x, policy):
    v = wg.Variable(0.0, name="late")

    def body(i, x):
        if i.numpy() == 3:
            v.assign(wg.sum(x))
        return wg.sin(x) + v

    return wg.fori_loop(0, 5, body, x, checkpoint=policy).sum() * v


def _writes_late(x, policy):
    def body(i, c):
        if i.numpy() == 3:
            x[1:] += c[:-1]
        return wg.sin(c) * x

    return (wg.fori_loop(0, 5, body, x * 1.0, checkpoint=policy) * x).sum()


def _writes_late_in_a_loop(x, policy):
    def inner(j, c):
        if j.numpy() == 2:
            x[0] = c[1] * x[0]
        return wg.sin(c) * x

    def body(i, c):
        return wg.fori_loop(0, i + 1, inner, c, checkpoint=policy)

    return (wg.fori_loop(0, 4, body, x * 1.0, checkpoint=policy) * x).sum()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("f", [_assigns_late, _writes_late, _writes_late_in_a_loop])
def test_a_step_that_cannot_be_repeated_may_come_late(f, policy):
    np.testing.assert_allclose(wg.grad(lambda x: f(x, policy))(X), wg.grad(lambda x: f(x, "all"))(X), rtol=1e-13)
    if f is not _assigns_late:  # no gradient flows through what a Variable is assigned
        wg.check_gradients(lambda x: f(x * 1.0, policy), X)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_step_that_stops_the_tape_keeps_everything(policy):
    def f(x):
        with wg.GradientTape() as tape:
            tape.watch(x)

            def body(i, v):
                with tape.stop_recording():
                    scale = wg.sin(v)
                return v * scale

            y = wg.fori_loop(0, 4, body, x, checkpoint=policy)
        return tape.gradient(y, x)

    expected, v = np.ones(3), X
    for _ in range(4):
        expected, v = expected * np.sin(v), v * np.sin(v)
    np.testing.assert_allclose(f(wg.tensor(X)).numpy(), expected, rtol=1e-15)  # the products' order


def test_gradients_inside_a_body_that_is_run_again():
    def f(x, policy):
        def body(i, v):
            return v - 0.1 * wg.grad(lambda u: (u**3).sum())(v)

        return (wg.fori_loop(0, 6, body, x, checkpoint=policy) * x).sum()

    expected = wg.grad(lambda x: f(x, "all"))(X)
    for policy in POLICIES:
        np.testing.assert_array_equal(wg.grad(lambda x, p=policy: f(x, p))(X), expected)


def test_refusals_stay_where_tapes_pause():
    def body(i, v):
        return v * float(v.sum())

    for policy in POLICIES:
        with pytest.raises(wg.LostGradientError):
            wg.grad(lambda x, p=policy: wg.fori_loop(0, 5, body, x, checkpoint=p).sum())(X)


def test_an_untracked_number_may_leave_where_tapes_pause():
    def body(i, v):
        return v * float(i)

    for policy in POLICIES:
        wg.grad(lambda x, p=policy: wg.fori_loop(1, 5, body, x, checkpoint=p).sum())(X)


def test_bodies_see_lists_they_change_later():
    # a body that hands out one list each time and changes it must not change the loop's past
    held = [None, None]

    def f(x, policy):
        def body(v, i):
            held[0], held[1] = wg.sin(v), i + 1
            return held

        return wg.while_loop(lambda v, i: i < 9, body, [x, wg.tensor(0)], checkpoint=policy)[0].sum()

    expected = wg.grad(lambda x: f(x, "all"))(X)
    for policy in POLICIES:
        np.testing.assert_array_equal(wg.grad(lambda x, p=policy: f(x, p))(X), expected)


@pytest.mark.parametrize("policy", POLICIES)
def test_cotangents_that_wait_for_what_was_before_outlast_steps_that_look_alike(policy):
    # the sweep over a segment like the last one is one formula, which must leave what is not its own
    def f(x, w, policy):
        v = x * 1.5

        def step(i, v):
            return wg.sin(v) * w + v

        return (wg.fori_loop(0, 12, step, v, checkpoint=policy) + wg.sin(v)).sum()

    expected = wg.grad(lambda x, w: f(x, w, "all"), argnums=(0, 1))(X, X)
    for _ in range(3):
        found = wg.grad(lambda x, w: f(x, w, policy), argnums=(0, 1))(X, X)
        np.testing.assert_array_equal(found, expected)


def test_second_order_through_snapshots():
    def f(x, policy):
        return wg.fori_loop(0, 8, lambda i, v: wg.sin(v) * x + v, x, checkpoint=policy).sum()

    expected = _hessian(f, "all")
    for policy in POLICIES[1:]:
        np.testing.assert_allclose(_hessian(f, policy), expected, rtol=1e-12)  # terms meet in another order


def _hessian(f, policy):
    rows = []
    for i in range(3):
        rows.append(wg.grad(lambda x, i=i: wg.grad(lambda z: f(z, policy))(x)[i])(X))
    return np.stack(rows)


def test_forward_mode_runs_as_ever():
    for policy in POLICIES:
        wg.check_gradients(lambda x, p=policy: wg.fori_loop(0, 4, lambda i, v: wg.sin(v) * x, x, checkpoint=p).sum(), X)


def test_compiled_functions_inside_a_body_that_is_run_again():
    step = wg.function(lambda v, w: wg.tanh(v * w))
    expected = None
    for policy in POLICIES:
        found = wg.grads(lambda x, w, p=policy: wg.fori_loop(0, 9, lambda i, v: step(v, w), x, checkpoint=p).sum())(
            [X, X]
        )
        if expected is None:
            expected = found
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)  # decision 27: compiled forms differ in how they sum


@pytest.mark.parametrize("policy", POLICIES)
def test_a_body_that_writes_to_a_buffer_keeps_everything(policy):
    def f(p, policy):
        b = wg.buffer(9)
        b[0] = p

        def body(k, total):
            b[k + 1] = wg.sin(b[k] * p) + total
            return total * 0.5 + b[k]

        return wg.fori_loop(0, 8, body, 0.0 * p, checkpoint=policy) + b.value.sum()

    assert wg.grad(lambda p: f(p, policy))(0.7) == wg.grad(lambda p: f(p, "all"))(0.7)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_body_with_a_buffer_of_its_own_is_run_again(policy):
    def f(p, policy):
        def body(k, total):
            b = wg.buffer(2)
            b[0] = wg.sin(total * p)
            b[1] = b[0] * 0.5
            return b.value.sum()

        return wg.fori_loop(0, 8, body, p, checkpoint=policy)

    assert wg.grad(lambda p: f(p, policy))(0.7) == wg.grad(lambda p: f(p, "all"))(0.7)


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_run_again_read_buffers_as_they_were(policy):
    def f(p, policy):
        b = wg.buffer(3)
        b[1] = p
        y = wg.fori_loop(0, 8, lambda k, v: wg.sin(v * b[1]), p, checkpoint=policy)
        b[1] = 0.0  # between the run and its backward pass
        return y

    assert wg.grad(lambda p: f(p, policy))(0.7) == wg.grad(lambda p: f(p, "all"))(0.7)


def test_a_compiled_function_that_assigns_is_noticed():
    v = wg.Variable(1.0, name="compiled")

    @wg.function
    def step(x):
        v.assign_add(1.0)
        return wg.sin(x) * v

    def f(x, policy):
        v.assign(1.0)
        return wg.fori_loop(0, 5, lambda i, u: step(u), x, checkpoint=policy)

    for policy in POLICIES:
        assert wg.grad(lambda x, p=policy: f(x, p))(0.7) == pytest.approx(
            wg.grad(lambda x: f(x, "all"))(0.7), rel=1e-14
        )
        assert v.numpy() == 6.0


def test_debug_nans_sees_the_steps_and_their_backward_pass():
    for policy in POLICIES:
        with pytest.raises(FloatingPointError, match="gradient of sqrt"), wg.debug_nans():
            wg.grad(lambda x, p=policy: wg.fori_loop(0, 4, lambda i, v: wg.sqrt(v) * 0.0 + x, x, checkpoint=p))(0.0)


def test_a_jacobian_walks_back_many_times():
    def f(x, policy):
        return wg.fori_loop(0, 6, lambda i, v: wg.sin(v) * x[::-1], x, checkpoint=policy)

    def rows(policy):
        x = wg.tensor(X)
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = f(x, policy)
        return tape.jacobian(y, x).numpy()

    for policy in POLICIES:
        np.testing.assert_array_equal(rows(policy), rows("all"))


def test_low_precision_and_complex_states():
    z = np.array([0.5 + 0.25j, -1.0 + 0.5j])
    for source in (X.astype(np.float32), X.astype(np.float16), z):

        def f(x, policy):
            y = wg.fori_loop(0, 6, lambda i, v: v * v * 0.25 + x * 0.5, x, checkpoint=policy)
            return np.sum(np.abs(y) ** 2)

        expected = wg.grad(lambda x, g=f: g(x, "all"))(source)
        for policy in POLICIES:
            found = wg.grad(lambda x, g=f, p=policy: g(x, p))(source)
            assert found.dtype == source.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
@pytest.mark.parametrize("init", [1, 1.0])
def test_a_number_that_a_scan_starts_from_and_stacks_takes_the_dtype_of_the_rest(init, dtype, policy):
    rows = np.array([1.0, 2.0, 3.0], dtype)

    def f(x):
        return wg.scan(lambda c, t: (c * t, {"c": c, "c t": c * t}), init, rows * x, checkpoint=policy)[1]

    def loss(x):
        return wg.sum(wg.abs(f(x)["c"] * f(x)["c t"]) * rows.real)

    x = np.float32(1.5).astype(rows.real.dtype)
    for found in (f(x), wg.function(f)(x), wg.vmap(f)(x[None])):
        assert {v.dtype for v in found.values()} == {rows.dtype}
        np.testing.assert_array_equal(np.reshape(found["c"], 3), np.array([1.0, 1.5, 4.5], dtype))
    eager, compiled = wg.grad(loss)(x), wg.function(wg.grad(loss))(x)
    assert eager.dtype == compiled.dtype == x.dtype
    np.testing.assert_allclose(eager, compiled, rtol=4 * np.finfo(x.dtype).eps)
    np.testing.assert_allclose(wg.jvp(loss, (x,), (x,))[1], x * eager, rtol=8 * np.finfo(x.dtype).eps)


def test_stacks_of_a_carry_that_a_step_makes_another_kind_of_number_are_weak():
    def f(x):
        return x * wg.scan(lambda c, t: (c + 0.5, c), 1, wg.tensor(np.arange(3)))[1]

    x = np.float32([1.0, 2.0, 3.0])
    for found in (f(wg.tensor(x)), wg.function(f)(x)):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, [1.0, 3.0, 6.0])
