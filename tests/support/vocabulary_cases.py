"""Calls of the vocabulary's ops: many inputs and options of each, drawn from the op's name, so that they are the same everywhere.

Plain NumPy: `tests/spec/make_keras_values.py` runs the calls with Keras, `tests/ops/test_vocabulary.py` with ours.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Program:
    """A function argument, which is written for a namespace of ops."""

    build: Callable[[Any], Callable[..., Any]]


@dataclass(frozen=True)
class Case:
    """One call. `smooth`: whether differences make sense there; `seen`: what of the results is compared."""

    op: str
    number: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    seen: str = "value"  # or "abs", where signs and phases are free, or "shape"
    fixed: tuple[int, ...] = ()  # positions of floating arguments that are no sources of gradients
    sources: str = ""  # named arguments that are
    symmetric: bool = False  # one half of the argument is read

    @property
    def name(self) -> str:
        return f"{self.op}/{self.number}"


class Draw:
    """Random arrays of one case."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def n(self, *shape: int) -> Array:
        return self.rng.normal(size=shape)

    def p(self, *shape: int) -> Array:
        return self.rng.uniform(0.5, 1.8, shape)

    def u(self, *shape: int) -> Array:
        return self.rng.uniform(-0.9, 0.9, shape)

    def i(self, low: int, high: int, *shape: int) -> Array:
        return self.rng.integers(low, high, shape).astype(np.int32)

    def b(self, *shape: int) -> Array:
        return self.rng.random(shape) < 0.5

    def z(self, *shape: int) -> Array:
        return self.n(*shape) + 1j * self.n(*shape)

    def apart(self, *shape: int) -> Array:
        """Values well apart from each other, for what orders them."""
        size = int(np.prod(shape))
        return (self.rng.permutation(size) * 0.37 - 0.17 * size + self.rng.uniform(0, 0.1, size)).reshape(shape)

    def off(self, *shape: int) -> Array:
        """Values away from integers and halves, for what jumps there."""
        return self.rng.integers(-3, 4, shape) + self.rng.choice([0.2, 0.3, 0.7, 0.8], shape) + 0.001

    def spd(self, *shape: int) -> Array:
        a = self.n(*shape)
        return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])

    def sym(self, *shape: int) -> Array:
        a = self.n(*shape)
        return a + np.swapaxes(a, -1, -2) + np.diag(3.0 * np.arange(shape[-1]))

    def inv(self, *shape: int) -> Array:
        return self.n(*shape) + 3 * np.eye(shape[-1])

    def probs(self, *shape: int) -> Array:
        a = self.rng.uniform(0.2, 1.0, shape)
        return a / a.sum(-1, keepdims=True)

    def simplex(self, axis: int, *shape: int) -> Array:
        a = self.rng.uniform(0.2, 1.0, shape)
        return a / a.sum(axis, keepdims=True)


CASES: list[Case] = []
_COUNT: dict[str, int] = {}


def draw(op: str) -> Draw:
    return Draw(zlib.crc32(op.encode()) + 7919 * _COUNT.get(op, 0))


def add(
    op: str,
    make: Callable[[Draw], Any],
    *,
    smooth: bool = True,
    seen: str = "value",
    fixed: tuple[int, ...] = (),
    sources: str = "",
    symmetric: bool = False,
    **kwargs: Any,
) -> None:
    """One case: what make gives are the arguments; kwargs that are functions of draws are called, too."""
    d = draw(op)
    number = _COUNT.get(op, 0)
    args = make(d)
    named = {k: v(d) if callable(v) and not isinstance(v, Program) else v for k, v in kwargs.items()}
    CASES.append(
        Case(op, number, args if isinstance(args, tuple) else (args,), named, smooth, seen, fixed, sources, symmetric)
    )
    _COUNT[op] = number + 1


def each(op: str, makes: Any, options: Any = ({},), **more: Any) -> None:
    """The product of inputs and options."""
    for make, kwargs in itertools.product(makes if isinstance(makes, (list, tuple)) else [makes], options):
        add(op, make, **{**kwargs, **more})


def grid(**lists: Any) -> list[dict[str, Any]]:
    """All combinations of options."""
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def cast(make: Callable[[Draw], Any], dtype: Any) -> Callable[[Draw], Any]:
    return lambda d: np.asarray(make(d)).astype(dtype)


SHAPES = ((), (3,), (2, 3), (2, 1, 3), (0,), (2, 0, 3))

# The rest is a table: one case a line.
# fmt: off
# -- elementwise -----------------------------------------------------------------------------------------------------

_DOMAINS = {
    "n": "abs arcsinh arctan ceil cos cosh elu erf exp exp2 expm1 floor gelu hard_sigmoid hard_silu hard_tanh leaky_relu "
         "log_sigmoid negative relu relu6 selu sigmoid sign silu sin sinh soft_shrink hard_shrink softplus softsign "
         "sparse_plus sparsemax square squareplus tanh tanh_shrink celu trunc round nan_to_num "
         "conj imag real sparse_sigmoid i0 sinc cbrt angle deg2rad rad2deg positive fabs",
    "p": "log log10 log1p log2 rsqrt sqrt reciprocal",
    "u": "arccos arcsin arctanh erfinv tan",
}  # fmt: skip
_UNARY = [(name, domain) for domain, names in _DOMAINS.items() for name in names.split()]
_STEPS = {"ceil", "floor", "round", "trunc", "sign"}
for _name, _domain in [*_UNARY, ("arccosh", "large")]:
    def _make(shape: Any, _domain: str = _domain, _name: str = _name) -> Callable[[Draw], Any]:
        if _name in _STEPS:
            return lambda d: d.off(*shape)
        if _domain == "large":
            return lambda d: 1 + d.p(*shape)
        return lambda d: getattr(d, _domain)(*shape)

    for _shape in SHAPES:
        if _name in ("sparsemax",) and 0 in (_shape or (0,)):
            continue
        add(_name, _make(_shape))
    add(_name, cast(_make((2, 3)), np.float32))
    if _name not in ("erfinv", "imag", "real", "sparsemax", "conj"):
        add(_name, lambda d, _domain=_domain: d.i(1 if _domain in ("p", "large") else 0 if _domain == "u" else -2, 3 if _domain != "u" else 1, 4), smooth=False)
    if _domain == "n" and _name not in ("nan_to_num", "imag", "real", "conj"):
        add(_name, lambda d: 4 * d.n(3, 4))
    if _domain == "n" and _name not in ("exp", "exp2", "expm1", "sinh", "cosh", "square", "i0"):
        add(_name, lambda d: np.array([-60.2, -25.4, 30.25, 700.125]), smooth=_name not in ("round",))
for _name in ["abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "negative", "reciprocal", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "conj", "real", "imag", "angle"]:
    if _name not in ("sign", "expm1", "log1p", "log2", "log10"):
        add(_name, lambda d: 0.4 * d.z(2, 3) + 0.3)
each("elu", lambda d: d.n(3, 2), grid(alpha=[0.5, 2.0]))
each("celu", lambda d: d.n(3, 2), grid(alpha=[0.5, 2.0]))
each("gelu", lambda d: 2 * d.n(3, 2), grid(approximate=[True, False]))
each("leaky_relu", lambda d: d.n(3, 2), grid(negative_slope=[0.0, 0.1, 1.5]))
each("hard_shrink", lambda d: d.n(3, 2), grid(threshold=[0.1, 1.0]))
each("soft_shrink", lambda d: d.n(3, 2), grid(threshold=[0.1, 1.0]))
each("threshold", lambda d: d.n(3, 2), grid(threshold=[0.1, -0.3], default_value=[0.0, 5.0]))
add("threshold", lambda d: (d.n(2, 3), 0.5, -20))
each("squareplus", lambda d: d.n(3, 2), grid(b=[0.3, 9]))
each("round", lambda d: 10 * d.n(3, 2), grid(decimals=[0, 1, 2, -1]), smooth=False)
each("nan_to_num", lambda d: np.array([1.5, np.nan, np.inf, -np.inf, -2.0]), [{}, {"nan": 3.0}, {"posinf": 9.0, "neginf": -9.0}], smooth=False)
each("clip", lambda d: (2 * d.n(3, 4), -0.9, 1.1))
each("clip", lambda d: (2 * d.n(3, 4), d.u(4) - 1, d.u(3, 1) + 1.5))
each("clip", lambda d: (d.i(-5, 5, 6), -2, 2))
add("clip", lambda d: (2 * d.n(3, 4), np.float64(-1), np.float64(0.5)), fixed=(1, 2))
add("clip", lambda d: d.n(3), x_min=-0.1, x_max=0.1)

for _name in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "logaddexp", "arctan2", "hypot", "logaddexp2"]:
    for _a, _b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (3,)), ((2, 1, 3), (4, 1))]:
        add(_name, lambda d, _a=_a, _b=_b, _name=_name: (d.n(*_a), d.p(*_b) if _name == "divide" else d.n(*_b)))
    add(_name, lambda d: (d.n(3), 2.0), fixed=(1,))
    add(_name, lambda d: (1.5, d.n(3)), fixed=(0,))
    add(_name, lambda d: (d.n(3).astype(np.float32), d.n(3).astype(np.float32)))
    add(_name, lambda d: (d.i(1, 5, 4), d.i(1, 5, 4)), smooth=False)
    add(_name, lambda d: (d.i(1, 5, 4), d.n(4)))
    add(_name, lambda d: (d.n(3).astype(np.float32), 3), fixed=(1,))
