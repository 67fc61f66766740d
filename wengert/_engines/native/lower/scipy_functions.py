"""Functions of `scipy.special` that have no primitive of their own, as vector code.

`dawsn`, `exprel`, `fresnel`, `sici`, `spence`, `owens_t` (`owens_t.py`), and of complex numbers `wofz`, `erfcx`
(`faddeeva.py`), `gamma`, `loggamma`, `rgamma` and `psi` (`complex_gamma.py`).

They are calls of one primitive that names the function (`scipy/_ufuncs.py`), of which others stay calls of SciPy's.
Each is made of polynomials, those of least squares of relative errors at Chebyshev's points, worked out with 50 digits:
dawsn(x) / x in x^2 near 0, dawsn(x) between, 2 x dawsn(x) in 1 / x^2 far out; Si(x) / x and (Ci(x) - log(x) - Euler's
constant) / x^2 in x^2 up to 4, and from there x f(x) and x^2 g(x) in 1 / x^2, where f and g are the auxiliary functions
(DLMF 6.2); S(x) / x^3 and C(x) / x in x^4 up to 2, and from there pi x f(x) and pi^2 x^3 g(x) in 1 / x^4, of Fresnel's
(DLMF 7.5); and of the dilogarithm between 1/2 and 3/2, to which it comes by its reflection and inversion (DLMF 25.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand
from . import complex_gamma, faddeeva
from .complex_scalars import COMPLEX_SCALARS
from .numbers import EULER, Number, at_most, fma, fused, log, where
from .owens_t import owens_t


class _Piece(NamedTuple):
    """A polynomial between two bounds, in the place there: from -1 to 1."""

    low: float
    high: float
    coefficients: Sequence[float]

    def at(self, x: Number) -> Number:
        half = 0.5 * (self.high - self.low)
        found: Number = fused(fma(x, 1 / half, -0.5 * (self.low + self.high) / half), self.coefficients)
        return found


# -- Dawson's integral -------------------------------------------------------------------------------------------------


class _Dawson(NamedTuple):
    """Pieces near 0 in x^2, between in x, and from there on in 1 / x^2."""

    near: _Piece
    between: Sequence[_Piece]
    far: _Piece


_NEAR = 2.0
_DAWSON = {
    "f64": _Dawson(
        _Piece(0.0, 4.0, (
            0.3199940372827045, -0.29998509320676103, 0.20497987582912658, -0.10747975160585613,
            0.045294720543509574, -0.015891236064105474, 0.004765804898749136, -0.0012466956453186147,
            0.0002889998552222988, -6.012301743031748e-05, 1.1341495849273733e-05, -1.9566145449940303e-06,
            3.1094738184038405e-07, -4.5795212942857734e-08, 6.2755435590219005e-09, -8.087044507777032e-10,
            1.0286123644767809e-10, -1.1118026581196505e-11,
        )),
        (
            _Piece(2.0, 3.25, (
                0.20961840443292779, -0.06281038954554431, 0.021166106116546228, -0.0067935562874870325,
                0.0014388340411911563, 0.00011725833039022932, -0.0002514738318775654, 0.00010479149144077027,
                -1.8422893774763304e-05, -2.37980349577817e-06, 2.2201616221679288e-06, -4.932443621973755e-07,
                -9.6703047199205e-09, 3.208368890749326e-08, -6.979959666717319e-09, -1.4517263959521808e-10,
                3.70626238871793e-10, -6.405579636699516e-11, -4.4745485024535806e-12, 3.04536825989223e-12,
                -2.8283774307651367e-13,
            )),
            _Piece(3.25, 5.0, (
                0.12514746807550867, -0.028408285170078228, 0.006720124040439691, -0.0016702362500793761,
                0.0004417069983374766, -0.0001262046272890662, 3.911263529640343e-05, -1.2727642668993567e-05,
                3.998306269870444e-06, -1.0415092687840159e-06, 1.3959760354494078e-07, 5.3376603835569076e-08,
                -4.991939308530159e-08, 2.142281182204013e-08, -5.591469972321349e-09, 5.166059161040621e-10,
                3.0758877057347907e-10, -1.8720791095711648e-10, 4.5297087482592336e-11, 2.365704408072414e-12,
                -2.9965400042839765e-12,
            )),
        ),
        _Piece(0.0, 1 / 25, (
            1.01031615649186, 0.010649746347064306, 0.0003524366198142991, 2.041556033407591e-05,
            1.7463311983677673e-06, 2.0365642531803066e-07, 3.0990217430856975e-08, 6.005592256146409e-09,
            1.4680442042445734e-09, 4.494890173146834e-10, 1.7339883115562407e-10, 1.0316671072978031e-10,
            7.834431342587011e-11, 2.1521784056723684e-11, -3.201822595500198e-11, -2.7579521617435628e-11,
            -7.803511291292156e-13, 5.37023687045782e-12, 1.305420014825513e-12,
        )),
    ),
    "f32": _Dawson(
        _Piece(0.0, 4.0, (
            0.319994032, -0.299985111, 0.204979807, -0.107479423, 0.0452952683, -0.0158932954, 0.0047643804,
            -0.00124161644, 0.000290255994, -6.54580654e-05, 1.1343157e-05,
        )),
        (
            _Piece(2.0, 4.0, (
                0.178271025, -0.0696262047, 0.0306078941, -0.0147971781, 0.0068880748, -0.00235422398,
                7.47792728e-05, 0.000629216258, -0.000523510331, 0.000181159645, 2.59261124e-05, -2.89609943e-05,
            )),
        ),
        _Piece(0.0, 1 / 16, (
            1.01642191, 0.0172921922, 0.000953662151, 9.54620191e-05, 1.49837451e-05, 4.3460609e-06, 1.38633754e-06,
        )),
    ),
}  # fmt: skip


def _dawsn(x: Number) -> Number:
    tables, size = _DAWSON[x.type], abs(x)
    is_near, end = size < _NEAR, tables.between[-1].high
    inner = where(is_near, x, 0.0)
    near = x * tables.near.at(inner * inner)
    over = 1.0 / where(size < end, end, size)
    found = 0.5 * over * tables.far.at(over * over)
    for piece in reversed(tables.between):
        found = where(size < piece.high, piece.at(where(size < piece.high, size, piece.low)), found)
    return where(is_near, near, where(x < 0.0, -found, found))


# -- the integrals of sine and cosine ----------------------------------------------------------------------------------


class _Waves(NamedTuple):
    """Of integrals of sine and cosine near 0, and of f and g from there on, by pieces, the nearest last."""

    sine: _Piece
    cosine: _Piece
    first: Sequence[_Piece]
    second: Sequence[_Piece]


_SMALL = 4.0
_INTEGRALS = _Waves(
    _Piece(0.0, 16.0, (
        0.6488924209268717, -0.26998630593421985, 0.06995436230262994, -0.01018091985457948,
        0.0009260439405885689, -5.7295100439786967e-05, 2.5629029804161107e-06, -8.669329631391468e-08,
        2.294707487021278e-09, -4.882052372111525e-11, 8.534997756553098e-13, -1.243344573382933e-14,
    )),
    _Piece(0.0, 16.0, (
        -0.18000156259038463, 0.05804136708251917, -0.010676245460890443, 0.0011887255711437832,
        -8.738341186863491e-05, 4.535777665363579e-06, -1.7478633681151343e-07, 5.194180624409085e-09,
        -1.2261802802339146e-10, 2.3544996262234412e-12, -3.7508466831101965e-14, 5.023056078090087e-16,
    )),
    (
        _Piece(0.0, 1 / 64, (
            0.9855904297170983, -0.013381738359286452, 0.0008826900462555203, -0.00011493614900827231,
            2.2134969833468554e-05, -5.503310001336906e-06, 1.6383671219670346e-06, -5.577773298335112e-07,
            2.1078506843312694e-07, -8.662077551499214e-08, 3.7574699895628906e-08, -1.7037422330399327e-08,
            1.0455406459549037e-08, -6.7808788673825114e-09, -2.6319808486532173e-09, 4.651744403738883e-09,
            9.755918787022585e-09, -1.0404719284125803e-08, -1.0778308786513215e-08, 1.123856771773646e-08,
            8.718076674352951e-09, -8.453882397506947e-09, -3.938347678928244e-09, 3.638091368448194e-09,
            8.531282290450434e-10, -7.411287559335296e-10,
        )),
        _Piece(1 / 64, 1 / 16, (
            0.9418119807878753, -0.02756976426219311, 0.0029468430581017866, -0.0005093313348863469,
            0.00011368354130224275, -2.9775809975278088e-05, 8.707184794081236e-06, -2.7607567698285385e-06,
            9.315117790589654e-07, -3.302361977244146e-07, 1.218512988347531e-07, -4.650308906627104e-08,
            1.83964486134996e-08, -7.435502660960447e-09, 2.816530210260621e-09, -1.1418388914730106e-09,
            7.76123515665132e-10, -3.666176943418927e-10, -5.4757263005705785e-11, 3.8139873276585055e-11,
            7.352802791403067e-11, -3.598574335116636e-11,
        )),
    ),
    (
        _Piece(0.0, 1 / 64, (
            0.9588269529985257, -0.0366144548928143, 0.003723833337146504, -0.0006274732870058375,
            0.00014418163205038635, -4.087591655723683e-05, 1.3489833582505784e-05, -4.995470716937628e-06,
            2.024565261864787e-06, -8.823150478002036e-07, 4.132819250465546e-07, -2.05832031288541e-07,
            8.18272219772861e-08, -2.602433805041724e-08, 9.454545770460896e-08, -9.987154400563736e-08,
            -1.3807000967065077e-07, 1.6922662839114484e-07, 2.3397291928434578e-07, -2.579503380179794e-07,
            -2.436253666076992e-07, 2.558568449664048e-07, 1.7022028868553384e-07, -1.693126091847771e-07,
            -6.941850048250851e-08, 6.600449338053994e-08, 1.3183031127905714e-08, -1.1931429910481092e-08,
        )),
        _Piece(1 / 64, 1 / 16, (
            0.849912766580565, -0.06306367239922155, 0.009640901941619776, -0.002049538794509798,
            0.0005268883729745351, -0.00015339019042478222, 4.877573411155107e-05, -1.6571287052768963e-05,
            5.928673162631102e-06, -2.211322816443369e-06, 8.535973993964715e-07, -3.387889409010552e-07,
            1.3787644510010178e-07, -5.826424617188899e-08, 2.485656516020248e-08, -9.158712282473842e-09,
            3.809147094703012e-09, -3.4195569100240782e-09, 1.6807647240371377e-09, 4.51469536173293e-10,
            -2.692714825575462e-10, -3.6026801632921207e-10, 1.7930459474036554e-10,
        )),
    ),
)  # fmt: skip


def _pieced(y: Number, pieces: Sequence[_Piece]) -> Number:
    found = pieces[0].at(y)
    for piece in pieces[1:]:
        found = where(y > piece.low, piece.at(y), found)
    return found


class _Auxiliary(NamedTuple):
    """f and g of a size from 4 on, and its sine and cosine; with the sizes that are smaller."""

    f: Number
    g: Number
    sine: Number
    cosine: Number
    is_small: Any
    small: Number


def _auxiliary(size: Number) -> _Auxiliary:
    tables, is_small = _INTEGRALS, size < _SMALL
    far = where(is_small | (size == math.inf), _SMALL, size)
    over = 1.0 / far
    square = over * over
    f, g = over * _pieced(square, tables.first), square * _pieced(square, tables.second)
    return _Auxiliary(f, g, far.of("sin"), far.of("cos"), is_small, where(is_small, size, 1.0))


def _si(x: Number) -> Number:
    size = abs(x)
    parts = _auxiliary(size)
    near = parts.small * _INTEGRALS.sine.at(parts.small * parts.small)
    far = 0.5 * math.pi - (parts.f * parts.cosine + parts.g * parts.sine)
    far = where(size == math.inf, 0.5 * math.pi, far)
    found = where(parts.is_small, near, far)
    return where(x < 0.0, -found, where(x == 0.0, 0.0, found))  # of either sign, as SciPy has it


def _ci(x: Number) -> Number:
    size = abs(x)
    parts = _auxiliary(size)
    square = parts.small * parts.small
    near = EULER + log(parts.small) + square * _INTEGRALS.cosine.at(square)
    far = parts.f * parts.sine - parts.g * parts.cosine
    far = where(size == math.inf, where(x < 0.0, math.nan, 0.0), far)
    return where(parts.is_small, near, far)


# -- Fresnel's integrals -----------------------------------------------------------------------------------------------

_BEND = 2.0
_FRESNEL = _Waves(
    _Piece(0.0, 16.0, (
        0.11918706705710316, -0.17458805246545703, 0.1479244268711714, -0.06310498929669654, 0.01584359538700155,
        -0.002616066408677117, 0.0003059672570332099, -2.6701949012273595e-05, 1.8068088226176988e-06,
        -9.76229102329072e-08, 4.310813621978664e-09, -1.5853339191225543e-10, 4.932003963485764e-12,
        -1.317170720049639e-13, 3.0036236096782826e-15,
    )),
    _Piece(0.0, 16.0, (
        0.1949232825060342, -0.11529465613686242, 0.33971579241343614, -0.24464972270586188, 0.08490710091342507,
        -0.017736870883851206, 0.002497494783456649, -0.0002542065618702144, 1.962259816779668e-05,
        -1.189841253604151e-06, 5.822473536943411e-08, -2.3491695896022544e-09, 7.952340994809821e-11,
        -2.2959022559122456e-12, 5.6570271519225446e-14,
    )),
    (
        _Piece(0.0, 1 / 64, (
            0.9976865652961727, -0.0022561348935502394, 5.37607351390947e-05, -3.167079834044436e-06,
            3.164217329334427e-07, -4.491409313012562e-08, 8.195140869228711e-09, -1.8058337612872444e-09,
            4.609796352951287e-10, -1.3235147187846024e-10, 4.1844821049287976e-11, -1.4540672146242016e-11,
            5.4284659989282735e-12, -1.7443648248255507e-12, 5.946672493276469e-13, -7.356970695828651e-13,
            4.3500052102782323e-13, 1.7794781049440674e-13, -1.3611319354964457e-13, -1.0095417106870692e-13,
            6.14861154462883e-14,
        )),
        _Piece(1 / 64, 1 / 16, (
            0.9893729725169809, -0.005786586574369817, 0.00028736660064104526, -2.9067537438169087e-05,
            4.280137926602105e-06, -7.961912391896005e-07, 1.738368079279785e-07, -4.2667826442799456e-08,
            1.1455044812467258e-08, -3.3014624508404914e-09, 1.0048832622450598e-09, -3.211778933147645e-10,
            1.1230253514195655e-10, -3.954090351618206e-11, 8.969807521504852e-12, -2.8413361145549685e-12,
            3.783625235451004e-12, -1.5504944037562228e-12,
        )),
    ),
    (
        _Piece(0.0, 1 / 64, (
            0.9886620257219718, -0.010850588586638427, 0.000445841658243955, -3.610929011626947e-05,
            4.4808875738705e-06, -7.465125686533699e-07, 1.5431550953092423e-07, -3.7617819800783855e-08,
            1.0445264740745987e-08, -3.2236661210298415e-09, 1.0859077974780536e-09, -3.9098399827424896e-10,
            1.4947822811371797e-10, -6.750340453488781e-11, 3.1517518686143307e-11, -2.7839640162140035e-12,
            -1.9993492556143514e-12, -1.1567603219817543e-11, 8.197882210608926e-12, 4.5999671062331236e-12,
            -3.457901334075147e-12, -1.6507617689980578e-12, 1.0928994534629327e-12,
        )),
        _Piece(1 / 64, 1 / 16, (
            0.9507957286878489, -0.025101378196625387, 0.0020049486569916606, -0.00026374097584060867,
            4.6222637051097745e-05, -9.766535692759848e-06, 2.3547533150491097e-06, -6.264861785842959e-07,
            1.799313406434174e-07, -5.496355295587964e-08, 1.765659690557327e-08, -5.872631666384067e-09,
            2.0311552602536837e-09, -7.92592582212548e-10, 2.999185237316528e-10, -5.3673930133292725e-11,
            1.6213904411042296e-11, -3.600681784587406e-11, 1.53746534381667e-11,
        )),
    ),
)  # fmt: skip
_STRAIGHT = 1e30  # from here on both are 1/2, and no power overflows before


def _fresnel(is_cosine: bool) -> Callable[[Number], Number]:
    def function(x: Number) -> Number:
        size = at_most(abs(x), _STRAIGHT)
        is_small = size < _BEND
        near = where(is_small, size, 0.0)
        square = near * near
        curve = (_FRESNEL.cosine if is_cosine else _FRESNEL.sine).at(square * square)
        inner = near * curve if is_cosine else near * square * curve
        sine, cosine = _quarter_turns(where(is_small, _BEND, size))
        over = 1.0 / where(is_small, _BEND, size)
        place = over * over
        f, g = (_pieced(place * place, pieces) for pieces in (_FRESNEL.first, _FRESNEL.second))
        f, g = f * (over * (1 / math.pi)), g * (over * place * (1 / math.pi**2))
        outer = 0.5 + (f * sine - g * cosine) if is_cosine else 0.5 - (f * cosine + g * sine)
        found = where(is_small, inner, outer)
        return where(x < 0.0, -found, found)

    return function


def _quarter_turns(size: Number) -> tuple[Number, Number]:
    """Sine and cosine of pi / 2 times a square, which is reduced with what rounding it has lost."""
    square = size * size
    turn = square - 4.0 * (0.25 * square).of("rint") + fma(size, size, -square)
    angle = (0.5 * math.pi) * turn
    return angle.of("sin"), angle.of("cos")


# -- the dilogarithm ---------------------------------------------------------------------------------------------------

_ZETA_2 = math.pi**2 / 6
_SPENCE = {
    "f64": _Piece(-0.5, 0.5, (
        1.0, -0.125, 0.027777777777776767, -0.0078124999999986105, 0.0025000000000561197, -0.0008680555556101161,
        0.00031887754979876914, -0.00012207031152328299, 4.8225322420348056e-05, -1.953125969379666e-05,
        8.070672307477789e-06, -3.390782808849866e-06, 1.4450128724863448e-06, -6.230440261074359e-07,
        2.7014703704360506e-07, -1.1857188238461658e-07, 5.495997089238052e-08, -2.472552778907387e-08,
        7.745026575257368e-09, -3.2840590595232953e-09, 4.590204904048963e-09, -2.2240636897418323e-09,
        -8.334227901038898e-10, 4.3112022747308405e-10, 4.4461010837419734e-10, -2.1329283325008882e-10,
    )),
    "f32": _Piece(-0.5, 0.5, (
        1.0, -0.12500006, 0.0277778339, -0.00781122083, 0.0024992174, -0.000875001424, 0.000322520063,
        -0.000107026972, 4.10046523e-05, -3.29982649e-05, 1.41548535e-05,
    )),
}  # fmt: skip


def _spence(z: Number) -> Number:
    is_told = (z >= 0.0) & (z < math.inf)
    x = where(is_told, z, 1.0)
    is_high = x > 2.0
    over = 1.0 / where(x > 1.5, x, 1.0)
    low = where(is_high, over, x)  # up to 2
    is_low, is_turned = low < 0.5, (low > 1.5) | (is_high & (low >= 0.5))
    place = where(is_low, -low, where(is_turned, over - 1.0, low - 1.0))
    found = where(place == 0.0, 0.0, -(place * _SPENCE[z.type].at(place)))
    inner = where(is_low & (low > 0.0), low, 1.0)
    turned = _ZETA_2 - log(inner) * where(is_low, 1.0 - low, 1.0).of("log") - found
    found = where(is_low, turned, found)
    line = log(where(low > 1.5, low, where(is_high, x, 1.0)))
    found = where(is_high | (low > 1.5), -0.5 * line * line - found, found)
    return where(is_told, found, math.nan)  # of an infinity, too, as SciPy has it


def _exprel(x: Number) -> Number:
    """(e^x - 1) / x, which float32 holds where it does not hold e^x."""
    is_small, is_large = abs(x) < 2.0**-60, x > 717.0
    place = where(is_small | is_large, 1.0, x)
    return where(is_small, 1.0, where(is_large, math.inf, place.of("expm1") / place))


def _wofz_of_real(x: Number) -> tuple[Number, Number]:
    return (-(x * x)).of("exp"), (2 / math.sqrt(math.pi)) * _dawsn(x)


# by SciPy's name and the place among its results
_FORMULAS: dict[tuple[str, int], Callable[..., Number]] = {
    ("dawsn", -1): _dawsn, ("spence", -1): _spence, ("sici", 0): _si, ("sici", 1): _ci,
    ("exprel", -1): _exprel, ("owens_t", -1): owens_t, ("fresnel", 0): _fresnel(False), ("fresnel", 1): _fresnel(True),
}  # fmt: skip
_OF_COMPLEX: dict[tuple[str, int], Callable[[Number, Number], Iterable[Number]]] = {
    ("wofz", -1): faddeeva.wofz, ("erfcx", -1): faddeeva.erfcx,
    **{(name, -1): getattr(complex_gamma, name) for name in ("psi", "loggamma", "gamma", "rgamma")},
}  # fmt: skip
_COMPLEX_OF_REAL: dict[tuple[str, int], Callable[[Number], Sequence[Number]]] = {("wofz", -1): _wofz_of_real}
_SHORT = ("dawsn", "owens_t", "spence")  # computed in float32, too: of others terms cancel


def _named(attrs: tuple[Any, ...]) -> tuple[str, int]:
    said = dict(attrs[0])
    return said["function"], said["index"]


def has_formula(attrs: tuple[Any, ...], of_complex: bool, is_complex: bool) -> bool:
    """Whether a call is vector code, of numbers and with a result that may be complex."""
    return _named(attrs) in (_OF_COMPLEX if of_complex else _COMPLEX_OF_REAL if is_complex else _FORMULAS)


def _call(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
    name, _ = found = _named(attrs)
    kind = t if name in _SHORT else "f64"
    return b.convert(t, kind, _FORMULAS[found](*[Number(b, b.convert(kind, t, x), kind) for x in xs]).x)


def _call_of_complex(b: Builder, t: str, attrs: tuple[Any, ...], x: Any) -> Pair:
    name, kind = _named(attrs), ITEM[t]
    if t not in COMPLEX:
        parts = _COMPLEX_OF_REAL[name](Number(b, x, t))
    else:
        z = pair_of(x)
        parts = _OF_COMPLEX[name](*[Number(b, b.convert("f64", kind, part)) for part in (z.re, z.im)])
    return Pair(*[b.convert(kind, part.type, part.x) for part in parts])


IN_PROCESS = {"scipy_special": _call}
COMPLEX_SCALARS["scipy_special"] = _call_of_complex
