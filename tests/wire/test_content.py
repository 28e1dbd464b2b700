"""Content is cut at its holes and put together again, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import Place, XStreamError
from xstreamcast.model.structure import parse_structure
from xstreamcast.wire.content import Content, Hole, Mutable, TopTag, parse_content, write_content

checked = settings(max_examples=100, derandomize=True, deadline=None)

STREAM = 'xmlns:stream="urn:xstreamcast:stream"'


def holes(content: Content) -> list[tuple[int, int | None]]:
    return [(hole.region, hole.tsid) for hole in content.holes]


def raw(content: Content) -> bytes:
    """The literal bytes and top tags, without what holes leave out."""
    return b"".join(
        piece if isinstance(piece, bytes) else piece.head + piece.tail if isinstance(piece, TopTag) else b""
        for piece in content.pieces
    )


def test_content_is_cut_at_its_holes_in_document_order() -> None:
    content = parse_content(
        b'a<stream:hole id="1"/><b>c<stream:hole id="2" tsid="9"/></b><stream:hole id="3"></stream:hole>'
    )
    assert holes(content) == [(1, None), (2, 9), (3, None)]
    assert raw(content) == b"a<b>c</b>"


def test_a_filler_may_hold_text_or_a_forest_or_nothing() -> None:
    """DBPL'03 §2.2: x ::= … | PCDATA | x x."""
    assert raw(parse_content(b"just text &amp; more")) == b"just text &amp; more"
    forest = parse_content(b"<a/>t<b/><!--c--><?p?>")
    assert [piece.head for piece in forest.pieces if isinstance(piece, TopTag)] == [b"<a", b"<b"]
    assert parse_content(b"").pieces == ()


def test_the_namespaces_around_a_hole_are_known() -> None:
    content = parse_content(
        b'<a xmlns="urn:d" xmlns:p="urn:p"><b xmlns=""><stream:hole id="1"/></b><stream:hole id="2"/></a>'
    )
    inner, outer = content.holes
    assert inner.scope == {"": "", "p": "urn:p"}
    assert outer.scope == {"": "urn:d", "p": "urn:p"}
    assert parse_content(b'<stream:hole id="1"/>').holes[0].scope is None


def test_the_streams_prefix_is_bound_without_being_declared_and_may_be_declared() -> None:
    content = parse_content(f'<a {STREAM}><stream:hole id="1"/></a>'.encode())
    assert holes(content) == [(1, None)]
    assert raw(content) == b"<a></a>"


def test_the_streams_namespace_counts_not_its_prefix() -> None:
    content = parse_content(
        b'<a xmlns:stream="urn:other" xmlns:s="urn:xstreamcast:stream"><stream:hole id="1"/><s:hole id="2"/></a>'
    )
    assert holes(content) == [(2, None)]
    assert b'<stream:hole id="1"/>' in raw(content)


def test_what_only_looks_like_a_hole_is_none() -> None:
    content = parse_content(
        b'<a t="&lt;stream:hole id=\'1\'/>"><!--<stream:hole id="1"/>--><![CDATA[<stream:hole id="1"/>]]></a>'
    )
    assert holes(content) == []


def test_a_bare_hole_is_one_only_in_the_bare_form() -> None:
    data = b'<a><hole id="1" tsid="2"/><hole>deep</hole></a>'
    assert holes(parse_content(data, bare=True)) == [(1, 2)]
    assert holes(parse_content(data)) == []


def test_a_mutable_region_is_a_hole_with_its_first_filling_in_place() -> None:
    content = parse_content(b'<a>x<stream:mutable id="1">y<b/><stream:mutable id="2"/></stream:mutable>z</a>')
    (mutable,) = content.holes
    assert isinstance(mutable, Mutable)
    assert raw(mutable.content) == b"y<b/>"
    assert holes(mutable.content) == [(2, None)]
    assert raw(content) == b"<a>xz</a>"


def test_an_update_interleaved_with_the_content_is_lifted_out_of_it() -> None:
    """ICDE'08 §III: update sequences can be interleaved with the stream events."""
    content = parse_content(
        b'<a>x<stream:replace target="1" id="2">y<b>z</b></stream:replace>w<stream:hide id="3"/></a>'
    )
    assert raw(content) == b"<a>xw</a>"
    assert [(update.kind, update.content) for update in content.updates] == [("replace", b"y<b>z</b>"), ("hide", b"")]


