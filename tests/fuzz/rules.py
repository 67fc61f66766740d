"""Steps that differentiate, or say how they are to be differentiated: transforms, custom gradients, implicit solves."""

from __future__ import annotations

import numpy as np

from tests.fuzz import given
from tests.fuzz.maker import Block, Maker, Step, is_float, is_float_with_axes
from tests.fuzz.regions import shallow

SMALL = 12  # elements of what whole Jacobians are taken of
CONVERGED = 1e-9

CUSTOM = ["ruled", "kept", "saved", "both_ways", "ruled", "kept", "scaled"]
IMPLICIT = ["fixed_point", "fixed_point", "linear", "by_iteration", "root", "least", "lowest"]


def _block(m: Maker, like: str, is_closed: bool, is_same: bool = False) -> tuple[str, Block]:
    """A function of a value like another one; if asked for, it gives such a value, too."""
    c = m.fresh("c")
    value = m.values[like]
    body = m.block(
        {c: value}, lambda: m.fitted(value, c) if is_same else m.some(is_float).name, is_closed=is_closed
    )  # fmt: skip
    return c, body


def custom(m: Maker) -> str:
    v = m.some(is_float)
    # what is captured refuses to be differentiated, so that most blocks capture nothing
    _, body = _block(m, v.name, is_closed=m.chance(0.9))
    return f"{body.source}TARGET = given.{m.r.choice(CUSTOM)}({body.name})({v.name})"


def stopped(m: Maker) -> str:
    v = m.some(is_float)
    return f"wg.stop_gradient({v.name}) * wg.sin({v.name})"


def implicit(m: Maker) -> str:
    """One solve in another would take iterations of iterations: none is in a block."""
    if m.depth:
        return ""
    kind = m.r.choice(IMPLICIT)
    v = m.some(lambda v: v.dtype == np.float64 and v.size <= SMALL and len(v.shape) <= 1)
    if kind in ("linear", "by_iteration"):
        v = m.some(lambda v: v.dtype == np.float64 and 0 < v.size <= SMALL and len(v.shape) == 1)
    _, body = _block(m, v.name, is_closed=m.chance(0.5), is_same=True)
    text = f"{body.source}TARGET = given.{kind}({body.name}, {v.name})"
    if kind in ("fixed_point", "root"):  # only a solution has the derivative of one
        scope = m.run(text.replace("TARGET", "_x"))
        if given.gap(scope[body.name], m.values[v.name], scope["_x"]) > CONVERGED:
            return ""
    return text


def transformed(m: Maker) -> str:
    """A derivative as a value."""
    v = m.some(is_float)
    _, body = _block(m, v.name, is_closed=m.chance(0.5))
    f, x = body.name, v.name
    wanted = m.r.choice(["grad", "value_and_grad", "jvp", "vjp", "linearize", "jacobian", "hessian", "hvp"])
    if wanted in ("jacobian", "hessian"):
        v = m.some(lambda v: v.is_float and v.size <= SMALL)
        _, body = _block(m, v.name, is_closed=m.chance(0.5))
        f, x = body.name, v.name
    total = f"given.scalar({f})"
    text = {
        "grad": f"TARGET = wg.grad({total})({x})",
        "value_and_grad": f"TARGET, TARGET = wg.value_and_grad({total})({x})",
        "jvp": f"TARGET, TARGET = wg.jvp({f}, ({x},), (wg.cos({x}),))",
        "vjp": f"TARGET = wg.vjp({f}, {x})[1](wg.ones_like({f}({x})))[0]",
        "linearize": f"TARGET = wg.linearize({f}, {x})[1](wg.cos({x}))",
        "jacobian": f"TARGET = wg.jacobian({f}, mode='{m.r.choice(['auto', 'reverse', 'forward'])}')({x})",
        "hessian": f"TARGET = wg.hessian({total})({x})",
        "hvp": f"TARGET = wg.hvp({total}, {x}, wg.cos({x}))",
    }[wanted]
    return body.source + text


def batched(m: Maker) -> str:
    """Derivatives of many examples at once."""
    w = m.some(lambda w: is_float_with_axes(w) and 0 < w.shape[0] <= 20 and w.size <= 200)
    c = m.fresh("c")
    body = m.block({c: m.values[w.name][0]}, lambda: m.some(is_float).name)
    inner = m.r.choice([f"wg.grad(given.scalar({body.name}))", f"wg.jacobian({body.name})", f"given.kept({body.name})"])
    return f"{body.source}TARGET = wg.vmap({inner})({w.name})"


CUSTOM_STEPS: list[Step] = [*map(shallow, [custom, custom, custom, stopped])]
IMPLICIT_STEPS: list[Step] = [shallow(implicit)]
TRANSFORM_STEPS: list[Step] = [*map(shallow, [transformed, transformed, transformed, batched])]
