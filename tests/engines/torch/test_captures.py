"""What functions and custom gradients read beside their arguments, and what torch records of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.with_a_rule import with_a_rule
from wengert import special

torch = pytest.importorskip("torch", reason="torch is not installed")
make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor", reason="torch is not installed").make_fx


@pytest.mark.parametrize("watched", [False, True])
def test_a_parameter_that_is_read_belongs_to_the_rule(watched: bool) -> None:
    p = torch.nn.Parameter(torch.tensor(2.0))
    x = torch.tensor(3.0, requires_grad=watched)
    with_a_rule(p)(x).backward()
    assert float(p.grad) == 300.0
    assert x.grad is None if not watched else float(x.grad) == 20.0
    with pytest.raises(TypeError, match=r"'variables'.*Parameter"):
        with_a_rule(p, with_variables=False)(x)


def test_a_parameter_that_is_not_trained_is_a_constant() -> None:
    p = torch.nn.Parameter(torch.tensor(2.0), requires_grad=False)
    x = torch.tensor(3.0, requires_grad=True)
    with_a_rule(p, with_variables=False)(x).backward()
    assert float(x.grad) == 20.0


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor(2.0))
        self.register_buffer("b", torch.tensor(1.0))


@pytest.mark.parametrize("ruled", [False, True])
def test_a_function_reads_a_modules_parameters_at_each_call(ruled: bool) -> None:
    module = Scale()
    f = wg.function(lambda x: with_a_rule(module.w)(x) if ruled else x * module.w + module.b)
    x, factor, shift = torch.tensor(3.0), 100.0 if ruled else 1.0, 0.0 if ruled else 1.0

    def check(value: float) -> None:
        module.w.grad = None
        y = f(x)
        y.backward()
        assert float(y.detach()) == 3.0 * value + shift
        assert float(module.w.grad) == 3.0 * factor

    check(2.0)
    with torch.no_grad():
        module.w.fill_(5.0)  # trained in place
    check(5.0)
    assert f.trace_count == 1
    module.w = torch.nn.Parameter(torch.tensor(7.0))  # replaced
    check(7.0)
    module.b, shift = torch.tensor(4.0), 0.0 if ruled else 4.0
    check(7.0)


HOSTED: dict[str, Any] = {
    "a kernel of NumPy's": lambda x: special.jv(2.0, x),
    "of several operands": lambda x: special.betainc(2.0, 3.0, x),
    "in a function": wg.function(lambda x: wg.sin(special.jv(2.0, x))),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit", "ignore:torch.from_numpy")  # torch warns of the constants beside x
@pytest.mark.parametrize("name", HOSTED)
def test_what_torch_would_record_as_a_constant_is_refused(name: str) -> None:
    f, x = HOSTED[name], torch.tensor(0.3, dtype=torch.float64)
    with pytest.raises(wg.TracingError, match="constant"):
        torch.jit.trace(f, x)
    with pytest.raises(wg.TracingError, match="constant"):
        make_fx(f)(x)
    assert np.isfinite(float(f(x)))


WHOLE: dict[str, Any] = {
    "function": lambda: wg.function(lambda x: wg.sin(x) * 2.0 + np.linspace(0.0, 1.0, 3)),
    "gradient": lambda: wg.function(wg.grad(lambda x: wg.sum(wg.sin(x * 2.0) ** 2))),
    "custom gradient": lambda: wg.custom_gradient(lambda x: (wg.sin(x) * 2.0, lambda ct: ct * 5.0)),
    "sum": lambda: wg.function(lambda x: wg.sum(x * 3.0, axis=0)),
    "sort": lambda: wg.function(lambda x: wg.sort(x, axis=0) * 2.0),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of what torch.export imports
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
def test_functions_are_exported_whole_and_keep_nothing_of_it(name: str, is_open: bool) -> None:
    """torch.export runs programs on tensors without values: what a function kept of them was in every later call."""
    f, x = WHOLE[name](), torch.linspace(0.2, 1.4, 6, dtype=torch.float64).reshape(2, 3)
    layer = torch.nn.Linear(3, 3, dtype=torch.float64)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return f(self.layer(x))

    open_sizes = ({0: torch.export.Dim("rows")},) if is_open else None
    for _ in range(2):
        exported = torch.export.export(Module(), (x,), dynamic_shapes=open_sizes, strict=False).module()
        for given in (x, torch.cat([x, x + 1.0])) if is_open else (x,):
            want = f(layer(given))
            assert type(want) is torch.Tensor
            np.testing.assert_allclose(exported(given).detach(), want.detach(), rtol=1e-12)
            np.testing.assert_allclose(f(given.numpy()), f(given), rtol=1e-12)


def test_other_frameworks_functions_are_refused_in_what_torch_records() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    f, x = wg.from_jax(jnp.sin), torch.tensor(0.5)
    with pytest.raises(wg.TracingError, match="JAX function sin"):
        make_fx(f)(x)
    assert float(f(x)) == pytest.approx(np.sin(0.5))


def test_what_runs_on_torch_is_recorded() -> None:
    x = torch.tensor(0.3, dtype=torch.float64)
    recorded = make_fx(lambda x: wg.grad(wg.sin)(x) * x)(x)
    assert float(recorded(torch.tensor(0.6, dtype=torch.float64))) == pytest.approx(np.cos(0.6) * 0.6)


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")  # that is what the writes make it do
def test_arrays_that_are_written_to_are_seen_where_no_op_reads_them() -> None:
    a, buffer = torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    number = wg.function(lambda x: x * float(a[0]) + float(a.numpy()[1]))
    taken = wg.function(lambda x: wg.sum(x * buffer))
    for k in range(1, 7):
        a.fill_(k)
        buffer.fill_(k)
        assert number(2.0) == 3.0 * k
        assert float(taken(torch.ones(2, dtype=torch.float64))) == 2.0 * k
    assert taken.trace_count == 1  # an op reads what it holds at each call


def _times(w: Any, x: Any) -> Any:
    return wg.custom_gradient(lambda c: (wg.sin(c) * w, lambda upstream: upstream * 5.0))(x)


def test_what_torch_differentiates_and_is_no_argument_is_refused_whatever_the_argument_is() -> None:
    leaf, x = torch.tensor(3.0, requires_grad=True), torch.tensor([0.3, 0.7])
    for w in (leaf, leaf * 2):
        for argument in (x, x.clone().requires_grad_()):
            with pytest.raises(wg.DisconnectedError, match="depends on w "):
                _times(w, argument)
    with pytest.raises(wg.DisconnectedError, match="depends on w "):
        torch.func.grad(lambda w: _times(w, x).sum())(torch.tensor(1.0))
    with torch.no_grad():
        np.testing.assert_allclose(_times(leaf, x), 3.0 * torch.sin(x), rtol=1e-6)


@pytest.mark.parametrize("argument", [np.array([0.3, 0.7]), 0.3, [0.3, 0.7]], ids=["array", "number", "list"])
def test_what_torch_differentiates_is_not_lost_where_all_arguments_are_numpys(argument: Any) -> None:
    """In custom gradients, whose results are torch's then; without derivatives they are NumPy's."""
    weights = [3.0, 2.0] if np.ndim(argument) else [3.0]
    leaf = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
    parameter = torch.nn.Parameter(leaf.detach().clone())
    for w in (leaf, leaf * 1.0):
        saved = wg.custom_grad(lambda x, save, w=w: (wg.sum(wg.sin(x) * w), lambda dy: dy * 5.0))
        for f in (lambda x, w=w: _times(w, x), saved):
            with pytest.raises(wg.DisconnectedError, match="depends on w "):
                f(argument)
    with pytest.raises(TypeError, match="variables"):
        _times(parameter, argument)

    @wg.custom_gradient
    def answering(x: Any) -> Any:
        return wg.sum(wg.sin(x) * parameter), lambda ct, variables: (
            ct * 0 * x,
            [wg.reshape(ct * 10 * wg.sin(x), parameter.shape)],
        )

    @wg.recompute_grad
    def again(x: Any) -> Any:
        return wg.sum(wg.sin(x) * parameter)

    for f, factor in ((answering, 10.0), (again, 1.0)):
        for _ in range(3):
            (slope,) = torch.autograd.grad(f(argument), parameter)
            np.testing.assert_allclose(slope, factor * np.sin(np.reshape(argument, slope.shape)), rtol=1e-12)
        with torch.no_grad():
            assert isinstance(f(argument), np.float64)
            np.testing.assert_allclose(f(argument), np.sum(np.sin(argument) * np.array(weights)), rtol=1e-12)


def test_a_batch_of_what_is_no_argument_is_no_loss() -> None:
    w, x = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([0.3, 0.7], dtype=torch.float64)
    many = torch.func.vmap
    np.testing.assert_allclose(many(lambda w: _times(w, x))(w), w[:, None] * torch.sin(x), rtol=1e-12)
    np.testing.assert_allclose(many(_times)(w, x), w * torch.sin(x), rtol=1e-12)
    slopes = torch.func.grad(lambda x: many(lambda w: _times(w, x))(w).sum())(x)
    np.testing.assert_allclose(slopes, [10.0, 10.0], rtol=1e-12)


def test_parameters_read_outside_of_ops_are_looked_at_again() -> None:
    weight, module = torch.nn.Parameter(torch.tensor(2.0)), torch.nn.Linear(2, 1)
    shared = np.array([1.0, 2.0])
    view = torch.from_numpy(shared)
    rows: list[tuple[Callable[[Any], Any], Callable[[], Any]]] = [
        (lambda x: x * weight.item(), lambda: weight.data.fill_(5.0)),
        (lambda x: x * weight.detach().numpy(), lambda: setattr(weight, "data", torch.tensor(7.0))),
        (lambda x: x if weight > 3.0 else 2 * x, lambda: weight.data.fill_(1.0)),
        (lambda x: x * float(module.weight.sum().item()), lambda: module.weight.data.add_(1.0)),
        (lambda x: x * float(view.sum()), lambda: shared.fill(9.0)),
    ]
    for f, change in rows:
        compiled = wg.function(f)
        before = compiled(3.0)
        change()
        assert compiled(3.0) == f(3.0) != before
    # what no code reads, and what ops alone take, is no reason to trace again
    compiled = wg.function(lambda x: wg.sum(wg.asarray(module.weight) * x))
    for _ in range(3):
        with torch.no_grad():
            module.bias.add_(1.0)
            module.weight.add_(1.0)
        compiled(3.0)
    assert compiled.trace_count == 1


def test_an_eager_custom_gradient_is_traced_once_for_a_signature() -> None:
    factor = torch.tensor([2.0, 3.0])
    rule = wg.custom_gradient(lambda x, n: (x * factor * n, lambda dy: (dy * 10.0, None)))
    seen = []
    for number in (1, 1, 1, 2, 2):
        x = torch.ones(2, requires_grad=True)
        y = rule(x, number)
        y.sum().backward()
        assert x.grad.tolist() == [10.0, 10.0]
        assert y.tolist() == [2.0 * number, 3.0 * number]
        program = rule._traces._program
        seen.append(None if program is None else program.trace_count)
    assert seen == [None, 1, 1, 2, 2]
    factor.mul_(2.0)  # is read at each call
    assert rule(x, 1).tolist() == [4.0, 6.0]


def test_an_eager_custom_gradient_draws_anew_at_each_call() -> None:
    noisy = wg.custom_gradient(lambda x: (x + torch.rand(()), lambda dy: dy))
    x = torch.zeros((), requires_grad=True)
    assert len({float(noisy(x).detach()) for _ in range(5)}) == 5
    with pytest.warns(UserWarning, match="torch's generator"):
        wg.function(lambda x: x + torch.rand(()))(x)


def test_a_function_made_in_a_transform_reads_what_the_transform_follows() -> None:
    x = torch.linspace(0.0, 1.0, 3)
    found = torch.func.vmap(lambda w, x: wg.function(lambda c: wg.sin(c) * w)(x))(x, x)
    np.testing.assert_allclose(found, x * torch.sin(x), rtol=1e-6)


def _follows_training(f: Callable[[Any], Any], parameters: tuple[Any, ...], steps: int) -> int:
    """Calls a compiled function while parameters change in place; gives how often it was traced."""
    compiled, x = wg.function(f), torch.tensor([1.0, 2.0])
    for _ in range(steps):
        np.testing.assert_allclose(compiled(x).detach().numpy(), f(x).detach().numpy(), rtol=1e-5)
        with torch.no_grad():
            for parameter in parameters:
                parameter.add_(1.0)
    return compiled.trace_count


def test_parameters_that_ops_take_are_looked_at_where_torch_reads_them() -> None:
    p, layer = torch.nn.Parameter(torch.tensor([2.0, 3.0])), torch.nn.Linear(2, 1)
    several = [p]

    def one_by_one(x: Any) -> Any:
        for each in several:
            x = x * each * float(each.sum().detach())
        return x

    programs: list[Callable[[Any], Any]] = [
        lambda x: x * p * float(p.sum().detach()), lambda x: x * p * torch.sin(p), one_by_one,
        lambda x: x * p if p[0] > 2.5 else x * p * p,
        lambda x: x @ layer.weight.T + sum(float((q**2).sum().detach()) for q in layer.parameters()),
    ]  # fmt: skip
    for f in programs:
        _follows_training(f, (p, layer.weight), 3)


def test_parameters_that_only_ops_take_cause_no_new_trace() -> None:
    p, layer = torch.nn.Parameter(torch.tensor([2.0, 3.0])), torch.nn.Linear(2, 1)
    programs: list[Callable[[Any], Any]] = [
        lambda x: x * p if p is not None else x, lambda x: x @ layer.weight.T + layer.bias,
    ]  # fmt: skip
    for f in programs:
        assert _follows_training(f, (p, layer.weight), 2) == 1


@pytest.mark.parametrize("kind", ["called", "computed"])
def test_what_torch_computes_of_weights_by_itself_follows_them(kind: str) -> None:
    """A module that is called on something else than the argument, and a weight that is computed of others."""
    linear, x, ones = torch.nn.Linear(3, 3).double(), torch.linspace(0.3, 1.1, 3).double(), torch.ones(3).double()
    if kind == "computed":
        linear = torch.nn.utils.parametrizations.weight_norm(linear)
        f = wg.function(lambda x: wg.tanh(linear.weight @ x))
    else:
        f = wg.function(lambda x: wg.sin(x) * linear(ones))
    other = torch.nn.Linear(3, 3)  # another layer's weights are nobody's business
    with torch.no_grad():
        for step in range(3):
            wanted = torch.tanh(linear.weight @ x) if kind == "computed" else torch.sin(x) * linear(ones)
            for _ in range(3):
                torch.testing.assert_close(f(x), wanted)
            assert f.trace_count == step + 1
            other.weight.add_(1.0)
            for weight in linear.parameters():
                weight.add_(0.1)


def test_keywords_that_the_rule_cannot_know_are_constants_or_refused() -> None:
    f = wg.custom_gradient(lambda x, *, w: (x * w, lambda upstream: upstream * 3.0))
    for _ in range(3):
        x, w = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.0, 1.5))
        assert torch.autograd.grad(f(x, w=w.detach()), x)[0] == 3.0
        for given in (x, x.detach()):
            with pytest.raises((wg.DisconnectedError, TypeError), match="depends on w |w is not the name"):
                f(given, w=w)


def _gradients_of(f: Callable[[Any], Any], x: Any, weights: list[Any]) -> list[Any]:
    return [*torch.autograd.grad(f(x).sum(), weights, allow_unused=True)]


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
@pytest.mark.parametrize("name", ["a view", "a function", "a parametrization", "a module", "a part"])
def test_what_torch_computes_of_weights_in_a_function_is_differentiated_in_each_call(name: str) -> None:
    """A trace's own has no graph where the trace was made without one, and one that serves once where it has one."""
    layer, ones = torch.nn.Linear(3, 3).double(), torch.ones(2, 3).double()
    if name == "a parametrization":
        layer = torch.nn.utils.parametrizations.weight_norm(layer)
    weights = [*layer.parameters()]
    programs: dict[str, Callable[[Any, Any], Any]] = {
        "a view": lambda x, _: x @ layer.weight.T + layer.bias,
        "a function": lambda x, _: x @ torch.exp(layer.weight) * (layer.bias * 2.0),
        "a parametrization": lambda x, _: x @ layer.weight.T,
        "a module": lambda x, m: m.sin(x) * layer(ones),
        "a part": lambda x, m: m.sin(x) * layer.weight[1],
    }
    program = programs[name]
    f = wg.function(lambda x: program(x, wg))
    x = torch.linspace(0.3, 1.1, 6).double().reshape(2, 3)
    for step in range(4):
        if step % 2 == 0:
            with torch.no_grad():
                torch.testing.assert_close(f(x), program(x, torch))
        wanted = _gradients_of(lambda x: program(x, torch), x, weights)
        for _ in range(2):
            for got, want in zip(_gradients_of(f, x, weights), wanted, strict=True):
                assert (got is None) == (want is None)
                if got is not None:
                    torch.testing.assert_close(got, want)
        with torch.no_grad():
            for weight in weights:
                weight.add_(0.1)
    if name == "a view":
        assert f.trace_count == 2  # one without a graph


