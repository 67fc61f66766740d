"""Names of NumPy's main namespace at arrays of four dtypes: dtypes, shapes and values of the results are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

RNG = np.random.default_rng(7)
ONE = [
    "abs",
    "acos",
    "acosh",
    "amax",
    "amin",
    "angle",
    "any",
    "all",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "around",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "atleast_2d",
    "average",
    "cbrt",
    "ceil",
    "conj",
    "copy",
    "corrcoef",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cumprod",
    "cumsum",
    "cumulative_sum",
    "deg2rad",
    "diag",
    "diagflat",
    "diff",
    "ediff1d",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "flatnonzero",
    "flip",
    "floor",
    "gradient",
    "i0",
    "imag",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isreal",
    "log",
    "log10",
    "log1p",
    "log2",
    "max",
    "mean",
    "median",
    "min",
    "modf",
    "nan_to_num",
    "nanargmax",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "negative",
    "nonzero",
    "ones_like",
    "polyder",
    "polyint",
    "positive",
    "prod",
    "ptp",
    "rad2deg",
    "ravel",
    "real",
    "real_if_close",
    "rint",
    "roots",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sort",
    "sort_complex",
    "spacing",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sum",
    "tan",
    "tanh",
    "trapezoid",
    "trim_zeros",
    "trunc",
    "unique",
    "unwrap",
    "vander",
    "var",
    "zeros_like",
]
TWO = [
    "add",
    "append",
    "array_equal",
    "atan2",
    "convolve",
    "copysign",
    "correlate",
    "divide",
    "divmod",
    "dot",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "heaviside",
    "hypot",
    "inner",
    "intersect1d",
    "isclose",
    "isin",
    "kron",
    "less",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "outer",
    "polyadd",
    "polymul",
    "polysub",
    "polyval",
    "pow",
    "power",
    "remainder",
    "setdiff1d",
    "setxor1d",
    "subtract",
    "true_divide",
    "union1d",
    "vdot",
    "vecdot",
    "gradient",
    "trapezoid",
    "cov",
]
CALLS = """
    np.percentile(x, [20, 50]); np.percentile(x, 30); np.percentile(m, [20, 50], axis=0); np.quantile(x, (0.2, 0.5))
    np.quantile(m, 0.3, axis=1); np.nanquantile(x, [0.2, 0.5]); np.nanpercentile(x, [20, 50])
    np.quantile(x * 1.0, [0.2, 0.5], method="lower"); np.quantile(x, [0.2, 0.5], method="midpoint")
    np.gradient(x, 0.5); np.gradient(m, y[:3], y[:3]); np.gradient(x, PLACES); np.gradient(x, PLACES, edge_order=2)
    np.geomspace(x[0], y[1], 5); np.geomspace(x[:2], y[:2], 5); np.linspace(x, y, 5); np.logspace(x[0], y[1], 5)
    np.histogram2d(x, y, bins=3); np.histogram2d(x, y, bins=3, weights=x); np.histogram(x, bins=3, weights=y)
    np.histogram(x, bins=3, density=True); np.histogram_bin_edges(x, 3); np.vander(x, 3, increasing=True)
    np.polyfit(x, y, 2); np.poly(x); np.poly(m); np.roots(x[:3]); np.average(x, weights=y); np.average(m, axis=0)
    np.interp(y, PLACES, x); np.round(x, 1); np.array_split(x, 2); np.hsplit(m, 3); np.dsplit(t, 2)
    np.block([[m, m], [m, m]]); np.concatenate([x, y]); np.stack([x, y]); np.column_stack([x, y]); np.digitize(x, [0.2, 0.5])
    np.einsum("ij,jk", m, m); np.full_like(x, 2); np.insert(x, 1, 2); np.ldexp(x, 2); np.matvec(m, x[:3])
    np.trace(m); np.diagonal(m); np.moveaxis(t, 0, 1); np.pad(x, 1); np.pad(x, 2, mode="reflect")
    np.partition(x, 2)[2]; np.sort(np.partition(x, 2)[:2]); np.sort(np.partition(x, 2)[3:])
    np.repeat(x, 2); np.reshape(t, (4, 6)); np.resize(x, (2, 4)); np.roll(x, 1); np.rot90(m); np.take(x, [1, 2])
    np.tensordot(m, m, 1); np.tile(x, 2); np.tril(m); np.where(x.real > 0.5, x, 0); np.cross(x[:3], y[:3])
    np.unstack(m); np.meshgrid(x, y); np.power(x, 2); np.power(x, 0.5); np.ediff1d(x, to_end=2)
    np.mean(m, axis=1); np.sum(m, axis=1); np.std(m, axis=0); np.median(m, axis=1); np.cumsum(t, axis=2)
    np.clip(x, 0.3, 0.6); np.select([x.real > 0.5], [x], 0); np.piecewise(x, [x.real > 0.5], [1, 2])
