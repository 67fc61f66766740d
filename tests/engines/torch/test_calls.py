"""Calls like the last one skip what was found out then; others must not be taken for one, and none costs many calls."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from wengert.rules import frameworks

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def tensor(*values: float, **options: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, **options)


def warm(f: Callable[..., Any], *arguments: Any) -> None:
    for _ in range(3):
        f(*arguments)


def test_a_call_with_a_gradient_after_calls_without_and_back() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x)))
    x = tensor(0.3, 0.4)
    for _ in range(3):
        warm(f, x)
        assert not f(x).requires_grad
        followed = x.clone().requires_grad_()
        warm(f, followed)
        (found,) = torch.autograd.grad(f(followed), followed)
        torch.testing.assert_close(found, torch.cos(x))
        with torch.no_grad():
            assert not f(followed).requires_grad
            warm(f, followed)
        assert f(followed).requires_grad


def test_calls_in_transforms_after_calls_outside() -> None:
    f = wg.function(wg.tanh)
    x = tensor(0.3, 0.4)
    slope = 1 - torch.tanh(x) ** 2
    warm(f, x)
    torch.testing.assert_close(torch.func.vmap(f)(x), torch.tanh(x))
    torch.testing.assert_close(torch.func.grad(lambda x: f(x).sum())(x), slope)
    torch.testing.assert_close(torch.func.jvp(f, (x,), (torch.ones_like(x),))[1], slope)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(f(dual)).tangent, slope)
    torch.testing.assert_close(f(x), torch.tanh(x))


def test_other_shapes_dtypes_and_kinds_after_a_warm_call() -> None:
    f = wg.function(lambda x: wg.exp(x) * 2)
    warm(f, tensor(0.1, 0.2))
    for x in (tensor(0.1), tensor(0.1, 0.2).float(), torch.nn.Parameter(tensor(0.1, 0.2))):
        torch.testing.assert_close(f(x), torch.exp(x) * 2)
    assert isinstance(f(np.array([0.1, 0.2])), np.ndarray)
    assert isinstance(f(0.1), float)


def test_what_a_function_reads_is_read_at_each_call() -> None:
    scale, weights = {"by": 2.0}, np.ones(2)
    f = wg.function(lambda x: x * scale["by"] * weights)
    x = tensor(1.0, 2.0)
    warm(f, x)
    scale["by"] = 3.0
    torch.testing.assert_close(f(x), x * 3)
    weights[:] = 5.0
    torch.testing.assert_close(f(x), x * 15)


def test_results_of_calls_share_no_memory() -> None:
    f = wg.function(lambda x: (x, x + 1))
    x = tensor(1.0, 2.0)
    warm(f, x)
    same, more = f(x)
    same.add_(10)
    torch.testing.assert_close(x, tensor(1.0, 2.0))
    torch.testing.assert_close(f(x)[1], more)


def test_second_derivatives_of_warm_calls() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x) * wg.exp(x)))
    x = tensor(0.3, 0.4, requires_grad=True)
    warm(f, x)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 2 * torch.cos(x) * torch.exp(x))


def test_the_cost_of_a_warm_call_in_python_calls() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x) * wg.exp(x)))
    x = tensor(0.3, 0.4)
    warm(f, x)
    assert len(python_calls(lambda: f(x))) <= 4  # the lambda, the call, its guard, the program
    followed = x.clone().requires_grad_()
    warm(lambda: torch.autograd.grad(f(followed), followed))
    own = len(python_calls(lambda: torch.autograd.grad(torch.sum(torch.sin(followed)), followed)))
    assert len(python_calls(lambda: torch.autograd.grad(f(followed), followed))) - own <= 6


def test_a_backward_pass_compares_no_cotangent_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x)))
    x = tensor(0.3, 0.4, requires_grad=True)
    y = f(x)
    seen: list[object] = []
    monkeypatch.setattr(torch.Tensor, "__eq__", lambda self, other: seen.append(other) or NotImplemented)
    y.backward()
    assert not seen


def test_sums_with_products_are_one_kernel_of_the_same_values() -> None:
    rows = np.array([[2.0, -0.0, np.inf, np.nan, 1e308], [0.5, 3.0, 0.0, 1.0, 10.0], [1.0, 0.0, 2.0, 4.0, -1e308]])
    cases: dict[str, Callable[..., Any]] = {
        "plus": lambda x, y, z: z + x * y, "minus": lambda x, y, z: z - x * y, "from": lambda x, y, z: x * y - z,
        "negated": lambda x, y, z: z + -x, "twice": lambda x, y, z: (x * y) + (x * y), "both": lambda x, y, z: -x + -y,
    }  # fmt: skip
    for f in cases.values():
        g = wg.function(f)
        for _ in range(3):
            found = g(*map(torch.tensor, rows))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(found.numpy(), f(*rows), rtol=1e-15)


def test_a_backward_pass_of_some_results_only_and_of_kept_values() -> None:
    f = wg.function(lambda x, y: (wg.sin(x) * y, wg.exp(y), x + 1))
    x, y = tensor(0.3, 0.4, requires_grad=True), tensor(1.5, 0.5, requires_grad=True)
    own = (torch.sin(x) * y, torch.exp(y), x + 1)
    for chosen in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
        for is_followed in (False, True, False):
            outs = f(x, y)
            found = torch.autograd.grad(
                sum(outs[i].sum() for i in chosen), (x, y), create_graph=is_followed, allow_unused=True
            )
            wanted = torch.autograd.grad(
                sum(own[i].sum() for i in chosen), (x, y), retain_graph=True, allow_unused=True
            )
            for got, want, source in zip(found, wanted, (x, y), strict=True):
                zero = torch.zeros_like(source)
                torch.testing.assert_close(zero if got is None else got.detach(), zero if want is None else want)
    batched = torch.autograd.grad(f(x, y)[0], x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)[0]
    torch.testing.assert_close(batched, torch.diag((torch.cos(x) * y).detach()))


def test_a_written_operand_is_still_refused_by_a_warm_backward_pass() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x)))
    x = tensor(0.3, 0.4, requires_grad=True)
    warm(lambda: torch.autograd.grad(f(x), x))
    y = f(x)
    with torch.no_grad():
        x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_results_of_warm_nodes_may_be_written_to() -> None:
    f = wg.function(lambda x: (wg.tanh(x), wg.transpose(x * 2), wg.reshape(wg.exp(x), (4, 1)), x[0], wg.sum(x * x)))
    x = torch.linspace(0.1, 0.4, 4, dtype=torch.float64).reshape(2, 2).requires_grad_()
    for _ in range(4):
        for place in range(5):
            y = f(x)[place]
            y += 1.0  # torch refuses it of a view that a node of several results gave
            loss = y.sum()
            if place:  # the derivative of tanh reads the result
                torch.autograd.grad(loss, x)
            else:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    torch.autograd.grad(loss, x)


LIGHT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "as it came": (lambda x: (x, wg.reshape(x, (1, 4)), x + 1), lambda x: (x, x.reshape(1, 4), x + 1)),
    "rows": (lambda x: (wg.take(x, np.array([1, 1, -1])), wg.exp(x)), lambda x: (x[[1, 1, -1]], torch.exp(x))),
    "kept": (lambda x: (wg.tanh(x * x) * x,), lambda x: (torch.tanh(x * x) * x,)),
    "chosen": (lambda x: (wg.where(x > 0.5, wg.sqrt(x), 0.0),), lambda x: (torch.where(x > 0.5, torch.sqrt(x), 0.0),)),
    "complex": (lambda x: (wg.exp(x * 1j),), lambda x: (torch.exp(x * 1j),)),
}


@pytest.mark.parametrize("name", LIGHT)
def test_warm_nodes_give_what_torch_gives(name: str) -> None:
    ours, own = LIGHT[name]
    f = wg.function(ours)
    for turn in range(4):
        found = []
        for g in (f, own):
            x = tensor(0.3, 0.7, 0.9, 2.0, requires_grad=True)
            outs = g(x)
            loss = sum((torch.abs(y) ** 2).sum() for y in outs)
            (first,) = torch.autograd.grad(loss, x, create_graph=turn % 2 == 1)
            found += [[y.detach() for y in outs], first.detach()]
            if turn % 2:
                found.append(torch.autograd.grad(first.sum(), x)[0])
        count = len(found) // 2
        torch.testing.assert_close(found[:count], found[count:])


def test_warm_nodes_of_what_a_transform_has_left_behind() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x)))
    x = tensor(0.3, 0.4, requires_grad=True)
    warm(f, x)
    left: list[Any] = []
    torch.func.grad(lambda y: (left.append(y), (y * y).sum())[1])(x)
    torch.testing.assert_close(torch.autograd.grad(f(left[0]), x)[0], torch.cos(x).detach())


def _block(of: Any) -> Callable[..., Any]:
    """Keeps what is neither operand nor result, and reads of the last operand nothing but what follows from it."""
    return lambda x, w, z: (of.sin(of.tanh(x @ w) * of.exp(of.tanh(z))).sum(), of.cos(x).sum())


@pytest.mark.parametrize("kind", ["leaves", "followed", "parameters"])
@pytest.mark.parametrize("is_batched", [False, True], ids=["one", "vmap"])
def test_derivatives_of_every_order_of_what_a_warm_node_keeps(kind: str, is_batched: bool) -> None:
    f = wg.function(_block(wg))
    start = [torch.linspace(0.1, 0.9, 4, dtype=torch.float64).reshape(2, 2) + i / 10 for i in range(3)]
    make: Callable[[Any], Any] = torch.nn.Parameter if kind == "parameters" else lambda x: x.clone().requires_grad_()
    for turn in range(4):
        found: list[Any] = []
        for g in (f, _block(torch)):
            sources = [*map(make, start)]
            loss = sum(g(*([x * 1 for x in sources] if kind == "followed" else sources)))
            if is_batched:
                seeds = torch.tensor([1.0, 2.0], dtype=torch.float64)
                pull = partial(torch.autograd.grad, loss, sources, create_graph=True)
                first = [x.sum(0) for x in torch.func.vmap(lambda ct, pull=pull: pull(ct))(seeds)]
            else:
                first = torch.autograd.grad(loss, sources, create_graph=turn > 0)
            found += [x.detach() for x in first]
            if turn or is_batched:
                second = torch.autograd.grad(sum((x * x).sum() for x in first), sources, create_graph=True)
                third = torch.autograd.grad(sum((x * x).sum() for x in second), sources)
                found += [x.detach() for x in (*second, *third)]
        torch.testing.assert_close(found[: len(found) // 2], found[len(found) // 2 :])


def test_a_leaf_that_a_warm_node_does_not_read_may_be_written_to_before_a_second_derivative() -> None:
    f = wg.function(lambda x: wg.sin(wg.tanh(x)).sum())
    x = tensor(0.3, 0.4, requires_grad=True)
    warm(f, x)
    y = f(x)
    with torch.no_grad():
        x.add_(1.0)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    t = torch.tanh(tensor(0.3, 0.4))
    torch.testing.assert_close(first.detach(), torch.cos(t) * (1 - t * t))
    torch.testing.assert_close(second, -torch.sin(t) * (1 - t * t) ** 2 - 2 * t * torch.cos(t) * (1 - t * t))


def test_warm_calls_in_modes_that_torch_dispatches_by() -> None:
    modes = importlib.import_module("torch.utils._python_dispatch")
    seen: list[Any] = []

    class Watching(modes.TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(op)
            return op(*args, **(kwargs or {}))

    f = wg.function(lambda x: wg.sin(x) * 2)
    plain, conjugated = tensor(0.3, 0.4), torch.tensor([0.3 + 1j, 0.4])
    for _ in range(3):
        warm(f, plain)
        seen.clear()
        with Watching():
            warm(f, plain)
        assert seen
        with torch.inference_mode():
            torch.testing.assert_close(f(plain * 1), torch.sin(plain) * 2)
        with torch.autocast("cpu"):
            torch.testing.assert_close(f(plain), torch.sin(plain) * 2)
        for x in (conjugated, conjugated.conj(), plain):
            torch.testing.assert_close(f(x), torch.sin(x) * 2)


def test_half_floats_in_products_beside_whole_ones() -> None:
    f = wg.function(lambda x, y: x @ y)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        a, b = torch.ones(2, 3, dtype=dtype), torch.full((3, 2), 0.1, dtype=dtype)
        for _ in range(3):
            assert f(a, b).dtype is dtype
        wide = (a.double() @ b.double()).to(dtype)
        torch.testing.assert_close(f(a, b), wide)


def test_bridges_from_other_frameworks_are_traced_once() -> None:
    """A function of JAX's under torch's own differentiation: JAX traces it for a signature, not for each call."""
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    bridged = wg.from_jax(lambda x, power: jnp.sum(jnp.sin(x) ** power))
    gradient = torch.func.grad(lambda x: bridged(x, power=2))
    x = torch.tensor([0.5, 1.0], dtype=torch.float64)
    wanted = torch.sin(2 * x)
    for _ in range(2):
        torch.testing.assert_close(gradient(x), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frameworks, "as_program", None)  # what traces anew
        torch.testing.assert_close(gradient(x), wanted)
        torch.testing.assert_close(torch.func.vmap(gradient)(torch.stack([x, x])), torch.stack([wanted, wanted]))
    torch.testing.assert_close(torch.func.grad(lambda x: bridged(x, power=3))(x), 3 * torch.sin(x) ** 2 * torch.cos(x))


def test_captured_tensors_may_change_in_every_way() -> None:
    held = {"w": tensor(2.0, 3.0)}
    f = wg.function(lambda x: wg.sin(x) * held["w"])
    x = tensor(0.3, 0.4)

    def check() -> None:
        for _ in range(4):
            y, w = f(x), held["w"]
            torch.testing.assert_close(y, torch.sin(x) * w)
            assert y.requires_grad is w.requires_grad
            if w.requires_grad:
                torch.testing.assert_close(torch.autograd.grad(y.sum(), w)[0], torch.sin(x).to(w.dtype))

    check()
    held["w"].mul_(2.0)
    check()
    held["w"].requires_grad_()
    check()
    with torch.no_grad():
        assert not f(x).requires_grad
    check()
    held["w"].requires_grad_(False)
    check()
    for other in (tensor(5.0, 6.0), tensor(5.0), torch.tensor([5.0, 6.0])):
        held["w"].data = other
        check()
    held["w"] = torch.nn.Parameter(tensor(7.0, 8.0))
    check()
    held["w"].data = tensor(1.0, 2.0)
    check()


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(tensor(1.0, 2.0))
        self.f = wg.function(lambda x: wg.sin(x) * self.w)

    def forward(self, x: Any) -> Any:
        return self.f(x)


def test_warm_calls_are_seen_by_what_asks_for_the_parameters_read() -> None:
    module, x = Scaled(), tensor(0.3, 0.4)
    warm(module, x)
    given = {"w": tensor(3.0, 4.0)}
    found = torch.func.grad(lambda given: torch.func.functional_call(module, given, (x,)).sum())(given)
    torch.testing.assert_close(found["w"], torch.sin(x))
    torch.testing.assert_close(module(x), torch.sin(x) * module.w)
    with pytest.raises(TypeError, match="must take the keyword argument 'variables'"):
        wg.custom_gradient(lambda x: (module.f(x), lambda upstream: upstream))(x)


@pytest.mark.parametrize("make", [tensor, lambda *v: torch.nn.Parameter(tensor(*v))], ids=["tensor", "parameter"])
def test_captured_tensors_cost_no_more_calls_than_arguments(make: Callable[..., Any]) -> None:
    w, x = make(2.0, 3.0), tensor(0.3, 0.4)
    captured, given = wg.function(lambda x: wg.sin(x) * w), wg.function(lambda x, w: wg.sin(x) * w)
    warm(captured, x)
    warm(given, x, w)
    assert len(python_calls(lambda: captured(x))) <= len(python_calls(lambda: given(x, w)))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:FutureWarning")
@pytest.mark.parametrize("calls", range(5))
@pytest.mark.parametrize("kind", ["function", "custom gradient"])
def test_torchs_traces_of_cold_and_warm_functions_are_alike(kind: str, calls: int) -> None:
    """torch.jit.trace compares the graphs of two calls, by the names of their variables, too."""
    x = tensor(0.3, 0.4)
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx

    def made(f: Callable[..., Any]) -> Any:
        made = wg.function(f) if kind == "function" else wg.custom_gradient(lambda x: (f(x), lambda dy: dy))
        for _ in range(calls):
            made(x)
        return made

    def scaled(number: float) -> Callable[[Any], Any]:
        return lambda x: wg.sin(x) * number

    for record in (lambda f: torch.jit.trace(f, (x,)), lambda f: make_fx(f)(x)):
        number = 2.0 + calls + (kind == "function") * 0.5  # of its own, which nobody has met yet
        recorded = record(made(scaled(number)))
        torch.testing.assert_close(recorded(x * 2), torch.sin(x * 2) * number)
        with pytest.raises(wg.TracingError, match="would keep what it gives"):
            record(made(lambda x: wg.special.betainc(2.0, 3.0, x)))


def test_sizes_without_numbers_are_refused_in_words() -> None:
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
    counting = wg.function(lambda x: wg.sum(x * wg.arange(len(x))))
    x = tensor(0.3, 0.4, 0.5)
    with pytest.raises(wg.TracingError, match=r"a size is s\d+ \(SymInt\), of which only a run tells the number"):
        make_fx(counting, tracing_mode="symbolic")(x)
    for mode in ("real", "fake"):
        torch.testing.assert_close(make_fx(counting, tracing_mode=mode)(x)(x), torch.sum(x * torch.arange(3)))


@pytest.mark.parametrize("kind", ["custom", "function", "nested", "from_jax"])
def test_warm_calls_under_anomaly_detection(kind: str) -> None:
    """For which torch imports a module of Python's under each call."""
    f: Any = wg.custom_gradient(lambda x: (x**3, lambda dy: dy * 7.0 * x))
    if kind == "function":
        f = wg.function(lambda x: wg.sum(wg.sin(x)) * 7.0)
    elif kind == "nested":
        nested = wg.function(lambda p: {"sum": p["x"] * p["x"] * 3.5, "both": [p["x"], p["x"] + 1]})
        f = lambda x: nested({"x": x})["sum"]
    elif kind == "from_jax":
        pytest.importorskip("jax", reason="JAX is not installed")
        f = wg.from_jax(lambda x: x * x * 3.5)
    x = torch.tensor([0.3, 0.8], requires_grad=True)
    slopes = [torch.autograd.grad(f(x).sum(), x)[0] for _ in range(4)]
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        slopes += [torch.autograd.grad(f(x).sum(), x)[0] for _ in range(2)]
    for slope in slopes:
        torch.testing.assert_close(slope, slopes[0])
