"""`np.poly1d` with recorded functions below it: NumPy's own methods, which find them in the place of NumPy's.

A polynomial may hold a tensor as its coefficients, or be made from a list that holds tensors. Made from plain numbers
it is NumPy's in all it does. A trace does not know which coefficients are zero: there those in front stay, and the
order is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from . import _polynomials
from ._objects import tensor_among
from ._shapes import atleast_1d


class _Kind(type):
    """The metaclass, by which NumPy's polynomials are instances, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.poly1d) if cls is poly1d else super().__instancecheck__(instance)


class poly1d(np.poly1d, metaclass=_Kind):
    """A polynomial by its coefficients from the highest power down, as NumPy's class of that name.

    Args:
        c_or_r: the coefficients, or the roots: an array, a tensor or a list that may hold tensors.
        r: whether they are the roots.
        variable: the name of the variable in print.

    Example:
        >>> import wengert as wg
        >>> import wengert.numpy as np
        >>> float(wg.grad(lambda a: np.poly1d([a, 1.0, 0.0])(3.0))(2.0))
        9.0
    """

    @property
    def order(self) -> int:
        """The degree."""
        coefficients: Any = self.coeffs
        if isinstance(coefficients, Tensor):
            coefficients._require_concrete("np.poly1d.order")
        return len(coefficients) - 1

    o = order

    def __array_function__(
        self, func: Callable[..., Any], types: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Any:
        ours = _OURS.get(func.__name__)
        if ours is not None:
            return ours(*args, **kwargs)
        return func(*[a.coeffs if isinstance(a, np.poly1d) else a for a in args], **kwargs)


def is_number(element: object) -> bool:
    """`np.isscalar`, for which a tensor of no axes is a number."""
    return not element.ndim if isinstance(element, Tensor) else bool(np.isscalar(element))


def _atleast_1d(coefficients: ArrayLike) -> Any:
    return atleast_1d(coefficients) if tensor_among(coefficients) else np.array(coefficients, ndmin=1, copy=None)


def _trim_zeros(filt: np.ndarray[Any, Any] | Tensor, trim: Literal["f", "b", "fb"]) -> Any:
    return _polynomials.trimmed(filt) if isinstance(filt, Tensor) else np.trim_zeros(filt, trim)


_OURS: dict[str, Callable[..., Any]] = {name: getattr(_polynomials, name) for name in _polynomials.__all__}
_NAMES = {
    **np.poly1d.__call__.__globals__, **_OURS, "atleast_1d": _atleast_1d, "isscalar": is_number, "poly1d": poly1d,
    "trim_zeros": _trim_zeros,
}  # fmt: skip


def _anew(member: object) -> Any:
    """A method or property with our names below it."""
    if isinstance(member, property):
        return property(*[_anew(f) for f in (member.fget, member.fset)], doc=member.__doc__)
    if not isinstance(member, FunctionType):
        return member
    return FunctionType(member.__code__, _NAMES, member.__name__, member.__defaults__, member.__closure__)


for _name, _member in vars(np.poly1d).items():
    if isinstance(_member, (FunctionType, property)) and _name not in vars(poly1d):
        setattr(poly1d, _name, _anew(_member))

__all__ = ["is_number", "poly1d"]
