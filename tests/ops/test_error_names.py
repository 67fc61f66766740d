"""Wrong calls of every public op, generated: what is raised is Python's own kind of error, and names the op that was called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert._core.op import REGISTRY

NAMESPACES = {"wg": wg, "wg.ops": wg.ops, "wg.linalg": wg.linalg, "wg.fft": wg.fft, "wg.special": wg.special, "wg.nn": wg.nn,
              "wg.image": wg.image}  # fmt: skip
# These are NumPy's very objects, or no ops on arrays.
NOT_OPS = {
    *wnp._numpys_own.__all__, "Gradient", "array", "buffer", "checkpoint", "constant", "debug_print", "fftfreq", "gradients", "jacobian",
    "load", "not_differentiable", "register_gradient", "rfftfreq", "save", "set_default_float", "tensor", "value_and_jacobian",
}  # fmt: skip
KINDS = (
    TypeError,
    ValueError,
    IndexError,
    ZeroDivisionError,
    OverflowError,
    RuntimeError,
    NotImplementedError,
    LookupError,
)


def ops() -> list[Any]:
    found = []
    for home, namespace in NAMESPACES.items():
        for name in namespace.__all__:
            f = getattr(namespace, name)
            if name in NOT_OPS or not callable(f) or isinstance(f, type):
                continue
            try:
                parameters = [*inspect.signature(f).parameters.values()]
            except ValueError:
                continue
            needed = [
                p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
            if needed:
                found.append(pytest.param(f, name, parameters, len(needed), id=f"{home}.{name}"))
    return found


every_op = pytest.mark.parametrize(("f", "name", "parameters", "count"), ops())
ROW, SQUARE = np.arange(1.0, 5.0), np.eye(3) + 1


def require_name(f: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> None:
    """A call fails in the op's name, or it is one that the op takes."""
    message = name
    try:
        with np.errstate(all="ignore"):
            f(*args, **kwargs)
    except KINDS as error:
        message = str(error).partition("\n")[0]
    assert name in message or f.__name__ in message, message


@every_op
@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_text_for_an_array(f: Callable[..., Any], name: str, parameters: Any, count: int) -> None:
    row = wg.tensor(ROW)
    for place in range(count):
        require_name(f, name, *["abc" if i == place else row for i in range(count)])


@every_op
@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_axes_that_are_none(f: Callable[..., Any], name: str, parameters: Any, count: int) -> None:
    if any(p.name == "axis" and p.default is not p.empty for p in parameters):
        for axis in (99, -99, "x", 1.5):
            require_name(f, name, *[wg.tensor(SQUARE)] * count, axis=axis)


@every_op
@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_words_that_are_no_choice(f: Callable[..., Any], name: str, parameters: Any, count: int) -> None:
    for p in parameters:
        if isinstance(p.default, str):
            require_name(f, name, *[wg.tensor(SQUARE)] * count, **{p.name: "nonsense"})


@every_op
@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_shapes_that_do_not_fit(f: Callable[..., Any], name: str, parameters: Any, count: int) -> None:
    if count == 2:
        require_name(f, name, wg.tensor(np.ones(3)), wg.tensor(np.ones(4)))
        require_name(f, name, wg.tensor(np.ones((2, 3))), wg.tensor(np.ones((4, 5))))


@every_op
@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_kinds_that_do_not_fit(f: Callable[..., Any], name: str, parameters: Any, count: int) -> None:
    for row in (np.ones(3) * 1j, np.array([True, False])):
        require_name(f, name, *[wg.tensor(row)] * count)


def test_what_came_and_what_was_wanted() -> None:
    x = wg.tensor(ROW)
    for call, words in (
        (lambda: wg.subtract(x, np.ones(3)), ("subtract: shapes (4,) and (3,)",)),
        (lambda: wg.negative("a"), ("negative: wanted an array", "got str")),
        (lambda: wg.nn.glu(x, axis=4), ("glu: axis 4", "1 dimensions")),
        (lambda: np.subtract(x, np.ones(3)), ("subtract: shapes (4,) and (3,)",)),
        (lambda: wg.ops.repeat(x, "abc"), ("repeat:", "abc")),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert all(word in str(caught.value) for word in words), caught.value
        assert "tests/ops/test_error_names.py" in str(caught.value)


def test_errors_of_users_functions_stay_theirs() -> None:
    def f(x: Any) -> Any:
        return [1, 2][5]

    with pytest.raises(IndexError, match="^list index out of range$"):
        wg.apply_along_axis(f, 0, ROW)


def message_of(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[str]:
    """The lines of the error of a wrong call."""
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError, MemoryError)) as caught:
        f(*args, **kwargs)
    return str(caught.value).splitlines()


def test_the_argument_to_blame_is_shown_with_what_came() -> None:
    for lines, call in (
        (message_of(wg.ops.diagonal, SQUARE, offset=b"one"), "diagonal(..., offset=b'one')"),
        (message_of(wg.sin, "text"), "sin(x='text')"),
        (message_of(wg.tensor(ROW).sum, 9), "sum(x=<Tensor of shape (4,), float64>, axis=9)"),
        (message_of(wg.tensor(ROW).reshape, object()), "reshape("),
        (message_of(wg.grad(lambda x: wg.sum(wg.logaddexp(x, {1}))), ROW), "logaddexp(..., x2={1})"),
    ):
        assert lines[1].startswith(f"  in {call}"), lines
        assert lines[2].startswith("  at ")
        assert "test_error_names.py" in lines[2]


