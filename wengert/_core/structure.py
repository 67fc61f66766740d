"""Nested structures: which containers are entered, what their leaves are, and how to put them together again.

As an argument, a list whose leaves are all Python numbers is one array, hence a leaf; in `wg.tree`, where no array is
wanted, it is a list of leaves. Any other list, and every tuple, dict, named tuple, dataclass or registered class is
structure. A field of a dataclass with `metadata={"static": True}` belongs to the structure, with its value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .kinds import NUMBERS
from .tensor import Tensor
from .where import at_user_line

_LEAVES = (*NUMBERS, np.generic)
_NUMERIC = frozenset({Tensor, np.ndarray, float, int, complex})
_ATOMIC = frozenset({Tensor, np.ndarray, float, int, complex, bool, str, type(None)})


class Spec(NamedTuple):
    """The shape of a structure: its type, what identifies the children, and their own specs.

    The keys of a dataclass are the names of its fields, and after them (name, value) of each static one.
    """

    kind: type[Any]
    keys: Any
    children: tuple[Spec | None, ...]


LEAF = None  # the spec of a leaf


class _Registered(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Sequence[Any]], Any]


_registered: dict[type, _Registered] = {}


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Sequence[Any]], Any]
) -> type:
    """Makes instances of a class structures.

    Args:
        cls: the class (instances of subclasses are not affected).
        flatten: maps an instance to (children, static): an iterable of values and a hashable rest.
        unflatten: maps (static, children) back to an instance.

    Returns:
        The class, so that it can be used in a decorator.

    Raises:
        ValueError: if the class is registered already.

    Example:
        >>> import wengert as wg
        >>> class Point:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> _ = wg.tree.register(Point, lambda p: ((p.x, p.y), None), lambda static, xy: Point(*xy))
        >>> wg.tree.leaves(Point(1.0, 2.0))
        [1.0, 2.0]
    """
    if cls in _registered:
        raise ValueError(at_user_line(f"tree.register: {cls.__name__} is registered already"))
    _registered[cls] = _Registered(flatten, unflatten)
    return cls


def is_number_list(value: Any) -> bool:
    """Whether a list holds Python (or NumPy) numbers only, at any depth: then it is one array."""
    waiting = [value]
    found, opened = False, 0
    while waiting:
        opened += 1
        if opened == MANY_LISTS:
            refuse_cycle(value)
        for item in waiting.pop():
            if isinstance(item, list):
                waiting.append(item)
            elif isinstance(item, _LEAVES):
                found = True
            else:
                return False
    return found


MANY_LISTS = 64  # so many lists in a list: it is looked at whether one of them holds itself, for it would never end


def refuse_cycle(tree: Any, what: str = "argument") -> None:
    """`ValueError` for a list, a dictionary or any other container that holds itself, at whatever depth."""
    inside: set[int] = set()
    done: dict[int, Any] = {}  # with the containers, so that none is freed and its number taken by another
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    while waiting:
        item, is_left = waiting.pop()
        if is_left:
            inside.discard(id(item))
            done[id(item)] = item
            continue
        if id(item) in done:
            continue
        if id(item) in inside:
            raise ValueError(at_user_line(
                f"{what}: a {type(item).__name__} that holds itself is neither an array nor a structure of arrays"
            ))  # fmt: skip
        opened = _open(item, EVERY)
        if opened is not None:
            inside.add(id(item))
            waiting.append((item, True))
            waiting += [(child, False) for child in opened[0] if type(child) not in _ATOMIC]


EVERY = -1  # how many levels of lists of numbers are opened: all


def _open(value: Any, lists: int) -> tuple[list[Any], Any] | None:
    """A container's children and keys, or None for a leaf."""
    kind = type(value)
    if kind in _ATOMIC:
        return None
    if kind in _registered:
        children, static = _registered[kind].flatten(value)
        return list(children), static
    if isinstance(value, list):
        return None if lists == 0 and is_number_list(value) else (list(value), None)
    if isinstance(value, tuple):
        return list(value), None
    if isinstance(value, dict):
        return list(value.values()), tuple(value)
    if _is_dataclass(type(value)):
        import dataclasses  # who passes one has loaded it

        fields = dataclasses.fields(value)
        names = [f.name for f in fields if not f.metadata.get("static")]
        static = [(f.name, getattr(value, f.name)) for f in fields if f.metadata.get("static")]
        return [getattr(value, n) for n in names], (*names, *static)
    return None


def flatten(tree: Any, lists: int = 0, like: Spec | None = LEAF) -> tuple[list[Any], Spec | None]:
    """The leaves of a structure, in order, and its spec.

    Args:
        tree: a nested structure.
        lists: in how many levels from the top a list of numbers is a list of leaves, not an array; `EVERY`: in all.
        like: a spec that gives the order in which dictionaries with its keys are taken.
    """
    try:
        return _flattened(tree, lists, like)
    except RecursionError:
        refuse_cycle(tree)
        raise


def _flattened(tree: Any, lists: int, like: Spec | None) -> tuple[list[Any], Spec | None]:
    opened = _open(tree, lists)
    if opened is None:
        return [tree], LEAF
    children, keys = opened
    models: Sequence[Spec | None] = ()
    if like is not None:
        if isinstance(tree, dict) and keys != like.keys and _is_reordered(keys, like):
            keys = like.keys
            children = [tree[key] for key in keys]
        models = like.children
    leaves: list[Any] = []
    specs = []
    for child, model in itertools.zip_longest(children, models[: len(children)]):
        found, spec = _flattened(child, lists - 1 if lists > 0 else lists, model)
        leaves += found
        specs.append(spec)
    return leaves, Spec(type(tree), keys, tuple(specs))


