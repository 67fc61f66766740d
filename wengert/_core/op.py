"""`Op`: one declaration per primitive — operands, attributes, type rule, kind of derivative, batch rule, facts.

A rule is a plain function whose parameter *names* say what it reads, and so what is saved for it:

========================  =============================================================================
`x`                       the value of operand x
`x_type`                  only its shape and dtype (keeps nothing alive)
`out`                     the value of the result (declared names, if there are several)
`axes`                    an attribute
`ct`                      the cotangent of the result (a tuple, if there are several)
`times`                   the product to use on cotangents: `mul`, or `scale` where structural zeros may meet
                          infinite slopes
`needed`                  which operands want a cotangent (joint rules)
`x_dot`                   the tangent of operand x (jvp rules)
`masked`                  for each operand whether its tangent may hold structural zeros (jvp rules); for each result
                          whether its cotangent may (joint rules of ops with `*outs`)
`trail`                   what came of the results, where limits are to be taken, or None (ops with a `Spectrum`)
========================  =============================================================================

A `jet` rule, of ops whose Taylor series their derivative would give at a higher price, reads operands, results and
attributes; what it gets for operands and results are series (`_prims/series.py`).

Kinds: `elementwise` (partials; both modes follow), `linear` and `multilinear` (transposes; the op itself is its
jvp), `general` (vjp and jvp given), `zero` (connected, derivative zero), `stop` (cuts the path on purpose),
`not_differentiable` (an error when a gradient needs it), `custom` (a user's rule, which always runs and sees plain
zeros; which results are connected is its own matter).

An op may have a `body`, a function of tensors and attributes that applies other primitives. It is what engines run that
have no kernel of their own for the op, and what compilers see in its place; its derivative is declared all the same.

`outs="*outs"` declares an op whose number of results its attributes decide; `takes_missing` ops get None, not zeros, as
the cotangent of a result that nothing uses; `can_raise` ops fail on some values, so no pass drops them.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

from . import dtypes
from .apply import apply
from .argument_types import ShapeLike
from .domains import DOMAINS
from .engine import register_composed
from .repeat_cache import RepeatCache
from .state import building, next_serial, pausing
from .tensor import Tensor
from .types import TensorType, same_shape, tensor_type

KINDS = ("elementwise", "linear", "multilinear", "general", "zero", "stop", "not_differentiable", "custom")

_OPEN = ("elementwise", "linear", "multilinear", "general")

REGISTRY: dict[str, Op] = {}

MOST_FORMULAS = 64  # that a plan keeps

Cost = Literal["free", "move", "light", "dear"]
Moves = Literal["", "same", "all", "some"]
Mixes = Literal["nothing", "axes", "earlier", "matrices", "all"]
Holds = Literal["", "a program", "branches", "a loop", "a loop's backward pass"]

# What is held by ops that run a user's code some times or never: extents of their results may be known at run time
# only, and results that only a backward pass would read can be left out.
BRANCHES_AND_LOOPS: tuple[Holds, ...] = ("branches", "a loop")

_OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add, "-": operators.sub, "*": operators.mul, "/": operators.truediv,
}  # fmt: skip
ARITHMETIC = (*_OF_NUMBERS,)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class Facts(NamedTuple):
    """What holds of an op beside its mathematics; tests draw samples from it, the docs print it, and transforms and
    engines treat an op by it, never by its name.

    Attributes:
        doc: one line, what it computes.
        called: what messages call it, where it is ours alone and users know it by another name.
        domain: (low, high) of sample points for the float operands, or one such pair per operand.
        kink: what the derivative is where it is not smooth.
        dtypes: the operand dtypes it takes: "float", "inexact", "real", "number", "integer", "bool" or "any".
        ref: the source of a formula.
        samples: test inputs, tuples (operand specs, attrs); a spec is a shape, an array, or a callable of a
            random generator. Elementwise ops need none.
        smooth: whether finite differences and second derivatives make sense at the samples.
        takes_complex: whether complex operands are admitted although samples are drawn from `dtypes` (results that
            have a free phase there cannot be compared).
        moves: what becomes of the elements of the first operand, if all that the op does is to put them somewhere that
            does not depend on them: "same" (they stay: the result is another name of it; result i of operand i, where
            there are several), "all" (each has one place or more), "some" (not all have one); "" if it does more.
        mixes: of which elements of the operands one of the result may be made: "nothing" (of those at the same place),
            "axes" (all along the axes that the attribute `axes` or `axis` names), "earlier" (those that stand before it
            along `axis`, behind it if `reverse`), "matrices" (those of the same matrix, of two axes at the end, and of
            what belongs to it), or "all". Masks and the like, which no derivative flows to, do not count.
        linear_in: of ops of another kind than "linear" or "multilinear" the operand in which the result is linear while
            the others are held.
        buffer: the operand that is a version of a buffer, if one is.
        writes: the operand of which the result is the next version: the same but for a few places.
        holds: which programs the first attribute holds.
        states: of ops without operands, from the attributes to the value that they state: an array, or the number that
            all elements are.
        places: whether the result is of integers that count from 0: positions of elements along an axis.
        operator: the operator of Python's that computes the same, of arrays and of numbers.
        grounds: of sums the operands without which an element may be 0 that has nothing else in it (None: all).
        regular: whether what is computed of the result has no infinite slope, so that its tangents count as holding no
            structural zeros.
        exact: whether a result is always a number of its dtype, which nothing has to round.
        in_float32: whether float16 and bfloat16 are computed in float32 and rounded once, at the end, on every engine.
        flops: of ops that take more than one operation on numbers an element: from the shapes of the result and of the
            operands, and the attributes by name, to how many.
        cost: of an element of the result: "free" (it is there, under another name, shape, order or dtype), "move" (it
            is loaded from elsewhere), "light" (about as much as a load), "dear" (better kept than computed again).
    """

    doc: str = ""
    called: str = ""
    domain: Any = (-2.0, 2.0)
    kink: str = ""
    dtypes: str = "inexact"
    ref: str = ""
    samples: Sequence[Any] = ()
    smooth: bool = True
    takes_complex: bool = False
    moves: Moves = ""
    mixes: Mixes = "all"
    linear_in: str = ""
    buffer: str = ""
    writes: str = ""
    holds: Holds = ""
    states: Callable[..., Any] | None = None
    places: bool = False
    operator: str = ""
    grounds: tuple[str, ...] | None = None
    regular: bool = False
    exact: bool = False
    in_float32: bool = False
    flops: Callable[..., float] | None = None
    cost: Cost = "dear"


def require_facts(name: str, facts: Facts) -> None:
    """Raises `TypeError` unless each fact is one of those that there are."""
    for fact, known in _CHOICES.items():
        if getattr(facts, fact) not in known:
            raise TypeError(f"{name}: wanted {fact} to be one of {list(known)}, got {getattr(facts, fact)!r}")


def stated(op: Op, attrs: tuple[Any, ...]) -> Any:
    """The value that an op's attributes state as its result, or the number that all elements are; None if none do."""
    return None if op.facts.states is None else op.facts.states(*attrs)


