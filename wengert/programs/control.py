"""Branches and loops that differentiate: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map`.

Where the values are at hand, branches and loops run as plain Python and a tape records what ran. In a trace each
becomes one op over traced bodies (`_control/switch.py`, `_control/loop.py`).
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, SupportsIndex, cast

import numpy as np

from .._compile.arguments import require_callable
from .._compile.bridge import as_program, bridged, has_tracers, is_known
from .._control.eager_loop import NeverRan, ScanSteps, WhileSteps, run_eagerly
from .._control.linearity import Linearity
from .._control.loop import Loop, run_loop
from .._control.region import Body, close_body, closure_of, trace_body
from .._control.switch import Branches, switch_branches
from .._control.values import (
    Carried,
    Leaves,
    connected,
    do_meet,
    met_dtype,
    require_same_structure,
    require_same_type,
    same_but_late,
    strong_unless,
    with_extents,
)
from .._core import budget, dtypes
from .._core.argument_types import ArrayLike, Tree
from .._core.caller import NUMPY, TENSORS, Caller, caller_of
from .._core.constant import weakened, with_weak
from .._core.dims import Dim
from .._core.kinds import SEQUENCES
from .._core.public import public
from .._core.state import STATE, building
from .._core.structure import LEAF
from .._core.tensor import Tensor, Value
from .._core.types import TensorType, same_dim, tensor_type, type_of
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import structural as S
from .._transforms.tape import Tape
from ..errors import TracingError
from ..ops.promotion import as_tensor, stack_rows

__all__ = [
    "cond", "fori_loop", "map", "scan", "set_memory_budget", "switch", "while_loop",
]  # fmt: skip


# -- branches ---------------------------------------------------------------------------------------------------------


@bridged
def cond(pred: ArrayLike, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Tree) -> Any:
    """The result of one of two functions, chosen by a boolean.

    The gradient is that of the branch taken. Operands always count as connected; what the functions use from outside
    counts so if some branch has a differentiable path from it to the result. Its gradient is zero, not None, where the
    branch taken does not use it. Nothing of a branch that is not taken is computed, so none of its NaNs gets anywhere.

    Args:
        pred: one boolean: a Python or NumPy bool, or a boolean tensor of one element. No gradient flows to it.
        true_fn: called with the operands if `pred` holds.
        false_fn: called with the operands otherwise; returns the same structure, shapes and dtypes.
        *operands: arrays, or nested structures of them.

    Returns:
        What the chosen function returns, in the operands' kind of array.

    Raises:
        TypeError: a function is not callable, `pred` is not boolean, or (in a trace) the branches disagree.
        ValueError: `pred` has more than one element.

    Example:
        >>> import wengert as wg
        >>> f = lambda x: wg.cond(x > 1, lambda v: v * v, lambda v: 3 * v, x)
        >>> wg.grad(f)(2.0), wg.grad(f)(0.5)
        (np.float64(4.0), np.float64(3.0))
    """
    require_callable(true_fn, "cond")
    require_callable(false_fn, "cond")
    chosen = _predicate(pred, "cond")
    if isinstance(chosen, bool):
        return _taken(true_fn if chosen else false_fn, operands, pred)
    return _branch(chosen, (true_fn, false_fn), ("true_fn", "false_fn"), operands, "cond")


@bridged
def switch(index: object, branches: Sequence[Callable[..., Any]], *operands: object) -> Any:
    """The result of one of several functions, chosen by a number.

    Args:
        index: an integer: 0 for the first; one that is out of range takes the last.
        branches: functions of the operands that return the same structure, shapes and dtypes.
        *operands: arrays, or nested structures of them.

    Returns:
        What the chosen function returns, in the operands' kind of array.

    Raises:
        TypeError: a branch is not callable, `index` is not an integer, or (in a trace) the branches disagree.
        ValueError: there is no branch, or `index` has more than one element.

    Example:
        >>> import wengert as wg
        >>> f = lambda x, i: wg.switch(i, [lambda v: v * v, lambda v: 5 * v], x)
        >>> wg.grad(f)(3.0, 0), wg.grad(f)(3.0, 7)
        (np.float64(6.0), np.float64(5.0))
    """
    if not isinstance(branches, SEQUENCES) or not len(branches):
        raise ValueError(at_user_line(f"switch: wanted a list of at least one branch, got {branches!r}"))
    for branch in branches:
        require_callable(branch, "switch")
    place = _one_element(as_tensor(index, "switch: index"), "switch: index")
    if not dtypes.is_integer(place.dtype):
        raise TypeError(at_user_line(f"switch: wanted an integer as index, got {place.dtype.name}"))
    count = len(branches)
    if type(place._data) is not Value:
        number = int(place._data)
        return _taken(branches[number] if 0 <= number < count else branches[-1], operands, index)
    names = (*[f"branches[{i}]" for i in range(count)],)
    return _branch(place, (*branches,), names, operands, "switch")


_PLAIN = frozenset({np.bool_, np.ndarray})


def _predicate(pred: Any, what: str) -> bool | Tensor:
    """A predicate as a bool where its value is at hand, else as a symbolic scalar."""
    if type(pred) is Tensor and type(pred._data) in _PLAIN and pred._data.dtype is dtypes.bool_ and not pred.shape:
        return pred if STATE.builder is not None else _known(pred, what)
    if isinstance(pred, (bool, np.bool_)):
        return bool(cast(Any, pred))
    tensor = as_tensor(pred, f"{what}: pred")
    if tensor.dtype != dtypes.bool_:
        raise TypeError(
            at_user_line(
                f"{what}: wanted one boolean as predicate, got {tensor.dtype.name}; compare (x > 0) to get one"
            )
        )
    tensor = _one_element(tensor, f"{what}: pred")
    if type(tensor._data) is Value or STATE.builder is not None:
        return tensor
    if not is_known(tensor):
        raise _NotKnown(at_user_line(f"{what}: the predicate is a tracer: pass what it is computed from as an operand"))
    return _known(tensor, what)


def _known(pred: Tensor, what: str) -> bool:
    """A predicate's value; a rule that asks for one is not linear in it."""
    for recorder in STATE.recorders:
        if type(recorder) is Linearity:
            recorder.note_exit(pred, f"the predicate of {what}")
    return bool(pred._data)


