/* The log-posterior of a mixture of Gaussians and its gradient; triangles by columns, strictly below the diagonal. */
#include "common.h"

static double log_sum_exp(long n, const double *x, double *weights) {
  double largest = x[0], sum = 0;
  for (long i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  for (long i = 0; i < n; i++) sum += weights[i] = exp(x[i] - largest);
  for (long i = 0; i < n; i++) weights[i] /= sum;
  return largest + log(sum);
}

void gmm(long d, long k, long n, const double *RESTRICT x, double m, double gamma, double constant,
         const double *RESTRICT alpha, const double *RESTRICT mu, const double *RESTRICT q, const double *RESTRICT l,
         double *RESTRICT workspace, double *value, double *RESTRICT dalpha, double *RESTRICT dmu, double *RESTRICT dq,
         double *RESTRICT dl) {
  long size = d * (d - 1) / 2;
  double *diagonal = workspace, *centred = diagonal + k * d, *scaled = centred + k * d;
  double *sums = scaled + k * d, *inner = sums + k, *weights = inner + k;
  double total = constant, half = 0.5 * gamma * gamma;
  memset(dalpha, 0, k * sizeof *dalpha), memset(dmu, 0, k * d * sizeof *dmu);
  memset(dq, 0, k * d * sizeof *dq), memset(dl, 0, k * size * sizeof *dl);
  for (long c = 0; c < k; c++) {
    sums[c] = 0;
    for (long i = 0; i < d; i++) sums[c] += q[c * d + i];
  }
  for (long i = 0; i < k * d; i++) diagonal[i] = exp(q[i]);
  for (long row = 0; row < n; row++) {
    for (long c = 0; c < k; c++) {
      const double *RESTRICT lower = l + c * size;
      double *RESTRICT xc = centred + c * d, *RESTRICT out = scaled + c * d, squares = 0;
      for (long i = 0; i < d; i++) xc[i] = x[row * d + i] - mu[c * d + i];
      for (long i = 0; i < d; i++) out[i] = diagonal[c * d + i] * xc[i];
      for (long i = 0; i < d; lower += d - 1 - i, i++)
        for (long j = i + 1; j < d; j++) out[j] += lower[j - i - 1] * xc[i];
      for (long i = 0; i < d; i++) squares += out[i] * out[i];
      inner[c] = alpha[c] + sums[c] - 0.5 * squares;
    }
    total += log_sum_exp(k, inner, weights);
    for (long c = 0; c < k; c++) {
      double w = weights[c];
      const double *RESTRICT lower = l + c * size;
      double *RESTRICT xc = centred + c * d, *RESTRICT out = scaled + c * d, *RESTRICT slope = dl + c * size;
      dalpha[c] += w;
      for (long i = 0; i < d; i++) out[i] *= -w;
      for (long i = 0; i < d; i++) {
        dq[c * d + i] += w + out[i] * xc[i] * diagonal[c * d + i];
        dmu[c * d + i] -= out[i] * diagonal[c * d + i];
      }
      for (long i = 0; i < d; lower += d - 1 - i, slope += d - 1 - i, i++) {
        double back = 0, here = xc[i];
        for (long j = i + 1; j < d; j++) {
          back += out[j] * lower[j - i - 1];
          slope[j - i - 1] += out[j] * here;
        }
        dmu[c * d + i] -= back;
      }
    }
  }
  total -= n * log_sum_exp(k, alpha, weights);
  for (long c = 0; c < k; c++) {
    dalpha[c] -= n * weights[c];
    total += m * sums[c];
  }
  for (long i = 0; i < k * d; i++) {
    total -= half * diagonal[i] * diagonal[i];
    dq[i] += m - 2 * half * diagonal[i] * diagonal[i];
  }
  for (long i = 0; i < k * size; i++) {
    total -= half * l[i] * l[i];
    dl[i] -= 2 * half * l[i];
  }
  *value = total;
}
