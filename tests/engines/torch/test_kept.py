"""What a node of ours keeps for torch's backward pass: what that reads, so that code may write to all else in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch", reason="torch is not installed")

SIZE = 64


def kept(f: Callable[..., Any], *operands: Any) -> list[int]:
    """How many elements each tensor has that is kept for the backward pass."""
    found: list[int] = []

    def pack(x: Any) -> Any:
        found.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        f(*operands)
    return found


def vector() -> Any:
    return torch.linspace(0.2, 1.4, SIZE, dtype=torch.float64, requires_grad=True)


WHAT_TORCH_KEEPS = {
    "sine": wg.sin, "exponential": wg.exp, "tanh": wg.tanh, "shifted": lambda x: x + 1, "scaled": lambda x: x * 2.5,
    "sum": wg.sum, "square": lambda x: x * x, "layer": lambda x: wg.sum(wg.tanh(x * 3) + 1),
    "transposed": lambda x: wg.reshape(x, (8, 8)).T + 2,
    "clipped": lambda x: wg.clip(x, 0.4, 0.9), "angle": lambda x: wg.arctan2(x, 2.0), "mean": wg.mean,
    "error": lambda x: wg.mean((x - 1.0) ** 2), "chosen": lambda x: wg.where(x > 0.5, x, 0.0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("f", "count"),
    [*zip(WHAT_TORCH_KEEPS.values(), (1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1), strict=True)],
    ids=WHAT_TORCH_KEEPS,
)
def test_a_node_keeps_what_its_backward_pass_reads(f: Callable[[Any], Any], count: int) -> None:
    assert kept(wg.function(f), vector()) == [SIZE] * count


def test_views_of_operands_are_not_copied() -> None:
    w = torch.ones(16, 4, dtype=torch.float64, requires_grad=True)
    x = torch.ones(5, 4, dtype=torch.float64, requires_grad=True)
    assert sorted(kept(wg.function(lambda x, w: x @ w.T), x, w)) == [20, 64]


@wg.custom_gradient
def clipped(x: Any) -> Any:
    return x + 0.5, lambda upstream: wg.clip(upstream, -1.0, 1.0)


counted = wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * 1.5, x))
looped = wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * 1.5, x + 1))


@pytest.mark.parametrize("f", [wg.function(lambda x: x + 1), wg.function(wg.exp), clipped, looped])
def test_operands_may_be_written_to_where_the_backward_pass_does_not_read_them(f: Callable[[Any], Any]) -> None:
    x = vector()
    operand = x * 1.0
    y = f(operand)
    operand.mul_(3.0)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), wg.grad(lambda x: f(x).sum())(vector().detach().numpy()), rtol=1e-12)


def test_results_may_be_written_to_where_the_backward_pass_does_not_read_them() -> None:
    x = vector()
    wg.function(wg.sin)(x).add_(1.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(vector().detach().numpy()), rtol=1e-12)


QUOTIENTS = {
    "of operands": (lambda x: x / x[::-1], [SIZE, SIZE]),
    "of one by it": (lambda x: 1 / x, [SIZE]),
    "by its sum": (lambda x: x / wg.sum(x), [1, SIZE]),
    "by its sum, in another shape": (lambda x: wg.reshape(x / wg.sum(x), (8, 8)).T, [1, SIZE]),
    "of what is computed": (lambda x: wg.sin(x) / (1 + wg.abs(x)), [SIZE, SIZE, SIZE]),
}


@pytest.mark.parametrize(("f", "sizes"), QUOTIENTS.values(), ids=QUOTIENTS)
def test_quotients_may_be_written_to_and_are_computed_again(f: Callable[[Any], Any], sizes: list[int]) -> None:
    weights = torch.linspace(-1.0, 1.0, SIZE, dtype=torch.float64)
    compiled = wg.function(f)
    x = vector()
    assert sorted(kept(compiled, x)) == sizes
    for _ in range(2):
        x.grad = None
        y = compiled(x)
        ((y.mul_(2.0)).reshape(-1) * weights).sum().backward()
        want = wg.grad(lambda x: (2.0 * wg.reshape(f(x), (-1,)) * weights.numpy()).sum())(x.detach().numpy())
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("f", [wg.function(lambda x: x * x), wg.function(lambda x: wg.sin(x) * x)])
def test_what_the_backward_pass_reads_may_not(f: Callable[[Any], Any]) -> None:
    operand = vector() * 1.0
    y = f(operand)
    operand.mul_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


DEEPER = {
    "views": lambda x: wg.sum(wg.tanh(wg.reshape(x, (8, 8)).T @ wg.reshape(x, (8, 8)))),
    "rows": lambda x: wg.sum(wg.exp(x[np.array([3, 3, -1])] ** 2)),
    "pairs": lambda x: wg.sum(wg.sin(x) * wg.exp(-x)) + wg.max(x) ** 3,
    "loop": lambda x: wg.sum(counted(x) ** 2),
    "while": lambda x: wg.sum(wg.while_loop(lambda c: wg.sum(c) < 200.0, lambda c: (c + c * c,), (x,))[0]),
    "branch": lambda x: wg.cond(wg.sum(x) > 1.0, lambda: wg.sum(x**3), lambda: wg.sum(x)),
    "custom": lambda x: wg.sum(clipped(x) ** 3),
    "quotient": wg.function(lambda x: wg.sin(x) / (2 + x * x)),
    "normalised": wg.function(lambda x: x / wg.sum(x)),
}


@pytest.mark.parametrize("f", DEEPER.values(), ids=DEEPER)
def test_first_to_third_derivatives(f: Callable[[Any], Any]) -> None:
    x = vector()
    weights = np.linspace(-1.0, 1.0, SIZE)

    def chain(take: Callable[..., Any], weights: Any) -> Any:
        first = take(lambda x: f(x).sum())
        second = take(lambda x: (first(x) * weights).sum())
        return first, second, take(lambda x: (second(x) * weights).sum())

    def torch_grad(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: torch.autograd.grad(g(x), x, create_graph=True)[0]

    for got, want in zip(chain(torch_grad, torch.tensor(weights)), chain(wg.grad, weights), strict=True):
        np.testing.assert_allclose(got(x).detach().numpy(), want(vector().detach().numpy()), rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of forward mode in its older batching
@pytest.mark.parametrize(
    "f",
    [wg.function(lambda x: wg.sin(x) * x), wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * x, x))],
)
def test_tangents_may_be_batched(f: Callable[[Any], Any]) -> None:
    """By torch's older batching, which does not say whether a tensor has a tangent."""
    x = vector()[:5].detach().requires_grad_()
    assert torch.autograd.gradcheck(f, (x,), check_forward_ad=True, check_batched_forward_grad=True)
    found = torch.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode")
    assert found.requires_grad  # as torch's own
    np.testing.assert_allclose(found.detach().numpy(), wg.jacobian(f)(x.detach().numpy()), rtol=1e-12, atol=1e-12)


