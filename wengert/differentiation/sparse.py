"""Sparse Jacobians and Hessians: `sparsity`, `coloring`, and what `jacobian` and `hessian` do with `sparsity=`.

The pattern says which columns (or rows) do not overlap; those share a pass. See `_transforms/sparsity.py` for how a
pattern is found and `_transforms/coloring.py` for what shares a pass.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from .._compile.arguments import Differentiated, array_argument, require_callable
from .._control.dependence import pattern
from .._control.jacobians import products
from .._control.values import Leaves
from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike, Tree
from .._core.caller import Owned, caller_of
from .._core.constant import constant
from .._core.derived import derived
from .._core.engine import ndarray_of
from .._core.graph import Graph, quietly
from .._core.kinds import SEQUENCES
from .._core.moving import beside
from .._core.public import public
from .._core.scipy_modules import scipy
from .._core.state import building, pausing, recording, watchers
from .._core.structure import LEAF, describe, flatten
from .._core.tensor import Tensor, Value
from .._core.types import tensor_type, type_of
from .._core.user_line import at_user_line
from .._prims.indexing import gather
from .._prims.structural import attach, cast, concatenate, reshape, zeros_of
from .._transforms import coloring as plans
from .._transforms import sparsity as structure
from .._transforms.linearize import LinearPart
from .._transforms.recorded_ops import Steps
from .._transforms.reverse import sweep
from .._transforms.straight_rows import Bends, BentRun, is_plain
from .._transforms.tape import Tape
from ..errors import LostGradientError
from ._sparse_entries import entries_of
from ._sparse_programs import Repeated, Unfit
from .functional import chosen_arguments, grad, of_scalar, parameters

__all__ = ["Coloring", "coloring", "sparsity"]

Matrix = Any  # scipy.sparse.csr_array

_MODES = {
    "auto": plans.best_plan, "column": plans.column_plan, "row": plans.row_plan, "mixed": plans.mixed_plan,
    "symmetric": plans.symmetric_plan,
}  # fmt: skip
_MOST_ELEMENTS = 2**15  # of the directions that go at once, where no chunk is given: more leave the caches
_MOST_COMPILED = 2**24  # of those of a program
_MOST_SEEDS = 2**22  # of what begins passes of a program at several places


class Coloring:
    """Which columns and rows of a sparse matrix share a pass; made by `coloring`, taken as `sparsity=`.

    Attributes:
        pattern: the pattern, a boolean `scipy.sparse.csr_array`.
        mode: "column" (forward passes), "row" (reverse passes), "mixed" (both) or "symmetric" (forward over reverse).
        count: how many passes a matrix takes.
        column_colors: the number of each column's pass; empty without forward passes.
        row_colors: the number of each row's pass, -1 for rows that are read from forward passes; empty without
            reverse passes.
    """

    __slots__ = ("_places", "_plan", "pattern")

    def __init__(self, pattern: Matrix, plan: plans.Plan) -> None:
        self.pattern = pattern
        self._plan = plan
        self._places: np.ndarray[Any, Any] | None = None

    def places(self) -> np.ndarray[Any, Any]:
        """Where the entries stand among what the passes give."""
        if self._places is None:
            self._places = plans.places(self._plan, self.pattern)
        return self._places

    @property
    def mode(self) -> str:
        """How the entries are read: by columns, rows, both, or by symmetry."""
        return self._plan.mode

    @property
    def count(self) -> int:
        """How many passes a matrix takes."""
        return self._plan.forward + self._plan.backward

    @property
    def column_colors(self) -> np.ndarray[Any, Any]:
        """The number of each column's pass."""
        return self._plan.columns.copy()

    @property
    def row_colors(self) -> np.ndarray[Any, Any]:
        """The number of each row's pass."""
        return self._plan.rows.copy()

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return f"<{self.mode} coloring of a {rows} x {columns} pattern: {self.count} passes>"


