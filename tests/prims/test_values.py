"""Values and derivatives of the piecewise, special, reducing, scanning and sorting primitives.

Values are compared with NumPy's and SciPy's functions; first derivatives in both modes with each other and with
central differences; second derivatives with differences of the gradient; and each kink with its row of the page of
kinks. The test of the whole registry is elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.special as sc

from wengert._core.dtypes import bfloat16
from wengert._core.op import REGISTRY
from wengert._core.state import recording
from wengert._core.tensor import Tensor, fresh
from wengert._core.types import type_of
from wengert._prims.structural import mul, real, reduce_sum
from wengert._transforms.forward import Tangents
from wengert._transforms.reverse import ZERO, materialise, sweep
from wengert._transforms.tape import Tape

INF, NAN = math.inf, math.nan
Function = Callable[..., Tensor]


# -- derivatives, without the library's own interface ----------------------------------------------------


def calling(name: str, **attrs: Any) -> Function:
    return lambda *xs: REGISTRY[name](*xs, **attrs)


def pull(f: Function, xs: Sequence[Tensor], ct: Tensor) -> list[Tensor]:
    """The gradients of <ct, f> by the reverse sweep."""
    tape = Tape([x._key for x in xs])
    with recording(tape):
        out = f(*xs)
    found = sweep(tape.entries, [(out._key, ct)], [x._key for x in xs])
    return [materialise(g, type_of(x)) for g, x in zip(found, xs, strict=True)]


def push(f: Function, xs: Sequence[Tensor], dots: Sequence[Tensor]) -> Tensor:
    """The tangent of f by forward mode."""
    tangents = Tangents()
    for x, dot in zip(xs, dots, strict=True):
        tangents.set(x, dot)
    with recording(tangents):
        out = f(*xs)
    return materialise(tangents.of(out), type_of(out))


def tensors(arrays: Sequence[Any]) -> list[Tensor]:
    return [fresh(np.asarray(a)) for a in arrays]


def dot(x: Any, y: Any) -> Any:
    """Re<x, y>, the inner product that adjoints are taken in."""
    return np.sum(np.conj(x) * y).real


def random_like(array: Any, rng: np.random.Generator) -> Any:
    noise = rng.normal(size=array.shape)
    if array.dtype.kind == "c":
        noise = noise + 1j * rng.normal(size=array.shape)
    return noise.astype(array.dtype)


def gradient(f: Function, *arrays: Any, weights: Any = None) -> list[Any]:
    xs = tensors([np.asarray(a) for a in arrays])
    out = f(*xs)
    ct = np.ones(out.shape, out.dtype) if weights is None else np.asarray(weights, out.dtype)
    with np.errstate(all="ignore"):
        return [g.numpy() for g in pull(f, xs, fresh(ct))]


# -- the table of ops -------------------------------------------------------------------------------

RNG = np.random.default_rng(7)
X = np.array([[-1.7, 0.6, 1.2], [0.3, -0.4, 2.1]])
Y = np.array([[0.5, -1.1, 1.9], [-0.7, 0.8, 0.4]])
POSITIVE = np.abs(X) + 0.2
INSIDE = X / 2.5
CUBE = RNG.permuted(np.linspace(-2, 2, 24)).reshape(2, 3, 4)
HOLES = np.array([[2.0, 0.0, 3.0, -1.5, 0.0], [0.0, 1.5, 0.5, 2.0, 3.0]])
COMPLEX = X + 1j * Y


def along(scan: Any, axis: int, reverse: bool) -> Any:
    """A NumPy scan, run from the end where wanted."""
    return lambda x: np.flip(scan(np.flip(x, axis), axis), axis) if reverse else scan(x, axis)


def recurrence(a: Any, b: Any) -> Any:
    """s_i = a_i s_(i-1) + b_i along the last axis."""
    out = b.copy()
    for i in range(1, b.shape[-1]):
        out[..., i] += a[..., i] * out[..., i - 1]
    return out


def sinc_derivative(order: int) -> Any:
    """By Gauss-Legendre quadrature of the integral of (pi t)^n cos(pi x t + n pi / 2) over t from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t = (nodes + 1) / 2

    def value(x: Any) -> Any:
        waves = (math.pi * t) ** order * np.cos(math.pi * x[..., None] * t + order * math.pi / 2)
        return waves @ (weights / 2)

    return value


