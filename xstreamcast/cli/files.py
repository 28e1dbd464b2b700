"""Files the commands are given by option."""

from __future__ import annotations

from pathlib import Path

from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.scan.encoding import plain_xml


def read_structure(path: Path) -> Structure:
    """A tag structure from a file in any encoding."""
    return parse_structure(b"".join(plain_xml(path)), str(path))
