"""`wengert profile`: runs a script and says of each compiled function what ran where."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import argparse
import contextlib
import html
import json
import runpy
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wengert.cli.commands import CANNOT_WORK, SUCCESS
from wengert.programs.profiling import Calls, profiled


def add_profile(commands: Any) -> None:
    """Adds `profile` to a command line's subparsers."""
    profile = commands.add_parser(
        "profile", help="run a script and show what ran as machine code, by a library, by NumPy",
        description="Runs a script and prints a report of each wg.function that it called: its calls, and of a call "
        "like the last one what ran where, with time, bytes and the line. Exits 2 where the script fails.",
    )  # fmt: skip
    profile.add_argument(
        "--json", action="store_true", help="print one JSON object; what the script prints goes to stderr"
    )
    profile.add_argument("--html", type=Path, metavar="FILE", help="write the reports as a page, too, with pictures")
    profile.add_argument("script", type=Path, metavar="script.py")
    profile.add_argument("arguments", nargs="*", help="what the script finds in sys.argv; options of its own after --")
    profile.set_defaults(run=run_profile)


def run_profile(options: argparse.Namespace) -> int:
    """The reports; 2 where the script cannot be read or fails (what it called until then is reported)."""
    if not options.script.is_file():
        print(f"wengert profile: {options.script}: there is no such file", file=sys.stderr)
        return CANNOT_WORK
    began = time.perf_counter()
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, profiled() as calls:
        code = _run(options.script, options.arguments)
    seconds = time.perf_counter() - began
    with aside if options.json else contextlib.nullcontext():  # a report runs the function once more
        found = [(c, c.report()) for c in calls]
    if options.html is not None:
        try:
            options.html.write_text(_page(options.script, found), encoding="utf-8")
        except OSError as error:
            print(f"wengert profile: {options.html}: {error.strerror}", file=sys.stderr)
            return CANNOT_WORK
    if options.json:
        print(json.dumps({"script": str(options.script), "seconds": seconds, "functions": [*_as_dicts(found)]}))
        return code
    print(f"{options.script}: {seconds:.3g} s, {sum(c.seconds for c in calls):.3g} s of them in compiled functions")
    for c, report in found:
        print(f"\n{_told(c)}\n{report}")
    return code


def _told(c: Calls) -> str:
    return f"{c.count} call{'s' * (c.count != 1)}, {c.seconds:.3g} s (the first {c.first:.3g} s)"


def _page(script: Path, found: Sequence[tuple[Calls, Any]]) -> str:
    """The reports as a page that needs no other file."""
    title = html.escape(f"wengert profile {script.name}")
    parts = [f"<p>{_told(c)}</p>\n{report._repr_html_()}" for c, report in found]
    style = "body { font: 14px sans-serif; margin: 2em } td { padding-right: 1em; vertical-align: top }"
    head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return "\n".join([head, f"<h1>{title}</h1>", *parts, "</html>\n"])


def _as_dicts(found: Sequence[tuple[Calls, Any]]) -> Iterator[dict[str, Any]]:
    for c, report in found:
        yield {"calls": c.count, "total_seconds": c.seconds, "first_seconds": c.first, **report.to_dict()}


def _run(script: Path, arguments: Sequence[str]) -> int:
    """Runs the script as Python would; its exit code, or 2 after an error."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as error:
        return SUCCESS if error.code is None else error.code if isinstance(error.code, int) else CANNOT_WORK
    except Exception:
        traceback.print_exc()
        return CANNOT_WORK
    finally:
        sys.argv, sys.path[:] = before
    return SUCCESS
