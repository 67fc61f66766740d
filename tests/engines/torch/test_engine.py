"""The PyTorch engine: the kind of array, the device and the dtypes that come out, who owns them, and torch's functions as
ops of ours. That each op agrees with NumPy's is tested in tests/engines/test_conformance.py, the bridge in tests/engines/torch/test_bridge.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.loop_programs import a_scan, a_while, branching, buffered, nested
from wengert._core import dtypes
from wengert._core.engine import ENGINES, Engine, register_engine

torch = pytest.importorskip("torch", reason="torch is not installed")

X = np.array([0.5, 1.0, 1.5])


def close(got: Any, want: Any, tolerance: float = 1e-12) -> None:
    values = got.detach().numpy() if isinstance(got, torch.Tensor) else np.asarray(got)
    np.testing.assert_allclose(values, np.asarray(want), rtol=tolerance, atol=tolerance)


# -- what comes out -----------------------------------------------------------------------------------------------------


def test_what_comes_out_is_the_kind_that_went_in() -> None:
    x = torch.tensor(X)
    results = [
        wg.sin(x), wg.grad(lambda v: (v**2).sum())(x), wg.function(lambda v: v * 2)(x), wg.concatenate([x, X]),
        wg.value_and_grad(lambda v: v.sum())(x).value, wg.vmap(lambda v: v * 2)(x), wg.hessian(lambda v: (v**3).sum())(x),
        wg.vjp(lambda v: v * 2, x)[0], wg.jvp(lambda v: v * 2, (x,), (x,))[1], wg.sum(x), wg.linalg.norm(x),
        wg.cond(True, lambda v: v, lambda v: -v, x), wg.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x),
        wg.scan(lambda c, t: (c + t, c), 0.0, x)[1], wg.fori_loop(0, 3, lambda i, v: v * 2, x),
        wg.grad(lambda v, w: (v * w).sum(), argnums=1)(x, X), wg.jacobian(lambda v: v**2)(x),
        wg.grad(lambda v: wg.tensor(2.0) * 1.0 + 0 * v.sum(), unconnected_gradients="zero")(x),
    ]  # fmt: skip
    assert [type(r) for r in results] == [torch.Tensor] * len(results)
    tree = wg.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x]})
    assert isinstance(tree["b"][0], torch.Tensor)
    assert type(wg.sin(X)) is np.ndarray
    assert type(wg.tensor(x) + X) is wg.Tensor


def test_a_tensor_of_a_torch_tensor() -> None:
    x = torch.tensor(X)
    t = wg.tensor(x)
    assert (t.engine, t.device, t.shape, t.dtype) == ("torch", "cpu", (3,), np.dtype("float64"))
    assert t.native is x
    assert repr(t) == "Tensor([0.5, 1. , 1.5], shape=(3,), dtype=float64)"
    with wg.GradientTape() as tape:
        tape.watch(t)
        y = (t * t).sum()
    assert tape.gradient(y, t).engine == "torch"


def test_torch_is_loaded_by_its_tensors_only_and_keeps_its_settings() -> None:
    code = """
