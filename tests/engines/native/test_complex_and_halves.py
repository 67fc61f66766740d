"""Complex numbers, which are pairs in registers, and half floats, which are float32 there: against NumPy's kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.support import op_checks as checks
from tests.support.native_checks import Pair, Twins, cases_of, require_same

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.op import REGISTRY
from wengert._engines.native import engine
from wengert._engines.native.ir import half_floats
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.llvm.jit import shared
from wengert._engines.native.lower.blocks import takes_complex, takes_halves
from wengert._engines.native.lower.complex_scalars import COMPLEX_SCALARS
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.lower.scalars import SCALARS
from wengert._engines.native.plan import segments, support
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.run.callable import CALLABLE
from wengert._engines.native.run.entry import called
from wengert._passes import optimise

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.*was traced:UserWarning")

DTYPES = [*map(np.dtype, (np.complex128, np.complex64, np.float16, ml_dtypes.bfloat16))]
TOLERANCE = {
    "complex128": 1e-12,
    "complex64": 1e-5,
    "float16": 1e-2,
    "bfloat16": 0.1,
    "float64": 1e-12,
    "float32": 1e-5,
}
# what has rules for them; elementwise functions of half floats are in a test of their own
OPS = [
    *[(name, np.dtype(complex)) for name in sorted(REGISTRY) if takes_complex(name)],
    *[
        (name, np.dtype(np.float16)) for name, op in sorted(REGISTRY.items())
        if name not in SCALARS and (takes_halves(name) or op.facts.in_float32)
    ],
]  # fmt: skip
OPS = [(name, dtype) for name, dtype in OPS if name != "loop_back"]


@pytest.fixture(autouse=True)
def even_moves_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_computes", lambda node: True)


@pytest.mark.parametrize(("name", "dtype"), OPS, ids=str)
def test_values(name: str, dtype: np.dtype[Any]) -> None:
    for make in cases_of(REGISTRY[name], dtype):
        case = make()
        found, wanted = Pair(lambda make=make: checks.traced(make())).both(case.operands)
        require_same(found, wanted, str(case), TOLERANCE)


# -- complex numbers --------------------------------------------------------------------------------------------------

# Whose products are all NumPy's: with parts near the end of the range, sums of others are infinite earlier or later.
ROUNDED_APART = {"power", "power_number"}


def parts(dtype: np.dtype[Any]) -> list[float]:
    large = 1e300 if dtype == np.complex128 else 1e37
    ends = [np.finfo(dtype).max * 0.9, np.finfo(dtype).smallest_subnormal * 10]
    found = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 23.0, 720.0, -720.0, 1.0000001]
    return [*found, large, 1 / large, -1 / large, *ends]


ATTRS: dict[str, list[tuple[Any, ...]]] = {
    "times_number": [(2.5,), (0,), (1 - 2j,)], "add_number": [(2.5,), (3j,)],
    "power_number": [(n,) for n in (2, -1, 0, 1, -3, 7)], "sinc": [(0,), (1,)],
}  # fmt: skip
_OTHERS = ("add_n", "power", "scipy_special")  # the last has tests of its own
_RULED = [name for name in COMPLEX_SCALARS if name not in _OTHERS and len(REGISTRY[name].operands) == 1]
UNARY = sorted([*_RULED, "sinc"])  # whose body is expanded


def both(name: str, attrs: tuple[Any, ...], *operands: Any) -> tuple[Any, Any]:
    op = REGISTRY[name]

    def make() -> Any:
        graph = wg.Graph("f")
        with graph.as_default():
            inputs = [graph.add_input(x.shape, x.dtype) for x in operands]
            graph.finish([op(*inputs, **dict(zip(op.attrs, attrs, strict=True)))])
        return graph

    pair = Pair(make)
    assert pair.is_native
    found, wanted = pair.both(operands)
    return found[0], wanted[0]


def require_parts(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    """The parts are the same, NaN and infinities and signs of zeros included, or near in the size of the number."""
    if found.dtype == bool:
        assert np.array_equal(found, wanted), what
        return
    size = np.abs(wanted)
    for part in ("real", "imag"):
        x, y = getattr(found, part), getattr(wanted, part)
        is_near = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= tolerance * size)  # an infinity is itself only
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | is_near
        assert np.all(same), f"{what}: {part} {found[~same][:5]}, wanted {wanted[~same][:5]}"
        zeros = (x == 0) & (y == 0)
        bad = zeros & (np.signbit(x) != np.signbit(y))
        assert not np.any(bad), f"{what}: zeros of {found[bad][:5]}, wanted {wanted[bad][:5]}"


def as_all_releases_have_it(name: str, x: Any) -> Any:
    """Numbers without those at which C's standard left open what a function gives: NumPy 2.0 has other values there."""
    if not np.isnan(np.arccosh(complex(0, np.nan)).imag):
        return x
    is_open = {
        "arccosh": (x.real == 0) & np.isnan(x.imag),
        "arcsin": np.isinf(x.real) & np.isnan(x.imag),
        "arcsinh": np.isnan(x.real) & np.isinf(x.imag),
    }
    return x[~is_open[name]] if name in is_open else x


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_hard_points(name: str, dtype: np.dtype[Any]) -> None:
    x = np.array([complex(a, b) for a, b in itertools.product(parts(dtype), repeat=2)], dtype)
    for attrs in ATTRS.get(name, [()]):
        if name == "power_number" and attrs[0] not in (0, 1, 2):
            x = x[np.isfinite(x) & (np.abs(x) < 1e4)]
        found, wanted = both(name, attrs, as_all_releases_have_it(name, x))
        if name == "power_number":
            found, wanted = found + 0, wanted + 0
        require_parts(found, wanted, TOLERANCE[dtype.name], f"{name} {attrs}")


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "scale", "eq", "ne", "lt", "le", "gt", "ge"])
def test_hard_points_of_two(name: str, dtype: np.dtype[Any]) -> None:
    x = np.array([complex(a, b) for a, b in itertools.product(parts(dtype), repeat=2)], dtype)
    x, y = (a.ravel() for a in np.meshgrid(x, x))
    require_parts(*both(name, (), x, y), TOLERANCE[dtype.name], name)


