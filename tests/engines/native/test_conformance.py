"""Compiled code against NumPy's kernels: every primitive in its dtypes, and what calls must keep to."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import platform
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from tests.support import layouts
from tests.support import op_checks as checks
from tests.support.control_checks import choices_of, random_point
from tests.support.control_programs import random_program
from tests.support.native_checks import (
    DTYPES,
    TOLERANCE,
    Pair,
    Twins,
    cases_of,
    every_pair,
    numpy_only,
    outcome,
    require_each_near,
    require_same,
    specials,
)
from tests.support.threads import in_threads

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.op import REGISTRY, Op
from wengert._engines.native.ir.loops import UNARY_MATH, Let
from wengert._engines.native.ir.renaming import walk
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan import segments, support
from wengert._engines.native.plan.prepare import ready

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.*was traced:UserWarning")

# a backward pass takes what its loop has kept: the tests of programs run both together
OPS = [op for op in REGISTRY.values() if op.name not in ("loop_back", "debug_print")]
ELEMENTWISE = [
    op for op in OPS
    if (op.kind == "elementwise" or not op.facts.samples) and op.operands
    # an operand of polygamma_step counts terms: of 1e10 there is no end
    and op.name not in ("call", "add_n", "switch", "loop", "polygamma_step")
]  # fmt: skip
# Ops whose gradients in a parameter NumPy's kernels sum up term by term: far out that takes minutes.
SUMMED = {"gammainc", "gammaincc", "betainc", "betaincc", "gammaincinv", "betaincinv"}

# Ops whose floats may differ in the last bits, beside elementwise ones that call functions such as exp (`is_rounded`):
# sums run in another order, functions are others than NumPy's. All else is the same to the bit.
ROUNDED = {
    # sums and products of many
    "reduce_sum", "matmul", "einsum", "conv", "window_sum", "window_spread", "solve", "inv", "cholesky", "det", "slogdet",
    "triangular_solve", "solve_by_factors", "lu", "logsumexp", "softmax", "log_softmax", "cumlogsumexp", "cumsum",
    "linear_recurrence", "segmented_cumsum", "reduce_prod", "cofactor", "inv_or_inf", "eigh", "svd", "qr", "complement",
    "pinv", "expm", "expm_along", "sparse_matmul", "sparse_solve", "eig", "sqrtm", "logm", "sylvester",
    # functions computed otherwise than NumPy's, without a function of C's (`is_rounded` finds those that have one)
    "rsqrt", "erfinv", "erfcx", "over_square_radius", "betaincinv", "gammaincinv", "ndtr", "ndtri", "log_ndtr",
    "normal_hazard", "expi", "exp1", "gamma", "gammaincc", "betaincc",
    # vector code, products and sums written out add in another order than NumPy's module, which transforms single
    # precision in double precision
    "dft", "rfft", "irfft",
    "i0", "i0e", "i1", "i1e", "iv", "ive", "digamma", "polygamma", "polygamma_step", "zeta",
    "gammainc", "betainc", "vonmises_place",
    "gamma_size",  # by exp and log, of which NumPy has others on processors with AVX-512
    # what programs hold, and a body with exp between functions that NumPy's kernels run
    "call", "switch", "loop", "beta_size",
}  # fmt: skip
# Searched for in float32 by SciPy's loops, in float64 and rounded by machine code, which is nearer.
WIDER = {"betaincinv": 1e-4, "gammaincinv": 1e-4}
# Angles next to 0, beside which shares next to 1/2 have no digits: right to units of 1.
UNITS_OF_ONE = {"vonmises_place"}
# NumPy's own choice between zeros of two signs depends on the length of the array and on the machine.
EITHER_ZERO = {"fmax", "fmin", "maximum", "minimum", "clip", "relu"}


@functools.cache
def is_rounded(op: Op) -> bool:
    """Whether floats may differ in the last bits: told by the table, or by the functions in the op's machine code."""
    return op.name in ROUNDED or (op in ELEMENTWISE and any(map(holds_functions, cases_of(op, np.dtype(float)))))


def holds_functions(make: Callable[[], checks.Case]) -> bool:
    graph = ready(checks.traced(make()))
    if any(support.reason_against(node) for node in graph.nodes):
        return False
    return any(type(item) is Let and item.op in FUNCTIONS for item in walk(lowered(graph, graph.name).function.body))


