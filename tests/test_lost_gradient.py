"""No gradient is lost in silence: what turns a tensor into numbers either has the right gradient or is refused.

Each idiom runs three times: under a tape, where it is refused with the name that the user wrote, the user's line
and a cure, or is differentiated and compared with differences; and after tracking ended, where it is plain NumPy.
"""

from __future__ import annotations

import array
import cmath
import contextlib
import copy
import decimal
import fractions
import io
import json
import linecache
import math
import pickle
import statistics
import struct
from collections.abc import Callable
from math import sin as sine
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats
from scipy.special import logsumexp as lse

import wengert as wg
import wengert.numpy as wnp
from tests.support.profiled import python_calls
from tests.support.slopes import check, recorded
from wengert import LostGradientError, Tensor

X = np.array([0.3, 0.5, 0.7])
A = np.array([[3.0, 0.1, 0.2], [0.1, 4.0, 0.3], [0.2, 0.3, 5.0]])

Idiom = Callable[[Any], Any]
REFUSED: list[Any] = []
RECORDED: list[Any] = []


def refused(name: str, cure: str = "", off: type[Exception] | None = None) -> Callable[[Idiom], Idiom]:
    """An idiom that is refused, by this name and with these words in the cure; `off`: its error without a tape."""

    def enter(f: Idiom) -> Idiom:
        REFUSED.append(pytest.param(f, name, cure, off, id=f.__name__))
        return f

    return enter


def differentiated(f: Idiom) -> Idiom:
    """An idiom that has its gradient."""
    RECORDED.append(pytest.param(f, id=f.__name__))
    return f


# -- building and writing arrays -------------------------------------------------------------------------------------


@refused("np.array", "wengert.numpy")
def array_of_tensors(x: Any) -> Any:
    return np.array([x[0], 2 * x[1]])


@refused("np.array", "wengert.numpy")
def array_of_objects(x: Any) -> Any:
    return np.array([x[0], 2 * x[1]], dtype=object)


@refused("np.asarray", "wengert.numpy")
def asarray_of_tensor(x: Any) -> Any:
    return np.asarray(x)


@refused("np.asarray", "wengert.numpy")
def asarray_over_lines(x: Any) -> Any:
    return np.asarray(
        [
            x[0],
            x[1],
        ]
    )


@refused("np.full", "wengert.numpy")
def full_of_tensor(x: Any) -> Any:
    return np.full(3, x[0])


@refused("np.fromiter", "wengert.numpy")
def fromiter(x: Any) -> Any:
    return np.fromiter((v for v in [x[0], x[1]]), float)


