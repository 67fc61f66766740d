"""Times contractions, scatters and sums of every dtype beside JAX, torch and NumPy: values and gradients, one thread.

Each row is one program on arrays of one dtype: microseconds of processor time a call, what the quickest of the others
takes, which that is, and the ratio. Gradients are those of a sum of squares, in all arguments that are no positions;
NumPy has none. Torch has the rows whose names it knows. The libraries take turns and results are compared before.
`--above 1.3` prints at the end the rows beyond that, the worst first. From the repository's folder:

    .venv/bin/python benchmarks/contractions.py [PARTS OF NAMES] [--dtypes float64,...] [--what value] [--above 1.3]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import libraries  # noqa: E402  (from the folder above)

libraries.limit_threads()

import harness  # noqa: E402  (after the threads are limited)
import numpy as np  # noqa: E402  (as above)

import wengert as wg  # noqa: E402  (as above)

DTYPES = ("float64", "float32", "float16", "complex64", "complex128", "int32")
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-3, "complex64": 1e-3, "float16": 3e-2, "int32": 0.0}

Function = Callable[..., Any]


class Program(NamedTuple):
    """`function(m, *arrays)` of a library's names, and the shapes of the arrays; a number is a count of positions.

    `(20_000, "below", 100)` stands for so many positions below the last number.
    """

    function: Function
    shapes: tuple[tuple[Any, ...], ...]


class Row(NamedTuple):
    """Microseconds of a call: ours, the quickest peer's, and whose that is; or what was wrong."""

    title: str
    ours: float
    best: float
    peer: str
    error: str | None

    @property
    def ratio(self) -> float:
        return self.ours / self.best


PROGRAMS: dict[str, Program] = {}


def _add(name: str, function: Function, *shapes: tuple[Any, ...]) -> None:
    PROGRAMS[name] = Program(function, shapes)


def _einsum(labels: str, *shapes: tuple[int, ...], title: str = "") -> None:
    _add(f"einsum {labels}{title}", lambda m, *xs: m.einsum(labels, *xs), *shapes)


def _einsums() -> None:
    square, column = (1000, 1000), (1000,)
    for labels in ("ij,ji->j", "ij,ij->j", "ij,ij->i", "ij,ji->", "ij,ij->", "ij,ij->ij", "ij,ji->ij"):
        _einsum(labels, square, square)
    for labels in ("ij->j", "ij->i", "ij->", "ij->ji"):
        _einsum(labels, square)
    for labels in ("ij,j->i", "ij,i->j", "ij,j->ij"):
        _einsum(labels, square, column)
    for labels in ("ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ij,jk->ki"):
        _einsum(labels, (300, 300), (300, 300))
    _einsum("ij,jk->ik", (1000, 1), (1, 1000), title=" k1")
    _einsum("ij,jk->ik", (300, 300), (300, 1), title=" n1")
    _einsum("ij,jk->ik", (1, 300), (300, 300), title=" m1")
    for size in (2, 3, 4, 8, 16, 32):
        for count in (10, 300, 10_000):
            if count * size**3 <= 10**7:
                _einsum("bij,bjk->bik", (count, size, size), (count, size, size), title=f" {count}x{size}")
                _einsum("bij,bj->bi", (count, size, size), (count, size), title=f" {count}x{size}")
    _einsum("bij,bi->bj", (10, 300, 300), (10, 300))
    _einsum("bij,kj->bik", (50, 64, 64), (64, 64))
    _einsum("ijb,jkb->ikb", (16, 16, 1000), (16, 16, 1000))
    _einsum("bihd,bjhd->bhij", (2, 64, 4, 32), (2, 64, 4, 32))
    _einsum("ijk,kjl->il", (40, 40, 40), (40, 40, 40))
    _einsum("ijk,i->jk", (100, 100, 100), (100,))
    _einsum("ijk,j->ik", (100, 100, 100), (100,))
    _einsum("ijkl,jl->ik", (32, 32, 32, 32), (32, 32))
    _einsum("ij,jk,kl->il", (100, 100), (100, 100), (100, 100))
    _einsum("ij,jk,kl,lm->im", (60, 60), (60, 60), (60, 60), (60, 60))
    _einsum("bi,ij,bj->b", (500, 100), (100, 100), (500, 100))
    _einsum("i,ij,j->", (1000,), (1000, 1000), (1000,))
    _einsum("ia,ib,ic->abc", (200, 20), (200, 20), (200, 20))
    _einsum("ij,ij,ij->i", square, square, square)
    _einsum("abc,dbe,af,fdg->ceg", (12, 4, 12), (12, 4, 12), (12, 12), (12, 12, 12))


