"""`wengert profile`: runs a script and says of each compiled function what ran where."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import argparse
import contextlib
import html
import importlib.util
import json
import os
import runpy
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wengert._core.tracebacks import fold
from wengert.cli.commands import CANNOT_WORK, FOUND_WRONG, SUCCESS, add_script_arguments
from wengert.programs.profiling import Calls, profiled


def add_profile(commands: Any) -> None:
    """Adds `profile` to a command line's subparsers."""
    profile = commands.add_parser(
        "profile", help="run a script and show what ran as machine code, by a library, by NumPy",
        description="Runs a script and prints a report of each wg.function that it called: its calls, and of a call "
        "like the last one what ran where, with time, bytes and the line. Exits as the script does, with 2 where it "
        "fails or is interrupted; what it called until then is reported.",
    )  # fmt: skip
    profile.add_argument(
        "--json", action="store_true", help="print one JSON object; what the script prints goes to stderr"
    )
    profile.add_argument("--html", type=Path, metavar="FILE", help="write the reports as a page, too, with pictures")
    profile.add_argument("-m", dest="is_module", action="store_true", help="run a module, as python -m does")
    profile.add_argument("script", metavar="script.py", help="the script, or with -m the module's name")
    add_script_arguments(profile)
    profile.set_defaults(run=run_profile)


def run_profile(options: argparse.Namespace) -> int:
    """The reports; 2 where the script cannot be read or fails (what it called until then is reported)."""
    if not _is_there(options):
        what = "there is no module of that name" if options.is_module else "there is no such file"
        print(f"wengert profile: {options.script}: {what}", file=sys.stderr)
        return CANNOT_WORK
    began = time.perf_counter()
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, profiled() as calls:
        code = _run(options)
    seconds = time.perf_counter() - began
    with aside if options.json else contextlib.nullcontext():  # a report runs the function once more
        found = [(c, _report_of(c)) for c in calls]
    if options.html is not None:
        try:
            options.html.write_text(_page(options.script, found), encoding="utf-8")
        except OSError as error:
            print(f"wengert profile: {options.html}: {error.strerror}", file=sys.stderr)
            return CANNOT_WORK
    if options.json:
        print(json.dumps({"script": options.script, "seconds": seconds, "functions": [*_as_dicts(found)]}))
        return code
    print(f"{options.script}: {seconds:.3g} s, {sum(c.seconds for c in calls):.3g} s of them in compiled functions")
    for c, report in found:
        print(f"\n{_told(c)}\n{report}")
    if not found:
        print("it has called no function that wg.function made")
    return code


class _Lack:
    """What stands for the report of a function that could not be called once more."""

    def __init__(self, c: Calls, error: Exception) -> None:
        self.name = c.function.name
        self.why = f"no report, since a call like the last one fails now: {type(error).__name__}: {error}"

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "error": self.why}


def _report_of(c: Calls) -> Any:
    try:
        return c.report()
    except Exception as error:  # of the user's function
        return _Lack(c, error)


def _told(c: Calls) -> str:
    return f"{c.count} call{'s' * (c.count != 1)}, {c.seconds:.3g} s (the first {c.first:.3g} s)"


def _page(script: str, found: Sequence[tuple[Calls, Any]]) -> str:
    """The reports as a page that needs no other file."""
    title = html.escape(f"wengert profile {os.path.basename(script)}")
    parts = [f"<p>{_told(c)}</p>\n{report._repr_html_()}" for c, report in found]
    style = (
        "body { font: 14px sans-serif; margin: 2em } table { border-collapse: collapse; margin: 1em 0 } "
        "th, td { padding: 2px 1em 2px 0; vertical-align: top; white-space: nowrap }"
    )
    head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return "\n".join([head, f"<h1>{title}</h1>", *parts, "</html>\n"])


def _as_dicts(found: Sequence[tuple[Calls, Any]]) -> Iterator[dict[str, Any]]:
    for c, report in found:
        yield {"calls": c.count, "total_seconds": c.seconds, "first_seconds": c.first, **report.to_dict()}


def _is_there(options: argparse.Namespace) -> bool:
    if not options.is_module:
        return Path(options.script).is_file()
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.util.find_spec(options.script) is not None
    except (ImportError, ValueError):  # as of a name below one that is no package
        return False


def _run(options: argparse.Namespace) -> int:
    """Runs the script as Python would; its exit code, or 2 after an error."""
    before = sys.argv, sys.path[:]
    sys.argv = [options.script, *options.arguments]
    try:
        if options.is_module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(options.script).resolve().parent))
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as error:
        return _exit_code(error)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return CANNOT_WORK
    except Exception as error:
        traceback.print_exception(type(error), error, _of_script(error))
        return CANNOT_WORK
    finally:
        sys.argv, sys.path[:] = before
    return SUCCESS


def _exit_code(error: SystemExit) -> int:
    """As Python's own: a message is printed."""
    if error.code is None or isinstance(error.code, int):
        return error.code or SUCCESS
    print(error.code, file=sys.stderr)
    return FOUND_WRONG


def _of_script(error: Exception) -> Any:
    """The traceback without our frames, from the script's own first line on."""
    fold(error)
    found = error.__traceback__
    while found is not None and found.tb_frame.f_globals.get("__name__") in (__name__, runpy.__name__):
        found = found.tb_next
    return found
