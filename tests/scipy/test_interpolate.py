"""`wengert.scipy.interpolate`: values against SciPy's, gradients in points, values and places against differences."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import wengert as wg
from tests.scipy.against import agrees_with_scipy
from tests.support.scipy_rows import abs_square, check_slope, same_values, weights
from wengert.scipy import interpolate

RNG = np.random.default_rng(4)
X = np.array([0.0, 0.7, 1.1, 2.0, 2.4, 3.5, 4.1])
Y = RNG.normal(size=(7, 2))
ROUND = np.concatenate([Y[:-1], Y[:1]])
AT = np.array([[0.3, 1.7, 2.2], [-0.4, 3.9, 4.6]])
INSIDE = np.array([0.3, 1.7, 3.9])

Maker = Callable[[Any, Any, Any], Any]
SPLINES: dict[str, tuple[Maker, Any, Any]] = {
    f"cubic {bc}": (lambda m, x, y, bc=bc: m.CubicSpline(x, y, bc_type=bc), X, ROUND if bc == "periodic" else Y)
    for bc in ("not-a-knot", "natural", "clamped", "periodic", ("natural", "not-a-knot"))
}
SPLINES |= {
    "cubic given ends": (lambda m, x, y: m.CubicSpline(x, y, bc_type=((1, y[0] * 2), (2, y[1]))), X, Y),
    **{f"cubic {n}": (lambda m, x, y: m.CubicSpline(x, y), X[:n], Y[:n]) for n in (2, 3, 4)},
    **{f"cubic round {n}": (lambda m, x, y: m.CubicSpline(x, y, bc_type="periodic"), X[:n],
                            np.concatenate([Y[: n - 1], Y[:1]])) for n in (3, 4)},
    "cubic along axis 1": (lambda m, x, y: m.CubicSpline(x, y.T, axis=1), X, Y),
    "cubic inside": (lambda m, x, y: m.CubicSpline(x, y, extrapolate=False), X, Y),
    "pchip": (lambda m, x, y: m.PchipInterpolator(x, y), X, Y),
    "pchip 2": (lambda m, x, y: m.PchipInterpolator(x, y), X[:2], Y[:2]),
    "pchip flat": (lambda m, x, y: m.PchipInterpolator(x, y), X, np.array([0, 0, 1, 3, 3.5, 2, 2.2])),
    "akima": (lambda m, x, y: m.Akima1DInterpolator(x, y, extrapolate=True), X, Y),
    "makima": (lambda m, x, y: m.Akima1DInterpolator(x, y, method="makima"), X, Y),
    "hermite": (lambda m, x, y: m.CubicHermiteSpline(x, y, y * y), X, Y),
    **{f"spline {k}": (lambda m, x, y, k=k: m.make_interp_spline(x, y, k), X, Y) for k in (1, 2, 3, 4, 5)},
    "spline natural": (lambda m, x, y: m.make_interp_spline(x, y, bc_type="natural"), X, Y),
    "spline ends": (lambda m, x, y: m.make_interp_spline(x, y, bc_type=([(1, y[0])], [(2, y[1])])), X, Y),
    "knots": (lambda m, x, y: m.BSpline(np.concatenate([x[:2] - 2, x, x[-2:] + 2]), y, 3), X, Y),
}  # fmt: skip


def evaluations(spline: Any, at: Any) -> tuple[Any, ...]:
    found = [
        spline(at),
        spline(at, 1),
        spline(at, 2),
        spline(at, 5),
        spline.derivative()(at),
        spline.integrate(0.2, 1.9),
    ]
    return (*found, spline.antiderivative()(at))


@pytest.mark.parametrize("name", SPLINES)
def test_splines_are_scipys(name: str) -> None:
    make, x, y = SPLINES[name]
    expected = evaluations(make(scipy.interpolate, x, y), AT)
    same_values(evaluations(make(interpolate, x, y), AT), expected, 1e-9)
    found = evaluations(make(interpolate, wg.tensor(x), wg.tensor(y)), wg.tensor(AT))
    assert all(isinstance(f, wg.Tensor) for f in found)
    same_values(found, expected, 1e-9)


@pytest.mark.parametrize("name", SPLINES)
def test_splines_follow_points_values_and_places(name: str) -> None:
    make, x, y = SPLINES[name]

    def f(x, y, at, a):
        spline = make(interpolate, x, y)
        value = spline(at)
        return (
            abs_square(value * (1 + weights(value.shape))) + abs_square(spline(at, 1)) + spline.integrate(a, 1.3).sum()
        )

    if "round" in name or "periodic" in name:  # what moves the first value moves the last one
        check_slope(
            lambda *args: f(args[0], np.concatenate([args[1][:-1], args[1][:1]]), *args[2:]), [x, y, INSIDE, 0.2]
        )
    elif "inside" in name or "makima" in name or "flat" in name:
        check_slope(lambda y, at: f(x, y, at, 0.2), [y, INSIDE] if "flat" not in name else [y + 0.01 * X**2, INSIDE])
    else:
        check_slope(f, [x, y, INSIDE, 0.2])


def test_an_interpolant_of_constants_is_differentiated_in_the_place() -> None:
    spline = interpolate.CubicSpline(X, Y[:, 0])
    theirs = scipy.interpolate.CubicSpline(X, Y[:, 0])
    np.testing.assert_allclose(wg.grad(spline)(1.3), theirs(1.3, 1))
    np.testing.assert_allclose(wg.grad(wg.grad(spline))(1.3), theirs(1.3, 2))
    np.testing.assert_allclose(wg.function(lambda x: spline(x))(INSIDE), theirs(INSIDE))
    np.testing.assert_allclose(wg.vmap(spline)(INSIDE), theirs(INSIDE))


@pytest.mark.parametrize(
    "kind", ["linear", "nearest", "nearest-up", "previous", "next", "zero", "quadratic", "cubic", 5]
)
def test_interp1d(kind: Any) -> None:
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    for options in (
        {"bounds_error": False},
        {"fill_value": "extrapolate"},
        {"fill_value": (-1.0, 2.0), "bounds_error": False},
    ):
        expected = scipy.interpolate.interp1d(X[order], Y.T[:, order], kind, **options)(AT)
        same_values(interpolate.interp1d(wg.tensor(X[order]), Y.T[:, order], kind, **options)(AT), expected, 1e-10)
    if kind in ("nearest", "nearest-up", "previous", "next", "zero"):  # steps, which do not change with the places
        check_slope(lambda y: abs_square(interpolate.interp1d(X, y, kind)(INSIDE)), [Y.T])
    else:
        check_slope(lambda x, y, at: abs_square(interpolate.interp1d(x, y, kind)(at)), [X, Y.T, INSIDE])
    with pytest.raises(ValueError, match="above the interpolation range"):
        interpolate.interp1d(wg.tensor(X), Y.T, kind)(5.0)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_tables_on_grids(method: str) -> None:
    grid = (np.array([0.0, 1.0, 2.5]), np.array([3.0, 1.0, 0.5, 0.0]))
    values = RNG.normal(size=(3, 4, 2))
    at = np.array([[0.2, 0.7], [1.9, 2.2], [1.0, 0.1]])
    for options in ({}, {"bounds_error": False}, {"bounds_error": False, "fill_value": None}):
        places = at if not options else np.concatenate([at, [[3.0, 1.0], [-1.0, 4.0]]])
        expected = scipy.interpolate.RegularGridInterpolator(grid, values, method, **options)(places)
        same_values(
            interpolate.RegularGridInterpolator(grid, wg.tensor(values), method, **options)(places), expected, 1e-12
        )
        pair = interpolate.RegularGridInterpolator(grid, values, method, **options)((places[:, 0], places[:, 1]))
        same_values(pair, expected, 1e-12)

    def f(first, values, at):
        return abs_square(interpolate.RegularGridInterpolator((first, grid[1]), values, method)(at))

    if method == "linear":
        check_slope(f, [grid[0], values, at[:2]])
    check_slope(lambda values: f(grid[0], values, at), [values])
    with pytest.raises(ValueError, match="out of bounds"):
        interpolate.RegularGridInterpolator(grid, values, method)([[3.0, 1.0]])
    with pytest.raises(wg.LostGradientError, match="PchipInterpolator"):
        interpolate.RegularGridInterpolator(grid, wg.tensor(values), "pchip")


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic"])
@pytest.mark.parametrize("kind", ["real", "complex", "rows"])
def test_splines_on_a_grid(method: str, kind: str) -> None:
    grid = (np.array([0.0, 0.7, 1.1, 2.0, 2.4, 3.1]), np.array([3.0, 2.2, 1.0, 0.3, -0.4, -1.1, -2.0]))
    values = np.sin(np.arange(42.0)).reshape(6, 7)
    values = {"real": values, "complex": values + 1j * values**2, "rows": np.stack([values, values**2], axis=-1)}[kind]
    at = np.array([[0.4, 2.3], [1.7, -1.3], [2.9, 0.6]])
    exact = {"rtol": 1e-14, "atol": 1e-14} if method != "slinear" else {}  # SciPy solves by steps to 1e-6
    theirs = scipy.interpolate.RegularGridInterpolator(grid, values, method, solver_args=exact)
    ours = interpolate.RegularGridInterpolator(grid, wg.tensor(values), method)
    same_values(ours(at), theirs(at), 1e-9)
    same_values(ours(at, nu=(1, 0)), theirs(at, nu=(1, 0)), 1e-8)
    check_slope(
        lambda first, v, at: abs_square(interpolate.RegularGridInterpolator((first, grid[1]), v, method)(at)),
        [grid[0], values, at],
    )
    outside = {"bounds_error": False, "fill_value": None}
    beyond = scipy.interpolate.RegularGridInterpolator(grid, values, method, solver_args=exact, **outside)([[3.3, 0.1]])
    same_values(
        interpolate.RegularGridInterpolator(grid, wg.tensor(values), method, **outside)([[3.3, 0.1]]), beyond, 1e-8
    )
    with pytest.raises(ValueError, match="points per dimension"):
        interpolate.RegularGridInterpolator(([0.0], grid[1]), wg.tensor(values[:1]), method)


def of_a_curves(name: str, args: Any, tck: Any) -> Any:
    found = getattr(interpolate, name)(*args, tck)
    return abs_square(found[1] if name == "splantider" else found)


def test_splrep_and_splev() -> None:
    tck = scipy.interpolate.splrep(X, Y[:, 0])
    found = interpolate.splrep(wg.tensor(X), wg.tensor(Y[:, 0]))
    np.testing.assert_allclose(found[1].numpy(), tck[1], atol=1e-10)
    for ext in (0, 1, 3):
        same_values(interpolate.splev(wg.tensor(AT), tck, 0, ext), scipy.interpolate.splev(AT, tck, 0, ext), 1e-10)
        same_values(interpolate.splev(wg.tensor(AT), tck, 1, ext), scipy.interpolate.splev(AT, tck, 1, ext), 1e-10)
    same_values(interpolate.splev(wg.tensor(INSIDE), tck, 1), scipy.interpolate.splev(INSIDE, tck, 1), 1e-10)
    check_slope(lambda x, y, at: abs_square(interpolate.splev(at, interpolate.splrep(x, y))), [X, Y[:, 0], INSIDE])
    for name, args in {"splint": (0.3, 9.0), "spalde": (1.3,), "splantider": (), "sproot": ()}.items():
        found = getattr(interpolate, name)(*args, (wg.tensor(tck[0]), wg.tensor(tck[1]), 3))
        same_values(found, getattr(scipy.interpolate, name)(*args, tck), 1e-10)
        check_slope(lambda x, y, name=name, args=args: of_a_curves(name, args, interpolate.splrep(x, y)), [X, Y[:, 0]])
    with pytest.raises(TypeError, match="s=0.5 is not supported"):
        interpolate.splrep(wg.tensor(X), Y[:, 0], s=0.5)


@pytest.mark.parametrize("method", ["linear", "nearest", "cubic"])
def test_interpn_is_the_grids_interpolator(method: str) -> None:
    grid, values = (np.arange(4.0), np.arange(5.0)), np.sin(np.arange(20.0)).reshape(4, 5)
    places = np.array([[0.4, 2.3], [1.7, 3.6]])
    found = interpolate.interpn(grid, wg.tensor(values), places, method)
    expected = scipy.interpolate.interpn(grid, values, places, method)  # whose splines are solved for to 1e-6
    np.testing.assert_allclose(found, expected, rtol=1e-5 if method == "cubic" else 1e-12)
    wg.check_gradients(lambda v: interpolate.interpn(grid, v, places, method), values)


ROOTED: dict[str, Callable[[Any, Any], Any]] = {
    "cubic": lambda m, y: m.CubicSpline(X, y).roots(),
    "at a value": lambda m, y: m.PchipInterpolator(X, y).solve(0.2),
    "inside": lambda m, y: m.Akima1DInterpolator(X, y).roots(extrapolate=False),
    "across a jump": lambda m, y: m.PPoly(y[:6].reshape(2, 3), X[:4]).roots(),
    "without jumps": lambda m, y: m.PPoly(y[:6].reshape(2, 3), X[:4]).roots(discontinuity=False),
}


@pytest.mark.parametrize("name", ROOTED)
def test_roots_are_scipys_and_move_with_the_values(name: str) -> None:
    f, y = ROOTED[name], np.array([0.6, 0.31, -0.4, -1.1, 0.9, 0.35, 2.3])
    expected = f(scipy.interpolate, y)
    assert len(expected)
    np.testing.assert_allclose(f(interpolate, wg.tensor(y)).numpy(), expected, rtol=1e-10)
    slopes = [(f(scipy.interpolate, y + e) - f(scipy.interpolate, y - e)) / 2e-6 for e in np.eye(7) * 1e-6]
    np.testing.assert_allclose(wg.jacobian(lambda y: f(interpolate, y))(y), np.transpose(slopes), rtol=1e-4, atol=1e-6)
    along = np.cos(np.arange(7.0))

    def slope(y: Any) -> Any:
        return wg.sum(wg.grad(lambda y: wg.sum(f(interpolate, y) ** 2))(y) * along)

    second = [(slope(y + e) - slope(y - e)) / 2e-6 for e in np.eye(7) * 1e-6]
    np.testing.assert_allclose(wg.grad(slope)(y), second, rtol=1e-4, atol=1e-4)
    with pytest.raises(wg.TracingError):
        wg.function(lambda y: f(interpolate, y))(y)


@pytest.mark.parametrize(
    ("make", "near"),
    [
        (lambda m, y: m.UnivariateSpline(X, y), "LSQUnivariateSpline takes knots"),
        (lambda m, y: m.LinearNDInterpolator(np.stack([X, X**2], 1), y), "RBFInterpolator"),
        (lambda m, y: m.RectBivariateSpline(X, X, np.outer(X, X) * y[0], s=0.1), "s=0 goes through"),
        (lambda m, y: m.SmoothBivariateSpline(np.tile(X, 3), np.repeat(X, 3), np.tile(y, 3)), "RBFInterpolator"),
        (lambda m, y: m.griddata((X, X**2), y, (X[:2], X[:2])), "RBFInterpolator"),
        (lambda m, y: m.make_smoothing_spline(X, y), "make_interp_spline"),
    ],
)
def test_what_is_not_there_names_the_nearest(make: Callable[[Any, Any], Any], near: str) -> None:
    with pytest.raises(wg.LostGradientError, match=near):
        wg.grad(lambda y: make(interpolate, y)(0.3))(Y[:, 0])


@pytest.mark.parametrize("argument", range(4))
def test_splines_with_given_knots_are_nearest_to_points_and_follow_them(argument: int) -> None:
    x = np.sort(RNG.uniform(0, 5, size=20))
    ends = np.repeat([0.0, 5.0], 4)
    args = [x, RNG.normal(size=(20, 2)), np.array([1.2, 2.3, 3.7]), RNG.uniform(0.5, 2, size=20)]

    def at(module: Any, value: Any) -> Any:
        places, values, inner, widths = [value if i == argument else given for i, given in enumerate(args)]
        join = wg.concatenate if module is interpolate else np.concatenate
        return module.make_lsq_spline(places, values, join([ends[:4], inner, ends[4:]]), w=widths)(INSIDE)

    np.testing.assert_allclose(at(interpolate, wg.tensor(args[argument])), at(scipy.interpolate, args[argument]))
    agrees_with_scipy(
        lambda v: at(interpolate, v), lambda v: at(scipy.interpolate, v), (args[argument],), slope_rtol=1e-5
    )
    with pytest.raises(np.linalg.LinAlgError, match="do not determine"):
        interpolate.make_lsq_spline(wg.tensor(x[:3]), x[:3], ends)


# what is made of a module, places and values; whether these may be followed
CURVES: dict[str, tuple[Callable[..., Any], bool]] = {
    **{f"through {k}": (lambda m, x, y, k=k: m.InterpolatedUnivariateSpline(x, y, k=k), True) for k in (1, 2, 3, 4, 5)},
    **{f"beyond {ext}": (lambda m, x, y, ext=ext: m.InterpolatedUnivariateSpline(x, y, ext=ext), True)
       for ext in (1, "zeros", 3, "const")},
    "box": (lambda m, x, y: m.InterpolatedUnivariateSpline(x, y, bbox=[-1.0, 6.0]), True),
    "exact": (lambda m, x, y: m.UnivariateSpline(x, y, s=0), True),
    "knots": (lambda m, x, y: m.LSQUnivariateSpline(x, y, [1.5, 3.0], k=2, w=1 + x**2), True),
    "smooth": (lambda m, x, y: m.UnivariateSpline(x, y, s=0.3), False),
}  # fmt: skip


def of_a_curve(spline: Any, at: Any) -> tuple[Any, ...]:
    found = (spline(at), spline(at, 1), spline.derivative()(at), spline.integral(0.2, 9.0), spline.derivatives(1.3))
    if spline.get_coeffs().shape[0] - spline.get_knots().shape[0] < 4:  # SciPy has none of degree 6
        found = (*found, spline.antiderivative()(at))
    return (*found, spline.get_knots(), spline.get_coeffs(), spline.get_residual())


@pytest.mark.parametrize("name", CURVES)
def test_fitted_curves_are_scipys_and_follow_points_and_places(name: str) -> None:
    make, follows = CURVES[name]
    y = np.array([0.6, 0.31, -0.4, -1.1, 0.9, 0.35, 2.3])
    expected = of_a_curve(make(scipy.interpolate, X, y), AT.ravel())
    same_values(of_a_curve(make(interpolate, X, y), wg.tensor(AT.ravel())), expected, 1e-9)
    same_values(of_a_curve(make(interpolate, X, y), AT.ravel()), expected, 1e-9)
    check_slope(lambda at: abs_square(make(interpolate, X, y)(at)), [INSIDE])
    if follows:
        same_values(of_a_curve(make(interpolate, wg.tensor(X), wg.tensor(y)), AT.ravel()), expected, 1e-9)
        check_slope(
            lambda x, y, at, b: abs_square(make(interpolate, x, y)(at)) + make(interpolate, x, y).integral(0.3, b),
            [X, y, INSIDE, 2.9],
        )


def test_a_fitted_curve_is_pickled_smoothed_anew_and_found_zeros_of() -> None:
    y = np.array([0.6, 0.31, -0.4, -1.1, 0.9, 0.35, 2.3])
    ours, theirs = interpolate.UnivariateSpline(X, y, s=0.3), scipy.interpolate.UnivariateSpline(X, y, s=0.3)
    for spline in (ours, theirs):
        spline.set_smoothing_factor(0.02)
    np.testing.assert_allclose(wg.grad(pickle.loads(pickle.dumps(ours)))(1.3), theirs(1.3, 1))
    np.testing.assert_allclose(ours.roots(), theirs.roots())

    def zeros(y: Any) -> Any:
        return interpolate.InterpolatedUnivariateSpline(X, y).roots()

    slopes = [(zeros(y + e) - zeros(y - e)) / 2e-6 for e in np.eye(7) * 1e-6]
    np.testing.assert_allclose(wg.jacobian(zeros)(y), np.transpose(slopes), rtol=1e-6, atol=1e-8)


GRID = np.array([0.0, 0.4, 1.1, 1.9, 2.4, 3.1]), np.array([-1.0, -0.3, 0.4, 1.1, 2.0])
HEIGHTS = np.sin(GRID[0][:, None] + GRID[1] ** 2) + 0.1 * GRID[0][:, None]
SURFACES: dict[str, Callable[[Any], Any]] = {
    **{f"grid {kx} {ky}": lambda m, kx=kx, ky=ky: m.RectBivariateSpline(*GRID, HEIGHTS, kx=kx, ky=ky)
       for kx, ky in ((3, 3), (1, 2), (5, 4))},
    "smooth grid": lambda m: m.RectBivariateSpline(*GRID, HEIGHTS, s=0.05),
    "scattered": lambda m: m.SmoothBivariateSpline(*np.random.default_rng(2).uniform(-1, 2, (3, 60)), s=45.0),
    "scattered, knots": lambda m: m.LSQBivariateSpline(*np.random.default_rng(2).uniform(-1, 2, (3, 60)), [0.5], [0.4]),
}  # fmt: skip


@pytest.mark.parametrize("name", SURFACES)
def test_fitted_surfaces_are_scipys_and_follow_places(name: str) -> None:
    ours, theirs = SURFACES[name](interpolate), SURFACES[name](scipy.interpolate)
    x, y = np.array([-0.2, 0.5, 1.2, 3.9]), np.array([-1.3, 0.1, 0.9, 2.2])
    for given in (x, wg.tensor(x)):
        same_values(ours(given, y), theirs(x, y), 1e-9)
        same_values(ours.ev(given, y, 0, 1), theirs.ev(x, y, 0, 1), 1e-9)
        same_values(ours.partial_derivative(0, 1)(given, y), theirs.partial_derivative(0, 1)(x, y), 1e-9)
        same_values(ours.integral(given[0], 1.4, -0.5, 5.0), theirs.integral(x[0], 1.4, -0.5, 5.0), 1e-9)
    check_slope(lambda x, y: abs_square(ours(x, y)) + ours.ev(x, y).sum(), [x[1:3], y[1:3]])


@pytest.mark.parametrize("degrees", [(3, 3), (1, 2), (5, 4)])
def test_a_surface_on_a_grid_follows_it(degrees: tuple[int, int]) -> None:
    def f(x: Any, y: Any, z: Any, at: Any) -> Any:
        surface = interpolate.RectBivariateSpline(x, y, z, kx=degrees[0], ky=degrees[1])
        return abs_square(surface(at, at)) + surface.integral(0.1, 2.0, 0.0, 1.0)

    surface = interpolate.RectBivariateSpline(*GRID, wg.tensor(HEIGHTS), kx=degrees[0], ky=degrees[1])
    expected = scipy.interpolate.RectBivariateSpline(*GRID, HEIGHTS, kx=degrees[0], ky=degrees[1])
    same_values(surface(INSIDE, INSIDE), expected(INSIDE, INSIDE), 1e-9)
    same_values(surface.get_coeffs(), expected.get_coeffs(), 1e-9)
    check_slope(f, [*GRID, HEIGHTS, INSIDE[:2]])
