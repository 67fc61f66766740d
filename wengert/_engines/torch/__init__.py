"""The PyTorch engine: kernels on `torch.Tensor`s, on the device where they are.

Loads with the first tensor that arrives, and changes nothing of torch's global state. A native is an `Array`, which
holds a tensor and tells NumPy's dtype; programs run on the tensors themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..._control.call import Program
from ..._core.engine import PLAIN_TYPES, STAND_INS, Engine, register_engine
from . import bridge, common
from .bridge import followed_among, followed_results, is_followed, is_wrapped
from .common import Array
from .fast_path import looks, ready
from .programs import copied, device_of, form_for, on_device, table_on
from .table import KERNELS, boxed, creations, wrapped


def _tensor(x: Any) -> torch.Tensor:
    return x.tensor if type(x) is Array else x


def _to_numpy(x: Array | torch.Tensor) -> np.ndarray[Any, Any]:
    return common.to_numpy(_tensor(x))


def _enter(x: torch.Tensor) -> Array:
    if x.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {x.layout} has no place for each element: pass x.to_dense()")
    return Array(x, True)


def _is_concrete(x: Array) -> bool:
    """Whether a tensor holds values of its own: those of a batch of `torch.func.vmap` do not."""
    return not is_wrapped(_tensor(x))


def _give(native: Array) -> Any:
    """A tensor for the caller, who may write to it. What torch follows stays as it is: torch watches over it."""
    if not isinstance(native, Array):
        return native
    x = native.tensor
    if native.shared and not x.requires_grad:
        return copied(x)
    native.shared = True  # given twice, it is copied
    return x


def _place(array: np.ndarray[Any, Any], partner: Array) -> Array:
    with torch.inference_mode(False):  # which may end before the array is used again, where backward saves it
        return Array(common.from_numpy(array, partner.tensor.device))


def _host_call(function: Callable[..., Any], natives: list[Any], types: tuple[Any, ...]) -> tuple[Any, ...]:
    common.require_untraced("a function of NumPy's arrays")
    natives = [*natives]
    device = device_of([*map(_tensor, natives)])
    return (*[Array(common.from_numpy(y, device)) for y in function(*map(_to_numpy, natives))],)


def _run_plain(arrays: Sequence[Any], program: Program) -> tuple[Any, ...]:
    """The results of a program for users' arrays; torch's own where torch follows one of them."""
    tensors = on_device(arrays)
    followed = followed_among(tensors)
    if True in followed:
        return followed_results(program, tensors, followed)
    return form_for(program, tensors).run_owned(*tensors)


def _call(*natives_and_program: Any) -> tuple[Any, ...]:
    *natives, program = natives_and_program
    tensors = on_device([*map(_tensor, natives)])
    followed = followed_among(tensors)
    if True in followed:
        return (*[wrapped(y, False) for y in followed_results(program, tensors, followed)],)
    form = form_for(program, tensors)
    return (*[wrapped(y, not is_owned) for y, is_owned in zip(form.run(*tensors), form.owned, strict=True)],)


def _region(name: str) -> Any:
    """A region on its own, outside of a program."""

    def kernel(*natives_and_spec: Any) -> tuple[Any, ...]:
        *natives, spec = natives_and_spec
        tensors = on_device([*map(_tensor, natives)])
        return (*[wrapped(y, True) for y in table_on(device_of(tensors))[name](*tensors, spec)],)

    return kernel


TORCH = Engine(
    "torch", (Array,), array_types=(torch.Tensor,), to_numpy=_to_numpy,
    from_numpy=lambda array: Array(common.from_numpy(array)), device=lambda x: str(_tensor(x).device),
    is_concrete=_is_concrete, is_framework=True, has_weak_scalars=True, host_call=_host_call, enter=_enter,
    leave=_tensor, give=_give, copy=lambda x: Array(copied(_tensor(x).detach())), is_followed=is_followed,
    run_plain=_run_plain, looks=looks, ready=ready, place=_place, require_untraced=common.require_untraced,
)  # fmt: skip
TORCH.kernels.update({name: boxed(name, kernel) for name, kernel in KERNELS.items()})
TORCH.kernels["call"] = _call
TORCH.kernels.update({name: _region(name) for name in ("switch", "loop", "loop_back")})
TORCH.kernels.update({name: boxed(name, kernel) for name, kernel in creations(torch.device("cpu")).items()})
register_engine(TORCH)
STAND_INS[torch.nn.Parameter] = lambda x: x  # a tensor that a module may replace or train
PLAIN_TYPES.update({torch.Tensor: TORCH, torch.nn.Parameter: TORCH})

__all__ = ["TORCH", "bridge"]
