"""Times Jacobians and Hessians, dense and sparse, beside JAX and a loop over rows; benchmarks/README.md explains.

A case is a function written once, for both libraries' namespaces, and the ways to its derivative. All ways to one
derivative are compared before they are timed; then they take turns. Start reading at `main`.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

# Before JAX is loaded: it is the CPU that is compared.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import scipy.sparse as sp

import wengert as wg

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None

ROWS_TIMED = 20  # of a loop over rows, where all of them would take minutes: the time is scaled up


class Way(NamedTuple):
    """One way to a derivative.

    Attributes:
        name: what the table says.
        call: computes it.
        matrix: the whole derivative as an array or a sparse matrix, or None if `call` computes a part.
        scale: what the time is multiplied by.
    """

    name: str
    call: Callable[[], Any]
    matrix: Callable[[], Any] | None
    scale: float = 1.0


class Case(NamedTuple):
    title: str
    ways: list[Way]


def whole(name: str, call: Callable[[], Any]) -> Way:
    return Way(name, call, call)


def of_wengert(name: str, derivative: Callable[[Any], Any], x: np.ndarray) -> Way:
    return whole(name, lambda: derivative(x))


def blocked(call: Callable[[], Any]) -> Callable[[], Any]:
    """JAX returns before it is done."""
    return lambda: jax.block_until_ready(call())


# -- dense ------------------------------------------------------------------------------------------------------------


def layers(np: Any, weights: list[Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for w in weights:
            x = np.tanh(w @ x)
        return x

    return f


def dense_case(inputs: int, outputs: int) -> Case:
    rng = np.random.default_rng(0)
    sizes = [inputs, 64, 64, outputs]
    weights = [rng.normal(size=(b, a)) / np.sqrt(a) for a, b in itertools.pairwise(sizes)]
    x = rng.normal(size=inputs)
    f = layers(np, weights)
    ways = [
        of_wengert("wengert, eager", wg.jacobian(f), x),
        of_wengert("wengert, compiled", wg.function(wg.jacobian(f)), x),
    ]
    if jax is not None:
        of_jax = layers(jnp, [jnp.asarray(w) for w in weights])
        point = jnp.asarray(x)
        for name, transform in (("jacfwd", jax.jacfwd), ("jacrev", jax.jacrev)):
            g = jax.jit(transform(of_jax))
            ways.append(whole(f"jax, jit {name}", blocked(lambda g=g: g(point))))
        ways.append(whole("jax, loop over rows", rows_of_jax(of_jax, point, outputs, outputs)))
    return Case(f"Jacobian of three layers, {inputs} to {outputs}", ways)


def rows_of_jax(f: Any, x: Any, size: int, count: int) -> Callable[[], Any]:
    """One compiled pullback a row, as written without jacrev; `count` of `size` rows."""
    row = jax.jit(lambda x, i: jax.vjp(f, x)[1](jnp.zeros(size).at[i].set(1.0))[0])
    return lambda: np.stack([np.asarray(row(x, i)) for i in range(count)])


def rows_and_sum(np: Any) -> Callable[[Any], Any]:
    """Rows that depend on two parameters and an element each, and one that depends on all."""

    def f(x: Any) -> Any:
        rows = np.sin(x) * x[0] + np.exp(-x * x) / (2 + np.cos(x[1]))
        return np.append(rows, np.sum(np.tanh(x) * np.exp(np.sin(x * x)) * x[1]))

    return f


def tall_and_wide(np: Any) -> Callable[[Any], Any]:
    """Many rows that depend on few parameters, and few that depend on many."""
    grid = np.linspace(-1, 1, 500)

    def f(x: Any) -> Any:
        p, z = x[:3], x[3:]
        tall = p[0] * np.tanh(grid * p[1]) + np.exp(-grid * grid * p[2])
        return np.concatenate([tall, np.stack([np.sum(np.sin(z) * p[0]), np.sum(np.tanh(z) ** 2 * z)])])

    return f


def blocks_case(title: str, make: Callable[[Any], Callable[[Any], Any]], size: int) -> Case:
    f, x = make(np), np.random.default_rng(6).normal(size=size)
    ways = [
        of_wengert(f"wengert, {mode}, compiled", wg.function(wg.jacobian(f, mode=mode)), x)
        for mode in ("auto", "forward", "reverse")
    ]
    if jax is not None:
        of_jax, point = make(jnp), jnp.asarray(x)
        for name, transform in (("jacfwd", jax.jacfwd), ("jacrev", jax.jacrev)):
            g = jax.jit(transform(of_jax))
            ways.append(whole(f"jax, jit {name}", blocked(lambda g=g: g(point))))
    return Case(f"Jacobian of {title}, {f(x).size} x {size}", ways)


def hessian_case(size: int) -> Case:
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(64, size)) / np.sqrt(size), rng.normal(size=(32, 64)) / 8]
    x = rng.normal(size=size)

    def loss(np: Any, weights: Any) -> Any:
        f = layers(np, weights)
        return lambda x: (f(x) ** 2).sum()

    f = loss(np, weights)
    ways = [
        of_wengert("wengert, eager", wg.hessian(f), x),
        of_wengert("wengert, compiled", wg.function(wg.hessian(f)), x),
    ]
    if jax is not None:
        point = jnp.asarray(x)
        g = jax.jit(jax.hessian(loss(jnp, [jnp.asarray(w) for w in weights])))
        ways.append(whole("jax, jit hessian", blocked(lambda: g(point))))
    return Case(f"Hessian of a loss of two layers, {size} unknowns", ways)


# -- sparse -----------------------------------------------------------------------------------------------------------


def banded(np: Any) -> Callable[[Any], Any]:
    return lambda x: x[:-4] * x[1:-3] + np.sin(x[2:-2]) * x[3:-1] + x[4:] ** 2


def chained(np: Any) -> Callable[[Any], Any]:
    return lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def bundle(np: Any, of_camera: Any, of_point: Any, cameras: int, points: int) -> Callable[[Any], Any]:
    """Each residual touches one camera of 11 parameters, one point of 3 and one weight."""

    def f(x: Any) -> Any:
        cams = x[: 11 * cameras].reshape(cameras, 11)[of_camera]
        pts = x[11 * cameras : 11 * cameras + 3 * points].reshape(points, 3)[of_point]
        weights = x[11 * cameras + 3 * points :]
        moved = pts - cams[:, 3:6] + np.cross(cams[:, :3], pts)
        plane = moved[:, :2] / (4 + moved[:, 2:])
        radius = (plane**2).sum(axis=1, keepdims=True)
        bent = plane * (1 + cams[:, 9:10] * radius + cams[:, 10:11] * radius**2) * cams[:, 6:7] + cams[:, 7:9]
        return np.concatenate([(weights[:, None] * bent).reshape(-1), 1 - weights**2])

    return f


def sparse_case(title: str, make: Callable[[Any], Callable[[Any], Any]], x: np.ndarray) -> Case:
    f = make(np)
    coloring = wg.coloring(wg.sparsity(f)(x))
    rows, columns = coloring.pattern.shape
    ways = [
        of_wengert("wengert, detect each time", wg.jacobian(f, sparsity="detect"), x),
        of_wengert("wengert, coloring at hand", wg.jacobian(f, sparsity=coloring), x),
    ]
    if jax is not None:
        of_jax, point = make(jnp), jnp.asarray(x)
        ways.append(whole("jax, jit jvps by our colors", by_our_colors(of_jax, point, coloring)))
        count = min(ROWS_TIMED, rows)
        ways.append(Way("jax, loop over rows", rows_of_jax(of_jax, point, rows, count), None, rows / count))
    return Case(f"{title}, {rows:,} x {columns:,}, {coloring.count} passes", ways)


def by_our_colors(f: Any, point: Any, coloring: wg.Coloring) -> Callable[[], Any]:
    """What a user of JAX can write who has the colours already."""
    pattern, colors = coloring.pattern, coloring.column_colors
    seeds = np.zeros((coloring.count, len(colors)))
    seeds[colors, np.arange(len(colors))] = 1
    seeds = jnp.asarray(seeds)
    push = jax.jit(lambda x, s: jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1])(s))
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))

    def call() -> Any:
        products = np.asarray(push(point, seeds))
        values = products[colors[pattern.indices], rows]
        return sp.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)

    return call


def sparse_hessian_case(size: int) -> Case:
    x = np.random.default_rng(2).normal(size=size)
    f = chained(np)
    coloring = wg.coloring(wg.sparsity(f, order=2)(x), "symmetric")
    ways = [
        of_wengert("wengert, detect each time", wg.hessian(f, sparsity="detect"), x),
        of_wengert("wengert, coloring at hand", wg.hessian(f, sparsity=coloring), x),
    ]
    if jax is not None:
        point = jnp.asarray(x)

        @jax.jit
        def column(x: Any, i: Any) -> Any:
            return jax.jvp(jax.grad(chained(jnp)), (x,), (jnp.zeros(size).at[i].set(1.0),))[1]

        def columns() -> Any:
            return [np.asarray(column(point, i)) for i in range(ROWS_TIMED)]

        ways.append(Way("jax, loop over columns", columns, None, size / ROWS_TIMED))
    return Case(f"Hessian of Rosenbrock's function, {size:,} unknowns, {coloring.count} passes", ways)


def cart_pole(np: Any, steps: int) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]:
    """A step of a cart with a pole, and what steps leave open of a plan: states, then forces."""

    def step(s: Any, force: Any) -> Any:
        angle, speed, turning = s[..., 1], s[..., 2], s[..., 3]
        sin, cos = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * turning * turning * sin) / 1.1
        turned = (9.81 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        return s + 0.01 * np.stack([speed, turning, push - 0.05 * turned * cos / 1.1, turned], -1)

    def defects(z: Any) -> Any:
        s, forces = z[: 4 * steps + 4].reshape(steps + 1, 4), z[4 * steps + 4 :]
        return (s[1:] - step(s[:-1], forces)).reshape(-1)

    return step, defects


def control_cases(steps: int) -> Iterator[Case]:
    """Optimal control; beside it the blocks of the Jacobian, by a product for each column of a step's, alone and in a
    matrix with the zeros that they hold."""
    rng = np.random.default_rng(5)
    z, weights = rng.normal(size=5 * steps + 4) * 0.3, rng.normal(size=4 * steps)
    step, defects = cart_pole(np, steps)

    @wg.function
    def blocks(z: Any) -> Any:
        given = z[: 4 * steps].reshape(steps, 4), z[4 * steps + 4 :]
        units = [(np.tile(row[:4], (steps, 1)), np.full(steps, row[4])) for row in np.eye(5)]
        return np.stack([wg.jvp(step, given, unit)[1] for unit in units], 1)

    @wg.function
    def entries(z: Any) -> Any:
        found = blocks(z).transpose(0, 2, 1)
        return np.concatenate([-found[..., :4], np.ones((steps, 4, 1)), -found[..., 4:]], -1).reshape(-1)

    first, row = 4 * np.arange(steps)[:, None, None], np.arange(4)[:, None]
    of_states, of_force = first + np.arange(4) + 0 * row, first // 4 + 4 * steps + 4 + 0 * row
    columns = np.concatenate([of_states, first + 4 + row, of_force], -1).reshape(-1)
    starts, shape = 6 * np.arange(4 * steps + 1), (4 * steps, 5 * steps + 4)
    yield Case(f"Jacobian of a cart-pole's {steps} steps", [
        of_wengert("wengert, detect each time", wg.jacobian(defects, sparsity="detect"), z),
        Way("wengert, blocks by hand", lambda: blocks(z), None),
        whole("the same in a matrix", lambda: sp.csr_array((entries(z), columns, starts), shape=shape)),
    ])  # fmt: skip
    lagrangian = wg.hessian(lambda z: defects(z) @ weights + (z[4 * steps + 4 :] ** 2).sum(), sparsity="detect")
    yield Case(f"Hessian of its Lagrangian, {steps} steps", [of_wengert("wengert, detect each time", lagrangian, z)])


def cases(quick: bool) -> Iterator[Case]:
    yield dense_case(64, 64)
    yield dense_case(1000, 10)
    yield dense_case(10, 1000)
    yield blocks_case("rows and a sum over all", rows_and_sum, 500)
    yield blocks_case("a tall and a wide part", tall_and_wide, 500)
    yield hessian_case(200)
    size = 10_000 if quick else 100_000
    yield sparse_case("Banded Jacobian", banded, np.random.default_rng(3).normal(size=size))
    rng = np.random.default_rng(4)
    cameras, points, seen = (10, 500, 2_000) if quick else (49, 7_776, 31_843)
    of_camera, of_point = rng.integers(0, cameras, seen), rng.integers(0, points, seen)
    unknowns = rng.normal(size=11 * cameras + 3 * points + seen) * 0.1
    yield sparse_case("Bundle adjustment", lambda np: bundle(np, of_camera, of_point, cameras, points), unknowns)
    yield sparse_hessian_case(size // 10)
    yield from control_cases(500)


# -- measuring --------------------------------------------------------------------------------------------------------


def require_agreement(case: Case) -> None:
    """Raises unless all ways give the same matrix."""
    first: Any = None
    for way in case.ways:
        if way.matrix is None:
            continue
        found = way.matrix()
        found = found.tocsr() if sp.issparse(found) else np.asarray(found)
        if first is None:
            first = found
        difference = abs(found - first).max()
        if difference > 1e-9 * max(abs(first).max(), 1):
            raise AssertionError(f"{case.title}: {way.name} differs by {difference}")


def medians(case: Case, rounds: int) -> list[float]:
    """The median time of each way's calls; the ways take turns, in an order that rotates."""
    counts = [max(1, int(TURN / timed(way, 1))) for way in case.ways]
    times: list[list[float]] = [[] for _ in case.ways]
    for turn in range(rounds):
        for step in range(len(case.ways)):
            which = (turn + step) % len(case.ways)
            times[which].append(timed(case.ways[which], counts[which]) * case.ways[which].scale)
    return [statistics.median(column) for column in times]


TURN = 0.01  # seconds: of one call alone, most is to bring its code and its arrays back into the caches


def timed(way: Way, count: int) -> float:
    """The seconds of a call, of so many in a row after one that is not counted."""
    gc.collect()
    way.call()
    start = time.perf_counter()
    for _ in range(count):
        way.call()
    return (time.perf_counter() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sparse problems and fewer rounds")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    rounds = 7 if options.quick else 15
    if jax is None and not options.json:
        print("jax is absent")
    for case in cases(options.quick):
        require_agreement(case)
        found = medians(case, rounds)
        best = min(t for t, way in zip(found, case.ways, strict=True) if way.name.startswith("wengert"))
        if options.json:
            seconds = {way.name: t for way, t in zip(case.ways, found, strict=True)}
            print(json.dumps({"case": case.title, "seconds": seconds}))
            continue
        print(f"\n{case.title}")
        for way, seconds in zip(case.ways, found, strict=True):
            about = "~" if way.scale != 1 else " "
            print(f"  {way.name:30} {about}{seconds * 1e3:12.3f} ms   {seconds / best:10.2f} x wengert's best")


if __name__ == "__main__":
    main()
