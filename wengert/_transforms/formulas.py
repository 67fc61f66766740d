"""What an entry contributes to a sweep that nobody watches, as one Python function of NumPy arrays.

A rule applies primitives, one call of `apply` for each. Where the same op comes again with operands of the same types,
its rules are traced once, and what they came to runs from then on: the same kernels on the same arrays, so to the bit
the same numbers, without the tensors in between. Rules that do more than to apply primitives stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._core.graph import Graph, Node
from .._core.op import Op, Rule
from .._core.state import building
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.structural import conj, mul, scale

AGAIN = 8  # how often an op comes with operands of some types before a formula is made for them
MOST = 64  # formulas and counts that a plan keeps; extents that are new at each call would fill the memory
_KINDS = ("elementwise", "linear", "multilinear", "general")  # of ops whose rules apply primitives, and do nothing else


class Formula(NamedTuple):
    """The contributions to some operands: `run(kernels, cotangent, saved)` gives their arrays."""

    wanted: tuple[int, ...]
    run: Callable[[Any, Any, Any], tuple[Any, ...]]


def formula_of(entry: Any, ct: Tensor, masked: bool) -> Formula | None:
    """The formula for entries like this one; None if its rules cannot be told by one."""
    op, attrs, plan, _, in_types, _, _, saved = entry
    is_told_by_key = all(a != 0 or type(a) is int for a in attrs if isinstance(a, (int, float, complex)))
    if op.kind not in _KINDS or saved[-1] is not None or not is_told_by_key:  # 0.0 and -0.0 are one key
        return None
    graph = Graph()
    symbols = [graph.add_input(*type_of(x)) if type(x) is Tensor else None for x in (ct, *saved)]
    times = scale if masked else mul
    sources = (symbols[0], times, plan.tracked, *symbols[1:], *in_types, *attrs)
    wanted: list[int] = []
    terms: list[Any] = []
    try:
        with building(graph):
            for index in plan.wanted:
                rule = op.rules[index]
                if rule is not None:
                    wanted.append(index)
                    terms.append(_term(op, rule, sources, times))
    except Exception:  # what is wrong is said by the rule that runs
        return None
    if graph.captures or not all(_fits(term, in_types[i]) for term, i in zip(terms, wanted, strict=True)):
        return None
    if any(node.op.is_multi or node.op.has_effect or node.op.facts.holds for node in graph.nodes):
        return None
    return Formula((*wanted,), _written(graph.nodes, symbols, terms))


def _term(op: Op, rule: Rule, sources: tuple[Any, ...], times: Op) -> Any:
    term = rule.fn(*rule.pick(sources))
    if op.kind == "elementwise":
        return times(sources[0], conj(term) if term.dtype.kind == "c" else term)
    return term


def _fits(term: Any, wanted: Any) -> bool:
    return type(term) is Tensor and type_of(term) == wanted


def _written(nodes: list[Node], symbols: list[Any], terms: list[Tensor]) -> Callable[[Any, Any, Any], tuple[Any, ...]]:
    """A function of Python's own for a graph of kernels."""
    names = {symbols[0]._key: "ct"}
    lines = ["def run(kernels, ct, saved):"]
    read = {value.key for node in nodes for value in node.inputs} | {term._key for term in terms}
    for place, symbol in enumerate(symbols[1:]):
        if symbol is not None and symbol._key in read:
            names[symbol._key] = f"s{place}"
            lines.append(f"    s{place} = saved[{place}]._data")
    constants: dict[str, Any] = {}
    for number, node in enumerate(nodes):
        operands = [names[value.key] for value in node.inputs]
        for place, attr in enumerate(node.attrs):
            name = f"c{number}_{place}"
            constants[name] = attr
            operands.append(name)
        names[node.outputs[0].key] = f"v{number}"
        lines.append(f"    v{number} = kernels[{node.op.name!r}]({', '.join(operands)})")
    lines.append(f"    return ({''.join(f'{names[term._key]}, ' for term in terms)})")
    exec(compile("\n".join(lines), "<a formula of wengert>", "exec"), constants)
    return constants["run"]
