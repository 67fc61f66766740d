"""Quantiles: of the normal distribution from a logarithm, of counts, and of von Mises's distribution.

Counts are whole numbers, so their derivative is zero. The angle has none here: who asks for it differentiates the
equation that it solves (`stats/_continuous.py`).
"""

from __future__ import annotations

from .._core.op import Op, batch_elementwise, elementwise, elementwise_type, not_differentiable, zero
from .elementwise import reciprocal
from .special import hazard

ndtri_exp = elementwise(
    "ndtri_exp", "y", partials=lambda out: reciprocal(hazard(out)), dtypes="float", domain=(-4.0, -0.05),
    doc="the x at which the logarithm of the standard normal distribution function is y", kink="infinite slope at 0",
)  # fmt: skip


def _count(name: str, operands: str, of: str, *shapes: tuple[float, float]) -> Op:
    # away from where a count jumps
    sample = (*[lambda rng, v=v: v for v in ((0.31, 0.62), *shapes)],)
    return zero(
        name, operands, attrs="upper", type=elementwise_type(name, None, "float"), batch=batch_elementwise,
        dtypes="float", smooth=False, samples=[(sample, (False,)), (sample, (True,))],
        doc=f"the smallest count k with a mass of at least q up to k; where `upper`, with at most q beyond it: of {of}",
    )  # fmt: skip


poisson_count = _count("poisson_count", "q mu", "Poisson's distribution", (3.2, 7.4))
binom_count = _count("binom_count", "q n p", "the binomial distribution", (9.0, 20.0), (0.3, 0.45))
nbinom_count = _count("nbinom_count", "q n p", "the negative binomial distribution", (3.0, 7.2), (0.3, 0.45))

vonmises_place = not_differentiable(
    "vonmises_place", "q kappa", type=elementwise_type("vonmises_place", None, "float"), batch=batch_elementwise,
    dtypes="float", domain=((0.05, 0.45), (0.1, 9.0)),
    doc="the angle from -pi to 0 below which von Mises's distribution has a share q of at most a half",
)  # fmt: skip
