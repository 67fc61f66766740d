"""The plain-Python engine's array and kernels, against NumPy and SciPy."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import wengert._engines.python.array as pa
from wengert._core.conv_shape import ConvParams
from wengert._engines.numpy import threefry
from wengert._engines.numpy.conv import conv
from wengert._engines.python import dtypes
from wengert._engines.python.interop import from_numpy, to_numpy
from wengert._engines.python.kernels import KERNELS

ENGINE = Path(pa.__file__).parent

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def run(name, *arrays, **attributes):
    """A kernel on ndarrays, the result (or results) as ndarrays."""
    operands = [from_numpy(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x for x in arrays]
    out = KERNELS[name](*operands, **attributes)
    return tuple(map(to_numpy, out)) if isinstance(out, tuple) else to_numpy(out)


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
    if 0 not in shape[:-1]:  # an empty list says nothing of what it would hold
        assert pa.from_nested(x.tolist(), x.dtype).flat == there.flat


@pytest.mark.parametrize("values", [[[1, 2], [3]], [1, [2]], [[1], 2]])
def test_ragged_sequences_are_refused(values):
    with pytest.raises(ValueError, match="ragged"):
        pa.from_nested(values, dtypes.INT64)


def test_arrays_cannot_be_reassigned_or_misfilled():
    x = pa.full((2,), dtypes.FLOAT64, 1.5)
    with pytest.raises(AttributeError):
        x.shape = (1, 2)
    with pytest.raises(ValueError, match="do not fill"):
        pa.PyArray((3,), dtypes.FLOAT64, [1.0])


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
    want = (
        np.array(values).astype(np.float32).astype(dt) if dtype == "bfloat16" else np.array(values).astype(dt)
    )
    got = np.array([dtypes.rounder(dt)(v) for v in values])
    np.testing.assert_array_equal(got, want.astype(float))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want.astype(float)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_around(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1, info.max // 2 + 1], dtype)
    for name, fn in (("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply)):
        for other in ends:
            check(run(name, ends, np.full(5, other)), fn(ends, other))
    check(run("power", ends, np.full(5, 3, dtype)), ends ** np.array(3, dtype))
    check(run("negative", ends), -ends)
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


@pytest.mark.parametrize(
    "key", [(1, 4, 1), (None, None, -1), (4, 1, -2), (-3, None, 2), (3, 3, 1), (9, 12, 1)]
)
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
NUMPYS = """
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log1p log2
    log10 sqrt cbrt square reciprocal sign floor ceil trunc rint negative positive abs conj real imag angle
    isfinite isinf isnan signbit logical_not sinc deg2rad rad2deg
"""
UNARY = {name: getattr(np, name) for name in NUMPYS.split()} | {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "digamma": scipy.special.digamma,
    "lgamma": scipy.special.gammaln,
    "sigmoid": scipy.special.expit,
    "log_sigmoid": scipy.special.log_expit,
    "softplus": lambda x: np.logaddexp(x, 0),
}
BINARY = """
    add subtract multiply divide power floor_divide mod fmod arctan2 hypot logaddexp logaddexp2
    maximum minimum fmax fmin copysign nextafter heaviside equal not_equal
    less less_equal greater greater_equal logical_and logical_or logical_xor
"""
INTEGER = """
    add subtract multiply floor_divide mod fmod maximum minimum fmax fmin gcd lcm equal not_equal less
    less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
    left_shift right_shift
"""
COMPLEX_UNARY = """
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log1p log2
    log10 sqrt square reciprocal sign negative abs conj real imag angle isfinite isinf isnan
