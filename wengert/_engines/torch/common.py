"""Helpers of this engine's files: dtypes on both sides, `Array` (the native of this engine), half floats, and kernels
that run on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from ..._core import dtypes
from ..._core.engine import default_engine
from ..._core.user_line import at_user_line
from ...errors import TracingError

Kernel = Callable[..., Any]

_BY_NAME: dict[str, torch.dtype] = {
    "bool": torch.bool, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
    "uint8": torch.uint8, "uint16": torch.uint16, "uint32": torch.uint32, "uint64": torch.uint64,
    "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64,
    "complex64": torch.complex64, "complex128": torch.complex128,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _BY_NAME.items()}
_TORCH_OF: dict[Any, torch.dtype] = {np.dtype(n): kind for n, kind in _BY_NAME.items() if n != "bfloat16"}
_NUMPY_OF: dict[torch.dtype, np.dtype[Any]] = {kind: dtype for dtype, kind in _TORCH_OF.items()}

HALF = frozenset({torch.float16, torch.bfloat16})
# integers that torch can hold and hardly compute with
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
WIDE_UNSIGNED = frozenset(_SIGNED)
WIDE_UNSIGNED_NAMES = frozenset(_NAMES[kind] for kind in _SIGNED)
INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}) | WIDE_UNSIGNED


def by_dtype(kernel: Callable[..., Any], place: int, choose: Callable[[np.dtype[Any]], Kernel | None]) -> Kernel:
    """A kernel that looks at the dtype of an operand; a program, which knows that, may run another one in its place.

    Args:
        kernel: the kernel.
        place: of the operand.
        choose: the other one for operands of a dtype; None where there is none.
    """
    told: Any = kernel
    told.of_dtype = place, choose  # read by `kernel_of`
    return kernel


def by_signed_bits(inner: Callable[..., Any], place: int) -> Any:
    """A kernel for integers without a sign, run on the same bits with one: CUDA lacks some kernels of the former.

    Args:
        place: of the operand whose dtype the result has.
    """

    def kernel(*operands: torch.Tensor) -> torch.Tensor:
        dtype = operands[place].dtype
        signed = _SIGNED.get(dtype)
        if signed is None:
            return inner(*operands)
        return inner(*[x.view(signed) if x.dtype is dtype else x for x in operands]).view(dtype)

    return by_dtype(kernel, place, lambda dtype: None if dtype.name in WIDE_UNSIGNED_NAMES else inner)


# whose memory a kernel's result may lie in: of no operand, of the first one (a view of it, or the operand), of any
Shares = Literal["", "first", "any"]


class Entry(NamedTuple):
    """A kernel in a table, where more is to be said of it than that it is one.

    Attributes:
        kernel: the kernel.
        shares: whose memory its result may lie in, since nothing that a caller gets may share memory.
        of_unsigned: the kernel for integers of 16, 32 and 64 bits without a sign; by default they are made wider.
    """

    kernel: Kernel
    shares: Shares = ""
    of_unsigned: Kernel | None = None


TableKernel = Kernel | Entry


def view(kernel: Kernel) -> Entry:
    """A kernel that may give a view of its first operand, or the operand itself."""
    return Entry(kernel, "first")


def of_unsigned(kernel: Kernel, shares: Shares = "") -> Entry:
    """A kernel that takes wide integers without a sign as it takes others."""
    return Entry(kernel, shares, kernel)


def by_bits(kernel: Kernel, shares: Shares = "") -> Entry:
    """A kernel that looks at bits alone, or moves them."""
    return Entry(kernel, shares, by_signed_bits(kernel, 0))


def torch_dtype(dtype: Any) -> torch.dtype:
    """torch's dtype for NumPy's (or for torch's own)."""
    found = _TORCH_OF.get(dtype)
    if found is None:
        found = dtype if isinstance(dtype, torch.dtype) else _BY_NAME[dtype.name]
        _TORCH_OF[dtype] = found
    return found


def numpy_dtype(kind: torch.dtype) -> np.dtype[Any]:
    """NumPy's dtype for torch's; what no array of ours can hold (float8, quantised numbers) is an object."""
    found = _NUMPY_OF.get(kind)
    if found is None:
        name = _NAMES.get(kind)
        found = np.dtype(object) if name is None else dtypes.bfloat16()
        _NUMPY_OF[kind] = found
    return found


class Array:
    """A native: a torch tensor, with the shape and the dtype that the core reads.

    Attributes:
        tensor: the tensor.
        shared: whether others may hold memory of it: a caller gets a copy.
    """

    __slots__ = ("shared", "tensor")

    def __init__(self, tensor: torch.Tensor, shared: bool = False) -> None:
        self.tensor = tensor
        self.shared = shared

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return _NUMPY_OF.get(self.tensor.dtype) or numpy_dtype(self.tensor.dtype)

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def size(self) -> int:
        return self.tensor.numel()

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    @property
    def itemsize(self) -> int:
        return self.tensor.element_size()

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __len__(self) -> int:
        return len(self.tensor)

    def __repr__(self) -> str:
        return f"Array({self.tensor!r})"


def to_numpy(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor; those on the CPU are shared, not copied."""
    while _is_functional(x):  # of `torch.func.functionalize`: its own memory holds no elements
        torch._sync(x)  # pyright: ignore[reportPrivateImportUsage]
        x = torch._from_functional_tensor(x)  # pyright: ignore[reportPrivateImportUsage]
    x = x.detach()
    if x.device.type != "cpu":
        x = x.cpu()
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(dtypes.bfloat16())
    return x.resolve_conj().resolve_neg().numpy()


def from_numpy(array: np.generic | np.ndarray[Any, Any], device: str | torch.device = "cpu") -> torch.Tensor:
    """A tensor of its own with the elements of an ndarray."""
    array = np.asarray(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(array.view(np.int16))).view(torch.bfloat16).to(device)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return torch.from_numpy(np.array(array)).to(device)


def widened(x: Any) -> Any:
    """A half float tensor in float32; anything else as it is."""
    return x.float() if isinstance(x, torch.Tensor) and x.dtype in HALF else x


def in_float32(function: Kernel) -> Kernel:
    """A kernel that computes half floats in float32 and rounds once, at the end."""

    def kernel(x: Any, *rest: Any) -> Any:
        if x.dtype not in HALF:
            return function(x, *rest)
        return _narrowed(function(x.float(), *map(widened, rest)), x.dtype)

    return by_dtype(kernel, 0, lambda dtype: None if dtypes.is_half(dtype) else function)


def _narrowed(result: torch.Tensor | tuple[torch.Tensor, ...], dtype: torch.dtype) -> Any:
    if isinstance(result, tuple):
        return (*[_narrowed(r, dtype) for r in result],)
    return result.to(dtype) if result.dtype is torch.float32 else result


def is_traced() -> bool:
    """Whether torch records what runs, or runs it without values: nothing that it makes may be kept then."""
    # torch has no public word for these
    if torch._C._get_tracing_state() is not None:
        return True
    return bool(torch._C._len_torch_dispatch_stack()) and any(  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs
        torch._C._get_dispatch_mode(mode) is not None for mode in _RECORDING
    )


def has_values(*xs: torch.Tensor) -> bool:
    """Whether tensors hold values that kernels may look at: those of torch's traces and transforms do not."""
    return not (is_traced() or torch.compiler.is_compiling() or any(map(_is_wrapped, xs)))


_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


def require_untraced(what: str) -> None:
    """Raises where torch records what runs: what something else computes would be a constant of its graph."""
    if not is_traced():
        return
    raise TracingError(
        at_user_line(
            f"{what} does not run on torch, and torch.jit.trace and make_fx would keep what it gives for these tensors "
            "as a constant; call it outside of what is traced"
        )
    )


_is_functional: Any = torch._is_functional_tensor  # pyright: ignore[reportPrivateImportUsage]
# torch.export records where the first of them is not told of, and always without values
_RECORDING = (torch._C._TorchDispatchModeKey.PROXY, torch._C._TorchDispatchModeKey.FAKE)


def on_host(name: str) -> Kernel:
    """NumPy's kernel of a primitive, for those that torch has no functions for."""

    def kernel(*operands_and_attrs: object) -> Any:
        require_untraced(name)
        device = next((x.device for x in operands_and_attrs if isinstance(x, torch.Tensor)), "cpu")
        given = [to_numpy(x) if isinstance(x, torch.Tensor) else x for x in operands_and_attrs]
        with np.errstate(all="ignore"):
            found = default_engine().kernels[name](*given)
        if isinstance(found, tuple):
            return (*[from_numpy(x, device) for x in found],)
        return from_numpy(found, device)

    kernel.is_on_host = True  # read by `support_of`
    return kernel
