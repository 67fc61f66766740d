"""`custom_root` and `custom_linear_solve` beside formulas, differences and dense solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg

import wengert as wg

# -- roots ------------------------------------------------------------------------------------------------------------


def secant(f: Any, x0: Any, *args: Any) -> Any:
    """A solver of SciPy's, which sees numbers only."""
    return scipy.optimize.newton(lambda x: f(x, *args), x0, tol=1e-14)


def newton(f: Any, z0: Any, *args: Any) -> Any:
    """A solver that can be traced, for any structure."""
    flat, unravel = wg.tree.ravel(z0)

    def residual(v: Any) -> Any:
        return wg.tree.ravel(f(unravel(v), *args))[0]

    for _ in range(25):
        flat = flat - wg.linalg.solve(wg.jacobian(residual)(flat), residual(flat))
    return unravel(flat)


square_root = wg.custom_root(lambda x, a: x**2 - a, secant)

B, C = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([1.0, 2.0])


def coupled(b: Any, c: Any) -> Any:
    """A function of a root with structure; b reaches it through the closure, c as an argument."""
    root = wg.custom_root(
        lambda z, c: {"u": b @ z["u"] + z["v"] ** 3 - c, "v": z["v"] * 2 - z["u"].sum()}, newton
    )  # fmt: skip
    z = root({"u": np.zeros(2), "v": 0.5}, c)
    return (z["u"] ** 2).sum() + z["v"]


def test_derivatives_of_a_square_root_of_every_order_and_mode() -> None:
    a = 2.0

    def f(a: Any) -> Any:
        return square_root(1.0, a)

    assert f(a) == pytest.approx(a**0.5, rel=1e-14)  # the solver's tolerance
    first, second, third = 0.5 * a**-0.5, -0.25 * a**-1.5, 0.375 * a**-2.5
    found = [
        wg.grad(f)(a), wg.jvp(f, (a,), (1.0,))[1], wg.grad(wg.grad(f))(a),
        wg.jvp(wg.grad(f), (a,), (1.0,))[1], wg.grad(lambda a: wg.jvp(f, (a,), (1.0,))[1])(a),
        wg.jvp(lambda a: wg.jvp(f, (a,), (1.0,))[1], (a,), (1.0,))[1], wg.grad(wg.grad(wg.grad(f)))(a),
    ]  # fmt: skip
    np.testing.assert_allclose(found, [first, first, *[second] * 4, third], rtol=1e-12)  # the solver's tolerance


def test_structures_and_captures() -> None:
    wg.check_gradients(coupled, B, C)
    with wg.GradientTape() as tape:
        b, c = wg.tensor(B), wg.tensor(C)
        tape.watch([b, c])
        y = coupled(b, c)
    gradients = tape.gradient(y, [b, c])
    for found, wanted in zip(gradients, wg.grad(coupled, (0, 1))(B, C), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-13)  # sums in another order


def test_compiled_batched_and_second_order() -> None:
    wanted = wg.grad(coupled, (0, 1))(B, C)
    for g in (wg.grad(wg.function(coupled), (0, 1)), wg.function(wg.grad(coupled, (0, 1)))):
        for found, right in zip(g(B, C), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)  # compiled and eager agree to 1e-12
    both = np.stack([C, 2 * C])
    batched = wg.vmap(wg.grad(coupled, 1), in_axes=(None, 0))(B, both)
    wholly = wg.grad(lambda c: wg.vmap(coupled, in_axes=(None, 0))(B, c).sum())(both)
    into_b = wg.grad(lambda b: wg.vmap(coupled, in_axes=(None, 0))(b, both).sum())(B)
    looped = np.stack([wg.grad(coupled, 1)(B, c) for c in both])
    np.testing.assert_allclose(batched, looped, rtol=1e-12)  # batched and looped agree to 1e-12
    np.testing.assert_allclose(wholly, looped, rtol=1e-12)
    np.testing.assert_allclose(into_b, sum(wg.grad(coupled, 0)(B, c) for c in both), rtol=1e-12)
    pushed = wg.vmap(lambda c: wg.jvp(lambda c: coupled(B, c), (c,), (C,))[1])(both)
    np.testing.assert_allclose(pushed, looped @ C, rtol=1e-12)
    h, eps = wg.hessian(coupled, 1)(B, C), 1e-5
    g = wg.grad(coupled, 1)
    differences = np.stack([(g(B, C + eps * e) - g(B, C - eps * e)) / (2 * eps) for e in np.eye(2)], axis=1)
    np.testing.assert_allclose(h, differences, rtol=1e-8)  # of differences


