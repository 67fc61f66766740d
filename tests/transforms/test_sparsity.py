"""Structural sparsity of every op in the registry: the pattern holds every entry of the Jacobian of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert  # noqa: F401  # declares the ops
from tests.support import op_checks as checks
from wengert._control.dependence import pattern
from wengert._core.dtypes import is_inexact
from wengert._core.graph import Graph
from wengert._core.op import REGISTRY, Op
from wengert._core.state import building, recording
from wengert._core.tensor import Tensor, fresh
from wengert._transforms.forward import Tangents

OPS = [op for op in REGISTRY.values() if op.kind in checks.DIFFERENTIABLE and op.name != "loop_back"]
"""`loop_back` is only ever made by a gradient, which tests/differentiation/test_sparse_jacobians.py asks for."""

# What needs values to be told: here the pattern may hold more than some sample shows.
EXACT_KINDS = {
    "reshape", "transpose", "broadcast_to", "slice", "pad", "flip", "concatenate", "gather", "scatter_add", "scatter_set",
    "reduce_sum", "tril", "triu", "diagonal", "make_diagonal", "take_along", "add_along", "permute_along",
    "permute_rows", "unpermute_rows", "window_sum", "window_spread", "matmul", "einsum", "cumsum", "buffer_get",
    "buffer_set", "buffer_add", "add", "mul", "exp", "unstack", "select",
}  # fmt: skip


def columns_by_forward_mode(case: checks.Case, index: int) -> list[Any]:
    """The Jacobian of each floating result by one operand."""
    x = case.operands[index]
    columns: list[list[Any]] = []
    for place in range(x.size):
        unit = np.zeros(x.size, x.dtype)
        unit[place] = 1
        operands = [fresh(np.array(v)) for v in case.operands]
        recorder = Tangents()
        recorder.set(operands[index], fresh(unit.reshape(x.shape)))
        with recording(recorder):
            outs = checks._call(case, (*operands,))
        found = [recorder.of(out) for out in outs]
        columns.append([
            np.asarray(d._data).reshape(-1) if isinstance(d, Tensor) else np.zeros(int(np.prod(out.shape)))
            for d, out in zip(found, outs, strict=True)
        ])  # fmt: skip
    return [np.stack(column, axis=1) for column in zip(*columns, strict=True)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # at hard points the derivatives are NaN or infinite
def test_patterns_hold_every_entry(op: Op) -> None:
    checked = 0
    for case in checks.cases(op):
        for index in case.active:
            x = case.operands[index]
            if not x.size:
                continue
            graph = Graph(op.name)
            with building(graph):
                source = graph.add_input(x.shape, x.dtype)
                others = [fresh(np.array(v)) for v in case.operands]
                others[index] = source
                outs = checks._call(case, (*others,))
                graph.finish([*outs])
            dense = columns_by_forward_mode(case, index)
            for rows, out, entries in zip(pattern(graph, [True]), outs, dense, strict=True):
                if not is_inexact(out.dtype):
                    assert rows is None
                    continue
                predicted = np.zeros(entries.shape, bool) if rows is None else rows.toarray()
                assert predicted.shape == entries.shape
                missing = ~predicted & (entries != 0)
                assert not missing.any(), f"{case}: operand {index}"
                if op.name in EXACT_KINDS:
                    assert not (predicted & (entries == 0)).any(), f"{case}: operand {index}"
                checked += 1
    assert checked or not any(case.active and case.operands[case.active[0]].size for case in checks.cases(op))
