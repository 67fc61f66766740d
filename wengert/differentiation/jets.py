"""`jet`: the derivatives of all orders along a curve, from one run of the function."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._compile.arguments import Differentiated, require_callable
from .._compile.matching import matched
from .._control import series as _rules_of_programs
from .._control.values import Leaves
from .._core import dtypes
from .._core.caller import Owned, caller_of
from .._core.kinds import SEQUENCES
from .._core.moving import beside
from .._core.public import public
from .._core.state import recording
from .._core.structure import as_held, unflatten
from .._core.tensor import Tensor
from .._core.types import type_of
from .._core.user_line import at_user_line
from .._prims.structural import zeros_of
from .._transforms.jets import Jets, from_derivatives, to_derivatives
from ..errors import DisconnectedError
from .derivatives import checked_direction, sources_of
from .functional import unconnected_mode

__all__ = ["jet"]

assert _rules_of_programs  # imported for what it declares: series through calls, branches and loops


@public
def jet(
    f: Callable[..., Any], primals: Any, series: Any, *, unconnected_gradients: object = "error"
) -> tuple[Any, Any]:  # fmt: skip
    """f's value, and its derivatives of all orders along a curve (Taylor mode).

    The curve x(t) goes through the primals at t = 0 with the derivatives given; the result is those of f(x(t)). Where
    nested `jvp` doubles the work with every order, this takes work of the second power of the order, and memory of the
    first. It runs f once, follows Python's own branches, goes through compiled functions, branches and loops, and can
    be used inside `function` and `vmap` and under `grad`.

    Where a function is not smooth, all derivatives are those of the piece whose slope `grad` takes (`abs` at 0 has
    zeros, `maximum` of equals half of each). Where a slope is infinite, the orders above may be NaN, and so they are
    for eigenvectors and singular vectors at equal values.

    Args:
        f: takes the primals and returns an array or a nested structure of arrays.
        primals: the list or tuple of f's arguments: arrays, numbers or nested structures of them.
        series: for each primal the list of its derivatives along the curve: `series[i][k]` is the (k + 1)-th, of the
            primal's shape (not divided by a factorial). A structure has such a list in the place of each array. All
            lists are of one length, the order; None in a list stands for zeros.
        unconnected_gradients: what comes out if no float in y depends on the primals: "error" (`DisconnectedError`),
            "zero" or "none". An array in y that does not depend on them, beside one that does, has zeros.

    Returns:
        `(y, series)`: f's value, and in y's structure in the place of each array the list of its derivatives, so that
        both can be given to `jet` of another function; the list holds None for integers and bools.

    Raises:
        TypeError: f is not callable, primals or series are no lists, a primal is not floating.
        ValueError: the series differ from the primals in number or structure, a term in shape, lists in length.
        DisconnectedError: y does not depend on the primals.
        LookupError: an op has no forward derivative.

    Example:
        >>> import numpy as np, wengert as wg
        >>> y, (first, second, third) = wg.jet(np.sin, [0.0], [[1.0, 0.0, 0.0]])
        >>> y, first, second, third
        (np.float64(0.0), np.float64(1.0), np.float64(0.0), np.float64(-1.0))
        >>> wg.jet(lambda x, y: x * y, (2.0, 3.0), ([1.0, 0.0], [1.0, 0.0]))
        (np.float64(6.0), [np.float64(5.0), np.float64(2.0)])
    """
    require_callable(f, "jet")
    mode = unconnected_mode(unconnected_gradients)
    for given, name in ((primals, "primals"), (series, "series")):
        if not isinstance(given, SEQUENCES):
            raise TypeError(at_user_line(f"jet: wanted a list or tuple as {name}, got {type(given).__name__}"))
    sources = sources_of(f, primals, "jet", is_copied=False)
    lists = _lists(series, sources)
    order = len(lists[0])
    caller = caller_of((primals, series))
    recorder = Jets(order)
    with recording(recorder):
        for x, derivatives in zip((x for s in sources for x in s.tensors), lists, strict=True):
            recorder.start(x, from_derivatives(derivatives))
        result = as_held(f(*[s.argument(p) for s, p in zip(sources, primals, strict=True)]))
    y = Leaves(result, "f(x)")
    found = _derivatives(recorder, y, mode)
    own = Owned()
    return caller.result(y.value, own), caller.result(found, own)


def _lists(series: Sequence[Any], sources: Sequence[Differentiated]) -> list[list[Tensor | None]]:
    """For each tensor among the sources the list of its derivatives."""
    if len(series) != len(sources):
        raise ValueError(at_user_line(f"jet: series: wanted one for each of {len(sources)} primals, got {len(series)}"))
    lists: list[list[Tensor | None]] = []
    first = ""
    for source, given in zip(sources, series, strict=True):
        of_leaves = [given] if source.spec is None else matched(given, source.spec, "jet: series", source.name)
        for number, (place, x) in enumerate(zip(source.positions, source.tensors, strict=True)):
            path = source.path(number)
            found = _list(of_leaves[place], x, path)
            first = first or path
            if lists and len(found) != len(lists[0]):
                raise ValueError(
                    at_user_line(
                        f"jet: series: wanted lists of one length, got {len(lists[0])} derivatives of {first} and "
                        f"{len(found)} of {path}; fill up with zeros or None"
                    )
                )
            lists.append(found)
    return lists


def _list(given: Sequence[Any], x: Tensor, path: str) -> list[Tensor | None]:
    """The derivatives of one tensor."""
    what = f"jet: series: the derivatives of {path}"
    if not isinstance(given, SEQUENCES):
        raise TypeError(at_user_line(f"{what}: wanted a list of them, got {type(given).__name__}"))
    return [
        None if term is None else checked_direction(term, x, f"jet: series: derivative {k} of {path}")
        for k, term in enumerate(given, 1)
    ]


def _derivatives(recorder: Jets, y: Leaves, mode: str) -> Any:
    """The derivatives of the results, in y's structure."""
    floats = [dtypes.is_inexact(x.dtype) for x in y.tensors]
    connected = [recorder.series_of(x) is not None for x in y.tensors]
    is_connected = any(c and f for c, f in zip(connected, floats, strict=True))
    if not is_connected and mode == "error":
        raise DisconnectedError(
            at_user_line("jet: no floating-point result of f depends on its arguments by a differentiable path")
        )
    has_none = not is_connected and mode == "none"
    leaves: list[Any] = [None] * len(y.fixed)
    for place, x, is_float in zip(y.places, y.tensors, floats, strict=True):
        terms = to_derivatives(recorder.terms_of(x))
        leaves[place] = [
            None if has_none or not is_float else beside(zeros_of(type_of(x)) if t is None else t, x) for t in terms
        ]
    return unflatten(y.spec, leaves)
