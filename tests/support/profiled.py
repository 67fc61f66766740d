"""Counting calls: a function run under a profile function, with nothing beside it that calls."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def run_profiled(profile: Callable[[Any, str, Any], Any], f: Callable[..., Any], *args: Any) -> None:
    """Runs f under a profile function; no collection of garbage, which calls what frameworks have asked it to."""
    was_collected = gc.isenabled()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
        if was_collected:
            gc.enable()