def _is_reordered(keys: tuple[Any, ...], like: Spec) -> bool:
    return issubclass(like.kind, dict) and len(keys) == len(like.keys) and set(keys) == set(like.keys)


def passes_through(leaf: Any) -> bool:
    """Whether a leaf is no number and no array: what is done to leaves leaves it as it is."""
    kind = type(leaf)
    if kind in _NUMERIC:
        return False
    if isinstance(leaf, (bool, str, type)) or leaf is None:
        return True
    if isinstance(leaf, _LEAVES) or hasattr(kind, "__wengert_tensor__"):
        return False
    return not (hasattr(leaf, "dtype") or hasattr(leaf, "__array__"))


def unflatten(spec: Spec | None, leaves: Iterable[Any]) -> Any:
    """The structure of a spec with these leaves."""
    if spec is not LEAF and type(spec) is not Spec:
        raise TypeError(at_user_line(f"tree.unflatten: spec: wanted what tree.flatten gave, got {type(spec).__name__}"))
    if not isinstance(leaves, Iterable):
        raise TypeError(at_user_line(f"tree.unflatten: leaves: wanted a list of leaves, got {type(leaves).__name__}"))
    remaining = iter(leaves)
    result = _build(spec, remaining)
    if next(remaining, _END) is not _END:
        raise ValueError(at_user_line("tree.unflatten: more leaves than the structure has places"))
    return result


_END = object()


def _build(spec: Spec | None, leaves: Any) -> Any:
    if spec is None:  # a leaf
        leaf = next(leaves, _END)
        if leaf is _END:
            raise ValueError(at_user_line("tree.unflatten: fewer leaves than the structure has places"))
        return leaf
    children = [_build(child, leaves) for child in spec.children]
    kind = spec.kind
    if kind in _registered:
        return _registered[kind].unflatten(spec.keys, children)
    if issubclass(kind, dict):
        return _rebuilt_dict(kind, zip(spec.keys, children, strict=True))
    if issubclass(kind, tuple):
        return kind(*children) if hasattr(kind, "_fields") else kind(children)
    if issubclass(kind, list):
        return kind(children)
    names, static = spec.keys[: len(children)], spec.keys[len(children) :]
    return _rebuilt_dataclass(kind, dict(zip(names, children, strict=True)) | dict(static))


def _rebuilt_dict(kind: type, items: Iterable[tuple[Any, Any]]) -> Any:
    if kind is dict:
        return dict(items)
    make: Any = kind.__new__
    result = make(kind)
    for key, value in items:  # by assignment: an OrderedDict keeps its order in its own methods
        result[key] = value
    return result


def _is_dataclass(kind: type) -> bool:
    return hasattr(kind, "__dataclass_fields__")


def _rebuilt_dataclass(kind: type, values: dict[str, Any]) -> Any:
    result = object.__new__(kind)  # __init__ may convert or check what stands in for numbers here
    for name, value in values.items():
        object.__setattr__(result, name, value)
    return result


def map_structure(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Applies f to the numeric leaves of structures of one shape; the first one's others stay."""
    if not callable(f):
        raise TypeError(at_user_line(f"tree.map: f: wanted a function, got {type(f).__name__}"))
    leaves, spec = flatten(tree, EVERY)
    others = []
    for other in rest:
        other_leaves, other_spec = flatten(other, EVERY, spec)
        if other_spec != spec:
            raise ValueError(at_user_line(f"tree.map: structures differ: {describe(spec)} and {describe(other_spec)}"))
        others.append(other_leaves)
    groups = [*zip(leaves, *others, strict=True)]
    for place, (kept, *rest_of) in enumerate(groups):
        if passes_through(kept) and not all(map(passes_through, rest_of)):
            raise ValueError(at_user_line(
                f"tree.map: structures differ: tree{paths(spec, '')[place]} is {kept!r}, which is not mapped, where "
                f"another structure has a number or an array"
            ))  # fmt: skip
    return unflatten(spec, [group[0] if passes_through(group[0]) else f(*group) for group in groups])


def paths(spec: Spec | None, prefix: str, names: Sequence[str] = ()) -> list[str]:
    """How each leaf is reached: `params['b2']`, `args[0].x`; `names` are those of the top level's entries, if given."""
    if spec is None:  # a leaf
        return [prefix]
    found: list[str] = []
    for position, child in enumerate(spec.children):
        found += paths(child, names[position] if names else prefix + _step(spec, position))
    return found


def _step(spec: Spec, position: int) -> str:
    if issubclass(spec.kind, dict):
        return f"[{spec.keys[position]!r}]"
    fields = getattr(spec.kind, "_fields", None) if issubclass(spec.kind, tuple) else None
    if fields is None and _is_dataclass(spec.kind):
        fields = spec.keys
    return f".{fields[position]}" if fields else f"[{position}]"


def describe(spec: Spec | None, leaves: Iterable[str] | None = None) -> str:
    """A spec for messages: {'a': *, 'b': (*, *)}, or with what the leaves are in the stars' places."""
    words = iter(leaves) if leaves is not None else itertools.repeat("*")
    return _described(spec, words)


def _described(spec: Spec | None, words: Iterator[str]) -> str:
    if spec is None:  # a leaf
        return next(words)
    children = [_described(c, words) for c in spec.children]
    if issubclass(spec.kind, dict):
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(spec.keys, children, strict=True)) + "}"
    if issubclass(spec.kind, list):
        return f"[{', '.join(children)}]"
    name = "" if spec.kind is tuple else spec.kind.__name__
    return f"{name}({', '.join(children)})"
