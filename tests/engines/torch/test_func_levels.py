"""Levels of reverse mode of `torch.func` that programs of ours take by a node of their own give what torch's own do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.autograd import forward_ad  # noqa: E402  (behind the skip)

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

X = torch.linspace(0.1, 1.0, 4, dtype=torch.float64)
W = torch.linspace(-1.0, 1.0, 16, dtype=torch.float64).reshape(4, 4)
func = torch.func


def own(x: Any, w: Any) -> Any:
    return torch.sin(x @ w) * torch.exp(x).sum() + torch.where(x > 0.3, torch.log(x), 0.0)


@wg.function
def ours(x: Any, w: Any) -> Any:
    return wg.sin(x @ w) * wg.exp(x).sum() + wg.where(x > 0.3, wg.log(x), 0.0)


def total(f: Any) -> Callable[[Any], Any]:
    return lambda x: f(x, W).sum()


def unfollowed(f: Any) -> Any:
    with torch.no_grad():
        return f()


def outside_in_reverse(f: Any) -> Any:
    x = X.clone().requires_grad_()
    return torch.autograd.grad(func.grad(lambda w: f(x, w).sum())(W).sum(), x)[0]


def outside_in_forward(f: Any) -> Any:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, torch.ones_like(X))
        return forward_ad.unpack_dual(func.grad(lambda w: f(x, w).sum())(W)).tangent


def outside_not(f: Any) -> Any:
    x = X.clone().requires_grad_()
    found = unfollowed(lambda: func.grad(lambda w: f(x, w).sum())(W))
    assert not found.requires_grad
    return found


def pulled_after_the_level(f: Any) -> Any:
    upstream = X.clone().requires_grad_()
    pulled = func.vjp(lambda x: f(x, W), X)[1](upstream)[0]
    return torch.autograd.grad(pulled.sum(), upstream)[0]


WAYS: dict[str, Callable[[Any], Any]] = {
    "two arguments": lambda f: torch.cat([g.ravel() for g in func.grad(lambda x, w: f(x, w).sum(), (0, 1))(X, W)]),
    "three levels": lambda f: func.grad(lambda x: func.grad(lambda x: func.grad(total(f))(x).sum())(x).sum())(X),
    "a level that follows nothing here": lambda f: func.grad(lambda w: (func.grad(total(f))(X) @ w).sum())(W),
    "rows in a level": lambda f: func.grad(lambda x: func.vmap(lambda x: f(x, W))(torch.stack([x, x + 1])).sum())(X),
    "a level in rows": lambda f: func.vmap(func.grad(total(f)))(torch.stack([X, X + 1])),
    "forward in reverse": lambda f: func.grad(lambda x: func.jvp(total(f), (x,), (X,))[1])(X),
    "reverse in forward": lambda f: func.jacfwd(func.grad(total(f)))(X),
    "no gradients inside": lambda f: func.grad(lambda x: total(f)(x) * unfollowed(lambda: total(f)(x)))(X),
    "reverse mode outside": outside_in_reverse,
    "forward mode outside": outside_in_forward,
    "no gradients outside": outside_not,
    "pulled after the level": pulled_after_the_level,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_levels_give_what_torchs_own_do(way: Callable[[Any], Any]) -> None:
    torch.testing.assert_close(way(ours), way(own), rtol=1e-10, atol=1e-12)


def test_an_error_inside_leaves_torchs_levels_as_they_were() -> None:
    broken = wg.function(wg.linalg.cholesky)
    for _ in range(2):
        with pytest.raises((RuntimeError, np.linalg.LinAlgError)):
            func.grad(lambda w: broken(w).sum())(-torch.eye(4, dtype=torch.float64))
    assert torch._C._functorch.peek_interpreter_stack() is None
    assert not torch._C._functorch.get_single_level_autograd_function_allowed()
    assert torch._C._is_fwd_grad_enabled()
    torch.testing.assert_close(func.grad(total(ours))(X), func.grad(total(own))(X))


class _Own(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        return ct * torch.cos(x)


def test_a_program_costs_fewer_python_calls_than_a_node_of_a_users() -> None:
    f = wg.function(wg.sin)
    ours = len(python_calls(lambda: func.grad(lambda x: f(x).sum())(X)))
    assert ours < 0.8 * len(python_calls(lambda: func.grad(lambda x: _Own.apply(x).sum())(X)))
