/* log-sum-exp and its gradient. */
#include "common.h"

void lse(long n, const double *RESTRICT x, double *value, double *RESTRICT gradient) {
  double largest = x[0], sum = 0;
  for (long i = 0; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  for (long i = 0; i < n; i++) sum += gradient[i] = exp(x[i] - largest);
  double inverse = 1 / sum;
  for (long i = 0; i < n; i++) gradient[i] *= inverse;
  *value = largest + log(sum);
}
