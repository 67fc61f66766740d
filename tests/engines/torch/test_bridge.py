"""Wengert's functions in torch's differentiation: under backward, torch.func, in modules, and in many processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch", reason="torch is not installed")

# torch's own forward mode compiles its rules by a part of it that it has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

X = np.array([0.5, 1.0, 1.5])


def close(got: Any, want: Any, tolerance: float = 1e-12) -> None:
    values = got.detach().numpy() if isinstance(got, torch.Tensor) else np.asarray(got)
    np.testing.assert_allclose(values, np.asarray(want), rtol=tolerance, atol=tolerance)


def leaf(value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def derivative(y: Any, *xs: Any) -> Any:
    """What torch finds, with a graph of its own to differentiate again."""
    found = torch.autograd.grad(y, xs, create_graph=True, allow_unused=True)
    return found[0] if len(xs) == 1 else found


@wg.custom_gradient
def ten_times(x: Any) -> Any:
    """A square whose gradient is five times too large, so that a natural one would be seen."""
    return x * x, lambda upstream: upstream * x * 10


@wg.custom_grad
def sevenfold(x: Any, save: Any) -> Any:
    save([x])
    return {"value": x**3, "grad_func": lambda dy, saved: dy * 7 * saved[0]}


recomputed = wg.recompute_grad(lambda x: wg.sin(x) * wg.exp(x))
compiled = wg.function(lambda x: wg.maximum(x, 1.0) ** 3 * ten_times(x))
transform = wg.grad(lambda x: (wg.maximum(x, 1.0) ** 3 * ten_times(x)).sum())
looped = wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: ten_times(c) * 0.3 + x, x))
BRIDGED = {
    "custom_gradient": ten_times, "custom_grad": sevenfold, "recompute_grad": recomputed, "function": compiled,
    "transform": transform, "loop": looped,
}  # fmt: skip
every_bridge = pytest.mark.parametrize("f", BRIDGED.values(), ids=BRIDGED.keys())


# -- our rule, wherever torch differentiates ------------------------------------------------------------------------------


@every_bridge
def test_our_rule_holds_in_backward(f: Callable[[Any], Any]) -> None:
    p = leaf(X)
    y = f(p)
    assert isinstance(y, torch.Tensor)
    assert y.requires_grad
    close(y, f(X))
    (y * torch.arange(1.0, 4.0)).sum().backward()
    close(p.grad, wg.grad(lambda v: (f(v) * np.arange(1.0, 4.0)).sum())(X))


@every_bridge
def test_second_and_third_order(f: Callable[[Any], Any]) -> None:
    p = leaf(X)
    first = derivative(f(p).sum(), p)
    second = derivative((first**2).sum(), p)
    third = derivative(second.sum(), p)
    ours = wg.grad(lambda v: f(v).sum())
    twice = wg.grad(lambda v: (ours(v) ** 2).sum())
    close(first, ours(X))
    close(second, twice(X))
    close(third, wg.grad(lambda v: twice(v).sum())(X))


@every_bridge
def test_torchs_own_operations_around_it(f: Callable[[Any], Any]) -> None:
    p = leaf(X)
    close(derivative((torch.sin(f(torch.exp(p))) * p).sum(), p), wg.grad(lambda v: (wg.sin(f(wg.exp(v))) * v).sum())(X))


@every_bridge
def test_our_rule_holds_under_torch_func(f: Callable[[Any], Any]) -> None:
    func = torch.func
    x = torch.tensor(X)
    rows = torch.stack([x, x * 0.7])
    gradient = wg.grad(lambda v: f(v).sum())

    def total(v: Any) -> Any:
        return f(v).sum()

    close(func.grad(total)(x), gradient(X))
    close(func.vmap(f)(rows), np.stack([f(X), f(X * 0.7)]))
    close(func.vmap(func.grad(total))(rows), np.stack([gradient(X), gradient(X * 0.7)]))
    close(func.grad(lambda v: func.vmap(f)(v).sum())(rows), np.stack([gradient(X), gradient(X * 0.7)]))
    close(func.jvp(f, (x,), (torch.ones_like(x),))[1], wg.jacobian(f)(X).sum(1))
    close(func.vjp(f, x)[1](torch.ones_like(x))[0], gradient(X))
    want = wg.hessian(lambda v: f(v).sum())(X)
    close(func.jacrev(func.jacrev(total))(x), want)
    close(func.jacfwd(func.jacrev(total))(x), want)
    close(func.jacfwd(func.jacfwd(total))(x), want)
    close(func.vmap(func.grad(total), in_dims=1)(rows.T.clone()), np.stack([gradient(X), gradient(X * 0.7)]))


@every_bridge
def test_forward_mode(f: Callable[[Any], Any]) -> None:
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(torch.tensor(X), torch.ones(3, dtype=torch.float64)))
        close(forward_ad.unpack_dual(y).tangent, wg.jvp(f, (X,), (np.ones(3),))[1])


@every_bridge
def test_nobody_differentiates(f: Callable[[Any], Any]) -> None:
    p = leaf(X)
    with torch.no_grad():
        assert not f(p).requires_grad
    with torch.inference_mode():
        close(f(torch.tensor(X)), f(X))
    y = f(p)
    with torch.no_grad():
        p.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_plain_operations_are_torchs_own() -> None:
    p = leaf([1.0, 1.0])
    assert "Maximum" in wg.maximum(p, 1.0).grad_fn.name()
    close(derivative(wg.function(lambda v: wg.maximum(v, 1.0).sum())(p), p), [0.5, 0.5])


def test_several_arguments_and_results_structures_and_integers() -> None:
    f = wg.function(lambda d, n, unused: {"y": d["a"] * d["b"][0], "n": n + 1, "z": (d["b"][0] ** 2).sum()})
    a, b, c = leaf(X), leaf(X + 1), leaf(X)
    found = f({"a": a, "b": [b]}, torch.arange(3), c)
    assert not found["n"].requires_grad
    got = derivative(found["y"].sum() + 2 * found["z"], a, b, c)
    close(got[0], X + 1)
    close(got[1], X + 4 * (X + 1))
    assert got[2] is None or not got[2].any()
    only = derivative(f({"a": a, "b": [b]}, torch.arange(3), c)["z"], a, b)
    assert only[0] is None or not only[0].any()
    close(only[1], 2 * (X + 1))


def test_an_argument_given_back_and_a_constant() -> None:
    p = leaf(X)
    f = wg.function(lambda v: (v, v * 1.0, wg.tensor(X)))
    same, other, constant = f(p)
    close(derivative((same * 2 + other).sum(), p), [3.0] * 3)
    assert not constant.requires_grad
    with torch.no_grad():
        same.mul_(0.0)
    close(p, X)


def test_gathered_rows() -> None:
    table = torch.ones((3, 2), requires_grad=True)
    rows = wg.function(lambda t: (t[np.array([0, 2, -3])] ** 2).sum())
    close(derivative(rows(table), table), [[4, 4], [0, 0], [2, 2]])


def test_complex_numbers_and_half_floats() -> None:
    f = lambda z: (z * z.conj() * 1j + z**2).sum()
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    seed = torch.tensor(1 - 2j)
    (ours,) = torch.autograd.grad(wg.function(f)(z), z, seed)
    (theirs,) = torch.autograd.grad(f(z), z, seed)
    close(ours, theirs, 1e-6)  # complex64
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        p = torch.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
        g = derivative(wg.function(lambda v: (v**3).sum())(p), p)
        assert g.dtype is dtype
        close(g.float(), [0.75, 12.0])


def test_control_flow_on_tensors_that_require_gradients() -> None:
    p = leaf(X)
    doubling = lambda v: wg.while_loop(lambda u: u.sum() < 50, lambda u: u * 1.5, v).sum()
    close(derivative(doubling(p), p), wg.grad(doubling)(X))
    counted = lambda v: wg.fori_loop(0, 5, lambda i, c: wg.sin(c) * c, v).sum()
    close(derivative(counted(p), p), wg.grad(counted)(X))
    scanned = lambda v: wg.scan(lambda c, t: (c * t, c + t), 1.0, v)[1].sum()
    close(derivative(scanned(p), p), wg.grad(scanned)(X))
    branch = lambda v: wg.cond(v.sum() > 1, lambda u: u**2, lambda u: u, v).sum()
    close(derivative(branch(p), p), 2 * X)
    picked = lambda v: wg.switch(1, [lambda u: u, lambda u: u**3], v).sum()
    close(derivative(picked(p), p), 3 * X**2)
    w = leaf(2.0)
    from_outside = wg.cond(True, lambda: wg.tensor(w) * 3, lambda: wg.tensor(w))
    close(derivative(from_outside.native, w), 3.0)


def test_derivatives_taken_here_are_differentiated_there() -> None:
    p = leaf(X)
    f = lambda v: (wg.sin(v) * ten_times(v)).sum()
    close(derivative(wg.value_and_grad(f)(p).grad.sum(), p), wg.grad(lambda v: wg.grad(f)(v).sum())(X))
    close(derivative(wg.jvp(f, (p,), (torch.ones(3, dtype=torch.float64),))[1], p), wg.hessian(f)(X).sum(0))
    close(derivative(wg.hessian(f)(p).sum(), p), wg.grad(lambda v: wg.hessian(f)(v).sum())(X), 1e-11)
    close(derivative(wg.vmap(ten_times)(p).sum(), p), 10 * X)
    close(derivative(wg.jacobian(ten_times)(p).sum(), p), 10)


def test_variables_are_read_at_each_call() -> None:
    v = wg.Variable(X)
    f = wg.function(lambda t: (v * t).sum())
    p = leaf(X)
    close(derivative(f(p), p), X)
    v.assign(2 * X)
    close(derivative(f(p), p), 2 * X)


# -- modules and training -----------------------------------------------------------------------------------------------


class Layer(torch.nn.Module):
    """A module whose activation has a gradient of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3, 2), 0.5, dtype=torch.float64))
        self.bias = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        return sevenfold(x @ self.weight + self.bias)


