"""What following code of others costs: three packages adopted and one script run, for docs/adopt.md.

Each row has the value by the original, the gradient by the copy, its distance from a difference of two values, and the
times of both. `make test-packages` installs the packages: `.venv-packages/bin/python benchmarks/adopted.py`; one that
is not there is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wengert as wg

ROWS: dict[str, tuple[str, Callable[[Any, Any], Any], float]] = {
    "chemicals": ("vapour pressure of water, IAPWS", lambda m, x: m.Psat_IAPWS(x), 350.0),
    "pymap3d": ("height seen from a place", lambda m, x: m.geodetic2enu(x, 30.0, 100.0, 41.0, 31.0, 10.0)[2], 40.0),
    "fluids": ("drag of a sphere", lambda m, x: m.drag_sphere(x), 200.0),
}  # fmt: skip

MODEL = """
import math

import numpy as np


def trajectory(speed, angle, steps=200, drag=0.02, time=0.02):
    track = np.zeros((steps, 2))
    vx, vy = speed * math.cos(angle), speed * math.sin(angle)
    for i in range(1, steps):
        size = math.sqrt(vx**2 + vy**2)
        vx -= time * drag * size * vx
        vy -= time * (9.81 + drag * size * vy)
        track[i] = track[i - 1] + np.array([vx, vy]) * time
    return track
"""
SCRIPT = """
import time

import model
import numpy as np

import wengert as wg

measured = model.trajectory(30.0, 0.7)


def misfit(speed, angle):
    return float(np.mean((model.trajectory(speed, angle) - measured) ** 2))


gradient = wg.grad(misfit, argnums=(0, 1))
times = []
for _ in range(5):
    start = time.perf_counter()
    found = gradient(28.0, 0.8)
    times.append(time.perf_counter() - start)
print(*found, min(times))
"""


def seconds(f: Callable[[], Any]) -> float:
    """The least time of a call."""
    f()
    times = []
    for _ in range(30):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def package_row(name: str) -> str:
    """A row of the table: the original and the copy of a package."""
    if importlib.util.find_spec(name) is None:
        return f"| {name}: not installed, left out | | | | |"
    what, f, x = ROWS[name]
    original, copy = importlib.import_module(name), wg.adopt(name)
    gradient = wg.grad(lambda x: f(copy, x))
    found, step = gradient(x), 1e-5 * x
    slope = (f(original, x + step) - f(original, x - step)) / (2 * step)
    plain, followed = seconds(lambda: f(original, x)), seconds(lambda: gradient(x))
    return (
        f"| {name}: {what} | {found:.8g} | {abs(found - slope) / abs(slope):.0e} | "
        f"{microseconds(plain)} | {microseconds(followed)} |"
    )


def microseconds(time: float) -> str:
    """A time with two digits or more."""
    return f"{time * 1e6:.1f} µs" if time < 1e-5 else f"{time * 1e6:,.0f} µs"


def script_row() -> str:
    """A row of the table: a script and its model, run by the command line."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("model", MODEL), ("fit", SCRIPT)):
            Path(folder, f"{name}.py").write_text(text)
        command = [sys.executable, "-c", "import wengert.cli; wengert.cli.main()", "run", str(Path(folder, "fit.py"))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        speed, angle, taken = map(float, done.stdout.split())
        scope: dict[str, Any] = {}
        exec(MODEL, scope)
        measured = scope["trajectory"](30.0, 0.7)

        def misfit(v: float) -> float:
            return float(((scope["trajectory"](v, 0.8) - measured) ** 2).mean())

        slope = (misfit(28.001) - misfit(27.999)) / 0.002
        plain = seconds(lambda: misfit(28.0))
    return (
        f"| a script: misfit of a trajectory of 200 written rows | ({speed:.8g}, {angle:.8g}) | "
        f"{abs(speed - slope) / abs(slope):.0e} | {microseconds(plain)} | {microseconds(taken)} |"
    )


def main() -> None:
    """Prints the table."""
    print("| program | gradient | distance from differences | value by the original | gradient by the copy |")
    print("|---|---|---|---|---|")
    for name in ROWS:
        print(package_row(name))
    print(script_row())


if __name__ == "__main__":
    main()
