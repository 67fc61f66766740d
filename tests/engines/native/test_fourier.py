"""Fourier transforms in machine code: NumPy's own functions, along any axes, of any length, in loops and gradients."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support import op_checks as checks
from tests.support.native_checks import Twins, cases_of, require_same

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.op import REGISTRY
from wengert._engines.native import engine
from wengert._engines.native.llvm import lane_transforms, numpy_transforms
from wengert._engines.native.llvm.numpy_transforms import transforms
from wengert._engines.native.llvm.vectors import most_lanes
from wengert._engines.native.lower import fourier, prime_fourier, short_fourier, split_fourier
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan import sizes
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.support import reason_against
from wengert._engines.native.run.callable import CALLABLE
from wengert._passes import optimise

TOLERANCE = {"float64": 1e-15, "complex128": 1e-15, "float32": 1e-6, "complex64": 1e-6}
TYPES = {"complex128": "c128", "complex64": "c64"}
F = wnp.fft
_RNG = np.random.default_rng(0)


def _complex(*shape: int) -> Any:
    return _RNG.normal(size=shape) + 1j * _RNG.normal(size=shape)


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "VERIFIES", True)
    monkeypatch.setattr(engine, "IS_STRICT", True)


def test_this_numpy_offers_its_functions() -> None:
    assert transforms("c128")
    assert transforms("c64")
    assert not transforms("f64")


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["double", "single"])
def test_lengths_and_axes(dtype: Any) -> None:
    z, x = _complex(6, 5, 4).astype(dtype), _RNG.normal(size=(6, 5, 4)).astype(np.zeros(0, dtype).real.dtype)
    lines = [_complex(n).astype(dtype) for n in (1, 2, 7, 12, 97, 1024)]

    def f(z: Any, x: Any, *lines: Any) -> Any:
        of_axes = [F.fft(z, axis=0), F.ifft(z, axis=1), F.fft(z), F.fft2(z), F.fftn(z), F.ifftn(z, axes=(0, 2))]
        of_real = [F.rfft(x, axis=1), F.rfft2(x), F.irfftn(F.rfftn(x)), F.irfft(F.rfft(x, axis=1), 5, axis=1)]
        of_views = [F.fft(z.T), F.fft(z[::2]), F.fft(z[:, :, ::-1]), F.fft(z, 10), F.rfft(x, 3)]
        return of_axes, of_real, of_views, [(F.fft(line), F.hfft(line, 9), F.rfft(wnp.real(line))) for line in lines]

    require_same(*Twins(f).both(z, x, *lines), str(dtype), TOLERANCE)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [11, 13, 97, 193, 257, 263])
def test_lines_of_prime_lengths_are_products(n: int, dtype: Any) -> None:

    def f(x: Any, z: Any, halves: Any, axis: int) -> Any:
        return F.rfft(x, axis=axis), F.irfft(halves, n, axis=axis), F.fft(z, axis=axis), F.ifft(z, axis=axis)

    for axis in range(3):
        x = np.moveaxis(_RNG.normal(size=(n, 2, 5)), 0, axis)
        z = x + 1j * _RNG.normal(size=x.shape)
        halves = np.fft.rfft(x, axis=axis) + 1j * _RNG.normal(size=np.fft.rfft(x, axis=axis).shape)
        given = x.astype(dtype), *(v.astype(np.result_type(dtype, 1j)) for v in (z, halves))
        twin = Twins(lambda x, z, halves, axis=axis: f(x, z, halves, axis))
        require_same(*twin.both(*given), f"{n} along {axis}", TOLERANCE)
        traced = wg.function(lambda x, z, halves, axis=axis: f(x, z, halves, axis)).trace(*given)
        loops = str(lowered(ready(optimise(traced)), "f").function)
        is_long, is_wide = n > prime_fourier.LONGEST, split_fourier.fills_vectors(TYPES[given[1].dtype.name])
        assert ("lines." in loops, "fourier." in loops) == (is_long and is_wide, is_long and not is_wide)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [9, 10, 12, 15, 16, 60, 64, 75, 150, 154, 187, 190])
def test_real_lines_side_by_side_fill_vectors(n: int, dtype: Any) -> None:
    for axis in range(3):
        x = np.moveaxis(_RNG.normal(size=(n, 3, 5)), 0, axis).astype(dtype)
        wanted = np.fft.rfft(x, axis=axis)
        noisy = wanted + 1j * _RNG.normal(size=wanted.shape).astype(dtype)  # the first and the middle number, too

        def both(x: Any, z: Any, axis: int = axis) -> Any:
            return F.rfft(x, axis=axis), F.irfft(z, n, axis=axis)

        require_same(*Twins(both).both(x, noisy), f"{n} along {axis}", TOLERANCE)
        assert "fourier." not in str(lowered(ready(optimise(wg.function(both).trace(x, noisy))), "f").function)
        ends = np.take(np.asarray(wg.function(lambda x, axis=axis: F.rfft(x, axis=axis))(x)), [0, -1], axis)
        assert np.all(ends.imag[np.isin(wanted.take([0, -1], axis).imag, 0.0)] == 0.0)
    lines = np.zeros((9, n), dtype)
    lines[4] = np.inf  # which stays in its line
    with np.errstate(invalid="ignore"):
        found = wg.function(lambda x: F.rfft(x))(lines)
    assert not np.isfinite(found[4]).any()
    assert not np.delete(found, 4, 0).any()


# of common factors and rare ones, few and many of them, with sides that fill no vector, twice an odd number, a prime, twice a prime
LENGTHS = (64, 77, 100, 143, 250, 289, 381, 509, 514, 1016, 1020, 1024, 2021, 2187, 10_000)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", LENGTHS)
def test_single_lines_are_vector_code(n: int, dtype: Any) -> None:
    complex_ = np.result_type(dtype, 1j)
    for shape, axis in (((2, n), 1), ((2, n, 3), 1)):
        x = _RNG.normal(size=shape).astype(dtype)
        z = (x + 1j * _RNG.normal(size=shape)).astype(complex_)
        halves = np.fft.rfft(x, axis=axis) * (1 + 1j * _RNG.normal())  # the first and the last number are not real
        given = x, z, halves.astype(complex_)

        def f(x: Any, z: Any, halves: Any, axis: int = axis) -> Any:
            return F.rfft(x, axis=axis), F.fft(z, axis=axis), F.ifft(z, axis=axis), F.irfft(halves, n, axis=axis)

        require_same(*Twins(f).both(*given), f"{n} along {axis} of {shape}", TOLERANCE)
        loops = str(lowered(ready(optimise(wg.function(f).trace(*given))), "f").function)
        is_wide = split_fourier.fills_vectors(TYPES[given[1].dtype.name])
        assert ("lines." in loops, "fourier." in loops) == (is_wide, not is_wide)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lines", [9, 16, 31])
def test_batches_of_long_lines(lines: int, dtype: Any) -> None:
    for n in (256, 375, 1001):
        x = _RNG.normal(size=(lines, n)).astype(dtype)
        z = (x + 1j * _RNG.normal(size=x.shape)).astype(np.result_type(dtype, 1j))
        halves = np.fft.rfft(x) * (1 + 1j * _RNG.normal())  # the first and the last number are not real

        def f(x: Any, z: Any, halves: Any, n: int = n) -> Any:
            return F.rfft(x), F.fft(z), F.ifft(z), F.irfft(halves, n)

        given = x, z, halves.astype(z.dtype)
        require_same(*Twins(f).both(*given), f"{lines} lines of {n}", TOLERANCE)
        loops = str(lowered(ready(optimise(wg.function(f).trace(*given))), "f").function)
        if split_fourier.fills_vectors(TYPES[z.dtype.name]):
            assert ("_apart" in loops) == fourier._fill_lanes(
                lines, most_lanes("f64" if dtype == np.float64 else "f32")
            )


@pytest.mark.parametrize("n", [65_536, 100_003, 98_415, 200_000])
def test_long_lines_have_the_digits_of_shorter_ones(n: int) -> None:
    z = _complex(n)
    found = wg.function(lambda z: (F.fft(z), F.ifft(z), F.rfft(wnp.real(z))))(z)
    for x, wanted in zip(found, (np.fft.fft(z), np.fft.ifft(z), np.fft.rfft(z.real)), strict=True):
        assert np.linalg.norm(x - wanted) < 2e-15 * np.linalg.norm(wanted)


@pytest.mark.parametrize("n", [128, 243, 1021])
def test_infinities_stay_in_their_lines(n: int) -> None:
    lines = np.zeros((3, n))
    lines[1, 5] = np.inf
    with np.errstate(invalid="ignore"):
        for found in wg.function(lambda x: (F.rfft(x), F.fft(x + 0j), F.irfft(x + 0j, n)))(lines):
            assert not np.isfinite(found[1]).all()
            assert not found[[0, 2]].any()


@pytest.mark.parametrize("n", [64, 75, 262])
def test_gradients_of_single_lines(n: int) -> None:
    x = _RNG.normal(size=n)
    slopes = _RNG.normal(size=n)

    def real(x: Any) -> Any:
        return wnp.sum(wnp.abs(F.rfft(x)) ** 3) + wnp.sum(F.irfft(x[: n // 2 + 1] + 1j * x[-(n // 2) - 1 :], n) ** 3)

    def whole(x: Any) -> Any:
        return wnp.sum(wnp.abs(F.ifft(F.fft(x + 1j * slopes) * slopes)) ** 3)

    for f in (real, whole):
        forward = wg.function(lambda x, f=f: wg.jvp(f, (x,), (slopes,))[1])(x)
        np.testing.assert_allclose(wg.function(wg.grad(f))(x) @ slopes, forward, rtol=1e-12)
        step = 1e-6 * slopes
        np.testing.assert_allclose(forward, (f(x + step) - f(x - step)) / 2e-6, rtol=1e-6)


def test_single_lines_in_loops_share_tables_and_rooms() -> None:
    x = np.linspace(-1, 1, 500)
    wg_found = wg.function(lambda x: wg.fori_loop(0, 4, lambda _, z: F.ifft(F.fft(z) * (1 + 0.1 * x)), x + 0j))(x)
    wanted = x + 0j
    for _ in range(4):
        wanted = np.fft.ifft(np.fft.fft(wanted) * (1 + 0.1 * x))
    np.testing.assert_allclose(wg_found, wanted, rtol=0, atol=1e-13)


def test_vectors_of_two_lanes_leave_lines_to_numpys_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on machines whose vectors have 128 bits."""
    monkeypatch.setattr(split_fourier, "most_lanes", lambda type_: 2)
    for n in (1000, 1021):
        loops = str(lowered(ready(optimise(wg.function(lambda z: F.fft(z)).trace(_complex(n)))), "f").function)
        assert "fourier." in loops
        assert "lines." not in loops