def test_in_loops_branches_and_recomputation() -> None:
    root = wg.custom_root(
        lambda x, a: x**3 - a, lambda f, x0, a: wg.fori_loop(0, 40, lambda i, x: x - (x**3 - a) / (3 * x**2), x0)
    )
    a = np.array([2.0, 3.0])

    def looped(a: Any) -> Any:
        return wg.scan(lambda c, x: (root(np.ones(()), c + x), c), np.array(1.0), a)[0]

    for f in (looped, wg.function(looped)):
        wg.check_gradients(f, a)

    def plain(a: Any) -> Any:
        return root(np.ones(2), a).sum()

    wanted = a ** (-2 / 3) / 3
    for f in (lambda a: wg.cond(a[0] > 0, plain, lambda a: a.sum(), a), wg.recompute_grad(plain)):
        np.testing.assert_allclose(wg.grad(f)(a), wanted, rtol=1e-12)  # the solver's rounding
    np.testing.assert_array_equal(wg.sparsity(lambda a: root(np.ones(2), a))(a).toarray(), np.ones((2, 2)))


def test_variables_and_the_start() -> None:
    v = wg.Variable(2.0, name="v")
    root = wg.custom_root(lambda x: x**2 - v, lambda f, x0: np.sqrt(2.0))
    value, grads = wg.variable_grads(lambda: root(1.0) * 1.0)
    assert value.item() == np.sqrt(2.0)
    assert grads["v"].item() == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-15)  # one division
    assert wg.grad(square_root)(1.0, 2.0) == 0.0


def test_integers_and_other_arguments_pass_through() -> None:
    seen: list[Any] = []

    def f(x: Any, n: int, how: str, shift: Any) -> Any:
        seen.append((n, how))
        return x**n - shift

    root = wg.custom_root(f, lambda f, x0, n, how, shift: np.float64(2.0))
    index = np.array(8)
    assert root(1.0, 3, "cube", index) == 2.0
    assert wg.grad(lambda s: root(1.0, 3, "cube", s))(8.0) == pytest.approx(1 / 12, rel=1e-15)  # one division
    assert set(seen) == {(3, "cube")}


def test_kinds_and_dtypes() -> None:
    halving = wg.custom_root(lambda x, a: 2 * x - a, lambda f, x0, a: np.asarray(a) / 2)
    x0, a = np.zeros(2, np.float32), np.ones(2, np.float32)
    found = halving(x0, a)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert type(halving(wg.tensor(x0), a)) is wg.Tensor
    assert wg.grad(halving, 1)(x0, a).dtype == np.float32


def test_errors_of_roots() -> None:
    with pytest.raises(TypeError, match="solver must be callable"):
        wg.custom_root(lambda x: x, 3)
    with pytest.raises(TypeError, match="must be callable"):
        wg.custom_root(3, secant)
    with pytest.raises(TypeError, match="not floating"):
        square_root(np.array([True]), 2.0)
    with pytest.raises(ValueError, match=r"returned shape \(3,\) for .*x0, wanted \(2,\)"):
        wg.custom_root(lambda x, a: x - a, lambda f, x0, a: np.zeros(3))(np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="wanted the structure at the start"):
        wg.custom_root(lambda x, a: x, lambda f, x0, a: np.zeros(3))({"a": np.zeros(3)}, 1.0)
    with pytest.raises(ValueError, match="holds 1 numbers, wanted as many as x, 2"):
        wg.grad(wg.custom_root(lambda x, a: x.sum() - a, lambda f, x0, a: x0), 1)(np.zeros(2), 1.0)
    with pytest.raises(np.linalg.LinAlgError, match="not isolated"):
        wg.grad(wg.custom_root(lambda x, a: (x - a) ** 2, lambda f, x0, a: a), 1)(1.0, 2.0)
    with pytest.raises(wg.LostGradientError, match=r"write it with wg\.while_loop"):
        wg.function(wg.custom_root(lambda x, a: x - a, lambda f, x0, a: scipy.optimize.newton(float, x0)))(1.0, 2.0)


# -- linear equations -------------------------------------------------------------------------------------------------

A, RIGHT = np.array([[4.0, 1, 0], [2, 5, 1], [0, 1, 3]]), np.array([1.0, 2.0, 3.0])


def gmres(matvec: Any, b: Any) -> Any:
    n = b.shape[0]
    return scipy.sparse.linalg.gmres(scipy.sparse.linalg.LinearOperator((n, n), matvec), b, rtol=1e-14)[0]


def iterative(a: Any, b: Any) -> Any:
    return (wg.custom_linear_solve(lambda x: a @ x, b, gmres) ** 3).sum()


