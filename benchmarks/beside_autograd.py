"""Programs of HIPS/autograd's kind, by autograd itself and by `wengert.compat.autograd`, both in one process.

    python benchmarks/beside_autograd.py [--compiled] [--only TEXT]

Programs of our choice come first, then autograd's own benchmarks and examples, and fits by packages that depend on it,
where those are installed (tests/compat/requirements.txt). Each row is one call: the least processor time of several
rounds, which take turns; the ratio is ours by autograd's.
With `--compiled` a `wg.function` is around ours, called once before it is measured.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import pathlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as onp

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wengert as wg
from benchmarks import autograd_rows

HOMES = ("autograd", "wengert.compat.autograd")


def programs(home: str) -> dict[str, tuple[Callable[[], Any], Any]]:
    """What makes each derivative, on one of the two packages, and where it is taken."""
    ag, np = importlib.import_module(home), importlib.import_module(f"{home}.numpy")
    norm = importlib.import_module(f"{home}.scipy.stats").norm
    special = importlib.import_module(f"{home}.scipy.special")
    x, points = onp.linspace(0.1, 1.0, 10), onp.linspace(-2, 2, 200)
    inputs, truth = onp.linspace(-1, 1, 400).reshape(100, 4), onp.arange(100) % 2
    weights = [(0.1 * onp.ones((4, 16)), onp.zeros(16)), (0.1 * onp.ones((16, 1)), onp.zeros(1))]
    matrix = onp.eye(20) + 0.1 * onp.cos(onp.arange(400.0)).reshape(20, 20)

    def chain(x: Any) -> Any:
        for _ in range(50):
            x = np.sin(x)
        return x

    def fan(x: Any) -> Any:
        for _ in range(500):
            x = (x + x) / 2.0
        return np.sum(x)

    def slices(x: Any) -> Any:
        total = 0.0
        for i in range(10):
            total = total + x[i] ** 2
        return total

    def logistic(w: Any) -> Any:
        p = 0.5 * (np.tanh(np.dot(inputs, w)) + 1)
        return -np.sum(np.log(p * truth + (1 - p) * (1 - truth)))

    def network(params: Any) -> Any:
        h = inputs
        for w, b in params:
            h = np.tanh(np.dot(h, w) + b)
        return np.mean((h[:, 0] - truth) ** 2)

    def rnn(w: Any) -> Any:
        h = inputs
        for _ in range(20):
            h = np.tanh(np.dot(h, w))
        return np.sum(h**2)

    def gaussian(p: Any) -> Any:
        return -np.sum(norm.logpdf(points, p[0], np.exp(p[1])))

    def weibull(p: Any) -> Any:
        t = points + 3.0
        return -np.sum(np.log(p[0]) + (p[0] - 1) * np.log(t) - (t / np.exp(p[1])) ** p[0])

    def gammas(p: Any) -> Any:
        return np.sum(special.gammaln(p)) - special.gammaln(np.sum(p))

    def process(p: Any) -> Any:
        k = np.exp(-0.5 * ((x[:, None] - x[None, :]) / p[0]) ** 2) + np.exp(p[1]) * np.eye(10)
        return np.sum(np.linalg.solve(k, x) * x) + np.linalg.slogdet(k)[1]

    return {
        "x ** 2": (lambda: ag.grad(lambda x: x**2), 2.0),
        "sum(x sin x)": (lambda: ag.grad(lambda x: np.sum(x * np.sin(x))), x),
        "50 sines": (lambda: ag.grad(chain), 2.0),
        "500 sums of a value with itself": (lambda: ag.grad(fan), 2.0),
        "10 elements squared": (lambda: ag.grad(slices), x),
        "logistic regression": (lambda: ag.grad(logistic), onp.ones(4) / 4),
        "network of two layers": (lambda: ag.grad(network), weights),
        "recurrent network": (lambda: ag.grad(rnn), 0.3 * onp.ones((4, 4))),
        "normal likelihood": (lambda: ag.grad(gaussian), onp.array([0.1, 0.2])),
        "Weibull likelihood": (lambda: ag.grad(weibull), onp.array([1.5, 0.2])),
        "Dirichlet's constant": (lambda: ag.grad(gammas), x),
        "Gaussian process": (lambda: ag.grad(process), onp.array([0.5, -1.0])),
        "Jacobian, 10 by 10": (lambda: ag.jacobian(lambda x: np.tanh(x) * np.sum(x)), x),
        "Hessian, 4 by 4": (lambda: ag.hessian(logistic), onp.ones(4) / 4),
        "det of 20 by 20": (lambda: ag.grad(np.linalg.det), matrix),
    }


def entered(call: Callable[[], Any]) -> Callable[[], Any]:
    """A call, with the modules in place that it works on."""
    if isinstance(call, autograd_rows.Fit):
        call.enter()
    return call


def least(call: Callable[[], Any], count: int) -> float:
    """Processor time of a call, the mean of a few."""
    entered(call)
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def called(make: Callable[[], Any], x: Any) -> Any:
    """A derivative that is made anew, as programs do."""
    return make()(x)


def require_same(wanted: Any, found: Any, precision: float) -> None:
    """Refuses numbers that differ, also in lists and tuples."""
    if isinstance(wanted, (list, tuple)):
        for a, b in zip(wanted, found, strict=True):
            require_same(a, b, precision)
    else:
        onp.testing.assert_allclose(found, wanted, rtol=precision, atol=precision / 1e3)


def compared(theirs: Callable[[], Any], ours: Callable[[], Any], precision: float) -> tuple[float, float]:
    """Processor times of two calls that give the same numbers."""
    require_same(entered(theirs)(), entered(ours)(), precision)
    once = least(theirs, 1)
    # a machine that is shared disturbs a row that is one call long: the least of more of them is steadier
    count, rounds = max(1, int(0.03 / max(once, 1e-6))), 3 if once > 1.0 else 5 if once > 0.1 else 15
    for _ in range(10 if once < 0.01 else 0):  # what is met again and again is warm
        entered(theirs)(), entered(ours)()
    times = [(least(theirs, count), least(ours, count)) for _ in range(rounds)]
    a, b = (min(column) for column in zip(*times, strict=True))
    return a, b


Pair = tuple[Callable[[], Any], Callable[[], Any]]


def pairs(is_compiled: bool) -> dict[str, Pair]:
    """The calls of our own choice, both ways."""
    theirs, ours = (programs(home) for home in HOMES)
    found: dict[str, Pair] = {}
    for name, (make, x) in theirs.items():
        make_ours = ours[name][0]
        way = functools.partial(wg.function(make_ours()), x) if is_compiled else functools.partial(called, make_ours, x)
        found[name] = functools.partial(called, make, x), way
    return found


def both(rows: Callable[[str], dict[str, Callable[[], Any]]]) -> dict[str, Pair]:
    """The calls of a table, both ways."""
    theirs, ours = (rows(home) for home in HOMES)
    return {name: (call, ours[name]) for name, call in theirs.items()}


def dependents() -> dict[str, Pair]:
    """The fits of packages, both ways; a line for each package that is not here."""
    (theirs, missing), (ours, _) = (autograd_rows.fits(home) for home in HOMES)
    for name in missing:
        print(f"| {name}: not installed, left out | | | |")
    return {name: (call, ours[name]) for name, call in theirs.items()}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--compiled", action="store_true", help="ours with wg.function around, made once")
    parser.add_argument("--only", default="", help="a part of the names of the rows that are wanted")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = [(functools.partial(pairs, options.compiled), 1e-9)]
    if not options.compiled:  # a package compiles nothing around its calls
        tables += [
            (functools.partial(both, rows), 1e-5) for rows in (autograd_rows.benchmark_programs, autograd_rows.examples)
        ]
        tables.append((dependents, 1e-3))  # where a search ends within its tolerance
    ratios = []
    print("| program | autograd, us | ours, us | ratio |\n|---|---:|---:|---:|")
    for table, precision in tables:
        for name, (theirs, ours) in table().items():
            if options.only not in name:
                continue
            a, b = compared(theirs, ours, precision)
            ratios.append(b / a)
            print(f"| {name} | {a * 1e6:.0f} | {b * 1e6:.0f} | {b / a:.3f} |", flush=True)
    print(f"\n{len(ratios)} rows: median {onp.median(ratios):.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
