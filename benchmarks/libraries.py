"""The contenders' libraries behind one small interface, so that each program is written once.

A program takes a `Library` and uses its `np` (a NumPy-like namespace) and its loops. What a library cannot do it does
not have: `loop` is None, say, and the program is not run on it. Frameworks are imported only by their own function.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

THREADS = int(os.environ.get("WENGERT_BENCH_THREADS", "1"))
DEVICE = os.environ.get("WENGERT_BENCH_DEVICE", "cpu")  # where PyTorch's tensors lie; gpu.py says "cuda"


class Library:
    """What a program may use.

    Attributes:
        name: as in the tables.
        kind: "eager" or "compiled".
        np: a namespace with NumPy's names.
        array: an ndarray as the library's array, as arguments are given.
        constant: an ndarray as an array that programs may hold and index.
        loop: `loop(n, body, carry)` runs `carry = body(i, carry)` for i below n, carry a tuple.
        scan: `scan(step, carry, rows)` gives the last carry and what the steps gave, stacked; carry one array.
        custom_gradient: from `value(x) -> (y, residual)` and `pulled(residual, ct)` to a function with that gradient.
        while_loop: `while_loop(test, body, carry, bound)`: while test(*carry), at most `bound` times.
        value_and_grad: from f of so many arguments to a function that gives the value and the gradients in all of them.
        compiled: from a function of arrays to the form in which it is timed.
        ready: waits until a result is there.
        ndarray: the library's array as an ndarray.
        dtype: makes a constant of the dtype of the program.
    """

    def __init__(self, name: str, kind: str, **parts: Any) -> None:
        self.name = name
        self.kind = kind
        self.loop: Callable[..., Any] | None = None
        self.while_loop: Callable[..., Any] | None = None
        self.scan: Callable[..., Any] | None = None
        self.custom_gradient: Callable[..., Any] | None = None
        self.compiled: Callable[[Any], Any] = lambda f: f
        self.ready: Callable[[Any], Any] = lambda result: result
        self.ndarray: Callable[[Any], np.ndarray] = np.asarray
        self.array: Callable[[np.ndarray], Any] = lambda a: a
        for part, held in parts.items():
            setattr(self, part, held)
        self.constant: Callable[[np.ndarray], Any] = parts.get("constant", self.array)
        self.np: Any = parts["np"]
        self.value_and_grad: Callable[[Any, int], Any] = parts["value_and_grad"]


def module_of(**names: Any) -> ModuleType:
    """A module of these names, as programs import one: of a namespace compiled calls compare all that it holds."""
    made = ModuleType("names")
    vars(made).update(names)
    return made


def wengert() -> list[Library]:
    return [_wengert("wengert", is_bounded=False)]


def wengert_on(theirs: Library) -> Library:
    """Wengert on the arrays of a framework. Its loops tell their bound, as the framework's do."""
    import wengert as wg

    return _wengert(
        f"wengert on {theirs.name}", is_bounded=True, array=theirs.array, ready=theirs.ready, ndarray=theirs.ndarray,
        constant=lambda a: wg.tensor(theirs.array(a)),
    )  # fmt: skip


def _wengert(name: str, is_bounded: bool, **parts: Any) -> Library:
    import wengert as wg

    def while_loop(test: Any, body: Any, carry: Any, bound: int) -> Any:
        return wg.while_loop(test, body, carry, maximum_iterations=bound if is_bounded else None)

    def custom_gradient(value: Any, pulled: Any) -> Any:
        @wg.custom_gradient
        def rule(x: Any) -> Any:
            y, residual = value(x)
            return y, lambda upstream: pulled(residual, upstream)

        return rule

    def value_and_grad(f: Any, arity: int) -> Any:
        if arity == 1:
            return wg.value_and_grad(f)
        return lambda *arguments: wg.value_and_grads(f)(arguments)

    parts = {"constant": wg.tensor, **parts}
    return Library(
        name, "compiled", np=_wengert_names(wg), loop=_wengert_loop(wg), while_loop=while_loop, scan=wg.scan,
        custom_gradient=custom_gradient, value_and_grad=value_and_grad, compiled=wg.function, **parts,
    )  # fmt: skip


def _wengert_names(wg: Any) -> Any:
    import wengert.numpy as names

    return module_of(
        **{n: getattr(names, n) for n in NAMES if hasattr(names, n)},
        sigmoid=wg.nn.sigmoid,
        relu=wg.nn.relu, logsumexp=wg.ops.logsumexp, max_pool=_wengert_pool(wg), conv=_wengert_conv(wg),
        float32=np.float32, float64=np.float64, cast=lambda x, dtype: wg.ops.cast(x, dtype),
        one_hot_rows=lambda table, rows, axis: wg.take(table, rows, axis=axis),
    )  # fmt: skip