def _one_element(tensor: Tensor, what: str) -> Tensor:
    if tensor.shape == ():
        return tensor
    if any(d != 1 for d in tensor.shape):
        raise ValueError(at_user_line(f"{what} has shape {tensor.shape}, wanted one element"))
    return S.reshape(tensor, shape=())


def _taken(function: Callable[..., Any], operands: tuple[Any, ...], chooser: object) -> Any:
    """The branch that is known to be taken, run as plain Python."""
    for recorder in STATE.recorders:
        if isinstance(recorder, Tape):
            recorder.note_choice()
    given = Leaves(operands)
    result = Leaves(function(*given.value), "the result")
    caller = TENSORS if STATE.builder is not None else given.caller
    if caller is NUMPY:
        caller = TENSORS if isinstance(chooser, Tensor) else NUMPY if operands else result.caller
    found = connected(result.tensors, given.tensors)
    return caller.result(result.rebuilt(strong_unless(_stay_weak(given, chooser, [result]), found)))


def _stay_weak(given: Leaves, chooser: object, results: Sequence[Leaves]) -> bool:
    """Whether Python numbers that branches return stay weak: beside a tensor among the operands, and what chose the
    branch counts as one; without operands beside one among the results."""
    is_chosen = type(chooser) is Tensor and not chooser._weak
    return is_chosen or given.has_arrays or (not given.fixed and any(r.has_arrays for r in results))


def _branch(
    index: Tensor, functions: tuple[Callable[..., Any], ...], names: tuple[str, ...], operands: tuple[Any, ...],
    what: str,
) -> Any:  # fmt: skip
    """One op over the traced branches."""
    return with_extents(lambda stay: _traced_branch(index, functions, names, operands, what, stay))


def _traced_branch(
    index: Tensor, functions: tuple[Callable[..., Any], ...], names: tuple[str, ...], operands: tuple[Any, ...],
    what: str, extents_stay: bool,
) -> Any:  # fmt: skip
    given = Leaves(operands)
    results: list[Leaves] = []
    types = given.types()

    def traced(function: Callable[..., Any], name: str) -> Body:
        def run(arguments: list[Tensor]) -> list[Tensor]:
            if STATE.builder is not None:
                STATE.builder.is_branch = True
            like = results[0].spec if results else LEAF
            result = function(*given.rebuilt(arguments))
            results.append(Leaves(result, "the result", like=like, extents_stay=extents_stay))
            return results[-1].tensors

        return trace_body(run, types, f"{what}.{name}")

    bodies = [traced(function, name) for function, name in zip(functions, names, strict=True)]
    _make_agree(bodies, results, names, what)
    closure = closure_of(bodies)
    programs = (*[close_body(body, closure, 0, returns_state=True) for body in bodies],)
    # state that is written counts as an operand: what is written replaces it
    declared = len(closure.written) + len(given.tensors)
    inputs = [*closure.entry(), *given.tensors, *closure.operands()]
    outs = switch_branches(index, inputs, Branches(programs, len(programs[0].graph.outputs), declared))
    closure.commit(outs[: len(closure.written)])
    weak = [all(flags) for flags in zip(*[[x._weak for x in r.tensors] for r in results], strict=True)]
    found = with_weak(outs[len(closure.written) :], weak)
    return results[0].rebuilt(strong_unless(_stay_weak(given, index, results), found))


