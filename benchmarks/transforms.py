"""Times Fourier transforms beside JAX's and SciPy's: of single lines, batches and images, in scans, and in gradients.

Each row is one program on one shape and type; the libraries take turns, results are compared before. Times are the
processor's for the process, on one thread, so that other work on the machine does not count. SciPy runs what is one
call of it. `--above 1` prints at the end the rows that take longer than one of the two, the worst first.

`--vectors avx2` (or `sse`) has LLVM and JAX make code for a processor without AVX-512 (without AVX).

    .venv/bin/python benchmarks/transforms.py [rfft fft2 ...] [--groups small,lines] [--dtypes float64] [--above 1]
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

STEPS = 20  # of a scan
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}

# shapes, and the axes of those of several
LINES = (16, 60, 64, 100, 127, 128, 243, 250, 500, 509, 512, 1000, 1020, 1021, 1024, 2187, 4096, 10_000, 16_384)
GROUPS: dict[str, tuple[tuple[int, ...], ...]] = {
    "small": tuple((2000, n) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 20, 25, 27, 30, 32, 36, 48, 64)),
    "lines": tuple((n,) for n in LINES),
    "long": ((65_536,), (65_537,), (98_415,), (100_003,), (131_072,), (177_147,), (262_144,), (500_000,), (1_048_576,)),
    "batch": tuple(
        (64, n) for n in (100, 127, 128, 243, 250, 289, 500, 509, 512, 999, 1000, 1016, 1020, 1021, 2021, 2187, 4096)
    ),
    "across": tuple((n, 64) for n in (16, 64, 100, 127, 128, 243, 250, 500, 509, 512, 1000, 1021, 1024, 2187, 4096)),
    "wide": ((100, 1000), (128, 1024), (256, 4096), (1000, 1000), (1024, 1024), (2048, 2048)),
    "images": ((16, 16), (32, 32), (50, 50), (64, 64), (100, 100), (127, 127), (128, 128), (243, 243), (256, 256),
               (500, 500), (512, 512), (1000, 1000), (1024, 1024), (1000, 16), (8, 64, 64), (64, 32, 32)),
    "cubes": ((16, 16, 16), (32, 32, 32), (50, 50, 50), (64, 64, 64), (128, 128, 128)),
}  # fmt: skip

Function = Callable[..., Any]


class Program(NamedTuple):
    """A function of a module and an array.

    Attributes:
        groups: the shapes that it is for.
        is_real: whether the array is.
        scipy: whether SciPy has it as one call.
    """

    of: Function
    groups: str
    is_real: bool = True
    scipy: bool = True


def _transform(name: str, **named: Any) -> Function:
    return lambda m, x: getattr(m.fft, name)(x, **named)


def _gradient(loss: Function) -> Function:
    return lambda m, x: m.grad(lambda x: loss(m, x))(x)


def _energy(m: Any, z: Any) -> Any:
    return m.sum(m.real(z) ** 2 + m.imag(z) ** 2)


def _power(m: Any, x: Any) -> Any:
    """Of a spectrum, weighed."""
    z = m.fft.rfft(x)
    return m.sum((m.real(z) ** 2 + m.imag(z) ** 2) ** 2) * 1e-3


def _filtered(m: Any, x: Any) -> Any:
    """An image by a filter of its spectrum."""
    z = m.fft.fft2(x)
    return m.sum(m.real(m.fft.ifft2(z * m.of(_low_pass(x.shape[-2:]), x))) ** 3)


def _real_filtered(m: Any, x: Any) -> Any:
    z = m.fft.rfft2(x)
    pass_ = m.of(_low_pass(x.shape[-2:])[:, : x.shape[-1] // 2 + 1], x)
    return m.sum(m.fft.irfft2(z * pass_, s=x.shape[-2:]) ** 3)


def _low_pass(shape: tuple[int, ...]) -> np.ndarray:
    squares = [np.minimum(np.arange(n), n - np.arange(n)) ** 2 for n in shape]
    return np.exp(-(squares[0][:, None] + squares[1]) / 20.0)


def _convolved(m: Any, x: Any) -> Any:
    """A line convolved with itself, backwards."""
    n = x.shape[-1]
    return m.sum(m.fft.irfft(m.fft.rfft(x, 2 * n) * m.fft.rfft(x[..., ::-1], 2 * n), 2 * n) ** 2)


def _stepped(m: Any, z: Any) -> Any:
    """A split-step solver of the nonlinear Schroedinger equation."""
    n = z.shape[-1]
    turn = m.of(np.exp(-0.5e-3j * np.minimum(np.arange(n), n - np.arange(n)) ** 2 / n), z)

    def step(z: Any, _: Any) -> tuple[Any, None]:
        z = m.fft.ifft(m.fft.fft(z) * turn)
        return z * (1 + 1e-2j * (m.real(z) ** 2 + m.imag(z) ** 2)), None

    return m.scan(step, z, None, length=STEPS)[0]


def _burgers(m: Any, u: Any) -> Any:
    """A pseudo-spectral solver of Burgers' equation."""
    n = u.shape[-1]
    k = np.arange(n // 2 + 1) * 1.0
    slope, decay = m.of(1j * k / n, u), m.of(np.exp(-1e-4 * k**2), u)

    def step(u: Any, _: Any) -> tuple[Any, None]:
        z = m.fft.rfft(u)
        return m.fft.irfft((z - 1e-2 * m.fft.rfft(u * m.fft.irfft(slope * z, n))) * decay, n), None

    return m.scan(step, u, None, length=STEPS)[0]


def _vorticity(m: Any, w: Any) -> Any:
    """A pseudo-spectral solver of the vorticity equation in two dimensions."""
    rows, columns = w.shape[-2:]
    ky, kx = np.fft.fftfreq(rows, 1 / rows)[:, None], np.arange(columns // 2 + 1)[None] * 1.0
    square = np.maximum(kx**2 + ky**2, 1.0)
    names = 1j * kx + 0 * ky, 1j * ky + 0 * kx, 1j * ky / square, -1j * kx / square
    dx, dy, to_u, to_v = (m.of(a, w) for a in names)
    decay = m.of(np.exp(-1e-4 * square), w)

    def back(z: Any) -> Any:
        return m.fft.irfft2(z, s=(rows, columns))

    def step(w: Any, _: Any) -> tuple[Any, None]:
        z = m.fft.rfft2(w)
        moved = back(to_u * z) * back(dx * z) + back(to_v * z) * back(dy * z)
        return back((z - 1e-3 * m.fft.rfft2(moved)) * decay), None

    return m.scan(step, w, None, length=STEPS)[0]


def _smoothed(m: Any, x: Any) -> Any:
    return m.sum(m.fft.idct(m.fft.dct(x) * m.of(np.exp(-np.arange(x.shape[-1]) / 50.0), x)) ** 3)


PLAIN = "small,lines,long,batch"
PROGRAMS: dict[str, Program] = {
    "fft": Program(_transform("fft"), PLAIN, False),
    "ifft": Program(_transform("ifft"), PLAIN, False),
    "rfft": Program(_transform("rfft"), PLAIN),
    "irfft": Program(lambda m, x: m.fft.irfft(x[..., : x.shape[-1] // 2 + 1], x.shape[-1]), PLAIN, False),
    "hfft": Program(lambda m, x: m.fft.hfft(x[..., : x.shape[-1] // 2 + 1], x.shape[-1]), "lines", False),
    "dct": Program(_transform("dct", type=2), "small,lines,batch"),
    "idct": Program(_transform("idct", type=2), "lines,batch"),
    "fft 0": Program(_transform("fft", axis=0), "across,wide", False),
    "rfft 0": Program(_transform("rfft", axis=0), "across,wide"),
    "irfft 0": Program(lambda m, x: m.fft.irfft(x[: x.shape[0] // 2 + 1], x.shape[0], axis=0), "across,wide", False),
    "fft2": Program(_transform("fft2"), "images", False),
    "rfft2": Program(_transform("rfft2"), "images"),
    "irfft2": Program(lambda m, x: m.fft.irfft2(x[..., : x.shape[-1] // 2 + 1], x.shape[-2:]), "images", False),
    "fftn": Program(_transform("fftn"), "cubes", False),
    "rfftn": Program(_transform("rfftn"), "cubes"),
    "fft gradient": Program(
        _gradient(lambda m, z: _energy(m, m.fft.fft(z) ** 2) * 1e-3), "small,lines,batch", False, False
    ),
    "power gradient": Program(_gradient(_power), "small,lines,batch", True, False),
    "filter gradient": Program(_gradient(_filtered), "images", True, False),
    "rfilter gradient": Program(_gradient(_real_filtered), "images", True, False),
    "convolution": Program(_convolved, "lines,batch", True, False),
    "convolution gradient": Program(_gradient(_convolved), "lines,batch", True, False),
    "dct gradient": Program(_gradient(_smoothed), "lines,batch", True, False),
    "split step": Program(_stepped, "lines", False, False),
    "split step gradient": Program(
        _gradient(lambda m, z: _energy(m, _stepped(m, z) ** 2)), "lines", False, False
    ),
    "burgers": Program(_burgers, "lines", True, False),
    "burgers gradient": Program(_gradient(lambda m, u: m.sum(_burgers(m, u) ** 3)), "lines", True, False),
    "vorticity": Program(_vorticity, "images", True, False),
    "vorticity gradient": Program(_gradient(lambda m, w: m.sum(_vorticity(m, w) ** 3)), "images", True, False),
}  # fmt: skip


class Row(NamedTuple):
    """Microseconds of a call, ours and the peers' (NaN: none), or what was wrong."""

    title: str
    ours: float
    jax: float
    scipy: float
    error: str | None

    @property
    def ratio(self) -> float:
        """To the faster of the peers."""
        return self.ours / np.nanmin([self.jax, self.scipy])


def _constant(a: np.ndarray, like: Any) -> np.ndarray:
    """Of the precision of another array."""
    if np.dtype(like.dtype) in (np.float32, np.complex64):
        return a.astype(np.complex64 if a.dtype.kind == "c" else np.float32)
    return a


def ours() -> Any:
    return libraries.module_of(
        **{n: getattr(np, n) for n in ("sum", "real", "imag")}, fft=wg.scipy.fft, scan=wg.scan, grad=wg.grad,
        compiled=wg.function, array=lambda a: a, ready=lambda r: r, of=_constant,
    )  # fmt: skip


def theirs() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    names = {n: getattr(jax.numpy.fft, n) for n in dir(jax.numpy.fft) if "fft" in n}
    fft = libraries.module_of(**names, dct=jax.scipy.fft.dct, idct=jax.scipy.fft.idct)
    return libraries.module_of(
        **{n: getattr(jax.numpy, n) for n in ("sum", "real", "imag")}, fft=fft, scan=jax.lax.scan,
        grad=lambda f: lambda x: jax.numpy.conj(jax.grad(f)(x)),  # which is the other way round there
        compiled=jax.jit, array=jax.numpy.asarray, ready=jax.block_until_ready, of=_constant,
    )  # fmt: skip


def scipys() -> Any:
    import scipy.fft

    return libraries.module_of(
        fft=scipy.fft, compiled=lambda f: f, array=lambda a: a, ready=lambda r: r, sum=np.sum, real=np.real
    )


def call_of(module: Any, program: Program, x: np.ndarray) -> Callable[[], Any]:
    """A call without arguments of the compiled program."""
    compiled, given = module.compiled(lambda x: program.of(module, x)), module.array(x)
    for _ in range(3):
        module.ready(compiled(given))
    return lambda: module.ready(compiled(given))


def argument(shape: tuple[int, ...], program: Program, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(shape[-1])
    if program.is_real:
        return rng.standard_normal(shape).astype(dtype)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.result_type(dtype, 1j))


def measured(title: str, program: Program, x: np.ndarray, modules: dict[str, Any], options: Any) -> Row:
    def result(found: Any) -> list[np.ndarray]:
        return [np.real(found), np.imag(found)]

    contenders: list[harness.Contender] = []
    try:
        for library, module in modules.items():
            if library != "scipy" or program.scipy:
                contenders.append(harness.Contender(library, "compiled", call_of(module, program, x), result))
        tolerance = TOLERANCE["float32" if x.dtype.char in "fF" else "float64"]
        found = harness.measure(contenders, options.seconds, options.rounds, tolerance, time.process_time)
    except Exception as error:  # ours may fail as a peer may: the other rows are measured
        return Row(title, np.nan, np.nan, np.nan, f"{type(error).__name__}: {error}"[:100])
    times = {m.library: m for m in found}
    own, jax, scipy = (times[n].median * 1e6 if n in times else np.nan for n in ("wengert", "jax", "scipy"))
    return Row(title, own, jax, scipy, "; ".join(f"{m.library} {m.error}" for m in found if m.error))


def rows(names: list[str], options: Any) -> Iterator[Row]:
    modules = {"wengert": ours(), "jax": theirs(), "scipy": scipys()}
    groups = options.groups.split(",")
    for name in names:
        program = PROGRAMS[name]
        for group in (g for g in program.groups.split(",") if g in groups):
            for shape in GROUPS[group]:
                if options.shapes and "x".join(map(str, shape)) not in options.shapes.split(","):
                    continue
                for dtype in options.dtypes.split(","):
                    x = argument(shape, program, dtype)
                    title = f"{name:21}{'x'.join(map(str, shape)):14}{x.dtype.name:11}"
                    yield measured(title, program, x, modules, options)


def told(row: Row) -> str:
    of_jax, of_scipy = row.ours / row.jax, row.ours / row.scipy
    of_scipy = f"{of_scipy:9.2f}" if of_scipy == of_scipy else f"{'-':>9}"
    return f"{row.title:48}{row.ours:12.1f}{row.jax:12.1f}{of_jax:9.2f}{of_scipy}  {row.error or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PROGRAMS)}; all of them without")
    parser.add_argument("--groups", default=",".join(GROUPS), help="of shapes")
    parser.add_argument("--shapes", default="", help="such as 100,64x64; all of the groups without")
    parser.add_argument("--dtypes", default="float64,float32")
    harness.add_turns(parser, seconds=0.02, rounds=5)
    narrower_vectors.add_option(parser)
    options = parser.parse_args()
    narrower_vectors.choose(options.vectors)
    narrower_vectors.narrow()
    warnings.simplefilter("ignore")
    print(f"{'program':48}{'ours, us':>12}{'JAX, us':>12}{'of JAX':>9}{'of SciPy':>9}")
    harness.tell_rows(rows(options.names or [*PROGRAMS], options), told, options.above, "JAX or SciPy")


if __name__ == "__main__":
    main()
