"""Times factors, systems and functions of small matrices beside JAX's: one matrix, a batch of 100, a scan of 100.

Each row is one function at one size, its value, its gradient or its derivative in one direction (`jvp`), of doubles or
in single precision; the libraries take turns, results are compared before. Times are the processor's for the process,
on one core, so that other work on the machine does not count. `--above 1` prints at the end the rows that take longer
than JAX, the worst first.

`--vectors avx2` (or `sse`) has LLVM and JAX make code for a processor without AVX-512 (without AVX).

    .venv/bin/python benchmarks/matrices.py [det inv ...] [--sizes 2,3] [--forms single] [--kinds real] [--above 1]
"""

from __future__ import annotations

import argparse
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
from tests.support import narrower_vectors  # noqa: E402  (as above)

COUNT = 100  # matrices of a batch, steps of a scan
# calls before others are timed: NumPy's kernels look at the flags that the first ones leave set
WARM, WARM_SECONDS = 9, 1.0  # so many, fewer where they take longer than that together
SIZES = (2, 3, 6, 8, 16, 32, 64)
FORMS = ("single", "batch", "scan")
KINDS = {"real": "f8", "complex": "c16", "float32": "f4", "complex64": "c8"}
TOLERANCE = 1e-6
SINGLE_TOLERANCE = 1e-2  # JAX's own rounding, times what slopes make of it

Function = Callable[..., Any]


class Row(NamedTuple):
    """Microseconds of a call, ours and JAX's, or what was wrong."""

    title: str
    ours: float
    jax: float
    error: str | None

    @property
    def ratio(self) -> float:
        return self.ours / self.jax


def _square(m: Any, x: Any) -> Any:
    """A number that every element of x moves and the phases of its columns do not."""
    return m.sum(m.real(x * m.conj(x)) ** 2)


def _hermitian(m: Any, x: Any) -> Any:
    return x + m.conj(m.swapaxes(x, -1, -2))


def _positive(m: Any, x: Any) -> Any:
    n = x.shape[-1]
    return m.matmul(x, m.conj(m.swapaxes(x, -1, -2))) + n * m.eye(n, dtype=x.dtype)


def _eigh(m: Any, x: Any) -> Any:
    values, vectors = m.linalg.eigh(_hermitian(m, x))
    return m.sum(values**3) + _square(m, vectors)


def _svd(m: Any, x: Any) -> Any:
    left, values, right = m.linalg.svd(x, full_matrices=False)
    return m.sum(values**3) + _square(m, left) + _square(m, right)


def _qr(m: Any, x: Any) -> Any:
    q, r = m.linalg.qr(x)
    return _square(m, q) + _square(m, r)


def _lu(m: Any, x: Any) -> Any:
    _, lower, upper = m.lu(x)
    return _square(m, lower) + _square(m, upper)


PROGRAMS: dict[str, Function] = {
    "det": lambda m, x: m.sum(m.real(m.linalg.det(x))),
    "slogdet": lambda m, x: m.sum(m.linalg.slogdet(x)[1]),
    "inv": lambda m, x: _square(m, m.linalg.inv(x)),
    "solve": lambda m, x: _square(m, m.linalg.solve(x, x[..., :, :1] + 1)),
    "solve_all": lambda m, x: _square(m, m.linalg.solve(x, m.swapaxes(x, -1, -2))),
    "cholesky": lambda m, x: _square(m, m.linalg.cholesky(_positive(m, x))),
    "lu": _lu,
    "qr": _qr,
    "eigh": _eigh,
    "eigvalsh": lambda m, x: m.sum(m.linalg.eigvalsh(_hermitian(m, x)) ** 3),
    "eig": lambda m, x: _square(m, m.linalg.eigvals(x)),
    "svd": _svd,
    "singular_values": lambda m, x: m.sum(m.linalg.svd(x, compute_uv=False) ** 3),
    "pinv": lambda m, x: _square(m, m.linalg.pinv(x)),
    "matrix_power": lambda m, x: _square(m, m.linalg.matrix_power(x / 2, 7)),
    "expm": lambda m, x: _square(m, m.expm(x / x.shape[-1])),
}


def ours() -> Any:
    return libraries.module_of(
        **{n: getattr(np, n) for n in ("sum", "real", "conj", "swapaxes", "matmul", "eye", "linalg")},
        lu=wg.scipy.linalg.lu, expm=wg.scipy.linalg.expm, scan=wg.scan, grad=wg.grad, jvp=wg.jvp,
        compiled=wg.function, array=lambda a: a, ready=lambda r: r,
    )  # fmt: skip


