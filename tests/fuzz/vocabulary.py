"""Steps that are one call of any function that the library has: what does not take the values at hand is no step."""

from __future__ import annotations

from types import ModuleType

import wengert as wg
from tests.fuzz.maker import Maker, Step, is_float

MODULES: dict[str, ModuleType] = {
    "wg": wg, "wg.ops": wg.ops, "wg.special": wg.special, "wg.linalg": wg.linalg, "wg.fft": wg.fft, "wg.nn": wg.nn,
    "wg.image": wg.image,
}  # fmt: skip

# the elements of these are whatever lay in memory
UNDEFINED = {"empty", "empty_like", "resize"}
# these are no functions of arrays, or change how others work
OTHER = {
    "function", "jit", "grad", "grads", "value_and_grad", "value_and_grads", "variable_grads", "gradients", "Gradient",
    "symbolic_gradient", "custom_grad", "custom_gradient", "custom_root", "custom_linear_solve", "checkpoint", "map",
    "recompute_grad", "save", "load", "vjp", "jvp", "linearize", "linear_transpose", "jacobian", "value_and_jacobian",
    "hessian", "hvp", "vmap", "vectorized_map", "vectorize", "scan", "while_loop", "fori_loop", "cond", "switch",
    "associative_scan", "primitive", "register_gradient", "not_differentiable", "set_default_float", "explain", "coloring",
    "set_memory_budget", "check_gradients", "debug_nans", "debug_print", "eager", "sparsity", "buffer", "from_jax",
    "seterr", "seterrcall", "set_printoptions", "printoptions", "errstate", "array_str", "array_repr", "array2string",
    "apply_along_axis", "apply_over_axes", "piecewise", "fromfunction", "frombuffer", "from_dlpack", "fromiter",
    "may_share_memory", "shares_memory",  # of arrays, not of values
    "stop_gradient",  # has a step of its own
    "convert_to_numpy", "constant", "require", "asarray_chkfinite",  # cut on purpose
}  # fmt: skip
# values decide the shapes of these, which no trace knows
BY_VALUE = {
    "nonzero", "flatnonzero", "argwhere", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "compress", "extract", "trim_zeros", "union1d", "intersect1d", "setdiff1d", "setxor1d", "boolean_mask", "roots",
    "masked_select", "bincount", "histogram", "histogram2d", "histogramdd", "histogram_bin_edges", "delete", "repeat",
    "multi_hot", "one_hot", "eye", "identity", "zeros", "ones", "full", "tri", "arange", "linspace", "logspace", "geomspace",
    "blackman", "bartlett", "hamming", "hanning", "kaiser", "matrix_rank", "ndindex", "iterable", "unpackbits", "packbits",
}  # fmt: skip
# which of several right answers these give is a matter of rounding
NOT_UNIQUE = {
    "eig", "eigh", "svd", "qr", "lu", "lu_factor", "polar", "eigvals", "logm", "sqrtm", "fractional_matrix_power", "argpartition",
    "digitize", "searchsorted", "interp",  # of what is not sorted
    "partition", "mode", "in_top_k", "ctc_decode", "poly", "polyfit", "nextafter", "spacing", "roi_align",
}  # fmt: skip
LEFT_OUT = UNDEFINED | OTHER | BY_VALUE | NOT_UNIQUE
MOST = 500  # elements of an operand: some functions take a while for each


def _functions() -> list[str]:
    found: list[str] = []
    for prefix, module in MODULES.items():
        names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        for name in names:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type) and name not in LEFT_OUT:
                found.append(f"{prefix}.{name}")
    return found


FUNCTIONS = _functions()


def called(m: Maker) -> str:
    """A call of some function on one value, on two, on three, or along an axis."""
    function = m.r.choice(FUNCTIONS)
    v = m.some(lambda v: v.size <= MOST) if m.chance(0.2) else m.some(lambda v: v.size <= MOST and is_float(v))
    texts = [f"{function}({v.name})", f"{function}({v.name})"]
    w, u = m.some(lambda w: w.size <= MOST), m.some(lambda w: w.size <= MOST)
    texts += [
        f"{function}({v.name}, {w.name})",
        f"{function}({v.name}, {w.name}, {u.name})",
        f"{function}([{v.name}, {w.name}])",
    ]
    texts += [f"{function}({v.name}, {m.r.choice([0, 1, 2, 3])})"]
    if v.has_axes:
        texts.append(f"{function}({v.name}, axis={m.axis(v)})")
    m.r.shuffle(texts)
    for text in texts[:3]:  # what a function takes, only it knows
        line = _assigned(m, text)
        if line:
            return line
    return ""


def on_square(m: Maker) -> str:
    """Functions of matrices, on one that is far from singular."""
    v = m.some(lambda v: v.is_float and len(v.shape) >= 1 and 0 < v.shape[-1] <= 9)
    n = v.shape[-1]
    matrix = f"wg.eye({n}) * 2.0 + 0.3 * wg.tanh({v.name})" if len(v.shape) > 1 else f"wg.diag(wg.tanh({v.name}) + 2.0)"
    call = m.r.choice([
        "wg.linalg.inv({a})", "wg.linalg.det({a})", "wg.linalg.slogdet({a})[1]", "wg.linalg.cholesky({a} + wg.matrix_transpose({a}))",
        "wg.linalg.solve({a}, {a})", "wg.linalg.expm(0.3 * {a})", "wg.linalg.eigvalsh({a} + wg.matrix_transpose({a}))",
        "wg.linalg.svdvals({a})", "wg.linalg.pinv({a})", "wg.linalg.matrix_power({a}, 3)", "wg.linalg.norm({a})",
        "wg.linalg.solve_triangular({a}, {a})" if m.chance(0.5) else "wg.linalg.matrix_norm({a}, ord='nuc')",
    ])  # fmt: skip
    return call.format(a=f"({matrix})")


def _assigned(m: Maker, text: str) -> str:
    """An assignment of the tensors that a call gives, or nothing."""
    try:
        found = m.value_of(text)
    except Exception:
        return ""
    if isinstance(found, wg.Tensor):
        return text
    if isinstance(found, (tuple, list)) and 0 < len(found) <= 4 and all(isinstance(x, wg.Tensor) for x in found):
        return f"{', '.join(['TARGET'] * len(found))}{',' if len(found) == 1 else ''} = {text}"
    return ""


STEPS: list[Step] = [called, called, called, on_square]
