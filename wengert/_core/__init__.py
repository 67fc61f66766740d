"""The differentiation core: types, tensors, ops, graphs and the one dispatch point.

Start with `apply.py` (what happens when an op runs), then `op.py` (what an op declares) and `tensor.py`. Knows no
engine, no primitive and no transform.

- **Dispatch.** Under a builder `apply` appends a node; otherwise the kernel for the type of the native array runs.
  Then each open recorder on the thread's stack, the outermost first, is shown the op, its operands and results.
  There are no tracer classes and no levels: nesting gives higher order.
- **Declarations.** Primitives are strict (no broadcasting, no promotion, static attributes), so no gradient rule
  ever un-broadcasts. The names of a rule's parameters say what is saved: `x` the value, `x_type` only its type,
  `out` the result, `ct` the cotangent, `times` the product to use on cotangents. From the kinds elementwise, linear
  and multilinear both modes follow from one formula; the others are general, zero, stop and not_differentiable.
  What else holds of an op (cost, elements that only move, programs held, operands written to) are its `Facts`, read
  from there by whoever needs it; a user's `wg.primitive` states the same.
- **Engines.** The operands of an op run on one engine. NumPy's arrays beside another engine's are read there, while
  the recorders see the tensors as they are; so a gradient comes back on its source's engine (`moving.py`). Code
  above the engines takes an array's values by `ndarray_of`, never by `np.asarray(x._data)`; the plain-Python engine
  refuses that. The type of an array that no table knows may belong to a framework whose engine loads then
  (`FRAMEWORKS`, `engine.py`).
- **What was lost, and where.** A value that leaves the differentiable path (an integer, `stop_gradient`,
  `.numpy()`) carries a `Cut`: the op and the place in the user's code, which `DisconnectedError` names. Whatever
  would turn a followed tensor into plain numbers raises `LostGradientError`.
- **Sizes never wrap.** `Graph.add` and the verifier refuse results of more bytes than 64 bits can say
  (`check_bytes`).
- **Locks** come from `forking.py`, which says what becomes of them in a child of `fork`: short ones are held across
  it, long ones are free in the child, and what threads had under way starts anew.
"""