def _products() -> None:
    _add("a @ a.T", lambda m, a: m.matmul(a, a.T), (300, 300))
    _add("a.T @ a tall", lambda m, a: m.matmul(a.T, a), (100_000, 8))
    _add("x @ A @ x", lambda m, a, x: m.matmul(x, m.matmul(a, x)), (300, 300), (300,))
    _add("x @ A @ x small", lambda m, a, x: m.matmul(x, m.matmul(a, x)), (8, 8), (8,))
    _add("matrix @ vector", lambda m, a, x: m.matmul(a, x), (1000, 1000), (1000,))
    _add("vector @ matrix", lambda m, x, a: m.matmul(x, a), (1000,), (1000, 1000))
    _add("matrix @ column", lambda m, a, x: m.matmul(a, x), (1000, 1000), (1000, 1))
    _add("vdot", lambda m, a, b: m.vdot(a, b), (300, 300), (300, 300))
    _add("outer", lambda m, a, b: m.outer(a, b), (1000,), (1000,))
    _add("sum of outers", lambda m, a, b, c: m.outer(a, b) + m.outer(b, c), (500,), (500,), (500,))
    _add("kron", lambda m, a, b: m.kron(a, b), (30, 30), (30, 30))
    _add("tensordot 1", lambda m, a, b: m.tensordot(a, b, 1), (40, 40, 40), (40, 40, 40))
    _add("tensordot (0, 1) (1, 0)", lambda m, a, b: m.tensordot(a, b, ((0, 1), (1, 0))), (40, 40, 40), (40, 40, 40))
    _add("tensordot 2 0", lambda m, a, b: m.tensordot(a, b, ((2,), (0,))), (8, 8, 8), (8, 8, 8))
    _add("convolve 7", lambda m, a, b: m.convolve(a, b), (100_000,), (7,))
    _add("convolve 31", lambda m, a, b: m.convolve(a, b), (100_000,), (31,))
    _add("convolve 1000", lambda m, a, b: m.convolve(a, b), (3000,), (1000,))
    _add("matrix @ vector, 100 times", _powers, (16, 16), (16,))
    _add("8 qubits, einsum", _circuit, (2, 2), (2, 2, 2, 2), (2,) * 8)
    _add("8 qubits, tensordot", _circuit_by_tensordot, (2, 2), (2, 2, 2, 2), (2,) * 8)
    _add("8 qubits, reshape", _circuit_by_reshape, (2, 2), (256,))
    _add("transfer matrices", _transfer, (20, 8, 2, 8))


def _powers(m: Any, a: Any, x: Any) -> Any:
    return m.loop(100, lambda x: m.matmul(a, x) * m.number(0.2, x), x)


def _circuit(m: Any, one: Any, two: Any, state: Any) -> Any:
    names = "abcdefgh"
    for k, name in enumerate(names):
        state = m.einsum(f"z{name},{names}->{names.replace(name, 'z')}", one, state)
        if k:
            before = names[k - 1]
            found = names.replace(before, "y").replace(name, "z")
            state = m.einsum(f"yz{before}{name},{names}->{found}", two, state)
    return state


