"""What `vjp` and `linearize` return: a function that runs what was recorded, and is pickled as the program of it.

It holds arrays and a recorded computation, not f: reading it elsewhere needs neither f nor the primals.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from .._core.structure import flatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line

_PROGRAMS = "wengert.programs"  # stands above this package


class Recorded(functools.partial[Any]):
    """A linear function that was recorded; a partial object, whose call costs no frame more.

    Args:
        function: what runs.
        name: of the public function that made it.
        examples: gives arguments like those that it takes, one tuple for each signature.
    """

    __slots__ = ("_examples", "_maker")
    __name__: str

    def __new__(
        cls, function: Callable[..., Any], name: str, examples: Callable[[], list[tuple[Any, ...]]]
    ) -> Recorded:
        made = super().__new__(cls, function)
        made._maker, made._examples = name, examples
        made.__name__ = function.__name__
        made.__doc__ = function.__doc__
        return made

    def __repr__(self) -> str:
        return f"<function {self.__name__} of wg.{self._maker}>"

    def __copy__(self) -> Recorded:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorded:
        return self  # as functions are, it is never changed

    def __reduce__(self) -> Any:
        saving: Any = importlib.import_module(f"{_PROGRAMS}.saving")
        try:
            program = importlib.import_module(f"{_PROGRAMS}.graph").function(self.func)
            for arguments in self._examples():
                if any(isinstance(x, Tensor) and x.is_followed for x in flatten(program(*arguments))[0]):
                    raise ValueError("it holds a tensor that is under differentiation")
            return saving._decoded, (saving._encoded_whole(program),)
        except Exception as error:
            raise TypeError(
                at_user_line(
                    f"{self.__name__}: what wg.{self._maker} returned cannot be pickled, since it holds more than "
                    f"arrays and a program; pickle f and the primals, and call wg.{self._maker} again: {error}"
                )
            ) from error


__all__ = ["Recorded"]
