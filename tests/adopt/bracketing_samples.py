"""Searches in intervals as people write them; `test_bracketing.py` adopts this module."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# -- narrowed by comparisons alone: the derivative is lost -----------------------------------------------------------


def halved(a: Any) -> Any:
    low, high = 0.0, 3.0
    while high - low > 1e-12:
        mid = (low + high) / 2
        if mid**2 - a > 0:
            high = mid
        else:
            low = mid
    return mid * a


def negated(a: Any) -> Any:
    low, high = 0.0, a + 1
    for i in range(60):
        mid = low + 0.5 * (high - low)
        if not (mid**2 - a > 0 and i < 1000):
            low = mid
        else:
            high = float(mid)
    return low


def signs(a: Any) -> Any:
    left, right = 0.0, 3.0
    f_left = left * left - a
    for _ in range(60):
        c = 0.5 * (left + right)
        f_c = c * c - a
        if math.copysign(1, f_left) == math.copysign(1, f_c):
            left, f_left = c, f_c
        else:
            right = c
        if abs(f_c) < 1e-14:
            break
    return c


def masked(a: Any) -> Any:
    low, high = np.zeros_like(a), np.ones_like(a) * 3
    for _ in range(60):
        mid = (low + high) / 2
        above = mid**2 > a
        high[above] = mid[above]
        low[~above] = mid[~above]
    return mid.sum()


def copied(a: Any) -> Any:
    low, high = np.zeros_like(a), np.ones_like(a) * 3
    for _ in range(60):
        mid = (low + high) / 2
        above = mid**2 > a
        np.copyto(high, mid, where=above)
        np.putmask(low, ~above, mid)
    return mid.sum()


def chosen(a: Any) -> Any:
    low, high = np.zeros_like(a), np.ones_like(a) * 3
    for _ in range(60):
        mid = (low + high) / 2
        above = mid**2 > a
        low = np.where(above, low, mid)
        high = np.where(above, mid, high)
    return mid.sum()


def stepped(a: Any) -> Any:
    step, root = 3.0, 0.0
    for _ in range(60):
        step *= 0.5
        mid = root + step
        if mid**2 - a <= 0:
            root = mid
    return root


def added(a: Any) -> Any:
    x, h = 0.0, 3.0
    while h > 1e-12:
        h = h / 2
        if (x + h) ** 2 < a:
            x += h
    return x


def recursive(a: Any, low: Any = 0.0, high: Any = 3.0) -> Any:
    mid = (low + high) / 2
    if high - low < 1e-12:
        return mid
    if mid**2 > a:
        return recursive(a, low, mid)
    return recursive(a, mid, high)


def in_one_line(a: Any, low: Any = 0.0, high: Any = 3.0) -> Any:
    mid = (low + high) / 2
    if high - low < 1e-12:
        return mid
    return in_one_line(a, low, mid) if mid**2 > a else in_one_line(a, high=high, low=mid)


class Search:
    def __init__(self) -> None:
        self.low, self.high = 0.0, 3.0

    def run(self, a: Any) -> Any:
        while self.high - self.low > 1e-12:
            mid = (self.low + self.high) / 2.0
            if mid * mid < a:
                self.low = mid
            else:
                self.high = mid
        return self.low


def attributes(a: Any) -> Any:
    return Search().run(a)


def elements(a: Any) -> Any:
    ends = [0.0, 3.0]
    for _ in range(60):
        mid = (ends[0] + ends[1]) / 2
        if mid * mid < a:
            ends[0] = mid
        else:
            ends[1] = mid
    return mid


def golden(a: Any) -> Any:
    ratio = (math.sqrt(5) - 1) / 2
    low, high = 0.0, 3.0
    c, d = high - ratio * (high - low), low + ratio * (high - low)
    while high - low > 1e-8:
        if (c - a) ** 2 < (d - a) ** 2:
            high, d = d, c
            c = high - ratio * (high - low)
        else:
            low, c = c, d
            d = low + ratio * (high - low)
    return (low + high) / 2


def in_thirds(a: Any) -> Any:
    low, high = 0.0, 3.0
    for _ in range(100):
        first = low + (high - low) / 3
        second = high - (high - low) / 3
        if (first - a) ** 2 < (second - a) ** 2:
            high = second
        else:
            low = first
    return (low + high) / 2


def in_pairs(a: Any) -> Any:
    low, high = 0.0, 3.0
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (low, mid) if mid * mid > a else (mid, high)
    return mid


def unnamed(a: Any) -> Any:
    low, high = 0.0, 3.0
    while high - low > 1e-9:
        if ((low + high) / 2) ** 2 > a:
            high = (low + high) / 2
        else:
            low = (low + high) / 2
    return low


def geometric(a: Any) -> Any:
    low, high = 0.1, 3.0
    while high / low > 1 + 1e-9:
        mid = np.sqrt(low * high)
        if mid**2 / 2 > a / 2:
            high = mid
        else:
            low = mid
    return low


# -- with a derivative of their own ----------------------------------------------------------------------------------

_TABLE = np.linspace(0, 9, 10)


def in_a_table(a: Any) -> Any:
    low, high = 0, 9
    while high - low > 1:
        mid = (low + high) // 2
        if _TABLE[mid] > a:
            high = mid
        else:
            low = mid
    return _TABLE[low] + (a - _TABLE[low]) ** 2 / 2


def in_a_table_by_int(a: Any) -> Any:
    low, high = 0, 9
    while high - low > 1:
        mid = int((low + high) / 2)
        if _TABLE[mid] > a:
            high = mid
        else:
            low = mid
    return _TABLE[low] + (a - _TABLE[low]) ** 2 / 2


def heron(a: Any) -> Any:
    x = a
    for _ in range(60):
        x = (x + a / x) / 2
    return x


def safe_newton(a: Any) -> Any:
    low, high, x = 0.0, 3.0, 1.5
    for _ in range(60):
        f = x * x - a
        if f < 0:
            low = x
        else:
            high = x
        newton = x - f / (2 * x)
        x = newton if low < newton < high else (low + high) / 2
    return x


def interpolated(a: Any) -> Any:
    low, high = 0.0, 3.0
    for _ in range(20):
        mid = (low + high) / 2
        if mid * mid > a:
            high = mid
        else:
            low = mid
    f_low, f_high = low * low - a, high * high - a
    return low - f_low * (high - low) / (f_high - f_low)


def illinois(a: Any) -> Any:
    low, high = 0.0, 3.0
    f_low, f_high = low * low - a, high * high - a
    for _ in range(50):
        mid = (low * f_high - high * f_low) / (f_high - f_low)
        f = mid * mid - a
        if abs(f) < 1e-12:
            break
        if f * f_high > 0:
            high, f_high, f_low = mid, f, f_low / 2
        else:
            low, f_low, f_high = mid, f, f_high / 2
    return mid


def mean_of_means(a: Any) -> Any:
    x, y = a, 1.0
    while abs(x - y) > 1e-14:
        x, y = (x + y) / 2, math.sqrt(x * y)
    return x


def by_steps_that_adapt(a: Any) -> Any:
    t, y, h = 0.0, a, 0.5
    while t < 1.0:
        h = min(h, 1 - t)
        once = y - h * y
        twice = y - h / 2 * y
        twice = twice - h / 2 * twice
        if abs(once - twice) < 1e-4:
            t, y, h = t + h, twice, h * 1.5
        else:
            h = h / 2
    return y


def simpson(a: Any, low: float = 0.0, high: float = 1.0, depth: int = 0) -> Any:
    mid = (low + high) / 2
    if depth > 5:
        return (high - low) / 6 * (low**a + 4 * mid**a + high**a)
    left = simpson(a, low, mid, depth + 1)
    right = simpson(a, mid, high, depth + 1)
    return left + right


def smoothed(a: Any) -> Any:
    u = np.zeros(5)
    u[0] = a
    for _ in range(200):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    return u[1]


def summed(a: Any) -> Any:
    x, term = 0.0, a
    for _ in range(20):
        term = term / 2
        x = x + term
    return x


def taken_in_turns(a: Any) -> Any:
    """Each takes from the other what it can: differences, no means."""
    total, parts = a, [1.0, 0.7, 0.9]
    for i in range(3):
        if total > parts[i]:
            total = total - parts[i]
            parts[i] = 0.0
        else:
            parts[i] = parts[i] - total
    return total**2 + parts[2]


def fixed_ends(a: Any) -> Any:
    """What is compared does not depend on what is differentiated."""
    low, high = 0.0, 3.0
    for _ in range(50):
        mid = (low + high) / 2
        if mid * mid > 2.0:
            high = mid
        else:
            low = mid
    return mid * a


LOST = (
    halved, negated, signs, masked, copied, chosen, stepped, added, recursive, in_one_line, attributes, elements, golden,
    in_thirds, in_pairs, unnamed, geometric,
)  # fmt: skip
KEPT = (
    in_a_table, in_a_table_by_int, heron, safe_newton, interpolated, illinois, mean_of_means, by_steps_that_adapt,
    simpson, smoothed, summed, taken_in_turns, fixed_ends,
)  # fmt: skip
OF_ARRAYS = (masked, copied, chosen)
