"""The plain-Python engine's array and kernels, against NumPy and SciPy."""

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import tests.support.python_engine.array as pa
from tests.support.python_engine import PYTHON, dtypes, special_math
from tests.support.python_engine.interop import from_numpy, to_numpy
from wengert._core.conv_shape import ConvParams
from wengert._engines.numpy import NUMPY, threefry
from wengert._engines.numpy.conv import conv

ENGINE = Path(pa.__file__).parent

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def run(name, *arrays, **attributes):
    """A kernel on ndarrays, its attributes by name in their declared order; the result as an ndarray."""
    operands = [from_numpy(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x for x in arrays]
    out = PYTHON.kernels[name](*operands, *attributes.values())
    return to_numpy(out)


def check(got, want, rtol=2e-14, atol=0.0):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def data(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 9, shape).astype(dtype)
    if kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


# The array itself


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3), (2, 0), (0, 2), (2, 0, 3), (2, 3, 4)])
def test_nested_lists_and_ndarrays_round_trip(shape):
    x = data(*shape)
    there = from_numpy(x)
    assert there.shape == shape
    assert pa.to_nested(there) == x.tolist()
    check(to_numpy(there), x)


def test_arrays_cannot_be_reassigned_or_misfilled():
    x = pa.full((2,), dtypes.FLOAT64, 1.5)
    with pytest.raises(AttributeError):
        x.shape = (1, 2)
    with pytest.raises(ValueError, match="do not fill"):
        pa.PyArray((3,), dtypes.FLOAT64, [1.0])


def test_numpy_cannot_take_arrays_in_silence():
    x = from_numpy(data(3))
    for leak in (lambda: np.asarray(x), lambda: np.sin(x), lambda: np.ones(3) * x, lambda: np.where(True, x, x)):
        with pytest.raises(TypeError):
            leak()


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_rounding_is_the_dtypes(dtype):
    dt = np.dtype(pytest.importorskip("ml_dtypes").bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    rng = np.random.default_rng(0)
    values = [
        *rng.normal(size=300),
        *(10.0 ** rng.uniform(-50, 50, 300)),
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
    ]
    values += [65504.0, 65519.9, 65520.0, 3.4028235e38, 3.4028236e38, -1e39, 1 + 2**-8, 1 + 2**-9 + 2**-8]
    want = np.array(values).astype(np.float32).astype(dt) if dtype == "bfloat16" else np.array(values).astype(dt)
    got = np.array([dtypes.rounder(dt)(v) for v in values])
    np.testing.assert_array_equal(got, want.astype(float))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want.astype(float)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_around(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1, info.max // 2 + 1], dtype)
    for name, fn in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        for other in ends:
            check(run(name, ends, np.full(5, other)), fn(ends, other))
    check(run("power", ends, np.full(5, 3, dtype)), ends ** np.array(3, dtype))
    check(run("neg", ends), -ends)
    check(run("bitwise_not", ends), ~ends)


def test_conversion_truncates_wraps_and_drops_the_imaginary_part():
    x = np.array([2.9, -2.9, 0.0, 100.5])
    for dtype in ("int32", "int8", "bool", "float32", "complex64"):
        check(run("convert", x, dtype=np.dtype(dtype)), x.astype(dtype))
    check(run("convert", np.array([1 + 2j]), dtype=np.dtype("float32")), np.array([1], "float32"))
    check(run("convert", np.array([300, -1]), dtype=np.dtype("uint8")), np.array([44, 255], "uint8"))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 1, 3), (3, 0, 2)])
def test_index_arithmetic(shape):
    x = data(*shape)
    assert pa.strides(shape) == tuple(np.empty(shape, "int8").strides) or 0 in shape
    assert list(pa.indices(shape)) == list(np.ndindex(*shape))
    perm = tuple(reversed(range(len(shape))))
    check(run("transpose", x, perm), x.transpose(perm))
    check(run("flip", x, perm), np.flip(x, perm))
    check(run("broadcast_to", x, (5, 2, *shape)), np.broadcast_to(x, (5, 2, *shape)))
    check(run("reshape", x, (1, *shape)), x[None])


