/* What the hand-written programs share. Every function is called through ctypes: longs, doubles, pointers to doubles. */
#ifndef WENGERT_BENCHMARKS_COMMON_H
#define WENGERT_BENCHMARKS_COMMON_H
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define RESTRICT __restrict__
#endif
