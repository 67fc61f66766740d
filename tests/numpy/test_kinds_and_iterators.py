"""NumPy's classes of arrays and numbers, its iterators and its makers of ufuncs, as `wengert.numpy` has them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.slopes import check
from wengert import LostGradientError, Tensor

V = numpy.array([0.7, 0.4, 1.9])
M = numpy.array([[0.7, 0.4, 1.9], [0.2, 1.1, 2.3]])
SCALARS = ("float16", "float32", "float64", "complex64", "complex128")


def _written(np: Any, x: Any) -> Any:
    a = x * 1.0
    with np.nditer(a, op_flags=["readwrite"]) as it:
        for e in it:
            e[...] = e * e + x.ravel()[0]
    with np.nditer(a, op_flags=["readwrite"]) as it:  # an array that was written to before
        for e in it:
            e[...] = 3 * e
    return a


def _in_step(np: Any, x: Any) -> Any:
    it = np.nditer(
        [x, V, None], flags=["multi_index"], op_flags=[["readonly"], ["readonly"], ["writeonly", "allocate"]]
    )
    while not it.finished:
        it[2] = it[0] * it[1] * (1 + it.multi_index[1])
        it.iternext()
    return it.operands[2]


def _objects(np: Any, x: Any) -> Any:
    table = np.empty(3, dtype=object)
    for i in range(3):
        table[i] = x[0, i] * x[1, i]
    return np.array(list(table)) * 2.0


def _object_array(np: Any, x: Any) -> Any:
    table = np.empty((2, 2), dtype=object)
    for i, j in np.ndindex(2, 2):
        table[i, j] = x[i, j] ** 2
    return np.array(table.tolist()) if np is numpy else np.array(table)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "ndenumerate": lambda np, x: np.array([v * v * (1 + i + 2 * j) for (i, j), v in np.ndenumerate(x)]),
    "nditer": lambda np, x: np.array([v * v for v in np.nditer(x)]),
    "nditer in chunks": lambda np, x: np.array([(v * v).sum() for v in np.nditer(x, flags=["external_loop"])]),
    "nditer written": _written,
    "nditer in step": _in_step,
    "broadcast": lambda np, x: np.array([a * b for a, b in np.broadcast(x, V)]),
    "broadcast's iterators": lambda np, x: np.array([a * b for a, b in zip(*np.broadcast(x, V).iters)]),
    "frompyfunc": lambda np, x: np.asarray(np.frompyfunc(lambda a, b: a * b, 2, 1)(x, V) * 1.0, dtype=float),
    "frompyfunc reduced": lambda np, x: np.asarray(np.frompyfunc(lambda a, b: a * b + a, 2, 1).reduce(x), dtype=float),
    "frompyfunc accumulated": lambda np, x: np.asarray(np.frompyfunc(lambda a, b: a * b, 2, 1).accumulate(x, 1), float),
    "frompyfunc of pairs": lambda np, x: np.asarray(np.frompyfunc(lambda a, b: a * b, 2, 1).outer(x[0], V), float),
    "float64": lambda np, x: np.float64(x[0, 0]) * np.float64(2.0),
    "float64 of an array": lambda np, x: np.float64(x) * 2,
    "complex128": lambda np, x: np.complex128(x[0, 1]).real * 3,
    "isinstance of an array": lambda np, x: x * (2.0 if isinstance(x, np.ndarray) else 1.0),
    "isinstance of a number": lambda np, x: x * (2.0 if isinstance(x.sum(), (np.floating, np.integer)) else 1.0),
    "no array": lambda np, x: x * (2.0 if isinstance(x.sum(), np.ndarray) else 1.0),
    "ix_": lambda np, x: np.ix_(x[0], x[1])[0] * np.ix_(x[0], x[1])[1],
    "einsum_path": lambda np, x: np.einsum("ij,kj->ik", x, x, optimize=np.einsum_path("ij,kj->ik", x, x)[0]),
    "array of objects": _objects,
    "array of objects whole": _object_array,
    "reduce by differences": lambda np, x: np.subtract.reduce(x, axis=1),
    "reduce by powers": lambda np, x: np.power.reduce(x, axis=0, keepdims=True),
    "reduce by hypot": lambda np, x: np.hypot.reduce(x, 1),
    "accumulate quotients": lambda np, x: np.divide.accumulate(x, axis=1),
    "reduceat": lambda np, x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "reduceat by products": lambda np, x: np.multiply.reduceat(x.ravel(), [0, 3, 3]),
    "reduceat by quotients": lambda np, x: np.divide.reduceat(x, [0, 1], axis=1),
    "fft out": lambda np, x: (lambda out: (np.fft.fft(x[0], out=out), np.abs(out) ** 2)[1])(np.zeros(3, complex)),
    "multi_dot out": lambda np, x: (lambda o: (np.linalg.multi_dot([x, x.T, x], out=o), o * o)[1])(np.zeros((2, 3))),
    "vectorize as a decorator": lambda np, x: np.vectorize(otypes=[float])(lambda v: v * v)(x),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_numpys_and_are_differentiated(name: str) -> None:
    program = PROGRAMS[name]
    expected = program(numpy, M.copy())
    found = wg.function(lambda x: program(wnp, x))(M)
    numpy.testing.assert_allclose(numpy.asarray(program(wnp, wg.tensor(M))), expected, rtol=1e-12)
    numpy.testing.assert_allclose(found, expected, rtol=1e-12)
    check(lambda x: program(wnp, x), M, plain=lambda x: program(numpy, x.copy()))


@pytest.mark.parametrize("name", wnp._kinds.__all__)
def test_classes_are_numpys_but_for_tensors(name: str) -> None:
    theirs, ours = getattr(numpy, name), getattr(wnp, name)
    assert ours == theirs and theirs == ours and hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs) and ours.__name__ == theirs.__name__
    assert issubclass(theirs, ours) and issubclass(ours, theirs)
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert {theirs: 1}[ours] == 1
    if name in SCALARS:
        assert numpy.dtype(ours) == numpy.dtype(theirs) and numpy.zeros(2, ours).dtype == theirs
        assert type(ours(1.5)) is theirs and isinstance(theirs(1), ours)
        assert isinstance(wnp.ones(2, dtype=ours)[0], ours) and not isinstance(wnp.ones(2), ours)
        assert numpy.issubdtype(ours, wnp.inexact) and numpy.issubdtype(ours, numpy.inexact)


def test_a_class_derived_from_one_here_is_derived_from_numpys() -> None:
    class Mine(wnp.ndarray):
        pass

    assert Mine.__mro__[1] is numpy.ndarray and type(Mine) is type
    assert isinstance(numpy.ones(2).view(Mine), Mine) and not isinstance(wnp.ones(2), Mine)


def test_without_tensors_they_are_numpys_own() -> None:
    assert type(wnp.ndenumerate(M)) is numpy.ndenumerate
    assert type(wnp.nditer(M)) is numpy.nditer
    assert type(wnp.broadcast(M, V)) is numpy.broadcast
    assert wnp.frompyfunc(lambda a: a, 1, 1)(V).dtype == object
    assert wnp.frompyfunc(lambda a: a, 1, 1).nin == 1
    assert type(wnp.ndarray((2,))) is numpy.ndarray


def test_what_cannot_be_followed_is_refused() -> None:
    def refused(f: Callable[[Any], Any], words: str, error: type[Exception] = LostGradientError) -> None:
        with pytest.raises(error, match=words):
            wg.grad(f)(M)

    refused(lambda x: wnp.nested_iters([x, x], [[0], [1]]), "ndindex")
    refused(lambda x: wnp.int64(x[0, 0]) * x.sum(), "int64")
    refused(lambda x: wnp.nditer(x, op_axes=[[0]]), "op_axes", TypeError)
    refused(lambda x: numpy.subtract.reduce(x, axis=(0, 1)), "one axis", ValueError)
    assert isinstance(wnp.float64(wg.tensor(2.0)), Tensor)
