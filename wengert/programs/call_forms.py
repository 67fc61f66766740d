"""Calls whose arguments are more than arrays side by side: arrays in dictionaries, lists, tuples and dataclasses, as
parameters of models are, by name, beside values that belong to the signature (None, flags, strings, the object that a
method is of), tensors (random keys, say) and lists of numbers. A call of the form of one before goes straight to what
that one has compiled.

`Function.__call__` asks here where it meets anything but arrays and floats; what is found here it asks first in the
next call.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from itertools import chain
from operator import is_
from textwrap import indent
from typing import Any, NamedTuple

import numpy as np

from .._compile.cache import Compiled
from .._compile.captures import Binder, made
from .._compile.statics import StaticNames, unpinned
from .._core import dtypes
from .._core.bare_integers import bare_keys, is_bare
from .._core.engine import PLAIN_TYPES, Engine, look_of
from .._core.kinds import NUMPY_NUMBERS
from .._core.structure import attributes_of, flatten, is_registered, maker_of
from .._core.tensor import Tensor, Written, held_now


class Leaf(Enum):
    """What a program takes in one place."""

    ARRAY = auto()  # NumPy's (or one of its numbers), a framework's, or a float
    MAPPED = auto()  # one of NumPy's in a file
    COMPLEX = auto()  # a number of Python's
    INTEGER = auto()  # one that is an input


class Held(NamedTuple):
    """What a program takes of a tensor: its array; of one that was written to, what it holds now."""

    weak: bool
    is_bare: bool
    is_written: bool


class Numbers(NamedTuple):
    """What a program takes of a list of numbers: an array.

    Attributes:
        kinds: what there is in the lists of each level.
        dtype: what NumPy makes of the numbers.
    """

    kinds: tuple[frozenset[type[Any]], ...]
    dtype: np.dtype[Any]


class Same(NamedTuple):
    """A value of the signature that is compared by kind and value."""

    kind: type
    value: Any


class Itself:
    """A value of the signature that is compared by identity; it has no other equality."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Itself and self.value is other.value


class Fields(NamedTuple):
    """The attributes that an object holds; `all` are those of its dictionary, where it may come to hold others."""

    names: tuple[str, ...]
    all: tuple[str, ...] | None = None


# a `Leaf`, `Held`, `Numbers`, `Same`, `Itself`, or a tuple: the container's class, what names its parts, and these
Structure = Any
_BY_VALUE = frozenset({int, str, bytes})
_BY_IDENTITY = frozenset({type(None), bool, type(...)})
_NUMBERS = frozenset({float, complex})
_SCALARS = _NUMBERS | NUMPY_NUMBERS | {int}
_IN_LISTS = _SCALARS | {bool}
_LISTS: frozenset[type[Any]] = frozenset({list})


class Opened:
    """Arguments as the arrays in them.

    Attributes:
        structure: how they lie there, and what else is there.
        leaves: what there is as the caller gives it.
        arrays: the same as NumPy's arrays, or those of one framework, and numbers.
        home: that framework's engine.
        objects: what is compared by identity and no part of a value.
        has_tensors: whether there are tensors, so that results are.
        are_arrays: whether all there is are arrays and tensors.
    """

    def __init__(self, structure: Structure, opening: _Opening, home: Engine | None) -> None:
        self.structure = structure
        self.leaves = opening.leaves
        self.arrays = opening.arrays
        self.home = home
        self.objects = opening.objects
        kinds: set[type[Any]] = {*map(type, opening.leaves)}
        self.has_tensors = Tensor in kinds
        self.are_arrays = kinds <= {np.ndarray, np.memmap, Tensor}

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides which program runs."""
        looks: list[Any] = []
        for x in self.arrays:
            looks += (type(x),) if type(x) in _SCALARS else look_of(x)
        return dtypes._default_float, self.structure, *looks

    def natives(self, compiled: Compiled) -> list[Any]:
        """The arrays, and floats and complex numbers of Python's as what the program computes with."""
        inputs = compiled.graph.inputs
        return [v.dtype.type(x) if type(x) in _NUMBERS else x for x, v in zip(self.arrays, inputs, strict=True)]