def test_where_blame_is_in_doubt_all_arguments_are_shown() -> None:
    lines = message_of(wg.add, np.ones((2, 3)), wg.tensor(np.ones(2)))
    assert lines[1] == "  in add(x1=<ndarray of shape (2, 3), float64>, x2=<Tensor of shape (2,), float64>)"
    assert message_of(wg.add, ROW, np.ones(3))[1].startswith("  in add(x1=<ndarray of shape (4,)")
    assert message_of(wnp.vsplit, SQUARE, 2)[1].endswith("indices_or_sections=2)")


def test_messages_that_name_the_argument_have_no_line_for_it() -> None:
    lines = message_of(wg.ops.matmul, np.ones((2, 3)), np.ones((2, 3)))
    assert "x1 has shape (2, 3)" in lines[0]
    assert [line[:5] for line in lines[1:]] == ["  at "]


def test_ragged_lists_are_no_index() -> None:
    x = wg.tensor(SQUARE)
    for index in ([[0], [1, 2]], [[True], [False, True]]):
        with pytest.raises(IndexError, match="the index is a ragged list"):
            x[index]


def test_functions_made_of_others_speak_in_their_own_name() -> None:
    for f in (wnp.diag, wnp.diagflat, wnp.tri):
        lines = message_of(f, *((3, 3) if f is wnp.tri else (SQUARE,)), b"k")
        assert lines[0].startswith(f"{f.__name__}: ")
        assert lines[1].startswith(f"  in {f.__name__}(")
        assert len(lines) == 3


def test_values_that_cannot_be_shown_are_named_by_their_class() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert message_of(wg.sin, Silent())[1] == "  in sin(x=<Silent>)"
    assert len(message_of(wg.sin, "long " * 1000)[1]) < 120
    assert "x=[1.0, [" in "".join(message_of(wg.ops.cumsum, [1.0, [2.0]] * 100))


def test_arrays_too_large_to_make_name_the_call() -> None:
    lines = message_of(wnp.resize, np.ones(2), (2**40, 2**20))
    assert lines[1].startswith("  in resize("), lines


def test_errors_of_users_functions_have_no_line_of_a_call() -> None:
    def f(x: Any) -> Any:
        raise ValueError("mine")

    for call in (lambda: wg.grad(f)(1.0), lambda: wg.vmap(f)(ROW), lambda: wg.apply_along_axis(f, 0, ROW)):
        assert message_of(call) == ["mine"]


PUBLIC = {name for home in (*NAMESPACES.values(), wnp, wg.random, wnp.linalg, np, np.linalg) for name in dir(home)}
REGIONS = ("call", "loop", "loop_back")  # what fails in them tells its own name


def is_ours_alone(name: str) -> bool:
    return name in REGISTRY and name not in PUBLIC


def test_ops_that_fail_on_values_have_a_name_for_messages() -> None:
    spoken = {op.called for op in REGISTRY.values() if op.can_raise} - {*REGIONS, "maximum_iterations"}
    assert not [*filter(is_ours_alone, spoken)]


def written(x: Any, i: Any) -> Any:
    x = x * 1
    x[i] = 2.0
    return x


FAIL_ON_VALUES: dict[str, Callable[..., Any]] = {
    "nanargmax": lambda x, i: np.nanargmax(x * np.nan),
    "nanargmin": lambda x, i: np.nanargmin(x * np.nan),
    "take": np.take,
    "take_along_axis": lambda x, i: np.take_along_axis(x, i, 0),
    "x[...]": lambda x, i: x[i],
    "x[...] of a number": lambda x, i: x[i[1]],
    "x[...] = v": written,
    "at.set": lambda x, i: x.at[i].set(1.0),
    "at.add": lambda x, i: x.at[i].add(1.0),
    "at.max": lambda x, i: x.at[i].max(1.0),
    "at.min": lambda x, i: x.at[i].min(1.0),
    "at.multiply": lambda x, i: x.at[i].multiply(1.0),
    "inv": lambda x, i: np.linalg.inv(np.outer(x, x)),
    "solve_triangular": lambda x, i: wg.linalg.solve_triangular(np.outer(x, x), x),
    "cholesky": lambda x, i: np.linalg.cholesky(-np.outer(x, x)),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", FAIL_ON_VALUES)
@pytest.mark.filterwarnings("ignore")
def test_messages_about_values_name_no_op_of_ours_alone(name: str, compiled: bool) -> None:
    f = FAIL_ON_VALUES[name]
    with pytest.raises((IndexError, ValueError)) as caught:
        (wg.function(f) if compiled else f)(wg.tensor(np.arange(4.0)), wg.tensor([1, 9]))
    words = str(caught.value).partition("\n")[0].replace(":", " ").split()
    assert not [*filter(is_ours_alone, words)], words