def _circuit_by_tensordot(m: Any, one: Any, two: Any, state: Any) -> Any:
    for k in range(8):
        state = m.moveaxis(m.tensordot(one, state, ((1,), (k,))), 0, k)
        if k:
            state = m.moveaxis(m.tensordot(two, state, ((2, 3), (k - 1, k))), (0, 1), (k - 1, k))
    return state


def _circuit_by_reshape(m: Any, one: Any, state: Any) -> Any:
    for k in range(8):
        rows = m.reshape(state, (2**k, 2, 2 ** (7 - k)))
        state = m.reshape(m.matmul(one, rows), (256,))
    return state


def _transfer(m: Any, sites: Any) -> Any:
    left = sites[0][:, 0, :]
    for k in range(1, 20):
        left = m.einsum("ab,apc,bpd->cd", left, sites[k], sites[k]) * m.number(0.05, sites)
    return left


def _scatters() -> None:
    for rows, width in (((20_000, 1000), ()), ((20_000, 100), (8,)), ((20_000, 100), (3,)), ((2000, 100), (100,))):
        count, places = rows
        title = f"{count} rows of {width[0]}" if width else f"{count} numbers"
        index = (count, "below", places)
        _add(f"add.at {title}", lambda m, z, i, v: m.add_at(z, i, v), (places, *width), index, (count, *width))
        _add(f"maximum.at {title}", lambda m, z, i, v: m.maximum_at(z, i, v), (places, *width), index, (count, *width))
        _add(f"take {title}", lambda m, x, i: m.take(x, i, 0), (places, *width), index)
    pair = (20_000, "below", 100)
    _add("add.at [i, j]", lambda m, z, i, j, v: m.add_at(z, (i, j), v), (100, 100), pair, pair, (20_000,))
    _add("take along 1", lambda m, x, i: m.take(x, i, 1), (200, 100), (500, "below", 100))
    _add("bincount", lambda m, i, w: m.bincount(i, w, 1000), (20_000, "below", 1000), (20_000,))


def _sums() -> None:
    kinds: dict[str, Function] = {
        "sum": lambda m, x, axis: m.sum(x, axis),
        "mean": lambda m, x, axis: m.mean(x, axis),
        "var": lambda m, x, axis: m.var(x, axis),
        "std": lambda m, x, axis: m.std(x, axis),
        "norm": lambda m, x, axis: m.norm(x, axis),
        "logsumexp": lambda m, x, axis: m.logsumexp(x, axis),
        "max": lambda m, x, axis: m.max(x, axis),
    }
    sizes: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...] = (
        ((10,), (None,)),
        ((1000,), (None,)),
        ((1_000_000,), (None,)),
        ((1000, 1000), (0, 1)),
        ((100_000, 8), (0, 1)),
        ((8, 100_000), (0, 1)),
        ((100, 100, 100), (0, 1, 2, (0, 1), (0, 2), (1, 2))),
        ((30, 30), (0, 1)),
    )
    for name, function in kinds.items():
        for shape, axes in sizes:
            for axis in axes if name != "norm" else [a for a in axes if not isinstance(a, tuple)]:
                title = f"{name} of {'x'.join(map(str, shape))} over {axis}"
                _add(title, lambda m, x, function=function, axis=axis: function(m, x, axis), shape)


