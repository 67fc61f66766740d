"""From a function to everything that its code can read beside its arguments.

The names in its code are followed to values, the functions among these to their code, and so on. Of an object only
the attributes are looked at that some code reached names; of a dictionary read with constant keys only these; other
containers whole. So what a program changes on the side (a log, a counter that f does not read) causes no new trace.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import weakref
from abc import ABCMeta, get_cache_token
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from datetime import date
from enum import Enum
from numbers import Number
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)  # fmt: skip
from typing import Any

import numpy as np

from ..._core.adopted_names import home_of
from ..._core.engine import WITHOUT_VALUES, is_native
from ..._core.kinds import SEQUENCES
from ..._core.tensor import Tensor
from ..._core.user_line import is_library_file
from .changing import PATHS_ARE_READ, changing_name, is_iterator, is_path, random_state
from .reads import CELL, GLOBAL, LOCAL, MUTATORS, Access, Chain, reads_of
from .watch import (
    MISSING,
    Attribute,
    Attributes,
    Cell,
    Contents,
    Elements,
    Entries,
    Item,
    Names,
    StaticAt,
    Watch,
    flat,
    same_buffer,
    same_context,
    same_data,
    same_frame,
    same_token,
)  # fmt: skip

LIMIT = 5000  # values that are looked at; who captures more has captured a program's whole state

_ATOMS: tuple[type, ...] = (
    type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, np.ufunc, type(Ellipsis), range, slice,
    CodeType,
)  # fmt: skip
# locks, files and the like have no data to compare
_WITHOUT_DATA = frozenset({"_thread", "threading", "logging", "_io", "re", "weakref", "_weakref"})
_GROWING = (list, dict, set, deque)
_MAPPINGS = (dict, MappingProxyType)
# classes of libraries whose objects hold what users put there, in whatever number
_HOLDERS = frozenset({("types", "SimpleNamespace"), ("argparse", "Namespace"), ("_thread", "_local")})
_WHOLE = frozenset({"vars", "dir"})  # what reads all attributes of an object
# what reads attributes by strings, which code may put together
_BY_STRINGS = frozenset({"getattr", "attrgetter", "getattr_static", "__getattribute__", "__getattr__"})
# how a value of these classes was found, beside names of attributes: code goes on to an attribute of it; any other way
_READ, _ANYHOW = "", "*"
_FRAMES = frozenset({"pandas", "xarray", "polars"})
SIZES = frozenset({"shape", "ndim", "dtype", "size", "itemsize", "nbytes"})


Site = tuple[CodeType, Chain, int]  # a chain that loads an array, and how many of its steps lead to it


def is_array(value: object) -> bool:
    """Whether a value may become an input of the program."""
    return isinstance(value, (np.ndarray, Tensor))


class Slot:
    """An array or tensor that was found among what a function can read.

    Attributes:
        value: the array.
        watches: where it was found.
        sites: chains that load it, with how many of their steps lead to it.
        attributes: the names of attributes under which it was found.
        is_loose: whether it was found where no chain leads (in a list, say).
        is_free: whether another array like it may take its place without a new trace.
    """

    __slots__ = ("_pin", "attributes", "is_free", "is_loose", "sites", "value", "watches")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.watches: list[Watch] = []
        self.sites: list[Site] = []
        self.attributes: set[str] = set()
        self.is_loose = False
        self.is_free = False
        self._pin: Any = None

    def pin(self) -> None:
        """Keeps NumPy from moving the array's memory, of which a program has views: what a reference knows is not
        resized, with `refcheck=False` either.
        """
        self._pin = weakref.ref(self.value)

    def put(self, value: Any) -> None:
        """Another array in the place of this one."""
        self.value = value
        if self._pin is not None:
            self.pin()

    @property
    def path(self) -> str:
        """How the user calls the first place where it was found, or ""."""
        return self.watches[0].path if self.watches else ""


class Reach:
    """All that a function can read, as `watches`; arrays are in `slots`, too, by `id`.

    Attributes:
        names: attributes that some code reads.
        bare: those of them with whose value some code does something else than to read an attribute of it.
        fragments: parts of strings in code, which names of attributes may be put together of.
        grown: attributes that some code only calls `append` and the like of.
        writes_text: whether some code makes text of values.
        changes: names of what changes by itself.
        sources: random numbers' sources, with their paths.
        chains: those of all code reached.
        natives: frameworks' arrays and variables, with their paths.
        unread: those that objects of libraries hold under names that no code reads.
        standing: where code loads these, by `id`.
        is_read: which of them (by `id`) some code reads by a method that gives plain numbers.
    """

    def __init__(self, f: Callable[..., Any], statics: Sequence[Any], paths: Sequence[str]) -> None:
        self.watches: list[Watch] = []
        self.slots: dict[int, Slot] = {}
        self.changes: list[str] = []
        self.sources: list[tuple[str, Any]] = []
        self.chains: list[tuple[CodeType, Chain]] = []
        self.natives: list[tuple[str, Any]] = []
        self.unread: list[tuple[str, Any]] = []
        self.standing: dict[int, Slot] = {}
        self.is_read: set[int] = set()
        self._held: list[tuple[set[str], Any]] = []  # what objects of libraries hold, with the names that it goes by
        self._attribute_of: list[tuple[str, Any]] = []  # natives found as attributes
        self.names: set[str] = set()
        self.bare: set[str] = set()
        self.fragments: set[str] = set()
        self._strings: set[str] = set()  # found as values
        self._goes_by_strings = False
        self.grown: set[str] = set()
        self.writes_text = False
        self.is_cut = False  # at the limit
        self._seen: dict[int, Any] = {}
        self._places: set[tuple[int, Any]] = set()
        self._types: set[type] = set()
        self._objects: list[tuple[Any, Any, str, set[str]]] = []  # owner, object, path, names looked up so far
        self._queue: deque[Callable[[], None]] = deque()
        self._holders: list[tuple[Any, Any, str]] = []  # owner, object, path: so far only attributes of it were read
        self._found_as: defaultdict[int, set[str]] = defaultdict(set)  # of these by `id`, see `_visit`
        self._home = _package_of(f)
        self._codes: list[FunctionType] = []  # functions that are not found at a place which is watched
        self._visit(f, "")
        for index, (value, path) in enumerate(zip(statics, paths, strict=True)):
            self._visit(value, path, StaticAt(index))
        self._finish()

    def _finish(self) -> None:
        """Until nothing new is found: each function adds names, each name may be an attribute of an object."""
        while True:
            while self._queue:
                self._queue.popleft()()
            strings = len(self._strings)
            if self._goes_by_strings or not _BY_STRINGS.isdisjoint(self.names):
                self._goes_by_strings = True
                self.bare |= self.fragments | self._strings
                self.names |= self._strings
                self.names.update(*[self._computed_names(value) for _, value, _, _ in self._objects])
            for entry in [*self._objects]:
                self._attributes(*entry)
            self._read_whole_holders()
            if not self._queue and len(self._strings) == strings:
                break
        if self.watches:  # else the call looks at nothing, which is faster
            for f in self._codes:
                self._code(f, "the function")
        self._choose_natives()
        if named := self.names & PATHS_ARE_READ:
            self._note(f"Path.{min(named)}")
        for owner, value, path, looked_up in self._objects:
            held = getattr(value, "__dict__", None)
            if isinstance(held, (dict, MappingProxyType)) and (absent := looked_up.difference(held)):
                self.watches.append(Names(owner, frozenset(absent), path, len(held)))

    def _choose_natives(self) -> None:
        """Leaves those out that objects of libraries hold under names that no code reads: other layers' weights."""
        if not self.names & _ALL_WEIGHTS:
            unread = {id(value) for names, value in self._held if not names & self.names}
            self.unread = [found for found in self.natives if id(found[1]) in unread]
            self.natives = [found for found in self.natives if id(found[1]) not in unread]
        pairs = {(a.key, b.key) for _, chain in self.chains for a, b in itertools.pairwise(chain.steps)}
        if self.names & _HANDS_OUT:
            self.is_read |= {id(value) for _, value in self._held}
        for name, value in self._attribute_of:
            if any((name, key) in pairs for key in _GIVES_NUMBERS):
                self.is_read.add(id(value))

    def forget(self) -> None:
        """Lets go of what only the search needs; watches and slots stay."""
        self._seen.clear()
        self._objects.clear()
        self.chains.clear()
        self.natives.clear()
        self.unread.clear()
        self.standing.clear()
        self._held.clear()
        self._attribute_of.clear()

    # -- values -----------------------------------------------------------------------------------------

    def _visit(self, value: object, path: str, owner: object = None, found_as: str = _ANYHOW) -> None:
        """Looks at what a value holds; `owner` is what stands for the value where its identity is not watched.

        `found_as` is the attribute that it was found as, or `_READ` where code goes on to an attribute of the value.
        """
        if isinstance(value, _ATOMS):
            if isinstance(value, str):
                self._strings.add(value)
            return
        if _is_holder(type(value)):
            self._found_as[id(value)].add(found_as)
        if type(value) in WITHOUT_VALUES:
            return  # of layers: a function that reads one is told so where a chain of names leads to it
        if _is_standing(value):
            self._native(value, path).is_loose = True  # where a place was watched, it is not visited
            return
        if id(value) in self._seen:
            return
        if len(self._seen) >= LIMIT:
            self.is_cut = True
            return
        self._seen[id(value)] = value
        self._queue.append(functools.partial(self._look, value, path, value if owner is None else owner))

    def _look(self, value: Any, path: str, owner: Any) -> None:
        kind = type(value)
        if kind is FunctionType:
            self._function(value, path)
        elif kind is MethodType:
            self._visit(value.__func__, path)
            self._visit(value.__self__, path.rpartition(".")[0] or "self")
        elif isinstance(value, functools.partial):
            self._all(path, (value.func, *value.args, *value.keywords.values()))
        elif isinstance(value, attrgetter):
            parts = {part for name in value.__reduce__()[1] for part in name.split(".")}
            self.names |= parts
            self.bare |= parts
        elif isinstance(value, ModuleType) or kind in (BuiltinFunctionType, BuiltinMethodType):
            self._goes_by_strings |= value is getattr
            self._source(path, getattr(value, "__self__", None))
        elif is_array(value):
            self._slot(value, path).is_loose = True  # where a place was watched, the array is not visited
        elif isinstance(value, type):
            self._class(value)
            if isinstance(value, ABCMeta) and self._is_users(value.__module__):
                self.watches.append(Contents(value, same_token, f"what counts as {path}", get_cache_token()))
        elif isinstance(value, tuple):
            for index, element in enumerate(value):
                self._found(None, element, f"{path}[{index}]")
        elif isinstance(value, (list, deque)):
            self._contents(Elements(owner, None, path, (*value,)), value)
        elif isinstance(value, _MAPPINGS):
            entries = flat(value)
            self._contents(Entries(owner, None, path, entries), entries[1::2])
            self._strings.update(key for key in value if isinstance(key, str))
        elif isinstance(value, (set, bytearray)):
            self.watches.append(Contents(owner, same_data, path, value.copy()))
        elif isinstance(value, ContextVar):
            self.watches.append(Contents(owner, same_context, path, value.get(MISSING)))
        elif _shows_memory(kind):
            self.watches.append(Contents(owner, same_buffer, path, memoryview(value).tobytes()))
        else:
            self._object(value, path, owner)

    def _contents(self, watch: Watch, elements: Iterable[Any]) -> None:
        self.watches.append(watch)
        for index, element in enumerate(elements):
            self._found(watch, element, f"{watch.path}[{index}]")

    def _callables(self, value: object, path: str) -> None:
        """The functions that something of ours, or of a library, holds."""
        if isinstance(value, (list, tuple, set)):
            for element in value:
                self._callables(element, path)
        elif isinstance(value, dict):
            self._callables([*value.values()], path)
        elif callable(value):
            self._visit(value, path)

    def _all(self, path: str, values: Iterable[Any]) -> None:
        for value in values:
            self._visit(value, path)

    def _found(self, watch: Watch | None, value: object, path: str) -> None:
        """What stands at a place that is watched (by `watch`), but that no chain of names leads to."""
        if is_array(value):
            slot = self._slot(value, path)
            slot.is_loose = True
            if watch is not None:
                slot.watches.append(watch)
        else:
            self._visit(value, path)

    def _slot(self, value: object, path: str = "") -> Slot:
        slot = self.slots.get(id(value))
        if slot is None:
            slot = self.slots[id(value)] = Slot(value)
            if isinstance(value, np.ndarray) and value.dtype.hasobject:
                self._all("", value.ravel().tolist())
            kind = type(value)
            if isinstance(value, np.ndarray) and kind is not np.ndarray and not hasattr(kind, "__wengert_made__"):
                slot.is_loose = True  # it has attributes and methods of its own
                self._object(value, path, value)
        return slot

    def _native(self, value: Any, path: str) -> Slot:
        """The slot of a framework's array or variable."""
        slot = self.standing.get(id(value))
        if slot is None:
            slot = self.standing[id(value)] = Slot(value)
            self.natives.append((path, value))
        return slot

    def _object(self, value: Any, path: str, owner: object) -> None:
        kind = type(value)
        reads = getattr(kind, "__wengert_reads__", None)
        state = random_state(value)
        if reads is not None:
            self._all(path, reads(value))
        elif state is not None:
            self.sources.append((path, value))
        elif is_iterator(value):
            self.changes.append(f"the iterator {path}")
        elif kind.__module__.partition(".")[0] in _FRAMES and hasattr(value, "equals"):
            copy = value.copy() if hasattr(value, "copy") else value.clone()
            self.watches.append(Contents(owner, same_frame, path, copy))
        elif self._is_users(kind.__module__) or _is_holder(kind):
            self._objects.append((owner, value, path, set()))
            self._class(kind)
            if value.__class__ is kind:  # a proxy has another one, which may be made anew each time
                self._watch(Attribute, owner, "__class__", f"the class of {path}", kind)
            if _is_holder(kind):
                self._holders.append((owner, value, path))
        elif kind.__module__ not in _WITHOUT_DATA:
            self._library_object(value, path, owner)

    def _library_object(self, value: Any, path: str, owner: object) -> None:
        """An object of a library, whose code is not looked at: all its data; and what of ours holds functions."""
        if hasattr(value, "__wrapped__"):  # a function behind a cache
            self._visit(value.__wrapped__, path)
            return
        is_ours = home_of(type(value).__module__).partition(".")[0] == "wengert"
        for name, held in _instance_data(value):
            if is_ours:
                self._callables(held, path)
            elif isinstance(held, _DATA):
                self._held += [
                    ({str(key), str(getattr(v, "name", ""))}, v) for key, v in _entries(held) if _is_standing(v)
                ]
                self._watch_loose(owner, name, path, held)
            elif _leads_to_arrays(held, _package(value)):
                self._held += [({name}, held)] if _is_standing(held) else []
                self._watch_loose(owner, name, path, held)

    def _watch_loose(self, owner: object, name: str, path: str, held: object) -> None:
        """Watches an attribute of a library's object: what the library does with an array there is not looked at."""
        self._watch(Attribute, owner, name, f"{path}.{name}", held)
        slot = self._loaded(held, path)
        if slot is not None:
            slot.is_loose = True

    def _everything(self, owner: object, value: object, path: str) -> None:
        """All attributes of an object."""
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self._contents(Attributes(owner, None, f"vars({path})", flat(held)), [*held.values()])

    def _read_whole_holders(self) -> None:
        """Looks at all attributes of those objects that some code handles other than by an attribute of theirs: it may
        compare or copy them, or hand them to a library.
        """
        bare, waiting, self._holders = {_ANYHOW, *self.bare}, self._holders, []
        for owner, value, path in waiting:
            if bare.isdisjoint(self._found_as[id(value)]):
                self._holders.append((owner, value, path))
            else:
                self._everything(owner, value, path)

    def _computed_names(self, value: object) -> list[str]:
        """Attributes of an object whose names code may put together (`getattr(model, f"layer{i}")`)."""
        held = getattr(value, "__dict__", None)
        names = [name for name in held if isinstance(name, str)] if isinstance(held, (dict, MappingProxyType)) else []
        ends = (*self.fragments,)
        return [name for name in names if not name.startswith("__") and (name.startswith(ends) or name.endswith(ends))]

    def _class(self, kind: type) -> None:
        """The methods of a user's class that operators call; the others are attributes of its objects."""
        if type(kind) is not type and self._is_users(type(kind).__module__):
            self._class(type(kind))
        for base in kind.__mro__:
            if not self._is_users(base.__module__):
                continue
            self._visit_type(base)
            for name, held in [*vars(base).items()]:
                if name.startswith("__") and name.endswith("__") and isinstance(held, FunctionType):
                    self._visit(held, f"{base.__name__}.{name}")

    def _visit_type(self, kind: type) -> None:
        if kind not in self._types:
            self._types.add(kind)
            self._objects.append((kind, kind, kind.__name__, set()))

    def _attributes(self, owner: object, value: object, path: str, looked_up: set[str]) -> None:
        """The attributes of an object, or of a class, that some code names."""
        for name in sorted((self.names | self.grown) - looked_up):
            is_grown = name == "__dict__" or isinstance(_instance_attribute(value, name), _GROWING)
            if name not in self.names and is_grown:
                continue
            looked_up.add(name)
            if name == "__dict__" and not isinstance(value, type):
                self._everything(owner, value, path)
                continue
            if isinstance(value, type):
                self._class_attribute(value, name)
                continue
            held = _instance_attribute(value, name)
            shared = self._class_data(type(value), name) if held is MISSING else MISSING
            if shared is not MISSING and not hasattr(type(shared), "__get__"):
                held = shared  # an attribute of the object may come to hide it
            if held is not MISSING:
                self._watch(Attribute, owner, name, f"{path}.{name}", held)

    def _class_attribute(self, kind: type, name: str) -> None:
        held = vars(kind).get(name, MISSING)
        path = f"{kind.__name__}.{name}"
        if isinstance(held, (staticmethod, classmethod)):
            self._visit(held.__func__, path)
        elif isinstance(held, property):
            self._all(path, [part for part in (held.fget, held.fset) if part is not None])
        elif isinstance(held, functools.cached_property):
            self._visit(held.func, path)
        elif isinstance(held, functools.singledispatchmethod):
            self._visit(held.dispatcher, path)
        elif held is not MISSING and hasattr(type(held), "__get__") and self._is_users(type(held).__module__):
            self._visit(held, path)
        elif isinstance(held, FunctionType) or (held is not MISSING and not hasattr(type(held), "__get__")):
            self._watch(Attribute, kind, name, path, held)

    def _class_data(self, kind: type, name: str) -> Any:
        bases = [base for base in kind.__mro__ if name in vars(base) and self._is_users(base.__module__)]
        return vars(bases[0])[name] if bases else MISSING

    def _is_users(self, module: str | None) -> bool:
        """Whether a module's code is looked at: the user's own, and the package that f itself comes from."""
        if type(module) not in (str, type(None)):  # some types of C's describe those of their instances
            return False
        if module is None:
            return True
        home = home_of(module)
        return is_users(home) or home.partition(".")[0] == self._home

    # -- places -----------------------------------------------------------------------------------------

    def _watch(
        self, kind: type[Watch], owner: object, key: Any, path: str, value: Any, site: Site | None = None
    ) -> None:  # fmt: skip
        """Watches a place, once, and looks at what is there."""
        place = (id(owner), key)
        if place not in self._places:
            self._places.add(place)
            self._seen.setdefault(id(owner), owner)  # kept, so that no other object gets its `id`
            watch = kind(owner, key, path, value)
            self.watches.append(watch)
            if (slot := self._loaded(value, path)) is not None:
                slot.watches.append(watch)
        slot = self._loaded(value, path)
        if slot is not None:
            if site is not None:
                slot.sites.append(site)
            elif kind is Attribute:
                slot.attributes.add(key)
            else:
                slot.is_loose = True
        if value is not MISSING and site is None and slot is None:
            self._visit(value, path, found_as=key if kind is Attribute else _ANYHOW)
        if kind is Attribute and site is None and _is_standing(value):
            self._attribute_of.append((key, value))

    def _loaded(self, value: object, path: str) -> Slot | None:
        """The slot of an array, a framework's included; None for anything else."""
        if is_array(value):
            return self._slot(value, path)
        return self._native(value, path) if _is_standing(value) else None

    # -- code -------------------------------------------------------------------------------------------

    def _function(self, f: FunctionType, path: str) -> None:
        code = f.__code__
        if not self._is_users(f.__module__):
            for cell in f.__closure__ or ():
                self._callables(_content(cell), path)
            return
        if vars(f):
            self._objects.append((f, f, path, set()))
        if isinstance(registry := vars(f).get("registry"), MappingProxyType):  # of `functools.singledispatch`
            self._visit(registry, f"{path}.registry")
        if not path:
            self._codes.append(f)
        elif f.__name__ == "__call__" or not f.__name__.startswith("__"):
            self._code(f, f"the code of {f.__name__}")
        reads = reads_of(code)
        self.names |= reads.names
        self.bare |= reads.bare
        self.fragments |= reads.fragments
        self.grown |= reads.grown
        self.writes_text |= reads.writes_text
        self.chains += reads.chains
        for name in ("__defaults__", "__kwdefaults__"):
            held = getattr(f, name)
            if held:
                self._watch(Attribute, f, name, f"the default arguments of {f.__name__}", held)
        cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
        for where, chain in reads.chains:
            self._chain(where, chain, f.__globals__, cells)

    def _code(self, f: FunctionType, path: str) -> None:
        """Tools that reload sources give functions that are there already other code."""
        self._watch(Attribute, f, "__code__", path, f.__code__)

    def _chain(self, where: CodeType, chain: Chain, names: dict[str, Any], cells: dict[str, CellType]) -> None:
        """Follows a chain as far as its places are plain to see: names, modules, dictionaries."""
        if chain.kind == LOCAL or (chain.is_effect and not chain.steps):
            return
        site = (where, chain, 0)
        if chain.kind == CELL:
            value = _content(cells[chain.name])
            self._watch(Cell, cells[chain.name], None, chain.name, value, site)
        elif chain.kind == GLOBAL:
            value = self._global(chain, names, site)
        else:
            value = sys.modules.get(chain.name, MISSING)
        path, found_as = chain.name, _ANYHOW
        for taken, step in enumerate(chain.steps, 1):
            if isinstance(value, _GROWING) and step.key in MUTATORS:
                return  # nothing is read of what it holds
            after = self._step(value, step, path, (where, chain, taken))
            if after is None:
                if step.key in _GIVES_NUMBERS and _is_standing(value):
                    self.is_read.add(id(value))
                found_as = _ANYHOW if step.is_item else _READ
                break
            value, path = after
        if not chain.steps:
            self._note(changing_name(None, chain.name, value, chain.calls_bare))
        if value is not MISSING and not chain.is_effect and not is_array(value) and id(value) not in self.standing:
            self._visit(value, path, found_as=found_as)

    def _global(self, chain: Chain, names: dict[str, Any], site: Site) -> Any:
        value = names.get(chain.name, MISSING)
        held = vars(builtins).get(chain.name, MISSING) if value is MISSING else value
        if value is not MISSING or held is MISSING:
            self._watch(Item, names, chain.name, chain.name, value, site)
        elif chain.name not in _QUIET_BUILTINS:
            self._watch(Item, names, chain.name, chain.name, MISSING, site)
        if value is MISSING and held is not MISSING:
            if chain.name in _WHOLE:
                self.names.add("__dict__")
            self._goes_by_strings |= chain.name in _BY_STRINGS
            self._note(changing_name(None, chain.name, held, False))
        return held

    def _step(self, value: object, step: Access, path: str, site: Site) -> tuple[Any, str] | None:
        """What a step leads to, if it is plain to see."""
        if isinstance(value, ModuleType) and not step.is_item:
            held = vars(value).get(step.key, MISSING)
            if held is MISSING and (value.__name__, step.key) == ("numpy", "random"):
                held = getattr(value, step.key)  # loaded here, so that the state of its numbers is known before
            if held is MISSING:
                held = sys.modules.get(f"{value.__name__}.{step.key}", MISSING)
            self._note(changing_name(value, step.key, held, site[1].calls_bare))
            if self._is_users(value.__name__):
                self._watch(Item, vars(value), step.key, f"{path}.{step.key}", held, site)
            return held, f"{path}.{step.key}"
        if isinstance(value, _MAPPINGS) and step.is_item and isinstance(step.key, (str, int)):
            held = value.get(step.key, MISSING)
            self._watch(Item, value, step.key, f"{path}[{step.key!r}]", held, site)
            return held, f"{path}[{step.key!r}]"
        element = _element(value, step)
        if element is not MISSING:
            self._watch(Item, value, step.key, f"{path}[{step.key}]", element, site)
            return element, f"{path}[{step.key}]"
        if not step.is_item and (isinstance(value, type) or is_path(value)):
            self._note(changing_name(value, step.key, None, False))
        return None

    def _note(self, name: str) -> None:
        if name and name not in self.changes:
            self.changes.append(name)

    def _source(self, path: str, owner: object) -> None:
        """The generator behind a bound method of one (`np.random.normal`)."""
        if owner is not None and not isinstance(owner, ModuleType) and random_state(owner) is not None:
            self.sources.append((path, owner))


