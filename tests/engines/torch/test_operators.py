"""Functions as torch operators (`to_torch(op=)`), and functions that `torch.compile` leaves out of what it compiles."""

from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core import torch_compile

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [  # dynamo's own: it imports what Python has deprecated, and tells of what it does to caches and locks
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Dynamo:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning"),
]


def compiled(program: Any, **options: Any) -> Any:
    """A program compiled without C++, for which some machines have no compiler."""
    torch._dynamo.reset()
    return torch.compile(program, backend="aot_eager", fullgraph=True, **options)


def derivatives(program: Any, *xs: Any) -> list[Any]:
    """The results for tensors, and the gradients of a sum of them with weights."""
    leaves = [x.clone().requires_grad_() for x in xs]
    ys = program(*leaves)
    loss = sum((y * torch.linspace(0.5, 2.0, y.numel()).reshape(y.shape)).sum() for y in ys)
    return [*ys, *torch.autograd.grad(loss, leaves)]


def agree(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.dtype is w.dtype
        np.testing.assert_allclose(g.detach(), w.detach(), rtol=1e-12, atol=1e-14)


@wg.custom_gradient
def fivefold(x: Any) -> Any:
    """A square whose gradient is five times too large, so that a natural one would be seen."""
    return x * x, lambda upstream: upstream * x * 10


def grown(x: Any, factor: Any, *, bound: Any, about: Any, limit: Any = None) -> Any:
    """A loop whose number of steps a run tells, in a structure, from one."""
    last = wg.while_loop(lambda y: wg.sum(y) < bound, lambda y: y * factor["by"][0], (x,))[0]
    return {"last": last, "rest": (wg.special.betainc(2.0, 3.0, x) + (0.0 if limit is None else limit), about)}


half_linear = wg.function(lambda x, y: wg.sin(x) + y * 2 + wg.sum(x)).to_torch(op="wengert_test::half_linear")
gathered = wg.function(lambda x, i: fivefold(x[i])).to_torch(op="wengert_test::gathered")
growing = wg.function(grown, static_argnames="bound").to_torch(op="wengert_test::growing")
smooth = wg.function(lambda x: wg.sin(x) * wg.sum(x)).to_torch(op="wengert_test::smooth")
X = torch.tensor([0.1, 0.2, 0.4], dtype=torch.float64)


def everything(x: Any, factor: Any) -> Any:
    found = growing(x * 2, {"by": (factor, 7.0)}, bound=3.0, about="x", limit=None)
    assert found["rest"][1] == "x"
    return found["last"] * 3, found["rest"][0], gathered(x, torch.tensor([0, 0, 2])), smooth(x) + 1


noisy = wg.function(lambda x, key: (x * wg.random.normal(key, x.shape),)).to_torch(op="wengert_test::noisy")


def test_tensors_of_ours_are_arguments_such_as_keys_of_random_numbers() -> None:
    x, key = torch.linspace(0.2, 1.4, 3, dtype=torch.float64), wg.random.key(3)
    want = derivatives(lambda x: noisy(x, key), x)
    agree(derivatives(compiled(lambda x: noisy(x, key)), x), want)
    taking = compiled(lambda x, key: noisy(x, key))
    for number in (3, 4):
        agree(taking(x, wg.random.key(number)), noisy(x, wg.random.key(number)))
    assert not torch.equal(taking(x, wg.random.key(4))[0], want[0])
    agree(compiled(lambda x: noisy(wg.tensor(x), key))(x), noisy(x, key))


SCALARS = {
    "float64": np.float64(1.5), "float32": np.float32(1.5), "int64": np.int64(3), "bool": np.bool_(True),
    "an array": np.array([0.5, 1.0, 2.0]), "half": np.float16(1.5),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCALARS)
def test_numpys_scalars_and_arrays_are_arguments(name: str, dtype: str) -> None:
    """As arguments of what is compiled, from around it, and made in it; beside tensors scalars are weak."""
    x, given = torch.linspace(0.2, 1.4, 3, dtype=getattr(torch, dtype)), SCALARS[name]
    op = f"wengert_test::scaled_by_{name.replace(' ', '_')}_{dtype}"
    scaled = wg.function(lambda x, s, t=1.0: (wg.sin(x) * s + t,)).to_torch(op=op)
    want = derivatives(lambda x: scaled(x, given), x)
    assert name == "an array" or want[0].dtype is x.dtype
    agree(derivatives(compiled(lambda x: scaled(x, given)), x), want)
    with_argument = compiled(lambda x, s: scaled(x, s, t=None if s is None else s * 2.0))
    agree(derivatives(lambda x: with_argument(x, given), x), derivatives(lambda x: scaled(x, given, t=given * 2.0), x))
    agree(compiled(lambda x: scaled(x, np.sqrt(2.0)))(x), scaled(x, np.sqrt(2.0)))

    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return scaled(x, given)

    # not strictly, in which torch's own programs give tensors without values for them
    agree(torch.export.export(Module(), (x,), strict=False).module()(x), scaled(x, given))


def test_compiled_whole_in_one_graph_with_backward() -> None:
    factor = torch.tensor(1.5, dtype=torch.float64)
    agree(derivatives(compiled(everything), X, factor), derivatives(everything, X, factor))


@pytest.mark.slow
def test_sizes_that_vary_are_one_trace() -> None:
    f = wg.function(lambda x: (x[1:] * wg.sum(x), wg.tanh(x).reshape(2, -1)))
    program = f.to_torch(op="wengert_test::varies")
    run = compiled(lambda x: program(x * 2), dynamic=True)
    run(torch.ones(4))
    before = f.trace_count
    sizes = [torch.linspace(0, 1, n) for n in (6, 10)]
    found = [[y.sum() for y in run(x)] for x in sizes]
    assert f.trace_count == before
    for x, got in zip(sizes, found, strict=True):
        agree(got, [y.sum() for y in program(x * 2)])


@pytest.mark.slow
def test_sizes_that_must_be_equal_are_fixed_where_all_may_vary() -> None:
    program = wg.function(lambda x, kernel: wg.nn.conv(x, kernel)).to_torch(op="wengert_test::convolved")
    x, kernel = torch.ones(1, 2, 6, dtype=torch.float64), torch.ones(3, 2, 3, dtype=torch.float64)
    run = compiled(lambda x, kernel: program(x * 2, kernel), dynamic=True)
    agree([run(x, kernel)], [program(x * 2, kernel)])


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_the_backward_pass_does_not_read_may_be_written_to(dynamic: bool) -> None:
    def written(x: Any, y: Any) -> Any:
        y = y * 1
        z = half_linear(x, y)
        y.add_(1)
        return (z * y,)

    def whole(x: Any, y: Any) -> Any:
        return ((torch.sin(x) + y * 2 + torch.sum(x)) * (y + 1),)

    program = compiled(written, dynamic=dynamic)
    for x in (X, torch.cat([X, X])):
        agree(derivatives(program, x, x + 1), derivatives(whole, x, x + 1))


def test_what_the_backward_pass_reads_may_not() -> None:
    def written(x: Any) -> Any:
        x = x * 1
        z = half_linear(x, x)
        x.add_(1)
        return (z,)

    with pytest.raises(Exception, match="inplace operation"):
        derivatives(compiled(written), X)


def test_transforms_in_a_compiled_program() -> None:
    func = torch.func
    rows = torch.linspace(0.1, 1.0, 6, dtype=torch.float64).reshape(2, 3)

    def program(rows: Any) -> Any:
        slopes = func.vmap(func.grad(lambda x: smooth(x).sum()))(rows)
        return slopes, *func.jvp(lambda x: smooth(x), (rows[0],), (rows[1],))

    agree(compiled(program)(rows), program(rows))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3, dtype=torch.float64)

    def forward(self, x: Any) -> Any:
        return smooth(self.linear(x)).sum()


