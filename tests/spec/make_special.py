"""Makes special.json: values and derivatives of special functions over their domains, by mpmath to more than 40 digits.

Run it as `python tests/spec/make_special.py [name ...]` where mpmath is installed, after a change here: it takes an hour of
a core, and names of functions make those anew alone. `tests/test_special_reference.py` reads the file. A record is
[arguments, orders, value, change]: the derivative of the given order in each argument, and the sum, over the arguments,
of the sizes of argument times slope of the value: how much the value moves where each argument moves by its own size. A
relative error of one unit of the last place in the arguments makes that unit of it, so no algorithm on floats does better.

All numbers are of single precision where that does not lose the point, so that both precisions are tested on them.
"""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.spec import special_references as R

mp.dps = 60
PATH = pathlib.Path(__file__).with_name("special.json")
PATIENCE = 15  # seconds for one record; what takes longer is told, and left out
LARGEST = float(np.finfo(np.float64).max)
Point = tuple[float, ...]
Orders = Sequence[tuple[int, ...]]


def near(x: float) -> float:
    """The nearest single where there is one of full precision."""
    return float(np.float32(x)) if 1.2e-38 < abs(x) < 3.4e38 else x


def grid(*axes: Iterable[float]) -> list[Point]:
    return list(itertools.product(*axes))


# -- differences ----------------------------------------------------------------------------------------------------------


MOST_DIGITS = 1000  # a function that differs from a constant by less has the derivative 0 in floats


def derivative(f: Callable[..., Any], at: Sequence[Any], order: Sequence[int]) -> Any:
    """Central differences, of the sixth order in a step that is 1e-22 of the argument, with as many digits as they lose."""
    axis = next((i for i, n in enumerate(order) if n), None)
    if axis is None:
        return f(*at)
    times, rest = order[axis], (*[0 if i == axis else n for i, n in enumerate(order)],)
    here = at[axis]
    size = abs(here) if here else mpf(1)
    digits = mp.dps + 50 * times + max(0, -R.magnitude(size))
    while True:
        with mp.workdps(digits):
            step = size * mpf(10) ** -22
            places = {k: derivative(f, (*at[:axis], here + k * step, *at[axis + 1 :]), rest) for k in STENCILS[times]}
            total = sum(weight * places[k] for k, weight in STENCILS[times].items())
            largest = max(map(abs, places.values()))
            lost = R.magnitude(largest) - R.magnitude(total) if total else digits
            if digits - lost >= 30 or digits > MOST_DIGITS or not largest:
                return total / ((60 if times == 1 else 180) * step**times)
        digits = max(2 * digits, lost + 60)


STENCILS = {
    1: {-3: -1, -2: 9, -1: -45, 1: 45, 2: -9, 3: 1},
    2: {-3: 2, -2: -27, -1: 270, 0: -490, 1: 270, 2: -27, 3: 2},
}


def change_of(f: Callable[..., Any], at: Sequence[Any], order: Sequence[int], value: Any) -> Any:
    """How much a derivative moves where the arguments move by their own sizes, to first order."""
    total = mpf(0)
    for i, x in enumerate(at):
        if x:
            with mp.workdps(mp.dps + 30 + max(0, -R.magnitude(x))):
                step = x * mpf(10) ** -20
                there = derivative(f, (*at[:i], x + step, *at[i + 1 :]), order)
                total += abs(there - value) * mpf(10) ** 20
    return total


class TooLong(Exception):
    pass


def _give_up(*_: Any) -> None:
    raise TooLong


def records_of(f: Callable[..., Any], points: Iterable[Point], orders: Orders) -> list[Any]:
    rows = []
    for point in points:
        for order in orders:
            signal.alarm(PATIENCE)
            try:
                row = record(f, point, order)
            except TooLong:
                print(f"    {point} {order}: too long", flush=True)
                continue
            except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence, NotImplementedError) as error:
                print(f"    {point} {order}: {type(error).__name__} {error}", flush=True)
                continue
            finally:
                signal.alarm(0)
            rows.append(row)
    return rows


def record(f: Callable[..., Any], point: Point, order: tuple[int, ...]) -> list[Any]:
    at = (*map(mpf, point),)
    value = derivative(f, at, order)
    if isinstance(value, mpmath.mpc) or mpmath.isnan(value):
        raise ValueError("not a real number")
    change = change_of(f, at, order, value)
    return [list(point), list(order), rounded(value), float(f"{min(float(change), LARGEST):.3g}")]


