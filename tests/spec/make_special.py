"""Makes special.json: values and derivatives of special functions and distributions, by mpmath to 50 digits.

Run it as `python tests/spec/make_special.py [part ...]` where mpmath is installed, after a change here. `tests/test_special_reference.py`
reads the file. A record is [arguments, orders, value, condition]: the derivative of the given order in each argument, and
how much of the value one unit of relative change in the arguments makes: no algorithm on floats can do better than that.
"""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import mpmath
from mpmath import mp, mpf

mp.dps = 50
Points = Iterable[tuple[float, ...]]
RECORDS: dict[str, list[Any]] = {}


def record(name: str, f: Callable[..., Any], points: Points, orders: Iterable[tuple[int, ...]] | None = None,
           least: float = 1e-290) -> None:  # fmt: skip
    """Values, and derivatives of the orders (each first one, if None), of at least some size."""
    rows = RECORDS.setdefault(name, [])
    for point in points:
        point = point if isinstance(point, tuple) else (point,)
        n = len(point)
        given = [(0,) * n, *[tuple(int(i == j) for j in range(n)) for i in range(n)]] if orders is None else orders
        for order in given:
            try:
                value, condition = _derivative(f, point, order)
            except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence):
                continue
            if (
                mpmath.isnan(value)
                or mpmath.isinf(value)
                or isinstance(value, mpmath.mpc)
                or not least < abs(value) < 1e300
            ):
                continue
            rows.append([list(point), list(order), float(value), float(f"{float(condition):.3g}")])


def _derivative(f: Callable[..., Any], point: tuple[float, ...], order: tuple[int, ...]) -> tuple[Any, Any]:
    exact = tuple(map(mpf, point))

    def at(*xs: Any) -> Any:
        return _diff(f, xs, order)

    value = at(*exact)
    change = mpf(0)
    for i, x in enumerate(exact):
        step = x * mpf(10) ** -12
        if x and value:
            moved = (*exact[:i], x + step, *exact[i + 1 :])
            change += abs((at(*moved) - value) / value) * mpf(10) ** 12
    return value, change


def _diff(f: Callable[..., Any], xs: tuple[Any, ...], order: tuple[int, ...]) -> Any:
    if not any(order):
        return mp.re(f(*xs)) if isinstance(f(*xs), mpmath.mpc) else f(*xs)
    (axis, times), *rest = [(i, n) for i, n in enumerate(order) if n]
    step = (abs(xs[axis]) if xs[axis] else mpf(1)) * mpf(10) ** -14
    if rest:
        return _diff(lambda *ys: _diff(f, ys, (*[n if i == axis else 0 for i, n in enumerate(order)],)), xs,
                     (*[0 if i == axis else n for i, n in enumerate(order)],))  # fmt: skip

    def at(k: float) -> Any:
        return f(*xs[:axis], xs[axis] + k * step, *xs[axis + 1 :])

    if times == 2:
        step = max(abs(xs[axis]), mpf(1) / 1000) * mpf(10) ** -10
    with mp.workdps(80):
        if times == 1:  # an error of the sixth order in the step
            return (45 * (at(1) - at(-1)) - 9 * (at(2) - at(-2)) + (at(3) - at(-3))) / (60 * step)
        return (270 * (at(1) + at(-1)) - 27 * (at(2) + at(-2)) + 2 * (at(3) + at(-3)) - 490 * at(0)) / (180 * step**2)


def grid(*axes: Iterable[float]) -> list[tuple[float, ...]]:
    return list(itertools.product(*axes))


# -- points -------------------------------------------------------------------------------------------------------------

TINY = [1e-300, 1e-100, 1e-20, 1e-8, 1e-3]
POSITIVE = [*TINY, 0.1, 0.5, 0.9, 1.0, 1.2, 1.46163, 2.0, 2.5, 7.3, 12.0, 30.5, 171.0, 1e3, 1e5, 1e8, 1e15]
NEAR_POLES = [-1e-8, -0.3, -0.5, -1.0 + 1e-6, -1.0 - 1e-6, -1.5, -2.5, -3.0 + 1e-9, -7.2, -30.1, -100.7]
LINE = [-1e3, -50.0, -30.0, -8.0, -3.0, -1.0, -0.4, -1e-5, -1e-20, 1e-20, 1e-5, 0.3, 0.7, 1.0, 2.0, 4.5, 8.0, 19.0, 21.0, 30.0,
        50.0, 1e3, 1e5, 1e10]  # fmt: skip