def test_functions_of_ordinary_numbers_leave_no_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's kernels would run again to say what they have to."""
    asked: list[int] = []
    monkeypatch.setattr(engine.Teller, "__call__", lambda self, flags, *natives: asked.append(flags))
    z = np.array([1, -1, 2.5, 1j, -3j, 0.5 - 0.25j, -7 + 1e9j] * 5)

    def f(z: Any, w: Any) -> Any:
        zeros = (wg.sqrt(w), wg.numpy.abs(w), wg.numpy.angle(w), wg.exp(w), wg.tanh(w), wg.sin(w), w / z)
        small = z / wg.numpy.abs(z)
        others = (wg.exp(small), wg.tanh(small), wg.numpy.tan(small), wg.numpy.cosh(small), small**3, small**small)
        return zeros, others, 1 / z, wg.sqrt(z), wg.numpy.log(z), wg.numpy.abs(z), z / (z + 1e3), z / 2.5

    wg.function(f)(z, z * 0)
    assert asked == []
    wg.function(f)(z, z * np.inf)
    assert asked


def circuit(angles: Any) -> Any:
    state = wg.numpy.zeros(8, dtype=complex).at[0].set(1)
    for k in range(6):
        c, s = wg.numpy.cos(angles[k]), wg.numpy.sin(angles[k])
        gate = wg.numpy.stack([wg.numpy.stack([c + 0j, -1j * s]), wg.numpy.stack([-1j * s, c + 0j])])
        state = wg.numpy.einsum("ab,xbz->xaz", gate, state.reshape(2 ** (k % 3), 2, -1)).reshape(-1)
    return wg.sum(abs(state) ** 2 * wg.numpy.arange(8))


