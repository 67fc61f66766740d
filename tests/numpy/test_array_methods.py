"""Tensors have what NumPy's arrays have: every name of `dir(np.ndarray)`, with its arguments and its values.

Each name has a row that calls it on an array and on a tensor, or a word on why a tensor lacks it.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert import LostGradientError, Tensor

V = np.array([0.7, -0.4, 1.9, 0.2, 1.1, -2.3])
M = np.array([[0.7, -0.4, 1.9], [0.2, 1.1, -2.3]])
ABSENT = {
    "__array_finalize__": "it is called when NumPy makes arrays of a subclass",
    "__array_interface__": "NumPy would read numbers by it without asking",
    "__array_struct__": "NumPy would read numbers by it without asking",
    "__buffer__": "NumPy would read numbers by it without asking",
    "_set_dtype": "NumPy's own, for arrays whose dtype changes in place",
    "_set_shape": "NumPy's own; a tensor's shape can be set",
    "__array_wrap__": "ufuncs call it where there is no __array_ufunc__",
    "__class_getitem__": "a tensor's class takes no type arguments",
    "__setstate__": "tensors are pickled by __reduce__",
    "data": "an AttributeError that names x.numpy().data",
    "ctypes": "an AttributeError that names x.numpy().ctypes",
}
WITH_OUT = {
    "sum": (2,), "prod": (2,), "mean": (2,), "var": (2,), "std": (2,), "max": (2,), "min": (2,),
    "cumsum": (2, 3), "cumprod": (2, 3),
}  # fmt: skip


def _after(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def changed(a: Any) -> Any:
        change(a)
        return a * 1.0

    return changed


# by the name of the method: a function of a matrix, or of a vector
ROWS: dict[str, list[tuple[Callable[[Any], Any], Any]]] = {
    "all": [(lambda a: a.all(0), M), (lambda a: a.all(keepdims=True), M), (lambda a: a.all(1, keepdims=True), M)],
    "any": [(lambda a: a.any(1), M), (lambda a: a.any(where=np.array([True, False, False])), M)],
    "argmax": [(lambda a: a.argmax(), M), (lambda a: a.argmax(1, keepdims=True), M)],
    "argmin": [(lambda a: a.argmin(0), M)],
    "argpartition": [(lambda a: a.take(a.argpartition(2))[2], V)],
    "argsort": [(lambda a: a.argsort(0, "stable"), M), (lambda a: a.argsort(stable=True), V)],
    "astype": [(lambda a: a.astype("float32"), M), (lambda a: a.astype(float, "C", "safe", copy=False), M)],
    "base": [(lambda a: a[1:].base * 2, V)],
    "choose": [(lambda a: (a > 0).astype(int).choose([1.5, a]), M), (lambda a: np.array([5, -1]).choose([1, 2], mode="clip"), V)],
    "clip": [(lambda a: a.clip(0.0, 1.0), M), (lambda a: a.clip(max=0.5), M)],
    "compress": [(lambda a: a.compress([True, False, True], 1), M)],
    "conj": [(lambda a: (a * 1j).conj(), M)],
    "conjugate": [(lambda a: (a * 1j).conjugate(), M)],
    "copy": [(lambda a: a.copy(), M), (lambda a: a.copy("K"), M)],
    "cumprod": [(lambda a: a.cumprod(1), M), (lambda a: a.cumprod(None, "float32"), M)],
    "cumsum": [(lambda a: a.cumsum(), M)],
    "device": [(lambda a: a.device == "cpu", V)],
    "diagonal": [(lambda a: a.diagonal(1), M), (lambda a: a.diagonal(0, 1, 0), M)],
    "dot": [(lambda a: a.dot(a.T), M)],
    "dtype": [(lambda a: a.dtype.itemsize, M)],
    "fill": [(_after(lambda a: a.fill(3.0)), M)],
    "flags": [(lambda a: (a.flags.c_contiguous, a.T.flags.f_contiguous, a[:, 1:].flags["C_CONTIGUOUS"]), M)],
    "flat": [(lambda a: a.flat[2] + a.flat[4], M)],
    "flatten": [(lambda a: a.flatten(), M), (lambda a: a.flatten("F"), M)],
    "getfield": [(lambda a: a.getfield(float), M), (lambda a: (a * (1 + 2j)).getfield(float, 8), M)],
    "imag": [(lambda a: (a * (1 + 2j)).imag, M)],
    "itemsize": [(lambda a: a.itemsize, M)],
    "mT": [(lambda a: a.mT, M)],
    "max": [(lambda a: a.max(1), M), (lambda a: a.max(initial=9.0), M), (lambda a: a.max(0, None, True), M)],
    "mean": [(lambda a: a.mean(0, None, None, True), M), (lambda a: a.mean(1, where=M > 0), M)],
    "min": [(lambda a: a.min(), M), (lambda a: a.min(1, where=M > 0, initial=5.0), M)],
    "nbytes": [(lambda a: a.nbytes, M)],
    "ndim": [(lambda a: a.ndim, M)],
    "nonzero": [(lambda a: a.nonzero()[0], M)],
    "partition": [(lambda a: (a.partition(2), a[2] * 1.0)[1], V.copy())],
    "prod": [(lambda a: a.prod(1, float), M), (lambda a: a.prod(initial=2.0), M)],
    "put": [(_after(lambda a: a.put([0, 4], [7.0, 8.0])), M), (_after(lambda a: a.put([9], 1.0, "clip")), M)],
    "ravel": [(lambda a: a.ravel(), M), (lambda a: a.ravel("F"), M)],
    "real": [(lambda a: (a * (1 + 2j)).real, M)],
    "repeat": [(lambda a: a.repeat(2), M), (lambda a: a.repeat([1, 0, 2], 1), M)],
    "reshape": [(lambda a: a.reshape(3, 2), M), (lambda a: a.reshape((3, -1), order="F"), M)],
    "resize": [(_after(lambda a: a.resize(2, 2, refcheck=False)), V), (_after(lambda a: a.resize((2, 4), refcheck=False)), V),
               (_after(lambda a: a.resize((3, 2), refcheck=False)), V)],
    "round": [(lambda a: a.round(1), M)],
    "searchsorted": [(lambda a: np.array([0.0, 1.0]).searchsorted(V) + 0 * a, V)],
    "setfield": [(_after(lambda a: a.setfield(2.0, float)), M)],
    "setflags": [(_after(lambda a: a.setflags(write=True)), M)],
    "shape": [(lambda a: a.shape, M)],
    "size": [(lambda a: a.size, M)],
    "sort": [(_after(lambda a: a.sort()), M), (_after(lambda a: a.sort(0)), M)],
    "squeeze": [(lambda a: a[:1].squeeze(0), M)],
    "std": [(lambda a: a.std(1, ddof=1), M), (lambda a: a.std(0, None, None, 1, True), M)],
    "strides": [(lambda a: a.strides, M), (lambda a: a.T.strides, M), (lambda a: a[:, ::2].strides, M),
                (lambda a: (a * 1j)[1:].real.strides, M)],
    "sum": [(lambda a: a.sum(0), M), (lambda a: a.sum(1, None, None, True), M), (lambda a: a.sum(where=M > 0), M)],
    "swapaxes": [(lambda a: a.swapaxes(0, 1), M)],
    "T": [(lambda a: a.T, M)],
    "take": [(lambda a: a.take([0, 4]), M), (lambda a: a.take([[0, 5]], 1, mode="clip"), M)],
    "to_device": [(lambda a: a.to_device("cpu"), M)],
    "trace": [(lambda a: a.trace(1), M), (lambda a: a.trace(dtype="float32"), M)],
    "transpose": [(lambda a: a.transpose(), M), (lambda a: a.transpose(1, 0), M), (lambda a: a.transpose((1, 0)), M)],
    "var": [(lambda a: a.var(), M), (lambda a: a.var(1, mean=a.mean(1, keepdims=True)), M)],
    "view": [(lambda a: a.view(), M), (lambda a: a.view(np.ndarray), M), (lambda a: a.view(complex), V),
             (lambda a: (a * (1 + 1j)).view(float), M)],
}  # fmt: skip
ENDS: dict[str, Callable[[Any], Any]] = {
    "byteswap": lambda a: a.byteswap(), "dump": lambda a: a.dump(io.BytesIO()), "dumps": lambda a: a.dumps(),
    "tobytes": lambda a: a.tobytes(), "tofile": lambda a: a.tofile("/dev/null"), "tolist": lambda a: a.tolist(),
}  # fmt: skip
CUTS = {"item"}
NAMES = [name for name in dir(np.ndarray) if not name.startswith("_")]


def test_every_name_has_a_row() -> None:
    assert {*NAMES} - {*ROWS} - {*ENDS} - {*ABSENT} - CUTS == set()


@pytest.mark.parametrize("name", [n for n in dir(np.ndarray) if n not in ABSENT])
def test_a_tensor_has_the_name_with_numpys_arguments(name: str) -> None:
    theirs, ours = getattr(np.ndarray, name), getattr(Tensor, name)
    if name.startswith("_") or not callable(theirs):
        return
    try:
        wanted = inspect.signature(theirs).parameters
    except ValueError:
        return  # NumPy before 2.4 does not say
    given = inspect.signature(ours).parameters
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [p for p in wanted.values() if p.kind not in kinds][1:]
    for place, p in enumerate(named, 1):
        assert p.name in given, p
        if p.kind is not inspect.Parameter.KEYWORD_ONLY:
            assert [*given].index(p.name) == place, p
        if given[p.name].default is not None:  # None stands for "not given" where NumPy has another word
            assert given[p.name].default == p.default, p


@pytest.mark.parametrize("name", [n for n in ABSENT if n in dir(np.ndarray)])
def test_what_a_tensor_lacks(name: str) -> None:
    assert not hasattr(wnp.ones(2), name)
    if not name.startswith("_"):
        with pytest.raises(AttributeError, match=rf"x\.numpy\(\)\.{name}"):
            getattr(wnp.ones(2), name)


@pytest.mark.parametrize("name", [n for n in ROWS if n in NAMES])
def test_values_are_numpys(name: str) -> None:
    for call, array in ROWS[name]:
        expected, found = call(array.copy()), call(wg.tensor(array.copy()))
        if isinstance(expected, (np.ndarray, np.generic)):
            assert isinstance(found, (Tensor, np.ndarray, np.generic)) and found.dtype == expected.dtype
            assert np.shape(found) == np.shape(expected)
            wanted: Any = expected
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
        else:
            assert found == expected


@pytest.mark.parametrize("name", [n for n in ROWS if n in NAMES])
def test_what_is_made_of_a_followed_tensor_is_followed(name: str) -> None:
    """Gradients of the sum of the squares, where the result is of floats, against differences."""

    def loss(np_like: Any, call: Callable[[Any], Any], a: Any) -> Any:
        found = call(a)
        return np_like.sum(np_like.real(found * np_like.conj(found)))

    for call, array in ROWS[name]:
        expected = call(array.copy())
        if not isinstance(expected, (np.ndarray, np.generic)) or expected.dtype.kind not in "fc":
            continue
        if expected.dtype in (np.float32, np.complex64):
            continue
        gradient = wg.grad(lambda a, call=call: loss(wnp, call, a), unconnected_gradients="zero")(array)
        for i in np.ndindex(array.shape):
            step = np.zeros(array.shape)
            step[i] = 1e-6
            difference = (loss(np, call, array + step) - loss(np, call, array - step)) / 2e-6
            np.testing.assert_allclose(gradient[i], difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ENDS)
def test_what_gives_bytes_away_refuses_followed_tensors(name: str) -> None:
    with pytest.raises(LostGradientError, match=r"numpy\(\)"):
        wg.grad(lambda a: (ENDS[name](a), a.sum())[1])(M)
    expected, found = ENDS[name](M), ENDS[name](wg.tensor(M))
    if name == "byteswap":
        expected, found = expected.tobytes(), found.tobytes()
    if name != "dumps":
        assert found == expected


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_takes_a_tensor(name: str) -> None:
    def into(make: Any, a: Any) -> Any:
        out = make.zeros(WITH_OUT[name])
        given = getattr(a, name)(1, out=out)
        assert given is out
        return make.sum(out * out)

    array = abs(M)
    value, gradient = wg.value_and_grad(lambda a: into(wnp, a))(array)
    np.testing.assert_allclose(value, into(np, array))
    np.testing.assert_allclose(gradient, wg.grad(lambda a: wnp.sum(getattr(a, name)(1) ** 2))(array))
    with pytest.raises(LostGradientError):
        wg.grad(lambda a: getattr(a, name)(1, out=np.zeros(WITH_OUT[name])).sum())(array)


# -- arrays of no axes -------------------------------------------------------------------------------------------------


def test_a_number_rebinds_and_an_array_of_no_axes_is_written_to() -> None:
    def numbers(np_like: Any, x: Any) -> Any:
        total = x[0] * 1.0
        first = total
        total += x[1]
        return np_like.stack([first, total])

    def arrays(np_like: Any, x: Any) -> Any:
        total = np_like.zeros(())
        first = total
        total += x[1]
        total[()] *= 2.0
        total[...] += x[0]
        return np_like.stack([first, total])

    def element(np_like: Any, x: Any) -> Any:
        table = np_like.ones((2, 3))
        place = table[1, 2, ...]
        place[...] = x[0]
        place += x[1]
        table[1, 2] *= 3.0
        return np_like.append(table.ravel(), place)

    for program in (numbers, arrays, element):
        np.testing.assert_allclose(wg.function(lambda x, p=program: p(wnp, x))(V), program(np, V.copy()))
        found = wg.jacobian(lambda x, p=program: p(wnp, x))(V)
        np.testing.assert_allclose(found @ V, program(np, 2 * V) - program(np, V), atol=1e-12)
        np.testing.assert_allclose(wg.vmap(lambda x, p=program: p(wnp, x))(V[None])[0], program(np, V.copy()))


def test_a_number_seen_otherwise_is_still_a_number() -> None:
    def program(np_like: Any, x: Any) -> Any:
        total = np_like.sum(x)
        kept = total
        assert all(seen.shape == () for seen in (np_like.squeeze(total), total.real, total.reshape(())))
        total += 1.0
        return kept

    np.testing.assert_allclose(program(wnp, wg.tensor(V)), program(np, V))


def test_a_dtype_that_does_not_fit_is_refused_in_place() -> None:
    count = wnp.array(0)
    with pytest.raises(TypeError, match="same_kind"):
        count += 0.5


# -- extents and views -------------------------------------------------------------------------------------------------


def test_resize_needs_the_memory_for_itself() -> None:
    a = wnp.ones(4)
    row = a[1:]
    with pytest.raises(ValueError, match=r"np\.resize"):
        a.resize(6)
    with pytest.raises(ValueError, match=r"np\.resize"):
        row.resize(6)
    del row
    a.resize(6)
    np.testing.assert_array_equal(a, [1, 1, 1, 1, 0, 0])


def test_resize_keeps_what_was_computed_before() -> None:
    def program(x: Any) -> Any:
        a = x * x
        before = a.sum()
        a.resize((2, 4))
        a[1] = a[0] * x[0]
        a += 1.0
        return before * a.sum()

    def plain(x: Any) -> Any:
        a = x * x
        return a.sum() * (a[:4].sum() * (1 + x[0]) + 8.0)

    value, gradient = wg.value_and_grad(program)(V)
    np.testing.assert_allclose(value, plain(V))
    np.testing.assert_allclose(gradient, wg.grad(plain)(V))
    np.testing.assert_allclose(wg.function(program)(V), plain(V))


def test_a_view_of_other_numbers_follows_writes() -> None:
    z = wnp.array([1 + 2j, 3 + 4j])
    parts = z.view(float)
    z[0] = 5j
    np.testing.assert_array_equal(parts, [0, 5, 3, 4])
    with pytest.raises(wg.TracingError, match="same bits"):
        parts[0] = 1.0
    same = z.view()
    same[1] = 0
    np.testing.assert_array_equal(z, [5j, 0])


def test_axes_come_as_arguments_of_any_integer() -> None:
    x = wg.tensor(V)
    assert x.transpose(*np.arange(1)).shape == x.transpose(0).shape == (6,)
    assert wg.tensor(M).transpose(*np.array([1, 0])).shape == wg.tensor(M).transpose([1, 0]).shape == (3, 2)


def test_descending_order_is_numpys() -> None:
    x = wg.tensor(np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 0.5]]))
    np.testing.assert_array_equal(x.argsort(descending=True), [[2, 0, 1], [0, 1, 2]])
    y = x * 1.0
    y.sort(axis=0, descending=True)
    np.testing.assert_array_equal(np.asarray(y), [[2.0, 2.0, 3.0], [1.0, np.nan, 0.5]])
    gradient = wg.grad(_sorted)(V[:3])
    np.testing.assert_array_equal(gradient, [10.0, 100.0, 1.0])


def _sorted(x: Any) -> Any:
    y = x * 1.0
    y.sort(descending=True)
    return y @ np.array([1.0, 10.0, 100.0])
