"""Implicit differentiation: `custom_root` and `custom_linear_solve`.

What a solver finds is differentiated by the equation that it solves, not through the solver's steps: the solver may be
anything, and costs nothing in the backward pass. The rules are in `_control/implicit.py` and
`_control/linear_solve.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .._compile.arguments import array_argument, require_callable
from .._control.call import Program
from .._control.closed import Closed
from .._control.custom import show_rule
from .._control.implicit import solution
from .._control.linear_solve import LinearRule, Solve, twins
from .._control.values import Leaves, connected
from .._core import dtypes
from .._core.argument_types import ArrayLike, Tree
from .._core.caller import caller_of
from .._core.derived import derived
from .._core.public import public
from .._core.state import STATE, pausing, recording, watchers
from .._core.structure import describe, flatten, unflatten
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, type_of
from .._core.user_line import at_user_line
from .._prims.structural import cast, sub, zeros_of
from .._transforms.replay import replay
from .._transforms.reverse import sweep
from .._transforms.tape import Tape
from ..errors import LostGradientError
from ..ops.promotion import as_tensor
from ..tree import ravel

__all__ = ["custom_linear_solve", "custom_root"]


@public
def custom_root(f: Callable[..., Any], solver: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a root of f, found by any solver, and differentiable by the implicit function theorem.

    Derivatives of every order, forward and reverse, with respect to the arguments and to what f uses from outside
    (Variables included). They are those of the exact root: as good as the root that the solver returns. One linear
    system with the matrix df/dx is solved for each derivative, whatever the solver did.

    Args:
        f: `f(x, *args)` returns as many numbers as x holds, in any structure; traced by its first derivative, so it
            must not need the values of its arguments for decisions in Python.
        solver: `solver(f, x0, *args)` returns the x with `f(x, *args) = 0`, in x0's structure. It gets tensors, may
            return tensors, NumPy arrays or numbers, and may use NumPy and SciPy: f gives arrays for arrays. In a
            trace it works on symbols.

    Returns:
        `root(x0, *args)`: the root in x0's structure, shapes and dtypes and the arguments' kind of array. Its
        derivative with respect to x0 is zero.

    Raises:
        TypeError: f or solver is not callable; x0 is not floating.
        ValueError: f returns another number of elements than x holds; the solver returns another structure or shape.
        LostGradientError: in a trace, a solver that needs numbers.
        numpy.linalg.LinAlgError: (from the derivative) df/dx is singular at the root.

    Example:
        >>> import scipy.optimize, wengert as wg
        >>> def solver(f, x0, a):
        ...     return scipy.optimize.newton(lambda x: f(x, a), x0)
        >>> root = wg.custom_root(lambda x, a: x**2 - a, solver)
        >>> round(float(root(1.0, 2.0)), 6), round(float(wg.grad(root, argnums=1)(1.0, 2.0)), 6)
        (1.414214, 0.353553)
    """
    require_callable(f, "custom_root")
    if not callable(solver):
        raise TypeError(at_user_line(f"custom_root: solver must be callable, got {type(solver).__name__}"))

    @public
    def root(x0: ArrayLike, *args: Tree) -> Any:
        start = started(x0, "custom_root: x0")
        call = (*map(array_argument, args),)
        with pausing(watchers()):
            try:
                found = solver(_for_solver(f), start.value, *call)
            except LostGradientError as error:
                raise _explained(error) from None
        x = answered(found, start, "custom_root: the solver")
        show_rule(
            f"the solver of {getattr(f, '__name__', type(f).__name__)}", [*start.tensors, *Leaves(call).tensors], x
        )
        caller = caller_of((x0, *args))
        return caller.result(followed_root(f, start, x, call, "custom_root"))

    made = derived(root, "A root of {}.", custom_root, f, solver)
    made.__signature__ = inspect.signature(root)
    return made