@public
def coloring(pattern: object, mode: str = "auto") -> Coloring:
    """Finds which columns or rows of a sparse Jacobian or Hessian share a pass, once for many evaluations.

    Args:
        pattern: a SciPy sparse matrix (its stored entries count, whatever their value) or a 2-d array (its nonzeros).
        mode: "column", "row", "mixed" (the fullest rows by reverse passes, the rest by forward ones), "symmetric" (for
            Hessians: a star colouring, and the pattern is taken with its mirror image), or "auto": columns, unless
            rows are at most two thirds as many (a reverse pass costs more), or both together at most half.

    Returns:
        A `Coloring`, which `jacobian` and `hessian` take as `sparsity=`.

    Raises:
        TypeError: `pattern` is not a matrix.
        ValueError: an unknown mode; "symmetric" with a pattern that is not square.

    Example:
        >>> import numpy as np, scipy.sparse, wengert as wg
        >>> tridiagonal = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
        >>> c = wg.coloring(tridiagonal)
        >>> c
        <column coloring of a 1000 x 1000 pattern: 3 passes>
        >>> f = lambda x: np.concatenate([x[:1], x[1:] * x[:-1]])
        >>> wg.jacobian(f, sparsity=c)(np.ones(1000)).shape
        (1000, 1000)
    """
    if mode not in _MODES:
        raise ValueError(at_user_line(f"coloring: unknown mode {mode!r}; wanted one of {', '.join(_MODES)}"))
    return _colored(_pattern_of(pattern, "coloring"), mode, "coloring")


@public
def sparsity(f: Callable[..., Any], argnums: int = 0, order: int = 1) -> Callable[..., Matrix]:
    """A function that finds which elements of f's result depend on which elements of an argument.

    f is traced on the arguments' shapes. The pattern holds for all values of the differentiated argument and for the
    given values of everything else: constant indices, masks and matrices count as what they are. It may hold too
    much, where what depends on what is decided by values: in a sort, a loop that ends by its values, or indices
    computed from the argument.

    Args:
        f: takes arrays (and anything else) and returns an array; with `order=2` a scalar.
        argnums: which positional argument: one array.
        order: 1 for the pattern of the Jacobian, 2 for that of the Hessian.

    Returns:
        `g(*args, **kwargs)`: a boolean `scipy.sparse.csr_array` of shape `(y.size, x.size)`, or `(x.size, x.size)`.

    Raises:
        TypeError: f is not callable, the argument or the result is not one floating array.
        ValueError: `order` is neither 1 nor 2, an extent depends on values, or the pattern is far from sparse.
        TracingError: f needs the values of the differentiated argument while it is traced.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.sparsity(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int)
        array([[1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """
    require_callable(f, "sparsity")
    if order not in (1, 2):
        raise ValueError(at_user_line(f"sparsity: wanted 1 or 2 as order, got {order!r}"))
    differentiated = f if order == 1 else grad(of_scalar(f, "sparsity"), argnums, unconnected_gradients="zero")

    @public
    def find(*args: Tree, **kwargs: object) -> Matrix:
        call = _SparseCall(differentiated, "sparsity", argnums, args, kwargs)
        found = call.detected()
        return _mirrored(found, "sparsity") if order == 2 else found

    return derived(find, "Which elements of {} depend on which.", sparsity, f, argnums, order)


# -- patterns ---------------------------------------------------------------------------------------------------------


def _pattern_of(given: object, name: str) -> Matrix:
    """A given pattern as a boolean matrix in canonical form."""
    sparse = scipy("sparse")
    if sparse.issparse(given):
        found = sparse.csr_array(given)
        found = sparse.csr_array((np.ones(found.nnz, bool), found.indices, found.indptr), shape=found.shape)
    elif isinstance(given, np.ndarray) and given.ndim == 2:
        nonzero: Any = given != 0
        found = sparse.csr_array(nonzero)
    else:
        raise TypeError(
            at_user_line(
                f"{name}: wanted a SciPy sparse matrix, 'detect' or a Coloring as the pattern, got {_kind_of(given)}"
            )
        )
    found.sum_duplicates()
    return found


