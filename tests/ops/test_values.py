"""The vocabulary against NumPy: values, shapes and dtypes, table by table."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
import wengert._engines.numpy  # registers the engine
import wengert.ops as ops
from wengert._core.constant import constant
from wengert._core.tensor import Tensor

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(3, 4))
SMALL = RNG.normal(size=(2, 3)).astype(np.float32)
CUBE = RNG.normal(size=(2, 3, 4))
INTS = RNG.integers(-5, 6, (3, 4)).astype(np.int8)
FLAGS = RNG.random((3, 4)) < 0.5
COMPLEX = RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))
HALF = RNG.normal(size=(3, 4)).astype(np.float16)
VECTOR = RNG.normal(size=5)


def same(actual, expected, tolerance=1e-12):
    """One result, or a sequence of them, with NumPy's shape and dtype and values."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(actual, (list, tuple))
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            same(a, e, tolerance)
        return
    expected = np.asarray(expected)
    actual_array = np.asarray(actual)
    assert actual_array.dtype == expected.dtype
    assert actual_array.shape == expected.shape
    if expected.dtype.kind in "fc":
        loose = {2: 2e-3, 4: 2e-6}.get(expected.dtype.itemsize if expected.dtype.kind == "f" else 8, tolerance)
        np.testing.assert_allclose(actual_array, expected, rtol=loose, atol=loose)
    else:
        np.testing.assert_array_equal(actual_array, expected)


