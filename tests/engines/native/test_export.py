"""Functions as libraries and as C source: called by ctypes and from C programs, they give what they give in Python."""

from __future__ import annotations

import ctypes
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
import wengert.scipy as wsp
import wengert.scipy.special
from wengert._engines.native.engine import has_llvm
from wengert._engines.native.export.linking import compiler
from wengert._engines.native.export.names import c_name, function_name

pytestmark = [
    pytest.mark.skipif(not has_llvm(), reason="what is exported is compiled by llvmlite, which is not installed"),
    pytest.mark.skipif(compiler() is None, reason="no C compiler links and calls what is exported"),
]

LIBC = re.compile(r"@GLIBC|\b(_ITM_|__cxa_finalize|__gmon_start__)")


class Case(NamedTuple):
    make: Callable[[], Any]
    arguments: tuple[Any, ...]


def _spring(x: Any, v: Any) -> Any:
    return wnp.sum(x * wnp.sin(v)) + wnp.prod(v)


def _path(x: Any, force: Any) -> Any:
    def step(state: Any, f: Any) -> Any:
        place, speed = state
        speed = speed + 0.1 * (f - wnp.sin(place))
        return (place + 0.1 * speed, speed), place

    (place, _), places = wg.scan(step, (x, x * 0.0), force)
    return (place - 1.0) ** 2 + wnp.sum(places**2)


def _root(x: Any) -> Any:
    return wg.while_loop(lambda y: wnp.abs(y * y - x) > 1e-12, lambda y: 0.5 * (y + x / y), (x,))[0]


def _power(x: Any) -> Any:
    return wg.fori_loop(0, 5, lambda i, y: y * wnp.cos(x), x)


def _mixed(counts: Any, chosen: Any, x: Any) -> Any:
    kept = wnp.where(chosen, x, wnp.zeros_like(x))
    return wnp.cumsum(counts) * 3 - 1, kept, wnp.logical_not(chosen), wnp.sort(kept)


@wg.custom_gradient
def _clipped(x: Any) -> Any:
    return wnp.exp(x), lambda dy: wnp.clip(dy, -1.0, 1.0)


def _loops_in_loops(x: Any) -> Any:
    def outer(i: Any, y: Any) -> Any:
        return wg.scan(lambda c, z: (c * wnp.cos(z) + y, c), y, x)[0]

    return wg.fori_loop(0, 3, outer, 1.0)


def _specials(x: Any) -> Any:
    share = 0.5 + wnp.arctan(x) / np.pi
    return wnp.stack([
        wg.special.digamma(x), wg.special.ndtr(x), wg.special.log_ndtr(x), wg.special.erfcx(x),
        wg.special.erfinv(2 * share - 1), wg.special.ndtri(share),
    ])  # fmt: skip


def _likelihood(a: Any, b: Any, x: Any) -> Any:
    probit = wg.special.log_ndtr(a * x - b)
    return wnp.sum(probit) + wg.special.gammaln(a * b) + wg.special.betaln(a, b)


def _waves(z: Any) -> Any:
    return z[::-1] * 1j + wnp.sqrt(z), wnp.concatenate([z, z[:2]]), wnp.cumsum(z), wnp.sort(wnp.abs(z))


