/* Van der Pol's oscillator by Bogacki and Shampine's pair with an adaptive step; the sum of the last state, with its
 * gradient, that of the step sizes included. The way back runs each recorded attempt again. */
#include "common.h"

typedef struct { double x, y; } V;
typedef struct { double t, h; V u; } Attempt;

static inline V slope(V u, const double *p) { return (V){u.y, p[0] * (1 - p[1] * u.x * u.x) * u.y - p[2] * u.x}; }
static inline V along(V u, double h, V k) { return (V){u.x + h * k.x, u.y + h * k.y}; }
static inline double dot(V a, V b) { return a.x * b.x + a.y * b.y; }

static inline V slope_back(V u, const double *p, V c, double *dp) {
  double damp = 1 - p[1] * u.x * u.x;
  dp[0] += c.y * damp * u.y;
  dp[1] -= c.y * p[0] * u.x * u.x * u.y;
  dp[2] -= c.y * u.x;
  return (V){c.y * (-2 * p[0] * p[1] * u.x * u.y - p[2]), c.x + c.y * p[0] * damp};
}

typedef struct { V b, d, k1, k2, k3, k4, found, unit; double used, error, factor, raw; } Parts;

static inline Parts attempted(Attempt a, double end, double accuracy, const double *p) {
  Parts s;
  s.used = a.h < end - a.t ? a.h : end - a.t;
  s.k1 = slope(a.u, p);
  s.b = along(a.u, 0.5 * s.used, s.k1);
  s.k2 = slope(s.b, p);
  s.d = along(a.u, 0.75 * s.used, s.k2);
  s.k3 = slope(s.d, p);
  V sum = along(along((V){2.0 / 9 * s.k1.x, 2.0 / 9 * s.k1.y}, 1.0 / 3, s.k2), 4.0 / 9, s.k3);
  s.found = along(a.u, s.used, sum);
  s.k4 = slope(s.found, p);
  s.unit = along(along(along((V){-5.0 / 72 * s.k1.x, -5.0 / 72 * s.k1.y}, 1.0 / 12, s.k2), 1.0 / 9, s.k3), -0.125, s.k4);
  s.error = sqrt(0.5 * s.used * s.used * dot(s.unit, s.unit) + 1e-40) / accuracy;
  s.raw = 0.9 * exp(log(s.error) * (-1.0 / 3));
  s.factor = fmin(fmax(s.raw, 0.2), 5.0);
  return s;
}

void adaptive(double end, double first, double accuracy, long bound, const double *state, const double *p,
              double *workspace, double *value, double *dstate, double *dp_out) {
  Attempt *kept = (Attempt *)workspace, now = {0, first, {state[0], state[1]}};
  long count = 0;
  while (now.t < end && count < bound) {
    kept[count++] = now;
    Parts s = attempted(now, end, accuracy, p);
    if (s.error <= 1) {
      now.t = s.used < now.h ? end : now.t + s.used;
      now.u = s.found;
    }
    now.h = s.used * s.factor;
  }
  *value = now.u.x + now.u.y;
  V c = {1, 1};
  double ct = 0, ch = 0, dp[3] = {0, 0, 0};
  while (count--) {
    Attempt a = kept[count];
    Parts s = attempted(a, end, accuracy, p);
    int good = s.error <= 1, capped = s.used < a.h;
    double cused = ch * s.factor, cfactor = ch * s.used, cerror = 0;
    if (s.raw > 0.2 && s.raw < 5.0) cerror = -cfactor * s.factor / (3 * s.error);
    V cu = good ? (V){0, 0} : c, cfound = good ? c : (V){0, 0};
    double ct_before = good && capped ? 0 : ct;
    if (good && !capped) cused += ct;
    double scale = cerror * s.used / (2 * s.error * accuracy * accuracy); /* d error / d (used * unit) * used * unit */
    V capart = {scale * s.unit.x, scale * s.unit.y};
    cused += dot(capart, s.unit);
    V cunit = {capart.x * s.used, capart.y * s.used};
    V ck4 = {-0.125 * cunit.x, -0.125 * cunit.y};
    cfound = along(cfound, 1, slope_back(s.found, p, ck4, dp));
    V ck1 = along((V){-5.0 / 72 * cunit.x, -5.0 / 72 * cunit.y}, 2.0 / 9 * s.used, cfound);
    V ck2 = along((V){1.0 / 12 * cunit.x, 1.0 / 12 * cunit.y}, 1.0 / 3 * s.used, cfound);
    V ck3 = along((V){1.0 / 9 * cunit.x, 1.0 / 9 * cunit.y}, 4.0 / 9 * s.used, cfound);
    cused += 2.0 / 9 * dot(cfound, s.k1) + 1.0 / 3 * dot(cfound, s.k2) + 4.0 / 9 * dot(cfound, s.k3);
    cu = along(cu, 1, cfound);
    V cd = slope_back(s.d, p, ck3, dp);
    cu = along(cu, 1, cd);
    ck2 = along(ck2, 0.75 * s.used, cd);
    cused += 0.75 * dot(cd, s.k2);
    V cb = slope_back(s.b, p, ck2, dp);
    cu = along(cu, 1, cb);
    ck1 = along(ck1, 0.5 * s.used, cb);
    cused += 0.5 * dot(cb, s.k1);
    cu = along(cu, 1, slope_back(a.u, p, ck1, dp));
    ch = capped ? 0 : cused;
    ct = capped ? ct_before - cused : ct_before;
    c = cu;
  }
  dstate[0] = c.x, dstate[1] = c.y;
  memcpy(dp_out, dp, sizeof dp);
}
