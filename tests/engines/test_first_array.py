"""Whatever comes first in a process finds its engine; those of frameworks load with the first array of theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

FIRST = {
    "an array": "print(float(wg.sin(np.zeros(1))[0]))",
    "a subclass of a user": ("class Mine(np.ndarray):\n    pass\nprint(float(wg.sin(np.zeros(1).view(Mine))[0]))"),
    "a map of a file": "print(float(wg.sin(np.memmap('zeros', np.float64, 'w+', shape=1))[0]))",
    "a number": "print(float(wg.sin(0.0)))",
    "no operand": "print(float(wg.zeros(())))",
    "a loop": "print(float(wg.while_loop(lambda x: x > 0, lambda x: x - 1, 3.0)))",
    "a compiled function": "print(float(wg.function(lambda x: wg.sin(x))(0.0)))",
    "a gradient": "print(float(wg.grad(wg.cos)(0.0)))",
    "a random number": "print(0.0 * float(wg.random.normal(wg.random.key(0), ())))",
    "eight threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "sys.setswitchinterval(1e-6)\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(sum(pool.map(lambda i: float(wg.grad(lambda x: i * wg.cos(x))(0.0)), range(8))))"
    ),
}


@pytest.mark.parametrize("first", FIRST)
def test_whatever_comes_first(first: str, tmp_path: Path) -> None:
    source = f"import sys\nimport numpy as np\nimport wengert as wg\n{FIRST[first]}"
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    run = subprocess.run([sys.executable, "-c", path + source], cwd=tmp_path, capture_output=True, text=True)
    assert run.stderr == ""
    assert float(run.stdout) == 0


@pytest.mark.parametrize("framework", ["jax", "torch", "tensorflow"])
def test_numpys_engine_is_there_when_a_frameworks_is(framework: str) -> None:
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    source = f"from wengert._engines import {framework}; from wengert._core.engine import ENGINES; print([*ENGINES])"
    run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(["numpy", framework])