@pytest.mark.parametrize("is_in_loop", [False, True])
def test_lengths_have_code_of_their_own(is_in_loop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_seen", OrderedDict())

    def f(z: Any) -> Any:
        return wg.fori_loop(0, 3, lambda _, z: F.fft(z), z) if is_in_loop else F.fft(z)

    for n in range(100, 100 + sizes.SEVERAL):
        assert not sizes.sized(ready(optimise(wg.function(f).trace(_complex(n))))).numbers
    assert sizes.sized(ready(optimise(wg.function(f).trace(_complex(99))))).numbers


def test_gradients_of_prime_lengths() -> None:
    x = _RNG.normal(size=(2, 13))
    wg.check_gradients(wg.function(lambda x: wg.sum(abs(F.rfft(x)) ** 3 + wg.real(F.fft(x + 0j)[:, :7]) ** 2)), x)
    wg.check_gradients(wg.function(lambda x: wg.sum(F.irfft(x + 0j, 11, axis=1) ** 3)), x[:, :6])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", range(1, short_fourier.LONGEST + 2))
def test_short_real_lines_are_written_out(n: int, dtype: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("WENGERT_DUMP", "loops")
    for axis in range(3):
        x = np.moveaxis(_RNG.normal(size=(n, 4, 7)), 0, axis).astype(dtype)
        wanted = np.fft.rfft(x, axis=axis)
        noisy = wanted + 1j * _RNG.normal(size=wanted.shape).astype(dtype)  # the first and the middle number, too
        twin = Twins(lambda x, z, axis=axis: (F.rfft(x, axis=axis), F.irfft(z, n, axis=axis)))
        require_same(*twin.both(x, noisy), f"{n} along {axis}", TOLERANCE)
    called = capfd.readouterr().err
    assert any(name in called for name in ("fourier.", "lines.")) == (n > short_fourier.LONGEST)
    lines = np.zeros((2, 1, n), dtype)
    lines[0] = np.inf  # which stays in its line
    with np.errstate(invalid="ignore"):
        found = wg.function(lambda x: F.rfft(x))(lines)
    assert not np.isfinite(found[0]).any()
    assert not found[1].any()


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["double", "single"])
@pytest.mark.parametrize("lines", [3, 4, 13, 39])
def test_many_lines_are_transformed_at_once(dtype: Any, lines: int) -> None:
    lengths = (1, 2, 3, 5, 6, 7, 8, 10, 15, 16, 18, 34, 60, 75, 97, 111, 128)
    z = [_complex(lines, n).astype(dtype) for n in lengths]

    def f(*z: Any) -> Any:
        def of(x: Any) -> Any:
            return F.fft(x), F.ifft(x), F.fft(x.T, axis=0), F.ifft(x.T, axis=0), F.fft2(x), F.ifft(x[None], axis=1)

        return [of(x) for x in z]

    require_same(*Twins(f).both(*z), str(dtype), TOLERANCE)


def test_lengths_that_a_run_tells_are_transformed_at_once() -> None:
    compiled = wg.function(lambda z: (F.fft(z), F.ifft(z, axis=0), F.fft2(z)), input_signature=[
        wg.TensorSpec((None, None), "complex128")
    ])  # fmt: skip
    for shape in ((12, 30), (8, 8), (9, 7), (64, 200), (1, 15), (70, 1), (11, 22)):
        z = _complex(*shape)
        for found, wanted in zip(compiled(z), (np.fft.fft(z), np.fft.ifft(z, axis=0), np.fft.fft2(z)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-15 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("kind", ["fft", "ifft"])
@pytest.mark.parametrize("place", ["apart", "beside"])
@pytest.mark.parametrize(("type_", "lanes"), [("c128", 4), ("c128", 8), ("c64", 4), ("c64", 8), ("c64", 16)])
def test_functions_of_lanes_do_what_their_names_say(kind: str, place: str, type_: str, lanes: int) -> None:
    name = f"lines.{kind}_{lanes}_{place}.{type_}"
    form = lane_transforms.form_of(name)
    assert form is not None
    assert form.name == name
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 5)(CALLABLE.address(name))
    dtype = np.dtype(np.complex128 if type_ == "c128" else np.complex64)
    for n in (1, 2, 9, 20, 96, 135):
        x = _complex(lanes, n).astype(dtype)
        wanted = np.fft.fft(x) if kind == "fft" else np.fft.ifft(x, norm="forward")
        given = np.ascontiguousarray(x if place == "apart" else x.T)
        rooms = np.empty((2, 2 * n * lanes), dtype.char.lower())
        roots = np.exp(-2j * np.pi * np.arange(n) / n).astype(dtype)
        steps = (n, 1) if place == "apart" else (1, lanes)
        arrays = (given, given, rooms[0], rooms[1], roots)  # in place
        function(*(a.ctypes.data for a in arrays), n, *steps, *steps)
        found = given if place == "apart" else given.T
        tolerance = TOLERANCE[dtype.name] * np.max(np.abs(wanted))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
    assert lane_transforms.form_of("lines.fft_8_apart.f64") is None


@pytest.mark.parametrize("end", ["", "_any"])
def test_functions_of_lanes_share_what_takes_longest_to_compile(end: str) -> None:
    """In a first call that has several of them it is compiled once."""
    names = [f"{kind}_8_{place}{end}" for kind in ("fft", "ifft") for place in ("apart", "beside", "columns", "rows")]
    names += [f"{kind}_8_apart_{parity}{end}" for kind in ("rfft", "irfft") for parity in ("even", "odd")]
    forms = [lane_transforms.form_of(f"lines.{name}.c128") for name in names]
    names = ["fft_8_passes", "rfft_8_passes_odd"]
    assert {form.passes.name for form in forms if form is not None} == {f"lines.{name}{end}.c128" for name in names}
    shared = lane_transforms.form_of(f"lines.fft_8_passes{end}.c128")
    assert shared is not None
    length = len(lane_transforms.text_of(shared))
    for form in forms:
        assert form is not None
        text = lane_transforms.text_of(form)
        assert f'@"{form.passes.name}"(' in text
        assert len(text) < 0.6 * length


@pytest.mark.parametrize("lanes", [4, 8])
def test_functions_of_lanes_have_loops_for_rare_factors(lanes: int) -> None:
    name = f"lines.fft_{lanes}_beside_any.c128"
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 5)(CALLABLE.address(name))
    primes = [p for p in range(17, lane_transforms.LARGEST + 1) if all(p % k for k in range(2, p))]
    for n in (*primes, 7 * 17, 13 * 19 * 23, 17 * 17, 4 * 127, 5 * 29 * 29):
        x = _complex(n, lanes)
        found, rooms = np.empty_like(x), np.empty((2, 2 * n * lanes))
        roots = np.exp(-2j * np.pi * np.arange(n) / n)
        arrays = (x, found, *rooms, roots)
        function(*(a.ctypes.data for a in arrays), n, 1, lanes, 1, lanes)
        wanted = np.fft.fft(x, axis=0)
        assert np.max(np.abs(found - wanted)) <= 2e-15 * np.max(np.abs(wanted)), n
        assert lane_transforms.factors_of(n)
    assert not lane_transforms.factors_of(131 * 2)


@pytest.mark.parametrize("kind", ["rfft", "irfft"])
@pytest.mark.parametrize("place", ["apart", "beside"])
@pytest.mark.parametrize("parity", ["even", "odd"])
@pytest.mark.parametrize(("type_", "lanes"), [("c128", 4), ("c128", 8), ("c64", 16)])
def test_functions_of_lanes_of_real_numbers(kind: str, place: str, parity: str, type_: str, lanes: int) -> None:
    name = f"lines.{kind}_{lanes}_{place}_{parity}.{type_}"
    form = lane_transforms.form_of(name)
    assert form is not None
    assert form.name == name
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 5, ctypes.c_void_p)(
        CALLABLE.address(name)
    )
    dtype = np.dtype(np.complex128 if type_ == "c128" else np.complex64)
    is_even, is_inverse = parity == "even", kind == "irfft"
    for n in (1, 2, 9, 20) if is_even else (1, 3, 5, 9, 25, 135, 243, 1125):
        length = 2 * n if is_even else n
        real = _RNG.normal(size=(lanes, length)).astype(dtype.char.lower())
        halves = np.fft.rfft(real)
        sides = [(halves if is_inverse else real), np.empty_like(real if is_inverse else halves)]
        wanted = np.fft.irfft(halves, length, norm="forward") if is_inverse else halves
        arrays = [np.ascontiguousarray(a if place == "apart" else a.T) for a in sides]
        rooms = np.empty((2, 2 * (n + 1) * lanes), dtype.char.lower())
        roots = np.exp(-2j * np.pi * np.arange(n) / n).astype(dtype)
        turns = split_fourier.turns_of_halves(n, type_, is_inverse)
        steps: list[int] = []
        for a in sides:
            is_paired = is_even and not np.iscomplexobj(a)
            steps += (a.shape[1] // 2 if is_paired else a.shape[1], 1) if place == "apart" else (1, lanes)
        function(*(a.ctypes.data for a in (*arrays, *rooms, roots)), n, *steps, turns.ctypes.data)
        found = arrays[1] if place == "apart" else arrays[1].T
        tolerance = TOLERANCE[dtype.name] * np.max(np.abs(wanted))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
    assert lane_transforms.form_of(f"lines.{kind}_8_{place}.c128") is None
    assert lane_transforms.form_of(f"lines.{kind}_8_rows_{parity}.c128") is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [15, 127, 333, 867, 999, 1147, 2187, 3375])
