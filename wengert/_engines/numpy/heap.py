"""What the C library keeps of memory that arrays give back.

glibc returns what is free at the end of its heap as soon as that is more than 128 KiB, and gives each array of as many
bytes a mapping of its own. A program that is called again and again then pays a page fault for each page of its small
results, at each call: the gradient of 30 arrays of 80 KiB a fifth of its time. A process that once let go of a large
array has no such faults, since glibc learns from it.
"""

from __future__ import annotations

import contextlib

import numpy as np

LEARNT = 31 * 1024 * 1024  # bytes; glibc learns from less than 32 MiB


def teach_c_library() -> None:
    """Takes and gives back a large array, of which no page is touched.

    From then on glibc takes arrays up to that size from its heap, and returns of the heap's end only what is beyond
    twice the size. Where a user has set these bounds (`MALLOC_TRIM_THRESHOLD_`), it learns nothing.
    """
    with contextlib.suppress(MemoryError):
        np.empty(LEARNT, np.uint8)
