"""Wrong calls of every public op, generated: what is raised is Python's own kind of error, and names the op that was called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

NAMESPACES = {"wg": wg, "wg.ops": wg.ops, "wg.linalg": wg.linalg, "wg.fft": wg.fft, "wg.special": wg.special, "wg.nn": wg.nn,
              "wg.image": wg.image}  # fmt: skip
# These are NumPy's very objects, or no ops on arrays.
NOT_OPS = {
    *wnp._own.__all__, "Gradient", "array", "buffer", "checkpoint", "constant", "debug_print", "fftfreq", "gradients", "jacobian",
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
