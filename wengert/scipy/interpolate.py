"""`scipy.interpolate`: interpolation of points and of tables.

The classes are ours, for plain arrays too, so that an interpolant of constants can be evaluated where a tensor says.
"""

from __future__ import annotations

from typing import Any

from ._bsplines import BSpline, make_interp_spline, make_lsq_spline, splev, splrep
from ._followed import followed
from ._grids import RegularGridInterpolator, interp1d, interpn
from ._namespace import namespace
from ._piecewise import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator, PPoly

OURS: dict[str, Any] = {
    found.__name__: found
    for found in (
        Akima1DInterpolator, BSpline, CubicHermiteSpline, CubicSpline, PPoly, PchipInterpolator,
        RegularGridInterpolator, interp1d, interpn, splev, splrep,
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
    "splint": "BSpline.integrate", "splantider": "BSpline.antiderivative",
    "griddata": "RBFInterpolator", "make_splrep": "splrep", "bisplrep": "RegularGridInterpolator",
    **dict.fromkeys(("UnivariateSpline", "LSQUnivariateSpline", "InterpolatedUnivariateSpline"), "make_interp_spline"),
    **dict.fromkeys(("NearestNDInterpolator", "LinearNDInterpolator", "CloughTocher2DInterpolator",
                     "SmoothBivariateSpline", "LSQBivariateSpline"), "RBFInterpolator"),
    **dict.fromkeys(("RectBivariateSpline", "RectSphereBivariateSpline"), "RegularGridInterpolator"),
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
