"""Special functions in mpmath, to at least 60 digits wherever a double can be put in: what `make_special.py` records.

Where mpmath's own function loses digits (its error is often absolute) or does not end, the formula is written out.
Precision is mpmath's global one when a function is called; a function that cancels raises it for itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath
import scipy.special
from mpmath import mp, mpf


def log(x: Any) -> Any:
    return mp.log(x)


def magnitude(x: Any) -> int:
    """The decimal exponent."""
    return int(mp.floor(mp.log10(abs(x)))) if x else 0


def extra(digits: Any) -> Any:
    """A context with so many more digits."""
    return mp.workdps(mp.dps + max(int(digits), 0))


@functools.cache
def _loggamma(x: Any, digits: int) -> Any:
    with mp.workdps(digits):
        return mp.loggamma(x)


def loggamma(x: Any) -> Any:
    """Kept for the next call: the solutions by Newton's method and the differences ask for the same ones."""
    return +_loggamma(x, mp.dps)


# -- error functions ----------------------------------------------------------------------------------------------------


def erfcx(x: Any) -> Any:
    if x < 200:
        with extra(20 + (2 * magnitude(x) if abs(x) > 1 else 0)):
            return mp.exp(x * x) * mp.erfc(x)
    total = term = mpf(1)
    for k in range(1, 400):
        term *= -mpf(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def erfc(x: Any) -> Any:
    return mp.erfc(x) if x < 200 else mp.exp(-x * x) * erfcx(x)


def ndtr(x: Any) -> Any:
    return erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x: Any) -> Any:
    if x < -100:
        return log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2
    return log(ndtr(x)) if x < 1 else mp.log1p(-ndtr(-x))


