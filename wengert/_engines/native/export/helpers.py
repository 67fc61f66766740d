"""Small functions of C that generated source may use; each file gets those that it does."""

from __future__ import annotations

import re

_FLOAT = {"f64": "double", "f32": "float"}
_INT = {"f64": ("i64", "u64"), "f32": ("i32", "u32")}


def _all() -> dict[str, str]:
    found = {
        "take": """\
static void *take(int64_t count, size_t width) {
    if (count < 0 || (uint64_t)count > (uint64_t)PTRDIFF_MAX / width) {
        return NULL;
    }
    return malloc(count == 0 ? 1 : (size_t)count * width);
}""",
        "grow": """\
static void *grow(void *held, int64_t *room, int64_t count, size_t width) {
    const int64_t wanted = *room > count / 2 ? *room * 2 : count;
    if (wanted < 0 || (uint64_t)wanted > (uint64_t)PTRDIFF_MAX / width) {
        return NULL;
    }
    void *more = realloc(held, wanted == 0 ? 1 : (size_t)wanted * width);
    if (more != NULL) {
        *room = wanted;
    }
    return more;
}""",
        "add_wraps": """\
static bool add_wraps(int64_t x, int64_t y) {
    return y > 0 ? x > INT64_MAX - y : x < INT64_MIN - y;
}""",
        "mul_wraps": """\
static bool mul_wraps(int64_t x, int64_t y) {
    if (x == 0 || y == 0) {
        return false;
    }
    if (x > 0) {
        return y > 0 ? x > INT64_MAX / y : y < INT64_MIN / x;
    }
    return y > 0 ? x < INT64_MIN / y : y < INT64_MAX / x;
}""",
        "to_i32": """\
static int32_t to_i32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}""",
        "to_i64": """\
static int64_t to_i64(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}""",
        "to_u64": """\
static uint64_t to_u64(double x) {
    if (x >= 9223372036854775808.0) {
        return x < 18446744073709551616.0 ? (uint64_t)x : 0;
    }
    return x >= -9223372036854775808.0 ? (uint64_t)(int64_t)x : (uint64_t)INT64_MIN;
}""",
        "log_gamma": """\
#ifdef _WIN32
static double log_gamma(double x) {
    return lgamma(x);
}
#else
extern double lgamma_r(double, int *);

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
#endif""",
    }
    for type_, kind in _FLOAT.items():
        for name, sign in (("maximum", ">"), ("minimum", "<")):
            found[f"{name}_{type_}"] = f"""\
static {kind} {name}_{type_}({kind} x, {kind} y) {{
    return x != x || x {sign} y ? x : y;
}}"""
        found[f"scale_{type_}"] = f"""\
static {kind} scale_{type_}({kind} x, {kind} y) {{
    return x == 0 ? 0 : x * y;
}}"""
        for other in _INT[type_]:
            integer = f"{'u' * (other[0] == 'u')}int{other[1:]}_t"
            for name, source, target in ((f"{type_}_{other}", kind, integer), (f"{other}_{type_}", integer, kind)):
                found[f"bits_{name}"] = f"""\
static {target} bits_{name}({source} x) {{
    {target} found;
    memcpy(&found, &x, sizeof found);
    return found;
}}"""
    return found


def helpers(body: str) -> str:
    """The helpers that a text calls."""
    return "\n\n".join(text for name, text in _all().items() if re.search(rf"\b{name}\(", body))


__all__ = ["helpers"]
