"""Custom gradients of ours in Keras layers, in training and row by row: the same on the backends TensorFlow, JAX and torch.

The rows are in tests/support/keras_rows.py; Keras has one backend in a process, so each runs in a process of its own.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import SUPPORT

SCRIPT = SUPPORT / "keras_rows.py"
NAMES = [
    node.name for node in ast.parse(SCRIPT.read_text()).body
    if isinstance(node, ast.FunctionDef) and any(isinstance(d, ast.Name) and d.id == "row" for d in node.decorator_list)
]  # fmt: skip


def run(script: Path, backend: str) -> Any:
    """A program on a backend of Keras."""
    environment = {
        **os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.pathsep.join(sys.path),
        "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    return subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)


@functools.cache
def results(backend: str) -> dict[str, str]:
    done = run(SCRIPT, backend)
    return dict.fromkeys(NAMES, done.stderr) if done.returncode else json.loads(done.stdout.splitlines()[-1])


def parameter(backend: str) -> object:
    missing = [p for p in ("keras", backend) if importlib.util.find_spec(p) is None]
    return pytest.param(backend, marks=pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"))


@pytest.mark.xdist_group("keras")
@pytest.mark.parametrize("backend", [*map(parameter, ("tensorflow", "jax", "torch"))])
@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_right_on_the_backend(name: str, backend: str) -> None:
    found = results(backend)[name]
    assert found == "ok", found


@pytest.mark.xdist_group("keras")
@pytest.mark.parametrize("backend", [parameter("jax")])  # those of the others drop what is excluded
def test_vectorize_is_keras_for_all_signatures(backend: str) -> None:
    done = run(SUPPORT / "vectorize_rows.py", backend)
    assert done.returncode == 0, done.stderr
    count, differing = json.loads(done.stdout.splitlines()[-1])
    assert count > 150 and not differing, "\n".join(differing)
