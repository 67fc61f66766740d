"""The struct that each native call carries: how it was told to stop, which buffer it could not get, its threads.

Generated code gets a pointer to it as third argument and reaches fields by these offsets only.

| field | type | meaning |
|---|---|---|
| FAILING | i64 | after the status MEMORY, the number of the buffer that was not had; below 0, -1 - that of a result |
| THREADS | i64 | how many threads the call may use |
| LOOKED | i64 | when signals were looked for last, in nanoseconds of a monotonic clock; 0 for never |

A call returns one of the statuses of `loops.py`.
"""

from __future__ import annotations

FAILING = 0
THREADS = 8
LOOKED = 16
SIZE = 64
