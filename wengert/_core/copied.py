"""The names of modules that `wg.adopt` has copied: each copy has its own, by which pickle finds what is in it."""

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
