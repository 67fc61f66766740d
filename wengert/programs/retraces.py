"""`RetraceWatch`: keeps the reason of each trace, and warns where one argument or captured name keeps causing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._compile.trace import ArrayKey, Static
from .._core.structure import Spec, describe
from .._core.user_line import warn
from .call_signatures import argument_paths

_WARN_AT = 5  # traces


class RetraceWatch:
    """Warns, once each, when one argument or captured name keeps causing traces, and of what changes by itself."""

    def __init__(self, f: Callable[..., Any], name: str) -> None:
        self._f = f
        self._name = name
        self._last: tuple[Spec | None, tuple[Any, ...]] | None = None
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
        self.reasons.append(self._reason(spec, keys, last, [*filter(None, changed)]))
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

    def _reason(
        self, spec: Spec | None, keys: tuple[Any, ...], last: tuple[Spec | None, tuple[Any, ...]] | None,
        changed: Sequence[str],
    ) -> str:  # fmt: skip
        """Why there is a trace."""
        if changed:
            return "what it reads had changed: " + ", ".join(changed)
        paths = argument_paths(self._f, spec)
        if last is None:
            said = ", ".join(f"{path} is {_text(key)}" for path, key in zip(paths, keys, strict=True))
            return "the first call" + (f": {said}" if said else "")
        if last[0] != spec:
            return f"arguments of another structure: {describe(spec)}, before {describe(last[0])}"
        pairs = zip(paths, keys, last[1], strict=True)
        said = [f"{p} is {_text(key)}, before {_text(old)}" for p, key, old in pairs if key != old]
        return "another argument: " + ", ".join(said) if said else "the same arguments under another state"


def _text(key: ArrayKey | Static) -> str:
    return f"shape {key.shape} {key.dtype.name}" if isinstance(key, ArrayKey) else repr(key)


__all__ = ["RetraceWatch"]
