"""Wrong calls of all public functions: the calls of their docstrings' examples, with one argument replaced by a wrong one."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import re
import signal
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
import wengert.numpy as wnp
from wengert._core.state import STATE

LIMIT = 5.0  # seconds for one call; what takes longer hangs

# What they do stays: a wrong call that is taken would show in other tests. Those of frameworks need them.
LEFT_OUT = {
    "set_default_float", "set_memory_budget", "register", "register_gradient", "not_differentiable", "from_jax",
    "from_torch", "from_tensorflow", "primitive", "load", "save", "disable_v2_behavior",
    "UnconnectedGradients",  # Python's enum, whose errors are Python's
}  # fmt: skip

PLAIN = (TypeError, ValueError, IndexError, OverflowError)  # errors of ours derive from them


def cyclic_list() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = [1.0]
    found.append(found)
    return found


def cyclic_dict() -> dict[str, Any]:
    """A dictionary that holds itself."""
    found: dict[str, Any] = {"a": 1.0}
    found["self"] = found
    return found


WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "an object": object,
    "text": lambda: "text",
    "-1": lambda: -1,
    "0": lambda: 0,
    "-99": lambda: -99,
    "99": lambda: 99,
    "2**63": lambda: 2**63,
    "-2**70": lambda: -(2**70),
    "1.5": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "1j": lambda: 1j,
    "four axes": lambda: np.ones((2, 3, 1, 2)),
    "no elements": lambda: np.zeros((0,)),
    "a matrix without rows": lambda: wg.tensor(np.zeros((0, 3))),
    "an array of text": lambda: np.array(["a", "b"]),
    "an array of booleans": lambda: np.array([True, False]),
    "an array of objects": lambda: np.array([None, 1], dtype=object),
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "an empty list": list,
    "a list that holds itself": cyclic_list,
    "a dict that holds itself": cyclic_dict,
    "a dict": lambda: {"a": 1.0},
    "a set": lambda: {1, 2},
    "a function": lambda: lambda *args, **kwargs: None,
    "a type": lambda: int,
    "bytes": lambda: b"bytes",
    "a slice": lambda: slice(3),
}


class Call(NamedTuple):
    """A call that is right."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Wrong(NamedTuple):
    """A call with one wrong argument: its position or name, and which value."""

    right: Call
    place: int | str
    value: str

    def __str__(self) -> str:
        return f"{self.right.name}(... {self.place} = {self.value})"

    @property
    def argument(self) -> str:
        """The name of the parameter that takes the wrong value; "" where that is not known, or its default came."""
        parameters: dict[str, inspect.Parameter] = {}
        with contextlib.suppress(ValueError):
            parameters = {**inspect.signature(self.right.f).parameters}
        name = self.place
        if isinstance(name, int):
            names = [*parameters]
            several = next((i for i, p in enumerate(parameters.values()) if p.kind is p.VAR_POSITIONAL), len(names))
            name = names[min(name, several)] if min(name, several) < len(names) else ""
        is_default = self.value == "None" and name in parameters and parameters[name].default is None
        return "" if is_default else name

    def run(self) -> Any:
        """Makes the call."""
        args, kwargs, wrong = [*self.right.args], dict(self.right.kwargs), WRONG[self.value]()
        if isinstance(self.place, int):
            args[self.place] = wrong
        else:
            kwargs[self.place] = wrong
        result = self.right.f(*args, **kwargs)
        if inspect.isgenerator(result):
            result.close()
        return result


class TooLongError(BaseException):
    """A call took longer than the limit."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises in the main thread after a time."""

    def stop(*_: Any) -> None:
        raise TooLongError

    if not hasattr(signal, "SIGALRM"):  # Windows has none: what hangs hangs the test
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def callables() -> dict[str, Callable[..., Any]]:
    """The public functions and classes that have an example, by their names."""
    homes: dict[str, types.ModuleType] = {"wg": wg, "wnp": wnp}
    for name in (
        "ops", "ops.image", "linalg", "fft", "nn", "random", "special", "stats", "signal", "image", "integrate", "optimize",
        "tree", "array_api", "array_api.linalg", "array_api.fft",
    ):  # fmt: skip
        home: Any = wg
        for part in name.split("."):
            home = getattr(home, part)
        homes[name] = home
    found: dict[str, Callable[..., Any]] = {}
    seen: set[int] = set()
    for home, module in homes.items():
        for name in module.__all__:
            f = getattr(module, name)
            is_numpys = f is getattr(np, name, None)  # whose errors are NumPy's
            if (
                callable(f)
                and not is_numpys
                and name not in LEFT_OUT
                and id(f) not in seen
                and ">>>" in (f.__doc__ or "")
            ):
                seen.add(id(f))
                found[f"{home}.{name}"] = f
    return found