def _leading(column: Sequence[Tensor]) -> Tensor:
    """Of what was given in one place, that whose dtype the others take."""
    wanted = column[0]
    for x in column[1:]:
        if met_dtype(wanted, x) != wanted.dtype:
            wanted = x
    return wanted


def _make_agree(bodies: list[Body], results: list[Leaves], names: Sequence[str], what: str) -> None:
    """Has all branches return values of the same types: Python numbers give way; anything else is an error."""
    first = results[0]
    for other, name in zip(results[1:], names[1:], strict=True):
        require_same_structure(what, first, other, (names[0], name))
    for place in range(len(first.tensors)):
        column = [r.tensors[place] for r in results]
        wanted = _leading(column)
        for index, (body, x) in enumerate(zip(bodies, column, strict=True)):
            if x.dtype != wanted.dtype and do_meet(wanted, x):
                with building(body.graph):
                    x = S.cast(x, met_dtype(wanted, x))
                body.results[place] = body.graph.value_of(x)
            types = same_but_late(body_type(bodies[0], place), body_type(body, place))
            require_same_type(what, first.path(place), *types, (names[0], names[index]))


def body_type(body: Body, place: int) -> TensorType:
    """The type of a result of a traced body."""
    return type_of(body.results[place])


# -- loops ------------------------------------------------------------------------------------------------------------


@public
def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: object = None,
    shape_invariants: object = None, checkpoint: int | str = "auto",
) -> Any:  # fmt: skip
    """Runs a step as long as a condition holds; differentiable for any number of steps, known or not.

    Loop variables and all that the functions use from outside always count as connected. After no step at all the
    gradient of a loop variable is the identity, and that of what is used from outside is zero.

    Args:
        cond: from loop variables to one boolean.
        body: from loop variables to the next ones: the same structure, shapes and dtypes. With one spread variable it
            may return it bare.
        loop_vars: a list or tuple of loop variables, which is spread into the arguments of `cond` and `body` (a list
            of numbers, too, is as many variables), or anything else as one variable. Python numbers take the body's
            dtype; strings and None must not change.
        maximum_iterations: an integer, or an integer tensor: the most steps taken.
        shape_invariants: the shapes that hold for all steps, in `loop_vars`' structure: `TensorSpec`s or tuples with
            None for a dimension that varies (None in a place: the shape does not change).
        checkpoint: what the reverse pass keeps: "all" of what the steps save; a number of states (snapshots), from
            which steps are run again; "sqrt", about as many snapshots as steps between them; or "auto": all until
            `set_memory_budget` is reached, snapshots from there on. Gradients are the same. Outside traces the body is
            called again for the steps that run again (its side effects happen again; Variables give what they gave);
            a body that assigns Variables or writes to arrays from outside keeps all: where a later step is the first to
            do so, the loop runs once more from its start.

    Returns:
        The loop variables at the end, in their structure.

    Raises:
        TypeError: a function is not callable; `cond` does not give a boolean; loop variables disagree between steps.
        ValueError: `maximum_iterations` is negative or not an integer; the condition has several elements; an unknown
            `checkpoint`.

    Example:
        >>> import wengert as wg
        >>> square_until_8 = lambda x: wg.while_loop(lambda v: v < 8, lambda v: v * v, x)
        >>> wg.value_and_grad(square_until_8)(2.0)
        ValueAndGrad(value=np.float64(16.0), grad=np.float64(32.0))
    """
    require_callable(cond, "while_loop: cond")
    require_callable(body, "while_loop: body")

    is_spread = type(loop_vars) in (list, tuple)

    def again(most: Any, *variables: Any) -> Any:
        given = type(loop_vars)(variables) if is_spread else variables[0]
        return while_loop(cond, body, given, most, shape_invariants, checkpoint)

    def as_one() -> Any:
        # each loop variable by itself: a list of numbers would be one array
        return as_program(again, (maximum_iterations, *(loop_vars if is_spread else (loop_vars,))), {}, "while_loop")

    if has_tracers((loop_vars, maximum_iterations)):
        return as_one()

    def test(variables: Any) -> bool | Tensor:
        holds = _spread(cond, variables, "cond") if is_spread else cond(variables)
        return _predicate(holds, "while_loop: the condition")

    def spread(variables: Any) -> Any:
        return _spread(body, variables, "body")

    def spread_one(variables: Any) -> Any:
        return _bare(_spread(body, variables, "body"), variables)

    step = body if not is_spread else spread_one if len(loop_vars) == 1 else spread
    policy = checkpoint_policy(checkpoint, "while_loop")

    def run(extents_stay: bool) -> Any:
        given = Leaves(loop_vars, "loop_vars", lists=int(is_spread), extents_stay=extents_stay)
        carried = Carried(given, shape_invariants, "while_loop", is_spread)
        return _while(test, step, carried, _most_steps(maximum_iterations), policy)

    try:
        return with_extents(run)
    except _NotKnown:  # the condition reads a tracer from outside
        return as_one()