FUNCTIONS = {*UNARY_MATH, "pow", "atan2", "hypot"}  # those of BINARY_MATH that round


@pytest.fixture(autouse=True)
def even_moves_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that only moves elements is NumPy's, whose views cost nothing; here it is compiled, too."""
    monkeypatch.setattr(segments, "_computes", lambda node: True)


# -- every op ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPS, ids=str)
def test_values(op: Op) -> None:
    native = False
    for dtype in DTYPES:
        for make in cases_of(op, dtype):
            case = make()
            pair = Pair(lambda make=make: checks.traced(make()))
            native |= pair.is_native
            found, wanted = pair.both(case.operands)
            require_same(found, wanted, str(case), TOLERANCE if is_rounded(op) else None)
    assert native or not can_be_native(op), f"{op.name} has a lowering that nothing uses"


def can_be_native(op: Op) -> bool:
    """Whether machine code runs an op on float64, and it stays in the graph until then."""
    if op.name in GONE or op.name in WITHIN_LOOPS:
        return False
    return any(
        support.is_native(node) for make in cases_of(op, np.dtype(float)) for node in checks.traced(make()).nodes
    )


# a caller's small buffers stay NumPy's, which cost less there; tests/engines/native/test_regions.py has those of loops
WITHIN_LOOPS = {"buffer_value", "buffer_get", "buffer_set", "buffer_add"}
GONE = {
    "constant",
    "dim_value",
    "absent",
    "alias",
    "regular",
    "attach",
    "limit_value",
    "stop_gradient",
    "after",
    "reassign",
    "barrier",
    "conj",
    "real",
}


# Complex numbers and half floats are NumPy's, and the operands beside them machine code's.
GRADIENTS = [*DTYPES[:2], *map(np.dtype, (np.float16, ml_dtypes.bfloat16, np.complex64, np.complex128)), *DTYPES[2:]]
NARROW = {**TOLERANCE, "bfloat16": 0.1}


@pytest.mark.parametrize("dtype", GRADIENTS, ids=str)
@pytest.mark.parametrize("op", [op for op in OPS if op.kind in checks.DIFFERENTIABLE], ids=str)
def test_gradients(op: Op, dtype: Any) -> None:
    """All compile: what the compiler fails at is an error here. Of integers where floats go with them."""
    for make in cases_of(op, dtype):
        case = make()
        if not case.active:
            continue
        seeds = [None if ct is None else ct.astype(out.dtype) for ct, out in
                 zip(checks.cotangents(case, checks.rng_for(op, 1)), case.run(), strict=True)]  # fmt: skip
        _, arrays = checks.traced_gradient(case, seeds)
        pair = Pair(lambda make=make, seeds=seeds: checks.traced_gradient(make(), seeds)[0])
        require_same(*pair.both(arrays), f"gradient of {case}", NARROW)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=str)
def test_special_numbers(op: Op) -> None:
    """NaN, infinities, zeros, overflow of integers, division by zero, shifts by any count, casts out of range."""
    for dtype in DTYPES:
        for case in special_cases(op, dtype):
            pair = Pair(lambda case=case: checks.traced(case))
            found, wanted = pair.both(case.operands)
            what = f"{op.name} of special {dtype}, {case.attrs}"
            if is_rounded(op):
                cancels = op.name in SUMMED and sum(case.attrs) > 1  # second slopes at the peak of a density
                if op.name in WIDER or op.name in UNITS_OF_ONE or cancels:
                    require_same(
                        found, wanted, what, {**TOLERANCE, "float32": WIDER.get(op.name, TOLERANCE["float32"])}
                    )
                else:
                    require_each_near(found, wanted, what, TOLERANCE)
            elif op.name in EITHER_ZERO:
                require_same(*([x + 0 if x.dtype.kind == "f" else x for x in xs] for xs in (found, wanted)), what)
            else:
                require_same(found, wanted, what)


