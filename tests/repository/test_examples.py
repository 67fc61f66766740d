"""The worked examples in examples/ find what they promise, and need no more than NumPy, SciPy and Wengert."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}


def loaded(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES[name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_these_are_all() -> None:
    assert [*EXAMPLES] == ["cart_pole", "fixed_point", "kalman", "newton", "ode_fit", "pendulum", "train"]


def test_newton(capsys: pytest.CaptureFixture[str]) -> None:
    result = loaded("newton").main([])
    for e, E in result.E.items():
        np.testing.assert_allclose(E - e * np.sin(E), result.M, rtol=1e-14)  # rounding: two steps past convergence
    assert len({*result.steps[0.9]}) > 2  # the number of steps depends on the data
    assert result.errors[0][0] > 1e-3  # a stop by the value alone is too early for the derivative
    assert result.errors[1][0] < 1e-10  # quadratic convergence: the square of what 1e-6 leaves
    assert max(result.errors[2]) < 1e-14  # rounding
    np.testing.assert_allclose(*result.de, rtol=1e-12)  # rounding, in a sum of 61 terms
    assert "extra steps" in capsys.readouterr().out


def test_fixed_point(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("fixed_point")
    result = example.main([])
    assert all(difference < 100 * tolerance for tolerance, difference in result.differences.items())
    assert np.all(np.diff(np.log(result.changes[:30])) < 0)  # it contracts; later changes are rounding
    assert np.sqrt(np.mean((result.fitted - result.y) ** 2)) < 0.03  # of a curve that reaches from -0.9 to 0.9
    assert result.losses[-1] < 0.01 * result.losses[0]
    assert "after training" in capsys.readouterr().out


def test_fixed_point_gradient_is_that_of_differences() -> None:
    example = loaded("fixed_point")
    p = example.initial_parameters()
    x = np.linspace(-2, 2, 5)[:, None]
    y = np.sin(x[:, 0])
    direction = {name: np.random.default_rng(7).normal(size=value.shape) for name, value in p.items()}

    def moved(t: float) -> dict[str, np.ndarray]:
        return {name: p[name] + t * direction[name] for name in p}

    h = 1e-5
    for layer in (example.iterated, example.implicit):
        ahead, behind = (example.loss(layer, moved(t), x, y, 1e-13) for t in (h, -h))
        gradient = wg.grad(example.loss, argnums=1)(layer, p, x, y, 1e-13)
        found = sum(np.sum(gradient[name] * direction[name]) for name in p)
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), rtol=1e-6)  # differences: h**2, and 1e-16 / h


@pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="there is no C compiler")
def test_cart_pole(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("cart_pole")
    plan = example.main([])
    np.testing.assert_allclose(plan.states[[0, -1]], [example.START, example.END], atol=1e-6)
    steps, unknowns = len(plan.forces), np.concatenate([plan.states.reshape(-1), plan.forces])
    jacobian = wg.jacobian(example.defects, sparsity="detect")(unknowns, steps).toarray()
    gradient = wg.grad(example.effort)(unknowns, steps)
    left = gradient - jacobian.T @ np.linalg.lstsq(jacobian.T, gradient, rcond=None)[0]
    assert (
        abs(left).max() < 1e-4 * abs(gradient).max()
    )  # no direction that the constraints leave open lowers the effort
    assert "largest force" in capsys.readouterr().out


def test_pendulum(tmp_path: Path) -> None:
    flight = loaded("pendulum").flown(tmp_path, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    assert np.cos(flight.angle) < -0.999  # it stands on its head
    assert abs(flight.speed) < 0.05  # and rests, but for what the last descents still change


def test_kalman(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("kalman")
    result = example.main([])
    np.testing.assert_allclose(*result.gradients, rtol=1e-7)  # central differences with h = 1e-5
    np.testing.assert_allclose(*result.log_likelihood, rtol=1e-9)  # the dense one factors a matrix of 270 rows
    true = np.array([example.TRUE_DRIVE, example.TRUE_NOISE])
    assert np.all(np.abs(np.log(result.levels / true)) < 3 * result.errors)
    assert np.all(result.errors < 0.25)  # a wide error would make the line above say nothing
    assert "log-likelihood" in capsys.readouterr().out


def test_ode_fit(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("ode_fit")
    result = example.main([])
    np.testing.assert_allclose(*result.gradients, rtol=1e-4)  # the solver's steps change between evaluations
    assert np.all(np.abs(np.log(result.found / example.TRUE)) < 4 * result.errors)
    assert np.all(result.errors < 0.05)  # a wide error would make the line above say nothing
    assert result.evaluations < 100
    assert "fitted in" in capsys.readouterr().out


WITHOUT_MATPLOTLIB = """
import runpy, sys
from importlib import util
find_spec = util.find_spec
util.find_spec = lambda name, package=None: None if name == "matplotlib" else find_spec(name, package)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_script(source: str, example: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", source, str(EXAMPLES[example]), *arguments], cwd=folder,
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("example", [name for name, path in EXAMPLES.items() if "--plot" in path.read_text()])
def test_a_picture_without_matplotlib_is_refused_before_anything_is_computed(example: str, tmp_path: Path) -> None:
    run = run_script(WITHOUT_MATPLOTLIB, example, "--plot", "picture.svg", folder=tmp_path)
    assert run.returncode == 2
    assert run.stdout == ""
    assert "pip install 'wengert[plot]'" in run.stderr
    assert not [*tmp_path.iterdir()]


ALONE = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
assert "matplotlib" not in sys.modules
"""


def test_a_script_runs_by_itself_without_matplotlib(tmp_path: Path) -> None:
    run = run_script(ALONE, "newton", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Kepler's equation")


def test_train(capsys: pytest.CaptureFixture[str]) -> None:
    assert loaded("train").main(["--epochs", "3"]) > 0.9
    assert "gradient norm" in capsys.readouterr().out
