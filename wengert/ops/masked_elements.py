"""`Chosen`: the result of `x[mask]` in a trace, where the number of elements is known at run time only.

It is computed on over the whole array. Where the mask is false stands 1, so that little is out of a function's domain
there, and what comes of it is dropped at the end. So all that treats each element by itself works, sums and the like,
and writing back into `x[mask]`. For anything else there is no array, and an error says so. Made by `sharing.py`
and `writes.py` of `memory/`.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._core.argument_types import ArrayLike, Axes, Index
from .._core.graph import Graph, Node, open_graph, quietly
from .._core.op import Op, batch_elementwise
from .._core.recorder import Recorder
from .._core.state import recording
from .._core.tensor import Tensor, Value, held_now
from .._core.types import TensorType, same_dim
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic
from .._passes.cse import attribute_identity
from .._prims import structural as S
from ..errors import TracingError
from . import promotion
from .indexing import where
from .shapes import reshaped
from .subscript import is_known

Function = Callable[..., Any]

# -- where they lie ------------------------------------------------------------------------------------------------


def is_unknown_mask(item: object) -> bool:
    """Whether an entry of an index is a mask whose elements are not known."""
    return isinstance(item, Tensor) and item.dtype.kind == "b" and not is_known(held_now(item))


def has_unknown_mask(index: Index) -> bool:
    """Whether there is such a mask among the entries of an index."""
    return any(map(is_unknown_mask, index if isinstance(index, tuple) else (index,)))


class Spot(NamedTuple):
    """What an index with one such mask addresses: a view of the tensor, and the mask over some of its axes."""

    view: Tensor
    mask: Tensor
    axis: int  # the first of those

    @property
    def rest(self) -> tuple[Any, ...]:
        """The extents behind the mask's."""
        return self.view.shape[self.axis + self.mask.ndim :]

    @property
    def wide(self) -> Tensor:
        """The mask as it broadcasts beside the view."""
        return reshaped(self.mask, (*self.mask.shape, *(1,) * len(self.rest)))

    def chosen(self) -> Chosen:
        """The elements that the mask chooses."""
        filled = promotion.as_tensor(where(self.wide, self.view, np.ones((), self.view.dtype)))
        row = reshaped(filled, (*filled.shape[: self.axis], self.mask.size, *self.rest))
        return Chosen(row, reshaped(self.mask, (self.mask.size,)), self.axis)

    def beside(self, value: ArrayLike | Chosen, what: str) -> Any:
        """What is to be written over the chosen elements, as it broadcasts beside the view."""
        if isinstance(value, Chosen):
            value.require_mask(reshaped(self.mask, (self.mask.size,)), what)
            shape, place = value.whole.shape, value.axis
            return reshaped(value.whole, (*shape[:place], *self.mask.shape, *shape[place + 1 :]))
        given = promotion.as_tensor(value, what)
        place = given.ndim - len(self.rest) - 1
        if place < 0:
            return value
        if given.shape[place] != 1:
            raise TracingError(
                at_user_line(
                    f"{what}: a value of shape {given.shape} has one entry for each element that a mask of shape "
                    f"{self.mask.shape} chooses, and how many these are is not known while tracing; give one value "
                    f"for all, what was computed from x[mask], or use wg.where(mask, value, x)"
                )
            )
        return reshaped(given, (*given.shape[:place], *(1,) * self.mask.ndim, *given.shape[place + 1 :]))


def spot_of(x: Tensor, index: Index, what: str) -> Spot:
    """Where `x[index]` lies, for an index with an unknown mask."""
    items = [held_now(i) for i in index] if isinstance(index, tuple) else [held_now(index)]
    at, *more = [i for i, item in enumerate(items) if is_unknown_mask(item)]
    mask: Any = items[at]
    if more or not all(_is_plain(item) for i, item in enumerate(items) if i != at):
        _refuse_index(what)
    items = _without_ellipsis(items, x.ndim - mask.ndim)
    at = next(i for i, item in enumerate(items) if item is mask)
    if not _are_together([item is mask or type(item) is int for item in items]):
        _refuse_index(what)
    axis = sum(type(item) is not int for item in items[:at])
    items[at : at + 1] = [slice(None)] * mask.ndim or [None]  # a lone truth makes an axis
    view: Tensor = x[(*items,)] if any(item != slice(None) for item in items) else x
    mask = mask if mask.ndim else reshaped(mask, (1,))
    if view.ndim < axis + mask.ndim or not all(map(same_dim, view.shape[axis : axis + mask.ndim], mask.shape)):
        raise IndexError(
            at_user_line(f"{what}: a boolean index of shape {mask.shape} does not fit an x of shape {x.shape}")
        )
    return Spot(view, mask, axis)


