"""The tables of kernels: of tensors, one for each device, for what programs run; and of `Array`s, for single ops."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch

from ..._control.call import Program
from ..._core.graph import Graph, Node
from ..._core.op import REGISTRY
from . import buffer, conv, elementwise, indexing, linalg, random, sparse, special, structural, windows
from .common import WIDE_UNSIGNED, WIDE_UNSIGNED_NAMES, Array, Entry, Kernel, TableKernel, on_host, torch_dtype


def _entries(*tables: Mapping[str, TableKernel]) -> dict[str, Entry]:
    return {n: e if isinstance(e, Entry) else Entry(e) for table in tables for n, e in table.items()}


_FAMILIES = (structural, elementwise, indexing, buffer, linalg, conv, windows, random, sparse, special)
ENTRIES = _entries(*(family.KERNELS for family in _FAMILIES))
_CREATIONS = _entries(structural.CREATIONS)
KERNELS: dict[str, Kernel] = {name: entry.kernel for name, entry in ENTRIES.items()}


@functools.cache
def for_unsigned(name: str) -> Kernel:
    """A kernel for integers of 16, 32 and 64 bits without a sign: in 64 bits with one, those of 64 bits on the host."""
    own = ENTRIES[name].of_unsigned
    if own is not None:
        return own
    op, inner, host = REGISTRY[name], KERNELS[name], on_host(name)

    def kernel(*operands_and_attrs: int | torch.Tensor | tuple[int, ...]) -> Any:
        tensors = [x for x in operands_and_attrs if isinstance(x, torch.Tensor)]
        if any(x.dtype is torch.uint64 for x in tensors):
            return host(*operands_and_attrs)
        attrs = operands_and_attrs[len(tensors) :]
        types = op.type_rule(*op.group((*map(Array, tensors),)), *attrs)
        found = inner(*[x.to(torch.int64) if x.dtype in WIDE_UNSIGNED else x for x in tensors], *attrs)
        if not op.is_multi:
            return found.to(torch_dtype(types.dtype))
        return (*[x.to(torch_dtype(t.dtype)) for x, t in zip(found, types, strict=True)],)

    return kernel


def kernel_of(node: Node, kernels: dict[str, Kernel]) -> Kernel:
    """The kernel for a node, chosen by dtypes once for all runs."""
    name = node.op.name
    if name in REGISTRY and name in KERNELS and node.inputs and node.inputs[0].dtype.name in WIDE_UNSIGNED_NAMES:
        return for_unsigned(name)
    kernel = kernels[name]
    place, choose = getattr(kernel, "of_dtype", (0, None))
    return kernel if choose is None else choose(node.inputs[place].dtype) or kernel


def boxed(name: str, inner: Kernel) -> Kernel:
    """A kernel of tensors as one of `Array`s."""
    shared = (ENTRIES.get(name) or _CREATIONS[name]).shares != ""

    def kernel(*operands_and_attrs: Any) -> Any:
        given = [x.tensor if type(x) is Array else x for x in operands_and_attrs]
        first = given[0]
        if type(first) is torch.Tensor and first.dtype in WIDE_UNSIGNED and name in KERNELS:
            found = for_unsigned(name)(*given)
        else:
            found = inner(*given)
        if isinstance(found, tuple):
            return (*[wrapped(x, shared) for x in found],)
        return wrapped(found, shared)

    for told in ("is_on_host", "on_host_when"):  # read by `support_of`
        if hasattr(inner, told):
            setattr(kernel, told, getattr(inner, told))
    return kernel


def wrapped(x: Any, shared: bool) -> Any:
    """A tensor as a native; what a loop has kept is one already."""
    return Array(x, shared) if isinstance(x, torch.Tensor) else x


def unboxed(inner: Kernel) -> Kernel:
    """A kernel of `Array`s as one of tensors: of users' primitives, and of functions of other frameworks."""

    def kernel(*operands_and_attrs: Any) -> Any:
        found = inner(*[wrapped(x, True) for x in operands_and_attrs])
        if isinstance(found, tuple):
            return (*[x.tensor if type(x) is Array else x for x in found],)
        return found.tensor

    return kernel


def creations(device: torch.device) -> dict[str, Kernel]:
    """The kernels that make tensors of nothing, on a device."""
    return {name: functools.partial(entry.kernel, device=device) for name, entry in _CREATIONS.items()}


def owned_outputs(graph: Graph) -> tuple[bool, ...]:
    """For each result of a graph whether its memory is nobody else's: not an operand's, a constant's or another
    result's, and not shared among its own elements."""
    roots: dict[int, int | None] = {v.key: None for v in graph.inputs}
    for node in graph.nodes:
        shares = shares_of(node)
        for value in node.outputs:
            if shares == "first":
                roots[value.key] = roots[node.inputs[0].key]
            else:
                roots[value.key] = None if shares else value.key
    found = [roots[v.key] for v in graph.outputs]
    return (*[root is not None and found.count(root) == 1 for root in found],)


def shares_of(node: Node) -> str:
    """Whose memory the results of a node may lie in, as `Entry` has it."""
    entry = ENTRIES.get(node.op.name)
    if entry is not None:
        return entry.shares
    is_copied = node.op.name == "foreign" and node.attrs[0].engine != "torch"  # from another framework's memory
    return "" if is_copied else "any"


__all__ = [
    "KERNELS",
    "Program",
    "boxed",
    "creations",
    "for_unsigned",
    "kernel_of",
    "owned_outputs",
    "shares_of",
    "unboxed",
]
