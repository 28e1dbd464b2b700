"""Where one huge document may be cut: every so many bytes, a tag and the start tags that are open before it.

A task that scans a range must know what is open where it begins, and that it does not begin within a comment, a CDATA
section, a PI or an attribute. Each range is *summarised* on its own, by a walk over its tags that looks at no names:

    S(range) = (first tag, tags after which it stops, elements closed that were open before, elements left open)

and summaries combine from left to right: ``open(k + 1) = open(k) without its last closed(k), then opened(k)``. A walk
that begins at any byte assumes that the next ``<`` begins a token. In well-formed XML that is true everywhere but
within comments, CDATA sections and PIs; whether it was shows when the range before ends: it must stop at the very tag
where this one began. If not, the range is walked again from there.

The walk takes the document to be well-formed. The scan that follows checks that, name by name: it begins each range
with the start tags that the seam has, so a document that passes in all ranges is what a scan of the whole accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from xstreamcast.native.kernel import I64, U8, inner, kernel
from xstreamcast.native.vector import Bytes, Longs, at8, at64, base, byte_mask, first, put64
from xstreamcast.scan.reader import plain_start
from xstreamcast.scan.token import find_byte, find_tag

_LESS, _GREATER, _SLASH, _BANG, _QUESTION, _DASH, _BRACKET = 60, 62, 47, 33, 63, 45, 91
_DONE: Final = 0
_END: Final = 1
_ROOM: Final = 2
_ODD: Final = 3
_GO_ON: Final = 4
_POS, _DEPTH, _CLOSED, _FIRST = 0, 1, 2, 3
_NEVER: Final = 1 << 62
_BLOCK: Final = 64  # bytes that are looked at together
HEAD: Final = 1 << 20
"""Bytes of a document in which its root element has to begin for it to be cut."""
_START_TAG: Final = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_PROLOG: Final = re.compile(
    rb"""(?:\s+|(?><!--.*?-->)|(?><\?.*?\?>)|<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*>)*+(?=<[^!?])""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Window:
    """Bytes of a document from ``origin`` on, and whether they go to its end."""

    bytes: Bytes
    origin: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Open:
    """An open element: where its start tag begins, and the tag."""

    offset: int
    tag: bytes


