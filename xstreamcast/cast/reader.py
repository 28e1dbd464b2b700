"""Reading a wire stream from a file or a pipe: a long one by the kernel, in batches; a short one by the exact reader.

>>> import io
>>> text = b'<stream:filler id="0"><a><stream:hole id="1"/></a></stream:filler><stream:filler id="1">x</stream:filler>'
>>> for stretch in read_batches(io.BytesIO(text), kernel_from=0):
...     print(stretch.item if isinstance(stretch, Arrival) else (stretch.region.tolist(), stretch.content(0)))
Fill(region=0, doc='', tsid=None, version=None, valid_time=None, content=b'<a><stream:hole id="1"/></a>')
([1], b'x')
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xstreamcast.model.change import Eos
from xstreamcast.model.structure import Structure
from xstreamcast.scan.encoding import plain_xml, source_name
from xstreamcast.scan.given import Given, stream_of
from xstreamcast.wire.fragment import Arrival, FragmentReader, cut_short, read_folder
from xstreamcast.wire.framing import FRAGMENT_LIMIT

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch

KERNEL_FROM: Final = 4 << 20
"""Bytes of a stream from which it is worth loading the kernel, which takes most of a second."""


def read_batches(
    given: Given,
    structure: Structure | None = None,
    *,
    limit: int = FRAGMENT_LIMIT,
    kernel_from: int = KERNEL_FROM,
) -> Iterator[FragmentBatch | Arrival]:
    """The arrivals of a stream, in order: changes in batches; structures, diagnostics and odd changes one by one.

    A batch holds what was there to read; of a pipe, what has come so far. ``structure``: the one known beforehand.
    A folder is read file by file, as it is now.
    """
    source = stream_of(given)
    if isinstance(source, str | Path) and Path(source).is_dir():
        yield from read_folder(Path(source), limit=limit)
        return
    name = source_name(source)
    if isinstance(source, str | Path) and Path(source).is_file() and Path(source).stat().st_size >= max(kernel_from, 1):
        from xstreamcast.cast.window import plain_file

        buffer = plain_file(source)
        if buffer is not None:
            from xstreamcast.cast.batch_reader import BatchReader

            mark = 3 if buffer[:3].tobytes() == b"\xef\xbb\xbf" else 0  # it does not count in offsets
            yield from BatchReader(name, buffer=buffer, offset=-mark, structure=structure, limit=limit)
            return
    chunks = plain_xml(source)
    reader = FragmentReader(chunks, source=name, limit=limit)
    ended = False
    for arrivals in reader.together():
        for arrival in arrivals:
            ended |= isinstance(arrival.item, Eos)
            if isinstance(arrival.item, Structure) and (structure is None or arrival.item.only_adds_to(structure)):
                structure = arrival.item
            yield arrival
        if reader.state.offset >= kernel_from and not reader.framer.ended:
            from xstreamcast.cast.batch_reader import BatchReader

            framer = reader.framer
            yield from BatchReader(
                name, chunks=chain([bytes(framer.buffer[reader.state.offset - framer.offset :])], chunks),
                state=reader.state, wrapper=framer.wrapper, structure=structure, offset=reader.state.offset,
                ended=ended, limit=limit,
            )  # fmt: skip
            return
    if reader.framer.wrapper is not None and not ended:
        yield cut_short(name, reader.state.offset)
