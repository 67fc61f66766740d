"""Says which file has the lowering rules of which primitives; imported by `functions.py`.

A file is loaded when a program first has one of its primitives: all of them take longer to load than most programs take
to compile. `SINGLES` has primitives that are lowered by themselves, `SCALARS` special functions on one element too,
`REWRITES` what is done to a graph beforehand.
"""

from __future__ import annotations

from ...refine import PARTS
from ..ir.builder import Builder
from ..ir.loops import Operand
from .blocks import REWRITES, SINGLES, Rewrite
from .later import SPECIAL, Later
from .reduces import RUNNING
from .scalars import SCALARS, Rule

# by file, the primitives of its table `LOWERED`
FAMILIES: dict[str, tuple[str, ...]] = {
    "added_products": ("joined",),
    "cofactors": ("cofactor", "inv_or_inf"),
    "convolutions": ("conv",),
    "cumulative": (
        *RUNNING, "linear_recurrence", "segmented_cumsum", "cumlogsumexp", "argmax", "argmin", "sort", "argsort",
        "searchsorted",
    ),
    "determinants": ("det", "slogdet", "permute_rows", "unpermute_rows"),
    "exponentials": ("expm", "expm_along"),
    "factorisations": ("cholesky", "triangular_solve", "solve", "inv", "lu"),
    "fourier": ("dft", "rfft", "irfft"),
    "matrix_functions": ("sqrtm", "logm", "sylvester"),
    "numpy_calls": ("outside",),
    "arrangements": ("native arranged",),
    "order_statistics": ("native order_at", "native sorted_at"),
    "products": ("matmul", "einsum"),
    "random_bits": ("random_bits", "random_split", "random_fold_in"),
    "regions": ("loop", "loop_back", "switch"),
    "row_blocks": ("blocked",),
    "scatters": (
        "scatter_add", "scatter_max", "scatter_min", "last_writes", "maximum_iterations", "place_of_number", "rarely",
        "scatter_set", "scatter_mul", "buffer_new", "buffer_value", "buffer_get", "buffer_set", "buffer_add",
    ),
    "sparse": ("sparse_matmul", "sparse_solve"),
    "spectra": ("complement", "pinv", "eig", "eigh", "svd", "qr"),
    "tiles": ("tiled",),
    "windows": (
        "window_sum", "window_spread", "window_argmax", "window_argmin", "native window_best", "native window_put",
        "add_along",
    ),
}  # fmt: skip

# the primitives for which `special_rules.py` has a rule in this process
SPECIAL_FUNCTIONS = (
    "beta", "betainc", "betaincc", "betaincinv", "betaln", "beta_size", "binom_count", "digamma", "erfcx",
    "erfcx_integral", "erfinv", "exp1", "expi", "gamma", "gammainc", "gammaincc", "gammaincinv", "gamma_size", "i0",
    "i0e", "i1", "i1e", "iv", "ive", "jv", "kv", "kve", "lgamma", "log_ndtr", "nbinom_count", "ndtr", "ndtri",
    "ndtri_exp", "normal_hazard", "poch", "poisson_count", "polygamma", "polygamma_step", "scipy_special",
    "vonmises_place", "yv",
    *[part for parts in PARTS.values() for part in parts],
)  # fmt: skip


def _special(name: str) -> Rule:
    """A rule that puts the one of `special_rules.py` in its place when it is first needed."""

    def rule(b: Builder, t: str, attrs: tuple[object, ...], *xs: Operand) -> Operand:
        return SPECIAL.load().IN_PROCESS[name](b, t, attrs, *xs)

    return rule


def _of_file(file: str, name: str) -> Rule:
    """As `_special`, of a file whose rules many programs have that ask for no other special function."""

    def rule(b: Builder, t: str, attrs: tuple[object, ...], *xs: Operand) -> Operand:
        SCALARS[name] = found = Later(file).load().RULES[name]
        return found(b, t, attrs, *xs)

    return rule


SINGLES.update({name: Later(file) for file, names in FAMILIES.items() for name in names})
SCALARS.update({name: _special(name) for name in SPECIAL_FUNCTIONS})
SCALARS.update({name: _of_file("error_function", name) for name in ("erf", "erfc")})
REWRITES.extend((
    Rewrite(Later("written_places"), "as_values", frozenset({"buffer_set", "buffer_add", "buffer_get"})),
    Rewrite(Later("added_products"), "joined", frozenset({"matmul", "einsum"})),
    Rewrite(Later("numpy_calls"), "taken_in", frozenset({"outside"})),
    Rewrite(Later("shared_factors"), "with_shared_factors", frozenset({"solve"})),
    Rewrite(Later("order_statistics"), "with_few_places", frozenset({"sort"})),
    Rewrite(Later("order_statistics"), "with_few_origins", frozenset({"add_along"})),
    Rewrite(Later("arrangements"), "arranged", frozenset({"permute_along"})),
    Rewrite(Later("best_places"), "of_booleans", frozenset({"argmax", "argmin"})),
))  # fmt: skip

__all__ = ["FAMILIES", "SINGLES", "SPECIAL_FUNCTIONS"]
