"""Pages of a notebook for what has no picture of its own: functions and distributions."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import html
from typing import Any

import numpy as np

from .._core.graph import Graph

Array = np.ndarray[Any, np.dtype[np.float64]]

_WIDTH, _HEIGHT = 240, 60  # pixels of a density
_POINTS = 121
_TAIL = 1e-3  # of the probability, left out on either side


def of_function(title: str, graph: Graph | None) -> str:
    """A function: its name and the picture of its newest trace.

    Args:
        title: what stands above.
        graph: of the newest trace; None where there is none.
    """
    picture: str = "" if graph is None else graph._repr_html_()
    return f"<div><b>{html.escape(title)}</b>{picture}</div>"


def of_distribution(frozen: Any) -> str:
    """A distribution whose parameters are given: its name, and its density where the parameters are single numbers.

    Args:
        frozen: one of `wengert.stats` or `wengert.scipy.stats`.
    """
    title = f"<b>{html.escape(repr(frozen))}</b>"
    try:
        ends: Array = np.array([frozen.ppf(_TAIL), frozen.ppf(1 - _TAIL)], float)
        if ends.shape != (2,) or not np.all(np.isfinite(ends)):
            return f"<div>{title}</div>"
        is_discrete = hasattr(frozen, "pmf")
        between: Array = np.linspace(float(ends[0]), float(ends[1]), _POINTS)
        x: Array = np.unique(np.round(between)) if is_discrete else between
        density: Array = np.asarray((frozen.pmf if is_discrete else frozen.pdf)(x), float)
    except (AttributeError, TypeError, ValueError):  # no quantiles, or parameters that are arrays or not in the domain
        return f"<div>{title}</div>"
    if not np.all(np.isfinite(density)) or not np.any(density > 0):
        return f"<div>{title}</div>"
    return f"<div>{title}<br>{_curve(x, density, is_discrete)}</div>"


def _curve(x: Any, density: Any, is_discrete: bool) -> str:
    left, right = float(x[0]), float(x[-1])
    across = (x - left) / (right - left or 1.0) * (_WIDTH - 10) + 5
    up = _HEIGHT - 4 - density / density.max() * (_HEIGHT - 10)
    if is_discrete:
        lines = [f"M{a:.1f} {_HEIGHT - 4}V{b:.1f}" for a, b in zip(across, up)]
    else:
        lines = ["M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, up))]
    path = f'<path d="{"".join(lines)}" fill="none" stroke="#1b6ca8" stroke-width="1.6"/>'
    axis = f'<path d="M0 {_HEIGHT - 4}H{_WIDTH}" stroke="#9aa5b1"/>'
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="density">{axis}{path}</svg><br>'
        f"<small>from {left:.4g} to {right:.4g}</small>"
    )
