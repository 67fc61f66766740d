"""Times special functions by dtype and by region of their arguments, beside JAX's and SciPy's, and their gradients.

So are functions of NumPy at the ends of their domains: infinities, NaN, zeros, what is beyond.

Each row is one function of 100,000 numbers of one region, which one program computes for all regions: microseconds of
processor time a call and the ratios to JAX's compiled form and to SciPy's (which has no gradients). The libraries take
turns. NaN stands where a library has no such function. `--above 1` prints at the end those that take longer than the
peer: JAX's, or SciPy's where JAX has none. From the repository's folder:

    .venv/bin/python benchmarks/special_functions.py [NAMES] [--above 1] [--dtypes float32 ...] [--no-gradients]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import libraries  # noqa: E402  (from the folder above)

libraries.limit_threads()

import harness  # noqa: E402  (after the threads are limited)
import jax  # noqa: E402  (as above)
import numpy as np  # noqa: E402  (as above)
import scipy.special  # noqa: E402  (as above)

import wengert as wg  # noqa: E402  (as above)

COUNT = 100_000
ROUNDS, TURN = 5, 0.008
DTYPES = ("float64", "float32", "float16")
COMPLEX = ("complex128", "complex64")

Range = tuple[float, float]
Regions = Mapping[str, Sequence[Range]]  # by name, a range for each argument

_LINE: Regions = {
    "far below": [(-500, -20)], "below": [(-8, -1)], "around 0": [(-1, 1)], "tiny": [(-1e-3, 1e-3)], "middle": [(1, 8)],
    "large": [(8, 20)], "far": [(20, 500)],
}  # fmt: skip
_POSITIVE: Regions = {
    "tiny": [(1e-6, 1e-2)], "small": [(0.01, 1)], "middle": [(1, 8)], "large": [(8, 20)], "far": [(20, 500)],
}  # fmt: skip
_GAMMA: Regions = {**_POSITIVE, "below": [(-8, -0.01)], "far below": [(-30, -20)], "above 35": [(35, 150)]}
_INSIDE: Regions = {"around 0": [(-0.5, 0.5)], "all": [(-1, 1)], "ends": [(0.99, 1)], "tiny": [(-1e-3, 1e-3)]}
_ENDS: Regions = {
    "zeros": [(0, 0)], "infinite": [(np.inf, np.inf)], "minus infinite": [(-np.inf, -np.inf)],
    "NaN": [(np.nan, np.nan)], "beyond 1": [(1.1, 20)], "below -1": [(-20, -1.1)], "far": [(2e3, 1e4)],
    "far below": [(-1e4, -2e3)],
}  # fmt: skip
_SHARES: Regions = {"all": [(0, 1)], "middle": [(0.2, 0.8)], "small": [(1e-7, 1e-2)], "ends": [(0.99, 1)]}


def _pairs(*ranges: Range, **others: Sequence[Range]) -> Regions:
    """Each range beside each, and other regions."""
    return {f"{a} {b}": [a, b] for a in ranges for b in ranges} | others


_SIZES: tuple[Range, ...] = ((0.01, 1), (1, 8), (20, 200))


def _third(regions: Regions) -> Regions:
    return {f"{name} {part}": [*ranges, part] for name, ranges in regions.items() for part in ((0, 1), (0.01, 0.1))}


class Function(NamedTuple):
    """A function with the same name everywhere.

    Attributes:
        before: constants that come first.
        after: and last.
        result: which of several results.
        is_complex: whether complex numbers are taken.
        jax: the name in JAX, empty where it has none.
    """

    name: str
    regions: Regions
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    result: int | None = None
    is_complex: bool = False
    jax: str | None = None

    @property
    def title(self) -> str:
        given = [*map(str, self.before + self.after)] + ([f"[{self.result}]"] if self.result is not None else [])
        return " ".join((self.name, *given))

    def of(self, module: Any) -> Callable[..., Any] | None:
        """The function in a module."""
        name = self.name if self.jax is None or module is not jax.scipy.special else self.jax
        f = getattr(module, name, None) if name else None
        if f is None and name:
            plain = {jax.scipy.special: jax.numpy, wg.scipy.special: wg.numpy, scipy.special: np}[module]
            f = getattr(plain, name, None)  # which has the functions that C has
        if f is None:
            return None
        if self.result is None:
            return lambda *xs: f(*self.before, *xs, *self.after)
        return lambda *xs: f(*self.before, *xs, *self.after)[self.result]


def _of(names: str, regions: Regions, **how: Any) -> list[Function]:
    return [Function(name, regions, **how) for name in names.split()]


FUNCTIONS: tuple[Function, ...] = (
    *_of("exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh", _ENDS),
    *_of("arcsinh arccosh arctanh sqrt cbrt sinc", _ENDS),
    *_of("exp expm1 log sin cos tan sinh tanh arctan sinc", _ENDS, is_complex=True),
    *_of("fmod remainder floor_divide power arctan2 hypot", {
        "middle": [(1, 20), (0.2, 0.9)], "far": [(1e3, 1e4), (0.2, 0.9)], "zeros": [(0, 0), (0.2, 0.9)],
        "infinite": [(np.inf, np.inf), (0.2, 0.9)], "NaN": [(np.nan, np.nan), (0.2, 0.9)],
    }),
    *_of("erf erfc erfcx ndtr log_ndtr expit log_expit dawsn erfi wofz", _LINE),
    *_of("erf erfc erfcx dawsn erfi wofz ndtr", _LINE, is_complex=True),
    *_of("expi exp1 expm1 exprel i0 i0e i1 i1e j0 j1 cosm1 exp2 exp10", _LINE),
    *_of("expm1", _LINE, is_complex=True),
    *_of("expi exp1 gamma loggamma digamma rgamma log1p", _LINE, is_complex=True),
    *_of("y0 y1 k0 k1 k0e k1e spence zetac", _POSITIVE),
    *_of("gamma gammaln digamma factorial rgamma gammasgn", _GAMMA),
    *_of("loggamma log1p cbrt", _POSITIVE),
    Function("multigammaln", {name: [(low + 2, high + 2)] for name, ((low, high),) in _POSITIVE.items()}, after=(3,)),
    *[Function("polygamma", _POSITIVE, before=(n,)) for n in (1, 2, 3)],
    *_of("erfinv", _INSIDE),
    *_of("erfcinv", {name: [(2 * low, 2 * high)] for name, ((low, high),) in _SHARES.items()}),
    *_of("ndtri logit entr", _SHARES),
    *_of("ndtri_exp", {"far below": [(-500, -20)], "below": [(-20, -1)], "beside 0": [(-1, 0)]}),
    *[Function("sici", _LINE, result=k, is_complex=c) for c in (False, True) for k in (0, 1)],
    *[Function("shichi", _LINE, result=k) for k in (0, 1)],
    *[Function("fresnel", _LINE, result=k, is_complex=c) for c in (False, True) for k in (0, 1)],
    *[Function("airy", _LINE, result=k, is_complex=c) for c in (False, True) for k in (0, 2)],
    *[Function(name, _POSITIVE, before=(v,)) for name in ("jv", "yv", "iv", "kv", "kve", "ive") for v in (2, 0.5, 2.3)],
    *[Function(name, _POSITIVE, before=(2.3,), is_complex=True) for name in ("jv", "yv", "iv", "kv")],
    *[Function(name, _POSITIVE, before=(2,)) for name in ("spherical_jn", "spherical_yn", "spherical_in", "expn")],
    *[Function(f"eval_{name}", _INSIDE, before=(5,)) for name in ("legendre", "chebyt", "hermite", "laguerre")],
    *_of("lambertw", _POSITIVE), *_of("lambertw", _LINE, is_complex=True), *_of("wrightomega", _LINE),
    *_of("ellipk ellipe ellipkm1", _SHARES), *_of("ellipkinc ellipeinc", _pairs((0.1, 0.9))),
    *_of("elliprc", _pairs(*_SIZES)), *_of("agm", _pairs(*_SIZES)),
    *_of("ber bei ker kei", {"small": [(0.01, 1)], "middle": [(1, 8)]}),
    Function("hyp0f1", _LINE, before=(1.5,)), Function("hyp1f1", _LINE, before=(1.5, 2.5), jax=""),
    Function("hyp2f1", _INSIDE, before=(1.5, 2.5, 3.5), jax=""), Function("hyperu", _POSITIVE, before=(1.5, 2.5)),
    Function("struve", _POSITIVE, before=(1.5,)),
    *_of("beta betaln poch", _pairs(*_SIZES, below=[(-8, -0.1), (0.1, 8)])),
    *_of("comb binom", {"some": [(1, 20), (0.5, 1)], "middle": [(20, 50), (1, 20)], "far": [(100, 500), (1, 100)]}),
    *_of("gammainc gammaincc", _pairs(*_SIZES, alike=[(50, 100), (50, 100)], tiny=[(0.01, 1), (1e-6, 1e-2)])),
    *_of("gammaincinv", {str(a): [a, (0, 1)] for a in _SIZES}),
    *_of("betainc", _third(_pairs(*_SIZES))), *_of("betaincinv", _third(_pairs(*_SIZES))),
    *_of("zeta", {"middle": [(1.5, 8), (0.5, 8)], "far": [(8, 50), (0.5, 8)], "large": [(1.5, 8), (20, 500)]}),
    *_of("owens_t", {
        "around 0": [(-1, 1), (-1, 1)], "middle": [(-3, 3), (-3, 3)], "steep": [(-3, 3), (3, 100)],
        "far": [(3, 8), (-3, 3)],
    }),
    *_of("xlogy xlog1py rel_entr kl_div", _pairs(*_SIZES)),
    *_of("boxcox boxcox1p inv_boxcox", {"middle": [(0.1, 8), (0.1, 2)], "flat": [(0.1, 8), (-1e-3, 1e-3)]}),
    *_of("stdtr", {"few": [(1, 5), (-5, 5)], "many": [(20, 200), (-5, 5)]}), *_of("chdtr", _pairs(*_SIZES)),
    *_of("voigt_profile", {"middle": [(-5, 5), (0.5, 2), (0.5, 2)]}),
    *_of("huber pseudo_huber", {"middle": [(0.5, 2), (-5, 5)]}),
    *_of("tklmbda", {"middle": [(-2, 2), (-1, 1)]}), *_of("powm1", {"middle": [(0.1, 8), (-2, 2)]}),
)  # fmt: skip


class Row(NamedTuple):
    """What a function of a region takes, in seconds, by library."""

    title: str
    region: str
    dtype: str
    kind: str
    seconds: dict[str, float]
    error: str = ""

    def of(self, library: str) -> float:
        """The ratio to a library's time."""
        return self.seconds.get("wengert", np.nan) / self.seconds.get(library, np.nan)

    @property
    def ratio(self) -> float:
        """To JAX's time, or to SciPy's where JAX has no such function."""
        found = self.of("jax")
        return found if found == found else self.of("scipy")