# fmt: off
SHARES = [1e-300, 1e-100, 1e-20, 1e-8, 1e-3, 0.1, 0.3, 0.47, 0.5 - 1e-9, 0.5, 0.5 + 1e-7, 0.62, 0.9, 0.999, 1 - 1e-9, 1 - 2**-52]
# fmt: on


def log(x: Any) -> Any:
    return mp.log(x)


def sqrt2() -> Any:
    return mp.sqrt(2)


def erfcx(x: Any) -> Any:
    with mp.workdps(80):
        return mp.exp(x * x) * mp.erfc(x) if x < 1e4 else mp.hyperu(mpf(1) / 2, mpf(1) / 2, x * x) / mp.sqrt(mp.pi)


def ndtr(x: Any) -> Any:
    return mp.erfc(-x / sqrt2()) / 2


def erfcinv(y: Any) -> Any:
    guess = mp.sqrt(-log(y)) if y < 0.1 else mp.erfinv(1 - y)
    return mp.findroot(lambda x: log(mp.erfc(x)) - log(y), guess, tol=mpf(10) ** -90)


def ndtri(p: Any) -> Any:
    if p > 0.5:
        with mp.workdps(90):
            return -ndtri(1 - p)
    with mp.workdps(90):
        return -sqrt2() * erfcinv(2 * p)


def lgamma(x: Any) -> Any:
    return log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)


def gammainc(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def betainc(a: Any, b: Any, x: Any) -> Any:
    with mp.workdps(120):
        if x > 0.7:
            return 1 - betainc(b, a, 1 - x)
        power = a * log(x) + b * mp.log1p(-x) - betaln(a, b)
        return mp.exp(power) / a * mp.hyp2f1(a + b, 1, a + 1, x)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    return betainc(b, a, 1 - x)


def betaln(a: Any, b: Any) -> Any:
    with mp.workdps(90):
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def zeta(s: Any, q: Any) -> Any:
    with mp.workdps(mp.dps + int(s * max(mp.log10(q), 0))):  # mpmath's error is absolute
        return mp.zeta(s, q)


def gamma_and_relatives() -> None:
    record("gamma", mp.gamma, [x for x in [*POSITIVE, *NEAR_POLES] if abs(x) > 1e-290])
    record("gammaln", lgamma, [*POSITIVE, *NEAR_POLES, 1 + 1e-9, 2 - 1e-9])
    record("digamma", mp.digamma, [*POSITIVE[1:], *NEAR_POLES, 1.4616321449683622])
    for n in (1, 2, 5):
        record(f"polygamma {n}", lambda x, n=n: mp.polygamma(n, x), [x for x in POSITIVE if 1e-20 <= x <= 1e8])
    pairs = grid([1e-20, 1e-3, 0.4, 1.0, 3.3, 50.0, 1e4, 1e8], [1e-10, 0.01, 0.7, 1.0, 5.5, 200.0, 1e5])
    record("betaln", betaln, pairs)
    record("beta", lambda a, b: mp.exp(betaln(a, b)), pairs)
    record(
        "zeta",
        zeta,
        grid([1 + 1e-8, 1.01, 1.5, 2.0, 3.7, 12.0, 60.0], [1e-3, 0.2, 1.0, 2.5, 30.0, 1e4]),
        [(0, 0), (1, 0), (0, 1)],
    )
    record(
        "comb",
        lambda n, k: mp.binomial(n, k),
        [(5.0, 2.0), (5.5, 2.25), (60.0, 30.0), (1e3, 7.0), (1e3, 0.5), (1e6, 2.0), (1e10, 1.0), (300.0, 150.0)],
    )
    record(
        "poch",
        lambda z, m: mp.rf(z, m),
        [
            (1.0, 3.0),
            (0.5, 2.5),
            (1e-8, 1.0),
            (50.0, 20.0),
            (1e5, 1e-3),
            (1e8, 2.0),
            (1e3, 60.0),
            (2.5, -1.25),
            (1e10, 0.5),
            (7.0, 1e-10),
        ],
    )
    record("factorial", lambda n: mp.gamma(n + 1), [0.0, 0.5, 3.0, 20.0, 100.5, 170.0])
    record(
        "multigammaln 3",
        lambda a: 3 * log(mp.pi) / 2 + sum(mp.loggamma(a - mpf(j) / 2) for j in range(3)),
        [1.0 + 1e-8, 1.5, 3.0, 77.0, 1e6],
    )


def incomplete() -> None:
    points = [(a, a * r) for a in (0.1, 1.0, 2.5, 30.0, 1e3) for r in (1e-6, 0.3, 0.97, 1.03, 2.0)]
    points += [
        (1e-6, 1e-3),
        (0.5, 1e-20),
        (0.5, 30.0),
        (2.5, 300.0),
        (20.0, 0.05),
        (1e6, 1e6 + 500.0),
        (1e6, 1e6 - 2e3),
    ]
    record("gammainc", gammainc, points, [(0, 0), (1, 0), (0, 1)])
    record("gammaincc", gammaincc, points, [(0, 0), (0, 1)])
    three = grid([1e-3, 0.5, 4.0, 60.0], [0.02, 1.0, 7.5, 300.0], [1e-10, 0.1, 0.5, 0.9])
    record(
        "betainc", betainc, three, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], least=1e-40
    )  # less is lost in the differences of a value near 1
    record("betaincc", betaincc, three[::3], [(0, 0, 0), (0, 0, 1)])