@refused("out[0] = ...", "x.at[index].set(value)")
def assign_element(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = x[0]
    return out


@refused("out[:] = ...", "wg.buffer")
def assign_slice(x: Any) -> Any:
    out = np.zeros(3)
    out[:] = x
    return out


@refused("out[0] = ...", "x.at[index].set(value)")
def add_to_element(x: Any) -> Any:
    out = np.zeros(3)
    out[0] += x[0]
    return out


@refused("out += x", "write out = out + x")
def add_in_place(x: Any) -> Any:
    out = np.zeros(3)
    out += x
    return out


@refused("out -= 2 * x", "write out = out - 2 * x")
def subtract_in_place(x: Any) -> Any:
    out = np.zeros(3)
    out -= 2 * x
    return out


@refused("np.add with out=", "leave out= away")
def add_with_out(x: Any) -> Any:
    return np.add(np.ones(3), x, out=np.zeros(3))


@refused("np.sum with out=", "leave out= away")
def sum_with_out(x: Any) -> Any:
    return np.sum(x, out=np.zeros(()))


@refused("np.add.at", "x.at[index].set(value)")
def add_at(x: Any) -> Any:
    return np.add.at(np.zeros(3), [0, 1, 1], x)


@refused("np.copyto", "x.at[index].set(value)")
def copyto(x: Any) -> Any:
    return np.copyto(np.zeros(3), x)


@refused("np.put", "x.at[index].set(value)")
def put(x: Any) -> Any:
    return np.put(np.zeros(3), [0], x[0])


@refused("np.fill_diagonal", "x.at[index].set(value)")
def fill_diagonal(x: Any) -> Any:
    return np.fill_diagonal(np.zeros((3, 3)), x)


@refused("out.fill", "wg.buffer")
def fill(x: Any) -> Any:
    out = np.zeros(3)
    return out.fill(x[0])


# -- numbers ---------------------------------------------------------------------------------------------------------


@refused("math.sin", "use wg.sin")
def math_sin(x: Any) -> Any:
    return math.sin(x[0])


@refused("sine (of math)", "use wg.sin")
def math_sin_by_another_name(x: Any) -> Any:
    return sine(x[0])


@refused("math.ceil", "use wg.ceil")
def math_ceil(x: Any) -> Any:
    return math.ceil(x[0])


@refused("math.fsum", "in place of math's")
def math_fsum(x: Any) -> Any:
    return math.fsum([x[0], x[1]])


@refused("cmath.exp", "use wg.exp")
def cmath_exp(x: Any) -> Any:
    return cmath.exp(x[0])


@refused("float", "computes as a number does")
def as_float(x: Any) -> Any:
    return float(x[0])


@refused("int", "computes as a number does")
def as_int(x: Any) -> Any:
    return int(x[0])


@refused("complex", "computes as a number does")
def as_complex(x: Any) -> Any:
    return complex(x[0])


@refused("np.float64", "x.astype")
def as_float64(x: Any) -> Any:
    return np.float64(x[0])


@refused("range", "a plain integer", TypeError)
def in_range(x: Any) -> Any:
    return range(x[0])


@refused("names[x[0]]", "a plain integer", TypeError)
def index_of_list(x: Any) -> Any:
    names = ["a", "b"]
    return names[x[0]]


@refused("weights[x[0]]", "wg.tensor(weights)[x[0]]", TypeError)
def index_of_list_of_numbers(x: Any) -> Any:
    weights = [1.0, 2.0]
    return weights[x[0]]


@refused("statistics.fmean", "in place of statistics's")
def statistics_fmean(x: Any) -> Any:
    return statistics.fmean([x[0], x[1]])


@refused("array.array")
def array_array(x: Any) -> Any:
    return array.array("d", [x[0], x[1]])


@refused("x.__array__")
def dunder_array(x: Any) -> Any:
    return x.__array__()


@refused("np.from_dlpack", "on purpose")
def from_dlpack(x: Any) -> Any:
    return np.from_dlpack(x)


@refused("Tensor.tolist()", "Tensor.numpy().tolist()")
def tolist(x: Any) -> Any:
    return x.tolist()


@refused("pickling", "Tensor.numpy()")
def pickled(x: Any) -> Any:
    return pickle.dumps(x)


@refused("np.savetxt", "save x.numpy()")
def savetxt(x: Any) -> Any:
    return np.savetxt(io.StringIO(), x)


# -- NumPy's functions -----------------------------------------------------------------------------------------------


@refused("np.sum", "wengert.numpy.sum")
def sum_of_list(x: Any) -> Any:
    return np.sum([x[0], 2 * x[1]])


@differentiated
def tensorinv(x: Any) -> Any:
    return np.linalg.tensorinv(np.outer(x, x) + np.eye(3), ind=1)


@refused("np.vectorize(math.sin)", "wengert.numpy.vectorize")
def vectorize(x: Any) -> Any:
    return np.vectorize(math.sin)(x)


@refused("np.frompyfunc(math.sin, 1, 1)", "wg.primitive")
def frompyfunc(x: Any) -> Any:
    return np.frompyfunc(math.sin, 1, 1)(x)


@differentiated
def apply_along_axis(x: Any) -> Any:
    return np.apply_along_axis(np.sum, 0, x)


@differentiated
def histogram(x: Any) -> Any:
    return np.histogram(x, 2, weights=x)[0]


@differentiated
def spacing(x: Any) -> Any:
    return np.spacing(x) + x


@refused("A.dot")
def dot_method_of_array(x: Any) -> Any:
    return A.dot(x)


# -- SciPy -----------------------------------------------------------------------------------------------------------


@refused("scipy.linalg.solve", "wg.linalg")
def scipy_solve(x: Any) -> Any:
    return scipy.linalg.solve(A, x)


@refused("scipy.special.logsumexp", "wg.special")
def scipy_logsumexp(x: Any) -> Any:
    return scipy.special.logsumexp(x)


@refused("lse (of scipy.special)", "wg.special")
def scipy_logsumexp_by_another_name(x: Any) -> Any:
    return lse(x)


@refused("scipy.stats.norm.logpdf", "use wengert.scipy.stats.norm")
def scipy_logpdf(x: Any) -> Any:
    return scipy.stats.norm.logpdf(x)


@refused("scipy.stats.norm(0, 1).logpdf", "use wengert.scipy.stats.norm")
def scipy_frozen_logpdf(x: Any) -> Any:
    return scipy.stats.norm(0, 1).logpdf(x)


@refused("scipy.integrate.quad", "use wengert.scipy.integrate.quad")
def scipy_quad(x: Any) -> Any:
    return scipy.integrate.quad(lambda t: t * x[0], 0, 1)


@refused("scipy.interpolate.CubicSpline", "use wengert.scipy.interpolate.CubicSpline")
def scipy_spline(x: Any) -> Any:
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)