def theirs() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    lu = jax.scipy.linalg.lu
    return libraries.module_of(
        **{n: getattr(jax.numpy, n) for n in ("sum", "real", "conj", "swapaxes", "matmul", "eye", "linalg")},
        lu=lambda x: (lu if x.ndim == 2 else jax.vmap(lu))(x), expm=jax.scipy.linalg.expm, scan=jax.lax.scan,
        grad=jax.grad, jvp=jax.jvp, compiled=jax.jit, array=jax.numpy.asarray, ready=jax.block_until_ready,
    )  # fmt: skip


def call_of(module: Any, name: str, form: str, what: str, x: np.ndarray) -> Callable[[], Any]:
    """A call without arguments of the compiled program."""

    def scanned(rows: Any) -> Any:
        start = x.real.dtype.type(0)
        return module.scan(lambda total, row: (total + PROGRAMS[name](module, row), None), start, rows)[0]

    def in_one_direction(rows: Any) -> Any:
        return module.jvp(program, (rows,), (rows,))[1]

    program = scanned if form == "scan" else lambda rows: PROGRAMS[name](module, rows)
    derived = {"value": lambda: program, "gradient": lambda: module.grad(program), "jvp": lambda: in_one_direction}
    compiled = module.compiled(derived[what]())
    given = module.array(x)
    module.ready(compiled(given))
    end = time.perf_counter() + WARM_SECONDS
    for _ in range(WARM - 1):
        module.ready(compiled(given))
        if time.perf_counter() > end:
            break
    return lambda: module.ready(compiled(given))


def argument(n: int, form: str, kind: str) -> np.ndarray:
    """Matrices whose eigenvalues and singular values are apart, far from singular."""
    rng = np.random.default_rng(n)
    shape = (n, n) if form == "single" else (COUNT, n, n)
    x = rng.standard_normal(shape) / np.sqrt(n)
    if KINDS[kind].startswith("c"):
        x = (x + 1j * rng.standard_normal(shape) / np.sqrt(n)) / np.sqrt(2)
    return (x + np.diag(np.linspace(1, 3, n))).astype(KINDS[kind])


def measured(title: str, makes: tuple[Callable[[], Any], ...], tolerance: float, options: Any) -> Row:
    try:
        contenders = [
            harness.Contender(library, "compiled", make(), lambda result: [np.abs(np.asarray(result))])
            for library, make in zip(("wengert", "jax"), makes, strict=True)
        ]
        found = harness.measure(contenders, options.seconds, options.rounds, tolerance, time.process_time)
    except Exception as error:  # ours may fail as JAX may: the other rows are measured
        return Row(title, np.nan, np.nan, f"{type(error).__name__}: {error}"[:100])
    times = {m.library: m for m in found}
    return Row(title, times["wengert"].median * 1e6, times["jax"].median * 1e6, times["jax"].error)


def rows(names: list[str], options: Any) -> Iterator[Row]:
    own, jax = ours(), theirs()
    for name in names:
        for kind in options.kinds.split(","):
            for n in map(int, options.sizes.split(",")):
                for form in options.forms.split(","):
                    x = argument(n, form, kind)
                    tolerance = TOLERANCE if x.real.dtype.itemsize == 8 else SINGLE_TOLERANCE
                    for what in options.what.split(","):
                        row = name, form, what, x
                        makes = tuple(lambda m=m, row=row: call_of(m, *row) for m in (own, jax))
                        yield measured(f"{name}{n} {form} {kind} {what}", makes, tolerance, options)


def told(row: Row) -> str:
    return f"{row.title:38}{row.ours:12.1f}{row.jax:12.1f}{row.ratio:9.2f}  {row.error or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PROGRAMS)}; all of them without")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--kinds", default="real,complex", help=f"of {','.join(KINDS)}")
    parser.add_argument("--what", default="value,gradient", help="of value,gradient,jvp")
    harness.add_turns(parser, seconds=0.02, rounds=5)
    narrower_vectors.add_option(parser)
    options = parser.parse_args()
    narrower_vectors.choose(options.vectors)
    narrower_vectors.narrow()
    warnings.simplefilter("ignore")
    print(f"{'program':38}{'ours, us':>12}{'JAX, us':>12}{'of JAX':>9}")
    harness.tell_rows(rows(options.names or [*PROGRAMS], options), told, options.above, "JAX")


if __name__ == "__main__":
    main()