def test_lines_of_odd_lengths_go_side_by_side(n: int, dtype: Any) -> None:
    """Of real numbers, half of which is left out; one line does not know what is in another."""
    x = _RNG.normal(size=(16, n)).astype(dtype)
    x[3], x[5, 2], x[7, n // 2] = 1e-30 * x[3], np.nan, np.inf
    for axis in (1, 0):
        rows = x if axis else np.ascontiguousarray(x.T)
        compiled = wg.function(lambda x, axis=axis: np.fft.rfft(x, axis=axis))
        found = np.moveaxis(compiled(rows), axis, -1)
        wanted = np.fft.rfft(x)
        for y, z in zip(found, wanted, strict=True):
            assert np.array_equal(np.isfinite(y), np.isfinite(z))
            if np.all(np.isfinite(z)):
                assert np.max(np.abs(y - z)) <= 2 * TOLERANCE[wanted.dtype.name] * np.max(np.abs(z))
                assert y[0].imag == 0


def test_long_batches_are_transformed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier, "AT_ONCE", 40)
    found = Twins(lambda z: (F.fft(z), F.fft(z, axis=0), F.irfft(z, 8, axis=1))).both(_complex(9, 5, 7))
    require_same(*found, "parts", TOLERANCE)


def split_steps(x: Any) -> Any:
    def step(z: Any, u: Any) -> Any:
        return F.ifft(F.fft(z) * wg.exp(-1j * u * x)) + F.irfft(F.rfft(wnp.real(z)) * u, 12), None

    last, _ = wg.scan(step, wg.exp(-x * x) + 0j, wnp.linspace(0.1, 1.0, 5))
    return wnp.sum(wnp.abs(last) ** 2 * x)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "loop": split_steps, "gradient": wg.grad(split_steps), "batch": wg.vmap(lambda a: split_steps(a + wnp.zeros(12))),
    "of real numbers": wg.grad(lambda x: wnp.sum(wnp.abs(F.rfft(x)) ** 3) + wnp.sum(F.irfft(F.rfft(x)) ** 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    x = np.linspace(-1, 1, 12)
    found, wanted = Twins(PROGRAMS[name]).both(x)
    require_same(found, wanted, name, {"float64": 1e-12})
    assert "100% machine code" in str(wg.function(PROGRAMS[name]).report(x))


def test_lengths_that_a_call_tells() -> None:
    unknown = wg.TensorSpec((None, None), np.complex128)
    f = wg.function(lambda z: (F.fft(z, axis=0), F.rfft(wnp.real(z))), input_signature=[unknown])
    for shape in ((3, 4), (1, 7), (20, 30)):
        z = _complex(*shape)
        require_same([*map(np.asarray, f(z))], [np.fft.fft(z, axis=0), np.fft.rfft(z.real)], str(shape), TOLERANCE)
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        f(_complex(3, 0))


def test_without_numpys_functions_kernels_run(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = checks.traced(next(iter(cases_of(REGISTRY["dft"], np.dtype(complex))))())
    nodes = [node for node in graph.nodes if node.op.name == "dft"]
    assert nodes
    assert not any(map(reason_against, nodes))
    monkeypatch.setattr(numpy_transforms, "_loop", lambda name, type_: None)
    assert all("no transforms" in reason_against(node) for node in nodes)


@pytest.mark.parametrize("n", [1 << 16, 100_003])
def test_large_tables_are_kept_as_long_as_a_program_has_them(n: int) -> None:
    if not split_fourier.fills_vectors("c128"):
        return
    forward: Any = wg.function(wg.fft.fft)
    forward(np.random.default_rng(3).normal(size=n) + 0j)
    split = split_fourier.split_of(n, "c128")
    turned = split_fourier._chirp(n, "c128") if split is None else split_fourier._turns(*split[:2], "c128")
    table = weakref.ref(turned)
    del turned
    gc.collect()
    assert table() is not None
    del forward
    gc.collect()
    assert table() is None