# name, attributes, operands, reference
SMOOTH: list[tuple[str, dict[str, Any], tuple[Any, ...], Any]] = [
    ("abs", {}, (X,), np.abs),
    ("abs", {}, (COMPLEX,), np.abs),
    ("angle", {}, (COMPLEX,), np.angle),
    ("angle", {}, (X,), np.angle),
    ("copysign", {}, (X, Y), np.copysign),
    ("maximum", {}, (X, Y), np.maximum),
    ("minimum", {}, (X, Y), np.minimum),
    ("fmax", {}, (X, Y), np.fmax),
    ("fmin", {}, (X, Y), np.fmin),
    ("clip", {}, (X, -np.abs(Y), np.abs(Y)), np.clip),
    ("relu", {}, (X,), lambda x: np.maximum(x, 0)),
    ("heaviside", {}, (X, Y), np.heaviside),
    ("mod", {}, (3 * X, Y), np.mod),
    ("fmod", {}, (3 * X, Y), np.fmod),
    ("xlogy", {}, (X, POSITIVE), sc.xlogy),
    ("xlog1py", {}, (X, INSIDE), sc.xlog1py),
    *[("sinc", {"order": n}, (x,), sinc_derivative(n)) for n in range(5) for x in (X, 4 * X, np.array([0.0, 1e-9]))],
    ("erf", {}, (X,), sc.erf),
    ("erfc", {}, (X,), sc.erfc),
    ("erfinv", {}, (INSIDE,), sc.erfinv),
    ("erfcx", {}, (X,), sc.erfcx),
    ("erfcx", {}, (np.array([19.0, 21.0, 30.0]),), sc.erfcx),
    ("ndtr", {}, (X,), sc.ndtr),
    ("ndtri", {}, (INSIDE / 2 + 0.5,), sc.ndtri),
    ("log_ndtr", {}, (4 * X,), sc.log_ndtr),
    ("lgamma", {}, (POSITIVE,), sc.gammaln),
    ("lgamma", {}, (X - 1.0,), sc.gammaln),
    ("digamma", {}, (POSITIVE,), sc.digamma),
    ("gamma", {}, (POSITIVE,), sc.gamma),
    ("polygamma", {"order": 2}, (POSITIVE,), lambda x: sc.polygamma(2, x)),
    ("i0", {}, (X,), sc.i0),
    ("i1", {}, (X,), sc.i1),
    ("i0e", {}, (X,), sc.i0e),
    ("i1e", {}, (X,), sc.i1e),
    ("iv", {"order": 2}, (X,), lambda x: sc.iv(2, x)),
    ("ive", {"order": 3}, (X,), lambda x: sc.ive(3, x)),
    ("reduce_prod", {"axes": (0, 2)}, (CUBE,), lambda x: np.prod(x, (0, 2))),
    ("reduce_prod", {"axes": (1,)}, (HOLES,), lambda x: np.prod(x, 1)),
    ("reduce_prod", {"axes": (0, 1)}, (HOLES,), np.prod),
    ("reduce_prod", {"axes": (0,)}, (COMPLEX,), lambda x: np.prod(x, 0)),
    ("reduce_prod", {"axes": ()}, (X,), lambda x: x),
    ("reduce_max", {"axes": (0, 2)}, (CUBE,), lambda x: np.max(x, (0, 2))),
    ("reduce_min", {"axes": (1,)}, (CUBE,), lambda x: np.min(x, 1)),
    ("logsumexp", {"axes": (0, 2)}, (CUBE,), lambda x: sc.logsumexp(x, (0, 2))),
    ("logsumexp", {"axes": ()}, (X,), lambda x: x),
    ("softmax", {"axis": 1}, (CUBE,), lambda x: sc.softmax(x, 1)),
    ("log_softmax", {"axis": 1}, (CUBE,), lambda x: sc.log_softmax(x, 1)),
    *[("cumsum", {"axis": 1, "reverse": r}, (CUBE,), along(np.cumsum, 1, r)) for r in (False, True)],
    *[("cumprod", {"axis": 1, "reverse": r}, (x,), along(np.cumprod, 1, r))
      for r in (False, True) for x in (CUBE, HOLES, COMPLEX)],
    *[("cummax", {"axis": 2, "reverse": r}, (CUBE,), along(np.maximum.accumulate, 2, r)) for r in (False, True)],
    *[("cummin", {"axis": 0, "reverse": r}, (CUBE,), along(np.minimum.accumulate, 0, r)) for r in (False, True)],
    *[("cumlogsumexp", {"axis": 1, "reverse": r}, (CUBE,), along(np.logaddexp.accumulate, 1, r))
      for r in (False, True)],
    ("linear_recurrence", {"axis": 1, "reverse": False}, (X, Y), recurrence),
    ("linear_recurrence", {"axis": 1, "reverse": False}, (COMPLEX, COMPLEX[::-1]), recurrence),
    ("linear_recurrence", {"axis": 0, "reverse": True}, (X, Y),
     lambda a, b: recurrence(a[::-1].T, b[::-1].T).T[::-1]),
    *[("sort", {"axis": 1, "descending": d}, (CUBE,), lambda x, d=d: -np.sort(-x, 1) if d else np.sort(x, 1))
      for d in (False, True)],
]  # fmt: skip
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(SMOOTH)]
EXACT_STEP = 1e-5


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize(("name", "attrs", "arrays", "reference"), SMOOTH, ids=IDS)
def test_value(name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], reference: Any) -> None:
    out = calling(name, **attrs)(*tensors(arrays))
    wanted = reference(*arrays)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-13)
    types = [type_of(x) for x in tensors(arrays)]
    assert REGISTRY[name].type_rule(*types, *attrs.values()) == type_of(out)


