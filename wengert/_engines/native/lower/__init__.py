"""Lowerings: from the nodes of a graph to loops. `blocks.py` walks a graph; the other files hold its rules.

A `Block` walks a schedule; values are `forms`: elements in registers, stored arrays with strides, or lazy. Tables
by family: `scalars`, `maps`, `reduces`; everything else has a rule in `SINGLES`, of the file that `rule_tables`
names, which is loaded when the rule is needed (`regions`, `scatters`, `cumulative`, `products`, `factorisations`,
`convolutions`, ...).

- Loops and branches are basic blocks of the same function: small loop variables are variables (registers), large
  ones arrays that change places or are written in place; histories grow (`histories`), or are snapshots from which
  the backward pass runs steps again (`snapshots`).
- Matrices of floats are multiplied by vector code of our own where that is faster (`matrices` chooses). Convolutions of
  known geometry and their gradients (`direct_convolutions`) are products of tiles (`convolution_products`) that read
  windows where they lie; `window_geometry`, `convolution_tiling` and `layouts` say how they are cut and in which order
  results lie. `windows` does windows side by side in vectors.
- `tiles` runs a group of rows for many short rows side by side (`Lanes`), or for long ones one by one; `row_sums` are
  their sums.
"""