def test_a_module_is_trained() -> None:
    layer = Layer()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    x = torch.tensor(np.stack([X, -X]))
    before = layer.weight.detach().clone()
    optimizer.zero_grad()
    layer(x).sum().backward()
    hidden = x @ before
    close(layer.weight.grad, x.T @ (7 * hidden))
    optimizer.step()
    close(layer.weight, before - 0.01 * x.T @ (7 * hidden))
    loss = wg.function(lambda w, b, v: ((v @ w + b) ** 2).sum())
    layer.zero_grad()
    loss(layer.weight, layer.bias, x).backward()
    close(layer.bias.grad, (2 * (x @ layer.weight.detach() + layer.bias.detach())).sum(0))


def test_the_graph_is_freed_and_used_once() -> None:
    p = leaf(X)
    y = compiled(p).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = compiled(p).sum()
    z.backward(retain_graph=True)
    z.backward()


def test_checkpointing_and_hooks_of_torch() -> None:
    from torch.utils.checkpoint import checkpoint

    p = leaf(X)
    seen: list[Any] = []
    y = checkpoint(lambda v: ten_times(torch.sin(v)), p, use_reentrant=False)
    y.register_hook(seen.append)
    y.sum().backward()
    close(p.grad, 10 * np.sin(X) * np.cos(X))
    close(seen[0], np.ones(3))
    assert torch.autograd.gradcheck(wg.function(lambda v: wg.sin(v) * v.sum()), (leaf(X),))
    assert torch.autograd.gradgradcheck(wg.function(lambda v: wg.sin(v) * v.sum()), (leaf(X),))


