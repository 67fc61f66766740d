"""NumPy's main namespace, name by name and argument by argument.

Every name of `np.__all__` is ours, or is on a list with the reason why not. Every argument of every function stands in
a table of calls, which are compared with NumPy's (on arrays, and on tensors) and, where the result is floating,
differentiated and compared with differences.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

# NumPy 2.5 does, and it is what ours are held against
pytestmark = [
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.* reads eval, which"),  # calls are texts of this file, which stay as they are
]

MODULES = "a module of its own, not a function of arrays"
FILES = "reads or writes files"
TEXT = "text, bytes and records are no numbers"
TIME = "dates are no numbers"
MATRIX = "the matrix class, which NumPy advises against"
LOW_LEVEL = "looks at the memory or the machinery of ndarrays, which tensors do not show"
LONG = "extended precision has no counterpart in the array API or on other engines"
NUMPY_ITSELF = "tells of, tests or sets up NumPy itself"
NOT_OURS = {
    MODULES: "char core ctypeslib dtypes emath exceptions f2py lib ma polynomial rec strings testing typing",
    FILES: "fromfile fromregex fromstring genfromtxt load loadtxt memmap save savetxt savez savez_compressed",
    TEXT: "bytes_ character flexible object_ recarray record str_ void",
    TIME: "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat timedelta64",
    MATRIX: "asmatrix bmat matrix poly1d",
    LOW_LEVEL: "broadcast flatiter frompyfunc getbufsize ndarray ndenumerate nditer nested_iters setbufsize ufunc",
    LONG: "clongdouble complex256 float128 longdouble",
    NUMPY_ITSELF: "False_ ScalarType True_ __array_namespace_info__ __version__ get_include info sctypeDict show_config show_runtime test typecodes",
    "an old name of vstack": "row_stack in1d trapz",
    "our own module of that name is larger": "fft linalg random",
}
NOT_OURS_NAMES = {name for names in NOT_OURS.values() for name in names.split()}


NUMBERS = {*wnp._kinds.__all__}  # there they know tensors


def test_every_name_of_numpy_is_there_or_has_a_reason() -> None:
    missing = {*np.__all__} - {*wnp.__all__}
    assert missing - NOT_OURS_NAMES == set()
    assert NOT_OURS_NAMES & {*wnp.__all__} == set()
    for name in wnp.__all__:
        if name in NUMBERS:
            assert getattr(wg, name) is getattr(np, name) and getattr(wnp, name) == getattr(np, name)
            continue
        ours, theirs = getattr(wg, name), getattr(wnp, name)
        if name in ("array", "reciprocal"):  # NumPy's kind and NumPy's whole numbers there
            continue
        assert ours is theirs or ours is theirs.__wrapped__, name  # which has a ufunc's options


# -- the table of calls ----------------------------------------------------------------------------------------------

DATA: dict[str, Any] = {
    "V": np.array([0.31, -0.52, 0.73, 1.24]),
    "W": np.array([1.1, 0.6, 2.3, 0.4]),
    "A": np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.7]]),
    "B": np.array([[0.7, -1.1, 0.3], [0.2, 0.9, 1.6]]),
    "S": np.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.1, 0.5, 4.0]]),
    "s": np.array(0.37),
}
FIXED: dict[str, Any] = {
    "H": np.array([[0.0, np.nan, 0.0], [0.0, 0.0, 0.0]]),  # a hole
    "M": np.array([[True, False, True], [True, True, False]]),
    "I": np.array([3, 1, 2, 1]),
    "J": np.array([[5, 3, 8], [6, 1, 7]]),
    "U": np.array([160, 7], np.uint8),
    "pow": pow,
}
CALLS = """
np.abs(V)
np.absolute(V)
np.add(A, B)
np.all(A > 0, axis=1, keepdims=True, where=M)
np.all(a=A)
np.allclose(a=V, b=V + 1e-9, rtol=1e-5, atol=1e-6, equal_nan=True)
np.amax(A, axis=1, keepdims=True, initial=0.6, where=M)
np.amin(A, axis=1, keepdims=True, initial=0.6, where=M)
np.angle(z=A + 1j, deg=True)
np.einsum("ij,jk->ik", A, S, optimize=np.einsum_path("ij,jk->ik", A, S, optimize="greedy", einsum_call=False)[0])
np.ix_(V, W)[1]
np.any(A > 0, axis=1, keepdims=True, where=M)
np.append(arr=A, values=B, axis=1)
np.apply_along_axis(lambda x, k, p=0.0: k * x + p, 1, A, 2.0, p=1.0)
np.apply_along_axis(func1d=lambda x: x[:, None] * x, axis=0, arr=A)
np.apply_over_axes(func=np.sum, a=A, axes=(0, 1))
np.arange(1, 9, 2, dtype="float32")
np.argmax(a=A, axis=1, keepdims=True)
np.argmin(a=A, axis=1, keepdims=True)
np.argpartition(a=V, kth=1, axis=0, kind="introselect")[:1]
np.argsort(a=A, axis=0, kind="stable", stable=None)
np.argwhere(a=A > 0)
np.around(a=A, decimals=1)
np.array([[1, 2]], dtype=float, copy=True, order="C", subok=False, ndmin=3)
np.array_equal(a1=A, a2=A, equal_nan=True)
np.array_equiv(a1=A, a2=A)
np.array_split(ary=V, indices_or_sections=3, axis=0)
np.asanyarray([1.0, 2.0], dtype=int)
np.asarray(a=[1, 2], dtype=float)
np.asarray_chkfinite(a=[1, 2], dtype=float)
np.ascontiguousarray(a=[1, 2], dtype=float)
np.asfortranarray(a=[1, 2], dtype=float)
np.astype(A, "float32", copy=True)
np.atleast_1d(s)
np.atleast_2d(V)
np.atleast_3d(A)
np.average(a=A, axis=1, weights=np.abs(B), returned=True, keepdims=True)
np.bincount(I, weights=V, minlength=7)
np.bitwise_count(J)
np.block(arrays=[[A, B], [B, A]])
np.broadcast_arrays(A, A[:1])
np.broadcast_to(array=V, shape=(2, 4))
np.choose(a=[0, 1, 0, 1], choices=[V, W], mode="clip")
np.clip(a=A, a_min=0.0, a_max=1.0)
np.clip(A, min=0.0, max=B)
np.column_stack(tup=[V, W])
np.compress(condition=[True, False, True], a=A, axis=1)
np.concat([A, B], axis=1, dtype=float)
np.concatenate([A, B], axis=None, dtype="float64", casting="same_kind")
np.convolve(a=V, v=W, mode="same")
np.copy(a=A)
np.copysign(A, B)
np.corrcoef(x=A, y=B, rowvar=True, dtype=float)
np.correlate(a=V, v=W[:2], mode="full")
np.count_nonzero(a=A > 0, axis=1, keepdims=True)
np.cov(m=A.T, y=B.T, rowvar=False, bias=True, dtype=float)
np.cov(A, ddof=1, fweights=[1, 2, 3], aweights=[0.1, 0.2, 0.3])
np.cross(a=A, b=B, axis=1)
np.cross(A.T, B, axisa=0, axisb=-1, axisc=0)
np.cumprod(a=A, axis=1, dtype=float)
np.cumsum(a=A, axis=1, dtype=float)
np.cumulative_prod(A, axis=1, dtype=float, include_initial=True)
np.cumulative_sum(A, axis=1, dtype=float, include_initial=True)
np.delete(arr=A, obj=[0, 2], axis=1)
np.diag(v=V, k=1)
np.diagflat(v=A, k=-1)
np.diagonal(a=S, offset=1, axis1=1, axis2=0)
np.diff(a=A, n=2, axis=1, prepend=0.5, append=B[:, :1])
np.digitize(x=V, bins=[0.0, 0.5, 1.0], right=True)
np.dot(a=A, b=B.T)
np.dsplit(ary=S[None], indices_or_sections=3)
np.dstack(tup=[A, B])
np.ediff1d(ary=V, to_end=[3.0], to_begin=W[0])
np.einsum("ij,kj->ik", A, B, optimize=True)
np.empty_like(A, dtype=int, shape=(0, 2))
np.empty(shape=(0,), dtype=int)
np.expand_dims(a=A, axis=(0, 3))
np.extract(condition=M, arr=A)
np.eye(N=2, M=3, k=1, dtype=int)
np.fix(x=A)
np.flatnonzero(a=A > 0)
np.flip(m=A, axis=1)
np.fliplr(m=A)
np.flipud(m=A)
np.float_power(W, 2)
np.from_dlpack(A)
np.fromiter(iter=iter([1, 2, 3]), dtype=float, count=2)
np.full(shape=(2,), fill_value=3, dtype=float)
np.full_like(a=A, fill_value=2.5, dtype=float, shape=(2,))
np.gcd(I, 6)
np.geomspace(start=1.0, stop=W, num=4, endpoint=False, dtype=float, axis=1)
np.geomspace(-1.0, -W, num=3)
np.gradient(A, 0.5, np.array([0.0, 0.4, 1.0]))
np.gradient(f=S, axis=1, edge_order=2)
np.histogram(V, bins=3, range=(-1.0, 2.0), density=True, weights=W)
np.histogram(a=V, bins=[-1.0, 0.0, 0.5, 2.0])
np.histogram(A, bins="sturges")
np.histogram2d(V, W, bins=[2, 3], range=[[-1, 2], [0, 3]], density=True, weights=W)
np.histogram2d(x=V, y=W, bins=2)
np.histogram_bin_edges(a=V, bins=3, range=(-1.0, 2.0), weights=None)
np.histogramdd(A, bins=(2, 2, 1), range=None, density=True, weights=W[:2])
np.histogramdd(sample=[V, W])
np.hsplit(ary=A, indices_or_sections=[1])
np.hstack(tup=[A, B], dtype=float, casting="same_kind")
np.hypot(A, B)
np.i0(V)
np.identity(n=2, dtype=int)
np.imag(val=A * 2j)
np.inner(A, B)
np.insert(arr=A, obj=1, values=B[:, 0], axis=1)
np.interp(x=V, xp=[-1.0, 0.0, 0.6, 2.0], fp=W, left=-1.0, right=5.0)
np.interp(V, [0.0, 0.3, 0.65], W[:3], period=1.1)
np.intersect1d(ar1=V, ar2=V[1:], assume_unique=True, return_indices=True)
np.isclose(a=V, b=V + 1e-9, rtol=1e-5, atol=1e-6, equal_nan=True)
np.iscomplex(x=A)
np.isin(element=J, test_elements=[1, 3, 5], assume_unique=False, invert=True, kind=None)
np.isneginf(x=A)
np.isposinf(x=A)
np.isreal(x=A)
np.kaiser(M=5, beta=s)
np.kron(a=A, b=B)
np.lcm(I, 6)
np.lexsort(keys=(V, [1, 0, 1, 0]), axis=0)
np.linspace(start=0.0, stop=W, num=5, endpoint=False, retstep=True, dtype=float, axis=1)
np.logspace(start=0.0, stop=V, num=4, endpoint=False, base=2.0, dtype=float, axis=1)
np.matmul(A, B.T)
np.matrix_transpose(A)
np.matvec(S, V[:3])
np.max(a=A, axis=1, keepdims=True, initial=0.6, where=M)
np.mean(a=A, axis=1, dtype=float, keepdims=True, where=M)
np.median(a=A, axis=1, overwrite_input=False, keepdims=True)
np.meshgrid(V, W[:2], copy=True, sparse=True, indexing="ij")
np.min(a=A, axis=1, keepdims=True, initial=0.6, where=M)
np.moveaxis(a=S[None], source=0, destination=2)
np.nan_to_num(x=A + H, copy=True, nan=0.5, posinf=1.0, neginf=-1.0)
np.nanargmax(a=A + H, axis=1, keepdims=True)
np.nanargmin(a=A + H, axis=1, keepdims=True)
np.nancumprod(a=A + H, axis=1, dtype=float)
np.nancumsum(a=A + H, axis=1, dtype=float)
np.nanmax(a=A + H, axis=1, keepdims=True, initial=0.6, where=M)
np.nanmean(a=A + H, axis=1, dtype=float, keepdims=True, where=M)
np.nanmedian(a=A + H, axis=1, overwrite_input=False, keepdims=True)
np.nanmin(a=A + H, axis=1, keepdims=True, initial=0.6, where=M)
np.nanpercentile(a=A + H, q=[25, 60], axis=1, overwrite_input=False, method="linear", keepdims=True)
np.nanprod(a=A + H, axis=1, dtype=float, keepdims=True, initial=0.6, where=M)
np.nanquantile(a=A + H, q=[0.25, 0.6], axis=1, overwrite_input=False, method="midpoint", keepdims=True)
np.nanstd(a=A + H, axis=1, dtype=float, ddof=0.5, keepdims=True, where=M)
np.nanstd(A + H, axis=1, correction=0.5, mean=np.nanmean(A + H, axis=1, keepdims=True))
np.nansum(a=A + H, axis=1, dtype=float, keepdims=True, initial=0.6, where=M)
np.nanvar(a=A + H, axis=1, dtype=float, ddof=0.5, keepdims=True, where=M)
np.nanvar(A + H, axis=1, correction=0.5, mean=np.nanmean(A + H, axis=1, keepdims=True))
np.nonzero(a=A > 0)
np.ones(shape=2, dtype=int)
np.ones_like(a=A, dtype=int, shape=(2,))
np.outer(a=V, b=W)
np.packbits([[1, 0, 1]], axis=1, bitorder="little")
np.pad(array=A, pad_width=((1, 0), (2, 1)), mode="constant", constant_values=0.5)
np.partition(a=V, kth=1, axis=0, kind="introselect")[:1]
np.percentile(a=A, q=[25, 60], axis=1, overwrite_input=False, method="higher", keepdims=True)
np.permute_dims(a=S[None], axes=(2, 0, 1))
np.piecewise(V, [V < 0, V > 1], [lambda x, k, p=0.0: k * x + p, 3.0, lambda x, k, p=0.0: x * x], 2.0, p=1.0)
np.piecewise(x=V, condlist=[V < 0, V > 1], funclist=[np.exp, np.sin])
np.poly(seq_of_zeros=V)
np.poly(S)
np.polyadd(a1=V, a2=W[:2])
np.polyder(p=V, m=2)
np.polydiv(u=V, v=W[:2])
np.polyfit(x=V, y=W, deg=2, rcond=1e-12, full=False, w=W)
np.polyfit(W, V, 1, cov=True)
np.polyfit(W, V, 1, full=True)[0]
np.polyint(p=V, m=2, k=[1.0, 2.0])
np.polymul(a1=V, a2=W)
np.polysub(a1=V, a2=W[:2])
np.polyval(p=V, x=A)
np.prod(a=A, axis=1, dtype=float, keepdims=True, initial=0.6, where=M)
np.ptp(a=A, axis=1, keepdims=True)
np.quantile(a=A, q=[0.25, 0.6], axis=1, overwrite_input=False, method="lower", keepdims=True)
np.quantile(V, s, method="linear")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="inverted_cdf")
np.percentile(V, 35, method="inverted_cdf")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="averaged_inverted_cdf")
np.percentile(V, 35, method="averaged_inverted_cdf")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="closest_observation")
np.percentile(V, 35, method="closest_observation")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="interpolated_inverted_cdf")
np.percentile(V, 35, method="interpolated_inverted_cdf")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="hazen")
np.percentile(V, 35, method="hazen")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="weibull")
np.percentile(V, 35, method="weibull")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="median_unbiased")
np.percentile(V, 35, method="median_unbiased")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="normal_unbiased")
np.percentile(V, 35, method="normal_unbiased")
np.quantile(A, [0.2, 0.5, 0.9], axis=1, method="nearest")
np.percentile(V, 35, method="nearest")
np.quantile(A, [0.2, 0.7], axis=1, method="inverted_cdf", weights=[1.0, 2.0, 0.5], keepdims=True)
np.nanquantile(A + H, [0.0, 0.7], axis=1, method="inverted_cdf", weights=np.abs(B))
np.gradient(S, V[:3], W[:3], edge_order=2)
np.gradient(V, s)
np.quantile(V, 0.3, method="inverted_cdf", weights=W)
np.percentile(V, 30, method="inverted_cdf", weights=W)
np.nanquantile(V, 0.3, method="inverted_cdf", weights=W)
np.nanpercentile(V, 30, method="inverted_cdf", weights=W)
np.ravel(a=A, order="F")
np.clip(A, 0.1, 1.0, dtype="float32")
np.copy(A, order="F")
np.ones_like(A, order="F")
np.logspace(V, 2.0, 3, base=W, axis=-1)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="interpolated_inverted_cdf")
np.nanpercentile(A + H, 35, method="interpolated_inverted_cdf", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="hazen")
np.nanpercentile(A + H, 35, method="hazen", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="weibull")
np.nanpercentile(A + H, 35, method="weibull", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="median_unbiased")
np.nanpercentile(A + H, 35, method="median_unbiased", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="normal_unbiased")
np.nanpercentile(A + H, 35, method="normal_unbiased", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="inverted_cdf")
np.nanpercentile(A + H, 35, method="inverted_cdf", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="averaged_inverted_cdf")
np.nanpercentile(A + H, 35, method="averaged_inverted_cdf", keepdims=True)
np.nanquantile(A + H, [0.2, 0.45, 0.9], axis=1, method="closest_observation")
np.nanpercentile(A + H, 35, method="closest_observation", keepdims=True)
np.fmax.reduce(np.abs(A), axis=None)
np.fmax.reduce(np.abs(A)[None], axis=(0, -1), keepdims=True)
np.fmax.reduce(np.abs(A), axis=1, initial=0.6, where=M)
np.fmin.reduce(np.abs(A), axis=None)
np.fmin.reduce(np.abs(A)[None], axis=(0, -1), keepdims=True)
np.fmin.reduce(np.abs(A), axis=1, initial=0.6, where=M)
np.hypot.reduce(np.abs(A), axis=None)
np.hypot.reduce(np.abs(A)[None], axis=(0, -1), keepdims=True)
np.hypot.reduce(np.abs(A), axis=1, initial=0.6, where=M)
np.logaddexp.reduce(np.abs(A), axis=None)
np.logaddexp.reduce(np.abs(A)[None], axis=(0, -1), keepdims=True)
np.logaddexp.reduce(np.abs(A), axis=1, initial=0.6, where=M)
np.logaddexp2.reduce(np.abs(A), axis=None)
np.logaddexp2.reduce(np.abs(A)[None], axis=(0, -1), keepdims=True)
np.logaddexp2.reduce(np.abs(A), axis=1, initial=0.6, where=M)
np.logical_and.reduce(A > 0, axis=None)
np.logical_and.reduce(A, axis=1, where=M)
np.logical_and.accumulate(A)
np.logical_and.reduceat(V, [0, 2, 3])
np.logical_and.reduce(A, axis=0, initial=False)
np.logical_or.reduce(A > 0, axis=None)
np.logical_or.reduce(A, axis=1, where=M)
np.logical_or.accumulate(A)
np.logical_or.reduceat(V, [0, 2, 3])
np.logical_or.reduce(A, axis=0, initial=False)
np.logical_xor.reduce(A > 0, axis=None)
np.logical_xor.reduce(A, axis=1, where=M)
np.logical_xor.accumulate(A)
np.logical_xor.reduceat(V, [0, 2, 3])
np.logical_xor.reduce(A, axis=0, initial=False)
np.ravel_multi_index(multi_index=([0, 1], [2, 5]), dims=(2, 3), mode="clip", order="F")
np.real(val=A * 2j + A)
np.real_if_close(a=A + 0j, tol=100)
np.repeat(a=A, repeats=[2, 1, 0], axis=1)
np.require(a=A, dtype=float)
np.reshape(A, shape=(3, 2), order="F", copy=None)
np.resize(a=A, new_shape=(2, 5))
np.roll(a=A, shift=(1, 2), axis=(0, 1))
np.rollaxis(a=S[None], axis=2, start=0)
np.roots(p=[1.0, -6.0, 11.0, -6.0])
np.rot90(m=A, k=3, axes=(1, 0))
np.round(a=A, decimals=1)
np.searchsorted(a=W, v=V, side="right", sorter=[3, 1, 0, 2])
np.select(condlist=[A > 1, A > 0], choicelist=[A**2, B], default=0.5)
np.setdiff1d(ar1=V, ar2=V[1:], assume_unique=True)
np.setxor1d(ar1=V, ar2=V[1:], assume_unique=True)
np.sinc(V)
np.sort(a=A, axis=0, kind="stable", stable=None)
np.sort_complex(a=A)
np.spacing(A)
np.split(ary=A, indices_or_sections=[1], axis=1)
np.squeeze(a=A[None], axis=0)
np.stack(arrays=[A, B], axis=1, dtype=float, casting="same_kind")
np.std(a=A, axis=1, dtype=float, ddof=0.5, keepdims=True, where=M)
np.std(A, axis=1, correction=0.5, mean=np.mean(A, axis=1, keepdims=True))
np.sum(a=A, axis=1, dtype=float, keepdims=True, initial=0.6, where=M)
np.swapaxes(a=A, axis1=0, axis2=1)
np.take(a=A, indices=[[2, 5]], axis=1, mode="clip")
np.take_along_axis(arr=A, indices=J % 3, axis=1)
np.tensordot(a=A, b=B, axes=([1], [1]))
np.tile(A=A, reps=(2, 1))
np.trace(a=S, offset=1, axis1=1, axis2=0, dtype=float)
np.transpose(a=S[None], axes=(2, 0, 1))
np.trapezoid(y=A, x=[0.0, 0.3, 1.0], axis=1)
np.trapezoid(A, dx=0.5)
np.tri(N=2, M=3, k=1, dtype=int)
np.tril(m=S, k=1)
np.trim_zeros(filt=A * [0, 1, 1], trim="f", axis=None)
np.triu(m=S, k=1)
np.union1d(ar1=V, ar2=W)
np.unique(ar=J % 3, return_index=True, return_inverse=True, return_counts=True, axis=None, equal_nan=True)
np.unique(A[[0, 1, 0]], axis=0)
np.unique(A, sorted=True)
np.unique_all(J % 3)
np.unique_counts(J % 3)
np.unique_inverse(J % 3)
np.unique_values(A)
np.unpackbits(U[:, None], axis=1, count=5, bitorder="little")
np.unravel_index(indices=[2, 3], shape=(2, 3), order="F")
np.unstack(A, axis=1)
np.unwrap(p=6 * V, discont=4.0, axis=0, period=6.0)
np.vander(x=V, N=3, increasing=True)
np.var(a=A, axis=1, dtype=float, ddof=0.5, keepdims=True, where=M)
np.var(A, axis=1, correction=0.5, mean=np.mean(A, axis=1, keepdims=True))
np.vdot(V, W)
np.vecdot(A, B, axis=0)
np.vecmat(V[:3], S)
np.vsplit(ary=S, indices_or_sections=[1])
np.vstack(tup=[A, B], dtype=float, casting="same_kind")
np.where(M, A, B)
np.zeros(shape=2, dtype=int)
np.zeros_like(a=A, dtype=int, shape=(2,))
np.r_[V, 0.5, 1:3]
np.r_["1,3,0", V, W]
np.c_[V, W]
np.c_[A, B]
np.vectorize(lambda x, y: x * y, otypes=[float])(V, W[0])
np.vectorize(lambda x: (x * x, 2 * x))(A)
"""
ROWS = [line for line in CALLS.splitlines() if line]
# These are there for NumPy's sake: they are about memory, or tests/numpy/test_namespace.py has them.
FOR_NUMPYS_SAKE = {"out", "order", "subok", "like", "device", "casting", "copy", "ndmax", "descending", "kwargs", "kw",
                   "requirements", "doc", "excluded", "cache", "signature"}  # fmt: skip


def called(row: str, namespace: Any, values: dict[str, Any]) -> Any:
    return eval(row, {"np": namespace, **FIXED, **values})


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def test_every_argument_is_in_the_table() -> None:
    used: dict[str, set[str]] = {}
    for row in ROWS:
        for node in ast.walk(ast.parse(row)):
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and ast.unparse(node.func.value) == "np"
            ):
                continue
            name = node.func.attr
            f = getattr(wnp, name)
            names = [*inspect.signature(f).parameters]
            given = used.setdefault(name, set())
            given |= {*names[: len(node.args)]} | {k.arg for k in node.keywords if k.arg}
    absent = []
    for name in wnp.__all__:
        f = getattr(wnp, name)
        is_op = f in vars(wg.ops).values() and not hasattr(f, "__wrapped__")  # their own tests have the very objects
        if (
            name in wnp._numpys_own.__all__
            or name in wnp._mutation.__all__  # tests/support/write_idioms.py has them
            or not isinstance(f, types.FunctionType)
            or is_op
            or f.__module__ != f"wengert.numpy.{f.__module__.rpartition('.')[2]}"
        ):
            continue
        if name in ("divmod", "modf"):
            continue  # two arrays and nothing else
        absent += [f"{name}({p})" for p in {*inspect.signature(f).parameters} - used.get(name, set()) - FOR_NUMPYS_SAKE]
    assert not absent, sorted(absent)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("kind", ["arrays", "tensors"])
def test_values_are_numpys(row: str, kind: str) -> None:
    data = DATA if kind == "arrays" else {name: wg.tensor(x) for name, x in DATA.items()}
    theirs, ours = flat(called(row, np, DATA)), flat(called(row, wnp, data))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, bool):
            assert one is other
            continue
        assert one.dtype == np.asarray(other).dtype
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12, atol=1e-14)


FLAT = ("np.round", "np.around", "np.fix", "np.spacing")  # zero gradients, which differences see as steps or not at all


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith(FLAT)])
def test_gradients_are_those_of_differences(row: str) -> None:
    names = sorted({node.id for node in ast.walk(ast.parse(row)) if isinstance(node, ast.Name)} & {*DATA})
    results = [np.asarray(r) for r in flat(called(row, np, DATA))]
    if not names or not any(r.dtype.kind in "fc" for r in results):
        return

    def f(*xs: Any) -> Any:
        return [r for r in flat(called(row, wnp, dict(zip(names, xs, strict=True)))) if isinstance(r, wg.Tensor)]

    assert wg.check_gradients(f, *(DATA[name] for name in names), order=1, rtol=1e-5).checked


@pytest.mark.parametrize("row", ROWS)
def test_numpy_itself_on_tensors(row: str) -> None:
    """What NumPy's own functions do on tensors: the same, recorded; or they refuse, naming the function."""
    names = {node.id for node in ast.walk(ast.parse(row)) if isinstance(node, ast.Name)} & {*DATA}
    if not names:
        return
    with wg.GradientTape() as tape:
        tensors = {name: wg.tensor(x) for name, x in DATA.items()}
        for x in tensors.values():
            tape.watch(x)
        refusal = ""
        try:
            ours = flat(called(row, np, tensors))
        except wg.LostGradientError as error:
            refusal = str(error)
        if refusal:
            assert "np." in refusal or "numpy." in refusal or "__dlpack__" in refusal
            return
        theirs = flat(called(row, np, DATA))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(
                one.numpy() if isinstance(one, wg.Tensor) else one, other, rtol=1e-12, atol=1e-14
            )