def _wengert_loop(wg: Any) -> Callable[..., Any]:
    def loop(n: int, body: Any, carry: Any) -> Any:
        return wg.fori_loop(0, n, body, carry)

    return loop


def _wengert_pool(wg: Any) -> Callable[[Any], Any]:
    return lambda x: wg.nn.max_pool(x, 2, 2, data_format="channels_last")


def _wengert_conv(wg: Any) -> Callable[[Any, Any], Any]:
    return lambda x, w: wg.nn.conv(x, w, strides=1, padding="same", data_format="channels_last")


NAMES = (
    "abs", "arange", "concatenate", "cos", "cumprod", "einsum", "exp", "log", "matmul", "max", "maximum", "mean",
    "min", "minimum", "ones", "reshape", "roll", "sign", "sin", "sqrt", "square", "stack", "sum", "swapaxes", "tanh",
    "transpose", "where", "zeros",
)  # fmt: skip


def jax() -> list[Library]:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def loop(n: int, body: Any, carry: Any) -> Any:
        # lax.scan is what JAX differentiates in reverse; a fori_loop with a known trip count becomes one, too
        return jax.lax.fori_loop(0, n, body, carry)

    def while_loop(test: Any, body: Any, carry: Any, bound: int) -> Any:
        """JAX has no reverse mode of a while loop: a scan over the largest number of steps, ended ones frozen."""

        def step(state: Any, _: Any) -> Any:
            return jax.lax.cond(test(*state), lambda s: tuple(body(*s)), lambda s: s, state), None

        return jax.lax.scan(step, tuple(map(jnp.asarray, carry)), None, length=bound)[0]

    def value_and_grad(f: Any, arity: int) -> Any:
        return jax.value_and_grad(f, argnums=0 if arity == 1 else tuple(range(arity)))

    def custom_gradient(value: Any, pulled: Any) -> Any:
        rule = jax.custom_vjp(lambda x: value(x)[0])
        rule.defvjp(value, lambda residual, ct: (pulled(residual, ct),))
        return rule

    def conv(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def max_pool(x: Any) -> Any:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    names = module_of(
        **{n: getattr(jnp, n) for n in NAMES}, sigmoid=jax.nn.sigmoid,
        relu=jax.nn.relu, logsumexp=jax.scipy.special.logsumexp,
        max_pool=max_pool, conv=conv, float32=jnp.float32, float64=jnp.float64, cast=lambda x, dtype: x.astype(dtype),
        one_hot_rows=lambda table, rows, axis: jnp.take(table, rows, axis=axis),
    )  # fmt: skip
    return [
        Library(
            "jax", "compiled", np=names, loop=loop, while_loop=while_loop, scan=jax.lax.scan,
            custom_gradient=custom_gradient, value_and_grad=value_and_grad, compiled=jax.jit,
            array=jnp.asarray, ready=jax.block_until_ready,
        )
    ]  # fmt: skip


def torch() -> list[Library]:
    import torch

    torch.set_num_threads(THREADS)

    def value_and_grad(f: Any, arity: int) -> Any:
        def both(*arguments: Any) -> Any:
            leaves = [a.detach().requires_grad_() for a in arguments]
            value = f(*leaves)
            return value.detach(), torch.autograd.grad(value, leaves)

        return both

    def scan(step: Any, carry: Any, rows: Any) -> Any:
        found = []
        for row in rows:
            carry, y = step(carry, row)
            found.append(y)
        return carry, torch.stack(found)

    def custom_gradient(value: Any, pulled: Any) -> Any:
        class Rule(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, x: Any) -> Any:
                y, residual = value(x)
                context.save_for_backward(residual)
                return y

            @staticmethod
            def backward(context: Any, ct: Any) -> Any:
                return pulled(*context.saved_tensors, ct)

        return Rule.apply

    def ready(result: Any) -> Any:
        if DEVICE != "cpu":
            torch.cuda.synchronize()
        return result

    def shared(name: str, kind: str, compiled: Any, loops: bool) -> Library:
        return Library(
            name, kind, np=_torch_names(torch), loop=python_loop if loops else None,
            while_loop=python_while if loops else None, scan=scan if loops else None, custom_gradient=custom_gradient,
            value_and_grad=value_and_grad, compiled=compiled,
            array=lambda a: torch.as_tensor(a, device=DEVICE), ndarray=lambda t: t.detach().cpu().numpy(),
            ready=ready,
        )  # fmt: skip

    def inductor(f: Any) -> Any:
        return torch.compile(f, dynamic=False)

    # torch.compile unrolls Python loops: a thousand steps take it minutes, so programs with loops leave it out
    return [shared("torch", "eager", lambda f: f, True), shared("torch.compile", "compiled", inductor, False)]


def _torch_names(torch: Any) -> Any:
    def conv(x: Any, w: Any) -> Any:
        y = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding="same")
        return y.permute(0, 2, 3, 1)

    def max_pool(x: Any) -> Any:
        return torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)

    def reduced(reduce: Any) -> Any:
        def apply(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return reduce(x) if axis is None else reduce(x, dim=axis, keepdim=keepdims)

        return apply

    def filled(make: Any) -> Any:
        return lambda shape, dtype=torch.float64: make(shape, dtype=dtype, device=DEVICE)

    return module_of(
        abs=torch.abs, arange=torch.arange, concatenate=lambda xs, axis=0: torch.cat(tuple(xs), dim=axis),
        cos=torch.cos, cumprod=lambda x, axis: torch.cumprod(x, dim=axis),
        einsum=torch.einsum, exp=torch.exp, log=torch.log, matmul=torch.matmul, max=reduced(torch.amax),
        maximum=torch.maximum, mean=reduced(torch.mean), min=reduced(torch.amin), minimum=torch.minimum,
        ones=filled(torch.ones), zeros=filled(torch.zeros), reshape=torch.reshape, sign=torch.sign, sin=torch.sin,
        sqrt=torch.sqrt, square=torch.square, stack=lambda xs, axis=0: torch.stack(tuple(xs), dim=axis),
        sum=reduced(torch.sum), swapaxes=torch.swapaxes, tanh=torch.tanh, transpose=lambda x: x.T, where=torch.where,
        sigmoid=torch.sigmoid,
        relu=torch.relu, logsumexp=lambda x, axis: torch.logsumexp(x, dim=axis), max_pool=max_pool, conv=conv,
        float32=torch.float32, float64=torch.float64, cast=lambda x, dtype: x.to(dtype),
        one_hot_rows=lambda table, rows, axis: torch.index_select(
            table, axis, torch.as_tensor(rows, device=table.device)
        ),
    )  # fmt: skip


def tensorflow() -> list[Library]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)

    def value_and_grad(f: Any, arity: int) -> Any:
        def both(*arguments: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(arguments)
                value = f(*arguments)
            return value, tape.gradient(value, arguments)

        return both

    def loop(n: int, body: Any, carry: Any) -> Any:
        def step(i: Any, *state: Any) -> Any:
            return (i + 1, *body(i, state))

        start = (tf.constant(0), *map(tf.convert_to_tensor, carry))
        return tf.while_loop(lambda i, *_: i < n, step, start, maximum_iterations=n)[1:]

    def while_loop(test: Any, body: Any, carry: Any, bound: int) -> Any:
        return tf.while_loop(test, body, tuple(map(tf.convert_to_tensor, carry)), maximum_iterations=bound)

    def scan(step: Any, carry: Any, rows: Any) -> Any:
        count = rows.shape[0]
        stack = tf.TensorArray(carry.dtype, count)

        def one(i: Any, state: Any, found: Any) -> Any:
            state, y = step(state, rows[i])
            return i + 1, state, found.write(i, y)

        _, last, stack = tf.while_loop(lambda i, *_: i < count, one, (0, carry, stack), maximum_iterations=count)
        return last, stack.stack()

    def custom_gradient(value: Any, pulled: Any) -> Any:
        @tf.custom_gradient
        def rule(x: Any) -> Any:
            y, residual = value(x)
            return y, lambda upstream: pulled(residual, upstream)

        return rule

    return [
        Library(
            "tensorflow", "compiled", np=_tensorflow_names(tf), loop=loop, while_loop=while_loop, scan=scan,
            custom_gradient=custom_gradient,
            value_and_grad=value_and_grad, compiled=lambda f: tf.function(f, autograph=False), array=tf.constant,
        )
    ]  # fmt: skip


def _tensorflow_names(tf: Any) -> Any:
    def filled(make: Any) -> Any:
        return lambda shape, dtype=tf.float64: make(shape, dtype=dtype)

    return module_of(
        abs=tf.abs, arange=tf.range, concatenate=lambda xs, axis=0: tf.concat(tuple(xs), axis), cos=tf.cos,
        cumprod=lambda x, axis: tf.math.cumprod(x, axis),
        einsum=tf.einsum, exp=tf.exp, log=tf.math.log, matmul=_tensorflow_matmul(tf), max=tf.reduce_max,
        maximum=tf.maximum, mean=tf.reduce_mean, min=tf.reduce_min, minimum=tf.minimum, ones=filled(tf.ones),
        zeros=filled(tf.zeros), reshape=tf.reshape, sign=tf.sign, sin=tf.sin, sqrt=tf.sqrt, square=tf.square,
        stack=lambda xs, axis=0: tf.stack(tuple(xs), axis), sum=tf.reduce_sum,
        swapaxes=lambda x, a, b: tf.experimental.numpy.swapaxes(x, a, b), tanh=tf.tanh, transpose=tf.transpose,
        where=tf.where, sigmoid=tf.sigmoid,
        relu=tf.nn.relu, logsumexp=lambda x, axis: tf.reduce_logsumexp(x, axis),
        max_pool=lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), conv=lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        float32=tf.float32, float64=tf.float64, cast=tf.cast,
        one_hot_rows=lambda table, rows, axis: tf.gather(table, rows, axis=axis),
    )  # fmt: skip


