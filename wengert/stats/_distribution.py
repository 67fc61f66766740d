"""What all distributions share: arguments, support, and the methods that follow from a few formulas.

A family gives formulas in the standard variable z = (x - loc) / scale and its shape parameters. The formulas see points
of the support and parameters that make a distribution, nothing else: whatever lies elsewhere is replaced before and
masked after, so that no formula meets a point where it would be NaN, in its value or in its slope.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.public import at_home
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._transforms.repeated_functions import repeated
from ..ops import promotion
from ..ops.elementwise import equal, exp, floor, isinf, isnan, less, less_equal, log, log1p, logical_and, logical_not
from ..ops.indexing import where
from ..ops.promotion import as_float, as_tensor, outward

Formula = Callable[..., Any]
INFINITY = math.inf


class Family:
    """The formulas of a distribution.

    Attributes:
        name: SciPy's name.
        shapes: the names of the shape parameters, each with a value that makes a distribution.
        is_valid: whether shape parameters make a distribution.
        support: the ends (low, high) of the standard support, from the shape parameters.
        middle: a point inside of the support, from the shape parameters.
        formulas: what is known in closed form, by the name of the method: functions of z (q for `ppf`) and the shape
            parameters, of the standard distribution.
        has_low: whether the lower end, where it is finite, belongs to the support.
        is_discrete: whether z is a whole number; then there is no scale.
        doc: what the distribution is, in a few words.
    """

    def __init__(
        self, name: str, shapes: dict[str, float], is_valid: Formula, support: Formula, middle: Formula,
        formulas: dict[str, Formula], has_low: bool = True, is_discrete: bool = False, doc: str = "",
    ) -> None:  # fmt: skip
        self.name, self.shapes, self.is_valid = name, shapes, is_valid
        self.support, self.middle, self.formulas = support, middle, formulas
        self.has_low, self.is_discrete, self.doc = has_low, is_discrete, doc
        self.places = ("loc",) if is_discrete else ("loc", "scale")


# -- arguments -----------------------------------------------------------------------------------------------------


def met(values: tuple[Any, ...], what: str) -> list[Tensor]:
    """Values as floats of one dtype and shape."""
    tensors = [as_tensor(v, what) for v in values]
    for value, t in zip(values, tensors):
        if dtypes.is_complex(t.dtype):
            raise TypeError(at_user_line(f"{what}: wanted real numbers, got {value!r:.60}"))
    dtype = promotion.common_dtype(tensors)
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.default_float()
    shape = tuple(tensors[0].shape)
    for t in tensors[1:]:
        shape = promotion.broadcast_shapes(shape, tuple(t.shape), what)
    return [promotion.broadcast(promotion.cast(as_float(t), dtype), shape) for t in tensors]


class _Point:
    """A place in standard form beside parameters that are safe, and what was the case before they were made so."""

    def __init__(self, z: Tensor, shapes: list[Tensor], scale: Tensor, is_valid: Tensor) -> None:
        self.z, self.shapes, self.scale, self.is_valid = z, shapes, scale, is_valid

    def given(self, value: Tensor) -> Any:
        """A value where the parameters make a distribution, else NaN."""
        return where(self.is_valid, value, math.nan)


def _point(family: Family, x: ArrayLike, parameters: tuple[Any, ...], what: str) -> _Point:
    values = parameters if not family.is_discrete else (*parameters, 1.0)
    place, *shapes, loc, scale = met((x, *values), what)
    is_valid = logical_and(less(0.0, scale), _all(family.is_valid(*shapes), scale))
    # parameters that make none are replaced, so that no NaN of theirs comes into a slope
    shapes = [where(is_valid, s, safe) for s, safe in zip(shapes, family.shapes.values())]
    scale = where(is_valid, scale, 1.0)
    z = place - loc if family.is_discrete else (place - loc) / scale
    return _Point(z, shapes, scale, is_valid & logical_not(isnan(z)))


def _all(condition: ArrayLike, like: Tensor) -> Any:
    return equal(like, like) if condition is True else condition


def _inside(family: Family, point: _Point) -> Tensor:
    low, high = family.support(*point.shapes)
    below = (less if _is_infinite(high) else less_equal)(point.z, high)
    inside = logical_and(logical_and(_above(family, low, point.z), below), point.is_valid)
    return logical_and(inside, equal(point.z, floor(point.z))) if family.is_discrete else inside


def _is_infinite(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


def _above(family: Family, low: Any, z: Tensor) -> Any:
    """Whether a place is not below the support; no end at infinity belongs to it, where formulas would be NaN."""
    return less_equal(low, z) if family.has_low and not _is_infinite(low) else less(low, z)


# -- methods -------------------------------------------------------------------------------------------------------


def _density(family: Family, point: _Point, name: str) -> Any:
    """The density, or its logarithm."""
    inside = _inside(family, point)
    place = floor(point.z) if family.is_discrete else point.z  # counts are whole; floor has gradient 0
    z = where(inside, place, family.middle(*point.shapes))
    formulas, is_log = family.formulas, name.startswith("log")
    if is_log:
        value = formulas["logpdf"](z, *point.shapes)
        value = value if family.is_discrete else value - log(point.scale)
    elif "pdf" in formulas:
        value = formulas["pdf"](z, *point.shapes) / point.scale
    else:
        value = exp(formulas["logpdf"](z, *point.shapes)) / point.scale
    return point.given(where(inside, value, -INFINITY if is_log else 0.0))


def _mass(family: Family, point: _Point, name: str) -> Any:
    """The mass below z (`cdf`) or above it (`sf`)."""
    low, high = family.support(*point.shapes)
    place = floor(point.z) if family.is_discrete else point.z
    inside = logical_and(logical_and(_above(family, low, place), less(place, high)), point.is_valid)
    z = where(inside, place, family.middle(*point.shapes))
    is_low = less_equal(high, place)  # all of the mass lies below
    full, none = (1.0, 0.0) if name == "cdf" else (0.0, 1.0)
    return point.given(where(inside, _known_mass(family, z, point.shapes, name), where(is_low, full, none)))


def _known_mass(family: Family, z: Tensor, shapes: list[Tensor], name: str) -> Any:
    if name in family.formulas:
        return family.formulas[name](z, *shapes)
    return 1.0 - family.formulas["sf" if name == "cdf" else "cdf"](z, *shapes)


def _log_mass(family: Family, point: _Point, name: str) -> Any:
    """The logarithm of a mass; where it is more than a half, by the mass on the other side."""
    short = name.removeprefix("log")
    if name in family.formulas:
        low, high = family.support(*point.shapes)
        inside = logical_and(logical_and(_above(family, low, point.z), less(point.z, high)), point.is_valid)
        z = where(inside, point.z, family.middle(*point.shapes))
        is_low = less_equal(high, point.z)
        full, none = (0.0, -INFINITY) if short == "cdf" else (-INFINITY, 0.0)
        return point.given(where(inside, family.formulas[name](z, *point.shapes), where(is_low, full, none)))
    mass = _mass(family, point, short)
    other = _mass(family, point, "sf" if short == "cdf" else "cdf")
    is_small = less(mass, 0.5)
    is_none = less_equal(mass, 0.0)
    near = log(where(logical_and(is_small, logical_not(is_none)), mass, 1.0))
    far = log1p(-where(is_small, 0.0, other))
    return where(is_none, -INFINITY, where(is_small, near, far))


def _quantile(family: Family, point: _Point, loc: Tensor, name: str) -> Any:
    """The point with a share q of the mass below it (`ppf`) or above it (`isf`)."""
    q = point.z
    low, high = family.support(*point.shapes)
    inside = logical_and(logical_and(less(0.0, q), less(q, 1.0)), point.is_valid)
    share = where(inside, q, 0.5)
    value = family.formulas[name](share, *point.shapes)
    low = low - 1.0 if family.is_discrete else low  # no count at all is needed for no mass
    lowest, highest = (low, high) if name == "ppf" else (high, low)
    ends = where(equal(q, 0.0), lowest, where(equal(q, 1.0), highest, math.nan))
    found = where(inside, value, ends)
    is_far = isinf(found)  # an infinite end stays where it is, whatever the scale
    return point.given(where(is_far, found, where(is_far, 0.0, found) * point.scale + loc))


_CALLS: dict[str, Callable[[Family, _Point, str], Any]] = {
    "logpdf": _density, "pdf": _density, "cdf": _mass, "sf": _mass, "logcdf": _log_mass, "logsf": _log_mass,
}  # fmt: skip

_WORDS = {
    "logpdf": "The logarithm of the density",
    "pdf": "The density",
    "logpmf": "The logarithm of the probability",
    "pmf": "The probability",
    "cdf": "The distribution function: the mass up to x",
    "sf": "The survival function: the mass beyond x",
    "logcdf": "The logarithm of the distribution function",
    "logsf": "The logarithm of the survival function",
    "ppf": "The quantile: the point up to which a share q of the mass lies",
    "isf": "The point beyond which a share q of the mass lies",
}

# arguments that are tensors at once
_EVERYDAY = frozenset((Tensor, np.ndarray, float, int))

_ARGUMENTS = {
    "x": "the points, an array or a number.",
    "k": "the counts, an array or a number; a value that is not whole has no probability.",
    "q": "the shares, from 0 to 1.",
    "loc": "what the distribution is moved by.",
    "scale": "what it is stretched by, positive.",
}


class Distribution:
    """A distribution with SciPy's methods; each takes the points, the shape parameters, `loc` and `scale`.

    The methods are functions of arrays, tensors and numbers whose shapes broadcast, with gradients in the points and in
    every parameter (a count has none). Called with parameters alone the distribution gives a `Frozen` one.

    Example:
        >>> import wengert as wg
        >>> wg.stats.norm.logpdf([0.0, 1.0], loc=1.0, scale=2.0).round(6)
        array([-1.737086, -1.612086])
        >>> float(wg.grad(lambda s: wg.stats.norm.logpdf(1.0, scale=s))(2.0))
        -0.375
    """

    def __init__(self, family: Family) -> None:
        self.name = family.name
        self.__doc__ = f"{family.doc[:1].upper()}{family.doc[1:]}, with the methods of `wg.stats.Distribution`."
        self._family = family
        names = ["logpmf", "pmf"] if family.is_discrete else ["logpdf", "pdf"]
        if "cdf" in family.formulas or "sf" in family.formulas:
            names += ["cdf", "sf", "logcdf", "logsf"]
        names += [n for n in ("ppf", "isf") if n in family.formulas]
        self.methods = (*names,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.methods:
            raise AttributeError(f"{self!r} has no method {name!r}")
        method = _method(self._family, name)  # made when it is asked for, to keep the import short
        setattr(self, name, method)
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.methods]

    def __repr__(self) -> str:
        return f"wg.stats.{self.name}"

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def __call__(self, *args: object, **kwargs: object) -> Frozen:
        """The distribution with its parameters given."""
        return Frozen(self, args, kwargs)


def _named(name: str) -> Any:
    return getattr(sys.modules[__name__.rpartition(".")[0]], name)


class Frozen:
    """A distribution whose parameters are given: its methods take the points alone.

    Example:
        >>> import wengert as wg
        >>> float(wg.stats.gamma(2.0, scale=3.0).cdf(0.0))
        0.0
    """

    def __init__(self, distribution: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.distribution, self.args, self.kwargs = distribution, args, kwargs

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.distribution!r}({', '.join(given)})"

    def _repr_html_(self) -> str:
        make: Any = importlib.import_module("wengert.inspect.notebook").of_distribution
        return make(self)

    def __getattr__(self, name: str) -> Formula:
        if name.startswith("_") or name == "distribution":  # which a copy does not have yet
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        if name not in self.distribution.methods:
            raise AttributeError(f"{self.distribution!r} has no method {name!r}")
        method = getattr(self.distribution, name)
        return functools.partial(_at_points, method, self.args, self.kwargs)


def _at_points(method: Formula, args: tuple[Any, ...], kwargs: dict[str, Any], x: ArrayLike) -> Any:
    return method(x, *args, **kwargs)


def at_once(f: Callable[..., Any], given: Sequence[Any], what: str) -> Any:
    """What a function that applies primitives gives of arrays and numbers, run at once where it comes again."""
    return outward(repeated(f, [as_tensor(x, what) for x in given]), *given)


def _method(family: Family, name: str) -> Formula:
    first = "q" if name in ("ppf", "isf") else "k" if family.is_discrete else "x"
    places = dict.fromkeys(family.shapes, inspect.Parameter.empty) | dict(zip(family.places, (0, 1)))
    names = (first, *places)
    what = f"stats.{family.name}.{name}"

    def called(x: ArrayLike, *parameters: ArrayLike) -> Any:
        return _called(family, name, x, [*parameters], what)

    def method(*args: object, **kwargs: object) -> Any:
        given = _given(names, places, args, kwargs, what)
        if _EVERYDAY.issuperset(map(type, given)):
            return at_once(called, given, what)
        return outward(called(*given), *given)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    method.__signature__ = inspect.Signature(
        [inspect.Parameter(n, kind, default=places.get(n, inspect.Parameter.empty)) for n in names]
    )
    method.__name__ = name
    at_home(method, "wengert.stats", f"{family.name}.{name}")
    lines = [f"    {n}: {_ARGUMENTS.get(n, 'a shape parameter.')}" for n in names]
    method.__doc__ = (
        f"{_WORDS[name]} of {family.doc}.\n\nArgs:\n" + "\n".join(lines)
        + "\n\nReturns:\n    The values in the kind of array that came in."
    )  # fmt: skip
    return method


def _given(
    names: tuple[str, ...], places: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str
) -> list[Any]:
    """The arguments in their order."""
    if len(args) > len(names):
        raise TypeError(at_user_line(f"{what}: takes {len(names)} arguments, got {len(args)}"))
    values = dict(zip(names, args))
    for key, value in kwargs.items():
        if key not in names or key in values:
            raise TypeError(at_user_line(f"{what}: got {'two values for' if key in names else 'an unknown'} {key!r}"))
        values[key] = value
    result = [values.get(n, places.get(n, inspect.Parameter.empty)) for n in names]
    lacking = [n for n, v in zip(names, result) if v is inspect.Parameter.empty]
    if lacking:
        raise TypeError(at_user_line(f"{what}: wanted {', '.join(lacking)}"))
    return result


def _called(family: Family, name: str, x: ArrayLike, parameters: list[Any], what: str) -> Any:
    name = {"logpmf": "logpdf", "pmf": "pdf"}.get(name, name)
    if name in _CALLS:
        return _CALLS[name](family, _point(family, x, (*parameters,), what), name)
    q, *shapes, loc = met((x, *parameters) if family.is_discrete else (x, *parameters[:-1]), what)
    # a count has no scale
    place = (0.0,) if family.is_discrete else (0.0, parameters[-1])
    point = _point(family, q, (*shapes, *place), what)
    # a share is no point: it is not scaled
    return _quantile(family, _Point(q, point.shapes, point.scale, point.is_valid), loc, name)


__all__ = ["INFINITY", "Distribution", "Family", "Formula", "Frozen", "met"]
