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
once = loop(lambda x, v: v * 2.0, 2)
grown_by = loop(lambda x, v: wg.concatenate([v, x]), 2)


def either(x: Any, v: Any, f: Function, g: Function) -> Any:
    """One of two by the numbers in an array: each program takes both, at one of the lengths or another."""
    return wg.cond(wg.sum(v) > 8.0, lambda: f(x), lambda: g(x))


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
    "squeezed": lambda x: wg.squeeze(once(x), 0) * x,
    "contracted with what may be 1": lambda x: wg.einsum("i,i->", once(x), x),
    "contracted with what grows": lambda x: wg.einsum("i,i->", loop(lambda x, v: x * v, 2)(x), x),
    "contracted thrice": lambda x: wg.einsum("ij,j,i->i", doubled(x)[:, None] * x, once(x), doubled(x)),
    "reshaped": lambda x: wg.reshape(loop(lambda x, v: x * v, 2)(x), x.shape) * x,
    "branches of two lengths": lambda x: either(x, x, grown_by, lambda x: x * 2.0),
    "branches, the other way round": lambda x: either(x, x, lambda x: x * 2.0, grown_by),
    "branches of which one is known": lambda x: either(x, x, grown_by, lambda x: wg.zeros(7) + x[0]),
    "branches of two loops": lambda x: wg.sum(either(x, x, grown_by, doubled)) * x,
    "branches meet": lambda x: either(x, x, grown_by, doubled) * grown_by(x),
    "branches in a loop": loop(
        lambda x, v: either(x, v, lambda x: wg.concatenate([v, x]), lambda x: wg.concatenate([v, v])), 4
    ),
    "a length that stays, after all": lambda x: wg.fori_loop(0, 2, lambda i, c: either(x, c, wg.sin, once) * c, x),
    "rows of a scan": lambda x: wg.scan(lambda c, r: (c, grown_by(r * x)), 0.0, x)[1],
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


@pytest.mark.parametrize("wrapped", [lambda f: f, wg.function], ids=["traced", "of a function"])
def test_the_error_names_the_op_and_the_line(wrapped: Any) -> None:
    meeting = wrapped(PROGRAMS["meets after the loop"])
    with pytest.raises(ValueError, match=r"does not fit: last step_0 = 2, and extents that meet must be equal") as told:
        wg.function(lambda x: meeting(x) + 1.0)(np.array([3.0, 4.0, 5.0]))
    assert "lambda x: doubled(x) * x," in str(told.value)
    with pytest.raises(
        ValueError, match=r"^reshape: .* does not fit: last step_0 = 2, and 3 must equal last step_0\n  at "
    ):
        wg.function(lambda x: wg.reshape(doubled(x), (3,)))(np.array([3.0, 4.0, 5.0]))


def test_a_loop_variable_that_does_not_keep_its_length_is_the_error_that_it_is_elsewhere() -> None:
    def f(x: Any) -> Any:
        return wg.fori_loop(0, 2, lambda i, c: grown_by(c)[:-1], x)

    for g in (f, wg.function(f), wg.function(wg.grad(lambda x: wg.sum(f(x))))):
        with pytest.raises(TypeError, match=r"^fori_loop: .*(differs in shape|does not fit)"):
            g(np.array([3.0, 4.0, 5.0]))


def steps_of(counts: Any) -> Any:
    """A row for each number: as many ones as 2 to the power of it."""

    def row(carry: Any, n: Any) -> Any:
        def body(k: Any, v: Any) -> Any:
            return k + 1, wg.concatenate([v, v])

        return carry, wg.while_loop(lambda k, v: k < n, body, [0, carry], shape_invariants=[(), (None,)])[1]

    return wg.scan(row, wg.ones(1), counts)[1]


def test_rows_that_a_scan_stacks_have_one_shape() -> None:
    np.testing.assert_array_equal(wg.function(steps_of)(np.array([2, 2])), np.ones((2, 4)))
    for f in (steps_of, wg.function(steps_of)):
        with pytest.raises(TypeError, match="scan: y differs in shape"):
            f(np.array([1, 2, 2]))


