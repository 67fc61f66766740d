"""Exponential integrals by polynomials, in float64 and in float32, without branches: loops are vector code.

Between 0 and 1, E1(x) + log(x) is one in x - 1, and further out e^x (x + shift) E1(x) is one in 1 / (x + shift). Up to
6, (Ei(x) - log(x / root)) / (x - root) is one in x, and further out x e^-x Ei(x) is one in 1 / x, by pieces (the forms
of Cody and Thacher, Mathematics of Computation 22 and 23, 1968 and 1969). Each is the polynomial of least squares of
relative errors at Chebyshev's points of its interval, which is -1 to 1 for its variable; worked out with 50 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from ..ir.builder import Builder
from ..ir.loops import Operand
from .numbers import Number, Truth, exp, fma, fused, log, where
from .scalars import Rule
from .special import call
from .standalone import is_alone


class _Piece(NamedTuple):
    """A polynomial in what lies between two bounds, the larger one first."""

    high: float
    low: float
    coefficients: Sequence[float]


class _Tables(NamedTuple):
    """Polynomials of a type.

    Attributes:
        root: of Ei, in two parts.
        near: of E1 up to 1.
        shift: of the variable of E1 from there on.
        beyond: of E1 from there on.
        rest: of Ei up to 6.
        far: of Ei from there on, the nearest first.
    """

    root: tuple[float, float]
    near: Sequence[float]
    shift: float
    beyond: _Piece
    rest: Sequence[float]
    far: tuple[_Piece, ...]


_NEAR = 6.0
_SMALL = 0.25  # numbers have no ratio to the root below this: it may be a subnormal one

_TABLES = {
    "f64": _Tables(
        (0.3725074107813666, 1.3140183414386028e-17),
        (
            0.21938393439552029, 0.6321205588285621, -0.13212055882835377, 0.026767132360838566,
            -0.004747039184168521, 0.0007319695591267398, -9.903012121751884e-05, 1.189317042042732e-05,
            -1.278721556464086e-06, 1.2747448141748863e-07, -9.59473289293265e-09, 1.4535947499058096e-09,
        ),
        2.0,
        _Piece(1 / 3.0, 0.0, (
            1.238073899406335, 0.333482704155655, 0.13029088159638386, 0.04994496470948356,
            0.0212107034969643, 0.008911917741817927, 0.003948980148661538, 0.001731838667766231,
            0.0007876283966250172, 0.00035400982206703957, 0.0001639221339406752, 7.482344478202818e-05,
            3.51270539214859e-05, 1.619252663181965e-05, 7.68255817465863e-06, 3.5652726023299036e-06,
            1.7318447497216167e-06, 7.952083163175556e-07, 3.4649872406601146e-07,
            1.806365424565016e-07, 1.4440321413096155e-07, 3.7301563685938426e-08,
            -3.4884448158130953e-08, 1.3200432758601766e-08, 4.127552333230908e-08,
            -6.843779354749407e-10, -1.3684982293939103e-08, 1.4815078781609737e-09,
            3.2410037735834683e-09,
        )),
        (
            2.986772243435986, 3.8535675550242976, 3.434770585137442, 2.3217200962908113,
            1.2664576815080104, 0.5800776053969401, 0.22925545808472714, 0.07974156050254443,
            0.02478045793705654, 0.006961836123857829, 0.0017851254657334447, 0.00042107378949496013,
            9.197220545981854e-05, 1.870690277882769e-05, 3.5604553784785674e-06, 6.368575422171591e-07,
            1.0738052010199397e-07, 1.7068372676188536e-08, 2.6081698131828002e-09, 4.0985704290259654e-10,
            5.174657398991623e-11,
        ),
        (
            _Piece(1 / 6, 1 / 12, (
                1.181847986987208, 0.09097863630348534, 0.010157308753613375, -0.003353388660169337,
                -0.0011258914510905848, 0.00037313842220120533, 4.2059470653702424e-05,
                -4.5551153528236665e-05, 9.196642793445604e-06, 1.4333392419943144e-06,
                -1.4452403209906214e-06, 4.245290916680789e-07, -2.9644910021671205e-08,
                -3.056222268574316e-08, 1.6825348900681045e-08, -4.760021226194366e-09,
                5.785298455206475e-10, 2.7841086553928857e-10, -2.236653015572482e-10,
                5.491169085028562e-11,
            )),
            _Piece(1 / 12, 1 / 24, (
                1.0723449766623854, 0.028391549978593562, 0.0019403040279314656, 0.0002684049246182456,
                3.961169113315909e-05, -5.372759752205122e-06, -5.160182431015455e-06,
                -2.2547676822298694e-07, 4.922895923523838e-07, 4.033118308279858e-09,
                -4.963291006516901e-08, 7.1210401860839296e-09, 3.672866346889533e-09,
                -1.5907381915801398e-09, 3.337201426954902e-11, 1.67050712931251e-10,
                -5.123004813481432e-11, -6.2697667721225335e-12, 5.1568424272108044e-12,
            )),
            _Piece(1 / 24, 0.0, (
                1.0217607036601566, 0.022753072027361175, 0.0010637687855471626, 7.863790796125581e-05,
                8.21196748456702e-06, 1.143019412534809e-06, 2.05312785670894e-07, 4.683936681610588e-08,
                1.356941978398909e-08, 5.0664004455590145e-09, 2.452518216473115e-09,
                1.5508459526151764e-09, 1.0652073561906835e-09, 1.3387043988033676e-10,
                -9.459632882849672e-10, -8.350526955415928e-10, 1.9269640919063874e-10,
                4.694932145763178e-10, 1.059461461689468e-11, -1.3459435623059992e-10,
                -7.96021363475909e-12, 1.742212871746524e-11,
            )),
        ),
    ),
    "f32": _Tables(
        (0.3725074231624603, -1.2381093483782024e-08),
        (
            0.219383934, 0.632120311, -0.132124349, 0.0267454274, -0.00480613997, 0.000650262868,
            -0.000153108107,
        ),
        1.5,
        _Piece(1 / 2.5, 0.0, (
            1.1540966, 0.218277201, 0.0804554746, 0.0236157663, 0.00937360898, 0.00304485508,
            0.00129477168, 0.000425379636, 0.000160806885, 5.87305331e-05, 5.28826022e-05,
            1.2269229e-05,
        )),
        (
            2.9867723, 3.8535676, 3.43477082, 2.32172108, 1.2664541, 0.580068171, 0.22927095, 0.0797793046,
            0.0247525051, 0.00689171115, 0.00180435902, 0.00048132852, 9.21770552e-05,
        ),
        (
            _Piece(1 / 6, 1 / 14, (
                1.16906762, 0.100440152, 0.0149499755, -0.00393640483, -0.00234538782, 0.000617066631,
                0.000207130288, -0.000140518954, 1.45569184e-05, 1.58765506e-05, -6.20088849e-06,
            )),
            _Piece(1 / 14, 0.0, (
                1.03858674, 0.0418403409, 0.00371065759, 0.00055420358, 0.000128681873, 4.94285596e-05,
                2.68834501e-05, 5.89423917e-06, -7.14145654e-06, -4.10831899e-06,
            )),
        ),
    ),
}  # fmt: skip


def _pieced(x: Number, pieces: Sequence[_Piece]) -> Number:
    """The polynomial of the piece in which x lies."""
    found: Number | None = None
    for piece in reversed(pieces):
        half = 0.5 * (piece.high - piece.low)
        place = fma(x, 1 / half, -0.5 * (piece.high + piece.low) / half)
        value = cast(Number, fused(place, piece.coefficients))
        found = value if found is None else where(x > piece.low, value, found)
    assert found is not None
    return found


def _line(x: Number, of_root: Truth, over: Number) -> Number:
    """log(x), or log(x / root) where so told, with what rounding the ratio has lost; `over` is 1 / x near the root."""
    high, low = _TABLES[x.type].root
    ratio = x * (1 / high)
    is_small = x < _SMALL
    lost = where(abs(ratio - 1.0) < 0.5, (fma(ratio, -high, x) - ratio * low) * over, 0.0)
    more = where(of_root, where(is_small, -math.log(high), lost), 0.0)
    return log(where(of_root & ~is_small, ratio, x)) + more


def _e1(tables: _Tables, size: Number, line: Number, power: Number, over: Number) -> Number:
    """E1 of a size: by log(size), e^-size and 1 / (size + shift)."""
    near = fused(where(size <= 1.0, size - 1.0, 0.0), tables.near) - line
    far = power * (over * _pieced(over, [tables.beyond]))
    return where(size <= 1.0, near, far)


def _exp1(x: Number) -> Number:
    tables = _TABLES[x.type]
    is_told = (x >= 0.0) & (x < math.inf)
    size = where(is_told, x, 1.0)
    found = _e1(tables, size, log(size), exp(-size), 1.0 / (size + tables.shift))
    return where(is_told, found, where(x == math.inf, 0.0, math.nan))


def _expi(x: Number) -> Number:
    tables, is_low, is_endless = _TABLES[x.type], x < 0.0, abs(x) == math.inf
    size = where(is_endless, 1.0, abs(x))
    over = 1.0 / where(is_low, size + tables.shift, where(size < _SMALL, _SMALL, size))
    line = _line(size, ~is_low, over)
    power = exp(where(is_low, -size, 0.5 * size))  # e^x overflows before the value does
    high, low = _TABLES[x.type].root
    is_near = size < _NEAR
    place = where(is_near, size, 0.0)
    near = line + ((place - high) - low) * fused(place * (2 / _NEAR) - 1.0, tables.rest)
    far = power * (over * _pieced(over, tables.far)) * power
    found = where(is_low, -_e1(tables, size, line, power, over), where(is_near, near, far))
    return where(is_endless, where(is_low, -0.0, math.inf), found)


def _rule(name: str, formula: Callable[[Number], Number]) -> Rule:
    """The formula, or SciPy's function of a single float64, which takes half the time."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
        if t == "f64" and b.is_single and not is_alone():
            return call(b, name, t, x)
        return formula(Number(b, x, t)).x

    return rule


IN_PROCESS = ALONE = {"expi": _rule("expi", _expi), "exp1": _rule("exp1", _exp1)}
