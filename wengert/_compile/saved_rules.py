"""The rules of `custom` nodes as data: the graphs that a gradient function became when it was traced.

A rule that is Python code, or that could not be traced, cannot be saved. What comes back is checked against the
operands of its node, so that a rule of a damaged file cannot give gradients of other types than its inputs have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._control.closed import Closed
from .._control.custom import CustomRule, TracedRule
from .._control.recompute import ClosedRun, RecomputeRule
from .._core import dtypes
from .._core.tensor import Value

if TYPE_CHECKING:
    from .saved import Decoder, Encoder

Values = Sequence[Value]


# -- to data ----------------------------------------------------------------------------------------------------------


def rule_data(encoder: Encoder, rule: CustomRule) -> dict[str, Any]:
    """A rule as data, by its kind."""
    counts = {"name": rule.name, "counts": [rule.inputs, rule.outputs, rule.kept], "captured": [*rule.captured]}
    if isinstance(rule, TracedRule):
        forward = None if rule.forward is None else _closed_data(encoder, rule.forward, rule.name)
        reverse = _closed_data(encoder, rule.reverse, rule.name)
        return {"kind": "traced", **counts, "reverse": reverse, "forward": forward}
    if isinstance(rule, RecomputeRule) and isinstance(rule.run, ClosedRun):
        run = _closed_data(encoder, rule.run.closed, rule.name)
        return {"kind": "recompute", **counts, "arguments": rule.arguments, "held": rule.held, "run": run}
    raise TypeError(f"save: the gradient of {rule.name} cannot be saved: it is Python code that was not traced")


def _closed_data(encoder: Encoder, closed: Closed, name: str) -> dict[str, Any]:
    if closed.error is not None:
        raise TypeError(
            f"save: the gradient of {name} cannot be saved: tracing it raised {type(closed.error).__name__}: "
            f"{closed.error}"
        )
    with encoder.inside(closed.dims):
        return {"graph": encoder.graph(closed.graph), "present": [bool(p) for p in closed.present]}


# -- and back ---------------------------------------------------------------------------------------------------------


def rule_from(decoder: Decoder, data: dict[str, Any], operands: Values) -> CustomRule:
    """The rule of a node with these operands: inputs, results, then what the rule keeps."""
    name, kind = data["name"], data["kind"]
    inputs, outputs, kept = data["counts"]
    captured = data.get("captured", [])  # files of earlier versions have none
    if not isinstance(captured, list) or any(type(what) is not str for what in captured):
        raise ValueError("a rule does not say what its function used")
    operands = operands[: len(operands) - len(captured)]
    if any(type(n) is not int or n < 0 for n in (inputs, outputs, kept)) or inputs + outputs + kept != len(operands):
        raise ValueError("a rule has another number of operands than its node")
    if not isinstance(name, str):
        raise ValueError("a name was wanted")
    given, results, held = operands[:inputs], operands[inputs : inputs + outputs], operands[inputs + outputs :]
    if kind == "traced":
        return _traced(decoder, data, name, given, results, held, captured)
    if kind == "recompute":
        return _recompute(decoder, data, name, given, results, held)
    raise ValueError("unknown kind of rule")


def _traced(
    decoder: Decoder, data: dict[str, Any], name: str, inputs: Values, results: Values, kept: Values,
    captured: Sequence[str],
) -> TracedRule:  # fmt: skip
    reverse = _closed_from(decoder, data["reverse"])
    forward = None if data["forward"] is None else _closed_from(decoder, data["forward"])
    middle = len(reverse.graph.inputs) - len(results)
    if middle < 0:
        raise ValueError("a rule takes too few cotangents")
    _require_types(reverse.graph.inputs, [*results, *kept[:middle]])
    _require_results(reverse, inputs)
    if forward is None:
        _require_types(kept[middle:], ())
    else:
        _require_types(forward.graph.inputs, [*_floats(inputs), *kept[middle:]])
        _require_results(forward, results)
    return TracedRule.of(name, (len(inputs), len(results), len(kept)), captured, reverse, forward)


def _recompute(
    decoder: Decoder, data: dict[str, Any], name: str, inputs: Values, results: Values, kept: Values
) -> RecomputeRule:  # fmt: skip
    closed = _closed_from(decoder, data["run"])
    arguments, held = data["arguments"], data["held"]
    if any(type(n) is not int for n in (arguments, held)) or not 0 <= arguments <= held == len(inputs):
        raise ValueError("a repeated computation has another number of arguments than its node")
    if not all(closed.present):
        raise ValueError("a repeated computation has no result in a place")
    _require_types(closed.graph.inputs, inputs)
    _require_types(kept, inputs)
    _require_results(closed, results)
    run = ClosedRun(closed, len(results))
    return RecomputeRule(name, run, arguments, held, len(inputs), len(results))


def _closed_from(decoder: Decoder, data: dict[str, Any]) -> Closed:
    graph, present = decoder.graph(data["graph"]), data["present"]
    if not isinstance(present, list) or any(type(p) is not bool for p in present):
        raise ValueError("a rule does not say which results it has")
    if graph.captures or len(graph.outputs) != sum(present) + len(graph.writes):
        raise ValueError("a rule has other results than it says")
    return Closed.of(graph, present)


def _floats(values: Values) -> list[Value]:
    return [v for v in values if dtypes.is_inexact(v.dtype)]


def _require_results(closed: Closed, wanted: Values) -> None:
    """The results of a rule, where it has them, are of the wanted types."""
    if len(closed.present) != len(wanted):
        raise ValueError("a rule has another number of results than its node asks for")
    expected = [v for v, present in zip(wanted, closed.present, strict=True) if present]
    _require_types(closed.graph.outputs[: len(expected)], expected)


def _require_types(values: Values, wanted: Values) -> None:
    if len(values) != len(wanted):
        raise ValueError("a rule has another number of operands than its node")
    for x, y in zip(values, wanted, strict=True):
        if x.dtype != y.dtype or len(x.shape) != len(y.shape) or not all(map(_may_be_same, x.shape, y.shape)):
            raise ValueError("a rule has operands or results of other types than its node")


def _may_be_same(x: object, y: object) -> bool:
    """Extents that are known are equal; where one is not, a guard of the trace may have made them so."""
    return type(x) is not int or type(y) is not int or x == y