def solved(f: Callable[[Any], Any], slope: Callable[[Any], Any], guess: Any) -> Any:
    """Newton's method from a guess of some digits until nothing changes."""
    x = mpf(guess)
    for _ in range(60):
        step = f(x) / slope(x)
        x -= step
        if abs(step) <= abs(x) * mpf(10) ** (-mp.dps // 2 - 5):
            return x - f(x) / slope(x)
    raise mpmath.libmp.NoConvergence


def erfcinv(y: Any) -> Any:
    if y > 1:
        return -erfcinv(2 - y)
    if y > 0.5:
        return erfinv(1 - y)
    # the logarithm of a tail is nearly a parabola
    guess = mp.sqrt(-log(y)) if y < 1e-300 else scipy.special.erfcinv(float(y))
    return solved(lambda x: log(erfc(x)) - log(y), lambda x: -2 / (mp.sqrt(mp.pi) * erfcx(x)), guess)


def erfinv(y: Any) -> Any:
    if y < 0:
        return -erfinv(-y)
    if y > 0.5:
        return erfcinv(1 - y)
    guess = y * mp.sqrt(mp.pi) / 2 if y < 1e-8 else scipy.special.erfinv(float(y))
    return solved(lambda x: mp.erf(x) - y, lambda x: 2 * mp.exp(-x * x) / mp.sqrt(mp.pi), guess)


def ndtri(p: Any) -> Any:
    return -mp.sqrt(2) * erfcinv(2 * p)


# -- the gamma function's relatives -------------------------------------------------------------------------------------


def gammaln(x: Any) -> Any:
    if x > 0:
        with extra(magnitude(x) if x < 1 else 30):
            return loggamma(x)
    with extra(30):
        return log(abs(mp.gamma(x)))


def digamma(x: Any) -> Any:
    with extra(20):
        return mp.digamma(x)


def polygamma(n: int, x: Any) -> Any:
    """By Hurwitz's zeta function, and for large x by the series of that."""
    if n == 0:
        return digamma(x)
    if x > 1e4:
        total = mp.factorial(n - 1) / x**n + mp.factorial(n) / (2 * x ** (n + 1))
        for k in range(1, 40):
            total += mp.bernoulli(2 * k) * mp.factorial(2 * k + n - 1) / (mp.factorial(2 * k) * x ** (2 * k + n))
        return (-1) ** (n + 1) * total
    with extra(20):
        return mp.polygamma(n, x)


def betaln(a: Any, b: Any) -> Any:
    small, large = min(a, b), max(a, b)
    with extra(40 + magnitude(large) - min(magnitude(small), 0)):
        return loggamma(a) + loggamma(b) - loggamma(a + b)


def zeta(s: Any, q: Any) -> Any:
    """The sum of some terms, and Euler's and Maclaurin's formula for the rest."""
    ahead = max(0, 60 - int(min(q, 60)))
    total, t = sum(((q + k) ** -s for k in range(ahead)), mpf(0)), q + ahead
    here = t**-s
    rest, rising = t / (s - 1) + mpf(1) / 2, s / t
    for k in range(1, 400):
        term = mp.bernoulli(2 * k) / mp.factorial(2 * k) * rising
        rest += term
        if abs(term) < abs(rest) * mpf(10) ** (-mp.dps - 5):
            return total + here * rest
        rising *= (s + (2 * k - 1)) * (s + 2 * k) / (t * t)
    with extra(20 + float(s) * max(magnitude(t), 1)):
        return mp.zeta(s, q)


# -- incomplete gamma and beta ------------------------------------------------------------------------------------------


def lower_gamma(a: Any, x: Any) -> Any:
    """The power series, whose terms all have one sign."""
    total = term = 1 / a
    k = 0
    while term > total * mpf(10) ** (-mp.dps - 5):
        k += 1
        term *= x / (a + k)
        total += term
    return total


def gammainc(a: Any, x: Any) -> Any:
    if x > 2 * a + 1e4:
        return 1 - gammaincc(a, x)
    with extra(20):
        return lower_gamma(a, x) * mp.exp(a * log(x) - x - loggamma(a))


def gammaincc(a: Any, x: Any) -> Any:
    if x > 2 * a + 1e3:  # the continued fraction
        with extra(20):
            f = mpf(0)
            for k in range(400, 0, -1):
                f = k * (a - k) / (x + 2 * k + 1 - a + f)
            return mp.exp(a * log(x) - x - loggamma(a)) / (x + 1 - a + f)
    with mp.workdps(15):
        size = a * log(x) - x - loggamma(a) if x > a else mpf(0)
    with extra(30 + max(0, -float(size) / 2.3) - min(magnitude(a), 0)):
        return 1 - gammainc(a, x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    if x > (a + 1) / (a + b + 2):
        with extra(_lost(a, b, x)):
            return 1 - _beta_series(b, a, 1 - x)
    return _beta_series(a, b, x)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    return betainc(b, a, 1 - x)


def _lost(a: Any, b: Any, x: Any) -> float:
    """The digits that 1 and the other tail lose."""
    size = a * log(x) + b * mp.log1p(-x) - betaln(a, b) if 0 < x < 1 else mpf(0)
    return 30 + max(0, -float(size) / 2.3) - min(magnitude(b), magnitude(a), 0)


def _beta_series(a: Any, b: Any, x: Any) -> Any:
    """x^a (1-x)^b / (a B(a, b)) times 2F1(a + b, 1; a + 1; x), whose terms all have one sign."""
    with extra(30):
        total = term = mpf(1)
        k = 0
        while term > total * mpf(10) ** (-mp.dps - 5) or (a + b + k) * x > a + 1 + k:
            term *= (a + b + k) / (a + 1 + k) * x
            total += term
            k += 1
            if k > 200_000:
                raise mpmath.libmp.NoConvergence
        return mp.exp(a * log(x) + b * mp.log1p(-x) - betaln(a, b)) / a * total


def _guess(value: float, low: Any) -> Any:
    return mpf(value) if value > 1e-290 else low


def gammaincinv(a: Any, p: Any) -> Any:
    with extra(10):
        low = mp.exp((log(p) + loggamma(a + 1)) / a)  # of a small result
        x = _guess(float(scipy.special.gammaincinv(float(a), float(p))), low)
        if low < mpf(10) ** -30:
            x = low

        def density(t: Any) -> Any:
            return mp.exp((a - 1) * log(t) - t - loggamma(a))

        return mp.exp(solved(lambda u: log(gammainc(a, mp.exp(u)) / p),
                             lambda u: density(mp.exp(u)) * mp.exp(u) / gammainc(a, mp.exp(u)), log(x)))  # fmt: skip


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    with extra(10):
        norm = betaln(a, b)
        low = mp.exp((log(p) + log(a) + norm) / a)
        x = _guess(float(scipy.special.betaincinv(float(a), float(b), float(p))), low)
        if low < mpf(10) ** -30:
            x = low
        if x >= 1:
            raise mpmath.libmp.NoConvergence

        def slope(u: Any) -> Any:
            t = mp.exp(u)
            return mp.exp(a * u + (b - 1) * mp.log1p(-t) - norm) / betainc(a, b, t)

        return mp.exp(solved(lambda u: log(betainc(a, b, mp.exp(u)) / p), slope, log(x)))


# -- slopes of large parameters, by quadrature ----------------------------------------------------------------------------


def tail(density: Callable[[Any], Any], x: Any, peak: Any, width: Any) -> Any:
    """The integral of a density's derivative from 0 to x, over the tail that begins there: over both tails it is 0."""
    side = -1 if x < peak else 1
    with mp.workdps(70):
        outwards = width * mp.quad(lambda u: density(x + side * u * width), list(range(25)))
        return outwards if side < 0 else -outwards


def gamma_slope(a: Any, x: Any) -> Any:
    """d gammainc(a, x) / da for large a."""
    with mp.workdps(70):
        norm, mean = loggamma(a), mp.digamma(a)
        return tail(lambda t: (log(t) - mean) * mp.exp((a - 1) * log(t) - t - norm), x, a, mp.sqrt(a))


def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """d betainc(a, b, x) / da for large a and b."""
    with mp.workdps(70):
        norm, mean = betaln(a, b), mp.digamma(a) - mp.digamma(a + b)
        width = mp.sqrt(a * b / (a + b)) / (a + b)
        return tail(
            lambda t: (log(t) - mean) * mp.exp((a - 1) * log(t) + (b - 1) * mp.log1p(-t) - norm), x, a / (a + b), width
        )


# -- Bessel functions ---------------------------------------------------------------------------------------------------


def bessel(name: str, v: Any) -> Callable[[Any], Any]:
    """A Bessel function of an order, by SciPy's name; those with an e are scaled."""
    kind = {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}[name[0]]
    sign = {"i": -1, "k": 1}.get(name[0], 0) if name.endswith("e") else 0
    has_logarithm = name[0] in "yk" and v == int(v)

    def function(x: Any) -> Any:
        if abs(x) > 300 + 10 * v * v:
            return _modified_of_large(name, v, x) if name[0] in "ik" else _of_large(name, v, x)
        with extra(40 + max(magnitude(x), -2 * magnitude(x) if abs(v) < 3 else 0)):
            if has_logarithm:
                value = _second_kind(name[0], int(v), x)
            else:
                value = kind(v, x)
            if isinstance(value, mpmath.mpc):
                if abs(value.imag) > abs(value.real) * mpf(10) ** -50:
                    raise ValueError("complex")
                value = value.real
            return value * mp.exp(sign * (abs(x) if name[0] == "i" else x)) if sign else value

    return function


def _second_kind(letter: str, v: int, x: Any) -> Any:
    """Y or K of a whole order by its series (NIST Digital Library of Mathematical Functions, 10.8.1 and 10.31.1)."""
    n, sign = abs(v), -1 if letter == "y" else 1
    with extra(0.9 * float(x)):
        half, square = x / 2, x * x / 4
        poles = sum(mp.factorial(n - k - 1) / mp.factorial(k) * (-sign * square) ** k for k in range(n)) / half**n
        term = half**n / mp.factorial(n)
        weight = mp.digamma(1) + mp.digamma(n + 1)
        first, series, k = mpf(0), mpf(0), 0
        while k < x or abs(term) > abs(first) * mpf(10) ** (-mp.dps - 5):
            first += term
            series += weight * term
            k += 1
            term *= sign * square / (k * (n + k))
            weight += mpf(1) / k + mpf(1) / (n + k)
        if letter == "y":
            return (-1) ** (n if v < 0 else 0) * (2 * log(half) * first - poles - series) / mp.pi
        return poles / 2 + (-1) ** (n + 1) * log(half) * first + (-1) ** n * series / 2


def _of_large(name: str, v: Any, x: Any) -> Any:
    """Hankel's expansion of J and Y (NIST Digital Library of Mathematical Functions, 10.17.3 and 10.17.4)."""
    size = abs(x)
    with extra(max(magnitude(size), 0) + 10):
        even, odd, term = mpf(1), mpf(0), mpf(1)
        for k in range(1, 300):
            term *= (4 * mpf(v) ** 2 - (2 * k - 1) ** 2) / (8 * k * size)
            if k % 2:
                odd += (-1) ** (k // 2) * term
            else:
                even += (-1) ** (k // 2) * term
            if abs(term) < mpf(10) ** (-mp.dps - 5):
                break
        phase = size - (mpf(v) / 2 + mpf(1) / 4) * mp.pi
        cos, sin = mp.cos(phase), mp.sin(phase)
        value = even * cos - odd * sin if name[0] == "j" else even * sin + odd * cos
        return mp.sqrt(2 / (mp.pi * size)) * value * ((-1) ** int(v) if x < 0 else 1)


def _modified_of_large(name: str, v: Any, x: Any) -> Any:
    """The asymptotic series, whose terms fall here until they are far below the precision."""
    size = abs(x)
    total = term = mpf(1)
    alternates = -1 if name[0] == "i" else 1
    for k in range(1, 300):
        term *= alternates * (4 * mpf(v) ** 2 - (2 * k - 1) ** 2) / (8 * k * size)
        total += term
        if abs(term) < mpf(10) ** (-mp.dps - 5):
            break
    if name[0] == "i":
        value = total / mp.sqrt(2 * mp.pi * size)
        grown = value if name.endswith("e") else value * mp.exp(size)
        return grown if x > 0 else (-1) ** int(v) * grown
    value = total * mp.sqrt(mp.pi / (2 * size))
    return value if name.endswith("e") else value * mp.exp(-size)