@pytest.mark.parametrize("row", ROWS)
def test_a_trace_gives_the_same_or_says_what_it_needs(row: str) -> None:
    names = sorted({node.id for node in ast.walk(ast.parse(row)) if isinstance(node, ast.Name)} & {*DATA})
    if not names:
        return

    def f(*xs: Any) -> Any:
        return [
            wg.tensor(r) for r in flat(called(row, wnp, dict(zip(names, xs, strict=True)))) if not isinstance(r, bool)
        ]

    needed = ""
    try:
        ours = wg.function(f)(*(wg.tensor(DATA[name]) for name in names))
    except wg.TracingError as error:
        needed = str(error)
    if needed:  # shapes or choices that depend on values
        assert row[3:].split("(")[0] in needed or "symbolic" in needed
        assert row.startswith(VALUES_DECIDE), row
        return
    for one, other in zip(ours, flat(called(row, np, DATA)), strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "row",
    [
        "np.arange(s, 3.0, V[3])",
        "np.arange(0, 4.0 + s, 0.7)",
        "np.arange(2.0, -1.0, V[1], dtype=float)",
        'np.array([[s, 1.0], [2.0, s]], order="F")',
        'np.asarray(A, order="F")',
    ],
)
def test_what_numpys_own_functions_cannot_make_of_tensors_is_made(row: str) -> None:
    for kind in ("arrays", "tensors"):
        test_values_are_numpys(row, kind)
    test_gradients_are_those_of_differences(row)
    with pytest.raises(wg.TracingError, match="symbolic") if "arange" in row else contextlib.nullcontext():
        wg.function(lambda s, A, V: called(row, wnp, {"s": s, "A": A, "V": V}))(DATA["s"], DATA["A"], DATA["V"])