def scanned(x: Any) -> Any:
    def step(z: Any, u: Any) -> Any:
        z = wg.cond(wg.sum(abs(z)) > 3, lambda z: z / (2 + 1j), lambda z: z * wg.exp(1j * u) + u, z)
        return z, wg.numpy.sqrt(z)

    last, kept = wg.scan(step, wg.numpy.ones(3, complex) * (1 + 0.5j), x)
    return wg.sum(abs(last)) + wg.sum(wg.numpy.real(kept) ** 2)


def searched(x: Any) -> Any:
    return wg.while_loop(lambda z: wg.sum(abs(z)) < 50, lambda z: z * (1.5 + 0.2j) + wg.numpy.conj(z) * 0.1, x + 1j)


def multiplied(x: Any) -> Any:
    a = x[:, None] * wg.numpy.exp(1j * x) + 0.1
    return wg.sum(abs(a @ a.T @ wg.numpy.conj(a)) ** 2)


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "circuit": (circuit, np.linspace(0.1, 2, 6)),
    "gradient of a circuit": (wg.grad(circuit), np.linspace(0.1, 2, 6)),
    "scan": (scanned, np.linspace(0.1, 2, 7)),
    "gradient of a scan": (wg.grad(scanned), np.linspace(0.1, 2, 7)),
    "long scan, gradient": (wg.grad(scanned), np.linspace(0.1, 1, 200)),
    "while loop": (searched, np.linspace(0.1, 1, 12)),
    "products": (multiplied, np.linspace(0.1, 1, 20)),
    "gradient of products": (wg.grad(multiplied), np.linspace(0.1, 1, 20)),
    "tangents": (lambda x: wg.jvp(multiplied, (x,), (x * 0.5,)), np.linspace(0.1, 1, 5)),
    "a batch": (wg.vmap(multiplied), np.linspace(0.1, 1, 15).reshape(3, 5)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = PROGRAMS[name]
    monkeypatch.setattr(engine, "VERIFIES", True)
    monkeypatch.setattr(engine, "IS_STRICT", True)
    found, wanted = Twins(f).both(x)
    require_same(found, wanted, name, TOLERANCE)


@pytest.mark.parametrize("shape", [(5, 9, 7), (17, 33, 12), (12, 20, 1), (64, 64, 64)])
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_products(shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)

    def normal(*extents: int) -> Any:
        return (rng.normal(size=extents) + 1j * rng.normal(size=extents)).astype(dtype)

    for f, x, y in (
        (wg.matmul, normal(m, k), normal(k, n)), (wg.matmul, normal(4, m, k), normal(4, k, n)),
        (lambda x, y: wg.numpy.einsum("ab,cb->ca", x, y), normal(m, k), normal(n, k)),
    ):  # fmt: skip
        require_same(*Twins(f).both(x, y), f"{shape}", TOLERANCE)


def test_loops_of_complex_numbers_do_not_leave_machine_code() -> None:
    report = wg.function(scanned).report(np.linspace(0.1, 2, 7))
    assert "100% machine code" in str(report)


# -- half floats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_by_integers", [False, True], ids=["by the processor", "by integers"])
def test_every_float16_is_read_and_every_kind_of_float32_is_rounded(is_by_integers: bool) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 1 << 32, 200_000, np.uint64).astype(np.uint32).view(np.float32)
    near = bits.view(np.float16).astype(np.float32)
    steps = np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))
    ties = near[:-1] / 2 + near[1:] / 2
    wide = np.concatenate([numbers, near, *steps, ties])
    b = Builder(has_halves=not is_by_integers)
    if not is_by_integers and not engine_has_halves():
        pytest.skip("this processor has no conversions of float16")
    x, y, read, rounded = (b.array(t, p) for t, p in (("f16", "in"), ("f32", "in"), ("f32", "out"), ("f16", "out")))
    with b.loop(0, len(bits)) as i:
        b.store(read, i, b.load(x, i))
    with b.loop(0, len(wide)) as i:
        b.store(rounded, i, b.load(y, i))
    loaded = shared(module_text(b.function("f", [x, y], [read, rounded], []), "entry"), "entry", CALLABLE)
    results = [np.empty(len(bits), np.float32), np.empty(len(wide), np.float16)]
    assert called(loaded, [bits.view(np.float16), wide], results, []) == (0, 0)
    np.testing.assert_array_equal(results[0], near)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(results[1], wide.astype(np.float16))
    zeros = near == 0
    np.testing.assert_array_equal(np.signbit(results[0][zeros]), np.signbit(near[zeros]))


