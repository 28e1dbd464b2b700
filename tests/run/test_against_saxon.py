"""Our answers are Saxon's: hundreds of expressions over one document, in one session of each engine."""

from __future__ import annotations

import re

import pytest
import saxonche
from run_samples import ALL, LIBRARY

from xstreamcast.errors import XStreamError
from xstreamcast.model.tree import Node
from xstreamcast.run.query import query
from xstreamcast.scan.parse import parse

#: The prefixes that our engine knows without a declaration and Saxon does not.
_PROLOG = 'declare namespace map = "http://www.w3.org/2005/xpath-functions/map";'
_PROLOG += 'declare namespace array = "http://www.w3.org/2005/xpath-functions/array";'
_PROLOG += 'declare namespace err = "http://www.w3.org/2005/xqt-errors";'


class Peer:
    """Saxon with the document loaded."""

    def __init__(self) -> None:
        self.processor = saxonche.PySaxonProcessor(license=False)
        self.document = self.processor.parse_xml(xml_text=LIBRARY)

    def answer(self, text: str) -> str:
        """The result as the adaptive method writes it, or an error code."""
        engine = self.processor.new_xquery_processor()
        engine.set_context(xdm_item=self.document)
        try:
            engine.set_property("!method", "adaptive")
            found = engine.run_query_to_string(query_text=_PROLOG + text, lang="3.1")
        except saxonche.PySaxonApiError as failure:
            code = re.search(r"\b(X[PQ][A-Z]{2}\d{4}|FO[A-Z]{2}\d{4})\b", str(failure))
            return f"error {code[1] if code else failure}"
        return found or ""


@pytest.fixture(scope="module")
def peer() -> Peer:
    return Peer()


@pytest.fixture(scope="module")
def document() -> Node:
    return parse(LIBRARY)


def ours(text: str, document: Node) -> str:
    try:
        return query(text, context=document).serialise(method="adaptive")
    except XStreamError as failure:
        return f"error {failure.code}"


def plain(answer: str) -> str:
    """Without what the adaptive method leaves open: the order of attributes and declarations, doubles' digits."""
    text = re.sub(r"<\?xml [^>]*\?>", "", answer)
    return re.sub(r"<([\w:.-]+)((?:\s+[\w:.-]+=\"[^\"]*\")+)", _sorted_attributes, text)


def _sorted_attributes(match: re.Match[str]) -> str:
    found = sorted(re.findall(r"[\w:.-]+=\"[^\"]*\"", match[2]))
    return f"<{match[1]} {' '.join(found)}"


@pytest.mark.parametrize("text", ALL)
def test_an_expression_gives_what_saxon_gives(text: str, peer: Peer, document: Node) -> None:
    assert plain(ours(text, document)) == plain(peer.answer(text))