@refused("scipy.signal.convolve", "use wengert.scipy.signal.convolve")
def scipy_convolve(x: Any) -> Any:
    return scipy.signal.convolve(x, x)


# -- what is recorded ------------------------------------------------------------------------------------------------


@differentiated
def scipy_sparse_product(x: Any) -> Any:
    return (scipy.sparse.csr_array(A) @ x) ** 2


@differentiated
def stack_of_list(x: Any) -> Any:
    return np.stack([x[0], 2 * x[1]]) ** 2


@differentiated
def concatenate_of_list(x: Any) -> Any:
    return np.concatenate([x, [1.0], 2 * x]) ** 2


@differentiated
def where_of_mask(x: Any) -> Any:
    return np.where([True, False, True], x, 0) ** 2


@differentiated
def builtin_sum(x: Any) -> Any:
    return sum([x[0], x[1] ** 2])


@differentiated
def builtin_max(x: Any) -> Any:
    return max(x[0] ** 2, x[1])


@differentiated
def builtin_sorted(x: Any) -> Any:
    return sorted([x[1], x[0]])[0] ** 2


@differentiated
def index_in_list(x: Any) -> Any:
    return x[[0.1, 0.3].index(x[0])] ** 2 if isinstance(x, Tensor) else x[1] ** 2


@differentiated
def array_before_operator(x: Any) -> Any:
    return np.ones(3) + A @ x - np.float64(2) * x


@differentiated
def array_compared(x: Any) -> Any:
    return (np.full(3, 0.4) >= x) * x


@differentiated
def norm(x: Any) -> Any:
    return np.linalg.norm(x)


@differentiated
def polyval(x: Any) -> Any:
    return np.polyval([1.0, 2.0, 3.0], x)


@differentiated
def scipy_erf(x: Any) -> Any:
    return scipy.special.erf(x)


@differentiated
def scipy_gammaln(x: Any) -> Any:
    return scipy.special.gammaln(x)


@differentiated
def scipy_expit(x: Any) -> Any:
    return scipy.special.expit(x)


@differentiated
def reduce_of_ufunc(x: Any) -> Any:
    return np.add.reduce(x**2) * np.multiply.reduce(x) + np.maximum.reduce(x)


@differentiated
def ufunc_with_dtype(x: Any) -> Any:
    return np.multiply(x, x, dtype=np.float64)


@differentiated
def outer_of_ufunc(x: Any) -> Any:
    return np.multiply.outer(x, x**2)


@differentiated
def method_clip_of_array(x: Any) -> Any:
    return np.array([0.1, 0.6, 0.65]).clip(x, 2.0)


@differentiated
def bincount_of_weights(x: Any) -> Any:
    return np.bincount([0, 1, 1], weights=x) ** 2


