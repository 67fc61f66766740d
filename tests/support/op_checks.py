"""The machinery of the registry tests: sample inputs of a primitive, and one check for each law it must obey.

Everything is derived from the declaration (`facts.samples`, `facts.domain`, `facts.dtypes`), so a new op is
tested without a line of its own. Draws depend on the op's name alone.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tests.support.python_engine  # registers the engine  # noqa: F401
from wengert._control.call import Program, call, call_program
from wengert._control.loop import Loop, loop, run_loop
from wengert._control.switch import Branches, switch, switch_branches
from wengert._core import dtypes
from wengert._core.apply import apply
from wengert._core.dims import Dim
from wengert._core.engine import ENGINES
from wengert._core.graph import Graph
from wengert._core.op import ZERO, Op
from wengert._core.state import building, pausing, recording
from wengert._core.tensor import Tensor, fresh
from wengert._core.types import TensorType, type_of
from wengert._core.verifier import verify
from wengert._prims.structural import mul, reduce_sum
from wengert._transforms.batch import batch
from wengert._transforms.forward import Tangents
from wengert._transforms.replay import replay
from wengert._transforms.reverse import sweep
from wengert._transforms.tape import Tape

Array = np.ndarray[Any, Any]
DIFFERENTIABLE = ("elementwise", "linear", "multilinear", "general")
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_HOLD_FLOATS = ("float", "inexact", "real", "number", "any")
_HOLD_COMPLEX = ("inexact", "number", "any", "complex")
# how far a result may be from that in float64, relative to the largest element
PRECISION = {"float32": 1e-4, "float16": 5e-2, "bfloat16": 0.2, "complex64": 1e-4}


def _hermitian(v: Array) -> Array:
    return (v + v.swapaxes(-1, -2).conj()) / 2


# Ops of a symmetric argument, of which they read one half: differences make sense along symmetric directions.
SYMMETRIC = {"cholesky", "eigh", "eigvalsh"}


@dataclass(frozen=True)
class Case:
    """One set of inputs: flat operands and the values of the attributes."""

    op: Op
    operands: tuple[Array, ...]
    attrs: tuple[Any, ...]
    number: int = 0  # among the samples of the op

    def __str__(self) -> str:
        types = ", ".join(str(TensorType((x.shape, x.dtype))) for x in self.operands)
        return f"{self.op.name}({types}; {self.attrs})"

    @property
    def active(self) -> list[int]:
        """The operands that a gradient flows to."""
        if self.op.kind not in DIFFERENTIABLE:
            return []
        rules = self.op.rules
        return [
            i for i, x in enumerate(self.operands)
            if dtypes.is_inexact(x.dtype) and (not rules or rules[self.op.position(i)] is not None)
        ]  # fmt: skip

    def run(self, operands: Any = None) -> tuple[Array, ...]:
        return tuple(_array(t) for t in _call(self, tuple(map(fresh, operands or self.operands))))

    def with_operands(self, operands: Any) -> Case:
        operands = tuple(operands)
        if self.op in _OF_PROGRAMS and operands[-1].dtype != self.operands[-1].dtype:  # a program is for one dtype
            return Case(self.op, operands, _OF_PROGRAMS[self.op](operands[-1].dtype)[self.number][1], self.number)
        return Case(self.op, operands, self.attrs, self.number)


def _call(case: Case, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    if case.op in _RUN:
        return _RUN[case.op](tensors, case.attrs[0])
    result = apply(case.op, tensors, case.attrs)
    return result if case.op.is_multi else (result,)


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor._data)


# -- samples ---------------------------------------------------------------------------------------


def rng_for(op: Op, salt: int = 0) -> np.random.Generator:
    return np.random.default_rng((zlib.crc32(op.name.encode()), salt))


def cases(op: Op, dtype: Any = np.float64, salt: int = 0) -> list[Case]:
    """The op's samples with floats in a dtype (complex ones get imaginary parts)."""
    rng = rng_for(op, salt)
    samples = _OF_PROGRAMS[op](dtype) if op in _OF_PROGRAMS else op.facts.samples or _default_samples(op)
    return [
        Case(op, tuple(_draw(op, spec, i, rng, np.dtype(dtype)) for i, spec in enumerate(specs)), tuple(attrs), number)
        for number, (specs, attrs) in enumerate(samples)
    ]


