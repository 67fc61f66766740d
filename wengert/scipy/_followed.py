"""Entries of the modules' tables for functions that stay SciPy's: executed from their source, or without a gradient."""

from __future__ import annotations

import functools
import importlib
from typing import Any


class _Entry:
    """What is SciPy's own.

    Args:
        home: the full name of SciPy's public module.
        name: its name there.
    """

    def __init__(self, home: str, name: str) -> None:
        self.home, self.name = home, name

    @property
    def theirs(self) -> Any:
        """SciPy's own."""
        return getattr(importlib.import_module(self.home), self.name)


class Followed(_Entry):
    """A function or a class of SciPy's that computes in Python, with functions that are recorded."""

    def copy(self) -> Any:
        """What stands in its place in the copy of the module that defines it."""
        theirs = self.theirs
        source = importlib.import_module("wengert.adopt._scipy_source").source()  # loads what adopted code gets
        return functools.reduce(getattr, theirs.__qualname__.split("."), source.module(theirs.__module__))


class Counting(_Entry):
    """A function of SciPy's whose results are positions, counts or truths, which are constants to a gradient."""


def followed(home: str, names: str) -> dict[str, Any]:
    """The entries of a module's table for names with spaces between them."""
    return {name: Followed(home, name) for name in names.split()}


def counting(home: str, names: str) -> dict[str, Any]:
    """The entries of a module's table for names with spaces between them."""
    return {name: Counting(home, name) for name in names.split()}


__all__ = ["Counting", "Followed", "counting", "followed"]