@pytest.mark.parametrize("key", [(1, 4, 1), (None, None, -1), (4, 1, -2), (-3, None, 2), (3, 3, 1), (9, 12, 1)])
def test_slices_follow_python(key):
    x = data(3, 6)
    got = run("slice", x, starts=(None, key[0]), stops=(None, key[1]), steps=(1, key[2]))
    check(got, x[:, slice(*key)])


def test_no_values_pass_through_numpy():
    """NumPy is imported in two files: for dtype objects, and at the border."""
    for path in ENGINE.glob("*.py"):
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert ("numpy" in imported) == (path.name in ("dtypes.py", "interop.py")), path.name
        assert path.name == "interop.py" or not re.search(r"from numpy", path.read_text()), path.name
    used = {
        node.attr
        for node in ast.walk(ast.parse((ENGINE / "dtypes.py").read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    }
    assert used == {"dtype"}


# Elementwise

SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        -3.0,
        1e-9,
        30.0,
        -30.0,
        720.0,
        -720.0,
        1e300,
        -1e300,
    ]
    + [math.inf, -math.inf, math.nan, *np.random.default_rng(3).normal(size=20) * 2]
)
NUMPYS_OWN = """
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log1p log2 log10 sqrt
    cbrt square reciprocal sign floor ceil trunc rint abs conj isfinite isinf isnan signbit
"""
UNARY = {name: getattr(np, name) for name in NUMPYS_OWN.split()} | {
    "neg": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "relu": lambda x: np.maximum(x, 0),
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfcx": scipy.special.erfcx,
    "normal_hazard": lambda x: np.sqrt(2 / np.pi) / scipy.special.erfcx(-x / np.sqrt(2)),
    "erfinv": scipy.special.erfinv,
    "ndtr": scipy.special.ndtr,
    "ndtri": scipy.special.ndtri,
    "log_ndtr": scipy.special.log_ndtr,
    "digamma": scipy.special.digamma,
    "gamma": scipy.special.gamma,
    "lgamma": scipy.special.gammaln,
    "i0": scipy.special.i0,
    "i1": scipy.special.i1,
    "i0e": scipy.special.i0e,
    "i1e": scipy.special.i1e,
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
}  # fmt: skip
NUMPYS = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "bitwise_not": "invert",
}  # fmt: skip
BINARY = """
    add sub mul div power floor_divide mod fmod arctan2 hypot logaddexp logaddexp2 maximum minimum fmax fmin copysign
    heaviside eq ne lt le gt ge
"""
INTEGER = """
    add sub mul floor_divide mod fmod maximum minimum fmax fmin eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor
    left_shift right_shift
"""
BOOLEAN = "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor add mul eq lt ge"
COMPLEX_UNARY = """
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log1p log2 log10 sqrt
    square reciprocal abs conj real imag angle isfinite isinf isnan
"""
COMPLEX_BINARY = "add sub mul div power eq ne lt ge"


def numpys(name):
    return getattr(np, NUMPYS.get(name, name))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name):
    x = SPECIAL
    if name in ("sin", "cos", "tan", "digamma", "gamma", "lgamma"):
        # Argument reduction at 1e300 and the reflection at large negative arguments are not compared.
        x = x[~(np.abs(x) > 1e200) | ~np.isfinite(x)]
    if name in ("lgamma", "gamma"):
        x = x[x != -math.inf]
    if name in ("i0", "i1"):
        x = x[~(np.abs(x) > 700) | np.isnan(x)]
    got, want = run(name, x), UNARY[name](x)
    # SciPy's expit flushes subnormal results to zero.
    check(got, want, rtol=1e-12 if hasattr(scipy.special, name) else 1e-13, atol={"sigmoid": 1e-300}.get(name, 0))
    if want.dtype.kind == "f" and name not in ("digamma", "gamma", "relu", "erfinv"):
        finite = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[finite], np.signbit(want)[finite])


def test_every_kernel_that_takes_floats_alone_is_compared_here():
    assert set(special_math.FUNCTIONS) <= set(UNARY)


TAILS = np.concatenate([10.0 ** np.linspace(-300, 3, 60), [0.3, 1.7, 2.5, 4.9, 12.3, 26.5, 37.0]])