"""
SMALL = """
    np.reciprocal(x); np.pad(x, 2, mode="mean"); np.pad(x, (3, 2), mode="linear_ramp", end_values=(1, 7))
    np.pad(x, 2, mode="median"); np.pad(x, (2, 1), mode="reflect", reflect_type="odd")
    np.pad(m, ((3, 2), (0, 2)), mode="mean", stat_length=2); np.quantile(x, 0.4, method="lower")
    np.quantile(x, [0.4, 0.6], method="nearest"); np.percentile(x, 40, method="higher"); np.median(x)
    np.quantile(x, 0.4, method="inverted_cdf"); np.nanquantile(x, 0.4, method="lower")
    np.quantile(x, 0.4, method="inverted_cdf", weights=[1, 2, 3, 1, 1]); np.polydiv(x, x[:2]); np.polydiv(x, x[3:])
    np.i0(x); np.sinc(x); np.poly(x); np.polyint(x); np.polyint(x, 2, [1, 2]); np.roots(x); np.histogram(x, 3)
    np.histogram_bin_edges(x, 3); np.dot(x, 2); np.inner(2.0, x); np.outer(x, 2); np.kron(2, x); np.append(x, 2.0)
"""


def expressions(text: str) -> list[str]:
    """The calls in a text, which semicolons and ends of lines part."""
    return [call.strip() for line in text.strip().splitlines() for call in line.split(";")]


EXPRESSIONS = [
    *(f"np.{name}(x)" for name in ONE), *(f"np.{name}(x, y)" for name in TWO),
    *expressions(CALLS),
]  # fmt: skip
PLACES = np.arange(5.0)


def arrays(dtype: str) -> dict[str, Any]:
    """x, y (5,), m (3, 3) and t (2, 3, 4) of a dtype, without ties."""

    def drawn(*shape: int) -> Any:
        if dtype == "int64":
            return (RNG.permutation(int(np.prod(shape))) + 1).reshape(shape)
        x = RNG.uniform(0.2, 0.9, size=shape)
        return (x + 1j * RNG.uniform(0.1, 0.5, size=shape) if dtype == "complex64" else x).astype(dtype)

    return {"x": drawn(5), "y": drawn(5), "m": drawn(3, 3), "t": drawn(2, 3, 4)}


def results(found: Any) -> list[Any]:
    return [part for item in found for part in results(item)] if isinstance(found, (tuple, list)) else [found]


# NumPy 2.5 would have its users write trunc; the name is there for as long as NumPy has it
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_are_numpys(expression: str, dtype: str) -> None:
    given = arrays(dtype)
    try:
        want = results(eval(expression, {"np": np, "PLACES": PLACES, **given}))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        pytest.skip("NumPy refuses it")
    tensors = {name: wg.tensor(x) for name, x in given.items()}
    try:
        found = results(eval(expression, {"np": wnp, "PLACES": PLACES, **tensors}))
    except TypeError:
        assert dtype == "complex64", "only complex numbers, which have no order, are refused"
        return
    assert len(found) == len(want)
    for ours, theirs in zip(found, want, strict=True):
        value = ours.numpy() if isinstance(ours, wg.Tensor) else np.asarray(ours)
        assert (value.dtype, value.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
        np.testing.assert_allclose(value, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float16", "float32"])
@pytest.mark.parametrize("expression", expressions(SMALL))
def test_small_dtypes_are_numpys(expression: str, dtype: str) -> None:
    x = np.array([3, 1, 2, 5, 4]).astype(dtype)
    given = {"x": x, "m": x.reshape(5, 1)}
    try:
        want = results(eval(expression, {"np": np, **given}))
    except TypeError:
        pytest.skip("NumPy refuses it")
    found = results(eval(expression, {"np": wnp, **{name: wg.tensor(value) for name, value in given.items()}}))
    assert len(found) == len(want)
    for ours, theirs in zip(found, want, strict=True):
        assert (ours.dtype, ours.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6 if dtype != "float16" else 1e-3, atol=1e-3)
