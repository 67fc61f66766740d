"""The ways in which the tests of custom gradients differentiate one function: all must give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.graph import Graph
from wengert._core.op import ZERO
from wengert._core.state import building, recording
from wengert._core.tensor import Tensor
from wengert._core.types import TensorType, type_of
from wengert._prims.structural import alias, zeros_of
from wengert._transforms.batch import batch
from wengert._transforms.forward import Tangents
from wengert._transforms.replay import replay

Derive = Callable[..., Callable[..., Any]]


def eager(f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return wg.grad(f, **options)


def traced(f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return wg.function(wg.grad(f, **options))


def of_traced(f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return wg.grad(wg.function(f), **options)


every_way = pytest.mark.parametrize("derive", [eager, traced, of_traced])


def pushed(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """f's tangent in forward mode (None where it depends on no primal)."""
    recorder = Tangents()
    sources = [alias(wg.tensor(x)) for x in primals]
    with recording(recorder):
        for source, tangent in zip(sources, tangents, strict=True):
            if tangent is not None:
                recorder.set(source, wg.tensor(tangent))
        y = f(*sources)
    tangent = recorder.of(y)
    return zeros_of(type_of(y)).numpy() if tangent is ZERO else None if tangent is None else tangent.numpy()


def graph_of(f: Callable[..., Any], *examples: Any) -> Graph:
    """f as a graph of its own, traced for examples."""
    graph = Graph()
    with building(graph):
        result = f(*(graph.add_input(np.shape(x), np.asarray(x).dtype) for x in examples))
        return graph.finish([result] if isinstance(result, Tensor) else list(result))


def pushed_traced(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """As `pushed`, through a graph that is replayed."""
    graph = graph_of(f, *primals)
    return pushed(lambda *xs: replay(graph, xs)[0], primals, tangents)


def mapped(f: Callable[..., Any], *batches: Any) -> Any:
    """f on each example of batches (None: the same for all): traced for one, then batched. On tensors."""
    flags = [isinstance(b, (np.ndarray, Tensor)) and len(b.shape) > 0 for b in batches]
    types = [
        TensorType((b.shape[1:], b.dtype)) if flag else TensorType(((), np.dtype(float)))
        for b, flag in zip(batches, flags, strict=True)
    ]
    graph = Graph()
    with building(graph):
        graph.finish([f(*(graph.add_input(t.shape, t.dtype) for t in types))])
    tensors = [wg.tensor(b) for b in batches]
    size = next(b.shape[0] for b, flag in zip(batches, flags, strict=True) if flag)
    return batch(graph, tensors, flags, size)[0]