def rounded(x: Any) -> float:
    return float(x) if abs(x) < mpf(LARGEST) * (1 + mpf(2) ** -54) else math.copysign(math.inf, x)


# -- points ---------------------------------------------------------------------------------------------------------------

# zero's neighbours down to the smallest denormal, every decade of interest, the switches of the kernels, the largest
SIZES = [5e-324, 1e-310, 2.3e-308, 1e-300, 1e-160, *map(near, [
    1e-37, 1e-20, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.1, 0.25, 0.47, 0.5, 0.7, 0.84, 0.9, 1.0, 1.1, 1.46163, 1.5, 2.0, 2.5, 3.0, 4.3,
    5.0, 6.5, 7.9, 8.1, 9.99, 10.0, 10.01, 13.0, 15.9, 19.9, 20.1, 24.0, 26.5, 27.2, 33.0, 37.5, 38.6, 50.0, 88.0, 100.0, 103.5,
    170.5, 171.7, 300.0, 700.0, 708.5, 744.0, 746.0, 1e3, 3e4, 1e5, 1e8, 1e10, 1e15, 1e20, 1e30, 1e38,
]), 1e50, 1e100, 1e154, 1e155, 1e200, 1e300, LARGEST]  # fmt: skip
LINE = [*(-x for x in reversed(SIZES)), *SIZES]
SMOOTH = [*LINE, 0.0]
BELOW = [*map(near, [-1e-8, -0.3, -0.5, -1.5, -2.5, -7.2, -30.1, -100.7, -169.5, -171.5, -180.3, -1000.5]), -1 + 1e-6, -1 - 1e-6,
         -3.0 + 1e-9, -(2.0**40) - 0.5]  # fmt: skip
SHARES = [5e-324, 1e-310, 1e-300, 1e-100, *map(near, [1e-37, 1e-20, 1e-8, 1e-3, 0.02425, 0.1, 0.1353, 0.1354, 0.3, 0.47, 0.5, 0.53, 0.62,
          0.75, 0.8646, 0.8647, 0.9, 0.97, 0.999]), 0.5 - 1e-9, 0.5 + 1e-7, 1 - 2.0**-24, 1 - 1e-9, 1 - 2.0**-53]  # fmt: skip
FEW = [
    5e-324,
    1e-300,
    *map(near, [1e-30, 1e-8, 0.1, 0.5, 1.0, 2.5, 9.9, 10.1, 50.0, 1e3, 1e5, 1e8, 1e15, 1e30]),
    1e100,
    1e300,
]
PAIRED = [*map(near, [1e-30, 1e-8, 0.01, 0.4, 1.0, 1.5, 5.5, 9.9, 10.1, 33.0, 170.0, 1e3, 1e5, 1e8, 1e15]), 1e100]

ONE: Orders = [(0,), (1,)]
TWO: Orders = [(0,), (1,), (2,)]
BOTH: Orders = [(0, 0), (1, 0), (0, 1)]
BOTH_TWICE: Orders = [*BOTH, (2, 0), (1, 1), (0, 2)]
ALL: Orders = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def within(points: Iterable[float], low: float, high: float) -> list[float]:
    return [x for x in points if low <= x <= high]


Entry = tuple[Callable[..., Any], Iterable[Any], Orders]


def error_functions() -> dict[str, Entry]:
    shares_of_two = [*SHARES, *(near(1 + x) for x in (1e-6, 0.03, 0.3, 0.6, 0.9, 0.99)), 2 - 1e-9, 2 - 2.0**-52]
    both_signs = [*SHARES, *(-x for x in SHARES)]
    return {
        "erf": (mp.erf, [*within(LINE, -1e10, 1e10), 0.0], ONE),
        "erfc": (R.erfc, SMOOTH, ONE),
        "erfcx": (R.erfcx, SMOOTH, TWO),
        "ndtr": (R.ndtr, SMOOTH, ONE),
        "log_ndtr": (R.log_ndtr, within(SMOOTH, -1e300, LARGEST), TWO),
        "ndtri": (R.ndtri, SHARES, ONE),
        "erfinv": (R.erfinv, both_signs, ONE),
        "erfcinv": (R.erfcinv, shares_of_two, ONE),
    }


