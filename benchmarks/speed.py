"""The README's picture of speed, drawn from a run's figures: Wengert beside C, JAX and PyTorch, one line a program.

`figures.py` has it drawn, among what else is made from a run.
Each program stands with the largest of its cases, so that none is picked for its figures. Times are over Wengert's, on
a logarithmic axis. Colours follow the reader's light or dark scheme; each library has a shape of its own, too.
"""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "speed.svg"

PROGRAMS = {
    "adaptive": "ODE, adaptive steps in a while loop",
    "ode": "ODE, fixed steps in a loop",
    "ode_n": "ODE of 10,000 equations",
    "lstm": "LSTM",
    "llsq": "least squares of a polynomial",
    "kmeans": "k-means, with Hessian",
    "call": "sum(x sin x), 1,000 numbers",
    "stream": "sum(x sin x), 10,000,000 numbers",
    "lse": "log-sum-exp",
    "gmm": "Gaussian mixture",
    "logreg": "logistic regression",
    "conv": "convolutional network",
    "mlp": "dense network",
}
# What stands in a column, and the libraries of the figures that it is the quickest of.
COLUMNS = {"C": ("C",), "JAX": ("jax",), "PyTorch": ("torch", "torch.compile")}

WIDTH, TOP, ROW, FOOT = 860, 62, 20, 74
LABEL, OURS, LEFT, RIGHT = 16, 322, 346, 664
NUMBERS = {"C": 706, "JAX": 762, "PyTorch": 842}
LEAST, MOST = 0.5, 40_000.0
TICKS = (1, 10, 100, 1_000, 10_000)

STYLE = """
  .card { fill: #ffffff; stroke: #d8dee4 } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #e3e7eb }
  .ours { fill: #c4314b } .line { stroke: #c4314b }
  .C { fill: #1f2328 } .JAX { fill: #1f78b4 } .PyTorch { fill: #d9730d }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #262c34 }
    .ours { fill: #ff7b8a } .line { stroke: #ff7b8a }
    .C { fill: #e6edf3 } .JAX { fill: #58a6ff } .PyTorch { fill: #f0a04b }
  }
"""


def draw(figures: dict[str, Any]) -> str:
    """The picture of a run, as SVG."""
    times = times_of(figures)
    bottom = TOP + ROW * len(PROGRAMS)
    height = bottom + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12.5" role="img" '
        'aria-label="Time of one gradient in C, JAX and PyTorch, over that of Wengert">',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        _text(LABEL, 26, "Time of one gradient, over Wengert’s", "text", size=15, weight=600),
        *_heads(),
        *_axis(bottom),
    ]
    for number, (program, label) in enumerate(PROGRAMS.items()):
        parts += _row(label, times[program], TOP + ROW * number + ROW / 2)
    return "\n".join([*parts, *_foot(figures, bottom), "</svg>"]) + "\n"


def times_of(figures: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By program the median of Wengert ("ours") and of each column, in seconds; NaN where it did not run."""
    return {row["row"]: _medians(row["cases"][-1]["times"]) for row in figures["rows"] if row["row"] in PROGRAMS}


def _medians(times: list[dict[str, Any]]) -> dict[str, float]:
    medians = {t["library"]: t["median"] for t in times if not t["error"]}
    quickest = {
        column: min((medians[name] for name in names if name in medians), default=math.nan)
        for column, names in COLUMNS.items()
    }
    return {"ours": medians["wengert"], **quickest}


def _x(ratio: float) -> float:
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def _heads() -> list[str]:
    parts = [_text(OURS, TOP - 10, "Wengert", "ours", anchor="end", weight=600)]
    for column, x in NUMBERS.items():
        parts.append(_text(x, TOP - 10, column, column, anchor="end", weight=600))
        parts.append(_mark(column, x - {"C": 17, "JAX": 34, "PyTorch": 67}[column], TOP - 14))
    return parts


def _axis(bottom: float) -> list[str]:
    parts = []
    for tick in TICKS:
        x = _x(tick)
        kind = "line" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 16, f"{tick:,}", "faint", anchor="middle"))
    return parts


def _row(label: str, times: dict[str, float], y: float) -> list[str]:
    ours = times["ours"]
    parts = [
        _text(LABEL, y + 4, label, "text"),
        _text(OURS, y + 4, _duration(ours), "ours", anchor="end"),
        f'<circle class="ours" cx="{_x(1):.1f}" cy="{y}" r="4.5"/>',
    ]
    for column, x in NUMBERS.items():
        ratio = times[column] / ours
        if math.isnan(ratio):
            parts.append(_text(x, y + 4, "–", "faint", anchor="end"))
            continue
        parts.append(_mark(column, _x(ratio), y))
        parts.append(_text(x, y + 4, _times_over(ratio), "text", anchor="end"))
    return parts


def _mark(column: str, x: float, y: float) -> str:
    """A bar for C, a diamond for JAX, a square for PyTorch."""
    if column == "C":
        return f'<rect class="C" x="{x - 1.5:.1f}" y="{y - 7}" width="3" height="14"/>'
    turned = f' transform="rotate(45 {x:.1f} {y})"' if column == "JAX" else ""
    return f'<rect class="{column}" x="{x - 4:.1f}" y="{y - 4}" width="8" height="8"{turned}/>'


def _foot(figures: dict[str, Any], bottom: float) -> list[str]:
    machine = figures["machine"]
    threads, cores = machine["threads"], machine["cores"]
    where = f"{machine['processor']}, {threads} thread of {cores} cores, Python {machine['python']}"
    how = "C: gradients derived by hand. PyTorch: the quicker of eager and compiled."
    source = f"{where}; the largest case of each program in benchmarks/results/{figures['commit']}.json."
    return [
        _text((LEFT + RIGHT) / 2, bottom + 32, "times Wengert’s (logarithmic)", "faint", anchor="middle"),
        _text(LABEL, bottom + 50, source, "faint", size=11),
        _text(LABEL, bottom + 65, how, "faint", size=11),
    ]


def _times_over(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.{1 if ratio >= 2 else 2}f}"


def _duration(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _text(
    x: float, y: float, text: str, kind: str, *, anchor: str = "start", size: float | None = None, weight: int = 400
) -> str:
    font = f' font-size="{size}"' if size else ""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    place = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{place}{font}{bold}>{html.escape(text)}</text>'
