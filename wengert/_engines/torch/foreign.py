"""torch's functions as ops of ours: run, differentiated and batched by torch.

Derivatives are taken by `torch.autograd.grad`, which follows whatever a module does; inside a transform of
`torch.func`, which forbids that, by `torch.func.vjp`. A forward derivative is the derivative of the reverse one in its
cotangents, to which it is linear. A batch runs under `torch.func.vmap`, or one example after the other where that
refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..._control.foreign import Foreign, chosen, filled
from ..._core.tensor import Tensor, entered
from ..._core.types import TensorType, tensor_type
from .bridge import is_differentiable, is_followed, is_in_transform, is_transforming
from .common import Array, numpy_dtype, torch_dtype
from .read_meanwhile import Noting, Replacing

Function = Callable[..., Sequence[Any]]

_vjp: Any = torch.func.vjp  # how many results it gives depends on has_aux=, which its own types do not say


class TorchFunction(Foreign):
    """A function from torch tensors to a tuple of them."""

    engine = framework = "torch"
    reads_anew = True

    def __init__(self, function: Function, name: str) -> None:
        super().__init__(name)
        self._function = function
        self._types: dict[Any, tuple[TensorType, ...]] = {}
        self._reads: bool | None = None  # whether it takes tensors beside its operands; None before that was looked at

    def types(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        key = (*operands,)
        if key not in self._types:
            self._types[key] = (*[
                tensor_type((*y.shape,), numpy_dtype(y.dtype)) for y in self._imagined(operands)
            ],)  # fmt: skip
        return self._types[key]

    def _imagined(self, operands: Sequence[TensorType]) -> Sequence[Any]:
        """The results without their values; of code that needs values, those for zeros."""
        try:
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
                return self._function(*map(_zeros, operands))
        except Exception:  # whatever a user's code does with what has no values
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                return self._function(*map(_zeros, operands))

    @property
    def loses_eagerly(self) -> bool:
        return self._reads is not False and (torch.is_grad_enabled() or is_transforming())

    def after_read(self, operands: Sequence[TensorType]) -> tuple[TorchFunction, Sequence[Any]]:
        with Noting() as noting:
            self._imagined(operands)
        self._reads = bool(noting.taken())
        read = [x for x in noting.taken() if is_followed(x) and is_differentiable(x)]
        if not read:
            return self, ()

        def after_read(*values: torch.Tensor) -> Sequence[Any]:
            with Replacing(read, values[: len(read)]):
                return self._function(*values[len(read) :])

        return TorchFunction(after_read, self.name), read

    def tensor_of(self, read: torch.Tensor) -> Tensor:
        # a parameter is read again at each call of a trace
        return entered(read) if isinstance(read, torch.nn.Parameter) else super().tensor_of(read)

    def run(self, natives: Sequence[Any]) -> Sequence[Any]:
        if any(map(is_followed, natives)):  # what `lifted` has found, outside of traces
            return [Array(y, True) for y in self._function(*[x.tensor for x in natives])]
        with torch.no_grad():
            return [Array(_plain(y), True) for y in self._function(*[x.tensor for x in natives])]

    def direct(self, natives: Sequence[Any]) -> Sequence[Any]:
        return [Array(y) for y in self._function(*[x.tensor for x in natives])]

    def pullback(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> TorchFunction:
        return self.kept(("pullback", wanted, given), lambda: _Pullback(self, wanted, given))

    def pushforward(self, active: tuple[bool, ...]) -> TorchFunction:
        return self.kept(("pushforward", active), lambda: _Pushforward(self, active))

    def batched(self, flags: tuple[bool, ...]) -> TorchFunction:
        many = _batch(self._function, flags)
        return self.kept(("batched", flags), lambda: TorchFunction(many, f"a batch of {self.name}"))


class _Pullback(TorchFunction):
    """The cotangents of wanted operands, from the operands and the cotangents of given results."""

    def __init__(self, base: TorchFunction, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> None:
        super().__init__(self._pull, f"pullback of {base.name}")
        self._base = base
        self._wanted = wanted
        self._given = given

    def _pull(self, *operands_and_cts: torch.Tensor) -> Sequence[Any]:
        operands, cts = operands_and_cts[: len(self._wanted)], operands_and_cts[len(self._wanted) :]
        if is_in_transform():
            return _pulled(self._base._function, operands, self._wanted, self._given, cts)
        is_followed = torch.is_grad_enabled()
        with torch.enable_grad():
            inputs = [_leaf(x) if w else x for x, w in zip(operands, self._wanted, strict=True)]
            outs = self._base._function(*inputs)
            pairs = [
                (y, ct.to(y.dtype))
                for y, ct in zip(chosen(outs, self._given), cts, strict=True) if y.requires_grad
            ]  # fmt: skip
            sources = chosen(inputs, self._wanted)
            if not pairs:
                return (*map(torch.zeros_like, sources),)
            found = torch.autograd.grad(
                [y for y, _ in pairs], sources, [ct for _, ct in pairs], create_graph=is_followed, allow_unused=True
            )
        return (*[torch.zeros_like(x) if g is None else g for x, g in zip(sources, found, strict=True)],)

    def batched(self, flags: tuple[bool, ...]) -> TorchFunction:
        """Of a batch of the function: every example has cotangents of its own, so every operand is batched first."""
        return self.kept(("batched", flags), lambda: _Widened(
            self._base.batched((True,) * len(self._wanted)).pullback(self._wanted, self._given), flags
        ))  # fmt: skip


class _Pushforward(TorchFunction):
    """The tangents of all results, from the operands and the tangents of the active ones."""

    def __init__(self, base: TorchFunction, active: tuple[bool, ...]) -> None:
        super().__init__(self._push, f"pushforward of {base.name}")
        self._base = base
        self._active = active

    def _push(self, *operands_and_dots: torch.Tensor) -> Sequence[Any]:
        operands, dots = operands_and_dots[: len(self._active)], operands_and_dots[len(self._active) :]
        if is_in_transform():
            return _pushed(self._base._function, operands, self._active, dots)
        is_followed = torch.is_grad_enabled()
        with torch.enable_grad():
            inputs = [_leaf(x) if a else x for x, a in zip(operands, self._active, strict=True)]
            outs = self._base._function(*inputs)
            reached = [y for y in outs if y.requires_grad]
            if not reached:
                return (*map(torch.zeros_like, outs),)
            seeds = [torch.zeros_like(y, requires_grad=True) for y in reached]
            sources = chosen(inputs, self._active)
            back = torch.autograd.grad(reached, sources, seeds, create_graph=True, allow_unused=True)
            pairs = [(g, d.to(g.dtype)) for g, d in zip(back, dots, strict=True) if g is not None and g.requires_grad]
            if not pairs:
                return (*map(torch.zeros_like, outs),)
            found = iter(torch.autograd.grad(
                [g for g, _ in pairs], seeds, [d for _, d in pairs], create_graph=is_followed, allow_unused=True
            ))  # fmt: skip
        return (*[_or_zeros(next(found), y) if y.requires_grad else torch.zeros_like(y) for y in outs],)

    def batched(self, flags: tuple[bool, ...]) -> TorchFunction:
        return self.kept(("batched", flags), lambda: _Widened(
            self._base.batched((True,) * len(self._active)).pushforward(self._active), flags
        ))  # fmt: skip


def _pulled(
    function: Function, operands: Sequence[Any], wanted: Sequence[bool], given: Sequence[bool], cts: Sequence[Any]
) -> Sequence[Any]:
    """The cotangents of wanted operands, inside a transform of `torch.func`."""

    def of_wanted(*some: torch.Tensor) -> tuple[Any, ...]:
        return (*chosen(function(*filled(operands, wanted, some)), given),)

    outs, back = _vjp(of_wanted, *chosen(operands, wanted))
    return back((*[ct.to(y.dtype) for y, ct in zip(outs, cts, strict=True)],))


def _pushed(function: Function, operands: Sequence[Any], active: Sequence[bool], dots: Sequence[Any]) -> Sequence[Any]:
    """The tangents of all results, inside a transform of `torch.func`."""
    some = chosen(operands, active)
    outs = function(*operands)
    carry = (*map(is_differentiable, outs),)
    seeds = (*map(torch.zeros_like, chosen(outs, carry)),)

    def back(*cts: object) -> Any:
        return (*_pulled(function, operands, active, carry, cts),)

    _, forth = _vjp(back, *seeds)
    found = iter(forth((*[d.to(x.dtype) for d, x in zip(dots, some, strict=True)],)))
    return (*[next(found) if flag else torch.zeros_like(y) for flag, y in zip(carry, outs, strict=True)],)


class _Widened(TorchFunction):
    """A function of batches, for operands of which only the flagged ones are batches."""

    def __init__(self, whole: TorchFunction, flags: tuple[bool, ...]) -> None:
        super().__init__(self._widen, whole.name)
        self._whole = whole
        self._flags = flags

    def _widen(self, *operands: torch.Tensor) -> Sequence[Any]:
        size = next(x.shape[0] for x, flag in zip(operands, self._flags, strict=True) if flag)
        return self._whole._function(*[
            x if flag else x.expand((size, *x.shape)) for x, flag in zip(operands, self._flags, strict=True)
        ])  # fmt: skip


def _batch(function: Function, flags: tuple[bool, ...]) -> Function:
    many = torch.func.vmap(
        lambda *xs: (*function(*xs),), in_dims=(*[0 if flag else None for flag in flags],), randomness="different"
    )

    def one_by_one(*operands: torch.Tensor) -> Sequence[Any]:
        size = next(x.shape[0] for x, flag in zip(operands, flags, strict=True) if flag)
        rows = [
            function(*[x[i] if flag else x for x, flag in zip(operands, flags, strict=True)]) for i in range(size)
        ]  # fmt: skip
        return (*map(torch.stack, zip(*rows, strict=True)),)

    def batched(*operands: torch.Tensor) -> Sequence[Any]:
        try:
            return many(*operands)
        except RuntimeError:  # a value is asked for, or an operation has no batch rule
            return one_by_one(*operands)

    return batched


def _zeros(type_: TensorType) -> torch.Tensor:
    return torch.zeros((*type_.shape,), dtype=torch_dtype(type_.dtype))  # pyright: ignore[reportCallIssue, reportArgumentType]  # torch has no unknown sizes


def _plain(y: torch.Tensor) -> torch.Tensor:
    return y.detach()


def _leaf(x: torch.Tensor) -> torch.Tensor:
    """A tensor that torch differentiates with respect to: x itself where it is part of an outer derivative."""
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()


def _or_zeros(found: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(y) if found is None else found
