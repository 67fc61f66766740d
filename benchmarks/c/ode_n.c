/* y_0' = x_0, y_i' = x_i y_(i-1) by the classical Runge-Kutta method; the sum of the last state, with its gradient. */
#include "common.h"

static void slope(long n, const double *RESTRICT x, const double *RESTRICT y, double *RESTRICT z) {
  z[0] = x[0];
  for (long i = 1; i < n; i++) z[i] = x[i] * y[i - 1];
}

static void along(long n, const double *RESTRICT y, double h, const double *RESTRICT k, double *RESTRICT to) {
  for (long i = 0; i < n; i++) to[i] = y[i] + h * k[i];
}

/* Adds to dx, sets back to the cotangent of y, and adds it to total. */
static void slope_back(long n, const double *RESTRICT x, const double *RESTRICT y, const double *RESTRICT c,
                       double *RESTRICT dx, double *RESTRICT back, double *RESTRICT total) {
  dx[0] += c[0];
  for (long i = 1; i < n; i++) dx[i] += c[i] * y[i - 1];
  for (long i = 0; i < n - 1; i++) total[i] += back[i] = c[i + 1] * x[i + 1];
  back[n - 1] = 0;
}

void ode_n(long n, long steps, double end, const double *RESTRICT x, double *RESTRICT workspace, double *value,
           double *RESTRICT dx) {
  double h = end / steps, *kept = workspace, *row = workspace + (steps + 1) * n;
  double *k1 = row, *k2 = k1 + n, *k3 = k2 + n, *k4 = k3 + n, *b = k4 + n, *d = b + n, *e = d + n, *total = e + n;
  memset(kept, 0, n * sizeof(double));
  for (long s = 0; s < steps; s++) {
    double *y = kept + s * n, *next = y + n;
    slope(n, x, y, k1), along(n, y, h / 2, k1, b);
    slope(n, x, b, k2), along(n, y, h / 2, k2, b);
    slope(n, x, b, k3), along(n, y, h, k3, b);
    slope(n, x, b, k4);
    for (long i = 0; i < n; i++) next[i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
  double sum = 0, *c = kept + steps * n;
  for (long i = 0; i < n; i++) sum += c[i];
  *value = sum;
  memset(dx, 0, n * sizeof(double));
  for (long i = 0; i < n; i++) c[i] = 1;
  for (long s = steps - 1; s >= 0; s--) {
    const double *y = kept + s * n;
    slope(n, x, y, k1), along(n, y, h / 2, k1, b);
    slope(n, x, b, k2), along(n, y, h / 2, k2, d);
    slope(n, x, d, k3), along(n, y, h, k3, e);
    memcpy(total, c, n * sizeof(double));
    for (long i = 0; i < n; i++) k1[i] = h / 6 * c[i];
    slope_back(n, x, e, k1, dx, k4, total);
    for (long i = 0; i < n; i++) k1[i] = h / 3 * c[i] + h * k4[i];
    slope_back(n, x, d, k1, dx, k4, total);
    for (long i = 0; i < n; i++) k1[i] = h / 3 * c[i] + h / 2 * k4[i];
    slope_back(n, x, b, k1, dx, k4, total);
    for (long i = 0; i < n; i++) k1[i] = h / 6 * c[i] + h / 2 * k4[i];
    slope_back(n, x, y, k1, dx, k4, total);
    memcpy(c, total, n * sizeof(double));
  }
}