class Known(NamedTuple):
    """What calls of one form have compiled, and the values of the signature, of which it may have read attributes."""

    compiled: Compiled
    statics: list[Any]

    def holds(self) -> bool:
        """Whether what it has read is still there."""
        return self.compiled.holds(self.statics)

    def run(self, given: Opened) -> tuple[Any, Callable[..., Any] | None]:
        """The results for arguments of this form, and what gives those of further calls; None for these where there is
        none, NotImplemented where an integer is beyond the limits.
        """
        compiled, natives = self.compiled, given.natives(self.compiled)
        if compiled.limits is not None and not compiled.takes_ints(natives):
            return NotImplemented, None
        operands = [x if type(x) is float else native for x, native in zip(given.arrays, natives, strict=True)]
        results, direct = compiled.run_plain(operands, natives, given.home, self.statics, given.has_tensors)
        return results, None if direct is None else through(given.structure, direct, compiled)


def opened(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], are_inputs: bool, static: StaticNames | None = None
) -> Opened | None:
    """The arrays in arguments, of one kind, beside which there are only values of the signature; else None.

    Args:
        args: the positional arguments.
        kwargs: those by name.
        are_inputs: whether Python's integers are.
        static: which arguments are values of the signature, whatever they are.
    """
    opening = _Opening(are_inputs)
    names = [None] * len(args) if static is None else static.names_of(args)
    is_static: Any = () if static is None else static
    try:
        positional = [_exactly(a) if n in is_static else opening.part(a) for n, a in zip(names, args, strict=True)]
        named = [_exactly(a) if n in is_static else opening.part(a) for n, a in kwargs.items()]
    except (RecursionError, ValueError, _UnfitError):  # one holds itself, is ragged, or something else than these
        return None
    structure = (tuple, None, *positional), (dict, (*kwargs,), *named)
    arrays = opening.arrays
    kinds: set[type[Any]] = {*map(type, arrays)} - _SCALARS
    if kinds <= {np.ndarray}:
        is_plain = all(type(a) in _SCALARS or (dtypes.is_supported(a.dtype) and a.dtype.isnative) for a in arrays)
        return Opened(structure, opening, None) if is_plain and arrays else None
    homes = {*map(PLAIN_TYPES.get, kinds)}
    home = homes.pop() if len(homes) == 1 else None
    # an engine takes the device from the first of the arrays
    is_at_home = home is not None and type(arrays[0]) in kinds and {*map(type, arrays)} <= kinds | {float}
    return Opened(structure, opening, home) if is_at_home else None


def remembered(
    given: Opened, args: Sequence[Any], kwargs: Mapping[str, Any], call: tuple[Compiled, int]
) -> Known | None:
    """What further calls of this form can go to; None where the arguments are not taken apart as they are here.

    Args:
        given: what `opened` has found in the arguments.
        args: the positional arguments, static ones pinned.
        kwargs: those by name.
        call: the program of this call, and how many arrays it takes.
    """
    compiled, count = call
    leaves, _ = flatten(((*args,), {**kwargs}))
    taken = {id(x) for x in given.leaves}
    arrays = [leaf for leaf in leaves if id(leaf) in taken]
    if not len(given.leaves) == len(arrays) == count or not all(map(is_, arrays, given.leaves)):
        return None
    held = {id(leaf) for leaf in leaves}
    integers = {place for place, x in enumerate(given.arrays) if type(x) is int}
    are_alike = all(id(x) in held for x in given.objects) and integers == {*(compiled.limits or ())}
    if not are_alike or compiled.home not in (None, given.home):
        return None
    return Known(compiled, [unpinned(leaf) for leaf in leaves if id(leaf) not in taken])


class _UnfitError(Exception):
    """An argument is neither arrays nor a value that can be told from others."""


