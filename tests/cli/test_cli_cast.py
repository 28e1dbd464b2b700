"""``xcast structure``, ``fragment`` and ``materialise`` as they are called."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command import xcast

from xstreamcast.model.structure import parse_structure

WIRE = Path(__file__).parents[1] / "fixtures" / "wire"
CREDIT = WIRE / "sigmod04-credit.stream.xml"

SHOP = b"<shop>" + b"".join(
    b"<item id='%d'><name>%s</name><price>%d</price></item>" % (n, b"n" * 300, n) for n in range(30)
) + b"</shop>"  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.xml"
    file.write_bytes(SHOP)
    return file


# -- structure --------------------------------------------------------------------------------------------------------


def test_structure_writes_a_structure_that_can_be_read(shop: Path) -> None:
    ran = xcast("structure", shop)
    assert (ran.code, ran.err) == (0, "")
    structure = parse_structure(ran.out)
    assert {structure.path(tsid): tag.type for tsid, tag in structure.tags.items()} == {
        "/shop": "snapshot", "/shop/item": "filler", "/shop/item/name": "snapshot", "/shop/item/price": "snapshot",
    }  # fmt: skip


def test_structure_takes_several_documents_and_standard_input(shop: Path) -> None:
    ran = xcast("structure", shop, "-", stdin=b"<shop><extra/></shop>")
    assert parse_structure(ran.out).expand("/shop/extra")


def test_structure_takes_which_tags_are_fragments(shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "shop.tags"
    assert xcast("structure", shop, "--fragment", "price:temporal,item:event", "-o", out).code == 0
    types = {tag.name: tag.type for tag in parse_structure(out.read_bytes()).tags.values()}
    assert types == {"shop": "snapshot", "item": "event", "name": "snapshot", "price": "temporal"}


def test_structure_meets_a_misspelled_tag_with_a_suggestion(shop: Path) -> None:
    ran = xcast("structure", shop, "--fragment", "prise")
    assert ran.code == 1
    assert "XSC0042" in ran.err
    assert "did you mean price?" in ran.err


def test_structure_reads_a_document_type(tmp_path: Path) -> None:
    dtd = tmp_path / "shop.dtd"
    dtd.write_text('<!ENTITY % i "item*"><!ELEMENT shop (%i;)><!ELEMENT item (name)><!ELEMENT name (#PCDATA)>')
    assert parse_structure(xcast("structure", dtd).out).expand("/shop/item/name")


@pytest.mark.parametrize("data", [b"", b"<a>", b"\x00\x01\x02"])
def test_structure_refuses_what_is_no_document(data: bytes) -> None:
    ran = xcast("structure", "-", stdin=data)
    assert ran.code == 1
    assert ran.err.startswith("xcast: XSC0001 <stdin>:")


# -- fragment and materialise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["document", "breadth", "shuffle", "priority"])
def test_a_document_comes_back(shop: Path, order: str, tmp_path: Path) -> None:
    stream = tmp_path / "stream.xml"
    assert xcast("fragment", shop, "--order", order, "--seed", 7, "--repeat", 0.5, "-o", stream).code == 0
    ran = xcast("materialise", stream)
    assert (ran.code, ran.out, ran.err) == (0, SHOP + b"\n", "")


def test_a_document_comes_back_through_pipes_and_gz() -> None:
    stream = xcast("fragment", "-", "--order", "shuffle", stdin=gzip.compress(SHOP))
    assert stream.code == 0
    assert stream.out.count(b"<stream:filler") == 31
    assert xcast("materialise", "-", stdin=gzip.compress(stream.out)).out == SHOP + b"\n"


def test_the_same_seed_gives_the_same_stream(shop: Path) -> None:
    def stream(seed: int) -> bytes:
        return xcast("fragment", shop, "--order", "shuffle", "--repeat", 0.3, "--seed", seed).out

    assert stream(1) == stream(1) != stream(2)


def test_fragment_takes_a_structure_from_a_file_in_any_encoding(shop: Path, tmp_path: Path) -> None:
    tags = tmp_path / "tags"
    text = xcast("structure", shop, "--fragment", "price").out.decode()
    tags.write_bytes(('<?xml version="1.0" encoding="utf-16"?>' + text).encode("utf-16"))
    assert xcast("fragment", shop, "--structure", tags).out.count(b"<stream:filler") == 31


@pytest.mark.parametrize("data", [b"", b"<a>", b"<a></b>", b"text"])
def test_fragment_refuses_what_is_no_document_and_names_its_input(data: bytes) -> None:
    ran = xcast("fragment", "-", stdin=data)
    assert ran.code == 1
    assert ran.err.startswith("xcast: XSC0001 <stdin>:")


def test_fragment_refuses_a_truncated_gz(shop: Path, tmp_path: Path) -> None:
    short = gzip.compress(SHOP)[:-20]
    (tmp_path / "short.xml").write_bytes(short)
    ran = xcast("fragment", tmp_path / "short.xml")
    assert ran.code == 1
    assert "XSC0006" in ran.err


def test_fragment_refuses_a_truncated_gz_on_standard_input_the_same_way() -> None:
    ran = xcast("fragment", "-", stdin=gzip.compress(SHOP)[:-20])
    assert ran.code == 1
    assert "XSC0006 <stdin>" in ran.err


def test_fragment_refuses_a_document_of_another_structure(shop: Path, tmp_path: Path) -> None:
    tags = tmp_path / "tags"
    tags.write_text('<structure><tag id="1" name="site"/></structure>')
    ran = xcast("fragment", shop, "--structure", tags)
    assert ran.code == 1
    assert f"XSC0040 {shop}:1:1" in ran.err
    assert "hint:" in ran.err


def test_fragment_refuses_a_structure_that_is_none(shop: Path, tmp_path: Path) -> None:
    tags = tmp_path / "tags"
    tags.write_text('<structure>\n<tag id="x" name="shop"/></structure>')
    ran = xcast("fragment", shop, "--structure", tags)
    assert ran.code == 1
    assert f"XSC0004 {tags}:2:1" in ran.err


def test_fragment_refuses_a_probability_that_is_none(shop: Path) -> None:
    ran = xcast("fragment", shop, "--repeat", 2)
    assert ran.code in (1, 2)
    assert "repeat" in ran.err


def test_materialise_of_nothing_is_the_empty_document() -> None:
    ran = xcast("materialise", "-", stdin=b"")
    assert (ran.code, ran.out) == (0, b"\n")


def test_materialise_tells_what_is_odd_on_stderr_and_goes_on() -> None:
    stream = (
        b'<filler id="0"><a><hole id="1"/><hole id="2"/></a></filler>'
        b'<filler id="1"><b></filler><filler id="9">x</filler>junk'
    )
    ran = xcast("materialise", "-", stdin=stream)
    assert (ran.code, ran.out) == (0, b"<a></a>\n")
    for code in ("XSC0001", "XSC0030", "XSC0032"):
        assert code in ran.err
    assert "<stdin>@" in ran.err


def test_materialise_prints_twenty_of_a_kind_and_counts_the_rest() -> None:
    stream = b'<filler id="0"><a/></filler>' + b"".join(b'<filler id="%d">x</filler>' % n for n in range(1, 51))
    ran = xcast("materialise", "-", stdin=stream)
    assert ran.err.count("XSC0032 <stdin>@") == 20
    assert "XSC0032: 30 more" in ran.err


def test_materialise_writes_the_temporal_view() -> None:
    expected = (WIRE / "sigmod04-credit.document.xml").read_bytes()
    assert xcast("materialise", CREDIT).out == expected
    assert xcast("materialise", CREDIT, "--temporal").out == expected


def test_materialise_leaves_lifespans_out_when_told() -> None:
    ran = xcast("materialise", CREDIT, "--no-lifespans")
    assert b"vtFrom" not in ran.out
    assert ran.out.count(b"<creditLimit>") == 2


def test_materialise_at_a_time_shows_what_is_alive_then() -> None:
    out = xcast("materialise", CREDIT, "--at", "2000-01-01").out
    assert b">2000<" in out
    assert b">5000<" not in out
    assert b"<transaction" not in out
    assert b"<transaction" in xcast("materialise", CREDIT, "--at", "2003-10-23T12:23:34").out


def test_materialise_at_now_shows_what_is_alive_now() -> None:
    out = xcast("materialise", CREDIT, "--at", "now").out
    assert b">5000<" in out
    assert b">2000<" not in out


def test_materialise_as_known_at_a_time_shows_the_history_until_then() -> None:
    out = xcast("materialise", CREDIT, "--temporal", "--at", "2003-09-30").out
    assert out.count(b"<creditLimit") == 2
    assert out.count(b"<transaction") == 1
    assert b"suspended" not in out


def test_materialise_refuses_a_time_that_is_none() -> None:
    ran = xcast("materialise", CREDIT, "--at", "yesterday")
    assert ran.code in (1, 2)
    assert "yesterday" in ran.err
    assert ran.out == b""


def test_materialise_takes_a_structure_the_stream_does_not_bring(tmp_path: Path) -> None:
    tags = tmp_path / "tags"
    tags.write_text('<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></structure>')
    stream = b'<filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler><filler id="1" tsid="2"><b/></filler>'
    assert xcast("materialise", "-", "--structure", tags, stdin=stream).out == b"<a><b/></a>\n"
    without = xcast("materialise", "-", stdin=stream)
    assert without.out == b"\n"
    assert "--structure" in without.err


def test_materialise_asks_which_document_is_meant() -> None:
    stream = b'<filler id="0" doc="x"><a/></filler><filler id="0" doc="y"><b/></filler>'
    ran = xcast("materialise", "-", stdin=stream)
    assert ran.code == 1
    assert "x, y" in ran.err
    assert xcast("materialise", "-", "--doc", "y", stdin=stream).out == b"<b/>\n"
    assert xcast("materialise", "-", "--doc", "z", stdin=stream).code == 1


def test_materialise_refuses_a_truncated_gz_and_writes_no_file(tmp_path: Path) -> None:
    stream = xcast("fragment", "-", stdin=SHOP).out
    ran = xcast("materialise", "-", "-o", tmp_path / "out.xml", stdin=gzip.compress(stream)[:-20])
    assert ran.code == 1
    assert "XSC0006 <stdin>" in ran.err
    assert list(tmp_path.iterdir()) == []