_CHOICES: dict[str, tuple[Any, ...]] = {
    "moves": get_args(Moves), "mixes": get_args(Mixes), "holds": get_args(Holds),
    "cost": get_args(Cost), "operator": ("", *ARITHMETIC, *COMPARISONS),
    **dict.fromkeys(("places", "regular", "exact", "in_float32"), (False, True)),
}  # fmt: skip


def named(op: Op, attrs: Sequence[Any]) -> dict[str, Any]:
    """Attributes by name, those of a user's primitive, which are one attribute, too."""
    found = dict(zip(op.attrs, attrs, strict=True))
    own = found.pop("attributes", ())
    return {**found, **dict(own)}


class Spectrum(NamedTuple):
    """What limits at equal eigenvalues or singular values need to know of a decomposition.

    Attributes:
        values: the number of the result that holds the values.
        apart: from the values to a direction in which all of them part, the vectors staying as they are.
        has_equal: from the values to whether any tangent of the vectors can be without a bound there.
        shows_equal: the same of an array of values at hand, in a few microseconds.
        push: from the results, the operand's tangent and a division to the results' tangents.
        like: from the results to something like the operand, in shape and dtype.
    """

    values: int
    apart: Callable[[Tensor], Tensor]
    has_equal: Callable[[Tensor], Tensor]
    shows_equal: Callable[[Any], bool]
    push: Callable[[tuple[Tensor, ...], Tensor, Callable[..., Tensor]], tuple[Tensor, ...]]
    like: Callable[[tuple[Tensor, ...]], Tensor]


