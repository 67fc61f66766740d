"""Every primitive as machine code beside NumPy's kernel, on the samples of its declaration and with its operands tiled
so that loops run where the samples would stay in registers; and the loops of each beside the naive interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support import naive_loops as naive
from tests.support.op_checks import Case, cases, traced
from wengert._core.dims import Dim
from wengert._core.graph import Graph
from wengert._core.op import REGISTRY, Op
from wengert._engines.native import engine
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.lower.scalars import SCALARS
from wengert._engines.native.plan import support
from wengert._engines.native.plan.prepare import ready
from wengert._engines.numpy import NUMPY
from wengert._engines.numpy.execute import compile_graph
from wengert._passes import optimise

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-320, 1e300, -7.0, 2.0]
INTEGERS = [0, 1, -1, 2, -3, 7, 5, -8, 63, 64, 100]
DTYPES = [np.float64, np.float32]


def plain(graph: Graph) -> Any:
    return compile_graph(graph, NUMPY.kernels)


def native(graph: Graph) -> engine.Segment | None:
    """The graph as one piece of machine code; None if NumPy has to run a node of it."""
    found = ready(graph)
    if any(support.reason_against(node) for node in found.nodes) or any(v.dtype == object for v in found.outputs):
        return None
    if any(isinstance(d, Dim) for v in (*found.inputs, *found.outputs) for d in v.shape):
        return None
    return engine.Segment(found, plain)


def agree(found: Any, wanted: Any, what: str, is_exact: bool = False) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    if wanted.dtype.kind not in "fc" or is_exact:
        np.testing.assert_array_equal(found, wanted, what)
        return
    # rounding of sums in another order, and 4 units in the last place of a function
    rtol = 1e-12 if wanted.dtype in (np.float64, np.complex128) else 2e-6
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(found, wanted, rtol, rtol * float(np.max(finite, initial=0.0)) + 1e-300, err_msg=what)


def check(graph: Graph, operands: Any, what: str, is_exact: bool = False) -> bool:
    """Whether there is machine code; fails if it, or the naive interpreter, gives other results than the kernels."""
    segment = native(graph)
    if segment is None:
        return False
    with np.errstate(all="ignore"):
        wanted = plain(graph)(*operands)
    found = segment.run(*operands)
    assert segment.refusals == 0, what
    for ours, theirs in zip(found, wanted, strict=True):
        agree(ours, theirs, what, is_exact)
    slow = interpreted(segment.graph, operands)
    for ours, theirs in zip(slow if slow is not None else (), wanted, strict=slow is not None):
        agree(ours, theirs, f"{what}, interpreted", is_exact)
    return True


def interpreted(graph: Graph, operands: Any) -> Any:
    """The results of the naive interpreter; None where the loops call functions outside."""
    made = lowered(graph, graph.name)
    engine.verify(made.function)
    if "call" in str(made.function) and any(
        word in str(made.function) for word in ("special.", "wg_", "blas", "dgemm")
    ):
        return None
    flat = [np.ascontiguousarray(x).reshape(-1) for x in (*operands, *made.constants)]
    outs = [np.zeros(int(np.prod(v.shape)), v.dtype) for v in graph.outputs]
    try:
        status, found = naive.run(made.function, flat, outs, [1 << 40] * made.has_budget)
    except KeyError:  # a function outside
        return None
    assert status == 0
    return [x.reshape(v.shape) for x, v in zip(found, graph.outputs, strict=True)]


def samples(op: Op) -> list[Case]:
    found: list[Case] = []
    for dtype in DTYPES:
        found += cases(op, dtype)
    return found


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.name not in ("debug_print",)], ids=repr)
def test_samples(op: Op) -> None:
    try:
        examples = samples(op)
    except AssertionError:
        pytest.skip("no samples: an op that loops make for themselves, tested with them")
    for case in examples:
        try:
            graph = optimise(traced(case))
        except TypeError:  # the samples are of another dtype than this one's
            continue
        check(graph, case.operands, str(case))


def tiled(case: Case, dtype: Any, values: list[Any]) -> list[Any]:
    """Operands of 35 elements that pair each value with many others."""
    operands = []
    for k, x in enumerate(case.operands):
        if x.dtype == np.bool_:
            operands.append(np.resize(np.array([True, False, True]), 35))
        else:
            row = np.array(values).astype(dtype)
            operands.append(np.resize(np.roll(np.repeat(row, k + 1), k), 35))
    return operands


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, np.uint64, np.bool_])
@pytest.mark.parametrize("name", [*filter(REGISTRY.get, SCALARS), "zeta", "convert"])  # beside parts of zeta
def test_elementwise_on_hard_values(name: str, dtype: Any) -> None:
    op = REGISTRY[name]
    is_float = np.dtype(dtype).kind == "f"
    values = SPECIAL if is_float else [abs(v) for v in INTEGERS] if np.dtype(dtype).kind == "u" else INTEGERS
    for case in cases(op, dtype if is_float else np.float64):
        operands = tiled(case, dtype, values)
        graph = Graph("f")
        try:
            with graph.as_default():
                inputs = [graph.add_input(x.shape, x.dtype) for x in operands]
                out = op(*inputs, **dict(zip(op.attrs, case.attrs, strict=True)))
                graph.finish([out])
        except (TypeError, ValueError, OverflowError):  # the primitive does not take this dtype
            return
        if not is_float and any(isinstance(a, float) for a in case.attrs):
            return  # such a number would have made the operand a float first
        if name in ("left_shift", "right_shift", "power_number") and not is_float:
            operands[-1] = np.abs(operands[-1])
        exact = name in EXACT
        check(graph, operands, f"{name} {np.dtype(dtype)}", exact)


# what machine code and NumPy compute with the same roundings
EXACT = frozenset({
    "add", "sub", "mul", "neg", "div", "add_n", "times_number", "add_number", "scale", "square", "reciprocal", "abs",
    "sign", "floor", "ceil", "trunc", "rint", "sqrt", "maximum", "minimum", "fmax", "fmin", "clip", "relu", "copysign",
    "heaviside", "floor_divide", "mod", "fmod", "eq", "ne", "lt", "le", "gt", "ge",
})  # fmt: skip


def test_the_table_of_what_numpy_runs_only_shrinks() -> None:
    """Primitives without a rule or a body are listed, each with its reason; none that has one is listed."""
    missing = {
        op.name for op in REGISTRY.values() if not support.is_lowered(op.name) and op.name != "call" and op.body is None
    }
    missing -= RENAMED
    assert missing == set(support.HANDED), (missing - set(support.HANDED), set(support.HANDED) - missing)
    assert all(support.HANDED.values())
    assert len(support.HANDED) <= 60


# gone before anything is lowered; `zeta` and its first derivatives
RENAMED = {"alias", "regular", "attach", "limit_value", "stop_gradient", "reassign", "barrier", "custom", "conj", "real", "unstack",
           "logsumexp", "softmax", "log_softmax", "zeta"}  # fmt: skip
