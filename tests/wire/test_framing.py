"""Where one fragment ends and the next begins: whatever hides in it, and however its bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.wire.framing import Broken, Frame, Framer

checked = settings(max_examples=100, derandomize=True, deadline=None)


def pieces(data: bytes, size: int | None = None, limit: int = 1 << 28) -> list[Frame | Broken]:
    size = size or len(data) or 1
    return list(Framer((data[at : at + size] for at in range(0, len(data), size)), limit=limit))


def frames(data: bytes) -> list[tuple[str, bytes]]:
    return [(piece.local, piece.content) for piece in pieces(data) if isinstance(piece, Frame)]


def broken(data: bytes, limit: int = 1 << 28) -> list[tuple[int, str]]:
    return [(piece.offset, piece.reason) for piece in pieces(data, limit=limit) if isinstance(piece, Broken)]


def test_a_stream_may_come_with_or_without_a_root_element() -> None:
    two = b'<stream:filler id="1">a</stream:filler> <stream:filler id="2">b</stream:filler>'
    rooted = b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">\n' + two + b"\n</stream:fragments>\n"
    assert frames(two) == frames(rooted) == [("filler", b"a"), ("filler", b"b")]
    assert broken(two) == broken(rooted) == []


def test_comments_and_instructions_between_fragments_are_passed_over() -> None:
    data = b'<?xml-stylesheet x?><!-- <filler id="9">no</filler> --><filler id="1">a</filler><!DOCTYPE x><eos/>'
    assert frames(data) == [("filler", b"a"), ("eos", b"")]
    assert broken(data) == []


@pytest.mark.parametrize(
    "content",
    [
        b"<!--</stream:filler>-->",
        b"<![CDATA[</stream:filler>]]>",
        b"<?p </stream:filler>?>",
        b'<!--<stream:filler id="2" tsid="3">-->',
        b'<![CDATA[<stream:filler id="2" tsid="3">]]>',
        b"<a b='>' c=\"/>\"/>",
        b"<stream:fillers/>",
        b"<filler id='4' tsid='5'>data in a prefixed stream</filler>",
        b"</stream:fillers >",
        b"x</ stream:filler>",
    ],
)
def test_only_its_own_end_tag_ends_a_fragment(content: bytes) -> None:
    data = b'<stream:filler id="1">' + content + b'</stream:filler ><stream:filler id="2"/>'
    assert frames(data) == [("filler", content), ("filler", b"")]


def test_a_fragment_knows_its_extent() -> None:
    data = b'  <filler id="1">abc</filler>'
    (frame,) = pieces(data)
    assert isinstance(frame, Frame)
    assert (frame.offset, frame.end, frame.content_offset) == (2, len(data), data.index(b"abc"))


def test_attributes_are_read_with_their_references_resolved() -> None:
    (frame,) = pieces(b"""<filler id='1' doc="a&amp;b&lt;c&quot;d&#65;&#x42;"/>""")
    assert isinstance(frame, Frame)
    assert frame.attributes == {"id": "1", "doc": 'a&b<c"dAB'}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'junk<filler id="1">a</filler>', [(0, "text between fragments")]),
        (b'<filler id="1">a</filler>\n junk', [(27, "text between fragments")]),
        (b'<![CDATA[junk]]><filler id="1">a</filler>', [(0, "text between fragments")]),
        (b'</filler><filler id="1">a</filler>', [(0, "an end tag </filler> that nothing opened")]),
        (b'<filler id="0" <filler id="1">a</filler>', [(0, "not a tag")]),
        (b'<filler id=0><filler id="1">a</filler>', [(0, "not a tag")]),
        (b'<filler id="0" tsid="1">torn <filler id="1" tsid="2">a</filler>', [(0, "it is not closed")]),
        (b'<filler id="1">a</filler><filler id="2">b', [(25, "it is not closed")]),
        (b'<filler id="1">a</filler><filler id="2', [(25, "not a tag")]),
        (b'<filler id="1">a</filler><filler id="2">b</fill', [(25, "it is not closed")]),
        (b'<filler id="1">a</filler><', [(25, "not a tag")]),
    ],
)
def test_what_is_broken_is_told_with_its_place_and_takes_nothing_else_with_it(
    data: bytes, found: list[tuple[int, str]]
) -> None:
    assert frames(data) == [("filler", b"a")]
    assert [at for at, _ in broken(data)] == [at for at, _ in found]


def test_a_filler_inside_a_filler_ends_it() -> None:
    data = (
        b'<stream:filler id="1">a<stream:filler id="2">b</stream:filler>'
        b'</stream:filler><stream:filler id="3">c</stream:filler>'
    )
    assert frames(data) == [("filler", b"b"), ("filler", b"c")]
    assert len(broken(data)) == 2


@pytest.mark.parametrize(
    "following",
    [b'<stream:structure><tag id="1" name="a"/></stream:structure>', b"<stream:eos/>"],
)
def test_a_fragment_that_is_not_closed_does_not_take_a_structure_or_the_end_with_it(following: bytes) -> None:
    data = b'<stream:filler id="1">a' + following + b'<stream:filler id="2">b</stream:filler>'
    assert [local for local, _ in frames(data)] == [following[8:].split(b">")[0].strip(b"/").decode(), "filler"]


def test_a_structure_that_is_not_closed_does_not_take_the_fragments_with_it() -> None:
    data = (
        b'<stream:structure><tag id="1" name="a"><stream:filler id="1">a</stream:filler>'
        b'<stream:filler id="2">b</stream:filler>'
    )
    assert frames(data) == [("filler", b"a"), ("filler", b"b")]
    assert [at for at, _ in broken(data)] == [0]


def test_a_fragment_whose_comment_is_not_closed_does_not_take_the_rest_with_it() -> None:
    data = b'<stream:filler id="1">a<!-- </stream:filler><stream:filler id="2">b</stream:filler>'
    assert frames(data) == [("filler", b"b")]
    assert [at for at, _ in broken(data)] == [0]


def test_an_interleaved_update_does_not_end_the_fragment_it_stands_in() -> None:
    data = b'<stream:filler id="1">a<stream:replace target="2" id="3">b</stream:replace>c</stream:filler>'
    assert len(pieces(data)) == 1
    assert broken(data) == []


def test_an_attribute_whose_name_is_not_utf8_is_told_not_raised() -> None:
    data = b'<filler i\xffd="1">a</filler><filler id="2">b</filler>'
    assert frames(data)[-1] == ("filler", b"b")


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_fragment_over_the_limit_is_broken_however_its_bytes_come(size: int) -> None:
    large = b'<stream:filler id="1">' + b"x" * 500 + b"</stream:filler>"
    data = large + b'<stream:filler id="2">b</stream:filler>'
    found = pieces(data, size, limit=200)
    assert [piece.content for piece in found if isinstance(piece, Frame)] == [b"b"]
    assert isinstance(found[0], Broken)
    assert found[0].offset == 0
    assert "larger than 200 bytes" in found[0].reason


# -- chunks -----------------------------------------------------------------------------------------------------------

ELEMENTS = [
    b'<stream:filler id="1">text</stream:filler>',
    b'<stream:filler id="2" tsid="3"><a b="&gt;>">t</a><!-- </stream:filler> --></stream:filler>',
    b'<stream:filler id="2"><![CDATA[</stream:filler><stream:filler id="3">]]>]]&gt;</stream:filler\n>',
    b'<stream:replace target="1" id="4">\xc3\xa9</stream:replace>',
    b"<stream:eos/>",
    b'<stream:remove id="7"/>',
    b"<!-- between -->",
    b"<?pi between?>",
    b" \n ",
    b"text between",
    b'<stream:filler id="1">unclosed',
    b'<stream:filler id="1" torn',
    b"</stream:filler>",
    b"<!--",
    b"&amp;",
    b'<stream:structure><tag id="1" name="a"/></stream:structure>',
    b"<a><a/></a>",
    b'<filler id="1" tsid="1">bare</filler>',
    b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">',
    b"</stream:fragments>",
]


@checked
@given(st.lists(st.sampled_from(ELEMENTS), max_size=8).map(b"".join), st.integers(1, 40))
def test_the_pieces_are_the_same_for_every_chunk_size(data: bytes, size: int) -> None:
    assert pieces(data, size) == pieces(data)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_stray_bracket_is_the_same_fault_for_every_chunk_size(size: int) -> None:
    data = b'<&amp;<stream:filler id="1">text</stream:filler>'
    assert pieces(data, size) == pieces(data)
    assert frames(data) == [("filler", b"text")]


@checked
@given(st.lists(st.sampled_from([element for element in ELEMENTS if element != b"<!--"]), max_size=8).map(b"".join))
def test_every_byte_that_is_not_white_space_or_a_comment_is_in_a_piece(data: bytes) -> None:
    """Nothing is dropped silently: between the pieces lie only white space, comments, instructions and the wrapper."""
    at = 0
    between = b""
    for piece in pieces(data):
        assert piece.offset >= at
        between += data[at : piece.offset]
        at = piece.end
    between += data[at:]
    for passed in (b"<!-- between -->", b"<?pi between?>", ELEMENTS[-2], ELEMENTS[-1]):
        between = between.replace(passed, b"")
    assert not between.strip()


def test_a_start_tag_of_more_than_a_megabyte_is_the_same_for_every_chunk_size() -> None:
    data = b'<filler id="1" doc="' + b"x" * 1_200_000 + b'">a</filler><filler id="2">b</filler>'
    assert pieces(data, 1 << 18) == pieces(data)
