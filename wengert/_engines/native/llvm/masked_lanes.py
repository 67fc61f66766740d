"""Writes `Lanes` whose iterations take ways of their own: branches and loops that differ, and calls.

Both sides of a branch are run if any iteration takes them, and a loop until the last iteration is through; what an
iteration does not do leaves its variables as they are. So a special function of one number is one of a vector, and
takes as long as the longest way through it: the functions of `lower/formulas.py` are called that way.

A call of a function that has a form for vectors (`vector_form`) is one of that; others are called once for each
iteration. Iterations that do not take part give NaN, with which such functions soon end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, cast

from ..ir.loops import FLOATS, TYPES, Block, Call, If, Lanes, Load, Set, Typed, While
from . import lanes
from .values import REGISTER, Values

PREFIX = "own."  # what names of functions that have a form for vectors begin with
FORM = ".lanes"  # ... and what follows the name of such a form, before the number of lanes


def vector_form(name: str, count: int) -> str:
    """The name of a function's form for vectors."""
    return f"{name}{FORM}{count}"


class _Classes(lanes.Classes):
    """Of variables that are set where iterations differ, all differ."""

    def block(self, block: Block, is_masked: bool) -> None:
        for item in block:
            look = _LOOKS.get(type(item))
            if look is None:
                raise lanes.Unsuited(type(item).__name__)
            look(self, item, is_masked)

    def set(self, item: Set, is_masked: bool) -> None:
        if is_masked or self.differs(item.value):
            self.varying.add(item.var)

    def load(self, item: Load, is_masked: bool) -> None:
        if item.array.type not in TYPES:
            raise lanes.Unsuited("half floats and complex numbers")
        if self.differs(item.index):
            self.vectors.add(item.out)

    def call(self, item: Call, is_masked: bool) -> None:
        if item.out is None or not all(type(x) is Typed and not x.by_address for x in item.args):
            raise lanes.Unsuited("calls that work on arrays")
        if any(self.differs(cast(Typed, x).value) for x in item.args):
            self.vectors.add(item.out)

    def repeat(self, item: While, is_masked: bool) -> None:
        self.block(item.test, is_masked)
        is_masked = is_masked or self.differs(item.cond)
        self.block(item.test, is_masked)
        self.block(item.body, is_masked)

    def branch(self, item: If, is_masked: bool) -> None:
        is_masked = is_masked or self.differs(item.cond)
        self.block(item.then, is_masked)
        self.block(item.other, is_masked)


_LOOKS: dict[type, Callable[[Any, Any, bool], None]] = {
    **lanes._LOOKS, Set: _Classes.set, Load: _Classes.load, Call: _Classes.call, While: _Classes.repeat,
    If: _Classes.branch,
}  # fmt: skip


