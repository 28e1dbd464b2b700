"""Constructed elements: those whose form is known beforehand, and the namespaces of nested ones."""

from __future__ import annotations

from typing import Any

import pytest

from xstreamcast.model.atomic import QName
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Node
from xstreamcast.run.query import query

DOC = "<r><p n='1'>one</p><p/><p n='&lt;3'>a<b>x</b>c</p></r>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a/>", "<a/>"),
        ("<a>{ () }</a>", "<a/>"),
        ("for $p in //p return <a>{ $p/text() }</a>", "<a>one</a><a/><a>ac</a>"),
        ("for $p in //p return <a n='{ $p/@n }'>{ $p/text() }</a>", '<a n="1">one</a><a n=""/><a n="&lt;3">ac</a>'),
        ("<a>{ //p/text() }-{ count(//p) }{ 1 + 1 }</a>", "<a>oneac-32</a>"),
        ("<a>{ string(//p[1]) }{ '' }</a>", "<a>one</a>"),
        ("<a>{ data(//@n) }</a>", "<a>1 &lt;3</a>"),
        ("for $p in //p return <a><b>{ $p/text() }</b>t<c d='{ $p/@n }x'/></a>",
         '<a><b>one</b>t<c d="1x"/></a><a><b/>t<c d="x"/></a><a><b>ac</b>t<c d="&lt;3x"/></a>'),
        ("<o>{ for $p in //p return <a>{ $p/text() }</a>, 'x' }</o>", "<o><a>one</a><a/><a>ac</a>x</o>"),
        ("<o xmlns='urn:o'>{ <a xmlns=''>{ 1 }</a> }</o>", '<o xmlns="urn:o"><a xmlns="">1</a></o>'),
        ("<o xmlns:q='urn:q'><a>{ 1 }</a><a b='{ 2 }'/></o>", '<o xmlns:q="urn:q"><a>1</a><a b="2"/></o>'),
        ("element Q{urn:o}o { <a>{ 1 }</a>, <a/> }", '<o xmlns="urn:o"><a xmlns="">1</a><a xmlns=""/></o>'),
        ("<o>{ attribute k { 1 }, <a>{ 1 }</a>, <a>{ 2 }</a> }</o>", '<o k="1"><a>1</a><a>2</a></o>'),
    ],
)  # fmt: skip
def test_an_element_of_a_known_form(text: str, expected: str) -> None:
    assert query(text, context=DOC).serialise() == expected


def test_elements_of_one_form_are_apart() -> None:
    """They share columns, and nothing else: identity, order, parents, text are each one's own."""
    text = """let $made := for $n in 1 to 3 return <a n="{ $n }"><b>{ $n }</b></a>
              return (count($made | $made), $made/b/string(), $made[1] is $made[2], $made[2] << $made[3],
                      $made/b/../@n/string(), count($made/root()), deep-equal($made[1], $made[2]))"""
    assert query(text).to_list() == [3, "1", "2", "3", False, True, "1", "2", "3", 3, False]


def test_what_is_copied_of_a_known_form_can_be_asked_again() -> None:
    text = "let $o := <o>{ for $t in ('t', '') return <a>{ string($t) }</a> }</o> return $o/a/(string() || '.')"
    assert query(text).to_list() == ["t.", "."]


def test_a_nested_element_has_declared_namespaces_in_scope_but_not_those_of_names_around_it() -> None:
    """XQuery 3.1 §3.9.4. What is in braces is copied, and inherits."""
    text = """declare namespace a = "urn:a"; declare namespace b = "urn:b";
              <e xmlns:d="urn:d" a:x="1"><n/>{ <c/> }<a:m><b:k/></a:m></e>/descendant::*/
              (local-name() || ":" || string-join(sort(in-scope-prefixes(.)), " "))"""
    assert query(text).to_list() == ["n:d xml", "c:a d xml", "m:a d xml", "k:b d xml"]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"indent": True},
        {"encoding": "us-ascii"},
        {"cdata_section_elements": (QName("", "b"),)},
        {"method": "xhtml"},
    ],
    ids=str,
)
@pytest.mark.parametrize("texts", [("1", "2", "3"), ("<&>", "50 %", "é]]>"), ("", "x", ""), ("a\nb", "\r", "%s")])
def test_an_element_with_many_parts_of_a_known_form_is_written_as_any(
    texts: tuple[str, ...], parameters: dict[str, Any]
) -> None:
    inside = "<a>{string($t[1])}</a><b>{string($t[2])}</b><c><d>{string($t[3])}</d><e>x</e></c>"
    text = f"<all>{{ for $n in 1 to 3 return (<row n='{{$n}}'>{inside}</row>, <row>{inside}</row>) }}</all>"
    (element,) = query(text, variables={"t": list(texts)}).items()
    assert isinstance(element, Node)
    assert element.tree.forms, "the tree knows the forms of its parts"
    builder = TreeBuilder()
    builder.copy(element)
    copy = builder.finish()
    assert not copy.forms, "a copy does not"
    assert serialise([element], **parameters) == serialise([copy.root], **parameters)
