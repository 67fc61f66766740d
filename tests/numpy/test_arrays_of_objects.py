"""Arrays of objects that hold tensors: what NumPy makes of such arrays of numbers, values and gradients, adopted too."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.slopes import check

X = numpy.array([0.3, 0.7, 1.9])


def table(np: Any, *elements: Any) -> Any:
    made = np.empty(len(elements), dtype=object)
    for i, element in enumerate(elements):
        made[i] = element
    return made


def numbers(np: Any, x: Any) -> Any:
    return table(np, x[0] * x[1], 2.5, x[2], numpy.float64(0.4))


def arrays(np: Any, x: Any) -> Any:
    return table(np, x, x * x, numpy.array([1.0, 0.5, 2.0]))


def ragged(np: Any, x: Any) -> Any:
    return np.array([x, x[:2] ** 2, x[0]], dtype=object)


def joined(np: Any, o: Any) -> Any:
    return np.concatenate([np.atleast_1d(part) for part in o.ravel().tolist()])


def written(np: Any, o: Any) -> Any:
    o[1:] = o[:-1] * 2
    row = o[1:3]
    row += o[0]
    row *= 3
    o[-1] += 1
    return o.astype(float)


def pascal(np: Any, o: Any) -> Any:
    """A polynomial with coefficients in an array of objects, by Horner's scheme, as code of big numbers has it."""
    total = o[-1]
    for c in o[-2::-1]:
        total = total * 0.5 + c
    return total


def table_like(np: Any, x: Any) -> Any:
    """A table of known values, made in the shape of an array; what is None was not asked for."""
    table, known = np.empty_like(x, dtype=object), np.zeros_like(x, dtype="O")
    for i in (0, 2):
        table[i] = x[i] * 2 if table[i] is None else 1e9
        known[i] = known[i] + x[i]
    ones = np.ones_like(x, dtype=object) * np.full_like(x, x[1], dtype=object)
    return (np.array([0.0 if t is None else t for t in table]) * known * ones).astype(float)


# of an array of objects whose elements are numbers
OF_NUMBERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "astype": lambda np, o, x: o.astype(float) * 2,
    "astype of a view": lambda np, o, x: o[::-1][1:].reshape(-1, 1).astype(np.float64),
    "astype complex": lambda np, o, x: abs(o.astype(complex) * 1j),
    "array": lambda np, o, x: np.array(o, dtype=float),
    "asarray": lambda np, o, x: np.asarray(o, float),
    "array of two": lambda np, o, x: np.array([o, o], dtype=float),
    "array of lists": lambda np, o, x: np.array([[o[0], 1.0], [2.0, o[2]]], dtype=object).astype(float),
    "array of the list": lambda np, o, x: np.array(o.tolist()),
    "float64": lambda np, o, x: np.float64(o) + np.float64([x[0], 1.0, x[1], 2.0]),
    "sum": lambda np, o, x: np.sum(o) + o.sum(),
    "sum along an axis": lambda np, o, x: o.reshape(2, 2).sum(axis=0).astype(float),
    "mean": lambda np, o, x: np.mean(o) * o.mean(),
    "std and var": lambda np, o, x: np.std(o) + o.std() + o.var() + np.var(o),
    "extrema": lambda np, o, x: o.max() * o.min() + np.max(o) + o.argmax() + np.argmin(o),
    "sorted": lambda np, o, x: np.array(sorted(o), dtype=float) + o[np.argsort(o)].astype(float),
    "in place": lambda np, o, x: written(np, o.copy()),
    "products": lambda np, o, x: o @ o + np.dot(o, o) + o.dot(o) + np.prod(o) + o.prod(),
    "cumulative": lambda np, o, x: o.cumsum().astype(float) + np.cumsum(o).astype(float),
    "stack of the list": lambda np, o, x: np.stack(list(o)),
    "vstack": lambda np, o, x: np.vstack(o).astype(float),
    "copied": lambda np, o, x: copy.deepcopy(o[:1])[0] + copy.copy(o).astype(float),
    "with a tensor": lambda np, o, x: np.array(o[:3] * x + x * o[1:], dtype=float),
    "with a number": lambda np, o, x: (2 * o + o / 3 - o**2).astype(float),
    "negated": lambda np, o, x: (-o + abs(o)).astype(float),
    "beside numbers": lambda np, o, x: (np.ones(3, dtype=object) * x + np.zeros(3, object)).astype(float),
    "full": lambda np, o, x: np.full((2, 2), o[0], dtype=object).astype(float),
    "like a tensor": lambda np, o, x: table_like(np, x),
    "where": lambda np, o, x: np.where([True, False, True, False], o, 0.0).astype(float),
    "take": lambda np, o, x: o.take([0, 2]).astype(float) + o.take(1),
    "horner": lambda np, o, x: pascal(np, o),
    "ufunc": lambda np, o, x: np.add.reduce(o) + np.multiply(o, o)[0],
    "frompyfunc": lambda np, o, x: np.frompyfunc(lambda a: a * a, 1, 1)(x).astype(float),
    "vectorize": lambda np, o, x: np.vectorize(lambda a: a * a, otypes=[object])(x).astype(float),
    "vectorize of pairs": lambda np, o, x: np.vectorize(lambda a: (a * a, a), otypes="OO")(x)[0].astype(float),
    "no axes": lambda np, o, x: np.array(o[0], dtype=object).astype(float),
    "polynomial": lambda np, o, x: np.polynomial.polynomial.polyval(0.3, o) + np.polyval(o, 0.7),
}  # fmt: skip

