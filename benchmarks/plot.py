"""The figures of a run as a picture: one line a case, how many times C's (else Wengert's) time each library took."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

COLOURS = {
    "C": "#222222", "wengert": "#d1495b", "jax": "#2e86ab", "torch": "#e08e45", "torch.compile": "#b5651d",
    "tensorflow": "#5b8c5a", "autograd": "#8d6a9f", "pytensor": "#7a7a7a",
}  # fmt: skip
LEFT, WIDTH, ROW, TOP = 300, 640, 22, 64
DECADES = 5  # from a tenth to ten thousand times


def draw(rows: Sequence[dict[str, Any]]) -> str:
    """An SVG picture with a logarithmic axis, of the cases that several libraries ran."""
    lines = [
        (f"{row['row']}, {case['case']}", case["times"])
        for row in rows for case in row["cases"] if len(case["times"]) > 1
    ]  # fmt: skip
    height = TOP + ROW * len(lines) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="Time of each library over that of C">',
        f'<rect width="100%" height="{height}" fill="white"/>', *_legend(), *_axis(height),
    ]  # fmt: skip
    for number, (label, times) in enumerate(lines):
        parts += _line(label, times, TOP + ROW * number + ROW / 2)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(ratio: float) -> float:
    return LEFT + WIDTH * (min(max(math.log10(ratio), -1.0), DECADES - 1.0) + 1.0) / DECADES


def _legend() -> list[str]:
    return [
        f'<circle cx="{18 + 110 * i}" cy="16" r="5" fill="{colour}"/><text x="{27 + 110 * i}" y="20">{name}</text>'
        for i, (name, colour) in enumerate(COLOURS.items())
    ]


def _axis(height: float) -> list[str]:
    parts = [f'<text x="12" y="{TOP - 22}">time over that of C (or of Wengert)</text>']
    for power in range(-1, DECADES):
        x = _x(10.0**power)
        parts.append(f'<line x1="{x}" y1="{TOP - 10}" x2="{x}" y2="{height - 14}" stroke="#cccccc"/>')
        parts.append(f'<text x="{x}" y="{TOP - 22}" text-anchor="middle">{10.0**power:g}</text>')
    return parts


def _line(label: str, times: Sequence[dict[str, Any]], y: float) -> list[str]:
    medians = {t["library"]: t["median"] for t in times if not t["error"]}
    unit = medians.get("C", medians.get("wengert"))
    parts = [f'<text x="12" y="{y + 4}">{html.escape(label)}</text>']
    if unit:
        parts += [
            f'<circle cx="{_x(median / unit):.1f}" cy="{y}" r="5" fill="{COLOURS.get(name, "#999999")}">'
            f"<title>{name}: {median / unit:.2f}</title></circle>"
            for name, median in sorted(medians.items(), key=lambda item: item[0] == "wengert")
        ]
    return parts