@pytest.mark.parametrize("name", ["erfcx", "ndtr", "log_ndtr", "i0e", "i1e", "erf", "erfc", "lgamma", "digamma"])
def test_special_functions_near_zero_and_far_away(name):
    x = TAILS if "gamma" in name else np.concatenate([TAILS, -TAILS])
    # both sides are at the end of the doubles' range, where few digits are left
    check(run(name, x), UNARY[name](x), rtol=2e-12, atol=1e-300 if "gamma" not in name else 1e-14)


def test_quantiles_in_the_tails():
    p = np.concatenate([[5e-324, 1e-310], 10.0 ** np.linspace(-300, -0.01, 80), 1 - 10.0 ** np.linspace(-15, -1, 20)])
    check(run("ndtri", p), scipy.special.ndtri(p), rtol=1e-12)
    check(run("erfinv", p[2:]), scipy.special.erfinv(p[2:]), rtol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 5, 40])
def test_bessel_functions_of_every_order(order):
    x = np.concatenate([-TAILS[::4], TAILS, [300.0, 2e4, 1e6, 0.0, -0.0, math.nan]])
    check(run("ive", x, order=order), scipy.special.ive(order, x), rtol=1e-11, atol=1e-140)
    inside = x[np.abs(x) < 600]
    check(run("iv", inside, order=order), scipy.special.iv(order, inside), rtol=1e-11, atol=1e-140)


def test_bessel_functions_beyond_scipys_range():
    check(run("ive", np.array([1e12, math.inf]), order=3), np.array([1 / math.sqrt(2e12 * math.pi), 0.0]), rtol=1e-11)
    check(run("iv", np.array([1e4, -1e4]), order=1), np.array([math.inf, -math.inf]))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_derivatives_of_sinc(order):
    x = np.concatenate([SPECIAL[np.abs(SPECIAL) < 40], np.linspace(-3, 3, 41)])
    want = NUMPY.kernels["sinc"](x, order)
    check(run("sinc", x, order=order), want, rtol=1e-11, atol=1e-12 * math.pi**order)
    z = data(20, dtype="complex128")
    check(run("sinc", z, order=order), NUMPY.kernels["sinc"](z, order), rtol=1e-10, atol=1e-12 * math.pi**order)


@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "square", "floor", "abs", "cosh"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_floats_stay_narrow(name, dtype):
    x = SPECIAL[np.abs(SPECIAL) < 1e4].astype(dtype)
    check(run(name, x), getattr(np, name)(x), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two_floats(name):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    got, want = run(name, x, y), numpys(name)(x, y)
    # NumPy leaves open what hypot and power do in the last place, and which NaN or zero maximum returns.
    check(got, want, rtol=1e-13, atol=1e-300 if name.startswith("logaddexp") else 0)


@pytest.mark.parametrize("name", INTEGER.split())
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_functions_of_two_integers(name, dtype):
    x, y = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(20)))
    if dtype == "int32":
        x = x - 10
        y = y if "shift" in name else y - 10
    x, y = x.astype(dtype), y.astype(dtype)
    check(run(name, x, y), numpys(name)(x, y))


@pytest.mark.parametrize("name", BOOLEAN.split())
def test_functions_of_two_bools(name):
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    check(run(name, x, y), numpys(name)(x, y))


def test_shifts_beyond_the_width():
    x, y = np.array([1, -1, 5], "int32"), np.array([40, 40, 32], "int32")
    check(run("left_shift", x, y), np.left_shift(x, y))
    check(run("right_shift", x, y), np.right_shift(x, y))


