"""Functions that run in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from wengert._core.state import STATE


def in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Runs work(0) to work(count - 1) at once; the first error of one of them is raised here."""
    barrier = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(k: int) -> None:
        try:
            barrier.wait()
            work(k)
            assert STATE.recorders == () and STATE.builder is None and STATE.reading == ()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for another"
    if errors:
        raise errors[0]
