"""Trees from the kernel are the trees expat's events make."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_documents import documents

from xstreamcast.errors import XMLError, XStreamError
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Tree
from xstreamcast.scan.parse import parse
from xstreamcast.scan.tree import TreeReader, parse_tree


def columns(tree: Tree) -> tuple[object, ...]:
    return (
        bytes(tree.kind), tree.name, tree.keys, tree.prefix, tree.up, tree.size, tree.value, tree.namespaces
    )  # fmt: skip


@settings(max_examples=48 * MORE, deadline=None, derandomize=True)
@given(documents())
def test_a_tree_has_the_columns_that_expat_gives_it(document: bytes) -> None:
    try:
        expected = parse(document).tree
    except XStreamError:
        with pytest.raises(XMLError):
            parse_tree(document)
        return
    assert columns(parse_tree(document)) == columns(expected)


@settings(max_examples=24 * MORE, deadline=None, derandomize=True)
@given(st.lists(documents(), max_size=5))
def test_one_reader_gives_each_of_many_documents_its_own_tree(many: list[bytes]) -> None:
    reader = TreeReader()
    for document in many:
        try:
            text = serialise([parse(document)]).encode()
        except XStreamError:
            continue
        assert columns(reader.read(np.frombuffer(text, np.uint8))) == columns(parse(text).tree)


def test_a_reader_forgets_names_when_there_are_very_many() -> None:
    reader = TreeReader()
    for begin in range(0, 10_000, 100):
        text = ("<r>" + "".join(f"<n{k} a='{k}'/>" for k in range(begin, begin + 100)) + "</r>").encode()
        assert columns(reader.read(np.frombuffer(text, np.uint8))) == columns(parse(text).tree)
        assert len(reader.names.names) < 5_000


@pytest.mark.parametrize(
    "document",
    [
        b"<!DOCTYPE a [<!ENTITY e 'hi &amp; <b/>'><!ATTLIST a x CDATA 'd'>]><a>&e;</a>",
        b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>",
        "<?xml version='1.0' encoding='utf-16'?><a>é😀</a>".encode("utf-16"),
        b"\xef\xbb\xbf<a>x</a>",
        b"<!DOCTYPE a SYSTEM 'a.dtd'><a>x<b/>y</a>",
    ],
    ids=["internal subset", "latin-1", "utf-16", "byte order mark", "external subset"],
)
def test_encodings_and_dtds_are_dealt_with_on_the_way(document: bytes, tmp_path: Path) -> None:
    expected = columns(parse(document).tree)
    assert columns(parse_tree(document)) == expected
    assert columns(parse_tree(io.BytesIO(document))) == expected
    for name, written in (("a.xml", document), ("a.xml.gz", gzip.compress(document))):
        (tmp_path / name).write_bytes(written)
        assert columns(parse_tree(tmp_path / name)) == expected


def test_an_error_names_the_file_and_the_place(tmp_path: Path) -> None:
    path = tmp_path / "broken.xml"
    path.write_bytes(b"<a>\n  <b>\n</a>")
    with pytest.raises(XMLError, match="mismatched tag") as fault:
        parse_tree(path)
    assert str(fault.value).startswith(f"XSC0001 {path}:3:1 ")
    path.write_bytes(b"")
    with pytest.raises(XMLError, match="no element"):
        parse_tree(path)
