"""What public functions make of others is pickled by what it was made of, looks like f, and works in other processes."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import typing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT


def energy(x: Any) -> Any:
    """The energy of x."""
    return wg.sum(wg.sin(x) * x)


def ruled(x: Any) -> Any:
    return x * x, lambda upstream: upstream * 3.0 * x


def saving(x: Any, save: Any) -> Any:
    save([x])
    return x * x, lambda dy, saved: dy * saved[0]


def solver(f: Callable[..., Any], x0: Any, a: Any) -> Any:
    return np.sqrt(a)


def square_less(x: Any, a: Any) -> Any:
    return x * x - a


@wg.function
def compiled(x: Any) -> Any:
    return x * 2.0


@wg.custom_gradient
def with_rule(x: Any) -> Any:
    return x * x, lambda upstream: upstream * 5.0 * x


@wg.custom_gradient(jvp=lambda primals, tangents: (primals[0] ** 2, 7.0 * primals[0] * tangents[0]))
def with_both(x: Any) -> Any:
    return x * x, lambda upstream: upstream * 7.0 * x


@wg.vmap
def each(x: Any) -> Any:
    return x**3


@wg.function
@wg.grad
def slope(x: Any) -> Any:
    return wg.sum(x**3)


class Model:
    """Methods of all kinds."""

    def __init__(self, w: float) -> None:
        self.w = w

    @wg.function
    def compiled(self, x: Any) -> Any:
        return self.w * x

    @wg.custom_gradient
    def ruled(self, x: Any) -> Any:
        return self.w * x, lambda upstream: upstream * 11.0

    def plain(self, x: Any) -> Any:
        return wg.sum(self.w * x**2)

    gradient = wg.grad(plain, argnums=1)


def neighbours(x: Any) -> Any:
    return x[1:] * x[:-1]


X = np.array([0.3, 0.7])
cube = wg.primitive("cube_to_pickle", spec=lambda x: x, numpy=lambda x: x**3, vjp=lambda ct, out, x: ct * 3 * x**2)
MADE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "grad": (wg.grad(energy), (X,)),
    "grad with options": (wg.grad(energy, argnums=(0,), unconnected_gradients="zero"), (X,)),
    "grad of grad": (wg.grad(wg.grad(energy)), (X,)),
    "value_and_grad": (wg.value_and_grad(energy), (X,)),
    "grads": (wg.grads(energy), ([X],)),
    "value_and_grads": (wg.value_and_grads(energy), ([X],)),
    "jacobian": (wg.jacobian(energy, mode="forward"), (X,)),
    "value_and_jacobian": (wg.value_and_jacobian(energy), (X,)),
    "hessian": (wg.hessian(energy), (X,)),
    "vmap": (wg.vmap(energy), (X,)),
    "function": (wg.function(energy), (X,)),
    "function with a signature": (wg.function(energy, input_signature=[wg.TensorSpec((None,))], name="e"), (X,)),
    "function of grad": (wg.function(wg.grad(energy)), (X,)),
    "grad of function": (wg.grad(wg.function(energy)), (X,)),
    "custom_gradient": (wg.custom_gradient(ruled), (X,)),
    "custom_grad": (wg.custom_grad(saving), (X,)),
    "recompute_grad": (wg.recompute_grad(energy), (X,)),
    "custom_root": (wg.custom_root(square_less, solver), (1.0, 2.0)),
    "decorated by function": (compiled, (X,)),
    "decorated by custom_gradient": (with_rule, (X,)),
    "decorated by custom_gradient with jvp": (with_both, (X,)),
    "decorated by vmap": (each, (X,)),
    "decorated twice": (slope, (X,)),
    "within what was decorated twice": (slope.__wrapped__, (X,)),
    "grad of a decorated one": (wg.grad(compiled), (X,)),
    "bound function": (Model(3.0).compiled, (X,)),
    "bound gradient": (Model(3.0).gradient, (X,)),
    "gradient of a bound method": (wg.grad(Model(3.0).plain), (X,)),
    "bound custom gradient": (Model(3.0).ruled, (X,)),
    "gradient of a bound custom gradient": (wg.jacobian(Model(3.0).ruled), (X,)),
    "sparsity": (wg.sparsity(neighbours), (X,)),
    "primitive": (cube, (X,)),
}


@pytest.mark.parametrize("name", MADE)
def test_pickled_callables_do_the_same(name: str) -> None:
    made, args = MADE[name]
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        assert repr(copied(*args)) == repr(made(*args))


def test_options_come_along() -> None:
    again = pickle.loads(pickle.dumps(wg.grad(energy, has_aux=False, unconnected_gradients="none")))
    assert again(X).tolist() == wg.grad(energy)(X).tolist()
    pair = pickle.loads(pickle.dumps(MADE["grad with options"][0]))(X)
    assert isinstance(pair, tuple)
    fn = pickle.loads(pickle.dumps(MADE["function with a signature"][0]))
    fn(X), fn(np.ones(5))
    assert (fn.trace_count, fn.name) == (1, "e")


def test_what_was_compiled_stays_behind() -> None:
    fn = wg.function(energy)
    fn(X)
    assert fn.trace_count == 1
    assert pickle.loads(pickle.dumps(fn)).trace_count == 0
    assert len(pickle.dumps(fn)) < 1000


def test_a_loaded_function_is_pickled_as_data(tmp_path: Path) -> None:
    fn = wg.function(lambda x: x * wg.exp(x))
    fn(X)
    wg.save(fn, tmp_path / "f")
    again = pickle.loads(pickle.dumps(wg.load(tmp_path / "f")))
    np.testing.assert_array_equal(again(X), fn(X))


@pytest.mark.parametrize("name", ["norm", "gamma", "poisson", "multivariate_normal"])
def test_distributions_are_pickled_by_name(name: str) -> None:
    distribution = getattr(wg.stats, name)
    assert pickle.loads(pickle.dumps(distribution)) is distribution or name == "multivariate_normal"
    if name == "norm":
        frozen = pickle.loads(pickle.dumps(copy.deepcopy(wg.stats.norm(1.0, scale=2.0))))
        np.testing.assert_array_equal(frozen.logpdf(X), wg.stats.norm.logpdf(X, 1.0, 2.0))


def test_a_function_made_in_a_function_says_why_it_cannot_be_pickled() -> None:
    def local(x: Any) -> Any:
        return x

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(wg.grad(local))


def test_they_look_like_f() -> None:
    for made in (wg.grad(energy), wg.vmap(energy), wg.jacobian(energy), wg.function(energy), wg.recompute_grad(energy)):
        assert str(inspect.signature(made)) == str(inspect.signature(energy))
        assert made.__wrapped__ is energy
        assert typing.get_type_hints(made) == typing.get_type_hints(energy)
    assert typing.get_type_hints(wg.grads(sum)) == {}
    assert wg.grad(energy).__name__ == "grad(energy)"
    assert repr(wg.grad(energy)) == "<function grad(energy)>"
    assert wg.grad(energy).__doc__ == "grad of energy."


def test_they_are_methods_where_they_are_defined_in_a_class() -> None:
    np.testing.assert_array_equal(Model(3.0).gradient(X), 6.0 * X)
    assert Model.gradient(Model(3.0), X).shape == (2,)


def loss_of_rows(w: Any, rows: Any) -> Any:
    """A sum over rows, with a rule that is not the derivative and a branch for each row."""
    hidden = with_rule(rows @ w["a"] + w["b"])
    return wg.sum(wg.where(hidden > 1.0, hidden, wg.sin(hidden)))


def test_gradients_of_partitions_in_two_processes_add_up() -> None:
    data = np.linspace(-1.0, 2.0, 35).reshape(7, 5) ** 2
    w = {"a": np.linspace(0.1, -0.4, 5), "b": np.float64(0.3)}
    new = multiprocessing.get_context("spawn")
    made = (
        wg.grad(loss_of_rows), wg.function(wg.value_and_grad(loss_of_rows)), wg.value_and_grad(loss_of_rows),
        wg.hessian(loss_of_rows),
    )  # fmt: skip
    with ProcessPoolExecutor(1, new) as one, ProcessPoolExecutor(1, new) as other:
        parts = [(f, one.submit(f, w, data[:3]), other.submit(f, w, data[3:])) for f in made]
        for f, *partial in parts:
            leaves = [wg.tree.leaves(part.result()) for part in partial]
            for first, second, whole in zip(*leaves, wg.tree.leaves(f(w, data)), strict=True):
                np.testing.assert_allclose(first + second, whole, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(one.submit(compiled, X).result(), compiled(X))


BY_VALUE = """
import importlib, sys
import numpy as np, wengert as wg
cloudpickle = importlib.import_module(sys.argv[1])
k = 3.0
@wg.function
def f(x): return wg.sum(x**k)
@wg.custom_gradient
def g(x): return x * x, lambda u: u * 5.0 * x
h = wg.grad(lambda x: f(g(x)))
own = wg.primitive("by_value", spec=lambda x: x, numpy=lambda x: x + k)
sys.stdout.buffer.write(cloudpickle.dumps((f, g, h, own, wg.vmap(lambda x: h(x)), wg.function(own).trace(1.0))))
"""


@pytest.mark.parametrize("package", ["cloudpickle", "has_a_copy.cloudpickle"])
def test_cloudpickle_takes_what_the_main_module_defines(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a copy of it that is part of another package: Ray, joblib and PySpark have one."""
    found = importlib.util.find_spec("cloudpickle")
    assert found is not None
    shutil.copytree(Path(found.origin or "").parent, tmp_path / "has_a_copy" / "cloudpickle")
    monkeypatch.syspath_prepend(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, "-c", BY_VALUE, package], env=environment, capture_output=True, check=True, timeout=120
    )
    f, g, h, own, mapped, graph = pickle.loads(done.stdout)
    assert "by_value" in graph.to_text()
    np.testing.assert_allclose(f(X), np.sum(X**3))
    np.testing.assert_allclose(wg.grad(g)(X), 5.0 * X)
    np.testing.assert_allclose(h(X), 15.0 * X**5)
    np.testing.assert_allclose(own(X), X + 3.0)
    np.testing.assert_allclose(mapped(X), 15.0 * X**5)


