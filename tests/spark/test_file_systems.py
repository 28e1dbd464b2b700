"""Files of fsspec and pyarrow: what they open is a document, what they list are documents."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from local_frames import LocalSpark
from pyarrow import fs
from rest_samples import said

from xstreamcast import Feed, continuous, infer_structure, query
from xstreamcast.errors import XStreamError
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.files import documents

SMALL = b"<r>" + b"".join(b"<v n='%d'>%d</v>" % (n, n) for n in range(200)) + b"</r>"
LARGE = b"<r>" + b"<v>1</v>" * 300_000 + b"</r>"
FILES = {"a/1.xml": SMALL, "a/2.xml.gz": gzip.compress(SMALL, mtime=0), "a/_part": b"<", "large.xml": LARGE,
         "a/deep/3.xml": b"<r><v n='7'>1</v></r>"}  # fmt: skip


@pytest.fixture
def memory() -> Iterator[Any]:
    """fsspec's file system in memory, which all of a process share."""
    files = fsspec.filesystem("memory")
    for name, data in FILES.items():
        files.pipe(f"/dumps/{name}", data)
    yield files
    files.rm("/dumps", recursive=True)


def zipped(folder: Path) -> str:
    with zipfile.ZipFile(folder / "dumps.zip", "w") as archive:
        for name, data in FILES.items():
            archive.writestr(f"dumps/{name}", data)
    return str(folder / "dumps.zip")


@pytest.mark.parametrize("kind", ["memory", "zip", "cached"])
def test_what_fsspec_opens_is_a_document(kind: str, memory: Any, tmp_path: Path) -> None:
    url = {
        "memory": "memory://dumps/", "zip": f"zip://dumps/::file://{zipped(tmp_path)}",
        "cached": "simplecache::memory://dumps/",
    }[kind]  # fmt: skip

    def opened(name: str, mode: str = "rb") -> Any:
        return fsspec.open(url.replace("dumps/", f"dumps/{name}", 1), mode)

    for name in ("a/1.xml", "a/2.xml.gz"):
        assert query("sum(//v)", context=opened(name)).one() == 19900
        with opened(name) as file:
            assert query("sum(//v)", context=file).one() == 19900
    assert query("sum(//v)", context=opened("a/1.xml", "rt")).one() == 19900
    assert query("count(//v)", context=opened("large.xml")).one() == 300_000
    assert query("let $n := count(//v) return (//v)[$n]/number()", context=opened("large.xml")).one() == 1
    assert query("count(doc('x')//v)", docs={"x": opened("large.xml")}).one() == 300_000
    both = [opened("a/1.xml"), opened("a/2.xml.gz")]
    assert query("sum(//v)", context=both).values() == [19900, 19900]
    assert query("sum(collection()//v)", collections={"": both}).one() == 39800
    asked = continuous('sum(stream("s")//v)', feed=Feed("/r/v", key="@n"), source=both)
    list(asked.follow())
    assert asked.text() == "19900"
    assert len(infer_structure(opened("a/2.xml.gz")).tags) == 2


def test_several_files_that_fsspec_lists_are_documents(memory: Any) -> None:
    listed = fsspec.open_files("memory://dumps/a/?.xml*")
    assert len(listed) == 2
    assert query("count(//v)", context=listed).values() == [200, 200]


def test_what_pyarrow_opens_is_a_document(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_bytes(SMALL)
    stores = [(fs.PyFileSystem(fs.FSSpecHandler(memory)), "dumps/a/"), (fs.LocalFileSystem(), f"{tmp_path}/"),
              (fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "")]  # fmt: skip
    for store, folder in stores:
        for opened in (store.open_input_file, store.open_input_stream):
            assert query("sum(//v)", context=opened(f"{folder}1.xml")).one() == 19900


@pytest.mark.parametrize(
    "text", ["sum(//v)", "//v[@n = 7]/number()", "for $v in //v order by -number($v) return $v/string()"]
)
def test_uris_of_fsspec_are_read_on_spark(memory: Any, text: str) -> None:
    spark: Any = LocalSpark()

    def names(path: str) -> list[str]:
        return [each.path for each in documents(f"fsspec+memory://dumps/{path}")]

    assert names("a") == [f"fsspec+memory://dumps/a/{name}" for name in ("1.xml", "2.xml.gz", "deep/3.xml")]
    assert names("a/*.xml") == ["fsspec+memory://dumps/a/1.xml"]
    with pytest.raises(XStreamError, match="XSC0006"):
        names("none.xml")
    expected = said(query(text, context=[SMALL, SMALL, FILES["a/deep/3.xml"]]))
    for step in (500, 1 << 20):
        found = prepare(spark, text, context="fsspec+memory://dumps/a", partition_bytes=step).items()
        assert said(found) == expected