# of one whose elements are arrays, which NumPy does not open
OF_ARRAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, o, x: np.sum(o) + o.sum(),
    "product": lambda np, o, x: np.prod(o) * np.add.reduce(o),
    "cumulative": lambda np, o, x: joined(np, np.cumsum(o)),
    "with a tensor": lambda np, o, x: joined(np, x * o) + joined(np, o * x),
    "matrix product": lambda np, o, x: o @ x,
    "array": lambda np, o, x: joined(np, np.array(o)) + joined(np, np.asarray(o)) + len(np.array(o).shape),
    "stack of the list": lambda np, o, x: np.stack(list(o)),
    "stack": lambda np, o, x: np.stack(o) * np.vstack(o),
    "concatenate": lambda np, o, x: np.concatenate(o),
    "append": lambda np, o, x: joined(np, np.append(o, o)),
    "in place": lambda np, o, x: joined(np, o.__iadd__(o[::-1] * 2)),
}  # fmt: skip


def programs() -> list[Any]:
    rows = [(numbers, OF_NUMBERS, name) for name in OF_NUMBERS] + [(arrays, OF_ARRAYS, name) for name in OF_ARRAYS]
    return [
        pytest.param(lambda np, x, m=make, f=of[name]: f(np, m(np, x), x), id=f"{make.__name__} {name}")
        for make, of, name in rows
    ] + [pytest.param(lambda np, x: joined(np, ragged(np, x) * 2), id="ragged")]


@pytest.mark.parametrize("program", programs())
def test_programs_give_what_numpy_gives_and_are_differentiated(program: Callable[[Any, Any], Any]) -> None:
    expected = numpy.asarray(program(numpy, X), dtype=float)
    numpy.testing.assert_allclose(numpy.asarray(program(wnp, wg.tensor(X)), dtype=float), expected, rtol=1e-6)
    check(lambda x: program(wnp, x), X, plain=lambda x: numpy.asarray(program(numpy, x), dtype=float))


def casts(x: Any) -> Any:
    table = np.zeros(3, dtype=object)
    for i in range(3):
        table[i] = math.exp(x[i]) * float(x[0])
    shape = type(table) is np.ndarray and isinstance(table, np.ndarray)
    rows = np.array([x[:1], x[1:]], dtype=object)
    return table.astype(float).sum() + np.array(table, dtype=np.float64)[1] * shape + np.sum(np.concatenate(rows))


def test_adopted_code_has_them_too() -> None:
    adopted = wg.adopt(casts)
    check(adopted, X, plain=casts)
    assert float(adopted(X)) == pytest.approx(float(casts(X)), rel=1e-14)


def test_elements_of_arrays_are_not_joined_where_numpy_does_not() -> None:
    def refused(f: Callable[[Any], Any]) -> None:
        with pytest.raises(TypeError, match=r"np\.stack\(list\(a\)\)"):
            wg.grad(lambda x: f(arrays(wnp, x)))(X)

    refused(lambda o: o.astype(float).sum())
    refused(lambda o: wnp.array(o, dtype=float).sum())
    refused(lambda o: wnp.sin(o).sum())
    refused(lambda o: wg.exp(o).sum())


def test_they_are_numpys_arrays_with_elements_as_they_are() -> None:
    o = wnp.empty((), dtype=object)
    o[()] = len
    assert o[()] is len and o.reshape(1)[0] is len and isinstance(o, numpy.ndarray) and repr(o).startswith("array(")
    words = wnp.array(["a", None, Fraction(1, 3)], dtype=object)
    assert words[2] + 1 == Fraction(4, 3) and (words[2:] * 3)[0] == 1 and words[1] is None
    assert wnp.empty(3, dtype=object).sum is not None and wnp.zeros(2, dtype=object).sum() == 0
    assert type(pickle.loads(pickle.dumps(wnp.zeros(2, dtype=object)))) is numpy.ndarray
    assert numbers(wnp, wg.tensor(X)).astype("f4").dtype == numpy.float32
    assert (wnp.ones(3, dtype=object) * 2).astype(int).tolist() == [2, 2, 2]
    assert wnp.ones(3, dtype=object).dot(wnp.ones(3, dtype=object)) == 3
    with pytest.raises(TypeError, match="dtype object"):
        wg.sum(numpy.array([None, 1.0], dtype=object))
