"""Inputs to the kernel: mapped files, bytes in memory, and streams in pieces; batches of rows come out.

>>> from xstreamcast.scan.automaton import Action, Automaton, Target
>>> from xstreamcast.scan.path import parse_path
>>> scanner = Scanner(Automaton([Target(parse_path("//b"), Action.CAPTURE)]))
>>> [batch.value(k) for batch in scan_bytes(b"<a><b>x</b><c/><b>y</b></a>", scanner) for k in range(len(batch))]
[b'x', b'y']
"""

from __future__ import annotations

import mmap
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from xstreamcast.errors import Place, error
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.encoding import Source, plain_chunks, plain_xml
from xstreamcast.scan.scanner import STEP, Batch, InternalSubset, Scanner
from xstreamcast.scan.symbols import accepted

PIECE: Final = 1 << 20
"""The first size of the buffer of a stream."""
_PATIENT: Final = 1 << 16  # a token longer than this is tried again only when there is half as much more
_NO_RESERVE: Final = getattr(mmap, "MAP_NORESERVE", 0x4000)


def scan_buffer(b: Bytes, scanner: Scanner, start: int = 0, end: int | None = None) -> Iterator[Batch]:
    """Scan a document that is all in memory, or mapped; batches of rows on the way."""
    n = len(b)
    end = n if end is None else end
    scanner.regs[t.POS] = start
    while True:
        status = scanner.run(b, n, min(end, scanner.position + STEP))
        ended = status == t.MORE or (status == t.LIMIT and scanner.position >= end)
        if ended and end == n:
            scanner.finish(b, n)
        taken = 0
        if scanner.regs[t.ROWS] or scanner.regs[t.TREE_ROWS]:
            batch = scanner.take(b, ended and end == n)
            taken = len(batch)
            if len(batch) or len(batch.tree[0]):
                yield batch
        if ended:
            return
        if status == t.FULL:
            scanner.make_room(taken)


def scan_chunks(chunks: Iterable[bytes], scanner: Scanner) -> Iterator[Batch]:
    """Scan plain XML that comes in pieces; only what open rows need is kept."""
    b = np.zeros(PIECE, np.uint8)
    n = 0
    wanted = 0
    for chunk in chunks:
        if n + len(chunk) > len(b):
            keep = scanner.kept_from()
            if keep:
                scanner.rebase(b, keep)
                fresh = b if n - keep + len(chunk) <= len(b) else np.zeros(2 * (n - keep + len(chunk)), np.uint8)
                fresh[: n - keep] = b[keep:n].copy()
                n, wanted, b = n - keep, wanted - keep, fresh
            if n + len(chunk) > len(b):
                b = np.concatenate([b[:n], np.zeros(n + 2 * len(chunk), np.uint8)])
        b[n : n + len(chunk)] = np.frombuffer(chunk, np.uint8)
        n += len(chunk)
        if n < wanted:
            continue
        yield from _drained(b, n, scanner)
        pending = n - scanner.position
        wanted = scanner.position + pending * 3 // 2 if pending > _PATIENT else 0
    yield from _drained(b, n, scanner)
    scanner.finish(b, n)
    batch = scanner.take(b, final=True)
    if len(batch) or len(batch.tree[0]):
        yield batch


def _drained(b: Bytes, n: int, scanner: Scanner) -> Iterator[Batch]:
    while True:
        status = scanner.run(b, n, n)
        taken = 0
        if scanner.regs[t.ROWS]:
            batch = scanner.take(b)
            taken = len(batch)
            if len(batch):
                yield batch
        if status != t.FULL:
            return
        scanner.make_room(taken)


def scan_bytes(document: bytes, scanner: Scanner) -> Iterator[Batch]:
    """Scan XML in memory."""
    yield from scan_array(np.frombuffer(bytearray(document), np.uint8), scanner, [document])


def scan_source(source: Source, scanner: Scanner) -> Iterator[Batch]:
    """Scan an input: a file of plain UTF-8 is mapped; a pipe, compressed file or other encoding is read in pieces."""
    if isinstance(source, str | Path) and str(source) != "-" and Path(source).is_file():
        yield from scan_array(mapped(source), scanner, source)
    else:
        yield from scan_chunks(plain_xml(source, scanner.many), scanner)


def scan_array(b: Bytes, scanner: Scanner, again: Source | list[bytes]) -> Iterator[Batch]:
    """Scan a document that is all in ``b``; should it not be plain XML, read it ``again``, through plain_xml."""
    start = plain_start(b)
    if start is not None:
        try:
            yield from scan_buffer(b, scanner, start)
            return
        except InternalSubset:
            if scanner.several:
                raise
            scanner.reset()  # before the root, so nothing was handed over
    many = scanner.many
    yield from scan_chunks(
        plain_chunks(again, many=many) if isinstance(again, list) else plain_xml(again, many), scanner
    )


def plain_start(b: Bytes) -> int | None:
    """Where a UTF-8 document begins after its mark and declaration; None when it must be read through plain_xml."""
    head = bytes(b[:1024])
    mark = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    rest = head[mark:]
    if rest[:4] in (b"<\x00?\x00", b"\x00<\x00?") or rest[:1] not in (b"<", b" ", b"\t", b"\r", b"\n"):
        return None  # a wide encoding or a compressed file; plain_xml knows, or says what is wrong
    declaration = re.match(rb"<\?xml[ \t\r\n][^>]*\?>", rest)
    if declaration is None:
        return None if b"\x00" in rest[:4] else mark
    encoding = re.search(rb"""encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)""", declaration[0])
    if encoding and encoding[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
        return None
    if not accepted(declaration[0] + b"<a/>"):
        raise error("XSC0001", "malformed XML declaration", Place(offset=mark), 'write <?xml version="1.0"?>')
    return mark + declaration.end()


def mapped(path: str | Path) -> Bytes:
    """A file as an array: private and writable, for that is the one array type the kernel is compiled for."""
    with open(path, "rb") as file:
        if not file.seek(0, 2):
            return np.zeros(0, np.uint8)
        # Not reserved: else a private mapping larger than memory would be refused, though nobody writes to it.
        flags = mmap.MAP_PRIVATE | (_NO_RESERVE if sys.platform == "linux" else 0)
        view = mmap.mmap(file.fileno(), 0, flags, mmap.PROT_READ | mmap.PROT_WRITE)
    return np.frombuffer(view, np.uint8)


def release(b: Bytes, since: int, before: int) -> None:
    """A mapped file was read from here to there: those pages may go; should anyone look, they are read again."""
    view = getattr(b.base, "obj", None)
    first, end = (place // mmap.PAGESIZE * mmap.PAGESIZE for place in (since, before))
    if isinstance(view, mmap.mmap) and hasattr(view, "madvise") and end > first:
        view.madvise(mmap.MADV_DONTNEED, first, end - first)