# Names that nobody gives to anything else: what shadows a built-in under another name is seen.
_QUIET_BUILTINS = frozenset({
    "len", "range", "float", "int", "bool", "str", "list", "tuple", "dict", "set", "isinstance", "getattr", "hasattr",
    "enumerate", "zip", "super", "print", "ValueError", "TypeError", "RuntimeError", "KeyError", "IndexError", "type",
    "callable", "repr", "complex", "reversed", "property", "object", "__build_class__", "__name__",
})  # fmt: skip
_DATA = (*_ATOMS, np.ndarray, Tensor, list, tuple, dict, set, frozenset, Enum, Number, date)


# methods and attributes of frameworks' arrays and variables that lead out of ops
_GIVES_NUMBERS = frozenset({"item", "tolist", "numpy", "detach", "data", "value", "read_value", "cpu"})
# what hands out all that a layer or a module holds: arrays to compute with, or variables, which ops and tapes take
_HANDS_OUT = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict", "get_weights"})
_ALL_WEIGHTS = _HANDS_OUT | {
    "weights", "variables", "trainable_weights", "trainable_variables", "non_trainable_weights",
    "non_trainable_variables",
}  # fmt: skip


def _is_standing(value: object) -> bool:
    """Whether a value is an array or a variable of a framework."""
    return not isinstance(value, (*_ATOMS, np.ndarray, Tensor, type)) and is_native(type(value))


