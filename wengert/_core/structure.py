"""Nested structures: which containers are entered, what their leaves are, and how to put them together again.

As an argument, a list whose leaves are all Python numbers is one array, hence a leaf; in `wg.tree`, where no array is
wanted, it is a list of leaves. Any other list, and every tuple, dict, named tuple, dataclass or registered class is
structure. A field of a dataclass with `metadata={"static": True}` belongs to the structure, with its value.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .kinds import NUMBERS
from .labelled import Wrapping, unwrapped
from .tensor import Tensor, held_now
from .user_line import at_user_line

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
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    unflatten: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:  # fmt: skip
    """Makes instances of a class structures. With the class alone it is a decorator: attributes are what it holds.

    Args:
        cls: the class (instances of subclasses are not affected).
        flatten: maps an instance to (children, static): an iterable of values and a hashable rest. By default the
            attributes that are numeric, or structures, are children; the others are static.
        unflatten: maps (static, children) back to an instance. By default one with these attributes, whose
            `__init__` is not called.

    Returns:
        The class, so that it can be used in a decorator.

    Raises:
        ValueError: if the class is registered already.
        TypeError: if cls is no class, or one of the two functions is given without the other.

    Example:
        >>> import wengert as wg
        >>> class Point:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> _ = wg.tree.register(Point, lambda p: ((p.x, p.y), None), lambda static, xy: Point(*xy))
        >>> wg.tree.leaves(Point(1.0, 2.0))
        [1.0, 2.0]
        >>> @wg.tree.register
        ... class Line:
        ...     def __init__(self, slope, name):
        ...         self.slope, self.name = slope, name
        >>> twice = wg.tree.map(lambda a: 2 * a, Line(3.0, "rising"))
        >>> twice.slope, twice.name
        (6.0, 'rising')
    """
    if not isinstance(cls, type):
        raise TypeError(at_user_line(f"tree.register: cls: wanted a class, got {cls!r:.60}"))
    if (flatten is None) is not (unflatten is None):
        raise TypeError(at_user_line("tree.register: wanted both flatten and unflatten, or neither"))
    if flatten is None or unflatten is None:
        flatten, unflatten = _attributes, functools.partial(_with_attributes, cls)
    if cls in _registered:
        raise ValueError(at_user_line(f"tree.register: {cls.__name__} is registered already"))
    _registered[cls] = _Registered(flatten, unflatten)
    return cls


def is_registered(kind: object) -> bool:
    """Whether users said how instances of a class are taken apart, whatever built-in class it derives from."""
    return kind in _registered


def opens_itself(value: object) -> bool:
    """Whether a value is of a class that users have registered."""
    return type(value) in _registered


def children_of(value: Any) -> list[Any]:
    """What the user's function gives as the children of an instance of a registered class."""
    return [*_registered[type(value)].flatten(value)[0]]


def maker_of(kind: type[Any]) -> Callable[[Iterable[Any]], Any] | None:
    """What makes a tuple or a named tuple of its items; None for other classes, and those that users registered."""
    if kind is tuple:
        return tuple
    is_named = issubclass(kind, tuple) and hasattr(kind, "_make") and kind not in _registered
    return getattr(kind, "_make") if is_named else None  # noqa: B009  # no method of every tuple


def attributes_of(value: Any) -> list[tuple[str, Any, bool]] | None:
    """What an instance of a dataclass, or of a class registered without functions, holds by name, and whether the field
    is said to belong to the structure; None for other classes, of which users say what they hold.
    """
    kind = type(value)
    if kind in _registered:
        names = _attribute_names(value) if _registered[kind].flatten is _attributes else None
    else:
        names = (
            [*kind.__dataclass_fields__] if _is_dataclass(kind) and not issubclass(kind, list | tuple | dict) else None
        )
    fields = _static_fields(kind)
    return None if names is None else [(name, getattr(value, name), name in fields) for name in names]


def _attributes(value: object) -> tuple[list[Any], Any]:
    """What a plain object holds: attributes that are numeric or structures, and the names of these with the others."""
    held = [(name, getattr(value, name)) for name in _attribute_names(value)]
    fields = _static_fields(type(value))
    is_static = [name in fields or (_open(x, EVERY) is None and passes_through(x)) for name, x in held]
    static = (*[pair for pair, is_it in zip(held, is_static, strict=True) if is_it],)
    names = (*[name for (name, _), is_it in zip(held, is_static, strict=True) if not is_it],)
    return [x for (_, x), is_it in zip(held, is_static, strict=True) if not is_it], (names, static)