def test_dask_names_tasks_by_what_they_are_made_of() -> None:
    base = pytest.importorskip("dask.base", reason="dask is not installed")

    def made() -> list[Any]:
        return [
            wg.grad(energy), wg.value_and_grad(energy), wg.grad(loss_of_rows), wg.grad(loss_of_rows, argnums=1), compiled,
            wg.vmap(energy), wg.hessian(energy), wg.function(energy), wg.grad(with_rule), slope, Model(2.0).gradient,
            Model(3.0).gradient,
        ]  # fmt: skip

    names, again = ([base.tokenize(f, ensure_deterministic=True) for f in made()] for _ in range(2))
    assert names == again
    assert len({*names}) == len(names)


def with_loop(x: Any) -> Any:
    total, steps = wg.scan(lambda carry, a: (carry * a, carry + wg.sin(a)), x[0], x)
    return wg.cond(total > 0.0, lambda: steps * 2.0, lambda: -steps)


COUNTER = wg.Variable(2.0, name="counter")
NUMBERS = np.arange(2.0)


def counting(x: Any) -> Any:
    COUNTER.assign_add(1.0)
    return x * COUNTER + NUMBERS


def of_rows(x: Any) -> Any:
    return (x * 2.0).sum(axis=0)


GRAPHS: dict[str, tuple[Any, Any]] = {
    "ops": (energy, X),
    "loop and branch": (with_loop, X),
    "gradient of a loop": (wg.jacobian(with_loop), X),
    "Variable and captured array": (counting, X),
    "traced rule": (wg.jacobian(with_rule), X),
    "recomputed": (wg.grad(wg.recompute_grad(energy)), X),
    "primitive": (wg.jacobian(cube), X),
    "inner function": (lambda x: compiled(x) + 1.0, X),
    "unknown extents": (of_rows, wg.TensorSpec((None, 3), "float64")),
}
AGAIN: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)), "copy": copy.copy, "deepcopy": copy.deepcopy,
}  # fmt: skip


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_pickled_as_data(name: str, again: str) -> None:
    f, example = GRAPHS[name]
    graph = wg.function(f).trace(example)
    copied = AGAIN[again](graph)
    assert copied is not graph
    assert copied.to_text() == graph.to_text()
    assert {v.key for v in copied.inputs}.isdisjoint(v.key for v in graph.inputs)
    assert copied.to_svg().startswith("<svg")


