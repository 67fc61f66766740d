"""Traced programs on torch: Python source over kernels of tensors, compiled for each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..._control.call import Program
from ..._control.executables import once_per_program
from ..._core.dtypes import HISTORY
from ..._core.engine import ENGINES, Kernel
from ..._core.graph import Node
from ..._passes import optimise
from ..interpret import compile_instructions
from ..regions import Arrays, as_object, region_kernels
from ..source import Target, compile_source
from .common import from_numpy, is_traced, torch_dtype
from .fusion import FUSED, fused
from .table import KERNELS, creations, kernel_of, owned_outputs, shares_of, unboxed

Tensors = Sequence[Any]


def device_of(tensors: Tensors) -> torch.device:
    """Where a program runs: where its operands are, those on the CPU giving way."""
    for x in tensors:
        if isinstance(x, torch.Tensor) and not x.is_cpu:
            return x.device
    return _CPU


_CPU = torch.device("cpu")


class Form:
    """A program as this engine runs it on one device: Python source over the device's kernels.

    Attributes:
        owned: for each result whether its memory is nobody else's.
    """

    def __init__(self, program: Program, table: Table) -> None:
        self._table = table
        graph = optimise(program.graph)
        self._graph = fused(graph)
        self._target = Target(table.kernel_of, table.constant, False)
        self._run: Callable[..., tuple[Any, ...]] | None = None
        self._runs_again = False
        self.owned = owned_outputs(graph)
        self.are_owned = all(self.owned)

    def may_be_views(self) -> list[bool]:
        """For each result whether torch may know it as a view: not where one function of torch's has made it."""
        makers = {v.key: node for node in self._graph.nodes for v in node.outputs}
        return [not _is_no_view(makers.get(v.key), self._table) for v in self._graph.outputs]

    def run(self, *tensors: object) -> tuple[Any, ...]:
        """The results. What runs but once, as the trace of one call does, is not worth compiling.

        Where torch records, all calls run alike: torch.jit.trace makes two of them and compares even variables' names.
        """
        if is_traced():
            return compile_instructions(self._graph, self._table.kernel_of)(*tensors)
        if self._run is not None:
            return self._run(*tensors)
        if self._runs_again:
            return self.compiled()(*tensors)
        self._runs_again = True
        return compile_instructions(self._graph, self._table.kernel_of)(*tensors)

    def compiled(self) -> Callable[..., tuple[Any, ...]]:
        """The program as one Python function."""
        run = self._run
        if run is None:
            run = self._run = compile_source(self._graph, self._target)
        return run

    def run_owned(self, *tensors: torch.Tensor | np.ndarray[Any, Any]) -> tuple[Any, ...]:
        """The results, copied where their memory is anybody else's."""
        return self.own(self.run(*tensors))

    def own(self, outs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Results of a run, copied where their memory is anybody else's."""
        if self.are_owned and True not in [y._is_view() for y in outs]:
            return outs
        return (*map(_owned, outs, self.owned),)


def _is_no_view(maker: Node | None, table: Table) -> bool:
    """Whether a node is one function of torch's that gives new elements at their places."""
    if maker is None or type(table.kernel_of(maker)) is not BuiltinFunctionType:
        return False
    return maker.op.name in FUSED or (maker.op.facts.mixes == "nothing" and not shares_of(maker))


def _owned(x: torch.Tensor | np.ndarray[Any, Any], is_owned: bool) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    if not is_owned:
        return copied(x)
    return x.detach() if x._is_view() else x  # torch lets nobody write to a view that a node of several results gave


def copied(x: torch.Tensor) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


class Table(dict[str, Kernel]):
    """The kernels of programs on a device; those of users' primitives join when they are asked for."""

    def __init__(self, device: torch.device) -> None:
        super().__init__({**KERNELS, **FUSED, **creations(device)})
        self.device = device
        self["call"] = self._call
        self.update(region_kernels(Arrays(
            run=self.run_of, number=_number, row=_row, rows=_rows, stack=_stack, zeros=self._zeros, like=_zeros_like,
            integer=lambda n: torch.full((), n, dtype=torch.int64, device=device),
        )))  # fmt: skip

    def __missing__(self, name: str) -> Kernel:
        return unboxed(ENGINES["torch"].kernels[name])

    def kernel_of(self, node: Any) -> Kernel:
        return kernel_of(node, self)

    def constant(self, value: Any) -> Any:
        return self["constant"](value)

    def run_of(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        """What runs a part of a program: a branch, or a step."""
        return form_on(program, self.device).compiled()

    def _call(self, *operands_and_program: Any) -> tuple[Any, ...]:
        *tensors, program = operands_and_program
        return form_on(program, self.device).run(*tensors)

    def _zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        return torch.zeros((*shape,), dtype=torch_dtype(dtype), device=self.device)


_tables: dict[torch.device, Table] = {}


def table_on(device: torch.device) -> Table:
    """The kernels of programs on a device."""
    found = _tables.get(device)
    if found is None:
        found = _tables[device] = Table(device)
    return found


@once_per_program
def form_on(program: Program, device: torch.device) -> Form:
    """The form of a program on a device, made on first use, with constants that have values whatever torch records."""
    with _disable_current_modes():
        return Form(program, table_on(device))


def form_for(program: Program, tensors: Tensors) -> Form:
    """The form of a program for operands like these."""
    return form_on(program, device_of(tensors))


def on_device(tensors: Tensors) -> list[Any]:
    """Operands of a program as tensors: NumPy's scalars among them go where the others are."""
    device = device_of(tensors)
    return [
        x if isinstance(x, torch.Tensor) or x.dtype == HISTORY else from_numpy(x, device) for x in tensors
    ]  # fmt: skip


# -- what regions ask of tensors -----------------------------------------------------------------------------------


def _number(x: torch.Tensor) -> Any:
    return x.item()


def _row(x: tuple[torch.Tensor, ...], index: int) -> Any:
    row = x[index]
    return row if isinstance(row, (torch.Tensor, np.ndarray)) else as_object(row)


def _rows(x: Any) -> Any:
    """All rows at once, which costs torch less than one at a time."""
    return x.unbind(0) if isinstance(x, torch.Tensor) else x


def _stack(rows: Tensors) -> Any:
    """Rows as one tensor; rows whose shape varies from step to step, and histories, stay apart."""
    first = rows[0]
    if isinstance(first, torch.Tensor) and all(row.shape == first.shape for row in rows):
        return torch.stack([*rows])
    apart = np.empty(len(rows), object)
    for index, row in enumerate(rows):
        apart[index] = row
    return apart


def _zeros_like(x: torch.Tensor) -> Any:
    return torch.zeros_like(x) if isinstance(x, torch.Tensor) else np.zeros_like(x)
