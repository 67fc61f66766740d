"""Wengert as a tool of GradBench: a session over its protocol, results against formulas written out here."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln

from tests.support.paths import ROOT

TOOL = ROOT / "benchmarks" / "gradbench"
pytestmark = pytest.mark.skipif(not TOOL.is_dir(), reason="an installed package has no benchmarks")
RNG = np.random.default_rng(3)


def session(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"id": i} | m) + "\n" for i, m in enumerate(messages))
    done = subprocess.run(
        [sys.executable, str(TOOL / "run.py")], input=lines, capture_output=True, text=True, check=True,
        cwd=ROOT,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_message_has_its_answer() -> None:
    answers = session([
        {"kind": "start", "eval": "hello"}, {"kind": "define", "module": "hello"}, {"kind": "define", "module": "ba"},
        {"kind": "evaluate", "module": "hello", "function": "double", "input": 3.0},
        {"kind": "evaluate", "module": "lse", "function": "primal", "input": {"min_runs": 1}},
        {"kind": "analysis", "of": 3, "valid": True},
    ])  # fmt: skip
    assert [a["id"] for a in answers] == [0, 1, 2, 3, 4, 5]
    assert answers[0]["tool"] == "wengert"
    assert answers[1]["success"] is True
    assert answers[2]["success"] is False and "ba" in answers[2]["error"]
    assert answers[3]["output"] == 6.0
    assert [t["name"] for t in answers[3]["timings"]] == ["warmup", "evaluate"]
    assert answers[4]["success"] is False and "KeyError" in answers[4]["error"]
    assert answers[5] == {"id": 5}


def test_runs_as_often_and_as_long_as_asked() -> None:
    given = {"x": [1.0, 2.0], "min_runs": 7, "min_seconds": 0.02}
    (answer,) = session([{"kind": "evaluate", "module": "lse", "function": "primal", "input": given}])
    assert [t["name"] for t in answer["timings"]].index("evaluate") == 1  # behind the run that compiles
    taken = [t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate"]
    assert len(taken) >= 7 and 0.02e9 <= sum(taken) < 0.02e9 + 7 * max(taken)


def test_many_sizes_are_no_reason_to_warn() -> None:
    given = [{"x": RNG.normal(size=n).tolist(), "min_runs": 1, "min_seconds": 0} for n in range(65, 73)]
    lines = [{"kind": "evaluate", "module": "lse", "function": "primal", "input": g} for g in given]
    done = subprocess.run(
        [sys.executable, str(TOOL / "run.py")], input="".join(json.dumps({"id": 0} | m) + "\n" for m in lines),
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stderr == ""


def test_an_unknown_function_is_told_and_the_session_goes_on() -> None:
    runs = {"min_runs": 1, "min_seconds": 0}
    answers = session([
        {"kind": "evaluate", "module": "lse", "function": "nothing", "input": runs},
        {"kind": "evaluate", "module": "nothing", "function": "primal", "input": runs},
        {"kind": "evaluate", "module": "lse", "function": "primal", "input": runs | {"x": [0.0]}},
    ])  # fmt: skip
    assert [a["success"] for a in answers] == [False, False, True]
    assert "nothing" in answers[0]["error"] and "nothing" in answers[1]["error"]


def test_evals_are_those_listed() -> None:
    listed = (TOOL / "evals.txt").read_text().split()
    assert listed == sorted(f.stem for f in (TOOL / "evals").glob("[a-z]*.py"))


def test_the_image_is_built_from_the_root_of_gradbench() -> None:
    lines = (TOOL / "Dockerfile").read_text().splitlines()
    assert lines[-1] == "LABEL org.opencontainers.image.source=https://github.com/gradbench/gradbench"
    assert [line for line in lines if line.startswith("COPY")] == ["COPY tools/wengert tools/wengert"]
    assert 'ENTRYPOINT ["python", "tools/wengert/run.py"]' in lines


def lse(x: list[float]) -> float:
    return float(np.log(np.sum(np.exp(x))))


def llsq(x: list[float], n: int) -> float:
    t = -1 + np.arange(n) * 2 / (n - 1)
    return 0.5 * sum((np.sign(ti) - sum(xj * ti**j for j, xj in enumerate(x))) ** 2 for ti in t)


def ode(x: list[float], s: int) -> np.ndarray:
    def slope(y: np.ndarray) -> np.ndarray:
        return np.array([x[0] if i == 0 else x[i] * y[i - 1] for i in range(len(x))])

    y, h = np.zeros(len(x)), 2.0 / s
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h * k1 / 2)
        k3 = slope(y + h * k2 / 2)
        k4 = slope(y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y


def kmeans(points: list[list[float]], centroids: list[list[float]]) -> float:
    return sum(min(float(np.sum(np.subtract(p, c) ** 2)) for c in centroids) for p in points)


def gmm(given: dict[str, Any]) -> float:
    """By the definition: densities of the components, and of the precisions under Wishart's prior."""
    d, k, m, gamma = given["d"], given["k"], given["m"], given["gamma"]
    alpha, x = np.array(given["alpha"]), np.array(given["x"])
    weights = alpha - logsumexp(alpha)
    total, terms, freedom = 0.0, np.empty((len(x), k)), d + m + 1
    for c in range(k):
        factor, position = np.diag(np.exp(given["q"][c])), 0
        for column in range(d):
            for row in range(column + 1, d):
                factor[row, column] = given["l"][c][position]
                position += 1
        precision = factor.T @ factor
        sign, logdet = np.linalg.slogdet(precision)
        for i, point in enumerate(x):
            apart = point - given["mu"][c]
            terms[i, c] = weights[c] + 0.5 * logdet - 0.5 * d * math.log(2 * math.pi) - 0.5 * apart @ precision @ apart
        scale_logdet = -2 * d * math.log(gamma)
        total += (freedom - d - 1) / 2 * logdet - 0.5 * gamma**2 * np.trace(precision)
        total -= freedom * d / 2 * math.log(2) + freedom / 2 * scale_logdet + float(multigammaln(freedom / 2, d))
    return total + float(np.sum(logsumexp(terms, axis=1)))


