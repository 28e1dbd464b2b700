"""Compiling what this package does per row: as the scan kernel, and kept on disk as long as neither has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeVar

from xstreamcast.scan import vector

Function = TypeVar("Function", bound=Any)


def _stamp() -> tuple[float, int]:
    """When this package was last changed, and its size: constants of one file are compiled into others."""
    try:
        states = [path.stat() for path in Path(__file__).parent.glob("*.py")]
    except OSError:  # imported from an archive, which does not change
        return 0.0, 0
    return max((state.st_mtime for state in states), default=0.0), sum(state.st_size for state in states)


_STAMP: Final = _stamp()


def compiled(function: Function) -> Function:
    """``scan.vector.compiled`` for a function of this package: it is kept while both packages are as they were."""
    made = vector.compiled(function)
    kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = kept._source_stamp, _STAMP
    return made
