"""Checks random array programs, machine code against NumPy's kernels: `python tests/fuzz/arrays.py --count 1000`.

The package must be installed, or the repository be on PYTHONPATH. A program is lines of Python over arrays of several
dtypes and shapes, those of no and of one element included; it may hold loops, branches and `vmap`. Its values, its
gradient and the gradient of its gradient are compared. One that fails is printed, made as short as it can, with its
seed. What it found is among the samples of `tests/engines/native/test_samples.py`.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.support.native_checks import TOLERANCE, numpy_only, outcome, require_same, specials
from wengert._engines.native import engine, sizes

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 66, 130]
RARE = [0, 1, 70, 300]
MOST = 40_000  # elements of a value
LOOSE = {name: 1e3 * bound for name, bound in TOLERANCE.items()}  # rounding adds up through programs
SINGLE = dict.fromkeys(LOOSE, LOOSE["float32"])  # ... and that of float32 reaches float64

FLOATS = ["float64", "float64", "float64", "float32"]
OTHERS = ["int64", "int32", "int8", "uint8", "bool"]

SMOOTH = ["sin", "cos", "tanh", "exp(-wg.abs({}))", "log1p(wg.abs({}))", "sqrt(wg.abs({}) + 0.5)", "arctan", "square",
          "negative", "sigmoid", "expm1(-wg.abs({}))", "ops.softplus", "ops.erf", "reciprocal(1.5 + wg.abs({}))",
          "cosh(wg.tanh({}))", "arcsinh", "cbrt(wg.abs({}) + 0.5)", "ops.silu", "ops.gelu"]  # fmt: skip
KINKED = ["abs", "sign", "floor", "ceil", "round", "ops.relu", "trunc", "nan_to_num", "ops.elu", "ops.relu6"]
PAIRS = ["add", "subtract", "multiply", "maximum", "minimum", "hypot", "arctan2", "logaddexp", "copysign", "fmax"]
COMPARED = ["less", "greater_equal", "equal", "not_equal"]
WHOLE = ["add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder", "bitwise_and", "bitwise_xor"]
REDUCED = ["sum", "mean", "max", "min", "std", "var", "ops.logsumexp", "prod"]
ALONG = ["cumsum", "ops.softmax", "ops.log_softmax", "flip", "sort", "ops.cummax"]


class Variable(NamedTuple):
    """A value that a program has at hand."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"


class Program(NamedTuple):
    """Lines that assign, each a value or two, and what the values are at the point that the program was made at."""

    inputs: list[np.ndarray[Any, Any]]
    lines: list[str]
    results: list[str]

    def source(self) -> str:
        names = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        body = "\n    ".join(self.lines or ["pass"])
        return f"def f({names}):\n    {body}\n    return [{', '.join(self.results)}]\n"


