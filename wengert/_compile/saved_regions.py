"""Branches and loops as data: their programs are graphs, and what they have prepared for backward passes is numbers.

Of a backward pass that has been taken (`loop_back`) just what running it needs is kept; other backward passes are made
anew when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._control.call import Program
from .._control.loop import BackwardStep, History, Loop, Reading
from .._control.loop_back import LoopBack
from .._control.switch import Branches
from .._core.dims import Atom, Dim, DimLike, dims_in
from .._core.types import TensorType

if TYPE_CHECKING:
    from .saved import Decoder, Encoder

REGIONS = (Program, Branches, Loop, LoopBack)
_STEP = ("carries", "sums", "xs", "stacked", "invariants", "slices")


# -- to data ----------------------------------------------------------------------------------------------------------


def region_data(encoder: Encoder, value: Any) -> dict[str, Any]:
    """What an op that holds programs runs, as data."""
    if isinstance(value, Program):
        return {"is": "program", "graph": encoder.graph(value.graph), "count": value.count}
    if isinstance(value, Branches):
        programs = [region_data(encoder, program) for program in value.programs]
        types = [[encoder.attribute(t.shape), t.dtype.name] for t in value.results]
        outside = [[encoder.attribute(Dim({(atom,): 1})), encoder.attribute(d)] for atom, d in value.outside.items()]
        return {
            "is": "branches", "programs": programs, "own": value.own, "declared": value.declared, "types": types,
            "outside": outside,
        }  # fmt: skip
    if isinstance(value, Loop):
        return _loop_data(encoder, value)
    return _back_data(encoder, value)


def _loop_data(encoder: Encoder, loop: Loop) -> dict[str, Any]:
    return {
        "is": "loop",
        "condition": None if loop.condition is None else region_data(encoder, loop.condition),
        "body": region_data(encoder, loop.body),
        "thin": None if loop.thin is loop.body else region_data(encoder, loop.thin),
        "carries": loop.carries, "xs": loop.xs, "own": loop.own, "reversed": loop.is_reversed, "policy": loop.policy,
        "length": encoder.attribute(loop.length),
        "varying": [encoder.attribute(Dim({(atom,): 1})) for atom in sorted(loop.varying, key=lambda a: a.serial)],
        "outside": [[name, encoder.attribute(dim)] for name, dim in loop.outside.items()],
        "even": sorted(loop.even),
        "emits": [[[*e.positions], e.policy] if isinstance(e, History) else e for e in loop.emits],
    }  # fmt: skip


def _back_data(encoder: Encoder, back: LoopBack) -> dict[str, Any]:
    return {
        "is": "back", "spec": region_data(encoder, back.spec), "program": region_data(encoder, back.step.program),
        "lanes": back.lanes,
        "carries": [*back.reading.carries], "saved": [*back.reading.saved], "history": back.reading.history,
        "step": {name: [*getattr(back.step, name)] for name in _STEP}, "masked": [*back.step.masked],
    }  # fmt: skip


# -- and back ---------------------------------------------------------------------------------------------------------


def region_from(decoder: Decoder, data: dict[str, Any]) -> Any:
    """What `region_data` has made data of."""
    kind = data["is"]
    if kind == "program":
        graph = decoder.graph(data["graph"], is_inner=True)
        if graph.captures or graph.reads or graph.writes:
            raise ValueError("a program inside a graph reaches outside")
        return Program(graph, _whole(data["count"]))
    if kind == "branches":
        programs = [_program(decoder, item) for item in data["programs"]]
        if not programs or len({(len(p.graph.inputs), len(p.graph.outputs)) for p in programs}) != 1:
            raise ValueError("the branches have different numbers of inputs or results")
        types = (*[decoder.type(item) for item in data["types"]],)
        if len(types) != len(programs[0].graph.outputs):
            raise ValueError("the branches have another number of results than types")
        outside = _outside(decoder, data, types)
        return Branches((*programs,), _whole(data["own"]), _whole(data["declared"]), (), types, outside)
    if kind == "loop":
        return _loop(decoder, data)
    if kind == "back":
        return _back(decoder, data)
    raise ValueError(f"unknown kind of program {kind!r}")


def _outside(decoder: Decoder, data: dict[str, Any], types: Sequence[TensorType]) -> dict[Atom, DimLike]:
    """What the dimensions that only branches tell are called outside: in files of version 0.2 as they are inside."""
    if "outside" not in data:
        return {a: Dim({(a,): 1}) for t in types for d in dims_in(tuple(t.shape)) for a in d.atoms}
    pairs = [(decoder.attribute(inner), decoder.attribute(outer)) for inner, outer in data["outside"]]
    if not all(isinstance(d, Dim) and d.is_atom for pair in pairs for d in pair):
        raise ValueError("a dimension that branches tell is not one")
    return {inner.atom: outer for inner, outer in pairs}


def _program(decoder: Decoder, data: Any) -> Program:
    found = region_from(decoder, data)
    if not isinstance(found, Program):
        raise ValueError("a program was wanted")
    return found


def _loop(decoder: Decoder, data: dict[str, Any]) -> Loop:
    condition = None if data["condition"] is None else _program(decoder, data["condition"])
    body = _program(decoder, data["body"])
    length, varying = decoder.attribute(data["length"]), [decoder.attribute(item) for item in data["varying"]]
    if not all(isinstance(d, Dim) and d.is_atom for d in varying):
        raise ValueError("a dimension that varies is not one")
    loop = Loop(
        condition, body, carries=_whole(data["carries"]), xs=_whole(data["xs"]), is_reversed=bool(data["reversed"]),
        policy=_policy(data["policy"]), length=length, varying=[d.atom for d in varying],
    )  # fmt: skip
    loop.thin = body if data["thin"] is None else _program(decoder, data["thin"])
    loop.own = _whole(data["own"])
    loop.even = frozenset(_place(p, len(body.graph.outputs)) for p in data.get("even", []))
    loop.emits = (*[_emit(item, len(body.graph.outputs)) for item in data["emits"]],)
    for name, dim in data["outside"]:
        loop.outside[str(name)] = decoder.attribute(dim)
    inputs = len(body.graph.inputs)
    if loop.carries + loop.xs > inputs or len(loop.thin.graph.inputs) != inputs:
        raise ValueError("a loop has another number of inputs than its step")
    if min(len(body.graph.outputs), len(loop.thin.graph.outputs)) < loop.carries + loop.own:
        raise ValueError("the step of a loop gives too few results")
    if condition is not None and (len(condition.graph.outputs) != 1 or len(condition.graph.inputs) + loop.xs != inputs):
        raise ValueError("the condition of a loop does not fit its step")
    return loop


def _emit(item: Any, outputs: int) -> int | History:
    if isinstance(item, int):
        return _place(item, outputs)
    positions, policy = item
    return History((*[_place(p, outputs) for p in positions],), _policy(policy))


def _back(decoder: Decoder, data: dict[str, Any]) -> LoopBack:
    spec = region_from(decoder, data["spec"])
    if not isinstance(spec, Loop):
        raise ValueError("a loop was wanted")
    inputs, outputs = len(spec.body.graph.inputs), len(spec.body.graph.outputs)
    places = {name: (*[_whole(p) for p in data["step"][name]],) for name in _STEP}
    if any(p >= inputs for name in _STEP if name != "stacked" for p in places[name]):
        raise ValueError("a backward pass asks for an input that is not there")
    # files of before have programs for cotangents that may all hold structural zeros
    masked = data.get("masked", [True] * (len(places["carries"]) + len(places["stacked"])))
    step = BackwardStep(program=_program(decoder, data["program"]), **places, masked=(*map(bool, masked),))
    saved = (*[_place(p, outputs) for p in data["saved"]],)
    carries = (*[_place(p, inputs) for p in data["carries"]],)
    reading = Reading(carries, saved, _whole(data["history"]))
    return LoopBack(spec, reading, step, _whole(data["lanes"]))


def _whole(data: object) -> int:
    if type(data) is not int or data < 0:
        raise ValueError("a number that is not negative was wanted")
    return data


def _place(data: Any, count: int) -> int:
    if _whole(data) >= count:
        raise ValueError("a place is out of range")
    return data


def _policy(data: object) -> Any:
    if data in ("all", "sqrt", "auto") or (type(data) is int and data > 0):
        return data
    raise ValueError("an unknown policy")
