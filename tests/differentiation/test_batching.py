"""vmap: axes and structures, and that a batch is what a loop over its examples gives, through branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(4, 3))
GRID = RNG.normal(size=(2, 4, 3))
# batched and looped sums add in different orders
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def assert_is_looped(f: Any, *batches: Any) -> None:
    """vmap(f) gives for each example what f gives."""
    leaves = wg.tree.leaves(wg.vmap(f)(*batches))
    for i in range(len(batches[0])):
        wanted = wg.tree.leaves(f(*[b[i] for b in batches]))
        assert len(leaves) == len(wanted)
        for found, one in zip(leaves, wanted, strict=True):
            assert found[i].shape == np.shape(one)
            np.testing.assert_allclose(found[i], one, **EXACT)


# -- axes and structures ----------------------------------------------------------------------------------------------


def test_axes_of_arguments_and_results():
    x, w = RNG.normal(size=(3, 4)), RNG.normal(size=3)
    np.testing.assert_allclose(wg.vmap(lambda c, w: c @ w, in_axes=(1, None))(x, w), x.T @ w, **EXACT)
    np.testing.assert_allclose(wg.vmap(lambda c, w: c * w, in_axes=(-1, None), out_axes=-1)(x, w), x * w[:, None])
    np.testing.assert_allclose(wg.vmap(lambda c: c * 2, in_axes=1, out_axes=1)(x), 2 * x)
    np.testing.assert_allclose(wg.vmap(lambda r: r * 2, out_axes=1)(x), 2 * x.T)


def test_structures_in_and_out():
    p = {"w": RNG.normal(size=(4, 3)), "b": RNG.normal(size=3)}
    f = lambda p, x: {"y": p["w"] * x + p["b"], "pair": (p["w"].sum(), p["b"])}
    found = wg.vmap(f, in_axes=({"w": 0, "b": None}, 0), out_axes={"y": 1, "pair": (0, None)})(p, np.arange(4.0))
    np.testing.assert_allclose(found["y"], (p["w"] * np.arange(4.0)[:, None] + p["b"]).T)
    np.testing.assert_allclose(found["pair"][0], p["w"].sum(1))
    np.testing.assert_allclose(found["pair"][1], p["b"])


def test_whole_arguments_reach_f_as_they_are():
    seen = []
    wg.vmap(lambda x, n, name: seen.append((n, name)) or x, in_axes=(0, None, None))(ROWS, 3, "rows")
    assert seen == [(3, "rows")]


def test_keyword_arguments_are_mapped_over():
    np.testing.assert_allclose(
        wg.vmap(lambda x, *, scale: x * scale)(ROWS, scale=np.arange(4.0)), ROWS * np.arange(4.0)[:, None]
    )


def test_results_that_do_not_depend_on_the_example_are_repeated():
    np.testing.assert_array_equal(wg.vmap(lambda x: wg.zeros(2))(ROWS), np.zeros((4, 2)))


def test_results_are_of_the_callers_kind():
    assert type(wg.vmap(lambda x: x * 2)(ROWS)) is np.ndarray
    assert type(wg.vmap(lambda x: x * 2)(wg.tensor(ROWS))) is wg.Tensor
    assert type(wg.vectorized_map(lambda x: x * 2, [[1.0], [2.0]])) is np.ndarray


def test_no_examples():
    assert wg.vmap(lambda x: x @ x)(ROWS[:0]).shape == (0,)
    assert wg.vmap(_until_large("auto"))(ROWS[:0]).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wg.vmap(3), TypeError, "must be callable, got int"),
        (lambda: wg.vmap(np.sin, in_axes="rows"), TypeError, "in_axes must be an integer, None or a structure.*'rows'"),
        (lambda: wg.vmap(np.sin, out_axes=1.5), TypeError, "out_axes must be an integer"),
        (lambda: wg.vmap(np.sin, in_axes=(True,)), TypeError, "in_axes must be an integer"),
        (lambda: wg.vmap(np.sin, in_axes=2)(ROWS), ValueError, r"argument 0 has shape \(4, 3\), so there is no axis 2"),
        (lambda: wg.vmap(np.sin)(3.0), ValueError, "argument 0 has no axes"),
        (lambda: wg.vmap(np.add)(ROWS, ROWS[:3]), ValueError, "argument 1 has 3 examples.*argument 0 has 4"),
        (lambda: wg.vmap(lambda x, y: x)(ROWS, y=ROWS[:2]), ValueError, "argument 'y' has 2 examples"),
        (lambda: wg.vmap(np.add, in_axes=(0,))(ROWS, ROWS), ValueError, "in_axes has 1 entries, but there are 2"),
        (lambda: wg.vmap(np.sin, in_axes=None)(ROWS), ValueError, "nothing to map over"),
        (lambda: wg.vmap(np.sin, in_axes=((0, 0),))(ROWS), ValueError, r"in_axes\[0\] is \(0, 0\), which does not fit"),
        (lambda: wg.vmap(np.sin, out_axes=(0, 0))(ROWS), ValueError, r"out_axes is \(0, 0\), which does not fit"),
        (
            lambda: wg.vmap(np.sin, out_axes=2)(ROWS),
            ValueError,
            "has 2 axes with that of the examples; out_axes says 2",
        ),
        (lambda: wg.vmap(np.sin, out_axes=None)(ROWS), ValueError, "depends on the example, but out_axes says None"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


# -- inside and around other transforms -------------------------------------------------------------------------------


def test_nested_and_closed_over():
    table = wg.vmap(lambda x: wg.vmap(lambda y: x * y + x.sum())(ROWS[0]))(ROWS[:, 0])
    np.testing.assert_allclose(table, ROWS[:, :1] * ROWS[0] + ROWS[:, :1])


def test_gradients_of_each_example_and_of_all():
    f = lambda w, x: wg.tanh(w @ x).sum()
    w = RNG.normal(size=(2, 3))
    each = wg.vmap(wg.grad(f), in_axes=(None, 0))(w, ROWS)
    np.testing.assert_allclose(each, np.stack([wg.grad(f)(w, x) for x in ROWS]), **EXACT)
    whole = wg.grad(lambda w: wg.vmap(lambda x: f(w, x))(ROWS).sum())(w)
    np.testing.assert_allclose(whole, each.sum(0), **EXACT)


def test_per_example_gradients_of_a_model():
    params = {"w1": RNG.normal(size=(5, 3)), "b1": RNG.normal(size=5), "w2": RNG.normal(size=5)}

    def loss(p: Any, x: Any, y: Any) -> Any:
        return (p["w2"] @ wg.ops.relu(p["w1"] @ x + p["b1"]) - y) ** 2

    found = wg.vmap(wg.grad(loss), in_axes=(None, 0, 0))(params, ROWS, np.arange(4.0))
    for i in range(4):
        one = wg.grad(loss)(params, ROWS[i], float(i))
        for name in params:
            np.testing.assert_allclose(found[name][i], one[name], **EXACT)


def test_inside_a_gradient_what_is_closed_over_is_followed():
    f = lambda s: wg.vmap(lambda x: x * s)(np.arange(3.0)).sum()
    assert wg.grad(f)(2.0) == 3.0
    assert wg.jvp(f, (2.0,), (1.0,)) == (6.0, 3.0)


def test_inside_functions_with_a_batch_of_unknown_size():
    g = wg.grad(lambda x: _until_large("auto")(x).sum())
    run = wg.function(lambda a: wg.vmap(g)(a), input_signature=[wg.TensorSpec((None, 3))])
    for n in (1, 3, 4):
        np.testing.assert_allclose(run(ROWS[:n]), wg.vmap(g)(ROWS[:n]), **EXACT)


def test_variables():
    v = wg.Variable(2.0)
    f = lambda: wg.vmap(lambda x: x * v)(np.arange(3.0)).sum()
    assert wg.variable_grads(f).grads[v].item() == 3.0
    with wg.GradientTape() as tape:
        y = f()
    assert tape.gradient(y, v).item() == 3.0

    def counted(x: Any) -> Any:
        v.assign_add(1.0)
        return x * v

    np.testing.assert_array_equal(wg.vmap(counted)(np.ones(2)), [3.0, 3.0])
    assert v.numpy() == 3.0
    with pytest.raises(TypeError, match="cannot be assigned what differs between examples"):
        wg.vmap(lambda x: v.assign(x))(np.ones(2))


def test_custom_gradients_and_recomputation():
    @wg.custom_gradient
    def tenfold(x: Any) -> Any:
        return x * x, lambda dy: 10 * dy * x

    assert_is_looped(wg.grad(lambda x: tenfold(x).sum()), ROWS)
    again = wg.recompute_grad(lambda x: wg.sin(x) * x)
    assert_is_looped(wg.grad(lambda x: again(x).sum()), ROWS)


# -- branches ---------------------------------------------------------------------------------------------------------


def _branch(x: Any) -> Any:
    return wg.cond(x.sum() > 0, lambda v: wg.log(v * v + 1), lambda v: wg.linalg.inv(wg.diag(v)).sum(axis=0) * v[0], x)


def _of_three(x: Any) -> Any:
    index = wg.floor(3 * abs(x[0])).astype("int64")
    return wg.switch(index, [lambda v: v**2, lambda v: wg.sin(v) * x[1], lambda v: v / (1 + v @ v)], x)


@pytest.mark.parametrize("f", [_branch, _of_three])
def test_branches_that_differ_between_examples(f: Any) -> None:
    assert_is_looped(f, ROWS)
    assert_is_looped(wg.grad(lambda x: f(x).sum()), ROWS)
    assert_is_looped(wg.jacobian(f, mode="reverse"), ROWS)
    assert_is_looped(wg.jacobian(f, mode="forward"), ROWS)
    assert_is_looped(wg.hessian(lambda x: f(x).sum()), ROWS)
    assert_is_looped(wg.vmap(f), GRID)
    whole = wg.grad(lambda a: (wg.vmap(f)(a) ** 2).sum())(ROWS)
    np.testing.assert_allclose(whole, np.stack([wg.grad(lambda x: (f(x) ** 2).sum())(x) for x in ROWS]), **EXACT)


def test_one_branch_for_all_stays_one():
    graph = wg.Graph()
    with graph.as_default():
        p, x = graph.add_input((), np.dtype(bool)), graph.add_input((4, 3), np.dtype(np.float64))
        wg.vmap(lambda r: wg.cond(p, lambda v: wg.sin(v), lambda v: v * 2, r))(x)
    assert [n.op.name for n in graph.nodes].count("switch") == 1
    assert "select" not in [n.op.name for n in graph.nodes]


def test_only_examples_that_take_a_branch_can_fail_in_it():
    f = lambda m: wg.cond(m[0, 0] > 0, lambda m: wg.linalg.cholesky(m), lambda m: -m, m)
    good = np.stack([4 * np.eye(2), -np.eye(2)])
    np.testing.assert_allclose(wg.vmap(f)(good), np.stack([2 * np.eye(2), np.eye(2)]))
    assert_is_looped(wg.grad(lambda m: f(m).sum()), good)
    with pytest.raises(np.linalg.LinAlgError):
        wg.vmap(f)(np.stack([np.array([[1.0, 2.0], [2.0, 1.0]]), -np.eye(2)]))
    # a branch that nobody takes is not run
    np.testing.assert_allclose(wg.vmap(f)(-good[:1] * 1.0), good[:1])


def test_no_nan_and_no_warning_from_a_branch_not_taken():
    f = lambda x: wg.cond(x > 0, lambda v: wg.log(v), lambda v: 2 * v, x)
    x = np.array([0.0, 1.0, -1.0])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(wg.vmap(f)(x), [0.0, 0.0, -2.0])
    np.testing.assert_array_equal(wg.vmap(wg.grad(f))(x), [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(wg.grad(lambda a: wg.vmap(f)(a).sum())(x), [2.0, 1.0, 2.0])


def test_operands_of_a_branch_count_as_connected():
    f = lambda x, y: wg.cond(x > 0, lambda a, b: a, lambda a, b: 2 * a, x, y)
    x = np.array([1.0, -1.0])
    for found in (
        wg.vmap(wg.grad(f, argnums=1))(x, x),
        wg.grad(lambda b: wg.vmap(f)(x, b).sum())(x),
    ):
        np.testing.assert_array_equal(found, [0.0, 0.0])


# -- loops ------------------------------------------------------------------------------------------------------------

POLICIES = ("all", "auto", "sqrt", 2)


def _until_large(policy: Any) -> Any:
    return lambda x: wg.while_loop(
        lambda v: (v * v).sum() < 50, lambda v: v * 1.5 + wg.sin(v) * (v @ v), x, checkpoint=policy
    )


def _recurrent(policy: Any) -> Any:
    def f(x: Any, w: Any, xs: Any) -> Any:
        last, ys = wg.scan(lambda c, z: (wg.tanh(w @ c + z), (c * z).sum()), x, xs, checkpoint=policy)
        return last.sum() + (ys**2).sum()

    return f


def _branching(policy: Any) -> Any:
    def step(v: Any) -> Any:
        return wg.cond(
            v.sum() > 0, lambda u: u * 1.5 + wg.sin(u), lambda u: 2 * u - wg.linalg.inv(wg.diag(u * u + 1)).sum(0), v
        )

    return lambda x: wg.while_loop(lambda v: (v * v).sum() < 50, step, x, checkpoint=policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("make", [_until_large, _branching])
def test_loops_that_end_apart(make: Any, policy: Any) -> None:
    f = make(policy)
    g = wg.grad(lambda x: (f(x) ** 2).sum() / 1e3)
    assert_is_looped(f, ROWS)
    assert_is_looped(g, ROWS)
    assert_is_looped(wg.jacobian(f, mode="forward"), ROWS)
    assert_is_looped(wg.vmap(g), GRID)
    whole = wg.grad(lambda a: (wg.vmap(f)(a) ** 2).sum() / 1e3)(ROWS)
    np.testing.assert_allclose(whole, np.stack([g(x) for x in ROWS]), **EXACT)
    np.testing.assert_allclose(wg.function(wg.vmap(g))(ROWS), whole, **EXACT)


def test_second_derivatives_of_loops_that_end_apart():
    f = _branching("auto")
    g = wg.grad(lambda x: (f(x) ** 2).sum() / 1e3)
    assert_is_looped(wg.jacobian(g, mode="forward"), ROWS)
    assert_is_looped(wg.jacobian(g, mode="reverse"), ROWS)


@pytest.mark.parametrize("policy", POLICIES)
def test_scans(policy: Any) -> None:
    f, w, xs = _recurrent(policy), RNG.normal(size=(3, 3)) / 2, RNG.normal(size=(5, 3))
    ws, many = RNG.normal(size=(4, 3, 3)) / 2, RNG.normal(size=(4, 5, 3))
    g = wg.grad(f, argnums=(0, 1, 2))
    assert_is_looped(g, ROWS, ws, many)
    assert_is_looped(lambda x: g(x, w, xs), ROWS)
    assert_is_looped(lambda w: g(ROWS[0], w, xs), ws)
    assert_is_looped(lambda xs: g(ROWS[0], w, xs), many)
    assert_is_looped(wg.function(g), ROWS, ws, many)
    second = wg.grad(lambda x, w, xs: sum((part**2).sum() for part in g(x, w, xs)), argnums=(0, 1, 2))
    assert_is_looped(second, ROWS, ws, many)


def test_each_example_takes_its_own_number_of_steps():
    f = lambda x, n: wg.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + x[i] ** 2), (0, 0.0))
    n = np.array([3, 0, 2, 1])
    steps, sums = wg.vmap(f)(ROWS, n)  # x[3] does not exist: an example that has ended reads nothing
    np.testing.assert_array_equal(steps, n)
    np.testing.assert_allclose(sums, [(x[:k] ** 2).sum() for x, k in zip(ROWS, n)])
    wanted = np.where(np.arange(3) < n[:, None], 2 * ROWS, 0)
    np.testing.assert_allclose(wg.vmap(wg.grad(lambda x, n: f(x, n)[1]))(ROWS, n), wanted)


def test_no_nan_from_an_example_that_has_ended():
    # once x is 0 a further step divides by 0
    f = lambda x: wg.while_loop(lambda v: v > 0, lambda v: wg.sqrt(v) * (v - 1) / v, x)
    x = np.array([1.0, 4.0])
    with np.errstate(all="raise"):
        found = wg.vmap(wg.grad(f))(x)
    np.testing.assert_allclose(found, [wg.grad(f)(v) for v in x])


@pytest.mark.parametrize("seed", range(6))
def test_random_bodies(seed: int) -> None:
    """Loops of random steps with a random branch in them."""
    rng = np.random.default_rng(seed)
    moves = [
        lambda v: wg.sin(v) + 0.1,
        lambda v: v * v / 2,
        lambda v: wg.tanh(v)[::-1],
        lambda v: v / (1 + v @ v),
        lambda v: wg.cumsum(v) / 3,
    ]
    a, b, c = (moves[i] for i in rng.integers(0, len(moves), 3))
    limit = float(rng.uniform(2, 6))

    def f(x: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            return i + abs(v[0]) + 0.5, wg.cond(v.sum() > 0.3, a, lambda u: b(u) + c(x), v)

        return wg.while_loop(lambda i, v: i < limit, step, (0.0, x))[1]

    assert_is_looped(f, ROWS)
    assert_is_looped(wg.jacobian(f, mode="reverse"), ROWS)
    assert_is_looped(wg.jacobian(f, mode="forward"), ROWS)
    assert_is_looped(wg.hessian(lambda x: (f(x) ** 2).sum()), ROWS)


def test_carries_that_change_their_shape_cannot_end_apart():
    def f(x: Any) -> Any:
        return wg.while_loop(lambda v: v.sum() < 5, lambda v: wg.concatenate([v, v]), [x], shape_invariants=[(None,)])[
            0
        ].sum()

    with pytest.raises(NotImplementedError, match="change their shape cannot be batched"):
        wg.vmap(f)(np.abs(ROWS))


def test_buffers():
    def own(x: Any) -> Any:
        kept = wg.buffer(np.zeros(3))

        def step(i: Any, v: Any) -> Any:
            kept[i] = v * x[i]
            return i + 1, v + kept[i]

        wg.while_loop(lambda i, v: (i < 3) & (abs(v) < 1), step, (0, x[0]))
        return kept[:] * 2

    assert_is_looped(own, ROWS)
    assert_is_looped(wg.jacobian(own), ROWS)
    shared = wg.buffer(np.zeros(2))

    def written(x: Any, value: Any) -> Any:
        shared[0] = value
        return x * shared[0]

    np.testing.assert_array_equal(wg.vmap(written, in_axes=(0, None))(np.ones(2), 3.0), [3.0, 3.0])
    np.testing.assert_array_equal(shared[:].numpy(), [3.0, 0.0])
    with pytest.raises(TypeError, match="cannot be assigned what differs between examples"):
        wg.vmap(written)(np.ones(2), np.ones(2))


@pytest.mark.parametrize("ragged", [[1.0, [2.0, 3.0]], [[1.0, 2.0], [3.0]]])
def test_a_ragged_list_is_refused_by_the_name_of_its_argument(ragged):
    with pytest.raises(ValueError, match="argument 0 is a list whose parts differ in length"):
        wg.vmap(lambda x: x)(ragged)
    with pytest.raises(ValueError, match="argument 1 is a list whose parts differ in length"):
        wg.vmap(lambda x, y: x)(np.ones(2), ragged)
