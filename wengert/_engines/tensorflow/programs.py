"""Traced programs on TensorFlow: one `tf.function` each, and one custom gradient in what TensorFlow differentiates.

Where a tape of TensorFlow's watches an operand, or a graph of its is under construction, a program is a
`tf.custom_gradient`: its results come from the half of ours that also keeps residuals, its gradient from our backward
half. That gradient is itself such a program (inputs and cotangents to cotangents), whose value is known, so that every
higher order is ours, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import forwardprop_util, record

from ..._control.call import Program, RowsAt, has_effect, programs_within
from ..._control.executables import once_per_program
from ..._control.joint_graph import joint_of
from ..._control.loop import Loop
from ..._core.engine import HOST_KERNELS
from ..._core.graph import Graph
from ..._core.op import ZERO
from ..._core.state import letting_captures_go
from ..._core.user_line import at_user_line
from ..._passes import optimise
from ...errors import CapturedError, LostGradientError
from ..interpret import compile_instructions
from .common import TRACING, TensorHistory, extents, flat, is_inexact, opened, rebuilt
from .followed import is_body_under_construction, may_be_followed
from .fusion import fused
from .kernels import kernels_for
from .mapped import Again, note
from .refusals import differentiated_no_more, is_gradient_alone, refusing, severed
from .table import KERNELS

Tensors = Sequence[Any]


def takes_part(tensors: Tensors) -> bool:
    """Whether TensorFlow records or builds with some tensors: symbolic ones, or those that one of its tapes watches.

    Raises:
        LostGradientError: its forward mode follows one of them.
    """
    _refuse_forward(tensors)
    # TensorFlow has no public word for what its tapes watch
    return not tf.executing_eagerly() or record.should_record_backprop([*tensors])


def _refuse_forward(tensors: Tensors) -> None:
    """TensorFlow's forward mode knows nothing of custom gradients: it would differentiate what runs instead of it."""
    if pywrap_tfe.TFE_Py_TapeSetIsEmpty() or not forwardprop_util.pack_tangents([*tensors]).tangents:
        return
    raise LostGradientError(
        at_user_line(
            "tf.autodiff.ForwardAccumulator follows this tensor and would take TensorFlow's own derivative in place of "
            "Wengert's: use wg.jvp(f, primals, tangents)"
        )
    )


_SHORT = 1  # nodes


