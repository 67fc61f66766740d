"""The errors that Wengert raises, and nothing else.

Every one derives from the built-in class that upstream users catch, so `except ValueError` keeps working.
The lowest layer: it imports nothing of the package.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

__all__ = [
    "DisconnectedError",
    "GradientCheckError",
    "LostGradientError",
    "TracingError",
]


class LostGradientError(TypeError):
    """A tensor under differentiation was about to become plain numbers, which would lose its gradient.

    The message names the function that asked for the numbers, the user's line and the cure.
    """


class TracingError(TypeError):
    """Python asked for the value of a symbolic tensor or dimension (`if x:`, `range(n)`) inside a trace."""


class DisconnectedError(ValueError):
    """The result does not depend differentiably on an argument; the message says which one and why."""


class GradientCheckError(AssertionError):
    """A gradient disagrees with finite differences; the message holds a table of the entries that do."""
