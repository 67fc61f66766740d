"""Compiles an op's reverse rule to one Python function of NumPy arrays, for sweeps that no recorder watches.

A rule applies primitives, one call of `apply` for each. Where the same op comes again with operands of the same types,
the sweep (`reverse.py`) has its rules traced once, and from then on runs what they came to: the same kernels on the
same arrays, so to the bit the same numbers, without the tensors in between. Rules that do more than to apply primitives
stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._core.apply import apply
from .._core.domains import ANY, DOMAINS, is_number
from .._core.dtypes import is_inexact
from .._core.graph import Graph, Node
from .._core.op import ARITHMETIC, Op, Rule
from .._core.state import building
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of, typed
from .._prims.structural import conj, mul, scale, zeros_of
from .contributions import results_of


class Formula(NamedTuple):
    """The contributions to some operands: `run(kernels, cotangent, saved)` gives their arrays; `steps` is its text.

    `keeps` says whether entries keep anything that it could read.
    """

    wanted: tuple[int, ...]
    keeps: bool
    run: Callable[[Any, Any, Any], tuple[Any, ...]]
    steps: Callable[[list[Any], str], Steps]


class Applied(NamedTuple):
    """The same by ops, which open recorders are shown: `run(cotangent, saved)` gives tensors."""

    wanted: tuple[int, ...]
    run: Callable[[Any, Any], tuple[Tensor, ...]]


class Told(NamedTuple):
    """What entries contribute, without a function: which operands, and from names for the cotangents to the text.

    `by_ops()` gives the text of an `Applied`, and its constants.
    """

    wanted: tuple[int, ...]
    steps: Callable[[list[Any], str], Steps]
    by_ops: Callable[[], tuple[list[str], dict[str, Any]]]


class Steps(NamedTuple):
    """Lines of Python that compute contributions, the names of these and of what else the lines name, and constants."""

    lines: list[str]
    terms: list[str]
    between: list[str]
    constants: dict[str, Any]


def formula_of(entry: Any, ct_type: TensorType, masked: bool) -> Formula | None:
    """The formula for entries like this one, of an op with one result; None if its rules cannot be told by one."""
    told = told_of(entry, (ct_type,), masked)
    if told is None:
        return None
    lines, names, _, constants = told.steps(["ct"], "")
    text = ["run(kernels, ct, saved):", *lines, f"return ({''.join(f'{name}, ' for name in names)})"]
    keeps = any(x is not None for x in entry.saved)
    return Formula(told.wanted, keeps, function_of(text, constants), told.steps)


def applied_of(entry: object, ct_type: TensorType, masked: bool) -> Applied | None:
    """As `formula_of`, for sweeps that recorders watch."""
    told = told_of(entry, (ct_type,), masked)
    return None if told is None else Applied(told.wanted, function_of(*told.by_ops()))


def told_of(entry: Any, ct_types: Sequence[TensorType | None], masked: bool) -> Told | None:
    """What entries like this one contribute; None if that cannot be told.

    Args:
        entry: a line of a tape.
        ct_types: the types of the cotangents of the op's results, None for those that nothing uses.
        masked: whether the cotangents may hold structural zeros.
    """
    op, attrs, plan, _, in_types, _, _, saved = entry
    is_told_by_key = all(a != 0 or type(a) is int for a in numbers_read(op, attrs))
    if not (op.is_open and op.spectrum is None and saved[-1] is None and is_told_by_key):  # 0.0 and -0.0 are one key
        return None
    graph = Graph()
    cts = [None if type_ is None else graph.add_input(*type_) for type_ in ct_types]
    kept = [graph.add_input(*type_of(x)) if type(x) is Tensor else None for x in saved]
    times = scale if masked else mul
    try:
        with building(graph):
            found = _results(entry._replace(saved=(*kept,)), cts, times)
    except Exception:  # what is wrong is said by the rule that runs
        return None
    wanted = [i for i in plan.wanted if found[i] is not None]
    terms = [found[i] for i in wanted]
    if graph.captures or not all(_fits(term, in_types[i]) for term, i in zip(terms, wanted, strict=True)):
        return None
    if any(node.op.is_multi or node.op.has_effect or node.op.facts.holds for node in graph.nodes):
        return None
    steps = partial(_steps, graph.nodes, cts, kept, terms)
    return Told((*wanted,), steps, partial(_by_ops, graph.nodes, [("ct", ct) for ct in cts], kept, terms))


def numbers_read(op: Op, attrs: tuple[Any, ...]) -> list[Any]:
    """The attributes that an op's rules read and that may be 0.0 or -0.0."""
    reads = frozenset[str]().union(*[rule.reads for rule in (*op.rules, op.joint) if rule is not None])
    signed = [DOMAINS.get(name, ANY)[1] in (is_number, ANY[1]) for name in op.attrs]
    named = zip(op.attrs, attrs, signed, strict=True)
    return [a for name, a, may in named if may and name in reads and isinstance(a, (int, float, complex))]


