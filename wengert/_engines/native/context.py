"""The struct that each native call carries: how it was told to stop, which buffer it could not get, its threads.

Generated code gets a pointer to it as third argument and reaches fields by these offsets only.

| field | type | meaning |
|---|---|---|
| FAILING | i64 | after OUT_OF_MEMORY, the number of the buffer that could not be had; below 0, -1 - that of a result |
| THREADS | i64 | how many threads the call may use |
| LOOKED | i64 | when signals were looked for last, in nanoseconds of a monotonic clock; 0 for never |

A call returns one of the statuses below; all but OK discard its results.
"""

from __future__ import annotations

OK = 0
OUT_OF_MEMORY = 1  # FAILING says which buffer
LINEAR_ALGEBRA = 2  # a factorisation failed
INDEX = 3  # an index was out of range
INTERRUPTED = 4  # a Python signal handler raised; the exception is set
GUARD = 5  # something that the code does not handle, or an error that NumPy words: run again on NumPy's kernels

FAILING = 0
THREADS = 8
LOOKED = 16
SIZE = 64
