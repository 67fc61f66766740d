"""Makes jet.json: derivatives of orders 0 to 8 of functions of one number, by mpmath's series to 40 digits.

Run it as `python tests/spec/make_jet.py` where mpmath is installed, after a change here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath

MP = mpmath.mp.clone()
MP.dps = 40
ORDER = 8


def power(p: float) -> Callable[[Any], Any]:
    return lambda x: x**p


# by the name that tests/transforms/test_jet.py has for the function: the function, and where
SERIES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (MP.exp, 0.6), "log": (MP.log, 0.6), "expm1": (MP.expm1, 0.7), "log1p": (lambda x: MP.log(1 + x), 0.7),
    "sin": (MP.sin, 0.6), "cos": (MP.cos, 0.6), "tan": (MP.tan, 0.6), "tanh": (MP.tanh, 0.6), "sinh": (MP.sinh, 0.6),
    "cosh": (MP.cosh, 0.6), "sqrt": (MP.sqrt, 0.6), "cbrt": (MP.cbrt, 0.7), "arcsin": (MP.asin, 0.4),
    "arccos": (MP.acos, 0.4), "arctan": (MP.atan, 0.6), "arcsinh": (MP.asinh, 0.6), "arccosh": (MP.acosh, 1.7),
    "arctanh": (MP.atanh, 0.4), "erf": (MP.erf, 0.6), "gammaln": (MP.loggamma, 1.6),
    "j0": (lambda x: MP.besselj(0, x), 1.3), "expit": (lambda x: 1 / (1 + MP.exp(-x)), 0.6),
    "expit in its tail": (lambda x: 1 / (1 + MP.exp(-x)), 30.0),
    **{f"x ** {p}": (power(p), 0.7) for p in (2, 3, 7, -2, 0.5, 2.5, -1.5)},
    "x ** x": (lambda x: x**x, 0.7), "2 ** x": (lambda x: MP.mpf(2) ** x, 0.7),
    "quotients": (lambda x: MP.sin(x) / MP.sqrt(1 + x * x) + MP.atan(x / (x * x + 1)) + MP.sqrt(x * x + 4), 0.7),
}  # fmt: skip


def main() -> None:
    found = {
        name: {"at": at, "derivatives": [float(c * MP.factorial(k)) for k, c in enumerate(MP.taylor(f, at, ORDER))]}
        for name, (f, at) in SERIES.items()
    }
    target = Path(__file__).with_name("jet.json")
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
