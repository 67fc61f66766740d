"""Times every method of every distribution of one variable, beside JAX's and SciPy's, and the gradients.

Each row is one method of 20,000 points of one region: microseconds of processor time a call and the ratios to JAX's
compiled form and to SciPy's (which has no gradients). Gradients are in the point and in all parameters, `loc` and
`scale` with them. The libraries take turns. NaN stands where a library has no such method or gradient. `--above 1`
prints at the end those that take longer than the peer: JAX's, or SciPy's where JAX has none. From the repository's
folder:

    .venv/bin/python benchmarks/distributions.py [NAMES] [--above 1] [--dtypes float32 ...] [--methods cdf ...]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import special_functions  # noqa: E402, I001  (from the folder above; it limits the threads)

import harness  # noqa: E402  (after the threads are limited)
import jax  # noqa: E402  (as above)
import numpy as np  # noqa: E402  (as above)
import scipy.stats  # noqa: E402  (as above)

import wengert as wg  # noqa: E402  (as above)

COUNT = 20_000
DTYPES = ("float64", "float32", "float16")
METHODS = ("logpdf", "pdf", "logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")

Range = tuple[float, float]

# by distribution and region: the range of the points, then one of each shape parameter
POINTS: Mapping[str, Mapping[str, Sequence[Range]]] = {
    **{name: {"middle": [(-3, 3)], "far": [(-40, 40)]} for name in ("norm", "laplace", "logistic", "cauchy")},
    "uniform": {"middle": [(-0.5, 1.5)]},
    "expon": {"middle": [(0, 5)]},
    "lognorm": {"middle": [(0.01, 5), (0.3, 2)]},
    "truncnorm": {"middle": [(-1, 2), (-2, -0.5), (1, 3)], "tail": [(4, 8), (3, 4), (8, 9)]},
    "pareto": {"middle": [(1, 5), (0.5, 4)]},
    "weibull_min": {"middle": [(0.01, 3), (0.5, 4)]},
    "gamma": {"small": [(0.01, 3), (0.1, 2)], "middle": [(1, 20), (2, 20)], "large": [(80, 120), (80, 120)]},
    "chi2": {"small": [(0.01, 3), (0.5, 3)], "middle": [(1, 40), (3, 40)]},
    "beta": {"small": [(0, 1), (0.1, 2), (0.1, 2)], "middle": [(0, 1), (2, 20), (2, 20)],
             "large": [(0.4, 0.6), (80, 200), (80, 200)]},
    "t": {"few": [(-4, 4), (1, 5)], "many": [(-4, 4), (5, 60)], "far": [(-400, 400), (1, 60)]},
    "vonmises": {"flat": [(-3, 3), (0.1, 2)], "sharp": [(-1, 1), (10, 100)]},
    "poisson": {"few": [(0, 10), (0.5, 8)], "many": [(80, 120), (80, 120)]},
    "binom": {"few": [(0, 10), (8, 20), (0, 1)], "many": [(80, 120), (180, 220), (0.4, 0.6)]},
    "bernoulli": {"all": [(0, 2), (0, 1)]},
    "nbinom": {"few": [(0, 10), (1, 10), (0.3, 0.9)], "many": [(80, 120), (80, 120), (0.4, 0.6)]},
}  # fmt: skip
_DISCRETE = ("poisson", "binom", "bernoulli", "nbinom")
_COUNTS = {"binom": (1,)}  # which shape parameters are whole numbers, too


def arguments(name: str, method: str, ranges: Sequence[Range], dtype: str) -> tuple[np.ndarray, ...]:
    """Points, or shares, and the parameters."""
    rng = np.random.default_rng(0)
    first = (0.001, 0.999) if method in ("ppf", "isf") else ranges[0]
    xs = [rng.uniform(low, high, COUNT) for low, high in (first, *ranges[1:])]
    if name in _DISCRETE and method not in ("ppf", "isf"):
        xs[0] = np.floor(xs[0])
    for place in _COUNTS.get(name, ()):
        xs[place] = np.floor(xs[place])
    place = [np.full(COUNT, 0.0)] if name in _DISCRETE else [np.full(COUNT, 0.0), np.full(COUNT, 1.5)]
    if name == "truncnorm":
        xs[0] = xs[0] * 1.5
    return (*[x.astype(dtype) for x in (*xs, *place)],)


def _followed(name: str, method: str, count: int) -> tuple[int, ...]:
    """The arguments that have a gradient."""
    none = {0, count - 1, *_COUNTS.get(name, ())} if name in _DISCRETE else set[int]()
    return (*[k for k in range(count) if k not in none],)


def _programs(name: str, method: str, kind: str, count: int) -> dict[str, Callable[..., Any]]:
    """By library, what computes the method or its gradient."""
    modules = {"wengert": wg.stats, "scipy": scipy.stats, "jax": jax.scipy.stats}
    found: dict[str, Callable[..., Any]] = {}
    for library, module in modules.items():
        f = getattr(getattr(module, name, None), method, None)
        if f is None or (library == "scipy" and kind == "gradient"):
            continue
        if library == "scipy":
            found[library] = f
            continue
        whole, np_ = (wg.function, wg) if library == "wengert" else (jax.jit, jax.numpy)
        if kind == "forward":
            found[library] = whole(lambda *xs, f=f: f(*xs))
            continue
        grad = (wg if library == "wengert" else jax).grad
        total = lambda *xs, f=f, np_=np_: np_.sum(f(*xs))
        found[library] = whole(grad(total, argnums=_followed(name, method, count)))
    return found


def rows_of(name: str, method: str, dtype: str, kind: str) -> Iterator[special_functions.Row]:
    """All regions."""
    regions = POINTS[name]
    count = len(next(iter(regions.values()))) + (1 if name in _DISCRETE else 2)
    programs = _programs(name, method, kind, count)
    for region, ranges in regions.items():
        xs = arguments(name, method, ranges, dtype)
        yield special_functions.timed(f"{name}.{method}", region, dtype, kind, programs, xs)


def rows(names: Sequence[str], methods: Sequence[str], dtypes: Sequence[str]) -> Iterator[special_functions.Row]:
    """Of distributions with these names, all if none is given."""
    for name in names or POINTS:
        for method in methods:
            if method not in getattr(wg.stats, name).methods:
                continue
            for dtype in dtypes:
                has_slope = not (name in _DISCRETE and method in ("ppf", "isf"))
                for kind in ("forward", "gradient")[: 1 + has_slope]:
                    yield from rows_of(name, method, dtype, kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--above", type=float, default=1.0)
    parser.add_argument("--dtypes", nargs="*", default=[*DTYPES])
    parser.add_argument("--methods", nargs="*", default=[*METHODS])
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    jax.config.update("jax_enable_x64", True)
    print(f"{'method':22}{'region':26}{'dtype':12}{'':10}{'us':>10}{'of JAX':>8}{'SciPy':>8}")
    found = rows(chosen.names, chosen.methods, chosen.dtypes)
    harness.tell_rows(found, special_functions.told, chosen.above, "the peer")


if __name__ == "__main__":
    main()