def gamma_function() -> dict[str, Entry]:
    line = [*BELOW, *SIZES]
    poch_points = [*grid(map(near, [1e-30, 1e-8, 0.1, 0.5, 1.0, 2.5, 9.9, 50.0, 1e3, 1e5, 1e8, 1e15]),
                         map(near, [1e-30, 1e-8, 0.3, 1.0, 2.5, 3.0, 60.0, 1e3, 1e6])), (2.5, -1.25), (1e100, 0.5), (1e10, -5e9)]  # fmt: skip
    comb_points = [(5.0, 2.0), (5.5, 2.25), (60.0, 30.0), (1e3, 7.0), (1e3, 0.5), (1e6, 2.0), (1e10, 1.0), (300.0, 150.0),
                   (1e15, 2.0), (1e15, 20.5), (1e100, 1.5), (1029.0, 514.0), (0.5, 1e-20)]  # fmt: skip
    return {
        "gamma": (mp.gamma, line, ONE),
        "gammaln": (R.gammaln, [*line, 1 + 1e-9, 2 - 1e-9, 1 - 2.0**-53, 2.0 + 2.0**-51], ONE),
        "loggamma": (R.gammaln, SIZES, ONE),
        "digamma": (R.digamma, [*line, 1.4616321449683622, near(1.4616321449683622)], TWO),
        **{f"polygamma {n}": (lambda x, n=n: R.polygamma(n, x), [*within(SIZES, 1e-160, 1e300), *BELOW[:9]], ONE) for n in (1, 2, 5, 20)},
        "factorial": (lambda n: mp.gamma(n + 1), within(SMOOTH, 0, 1e300), ONE),
        "multigammaln 3": (lambda a: 3 * R.log(mp.pi) / 2 + sum(R.gammaln(a - mpf(j) / 2) for j in range(3)),
                           [1.0 + 1e-8, *within(SIZES, 1.01, 1e300)], ONE),
        "betaln": (R.betaln, grid(PAIRED, PAIRED), BOTH),
        "beta": (lambda a, b: mp.exp(R.betaln(a, b)), grid(PAIRED, PAIRED), BOTH),
        "comb": (lambda n, k: mp.exp(-R.betaln(n - k + 1, k + 1)) / (n + 1), comb_points, BOTH),
        "poch": (lambda z, m: mp.exp(_gammaln_step(z, m)), poch_points, BOTH),
        "zeta": (R.zeta, grid([1 + 2.0**-23, *map(near, [1.01, 1.5, 2.0, 3.7, 12.0, 60.0, 300.0])],
                              map(near, [1e-30, 1e-3, 0.2, 1.0, 2.5, 19.9, 20.1, 30.0, 1e4, 1e10, 1e30])), BOTH),
        "expi": (mp.ei, within(LINE, -1e5, 1e5), ONE),
        "exp1": (mp.e1, within(SIZES, 0, 1e5), ONE),
        "gammasgn": (lambda x: mp.sign(mp.gamma(x)), [*BELOW, *within(SIZES, 0, 100)], ONE),
    }  # fmt: skip


def _gammaln_step(z: Any, m: Any) -> Any:
    with R.extra(40 + R.magnitude(z) - 2 * min(R.magnitude(m), R.magnitude(z), 0)):
        return mp.loggamma(z + m) - mp.loggamma(z)