def _static_fields(kind: type) -> frozenset[str]:
    """The fields of a dataclass, or of a class of attrs, that say they belong to the structure."""
    fields: list[Any] = [*getattr(kind, "__dataclass_fields__", {}).values(), *getattr(kind, "__attrs_attrs__", ())]
    return frozenset(field.name for field in fields if field.metadata.get("static"))


def _attribute_names(value: object) -> list[str]:
    slots = [name for kind in reversed(type(value).__mro__) for name in _slots_of(kind) if hasattr(value, name)]
    return [*slots, *getattr(value, "__dict__", ())]


def _slots_of(kind: type) -> tuple[str, ...]:
    slots: Any = kind.__dict__.get("__slots__", ())
    return tuple(n for n in ((slots,) if isinstance(slots, str) else slots) if n not in ("__dict__", "__weakref__"))


def _with_attributes(cls: type, static: Any, children: Sequence[Any]) -> Any:
    names, others = static
    return _rebuilt_dataclass(cls, dict(zip(names, children, strict=True)) | dict(others))


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


def refuse_cycle(tree: object, what: str = "argument") -> None:
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
    held = unwrapped(value)
    return None if held is None else ([held[0]], held[1])


def flatten(
    tree: Any, lists: int = 0, like: Spec | None = LEAF, is_leaf: Callable[[Any], Any] | None = None
) -> tuple[list[Any], Spec | None]:
    """The leaves of a structure, in order, and its spec.

    Args:
        tree: a nested structure.
        lists: in how many levels from the top a list of numbers is a list of leaves, not an array; `EVERY`: in all.
        like: a spec that gives the order in which dictionaries with its keys are taken.
        is_leaf: of what else is a leaf, whatever it holds.
    """
    try:
        return _flattened(tree, lists, like, is_leaf)
    except RecursionError:
        refuse_cycle(tree)
        raise