class Maker:
    """Makes programs: each line is run as it is made, so that shapes are known and what NumPy refuses is left out."""

    def __init__(self, numbers: random.Random, length: int) -> None:
        self.r = numbers
        self.values: dict[str, Any] = {}
        self.lines: list[str] = []
        self.count = 0
        self.length = length
        self.is_special = False

    def program(self) -> Program:
        self.is_special = self.r.random() < 0.15
        extents = [self.extent() for _ in range(3)]
        inputs = [self.array(self.shape(extents)) for _ in range(self.r.randint(1, 3))]
        if not any(x.dtype.kind == "f" for x in inputs):
            inputs[0] = self.array(self.shape(extents), "float64")
        self.values = {f"x{i}": wg.asarray(x) for i, x in enumerate(inputs)}
        for _ in range(200):
            if len(self.lines) >= self.length:
                break
            self.attempt()
        made = [n for n in self.values if not n.startswith("x")] or ["x0"]
        results = [*dict.fromkeys([made[-1], *self.r.sample(made, min(2, len(made)))])]
        return Program(inputs, self.lines, results)

    def extent(self) -> int:
        return self.r.choice(RARE) if self.r.random() < 0.15 else self.r.choice(EXTENTS)

    def shape(self, extents: list[int]) -> tuple[int, ...]:
        shape = (*[self.r.choice([*extents, 1]) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3]))],)
        return shape if math.prod(shape) <= MOST else shape[:1]

    def array(self, shape: tuple[int, ...], dtype: str | None = None) -> np.ndarray[Any, Any]:
        dtype = dtype or self.r.choice(FLOATS if self.r.random() < 0.75 else OTHERS)
        rng = np.random.default_rng(self.r.randrange(2**32))
        if dtype == "bool":
            return rng.random(shape) < 0.5
        if np.dtype(dtype).kind == "f":
            found = np.asarray(rng.normal(size=shape), dtype)
            if self.is_special:
                found = np.where(rng.random(shape) < 0.2, rng.choice(_specials(dtype), shape), found)
            return np.asfortranarray(found) if self.r.random() < 0.1 else found
        return np.asarray(rng.integers(0 if dtype == "uint8" else -5, 9, shape), dtype)

    def attempt(self) -> None:
        try:
            line = self.r.choice(LINES)(self)
        except LookupError:
            return
        if not line:
            return
        names = [f"v{self.count + i}" for i in range(line.count("TARGET") or 1)]
        text = line if "TARGET" in line else f"TARGET = {line}"
        for name in names:
            text = text.replace("TARGET", name, 1)
        scope = {**self.values, "wg": wg, "np": np}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(text, scope)
        except (ArithmeticError, IndexError, TypeError, ValueError, LookupError):
            return
        made = {name: scope[name] for name in names}
        if any(not _is_fit(x, self.is_special) for x in made.values()):
            return
        self.count += len(names)
        self.values.update(made)
        self.lines.append(text)

    # what lines are made of

    def some(self, fits: Callable[[Variable], bool] = lambda v: True) -> Variable:
        """A value at hand, the newest ones rather; LookupError if none fits."""
        known = [Variable(n, tuple(x.shape), np.dtype(x.dtype)) for n, x in self.values.items()]
        known = [v for v in known if fits(v)]
        if not known:
            raise LookupError
        return self.r.choice(known[-4:] if self.r.random() < 0.6 else known)

    def maybe(self, fits: Callable[[Variable], bool]) -> Variable | None:
        try:
            return self.some(fits)
        except LookupError:
            return None

    def axis(self, v: Variable) -> int:
        return self.r.randrange(-len(v.shape), len(v.shape))


def _specials(dtype: str) -> np.ndarray[Any, Any]:
    """Without large numbers and small ones, where all rounding is large in the end."""
    found = specials(dtype)
    return found[~np.isfinite(found) | (found == 0) | ((np.abs(found) < 3) & (np.abs(found) > 0.1))]


def _is_fit(x: Any, is_special: bool) -> bool:
    if not isinstance(x, wg.Tensor) or x.size > MOST or np.dtype(x.dtype).kind == "c":
        return False
    data = x.numpy()
    return (
        is_special or data.dtype.kind != "f" or bool(np.all(np.abs(data) < 1e4))
    )  # no NaN here: they hide what comes behind


def _is_float(v: Variable) -> bool:
    return v.is_float


def _has_axes(v: Variable) -> bool:
    return v.is_float and len(v.shape) > 0


def smooth(m: Maker) -> str:
    v, name = m.some(_is_float), m.r.choice([*SMOOTH, *SMOOTH, *KINKED])
    return f"wg.{name.format(v.name)}" if "{" in name else f"wg.{name}({v.name})"


def pair(m: Maker) -> str:
    v, w = m.some(_is_float), m.some(_is_float)
    number = m.r.choice(["0.5", "2.0", "-1.25", "3"])
    return f"wg.{m.r.choice(PAIRS)}({v.name}, {w.name if m.r.random() < 0.8 else number})"


def quotient(m: Maker) -> str:
    v, w = m.some(_is_float), m.some(_is_float)
    return f"{v.name} / (2.0 + wg.{m.r.choice(['abs', 'cos', 'square'])}({w.name}))"


def power(m: Maker) -> str:
    v = m.some(_is_float)
    return m.r.choice(
        [
            f"{v.name} ** {m.r.choice(['2', '3', '0', '1'])}",
            f"(wg.abs({v.name}) + 0.5) ** {m.r.choice(['0.5', '-1.0', '-2', '1.7'])}",
        ]
    )


def whole(m: Maker) -> str:
    v, w = m.some(lambda v: v.dtype.kind in "iub"), m.some(lambda v: v.dtype.kind in "iub")
    return m.r.choice([
        f"wg.{m.r.choice(WHOLE)}({v.name}, {w.name})", f"wg.sum({v.name})", f"wg.astype({v.name}, 'float64') * 0.25",
        f"wg.{m.r.choice(['floor_divide', 'remainder'])}({v.name}, {m.r.choice([2, 3, -3])})", f"wg.cumsum({v.name})",
        f"wg.{m.r.choice(['max', 'min', 'any', 'all', 'count_nonzero'])}({v.name}, axis=-1)",
    ])  # fmt: skip


