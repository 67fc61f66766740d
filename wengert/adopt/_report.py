"""What an adoption did: the imports and builtins that were replaced, and what could not be followed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """What `wg.adopt.report` gives; printed, it is a list to read.

    Attributes:
        modules: for each module that was executed anew, the imports that were replaced in it.
        builtins: the builtins that are replaced in all of them.
        left: what stays as it is, with the reason; a tensor given to it is a `LostGradientError`.
    """

    modules: dict[str, tuple[str, ...]]
    builtins: tuple[str, ...]
    left: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{len(self.modules)} modules executed anew"]
        lines += [f"  {name}: {', '.join(imports) or 'nothing to replace'}" for name, imports in self.modules.items()]
        lines.append(f"builtins replaced: {', '.join(self.builtins)}")
        if self.left:
            lines.append("left as they are")
            lines += [f"  {name}: {why}" for name, why in self.left.items()]
        return "\n".join(lines)