def _kind_of(value: Any) -> str:
    return type(value).__name__


def _mirrored(pattern: Matrix, name: str) -> Matrix:
    """The pattern with its mirror image."""
    if pattern.shape[0] != pattern.shape[1]:
        raise ValueError(at_user_line(f"{name}: a symmetric pattern is square, got shape {pattern.shape}"))
    found = (pattern + pattern.T).tocsr()
    found.sum_duplicates()
    return found


def _same_pattern(first: Matrix, second: Matrix) -> bool:
    return (
        first.shape == second.shape
        and np.array_equal(first.indptr, second.indptr)
        and np.array_equal(first.indices, second.indices)
    )


# -- one evaluation ---------------------------------------------------------------------------------------------------


class _SparseCall:
    """One call of a function of one array, and what else it takes."""

    def __init__(
        self, f: Callable[..., Any], name: str, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:  # fmt: skip
        position = _only_position(argnums, name)
        (place,) = chosen_arguments(position, args, name)
        names, _ = parameters(f)
        path = names[place] if place < len(names) else f"args[{place}]"
        source = Differentiated(args[place], path)
        if source.spec is not LEAF:
            raise TypeError(
                at_user_line(
                    f"{name}: with sparsity {path} is one array, got {describe(source.spec)}; join its parts with "
                    f"wg.tree.ravel"
                )
            )
        self.f = f
        self.name = name
        self.place = place
        self.caller = caller_of((*args, *kwargs.values()))
        self.x = source.tensors[0]
        _require_real(self.x, name, path)
        self.args = [array_argument(a) for a in args]
        self.kwargs = {k: array_argument(v) for k, v in kwargs.items()}
        others = flatten(([a for i, a in enumerate(self.args) if i != place], self.kwargs))[0]
        self._graph: Graph | None = None  # f's, once its pattern has been found
        self.has_other_arrays = any(isinstance(leaf, Tensor) for leaf in others)

    def run(self, x: Tensor) -> Tensor:
        """f's result, one array."""
        args = [*self.args]
        args[self.place] = x
        y = _one_array(self.f(*args, **self.kwargs), self.name)
        _require_real(y, self.name, "f(x)")
        return y

    def detected(self) -> Matrix:
        """The pattern, found on the graph."""
        graph = Graph(f"pattern of {self.name}")
        with building(graph):
            x = graph.add_input(self.x.shape, self.x.dtype)
            y = self.run(x)
            graph.finish([y])
        self._graph = graph
        (found,) = pattern(graph, [True])
        if found is None:
            found = structure.nothing(structure.size_of(y), structure.size_of(x))
        found.sum_duplicates()
        return found

    def value_and_matrix(self, coloring: Coloring, chunk: int | None, may_turn: bool) -> tuple[Any, Matrix]:
        """f's value and the Jacobian.

        Args:
            coloring: how to get it.
            chunk: how many directions go at once.
            may_turn: whether rows may be taken where forward mode is not defined.
        """
        plan = coloring._plan
        bent = self._bent_plan(coloring, may_turn) if type(self.x._data) is Value and chunk is None else None
        if bent is not None:
            run, own = BentRun(bent[0], self.x), Owned()
            self.y = run.y
            entries = attach(entries_of(run, self.x, coloring.pattern, *bent[1:]), self.y)
            return self.caller.result(self.y, own), self.caller.result(entries, own)
        self._record(forward=plan.forward > 0, backward=plan.backward > 0)
        wanted = (structure.size_of(self.y), structure.size_of(self.x))
        if coloring.pattern.shape != wanted:
            raise ValueError(
                at_user_line(
                    f"{self.name}: the pattern has shape {coloring.pattern.shape}, wanted {wanted}: one row for each "
                    f"element of f(x), one column for each of x"
                )
            )
        try:
            found = self._entries(coloring, chunk)
        except LookupError:  # an op or a custom gradient without a forward derivative
            if plan.mode != "symmetric" and not (may_turn and plan.forward):
                raise
            self._record(forward=False, backward=True)
            turned = coloring
            if plan.mode != "symmetric":
                turned = Coloring(coloring.pattern, plans.row_plan(coloring.pattern))
            found = self._entries(turned, chunk, is_reverse=True)
        own = Owned()
        value = self.caller.result(self.y, own)
        if self.is_traced:
            return value, self.caller.result(found, own)
        return value, _matrix(found, coloring.pattern)

    def _bent_plan(self, coloring: Coloring, may_turn: bool) -> tuple[Bends, Matrix, plans.Plan] | None:
        """How to get the entries that are no constants; None where all are to be pushed, or there is no telling.

        Returns:
            What is known of f's graph, the pattern of these entries, and which columns share a pass.
        """
        graph, whole = self._graph, coloring._plan
        if graph is None or not (may_turn or whole.mode in ("column", "symmetric")) or not is_plain(graph):
            return None
        bends = Bends(graph)
        pattern = structure.nothing(*coloring.pattern.shape) if bends.curved is None else bends.curved
        if whole.mode == "symmetric":
            if bends.straight is not None and (bends.straight != bends.straight.T).nnz:
                return None  # then the rest is not symmetric, either
            pattern = _mirrored(pattern, self.name)
        pattern.sum_duplicates()
        plan = plans.symmetric_plan(pattern) if whole.mode == "symmetric" else plans.column_plan(pattern)
        fits = plan.forward * bends.entered <= _MOST_SEEDS
        return (bends, pattern, plan) if fits and 2 * plan.forward <= 2 * whole.forward + 3 * whole.backward else None

    def _record(self, forward: bool, backward: bool) -> None:
        """Runs f under the recorders that these passes need."""
        self.tape, self.steps = Tape([self.x._key]), Steps([self.x._key])
        with recording(self.tape) if backward else nullcontext(), recording(self.steps) if forward else nullcontext():
            self.y = self.run(self.x)
        self.is_traced = type(self.y._data) is Value
        if not self.is_traced:
            _require_numbers(self.y, self.name)

    def _entries(self, coloring: Coloring, chunk: int | None, is_reverse: bool = False) -> Tensor:
        """The entries of the pattern, in its order, in the dtype of a dense Jacobian."""
        plan, parts = coloring._plan, list[Tensor]()
        if self.is_traced and chunk is None:
            chunk = max(plan.forward, plan.backward, 1)  # a pass for each batch would be compiled
        with nullcontext() if self.is_traced else pausing(watchers()):
            if plan.forward:  # of a symmetric matrix the rows are the columns
                get = self._pulled if is_reverse else self._pushed
                parts.append(get(plan.columns, plan.forward, chunk))
            if plan.backward:
                parts.append(self._pulled(plan.rows, plan.backward, chunk))
            dtype = self.x.dtype if self.is_traced else _matrix_dtype(self.x.dtype)
            if not parts:
                return zeros_of(tensor_type((0,), dtype))
            flat = [cast(reshape(part, shape=(structure.size_of(part),)), dtype) for part in parts]
            whole = concatenate(*flat, axis=0) if len(flat) > 1 else flat[0]
            found = gather(whole, beside(constant(coloring.places()), whole))
            return attach(found, self.y) if self.is_traced else found

    def _pushed(self, colors: Any, count: int, chunk: int | None) -> Tensor:
        """One row for each colour of columns: the Jacobian times the sum of its unit vectors."""
        x, y = self.x, self.y
        part = LinearPart(self.steps.steps, [x], [y], may_hold_zeros=True)

        def push(dot: Tensor) -> list[Tensor | None]:
            (found,) = part([dot])
            return [found if isinstance(found, Tensor) else zeros_of(type_of(y))]

        return _only(products(push, x, _directions(x, colors, count, chunk, y), self.name))

    def _pulled(self, colors: Any, count: int, chunk: int | None) -> Tensor:
        """One row for each colour of rows: the sum of its unit vectors times the Jacobian."""
        tape, x, y = self.tape, self.x, self.y

        def pull(ct: Tensor) -> list[Tensor | None]:
            with quietly():
                (found,) = sweep(tape.entries, [(y._key, ct)], [x._key], [True])
            return [found if isinstance(found, Tensor) else zeros_of(type_of(x))]

        return _only(products(pull, y, _directions(y, colors, count, chunk, x), self.name))


def _directions(x: Tensor, colors: Any, count: int, chunk: int | None, other: Tensor) -> Iterator[Tensor]:
    """The sums of the unit vectors of each colour, in batches of tensors like x."""
    size = structure.size_of(x)
    step = chunk or max(1, _MOST_ELEMENTS // max(size, structure.size_of(other), 1))
    for start in range(0, count, step):
        stop = min(start + step, count)
        array = plans.seeds(colors, size, start, stop, np.float64).reshape(stop - start, *x.shape)
        yield beside(constant(array.astype(x.dtype)), x)


def _only(found: list[Tensor | None]) -> Tensor:
    (one,) = found
    assert one is not None  # the functions that are applied give tensors
    return one


def _matrix(entries: Any, pattern: Matrix) -> Matrix:
    """The matrix of a pattern with these entries: a tensor, or an array that nobody else has."""
    data = ndarray_of(entries._data) if type(entries) is Tensor else entries
    data = np.array(data, _matrix_dtype(data.dtype), copy=type(entries) is Tensor or None)
    # SciPy's constructor checks what is known here, and `copy.copy` asks much: they take as long as small programs
    found: Any = object.__new__(pattern.__class__)
    found.__dict__.update(pattern.__dict__)
    found.data, found.indices, found.indptr = data, pattern.indices.copy(), pattern.indptr.copy()
    return found


def _matrix_dtype(dtype: DTypeLike | None) -> Any:
    """SciPy's matrices know no halves."""
    return dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float32


# -- checks -----------------------------------------------------------------------------------------------------------


def _only_position(argnums: Any, name: str) -> int:
    if isinstance(argnums, SEQUENCES):
        if len(argnums) != 1:
            raise ValueError(at_user_line(f"{name}: with sparsity argnums names one argument, got {argnums!r}"))
        (argnums,) = argnums
    try:
        return int(argnums.__index__())
    except AttributeError:
        raise TypeError(at_user_line(f"{name}: argnums must be an int, got {argnums!r}")) from None


def _require_numbers(y: Tensor, name: str) -> None:
    """Raises unless y is an array of numbers that nobody follows: SciPy's matrices hold numbers only."""
    if y.is_followed:
        raise LostGradientError(
            at_user_line(
                f"{name}: a sparse matrix holds numbers, through which no gradient can follow, but f(x) takes part in "
                f"differentiation; leave out sparsity, or use wg.jvp and wg.vjp"
            )
        )


def _require_real(x: Tensor, name: str, path: str) -> None:
    if not dtypes.is_float(x.dtype):
        raise TypeError(at_user_line(f"{name}: with sparsity {path} is real and floating, got {x.dtype.name}"))


def _one_array(result: object, name: str) -> Tensor:
    leaves = Leaves(result, "f(x)")
    if leaves.spec is not LEAF or not leaves.tensors:
        raise TypeError(
            at_user_line(
                f"{name}: with sparsity f returns one array, got {describe(leaves.spec) or type(result).__name__}; "
                f"join the parts with wg.tree.ravel"
            )
        )
    return leaves.tensors[0]


# -- what jacobian and hessian do -------------------------------------------------------------------------------------


def sparse_function(
    f: Callable[..., Any], name: str, argnums: object, given: object, mode: str, chunk: int | None,
    combine: Callable[[Any, Any], Any],
) -> Callable[..., Any]:  # fmt: skip
    """`jacobian` with a sparsity.

    Args:
        f: the function; for a Hessian the gradient.
        name: "jacobian", "value_and_jacobian" or "hessian".
        given: "detect", a pattern or a `Coloring`.
        mode: "auto", "forward" or "reverse".
        combine: makes the result from f's value and the matrix.
    """
    if isinstance(given, str) and given != "detect":
        raise ValueError(at_user_line(f"{name}: unknown sparsity {given!r}; wanted 'detect', a pattern or a Coloring"))
    is_hessian = name == "hessian"
    wanted = {"forward": "column", "reverse": "row"}.get(mode, "symmetric" if is_hessian else "auto")
    known: Coloring | None = None
    if isinstance(given, Coloring):
        known = given
        _require_use(given, wanted, is_hessian, name)
    elif not isinstance(given, str):
        known = _colored(_pattern_of(given, name), wanted, name)
    may_turn = wanted == "auto" and not isinstance(given, Coloring)

    def current(call: _SparseCall) -> Coloring:
        nonlocal known
        if isinstance(given, str):
            found = call.detected()
            found = _mirrored(found, name) if is_hessian else found
            if known is None or not _same_pattern(known.pattern, found):
                known = _colored(found, wanted, name)
        assert known is not None
        return known

    def traced(*args: ArrayLike, **kwargs: Any) -> Any:
        call, before = _SparseCall(f, name, argnums, args, kwargs), known
        coloring = current(call)
        # with values of other arguments it may be smaller than without
        _require_program(call, coloring, chunk, before is coloring or not call.has_other_arrays)
        value, entries = call.value_and_matrix(coloring, chunk, may_turn)
        colorings.append(coloring)
        # a number tells which one it is: a structure of arrays alone is what a program gives fastest
        results = entries, np.array(len(colorings) - 1)
        return (value, *results) if wants_value else results

    wants_value, colorings = name == "value_and_jacobian", list[Coloring]()
    repeated = Repeated(traced)

    @public
    def sparse_derivative(*args: ArrayLike, **kwargs: Any) -> Any:
        found = repeated(args, kwargs)
        if found is not None:
            *value, entries, place = found
            return combine(value[0] if value else None, _matrix(entries, colorings[int(place)].pattern))
        call = _SparseCall(f, name, argnums, args, kwargs)
        return combine(*call.value_and_matrix(current(call), chunk, may_turn))

    return sparse_derivative


def _require_program(call: _SparseCall, coloring: Coloring, chunk: int | None, is_for_all: bool) -> None:
    """Raises unless the passes may become one program, which takes all directions at once."""
    if not is_for_all:
        raise Unfit("the values of other arguments decide the pattern")
    if chunk is None and coloring.count * max(coloring.pattern.shape) > _MOST_COMPILED:
        raise Unfit("the directions would take much memory at once")


def _colored(pattern: Matrix, mode: str, name: str) -> Coloring:
    pattern = _mirrored(pattern, name) if mode == "symmetric" else pattern
    return Coloring(pattern, _MODES[mode](pattern))


def _require_use(coloring: Coloring, wanted: str, is_hessian: bool, name: str) -> None:
    """Raises unless a colouring can be used for this derivative in this mode."""
    if coloring.mode == "symmetric" and not is_hessian:
        raise ValueError(at_user_line(f"{name}: a symmetric coloring is for Hessians; make one with mode='auto'"))
    plan = coloring._plan
    if (wanted == "column" and plan.backward) or (wanted == "row" and plan.forward):
        raise ValueError(
            at_user_line(f"{name}: the coloring is by {coloring.mode}, which is not what mode asks for; leave out mode")
        )
