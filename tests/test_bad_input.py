"""Bad input: the class of the error, what its message says, the user's own line in it, and that nothing stays open.

Every case is one line of this file, so that the message must show that very line.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import STATE

X = np.array([1.0, 2.0])
M = np.ones((2, 3))
T = wg.tensor([1.0, 2.0])
W = wg.Variable([1.0, 2.0], name="weights")
N = wg.Variable([1, 2], name="counts")
FROZEN = wg.Variable(1.0, name="frozen", trainable=False)


class Case(NamedTuple):
    """A line of code, the error it raises, and what the message must say."""

    name: str
    run: Callable[[], Any]
    error: type[BaseException]
    says: tuple[str, ...]


def raising(x: Any) -> Any:
    raise ZeroDivisionError("mine")


def symbol_of_another_graph() -> Any:
    graph = wg.Graph()
    return graph.add_input((2,), np.dtype(float))


def ragged() -> Any:
    return [[1.0, 2.0], [3.0]]


# fmt: off
CASES = [
    # -- gradient functions
    Case("grad of a number", lambda: wg.grad(3), TypeError, ("grad(f)", "callable", "got int")),
    Case("value_and_grad of a string", lambda: wg.value_and_grad("f"), TypeError, ("value_and_grad(f)", "callable", "got str")),
    Case("grads of None", lambda: wg.grads(None), TypeError, ("grads(f)", "callable", "got NoneType")),
    Case("variable_grads of a tensor", lambda: wg.variable_grads(T), TypeError, ("variable_grads(f)", "callable", "got Tensor")),
    Case("argnums a string", lambda: wg.grad(np.sin, argnums="x"), TypeError, ("grad", "argnums", "'x'", "int")),
    Case("argnums twice the same", lambda: wg.grad(np.sin, argnums=(0, 0)), ValueError, ("grad", "argnums", "(0, 0)", "distinct")),
    Case("argnums too large", lambda: wg.grad(np.sin, argnums=2)(X), ValueError, ("grad", "argnums 2", "1 were given")),
    Case("unknown mode", lambda: wg.grad(np.sin, unconnected_gradients=7), ValueError, ("unconnected_gradients", "7", "'error', 'zero' or 'none'")),
    Case("integer argument", lambda: wg.grad(np.sin)(np.arange(3)), TypeError, ("x:", "dtype int64", "floating")),
    Case("bool argument", lambda: wg.grad(np.sin)(True), TypeError, ("x:", "bool")),
    Case("text argument", lambda: wg.grad(np.sin)("abc"), TypeError, ("x:", "str", "'abc'", "wanted an array")),
    Case("ragged argument", lambda: wg.grad(np.sin)(ragged()), ValueError, ("x:", "ragged", "[[1.0, 2.0], [3.0]]")),
    Case("integer leaf", lambda: wg.grad(lambda p: p["a"] * 2.0)({"a": np.arange(2)}), TypeError, ("p['a']", "int64", "floating")),
    Case("dy of another shape", lambda: wg.grad(np.sin)(X, dy=[1.0]), ValueError, ("grad: dy", "(1,)", "(2,)")),
    Case("complex dy", lambda: wg.grad(np.sin)(X, dy=[1j, 2j]), TypeError, ("grad: dy", "complex128", "float64", "real goes with real")),
    Case("dy a string", lambda: wg.grad(np.sin)(X, dy="abc"), TypeError, ("grad: dy", "str", "wanted an array")),
    Case("grads of a tensor", lambda: wg.grads(np.sin)(T), TypeError, ("grads", "list or tuple", "got Tensor")),
    Case("grads of nothing", lambda: wg.value_and_grads(np.sin)([]), ValueError, ("value_and_grads", "empty")),
    Case("f returns None", lambda: wg.grad(lambda x: None)(X), TypeError, ("grad: f must return one tensor", "got NoneType")),
    Case("f returns two", lambda: wg.value_and_grad(lambda x: (x, x))(X), TypeError, ("value_and_grad: f must return one tensor", "got tuple", "has_aux")),
    Case("aux is missing", lambda: wg.grad(lambda x: x, has_aux=True)(X), TypeError, ("grad: with has_aux=True", "pair", "got Tensor")),
    Case("complex result", lambda: wg.grad(lambda z: z * z)(1j), TypeError, ("grad: f returned complex", "complex128", "dy")),
    Case("argument not used", lambda: wg.grad(lambda x: T)(X), wg.DisconnectedError, ("grad:", "on x", "f does not use it")),
    Case("leaf not used", lambda: wg.grad(lambda p: p["a"] * 2)({"a": X, "b": X}), wg.DisconnectedError, ("grad:", "p['b']", "f does not use it")),
    Case("stopped", lambda: wg.grad(lambda x: wg.stop_gradient(x))(X), wg.DisconnectedError, ("grad:", "on x", "stop_gradient stops the gradient")),
    Case("cast to integer", lambda: wg.grad(lambda x: wg.astype(x, "int32") * 1.0)(X), wg.DisconnectedError, ("grad:", "on x", "convert gives int32 values")),
    Case("number taken out", lambda: wg.grad(lambda x: x.item() * 2.0)(3.0), wg.DisconnectedError, ("grad:", "on x", "Tensor.item()")),
    Case("integer result", lambda: wg.grad(lambda x: np.argmax(x))(X), wg.DisconnectedError, ("grad:", "on x", "int64")),
    # -- Variables
    Case("var_list of numbers", lambda: wg.variable_grads(lambda: W, [1]), TypeError, ("variable_grads: var_list", "Variables")),
    Case("vector loss", lambda: wg.variable_grads(lambda: W * 2), ValueError, ("variable_grads: f must return a scalar", "(2,)")),
    Case("nothing trainable", lambda: wg.variable_grads(lambda: FROZEN, [FROZEN]), ValueError, ("variable_grads:", "none of the 1 Variables is trainable")),
    Case("nothing connected", lambda: wg.variable_grads(lambda: 1.0), ValueError, ("variable_grads:", "no trainable Variable is connected")),
    Case("assign another shape", lambda: W.assign([1.0, 2.0, 3.0]), ValueError, ("weights.assign", "(2,)", "(3,)")),
    Case("assign float to int", lambda: N.assign([1.5, 2.0]), TypeError, ("counts.assign", "int64", "float64")),
    Case("assign complex to real", lambda: W.assign_add([1j, 2j]), TypeError, ("weights.assign", "float64", "complex128")),
    Case("assign text", lambda: W.assign("abc"), TypeError, ("weights.assign", "str", "wanted an array")),
    Case("Variable of text", lambda: wg.Variable("abc"), TypeError, ("Variable", "str", "wanted an array")),
    # -- making tensors
    Case("ragged tensor", lambda: wg.tensor(ragged()), ValueError, ("tensor:", "ragged")),
    Case("text tensor", lambda: wg.tensor("abc"), TypeError, ("tensor:", "str", "wanted an array")),
    Case("list of text", lambda: wg.tensor(["a", "b"]), TypeError, ("tensor:", "'a'", "wanted numbers")),
    Case("object array", lambda: wg.tensor(np.array([None, 1])), TypeError, ("tensor:", "object", "not supported")),
    Case("unknown dtype", lambda: wg.tensor(1.0, dtype="datetime64[s]"), TypeError, ("datetime64", "not supported", "float64")),
    Case("tensors of different shapes", lambda: wg.tensor([T, wg.tensor([1.0])]), ValueError, ("tensor:", "different shapes", "(2,)", "(1,)")),
    Case("no dtype at all", lambda: wg.tensor(1.0, dtype="float7"), TypeError, ("'float7'", "not a dtype", "float64")),
    Case("default float an int", lambda: wg.set_default_float("int32"), TypeError, ("set_default_float", "int32", "floating")),
    # -- ops
    Case("shapes do not broadcast", lambda: wg.ops.add(X, np.ones(3)), ValueError, ("add", "(2,)", "(3,)", "broadcast")),
    Case("shapes in a gradient", lambda: wg.grad(lambda x: x * np.ones(3))(X), ValueError, ("mul", "(2,)", "(3,)", "broadcast")),
    Case("op on text", lambda: wg.ops.sin("abc"), TypeError, ("sin:", "wanted an array", "str")),
    Case("bool subtraction", lambda: wg.tensor([True]) - wg.tensor([False]), TypeError, ("sub", "bool", "wanted number")),
    Case("bits of floats", lambda: wg.ops.bitwise_and(T, T), TypeError, ("bitwise_and", "float64", "integer")),
    Case("number too large", lambda: wg.tensor(np.int8([1])) + 1000, OverflowError, ("1000", "int8", "out of bounds")),
    Case("negative integer power", lambda: wg.tensor([2, 3]) ** -1, ValueError, ("power", "negative")),
    Case("axis out of range", lambda: wg.ops.sum(T, axis=3), ValueError, ("sum:", "axis 3", "1 dimension")),
    Case("axis twice", lambda: wg.ops.sum(M, axis=(0, 0)), ValueError, ("sum:", "axis (0, 0)", "repeats")),
    Case("axis of another type", lambda: wg.ops.max(T, axis="x"), TypeError, ("max:", "axis", "'x'", "integer")),
    Case("reshape to another size", lambda: wg.ops.reshape(T, (3,)), ValueError, ("reshape", "(2,)", "(3,)")),
    Case("matrices do not fit", lambda: wg.grad(lambda m: np.matmul(m, M))(M), ValueError, ("matmul", "(2, 3)")),
    Case("concatenate different shapes", lambda: wg.ops.concatenate([M, np.ones((2, 2, 2))]), ValueError, ("concatenate", "(2, 3)", "(2, 2, 2)")),
    Case("index out of range", lambda: wg.ops.take(T, [5]), IndexError, ("take", "5", "2")),
    Case("too many indices", lambda: T[0, 0], IndexError, ("too many", "1")),
    Case("float index", lambda: T[0.5], IndexError, ("0.5", "integer")),
    # -- numbers that would be lost
    Case("float of a tensor", lambda: wg.grad(lambda x: float(x) * 2)(3.0), wg.LostGradientError, ("float", "gradient would be lost")),
    Case("array of a tensor", lambda: wg.grad(lambda x: np.asarray(x))(X), wg.LostGradientError, ("asarray", "gradient would be lost")),
    Case("tolist", lambda: wg.grad(lambda x: x.tolist())(X), wg.LostGradientError, ("Tensor.tolist()", "gradient would be lost")),
    Case("writing complex numbers into a tensor", lambda: wg.tensor(X).__setitem__(0, 1j), TypeError, ("complex", "imaginary part")),
    Case("adding in place what does not fit", lambda: wg.tensor(X).__iadd__(np.ones((2, 2))), ValueError, ("+=", "shape (2,)", "(2, 2)")),
    Case("adding floats to integers in place", lambda: wg.tensor([1, 2]).__iadd__(X), TypeError, ("+=", "float64", "int64", "same_kind")),
    Case("writing to a tensor from outside of the function", lambda: wg.function(lambda x: T.__setitem__(0, x))(1.0), wg.TracingError, ("outside", "wg.buffer", "wg.Variable")),
    Case("truth of many", lambda: bool(T), ValueError, ("truth", "2 elements", ".any() or .all()")),
    # -- traces
    Case("if on a symbol", lambda: wg.function(lambda x: x if x > 0 else -x)(1.0), wg.TracingError, ("truth of a symbolic tensor", "wg.cond")),
    Case("number of a symbol", lambda: wg.function(lambda x: x.item())(1.0), wg.TracingError, ("Tensor.item()", "symbolic")),
    Case("float of a symbol", lambda: wg.function(lambda x: float(x))(1.0), wg.LostGradientError, ("float", "being traced")),
    Case("symbol outside its trace", lambda: wg.ops.sin(symbol_of_another_graph()), ValueError, ("sin", "symbolic", "outside the trace")),
    Case("function of a number", lambda: wg.function(3), TypeError, ("function", "callable", "got int")),
    Case("unknown engine", lambda: wg.function(np.sin, engine="abacus"), ValueError, ("function", "'abacus'", "'numpy'")),
    Case("shape of a spec", lambda: wg.TensorSpec(("n",)), TypeError, ("TensorSpec", "('n',)", "ints and Nones")),
    # -- structures
    Case("register twice", lambda: wg.tree.register(Case, list, tuple) and wg.tree.register(Case, list, tuple), ValueError, ("tree.register", "Case", "already")),
    Case("structures differ", lambda: wg.tree.map(max, {"a": 1}, {"b": 1}), ValueError, ("tree.map", "{'a': *}", "{'b': *}")),
    Case("too few leaves", lambda: wg.tree.unflatten(wg.tree.flatten((1, 2))[1], [1]), ValueError, ("tree.unflatten", "fewer leaves")),
    Case("too many leaves", lambda: wg.tree.unflatten(wg.tree.flatten((1, 2))[1], [1, 2, 3]), ValueError, ("tree.unflatten", "more leaves")),
    Case("ravel of text", lambda: wg.tree.ravel({"a": "text"}), TypeError, ("tree.ravel", "str", "wanted an array")),
    Case("unravel another length", lambda: wg.tree.ravel({"a": X})[1](np.ones(3)), ValueError, ("unravel", "2 numbers", "(3,)")),
    # -- gradient checks
    Case("check of a number", lambda: wg.check_gradients(3, X), TypeError, ("check_gradients", "callable", "got int")),
    Case("check of text", lambda: wg.check_gradients(np.sin, "3"), TypeError, ("check_gradients", "no argument of f is floating", "str")),
    Case("check in a mode", lambda: wg.check_gradients(np.sin, X, modes="sideways"), ValueError, ("check_gradients", "'sideways'", "'reverse' or 'forward'")),
]
# fmt: on


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_bad_input(case):
    with pytest.raises(case.error) as caught, np.errstate(all="ignore"):
        case.run()
    assert type(caught.value) is case.error or case.error in (ValueError, IndexError), type(caught.value)
    text = str(caught.value)
    missing = [fragment for fragment in case.says if fragment not in text]
    assert not missing, f"{missing} not in {text!r}"
    code = case.run.__code__
    assert code.co_filename in text, text
    assert linecache.getline(code.co_filename, code.co_firstlineno).strip() in text, text
    require_nothing_open()


def require_nothing_open():
    assert STATE.recorders == ()
    assert STATE.builder is None
    assert STATE.reading == ()
    np.testing.assert_array_equal(wg.grad(lambda x: x * x)(X), [2, 4])


def test_there_are_enough_cases():
    assert len(CASES) >= 45
    assert len({c.name for c in CASES}) == len(CASES)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError])
@pytest.mark.parametrize(
    "run",
    [
        lambda f: wg.grad(f)(X),
        lambda f: wg.value_and_grad(f)(X),
        lambda f: wg.grads(f)([X]),
        lambda f: wg.variable_grads(lambda: f(W)),
        lambda f: wg.grad(wg.grad(f))(X),
        lambda f: wg.function(f)(X),
        lambda f: wg.grad(wg.function(f))(X),
        lambda f: wg.function(wg.grad(f))(X),
        lambda f: wg.check_gradients(f, X),
    ],
)
def test_exceptions_in_f_come_through_and_leave_nothing_open(run, error):
    def f(x):
        y = x * x
        if y.shape:
            raise error("mine")
        return y

    with pytest.raises(error, match="mine"):
        run(f)
    require_nothing_open()


def test_an_exception_in_the_backward_pass_leaves_nothing_open():
    @wg.custom_gradient
    def f(x):
        def backward(upstream):
            raise ZeroDivisionError("mine")

        return x * x, backward

    with pytest.raises(ZeroDivisionError, match="mine"):
        wg.grad(f)(X)
    with pytest.raises(ZeroDivisionError, match="mine"):
        wg.grad(lambda x: wg.grad(f)(x) * 2)(X)
    require_nothing_open()


def test_a_generator_that_is_dropped_halfway():
    """A tape opened by a call is closed by that call; nothing depends on when garbage is collected."""

    def outer(x):
        inner = (wg.grad(lambda t: t * x)(v) for v in (1.0, 2.0))
        return next(inner) * x

    assert wg.grad(outer)(3.0) == 6
    require_nothing_open()
