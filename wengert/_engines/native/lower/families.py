"""The table of primitives that are lowered by themselves, made of the tables of the families that are listed here."""

from __future__ import annotations

from . import (
    convolutions,
    determinants,
    draws,
    factorisations,
    fourier,
    joins,
    numpy_calls,
    products,
    regions,
    scans,
    scatters,
    sparse,
    spectra,
    tiles,
    windows,
)
from .blocks import SINGLES

FAMILIES = (
    convolutions, determinants, draws, factorisations, fourier, joins, numpy_calls, products, regions, scans, scatters,
    sparse, spectra, tiles, windows,
)  # fmt: skip

for family in FAMILIES:
    SINGLES.update(family.LOWERED)

__all__ = ["FAMILIES", "SINGLES"]