def errors() -> None:
    record("erf", mp.erf, LINE)
    record("erfc", mp.erfc, LINE)
    record("erfcx", erfcx, [x for x in [*LINE, 5.0, 10.0, 15.0, 25.0] if x > -26], [(0,), (1,), (2,)])
    record("ndtr", ndtr, LINE)
    record(
        "log_ndtr",
        lambda x: log(ndtr(x)) if x < 3 else mp.log1p(-ndtr(-x)),
        [x for x in LINE if -2e3 < x < 35] + [-1e5],
        [(0,), (1,), (2,)],
    )
    record("ndtri", ndtri, [p for p in SHARES if p != 0.5])
    record("erfinv", lambda y: mp.erfinv(y), [1e-300, 1e-20, 1e-5, 0.1, 0.5, 0.9, -0.3, 0.999, 1 - 1e-9])
    record("erfcinv", erfcinv, [1e-300, 1e-100, 1e-20, 1e-5, 0.1, 0.5, 0.9, 1.3])


def elementary() -> None:
    record("expit", lambda x: 1 / (1 + mp.exp(-x)), [x for x in LINE if -700 < x < 600])
    record("log_expit", lambda x: -mp.log1p(mp.exp(-x)), [x for x in LINE if x < 600])
    record("logit", lambda p: log(p) - mp.log1p(-p), [p for p in SHARES if p != 0.5])
    record("entr", lambda x: -x * log(x), [*TINY, 0.3, 0.367879, 0.999999, 1.000001, 2.0, 1e5])
    pairs = grid([1e-300, 1e-8, 0.3, 1.0, 5.0, 1e8], [1e-300, 1e-8, 0.3, 0.300001, 1.0, 1.0 + 1e-9, 5.0, 1e8])
    record("rel_entr", lambda x, y: x * log(x / y), pairs)
    record("kl_div", lambda x, y: x * log(x / y) - x + y, pairs)
    record("xlogy", lambda x, y: x * log(y), pairs)
    record("xlog1py", lambda x, y: x * mp.log1p(y), [*pairs, (2.0, -0.5), (2.0, -1e-12)])
    record(
        "expi", mp.ei, [*POSITIVE[1:14], 30.0, 0.37, 0.372507, 0.373, 100.0, 600.0, -1e-5, -0.5, -3.0, -50.0, -600.0]
    )
    record("exp1", mp.e1, [*POSITIVE[1:14], 50.0, 600.0])
    record("sinc", lambda x: mp.sin(mp.pi * x) / (mp.pi * x), [1e-300, 1e-8, 1e-3, 0.1, 0.5, 1.3, 2.5, 10.1, 100.3])


ORDERS = [0, 1, 2.5, 30.25]


