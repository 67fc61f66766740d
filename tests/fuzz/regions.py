"""Steps that hold blocks: branches, loops, maps and calls, which may hold such steps in turn."""

from __future__ import annotations

from typing import Any

from tests.fuzz.maker import Block, Maker, Step, Variable, is_float, is_float_with_axes

DEEPEST = 3
MOST = 5000  # elements of what a loop carries

# what a step of a loop makes of what it carries, c, and of another value, x
INNER = [
    "wg.sin({c}) + 0.5 * {x}", "0.5 * {c} + wg.tanh({x})", "wg.tanh({c} * {x})", "{c} * 0.9 + wg.mean({x}) * 0.1",
    "wg.where({c} > {x}, {c} * 0.5, {x})", "wg.cos({c}) * wg.tanh(wg.sum({x}))", "wg.maximum({c} * 0.7, {x})",
    "{c} / (1.0 + wg.square({x}))", "{c} - 0.1 * wg.roll({c}, 1)", "wg.cumsum({c} * 0.1, axis=-1)",
    "wg.sort({c}) + 0.0 * {x}", "{c} @ {x} * 0.1", "wg.flip({c}) * 0.5",
]  # fmt: skip
WRITES = [
    "{c}.at[0].set(wg.sum({x}) * 0.1)", "{c}.at[{i} % {c}.shape[0]].add(wg.tanh(wg.sum({x})))",
    "{c}.at[-1].set({c}[0] * 0.5)",
]  # fmt: skip


def _next(m: Maker, name: str, like: Any, index: str = "0") -> str:
    """What a block gives for a value that it was given: of the same type."""
    if m.chance(0.5):
        return m.fitted(like, name)
    x = m.some(is_float).name
    texts = INNER + (WRITES if like.ndim and like.shape[0] else [])
    text = m.r.choice(texts).format(c=name, x=x, i=index)
    try:
        found = m.value_of(text)
        if found.shape == like.shape and found.dtype == like.dtype:
            return text
        m.value_of(f"wg.astype(wg.broadcast_to({text}, {name}.shape), {name}.dtype)")
    except Exception:
        return m.fitted(like, name)
    return f"wg.astype(wg.broadcast_to({text}, {name}.shape), {name}.dtype)"


def _predicate(m: Maker) -> str:
    b = m.maybe(lambda v: v.dtype.kind == "b" and not v.has_axes)
    if b is not None and m.chance(0.4):
        return b.name
    n = m.maybe(lambda v: v.is_integer and not v.has_axes)
    if n is not None and m.chance(0.3):
        return f"{n.name} % 2 == 0"
    v = m.some(is_float)
    return f"wg.sum(wg.real({v.name})) > {m.r.choice(['0.0', '0.5', '-1.0'])}"


def _iterations(m: Maker) -> str:
    """A number of iterations: known, or only at run time."""
    n = m.maybe(lambda v: v.is_integer and not v.has_axes)
    if n is not None and m.chance(0.6):
        return f"wg.clip({n.name}, 0, 4)"
    return str(m.r.choice([0, 1, 2, 3, 5, 20] if m.depth == 0 else [0, 1, 2]))


def _policy(m: Maker) -> str:
    return m.r.choice(["", ", checkpoint=policy", ", checkpoint=policy"])


def _carried(m: Maker) -> Variable:
    return m.some(lambda v: v.is_float and v.size <= MOST)


def _defined(*blocks: Block) -> str:
    return "".join(block.source for block in blocks)


def _targets(count: int) -> str:
    return ", ".join(["TARGET"] * count)


# -- branches -----------------------------------------------------------------------------------------------------------


def branches(m: Maker) -> str:
    operands = [m.some(is_float) for _ in range(m.r.randint(0, 2))]
    names = [m.fresh("c") for _ in operands]
    parameters = {name: m.values[v.name] for name, v in zip(names, operands, strict=True)}
    count = m.r.choice([1, 1, 2])
    first = m.block(parameters, lambda: ", ".join(m.some(is_float).name for _ in range(count)))
    likes = first.value if count > 1 else (first.value,)

    def same() -> str:
        return ", ".join(m.fitted(like) for like in likes)

    given = "".join(f", {v.name}" for v in operands)
    if m.chance(0.5):
        second = m.block(parameters, same)
        call = f"wg.cond({_predicate(m)}, {first.name}, {second.name}{given})"
        blocks = [first, second]
    else:
        blocks = [first, *[m.block(parameters, same) for _ in range(m.r.randint(0, 2))]]
        n = m.maybe(lambda v: v.is_integer and not v.has_axes)
        index = (
            n.name if n is not None else f"wg.astype(wg.floor(wg.sum(wg.real({m.some(is_float).name}))), 'int64') % 3"
        )
        call = f"wg.switch({index}, [{', '.join(b.name for b in blocks)}]{given})"
    return f"{_defined(*blocks)}{_targets(count)} = {call}"


# -- loops --------------------------------------------------------------------------------------------------------------