@pytest.mark.parametrize(("name", "attrs", "arrays", "reference"), SMOOTH, ids=IDS)
def test_both_modes_and_differences_agree(
    name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], reference: Any, rng: np.random.Generator
) -> None:
    f = calling(name, **attrs)
    xs = tensors(arrays)
    ct = random_like(f(*xs).numpy(), rng)
    dots = [random_like(np.asarray(a), rng) for a in arrays]
    grads = [g.numpy() for g in pull(f, xs, fresh(ct))]
    tangent = push(f, xs, tensors(dots)).numpy()
    along_reverse = sum(dot(g, d) for g, d in zip(grads, dots, strict=True))
    assert dot(ct, tangent) == pytest.approx(along_reverse, rel=1e-11, abs=1e-12)

    def moved(step: float) -> Any:
        return f(*tensors([a + step * d for a, d in zip(arrays, dots, strict=True)])).numpy()

    difference = (moved(EXACT_STEP) - moved(-EXACT_STEP)) / (2 * EXACT_STEP)
    np.testing.assert_allclose(tangent, difference, rtol=1e-6, atol=2e-7)


@pytest.mark.parametrize(("name", "attrs", "arrays", "reference"), SMOOTH, ids=IDS)
def test_second_order(
    name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], reference: Any, rng: np.random.Generator
) -> None:
    f = calling(name, **attrs)
    xs = tensors(arrays)
    ct = fresh(random_like(f(*xs).numpy(), rng))
    dots = [random_like(np.asarray(a), rng) for a in arrays]

    def slope(*points: Tensor) -> Tensor:
        """<gradient, dots>, a number that is differentiated once more."""
        total = None
        for g, d in zip(pull(f, points, ct), tensors(dots), strict=True):
            product = mul(g, fresh(np.conj(d.numpy())))
            if product.dtype.kind == "c":
                product = real(product)
            term = reduce_sum(product, axes=tuple(range(product.ndim)))
            total = term if total is None else REGISTRY["add"](total, term)
        assert total is not None
        return total

    def gradients(step: float) -> list[Any]:
        points = tensors([a + step * d for a, d in zip(arrays, dots, strict=True)])
        return [g.numpy() for g in pull(f, points, ct)]

    by_reverse = gradient_or_zero(slope, xs)
    below, above = gradients(-EXACT_STEP), gradients(EXACT_STEP)
    for found, lo, hi in zip(by_reverse, below, above, strict=True):
        np.testing.assert_allclose(found, (hi - lo) / (2 * EXACT_STEP), rtol=1e-5, atol=2e-6)
    # the Hessian is symmetric: forward over reverse gives the same quadratic form
    curvature = sum(dot(h, d) for h, d in zip(by_reverse, dots, strict=True))
    forward = tangent_or_zero(slope, xs, tensors(dots))
    assert forward == pytest.approx(curvature, rel=1e-10, abs=1e-11)


