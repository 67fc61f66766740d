"""Owns the demo's picture: heat maps of what the network learned and the course of its losses, as SVG text.

It knows arrays and numbers only, nothing of the model or of gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from wengert.cli.demo.digits import SIDE

WIDTH, HEIGHT = 1160, 690
MARGIN = 40

# From strong blue (below zero) over near-white to strong red (above zero): ColorBrewer's RdBu, which
# colour-blind readers can tell apart.
DIVERGING = np.array(
    [
        (33, 102, 172),
        (103, 169, 207),
        (209, 229, 240),
        (247, 247, 247),
        (253, 219, 199),
        (239, 138, 98),
        (178, 24, 43),
    ]
)
INK, MUTED, RULE = "#1f2933", "#616e7c", "#d9dee4"
TRAIN_COLOUR, TEST_COLOUR = "#1b6ca8", "#d1495b"

STYLE = f"""
text {{ font-family: 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif; }}
text {{ fill: {INK}; font-size: 13px; }}
.title {{ font-size: 23px; font-weight: 600; }}
.panel {{ font-size: 15px; font-weight: 600; }}
.muted {{ fill: {MUTED}; font-size: 12.5px; }}
.tick {{ fill: {MUTED}; font-size: 12px; }}
.digit {{ font-size: 14px; font-weight: 600; }}
"""


@dataclass
class Box:
    """A rectangle of the drawing, in pixels from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


def draw_figure(
    hidden_weights: np.ndarray,
    evidence: np.ndarray,
    train_losses: Sequence[float],
    test_losses: Sequence[float],
    subtitle: str,
) -> str:
    """Draws the whole picture.

    Args:
        hidden_weights: shape (64, units), a column of pixels per hidden unit.
        evidence: shape (10, 64), a row of pixels per digit.
        train_losses: the training loss at the start and after each step; positive.
        test_losses: the held-out loss at the same steps; positive.
        subtitle: a line below the title.

    Returns:
        An SVG document.

    Example:
        >>> svg = draw_figure(np.eye(64)[:, :24], np.eye(10, 64), [2.0, 1.0], [2.0, 1.5], "an example")
        >>> svg.startswith("<svg"), svg.count("<polyline")
        (True, 2)
    """
    curve = Box(MARGIN + 700, 154, WIDTH - 2 * MARGIN - 700, 238)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="What the digit classifier learned">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(MARGIN, 50, "Handwritten digits: what the network learned", "title"),
        _text(MARGIN, 74, subtitle, "muted"),
        *_weights_panel(hidden_weights, x=MARGIN, y=118),
        _text(curve.x, 118, "Loss while training", "panel"),
        _text(curve.x, 137, "mean cross entropy, logarithmic scale", "muted"),
        *_loss_curves(train_losses, test_losses, curve),
        *_evidence_panel(evidence, x=MARGIN, y=500),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _weights_panel(weights: np.ndarray, x: float, y: float) -> list[str]:
    """A grid of heat maps, eight to a row, one per hidden unit."""
    scale = _colour_scale(weights)
    cell, gap, per_row = 8.0, 8, 8
    size = cell * SIDE
    parts = [
        _text(x, y, f"Learned weights of the {weights.shape[1]} hidden units", "panel"),
        _text(x, y + 19, "each map shows the weight of every pixel of the 8 × 8 image", "muted"),
        *_colour_bar(scale, x + per_row * (size + gap) - gap + 18, y + 36),
    ]
    for unit in range(weights.shape[1]):
        row, column = divmod(unit, per_row)
        parts += _heat_map(weights[:, unit] / scale, x + column * (size + gap), y + 36 + row * (size + gap), cell)
    return parts


def _evidence_panel(evidence: np.ndarray, x: float, y: float) -> list[str]:
    """A row of heat maps, one per digit."""
    scale = _colour_scale(evidence)
    cell = 9.0
    size = cell * SIDE
    step = (WIDTH - 2 * MARGIN - 82 - size) / (len(evidence) - 1)
    parts = [
        _text(x, y, "What speaks for each digit", "panel"),
        _text(
            x,
            y + 19,
            "gradient of its score over the others' with respect to the pixels, mean over its held-out "
            "images: red pixels raise it, blue pixels lower it",
            "muted",
        ),
        *_colour_bar(scale, WIDTH - MARGIN - 60, y + 36),
    ]
    for digit, row in enumerate(evidence):
        left = x + digit * step
        parts += _heat_map(row / scale, left, y + 36, cell)
        parts.append(_text(left + size / 2, y + 36 + size + 20, str(digit), "digit", anchor="middle"))
    return parts


def _colour_scale(values: np.ndarray) -> float:
    """The value that gets the full colour: nearly the largest, so that one outlier does not pale the rest."""
    return float(np.quantile(np.abs(values), 0.99)) or 1.0


