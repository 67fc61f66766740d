/* The Lorenz system by the classical Runge-Kutta method; the sum of the last state, with its gradient.
 * The way back reads the states that the way there has stored, and computes slopes again. */
#include "common.h"

typedef struct { double x, y, z; } V;

static inline V slope(V u, const double *p) {
  return (V){p[0] * (u.y - u.x), u.x * (p[1] - u.z) - u.y, u.x * u.y - p[2] * u.z};
}

static inline V along(V u, double h, V k) { return (V){u.x + h * k.x, u.y + h * k.y, u.z + h * k.z}; }

/* The cotangent of u; that of the parameters is added to dp. */
static inline V slope_back(V u, const double *p, V c, double *dp) {
  dp[0] += c.x * (u.y - u.x);
  dp[1] += c.y * u.x;
  dp[2] -= c.z * u.z;
  return (V){-p[0] * c.x + (p[1] - u.z) * c.y + u.y * c.z, p[0] * c.x - c.y + u.x * c.z, -u.x * c.y - p[2] * c.z};
}

void lorenz(long steps, double h, const double *state, const double *p, double *states, double *value, double *dstate,
            double *dp_out) {
  V u = {state[0], state[1], state[2]};
  V *kept = (V *)states;
  for (long i = 0; i < steps; i++) {
    kept[i] = u;
    V k1 = slope(u, p), k2 = slope(along(u, h / 2, k1), p), k3 = slope(along(u, h / 2, k2), p);
    V k4 = slope(along(u, h, k3), p);
    u.x += h / 6 * (k1.x + 2 * k2.x + 2 * k3.x + k4.x);
    u.y += h / 6 * (k1.y + 2 * k2.y + 2 * k3.y + k4.y);
    u.z += h / 6 * (k1.z + 2 * k2.z + 2 * k3.z + k4.z);
  }
  *value = u.x + u.y + u.z;
  V c = {1, 1, 1}, zero = {0, 0, 0};
  double dp[3] = {0, 0, 0};
  for (long i = steps - 1; i >= 0; i--) {
    V a = kept[i], k1 = slope(a, p), b = along(a, h / 2, k1), k2 = slope(b, p), d = along(a, h / 2, k2);
    V k3 = slope(d, p), e = along(a, h, k3);
    V ce = slope_back(e, p, along(zero, h / 6, c), dp);
    V cd = slope_back(d, p, along(along(zero, h / 3, c), h, ce), dp);
    V cb = slope_back(b, p, along(along(zero, h / 3, c), h / 2, cd), dp);
    V ca = slope_back(a, p, along(along(zero, h / 6, c), h / 2, cb), dp);
    c.x += ca.x + cb.x + cd.x + ce.x;
    c.y += ca.y + cb.y + cd.y + ce.y;
    c.z += ca.z + cb.z + cd.z + ce.z;
  }
  dstate[0] = c.x, dstate[1] = c.y, dstate[2] = c.z;
  memcpy(dp_out, dp, sizeof dp);
}