COLUMNS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda xp, a: xp.array(a, order="F"), "asarray": lambda xp, a: xp.asarray(a, order="F"),
    "copy": lambda xp, a: xp.copy(a, order="F"), "asfortranarray": lambda xp, a: xp.asfortranarray(a),
    "zeros_like": lambda xp, a: xp.zeros_like(a, order="F"), "full": lambda xp, a: xp.full((2, 3), a[0, 0], order="F"),
    "ones_like": lambda xp, a: xp.ones_like(a, order="F"), "T": lambda xp, a: a.T.copy().T,
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_elements_lie_by_columns_where_it_is_asked_for(name: str) -> None:
    found = []
    for xp, a in ((np, DATA["A"].copy()), (wnp, wg.tensor(DATA["A"]))):
        x = COLUMNS[name](xp, a)
        row = x.T.reshape(-1)  # a view of what lies by columns
        row[1] = 9.0
        found.append([np.asarray(r) for r in (x, x.ravel("K"), x.ravel("A"), xp.ravel(x, order="A"), x.flatten("A"))])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# A trace does not know how large the results are, or which of two forms they have.
VALUES_DECIDE = (
    "np.allclose", "np.argwhere", "np.array_equal", "np.array_equiv", "np.asarray_chkfinite", "np.extract",
    "np.flatnonzero", "np.histogram(A, bins=", "np.intersect1d", "np.lexsort", "np.nonzero", "np.poly(",
    "np.polydiv", "np.real_if_close", "np.roots", "np.setdiff1d", "np.setxor1d", "np.trim_zeros", "np.union1d", "np.unique",
)  # fmt: skip