def _energy(z: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        return c * v * 1.01j + wnp.conj(v), c

    return wnp.sum(wnp.abs(_MIXING @ wg.scan(step, z[0], z)[1]) ** 2)


def _waiting(a: Any, x: Any) -> Any:
    """Functions with loops of their own, in a loop and outside."""
    s = wg.special
    total, _ = wg.scan(lambda c, v: (c + s.gammainc(a, v) * s.jv(2.5, v), c), 0.0 * a, x)
    return total + wnp.sum(s.expi(x) * s.zeta(x + 1, 0.7))


def _spectrum(z: Any, r: Any) -> Any:
    rows = wnp.fft.ifft(wnp.fft.fft(wnp.reshape(wnp.concatenate([z, z[:3]]), (4, 3)), axis=0) * r[:3])
    return wnp.abs(rows), wnp.fft.irfft(wnp.fft.rfft(r) ** 2, 7), wnp.fft.fft(z)


def _narrow(x: Any) -> Any:
    half, brain = (wnp.astype(x, dtype) for dtype in ("float16", "bfloat16"))
    last, steps = wg.scan(lambda c, v: (wnp.sin(c) + v, c * v), half[0], half)
    return wnp.sum(half * 3.3), last, wnp.sort(steps), wnp.tanh(brain) * _NARROW, brain > 0.5


_NARROW = np.array([0.1, -2.0, 3e4, 1e-7, 5.0], np.float16).astype(np.float32)
_RNG = np.random.default_rng(3)
_X, _V = _RNG.normal(size=5), _RNG.normal(size=5)
_MATRIX = _RNG.normal(size=(4, 4)) + 4 * np.eye(4)
_LARGE = _RNG.normal(size=(40, 40)) * 0.1 + 8 * np.eye(40)
_TABLE = np.arange(6.0)
_WAVES = np.exp(1j * np.arange(9.0)) * np.linspace(0.5, 1.5, 9)
_PLANE = np.arange(3.0 * 70).reshape(3, 70) * (0.1 - 0.3j)
_MIXING = np.arange(36.0).reshape(4, 9) * (0.01 + 0.005j)

CASES = {
    "value": Case(lambda: _spring, (_X, _V)),
    "gradient": Case(lambda: wg.grad(_spring, argnums=(0, 1)), (_X, _V)),
    "value_and_grad": Case(lambda: wg.value_and_grad(_spring), (_X, _V)),
    "jacobian": Case(lambda: wg.jacobian(lambda x: wnp.tanh(x) * x[0]), (_X,)),
    "hvp": Case(lambda: lambda x, v: wg.hvp(lambda x: _spring(x, x), x, v), (_X, _V)),
    "scan": Case(lambda: wg.grad(_path, argnums=(0, 1)), (np.float64(0.3), _RNG.normal(size=20))),
    "while_loop": Case(lambda: wg.value_and_grad(_root), (2.0,)),
    "fori_loop": Case(lambda: wg.value_and_grad(_power), (0.7,)),
    "float32": Case(lambda: wg.value_and_grad(_spring), (_X.astype(np.float32), _V.astype(np.float32))),
    "integers_and_booleans": Case(lambda: _mixed, (np.arange(5), _X > 0, _X)),
    "product": Case(
        lambda: lambda a, b: wnp.sum(a @ b, axis=1), (_RNG.normal(size=(20, 9)), _RNG.normal(size=(9, 11)))
    ),
    "solve": Case(lambda: wg.grad(lambda a, b: wnp.sum(wnp.linalg.solve(a, b) ** 2)), (_MATRIX, _X[:4])),
    "indexing": Case(lambda: wg.grad(lambda x, i: wnp.sum(x[i] ** 2) + x[-1]), (_X, np.array([0, 3, 3]))),
    "captured": Case(lambda: lambda x: wnp.dot(x, _TABLE), (_RNG.normal(size=6),)),
    "sine_and_cosine": Case(lambda: wg.jacobian(lambda x: wnp.outer(wnp.sin(x), x**2)), (_X,)),
    "only_roots": Case(lambda: wg.grad(lambda a: wnp.linalg.norm(a) + wnp.sum(wnp.linalg.norm(a, axis=1))), (_MATRIX,)),
    "kept_and_not_read": Case(lambda: wg.grad(_loops_in_loops), (_X,)),
    "argument_without_use": Case(lambda: wg.grad(lambda x: wnp.sum(_clipped(x) * 3.0)), (_X,)),
    "named_as_c_does": Case(
        lambda: lambda double, out, v1, NAN, index: double * out + v1 - NAN + index, (1.0, 2.0, _X, _X, _V)
    ),
    "large_cholesky": Case(lambda: wg.grad(lambda a: wnp.sum(wnp.linalg.cholesky(a) ** 3)), (_LARGE,)),
    "large_solve": Case(lambda: wnp.linalg.solve, (_LARGE - 20 * np.eye(40), _RNG.normal(size=(40, 3)))),
    "large_float32": Case(lambda: wnp.linalg.slogdet, (_LARGE.astype(np.float32),)),
    # on both sides of each formula's limits, and where there is no value
    "special_functions": Case(
        lambda: _specials,
        (np.array([-30.0, -7.3, -4.0, -1.2, -0.2, 0.0, 1e-9, 0.6, 1.4616, 1.9, 2.1, 9.0, 14.0, 25.0, np.inf, np.nan]),),
    ),
    "likelihood": Case(lambda: wg.grad(_likelihood, argnums=(0, 1)), (3.3, 0.7, _X)),
    "sum_of_nothing": Case(lambda: wg.grad(lambda x, y: wnp.sum(wnp.sum(x, axis=0) * y)), (np.ones((0, 5)), _X)),
    "complex_numbers": Case(lambda: _waves, (_WAVES,)),
    "complex_columns": Case(lambda: lambda z: wnp.sum(z, axis=0), (_PLANE,)),
    "complex_rows": Case(lambda: lambda z: wnp.sum(z, axis=1), (_PLANE,)),
    "complex_gradient": Case(lambda: wg.value_and_grad(_energy), (_WAVES,)),
    "complex_single": Case(lambda: lambda z: (z * z, wnp.abs(z)), (_WAVES.astype(np.complex64),)),
    "complex_inside": Case(lambda: wg.grad(lambda x: wnp.sum(wnp.abs(wnp.exp(1j * x) + x) ** 2)), (_X,)),
    "waiting": Case(lambda: wg.grad(_waiting, argnums=(0, 1)), (1.3, np.array([0.4, 1.1, 2.7, 9.0]))),
    "transforms": Case(lambda: _spectrum, (_WAVES, np.cos(np.arange(7.0)))),
    "transform_gradient": Case(
        lambda: wg.grad(lambda r, z: wnp.sum(wnp.abs(wnp.fft.rfft(r)) ** 4) + wnp.sum(_spectrum(z, r)[0] ** 2)),
        (np.sin(np.arange(7.0)), _WAVES),
    ),
    "half_floats": Case(lambda: _narrow, (np.linspace(-1.5, 2.0, 5),)),
    "structure": Case(lambda: lambda p: {"a": p["w"] * 2, "b": [p["b"], 1.5]}, ({"w": _X, "b": _V},)),
}


def leaves(found: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in wg.tree.leaves(found)]


def close(got: Any, wanted: Any) -> None:
    for one, other in zip(leaves(got), leaves(wanted), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        few = 1e-5 if one.dtype == np.float32 else 0 if one.dtype.itemsize == 2 else 1e-13
        if one.dtype.kind == "V":
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_allclose(one, other, rtol=few, atol=few)


def run(*words: Any) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_shared_library_gives_what_python_gives(name: str, tmp_path: Path) -> None:
    make, arguments = CASES[name]
    fn = wg.function(make(), name=name)
    path = tmp_path / f"{name}.so"
    fn.export(path, *arguments)
    loaded = wg.load(path)
    got, wanted = loaded(*arguments), fn(*arguments)
    assert type(got) is type(wanted)
    close(got, wanted)
    needed = run("nm", "-D", "-u", path)
    symbols = {line.split()[-1].partition("@")[0] for line in needed.splitlines()}
    known = ctypes.CDLL("libm.so.6")
    outside = {s for s in symbols if not LIBC.search(s) and not hasattr(known, s)}
    assert not outside, needed


def test_sizes_that_only_a_call_tells_come_first(tmp_path: Path) -> None:
    signature = [wg.TensorSpec((None, 3)), wg.TensorSpec((None,))]
    fn = wg.function(wg.grad(lambda a, b: wnp.sum(wnp.tanh(a.T @ b))), input_signature=signature, name="slope")
    path = tmp_path / "slope.so"
    fn.export(path)
    assert (
        "int slope(int64_t n_a_0, int64_t n_b, const double *a, const double *b, double *out);"
        in (tmp_path / "slope.h").read_text()
    )
    loaded = wg.load(path)
    for n in (1, 4, 90):
        a, b = _RNG.normal(size=(n, 3)), _RNG.normal(size=n)
        close(loaded(a, b), fn(a, b))
    with pytest.raises(ValueError, match="sizes do not fit"):
        loaded(np.ones((3, 3)), np.ones(4))


def test_wrong_arguments_of_a_loaded_library_are_told(tmp_path: Path) -> None:
    fn = wg.function(lambda x: x * 2, name="double")
    fn.export(tmp_path / "double.so", np.ones(3))
    loaded = wg.load(tmp_path / "double.so")
    with pytest.raises(ValueError, match=r"double: argument 0 has shape \(4,\)"):
        loaded(np.ones(4))
    with pytest.raises(TypeError, match="double: argument 0 has dtype float32"):
        loaded(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="double: got arguments"):
        loaded(np.ones(3), 1.0)
    again = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(again(np.ones(3)), 2 * np.ones(3))


def test_threads_share_an_exported_function(tmp_path: Path) -> None:
    fn = wg.function(wg.grad(_path, argnums=1), name="descent")
    force = _RNG.normal(size=(16, 50))
    fn.export(tmp_path / "descent.so", 0.2, force[0])
    loaded = wg.load(tmp_path / "descent.so")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda f: loaded(0.2, f), force))
    for f, got in zip(force, found, strict=True):
        close(got, fn(0.2, f))