class _Masked(lanes.SideBySide):
    """Writes the instructions of one body; `mask` says which iterations take part, empty where all do."""

    classes_of = _Classes

    def set(self, item: Set) -> None:
        if item.var not in self.classes.varying:
            Values.set(self.kernel, item)
            return
        type_, slot = item.var.type, self.slot(item.var)
        kind, value = self.kind(type_), self.operand(item.value, type_)
        if self.mask:
            before = self.line(f"load {kind}, ptr {slot}")
            value = self.line(f"select {self.kind('bool')} {self.mask}, {kind} {value}, {kind} {before}")
        self.lines.append(f"  store {kind} {value}, ptr {slot}")

    # -- control --------------------------------------------------------------------------------------------------

    @contextmanager
    def masked(self, mask: str) -> Any:
        """What is written inside is done by some iterations."""
        before, self.mask = self.mask, mask
        with self.scope():
            yield
        self.mask = before

    def within(self, cond: str) -> str:
        """Which of those that take part meet a condition."""
        return self.line(f"and {self.kind('bool')} {self.mask}, {cond}") if self.mask else cond

    def any_of(self, mask: str) -> str:
        kind, name = self.kind("bool"), f"llvm.vector.reduce.or.v{self.width}i1"
        self.declare(name, f"declare i1 @{name}({kind})")
        return self.line(f"call i1 @{name}({kind} {mask})")

    def branch(self, item: If) -> None:
        if not self.classes.differs(item.cond):
            with self.scope():
                self.kernel.branch(item)
            return
        kind, cond = self.kind("bool"), self.operand(item.cond, "bool")
        sides = [(cond, item.then)]
        if item.other:
            sides.append((self.line(f"xor {kind} {cond}, {self.constant(True, 'bool')}"), item.other))
        for taken, body in [(self.within(taken), body) for taken, body in sides]:
            then, after = self.kernel.label(), self.kernel.label()
            self.lines += [f"  br i1 {self.any_of(taken)}, label %{then}, label %{after}", f"{then}:"]
            with self.masked(taken):
                self.kernel.block(body)
            self.lines += [f"  br label %{after}", f"{after}:"]

    def repeat(self, item: While) -> None:
        if not self.classes.differs(item.cond):
            with self.scope():
                self.kernel.repeat(item)
            return
        kind, held = self.kind("bool"), self.temp()
        self.kernel.top.append(f"  {held} = alloca {kind}")
        self.lines.append(f"  store {kind} {self.mask or self.constant(True, 'bool')}, ptr {held}")
        head, body, after = (self.kernel.label() for _ in range(3))
        self.lines += [f"  br label %{head}", f"{head}:"]
        with self.masked(self.line(f"load {kind}, ptr {held}")):
            self.kernel.block(item.test)
            left = self.within(self.operand(item.cond, "bool"))
        self.lines.append(f"  store {kind} {left}, ptr {held}")
        self.lines += [f"  br i1 {self.any_of(left)}, label %{body}, label %{after}", f"{body}:"]
        with self.masked(left):
            self.kernel.block(item.body)
        self.lines += [f"  br label %{head}", f"{after}:"]

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, item: Call) -> None:
        out = item.out
        assert out is not None
        if out not in self.classes.vectors:
            self.kernel.call(item)
            return
        given = [(cast(Typed, x).type, self.taking_part(cast(Typed, x))) for x in item.args]
        found = self.of_vectors(item, given) if item.name.startswith(PREFIX) else self.one_by_one(item, given)
        self.lines.append(f"  %v{out.number} = bitcast {self.kind(out.type)} {found} to {self.kind(out.type)}")

    def taking_part(self, argument: Typed) -> str:
        kind, value = self.kind(argument.type), self.operand(argument.value, argument.type)
        if not self.mask or argument.type not in FLOATS:
            return value
        none = self.constant(float("nan"), argument.type)
        return self.line(f"select {self.kind('bool')} {self.mask}, {kind} {value}, {kind} {none}")

    def of_vectors(self, item: Call, given: list[tuple[str, str]]) -> str:
        result, name = self.kind(cast(Any, item.out).type), vector_form(item.name, self.width)
        self.declare(name, f"declare {result} @{name}({', '.join(self.kind(t) for t, _ in given)})")
        return self.line(f"call {result} @{name}({', '.join(f'{self.kind(t)} {x}' for t, x in given)})")

    def one_by_one(self, item: Call, given: list[tuple[str, str]]) -> str:
        type_ = cast(Any, item.out).type
        kind, one, found = self.kind(type_), REGISTER[type_], "poison"
        self.declare(item.name, f"declare {one} @{item.name}({', '.join(REGISTER[t] for t, _ in given)})")
        for lane in range(self.width):
            parts = [self.line(f"extractelement {self.kind(t)} {x}, i64 {lane}") for t, x in given]
            said = ", ".join(f"{REGISTER[t]} {x}" for (t, _), x in zip(given, parts, strict=True))
            value = self.line(f"call {one} @{item.name}({said})")
            found = self.line(f"insertelement {kind} {found}, {one} {value}, i64 {lane}")
        return found


_Masked.writes = {
    **lanes.SideBySide.writes, Set: _Masked.set, If: _Masked.branch, While: _Masked.repeat, Call: _Masked.call,
}  # fmt: skip


def emit(kernel: Any, item: Lanes) -> None:
    """Writes the iterations into a function."""
    _Masked(kernel, item).run(item.body)