def _traces_of(rule: Any) -> int:
    program = rule._traces._program
    return 0 if program is None else program.trace_count


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_custom_gradient_that_nobody_differentiates_is_traced_once(dtype: Any) -> None:
    factor = torch.tensor([2.0, 3.0], dtype=dtype)
    f = wg.custom_gradient(lambda x: (wg.sin(x) * factor, lambda dy: dy * 10.0))
    x = torch.tensor([0.5, 0.7], dtype=dtype)
    for call in range(6):
        torch.testing.assert_close(f(x * call), torch.sin(x * call) * factor)
        factor.add_(1.0)  # is read at each call
    assert _traces_of(f) == 1
    followed = x.clone().requires_grad_()
    with torch.no_grad():
        torch.testing.assert_close(f(followed), torch.sin(x) * factor)
    assert torch.autograd.grad(f(followed).sum(), followed)[0].tolist() == [10.0, 10.0]
    assert wg.grad(lambda x: f(x).sum())(x).tolist() == [10.0, 10.0]  # our tapes want no trace
    assert f(x.numpy()).dtype == np.dtype(str(dtype)[6:])


def test_a_custom_gradient_that_asks_for_values_runs_as_it_is() -> None:
    def f(x: Any) -> Any:
        return (x if float(wg.sum(x)) > 0 else -x * 2.0), lambda dy: dy

    counted = wg.custom_gradient(f)
    for value in (1.0, -1.0, 2.0, -2.0):
        assert counted(torch.tensor([value])).tolist() == [value if value > 0 else -2.0 * value]
    number = wg.custom_gradient(lambda x: ((3.0, "a word", x), lambda *dy: dy[-1]))
    for _ in range(3):
        assert number(torch.ones(2))[:2] == (3.0, "a word")
        assert type(number(torch.ones(2))[0]) is float
    noisy = wg.custom_gradient(lambda x: (x + torch.rand(()), lambda dy: dy))
    assert len({float(noisy(torch.zeros(()))) for _ in range(5)}) == 5


