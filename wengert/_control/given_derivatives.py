"""`given`: an op for one call of a function on raw arrays whose derivatives are given beside it.

The op's attribute is the call, a `Given`, which says how to run it, pull cotangents and push tangents. Used for the
primitives of HIPS/autograd's API (`compat/autograd/tracer.py`). There are two ops, for functions of one result and of
several: one result asks less of a tape and of a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.engine import ENGINES, Engine, ndarray_of, register_host_kernel, transferred
from .._core.op import Facts, Op, Rule
from .._core.tensor import Tensor
from .._core.types import TensorType


class Given:
    """One call of a function on raw arrays: how it is run and differentiated.

    Attributes:
        natives: what it gave when it ran for the first time, until the op has taken it.
    """

    natives: tuple[Any, ...] | None = None

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the function on raw values."""
        raise NotImplementedError

    def types(self) -> tuple[TensorType, ...]:
        """The types of the results."""
        raise NotImplementedError

    def pull(
        self, ct: Sequence[Any], needed: Sequence[bool], inputs: Sequence[Tensor], outs: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        """The cotangents of the operands that are asked for, given those of the results (which may be missing)."""
        raise NotImplementedError

    def push(self, dots: Sequence[Any], inputs: Sequence[Tensor], outs: Sequence[Tensor]) -> Sequence[Tensor]:
        """The tangents of the results, given those of the operands (which may be missing)."""
        raise NotImplementedError


def _batch(op: Op, operands: Sequence[Any], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Any:
    raise NotImplementedError(f"{attrs[0]} cannot be run on batches")


def _pull_one(ct: Any, needed: tuple[bool, ...], inputs: tuple[Tensor, ...], outs: Tensor, call: Given) -> Any:
    return (call.pull((ct,), needed, inputs, (outs,)),)


def _pull_all(ct: Any, needed: tuple[bool, ...], inputs: tuple[Tensor, ...], outs: Any, call: Given) -> Any:
    return (call.pull(ct, needed, inputs, outs),)


def _push_one(inputs_dot: tuple[Any, ...], inputs: tuple[Tensor, ...], outs: Tensor, call: Given) -> Any:
    return call.push(inputs_dot, inputs, (outs,))[0]


def _push_all(inputs_dot: tuple[Any, ...], inputs: tuple[Tensor, ...], outs: Any, call: Given) -> Any:
    return (*call.push(inputs_dot, inputs, outs),)


def _op(name: str, is_lone: bool) -> Op:
    op = Op(
        name=name, operands=("inputs",), attrs=("call",), outs=("outs",), kind="general",
        type_rule=lambda inputs, call: call.types()[0] if is_lone else call.types(), batch_rule=_batch,
        is_variadic=True, has_many_outs=not is_lone, takes_missing=True, is_given=True,
        facts=Facts(doc="the results of a function whose derivative is given apart", dtypes="any"),
    )  # fmt: skip
    op.joint = Rule(_pull_one if is_lone else _pull_all, op.reverse_layout(), name)
    op.jvp = Rule(_push_one if is_lone else _push_all, op.forward_layout(), name)
    register_host_kernel(name, lambda engine: _for_engine(engine, is_lone))
    return op


def _for_engine(engine: Engine, is_lone: bool) -> Callable[..., Any]:
    def kernel(*natives_and_call: Any) -> Any:
        call = natives_and_call[-1]
        found, call.natives = call.natives, None  # the first time they are there; a replay runs the function again
        if found is None:
            found = call.run([x if x.shape else x[()] for x in map(ndarray_of, natives_and_call[:-1])])
        if engine is not ENGINES["numpy"]:
            found = (*[transferred(y, engine) for y in found],)
        return found[0] if is_lone else found

    return kernel


given_one, given = _op("given_one", True), _op("given", False)

__all__ = ["Given", "given", "given_one"]