@public
def custom_linear_solve(
    matvec: Callable[[Any], Any], b: ArrayLike, solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None
) -> Any:  # fmt: skip
    """The x with `matvec(x) = b`, found by any solver, and differentiable in b and in what `matvec` uses from outside.

    Derivatives of every order, forward and reverse, by solving the same equation, or the transposed one, again.

    Args:
        matvec: a linear function of x, in b's structure and shapes.
        b: the right-hand side: an array or a nested structure of them.
        solve: `solve(matvec, b)` returns x. It gets tensors and a function, may return tensors, NumPy arrays or
            numbers, and may use NumPy and SciPy: matvec gives arrays for arrays. In a trace it works on symbols.
        transpose_solve: `transpose_solve(vecmat, b)` solves the transposed equation, in the backward pass. Without it
            `solve` does, which must then use the function that it is given (for a matrix that is symmetric, or a
            solver that knows its matrix in some other way, pass a function that solves with the transpose).

    Returns:
        x, in b's structure, shapes and dtypes and kind of array.

    Raises:
        TypeError: an argument is not callable; b is not floating.
        ValueError: `matvec` or a solver returns another structure or shape; `solve` does not use its matvec and there
            is no `transpose_solve`, when a reverse derivative needs it.
        LostGradientError: in a trace, a solver that needs numbers.

    Example:
        >>> import numpy as np, scipy.sparse.linalg, wengert as wg
        >>> def cg(matvec, b):
        ...     return scipy.sparse.linalg.cg(scipy.sparse.linalg.LinearOperator((2, 2), matvec), b)[0]
        >>> def x(d, b):
        ...     return wg.custom_linear_solve(lambda x: d * x, b, cg)
        >>> wg.grad(x)(np.array([2.0, 4.0]), np.array([1.0, 1.0])).round(6)
        array([-0.25  , -0.0625])
    """
    for given, what in ((matvec, "matvec"), (solve, "solve")):
        if not callable(given):
            raise TypeError(at_user_line(
                f"custom_linear_solve: {what} must be callable, got {type(given).__name__}"
            ))  # fmt: skip
    if transpose_solve is not None and not callable(transpose_solve):
        raise TypeError(
            at_user_line(f"custom_linear_solve: transpose_solve must be callable, got {type(transpose_solve).__name__}")
        )
    start = started(b, "custom_linear_solve: b")
    x = _Equation(matvec, start, solve, transpose_solve).solution()
    return caller_of((b,)).result(x)


# -- roots ------------------------------------------------------------------------------------------------------------


def started(x0: ArrayLike, what: str) -> Leaves:
    """A start or right-hand side: its leaves as floating tensors; integers count as floats."""
    start = Leaves(x0, what)
    if not start.tensors:
        raise TypeError(at_user_line(f"{what} holds no array, got {describe(start.spec)}"))
    for i, x in enumerate(start.tensors):
        if not dtypes.is_inexact(x.dtype):
            if not dtypes.is_integer(x.dtype):
                raise TypeError(at_user_line(f"{start.path(i)} is not floating: it has dtype {x.dtype.name}"))
            start.tensors[i] = cast(x, dtypes.default_float())
    return start


def answered(found: object, start: Leaves, what: str) -> list[Tensor]:
    """What a solver has returned, as tensors like those at the start, which nobody follows."""
    leaves, spec = flatten(found)
    if spec != start.spec and not (start.spec is None and len(leaves) == 1):
        raise ValueError(
            at_user_line(f"{what} returned {describe(spec)}, wanted the structure at the start: {describe(start.spec)}")
        )
    results: list[Tensor] = []
    for i, (place, wanted) in enumerate(zip(start.places, start.tensors, strict=True)):
        x = as_tensor(leaves[place], f"{what}: {start.path(i)}")
        if not same_shape(x.shape, wanted.shape):
            raise ValueError(at_user_line(
                f"{what} returned shape {x.shape} for {start.path(i)}, wanted {wanted.shape}"
            ))  # fmt: skip
        results.append(cast(x, wanted.dtype))
    return results