@dataclass(frozen=True, slots=True)
class Seam:
    """A tag at which a range may begin, and what is open before it, outermost first."""

    offset: int
    open: tuple[Open, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A walk through a range: its first tag, the tag it stopped at, and what it did to the open elements.

    ``stop`` is the document's size where no tag follows.
    """

    first: int
    stop: int
    closed: int
    opened: tuple[Open, ...]


# ------------------------------------------------------------------------------------------------------- the walk


@inner
def _after(b: Any, i: int, n: int, one: int, two: int) -> int:
    """The position after ``two``, ``two``, ``>`` (a PI's end has ``two`` once); n if there is none."""
    while True:
        i = find_byte(b, min(i, n), n, _GREATER)
        if i >= n:
            return n
        if at8(b, i - 1) == two and (one == 0 or at8(b, i - 2) == one):
            return i + 1
        i += 1


@inner
def _tag_end(b: Any, p: int, n: int) -> int:
    """The ``>`` of the tag that begins at ``p``; n if there is none."""
    q = p + 1
    while True:
        q = find_tag(b, q, n)
        if q >= n:
            return n
        c = at8(b, q)
        if c == _GREATER:
            return q
        q = find_byte(b, q + 1, n, c) + 1


@inner
def _marks(b: Any, i: int, n: int) -> int:
    """Which of the 64 bytes from ``i`` on begin ``<`` or ``/>``."""
    if i + _BLOCK < n:
        low = byte_mask(b, i, _LESS) | (byte_mask(b, i, _SLASH) & byte_mask(b, i + 1, _GREATER))
        high = byte_mask(b, i + 32, _LESS) | (byte_mask(b, i + 32, _SLASH) & byte_mask(b, i + 33, _GREATER))
        return low | high << 32
    m = 0
    for k in range(min(n - i, _BLOCK)):
        c = at8(b, i + k)
        if c == _LESS or (c == _SLASH and i + k + 1 < n and at8(b, i + k + 1) == _GREATER):
            m |= 1 << k
    return m


@kernel
def _walk(b: U8, n: int, end: int, most_closed: int, stack: I64, regs: I64) -> int:
    """Walk over tags from ``regs[_POS]`` to the first tag at or after ``end``, or after so many unmatched end tags.

    ``stack`` gets where the open elements begin. ``_END``: the input ended before; ``_ROOM``: the stack is full;
    ``_ODD``: a document type declaration, or what is no XML.

    A ``<`` is in no attribute, so tags are found without reading them. A start tag is taken to open an element; only
    where a ``/>`` follows before the next tag, it is looked whether that is the tag's end.
    """
    room = stack.shape[0]
    b, stack, regs = base(b), base(stack), base(regs)
    i = at64(regs, _POS)
    depth = at64(regs, _DEPTH)
    closed = at64(regs, _CLOSED)
    first_tag = at64(regs, _FIRST)
    last = -1  # the start tag that came last, if its end matters
    last_end = -1
    status = _GO_ON
    while status == _GO_ON:
        if i >= n:
            i = n
            status = _END
            break
        m = _marks(b, i, n)
        at = i
        i += _BLOCK
        while m != 0:
            p = at + first(m)
            m &= m - 1
            if at8(b, p) == _SLASH:
                if last >= 0:
                    if last_end < 0:
                        last_end = _tag_end(b, last, n)
                    if last_end == p + 1:
                        depth -= 1
                    if last_end <= p + 1:
                        last = -1
                continue
            if p + 2 >= n:
                i = n
                status = _END
                break
            c = at8(b, p + 1)
            if c in (_BANG, _QUESTION):
                if c == _QUESTION:
                    i = _after(b, p + 3, n, 0, _QUESTION)
                elif at8(b, p + 2) == _DASH:
                    i = _after(b, p + 6, n, _DASH, _DASH)
                elif at8(b, p + 2) == _BRACKET:
                    i = _after(b, p + 11, n, 93, 93)
                else:
                    i = p
                    status = _ODD
                last = -1
                break
            if p >= end:
                i = p
                status = _DONE
                break
            if first_tag < 0:
                first_tag = p
            last = -1
            if c == _SLASH:
                if depth > 0:
                    depth -= 1
                    continue
                closed += 1
                if closed == most_closed:
                    i = find_byte(b, p + 2, n, _GREATER) + 1
                    status = _DONE if i <= n else _END
                    i = min(i, n)
                    break
                continue
            if depth >= room:
                i = p
                status = _ROOM
                break
            put64(stack, depth, p)
            depth += 1
            last = p
            last_end = -1
    put64(regs, _POS, i)
    put64(regs, _DEPTH, depth)
    put64(regs, _CLOSED, closed)
    put64(regs, _FIRST, first_tag)
    return status


@kernel
def _next_token(b: U8, i: int, n: int) -> int:
    """The next ``<`` that begins no CDATA section: where the kernel would stop after an element."""
    b = base(b)
    while True:
        p = find_byte(b, i, n, _LESS)
        if p + 2 >= n or at8(b, p + 1) != _BANG or at8(b, p + 2) != _BRACKET:
            return p
        i = _after(b, p + 11, n, 93, 93) if p + 11 < n else n


def _walked(window: Window, start: int, end: int, most_closed: int = _NEVER) -> tuple[int, Any, Longs]:
    """A walk in a window: its status, registers, and where what it left open begins; positions in the document."""
    b, origin = window.bytes, window.origin
    regs, stack = np.zeros(4, np.int64), np.zeros(256, np.int64)
    regs[_POS], regs[_FIRST] = start - origin, -1
    while (status := _walk(b, len(b), end - origin, most_closed, stack, regs)) == _ROOM:
        stack = np.concatenate([stack, np.zeros_like(stack)])
    regs[_POS] += origin
    if regs[_FIRST] >= 0:
        regs[_FIRST] += origin
    return status, regs, stack[: regs[_DEPTH]] + origin


def summarise(windows: Iterable[Window], start: int, end: int) -> Summary:
    """The summary of a range that begins at ``start``, or at the first tag behind it, and ends before ``end``."""
    for window in windows:
        status, regs, stack = _walked(window, start, end)
        if status == _DONE or window.whole:
            break
    stop = int(regs[_POS]) if status == _DONE else window.origin + len(window.bytes)
    first = int(regs[_FIRST])
    opened = tuple(Open(at, _tag(window, at)) for at in stack.tolist())
    return Summary(stop if first < 0 else first, stop, int(regs[_CLOSED]), opened)


def _tag(window: Window, at: int) -> bytes:
    b, begin = window.bytes, at - window.origin
    size = 256
    while True:
        piece = bytes(b[begin : begin + size])
        match = _START_TAG.match(piece)
        if match is not None or begin + size >= len(b):
            return match[0] if match is not None else piece
        size *= 4


def behind(window: Window, start: int, levels: int) -> int:
    """Where a scan goes on after so many elements that are open at ``start``; the window's end if they go beyond."""
    status, regs, _ = _walked(window, start, _NEVER, levels)
    if status != _DONE:
        return window.origin + len(window.bytes)
    b = window.bytes
    return int(_next_token(b, int(regs[_POS]) - window.origin, len(b))) + window.origin


# ------------------------------------------------------------------------------------------------------- together


def splittable(head: bytes) -> int | None:
    """Where the root element of a document begins; None if it must be scanned as one: packed, in another encoding,
    with a DTD of its own."""
    start = plain_start(np.frombuffer(bytearray(head), np.uint8))
    match = None if start is None else _PROLOG.match(head, start)
    return None if match is None else match.end()


def combined(
    splits: Sequence[int], size: int, root: int, summaries: Sequence[Summary], again: Callable[[int, int], Summary]
) -> list[Seam]:
    """The seams of a document from the summaries of its ranges, which begin at ``root`` and at each of ``splits``; none
    of an input that has several documents.

    ``again`` summarises a range from a tag on, where the walk before had begun within something else.
    """
    ends = [*splits, size]
    open_: list[Open] = []
    seams: list[Seam] = []
    at = root
    for k, (end, summary) in enumerate(zip(ends, summaries, strict=True)):
        if at >= end and k:
            continue  # one token or tag has it all
        if k:
            if not open_ or open_[0].offset != root:
                return []  # the root is closed, and a tag follows
            seams.append(Seam(at, tuple(open_)))
        true = summary if summary.first == at else again(at, end)
        if true.closed > len(open_):
            break  # not well-formed: the last range finds out
        open_ = open_[: len(open_) - true.closed] + list(true.opened)
        at = true.stop
        if at >= size:
            break
    return seams
