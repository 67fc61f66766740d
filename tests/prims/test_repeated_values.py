"""Derivatives at repeated eigenvalues and singular values: right where a function is smooth, else NaN.

The references are functions of matrices whose derivatives are known without a decomposition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert as wg

linalg = wg.linalg
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def rotation(n: int, is_complex: bool) -> Any:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if is_complex else 0)
    return np.linalg.qr(x)[0]


def with_values(values: Any, is_complex: bool = False, is_turned: bool = True) -> Any:
    turn = rotation(len(values), is_complex) if is_turned else np.eye(len(values))
    return turn @ np.diag(values) @ turn.conj().T


SPECTRA = {
    "double": [1.0, 1.0, 2.0], "triple": [1.0, 1.0, 1.0], "apart": [1.0, 1.5, 2.0], "near": [1.0, 1.0 + 1e-6, 2.0],
    "nearer": [1.0, 1.0 + 1e-9, 2.0], "nearest": [1.0, 1.0 + 1e-13, 2.0], "zeros": [0.0, 0.0, 2.0],
}  # fmt: skip
W = np.arange(9.0).reshape(3, 3) + np.diag([1.0, 0.5, 0.0])
MATRICES = [
    pytest.param(with_values(values, is_complex, is_turned), name, id=f"{name}{is_complex * ' complex'}{is_turned * ' turned'}")
    for name, values in SPECTRA.items() for is_complex, is_turned in ((False, False), (False, True), (True, True))
]  # fmt: skip


def assert_right_or_nan(found: Any, wanted: Any, what: str = "", tolerance: float = 1e-4) -> None:
    found = np.asarray(found)
    assert not np.isinf(found).any(), what
    known = ~np.isnan(found)
    scale = np.abs(wanted).max() + 1
    np.testing.assert_allclose(found[known], np.asarray(wanted)[known], rtol=tolerance, atol=tolerance * scale, err_msg=what)  # fmt: skip


def of_vectors(x: Any) -> Any:
    values, vectors = linalg.eigh(x)
    back = wg.conj(vectors).T
    return wg.real(wg.sum(W * ((vectors * wg.exp(values)) @ back)))


def of_general_vectors(x: Any) -> Any:
    values, vectors = linalg.eig(x)
    return wg.real(wg.sum(W * ((vectors * wg.exp(values)) @ linalg.inv(vectors))))


def of_singular_vectors(x: Any) -> Any:
    u, s, vh = linalg.svd(x, full_matrices=False)
    return wg.real(wg.sum(W[: x.shape[0], : x.shape[1]] * ((u * s**3) @ vh)))


def directional(f: Any, x: Any, step: Any) -> Any:
    """Along a direction, in forward mode."""
    return wg.jvp(f, (x,), (step,))[1]


def directions(x: Any) -> list[Any]:
    rng = np.random.default_rng(4)
    steps = [rng.normal(size=x.shape), np.eye(*x.shape), x * 1.0]
    if np.iscomplexobj(x):
        steps[0] = steps[0] + 1j * rng.normal(size=x.shape)
    return [(s + s.conj().T).astype(x.dtype) for s in steps]


@pytest.mark.parametrize(("x", "name"), MATRICES)
@pytest.mark.parametrize("f", [of_vectors, of_general_vectors])
def test_first_derivatives_through_eigenvectors(f: Any, x: Any, name: str) -> None:
    for way in (lambda g: g, wg.function):
        gradient = np.asarray(way(wg.grad(f))(x))
        for step in directions(x):
            wanted = np.sum(W * scipy.linalg.expm_frechet(x, step, compute_expm=False)).real
            assert_right_or_nan(np.sum(gradient.conj() * step).real, wanted, f"reverse, {name}")
            assert_right_or_nan(way(lambda x, step=step: directional(f, x, step))(x), wanted, f"forward, {name}")
        if name in ("apart", "near"):
            assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("x", "name"), MATRICES)
@pytest.mark.parametrize("columns", [3, 2])
def test_first_derivatives_through_singular_vectors(x: Any, name: str, columns: int) -> None:
    x = x[:, :columns]
    for way in (lambda g: g, wg.function):
        gradient = np.asarray(way(wg.grad(of_singular_vectors))(x))
        rng = np.random.default_rng(5)
        for step in (rng.normal(size=x.shape).astype(x.dtype), x * 1.0, np.eye(*x.shape).astype(x.dtype)):
            back = step.conj().T  # u s^3 vh is x x^H x
            wanted = np.sum(W[:, :columns] * (step @ x.conj().T @ x + x @ back @ x + x @ x.conj().T @ step)).real
            assert_right_or_nan(np.sum(gradient.conj() * step).real, wanted, f"reverse, {name}")
            found = way(lambda x, step=step: directional(of_singular_vectors, x, step))(x)
            assert_right_or_nan(found, wanted, f"forward, {name}")
        if name in ("apart", "near") and columns == 3:
            assert np.isfinite(gradient).all()


def symmetrised(x: Any) -> Any:
    return (x + wg.conj(x).T) / 2


# f, and its Hessian times a direction
SPECTRAL = {
    "eigvalsh": (lambda x: wg.sum(linalg.eigvalsh(symmetrised(x)) ** 3), lambda x, e: 3 * (e @ x + x @ e)),
    "eigh": (lambda x: wg.sum(linalg.eigh(symmetrised(x))[0] ** 2), lambda x, e: 2 * e),
    "eigvals": (lambda x: wg.real(wg.sum(linalg.eigvals(symmetrised(x)) ** 2)), lambda x, e: 2 * e),
    "svdvals": (lambda x: wg.sum(linalg.svdvals(x) ** 2), lambda x, e: 2 * e),
}


@pytest.mark.parametrize("f", SPECTRAL)
@pytest.mark.parametrize("values", SPECTRA)
def test_second_derivatives_of_functions_of_the_values(f: str, values: str) -> None:
    function, product = SPECTRAL[f]
    x = with_values(SPECTRA[values])
    gradient = wg.grad(function)
    for way in (lambda g: g, wg.function):
        for step in directions(x):
            wanted = product(x, step)
            assert_right_or_nan(way(lambda x, e=step: directional(gradient, x, e))(x), wanted, "forward over reverse")
            turned = way(wg.grad(lambda x, e=step: wg.sum(gradient(x) * e)))(x)
            assert_right_or_nan(turned, wanted, "reverse over reverse")
            other = way(wg.grad(lambda x, e=step: directional(function, x, e)))(x)
            assert_right_or_nan(other, wanted, "reverse over forward")
            if values == "apart" or f != "eigvals":  # general matrices may lack a basis of eigenvectors nearby
                assert np.isfinite([turned, other]).all()


def test_values_have_exact_gradients() -> None:
    for f in (lambda x: wg.sum(wg.exp(linalg.eigvalsh(x))), lambda x: wg.sum(wg.exp(linalg.eigh(x)[0]))):
        np.testing.assert_allclose(wg.grad(f)(np.eye(3)), np.eye(3) * np.e)
        np.testing.assert_allclose(wg.function(wg.grad(f))(np.stack([np.eye(3)] * 2)), [np.eye(3) * np.e] * 2)


def test_vectors_that_nothing_reads_contribute_nothing() -> None:
    x = np.diag([1.0, 2.0, 2.0])
    for way in (lambda g: g, wg.function):
        found = np.asarray(way(wg.grad(lambda x: wg.sum(W[0] * linalg.eigh(x)[1][:, 0] * linalg.eigh(x)[1][0, 0])))(x))
        # the first vector turns by e_0k / (1 - 2)
        wanted = -np.array([[0, W[0, 1], W[0, 2]], [W[0, 1], 0, 0], [W[0, 2], 0, 0]]) / 2
        np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_examples_of_a_batch_do_not_spoil_each_other() -> None:
    good = with_values(SPECTRA["apart"])
    for f in (lambda x: wg.vmap(of_vectors)(x), lambda x: wg.stack([of_vectors(x[0]), of_vectors(x[1])])):
        found = np.asarray(wg.grad(lambda x, f=f: wg.sum(f(x)))(np.stack([good, np.eye(3)])))
        np.testing.assert_allclose(found[0], wg.grad(of_vectors)(good), rtol=1e-12)
        np.testing.assert_allclose(found[1], (W + W.T) / 2 * np.e, rtol=1e-12)
    unsmooth = lambda x: wg.sum(W * linalg.eigh(x)[1])
    found = np.asarray(wg.grad(lambda x: wg.sum(wg.vmap(unsmooth)(x)))(np.stack([good, np.eye(3)])))
    np.testing.assert_allclose(found[0], wg.grad(unsmooth)(good), rtol=1e-12)
    assert np.isnan(found[1]).all()


# -- limits: smooth functions of values and vectors -----------------------------------------------------------------


def of_eigh(f: Any) -> Any:
    """The matrix function V f(e) V^H."""

    def function(x: Any) -> Any:
        values, vectors = linalg.eigh(x)
        return (vectors * f(values)) @ wg.conj(vectors).T

    return function


def of_svd(f: Any) -> Any:
    """U f(s) V^H."""

    def function(x: Any) -> Any:
        u, s, vh = linalg.svd(x, full_matrices=False)
        return (u * f(s)) @ vh

    return function


def applied(x: Any) -> Any:
    """A matrix function times a vector, which is never whole."""
    values, vectors = linalg.eigh(x)
    return vectors @ (wg.exp(values) * (wg.conj(vectors).T @ np.arange(1.0, 1 + x.shape[0])))


def of_eig(x: Any) -> Any:
    values, vectors = linalg.eig(x)
    return wg.real((vectors * wg.exp(values)) @ linalg.inv(vectors))


def hermitian(x: Any) -> Any:
    return (x + x.conj().T) / 2


# what is computed by a decomposition, by other means, and whether it takes Hermitian matrices
SMOOTH = {
    "exponential": (of_eigh(wg.exp), lambda x: scipy.linalg.expm(hermitian(x)), True),
    "identity": (of_eigh(lambda e: e), hermitian, True),
    "inverse": (of_eigh(lambda e: 1 / e), lambda x: np.linalg.inv(hermitian(x)), True),
    "applied": (applied, lambda x: scipy.linalg.expm(hermitian(x)) @ np.arange(1.0, 1 + len(x)), True),
    "singular cube": (of_svd(lambda s: s**3), lambda x: x @ x.conj().T @ x, False),
    "polar u": (lambda x: linalg.polar(x)[0], lambda x: scipy.linalg.polar(x)[0], False),
    "polar p": (lambda x: linalg.polar(x, "left")[1], lambda x: scipy.linalg.polar(x, "left")[1], False),
    "general": (of_eig, lambda x: scipy.linalg.expm(x).real, False),
}
REGULAR = frozenset({"inverse", "polar u", "polar p"})
PLACES = {
    "identity": np.eye(2), "double": np.diag([1.0, 1.0, 2.0]), "turned": with_values([1.0, 1.0, 2.0]),
    "two": with_values([1.0, 1.0, 2.0, 2.0]), "complex": with_values([1.0, 1.0, 2.0], is_complex=True),
    "zeros": with_values([0.0, 0.0, 2.0]),
}  # fmt: skip
MODES = {
    "reverse": lambda f, x, step, w: np.sum(np.conj(wg.grad(total(f, w))(x)) * step).real,
    "compiled reverse": lambda f, x, step, w: np.sum(np.conj(wg.function(wg.grad(total(f, w)))(x)) * step).real,
    "reverse through a call": lambda f, x, step, w: np.sum(np.conj(wg.grad(total(wg.function(f), w))(x)) * step).real,
    "forward": lambda f, x, step, w: np.sum(w * wg.jvp(f, (x,), (step,))[1]).real,
    "compiled forward": lambda f, x, step, w: np.sum(w * wg.function(lambda x: wg.jvp(f, (x,), (step,))[1])(x)).real,
    "forward through a call": lambda f, x, step, w: np.sum(w * wg.jvp(wg.function(f), (x,), (step,))[1]).real,
    "linear": lambda f, x, step, w: np.sum(w * wg.linearize(f, x)[1](step)).real,
    "batch": lambda f, x, step, w: (
        np.sum(
            np.conj(wg.grad(lambda xs: wg.sum(wg.vmap(total(f, w))(xs)))(np.stack([x + 0.3 * step, x])))[1] * step
        ).real
    ),
    "batch of gradients": lambda f, x, step, w: (
        np.sum(np.conj(wg.vmap(wg.grad(total(f, w)))(np.stack([x, x + 0.3 * step])))[0] * step).real
    ),
}


def total(f: Any, weights: Any) -> Any:
    return lambda x: wg.real(wg.sum(weights * f(x)))


def step_like(x: Any, is_hermitian: bool) -> Any:
    rng = np.random.default_rng(6)
    step = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if np.iscomplexobj(x) else 0)
    return hermitian(step) if is_hermitian else step


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.sampled(60)
def test_smooth_functions_of_values_and_vectors_have_their_derivatives(name: str, place: str, mode: str) -> None:
    f, reference, is_hermitian = SMOOTH[name]
    x = PLACES[place]
    if (name in REGULAR and place == "zeros") or (name == "general" and place == "complex"):
        return  # no function there, or one of real matrices
    step = step_like(x, is_hermitian)
    weights = np.random.default_rng(7).normal(size=reference(x).shape)
    h = 1e-5
    wanted = np.sum(weights * (reference(x + h * step) - reference(x - h * step)) / (2 * h)).real
    np.testing.assert_allclose(MODES[mode](f, x, step, weights), wanted, rtol=1e-7, atol=1e-7)
    if name != "general":  # in float32 the vectors of nearly symmetric matrices are nobody's
        narrow = [v.astype({"f": np.float32, "c": np.complex64}[v.dtype.kind]) for v in (x, step, weights)]
        np.testing.assert_allclose(MODES[mode](f, *narrow), wanted, rtol=1e-2, atol=1e-2)


def test_the_example_of_a_weighted_exponential() -> None:
    weights = np.array([[0.0, 1.0], [2.0, 3.0]])
    wanted = (weights + weights.T) / 2 * np.e
    for way in (lambda g: g, wg.function):
        np.testing.assert_allclose(way(wg.grad(total(of_eigh(wg.exp), weights)))(np.eye(2)), wanted, rtol=1e-12)


# scalar functions of the values, and their Hessian times a direction at x
VALUES = {
    "squares of eigenvalues": (lambda x: wg.sum(linalg.eigvalsh(symmetrised(x)) ** 2), lambda x, e: 2 * hermitian(e)),
    "squares of singular values": (lambda x: wg.sum(linalg.svdvals(x) ** 2), lambda x, e: 2 * e),
    "logarithms": (
        lambda x: wg.sum(wg.log(linalg.eigvalsh(symmetrised(x)))),
        lambda x, e: -np.linalg.inv(x) @ hermitian(e) @ np.linalg.inv(x),
    ),
    "nuclear norm": (
        lambda x: linalg.norm(x, "nuc"),
        lambda x, e: (scipy.linalg.polar(x + 1e-6 * e)[0] - scipy.linalg.polar(x - 1e-6 * e)[0]) / 2e-6,
    ),
}
SECOND = {
    "hessian": lambda f, x, e: np.tensordot(np.asarray(wg.hessian(f)(x)), e),
    "compiled hessian": lambda f, x, e: np.tensordot(np.asarray(wg.function(wg.hessian(f))(x)), e),
    "hessian of a compiled function": lambda f, x, e: np.tensordot(np.asarray(wg.hessian(wg.function(f))(x)), e),
    "hvp": wg.hvp,
    "reverse over reverse": lambda f, x, e: wg.grad(lambda x: wg.sum(wg.grad(f)(x) * e))(x),
    "reverse over reverse through a call": lambda f, x, e: SECOND["reverse over reverse"](wg.function(f), x, e),
    "reverse over forward": lambda f, x, e: wg.grad(lambda x: wg.jvp(f, (x,), (e,))[1])(x),
    "rows": lambda f, x, e: np.tensordot(np.asarray(wg.jacobian(wg.grad(f), mode="reverse")(x)), e),
}


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("place", ["identity", "double", "turned", "two"])
@pytest.mark.parametrize("name", VALUES)
def test_second_derivatives_of_smooth_functions_of_the_values(name: str, place: str, mode: str) -> None:
    f, product = VALUES[name]
    x = PLACES[place]
    step = step_like(x, False)
    np.testing.assert_allclose(SECOND[mode](f, x, step), product(x, step), rtol=1e-8, atol=1e-8)


def projection(x: Any) -> Any:
    vectors = linalg.eigh(x)[1][:, :2]
    return vectors @ vectors.T


# functions that are not smooth there, although some conditions for it hold at the basis that LAPACK gives
UNSMOOTH = {
    "a symmetric sum of vectors": (lambda x: wg.sum(linalg.eigh(x)[1] * (W + W.T)), np.eye(3)),
    "a sum of left vectors": (lambda x: wg.sum(linalg.svd(x)[0]), np.eye(3)),
    "a projection on two of three": (lambda x: wg.sum(W * projection(x)), np.eye(3)),
    "one of two": (lambda x: wg.sum(W[0] * linalg.eigh(x)[1][:, 2]) * linalg.eigh(x)[1][0, 2], np.diag([1.0, 2.0, 2.0])),
    "weighted squares at 0": (wg.grad(lambda x: wg.sum(W[0] * linalg.eigvalsh(x) ** 2)), np.zeros((3, 3))),
    "a polar factor of a singular matrix": (lambda x: wg.sum(W * linalg.polar(x)[0]), np.diag([1.0, 0.0, 0.0])),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSMOOTH)
def test_what_is_not_smooth_has_nan(name: str) -> None:
    f, x = UNSMOOTH[name]
    step = np.random.default_rng(8).normal(size=(3, 3))
    for way in (lambda g: g, wg.function):
        assert np.isnan(np.asarray(way(wg.jacobian(f, mode="reverse"))(x))).any()
        assert np.isnan(np.asarray(way(lambda x: wg.jvp(f, (x,), (step,))[1])(x))).any()
        through = wg.function(f)
        assert np.isnan(np.asarray(way(wg.jacobian(through, mode="reverse"))(x))).any()


def test_results_that_are_smooth_only_together_are_nan_through_a_call() -> None:
    both = wg.function(lambda x: tuple(linalg.eigh(x)))

    def f(x: Any) -> Any:
        values, vectors = both(x)
        return wg.sum(W * ((vectors * wg.exp(values)) @ vectors.T))

    for g in (wg.grad(f), wg.jacobian(f, mode="forward")):
        assert_right_or_nan(g(np.eye(3)), (W + W.T) / 2 * np.e)


def test_a_limit_is_not_differentiated_again() -> None:
    f = total(of_eigh(wg.exp), W)
    for second in (wg.hessian(f), wg.jacobian(wg.grad(f), mode="reverse"), wg.function(wg.hessian(f))):
        assert np.isnan(np.asarray(second(np.eye(3)))).all()
        assert np.isfinite(np.asarray(second(with_values(SPECTRA["apart"])))).all()


def test_vectors_of_distinct_values_keep_their_second_derivatives() -> None:
    def f(x: Any) -> Any:
        vectors = linalg.eigh(x)[1]
        return wg.sum(W[0] * vectors[:, 0]) * vectors[0, 0]

    x = np.diag([1.0, 2.0, 2.0])
    step = hermitian(step_like(x, True))
    near = wg.grad(lambda x: wg.sum(wg.grad(f)(x) * step))(x + np.diag([0, 0, 1e-5]))
    np.testing.assert_allclose(wg.grad(lambda x: wg.sum(wg.grad(f)(x) * step))(x), near, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (1, 1)])
def test_empty_matrices_and_batches_have_empty_gradients(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    for f in (lambda x: wg.sum(linalg.eigh(x)[1] ** 2), lambda x: wg.sum(linalg.svd(x, full_matrices=False)[0] ** 2)):
        for g in (wg.grad(f), wg.function(wg.grad(f)), wg.grad(wg.function(f))):
            np.testing.assert_array_equal(np.asarray(g(x)), np.zeros(shape))


def test_limits_in_a_branch_and_in_a_loop() -> None:
    sinusoid = of_eigh(wg.sin)
    wanted = wg.grad(total(sinusoid, np.ones((2, 2))))(np.eye(2))
    np.testing.assert_allclose(wanted, np.full((2, 2), np.cos(1)), rtol=1e-12)
    branch = lambda x: wg.sum(wg.cond(wg.sum(x) > 0, sinusoid, lambda x: x, x))
    loop = lambda x: wg.sum(wg.fori_loop(0, 1, lambda i, c: sinusoid(c), x))
    for f in (branch, loop):
        for g in (wg.grad(f), wg.function(wg.grad(f)), wg.function(wg.jacobian(f, mode="forward"))):
            np.testing.assert_allclose(np.asarray(g(np.eye(2))), wanted, rtol=1e-12)


ALIGNED = np.diag([1.0, 2.0, 3.0])  # a tangent along which the basis at hand stays one of eigenvectors


def mixed(f: Any, step: Any) -> Any:
    """The tangent along a step of the tangent along `ALIGNED`."""
    return lambda x: directional(lambda x: directional(f, x, ALIGNED), x, step)


@pytest.mark.parametrize("name", ["exponential", "singular cube", "general"])
def test_a_tangent_along_which_the_basis_stays_has_a_derivative_along_itself(name: str) -> None:
    f, reference, _ = SMOOTH[name]
    x, h = np.diag([1.0, 3.0, 3.0]), 1e-3
    wanted = (reference(x + h * ALIGNED) - 2 * reference(x) + reference(x - h * ALIGNED)) / (h * h)
    for way in (lambda g: g, wg.function)[: 2 if name == "exponential" else 1]:  # compiling takes seconds
        np.testing.assert_allclose(way(mixed(f, ALIGNED))(x), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("f", [lambda x: linalg.eigh(x)[1], lambda x: linalg.svd(x)[0], lambda x: projection(x)])
def test_a_tangent_along_which_the_basis_stays_has_no_derivative_along_others(f: Any) -> None:
    x, step = 2 * np.eye(3), step_like(np.eye(3), True)
    assert np.isnan(mixed(f, step)(x)).all()
    back = wg.grad(lambda x: wg.sum(W * directional(f, x, ALIGNED)))
    for way in (lambda g: g, wg.function):
        assert np.isnan(np.asarray(way(back)(x))).all()


def again(op: str, x: Any) -> Any:
    """A smooth function of a matrix by its decomposition, whose operand came of vectors in the second turn."""
    if op == "svd":
        u, s, vh = wg.linalg.svd(x, full_matrices=False)
        return (u * wg.sin(s)) @ vh + x * 0.5
    values, vectors = getattr(wg.linalg, op)(x @ x.T)
    back = wg.linalg.inv(vectors) if op == "eig" else vectors.T
    return wg.real((vectors * wg.sin(values)) @ back) + x * 0.5


@pytest.mark.parametrize(
    ("op", "is_compiled"), [("eigh", False), ("eig", False), ("svd", False), ("eigh", True), ("svd", True)]
)
def test_decompositions_of_what_came_of_vectors_have_tangents(op: str, is_compiled: bool) -> None:
    """In a trace nobody knows whether values are equal: where they are not, nothing is lost."""
    rng = np.random.default_rng(5)
    x, v = rng.normal(size=(2, 4, 4))

    def f(x: Any) -> Any:
        return wg.sum(again(op, again(op, x)) ** 3)

    run = wg.function(lambda x, v: wg.jvp(f, (x,), (v,))[1]) if is_compiled else lambda x, v: wg.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(run(x, v), np.sum(np.asarray(wg.grad(f)(x)) * v), rtol=1e-9)
    if op != "svd" or not is_compiled:
        same = np.diag([1.0, 1.0, 2.0, 3.0])
        assert np.isnan(run(same, v))
