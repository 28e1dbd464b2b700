"""Doubts about a query, once its documents are known: namespaces that it does not say, misspelt names.

>>> from xstreamcast.run.query import compile
>>> [text.partition(" ")[2] for text in namespace_doubts(compile("count(//page)"), b"<wiki xmlns='urn:wiki'/>")]
['the document is in the namespace urn:wiki, and page in none (hint: begin by: declare default element namespace \
"urn:wiki"; or write *:page)']
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xstreamcast.dataclass import dataclass
from xstreamcast.lang.name_check import misspelt_names
from xstreamcast.lang.namespace_check import unqualified_names
from xstreamcast.lang.warning_texts import warning_texts
from xstreamcast.model.findings import warn
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.tree import Node
from xstreamcast.run.unmatched import unmatched
from xstreamcast.scan.archives import is_document
from xstreamcast.scan.parse import default_namespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xstreamcast.model.atomic import Item
    from xstreamcast.run.query import Query
    from xstreamcast.run.streams import Streams


def namespace_doubts(query: Query, document: Any) -> tuple[str, ...]:
    """That a query can hardly find anything because it does not say the namespace of a document: a file, its bytes, or
    a tree."""
    uri = ""
    if isinstance(document, Node):
        top = [document] if document.kind == ELEMENT else document.children()
        root = next((node for node in top if node.kind == ELEMENT), None)
        uri = root.uri if root is not None and ":" not in root.lexical else ""
    elif isinstance(document, bytes) or (isinstance(document, Path) and is_document(document)):
        uri = default_namespace(document)
    if not uri:
        return ()
    module = query.executable.program.module
    return warning_texts(replace(module, warnings=unqualified_names(module, uri)))


def spelling_doubts(query: Query, document: Path) -> tuple[str, ...]:
    """Names that a query looks for and a file does not have, though it has some that are nearly the same."""
    from xstreamcast.scan.parse import LOOKED_THROUGH, names_in

    if not is_document(document):
        return ()  # a pipe with a name: it has been read
    elements, attributes, whole = names_in(document)
    where = str(document) if whole else f"the first {LOOKED_THROUGH >> 20} MB of {document}"
    module = query.executable.program.module
    return warning_texts(replace(module, warnings=misspelt_names(module, elements, attributes, where)))


@dataclass(frozen=True, slots=True)
class Doubts:
    """Doubts about a query and the documents it was asked of.

    ``known``: what could be said when it was asked; ``document``: the file, if it was one; ``streams``: where findings
    are counted.
    """

    query: Query
    known: tuple[str, ...] = ()
    document: Path | None = None
    streams: Streams | None = None

    def tell(self) -> None:
        """Warn of what is known, as Python warns; what streams put aside they have told."""
        for text in self.known:
            warn(text)

    def texts(self, items: Sequence[Item]) -> tuple[str, ...]:
        """All of them; where nothing was found, also names that may be misspelt."""
        aside = self.streams.findings.texts() if self.streams is not None else ()
        nothing = not items or (len(items) == 1 and (items[0] is False or items[0] == 0))
        misspelt = spelling_doubts(self.query, self.document) if nothing and self.document is not None else ()
        return tuple(dict.fromkeys((*self.known, *aside, *misspelt)))


def doubts_about(query: Query, document: Any, streams: Streams | None = None) -> Doubts:
    """The doubts about a query, its context item (None: it does not look at it) and its streams."""
    ruled_out = unmatched(query, streams.structures) if streams is not None else ()
    known = (*query.warnings, *ruled_out, *namespace_doubts(query, document))
    return Doubts(query, tuple(dict.fromkeys(known)), document if isinstance(document, Path) else None, streams)