def bessel() -> None:
    arguments = [1e-5, 0.1, 1.0, 5.0, 9.7, 24.0, 55.0, 300.0]
    for v in ORDERS:
        record(f"jv {v}", lambda x, v=v: mp.besselj(v, x), [*arguments, 1e4])
        record(f"yv {v}", lambda x, v=v: mp.bessely(v, x), [*arguments, 1e4])
        record(f"iv {v}", lambda x, v=v: mp.besseli(v, x), arguments)
        record(f"kv {v}", lambda x, v=v: mp.besselk(v, x), arguments)
        wide = [*arguments, 1e3, 1e5]
        record(f"ive {v}", lambda x, v=v: mp.exp(-x) * mp.besseli(v, x), wide)
        record(f"kve {v}", lambda x, v=v: mp.exp(x) * mp.besselk(v, x), wide)


def tail(density: Callable[[Any], Any], x: Any, peak: Any, width: Any) -> Any:
    """The integral of a density's derivative from 0 to x, over the tail that begins there: over both tails it is 0."""
    side = -1 if x < peak else 1
    with mp.workdps(70):
        outwards = width * mp.quad(lambda u: density(x + side * u * width), list(range(25)))
        return outwards if side < 0 else -outwards


def gamma_slope(a: Any, x: Any) -> Any:
    """d gammainc(a, x) / da for large a."""
    with mp.workdps(70):
        norm, mean = mp.loggamma(a), mp.digamma(a)
        return tail(lambda t: (log(t) - mean) * mp.exp((a - 1) * log(t) - t - norm), x, a, mp.sqrt(a))


def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """d betainc(a, b, x) / da for large a and b."""
    with mp.workdps(70):
        norm, mean = betaln(a, b), mp.digamma(a) - mp.digamma(a + b)
        width = mp.sqrt(a * b / (a + b)) / (a + b)
        return tail(
            lambda t: (log(t) - mean) * mp.exp((a - 1) * log(t) + (b - 1) * mp.log1p(-t) - norm), x, a / (a + b), width
        )


def record_slope(name: str, slope: Callable[..., Any], points: Points, orders: tuple[int, ...]) -> None:
    """Derivatives that are given by an integral: their own differences tell the condition."""
    for point in points:
        exact = (*map(mpf, point),)
        value, condition = slope(*exact), mpf(0)
        for i, x in enumerate(exact):
            moved = slope(*exact[:i], x * (1 + mpf(10) ** -20), *exact[i + 1 :])
            condition += abs((moved - value) / value) * mpf(10) ** 20
        row = [list(point), list(orders), float(value), float(f"{float(condition):.3g}")]
        RECORDS[name] = [*[known for known in RECORDS.get(name, []) if known[:2] != row[:2]], row]


def large() -> None:
    """Large parameters, near the peak of the density, where series take as many steps as it is wide."""
    sizes = [1e3, 3e4, 1e6, 1e10, 1e13, 1e16]
    offs = [-5.0, -1.0, -0.01, 0.0, 0.5, 6.0]
    record_slope("gammainc", gamma_slope, [(a, a + r * math.sqrt(a)) for a, r in grid(sizes, offs)], (1, 0))
    pairs = [(1e3, 1e3), (2e3, 1e8), (1e8, 3e3), (1e12, 1e12), (1e14, 1e14), (1e16, 1e15)]
    points = [
        (a, b, a / (a + b) + r * math.sqrt(a * b / (a + b)) / (a + b)) for (a, b), r in itertools.product(pairs, offs)
    ]
    record_slope("betainc", beta_slope, points, (1, 0, 0))
    record_slope("betainc", lambda a, b, x: -beta_slope(b, a, 1 - x), points, (0, 1, 0))


PARTS = (gamma_and_relatives, errors, elementary, incomplete, bessel, large)

if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("special.json")
    wanted = sys.argv[1:] or [part.__name__ for part in PARTS]
    known = json.loads(path.read_text("utf-8")) if path.exists() and sys.argv[1:] else {}
    if "large" in wanted and "incomplete" not in wanted:  # it adds to the records of that part
        RECORDS |= {name: known[name] for name in ("gammainc", "betainc")}
    for part in PARTS:
        if part.__name__ in wanted:
            part()
            lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in sorted({**known, **RECORDS}.items())]
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
            print(
                part.__name__, sum(map(len, RECORDS.values())), math.ceil(path.stat().st_size / 1024), "KiB", flush=True
            )
