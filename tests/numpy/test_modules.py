"""`wg.linalg` and `wg.fft` against `numpy.linalg` and `numpy.fft`: every name, every argument, values and gradients.

Factors that are free up to signs are compared through what they make.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg

DATA: dict[str, Any] = {
    "V": np.array([0.31, -0.52, 0.73, 1.24]),
    "W": np.array([1.1, 0.6, 2.3, 0.4]),
    "A": np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.7]]),
    "S": np.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.1, 0.5, 4.0]]),
    "B": np.array([[[2.0, 0.3], [0.4, 1.5]], [[1.2, -0.3], [0.2, 0.9]]]),
}
CALLS = """
linalg.cholesky(S + S.T, upper=False)
linalg.cholesky(S + S.T, upper=True)
linalg.cond(x=S, p=None)
linalg.cond(S, "fro")
linalg.cross(S, S[::-1], axis=1)
linalg.det(a=B)
linalg.diagonal(B, offset=1)
abs(linalg.eig(a=S)[0]).sum()
abs(linalg.eigvals(a=S)).prod()
linalg.eigh(a=S, UPLO="U")[0]
abs(linalg.eigh(S + S.T)[1])
linalg.eigh(S + S.T, "L")[0]
linalg.eigvalsh(a=S, UPLO="U")
linalg.inv(a=B)
linalg.lstsq(a=S[:, :2], b=V[:3], rcond=1e-12)[0]
linalg.lstsq(S[:, :2], V[:3])[1]
linalg.lstsq(S[:, :2], V[:3])[2]
linalg.lstsq(S[:, :2], V[:3])[3]
linalg.matmul(B, B)
linalg.matrix_norm(B, keepdims=True, ord=1)
linalg.matrix_norm(B, ord="nuc")
linalg.matrix_power(a=B, n=3)
linalg.matrix_power(a=B, n=-2)
linalg.matrix_rank(A=B, tol=0.1, hermitian=False)
linalg.matrix_rank(B, rtol=0.5)
linalg.matrix_transpose(B)
linalg.multi_dot(arrays=[A, S, A.T, V[:2]])
linalg.norm(x=A, ord="fro", axis=(0, 1), keepdims=True)
linalg.norm(A, 3, 1)
linalg.outer(V, W)
linalg.pinv(a=A, rcond=1e-12, hermitian=False)
linalg.pinv(B, rtol=[1e-12, 1e-13])
abs(linalg.qr(a=S, mode="complete")[1])
abs(linalg.qr(S, mode="r"))
linalg.slogdet(a=B)[1]
linalg.solve(a=B, b=B[0])
linalg.solve(S, V[:3])
linalg.svd(a=A, full_matrices=False, compute_uv=False, hermitian=False)
linalg.svdvals(B)
linalg.tensordot(A, S, axes=([1], [0]))
linalg.tensorinv(a=B.reshape(2, 2, 2)[0], ind=1)
linalg.tensorsolve(a=S.reshape(3, 3), b=V[:3])
linalg.tensorsolve(a=S, b=V[:3], axes=(0,))
linalg.trace(B, offset=1, dtype=float)
linalg.vecdot(A, A[::-1], axis=0)
linalg.vector_norm(A, axis=1, keepdims=True, ord=3)
fft.fft(a=V, n=6, axis=0, norm="ortho")
fft.ifft(a=V, n=3, axis=0, norm="forward")
fft.rfft(a=V, n=6, axis=0, norm="ortho")
fft.irfft(a=V, n=6, axis=0, norm="ortho")
fft.hfft(a=V, n=6, axis=0, norm="ortho")
fft.ihfft(a=V, n=6, axis=0, norm="ortho")
fft.fft2(a=A, s=(2, 4), axes=(0, 1), norm="ortho")
fft.ifft2(a=A, s=(2, 4), axes=(0, 1), norm="ortho")
fft.rfft2(a=A, s=(2, 4), axes=(0, 1), norm="ortho")
fft.irfft2(a=A, s=(2, 4), axes=(0, 1), norm="ortho")
fft.fftn(a=B, s=(2, 4), axes=(0, 2), norm="ortho")
fft.ifftn(a=B, s=(2, 4), axes=(0, 2), norm="ortho")
fft.rfftn(a=B, s=(2, 4), axes=(0, 2), norm="ortho")
fft.irfftn(a=B, s=(2, 4), axes=(0, 2), norm="ortho")
fft.fftshift(x=A, axes=1)
fft.ifftshift(x=A, axes=(0, 1))
fft.fftfreq(n=5, d=0.5)
fft.rfftfreq(n=6, d=2.0)
"""
ROWS = [line for line in CALLS.splitlines() if line]
HOMES = {"linalg": (np.linalg, wg.linalg), "fft": (np.fft, wg.fft)}
FOR_NUMPYS_SAKE = {"out", "device"}


def called(row: str, side: int, values: dict[str, Any]) -> Any:
    return eval(row, {"np": np, **{name: pair[side] for name, pair in HOMES.items()}, **values})


def rows(given: list[str]) -> Any:
    return pytest.mark.parametrize("row", given)


def test_every_name_and_argument_is_there() -> None:
    used: dict[str, set[str]] = {}
    for row in ROWS:
        for node in ast.walk(ast.parse(row)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).partition(".")[0] in HOMES:
                home, _, name = ast.unparse(node.func).partition(".")
                names = [*inspect.signature(getattr(HOMES[home][1], name)).parameters]
                used.setdefault(f"{home}.{name}", set()).update(
                    {*names[: len(node.args)]} | {k.arg for k in node.keywords if k.arg}
                )
    absent = []
    for home, (theirs, ours) in HOMES.items():
        for name in theirs.__all__:
            f = getattr(ours, name)
            if name == "LinAlgError" or f is getattr(theirs, name):
                continue
            parameters = [p for p in inspect.signature(f).parameters if p not in FOR_NUMPYS_SAKE]
            wanted = [p for p in inspect.signature(getattr(theirs, name)).parameters if p not in FOR_NUMPYS_SAKE]
            assert parameters == wanted or "/" in str(inspect.signature(f)), name
            absent += [f"{home}.{name}({p})" for p in {*parameters} - used.get(f"{home}.{name}", set())]
    assert not absent, sorted(absent)


@rows(ROWS)
@pytest.mark.parametrize("kind", ["arrays", "tensors"])
def test_values_are_numpys(row: str, kind: str) -> None:
    data = DATA if kind == "arrays" else {name: wg.tensor(x) for name, x in DATA.items()}
    ours, theirs = called(row, 1, data), called(row, 0, DATA)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-10, atol=1e-13)
    assert np.asarray(ours).dtype.kind == np.asarray(theirs).dtype.kind


# integers, numbers of no array; gradients that are symmetric
NO_GRADIENT = ("matrix_rank", "[2]", "fftfreq", "eigh(a=S, UPLO", "eigvalsh(a=S, UPLO")


@rows([row for row in ROWS if not any(part in row for part in NO_GRADIENT)])
def test_gradients_are_those_of_differences(row: str) -> None:
    names = sorted({node.id for node in ast.walk(ast.parse(row)) if isinstance(node, ast.Name)} & {*DATA})

    def f(*xs: Any) -> Any:
        return called(row, 1, dict(zip(names, xs, strict=True)))

    assert wg.check_gradients(f, *(DATA[name] for name in names), order=1, rtol=1e-5).checked


@rows([row for row in ROWS if "fftfreq" not in row])
def test_numpy_itself_on_tensors_is_recorded(row: str) -> None:
    with wg.GradientTape() as tape:
        data = {name: wg.tensor(x) for name, x in DATA.items()}
        for x in data.values():
            tape.watch(x)
        result = called(row, 0, data)
    assert isinstance(result, wg.Tensor)
    np.testing.assert_allclose(result.numpy(), called(row, 0, DATA), rtol=1e-10, atol=1e-13)


def test_out_takes_the_result_of_a_plain_tensor() -> None:
    out = np.zeros(4, complex)
    assert np.fft.fft(wg.tensor(DATA["V"]), out=out) is out
    np.testing.assert_allclose(out, np.fft.fft(DATA["V"]))
    with pytest.raises(wg.LostGradientError, match=r"np\.fft\.fft with out="):
        wg.grad(lambda x: wg.real(np.fft.fft(x, out=out)).sum())(DATA["V"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wg.linalg.tensorinv(DATA["A"], 1), np.linalg.LinAlgError, ["tensorinv", "(2, 3)", "first 1 axes"]),
        (lambda: wg.linalg.tensorinv(DATA["S"], 0), ValueError, ["tensorinv", "ind is 0", "positive"]),
        (lambda: wg.linalg.tensorsolve(DATA["A"], DATA["V"]), np.linalg.LinAlgError, ["tensorsolve", "(2, 3)", "(4,)"]),
        (lambda: wg.linalg.tensorsolve(DATA["S"], DATA["V"][:3], axes=(5,)), ValueError, ["tensorsolve", "axis 5"]),
        (lambda: wg.linalg.matrix_rank(DATA["S"], tol=1, rtol=1), ValueError, ["matrix_rank", "tol and rtol"]),
    ],
)  # fmt: skip
def test_errors_say_what_came_and_what_was_wanted(call: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert all(word in str(caught.value) for word in words), caught.value


def test_submodules_are_imported_by_name():
    import wengert.numpy as wnp
    from wengert.numpy import fft, linalg, random
    from wengert.numpy.fft import rfft
    from wengert.numpy.linalg import LinAlgError, solve
    from wengert.numpy.random import default_rng, normal

    assert (solve, LinAlgError, rfft) == (wg.linalg.solve, np.linalg.LinAlgError, wg.fft.rfft)
    assert (default_rng, normal) == (np.random.default_rng, np.random.normal)
    assert (wnp.linalg, wnp.fft, wnp.random) == (linalg, fft, random)
    gradient = wg.grad(lambda b: wnp.linalg.solve(np.eye(2) * 2, b).sum())(np.ones(2))
    np.testing.assert_array_equal(gradient, [0.5, 0.5])
    assert (wnp.linalg, wnp.random) == (wg.linalg, np.random)
