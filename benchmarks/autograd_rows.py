"""Rows of `beside_autograd.py`: HIPS/autograd's own benchmark programs, its examples, and fits by packages that depend
on it.

Each function takes the name of a package with autograd's modules, and gives calls by name.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as onp
from scipy import optimize

Rows = dict[str, Callable[[], Any]]


def benchmark_programs(home: str) -> Rows:
    """autograd's benchmarks folder, the sizes as there but in its recurrent network (256 units for 1,024)."""
    ag, np = importlib.import_module(home), importlib.import_module(f"{home}.numpy")
    random = onp.random.default_rng(0)
    draw = random.standard_normal

    def second_order(name: str, f: Callable[..., Any], a: Any, b: Any, g: Any) -> Rows:
        rows: Rows = {}
        for i, wanted in enumerate((a, b)):
            first = functools.partial(product, f, i)
            rows[f"{name}, operand {i}"] = functools.partial(first, a, b, g)
            for j in range(3):
                again = functools.partial(product, first, j, a, b, g, wanted)
                rows[f"{name}, operand {i}, then {j}"] = again
        return rows

    def product(f: Callable[..., Any], argnum: int, *args: Any) -> Any:
        *args, g = args
        return ag.make_vjp(f, argnum)(*args)[0](g)

    def network(params: Any, x: Any, label: Any) -> Any:
        w, b, w_out, b_out = params
        h = x
        for _ in range(50):
            h = np.tanh(np.dot(h, w) + b)
        logit = np.dot(h, w_out) + b_out
        return -np.sum(label * logit - (logit + np.log(1 + np.exp(-logit))))

    def narrow(*shape: int) -> Any:
        return (0.01 * draw(shape)).astype("float32")

    params, x = (narrow(256, 256), narrow(256), narrow(256, 1), narrow(1)), narrow(16, 256)
    label = (random.random((16, 1)) > 0.5).astype("float32")
    structure = {"k": draw((4, 4)), "k3": 3.0, "k4": [1.0, 4.0, 7.0, 9.0], "k5": draw((10, 10, 10))}
    flat, back = importlib.import_module(f"{home}.misc").flatten(structure)

    def unflattened(x: Any) -> Any:
        tree = back(x)
        return np.sum(tree["k"]) + np.sum(tree["k5"])

    contract = functools.partial(np.tensordot, axes=2)
    return {
        **second_order("dot", np.dot, draw((2, 3, 4, 5)), draw((2, 3, 5, 4)), draw((2, 3, 4, 2, 3, 4))),
        **second_order("tensordot", contract, draw((2, 3, 5, 4)), draw((5, 4, 2, 3)), draw((2, 3, 2, 3))),
        "network of 50 steps": lambda: ag.grad(network)(params, x, label),
        "flattened structure": lambda: ag.grad(unflattened)(flat),
        "exp without a box": lambda: np.exp(2.0),
    }


def examples(home: str) -> Rows:
    """autograd's examples folder: what they compute, without their plots, at a few steps each."""
    ag, np = importlib.import_module(home), importlib.import_module(f"{home}.numpy")
    gammaln = importlib.import_module(f"{home}.scipy.special").gammaln
    norm, student = (importlib.import_module(f"{home}.scipy.stats.{name}") for name in ("norm", "t"))
    fixed_point = importlib.import_module(f"{home}.misc.fixed_points").fixed_point
    adam = importlib.import_module(f"{home}.misc.optimizers").adam
    random = onp.random.default_rng(0)
    xs, counts = onp.linspace(-7, 7, 200), random.negative_binomial(5, 0.5, 200)
    seen, noise = random.standard_normal((50, 4)), random.standard_normal((20, 2))

    def tanh(x: Any) -> Any:
        return (1.0 - np.exp(-2 * x)) / (1.0 + np.exp(-2 * x))

    def derivatives() -> Any:
        f, found = tanh, []
        for _ in range(4):
            f = ag.elementwise_grad(f)
            found.append(f(xs))
        return onp.array(found)

    def sine(x: Any) -> Any:
        term = total = x
        for i in range(3, 30, 2):
            term = -term * x * x / (i * (i - 1))
            total = total + term
        return total

    def rosenbrock(x: Any) -> Any:
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def minimized() -> Any:
        return optimize.minimize(ag.value_and_grad(rosenbrock), onp.zeros(2), jac=True, method="CG").x

    def likelihood(r: Any, p: Any) -> Any:
        terms = gammaln(r + counts) - gammaln(r) - gammaln(counts + 1) + counts * np.log(p) + r * np.log(1 - p)
        return np.sum(terms)

    def newton() -> Any:
        def slope(r: Any) -> Any:
            return ag.grad(likelihood)(r, np.sum(counts) / np.sum(r + counts))

        return optimize.newton(slope, 1.0, fprime=ag.grad(slope))

    def root(a: Any) -> Any:
        step = lambda a: lambda x: 0.5 * (x + a / x)
        return fixed_point(step, a, 1.0, lambda x, y: np.abs(x - y), 1e-9)

    def components(weights: Any) -> Any:
        latents = np.dot(np.linalg.inv(np.reshape(weights, (4, 4))), seen.T)
        return np.sum(student.logpdf(latents, 5.0, 0.0, 1.0)) - 50 * np.linalg.slogdet(np.reshape(weights, (4, 4)))[1]

    def density(x: Any) -> Any:
        mean, scale = x[:, 0], x[:, 1]
        return norm.logpdf(scale, 0, 1.35) + norm.logpdf(mean, 0, np.exp(scale))

    def bound(params: Any, step: int = 0) -> Any:
        mean, log_std = params[:2], params[2:]
        return -np.sum(log_std) - np.mean(density(noise * np.exp(log_std) + mean))

    return {
        "tanh's derivatives": derivatives,
        "a sine by its series": lambda: ag.elementwise_grad(sine)(xs),
        "Rosenbrock's valley": minimized,
        "negative binomial fit": newton,
        "a fixed point": lambda: ag.grad(root)(2.0),
        "independent components": lambda: ag.grad(components)(onp.eye(4).ravel() + 0.1),
        "black-box variational inference": lambda: adam(ag.grad(bound), onp.array([-1.0, 0, -5, -5]), num_iters=20),
    }


