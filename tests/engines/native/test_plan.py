"""Which nodes become machine code together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert._core.graph import Graph, Node
from wengert._engines.native import engine
from wengert._engines.native.plan.segments import Part, parts


def test_constants_are_part_of_the_code_that_alone_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Part]] = []

    def noted(graph: Graph, is_native: Callable[[Node], bool]) -> list[Part]:
        found.append(parts(graph, is_native))
        return found[-1]

    monkeypatch.setattr(engine, "parts", noted)
    weights = np.arange(3.0)
    f = wg.function(lambda x: (wg.linalg.eigvalsh(x) * weights + wg.array([1.0, 2.0, 4.0])) * 3.0)
    np.testing.assert_allclose(f(np.diag([1.0, 2.0, 3.0])), [3.0, 12.0, 30.0], rtol=1e-15)
    ((*kernels, segment),) = found
    assert [_name(part.nodes) for part in kernels if _name(part.nodes) == "constant"] == []
    assert segment.is_native
    assert "constant" in [node.op.name for node in segment.nodes]


def _name(nodes: list[Node]) -> str:
    return nodes[0].op.name
