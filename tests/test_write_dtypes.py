"""What writes do to values of other dtypes: NumPy's values, dtypes and errors, for every pair of dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")
NUMBERS = (
    True,
    2,
    300,
    -1,
    1.5,
    2 + 1j,
    np.nan,
    np.float64(np.inf),
    np.float32(1.5),
    np.int8(3),
    np.uint8(200),
    np.bool_(True),
)


def values_of(dtype: str) -> Any:
    values = np.array([1, 0, 3, 2]).astype(dtype)
    return (
        values + values.dtype.type(0.5 + (0.25j if values.dtype.kind == "c" else 0))
        if values.dtype.kind in "fc"
        else values
    )


def operated(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda n, y, v: getattr(y, name)(v)


def first(v: Any) -> Any:
    return v if np.ndim(v) == 0 else v[0]


MASK = np.array([True, False, True, False])
WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{name: operated(name) for name in ("__iadd__", "__isub__", "__imul__", "__iand__", "__ior__", "__ilshift__")},
    "whole": lambda n, y, v: y.__setitem__(..., v),
    "slice": lambda n, y, v: y.__setitem__(slice(0, 4), v),
    "integers": lambda n, y, v: y.__setitem__([0, 1, 2, 3], v),
    "element": lambda n, y, v: y.__setitem__(1, first(v)),
    "list": lambda n, y, v: y.__setitem__(slice(0, 2), [v, v] if np.ndim(v) == 0 else [v[0], v[1]]),
    "fill": lambda n, y, v: y.fill(first(v)),
    "copyto": lambda n, y, v: n.copyto(y, v),
    "copyto_unsafe": lambda n, y, v: n.copyto(y, v, casting="unsafe"),
    "copyto_where": lambda n, y, v: n.copyto(y, v, where=MASK),
    "put": lambda n, y, v: n.put(y, [0, 2], v),
    "putmask": lambda n, y, v: n.putmask(y, MASK, v),
    "place": lambda n, y, v: n.place(y, MASK, v),
    "flat": lambda n, y, v: y.flat.__setitem__(slice(None), v),
    "diagonal": lambda n, y, v: n.fill_diagonal(y.reshape(2, 2), v if np.ndim(v) == 0 else v[:2]),
    "subtract_at": lambda n, y, v: n.subtract.at(y, [0, 0, 1, 3], v),
    "out": lambda n, y, v: n.add(y, v, out=y),
    "out_of_numbers": lambda n, y, v: n.multiply(v, v, out=y),
    "out_where": lambda n, y, v: n.add(y, v, out=y, where=MASK),
}  # fmt: skip


def outcome(n: Any, y: Any, v: Any, write: Any) -> tuple[Any, bool]:
    try:
        write(n, y, v)
    except (TypeError, OverflowError, ValueError):
        return np.asarray(y), True
    return np.asarray(y), False


def is_refused(name: str, dtype: str, v: Any) -> bool:
    """Whether we refuse what NumPy lets pass: complex values into real arrays, and sums of another kind in place."""
    given = np.asarray(v).dtype
    is_real = np.dtype(dtype).kind != "c"
    in_sums = name == "subtract_at" and (not np.can_cast(given, dtype, "same_kind") or type(v) is int)
    return (given.kind == "c" and is_real) or in_sums


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRITES)
def test_values_of_other_dtypes_are_written_as_numpy_writes_them(name: str, dtype: str) -> None:
    write = WRITES[name]
    for v in (*map(values_of, DTYPES), *NUMBERS):
        wanted, fails = outcome(np, values_of(dtype), v, write)
        if not fails and is_refused(name, dtype, v):
            continue
        for given in (v, wg.tensor(v)) if isinstance(v, np.ndarray) else (v,):
            found, failed = outcome(wnp, wg.tensor(values_of(dtype)), given, write)
            assert (found.dtype, failed) == (wanted.dtype, fails), repr(v)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


# functions that give `out=` a result, by rules of their own: (name, of one operand with out=)
OUTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: lambda n, x, out, name=name: getattr(n, name)(x, axis=0, out=out)
        for name in ("sum", "prod", "mean", "max", "min", "median", "any", "argmax", "cumsum", "cumprod")
    },
    "take": lambda n, x, out: n.take(x, [2, 0, 1, 1], out=out),
    "compress": lambda n, x, out: n.compress([1, 1, 1, 1], x, out=out),
    "choose": lambda n, x, out: n.choose([0, 1, 0, 1], [x, x[::-1]], out=out),
    "dot": lambda n, x, out: n.dot(n.stack([x, x, x, x]), x, out=out),
    "einsum": lambda n, x, out: n.einsum("i,i->i", x, x, out=out),
    "sum of a method": lambda n, x, out: x.sum(axis=0, out=out),
    "reduce": lambda n, x, out: n.add.reduce(x, out=out),
    "accumulate": lambda n, x, out: n.multiply.accumulate(x, out=out),
    "outer": lambda n, x, out: n.multiply.outer(x[:1], x, out=out.reshape(1, 4)),
    "unsafe": lambda n, x, out: n.add(x, x, out=out, casting="unsafe"),
    "safe": lambda n, x, out: n.add(x, x, out=out, casting="safe"),
    "dtype": lambda n, x, out: n.sin(x, out=out, dtype="f4"),
    "dtype_unsafe": lambda n, x, out: n.add(x, x, out=out, dtype="f4", casting="unsafe"),
}
OF_ONE = frozenset({"sum", "prod", "mean", "max", "min", "median", "any", "argmax", "sum of a method", "reduce"})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OUTS)
def test_results_go_into_out_by_numpys_rules(name: str, dtype: str) -> None:
    for given in DTYPES:
        if name == "median" and given.startswith("complex"):  # which have no order for us
            continue
        found: list[Any] = []
        for n, wrap in ((np, lambda x: x), (wnp, wg.tensor)):
            out = wrap(values_of(dtype))
            try:
                OUTS[name](n, wrap(values_of(given)), out[1, ...] if name in OF_ONE else out)
            except (TypeError, ValueError) as error:
                found.append((np.asarray(out), isinstance(error, TypeError)))
            else:
                found.append((np.asarray(out), None))
        (wanted, fails), (ours, failed) = found
        assert failed == fails, given
        np.testing.assert_allclose(ours, wanted, rtol=1e-6, err_msg=given)


def test_sums_into_a_wider_array_are_added_up_in_its_dtype() -> None:
    x = np.linspace(0.2, 1.3, 6, dtype=np.float32)
    for n, wrap in ((np, lambda x: x), (wnp, wg.tensor)):
        out = wrap(np.zeros(6))
        n.cumsum(wrap(x), out=out)
        np.testing.assert_allclose(np.asarray(out), np.cumsum(x.astype(float)), rtol=1e-14)


def test_arrays_without_axes_keep_their_dtype_beside_others() -> None:
    for made in (wnp.array(2.0), wnp.asarray(2.0), wnp.full((), 2.0), wnp.ones(())):
        assert (wg.tensor(np.ones(3, np.float32)) * made).dtype == np.float64
    assert (wg.tensor(np.ones(3, np.uint8)) + wnp.array(3)).dtype == np.int64


def test_what_is_no_number_does_not_fill_and_no_values_write_nothing() -> None:
    x = wg.tensor(np.arange(4.0))
    for value in ([1.0], np.ones(4), x):
        with pytest.raises(ValueError, match="one number"):
            x.fill(value)
    wnp.put(x, [1, 2], [])
    wnp.putmask(x, [True] * 4, [])
    x.flat[1:] = []
    np.testing.assert_array_equal(x.numpy(), np.arange(4.0))
    with pytest.raises(ValueError, match="no values"):
        wnp.place(x, [True] * 4, [])


GIVES_ITSELF: list[Callable[[Any, Any, Any], Any]] = [  # results that may be the operand
    lambda n, y, out: n.fix(y, out=out),
    lambda n, y, out: n.round(y, out=out),
    lambda n, y, out: n.conjugate(y, out=out),
    lambda n, y, out: n.positive(y, out=out),
    lambda n, y, out: n.rint(y, out=out, casting="unsafe"),
    lambda n, y, out: n.clip(y, None, 9, out=out),
]


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("into", GIVES_ITSELF)
def test_what_went_into_out_is_apart_from_the_operand(into: Callable[[Any, Any, Any], Any], dtype: type) -> None:
    x, out = wg.tensor(np.arange(4).astype(dtype)), wg.tensor(np.zeros(4, dtype))
    into(wnp, x, out)
    x[...] = 7
    np.testing.assert_array_equal(out.numpy(), np.arange(4))
    out[1] = 5
    np.testing.assert_array_equal(x.numpy(), [7] * 4)
    into(wnp, x, x)
    x[0] = 1
    np.testing.assert_array_equal(x.numpy(), [1, 7, 7, 7])
