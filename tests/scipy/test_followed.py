"""Functions of SciPy's that are followed by their own source: values against SciPy's, gradients against differences."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

import wengert as wg
import wengert.scipy as ours
from tests.scipy.against import parts
from wengert.scipy._followed import Followed

RNG = np.random.default_rng(3)
W, BAND = np.array(0.3), np.array([0.25, 0.45])
B, A = np.array([0.2, 0.5, 0.3, 0.1]), np.array([1.0, -0.4, 0.3, 0.05])
ROOTS, POLES = np.array([-0.4, 0.7]), np.array([-0.5, 0.3])
X, Y = RNG.normal(size=(2, 40))
SHORT = np.array([0.7, -1.1, 0.2, 1.9, -0.4, 0.45, -0.9, 1.3, -0.05])
POSITIVE = np.abs(RNG.normal(size=9)) + 0.3
T, POINTS, TABLE = np.linspace(0.0, 3.0, 8), np.array([0.33, 1.21, 2.6]), RNG.normal(size=8)
IMAGE, LABELS = RNG.normal(size=(5, 6)), RNG.integers(0, 3, size=(5, 6))
SQUARE, OTHER = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
SECTIONS = np.array([[0.2, 0.4, 0.2, 1.0, -0.3, 0.2], [1.0, 0.3, 0.5, 1.0, -0.1, 0.4]])
CLOUD, SEEN = RNG.uniform(size=(9, 2)), RNG.uniform(size=(4, 2))
FOOT, HEIGHTS = np.array([[0, 1, 0], [1, 1, 1]]), np.array([[0.3, 0.1, 0.0], [0.2, 0.4, 0.7]])
KNOTS = np.array([0.0] * 4 + [0.3, 0.6] + [1.0] * 4)
PEAKS = np.sin(np.arange(30) * 0.9) * np.linspace(1, 3, 30) + 0.3 * np.cos(np.arange(30) * 2.1)


def sections(g: Any) -> Any:
    """The numerators of SECTIONS times a factor."""
    np_ = wg.numpy if isinstance(g, wg.Tensor) else np
    return np_.concatenate([g * SECTIONS[:, :3], SECTIONS[:, 3:]], axis=1)


def module_of(x: Any) -> Any:
    return ours if isinstance(x, wg.Tensor) else scipy


def second_difference(x: Any, axis: int, *options: Any) -> Any:
    return module_of(x).ndimage.correlate1d(x, [1.0, -2.0, 1.0], axis, *options)


def found_peaks(found: Any) -> Any:
    """Heights, prominences, thresholds, widths and ends of peaks, and where they are."""
    peaks, properties = found
    return (1.0 * peaks, *[1.0 * properties[key] for key in sorted(properties)])


# by the functions' names: how they are called, and at which arrays
CALLS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "signal.butter": (lambda f, w: f(3, w, "highpass"), (W,)),
    "signal.cheby1": (lambda f, w: f(3, 1.0, w), (W,)),
    "signal.cheby2": (lambda f, w: f(3, 20.0, w), (W,)),
    "signal.ellip": (lambda f, w: f(3, 1.0, 20.0, w, "bandpass"), (BAND,)),
    "signal.iirfilter": (lambda f, w: f(2, w, output="sos"), (BAND,)),
    "signal.iirnotch": (lambda f, w: f(w, 10.0), (W,)),
    "signal.iirpeak": (lambda f, w: f(w, 10.0), (W,)),
    "signal.iircomb": (lambda f, q: f(0.25, q), (np.array(9.0),)),
    "signal.firwin": (lambda f, w: f(7, w), (W,)),
    "signal.firwin2": (lambda f, g: f(7, [0.0, 0.5, 1.0], g), (np.array([1.0, 0.5, 0.0]),)),
    "signal.firls": (lambda f, g: f(7, [0.0, 0.3, 0.5, 1.0], g), (np.array([1.0, 1.1, 0.2, 0.1]),)),
    "signal.gammatone": (lambda f, w: f(w, "fir", numtaps=5, fs=10.0), (np.array(1.3),)),
    "signal.freqz": (lambda f, b, a: f(b, a, 8)[1], (B, A)),
    "signal.freqz_zpk": (lambda f, z, p: f(z, p, 1.0, 8)[1], (ROOTS, POLES)),
    "signal.freqz_sos": (lambda f, g: f(sections(g), 8)[1], (np.array(1.2),)),
    "signal.sosfreqz": (lambda f, g: f(sections(g), 8)[1], (np.array(1.2),)),
    "signal.freqs": (lambda f, b, a: f(b, a, np.array([1.0, 2.0]))[1], (B, A)),
    "signal.freqs_zpk": (lambda f, z, p: f(z, p, 1.0, np.array([1.0, 2.0]))[1], (ROOTS, POLES)),
    "signal.group_delay": (lambda f, b, a: f((b, a), 8)[1], (B, A)),
    "signal.bilinear": (lambda f, b, a: f(b, a, 2.0), (B, A)),
    "signal.bilinear_zpk": (lambda f, z, p: f(z, p, 1.0, 2.0), (ROOTS, POLES)),
    "signal.normalize": (lambda f, b, a: f(b, a), (B, A * 2)),
    "signal.tf2zpk": (lambda f, b, a: f(b, a)[2], (B, A)),
    "signal.tf2sos": (lambda f, b, a: f(b, a), (B, A)),
    "signal.tf2ss": (lambda f, a: f(B, a)[0], (A,)),
    "signal.zpk2tf": (lambda f, z, p: f(z, p, 1.3), (ROOTS, POLES)),
    "signal.zpk2sos": (lambda f, z, p: f(z, p, 1.3), (ROOTS, POLES)),
    "signal.zpk2ss": (lambda f, z, p: f(z, p, 1.3)[:3], (ROOTS, POLES)),
    "signal.sos2tf": (lambda f, g: f(sections(g)), (np.array(1.2),)),
    "signal.sos2zpk": (lambda f, g: f(sections(g))[2], (np.array(1.2),)),
    "signal.ss2tf": (lambda f, a: f(a, np.ones((4, 1)), np.ones((1, 4)), np.zeros((1, 1))), (SQUARE,)),
    "signal.ss2zpk": (lambda f, c: f(SQUARE, np.ones((4, 1)), c, np.ones((1, 1)))[2], (np.ones((1, 4)),)),
    "signal.lp2lp": (lambda f, b, a: f(b, a, 1.3), (B, A)),
    "signal.lp2hp": (lambda f, b, a: f(b, a, 1.3), (B, A)),
    "signal.lp2bp": (lambda f, b, a: f(b, a, 1.3, 0.4), (B, A)),
    "signal.lp2bs": (lambda f, b, a: f(b, a, 1.3, 0.4), (B, A)),
    "signal.lp2lp_zpk": (lambda f, z, p, w: f(z, p, 1.0, w), (ROOTS, POLES, np.array(1.3))),
    "signal.lp2hp_zpk": (lambda f, z, p, w: f(z, p, 1.0, w), (ROOTS, POLES, np.array(1.3))),
    "signal.lp2bp_zpk": (lambda f, z, p, w: f(z, p, 1.0, w, 0.4), (ROOTS, POLES, np.array(1.3))),
    "signal.lp2bs_zpk": (lambda f, z, p, w: f(z, p, 1.0, w, 0.4), (ROOTS, POLES, np.array(1.3))),
    "signal.decimate": (lambda f, x: f(x, 2), (X,)),
    "signal.resample_poly": (lambda f, x: f(x, 3, 2), (X,)),
    "signal.deconvolve": (lambda f, x, d: f(x, d), (SHORT, A)),
    "signal.wiener": (lambda f, x: f(x, 3), (X,)),
    "signal.hilbert2": (lambda f, x: f(x), (IMAGE,)),
    "signal.envelope": (lambda f, x: f(x), (X,)),
    "signal.lombscargle": (lambda f, x, y: f(x, y, np.array([1.0, 2.0])), (T, TABLE)),
    "signal.vectorstrength": (lambda f, x: f(x, 2.0), (SHORT,)),
    "signal.lsim": (lambda f, b, u: f((b, A), u, T)[1], (B, TABLE)),
    "signal.dlsim": (lambda f, b, u: f((b, A, 1.0), u)[1], (B, TABLE)),
    "signal.step": (lambda f, b: f((b, A), T=T)[1], (B,)),
    "signal.impulse": (lambda f, b: f((b[1:], A), T=T)[1], (B,)),
    "signal.cont2discrete": (lambda f, a: f((a, np.ones((4, 1)), np.ones((1, 4)), np.zeros((1, 1))), 0.1)[:2], (SQUARE,)),
    "signal.invres": (lambda f, r, p: f(r, p, []), (np.array([1.0, 0.4]), POLES)),
    "signal.chirp": (lambda f, t: f(t, 1.0, 2.0, 3.0), (T,)),
    "signal.gausspulse": (lambda f, t: f(t, 2.0), (T,)),
    "signal.sawtooth": (lambda f, t: f(t, 0.4), (T + 0.1,)),
    "signal.sweep_poly": (lambda f, t: f(t, np.poly1d([0.1, 0.2, 1.0])), (T,)),
    "signal.czt": (lambda f, x: f(x, 5, np.exp(-0.3j), 0.9), (SHORT,)),
    "signal.zoom_fft": (lambda f, x: f(x, [0.1, 0.6], 5), (SHORT,)),
    "signal.minimum_phase": (lambda f, x: f(x, n_fft=32), (np.array([0.2, 0.7, 1.4, 0.7, 0.2]),)),
    "signal.bode": (lambda f, b: f((b, A), np.array([1.0, 2.0]))[1:], (B,)),
    "signal.freqresp": (lambda f, b: f((b, A), np.array([1.0, 2.0]))[1], (B,)),
    "signal.dbode": (lambda f, b: f((b, A, 1.0), np.array([1.0, 2.0]))[1:], (B,)),
    "signal.dfreqresp": (lambda f, b: f((b, A, 1.0), np.array([1.0, 2.0]))[1], (B,)),
    "signal.dstep": (lambda f, b: f((b, A, 1.0), n=6)[1][0], (B,)),
    "signal.dimpulse": (lambda f, b: f((b, A, 1.0), n=6)[1][0], (B,)),
    "signal.iirdesign": (lambda f, w: f(w, 0.5, 1.0, 20.0), (W,)),
    "signal.residue": (lambda f, b, p: f(b, p)[:2], (np.array([1.0, 0.4]), np.array([1.0, 6.0, 11.0, 6.0]))),
    "signal.residuez": (lambda f, b, p: f(b, p)[:2], (np.array([1.0, 0.4]), np.array([1.0, 6.0, 11.0, 6.0]))),
    "signal.invresz": (lambda f, r, p: f(r, p, []), (np.array([1.0, 0.4]), POLES)),
    "signal.abcd_normalize": (lambda f, a: f(a, np.ones((4, 1)), np.ones((1, 4)), np.zeros((1, 1))), (SQUARE,)),
    "signal.savgol_coeffs": (lambda f, d: f(7, 2, deriv=1, delta=d), (np.array(0.7),)),
    "signal.findfreqs": (lambda f, b, a: f(b, a, 5), (B, A)),
    "signal.firwin_2d": (lambda f, w: f((5, 5), ("hann", "hann"), fc=w), (W,)),
    "signal.gauss_spline": (lambda f, t: f(t, 3), (T,)),
    "signal.cspline1d": (lambda f, y: f(y), (TABLE,)),
    "signal.qspline1d": (lambda f, y: f(y), (TABLE,)),
    "signal.kaiser_beta": (lambda f, a: f(a), (np.array(30.0),)),
    "signal.kaiser_atten": (lambda f, w: f(21, w), (W,)),
    "signal.czt_points": (lambda f, w: f(5, w * np.exp(0.3j)), (W,)),
    "signal.medfilt": (lambda f, x: f(x, (3, 5)), (IMAGE,)),
    "signal.order_filter": (lambda f, x: f(x, np.ones((3, 3)), 2), (IMAGE,)),
    "signal.find_peaks": (
        lambda f, x: found_peaks(f(x, 0.2, 0.01, 2, prominence=0.3, width=0.5, rel_height=0.7, plateau_size=1)), (PEAKS,)
    ),
    "signal.peak_prominences": (lambda f, x: f(x, np.array([2, 9]))[0], (PEAKS,)),
    "signal.peak_widths": (lambda f, x: f(x, np.array([2, 9]), 0.4), (PEAKS,)),
    "stats.ttest_ind_from_stats": (lambda f, m: tuple(f(m, 1.0, 10, 0.3, 1.2, 12)), (np.array(0.7),)),
    "stats.jarque_bera": (lambda f, x: tuple(f(x)), (X,)),
    "stats.skewtest": (lambda f, x: tuple(f(x)), (X,)),
    "stats.kurtosistest": (lambda f, x: tuple(f(x)), (X,)),
    "stats.normaltest": (lambda f, x: tuple(f(x)), (X,)),
    "stats.theilslopes": (lambda f, y: tuple(f(y))[:2], (SHORT,)),
    "stats.obrientransform": (lambda f, x: f(x, Y), (X,)),
    "stats.binned_statistic": (lambda f, y: f(T, y, "mean", 3)[0], (TABLE,)),
    "stats.energy_distance": (lambda f, x, y: f(x, y), (X, Y)),
    "stats.differential_entropy": (lambda f, x: f(x), (X,)),
    "stats.false_discovery_control": (lambda f, p: f(p), (np.array([0.01, 0.03, 0.2, 0.4]),)),
    "stats.probplot": (lambda f, x: f(x)[0][1], (SHORT,)),
    "linalg.orth": (lambda f, a: (lambda q: q @ q.T)(f(a)), (IMAGE.T,)),
    "linalg.subspace_angles": (lambda f, a, b: f(a, b), (SQUARE[:, :2], OTHER[:, :2])),
    "linalg.fiedler_companion": (lambda f, a: f(a), (A,)),
    "interpolate.splder": (lambda f, c: f((KNOTS, c, 3))[1], (np.append(SHORT[:6], np.zeros(4)),)),
    "interpolate.approximate_taylor_polynomial": (lambda f, a: f(lambda x: np.sin(a * x), 0.1, 3, 1.0)(0.2), (W,)),
    "integrate.cubature": (lambda f, a: f(lambda x: np.exp(-a * x[:, 0]), [0.0], [1.0]).estimate, (W,)),
    "integrate.nsum": (lambda f, a: f(lambda x: 1 / x**a, 1, np.inf).sum, (np.array(2.7),)),
    "stats.pointbiserialr": (lambda f, y: f(np.arange(9) % 2, y)[0], (SHORT,)),
    "stats.tmean": (lambda f, x: f(x), (SHORT,)),
    "stats.tvar": (lambda f, x: f(x), (SHORT,)),
    "stats.tstd": (lambda f, x: f(x), (SHORT,)),
    "stats.tsem": (lambda f, x: f(x), (SHORT,)),
    "stats.tmin": (lambda f, x: f(x), (SHORT,)),
    "stats.tmax": (lambda f, x: f(x), (SHORT,)),
    "stats.sigmaclip": (lambda f, x: f(x, 2.0, 2.0)[0], (SHORT,)),
    "stats.ttest_1samp": (lambda f, x: (f(x, 0.2)[0], f(x, 0.2)[1]), (X,)),
    "stats.ttest_ind": (lambda f, x, y: (f(x, y)[0], f(x, y, equal_var=False)[1]), (X, Y)),
    "stats.ttest_rel": (lambda f, x, y: (f(x, y)[0], f(x, y)[1]), (X, Y)),
    "stats.f_oneway": (lambda f, x, y: tuple(f(x, y)), (X, Y)),
    "stats.bartlett": (lambda f, x, y: f(x, y)[0], (X, Y)),
    "stats.levene": (lambda f, x, y: f(x, y)[0], (X, Y)),
    "stats.alexandergovern": (lambda f, x, y: f(x, y).statistic, (X, Y)),
    "stats.power_divergence": (lambda f, x: f(x, lambda_=0.5)[0], (POSITIVE,)),
    "stats.chisquare": (lambda f, x: f(x)[0], (POSITIVE,)),
    "stats.combine_pvalues": (lambda f, p: f(p)[0], (np.array([0.2, 0.4, 0.7]),)),
    "stats.boxcox": (lambda f, x: f(x, 0.4), (POSITIVE,)),
    "stats.boxcox_llf": (lambda f, x: f(0.4, x), (POSITIVE,)),
    "stats.yeojohnson": (lambda f, x: f(x, 0.4), (SHORT,)),
    "stats.yeojohnson_llf": (lambda f, x: f(0.4, x), (SHORT,)),
    "stats.directional_stats": (lambda f, x: f(x).mean_direction, (SQUARE,)),
    "stats.gstd": (lambda f, x: f(x), (POSITIVE,)),
    "stats.gzscore": (lambda f, x: f(x), (POSITIVE,)),
    "stats.quantile": (lambda f, x: f(x, 0.3), (SHORT,)),
    "stats.scoreatpercentile": (lambda f, x: f(x, 30), (SHORT,)),
    "stats.kstat": (lambda f, x: f(x, 3), (SHORT,)),
    "stats.kstatvar": (lambda f, x: f(x), (SHORT,)),
    "stats.lmoment": (lambda f, x: f(x), (SHORT,)),
    "stats.expectile": (lambda f, x: f(x, 0.4), (SHORT,)),
    "stats.describe": (lambda f, x: tuple(f(x))[2:4], (SHORT,)),
    "stats.mode": (lambda f, x: f(x)[0], (SHORT,)),
    "interpolate.pchip_interpolate": (lambda f, y, x: f(T, y, x), (TABLE, POINTS)),
    "interpolate.lagrange": (lambda f, y: f(T[:4], y)(1.2), (TABLE[:4],)),
    "interpolate.barycentric_interpolate": (lambda f, y, x: f(T, y, x), (TABLE, POINTS)),
    "interpolate.krogh_interpolate": (lambda f, y, x: f(T, y, x), (TABLE, POINTS)),
    "interpolate.pade": (lambda f, y: f(y, 1)[0](0.3), (POSITIVE[:4],)),
    "interpolate.BarycentricInterpolator": (lambda f, y, x: f(T, y)(x), (TABLE, POINTS)),
    "interpolate.KroghInterpolator": (lambda f, y, x: f(T, y).derivative(x), (TABLE, POINTS)),
    "interpolate.FloaterHormannInterpolator": (lambda f, y, x: f(T, y)(x), (TABLE, POINTS)),
    "interpolate.RBFInterpolator": (lambda f, y, d, x: f(y, d)(x), (CLOUD, SHORT, SEEN)),
    "interpolate.Rbf": (lambda f, x, y, q: f(x, y)(q), (T, TABLE, POINTS)),
    "integrate.quad_vec": (lambda f, a: f(lambda x: np.sin(a * x), 0.0, 1.0)[0], (POSITIVE,)),
    "optimize.rosen": (lambda f, x: f(x), (SHORT,)),
    "optimize.rosen_der": (lambda f, x: f(x), (SHORT,)),
    "optimize.rosen_hess": (lambda f, x: f(x), (SHORT,)),
    "optimize.rosen_hess_prod": (lambda f, x: f(x, POSITIVE), (SHORT,)),
    "optimize.fixed_point": (lambda f, a: f(lambda x: np.cos(a * x), 0.5), (np.array(0.7),)),
    "ndimage.center_of_mass": (lambda f, x: f(x), (IMAGE + 3,)),
    "ndimage.mean": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.variance": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.standard_deviation": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.sum_labels": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.sum": (lambda f, x: f(x), (IMAGE,)),
    "ndimage.minimum": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.maximum": (lambda f, x: f(x), (IMAGE,)),
    "ndimage.median": (lambda f, x: f(x, LABELS, [1, 2]), (IMAGE,)),
    "ndimage.extrema": (lambda f, x: f(x)[:2], (IMAGE,)),
    "ndimage.labeled_comprehension": (lambda f, x: f(x, LABELS, [1, 2], np.mean, float, 0), (IMAGE,)),
    "ndimage.grey_erosion": (lambda f, x: (f(x, 3, mode="nearest"), f(x, structure=HEIGHTS)), (IMAGE,)),
    "ndimage.grey_dilation": (lambda f, x: f(x, None, FOOT, HEIGHTS, mode="constant", cval=0.4, origin=(0, -1)), (IMAGE,)),
    "ndimage.grey_opening": (lambda f, x: f(x, (3, 3)), (IMAGE,)),
    "ndimage.grey_closing": (lambda f, x: f(x, footprint=np.eye(3)), (IMAGE,)),
    "ndimage.white_tophat": (lambda f, x: f(x, (3, 3)), (IMAGE,)),
    "ndimage.black_tophat": (lambda f, x: f(x, (3, 3)), (IMAGE,)),
    "ndimage.morphological_gradient": (lambda f, x: f(x, structure=HEIGHTS, mode="grid-wrap"), (IMAGE,)),
    "ndimage.morphological_laplace": (lambda f, x: f(x, (3, 3)), (IMAGE,)),
    "ndimage.generic_gradient_magnitude": (lambda f, x: f(x, module_of(x).ndimage.prewitt), (IMAGE,)),
    "ndimage.generic_laplace": (lambda f, x: f(x, second_difference), (IMAGE,)),
    "spatial.distance_matrix": (lambda f, x, y: f(x, y), (SQUARE, OTHER)),
    "spatial.procrustes": (lambda f, x, y: f(x, y), (SQUARE, OTHER)),
    "spatial.geometric_slerp": (lambda f, x: f(x / np.linalg.norm(x), np.array([1.0, 0, 0, 0]), 0.3), (SQUARE[0],)),
    "spatial.minkowski_distance": (lambda f, x, y: f(x, y, 3), (SQUARE, OTHER)),
    "spatial.minkowski_distance_p": (lambda f, x, y: f(x, y, 3), (SQUARE, OTHER)),
    "constants.convert_temperature": (lambda f, x: f(x, "Celsius", "Fahrenheit"), (SHORT,)),
    "constants.lambda2nu": (lambda f, x: f(x), (SHORT,)),
    "constants.nu2lambda": (lambda f, x: f(x), (SHORT,)),
    "special.diric": (lambda f, x: f(x, 5), (SHORT,)),
}  # fmt: skip
CONSTANT = ("stats.rankdata", "stats.spearmanr")  # steps: their gradient is 0
LOOSE = {"signal.tf2sos": 1e-6, "optimize.fixed_point": 1e-7, "stats.expectile": 1e-8}

# it asks optimize.elementwise.find_root since SciPy 1.18, which takes plain numbers
FINDS_ROOTS = ("stats.expectile",) if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18) else ()


def named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def test_every_function_that_is_followed_is_here() -> None:
    found = {
        f"{module}.{name}"
        for module in ours.__all__
        for name, entry in getattr(ours, module).OURS.items()
        if isinstance(entry, Followed)
    }
    assert found == {*CALLS, *CONSTANT}


@pytest.mark.skipif(not FINDS_ROOTS, reason="until SciPy 1.18 it asks a function that is followed")
def test_what_finds_roots_of_plain_numbers_refuses() -> None:
    for name in FINDS_ROOTS:
        call, args = CALLS[name]
        with pytest.raises(wg.LostGradientError):
            wg.grad(lambda *xs, name=name, call=call: wg.sum(call(named(ours, name), *xs)))(*args)


@pytest.mark.filterwarnings("ignore:.*will be removed in SciPy:DeprecationWarning")  # SciPy's, of its own functions
@pytest.mark.parametrize("name", [name for name in CALLS if name not in FINDS_ROOTS])
def test_against_scipy(name: str) -> None:
    call, args = CALLS[name]
    importlib.import_module(f"scipy.{name.partition('.')[0]}")
    want = parts(as_tuple(call(named(scipy, name), *args)))
    weights = [RNG.normal(size=np.shape(w)) + 1j * RNG.normal(size=np.shape(w)) for w in want]

    def plain(*xs: Any) -> Any:
        found = parts(as_tuple(call(named(scipy, name), *xs)))
        return sum(np.sum(np.real(w * r)) for w, r in zip(weights, found, strict=True))

    def loss(*xs: Any) -> Any:
        found = parts(as_tuple(call(named(ours, name), *xs)))
        for theirs, got in zip(want, found, strict=True):
            value = got.numpy() if isinstance(got, wg.Tensor) else got
            assert np.asarray(value).dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(value, theirs, rtol=LOOSE.get(name, 1e-9), atol=1e-12)
        return sum(wg.sum(wg.real(w * r)) for w, r in zip(weights, found, strict=True))

    for i, x in enumerate(args):
        direction = RNG.normal(size=x.shape)
        slope = np.sum(direction * wg.grad(loss, argnums=i)(*args))
        h = 1e-4 * np.array([1.0, 0.5])
        once = [
            plain(*args[:i], x + s * direction, *args[i + 1 :]) - plain(*args[:i], x - s * direction, *args[i + 1 :])
            for s in h
        ]
        rows = once / (2 * h)
        np.testing.assert_allclose(slope, (4 * rows[1] - rows[0]) / 3, rtol=1e-5, atol=1e-8)


def as_tuple(result: Any) -> Any:
    return tuple(result) if isinstance(result, list) else result


@pytest.mark.parametrize("name", CONSTANT)
def test_ranks_are_constants(name: str) -> None:
    args = (X, Y) if name == "stats.spearmanr" else (X,)
    first = lambda r: r[0] if isinstance(r, tuple) else r
    assert np.all(first(named(ours, name)(*map(wg.tensor, args))) == first(named(scipy, name)(*args)))
    with pytest.raises(wg.DisconnectedError):
        wg.grad(lambda x: wg.sum(first(named(ours, name)(x, *args[1:]))))(X)


def test_peaks_of_a_traced_signal_are_refused() -> None:
    with pytest.raises(wg.TracingError, match="search for peaks"):
        wg.function(lambda x: x[ours.signal.find_peaks(x)[0]])(PEAKS)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("signal.argrelmax", lambda f, x: f(x)[0]),
        ("signal.argrelmin", lambda f, x: f(x, order=2)[0]),
        ("signal.argrelextrema", lambda f, x: f(x, np.greater_equal)[0]),
        ("signal.find_peaks_cwt", lambda f, x: f(x, [1, 2, 3])),
        ("ndimage.label", lambda f, x: f(x.clip(0))[0]),
        ("ndimage.maximum_position", lambda f, x: f(x)),
        ("ndimage.binary_dilation", lambda f, x: f(x.clip(0))),
        ("linalg.issymmetric", lambda f, x: f(x[:, None] * x)),
    ],
)
def test_positions_and_truths_are_constants(name: str, call: Any) -> None:
    importlib.import_module(f"scipy.{name.partition('.')[0]}")
    want = call(named(scipy, name), PEAKS)

    def f(x: Any) -> Any:
        found = call(named(ours, name), x)
        np.testing.assert_array_equal(found, want)
        return x[np.flatnonzero(found)].sum()

    expected = np.isin(np.arange(30), np.flatnonzero(want)) * 1.0
    np.testing.assert_array_equal(wg.grad(f)(PEAKS), expected)
    with pytest.raises(wg.TracingError, match=name):
        wg.function(f)(PEAKS)


def test_without_tensors_it_is_scipys_own() -> None:
    assert type(ours.stats.ttest_rel(X, Y)) is type(scipy.stats.ttest_rel(X, Y))


def test_compiled_and_batched() -> None:
    def loss(b: Any) -> Any:
        return wg.sum(wg.abs(ours.signal.freqz(b, A, 8)[1]))

    np.testing.assert_allclose(wg.function(wg.grad(loss))(B), wg.grad(loss)(B), rtol=1e-10)
    rows = np.stack([X, Y])
    each = [wg.grad(ours.optimize.rosen)(row) for row in rows]
    np.testing.assert_allclose(wg.vmap(wg.grad(ours.optimize.rosen))(rows), each, rtol=1e-10)


def test_interpolants_are_pickled() -> None:
    found = pickle.loads(pickle.dumps(ours.interpolate.KroghInterpolator(T, TABLE)))
    np.testing.assert_allclose(found(POINTS), ours.interpolate.KroghInterpolator(T, TABLE)(POINTS))
