"""Graphs as pictures: SVG text, with no other program's help."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .._core.graph import Graph
from .layout import Drawing, place
from .picture import Box, boxes_of, fitted, width_of

__all__ = ["repr_html", "to_svg"]

_COLUMN = 7.3  # pixels of a column at 12 px in the widest fixed-width font in use (0.602 em), a little more
_SMALL_COLUMN = 6.7
_MARGIN, _PADDING = 28.0, 11.0
_HEAD = 66.0  # the title and the legend
_BOX_HEIGHT = 40.0
_MOST_BOXES_IN_NOTEBOOK = 400

_STYLE = """
text { font-family: 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace; text-anchor: middle; }
.t { font-size: 12px; font-weight: 600; fill: #1f2933; }
.s { font-size: 11px; fill: #52606d; }
.e { fill: none; stroke: #9aa5b1; stroke-width: 1.3; }
.a { fill: #7b8794; }
rect { stroke-width: 1.3; }
.op rect, .fold rect { fill: #ffffff; stroke: #616e7c; }
.fold rect.under { fill: #f4f5f7; }
.gradient rect { fill: #fdf0e3; stroke: #c05621; }
.gradient rect.under { fill: #f9dfc4; }
.input rect { fill: #dbeafe; stroke: #1b6ca8; }
.variable rect { fill: #dcf3e4; stroke: #2f855a; }
.constant rect { fill: #f4f5f7; stroke: #9aa5b1; stroke-dasharray: 4 3; }
.output rect { fill: #1f2933; stroke: #1f2933; }
.output .t { fill: #ffffff; } .output .s { fill: #cbd2d9; }
.h { font-size: 15px; font-weight: 600; fill: #1f2933; text-anchor: start; }
.l { font-size: 11px; fill: #52606d; text-anchor: start; }
"""
_LEGEND = (
    ("input", "input"), ("variable", "Variable"), ("constant", "constant"), ("op", "op"),
    ("gradient", "op of a gradient"), ("fold", "several ops"), ("output", "result"),
)  # fmt: skip


def to_svg(graph: Graph) -> str:
    """The graph as a picture: inputs above, results below, every op with its type, lines for what it reads.

    Inputs, Variables, constants, ops and results look differently, and so do the ops of a gradient; hovering over a
    box shows its line of the listing and the user's source line. In graphs of more than 80 ops chains that only change
    a value's form are one box.

    Returns:
        The text of an SVG file.

    Example:
        >>> import wengert as wg
        >>> wg.function(lambda x: x * x).trace(2.0).to_svg()[:4]
        '<svg'
    """
    boxes = boxes_of(graph)
    layout = place([_size(box) for box in boxes], [box.sources for box in boxes])
    present = {kind for box in boxes for kind in _classes(box).split()}
    legend = [(kind, words) for kind, words in _LEGEND if kind in present]
    heading = fitted(f"{graph.name}: {len(graph.nodes)} ops", 60)
    width = max(layout.width, _legend_width(legend), 9.4 * width_of(heading)) + 2 * _MARGIN
    height = layout.height + _HEAD + 2 * _MARGIN
    left = _MARGIN + (width - 2 * _MARGIN - layout.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="wengert-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="a" d="M0 0.5 L8 4 L0 7.5 z"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text class="h" x="{_MARGIN}" y="{_MARGIN + 8}">{escape(heading)}</text>',
        *_drawn_legend(legend),
        f'<g transform="translate({left:.1f} {_MARGIN + _HEAD:.1f})">',
        *_drawn_edges(layout),
        *(_drawn_box(box, layout, i) for i, box in enumerate(boxes)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _size(box: Box) -> tuple[float, float]:
    columns = max(_COLUMN * width_of(fitted(box.title)), _SMALL_COLUMN * width_of(fitted(box.subtitle)))
    return max(columns + 2 * _PADDING, 56.0), _BOX_HEIGHT


def _classes(box: Box) -> str:
    return f"{box.kind} gradient" if box.is_gradient and box.kind in ("op", "fold") else box.kind


def _drawn_box(box: Box, layout: Drawing, index: int) -> str:
    vertex = layout.vertices[index]
    x, y, width = vertex.x - vertex.width / 2, vertex.y, vertex.width
    round_ = 4 if box.kind in ("op", "fold") else 14
    rect = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT}" rx="{round_}"/>'
    if box.kind == "fold":
        shifted = f'x="{x + 4:.1f}" y="{y + 4:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT}" rx="{round_}"'
        rect = f'<rect class="under" {shifted}/>{rect}'
    tip = "".join(c if c.isprintable() or c == "\n" else " " for c in box.tip)
    return (
        f'<g class="{_classes(box)}"><title>{escape(tip)}</title>{rect}'
        f'<text class="t" x="{vertex.x:.1f}" y="{y + 17:.1f}">{escape(fitted(box.title))}</text>'
        f'<text class="s" x="{vertex.x:.1f}" y="{y + 32:.1f}">{escape(fitted(box.subtitle))}</text></g>'
    )


def _drawn_edges(layout: Drawing) -> list[str]:
    """Each line from layer to layer: smooth, upright where it leaves and where it arrives."""
    vertices, lines = layout.vertices, list[str]()
    for a, b in layout.edges:
        start, end = vertices[a], vertices[b]
        x0 = start.x + _port(start.x, end.x, start.width, len(start.below))
        y0 = start.y + start.height
        bottom = start.y + layout.layer_heights[start.layer] if start.is_way_point else y0
        x1 = end.x + _port(end.x, start.x, end.width, len(end.above))
        y1 = end.y
        middle = (bottom + y1) / 2
        down = f" L{x0:.1f} {bottom:.1f}" if bottom != y0 else ""
        curve = f"M{x0:.1f} {y0:.1f}{down} C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
        arrow = "" if end.is_way_point else ' marker-end="url(#wengert-arrow)"'
        lines.append(f'<path class="e" d="{curve}"{arrow}/>')
    return lines


def _port(own: float, other: float, width: float, count: int) -> float:
    """Where on a box's edge a line ends: towards where it goes, if there are several."""
    if count < 2:
        return 0.0
    reach = max(width / 2 - 12.0, 0.0)
    return max(-reach, min(reach, (other - own) * 0.35))


def _legend_width(legend: list[tuple[str, str]]) -> float:
    return sum(34.0 + 6.8 * len(words) + 16.0 for _, words in legend)


def _drawn_legend(legend: list[tuple[str, str]]) -> list[str]:
    x, y, parts = _MARGIN, _MARGIN + 24.0, list[str]()
    for kind, words in legend:
        classes = "op gradient" if kind == "gradient" else kind
        under = f'<rect class="under" x="{x + 3}" y="{y + 3}" width="26" height="14" rx="3"/>' if kind == "fold" else ""
        round_ = 3 if kind in ("op", "gradient", "fold") else 7
        parts.append(
            f'<g class="{classes}">{under}<rect x="{x}" y="{y}" width="26" height="14" rx="{round_}"/></g>'
            f'<text class="l" x="{x + 34}" y="{y + 11}">{words}</text>'
        )
        x += 34.0 + 6.8 * len(words) + 16.0
    return parts


def repr_html(graph: Graph) -> str:
    """What a notebook shows: the picture, or the listing where the picture would be too large to be read."""
    if len(graph.nodes) > _MOST_BOXES_IN_NOTEBOOK:
        return f"<pre>{escape(graph.to_text())}</pre>"
    return f'<div style="overflow:auto; max-height:90vh">{to_svg(graph)}</div>'


def escape(text: str) -> str:
    """Text as it may stand in a drawing."""
    import html  # its table of names takes longer to load than most of this package

    return html.escape(text)
