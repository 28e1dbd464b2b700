"""Columnar trees: rows, order, values, namespaces, copies; parsing and lxml beside them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.axes import ancestors, following, following_siblings, preceding, preceding_siblings
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.interop import to_lxml
from xstreamcast.model.names import ELEMENT, intern
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, PI, TEXT, Node
from xstreamcast.run.query import query
from xstreamcast.scan.foreign import from_foreign
from xstreamcast.scan.parse import parse, parse_file

XML = """<?xml version="1.0"?><!--top--><r a="1" xmlns="urn:d" xmlns:p="urn:p"><p:x p:b="2">one<y/>two</p:x><z/>
<?go now?><w xmlns=""><v>x &lt; y<![CDATA[ & z]]></v></w></r>"""


def test_rows_are_in_document_order_and_attributes_follow_their_element() -> None:
    tree = parse(XML).tree
    kinds = [DOCUMENT, COMMENT, ELEMENT, ATTRIBUTE, ELEMENT, ATTRIBUTE, TEXT, ELEMENT, TEXT, ELEMENT, TEXT, PI]
    assert list(tree.kind[:12]) == kinds
    for row in range(1, len(tree)):
        parent = row - tree.up[row]
        assert parent < row <= parent + tree.size[parent]


def test_values() -> None:
    document = parse(XML)
    root = document.children()[1]
    assert root.string == "onetwo\nx < y & z"
    assert root.children()[-1].children()[0].string == "x < y & z"
    assert document.typed == root.string
    assert root.attribute("a") == "1"
    assert root.attribute("b") is None


def test_names_and_namespaces() -> None:
    root = parse(XML).children()[1]
    first = root.children()[0]
    assert (first.uri, first.local, first.lexical) == ("urn:p", "x", "p:x")
    assert first.namespaces() == {"xml": "http://www.w3.org/XML/1998/namespace", "": "urn:d", "p": "urn:p"}
    assert "" not in root.children()[-1].namespaces()
    assert [node.string for node in first.namespace_nodes()][:2] == ["urn:d", "urn:p"]
    assert all(node.parent == first for node in first.namespace_nodes())


def test_order_is_document_order_and_equality_is_identity() -> None:
    one, other = parse("<a><b/><c/></a>"), parse("<a><b/><c/></a>")
    nodes = list(one.descendants())
    assert sorted([nodes[2], nodes[0], nodes[1]]) == nodes
    assert nodes[0] < nodes[1] < other < other.children()[0]
    assert nodes[0] == Node((one.tree, 1))
    assert nodes[0] != other.children()[0]
    assert len({*nodes, *one.descendants()}) == 3


def test_axes() -> None:
    tree = parse("<a i='1'><b><c/>t</b><d j='2'/><e><f/></e></a>").tree
    row = tree.positions(intern(ELEMENT, "", "d"))[0]
    names = [[tree.lexical(r) for r in axis(tree, row)] for axis in (ancestors, following, preceding)]
    assert names == [["", "a"], ["e", "f"], ["b", "c", ""]]
    assert [tree.lexical(r) for r in following_siblings(tree, row)] == ["e"]
    assert [tree.lexical(r) for r in preceding_siblings(tree, row)] == ["b"]
    attribute = row + 1
    assert following_siblings(tree, attribute) == []
    assert [tree.lexical(r) for r in ancestors(tree, attribute)] == ["", "a", "d"]


def test_descendants_of_a_name_come_from_an_index() -> None:
    text = "<a>" + "<b><c/><b/></b>" * 100 + "</a>"
    tree = parse(text).tree
    name = intern(ELEMENT, "", "b")
    scanned = [row for row in range(len(tree)) if tree.name[row] == name]
    assert tree.descendants(0, name) == scanned
    for row in scanned[:6]:
        below = [other for other in scanned if row < other <= row + tree.size[row]]
        assert tree.descendants(row, name) == below
        assert tree.has_descendant(row, name) == bool(below)


def test_a_subtree_is_copied_with_new_identity() -> None:
    node = parse(XML).children()[1].children()[0]
    builder = TreeBuilder()
    builder.copy(node)
    copy = builder.finish().root
    assert copy != node
    assert copy.parent is None
    assert copy.string == node.string
    assert copy.namespaces() == node.namespaces()


def test_a_builder_joins_adjacent_text_and_drops_empty_text() -> None:
    builder = TreeBuilder()
    builder.start("", "a")
    builder.text("x")
    builder.text("")
    builder.text("y")
    builder.start("", "b")
    builder.end()
    builder.text("z")
    root = builder.finish().root
    assert [(node.kind, node.string) for node in root.children()] == [(TEXT, "xy"), (ELEMENT, ""), (TEXT, "z")]


def test_base_uris_follow_xml_base() -> None:
    document = parse('<a><b xml:base="c/"><d xml:base="e.xml"/></b></a>', "http://h/x/y.xml", "http://h/x/y.xml")
    b = document.children()[0].children()[0]
    assert b.base_uri == "http://h/x/c/"
    assert b.children()[0].base_uri == "http://h/x/c/e.xml"
    assert document.document_uri == "http://h/x/y.xml"


def test_ids_come_from_the_dtd_and_from_xml_id() -> None:
    document = parse('<!DOCTYPE a [<!ATTLIST b k ID #IMPLIED>]><a><b k="x"/><c xml:id="y"/><b/></a>')
    assert {key: document.tree.lexical(row) for key, row in document.tree.ids().items()} == {"x": "b", "y": "c"}


def test_trees_travel_between_processes() -> None:
    node = parse(XML).children()[1]
    back = pickle.loads(pickle.dumps(node))
    assert back.xml() == node.xml()
    assert back != node


@pytest.mark.parametrize(
    "text",
    [
        "<a>",
        "<a></b>",
        "<a>&undeclared;</a>",
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "other.dtd"><a>&x;</a>',
        "<a:b/>",
        "",
    ],
)
def test_what_is_not_plain_xml_is_refused(text: str) -> None:
    with pytest.raises(XStreamError) as caught:
        parse(text)
    assert caught.value.code == "XSC0001"


def test_entities_expand_only_so_far() -> None:
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    with pytest.raises(XStreamError, match=r"XSC0001.*amplification"):
        parse(f'<!DOCTYPE a [<!ENTITY e0 "{"x" * 100}">{bomb}]><a>&e11;</a>')


NAMES = st.sampled_from(["a", "b", "c-d", "é"])
TEXTS = st.text(alphabet="xy <&>\"'\n\té", max_size=5)
TREES = st.recursive(
    TEXTS.filter(bool),
    lambda inner: st.tuples(NAMES, st.dictionaries(NAMES, TEXTS, max_size=2), st.lists(inner, max_size=3)),
    max_leaves=12,
)


def write(builder: TreeBuilder, tree: object) -> None:
    if isinstance(tree, str):
        builder.text(tree)
        return
    assert isinstance(tree, tuple)
    name, attributes, content = tree
    builder.start("", name)
    for key, value in attributes.items():
        builder.attribute("", key, value)
    for part in content:
        write(builder, part)
    builder.end()


@given(TREES.filter(lambda tree: isinstance(tree, tuple)))
def test_building_writing_parsing_and_lxml_agree(tree: object) -> None:
    builder = TreeBuilder()
    write(builder, tree)
    built = builder.finish().root
    parsed = parse(built.xml()).children()[0]
    # A line end in text is written as such, in an attribute as a reference: both come back.
    assert parsed.xml() == built.xml()
    through = from_foreign(to_lxml(built))
    assert through.xml() == built.xml()
    assert list(through.tree.size)[1:] == list(built.tree.size)  # it has a document around it


def test_a_file_read_by_the_kernel_is_the_same_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.xml"
    file.write_bytes(
        b'<?xml version="1.0" encoding="ISO-8859-1"?><!--c--><a xmlns="u" xmlns:p="v"><p:b x="1&#10;2">\xe9 &lt;'
        b"<![CDATA[&]]></p:b><?pi d?>\r\n<c/>t</a>"
    )
    by_expat = parse_file(file)
    monkeypatch.setattr("xstreamcast.scan.parse.KERNEL_FROM", 0)
    by_kernel = parse_file(file)
    assert by_kernel.xml() == by_expat.xml()
    assert query("count(/*:a/*:c)", context=by_kernel).to_list() == [1]
    columns = ("kind", "name", "keys", "prefix", "up", "size", "value", "namespaces", "base_uri", "document_uri")
    for column in columns:
        assert getattr(by_kernel[0], column) == getattr(by_expat[0], column), column


def test_a_document_with_a_dtd_of_its_own_keeps_its_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xstreamcast.scan.parse.KERNEL_FROM", 0)
    file = tmp_path / "ids.xml"
    file.write_bytes(b'<!DOCTYPE a [<!ATTLIST b i ID #IMPLIED>]><a><b i="x">1</b></a>')
    assert query('id("x")/string()', context=file).to_list() == ["1"]
