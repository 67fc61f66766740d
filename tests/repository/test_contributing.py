"""CONTRIBUTING.md's "Add an op" is a diff that works: applied to a copy of the package it gives a complete op."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DIFF_BLOCK = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)

USE_OF_THE_OP = """
import numpy as np
import wengert as wg
from tests.support.engines import move
from wengert._core.tensor import fresh

points = np.array([-1000.0, -1.5, 0.0, 0.5, 1000.0])
moderate = points[1:4]
slope = np.tanh(points)

value = wg.log_cosh(points)
assert type(value) is np.ndarray and value.dtype == np.float64
np.testing.assert_allclose(value[1:4], np.log(np.cosh(moderate)), rtol=1e-14, atol=1e-16)
np.testing.assert_allclose(value[[0, 4]], 1000 - np.log(2), rtol=1e-15)
assert type(wg.log_cosh(0.5)) is np.float64
assert type(wg.log_cosh(wg.tensor(points))) is wg.Tensor
assert wg.log_cosh(points.astype(np.float32)).dtype == np.float32
assert wg.log_cosh(3).dtype == np.float64
assert wg.ops.log_cosh is wg.log_cosh and "log_cosh" in wg.__all__

for f in (wg.log_cosh, wg.function(wg.log_cosh)):
    gradient = wg.grad(f)
    np.testing.assert_allclose(f(points), value, rtol=1e-15)
    np.testing.assert_allclose(gradient(points), slope, rtol=1e-14)
    np.testing.assert_allclose(wg.grad(gradient)(points), 1 - slope**2, rtol=1e-12, atol=1e-15)

on_python = move(fresh(points), "python")
pulled = wg.grad(wg.log_cosh)(on_python)
assert pulled.engine == "python"
np.testing.assert_allclose(pulled.numpy(), slope, rtol=1e-14)
wg.check_gradients(wg.log_cosh, moderate)
"""


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its tests with the documented diff applied."""
    if shutil.which("git") is None:
        pytest.skip("git, which applies the diff, is not installed")
    copy = tmp_path_factory.mktemp("checkouts") / "checkout"
    # neither what git ignores nor what belongs to an environment
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", "_build", "_generated", "dist")
    )
    (diff,) = DIFF_BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert diff.count("diff --git") == 2, "an elementwise op is its declaration and its public function"
    # git must not take the copy for a part of a repository around it
    subprocess.run(["git", "init", "--quiet", str(copy)], check=True)
    applied = subprocess.run(
        ["git", "apply", "--whitespace=error-all", "-"],
        cwd=copy,
        input=diff,
        capture_output=True,
        text=True,
        check=False,
    )
    assert applied.returncode == 0, applied.stderr
    return copy


def run_python(folder: Path, *arguments: str) -> None:
    # `-c` and `-m` put the current folder before all other places, so the copy is what is imported
    run = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def run_pytest(folder: Path, *arguments: str) -> None:
    run_python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments)


def test_the_new_op_passes_every_test_that_names_it(patched: Path) -> None:
    """Whatever is parametrised over the ops, or over the public functions, has the op's name in its cases."""
    run_pytest(patched, "tests", "wengert/ops", "-k", "log_cosh")


@pytest.mark.slow  # a minute; of what the others run only the completeness of tables and pages is new here
def test_the_new_op_leaves_no_table_incomplete(patched: Path) -> None:
    """Tests that go over all ops in one case, and therefore do not name it."""
    folders = (
        "prims",
        "engines/test_conformance.py",
        "engines/native/test_ops.py",
        "ops/test_vocabulary.py",
        "transforms/test_sparsity.py",
    )
    pages = ("test_docs.py", "test_guides.py", "test_imports.py", "test_typing.py")
    tests = [*(f"tests/{name}" for name in folders), *(f"tests/repository/{name}" for name in pages)]
    run_pytest(patched, *tests, "-k", "not [")


def test_the_new_op_serves_users(patched: Path) -> None:
    run_python(patched, "-c", USE_OF_THE_OP)
