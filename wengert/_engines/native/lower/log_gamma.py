"""The logarithm of the gamma function's size as vector code, without branches and calls of libraries.

By a polynomial beside the zeros at 1 and 2, and from 3 on by Stirling's formula with one for what it lacks: those of
least squares of relative errors at Chebyshev's points, worked out with 40 digits. Below 0 by reflection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import Operand
from .numbers import Number, fused, log, where
from .single_precision import mapped

_FROM = 3.0  # Stirling's series serves larger numbers
_HALF_LOG = 0.5 * math.log(2 * math.pi) - 0.5


class _Exactness(NamedTuple):
    """What a type needs.

    Attributes:
        near: of log(gamma(2 + x)) / (x (1 + x)) between -1 and 1.
        far: of what Stirling's formula lacks times x, in 1 / x^2 from 0 to 1 / 9, which is -1 to 1 for its variable.
        whole: from here on all numbers are.
    """

    near: Sequence[float]
    far: Sequence[float]
    whole: float


_EXACTNESS = {
    "f64": _Exactness((
        0.42278433509846713, -0.10031730167435421, 0.032965000621155996, -0.012384192193336174, 0.004998641164678615,
        -0.0021081308352126566, 0.000915376922899238, -0.00040570737661485323, 0.00018255262848880668,
        -8.309532135231046e-05, 3.816898715314825e-05, -1.766054524805954e-05, 8.221626335537185e-06,
        -3.851641687643421e-06, 1.8102409743299238e-06, -8.417578944268903e-07, 3.9820123084240076e-07,
        -2.1164644242668337e-07, 1.0102775559985795e-07, -1.9111921497689492e-08, 8.861162682341896e-09,
        -2.9717134421812482e-08, 1.4427154430217687e-08, 7.55713490196635e-09, -3.6963701582424087e-09,
        -3.0467163094700675e-09, 1.4796665462619104e-09,
    ), (
        0.08318136697655197, -0.00014970021836481511, 2.1834243383067213e-06, -7.74892427513324e-08,
        4.74169140775455e-09, -4.238821772636403e-10, 5.022016411216059e-11, -7.40020905708971e-12,
        1.2978394276485844e-12, -2.6339974876791763e-13, 6.019918968065557e-14, -1.3911918132096834e-14,
        3.632408364415249e-15, -1.8935030517821314e-15, 6.520130972844558e-16,
    ), 2.0**52),
    "f32": _Exactness((
        0.422784328, -0.100317277, 0.0329649895, -0.0123849455, 0.00499899872, -0.00210223068, 0.000912580988,
        -0.000425181817, 0.000191769475, -5.28115925e-05, 2.38524044e-05, -3.85908461e-05, 1.81020023e-05,
    ), (
        0.083181367, -0.000149700218, 2.18342434e-06, -7.74892428e-08,
    ), 2.0**23),
}  # fmt: skip


def log_gamma(x: Number) -> Number:
    """Below 1 by the recurrence."""
    exactness, size = _EXACTNESS[x.type], abs(x)
    line, is_small, is_near = log(size), size < 1.0, size < _FROM
    first, second = where(is_small, size, size - 1.0), where(is_small, size - 1.0, size - 2.0)
    near = first * second * fused(where(is_near, second, 0.0), exactness.near) - where(is_small, line, -0.0)
    over = 1.0 / where(is_near, _FROM, size)
    lacking = over * mapped(over * over, exactness.far, 1 / 18, 1 / 18)
    above = where(is_near, near, (size - 0.5) * (line - 1.0) + (lacking + _HALF_LOG))
    is_below = x < 0.0
    turning = where(is_below & (size < exactness.whole), size, 0.0)
    turn = abs(turning - turning.of("rint"))
    is_pole = turn == 0.0
    sine = (math.pi * where(is_pole, 0.5, turn)).of("sin")
    below = where(is_pole, where(x == -math.inf, x, math.inf), -(line + log(sine * (1 / math.pi))) - above)
    return where(is_below, below, above)


def short(b: Builder, x: Operand) -> Operand:
    """The function of a float32."""
    return log_gamma(Number(b, x, "f32")).x