@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if op.kind in checks.DIFFERENTIABLE and op.name not in SUMMED], ids=str
)
def test_gradients_at_special_numbers(op: Op) -> None:
    for case in special_cases(op, np.dtype(float)):
        # slopes in q of those of zeta in s are differences of two large numbers where s is next to 0
        if case.active and not (op.name == "zeta" and case.attrs[0]):
            seeds = [np.ones_like(out) for out in outcome(case.run)]
            _, arrays = checks.traced_gradient(case, seeds)
            pair = Pair(lambda case=case, seeds=seeds: checks.traced_gradient(case, seeds)[0])
            found, wanted = pair.both(arrays)
            wide = {"float64": 1e-11}  # a few functions, each to 4 units in the last place, and differences of them
            require_each_near(*([x + 0 for x in xs] for xs in (found, wanted)), f"gradient of {op.name}", wide)


def special_cases(op: Op, dtype: np.dtype[Any]) -> list[checks.Case]:
    """One case for each set of attributes."""
    found: dict[Any, checks.Case] = {}
    for make in cases_of(op, dtype):
        case = make()
        operands = every_pair(dtype, len(case.operands))
        kept = [
            x if y.dtype == dtype else np.resize(y.ravel(), x.size)
            for x, y in zip(operands, case.operands, strict=True)
        ]
        found.setdefault(case.attrs, case.with_operands(kept))
    return [*found.values()]


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_casts(source: Any, target: Any) -> None:
    """All of what a dtype holds, out of the other's range or not (there, too, what this machine gives NumPy).

    From floats to unsigned integers of 32 and 64 bits NumPy has no one rule: what is out of range becomes different
    numbers in vectors and alone. On 64-bit ARM it has none for other integers either.
    """
    x = specials(source)
    if (
        source.kind == "f"
        and target.kind in "iu"
        and (target in (np.uint32, np.uint64) or platform.machine() != "x86_64")
    ):
        lowest, beyond = int(np.iinfo(target).min), int(np.iinfo(target).max) + 1
        x = x[(x > lowest - 1.0) & (x < float(beyond))]
    for own in (x, np.resize(x, 1000), x[:1]):  # in registers, in vectors
        found, wanted = Twins(lambda x: wg.asarray(x).astype(target.name)[::-1]).both(own)
        require_same(found, wanted, f"{source} to {target}")


# -- operands ---------------------------------------------------------------------------------------------------------


def overlapping(x: Any) -> Any:
    held = np.resize(x.ravel(), x.size + x.shape[-1])
    return np.lib.stride_tricks.as_strided(held, x.shape, (x.itemsize, x.itemsize) if x.ndim == 2 else (x.itemsize,))


class Derived(np.ndarray[Any, Any]):
    """A class derived from NumPy's."""


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "negative strides": layouts.backwards,
    "transposed": lambda x: x.T.copy().T,
    "repeated": layouts.repeated,
    "read-only": layouts.read_only,
    "misaligned": layouts.unaligned,
    "overlapping": overlapping,
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "derived": lambda x: x.view(Derived),
}
PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x, y: x * wg.sin(y) + 2.0,
    "sums": lambda x, y: (wg.sum(x * y, axis=0), wg.sum(x, axis=-1), wg.max(y)),
    "moves": lambda x, y: (x.T, wg.concatenate([y, x])[::-2], wg.flip(x)),
    "gradient": wg.grad(lambda x, y: wg.sum(wg.tanh(x) * y), argnums=(0, 1)),
    "product": lambda x, y: wg.matmul(x, y.T),
    "gradient of a product": wg.grad(lambda x, y: wg.sum(wg.sin(wg.matmul(x, y.T))), argnums=(0, 1)),
    "loop": lambda x, y: wg.fori_loop(0, 3, lambda i, c: c * 0.5 + y, x),
    "write": lambda x, y: x.at[1].set(y[0]),
    "arguments": lambda x, y: (x, y, x),
}


