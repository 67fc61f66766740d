/* Least squares of a polynomial against sign(t), a block of points at a time, powers computed on the way. */
#include "common.h"
#define LANES 32

void llsq(long n, long terms, const double *RESTRICT x, double *value, double *RESTRICT gradient) {
  double total = 0;
  memset(gradient, 0, terms * sizeof(double));
  for (long start = 0; start < n; start += LANES) {
    double t[LANES], apart[LANES], power[LANES];
    for (long i = 0; i < LANES; i++) {
      t[i] = start + i < n ? -1.0 + (start + i) * (2.0 / (n - 1.0)) : 0;
      apart[i] = 0;
    }
    for (long j = terms - 1; j >= 0; j--)
      for (long i = 0; i < LANES; i++) apart[i] = apart[i] * t[i] + x[j];
    for (long i = 0; i < LANES; i++) {
      double sign = (t[i] > 0) - (t[i] < 0);
      apart[i] = start + i < n ? apart[i] - sign : 0;
      total += apart[i] * apart[i];
      power[i] = 1;
    }
    for (long j = 0; j < terms; j++) {
      double sum = 0;
      for (long i = 0; i < LANES; i++) {
        sum += apart[i] * power[i];
        power[i] *= t[i];
      }
      gradient[j] += sum;
    }
  }
  *value = 0.5 * total;
}
