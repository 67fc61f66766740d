"""Gradients of one's own: `custom_gradient`, `custom_grad`, and `recompute_grad` (alias `checkpoint`).

The decorators, and what they return. A call binds its arguments and runs the user's function (`custom_call.py`). Its
results get a rule: the user's gradient function, called by its convention (`conventions.py`), with what that returns
checked (`returned.py`); or the function again (`recomputed.py`). How a rule takes part in reverse mode, forward mode
and batches is in `_control/custom.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from .._compile.arguments import require_callable
from .._compile.bridge import as_program, has_tracers
from .._core.caller import caller_of
from .._core.derived import SIGNATURE, bound, kept
from .._core.engine import PLAIN_TYPES
from .._core.public import public
from .._core.user_line import at_user_line
from ..programs.kept_traces import KeptTraces
from .conventions import call_custom_grad, call_custom_gradient
from .custom_call import NeedsProgram, name_of
from .recomputed import call_recompute

__all__ = ["checkpoint", "custom_grad", "custom_gradient", "recompute_grad"]


P = ParamSpec("P")


R = TypeVar("R")


@overload
def custom_gradient(f: Callable[P, tuple[R, Any]], *, jvp: Callable[..., Any] | None = None) -> Callable[P, R]: ...


@overload
def custom_gradient(
    f: None = None, *, jvp: Callable[..., Any] | None = None
) -> Callable[[Callable[P, tuple[R, Any]]], Callable[P, R]]: ...


@public
def custom_gradient(f: Callable[..., Any] | None = None, *, jvp: Callable[..., Any] | None = None) -> Any:
    """Gives a function a gradient of the user's own. A decorator, with or without parentheses.

    Args:
        f: `f(*args, **kwargs)` returns `(output, grad_fn)`; output may be nested. Arrays reach f as tensors, Python
            numbers beside them as they are. `grad_fn(*upstream)` gets one tensor an output tensor, of its shape and
            dtype (zeros if that output is unused), and returns one gradient for each of f's flattened positional
            arguments: None where there is none, a bare one if there is only one, or the arguments' own structure.
            With a parameter `upstream` that is keyword-only, follows `*args`, or has a place before it for every
            argument it is called as `grad_fn(*args, upstream=upstream)`, a tuple if there are several. A parameter
            `variables` gets the trainable Variables that f read, if any (ours, `tf.Variable`s, Keras's, torch's
            parameters); the result is then `(arg_grads, variable_grads)`.
        jvp: `jvp(primals, tangents)` returns `(output, tangent)` for forward mode. Without it the transpose of the
            rule is used, if the rule is linear in its upstream gradient.

    Returns:
        A function that takes f's arguments and returns its output, in the kind of array that it was given. For a
        framework's arrays f is traced when it is called again, as by `function`, and the trace is kept (where f cannot
        be traced, it runs as it is as long as nobody differentiates). What f
        captured is a constant; the second derivative is that of grad_fn's code. It works on methods, and
        `__wrapped__` is f.

    Raises:
        TypeError: f does not return a pair; it reads trainable Variables and grad_fn takes no `variables`; a
            followed tensor came by a keyword that is not the name of a positional argument (where a framework follows
            it, a DisconnectedError); a gradient of another
            dtype than its argument's.
        ValueError: another number of gradients than arguments, or another shape.
        DisconnectedError: the output depends on something that is being differentiated and is neither an argument nor
            a Variable that the rule takes: its gradient would be lost (a `LostGradientError`, too).
        LookupError: forward mode, no jvp, and a rule that is not linear.

    Example:
        >>> import wengert as wg
        >>> @wg.custom_gradient
        ... def log1pexp(x):
        ...     e = wg.exp(x)
        ...     return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
        >>> wg.grad(log1pexp)(1000.0)
        np.float64(1.0)
    """
    if jvp is not None and not callable(jvp):
        raise TypeError(at_user_line(f"custom_gradient: jvp must be callable, got {type(jvp).__name__}"))
    if f is None:
        return functools.partial(custom_gradient, jvp=jvp)
    require_callable(f, "custom_gradient")
    return _Decorated(f, functools.partial(call_custom_gradient, f, jvp), custom_gradient, jvp=jvp)


@public
def custom_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a gradient of the user's own, in the manner of TensorFlow.js.

    Args:
        f: `f(*inputs, save)` returns `(value, grad_func)`, or a mapping with those two keys; `save` comes by keyword
            if f has a parameter of that name, else last. `save([t, ...])` or `save(t, ...)` keeps tensors for the
            backward pass (a second call replaces them), and `grad_func(dy, saved)` gets them in that order and returns
            one gradient, or a list with one per input; None is no contribution. It may leave out `saved`.

    Returns:
        A function of the inputs that returns value, one tensor, in the kind of array that it was given. The backward
        function is itself differentiable.

    Raises:
        TypeError: f is not callable or returns anything else, `save` gets anything but tensors, or a gradient has
            another dtype than its input.
        ValueError: another number of gradients than inputs, or another shape.
        DisconnectedError: value depends on something (a Variable, too) that is being differentiated and is no input:
            its gradient would be lost (a `LostGradientError`, too).

    Example:
        >>> import numpy as np
        >>> import wengert as wg
        >>> def f(x, save):
        ...     save([x])
        ...     return x * x, lambda dy, saved: dy * abs(saved[0])
        >>> g = wg.custom_grad(f)
        >>> g(np.array([-1.0, -2.0, 3.0])), wg.grad(g)(np.array([-1.0, -2.0, 3.0]))
        (array([1., 4., 9.]), array([1., 2., 3.]))
    """
    require_callable(f, "custom_grad")
    decorated = _Decorated(f, functools.partial(call_custom_grad, f), custom_grad)
    decorated.__signature__ = _without_save(f)
    return decorated