def test_the_gradients_of_many_processes_are_those_of_one() -> None:
    code = """
import os, sys, numpy as np, torch, wengert as wg
import torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(5, dtype=torch.float64) / 5)
    def forward(self, x):
        return loss(self.w, x)

loss = wg.function(lambda w, x: wg.mean(wg.log(1 + wg.exp(x @ w))))
X = torch.tensor(np.random.default_rng(0).normal(size=(64, 5)))

def work(rank, address):
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    layer = DistributedDataParallel(Layer())
    layer(X[rank * 32 : (rank + 1) * 32]).backward()
    alone = Layer()
    alone(X).backward()
    assert (layer.module.w.grad - alone.w.grad).abs().max() < 1e-12
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=2)
"""
    import socket
    import tempfile
    from pathlib import Path

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "many.py")
        script.write_text(code)
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, str(script), f"tcp://127.0.0.1:{port}"], env=environment, capture_output=True, check=False,
            timeout=110,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


# -- custom gradients: what Keras promises, case by case -------------------------------------------------


def log1pexp(rule: Any) -> Any:
    def f(x: Any) -> Any:
        e = wg.exp(x)
        return wg.log(1 + e), rule(e)

    return wg.custom_gradient(f)


def agnostic(e: Any) -> Any:
    def grad(*args: Any, upstream: Any = None) -> Any:
        upstream = args[0] if upstream is None else upstream
        return upstream * (1 - 1 / (1 + e))

    return grad


def keyword_only(e: Any) -> Any:
    return lambda *args, upstream: upstream * (1 - 1 / (1 + e))


def by_position(e: Any) -> Any:
    return lambda upstream: upstream * (1 - 1 / (1 + e))


@pytest.mark.parametrize("rule", [agnostic, by_position, keyword_only], ids=["agnostic", "by position", "keyword only"])
def test_every_form_of_a_gradient_function(rule: Any) -> None:
    p = leaf(100.0)
    close(derivative(log1pexp(rule)(p), p), 1.0)
    q = leaf([0.0, 1.0, 100.0])
    close(derivative(log1pexp(rule)(q).sum(), q), [0.5, 1 / (1 + np.exp(-1.0)), 1.0])


def given(f: Any, *values: Any, pick: Any = lambda y: y) -> Any:
    """The derivatives of a custom gradient in some numbers, as torch finds them."""
    xs = [leaf(v) for v in values]
    return derivative(pick(wg.custom_gradient(f)(*xs)), *xs)