class Rule:
    """A derivative formula and the positions of what it reads."""

    __slots__ = ("fn", "pick", "reads")

    def __init__(
        self, fn: Callable[..., Any], layout: Sequence[str], op: str, names: Sequence[str] | None = None
    ) -> None:
        if names is None:
            code = fn.__code__  # `inspect.signature` says the same at fifty times the cost, paid at import
            names = code.co_varnames[: code.co_argcount]
        unknown = [n for n in names if n not in layout]
        if unknown:
            raise TypeError(f"{op}: a rule reads {unknown}; known names are {list(layout)}")
        self.fn = fn
        self.reads = frozenset(names)
        positions = [layout.index(n) for n in names]
        # one index alone would come back bare, so it is taken as a slice
        self.pick = (
            itemgetter(*positions) if len(positions) > 1
            else itemgetter(slice(positions[0], positions[0] + 1)) if positions
            else itemgetter(slice(0, 0))
        )  # fmt: skip


class Plan:
    """What a tape entry keeps when just these operands are tracked."""

    __slots__ = ("formulas", "keep", "keep_outs", "tracked", "wanted")

    def __init__(self, tracked: tuple[bool, ...], positions: Sequence[int], keep_outs: bool = False) -> None:
        self.tracked = tracked
        self.keep_outs = keep_outs  # for ops whose number of results is their attributes' matter
        self.wanted = (*[i for i, t in enumerate(tracked) if t],)
        # the tuple that `keep` picks from ends in None, so position -1 drops a value; two at least give a tuple
        self.keep = itemgetter(*positions, -1)
        # what the rules come to on operands of some types (_transforms/compiled_rules.py)
        self.formulas = RepeatCache[Any](MOST_FORMULAS)