def fori(m: Maker) -> str:
    v = _carried(m)
    i, c = m.fresh("i"), m.fresh("c")
    like = m.values[v.name]
    body = m.block({i: _zero(m), c: like}, lambda: _next(m, c, like, i))
    return f"{_defined(body)}TARGET = wg.fori_loop(0, {_iterations(m)}, {body.name}, {v.name}{_policy(m)})"


def while_loop(m: Maker) -> str:
    carried = [_carried(m) for _ in range(m.r.choice([1, 1, 2]))]
    i, names = m.fresh("i"), [m.fresh("c") for _ in carried]
    likes = [m.values[v.name] for v in carried]
    parameters = {i: _zero(m), **dict(zip(names, likes, strict=True))}

    def step() -> str:
        return ", ".join([f"{i} + 1", *[_next(m, c, like, i) for c, like in zip(names, likes, strict=True)]])

    body = m.block(parameters, step)
    listed = ", ".join(parameters)
    test = (
        f"({i} < {_iterations(m)}) & (wg.sum(wg.abs({names[0]})) < 1e3)" if m.chance(0.5) else f"{i} < {_iterations(m)}"
    )
    most = m.r.choice(["", "", ", maximum_iterations=2"])
    starts = ", ".join(["0", *[v.name for v in carried]])
    call = f"wg.while_loop(lambda {listed}: {test}, {body.name}, ({starts}){most}{_policy(m)})"
    return f"{_defined(body)}_, {_targets(len(carried))} = {call}"


def scan(m: Maker) -> str:
    """With a structure as its carry now and then, rows or a length, and stacked results of every form."""
    v = _carried(m)
    w = m.maybe(lambda w: w.is_float and w.has_axes and w.shape[0] > 0)
    c, x = m.fresh("c"), m.fresh("r")
    like = m.values[v.name]
    parameters = {c: like}
    if w is not None:
        parameters[x] = m.values[w.name][0]
    kind = m.r.choice(["one", "one", "pair", "none"])

    def step() -> str:
        after = _next(m, c, like)
        y = {"one": lambda: m.some(is_float).name, "none": lambda: "None"}.get(
            kind, lambda: f"({c} * 0.5, wg.sin({m.some(is_float).name}))"
        )()
        return f"{after}, {y}"

    body = m.block(parameters, step)
    source = (
        body.source
        if w is not None
        else body.source.replace(f"def {body.name}({c}):", f"def {body.name}({c}, {x}):", 1)
    )
    rows = w.name if w is not None else f"None, length={m.r.choice([0, 1, 3])}"
    if w is not None and m.chance(0.1):
        rows = f"{w.name}[:0]"
    more = ", reverse=True" if m.chance(0.3) else ""
    left = {"one": "TARGET, TARGET", "pair": "TARGET, (TARGET, TARGET)", "none": "TARGET, _"}[kind]
    return f"{source}{left} = wg.scan({body.name}, {v.name}, {rows}{more}{_policy(m)})"


def associative(m: Maker) -> str:
    w = m.some(is_float_with_axes)
    combine = m.r.choice(["a + b", "a * b", "wg.maximum(a, b)", "a + b + 0.1 * a * b"])
    axis = m.r.choice(["", f", axis={m.axis(w)}"])
    return f"wg.associative_scan(lambda a, b: {combine}, wg.tanh({w.name}){axis})"


def mapped(m: Maker) -> str:
    """`map`, and `vmap` over one operand or two, along any axis."""
    w = m.some(lambda w: w.is_float and w.has_axes and w.shape[0] > 0)
    c = m.fresh("c")
    body = m.block({c: m.values[w.name][0]}, lambda: m.some(is_float).name)
    if m.chance(0.4):
        return f"{_defined(body)}TARGET = wg.map({body.name}, {w.name})"
    if m.chance(0.3):
        return f"{_defined(body)}TARGET = wg.vmap({body.name}, out_axes=-1)({w.name})"
    return f"{_defined(body)}TARGET = wg.vmap({body.name})({w.name})"


# -- calls --------------------------------------------------------------------------------------------------------------


def inner_function(m: Maker) -> str:
    """A compiled function, or one that is computed again in the backward pass, which uses what is around it."""
    v = m.some(is_float)
    c = m.fresh("c")
    body = m.block({c: m.values[v.name]}, lambda: m.some(is_float).name)
    wrapper = m.r.choice(["wg.function", "wg.recompute_grad", "wg.function"])
    return f"{_defined(body)}TARGET = {wrapper}({body.name})({v.name})"


def _zero(m: Maker) -> Any:
    return m.value_of("wg.asarray(0)")


def shallow(step: Step) -> Step:
    """A step that is not taken in blocks which lie deep already."""

    def taken(m: Maker) -> str:
        return step(m) if m.depth < DEEPEST and m.chance(0.6**m.depth) else ""

    return taken


STEPS: list[Step] = [
    *map(shallow, [branches, branches, fori, while_loop, while_loop, scan, scan, scan, mapped, mapped, inner_function]),
    associative,
]  # fmt: skip
