"""`wengert.scipy.special`: every function of ours against SciPy's, its slopes against differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.special as reference

import wengert as wg
import wengert.scipy.special as special
from tests.scipy.against import agrees_with_scipy

X = np.array([0.3, 0.7, 1.6])
P = np.array([0.2, 0.5, 0.8])
Z = X + 0.4j * np.array([1, -1, 2])
V = np.array([0, 1, 2.5])
N = np.array([0, 1, 3])

# the name, what is constant, and what is differentiated
CASES = [("jv",(V,),(X,)),("jv",(1.5,),(Z,)),("yv",(V,),(X,)),("iv",(V,),(X,)),("ive",(V,),(X,)),("ive",(2,),(X,)),("kv",(V,),(X,)),("kve",(V,),(Z,)),("jve",(V,),(X,)),("yve",(1,),(X,)),
("jn",(2,),(X,)),("yn",(2,),(X,)),("kn",(N,),(X,)),("hankel1",(V,),(Z,)),("hankel1e",(1,),(Z,)),("hankel2",(1,),(Z,)),("hankel2e",(1,),(X,)),("hankel1",(1,),(X,)),
*[(f"spherical_{k}n",(N,),(X,)) for k in "jyik"],*[(k+"vp",(1,),(X,)) for k in ("j","y","i","k","h1","h2")],
("airy",(),(X-1,)),("airy",(),(Z,)),("airye",(),(X,)),("fresnel",(),(X,)),("sici",(),(X,)),("shichi",(),(X,)),("dawsn",(),(X,)),("dawsn",(),(Z,)),("erfi",(),(Z,)),("erf",(),(Z,)),("erf",(),(X,)),("erfc",(),(Z,)),("erfcx",(),(Z,)),
("ndtr",(),(Z,)),("wofz",(),(Z,)),("wofz",(),(X,)),("expi",(),(Z,)),("exp1",(),(Z,)),("gamma",(),(Z,)),("loggamma",(),(Z,)),("rgamma",(),(np.array([-1.,0,0.5,2]),)),("rgamma",(),(Z,)),
("spence",(),(np.array([0.5,1.0,1.0002,2.]),)),("wrightomega",(),(Z,)),("wrightomega",(),(X,)),("exprel",(),(np.array([-1.,0,1]),)),("ellipk",(),(np.array([-1,0,0.5,.99]),)),("ellipe",(),(np.array([-1,0,0.5,.99]),)),("ellipkm1", (), (np.array([0.02, 0.3, 0.7]),)),
("ellipkinc",(),(X,np.array([0.0,.5,.8]))),("ellipkinc",(),(X,np.array([0.002,.0035,-.8]))),("ellipeinc",(),(X,np.array([0.002,.5,.8]))),("owens_t",(),(X,P)),("binom",(),(X+3,X)),("expn",(N,),(X,)),("hyp0f1",(1.5,),(X,)),("hyp1f1",(1.5,2.5),(Z,)),("hyp2f1",(.5,1.5,2.5),(P,)),("hyperu",(.5,1.5),(X,)),
("struve",(1.5,),(X,)),("modstruve",(1,),(X,)),("lpmv",(1,3),(P,)),("sph_harm_y",(N,np.array([0,-1,2])),(X,P)),
*[(k,(),(X,)) for k in ["ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip"]],
*[(f"eval_{k}",(N,),(P,)) for k in ["legendre", "chebyt", "chebyu", "laguerre", "hermite", "hermitenorm", "chebyc", "chebys", "sh_legendre", "sh_chebyt", "sh_chebyu"]],
("eval_legendre",(3,),(np.array([-1.,1.0]),)),("eval_jacobi",(N,.5,1.5),(P,)),("eval_gegenbauer",(N,.5),(P,)),("eval_genlaguerre",(N,.5),(P,)),("eval_sh_jacobi",(N,2.5,1.5),(P,)),
("voigt_profile",(),(X,P,P)),("cosm1",(),(X,)),("exp10",(),(X,)),("powm1",(),(X,P)),("boxcox",(),(X,np.array([0.,.5,1]))),("boxcox1p",(),(X,np.array([0.,.5,1]))),("inv_boxcox",(),(X,np.array([0.,.5,1]))),("inv_boxcox1p",(),(X,np.array([0.,.5,1]))),
("huber",(),(P,X)),("pseudo_huber",(),(P,X)),("softplus",(),(X,)),("sindg",(),(X,)),("cosdg",(),(X,)),("tandg",(),(X,)),("cotdg",(),(X,)),("radian",(),(X,X,X)),("agm",(),(X,P)),("ndtri_exp",(),(-X,)),("gammainccinv",(),(X,P)),("betainccinv",(),(X,X,P)),
("chdtr",(),(X,P)),("chdtrc",(),(X,P)),("chdtri",(),(X,P)),("gdtr",(),(X,X,P)),("gdtrc",(),(X,X,P)),("pdtr",(N,),(X,)),("pdtrc",(N,),(X,)),("bdtr",(N,N+2),(P,)),("bdtrc",(N,N+2),(P,)),("nbdtr",(N,N+2),(P,)),("nbdtrc",(N,N+2),(P,)),("fdtr",(),(X,X,P)),("fdtrc",(),(X,X,P)),("stdtr",(),(X,P)),
("elliprc",(),(X,-P)),("elliprc",(),(X,X)),("elliprf",(),(X,P,X)),("elliprd",(),(P,X,X)),("elliprg",(),(X,X,P)),("elliprj",(),(X,P,X,X)),("elliprj",(),(X,P,X+1,-X)),("fdtri",(),(X,X+1,P)),("legendre_p",(3,),(P,)),
("comb",(),(X+3,X)),("perm",(),(X+3,X)),("factorial",(),(X,)),("zeta",(),(X+1.5,X)),("zetac",(),(X*9+1.2,)),("zetac",(),(-X-0.3,)),("polygamma",(2,),(X,)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:non-integer arg:DeprecationWarning", "ignore:floating point number truncated")
@pytest.mark.parametrize(("name", "constants", "args"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_values_and_slopes_are_those_of_scipys_function(name, constants, args):
    ours, theirs = getattr(special, name), getattr(reference, name)
    agrees_with_scipy(lambda *x: ours(*constants, *x), lambda *x: theirs(*constants, *x), args)


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES}))
def test_arrays_get_scipys_own_values(name):
    constants, args = next(c[1:] for c in CASES if c[0] == name)
    with np.errstate(all="ignore"):
        want, got = getattr(reference, name)(*constants, *args), getattr(special, name)(*constants, *args)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["airy", "hankel1", "jv", "sph_harm_y", "wofz", "spherical_jn"])
def test_batches_traces_and_second_derivatives_hold(name):
    constants, args = {"sph_harm_y": ((2, 1), (X, P))}.get(name, ((2,) if name not in ("airy", "wofz") else (), (X,)))

    def f(*values):
        results = getattr(special, name)(*constants, *values)
        return sum(wg.real(r) for r in (results if isinstance(results, tuple) else (results,)))

    expected = f(*args)
    np.testing.assert_allclose(wg.vmap(f)(*args), expected, rtol=1e-13)
    np.testing.assert_allclose(wg.function(f)(*args), expected, rtol=1e-13)
    wg.check_gradients(lambda *v: wg.sum(f(*v)), *args, order=2)


def test_lambertw_is_complex_on_every_branch_and_has_its_slope_at_zero():
    for k in (0, 1, -1):
        agrees_with_scipy(lambda z, k=k: special.lambertw(z, k), lambda z, k=k: reference.lambertw(z, k), (Z,))
    assert wg.grad(lambda x: wg.real(special.lambertw(x)))(0.0) == 1.0


def test_spherical_functions_have_their_derivatives_at_zero_and_under_the_keyword():
    assert wg.grad(lambda z: special.spherical_jn(1, z))(0.0) == pytest.approx(1 / 3)
    for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
        ours, theirs = (partial(getattr(module, name), 2, derivative=True) for module in (special, reference))
        agrees_with_scipy(ours, theirs, (X,))


def test_jacobis_functions_are_differentiated_in_u_and_refuse_a_followed_parameter():
    agrees_with_scipy(lambda u: special.ellipj(u, P), lambda u: reference.ellipj(u, P), (X,))
    with pytest.raises(wg.LostGradientError, match="ellipj: m is a tensor"):
        wg.grad(lambda m: special.ellipj(0.5, m)[0])(0.3)


def test_a_followed_order_is_refused_by_name():
    with pytest.raises(wg.LostGradientError, match=r"(?s)special.hankel1: v is a tensor.*test_special.py"):
        wg.grad(lambda v: wg.real(special.hankel1(v, 1.0)))(0.5)
    with pytest.raises(wg.LostGradientError, match="special.jv"):
        wg.grad(lambda v: special.jv(v, 1.0))(0.5)


def test_options_that_are_not_ours_are_named():
    with pytest.raises(TypeError, match="exact=True is not supported"):
        wg.grad(lambda n: special.comb(n, 2, exact=True))(4.0)
    assert special.comb(5, 2, exact=True) == 10


def test_the_mean_of_numbers_far_apart_and_its_slopes() -> None:
    """The parameter of the elliptic integral rounds to 1, where the integral is infinite."""
    for a, b in (
        (1e-20, 1.0),
        (1e-120, 1e120),
        (1e120, 1e-120),
        (1e-31, 1.0),
        (3.0, 1e9),
        (-1e-40, -1.0),
        (-1.0, -2.0),
    ):
        value, slopes = wg.value_and_grad(special.agm, argnums=(0, 1))(a, b)
        np.testing.assert_allclose(value, reference.agm(a, b), rtol=1e-14)
        np.testing.assert_allclose(value, a * slopes[0] + b * slopes[1], rtol=1e-13)  # as Euler has it of means
        step = 1e-6 * abs(b)
        rise = reference.agm(a, b + step) - reference.agm(a, b - step)
        np.testing.assert_allclose(slopes[1], rise / (2 * step), rtol=1e-7)
    assert np.isnan(wg.value_and_grad(special.agm)(1e-40, -1.0)[0]) == np.isnan(reference.agm(1e-40, -1.0))
    narrow = wg.value_and_grad(special.agm)(np.float32(1e-12), np.float32(1))
    wide = wg.value_and_grad(special.agm)(1e-12, 1.0)
    np.testing.assert_allclose(narrow, wide, rtol=1e-5)


def test_derivatives_of_the_reciprocal_gamma_function_at_its_poles_are_those_next_to_them():
    """By Euler's reflection: the second is -2 psi(1 - z) Gamma(1 - z) cos(pi z)."""
    second = wg.grad(wg.grad(special.rgamma))
    third = wg.grad(second)
    for pole in (0.0, -1.0, -2.0, -5.0):
        known = -2 * reference.psi(1 - pole) * reference.gamma(1 - pole) * np.cos(np.pi * pole)
        assert second(pole) == pytest.approx(known, rel=1e-12)
        assert third(pole) == pytest.approx((second(pole + 1e-4) - second(pole - 1e-4)) / 2e-4, rel=1e-4)