class Op:
    """A primitive. Calling it with operands, and attributes by name, applies it.

    `walks` marks an op whose attribute sweeps entries of its own (`walk_back`), into the sums of the sweep under way.
    `is_given` marks one whose attribute tells what it contributes (`pull`, in `_control/given_derivatives.py`).
    `prepare`, set by ops that hold programs or rules, gives the attributes with which the op is to be applied to these
    operands under the open recorders (or raises); `apply_prepared` asks it. `check` takes what the type rule takes and
    raises where attributes leave the operands (`_core/domains.py`); only the verifier asks it.
    """

    def __init__(
        self, name: str, operands: tuple[str, ...], attrs: tuple[str, ...], outs: tuple[str, ...], kind: str,
        type_rule: Callable[..., Any], batch_rule: Callable[..., Any] | None, is_variadic: bool = False,
        inserts_zeros: bool = False, leaves_zeros: bool = False, has_effect: bool = False, can_raise: bool = False,
        has_many_outs: bool = False,
        takes_missing: bool = False, walks: bool = False, is_given: bool = False, facts: Facts | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.operands = operands
        self.attrs = attrs
        self.outs = outs
        self.kind = kind
        self.type_rule = type_rule
        self.batch_rule = batch_rule
        self.is_variadic = is_variadic
        self.inserts_zeros = inserts_zeros  # its cotangents hold structural zeros
        self.leaves_zeros = leaves_zeros  # its tangents do
        self.has_effect = has_effect
        self.can_raise = can_raise
        self.has_many_outs = has_many_outs
        self.takes_missing = takes_missing
        self.walks = walks
        self.is_given = is_given
        self.facts = Facts() if facts is None else facts
        self.rules: tuple[Rule | None, ...] = ()
        self.joint: Rule | None = None
        self.jvp: Rule | None = None
        self.jet: Rule | None = None
        self.spectrum: Spectrum | None = None
        self.prepare: Callable[[tuple[Tensor, ...], tuple[Any, ...]], tuple[Any, ...]] | None = None
        self.made_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None  # what makes it again; None: its name
        self.plans: dict[tuple[bool, ...], Plan] = {}
        self.is_multi = has_many_outs or len(outs) != 1
        self.fixed = len(operands) - is_variadic
        self.attr_names = frozenset(attrs)
        self.has_rule_per_operand = False  # set once the rules are known
        self.has_own_formula = False  # so is whether one function may tell what an entry contributes,
        # whether its rules apply primitives to what it was given, and do nothing else
        self.is_open = kind in _OPEN and not (has_many_outs or walks or is_given)
        self.goes_alone = not self.is_open  # whether nothing is gained by telling what it contributes with others
        self.check: Callable[..., None] | None = None
        self.body: Callable[..., Any] | None = None
        # what computes it of two lone numbers in double precision, in a tenth of the time that a kernel takes
        self.of_numbers = _OF_NUMBERS.get(self.facts.operator) if len(operands) == 2 else None
        self.refuses_complex = self.facts.dtypes in ("real", "float") and not self.facts.takes_complex

    def __call__(self, *operands: Tensor, **attrs: object) -> Any:
        if not self.attrs:
            return apply(self, operands)
        if attrs.keys() != self.attr_names:
            raise TypeError(f"{self.name}: wanted the attributes {self.attrs}, got {tuple(attrs)}")
        return apply(self, operands, (*map(attrs.__getitem__, self.attrs),))

    @property
    def called(self) -> str:
        """Its name in messages."""
        return self.facts.called or self.name

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        if REGISTRY.get(self.name) is self:
            return _registered, (self.name,)
        if self.made_by is None:
            raise TypeError(f"the op {self.name} cannot be copied or pickled: it holds Python code")
        return self.made_by

    def group(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """Flat operands as declared: a variadic tail becomes one tuple."""
        return (*flat[: self.fixed], flat[self.fixed :]) if self.is_variadic else flat

    def position(self, flat_index: int) -> int:
        """The declared operand that a flat operand belongs to."""
        return min(flat_index, self.fixed) if self.is_variadic else flat_index

    def plan(self, tracked: tuple[bool, ...]) -> Plan:
        """What to keep for the reverse pass when these operands are tracked (cached)."""
        known = self.plans.get(tracked)
        if known is None:
            known = self.plans[tracked] = self._make_plan(tracked)
        return known

    def _make_plan(self, tracked: tuple[bool, ...]) -> Plan:
        reads: set[str] = set(self.joint.reads) if self.joint else set()
        for index, is_tracked in enumerate(tracked):
            rule = self.rules[self.position(index)] if is_tracked and self.rules else None
            if rule is not None:
                reads |= rule.reads
        names = [self.operands[self.position(i)] for i in range(len(tracked))]
        if self.has_many_outs:
            return Plan(tracked, [i if n in reads else -1 for i, n in enumerate(names)], self.outs[0] in reads)
        names += self.outs
        positions = [i if name in reads else -1 for i, name in enumerate(names)]
        return Plan(tracked, positions)

    def reverse_layout(self) -> list[str]:
        """The order in which the sweep offers values to rules; the trail is at the end of what was saved."""
        out_types = [f"{n}_type" for n in self.outs] if self.is_multi else []
        masked = ["masked"] if self.has_many_outs else []
        return [
            "ct", "times", "needed", *self.operands, *self.outs, "trail", *(f"{n}_type" for n in self.operands),
            *out_types, *self.attrs, *masked,
        ]  # fmt: skip

    def forward_layout(self) -> list[str]:
        return [
            "times", "masked", *self.operands, *self.outs, *(f"{n}_type" for n in self.operands),
            *(f"{n}_dot" for n in self.operands), *self.attrs,
        ]  # fmt: skip


def _registered(name: str) -> Op:
    return REGISTRY[name]


def _declare(
    name: str,
    operands: str,
    kind: str,
    *,
    type: Callable[..., Any],
    batch: Callable[..., Any] | None,
    attrs: str = "",
    outs: str = "out",
    rules: Any = (),
    joint: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    jet: Callable[..., Any] | None = None,
    inserts_zeros: bool = False,
    leaves_zeros: bool = False,
    has_effect: bool = False,
    can_raise: bool = False,
    takes_missing: bool = False,
    registry: dict[str, Op] | None = None,
    check: Callable[..., None] | None = None,
    body: Callable[..., Any] | None = None,
    **facts: Any,
) -> Op:
    names = operands.split()
    op = Op(
        name=name,
        operands=(*[n.lstrip("*") for n in names],),
        attrs=tuple(attrs.split()),
        outs=(*[n.lstrip("*") for n in outs.split()],),
        kind=kind,
        type_rule=type,
        batch_rule=batch,
        is_variadic=bool(names) and names[-1].startswith("*"),
        inserts_zeros=inserts_zeros,
        leaves_zeros=leaves_zeros,
        has_effect=has_effect,
        can_raise=can_raise,
        has_many_outs=outs.startswith("*"),
        takes_missing=takes_missing,
        facts=Facts(**facts),
    )
    unknown = [] if registry is not None else [a for a in op.attrs if a not in DOMAINS]
    if unknown:
        raise TypeError(f"{name}: the attributes {unknown} have no domain in _core/domains.py")
    require_facts(name, op.facts)
    op.check = check
    layout = op.reverse_layout()
    if len(set(layout)) != len(layout):
        raise TypeError(f"{name}: an operand, an attribute and a result share a name in {layout}")
    op.rules = (*[None if r is None else Rule(r, layout, name) for r in rules],)
    if op.rules and len(op.rules) != len(op.operands):
        raise TypeError(f"{name}: {len(op.operands)} operands but {len(op.rules)} rules")
    op.joint = None if joint is None else Rule(joint, layout, name)
    op.jvp = None if jvp is None else Rule(jvp, op.forward_layout(), name)
    op.jet = None if jet is None else Rule(jet, [*op.operands, *op.outs, *op.attrs], name)
    op.has_rule_per_operand = bool(op.rules) and not (op.is_variadic or op.is_multi)
    # what inserts zeros may contribute rows
    op.has_own_formula = op.has_rule_per_operand or (op.is_open and not op.is_multi and not inserts_zeros)
    op.goes_alone |= op.has_own_formula
    table = REGISTRY if registry is None else registry
    if name in table:
        raise KeyError(f"an op named {name!r} is registered already")
    table[name] = op
    if body is not None:
        op.body = body
        register_composed(name, _composed(op))
    return op


def _composed(op: Op) -> Callable[..., Any]:
    """A kernel that runs an op's body. Recorders see the op and not what it is made of."""
    count = len(op.attrs)

    def kernel(*natives_and_attrs: object) -> Any:
        end = len(natives_and_attrs) - count
        assert op.body is not None
        with building(None), pausing():
            out = op.body(*[Tensor(x, next_serial()) for x in natives_and_attrs[:end]], *natives_and_attrs[end:])
        return (*[x._data for x in out],) if op.is_multi else out._data

    return kernel


def _per_operand(rules: object) -> tuple[Any, ...]:
    return tuple(rules) if isinstance(rules, (tuple, list)) else (rules,)


def elementwise(
    name: str,
    operands: str,
    *,
    partials: object,
    result: Callable[..., Any] | None = None,
    attrs: str = "",
    **facts: Any,
) -> Op:
    """Declares an op that works element by element on operands of one shape and dtype.

    Args:
        partials: for each operand a rule giving the slope d out / d operand (holomorphic for complex values; the
            sweep conjugates), or None where the operand has none.
        result: dtype of the result from the operands' dtype (default: the same).
    """
    return _declare(
        name, operands, "elementwise", attrs=attrs, rules=_per_operand(partials),
        type=elementwise_type(name, result, facts.get("dtypes", "inexact")), batch=batch_elementwise,
        **{"mixes": "nothing", **facts},
    )  # fmt: skip


def linear(name: str, operands: str, *, transpose: Any, **options: Any) -> Op:
    """Declares an op that is jointly linear in the operands that have a transpose (None: they are not numbers that
    a gradient flows to, such as indices or a condition). A rule maps `ct` to the operand's cotangent."""
    return _declare(name, operands, "linear", rules=_per_operand(transpose), **options)


def multilinear(name: str, operands: str, *, transpose: Any, **options: Any) -> Op:
    """Declares an op that is linear in each operand while the others are held."""
    return _declare(name, operands, "multilinear", rules=_per_operand(transpose), **options)


def general(name: str, operands: str, *, vjp: Any, jvp: Callable[..., Any], **options: Any) -> Op:
    """Declares an op by both rules. `vjp` is one rule per operand, or one function (joint) that returns a tuple."""
    if callable(vjp):
        return _declare(name, operands, "general", joint=vjp, jvp=jvp, **options)
    return _declare(name, operands, "general", rules=tuple(vjp), jvp=jvp, **options)


def zero(name: str, operands: str, **options: Any) -> Op:
    """Declares an op whose result is connected to its operands but has derivative zero wherever it has one
    (floor, sign), or whose result is integer or boolean and so a constant (argmax, comparisons)."""
    return _declare(name, operands, "zero", **options)


def stop(name: str, operands: str, **options: Any) -> Op:
    """Declares an op that ends every differentiable path on purpose."""
    return _declare(name, operands, "stop", **options)


def not_differentiable(name: str, operands: str, **options: Any) -> Op:
    """Declares an op with a float result and no derivative: needing one is a `LookupError`."""
    return _declare(name, operands, "not_differentiable", **options)


# -- type rules shared by families --------------------------------------------------------------------------

_CATEGORIES: dict[str, Callable[[Any], bool]] = {
    "float": dtypes.is_float,
    "inexact": dtypes.is_inexact,
    "real": lambda d: not dtypes.is_complex(d) and d != dtypes.bool_,
    "number": lambda d: d != dtypes.bool_,
    "integer": dtypes.is_integer,
    "integer or bool": lambda d: dtypes.is_integer(d) or d == dtypes.bool_,
    "bool": lambda d: d == dtypes.bool_,
    "any": lambda d: True,
}


def require_dtype(op: str, operand: str, x: TensorType, category: str) -> None:
    """Raises `TypeError` unless the operand's dtype is of the category."""
    if not _CATEGORIES[category](x.dtype):
        raise TypeError(f"{op}: {operand} has dtype {x.dtype.name}, wanted {category}")


def require_same(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises unless all operands have one shape and one dtype (the graph is strict)."""
    first = types[0]
    for name, other in zip(names[1:], types[1:], strict=True):
        if not same_shape(first.shape, other.shape):
            raise ValueError(f"{op}: {names[0]} has shape {first.shape} and {name} has shape {other.shape}")
        if first.dtype != other.dtype:
            raise TypeError(f"{op}: {names[0]} has dtype {first.dtype.name} and {name} has {other.dtype.name}")


def elementwise_type(name: str, result: Callable[..., Any] | None, category: str) -> Callable[..., Any]:
    """The type rule of elementwise ops: equal operand types, the category checked, the result's dtype derived."""

    is_of_category = _CATEGORIES[category]

    def type_rule(*types_and_attrs: Any) -> TensorType:
        types = [t for t in types_and_attrs if hasattr(t, "dtype")]
        first = types[0]
        shape, dtype = first.shape, first.dtype
        if not is_of_category(dtype):
            require_dtype(name, "the operand", first, category)
        for other in types[1:]:
            if other.dtype is not dtype or other.shape != shape:
                require_same(name, [f"operand {i}" for i in range(len(types))], types)
                break
        return tensor_type(shape, dtype if result is None else result(dtype))

    return type_rule


def batch_elementwise(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    """The batch rule of elementwise ops: operands without the batch axis are repeated along it."""
    size = batch_size(operands, batched)
    return apply(op, (*map(lambda x, b: x if b else repeat(x, size), operands, batched),), attrs)


def batch_size(operands: tuple[Tensor, ...], batched: tuple[bool, ...]) -> Any:
    """The extent of the leading batch axis."""
    return next(x.shape[0] for x, b in zip(operands, batched, strict=True) if b)


def repeat(x: Tensor, size: ShapeLike | None) -> Tensor:
    """x with a new leading axis along which it repeats."""
    return REGISTRY["broadcast_to"](x, shape=(size, *x.shape))


def batch_leading(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    """The batch rule of ops that treat all leading axes as a batch already: just repeat what lacks the axis."""
    return batch_elementwise(op, operands, batched, attrs)


def batch_shifting(**positions: int) -> Callable[..., Any]:
    """The batch rule of one-operand ops whose named attributes are axis numbers (or tuples of them)."""

    def rule(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
        size = batch_size(operands, batched)
        operands = (*[x if b else repeat(x, size) for x, b in zip(operands, batched, strict=True)],)
        shifted = [_shift(a, positions[n]) if n in positions else a for n, a in zip(op.attrs, attrs, strict=True)]
        return apply(op, operands, tuple(shifted))

    return rule


def _shift(axes: tuple[int, ...], by: int) -> Any:
    return (*[a + by for a in axes],) if isinstance(axes, tuple) else axes + by


class _Zero:
    """The cotangent or tangent that is zero because of an op's kind (floor), not of its values: connected, and
    never multiplied by anything. Rules may return it; the sweeps turn it into zeros only at the end."""

    def __repr__(self) -> str:
        return "ZERO"


ZERO = _Zero()
