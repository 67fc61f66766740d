"""Routines of LAPACK's that exported programs call, in plain C: for where there is no LAPACK.

They do what LAPACK does (partial pivoting, the same `info`), column by column: without its blocks, so several times
slower for hundreds of rows. Eigenvalues, singular values and QR have none: programs with these need LAPACK.
"""

from __future__ import annotations

from collections.abc import Sequence

LAPACK_WANTED = "WENGERT_LAPACK"  # the macro with which C source calls LAPACK instead

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
    "getrs": """\
void NAME(const int8_t *turned, const int32_t *size, const int32_t *count, const REAL *a, const int32_t *rows,
          const int32_t *pivots, REAL *x, const int32_t *x_rows, int32_t *info) {
    const int64_t n = *size, lda = *rows;
    (void)turned; /* as it is */
    *info = 0;
    for (int64_t c = 0; c < *count; c++) {
        REAL *right = x + c * (int64_t)*x_rows;
        for (int64_t k = 0; k < n; k++) {
            const int64_t other = pivots[k] - 1;
            const REAL held = right[k];
            right[k] = right[other];
            right[other] = held;
        }
        for (int64_t k = 0; k < n; k++) {
            for (int64_t i = k + 1; i < n; i++) {
                right[i] -= a[i + k * lda] * right[k];
            }
        }
        for (int64_t k = n - 1; k >= 0; k--) {
            right[k] /= a[k + k * lda];
            for (int64_t i = 0; i < k; i++) {
                right[i] -= a[i + k * lda] * right[k];
            }
        }
    }
}
""",
}


def are_own(names: Sequence[str]) -> bool:
    """Whether plain C stands in for all of a program's routines, and there are some."""
    return bool(names) and all(_bare(name) in _ROUTINES for name in names)


def _bare(name: str) -> str:
    return name[1:].rstrip("_")


def lapack_routine(name: str) -> str:
    """C source of a routine, by the name that linkers know, as `dgetrf_`."""
    is_double = name[0] == "d"
    names = {
        "NAME": name, "REAL": "double" if is_double else "float", "ROOT": "sqrt" if is_double else "sqrtf",
        "SIZE": "fabs" if is_double else "fabsf",
    }  # fmt: skip
    text = _ROUTINES[_bare(name)]
    for word, meant in names.items():
        text = text.replace(word, meant)
    return text


__all__ = ["LAPACK_WANTED", "are_own", "lapack_routine"]