def test_cotangents_may_be_batched_or_missing() -> None:
    f = wg.function(lambda x: (wg.sin(x) * x, wg.sum(x)))
    x = vector()[:5].detach().requires_grad_()
    assert torch.autograd.gradcheck(f, (x,), check_batched_grad=True)
    assert torch.autograd.gradcheck(counted, (x,), check_batched_grad=True)
    found = torch.autograd.functional.jacobian(counted, x, vectorize=True)
    np.testing.assert_allclose(found.numpy(), wg.jacobian(counted)(x.detach().numpy()), rtol=1e-12)


def by_jax(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.sin(x) * x * x[::-1]


BATCHED: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "from_jax": lambda: wg.from_jax(by_jax),
    "host": lambda: wg.function(lambda x: wg.special.jv(1.0, x) * x[::-1]),
    "torch": lambda: wg.function(lambda x: wg.sin(x) * x * x[::-1]),
    "while_loop": lambda: wg.function(
        lambda x: wg.while_loop(lambda c: wg.sum(c) < 20.0, lambda c: 1.3 * c + wg.sin(c), wg.abs(x) + 0.1)
    ),
    "custom": lambda: wg.custom_gradient(lambda x: (wg.exp(x) * x, lambda u: u * wg.exp(x) * (x + 1.0))),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("make", BATCHED.values(), ids=BATCHED)
def test_older_batching(make: Callable[[], Callable[[Any], Any]]) -> None:
    """What runs elsewhere than on torch has no rule there, and torch's own lose second derivatives in it."""
    if make is BATCHED["from_jax"]:
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    f, x = make(), vector()[:4].detach()
    wanted = wg.jacobian(f)(x.numpy())
    for strategy in ("reverse-mode", "forward-mode"):
        for _ in range(3):
            found = torch.autograd.functional.jacobian(f, x, vectorize=True, strategy=strategy)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-12)

    def once(x: Any) -> Any:
        return torch.autograd.functional.jacobian(f, x, vectorize=True, create_graph=True)

    twice = torch.autograd.functional.jacobian(once, x, vectorize=True)
    np.testing.assert_allclose(twice.numpy(), wg.jacobian(wg.jacobian(f))(x.numpy()), rtol=1e-10, atol=1e-12)
    for outer in ("reverse-mode", "forward-mode"):
        found = torch.autograd.functional.hessian(
            lambda x: f(x).sum(), x, vectorize=True, outer_jacobian_strategy=outer
        )  # fmt: skip
        wanted = wg.hessian(lambda x: wg.sum(f(x)))(x.numpy())
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-10, atol=1e-12)
    leaf = x.clone().requires_grad_()
    assert torch.autograd.gradcheck(f, (leaf,), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, (leaf,), check_batched_grad=True)


def test_words_for_the_older_batching() -> None:
    """Of torch's private parts, which say what is a batch."""
    from wengert._engines.torch.older_batching import has_lanes

    met: list[bool] = []
    x = vector()[:4]
    x.register_hook(lambda ct: met.append(has_lanes([None, ct])))
    torch.autograd.grad(2.0 * x, x, torch.eye(4, dtype=x.dtype), is_grads_batched=True)
    torch.autograd.grad(2.0 * x, x, torch.ones_like(x))
    assert met == [True, False]


@pytest.mark.parametrize("reduced", [wg.mean, wg.std, lambda x: wg.mean((x - 1.0) ** 2)], ids=["mean", "std", "mse"])
def test_a_single_number_may_be_written_to(reduced: Callable[[Any], Any]) -> None:
    x = vector()
    y = wg.function(reduced)(x)
    wanted = y.item()
    y.mul_(2.0)
    (slope,) = torch.autograd.grad(y, x)
    assert y.item() == 2.0 * wanted
    np.testing.assert_allclose(slope.numpy(), 2.0 * wg.grad(reduced)(x.detach().numpy()), rtol=1e-12)