def elementary() -> dict[str, Entry]:
    pairs = [*grid([1e-300, *map(near, [1e-30, 1e-8, 0.3, 1.0, 5.0, 1e8])], [1e-300, *map(near, [1e-30, 1e-8, 0.3, 0.300001, 1.0,
             1.000001, 5.0, 1e8])]), (1.0, 1 + 1e-9), (3.0, 2.7), (3.0, 3.3), (3.0, near(3.31)), (1e300, 1e-300),
             (1.0, 2.0), (2.0, 1.0), (2.0, near(1.999)), (LARGEST, 1.0), (1.0, LARGEST)]  # fmt: skip
    logs = [*pairs, (2.0, -0.5), (2.0, -1e-12), (2.0, -1 + 2.0**-53), (-3.0, 1e-20)]
    three = [
        (0.0, 1.0),
        (-1e3, 1e3),
        (700.5, 708.0),
        (1e-20, -1e-20),
        (3.0, -40.0),
        (-2.0, 35.0),
        (1.0, near(1.001)),
        (-800.0, -810.0),
    ]
    return {
        "expit": (lambda x: 1 / (1 + mp.exp(-x)), within(SMOOTH, -1e5, 1e5), ONE),
        "log_expit": (lambda x: -mp.log1p(mp.exp(-x)), within(SMOOTH, -1e5, 1e5), TWO),
        "logit": (lambda p: R.log(p) - mp.log1p(-p), SHARES, ONE),
        "entr": (lambda x: -x * R.log(x), [*SIZES, 0.367879, 1 - 2.0**-53], ONE),
        "rel_entr": (lambda x, y: x * R.log(x / y), pairs, BOTH),
        "kl_div": (lambda x, y: x * R.log(x / y) - x + y, pairs, BOTH),
        "xlogy": (lambda x, y: x * R.log(y), pairs, BOTH),
        "xlog1py": (lambda x, y: x * mp.log1p(y), logs, BOTH),
        "sinc": (_sinc, [*within(SMOOTH, -1e15, 1e15), near(2.1), 10.1, 100.3, 1 + 2.0**-23], TWO),
        "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), LINE, ONE),
        "exp2": (lambda x: mpf(2) ** x, within([*SMOOTH, 1023.5, -1022.5, -1074.2], -1e5, 1e5), ONE),
        "expm1": (mp.expm1, within(SMOOTH, -1e5, 1e5), ONE),
        "log1p": (mp.log1p, [*within(SIZES, 0, LARGEST), *(-x for x in SHARES), 0.0], ONE),
        "logsumexp": (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), three, BOTH),
        "softmax": (lambda a, b: 1 / (1 + mp.exp(b - a)), three, BOTH),
        "log_softmax": (lambda a, b: -mp.log1p(mp.exp(b - a)), three, BOTH),
    }  # fmt: skip


def _sinc(x: Any) -> Any:
    with R.extra(20 + max(R.magnitude(x), 0) - 2 * min(R.magnitude(x), 0)):
        return mp.sin(mp.pi * x) / (mp.pi * x) if x else mpf(1)


def bessel_functions() -> dict[str, Entry]:
    sizes = [*within(SIZES, 1e-160, 1e5), 1e8]
    both = [*(-x for x in sizes), *sizes]
    table: dict[str, Entry] = {}
    for v in (0, 1, 2, 30, 100, 0.5, -0.5, 2.5, -2.5, 30.25, -3):
        # halves of the points, one by one, beyond the common orders
        own = sizes if v in (0, 1) else sizes[v % 2 < 1 :: 2]
        if v < 0:  # SciPy has NaN where these overflow
            own = within(own, 1e-37, math.inf)
        for name in ("jv", "yv", "iv", "ive", "kv", "kve"):
            points = own
            if name in ("jv", "iv", "ive") and v in (0, 1, 2):
                points = [*(-x for x in own[::2]), *own]
            table[f"{name} {v}"] = (R.bessel(name, v), points, TWO if v in (0, 1, 2.5) else ONE)
    for order in (0, 1):
        table |= {f"{kind}{order}": (R.bessel(kind, order), [*both[::2], *([0.0] if kind in "ij" else [])] if kind in "ij" else sizes[::2], ONE)
                  for kind in "jyik"}  # fmt: skip
        table |= {
            f"{kind}{order}e": (R.bessel(f"{kind}e", order), both[::2] if kind == "i" else sizes[::2], ONE)
            for kind in "ik"
        }
    return table


