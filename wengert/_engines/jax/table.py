"""The table of kernels, joined from the files of their families; programs and regions are added in `__init__`."""

from __future__ import annotations

from typing import Any

from . import elementwise, indexing, linalg, random, sparse, special, structural, windows
from .meshes import on_any_mesh

KERNELS: dict[str, Any] = {}
for _family in (structural, elementwise, indexing, linalg, windows, random, sparse, special):
    KERNELS.update({name: on_any_mesh(name, kernel) for name, kernel in _family.KERNELS.items()})