def chosen(m: Maker) -> str:
    u, v, w = m.some(_is_float), m.some(_is_float), m.some(_is_float)
    test = f"wg.{m.r.choice(COMPARED)}({u.name}, {m.r.choice(['0.0', '0.3', v.name])})"
    return m.r.choice(
        [
            f"wg.where({test}, {v.name}, {m.r.choice([w.name, '0.0'])})",
            f"wg.where({test}, wg.log(wg.abs({v.name}) + 1.0), {w.name})",
            test,
        ]
    )


def converted(m: Maker) -> str:
    v = m.some()
    if v.is_float and m.r.random() < 0.5:
        return f"wg.astype(wg.clip({v.name} * 3.0, 0.0, 9.0), '{m.r.choice(OTHERS)}')"
    return f"wg.astype({v.name}, '{m.r.choice(FLOATS)}')"


def reduced(m: Maker) -> str:
    v = m.some(_is_float)
    axes = [None, *range(len(v.shape))] + ([(0, -1), (0, 1)] if len(v.shape) > 1 else [])
    name = m.r.choice(REDUCED)
    subject = f"wg.tanh({v.name}) + 1.0" if name == "prod" else v.name
    return f"wg.{name}({subject}, axis={m.r.choice(axes)}, keepdims={m.r.random() < 0.4})"


def along(m: Maker) -> str:
    v = m.some(_has_axes)
    return f"wg.{m.r.choice(ALONG)}({v.name}, axis={m.axis(v)})"


def placed(m: Maker) -> str:
    v = m.some(_has_axes)
    return f"wg.{m.r.choice(['argmax', 'argmin', 'argsort'])}({v.name}, axis={m.axis(v)})"


def reshaped(m: Maker) -> str:
    v = m.some()
    if not v.shape:
        return f"wg.broadcast_to({v.name}, ({m.extent()},))"
    order = m.r.sample(range(len(v.shape)), len(v.shape))
    return m.r.choice([
        f"wg.reshape({v.name}, -1)", f"wg.transpose({v.name}, {tuple(order)})", f"wg.expand_dims({v.name}, {m.axis(v)})",
        f"wg.reshape({v.name}, {v.shape[::-1]})", f"wg.broadcast_to({v.name}, {(m.r.randint(1, 4), *v.shape)})",
        f"{v.name}[None]", f"wg.moveaxis({v.name}, 0, -1)", f"wg.reshape({v.name}, (1, -1))",
    ])  # fmt: skip


