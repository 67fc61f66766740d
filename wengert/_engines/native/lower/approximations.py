"""Special functions (digamma, erfcx, ndtr, ndtri, beta) written out in double precision, without calls of SciPy.

For programs that leave Python, and for vector code. Of fixed length and without branches: rational functions, series
and the C library's `erfc` and `lgamma`, each within some units in the last place of SciPy's. What is not chosen divides
by no zero and overflows nowhere, so that no flag is raised in vain. `special.py` chooses between these and SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ir.builder import Builder
from ..ir.loops import Operand, Typed
from .error_function import erfc
from .numbers import Number
from .scalars import f64, larger, smaller


def polynomial(b: Builder, x: Operand, coefficients: Sequence[float]) -> Operand:
    """The sum of coefficients times powers of x, the constant one first."""
    total: Operand = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = f64(b, "fma", total, x, coefficient)
    return total


def _ratio(b: Builder, x: Operand, above: Sequence[float], below: Sequence[float]) -> Operand:
    return f64(b, "div", polynomial(b, x, above), polynomial(b, x, below))


# -- digamma -----------------------------------------------------------------------------------------------------------

# between 1 and 2, (x - root) (Y + P(x - 1) / Q(x - 1)), after Boost's `digamma_imp_1_2`; the root is in three parts
_ROOT = (1569415565 / 2**30, 381566830 / 2**60, 0.9016312093258695918615325266959189453125e-19)
_Y = 0.99558162689208984375
_P = (
    0.254798510611315515235, -0.314628554532916496608, -0.665836341559876230295, -0.314767657147375752913,
    -0.0541156266153505273939, -0.00289268368333918761452,
)  # fmt: skip
_Q = (
    1.0, 2.1195759927055347547, 1.54350554664961128724, 0.486986018231042975162, 0.0660481487173569812846,
    0.00298999662592323990972, -0.165079794012604905639e-5, 0.317940243105952177571e-7,
)  # fmt: skip
# near the first root below 0 its Taylor series; the root is in two parts
_ROOT_BELOW = (-0.5040830082644554, -8.15428206243813e-18)
_BELOW = (
    0.0,
    8.939798558792134, -0.8093454625306507, 32.258572064915505, -2.761011648790828, 128.27342343090902,
    -14.70672173553036, 513.2704629562862, -75.37700066344631, 2055.5357119463315, -368.5783503832191,
    8234.667099203069, -1743.364608867363, 32997.785655255044, -8051.818155363498, 132262.95480834588,
    -36529.94596948565, 530280.3912420176, -163451.79342700253, 2126602.3725968753, -723318.8861804305,
    8530604.878543982, -3172131.3155744765, 34228316.69580112, -13807481.997263888,
)  # fmt: skip
_NEAR_ROOT = 0.1
_LARGE = 10.0
_SHIFT = 8
_EULER = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12, 3617 / 8160)  # of 1 / x^2, ...


def _near_root(b: Builder, x: Operand) -> Operand:
    gap = x
    for part in _ROOT:
        gap = f64(b, "sub", gap, part)
    rest = _ratio(b, f64(b, "sub", x, 1.0), _P, _Q)
    return f64(b, "add", f64(b, "mul", gap, _Y), f64(b, "mul", gap, rest))


def _far_from_root(b: Builder, x: Operand) -> Operand:
    """By Euler's and Maclaurin's series, to which the recurrence leads from 2 on."""
    is_low = f64(b, "lt", x, _LARGE)
    far = b.select("f64", is_low, f64(b, "add", x, float(_SHIFT)), x)
    total: Operand = 0.0
    for k in range(_SHIFT):
        total = f64(b, "add", total, f64(b, "div", 1.0, f64(b, "add", x, float(k))))
    over = f64(b, "div", 1.0, far)
    square = f64(b, "mul", over, over)
    series = f64(b, "mul", square, polynomial(b, square, _EULER))
    series = f64(b, "add", f64(b, "sub", series, f64(b, "mul", 0.5, over)), f64(b, "log", far))
    return f64(b, "sub", series, b.select("f64", is_low, total, 0.0))


def cotangent(b: Builder, x: Operand) -> Operand:
    """cot(pi x); an infinity at whole numbers."""
    apart = f64(b, "sub", x, f64(b, "rint", x))
    # near a pole and near a zero between two of them neither of these rounds off what counts
    sine = f64(b, "sin", f64(b, "mul", apart, math.pi))
    cosine = f64(b, "sin", f64(b, "mul", f64(b, "sub", 0.5, f64(b, "abs", apart)), math.pi))
    return f64(b, "div", cosine, sine)


def _psi(b: Builder, x: Operand) -> Operand:
    is_below = f64(b, "lt", x, 0.0)
    turned = b.select("f64", is_below, f64(b, "sub", 1.0, x), x)
    is_small = f64(b, "lt", turned, 1.0)
    moved = b.select("f64", is_small, f64(b, "add", turned, 1.0), turned)
    value = b.select("f64", f64(b, "le", moved, 2.0), _near_root(b, moved), _far_from_root(b, moved))
    step = b.select("f64", is_small, f64(b, "div", 1.0, turned), 0.0)
    value = f64(b, "sub", value, step)
    is_pole = f64(b, "eq", x, f64(b, "rint", x))
    apart = b.select("f64", b.both(is_below, b.negated(is_pole)), x, 0.25)
    mirrored = f64(b, "fma", -math.pi, cotangent(b, apart), value)
    value = b.select("f64", is_below, b.select("f64", is_pole, math.nan, mirrored), value)
    gap = f64(b, "sub", f64(b, "sub", x, _ROOT_BELOW[0]), _ROOT_BELOW[1])
    is_near = f64(b, "lt", f64(b, "abs", gap), _NEAR_ROOT)
    return b.select("f64", is_near, polynomial(b, b.select("f64", is_near, gap, 0.0), _BELOW), value)


# -- the normal distribution -------------------------------------------------------------------------------------------

_ROOT_HALF = math.sqrt(0.5)
_FAR = 20.0
_LEAST = -40.0  # where erfcx has long been infinite
_TAIL = tuple((-1.0) ** k * math.prod(range(1, 2 * k, 2)) / math.sqrt(math.pi) for k in range(9))


def _erfcx(b: Builder, x: Operand) -> Operand:
    """e^(x^2) erfc(x), with the square in two parts; far out by its asymptotic series."""
    x = larger(b, "f64", x, _LEAST)
    near = smaller(b, "f64", x, _FAR)
    short = b.convert("f64", "f32", b.convert("f32", "f64", near))
    rest = f64(b, "mul", f64(b, "sub", near, short), f64(b, "add", near, short))
    factor = f64(b, "mul", f64(b, "exp", f64(b, "mul", short, short)), f64(b, "exp", rest))
    found = f64(b, "mul", factor, f64(b, "erfc", near))
    is_far = f64(b, "gt", x, _FAR)
    over = f64(b, "div", 1.0, b.select("f64", is_far, x, 1.0))
    series = f64(b, "mul", over, polynomial(b, f64(b, "mul", f64(b, "mul", over, over), 0.5), _TAIL))
    return b.select("f64", is_far, series, found)


def _ndtr(b: Builder, x: Operand) -> Operand:
    return (0.5 * erfc(Number(b, f64(b, "mul", x, -_ROOT_HALF)))).x


def _log_ndtr(b: Builder, x: Operand) -> Operand:
    place = f64(b, "mul", x, _ROOT_HALF)
    is_low = f64(b, "lt", x, -1.0)
    low = b.select("f64", is_low, place, -1.0)
    tail = f64(b, "log", f64(b, "mul", 0.5, _erfcx(b, f64(b, "neg", low))))
    tail = f64(b, "sub", tail, f64(b, "mul", low, low))
    tail_of_high = erfc(Number(b, b.select("f64", is_low, -1.0, place)))
    middle = f64(b, "log1p", (-0.5 * tail_of_high).x)
    return b.select("f64", is_low, tail, middle)


# the quantile by Wichura's algorithm AS 241 (PPND16): the middle, both tails, and what is far out in them. In the
# middle it is q N(r) / D(r) with r = 0.180625 - q^2. The slope at 0, which is N / D there, is taken out: what is left,
# N - slope D, has the factor q^2; its other one is K, and the rounding of that small part counts little
_SLOPE = 2.5066282746310007
_MIDDLE = (
    (4.87476594139995, 176.90044402900753, 2358.3059454499726, 14221.483431164575, 38579.049157932095,
     40495.706885421416, 10591.79991446788),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAILS = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_ENDS = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def quantile(b: Builder, middle: Operand, tail: Operand, scale: float = 1.0) -> Operand:
    """The normal quantile of 1/2 + middle, times a scale; that probability or what lacks to 1, the smaller one, is
    e^-tail."""

    def scaled_ratio(x: Operand, above: Sequence[float], below: Sequence[float]) -> Operand:
        return _ratio(b, x, [scale * c for c in above], below)

    apart = f64(b, "mul", middle, middle)
    rest = f64(b, "mul", apart, scaled_ratio(f64(b, "sub", 0.180625, apart), *_MIDDLE))
    inner = f64(b, "fma", middle, scale * _SLOPE, f64(b, "mul", middle, rest))
    root = f64(b, "sqrt", tail)
    near = scaled_ratio(f64(b, "sub", root, 1.6), *_TAILS)
    end = scaled_ratio(f64(b, "sub", root, 5.0), *_ENDS)
    outer = b.select("f64", f64(b, "le", root, 5.0), near, end)
    outer = b.select("f64", f64(b, "eq", root, math.inf), math.inf, outer)
    outer = b.select("f64", f64(b, "lt", middle, 0.0), f64(b, "neg", outer), outer)
    return b.select("f64", f64(b, "le", f64(b, "abs", middle), 0.425), inner, outer)


def _quantile_beside(b: Builder, middle: Operand, tail: Operand, scale: float = 1.0) -> Operand:
    return quantile(b, middle, f64(b, "neg", f64(b, "log", tail)), scale)


def _ndtri(b: Builder, x: Operand) -> Operand:
    return _quantile_beside(b, f64(b, "sub", x, 0.5), smaller(b, "f64", x, f64(b, "sub", 1.0, x)))


def _erfinv(b: Builder, x: Operand) -> Operand:
    half = f64(b, "mul", 0.5, x)
    found = _quantile_beside(b, half, f64(b, "sub", 0.5, f64(b, "abs", half)), _ROOT_HALF)
    return b.select("f64", f64(b, "eq", x, 0.0), 0.0, found)  # of either sign, as SciPy has it


# -- the beta function -------------------------------------------------------------------------------------------------


def _betaln(b: Builder, x: Operand, y: Operand) -> Operand:
    """For arguments of moderate size."""
    one, two, both = (
        b.call("special.gammaln", [Typed("f64", v), Typed("i32", 0)], "f64") for v in (x, y, f64(b, "add", x, y))
    )
    return f64(b, "sub", f64(b, "add", one, two), both)


def _beta(b: Builder, x: Operand, y: Operand) -> Operand:
    """For arguments of moderate size, and for a large one beside one below 0; 0 where the sum is a pole of gamma."""
    low, high = smaller(b, "f64", x, y), larger(b, "f64", x, y)
    both = f64(b, "add", x, y)
    logs = [b.call("special.gammaln", [Typed("f64", v), Typed("i32", 0)], "f64") for v in (high, both)]
    plain = [b.call("special.gamma", [Typed("f64", v), Typed("i32", 0)], "f64") for v in (low, high, both)]
    quotient = f64(b, "div", plain[1], plain[2])
    quotient = b.select("f64", f64(b, "gt", high, 100.0), f64(b, "exp", f64(b, "sub", *logs)), quotient)
    is_pole = b.both(f64(b, "le", both, 0.0), f64(b, "eq", both, f64(b, "rint", both)))
    return b.select("f64", is_pole, 0.0, f64(b, "mul", plain[0], quotient))


# by SciPy's names
STANDING: dict[str, Callable[..., Operand]] = {
    "psi": _psi, "ndtr": _ndtr, "ndtri": _ndtri, "log_ndtr": _log_ndtr, "erfcx": _erfcx, "erfinv": _erfinv,
    "betaln": _betaln, "beta": _beta,
}  # fmt: skip
# those as exact as SciPy's: in vectors they take half its time to an eighth
IN_VECTORS = {"psi", "ndtr", "ndtri", "log_ndtr", "erfcx", "erfinv"}
# of these a single number takes up to six times SciPy's time, as all ways are computed
SLOW_ALONE = {"psi", "erfcx", "erfinv", "log_ndtr", "ndtri"}