def gradient_or_zero(f: Function, xs: Sequence[Tensor]) -> list[Any]:
    """Gradients in which a gradient that does not depend on its point counts as zero."""
    tape = Tape([x._key for x in xs])
    with recording(tape):
        out = f(*xs)
    found = sweep(tape.entries, [(out._key, fresh(np.float64(1)))], [x._key for x in xs])
    return [materialise(ZERO if g is None else g, type_of(x)).numpy() for g, x in zip(found, xs, strict=True)]


def tangent_or_zero(f: Function, xs: Sequence[Tensor], dots: Sequence[Tensor]) -> float:
    tangents = Tangents()
    for x, d in zip(xs, dots, strict=True):
        tangents.set(x, d)
    with recording(tangents):
        out = f(*xs)
    found = tangents.of(out)
    return 0.0 if found is None or found is ZERO else float(found.numpy())


REAL = [row for row in SMOOTH if all(a.dtype.kind == "f" for a in row[2])]
REAL_IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(REAL)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("name", "attrs", "arrays", "reference"), REAL, ids=REAL_IDS)
def test_narrow_floats(
    name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], reference: Any, dtype: str, rng: np.random.Generator
) -> None:
    """Values and gradients keep the dtype and are those of the same points in float64, to the dtype's precision."""
    narrow = bfloat16() if dtype == "bfloat16" else np.dtype(dtype)
    tolerance = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 0.1}[dtype]
    f = calling(name, **attrs)
    rounded = [a.astype(narrow) for a in arrays]
    wide = [a.astype(np.float64) for a in rounded]
    out = f(*tensors(rounded))
    assert out.dtype == narrow
    exact = f(*tensors(wide)).numpy()
    scale = max(1.0, float(np.max(np.abs(exact), initial=0)))
    np.testing.assert_allclose(out.numpy().astype(float), exact, rtol=tolerance, atol=tolerance * scale)
    weights = rng.normal(size=out.shape).astype(narrow)
    found = pull(f, tensors(rounded), fresh(weights))
    wanted = pull(f, tensors(wide), fresh(weights.astype(float)))
    for g, exact_g in zip(found, wanted, strict=True):
        assert g.dtype == narrow
        scale = max(1.0, float(np.max(np.abs(exact_g.numpy()), initial=0)))
        np.testing.assert_allclose(g.numpy().astype(float), exact_g.numpy(), rtol=tolerance, atol=tolerance * scale)


# -- the page of kinks ------------------------------------------------------------------------------

CUMPROD = {"axis": 0, "reverse": False}
ROW = {"axes": (0,)}