def incomplete_functions() -> dict[str, Entry]:
    shares = [1e-30, 1e-6, 0.3, 0.69, 0.71, 0.97, 1.0, 1.03, 1.29, 1.31, 2.0, 5.0, 30.0]
    points = [
        (near(a), near(a * r))
        for a in (1e-3, 0.1, 1.0, 2.5, 9.9, 10.1, 30.0, 180.0, 999.0, 1001.0)
        for r in shares
        if a * r < 9e3
    ]
    points += [(near(1e-30), near(1e-30)), (near(1e-6), near(1e-3)), (near(1e-8), 50.0), (0.5, near(1e-20)), (0.5, 30.0), (0.5, 1e-300),
               (2.5, 300.0), (2.5, 700.0), (20.0, near(0.05)), (1e4, 9.9e3), (1e4, 1.02e4), (1e4, 2e4), (1e4, 500.0), (1.0, 740.0),
               (0.5, 1e-310), (1e-3, 1e-310)]  # fmt: skip
    three = grid([1e-3, 0.5, 4.0, 60.0], [0.02, 1.0, 7.5, 300.0], [1e-10, 0.1, 0.5, 0.9])
    pairs = [(a, a * r) for a in map(near, [0.1, 1.0, 30.0]) for r in (0.25, 1.0, 1.25, 4.0)]
    quantiles = grid(
        map(near, [0.05, 0.5, 1.0, 2.5, 30.0, 180.0, 1e3]), [1e-100, *map(near, [1e-15, 1e-8, 0.1, 0.5, 0.9, 0.9999])]
    )
    beta_quantiles = grid(
        map(near, [0.1, 0.5, 1.0, 4.0, 60.0, 500.0]),
        map(near, [0.2, 0.5, 1.0, 7.5, 300.0]),
        [1e-100, *map(near, [1e-8, 0.1, 0.5, 0.9, 0.9999])],
    )
    return {
        "gammainc": (R.gammainc, points, BOTH),
        "gammainc second": (R.gammainc, pairs, [(2, 0), (1, 1)]),
        "gammaincc": (R.gammaincc, points, BOTH),
        "gammaincinv": (R.gammaincinv, quantiles, BOTH),
        "betainc": (R.betainc, three, ALL),
        "betainc second": (R.betainc, grid(map(near, [0.1, 1.0, 30.0]), map(near, [0.4, 20.0]), [0.25, 0.5, 0.75]), [(2, 0, 0), (1, 1, 0)]),
        "betaincc": (R.betaincc, three[::3], [(0, 0, 0), (0, 0, 1)]),
        "betaincinv": (R.betaincinv, [q for q in beta_quantiles[::3] if q[2] > 1e-90], ALL),
    }  # fmt: skip


def large() -> dict[str, list[Any]]:
    """Slopes in large parameters, near the peak of the density, where series take as many steps as it is wide."""
    sizes = [1e3, 3e4, 1e6, 1e10, 1e13, 1e16]
    offs = [-5.0, -1.0, -0.01, 0.0, 0.5, 6.0]
    gammas = [(a, a + r * math.sqrt(a)) for a, r in grid(sizes, offs)]
    pairs = [(1e3, 1e3), (2e3, 1e8), (1e8, 3e3), (1e12, 1e12), (1e14, 1e14), (1e16, 1e15)]
    betas = [
        (a, b, a / (a + b) + r * math.sqrt(a * b / (a + b)) / (a + b)) for (a, b), r in itertools.product(pairs, offs)
    ]
    return {
        "gammainc large": [slope_record(R.gamma_slope, point, (1, 0)) for point in gammas],
        "betainc large": [
            *[slope_record(R.beta_slope, point, (1, 0, 0)) for point in betas],
            *[slope_record(lambda a, b, x: -R.beta_slope(b, a, 1 - x), point, (0, 1, 0)) for point in betas],
        ],
    }


def slope_record(slope: Callable[..., Any], point: Point, orders: tuple[int, ...]) -> list[Any]:
    """A derivative that is given by an integral: its own differences tell the change."""
    exact = (*map(mpf, point),)
    value, change = slope(*exact), mpf(0)
    for i, x in enumerate(exact):
        moved = slope(*exact[:i], x * (1 + mpf(10) ** -20), *exact[i + 1 :])
        change += abs(moved - value) * mpf(10) ** 20
    return [list(point), list(orders), float(value), float(f"{float(change):.3g}")]


def table() -> dict[str, Entry]:
    return {**error_functions(), **gamma_function(), **elementary(), **bessel_functions(), **incomplete_functions()}


def write(records: dict[str, list[Any]], path: pathlib.Path) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}" for name, rows in sorted(records.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main(wanted: list[str], path: pathlib.Path = PATH) -> None:
    signal.signal(signal.SIGALRM, _give_up)
    known = json.loads(path.read_text("utf-8")) if path.exists() and wanted else {}
    entries = table()
    for name in wanted or [*entries, "large"]:
        began = time.monotonic()
        if name == "large":
            known |= large()
        else:
            f, points, orders = entries[name]
            found = [point if isinstance(point, tuple) else (point,) for point in points]
            known[name] = records_of(f, dict.fromkeys(found), orders)
        write(known, path)
        print(name, len(known.get(name, ())), f"{time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