def _tensorflow_matmul(tf: Any) -> Callable[[Any, Any], Any]:
    def matmul(a: Any, b: Any) -> Any:
        return tf.linalg.matvec(a, b) if b.shape.rank == 1 else tf.matmul(a, b)

    return matmul


def autograd() -> list[Library]:
    import autograd.numpy as anp
    import autograd.scipy.special as special
    from autograd import value_and_grad as differentiate

    def value_and_grad(f: Any, arity: int) -> Any:
        return lambda *arguments: differentiate(lambda xs: f(*xs))(tuple(arguments))

    names = module_of(
        **{n: getattr(anp, n) for n in NAMES}, sigmoid=lambda x: 1 / (1 + anp.exp(-x)),
        relu=lambda x: anp.maximum(x, 0), logsumexp=special.logsumexp,
        max_pool=None, conv=None, float32=np.float32, float64=np.float64, cast=lambda x, dtype: x.astype(dtype),
        one_hot_rows=lambda table, rows, axis: table[:, rows] if axis else table[rows],
    )  # fmt: skip
    return [
        Library("autograd", "eager", np=names, loop=python_loop, while_loop=python_while, value_and_grad=value_and_grad)
    ]


def pytensor() -> list[Library]:
    import pytensor as pt_module
    import pytensor.tensor as pt

    def value_and_grad(f: Any, arity: int) -> Any:
        return f  # `compiled` does both: PyTensor differentiates its own graph

    def compiled(f: Any) -> Any:
        made: list[Any] = []

        def call(*arguments: Any) -> Any:
            if not made:
                symbols = [pt.tensor(shape=a.shape, dtype=a.dtype) for a in arguments]
                value = f(*symbols)
                outputs = [value, *pt_module.grad(value, symbols)]
                made.append(pt_module.function(symbols, outputs, trust_input=True))
            value, *gradients = made[0](*arguments)
            return value, tuple(gradients)

        return call

    def loop(n: int, body: Any, carry: Any) -> Any:
        def step(i: Any, *state: Any) -> Any:
            return list(body(i, state))

        outputs = pt_module.scan(step, sequences=[pt.arange(n)], outputs_info=list(carry), return_updates=False)
        return tuple(o[-1] for o in (outputs if isinstance(outputs, list) else [outputs]))

    names = module_of(
        **{n: getattr(pt, n) for n in NAMES if hasattr(pt, n)}, sigmoid=pt.sigmoid,
        relu=lambda x: pt.maximum(x, 0),
        logsumexp=lambda x, axis: pt.logsumexp(x, axis=axis), max_pool=None, conv=None, float32="float32",
        float64="float64", cast=pt.cast, one_hot_rows=lambda table, rows, axis: table[:, rows] if axis else table[rows],
    )  # fmt: skip
    return [Library("pytensor", "compiled", np=names, loop=loop, value_and_grad=value_and_grad, compiled=compiled)]


