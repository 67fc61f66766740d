"""A controller without Python: a pendulum is steered by the gradient of what it will do, a thousand times a second.

`cost` runs the pendulum ahead under some forces and says how far it is from standing on its head. Its value and
gradient are exported as C source; `pendulum/main.c` descends along the gradient each millisecond (model-predictive
control), and is compiled here with the machine's C compiler. What it prints says that the pendulum stands, and how
long a step took.

    python examples/pendulum.py
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
import wengert.numpy as wnp

HORIZON, STEP = 40, 0.02
MAIN = Path(__file__).with_name("pendulum") / "main.c"


def cost(state: Any, forces: Any) -> Any:
    """How far the pendulum is from standing still upright, over the next steps."""

    def ahead(now: Any, force: Any) -> tuple[Any, Any]:
        angle, speed = now
        speed = speed + STEP * (force - 9.81 * wnp.sin(angle) - 0.05 * speed)
        angle = angle + STEP * speed
        off = 20.0 * (1.0 + wnp.cos(angle)) + 0.5 * speed**2 + 0.01 * force**2
        return (angle, speed), off

    (angle, speed), off = wg.scan(ahead, (state[0], state[1]), forces)
    return STEP * wnp.sum(off) + 20.0 * (1.0 + wnp.cos(angle)) + speed**2


class Flight(NamedTuple):
    """How a run of the controller ended: the angle, the speed, and the microseconds that a step took."""

    angle: float
    speed: float
    microseconds: float


def exported(folder: Path) -> Path:
    """Writes the value and gradient of the cost as C source."""
    plan = wg.function(wg.value_and_grad(cost, argnums=1), name="plan")
    path = folder / "plan.c"
    plan.export(path, np.zeros(2), np.zeros(HORIZON))
    return path


def flown(folder: Path, *options: str) -> Flight:
    """Compiles the controller and runs six seconds of it; options go to the compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("this example needs a C compiler (cc or gcc)")
    source, program = exported(folder), folder / "controller"
    words = [compiler, "-std=c11", "-O2", "-Wall", "-Werror", *options, f"-I{folder}", str(MAIN), str(source)]
    subprocess.run([*words, "-lm", "-o", str(program)], check=True)
    told = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return Flight(*map(float, told.split()))


def main(arguments: list[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        flight = flown(Path(folder))
    print(f"after six seconds: cos(angle) = {np.cos(flight.angle):.4f} (-1 is up), speed {flight.speed:.4f}")
    print(f"a step of control took {flight.microseconds:.1f} us; a millisecond is 1000")


if __name__ == "__main__":
    main()
