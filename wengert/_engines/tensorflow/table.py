"""The table of kernels on tensors, joined from the files of their families; programs and regions are added in
`__init__`. A kernel that someone gave the engine itself (a user's primitive) is found there.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..._core.dims import Dim
from ..._core.engine import ENGINES
from ..._core.graph import Graph
from ..._core.op import REGISTRY, Op
from ..._core.state import building, pausing
from ..interpret import compile_instructions
from . import elementwise, indexing, linalg, random, sparse, special, structural, windows
from .common import Native, extents, numpy_dtype, opened


class _Table(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        on_natives = ENGINES["tensorflow"].kernels[name]

        def kernel(*operands_and_attrs: Any) -> Any:
            op = REGISTRY.get(name)
            if op is not None and op.body is not None and not all(map(_is_known, operands_and_attrs)):
                return _of_body(op, operands_and_attrs)
            found = on_natives(*[Native(x) if isinstance(x, tf.Tensor) else x for x in operands_and_attrs])
            return (*map(opened, found),) if isinstance(found, tuple) else opened(found)

        self[name] = kernel
        return kernel


def _is_known(x: tf.Tensor) -> bool:
    """Whether all extents of a tensor are."""
    return not isinstance(x, tf.Tensor) or x.shape.is_fully_defined()


def _of_body(op: Op, operands_and_attrs: tuple[Any, ...]) -> Any:
    """What an op's body gives for tensors of unknown extents: by a trace, for what it is made of asks for these."""
    end = len(operands_and_attrs) - len(op.attrs)
    operands, attrs = operands_and_attrs[:end], operands_and_attrs[end:]
    shared: dict[Any, Dim] = {}  # operands of an elementwise op have one shape

    def dim(which: int, axis: int) -> Dim:
        return shared.setdefault(axis if op.kind == "elementwise" else (which, axis), Dim.free("n"))

    graph = Graph(op.name)
    with building(graph), pausing():
        inputs = [
            graph.add_input((*[dim(i, a) if n is None else n for a, n in enumerate(x.shape)],), numpy_dtype(x))
            for i, x in enumerate(operands)
        ]
        assert op.body is not None
        outs = op.body(*inputs, *attrs)
        results = [graph.value_of(y) for y in (outs if op.is_multi else (outs,))]
        values = [graph.value_of(x) for x in inputs]
    traced = Graph.of(op.name, values, graph.nodes, results, graph.guards)
    found = compile_instructions(traced, lambda node: KERNELS[node.op.name], lambda x, axis: extents(x)[axis])(
        *operands
    )
    return found if op.is_multi else found[0]


KERNELS: dict[str, Any] = _Table()
for _family in (structural, elementwise, indexing, linalg, windows, random, sparse, special):
    KERNELS.update(_family.KERNELS)
