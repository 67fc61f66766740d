"""Ops that hold programs: custom gradients, recomputation, and region ops, which hold inner graphs; one file each.

- **Regions.** Branches and loops are two ops over closed bodies (`region`): `switch`, and `loop` (a scan, or a while).
  What a body uses from outside, Variables too, became operands. `halves` cuts a body where its backward half reads it;
  what crosses is an extra result of the op, which a node of a graph under construction is given when a gradient is
  asked for, and which calls under open tapes prepare (`joint_graph`: a program and its sweep in one graph, from which
  backward passes are cut). The backward pass of a `switch` is a `switch`; that of a `loop` is a `loop` over stacked
  values, or `loop_back` over a *history*: all that the steps saved, or snapshots on a schedule, as `checkpoint` and the
  memory budget say. Where a framework compiles loops, `checkpointed` writes both as loops and rows, once for all of
  them.
- **Loops outside traces** (`eager_loop`) are Python calls. With `checkpoint="all"` the tapes keep what they see;
  otherwise they pause, `eager_history` keeps snapshots, and one entry (`eager_back`) stands for the loop. Its
  backward pass runs the user's functions again and sweeps each recorded segment into the sums of the sweep under
  way, so that terms meet in the order of a full record: the same bits. What cannot be repeated (assignments,
  stopped tapes) is told by `tell_effect`.
- **Custom gradients** are not regions: f's ops are recorded as usual, and a `custom` node maps inner results to fresh
  ones with the user's rule. What the results depend on beside the arguments (`custom_captures`) are operands of that
  node, too, which refuse to be differentiated.
- **Calls.** Under recorders a call of a compiled function is one `call`: `split` cuts the joint graph of program
  and sweep where the sweep reads the program, so the forward half returns residuals and the backward half starts
  from them.
- **Solutions** (`implicit`, `linear_solve`) are results of an op whose rule reads its own result and the residual's
  graph, so that derivatives are right to any order; how the solution was found is not recorded.
- `masked_execution` runs bodies for many examples, `per_example` and `jacobians` run functions on batches, `dependence`
  sparsity through regions, `foreign` a framework's function as an op.
"""