for _name in ["add", "subtract", "multiply", "divide"]:
    add(_name, lambda d: (d.z(3), d.z(2, 3)))
    add(_name, lambda d: (d.n(3), d.z(2, 3)))
for _name in ("floor_divide", "mod", "fmod"):
    for _a, _b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,))]:
        add(_name, lambda d, _a=_a, _b=_b: (5 * d.n(*_a), d.p(*_b)))
    add(_name, lambda d: (5 * d.n(3), -d.p(3)))
    add(_name, lambda d: (d.i(-9, 9, 6), d.i(1, 5, 6)), smooth=False)
    add(_name, lambda d: (d.i(-9, 9, 6), -d.i(1, 5, 6)), smooth=False)
    add(_name, lambda d: (d.n(4), 0.7), fixed=(1,))
for _a, _b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), (1,))]:
    add("power", lambda d, _a=_a, _b=_b: (d.p(*_a), d.n(*_b)))
add("power", lambda d: (d.n(4), 3), fixed=(1,))
add("power", lambda d: (d.n(4), 2.0), fixed=(1,))
add("power", lambda d: (d.p(4), -0.5), fixed=(1,))
add("power", lambda d: (2, d.n(4)), fixed=(0,))
add("power", lambda d: (d.i(1, 4, 5), d.i(0, 4, 5)), smooth=False)
add("power", lambda d: (d.n(5), d.i(0, 4, 5)))
add("power", lambda d: (d.p(5).astype(np.float32), d.n(5).astype(np.float32)))
add("divide_no_nan", lambda d: (d.n(2, 3), d.p(3)))
add("divide_no_nan", lambda d: (d.n(4), np.array([1.0, 0.0, -2.0, 0.0])), smooth=False)
add("divide_no_nan", lambda d: (d.i(0, 4, 4), np.array([1, 0, 2, 0], np.int32)), smooth=False)
add("divide_no_nan", lambda d: (d.n(3), 0.0), smooth=False)
add("polar", lambda d: (d.p(2, 3), d.n(2, 3)))
add("polar", lambda d: (d.p(3), d.n(3)))
for _name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
    add(_name, lambda d: (d.i(0, 3, 3, 4), d.i(0, 3, 4)), smooth=False)
    add(_name, lambda d: (d.n(3), 0.0), smooth=False)
    add(_name, lambda d: (np.array([1.0, np.nan, np.inf]), np.array([1.0, np.nan, np.inf])), smooth=False)
    add(_name, lambda d: (d.i(0, 3, 3, 4), d.n(4)), smooth=False)
    add(_name, lambda d: (d.b(4), d.b(4)), smooth=False)
for _name in ["logical_and", "logical_or", "logical_xor"]:
    add(_name, lambda d: (d.b(3, 4), d.b(4)), smooth=False)
    add(_name, lambda d: (d.i(0, 2, 5), d.n(5)), smooth=False)
    add(_name, lambda d: (d.b(3), True), smooth=False)
each("logical_not", [lambda d: d.b(3), lambda d: d.i(0, 2, 4), lambda d: d.n(2)], smooth=False)
for _name in ["isfinite", "isinf", "isnan", "signbit"]:
    add(_name, lambda d: np.array([1.0, np.nan, np.inf, -np.inf, -0.0, -1.0]), smooth=False)
    add(_name, lambda d: d.i(-3, 3, 4), smooth=False)
each("isclose", lambda d: (np.array([1.0, 1.0001, np.nan, np.inf, np.inf]), np.array([1.0, 1.0, np.nan, np.inf, 1.0])),
     grid(rtol=[1e-5, 1e-3], atol=[1e-8, 1e-2], equal_nan=[False, True]), smooth=False)
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift"]:
    add(_name, lambda d: (d.i(0, 9, 3, 4), d.i(0, 5, 4)), smooth=False)
    add(_name, lambda d: (d.i(0, 9, 4), 2), smooth=False)
    if "shift" not in _name:
        add(_name, lambda d: (d.b(4), d.b(4)), smooth=False)
each("bitwise_not", [lambda d: d.i(-9, 9, 4), lambda d: d.b(4)], smooth=False)
each("bitwise_invert", [lambda d: d.i(-9, 9, 4), lambda d: d.b(4)], smooth=False)

# -- reductions ------------------------------------------------------------------------------------------------------

_AXES = [{}, *grid(axis=[0, 1, -1, (0, 2), (-1, 0), (0, 1, 2), None], keepdims=[False, True])]
for _name in ["sum", "mean", "max", "min", "prod", "std", "var", "logsumexp", "all", "any"]:
    _data = (lambda d: d.b(2, 3, 4)) if _name in ("all", "any") else (lambda d: d.apart(2, 3, 4) * 0.3 if True else None)
    each(_name, _data, _AXES, smooth=_name not in ("all", "any"))
    add(_name, (lambda d: d.b(3)) if _name in ("all", "any") else (lambda d: d.n(3).astype(np.float32)), smooth=_name not in ("all", "any"))
    if _name not in ("all", "any"):
        add(_name, lambda d: np.asarray(d.n()))
        add(_name, lambda d: d.i(-3, 5, 3, 4), smooth=False, axis=1)
        add(_name, lambda d: d.i(-3, 5, 3, 4), smooth=False)
        add(_name, lambda d: d.b(3, 4), smooth=False, axis=0) if _name in ("sum", "mean", "std", "var", "max", "min", "prod") else None
    if _name not in ("max", "min"):
        for _shape, _axis in (((0, 3), 0), ((0, 3), 1), ((2, 0), None)):  # NaN or infinity, where there is nothing
            add(_name, lambda d, _s=_shape: np.zeros(_s), axis=_axis, smooth=_name in ("sum", "prod"))
    else:
        add(_name, lambda d: np.zeros((0, 3)), axis=1)
        add(_name, lambda d: np.zeros((0, 3)), axis=0, initial=2.0)
        each(_name, lambda d: d.apart(3, 4), grid(initial=[0.3, -50.0, 50.0], axis=[None, 1], keepdims=[False, True]))
    if _name in ("sum", "mean", "prod", "std", "var"):
        add(_name, lambda d: d.z(2, 3), axis=1)
        add(_name, lambda d: d.z(2, 3))