def _arrays(dtype: str, shapes: tuple[tuple[Any, ...], ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [_array(rng, dtype, shape) for shape in shapes]


def _array(rng: np.random.Generator, dtype: str, shape: tuple[Any, ...]) -> np.ndarray:
    if "below" in shape:
        return rng.integers(0, shape[2], shape[0])
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    elif dtype == "int32":
        x = x * 3
    elif dtype == "float16":
        x = x / math.sqrt(max(shape))
    return x.astype(dtype)


_SHARED = (
    "einsum", "matmul", "vdot", "outer", "kron", "tensordot", "convolve", "moveaxis", "reshape", "sum", "mean", "var",
    "std", "max", "real", "conj", "take",
)  # fmt: skip


def _at(ufunc: Any) -> Function:
    def written(target: Any, index: Any, values: Any) -> Any:
        target = target.copy()
        ufunc.at(target, index, values)
        return target

    return written


def _number(value: float, like: Any) -> Any:
    return np.dtype(str(like.dtype)).type(value)


def _python_loop(count: int, step: Function, x: Any) -> Any:
    for _ in range(count):
        x = step(x)
    return x


def numpy_names() -> Any:
    import scipy.special

    return libraries.module_of(
        **{n: getattr(np, n) for n in _SHARED}, norm=lambda x, axis: np.linalg.norm(x, axis=axis), number=_number,
        logsumexp=lambda x, axis: scipy.special.logsumexp(x, axis), add_at=_at(np.add), maximum_at=_at(np.maximum),
        bincount=np.bincount, loop=_python_loop, compiled=lambda f: f, grad=None, array=lambda a: a,
        ready=lambda r: r,
    )  # fmt: skip


def our_names() -> Any:
    made = numpy_names()
    made.logsumexp = lambda x, axis: wg.logsumexp(x, axis)
    made.bincount = lambda i, w, count: np.bincount(wg.asarray(i), w, count)
    made.loop = lambda count, step, x: wg.fori_loop(0, count, lambda _, x: step(x), x)
    made.compiled, made.grad = wg.function, wg.grad
    return made


def jax_names() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    return libraries.module_of(
        **{n: getattr(jnp, n) for n in _SHARED}, norm=lambda x, axis: jnp.linalg.norm(x, axis=axis), number=_number,
        logsumexp=lambda x, axis: jax.scipy.special.logsumexp(x, axis),
        add_at=lambda z, i, v: z.at[i].add(v), maximum_at=lambda z, i, v: z.at[i].max(v),
        bincount=lambda i, w, count: jnp.bincount(i, w, length=count),
        loop=lambda count, step, x: jax.lax.fori_loop(0, count, lambda _, x: step(x), x),
        compiled=jax.jit, grad=jax.grad, array=jnp.asarray, ready=jax.block_until_ready,
    )  # fmt: skip


def torch_names() -> Any:
    import torch

    torch.set_num_threads(1)

    def grad(f: Function, argnums: tuple[int, ...]) -> Function:
        def gradients(*xs: Any) -> Any:
            leaves = [x.detach().requires_grad_() if k in argnums else x for k, x in enumerate(xs)]
            return torch.autograd.grad(f(*leaves), [leaves[k] for k in argnums])

        return gradients

    def reduced(reduce: Any) -> Function:
        return lambda x, axis=None: reduce(x) if axis is None else reduce(x, dim=axis)

    return libraries.module_of(
        **{n: getattr(torch, n) for n in ("einsum", "matmul", "outer", "kron", "moveaxis", "reshape", "real", "conj")},
        vdot=lambda a, b: torch.vdot(a.reshape(-1), b.reshape(-1)),
        tensordot=lambda a, b, dims: torch.tensordot(a, b, dims),
        take=lambda x, i, axis: torch.index_select(x, axis, i),
        sum=reduced(torch.sum), mean=reduced(torch.mean), max=reduced(torch.amax),
        var=lambda x, axis: torch.var(x, dim=axis, correction=0),
        std=lambda x, axis: torch.std(x, dim=axis, correction=0),
        norm=lambda x, axis: torch.linalg.vector_norm(x, dim=axis),
        logsumexp=lambda x, axis: torch.logsumexp(x, dim=(*range(x.ndim),) if axis is None else axis),
        add_at=lambda z, i, v: z.index_put(i if isinstance(i, tuple) else (i,), v, accumulate=True),
        maximum_at=lambda z, i, v: z.index_reduce(0, i, v, "amax"), number=lambda value, like: value,
        bincount=lambda i, w, count: torch.bincount(i, w, count), loop=_python_loop,
        compiled=lambda f: f, grad=grad, array=torch.as_tensor, ready=lambda r: r,
    )  # fmt: skip


def _call(module: Any, program: Program, xs: list[np.ndarray], what: str) -> Callable[[], Any] | None:
    """A call without arguments; None of what the library has not."""

    def total(*arrays: Any) -> Any:
        found = program.function(module, *arrays)
        is_complex = xs[0].dtype.kind == "c"
        return module.sum(module.real(found * module.conj(found)) if is_complex else found * found)

    active = (*[k for k, shape in enumerate(program.shapes) if "below" not in shape],)
    given = [module.array(x) for x in xs]
    if what == "gradient":
        if module.grad is None:
            return None
        compiled = module.compiled(module.grad(total, argnums=active))
    else:
        compiled = module.compiled(lambda *arrays: program.function(module, *arrays))
    try:
        module.ready(compiled(*given))
    except Exception:  # a name or a dtype that a peer has not
        return None
    return lambda: module.ready(compiled(*given))


def _numbers(found: Any) -> list[np.ndarray]:
    """As arrays, conjugates alike: JAX's complex gradients are ours, conjugated."""
    every = [np.asarray(x) for x in (found if isinstance(found, (tuple, list)) else (found,))]
    return [np.abs(x).astype(np.float64) for x in every]


def measured(name: str, dtype: str, what: str, modules: dict[str, Any], options: Any) -> Row:
    program = PROGRAMS[name]
    xs = _arrays(dtype, program.shapes)
    title = f"{name} {dtype} {what}"
    calls = {who: _call(module, program, xs, what) for who, module in modules.items()}
    if calls["wengert"] is None:
        return Row(title, math.nan, math.nan, "", "not here")
    contenders = [harness.Contender(who, "compiled", call, _numbers) for who, call in calls.items() if call]
    tolerance = TOLERANCES[dtype] * (10 if what == "gradient" else 1)
    found = harness.measure(contenders, options.seconds, options.rounds, tolerance, time.process_time)
    ours, *others = found
    told = [o for o in others if o.error is None]
    best = min(told, key=lambda o: o.median, default=None)
    error = "; ".join(f"{o.library} {o.error}" for o in others if o.error) or None
    if best is None:
        return Row(title, ours.median * 1e6, math.nan, "", error)
    return Row(title, ours.median * 1e6, best.median * 1e6, best.library, error if not told else None)


def _suits(name: str, dtype: str, what: str) -> bool:
    if dtype == "int32":
        return what == "value" and not name.startswith(("logsumexp", "matrix @ vector, 100", "transfer"))
    return not (dtype.startswith("complex") and name.startswith(("logsumexp", "max", "bincount")))


def rows(parts: list[str], options: Any) -> Iterator[Row]:
    modules = {"wengert": our_names(), "jax": jax_names(), "torch": torch_names(), "numpy": numpy_names()}
    for name in PROGRAMS:
        if parts and not any(part in name for part in parts):
            continue
        for dtype in options.dtypes.split(","):
            for what in options.what.split(","):
                if _suits(name, dtype, what):
                    yield measured(name, dtype, what, modules, options)


def told(row: Row) -> str:
    return f"{row.title:52}{row.ours:12.1f}{row.best:12.1f}{row.ratio:9.2f}  {row.peer:6} {row.error or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows whose names have one of these in them; all of them without")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--what", default="value,gradient", help="of value,gradient")
    harness.add_turns(parser, seconds=0.004, rounds=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for fill in (_einsums, _products, _scatters, _sums):
        fill()
    print(f"{'program':52}{'ours, us':>12}{'best, us':>12}{'ratio':>9}")
    harness.tell_rows(rows(options.names, options), told, options.above, "the quickest peer")


if __name__ == "__main__":
    main()
