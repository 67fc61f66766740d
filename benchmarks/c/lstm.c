/* The loss of a sequence under LSTM layers with diagonal weights, and its gradient in the weights. */
#include "common.h"

enum { BEFORE, CELL, FORGET, TAKE, GIVE, CHANGE, AFTER, KEPT };

void lstm(long layers, long length, long n, const double *RESTRICT main_weights, const double *RESTRICT extra,
          const double *RESTRICT state, const double *RESTRICT sequence, double *RESTRICT kept, double *value,
          double *RESTRICT dmain, double *RESTRICT dextra) {
  double hidden[layers][n], cells[layers][n], x[n], found[n], total = 0, count = (double)(length - 1) * n;
  for (long i = 0; i < layers; i++) {
    memcpy(hidden[i], state + 2 * i * n, n * sizeof(double));
    memcpy(cells[i], state + (2 * i + 1) * n, n * sizeof(double));
  }
  for (long t = 0; t < length - 1; t++) {
    for (long j = 0; j < n; j++) x[j] = sequence[t * n + j] * extra[j];
    for (long i = 0; i < layers; i++) {
      const double *w = main_weights + 8 * n * i, *b = w + 4 * n;
      double *s = kept + (t * layers + i) * KEPT * n;
      for (long j = 0; j < n; j++) {
        double h = hidden[i][j], c = cells[i][j];
        double forget = 1 / (1 + exp(-(x[j] * w[j] + b[j])));
        double take = 1 / (1 + exp(-(h * w[n + j] + b[n + j])));
        double give = 1 / (1 + exp(-(x[j] * w[2 * n + j] + b[2 * n + j])));
        double change = tanh(h * w[3 * n + j] + b[3 * n + j]);
        double after = c * forget + take * change;
        s[BEFORE * n + j] = h, s[CELL * n + j] = c, s[FORGET * n + j] = forget, s[TAKE * n + j] = take;
        s[GIVE * n + j] = give, s[CHANGE * n + j] = change, s[AFTER * n + j] = tanh(after);
        cells[i][j] = after;
        hidden[i][j] = x[j] = give * s[AFTER * n + j];
      }
    }
    double sum = 2;
    for (long j = 0; j < n; j++) {
      found[j] = x[j] * extra[n + j] + extra[2 * n + j];
      sum += exp(found[j]);
    }
    double lse = log(sum);
    for (long j = 0; j < n; j++) total += sequence[(t + 1) * n + j] * (found[j] - lse);
  }
  *value = -total / count;
  double dhidden[layers][n], dcells[layers][n], dx[n];
  memset(dhidden, 0, sizeof dhidden), memset(dcells, 0, sizeof dcells);
  memset(dmain, 0, 8 * n * layers * sizeof(double)), memset(dextra, 0, 3 * n * sizeof(double));
  for (long t = length - 2; t >= 0; t--) {
    const double *gold = sequence + (t + 1) * n, *last = kept + (t * layers + layers - 1) * KEPT * n;
    double sum = 2, golden = 0;
    for (long j = 0; j < n; j++) {
      x[j] = last[GIVE * n + j] * last[AFTER * n + j];
      found[j] = exp(x[j] * extra[n + j] + extra[2 * n + j]);
      sum += found[j];
      golden += gold[j];
    }
    for (long j = 0; j < n; j++) {
      double slope = -(gold[j] - golden * found[j] / sum) / count;
      dextra[n + j] += slope * x[j];
      dextra[2 * n + j] += slope;
      dx[j] = slope * extra[n + j];
    }
    for (long i = layers - 1; i >= 0; i--) {
      const double *w = main_weights + 8 * n * i, *s = kept + (t * layers + i) * KEPT * n, *below = s - KEPT * n;
      double *dw = dmain + 8 * n * i, *db = dw + 4 * n;
      for (long j = 0; j < n; j++) {
        double in = i ? below[GIVE * n + j] * below[AFTER * n + j] : sequence[t * n + j] * extra[j];
        double h = s[BEFORE * n + j], forget = s[FORGET * n + j], take = s[TAKE * n + j], give = s[GIVE * n + j];
        double change = s[CHANGE * n + j], after = s[AFTER * n + j], dh = dhidden[i][j] + dx[j];
        double dc = dcells[i][j] + dh * give * (1 - after * after);
        double af = dc * s[CELL * n + j] * forget * (1 - forget), at = dc * change * take * (1 - take);
        double ag = dh * after * give * (1 - give), ac = dc * take * (1 - change * change);
        dw[j] += af * in, dw[n + j] += at * h, dw[2 * n + j] += ag * in, dw[3 * n + j] += ac * h;
        db[j] += af, db[n + j] += at, db[2 * n + j] += ag, db[3 * n + j] += ac;
        dcells[i][j] = dc * forget;
        dhidden[i][j] = at * w[n + j] + ac * w[3 * n + j];
        dx[j] = af * w[j] + ag * w[2 * n + j];
      }
    }
    for (long j = 0; j < n; j++) dextra[j] += dx[j] * sequence[t * n + j];
  }
}
