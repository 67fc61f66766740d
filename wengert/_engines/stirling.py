"""What special functions of several engines share: Stirling's series of the gamma function, and SciPy's limits."""

from __future__ import annotations

from typing import Any

# from 10 on these terms are exact to double precision
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)

KV_FAR = 650.0  # from here on SciPy's kv, which gives up at 1e-305, is its kve times e^-x


def beyond_stirling(x: Any) -> Any:
    """log(gamma(x)) less (x - 1/2) log(x) - x + log(2 pi) / 2, for large x."""
    square, total = 1 / (x * x), 0.0
    for coefficient in reversed(STIRLING):
        total = total * square + coefficient
    return total / x
