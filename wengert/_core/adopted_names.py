"""Names of the modules that `wg.adopt` has copied: maps a copy's name to that of the module that it is a copy of.

Each copy has a name of its own, by which pickle finds what is in it; messages and captures speak of the original.
"""

from __future__ import annotations

COPIES = "wengert.adopt._copies."  # "wengert.adopt._copies.package:module" is the copy of `package.module`
WITHIN = "@"  # what follows tells whose adoption the copy belongs to, where it is not the package's own
WITHOUT = "-"  # and the modules that were left out of it


def home_of(module: str) -> str:
    """The name of a module; of a copy, the name of what it is a copy of."""
    if not module.startswith(COPIES):
        return module
    return module[len(COPIES) :].partition(WITHIN)[0].replace(":", ".")


__all__ = ["COPIES", "WITHIN", "WITHOUT", "home_of"]