@differentiated
def printed(x: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print(x, f"{x[0]:.3f}", repr(x), np.array_repr(x))
    assert "0.3" in text.getvalue()
    return x**2


@differentiated
def copied(x: Any) -> Any:
    return copy.deepcopy(x) * copy.copy(x)


# -- the three runs --------------------------------------------------------------------------------------------------


def test_there_are_enough_idioms() -> None:
    assert len(REFUSED) + len(RECORDED) >= 60


@pytest.mark.parametrize(("idiom", "name", "cure", "off"), REFUSED)
def test_refused_with_name_line_and_cure(idiom: Idiom, name: str, cure: str, off: Any) -> None:
    with pytest.raises(LostGradientError) as caught:
        recorded(idiom, X)
    message = str(caught.value)
    first, _, place = message.partition("\n  see ")[0].partition("\n  at ")
    assert name in first.partition(" would ")[0].partition(" is not recorded")[0], message
    assert cure in first, message
    file, line, text = _place(place)
    assert file == __file__, message
    assert linecache.getline(file, line).strip() == text
    assert idiom.__code__.co_firstlineno < line < idiom.__code__.co_firstlineno + 12


def _place(place: str) -> tuple[str, int, str]:
    where, _, text = place.partition(": ")
    file_and_line, _, _ = where.rpartition(", in ")
    file, _, line = file_and_line.rpartition(":")
    return file, int(line), text


@pytest.mark.parametrize(("idiom", "name", "cure", "off"), REFUSED)
def test_refused_in_a_trace(idiom: Idiom, name: str, cure: str, off: Any) -> None:
    graph = wg.Graph()
    x = graph.add_input((3,), np.dtype(np.float64))
    with pytest.raises((LostGradientError, wg.TracingError)), graph.as_default():
        idiom(x)


@pytest.mark.parametrize(("idiom", "name", "cure", "off"), REFUSED)
def test_plain_numpy_once_tracking_ended(idiom: Idiom, name: str, cure: str, off: Any) -> None:
    _, (x,), _ = recorded(lambda x: x, X)
    if off is not None:
        with pytest.raises(off):
            idiom(x)
        return
    ours, theirs = idiom(x), idiom(X.copy())
    if not isinstance(theirs, (np.ndarray, float, int)) or getattr(theirs, "dtype", None) == np.object_:
        return
    np.testing.assert_allclose(np.asarray(ours), theirs)


@pytest.mark.parametrize("idiom", RECORDED)
def test_differentiated(idiom: Idiom) -> None:
    check(idiom, X)


@pytest.mark.parametrize("idiom", RECORDED)
def test_recorded_values_are_numpys(idiom: Idiom) -> None:
    result = idiom(wg.tensor(X.copy()))
    np.testing.assert_allclose(np.asarray(result), idiom(X.copy()))


# -- what Python itself refuses --------------------------------------------------------------------------------------

PYTHONS_OWN: list[tuple[str, Idiom, type[Exception]]] = [
    ("Fraction", lambda x: fractions.Fraction(x[0]), TypeError),
    ("Decimal", lambda x: decimal.Decimal(x[0]), TypeError),
    ("json", lambda x: json.dumps(x[0]), TypeError),
    ("memoryview", lambda x: memoryview(x), TypeError),
    ("struct", lambda x: struct.pack("d", x[0]), struct.error),
    ("statistics.mean", lambda x: statistics.mean([x[0], x[1]]), TypeError),
]


@pytest.mark.parametrize(("idiom", "error"), [pytest.param(f, e, id=name) for name, f, e in PYTHONS_OWN])
def test_refused_by_python_in_its_own_words(idiom: Idiom, error: type[Exception]) -> None:
    with pytest.raises(error):
        recorded(idiom, X)


@pytest.mark.parametrize("interface", [recorded, lambda f, x: wg.grad(f)(x)])
def test_a_library_that_rewords_the_error_does_not_hide_it(interface: Callable[..., Any]) -> None:
    def minimised(x: Any) -> Any:
        return scipy.optimize.minimize(lambda t: x[0] * (t[0] - 1) ** 2, [0.0])

    with pytest.raises(LostGradientError):
        interface(minimised, X)
    with pytest.raises(LostGradientError):
        interface(assign_element, X)


def test_what_the_user_makes_of_the_error_stays() -> None:
    def f(x: Any) -> Any:
        try:
            return math.sin(x[0])
        except LostGradientError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError, match="mine"):
        recorded(f, X)