each("prod", lambda d: np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.5]]), [{}, {"axis": 1}, {"axis": 0}, {"dtype": "float32"}])
each("count_nonzero", [lambda d: d.i(0, 2, 3, 4), lambda d: d.b(3, 4)], [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": -1}], smooth=False)
for _name in ("cumsum", "cumprod"):
    each(_name, lambda d: d.n(2, 3, 4), [{}, *grid(axis=[0, 1, -1])])
    add(_name, lambda d: d.i(1, 4, 2, 3), axis=1, smooth=False)
    add(_name, lambda d: d.i(1, 4, 2, 3), axis=1, dtype="float64", smooth=False)
    add(_name, lambda d: np.zeros((0,)))
    add(_name, lambda d: d.b(4), smooth=False)
add("cumprod", lambda d: np.array([[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]]), axis=1)
each("average", lambda d: d.n(2, 3), [{}, {"axis": 0}, {"axis": 1}, {"axis": -1}])
add("average", lambda d: d.n(2, 3), weights=lambda d: d.p(2, 3), sources="weights")
add("average", lambda d: d.n(2, 3), weights=lambda d: d.p(3), axis=1, sources="weights")
add("average", lambda d: d.n(2, 3), weights=lambda d: d.p(2), axis=0, sources="weights")
add("average", lambda d: d.n(2, 3, 2), weights=lambda d: d.p(2, 3, 2), axis=1, sources="weights")
add("average", lambda d: d.i(0, 5, 4), weights=lambda d: d.p(4), sources="weights")
add("average", lambda d: d.n(2, 3, 4), weights=lambda d: d.p(2, 4), axis=(0, 2), sources="weights")
each("median", [lambda d: d.apart(3, 4), lambda d: d.apart(5, 3)], [{}, *grid(axis=[0, 1, -1, (0, 1)], keepdims=[False, True])])
each("quantile", lambda d: d.apart(4, 5), grid(q=[0.3, 0.5, [0.1, 0.62, 0.9]], axis=[None, 0, -1, (0, 1)], method=["linear", "lower", "higher", "midpoint", "nearest"]))
each("quantile", lambda d: d.apart(4, 5), grid(q=[0.3, [0.1, 0.62]], axis=[None, 0, 1], keepdims=[True]))
each("quantile", lambda d: (d.apart(4, 5), np.array([0.15, 0.83])), grid(axis=[None, 1]))
each("moments", lambda d: d.n(2, 3, 4), [{"axes": a, "keepdims": k} for a in ([0], [1], [0, 1], [0, 1, 2], [-1], (0, 2)) for k in (False, True)])
add("moments", lambda d: d.n(2, 3).astype(np.float32), axes=[0])
for _name in ("argmax", "argmin"):
    each(_name, lambda d: d.apart(3, 4), [{}, *grid(axis=[0, 1, -1, None], keepdims=[False, True])], smooth=False)
    add(_name, lambda d: np.array([[1, 3, 3], [2, 2, 0]]), axis=1, smooth=False)
each("trace", lambda d: d.n(3, 4), [{}, {"offset": 1}, {"offset": -1}, {"axis1": 1, "axis2": 0}])
each("trace", lambda d: d.n(2, 3, 4), [{"axis1": 0, "axis2": 2}, {"axis1": -1, "axis2": -2, "offset": 1}, {"axis1": 1, "axis2": 2}])
each("norm", lambda d: d.n(4), [{}, *({"ord": o} for o in (1, 2, 3, 0.5, -1, np.inf, -np.inf)), {"ord": 2, "keepdims": True}, {"axis": 0}, {"axis": 0, "ord": 1.5}])
each("norm", lambda d: d.n(3, 4), [{}, *grid(ord=["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf], axis=[(0, 1), (1, 0), None, (-2, -1)], keepdims=[False, True])])
each("norm", lambda d: d.n(2, 3, 4), [{"axis": (1, 2)}, {"axis": 1}, {"axis": -1, "ord": 3}, {"axis": (0, 2), "ord": "fro"}, {"axis": (0, 2), "ord": 1}, {}])
each("norm", lambda d: d.z(3, 4), [{}, {"axis": 1}, {"axis": 0, "ord": 1}])
each("norm", lambda d: d.i(-3, 4, 3, 4), [{}, {"axis": 1}], smooth=False)
each("normalize", lambda d: d.n(3, 4), [{}, *grid(axis=[0, -1], order=[1, 2, 3], epsilon=[None, 1e-3])])
add("normalize", lambda d: d.n(3, 4, 2), axis=1)
add("normalize", lambda d: 0.001 * d.n(3, 4), epsilon=0.1)
add("normalize", lambda d: d.n(3, 4), order=np.inf)

# -- shapes ----------------------------------------------------------------------------------------------------------

each("append", lambda d: (d.n(2, 3), d.n(2, 3)), [{}, {"axis": 0}, {"axis": 1}, {"axis": -1}])
add("append", lambda d: (d.n(2, 3), d.n(4)))
each("broadcast_to", lambda d: d.n(2, 1), grid(shape=[(2, 3), (4, 2, 3), [2, 1]]))
add("broadcast_to", lambda d: np.asarray(d.n()), shape=(2, 2))
add("broadcast_to", lambda d: d.n(1), shape=(0,))
for _axis in (0, 1, -1, -2):
    add("concatenate", lambda d: ([d.n(2, 3), d.n(2, 3), d.n(2, 3)],), axis=_axis)
    add("stack", lambda d: ([d.n(2, 3), d.n(2, 3), d.n(2, 3)],), axis=_axis)
    add("unstack", lambda d: d.n(3, 2), axis=_axis)
add("concatenate", lambda d: ([d.n(2, 3), d.n(0, 3)],))
add("concatenate", lambda d: ((d.n(2, 3), d.i(0, 3, 1, 3)),), smooth=False)
add("stack", lambda d: ([d.n(3)],), axis=-1)
add("unstack", lambda d: d.n(2, 3), num=2)
each("diag", [lambda d: d.n(3), lambda d: d.n(3, 4)], grid(k=[0, 1, -1, 2, -2]))
each("diagflat", [lambda d: d.n(3), lambda d: d.n(2, 2)], grid(k=[0, 1, -1]))
each("diagonal", lambda d: d.n(3, 4), grid(offset=[0, 1, -2]))
each("diagonal", lambda d: d.n(2, 3, 4), [{}, {"axis1": 1, "axis2": 2}, {"axis1": -1, "axis2": 0, "offset": 1}])
each("diff", lambda d: d.n(3, 5), [{}, *grid(n=[0, 1, 2, 4], axis=[-1, 1]), {"axis": 0}, {"n": 2, "axis": 0}])
each("expand_dims", lambda d: d.n(2, 3), grid(axis=[0, 1, 2, -1, -3, (0, 2), (0, -1)]))
each("flip", lambda d: d.n(2, 3, 2), [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}])
each("hstack", [lambda d: ([d.n(3), d.n(2)],), lambda d: ([d.n(2, 3), d.n(2, 1)],), lambda d: ([np.asarray(d.n()), np.asarray(d.n())],)])
each("vstack", [lambda d: ([d.n(3), d.n(3)],), lambda d: ([d.n(2, 3), d.n(1, 3)],), lambda d: ([d.n(2, 3), d.n(3)],)])
each("meshgrid", [lambda d: (d.n(2), d.n(3)), lambda d: (d.n(2), d.n(3), d.n(4)), lambda d: (d.n(2),), lambda d: (d.n(2), np.asarray(d.n()))], grid(indexing=["xy", "ij"]))
each("moveaxis", lambda d: d.n(2, 3, 4), [{"source": 0, "destination": -1}, {"source": [0, 1], "destination": [-1, 0]}, {"source": -1, "destination": 1}])
for _mode in ("constant", "reflect", "symmetric"):
    each("pad", lambda d: d.n(3, 4), [{"pad_width": w, "mode": _mode} for w in (1, ((1, 2), (0, 1)), ((0, 0), (2, 2)), (1, 2))])
    add("pad", lambda d: d.n(5), pad_width=2, mode=_mode)
add("pad", lambda d: d.n(3, 2), pad_width=((1, 0), (0, 2)), constant_values=1.5)
add("pad", lambda d: d.i(0, 5, 3), pad_width=1, constant_values=7, smooth=False)
add("pad", lambda d: d.n(2, 3), pad_width=[[1, 1], [2, 0]])
each("ravel", [lambda d: d.n(2, 3), lambda d: np.asarray(d.n()), lambda d: d.n(0, 3)])
each("repeat", lambda d: d.n(2, 3), [{"repeats": 2}, {"repeats": 2, "axis": 0}, {"repeats": [1, 3], "axis": 0}, {"repeats": [0, 2, 1], "axis": -1}, {"repeats": np.array([1, 2]), "axis": 0}, {"repeats": 0}, {"repeats": [2], "axis": 1}])
each("reshape", lambda d: d.n(2, 3, 2), grid(newshape=[(12,), -1, (3, -1), (4, 3), [2, -1, 2], (1, 12, 1)]))
add("reshape", lambda d: d.n(0, 3), newshape=(3, 0))
each("roll", lambda d: d.n(3, 4), [{"shift": 2}, {"shift": -1, "axis": 0}, {"shift": 5, "axis": 1}, {"shift": (1, 2), "axis": (0, 1)}, {"shift": 1, "axis": -1}, {"shift": (1, 1), "axis": (0, 0)}])
each("rot90", lambda d: d.n(2, 3), grid(k=[0, 1, 2, 3, -1, 5]))
each("rot90", lambda d: d.n(2, 3, 4), grid(k=[1, 2], axes=[(0, 1), (1, 2), (2, 0), (-1, -2)]))
each("split", lambda d: d.n(6, 4), [{"indices_or_sections": s, "axis": a} for s, a in [(2, 0), (3, 0), (2, 1), ([1, 4], 0), ([2], -1), ((1, 2, 5), 0), ([0, 3], 0), ([3, 9], 0)]])
each("squeeze", lambda d: d.n(1, 3, 1), [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}])
each("swapaxes", lambda d: d.n(2, 3, 4), [{"axis1": 0, "axis2": 2}, {"axis1": -1, "axis2": 1}])
each("tile", lambda d: d.n(2, 3), grid(repeats=[2, (2, 1), (1, 2), (2, 1, 3), [3], 0, (0, 2)]))
each("transpose", lambda d: d.n(2, 3, 4), [{}, {"axes": (0, 2, 1)}, {"axes": (2, 0, 1)}, {"axes": [-1, 0, 1]}])
for _name in ("tril", "triu"):
    each(_name, [lambda d: d.n(3, 4), lambda d: d.n(2, 3, 3)], grid(k=[0, 1, -1, 5]))
each("extract_sequences", lambda d: d.n(2, 16), grid(sequence_length=[4, 5], sequence_stride=[1, 2, 4]))
add("extract_sequences", lambda d: d.n(16), sequence_length=6, sequence_stride=3)
for _p, _s, _l in [("b h w c -> b c h w", (2, 3, 4, 2), {}), ("b (h k) -> b h k", (2, 6), {"k": 2}), ("b h w -> (b h) w", (2, 3, 4), {}),
                   ("(b k) (h l) -> b h (k l)", (4, 6), {"k": 2, "l": 3}), ("a b c -> (c a) b", (2, 3, 4), {}), ("b h w c -> b (h w c)", (2, 2, 3, 1), {}),
                   ("b ... -> ... b", (2, 3, 4), {}), ("b (a c) d -> a b (c d)", (2, 6, 2), {"a": 3})]:
    add("rearrange", lambda d, _p=_p, _s=_s: (d.n(*_s), _p), **_l)
add("view", lambda d: (d.n(3).astype(np.float32), "int32"), smooth=False)

# -- creation --------------------------------------------------------------------------------------------------------

each("arange", [lambda d: (5,), lambda d: (1, 8, 2), lambda d: (0.5, 3.0, 0.5), lambda d: (5, 1, -1), lambda d: (2, 2)], [{}, {"dtype": "float32"}, {"dtype": "int32"}], smooth=False, fixed=(0, 1, 2))
each("eye", [lambda d: (3,), lambda d: (2, 4)], [{}, {"k": 1}, {"k": -1}, {"dtype": "int32"}], smooth=False)
each("identity", lambda d: (3,), [{}, {"dtype": "int32"}], smooth=False)
each("tri", [lambda d: (3,), lambda d: (2, 4)], [{}, {"k": 1}, {"k": -1, "dtype": "int32"}], smooth=False)
for _name in ("zeros", "ones"):
    each(_name, [lambda d: ((2, 3),), lambda d: ((),), lambda d: ((0, 2),)], [{}, {"dtype": "int32"}, {"dtype": "bool"}], smooth=False)
    each(f"{_name}_like", [lambda d: d.n(2, 3), lambda d: d.i(0, 3, 2)], [{}, {"dtype": "int32"}], smooth=False)
each("empty", lambda d: ((2, 3),), [{}, {"dtype": "int32"}], smooth=False, seen="shape")
each("full", [lambda d: ((2, 3), 2.5), lambda d: ((2,), 3)], [{}, {"dtype": "float64"}, {"dtype": "int32"}], smooth=False)
add("full", lambda d: ((2, 3), d.n(3)))
each("full_like", [lambda d: (d.n(2, 3), 2.5), lambda d: (d.i(0, 3, 2), 3)], [{}, {"dtype": "float64"}], smooth=False)
add("full_like", lambda d: (d.n(2, 3), d.n(3)), fixed=(0,))
for _name in ("linspace", "logspace"):
    each(_name, [lambda d: (np.asarray(d.n()), np.asarray(d.n())), lambda d: (d.n(3), d.n(3))], grid(num=[5, 1, 0], endpoint=[True, False]))
    each(_name, lambda d: (d.n(3), d.n(3)), grid(num=[4], axis=[0, -1, 1]))
    add(_name, lambda d: (0, 1), num=5)
    add(_name, lambda d: (0.0, 10.0, 4), dtype="int32", smooth=False)
each("linspace", lambda d: (np.asarray(d.n()), np.asarray(d.n())), grid(num=[5], retstep=[True], endpoint=[True, False]))
each("logspace", lambda d: (d.n(3), d.n(3)), grid(num=[4], base=[2.0, 3]))
each("one_hot", [lambda d: d.i(-1, 5, 4), lambda d: d.i(0, 3, 2, 3)], grid(num_classes=[3, 4], axis=[-1, 0, 1], dtype=[None, "int32"]), smooth=False)
each("multi_hot", [lambda d: d.i(0, 4, 2, 3), lambda d: d.i(0, 4, 3)], grid(num_classes=[4, 6]), smooth=False)
for _name in ("array", "convert_to_tensor"):
    each(_name, [lambda d: d.n(3), lambda d: ([1, 2],), lambda d: ([[1.0, 2.0]],), lambda d: 2.0])
    each(_name, [lambda d: d.n(3), lambda d: ([1, 2],), lambda d: 2.0], [{"dtype": "float32"}], smooth=False)
add("copy", lambda d: d.n(3))
each("cast", [lambda d: 3 * d.n(4), lambda d: d.i(-3, 3, 4), lambda d: d.b(4)], grid(dtype=["float32", "int32", "bool", "float64", "int8", "uint8"]), smooth=False)
each("saturate_cast", [lambda d: 300 * d.off(4), lambda d: d.i(-300, 300, 4)], grid(dtype=["int8", "uint8", "float16", "float32", "int32"]), smooth=False)
each("shape", lambda d: d.n(2, 3), smooth=False)
each("ndim", lambda d: d.n(2, 3), smooth=False)
each("size", lambda d: d.n(2, 3), smooth=False)
add("stop_gradient", lambda d: d.n(3), smooth=False)
add("convert_to_numpy", lambda d: d.n(3), smooth=False)

# -- sorting and indexing --------------------------------------------------------------------------------------------

each("sort", lambda d: d.apart(3, 4), [{}, {"axis": 0}, {"axis": 1}, {"axis": None}])
each("argsort", lambda d: d.apart(3, 4), [{}, {"axis": 0}, {"axis": 1}, {"axis": None}], smooth=False)
add("argsort", lambda d: np.array([3, 1, 3, 1, 2]), smooth=False)
each("top_k", lambda d: d.apart(3, 5), grid(k=[1, 3, 5]))
add("top_k", lambda d: d.i(0, 9, 6), k=2, smooth=False)
each("in_top_k", lambda d: (d.i(0, 5, 3), d.apart(3, 5)), grid(k=[1, 2, 4]), smooth=False)
each("searchsorted", [lambda d: (np.array([0.0, 1.0, 1.0, 2.5]), np.array([-1.0, 0.0, 1.0, 1.5, 9.0])), lambda d: (np.arange(5), d.i(-1, 7, 2, 3))], grid(side=["left", "right"]), smooth=False)
each("digitize", [lambda d: (d.n(2, 3), np.array([-0.5, 0.0, 0.5])), lambda d: (d.i(-3, 9, 5), np.array([0, 2, 4]))], smooth=False)
each("bincount", lambda d: d.i(0, 5, 8), [{}, {"minlength": 9}, {"weights": lambda d: d.n(8), "sources": "weights"}, {"weights": lambda d: d.n(8), "minlength": 7, "sources": "weights"}, {"weights": lambda d: d.i(0, 4, 8)}])
add("bincount", lambda d: d.i(0, 5, 2, 8), smooth=False)
add("bincount", lambda d: d.i(0, 5, 2, 8), weights=lambda d: d.n(2, 8), sources="weights")
each("histogram", lambda d: d.n(20), [{}, {"bins": 4}, {"bins": 5, "range": (-1.0, 1.0)}], smooth=False)
each("nonzero", [lambda d: d.i(0, 2, 3, 4), lambda d: d.b(5)], smooth=False)
each("where", [lambda d: (d.b(2, 3), d.n(2, 3), d.n(2, 3)), lambda d: (d.b(3), d.n(2, 3), d.n(2, 1)), lambda d: (d.b(2, 1), 1.0, d.n(3)), lambda d: (d.i(0, 2, 3), d.n(3), 0.0)])
add("where", lambda d: d.b(3, 4), smooth=False)
add("where", lambda d: (d.b(4), d.i(0, 3, 4), d.n(4)))
each("select", lambda d: ([d.b(3), d.b(3)], [d.n(3), d.n(3)]), [{}, {"default": 2.5}])
add("select", lambda d: ([d.b(3)], [d.n(2, 3)], d.n(3)))
each("take", lambda d: d.n(3, 4), [{"indices": i, "axis": a} for i in (1, -1, [0, 2, 0], np.array([[1, 0], [-1, 2]])) for a in (None, 0, 1, -1)])
each("take_along_axis", [lambda d: (d.n(3, 4), d.i(0, 3, 2, 4)), lambda d: (d.n(3, 4), d.i(-3, 3, 3, 4))], grid(axis=[0]))
each("take_along_axis", [lambda d: (d.n(3, 4), d.i(0, 4, 3, 2)), lambda d: (d.n(3, 4), d.i(0, 4, 1, 2))], grid(axis=[1, -1]))
add("take_along_axis", lambda d: (d.n(3, 4), d.i(0, 12, 5)))
for _key in [1, -1, slice(None, None, 2), slice(None, None, -1), (0, 1), (slice(1, 3), 2), (Ellipsis, 0), (None, 1), (slice(None), None, -1), np.array([0, 2, 0]),
             (np.array([0, 1]), np.array([2, 0])), (slice(None), np.array([[1, 0], [3, 3]])), (np.array([0, 1]), slice(1, 3)), (Ellipsis, None), (slice(-2, None), slice(3, 0, -1)),
             np.array([True, False, True]), (np.array([[0], [2]]), np.array([1, 3]))]:
    add("get_item", lambda d, _key=_key: (d.n(3, 4), _key))
for _key in [(np.array([0, 1]), slice(None), np.array([1, 2])), (0, slice(None), np.array([1, 2])), (slice(None), 1, Ellipsis), (Ellipsis, np.array([0, 1]), np.array([1, 1])), (np.array([1]), None, 0)]:
    add("get_item", lambda d, _key=_key: (d.n(2, 3, 4), _key))
add("scatter", lambda d: (d.i(0, 4, 5, 1), d.n(5)), shape=(4,))
add("scatter", lambda d: (d.i(0, 3, 5, 2), d.n(5)), shape=(3, 3))
add("scatter", lambda d: (d.i(0, 4, 5, 1), d.n(5, 2)), shape=(4, 2))
add("scatter", lambda d: (d.i(0, 3, 2, 2, 1), d.n(2, 2, 3)), shape=(3, 3))
for _r in (None, "add", "max", "min", "mul"):
    add("scatter_update", lambda d: (d.apart(4), np.array([[1], [3]]), d.n(2)), reduction=_r)
    add("scatter_update", lambda d: (d.n(4, 3), np.array([[1], [3]]), d.n(2, 3)), reduction=_r)
    add("scatter_update", lambda d: (d.n(3, 3), np.array([[0, 1], [2, 2]]), d.n(2)), reduction=_r)
    if _r is not None:
        add("scatter_update", lambda d: (d.n(4), np.array([[1], [3], [1]]), d.n(3)), reduction=_r)
for _name in ("segment_sum", "segment_max"):
    each(_name, lambda d: (d.apart(6), np.array([0, 0, 1, 1, 1, 2])), [{}, {"sorted": True}, {"num_segments": 3}])
    each(_name, lambda d: (d.apart(6, 2), np.array([2, 0, 1, 0, 1, 2])), [{}, {"num_segments": 3}])
add("segment_sum", lambda d: (d.n(4), np.array([0, 3, 3, 1])), num_segments=6)
add("segment_sum", lambda d: (d.n(4), np.array([0, -1, 5, 1])), num_segments=3)
add("slice", lambda d: (d.n(4, 5), [1, 2], [2, 3]))
add("slice", lambda d: (d.n(4, 5), np.array([1, 2]), (2, 3)))
add("slice", lambda d: (d.n(3), [1], [1]))
add("slice_update", lambda d: (d.n(4, 5), [1, 2], d.n(2, 3)))
add("slice_update", lambda d: (d.n(4, 5), np.array([0, 0]), d.n(4, 5)))
add("unravel_index", lambda d: (d.i(0, 12, 5), (3, 4)), smooth=False)
add("unravel_index", lambda d: (d.i(0, 12, 5), [2, 3, 2]), smooth=False)
each("argpartition", lambda d: d.apart(6), grid(kth=[2]), smooth=False, seen="shape")

# -- linear algebra --------------------------------------------------------------------------------------------------

for _a, _b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2))]:
    add("matmul", lambda d, _a=_a, _b=_b: (d.n(*_a), d.n(*_b)))
add("matmul", lambda d: (d.i(0, 4, 2, 3), d.i(0, 4, 3, 2)), smooth=False)
add("matmul", lambda d: (d.z(2, 3), d.z(3, 2)))
add("matmul", lambda d: (d.n(2, 3).astype(np.float32), d.n(3, 2).astype(np.float32)))
for _a, _b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (5, 3, 4)), ((), (3,)), ((2, 3), ()), ((3,), (4, 3, 2))]:
    add("dot", lambda d, _a=_a, _b=_b: (d.n(*_a), d.n(*_b)))
