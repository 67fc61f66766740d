"""A custom gradient: log(1 + e^x) with the rule that does not overflow, on a million numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "log(1 + e^x) with a custom gradient, 1,000,000 numbers"
CASES = {"1,000,000": {"n": 1_000_000}}
TOLERANCE = 1e-9
LEFT_OUT = {"autograd": "its primitives are declared outside", "pytensor": "its ops are classes"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.linspace(-4.0, 4.0, parameters["n"]),)


def program(library: Any, parameters: dict[str, Any]) -> Any:
    if library.custom_gradient is None:
        return None
    xp = library.np

    def value(x: Any) -> Any:
        e = xp.exp(x)
        return xp.log(1.0 + e), e

    def pulled(e: Any, ct: Any) -> Any:
        return ct * (1.0 - 1.0 / (1.0 + e))

    rule = library.custom_gradient(value, pulled)
    return lambda x: xp.sum(rule(x * x) * x)


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