def arguments(ranges: Sequence[Range], dtype: str) -> tuple[np.ndarray, ...]:
    """Numbers evenly spread over the ranges; complex ones in all directions, of these sizes."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for low, high in ranges:
        x = rng.uniform(low, high, COUNT) if low < high else np.full(COUNT, low, float)
        found.append((x * np.exp(1j * rng.uniform(-1.5, 1.5, COUNT)) if dtype in COMPLEX else x).astype(dtype))
    return (*found,)


def _slope(module: Any, total: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The gradient with respect to all arguments."""
    return module.grad(total, argnums=(*range(count),))


def _programs(f: Function, dtype: str, is_gradient: bool) -> dict[str, Callable[..., Any]]:
    """By library, what computes the function or its gradient; what is compiled serves all regions."""
    ours, theirs, plain = (f.of(m) for m in (wg.scipy.special, jax.scipy.special, scipy.special))
    assert ours is not None
    count = len(next(iter(f.regions.values())))
    if not is_gradient:
        found = {"wengert": wg.function(ours)}
        if plain is not None:
            found["scipy"] = plain
        return found if theirs is None else {**found, "jax": jax.jit(theirs)}

    def total(g: Callable[..., Any], np_: Any) -> Callable[..., Any]:
        return lambda *xs: np_.sum(np_.real(g(*xs)))

    found = {"wengert": wg.function(_slope(wg, total(ours, wg), count))}
    return found if theirs is None else {**found, "jax": jax.jit(_slope(jax, total(theirs, jax.numpy), count))}