def _is_plain(item: object) -> bool:
    return item is None or item is Ellipsis or type(item) in (int, slice)


def _refuse_index(what: str) -> NoReturn:
    raise TracingError(
        at_user_line(
            f"{what}: a mask that is not known while tracing can stand beside slices, and beside integers next to it; "
            f"use wg.where(mask, x, other), or index in two steps"
        )
    )


def _without_ellipsis(items: list[Any], others: int) -> list[Any]:
    """The entries with full slices in the place of an ellipsis; `others` axes are not the mask's."""
    taken = sum(type(item) in (int, slice) for item in items)
    for i, item in enumerate(items):
        if item is Ellipsis:
            return [*items[:i], *[slice(None)] * (others - taken), *items[i + 1 :]]
    return items


def _are_together(marks: list[bool]) -> bool:
    first, last = marks.index(True), len(marks) - 1 - marks[::-1].index(True)
    return all(marks[first : last + 1])


# -- what they are -------------------------------------------------------------------------------------------------


class Chosen:
    """The elements of an array that a mask chooses, in one row along an axis whose extent is not known.

    Attributes:
        whole: the array, with one axis for the mask's; where the mask is false it holds nothing of meaning.
        mask: the mask, in one row.
        axis: the axis of the row.
    """

    __slots__ = ("axis", "mask", "whole")
    __hash__ = object.__hash__

    def __init__(self, whole: Tensor, mask: Tensor, axis: int) -> None:
        self.whole = whole
        self.mask = mask
        self.axis = axis

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type."""
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.whole.ndim

    @property
    def size(self) -> Any:
        """The number of elements: a tensor, as a program computes it."""
        shape: tuple[Any, ...] = self.whole.shape
        others = [n for axis, n in enumerate(shape) if axis != self.axis]
        return self.mask.sum() * int(np.prod(others, dtype=int))

    @property
    def wide(self) -> Tensor:
        """The mask as it broadcasts beside the whole."""
        return reshaped(self.mask, (*self.mask.shape, *(1,) * (self.ndim - self.axis - 1)))

    def require_mask(self, mask: Tensor, what: str) -> None:
        """Refuses another mask than this one's: whether it chooses as many elements is known at run time only."""
        if not _is_same(self.mask, mask):
            raise TracingError(
                at_user_line(
                    f"{what}: elements chosen by two masks meet, and whether they are as many is not known while "
                    f"tracing; use one mask for both, or wg.where"
                )
            )

    def _told(self, name: str) -> str:
        return at_user_line(
            f"{name}: how many elements are chosen by a symbolic mask of shape {self.mask.shape} is not known while "
            f"tracing; functions of each element, sums, means and extrema take x[mask], and x[mask] = ... writes it "
            f"back; for anything else use wg.where(mask, x, other), or a mask of known values"
        )

    def refuse(self, name: str) -> NoReturn:
        """Raises the error of what cannot be done with them."""
        raise TracingError(self._told(name))

    def __wengert_tensor__(self) -> Tensor:
        told = self._told("x[mask]")
        raise UnknownCountError(told, functools.partial(_answered, told))

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        self.refuse("np.asarray(x[mask])")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        if method == "reduce" and ufunc in _FOLDS:
            return _reduced(_FOLDS[ufunc], inputs, {"axis": 0, **kwargs})
        return over_all(getattr(ufunc, method), inputs, kwargs, ufunc.__name__ if method == "__call__" else method)

    def __array_function__(self, func: Function, types: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return over_all(func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else getattr(Tensor, name, None)
        if found is None:
            raise AttributeError(f"x[mask] has no attribute {name!r}")
        if isinstance(found, property):
            return over_all(found.fget, (self,), {}, name)  # pyright: ignore[reportArgumentType]
        return lambda *args, **kwargs: over_all(found, (self, *args), kwargs, name)

    @property
    def shape(self) -> NoReturn:
        """Refused: it is known at run time only."""
        self.refuse("x[mask].shape")

    def __len__(self) -> int:
        self.refuse("len(x[mask])")

    def __iter__(self) -> Iterator[Any]:
        self.refuse("iteration over x[mask]")

    def __bool__(self) -> bool:
        self.refuse("the truth of x[mask]")

    def __repr__(self) -> str:
        return f"Chosen(<symbolic>, dtype={self.dtype.name})"

    def __copy__(self) -> Chosen:
        return Chosen(self.whole.copy(), self.mask, self.axis)

    copy = __copy__

    def __getitem__(self, index: Any) -> Chosen:
        if isinstance(index, Chosen) and index.dtype.kind == "b" and index.ndim == self.ndim - self.axis == 1:
            index.require_mask(self.mask, "x[mask][...]")
            return Spot(self.whole, self.mask & index.whole, self.axis).chosen()
        items, axis = self._beside_row(index)
        return Chosen(self.whole[items].copy(), self.mask, axis)

    def __setitem__(self, index: Any, value: ArrayLike | Chosen) -> None:
        if isinstance(index, Chosen) and index.dtype.kind == "b":
            kept = over_all(where, (index, value, self), {}, "where")
            self.whole[...] = kept.whole
            return
        items, axis = self._beside_row(index)
        part = Chosen(self.whole[items], self.mask, axis)
        part.whole[...] = over_all(where, (True, value, part), {}, "where").whole

    def _beside_row(self, index: Any) -> tuple[tuple[Any, ...], int]:
        """An index that takes the row as it is, for the whole, and where the row's axis goes by it."""
        items = [*index] if isinstance(index, tuple) else [index]
        items = _without_ellipsis(items, self.ndim)
        axes = [i for i, item in enumerate(items) if item is not None]
        if not all(map(_is_plain, items)) or (len(axes) > self.axis and items[axes[self.axis]] != slice(None)):
            self.refuse("x[mask][...]")
        end = axes[self.axis] if len(axes) > self.axis else len(items)
        before = sum(type(item) is not int for item in items[:end])
        return (*items,), before + max(self.axis - len(axes), 0)


def _operator(f: Function, swapped: bool = False) -> Function:
    name = f.__name__
    if swapped:
        return lambda self, other: over_all(lambda x, y: f(y, x), (self, other), {}, name)
    return lambda self, *others: over_all(f, (self, *others), {}, name)


def _in_place(f: Function) -> Function:
    def method(self: Chosen, other: ArrayLike | Chosen) -> Chosen:
        over_all(f, (self, other), {}, f.__name__)  # writes to the whole
        return self

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _f = getattr(operator, f"__{_name}__")
    setattr(Chosen, f"__{_name}__", _operator(_f))
    setattr(Chosen, f"__r{_name}__", _operator(_f, swapped=True))
    setattr(Chosen, f"__i{_name}__", _in_place(getattr(operator, f"__i{_name}__")))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "matmul"):
    setattr(Chosen, f"__{_name}__", _operator(getattr(operator, f"__{_name}__")))


# -- what is computed of them --------------------------------------------------------------------------------------


class UnknownCountError(Symbolic, TracingError):
    """Something asked for an array of as many elements as a mask chooses that is known at run time only.

    The public function that it reaches is called over the whole array, if it treats each element by itself.
    """


def _answered(told: str, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a public function that has met chosen elements, among its arguments or in what it reads."""
    if not any(True for _ in _chosen_in((args, kwargs))):
        raise TracingError(told)
    return over_all(function, args, kwargs)


def over_all(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = "") -> Any:
    """A function's result for chosen elements: a tensor for reductions, chosen elements for elementwise functions.

    Args:
        function: any that treats each element by itself, which is seen by what it does.
        args: its arguments, with chosen elements among them.
        kwargs: its others.
        name: what users call it.
    """
    name = name or _name_of(function)
    found = [*_chosen_in((args, kwargs))]
    first = found[0]
    for other in found[1:]:
        other.require_mask(first.mask, name)
    if name in _RULES:
        return _RULES[name](name, *_told_apart(function, args, kwargs))
    behind = first.ndim - first.axis
    for other in _arrays_in((args, kwargs)):
        if other.ndim >= behind and other.shape[other.ndim - behind] != 1:
            first.refuse(name)
    watch = _Watch({c.whole._key for c in found}, behind)
    with recording(watch), quietly():  # what is computed where the mask is false is no reason for a warning
        result = function(*_mapped(args), **_mapped(kwargs))
    return _rewrapped(result, first, watch, name)


def _name_of(function: Any) -> str:
    op = next((a for a in getattr(function, "args", ()) if isinstance(a, Op)), None)  # a rule of one op's
    return op.name if op is not None else getattr(function, "__name__", "a function")


def _rewrapped(result: Any, first: Chosen, watch: _Watch, name: str) -> Any:
    if isinstance(result, tuple):
        return (*[_rewrapped(r, first, watch, name) for r in result],)
    if result is None or isinstance(result, (bool, np.dtype)):
        return result
    behind = first.ndim - first.axis
    is_row = isinstance(result, Tensor) and result.ndim >= behind
    if watch.is_beyond or not is_row or not same_dim(result.shape[result.ndim - behind], first.mask.shape[0]):
        first.refuse(name)
    return Chosen(result, first.mask, result.ndim - behind)


class _Watch(Recorder):
    """A recorder that sees whether each op on followed tensors treats their elements one by one."""

    is_watch = is_passive = True

    def __init__(self, keys: set[int], behind: int) -> None:
        self._keys = keys
        self._behind = behind  # that many axes from the last is that of the row
        self.is_beyond = False

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        if any(x._key in self._keys for x in operands):
            self._keys.update(out._key for out in outs)
            self.is_beyond |= not (self._is_broadcast(op, operands, outs) or _is_elementwise(op, operands, attrs))

    def _is_broadcast(self, op: Op, operands: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> bool:
        """Whether an op broadcasts in such a way that the axis of the chosen elements stays where it is."""
        if op is not S.broadcast_to and op is not S.reshape:
            return False
        before, after = operands[0].shape, outs[0].shape
        if op is S.reshape:
            return before[-self._behind :] == after[-self._behind :]
        return len(before) >= self._behind and same_dim(before[-self._behind], after[-self._behind])


def _is_elementwise(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...]) -> bool:
    """Whether an op treats each element by itself, as those do that take numbers as well as arrays."""
    if op.batch_rule is not batch_elementwise:
        return False
    try:
        result: Any = op.type_rule(*op.group((*[TensorType(((), x.dtype)) for x in operands],)), *attrs)
    except (TypeError, ValueError, IndexError):
        return False
    return op.is_multi or not result.shape


def _chosen_in(tree: Any) -> Iterator[Chosen]:
    if isinstance(tree, Chosen):
        yield tree
    elif isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _chosen_in(item)


def _arrays_in(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (np.ndarray, Tensor)):
        yield tree
    elif isinstance(tree, (tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _arrays_in(item)


def _mapped(tree: Any) -> Any:
    """Arguments in which chosen elements are replaced by the whole arrays that they were chosen of."""
    if isinstance(tree, Chosen):
        return tree.whole
    if isinstance(tree, dict):
        return {key: _mapped(item) for key, item in tree.items()}
    return type(tree)(map(_mapped, tree)) if type(tree) in (list, tuple) else tree


# -- sums and their kin --------------------------------------------------------------------------------------------


def _told_apart(function: Function, args: tuple[Any, ...], kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Splits a call's arguments into operands and options, without options that have their default."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # an operator has no names for its arguments
        return args, kwargs
    operands = (*[value for key, value in given.items() if key not in _OPTIONS and value is not None],)
    said = {key: value for key, value in given.items() if key in _OPTIONS and not _says_nothing(key, value)}
    return operands, said


_OPTIONS = frozenset({
    "axis", "dtype", "out", "keepdims", "initial", "where", "ddof", "correction", "mean", "kwargs", "order", "casting",
    "returned",
})  # fmt: skip
_DEFAULTS = {"keepdims": False, "where": True, "ddof": 0, "casting": "same_kind", "order": "K", "returned": False}


def _says_nothing(option: str, value: object) -> bool:
    return value is None or value is np._NoValue or value is _DEFAULTS.get(option, np._NoValue)


def _reduced(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A reduction, of the elements for which the mask is true."""
    options = dict(options)
    axis: Axes = options.pop("axis", None)
    keeps: Any = options.pop("keepdims", False)
    if len(operands) != 1 or not options.keys() <= {"dtype", "ddof", "correction"}:
        next(_chosen_in((operands, options))).refuse(name)
    (x,) = operands
    axes = promotion.normal_axes(axis, x.ndim, name)
    name = {"amax": "max", "amin": "min"}.get(name, name)
    reduce = getattr(np, name)
    if x.axis not in axes:
        place = x.axis if keeps else x.axis - sum(a < x.axis for a in axes)
        return Chosen(reduce(x.whole, axis=axes, keepdims=keeps, **options), x.mask, place)
    if name in ("max", "min"):
        options["initial"] = _bound(x.dtype, name)
    return reduce(x.whole, axis=axes, where=x.wide, keepdims=keeps, **options)


_FOLDS = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all",
    np.logical_or: "any",
}  # fmt: skip


def _bound(dtype: np.dtype[Any], name: str) -> Any:
    """The value of a dtype that is neutral for a maximum (or a minimum)."""
    if dtype.kind == "b":
        return name == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if name == "max" else limits.max
    return -np.inf if name == "max" else np.inf


def _counted(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return _reduced("sum", (operands[0] != 0, *operands[1:]), options)


def _product(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Products of rows: of two chosen ones a number, of a table of chosen rows a table again."""
    found = [*_chosen_in((operands, options))]
    x, y = operands
    if len(found) == 2 and all(c.ndim == 1 for c in found):
        return _reduced("sum", ((x.conj() if name == "vdot" else x) * y,), {})
    if len(found) > 1 or x is not found[0] or x.ndim != 2 or x.axis or name in ("vdot", "inner"):
        found[0].refuse(name)
    return Chosen(x.whole @ y, x.mask, 0)


def _norm(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Euclid's norm of all chosen elements."""
    x = operands[0]
    if options or x.ndim != 1 or any(order != 2 for order in operands[1:]):
        x.refuse(name)
    return np.linalg.norm(np.where(x.mask, x.whole, 0))


def _averaged(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    found = [*_chosen_in(operands)]
    if len(found) != len(operands) or any(c.ndim != 1 for c in found) or options:
        found[0].refuse(name)
    if len(found) == 1:
        return _reduced("mean", operands, {})
    return _product("dot", operands, {}) / _reduced("sum", operands[1:], {})


def _described(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return getattr(operands[0], name)


_RULES: dict[str, Callable[[str, tuple[Any, ...], dict[str, Any]], Any]] = {
    **dict.fromkeys(("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin", "any", "all"), _reduced),
    "count_nonzero": _counted,
    "norm": _norm,
    "average": _averaged,
    **dict.fromkeys(("dot", "vdot", "inner", "matmul", "__matmul__"), _product),
    **dict.fromkeys(("size", "shape", "ndim"), _described),
}


# -- masks that are the same ---------------------------------------------------------------------------------------

_COMPARED = 200  # values at most: masks are a few ops of what they are taken from


def _is_same(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors are one, or computed in the same way of the same values, as `x > 0` written twice is."""
    a, b = x._data, y._data
    if x._key == y._key:
        return True
    graph = open_graph(a.graph) if type(a) is Value and type(b) is Value and a.graph == b.graph else None
    return graph is not None and _are_computed_alike(graph, a, b)


def _are_computed_alike(graph: Graph, a: Value, b: Value) -> bool:
    makers = {node.outputs[0].key: node for node in graph.nodes if len(node.outputs) == 1}
    captured = {value.key: key for key, (_, value) in graph.captures.items()}
    waiting = [(a, b)]
    for _ in range(_COMPARED):
        if not waiting:
            return True
        a, b = waiting.pop()
        if a.key == b.key or captured.get(a.key, a.key) == captured.get(b.key, b.key):
            continue
        first, second = makers.get(a.key), makers.get(b.key)
        if first is None or second is None or not _is_same_step(first, second):
            return False
        waiting += zip(first.inputs, second.inputs, strict=True)
    return False


def _is_same_step(a: Node, b: Node) -> bool:
    if a.op is not b.op or a.op.has_effect or len(a.inputs) != len(b.inputs):
        return False
    return [*map(attribute_identity, a.attrs)] == [*map(attribute_identity, b.attrs)]


__all__ = ["Chosen", "has_unknown_mask", "spot_of"]