@pytest.mark.parametrize("shape", [(3, 4), (20, 30)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts(name: str, layout: str, shape: Any) -> None:
    rng = np.random.default_rng(3)
    plain = [rng.normal(size=shape) for _ in range(2)]
    twins = Twins(lambda x, y: PROGRAMS[name](wg.asarray(x), y))
    twins.both(*plain)  # the first call is of plain arrays, and settles how others are made
    for moved in ((True, True), (True, False)):
        arrays = [LAYOUTS[layout](x) if flag else x for x, flag in zip(plain, moved, strict=True)]
        before = [np.array(x, copy=True) for x in arrays]
        found, wanted = twins.both(*arrays)
        require_same(found, wanted, f"{name} of {layout} operands", TOLERANCE)
        require_same([np.asarray(x) for x in arrays], [np.asarray(x) for x in before], "operands")


@pytest.mark.parametrize("shape", [(2,), (30,), (20, 30)], ids=str)
def test_operands_that_are_the_same_array_or_parts_of_one(shape: Any) -> None:
    x = np.random.default_rng(4).normal(size=shape)
    twins = Twins(lambda x, y: (x.at[0].set(y[1]) + y, wg.grad(lambda z: wg.sum(z * z * y))(x), x))
    for pair in ((x, x), (x, x[::-1]), (x[1:], x[:-1]), (x[::-1], x)):
        before = x.copy()
        require_same(*twins.both(*pair), "parts of one array", TOLERANCE)
        np.testing.assert_array_equal(x, before)


def test_booleans_of_any_byte_are_true() -> None:
    for size in (3, 100):
        odd = np.full(size, 2, np.uint8).view(bool)
        odd[1] = False
        found, wanted = Twins(lambda p: (wg.where(p, 1.0, 2.0), ~p, p & p)).both(odd)
        require_same(found, wanted, "booleans made of the byte 2")


# -- results ----------------------------------------------------------------------------------------------------------

RESULTS: dict[str, Callable[..., Any]] = {
    "an argument": lambda x: x,
    "an argument twice": lambda x: (x, x),
    "an argument and a value": lambda x: (x, x + 1.0),
    "a value twice": lambda x: (x * 2.0,) * 2,
    "views of a value": lambda x: (x * 2.0, (x * 2.0).T, (x * 2.0)[:1], wg.reshape(x * 2.0, (-1,))),
    "views of an argument": lambda x: (x.T, x[:1], wg.reshape(x, (-1,)), wg.broadcast_to(x, (2, *x.shape))),
    "a constant": lambda x: (wg.zeros((3,)), wg.ones((200,)) * 2.0, np.arange(100.0)),
    "a step of a loop": lambda x: wg.scan(lambda c, _: (c + x, c), x, length=3),
    "a loop of no steps": lambda x: wg.fori_loop(0, 0, lambda i, c: c + 1.0, x),
    "a branch": lambda x: wg.cond(wg.sum(x) > 1e9, lambda: x * 2.0, lambda: x),
    "a write": lambda x: (x.at[0].set(1.0), x),
}


@pytest.mark.parametrize("shape", [(2, 2), (20, 30)], ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_the_callers_own(name: str, shape: Any) -> None:
    """What is written into a result changes no other result, no argument, and no later call."""
    x = np.random.default_rng(5).normal(size=shape)
    kept = x.copy()
    twins = Twins(RESULTS[name])
    _, wanted = twins.both(x)
    for _ in range(3):
        results = list(wg.tree.leaves(twins.native(x)))
        require_same([np.asarray(r) for r in results], wanted, name)
        for place, result in enumerate(results):
            if isinstance(result, np.ndarray):
                assert result.flags.writeable, f"{name}: result {place}"
                result[...] = 77.0
                for other, (r, w) in enumerate(zip(results, wanted, strict=True)):
                    if other > place:
                        np.testing.assert_array_equal(r, w, f"{name}: result {other} shares memory with {place}")
        np.testing.assert_array_equal(x, kept)


def test_results_outlive_their_call() -> None:
    f = wg.function(lambda x: (wg.cumsum(x), wg.scan(lambda c, y: (c + y, c), x[0], x)[1]))
    x = np.arange(300.0)
    results = [f(x + k) for k in range(50)]
    gc.collect()
    for k, (one, two) in enumerate(results):
        np.testing.assert_allclose(one, np.cumsum(x + k))
        assert two[0] == k


# -- sizes ------------------------------------------------------------------------------------------------------------

SIZES = (0, 1, 2, 63, 64, 65, 1000)
PATTERNS = [
    ((None,), ()), ((None,), (1,)), ((None,), (None,)), ((None, 3), (3,)), ((None, 3), (None, 1)), ((3, None), (3, 1)),
    ((None, 1), (1, 3)), ((2, None, 1), (4,)), ((None, None), (None, 1)), ((), (None, 2)), ((1, None), (3, 1)),
]  # fmt: skip


def broadcasting(x: Any, y: Any) -> Any:
    value = wg.sin(x) * y + wg.maximum(x, y)
    slopes = wg.grad(lambda x, y: wg.sum(wg.sin(x) * y + wg.maximum(x, y) ** 2), argnums=(0, 1))(x, y)
    return value, wg.sum(value, axis=-1) if value.ndim else value, wg.sum(value), slopes


@pytest.mark.parametrize("signature", [False, True], ids=["each size", "None"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_broadcasting_at_all_sizes(pattern: Any, signature: bool) -> None:
    options: dict[str, Any] = {"input_signature": [wg.TensorSpec(shape) for shape in pattern]} if signature else {}
    twins = Twins(broadcasting, **options)
    rng = np.random.default_rng(6)
    for n in SIZES:
        arrays = [np.round(rng.normal(size=[n if d is None else d for d in shape]), 1) for shape in pattern]
        require_same(*twins.both(*map(np.asarray, arrays)), f"size {n}", TOLERANCE)


SIZED: dict[str, Callable[..., Any]] = {
    "sum": lambda x: wg.sum(wg.sin(x)),
    "mean and deviation": lambda x: (wg.mean(x), wg.std(x)),
    "max": wg.max,
    "softmax": wg.nn.softmax if hasattr(wg, "nn") else wg.ops.softmax,
    "logsumexp": wg.ops.logsumexp,
    "cumsum": wg.cumsum,
    "sort": lambda x: (wg.sort(x), wg.argsort(x)),
    "slices": lambda x: (x[1:] - x[:-1], x[::-1], x[::2]),
    "outer": lambda x: wg.sum(x[:, None] * x[None, :] + 1.0, axis=0),
    "product": lambda x: wg.matmul(wg.reshape(x, (1, -1)), wg.reshape(x, (-1, 1))),
    "scan": lambda x: wg.scan(lambda c, y: (0.5 * c + y, c * y), wg.asarray(0.0), x),
    "gradient of a scan": lambda x: wg.grad(
        lambda x: wg.sum(wg.scan(lambda c, y: (0.5 * c + wg.sin(y), c * y), wg.asarray(0.3), x)[1])
    )(x),
    "gather": lambda x: x[np.array([0, -1])],
    "concatenate": lambda x: wg.concatenate([x, x * 2.0, x[:1]]),
}


@pytest.mark.parametrize("signature", [False, True], ids=["each size", "None"])
@pytest.mark.parametrize("name", SIZED)
def test_programs_at_all_sizes(name: str, signature: bool) -> None:
    options: dict[str, Any] = {"input_signature": [wg.TensorSpec((None,))]} if signature else {}
    twins = Twins(SIZED[name], **options)
    for n in (64, *SIZES):
        x = np.random.default_rng(n).normal(size=n)
        require_same(*twins.both(x), f"{name} of {n}", TOLERANCE)


# -- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(1000, 1100, 10))
def test_random_programs(first: int) -> None:
    """Nested branches and loops of all sorts; gradients with what is kept as each policy says."""
    for seed in range(first, first + 10):
        program, numbers = random_program(random.Random(seed), 4), choices_of(seed)
        point, policy = random_point(numbers), numbers.choice(["all", "auto", "sqrt", 2])
        run = partial(_program_run, program, policy, (np.float64(point.x), point.v, np.int64(point.n)))
        found = outcome(run)
        with numpy_only():
            wanted = outcome(run)
        try:
            require_same(found, wanted, f"seed {seed}", {"float64": 1e-10})  # sums in other orders, through many steps
        except AssertionError as error:
            error.add_note(f"{policy}\n{program.source}")
            raise


def _program_run(program: Any, policy: Any, arrays: Any) -> list[Any]:
    namespace = program.namespace()
    f = wg.function(wg.value_and_grad(namespace["make"](wg, "float64", policy), (0, 1)))
    results = [_leaves(f(*arrays)) for _ in range(2)]  # the Variable goes on from call to call
    return [*results[0], *results[1], namespace["make"].state.numpy()]


def _leaves(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in wg.tree.leaves(tree)]


LABELS = [
    "ij,jk,k->i", "ij,jk,kl->il", "ij,jk,kl,lm->im", "i,i,i->i", "i,i,i->", "ij,ij,ij->j", "ij,kj,kl->li", "a,b,c->cba",
    "aij,ajk,k->ai", "ij,i,j->", "ab,bc,ca->", "ijk,kj,i->ij", "i,ij,j,j->i", "ij,jk->ki", "bij,bkj->bik", "ii,ij->j",
    "ij->ji", "ij->", "ij->j", "ii->i", "ii->", "i,j->ij", "bi,bj->bij", "bij,bij->b",
]  # fmt: skip


@pytest.mark.parametrize("size", [2, 3, 9, 70])
@pytest.mark.parametrize("labels", LABELS)
def test_labelled_sums(labels: str, size: int) -> None:
    names = labels.split("->")[0].split(",")
    if size ** max(map(len, names)) > 1e5:
        size = 20
    rng = np.random.default_rng(8)
    extents = {c: size + k % 2 * (labels.count("ii") == 0) for k, c in enumerate(sorted({*"".join(names)}))}
    arrays = [rng.normal(size=[extents[c] for c in own]) for own in names]
    twins = Twins(lambda *xs: (
        wg.einsum(labels, *xs),
        wg.grad(lambda *xs: wg.sum(wg.einsum(labels, *xs) ** 2), argnums=(*range(len(xs)),))(*xs),
    ))  # fmt: skip
    require_same(*twins.both(*arrays), f"{labels} of {extents}", {"float64": 1e-11})  # sums of products of sums


# -- calls ------------------------------------------------------------------------------------------------------------


def test_many_threads_at_once() -> None:
    """First calls, calls of known sizes and of new ones, of one function, from eight threads."""
    f = wg.function(wg.value_and_grad(lambda x: wg.sum(wg.scan(lambda c, y: (wg.sin(c + y), c), x[0], x)[1] * x)))
    operands = [np.random.default_rng(n).normal(size=n) for n in (3, 5, 70, 200, 1000)]
    with numpy_only():
        plain = wg.function(
            wg.value_and_grad(lambda x: wg.sum(wg.scan(lambda c, y: (wg.sin(c + y), c), x[0], x)[1] * x))
        )
        wanted = [_leaves(plain(x)) for x in operands]

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(100):
            k = rng.randrange(len(operands))
            require_same(_leaves(f(operands[k])), wanted[k], f"thread {seed}", TOLERANCE)

    in_threads(work)


ERRORS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "index": (lambda x, i: (x * 2.0)[i], lambda good: (np.ones(5), np.int64(2 if good else 5))),
    "index in a loop": (
        lambda x, i: wg.fori_loop(0, 3, lambda k, c: c + x[i + k], 0.0),
        lambda good: (np.ones(5), np.int64(1 if good else 3)),
    ),
    "indices": (lambda x, i: wg.sum(x[i]), lambda good: (np.ones(500), np.array([3, -500 if good else -501]))),
    "write": (lambda x, i: x.at[i].set(1.0) * 2.0, lambda good: (np.ones(5), np.int64(-5 if good else -6))),
    "singular": (lambda x: wg.linalg.inv(x) * 2.0, lambda good: (np.eye(3) if good else np.ones((3, 3)),)),
    "singular system": (
        lambda x, y: wg.linalg.solve(x, y) + 1.0, lambda good: (np.eye(30) if good else np.zeros((30, 30)), np.ones(30)),
    ),
    "not definite": (lambda x: wg.linalg.cholesky(x), lambda good: (np.eye(3) if good else -np.eye(3),)),
    "integer power": (lambda x, i: x**i, lambda good: (np.int64(3), np.int64(2 if good else -2))),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_numpys_kernels(name: str) -> None:
    """The same type and words, the user's line among them; and the function works on."""
    f, arguments = ERRORS[name]

    def said(run: Any) -> tuple[type, str]:
        with pytest.raises((IndexError, ValueError, np.linalg.LinAlgError)) as caught:
            run(*arguments(False))
        return caught.type, str(caught.value)

    native = wg.function(lambda *xs: f(*xs))
    good = _leaves(native(*arguments(True)))
    found = [said(native) for _ in range(2)]
    require_same(_leaves(native(*arguments(True))), good, name)
    with numpy_only():
        plain = wg.function(lambda *xs: f(*xs))
        require_same(good, _leaves(plain(*arguments(True))), name, TOLERANCE)
        assert found == [said(plain)] * 2
    assert os.path.basename(__file__) in found[0][1]


WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "llvmlite":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if "blocked" in sys.argv:
    sys.meta_path.insert(0, Blocked())
if "hidden" in sys.argv:
    sys.modules["llvmlite"] = None
import numpy as np
import wengert as wg
from wengert._engines.native import engine

assert not engine.is_on()
f = wg.function(wg.value_and_grad(lambda x: wg.sum(wg.scan(lambda c, y: (wg.sin(c + y), c), x[0], x)[1])))
x = np.linspace(0.1, 1.0, 7)
first, again = f(x), f(x)
assert first.value == again.value and np.array_equal(first.grad, again.grad)
with wg.eager():
    np.testing.assert_allclose(first.grad, f(x).grad, rtol=1e-13)
assert sys.modules.get("llvmlite") is None
"""


@pytest.mark.parametrize("way", ["blocked", "hidden", "switched off"])
def test_without_llvm(way: str) -> None:
    environment = {**os.environ, "WENGERT_JIT": "0" if way == "switched off" else "1"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, way], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


# -- memory -----------------------------------------------------------------------------------------------------------

MEMORY: dict[str, tuple[Callable[..., Any], int]] = {
    "elementwise": (wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x))), 300),
    "temporaries": (lambda x: wg.sort(wg.cumsum(x) * 2.0) + 1.0, 300),
    "scan": (wg.grad(lambda x: wg.scan(lambda c, y: (wg.sin(c + y), c), x[0], x)[0]), 100),
    "while": (wg.grad(lambda x: wg.sum(wg.while_loop(lambda c: c[0] < 9.0, lambda c: c + wg.exp(c * 0.1), x))), 100),
    "product": (wg.grad(lambda x: wg.sum(wg.sin(wg.matmul(wg.reshape(x, (-1, 50)), np.ones((50, 50)))))), 300),
    "error": (lambda x: x[x[0].astype("int64")] * x, 100),
}


@pytest.mark.sampled(2)  # four seconds each
@pytest.mark.parametrize("name", MEMORY)
def test_ten_thousand_calls_keep_nothing(name: str) -> None:
    psutil = pytest.importorskip("psutil", reason="reads this process's memory")
    f, n = MEMORY[name]
    compiled, x = wg.function(f), np.linspace(0.1, 1.0, n)
    if name == "error":
        x = x + n

    def calls(count: int) -> int:
        for _ in range(count):
            try:
                compiled(x)
            except IndexError:
                assert name == "error"
        gc.collect()
        return psutil.Process().memory_info().rss

    calls(1000)
    before = calls(1000)
    # 10,000 arrays of 100 numbers would be 8 MB; the allocator rounds by the MB
    assert calls(3000 if name == "error" else 10_000) - before < 2e6


PEAK = """
import sys
import numpy as np
import wengert as wg

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

n = 2_000_000
def f(x):
    y = wg.sin(x) * x
    for k in range(6):
        y = wg.cumsum(y) * 1e-6 + x * k
    return wg.sum(y * y)

g = wg.function(wg.value_and_grad(f), input_signature=[wg.TensorSpec((None,))])
g(np.ones(100))
x = np.linspace(0.0, 1.0, n)
before = peak()
for _ in range(2):
    g(x)
print(peak() - before)
"""


def test_peak_memory_is_at_most_the_interpreters() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc, which only Linux has")

    def peak(jit: str) -> int:
        environment = {**os.environ, "WENGERT_JIT": jit}
        done = subprocess.run(
            [sys.executable, "-c", PEAK], env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        return int(done.stdout)

    assert peak("1") <= peak("0") + 20_000  # KB; an array has 16,000


def test_the_table_of_what_numpy_runs_has_no_op_that_machine_code_knows() -> None:
    for name in support.HANDED:
        assert name in REGISTRY
    assert list(itertools.islice((op for op in OPS if op.name in support.HANDED and can_be_native(op)), 1)) == []