# -- the same loop in two places --------------------------------------------------------------------------------------

grows_once = loop(lambda x, v: wg.concatenate([v, x]), 1)
TWICE: dict[str, Callable[..., Any]] = {
    "multiplied": lambda f, x, y: f(x) * f(y),
    "one of them cut to 1": lambda f, x, y: f(x) * f(y)[:1],
    "joined": lambda f, x, y: wg.concatenate([f(x), f(y)]),
    "shapes": lambda f, x, y: wg.concatenate([wg.zeros(f(x).shape), wg.ones(f(y).shape)]),
    "branches": lambda f, x, y: wg.cond(wg.sum(x) > 0.0, lambda: f(x), lambda: f(y)),
    "in a loop": lambda f, x, y: loop(lambda x, v: f(v), 3)(x) * wg.sum(f(y)),
    "backward passes": lambda f, x, y: (wg.vjp(f, x)[1](f(x)), wg.vjp(f, y)[1](f(y))),
    "linear parts": lambda f, x, y: wg.concatenate([wg.linearize(f, x)[1](x), wg.linearize(f, y)[1](y)]),
    "gradients": lambda f, x, y: wg.grad(lambda x, y: wg.sum(f(x) ** 2) * wg.sum(f(y) ** 2), (0, 1))(x, y),
    "directions": lambda f, x, y: wg.jvp(lambda x, y: wg.sum(f(x)) * wg.sum(f(y) ** 2), (x, y), (x, y)),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two functions that every trace takes node by node: one with a loop, one with a branch around it."""
    folder = tmp_path_factory.mktemp("loaded")
    found = []
    for f in (grows_once, lambda x: wg.cond(wg.sum(x) > -1.0, lambda: grows_once(x), lambda: x * 1.0)):
        compiled = wg.function(f, input_signature=[wg.TensorSpec((None,), float)])
        compiled(np.array([3.0, 4.0]))
        wg.save(compiled, folder / "f")
        found.append(wg.load(folder / "f"))
    return found


@pytest.mark.parametrize("other", [[1.0, 2.0], [1.0, 2.0, 6.0]], ids=len)
@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("which", [0, 1], ids=["loop", "branch"])
def test_a_loop_in_two_places_has_two_lengths(loaded: Any, which: int, name: str, other: Any) -> None:
    x, y = np.array([3.0, 4.0, 5.0]), np.array(other)
    wanted, found = (
        outcome(lambda x, f=f: wg.concatenate([wg.reshape(t, (-1,)) for t in wg.tree.leaves(f(x))]), x)
        for f in (lambda x: TWICE[name](grows_once, x, y), wg.function(lambda x: TWICE[name](loaded[which], x, y)))
    )
    if wanted is ValueError or found is ValueError:
        assert wanted is found
    else:
        assert wanted.shape == found.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in TWICE if name != "branches"])
def test_a_function_called_twice_in_a_batch_has_two_lengths(name: str) -> None:
    compiled = wg.function(grows_once, input_signature=[wg.TensorSpec((None,), float)])

    def flat(f: Function, x: Any) -> Any:
        return wg.concatenate([wg.reshape(t, (-1,)) for t in wg.tree.leaves(TWICE[name](f, x, x[:2]))])

    rows = np.array([[3.0, 4.0, 5.0], [1.0, 2.0, 6.0]])
    wanted = outcome(lambda x: wg.stack([flat(grows_once, wg.tensor(row)) for row in x]), rows)
    found = outcome(lambda x: wg.vmap(lambda row: flat(compiled, row))(x), rows)
    if wanted is ValueError or found is ValueError:
        assert wanted is found
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_branches_of_a_batch_that_choose_lengths_are_refused() -> None:
    rows = np.array([[3.0, 4.0, 5.0], [1.0, 2.0, 6.0]])
    with pytest.raises(NotImplementedError, match="a length that only a run tells cannot be batched"):
        wg.vmap(lambda x: wg.cond(wg.sum(x) > 0.0, lambda: grown_by(x), lambda: doubled(x)))(rows)


def test_the_checks_of_a_program_are_made_by_what_is_made_of_it(tmp_path: Any) -> None:
    """Batches, and functions that are taken node by node, check what the program itself would."""
    f = wg.function(PROGRAMS["meets after the loop"], input_signature=[wg.TensorSpec((None,), float)])
    good, bad = np.array([3.0, 4.0]), np.array([3.0, 4.0, 5.0])
    np.testing.assert_allclose(wg.vmap(f)(good[None]), f(good)[None])
    wg.save(f, tmp_path / "f")
    loaded = wg.load(tmp_path / "f")
    np.testing.assert_allclose(wg.function(lambda x: loaded(x) + 1.0)(good), f(good) + 1.0)
    for g, x in ((wg.vmap(f), bad[None]), (wg.function(lambda x: loaded(x) + 1.0), bad), (wg.vmap(loaded), bad[None])):
        with pytest.raises(ValueError, match="does not fit|do not broadcast|broadcast"):
            g(x)


def test_a_saved_loop_checks_its_extents(tmp_path: Any) -> None:
    f = wg.function(PROGRAMS["meets after the loop"], input_signature=[wg.TensorSpec((None,), float)])
    f(np.array([3.0, 4.0]))
    wg.save(f, tmp_path / "f")
    loaded = wg.load(tmp_path / "f")
    np.testing.assert_array_equal(loaded(np.array([3.0, 4.0])), f(np.array([3.0, 4.0])))
    with pytest.raises(ValueError, match="does not fit"):
        loaded(np.array([3.0, 4.0, 5.0]))


def grown(x: Any, test: Any) -> Any:
    return wg.while_loop(test, lambda v: wg.concatenate([v, v[-1:] * 1.1]), x, shape_invariants=(None,))


EXTENTS: dict[str, Function] = {
    "stays in a loop": lambda x: wg.fori_loop(0, 2, lambda i, c: (c[0] * wg.ones(c[1]) + i, c[1]), (x, x.shape[0])),
    "stays in a branch": lambda x: wg.cond(x[0] > 2.0, lambda n: wg.ones(n) * x, lambda n: x * wg.ones(n) * 3.0, x.shape[0]),
    "stays behind a branch": lambda x: wg.ones(wg.cond(x[0] > 2.0, lambda: x.shape[0], lambda: x.shape[0])) * x,
    "stacked": lambda x: wg.scan(lambda c, a: (c * a, x.shape[0]), 1.0, x),
    "the most steps": lambda x: wg.while_loop(lambda v: True, lambda v: v * 2, x, maximum_iterations=x.shape[0]),
    "computed with": lambda x: wg.while_loop(lambda v: True, lambda v: v * 2, x, maximum_iterations=2 * x.shape[0] - 1),
    "a variable of while": lambda x: wg.while_loop(
        lambda i, c: i > 0, lambda i, c: (i - 1, c + x[i - 1] ** 2), (x.shape[0], 0.0)
    )[1],
    "a variable of scan": lambda x: wg.scan(lambda c, a: (c + 1, a * c), x.shape[0], x),
    "a variable of fori": lambda x: wg.fori_loop(0, 2, lambda i, c: (c[0] + x.shape[0], c[1] * c[0]), (x.shape[0], x)),
    "of a branch": lambda x: wg.cond(x[0] > 2.0, lambda: x.shape[0], lambda: -1) * x,
    "of the other branch": lambda x: wg.cond(x[0] > 5.0, lambda: (0.5, x), lambda: (x.shape[0], x))[0] * x,
    "an operand": lambda x: wg.switch(1, [lambda n: 1.0 * n, lambda n: n * x[0]], x.shape[0]),
    "a result": lambda x: (x.shape[0], x * 2, {"n": x.shape[0] + 1}),
    "a result of shapes": lambda x: (x * 2, wg.outer(x, x).shape),
    "bounds": lambda x: wg.fori_loop(1, x.shape[0] - 1, lambda i, c: c + x[i] ** 2, 0.0),
    "compared in the condition": lambda x: grown(x, lambda v: wg.tensor(v.shape[0]) < 8),
    "carried beside": lambda x: wg.while_loop(
        lambda n, v: n < 8, lambda n, v: (n + 1, wg.concatenate([v, v[-1:] * 1.1])), (x.shape[0], x),
        shape_invariants=[(), (None,)],
    )[1],
}  # fmt: skip


@pytest.mark.parametrize("name", EXTENTS)
def test_an_unknown_extent_is_the_number_that_it_is_eagerly(name: str) -> None:
    f = EXTENTS[name]
    traced = wg.function(f, input_signature=[wg.TensorSpec((None,))])

    def total(f: Any, x: Any) -> Any:
        return sum(wg.sum(y) for y in map(wg.tensor, wg.tree.leaves(f(x))) if y.dtype == np.float64)

    slope = wg.grad(total, 1)
    for x in ([3.0, 4.0, 5.0], [1.0, 2.0]):
        found, wanted = wg.tree.leaves(traced(np.array(x))), wg.tree.leaves(f(wg.tensor(x)))
        assert len(found) == len(wanted)
        for one, two in zip(found, wanted, strict=True):
            assert np.asarray(one).dtype == np.asarray(wg.tensor(two)).dtype
            np.testing.assert_allclose(one, two, rtol=1e-14)
        np.testing.assert_allclose(slope(traced, np.array(x)), slope(f, np.array(x)), rtol=1e-14)
    assert traced.trace_count == 1


REFUSED: dict[str, tuple[Function, str]] = {
    "range": (lambda x: [x * i for i in range(x.shape[0])][-1], "use wg.fori_loop, or trace without None"),
    "if": (lambda x: x * 2 if x.shape[0] > 2 else x, "compare wg.tensor"),
    "the condition": (lambda x: grown(x, lambda v: v.shape[0] < 8), "carry the number as a loop variable"),
    "the length": (lambda x: grown(x, lambda v: len(v) < 8), "carry the number as a loop variable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_trace_cannot_know_of_an_extent_is_refused_with_the_cure(name: str) -> None:
    f, cure = REFUSED[name]
    with pytest.raises(wg.TracingError, match="needs the value of dimension") as caught:
        wg.function(f, input_signature=[wg.TensorSpec((None,))])(np.ones(3))
    assert cure in str(caught.value) and "test_varying_shapes.py" in str(caught.value)


def test_lanes_that_end_apart_cannot_differ_in_shape() -> None:
    grow = wg.vmap(lambda x: wg.sum(grown(x, lambda v: wg.sum(v) < 20.0)))
    with pytest.raises(NotImplementedError, match="cannot be batched where the lanes end apart"):
        grow(np.array([[1.0, 2.0], [3.0, 4.0]]))
    even = wg.vmap(lambda x: grown(x, lambda v: wg.tensor(v.shape[0]) < 4))
    np.testing.assert_allclose(even(np.array([[1.0, 2.0], [3.0, 4.0]]))[1], [3.0, 4.0, 4.4, 4.84], rtol=1e-14)


@pytest.mark.parametrize("known", [(2,), (1, 2), (0, 0, 0)], ids=str)
def test_a_branch_passes_on_what_only_another_one_knows_the_extents_of(known: tuple[int, ...]) -> None:
    """One branch knows its result's extents when it runs only, the other one from the start: so does what follows."""

    def f(p: Any, x: Any) -> Any:
        y = wg.reshape(x * 2.0, known)
        a, b = wg.cond(p > 0, lambda c: (c, y), lambda c: (y, c), x)
        return wg.sum(a * 3.0) + wg.sum(b * b)

    spec = [wg.TensorSpec((), float), wg.TensorSpec((None,) * len(known), float)]
    compiled = wg.function(wg.value_and_grad(f, argnums=1), input_signature=spec)
    x = np.arange(1.0, 1.0 + np.prod(known)).reshape(known)
    for p in (1.0, -1.0):
        value, slope = compiled(p, x)
        wanted_value, wanted_slope = wg.value_and_grad(f, argnums=1)(p, x)
        np.testing.assert_allclose(value, wanted_value)
        np.testing.assert_allclose(slope, wanted_slope)