def _heat_map(values: np.ndarray, x: float, y: float, cell: float) -> list[str]:
    """Draws 64 values, -1 to 1 and beyond clipped, as an 8 x 8 map with a hairline around it."""
    parts = [f'<g transform="translate({x:g} {y:g})" shape-rendering="crispEdges">']
    for index, value in enumerate(values):
        row, column = divmod(index, SIDE)
        corner = f'x="{column * cell:g}" y="{row * cell:g}" width="{cell:g}" height="{cell:g}"'
        parts.append(f'<rect {corner} fill="{diverging_colour(float(value))}"/>')
    parts.append(f'<rect width="{cell * SIDE:g}" height="{cell * SIDE:g}" fill="none" stroke="{RULE}"/></g>')
    return parts


def _colour_bar(scale: float, x: float, y: float) -> list[str]:
    """The legend of a panel of heat maps, from its largest value down to minus it."""
    steps, width, height = 36, 12, 72
    parts = [f'<g shape-rendering="crispEdges" transform="translate({x:g} {y:g})">']
    for step in range(steps):
        colour = diverging_colour(1 - 2 * (step + 0.5) / steps)
        top, thick = step * height / steps, height / steps
        parts.append(f'<rect y="{top:g}" width="{width}" height="{thick:g}" fill="{colour}"/>')
    parts.append(f'<rect width="{width}" height="{height}" fill="none" stroke="{RULE}"/></g>')
    for share, label in ((0.0, f"≥ {scale:.1f}"), (0.5, "0"), (1.0, f"≤ −{scale:.1f}")):
        parts.append(_text(x + width + 7, y + share * height + 4, label, "tick"))
    return parts


def _loss_curves(train_losses: Sequence[float], test_losses: Sequence[float], box: Box) -> list[str]:
    """Both losses over the steps, with axes, ticks, labels and a legend."""
    steps = max(len(train_losses) - 1, 1)
    every = [*train_losses, *test_losses]
    low, high = math.log10(min(every)), math.log10(max(every))
    room = 0.06 * max(high - low, 0.1)
    low, high = low - room, high + room

    def across(step: float) -> float:
        return box.x + 34 + (box.width - 34) * step / steps

    def up(loss: float) -> float:
        return box.y + box.height * (high - math.log10(loss)) / (high - low)

    parts: list[str] = []
    for loss in logarithmic_ticks(10**low, 10**high):
        parts.append(_line(across(0), up(loss), across(steps), up(loss), RULE))
        parts.append(_text(across(0) - 8, up(loss) + 4, f"{loss:g}", "tick", anchor="end"))
    base = box.y + box.height
    for step in linear_ticks(steps):
        parts.append(_line(across(step), base, across(step), base + 5, MUTED))
        parts.append(_text(across(step), base + 20, str(step), "tick", anchor="middle"))
    parts.append(_line(across(0), base, across(steps), base, MUTED))
    parts.append(_text((across(0) + across(steps)) / 2, base + 40, "L-BFGS step", "muted", anchor="middle"))
    for losses, colour in ((test_losses, TEST_COLOUR), (train_losses, TRAIN_COLOUR)):
        points = " ".join(f"{across(step):.1f},{up(loss):.1f}" for step, loss in enumerate(losses))
        stroke = f'stroke="{colour}" stroke-width="2.2" stroke-linejoin="round"'
        parts.append(f'<polyline points="{points}" fill="none" {stroke}/>')
    legend = (
        (f"held out: {test_losses[-1]:.3f}", TEST_COLOUR),
        (f"training: {train_losses[-1]:.3f}", TRAIN_COLOUR),
    )
    parts.append(f'<rect x="{across(steps) - 158:g}" y="{box.y + 6:g}" width="158" height="54" fill="#ffffff"/>')
    for row, (label, colour) in enumerate(legend):
        top = box.y + 22 + 22 * row
        parts.append(_line(across(steps) - 148, top, across(steps) - 122, top, colour, width=3))
        parts.append(_text(across(steps) - 114, top + 4.5, label))
    return parts


def diverging_colour(value: float) -> str:
    """The colour of a value between -1 (blue) and 1 (red).

    Example:
        >>> diverging_colour(-1.0), diverging_colour(0.0), diverging_colour(1.0)
        ('#2166ac', '#f7f7f7', '#b2182b')
    """
    place = (min(max(value, -1.0), 1.0) + 1) / 2 * (len(DIVERGING) - 1)
    stops = np.arange(len(DIVERGING))
    red, green, blue = (round(float(np.interp(place, stops, channel))) for channel in DIVERGING.T)
    return f"#{red:02x}{green:02x}{blue:02x}"


def logarithmic_ticks(low: float, high: float) -> list[float]:
    """The values 1, 2 and 5 times a power of ten between `low` and `high`.

    Example:
        >>> logarithmic_ticks(0.04, 2.5)
        [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [value for value in candidates if low <= value <= high]


def linear_ticks(last: int) -> list[int]:
    """Whole steps from 0 to `last` at most, at 1, 2 or 5 times a power of ten, about six of them.

    Example:
        >>> linear_ticks(150)
        [0, 20, 40, 60, 80, 100, 120, 140]
        >>> linear_ticks(3)
        [0, 1, 2, 3]
    """
    wanted = max(last / 8, 1)
    power = 10 ** math.floor(math.log10(wanted))
    stride = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= wanted)
    return list(range(0, last + 1, stride))


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    style_attribute = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style_attribute}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}"/>'
