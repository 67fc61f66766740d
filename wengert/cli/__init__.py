"""Owns the command line: `demo` and `info` here, `check`, `graph`, `run` in `commands.py`, the others in a file each.

Exit codes: 0 when all is well, 1 when a command did its work and found something wrong (an accuracy too
low, a gradient that fails its check), 2 when it could not do its work (bad arguments, an unwritable file).
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import wengert as wg
from wengert import _engines
from wengert._core import system
from wengert._core.progress import Bar
from wengert._engines.native import engine as native
from wengert.cli.commands import CANNOT_WORK, FOUND_WRONG, SUCCESS, add_commands
from wengert.cli.completion import add_completion
from wengert.cli.demo.digits import Digits, load_digits, split_digits
from wengert.cli.demo.examples import EXAMPLES
from wengert.cli.demo.figure import draw_figure
from wengert.cli.demo.training import (
    Training,
    accuracy,
    check_loss_gradient,
    pixel_evidence,
    train,
)
from wengert.cli.profile import add_profile
from wengert.errors import SITE

REQUIRED_ACCURACY = 0.95
IMAGES_IN_GRADIENT_CHECK = 8

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# The package whose version says most about an engine, where it is not the engine's own name.
ENGINE_PACKAGES = {"native": "llvmlite"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: the words after the program's name; those of this process by default.

    Returns:
        The exit code. Bad arguments leave through `SystemExit(2)`, as argparse does.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return CANNOT_WORK
    except BrokenPipeError:
        # The reader went away (`wengert info | head -1`); keep the interpreter's last flush quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT_WORK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wengert", description="Exact gradients of NumPy array programs.")
    parser.add_argument("--version", action="version", version=f"wengert {_version_of('wengert')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="train a classifier of handwritten digits and draw what it learned",
        description="Trains a classifier of handwritten digits with SciPy's L-BFGS on exact gradients, "
        f"checks the gradient and draws the result. Exits 1 below {REQUIRED_ACCURACY:.0%} held-out accuracy.",
    )
    demo.add_argument("-o", "--output", type=Path, default=Path("demo.svg"), help="the picture (default: %(default)s)")
    demo.add_argument("--iterations", type=_positive, default=150, help="the most L-BFGS steps (default: %(default)s)")
    demo.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    demo.add_argument(
        "--list", action="store_true", help="list the whole tasks that the documentation works through instead"
    )
    demo.set_defaults(run=_run_demo)

    info = commands.add_parser("info", help="versions, threads and the engines found")
    info.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    info.set_defaults(run=_run_info)
    add_commands(commands)
    add_profile(commands)
    add_completion(commands, parser)
    return parser


def _positive(word: str) -> int:
    try:
        number = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _run_demo(options: argparse.Namespace) -> int:
    if options.list:
        return _list_examples(options.json)
    # Flushed, so that lines and the progress on stderr keep their order in a log.
    say = _silent if options.json else partial(print, flush=True)
    train_digits, test_digits = split_digits(load_digits())
    learned_from, held_out = len(train_digits.labels), len(test_digits.labels)
    say(f"data            {learned_from:,} handwritten digits to learn from, {held_out} held out")

    batch = train_digits.take(slice(IMAGES_IN_GRADIENT_CHECK))
    try:
        checked = check_loss_gradient(batch)
    except wg.GradientCheckError as error:
        return _complain(f"the gradient check failed\n{error}", FOUND_WRONG)
    say(f"gradient check  {checked:,} partial derivatives agree with finite differences")

    progress = Bar(options.iterations, sys.stderr)
    try:
        training = train(
            train_digits,
            test_digits,
            options.iterations,
            on_step=lambda step, loss: progress.step(step, f"loss {loss:.4f}"),
        )
    finally:
        progress.close()
    share = accuracy(training.parameters, test_digits)
    first, last, last_held_out = training.train_losses[0], training.train_losses[-1], training.test_losses[-1]
    say(
        f"training        {training.iterations} L-BFGS steps, {training.gradients_taken} gradients, "
        f"{training.seconds:.1f} s"
    )
    say(f"loss            {first:.3f} -> {last:.4f} (held out {last_held_out:.4f})")
    say(f"accuracy        {share:.1%} of the held-out digits ({round(share * held_out)} of {held_out})")

    try:
        options.output.write_text(_draw_training(training, train_digits, test_digits, share), encoding="utf-8")
    except OSError as error:
        return _complain(f"cannot write {options.output}: {error.strerror}", CANNOT_WORK)
    say(f"picture         {options.output}")

    if options.json:
        print(json.dumps(_demo_report(training, share, checked, learned_from, held_out, options.output)))
    if share < REQUIRED_ACCURACY:
        return _complain(f"accuracy {share:.1%} is below {REQUIRED_ACCURACY:.0%}", FOUND_WRONG)
    return SUCCESS


def _list_examples(as_json: bool) -> int:
    if as_json:
        print(json.dumps([{"page": f"{SITE}{e.page}.md", "title": e.title} for e in EXAMPLES]))
        return SUCCESS
    width = max(len(e.page) for e in EXAMPLES) + len(SITE) + len(".md")
    for e in EXAMPLES:
        print(f"{f'{SITE}{e.page}.md':<{width}}  {e.title}")
    return SUCCESS


def _complain(what: str, code: int) -> int:
    print(f"wengert demo: {what}", file=sys.stderr)
    return code


def _draw_training(training: Training, train_digits: Digits, test_digits: Digits, share: float) -> str:
    hidden_weights = training.parameters["hidden"]
    subtitle = (
        f"64 pixels – {hidden_weights.shape[1]} hidden units – 10 digits; "
        f"{len(train_digits.labels):,} images to learn from, "
        f"{share:.1%} right on {len(test_digits.labels)} held out"
    )
    return draw_figure(
        hidden_weights,
        pixel_evidence(training.parameters, test_digits),
        training.train_losses,
        training.test_losses,
        subtitle,
    )


def _demo_report(
    training: Training, share: float, checked: int, learned_from: int, held_out: int, figure: Path
) -> dict[str, Any]:
    return {
        "passed": share >= REQUIRED_ACCURACY,
        "accuracy": share,
        "required_accuracy": REQUIRED_ACCURACY,
        "loss": training.train_losses[-1],
        "held_out_loss": training.test_losses[-1],
        "train_images": learned_from,
        "held_out_images": held_out,
        "iterations": training.iterations,
        "gradients": training.gradients_taken,
        "seconds": training.seconds,
        "message": training.message,
        "gradient_check": {
            "passed": True,
            "partial_derivatives": checked,
            "images": IMAGES_IN_GRADIENT_CHECK,
        },
        "figure": str(figure),
    }


def _silent(line: str) -> None:
    """Stands in for print where only JSON may come out."""


def _run_info(options: argparse.Namespace) -> int:
    facts = _facts()
    if options.json:
        print(json.dumps(facts))
        return SUCCESS
    for heading, entries in facts.items():
        print(heading)
        for name, value in entries.items():
            print(f"  {name:<24}{'not set' if value is None else value}")
    return SUCCESS


def _facts() -> dict[str, dict[str, Any]]:
    versions = {name: _version_of(name) for name in ("wengert", "numpy", "scipy", "ml_dtypes")}
    versions["python"] = platform.python_version()
    threads: dict[str, Any] = {"processors": system.SYSTEM.processors()}
    threads |= {name: os.environ.get(name) for name in THREAD_VARIABLES}
    engines = {name: _engine_state(name) for name in _engine_names()}
    return {"versions": versions, "threads": threads, "engines": engines}


def _engine_names() -> list[str]:
    """Every package below `wengert._engines` is an engine."""
    return sorted(module.name for module in pkgutil.iter_modules(_engines.__path__) if module.ispkg)


def _engine_state(engine: str) -> str:
    package = ENGINE_PACKAGES.get(engine, engine)
    if importlib.util.find_spec(package) is None:
        state = f"absent ({package} is not installed)"
    elif engine == "native" and (reason := native.lack()):
        state = f"off ({reason})"
    else:
        return f"ready ({package} {_version_of_module(package)})"
    return f"{state}: NumPy's kernels run" if engine == "native" else state


def _version_of_module(module: str) -> str:
    """The version of what a module came with, which may have another name: `tensorflow` of tensorflow-cpu."""
    names = importlib.metadata.packages_distributions().get(module, [module])
    return _version_of(names[0])


def _version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