def sliced(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0)
    parts: list[str] = []
    for n in v.shape:
        start, stop = m.r.randint(-1, 2), m.r.choice(["", "-1", str(max(1, n // 2)), ""])
        parts.append(
            m.r.choice([":", f"{start}:{stop}", "::-1", "::2", f":{stop}", "-3:", f"{m.r.randint(0, max(0, n - 1))}"])
        )
    return f"{v.name}[{', '.join(parts[: m.r.randint(1, len(parts))])}]"


def padded(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0)
    widths = (*[(m.r.randint(0, 2), m.r.randint(0, 2)) for _ in v.shape],)
    mode = m.r.choice(["constant", "constant", "edge", "reflect", "wrap"])
    shift = m.r.choice([1, -2, 5])
    return m.r.choice(
        [
            f"wg.pad({v.name}, {widths}, '{mode}')",
            f"wg.roll({v.name}, {shift}, axis={m.axis(v)})",
            f"wg.tile({v.name}, 2)",
            f"wg.repeat({v.name}, 3, axis={m.axis(v)})",
        ]
    )


def joined(m: Maker) -> str:
    v = m.some(_has_axes)
    w = m.some(lambda w: w.shape == v.shape and w.is_float)
    return m.r.choice([
        f"wg.concatenate([{v.name}, {w.name}, wg.sin({v.name})], axis={m.axis(v)})", f"wg.stack([{v.name}, {w.name} * 2.0], axis={m.axis(v)})",
        f"wg.concatenate([{v.name}[1:], {w.name}[:1]])",
    ])  # fmt: skip


def gathered(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0 and v.shape[0] > 0)
    i = m.maybe(lambda v: v.dtype.kind in "iu")
    places = [m.r.randrange(-v.shape[0], v.shape[0]) for _ in range(m.r.choice([1, 3, 6]))]
    own = f"wg.remainder({i.name}, {v.shape[0]})" if i is not None and m.r.random() < 0.5 else f"np.array({places})"
    return m.r.choice([f"{v.name}[{own}]", f"wg.take({v.name}, {own}, axis=0)"])


def written(m: Maker) -> str:
    v = m.some(lambda v: v.is_float and len(v.shape) > 0 and v.shape[0] > 1)
    places = [m.r.randrange(-v.shape[0], v.shape[0]) for _ in range(m.r.choice([1, 3, 6]))]
    where = m.r.choice(["0", "-1", "1:", "::2", f"np.array({places})"])
    source = m.r.choice([f"{v.name}[{where}] * 0.5", "0.25", f"wg.sin({v.name}[{where}])"])
    return f"{v.name}.at[{where}].{m.r.choice(['set', 'add', 'multiply', 'max'])}({source})"


def product(m: Maker) -> str:
    v = m.some(lambda v: v.is_float and len(v.shape) == 2)
    return m.r.choice([
        f"wg.matmul({v.name}, wg.transpose({v.name})) * 0.1", f"wg.matmul({v.name}, wg.sum({v.name}, axis=0)) * 0.1",
        f"wg.einsum('ij,ij->j', {v.name}, wg.cos({v.name}))", f"wg.einsum('ij,kj,j->ik', {v.name}, {v.name}, wg.mean({v.name}, axis=0)) * 0.1",
        f"wg.outer({v.name}[0], wg.sum({v.name}, axis=1)) * 0.1", f"wg.tril({v.name})", f"wg.diagonal({v.name})",
    ])  # fmt: skip


# -- regions ----------------------------------------------------------------------------------------------------------

INNER = ["wg.sin(c) + 0.5 * {x}", "0.5 * c + wg.tanh({x})", "wg.tanh(c * {x})", "c * 0.9 + wg.mean({x}) * 0.1",
         "wg.where(c > {x}, c * 0.5, {x})", "wg.cos(c) * wg.tanh(wg.sum({x}))", "wg.maximum(c * 0.7, {x})",
         "c / (1.0 + wg.square({x}))", "c - 0.1 * wg.roll(c, 1)", "wg.cumsum(c * 0.1, axis=-1)", "wg.sort(c) + 0.0 * {x}"]  # fmt: skip
WRITES = [
    "c.at[0].set(wg.sum({x}) * 0.1)",
    "c.at[i % c.shape[0]].add(wg.tanh(wg.sum({x})))",
    "c.at[-1].set(c[0] * 0.5)",
]


def _step(m: Maker, v: Variable, x: str) -> str:
    """An expression of a loop variable `c` of v's shape, and of x."""
    bodies = INNER + (WRITES if v.shape and v.shape[0] else [])
    text = m.r.choice(bodies).replace("i % ", "0 % ").format(x=x)
    if m.r.random() < 0.3:
        text = f"wg.cond(wg.sum(c) > {m.r.choice(['0.0', '1.0'])}, lambda c: {text}, lambda c: {m.r.choice(INNER).format(x=x)}, c)"
    if m.r.random() < 0.3:
        text = f"wg.fori_loop(0, {m.r.choice([1, 2, 3])}, lambda j, c: {text}, c)"
    return f"wg.astype(wg.broadcast_to({text}, {v.shape}), '{v.dtype}')"


def loop(m: Maker) -> str:
    v, w = m.some(_is_float), m.maybe(_has_axes)
    if math.prod(v.shape) > 5000:
        return ""
    kinds = ["fori", "while", "cond", "switch"] + (["scan", "scan", "vmap", "map"] if w else [])
    kind = m.r.choice(kinds)
    turns, reverse = m.r.choice([0, 1, 2, 5, 20]), m.r.random() < 0.3
    if kind == "fori":
        return f"wg.fori_loop(0, {turns}, lambda i, c: {_step(m, v, m.some(_is_float).name)}, {v.name})"
    if kind == "while":
        body = _step(m, v, "(c + 0.1)")
        return f"_, TARGET = wg.while_loop(lambda i, c: (i < {turns}) & (wg.sum(wg.abs(c)) < 1e3), lambda i, c: (i + 1, {body}), (0, {v.name}))"
    if kind == "cond":
        return f"wg.cond(wg.sum({v.name}) > 0.0, lambda c: {_step(m, v, '(c * 0.5)')}, lambda c: {_step(m, v, 'c')}, {v.name})"
    if kind == "switch":
        branches = ", ".join(f"lambda c: {_step(m, v, '(c * 0.5)')}" for _ in range(3))
        return f"wg.switch(wg.astype(wg.remainder(wg.sum(wg.astype(wg.floor({v.name}), 'int64')), 3), 'int64'), [{branches}], {v.name})"
    assert w is not None
    if kind == "scan":
        given = m.r.choice(["c * 0.5", "wg.sum(c)", "x", "(c, wg.sin(x))"])
        if "(c, " in given:
            return f"TARGET, (_, TARGET) = wg.scan(lambda c, x: ({_step(m, v, 'x')}, {given}), {v.name}, {w.name}, reverse={reverse})"
        return f"TARGET, TARGET = wg.scan(lambda c, x: ({_step(m, v, 'x')}, {given}), {v.name}, {w.name}, reverse={reverse})"
    body = m.r.choice(
        [
            INNER[0],
            INNER[2],
            INNER[5],
            INNER[7],
            INNER[9],
            "wg.fori_loop(0, 3, lambda j, c: wg.sin(c) * 0.9, c)",
            "wg.grad(lambda c: wg.sum(wg.sin(c) * c))(c)",
            "wg.where(wg.sum(c) > 0.0, wg.max(c), wg.sum(c * c))",
        ]
    )
    return f"wg.{'vmap' if kind == 'vmap' else 'map'}(lambda c: {body.format(x='c')}{')(' if kind == 'vmap' else ', '}{w.name})"


LINES: list[Callable[[Maker], Any]] = [
    smooth, smooth, smooth, pair, pair, pair, quotient, power, whole, chosen, chosen, converted, reduced, reduced, reduced,
    along, placed, reshaped, reshaped, sliced, sliced, padded, joined, gathered, written, product, loop, loop,
]  # fmt: skip


# -- checking ---------------------------------------------------------------------------------------------------------


def function_of(program: Program) -> Callable[..., Any]:
    """The program as a Python function."""
    scope: dict[str, Any] = {"wg": wg, "np": np}
    exec(program.source(), scope)
    return scope["f"]


def variants(program: Program) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What is compared: values, a gradient with all that led to it, the gradient of that."""
    f = function_of(program)
    places = (*[i for i, x in enumerate(program.inputs) if x.dtype.kind == "f"],)
    yield "values", f

    def total(*xs: Any) -> Any:
        found = [wg.sum(y * _weights(y)) for y in f(*xs) if np.dtype(y.dtype).kind == "f"]
        return sum(found[1:], found[0]) if found else wg.sum(xs[places[0]]) * 0.0

    gradient = wg.value_and_grad(total, places)
    yield "gradient", gradient

    def squares(*xs: Any) -> Any:
        slopes = gradient(*xs)[1]
        return sum(
            [wg.sum(wg.sin(g) * _weights(g)) for g in slopes[1:]], wg.sum(wg.sin(slopes[0]) * _weights(slopes[0]))
        )

    yield "second gradient", wg.grad(squares, places)


def _weights(y: Any) -> Any:
    return np.cos(np.arange(math.prod(y.shape), dtype=y.dtype) * 0.7 + 0.3).reshape(y.shape)


def check(program: Program) -> None:
    """Raises AssertionError where machine code and NumPy's kernels differ."""
    is_single = "float32" in program.source() or any(x.dtype == np.float32 for x in program.inputs)
    for name, f in variants(program):
        native, copies = wg.function(f), [x.copy(order="K") for x in program.inputs]
        found, again = (_outcome(native, program.inputs) for _ in range(2))
        with numpy_only():
            wanted = _outcome(wg.function(_other(f)), copies)
        require_same(again, found, f"{name}, second call")
        for x, y in zip(program.inputs, copies, strict=True):
            assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), f"{name}: an input was written to"
        require_same(_beside_one(found), _beside_one(wanted), name, SINGLE if is_single else LOOSE)


def _other(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: f(*xs)


def _outcome(f: Callable[..., Any], inputs: list[Any]) -> Any:
    try:
        return outcome(lambda: _leaves(f(*inputs)))
    except (TypeError, LookupError) as error:  # what the trace refuses
        return type(error)


def _beside_one(found: Any) -> Any:
    """Results with a one beside them: what cancels to nothing is as large as rounding makes it."""
    if isinstance(found, type):
        return found
    return [np.concatenate([x.ravel(), np.ones(1, x.dtype)]) if x.dtype.kind == "f" else x for x in found]


@contextmanager
def sizes_told_at_run_time(least: int) -> Iterator[None]:
    """All graphs that can are compiled for sizes that their calls tell, those of extents beyond `least`."""

    class Others(OrderedDict[Any, Any]):
        def setdefault(self, key: Any, default: Any = None) -> Any:
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "_seen", Others())
        patch.setattr(sizes, "SPECIAL", least)
        yield


def _leaves(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in wg.tree.leaves(tree) if x is not None]


def failure_of(program: Program, least: int | None = None) -> BaseException | None:
    """What is wrong with a program; `least`: see `sizes_told_at_run_time`."""
    try:
        with warnings.catch_warnings(), nullcontext() if least is None else sizes_told_at_run_time(least):
            warnings.simplefilter("ignore")
            check(program)
    except Exception as error:
        return error
    return None


def shrunk(program: Program, failure: BaseException, least: int | None = None) -> Program:
    """The program with as few results and lines as still fail in this way."""
    kind, is_smaller = _kind(failure), True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(program):
            found = failure_of(candidate, least)
            if found is not None and _kind(found) == kind:
                program, is_smaller = candidate, True
                break
    return program


def _kind(error: BaseException) -> str:
    return type(error).__name__ + re.sub(r"[^a-z ]", "", str(error).split(":")[0])[:30]


def _smaller(program: Program) -> Iterator[Program]:
    names = [n for line in program.lines for n in re.findall(r"v\d+", line.split(" = ")[0])]
    if len(program.results) > 1:
        for result in program.results:
            yield program._replace(results=[result])
    else:
        for name in names[: names.index(program.results[0])] if program.results[0] in names else ():
            yield _trimmed(program._replace(results=[name]))
    trimmed = _trimmed(program)
    if len(trimmed.lines) < len(program.lines):
        yield trimmed
    for i in range(len(program.lines)):  # a line's value where it stands as an input of the program
        targets = re.findall(r"v\d+", program.lines[i].split(" = ")[0])
        if len(targets) == 1:
            cut = _as_input(program, i, targets[0])
            if cut is not None:
                yield cut


def _trimmed(program: Program) -> Program:
    """Without lines that no result needs."""
    needed, kept = {*program.results}, []
    for line in reversed(program.lines):
        left, right = line.split(" = ", 1)
        if needed & {*re.findall(r"v\d+", left)}:
            needed |= {*re.findall(r"v\d+", right)}
            kept.append(line)
    return program._replace(lines=kept[::-1])


def _as_input(program: Program, place: int, name: str) -> Program | None:
    head = program._replace(lines=program.lines[: place + 1], results=[name])
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(function_of(head)(*program.inputs)[0])
    except Exception:
        return None
    if value.dtype.kind == "c":
        return None
    new = f"x{len(program.inputs)}"
    lines = program.lines[:place] + program.lines[place + 1 :]
    lines = [re.sub(rf"\b{name}\b", new, line) for line in lines]
    results = [new + " + 0" if r == name else r for r in program.results]
    return _trimmed(program._replace(inputs=[*program.inputs, value], lines=lines, results=results))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the next ones follow")
    parser.add_argument("--length", type=int, default=10, help="lines of a program, at most")
    parser.add_argument("--keep-going", action="store_true", help="show all that fail instead of the first one")
    options = parser.parse_args()
    engine.VERIFIES = engine.IS_STRICT = True
    began, failures = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        numbers = random.Random(seed)
        program = Maker(numbers, numbers.randint(1, options.length)).program()
        least = numbers.choice([None, None, 8, 64])
        failure = failure_of(program, least)
        if failure is None:
            continue
        failures += 1
        small = shrunk(program, failure, least)
        told = failure_of(small, least) or failure
        print(f"# seed {seed}, {least=}: {type(told).__name__}: {str(told)[:600]}")
        print(
            "# inputs: " + ", ".join(f"{x.dtype}{list(x.shape)}" for x in small.inputs) + f"\n{small.source()}",
            flush=True,
        )
        if not options.keep_going:
            break
    print(f"# {options.count} programs, {failures} failed, {time.perf_counter() - began:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