def both_kinds(ours, theirs, args, kwargs):
    """NumPy in gives NumPy, tensors in give tensors; the values are NumPy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs(*args, **kwargs)
        result = ours(*args, **kwargs)
        same(result, expected)
        assert not any(isinstance(r, Tensor) for r in (result if isinstance(result, (list, tuple)) else [result]))
        tensors = [_tensors(a) for a in args]
        result = ours(*tensors, **kwargs)
        assert all(isinstance(r, Tensor) for r in (result if isinstance(result, (list, tuple)) else [result]))
        same(_arrays(result), expected)


def _tensors(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return constant(value)
    if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
        return [_tensors(v) for v in value]
    return value


def _arrays(value):
    return [_arrays(v) for v in value] if isinstance(value, (list, tuple)) else value.numpy()


def names(table):
    return [f"{row[0]}-{i}" for i, row in enumerate(table)]


ARRAYS = (MATRIX, SMALL, CUBE, INTS, FLAGS, HALF, np.float64(1.5), np.zeros((0, 3)), INTS.astype(np.uint16))
AXES = (None, 0, -1, (0, 1))

REDUCTIONS = [
    (name, (x,), {"axis": axis, "keepdims": keep})
    for name in ("sum", "prod", "mean", "var", "std", "any", "all", "max", "min")
    for x in ARRAYS
    for axis in AXES
    for keep in (False, True)
    if x.ndim > (1 if axis == (0, 1) else 0) or axis is None
    if name not in ("max", "min") or x.size
] + [
    ("sum", (COMPLEX,), {"axis": 0}), ("mean", (COMPLEX,), {}), ("var", (COMPLEX,), {"axis": 1}),
    ("std", (COMPLEX,), {}), ("prod", (COMPLEX,), {}),
    ("sum", (MATRIX,), {"axis": ()}), ("max", (MATRIX,), {"axis": ()}),
    ("sum", (INTS,), {"dtype": np.float32}), ("sum", (MATRIX,), {"initial": 2.0, "where": FLAGS}),
    ("sum", (MATRIX,), {"where": np.array([True, False, True, True]), "axis": 0}),
    ("prod", (MATRIX,), {"initial": 2.0, "where": FLAGS, "axis": 1}), ("prod", (INTS,), {"dtype": np.int16}),
    ("max", (MATRIX,), {"initial": 0.5, "axis": 1}), ("min", (MATRIX,), {"initial": 0.5, "where": FLAGS, "axis": 0}),
    ("max", (MATRIX,), {"initial": 0.5, "axis": 1, "keepdims": True}),
    ("max", (np.zeros((0, 3)),), {"initial": 1.0, "axis": 0}), ("max", (INTS,), {"initial": 100}),
    ("max", (CUBE,), {"initial": 0.1, "axis": (0, 2)}),
    ("max", (np.array([1.0, np.nan, 2.0]),), {}), ("min", (np.array([np.nan, -np.inf]),), {}),
    ("mean", (MATRIX,), {"where": FLAGS}), ("var", (MATRIX,), {"where": FLAGS, "axis": 0, "ddof": 1}),
    ("std", (MATRIX,), {"ddof": 1}), ("var", (MATRIX,), {"ddof": 5, "axis": 1}),
    ("mean", (INTS,), {"dtype": np.float32}),
    ("any", (MATRIX,), {"where": FLAGS}), ("all", (INTS,), {"where": FLAGS, "axis": 0}),
    ("std", (np.full(3, 2.0),), {}),
    *[("argmax", (x,), {"axis": a}) for x in (MATRIX, INTS, FLAGS, CUBE) for a in (None, 0, -1)],
    ("argmin", (MATRIX,), {"axis": 1, "keepdims": True}), ("argmin", (MATRIX,), {"keepdims": True}),
    ("argmax", (np.array([1.0, np.nan, 2.0]),), {}),
    ("count_nonzero", (INTS,), {"axis": 0}), ("count_nonzero", (FLAGS,), {}),
    ("ptp", (MATRIX,), {"axis": 0}), ("ptp", (INTS,), {}),
    ("average", (MATRIX,), {}), ("average", (MATRIX,), {"axis": 1, "weights": np.arange(4.0)}),
    ("average", (MATRIX,), {"weights": np.abs(MATRIX)}), ("average", (INTS,), {"axis": 0, "weights": np.arange(3)}),
    ("average", (CUBE,), {"axis": (0, 2), "weights": np.abs(CUBE[:, 0, :])}),
    ("average", (MATRIX,), {"axis": 1, "weights": np.arange(4.0), "returned": True}),
    ("average", (MATRIX,), {"axis": 1, "returned": True}),
    *[(f, (x,), {"axis": a})
      for f in ("cumsum", "cumprod") for x in (MATRIX, INTS, FLAGS, HALF) for a in (None, 0, -1)],
    ("cumsum", (INTS,), {"axis": 0, "dtype": np.float32}),
    ("diff", (MATRIX,), {}), ("diff", (MATRIX,), {"n": 2, "axis": 0}), ("diff", (FLAGS,), {}),
    ("diff", (VECTOR,), {"n": 7}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), REDUCTIONS, ids=names(REDUCTIONS))
def test_reductions_are_numpys(name, args, kwargs):
    both_kinds(getattr(ops, name), getattr(np, name), args, kwargs)


SHAPES = [
    ("reshape", (MATRIX, (2, -1)), {}), ("reshape", (MATRIX, -1), {}), ("reshape", (MATRIX, (4, 3)), {}),
    ("reshape", (np.zeros((0, 3)), (3, 0)), {}), ("ravel", (CUBE,), {}), ("ravel", (np.float64(1.0),), {}),
    ("transpose", (CUBE,), {}), ("transpose", (CUBE, (1, 2, 0)), {}), ("transpose", (CUBE, (-1, 0, 1)), {}),
    ("swapaxes", (CUBE, 0, -1), {}), ("moveaxis", (CUBE, 0, -1), {}), ("moveaxis", (CUBE, (0, 1), (2, 0)), {}),
    ("moveaxis", (CUBE, [0, 1], [-1, -2]), {}), ("moveaxis", (CUBE, range(2), range(1, 3)), {}), ("rollaxis", (CUBE, 2), {}), ("rollaxis", (CUBE, 0, 3), {}),
    ("expand_dims", (MATRIX, 1), {}), ("expand_dims", (MATRIX, (0, -1)), {}),
    ("squeeze", (MATRIX[:1, :, None],), {}), ("squeeze", (MATRIX[:1, :, None], -1), {}),
    ("broadcast_to", (VECTOR, (2, 5)), {}), ("broadcast_to", (np.float64(2.0), (2, 3)), {}),
    ("flip", (CUBE,), {}), ("flip", (CUBE, 1), {}), ("flip", (CUBE, (0, 2)), {}), ("fliplr", (MATRIX,), {}),
    ("flipud", (MATRIX,), {}), *[("rot90", (CUBE, k, axes), {}) for k in (-1, 0, 1, 2, 3) for axes in ((0, 1), (2, 1))],
    *[("roll", (MATRIX, s), {"axis": a}) for s in (0, 1, -1, 5, -13) for a in (None, 0, 1)],
    ("roll", (MATRIX, (1, -2)), {"axis": (0, 1)}), ("roll", (MATRIX, 2), {"axis": (0, 1)}),
    ("roll", (np.zeros(0), 2), {}),
    ("tile", (VECTOR, 2), {}), ("tile", (MATRIX, (2, 1, 3)), {}), ("tile", (CUBE, (2,)), {}), ("tile", (VECTOR, 0), {}),
    ("repeat", (MATRIX, 2), {}), ("repeat", (MATRIX, 3), {"axis": 1}), ("repeat", (MATRIX, [1, 0, 2]), {"axis": 0}),
    ("repeat", (MATRIX, [2]), {"axis": -1}),
    ("concatenate", ([MATRIX, INTS],), {}), ("concatenate", ([MATRIX, MATRIX],), {"axis": -1}),
    ("concatenate", ([SMALL, INTS],), {"axis": None}), ("append", (VECTOR, MATRIX), {}),
    ("append", (MATRIX, MATRIX[:1]), {"axis": 0}), ("stack", ([VECTOR, VECTOR],), {}),
    ("stack", ([MATRIX, INTS, FLAGS],), {"axis": -1}), ("hstack", ([VECTOR, VECTOR],), {}),
    ("hstack", ([MATRIX, INTS],), {}),
    ("vstack", ([VECTOR, VECTOR],), {}), ("vstack", ([MATRIX, INTS],), {}), ("dstack", ([VECTOR, VECTOR],), {}),
    ("dstack", ([MATRIX, MATRIX],), {}), ("column_stack", ([VECTOR, VECTOR],), {}),
    ("split", (CUBE, 2), {"axis": 2}), ("split", (VECTOR, [1, 3]), {}), ("split", (VECTOR, [3, 1, 9]), {}),
    ("array_split", (VECTOR, 3), {}), ("hsplit", (MATRIX, 2), {}), ("vsplit", (MATRIX, 3), {}),
    ("dsplit", (CUBE, 2), {}),
    ("unstack", (CUBE,), {"axis": 1}), ("meshgrid", (VECTOR, VECTOR[:2]), {}),
    ("meshgrid", (VECTOR, VECTOR[:2], VECTOR[:3]), {"indexing": "ij"}),
    ("broadcast_arrays", (VECTOR, MATRIX[:, :1]), {}),
    ("pad", (MATRIX, 1), {}), ("pad", (MATRIX, ((1, 2), (0, 3))), {"constant_values": 2.5}),
    ("pad", (MATRIX, (2, 1)), {"constant_values": ((1, 2), (3, 4))}), ("pad", (INTS, (1, 0)), {"constant_values": 3}),
    *[("pad", (VECTOR, (3, 2)), {"mode": m}) for m in ("edge", "reflect", "symmetric", "wrap")],
    ("pad", (MATRIX, ((1, 2), (7, 0))), {"mode": "reflect"}), ("pad", (MATRIX, {0: 1}), {}),
    *[(f, (CUBE, k), {}) for f in ("tril", "triu") for k in (-1, 0, 2)], ("tril", (VECTOR,), {}), ("triu", (INTS,), {}),
    *[("diagonal", (CUBE,), {"offset": k, "axis1": a, "axis2": b}) for k in (-2, 0, 1) for a, b in ((0, 1), (2, 0))],
    ("trace", (CUBE,), {"offset": 1}), ("trace", (INTS,), {}), ("trace", (INTS.astype(np.int16),), {"offset": -1}),
    *[("diag", (VECTOR, k), {}) for k in (-2, 0, 3)], ("diag", (MATRIX, 1), {}), ("diagflat", (MATRIX, -1), {}),
    ("atleast_1d", (np.float64(2.0),), {}), ("atleast_2d", (VECTOR,), {}), ("atleast_3d", (VECTOR,), {}),
    ("atleast_3d", (MATRIX,), {}), ("matrix_transpose", (CUBE,), {}), ("copy", (MATRIX,), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), SHAPES, ids=names(SHAPES))
def test_shapes_are_numpys(name, args, kwargs):
    both_kinds(getattr(ops, name), getattr(np, name), args, kwargs)


CREATION = [
    ("zeros", (3,), {}), ("zeros", ((2, 3), "int8"), {}), ("ones", ((2, 0),), {}), ("ones", (2, np.complex64), {}),
    ("full", ((2, 2), 7), {}), ("full", (3, 1.5), {"dtype": np.float32}), ("full", ((), True), {}),
    ("eye", (3,), {}), ("eye", (2, 4), {"k": 1}), ("eye", (4, 2), {"k": -1, "dtype": np.int32}), ("identity", (3,), {}),
    ("tri", (3,), {}), ("tri", (2, 4), {"k": 1}), ("tri", (4, 2, -1), {"dtype": bool}),
    ("arange", (5,), {}), ("arange", (2, 7), {}), ("arange", (2, 7, 3), {}), ("arange", (7, 2, -2), {}),
    ("arange", (0.5, 2.6, 0.3), {}),
    ("arange", (3.0,), {}), ("arange", (3,), {"dtype": np.float32}), ("arange", (5, 2), {}),
    ("linspace", (0, 1), {}), ("linspace", (0, 1, 7), {"endpoint": False}), ("linspace", (2, 3, 1), {}),
    ("linspace", (2, 3, 0), {}),
    ("linspace", (0, 10, 5), {"dtype": np.int32}), ("logspace", (0, 2, 5), {}), ("logspace", (0, 3, 4), {"base": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), CREATION, ids=names(CREATION))
def test_creation_is_numpys_in_tensors(name, args, kwargs):
    result = getattr(ops, name)(*args, **kwargs)
    assert isinstance(result, Tensor)
    same(result.numpy(), getattr(np, name)(*args, **kwargs))


LIKE = [
    (name, (x, *more), {})
    for name, more in (("zeros_like", ()), ("ones_like", ()), ("full_like", (3,)))
    for x in (MATRIX, INTS, FLAGS, COMPLEX, np.float64(1.0))
] + [
    ("full_like", (MATRIX, VECTOR[:4]), {}), ("linspace", (VECTOR, VECTOR + 1, 4), {}),
    ("linspace", (VECTOR, 2.0, 3), {"axis": -1, "endpoint": False}),
    ("linspace", (VECTOR, VECTOR + 1, 3), {"retstep": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), LIKE, ids=names(LIKE))
def test_creation_like_an_array_is_numpys(name, args, kwargs):
    both_kinds(getattr(ops, name), getattr(np, name), args, kwargs)


def test_one_hot_puts_a_one_at_each_class():
    x = np.array([[1, 0], [3, -1]])
    expected = (x[..., None] == np.arange(4)).astype(np.float64)
    same(ops.one_hot(x, 4), expected)
    same(ops.one_hot(x, 4, axis=0, dtype="int8"), np.moveaxis(expected, -1, 0).astype(np.int8))


@pytest.mark.parametrize("number", [1.69, 2, 0])
def test_the_difference_of_a_number_has_numpys_signs_of_zeros(number: float) -> None:
    """On a branch cut the sign decides: the root of -1.6 - 0j is -1.26j."""
    for x in (np.array([complex(-0.09, -0.0), complex(0.09, 0.0)]), np.array([0.0, -0.0])):
        want, found = x - number, (wg.tensor(x) - number).numpy()
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(want.real))
        np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(want.imag))


@pytest.mark.parametrize("number", [0, 0.0, -0.0])
def test_the_difference_of_a_zero_has_numpys_sign(number: float) -> None:
    x = np.array([0.0, -0.0])
    for found in (wg.tensor(x) - number, wg.function(lambda x: x - number)(x)):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(x - number))
