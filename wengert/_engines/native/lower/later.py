"""Files of rules that are loaded when a program first needs one of theirs, and not with the first program of all."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Later(NamedTuple):
    """A file beside this one."""

    name: str

    def load(self) -> Any:
        """The file as a module."""
        return importlib.import_module(f".{self.name}", __package__)


SPECIAL = Later("special_rules")  # of all special functions

__all__ = ["SPECIAL", "Later"]