def test_a_tag_declared_as_a_fragment_that_comes_inline_is_noted() -> None:
    structure = parse_structure(
        '<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"><tag id="3" name="c" type="event"/></tag>'
        '<tag id="4" name="d"/></tag></structure>'
    )
    assert parse_content(b"<a><b><c/></b><d/><b/></a>", structure=structure, tsid=1).inline == (2, 3)
    assert parse_content(b"<b><x><c/></x></b>", structure=structure, tsid=2).inline == ()


def test_two_thousand_levels_of_content_are_cut_like_two() -> None:
    deep = b"<a>" * 2000 + b'<stream:hole id="1"/>' + b"</a>" * 2000
    content = parse_content(deep)
    assert holes(content) == [(1, None)]
    assert raw(content) == deep.replace(b'<stream:hole id="1"/>', b"")


@pytest.mark.parametrize(
    ("data", "code", "at"),
    [
        (b"<a><b></a>", "XSC0001", b"a>"),  # expat points at the name
        (b"<a>&nbsp;</a>", "XSC0001", b"&nbsp;"),
        (b"<p:a/>", "XSC0001", b"<p:a/>"),
        (b"<a>\xff</a>", "XSC0001", b"\xff"),
        (b"<a/></w><w>", "XSC0001", b"<w>"),
        (b'<a><stream:hole id="x"/></a>', "XSC0003", b"<stream:hole"),
        (b'<a><stream:hole tsid="1"/></a>', "XSC0003", b"<stream:hole"),
        (b'<a><stream:hole id="-1"/></a>', "XSC0003", b"<stream:hole"),
        (b'<a><stream:hole id="1">t</stream:hole></a>', "XSC0003", b"<stream:hole"),
        (b"<a><stream:nonsense/></a>", "XSC0003", b"<stream:nonsense"),
        (b'<a><stream:filler id="1"/></a>', "XSC0003", b"<stream:filler"),
    ],
)
def test_a_fault_in_content_is_placed_at_its_byte(data: bytes, code: str, at: bytes) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_content(data, place=Place("s", offset=1000))
    place = caught.value.place
    assert caught.value.code == code
    assert place is not None
    assert place.offset is not None
    assert data[place.offset - 1000 :].startswith(at)


@pytest.mark.parametrize(
    "data", [b"<a", b"<a>", b"</a>", b"<!--", b"<![CDATA[", b'<a b="', b"<!DOCTYPE a><a/>", b"a]]>b", b"&#0;"]
)
def test_content_that_is_torn_is_refused(data: bytes) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_content(data)
    assert caught.value.code == "XSC0001"


# -- writing ----------------------------------------------------------------------------------------------------------

literals = st.sampled_from(
    [
        "t",
        " ",
        "é",
        "&amp;",
        "&#13;",
        "<!--c-->",
        "<?p d?>",
        "<![CDATA[<]]>",
        '<stream:hole id="5" tsid="6"/>',
        '<e x="a&gt;b"/>',
    ]
)
contents = st.recursive(
    st.lists(literals, max_size=4).map("".join),
    lambda inner: st.lists(
        st.builds("<a>{}</a>".format, inner)
        | st.builds('<b y="1">{}</b>'.format, inner)
        | st.builds('<stream:mutable id="3">{}</stream:mutable>'.format, inner),
        max_size=3,
    ).map("".join),
    max_leaves=6,
)


@checked
@given(contents)
def test_content_without_declarations_is_written_as_it_was_read(text: str) -> None:
    data = text.encode().replace(b'<stream:mutable id="3"/>', b'<stream:mutable id="3"></stream:mutable>')
    assert write_content(parse_content(data), {}) == data


def test_the_namespaces_around_content_are_written_on_its_top_elements() -> None:
    around = {"": "urn:d", "p": "urn:p"}
    content = parse_content(b'<p:a/>t<b xmlns=""/>', around=around)
    again = parse_content(write_content(content, around))
    assert [piece.declared for piece in again.pieces if isinstance(piece, TopTag)] == [around, {"": "", "p": "urn:p"}]


def test_holes_are_written_under_the_streams_own_prefix() -> None:
    content = parse_content(b'<a><hole id="1" tsid="2"/></a>', bare=True)
    assert write_content(content, {}) == b'<a><stream:hole id="1" tsid="2"/></a>'
    assert isinstance(content.holes[0], Hole)


def test_a_hole_written_where_its_prefix_means_something_else_is_still_a_hole() -> None:
    data = b'<a xmlns:stream="urn:other" stream:x="1"><s:hole xmlns:s="urn:xstreamcast:stream" id="2"/></a>'
    assert holes(parse_content(write_content(parse_content(data), {}))) == [(2, None)]
