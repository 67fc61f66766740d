"""What Pyodide offers is enough: plain Python wheels, no llvmlite, no threads, no processes, no files to write to.

NumPy for the browser is in no package index that tests may reach, so the same is refused here to a process of CPython.
README's blocks run in it, and a program for each part of the package.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT

REFUSED = """
import sys, threading
import numpy as np, scipy.integrate, scipy.linalg, scipy.optimize, scipy.special, scipy.stats, linecache, traceback

for absent in ("llvmlite", "resource", "fcntl", "termios", "_posixsubprocess"):
    sys.modules[absent] = None
sys.platform = "emscripten"


def refused(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, str) and (flags & 3 or any(c in (mode or "r") for c in "wax+")):
            raise OSError(30, "Read-only file system", path)
    if event in ("os.mkdir", "os.fork", "subprocess.Popen", "os.posix_spawn", "socket.connect", "ctypes.dlopen"):
        raise OSError(38, "Function not implemented", event)


def no_threads(*arguments, **options):
    raise RuntimeError("can't start new thread")


sys.addaudithook(refused)
threading.Thread.start = no_threads
sys.dont_write_bytecode = True
"""

PROGRAM = """
import wengert as wg

x = np.linspace(0.1, 1.0, 5)
f = wg.function(wg.value_and_grad(lambda x: np.sum(np.sin(x) * x)))
value, slope = f(x)
assert np.allclose(slope, np.cos(x) * x + np.sin(x)) and np.isclose(value, np.sum(np.sin(x) * x))
loop = wg.function(wg.grad(lambda a: wg.while_loop(lambda v: abs(v * v - a) > 1e-12, lambda v: (v + a / v) / 2, a)))
assert np.isclose(loop(2.0), 0.5 / np.sqrt(2.0))
steps = wg.scan(lambda c, v: (c + v * v, c), 0.0, x)
assert np.isclose(steps[0], np.sum(x * x))
assert np.allclose(wg.hessian(lambda v: np.sum(v**3))(x), np.diag(6 * x))
assert np.allclose(wg.vmap(wg.grad(np.cos))(x), -np.sin(x))
assert np.isclose(wg.jvp(np.exp, (0.0,), (2.0,))[1], 2.0)
with wg.GradientTape() as tape:
    t = wg.tensor(x)
    tape.watch(t)
    y = np.sum(np.linalg.solve(np.outer(t, t) + 2 * np.eye(5), t))
assert np.all(np.isfinite(tape.gradient(y, t).numpy()))
end = lambda k: wg.integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(2), rtol=1e-8).y[0, -1]
assert np.isclose(wg.grad(end)(0.7), -np.exp(-0.7), rtol=1e-5)
low = wg.optimize.minimize(lambda v: wg.sum((v - 3.0) ** 2), np.zeros(2))
assert np.allclose(low.x, 3.0)
key = wg.random.key(1)
assert wg.random.normal(key, (4,)).shape == (4,)
assert np.isclose(wg.grad(lambda s: wg.stats.norm.logpdf(0.3, 0.0, s))(2.0), -0.5 + 0.09 / 8)
adopted = wg.adopt("colorsys", skip=())
print("all right")
"""


def test_no_compiler_no_threads_no_files() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED + PROGRAM], capture_output=True, text=True, check=False, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all right"
    assert not done.stderr, "nothing is told of what is not there"


@pytest.mark.parametrize(
    ("platform", "machine", "is_wanted"),
    [
        ("linux", "x86_64", True),
        ("linux", "aarch64", True),
        ("darwin", "arm64", True),
        ("win32", "AMD64", True),
        ("emscripten", "wasm32", False),
        ("linux", "riscv64", False),
    ],
)
def test_llvmlite_is_required_only_where_it_exists(platform: str, machine: str, is_wanted: bool) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (llvmlite,) = [r for r in map(Requirement, project["dependencies"]) if r.name == "llvmlite"]
    assert llvmlite.marker is not None
    here = {"sys_platform": platform, "platform_machine": machine, "platform_python_implementation": "CPython"}
    assert llvmlite.marker.evaluate(here) is is_wanted