CALLER = """
#include <stdio.h>
#include "slope.h"
int main(void) {
    double x[3] = {0.5, -1.0, 2.0}, out[3];
    int status = slope(x, out);
    for (int i = 0; i < 3; i++) printf("%.17g\\n", out[i]);
    return status;
}
"""


@pytest.mark.parametrize("ending", ["so", "a", "o"])
@pytest.mark.parametrize("cpu", ["generic", "native"])
def test_c_program_calls_each_kind(ending: str, cpu: str, tmp_path: Path) -> None:
    fn = wg.function(wg.grad(lambda x: wnp.sum(wnp.exp(x) * x**2)), name="slope")
    path = tmp_path / f"slope.{ending}"
    fn.export(path, np.ones(3), cpu=cpu)
    (tmp_path / "main.c").write_text(CALLER)
    words = ["-std=c11", "-Wall", "-Werror", f"-I{tmp_path}", tmp_path / "main.c", path, "-lm", "-o", tmp_path / "main"]
    run(compiler(), *words)
    got = [float(line) for line in run(tmp_path / "main").split()]
    np.testing.assert_allclose(got, fn(np.array([0.5, -1.0, 2.0])), rtol=1e-14)


def _prints(x: Any) -> Any:
    wg.debug_print("{}", x)
    return x


def _of_scipy(x: Any) -> Any:
    return wsp.special.struve(1.5, x)


def _of_scipy_in_a_loop(x: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, y: _of_scipy(y), x)


def _in_a_loop(x: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, y: _prints(y) * x, x)


@pytest.mark.parametrize(("f", "named"), [
    (_prints, "debug_print"), (_in_a_loop, "debug_print"),
    (_of_scipy, "scipy_special"), (_of_scipy_in_a_loop, "scipy_special"),
])  # fmt: skip
def test_what_cannot_leave_python_is_named(f: Any, named: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=f"export: stays uses {named}"):
        wg.function(f, name="stays").export(tmp_path / "stays.so", np.ones(2))
    assert not list(tmp_path.iterdir())