def direct(a: Any, b: Any) -> Any:
    """A solver that can be traced and knows its matrix."""
    x = wg.custom_linear_solve(
        lambda x: a @ x, b, lambda mv, b: wg.linalg.solve(a, b), lambda vm, b: wg.linalg.solve(a.T, b)
    )  # fmt: skip
    return (x**3).sum()


def reference(a: Any, b: Any) -> Any:
    return (np.linalg.solve(a, b) ** 3).sum()


@pytest.mark.parametrize("solved", [iterative, direct, wg.function(direct)])
def test_linear_solves_of_both_modes(solved: Any) -> None:
    for i in (0, 1):
        np.testing.assert_allclose(  # the iterative solver's tolerance
            wg.grad(solved, i)(A, RIGHT), wg.grad(reference, i)(A, RIGHT), rtol=1e-11, atol=1e-13
        )
    dots = (np.arange(9.0).reshape(3, 3), RIGHT)
    assert wg.jvp(solved, (A, RIGHT), dots)[1] == pytest.approx(wg.jvp(reference, (A, RIGHT), dots)[1], rel=1e-11)
    found = wg.grad(lambda b: wg.grad(solved)(A, b).sum())(RIGHT)
    np.testing.assert_allclose(found, wg.grad(lambda b: wg.grad(reference)(A, b).sum())(RIGHT), rtol=1e-10)
    found = wg.hvp(lambda a: solved(a, RIGHT), A, dots[0])
    np.testing.assert_allclose(found, wg.hvp(lambda a: reference(a, RIGHT), A, dots[0]), rtol=1e-10, atol=1e-13)


def test_linear_solves_in_traces_and_batches() -> None:
    wanted = wg.hessian(reference, 1)(A, RIGHT)
    np.testing.assert_allclose(wg.hessian(wg.function(direct), 1)(A, RIGHT), wanted, rtol=1e-12)  # as compiled
    np.testing.assert_allclose(wg.function(wg.hessian(direct, 1))(A, RIGHT), wanted, rtol=1e-12)
    both = np.stack([RIGHT, 2 * RIGHT])
    found = wg.vmap(wg.grad(direct, 1), in_axes=(None, 0))(A, both)
    np.testing.assert_allclose(found, np.stack([wg.grad(reference, 1)(A, b) for b in both]), rtol=1e-12)


def test_structured_unknowns() -> None:
    def f(k: Any, b: Any) -> Any:
        return wg.custom_linear_solve(
            lambda x: {"p": k * x["p"] + x["q"], "q": 2 * x["q"]}, b,
            lambda mv, b: {"p": (b["p"] - b["q"] / 2) / k, "q": b["q"] / 2},
            lambda vm, c: {"p": c["p"] / k, "q": (c["q"] - (c["p"] / k)) / 2},
        )  # fmt: skip

    b = {"p": np.array(3.0), "q": np.array(4.0)}
    found = f(2.0, b)
    assert (found["p"], found["q"]) == (0.5, 2.0)
    wg.check_gradients(lambda k, p: f(k, {"p": p, "q": p * 2})["p"], 2.0, 3.0)


def test_a_solver_that_ignores_its_function_is_not_used_for_the_transpose() -> None:
    def wrong(a: Any, b: Any) -> Any:
        return wg.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: wg.linalg.solve(a, b)).sum()

    assert wrong(A, RIGHT) == pytest.approx(np.linalg.solve(A, RIGHT).sum(), rel=1e-14)  # a sum
    for f in (wrong, wg.function(wrong)):
        with pytest.raises(ValueError, match="give transpose_solve"):
            wg.grad(f, 1)(A, RIGHT)
        assert wg.jvp(lambda b, f=f: f(A, b), (RIGHT,), (RIGHT,))[1] == pytest.approx(wrong(A, RIGHT), rel=1e-13)


def test_errors_of_linear_solves() -> None:
    with pytest.raises(TypeError, match="matvec must be callable"):
        wg.custom_linear_solve(A, RIGHT, gmres)
    with pytest.raises(TypeError, match="transpose_solve must be callable"):
        wg.custom_linear_solve(lambda x: x, RIGHT, gmres, 3)
    with pytest.raises(TypeError, match="not floating"):
        wg.custom_linear_solve(lambda x: x, np.array([True, False]), gmres)
    with pytest.raises(ValueError, match="holds 2 numbers, wanted as many as x, 3"):
        wg.custom_linear_solve(lambda x: x[:2], RIGHT, lambda mv, b: mv(b))
    with pytest.raises(ValueError, match=r"returned shape \(1,\)"):
        wg.custom_linear_solve(lambda x: x, RIGHT, lambda mv, b: b[:1])
    with pytest.raises(wg.LostGradientError, match="a solver works on symbols"):
        wg.function(iterative)(A, RIGHT)
