"""The commands `wengert check` and `wengert graph`, of a user's function, and `wengert run`, of a script.

A function is named as `module:function`. Values are written as Python literals (`x=1.5`, `w=[1, 2]`) or read from a
file (`x=@data.npy`); nothing else is run but the module itself.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

import wengert as wg
from wengert.adopt import run_script

SUCCESS, FOUND_WRONG, CANNOT_WORK = 0, 1, 2
_SPEC = re.compile(r"(\w+)\[([^\]]*)\]")


class UsageError(Exception):
    """What the user wrote cannot be understood, or the function cannot be run."""


def add_commands(commands: Any) -> None:
    """Adds `check` and `graph` to a command line's subparsers."""
    check = commands.add_parser(
        "check", help="hold a function's gradient against finite differences",
        description="Checks the gradient of module:function by finite differences. Exits 1 where they disagree.",
    )  # fmt: skip
    _add_function(check)
    check.add_argument("--order", type=int, choices=(1, 2), default=2, help="2 checks the gradient's gradient, too")
    check.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    check.set_defaults(run=run_check)

    graph = commands.add_parser(
        "graph", help="draw the graph of a function",
        description="Traces module:function and writes its graph: .svg a picture, .dot GraphViz, .txt a listing.",
    )  # fmt: skip
    _add_function(graph)
    graph.add_argument(
        "--spec", nargs="+", default=[], metavar="DTYPE[SHAPE]", help="types instead of values: float64[3,None]"
    )
    graph.add_argument("--grad", action="store_true", help="the graph of the gradient")
    graph.add_argument("-o", "--output", type=Path, default=Path("graph.svg"), help="the file (default: %(default)s)")
    graph.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    graph.set_defaults(run=run_graph)

    run = commands.add_parser(
        "run", help="run a script with its NumPy code followed",
        description="Runs a script so that its imports of numpy, scipy and math, and those of its neighbours, are "
        "recorded: what it differentiates with wengert may be plain NumPy code.",
    )  # fmt: skip
    run.add_argument("script", type=Path, metavar="script.py")
    add_script_arguments(run)
    run.set_defaults(run=run_run)


def add_script_arguments(parser: argparse.ArgumentParser) -> None:
    """Leaves what follows a script's name to the script, options too."""
    words = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script finds in sys.argv")
    words.required = False  # argparse would name them beside a script that is missing


def _add_function(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="MODULE:FUNCTION")
    parser.add_argument(
        "--at", nargs="+", default=[], metavar="NAME=VALUE", help="arguments: a number, a list, or @file.npy"
    )


def run_check(options: argparse.Namespace) -> int:
    """`wengert check`: 0 where the gradient agrees, 1 where it does not, 2 where it could not be found out."""
    try:
        f = named_function(options.function)
        arguments = point(f, options.at)
        checked = wg.check_gradients(f, *arguments, order=options.order)
    except wg.GradientCheckError as error:
        if options.json:
            print(json.dumps({"passed": False, "message": str(error)}))
        else:
            print(f"wengert check: {error}", file=sys.stderr)
        return FOUND_WRONG
    except Exception as error:
        return _refused("check", error)
    if options.json:
        report = {"passed": True, "checked": checked.checked, "largest_error": float(checked.largest_error)}
        print(json.dumps(report))
    else:
        print(f"{checked.checked:,} partial derivatives agree (largest relative error {checked.largest_error:.1e})")
    return SUCCESS


def run_graph(options: argparse.Namespace) -> int:
    """`wengert graph`: writes the picture, or exits 2."""
    try:
        f = named_function(options.function)
        arguments = [spec_of(word) for word in options.spec] if options.spec else point(f, options.at)
        graph = _traced(wg.grad(f) if options.grad else f, arguments)
        writers = {".svg": graph.to_svg, ".dot": graph.to_dot, ".txt": graph.to_text}
        write = writers.get(options.output.suffix)
        if write is None:
            raise UsageError(f"{options.output}: wanted a name that ends in .svg, .dot or .txt")
        options.output.write_text(write() + "\n", encoding="utf-8")
    except Exception as error:
        return _refused("graph", error)
    if options.json:
        print(json.dumps({"ops": len(graph.nodes), "file": str(options.output)}))
    else:
        print(f"{len(graph.nodes)} ops, {options.output}")
    return SUCCESS


def _traced(f: Callable[..., Any], arguments: Sequence[Any]) -> wg.Graph:
    function = cast("wg.Function[..., Any]", f if isinstance(f, wg.Function) else wg.function(f))
    return function.trace(*arguments)


def _refused(command: str, error: Exception) -> int:
    kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
    print(f"wengert {command}: {kind}{error}", file=sys.stderr)
    return CANNOT_WORK


def named_function(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules of the working directory are found, too."""
    module_name, colon, path = name.partition(":")
    if not (module_name and colon and path):
        raise UsageError(f"{name!r}: wanted module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found: Any = importlib.import_module(module_name)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{name} is not callable")
    return found


def point(f: Callable[..., Any], words: Sequence[str]) -> list[Any]:
    """The arguments for f, in its order, from words `name=value`."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r}: wanted NAME=VALUE")
        values[name] = _value(text)
    parameters = inspect.signature(f).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        unknown = [name for name in values if name not in parameters]
        if unknown:
            raise UsageError(f"the function has no argument {', '.join(unknown)}; it is called as {_shown(f)}")
    first = [values.pop(n) for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY and n in values]
    try:
        bound = inspect.signature(f).bind(*first, **values)
    except TypeError as error:
        raise UsageError(f"the arguments do not fit the function: {error}; it is called as {_shown(f)}") from None
    if bound.kwargs:
        raise UsageError(f"keyword-only arguments cannot be given: {', '.join(bound.kwargs)}")
    return list(bound.args)


def _shown(f: Callable[..., Any]) -> str:
    return f"{getattr(f, '__name__', 'f')}{inspect.signature(f)}"


def _value(text: str) -> Any:
    if text.startswith("@"):
        try:
            return np.load(text[1:], allow_pickle=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read {text[1:]}: {error}") from None
    try:
        value: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word is a string
    if not isinstance(value, list):
        return value
    array = np.array(cast("list[Any]", value))
    return array.astype(np.float64) if array.dtype.kind in "iu" else array  # [1, 2] is a point as [1.0, 2.0] is


def spec_of(word: str) -> wg.TensorSpec:
    """A type such as `float64[3,None]`."""
    match = _SPEC.fullmatch(word.replace(" ", ""))
    if match is None:
        raise UsageError(f"{word!r}: wanted a type such as float64[3,None]")
    dtype, shape = match.groups()
    return wg.TensorSpec([None if d == "None" else int(d) for d in shape.split(",") if d], dtype)


def run_run(options: argparse.Namespace) -> int:
    """`wengert run`: the script's own exit; 2 where it cannot be read."""
    if not options.script.is_file():
        return _refused("run", UsageError(f"{options.script}: there is no such file"))
    run_script(options.script, options.arguments)
    return SUCCESS