SIGNATURES = {
    "(n),(n)->()": (lambda a, b: np.sum(a * b), np.arange(6.0).reshape(2, 3), np.arange(3.0)),
    "(n)->()": (np.sum, np.arange(6.0).reshape(2, 3)),
    "(n)->(),(n)": (lambda a: (np.sum(a), a * 2), np.arange(6.0).reshape(2, 3)),
    "(m,n),(n)->(m)": (np.matmul, np.arange(24.0).reshape(4, 2, 3), np.arange(3.0)),
    " (n) , () -> () ": (lambda a, b: np.sum(a) + b, np.arange(6.0).reshape(2, 3), np.ones((4, 1))),
    "(n)->(m)": (lambda a: np.concatenate([a, a]), np.arange(6.0).reshape(2, 3)),
    "()->()": (lambda a: a * 2, np.arange(3.0)),
}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_vectorize_with_a_signature_is_numpys(signature):
    f, *arguments = SIGNATURES[signature]
    wanted = np.vectorize(f, signature=signature)(*arguments)
    mapped = wg.ops.vectorize(f, signature=signature)
    parts = lambda result: result if isinstance(result, tuple) else (result,)
    for found in (mapped(*arguments), wg.function(mapped)(*arguments)):
        for a, b in zip(parts(found), parts(wanted), strict=True):
            np.testing.assert_array_equal(a, b)
    wg.check_gradients(lambda *xs: parts(mapped(*xs))[0], *arguments, order=1)