for _a, _b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (4, 3)), ((), (3,))]:
    add("inner", lambda d, _a=_a, _b=_b: (d.n(*_a), d.n(*_b)))
for _a, _b in [((3,), (2,)), ((2, 3), (4,)), ((), (3,))]:
    add("outer", lambda d, _a=_a, _b=_b: (d.n(*_a), d.n(*_b)))
each("vdot", [lambda d: (d.n(3), d.n(3)), lambda d: (d.n(2, 3), d.n(2, 3))])
add("vdot", lambda d: (d.z(3), d.z(3)))
each("tensordot", lambda d: (d.n(2, 3, 4), d.n(3, 4, 5)), [{}, {"axes": 2}, {"axes": ([1, 2], [0, 1])}, {"axes": ([1], [0])}, {"axes": 0}, {"axes": ([2], [1])}, {"axes": ((-1,), (1,))}])
add("tensordot", lambda d: (d.n(2, 3), d.n(4, 3)), axes=(1, 1))
each("cross", [lambda d: (d.n(3), d.n(3)), lambda d: (d.n(4, 3), d.n(3)), lambda d: (d.n(2, 4, 3), d.n(4, 3)), lambda d: (d.n(4, 2), d.n(4, 2)), lambda d: (d.n(4, 2), d.n(4, 3)), lambda d: (d.n(3), d.n(2))])
each("cross", lambda d: (d.n(3, 4), d.n(3, 4)), [{"axis": 0}, {"axisa": 0, "axisb": 0}, {"axisa": 0, "axisb": 0, "axisc": 0}])
add("cross", lambda d: (d.n(3, 4), d.n(4, 3)), axisa=0)
for _eq, _shapes in [("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("ij->", [(2, 3)]), ("ij->ji", [(2, 3)]), ("ji", [(2, 3)]),
                     ("i,j->ij", [(2,), (3,)]), ("i,i->", [(3,), (3,)]), ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]), ("...ij,jk->...ik", [(2, 5, 2, 3), (3, 4)]), ("b...,b->...", [(2, 3, 4), (2,)]),
                     ("...,...->...", [(2, 3), (3,)]), ("i...->...", [(3, 2)]), ("...ii->...i", [(2, 3, 3)]), ("ij,ij,ij->i", [(2, 3)] * 3), ("iij,jk->ik", [(2, 2, 3), (3, 4)]), ("iij->j", [(2, 2, 3)]),
                     ("abc,cd,de->abe", [(2, 3, 4), (4, 2), (2, 3)]), ("bhqd,bhkd->bhqk", [(2, 1, 3, 4), (2, 1, 2, 4)]), ("ij,kl->ijkl", [(2, 3), (2, 2)]), ("ab,b...->a...", [(2, 3), (3, 4, 2)]),
                     ("i j , j k -> i k", [(2, 3), (3, 2)]), ("...i,...i", [(2, 3), (2, 3)]), ("iji->j", [(2, 3, 2)]), ("ij,jj->i", [(2, 3), (3, 3)]), ("...a,...b->...ab", [(2, 3), (1, 4)]), ("i->", [(4,)]), (",ij->ij", [(), (2, 3)]),
                     ("Ab,bA->A", [(2, 3), (3, 2)]), ("ij,j->ij", [(2, 3), (3,)]), ("aabb->ab", [(2, 2, 3, 3)]), ("ij,ik,il->jkl", [(2, 2), (2, 3), (2, 2)]), ("...ij->...ji", [(2, 3, 4)])]:
    add("einsum", lambda d, _eq=_eq, _shapes=_shapes: (_eq, *[d.n(*s) for s in _shapes]))