def test_written_variables_stay_in_python(tmp_path: Path) -> None:
    count = wg.Variable(0.0, name="count")

    def f(x: Any) -> Any:
        count.assign_add(1.0)
        return x * count

    with pytest.raises(TypeError, match="writes to count"):
        wg.function(f, name="f").export(tmp_path / "f.so", 1.0)


def test_other_endings_and_processors_are_refused(tmp_path: Path) -> None:
    fn = wg.function(lambda x: x, name="f")
    with pytest.raises(ValueError, match=r"should end in \.so"):
        fn.export(tmp_path / "f.dat", 1.0)
    with pytest.raises(ValueError, match="there is no cpu 'fast'"):
        fn.export(tmp_path / "f.so", 1.0, cpu="fast")


def test_scipy_integrates_gradients_without_python() -> None:
    integrate = pytest.importorskip("scipy.integrate", reason="SciPy's quad calls the code")
    slope = wg.function(wg.grad(lambda x: x**3 * wnp.exp(-x)))
    np.testing.assert_allclose(integrate.quad(slope.low_level(1.0), 0, 2)[0], 8 * np.exp(-2), rtol=1e-12)
    wave = wg.function(lambda x: wnp.prod(wnp.cos(x)))
    np.testing.assert_allclose(integrate.nquad(wave.low_level(np.ones(2)), [[0, 1]] * 2)[0], np.sin(1) ** 2)
    two = wg.function(lambda x, a: a * wnp.sin(x))
    np.testing.assert_allclose(integrate.quad(two.low_level(1.0, 1.0), 0, 1, args=(3.0,))[0], 3 * (1 - np.cos(1)))
    slope_of_two = wg.function(lambda x: x * 2)
    with pytest.raises(TypeError, match="should take float64 numbers or one float64 vector"):
        slope_of_two.low_level(np.ones(3))


@pytest.mark.parametrize("name", CASES)
def test_source_is_clean_and_gives_what_python_gives(name: str, tmp_path: Path) -> None:
    make, arguments = CASES[name]
    fn = wg.function(make(), name=name)
    fn.export(tmp_path / f"{name}.c", *arguments)
    fn.export(tmp_path / f"{name}.so", *arguments)
    loaded: Any = wg.load(tmp_path / f"{name}.so")  # of which only the signature serves here
    words = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", tmp_path / f"{name}.c"]
    run(compiler(), *words, "-o", tmp_path / "source.so", "-lm")
    loaded._run = ctypes.CDLL(str(tmp_path / "source.so"))[name]
    close(loaded(*arguments), fn(*arguments))


CHECKED = """
#include <stdio.h>
#include "descent.h"
int main(void) {
    double x[1] = {0.2}, force[40], out[40];
    for (int n = 1; n <= 40; n += 13) {
        for (int i = 0; i < n; i++) force[i] = 0.1 * i - 1.0;
        int status = descent(n, x, force, out);
        if (status) return status;
        for (int i = 0; i < n; i++) printf("%.17g\\n", out[i]);
    }
    return 0;
}
"""


def test_source_runs_under_sanitizers(tmp_path: Path) -> None:
    signature = [wg.TensorSpec(()), wg.TensorSpec((None,))]
    fn = wg.function(wg.grad(_path, argnums=1), input_signature=signature, name="descent")
    fn.export(tmp_path / "descent.c")
    (tmp_path / "main.c").write_text(CHECKED)
    words = [
        "-std=c11",
        "-g",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    run(compiler(), *words, tmp_path / "main.c", tmp_path / "descent.c", "-lm", "-o", tmp_path / "main")
    got = [float(line) for line in run(tmp_path / "main").split()]
    wanted = np.concatenate([fn(0.2, 0.1 * np.arange(n) - 1.0) for n in (1, 14, 27, 40)])
    np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)


TAKEN = ["round", "read", "time", "index", "exp", "cosf", "double", "new", "NULL", "INT8_MAX"]
CLEAN = ["-Wall", "-Wextra", "-Werror"]


def _named_as_taken(name: str, folder: Path) -> None:
    wg.function(lambda x: wnp.exp(x) * 2, name=name).export(folder / "f.c", 1.0)
    assert f"int {name}_(const double *x, double *out);" in (folder / "f.h").read_text()


@pytest.mark.parametrize("name", TAKEN)
def test_function_does_not_take_a_name_of_c(name: str, tmp_path: Path) -> None:
    _named_as_taken(name, tmp_path)
    run(compiler(), "-std=c11", *CLEAN, "-c", tmp_path / "f.c", "-o", tmp_path / "f.o")


HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string time uchar wchar wctype
"""


def test_names_are_no_macros_of_c(tmp_path: Path) -> None:
    """A program may have included any of C's headers before ours."""
    (tmp_path / "all.h").write_text("".join(f"#include <{name}.h>\n" for name in HEADERS.split()))
    lines = run(compiler(), "-std=c11", "-dM", "-E", tmp_path / "all.h").splitlines()
    macros = {line.split()[1] for line in lines}
    public = [name for name in macros if not name.startswith("_")]
    assert len(public) > 300
    assert not [name for name in public if "(" not in name and c_name(name) == name]
    assert not [name for name in public if "(" in name and function_name(called := name.partition("(")[0]) == called]


