"""Looking inside: why a gradient is what it is (`explain`), where a NaN begins (`debug_nans`), drawings of graphs.

`Graph`, which the core keeps bare, gets its pictures here; what draws them is loaded with the first picture.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .._core.graph import Graph


def _drawn_by(module: str, name: str) -> Callable[[Graph], Any]:
    def draw(self: Graph) -> Any:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)(self)

    return draw


for _method, _module, _name in (
    ("to_dot", "dot", "to_dot"), ("to_svg", "svg", "to_svg"), ("_repr_html_", "svg", "repr_html"),
):  # fmt: skip
    setattr(Graph, _method, _drawn_by(_module, _name))
