"""Files the commands are given by option."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.scan.encoding import plain_xml


def read_structures(given: Iterable[str]) -> dict[str, Structure]:
    """The ``--structure [NAME=]FILE`` options: by stream name, ``""`` for a structure of any stream."""
    made = {}
    for pair in given:
        name, sign, file = pair.partition("=")
        made[name if sign else ""] = read_structure(Path(file if sign else name))
    return made


def read_structure(path: Path) -> Structure:
    """A tag structure from a file in any encoding."""
    return parse_structure(b"".join(plain_xml(path)), str(path))