@pytest.mark.parametrize("name", COMPLEX_UNARY.split())
def test_functions_of_one_complex(name):
    z = np.concatenate([data(40, dtype="complex128"), [0j, 1 + 0j, -1 + 0j, 1j, -2 + 1e-9j, 1e-9 + 1e-9j]])
    if name in ("log1p", "arctanh", "arctan", "reciprocal"):
        z = z[(z != 0) & (np.abs(z.imag) != 1) & (np.abs(z.real) != 1)]  # infinities whose phase is nobody's
    check(run(name, z), getattr(np, name)(z), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", COMPLEX_BINARY.split())
def test_functions_of_two_complex(name):
    x, y = data(30, dtype="complex128"), data(30, dtype="complex128", seed=1)
    y[:3] = x[:3]
    check(run(name, x, y), numpys(name)(x, y), rtol=1e-13)


def test_complex_functions_keep_their_width():
    z = data(5, dtype="complex64")
    check(run("exp", z), np.exp(z), rtol=1e-6)
    check(run("abs", z), np.abs(z), rtol=1e-6)
    check(run("as_complex", z.real, z.imag), z)


def test_integers_do_not_pass_through_floats():
    x = np.array([2**62 + 1, -(2**62) - 1, 0])
    for name in ("abs", "sign", "square"):
        check(run(name, x), getattr(np, name)(x))


def test_polygamma_at_both_sides_of_zero():
    x = np.array([0.1, 0.9, 2.0, 7.7, 30.0, -0.5, -3.3])
    check(run("digamma", x), scipy.special.digamma(x), rtol=1e-12)
    for n in (0, 1, 2, 3):
        check(run("polygamma", x, order=n), scipy.special.polygamma(n, x), rtol=1e-11)


def test_numbers_are_rounded_to_the_dtype_first():
    x = data(5, dtype="float32")
    for name in ("times_number", "add_number", "power_number"):
        check(run(name, np.abs(x), number=0.1), NUMPY.kernels[name](np.abs(x), 0.1), rtol=1e-6)
    check(run("times_number", np.arange(5), number=3), np.arange(5) * 3)
    check(run("power_number", np.arange(5), number=2), np.arange(5) ** 2)


def test_scale_keeps_zeros():
    x, y = np.array([0.0, 0.0, 2.0, 0.0]), np.array([math.inf, math.nan, math.inf, 3.0])
    check(run("scale", x, y), np.array([0.0, 0.0, math.inf, 0.0]))


def test_logarithms_times_zero():
    x, y = np.array([0.0, 0.0, 2.0, 0.0]), np.array([0.0, math.nan, 0.0, -1.0])
    for name in ("xlogy", "xlog1py"):
        check(run(name, x, y), getattr(scipy.special, name)(x, y))


def test_operands_are_strict():
    x = data(3, 1)
    for name in ("add", "eq", "maximum", "scale", "xlogy"):
        with pytest.raises(ValueError, match="wanted equal ones"):
            run(name, x, data(4))
    for name in ("select", "clip"):
        with pytest.raises(ValueError, match="wanted equal ones"):
            run(name, x > 0, x, data(4))
    with pytest.raises(ValueError, match="wanted equal ones"):
        run("segmented_cumsum", x, x[:2] > 0, axis=0, reverse=False)
    with pytest.raises(ValueError, match="fit together"):
        run("matmul", data(2, 2, 3), data(3, 2))
    with pytest.raises(ValueError, match="fit together"):
        run("solve", data(2, 2), data(3, 1))


def test_negative_integer_powers_are_refused():
    with pytest.raises(ValueError, match="negative"):
        run("power", np.array([2]), np.array([-1]))


def test_bfloat16_values():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = data(20).astype(bfloat16)
    got = run("mul", x, x)
    assert got.dtype == np.dtype(bfloat16)
    np.testing.assert_array_equal(got.astype(float), (x * x).astype(float))


# Reductions, cumulation, sorting


@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "complex128", "bool"])
def test_reductions(axes, dtype):
    x = data(2, 3, 4, dtype=dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for name, fn in (("any", np.any), ("all", np.all), ("max", np.max), ("min", np.min)):
        check(run(f"reduce_{name}", x, axes=axes), fn(x, axis=axes))
    if dtype != "bool":
        check(run("reduce_sum", x, axes=axes), np.sum(x, axis=axes, dtype=dtype), rtol=tolerance)
        check(run("reduce_prod", x, axes=axes), np.prod(x, axis=axes, dtype=dtype), rtol=tolerance)


def test_reductions_of_nothing_and_of_nan():
    empty = np.zeros((2, 0, 3))
    check(run("reduce_sum", empty, axes=(1,)), np.zeros((2, 3)))
    check(run("reduce_prod", empty, axes=(1,)), np.ones((2, 3)))
    check(run("reduce_max", empty, axes=(0,)), empty[0])
    with pytest.raises(ValueError, match="empty"):
        run("reduce_max", empty, axes=(1,))
    with pytest.raises(ValueError, match="empty"):
        run("argmin", empty, axis=1)
    x = np.array([[1, math.nan, 5], [2, 2, 1]])
    for name, fn in (("reduce_max", np.max), ("reduce_min", np.min)):
        check(run(name, x, axes=(1,)), fn(x, axis=1))
    for name in ("argmax", "argmin"):
        check(run(name, x, axis=1), getattr(np, name)(x, axis=1))


def test_half_precision_sums_are_rounded_once():
    assert run("reduce_sum", np.ones(4096, np.float16), axes=(0,)) == 4096


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulation(axis, reverse):
    x = data(3, 5)
    x[1, 2] = math.nan
    x[2] = [1, 0, 1, 0, 1]
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        want = NUMPY.kernels[name](x, axis, reverse)
        check(run(name, x, axis=axis, reverse=reverse), want, rtol=1e-13)
        check(run(name, np.zeros((0, 3)), axis=axis, reverse=reverse), np.zeros((0, 3)))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrences_start_afresh_even_after_an_infinity(axis, reverse):
    a, b = data(4, 5), data(4, 5, seed=1)
    a[2, 3], b[1, 1], b[0, 3] = 0, math.inf, math.nan
    a[:, 2] = 0
    for name, factors in (("linear_recurrence", (a, b)), ("segmented_cumsum", (b, a == 0))):
        want = NUMPY.kernels[name](*factors, axis, reverse)
        check(run(name, *factors, axis=axis, reverse=reverse), want, rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(axis, descending):
    x = np.array([[2.0, math.nan, -0.0, 0.0, 2.0], [1.0, 5.0, math.nan, math.nan, 1.0], [2.0, 5.0, 0.0, -1.0, 2.0]])
    order = NUMPY.kernels["argsort"](x, axis, descending)
    check(run("argsort", x, axis=axis, descending=descending), order)
    check(run("sort", x, axis=axis, descending=descending), np.take_along_axis(x, order, axis))
    check(run("permute_along", x, order - x.shape[axis], axis=axis), np.take_along_axis(x, order, axis))


def test_sums_of_exponentials_at_infinities():
    x = np.array([[1000.0, 999.0, -1000.0], [-math.inf, -math.inf, 0.0], [math.inf, 0.0, 1.0], [math.nan, 0.0, 1.0]])
    check(run("logsumexp", x, axes=(1,)), NUMPY.kernels["logsumexp"](x, (1,)), rtol=1e-14)
    check(run("logsumexp", np.full((2, 2), -math.inf), axes=(0, 1)), np.float64(-math.inf))
    check(run("logsumexp", np.zeros((2, 0)), axes=(1,)), np.full(2, -math.inf))
    for name in ("softmax", "log_softmax"):
        check(run(name, x, axis=1), NUMPY.kernels[name](x, 1), rtol=1e-13)
        check(run(name, np.zeros((2, 0)), axis=1), np.zeros((2, 0)))


# Indexing and shape


@pytest.mark.parametrize("k", [1, 2, 3])
def test_gather_and_scatter_rows(k):
    x, rng = data(3, 4, 5), np.random.default_rng(0)
    at = tuple(rng.integers(-3, 3, (2, 6)) for _ in range(k))
    check(run("gather", x, *at), x[at])
    updates = rng.normal(size=x[at].shape)
    for name, fn in (("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)):
        want = x.copy()
        fn.at(want, at, updates)
        check(run(f"scatter_{name}", x, updates, *at), want, rtol=1e-13)
    with pytest.raises(IndexError, match="index 7 is out of bounds for an axis of extent 3"):
        run("gather", x, *([np.array(7)] * k))


def test_of_updates_to_one_place_the_last_wins():
    check(run("scatter_set", np.zeros(3), np.arange(1.0, 5), np.array([0, 2, -1, 0])), np.array([4.0, 0.0, 3.0]))


def test_slices_and_padding():
    x = data(4, 6)
    check(run("slice", x, starts=(1, 0), limits=(4, 6), strides=(1, 4)), x[1:4, 0:6:4])
    check(run("pad", x, low=(1, 0), high=(2, 1), interior=(0, 0)), np.pad(x, ((1, 2), (0, 1))))
    want = np.zeros((4, 11))
    want[:, ::2] = x
    check(run("pad", x, low=(-1, -1), high=(0, -2), interior=(0, 1)), want[1:, 1:-2])


def test_joining_and_making():
    x, y = data(2, 3), data(2, 2, seed=1)
    check(run("concatenate", x, y, axis=1), np.concatenate([x, y], 1))
    check(run("iota", size=3, dtype=np.dtype("int32")), np.arange(3, dtype="int32"))
    check(run("full", shape=(2, 3), value=1.5, dtype=np.dtype("float32")), np.full((2, 3), 1.5, "float32"))
    check(run("dim_value", dim=7), np.int64(7))
    # an attribute is an ndarray here, not an operand
    check(to_numpy(PYTHON.kernels["constant"](x)), x)
    m = data(2, 3, 4)
    for k in (-3, -1, 0, 2, 5):
        check(run("tril", m, k=k), np.tril(m, k))
        check(run("triu", m, k=k), np.triu(m, k))
    check(run("diagonal", m[..., :3]), np.diagonal(m[..., :3], 0, -2, -1))
    check(run("make_diagonal", x), np.stack([np.diag(row) for row in x]))


def test_random_kernels_agree_with_numpys():
    keys = np.array([[0, 1], [2, 3]], np.uint32)
    check(run("random_bits", keys, shape=(3, 5)), threefry.random_bits(keys, (3, 5)))
    check(run("random_split", keys, count=3), threefry.split(keys, 3))
    check(run("random_fold_in", keys, np.array([5, -1])), threefry.fold_in(keys, np.array([5, -1])))


# Linear algebra


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3))])
def test_matmul(shapes):
    x, y = data(*shapes[0]), data(*shapes[1], seed=1)
    check(run("matmul", x, y), x @ y, rtol=1e-12, atol=1e-14)