def _flattened(
    tree: object, lists: int, like: Spec | None, is_leaf: Callable[[Any], Any] | None
) -> tuple[list[Any], Spec | None]:
    opened = None if is_leaf is not None and is_leaf(tree) else _open(tree, lists)
    if opened is None:
        return [held_now(tree)], LEAF
    children, keys = opened
    models: Sequence[Spec | None] = ()
    if like is not None:
        if isinstance(tree, dict) and not opens_itself(tree) and keys != like.keys and _is_reordered(keys, like):
            keys = like.keys
            children = [tree[key] for key in keys]
        models = like.children
    leaves: list[Any] = []
    specs = []
    for child, model in itertools.zip_longest(children, models[: len(children)]):
        found, spec = _flattened(child, lists - 1 if lists > 0 else lists, model, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, Spec(type(tree), keys, tuple(specs))


def _is_reordered(keys: tuple[Any, ...], like: Spec) -> bool:
    return is_plain_dict(like.kind) and len(keys) == len(like.keys) and set(keys) == set(like.keys)


def is_plain_dict(kind: type[Any]) -> bool:
    """Whether the keys of a structure of this class are a dictionary's."""
    return issubclass(kind, dict) and kind not in _registered


def passes_through(leaf: object) -> bool:
    """Whether a leaf is no number and no array: what is done to leaves leaves it as it is."""
    kind = type(leaf)
    if kind in _NUMERIC:
        return False
    if isinstance(leaf, (bool, str, type)) or leaf is None:
        return True
    if isinstance(leaf, _LEAVES) or hasattr(kind, "__wengert_tensor__"):
        return False
    return not (hasattr(leaf, "dtype") or hasattr(leaf, "__array__"))


def as_held(tree: object) -> Any:
    """A structure with tensors that were written to as what they hold now, read while recorders are open."""
    if isinstance(tree, Tensor):
        return held_now(tree)
    leaves, spec = flatten(tree, EVERY)
    return tree if spec is LEAF or not any(isinstance(leaf, Tensor) for leaf in leaves) else unflatten(spec, leaves)


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
    return assembled(spec, [_build(child, leaves) for child in spec.children])


def assembled(spec: Spec, children: list[Any]) -> Any:
    """One level of a structure: what a spec describes, of its children."""
    kind = spec.kind
    if kind in _registered:
        return _registered[kind].unflatten(spec.keys, children)
    if issubclass(kind, dict):
        return _rebuilt_dict(kind, zip(spec.keys, children, strict=True))
    if issubclass(kind, tuple):
        return kind(*children) if hasattr(kind, "_fields") else kind(children)
    if issubclass(kind, list):
        return kind(children)
    if isinstance(spec.keys, Wrapping):
        return spec.keys.around(children[0])
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


def map_structure(
    f: Callable[..., Any], tree: object, *rest: object, is_leaf: Callable[[Any], Any] | None = None
) -> Any:
    """Applies f to the numeric leaves of structures of one shape; the first one's others stay."""
    groups, spec = groups_of("tree.map", f, tree, rest, is_leaf)
    return unflatten(spec, [g[0] if is_kept(g[0], is_leaf) else f(*g) for g in groups])


def groups_of(
    what: str, f: object, tree: object, rest: Sequence[Any], is_leaf: Callable[[Any], Any] | None
) -> tuple[list[tuple[Any, ...]], Spec | None]:
    """The leaves in the same places of structures of one shape, and that shape."""
    if not callable(f):
        raise TypeError(at_user_line(f"{what}: f: wanted a function, got {type(f).__name__}"))
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(at_user_line(f"{what}: is_leaf: wanted a function or None, got {type(is_leaf).__name__}"))
    leaves, spec = flatten(tree, EVERY, LEAF, is_leaf)
    others = []
    for other in rest:
        other_leaves, other_spec = flatten(other, EVERY, spec, is_leaf)
        if other_spec != spec:
            raise ValueError(at_user_line(f"{what}: {difference(spec, other_spec, 'tree')}"))
        others.append(other_leaves)
    groups = [*zip(leaves, *others, strict=True)]
    for place, (kept, *rest_of) in enumerate(groups):
        if is_kept(kept, is_leaf) and not all(is_kept(x, is_leaf) for x in rest_of):
            raise ValueError(at_user_line(
                f"{what}: structures differ: tree{paths(spec, '')[place]} is {kept!r}, which is not mapped, where "
                f"another structure has a number or an array"
            ))  # fmt: skip
    return groups, spec


def is_kept(leaf: object, is_leaf: Callable[[Any], Any] | None) -> bool:
    """Whether a leaf stays as it is: it is not numeric, and nobody asked for it."""
    return passes_through(leaf) and not (is_leaf is not None and is_leaf(leaf))


def paths(spec: Spec | None, prefix: str, names: Sequence[str] = ()) -> list[str]:
    """How each leaf is reached: `params['b2']`, `args[0].x`; `names` are those of the top level's entries, if given."""
    if spec is None:  # a leaf
        return [prefix]
    found: list[str] = []
    for position, child in enumerate(spec.children):
        found += paths(child, names[position] if names else prefix + _step(spec, position))
    return found


def _step(spec: Spec, position: int) -> str:
    key = key_of(spec, position)
    is_attribute = isinstance(key, str) and not is_plain_dict(spec.kind)
    return f".{key}" if is_attribute else f"[{key!r}]"


def key_of(spec: Spec, position: int) -> Any:
    """How a child is reached: a key, a position, or the name of an attribute."""
    if is_plain_dict(spec.kind):
        return spec.keys[position]
    fields = getattr(spec.kind, "_fields", None) if issubclass(spec.kind, tuple) else None
    registered = _registered.get(spec.kind)
    if registered is not None:
        fields = spec.keys[0] if registered.flatten is _attributes else None
    elif fields is None and _is_dataclass(spec.kind):
        fields = spec.keys
    return fields[position] if fields else position


def describe(spec: Spec | None, leaves: Iterable[str] | None = None) -> str:
    """A spec for messages: {'a': *, 'b': (*, *)}, or with what the leaves are in the stars' places."""
    words = iter(leaves) if leaves is not None else itertools.repeat("*")
    return _described(spec, words)


def difference(one: Spec | None, other: Spec | None, name: str) -> str:
    """How two structures differ, for messages: both of them, and the place where the first difference is."""
    found = f"structures differ: {describe(one)} and {describe(other)}"
    path = name
    while one is not None and other is not None and (one.kind, one.keys) == (other.kind, other.keys):
        pairs = [*zip(one.children, other.children, strict=False)]
        place = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if place is None:  # one has more children than the other
            break
        path += _step(one, place)
        one, other = pairs[place]
    return found if path == name else f"{found}; {path} is {describe(one)} in one and {describe(other)} in the other"


def _described(spec: Spec | None, words: Iterator[str]) -> str:
    if spec is None:  # a leaf
        return next(words)
    children = [_described(c, words) for c in spec.children]
    if is_plain_dict(spec.kind):
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(spec.keys, children, strict=True)) + "}"
    if issubclass(spec.kind, list) and not is_registered(spec.kind):
        return f"[{', '.join(children)}]"
    name = "" if spec.kind is tuple else spec.kind.__name__
    return f"{name}({', '.join(children)})"
