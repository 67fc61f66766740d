"""Traced programs on JAX: one jitted callable each, and one JAX primitive under JAX's own transformations.

Where the operands are JAX's tracers a program is bound as the primitive `wengert`, so that it takes part in JAX's
differentiation with our rule: its jvp binds the program that also returns residuals and, linear in the tangents, the
primitive `wengert_linear`, which is evaluated by our forward derivative and transposed by our backward half.

What crosses the boundary of a program may be a history of a loop, which is a pytree of arrays; a primitive's operands
are the leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive
from jax.interpreters import ad, batching, mlir

from ..._control.call import Program, has_effect, programs_within
from ..._control.executables import once_per_program
from ..._control.joint_graph import RowsAt
from ..._control.loop import Loop
from ..._control.loop_back import LoopBack
from ..._core import dtypes
from ..._core.graph import Graph
from ..._passes import optimise
from ..._passes.dce import drop_unused
from ..interpret import compile_instructions
from .checkified import looked_at
from .common import TRACING, is_concrete
from .meshes import explicit_mesh, explicit_mesh_of_types, laid_out_by_xla, off_meshes, plain, typed, vary_alike
from .table import KERNELS
from .transposed_products import contracted

Natives = Sequence[Any]


def is_tracing(natives: Natives) -> bool:
    """Whether control flow must be JAX's own: in a program that is being compiled, or on JAX's tracers."""
    return getattr(TRACING, "depth", 0) > 0 or not all(map(is_concrete, jax.tree.leaves([*natives])))


class Form:
    """A program as this engine runs it: op by op, or compiled by `jax.jit`.

    Attributes:
        run: the program, op by op; traced by JAX it becomes part of what JAX compiles.
        jitted: the same, compiled by JAX for each signature.
        can_jit: whether it can be compiled: shapes that vary from step to step of a loop cannot.
    """

    def __init__(self, program: Program) -> None:
        graph = drop_unused(contracted(optimise(program.graph)))
        self.run: Callable[..., tuple[Any, ...]] = compile_instructions(graph, KERNELS)
        self.jitted: Callable[..., tuple[Any, ...]] = jax.jit(self.traced)
        self.can_jit = not _varies(program.graph)
        self.has_effect = has_effect(program.graph)
        # compiled from the first use on: a history of a run op by op is none that XLA could take
        self.has_regions = any(node.op.facts.holds for node in program.graph.nodes)
        self.uses = 0
        self._jaxprs: dict[Any, tuple[ClosedJaxpr, Any]] = {}
        self.on_meshes: dict[Any, Callable[..., Any]] = {}  # by the operands' types and mesh

    def traced(self, *natives: Any) -> tuple[Any, ...]:
        """The results, all control flow as JAX's."""
        TRACING.depth = getattr(TRACING, "depth", 0) + 1
        try:
            return self.run(*natives)
        finally:
            TRACING.depth -= 1

    def jaxpr(self, tree: object, avals: Natives) -> tuple[ClosedJaxpr, Any]:
        """The program for operands of these types, flat, and the structure of its results."""
        key = (tree, *[(a.shape, a.dtype, a.weak_type) for a in avals], jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]  # set by JAX as it loads
        found = self._jaxprs.get(key)
        if found is None:
            shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
            found_tree: list[Any] = []

            def flat(*leaves: jax.Array) -> list[Any]:
                outs, out_tree = jax.tree.flatten([*self.traced(*jax.tree.unflatten(tree, leaves))])
                found_tree.append(out_tree)
                return outs

            with off_meshes():
                found = self._jaxprs[key] = (jax.make_jaxpr(flat)(*shapes), found_tree[0])
        return found


def _is_history(native: Any) -> bool:
    """Whether a native is the history, or the rows of several shapes, of a run op by op, which XLA could not take."""
    return type(native) is np.ndarray and native.dtype == dtypes.HISTORY


def _varies(graph: Graph) -> bool:
    """Whether a loop's variables change their shape on the way."""
    for node in graph.nodes:
        for attr in node.attrs:
            spec = attr.spec if isinstance(attr, LoopBack) else attr
            if isinstance(spec, Loop) and spec.varying:
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