def test_einsum():
    x, y = data(2, 3, 4, 5), data(5, 2, 6, 4, seed=1)
    got = run("einsum", x, y, labels=("bmkl", "lbnk"), out="nbm")
    check(got, np.einsum("bmkl,lbnk->nbm", x, y), rtol=1e-12)
    check(run("einsum", data(2, 0), data(0, 3), labels=("ij", "jk"), out="ik"), np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_solvers(dtype):
    a, b = data(2, 4, 4, dtype=dtype), data(2, 4, 3, dtype=dtype, seed=1)
    spd = a @ a.conj().swapaxes(-1, -2) + np.eye(4)
    check(run("cholesky", spd), np.linalg.cholesky(spd), rtol=1e-11, atol=1e-13)
    check(run("solve", a, b), np.linalg.solve(a, b), rtol=1e-10)
    check(run("inv", a), np.linalg.inv(a), rtol=1e-10)
    for lower in (True, False):
        for trans in (0, 1, 2):
            for unit in (True, False):
                want = scipy.linalg.solve_triangular(a[0], b[0], trans=trans, lower=lower, unit_diagonal=unit)
                got = run("triangular_solve", a[0], b[0], lower=lower, trans=trans, unit_diagonal=unit)
                check(got, want, rtol=1e-10)


def test_matrices_without_a_factor_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        run("cholesky", np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        run("solve", np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        run("triangular_solve", np.zeros((2, 2)), np.ones((2, 1)), lower=True, trans=0, unit_diagonal=False)


@pytest.mark.parametrize("params", [
    ConvParams((2, 1), ((1, 0), (-1, 2)), (1, 2), (1, 2), groups=2),
    ConvParams((1, 3), ((0, 2), (1, 1)), (2, 3), (2, 1), batch_groups=2),
])  # fmt: skip
def test_convolution_agrees_with_numpys(params):
    lhs, rhs = data(4, 4, 5, 6), data(6, 4 // params.groups, 2, 3, seed=1)
    check(run("conv", lhs, rhs, **params._asdict()), conv(lhs, rhs, *params), rtol=1e-12, atol=1e-13)
