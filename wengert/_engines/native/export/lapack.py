"""Routines of LAPACK's that exported programs call, in plain C: for where there is no LAPACK.

They do what LAPACK does (partial pivoting, the same `info`), column by column: without its blocks, so several times
slower for hundreds of rows. Eigenvalues and singular values are found by Jacobi's rotations, which are as exact;
vectors may have other signs than LAPACK's.
"""

from __future__ import annotations

from collections.abc import Sequence

LAPACK_WANTED = "WENGERT_LAPACK"  # the macro with which C source calls LAPACK instead

# Householder's reflection of the columns beyond number k
_REFLECTED = """\
        for (int64_t j = k + 1; j < n; j++) {
            REAL *other = a + j * lda;
            REAL share = other[k];
            for (int64_t i = k + 1; i < m; i++) {
                share += v[i] * other[i];
            }
            share *= factors[k];
            other[k] -= share;
            for (int64_t i = k + 1; i < m; i++) {
                other[i] -= share * v[i];
            }
        }
"""

_ROUTINES = {
    "potrf": """\
void NAME(const int8_t *uplo, const int32_t *size, REAL *a, const int32_t *rows, int32_t *info) {
    const int64_t n = *size, lda = *rows;
    (void)uplo; /* the upper triangle */
    *info = 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i <= j; i++) {
            REAL rest = a[i + j * lda];
            for (int64_t k = 0; k < i; k++) {
                rest -= a[k + i * lda] * a[k + j * lda];
            }
            if (i < j) {
                a[i + j * lda] = rest / a[i + i * lda];
            } else if (rest > 0) {
                a[j + j * lda] = ROOT(rest);
            } else {
                *info = (int32_t)j + 1;
                return;
            }
        }
    }
}
""",
    "getrf": """\
void NAME(const int32_t *height, const int32_t *width, REAL *a, const int32_t *rows, int32_t *pivots, int32_t *info) {
    const int64_t m = *height, n = *width, lda = *rows, steps = m < n ? m : n;
    *info = 0;
    for (int64_t k = 0; k < steps; k++) {
        REAL *column = a + k * lda;
        int64_t best = k;
        for (int64_t i = k + 1; i < m; i++) {
            best = SIZE(column[i]) > SIZE(column[best]) ? i : best;
        }
        pivots[k] = (int32_t)best + 1;
        if (column[best] == 0) {
            *info = *info == 0 ? (int32_t)k + 1 : *info;
            continue;
        }
        for (int64_t j = 0; best != k && j < n; j++) {
            const REAL held = a[k + j * lda];
            a[k + j * lda] = a[best + j * lda];
            a[best + j * lda] = held;
        }
        for (int64_t i = k + 1; i < m; i++) {
            column[i] /= column[k];
        }
        for (int64_t j = k + 1; j < n; j++) {
            REAL *other = a + j * lda;
            const REAL factor = other[k];
            for (int64_t i = k + 1; i < m; i++) {
                other[i] -= factor * column[i];
            }
        }
    }
}
""",
    "geqrf": """\
void NAME(const int32_t *height, const int32_t *width, REAL *a, const int32_t *rows, REAL *factors, REAL *work,
          const int32_t *room, int32_t *info) {
    const int64_t m = *height, n = *width, lda = *rows, steps = m < n ? m : n;
    (void)work;
    (void)room;
    *info = 0;
    for (int64_t k = 0; k < steps; k++) {
        REAL *v = a + k * lda;
        REAL largest = 0, rest = 0, sum = 0;
        for (int64_t i = k; i < m; i++) {
            largest = SIZE(v[i]) > largest ? SIZE(v[i]) : largest;
            rest = i > k && SIZE(v[i]) > rest ? SIZE(v[i]) : rest;
        }
        factors[k] = 0;
        if (rest == 0) {
            continue;
        }
        for (int64_t i = k; i < m; i++) {
            sum += v[i] / largest * (v[i] / largest);
        }
        const REAL norm = largest * ROOT(sum), end = v[k] > 0 ? -norm : norm;
        factors[k] = (end - v[k]) / end;
        for (int64_t i = k + 1; i < m; i++) {
            v[i] /= v[k] - end;
        }
        v[k] = end;
"""
    + _REFLECTED
    + """\
    }
}
""",
    "orgqr": """\
void NAME(const int32_t *height, const int32_t *width, const int32_t *count, REAL *a, const int32_t *rows,
          const REAL *factors, REAL *work, const int32_t *room, int32_t *info) {
    const int64_t m = *height, n = *width, lda = *rows;
    (void)work;
    (void)room;
    *info = 0;
    for (int64_t j = *count; j < n; j++) {
        for (int64_t i = 0; i < m; i++) {
            a[i + j * lda] = i == j;
        }
    }
    for (int64_t k = *count - 1; k >= 0; k--) {
        REAL *v = a + k * lda;
"""
    + _REFLECTED
    + """\
        for (int64_t i = 0; i < m; i++) {
            v[i] = i < k ? 0 : i == k ? 1 - factors[k] : -factors[k] * v[i];
        }
    }
}
""",
    "syevd": """\
void NAME(const int8_t *job, const int8_t *triangle, const int32_t *size, REAL *a, const int32_t *rows, REAL *values,
          REAL *work, const int32_t *room, int32_t *whole, const int32_t *whole_room, int32_t *info) {
    const int64_t n = *size, lda = *rows;
    REAL largest = 0;
    int turned = 1;
    (void)job; /* with vectors */
    (void)room;
    (void)whole;
    (void)whole_room;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            work[i + j * n] = (*triangle == 'L') == (i >= j) ? a[i + j * lda] : a[j + i * lda];
            largest = SIZE(work[i + j * n]) > largest ? SIZE(work[i + j * n]) : largest;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            a[i + j * lda] = i == j;
        }
    }
    for (int sweep = 0; turned && sweep < 60; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                REAL *left = work + p * n, *right = work + q * n;
                const REAL apart = right[p];
                if (SIZE(apart) <= NEGLIGIBLE * largest) {
                    continue;
                }
                turned = 1;
                const REAL place = (right[q] / apart - left[p] / apart) / 2;
                const REAL t = (place < 0 ? -1 : 1) / (SIZE(place) + ROOT(1 + place * place));
                const REAL c = 1 / ROOT(1 + t * t), s = t * c;
                left[p] -= t * apart;
                right[q] += t * apart;
                left[q] = right[p] = 0;
                for (int64_t k = 0; k < n; k++) {
                    const REAL x = left[k], y = right[k];
                    if (k != p && k != q) {
                        left[k] = work[p + k * n] = c * x - s * y;
                        right[k] = work[q + k * n] = s * x + c * y;
                    }
                    const REAL u = a[k + p * lda], v = a[k + q * lda];
                    a[k + p * lda] = c * u - s * v;
                    a[k + q * lda] = s * u + c * v;
                }
            }
        }
    }
    *info = turned;
    for (int64_t p = 0; p < n; p++) {
        values[p] = work[p + p * n];
    }
    for (int64_t p = 0; p < n; p++) {
        int64_t least = p;
        for (int64_t q = p + 1; q < n; q++) {
            least = values[q] < values[least] ? q : least;
        }
        const REAL value = values[p];
        values[p] = values[least];
        values[least] = value;
        for (int64_t k = 0; least != p && k < n; k++) {
            const REAL held = a[k + p * lda];
            a[k + p * lda] = a[k + least * lda];
            a[k + least * lda] = held;
        }
    }
}
""",
    "gesdd": """\
void NAME(const int8_t *job, const int32_t *height, const int32_t *width, REAL *a, const int32_t *rows, REAL *values,
          REAL *left, const int32_t *left_rows, REAL *right, const int32_t *right_rows, REAL *work, const int32_t *room,
          int32_t *whole, int32_t *info) {
    /* rotations make the columns orthogonal, or the rows where there are fewer: the lines, number i of line p being
       x[p * line + i * step] */
    const int64_t m = *height, n = *width, lda = *rows, is_tall = m >= n;
    const int64_t count = is_tall ? n : m, size = is_tall ? m : n;
    const int64_t line = is_tall ? lda : 1, step = is_tall ? 1 : lda;
    REAL *out = is_tall ? left : right, *turns = is_tall ? right : left;
    const int64_t out_line = is_tall ? *left_rows : 1, out_step = is_tall ? 1 : *right_rows;
    const int64_t turn_line = is_tall ? 1 : *left_rows, turn_step = is_tall ? *right_rows : 1;
    REAL largest = 0;
    int turned = 1;
    (void)job; /* as many vectors as values */
    (void)room;
    (void)whole;
    for (int64_t p = 0; p < count; p++) {
        for (int64_t i = 0; i < size; i++) {
            const REAL x = SIZE(a[p * line + i * step]);
            largest = x > largest ? x : largest;
        }
        for (int64_t i = 0; i < count; i++) {
            turns[p * turn_line + i * turn_step] = i == p;
        }
    }
    for (int64_t p = 0; largest > 0 && p < count; p++) {
        for (int64_t i = 0; i < size; i++) {
            a[p * line + i * step] /= largest;
        }
    }
    for (int sweep = 0; turned && sweep < 60; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < count; p++) {
            for (int64_t q = p + 1; q < count; q++) {
                REAL one = 0, two = 0, both = 0;
                for (int64_t i = 0; i < size; i++) {
                    const REAL x = a[p * line + i * step], y = a[q * line + i * step];
                    one += x * x;
                    two += y * y;
                    both += x * y;
                }
                if (SIZE(both) <= ENOUGH * ROOT(one) * ROOT(two) || SIZE(both) < NEGLIGIBLE * NEGLIGIBLE) {
                    continue;
                }
                turned = 1;
                const REAL place = (two - one) / (2 * both);
                const REAL t = (place < 0 ? -1 : 1) / (SIZE(place) + ROOT(1 + place * place));
                const REAL c = 1 / ROOT(1 + t * t), s = t * c;
                for (int64_t i = 0; i < size; i++) {
                    REAL *x = a + p * line + i * step, *y = a + q * line + i * step;
                    const REAL u = *x, v = *y;
                    *x = c * u - s * v;
                    *y = s * u + c * v;
                }
                for (int64_t i = 0; i < count; i++) {
                    REAL *x = turns + p * turn_line + i * turn_step, *y = turns + q * turn_line + i * turn_step;
                    const REAL u = *x, v = *y;
                    *x = c * u - s * v;
                    *y = s * u + c * v;
                }
            }
        }
    }
    *info = turned;
    for (int64_t p = 0; p < count; p++) {
        REAL sum = 0;
        for (int64_t i = 0; i < size; i++) {
            sum += a[p * line + i * step] * a[p * line + i * step];
        }
        values[p] = ROOT(sum);
    }
    for (int64_t p = 0; p < count; p++) {
        int64_t most = p;
        for (int64_t q = p + 1; q < count; q++) {
            most = values[q] > values[most] ? q : most;
        }
        const REAL value = values[p];
        values[p] = values[most];
        values[most] = value;
        for (int64_t i = 0; most != p && i < size; i++) {
            const REAL held = a[p * line + i * step];
            a[p * line + i * step] = a[most * line + i * step];
            a[most * line + i * step] = held;
        }
        for (int64_t i = 0; most != p && i < count; i++) {
            const REAL held = turns[p * turn_line + i * turn_step];
            turns[p * turn_line + i * turn_step] = turns[most * turn_line + i * turn_step];
            turns[most * turn_line + i * turn_step] = held;
        }
    }
    for (int64_t p = 0; p < count; p++) {
        /* what has no length of its own gets a direction that the others leave */
        const int has_own = values[p] > ENOUGH * (REAL)size * values[0];
        int64_t axis = 0;
        REAL norm = values[p];
        for (int64_t i = 0; has_own && i < size; i++) {
            out[p * out_line + i * out_step] = a[p * line + i * step] / norm;
        }
        for (norm = 0; !has_own && norm * norm * 2 * (REAL)size < (REAL)(size - p) && axis < size; axis++) {
            for (int64_t i = 0; i < size; i++) {
                work[i] = i == axis;
            }
            for (int64_t q = 0; q < 2 * p; q++) {
                REAL share = 0;
                for (int64_t i = 0; i < size; i++) {
                    share += work[i] * out[q % p * out_line + i * out_step];
                }
                for (int64_t i = 0; i < size; i++) {
                    work[i] -= share * out[q % p * out_line + i * out_step];
                }
            }
            norm = 0;
            for (int64_t i = 0; i < size; i++) {
                norm += work[i] * work[i];
            }
            norm = ROOT(norm);
            for (int64_t i = 0; i < size; i++) {
                out[p * out_line + i * out_step] = work[i] / norm;
            }
        }
    }
    for (int64_t p = 0; p < count; p++) {
        values[p] *= largest;
    }
}
""",
}


def are_own(names: Sequence[str]) -> bool:
    """Whether plain C stands in for all of a program's routines, and there are some."""
    return bool(names) and all(name[0] in "sd" and _bare(name) in _ROUTINES for name in names)


def _bare(name: str) -> str:
    return name[1:].rstrip("_")


def lapack_routine(name: str) -> str:
    """C source of a routine, by the name that linkers know, as `dgetrf_`."""
    is_double = name[0] == "d"
    names = {
        "NAME": name, "REAL": "double" if is_double else "float", "ROOT": "sqrt" if is_double else "sqrtf",
        "SIZE": "fabs" if is_double else "fabsf", "NEGLIGIBLE": "1e-17" if is_double else "1e-9f",
        "ENOUGH": "2e-16" if is_double else "1e-7f",
    }  # fmt: skip
    text = _ROUTINES[_bare(name)]
    for word, meant in names.items():
        text = text.replace(word, meant)
    return text


__all__ = ["LAPACK_WANTED", "are_own", "lapack_routine"]