@pytest.mark.parametrize("first", ["without gradients", "with gradients"])
@pytest.mark.parametrize("follows_x", [False, True])
def test_a_custom_gradient_that_reads_a_parameter_is_traced_once_and_trains_it(first: str, follows_x: bool) -> None:
    """Whoever called first: what a call under no_grad leaves behind trains the weight all the same."""
    w = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
    f = wg.custom_gradient(lambda x: (x * wg.tensor(w), lambda dy, variables: (dy * w, [dy * x])))
    x = torch.tensor([0.5, 0.7], requires_grad=follows_x)
    for step in range(6):
        if step or first == "without gradients":
            with torch.no_grad():
                torch.testing.assert_close(f(x), x * w)
        y = f(x)
        torch.testing.assert_close(y, x * w)
        torch.testing.assert_close(torch.autograd.grad(y.sum(), w)[0], x.detach())
        with torch.no_grad():
            w.add_(1.0)
    assert _traces_of(f) == 1


def test_what_a_call_without_gradients_has_read_is_refused_where_it_is_followed() -> None:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    f = wg.custom_gradient(lambda x: (x * w, lambda dy: dy))
    x = torch.ones(2)
    with torch.no_grad():
        for _ in range(4):
            assert f(x).tolist() == [2.0, 3.0]
    for _ in range(3):
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            f(x)


def test_what_the_host_computes_of_tensors_that_are_functionalized() -> None:
    """Their own memory holds nothing, and torch gives that away as elements."""
    x = torch.tensor([0.3, 0.4], dtype=torch.float64)
    for f in (lambda x: wg.special.betainc(2.0, 3.0, x), lambda x: wg.special.jv(1.5, x * 2)):
        for _ in range(3):
            torch.testing.assert_close(torch.func.functionalize(f)(x), f(x))

    def written(x: Any) -> Any:
        y = x.clone()
        y[0] = 0.5
        return wg.special.betainc(2.0, 3.0, y)

    torch.testing.assert_close(torch.func.functionalize(written)(x), written(x))