def test_ends_of_the_inverse_of_the_upper_incomplete_gamma_function():
    for y in (0.0, 1.0):
        assert float(special.gammainccinv(wg.tensor(1.6), y)) == reference.gammainccinv(1.6, y)
        assert wg.grad(special.gammainccinv)(1.6, y) == 0.0


def test_carlsons_integrals_diverge_and_end_where_scipys_do():
    for name, *args in (
        ("elliprf", 0.0, 0.0, 1.0), ("elliprf", 0.0, 1.0, 2.0), ("elliprf", -1.0, 1.0, 1.0), ("elliprc", 1.0, 0.0),
        ("elliprg", 0.0, 0.0, 2.0), ("elliprd", 1.0, 1.0, 0.0), ("elliprj", 1e-8, 1e9, 3.0, 1e4),
    ):  # fmt: skip
        got = getattr(special, name)(*map(wg.tensor, args))
        np.testing.assert_allclose(float(got), getattr(reference, name)(*args), rtol=1e-12)
    third = wg.grad(wg.grad(wg.grad(lambda x: special.elliprc(x, 1.3))))  # where the closed form is 0 / 0
    step = 1e-3
    second = wg.grad(wg.grad(lambda x: special.elliprc(x, 1.3)))
    assert third(1.3) == pytest.approx((second(1.3 + step) - second(1.3 - step)) / (2 * step), rel=1e-5)


