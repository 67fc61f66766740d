"""`from_torch` in torch's own programs: called on torch's tensors it is torch's function, under every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch", reason="torch is not installed")

# torch's own forward mode compiles its rules by a part of it that it has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

X = torch.tensor([0.3, 0.8, 1.7], dtype=torch.float64)
theirs = wg.from_torch(lambda x: torch.sin(x) * x**2)
inside = wg.function(lambda x: theirs(x) * 1.0)
both = pytest.mark.parametrize("f", [theirs, inside], ids=["alone", "in a function"])


def plain(x: Any) -> Any:
    return torch.sin(x) * x**2


@both
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: torch.func.grad(lambda x: f(x).sum()), torch.func.jacrev, torch.func.jacfwd,
        lambda f: torch.func.hessian(lambda x: f(x).sum()), lambda f: lambda x: torch.func.jvp(f, (x,), (x + 1,))[1],
        lambda f: lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x])),
        lambda f: lambda x: torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(torch.stack([x, 2 * x])),
        lambda f: torch.func.jacfwd(torch.func.jacrev(torch.func.jacrev(lambda x: f(x).sum()))),
    ],
    ids=["grad", "jacrev", "jacfwd", "hessian", "jvp", "vmap", "vmap of grad", "third order"],
)  # fmt: skip
def test_transforms_of_torch(f: Callable[[Any], Any], transform: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(transform(f)(X).numpy(), transform(plain)(X).numpy(), rtol=1e-12, atol=1e-12)


def test_whole_numbers_among_results() -> None:
    f = wg.function(lambda x: wg.sum(wg.from_torch(lambda x: (x * x, (x > 1).to(torch.int32)))(x)[0]))
    np.testing.assert_allclose(torch.func.jacfwd(torch.func.grad(f))(X).numpy(), 2 * np.eye(3))


def test_modules_and_their_parameters() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).double()
    wrapped = wg.from_torch(module)
    own = dict(module.named_parameters())
    found = torch.func.grad(lambda p: wrapped(X, parameters=p).sum())(own)
    want = torch.func.grad(lambda p: torch.func.functional_call(module, p, (X,)).sum())(own)
    for name, value in want.items():
        np.testing.assert_allclose(found[name].detach().numpy(), value.detach().numpy(), rtol=1e-12)


def test_hooks_of_a_module_run_once_for_a_call() -> None:
    module = torch.nn.Linear(3, 2).double()
    calls: list[int] = []
    module.register_forward_hook(lambda *_: calls.append(1))
    wg.from_torch(module)(X).sum().backward()
    assert len(calls) == 1
    assert module.weight.grad is not None


def test_numbers_reach_it_as_tensors_of_the_arrays_dtype() -> None:
    seen: list[Any] = []

    def scaled(x: Any, by: Any) -> Any:
        seen.append(by.dtype)
        return torch.sin(by) * x

    y = wg.from_torch(scaled)(X.float(), 2.0)
    assert (y.dtype, seen) == (torch.float32, [torch.float32])


# -- what a function reads beside its arguments, in functions of ours --------------------------------------------------


@pytest.mark.parametrize("how", ["function", "custom gradient", "branch", "loop", "recomputed", "map"])
@pytest.mark.parametrize("way", ["backward", "func", "jvp", "second order", "vmap"])
def test_what_a_function_closes_over_is_differentiated_in_functions_of_ours(how: str, way: str) -> None:
    def made(w: Any) -> Any:
        bridge = wg.from_torch(lambda x: torch.sin(x) * w)
        ways: dict[str, Any] = {
            "function": wg.function(bridge), "loop": lambda x: wg.fori_loop(0, 1, lambda i, c: bridge(c), x),
            "custom gradient": wg.function(lambda x: bridge(x)), "recomputed": wg.recompute_grad(bridge),
            "branch": lambda x: wg.cond(True, lambda: bridge(x), lambda: x), "map": wg.vmap(bridge),
        }  # fmt: skip
        return ways[how]

    def own(w: Any) -> Any:
        return lambda x: torch.sin(x) * w

    w = torch.tensor(2.0, dtype=torch.float64)

    def results(make: Any) -> Any:
        if way == "func":
            return torch.func.grad(lambda w, x: make(w)(x).sum(), argnums=(0, 1))(w, X)
        if way == "jvp":
            return torch.func.jvp(lambda w, x: make(w)(x), (w, X), (w, X))
        if way == "vmap":
            return torch.func.vmap(torch.func.grad(lambda w: make(w)(X).sum()))(torch.stack([w, w + 1]))
        leaf, x = w.clone().requires_grad_(), X.clone().requires_grad_()
        first = torch.autograd.grad(make(leaf * leaf)(x).sum(), (leaf, x), create_graph=True)
        return first if way == "backward" else torch.autograd.grad(first[0] * first[1].sum(), (leaf, x))

    for found, want in zip(results(made), results(own), strict=True):
        np.testing.assert_allclose(found.detach(), want.detach(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
def test_weights_of_a_module_that_a_function_calls_are_trained() -> None:
    module = torch.nn.Linear(3, 2).double()
    call = wg.function(wg.from_torch(lambda x: torch.tanh(module(x))))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for step in range(6):
        found, want = (torch.autograd.grad(y.sum(), [*module.parameters()]) for y in (call(X), torch.tanh(module(X))))
        for g, w in zip(found, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12)
        if step % 2:
            with torch.no_grad():
                np.testing.assert_allclose(call(X), torch.tanh(module(X)), rtol=1e-12)
        for p, g in zip(module.parameters(), found, strict=True):
            p.grad = g
        optimizer.step()


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
def test_what_is_closed_over_may_be_another_tensor_at_each_call() -> None:
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    call = wg.function(wg.from_torch(lambda x: torch.sin(x) * w))
    for _ in range(3):
        y = call(X)
        np.testing.assert_allclose(y.detach(), torch.sin(X) * w.detach())
        (g,) = torch.autograd.grad(y.sum(), w)
        assert float(g) == pytest.approx(float(torch.sin(X).sum()))
        w = (w.detach() - 0.1 * g).requires_grad_()


def test_tensors_that_a_function_makes_are_its_own() -> None:
    def slope(x: Any) -> Any:
        with torch.enable_grad():
            a = torch.ones(3, dtype=torch.float64, requires_grad=True)
            return torch.autograd.grad((a**3).sum(), a)[0] * x

    x = X.clone().requires_grad_()
    (g,) = torch.autograd.grad(wg.function(wg.from_torch(slope))(x).sum(), x)
    np.testing.assert_allclose(g, np.full(3, 3.0))