def _results(entry: Any, cts: list[Tensor | None], times: Op) -> Sequence[Any]:
    """What the entry's rules contribute to each operand; None for nothing."""
    op, attrs, plan, in_keys, in_types, _, out_types, saved = entry
    if not op.has_rule_per_operand:
        if op.is_multi and not op.takes_missing:
            cts = [zeros_of(t) if ct is None and is_inexact(t.dtype) else ct for ct, t in zip(cts, out_types)]
        return results_of(entry, (*cts,) if op.is_multi else cts[0], times, (times is scale,) * len(cts))
    sources = (cts[0], times, plan.tracked, *saved, *typed(in_types), *attrs)
    found: list[Any] = [None] * len(in_keys)
    for index in plan.wanted:
        if op.rules[index] is not None:
            found[index] = _term(op, op.rules[index], sources, times)
    return found


def _term(op: Op, rule: Rule, sources: tuple[Any, ...], times: Op) -> Any:
    term = rule.fn(*rule.pick(sources))
    if op.kind == "elementwise":
        return times(sources[0], conj(term) if term.dtype.kind == "c" else term)
    return term


def _fits(term: object, wanted: object) -> bool:
    return type(term) is Tensor and type_of(term) == wanted


def function_of(text: list[str], constants: dict[str, Any]) -> Callable[..., Any]:
    """A function of Python's own: its head without `def`, and its lines."""
    exec(compile("def " + "\n    ".join(text), "<wengert's formula>", "exec"), constants)
    return constants["run"]


def _steps(
    nodes: list[Node], cts: list[Any], kept: list[Any], terms: list[Tensor], ct_names: list[Any], mark: str
) -> Steps:
    """A graph of kernels in Python's words, with names for the cotangents; `mark` ends the constants' names."""
    names = {ct._key: name for ct, name in zip(cts, ct_names, strict=True) if ct is not None}
    lines, between = list[str](), list[str]()
    read = {value.key for node in nodes for value in node.inputs} | {term._key for term in terms}
    for place, symbol in enumerate(kept):
        if symbol is not None and symbol._key in read:
            between.append(f"s{place}")
            lines.append(f"s{place} = saved[{place}]._data")
            names[symbol._key] = between[-1]
    constants: dict[str, Any] = {}
    for number, node in enumerate(nodes):
        operands = [names[value.key] for value in node.inputs]
        for place, attr in enumerate(node.attrs):
            name = f"k{number}_{place}{mark}"
            constants[name] = attr
            operands.append(name)
        between.append(f"v{number}")
        names[node.outputs[0].key] = between[-1]
        lines.append(f"v{number} = {step_of(node, operands)}")
    return Steps(lines, [names[term._key] for term in terms], between, constants)


def _by_ops(
    nodes: list[Node], cts: list[tuple[str, Any]], kept: list[Any], terms: list[Tensor]
) -> tuple[list[str], dict[str, Any]]:
    """The text of a function that applies a graph's ops to a cotangent and to what was kept, and its constants."""
    named = [*cts, *[(f"saved[{place}]", x) for place, x in enumerate(kept)]]
    names = {x._key: name for name, x in named if x is not None}
    lines, constants = ["run(ct, saved):"], dict[str, Any](apply=apply)
    for number, node in enumerate(nodes):
        operands = "".join(f"{names[value.key]}, " for value in node.inputs)
        constants |= {f"op{number}": node.op, f"attrs{number}": node.attrs}
        names[node.outputs[0].key] = f"v{number}"
        lines.append(f"v{number} = apply(op{number}, ({operands}), attrs{number})")
    return [*lines, f"return ({''.join(f'{names[term._key]}, ' for term in terms)})"], constants


def step_of(node: Node, operands: list[str]) -> str:
    """What computes a node, in Python's words."""
    name, operator = node.op.name, node.op.facts.operator
    # of lone numbers operators are several times faster than kernels, of arrays no slower; narrower floats meet
    # Python's numbers otherwise, and complex ones round otherwise
    if operator in ARITHMETIC and node.outputs[0].dtype.char in "fd":
        return f" {operator} ".join(operands) if len(operands) > 1 else f"{operator}{operands[0]}"
    if name == "reciprocal" and node.outputs[0].dtype.char in "fd":
        return f"1.0 / {operands[0]}"
    if name in ("reshape", "transpose"):
        return f"{operands[0]}.{name}({operands[1]})"
    return f"kernels[{name!r}]({', '.join(operands)})"