def test_the_mass_of_the_noncentral_chi_square_distribution_has_slopes_of_all_orders():
    for x, nc in ((0.1, 0.2), (3.0, 1.0), (90.0, 80.0)):
        args = (np.asarray(x), np.asarray(nc))
        agrees_with_scipy(lambda x, nc: special.chndtr(x, 3.2, nc), lambda x, nc: reference.chndtr(x, 3.2, nc), args)
    assert wg.grad(lambda nc: special.chndtr(2.0, 3.2, nc))(0.0) == pytest.approx(
        (reference.chndtr(2.0, 3.2, 1e-6) - reference.chndtr(2.0, 3.2, 0.0)) / 1e-6, rel=1e-6
    )
    wg.check_gradients(lambda x, nc: special.chndtr(x, 3.2, nc), 3.0, 1.0, order=2)
    with pytest.raises(wg.LostGradientError, match="special.chndtr: df"):
        wg.grad(lambda df: special.chndtr(2.0, df, 1.0))(3.2)


def test_derivatives_of_legendres_polynomials_stand_above_one_another():
    agrees_with_scipy(
        lambda z: special.legendre_p(N, z, diff_n=2), lambda z: reference.legendre_p(N, z, diff_n=2), (P,)
    )


def test_the_slope_of_exprel_cancels_nowhere():
    x = np.concatenate([np.linspace(-3, 3, 61), [-1e3, -50, -1e-5, 1e-8, 30, 200, -0.0, 0.0]])
    slope = wg.grad(lambda u: wg.sum(special.exprel(u)))
    for f in (slope, wg.function(slope)):
        np.testing.assert_allclose(f(x), reference.hyp1f1(2.0, 3.0, x) / 2, 1e-14)
        np.testing.assert_array_equal(f(np.array([np.inf, -np.inf, np.nan])), [np.inf, 0.0, np.nan])
