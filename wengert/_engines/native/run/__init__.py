"""What happens when compiled code is called: arguments, memory, errors, signals, and what is kept between calls.

- `entry`, `stub`, `calls`: how Python calls it. `calls` says which arguments and sizes a function takes, and checks
  before a call the sizes that the arguments do not bound; `entry` makes a built-in function of it, whose code is
  `stub` with its parts; `records` says what that reads. A status other than OK (an index out of range, a singular
  matrix) makes NumPy's kernels run the segment again, and they raise what there is to raise; where histories are
  beyond the memory budget, code whose loops keep snapshots runs instead.
- `callable` lists the functions that machine code may call: modules are linked with that table, and no file adds to it.
- `disk` keeps objects, in a folder that `disk_folder` has checked, sealed with the secret of `disk_secret`;
  `memory` keeps blocks from call to call; `owners` says for what an array is made, for the error where there is no
  memory.
- `llvm_memory`: near a limit of memory (`headroom`) LLVM is asked in a process of its own, or not at all: it ends a
  process where it gets none.
- `flags`, `numpy_warnings`: the stub looks at the processor's floating-point flags after a call; where NumPy's error
  state asks for one that is set, NumPy's kernels run the graph once more and tell it.
- `shared_histories`: where a gradient is taken around a compiled function, its two halves are two functions of
  machine code, and a history between them is its arrays with a layout, for which the second half is compiled.
"""
