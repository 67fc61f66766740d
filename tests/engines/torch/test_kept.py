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
    "sorted": wg.sort,
}  # fmt: skip


@pytest.mark.parametrize(
    ("f", "count"),
    [*zip(WHAT_TORCH_KEEPS.values(), (1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1), strict=True)],
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
    "sorted": wg.function(lambda x: wg.sort(wg.sin(5 * x)) ** 3 * wg.sort(x)[::-1]),
    "median": wg.function(lambda x: wg.median(wg.sin(5 * x)) ** 3 + wg.quantile(x, 0.3) * wg.max(x)),
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


# -- what code may write to after a call, beside torch's own functions -------------------------------------------------

F = torch.nn.functional
SAME_NAME = [
    "sin", "cos", "tan", "exp", "log", "log1p", "log2", "log10", "exp2", "tanh", "sinh", "cosh", "sqrt", "square",
    "abs", "sign", "floor", "round", "deg2rad", "rad2deg", "sinc", "arcsin", "arccos", "arctan", "arcsinh",
    "arctanh", "reciprocal", "sum", "mean", "prod", "max", "min", "tril", "triu", "trace", "expm1", "fmod", "add",
    "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "hypot", "logaddexp", "matmul", "outer",
]  # fmt: skip
SPECIAL = [
    "erf", "erfc", "erfcx", "erfinv", "gammaln", "digamma", "logit", "expit", "i0", "i0e", "i1", "i1e", "ndtr",
    "ndtri", "log_ndtr", "xlogy", "xlog1py", "entr", "zeta",
]  # fmt: skip
TWO = {
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "hypot", "logaddexp", "xlogy",
    "xlog1py", "zeta", "fmod", "matmul",
}  # fmt: skip
ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    **{name: (getattr(wg, name), getattr(torch, name)) for name in SAME_NAME},
    **{name: (getattr(wg.special, name), getattr(torch.special, name)) for name in SPECIAL},
    **{name: (getattr(wg.nn, name), getattr(F, name)) for name in ("relu", "softplus", "silu", "gelu", "elu", "selu")},
    "power": (wg.power, torch.pow),
    "softmax": (wg.nn.softmax, lambda x: torch.softmax(x, -1)),
    "log_softmax": (wg.nn.log_softmax, lambda x: torch.log_softmax(x, -1)),
    "logsumexp": (lambda x: wg.nn.logsumexp(x, axis=-1), lambda x: torch.logsumexp(x, -1)),
    "negative": (lambda x: -x, lambda x: -x), "plus one": (lambda x: x + 1, lambda x: x + 1),
    "twice": (lambda x: x * 2, lambda x: x * 2), "half": (lambda x: x / 2, lambda x: x / 2),
    "one by it": (lambda x: 1 / x, lambda x: 1 / x), "cube": (lambda x: x**3, lambda x: x**3),
    "root": (lambda x: x**0.5, lambda x: x**0.5), "inverse power": (lambda x: x**-1.0, lambda x: x**-1.0),
    "where": (lambda x: wg.where(x > 0.5, x, 2.0), lambda x: torch.where(x > 0.5, x, 2.0)),
    "clip": (lambda x: wg.clip(x, 0.3, 0.6), lambda x: x.clamp(0.3, 0.6)),
    "sums": (lambda x: wg.sum(x, axis=1), lambda x: x.sum(1)),
    "products": (lambda x: wg.prod(x, axis=1), lambda x: x.prod(1)),
    "maxima": (lambda x: wg.max(x, axis=1), lambda x: x.amax(1)),
    "variances": (lambda x: wg.var(x, axis=1), lambda x: x.var(1, correction=0)),
    "deviations": (lambda x: wg.std(x, axis=1), lambda x: x.std(1, correction=0)),
    "norms": (lambda x: wg.linalg.norm(x, axis=1), lambda x: torch.linalg.norm(x, dim=1)),
    "running sums": (lambda x: wg.cumsum(x, axis=1), lambda x: x.cumsum(1)),
    "running products": (lambda x: wg.cumprod(x, axis=1), lambda x: x.cumprod(1)),
    "sort": (lambda x: wg.sort(x, axis=1), lambda x: x.sort(1)[0]),
    "largest": (lambda x: wg.ops.top_k(x, 2)[0], lambda x: x.topk(2)[0]),
    "einsum": (lambda x: wg.einsum("ij,kj->ik", x, x), lambda x: torch.einsum("ij,kj->ik", x, x)),
    "reshape": (lambda x: wg.reshape(x, (-1,)), lambda x: x.reshape(-1).clone()),
    "transpose": (lambda x: x.T, lambda x: x.T.clone()), "slice": (lambda x: x[1:, ::2], lambda x: x[1:, ::2].clone()),
    "rows": (lambda x: x[np.array([0, 2])], lambda x: x[[0, 2]]),
    "concatenate": (lambda x: wg.concatenate([x, x]), lambda x: torch.cat([x, x])),
    "stack": (lambda x: wg.stack([x, x]), lambda x: torch.stack([x, x])),
    "pad": (lambda x: wg.pad(x, ((1, 1), (0, 2))), lambda x: F.pad(x, (0, 2, 1, 1))),
    "flip": (lambda x: wg.flip(x, 1), lambda x: x.flip(1)), "roll": (lambda x: wg.roll(x, 1), lambda x: x.roll(1)),
    "tile": (lambda x: wg.tile(x, (2, 1)), lambda x: x.tile(2, 1)),
    "repeat": (lambda x: wg.repeat(x, 2, axis=1), lambda x: x.repeat_interleave(2, 1)),
    "inverse": (wg.linalg.inv, torch.linalg.inv), "determinant": (wg.linalg.det, torch.linalg.det),
    "log of it": (lambda x: wg.linalg.slogdet(x)[1], lambda x: torch.linalg.slogdet(x)[1]),
    "factor": (lambda x: wg.linalg.cholesky(x @ x.T), lambda x: torch.linalg.cholesky(x @ x.T)),
    "eigenvalues": (lambda x: wg.linalg.eigvalsh(x + x.T), lambda x: torch.linalg.eigvalsh(x + x.T)),
    "singular values": (lambda x: wg.linalg.svd(x, compute_uv=False), torch.linalg.svdvals),
    "exponential": (wg.linalg.expm, torch.linalg.matrix_exp),
}  # fmt: skip
READ_BY_OURS = {
    "expm1": "slopes are exact in the tails, where the result has no digits of them",
    "expit": "the same",
    "one by it": "the result may be written to instead, which torch's reads",
    "erfinv": "torch computes the result again",
    "fmod": "the same",
    "ndtr": "torch's is made of other functions, and keeps what it makes of the operand",
    "ndtri": "the same",
}


