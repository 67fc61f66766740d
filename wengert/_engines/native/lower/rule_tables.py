"""Fills the tables of lowering rules from the files that define rules; imported by `functions.py`.

`SINGLES` has primitives that are lowered by themselves, `SCALARS` and `RULES` special functions on one element (in this
process, and where code stands alone), `REWRITES` what is done to a graph beforehand.
"""

from __future__ import annotations

from . import (
    added_products,
    bessel_integer_order,
    bessel_real_order,
    cofactors,
    convolutions,
    cumulative,
    determinants,
    exponential_integrals,
    factorisations,
    fourier,
    incomplete,
    integrals,
    matrix_functions,
    numpy_calls,
    order_statistics,
    polygamma,
    products,
    quantiles,
    random_bits,
    regions,
    row_blocks,
    scatters,
    shared_factors,
    sparse,
    special,
    spectra,
    tiles,
    windows,
)
from .blocks import REWRITES, SINGLES
from .formulas import RULES, enter
from .scalars import SCALARS

FAMILIES = (
    added_products, cofactors, convolutions, cumulative, determinants, factorisations, fourier, matrix_functions,
    numpy_calls, order_statistics, products, random_bits, regions, row_blocks, scatters, sparse, spectra, tiles,
    windows,
)  # fmt: skip

for family in FAMILIES:
    SINGLES.update(family.LOWERED)
REWRITES.extend((
    added_products.joined, numpy_calls.taken_in, shared_factors.with_shared_factors, order_statistics.with_few_places,
))  # fmt: skip
for family in (special, bessel_integer_order, exponential_integrals, incomplete, integrals, polygamma, quantiles):
    SCALARS.update(family.IN_PROCESS)  # `special` first: others have better rules for some of its primitives
for family in (bessel_real_order, incomplete, integrals, quantiles):
    enter(family.FORMULAS)
for family in (exponential_integrals, integrals, polygamma, quantiles):
    RULES.update(family.ALONE)

__all__ = ["FAMILIES", "SINGLES"]
