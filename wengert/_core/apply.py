"""The one dispatch point: every primitive runs through `apply`.

In a trace it becomes a node of the open builder; otherwise the kernel for the operands' kind of array runs.
Then every open recorder is shown what happened, the outermost first.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from numpy import float64

from .engine import ENGINE_OF, ENGINES, KERNELS_OF, default_engine, on_one_engine, only_engine
from .state import SERIALS, STATE, next_serial
from .tensor import Tensor, Value
from .user_line import at_user_line, error_at_user_line

if TYPE_CHECKING:
    from .op import Op

_data_of = attrgetter("_data")


def apply(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...] = ()) -> Any:
    """Runs (or traces) a primitive.

    Args:
        op: the primitive.
        operands: tensors of exactly the types that its type rule admits; nothing is promoted or broadcast.
            Those of NumPy's engine meet those of another one there; recorders are shown them as they are.
        attrs: the values of its attributes, in declared order.

    Returns:
        A tensor, or a tuple of them if the op declares several outputs.
    """
    builder = STATE.builder
    if builder is not None:
        out = builder.add(op, operands, attrs)
    else:
        try:
            if op.refuses_complex:  # the one thing that kernels do not refuse by themselves
                for operand in operands:
                    if operand._data.dtype.kind == "c":
                        raise TypeError("complex values")
            if len(operands) == 1:  # said apart because most ops have one operand, and every microsecond shows
                native = operands[0]._data
                kernel = KERNELS_OF[type(native)][op.name]
                result = kernel(native, *attrs) if attrs else kernel(native)
            elif len(operands) == 2:
                native, other = operands[0]._data, operands[1]._data
                kernels = KERNELS_OF[type(native)]
                if type(native) is float64 and type(other) is float64 and op.of_numbers is not None:
                    result = op.of_numbers(native, other)
                elif type(other) is type(native) or KERNELS_OF[type(other)] is kernels:
                    result = kernels[op.name](native, other, *attrs)
                else:
                    natives, kernels = on_one_engine((native, other))
                    result = kernels[op.name](*natives, *attrs)
            elif operands:
                natives = (*map(_data_of, operands),)
                kernels = KERNELS_OF[type(natives[0])]
                if len(ENGINES) > 1:
                    for other in natives:
                        if KERNELS_OF[type(other)] is not kernels:
                            natives, kernels = on_one_engine(natives)
                            break
                result = kernels[op.name](*natives, *attrs)
            else:
                result = default_engine().kernels[op.name](*attrs)
        except Exception as error:
            explained = _explained(op, operands, attrs, error)
            if explained is error:
                raise
            raise explained from error
        out = (*map(Tensor, result, SERIALS),) if op.is_multi else Tensor(result, next_serial())
    recorders = STATE.recorders
    if recorders:
        outs: Any = out if op.is_multi else (out,)
        for operand in operands:
            cut = operand._cut
            if cut is not None:  # in place: behind a comparison each op has one
                for y in outs:
                    y._cut = cut if y._cut is None or y._cut is cut else y._cut.joined(cut)
        # outermost first: what a forward recorder computes from `out` must find it known to those outside it
        for recorder in recorders:
            recorder.observe(op, operands, attrs, outs)
    return out


def apply_prepared(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...] = ()) -> Any:
    """As `apply`, for ops that may hold programs or rules, and for all that run again what ran or was traced before.

    Such an op is prepared for the recorders that are open now: those that were when it was made are not the same.
    """
    if op.prepare is not None and (STATE.recorders or STATE.builder is not None):
        attrs = op.prepare(operands, attrs)
    return apply(op, operands, attrs)


def _explained(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], error: Exception) -> Exception:
    """The error to raise for a kernel's failure: the type rule's own words first, else the kernel's."""
    for operand in operands:
        if type(operand._data) is Value:
            return _stray_symbol(op, operand)
    if type(error).__module__ == "wengert.errors" or _tells_place(error):  # raised by what a program ran
        return error
    engines = {ENGINE_OF[type(t._data)] for t in operands}
    try:
        only_engine(engines)
    except TypeError as of_two:
        return error_at_user_line(of_two)
    for engine in engines or {default_engine()}:
        if op.name not in engine.kernels:
            reason = engine.unsupported.get(op.name, "it has no kernel there")
            return NotImplementedError(
                at_user_line(f"{op.called} is not supported on the {engine.name} engine: {reason}")
            )
    try:
        op.type_rule(*op.group((*map(_type_of, operands),)), *attrs)
    except Exception as explanation:
        return error_at_user_line(explanation)
    try:
        kind = type(error)
        if isinstance(error, MemoryError):  # NumPy's own kind is made of a shape and a dtype
            return MemoryError(at_user_line(f"{op.called}: {error}"))
        if kind.__module__ in ("builtins", "numpy.linalg") or issubclass(kind, (ValueError, TypeError)):
            return kind(at_user_line(f"{op.called}: {error}"))
    except Exception:
        return error
    return error


def _tells_place(error: Exception) -> bool:
    try:
        return "\n  at " in str(error)
    except Exception:
        return False


def _stray_symbol(op: Op, operand: Tensor) -> Exception:
    from_where = f"a symbolic tensor {operand!r}"
    return ValueError(
        at_user_line(
            f"{op.called}: {from_where} was used outside the trace that it belongs to; return it from the traced "
            f"function instead of keeping it"
        )
    )


def _type_of(tensor: Tensor) -> Any:
    return tensor._data
