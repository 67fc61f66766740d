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