class _Recorded(ast.NodeTransformer):
    """Gives the calls of a function in an example to a recorder, which makes them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        written = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if written != self.name:
            return node
        return ast.Call(ast.Name("__recorded__", ast.Load()), [node.func, *node.args], node.keywords)


def right_calls(name: str, f: Callable[..., Any]) -> list[Call]:
    """The calls of a function in its docstring's example."""
    found: list[Call] = []

    def recorded(called: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if called is f:
            found.append(Call(name, f, args, kwargs))
        return called(*args, **kwargs)

    names: dict[str, Any] = {"__recorded__": recorded, "__name__": "__main__"}
    for example in doctest.DocTestParser().get_examples(textwrap.dedent(f.__doc__ or "")):
        tree = _Recorded(name.rpartition(".")[2]).visit(ast.parse(example.source))
        try:
            with contextlib.redirect_stdout(io.StringIO()), time_limit(LIMIT):
                exec(compile(ast.fix_missing_locations(tree), f"<example of {name}>", "exec"), names)
        except Exception:  # an example of an error
            continue
    return found[:2]


def wrong_calls(right: Call) -> list[Wrong]:
    """Each argument of a call, and each that it leaves out, with each wrong value."""
    places: list[int | str] = [*range(len(right.args)), *right.kwargs]
    try:
        parameters = [*inspect.signature(right.f).parameters.values()]
    except ValueError:
        parameters = []
    for number, p in enumerate(parameters):
        is_named = p.kind is p.KEYWORD_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and number >= len(right.args))
        if is_named and p.name not in right.kwargs:
            places.append(p.name)
    return [Wrong(right, place, value) for place in places for value in WRONG]


def _is_examples(error: BaseException) -> bool:
    """Whether it was raised by a function that the example hands in, in its own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith("<example of")


def _is_named(words: tuple[str, ...], message: str) -> bool:
    return any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9])", message) for word in words)


def unnamed(wrong: Wrong, error: BaseException) -> str:
    """What the message does not name in front of the user's line: the function or the argument, or ""."""
    if type(error).__module__ == "wengert.errors":  # they tell of gradients, and of what the user's line calls
        return ""
    message = str(error).partition("\n  at ")[0]
    if not _is_named((wrong.right.name.rpartition(".")[2], wrong.right.f.__name__), message):
        return f"{wrong}: does not name the function: {type(error).__name__}: {message}"
    if not wrong.argument or _is_named((wrong.argument,), message):
        return ""
    return f"{wrong}: does not name {wrong.argument}: {type(error).__name__}: {message}"


def complaint(wrong: Wrong) -> str:
    """What is not as it should be in what a wrong call does, or ""."""
    try:
        with time_limit(LIMIT), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            wrong.run()
    except PLAIN as error:
        said = str(error)
        if isinstance(error, (RecursionError, UnicodeError)) or not said:
            return f"{wrong}: {type(error).__name__}: {said}"
        if not _is_examples(error):
            return unnamed(wrong, error)
    except MemoryError as error:  # of a size that no machine has
        return unnamed(wrong, error)
    except TooLongError:
        # a loop without an end is the user's own
        return "" if wrong.right.f in (wg.while_loop, wg.fori_loop) else f"{wrong}: does not end"
    except BaseException as error:
        if _is_examples(error):
            return ""
        if type(error).__name__ not in (wrong.right.f.__doc__ or ""):  # an error that the docstring announces
            return f"{wrong}: {type(error).__name__}: {str(error)[:300]}"
    if STATE.recorders or STATE.builder is not None:
        return f"{wrong}: leaves a tape or a trace open"
    return ""
