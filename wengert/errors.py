"""The errors that Wengert raises, and nothing else.

Every one derives from the built-in class that upstream users catch, so `except ValueError` keeps working.
The lowest layer: it imports nothing of the package.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SITE = "docs/"  # of the documentation, as it lies in the repository; a published site's address takes its place

__all__ = [
    "CapturedError",
    "DisconnectedError",
    "GradientCheckError",
    "LostGradientError",
    "NonFiniteError",
    "TracingError",
]


class _Documented(Exception):
    """An error whose message ends with the page that tells more; `page` is relative to the documentation's root."""

    page = "answers/errors.md"
    # TensorFlow's AutoGraph raises an error again, with the lines of the function that it has rewritten; it keeps the
    # class of those that are made as this one is
    __init__ = Exception.__init__

    def __str__(self) -> str:
        text, told = super().__str__(), f"  see {SITE}{self.page}"
        return text if text.rstrip().endswith(told) else f"{text}\n{told}"


class LostGradientError(_Documented, TypeError):
    """A tensor under differentiation was about to become plain numbers, which would lose its gradient.

    The message names the function that asked for the numbers, the user's line and the cure, and ends with the page that
    tells more. It is a `TypeError`.

    Example:
        >>> import math, wengert as wg
        >>> try:
        ...     wg.grad(lambda x: math.exp(x))(1.0)
        ... except wg.LostGradientError as error:
        ...     print("math.exp" in str(error))
        True
    """

    page = "adopt.md"


class TracingError(_Documented, TypeError):
    """Python asked for the value of a symbolic tensor or dimension (`if x:`, `range(n)`) inside a trace.

    There are no values yet; the message names the user's line and what to write instead (`wg.cond`, `wg.while_loop`,
    `wg.where`). It is a `TypeError`.

    Example:
        >>> import wengert as wg
        >>> try:
        ...     wg.function(lambda x: x if x > 0 else -x)(1.0)
        ... except wg.TracingError as error:
        ...     print("wg.cond" in str(error))
        True
    """

    page = "answers/errors.md#tracingerror"


class DisconnectedError(_Documented, ValueError):
    """The result does not depend differentiably on an argument; the message says which one and why.

    Why: f does not use it, or a conversion to integers, `stop_gradient`, `.numpy()` or an op without a derivative
    stands between; its line is named. `unconnected_gradients="zero"` asks for zeros instead. It is a `ValueError`.

    Example:
        >>> import wengert as wg
        >>> try:
        ...     wg.grad(lambda x: wg.stop_gradient(x) * 2.0)(1.0)
        ... except wg.DisconnectedError as error:
        ...     print("stop_gradient" in str(error))
        True
    """

    page = "answers/errors.md#disconnectederror"


class CapturedError(DisconnectedError, LostGradientError):
    """What is being differentiated is used by a custom gradient's function without being an argument of it.

    The rule answers for the arguments only, so that what leads there by another way would be lost. The message names
    the value. It is a `DisconnectedError` and a `LostGradientError`, hence a `ValueError` and a `TypeError`.

    Example:
        >>> import wengert as wg
        >>> def f(w):
        ...     times_w = wg.custom_gradient(lambda x: (x * w, lambda upstream: upstream * w))
        ...     return times_w(2.0) + w
        >>> try:
        ...     wg.grad(f)(1.0)
        ... except wg.DisconnectedError as error:
        ...     print("w (shape (), float64)" in str(error))
        True
    """

    page = "custom_gradients.md"


class GradientCheckError(_Documented, AssertionError):
    """A gradient disagrees with finite differences; the message holds a table of the entries that do.

    Raised by `check_gradients`. The table has the place of each entry, what the gradient says and what differences
    say, the worst first. It is an `AssertionError`, so that tests fail by it.
    """

    page = "answers/errors.md#gradientcheckerror"


class NonFiniteError(_Documented, FloatingPointError):
    """An op made a NaN or an infinity from finite operands, under `debug_nans`.

    The message names the op and the user's line; for an op of a gradient also what it is the gradient of.
    """

    page = "answers/errors.md#nonfiniteerror"

    def __init__(self, finding: str, site: object, places: Mapping[int, Any]) -> None:
        super().__init__(finding)
        self._site = site
        self._places = places
        self._forward = ""

    def __reduce__(self) -> Any:
        # in words: a place in a program is no more than that in another process
        site = None if self._site is None else str(self._site)
        return type(self), (f"{self.args[0]}{self._forward}", site, {})

    def in_gradient_of(self, op: str, key: int) -> None:
        """Told by the sweep: the forward op whose cotangents it was working on, and the key of its first result."""
        if not self._forward:
            site = self._places.get(key)
            self._forward = f", in the gradient of {op}" + (f"\n  which ran at {site}" if site is not None else "")

    def __str__(self) -> str:
        at = f"\n  at {self._site}" if self._site is not None else ""
        return f"{self.args[0]}{self._forward}{at}\n  see {SITE}{self.page}"