def _default_samples(op: Op) -> list[Any]:
    if op.attrs or op.is_variadic:
        raise AssertionError(f"{op.name} needs samples")
    return [((shape,) * len(op.operands), ()) for shape in ((3, 2), ())]


def _program_samples(dtype: Any) -> list[Any]:
    """A program with two results, one of which is used in the other, and an operand that neither needs."""
    graph = Graph()
    with graph.as_default():
        x, y, _ = (graph.add_input((3, 2), np.dtype(dtype)) for _ in range(3))
        product = mul(x, y)
        graph.finish([product, reduce_sum(mul(product, x), axes=(0,))])
    return [(((3, 2),) * 3, (Program(graph),))]


def _body(dtype: Any, change: Any) -> Program:
    """A program from two (3, 2) arrays to two."""
    graph = Graph()
    with graph.as_default():
        x, y = (graph.add_input((3, 2), np.dtype(dtype)) for _ in range(2))
        graph.finish([*change(x, y)])
    return Program(graph)


def _switch_samples(dtype: Any) -> list[Any]:
    """Two branches, of which one does not use its second operand."""
    programs = (_body(dtype, lambda x, y: (mul(x, y), mul(x, x))), _body(dtype, lambda x, y: (x, mul(x, mul(x, x)))))
    return [((np.int64(i), (3, 2), (3, 2)), (Branches(programs, 2),)) for i in (0, 1, 5)]


def _loop_samples(dtype: Any) -> list[Any]:
    """A carry, slices of an array that is consumed, stacked results; kept as each policy says."""
    body = _body(dtype, lambda x, y: (mul(x, y), mul(mul(x, x), y)))
    return [
        ((np.int64(4), (3, 2), (4, 3, 2)), (Loop(None, body, carries=1, xs=1, is_reversed=flag, policy=policy),))
        for flag, policy in ((False, "all"), (True, "auto"), (False, 2), (False, "sqrt"))
    ]


_RUN: dict[Op, Any] = {
    call: lambda tensors, program: call_program(program, tensors),
    switch: lambda tensors, branches: switch_branches(tensors[0], tensors[1:], branches),
    loop: run_loop,
}
_OF_PROGRAMS: dict[Op, Any] = {call: _program_samples, switch: _switch_samples, loop: _loop_samples}