def followed_root(
    f: Callable[..., Any], start: Leaves, x: Sequence[Tensor], args: Sequence[Any], name: str
) -> Any:  # fmt: skip
    """A root that was found, as a function of the arguments and of what f uses from outside.

    Args:
        f: `f(x, *args)` is zero.
        start: what the root looks like; it counts as connected to these tensors.
        x: the leaves of the root.
        args: tensors, nested or not, and anything else.
        name: of the public function.
    """
    if not STATE.recorders and STATE.builder is None:
        return start.rebuilt(x)
    leaves, spec = flatten((*args,))
    places = [i for i, leaf in enumerate(leaves) if type(leaf) is Tensor]
    flat, unravel = ravel([*x])

    def residual(tensors: list[Tensor]) -> list[Tensor]:
        own = list(leaves)
        for place, tensor in zip(places, tensors[1:], strict=True):
            own[place] = tensor
        found = f(start.rebuilt(unravel(tensors[0])), *unflatten(spec, own))
        return [_as_vector(found, tensors[0], f"{name}: f(x)")]

    operands: list[Tensor] = [leaves[i] for i in places]
    program, further = _program(residual, [flat, *operands], name)
    root = solution(flat, program, [*operands, *further], name)
    return start.rebuilt(connected(unravel(root), start.tensors))


def _as_vector(value: object, like: Tensor, what: str) -> Tensor:
    """The numbers in a structure as a vector like another one."""
    tensors = Leaves(value, what).tensors
    found = ravel(tensors)[0] if tensors else None
    if found is None or not same_shape(found.shape, like.shape):
        shape = "no array" if found is None else f"{found.shape[0]} numbers"
        raise ValueError(at_user_line(f"{what} holds {shape}, wanted as many as x, {like.shape[0]}"))
    return cast(found, like.dtype)


def _program(
    function: Callable[[list[Tensor]], list[Tensor]], arguments: Sequence[Tensor], name: str
) -> tuple[Program, list[Tensor]]:
    """A function as a program, and what it uses from outside: the operands behind its arguments."""
    closed = Closed(function, [*map(type_of, arguments)], name)
    if closed.error is not None:
        raise closed.error
    if closed.writes:
        raise TypeError(at_user_line(f"{name}: the function assigns the Variable {closed.writes[0].name}"))
    captured, closed.captured = closed.captured, ()
    return Program(closed.graph), [*captured, *(variable.value for variable in closed.take_reads())]


def _for_solver(f: Callable[..., Any]) -> Callable[..., Any]:
    """f for a solver, which may work with arrays: then f's results are arrays."""

    def called(x: ArrayLike, *args: Tree) -> Any:
        return caller_of((x,)).result(f(array_argument(x), *map(array_argument, args)))

    return called


def _explained(error: LostGradientError) -> LostGradientError:
    return LostGradientError(
        f"{error.args[0]}\n  in a trace (a function, vmap, jacobian) a solver works on symbols: write it with "
        f"wg.while_loop and wg.linalg, or call it outside"
    )


# -- linear equations -------------------------------------------------------------------------------------------------

Operator = Callable[[Tensor], Tensor]  # on vectors