# the case as the page writes it; op, attributes, operands, weights (None: ones), gradients
KINKS: list[tuple[str, str, dict[str, Any], tuple[Any, ...], Any, tuple[Any, ...]]] = [
    ("abs @ 0, -0.0", "abs", {}, ([0.0, -0.0],), None, ([0, 0],)),
    ("abs of a complex 0", "abs", {}, ([0j],), None, ([0j],)),
    ("sign @ 0", "sign", {}, ([0.0],), None, ([0],)),
    ("relu @ 0, -0.0", "relu", {}, ([0.0, -0.0],), None, ([0, 0],)),
    ("sinc @ 0", "sinc", {"order": 0}, ([0.0],), None, ([0],)),
    ("sinc, second derivative @ 0", "sinc", {"order": 1}, ([0.0],), None, ([-(math.pi**2) / 3],)),
    ("erfinv @ 1", "erfinv", {}, ([1.0],), None, ([INF],)),
    ("erf/erfc @ 30", "erf", {}, ([30.0],), None, ([0],)),
    ("erf/erfc @ 30", "erfc", {}, ([30.0],), None, ([0],)),
    ("ndtri @ 0.5, 1", "ndtri", {}, ([0.5, 1.0],), None, ([math.sqrt(2 * math.pi), INF],)),
    ("i0 @ 0", "i0", {}, ([0.0],), None, ([0],)),
    ("bessel_i0e/i1e @ 0", "i1e", {}, ([0.0],), None, ([0.5],)),
    ("bessel_i0e/i1e @ 0", "i0e", {}, ([0.0],), None, ([0],)),
    ("xlogy(0,0)", "xlogy", {}, ([0.0], [0.0]), None, ([0], [0])),
    ("xlogy(0,2)", "xlogy", {}, ([0.0], [2.0]), None, ([math.log(2)], [0])),
    ("xlogy(1,0)", "xlogy", {}, ([1.0], [0.0]), None, ([-INF], [INF])),
    ("xlog1py(0,-1)", "xlog1py", {}, ([0.0], [-1.0]), None, ([0], [0])),
    ("maximum(a,b) tie", "maximum", {}, ([1.0], [1.0]), None, ([0.5], [0.5])),
    ("minimum(a,b) tie", "minimum", {}, ([1.0], [1.0]), None, ([0.5], [0.5])),
    ("fmax(a,b) tie", "fmax", {}, ([1.0], [1.0]), None, ([1], [0])),
    ("fmin(a,b) tie", "fmin", {}, ([1.0], [1.0]), None, ([1], [0])),
    ("fmax(a,b), a=NaN", "fmax", {}, ([NAN], [1.0]), None, ([0], [1])),
    ("fmin(a,b), b=NaN", "fmin", {}, ([1.0], [NAN]), None, ([1], [0])),
    ("clip(x,lo,hi) tensor bounds: x=[-2,-1,0,1,2], lo=-1, hi=1", "clip", {},
     ([-2.0, -1, 0, 1, 2], [-1.0] * 5, [1.0] * 5), None, ([0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1])),
    ("clip(x,lo,hi) with lo=hi=x=1", "clip", {}, ([1.0], [1.0], [1.0]), None, ([1], [0], [0])),
    ("clip(x,lo,hi) with lo=1 > hi=-1, x=0", "clip", {}, ([0.0], [1.0], [-1.0]), None, ([0], [0], [1])),
    ("clip NaN input", "clip", {}, ([NAN], [-1.0], [1.0]), None, ([0], [0], [0])),
    ("mod(a,b) a=7.5,b=2 (away)", "mod", {}, ([7.5], [2.0]), None, ([1], [-3])),
    ("mod(a,b) a=4,b=2 (at jump)", "mod", {}, ([4.0], [2.0]), None, ([1], [-2])),
    ("mod(a,b) a=-7.5,b=2", "mod", {}, ([-7.5], [2.0]), None, ([1], [4])),
    ("fmod(a,b) a=-7.5,b=2", "fmod", {}, ([-7.5], [2.0]), None, ([1], [3])),
    ("heaviside(0, 0.5)", "heaviside", {}, ([0.0], [0.5]), None, ([0], [1])),
    ("angle(complex(x,0)) @ 0", "angle", {}, ([0j],), None, ([0j],)),
    ("angle(real x) @ -1, 0, 1", "angle", {}, ([-1.0, 0, 1],), None, ([0, 0, 0],)),
    ("max([1,3,3])", "reduce_max", ROW, ([1.0, 3, 3],), None, ([0, 0.5, 0.5],)),
    ("max([3,3,3])", "reduce_max", ROW, ([3.0, 3, 3],), None, ([1 / 3] * 3,)),
    ("min([1,1,3])", "reduce_min", ROW, ([1.0, 1, 3],), None, ([0.5, 0.5, 0],)),
    ("max([nan,1])", "reduce_max", ROW, ([NAN, 1],), None, ([NAN, NAN],)),
    ("prod one zero [0,2,3]", "reduce_prod", ROW, ([0.0, 2, 3],), None, ([6, 0, 0],)),
    ("prod two zeros [0,0,3]", "reduce_prod", ROW, ([0.0, 0, 3],), None, ([0, 0, 0],)),
    ("cumprod [2,0,3,4]", "cumprod", CUMPROD, ([2.0, 0, 3, 4],), None, ([1, 32, 0, 0],)),
    ("cummax [1,3,3,2], all to the first", "cummax", CUMPROD, ([1.0, 3, 3, 2],), None, ([1, 3, 0, 0],)),
    ("cummin ties [3,1,1,2], all to the first", "cummin", CUMPROD, ([3.0, 1, 1, 2],), None, ([1, 3, 0, 0],)),
    ("cumulative_logsumexp [-inf,-inf,0]", "cumlogsumexp", CUMPROD, ([-INF, -INF, 0],), None, ([0, 0, 1],)),
    ("logsumexp [-inf,-inf]", "logsumexp", ROW, ([-INF, -INF],), None, ([0, 0],)),
    ("logsumexp [1,1]", "logsumexp", ROW, ([1.0, 1],), None, ([0.5, 0.5],)),
    ("softmax [-inf,1,2]", "softmax", {"axis": 0}, ([-INF, 1, 2],), [0, 0, 1], ([0, -0.19661193, 0.19661193],)),
    ("log_softmax [-inf,1,2], w=(0,2,3)", "log_softmax", {"axis": 0}, ([-INF, 1, 2],), [0, 2, 3],
     ([0, 0.65529289, -0.65529289],)),
    ("sort ties [2,1,2,1], w=1..4", "sort", {"axis": 0, "descending": False}, ([2.0, 1, 2, 1],), [1, 2, 3, 4],
     ([3, 1, 4, 2],)),
    ("sort desc ties [2,1,2,1], w=1..4", "sort", {"axis": 0, "descending": True}, ([2.0, 1, 2, 1],), [1, 2, 3, 4],
     ([1, 3, 2, 4],)),
    ("sort with NaN [nan,1,2], w=1..3", "sort", {"axis": 0, "descending": False}, ([NAN, 1, 2],), [1, 2, 3],
     ([3, 1, 2],)),
]  # fmt: skip