# their objects keep what can change in variables, which are found in their containers
_WITH_VARIABLES = frozenset({"keras", "tensorflow", "torch"})
_LOOKED_AT = 4096  # objects within objects of a library


def _package(value: object) -> str:
    """The package that an object's class is from."""
    return type(value).__module__.partition(".")[0]


def _leads_to_arrays(value: object, package: str) -> bool:
    """Whether what an object of a library holds is a framework's array, or an object of the same library around one."""
    if package in _WITH_VARIABLES:
        return False
    waiting, seen = [value], {id(value)}
    for held in waiting:  # grows meanwhile
        if _is_standing(held):
            return True
        if isinstance(held, (*_ATOMS, type)) or _package(held) != package or len(seen) > _LOOKED_AT:
            continue
        for _, found in _instance_data(held):
            inside = [part for part in (found, *[v for _, v in _entries(found)]) if id(part) not in seen]
            seen.update(map(id, inside))
            waiting += inside
    return False


def _element(value: Any, step: Access) -> Any:
    """What a step takes of a list or a tuple; MISSING where it takes something else."""
    is_place = isinstance(value, SEQUENCES) and step.is_item and type(step.key) is int
    return value[step.key] if is_place and -len(value) <= step.key < len(value) else MISSING


def _entries(held: object) -> Iterable[tuple[Any, Any]]:
    """What a container holds, with its keys where it has some."""
    if isinstance(held, dict):
        return [*held.items()]
    return [("", value) for value in held] if isinstance(held, (list, tuple)) else []


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def _instance_data(value: object) -> list[tuple[str, Any]]:
    held = getattr(value, "__dict__", None)
    found = [*held.items()] if isinstance(held, dict) else []
    names = [name for kind in type(value).__mro__ for name in _slots(kind)]
    return found + [(name, getattr(value, name)) for name in names if hasattr(value, name)]


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return [name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__")]


def _is_holder(kind: type) -> bool:
    return (kind.__module__, kind.__name__) in _HOLDERS


def _shows_memory(kind: type) -> bool:
    """Whether a type's objects are memory that others may write to: views, `array.array`, what `ctypes` makes."""
    return kind is memoryview or any(base.__module__ in ("array", "_ctypes") for base in kind.__mro__)


_STORES = ("_parameters", "_buffers", "_modules")  # where a torch.nn.Module keeps attributes that it looks up by itself


def _instance_attribute(value: object, name: str) -> Any:
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        for found in (held, *[held[store] for store in _STORES if store in held]):
            if isinstance(found, dict) and name in found:
                return found[name]
    is_slot = type(getattr(type(value), name, None)).__name__ == "member_descriptor"
    return getattr(value, name, MISSING) if is_slot else MISSING


@functools.lru_cache(maxsize=4096)
def is_users(module: str) -> bool:
    """Whether a module is of the user's own making: none of the standard library, ours or installed."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return module.partition(".")[0] not in sys.stdlib_module_names and module != "builtins"
    return not (is_library_file(file) or "site-packages" in file or "dist-packages" in file)


def _package_of(f: object) -> str:
    """The installed package that a function is from, or "" where it is none to be looked at."""
    inner = getattr(f, "__wrapped__", f)
    module = getattr(inner, "__module__", None) or ""
    file = getattr(sys.modules.get(module), "__file__", None)
    return "" if file is None or is_library_file(file) else home_of(module).partition(".")[0]


__all__ = ["SIZES", "Reach", "Site", "Slot", "is_array"]
