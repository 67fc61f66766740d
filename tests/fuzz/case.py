"""One check of one program: what oracles are given, and how they compare."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from tests.fuzz.comparing import Outcome, Refused, Way, is_rounding, near, outcome_of, precision, same_bits
from tests.fuzz.program import Array, Program
from wengert.errors import CapturedError

# a custom gradient that is not the derivative, and what stops a gradient: differences and symmetry do not hold
NOT_THE_DERIVATIVE = ("given.scaled", "stop_gradient")


class Case:
    """A program under an oracle.

    Attributes:
        program: the program.
        numbers: where choices come from.
        notes: what was seen beside failures: "rounding", where two ways were as far apart as rounding makes them.
    """

    def __init__(self, program: Program, oracle: str) -> None:
        self.program = program
        self.numbers = random.Random(f"{program.seed} {oracle}")
        self.notes: set[str] = set()
        self.is_true = all(word not in program.source for word in NOT_THE_DERIVATIVE)
        self.is_special = any(x.is_special for x in program.inputs)

    # -- functions ------------------------------------------------------------------------------------------------------

    def function(self, **names: Any) -> Callable[..., Any]:
        return self.program.build(**names)

    def arrays(self) -> list[Array]:
        return self.program.arrays()

    def variant(self, name: str, f: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """What is compared: the values, a gradient with all that led to it, the gradient of that."""
        f = f or self.function()
        return VARIANTS[name](f, self.program.places())

    # -- comparing ------------------------------------------------------------------------------------------------------

    def bits(self, found: Outcome, wanted: Outcome, what: str) -> None:
        """The same to the bit."""
        same_bits(found, wanted, what)

    def agree(self, found: Outcome, wanted: Outcome, what: str, way: Way) -> None:
        """The same but for rounding; `way` makes the wanted results of the program's function."""
        try:
            near(found, wanted, what, precision(self.program))
        except AssertionError:
            if not is_rounding(self.program, found, wanted, way):
                raise
            self.notes.add("rounding")

    def wanted(self, way: Way) -> Outcome:
        """What a way gives eagerly; Refused where it raises, since then nothing can be said of others."""
        found = way(self.function())
        if isinstance(found, type):
            raise Refused(found.__name__)
        return found

    def run(self, f: Callable[..., Any]) -> Outcome:
        return outcome_of(f, self.arrays())


def accepted(found: Outcome) -> Outcome:
    """Results, unless it is a way that the library says it does not go.

    In a trace both branches run, so that it may meet a captured value where eager code does not; and what is connected
    through a loop is seen more exactly there.
    """
    if found in (wg.TracingError, wg.LostGradientError, CapturedError, wg.DisconnectedError):
        raise Refused(found.__name__)
    return found


# -- variants -----------------------------------------------------------------------------------------------------------


def weights(y: Any) -> Any:
    """No two elements count alike."""
    return np.cos(np.arange(math.prod(y.shape), dtype=np.float64) * 0.7 + 0.3).astype(y.dtype).reshape(y.shape)


def total_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """One number of all floats in f's results."""

    def total(*xs: Any) -> Any:
        terms = [_term(y) for y in wg.tree.leaves(f(*xs)) if _is_inexact(y)]
        if not terms:
            floats = [x for x in xs if _is_inexact(x)]
            return wg.sum(wg.real(floats[0])) * 0.0
        return sum(terms[1:], terms[0])

    return total


def _is_inexact(y: Any) -> bool:
    return hasattr(y, "dtype") and np.dtype(y.dtype).kind not in "iub"


def _term(y: Any) -> Any:
    if np.dtype(y.dtype).kind == "c":
        real, imag = wg.real(y), wg.imag(y)
        return wg.sum(real * weights(real)) + wg.sum(imag * weights(real)[..., ::-1] if y.ndim else imag)
    if np.dtype(y.dtype).itemsize < 4:
        y = wg.astype(y, "float32")  # sums of half floats hold nothing
    return wg.sum(y * weights(y))


def gradient_of(f: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    return wg.value_and_grad(total_of(f), (*places,), unconnected_gradients="zero")


def second_of(f: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    gradient = gradient_of(f, places)

    def squares(*xs: Any) -> Any:
        terms = [_term(wg.sin(g)) for g in gradient(*xs).grad]
        return sum(terms[1:], terms[0])

    return wg.grad(squares, (*places,), unconnected_gradients="zero")


VARIANTS: dict[str, Callable[[Callable[..., Any], Sequence[int]], Callable[..., Any]]] = {
    "values": lambda f, places: f,
    "gradient": gradient_of,
    "second gradient": second_of,
}