add("einsum", lambda d: ("ij,jk->ik", d.z(2, 3), d.z(3, 2)))
add("einsum", lambda d: ("ij,jk->ik", d.i(0, 3, 2, 3), d.i(0, 3, 3, 2)), smooth=False)
each("cholesky", [lambda d: d.spd(3, 3), lambda d: d.spd(2, 3, 3), lambda d: d.spd(1, 1)], grid(upper=[False, True]), symmetric=True)
for _name in ("det", "inv", "slogdet"):
    each(_name, [lambda d: d.inv(3, 3), lambda d: d.inv(2, 3, 3), lambda d: d.inv(1, 1), lambda d: d.inv(4, 4).astype(np.float32)])
add("det", lambda d: -d.inv(3, 3))
add("slogdet", lambda d: -d.inv(3, 3))
each("logdet", [lambda d: d.spd(3, 3), lambda d: d.spd(2, 3, 3)], symmetric=True)
each("eigh", [lambda d: d.sym(3, 3), lambda d: d.sym(2, 3, 3)], seen="abs", symmetric=True)
each("eig", [lambda d: d.inv(3, 3) + np.diag([0.0, 4.0, 9.0])], seen="shape", smooth=False)
for _shape in [(4, 3), (3, 4), (3, 3), (2, 4, 3)]:
    each("svd", lambda d, _shape=_shape: d.n(*_shape), grid(full_matrices=[False], compute_uv=[True]), seen="abs")
    each("svd", lambda d, _shape=_shape: d.n(*_shape), grid(full_matrices=[True, False], compute_uv=[False]))
    each("qr", lambda d, _shape=_shape: d.n(*_shape), grid(mode=["reduced"]), seen="abs")
add("svd", lambda d: d.n(3, 3), seen="abs")
add("qr", lambda d: d.n(3, 3), mode="complete", seen="abs")
each("solve", [lambda d: (d.inv(3, 3), d.n(3, 2)), lambda d: (d.inv(3, 3), d.n(3)), lambda d: (d.inv(2, 3, 3), d.n(2, 3, 1)), lambda d: (d.inv(2, 3, 3), d.n(2, 3, 2))])
each("solve_triangular", [lambda d: (np.tril(d.inv(3, 3)), d.n(3, 2)), lambda d: (np.tril(d.inv(3, 3)), d.n(3)), lambda d: (np.tril(d.inv(2, 3, 3)), d.n(2, 3, 2))], grid(lower=[True]))
each("solve_triangular", [lambda d: (np.triu(d.inv(3, 3)), d.n(3, 2)), lambda d: (np.triu(d.inv(3, 3)), d.n(3))], grid(lower=[False]))
each("lstsq", [lambda d: (d.n(5, 3), d.n(5)), lambda d: (d.n(5, 3), d.n(5, 2)), lambda d: (d.n(3, 5), d.n(3)), lambda d: (d.n(3, 3), d.n(3, 1))])
each("lu_factor", [lambda d: d.inv(3, 3), lambda d: d.inv(2, 3, 3)])

# -- neural networks -------------------------------------------------------------------------------------------------

for _name in ("softmax", "log_softmax", "sparsemax"):
    each(_name, lambda d: 2 * d.n(3, 4), grid(axis=[-1, 0, 1, -2]))
    add(_name, lambda d: d.n(2, 3, 4), axis=1)
    if _name != "sparsemax":
        each(_name, lambda d: d.n(2, 3, 4), grid(axis=[(0, 1), (1, 2), None]))
        add(_name, lambda d: np.array([1e3, -1e3, 1e3 - 1]))
