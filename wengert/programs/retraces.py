"""`RetraceWatch`: keeps the reason of each trace, and warns where one argument or captured name keeps causing them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .._compile.trace import ArrayKey, Static
from .._core.structure import Spec, describe
from .._core.user_line import warn
from .call_signatures import argument_paths

_WARN_AT = 5  # traces
_COMPARED = 64  # earlier traces that a new one is compared with

_Signature = tuple[Spec | None, tuple[Any, ...]]


class RetraceWatch:
    """Warns, once each, when one argument or captured name keeps causing traces, and of what changes by itself."""

    def __init__(self, f: Callable[..., Any], name: str) -> None:
        self._f = f
        self._name = name
        self._last: _Signature | None = None
        self._before: deque[_Signature] = deque(maxlen=_COMPARED)
        self._counts: dict[str, int] = {}
        self._told: set[str] = set()
        self.reasons: list[str] = []  # for each trace why it was made
        self.is_quiet = False

    def tell(self, warnings: Sequence[str]) -> None:
        """Warns of what has not been told before."""
        for text in () if self.is_quiet else warnings:
            if text not in self._told:
                self._told.add(text)
                warn(f"{self._name} {text}")

    def note(self, spec: Spec | None, keys: tuple[Any, ...], changed: Sequence[str] = ()) -> None:
        """Notes a trace for these arguments, for which something captured `changed`."""
        if self.is_quiet:
            return
        for path in filter(None, changed):
            self._counts[path] = self._counts.get(path, 1) + 1
            if self._counts[path] == _WARN_AT:
                warn(
                    f"{self._name} was traced {_WARN_AT} times because `{path}`, which it reads, had changed: pass it "
                    f"as an argument"
                )
        last, self._last = self._last, (spec, keys)
        self.reasons.append(self._reason(spec, keys, [*filter(None, changed)]))
        self._before.append((spec, keys))
        if last is None or last[0] != spec:
            return
        for path, key, before in zip(argument_paths(self._f, spec), keys, last[1], strict=True):
            if key != before:
                self._counts[path] = self._counts.get(path, 1) + 1
                if self._counts[path] == _WARN_AT:
                    warn(
                        f"{self._name} was traced {_WARN_AT} times because of its argument {path} (now {_text(key)}, "
                        f"before {_text(before)}): pass a value that varies as an array or a float, or give an "
                        f"input_signature with None for sizes that vary"
                    )

    def note_inputs(self, paths: Sequence[str]) -> None:
        """Notes that integers among the arguments are inputs of the newest trace."""
        if not self.is_quiet:
            said = ", ".join(paths)
            self.reasons[-1] += f" (from here on {said} {'are inputs' if len(paths) > 1 else 'is an input'})"

    def _reason(self, spec: Spec | None, keys: tuple[Any, ...], changed: Sequence[str]) -> str:
        """Why there is a trace: what differs from the earlier one that is most like it, the latest of these."""
        if changed:
            return "what it reads had changed: " + ", ".join(changed)
        paths = argument_paths(self._f, spec)
        if not self._before:
            said = ", ".join(f"{path} is {_text(key)}" for path, key in zip(paths, keys, strict=True))
            return "the first call" + (f": {said}" if said else "")
        alike = [before for before in reversed(self._before) if before[0] == spec]
        if not alike:
            return "arguments of another structure: " + self._other_structure(spec, keys)
        _, nearest = min(alike, key=lambda before: sum(map(_distance, keys, before[1])))
        pairs = zip(paths, keys, nearest, strict=True)
        said = [f"{p} is {_text(key)}, before {_text(old)}" for p, key, old in pairs if key != old]
        return "another argument: " + ", ".join(said) if said else "the same arguments under another state"

    def _other_structure(self, spec: Spec | None, keys: tuple[Any, ...]) -> str:
        paths = argument_paths(self._f, spec)
        others = [(before, argument_paths(self._f, before)) for before, _ in reversed(self._before)]
        last, before = min(others, key=lambda other: len({*paths} ^ {*other[1]}))
        said = [f"{p} is {_text(key)} and was not there before" for p, key in zip(paths, keys, strict=True)
                if p not in before]  # fmt: skip
        said += [f"{p} is not there any more" for p in before if p not in paths]
        return ", ".join(said) if said else f"{describe(spec)}, before {describe(last)}"


def _distance(x: ArrayKey | Static, y: ArrayKey | Static) -> int:
    """How much two arguments differ."""
    if x == y:
        return 0
    if not (isinstance(x, ArrayKey) and isinstance(y, ArrayKey)):
        return 4
    return 1 + (x.shape != y.shape) + (x.dtype != y.dtype)


def _text(key: ArrayKey | Static) -> str:
    if not isinstance(key, ArrayKey):
        return repr(key)
    note = " (a Python number)" if key.weak else " (of bare integers)" if key.is_bare else ""
    return f"shape {key.shape} {key.dtype.name}{note}"


__all__ = ["RetraceWatch"]
