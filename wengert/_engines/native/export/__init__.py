"""Programs that leave Python: libraries and C source of compiled graphs, for programs in any language.

`program` lowers a graph so that it needs no library of ours; `objects` makes an object file of it by LLVM, `c_source`
readable C; `header` says how to call it; `linking` makes libraries of objects, and `shared` calls them from Python.
"""