def test_headers_follow_cs_own(tmp_path: Path) -> None:
    wg.function(lambda I, complex, near: I * complex + near, name="assert").export(tmp_path / "f.c", 1.0, 2.0, 3.0)
    includes = "".join(f"#include <{name}.h>\n" for name in HEADERS.split())
    (tmp_path / "main.c").write_text(f'{includes}#include "f.h"\n')
    run(compiler(), "-std=c11", *CLEAN, "-fsyntax-only", tmp_path / "main.c")


CXX = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)


@pytest.mark.skipif(CXX is None, reason="no C++ compiler reads the header: a machine may have one of C alone")
@pytest.mark.parametrize("name", TAKEN)
def test_header_takes_no_name_of_cpp(name: str, tmp_path: Path) -> None:
    _named_as_taken(name, tmp_path)
    run(CXX, "-std=c++17", *CLEAN, "-fsyntax-only", "-x", "c++", tmp_path / "f.h")


@pytest.mark.parametrize(("f", "wanted"), [
    (lambda x: x * x + 1, "It needs no library but C's own."), (wnp.sqrt, "It needs the C maths library (-lm)."),
    (lambda x: wnp.sin(x) * wnp.cos(x), "It needs the C maths library (-lm)."),
])  # fmt: skip
@pytest.mark.parametrize("ending", ["c", "o", "so"])
def test_header_tells_the_libraries(f: Any, wanted: str, ending: str, tmp_path: Path) -> None:
    wg.function(f, name="f").export(tmp_path / f"f.{ending}", 1.0)
    assert wanted in (tmp_path / "f.h").read_text()


def test_header_tells_of_lapack_where_it_is_needed(tmp_path: Path) -> None:
    fn = wg.function(wnp.linalg.inv, name="inverse")
    fn.export(tmp_path / "inverse.o", _LARGE)
    assert "LAPACK (-llapack), of which it calls dgetrf_." in (tmp_path / "inverse.h").read_text()
    fn.export(tmp_path / "inverse.c", _LARGE)
    assert "-DWENGERT_LAPACK it calls LAPACK's dgetrf_" in (tmp_path / "inverse.h").read_text()
    words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-DWENGERT_LAPACK", "-c", tmp_path / "inverse.c"]
    run(compiler(), *words, "-o", tmp_path / "with.o")
    assert "U dgetrf_" in run("nm", tmp_path / "with.o")


def test_spectra_have_loops_of_their_own_or_lapacks(tmp_path: Path) -> None:
    fn = wg.function(lambda a: (wnp.linalg.eigvalsh(a), wnp.linalg.solve(a, a[0])), name="spectrum")
    fn.export(tmp_path / "spectrum.o", _LARGE)
    wanted = "LAPACK (-llapack), of which it calls dgetrf_, dsyevd_."
    assert wanted in (tmp_path / "spectrum.h").read_text()
    fn.export(tmp_path / "spectrum.c", _LARGE)
    assert "It needs the C maths library (-lm)." in (tmp_path / "spectrum.h").read_text()
    words = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "spectrum.c"]
    run(compiler(), *words, "-DWENGERT_LAPACK", "-o", tmp_path / "with.o")
    assert "U dsyevd_" in run("nm", tmp_path / "with.o")
    run(compiler(), *words, "-o", tmp_path / "without.o")
    assert "dsyevd_" not in run("nm", "-u", tmp_path / "without.o")


def _whole_spectra(a: Any) -> Any:
    """What does not depend on the signs of vectors."""
    values, vectors = wnp.linalg.eigh(a @ a.T)
    found = [values, vectors * values**2 @ vectors.T]
    for m in (a, wnp.outer(a[0], a[:, 0])):  # wide, and of rank 1
        u, s, vh = wnp.linalg.svd(m, full_matrices=False)
        found += [s, u * s**2 @ vh, u.T @ u]
    return [*found, *wnp.linalg.qr(a.T)]


