"""Solutions of linear equations by a user's solver: the implicit function theorem and, backward, the solver itself.

The vjp of x = A^-1 b is A^-T ct, which a solver of the transposed equation finds, and which so has a rule of its own:
the twin of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core.state import pausing, watchers
from .._core.tensor import Tensor
from .call import Program
from .implicit import ImplicitRule, let_through

Solve = Callable[[Tensor, Sequence[Tensor]], Tensor]  # from the right-hand side and the operands behind it


class LinearRule(ImplicitRule):
    """The rule of a linear equation.

    Args:
        name: of the user's function, for messages.
        residual: from x, the right-hand side and the other operands to A x minus the right-hand side.
        inputs: how many operands there are, the right-hand side included.
        solve: the user's solver.

    Attributes:
        twin: the rule of the transposed equation.
    """

    __slots__ = ("_solve", "twin")

    def __init__(self, name: str, residual: Program, inputs: int, solve: Solve) -> None:
        super().__init__(name, residual, inputs)
        self._solve = solve
        self.twin = self

    def solution(self, b: Tensor, rest: Sequence[Tensor]) -> Tensor:
        """The solution as a function of the operands."""
        with pausing(watchers()):
            x = self._solve(b, rest)
        return let_through(x, self, (b, *rest))

    def solved_back(self, ct: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        return self.twin.solution(ct, operands[1:])

    def solved_forth(self, dot: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        return self.solution(dot, operands[1:])


def twins(first: LinearRule, second: LinearRule) -> None:
    """Makes each of two rules the transposed one of the other."""
    first.twin, second.twin = second, first