def _call(library: str, program: Callable[..., Any], xs: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    if library == "jax":
        given = [jax.numpy.asarray(x) for x in xs]
        return lambda: jax.block_until_ready(program(*given))
    return lambda: program(*xs)


def timed(
    title: str, region: str, dtype: str, kind: str, programs: Mapping[str, Callable[..., Any]],
    xs: tuple[np.ndarray, ...],
) -> Row:  # fmt: skip
    """The row of programs by library, of these arguments; without times where ours does not run."""
    contenders: list[harness.Contender] = []
    errors: list[str] = []
    for library, program in programs.items():
        call = _call(library, program, xs)
        try:
            call()
        except Exception as error:  # a library that lacks a dtype or a gradient says so in its own way
            if library == "wengert":
                errors.append(f"{type(error).__name__}: {error}".splitlines()[0][:100])
            continue
        contenders.append(harness.Contender(library, "compiled", call, lambda found: ()))
    if errors or not contenders:
        return Row(title, region, dtype, kind, {}, "; ".join(errors))
    gc.freeze()  # or each turn's collection takes longer than the turn
    taken = harness.measure(contenders, TURN, ROUNDS, np.inf, time.process_time)
    return Row(title, region, dtype, kind, {m.library: m.median for m in taken})


def rows_of(f: Function, dtype: str, is_gradient: bool) -> Iterator[Row]:
    """All regions."""
    programs = _programs(f, dtype, is_gradient)
    for region, ranges in f.regions.items():
        yield timed(
            f.title, region, dtype, "gradient" if is_gradient else "forward", programs, arguments(ranges, dtype)
        )


def rows(names: Sequence[str], dtypes: Sequence[str], has_gradients: bool) -> Iterator[Row]:
    """Of functions with these names, all if none is given."""
    for f in FUNCTIONS:
        if names and f.name not in names:
            continue
        for dtype in dtypes:
            if (dtype in COMPLEX) == f.is_complex:
                for is_gradient in (False, True)[: 1 + has_gradients]:
                    yield from rows_of(f, dtype, is_gradient)


def told(row: Row) -> str:
    """A row as a line."""
    us = row.seconds.get("wengert", np.nan) * 1e6
    ratios = "".join(f"{row.of(library):8.2f}" for library in ("jax", "scipy"))
    return f"{row.title:22}{row.region:26}{row.dtype:12}{row.kind:10}{us:10.1f}{ratios}  {row.error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--above", type=float, default=1.0)
    parser.add_argument("--dtypes", nargs="*", default=[*DTYPES, *COMPLEX])
    parser.add_argument("--no-gradients", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    jax.config.update("jax_enable_x64", True)
    print(f"{'function':22}{'region':26}{'dtype':12}{'':10}{'us':>10}{'of JAX':>8}{'SciPy':>8}")
    found = rows(chosen.names, chosen.dtypes, not chosen.no_gradients)
    harness.tell_rows(found, told, chosen.above, "the peer")


if __name__ == "__main__":
    main()
