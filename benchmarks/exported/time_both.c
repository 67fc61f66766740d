/* Times the exported gradient of examples/pendulum.py (`plan`) beside CasADi's generated one (`casplan`). */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "plan.h"

int casplan(const double **arg, double **res, long long int *iw, double *w, int mem);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
    double state[2] = {0.3, 0.1}, forces[40], cost, slope[40], cost2, slope2[40], w[16384];
    long long int iw[256];
    const double *arg[8] = {state, forces};
    double *res[8] = {&cost2, slope2}, best[2] = {1e9, 1e9};
    for (int i = 0; i < 40; i++) forces[i] = 0.1 * i - 2;
    for (int round = 0; round < 50; round++) {
        const double t0 = now();
        for (int i = 0; i < 1000; i++) plan(state, forces, &cost, slope);
        const double t1 = now();
        for (int i = 0; i < 1000; i++) casplan(arg, res, iw, w, 0);
        const double t2 = now();
        best[0] = fmin(best[0], t1 - t0);
        best[1] = fmin(best[1], t2 - t1);
    }
    double apart = fabs(cost - cost2);
    for (int i = 0; i < 40; i++) apart = fmax(apart, fabs(slope[i] - slope2[i]));
    printf("wengert %.2f us, casadi %.2f us, apart %.1e\n", 1e3 * best[0], 1e3 * best[1], apart);
    return 0;
}
