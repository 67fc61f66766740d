"""Linear systems with sparse matrices: gradients flow in the right side, and in the values of a sparse tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy

from .. import linalg
from .. import numpy as np
from .._core.argument_types import ArrayLike, Axes
from .._core.caller import NUMPY, caller_of
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..differentiation.implicit import custom_linear_solve
from ..errors import LostGradientError
from ..ops.sparse import is_sparse
from ..rules.extend import primitive
from ._conversions import Array, entered, floats, recorded
from ._namespace import only
from ._sparse import Pattern, SparseTensor, with_values


@recorded
def spsolve(A: Any, b: Any, permc_spec: object = None, use_umfpack: bool = True) -> Any:
    """The x with A @ x = b, with gradients in b and in the values of a sparse (or dense) tensor A."""
    right = floats(b.toarray() if is_sparse(b) else b)
    if isinstance(A, Tensor):
        return linalg.solve(A, right)
    found = linalg.spsolve(A, right)
    return found[:, 0] if right.ndim == 2 and right.shape[1] == 1 else found  # as SciPy has it


@recorded
def spsolve_triangular(
    A: ArrayLike, b: ArrayLike, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """The x with A @ x = b for a triangular matrix, with gradients in b and in the values of a sparse tensor A."""
    only("sparse.linalg.spsolve_triangular", unit_diagonal=(unit_diagonal, False))
    if isinstance(A, Tensor):
        return linalg.solve_triangular(A, floats(b), lower=lower)
    return linalg.spsolve(A, floats(b))


def _follows(*xs: object) -> bool:
    return any(isinstance(x, SparseTensor) for x in xs) or caller_of(xs) is not NUMPY


class factorized:
    """A function that solves systems with a sparse matrix, as `scipy.sparse.linalg.factorized`.

    Args:
        A: a square sparse matrix.
    """

    def __init__(self, A: ArrayLike) -> None:
        self._matrix = A
        self._solve = None if isinstance(A, SparseTensor) else scipy("sparse.linalg").factorized(A)

    def __reduce__(self) -> Any:
        return factorized, (self._matrix,)  # SciPy's factors do not pickle

    def __call__(self, b: ArrayLike) -> Any:
        """The x with A @ x = b, with gradients in b and in the values of a sparse tensor A."""
        if self._solve is None or _follows(b):
            return linalg.spsolve(self._matrix, entered(b))
        return self._solve(b)


class splu:
    """The factors of a sparse matrix, as `scipy.sparse.linalg.splu` gives them; all that SciPy's object has, too.

    Args:
        A: a square sparse matrix.
        **options: SciPy's.
    """

    def __init__(self, A: Any, **options: object) -> None:
        self._matrix = A
        self._options = options
        self._factors = None if isinstance(A, SparseTensor) else scipy("sparse.linalg").splu(A, **options)

    def __reduce__(self) -> Any:
        return functools.partial(splu, **self._options), (self._matrix,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._factors is None:
            raise AttributeError(name)
        return getattr(self._factors, name)

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any:
        """The solution of a system with the matrix, its transpose ("T") or its adjoint ("H"), with gradients."""
        if self._factors is not None and not _follows(rhs):
            return self._factors.solve(rhs, trans)
        matrix = {"N": lambda: self._matrix, "T": lambda: self._matrix.T, "H": lambda: self._matrix.conj().T}[trans]()
        return linalg.spsolve(matrix, entered(rhs))


@recorded
def norm(x: Any, ord: Any = None, axis: Axes = None) -> Any:
    """Frobenius' norm of a sparse tensor, or the largest sum of absolute values in its columns (1) or rows (inf)."""
    if axis is not None or ord not in (None, "fro", 1, numpy.inf):
        raise TypeError(
            at_user_line(f"scipy.sparse.linalg.norm: ord={ord!r}, axis={axis!r} is not supported for tensors")
        )
    if ord in (1, numpy.inf):
        return np.max(abs(x).sum(0 if ord == 1 else 1))
    return linalg.norm(x._summed().data)


