"""vjp, jvp, linearize, jacobian, hessian, hvp: values, structures, kinds, refusals, and how they nest."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(11)
X = RNG.normal(size=3)
# two orders of the same sums
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def _vector(x: Any) -> Any:
    return wg.stack([x[0] * x[1], wg.sin(x[2]), x[0] ** 2, (x * x).sum()])


JACOBIAN = np.array([[X[1], X[0], 0], [0, 0, np.cos(X[2])], [2 * X[0], 0, 0], [*(2 * X)]])


# -- vjp, jvp, linearize ----------------------------------------------------------------------------------------------


def test_vjp_of_structures():
    p = {"w": RNG.normal(size=(2, 3)), "b": np.ones(2)}
    f = lambda p, x: {"y": p["w"] @ x + p["b"], "sizes": ((p["w"] ** 2).sum(), 3)}
    y, pullback = wg.vjp(f, p, X)
    np.testing.assert_allclose(y["y"], p["w"] @ X + 1)
    of_p, of_x = pullback({"y": np.array([1.0, 10.0]), "sizes": (2.0, None)})
    np.testing.assert_allclose(of_p["w"], np.outer([1, 10], X) + 4 * p["w"])
    np.testing.assert_allclose(of_p["b"], [1, 10])
    np.testing.assert_allclose(of_x, p["w"].T @ [1, 10])
    again = pullback({"y": np.zeros(2), "sizes": (1.0, None)})
    np.testing.assert_allclose(again[0]["w"], 2 * p["w"])


def test_vjp_and_linearize_copy_their_primals():
    x = X.copy()
    _, pullback = wg.vjp(lambda x: x * x, x)
    _, push = wg.linearize(lambda x: x * x, x)
    x[:] = 0
    np.testing.assert_allclose(pullback(np.ones(3))[0], 2 * X)
    np.testing.assert_allclose(push(np.ones(3)), 2 * X)


def test_auxiliary_results():
    f = lambda x: (x * 2, {"n": x + 1})
    y, pullback, aux = wg.vjp(f, 3.0, has_aux=True)
    assert (y, pullback(1.0), aux) == (6.0, (2.0,), {"n": 4.0})
    assert wg.jvp(f, (3.0,), (1.0,), has_aux=True) == (6.0, 2.0, {"n": 4.0})
    with pytest.raises(TypeError, match="must return a pair"):
        wg.jvp(lambda x: x, (3.0,), (1.0,), has_aux=True)


def test_results_are_of_the_callers_kind():
    t = wg.tensor(X)
    assert type(wg.jvp(np.sin, (X,), (X,))[1]) is np.ndarray
    assert type(wg.jvp(wg.sin, (t,), (X,))[1]) is wg.Tensor
    assert type(wg.vjp(wg.sin, t)[1](X)[0]) is wg.Tensor
    assert type(wg.jacobian(wg.sin)(t)) is wg.Tensor
    assert type(wg.jacobian(np.sin)(X)) is np.ndarray
    assert type(wg.hvp(lambda x: x**3, 2.0, 1.0)) is np.float64


def test_integers_in_the_result_have_no_tangent():
    y, dy = wg.jvp(lambda x: (x * 2, wg.argmax(x)), (X,), (X,))
    assert y[1] == X.argmax() and dy[1] is None
    np.testing.assert_allclose(dy[0], 2 * X)


def test_dtypes_are_those_of_the_arguments():
    x = X.astype(np.float32)
    assert wg.jvp(wg.sin, (x,), (X,))[1].dtype == np.float32
    assert wg.vjp(wg.sin, x)[1](X)[0].dtype == np.float32
    assert wg.jacobian(wg.sin)(x).dtype == np.float32
    assert wg.hessian(lambda x: wg.sin(x).sum())(x).dtype == np.float32


def test_linearize_is_linear_and_does_the_rest_once():
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return wg.exp(x) * x, (x**2).sum()

    y, push = wg.linearize(f, X)
    for v in (np.ones(3), X):
        np.testing.assert_allclose(push(v)[0], (np.exp(X) * (X + 1)) * v, **EXACT)
        np.testing.assert_allclose(push(v)[1], 2 * X @ v, **EXACT)
    assert len(runs) == 1
    np.testing.assert_allclose(wg.grad(lambda x: wg.linearize(lambda v: v**3, x)[1](1.0))(2.0), 12.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wg.vjp(3, X), TypeError, "must be callable"),
        (lambda: wg.vjp(wg.sin), TypeError, "at least one primal"),
        (lambda: wg.vjp(wg.sin, np.arange(3)), TypeError, "dtype int64"),
        (lambda: wg.vjp(wg.sin, X)[1](np.ones(2)), ValueError, r"shape \(2,\), wanted exactly f\(x\)'s shape \(3,\)"),
        (lambda: wg.vjp(wg.sin, X)[1](X * 1j), TypeError, "complex128.*float64"),
        (lambda: wg.vjp(lambda x: (x, x), X)[1](X), ValueError, r"structure of f\(x\), \(\*, \*\)"),
        (lambda: wg.vjp(lambda x: (x, x), X)[1]((X, None)), ValueError, r"None where f\(x\) has an array"),
        (lambda: wg.vjp(lambda x: wg.zeros(2), X)[1](np.ones(2)), wg.DisconnectedError, "does not depend"),
        (lambda: wg.jvp(wg.sin, X, X), TypeError, "list or tuple as primals, got ndarray"),
        (lambda: wg.jvp(wg.sin, (X,), X), TypeError, "list or tuple as tangents"),
        (lambda: wg.jvp(wg.sin, (X,), (X, X)), ValueError, "one for each of 1 primals, got 2"),
        (
            lambda: wg.jvp(wg.sin, (X,), (np.ones(2),)),
            ValueError,
            r"shape \(2,\), wanted exactly the primal's shape \(3,\)",
        ),
        (lambda: wg.jvp(wg.sin, (X,), (X * 1j,)), TypeError, "complex128.*float64"),
        (lambda: wg.jvp(lambda p: p["a"], ({"a": X},), ({"b": X},)), ValueError, r"structure of p, \{'a': \*\}"),
        (lambda: wg.jvp(lambda x: 3.0, (X,), (X,)), wg.DisconnectedError, "no floating-point result of f depends"),
        (lambda: wg.linearize(wg.sin, X)[1](X, X), ValueError, "one for each of 1 primals, got 2"),
        (lambda: wg.jacobian(wg.sin, mode="backward"), ValueError, "unknown mode 'backward'"),
        (lambda: wg.jacobian(wg.sin, chunk=0), ValueError, "positive integer or None as chunk, got 0"),
        (lambda: wg.jacobian(wg.sin, argnums=2)(X), ValueError, "asks for positional argument 2"),
        (lambda: wg.jacobian(lambda x: wg.zeros(2))(X), wg.DisconnectedError, "does not depend"),
        (lambda: wg.jacobian(lambda x: wg.exp(1j * x))(X), TypeError, "the result is complex"),
        (lambda: wg.jacobian(wg.sin, holomorphic=True)(X), TypeError, "are complex, got float64"),
        (lambda: wg.jacobian(wg.abs, mode="forward")(X + 1j), TypeError, "needs mode='reverse'"),
        (lambda: wg.hessian(wg.sin)(X), ValueError, r"must return a scalar, but it returned shape \(3,\)"),
        (lambda: wg.hvp(wg.sin, X, X), ValueError, "must return a scalar"),
        (lambda: wg.hvp(lambda x: x.sum(), X, np.ones(2)), ValueError, r"shape \(2,\)"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_unconnected_on_request():
    assert wg.vjp(lambda x, y: x, 1.0, 2.0, unconnected_gradients="zero")[1](1.0) == (1.0, 0.0)
    assert wg.vjp(lambda x, y: x, 1.0, 2.0, unconnected_gradients="none")[1](1.0) == (1.0, None)
    assert wg.jvp(lambda x: 3.0, (1.0,), (1.0,), unconnected_gradients="zero") == (3.0, 0.0)
    assert wg.jvp(lambda x: 3.0, (1.0,), (1.0,), unconnected_gradients="none") == (3.0, None)
    found = wg.jacobian(lambda x, y: x * 2, argnums=(0, 1), unconnected_gradients="none")(X, X)
    assert found[1] is None
    for mode in ("reverse", "forward"):
        found = wg.jacobian(lambda x, y: x * 2, argnums=(0, 1), unconnected_gradients="zero", mode=mode)(X, X)
        np.testing.assert_array_equal(found[1], np.zeros((3, 3)))
        # beside a result that depends on it, one that does not has zeros
        found = wg.jacobian(lambda x: (x * 2, wg.ones(2)), mode=mode)(X)
        np.testing.assert_array_equal(found[1], np.zeros((2, 3)))


# -- jacobian, hessian, hvp -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
@pytest.mark.parametrize("chunk", [None, 1, 2, 100])
def test_jacobian(mode: str, chunk: int | None) -> None:
    jacobian = wg.jacobian(_vector, mode=mode, chunk=chunk)
    np.testing.assert_allclose(jacobian(X), JACOBIAN, **EXACT)
    np.testing.assert_allclose(wg.function(jacobian)(X), JACOBIAN, **EXACT)
    np.testing.assert_allclose(wg.jacobian(wg.function(_vector), mode=mode, chunk=chunk)(X), JACOBIAN, **EXACT)
    np.testing.assert_allclose(wg.vmap(jacobian)(np.stack([2 * X, X]))[1], JACOBIAN, **EXACT)
    value, found = wg.value_and_jacobian(_vector, mode=mode, chunk=chunk)(X)
    np.testing.assert_allclose(value, [X[0] * X[1], np.sin(X[2]), X[0] ** 2, X @ X])
    np.testing.assert_allclose(found, JACOBIAN, **EXACT)


def test_jacobian_of_structures():
    p = {"w": RNG.normal(size=(2, 3)), "b": np.ones(2)}
    f = lambda p, x, *, scale: (scale * (p["w"] @ x) + p["b"], {"n": (p["w"] ** 2).sum()})
    for mode in ("reverse", "forward"):
        found = wg.jacobian(f, argnums=(0, 1), mode=mode)(p, X, scale=2.0)
        of_p, of_x = found[0]
        np.testing.assert_allclose(of_p["w"], 2 * np.einsum("ij,k->ijk", np.eye(2), X))
        np.testing.assert_allclose(of_p["b"], np.eye(2))
        np.testing.assert_allclose(of_x, 2 * p["w"])
        np.testing.assert_allclose(found[1]["n"][0]["w"], 2 * p["w"])
        np.testing.assert_array_equal(found[1]["n"][1], np.zeros(3))


@pytest.mark.parametrize(("rows", "columns", "mode"), [(2, 5, "reverse"), (5, 2, "forward"), (3, 3, "forward")])
def test_auto_takes_the_shorter_side(rows: int, columns: int, mode: str) -> None:
    """A function whose two rules disagree tells which one is used."""

    def marked(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 10.0

    f = wg.custom_gradient(marked, jvp=lambda primals, tangents: (primals[0] * 1.0, tangents[0] * 20.0))
    w = RNG.normal(size=(rows, columns))
    np.testing.assert_allclose(
        wg.jacobian(lambda x: w @ f(x))(np.ones(columns)), w * {"reverse": 10, "forward": 20}[mode]
    )


def test_chunks_bound_the_memory():
    n = 600
    f = lambda x: wg.sin(wg.cos(x) * x).cumsum()
    x = np.linspace(0, 1, n)

    def peak(chunk: int | None) -> int:
        tracemalloc.start()
        found = wg.jacobian(f, mode="reverse", chunk=chunk)(x)
        used = tracemalloc.get_traced_memory()[1] - found.nbytes
        tracemalloc.stop()
        return used

    assert peak(20) < peak(None) / 2


def test_complex():
    z = X + 1j * X[::-1]
    for mode in ("reverse", "forward", "auto"):
        found = wg.jacobian(lambda z: z**3 * z[0], mode=mode, holomorphic=True)(z)
        wanted = np.diag(3 * z**2 * z[0])
        wanted[:, 0] += z**3
        np.testing.assert_allclose(found, wanted, **EXACT)
    # of a real result the rows are directions of steepest ascent
    np.testing.assert_allclose(wg.jacobian(lambda z: wg.real(z * wg.conj(z)))(z), np.diag(2 * z), **EXACT)


def test_size_unknown_while_tracing():
    run = wg.function(wg.jacobian(lambda x: x**2), input_signature=[wg.TensorSpec((None,))])
    for n in (1, 3):
        np.testing.assert_allclose(run(X[:n]), np.diag(2 * X[:n]))


def test_no_elements():
    assert wg.jacobian(lambda x: x[:0] * 2, mode="reverse")(X).shape == (0, 3)
    assert wg.jacobian(lambda x: x[:0] * 2, mode="forward")(X).shape == (0, 3)
    assert wg.jacobian(lambda x: wg.zeros(2) + x.sum(), mode="forward")(X[:0]).shape == (2, 0)


def test_hessian_and_its_product():
    f = lambda x: wg.exp(x[0]) * x[1] ** 2 + x[2]
    e = np.exp(X[0])
    wanted = np.array([[e * X[1] ** 2, 2 * e * X[1], 0], [2 * e * X[1], 2 * e, 0], [0, 0, 0]])
    for chunk in (None, 2):
        np.testing.assert_allclose(wg.hessian(f, chunk=chunk)(X), wanted, **EXACT)
    np.testing.assert_allclose(wg.function(wg.hessian(f))(X), wanted, **EXACT)
    np.testing.assert_allclose(wg.hvp(f, X, np.ones(3)), wanted.sum(1), **EXACT)
    np.testing.assert_array_equal(wg.hessian(lambda x: x.sum())(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(wg.hvp(lambda x: 3 * x, 2.0, 1.0), 0.0)


def test_hessian_of_structures():
    f = lambda p, y: (p["a"] ** 2).sum() * y + p["b"] * y**2
    p = {"a": X, "b": 2.0}
    h = wg.hessian(f, argnums=(0, 1))(p, 3.0)
    np.testing.assert_allclose(h[0]["a"][0]["a"], 6 * np.eye(3))
    np.testing.assert_allclose(h[0]["a"][1], 2 * X)
    np.testing.assert_allclose(h[1][0]["a"], 2 * X)
    np.testing.assert_array_equal(h[0]["a"][0]["b"], np.zeros(3))
    assert h[0]["b"][0]["b"] == 0 and h[0]["b"][1] == 6 and h[1][1] == 4
    alone = wg.hessian(lambda p: (p["a"] ** 2).sum() * p["b"])(p)
    np.testing.assert_allclose(alone["a"]["b"], 2 * X)


def test_of_the_same_array_in_two_places():
    found = wg.jacobian(lambda x, y: x * y**2, argnums=(0, 1))(X, X)
    np.testing.assert_allclose(found[0], np.diag(X**2))
    np.testing.assert_allclose(found[1], np.diag(2 * X**2))


def test_gradients_of_jacobians():
    for mode in ("reverse", "forward"):
        jacobian = wg.jacobian(_vector, mode=mode)
        found = wg.grad(lambda x, jacobian=jacobian: (jacobian(x) ** 2).sum())(X)
        wanted = np.array([10 * X[0] + 8 * X[0], 2 * X[1] + 8 * X[1], -2 * np.sin(X[2]) * np.cos(X[2]) + 8 * X[2]])
        wanted[0] = 2 * X[0] + 8 * X[0] + 8 * X[0]
        np.testing.assert_allclose(found, wanted, **EXACT)


def test_an_op_that_cannot_be_batched_is_looped():
    def refuse(inputs: Any, batched: Any) -> Any:
        raise NotImplementedError("one at a time")

    alone = wg.primitive(
        "derivatives_alone", spec=lambda x: x, numpy=np.sin, batch=refuse, vjp=lambda ct, out, x: alone(ct),
        jvp=lambda tangents, out, x: alone(tangents[0]),
    )  # fmt: skip
    with pytest.raises(NotImplementedError, match="one at a time"):
        wg.vmap(alone)(np.ones((2, 3)))
    for mode in ("reverse", "forward"):
        np.testing.assert_allclose(wg.jacobian(alone, mode=mode)(X), np.sin(1) * np.eye(3))
    t = wg.tensor(X)
    with wg.GradientTape() as tape:
        tape.watch(t)
        y = alone(t)
    np.testing.assert_allclose(tape.jacobian(y, t).numpy(), np.sin(1) * np.eye(3))


# -- how they nest ----------------------------------------------------------------------------------------------------


def _forward(f: Any) -> Any:
    return lambda x: wg.jvp(f, (x,), (1.0,))[1]


NESTINGS = [(o, i) for o in (_forward, wg.grad) for i in (_forward, wg.grad)]
nested = pytest.mark.parametrize(("outer", "inner"), NESTINGS, ids=["ff", "fr", "rf", "rr"])


@nested
def test_perturbations_are_not_confused(outer: Any, inner: Any) -> None:
    assert outer(lambda x: x * inner(lambda y: x + y)(2.0))(1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(2.0))(3.0) == 6.0
    assert outer(lambda x: inner(lambda y: inner(lambda z: x * y * z)(y))(x))(5.0) == 1.0
    assert outer(inner(lambda x: x**3))(2.0) == 12.0
    assert outer(outer(inner(lambda x: x**4)))(2.0) == 48.0


@nested
def test_perturbations_are_not_confused_in_loops(outer: Any, inner: Any) -> None:
    def repeated(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, v: v * inner(lambda y: x * y + y)(2.0), x)  # x (1 + x)^3

    def scanned(x: Any) -> Any:
        return wg.scan(lambda c, z: (c * inner(lambda y: z * y * x)(c), c), x, wg.tensor([1.0, 2.0]))[0]  # 2 x^3

    def until(x: Any) -> Any:
        return wg.while_loop(lambda v: v < 50.0, lambda v: v * v * x, inner(lambda y: x * y * y)(2.0))

    for run in (lambda f: f, wg.function):
        np.testing.assert_allclose(run(outer(repeated))(2.0), 3.0**3 + 2 * 3 * 3.0**2, **EXACT)
        np.testing.assert_allclose(run(outer(scanned))(2.0), 24.0, **EXACT)
        np.testing.assert_allclose(run(outer(until))(1.5), 16 * 3 * 1.5**2, **EXACT)
        np.testing.assert_allclose(
            wg.vmap(run(outer(until)))(np.array([1.5, 2.5])), [16 * 3 * 1.5**2, outer(until)(2.5)], **EXACT
        )


# -- branches and loops in forward mode -------------------------------------------------------------------------------


def _random_body(rng: np.random.Generator) -> Any:
    moves = [
        lambda v, w: wg.sin(w @ v), lambda v, w: v * v / 2 + w[0], lambda v, w: wg.tanh(v)[::-1] * w[1],
        lambda v, w: v / (1 + v @ v), lambda v, w: wg.linalg.inv(wg.eye(3) + wg.outer(v, v)) @ w.sum(axis=0),
    ]  # fmt: skip
    a, b = (moves[i] for i in rng.integers(0, len(moves), 2))
    return lambda v, w: a(v, w) + 0.3 * b(v, w)


def _constructs(seed: int, policy: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    one, two = _random_body(rng), _random_body(rng)
    rows = rng.normal(size=(4, 3))
    return {
        "cond": lambda x, w: wg.cond(x.sum() > 0, one, two, x, w),
        "switch": lambda x, w: wg.switch((x > 0).sum(), [one, two, lambda v, w: one(two(v, w), w)], x, w),
        "scan": lambda x, w: wg.scan(lambda c, z: (one(c, w) + z, two(c, w)), x, rows * x, checkpoint=policy),
        "while": lambda x, w: wg.while_loop(
            lambda i, v: i < 3 + v[0], lambda i, v: (i + 1.0, one(v, w) + x), (0.0, x), checkpoint=policy
        )[1],
    }  # fmt: skip


@pytest.mark.sampled(2)  # four seconds each
@pytest.mark.parametrize(
    ("name", "policy"),
    [("cond", None), ("switch", None), *((n, p) for n in ("scan", "while") for p in ("all", "auto", 2))],
)
@pytest.mark.parametrize("seed", range(3))
def test_forward_is_the_adjoint_of_reverse(name: str, seed: int, policy: Any) -> None:
    f = wg.function(_constructs(seed, policy)[name])
    rng = np.random.default_rng(seed + 100)
    x, w, dx, dw = rng.normal(size=3), rng.normal(size=(3, 3)) / 2, rng.normal(size=3), rng.normal(size=(3, 3))

    def dot(xs: Any, ys: Any) -> Any:
        pairs = zip(wg.tree.leaves(xs), wg.tree.leaves(ys), strict=True)
        return sum(float(np.vdot(a, b)) for a, b in pairs)

    def check(f: Any) -> None:
        y, pullback = wg.vjp(f, x, w)
        u = wg.tree.map(lambda leaf: rng.normal(size=np.shape(leaf)), y)
        dy = wg.jvp(f, (x, w), (dx, dw))[1]
        pushed, pulled = dot(u, dy), dot(pullback(u), (dx, dw))
        # relative to the size of the terms, which may cancel
        assert abs(pushed - pulled) <= 1e-12 * (1 + sum(np.abs(leaf).sum() for leaf in wg.tree.leaves(dy)))

    check(f)
    total = lambda x, w: sum((leaf**2).sum() for leaf in wg.tree.leaves(f(x, w)))
    check(wg.grad(total, argnums=(0, 1)))  # forward over reverse beside reverse over reverse
    check(lambda x, w: wg.jvp(f, (x, w), (dx, dw))[1])  # forward over forward beside reverse over forward
    hessian = wg.hessian(total)(x, w)
    backward = wg.jacobian(wg.grad(total), mode="reverse")(x, w)
    twice = wg.jacobian(wg.jacobian(total, mode="forward"), mode="forward")(x, w)
    for other in (backward, twice, hessian.T):
        np.testing.assert_allclose(other, hessian, rtol=1e-10, atol=1e-10 * (1 + np.abs(hessian).max()))


def test_forward_mode_through_a_loop_keeps_no_history():
    """Issue: the number of steps is known at run time only, and memory does not grow with it."""
    run = wg.function(lambda x, n: wg.jvp(
        lambda v: wg.while_loop(lambda i, u: i < n, lambda i, u: (i + 1, wg.sin(u) + v), (0, v))[1], (x,), (wg.ones(100),)
    )[1])  # fmt: skip
    x = np.linspace(0, 1, 100)
    for _ in range(3):  # the second call makes what shortens all later ones
        run(x, np.int64(2))

    def peak(steps: int) -> int:
        tracemalloc.start()
        run(x, np.int64(steps))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(2000) < 2 * peak(20)


def test_eager_forward_mode_keeps_no_history():
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = wg.sin(x)
        return x

    def peak(steps: int) -> int:
        tracemalloc.start()
        wg.jvp(lambda x: f(x, steps), (np.ones(1000),), (np.ones(1000),))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(300) < 2 * peak(10)


# -- custom gradients in forward mode ---------------------------------------------------------------------------------


def test_custom_gradients_are_transposed_where_they_are_linear():
    @wg.custom_gradient
    def tenfold(x: Any) -> Any:
        return x * x, lambda dy: 10 * dy * x

    assert wg.jvp(tenfold, (3.0,), (1.0,)) == (9.0, 30.0)
    np.testing.assert_allclose(wg.jacobian(tenfold, mode="forward")(X), np.diag(10 * X))
    np.testing.assert_allclose(wg.jacobian(wg.function(tenfold), mode="forward")(X), np.diag(10 * X))


def test_custom_gradients_that_are_not_linear_are_refused_in_forward_mode_only():
    @wg.custom_gradient
    def clipped(x: Any) -> Any:
        return x * x, lambda dy: wg.clip(dy, -1.0, 1.0)

    with pytest.raises(LookupError, match="not linear in the upstream gradient"):
        wg.jvp(clipped, (3.0,), (1.0,))
    with pytest.raises(LookupError, match="not linear"):
        wg.jacobian(clipped, mode="forward")(X)
    np.testing.assert_allclose(wg.jacobian(clipped)(X), np.eye(3))  # "auto" goes the other way


@pytest.mark.parametrize("policy", ["auto", "all", "sqrt", 2])
def test_loops_that_run_as_plain_python(policy: Any) -> None:
    """Every way to the same derivatives, whatever a tape keeps of the loop."""
    f = lambda x: wg.while_loop(lambda v: (v * v).sum() < 50, lambda v: v * 1.5 + wg.sin(v), x, checkpoint=policy)
    total = lambda x: (f(x) ** 2).sum()
    wanted, units = wg.jacobian(wg.function(f), mode="reverse")(X), np.eye(3)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(wg.jacobian(f, mode=mode)(X), wanted, **EXACT)
    push, pull = wg.linearize(f, X)[1], wg.vjp(f, X)[1]
    np.testing.assert_allclose(np.stack([push(e) for e in units], 1), wanted, **EXACT)
    np.testing.assert_allclose(np.stack([pull(e)[0] for e in units]), wanted, **EXACT)
    second = wg.hessian(wg.function(total))(X)
    for other in (
        wg.hessian(total),
        wg.jacobian(wg.grad(total), mode="reverse"),
        wg.jacobian(wg.jacobian(total, mode="forward")),
    ):
        np.testing.assert_allclose(other(X), second, rtol=1e-10, atol=1e-10)


def test_the_vocabularys_jvp_has_kerass_names() -> None:
    y, dy = wg.ops.jvp(fun=_vector, primals=(X,), tangents=(np.ones(3),))
    wanted, moved = wg.jvp(_vector, (X,), (np.ones(3),))
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(dy, moved)
    assert wg.ops.jvp(lambda x: (x * x, "aux"), (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, "aux")


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(("given", "inside"), [("float32", "float64"), ("float64", "float32"), ("float16", "float32")])
def test_a_jacobian_has_the_dtype_of_its_argument_in_every_mode(wrap: Any, given: str, inside: str) -> None:
    def cubes(x: Any) -> Any:
        return x.astype(inside) ** 3

    x = np.array([1.0, 2.0], given)
    f, total = wrap(cubes), wrap(lambda x: wg.sum(cubes(x)))
    found = [wg.jacobian(f, mode=mode)(x) for mode in ("forward", "reverse", "auto")]
    found += [wrap(wg.jacobian(cubes, mode=mode))(x) for mode in ("forward", "reverse")]
    found += [wg.hessian(total)(x), wg.jacobian(wg.grad(total), mode="reverse")(x), wg.value_and_jacobian(f)(x)[1]]
    with wg.GradientTape() as tape:
        source = wg.tensor(x)
        tape.watch(source)
        y = f(source)
    found.append(tape.jacobian(y, source))
    assert {str(matrix.dtype) for matrix in found} == {given}
    assert wg.jacobian(lambda x: (cubes(x), x * 2.0), mode="forward")(x)[0].dtype == given
    if given != "float16":  # SciPy's matrices know no halves
        ways = [wg.jacobian(f, sparsity=np.eye(2), mode=mode)(x) for mode in ("forward", "reverse")]
        assert {str(matrix.dtype) for matrix in ways} == {given}


@pytest.mark.parametrize("place", range(3))
def test_hessians_of_two_loops_compiled(place):
    """The second sweep asks the first loop for more, behind a loop that gives nothing where it is followed."""

    def f(x, y, z):
        last, (_, rows) = wg.scan(lambda c, r: (c, (c * 0.5, wg.sin(y))), z, x)
        going = lambda i, c, d: (i < 20) & (wg.sum(wg.abs(c)) < 1000.0)
        kept = wg.while_loop(going, lambda i, c, d: (i + 1, c, d), (0, last, x))[2]
        return wg.sum(kept * kept) + wg.sum(rows * rows)

    hessian = wg.hessian(f, place)
    arguments = np.array([0.3]), np.array([[0.4]], np.float32), np.float64(0.7)
    np.testing.assert_allclose(wg.function(hessian)(*arguments), hessian(*arguments), rtol=1e-6, atol=0)


@pytest.mark.parametrize("policy", ["all", "sqrt", "auto"])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_gradients_of_jacobians_of_gradients_of_loops_compiled(length, policy):
    """The innermost sweep and the middle one both ask the loop for more than the outermost tape has seen."""

    def inner(x):
        step = lambda y: lambda c, _: (wg.sin(c) * y, x)
        ended = lambda y: wg.scan(step(y), x, None, length=length, checkpoint=policy)[0]
        return wg.sin(ended(x))

    gradient = wg.grad(wg.jacobian(inner, mode="reverse"))
    for f in (gradient, wg.grad(gradient)):
        np.testing.assert_allclose(wg.function(f)(0.3), f(0.3), rtol=1e-12)