# -- packages ----------------------------------------------------------------------------------------------------------

PACKAGES = ("lifelines", "autograd_gamma", "surpyval", "pymanopt", "pyerrors")


def imported(home: str) -> tuple[dict[str, Any], list[str]]:
    """The packages that are installed, made anew on one of the two autograds, and the names of those that are not."""
    for name in _theirs():
        if home != "autograd" or not name.startswith("autograd"):
            del sys.modules[name]
    if home != "autograd":
        importlib.import_module(home).install()
    found: dict[str, Any] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            continue
    return found, [name for name in PACKAGES if name not in found]


def _theirs() -> dict[str, Any]:
    """The modules of autograd and of the packages that are there now."""
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("autograd", *PACKAGES)}


class Fit:
    """A fit by a package. Some import more when they are called: `enter` puts its own modules in place for them."""

    in_place: dict[str, Any]  # the modules that are there now, and what they import later

    def __init__(self, call: Callable[[], Any], modules: dict[str, Any]) -> None:
        self.call, self.modules = call, modules
        Fit.in_place = modules

    def enter(self) -> None:
        if Fit.in_place is not self.modules:
            Fit.in_place.update(there := _theirs())
            for name in there:
                del sys.modules[name]
            sys.modules.update(self.modules)
            Fit.in_place = self.modules

    def __call__(self) -> Any:
        return self.call()


def fits(home: str) -> tuple[Rows, list[str]]:
    """Fits by the packages that are installed, and the names of those that are not."""
    packages, missing = imported(home)
    calls: Rows = {}
    for name, package in packages.items():
        calls.update({f"{name}: {what}": call for what, call in _OF[name](home, package).items()})
    modules = _theirs()
    return {name: Fit(call, modules) for name, call in calls.items()}, missing


def _lifelines(home: str, lifelines: Any) -> Rows:
    data = importlib.import_module("lifelines.datasets")
    waltons, rossi = data.load_waltons(), data.load_rossi()

    def univariate(kind: str) -> Any:
        return getattr(lifelines, kind)().fit(waltons["T"], waltons["E"]).log_likelihood_

    def regression(kind: str) -> Any:
        return getattr(lifelines, kind)().fit(rossi, "week", "arrest").log_likelihood_

    kinds = ("WeibullFitter", "LogNormalFitter", "LogLogisticFitter", "GeneralizedGammaFitter")
    rows: Rows = {kind: functools.partial(univariate, kind) for kind in kinds}
    return rows | {kind: functools.partial(regression, kind) for kind in ("WeibullAFTFitter", "LogNormalAFTFitter")}


def _gamma(home: str, package: Any) -> Rows:
    ag, np = importlib.import_module(home), importlib.import_module(f"{home}.numpy")
    xs = onp.linspace(0.2, 3.0, 30)
    gammainc, betainc = package.gammainc, package.betainc
    return {
        "gammainc": lambda: ag.grad(lambda a: np.sum(gammainc(a, xs)))(2.0),
        "betainc": lambda: ag.grad(lambda a: np.sum(betainc(a, 1.3, xs / 4)))(2.0),
    }


def _surpyval(home: str, surpyval: Any) -> Rows:
    x, c = onp.array([1.0, 3, 4, 6, 8, 11, 14, 20]), onp.array([0, 0, 1, 0, 0, 0, 1, 0])

    def fitted(kind: str) -> Any:
        return onp.asarray(getattr(surpyval, kind).fit(x, c=c).params)

    return {kind: functools.partial(fitted, kind) for kind in ("Weibull", "LogNormal", "Gamma")}


def _pymanopt(home: str, pymanopt: Any) -> Rows:
    np = importlib.import_module(f"{home}.numpy")
    matrix = onp.diag(onp.arange(1.0, 9.0)) + 0.1
    sphere = importlib.import_module("pymanopt.manifolds").Sphere(8)
    solver = importlib.import_module("pymanopt.optimizers").TrustRegions(verbosity=0)

    @pymanopt.function.autograd(sphere)
    def cost(x: Any) -> Any:
        return -np.dot(x, np.dot(matrix, x))

    start = onp.ones(8) / onp.sqrt(8)
    return {"TrustRegions": lambda: solver.run(pymanopt.Problem(sphere, cost), initial_point=start).cost}


def _pyerrors(home: str, pyerrors: Any) -> Rows:
    np = importlib.import_module(f"{home}.numpy")
    onp.random.seed(0)
    ys = [pyerrors.pseudo_Obs(float(onp.exp(-0.3 * t)), 0.01, f"e{t}", 100) for t in range(1, 8)]
    for y in ys:
        y.gamma_method()

    def fitted() -> Any:
        fit = pyerrors.fits.least_squares(onp.arange(1, 8), ys, lambda a, x: a[0] * np.exp(-a[1] * x), silent=True)
        return onp.array([p.value for p in fit.fit_parameters])

    return {"least_squares": fitted}


_OF: dict[str, Callable[[str, Any], Rows]] = {
    "lifelines": _lifelines, "autograd_gamma": _gamma, "surpyval": _surpyval, "pymanopt": _pymanopt,
    "pyerrors": _pyerrors,
}  # fmt: skip
