/* sum(x sin x) and its gradient sin x + x cos x, in blocks that stay in the first cache.
 * Sine and cosine have loops of their own: gcc turns a pair of them into one call that it does not vectorise. */
#include "common.h"
#define BLOCK 1024

#define X_SIN_X(NAME, REAL, SIN, COS)                                                            \
  void NAME(long n, const REAL *RESTRICT x, REAL *RESTRICT value, REAL *RESTRICT gradient) {     \
    double total = 0;                                                                            \
    REAL sines[BLOCK];                                                                           \
    for (long start = 0; start < n; start += BLOCK) {                                            \
      long count = n - start < BLOCK ? n - start : BLOCK;                                        \
      const REAL *RESTRICT from = x + start;                                                     \
      REAL *RESTRICT to = gradient + start;                                                      \
      REAL sum = 0;                                                                              \
      for (long i = 0; i < count; i++) sines[i] = SIN(from[i]);                                  \
      for (long i = 0; i < count; i++) to[i] = COS(from[i]);                                     \
      for (long i = 0; i < count; i++) {                                                         \
        sum += from[i] * sines[i];                                                               \
        to[i] = sines[i] + from[i] * to[i];                                                      \
      }                                                                                          \
      total += sum;                                                                              \
    }                                                                                            \
    *value = (REAL)total;                                                                        \
  }

X_SIN_X(x_sin_x_f64, double, sin, cos)
X_SIN_X(x_sin_x_f32, float, sinf, cosf)