def engine_has_halves() -> bool:
    from wengert._engines.native.llvm.target import has_halves

    return has_halves()


# the series of these take long to compile, and what they give is rounded as all else
LONG = {
    "betainc", "betaincc", "betaincinv", "betaln", "digamma", "exp1", "expi", "gammainc", "gammaincc", "gammaincinv",
    "i0", "i0e", "i1", "i1e", "iv", "ive", "jv", "kv", "kve", "log_ndtr", "ndtri", "erfinv", "erfcx", "beta", "yv",
}  # fmt: skip


# those of gamma, in SciPy 1.13: by now it is NaN at whole numbers below zero, and its infinities at zeros have their signs
POLES_ARE_INFINITE = bool(np.isinf(special.gamma(-1.0)))


def functions_of_halves(x: Any, y: Any) -> dict[str, Any]:
    """Each elementwise function of one and of two half floats."""
    found: dict[str, Any] = {}
    for name in sorted({*filter(takes_halves, SCALARS)} - LONG):
        op = REGISTRY.get(name)
        if op is None or not set(op.attrs) <= {"number"} or name == "add_n":
            continue
        numbers: tuple[Any, ...] = (2, -1, 0.5, 2.3) if op.attrs else ()
        try:
            for number in numbers or (None,):
                attrs = {} if number is None else {"number": number}
                found[f"{name} {number}"] = op(*(x, y, x)[: len(op.operands)], **attrs)
        except TypeError:  # of integers or truth values only
            continue
    return found


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
def test_functions_of_every_half_float(dtype: np.dtype[Any]) -> None:
    """They are NumPy's, but where float32s a last bit apart are rounded apart."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    y = np.random.default_rng(0).permutation(x)
    names: list[str] = []

    def make() -> Any:
        graph = wg.Graph("f")
        with graph.as_default():
            made = functions_of_halves(*[graph.add_input(a.shape, a.dtype) for a in (x, y)])
            graph.finish([*made.values()])
        names[:] = made
        return graph

    pair = Pair(make)
    assert pair.is_native
    assert len(names) > 50
    found, wanted = pair.both((x, y))
    assert not isinstance(found, type)
    for name, ours, theirs in zip(names, found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if name.startswith("gamma ") and POLES_ARE_INFINITE:
            same |= np.isinf(theirs) & (np.isnan(ours) | (ours == -theirs))
        if ours.dtype == dtype:
            assert np.mean(same) > 0.999, name
            with np.errstate(all="ignore"):
                steps = np.abs(places(ours) - places(theirs))
                wide = np.floor_divide(x.astype(np.float32), y.astype(np.float32))
            same |= (steps <= 1) & ~np.isnan(ours) & ~np.isnan(theirs)
            if name.startswith(
                "floor_divide"
            ):  # where it overflows, older releases of ml_dtypes give NaN, float32 infinity
                same |= np.isnan(theirs) & np.isinf(wide) & (ours == wide)
        assert np.all(same), f"{name}: {ours[~same][:5]}, wanted {theirs[~same][:5]}"


def places(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where half floats stand among all half floats."""
    bits = x.view(np.int16).astype(int)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