@pytest.mark.parametrize("strict", [False, True])
def test_exported_whole_saved_and_loaded(strict: bool) -> None:
    model = Model()
    program = torch.export.export(model, (X,), strict=strict)
    assert "wengert_test.smooth.default" in [str(node.target) for node in program.graph.nodes]
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    y, wanted = loaded(X + 1), model(X + 1)
    grads = [torch.autograd.grad(z, [*m.parameters()]) for z, m in ((y, loaded), (wanted, model))]
    agree([y, *grads[0]], [wanted, *grads[1]])


def test_the_operator_passes_torchs_own_checks() -> None:
    seen: list[str] = []
    graph = torch.export.export(Model(), (X,)).graph
    seen = [node.args[1] for node in graph.nodes if "smooth" in str(node.target)]
    op = torch.ops.wengert_test.smooth
    x = X.clone().requires_grad_()
    assert set(torch.library.opcheck(op, ([x], seen[0])).values()) == {"SUCCESS"}
    assert torch.autograd.gradgradcheck(lambda x: op([x], seen[0])[0], x)


def test_beside_compilers_it_is_the_plain_function() -> None:
    again = pickle.loads(pickle.dumps(wg.function(np.sin).to_torch(op="wengert_test::pickled")))
    np.testing.assert_array_equal(again(np.array([0.5])), np.sin([0.5]))
    assert torch.func.jvp(again, (X,), (X,))[1].shape == (3,)
    agree([compiled(lambda x: again(x))(X)], [torch.sin(X)])


