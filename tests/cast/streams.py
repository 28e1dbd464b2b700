"""What the tests of ``cast`` share: T of a stream given as text, and equality of documents."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from lxml import etree

from xstreamcast.cast.materialise import Materialiser, View, read_regions
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, parse_structure

WIRE = Path(__file__).parents[1] / "fixtures" / "wire"


class Told(list[Diagnostic]):
    """The diagnostics of one run."""

    @property
    def codes(self) -> list[str]:
        return [diagnostic.code for diagnostic in self]


def t(stream: str | bytes, view: View | None = None, structure: str | None = None, doc: str = "") -> str:
    """T of a stream, as text."""
    return told(stream, view, structure, doc)[0]


def told(
    stream: str | bytes, view: View | None = None, structure: str | None = None, doc: str = ""
) -> tuple[str, Told]:
    """T of a stream, and what there was to say about it."""
    found = Told()
    data = stream.encode() if isinstance(stream, str) else stream
    regions = read_regions(io.BytesIO(data), parse_structure(structure) if structure else None, found.append)
    return b"".join(regions.document(doc, view, found.append)).decode(), found


def after(changes: Iterable[Change], structure: Structure | None = None, view: View | None = None) -> str:
    """T of a sequence of changes."""
    regions = Materialiser(structure)
    for change in changes:
        regions.apply(change)
    regions.finish()
    return regions.text(view=view)


def canonical(document: bytes, *, rewrite_prefixes: bool = False) -> str:
    """The document in canonical form, comments included, as the standard library writes it.

    Where a namespace has several prefixes the standard library does not keep the one that is written: rewrite them.
    """
    return ElementTree.canonicalize(
        from_file=io.BytesIO(document), with_comments=True, rewrite_prefixes=rewrite_prefixes
    )


def canonical_by_lxml(document: bytes) -> bytes:
    """The second opinion: prefixes and unused declarations count."""
    parser = etree.XMLParser(huge_tree=True, resolve_entities=True, attribute_defaults=True)
    tree = etree.ElementTree(etree.fromstring(document, parser))
    out = io.BytesIO()
    tree.write_c14n(out, with_comments=True)
    return out.getvalue()


def well_formed(stream: bytes) -> bool:
    """Whether a stream is one namespace-well-formed document; raises if not."""
    expat.ParserCreate(None, " ").Parse(stream, True)
    return True