"""
COMPLEX_BINARY = "add subtract multiply divide power equal not_equal less greater_equal"


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name):
    x = SPECIAL
    if name in ("sin", "cos", "tan", "sinc", "digamma", "lgamma"):
        # Argument reduction at 1e300 and the reflection at large negative arguments are not compared.
        x = x[~(np.abs(x) > 1e200) | ~np.isfinite(x)]
    if name == "lgamma":
        x = x[x != -math.inf]
    got, want = run(name, x), UNARY[name](x)
    # SciPy's expit flushes subnormal results to zero.
    check(got, want, rtol=1e-13, atol={"sinc": 1e-15, "sigmoid": 1e-300}.get(name, 0))
    if want.dtype.kind == "f" and name not in ("angle", "digamma"):
        finite = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[finite], np.signbit(want)[finite])


@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "square", "floor", "abs", "cosh"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_floats_stay_narrow(name, dtype):
    x = SPECIAL[np.abs(SPECIAL) < 1e4].astype(dtype)
    check(run(name, x), getattr(np, name)(x), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two_floats(name):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    got, want = run(name, x, y), getattr(np, name)(x, y)
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
    check(run(name, x, y), getattr(np, name)(x, y))


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
    check(run(name, x, y), getattr(np, name)(x, y), rtol=1e-13)


def test_complex_functions_keep_their_width():
    z = data(5, dtype="complex64")
    check(run("exp", z), np.exp(z), rtol=1e-6)
    check(run("abs", z), np.abs(z), rtol=1e-6)
    check(run("complex", z.real, z.imag), z)


def test_integer_rounding_and_sign_do_not_pass_through_floats():
    x = np.array([2**62 + 1, -(2**62) - 1, 0])
    for name in ("floor", "abs", "sign", "square"):
        check(run(name, x), getattr(np, name)(x))


def test_gamma_family_and_erfinv():
    x = np.array([0.1, 0.9, 2.0, 7.7, 30.0, -0.5, -3.3])
    check(run("digamma", x), scipy.special.digamma(x), rtol=1e-12)
    for n in (0, 1, 2, 3):
        check(run("polygamma", x, n=n), scipy.special.polygamma(n, x), rtol=1e-11)
    y = np.array([0.0, 1e-12, 0.3, -0.7, 0.999, -1 + 1e-12, 1.0, -1.0, 1.5, math.nan])
    check(run("erfinv", y), scipy.special.erfinv(y), rtol=1e-12)


def test_operands_broadcast():
    x, y = data(3, 1), data(4)
    check(run("add", x, y), x + y)
    check(run("select", x > 0, x, y), np.where(x > 0, x, y))
    check(run("clip", x, np.array(-0.5), np.array(0.5)), np.clip(x, -0.5, 0.5))
    with pytest.raises(ValueError, match="do not fit"):
        run("add", data(3), data(4))


def test_negative_integer_powers_are_refused():
    with pytest.raises(ValueError, match="negative"):
        run("power", np.array([2]), np.array([-1]))


def test_bfloat16_values():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = data(20).astype(bfloat16)
    got = run("multiply", x, x)
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
    for name in ("argmax", "argmin", "argsort"):
        check(run(name, x, axis=1), getattr(np, name)(x, axis=1))


def test_half_precision_sums_are_rounded_once():
    assert run("reduce_sum", np.ones(4096, np.float16), axes=(0,)) == 4096


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumulation_and_sorting(axis):
    x = data(3, 5)
    x[1, 2] = math.nan
    x[2] = [1, 0, 1, 0, 1]
    check(run("cumsum", x, axis=axis), np.cumsum(x, axis), rtol=1e-13)
    check(run("cumprod", x, axis=axis), np.cumprod(x, axis), rtol=1e-13)
    check(run("cummax", x, axis=axis), np.maximum.accumulate(x, axis))
    check(run("cummin", x, axis=axis), np.minimum.accumulate(x, axis))
    check(
        run("cumsum", x, axis=axis, reverse=True),
        np.flip(np.cumsum(np.flip(x, axis), axis), axis),
        rtol=1e-13,
    )
    check(run("sort", x, axis=axis), np.sort(x, axis))
    check(run("argsort", x, axis=axis), np.argsort(x, axis, stable=True))
    empty = np.zeros((0, 3))
    check(run("cumsum", empty, axis=axis), empty)
    check(run("sort", empty, axis=axis), empty)


def test_searching():
    x, v = np.array([1.0, 2.0, 2.0, 5.0]), np.array([[0, 2], [5, 9.0]])
    for side in ("left", "right"):
        check(run("searchsorted", x, v, side=side), np.searchsorted(x, v, side))
    m = data(3, 4, dtype="bool")
    for got, want in zip(run("nonzero", m), np.nonzero(m), strict=True):
        check(got, want)
    check(run("compress", data(3, 4), m), data(3, 4)[m])


# Indexing and shape


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_and_its_update(axis):
    x, i = data(3, 4, 5), np.array([[0, 2], [-1, 2]])
    taken = np.take(x, i, axis)
    check(run("take", x, i, axis=axis), taken)
    want = np.moveaxis(x, axis, 0).copy()
    np.add.at(want, i, np.moveaxis(taken, (axis, axis + 1), (0, 1)))
    check(run("take_update", x, i, taken, axis=axis), np.moveaxis(want, 0, axis))
    with pytest.raises(IndexError, match="out of bounds"):
        run("take", x, np.array([7]), axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis_and_its_scatter(axis):
    x = data(3, 4)
    i = np.argsort(x, axis)
    check(run("take_along_axis", x, i, axis=axis), np.take_along_axis(x, i, axis))
    want = x.copy()
    np.put_along_axis(want, i, x * 2, axis)
    check(run("scatter_along_axis", x, i, x * 2, axis=axis, reduction="set"), want)
    one = np.take(i, [0], axis=axis)
    check(run("take_along_axis", x, one[:, :1] if axis == 0 else one[:1], axis=axis),
          np.take_along_axis(x, one[:, :1] if axis == 0 else one[:1], axis))  # fmt: skip


@pytest.mark.parametrize("k", [1, 2, 3])
def test_gather_and_scatter_rows(k):
    x, rng = data(3, 4, 5), np.random.default_rng(0)
    i = rng.integers(-3, 3, (2, 6, k))
    at = tuple(np.moveaxis(i, -1, 0))
    check(run("gather_nd", x, i), x[at])
    updates = rng.normal(size=x[at].shape)
    for reduction, fn in (
        ("add", np.add),
        ("multiply", np.multiply),
        ("max", np.maximum),
        ("min", np.minimum),
    ):
        want = x.copy()
        fn.at(want, at, updates)
        check(run("scatter_nd", x, i, updates, reduction=reduction), want, rtol=1e-13)


def test_slices_updates_and_padding():
    x, u = data(4, 6), data(2, 3, seed=1)
    want = x.copy()
    want[1:3, 0:6:2] = u
    check(run("slice_update", x, u, starts=(1, 0), steps=(1, 2)), want)
    check(run("dynamic_slice", x, np.array([3, -2]), sizes=(2, 3)), x[2:4, 0:3])
    want = x.copy()
    want[2:4, 3:6] += u
    check(run("dynamic_update_slice", x, u, np.array([9, 9]), reduction="add"), want)
    check(
        run("pad", x, 7.0, padding=((1, 2, 0), (0, 1, 0))), np.pad(x, ((1, 2), (0, 1)), constant_values=7.0)
    )
    want = np.zeros((4, 11))
    want[:, ::2] = x
    check(run("pad", x, 0.0, padding=((-1, 0, 0), (-1, -2, 1))), want[1:, 1:-2])


def test_joining_cutting_and_making():
    x, y = data(2, 3), data(2, 2, seed=1)
    joined = np.concatenate([x, y], 1)
    check(run("concatenate", x, y, axis=-1), joined)
    for got, want in zip(run("split", joined, sizes=(3, 2), axis=1), (x, y), strict=True):
        check(got, want)
    check(run("iota", (2, 3), np.dtype("int32"), 1), np.broadcast_to(np.arange(3, dtype="int32"), (2, 3)))
    check(
        run("one_hot", np.array([2, -1, 0]), 3, np.dtype("float32")),
        np.array([[0, 0, 1], [0] * 3, [1, 0, 0]], "f4"),
    )
    m = data(2, 3, 4)
    for offset in (-3, -1, 0, 2, 5):
        check(run("tril", m, offset=offset), np.tril(m, offset))
        check(run("triu", m, offset=offset), np.triu(m, offset))
    for offset in (-1, 0, 2):
        check(run("diagonal", m, offset=offset), np.diagonal(m, offset, -2, -1))


def test_random_kernels_agree_with_numpys():
    keys = np.array([[0, 1], [2, 3]], np.uint32)
    check(run("random_bits", keys, (3, 5)), threefry.random_bits(keys, (3, 5)))
    check(run("random_split", keys, 3), threefry.split(keys, 3))
    check(run("random_fold_in", keys, np.array([5, -1])), threefry.fold_in(keys, np.array([5, -1])))


# Linear algebra


MATMUL_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((2, 0), (0, 3)),
]


@pytest.mark.parametrize("shapes", MATMUL_SHAPES)
def test_matmul(shapes):
    x, y = data(*shapes[0]), data(*shapes[1], seed=1)
    check(run("matmul", x, y), x @ y, rtol=1e-12, atol=1e-14)


def test_dot_general():
    x, y = data(2, 3, 4, 5), data(5, 2, 6, 4, seed=1)
    got = run("dot_general", x, y, contract=((2, 3), (3, 0)), batch=((0,), (1,)))
    check(got, np.einsum("bmkl,lbnk->bmn", x, y), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_solvers(dtype):
    a, b = data(2, 4, 4, dtype=dtype), data(2, 4, 3, dtype=dtype, seed=1)
    spd = a @ a.conj().swapaxes(-1, -2) + np.eye(4)
    check(run("cholesky", spd), np.linalg.cholesky(spd), rtol=1e-11, atol=1e-13)
    check(run("solve", a, b), np.linalg.solve(a, b), rtol=1e-10)
    check(run("solve", a[0], b[0, :, 0]), np.linalg.solve(a[0], b[0, :, 0]), rtol=1e-10)
    check(run("inv", a), np.linalg.inv(a), rtol=1e-10)
    check(run("det", a), np.linalg.det(a), rtol=1e-11)
    for lower in (True, False):
        for trans, flags in (
            ("N", {}),
            ("T", {"transpose": True}),
            ("C", {"transpose": True, "conjugate": True}),
        ):
            for unit in (True, False):
                want = scipy.linalg.solve_triangular(a[0], b[0], trans=trans, lower=lower, unit_diagonal=unit)
                got = run("triangular_solve", a[0], b[0], lower=lower, unit_diagonal=unit, **flags)
                check(got, want, rtol=1e-10)


def test_matrices_without_a_factor_are_refused():
    with pytest.raises(ValueError, match="positive definite"):
        run("cholesky", np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="singular"):
        run("solve", np.ones((2, 2)), np.ones((2, 1)))
    check(run("det", np.ones((2, 2))), np.float64(0.0))


@pytest.mark.parametrize("params", [
    ConvParams((2, 1), ((1, 0), (-1, 2)), (1, 2), (1, 2), groups=2),
    ConvParams((1, 3), ((0, 2), (1, 1)), (2, 3), (2, 1), batch_groups=2),
])  # fmt: skip
def test_convolution_agrees_with_numpys(params):
    lhs, rhs = data(4, 4, 5, 6), data(6, 4 // params.groups, 2, 3, seed=1)
    check(run("conv", lhs, rhs, **params._asdict()), conv(lhs, rhs, *params), rtol=1e-12, atol=1e-13)


def test_the_small_kernels():
    check(run("full", (2, 3), np.dtype("float32"), 1.5), np.full((2, 3), 1.5, "float32"))
    check(run("shape", data(2, 0, 3)), np.array([2, 0, 3]))
    check(run("ldexp", np.array([1.5, -1.0]), np.array([3, 5000])), np.array([12.0, -math.inf]))
