"""From any file to plain XML: encodings, byte order marks, compression, document types; and what is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.scan import normalise
from xstreamcast.scan.encoding import plain_chunks, plain_xml, source_name

checked = settings(max_examples=60, derandomize=True, deadline=None)


def plain(data: bytes, size: int | None = None) -> bytes:
    step = size or len(data) or 1
    return b"".join(plain_chunks((data[at : at + step] for at in range(0, len(data), step)), "f.xml"))


def refused(data: bytes) -> XStreamError:
    with pytest.raises(XStreamError) as caught:
        plain(data)
    return caught.value


TEXT = "<a x='ü'>é€ß</a>"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32"),
        b"\x00\x00\xfe\xff" + TEXT.encode("utf-32-be"),
        TEXT.encode("utf-32-le"),
    ],
    ids=[
        "utf-8",
        "utf-8 bom",
        "utf-16le bom",
        "utf-16be bom",
        "utf-16le",
        "utf-16be",
        "utf-32le bom",
        "utf-32be bom",
        "utf-32le",
    ],
)
def test_unicode_is_known_by_its_mark_or_by_its_first_bytes(data: bytes) -> None:
    assert plain(data) == TEXT.encode()


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("utf-8", "utf-8"),
        ("ISO-8859-15", "iso8859-15"),
        ("windows-1252", "cp1252"),
        ("Windows-1252", "cp1252"),
        ("UTF-16", "utf-16"),
        ("cp858", "cp858"),
    ],
)
def test_a_declared_encoding_is_believed_and_the_declaration_blanked(declared: str, codec: str) -> None:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>'
    out = plain((declaration + TEXT).encode(codec))
    assert out.lstrip() == TEXT.encode()
    assert len(out) == len(declaration) + len(TEXT.encode()), "byte positions survive"


def test_line_breaks_inside_the_declaration_survive_so_that_line_numbers_do() -> None:
    assert plain(b'<?xml version="1.0"\n encoding="utf-8"\r\n?>\n<a/>').count(b"\n") == 3


def test_a_mark_outranks_the_declaration() -> None:
    assert (
        plain(b"\xef\xbb\xbf<?xml version='1.0' encoding='ISO-8859-1'?><a>\xc3\xa9</a>").lstrip() == "<a>é</a>".encode()
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "unknown encoding 'klingon'"),
        (b'<?xml version="1.0" encoding="hex"?><a/>', "unknown encoding 'hex'"),
        (b'<?xml version="1.0" encoding="utf-16"?><a/>', "declared as utf-16 but it is not"),
        (b'<?xml version="1.0" encoding="ascii-7"?><a/>', "unknown encoding"),
        (b'<?xml version="1.0" encoding="windows-1252"?><a>\x81</a>', "not windows-1252"),
        ("<a>é".encode("utf-16")[:-1], "ends inside a character"),
        (b"\xff\xfe<\x00a\x00>\x00\x00\xdc", "not utf-16-le"),
    ],
)
def test_bytes_in_no_known_encoding_are_refused_with_place_and_hint(data: bytes, says: str) -> None:
    fault = refused(data)
    assert fault.code == "XSC0001"
    assert says in fault.message
    assert fault.place is not None
    assert fault.place.source == "f.xml"
    assert fault.hint


def test_the_place_of_a_wrong_byte_is_its_offset() -> None:
    data = b'<?xml version="1.0" encoding="windows-1252"?><a>' + b"x" * 100 + b"\x81</a>"
    fault = refused(data)
    assert fault.place is not None
    assert fault.place.offset == data.index(b"\x81")


# -- document types ---------------------------------------------------------------------------------------------------


def test_entities_and_defaults_are_written_out() -> None:
    out = plain(
        b'<!DOCTYPE a [<!ENTITY e "<b>&#38;amp;</b>"><!ATTLIST b x CDATA '
        b'"1" y ID #IMPLIED>]><a t="&#9;">&e;<b y=" i "/>&lt;</a>'
    )
    root = ElementTree.fromstring(out)
    assert b"DOCTYPE" not in out
    assert [(b.text, b.get("x"), b.get("y")) for b in root] == [("&", "1", None), (None, "1", "i")]
    assert root.get("t") == "\t"


def test_a_document_type_without_an_internal_subset_is_blanked_so_that_places_stay() -> None:
    assert plain(b'<!DOCTYPE a\nSYSTEM "a.dtd"><a/>') == b"           \n               <a/>"


def test_a_document_type_that_is_not_well_formed_is_left_for_the_parser_to_refuse() -> None:
    assert plain(b"<!DOCTYPE><a/>") == b"<!DOCTYPE><a/>"


def test_comments_and_instructions_of_the_document_stay_and_those_of_its_type_go() -> None:
    assert (
        plain(b"<!--1--><!DOCTYPE a [<!--2--><?p 3?>]><!--4--><a><?q?></a><?r s?>")
        == b"<!--1--><!--4--><a><?q?></a><?r s?>"
    )


def test_an_external_entity_is_refused_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    fault = refused(f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>\n<a>&e;</a>'.encode())
    assert (fault.code, str(fault.place)) == ("XSC0001", "f.xml:2:4")
    assert "external" in fault.hint


@pytest.mark.parametrize(
    "document",
    [
        b'<!DOCTYPE a SYSTEM "x.dtd" [<!ENTITY e "1">]><a>&unknown;</a>',
        b'<!DOCTYPE a SYSTEM "x.dtd" [<!ENTITY e "1">]><a b="&unknown;"/>',
        b'<!DOCTYPE a [<!ENTITY e "1">]><a>&unknown;</a>',
    ],
)
def test_an_entity_that_only_an_external_subset_may_declare_is_refused_not_dropped(document: bytes) -> None:
    assert refused(document).code == "XSC0001"


def test_an_entity_bomb_is_refused() -> None:
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    fault = refused(f'<!DOCTYPE a [<!ENTITY e0 "boom">{levels}]><a>&e9;</a>'.encode())
    assert fault.code == "XSC0001"
    assert fault.hint


def test_a_quadratic_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalise, "EXPANSION_FREE", 1 << 16)
    monkeypatch.setattr(normalise, "EXPANSION_LIMIT", 10)
    bomb = b'<!DOCTYPE a [<!ENTITY e "' + b"x" * 5000 + b'">]><a>' + b"&e;" * 2000 + b"</a>"
    with pytest.raises(XStreamError) as caught:
        plain(bomb, 500)
    assert caught.value.code == "XSC0001"


@pytest.mark.parametrize(
    "document",
    [b"<!DOCTYPE a [<!ENTITY e '1'>", b"<!DOCTYPE a [<!ENTITY>]><a/>", b"<!DOCTYPE a [<!ELEMENT a ANY>]><a><b></a>"],
)
def test_a_malformed_document_with_a_type_is_refused_with_its_place(document: bytes) -> None:
    fault = refused(document)
    assert fault.code == "XSC0001"
    assert fault.place is not None
    assert fault.place.line == 1


# -- chunks -----------------------------------------------------------------------------------------------------------

DOCUMENTS = [
    TEXT.encode(),
    b"\xef\xbb\xbf<?xml version='1.0'?>" + TEXT.encode(),
    b"",
    b"<",
    b"<a/>",
    b"\xff\xfe",
    '<?xml version="1.0" encoding="utf-16"?><a>日𝔘</a>'.encode("utf-16"),
    b"\xfe\xff" + '<?xml version="1.0" encoding="utf-16"?><a>日𝔘</a>'.encode("utf-16-be"),
    '<?xml version="1.0" encoding="utf-16le"?><a>日𝔘㸾</a>'.encode("utf-16-le"),
    '<?xml version="1.0" encoding="utf-32"?><a>日𝔘</a>'.encode("utf-32"),
    '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"),
    '<?xml version="1.0" encoding="shift_jis"?><a>日本</a>'.encode("shift_jis"),
    b'<!--c--><?p?><!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
    b'<!DOCTYPE a PUBLIC "-//x//" "a[>"><a/>',
]


@settings(checked, max_examples=150)
@given(st.sampled_from(DOCUMENTS), st.integers(1, 40))
def test_what_comes_out_does_not_depend_on_how_the_bytes_come_in(data: bytes, size: int) -> None:
    def outcome(step: int | None) -> bytes | str:
        try:
            return plain(data, step)
        except XStreamError as fault:
            return fault.code

    assert outcome(size) == outcome(None)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_compression_is_known_by_the_first_bytes_not_by_the_name(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    file = tmp_path / "document.xml"
    file.write_bytes(pack(TEXT.encode()))
    assert b"".join(plain_xml(file)) == TEXT.encode()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_damaged_compressed_file_is_an_error_with_a_place_and_a_hint(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    file = tmp_path / "document.xml"
    packed = bytearray(pack(TEXT.encode() * 500))
    packed[len(packed) // 2] ^= 0xFF
    packed[len(packed) // 2 + 1] ^= 0xFF
    file.write_bytes(packed)
    with pytest.raises(XStreamError) as caught:
        list(plain_xml(file))
    assert caught.value.code == "XSC0006"
    assert str(caught.value.place) == str(file)
    assert caught.value.hint


def test_a_file_that_is_not_there_is_an_error_with_its_name_and_a_hint(tmp_path: Path) -> None:
    for missing in (tmp_path / "nothing.xml", tmp_path):
        with pytest.raises(XStreamError) as caught:
            list(plain_xml(missing))
        assert (caught.value.code, str(caught.value.place)) == ("XSC0006", str(missing))
        assert caught.value.hint


def test_an_empty_file_is_empty() -> None:
    assert list(plain_xml(io.BytesIO(b""))) == []


def test_an_input_is_called_by_its_name() -> None:
    assert source_name("-") == "<stdin>"
    assert source_name(Path("a.xml")) == "a.xml"
    assert source_name(io.BytesIO()) == "<input>"


def test_an_open_file_is_read_and_left_open(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(b"<a/>")
    with file.open("rb") as opened:
        assert b"".join(plain_xml(opened)) == b"<a/>"
        assert not opened.closed
