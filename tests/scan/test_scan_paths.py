"""Paths find in a scan what XPath finds in the tree: lxml is the judge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from scan_documents import documents
from scan_oracle import expat_events, pieces

from xstreamcast.errors import XStreamError
from xstreamcast.scan import reader, spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.path import parse_path
from xstreamcast.scan.reader import scan_bytes, scan_chunks
from xstreamcast.scan.scanner import Batch, Scanner
from xstreamcast.scan.tree import forest

NAMESPACES = {"p": "urn:p", "q": "urn:q", "u": "u"}
ELEMENTS = "/root /root/a //a /root//b //a//b //a/b /root/* //* //p:a //u:* //*/* //item/name /root/*/*"
ATTRIBUTES = "//@* //@a /root/@a //p:a/@q:b //a/@* //@p:item //*/@b //a//@b"
OTHERS = "//text() /root/text() //a/text() //comment() /comment() //a/comment() //node() /root/node()"
INSTRUCTIONS = "//processing-instruction() //processing-instruction(go) //processing-instruction(no)"
PATHS = f"{ELEMENTS} {ATTRIBUTES} {OTHERS} {INSTRUCTIONS}".split()
STEPS = st.sampled_from(["/root", "/a", "//a", "/b", "//b", "/*", "//*", "/p:a", "//q:b", "//item", "//u:name"])
ENDS = st.sampled_from(["", "", "", "/@a", "//@*", "/text()", "//text()", "/@p:a", "//comment()"])


def judged(document: bytes, path: str) -> list[str]:
    """The string values XPath finds."""
    tree = etree.fromstring(document).getroottree()
    spelled = path.replace("(go)", "('go')").replace("(no)", "('no')")
    found = tree.xpath(spelled, namespaces=NAMESPACES)
    return [str(node) if isinstance(node, str) else _value(node) for node in found]


def _value(node: etree._Element) -> str:
    return str(node.xpath("string()"))


def values(batch: Batch) -> list[str]:
    """The string values a scan captured, in document order."""
    rows = batch.rows[batch.start.argsort(kind="stable")]
    modes = []
    for start, begin, flags in rows[:, [2, 3, 6]].tolist():
        flags %= 256  # above are contexts
        opened = bytes(batch.buffer[start : start + 2])
        if not flags:
            modes.append(spans.RAW)
        elif begin > start and opened[:1] != b"<":
            modes.append(spans.ATTRIBUTE)
        else:
            modes.append(spans.LINES if opened in (b"<!", b"<?") and begin > start else spans.TEXT)
    return spans.strings(batch.buffer, rows[:, 3], rows[:, 4], modes)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(documents())
def test_all_paths_at_once_find_what_xpath_finds(document: bytes) -> None:
    if expat_events(document) is None:
        return
    automaton = Automaton([Target(parse_path(path, NAMESPACES)) for path in PATHS])
    list(scan_bytes(document, automaton))
    counted = {path: automaton.count(k) for k, path in enumerate(PATHS)}
    assert counted == {path: len(judged(document, path)) for path in PATHS}


@settings(max_examples=80, deadline=None, derandomize=True)
@given(documents(), st.lists(STEPS, min_size=1, max_size=4), ENDS, st.integers(0, 30))
def test_a_path_captures_the_values_xpath_finds(document: bytes, steps: list[str], end: str, size: int) -> None:
    if expat_events(document) is None:
        return
    path = "".join(steps) + end
    automaton = Automaton([Target(parse_path(path, NAMESPACES), Action.CAPTURE)])
    if size:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reader, "PIECE", 2 * size)  # so that the buffer is moved on and enlarged
            found = [
                (batch.offset + int(start), value)
                for batch in scan_chunks(pieces(document, size), Scanner(automaton, rows=4))
                for start, value in zip(sorted(batch.start.tolist()), values(batch), strict=True)
            ]
    else:
        found = [
            (int(start), value)
            for batch in scan_bytes(document, automaton)
            for start, value in zip(sorted(batch.start.tolist()), values(batch), strict=True)
        ]
    assert [value for _, value in sorted(found, key=lambda pair: pair[0])] == judged(document, path)


def test_a_projected_record_has_the_parts_that_paths_lead_to_and_no_others() -> None:
    document = b"<s><i k='1' m='2'><n>one</n><d><x><w>deep</w></x>t</d><z/></i><i k='3'><n/></i><o><i/></o></s>"
    wanted = {"/s/i/@k": Action.KEEP, "/s/i/n": Action.PROJECT, "/s/i//w": Action.PROJECT}
    automaton = Automaton([Target(parse_path(path), action, root=2) for path, action in wanted.items()])
    scanner = Scanner(automaton)
    shown = []
    for batch in scan_chunks([document], scanner):
        for tree in forest(batch, scanner)[1]:
            names = [tree.lexical(row) for row in range(len(tree))]
            shown.append((names, tree.string(0)))
    assert shown == [(["i", "k", "n", "", "d", "x", "w", ""], "onedeep"), (["i", "k", "n"], "")]


def test_projected_trees_have_the_namespaces_in_scope_and_those_declared_within() -> None:
    document = b"<a xmlns:p='u'><b xmlns='v' xmlns:q='w'><p:c xmlns:r='x'/></b><b/></a>"
    automaton = Automaton([Target(parse_path("//*:b"), Action.PROJECT)])
    scanner = Scanner(automaton)
    (batch,) = scan_chunks([document], scanner)
    _, trees = forest(batch, scanner)
    assert [tree.namespaces for tree in trees] == [{0: {"p": "u", "": "v", "q": "w"}, 1: {"r": "x"}}, {0: {"p": "u"}}]


def test_a_tree_within_a_tree_is_a_tree_of_its_own() -> None:
    document = b"<a><i k='1'>x<i>y</i></i><i/></a>"
    automaton = Automaton([Target(parse_path("//i"), Action.PROJECT)])
    scanner = Scanner(automaton)
    (batch,) = scan_chunks([document], scanner)
    tops, trees = forest(batch, scanner)
    assert [tree.string(0) for tree in trees] == ["xy", "y", ""]
    assert [list(tree.up) for tree in trees] == [[0, 1, 2, 3, 1], [0, 1], [0]]
    assert batch.start[tops].tolist() == [3, 13, 25]


@pytest.mark.parametrize("path", ["", "a", "/a/", "/@a/b", "/text()/b", "/a[1]/", "/p:a", "//", "/a()"])
def test_what_is_no_path_is_refused_with_its_place(path: str) -> None:
    if path == "":
        assert parse_path(path).steps == ()
        return
    with pytest.raises(XStreamError):
        parse_path(path)
