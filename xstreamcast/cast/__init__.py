"""Casting: documents into fragment streams and back (DBPL'03 §2, SIGMOD'04 §4–5).

In comes a document and a tag structure, out come fillers and holes; or in come changes, and out comes the document that
they describe, T(γ). Read in this order:

* out: :mod:`.infer` (a structure from documents), :mod:`.fragmenter`, :mod:`.cutting` and :mod:`.window` (of a document
  that is scanned), :mod:`.order` (in which order fragments are sent)
* in: :mod:`.reader`, :mod:`.batch_reader`, :mod:`.batches`, :mod:`.automata` and :mod:`.columns` (a wire stream by the
  kernel, many changes at a time)
* what is known: :mod:`.region`, :mod:`.regions` (T1), :mod:`.contents` (where contents lie), :mod:`.materialise` (T2)
"""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from xstreamcast.cast.infer import infer_structure
from xstreamcast.cast.materialise import Materialiser, View, materialise
from xstreamcast.cast.order import ORDERS, Order, in_order, with_repeats, write_records
from xstreamcast.errors import error
from xstreamcast.model.change import Eos
from xstreamcast.model.structure import Structure
from xstreamcast.scan.encoding import Source, open_input, read_chunks, source_name
from xstreamcast.scan.given import Given, readable
from xstreamcast.wire.fragment import FragmentWriter

__all__ = ["ORDERS", "Materialiser", "Order", "View", "fragment", "infer_structure", "materialise"]


def fragment(
    document: Given,
    out: str | Path | BinaryIO,
    structure: Structure | None = None,
    *,
    order: Order = "document",
    seed: int = 0,
    repeat: float = 0.0,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write a document as a fragment stream, to a path or an open file; the number of fragments written.

    Without a structure one is inferred first, which reads the document twice (a pipe is kept on disk for that).

    >>> import io
    >>> out = io.BytesIO()
    >>> from xstreamcast.model.structure import parse_structure
    >>> tags = parse_structure('<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></structure>')
    >>> fragment(io.BytesIO(b"<a><b>1</b><b>2</b></a>"), out, tags)
    3
    >>> materialise(io.BytesIO(out.getvalue()))
    b'<a><b>1</b><b>2</b></a>'
    """
    if not 0 <= repeat <= 1:
        raise error("XSC0043", f"a repeat probability of {repeat}", hint="it lies between 0 and 1")
    if isinstance(out, str | Path):
        with open(out, "wb") as file:
            return fragment(document, file, structure, order=order, seed=seed, repeat=repeat, progress=progress)
    source = readable(document)
    if structure is None:
        with _rereadable(source) as (first, second):
            structure = infer_structure([first])
            return fragment(second, out, structure, order=order, seed=seed, repeat=repeat, progress=progress)
    rng = random.Random(seed)
    from xstreamcast.cast.fragmenter import Fragmenter

    fragmenter = Fragmenter(structure, source_name(source))
    records = in_order(fragmenter.blocks(source, order != "shuffle", progress), order, structure, rng)
    if repeat:
        records = with_repeats(records, repeat, rng)
    root_or_other = next(records)  # by then all of the document has been read, prefixes and all
    prefix = fragmenter.prefix
    writer = FragmentWriter(out, structure, prefix)
    count = write_records(chain((root_or_other,), records), out, prefix)
    writer.write(Eos())
    writer.close()
    return count


@contextmanager
def _rereadable(document: Source) -> Iterator[tuple[Source, Source]]:
    """A document twice: a file is opened again, a pipe is copied to disk first."""
    if isinstance(document, str | Path) and str(document) != "-":
        yield document, document
        return
    with tempfile.NamedTemporaryFile() as copy:
        copy.writelines(read_chunks(open_input(document), source_name(document)))
        copy.flush()
        with _Copy(copy.name, source_name(document)) as first, _Copy(copy.name, source_name(document)) as second:
            yield first, second


class _Copy(io.BufferedReader):
    """A copy that goes by the name of its original, in errors too."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(io.FileIO(path))
        self._name = name

    @property
    def name(self) -> str:
        """The document that it is a copy of."""
        return self._name
