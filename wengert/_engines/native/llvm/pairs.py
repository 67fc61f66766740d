"""Has one routine compute what two functions of the same numbers share: sine and cosine reduce one angle.

LLVM's loop vectoriser puts a call of a vector form (`vectormath.py`) in the place of each function. `paired` looks,
behind its passes, for calls of both functions of a pair on one vector with no jump between them: a routine of ours
(`polynomials.py`) gives both results then. Of single numbers LLVM itself calls C's `sincos`. `jit.py` calls this.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from . import polynomials, vectormath

Pair = tuple[str, str]

_call = re.compile(r"  (%[\w.]+) = (?:\w+ )?call <(\d+) x double> @([\w.]+)\(<\d+ x double> (%[\w.]+)\)[^\n]*")
_there = re.compile(r'^(?:declare [^@\n]*|define [^@\n]*|)@"?([\w.]+)"?(?:\(| =)', re.MULTILINE)


class _Form(NamedTuple):
    """A vector form of a function of a pair: its pair, and which of the two it is."""

    pair: Pair
    which: int


def _forms() -> dict[str, _Form]:
    """The vector forms of all pairs' functions, by their symbols."""
    return {
        symbol: _Form(pair, which)
        for pair in polynomials.pairs() for which, name in enumerate(pair)
        for symbol in vectormath.forms(name, "f64").values()
    }  # fmt: skip


def may_pair(symbols: Collection[str]) -> bool:
    """Whether a module of these functions may call both of a pair."""
    found = {form for symbol, form in _forms().items() if symbol in symbols}
    return any(_Form(form.pair, 1 - form.which) in found for form in found)


def paired(text: str) -> str:
    """A module's text with one call in the place of two, wherever that can be; as it is, where it can nowhere."""
    forms = _forms()
    lines = text.split("\n")
    waiting: dict[tuple[str, Pair], tuple[str, int, _Form]] = {}  # what calls one of two gives, and their lines
    needed: set[tuple[Pair, int]] = set()
    for place, line in enumerate(lines):
        if not line.startswith("  "):  # what may follow a jump
            waiting.clear()
            continue
        call = _call.fullmatch(line) if " call <" in line else None
        form = call and forms.get(call[3])
        if not call or not form:
            continue
        first, at, earlier = waiting.setdefault((call[4], form.pair), (call[1], place, form))
        if earlier.which == form.which:
            continue
        vector, both = f"<{call[2]} x double>", f"%both.{at}"
        kind = f"{{ {vector}, {vector} }}"
        routine = polynomials.symbol("_".join(form.pair), "f64", int(call[2]))
        lines[at] = (
            f"  {both} = tail call {kind} @{routine}({vector} {call[4]})\n"
            f"  {first} = extractvalue {kind} {both}, {earlier.which}"
        )
        lines[place] = f"  {call[1]} = extractvalue {kind} {both}, {form.which}"
        needed.add((form.pair, int(call[2])))
        del waiting[call[4], form.pair]
    return "\n".join([*lines, *_added(text, needed), ""]) if needed else text


def _added(text: str, needed: set[tuple[Pair, int]]) -> list[str]:
    """The routines, and what they need that the module has not got yet."""
    bodies: list[str] = []
    declarations: dict[str, str] = {}
    for pair, lanes in sorted(needed):
        body, externals = polynomials.definition_of_both(pair, lanes)
        bodies.append(body)
        declarations |= externals
    there = {*_there.findall(text)}
    missing = [declaration for name, declaration in declarations.items() if name not in there]
    return [*missing, *bodies]


__all__ = ["may_pair", "paired"]
