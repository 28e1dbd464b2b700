"""As many namespaces as names: what is kept is what there is of either, not of their product."""

from __future__ import annotations

import io

import pytest
from lxml import etree

from xstreamcast import fragment, materialise, query
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.reader import scan_bytes
from xstreamcast.scan.scanner import Scanner
from xstreamcast.scan.symbols import Scope

MANY = 3000
PAD = "<pad>" + "x" * 2_200_000 + "</pad>"
"""So that the kernel scans it, whatever it is made of."""


def siblings(count: int) -> str:
    return "".join(f'<p{n}:e{n} xmlns:p{n}="u{n}" p{n}:a{n % 7}="1"/>' for n in range(count))


SHAPES = {
    "siblings": f"<r>{siblings(MANY)}{PAD}</r>",
    "at the root": "<r " + " ".join(f'xmlns:p{n}="u{n}"' for n in range(MANY)) + ">"
    + "".join(f'<p{n}:e{n} a="" p{n}:b="1"/>' for n in range(MANY)) + PAD + "</r>",
    "beyond the root's": "<r " + " ".join(f'xmlns:q{n}="v{n}"' for n in range(300)) + ">"
    + siblings(MANY) + "".join(f"<q{n}:e/>" for n in range(300)) + PAD + "</r>",
    "within each other": "<r>" + "".join(f'<e{n} xmlns="u{n}" xmlns:p="w{n}"><p:x/>' for n in range(150))
    + "".join(f"</e{n}>" for n in reversed(range(150))) + PAD + "</r>",
    "declared again": "<r>" + "".join(f'<p:e xmlns:p="u{n % 5}" xmlns:q="u{n % 7}"><q:f p:a=""/></p:e>'
                                      for n in range(MANY)) + PAD + "</r>",
}  # fmt: skip
NAMES = "for $e in //* return string-join(($e, $e/@*) ! ('{' || namespace-uri(.) || '}' || local-name(.)), ' ')"


@pytest.mark.parametrize("shape", SHAPES)
def test_names_mean_what_they_mean_to_lxml(shape: str) -> None:
    text = SHAPES[shape]
    expected = []
    for element in etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True)).iter():
        names = [etree.QName(name) for name in (element.tag, *element.attrib)]
        expected.append(" ".join(f"{{{name.namespace or ''}}}{name.localname}" for name in names))
    assert query(NAMES, context=text.encode()).values() == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_kept_grows_with_the_document(shape: str) -> None:
    scanner = Scanner(Automaton([]))
    list(scan_bytes(SHAPES[shape].encode(), scanner))
    symbols = scanner.symbols
    pairs = len(symbols._elements) + len(symbols._attributes)
    assert pairs < 4 * MANY
    assert len(symbols.elements_by) + len(symbols.attributes_by) < (1 << 20) + 64 * pairs
    assert sum(len(scope._own) for scope in symbols.contexts) < 70 * len(symbols.contexts) + 2 * MANY


def test_a_scope_is_what_was_declared_last() -> None:
    scope = Scope({"": "", "xml": "x"})
    for number in range(500):
        scope = Scope({f"p{number % 90}": f"u{number}"}, scope)
        assert scope[f"p{number % 90}"] == f"u{number}"
    assert scope["xml"] == "x"
    assert len(scope) == 92
    assert dict(scope)["p9"] == "u459"
    assert scope.get("q") is None


def test_fragments_keep_their_namespaces() -> None:
    text = f"<r>{siblings(200)}</r>".encode()
    out = io.BytesIO()
    fragment(text, out)
    assert query(NAMES, context=materialise(out.getvalue())).values() == query(NAMES, context=text).values()
