"""What is needed only where flags are `rarely` set is compiled once one is: in loops at once, else if that goes on."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from tests.prims.test_repeated_values import of_eigh, of_svd, total
from wengert._core.op import REGISTRY
from wengert._engines.native import engine
from wengert._engines.native.plan.rare_cases import without_rare
from wengert._transforms.limits import Remainder, Trail

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
WEIGHTS = np.arange(9.0).reshape(3, 3)
APART = np.diag([1.0, 2.0, 4.0]) + 0.1
F = total(of_eigh(wg.exp), WEIGHTS)
DERIVATIVES: dict[str, Any] = {
    "gradient": wg.grad(F),
    "singular": wg.grad(total(of_svd(lambda s: s**3), WEIGHTS)),
    "forward": wg.jacobian(F, mode="forward"),
    "batch": lambda x: wg.vmap(wg.grad(F))(wg.stack([x, APART])),
}


@pytest.fixture
def segments(monkeypatch: pytest.MonkeyPatch) -> list[engine.Segment]:
    """The segments that are made from here on."""
    found: list[engine.Segment] = []

    class Noted(engine.Segment):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(engine, "Segment", Noted)
    return found


@pytest.mark.parametrize("name", DERIVATIVES)
def test_limits_are_not_compiled_and_are_there_when_needed(name: str, segments: list[engine.Segment]) -> None:
    derivative = DERIVATIVES[name]
    f: Any = wg.function(derivative)
    np.testing.assert_allclose(f(APART), derivative(APART), rtol=1e-10, atol=1e-10)
    assert segments
    assert all(segment.refusals == 0 for segment in segments)
    kept, whole = (sum(map(size, segments)) for size in (_compiled_nodes, lambda s: len(s.graph.nodes)))
    assert kept < whole / 2
    for _ in range(2):
        np.testing.assert_allclose(f(np.eye(3)), derivative(np.eye(3)), rtol=1e-10, atol=1e-10)
    assert np.isfinite(np.asarray(f(np.eye(3)))).all()
    assert any(segment.refusals for segment in segments)
    np.testing.assert_allclose(f(APART), derivative(APART), rtol=1e-10, atol=1e-10)


def _compiled_nodes(segment: engine.Segment) -> int:
    return len(without_rare(segment.graph).nodes)


def test_a_hessian_has_no_more_to_compile_than_its_terms(segments: list[engine.Segment]) -> None:
    f: Any = wg.function(wg.hessian(F))
    assert np.isfinite(np.asarray(f(APART))).all()
    assert sum(map(_compiled_nodes, segments)) < sum(len(s.graph.nodes) for s in segments) / 3
    assert np.isnan(np.asarray(f(np.eye(3)))).all()


def test_eager_derivatives_at_distinct_values_take_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise AssertionError("there are no equal values")

    monkeypatch.setattr(Trail, "__init__", refuse)
    monkeypatch.setattr(Remainder, "__init__", refuse)
    assert np.isfinite(wg.grad(F)(APART)).all()
    assert np.isfinite(wg.jvp(F, (APART,), (np.eye(3),))[1])


VALUES = {
    "apart": [3.0, 2.0, 1.0], "double": [2.0, 2.0, 1.0], "close": [2.0, 2.0 * (1 - 1e-13), 1.0], "zero": [2.0, 1.0, 0.0],
    "none": [0.0, 0.0, 0.0], "infinite": [np.inf, 1.0, -np.inf], "NaN": [np.nan] * 3, "one": [1.0], "tiny": [2.0, 1.0, 1e-30],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
@pytest.mark.parametrize("values", VALUES)
def test_arrays_and_traces_are_asked_the_same(values: str, name: str, dtype: Any) -> None:
    spectrum = REGISTRY[name].spectrum
    assert spectrum is not None
    x = np.sort(np.array(VALUES[values])) if name == "eigh" else np.array(VALUES[values])
    x = x.astype(dtype) if name != "eig" else x.astype(np.complex128)
    for array in (x, np.stack([np.arange(len(x), 0.0, -1).astype(x.dtype), x])):
        wanted = bool(np.asarray(spectrum.has_equal(wg.tensor(array))))
        assert spectrum.shows_equal(array) == wanted


OFTEN = 3  # calls without a loop after which rare cases are compiled, in tests


@pytest.mark.parametrize("name", DERIVATIVES)
def test_what_comes_often_is_compiled(
    name: str, monkeypatch: pytest.MonkeyPatch, segments: list[engine.Segment]
) -> None:
    monkeypatch.setattr(engine, "FEW", OFTEN)
    f: Any = wg.function(DERIVATIVES[name])
    x = np.eye(3)
    wanted = np.asarray(f(x))
    for _ in range(OFTEN):
        f(x)
    runs = sum(segment.refusals for segment in segments)
    assert 0 < runs <= OFTEN * len(segments)
    for _ in range(3):
        np.testing.assert_allclose(f(x), wanted, rtol=1e-10, atol=1e-10)
    assert sum(segment.refusals for segment in segments) == runs


def _of_eig(x: Any) -> Any:
    values, vectors = wg.linalg.eig(x)
    return wg.real(wg.sum(WEIGHTS * ((vectors * wg.exp(values)) @ wg.linalg.inv(vectors))))


FUNCTIONS = {"eigh": F, "svd": total(of_svd(lambda s: s**3), WEIGHTS), "eig": _of_eig}


def _scanned(f: Any, **how: Any) -> Any:
    return lambda a: wg.scan(lambda c, s: (c, f(c * (1 + s))), a, np.linspace(0.0, 0.1, 4), **how)[1].sum()


def _in_place(f: Any) -> Any:
    """In a loop whose steps change the matrix."""
    return lambda a: wg.fori_loop(0, 3, lambda i, c: (c[0] * 0.9, c[1] + f(c[0])), (a, 0.0))[1]


def _chosen(f: Any) -> Any:
    return lambda a: wg.cond(a[0, 0] < 100.0, lambda: f(a), lambda: wg.sum(a))


FORMS: dict[str, Any] = {
    "gradient of a loop": lambda f: wg.grad(_scanned(f)),
    "gradient of steps with snapshots": lambda f: wg.grad(_scanned(f, checkpoint="sqrt")),
    "gradient of what goes round": lambda f: wg.grad(_in_place(f)),
    "gradient of a branch": lambda f: wg.grad(_chosen(f)),
    "branch in a loop": lambda f: wg.grad(_scanned(_chosen(f))),
    "forward": lambda f: lambda a: wg.jvp(_scanned(f), (a,), (WEIGHTS + WEIGHTS.T,))[1],
    "batch": lambda f: lambda a: wg.vmap(wg.grad(_scanned(f)))(wg.stack([a, a * 2.0])),
    "second derivative": lambda f: wg.jacobian(wg.grad(_scanned(f))),
}
EQUAL = {"all": np.eye(3), "two": np.diag([2.0, 2.0, 1.0]), "zeros": np.zeros((3, 3)), "one of rank": np.ones((3, 3))}


def _runs(self: Any, *natives: Any) -> Any:
    raise AssertionError("NumPy's kernels ran")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_loops_and_branches_stay_machine_code_at_equal_values(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    derivative = FORMS[form](FUNCTIONS[name])
    compiled: Any = wg.function(derivative)
    inputs: list[Any] = [APART + APART.T, *EQUAL.values()]
    with np.errstate(all="ignore"):  # what is to be warned of is found by kernels
        wanted = [*map(derivative, inputs)]
        monkeypatch.setattr(engine.Kernels, "__call__", _runs)
        for x, value in zip(inputs, wanted, strict=True):
            np.testing.assert_allclose(compiled(x), value, rtol=1e-9, atol=1e-9)


def test_a_loop_that_cannot_be_compiled_for_rare_values_warns_once_with_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(graph: Any) -> Any:
        raise ValueError("not to be compiled")

    monkeypatch.setattr(engine, "IS_STRICT", False)
    monkeypatch.setattr(engine, "with_rare", fails)

    def step(c: Any, z: Any) -> Any:
        values = np.linalg.svd(c + z * np.eye(3))[1]
        return c, np.linalg.svd(c)[0].sum() + values.sum()

    def f(a: Any) -> Any:
        return wg.scan(step, a, np.zeros(5))[1].sum()

    slope = wg.function(wg.grad(f))
    usual = np.random.default_rng(0).normal(size=(3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope(usual)
    line = rf"test_rare.py:{step.__code__.co_firstlineno + 2}"
    with pytest.warns(
        RuntimeWarning, match=rf"step by step in Python: its machine code does not take[\s\S]*{line}"
    ) as told:
        slope(np.diag([2.0, 1.0, 1.0]))
    assert len(told) == len({str(w.message) for w in told})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope(np.diag([2.0, 1.0, 1.0]))
        wg.function(wg.grad(f))(np.diag([3.0, 1.0, 1.0]))
