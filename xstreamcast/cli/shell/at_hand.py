"""The documents and streams that are open: their tags, and the names of their attributes.

Of a large document the beginning is looked at, of a stream the structure that it brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.structure import Structure

_ARRIVALS: Final = 1_000
"""So many fragments of a stream are read for a structure at most."""
_CARRIER: Final = frozenset({"tsid", "validTime", "version", "xmlns"})
"""Attributes of fragments, not of what is in them."""


@dataclass(frozen=True)
class AtHand:
    """``structures`` by the names of streams, ``""`` that of the document."""

    structures: Mapping[str, Structure] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()


def look_at(document: str | None, streams: Mapping[str, str]) -> AtHand:
    """All that can be found out quickly; of a file that cannot be read, nothing: the query that asks it is told why."""
    from xstreamcast.cast.infer import structure_of_beginning
    from xstreamcast.scan.archives import is_document
    from xstreamcast.scan.parse import names_in

    structures: dict[str, Structure] = {}
    attributes: set[str] = set()
    if document is not None and is_document(Path(document)):
        found = structure_of_beginning(Path(document))
        if found is not None:
            structures[""] = found
        attributes |= names_in(Path(document))[1]
    for name, source in streams.items():
        brought = _brought(source)
        if brought is not None:
            structures[name] = brought
        if Path(source).is_file():
            attributes |= names_in(Path(source))[1] - _CARRIER
    return AtHand(structures, tuple(sorted(attributes)))


def _brought(source: str) -> Structure | None:
    """The structure at the beginning of a stream."""
    from xstreamcast.wire.fragment import read_folder, read_stream

    path = Path(source)
    try:
        arrivals = read_folder(path) if path.is_dir() else read_stream(path) if path.is_file() else iter(())
        items = (arrival.item for arrival in islice(arrivals, _ARRIVALS))
        return next((item for item in items if isinstance(item, Structure)), None)
    except XStreamError:
        return None
