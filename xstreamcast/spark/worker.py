"""A Python process of Spark that serves one task after the other.

Spark has such a process collect all garbage after each task. What the scan brings along (the kernel, its compiler, a
query's program) is a hundred thousand objects that stay: to look at them all takes longer than to scan fifty megabytes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_modules = 0
_SELDOM: Final = 200_000
"""Objects made before the youngest are looked through; Python's own 700 take a third of the time of grouping."""


def keep_loaded() -> None:
    """Where Spark uses this process again: take what is there for good, so that the collector leaves it alone.

    That is done when modules were loaded since the last time, which is once or twice.
    """
    global _modules
    if os.environ.get("SPARK_REUSE_WORKER") and len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """While rows are made, most of which stay until they are sent: look for garbage less often."""
    before = gc.get_threshold()
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def give_back() -> None:
    """Memory that is free goes back to the system: after a large batch Arrow and the C library hold back as much as it
    took, which is a quarter of what a worker with a million regions has."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
        if trim is not None:
            trim(0)