each("glu", [lambda d: d.n(4, 6), lambda d: d.n(2, 4, 2)], grid(axis=[-1, 1]))
for _logits in (False, True):
    def _out(d: Draw, *shape: int, _logits: bool = _logits) -> Any:
        return d.n(*shape) if _logits else d.rng.uniform(0.1, 0.9, shape)

    each("binary_crossentropy", [lambda d: (d.rng.uniform(0.1, 0.9, (3, 4)), _out(d, 3, 4)), lambda d: (d.i(0, 2, 5).astype(float), _out(d, 5))], grid(from_logits=[_logits]))
    add("binary_crossentropy", lambda d: (d.i(0, 2, 3, 2).astype(np.float32), _out(d, 3, 2).astype(np.float32)), from_logits=_logits)
    for _axis, _shape in [(-1, (3, 4)), (1, (3, 4)), (-1, (2, 3, 4)), (1, (2, 4, 3)), (0, (4, 3)), (-1, (4,))]:
        add("categorical_crossentropy", lambda d, _axis=_axis, _shape=_shape: (d.simplex(_axis, *_shape), _out(d, *_shape)), from_logits=_logits, axis=_axis)
    add("categorical_crossentropy", lambda d: (d.rng.uniform(0, 1, (3, 4)), _out(d, 3, 4)), from_logits=_logits)
    for _axis, _shape, _target in [(-1, (3, 4), (3,)), (-1, (2, 3, 4), (2, 3)), (1, (2, 4, 3), (2, 3)), (-1, (4,), ())]:
        add("sparse_categorical_crossentropy", lambda d, _shape=_shape, _target=_target: (d.i(0, 4, *_target), _out(d, *_shape)), from_logits=_logits, axis=_axis)
    add("sparse_categorical_crossentropy", lambda d: (d.i(0, 4, 3, 1), _out(d, 3, 4)), from_logits=_logits)
add("binary_crossentropy", lambda d: (np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])), smooth=False)
for _axis, _shape in [(-1, (2, 3, 4)), (1, (2, 4, 3)), (1, (2, 4, 3, 3)), (-1, (3, 4))]:
    add("batch_normalization", lambda d, _shape=_shape: (d.n(*_shape), d.n(4), d.p(4)), axis=_axis)
    add("batch_normalization", lambda d, _shape=_shape: (d.n(*_shape), d.n(4), d.p(4)), axis=_axis, offset=lambda d: d.n(4), scale=lambda d: d.n(4), epsilon=0.01, sources="offset scale")
    add("batch_normalization", lambda d, _shape=_shape: (d.n(*_shape), d.n(4), d.p(4)), axis=_axis, scale=lambda d: d.n(4), sources="scale")
each("rms_normalization", lambda d: d.n(3, 4), [{}, {"axis": 0}, {"axis": (0, 1)}, {"epsilon": 0.1}])
add("rms_normalization", lambda d: d.n(3, 4), scale=lambda d: d.n(4), sources="scale")
add("rms_normalization", lambda d: d.n(2, 3, 4), scale=lambda d: d.n(4), epsilon=1e-3, sources="scale")
each("layer_normalization", lambda d: d.n(3, 4), [{}, {"epsilon": 0.1}, {"gamma": lambda d: d.n(4), "beta": lambda d: d.n(4), "sources": "gamma beta"}])
_Q = [((2, 3, 4, 5), (2, 6, 4, 5)), ((1, 3, 4, 2), (1, 3, 4, 2))]
for _q, _k in _Q:
    def _qkv(d: Draw, _q: Any = _q, _k: Any = _k) -> Any:
        return d.n(*_q), d.n(*_k), d.n(*_k)

    each("dot_product_attention", _qkv, [{}, {"scale": 0.3}, {"is_causal": True}])
    add("dot_product_attention", _qkv, bias=lambda d, _q=_q, _k=_k: d.n(_q[0], _q[2], _q[1], _k[1]), sources="bias")
    add("dot_product_attention", _qkv, bias=lambda d, _q=_q, _k=_k: d.n(1, _q[2], _q[1], _k[1]), scale=1.0, sources="bias")
    add("dot_product_attention", _qkv, mask=lambda d, _q=_q, _k=_k: d.rng.random((_q[0], 1, _q[1], _k[1])) < 0.7)
    add("dot_product_attention", _qkv, mask=lambda d, _q=_q, _k=_k: d.rng.random((_q[0], _q[2], _q[1], _k[1])) < 0.7, is_causal=True)
    add("dot_product_attention", _qkv, attn_logits_soft_cap=2.0)
add("dot_product_attention", lambda d: (d.n(2, 3, 4, 5), d.n(2, 6, 2, 5), d.n(2, 6, 2, 5)))
add("dot_product_attention", lambda d: (d.n(2, 3, 4, 5), d.n(2, 6, 1, 5), d.n(2, 6, 1, 5)), is_causal=True)
add("dot_product_attention", lambda d: (d.n(2, 3, 2, 4), d.n(2, 5, 2, 4), d.n(2, 5, 2, 4)), mask=lambda d: np.ones((2, 1, 3, 5), bool))
for _lengths, _mask in [(([2, 3], [6, 6]), 0), (([1, 3], [5, 6]), 0), (([3, 2], [6, 4]), 0), (([2, 2], [6, 5]), 4)]:
    add("ctc_loss", lambda d, _lengths=_lengths, _mask=_mask: (d.i(1, 4, 2, 3), d.n(2, 6, 5), np.array(_lengths[0], np.int32), np.array(_lengths[1], np.int32)), mask_index=_mask)
add("ctc_loss", lambda d: (np.array([[1, 1, 2], [3, 3, 3]], np.int32), d.n(2, 8, 5), np.array([3, 3], np.int32), np.array([8, 8], np.int32)))
each("ctc_decode", lambda d: (8 * d.n(2, 6, 4), np.array([6, 4], np.int32)), grid(strategy=["greedy"], merge_repeated=[True, False], mask_index=[0, 3]), smooth=False)
each("psnr", lambda d: (d.n(2, 3), d.n(2, 3)), grid(max_val=[1.0, 255]))

# -- convolutions and pools ------------------------------------------------------------------------------------------

_LAST, _FIRST = "channels_last", "channels_first"


def layout(shape: tuple[int, ...], data_format: str) -> tuple[int, ...]:
    return shape if data_format == _LAST else (shape[0], shape[-1], *shape[1:-1])