# -- iterative solvers ---------------------------------------------------------------------------------------------


class _IterativeSolver:
    """One of SciPy's iterative solvers with its options, for the matrix of a pattern (None: a dense one).

    An attribute of an op must be hashable: this one is itself and no other.
    """

    def __init__(self, name: str, pattern: Pattern | None, options: dict[str, Any]) -> None:
        self.name, self.pattern, self.options = name, pattern, options

    def __call__(self, data: Array, b: Array, x0: Array) -> Array:
        """The solution, and behind it what the solver says."""
        size = b.shape[0]
        matrix = data.reshape(size, size) if self.pattern is None else with_values(self.pattern, data)
        x, info = getattr(scipy("sparse.linalg"), self.name)(matrix, b, x0, **self.options)
        return numpy.append(x, info).astype(b.dtype)


def _kernel(data: ArrayLike, b: ArrayLike, x0: ArrayLike, run: _IterativeSolver) -> Any:
    return run(*map(numpy.array, (data, b, x0)))


def _type(data: Any, b: Any, x0: Any, run: _IterativeSolver) -> Any:
    return type(b)((b.shape[0] + 1,), b.dtype)


_ITERATED = primitive("scipy_iterative_solve", spec=_type, numpy=_kernel)


def _iterative(name: str, A: Any, b: Tensor, x0: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The solution by one of SciPy's iterative solvers, differentiable by the equation; and what the solver says."""
    if isinstance(A, scipy("sparse.linalg").LinearOperator):
        raise LostGradientError(
            at_user_line(
                f"scipy.sparse.linalg.{name}: what a LinearOperator computes cannot be followed; give a matrix, or use "
                f"wg.custom_linear_solve with its function"
            )
        )
    right = np.reshape(floats(b), (-1,))
    start = np.zeros_like(right) if x0 is None else np.reshape(floats(x0), (-1,)).astype(right.dtype)
    told: list[Any] = []

    def solver(matrix: Any, first: Tensor | None) -> Any:
        if isinstance(matrix, (Tensor, numpy.ndarray)):
            values, pattern = np.reshape(floats(matrix), (-1,)), None
        else:
            parts = matrix.tocsr().tocoo()
            values = floats(parts.data)
            pattern = Pattern(parts.row, parts.col, matrix.shape, "csr", True)
        run = _IterativeSolver(name, pattern, options)

        def solve(_: Callable[..., Any], known: Tensor) -> Any:
            found = _ITERATED(
                values.astype(known.dtype), known, np.zeros_like(known) if first is None else first, run=run
            )
            told.append(found[-1])
            return found[:-1]

        return solve

    x = custom_linear_solve(lambda v: A @ v, right, solver(A, start), solver(A.T, None))
    info = told[0]
    return x, info if info.is_symbolic else int(np.real(info).numpy())


def _options(**given: object) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


@recorded
def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """A system by conjugate gradients, with gradients in b and the values of A, solved to the same tolerance."""
    return _iterative("cg", A, b, x0, _options(rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback))


@recorded
def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """A system by stabilised biconjugate gradients, with gradients in b and the values of A."""
    return _iterative("bicgstab", A, b, x0, _options(rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback))


@recorded
def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: object = None,
    maxiter: SupportsIndex | None = None, M: ArrayLike | None = None, callback: Callable[..., Any] | None = None,
    callback_type: object = None,
) -> Any:  # fmt: skip
    """A system by generalised minimal residuals, with gradients in b and the values of A."""
    options = _options(
        rtol=rtol, atol=atol, restart=restart, maxiter=maxiter, M=M, callback=callback, callback_type=callback_type
    )
    return _iterative("gmres", A, b, x0, options)


__all__ = ["bicgstab", "cg", "factorized", "gmres", "norm", "splu", "spsolve", "spsolve_triangular"]
