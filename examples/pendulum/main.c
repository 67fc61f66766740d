/* Swings a pendulum up and holds it there: each millisecond some steps of gradient descent on the next forces.
 *
 * `plan` is the exported gradient; the pendulum itself is integrated here. Prints the last angle, the last speed, and
 * how many microseconds a step of control takes, on average.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "plan.h"

#define HORIZON 40
#define STEPS 6000
#define DESCENTS 4

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double limited(double x, double most) {
    return x > most ? most : x < -most ? -most : x;
}

int main(void) {
    double state[2] = {0.3, 0.0}, forces[HORIZON] = {0.0}, cost, slope[HORIZON];
    const double began = now();
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < DESCENTS; i++) {
            const int status = plan(state, forces, &cost, slope);
            if (status != 0) {
                return status;
            }
            for (int k = 0; k < HORIZON; k++) {
                forces[k] = limited(forces[k] - 0.3 * slope[k], 12.0);
            }
        }
        /* one millisecond of the pendulum: from hanging, angle pi is up */
        state[1] += 1e-3 * (forces[0] - 9.81 * sin(state[0]) - 0.05 * state[1]);
        state[0] += 1e-3 * state[1];
    }
    printf("%.6f %.6f %.3f\n", state[0], state[1], 1e6 * (now() - began) / STEPS);
    return 0;
}
