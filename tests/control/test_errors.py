"""What branches and loops refuse: which error, that it says what came and what was wanted, and the user's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

X = np.array(2.0)
V = np.array([1.0, 2.0])
true = np.bool_(True)

_no_gradient = wg.primitive("no_gradient_for_errors", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)


class Refusal(NamedTuple):
    """A call that is an error.

    Attributes:
        call: with x = 2.0, v = [1.0, 2.0] and p = True as tensors.
        kind: of the error.
        says: parts of its message, in this order.
        modes: where it is one: eager runs check only what ran (decision 6).
    """

    call: Callable[..., Any]
    kind: type[Exception]
    says: tuple[str, ...]
    modes: tuple[str, ...] = ("eager", "traced")


TRACED = ("traced",)
forever = lambda *_: wg.full((), True)
REFUSALS = {
    # branches that disagree: both sides, and the leaf's path (decision 18)
    "cond structure": Refusal(lambda x, v, p: wg.cond(p, lambda: (x, x), lambda: x), TypeError,
        ("cond: the structures differ", "true_fn", "(float64[], float64[])", "false_fn", "float64[]"), TRACED),
    "cond count": Refusal(lambda x, v, p: wg.cond(p, lambda: (x, x), lambda: (x, x, x)), TypeError,
        ("cond: the structures differ", "true_fn", "false_fn"), TRACED),
    "cond None": Refusal(lambda x, v, p: wg.cond(p, lambda: (x, None), lambda: (x, x)), TypeError,
        ("cond: the structures differ", "true_fn", "None", "false_fn"), TRACED),
    "cond fixed leaf": Refusal(lambda x, v, p: wg.cond(p, lambda: (x, "a"), lambda: (x, "b")), TypeError,
        ("cond: a leaf that is not an array differs", "true_fn", "'a'", "false_fn", "'b'"), TRACED),
    "cond shape": Refusal(lambda x, v, p: wg.cond(p, lambda: {"a": v}, lambda: {"a": v[:1]}), TypeError,
        ("cond: the result['a'] differs in shape", "true_fn ", "float64[2]", "false_fn", "float64[1]"), TRACED),
    "cond dtype": Refusal(lambda x, v, p: wg.cond(p, lambda: [v, x], lambda: [v, wg.astype(x, "float32")]), TypeError,
        ("cond: the result[1] differs in dtype", "true_fn ", "float64[]", "false_fn", "float32[]"), TRACED),
    "switch shape": Refusal(lambda x, v, p: wg.switch(wg.astype(x, int), [lambda: x, lambda: x, lambda: v]), TypeError,
        ("switch: the result differs in shape", "branches[0]", "float64[]", "branches[2]", "float64[2]"), TRACED),
    # bodies that disagree
    "while structure": Refusal(lambda x, v, p: wg.while_loop(lambda u: p, lambda u: (u, u), x), TypeError,
        ("while_loop: the structures differ", "before the step", "float64[]", "after it", "(float64[], float64[])")),
    "while shape": Refusal(lambda x, v, p: wg.while_loop(lambda u: p, lambda u: wg.concatenate([u, u]), v), TypeError,
        ("while_loop: loop_vars differs in shape; declare what varies in shape_invariants", "before the step",
         "float64[2]", "after it", "float64[4]")),
    "while dtype": Refusal(
        lambda x, v, p: wg.while_loop(lambda u: p, lambda u: {"a": wg.astype(u["a"], "float32")}, {"a": x}), TypeError,
        ("while_loop: loop_vars['a'] differs in dtype", "before the step", "float64[]", "after it", "float32[]")),
    "while fixed leaf": Refusal(lambda x, v, p: wg.while_loop(lambda u, s: p, lambda u, s: (u, "b"), (x, "a")), TypeError,
        ("while_loop: a leaf that is not an array differs", "'a'", "'b'")),
    "while one tuple": Refusal(lambda x, v, p: wg.while_loop(lambda c: c[0] > 0, lambda c: (c[0], c[1]), (x, v)), TypeError,
        ("while_loop: ", "takes one argument", "2 loop variables are spread", "lambda v0, v1: ...", "loop_vars=((v0, v1),)")),
    "while one tuple, body": Refusal(lambda x, v, p: wg.while_loop(lambda a, b: p, lambda c: c, (x, v)), TypeError,
        ("while_loop: body takes one argument", "2 loop variables are spread", "write body as lambda v0, v1: ...")),
    "while invariant": Refusal(
        lambda x, v, p: wg.while_loop(lambda u: p, lambda u: u, v, shape_invariants=(3,)), ValueError,
        ("while_loop: the shape invariant (3,) does not hold for loop_vars", "(2,)")),
    "while invariants": Refusal(
        lambda x, v, p: wg.while_loop(lambda a, b: p, lambda a, b: (a, b), (x, v), shape_invariants=[()]), ValueError,
        ("while_loop: shape_invariants has 1 entries for 2 loop variables",)),
    "fori structure": Refusal(lambda x, v, p: wg.fori_loop(0, 3, lambda i, u: (u, u), x), TypeError,
        ("fori_loop: the structures differ", "before the step", "after it")),
    "fori shape": Refusal(lambda x, v, p: wg.fori_loop(0, 3, lambda i, u: {"w": v[:1]}, {"w": v}), TypeError,
        ("fori_loop: init_val['w'] differs in shape", "float64[2]", "float64[1]")),
    "fori dtype": Refusal(lambda x, v, p: wg.fori_loop(0, 3, lambda i, u: wg.astype(u, "float32"), x), TypeError,
        ("fori_loop: init_val differs in dtype", "float64[]", "float32[]")),
    "scan structure": Refusal(lambda x, v, p: wg.scan(lambda c, r: ((c, c), r), x, v), TypeError,
        ("scan: the structures differ", "before the step", "after it")),
    "scan dtype": Refusal(lambda x, v, p: wg.scan(lambda c, r: (wg.astype(c, "float32"), r), x, v), TypeError,
        ("scan: init differs in dtype", "float64[]", "float32[]")),
    "scan pair": Refusal(lambda x, v, p: wg.scan(lambda c, r: c, x, v), TypeError,
        ("scan: f must return a pair (carry, y), got Tensor",)),
    # predicates
    "cond integer": Refusal(lambda x, v, p: wg.cond(1, lambda: x, lambda: x), TypeError,
        ("cond: wanted one boolean as predicate, got int64; compare (x > 0) to get one",)),
    "cond float": Refusal(lambda x, v, p: wg.cond(x, lambda: x, lambda: x), TypeError,
        ("cond: wanted one boolean as predicate, got float64",)),
    "cond vector": Refusal(lambda x, v, p: wg.cond(v > 1, lambda: x, lambda: x), ValueError,
        ("cond: pred has shape (2,), wanted one element",)),
    "while float": Refusal(lambda x, v, p: wg.while_loop(lambda u: u, lambda u: u, x), TypeError,
        ("while_loop: the condition", "wanted one boolean", "got float64")),
    "while vector": Refusal(lambda x, v, p: wg.while_loop(lambda u: v > u, lambda u: u, x), ValueError,
        ("while_loop: the condition", "shape (2,), wanted one element")),
    "switch float": Refusal(lambda x, v, p: wg.switch(x, [lambda: x]), TypeError,
        ("switch: wanted an integer as index, got float64",)),
    "switch vector": Refusal(lambda x, v, p: wg.switch(np.array([0, 1]), [lambda: x]), ValueError,
        ("switch: index has shape (2,), wanted one element",)),
    "switch none": Refusal(lambda x, v, p: wg.switch(0, []), ValueError, ("switch: wanted a list of at least one branch",)),
    # what is not callable
    "cond not callable": Refusal(lambda x, v, p: wg.cond(p, x, lambda: x), TypeError, ("cond", "callable", "Tensor")),
    "switch not callable": Refusal(lambda x, v, p: wg.switch(0, [lambda: x, 3]), TypeError, ("switch", "callable", "int")),
    "while cond not callable": Refusal(lambda x, v, p: wg.while_loop(True, lambda u: u, x), TypeError,
        ("while_loop: cond", "callable", "bool")),
    "while body not callable": Refusal(lambda x, v, p: wg.while_loop(lambda u: p, x, x), TypeError,
        ("while_loop: body", "callable", "Tensor")),
    "fori not callable": Refusal(lambda x, v, p: wg.fori_loop(0, 3, None, x), TypeError, ("fori_loop", "callable", "NoneType")),
    "scan not callable": Refusal(lambda x, v, p: wg.scan(v, x, v), TypeError, ("scan", "callable", "Tensor")),
    "map not callable": Refusal(lambda x, v, p: wg.map(v, v), TypeError, ("map", "callable", "Tensor")),
    "vectorized_map not callable": Refusal(lambda x, v, p: wg.vectorized_map(v, v), TypeError,
        ("vectorized_map", "callable", "Tensor")),
    # maximum_iterations (decision 18)
    **{f"maximum_iterations {given!r}": Refusal(
        lambda x, v, p, given=given: wg.while_loop(forever, lambda u: u, x, maximum_iterations=given), ValueError,
        ("while_loop: wanted an integer that is not negative as maximum_iterations, got", said))
       for given, said in [(-1, "-1"), (2.0, "2.0"), (True, "True"), ("3", "'3'"), (np.array([1, 2]), "shape (2,)"),
                           (np.array(1.5), "float64"), (np.array(-2), "-2")]},
    # counts
    "fori float": Refusal(lambda x, v, p: wg.fori_loop(0, 2.5, lambda i, u: u, x), TypeError,
        ("fori_loop: wanted an integer as upper, got float64",)),
    "fori vector": Refusal(lambda x, v, p: wg.fori_loop(np.array([0, 1]), 3, lambda i, u: u, x), ValueError,
        ("fori_loop: lower has shape (2,), wanted one element",)),
    "scan lengths": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x, {"a": v, "b": wg.zeros(3)}), ValueError,
        ("scan: xs['a'] has 2 slices along its first axis, xs['b'] has 3",)),
    "scan length": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x, v, length=3), ValueError,
        ("scan: xs has 2 slices along its first axis, but length is 3",)),
    "scan no length": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x), ValueError,
        ("scan: the number of steps is not known: give xs or length",)),
    "scan negative length": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x, length=-1), ValueError,
        ("scan: wanted a length that is not negative, got -1",)),
    "scan float length": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x, length=2.0), TypeError,
        ("scan: wanted an integer as length, got 2.0",)),
    "scan scalar": Refusal(lambda x, v, p: wg.scan(lambda c, r: (c, c), x, x), ValueError,
        ("scan: xs has no axis to go along",)),
    "map scalar": Refusal(lambda x, v, p: wg.map(lambda r: r, x), ValueError, ("map: xs has no axis to go along",)),
    "vectorized_map lengths": Refusal(lambda x, v, p: wg.vectorized_map(lambda r: r, [v, wg.zeros(3)]), ValueError,
        ("vectorized_map: argument 0[1] has 3 examples along the axis", "argument 0[0] has 2")),
    # checkpoints
    **{f"checkpoint {given!r} of {name}": Refusal(lambda x, v, p, run=run, given=given: run(x, given), ValueError,
        (f"{name}: unknown checkpoint {given!r}; wanted 'all', 'sqrt', 'auto' or a number of snapshots",))
       for given in ("none", 0, -3, True, 2.0, None)
       for name, run in {
           "while_loop": lambda x, given: wg.while_loop(lambda u: u < 0, lambda u: u, x, checkpoint=given),
           "fori_loop": lambda x, given: wg.fori_loop(0, 3, lambda i, u: u, x, checkpoint=given),
           "scan": lambda x, given: wg.scan(lambda c, r: (c, c), x, length=3, checkpoint=given),
       }.items()},
}  # fmt: skip


@pytest.mark.parametrize(("name", "mode"), [(n, m) for n, r in REFUSALS.items() for m in r.modes])
def test_refusals(name: str, mode: str) -> None:
    call, kind, says, _ = REFUSALS[name]
    run = call if mode == "eager" else wg.function(call)
    with pytest.raises(kind) as caught:
        run(wg.tensor(X), wg.tensor(V), wg.tensor(true))
    text = str(caught.value)
    message, place = text.partition("\n  at ")[0], -1  # the line that is shown has the words, too
    for part in says:
        found = message.find(part, place + 1)
        assert found > place, f"{part!r} is not (or not in its place) in:\n{text}"
        place = found
    assert f"\n  at {__file__}:" in text, text
    assert type(caught.value) is kind


@pytest.mark.parametrize("name", [n for n, r in REFUSALS.items() if r.modes == TRACED])
def test_an_eager_run_checks_what_ran(name: str) -> None:
    """Decision 6: branches that disagree are reported in traces; so branches may differ in shape eagerly."""
    REFUSALS[name].call(wg.tensor(X), wg.tensor(V), wg.tensor(true))


def test_a_negative_maximum_that_is_known_at_run_time_only() -> None:
    """Where TensorFlow takes no step: a ValueError (decision 18), in a trace and in a branch of one, too."""
    run = lambda n, x: wg.while_loop(forever, lambda u: u * 2, x, maximum_iterations=n)
    nested = lambda n, x: wg.cond(x > 0, lambda: run(n, x), lambda: x)
    for f in (run, wg.function(run), wg.function(wg.function(run)), wg.function(nested)):
        with pytest.raises(ValueError, match="not negative.*got -1") as caught:
            f(np.int64(-1), 2.0)
        assert f"\n  at {__file__}:" in str(caught.value)
        assert f(np.int64(0), 2.0) == 2
        assert f(np.int64(3), 2.0) == 16
    assert wg.function(nested)(np.int64(-1), -2.0) == -2


def test_branches_of_different_shapes() -> None:
    """Eagerly the gradient of the branch taken; in a trace a TypeError (decision 18; "cond shape" above)."""
    f = lambda x, p: wg.cond(p, lambda: x[:1], lambda: 2 * x)
    assert wg.grad(f)(np.ones(3), true).tolist() == [1, 0, 0]
    assert wg.grad(f)(np.ones(3), np.bool_(False)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("style", ["if", "while", "and", "assert"])
def test_python_control_flow_on_symbols(style: str, layers: int) -> None:
    """A Python `if` or `while` on a symbolic tensor names the line and what to write in its place."""

    def f(x: Any) -> Any:
        if style == "if" and x > 0:
            return x
        while style == "while" and x > 0:
            x = x - 1
        if style == "and":
            return (x > 0) and x
        assert x > 0
        return x

    for _ in range(layers):
        f = wg.function(f)
    with pytest.raises(wg.TracingError, match=r"wg\.cond.*wg\.while_loop") as caught:
        f(2.0)
    assert f"{__file__}:" in str(caught.value)
    line = {"if": 'if style == "if" and x > 0', "while": 'while style == "while"', "and": "(x > 0) and x"}
    assert line.get(style, "assert x > 0") in str(caught.value)


@pytest.mark.parametrize("region", ["cond", "while_loop", "scan"])
def test_python_control_flow_inside_a_region(region: str) -> None:
    def step(v: Any) -> Any:
        return v if v > 1 else v * v

    def f(x: Any) -> Any:
        if region == "cond":
            return wg.cond(x > 0, step, lambda v: v, x)
        if region == "scan":
            return wg.scan(lambda c, r: (step(c), r), x, length=2)[0]
        return wg.while_loop(lambda v: v < 3, step, x)

    with pytest.raises(wg.TracingError) as caught:
        wg.function(f)(2.0)
    assert "return v if v > 1 else v * v" in str(caught.value)


INTERFACES = {
    "gradients": lambda f: lambda x: wg.gradients(f(x), [x]),
    "grad": wg.grad,
    "tape": lambda f: lambda x: taped(f, x),
}


def taped(f: Any, x: Any) -> Any:
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_missing_gradient_in_a_branch_or_a_body(interface: str) -> None:
    """LookupError when the gradient is built, whichever branch is taken and however many steps run."""
    branches = lambda x: wg.cond(x > 0, lambda: x * x, lambda: _no_gradient(x))
    body = lambda x: wg.while_loop(lambda v: v < 0, lambda v: _no_gradient(v), x)
    for f in (branches, body):
        with pytest.raises(LookupError, match="no_gradient_for_errors") as caught:
            wg.function(INTERFACES[interface](f)).trace(2.0)
        assert "\n  at " in str(caught.value)
    # an eager run differentiates what ran (decision 6)
    assert wg.grad(branches)(2.0) == 4
    assert wg.grad(body)(2.0) == 1


# -- Python loops in a trace ------------------------------------------------------------------------------------------


def unrolled(count: int) -> Any:
    def f(x: Any) -> Any:
        for _ in range(count):
            x = wg.sin(x)
        return x

    return f


def test_a_long_python_loop_in_a_trace_warns_once() -> None:
    """More than 1,000 times, once, naming the line and fori_loop and scan."""
    with pytest.warns(UserWarning, match=r"fori_loop.*scan") as told:
        wg.function(unrolled(1500)).trace(1.0)
    assert len(told) == 1
    assert "x = wg.sin(x)" in str(told[0].message)
    assert f"{__file__}:" in str(told[0].message)


@pytest.mark.parametrize("layers", ["eager", "gradient"])
def test_what_does_not_warn(layers: str) -> None:
    """Loops of 1,000 steps, eager ones of any length, gradients of traces and one long line of different ops."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if layers == "eager":
            unrolled(3000)(wg.tensor(1.0))
            wg.grad(unrolled(3000))(1.0)
        else:
            f = wg.function(wg.grad(wg.grad(unrolled(300))))
            f(1.0)
            wg.function(unrolled(1000)).trace(1.0)
            wg.function(lambda x: wg.gradients(wg.gradients(unrolled(900)(x), [x]), [x])).trace(1.0)
