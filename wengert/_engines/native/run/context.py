"""Byte offsets of the fields of the struct that each call of machine code carries: what failed, threads, signals.

Generated code gets a pointer to it as third argument and reaches fields by these offsets only.

| field | type | meaning |
|---|---|---|
| FAILING | i64 | after the status MEMORY, the number of the buffer that was not had; below 0, -1 - that of a result |
| THREADS | i64 | how many threads the call may use |
| LOOKED | i64 | when signals were looked for last, in nanoseconds of a monotonic clock; 0 for never |
| SHORT_SUM | i64 | nanoseconds of short loops that followed one another in this thread (`llvm/workers.py`) |
| SHORT_AT | i64 | when the last of them began, of the same clock |

A call returns one of the statuses of `ir/loops.py`.
"""

from __future__ import annotations

FAILING = 0
THREADS = 8
LOOKED = 16
SHORT_SUM = 24
SHORT_AT = 32
SIZE = 64