def test_what_it_refuses() -> None:
    f = wg.function(lambda x: x * weight)
    weight = torch.nn.Parameter(torch.tensor(2.0))
    for name in ("nothing", "a::b::c", "a:b", 3):
        with pytest.raises(ValueError, match="'lib::name'"):
            f.to_torch(op=name)  # pyright: ignore[reportArgumentType]  # what users may do
    reads = f.to_torch(op="wengert_test::reads")
    with (
        pytest.warns(UserWarning, match=r"reads a tensor that torch differentiates.*pass it as one"),
        pytest.raises(torch._dynamo.exc.Unsupported),
    ):
        compiled(lambda x: reads(x))(X)
    held = wg.Variable(1.0)
    writes = wg.function(lambda x: (held.assign_add(1.0), x)[1]).to_torch(op="wengert_test::writes")
    module = torch.nn.Module()
    module.forward = lambda x: writes(x)
    with pytest.raises(TypeError, match="writes to a Variable"):
        torch.export.export(module, (X,))


# -- functions that are no operators -----------------------------------------------------------------------------------

DOUBLED = wg.function(lambda x: wg.while_loop(lambda y: wg.sum(y) < 3, lambda y: y * 2, (x,))[0])


class Unregistered(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.5, 2.0]))

    @wg.function
    def scaled(self, x: Any) -> Any:
        return wg.while_loop(lambda y: wg.sum(y) < 3, lambda y: y * self.weight + 1, (x,))[0]

    def forward(self, x: Any) -> Any:
        y = self.scaled(x * 2) + fivefold(x * 3) + DOUBLED(x)
        return (y + DOUBLED.to_torch()(x) + wg.grad(lambda x: wg.sum(x**3))(x) * 2,)


def test_left_out_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_compile, "_told", [])
    torch._dynamo.reset()
    module = Unregistered()
    x = torch.tensor([0.1, 0.2])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = derivatives(torch.compile(module, backend="aot_eager"), x)
    said = [str(w.message) for w in caught if "leaves Wengert's functions out" in str(w.message)]
    assert len(said) == 1
    assert "to_torch(op=" in said[0]
    # of our own code nothing was followed: dynamo would tell of the caches that it meets
    assert not [w for w in caught if "lru_cache" in str(w.message)]
    agree(got, derivatives(module, x))


@pytest.mark.filterwarnings("ignore:torch.compile leaves:UserWarning")
def test_a_whole_graph_is_refused_with_the_cure() -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"to_torch\(op="):
        compiled(lambda x: DOUBLED(x) + 1)(X)


WEIGHT = torch.nn.Parameter(torch.tensor([0.3, 0.4, 0.5], dtype=torch.float64))
STEPS: dict[str, Any] = {
    "rule": fivefold, "function": wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c) * x, x)),
    "bridge": wg.from_torch(lambda x: torch.sin(x) * x),
    "rule of a parameter": wg.custom_gradient(lambda x: (x * WEIGHT, lambda u, variables: (u * WEIGHT * 3, [u * x * 7]))),
    "several results": wg.function(lambda x: (wg.sin(x) * WEIGHT, wg.cumsum(x) * x, wg.argmax(x))),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.compile leaves:UserWarning")
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # dynamo asks for that of what it resumes with
@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_training_is_compiled_with_its_backward_pass(name: str) -> None:
    """As Keras's on torch: dynamo meets the nodes of what it left out in the pass, and follows them no more than that."""

    def step(x: Any) -> Any:
        found = STEPS[name](x.sin())
        y = found[0] + found[1] if isinstance(found, tuple) else found
        loss = (y * torch.arange(3.0, dtype=torch.float64)).sum()
        loss.backward()
        return loss.detach()

    def run(step: Any) -> list[Any]:
        got = []
        for _ in range(3):
            x, WEIGHT.grad = X.clone().requires_grad_(), None
            got += [step(x), x.grad]
            got += [] if WEIGHT.grad is None else [WEIGHT.grad]
        return got

    want = run(step)
    torch._dynamo.reset()
    agree(run(torch.compile(step, backend="aot_eager")), want)