def call_kernel(*natives_and_program: Any) -> tuple[Any, ...]:
    """The results of a program."""
    *natives, program = natives_and_program
    form = form_of(program)
    if getattr(TRACING, "depth", 0) or (form.has_effect and not all(map(is_concrete, jax.tree.leaves(natives)))):
        return form.run(*natives)
    if all(map(is_concrete, natives)):
        if not form.can_jit or any(map(_is_history, natives)):
            return form.run(*natives)
        mesh = explicit_mesh(jax.tree.leaves([*natives]))
        return form.jitted(*natives) if mesh is None else _on_mesh(form, natives, mesh)
    return bound(program, natives)


def _on_mesh(form: Form, natives: Natives, mesh: Any) -> tuple[Any, ...]:
    """The results of a program for arrays on a mesh of explicit axes."""
    leaves, tree = jax.tree.flatten([*natives])
    leaves = [*map(_as_array, leaves)]
    types = (*map(jax.typeof, leaves),)
    jaxpr, out_tree = form.jaxpr(tree, types)
    key = (tree, types, mesh)
    if key not in form.on_meshes:
        run = partial(jax.core.eval_jaxpr, jaxpr.jaxpr, jaxpr.consts)
        form.on_meshes[key] = jax.jit(lambda *xs: laid_out_by_xla(run, xs, jaxpr.out_avals, mesh))
    return (*jax.tree.unflatten(out_tree, form.on_meshes[key](*leaves)),)


# -- the primitive -----------------------------------------------------------------------------------------------------

program_p = Primitive("wengert")
program_p.multiple_results = True
linear_p = Primitive("wengert_linear")
linear_p.multiple_results = True
looked_at(program_p)
looked_at(linear_p)


def bound(program: Program, natives: Natives) -> tuple[Any, ...]:
    """The results of a program as JAX's transformations see them."""
    leaves, tree = jax.tree.flatten([*natives])
    leaves, types = vary_alike([*map(_as_array, leaves)])  # JAX takes a while to tell a type
    jaxpr, out_tree = form_of(program).jaxpr(tree, types)
    mesh = explicit_mesh_of_types(types)
    if mesh is None:
        outs = program_p.bind(*leaves, program=program, tree=tree)
    else:
        run = partial(program_p.bind, program=program, tree=tree)
        outs = laid_out_by_xla(run, leaves, jaxpr.out_avals, mesh)
    return (*jax.tree.unflatten(out_tree, outs),)


def _as_array(x: object) -> Any:
    """An array of JAX's; what is one already is not asked to be one, which would be an operation on a tracer."""
    return x if isinstance(x, jax.Array) else jnp.asarray(x)


def _program_impl(*leaves: object, program: Program, tree: object) -> list[Any]:
    """Compiled from the second run on: what runs but once, as a trace of one call does, is not worth it."""
    form = form_of(program)
    form.uses += 1
    run = form.jitted if form.has_regions or (form.can_jit and form.uses > 1) else form.run
    return jax.tree.leaves([*run(*jax.tree.unflatten(tree, leaves))])


def _program_types(*avals: object, program: Program, tree: object) -> Any:
    return typed(form_of(program).jaxpr(tree, avals)[0].out_avals, avals)


def _program_traced(*leaves: object, program: Program, tree: object) -> Any:
    jaxpr, _ = form_of(program).jaxpr(tree, [*map(jax.typeof, leaves)])
    return jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *leaves)


