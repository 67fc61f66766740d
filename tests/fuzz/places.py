"""Oracles that take a program elsewhere: to a framework's arrays, to a file, to another process."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.fuzz.case import Case, accepted
from tests.fuzz.comparing import Outcome, Refused, outcome_of
from tests.fuzz.program import Program
from tests.support.engines import NAMES, native

FRAMEWORKS = ("jax", "torch", "tensorflow")
REPOSITORY = Path(__file__).parents[2]


def engines(case: Case) -> None:
    """A framework's arrays give what NumPy's give."""
    installed = [name for name in FRAMEWORKS if name in NAMES and importlib.util.find_spec(name) is not None]
    if not installed:
        raise Refused("no framework is installed")
    variant = case.numbers.choice(["values", "gradient", "gradient"])
    engine = case.numbers.choice(installed)

    def way(f: Callable[..., Any]) -> Any:
        return case.run(case.variant(variant, f))

    wanted = case.wanted(way)
    placed = [native(engine, np.array(x)) for x in case.arrays()]
    with_layer = case.numbers.choice([wg.function, lambda f: f])
    f = with_layer(case.variant(variant))
    try:
        found = outcome_of(f, placed)
    except NotImplementedError as error:
        raise Refused("the framework cannot") from error
    if isinstance(found, type):
        raise Refused(found.__name__) if _is_refusal(f, placed) else AssertionError(f"{engine}: {found.__name__}")
    case.agree(found, wanted, f"{variant} on {engine}", way)


REFUSALS = ("no kernel", "cannot", "not supported", "does not", "LostGradient", "numbers of")


def _is_refusal(f: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    """Whether what is raised says that the framework cannot do it."""
    try:
        f(*arrays)
    except Exception as error:
        return any(text in str(error) for text in REFUSALS) or isinstance(
            error, (wg.TracingError, wg.LostGradientError)
        )
    return False


def saved(case: Case) -> None:
    """A function that was saved and loaded gives the same bits, and its gradient is the same."""
    variant = case.numbers.choice(["values", "gradient"])

    def way(f: Callable[..., Any]) -> Any:
        return case.run(case.variant(variant, f))

    fn = wg.function(case.variant(variant))
    wanted = accepted(case.run(fn))
    if isinstance(wanted, type):
        raise Refused(wanted.__name__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.wg"
        try:
            wg.save(fn, path)
        except TypeError as error:
            if "cannot be saved" in str(error):
                raise Refused("cannot be saved") from error
            raise
        loaded = wg.load(path)
    case.bits(case.run(loaded), wanted, f"{variant}: loaded, saved")
    if variant == "values":
        gradient = case.wanted(lambda f: case.run(case.variant("gradient", f)))
        found = accepted(case.run(case.variant("gradient", loaded)))
        case.agree(
            found, gradient, "the gradient of a loaded function, eager", lambda f: case.run(case.variant("gradient", f))
        )


def processes(case: Case) -> None:
    """Other processes, the second of which finds the code that the first has left on disk, give the same bits."""
    wanted = digest(case.program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.pickle"
        path.write_bytes(pickle.dumps(case.program))
        for what in ("a process", "a process that finds compiled code"):
            found = _elsewhere(path, Path(folder) / "cache")
            assert found == wanted, f"{what} gives {found}, this one {wanted}"


def _elsewhere(path: Path, cache: Path) -> str:
    environment = {**os.environ, "WENGERT_CACHE_DIR": str(cache), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.places", str(path)], cwd=REPOSITORY, env=environment, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"a process ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


def digest(program: Program) -> str:
    """The bits of a program's values and gradient, compiled."""
    case = Case(program, "processes")
    return " ".join(_digest(case.run(wg.function(case.variant(name)))) for name in ("values", "gradient"))


def _digest(found: Outcome) -> str:
    if isinstance(found, type):
        return found.__name__
    told = hashlib.sha256()
    for x in found:
        bits = np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" and x.dtype.itemsize > 2 else x
        told.update(f"{x.shape} {x.dtype.name}".encode() + np.ascontiguousarray(bits).tobytes())
    return told.hexdigest()[:16]


if __name__ == "__main__":
    print(digest(pickle.loads(Path(sys.argv[1]).read_bytes())))
