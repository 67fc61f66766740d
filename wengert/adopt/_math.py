"""`math` and `cmath` of adopted code: the real functions on plain numbers, recorded ones on tensors.

A concrete tensor's number goes through the real function first, whose errors (a domain, an overflow) are so the very
ones that the program expects.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from .. import numpy as wnp
from .. import ops, special
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.tensor import Tensor, tensor_in
from ..numpy._kinds import kept
from ._unbound import as_real


def _value(x: Any) -> Any:
    """The number that a concrete tensor holds, for a test that decides nothing about the gradient."""
    t = tensor_in(x)
    return x if t is None else ndarray_of(t._data)


def _one_number(x: Any, kind: type) -> Any:
    t = tensor_in(x)
    return x if t is None else kept(t, kind)


def _recorded(real: Callable[..., Any], ours: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """The real function where no tensor is among the arguments, else ours of single numbers."""

    @functools.wraps(real)
    def function(*args: object) -> Any:
        tensors = [t for t in map(tensor_in, args) if t is not None]
        if not tensors:
            return real(*args)
        if not any(t.is_symbolic for t in tensors):
            real(*[_plain(x) for x in args])
        return ours(*[_one_number(x, kind) for x in args])

    return function


def _plain(x: Any) -> Any:
    value = _value(x)
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and value.size == 1 else value


def _decided(real: Callable[..., Any], symbolic: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """What gives integers or truths: decided by the numbers, a cut."""

    @functools.wraps(real)
    def function(*args: object, **kwargs: object) -> Any:
        tensors = [t for t in map(tensor_in, args) if t is not None]
        if symbolic is not None and any(t.is_symbolic for t in tensors):
            return symbolic(*args, **kwargs)
        return real(*[x if tensor_in(x) is None else tensor_in(x).item() for x in args], **kwargs)  # pyright: ignore[reportOptionalMemberAccess]

    return function


def _folded(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of iterables: ours where they hold a tensor."""

    @functools.wraps(real)
    def function(*args: object, **kwargs: object) -> Any:
        lists = [[*a] if isinstance(a, Iterable) and not isinstance(a, str) else a for a in args]
        held = [x for a in lists for x in (a if isinstance(a, list) else [a])]
        has_tensors = any(tensor_in(x) is not None for x in [*held, *kwargs.values()])
        return (ours if has_tensors else real)(*lists, **kwargs)

    return function


# -- math ------------------------------------------------------------------------------------------------------------


def _log(x: ArrayLike, base: object = None) -> Any:
    return ops.log(x) if base is None else ops.log(x) / ops.log(base)


def _hypot(*coordinates: object) -> Any:
    return ops.abs(coordinates[0]) if len(coordinates) == 1 else functools.reduce(ops.hypot, coordinates)


def _dist(p: list[Any], q: list[Any]) -> Any:
    math.dist([0.0] * len(p), [0.0] * len(q))  # the error of points of different dimensions
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _frexp(x: Tensor) -> Any:
    exponent = math.frexp(_plain(x))[1]
    return x / 2.0**exponent, exponent


def _modf(x: ArrayLike) -> Any:
    whole = ops.trunc(x)
    return ops.copysign(x - whole, x), whole


def _prod(values: list[Any], *, start: object = 1) -> Any:
    return functools.reduce(lambda a, b: a * b, values, start)


def _sumprod(p: list[Any], q: list[Any]) -> Any:
    return sum(a * b for a, b in zip(p, q, strict=True))


_SAME = ("exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
         "copysign", "fmod", "degrees", "radians", "fabs")  # fmt: skip
_OURS: dict[str, Callable[..., Any]] = {
    **{name: getattr(wnp, name) for name in _SAME},
    "asin": wnp.arcsin, "acos": wnp.arccos, "atan": wnp.arctan, "asinh": wnp.arcsinh, "acosh": wnp.arccosh,
    "atanh": wnp.arctanh, "atan2": wnp.arctan2, "pow": wnp.power, "log": _log, "hypot": _hypot,
    "erf": special.erf, "erfc": special.erfc, "gamma": special.gamma, "lgamma": special.gammaln,
    "remainder": lambda x, y: x - ops.stop_gradient(ops.round(x / y)) * y,
    "frexp": _frexp, "modf": _modf, "ldexp": lambda x, i: x * 2.0 ** int(i),
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
_WHOLE = {"floor": wnp.floor, "ceil": wnp.ceil, "trunc": wnp.trunc}
_TRUTHS = {"isnan": wnp.isnan, "isinf": wnp.isinf, "isfinite": wnp.isfinite, "isclose": None}
_FOLDS = {"fsum": sum, "prod": _prod, "sumprod": _sumprod, "dist": _dist}


def _math() -> ModuleType:
    module = ModuleType("math", math.__doc__)
    names = dict(vars(math))
    for name, ours in _OURS.items():
        if name in names:
            names[name] = as_real(_recorded(names[name], ours, float), names[name])
    for name, ours in (_WHOLE | _TRUTHS).items():
        names[name] = as_real(_decided(names[name], ours), names[name])
    for name, ours in _FOLDS.items():
        if name in names:
            names[name] = as_real(_folded(names[name], ours), names[name])
    vars(module).update(names)
    return module


# -- cmath -----------------------------------------------------------------------------------------------------------

_COMPLEX: dict[str, Callable[..., Any]] = {
    **{name: getattr(wnp, name) for name in ("exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "asin": wnp.arcsin, "acos": wnp.arccos, "atan": wnp.arctan, "asinh": wnp.arcsinh, "acosh": wnp.arccosh,
    "atanh": wnp.arctanh, "log": _log, "phase": wnp.angle, "polar": lambda z: (ops.abs(z), wnp.angle(z)),
    "rect": lambda r, phi: wnp.real(r) * wnp.exp(1j * phi),
}  # fmt: skip


def _cmath() -> ModuleType:
    module = ModuleType("cmath", cmath.__doc__)
    names = dict(vars(cmath))
    for name, ours in _COMPLEX.items():
        names[name] = as_real(_recorded(names[name], ours, float if name == "rect" else complex), names[name])
    for name in ("isnan", "isinf", "isfinite", "isclose"):
        names[name] = as_real(_decided(names[name]), names[name])
    vars(module).update(names)
    return module


MATH, CMATH = _math(), _cmath()