class _NotKnown(TracingError):
    """A predicate is a framework's tracer: the construct must be traced."""


@bridged
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, checkpoint: Any = "auto") -> Any:
    """Runs a step for each integer from `lower` to `upper`, the latter left out.

    Args:
        lower: an integer, or an integer tensor of one element.
        upper: as `lower`; no step runs if it is not larger.
        body_fun: `body_fun(i, value)` gives the next value: the same structure, shapes and dtypes.
        init_val: the value at the start: an array, a number or a nested structure.
        checkpoint: what the reverse pass keeps, as for `while_loop`.

    Returns:
        The value at the end.

    Raises:
        TypeError: the body is not callable, a bound is not an integer, or the value changes its type.
        ValueError: a bound has several elements; an unknown `checkpoint`.

    Example:
        >>> import wengert as wg
        >>> power = lambda x: wg.fori_loop(0, 3, lambda i, v: v * x, 1.0)
        >>> wg.value_and_grad(power)(2.0)
        ValueAndGrad(value=np.float64(8.0), grad=np.float64(12.0))
    """
    require_callable(body_fun, "fori_loop")
    first, last = _bound(lower, "lower"), _bound(upper, "upper")

    def test(variables: Any) -> bool | Tensor:
        return _predicate(D.lt(variables[0], last), "fori_loop")

    def step(variables: Any) -> Any:
        index, value = variables
        following = S.add(index, S.full(shape=(), value=1, dtype=dtypes.int64))
        return weakened(following), body_fun(index, value)

    caller = TENSORS if STATE.builder is not None else caller_of((init_val,))
    policy = checkpoint_policy(checkpoint, "fori_loop")
    is_known_beforehand = type(lower) is int and type(upper) is int
    most = max(upper - lower, 0) if is_known_beforehand else None

    def run(extents_stay: bool) -> Any:
        start = Leaves((first, init_val), "init_val", ("the index", "init_val"), extents_stay=extents_stay)
        return _while(test, step, Carried(start, None, "fori_loop"), None, policy, most, TENSORS)[1]

    return caller.result(with_extents(run))


def _bound(given: Any, name: str) -> Tensor:
    """A bound of `fori_loop` as a scalar, weak as a Python int is."""
    tensor = as_tensor(given, f"fori_loop: {name}")
    if not dtypes.is_integer(tensor.dtype):
        raise TypeError(at_user_line(f"fori_loop: wanted an integer as {name}, got {tensor.dtype.name}"))
    return weakened(S.alias(S.cast(_one_element(tensor, f"fori_loop: {name}"), dtypes.int64)))


def _spread(function: Callable[..., Any], variables: Sequence[Any], name: str) -> Any:
    """The function of all loop variables; a function written for one tuple of them gets told."""
    try:
        return function(*variables)
    except TypeError:
        if _takes(function, variables) or not _takes(function, (variables,)):
            raise
    letters = ", ".join(f"v{i}" for i in range(len(variables)))
    raise TypeError(
        at_user_line(
            f"while_loop: {name} takes one argument, but the {len(variables)} loop variables are spread into its "
            f"arguments; write {name} as lambda {letters}: ..., or make them one variable: loop_vars=(({letters}),)"
        )
    )