def test_spectra_run_without_lapack(tmp_path: Path) -> None:
    a = np.array([[1.0, 2.0, -1.0, 0.3], [0.5, 0.0, 3.0, 0.1], [2.0, -2.0, 0.1, 1.0]])
    fn = wg.function(_whole_spectra, name="whole")
    for ending in ("c", "so"):
        fn.export(tmp_path / f"whole.{ending}", a)
    words = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", tmp_path / "whole.c"]
    run(compiler(), *words, "-o", tmp_path / "source.so", "-lm")
    loaded: Any = wg.load(tmp_path / "whole.so")
    found, loaded._run = loaded(a), ctypes.CDLL(str(tmp_path / "source.so")).whole
    for one, two, wanted in zip(*map(leaves, (found, loaded(a), fn(a))), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(two, wanted, rtol=1e-12, atol=1e-12)


def test_headers_say_what_complex_numbers_are(tmp_path: Path) -> None:
    fn = wg.function(lambda z: z * 2, name="twice")
    fn.export(tmp_path / "twice.c", _WAVES)
    text = (tmp_path / "twice.h").read_text()
    assert "int twice(const double *z, double *out);" in text
    assert text.count("pairs: the real part, then the imaginary one") == 2


def _spectra(a: Any, b: Any) -> Any:
    even = a + wnp.swapaxes(a, 0, 1)
    values, vectors = wnp.linalg.eigh(even)
    singular = wnp.linalg.svd(a, compute_uv=False)
    triangle = wnp.linalg.qr(a)[1]
    fit = wnp.linalg.lstsq(a, b, rcond=None)[0]
    inverse = wnp.linalg.pinv(a)
    return (
        wnp.sum(values**3 * vectors[0] ** 2) + wnp.sum(singular) + wnp.sum(triangle**2) + wnp.sum(fit) + inverse[0, 0]
    )


def test_spectra_run_with_the_lapack_that_they_are_linked_with(tmp_path: Path) -> None:
    """SciPy's own, whose names begin otherwise: who links an object may rename what it calls."""
    scipy = pytest.importorskip("scipy", reason="its wheels bring the only LAPACK that is there for sure")
    found = sorted(Path(scipy.__file__).parents[1].glob("scipy.libs/libscipy_openblas*.so"))
    if not found or shutil.which("objcopy") is None:
        pytest.skip("this SciPy brings no LAPACK of its own, or nothing renames what an object calls")
    fn = wg.function(wg.value_and_grad(_spectra, argnums=(0, 1)), name="spectra")
    arguments = (_MATRIX, _X[:4])
    fn.export(tmp_path / "spectra.o", *arguments)
    routines = re.findall(
        r"\b[a-z]+_\b", (tmp_path / "spectra.h").read_text().partition("of which it calls")[2].partition(".")[0]
    )
    assert {"dsyevd_", "dgesdd_", "dgeqrf_"} <= {*routines}
    renamed = [word for name in routines for word in ("--redefine-sym", f"{name}=scipy_{name}")]
    run("objcopy", *renamed, tmp_path / "spectra.o")
    where = found[0].parent
    run(
        compiler(),
        "-shared",
        tmp_path / "spectra.o",
        found[0],
        f"-Wl,-rpath,{where}",
        "-lm",
        "-o",
        tmp_path / "made.so",
    )
    wanted = leaves(fn(*arguments))
    got = [np.empty_like(leaf) for leaf in wanted]
    given = [ctypes.c_void_p(x.ctypes.data) for x in (*arguments, *got)]
    assert ctypes.CDLL(str(tmp_path / "made.so")).spectra(*given) == 0
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_convolutions_and_masked_writes_of_any_size(tmp_path: Path) -> None:
    def f(x: Any, y: Any) -> Any:
        out = wnp.zeros_like(x)
        np.add(x, 1.0, out=out, where=x > 0.2)
        table = wnp.interp(x, np.array([-1.0, 0.0, 2.0]), np.array([0.0, 3.0, 1.0]))
        return wnp.sum(wnp.convolve(x, y, "same") ** 2) + wnp.sum(wnp.convolve(x, y)) + wnp.sum(out * table)

    fn = wg.function(wg.grad(f, argnums=(0, 1)), input_signature=[wg.TensorSpec((None,))] * 2, name="sizes")
    fn.export(tmp_path / "sizes.so")
    loaded = wg.load(tmp_path / "sizes.so")
    for n, m in ((5, 3), (3, 5), (4, 4), (1, 2)):
        x, y = _RNG.normal(size=n), _RNG.normal(size=m)
        close(loaded(x, y), wg.grad(f, argnums=(0, 1))(x, y))


def test_tables_of_unknown_length(tmp_path: Path) -> None:
    slopes = wg.grad(lambda x, xp, fp: wnp.sum(wnp.interp(x, xp, fp) ** 2), argnums=(0, 1, 2))
    fn = wg.function(slopes, input_signature=[wg.TensorSpec((None,))] * 3, name="table")
    fn.export(tmp_path / "table.so")
    loaded = wg.load(tmp_path / "table.so")
    for n, m in ((3, 4), (5, 1), (1, 6)):
        arguments = (np.linspace(0.1, 2.0, n), np.arange(m) / 2.0, np.cos(np.arange(m)))
        close(loaded(*arguments), slopes(*arguments))
        close(fn(*arguments), slopes(*arguments))
    with pytest.raises(ValueError, match="sizes do not fit"):
        loaded(np.ones(2), np.arange(3.0), np.ones(2))


def test_transforms_of_any_length(tmp_path: Path) -> None:
    unknown = [wg.TensorSpec((None,), np.complex128)]
    wg.function(wnp.fft.fft, input_signature=unknown, name="any").export(tmp_path / "any.so")
    loaded = wg.load(tmp_path / "any.so")
    for n in (1, 2, 12, 37, 256):
        z = np.exp(1j * np.arange(n) ** 2) * np.linspace(1.0, 2.0, n)
        np.testing.assert_allclose(loaded(z), np.fft.fft(z), atol=1e-13 * n)
    slope = wg.function(
        wg.grad(lambda x: wnp.sum(wnp.abs(wnp.fft.rfft(x)) ** 4)),
        input_signature=[wg.TensorSpec((None,))],
        name="slope",
    )
    slope.export(tmp_path / "slope.so")
    for n in (1, 6, 7):
        x = np.cos(np.arange(n) + 0.3)
        close(wg.load(tmp_path / "slope.so")(x), wg.grad(lambda x: wnp.sum(wnp.abs(wnp.fft.rfft(x)) ** 4))(x))
        close(slope(x), wg.load(tmp_path / "slope.so")(x))


def test_headers_say_what_half_floats_are(tmp_path: Path) -> None:
    wg.function(lambda x: x * 2, name="twice").export(tmp_path / "twice.c", np.ones(3, np.float16))
    text = (tmp_path / "twice.h").read_text()
    assert "int twice(const uint16_t *x, uint16_t *out);" in text
    assert "uint16_t (the bits of a float16), 3" in text


def test_extents_that_meet_may_be_one(tmp_path: Path) -> None:
    fn = wg.function(
        wg.grad(lambda x, y: wnp.sum((x - y) ** 2 * x)), input_signature=[wg.TensorSpec((None,))] * 2, name="meeting"
    )
    fn.export(tmp_path / "meeting.so")
    for n in (3, 1, 0):
        x, y = np.arange(n) + 1.0, 0.3 * np.arange(n)
        np.testing.assert_allclose(wg.load(tmp_path / "meeting.so")(x, y), fn(x, y))
    with pytest.raises(ValueError, match="sizes do not fit"):
        wg.load(tmp_path / "meeting.so")(np.ones(3), np.ones(1))


def test_ones_that_meet_unknown_extents_take_one_as_well(tmp_path: Path) -> None:
    def f(x: Any, y: Any, m: Any) -> Any:
        return wnp.sum(wnp.sin(x[:, None] * y[None, :]) ** 2) + wnp.einsum("ij,jk->", m, x[:, None] * m) ** 2

    unknown = wg.TensorSpec((None,))
    fn = wg.function(wg.grad(f), input_signature=[unknown, unknown, wg.TensorSpec((None, None))], name="ones")
    fn.export(tmp_path / "ones.so")
    for n, k in ((3, 2), (1, 4), (3, 1), (1, 1), (0, 1)):
        args = (np.arange(n) + 0.5, np.arange(k) - 0.3, np.arange(n * n).reshape(n, n) + 1.0)
        np.testing.assert_allclose(wg.load(tmp_path / "ones.so")(*args), wg.grad(f)(*args))
    with pytest.raises(ValueError, match="sizes do not fit"):
        wg.load(tmp_path / "ones.so")(np.ones(3), np.ones(2), np.ones((1, 3)))


def test_library_that_cannot_be_loaded_says_where_to_look(tmp_path: Path) -> None:
    (tmp_path / "cut.so").write_bytes(b"\x7fELF")
    with pytest.raises(OSError, match="load: .*cut.so.*the header beside it says which libraries it needs"):
        wg.load(tmp_path / "cut.so")


def test_singular_and_indefinite_matrices_are_told_by_libraries(tmp_path: Path) -> None:
    for name, f in (("inv", wnp.linalg.inv), ("chol", wnp.linalg.cholesky)):
        wg.function(f, name=name).export(tmp_path / f"{name}.so", _LARGE)
        with pytest.raises(np.linalg.LinAlgError, match="singular or not positive definite"):
            wg.load(tmp_path / f"{name}.so")(np.ones((40, 40)))


def test_library_written_anew_is_loaded_anew(tmp_path: Path) -> None:
    for factor in (2.0, 3.0):
        wg.function(lambda x, factor=factor: x * factor, name="times").export(tmp_path / "times.so", 1.0)
        assert wg.load(tmp_path / "times.so")(5.0) == 5 * factor


def test_library_is_loaded_where_its_function_never_was(tmp_path: Path) -> None:
    wg.function(wg.value_and_grad(_path), name="descent").export(tmp_path / "descent.so", 0.3, _X)
    program = """
import sys, numpy as np, wengert as wg
found = wg.load(sys.argv[1])(0.3, np.array(eval(sys.argv[2])))
print(type(found).__name__, found.value.hex(), found.grad.hex())
"""
    told = run(sys.executable, "-c", program, tmp_path / "descent.so", _X.tolist())
    value, slope = wg.load(tmp_path / "descent.so")(0.3, _X)
    assert told.split() == ["ValueAndGrad", value.hex(), slope.hex()]


def test_structures_of_other_classes_are_for_c_alone(tmp_path: Path) -> None:
    class Pair(NamedTuple):
        x: Any
        y: Any

    wg.function(lambda x: Pair(x, x * 2), name="pair").export(tmp_path / "pair.so", 1.0)
    with pytest.raises(TypeError, match="only C can call it"):
        wg.load(tmp_path / "pair.so")


THREADED = """
#include <pthread.h>
#include <stdio.h>
#include "descent.h"
static double force[20], out[4][20];
static void *work(void *place) {
    const double x[1] = {0.2};
    for (int i = 0; i < 200; i++) {
        if (descent(x, force, place)) return place;
    }
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 20; i++) force[i] = 0.1 * i - 1.0;
    for (int t = 0; t < 4; t++) pthread_create(&threads[t], NULL, work, out[t]);
    for (int t = 0; t < 4; t++) {
        void *failed;
        pthread_join(threads[t], &failed);
        if (failed) return 1;
    }
    for (int t = 0; t < 4; t++) for (int i = 0; i < 20; i++) printf("%.17g\\n", out[t][i]);
    return 0;
}
"""


def test_threads_of_c_share_nothing(tmp_path: Path) -> None:
    fn = wg.function(wg.grad(_path, argnums=1), name="descent")
    force = 0.1 * np.arange(20) - 1.0
    fn.export(tmp_path / "descent.c", 0.2, force)
    (tmp_path / "main.c").write_text(THREADED)
    words = ["-std=c11", "-O1", "-g", "-pthread", "-fsanitize=thread", tmp_path / "main.c", tmp_path / "descent.c"]
    run(compiler(), *words, "-lm", "-o", tmp_path / "main")
    got = np.array([float(line) for line in run(tmp_path / "main").split()]).reshape(4, 20)
    np.testing.assert_allclose(got, np.stack([fn(0.2, force)] * 4), rtol=1e-13, atol=1e-15)


def test_objects_hold_no_memory_of_their_own(tmp_path: Path) -> None:
    fn = wg.function(wg.grad(_path, argnums=1), name="descent")
    fn.export(tmp_path / "descent.o", 0.2, _X)
    kinds = {line.split()[-2] for line in run("nm", tmp_path / "descent.o").splitlines()}
    assert kinds <= {"T", "t", "r", "U", "W"}, "neither data nor bss"


def test_scipy_and_python_call_low_level_code() -> None:
    integrate = pytest.importorskip("scipy.integrate", reason="SciPy's integrators call the code")
    slope = wg.function(wg.grad(lambda x: x**3)).low_level(1)  # an int stands for a number
    assert slope(2.0) == 12.0
    np.testing.assert_allclose(integrate.quad(slope, 0, 2)[0], 8.0)
    rate = wg.function(wg.grad(lambda t, y: -(y**2) * wnp.cos(t), argnums=1)).low_level(0.0, 1.0)
    end = integrate.solve_ivp(rate, (0.0, 1.0), [1.0], rtol=1e-10, atol=1e-12).y[0, -1]
    np.testing.assert_allclose(end, np.exp(-2 * np.sin(1.0)), rtol=1e-8)
    product = wg.function(lambda x: wnp.prod(x)).low_level(np.ones(3))
    assert product([2.0, 3.0], 4.0) == 24.0
    assert np.isnan(product(2.0, 3.0))


def test_numba_calls_low_level_code() -> None:
    numba = pytest.importorskip("numba", reason="what calls the code is compiled by Numba")
    slope = wg.function(wg.grad(lambda x: wnp.sin(x) * x**2))
    function = slope.low_level(1.0).function

    @numba.njit
    def total(n: int) -> float:
        found = 0.0
        for i in range(n):
            found += function(0.1 * i)
        return found

    np.testing.assert_allclose(total(5), sum(slope(0.1 * i) for i in range(5)), rtol=1e-14)


def test_places_of_the_largest_of_any_length(tmp_path: Path) -> None:
    def places(x: Any) -> Any:
        return wnp.argmax(x, axis=0), wnp.argmin(x, axis=1), wnp.argmax(x), x[wnp.argmax(x[:, 0])]

    fn = wg.function(places, input_signature=[wg.TensorSpec((None, None))], name="places")
    fn.export(tmp_path / "places.so")
    loaded = wg.load(tmp_path / "places.so")
    for shape in ((4, 3), (1, 1), (2, 9)):
        x = _RNG.normal(size=shape)
        close(loaded(x), places(x))
        close(fn(x), places(x))
    for shape in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="sizes do not fit"):
            loaded(np.ones(shape))
        with pytest.raises(ValueError, match="attempt to get arg(max|min) of an empty sequence"):
            fn(np.ones(shape))


def test_pooling_partitions_and_gradients_of_medians(tmp_path: Path) -> None:
    def found(x: Any, images: Any) -> Any:
        pooled = wg.grad(lambda y: wg.sum(wg.nn.max_pool(y, 2) ** 2))(images)
        slope = wg.grad(lambda y: wg.sum(wnp.median(y, axis=1)))(x)
        return slope, wnp.partition(x, 300, axis=0), wnp.argmax(x > 1, axis=1), pooled, wg.nn.average_pool(images, 3, 1)

    signature = [wg.TensorSpec((700, 600)), wg.TensorSpec((2, 6, 8, 3))]
    fn = wg.function(found, input_signature=signature, name="found")
    fn.export(tmp_path / "found.so")
    x, images = np.round(_RNG.normal(size=(700, 600)), 2), _RNG.normal(size=(2, 6, 8, 3))
    for ours, loaded, wanted in zip(
        fn(x, images), wg.load(tmp_path / "found.so")(x, images), found(x, images), strict=True
    ):
        close(ours, wanted)
        close(loaded, wanted)