@pytest.mark.parametrize(("case", "name", "attrs", "arrays", "weights", "wanted"), KINKS, ids=[k[0] for k in KINKS])
def test_kink(
    case: str, name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], weights: Any, wanted: tuple[Any, ...]
) -> None:
    with np.errstate(all="ignore"):
        found = gradient(calling(name, **attrs), *arrays, weights=weights)
    for g, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-7, err_msg=case)


# a zero tangent beside an infinite slope, or anything beside a NaN, is NaN in forward mode, as in plain arithmetic
TAME = [k for k in KINKS if np.isfinite(np.concatenate(k[5])).all() and not np.isnan(np.concatenate(k[3])).any()]


@pytest.mark.parametrize(("case", "name", "attrs", "arrays", "weights", "wanted"), TAME, ids=[k[0] for k in TAME])
def test_kink_forward(
    case: str, name: str, attrs: dict[str, Any], arrays: tuple[Any, ...], weights: Any, wanted: tuple[Any, ...]
) -> None:
    """The same slopes by forward mode, one element of one operand at a time."""
    xs = tensors(arrays)
    f = calling(name, **attrs)
    for which, expected in enumerate(wanted):
        for place in range(xs[which].size):
            dots = [np.zeros(x.shape, x.dtype) for x in xs]
            dots[which][place] = 1
            with np.errstate(all="ignore"):
                tangent = push(f, xs, tensors(dots)).numpy()
            slope = tangent.sum() if weights is None else np.dot(weights, tangent)
            np.testing.assert_allclose(slope, expected[place], rtol=1e-7, atol=1e-12, err_msg=case)


def test_second_order_at_kinks_is_finite() -> None:
    """Second derivatives of products with zeros, and of sinc at 0, are exact."""
    xs = tensors([np.array([0.0, 0.0, 3.0])])

    def first(x: Tensor) -> Tensor:
        (g,) = pull(calling("reduce_prod", axes=(0,)), [x], fresh(np.float64(1)))
        return reduce_sum(mul(g, fresh(np.array([1.0, 10.0, 100.0]))), axes=(0,))

    # the Hessian of xyz is [[0, z, y], [z, 0, x], [y, x, 0]], here with z = 3 only
    np.testing.assert_array_equal(gradient_or_zero(first, xs)[0], [30.0, 3.0, 0.0])


def test_masked_zero_stays_zero_under_a_nan_row() -> None:
    """softmax of a row of -inf is NaN; a `where` that masks it out keeps its gradient zero."""

    def masked(x: Tensor) -> Tensor:
        p = REGISTRY["softmax"](x, axis=1)
        cond = fresh(np.array([[False, False], [True, True]]))
        return REGISTRY["select"](cond, p, fresh(np.zeros((2, 2))))

    with np.errstate(all="ignore"):
        (g,) = gradient(masked, [[-INF, -INF], [1.0, 2.0]], weights=[[1, 1], [1, 0]])
    np.testing.assert_allclose(g, [[0, 0], [0.19661193, -0.19661193]], rtol=1e-7)


def test_a_cotangent_of_infinity_stays_in_its_segment() -> None:
    """sqrt(cummin(x)) where the minimum reaches 0 at the end: the earlier places are not reached by inf * 0."""

    def f(x: Tensor) -> Tensor:
        return REGISTRY["sqrt"](REGISTRY["cummin"](x, axis=0, reverse=False))

    with np.errstate(all="ignore"):
        (g,) = gradient(f, [4.0, 1.0, 0.0])
    np.testing.assert_allclose(g, [0.25, 0.5, INF])