def test_tuples_and_lists() -> None:
    assert [g.item() for g in given(lambda a, b: (a * b, lambda u: (10 * u, 100 * u)), 2.0, 3.0)] == [10.0, 100.0]
    assert [g.item() for g in given(lambda a, b: (a * b, lambda u: [10 * u, 100 * u]), 2.0, 3.0)] == [10.0, 100.0]


def test_too_few_and_too_many() -> None:
    for rule in (lambda u: (u,), lambda u: (u, u, u)):
        with pytest.raises(ValueError, match="wanted 2"):
            given(lambda a, b, rule=rule: (a * b, rule), 2.0, 3.0)


def test_none_is_no_contribution() -> None:
    first, second = given(lambda a, b: (a * b, lambda u: (None, u)), 2.0, 3.0)
    assert first is None or first.item() == 0.0
    assert second.item() == 1.0
    alone = given(lambda a: (a * 2, lambda u: None), 2.0)
    assert alone is None or alone.item() == 0.0


def test_two_outputs() -> None:
    rule = lambda a: ((a, 3 * a), lambda da, db: 10 * da + 100 * db)
    close(given(rule, 2.0, pick=lambda y: y[1]), 100.0)


def test_dicts() -> None:
    @wg.custom_gradient
    def f(d: Any) -> Any:
        return d["a"] * d["b"], lambda u: {"a": 5 * u, "b": 7 * u}

    a, b = leaf(2.0), leaf(3.0)
    assert [g.item() for g in derivative(f({"a": a, "b": b}), a, b)] == [5.0, 7.0]


def test_keywords_and_numbers() -> None:
    @wg.custom_gradient
    def f(x: Any, scale: Any = 1.0) -> Any:
        return x * scale, lambda u: 7 * u

    p = leaf(2.0)
    close(derivative(f(p, scale=3.0), p), 7.0)
    g = wg.custom_gradient(lambda x, k: (x * k, lambda u: (u * 9, None)))
    close(derivative(g(p, 3.0), p), 9.0)


def test_no_pair_and_an_error_forward() -> None:
    with pytest.raises(TypeError, match="pair"):
        wg.custom_gradient(lambda x: x * 2)(leaf(2.0))
    calls: list[int] = []

    @wg.custom_gradient
    def broken(x: Any) -> Any:
        calls.append(1)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        broken(leaf(2.0))
    assert len(calls) == 1


def test_second_order() -> None:
    def slopes(f: Any) -> float:
        p = leaf(3.0)
        return derivative(derivative(wg.custom_gradient(f)(p), p), p).item()

    def by_output(x: Any) -> Any:
        y = x * x
        return y, lambda u: u * y

    assert slopes(lambda x: (x * x, lambda u: 10 * u * x)) == 10.0
    assert slopes(by_output) == 6.0
    assert slopes(lambda x: (x * x, lambda *args, upstream: upstream * args[0] * args[0])) == 6.0


def test_variables_and_captured_tensors() -> None:
    v = wg.Variable(2.0)
    f = wg.custom_gradient(lambda x, w: (x * w, lambda u: (u * 3, u * 5)))
    p = leaf(2.0)
    close(derivative(f(p, v).native, p), 3.0)
    w = leaf(5.0)
    g = wg.custom_gradient(lambda x: (x * w, lambda u: u * 7))
    with pytest.raises(wg.DisconnectedError, match=r"depends on w \(shape \(\), float64\)"):
        derivative(g(p), p, w)
    w = w.detach()
    close(derivative(g(p), p), 7.0)


def test_what_a_gradient_must_be() -> None:
    with pytest.raises(ValueError, match="shape"):
        given(lambda x: (x * 2, lambda u: np.ones(5)), 2.0)
    with pytest.raises(TypeError, match="dtype"):
        given(lambda x: (x * 2, lambda u: np.float16(1.0)), 2.0)
    close(given(lambda x: (x * 2, lambda u: 7.0), 2.0), 7.0)
    p = leaf(2.0)
    f = wg.custom_gradient(lambda x, n: (x * n, lambda u: (u * 4, None)))
    close(derivative(f(p, torch.tensor(3)), p), 4.0)


def test_forward_mode_holds_to_the_rule() -> None:
    f = wg.custom_gradient(lambda x: (x * x, lambda u: 10 * u * x))
    x = torch.tensor(3.0, dtype=torch.float64)
    close(torch.func.jvp(f, (x,), (torch.ones_like(x),))[1], 30.0)


def test_rows_of_custom_grad() -> None:
    f = wg.custom_grad(lambda x, save: (x * x, lambda dy, saved: dy * abs(save([x]) or x)))
    p = leaf([-1.0, -2.0, 3.0])
    close(derivative(f(p).sum(), p), [1.0, 2.0, 3.0])
    same = wg.custom_grad(lambda x, save: (x, lambda dy, saved: 9 * dy))
    close(derivative(same(p).sum(), p), [9.0] * 3)
