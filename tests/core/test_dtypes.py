"""Promotion: our table against NumPy's for every pair, bfloat16's own rows, and weak Python numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert._core import dtypes

NAMES = [n for n in dtypes.SUPPORTED_NAMES if n != "bfloat16"]
PAIRS = list(itertools.product(NAMES, NAMES))
BFLOAT16 = dtypes.bfloat16()
NUMBERS = [True, 3, 2.5, 1 + 2j]


@pytest.fixture
def single():
    wg.set_default_float("float32")
    yield
    wg.set_default_float("float64")


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_promotion_is_numpys(x, y):
    expected = np.promote_types(x, y)
    assert dtypes.promote(np.dtype(x), np.dtype(y)) == expected
    assert wg.ops.multiply(wg.tensor([1], dtype=x), wg.tensor([1], dtype=y)).dtype == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("bool", "bfloat16"), ("int8", "bfloat16"), ("uint8", "bfloat16"), ("bfloat16", "bfloat16"),
        ("float16", "float32"), ("int16", "float32"), ("uint16", "float32"), ("float32", "float32"),
        ("int32", "float64"), ("int64", "float64"), ("uint32", "float64"), ("uint64", "float64"),
        ("float64", "float64"), ("complex64", "complex64"), ("complex128", "complex128"),
    ],
)  # fmt: skip
def test_bfloat16_has_the_row_of_float16(other, expected):
    """Decision 14: and the two meet in float32."""
    expected, other = dtypes.as_dtype(expected), dtypes.as_dtype(other)
    assert dtypes.promote(BFLOAT16, other) == expected
    assert dtypes.promote(other, BFLOAT16) == expected
    assert wg.ops.multiply(wg.tensor([1], dtype=BFLOAT16), wg.tensor([1], dtype=other)).dtype == expected


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", NAMES)
def test_python_numbers_are_weak_as_in_numpy(name, number):
    array = np.ones(2, name)
    for ours, theirs in (
        (wg.tensor(array) * number, array * number),
        (number * wg.tensor(array), number * array),
        (wg.tensor(array) + number, array + number),
        (wg.ops.multiply(array, number), array * number),
    ):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("number", NUMBERS[:3])
def test_python_numbers_beside_bfloat16(number):
    x = wg.tensor([1.0, 2.0], dtype="bfloat16")
    assert (x * number).dtype == BFLOAT16
    assert (number + x).dtype == BFLOAT16
    assert (x * 1j).dtype == np.complex64


def test_numpy_scalars_are_strong():
    x = wg.tensor(np.float32([1, 2]))
    assert (x * 2.0).dtype == np.float32
    assert (x * np.float64(2)).dtype == np.float64
    assert (x * np.array(2.0)).dtype == np.float64
    assert (x * wg.tensor(2.0)).dtype == np.float64


@pytest.mark.parametrize("name", NAMES)
def test_float_functions_take_every_dtype(name):
    array = np.ones(2, name)
    expected = np.sin(array)
    result = wg.ops.sin(array)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-6 if expected.dtype != np.float16 else 1e-3)
    assert (wg.tensor(array) / wg.tensor(array)).dtype == (array / array).dtype


@pytest.mark.parametrize(("value", "expected"), [(True, "bool"), (3, "int64"), (2.5, "float64"), (1j, "complex128")])
def test_bare_numbers(value, expected):
    assert wg.tensor(value).dtype == expected
    assert wg.tensor([value]).dtype == expected


def test_default_float(single):
    assert wg.tensor(2.5).dtype == np.float32
    assert wg.tensor([2.5, 1.0]).dtype == np.float32
    assert wg.tensor(1j).dtype == np.complex64
    assert wg.tensor(np.array([2.5])).dtype == np.float64
    assert (wg.tensor([1, 2]) * 2.5).dtype == np.float32
    assert wg.grad(lambda x: x * x)(2.0).dtype == np.float32
    assert wg.grad(lambda x: x * x)([2, 3]).dtype == np.float32


@pytest.mark.parametrize("spelling", ["float32", np.float32, np.dtype("float32"), "f4", "<f4", ">f4"])
def test_spellings(spelling):
    result = dtypes.as_dtype(spelling)
    assert result == np.float32
    assert result.isnative


@pytest.mark.parametrize("spelling", ["float128", "U4", "datetime64[s]", object, "float7", "M8", "S"])
def test_unsupported(spelling):
    with pytest.raises(TypeError, match=r"not supported|not a dtype"):
        dtypes.as_dtype(spelling)


def test_foreign_byte_order_arrives():
    x = np.array([1.0, 2.0], dtype=">f8")
    result = wg.grad(lambda x: x * x)(x)
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, [2, 4])


@pytest.mark.parametrize("number", [300, -129, 2**40])
def test_integers_that_do_not_fit(number):
    array = np.int8([1])
    with pytest.raises(OverflowError, match=f"{number} out of bounds for int8"):
        wg.tensor(array) + number
    with pytest.raises(OverflowError):
        array + number


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_floats_sum_in_single(name):
    """Decision 14: 4,096 ones are 4,096, which counting in halves would miss."""
    x = wg.tensor(np.ones(4096), dtype=name)
    assert wg.ops.sum(x).dtype == x.dtype
    assert float(wg.ops.sum(x)) == 4096
    assert float(wg.ops.mean(x)) == 1
    gradient = wg.grad(lambda b: b * x)(wg.tensor(2.0, dtype=name))
    assert gradient.dtype == x.dtype
    assert float(gradient) == 4096


@pytest.mark.parametrize(
    ("dtype", "is_inexact", "real", "complex_", "kind"),
    [("float32", True, "float32", "complex64", float), ("complex64", True, "float32", "complex64", complex),
     ("float64", True, "float64", "complex128", float), ("complex128", True, "float64", "complex128", complex),
     ("bfloat16", True, "bfloat16", "complex64", float), ("int32", False, "int32", "complex128", int),
     ("bool", False, "bool", "complex128", bool)],
)  # fmt: skip
def test_questions_about_dtypes(dtype, is_inexact, real, complex_, kind):
    dtype = dtypes.as_dtype(dtype)
    assert dtypes.is_inexact(dtype) is is_inexact
    assert dtypes.real_of(dtype) == dtypes.as_dtype(real)
    assert dtypes.complex_of(dtype) == dtypes.as_dtype(complex_)
    assert dtypes.python_type(dtype) is kind