import sys, wengert as wg
assert "torch" not in sys.modules
import numpy as np, torch
settings = lambda: (
    torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(), torch.get_num_threads(),
    torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(), torch.get_float32_matmul_precision(),
    torch.random.initial_seed(), torch.backends.mkldnn.enabled,
)
before = settings()
wg.grad(lambda x: (x**2).sum())(np.ones(3))
assert "wengert._engines.torch" not in sys.modules
g = wg.grad(lambda x: (wg.sin(x) ** 2).sum())(torch.ones(3))
wg.function(wg.grad(lambda x: wg.random.normal(wg.random.key(0), (3,)) @ x))(torch.ones(3))
assert "wengert._engines.torch" in sys.modules and g.dtype is torch.float32, g.dtype
assert settings() == before
"""
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_two_frameworks_in_one_call_are_refused_by_name() -> None:
    class Other:
        shape, dtype, ndim = (3,), np.dtype("float64"), 1

    register_engine(Engine("other", (Other,), to_numpy=lambda x: X, from_numpy=lambda a: Other(), is_framework=True))
    try:
        x = torch.tensor(X)
        for call in (
            lambda: wg.add(x, Other()), lambda: wg.grad(lambda a, b: (a * b).sum())(x, Other()),
            lambda: wg.function(lambda a, b: a * b)(x, Other()), lambda: wg.concatenate([x, Other()]),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="other and torch"):
                call()
    finally:
        from wengert._core import engine

        engine.FRAMEWORK_ENGINES.remove(ENGINES.pop("other"))
        del engine.ENGINE_OF[Other], engine.KERNELS_OF[Other]


@pytest.mark.parametrize("name", [n for n in dtypes.SUPPORTED_NAMES if n != "bool"])
def test_dtypes_are_kept(name: str) -> None:
    x = torch.tensor([1, 2, 3]).to(getattr(torch, name))
    for result in (wg.multiply(x, x), wg.function(lambda v: v * v)(x), wg.sort(x) if "c" not in name else x):
        assert result.dtype is x.dtype
    if x.is_floating_point():
        assert wg.grad(lambda v: (v * v).sum())(x).dtype is x.dtype
        assert wg.function(wg.grad(lambda v: (v**3).sum()))(x).dtype is x.dtype


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_integers_that_torch_hardly_computes_with(name: str) -> None:
    a, b = np.array([7, 2, 60_000, 2**16 - 1], name), np.array([3, 9, 60_000, 1], name)
    x, y = torch.tensor(a), torch.tensor(b)
    for f in (
        wg.add, wg.subtract, wg.multiply, wg.floor_divide, wg.mod, wg.maximum, wg.less, wg.bitwise_and, wg.left_shift,
        lambda u, v: wg.sum(u), lambda u, v: wg.argmax(u), lambda u, v: wg.cumsum(u), lambda u, v: wg.flip(v),
        lambda u, v: wg.greater(v, 2), lambda u, v: wg.concatenate([u, v]),
    ):  # fmt: skip
        got, want = f(x, y), f(a, b)
        assert str(got.dtype) == f"torch.{want.dtype}"
        np.testing.assert_array_equal(got.numpy(), want)


def test_kinds_of_values_that_no_tensor_of_ours_can_hold_are_no_arrays() -> None:
    with pytest.raises(TypeError):
        wg.sin(torch.zeros(2, dtype=torch.float8_e4m3fn))
    with pytest.raises(TypeError, match="to_dense"):
        wg.sin(torch.eye(2).to_sparse())


# -- who owns what ------------------------------------------------------------------------------------------------------


def views(x: Any) -> list[Any]:
    """Results that could be x itself, or a view of it."""
    return [
        wg.reshape(x, (3, 1)), wg.stop_gradient(x), wg.transpose(x), wg.broadcast_to(x, (2, 3)), wg.real(x),
        wg.function(lambda v: v)(x), wg.function(lambda v: v[1:])(x), wg.function(lambda v: (v, v))(x)[1],
        wg.function(lambda v: wg.broadcast_to(v, (2, 3)))(x), wg.cond(True, lambda v: v, lambda v: -v, x),
        wg.while_loop(lambda v: v.sum() < 0, lambda v: v * 2, x), wg.fori_loop(0, 0, lambda i, v: v, x),
        wg.function(lambda v: wg.fori_loop(0, 0, lambda i, u: u, v))(x), wg.vjp(lambda v: v, x)[0],
        wg.concatenate([x]), wg.vmap(lambda v: v)(x), wg.value_and_grad(lambda v: v[0])(x)[0],
    ]  # fmt: skip


def test_results_are_the_callers_own() -> None:
    x = torch.tensor(X)
    for result in views(x):
        result.mul_(-1.0)
    close(x, X)
    constant = wg.function(lambda v: (wg.tensor(X), v.sum()))
    for _ in range(3):
        result = constant(x)[0]
        close(result, X)
        result.zero_()
    once, twice = wg.function(lambda v: (v * 2, v * 2))(x)
    once.zero_()
    close(twice, 2 * X)
    gradient = wg.grad(lambda v: v.sum())(x)
    gradient += 1  # ones are written to


def test_a_variable_keeps_what_it_holds() -> None:
    x = torch.tensor(X)
    v = wg.Variable(x)
    v.assign(x)
    x.zero_()
    close(v.numpy(), X)


def test_which_kernels_give_views() -> None:
    from tests.support import op_checks as checks
    from wengert._core.op import REGISTRY
    from wengert._engines.torch.common import from_numpy
    from wengert._engines.torch.table import ENTRIES, KERNELS

    for op in REGISTRY.values():
        if op.name not in KERNELS or ENTRIES[op.name].shares:
            continue
        for dtype in [*checks.exact_dtypes(op), *checks.low_dtypes(op)]:
            for case in checks.cases(op, dtype):
                operands = [from_numpy(x) for x in case.operands]
                found = KERNELS[op.name](*operands, *case.attrs)
                known = {x.untyped_storage().data_ptr() for x in operands if x.numel()}
                for y in found if isinstance(found, tuple) else (found,):
                    assert y.untyped_storage().data_ptr() not in known, case


# -- errors, and where kernels run --------------------------------------------------------------------------------------


def test_bad_values_raise_as_on_numpy() -> None:
    for f in (wg.linalg.inv, wg.function(wg.linalg.inv)):
        with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
            f(torch.ones(2, 2))
    for g in (wg.linalg.cholesky, wg.function(wg.linalg.cholesky)):
        with pytest.raises(np.linalg.LinAlgError, match="positive"):
            g(-torch.eye(2))
    for h in (lambda x: wg.take(x, np.array([7])), wg.function(lambda x: wg.take(x, np.array([7])))):
        with pytest.raises(IndexError, match="out of bounds"):
            h(torch.tensor(X))


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        wg.debug_print("the sum is {:.2f}", x.sum())
        return x * 2

    close(wg.function(f)(torch.tensor(X)), X * 2)
    assert capsys.readouterr().out == "the sum is 3.00\n"


# -- loops --------------------------------------------------------------------------------------------------------------


POLICIES = ["all", "sqrt", "auto", 1, 3]
LOOPS: dict[str, Callable[[Any], Any]] = {
    **{f"scan {p}": a_scan(p) for p in POLICIES},
    **{f"reversed scan {p}": a_scan(p, True) for p in ("all", "auto", 3)},
    **{f"while {p}": a_while(p) for p in POLICIES},
    "nested": nested, "branching": branching, "buffered": buffered,
}  # fmt: skip


@pytest.mark.parametrize("f", LOOPS.values(), ids=LOOPS.keys())
def test_loops(f: Callable[[Any], Any]) -> None:
    want, curvature = wg.value_and_grad(f)(1.3), wg.grad(wg.grad(f))(1.3)
    x = torch.tensor(1.3, dtype=torch.float64)
    for got in (wg.value_and_grad(f)(x), wg.function(wg.value_and_grad(f))(x)):
        close(got.value, want.value)
        close(got.grad, want.grad)
    close(wg.function(wg.grad(wg.grad(f)))(x), curvature)
    p = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(wg.function(f)(p), p, create_graph=True)
    close(slope, want.grad)
    close(torch.autograd.grad(slope, p)[0], curvature)
    close(torch.func.grad(wg.function(f))(x), want.grad)


# torch's own forward mode compiles its rules by a part of it that it has deprecated
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_loops_in_batches() -> None:
    f = wg.function(lambda v: wg.while_loop(lambda u: u < 50, lambda u: u * u + 1, v))
    want = wg.vmap(wg.grad(lambda v: f(v)))(X)
    x = torch.tensor(X)
    close(wg.vmap(wg.grad(f))(x), want)
    close(torch.func.vmap(torch.func.grad(f))(x), want)
    close(torch.func.jvp(f, (x[0],), (torch.ones_like(x[0]),))[1], want[0])
    branches = wg.function(lambda v: wg.cond(v > 1, lambda u: u * u, lambda u: -u, v))
    close(torch.func.vmap(torch.func.grad(branches))(x), [-1, -1, 3])


def test_a_loop_whose_variables_change_their_shape() -> None:
    grown = wg.function(lambda v: wg.while_loop(
        lambda u: u.sum() < 12, lambda u: wg.concatenate([u, u * 1.1]), v, shape_invariants=wg.TensorSpec((None,))
    ).sum())  # fmt: skip
    close(grown(torch.tensor(X)), grown(X))
    close(wg.grad(grown)(torch.tensor(X)), wg.grad(grown)(X))


# -- both ways ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_a_torch_function_is_an_op_of_ours(kind: Callable[[Any], Any]) -> None:
    theirs = wg.from_torch(lambda x: torch.sum(torch.sin(x) ** 2 * x))
    ours = lambda x: (wg.sin(x) ** 2 * x).sum()
    x = kind(X)
    assert type(wg.grad(theirs)(x)) is type(x)
    close(theirs(x), ours(X))
    close(wg.grad(theirs)(x), wg.grad(ours)(X))
    close(wg.hessian(theirs)(x), wg.hessian(ours)(X))
    close(wg.function(wg.grad(theirs))(x), wg.grad(ours)(X))
    close(wg.jvp(theirs, (x,), (x,))[1], wg.jvp(ours, (X,), (X,))[1])
    close(wg.vmap(wg.grad(lambda t: theirs(t)))(x), wg.vmap(wg.grad(lambda t: ours(t)))(X))
    close(wg.hvp(theirs, x, x), wg.hvp(ours, X, X))


def test_a_torch_function_with_a_rule_of_its_own_structures_and_integers() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * 100

    f = wg.from_torch(lambda d, k: {"a": Doubled.apply(d["u"]) * k, "i": torch.arange(3), "z": d["w"] @ d["w"]})
    gradient = wg.grad(lambda d: f(d, 3)["a"].sum() + f(d, 3)["z"])({"u": X, "w": X})
    close(gradient["u"], [300.0] * 3)
    close(gradient["w"], 2 * X)
    complex_ = wg.from_torch(lambda z: torch.sum(z * torch.conj(z) * 1j + z**3).real)
    z = np.array([1 + 2j, 0.5 - 1j])
    close(wg.grad(complex_)(z), wg.grad(lambda v: (v * v.conj() * 1j + v**3).sum().real)(z))
    needs_values = wg.from_torch(lambda x: x**3 if float(x.detach().sum()) >= 0 else -x)
    close(wg.function(wg.grad(lambda v: needs_values(v).sum()))(X), 3 * X**2)
    close(wg.vmap(needs_values)(X), X**3)


def test_a_module() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    f = wg.from_torch(module)
    x = torch.tensor(X)
    f(x).backward()
    wanted = {name: p.grad.clone() for name, p in module.named_parameters()}
    module.zero_grad()
    module(x).backward()
    for name, p in module.named_parameters():
        close(wanted[name], p.grad)
    arrays = {name: p.detach().numpy() for name, p in module.named_parameters()}
    gradient = wg.grad(lambda ps, v: f(v, parameters=ps)[0])(arrays, X)
    for name, g in gradient.items():
        assert type(g) is np.ndarray
        close(wanted[name], g)
    of_input = wg.grad(lambda v: f(v)[0])(X)
    assert type(of_input) is np.ndarray
    p = torch.tensor(X, requires_grad=True)
    module(p).backward()
    close(p.grad, of_input)
    compiled = wg.function(wg.grad(lambda ps, v: f(v, parameters=ps)[0]))(dict(module.named_parameters()), x)
    close(compiled["0.weight"], wanted["0.weight"])


def test_a_function_to_torch() -> None:
    ours = wg.function(a_while("auto"))
    theirs = ours.to_torch()
    assert isinstance(theirs(1.3), torch.Tensor)
    close(theirs(1.3), ours(1.3))
    p = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    theirs(p).backward()
    close(p.grad, wg.grad(ours)(1.3))


def test_a_primitive_with_a_numpy_kernel_only() -> None:
    cube = wg.primitive("torch_test_cube", spec=lambda x: x, numpy=lambda x: x**3, vjp=lambda ct, out, x: ct * 3 * x**2)
    x = torch.tensor(X)
    for f in (cube, wg.function(cube)):
        close(f(x), X**3)
        p = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(f(p).sum(), p, create_graph=True)
        close(slope, 3 * X**2)
        close(torch.autograd.grad(slope.sum(), p)[0], 6 * X)
        close(torch.func.vmap(f)(x), X**3)
        close(torch.func.vmap(torch.func.grad(f))(x), 3 * X**2)
    own = wg.primitive(
        "torch_test_own", spec=lambda x: x, numpy=lambda x: x**3, torch=lambda x: torch.pow(x, 3),
        vjp=lambda ct, out, x: ct * 3 * x**2,
    )  # fmt: skip
    close(wg.grad(lambda v: own(v).sum())(x), 3 * X**2)
    close(wg.function(own)(x), X**3)


def test_random_numbers_are_those_of_numpy() -> None:
    draw = wg.function(lambda x: wg.random.uniform(wg.random.key(3), (5,)) * x)
    np.testing.assert_array_equal(draw(torch.ones(5, dtype=torch.float64)).numpy(), draw(np.ones(5)))


def test_a_function_on_torch_whatever_comes_in() -> None:
    f = wg.function(lambda x: wg.sin(x) * x, engine="torch")
    assert type(f(X)) is np.ndarray
    assert f(wg.tensor(X)).engine == "torch"
    close(f(X), np.sin(X) * X)
    p = torch.tensor(X, requires_grad=True)
    f(p).sum().backward()
    close(p.grad, wg.grad(lambda x: f(x).sum())(X))


def test_what_torch_differentiates_is_not_moved_in_silence() -> None:
    p = torch.tensor(X, requires_grad=True)
    f = wg.function(wg.sin, engine="numpy")
    with pytest.raises(wg.LostGradientError, match="torch itself differentiates"):
        f(p)
    close(f(p.detach()), np.sin(X))
