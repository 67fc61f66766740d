"""Functions of packages that nobody wrote for differentiation: the package, its field, and programs of one argument.

In a program `m` is the module, `np` NumPy itself and `x` the argument, a number or an array; what comes out is summed up.
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
    "tmm": ("tmm", "optics", [
        P("m.coh_tmm('s', [1., x, 1.5], [np.inf, 100., np.inf], 0.3, 500.)['R']", 2.2),
        P("m.coh_tmm('p', [1., 2.2+0.1j, 1.5], [np.inf, x, np.inf], 0.3, 500.)['T']", 100.0),
        P("m.coh_tmm('p', [1., 2.2+0.1j, 1.5], [np.inf, 100., np.inf], x, 500.)['R']", 0.3),
        P("m.coh_tmm('s', [1., 2.2+0.1j, 1.5], [np.inf, 100., np.inf], 0.2, x)['T']", 500.0),
        P("m.snell(1., 1.5, x)", 0.4),
        P("m.interface_R('s', 1., 1.5, x, 0.2)", 0.3),
        P("m.interface_T('p', 1., x, 0.3, 0.2)", 1.5),
        P("m.ellips([1., x, 1.5], [np.inf, 100., np.inf], 0.3, 500.)", 2.2),
        P("m.inc_tmm('s', [1., x, 1.5], [np.inf, 1000., np.inf], ['i','i','i'], 0.3, 500.)['R']", 2.2),
        P("m.unpolarized_RT([1., x, 1.5], [np.inf, 100., np.inf], 0.3, 500.)", 2.2),
        P("m.absorp_in_each_layer(m.coh_tmm('s', [1., x+0.2j, 1.5], [np.inf, 100., np.inf], 0.3, 500.))", 2.2),
        P("m.position_resolved(1, x, m.coh_tmm('s', [1., 2.+0.2j, 1.5], [np.inf, 100., np.inf], 0.3, 500.))", 20.0),
    ]),
    "utm": ("utm", "map projections", [
        P("m.from_latlon(x, 7.4)[:2]", 51.2),
        P("m.from_latlon(51.2, x)[:2]", 7.5),
        P("m.to_latlon(x, 5.7e6, 32, 'U')", 340000.0),
        P("m.to_latlon(340000., x, 32, 'U')", 5700000.0),
        P("m.from_latlon(x, np.array([7.4, 7.6]))[:2]", [51.2, 51.3]),
        P("m.to_latlon(m.from_latlon(x, 7.5)[0], 5.7e6, 32, 'U')", 51.2),
        P("m.from_latlon(-x, -70.1)[:2]", 33.4),
    ]),
    "trueskill": ("trueskill", "rating of players", [
        P("[r.mu for r in m.rate_1vs1(m.Rating(x, 8.), m.Rating(25., 8.))]", 25.0),
        P("[r.sigma for r in m.rate_1vs1(m.Rating(25., x), m.Rating(25., 8.))]", 8.0),
        P("m.quality_1vs1(m.Rating(x, 8.), m.Rating(25., 8.))", 27.0),
        P("[r.mu for r in m.rate_1vs1(m.Rating(x, 8.), m.Rating(25., 8.), drawn=True)]", 27.0),
        P("m.rate([(m.Rating(x, 8.),), (m.Rating(20., 8.),), (m.Rating(30., 8.),)])[0][0].mu", 25.0),
        P("m.TrueSkill(beta=x).quality([(m.Rating(30.,8.),),(m.Rating(25.,8.),)])", 4.0),
        P("m.expose(m.Rating(25., x))", 8.0),
    ]),
    "glicko2": ("glicko2", "rating of players", [
        P("m.Player(x, 200., 0.06).getRating()", 1500.0),
        P("(lambda p: (p.update_player([1400.,1550.,1700.],[30.,100.,300.],[1,0,0]), p.rating, p.rd, p.vol)[1:])(m.Player(x, 200., 0.06))", 1500.0),
        P("(lambda p: (p.update_player([1400.,1550.,1700.],[30.,100.,300.],[1,0,0]), p.rating)[1:])(m.Player(1500., x, 0.06))", 200.0),
        P("(lambda p: (p.update_player([1400.,1550.,1700.],[30.,100.,300.],[1,0,0]), p.vol)[1:])(m.Player(1500., 200., x))", 0.06),
        P("(lambda p: (p.update_player([x,1550.,1700.],[30.,100.,300.],[1,0,0]), p.rating)[1:])(m.Player(1500., 200., 0.06))", 1400.0),
        P("(lambda p: (p.did_not_compete(), p.rd)[1:])(m.Player(1500., x, 0.06))", 200.0),
    ]),
    "nashpy": ("nashpy", "game theory", [
        P("m.Game(x, -x)[[0.5, 0.5], [0.3, 0.7]]", [[1.0, -1.0], [-2.0, 1.5]]),
        P("list(m.Game(x, -x).support_enumeration())", [[1.0, -1.0], [-2.0, 1.5]]),
        P("m.Game(x, -x).linear_program()", [[1.0, -1.0], [-2.0, 1.5]]),
        P("list(m.Game(x, -x).lemke_howson(initial_dropped_label=0))", [[1.0, -1.0], [-2.0, 1.5]]),
        P("m.Game(x, x.T).replicator_dynamics(y0=[0.4,0.6], timepoints=np.linspace(0,1,5))[-1]", [[3.0, 1.0], [2.0, 1.5]]),
        P("m.Game([[1.,2.],[3.,1.]])[x, [0.2,0.8]]", [0.3, 0.7]),
        P("list(m.Game(x, -x).fictitious_play(iterations=3))", [[1.0, -1.0], [-2.0, 1.5]]),
    ]),
    "sewar": ("sewar", "image quality", [
        P("m.mse(x, (3*x.T)%255)", [[10.0, 200.0], [30.0, 40.0]]),
        P("m.full_ref.rmse(x, x.T)", [[10.0, 200.0], [30.0, 40.0]]),
        P("m.full_ref.psnr(x, x.T, MAX=255)", [[10.0, 200.0], [30.0, 40.0]]),
        P("m.full_ref.uqi(x, x.T*0.9, ws=2)", [[10.0, 200.0, 1.0], [30.0, 40.0, 2.0], [3.0, 4.0, 70.0]]),
        P("m.full_ref.ssim(x, x.T*0.9, ws=3, MAX=255)", [[10.0, 200.0, 1.0], [30.0, 40.0, 2.0], [3.0, 4.0, 70.0]]),
        P("m.full_ref.scc(x, x.T*0.9, ws=3)", [[10.0, 200.0, 1.0], [30.0, 40.0, 2.0], [3.0, 4.0, 70.0]]),
        P("m.full_ref.rase(x, x.T*0.9, ws=2)", [[10.0, 200.0, 1.0], [30.0, 40.0, 2.0], [3.0, 4.0, 70.0]]),
        P("m.full_ref.sam(x[:,:,None]*[1.,2.], x.T[:,:,None]*[1.,0.5])", [[10.0, 200.0, 1.0], [30.0, 40.0, 2.0], [3.0, 4.0, 70.0]]),
    ]),
    "pytransform3d.rotations": ("pytransform3d", "computer vision", [
        P("m.matrix_from_axis_angle([1., 0., 0., x])", 0.3),
        P("m.axis_angle_from_matrix(m.matrix_from_axis_angle([0.6, 0.8, 0., x]))", 0.3),
        P("m.quaternion_from_matrix(m.matrix_from_axis_angle([0.6, 0.8, 0., x]))", 0.3),
        P("m.matrix_from_quaternion(x)", [0.1, 0.2, 0.3, 0.4]),
        P("m.concatenate_quaternions(x, [0.5,0.5,0.5,0.5])", [0.1, 0.2, 0.3, 0.4]),
        P("m.quaternion_slerp([1.,0.,0.,0.],[0.6,0.8,0.,0.], x)", 0.3),
        P("m.matrix_from_compact_axis_angle(x)", [0.1, 0.2, 0.3]),
        P("m.compact_axis_angle_from_matrix(m.matrix_from_compact_axis_angle(x))", [0.1, 0.2, 0.3]),
        P("m.q_prod_vector(x, [1.,2.,3.])", [0.1, 0.2, 0.3, 0.4]),
        P("m.active_matrix_from_intrinsic_euler_xyz(x)", [0.1, 0.2, 0.3]),
        P("m.intrinsic_euler_xyz_from_active_matrix(m.active_matrix_from_intrinsic_euler_xyz(x))", [0.1, 0.2, 0.3]),
        P("m.norm_vector(x)", [0.1, 0.2, 0.3]),
        P("m.angle_between_vectors(x, [1.,2.,3.])", [0.1, 0.2, 0.9]),
        P("m.mrp_from_quaternion(x)", [0.1, 0.2, 0.3, 0.4]),
        P("m.left_jacobian_SO3(x)", [0.1, 0.2, 0.3]),
    ]),
    "eqsig": ("eqsig", "earthquake engineering", [
        P("m.AccSignal(x, 0.01).velocity", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.AccSignal(x, 0.01).displacement", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.im.calc_arias_intensity(m.AccSignal(x, 0.01))", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.im.calc_cav(m.AccSignal(x, 0.01))", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.AccSignal(x, 0.01).fa_spectrum.real", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.sdof.response_series(x, 0.01, [0.1, 0.2], 0.05)", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.sdof.pseudo_response_spectra(x, 0.01, np.array([0.1, 0.2]), 0.05)", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("(lambda s: (s.generate_displacement_and_velocity_series(), s.pgv)[1])(m.AccSignal(x, 0.01))", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
        P("m.AccSignal(x, 0.01).pga", [0.1, 0.3, -0.2, 0.5, 0.1, 0.05]),
        P("(lambda s: (s.remove_average(), s.values)[1])(m.AccSignal(x, 0.01))", [0.1, 0.3, -0.2, 0.5, 0.1, 0.0]),
    ]),
    "pyliferisk": ("pyliferisk", "actuarial", [
        P("m.Axn(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35, 20)", 0.02),
        P("m.Ax(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35)", 0.02),
        P("m.aax(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35)", 0.02),
        P("m.AExn(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35, 10)", 0.02),
        P("m.nEx(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35, 10)", 0.02),
        P("m.IAx(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35)", 0.02),
        P("m.taax(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35, 5)", 0.02),
        P("m.annuity(m.Actuarial(nt=__import__('pyliferisk.mortalitytables', fromlist=['*']).GKM95, i=x), 35, 'w', 0)", 0.02),
    ]),
    "spectres": ("spectres", "spectroscopy", [
        P("m.spectres(np.array([1.5,2.5,3.5]), np.array([1.,2.,3.,4.,5.]), x)", [1.0, 3.0, 2.0, 5.0, 4.0]),
        P("m.spectres(np.array([1.5,2.5,3.5]), np.array([1.,2.,3.,4.,5.]), x, spec_errs=0.1*x)", [1.0, 3.0, 2.0, 5.0, 4.0]),
        P("m.spectres(x, np.array([1.,2.,3.,4.,5.]), np.array([1.,3.,2.,5.,4.]))", [1.6, 2.5, 3.3]),
        P("m.spectres(np.array([1.5,2.5,3.5]), x, np.array([1.,3.,2.,5.,4.]))", [1.0, 2.1, 3.0, 4.0, 5.0]),
        P("m.spectral_resampling.make_bins(x)", [1.0, 2.1, 3.0, 4.0, 5.0]),
        P("m.spectres(np.array([0.5,2.5,3.5]), np.array([1.,2.,3.,4.,5.]), x, fill=0., verbose=False)", [1.0, 3.0, 2.0, 5.0, 4.0]),
    ]),
    "astral.sun": ("astral", "the sun's position", [
        P("m.julianday_to_juliancentury(x)", 2450000.0),
        P("m.geom_mean_long_sun(x)", 0.2),
        P("m.eccentric_location_earth_orbit(x)", 0.2),
        P("m.sun_declination(x)", 0.2),
        P("m.eq_of_time(x)", 0.2),
        P("m.hour_angle(x, 20., 90.8, m.SunDirection.RISING)", 51.0),
        P("m.refraction_at_zenith(x)", 70.0),
        P("m.sun_apparent_long(x)", 0.2),
        P("m.sun_rad_vector(x)", 0.2),
        P("m.adjust_to_horizon(x)", 100.0),
        P("m.obliquity_correction(x)", 0.2),
    ]),
    "pyentrp.entropy": ("pyentrp", "bio-signals", [
        P("m.multiscale_permutation_entropy(x, 3, 1, 2)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.shannon_entropy(x)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.sample_entropy(x, 2, 2.)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.util_granulate_time_series(x, 2)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.permutation_entropy(x, 3)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.weighted_permutation_entropy(x, 3)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
    ]),
    "periodictable": ("periodictable", "X-ray and neutron scattering", [
        P("m.formula('H2O', density=x).mass + x", 1.0),
        P("m.neutron_sld('H2O', density=x, wavelength=4.75)[0]", 1.0),
        P("m.neutron_sld('H2O', density=1., wavelength=x)[2]", 4.75),
        P("m.xray_sld('H2O', density=x, wavelength=1.54)", 1.0),
        P("m.neutron_scattering('D2O', density=x)[1]", 1.1),
        P("m.nsf.neutron_energy(x)", 1.5),
        P("m.nsf.neutron_wavelength(x)", 20.0),
        P("m.xsf.xray_wavelength(x)", 8.0),
        P("m.xsf.index_of_refraction('H2O', density=x, wavelength=1.54).imag*1e9", 1.0),
        P("m.xray_sld('Au', density=19., energy=x)", 8.0),
        P("m.xsf.mirror_reflectivity('Ni', density=8.9, wavelength=1.54, angle=x)", 0.3),
    ]),
    "properscoring": ("properscoring", "forecasts", [
        P("m.crps_ensemble(0.3, x)", [0.1, 0.5, 0.2]),
        P("m.crps_gaussian(x, 0.1, 1.2)", 0.3),
        P("m.crps_gaussian(0.3, x, 1.2)", 0.1),
        P("m.crps_gaussian(0.3, 0.1, x)", 1.2),
        P("m.brier_score(1, x)", 0.4),
        P("m.crps_ensemble(x, [0.1,0.5,0.2])", 0.3),
        P("m.crps_gaussian(0.3, 0.1, x, grad=True)", 1.2),
    ]),
    "lmoments3.distr": ("lmoments3", "extreme values", [
        P("m.lm.lmom_ratios(x, nmom=4)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.lm.lmom_ratios(x, nmom=2)", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.gev.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.gum.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.exp.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.nor.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.gpa.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.glo.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.gam.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.pe3.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("list(m.wei.lmom_fit(x).values())", [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
        P("m.gev.ppf(0.9, x, 1., 2.)", 0.1),
    ]),
}  # fmt: skip