def test_other_numbers_are_rounded_as_numpy_rounds_them(dtype: np.dtype[Any]) -> None:
    """Among them what is a little beside a tie, which it becomes by way of float32."""
    step = 2.0**-11 if dtype == np.float16 else 2.0**-8
    x = np.array([1 + step + d for d in (0.0, 2.0**-40, -(2.0**-40))] + [3 * step + 1, 1e-9, 6e4, 1e6, np.inf, np.nan])
    x = np.concatenate([x, -x])
    whole = np.array([0, 1, -1, 2049, 2051, 257, 259, 65519, 65520, 2**24 + 2**16 + 1, 2**62 + 1, -(2**63)])
    found, wanted = Twins(lambda *xs: [wg.asarray(x).astype(dtype)[::-1] for x in xs]).both(x, x * (1 + 1j), whole)
    require_same(found, wanted, str(dtype))


def halves_of(dtype: Any) -> dict[str, Callable[..., Any]]:
    def mlp(x: Any) -> Any:
        w = wg.numpy.ones((4, 3), dtype) * 0.3
        return wg.numpy.mean(wg.tanh(wg.tanh(x[:, None] * w[0]) @ w[:3]) ** 2)

    def scan(x: Any) -> Any:
        def step(h: Any, u: Any) -> Any:
            h = wg.numpy.where(h > 2, h * 0.25, wg.sigmoid(h) + u)
            return h, h * u

        h, kept = wg.scan(step, wg.numpy.ones(5, dtype), x)
        return wg.sum(h) + wg.sum(kept)

    return {
        "sums": lambda x: (wg.sum(x), wg.numpy.max(x), wg.numpy.prod(x), wg.numpy.cumsum(x), wg.nn.softmax(x)),
        "mlp": mlp, "gradient of mlp": wg.grad(mlp), "scan": scan, "gradient of scan": wg.grad(scan),
        "searches": lambda x: (wg.numpy.sort(x), wg.numpy.argmax(x), x[wg.numpy.argsort(x)[:2]], x.at[1].add(x[2])),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
@pytest.mark.parametrize("name", halves_of(np.float16))
def test_programs_of_halves(name: str, dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "VERIFIES", True)
    monkeypatch.setattr(engine, "IS_STRICT", True)
    x = np.linspace(-1, 2, 9).astype(dtype)
    found, wanted = Twins(halves_of(dtype)[name]).both(x)
    require_same([f.astype(np.float64) for f in found], [w.astype(np.float64) for w in wanted], name, {"float64": 1e-2})


def test_rounding_is_numpys_after_each_operation() -> None:
    rng = np.random.default_rng(0)
    for dtype in DTYPES[2:]:
        x, y = (rng.normal(size=2000).astype(dtype) for _ in range(2))
        require_same(*Twins(lambda x, y: x * y + x - y / 3 + x * x * y).both(x, y), str(dtype))


def test_numbers_are_rounded_as_arrays_are() -> None:
    for dtype, number in itertools.product(("f16", "bf16"), (0.1, 1e-9, 1e6, -0.0, 65519.9)):
        wanted = np.array(number, np.float16 if dtype == "f16" else ml_dtypes.bfloat16)
        assert half_floats.rounded_number(dtype, number) == float(wanted)


def near_branch_points(dtype: np.dtype[Any]) -> Any:
    """Numbers of all sizes, numbers about 1, and what lies next to the branch points of inverse functions."""
    rng, n = np.random.default_rng(4), 3000
    most = 37 if dtype == np.complex64 else 300
    small = -7 if dtype == np.complex64 else -16
    beside = np.stack([1 + 10.0 ** rng.uniform(small, -1, n) * rng.choice([-1, 1], n), 10.0 ** rng.uniform(-18, 0, n)])
    sizes = [10.0 ** rng.uniform(-most, most, (2, n)), 10.0 ** rng.uniform(-3, 2, (2, n)), beside, beside[::-1]]
    re, im = np.concatenate(sizes, 1) * rng.choice([-1, 1], (2, 4 * n))
    return (re.astype(dtype) + 1j * im.astype(dtype)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.dtype(np.complex64), np.dtype(np.complex128)], ids=str)
