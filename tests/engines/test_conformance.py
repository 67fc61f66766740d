"""Every engine agrees with NumPy's: op by op over the registry, in values and gradients, and on whole programs.

The engines, and what is tested of them elsewhere, are in tests/support/engines.py.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support import op_checks as checks
from tests.support.engines import ENGINES as UNDER_TEST
from tests.support.engines import ON_ACCELERATOR, every_engine, every_users_engine, move, native, skip_what_it_cannot
from tests.support.paths import DOCS
from wengert._compile.arguments import Differentiated
from wengert._core import dtypes
from wengert._core.constant import to_numpy_result
from wengert._core.engine import ENGINES, HOST_KERNELS
from wengert._core.op import REGISTRY, ZERO, Op
from wengert._core.state import recording
from wengert._core.tensor import Tensor, fresh
from wengert._engines import engine_named
from wengert._prims import (
    conv,
    cumulative,
    elementwise,
    indexing,
    linalg,
    piecewise,
    random,
    reductions,
    sorting,
    structural,
)
from wengert._transforms.reverse import sweep
from wengert._transforms.tape import Tape

sys.path.insert(0, str(DOCS))
from making import engines as making_engines

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# an operand of loop_back is what a loop has kept of its own operands: the samples of loop run both together
every_op = pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.name != "loop_back"], ids=str)

PRECISION = {"float64": 1e-12, "complex128": 1e-12, "float32": 1e-5, "complex64": 1e-5}


def on(engine: str, array: Any) -> Tensor:
    if UNDER_TEST[engine].is_callers:
        return wg.tensor(native(engine, array))
    return move(fresh(np.asarray(array)), engine)


def array_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(ENGINES[tensor.engine].to_numpy(tensor._data))


# minors are products of eight numbers here: the rounding errors of float32, NumPy's own among them, add up
LOSSY = {"cofactor": 4.0}


def require_close(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], what: str, slack: float = 1.0) -> None:
    assert (got.shape, got.dtype) == (want.shape, want.dtype), what
    if not dtypes.is_inexact(want.dtype):
        np.testing.assert_array_equal(got, want, what)
    elif want.size:
        scale = np.max(np.abs(want), where=np.isfinite(want), initial=0.0)
        np.testing.assert_allclose(got, want, rtol=0, atol=PRECISION[want.dtype.name] * scale * slack, err_msg=what)


# the sign of each vector is the algorithm's choice; functions that do not depend on it are in tests/ops/test_decompositions.py
SIGN_IS_FREE = {"eigh", "svd", "eig"}
PER_CALL = {"custom"}  # made anew for each call, so not in the registry

# -- tables ---------------------------------------------------------------------------------------------------------


@every_engine
def test_table_has_a_kernel_or_a_reason_for_every_op(engine: str) -> None:
    table = engine_named(engine)
    kernels = set(table.kernels) - set(HOST_KERNELS)  # users' primitives, which other tests make
    assert kernels | set(table.unsupported) == {*REGISTRY, *PER_CALL}
    assert not set(table.kernels) & set(table.unsupported)
    assert all(table.unsupported.values())


@every_users_engine
def test_the_documentations_table_of_an_engine_is_up_to_date(engine: str) -> None:
    found = making_engines.columns()[engine]
    assert found == making_engines.support_of(engine_named(engine)), "run docs/making/engines.py"


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="no engine named 'abacus'"):
        engine_named("abacus")


# -- op by op -------------------------------------------------------------------------------------------------------


def sample_dtypes(op: Op) -> list[Any]:
    low = [d for d in checks.low_dtypes(op) if d.name in PRECISION]
    return [*checks.exact_dtypes(op), *low]


def sample_cases(op: Op, is_brief: bool) -> Iterator[checks.Case]:
    """The samples of an op; the brief ones are all shapes in its first dtype, and one in each of the others."""
    for index, dtype in enumerate(sample_dtypes(op)):
        yield from itertools.islice(checks.cases(op, dtype), 1 if is_brief and index else None)


def run(case: checks.Case, engine: str, cts: list[Any]) -> tuple[list[Tensor], list[Any]]:
    """The results of an op, and the cotangents of its operands."""
    tensors = tuple(on(engine, x) for x in case.operands)
    tape = Tape(tensors[i]._key for i in case.active)
    with recording(tape):
        outs = checks._call(case, tensors)
    seeds = [(o._key, on(engine, ct)) for o, ct in zip(outs, cts, strict=True) if ct is not None]
    with np.errstate(all="ignore"):
        found = sweep(tape.entries, seeds, [tensors[i]._key for i in case.active])
    return list(outs), found


@every_engine
@every_op
def test_op_agrees_with_numpys(op: Op, engine: str) -> None:
    skip_what_it_cannot(engine, op.name)
    for case in sample_cases(op, UNDER_TEST[engine].compiles_each_shape):
        cts = checks.cotangents(case, checks.rng_for(op, 11))
        outs, grads = run(case, engine, cts)
        wanted_outs, wanted_grads = run(case, "numpy", cts)
        for got, want in zip(outs, wanted_outs, strict=True):
            assert not case.operands or got.engine == engine
            got_array, want_array = array_of(got), array_of(want)
            if op.name in SIGN_IS_FREE:
                got_array, want_array = np.abs(got_array), np.abs(want_array)
            require_close(got_array, want_array, f"{case}: value")
        if op.name in SIGN_IS_FREE:
            continue
        for got, want in zip(grads, wanted_grads, strict=True):
            if want is None or want is ZERO:
                assert got is want
                continue
            assert got.engine == engine, f"{case}: the gradient is on {got.engine}"
            require_close(array_of(got), array_of(want), f"{case}: gradient", LOSSY.get(op.name, 1.0))


@every_engine
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_and_bools_are_exact(engine: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    for op in REGISTRY.values():
        if op.name in UNDER_TEST[engine].cannot:
            continue
        category = op.facts.dtypes
        takes = {"any", "number", "real", "integer", "integer or bool"} if dtype != "bool" else {"any", "bool"}
        if category not in takes or op.facts.samples or op.attrs:
            continue
        operands = tuple(rng.integers(1, 7, (2, 3)).astype(dtype) for _ in op.operands)
        case = checks.Case(op, operands, ())
        for got, want in zip(run(case, engine, [None])[0], run(case, "numpy", [None])[0], strict=True):
            require_close(array_of(got), array_of(want), str(case))


# -- whole programs -------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(6, 4)), RNG.normal(size=(6, 4))
V, LABELS = RNG.normal(size=5), np.array([0, 2, 1, 2, 0, 1])
SQUARE = RNG.normal(size=(3, 3)) * 0.4 + 2 * np.eye(3)
IMAGE, KERNEL = RNG.normal(size=(2, 3, 6, 5)), RNG.normal(size=(4, 3, 3, 2))


def total(x: Tensor) -> Tensor:
    return structural.reduce_sum(x, axes=tuple(range(x.ndim)))


def softmax_regression(weights: Any) -> Any:
    logits = linalg.matmul(wg.tensor(X), weights)
    rows = reductions.log_softmax(logits, axis=1)
    return -total(indexing.gather(rows, wg.tensor(np.arange(6)), wg.tensor(LABELS))) / 6


def solve(a: Any) -> Any:
    return total(linalg.solve(a, wg.tensor(SQUARE[:, :2])) ** 2)


def quadratic_form(a: Any) -> Any:
    symmetric = linalg.matmul(a, linalg.swap_last(a)) + np.eye(3)
    return total(wg.log(linalg.diagonal(linalg.cholesky(symmetric))))


def convolution(kernel: Any) -> Any:
    out = conv.conv(
        wg.tensor(IMAGE), kernel, strides=(2, 1), padding=((1, 1), (0, 1)), lhs_dilation=(1, 1), rhs_dilation=(1, 2),
        groups=1, batch_groups=1,
    )  # fmt: skip
    return total(piecewise.relu(out) ** 2)


def running(x: Any) -> Any:
    sums = cumulative.cumsum(x, axis=1, reverse=False)
    products = cumulative.cumprod(x, axis=0, reverse=True)
    return total(sums * products + cumulative.cumlogsumexp(x, axis=1, reverse=False))


def sorted_weights(x: Any) -> Any:
    return total(sorting.sort(x, axis=1, descending=True) * np.arange(4.0)) * total(reductions.reduce_max(x, axes=(1,)))


def masked(x: Any) -> Any:
    kept = structural.select(x > 0, wg.log(wg.abs(x)), structural.fill(x, 0))
    return total(kept * Y)


def nested(x: Any) -> Any:
    inner = wg.grad(lambda z: total(wg.sin(z) * z**3))
    return total(inner(x) ** 2)


def twice_nested(x: Any) -> Any:
    return total(wg.grad(lambda z: total(wg.grad(lambda u: total(wg.exp(u) * u**2))(z) * z))(x))


def straight_line(x: Any) -> Any:
    return total(2.0 - x / 3 + 1.5 ** wg.sin(x) - np.float64(2) * x)


def loop_in_python(x: Any) -> Any:
    state = x
    for i in range(5):
        state = wg.tanh(state * (i + 1) + V) - 0.25 * state
    return total(state)


def scatter(x: Any) -> Any:
    index = wg.tensor(np.array([0, 1, 1, 3, 0]))
    out = indexing.scatter_add(structural.full(shape=(4,), value=1.0, dtype=dtypes.float64), x, index)
    return total(elementwise.hypot(out, out * out))


def compiled(x: Any) -> Any:
    return wg.function(lambda z: total(wg.sin(z) * np.arange(5.0) + z**2))(x)


def noise(x: Any) -> Any:
    bits = random.random_bits(wg.tensor(np.array([1, 2], np.uint32)), shape=(5,))
    return total(x * structural.convert(bits, dtype=dtypes.float64)) / 2.0**32


@wg.custom_gradient
def _log1pexp(x: Any) -> Any:
    e = wg.exp(x)
    return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


def custom(x: Any) -> Any:
    return total(_log1pexp(x * np.arange(5.0)) * V)


def recomputed(x: Any) -> Any:
    return total(wg.recompute_grad(lambda z: wg.exp(z) * wg.sin(z) * V)(x))


PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    (softmax_regression, RNG.normal(size=(4, 3))),
    (solve, SQUARE),
    (quadratic_form, SQUARE),
    (convolution, KERNEL),
    (running, X),
    (sorted_weights, X),
    (masked, X),
    (nested, V),
    (twice_nested, V),
    (straight_line, V),
    (loop_in_python, V),
    (scatter, V),
    (compiled, V),
    (noise, V),
    (custom, V),
    (recomputed, V),
]
every_program = pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))


@every_engine
@every_program
def test_program_agrees_with_numpys(program: Callable[[Any], Any], x: Any, engine: str) -> None:
    skip_what_it_cannot(engine, program.__name__)
    value, gradient = wg.value_and_grad(program)(on(engine, x))
    want = wg.value_and_grad(program)(x)
    assert value.engine == gradient.engine == engine
    require_close(value.numpy(), np.asarray(want.value), "value")
    require_close(gradient.numpy(), want.grad, "gradient")


@every_engine
@every_program
def test_compiled_gradient_agrees_with_numpys(program: Callable[[Any], Any], x: Any, engine: str) -> None:
    skip_what_it_cannot(engine, program.__name__)
    gradient = wg.function(wg.grad(program))(on(engine, x))
    assert gradient.engine == engine
    require_close(gradient.numpy(), wg.grad(program)(x), "gradient")


@every_engine
def test_variables_and_their_gradients_stay_on_their_engine(engine: str) -> None:
    w, b = wg.Variable(on(engine, V), name="w"), wg.Variable(1.5, name="b")
    value, grads = wg.variable_grads(lambda: total(w * w * b + V))
    assert value.engine == grads["w"].engine == engine
    assert grads["b"].engine == b.value.engine == "numpy"  # moved to w's engine for the product, back for its gradient
    require_close(grads["w"].numpy(), 2 * V * 1.5, "w")
    require_close(grads["b"].numpy(), np.asarray(np.sum(V * V)), "b")
    assert w.assign(V + 1).value.engine == engine
    w.assign_sub(grads["w"])
    require_close(w.numpy(), V + 1 - 3 * V, "w")
    assert "shape=(5,) dtype=float64 [" in repr(w)


@every_engine
def test_a_gradient_flows_through_a_move_and_comes_back_to_its_source(engine: str) -> None:
    x = wg.tensor(V)
    gradient = wg.grad(lambda z: total(move(z, engine) ** 3))(x)
    assert gradient.engine == "numpy"
    require_close(gradient.numpy(), 3 * V**2, "first order")
    second = wg.grad(lambda z: total(wg.grad(lambda u: total(move(u, engine) ** 3))(z) * V))(x)
    assert second.engine == "numpy"
    require_close(second.numpy(), 6 * V * V, "second order")


@every_engine
def test_unconnected_and_weighted_gradients(engine: str) -> None:
    x, y = on(engine, V), on(engine, V + 1)
    unconnected = wg.grad(lambda a, b: total(a), argnums=1, unconnected_gradients="zero")(x, y)
    assert unconnected.engine == engine
    require_close(unconnected.numpy(), np.zeros(5), "zeros")
    constant = wg.grad(lambda a: total(a))(x)
    assert constant.engine == engine
    weighted = wg.grad(lambda a: a * a)(x, dy=V)
    assert weighted.engine == engine
    require_close(weighted.numpy(), 2 * V * V, "dy")


# -- a tensor of any engine is a tensor -------------------------------------------------------------------------------


@every_engine
def test_inspection(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = on(engine, np.array([[1.5, 2.5]]))
    assert x.engine == engine
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((1, 2), dtypes.float64, 2, 2, 16)
    assert x.device == "cpu" or ON_ACCELERATOR
    assert repr(x) == "Tensor([[1.5, 2.5]], shape=(1, 2), dtype=float64)"
    assert str(x) == "[[1.5 2.5]]"
    assert x.tolist() == [[1.5, 2.5]]
    assert x.item(0, 1) == 2.5
    assert float(on(engine, np.float64(3.5))) == 3.5
    assert f"{on(engine, np.float64(3.5)):.2f}" == "3.50"
    assert bool(on(engine, np.array([0]))) is False
    assert [10, 20, 30][on(engine, np.int64(1))] == 20
    np.testing.assert_array_equal(np.asarray(x), [[1.5, 2.5]])
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0, 0] = 1
    copied = copy.deepcopy(x)
    assert copied.engine == engine
    wg.ops.conversion.debug_print("{} and {:.1f}", x, on(engine, np.float64(2)))
    assert capsys.readouterr().out == "[[1.5 2.5]] and 2.0\n"
    result = to_numpy_result(x)
    assert result.flags.writeable
    assert result.flags.owndata
    assert type(to_numpy_result(on(engine, np.float64(3.5)))) is np.float64


@every_engine
def test_numbers_lists_and_arrays_join_the_engine(engine: str) -> None:
    x = on(engine, np.array([1.0, 2.0]))
    for y in (2, 2.0, True, np.float64(2), np.array([1.0, 2.0]), wg.tensor([1.0, 2.0]), wg.Variable([1.0, 2.0])):
        assert (x + y).engine == engine
        assert (y * x).engine == engine
        assert (x > y).engine == engine


@every_engine
def test_errors_name_the_op_and_what_is_wrong(engine: str) -> None:
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\) do not broadcast"):
        on(engine, np.ones(2)) + on(engine, np.ones(3))
    with pytest.raises(ValueError, match="matmul: x has shape"):
        linalg.matmul(on(engine, np.ones((2, 2))), on(engine, np.ones((3, 2))))
    with pytest.raises(np.linalg.LinAlgError, match="solve"):
        linalg.solve(on(engine, np.ones((2, 2))), on(engine, np.ones((2, 1))))
    with pytest.raises(IndexError, match="out of bounds"):
        indexing.gather(on(engine, np.ones(2)), on(engine, np.array([7])))


def test_differentiated_arguments_keep_their_engine() -> None:
    assert Differentiated(on("python", V), "x").tensors[0].engine == "python"


@every_engine
def test_numpys_namespace_keeps_the_engine(engine: str) -> None:
    x = on(engine, X)
    for result in (
        wnp.zeros_like(x), wnp.ones_like(x), wnp.full_like(x, 2.0), wnp.nonzero(x)[0], wnp.argwhere(x > 0), x[x > 0],
        x[:, [1, 0]], wnp.imag(x), wnp.where(x > 0, x, 0), wnp.einsum("ij,kj->ik", x, X), x.at[0].set(1.0),
    ):  # fmt: skip
        assert result.engine == engine
    assert wnp.array_equal(x, X)
    assert wnp.allclose(x, X)
    assert wg.grad(lambda z: (z[z > 0] ** 2).sum())(x).engine == engine
