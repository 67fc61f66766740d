"""How far special functions are off the recorded references of `tests/spec/special.json`, in units that say what is possible.

One unit is the relative spacing of the precision (2.2e-16 in float64) of the value or, where that is more, of how much the
value moves where the arguments move by their own sizes: near a zero of the function, or far out, the rounding of the
arguments alone makes so much. Numbers below the smallest normal one count as 0: they have no relative precision. Where a
value is beyond the largest number its derivatives do not count. Shares of a sum that is 1, and their logarithms, are
right to units of 1: softmax and its like, in which the other shares are rounded off.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.support.paths import SPEC
from wengert import special

Record = tuple[list[float], list[int], float, float]


@functools.cache
def records() -> dict[str, list[Any]]:
    """All rows [arguments, orders, value, change], by the function's name and fixed numbers ("jv 2.5")."""
    return json.loads((SPEC / "special.json").read_text("utf-8"))


class Sample(NamedTuple):
    """The rows of one function and derivative, as columns."""

    name: str
    orders: tuple[int, ...]
    points: list[Any]
    wanted: Any
    change: Any

    @property
    def function(self) -> str:
        return self.name.split()[0]

    def only(self, chosen: Any) -> Sample:
        return self._replace(
            points=[p[chosen] for p in self.points], wanted=self.wanted[chosen], change=self.change[chosen]
        )

    def counted(self, dtype: Any) -> Sample:
        """The rows that a dtype can tell: whose arguments it has, and whose value it holds if this is a derivative."""
        largest = float(np.finfo(dtype).max)
        values = values_at(self.name)
        places = zip(*self.points, strict=True)
        holds = np.array([not any(self.orders) or abs(values.get(place, 0.0)) <= largest for place in places])
        return self.only(holds).in_dtype(dtype)

    def in_dtype(self, dtype: Any) -> Sample:
        """The rows whose arguments a dtype has."""
        with np.errstate(over="ignore", under="ignore"):
            is_exact = np.all([p.astype(dtype).astype(np.float64) == p for p in self.points], axis=0)
        if dtype == np.float32 and len(self.points) > 1:  # what is made on the way of extremes leaves this dtype
            is_exact &= np.all([(p == 0) | ((np.abs(p) > 1e-12) & (np.abs(p) < 1e12)) for p in self.points], axis=0)
        return self.only(is_exact)


@functools.cache
def values_at(name: str) -> dict[Any, float]:
    return {tuple(row[0]): row[2] for row in records()[name] if not any(row[1])}


@functools.cache
def samples() -> list[Sample]:
    found = []
    for name, rows in records().items():
        for orders in sorted({tuple(row[1]) for row in rows}):
            own = [row for row in rows if tuple(row[1]) == orders]
            points = [np.array(column) for column in zip(*(row[0] for row in own), strict=True)]
            found.append(
                Sample(name, orders, points, np.array([row[2] for row in own]), np.array([row[3] for row in own]))
            )
    return found


def of_stack(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: f(wg.stack(list(xs)), axis=0)


def function_of(name: str) -> Callable[..., Any]:
    """The function that a name in the file stands for."""
    word, *order = name.split()
    if word == "multigammaln":
        return lambda x: special.multigammaln(x, int(order[0]))
    if word == "logsumexp":
        return of_stack(special.logsumexp)
    if word in ("softmax", "log_softmax"):
        f = of_stack(getattr(special, word))
        return lambda *xs: f(*xs)[0]
    f = getattr(special, word)
    if not order or order[0] in ("large", "second"):
        return f
    number = float(order[0])
    return lambda x: f(int(number) if number.is_integer() else number, x)


def derivative_of(f: Callable[..., Any], orders: tuple[int, ...]) -> Callable[..., Any]:
    for i, n in enumerate(orders):
        for _ in range(n):
            f = wg.grad(lambda *xs, f=f: wg.sum(f(*xs)), argnums=i)
    return f


def computed(sample: Sample, dtype: Any = np.float64) -> Any:
    with np.errstate(all="ignore"):
        f = derivative_of(function_of(sample.name), sample.orders)
        return np.asarray(f(*(p.astype(dtype) for p in sample.points)))


OF_SHARES = {"softmax", "log_softmax", "logsumexp"}


def errors(sample: Sample, found: Any) -> Any:
    """The error of each number in units; infinite where it is NaN or an infinity that it should not be."""
    kind = np.finfo(found.dtype)
    tiny, largest = float(kind.tiny), float(kind.max)
    wanted, found = sample.wanted, found.astype(np.float64)
    least = 1.0 if sample.function in OF_SHARES else tiny
    size = np.minimum(np.maximum(np.abs(wanted), np.maximum(sample.change, least)), largest)
    unit = float(kind.eps) * size
    is_huge = np.abs(wanted) > largest
    with np.errstate(all="ignore"):
        off = np.maximum(np.abs(found - wanted) - tiny, 0) / unit
        at_edge = np.isinf(found) & (np.sign(found) == np.sign(wanted))
        at_edge &= np.abs(wanted) / largest > 1 - 1000 * float(kind.eps) * np.maximum(1, size / np.abs(wanted))
        # beyond the largest number nothing but its infinity is right
        off = np.where(is_huge, np.where(at_edge, 0, np.inf), np.where(at_edge, 0, off))
    return np.where(np.isnan(off), np.inf, off)


def kind_of(orders: tuple[int, ...], dtype: Any) -> str:
    """The column of docs/accuracy.tsv that an error belongs to."""
    word = ("value", "gradient", "second")[min(sum(orders), 2)]
    return word if dtype == np.float64 else f"{word} in float32"


def measured() -> dict[str, dict[str, float]]:
    """The largest error of each public function, by column."""
    found: dict[str, dict[str, float]] = {}
    for dtype in (np.float64, np.float32):
        for sample in samples():
            own = sample.counted(dtype)
            if len(own.wanted):
                row, kind = found.setdefault(own.function, {}), kind_of(own.orders, dtype)
                row[kind] = max(row.get(kind, 0.0), float(errors(own, computed(own, dtype)).max()))
    return found
