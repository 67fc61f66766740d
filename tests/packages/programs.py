"""Functions of packages that nobody wrote for differentiation: the package, its field, and programs of one argument.

In a program `m` is the module and `x` the argument, a number or an array; what comes out is summed up.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Program(NamedTuple):
    """An expression of `m` and `x`, and a point."""

    text: str
    at: Any


P = Program
PACKAGES: dict[str, tuple[str, str, list[Program]]] = {  # the module: what to install, the field, the programs
    "chemicals": ("chemicals", "chemistry", [
        P("m.Antoine(x, 8.95894, 510.595, -15.95)", 300.0), P("m.Psat_IAPWS(x)", 350.0),
        P("m.Wagner(x, 190.53, 4596420., -6.00435, 1.1885, -0.834082, -1.22833)", 150.0), P("m.Rackett(x, 469.7, 3.37e6, 0.268)", 300.0),
        P("m.iapws95_rho(x, 1e5)", 330.0),
        P("m.EQ100(x, 276370., -2090.1, 8.125, -0.014116, 0.0000093701)", 300.0), P("m.viscosity_gas_Gharagheizi(x, 190.564, 45.99e5, 16.04)", 300.0),
    ]),
    "fluids": ("fluids", "fluid dynamics", [
        P("m.friction_factor(Re=x, eD=0.01)", 1e5), P("m.Reynolds(V=x, D=.25, rho=1.1613, mu=1.9e-5)", 2.5),
        P("m.ATMOSPHERE_1976(x).rho", 5000.0), P("m.dP_from_K(K=10, rho=1000, V=x)", 3.0),
        P("m.bend_rounded(Di=x, fd=0.00557, angle=90.0, bend_diameters=5)", 4.0), P("m.contraction_conical(Di1=x, Di2=.4, fd=0.04, l=.04)", 0.5),
        P("m.drag_sphere(x)", 200.0), P("m.Colebrook(x, 0.001)", 1e5),
    ]),
    "ht": ("ht", "heat transfer", [
        P("m.Nu_cylinder_Churchill_Bernstein(x, 0.63)", 6071.0), P("m.LMTD(x, 60., 30., 40.2)", 100.0),
        P("m.effectiveness_from_NTU(NTU=x, Cr=0.7, subtype='counterflow')", 3.0), P("m.turbulent_Dittus_Boelter(x, 1.2)", 1e5),
        P("m.turbulent_Gnielinski(x, 1.2, 0.0185)", 1e5), P("m.Nu_vertical_plate_Churchill(0.69, x)", 2.63e9), P("m.fin_efficiency_Kern_Kraus(0.0254, 0.05715, 3.8e-4, 200, x)", 58.0),
    ]),
    "numpy_financial": ("numpy-financial", "finance", [
        P("m.npv(x, [-100, 39, 59, 55, 20])", 0.08), P("m.pmt(x, 60, 1000)", 0.01), P("m.fv(x, 120, -100, -100)", 0.004),
        P("m.pv(x, 120, -100, 15692.93)", 0.004), P("m.nper(x, -150, 8000)", 0.006), P("m.ipmt(x, 2, 12, 2500)", 0.0068),
        P("m.ppmt(x, 2, 12, 2500)", 0.0068), P("m.mirr([-100, 39, 59, 55, 20], x, 0.12)", 0.1), P("m.npv(0.08, x)", [-100.0, 39.0, 59.0, 55.0]),
        P("m.irr(x)", [-100.0, 39.0, 59.0, 55.0, 20.0]), P("m.rate(10, 0, x, 10000)", -3500.0),
    ]),
    "PyAstronomy.pyasl": ("PyAstronomy", "astronomy", [
        P("m.KeplerEllipse(x, 100., e=0.3).xyzPos(13.)", 1.7), P("m.MarkleyKESolver().getE(x, 0.3)", 1.3), P("m.airmassPP(x)", 40.0),
        P("m.planck(x, 5000e-10)", 5800.0),
        P("m.getAngDist(x, 10., 22., 11.)", 20.0),
        P("m.KeplerEllipse(1., x, e=0.3).xyzVel(13.)", 100.0),
    ]),
    "pymap3d": ("pymap3d", "geodesy", [
        P("m.geodetic2ecef(x, 30., 100.)", 40.0), P("m.geodetic2enu(x, 30., 100., 41., 31., 10.)", 40.0), P("m.ecef2geodetic(x, 2e6, 4e6)", 4e6),
        P("m.aer2enu(x, 30., 1000.)", 33.0), P("m.enu2aer(x, 20., 30.)", 10.0), P("m.geodetic2aer(x, 30., 100., 41., 31., 10.)", 40.0),
        P("m.ned2aer(x, 20., 30.)", 10.0), P("m.ecef2enu(x, 2e6, 4e6, 40., 30., 10.)", 4e6),
    ]),
    "ahrs": ("ahrs", "navigation", [
        P("m.common.orientation.q_prod(x, [0.5, 0.5, 0.5, 0.5])", [0.1, 0.2, 0.3, 0.4]),
        P("m.common.orientation.q2R(x/ (x @ x)**0.5)", [0.1, 0.2, 0.3, 0.4]), P("m.common.orientation.chiaverini(m.common.orientation.q2R(x/(x @ x)**0.5))", [0.4, 0.2, 0.3, 0.4]),
        P("m.utils.WGS().normal_gravity(x)", 40.0),
        P("m.common.orientation.q_conj(x)**2", [0.1, 0.2, 0.3, 0.4]), P("m.common.orientation.am2angles(x, x[::-1])", [0.1, 0.2, 0.9]),
    ]),
    "colour": ("colour-science", "colour science", [
        P("m.XYZ_to_Lab(x)", [0.2, 0.12, 0.05]), P("m.XYZ_to_sRGB(x)", [0.2, 0.12, 0.05]), P("m.XYZ_to_xyY(x)", [0.2, 0.12, 0.05]),
        P("m.delta_E(x, [50., 60., 20.])", [51.0, 40.0, 27.0]), P("m.Lab_to_LCHab(x)", [41.5, 52.6, 26.9]), P("m.XYZ_to_Luv(x)", [0.2, 0.12, 0.05]),
        P("m.RGB_to_HSV(x)", [0.4, 0.03, 0.06]), P("m.lightness(x)", 12.2),
    ]),
    "filterpy.kalman": ("filterpy", "state estimation", [
        P("m.predict(x, m.kalman_filter.np.eye(2), m.kalman_filter.np.eye(2) + 0.1)", [1.0, 2.0]),
        P("m.unscented_transform(x, [0.2, 0.3, 0.5], [0.2, 0.3, 0.5])", [[1.0, 2.0], [2.0, 3.5], [0.5, 1.0]]),
        P("m.MerweScaledSigmaPoints(2, .1, 2., 1.).sigma_points(x, [[1., .1], [.1, 2.]])", [1.0, 2.0]), P("m.kalman_filter.dot(x, x)", [1.0, 2.0]), P("m.kalman_filter.KalmanFilter(2, 1).F @ x", [1.0, 2.0]), P("m.JulierSigmaPoints(2, 1.).sigma_points(x, [[1., .1], [.1, 2.]])", [1.0, 2.0]),
    ]),
    "haversine": ("haversine", "geography", [
        P("m.haversine((x, 4.8), (48.8, 2.3))", 45.7), P("m.haversine((45.7, x), (48.8, 2.3))", 4.8), P("m.haversine((45.7, 4.8), (x, 2.3))", 48.8),
        P("m.inverse_haversine((x, 2.3), 32., 1.)", 45.0), P("m.inverse_haversine((45., 2.3), x, 1.)", 32.0), P("m.inverse_haversine((45., 2.3), 32., x)", 1.0),
    ]),
    "geopy.distance": ("geopy", "geography", [
        P("m.great_circle((x, 4.8), (48.8, 2.3)).km", 45.7), P("m.geodesic((x, 4.8), (48.8, 2.3)).km", 45.7), P("m.great_circle((45.7, x), (48.8, 2.3)).m", 4.8),
        P("m.lonlat(x, 4.)[0]", 3.0), P("m.Distance(x).miles", 3.0), P("m.great_circle((45.7, 4.8), (x, 2.3)).miles", 48.8),
    ]),
    "control": ("control", "control", [
        P("m.ss([[0., 1.], [-2., -3.]], [[0.], [1.]], [[1., 0.]], 0.)(x).real", 0.7), P("m.tf([1.], [1., 2., 1.])(x)", 0.7), P("m.db2mag(x)", 3.0), P("m.mag2db(x)", 3.0),
        P("m.ctrb(x, [[0.], [1.]])", [[0.0, 1.0], [-2.0, -3.0]]), P("m.obsv(x, [[1., 0.]])", [[0.0, 1.0], [-2.0, -3.0]]), P("m.lyap(x, [[1., 0.], [0., 1.]], method='scipy')", [[-1.0, 0.2], [0.0, -2.0]]),
        P("m.tf([1.], [1., 2., 1.])(1j*x).real", 0.7),
    ]),
    "spatialmath.base": ("spatialmath-python", "robotics", [
        P("m.rotx(x)", 0.3), P("m.trotz(x)", 0.3), P("m.rpy2r(x, 0.2, 0.1)", 0.3), P("m.tr2rpy(m.rpy2r(x, 0.2, 0.1))", 0.3), P("m.skew(x)**2", [0.1, 0.2, 0.3]),
        P("m.qqmul(x, [0.5, 0.5, 0.5, 0.5])", [0.1, 0.2, 0.3, 0.4]), P("m.angvec2r(x, [0., 0., 1.])", 0.3), P("m.eul2r(x, 0.2, 0.1)", 0.3), P("m.trexp(x)", [0.1, 0.2, 0.3]), P("m.trlog(m.rotx(x))", 0.3),
    ]),
    "ambiance": ("ambiance", "atmosphere", [
        P("m.Atmosphere(x).density", 5000.0), P("m.Atmosphere(x).pressure", 5000.0), P("m.Atmosphere(x).temperature", 5000.0), P("m.Atmosphere(x).speed_of_sound", 5000.0),
        P("m.Atmosphere(x).dynamic_viscosity", 5000.0), P("m.Atmosphere(x).grav_accel", 5000.0), P("m.Atmosphere(x).mean_free_path", [5000.0, 15000.0]),
    ]),
    "HydroErr": ("HydroErr", "hydrology", [
        P("m.nse(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]), P("m.rmse(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]), P("m.kge_2009(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]),
        P("m.mae(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]), P("m.pearson_r(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]), P("m.sa(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]), P("m.d(x, [1.1, 2., 3.3, 4.])", [1.0, 2.2, 3.0, 4.1]),
    ]),
    "hydroeval": ("hydroeval", "hydrology", [
        P("m.evaluator(m.nse, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]), P("m.evaluator(m.kge, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]),
        P("m.evaluator(m.rmse, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]), P("m.evaluator(m.pbias, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]),
        P("m.evaluator(m.mare, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]), P("m.evaluator(m.kgeprime, x, m.hydroeval.np.array([1.1, 2., 3.3, 4.]))", [1.0, 2.2, 3.0, 4.1]),
    ]),
    "iapws": ("iapws", "steam", [
        P("m.iapws97._PSat_T(x)", 400.0), P("m.iapws97._TSat_P(x)", 1.0), P("m.iapws97._Region1(x, 3.)['v']", 300.0), P("m.iapws97._Region2(x, 0.0035)['h']", 700.0),
        P("m._iapws._Viscosity(998., x)", 298.15), P("m._iapws._ThCond(998., x)", 298.15), P("m._iapws._Tension(x)", 300.0), P("m._iapws._Sublimation_Pressure(x)", 230.0), P("m.IAPWS97(T=x, P=1.).h", 400.0),
    ]),
    "mibian": ("mibian", "options", [
        P("m.BS([1.4565, 1.45, 1, x], volatility=20).callPrice", 30.0), P("m.GK([1.4565, 1.45, x, 2, 30], volatility=20).putPrice", 1.0), P("m.Me([52, 50, x, 1, 30], volatility=20).callPrice", 1.0),
        P("m.BS([x, 1.45, 1, 30], volatility=20).callDelta", 1.4565), P("m.BS([x, 1.45, 1, 30], volatility=20).gamma", 1.4565), P("m.BS([1.4565, 1.45, 1, 30], volatility=x).vega", 20.0), P("m.BS([1.4565, x, 1, 30], volatility=20).putTheta", 1.45),
    ]),
    "psychrolib": ("PsychroLib", "air conditioning", [
        P("(m.SetUnitSystem(m.SI), m.GetSatVapPres(x))[1]", 25.0), P("(m.SetUnitSystem(m.SI), m.GetHumRatioFromRelHum(x, 0.5, 101325.))[1]", 25.0), P("(m.SetUnitSystem(m.SI), m.GetTWetBulbFromRelHum(x, 0.5, 101325.))[1]", 25.0),
        P("(m.SetUnitSystem(m.SI), m.GetTDewPointFromRelHum(x, 0.5))[1]", 25.0), P("(m.SetUnitSystem(m.SI), m.GetMoistAirEnthalpy(x, 0.01))[1]", 25.0), P("(m.SetUnitSystem(m.SI), m.GetMoistAirDensity(x, 0.01, 101325.))[1]", 25.0), P("(m.SetUnitSystem(m.SI), m.GetStandardAtmPressure(x))[1]", 1000.0),
    ]),
    "seawater": ("seawater", "oceanography", [
        P("m.dens(35., x, 1000.)", 10.0), P("m.svel(35., x, 1000.)", 10.0), P("m.cp(35., x, 1000.)", 10.0), P("m.ptmp(35., x, 1000.)", 10.0), P("m.adtg(35., x, 1000.)", 10.0), P("m.fp(x, 500.)", 35.0), P("m.pres(x, 30.)", 1000.0), P("m.salt(x, 20., 1000.)", 0.9),
    ]),
    "thermofeel": ("thermofeel", "biometeorology", [
        P("m.calculate_wind_chill(x, 5.)", 270.0), P("m.calculate_saturation_vapour_pressure(x)", 300.0),
        P("m.calculate_wbt(x, 50.)", 300.0), P("m.calculate_humidex(x, 290.)", 300.0), P("m.calculate_normal_effective_temperature(x, 5., 50.)", 300.0), P("m.calculate_apparent_temperature(x, 5., 50.)", 300.0),
    ]),
    "transforms3d": ("transforms3d", "robotics", [
        P("m.euler.euler2mat(x, 0.2, 0.3)", 0.1), P("m.euler.mat2euler(m.euler.euler2mat(x, 0.2, 0.3))", 0.1), P("m.quaternions.quat2mat(x)", [0.1, 0.2, 0.3, 0.4]), P("m.quaternions.qmult(x, [0.5, 0.5, 0.5, 0.5])", [0.1, 0.2, 0.3, 0.4]),
        P("m.axangles.axangle2mat([1., 2., 3.], x)", 0.5), P("m.affines.compose([1., 2., 3.], m.euler.euler2mat(x, 0., 0.), [1., 2., 1.])", 0.1), P("m.quaternions.qinverse(x)", [0.1, 0.2, 0.3, 0.4]), P("m.taitbryan.euler2quat(x, 0.2, 0.3)", 0.1), P("m.quaternions.rotate_vector([1., 2., 3.], x)", [0.1, 0.2, 0.3, 0.4]),
    ]),
    "pyquaternion": ("pyquaternion", "robotics", [
        P("m.Quaternion(x).rotation_matrix", [0.1, 0.2, 0.3, 0.4]), P("m.Quaternion(axis=[1, 0, 0], angle=x).elements", 0.3), P("m.Quaternion(x).norm", [0.1, 0.2, 0.3, 0.4]), P("(m.Quaternion(x) * m.Quaternion(0.5, 0.5, 0.5, 0.5)).elements", [0.1, 0.2, 0.3, 0.4]),
        P("m.Quaternion(x).inverse.elements", [0.1, 0.2, 0.3, 0.4]), P("m.Quaternion(axis=[0, 0, 1], angle=x).rotate([1., 2., 3.])", 0.3), P("m.Quaternion.slerp(m.Quaternion(axis=[0,0,1], angle=0.1), m.Quaternion(axis=[0,0,1], angle=1.1), x).elements", 0.3),
    ]),
    "pygeodesy.formy": ("pygeodesy", "geodesy", [
        P("m.haversine(x, 4.8, 48.8, 2.3)", 45.7), P("m.bearing(x, 4.8, 48.8, 2.3)", 45.7), P("m.equirectangular(x, 4.8, 48.8, 2.3)", 45.7), P("m.vincentys(x, 4.8, 48.8, 2.3)", 45.7), P("m.cosineLaw(x, 4.8, 48.8, 2.3)", 45.7), P("m.flatLocal(x, 4.8, 48.8, 2.3)", 45.7), P("m.euclidean(x, 4.8, 48.8, 2.3)", 45.7),
    ]),
    "skrf": ("scikit-rf", "radio engineering", [
        P("m.tlineFunctions.skin_depth(x, 1.7e-8, 1.)", 1e9), P("m.mathFunctions.db_2_mag(x)", 3.0), P("m.mathFunctions.mag_2_db(x)", 3.0), P("m.tlineFunctions.zl_2_Gamma0(50., x).real", 75.0), P("m.mathFunctions.complex_2_db(m.tlineFunctions.zl_2_Gamma0(50., x))", 75.0), P("m.tlineFunctions.Gamma0_2_zl(50., x).real", 0.3), P("m.tlineFunctions.electrical_length(1j*x, 1e9, 0.1).real", 20.0),
    ]),
}  # fmt: skip