def _without_save(f: Callable[..., Any]) -> inspect.Signature | None:
    """What a caller of a `custom_grad` function passes, for those who ask; None if f does not tell."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None
    named = [*signature.parameters.values()]
    places = [i for i, p in enumerate(named) if p.name == "save"] or [
        i for i, p in enumerate(named) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if places:
        del named[places[-1]]
    return signature.replace(parameters=named)


@public
def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """f, differentiated without keeping its intermediate results: the backward pass computes them again.

    Args:
        f: any function of arrays, also nested ones and by keyword. It runs once forward and once for each
            backward pass, where Variables have the values that they had in the first run and assignments are not
            made again; random draws by key are the same by nature. What it writes to arrays from outside has
            gradients, as what it returns has, and is not written again.

    Returns:
        A function of f's arguments with f's results and gradients. Only the arguments, the Variables and captured
        tensors that f used are kept. Arguments that f does not use have zero gradients. `__wrapped__` is f.

    Raises:
        TypeError: f is not callable.

    Example:
        >>> import wengert as wg
        >>> wg.grad(wg.recompute_grad(lambda x: wg.exp(x) * x))(0.0)
        np.float64(1.0)
    """
    require_callable(f, "recompute_grad")
    return _Decorated(f, functools.partial(call_recompute, f), recompute_grad)


checkpoint = recompute_grad


class _Decorated:
    """What the decorators return: a function that is a method where it is defined in a class."""

    # a slot, because functools.wraps copies a function's __dict__ to what it wraps
    __slots__ = ("__dict__", "__weakref__", "_call", "_made_by", "_traces")
    __wrapped__: Callable[..., Any]
    __signature__ = SIGNATURE
    autograph_info__: Any = None  # TensorFlow's mark of what it is not to rewrite

    def __init__(
        self, f: Callable[..., Any], call: Callable[..., Any], maker: Callable[..., Any], **options: Any
    ) -> None:
        functools.update_wrapper(self, f)
        self._call = call
        self._made_by = (maker, options)
        self._traces: KeptTraces | None = None  # made when needed, for it refers back

    def __reduce__(self) -> Any:
        maker, options = self._made_by
        return kept(self, self.__wrapped__, maker, self.__wrapped__, **options)

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run((), args, kwargs)

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else bound(self, instance)

    def method_of(self, instance: object) -> Callable[..., Any]:
        """What runs a call of the method."""

        @functools.wraps(self.__wrapped__)
        @public
        def method(*args: object, **kwargs: object) -> Any:
            return self._run((instance,), args, kwargs)

        return method

    def _run(self, head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kept = None if head else self._traces  # an instance would be held as long as its traces
        if kept is not None:
            result = kept.again(args, kwargs)
            if result is not NotImplemented:
                return result
        is_followed = has_tracers((*args, *kwargs.values()) if kwargs else args)
        has_plain = not PLAIN_TYPES.keys().isdisjoint(map(type, args))
        if not head and (is_followed or has_plain):
            if kept is None:
                kept = self._traces = KeptTraces(self)
            result = kept.run(args, kwargs) if is_followed else kept.value(args, kwargs)
            if result is not NotImplemented:
                return result
        caller = None
        if not is_followed:
            try:
                result = self._call(head, args, kwargs)
            except NeedsProgram as need:
                caller = caller_of((*args, *kwargs.values())).or_that_of(need.args)
            else:
                # one that a framework follows, though no argument is, has it from what the function closes over
                if not has_tracers((result,)):
                    if kept is not None and has_plain:
                        kept.note_value(result)
                    return result
                caller = caller_of((result,))
        return as_program(lambda *a, **k: self._call(head, a, k), args, kwargs, name_of(self.__wrapped__), caller)

    def __repr__(self) -> str:
        return f"<function {getattr(self, '__qualname__', self.__wrapped__)} with a gradient of its own>"


_Decorated.__name__ = "function"  # as that of `Derived`, for Keras
