"""Program transformations on what the ops declare: reverse and forward sweeps, batching, replay.

- **The tape** (`reverse`) keeps a Wengert list of `Entry`: serial numbers, types, and only the values that the
  rules of tracked operands read. Serial numbers, never `id()`; no links between tensors and entries, hence no
  cycles and no recursion. `traced` shows the nodes of a graph as such a tape; `cotangent_terms` is how `wg.gradients`
  adds terms up.
- **The sweep** applies primitives only. It conjugates complex slopes, checks each cotangent against its primal's type,
  and carries one static bit per cotangent, *may hold structural zeros*: where it is set, products are `scale(ct,
  slope)`, which is 0 where ct is 0, so that a masked zero never meets an infinite slope. Tangents (`forward`) carry the
  same bit. The cotangent of gathered rows stays rows (`row_cotangents`) until something reads it whole.
- **Buffers** are values, too: each write gives a new *version*, whose cotangent is a version; a read contributes an
  `Update`, which the sweep adds in place. `_prims/buffer.py` says how engines keep one array for all versions.
- **Nodes are run anew** in one place (`run_again` in `replay`): by replays, batches, linear parts and rules. It
  prepares calls, branches, loops and custom nodes for the recorders open then (`Op.prepare`).
- **Sparsity** is found on a graph of one run: a value has a row of source elements for each of its elements. Ops
  that only move elements are run on element numbers, so they need no rule; what does not depend on the sources is
  computed, so that constant indices count; ops without a rule are dense. Columns of one colour (`coloring`) share a
  pass.
- `linearize` gives the linear part of what ran; `batch` maps; `snapshots` says which states of a loop are kept.
"""