for _spatial, _kernel in [((7,), (3,)), ((6, 5), (3, 2)), ((4, 5, 3), (2, 2, 2))]:
    for _format, _padding, (_stride, _dilation) in itertools.product([_LAST, _FIRST], ["valid", "same"], [(1, 1), (2, 1), (1, 2), (3, 1)]):
        if len(_spatial) == 3 and (_dilation == 2 or _stride == 3):
            continue
        _x = layout((2, *_spatial, 4), _format)
        for _groups in (1, 2):
            add("conv", lambda d, _x=_x, _kernel=_kernel, _groups=_groups: (d.n(*_x), d.n(*_kernel, 4 // _groups, 2)), strides=_stride, padding=_padding, data_format=_format, dilation_rate=_dilation)
        if len(_spatial) < 3:
            add("depthwise_conv", lambda d, _x=_x, _kernel=_kernel: (d.n(*_x), d.n(*_kernel, 4, 2)), strides=_stride, padding=_padding, data_format=_format, dilation_rate=_dilation)
            add("separable_conv", lambda d, _x=_x, _kernel=_kernel: (d.n(*_x), d.n(*_kernel, 4, 2), d.n(*[1] * len(_kernel), 8, 3)), strides=_stride, padding=_padding, data_format=_format, dilation_rate=_dilation)
        add("conv_transpose", lambda d, _x=_x, _kernel=_kernel: (d.n(*_x), d.n(*_kernel, 3, 4)), strides=_stride, padding=_padding, data_format=_format, dilation_rate=_dilation)
add("conv", lambda d: (d.n(1, 7, 6, 2), d.n(3, 3, 2, 2)), strides=(2, 1), padding="same")
add("conv", lambda d: (d.n(1, 7, 6, 2), d.n(3, 3, 2, 2)), dilation_rate=(2, 1))
add("conv", lambda d: (d.n(1, 7, 6, 2).astype(np.float32), d.n(3, 3, 2, 2).astype(np.float32)))
each("conv_transpose", lambda d: (d.n(1, 4, 3, 2), d.n(3, 2, 3, 2)), [{"strides": 2, "output_padding": 1}, {"strides": 2, "output_padding": 0, "padding": "same"}, {"strides": (2, 3), "padding": "same"}, {"strides": (2, 3), "output_padding": (1, 2), "padding": "same"}, {"strides": 2, "output_padding": 1, "padding": "same"}])
for _k, _s, _more, _padding in itertools.product((1, 2, 3, 4), (2, 3), (0, 1, 2), ("valid", "same")):
    if _more < _s and (_k > 1 or _padding == "valid"):
        add("conv_transpose", lambda d, _k=_k: (d.n(1, 4, 2), d.n(_k, 3, 2)), strides=_s, output_padding=_more, padding=_padding)
for _name in ("max_pool", "average_pool"):
    for _spatial, _pool in [((7,), 2), ((7,), 3), ((6, 5), (2, 2)), ((6, 5), (3, 2)), ((4, 4, 3), 2)]:
        for _format, _padding, _stride in itertools.product([_LAST, _FIRST], ["valid", "same"], [None, 1, 2, 3]):
            _x = layout((2, *_spatial, 3), _format)
            add(_name, lambda d, _x=_x: d.apart(*_x), pool_size=_pool, strides=_stride, padding=_padding, data_format=_format)
    add(_name, lambda d: d.apart(1, 6, 5, 2), pool_size=(3, 2), strides=(1, 2), padding="same")
each("correlate", [lambda d: (d.n(6), d.n(3)), lambda d: (d.n(3), d.n(6)), lambda d: (d.n(4), d.n(4)), lambda d: (d.n(5), d.n(2))], grid(mode=["valid", "same", "full"]))

# -- Fourier transforms ----------------------------------------------------------------------------------------------

for _name in ("fft", "fft2", "ifft2"):
    each(_name, [lambda d: ((d.n(4, 6), d.n(4, 6)),), lambda d: ((d.n(2, 3, 5), d.n(2, 3, 5)),)])
each("rfft", [lambda d: d.n(8), lambda d: d.n(2, 7), lambda d: d.n(2, 3, 5)], [{}, *grid(fft_length=[4, 5, 8, 11])])
each("irfft", [lambda d: ((d.n(5), d.n(5)),), lambda d: ((d.n(2, 4), d.n(2, 4)),)], [{}, *grid(fft_length=[4, 5, 8, 9, 12])])
for _length, _stride, _fft in [(8, 4, 8), (8, 2, 16), (6, 3, 8), (8, 8, 8), (7, 3, 10)]:
    for _window, _center in itertools.product(["hann", "hamming", None], [True, False]):
        each("stft", lambda d: d.n(2, 32), grid(sequence_length=[_length], sequence_stride=[_stride], fft_length=[_fft], window=[_window], center=[_center]))
        if _center and _stride < _length and _window:
            _frames = (32 + 2 * (_fft // 2) - _fft) // _stride + 1
            each("istft", lambda d, _n=_frames, _f=_fft: ((d.n(2, _n, _f // 2 + 1), d.n(2, _n, _f // 2 + 1)),), [{"sequence_length": _length, "sequence_stride": _stride, "fft_length": _fft, "window": _window, "center": _center, "length": n} for n in (None, 24)])
add("stft", lambda d: d.n(40), sequence_length=10, sequence_stride=5, fft_length=16)
add("stft", lambda d: d.n(40), sequence_length=8, sequence_stride=4, fft_length=8, window=lambda d: d.p(8))

# -- images ----------------------------------------------------------------------------------------------------------


def image(d: Draw, data_format: str | None, *shape: int) -> Any:
    return d.rng.uniform(0.05, 0.95, layout(shape, data_format or _LAST) if len(shape) == 4 else (shape if data_format in (None, _LAST) else (shape[-1], *shape[:-1])))


_transforms = np.array([[1.0, 0.11, -0.3, 0.053, 0.92, 0.41, 0.0, 0.0]])
_projective = np.array([[1.02, 0.11, -0.3, 0.05, 0.93, 0.4, 0.003, -0.002]])
_start, _end = np.array([[0.0, 0.0], [0.0, 5.0], [4.0, 0.0], [4.0, 5.0]]), np.array([[0.3, 0.2], [0.1, 4.6], [4.2, 0.3], [3.8, 4.9]])
for _format in (None, _LAST, _FIRST):
    for _shape in [(2, 5, 6, 3), (5, 6, 3)]:
        _image = lambda d, _f=_format, _s=_shape: image(d, _f, *_s)
        for _name in ("rgb_to_hsv", "rgb_to_grayscale", "hsv_to_rgb"):
            add(f"image.{_name}", _image, data_format=_format)
        _resampling = grid(size=[(7, 9), (3, 4), (5, 6), (8, 3)], interpolation=["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"], antialias=[False, True])
        each("image.resize", _image, _resampling[:: 1 if len(_shape) == 4 and _format != _LAST else 7], data_format=_format)
        each("image.resize", _image, [{"size": s, **o} for s in ((4, 4), (7, 9), (3, 5)) for o in ({"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.7})], data_format=_format)
        each("image.crop_images", _image, [{"top_cropping": 1, "left_cropping": 2, "target_height": 3, "target_width": 2}, {"top_cropping": 1, "bottom_cropping": 1, "left_cropping": 0, "right_cropping": 3},
                                           {"bottom_cropping": 1, "right_cropping": 2, "target_height": 2, "target_width": 3}], data_format=_format)
        each("image.pad_images", _image, [{"top_padding": 1, "left_padding": 2, "target_height": 8, "target_width": 9}, {"top_padding": 1, "bottom_padding": 1, "left_padding": 0, "right_padding": 3},
                                          {"bottom_padding": 1, "right_padding": 2, "target_height": 7, "target_width": 8}], data_format=_format)
        each("image.gaussian_blur", _image, grid(kernel_size=[(3, 3), (5, 3)], sigma=[(1.0, 1.0), (0.7, 1.5)]), data_format=_format)
        each("image.extract_patches", _image, [{"size": (2, 2)}, {"size": 3, "strides": (1, 2)}, {"size": (2, 3), "strides": 2, "padding": "same"}, {"size": 2, "strides": 1, "dilation_rate": 2}, {"size": (2, 2), "strides": 1, "padding": "same"}], data_format=_format)
        each("image.affine_transform", lambda d, _i=_image: (_i(d), np.repeat(_transforms, 2, 0) if _i(d).ndim == 4 else _transforms[0]),
             grid(interpolation=["bilinear", "nearest"], fill_mode=["constant", "nearest", "wrap", "mirror", "reflect"]), data_format=_format, fixed=(1,))
        each("image.affine_transform", lambda d, _i=_image: (_i(d), np.repeat(_projective, 2, 0) if _i(d).ndim == 4 else _projective[0]), [{"fill_value": 0.4}], data_format=_format, fixed=(1,))
        add("image.affine_transform", _image, transform=lambda d, _s=_shape: np.tile([1.0, 0.0, 0.5, 0.0, 1.0, -1.5, 0.0, 0.0], (2, 1) if len(_s) == 4 else 1), interpolation="nearest", data_format=_format)
        each("image.perspective_transform", lambda d, _i=_image: (_i(d), *(np.repeat(p[None], 2, 0) if _i(d).ndim == 4 else p for p in (_start, _end))),
             grid(interpolation=["bilinear", "nearest"], fill_value=[0, 0.3]), data_format=_format, fixed=(1, 2))
for _mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
    each("image.map_coordinates", [lambda d: (d.n(5), np.array([[0.3, 2.7, -0.6, 5.3, 3.2]])), lambda d: (d.n(4, 5), d.rng.uniform(-1.8, 5.7, (2, 6)) + 0.01), lambda d: (d.n(4, 5), d.rng.uniform(0.1, 2.9, (2, 3, 2)))],
         grid(order=[0, 1], fill_mode=[_mode], fill_value=[0, 1.5] if _mode == "constant" else [0]), smooth=False)

# -- functions as arguments ------------------------------------------------------------------------------------------

for _reverse, _axis in itertools.product([False, True], [0, 1, -1]):
    add("associative_scan", lambda d: (Program(lambda ops: lambda a, b: a * b), d.n(5, 4)), reverse=_reverse, axis=_axis)
    add("associative_scan", lambda d: (Program(lambda ops: lambda a, b: ops.matmul(a, b) if False else a + b), d.n(3, 6)), reverse=_reverse, axis=_axis)
add("associative_scan", lambda d: (Program(lambda ops: lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])), (d.n(5), d.n(5))))
for _flag in (True, False):
    add("cond", lambda d, _flag=_flag: (_flag, Program(lambda ops: lambda: ops.sin(np.arange(3.0))), Program(lambda ops: lambda: ops.cos(np.arange(3.0)))), smooth=False)
    add("cond", lambda d, _flag=_flag: (np.array(_flag), Program(lambda ops: lambda: ops.ones((2,))), Program(lambda ops: lambda: ops.zeros((2,)))), smooth=False)
add("fori_loop", lambda d: (0, 4, Program(lambda ops: lambda i, x: x * 1.5 + ops.cast(i, "float64")), d.n(3)))
add("fori_loop", lambda d: (2, 5, Program(lambda ops: lambda i, x: ops.sin(x)), d.n(2, 2)))
add("fori_loop", lambda d: (3, 3, Program(lambda ops: lambda i, x: x * 2), d.n(2)))
each("scan", lambda d: (Program(lambda ops: lambda c, x: (c * 0.5 + x, c * x)), np.asarray(d.n()), d.n(5)), grid(reverse=[False, True]))
add("scan", lambda d: (Program(lambda ops: lambda c, x: (ops.sin(c) + x, ops.sum(c))), d.n(3), d.n(4, 3)), unroll=2)
add("scan", lambda d: (Program(lambda ops: lambda c, x: (c * 1.1, c)), np.asarray(d.n()), None), length=4)
add("switch", lambda d: (0, [Program(lambda ops: lambda x: x * 2), Program(lambda ops: lambda x: ops.sin(x))], d.n(3)))
add("switch", lambda d: (1, [Program(lambda ops: lambda x: x * 2), Program(lambda ops: lambda x: ops.sin(x))], d.n(3)))
add("while_loop", lambda d: (Program(lambda ops: lambda i, x: i < 5), Program(lambda ops: lambda i, x: (i + 1, x * 1.3)), (0, d.n(3))))
add("while_loop", lambda d: (Program(lambda ops: lambda i, x: i < 50), Program(lambda ops: lambda i, x: (i + 1, ops.tanh(x))), (0, d.n(3))), maximum_iterations=3)
add("map", lambda d: (Program(lambda ops: lambda x: ops.sum(x * x)), d.n(4, 3)))
add("map", lambda d: (Program(lambda ops: lambda xs: xs[0] * xs[1]), (d.n(4), d.n(4))))
add("vectorized_map", lambda d: (Program(lambda ops: lambda x: ops.sum(x * x)), d.n(4, 3)))
add("vectorized_map", lambda d: (Program(lambda ops: lambda xs: xs[0] * xs[1]), (d.n(4), d.n(4))))

# -- names beyond the list -------------------------------------------------------------------------------------------

for _name in ["cbrt", "deg2rad", "rad2deg", "fabs", "absolute", "angle", "conjugate", "erfc", "i0", "sinc", "sparse_sigmoid", "hard_swish", "swish"]:
    each(_name, [lambda d: d.n(2, 3), lambda d: np.asarray(d.n()), lambda d: d.n(0, 2), lambda d: d.n(3).astype(np.float32)])
for _name in ["fmax", "fmin", "true_divide"]:
    each(_name, [lambda d: (d.n(2, 3), d.n(3)), lambda d: (d.n(2, 1), d.n(1, 3)), lambda d: (d.i(1, 4, 3), d.n(3))])
each("heaviside", [lambda d: (d.n(2, 3), d.n(3)), lambda d: (np.array([-1.0, 0.0, 2.0]), d.n(3))], smooth=False)
each("ldexp", [lambda d: (d.n(2, 3), d.i(-3, 4, 3))])
add("nextafter", lambda d: (d.n(3), d.n(3)), smooth=False)
each("allclose", lambda d: (d.n(3), d.n(3)), smooth=False)
for _name in ("isneginf", "isposinf", "isreal"):
    add(_name, lambda d: np.array([1.0, np.inf, -np.inf, np.nan]), smooth=False)
for _name in ("gcd", "lcm"):
    add(_name, lambda d: (d.i(1, 30, 3, 4), d.i(1, 30, 4)), smooth=False)
add("isin", lambda d: (d.i(0, 5, 3, 4), d.i(0, 5, 2)), smooth=False)
each("isin", lambda d: (d.i(0, 5, 6), d.i(0, 5, 2)), [{"invert": True}, {"assume_unique": True}], smooth=False)


def holes(d: Draw, *shape: int) -> Any:
    x = d.apart(*shape) * 0.3
    x[d.rng.random(shape) < 0.3] = np.nan
    x[..., 0] = d.n(*shape[:-1])
    return x


for _name in ["nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanstd", "nanvar", "nanmedian"]:
    each(_name, [lambda d: holes(d, 4, 5), lambda d: d.apart(4, 5)], [{}, *grid(axis=[0, 1, -1, (0, 1)], keepdims=[False, True])], smooth=False)
each("nancumsum", lambda d: holes(d, 4, 5), [{}, {"axis": 0}, {"axis": 1}], smooth=False)
each("nancumprod", lambda d: holes(d, 4, 5), [{}, {"axis": 0}, {"axis": 1}], smooth=False)
for _name, _q in (("nanquantile", [0.3, [0.2, 0.75]]), ("nanpercentile", [30, [20.0, 75.0]])):
    each(_name, lambda d: holes(d, 4, 5), grid(q=_q, axis=[None, 1, -1], method=["linear", "lower", "higher", "midpoint", "nearest"], keepdims=[False, True]), smooth=False)
each("percentile", lambda d: d.apart(4, 5), grid(q=[30, [20.0, 75.0]], axis=[None, 1, -1], method=["linear", "lower", "higher", "midpoint", "nearest"], keepdims=[False, True]))
for _name in ("nanargmax", "nanargmin"):
    each(_name, lambda d: holes(d, 4, 5), [{}, {"axis": 1}, {"axis": 1, "keepdims": True}], smooth=False)
for _name in ("amax", "amin", "ptp"):
    each(_name, lambda d: d.apart(3, 4), [{}, *grid(axis=[0, 1, -1, (0, 1)], keepdims=[False, True])])
each("corrcoef", [lambda d: d.n(3, 6)])
each("trapezoid", lambda d: d.n(3, 5), [{}, {"dx": 0.3}, {"axis": 0}, {"x": lambda d: np.sort(d.n(5)), "sources": "x"}])
for _name in ("fliplr", "flipud"):
    each(_name, [lambda d: d.n(2, 3), lambda d: d.n(2, 3, 2)])
each("dstack", [lambda d: ([d.n(3), d.n(3)],), lambda d: ([d.n(2, 3), d.n(2, 3)],), lambda d: ([d.n(2, 3, 1), d.n(2, 3, 2)],)])
each("array_split", lambda d: d.n(7, 4), [{"indices_or_sections": n, "axis": a} for n, a in [(3, 0), (2, 1), ([2, 5], 0), (4, -1)]])
each("hsplit", [lambda d: d.n(4, 6), lambda d: d.n(6)], [{"indices_or_sections": 3}, {"indices_or_sections": [1, 4]}])
each("vsplit", lambda d: d.n(4, 6), [{"indices_or_sections": 2}, {"indices_or_sections": [1, 3]}])
each("dsplit", lambda d: d.n(2, 3, 4), [{"indices_or_sections": 2}, {"indices_or_sections": [1, 3]}])
each("geomspace", [lambda d: (np.asarray(d.p()), np.asarray(d.p())), lambda d: (d.p(3), d.p(3))], grid(num=[5, 3], endpoint=[True, False]))
add("geomspace", lambda d: (d.p(3), d.p(3)), num=4, axis=1)
for _name in ["bartlett", "blackman", "hamming", "hanning"]:
    each(_name, [lambda d: 7, lambda d: 8, lambda d: 1], smooth=False)
each("kaiser", [lambda d: (7, 5.0), lambda d: (8, 0.5)], smooth=False, fixed=(1,))
each("vander", lambda d: d.n(4), [{}, {"N": 3}, {"increasing": True}, {"N": 6, "increasing": True}])
each("kron", [lambda d: (d.n(2, 3), d.n(3, 2)), lambda d: (d.n(3), d.n(2)), lambda d: (d.n(2, 2), d.n(3))])
for _name in ("segment_min", "segment_prod"):
    each(_name, lambda d: (d.apart(6), np.array([0, 0, 1, 1, 1, 2])), [{}, {"num_segments": 3}])
    each(_name, lambda d: (d.apart(6, 2), np.array([2, 0, 1, 0, 1, 2])), [{"num_segments": 3}])
each("unique", lambda d: d.i(0, 4, 8), [{}, {"return_counts": True}, {"return_index": True, "return_inverse": True, "return_counts": True}, {"size": 6, "fill_value": -1}], smooth=False)
add("unique", lambda d: d.i(0, 2, 6, 2), axis=0, smooth=False)
each("cholesky_inverse", lambda d: np.linalg.cholesky(d.spd(3, 3)), [{}])
add("cholesky_inverse", lambda d: np.linalg.cholesky(d.spd(3, 3)).T, upper=True)
each("pinv", [lambda d: d.n(3, 4), lambda d: d.n(4, 3), lambda d: d.inv(3, 3)])
each("matrix_rank", [lambda d: d.n(3, 4), lambda d: np.ones((3, 3))], smooth=False)
each("cdist", [lambda d: (d.n(3, 4), d.n(5, 4)), lambda d: (d.n(2, 3, 4), d.n(2, 5, 4))])
each("layer_normalization", lambda d: d.n(2, 3, 4), [{"axis": 1}, {"axis": (1, 2)}, {"axis": -1, "epsilon": 1e-2}])
for _name in ("adaptive_average_pool", "adaptive_max_pool"):
    each(_name, [lambda d: d.apart(2, 7, 3)], grid(output_size=[1, 3, 4]))
    each(_name, [lambda d: d.apart(1, 6, 7, 2)], grid(output_size=[(2, 3), 3, (6, 7)], data_format=["channels_last"]))
    each(_name, [lambda d: d.apart(1, 2, 6, 7)], grid(output_size=[(2, 3), 3], data_format=["channels_first"]))
each("depth_to_space", lambda d: d.n(2, 3, 4, 8), grid(block_size=[2], data_format=["channels_last"]))
each("depth_to_space", lambda d: d.n(2, 8, 3, 4), grid(block_size=[2], data_format=["channels_first"]))
each("space_to_depth", lambda d: d.n(2, 4, 6, 3), grid(block_size=[2], data_format=["channels_last"]))
each("space_to_depth", lambda d: d.n(2, 3, 4, 6), grid(block_size=[2], data_format=["channels_first"]))
each("unfold", lambda d: d.n(1, 2, 6, 7), grid(kernel_size=[2, (3, 2)], dilation=[1, 2], padding=[0, 1], stride=[1, 2]))
add("fold", lambda d: (d.n(1, 8, 12),), output_size=(4, 5), kernel_size=2)
add("fold", lambda d: (d.n(1, 8, 4),), output_size=(4, 4), kernel_size=2, stride=2)
add("view_as_complex", lambda d: d.n(3, 2))
add("view_as_real", lambda d: d.z(3))
each("image.ssim", [lambda d: (image(d, None, 1, 12, 13, 2), image(d, None, 1, 12, 13, 2))], [{}, {"filter_size": 5}, {"max_val": 2.0, "filter_sigma": 1.0}])
add("image.sobel_edges", lambda d: image(d, None, 1, 5, 6, 2))
each("image.extract_patches_3d", lambda d: d.n(1, 4, 5, 6, 2), [{"size": (2, 2, 2)}, {"size": 2, "strides": 1, "padding": "same"}, {"size": (2, 3, 2), "strides": (1, 2, 2)}])
each("image.scale_and_translate", lambda d: (d.n(5, 6, 2), (7, 4, 2), np.array([1.3, 0.7]), np.array([0.2, -0.4]), (0, 1)), grid(method=["linear", "bilinear", "cubic", "lanczos3"], antialias=[True, False]), fixed=(2, 3))