def _draw(op: Op, spec: Any, index: int, rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
    if isinstance(spec, tuple):
        array = _draw_shape(op, spec, index, rng, dtype)
    else:
        array = np.asarray(spec(rng) if callable(spec) else spec)
        if dtype.kind == "c" and array.dtype.kind == "f":
            array = array + 1j * _imaginary(array, rng)
    return np.asarray(array.astype(dtype)) if dtypes.is_inexact(array.dtype) and _admits(op, dtype) else array


def _draw_shape(op: Op, shape: Any, index: int, rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
    if op.facts.dtypes.startswith("integer"):
        return np.asarray(rng.integers(0, 5, shape))
    if op.facts.dtypes == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    domain = op.facts.domain
    low, high = domain[min(index, len(domain) - 1)] if isinstance(domain[0], tuple) else domain
    array = np.asarray(rng.uniform(low, high, shape))
    return array + 0.3j * rng.normal(size=shape) if dtype.kind == "c" or op.facts.dtypes == "complex" else array


def _imaginary(array: Array, rng: np.random.Generator) -> Array:
    """Small imaginary parts: zeros stay zeros, a symmetric matrix becomes a Hermitian one."""
    part = 0.2 * rng.normal(size=array.shape)
    if array.ndim > 1 and array.shape[-1] == array.shape[-2]:
        return (part - part.swapaxes(-1, -2)) / 2
    return part * (array != 0)


def _admits(op: Op, dtype: np.dtype[Any]) -> bool:
    return op.facts.dtypes in (_HOLD_COMPLEX if dtype.kind == "c" else _HOLD_FLOATS)


def exact_dtypes(op: Op) -> list[Any]:
    """The dtypes in which derivatives are checked to 1e-12."""
    if op.facts.dtypes == "complex":
        return [np.complex128]
    return [d for d in (np.float64, np.complex128) if _admits(op, np.dtype(d))] or [np.float64]


def low_dtypes(op: Op) -> list[Any]:
    wide = (np.dtype(np.float32), np.dtype(np.complex64), *HALVES)
    found = [d for d in wide if _admits(op, d)]
    return [d for d in found if not (op.name in NO_HALF and d in HALVES)]


# Linear algebra in half precision has no meaning for these; conversion changes the dtype on purpose.
NO_HALF = {"convert", "as_complex", "eigh", "svd", "qr", "cofactor", "lu", "pinv", "eig"}


def directions(case: Case, rng: np.random.Generator) -> dict[int, Array]:
    return {i: _random_like(case.operands[i], rng) for i in case.active}


def _random_like(x: Array, rng: np.random.Generator) -> Array:
    v = rng.normal(size=x.shape)
    return np.asarray(v + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


# -- derivatives -----------------------------------------------------------------------------------


def _filled(cotangent: Any, like: Array) -> Array:
    return np.zeros_like(like) if cotangent is None or cotangent is ZERO else _array(cotangent)


def pushed(case: Case, dots: dict[int, Array]) -> list[Array | None]:
    """The tangents of the results (None for integer results)."""
    tensors = tuple(map(fresh, case.operands))
    tangents = Tangents()
    for i, dot in dots.items():
        tangents.set(tensors[i], fresh(dot))
    with recording(tangents):
        outs = _call(case, tensors)
    return [_filled(tangents.of(o), _array(o)) if dtypes.is_inexact(o.dtype) else None for o in outs]


def _pull(case: Case, tensors: tuple[Tensor, ...], cts: list[Tensor | None]) -> list[Any]:
    """Cotangents of the active operands, as tensors, ZERO or None; recorded by whatever is open outside."""
    tape = Tape(tensors[i]._key for i in case.active)
    with recording(tape):
        outs = _call(case, tensors)
    seeds = [(o._key, ct) for o, ct in zip(outs, cts, strict=True) if ct is not None]
    return sweep(tape.entries, seeds, [tensors[i]._key for i in case.active])


def pulled(case: Case, cts: list[Array | None]) -> list[Array]:
    """The cotangents of the active operands."""
    tensors = tuple(map(fresh, case.operands))
    results = _pull(case, tensors, [None if ct is None else fresh(ct) for ct in cts])
    return [_filled(r, case.operands[i]) for r, i in zip(results, case.active, strict=True)]


def is_exact(case: Case) -> bool:
    """Whether no value is narrower than float64, so that differences mean something."""
    return all(
        dtypes.real_of(x.dtype) == np.float64 for x in (*case.operands, *case.run()) if dtypes.is_inexact(x.dtype)
    )


def cotangents(case: Case, rng: np.random.Generator) -> list[Array | None]:
    return [_random_like(out, rng) if dtypes.is_inexact(out.dtype) else None for out in case.run()]


def inner(xs: Any, ys: Any) -> float:
    """Re<x, y> summed over the pairs."""
    return float(sum(
        np.sum((np.conj(x) * y).real) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None
    ))  # fmt: skip


def _size(xs: Any) -> float:
    return float(np.sqrt(sum(np.sum(np.abs(x) ** 2) for x in xs if x is not None)))


def check_adjoint(case: Case) -> None:
    """<u, J v> = <J^T u, v>."""
    rng = rng_for(case.op, 1)
    dots, cts = directions(case, rng), cotangents(case, rng)
    forward, backward = pushed(case, dots), pulled(case, cts)
    left, right = inner(cts, forward), inner(backward, dots.values())
    scale = _size(cts) * _size(forward) + _size(backward) * _size(dots.values())
    tolerance = 1e-12 if is_exact(case) else 1e-6
    assert abs(left - right) <= tolerance * max(scale, 1e-300), f"{case}: <u, Jv> = {left}, <J^T u, v> = {right}"


def check_tangent(case: Case) -> None:
    """The forward derivative against central differences of fourth order."""
    if not is_exact(case):
        return
    dots = _admissible(case, directions(case, rng_for(case.op, 2)))
    expected = _difference(lambda step: case.run(_moved(case, dots, step)))
    for got, want in zip(pushed(case, dots), expected, strict=True):
        if got is not None:
            _require_close(got, want, 1e-7, f"{case}: forward derivative")


def check_second_order(case: Case) -> None:
    """Forward and reverse derivatives of the gradient, also with respect to the cotangent."""
    if not is_exact(case):
        return
    rng = rng_for(case.op, 3)
    cts = cotangents(case, rng)
    dots = _admissible(case, directions(case, rng))
    ct_dots = [None if ct is None else _random_like(ct, rng) for ct in cts]
    probes = [_random_like(case.operands[i], rng) for i in case.active]

    def gradient(step: float) -> list[Array]:
        moved = [None if c is None else c + step * d for c, d in zip(cts, ct_dots, strict=True)]
        return pulled(case.with_operands(_moved(case, dots, step)), moved)

    expected = _difference(gradient)
    for got, want in zip(_forward_over_reverse(case, cts, dots, ct_dots), expected, strict=True):
        _require_close(got, want, 2e-7, f"{case}: forward over reverse")
    to_operands, to_cts = _reverse_over_reverse(case, cts, probes)
    got = inner(to_operands, dots.values()) + inner(to_cts, ct_dots)
    scale = 1 + _size(probes) * _size(expected)
    assert abs(got - inner(probes, expected)) <= 2e-7 * scale, f"{case}: reverse over reverse"


def check_constant(case: Case) -> None:
    """An op of kind zero does not change near its samples."""
    rng = rng_for(case.op, 9)
    dots = {i: _random_like(x, rng) for i, x in enumerate(case.operands) if dtypes.is_inexact(x.dtype)}
    for out in _difference(lambda step: case.run(_moved(case, dots, step))) if dots and is_exact(case) else ():
        if dtypes.is_inexact(out.dtype):
            _require_close(out, np.zeros_like(out), 1e-9, f"{case}: difference of an op of kind zero")


def _forward_over_reverse(case: Case, cts: Any, dots: dict[int, Array], ct_dots: Any) -> list[Array]:
    tensors, seeds = tuple(map(fresh, case.operands)), [None if c is None else fresh(c) for c in cts]
    tangents = Tangents()
    for i, dot in dots.items():
        tangents.set(tensors[i], fresh(dot))
    for seed, dot in zip(seeds, ct_dots, strict=True):
        if seed is not None:
            tangents.set(seed, fresh(dot))
    with recording(tangents):
        grads = _pull(case, tensors, seeds)
    found = [tangents.of(g) if isinstance(g, Tensor) else None for g in grads]
    return [_filled(f, case.operands[i]) for f, i in zip(found, case.active, strict=True)]


def _reverse_over_reverse(case: Case, cts: Any, probes: list[Array]) -> tuple[list[Array], list[Array | None]]:
    tensors, seeds = tuple(map(fresh, case.operands)), [None if c is None else fresh(c) for c in cts]
    sources = [tensors[i] for i in case.active]
    tape = Tape(t._key for t in (*sources, *(s for s in seeds if s is not None)))
    with recording(tape):
        grads = _pull(case, tensors, seeds)
    ends = [(g._key, fresh(p)) for g, p in zip(grads, probes, strict=True) if isinstance(g, Tensor)]
    wanted = [t._key for t in (*sources, *(s for s in seeds if s is not None))]
    found = sweep(tape.entries, ends, wanted)
    to_operands = [_filled(f, _array(t)) for f, t in zip(found, sources, strict=False)]
    rest = iter(found[len(sources) :])
    return to_operands, [None if c is None else _filled(next(rest), c) for c in cts]


def _admissible(case: Case, dots: dict[int, Array]) -> dict[int, Array]:
    return {i: _hermitian(d) for i, d in dots.items()} if case.op.name in SYMMETRIC else dots


def _moved(case: Case, dots: dict[int, Array], step: float) -> list[Array]:
    return [x + step * dots[i] if i in dots else x for i, x in enumerate(case.operands)]


def _difference(function: Callable[[float], Any], h: float = 3e-4) -> list[Array]:
    near, far = (zip(function(s), function(-s), strict=True) for s in (h, 2 * h))
    return [
        (8 * (a - b) - (c - d)) / (12 * h) if dtypes.is_inexact(a.dtype) else a
        for (a, b), (c, d) in zip(near, far, strict=True)
    ]  # fmt: skip


def _require_close(got: Array, want: Array, tolerance: float, what: str) -> None:
    assert got.shape == want.shape, f"{what} has shape {got.shape}, wanted {want.shape}"
    if not got.size:
        return
    error = np.max(np.abs(got - want))
    bound = tolerance * (1 + np.max(np.abs(want)))
    assert error <= bound, f"{what} is {got}, wanted {want}"


# -- types, graphs, batches ------------------------------------------------------------------------


def check_type(case: Case) -> None:
    """The type rule agrees with the computed arrays."""
    types = tuple(map(type_of, case.operands))
    expected = case.op.type_rule(*case.op.group(types), *case.attrs)
    for want, out in zip(expected if case.op.is_multi else (expected,), case.run(), strict=True):
        assert (tuple(want[0]), want[1]) == (out.shape, out.dtype), (
            f"{case}: {TensorType(want)} declared, {type_of(out)}"
        )


def traced(case: Case) -> Graph:
    graph = Graph()
    with graph.as_default():
        inputs = tuple(graph.add_input(x.shape, x.dtype) for x in case.operands)
        graph.finish(list(_call(case, inputs)))
    verify(graph)
    return graph


def check_graph(case: Case) -> None:
    """The eager result is the result of the replayed graph, to the bit."""
    again = replay(traced(case), [fresh(x) for x in case.operands])
    for x, y in zip(case.run(), again, strict=True):
        np.testing.assert_array_equal(x, _array(y))


def check_body(case: Case) -> None:
    """An op's body and NumPy's kernel, where it has one of its own, agree in types and numbers."""
    tensors = tuple(map(fresh, case.operands))
    assert case.op.body is not None
    with building(None), pausing():
        found = case.op.body(*tensors, *case.attrs)
    for got, want in zip(found if case.op.is_multi else (found,), case.run(), strict=True):
        assert type_of(_array(got)) == type_of(want), case
        bound = 1e-13 if is_exact(case) else PRECISION[want.dtype.name]
        _require_close(_array(got).astype(complex), want.astype(complex), bound, f"{case}: body")


def check_engines(op: Op) -> None:
    for engine in ENGINES.values():
        has, lacks = op.name in engine.kernels, bool(engine.unsupported.get(op.name))
        assert has != lacks, f"{engine.name}: wanted exactly one of a kernel or a reason for {op.name}"


def batch_flags(count: int) -> Iterator[tuple[bool, ...]]:
    """Every choice of batched operands but none (of many operands: each alone, and all)."""
    if count <= 3:
        yield from (f for f in itertools.product((False, True), repeat=count) if any(f))
        return
    yield from (tuple(i == j for j in range(count)) for i in range(count))
    yield (True,) * count


def check_batch(examples: list[Case]) -> None:
    """A batch of examples gives what each gives alone, whichever operands are batched."""
    first = examples[0]
    graph = traced(first)
    for flags in batch_flags(len(first.operands)):
        alone = [
            [e if f else x for x, e, f in zip(first.operands, example.operands, flags, strict=True)]
            for example in examples
        ]
        arguments = [
            np.stack([row[i] for row in alone]) if f else x
            for i, (x, f) in enumerate(zip(first.operands, flags, strict=True))
        ]
        together = batch(graph, list(map(fresh, arguments)), flags, len(examples))
        for k, out in enumerate(together):
            want = np.stack([first.run(row)[k] for row in alone])
            got = _array(out)
            assert got.dtype == want.dtype, f"{first}: batched {flags} gives {got.dtype}"
            if dtypes.is_inexact(want.dtype):
                _require_close(got, want, 1e-12, f"{first}: batched {flags}")
            else:
                np.testing.assert_array_equal(got, want, f"{first}: batched {flags}")


# -- dtypes and layouts ----------------------------------------------------------------------------


def check_low_precision(exact: Case, dtype: np.dtype[Any]) -> None:
    """Values and gradients stay in the operands' dtype and near those in float64."""
    case = exact.with_operands(x.astype(dtype) if dtypes.is_inexact(x.dtype) else x for x in exact.operands)
    exact = exact.with_operands(
        x.astype(y.dtype) if dtypes.is_inexact(x.dtype) else x
        for x, y in zip(case.operands, exact.operands, strict=True)
    )  # rounded once, so that the two differ by the arithmetic only
    check_type(case)
    bound = PRECISION[dtype.name]
    wide = exact.run()
    for got, want in zip(case.run(), wide, strict=True):
        if dtypes.is_inexact(got.dtype):
            _require_close(got.astype(want.dtype), want, bound, f"{case}: value")
    cts = [None if ct is None else ct.astype(out.dtype) for ct, out in
           zip(cotangents(exact, rng_for(case.op, 4)), case.run(), strict=True)]  # fmt: skip
    grads = pulled(case, cts)
    wanted = pulled(exact, [None if ct is None else ct.astype(w.dtype) for ct, w in zip(cts, wide, strict=True)])
    for i, got, want in zip(case.active, grads, wanted, strict=True):
        assert got.dtype == case.operands[i].dtype, f"{case}: gradient in {got.dtype}"
        if exact.op.facts.smooth:
            _require_close(got.astype(want.dtype), want, bound, f"{case}: gradient")


def check_layouts(case: Case) -> None:
    """Strided and read-only operands give the same results and are left as they were."""
    plain = case.run()
    strided = []
    for x in case.operands:
        wide = np.zeros((*x.shape, 2), x.dtype)
        wide[..., 0] = x
        view = wide[..., 0]
        view.flags.writeable = False
        strided.append(view)
    moved = case.with_operands(strided)
    for x, y in zip(plain, moved.run(), strict=True):
        assert type_of(x) == type_of(y), f"{case}: strided operands give {type_of(y)}"
        if dtypes.is_inexact(x.dtype):
            _require_close(y, x, 1e-14, f"{case}: strided")
        else:
            np.testing.assert_array_equal(x, y)
    if case.active:
        pulled(moved, cotangents(moved, rng_for(case.op, 5)))
    for x, y in zip(case.operands, strided, strict=True):
        np.testing.assert_array_equal(x, y, f"{case}: an operand was written to")


def preserves_shape(case: Case) -> bool:
    """Whether an op works element by element, so that it must take any shape."""
    return case.op is not call and (case.op.kind == "elementwise" or not case.op.facts.samples)


def check_empty(case: Case) -> None:
    """No elements in, none out, in values and gradients."""
    empty = case.with_operands(np.zeros((0, 3), x.dtype) for x in case.operands)
    check_type(empty)
    for out in empty.run():
        assert out.shape == (0, 3)
    if empty.active:
        for grad in pulled(empty, cotangents(empty, rng_for(case.op, 6))):
            assert grad.shape == (0, 3)


# -- gradients traced, batched and with unknown dimensions -----------------------------------------


def traced_gradient(case: Case, cts: list[Array | None], unknown: bool = False) -> tuple[Graph, list[Array]]:
    """The graph (operands, cotangents) -> gradients, and the arrays to call it with."""
    arrays = [*case.operands, *(ct for ct in cts if ct is not None)]
    graph = Graph()
    with graph.as_default():
        inputs = [graph.add_input(_unknown(x.shape) if unknown else x.shape, x.dtype) for x in arrays]
        count = len(case.operands)
        rest = iter(inputs[count:])
        seeds = [None if ct is None else next(rest) for ct in cts]
        grads = _pull(case, tuple(inputs[:count]), seeds)
        graph.finish([g for g in grads if isinstance(g, Tensor)])
    verify(graph)
    return graph, arrays


def _unknown(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Every extent but 0 and 1 unknown."""
    return tuple(Dim.free(f"n{i}") if extent > 1 else extent for i, extent in enumerate(shape))


def check_batched_gradient(examples: list[Case]) -> None:
    """The traced gradient, batched, gives the gradient of each example."""
    first = examples[0]
    draws = [cotangents(e, rng_for(e.op, 7 + i)) for i, e in enumerate(examples)]
    graph, _ = traced_gradient(first, draws[0])
    rows = [[*e.operands, *(ct for ct in cts if ct is not None)] for e, cts in zip(examples, draws, strict=True)]
    stacked = [fresh(np.stack(column)) for column in zip(*rows, strict=True)]
    together = batch(graph, stacked, (True,) * len(stacked), len(examples))
    alone = [replay(graph, list(map(fresh, row))) for row in rows]
    for k, out in enumerate(together):
        _require_close(_array(out), np.stack([_array(a[k]) for a in alone]), 1e-12, f"{first}: batched gradient {k}")


def check_unknown_dims(case: Case) -> None:
    """A gradient traced with unknown extents gives, replayed, what it gives eagerly."""
    cts = cotangents(case, rng_for(case.op, 8))
    graph, arrays = traced_gradient(case, cts, unknown=True)
    again = replay(graph, list(map(fresh, arrays)))
    tensors = tuple(map(fresh, case.operands))
    eager = _pull(case, tensors, [None if ct is None else fresh(ct) for ct in cts])
    wanted = [_array(g) for g in eager if isinstance(g, Tensor)]
    for x, y in zip(wanted, again, strict=True):
        _require_close(_array(y), x, 1e-12, f"{case}: gradient with unknown extents")
