"""Looking inside: why a gradient is what it is (`explain`), where a NaN begins (`debug_nans`), drawings, reports.

`Graph`, which the core keeps bare, gets its pictures here; what draws them is loaded with the first picture.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core.graph import Graph
from .._core.lazy_modules import names_loaded_later


def _drawn_by(module: str, name: str, doc: str) -> Callable[[Graph], Any]:
    def draw(self: Graph) -> Any:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)(self)

    draw.__doc__ = doc
    return draw


for _method, _module, _name, _doc in (
    ("to_dot", "dot", "to_dot", "The graph in Graphviz's language; see `wengert.inspect.dot`."),
    ("to_svg", "svg", "to_svg", "The graph as a picture, an SVG text; see `wengert.inspect.svg`."),
    ("_repr_html_", "svg", "repr_html", "The graph's picture, in notebooks."),
):
    setattr(Graph, _method, _drawn_by(_module, _name, _doc))

if TYPE_CHECKING:
    from .report import Part, Report

# loaded with the first report
__getattr__, __dir__ = names_loaded_later(__name__, {"Part": ".report", "Report": ".report"})

__all__ = ["Part", "Report"]
