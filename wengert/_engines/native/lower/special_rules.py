"""Fills the tables of rules for special functions on one element: in this process, and where code stands alone.

`rule_tables.py` says for which primitives it has some; it is loaded when one of these is first lowered.
"""

from __future__ import annotations

from . import (
    bessel_integer_order,
    bessel_real_order,
    bessel_second_kind,
    exponential_integrals,
    gamma_by_steps,
    incomplete,
    integrals,
    polygamma,
    quantiles,
    scipy_functions,
    special,
)
from .formulas import RULES, enter
from .scalars import SCALARS, Rule

IN_PROCESS: dict[str, Rule] = {}

for family in (
    special,
    bessel_integer_order,
    bessel_second_kind,
    exponential_integrals,
    gamma_by_steps,
    incomplete,
    integrals,
    polygamma,
    quantiles,
    scipy_functions,
):
    IN_PROCESS.update(family.IN_PROCESS)  # `special` first: others have better rules for some of its primitives
for family in (bessel_real_order, gamma_by_steps, incomplete, integrals, quantiles):
    enter(family.FORMULAS)
for family in (exponential_integrals, incomplete, integrals, polygamma, quantiles):
    RULES.update(family.ALONE)
SCALARS.update(IN_PROCESS)

__all__ = ["IN_PROCESS"]