def lstm(main: Any, extra: Any, state: Any, sequence: Any) -> float:
    main, extra, sequence = np.array(main), np.array(extra), np.array(sequence)
    state = np.array(state).copy()
    size, total = extra.shape[1], 0.0
    for here, gold in itertools.pairwise(sequence):
        x = here * extra[0]
        for i in range(0, len(state), 2):
            gates = np.concatenate([x, state[i], x, state[i]]) * main[i] + main[i + 1]
            forget, take, give = (1 / (1 + np.exp(-gates[j * size : (j + 1) * size])) for j in range(3))
            state[i + 1] = state[i + 1] * forget + take * np.tanh(gates[3 * size :])
            x = state[i] = give * np.tanh(state[i + 1])
        found = x * extra[1] + extra[2]
        total += gold @ (found - np.log(np.sum(np.exp(found)) + 2))
    return -total / ((len(sequence) - 1) * size)


def inputs_of(module: str) -> dict[str, Any]:
    if module == "lse":
        return {"x": RNG.normal(size=9).tolist()}
    if module == "llsq":
        return {"x": RNG.random(4).tolist(), "n": 16}
    if module == "ode":
        return {"x": RNG.random(5).tolist(), "s": 4}
    if module == "kmeans":
        points = RNG.random((20, 3)).tolist()
        return {"points": points, "centroids": points[-4:]}
    if module == "lstm":
        shapes = {"main_params": (4, 12), "extra_params": (3, 3), "state": (4, 3)}
        return {n: RNG.random(s).tolist() for n, s in shapes.items()} | {
            "sequence": RNG.integers(0, 2, (6, 3)).tolist()
        }
    d, k, n = 3, 4, 8
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2), "x": (n, d)}
    return {n: RNG.normal(size=s).tolist() for n, s in shapes.items()} | {"d": d, "k": k, "n": n, "m": 1, "gamma": 0.7}


VALUES = {
    "gmm": ("objective", gmm),
    "kmeans": ("cost", lambda g: kmeans(g["points"], g["centroids"])),
    "llsq": ("primal", lambda g: llsq(g["x"], g["n"])),
    "lse": ("primal", lambda g: lse(g["x"])),
    "lstm": ("objective", lambda g: lstm(g["main_params"], g["extra_params"], g["state"], g["sequence"])),
    "ode": ("primal", lambda g: ode(g["x"], g["s"])),
}
SLOPES = {
    "gmm": ("jacobian", ("alpha", "mu", "q", "l")), "llsq": ("gradient", ("x",)), "lse": ("gradient", ("x",)),
    "lstm": ("jacobian", ("main_params", "extra_params")), "ode": ("gradient", ("x",)),
}  # fmt: skip


@pytest.mark.parametrize("module", VALUES)
def test_value_and_gradient(module: str) -> None:
    function, expected = VALUES[module]
    given = inputs_of(module)
    runs = {"min_runs": 1, "min_seconds": 0}
    names = [function, "dir" if module == "kmeans" else SLOPES[module][0]]
    value, slope = session([
        {"kind": "evaluate", "module": module, "function": name, "input": given | runs} for name in names
    ])  # fmt: skip
    np.testing.assert_allclose(value["output"], expected(given), rtol=1e-11)
    if module == "kmeans":
        np.testing.assert_allclose(slope["output"], newton_by_hand(given), rtol=1e-9, atol=1e-12)
        return
    found = slope["output"]
    for name in SLOPES[module][1]:
        by_differences = differences(lambda g: np.ravel(expected(g))[-1], given, name)
        if isinstance(found, dict):
            ours = np.array(found[name])
        else:
            ours, found = (
                np.array(found[: by_differences.size]).reshape(by_differences.shape),
                found[by_differences.size :],
            )
        # fourth-order differences with steps of 1e-3: about 1e-10 of the largest slope
        np.testing.assert_allclose(ours, by_differences, rtol=1e-7, atol=1e-8 * np.max(np.abs(by_differences)))


def newton_by_hand(given: dict[str, Any]) -> np.ndarray:
    points, centres = np.array(given["points"]), np.array(given["centroids"])
    nearest = np.argmin(((points[:, None] - centres) ** 2).sum(2), axis=1)
    return np.stack([np.mean(c - points[nearest == i], axis=0) for i, c in enumerate(centres)])


def differences(f: Any, given: dict[str, Any], name: str) -> np.ndarray:
    x, h = np.array(given[name], dtype=np.float64), 1e-3
    slopes = np.empty_like(x)
    for index in np.ndindex(x.shape):

        def moved(by: float, index: tuple[int, ...] = index) -> float:
            y = x.copy()
            y[index] += by
            return f(given | {name: y.tolist()})

        slopes[index] = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    return slopes