def _takes(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    """Whether a function can be called with so many arguments, if it tells."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _bare(result: Any, variables: tuple[Any, ...]) -> Any:
    """A body with one spread variable may return it bare."""
    is_bare = type(result) is Tensor or not (isinstance(result, SEQUENCES) and len(result) == 1)
    return type(variables)((result,)) if is_bare else result


def _most_steps(given: object) -> Any:
    """`maximum_iterations` as an int, a symbolic integer scalar or None."""
    if given is None:
        return None
    wanted = "while_loop: wanted an integer that is not negative as maximum_iterations, got"
    if isinstance(given, (bool, np.bool_, float, complex, str)):
        raise ValueError(at_user_line(f"{wanted} {given!r}"))
    # a number that is known is no node of a trace
    with building(STATE.builder if type(given) is Dim else None):
        tensor = as_tensor(given, "while_loop: maximum_iterations")
    if not dtypes.is_integer(tensor.dtype):
        raise ValueError(at_user_line(f"{wanted} {tensor.dtype.name}"))
    if any(d != 1 for d in tensor.shape):
        raise ValueError(at_user_line(f"{wanted} shape {tensor.shape}"))
    if type(tensor._data) is not Value:
        number = int(np.asarray(tensor.numpy()).item())
        if number < 0:
            raise ValueError(at_user_line(f"{wanted} {number}"))
        return number
    return D.maximum_iterations(S.cast(_one_element(tensor, "while_loop: maximum_iterations"), dtypes.int64))


def checkpoint_policy(checkpoint: str | int, what: str) -> Any:
    """A `checkpoint` argument, checked."""
    if isinstance(checkpoint, str) and checkpoint in ("all", "sqrt", "auto"):
        return checkpoint
    if isinstance(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool) and checkpoint > 0:
        return int(cast(Any, checkpoint))
    raise ValueError(
        at_user_line(
            f"{what}: unknown checkpoint {checkpoint!r}; wanted 'all', 'sqrt', 'auto' or a number of snapshots"
        )
    )


def _while(
    test: object, step: object, carried: Carried, most: Any, policy: object, bound: int | None = None,
    caller: Caller | None = None,
) -> Any:  # fmt: skip
    """A conditional loop, run as plain Python or traced; it is known to take no more than `bound` steps."""
    given = carried.given
    if STATE.builder is not None:
        return _trace_while(test, step, carried, most, policy, bound)
    caller = caller or (given.caller if given.tensors else TENSORS)
    return caller.result(_run_while(test, step, carried, most, policy))


def _run_while(test: object, step: Any, carried: Carried, most: int | None, policy: object) -> Any:
    """The loop as plain Python."""

    def never_ran() -> NeverRan:
        return _never_ran(carried, [], lambda: _while_types(test, step, carried))

    finals, _ = run_eagerly(WhileSteps(carried, test, step, most), policy, lambda columns: [], never_ran)
    return _variables_of(carried.given, finals)


def _variables_of(given: Leaves, finals: Sequence[Tensor]) -> Any:
    """Loop variables at the end: numbers stay weak beside a tensor among those at the start."""
    return given.rebuilt(strong_unless(given.has_arrays, finals))


def _while_types(test: Any, step: Callable[..., Any], carried: Carried) -> tuple[list[Body], Types]:
    """Condition and body on symbols, and the types of the loop variables."""
    types, _ = carried.traced()

    def condition(arguments: list[Tensor]) -> list[Tensor]:
        found = test(carried.given.rebuilt(arguments))
        return [found] if isinstance(found, Tensor) else []

    body, types = _while_body(step, carried, types, False)
    return [trace_body(condition, types, "while_loop.cond"), body], types


def _never_ran(
    carried: Carried, stacks: list[Tensor], trace: Callable[[], tuple[list[Body], Types]]
) -> NeverRan:  # fmt: skip
    """What a loop without steps gives: Python numbers in the dtype that the body would give them, and its captures."""
    given = carried.given
    tensors = given.tensors
    if not STATE.recorders and not any(x._weak for x in tensors):
        return tensors, stacks, ()
    try:
        bodies, types = trace()
    except Exception:  # the functions never ran: what they would have raised is nobody's concern
        return tensors, stacks, ()
    closure = closure_of(bodies)
    weak = [flag for _, flag in types]
    finals = with_weak([S.alias(S.cast(x, t.dtype)) for x, (t, _) in zip(tensors, types, strict=True)], weak)
    return finals, stacks, (*closure.operands(), *closure.entry())


def _trace_while(test: Any, step: Any, carried: Carried, most: Any, policy: Any, bound: int | None) -> Any:
    """The loop as one op."""
    given = carried.given
    types, varying = carried.traced()
    body, types = _while_body(step, carried, types, most is not None)

    def condition(arguments: list[Tensor]) -> list[Tensor]:
        found = test(given.rebuilt(arguments[: len(given.tensors)]))
        holds = S.constant(value=np.bool_(found)) if isinstance(found, bool) else found
        if most is not None:
            limit = most if isinstance(most, Tensor) else S.full(shape=(), value=most, dtype=dtypes.int64)
            holds = D.logical_and(D.lt(arguments[-1], limit), holds)
        return [holds]

    start = [S.cast(x, t.dtype) for x, (t, _) in zip(given.tensors, types, strict=False)]
    if most is not None:
        start.append(S.full(shape=(), value=0, dtype=dtypes.int64))
    checked = trace_body(condition, types, "while_loop.cond")
    closure = closure_of([checked, body])
    count = len(types)
    spec = Loop(
        close_body(checked, closure, count, returns_state=False), close_body(body, closure, count, returns_state=True),
        carries=count + len(closure.written), policy=policy, varying=varying,
        length=bound, most=most if isinstance(most, int) else bound,
    )  # fmt: skip
    outs = run_loop([*start, *closure.entry(), *closure.operands()], spec)
    closure.commit(outs[count : count + len(closure.written)])
    finals = with_weak(outs[: len(given.tensors)], [weak for _, weak in types[: len(given.tensors)]])
    return _variables_of(given, finals)


Types = list[tuple[TensorType, bool]]


def _while_body(step: Callable[..., Any], carried: Carried, types: Types, counts: bool) -> tuple[Body, Types]:
    """The traced step, which counts itself behind the loop variables if it has to, and the types that it carries."""
    given = carried.given
    count = len(given.tensors)
    counter: Types = [(tensor_type((), dtypes.int64), False)] if counts else []

    def run(after: list[Tensor], arguments: list[Tensor]) -> list[Tensor]:
        after += carried.accept(arguments[:count], step(given.rebuilt(arguments[:count])))[1]
        following = [S.add(arguments[-1], S.full(shape=(), value=1, dtype=dtypes.int64))] if counts else []
        return [*after, *following]

    body, types = _settled(run, types, counter, "while_loop.body")
    return body, [*types, *counter]


def _settled(
    run: Callable[[list[Tensor], list[Tensor]], list[Tensor]], types: Types, rest: Types, name: str
) -> tuple[Body, Types]:  # fmt: skip
    """A traced step, and the types of its carries: Python numbers take the dtype that the step gives them.

    Args:
        run: the step; it puts the carries behind it into its first argument.
        types: of the carries at the start.
        rest: the types of its other arguments.
        name: for listings.
    """
    while True:
        after: list[Tensor] = []
        body = trace_body(partial(run, after), [*types, *rest], name)
        found = [(tensor_type(t.shape, x.dtype), weak and x._weak) for (t, weak), x in zip(types, after, strict=True)]
        if found == types:
            return body, types
        types = found


# -- loops over arrays ------------------------------------------------------------------------------------------------


@bridged
def scan(
    f: Callable[..., Any], init: Tree, xs: Tree = None, length: int | None = None, reverse: bool = False,
    checkpoint: str | int = "auto", unroll: int = 1,
) -> tuple[Any, Any]:  # fmt: skip
    """Runs a step for each slice of some arrays along their first axis, and stacks what the steps give.

    Args:
        f: `f(carry, x)` returns `(carry, y)`: the next carry, of the same structure, shapes and dtypes, and a result.
        init: the carry at the start.
        xs: an array or a nested structure of arrays whose first axes have one extent; None with `length`.
        length: the number of steps; needed where `xs` does not tell.
        reverse: whether to go from the last slice to the first; results are stacked in the order of the slices.
        checkpoint: what the reverse pass keeps, as for `while_loop`.
        unroll: taken for the sake of programs written for Keras; it changes nothing.

    Returns:
        `(carry, ys)`: the carry at the end, and the results stacked along a new first axis.

    Raises:
        TypeError: f is not callable or does not return a pair; the carry changes its type.
        ValueError: the first axes differ, or no number of steps is given; an unknown `checkpoint`.

    Example:
        >>> import wengert as wg
        >>> total, sums = wg.scan(lambda c, x: (c + x, c + x), 0.0, [1.0, 2.0, 3.0])
        >>> float(total), sums
        (6.0, array([1., 3., 6.]))
    """
    return _scan(f, init, xs, length, reverse, checkpoint, "scan")


def _scan(
    f: object, init: Tree, xs: Tree, length: SupportsIndex | None, reverse: object, checkpoint: str | int, what: str
) -> tuple[Any, Any]:
    require_callable(f, what)
    policy = checkpoint_policy(checkpoint, what)
    rows = Leaves(xs, "xs")
    steps = _scan_length(rows, length, what)
    if STATE.builder is not None:
        return with_extents(lambda stay: _trace_scan(
            f, Carried(Leaves(init, "init", extents_stay=stay), None, what), rows, steps, bool(reverse), policy
        ))  # fmt: skip
    start = Leaves(init, "init")
    carried = Carried(start, None, what)
    kinds = [*[init] * bool(start.tensors), *[xs] * bool(rows.tensors)]
    caller = caller_of((*kinds,)) if kinds else TENSORS
    return caller.result(_run_scan(f, carried, rows, int(steps), bool(reverse), policy))


def _scan_length(rows: Leaves, length: SupportsIndex | None, what: str) -> Any:
    extents: list[Any] = []
    for index, x in enumerate(rows.tensors):
        if not x.shape:
            raise ValueError(at_user_line(f"{what}: {rows.path(index)} has no axis to go along"))
        extents.append(x.shape[0])
    if length is not None:
        extents.append(_whole(length))
    if not extents:
        raise ValueError(
            at_user_line(
                f"{what}: the number of steps is not known: give xs or length"
                if what == "scan"
                else f"{what}: there is no array in xs"
            )
        )
    for index, extent in enumerate(extents[1:], 1):
        if not same_dim(extents[0], extent):
            other = rows.path(index) if index < len(rows.tensors) else "length"
            raise ValueError(
                at_user_line(
                    f"{what}: {rows.path(0)} has {extents[0]} slices along its first axis, but {other} is {extent}"
                    if other == "length"
                    else f"{what}: {rows.path(0)} has {extents[0]} slices along its first axis, {other} has {extent}"
                )
            )
    return extents[0]


def _whole(length: Any) -> Any:
    try:
        count = length if type(length) is Dim else int(length.__index__())
    except AttributeError:
        raise TypeError(at_user_line(f"scan: wanted an integer as length, got {length!r}")) from None
    if isinstance(count, int) and count < 0:
        raise ValueError(at_user_line(f"scan: wanted a length that is not negative, got {count}"))
    return count


def _pair(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, SEQUENCES) or len(result) != 2:
        raise TypeError(at_user_line(f"scan: f must return a pair (carry, y), got {type(result).__name__}"))
    carry, y = result
    return carry, y


def _run_scan(
    f: Any, carried: Carried, rows: Leaves, steps: int, is_reversed: bool, policy: int | str
) -> tuple[Any, Any]:
    """The scan as plain Python."""

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        return _pair(f(carry, x))

    scanned = ScanSteps(carried, step, rows, steps, is_reversed)
    results: list[Leaves] = []
    weak: list[bool] = []  # of each stack

    def stack(columns: Sequence[list[Tensor]]) -> list[Tensor]:
        assert scanned.example is not None
        weak[:] = [all(x._weak for x in column) for column in columns]
        if scanned.of_numbers:
            columns = _of_arrays(columns, scanned.of_numbers, traced_dtypes)
        return _stacked(scanned.example, columns, is_reversed)

    def traced_dtypes() -> list[np.dtype[Any]]:
        _scan_body(f, carried, rows, results)
        return [x.dtype for x in results[-1].tensors]

    def never_ran() -> NeverRan:
        body, types = _scan_body(f, carried, rows, results)
        weak[:] = [x._weak for x in results[-1].tensors]
        stacks = [S.full(shape=(0, *x.shape), value=0, dtype=x.dtype) for x in results[-1].tensors]
        return _never_ran(carried, stacks, lambda: ([body], types))

    finals, stacks = run_eagerly(scanned, policy, stack, never_ran)
    example = scanned.example or results[-1]
    return _scanned(carried.given, rows, finals, example, with_weak(stacks, weak))


def _scanned(
    given: Leaves, rows: Leaves, finals: Sequence[Tensor], example: Leaves, stacks: Sequence[Tensor]
) -> tuple[Any, Any]:
    """What a scan gives: numbers stay weak beside a tensor among what it starts from and what it consumes."""
    stay_weak = given.has_arrays or rows.has_arrays
    return given.rebuilt(strong_unless(stay_weak, finals)), example.rebuilt(strong_unless(stay_weak, stacks))


def _stacked(example: Leaves, columns: Sequence[list[Tensor]], is_reversed: bool) -> list[Tensor]:
    """The results of all steps, one array for each place."""
    stacks: list[Tensor] = []
    for place, column in enumerate(columns):
        column = _met(column)
        for x in column[1:]:
            require_same_type("scan", example.path(place), column[0], x, ("a step", "another one"))
        stacks.append(stack_rows(column[::-1] if is_reversed else column, "scan"))
    return stacks


def _of_arrays(
    columns: Sequence[list[Tensor]], count: int, traced: Callable[[], list[np.dtype[Any]]]
) -> Sequence[list[Tensor]]:  # fmt: skip
    """What steps gave as if Python numbers among the loop variables had from the start the dtype that they took.

    Args:
        columns: what the steps gave, by place.
        count: how many steps had the numbers.
        traced: the dtypes that a trace gives, whose numbers have the dtype from the start.
    """
    steps = len(columns[0]) if columns else 0
    if count < steps:
        wanted = [column[count].dtype for column in columns]
    elif count == 1:
        try:
            wanted = traced()
        except Exception:  # f asks for values: these are what there is
            return columns
    else:
        return columns
    pairs = zip(columns, wanted, strict=True)
    return [[*[_narrowed(x, dtype) for x in column[:count]], *column[count:]] for column, dtype in pairs]


def _narrowed(x: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """A float in another dtype of floats, or of complex numbers."""
    are_floats = dtypes.is_inexact(x.dtype) and dtypes.is_inexact(dtype)
    fits = are_floats and not x._weak and (dtypes.is_complex(dtype) or not dtypes.is_complex(x.dtype))
    return S.cast(x, dtype) if fits and x.dtype != dtype else x


def _met(column: list[Tensor]) -> list[Tensor]:
    """What steps gave in one place: Python numbers take the dtype of the others, as in a trace."""
    if all(x.dtype is column[0].dtype for x in column):
        return column
    wanted = _leading(column)
    return [S.cast(x, met_dtype(wanted, x)) if x._weak and x.dtype != wanted.dtype else x for x in column]


def _scan_body(f: Any, carried: Carried, rows: Leaves, results: list[Leaves]) -> tuple[Body, Types]:
    """The traced step, and the types of the carries that it settles on; `results` gets what it gives."""
    given = carried.given
    count = len(given.tensors)

    def run(after: list[Tensor], arguments: list[Tensor]) -> list[Tensor]:
        carry, y = _pair(f(given.rebuilt(arguments[:count]), rows.rebuilt(arguments[count:])))
        after += carried.accept(arguments[:count], carry)[1]
        results.append(Leaves(y, "y", extents_stay=False))
        return [*after, *results[-1].tensors]

    of_slices = [(tensor_type(x.shape[1:], x.dtype), x._weak) for x in rows.tensors]
    return _settled(run, given.types(), of_slices, "scan.body")


def _trace_scan(
    f: object, carried: Carried, rows: Leaves, steps: Any, is_reversed: bool, policy: object
) -> tuple[Any, Any]:  # fmt: skip
    """The scan as one op."""
    given = carried.given
    results: list[Leaves] = []
    body, types = _scan_body(f, carried, rows, results)
    closure = closure_of([body])
    count = len(types)
    width = count + len(closure.written)
    spec = Loop(
        None, close_body(body, closure, count, returns_state=True), carries=width, xs=len(rows.tensors),
        is_reversed=is_reversed, policy=policy, length=steps,
    )  # fmt: skip
    spec.even = frozenset(range(width, width + spec.own))
    start = [S.cast(x, t.dtype) for x, (t, _) in zip(given.tensors, types, strict=True)]
    total = S.dim_value(dim=steps) if type(steps) is Dim else S.full(shape=(), value=steps, dtype=dtypes.int64)
    outs = run_loop([total, *start, *closure.entry(), *rows.tensors, *closure.operands()], spec)
    closure.commit(outs[count:width])
    y = results[-1]
    carry = with_weak(outs[:count], [weak for _, weak in types])
    return _scanned(given, rows, carry, y, with_weak(outs[width:], [x._weak for x in y.tensors]))


@public
def set_memory_budget(size: int) -> None:
    """Sets how many bytes the histories of loops with `checkpoint="auto"` may take in one gradient.

    A loop whose history would exceed it keeps snapshots instead, and says so to the logger "wengert".

    Args:
        size: the number of bytes (2 GiB unless set).

    Raises:
        TypeError: `size` is not an integer.
        ValueError: `size` is negative.

    Example:
        >>> import wengert as wg
        >>> wg.set_memory_budget(2 * 1024**3)
    """
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]  # users
        raise TypeError(at_user_line(f"set_memory_budget: wanted a number of bytes, got {size!r}"))
    if size < 0:
        raise ValueError(at_user_line(f"set_memory_budget: wanted a number of bytes that is not negative, got {size}"))
    budget.set_limit(int(size))


@bridged
def map(f: Callable[[Any], Any], xs: Tree) -> Any:
    """Applies a function to each slice of some arrays along their first axis, one after the other.

    Args:
        f: a function of one argument.
        xs: an array or a nested structure of arrays whose first axes have one extent.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        TypeError: f is not callable.
        ValueError: the first axes differ, or there is no array.

    Example:
        >>> import wengert as wg
        >>> wg.map(lambda x: x * x, [1.0, 2.0, 3.0])
        array([1., 4., 9.])
    """
    require_callable(f, "map")

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        return carry, f(x)

    return _scan(step, None, xs, None, False, "auto", "map")[1]
