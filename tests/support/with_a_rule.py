"""A function with a gradient of its own that reads a framework's variable, as tests of captures want it."""

from __future__ import annotations

from typing import Any

import wengert as wg


def with_a_rule(v: Any, with_variables: bool = True) -> Any:
    """A product with a variable, whose rule is not the derivative: 10 times that, and 100 times for the variable."""

    @wg.custom_gradient
    def bare(x: Any) -> Any:
        return x * v, lambda dy: dy * v * 10.0

    @wg.custom_gradient
    def full(x: Any) -> Any:
        def rule(dy: Any, variables: Any) -> Any:
            if variables[0] is not v:
                raise AssertionError
            return dy * v * 10.0, [wg.sum(dy * x) * 100.0]

        return x * v, rule

    return full if with_variables else bare