def test_a_graph_under_construction_is_copied_and_goes_on_apart() -> None:
    graph = wg.Graph()
    with graph.as_default():
        wg.sin(wg.tensor([1.0, 2.0]))
        COUNTER.assign_add(1.0)
    copied = pickle.loads(pickle.dumps(graph))
    assert copied.to_text() == graph.to_text()
    with copied.as_default():
        wg.cos(wg.tensor(1.0))
    assert len(copied.nodes) == len(graph.nodes) + 2


def test_an_inner_graph_cannot_be_pickled_without_the_outer_one() -> None:
    def outer(x: Any) -> Any:
        inner = wg.Graph()
        with inner.as_default():
            x * 2.0
        pickle.dumps(inner)

    with pytest.raises(TypeError, match="uses a tensor of the trace around it"):
        wg.function(outer)(X)


def _text_of(graph: Any) -> str:
    return graph.to_text()


def test_graphs_cross_to_spawned_processes() -> None:
    graph = wg.function(with_loop).trace(X)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(_text_of, graph).result() == graph.to_text()


def structured(x: Any, w: Any) -> Any:
    return {"a": wg.sin(x["u"]) * w, "n": wg.argmax(x["u"])}, wg.sum(x["v"]) * w


PULLED = {
    "vector": (lambda x: wg.sin(x) * 2.0, (np.arange(3.0),), np.ones(3)),
    "number": (lambda x: wg.sum(x**2), (np.arange(3.0),), np.float64(2.0)),
    "structure": (
        structured, ({"u": np.arange(3.0), "v": np.ones(2)}, 2.0), ({"a": np.ones(3), "n": None}, np.float64(3.0)),
    ),
    "complex": (lambda z: z * z, (np.array([1.0 + 2.0j]),), np.array([1.0 - 1.0j])),
    "loop": (lambda x: wg.fori_loop(0, 3, lambda i, c: c * wg.cos(c), x), (np.arange(3.0),), np.ones(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", PULLED)
def test_a_pullback_is_pickled_as_its_program(name: str) -> None:
    f, primals, cotangent = PULLED[name]
    _, pullback = wg.vjp(f, *primals)
    kept = pickle.loads(pickle.dumps(pullback))
    for found, wanted in zip(wg.tree.leaves(kept(cotangent)), wg.tree.leaves(pullback(cotangent)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert copy.deepcopy(pullback) is pullback


def test_a_linearized_function_is_pickled_as_its_program() -> None:
    _, push = wg.linearize(lambda x, w: wg.sin(x) * w, np.arange(3.0), 2.0)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(push))(np.ones(3), 1.0), push(np.ones(3), 1.0), rtol=1e-14)
    transposed = wg.linear_transpose(lambda x: 3.0 * x, np.zeros(2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(transposed))(np.ones(2))[0], [3.0, 3.0])


def test_a_pullback_that_holds_more_than_a_program_says_what_to_pickle() -> None:
    def inner(x: Any) -> Any:
        pickle.dumps(wg.vjp(lambda y: y * x, np.ones(2))[1])
        return wg.sum(x)

    with pytest.raises(TypeError, match=r"wg\.vjp returned cannot be pickled.*pickle f and the primals"):
        wg.grad(inner)(np.ones(2))