class _Opening:
    """Takes arguments apart.

    Attributes:
        leaves: the arrays, tensors, numbers and lists of these that were found, in the order of `flatten`.
        arrays: the same as arrays and numbers.
        objects: what is compared by identity.
    """

    def __init__(self, are_inputs: bool) -> None:
        self.leaves: list[Any] = []
        self.arrays: list[Any] = []
        self.objects: list[Any] = []
        self._are_inputs = are_inputs

    def part(self, value: object) -> Structure:
        """What there is in a place; notes the arrays in it in the order of `flatten`."""
        kind: type[Any] = type(value)
        if kind is np.ndarray or kind in PLAIN_TYPES or kind in _SCALARS:
            return self._leaf(kind, value)
        held: Any = value
        if kind is Tensor or kind is Written:
            return self._tensor(held_now(held), kind is Written)
        if kind is np.memmap:
            self._take(value, np.asarray(held))
            return Leaf.MAPPED
        if kind is dict:
            return kind, (*held,), *map(self.part, held.values())
        if kind is list and _may_be_array(held):
            return self._numbers(held)
        if kind is tuple or kind is list:
            return kind, None, *map(self.part, held)
        if kind in _BY_IDENTITY or kind in _BY_VALUE or kind is slice or isinstance(held, np.dtype):
            return _exactly(value)
        attributes = attributes_of(value)
        if attributes is not None:
            names = (*[name for name, _, _ in attributes],)
            parts = [_exactly(x) if is_static else self.part(x) for _, x, is_static in attributes]
            return kind, Fields(names, names if names == (*getattr(value, "__dict__", ()),) else None), *parts
        if is_registered(kind):
            raise _UnfitError
        if maker_of(kind) is not None:
            return kind, None, *map(self.part, held)
        found = _itself(value)
        self.objects.append(value)
        return found

    def _leaf(self, kind: type, value: object) -> Structure:
        if kind is int and not self._are_inputs:
            return Same(int, value)
        self._take(value, value)
        return Leaf.INTEGER if kind is int else Leaf.COMPLEX if kind is complex else Leaf.ARRAY

    def _tensor(self, value: Tensor, is_written: bool) -> Structure:
        array: Any = value._data
        if type(array) is not np.ndarray and type(array) not in NUMPY_NUMBERS:
            raise _UnfitError
        self._take(value, array)
        return Held(value._weak, is_bare(value), is_written)

    def _numbers(self, value: list[Any]) -> Structure:
        kinds: list[frozenset[type[Any]]] = [frozenset(map(type, value))]
        items = value
        while kinds[-1] == _LISTS:
            items = [*chain.from_iterable(items)]
            kinds.append(frozenset(map(type, items)))
        if not kinds[-1] or not kinds[-1] <= _IN_LISTS:
            raise _UnfitError
        array = np.array(value)
        found = Numbers((*kinds,), array.dtype)
        self._take(value, array.astype(_dtype_of(found)))
        return found

    def _take(self, leaf: object, array: Any) -> None:
        self.leaves.append(leaf)
        self.arrays.append(array)


def _may_be_array(value: object) -> bool:
    """Whether a list may be one of numbers, at any depth, which is an array."""
    kind = type(value)
    if kind is list:
        held: Any = value
        return bool(held) and _may_be_array(held[0])
    return kind in _SCALARS or kind is bool


def _dtype_of(numbers: Numbers) -> np.dtype[Any]:
    """The dtype of the array that a list is: bare floats take the default one."""
    return dtypes.default_float() if numbers.dtype.kind == "f" else numbers.dtype


def _exactly(value: object) -> Structure:
    """A value of the signature, which a further call must have again."""
    kind = type(value)
    held: Any = value
    if kind in _BY_IDENTITY:
        return Itself(value)
    if kind in _BY_VALUE or isinstance(value, np.dtype) or (kind is float and held * held > 0.0):  # no zero, no NaN
        return Same(kind, value)
    if kind is tuple:
        return kind, None, *map(_exactly, held)
    if kind is slice:
        return kind, Fields(("start", "stop", "step")), *map(_exactly, (held.start, held.stop, held.step))
    return _itself(value)


def _itself(value: object) -> Itself:
    if type(value).__eq__ is not object.__eq__:
        raise _UnfitError
    return Itself(value)


# -- code that takes arguments apart ----------------------------------------------------------------------------------


def through(structure: Structure, run: Callable[..., Any], compiled: Compiled) -> Callable[..., Any]:
    """A function of arrays as one of arguments of a structure; NotImplemented where they are of another one.

    It is code made for the structure: at ten elements a call of Python for each container costs as much as the program.

    Args:
        structure: of the arguments.
        run: the function of arrays.
        compiled: the program, which says what Python's numbers become.
    """
    unpacking = _Unpacking(compiled)
    positional, named = structure
    parameters = "*args"
    unpacking.add(positional, "args")
    if named[1]:
        parameters = "*args, **kwargs"
        unpacking.add(named, "kwargs")
    binder, other = unpacking.binder, unpacking.other
    lines = indent("\n".join(unpacking.lines), "   ")
    text = f"({parameters}):\n  try:\n{lines}\n  except {binder(_ERRORS)}: return {other}\n"
    return made("formed", f"{text}  return {binder(run)}({', '.join(unpacking.operands)})", binder)


_ERRORS = (ValueError, AttributeError)