# -- leaving on purpose, and what is not followed --------------------------------------------------------------------


def test_numpy_and_item_cut_on_purpose() -> None:
    def f(x: Any) -> Any:
        return x * x.numpy() * x[0].item()

    result, _, tape = recorded(f, X)
    assert tape.tracks(result._key)
    assert {cut.op for cut in tape.exits} == {"Tensor.numpy()", "Tensor.item()"}


def test_a_tensor_beside_followed_ones_is_plain() -> None:
    constant = wg.tensor(np.array([1.0, 2.0]))

    def f(x: Any) -> Any:
        return x[:2] * np.asarray(constant) + math.sin(constant[0])

    check(f, X)


def test_writing_into_a_tensor_leaves_the_array_that_it_was_made_of() -> None:
    theirs = X.copy()
    x = wg.tensor(theirs)
    np.add(X, X, out=x)
    x[0] = 1.0
    np.testing.assert_array_equal(np.asarray(x), [1.0, *(2 * X)[1:]])
    np.testing.assert_array_equal(theirs, X)


def test_where_of_a_ufunc_without_out_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"np\.where"):
        np.add(wg.tensor(X.copy()), 1.0, where=[True, False, True])


def test_state_is_usable_after_a_refusal() -> None:
    with pytest.raises(LostGradientError):
        recorded(math_sin, X)
    check(scipy_erf, X)
    assert math_sin(wg.tensor(X.copy())) == math.sin(X[0])


# -- the hot path ----------------------------------------------------------------------------------------------------


def test_a_ufunc_costs_one_python_frame_more() -> None:
    x = wg.tensor(X.copy())
    np.sin(x)
    assert len(python_calls(lambda: np.sin(x))) <= len(python_calls(lambda: wnp.sin(x))) + 1
    assert len(python_calls(lambda: X * x)) <= len(python_calls(lambda: wnp.multiply(X, x))) + 1


@pytest.mark.parametrize(
    "f",
    [lambda n: wg.rot90(A, n), lambda n: wg.linalg.matrix_power(A, n), lambda n: wg.special.jv(n, X)],
    ids=["rot90", "matrix_power", "jv"],
)
def test_a_traced_whole_number_where_a_number_must_be_known_is_a_lost_gradient(f: Any) -> None:
    with pytest.raises(LostGradientError, match=r"Tensor.__index__"):
        wg.function(f)(np.array(1))


def test_a_traced_position_in_a_plain_array_is_told_what_takes_it() -> None:
    table = np.array([1.0, 2.0, 4.0])
    with pytest.raises(LostGradientError, match=r"write wg\.tensor\(table\)\[i, \.\.\.\], "):
        wg.function(lambda i: table[i, ...])(np.array(1))
    assert wg.function(lambda i: wg.tensor(table)[i, ...])(np.array(1)) == 2


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")  # NumPy's own word on it
@pytest.mark.parametrize("adopted", [False, True])
def test_masked_arrays_and_matrices_say_what_to_write(adopted: bool) -> None:
    ma: Any = np.ma  # its parameters' types know no tensors
    masked = [
        lambda x: ma.masked_array(x, mask=[0, 1, 0]).sum(),
        lambda x: ma.array(x).mean(),
        lambda x: ma.masked_where(x > 1, x).sum(),
    ]
    programs = [(f, r"keep the mask beside the values, np\.where") for f in masked]
    for f, cure in (*programs, (lambda x: np.matrix(x).sum(), "use an array of two axes")):
        with pytest.raises(wg.LostGradientError, match=cure):
            wg.grad(wg.adopt(f) if adopted else f)(np.array([1.0, 2.0, 3.0]))