def may_be_written_to(f: Callable[..., Any], operands: list[Any], place: int | None) -> bool:
    """Whether the backward pass goes on after a write to an operand, or to the result (None)."""
    given = [x.clone().requires_grad_() * 1.0 for x in operands]
    y = f(*given)
    if not y.requires_grad:
        return True
    (y if place is None else given[place]).mul_(1.0)
    try:
        y.sum().backward()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return False
    return True


def operands_of(name: str) -> list[Any]:
    square = torch.linspace(0.2, 0.8, 9, dtype=torch.float64).reshape(3, 3).T + torch.eye(3, dtype=torch.float64) * 0.05
    if name == "outer":
        return [square[0].clone(), square[1].clone()]
    second = [square.flip(0) + 1.2] if name in TWO else []
    return [square + 2.0 if name == "zeta" else square, *second]


@pytest.mark.parametrize("name", ROWS)
def test_code_may_write_to_what_it_may_write_to_with_torchs_own(name: str) -> None:
    ours, theirs = ROWS[name]
    operands = operands_of(name)
    compiled = wg.function(ours)
    for place in (None, *range(len(operands))):
        for _ in range(3):  # as the first calls run op by op, and later ones compiled
            found = may_be_written_to(compiled, operands, place)
            if name not in READ_BY_OURS:
                assert found or not may_be_written_to(theirs, operands, place), place


def test_what_only_ours_reads_is_listed_with_a_reason() -> None:
    for name in READ_BY_OURS:
        ours, theirs = ROWS[name]
        operands = operands_of(name)
        compiled = wg.function(ours)
        lost = [
            place for place in (None, *range(len(operands)))
            if may_be_written_to(theirs, operands, place) > may_be_written_to(compiled, operands, place)
        ]  # fmt: skip
        assert lost, f"{name} reads no more than torch's: the row may go"