class _Equation:
    """A linear equation, its operator traced if anybody follows."""

    def __init__(self, matvec: Callable[[Any], Any], b: Leaves, solve: Any, transpose_solve: Any) -> None:
        self.matvec = matvec
        self.b = b
        self.solve = solve
        self.transpose_solve = transpose_solve
        self.flat, self.unravel = ravel([*b.tensors])

    def solution(self) -> Any:
        """The solution in b's structure."""
        if not STATE.recorders and STATE.builder is None:
            x = self._solved(self.solve, self._applied, self.flat, "solve")
        else:
            x = self._rule().solution(self.flat, self.rest)
        return self.b.rebuilt(self.unravel(x))

    def _applied(self, x: Tensor) -> Tensor:
        found = self.matvec(self.b.rebuilt(self.unravel(x)))
        return _as_vector(found, self.flat, "custom_linear_solve: matvec(x)")

    def _rule(self) -> LinearRule:
        self.program, own = _program(lambda a: [self._applied(a[0])], [self.flat], "custom_linear_solve")
        count = len(own)
        self.rest = [*own]
        solvers: list[Solve] = [self._forth, self._back]
        if STATE.builder is not None:
            solvers = [self._traced(solver, own) for solver in solvers]
        types = [type_of(self.flat), type_of(self.flat), *map(type_of, self.rest)]
        rules = [
            LinearRule("custom_linear_solve", _minus_b(operator, types, count), len(types) - 1, solver)
            for operator, solver in zip((self._of_program, self._transposed), solvers, strict=True)
        ]
        twins(*rules)
        return rules[0]

    def _traced(self, solve: Solve, own: Sequence[Tensor]) -> Solve:
        """A solver as a graph: it may use symbols from outside, which become operands."""
        closed = Closed(lambda a: [solve(a[0], a[1:])], [type_of(self.flat), *map(type_of, own)], "custom_linear_solve")
        first, count = len(self.rest), len(own)
        self.rest += closed.captured
        last = len(self.rest)
        closed.captured = ()

        def run(b: Tensor, rest: Sequence[Tensor]) -> Tensor:
            (found,) = closed.run([b, *rest[:count]], rest[first:last])
            assert found is not None
            return found

        return run

    def _of_program(self, x: Tensor, own: Sequence[Tensor]) -> Tensor:
        return replay(self.program.graph, [x, *own])[0]

    def _transposed(self, ct: Tensor, own: Sequence[Tensor]) -> Tensor:
        x = zeros_of(type_of(ct))
        tape = Tape([x._key])
        with recording(tape):
            y = self._of_program(x, own)
        (found,) = sweep(tape.entries, [(y._key, ct)], [x._key])
        return found if isinstance(found, Tensor) else zeros_of(type_of(ct))

    def _forth(self, b: Tensor, own: Sequence[Tensor]) -> Tensor:
        return self._solved(self.solve, lambda x: self._of_program(x, own), b, "solve")

    def _back(self, b: Tensor, own: Sequence[Tensor]) -> Tensor:
        if self.transpose_solve is not None:
            return self._solved(self.transpose_solve, lambda x: self._transposed(x, own), b, "transpose_solve")
        calls: list[None] = []

        def counted(x: Tensor) -> Tensor:
            calls.append(None)
            return self._transposed(x, own)

        found = self._solved(self.solve, counted, b, "solve")
        if not calls:
            raise ValueError(
                at_user_line(
                    "custom_linear_solve: the backward pass solves the transposed equation, but solve does not use "
                    "the function that it is given, so it would solve the first one again; give transpose_solve (solve "
                    "itself, if the matrix is symmetric)"
                )
            )
        return found

    def _solved(self, solve: Callable[..., Any], operator: Operator, b: Tensor, what: str) -> Tensor:
        """What a user's solver returns, as a vector."""

        def matvec(x: ArrayLike) -> Any:
            vector = _as_vector(answered(x, self.b, "custom_linear_solve: the solver"), b, "custom_linear_solve: x")
            y = self.b.rebuilt(self.unravel(operator(vector)))
            return caller_of((x,)).result(y)

        with pausing(watchers()):
            try:
                found = solve(matvec, self.b.rebuilt(self.unravel(b)))
            except LostGradientError as error:
                raise _explained(error) from None
            x = ravel(answered(found, self.b, f"custom_linear_solve: {what}"))[0]
        show_rule(f"{what} of custom_linear_solve", [b], [x])
        return x


def _minus_b(
    operator: Callable[[Tensor, Sequence[Tensor]], Tensor], types: Sequence[TensorType], count: int
) -> Program:  # fmt: skip
    """The residual of an equation, from x, b and the operands."""
    closed = Closed(lambda a: [sub(operator(a[0], a[2 : 2 + count]), a[1])], types, "custom_linear_solve")
    if closed.error is not None:
        raise closed.error
    return Program(closed.graph)