# -- discrete results and long scans ----------------------------------------------------------------


def test_places_and_orders() -> None:
    x = np.array([[2.0, 1, 2, 1], [NAN, 3, 0, NAN]])
    (t,) = tensors([x])
    np.testing.assert_array_equal(REGISTRY["argmax"](t, axis=1).numpy(), np.argmax(x, 1))
    np.testing.assert_array_equal(REGISTRY["argmin"](t, axis=1).numpy(), np.argmin(x, 1))
    ascending = REGISTRY["argsort"](t, axis=1, descending=False).numpy()
    np.testing.assert_array_equal(ascending, [[1, 3, 0, 2], [2, 1, 0, 3]])
    descending = REGISTRY["argsort"](t, axis=1, descending=True).numpy()
    np.testing.assert_array_equal(descending, [[0, 2, 1, 3], [0, 3, 1, 2]])
    assert ascending.dtype == descending.dtype == np.int64
    narrow = fresh(x.astype(bfloat16()))
    np.testing.assert_array_equal(REGISTRY["argsort"](narrow, axis=1, descending=False).numpy(), ascending)
    np.testing.assert_array_equal(REGISTRY["argmax"](narrow, axis=1).numpy(), np.argmax(x, 1))


def test_any_and_all() -> None:
    (t,) = tensors([np.array([[True, False], [True, True]])])
    np.testing.assert_array_equal(REGISTRY["reduce_any"](t, axes=(1,)).numpy(), [True, True])
    np.testing.assert_array_equal(REGISTRY["reduce_all"](t, axes=(1,)).numpy(), [False, True])


@pytest.mark.parametrize("name", ["mod", "fmod", "maximum", "cumsum", "cumprod", "cummax", "reduce_prod", "sort"])
def test_integers_keep_their_dtype(name: str) -> None:
    op = REGISTRY[name]
    x = np.array([7, -7, 3, 2], np.int32)
    attrs = {"axis": 0, "reverse": False, "axes": (0,), "descending": False}
    out = op(*tensors([x, np.array([2, 2, -2, 5], np.int32)][: len(op.operands)]), **{n: attrs[n] for n in op.attrs})
    assert out.dtype == np.int32


@pytest.mark.parametrize("reverse", [False, True])
def test_long_recurrences_run_in_blocks(reverse: bool, rng: np.random.Generator) -> None:
    """Long axes take another path through the kernel; where its products overflow it gives way to the plain one."""
    a, b = rng.normal(size=(1, 1003)), rng.normal(size=(1, 1003))
    turn = (lambda x: x[:, ::-1]) if reverse else (lambda x: x)
    found = REGISTRY["linear_recurrence"](*tensors([a, b]), axis=1, reverse=reverse).numpy()
    np.testing.assert_allclose(found, turn(recurrence(turn(a), turn(b))), rtol=1e-9, atol=1e-12)
    restart = rng.random((1, 1003)) < 0.05
    found = REGISTRY["segmented_cumsum"](*tensors([b, restart]), axis=1, reverse=reverse).numpy()
    np.testing.assert_allclose(found, turn(recurrence(1.0 - turn(restart), turn(b))), rtol=1e-9, atol=1e-12)
    steep = np.full((1, 1003), 1e200)
    term = np.zeros((1, 1003))
    found = REGISTRY["linear_recurrence"](*tensors([steep, term]), axis=1, reverse=reverse).numpy()
    np.testing.assert_array_equal(found, term)


def test_tails_of_log_ndtr() -> None:
    """The slope grows as -x and its own slope tends to -1, far into the tail where formulas cancel."""
    x = np.array([-10.0, -1e3, -1e8])
    (slope,) = gradient(calling("log_ndtr"), x)
    np.testing.assert_allclose(slope[1:], [1e3 + 1e-3, 1e8], rtol=1e-9)

    def first(t: Tensor) -> Tensor:
        (g,) = pull(calling("log_ndtr"), [t], fresh(np.ones(3)))
        return reduce_sum(g, axes=(0,))

    (second,) = gradient_or_zero(first, tensors([x]))
    np.testing.assert_allclose(second[1:], [-1 + 1e-6, -1], rtol=1e-9)
