"""Derivatives at repeated eigenvalues and singular values: right, or NaN, and never another number.

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
            if values == "apart":
                assert np.isfinite([turned, other]).all()


def test_second_derivatives_along_an_aligned_direction_are_right() -> None:
    hessian = np.asarray(wg.hessian(SPECTRAL["eigh"][0])(np.eye(2)))
    assert hessian[0, 0].diagonal().tolist() == [2, 0]
    assert hessian[1, 1].diagonal().tolist() == [0, 2]


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
        assert np.isnan(found[1]).all()
