"""Wrong shapes, dtypes, axes and values, family by family: an error says which op, what came and what was wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

DATA = {"V": np.arange(1.0, 5.0), "A": np.arange(6.0).reshape(2, 3) + 1, "S": np.eye(3) * 2}
ROWS = """
np.add(V, A) | ValueError | add | (4,) | (2, 3)
np.sin("a") | TypeError | sin | str
np.left_shift(V, 1) | TypeError | left_shift | float64 | integer
np.gcd(V, 2) | TypeError | gcd | float64 | integers
np.fmod(1j, 2) | TypeError | fmod | complex
np.invert(V) | TypeError | float64 | integer or bool
np.ldexp(V, V) | TypeError | ldexp | float64 | integers
np.logaddexp(1j, 2) | TypeError | logaddexp | complex128
np.bitwise_count(V) | TypeError | bitwise_count | float64 | integers
np.sum(A, axis=2) | ValueError | sum | axis 2 | 2 dimensions
np.sum(A, axis=(0, 0)) | ValueError | sum | (0, 0) | repeats
np.max(A, axis=1.5) | TypeError | max | 1.5 | integer
np.max(np.zeros((0, 3)), axis=0) | ValueError | max | (0, 3) | initial
np.sum(A, where=V > 1) | ValueError | sum | (2, 3) | (4,)
np.average(A, weights=V) | ValueError | average | (4,) | (2, 3)
np.median(1j * A) | TypeError | median | complex
np.quantile(A, 1.5) | ValueError | quantile | between 0 and 1
np.quantile(A, 0.5, method="x") | ValueError | quantile | 'x' | linear
np.quantile(A, 0.5, method="linear", weights=A) | ValueError | quantile | 'linear' | inverted_cdf
np.nanquantile(A, 0.5, axis=1, method="inverted_cdf", weights=V) | ValueError | nanquantile | (4,) | (2, 3)
np.trapezoid(A, axis=3) | ValueError | trapezoid | axis 3
np.reshape(A, (4, 2)) | ValueError | reshape | (2, 3) | (4, 2)
np.transpose(A, (0, 1, 2)) | ValueError | transpose | axis 2
np.concatenate([A, V]) | ValueError | concatenate | (2, 3) | (4,)
np.stack([A, V]) | ValueError | stack | (2, 3) | (4,)
np.squeeze(A, axis=0) | ValueError | squeeze | axis 0 | (2, 3)
np.broadcast_to(A, (3, 3)) | ValueError | broadcast_to | (2, 3) | (3, 3)
np.split(V, 3) | ValueError | split | (4,) | 3
np.moveaxis(A, (0, 1), 0) | ValueError | moveaxis | (0, 1)
np.roll(A, 1, axis=4) | ValueError | roll | axis 4
np.pad(A, 1, mode="x") | ValueError | pad | 'x' | 'constant'
np.diag(np.zeros((2, 2, 2))) | ValueError | diag | (2, 2, 2) | matrix
np.diagonal(V) | ValueError | diagonal | (4,) | two axes
np.repeat(V, [1, 2]) | ValueError | repeat | (2,) | 4
np.diff(V, n=-1) | ValueError | diff | -1
np.resize(V, (-1,)) | ValueError | resize | (-1,)
np.take(V, [9]) | IndexError | 9 | 4
np.take(V, [0.5]) | TypeError | take | float64 | integers
np.take_along_axis(A, np.array([0]), axis=1) | ValueError | take_along_axis | (2, 3) | (1,)
np.where(A > 0, V, A) | ValueError | where | (4,) | (2, 3)
np.sort(A, axis=3) | ValueError | sort | axis 3
np.searchsorted(A, 1.0) | ValueError | searchsorted | (2, 3) | one axis
np.searchsorted(V, 1.0, side="x") | ValueError | searchsorted | 'x' | 'left'
np.select([A > 0], [A, A]) | ValueError | select | 1 and 2
np.choose([0, 7], [V[:2], V[2:]]) | ValueError | choose | 7 | 0 to 1
np.compress([True] * 9, V) | IndexError | compress | 8 | 4
np.delete(V, 9) | IndexError | delete | 9 | 4
np.insert(V, 9, 1.0) | IndexError | insert | 9 | 4
np.partition(V, 9) | ValueError | partition | 9 | 4
np.argpartition(V, 9) | ValueError | argpartition | 9 | 4
np.clip(1j * V, 0, 1) | TypeError | clip | complex
np.bincount([0.5]) | ValueError | bincount | float64 | integers
np.digitize(V, [1, 3, 2]) | ValueError | digitize | [1 3 2] | ascend
np.piecewise(V, [V > 0], [1, 2, 3]) | ValueError | piecewise | 3 functions | 1 conditions
np.interp(V, [0, 1], [1, 2, 3]) | ValueError | interp | (2,) | (3,)
np.dot(A, A) | ValueError | dot | (2, 3)
np.matmul(A, A) | ValueError | matmul | (2, 3)
np.einsum("ij,jk", A, A) | ValueError | einsum | 3 and 2
np.cross(V, V) | ValueError | cross | (4,)
np.convolve(A, V) | ValueError | convolve | (2, 3) | rows
np.convolve(V, V, "x") | ValueError | convolve | 'x' | 'full'
np.gradient(V, [1.0, 2.0]) | ValueError | gradient | 4 samples | (2,)
np.gradient(V, edge_order=3) | ValueError | gradient | 3 | 1 or 2
np.gradient(V[:1]) | ValueError | gradient | axis 0 of shape (1,) | 2 samples
np.gradient(V[:2], edge_order=2) | ValueError | gradient | extent 2 | 3 samples
np.polyfit(V, A, 1) | ValueError | polyfit | (4,) | (2, 3)
np.poly(A) | ValueError | poly | (2, 3) | square
np.polyder(A) | ValueError | polyder | (2, 3) | one axis
np.polyint(V, 2, [1, 2, 3][:0]) | ValueError | polyint | 0 constants | 2
np.vander(A) | ValueError | vander | (2, 3) | a vector
np.geomspace(0, 1) | ValueError | geomspace | 0
np.zeros(-1) | ValueError | (-1,) | negative
np.zeros(2, dtype="x") | TypeError | 'x' | float64
np.arange(0, 5, 0) | ZeroDivisionError | arange | 0 to 5
np.linspace(0, 1, -1) | ValueError | linspace | -1
np.array([[1], [1, 2]]) | ValueError | array | ragged
np.ones(2, device="gpu") | TypeError | ones | 'gpu'
np.fromiter([1], float, 5) | ValueError | fromiter | 1 items | 5
np.asarray_chkfinite([np.nan]) | ValueError | asarray_chkfinite | NaN
np.r_["x", V] | ValueError | r_ | 'x' | integers
np.unique(A, axis=4) | ValueError | unique | axis 4
np.histogram(V, 0) | ValueError | histogram | 0 | positive
np.histogram(V, [2.0, 1.0]) | ValueError | histogram | ascend
np.histogram(V, weights=A) | ValueError | histogram | (6,) | (4,)
np.histogram2d(V, A) | ValueError | histogram2d | (4,) | (2, 3)
np.histogramdd(A, bins=(1, 2)) | ValueError | histogramdd | 3 | 2
np.apply_along_axis(np.sum, 3, A) | ValueError | apply_along_axis | axis 3
np.vectorize(abs, signature="(n->()") | ValueError | vectorize | signature | (m,n),(n)->(m)
np.unravel_index([99], (2, 3)) | ValueError | unravel_index | 99 | 6
np.ravel_multi_index(([5], [1]), (2, 3)) | ValueError | ravel_multi_index | (2, 3)
np.trim_zeros(V, "x") | ValueError | trim_zeros | 'x' | 'fb'
linalg.inv(A) | ValueError | inv | (2, 3) | square
linalg.det(A) | ValueError | det | (2, 3) | square
linalg.solve(S, V) | ValueError | solve | (3, 3) | (4
linalg.eigh(S, "X") | ValueError | eigh | 'X' | 'L'
linalg.svd(V) | ValueError | svd | (4,) | matrices
linalg.qr(S, "x") | ValueError | qr | 'x' | 'reduced'
linalg.norm(A, "x") | ValueError | norm | 'x'
linalg.matrix_power(A, 2) | ValueError | matrix_power | (2, 3) | square
linalg.matrix_power(S, 1.5) | TypeError | matrix_power | 1.5 | integer
linalg.multi_dot([A]) | ValueError | multi_dot | two
linalg.inv(np.zeros((2, 2))) | ValueError | inv | Singular
fft.fft(V, axis=2) | ValueError | fft | axis 2
fft.fft(V, n=0) | ValueError | fft | 0
fft.fft(V, norm="x") | ValueError | fft | 'x' | 'ortho'
fft.rfft(1j * V) | TypeError | rfft | complex128 | real
fft.fftn(A, s=(2,), axes=(0, 1)) | ValueError | fftn | 1 lengths | 2 axes
"""
TABLE = [[part.strip() for part in line.split(" | ")] for line in ROWS.splitlines() if line]
ERRORS = {e.__name__: e for e in (ValueError, TypeError, IndexError, ZeroDivisionError)}


@pytest.mark.parametrize(("row", "error", "words"), [pytest.param(r, e, w, id=r) for r, e, *w in TABLE])
@pytest.mark.parametrize("kind", ["arrays", "tensors"])
def test_errors_say_which_op_what_came_and_what_was_wanted(row: str, error: str, words: list[str], kind: str) -> None:
    data: dict[str, Any] = DATA if kind == "arrays" else {name: wg.tensor(x) for name, x in DATA.items()}
    kinds = (ERRORS[error], np.linalg.LinAlgError) if row.startswith("linalg") else ERRORS[error]
    with pytest.raises(kinds) as caught:
        eval(row, {"np": wnp, "linalg": wg.linalg, "fft": wg.fft, **data})
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "tests/ops/test_namespace_errors.py" in message or "<string>" in message  # the user's line