def _lowered(traced: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that lowers what a function traces, on no mesh."""
    lower = mlir.lower_fun(traced, multiple_results=True)

    def rule(ctx: Any, *values: Any, **params: Any) -> Any:
        with off_meshes():
            return lower(ctx.replace(avals_in=[*map(plain, ctx.avals_in)]), *values, **params)

    return rule


program_p.def_impl(_program_impl)
program_p.def_abstract_eval(_program_types)
mlir.register_lowering(program_p, _lowered(_program_traced))


def _places(tree: Any) -> list[slice]:
    """For each operand which leaves are its own."""
    places, start = [], 0
    for child in tree.children():
        places.append(slice(start, start + child.num_leaves))
        start += child.num_leaves
    return places


def _program_jvp(primals: Natives, tangents: Natives, *, program: Program, tree: object) -> Any:
    places = _places(tree)
    active = (*[
        dtypes.is_inexact(v.dtype) and type(tangents[place.start]) is not ad.Zero
        for v, place in zip(program.graph.inputs, places, strict=True)
    ],)  # fmt: skip
    natives = jax.tree.unflatten(tree, primals)
    divided = program.split(active) if any(active) else None
    if divided is None or not divided.stages[-1].seeded:
        flat = jax.tree.leaves([*bound(program, natives)])
        return flat, [*map(_no_tangent, flat)]
    stage = divided.stages[-1]
    outs = bound(divided, natives)
    results = outs[: len(program.graph.outputs)]
    result_of = _leaf_of_outputs(results)
    flat = jax.tree.leaves([*results])
    residuals, residual_tree = jax.tree.flatten([outs[slot] for slot in stage.slots])
    dots = [tangents[place.start] for place, is_active in zip(places, active, strict=True) if is_active]
    found = linear_p.bind(
        *primals, *residuals, *dots, program=program, active=active, tree=tree, residual_tree=residual_tree
    )
    result = [*map(_no_tangent, flat)]
    for place, dot in zip(stage.seeded, found, strict=True):
        result[result_of[place]] = dot
    return flat, result


def _leaf_of_outputs(outs: Natives) -> list[int]:
    """For each result the number of its first leaf."""
    starts, start = [], 0
    for out in outs:
        starts.append(start)
        start += len(jax.tree.leaves(out))
    return starts


def _no_tangent(x: jax.Array) -> Any:
    return ad.Zero(jax.typeof(x).to_tangent_aval())


ad.primitive_jvps[program_p] = _program_jvp


def _program_transpose(cts: Natives, *leaves: Any, program: Program, tree: object) -> Any:
    """Of a program that is linear in some operands: our backward half, which does not read what it is linear in."""
    places = _places(tree)
    linear = [ad.is_undefined_primal(leaves[p.start]) if p.stop > p.start else False for p in places]
    known = [jnp.zeros(x.aval.shape, x.aval.dtype) if ad.is_undefined_primal(x) else x for x in leaves]
    divided = program.split((*linear,))
    outs = bound(divided, jax.tree.unflatten(tree, known))
    stage = divided.stages[-1]
    starts = _leaf_of_outputs(outs)
    found = _pulled(divided, [outs[slot] for slot in stage.slots], [cts[starts[i]] for i in stage.seeded])
    result: list[Any] = [None] * len(leaves)
    for place, is_linear, ct in zip(places, linear, found, strict=True):
        if is_linear:
            result[place.start] = _shaped(ct, leaves[place.start].aval)
    return result


ad.primitive_transposes[program_p] = _program_transpose


def _pulled(divided: Program, residuals: Natives, cts: Natives) -> list[Any]:
    """The cotangent of each operand by our backward half; None where there is none.

    JAX transposes without conjugating; our adjoints are those of Re<u, v>.
    """
    stage = divided.stages[-1]
    seeds = [
        jnp.zeros(ct.aval.shape, ct.aval.dtype)  # pyright: ignore[reportAttributeAccessIssue]  # of an array
        if type(ct) is ad.Zero
        else _conjugated(_as_array(ct))
        for ct in cts
    ]
    found = bound(stage.backward, [*residuals, *seeds]) if stage.backward.graph.outputs else ()
    results: list[Any] = []
    for place in stage.results:
        if type(place) is RowsAt:
            results.append((_conjugated(found[place.values]), found[place.indices]))
        else:
            results.append(_conjugated(found[place]) if isinstance(place, int) else None)
    return results


def _conjugated(x: jax.Array) -> Any:
    return jnp.conj(x) if x.dtype.kind == "c" else x


def _shaped(ct: Any, aval: Any) -> Any:
    """A cotangent in full: gathered rows are added to where they belong."""
    if ct is None:
        return ad.Zero(aval.to_tangent_aval() if hasattr(aval, "to_tangent_aval") else aval)
    if isinstance(ct, tuple):
        values, indices = ct
        return jnp.zeros(aval.shape, aval.dtype).at[indices].add(values.astype(aval.dtype))
    is_so = ct.dtype == aval.dtype and not ct.weak_type
    return ct if is_so else ct.astype(aval.dtype)


# -- its derivative ----------------------------------------------------------------------------------------------------


def _parts(leaves: Natives, tree: Any, residual_tree: Any) -> tuple[list[Any], list[Any], list[Any]]:
    first = tree.num_leaves
    last = first + residual_tree.num_leaves
    return [*leaves[:first]], [*leaves[first:last]], [*leaves[last:]]


def _seeded(program: Program, active: tuple[bool, ...]) -> list[int]:
    return [*program.split(active).stages[-1].seeded]


def _linear_types(
    *avals: object, program: Program, active: tuple[bool, ...], tree: object, residual_tree: object
) -> Any:
    primals, _, _ = _parts(avals, tree, residual_tree)
    jaxpr, out_tree = form_of(program).jaxpr(tree, primals)
    starts = [p.start for p in _places(out_tree)]
    found = [jaxpr.out_avals[starts[i]].to_tangent_aval() for i in _seeded(program, active)]
    return typed(found, avals)


def _linear_run(
    *leaves: object, program: Program, active: tuple[bool, ...], tree: object, residual_tree: object
) -> Any:
    """The results' tangents by our forward derivative."""
    primals, _, dots = _parts(leaves, tree, residual_tree)
    pushed, places, _ = program.jvp(active)
    found = bound(pushed, [*jax.tree.unflatten(tree, primals), *dots])
    avals = _linear_types(
        *map(jax.typeof, leaves), program=program, active=active, tree=tree, residual_tree=residual_tree
    )
    return [
        found[places[i]] if isinstance(places[i], int) else jnp.zeros(aval.shape, aval.dtype)
        for i, aval in zip(_seeded(program, active), avals, strict=True)
    ]


linear_p.def_impl(_linear_run)
linear_p.def_abstract_eval(_linear_types)
mlir.register_lowering(linear_p, _lowered(_linear_run))


def _linear_jvp(primals: Natives, tangents: Natives, **params: Any) -> Any:
    """As of the program that it is: what the residuals contribute, the primals that they come from do."""
    count = params["residual_tree"].num_leaves
    first = params["tree"].num_leaves
    kept = [t for i, t in enumerate(tangents) if not first <= i < first + count]
    held = [x for i, x in enumerate(primals) if not first <= i < first + count]
    residuals = primals[first : first + count]

    def run(*leaves: Any) -> Any:
        return _linear_run(*leaves[:first], *residuals, *leaves[first:], **params)

    full = [ad.instantiate_zeros(t) for t in kept]
    return jax.jvp(run, held, full)


ad.primitive_jvps[linear_p] = _linear_jvp


def _linear_transpose(
    cts: Natives, *leaves: Any, program: Program, active: tuple[bool, ...], tree: object, residual_tree: object
) -> Any:  # fmt: skip
    primals, residuals, dots = _parts(leaves, tree, residual_tree)
    divided = program.split(active)
    found = _pulled(divided, jax.tree.unflatten(residual_tree, residuals), cts)
    wanted = [ct for ct, is_active in zip(found, active, strict=True) if is_active]
    pulled = [
        _shaped(ct, dot.aval) if ad.is_undefined_primal(dot) else None for ct, dot in zip(wanted, dots, strict=True)
    ]
    return [*[None] * (len(primals) + len(residuals)), *pulled]


ad.primitive_transposes[linear_p] = _linear_transpose


# -- batches -----------------------------------------------------------------------------------------------------------


def _program_batch(leaves: Natives, axes: Natives, *, program: Program, tree: object) -> Any:
    size = next(x.shape[axis] for x, axis in zip(leaves, axes, strict=True) if axis is not None)
    places = _places(tree)
    flags = (*[place.stop > place.start and axes[place.start] is not None for place in places],)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(leaves, axes, strict=True)]
    outs = bound(program.batched(flags, int(size)), jax.tree.unflatten(tree, moved))
    one = [
        jax.core.ShapedArray(x.shape[1:] if axis is not None else x.shape, x.dtype)
        for x, axis in zip(moved, axes, strict=True)
    ]
    jaxpr, out_tree = form_of(program).jaxpr(tree, one)
    results: list[Any] = []
    dims: list[Any] = []
    for place, value, out in zip(_places(out_tree), program.graph.outputs, outs, strict=True):
        if value.is_history:  # lanes keep no history: their backward pass makes one of its own
            results += [jnp.zeros(a.shape, a.dtype) for a in jaxpr.out_avals[place]]
            dims += [None] * (place.stop - place.start)
        else:
            results.append(out)
            dims.append(0)
    return results, dims


batching.primitive_batchers[program_p] = _program_batch


def _linear_batch(leaves: Natives, axes: Natives, **params: Any) -> Any:
    found = jax.vmap(lambda *xs: _linear_run(*xs, **params), in_axes=(*axes,))(*leaves)
    return found, [0] * len(found)


batching.primitive_batchers[linear_p] = _linear_batch

__all__ = ["Form", "call_kernel", "form_of", "is_tracing", "run_of"]
