"""Serialisation by the methods xml, text, json and adaptive."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Float, QName, Untyped
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.cast import cast
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.serialise import from_options, serialise
from xstreamcast.model.types import TYPES
from xstreamcast.scan.parse import parse


def code_of(items: list[Any], **parameters: Any) -> str:
    with pytest.raises(XStreamError) as caught:
        serialise(items, **parameters)
    return caught.value.code


@pytest.mark.parametrize(
    "text",
    [
        "<a/>", "<a>x</a>", '<a b="c"/>', "<a><b/>t<c>u</c></a>", "<a><!--c--><?pi d?><?pi?></a>",
        '<a xmlns="u"><b/><c xmlns=""/></a>', '<p:a xmlns:p="u" p:x="1"><b xmlns="v"/></p:a>', "<a>&lt;&amp;&gt;</a>",
        '<a b="&quot;&#x9;&#xA;&lt;"/>', "<a>&#xD;&#x85;&#x2028;</a>", "<!--before--><a/><?after?>",
        '<a xml:lang="en"/>',
    ],
)  # fmt: skip
def test_xml_reads_back_as_written(text: str) -> None:
    assert serialise([parse(text)]) == text


def test_a_sequence_is_normalised_before_it_is_written() -> None:
    element = parse("<a/>").children()[0]
    assert serialise([]) == ""
    assert serialise([1, 2, "x"]) == "1 2 x"
    assert serialise([1, element, 2, 3]) == "1<a/>2 3"
    assert serialise([Array([[1], [Array([[element]])]]), D("1.0")]) == "1<a/>1"
    assert serialise([1, element, 2], item_separator="|") == "1|<a/>|2"
    assert serialise(["<"], method="text") == "<"
    assert serialise([parse("<a>x<b>y</b></a>"), "<"], method="text") == "xy<"


def test_what_has_no_markup_is_senr0001() -> None:
    attribute = parse("<a b='c'/>").children()[0].attributes()[0]
    assert code_of([attribute]) == "SENR0001"
    assert code_of([Map()]) == "SENR0001"
    assert code_of([FunctionItem(None, 0, lambda args: [])], method="text") == "SENR0001"


def test_a_subtree_brings_the_namespaces_it_stands_in() -> None:
    inner = parse('<a xmlns="u" xmlns:p="v"><b><c/></b></a>').children()[0].children()[0]
    assert serialise([inner]) == '<b xmlns="u" xmlns:p="v"><c/></b>'


def test_undeclared_names_get_their_namespaces() -> None:
    builder = TreeBuilder()
    builder.start("u", "a", "p")
    builder.attribute("v", "x", "1", "q")
    builder.attribute("w", "y", "2")
    builder.start("", "b")
    builder.end()
    builder.end()
    text = serialise([builder.finish().root])
    again = parse(text).children()[0]
    assert (again.uri, again.local) == ("u", "a")
    assert {(a.uri, a.local, a.string) for a in again.attributes()} == {("v", "x", "1"), ("w", "y", "2")}
    assert again.children()[0].uri == ""


def test_indentation_leaves_mixed_content_alone() -> None:
    document = parse("<a><b>x</b><c>m<d/>n</c><e xml:space='preserve'><f/></e></a>")
    assert serialise([document], indent=True) == (
        '<a>\n  <b>x</b>\n  <c>m<d/>n</c>\n  <e xml:space="preserve"><f/></e>\n</a>'
    )


def test_the_declaration_and_the_document_type() -> None:
    document = parse("<a/>")
    declared = serialise([document], omit_xml_declaration=False, standalone="yes")
    assert declared == '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><a/>'
    assert serialise([document], doctype_system="a.dtd") == '<!DOCTYPE a SYSTEM "a.dtd">\n<a/>'
    assert serialise([document], doctype_system="a.dtd", doctype_public="p") == '<!DOCTYPE a PUBLIC "p" "a.dtd">\n<a/>'
    assert code_of([1], doctype_system="a.dtd") == "SEPM0004"
    assert serialise([document], standalone="no") == '<?xml version="1.0" encoding="UTF-8" standalone="no"?><a/>'
    assert code_of([document], standalone="yes", omit_xml_declaration=True) == "SEPM0009"


def test_cdata_sections_and_character_maps() -> None:
    document = parse("<a><b>x&lt;]]&gt;</b><c>&lt;</c></a>")
    names = frozenset({QName("", "b")})
    assert serialise([document], cdata_section_elements=names) == (
        "<a><b><![CDATA[x<]]]]><![CDATA[>]]></b><c>&lt;</c></a>"
    )
    assert serialise([parse("<a b='$'>$&lt;</a>")], use_character_maps={"$": "<S>"}) == '<a b="<S>"><S>&lt;</a>'


def test_a_narrow_encoding_gets_references() -> None:
    assert serialise([parse("<a b='é'>é€</a>")], encoding="iso-8859-1") == '<a b="é">é&#8364;</a>'
    assert code_of([1], encoding="klingon") == "SESU0007"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (1, "1"), (1.5, "1.5"), (1e100, "1.0E100"), (D("2.50"), "2.5"), (True, "true"),
        ("a\"/\n\x01é", '"a\\"\\/\\n\\u0001é"'),
        (Untyped("u"), '"u"'), (Map([("a", [1]), ("b", [])]), '{"a":1,"b":null}'),
        (Array([[1], [], ["x"]]), '[1,null,"x"]'),
        (parse("<a>x</a>"), '"<a>x<\\/a>"'), (cast("2000-01-01", TYPES["date"]), '"2000-01-01"'),
    ],
)  # fmt: skip
def test_json(item: Any, expected: str) -> None:
    assert serialise([item], method="json") == expected


def test_json_refuses_what_it_cannot_say() -> None:
    assert serialise([], method="json") == "null"
    assert code_of([float("nan")], method="json") == "SERE0020"
    assert code_of([FunctionItem(None, 0, lambda args: [])], method="json") == "SERE0021"
    assert code_of([Map([(1, []), ("1", [])])], method="json") == "SERE0022"
    assert code_of([1, 2], method="json") == "SERE0023"
    twice = serialise([Map([(1, []), ("1", [])])], method="json", allow_duplicate_names=True)
    assert twice == '{"1":null,"1":null}'
    assert serialise([Map([("a", [Array([[1], [2]])])])], method="json", indent=True) == (
        '{\n  "a": [\n    1,\n    2\n  ]\n}'
    )


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([1, "a\"b", True], '1\n"a""b"\ntrue()'), ([1.5], "1.5e0"), ([1e100], "1.0e100"), ([float("inf")], "INF"),
        ([QName("u", "a", "p")], "Q{u}a"), ([Float(1)], 'xs:float("1")'),
        ([cast("2000-01-01", TYPES["date"])], 'xs:date("2000-01-01")'),
        ([Map([("a", [1, 2])])], 'map{"a":(1,2)}'), ([Array([[1], []])], "[1,()]"), ([parse("<a/>")], "<a/>"),
        ([parse("<a b='c'/>").children()[0].attributes()[0]], 'b="c"'),
        ([FunctionItem(QName("http://www.w3.org/2005/xpath-functions", "abs"), 1, lambda a: a[0])], "fn:abs#1"),
    ],
)  # fmt: skip
def test_adaptive(items: list[Any], expected: str) -> None:
    assert serialise(items, method="adaptive") == expected


def test_options_of_a_prolog() -> None:
    chosen = from_options([("indent", "yes"), ("method", "xml"), ("cdata-section-elements", "p:a b")], {"p": "u"})
    assert chosen.indent
    assert chosen.cdata_section_elements == {QName("u", "a"), QName("", "b")}
    for options, code in (([("indent", "maybe")], "SEPM0016"), ([("colour", "red")], "XQST0109")):
        with pytest.raises(XStreamError) as caught:
            from_options(options, {})
        assert caught.value.code == code


NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), min_size=1, max_size=5)


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    from xml.sax.saxutils import escape, quoteattr

    attributes = "".join(f" {n}={quoteattr(draw(TEXTS))}" for n in draw(st.sets(NAMES)))
    children = [] if depth == 0 else draw(st.lists(st.one_of(TEXTS.map(escape), documents(depth - 1)), max_size=3))
    name = draw(NAMES)
    return f"<{name}{attributes}>{''.join(children)}</{name}>"


@given(documents())
def test_any_document_survives_a_round_trip(text: str) -> None:
    from xstreamcast.model.deep_equal import nodes_equal

    document = parse(text)
    assert nodes_equal(parse(serialise([document])), document)
