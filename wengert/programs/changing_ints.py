"""Turns Python integer arguments of a `function` that change from call to call into inputs of its program.

An integer is part of the signature until the third of its values comes. Then the function is traced with it as an
input; where it never asks for the value and gives the same as with the integer itself, one program serves all values
from then on.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._compile.bridge import is_known
from .._compile.cache import Compiled
from .._compile.trace import ArrayKey, Static, Traced
from .._compile.whole_numbers import LEAST, MOST, limits
from .._control.call import has_effect
from .._core import dtypes
from .._core.constant import number
from .._core.engine import Engine
from .._core.state import STATE, pausing
from .._core.structure import Spec
from .._core.tensor import Tensor
from .._core.user_line import is_library_file

INT_KEY = ArrayKey((), np.dtype(np.int64), True, True)  # weak, and a float where it is differentiated, as a Python int
_VALUES = 3  # of one argument, before it is tried as an input
_SINGLY = 4  # arguments that are tried one by one, where all of them together fail
_STRETCHES = 16  # of values between which a program computes as Python does that are remembered
_GROUPS = 256  # signatures, integers left out, of which values are remembered

T = TypeVar("T")
Keys = tuple[Any, ...]
Group = tuple[Spec | None, Keys]


class ChangingInts:
    """What is known of the integers among the arguments of one function.

    Attributes:
        are_inputs: whether any are.
        due: a signature that has just been traced, and which of its integers are to be tried as inputs.
    """

    def __init__(self) -> None:
        self.are_inputs = False
        self.due: tuple[Spec | None, Keys, list[int]] | None = None
        self._inputs: dict[Group, set[int]] = {}
        self._seen: dict[Group, dict[int, set[int]]] = {}
        self._wanted: set[tuple[Spec | None, int]] = set()  # inputs for arrays of other shapes
        self._refused: set[tuple[Spec | None, int]] = set()

    def note(self, spec: Spec | None, keys: Keys) -> None:
        """Notes that there is a trace for integers by value."""
        places = [p for p, key in enumerate(keys) if _is_int(key) and (spec, p) not in self._refused]
        inputs = self._inputs.get((spec, without_ints(keys)), set()) if places and self.are_inputs else set[int]()
        places = [p for p in places if p not in inputs]  # beyond the bounds of such a program values are traced
        if not places:
            return
        if len(self._seen) >= _GROUPS:
            self._seen.clear()
        seen = self._seen.setdefault((spec, without_ints(keys)), {})
        for p in places:
            seen.setdefault(p, set()).add(keys[p].value)
        due = [p for p in places if len(seen[p]) >= _VALUES or (spec, p) in self._wanted]
        if due:
            self.due = (spec, keys, due)

    def claimed(self, spec: Spec | None, keys: Keys) -> list[int]:
        """The integers of this signature that are to be tried now; nobody else gets them."""
        due, self.due = self.due, None
        return due[2] if due is not None and due[:2] == (spec, keys) else []

    def accept(self, spec: Spec | None, keys: Keys, places: Sequence[int]) -> None:
        """From now on these are inputs for arguments of this signature."""
        group = (spec, without_ints(keys))
        self._inputs.setdefault(group, set()).update(places)
        self._seen.pop(group, None)
        self._wanted.update((spec, p) for p in places)
        self.are_inputs = True

    def refuse(self, spec: Spec | None, places: Sequence[int]) -> None:
        """They stay part of the signature."""
        self._refused.update((spec, p) for p in places)
        for (known, _), inputs in self._inputs.items():
            if known == spec:
                inputs.difference_update(places)

    def places_in(self, spec: Spec | None, keys: Keys) -> list[int]:
        """Which integers of a call are inputs."""
        found = self._inputs.get((spec, without_ints(keys)), ())
        return [p for p in sorted(found) if _is_int(keys[p])]


def _is_int(key: object) -> bool:
    """Whether it is a Python int that the user has not called static, and that an array can hold."""
    return type(key) is Static and type(key.value) is int and not key.is_named and LEAST <= key.value <= MOST


def without_ints(keys: Keys) -> Keys:
    """A signature with the integers left out."""
    return (*[None if key == INT_KEY or _is_int(key) else key for key in keys],)


def int_places(keys: Keys) -> list[int]:
    """Where integers are inputs."""
    return [p for p, key in enumerate(keys) if key == INT_KEY]


class Given(NamedTuple):
    """A call with some of its integers among the arrays."""

    keys: Keys
    tensors: list[Tensor]
    values: dict[int, int]  # these integers, by position among the arrays


def as_inputs(keys: Keys, tensors: Sequence[Tensor], places: Sequence[int]) -> Given:
    """A call with the integers at some places of its signature among the arrays."""
    changed, given = [*keys], iter(tensors)
    arrays: list[Tensor] = []
    values: dict[int, int] = {}
    for p, key in enumerate(keys):
        if p in places:
            changed[p] = INT_KEY
            values[len(arrays)] = key.value
            arrays.append(number(key.value))
        elif isinstance(key, ArrayKey):
            arrays.append(next(given))
    return Given((*changed,), arrays, values)


def suits_ints(compiled: Compiled, values: dict[int, int]) -> bool:
    """Whether a program whose integers are inputs computes with these as Python would.

    What lies between two stretches of such integers (a divisor that is 0, say) ends neither: the limits move.
    """
    for bounds in compiled.stretches:
        if all(bounds[p][0] <= v <= bounds[p][1] for p, v in values.items()):
            compiled.limits = bounds
            return True
    found = limits(compiled.graph, values)
    if found is None:
        return False
    compiled.limits = found
    compiled.stretches = [found, *compiled.stretches[: _STRETCHES - 1]]
    return True


# -- the trial --------------------------------------------------------------------------------------------------------

_TELLING = frozenset({"isinstance", "issubclass", "type", "hasattr", "getattr", "__class__"})
_MATCHES = opcode.opmap["MATCH_CLASS"]


class Withheld:
    """Context manager around a trace: notes whether the user's code may have looked at what an integer is.

    An input in its place refuses to tell its value, but not what it is (`isinstance(n, int)`), nor that it is no key of
    a dictionary.
    """

    def __init__(self) -> None:
        self._was_asked = False
        self._codes: set[CodeType] = set()

    def tell(self, tensor: Tensor) -> None:
        """A symbol is hashed or written out."""
        self._was_asked |= tensor._weak and dtypes.is_integer(tensor.dtype)

    @property
    def is_telling(self) -> bool:
        """Whether what was traced may depend on what it asked."""
        own = (code for code in self._codes if not is_library_file(code.co_filename))
        return self._was_asked or any(_asks_kinds(code) for code in own)

    def __enter__(self) -> Withheld:
        self._before = STATE.withheld
        STATE.withheld = self
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.setprofile(None)
        STATE.withheld = self._before

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self._codes.add(frame.f_code)


def _asks_kinds(code: CodeType) -> bool:
    return not _TELLING.isdisjoint(code.co_names) or _MATCHES in code.co_code[::2]


def can_try(fixed: Compiled, tensors: Sequence[Tensor]) -> bool:
    """Whether a call can be run twice and compared: nothing is seen of it, and its values are at hand.

    A profiler that runs would have to be stopped, and could not be started again.
    """
    return (
        STATE.builder is None
        and sys.getprofile() is None
        and not has_effect(fixed.graph)
        and all(not t.is_symbolic and is_known(t) for t in (*tensors, *fixed.captured))
    )


def most_of(places: list[int], try_at: Callable[[Sequence[int]], T | None]) -> tuple[list[int], T | None]:
    """The integers that can be inputs together, and what `try_at` gave for them: all, or those found one by one."""
    whole = try_at(places)
    if whole is not None:
        return places, whole
    chosen, found = list[int](), None
    for p in places[:_SINGLY] if len(places) > 1 else ():
        result = try_at([*chosen, p])
        if result is not None:
            chosen, found = [*chosen, p], result
    return chosen, found


def tried(
    make: Callable[[], Compiled], given: Given, fixed: Compiled, tensors: Sequence[Tensor], engine: Engine | None
) -> Compiled | None:
    """The program with integers as inputs, if it gives for this call what the one with their values gives.

    Args:
        make: traces it.
        given: the call for it.
        fixed: the program with the values.
        tensors: the arguments of that one.
        engine: what runs both, if not what the arguments ask for.
    """
    withheld = Withheld()
    try:
        with withheld:
            compiled = make()
        alike = not withheld.is_telling and _look_alike(fixed.traced, compiled.traced)
        if not alike or not suits_ints(compiled, given.values):
            return None
        with pausing():
            wanted, found = fixed.outputs(tensors, engine), compiled.outputs(given.tensors, engine)
    except Exception:  # whatever the reason, the program with the values stands
        return None
    is_same = all(_agree(x.numpy(), y.numpy()) for x, y in zip(wanted, found, strict=True))
    return compiled if is_same else None


def _look_alike(fixed: Traced, traced: Traced) -> bool:
    types = [[(v.shape, v.dtype, v.weak) for v in t.graph.outputs] for t in (fixed, traced)]
    return (fixed.results, fixed.places) == (traced.results, traced.places) and types[0] == types[1]


def _agree(wanted: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> bool:
    """Whether arrays of one type are the same up to rounding."""
    if not dtypes.is_inexact(wanted.dtype):
        return bool(np.array_equal(wanted, found))
    rounding = dtypes.eps_of(wanted.dtype) ** 0.75
    wide = complex if wanted.dtype.kind == "c" else float
    wanted, found = wanted.astype(wide), found.astype(wide)
    finite = np.isfinite(wanted)
    largest = float(np.abs(wanted[finite]).max(initial=0.0))
    rest = np.array_equal(wanted[~finite], found[~finite], equal_nan=True)
    return rest and bool((np.abs(wanted[finite] - found[finite]) <= rounding * largest).all())


__all__ = [
    "ChangingInts", "Given", "as_inputs", "can_try", "int_places", "most_of", "suits_ints", "tried", "without_ints",
]  # fmt: skip