class _Unpacking:
    """Source that takes arguments apart.

    Attributes:
        binder: has what it compares with.
        lines: statements.
        operands: expressions, one for each array.
        other: what it returns where arguments are of another structure.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.binder = Binder()
        self.lines: list[str] = []
        self.operands: list[str] = []
        self.other = self.binder(NotImplemented)
        self._compiled = compiled

    def add(self, structure: Structure, name: str) -> None:
        """What takes apart the value of this name."""
        if type(structure) is Leaf:
            self.operands.append(self._operand(structure, name))
        elif type(structure) is Held:
            self.operands.append(self._array_of(structure, name))
        elif type(structure) is Numbers:
            self.operands.append(self._array_from(structure, name))
        elif type(structure) is Itself:
            self._refuse_if(f"{name} is not {self.binder(structure.value)}")
        elif type(structure) is Same:
            kind, value = map(self.binder, structure)
            self._refuse_if(f"{self.binder(type)}({name}) is not {kind} or {name} != {value}")
        else:
            self._open(name, *structure)

    def _open(self, name: str, kind: type, keys: Any, *parts: Structure) -> None:
        if name not in ("args", "kwargs"):
            self._refuse_if(f"{self.binder(type)}({name}) is not {self.binder(kind)}")
        names = [f"{name}_{place}" for place in range(len(parts))]
        items = name
        if type(keys) is Fields:
            if keys.all is not None:
                self._refuse_if(f"(*{name}.__dict__,) != {self.binder(keys.all)}")
            items = "".join(f"{name}.{field}, " for field in keys.names)
        elif kind is dict:
            self._refuse_if(f"(*{name},) != {self.binder(keys)}")
            items = f"{name}.values()"
        self.lines.append(f"{''.join(f'{part}, ' for part in names) or '()'} = {items or '()'}")
        for part, inner in zip(names, parts, strict=True):
            self.add(inner, part)

    def _operand(self, leaf: Leaf, name: str) -> str:
        place = len(self.operands)
        if leaf is Leaf.ARRAY:
            return name
        if leaf is Leaf.MAPPED:
            self._refuse_if(f"{self.binder(type)}({name}) is not {self.binder(np.memmap)}")
            return f"{self.binder(np.asarray)}({name})"
        kind = int if leaf is Leaf.INTEGER else complex
        self._refuse_if(f"{self.binder(type)}({name}) is not {self.binder(kind)}")
        if leaf is Leaf.INTEGER:
            low, high = (self._compiled.limits or {})[place]
            self._refuse_if(f"not {self.binder(low)} <= {name} <= {self.binder(high)}")
        dtype = np.dtype(np.int64) if leaf is Leaf.INTEGER else self._compiled.graph.inputs[place].dtype
        return f"{self.binder(dtype.type)}({name})"

    def _array_of(self, held: Held, name: str) -> str:
        kind = Written if held.is_written else Tensor
        self._refuse_if(f"{self.binder(type)}({name}) is not {self.binder(kind)}")
        if held.is_written:
            self.lines.append(f"{name} = {self.binder(held_now)}({name})")
        self._refuse_if(f"{'not ' if held.weak else ''}{name}._weak")
        if dtypes.is_integer(self._compiled.graph.inputs[len(self.operands)].dtype):
            self._refuse_if(f"{name}._key {'not ' if held.is_bare else ''}in {self.binder(bare_keys())}")
        return f"{name}._data"

    def _array_from(self, numbers: Numbers, name: str) -> str:
        bind, items = self.binder, name
        for place, kinds in enumerate(numbers.kinds):
            test = f"{{*{bind(map)}({bind(type)}, {items})}} != {bind(kinds)}"
            self._refuse_if(test if place else f"{bind(type)}({name}) is not {bind(list)} or {test}")
            if place + 1 < len(numbers.kinds):
                self.lines.append(f"{name}_in = [*{bind(chain.from_iterable)}({items})]")
                items = f"{name}_in"
        self.lines.append(f"{name} = {bind(np.array)}({name})")
        if _dtype_of(numbers) == numbers.dtype:
            return name
        self._refuse_if(f"{name}.dtype != {bind(numbers.dtype)}")
        return f"{name}.astype({bind(_dtype_of(numbers))})"

    def _refuse_if(self, test: str) -> None:
        self.lines.append(f"if {test}: return {self.other}")


__all__ = ["Known", "Opened", "opened", "remembered", "through"]
