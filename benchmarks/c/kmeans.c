/* Gradient over Hessian diagonal of the sum of squared distances to the nearest centre. */
#include "common.h"

void kmeans(long n, long k, long d, const double *RESTRICT points, const double *RESTRICT centres,
            double *RESTRICT counts, double *RESTRICT direction) {
  memset(counts, 0, k * sizeof(double)), memset(direction, 0, k * d * sizeof(double));
  for (long i = 0; i < n; i++) {
    const double *RESTRICT p = points + i * d;
    double nearest = INFINITY;
    long which = 0;
    for (long c = 0; c < k; c++) {
      const double *RESTRICT q = centres + c * d;
      double distance = 0;
      for (long j = 0; j < d; j++) distance += (p[j] - q[j]) * (p[j] - q[j]);
      if (distance < nearest) nearest = distance, which = c;
    }
    counts[which] += 2;
    for (long j = 0; j < d; j++) direction[which * d + j] += 2 * (centres[which * d + j] - p[j]);
  }
  for (long c = 0; c < k; c++)
    for (long j = 0; j < d; j++) direction[c * d + j] /= counts[c];
}
