"""Quantiles: of the normal distribution from a logarithm, of counts, and of von Mises's distribution.

Counts are whole numbers, so their derivative is zero. The angle's is zero by declaration too: who asks for it
differentiates the equation that it solves (`stats/_continuous.py`).
"""

from __future__ import annotations

from typing import Any

from .._core.op import Op, batch_elementwise, elementwise, elementwise_type, zero
from .elementwise import reciprocal
from .special import hazard

_SHARE = (0.1, 0.9)

ndtri_exp = elementwise(
    "ndtri_exp", "y", partials=lambda out: reciprocal(hazard(out)), dtypes="float", domain=(-4.0, -0.05),
    doc="the x at which the logarithm of the standard normal distribution function is y", kink="infinite slope at 0",
)  # fmt: skip


def _place(name: str, operands: str, domain: Any, doc: str, **facts: Any) -> Op:
    return zero(
        name, operands, type=elementwise_type(name, None, "float"), batch=batch_elementwise, dtypes="float", doc=doc,
        smooth=False, domain=domain, **facts,
    )  # fmt: skip


_COUNT = "the smallest count k with a mass of at least q up to k; where `upper`, with at most q beyond it: of "
poisson_count = _place(
    "poisson_count", "q mu", (_SHARE, (0.5, 20.0)), _COUNT + "Poisson's distribution", attrs="upper",
    samples=[(((3, 2), (3, 2)), (False,)), (((4,), (4,)), (True,))],
)  # fmt: skip
binom_count = _place(
    "binom_count", "q n p", (_SHARE, (1.0, 30.0), _SHARE), _COUNT + "the binomial distribution", attrs="upper",
    samples=[(((3, 2),) * 3, (False,)), (((4,),) * 3, (True,))],
)  # fmt: skip
nbinom_count = _place(
    "nbinom_count", "q n p", (_SHARE, (0.5, 20.0), _SHARE), _COUNT + "the negative binomial distribution",
    attrs="upper", samples=[(((3, 2),) * 3, (False,)), (((4,),) * 3, (True,))],
)  # fmt: skip
vonmises_place = _place(
    "vonmises_place", "q kappa", ((0.05, 0.45), (0.1, 9.0)),
    "the angle from -pi to 0 below which von Mises's distribution has a share q of at most a half",
)  # fmt: skip
