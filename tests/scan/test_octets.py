"""Nodes of scanned trees are written many at a time, just as they would be one by one."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.serialise import Output, Parameters, serialise
from xstreamcast.model.tree import Node
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.parse import parse
from xstreamcast.scan.path import parse_path

TIMES = 40


def scanned(document: bytes) -> Iterator[Node]:
    """The document nodes of the batches of a document."""
    for batch in document_batches(document, [Target(parse_path("/*"), Action.PROJECT)], step=1 << 20):
        yield batch.tree.root


def below(document: bytes) -> list[Node]:
    """The children of the root element."""
    return [node for root in scanned(document) for top in root.children() for node in top.children()]


def one_by_one(nodes: list[Node]) -> list[str]:
    return [serialise([node]) for node in nodes]


CONTENT = [
    "<b/>",
    "<b></b>",
    "<b>text</b>",
    "<b >  text </b >",
    "<b><c/><c>1</c><c><d/></c></b>",
    "<b x='1' y=\"2\"/>",
    "<b x='&lt;&amp;&gt;&quot;&apos;'>&lt;&amp;&gt;&quot;&apos;</b>",
    "<b x='a\tb\nc&#9;d&#10;e&#13;f'>a\tb\nc&#9;d&#10;e&#13;f</b>",
    "<b x='a > b'>a > b ]] </b>",
    "<b x='é&#x7F;&#x80;&#x9F;&#xA0;&#x2028;&#x2027;€😀'>é&#x7F;&#x80;&#x9F;&#xA0;&#x2028;&#x2027;€😀</b>",
    "<b><![CDATA[<&>]]> and <![CDATA[]]></b>",
    "<b>\r\n one \r two</b>",
    "<b xml:lang='en' xml:space='preserve'> </b>",
    "<!-- a < b & c -->",
    "<?go?>",
    "<?go  on <&> ?>",
    "<b><!--x--><?y z?></b>",
    "text &amp; more",
    "<été à='ü'>ö</été>",
    "<b>" + "long " * 50 + "&lt;" + " long" * 50 + "</b>",
]


@pytest.mark.parametrize("content", CONTENT)
def test_many_nodes_are_written_as_each_alone(content: str) -> None:
    nodes = below(f"<s>{content * TIMES}</s>".encode())
    whole = serialise(nodes)
    assert whole == "".join(one_by_one(nodes))
    (parsed,) = parse(f"<s>{content * TIMES}</s>").children()
    assert whole == "".join(child.xml() for child in parsed.children())
    tree = nodes[0].tree
    assert tree.octets is not None
    assert tree.octets.markup(tree, [node.row for node in nodes]) == whole


@pytest.mark.parametrize("content", CONTENT)
def test_with_separators_and_in_lines_too(content: str) -> None:
    nodes = below(f"<s>{content * TIMES}</s>".encode())
    assert serialise(nodes, item_separator=" < ") == " &lt; ".join(one_by_one(nodes))
    lines: list[str] = []
    Output(Parameters(), lines.append, lines=True).extend(nodes)
    assert "".join(lines) == "".join(text + "\n" for text in one_by_one(nodes))


MARKUP = st.recursive(
    st.one_of(
        st.text("ab <&>'\"\t\n\r\x7f\x85\u2028é€😀", max_size=6).map(
            lambda text: "".join(f"&#{ord(c)};" if c in "<&\r" else c for c in text)
        ),
        st.sampled_from(["<!--c-->", "<?p i?>", "<![CDATA[<]]>", "<e/>", "<e f='&quot;'></e>"]),
    ),
    lambda inner: st.tuples(st.sampled_from(["a", "bb", "c-c"]), st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]} n='{len(pair[1])}'>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=12,
)


@given(st.lists(MARKUP, min_size=1, max_size=6))
@settings(deadline=None, max_examples=24 * MORE)
def test_whatever_the_content(parts: list[str]) -> None:
    nodes = below(f"<s>{''.join(parts) * 12}</s>".encode())
    assert serialise(nodes) == "".join(one_by_one(nodes))


def test_nested_and_repeated_nodes_are_each_written_whole() -> None:
    (root,) = scanned(b"<s>" + b"<a><b>1</b></a>" * TIMES + b"</s>")
    tree = root.tree
    nodes = [Node((tree, row)) for row in range(1, len(tree))] * 2
    assert serialise(nodes) == "".join(one_by_one(nodes))


def test_names_in_namespaces_keep_their_declarations() -> None:
    nodes = below(b"<s xmlns:p='urn:p' xmlns='urn:d'>" + b"<p:a p:x='1'><b/></p:a>" * TIMES + b"</s>")
    expected = '<p:a xmlns="urn:d" xmlns:p="urn:p" p:x="1"><b/></p:a>'
    assert serialise(nodes) == expected * TIMES


def test_atomic_values_between_nodes_are_no_neighbours() -> None:
    nodes = below(b"<s>" + b"<b>1</b>" * TIMES + b"</s>")
    assert serialise([1, 2, *nodes, 3, *nodes[:1], 4, 5]) == f"1 2{'<b>1</b>' * TIMES}3<b>1</b>4 5"
    assert serialise([1, *nodes], item_separator="|") == "1" + "|<b>1</b>" * TIMES


@pytest.mark.parametrize(
    "chosen",
    [{"indent": True}, {"encoding": "us-ascii"}, {"normalization_form": "NFD"}, {"use_character_maps": {"é": "E"}}],
)
def test_other_parameters_hold(chosen: dict[str, Any]) -> None:
    nodes = below(b"<s>" + "<b><c>é</c></b>".encode() * TIMES + b"</s>")
    one = serialise(nodes[:1], **chosen)
    assert one != "<b><c>é</c></b>"
    assert serialise(nodes, **chosen) == ("\n" if chosen.get("indent") else "").join([one] * TIMES)


def test_an_attribute_among_nodes_is_an_error_after_what_is_before_it() -> None:
    (root,) = scanned(b"<s>" + b"<b n='1'/>" * TIMES + b"</s>")
    elements = root.children()[0].children()
    written: list[str] = []
    with pytest.raises(XStreamError, match="SENR0001"):
        Output(Parameters(), written.append).extend([*elements, elements[0].attributes()[0], *elements])
    assert "".join(written) == '<b n="1"/>' * TIMES


def test_what_is_held_back_comes_with_a_flush_and_before_an_error() -> None:
    nodes = below(b"<s>" + b"<b/>" * TIMES + b"</s>")
    written: list[str] = []
    output = Output(Parameters(), written.append)

    def items() -> Iterator[Node]:
        yield from nodes
        assert written == []
        output.flush()
        assert "".join(written) == "<b/>" * TIMES
        yield from nodes
        raise XStreamError("XSC0001", "no more")

    with pytest.raises(XStreamError, match="no more"):
        output.extend(items())
    assert "".join(written) == "<b/>" * TIMES * 2


def test_values_are_strings_when_somebody_asks() -> None:
    (root,) = scanned("<s><b n='é'>1 &lt; 2</b><c/><d>x<e/>y</d></s>".encode())
    values = root.tree.value
    assert values == [None, None, "1 < 2", "é", "1 < 2", "", None, "x", "", "y"]
    assert root.tree.value is values
    with pytest.raises(AttributeError):
        operator.attrgetter("valu")(root.tree)


@given(st.lists(MARKUP, min_size=1, max_size=6))
@settings(deadline=None, max_examples=24 * MORE)
def test_some_values_are_those_of_the_column(parts: list[str]) -> None:
    document = f"<a>{''.join(parts)}</a>".encode()
    for asked, whole in zip(scanned(document), scanned(document), strict=True):
        rows = list(range(len(asked.tree)))
        assert [*asked.tree.values_at(rows)] == whole.tree.value
        assert [*asked.tree.values_at(rows[::2])] == whole.tree.value[::2]


def test_the_column_is_not_made_for_a_few_values() -> None:
    (root,) = scanned(b"<a><b>1</b><b x='2'/><b>3<c/></b></a>")
    assert [*root.tree.values_at([2, 4, 5])] == ["1", "", "2"]
    with pytest.raises(AttributeError):
        vars(type(root.tree))["value"].__get__(root.tree)