class Form:
    """A program as this engine runs it: op by op, or as a graph of its own.

    Attributes:
        run: the program, op by op; in a graph it becomes a part of that.
        can_compile: whether it can be a graph of its own: shapes that vary from step to step of a loop cannot.
        is_short: whether TensorFlow takes longer to enter a graph than to run it op by op; all is TensorFlow's then.
        uses: how often it has run.
    """

    def __init__(self, program: Program) -> None:
        graph = fused(optimise(program.graph))
        self.name = program.graph.name
        self._steps: Callable[..., tuple[Any, ...]] = compile_instructions(graph, kernels_for(graph), _extent)
        self.inputs = program.graph.inputs
        self.can_compile = not _varies(program.graph)
        self.has_loops = any("loop" in node.op.facts.holds for node in program.graph.nodes)
        self.is_short = len(graph.nodes) <= _SHORT and all(
            node.op.name not in HOST_KERNELS and not node.op.facts.holds for node in graph.nodes
        )  # fmt: skip
        self.uses = 0
        self._has_effect = has_effect(program.graph)
        self._compiled: dict[Any, Callable[..., tuple[Any, ...]]] = {}

    def run(self, *tensors: object) -> tuple[Any, ...]:
        TRACING.depth = getattr(TRACING, "depth", 0) + 1
        try:
            return self._steps(*tensors)
        finally:
            TRACING.depth -= 1

    def compiled(self, leaves: Tensors, form: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results for flat operands, by a graph of TensorFlow's own, made on first use."""
        found = self._compiled.get(form)
        if found is None:
            found = self._compiled[form] = self._as_function(leaves, form)
        return found(*leaves)

    def _as_function(self, leaves: Tensors, form: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        made: list[tuple[Any, ...]] = []

        def body(*tensors: tf.Tensor) -> list[Any]:
            outs, out_form = flat(self.run(*rebuilt(form, tensors)))
            made.append(out_form)
            return outs

        body.__name__ = "".join(c if c.isalnum() else "_" for c in self.name)
        specs = [tf.TensorSpec(shape, x.dtype) for shape, x in zip(self._shapes(leaves, form), leaves, strict=True)]
        graph = tf.function(body, autograph=False).get_concrete_function(*specs)
        (out_form,) = made
        run = graph if self._has_effect else _at_once(graph)
        if not any(out_form):
            return run
        return lambda *tensors: (*rebuilt(out_form, run(*tensors)),)

    def _shapes(self, leaves: Tensors, form: tuple[Any, ...]) -> list[Any]:
        """The shapes of flat operands as far as every call has them."""
        shapes: list[Any] = []
        following = iter(leaves)
        for value, part in zip(self.inputs, form, strict=True):
            if part is None:
                next(following)
                shapes.append([n if isinstance(n, int) else None for n in value.shape])
            else:
                shapes += [next(following).shape for _ in part.kinds]  # of lists, and of a fixed number of slots
        return shapes


def _at_once(graph: Any) -> Callable[..., Any]:
    """What runs a concrete function without effects on tensors that no tape watches.

    TensorFlow's own call looks at structures, variables and tapes first, in 250 calls of Python; the op that runs a
    graph takes a seventh of the time. Errors of it do not name the user's line: the call is there to raise them again.
    """
    if graph.captured_inputs or graph.variables or not graph.outputs:  # what a function of TensorFlow's in it reads
        return graph
    dtypes, run = [y.dtype for y in graph.outputs], tf.raw_ops.StatefulPartitionedCall

    def at_once(*tensors: tf.Tensor) -> Sequence[Any]:
        try:
            return run(args=tensors, Tout=dtypes, f=graph)
        except tf.errors.OpError:
            return graph(*tensors)

    return at_once


def _extent(x: tf.Tensor, axis: int) -> Any:
    """The size of an axis, as a scalar of the graph where it is not known beforehand."""
    return extents(x)[axis]


def _varies(graph: Graph) -> bool:
    """Whether a loop's variables change their shape on the way."""
    for node in graph.nodes:
        if any(isinstance(attr, Loop) and attr.varying for attr in node.attrs):
            return True
        if any(_varies(program.graph) for program in programs_within(node)):
            return True
    return False


@once_per_program
def form_of(program: Program) -> Form:
    """The program's form, made on first use."""
    return Form(program)


def run_of(program: Program) -> Callable[..., tuple[Any, ...]]:
    """The executable of a part of a program: of a branch, or of a step."""
    return form_of(program).run


def executed(program: Program, values: Tensors) -> tuple[Any, ...]:
    """The results; outside graphs compiled from the second run on, for what runs but once is not worth it.

    What takes a history runs as what made that did: histories of graphs are `TensorHistory`s, and those of other runs
    NumPy's objects.
    """
    form = form_of(program)
    form.uses += 1
    if not tf.executing_eagerly() or not all(isinstance(x, (tf.Tensor, TensorHistory)) for x in values):
        return form.run(*values)
    # loops from the first use on, for their steps should not return to Python each
    is_worth_it = form.can_compile and not form.is_short and (form.uses > 1 or form.has_loops)
    if is_worth_it or any(type(x) is TensorHistory for x in values):
        return form.compiled(*flat(values))
    return form.run(*values)


def called(*operands_and_program: Any) -> tuple[Any, ...]:
    """A program's results for tensors: the kernel of `call`."""
    *values, program = operands_and_program
    if getattr(TRACING, "depth", 0):
        return form_of(program).run(*values)
    if takes_part([x for x in flat(values)[0] if isinstance(x, tf.Tensor)]):
        return bound(program, values)
    return executed(program, values)


def run_plain(arrays: Tensors, program: Program) -> tuple[Any, ...]:
    """A program's results for a caller's arrays: tensors, and NumPy's beside them."""
    tensors = [x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(opened(x)) for x in arrays]
    if takes_part(tensors):
        return bound(program, tensors)
    form = form_of(program)
    return (*form.compiled(tensors, (None,) * len(tensors)),) if form.can_compile else form.run(*tensors)


# -- in TensorFlow's own differentiation -------------------------------------------------------------------------------


def bound(
    program: Program, values: Tensors, known: Tensors | None = None, lost: Sequence[int] = (), is_last: bool = False
) -> tuple[Any, ...]:  # fmt: skip
    """The results of a program as TensorFlow's tapes and graphs see them.

    Args:
        program: any program.
        values: its operands.
        known: the results, where something has computed them already.
        lost: then the places of operands whose derivative is an error.
        is_last: whether a saved model has no gradients of its gradient.
    """
    leaves, form = flat(values)
    active = (*[part is None and is_inexact(x) for x, part in zip(values, form, strict=True)],)
    if not any(active):
        return executed(program, values) if known is None else (*known,)
    out_form: tuple[Any, ...] = ()
    if known is None:
        program, values, lost = _answering(program, active, values)
        leaves = flat(values)[0]
        if tf.executing_eagerly() and not any(form) and not _gives_histories(program):
            return (*_eager_op(program, active)(*leaves),)

    @tf.custom_gradient
    def op(*tensors: tf.Tensor) -> Any:
        nonlocal out_form
        hosted = None
        if not tf.executing_eagerly():
            # in the graph under construction, for a graph finds only what is its own, or of the one that calls it
            tensors = (*map(tf.identity, tensors),)
        saved, outs = None, known
        if outs is None:
            divided = program.split(active)
            found = _unrecorded(divided, (), rebuilt(form, tensors))
            stage = divided.stages[-1]
            outs, saved = found[: stage.stop], [found[slot] for slot in stage.slots]
        results, out_form = flat([*outs])
        if not (is_last or tf.executing_eagerly() or is_gradient_alone() or any((*form, *out_form))):
            hosted = _for_saving(program, active, tensors, results)

        def pull(*cts: tf.Tensor, variables: Any = None) -> Any:
            kept = None if saved is not None and _is_for_saving(saved) else saved
            operands = rebuilt(form, tensors)
            found = _pulled(program, active, operands, kept, rebuilt(out_form, cts), results, hosted)
            found = [
                tf.zeros_like(x) if i in lost else ct for i, (x, ct) in enumerate(zip(operands, found, strict=True))
            ]
            spread = [[ct] if part is None else [None] * len(part.kinds) for ct, part in zip(found, form, strict=True)]
            flat_cts = [ct for cts in spread for ct in cts]
            # variables that a function of TensorFlow's read in the program have their cotangents as operands of it
            return flat_cts if variables is None else (flat_cts, [None] * len(variables))

        return results, pull

    def noted(*tensors: tf.Tensor) -> Any:
        found = op(*tensors)
        if not tf.executing_eagerly():
            is_plain = not any((*form, *out_form))
            again = _for_batches(program, is_plain, lost)
            note(found[0], Again(len(found), again, _followed(program, active, is_plain)))
        return found

    if known is None and not any(form) and not _gives_histories(program) and is_body_under_construction():
        # a model that is saved binds what a gradient reads in a function, and cannot in a branch or loop
        specs = [tf.TensorSpec(x.shape, x.dtype) for x in leaves]
        return (*tf.function(noted, autograph=False).get_concrete_function(*specs)(*leaves),)
    found = noted(*leaves)
    return (*rebuilt(out_form, found),)


def _for_batches(program: Program, is_plain: bool, lost: Sequence[int]) -> Callable[..., Tensors]:
    """How the node of a program is made for a batch.

    Args:
        program: the node's.
        is_plain: whether its results and its operands are tensors, and no histories of loops.
        lost: as in `bound`.
    """

    def again(results: Tensors, operands: Tensors, flags: tuple[bool, ...], size: int | None) -> Tensors:
        if size is None or not is_plain or not any(flags):
            return refusing([*results, *operands], _unmapped)[: len(results)]
        return bound(program.batched(flags, size), operands, results, lost)

    return again


def _followed(program: Program, active: tuple[bool, ...], is_plain: bool) -> Callable[[], Sequence[bool]]:
    """Which operands of a node have derivatives."""
    everything = [True] * len(active)
    return lambda: [type(p) in (int, RowsAt) for p in _pullback_of(program, active).results] if is_plain else everything


def _unmapped() -> Exception:
    return LostGradientError(
        at_user_line(
            "tf.vectorized_map, or tape.jacobian, of a number of elements that is not known beforehand would lose "
            "Wengert's gradient here: use wg.vmap or wg.jacobian, or give sizes that are known"
        )
    )


@once_per_program
def _eager_op(program: Program, active: tuple[bool, ...]) -> Callable[..., Sequence[Any]]:
    """The same outside of graphs, of a program of tensors alone: made once, for TensorFlow looks at it when it is."""
    divided = program.split(active)
    stage = divided.stages[-1]
    is_single = stage.stop == 1  # TensorFlow takes a while to look into a list

    @tf.custom_gradient
    def op(*tensors: tf.Tensor) -> Any:
        found = _unrecorded(divided, (), tensors)
        results, saved = found[: stage.stop], [found[slot] for slot in stage.slots]

        def pull(*cts: tf.Tensor, variables: Any = None) -> Any:
            found = _pulled(program, active, tensors, saved, cts, results)
            return found if variables is None else (found, [None] * len(variables))

        return (results[0] if is_single else [*results]), pull

    return (lambda *tensors: (op(*tensors),)) if is_single else op


def _gives_histories(program: Program) -> bool:
    return any(v.is_history for v in program.graph.outputs)


def _is_for_saving(saved: Tensors) -> bool:
    """Whether TensorFlow traces a gradient alone, and cannot save what it reads: the histories of loops."""
    return is_gradient_alone() and any(x.dtype == tf.variant for x in flat(saved)[0] if isinstance(x, tf.Tensor))


class _Answer(NamedTuple):
    """A program that answers for operands, though a custom gradient in it closes over some of them.

    Attributes:
        program: the program, in which these are constants.
        values: its operands.
        lost: the places of those whose derivative is an error; TensorFlow is told of it as soon as it asks.
    """

    program: Program
    values: Tensors
    lost: Sequence[int] = ()


def _answering(program: Program, active: tuple[bool, ...], values: Tensors) -> _Answer:
    """The program that answers for all active operands, though some may be constants to TensorFlow.

    Its tapes tell which ones, and what they watch is not lost in a custom gradient. Of what is differentiated outside
    of a graph nobody tells inside: there the derivative of what a custom gradient closes over is an error where it
    comes to be taken.
    """
    try:
        program.split(active)
    except CapturedError as error:
        refusal = str(error)
    else:
        return _Answer(program, values)
    program.split((*[flag and record.should_record_backprop([x]) for flag, x in zip(active, values)],))
    alone = [(*[i == place for i in range(len(active))],) for place in range(len(active))]
    closed_over = [
        i
        for i, flag in enumerate(active)
        if flag and may_be_followed(values[i], ever=True) and _loses(program, alone[i])
    ]
    with program.lock, letting_captures_go():
        program = _without_captures(program)
        program.split(active)
    values = [*values]
    for i in closed_over:
        values[i] = severed(values[i], lambda: CapturedError(refusal))
    return _Answer(program, values, closed_over)


def _loses(program: Program, active: tuple[bool, ...]) -> bool:
    """Whether a custom gradient closes over an operand."""
    try:
        program.split(active)
    except CapturedError:
        return True
    return False


@once_per_program
def _without_captures(program: Program) -> Program:
    """The same program, to be split where its captures may go."""
    return Program(program.graph, program.count, program.stages, program.source)


def _unrecorded(program: Program, kept: Tensors, values: Tensors) -> tuple[Any, ...]:
    """The results for what was kept and for values, as no tape of TensorFlow's sees them: it records the program."""
    if tf.executing_eagerly() and form_of(program).is_short:
        with record.stop_recording():  # also for tapes that are opened in it, as functions of users' may do
            return executed(program, [*kept, *values])
    return executed(program, [*kept, *(x if type(x) is TensorHistory else tf.stop_gradient(x) for x in values)])


_SAVED_TWICE = (
    "A SavedModel holds Wengert's gradients of first and second order: for a third one save a tf.function that "
    "computes the first one by a tape within it, and differentiate what that gives"
)


class Pullback:
    """The program from operands and cotangents of results to cotangents of operands.

    Attributes:
        seeded: which results it takes cotangents of.
        results: for each operand the position of its cotangent among the results, ZERO or None.
    """

    def __init__(self, program: Program, active: tuple[bool, ...]) -> None:
        joint = joint_of(program.graph, active, sparse=False)
        nodes = [*joint.forward, *joint.backward]
        self.program = Program(
            Graph.of(f"{program.graph.name}.pullback", [*joint.inputs, *joint.seeds], nodes, joint.gradients)
        )
        self.seeded = joint.seeded
        self.results = joint.results


@once_per_program
def _pullback_of(program: Program, active: tuple[bool, ...]) -> Pullback:
    with letting_captures_go():  # the program itself was asked
        return Pullback(program, active)


def _for_saving(program: Program, active: tuple[bool, ...], values: Tensors, results: Tensors) -> Any:
    """A function that stands for the gradient of a program in a saved model; the graph under construction gets it.

    TensorFlow saves the gradients of what the functions of a model hold, but not of what those gradients hold. So the
    node of the second order is in a function which the graph has from the start, and the gradient calls that.

    Returns:
        a function of cotangents, of the operands and of the cotangents of results, which gives the first.
    """
    found = _hosted(program, active, (*map(_spec, values),), (*map(_spec, results),))
    if found is not None:
        found.add_to_graph(tf.compat.v1.get_default_graph())
    return found


def _spec(x: tf.Tensor) -> tf.TensorSpec:
    return tf.TensorSpec(x.shape, x.dtype)


@once_per_program
def _hosted(program: Program, active: tuple[bool, ...], values: Any, results: Any) -> Any:
    """That function for operands and results like these, None where there is no gradient: made once, as it takes longer
    than a node does."""
    pullback = _pullback_of(program, active)
    computed = [x for x, place in zip(values, pullback.results, strict=True) if type(place) in (int, RowsAt)]
    count = len(computed)

    def host(*tensors: tf.Tensor) -> Any:
        return [*bound(pullback.program, tensors[count:], tensors[:count], is_last=True)]

    if not computed:
        return None
    with tf.init_scope():  # it outlives the graph under construction
        specs = [*computed, *values, *[results[i] for i in pullback.seeded]]
        return tf.function(host, autograph=False).get_concrete_function(*specs)


def _pulled(
    program: Program, active: tuple[bool, ...], values: Tensors, saved: Tensors | None, cts: Tensors, results: Tensors,
    hosted: Any = None,
) -> list[Any]:  # fmt: skip
    """The cotangent of each operand; None where there is none.

    Args:
        hosted: what makes a node of them where they are saved (`_for_saving`).
    """
    if saved is None:
        pullback = _pullback_of(program, active)
        seeds = [_seed(cts[i], results[i]) for i in pullback.seeded]
        computed = _unrecorded(pullback.program, (), [*values, *seeds])
    else:
        stage = program.split(active).stages[-1]
        seeds = [_seed(cts[i], results[i]) for i in stage.seeded]
        found = _unrecorded(stage.backward, saved, seeds) if stage.backward.graph.outputs else ()
        computed = [_dense(place, found, x) for place, x in zip(stage.results, values, strict=True)
                    if type(place) in (int, RowsAt)]  # fmt: skip
        if not takes_part([*flat(values)[0], *seeds]):
            return _placed(stage.results, computed, values)
        pullback = _pullback_of(program, active)
    if pullback.program.graph.outputs and takes_part([*flat(values)[0], *seeds]):
        if is_gradient_alone() and hosted is not None:
            computed = hosted(*computed, *values, *seeds)
        elif is_gradient_alone():
            operands = [x for x in flat([*values, *seeds])[0] if x.dtype != tf.variant]
            computed = differentiated_no_more(computed, operands, _SAVED_TWICE)
        else:
            computed = bound(pullback.program, [*values, *seeds], computed)
    return _placed(pullback.results, computed, values)


def _seed(ct: tf.Tensor, result: tf.Tensor) -> Any:
    """A cotangent in full; TensorFlow may have none, or one of gathered rows."""
    return tf.zeros_like(result) if ct is None else tf.convert_to_tensor(ct)


def _dense(place: Any, found: Tensors, x: Any) -> Any:
    """A cotangent in full: gathered rows are added to where they belong."""
    if type(place) is int:
        return found[place]
    return KERNELS["scatter_add"](tf.zeros_like(x), found[place.values], found[place.indices])


def _placed(places: Sequence[Any], computed: Tensors, values: Tensors) -> list[Any]:
    following = iter(computed)
    return [
        next(following) if type(place) in (int, RowsAt) else tf.zeros_like(x) if place is ZERO else None
        for place, x in zip(places, values, strict=True)
    ]


__all__ = ["Form", "bound", "called", "executed", "form_of", "run_of", "run_plain", "takes_part"]