def python_loop(n: int, body: Any, carry: Any) -> Any:
    """A loop as Python runs it, for libraries that record what runs."""
    for i in range(n):
        carry = body(i, carry)
    return carry


def python_while(test: Any, body: Any, carry: Any, bound: int) -> Any:
    """A while loop as Python runs it."""
    while test(*carry):
        carry = body(*carry)
    return carry


LIBRARIES: dict[str, Callable[[], list[Library]]] = {
    "wengert": wengert, "jax": jax, "torch": torch, "tensorflow": tensorflow, "autograd": autograd,
    "pytensor": pytensor,
}  # fmt: skip


def limit_threads() -> None:
    """Gives every library the same number of threads; before the first of them is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "WENGERT_NUM_THREADS"):
        os.environ[name] = str(THREADS)
    if THREADS == 1 and hasattr(os, "sched_setaffinity"):
        # JAX cannot be told otherwise
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def available(wanted: Sequence[str]) -> tuple[list[Library], dict[str, str]]:
    """The libraries that can be imported, and each one's version or why it is absent."""
    found: list[Library] = []
    states: dict[str, str] = {}
    for name in wanted:
        try:
            found += LIBRARIES[name]()
        except ImportError as error:
            states[name] = f"absent ({error})"
        else:
            states[name] = _version(name)
    return found, states


def _version(library: str) -> str:
    for distribution in (library, f"{library}-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"
