"""Writing rows: of the output, and of the tree columns. The kernel has made sure that there is room."""

from __future__ import annotations

from typing import Any

from xstreamcast.native.kernel import inlined
from xstreamcast.native.vector import put8, put32, put64
from xstreamcast.scan.layout import (
    R_END,
    R_FLAGS,
    R_FROM,
    R_RECORD,
    R_START,
    R_STATE,
    R_TO,
    R_TREE,
    ROW_WORDS,
)


@inlined
def emit(
    out: Any, k: int, state: int, record: int, start: int, begin: int, to: int, end: int, flags: int, tree: int
) -> None:
    """Row ``k`` of the output."""
    w = k * ROW_WORDS
    put64(out, w + R_STATE, state)
    put64(out, w + R_RECORD, record)
    put64(out, w + R_START, start)
    put64(out, w + R_FROM, begin)
    put64(out, w + R_TO, to)
    put64(out, w + R_END, end)
    put64(out, w + R_FLAGS, flags)
    put64(out, w + R_TREE, tree)


@inlined
def grow(
    kinds: Any,
    labels: Any,
    ups: Any,
    sizes: Any,
    froms: Any,
    tos: Any,
    needs: Any,
    line: int,
    parent: int,
    kind: int,
    label: int,
    begin: int,
    to: int,
    need: int,
) -> None:
    """A row of the tree columns; an element's size is set when it ends."""
    put8(kinds, line, kind)
    put32(labels, line, label)
    put32(ups, line, 0 if parent < 0 else line - parent)
    put32(sizes, line, 0)
    put64(froms, line, begin)
    put64(tos, line, to)
    put8(needs, line, need)
