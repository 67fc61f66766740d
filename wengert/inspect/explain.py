"""Says why a gradient is None or zero, or by which ops it is connected: the one place where such words are made.

A program is read as a list of `ExplainedOp`s, from the nodes of a graph or from the entries of a tape. First the ops
alone are followed from x; where the answer hangs on a user's gradient or a compiled function, the sweep itself is
asked. `explain_graph` and `explain_entries` are the ways in, `disconnection` is what `DisconnectedError` says.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.call import cut_inside, inner_programs, leads_through
from .._core import dtypes
from .._core.engine import ndarray_of
from .._core.graph import Graph, graph_holding, quietly
from .._core.op import BRANCHES_AND_LOOPS, COMPARISONS, REGISTRY, ZERO, Op
from .._core.public import public
from .._core.state import STATE, building, recording
from .._core.tensor import Cut, Tensor, Value
from .._core.types import type_of
from .._core.user_line import Site, at_user_line
from .._prims.structural import attach
from .._transforms.replay import run_again, store
from .._transforms.reverse import ancestors, ones_like_type, sweep
from .._transforms.tape import STOPS, Entry, Tape, cut_reason

__all__ = ["disconnection", "explain", "explain_entries", "explain_graph"]

_MOST_CUTS = 3  # told in one text
_MOST_STEPS = 12  # of a path that are listed

_INSIDE = {"a program": "a compiled function", "branches": "a branch", "a loop": "a loop"}


class ExplainedOp(NamedTuple):
    """One op of a program, wherever the program is kept."""

    op: Op
    attrs: tuple[Any, ...]
    in_keys: tuple[int, ...]
    out_keys: tuple[int, ...]
    outs: tuple[Value, ...]  # of graphs; a tape has entries only for what carries a gradient
    site: Site | None


@public
def explain(y: Any, x: Any) -> str:
    """Why the gradient of y with respect to x is what it is, in words: connected, zero or None.

    Args:
        y: a symbolic tensor, or a value of a finished graph (`graph.outputs[0]`).
        x: another of the same graph, from which y may have been computed.

    Returns:
        A text: the path from x to y op by op; or the op, cast or stop that cuts it; or the op whose derivative is zero
        everywhere. With the user's source lines and, where there is one, the cure.

    Raises:
        TypeError: y or x is concrete (an eager result: ask the tape that recorded it) or no tensor at all.
        ValueError: they belong to two graphs, or to one that is gone.

    Example:
        >>> import wengert as wg
        >>> graph = wg.function(lambda x: wg.stop_gradient(x) * 2).trace(1.0)
        >>> print(wg.explain(graph.outputs[0], graph.inputs[0]).splitlines()[0])
        the result does not depend differentiably on x: the path is cut where stop_gradient stops the gradient
    """
    y_value, x_value = _value_of(y, "y"), _value_of(x, "x")
    graph = graph_holding(y_value)
    if graph is None:
        raise ValueError(at_user_line("explain: the graph that y belongs to is gone; keep it while you ask about it"))
    return explain_graph(graph, y_value, x_value)


def _value_of(tensor: Any, name: str) -> Value:
    if type(tensor) is Value:
        return tensor
    if hasattr(tensor, "__wengert_tensor__"):  # a Variable stands for what it holds
        tensor = tensor.value
    if type(tensor) is Tensor and type(tensor._data) is Value:
        return tensor._data
    if type(tensor) is Tensor:
        raise TypeError(
            at_user_line(
                f"explain: {name} is a concrete tensor, which does not know how it was computed; explain symbolic "
                f"tensors (in a function or a graph), or ask the tape that recorded it: tape.explain(y, x)"
            )
        )
    raise TypeError(at_user_line(f"explain: {name} must be a symbolic tensor, got {type(tensor).__name__}"))


# -- the two kinds of program -----------------------------------------------------------------------------------------


def explain_graph(graph: Graph, y: Value, x: Value, name: str = "x") -> str:
    """As `explain`, in a graph that is at hand."""
    known = {v.key for v in graph.free_values} | {v.key for node in graph.nodes for v in node.outputs}
    for value, which in ((y, "y"), (x, "x")):
        if value.key not in known:
            raise ValueError(at_user_line(f"explain: {which} is no value of the graph {graph.name}"))
    steps = [
        ExplainedOp(n.op, n.attrs, (*[v.key for v in n.inputs],), (*[v.key for v in n.outputs],), n.outputs, n.site)
        for n in graph.nodes
    ]
    return _Case(steps, y, x, name, lambda: _swept_graph(graph, y, x)).text()


def explain_entries(
    tape: Tape, y: Tensor, x: Tensor, name: str = "x"
) -> str:  # fmt: skip
    """Why the gradient of y with respect to x is what it is, by what a tape has recorded.

    Args:
        tape: what was recorded.
        y: a result.
        x: a source, or a value on the way.
        name: what x is called.
    """
    entries = tape.entries
    keys = [key for entry in entries for key in entry.out_keys]

    def asked() -> Any:
        with building(Graph() if STATE.builder is not None else None), quietly():
            return sweep(entries, ((y._key, ones_like_type(type_of(y))),), (x._key,))[0]

    case = _Case(_steps_of(entries), y, x, name, asked, _cuts_between(entries, tape.exits, y, x), tape.choices)
    if y._key in keys and STATE.builder is None:
        return case.text(lambda path: _culprit(entries, y, path))
    return case.text()


def disconnection(tape: Tape, y: Tensor, x: Tensor, name: str) -> str:
    """Why no gradient leads from y to x, which the sweep has found already."""
    cuts = _cuts_between(tape.entries, tape.exits, y, x)
    case = _Case(_steps_of(tape.entries), y, x, name, _nothing, cuts, tape.choices)
    return case.text()


def _nothing() -> None:
    return None


def _steps_of(entries: Sequence[Entry]) -> list[ExplainedOp]:
    return [ExplainedOp(e.op, e.attrs, e.in_keys, e.out_keys, (), None) for e in entries]


def _cuts_between(entries: Sequence[Entry], exits: Sequence[Cut], y: Tensor, x: Tensor) -> list[Cut]:
    """The cuts on the way from x to y; else the places where numbers computed from x were taken out."""

    def is_from_x(cut: Cut) -> bool:
        return cut.key == x._key or bool(ancestors(entries, cut.key, (x._key,)))

    cuts = [] if y._cut is None else [y._cut, *y._cut.others]
    return [*filter(is_from_x, cuts)] or [*filter(is_from_x, exits)]


def _swept_graph(graph: Graph, y: Value, x: Value) -> Any:
    """What a sweep gives x, by tracing the graph anew under a tape."""
    scratch = Graph()
    with building(scratch):
        env = {v.key: scratch.add_input(v.shape, v.dtype, weak=v.weak) for v in graph.free_values}
        tape = Tape()
        with recording(tape):
            for node in graph.nodes:
                if x.key in env:
                    tape.watch(env[x.key])
                store(env, node, run_again(node, (*[env[v.key] for v in node.inputs],), node.attrs))
        source = env[x.key]
        tape.watch(source)
        with quietly():
            seed = ones_like_type(type_of(y))
            return sweep(tape.entries, ((env[y.key]._key, seed),), (source._key,))[0]


# -- following the ops ------------------------------------------------------------------------------------------------


class _Case:
    """One question: y and x in a program of steps."""

    def __init__(
        self, steps: Sequence[ExplainedOp], y: Any, x: Any, name: str, asked: Callable[[], Any],
        cuts: Sequence[Cut] = (), choices: Sequence[Site] = (),
    ) -> None:  # fmt: skip
        self.choices = choices
        self.y, self.x, self.name, self.asked, self.cuts = y, x, name, asked, cuts
        self.y_key: int = _key(y)
        self.x_key: int = _key(x)
        self.steps = steps
        self.leads_to_y = _leading_to(steps, self.y_key)

    def text(self, at_values: Callable[[list[ExplainedOp]], _Culprit | None] | None = None) -> str:
        """The answer."""
        if self.x_key == self.y_key:
            return f"the result is {self.name} itself: the gradient is one"
        if not dtypes.is_inexact(self.x.dtype):
            return (
                f"{self._severed}: {self.name} has dtype {self.x.dtype.name}, and integers and bools are constants to "
                f"a gradient\n  cure: make a floating tensor of it (wg.astype), and differentiate with respect to that"
            )
        path = self._path(_passes)
        if path is None:
            return self._disconnected()
        refusing = next((s for s in path if _has_no_gradient(s.op)), None)
        if refusing is not None:
            return (
                f"{self._severed}: no gradient is defined for the op {refusing.op.name}, which is on the path; asking "
                f"for the gradient is a LookupError{_under(refusing)}{self._trail(path)}\n  cure: {_CURE_UNDEFINED}"
            )
        # what custom rules and programs pass on only the sweep knows
        if any(_has_users_rule(s.op) or s.op.facts.holds for s in path):
            found = self.asked()
            if found is None:
                return self._dropped(path)
            if found is ZERO:
                return self._zero(path)
        if self._path(_passes_more_than_zero) is None:
            return self._zero(path)
        culprit = at_values(path) if at_values is not None else None
        if culprit is not None:
            return (
                f"the result depends on {self.name}, but its gradient {culprit.what} {culprit.step.op.name}"
                f"{_under(culprit.step)}{self._trail(path)}\n  cure: {culprit.cure}"
            )
        connected = f"the result depends differentiably on {self.name}, by {_count(len(path))}{self._trail(path)}"
        return connected + self._silent_branches(path)

    @property
    def _severed(self) -> str:
        return f"the result does not depend differentiably on {self.name}"

    def _path(self, passes: Callable[[ExplainedOp, int], bool]) -> list[ExplainedOp] | None:
        """The ops of the first path from x to y whose steps all pass, or None."""
        came_by = _reached(self.steps, self.x_key, passes)
        if self.y_key not in came_by:
            return None
        return _path_back(came_by, self.y_key)

    def _trail(self, path: Sequence[ExplainedOp]) -> str:
        """The path, op by op: with the lines where the program knows them."""
        if not path:
            return ""
        if all(s.site is None for s in path):
            names = [s.op.name for s in path]
            if len(names) > _MOST_STEPS:
                names = [*names[: _MOST_STEPS // 2], "...", *names[-_MOST_STEPS // 2 :]]
            return f"\n  path: {' -> '.join([self.name, *names])}"
        return f"\n  path, from {self.name}:" + "".join(f"\n    {line}" for line in _lines(path))

    def _zero(self, path: Sequence[ExplainedOp]) -> str:
        step = next((s for s in path if not _passes_more_than_zero(s, -1)), None)
        region = next((s for s in path if s.op.facts.holds in BRANCHES_AND_LOOPS), None)
        if step is None and region is not None:
            found = (cut_inside(program, place) for program, place in self._inner(region, path))
            cut = next((c for c in found if c is not None), None)
            why = "nothing computed from it reaches the result" if cut is None else f"the path is cut where {cut}"
            return (
                f"the result counts as connected to {self.name}, which {_INSIDE[region.op.facts.holds]} takes, but its "
                f"gradient is zero: {why}{self._trail(path)}" + ("" if cut is None else f"\n  cure: {_cure(cut)}")
            )
        if step is None:
            return (
                f"the result depends on {self.name}, but its gradient is zero everywhere, by a rule on the path"
                f"{self._trail(path)}"
            )
        if step.op is attach and self.cuts:
            told = "\n  and where ".join(map(str, self.cuts[:_MOST_CUTS]))
            return (
                f"the result counts as connected to {self.name}, which a branch or loop takes, but its gradient is "
                f"zero: the path is cut where {told}{self._trail(path)}\n  cure: {_cure(self.cuts[0])}"
            )
        if step.op is attach:
            return (
                f"the result depends on {self.name}, but its gradient is zero everywhere: it is made of a gradient "
                f"that does not depend on {self.name} any more, that of a linear function, or {self.name} only stands "
                f"among what a branch or loop takes{_under(step)}"
                f"{self._trail(path)}"
                f"\n  cure: {_CURE_LINEAR}"
            )
        return (
            f"the result depends on {self.name}, but its gradient is zero everywhere: the derivative of {step.op.name} "
            f"is zero wherever it exists{_under(step)}{self._trail(path)}\n  cure: {_CURE_ZERO}"
        )

    def _dropped(self, path: Sequence[ExplainedOp]) -> str:
        """A custom gradient or a compiled function on the path gives None."""
        for step in path:
            found = (cut_inside(program, place) for program, place in self._inner(step, path))
            cuts = {str(cut): cut for cut in found if cut is not None}
            if cuts:
                told = "\n  and where ".join(cuts)
                cures = dict.fromkeys(map(_cure, cuts.values()))
                inside = _INSIDE[step.op.facts.holds]
                return f"{self._severed}: the path is cut in {inside} where {told}{self._trail(path)}" + "".join(
                    f"\n  cure: {c}" for c in cures
                )
        custom = next((s for s in path if _has_users_rule(s.op)), None)
        if custom is None:
            return f"{self._severed}: the gradient of an op on the path is None{self._trail(path)}"
        name = custom.attrs[0].name if custom.op.name == "custom" else f"the op {custom.op.name}"
        return (
            f"{self._severed}: the custom gradient of {name} gives None for what depends on it"
            f"{_under(custom)}{self._trail(path)}\n  cure: let the custom gradient return a tensor for that argument"
        )

    def _inner(self, step: ExplainedOp, path: Sequence[ExplainedOp]) -> list[tuple[Any, int]]:
        """The programs that a step runs, each with the place there of what x leads to."""
        followed = {self.x_key, *(k for s in path for k in s.out_keys)}
        places = (i for i, k in enumerate(step.in_keys) if k in followed)
        return [pair for i in places for pair in inner_programs(step.op, step.attrs, i)]

    def _silent_branches(self, path: Sequence[ExplainedOp]) -> str:
        """The branches (and the bodies of loops) on a path that pass no gradient on, and why."""
        told = ""
        for step in path:
            if step.op.facts.holds not in BRANCHES_AND_LOOPS:
                continue
            for program, place in self._inner(step, path):
                if not leads_through(program, place):
                    cut = cut_inside(program, place)
                    why = "it leads nowhere" if cut is None else f"{cut}"
                    where = f"{program.graph.name} is taken" if step.op.facts.holds == "branches" else "a step runs"
                    told += f"\n  the gradient is zero if {where}: {why}"
        return told

    def _disconnected(self) -> str:
        cuts = [*self.cuts] or [*self._cut_steps()]
        if cuts:
            told = "\n  and where ".join(map(str, cuts[:_MOST_CUTS]))
            more = f"\n  and in {len(cuts) - _MOST_CUTS} places more" if len(cuts) > _MOST_CUTS else ""
            cures = dict.fromkeys(_cure(cut) for cut in cuts[:_MOST_CUTS])
            return (
                f"{self._severed}: the path is cut where {told}{more}{self._trail(self._path_to(cuts[0].key))}"
                + "".join(f"\n  cure: {c}" for c in cures)
            )
        if not dtypes.is_inexact(self.y.dtype):
            return (
                f"{self._severed}: the result has dtype {self.y.dtype.name}, and integers and bools are constants to a "
                f"gradient\n  cure: differentiate a floating result"
            )
        users = [s for s in self.steps if self.x_key in s.in_keys]
        if users:
            uses = "".join(f"\n    {line}" for line in _lines(users))
            return (
                f"{self._severed}: {self.name} is used, but nothing computed from it reaches the result\n  used by:"
                f"{uses}\n  cure: let the result be computed from what was made of {self.name}, or pass "
                f"unconnected_gradients='zero'"
            )
        if self.choices:
            places = "\n    ".join(map(str, self.choices[:_MOST_CUTS]))
            return (
                f"{self._severed}: f does not use it in the branches that were taken\n  a branch was taken at\n"
                f"    {places}"
                f"\n  cure: make {self.name} an operand of the branch (wg.cond(pred, f, g, x)), compile f "
                f"(wg.function), which knows all branches, or pass unconnected_gradients='zero'"
            )
        return (
            f"{self._severed}: f does not use it\n  cure: make sure that f itself does all the operations that lead "
            f"from {self.name} to the result, or pass unconnected_gradients='zero'"
        )

    def _cut_steps(self) -> Iterable[Cut]:
        """The steps of a graph where a path from x that goes on to y stops being differentiable."""
        came_by = _reached(self.steps, self.x_key, _passes)
        for step in self.steps:
            key = next((k for k in step.in_keys if k in came_by), None)
            if key is None or self.leads_to_y.isdisjoint(step.out_keys):
                continue
            places = [i for i, k in enumerate(step.in_keys) if k in came_by]
            if any(_passes(step, i) for i in places):
                continue
            reason = cut_reason(step.op, step.outs) or "stores a value, a constant from there on"
            name = "Variable.assign" if step.op.name == "reassign" else step.op.name
            yield Cut(name, reason, step.site, key)

    def _path_to(self, key: int) -> list[ExplainedOp]:
        came_by = _reached(self.steps, self.x_key, _passes)
        return _path_back(came_by, key) if key in came_by else []


def _key(value: Any) -> int:
    return value._key if type(value) is Tensor else value.key


def _leading_to(steps: Sequence[ExplainedOp], key: int) -> set[int]:
    """Everything that a value was computed from, by whatever ops."""
    needed = {key}
    for step in reversed(steps):
        if not needed.isdisjoint(step.out_keys):
            needed.update(step.in_keys)
    return needed


def _reached(
    steps: Sequence[ExplainedOp], key: int, passes: Callable[[ExplainedOp, int], bool]
) -> dict[int, tuple[ExplainedOp, int] | None]:
    """What can be reached from a value by steps that pass: for each the step that made it and where it came from."""
    came_by: dict[int, tuple[ExplainedOp, int] | None] = {key: None}
    for step in steps:
        source = next((k for i, k in enumerate(step.in_keys) if k in came_by and passes(step, i)), None)
        if source is None:
            continue
        kinds = step.outs or (None,) * len(step.out_keys)
        for out, kind in zip(step.out_keys, kinds, strict=True):
            if kind is None or dtypes.is_inexact(kind.dtype):
                came_by.setdefault(out, (step, source))
    return came_by


def _path_back(came_by: dict[int, tuple[ExplainedOp, int] | None], key: int) -> list[ExplainedOp]:
    path: list[ExplainedOp] = []
    link = came_by[key]
    while link is not None:
        step, source = link
        path.append(step)
        link = came_by[source]
    return path[::-1]


def _has_users_rule(op: Op) -> bool:
    """Whether the user says what a gradient is: by a custom gradient, or of an op of their own."""
    return op.kind == "custom" or REGISTRY.get(op.name) is not op


def _has_no_gradient(op: Op) -> bool:
    return op.kind != "zero" and op.joint is None and not op.rules


def _passes(step: ExplainedOp, index: int) -> bool:
    """Whether a step connects its result with an operand: with a derivative, maybe of zero."""
    op = step.op
    if step.outs and cut_reason(op, step.outs):
        return False
    if op.kind in ("zero", "not_differentiable") or op.joint is not None or not op.rules:
        return True
    return op.rules[op.position(index)] is not None


def _passes_more_than_zero(step: ExplainedOp, index: int) -> bool:
    """Whether a step's derivative is more than a zero by the op's kind. Operand -1 asks for the op alone."""
    if step.op.kind == "zero" or (step.op is attach and index != 0):
        return False
    return index == -1 or _passes(step, index)


class _Culprit(NamedTuple):
    """The op of a path at which a cotangent is lost, how, and what to do about it."""

    step: ExplainedOp
    what: str
    cure: str


def _culprit(entries: Sequence[Entry], y: Tensor, path: Sequence[ExplainedOp]) -> _Culprit | None:
    """The op of a path, the nearest to y, at which a cotangent becomes all zeros or gets its first NaN, if any does."""
    keys = [path[0].in_keys, *(s.out_keys for s in path[:-1])]
    flat = [k for group in keys for k in group]
    with building(None), quietly():
        found = dict(zip(flat, sweep(entries, ((y._key, ones_like_type(type_of(y))),), flat), strict=True))
    for step, before in reversed([*zip(path, keys, strict=True)]):
        arriving = [found[k] for k in before if k in step.in_keys]
        if any(map(_has_nan, arriving)):
            return _Culprit(step, "is NaN at these values, first at", _CURE_NAN)
        if arriving and all(_is_all_zero(ct) for ct in arriving if ct is not None):
            return _Culprit(step, "is zero at these values: it vanishes at", _CURE_VANISHING)
    return None


def _has_nan(ct: Any) -> bool:
    return ct is not None and ct is not ZERO and bool(np.isnan(ndarray_of(ct._data)).any())


def _is_all_zero(ct: Any) -> bool:
    return ct is ZERO or not np.any(ndarray_of(ct._data))


def _lines(steps: Sequence[ExplainedOp]) -> list[str]:
    """Steps with their places where those are known, the middle of many left out."""
    lines = [f"{s.op.name} at {s.site}" if s.site else s.op.name for s in steps]
    if len(lines) <= _MOST_STEPS:
        return lines
    half = _MOST_STEPS // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} more", *lines[-half:]]


def _under(step: ExplainedOp) -> str:
    return f"\n    at {step.site}" if step.site else ""


def _count(number: int) -> str:
    return "1 op" if number == 1 else f"{number} ops"


# -- cures ------------------------------------------------------------------------------------------------------------

_CURE_UNDEFINED = "give it a gradient (wg.custom_gradient around it), or keep it off the path with wg.stop_gradient"
_CURE_ZERO = (
    "if a gradient is wanted all the same, give the function one with wg.custom_gradient (a straight-through gradient "
    "is the identity), or use a smooth function in its place"
)
_CURE_LINEAR = "none is needed: zero is the derivative; differentiate a function that is not linear for more"
_CURE_VANISHING = (
    "look at the operands of that op (a branch not taken, a clipped or masked element, a factor of zero), or start "
    "from other values"
)

_CURE_NAN = (
    "look at the operands of that op (a point where it has no derivative, equal eigenvalues or singular values, an "
    "infinite slope times zero); wg.debug_nans stops where the NaN is made"
)


def _cure(cut: Cut) -> str:
    """What to do about a cut."""
    op = cut.op
    if op == "stop_gradient":
        return "take stop_gradient away if the gradient is wanted here"
    if cut.reason == STOPS:
        return "give it a gradient: wg.register_gradient in place of wg.not_differentiable, or wg.custom_gradient"
    if op in ("Tensor.numpy()", "Tensor.item()"):
        return "go on with the tensor itself: wg's and NumPy's functions take it as it is"
    if op.endswith(".assign"):
        return "go on with the value that was assigned instead of reading the Variable again"
    if op in REGISTRY and REGISTRY[op].facts.places:
        return "use the value instead of its place (max, take_along_axis), or a soft choice (wg.nn.softmax)"
    if op == "bool(Tensor)" or (op in REGISTRY and REGISTRY[op].facts.operator in COMPARISONS):
        return "choose between differentiable values with wg.where(condition, a, b), or use a smooth step (sigmoid)"
    if op == "convert":
        return "stay with floating values (wg.floor and wg.round keep the dtype), or use wg.custom_gradient"
    return "stay with floating values on the way, or give the function a gradient with wg.custom_gradient"
