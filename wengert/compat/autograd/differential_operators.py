"""The operators on functions: gradients, Jacobians, Hessians and products with them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as onp

from ..._core.derived import applied
from ..._core.public import at_home
from ..._core.tensor import Tensor
from ._boxes import plain, plain_tree
from .core import Run, defvjp_argnum, vspace
from .core import make_jvp as _make_jvp
from .core import make_vjp as _make_vjp
from .numpy import numpy_wrapper as np
from .tracer import primitive
from .util import subval
from .wrap_util import unary_to_nary

make_vjp = at_home(unary_to_nary(_make_vjp), __name__, "make_vjp")
make_jvp = at_home(unary_to_nary(_make_jvp), __name__, "make_jvp")


def _require_real_scalar(y: Any, name: str, instead: str) -> None:
    whole: Any = None if isinstance(y, (list, tuple, dict)) else y if hasattr(y, "dtype") else onp.asarray(y)
    data = whole._data if type(whole) is Tensor else whole
    if data is None or (data.shape != () and whole.size != 1) or data.dtype.kind not in "fiu":
        raise TypeError(f"{name} only applies to real scalar-output functions. Try {instead}.")


@unary_to_nary
def grad(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the gradient of `fun` with respect to positional argument number `argnum`.

    `fun` must give a real number. The gradient has the argument's structure.
    """
    run = Run(fun, x)
    _require_real_scalar(run.y, "Grad", "jacobian, elementwise_grad or holomorphic_grad")
    return run.ones()


@unary_to_nary
def elementwise_grad(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the sum of each column of the Jacobian of `fun`.

    Where the Jacobian is diagonal, those are the derivatives of the elements.
    """
    run = Run(fun, x)
    if vspace(run.y).iscomplex:
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return run.ones()


@unary_to_nary
def deriv(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the derivative of `fun`, by forward mode.
    """
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the Jacobian of `fun`: the axes of its result, then those of its argument.
    """
    vjp, ans = _make_vjp(fun, x)
    space = vspace(ans)
    rows = [vjp(vector) for vector in space.standard_basis()]
    if space.iscomplex and len(rows) == 2 * int(onp.prod(space.shape)) and not vspace(x).iscomplex:
        raise TypeError("jacobian of a complex function of real arguments: take its real and imaginary parts apart")
    return np.reshape(np.stack(rows), (*onp.shape(ans), *onp.shape(rows[0])) if rows else onp.shape(ans))


@unary_to_nary
def holomorphic_grad(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the derivative of a holomorphic function of complex numbers.
    """
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return _make_vjp(fun, x)[0](1.0 + 0.0j)


def grad_named(fun: Callable[..., Any], argname: str) -> Any:
    """The gradient of `fun` with respect to an argument by its name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


@unary_to_nary
def hessian(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which computes the exact Hessian of `fun`.
    """
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which gives the Hessian-vector product of `fun` at its arguments, and the gradient there.
    """
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of the arguments and a tensor: the Hessian's contraction with it."""
    gradient = grad(fun, argnum)

    def contracted(*args: object, **kwargs: object) -> Any:
        *rest, tensor = args
        return np.tensordot(gradient(*rest, **kwargs), tensor, np.ndim(tensor))

    return applied(grad(contracted, argnum), hessian_tensor_product, fun, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of the arguments and a tensor: the Jacobian's contraction with it from the left."""

    def contracted(*args: object, **kwargs: object) -> Any:
        *rest, tensor = args
        return np.tensordot(tensor, fun(*rest, **kwargs), axes=np.ndim(tensor))

    return applied(jacobian(contracted, argnum), tensor_jacobian_product, fun, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Callable[..., Any], x: object) -> Any:
    """
    Returns a function which gives the Jacobian-vector product of `fun`, by reverse mode twice.
    """
    vjp, y = _make_vjp(fun, x)
    return _make_vjp(vjp, vspace(y).zeros())[0]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Callable[..., Any], g: Callable[..., Any] = _half_square, f_argnum: int = 0) -> Callable[..., Any]:
    """A function of f's arguments: the product of a vector with the generalised Gauss-Newton matrix of g of f."""

    @unary_to_nary
    def ggnvp_maker(f: Callable[..., Any], x: object) -> Any:
        f_vjp, f_x = _make_vjp(f, x)
        g_hvp, _ = _make_vjp(grad(g), f_x)
        f_jvp, _ = _make_vjp(f_vjp, vspace(f_x).zeros())
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return applied(ggnvp_maker(f, f_argnum), make_ggnvp, f, g, f_argnum)


@unary_to_nary
def value_and_grad(fun: Callable[..., Any], x: object) -> tuple[Any, Any]:
    """
    Returns a function which gives both the value and the gradient of `fun`.
    """
    run = Run(fun, x)
    _require_real_scalar(run.y, "value_and_grad", "jacobian, elementwise_grad or holomorphic_grad")
    return plain(run.y), run.ones()


@unary_to_nary
def grad_and_aux(fun: Callable[..., Any], x: object) -> tuple[Any, Any]:
    """
    Returns a function which gives the gradient of the first result of `fun`, and the second result as it is.
    """
    run = Run(fun, x)
    run.y, aux = run.y
    return run.ones(), plain_tree(aux)


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function which gives the gradients of `fun` with respect to all of its arguments, by their names."""
    signature = inspect.signature(fun)

    def gradients(*args: object, **kwargs: object) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_named(named: dict[str, Any]) -> Any:
            again = inspect.BoundArguments(signature, named)
            return fun(*again.args, **again.kwargs)

        return grad(of_named)(dict(bound.arguments))

    return applied(gradients, multigrad_dict, fun)


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, which keeps only its arguments for the backward pass and runs again there."""

    def vjp_maker(argnum: int, ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return lambda g: _make_vjp(lambda x: fun(*subval(args, argnum, x), **kwargs), args[argnum])[0](g)

    wrapped = primitive(fun)
    defvjp_argnum(wrapped, vjp_maker)
    return wrapped


__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp", "make_hvp",
    "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "tensor_jacobian_product", "value_and_grad",
    "vector_jacobian_product",
]  # fmt: skip
