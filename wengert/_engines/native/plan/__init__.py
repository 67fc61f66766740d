"""What of a graph becomes machine code, and in which loops: from graphs to segments, groups and rows.

- `prepare`: names of names go, called programs become part of the graph, softmax and its like are expanded.
- `segments`, `support`: the graph in parts, each as large as can be: native segments, each one function, and
  between them nodes that NumPy's kernels run (`support.HANDED` lists their primitives, each with its reason, and
  may only shrink).
- `schedule`: which nodes share a loop. Small values are written out in registers; elementwise nodes and reductions
  of one shape and stage are members of one loop; maps (slices, transposes, broadcasts) are computed where they are
  read.
- `tiles`, `row_rules`: groups of nodes that share rows and make large matrices on their way (distances to centres,
  powers of points, softmax) become one node with the graph of one row, so that the matrices are never whole in
  memory.
- `row_blocks`: attention and its like, gradients too: what is between products of matrices is computed a block of rows
  at a time, so that the scores are never whole in memory. `node_groups` has what the two searches share.
- `pooling` joins a search for the largest element with what takes it, and with its gradient; `varying_extents` says
  where only numbers of examples are known at run time alone.
- `rare_cases`: what only flags need that are `rarely` set (limits at equal eigenvalues) is not compiled. Where one is
  set, the code ends, and other code runs, which has everything and is made then (`support.with_rare`), or, in a segment
  without loops that meets such cases now and then, NumPy's kernels. `programs` puts other programs into loops.
"""
