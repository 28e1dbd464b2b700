"""``collection()``: folders, patterns, and what is given by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query, query_many


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"m{number}.xml").write_text(f"<m><n>{number}</n></m>")
    (tmp_path / "m3.xml.gz").write_bytes(gzip.compress(b"<m><n>3</n></m>"))
    (tmp_path / "notes.txt").write_text("no XML")
    (tmp_path / ".m4.xml").write_text("<m><n>hidden</n></m>")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "m9.xml").write_text("<m><n>9</n></m>")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("", "0123"),
        ("m*.xml", "012"),
        ("m[12].xml", "12"),
        ("m?.xml", "012"),
        ("m0.xml", "0"),
        ("**/*.xml", "9012"),
        ("?select=*.xml", "012"),
        ("?select=m*.xml;recurse=yes", "9012"),
    ],
)
def test_a_folder_or_a_pattern_is_a_collection(folder: Path, name: str, numbers: str) -> None:
    base = folder.as_uri() + "/"
    text = f"string-join(collection('{name or '.'}')//n)"
    assert query(text, base_uri=base).to_list() == [numbers]
    uris = query(f"uri-collection('{name or '.'}')", base_uri=base).to_list()
    assert [Path(uri).name[1] for uri in uris] == list(numbers)


def test_a_document_is_the_same_however_it_is_found(folder: Path) -> None:
    text = "collection('m*.xml')[1] is doc('m0.xml'), collection('m*.xml')[2] is collection('.')[2]"
    assert query(text, base_uri=folder.as_uri() + "/").to_list() == [True, True]


def test_collections_are_given_by_name(folder: Path) -> None:
    given = {"": [folder / "m2.xml", "<m><n>text</n></m>"], "some": folder / "m[01].xml", "all": folder}
    text = "string-join(collection()//n), string-join(collection('some')//n), count(collection('all'))"
    assert query(text, collections=given).to_list() == ["2text", "01", 4]
    many = query_many(["count(collection())", "sum(collection('some')//n)"], collections=given)
    assert [result.to_list() for result in many] == [[2], [1.0]]


@pytest.mark.parametrize("name", ["nowhere", "m*.json", "http://example.org/inbox"])
def test_what_is_not_there_is_an_error(folder: Path, name: str) -> None:
    with pytest.raises(XStreamError, match="FODC0002"):
        query(f"collection('{name}')", base_uri=folder.as_uri() + "/").to_list()


@pytest.mark.parametrize("name", ["##x", "m0.xml#n", "%gg", "http://[x"])
@pytest.mark.parametrize("function", ["collection", "uri-collection"])
def test_what_is_no_uri_of_a_collection_is_an_error(folder: Path, function: str, name: str) -> None:
    with pytest.raises(XStreamError, match="FODC0004"):
        query(f"{function}('{name}')", base_uri=folder.as_uri() + "/").to_list()


def test_a_default_collection_must_be_given() -> None:
    with pytest.raises(XStreamError, match=r"no default collection[^$]*collections="):
        query("collection()").to_list()
