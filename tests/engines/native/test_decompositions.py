"""Factorisations and determinants in compiled code, batched and in loops, beside NumPy's kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.constant import constant
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.lower import cofactors, spectra
from wengert._prims import decompositions as prims
from wengert._prims import linalg

RNG = np.random.default_rng(53)
OPS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda a: prims.eigh(a, lower=True),
    "eigh of the upper triangle": lambda a: prims.eigh(a, lower=False),
    "svd": prims.svd,
    "qr": prims.qr,
    "complement": lambda a: prims.complement(prims.qr(a[..., :-1])[0]),
    "pinv": lambda a: prims.pinv(a, rcond=1e-14),
    "cofactor": prims.cofactor,
    "inv_or_inf": prims.inv_or_inf,
    "det": prims.det,
}


def both(f: Callable[[Any], Any], a: Any) -> list[tuple[Any, Any]]:
    """What compiled code gives, and what the kernels do."""
    found, wanted = wg.function(f)(a), f(constant(a))
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    return [(np.asarray(x), np.asarray(y)) for x, y in pairs]


def require_close(found: Any, wanted: Any, rtol: float) -> None:
    assert found.dtype == wanted.dtype
    scale = float(np.max(np.abs(wanted), initial=1e-30))
    np.testing.assert_allclose(found, wanted, rtol, rtol * scale)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 33])
def test_values_and_signs_are_those_of_the_kernels(n: int, dtype: str, name: str) -> None:
    for lead in ((), (2, 0), (2, 3)):
        a = (RNG.normal(size=(*lead, n, n)) + 2 * np.eye(n)).astype(dtype)
        for found, wanted in both(OPS[name], a):
            # rounding, as far as the condition of such matrices and of their vectors lets it grow
            require_close(found, wanted, 1e-10 if dtype == "float64" else 2e-3)


SYSTEMS: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda a: linalg.cholesky(a @ wg.conj(a.swapaxes(-1, -2))),
    "solve": lambda a: linalg.solve(a, a[..., :2] * 2 + 1),
    "inv": linalg.inv,
    "lu": prims.lu,
    "slogdet": prims.slogdet,
    **{
        f"triangular_solve {trans}": lambda a, trans=trans: linalg.triangular_solve(
            a + wg.eye(a.shape[-1], dtype=a.dtype) * 9,
            a[..., :2] * 1,
            lower=trans != 1,
            trans=trans,
            unit_diagonal=False,
        )
        for trans in (0, 1, 2)
    },
}


@pytest.mark.parametrize("name", [*OPS, *SYSTEMS])
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("n", [1, 2, 5, 7, 33])
def test_complex_matrices_are_machine_code_too(n: int, dtype: str, name: str) -> None:
    """Values, vectors and their phases; nothing leaves machine code."""
    for lead in ((), (2, 0), (2, 3)):
        a = (RNG.normal(size=(*lead, n, n)) + 1j * RNG.normal(size=(*lead, n, n)) + 2 * np.eye(n)).astype(dtype)
        for found, wanted in both((OPS | SYSTEMS)[name], a):
            require_close(found, wanted, 1e-10 if dtype == "complex128" else 2e-3)
    assert {part.by for part in wg.function((OPS | SYSTEMS)[name]).report(a).parts} <= {"machine code", "library"}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("name", "place"), [("eigh", 0), ("svd", 1), ("qr", 1), ("svd", 0)])
def test_what_nobody_reads_is_not_computed(name: str, place: int, dtype: str) -> None:
    """Values without vectors, R without Q; also of matrices that are not square."""
    a = RNG.normal(size=(3, 7, 7)) + (1j * RNG.normal(size=(3, 7, 7)) if dtype == "complex128" else 0)
    for x in (a,) if name == "eigh" else (a, a[..., :4], *([a[:, :4]] if name == "svd" else [])):
        found = np.asarray(wg.function(lambda x: OPS[name](x)[place])(x))
        require_close(found, np.asarray(OPS[name](constant(x))[place]), 1e-11)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 7, 3), (2, 3, 7), (1, 4), (40, 2), (0, 3), (3, 0), (2, 0, 0)])
def test_matrices_that_are_not_square(shape: tuple[int, ...]) -> None:
    real = RNG.normal(size=shape)
    for a in (real, real + 1j * RNG.normal(size=shape)):
        for name in ("svd", "qr", "pinv", "lu"):
            if name != "qr" or shape[-2] >= shape[-1]:
                for found, wanted in both((OPS | SYSTEMS)[name], a):
                    require_close(found, wanted, 1e-12)


@pytest.mark.parametrize("columns", [1, 5, 24, 40, 90])
@pytest.mark.parametrize("share", [1.0, 1.4, 1.5, 1.6, 1.8, 2.0, 4.0])
def test_lapack_takes_the_room_that_it_gets(columns: int, share: float) -> None:
    # with too little of it a routine refuses to work, and NumPy's kernel would be called: only time would tell
    rows, b = int(columns * share), Builder()
    for shape in ((rows, columns), (columns, rows)):
        for type_, routine in (("f64", lapack.dgesdd), ("c128", lapack.zgesdd)):
            a = RNG.normal(size=shape) + np.eye(*shape) * (1j if type_ == "c128" else 1)
            length = spectra._room_for_svd(b, type_, columns, rows)
            for job in (True, False):
                *_, info = routine(a, full_matrices=False, compute_uv=job, lwork=length)
                assert info == 0
    square = RNG.normal(size=(rows, rows))
    for type_, routine in (("f64", lapack.dsyevd), ("c128", lapack.zheevd)):
        *_, info = routine(square, lwork=spectra._room_for_eigh(b, type_, rows))
        assert info == 0


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [2, 5, 9, 32])
def test_factors_of_singular_matrices(n: int, dtype: str) -> None:
    """A column of zeros has no pivot; what comes after it is as LAPACK has it."""
    a = RNG.normal(size=(4, n, n)) + (1j * RNG.normal(size=(4, n, n)) if dtype == "complex128" else 0)
    a[0, :, n // 2] = 0
    a[1, :, 0] = 0
    a[2] = 0
    for found, wanted in both(prims.lu, a):
        require_close(found, wanted, 1e-12)


def test_pseudo_inverses_of_singular_matrices_and_of_sizes_that_only_a_run_tells() -> None:
    f = wg.function(OPS["pinv"], input_signature=[wg.TensorSpec((None, None, None), np.complex128)])
    for m, n, rank in ((4, 4, 2), (3, 7, 3), (6, 2, 1), (3, 3, 0)):
        parts = [RNG.normal(size=(2, m, rank, 2)), RNG.normal(size=(2, rank, n, 2))]
        left, right = (x[..., 0] + 1j * x[..., 1] for x in parts)
        np.testing.assert_allclose(f(left @ right), np.linalg.pinv(left @ right, 1e-14), 1e-11, 1e-11)
        np.testing.assert_allclose(wg.function(OPS["pinv"])(left @ right), f(left @ right), 1e-13, 1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9, 34])
def test_cofactors_of_singular_matrices(n: int) -> None:
    for rank in {n - 1, n - 2, 1} - {0}:
        a = RNG.normal(size=(2, n, rank)) @ RNG.normal(size=(2, rank, n))
        size = float(np.max(np.linalg.norm(a, 2, (-2, -1)))) ** (n - 1)
        for found, wanted in both(prims.cofactor, a):
            np.testing.assert_allclose(found / size, wanted / size, 0, 1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_cofactors_of_long_and_of_short_rows_are_the_same_numbers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=(3, 11, 11)) + (1j * RNG.normal(size=(3, 11, 11)) if dtype == "complex128" else 0)
    a[0] = np.round(2 * a[0])  # pivots that are equal
    a[1, 3] = a[1, 4]
    found: list[Any] = []
    monkeypatch.setattr(cofactors, "MODEST", 0.0)  # by pivots, however far from singular
    for long in (0, 1000):
        monkeypatch.setattr(cofactors, "LONG", long)
        found.append(np.asarray(wg.function(lambda a: prims.cofactor(a))(a.astype(dtype))))
    np.testing.assert_array_equal(*found)
    assert np.any(found[0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("n", [5, 6, 8, 13, 32, 33])
def test_cofactors_by_exchanges_and_by_pivots_agree(n: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=(6, n, n)) + (1j * RNG.normal(size=(6, n, n)) if dtype[0] == "c" else 0)
    a = (a / np.sqrt(n) + np.eye(n) * np.linspace(1, 3, n)).astype(dtype)
    for k in range(3):  # all rows elsewhere, with either sign
        a[k] = a[k][RNG.permutation(n)]
    a[3] *= 2
    a[4] /= 2
    rounding = 1e-13 if dtype in ("float64", "complex128") else 1e-6
    found: list[Any] = []
    for modest in (1e6, 0.0):
        monkeypatch.setattr(cofactors, "MODEST", modest)
        found.append(np.asarray(wg.function(lambda a: prims.cofactor(a))(a)))
    for this, other in zip(*found, strict=True):
        np.testing.assert_allclose(this, other, 0, abs(other).max() * rounding)


@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_determinants_beyond_the_range_of_partial_products(n: int) -> None:
    scales = np.ones(n)
    scales[:2] = 1e200, 1e-250
    for far in (scales, 1 / scales, scales[::-1], np.where(scales == 1, 1e-160, 1.0)):
        a = np.stack([np.diag(far), np.eye(n)])
        found, wanted = both(prims.det, a)[0]
        np.testing.assert_allclose(found, wanted, 1e-13)


@pytest.mark.parametrize("name", OPS)
def test_what_is_not_finite_is_as_the_kernels_have_it(name: str) -> None:
    for bad in (np.nan, np.inf):
        a = RNG.normal(size=(2, 3, 3))
        a[1, 2, 0] = bad
        try:
            with np.errstate(all="ignore"):
                wanted = OPS[name](constant(a))
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=re.escape(str(error).splitlines()[0])):
                wg.function(OPS[name])(a)
            continue
        with np.errstate(all="ignore"):
            found = wg.function(OPS[name])(a)
        for x, y in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, wanted)], strict=True):
            np.testing.assert_allclose(x, np.asarray(y), 1e-12)


def _in_steps(name: str) -> Callable[[Any], Any]:
    def step(carry: Any, shift: Any) -> tuple[Any, Any]:
        found = OPS[name](carry + shift)
        found = found if isinstance(found, tuple) else (found,)
        # what does not depend on the signs of vectors
        return carry * 0.9, sum(wg.sum(x * x * x * x) for x in found)

    return lambda a: wg.sum(wg.scan(step, a, np.linspace(0.0, 0.3, 4))[1])


@pytest.mark.parametrize("name", [name for name in OPS if name != "complement"])
@pytest.mark.parametrize("n", [3, 7])
def test_loops_and_their_gradients_stay_machine_code(n: int, name: str) -> None:
    a = RNG.normal(size=(n, n)) * 0.2 + np.diag(1.0 + np.arange(n))
    f = _in_steps(name)
    report = wg.function(wg.value_and_grad(f)).report(a)
    assert {part.by for part in report.parts} <= {"machine code", "library"}, report
    value, gradient = wg.function(wg.value_and_grad(f))(a)
    wanted, slope = wg.value_and_grad(f)(a)
    require_close(np.asarray(value), np.asarray(wanted), 1e-11)
    require_close(np.asarray(gradient), np.asarray(slope), 1e-9)


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_no_equations_have_no_solution_to_write(columns: int) -> None:
    nothing, right = np.zeros((0, 0)), np.zeros((0, columns))
    assert wg.function(wg.linalg.solve)(nothing, right).shape == (0, columns)