@pytest.mark.parametrize(
    ("signature", "arguments", "error"),
    [
        ("(n)", (np.ones(3),), ValueError), ("n->()", (np.ones(3),), ValueError), ("(n)->()", (3.0,), ValueError),
        ("(n),(n)->()", (np.ones(3), np.ones(4)), ValueError), ("(n)->()", (np.ones(3), 1.0), TypeError),
        ("(n),()->()", (np.ones(3),), TypeError), ("(n)->(n)", (np.ones(3),), ValueError),
        ("(n)->(),()", (np.ones(3),), ValueError),
    ],
)  # fmt: skip
def test_vectorize_refuses_what_does_not_fit_the_signature(signature, arguments, error):
    with pytest.raises(error, match="vectorize"):
        wg.ops.vectorize(lambda *xs: xs[0].sum(), signature=signature)(*arguments)


def test_vectorize_with_a_signature_leaves_excluded_arguments():
    x = np.arange(6.0).reshape(2, 3)
    f = wg.ops.vectorize(lambda a, b=1.0: a.sum() * b, excluded=["b"], signature="(n)->()")
    np.testing.assert_array_equal(f(x, b=3.0), [9, 36])


@pytest.mark.parametrize(
    ("signature", "arguments", "shapes"),
    [
        ("(n)->()", (np.zeros((0, 3)),), [(0,)]), ("(n)->(n),()", (np.zeros((2, 0, 3)),), [(2, 0, 3), (2, 0)]),
        ("(m,n),(n,p)->(m,p)", (np.zeros((0, 2, 3)), np.zeros((1, 3, 4))), [(0, 2, 4)]),
        ("(m),(n)->(m,n)", (np.zeros((0, 2), "float32"), np.zeros((1, 3), "float32")), [(0, 2, 3)]),
    ],
)  # fmt: skip
def test_a_signature_says_what_no_call_gives(signature, arguments, shapes):
    def never(*xs):
        raise AssertionError("there is no place to call it for")

    mapped = wg.ops.vectorize(never, signature=signature)
    for run in (mapped, wg.function(mapped)):
        results = run(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        assert [r.shape for r in results] == shapes
        assert {r.dtype for r in results} == {arguments[0].dtype}
    gradient = wg.grad(lambda x, *rest: sum(wg.sum(y) for y in wg.tree.leaves(mapped(x, *rest))))(*arguments)
    assert gradient.shape == arguments[0].shape


def test_axes_that_only_calls_tell_are_an_error_where_there_is_none():
    with pytest.raises(ValueError, match="only a call tells the axis 'k'"):
        wg.ops.vectorize(lambda a: a, signature="(n)->(k)")(np.zeros((0, 3)))
    found = wnp.vectorize(lambda a: a, otypes=["float32"], signature="(n)->(n)")(np.zeros((0, 3)))
    assert found.shape == (0, 3) and found.dtype == np.float32