@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"])
def test_parts_of_inverse_functions_are_exact(name: str, dtype: np.dtype[Any]) -> None:
    """Each part by itself, also where the other is much larger."""
    z, wide = near_branch_points(dtype), np.complex128 if dtype == np.complex64 else np.clongdouble
    if dtype == np.complex128 and np.finfo(np.longdouble).nmant <= 60:
        pytest.skip("long double is no wider than double here: there is nothing to compare with")
    with np.errstate(all="ignore"):
        found, wanted = both(name, (), z)[0], getattr(np, name)(z.astype(wide))
    for got, exact in ((found.real, wanted.real), (found.imag, wanted.imag)):
        told = (np.abs(exact) > np.finfo(dtype).tiny) & np.isfinite(exact)
        error = np.abs(got - exact)[told] / np.abs(exact[told]) / np.finfo(dtype).eps
        assert error.max() < 4, f"{z[told][error.argmax()]}: {error.max()} units"


def test_what_has_no_rules_says_so() -> None:
    graph = checks.traced(next(iter(cases_of(REGISTRY["conv"], np.dtype(complex))))())
    assert any(support.reason_against(node) for node in graph.nodes)


def test_eight_half_floats_are_a_vector() -> None:
    """In registers, one by one, each would call the function of one."""
    x = np.random.default_rng(2).normal(size=(20, 8)).astype(np.float16)

    def f(x: Any) -> Any:
        return wg.scan(lambda c, row: (np.tanh(c + row), None), wg.zeros(8, np.float16), x)[0]

    compiled = wg.function(f)
    assert str(lowered(ready(optimise(compiled.trace(x))), "f").function).count("tanh") == 1
    np.testing.assert_array_equal(compiled(x), f(x))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_columns_with_rows_are_elementwise(dtype: Any) -> None:
    """What gradients of inner products are made of: in one loop, and not by a product of matrices."""
    rng = np.random.default_rng(3)
    x, y = ((rng.normal(size=40) + 1j * rng.normal(size=40)).astype(dtype) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        return wg.real(wg.vdot(x, y)) + 2 * wg.imag(wg.vdot(x, y)), wg.outer(x, y)

    slope = wg.grad(lambda x, y: f(x, y)[0], argnums=(0, 1))
    for g in (f, slope):
        for found, wanted in zip(wg.function(g)(x, y), g(x, y), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-5 if dtype == np.complex64 else 1e-13)
    assert "matmul" not in {node.op.name for node in ready(optimise(wg.function(slope).trace(x, y))).nodes}


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_division_by_a_real_number_is_numpys_to_the_bit(dtype: Any) -> None:
    some = [0.0, -0.0, 1.0, -3.0, 0.1, np.inf, -np.inf, np.nan, 1e30, -1e-40, 3e38]
    x = np.array([complex(a, b) for a in some for b in some for _ in some], dtype)
    y = np.array(some * len(some) ** 2, x.real.dtype)
    with np.errstate(all="ignore"):
        found, wanted = wg.function(lambda x, y: x / y)(x, y), x / y
    for part in ("real", "imag"):
        ours, theirs = getattr(found, part), getattr(wanted, part)
        np.testing.assert_array_equal(ours, theirs)
        is_told = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(ours[is_told]), np.signbit(theirs[is_told]))


def test_the_slope_of_an_angle_is_compiled_as_it_is_at_huge_and_endless_numbers() -> None:
    some = [0.0, 1.0, -2.0, 1e300, 1e-200, np.inf]
    z = np.array([complex(a, b) for a in some for b in some])
    slope = wg.grad(lambda z: wg.sum(np.angle(z)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.function(slope)(z), slope(z), 1e-14)
    np.testing.assert_allclose(slope(np.array([3 + 4j, 3e300 + 4e300j])), [-0.16 + 0.12j, -1.6e-301 + 1.2e-301j], 1e-14)
    assert slope(np.array([complex(np.inf, 1.0)]))[0] == 0  # where the plane is flat
