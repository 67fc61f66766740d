"""How pandas, PyTorch, JAX and SymPy find out what a tensor, a Variable or a buffer is, by protocols of their own.

pandas gives a tensor its turn in operators, so that a Series times a tensor is a tensor and no Series of objects. The
functions of PyTorch, JAX and SymPy take their own only: their errors would not say what to do, so ours come first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import LostGradientError
from .refusal import asker, cure_for, described
from .state import STATE
from .user_line import at_user_line

_PRIORITY = 5000  # a DataFrame's is 4000


class RefusedByJax(ValueError):
    """A tensor came to a function of JAX. JAX puts words of its own in the place of any TypeError that is raised there.

    Where the tensor is followed its cause is the `LostGradientError`, which leaves the differentiated function. It is
    also kept as `refusal`, since Keras raises errors again without their causes.
    """

    refusal: LostGradientError | None = None


def _pandas_priority(x: Any) -> int:
    frame = sys._getframe(2)  # behind the function in which pandas compares priorities
    if frame.f_code.co_name == "_inplace_method" and frame.f_globals.get("__name__", "").startswith("pandas"):
        who = asker()
        raise LostGradientError(
            at_user_line(
                f"{who.written} would write a tensor of shape {x.shape} into an object of pandas, which holds plain "
                f"numbers; write {who.instead or 's = s + w'}, which is a tensor"
            )
        )
    return _PRIORITY


pandas_priority = property(_pandas_priority, doc="Above pandas' own: its operators give a tensor the turn.")


def _told(protocol: str, library: str, name: str) -> str:
    who = asker()
    if who.module.partition(".")[0] != library:
        who = who._replace(module=library, name=name or who.name)
    return f"{described(who, protocol)} takes no tensors of Wengert; {cure_for(who)}"


def _refuse(x: Any, protocol: str, library: str, name: str = "") -> Any:
    held = x.__wengert_tensor__() if hasattr(type(x), "__wengert_tensor__") else x
    if held.is_followed:
        held._refuse_numbers(protocol, library)
    raise TypeError(at_user_line(_told(protocol, library, name)))


def torch_function(
    cls: type[Any], func: Callable[..., Any], types: object, args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None
) -> Any:  # fmt: skip
    """PyTorch's protocol: its functions are refused, with what to write instead. Its operators give us our turn."""
    waiting = [*args, *(kwargs or {}).values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, cls):
            return _refuse(item, "__torch_function__", "torch", getattr(func, "__name__", ""))
        if isinstance(item, (list, tuple)):
            waiting.extend(item)
    return NotImplemented


def refuse_list_to_torch(x: Any) -> None:
    """Refuses a number in a list from which PyTorch makes an array: it asks each element for its length first."""
    if "torch" in sys.modules and x.is_followed and asker().module.partition(".")[0] == "torch":
        x._refuse_numbers("__len__", "torch")


def _jax_array(x: Any) -> Any:
    frame = sys._getframe(1)
    place = frame.f_code.co_filename
    is_conversion = place.endswith("array_constructors.py")  # jnp.asarray, which reads `__array__`
    if place.endswith("array_methods.py") or not frame.f_globals.get("__name__", "").startswith("jax"):
        raise AttributeError("__jax_array__")  # an operator, where it is our turn, or somebody who only looks
    held = x.__wengert_tensor__() if hasattr(type(x), "__wengert_tensor__") else x
    if is_conversion and not held.is_followed:
        raise AttributeError("__jax_array__")
    try:
        _refuse(x, "__jax_array__", "jax")
    except TypeError as error:
        refusal = error if isinstance(error, LostGradientError) else None
        refused = RefusedByJax(error.args[0])
        refused.refusal = refusal
        STATE.swallowed = "" if refusal is None else refusal.args[0]
        raise refused from refusal


# a property, since JAX refuses objects with the method before it calls it
jax_array = property(_jax_array, doc="Raises where a function of JAX takes a tensor.")


def sympy_number(x: Any) -> Any:
    """SymPy's protocol (`sympify`, `Symbol * x`, `expression.subs`): its numbers have no derivative of ours."""
    held = x.__wengert_tensor__() if hasattr(type(x), "__wengert_tensor__") else x
    if held.is_followed:
        held._refuse_numbers("_sympy_", "sympy")
    values = held.numpy()
    return sys.modules["sympy"].sympify(values if held.ndim else values.item())


__all__ = ["RefusedByJax", "jax_array", "pandas_priority", "refuse_list_to_torch", "sympy_number", "torch_function"]
