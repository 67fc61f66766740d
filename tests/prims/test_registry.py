"""Every registered primitive is complete and correct: one test a law, parametrised over the registry.

The laws and the inputs are in `tests/support/op_checks.py`; nothing here names an op.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert.rules.custom  # noqa: F401  # registers primitives and engines, and what is registered at its first use
from tests.support import op_checks as checks
from wengert._core.engine import ENGINES, HOST_KERNELS
from wengert._core.op import REGISTRY, Op

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
BATCH = 3
KINDS = ("elementwise", "linear", "multilinear", "general", "zero", "stop", "not_differentiable", "custom")

# an operand of loop_back is what a loop has kept of its own operands: tests/test_control_*.py run both together
OPS = [op for op in REGISTRY.values() if op.name != "loop_back"]
every_op = pytest.mark.parametrize("op", OPS, ids=str)
every_differentiable_op = pytest.mark.parametrize("op", [op for op in OPS if op.kind in checks.DIFFERENTIABLE], ids=str)
every_smooth_op = pytest.mark.parametrize(
    "op", [op for op in OPS if op.kind in checks.DIFFERENTIABLE and op.facts.smooth], ids=str
)


@every_op
def test_declaration_is_complete(op: Op) -> None:
    assert op.kind in KINDS
    assert callable(op.type_rule)
    assert op.batch_rule is not None
    assert op.facts.doc
    assert checks.cases(op)
    if op.kind == "general":
        assert op.jvp is not None
        assert op.joint is not None or op.rules
    if op.kind in ("elementwise", "linear", "multilinear"):
        assert op.rules


@every_op
def test_each_engine_has_a_kernel_or_a_reason(op: Op) -> None:
    checks.check_engines(op)


@pytest.mark.parametrize("op", [op for op in OPS if op.body is not None], ids=str)
def test_body_gives_what_the_kernel_gives(op: Op) -> None:
    for dtype in [*checks.exact_dtypes(op), *checks.low_dtypes(op)]:
        for case in checks.cases(op, dtype):
            checks.check_body(case)


def test_no_kernel_without_an_op() -> None:
    for engine in ENGINES.values():
        # a custom gradient is an op of its own for each number of operands; they share one kernel
        # and users' primitives (other tests make some) run on the host
        assert set(engine.kernels) | set(engine.unsupported) <= {*REGISTRY, "custom", *HOST_KERNELS}


@every_op
def test_type_rule_agrees_with_the_arrays(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_type(case)


@every_op
def test_graph_replays_to_the_eager_result(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_graph(case)


@every_differentiable_op
def test_reverse_is_the_adjoint_of_forward(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_adjoint(case)


@every_smooth_op
def test_forward_agrees_with_differences(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_tangent(case)


@every_smooth_op
def test_second_order_agrees_with_differences_of_the_gradient(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_second_order(case)


@every_op
def test_batched_is_looped(op: Op) -> None:
    if not op.operands:
        return
    for dtype in checks.exact_dtypes(op):
        draws = [checks.cases(op, dtype, salt=100 + i) for i in range(BATCH)]
        for examples in zip(*draws, strict=True):
            checks.check_batch(list(examples))


@every_op
def test_low_precision_stays_low(op: Op) -> None:
    for dtype in checks.low_dtypes(op):
        exact = np.complex128 if dtype.kind == "c" else np.float64
        for case in checks.cases(op, exact):
            checks.check_low_precision(case, dtype)


@every_op
def test_strided_and_read_only_operands(op: Op) -> None:
    for case in checks.cases(op):
        checks.check_layouts(case)


@every_op
def test_empty_operands(op: Op) -> None:
    for case in checks.cases(op):
        # an index and a number of steps cannot be empty
        if case.operands and op.name not in ("switch", "loop") and checks.preserves_shape(case):
            checks.check_empty(case)


@every_differentiable_op
def test_batched_gradient_is_looped(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        draws = [checks.cases(op, dtype, salt=200 + i) for i in range(BATCH)]
        for examples in zip(*draws, strict=True):
            checks.check_batched_gradient(list(examples))


@every_differentiable_op
def test_gradient_with_unknown_dimensions(op: Op) -> None:
    for case in checks.cases(op):
        checks.check_unknown_dims(case)


@pytest.mark.parametrize("op", [op for op in OPS if op.kind == "zero"], ids=str)
def test_what_has_derivative_zero_is_constant(op: Op) -> None:
    for dtype in checks.exact_dtypes(op):
        for case in checks.cases(op, dtype):
            checks.check_constant(case)
