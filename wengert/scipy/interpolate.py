"""`scipy.interpolate`: interpolation of points and of tables.

The classes are ours, for plain arrays too, so that an interpolant of constants can be evaluated where a tensor says.
"""

from __future__ import annotations

from typing import Any

from ._bsplines import BSpline, make_interp_spline, make_lsq_spline, spalde, splantider, splev, splint, splrep, sproot
from ._fitted_splines import (
    InterpolatedUnivariateSpline,
    LSQBivariateSpline,
    LSQUnivariateSpline,
    RectBivariateSpline,
    SmoothBivariateSpline,
    UnivariateSpline,
)
from ._followed import followed
from ._grids import RegularGridInterpolator, interp1d, interpn
from ._namespace import namespace
from ._piecewise import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator, PPoly

OURS: dict[str, Any] = {
    found.__name__: found
    for found in (
        Akima1DInterpolator, BSpline, CubicHermiteSpline, CubicSpline, InterpolatedUnivariateSpline,
        LSQBivariateSpline, LSQUnivariateSpline, PPoly, PchipInterpolator, RectBivariateSpline,
        RegularGridInterpolator, SmoothBivariateSpline, UnivariateSpline, interp1d, interpn, spalde, splantider,
        splev, splint, splrep, sproot,
    )
}  # fmt: skip
OURS |= {"make_interp_spline": make_interp_spline, "make_lsq_spline": make_lsq_spline}
OURS |= followed(
    "scipy.interpolate",
    """
    pchip_interpolate lagrange barycentric_interpolate krogh_interpolate pade splder approximate_taylor_polynomial
    BarycentricInterpolator KroghInterpolator FloaterHormannInterpolator RBFInterpolator Rbf
""",
)
NEAR = {
    "make_smoothing_spline": "make_lsq_spline",
    "griddata": "RBFInterpolator", "make_splrep": "splrep", "bisplrep": "RegularGridInterpolator",
    **dict.fromkeys(("NearestNDInterpolator", "LinearNDInterpolator", "CloughTocher2DInterpolator"), "RBFInterpolator"),
    "RectSphereBivariateSpline": "RectBivariateSpline",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
