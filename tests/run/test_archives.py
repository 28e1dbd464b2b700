"""Archives as folders: the members of zip and tar files are documents, wherever documents are named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from local_frames import LocalSpark

from xstreamcast.errors import MissingFileError, XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Change
from xstreamcast.run.query import query, query_many
from xstreamcast.scan import archive_formats, archives, encoding
from xstreamcast.spark.rest.at_rest import prepare

MEMBERS = {
    "z/first.xml": b"<r><v>1</v></r>",
    "second.xml": b"<r><v>2</v><v>3</v></r>",
    "z/deep/third.xml.gz": gzip.compress(b"<r><v>4</v></r>", mtime=0),
    "z/sheet": '<?xml version="1.0" encoding="utf-16"?><r><v>5</v></r>'.encode("utf-16"),
    "photo.png": b"\x89PNG\r\n",
    "empty.txt": b"",
    ".hidden.xml": b"<r><v>6</v></r>",
    "_rels/own.xml": b"<r><v>7</v></r>",
    "[Content_Types].xml": b"<r><v>8</v></r>",
}
VALUES = [1, 2, 3, 4, 5, 8]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def tar_of(members: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as tar:
        folder = tarfile.TarInfo("z")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, data in members.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.xml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return made.getvalue()


def zip_of(path: Path, members: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


@pytest.fixture(params=["a.zip", "stored.docx", "a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.tar.zst", "gnu.tgz"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    if path.suffix in (".zip", ".docx"):
        return zip_of(path, MEMBERS, zipfile.ZIP_STORED if path.suffix == ".docx" else zipfile.ZIP_DEFLATED)
    data = tar_of(MEMBERS, tarfile.GNU_FORMAT if path.suffix == ".tgz" else tarfile.PAX_FORMAT)
    if path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(data)
        return path
    path.write_bytes(PACKERS[".gz" if path.suffix == ".tgz" else path.suffix.replace(".tar", "")](data))
    return path


def test_its_documents_come_in_its_own_order_without_what_is_hidden_or_no_xml(archive: Path) -> None:
    for context in (archive, str(archive), [archive], f"{archive.parent}/*{archive.suffix}", archive.parent):
        assert query("//v/number()", context=context).to_list() == VALUES
    assert query("count(collection())", context=archive).to_list() == [5]
    assert [each.to_list() for each in query_many(["//v/number()", "1"], context=archive)] == [VALUES, [1]]


def test_members_are_named_and_matched_as_files_are(archive: Path) -> None:
    for pattern, values in {
        "*.xml": [2, 3, 8],
        "z/*": [1, 5],
        "**/*.xml*": [1, 2, 3, 4, 7, 8],
        "z/**": [1, 4, 5],
        "z/[a-f]*.xml": [1],
        "z/[!a-f]*": [5],
        "?econd.xml": [2, 3],
        "[[]*": [8],
        "[Content_Types].xml": [8],
        ".hidden.xml": [6],
        "_rels/*": [7],
    }.items():
        for context in (f"{archive}!{pattern}", Path(f"{archive}!{pattern}"), f"{archive.parent}/*.*!{pattern}"):
            assert query("//v/number()", context=context).to_list() == values, pattern


def test_doc_and_collection_find_members(archive: Path) -> None:
    base = archive.parent.as_uri() + "/"
    ask = [
        f"doc('{archive.name}!second.xml')//v/number()",
        f"collection('{archive.name}')//v/number()",
        f"collection('{archive.name}!z/*')//v/number()",
        f"collection('*{archive.suffix}!**/*.xml')//v/number()",
        f"doc-available('{archive.name}!second.xml'), doc-available('{archive.name}!no.xml')",
        f"doc(uri-collection('{archive.name}!s*')[1])//v/number()",
        "doc('given')//v/number()",
        f"doc('{archive.name}!second.xml') is collection('{archive.name}!s*')",
    ]
    docs = {"given": f"{archive}!z/sheet"}
    answers = [query(text, base_uri=base, docs=docs).to_list() for text in ask]
    assert answers == [[2, 3], VALUES, [1, 5], [1, 2, 3, 7, 8], [True, False], [2, 3], [5], [True]]


def test_the_only_document_of_an_archive_is_meant_by_its_name(tmp_path: Path) -> None:
    alone = zip_of(tmp_path / "one.zip", {"golden-copy.xml": b"<r><v>1</v></r>", "readme.txt": b"read me"})
    found = f"{alone.as_uri()}!golden-copy.xml"
    assert query(f"doc('{alone}')//v/number()").to_list() == [1]
    assert query("doc('x')//v/number()", docs={"x": alone}).to_list() == [1]
    for text, context in (("base-uri(/)", alone), (f"base-uri(doc('{alone}'))", None)):
        assert query(f"string({text})", context=context).to_list() == [found]
    many = zip_of(tmp_path / "many.zip", {"a.xml": b"<a/>", "b.xml": b"<b/>"})
    with pytest.raises(XStreamError, match="there are 2 documents in the archive") as caught:
        query(f"doc('{many}')").to_list()
    assert (caught.value.code, f"{many}!b.xml" in caught.value.hint) == ("FODC0002", True)
    assert query(f"try {{ doc('{many}') }} catch * {{ 7 }}").to_list() == [7]


def test_spark_reads_members_too(archive: Path) -> None:
    for text in (
        "//v/number()",
        "count(//v), base-uri(/)",
        "sum(collection()//v)",
        "for $v in //v order by -$v return $v",
    ):
        for context in (str(archive), f"{archive}!z/*", [f"{archive}!second.xml", str(archive)]):
            expected = [str(item) for item in query(text, context=context)]
            for step in (8, 1 << 20):
                spark: Any = LocalSpark()
                found = prepare(spark, text, context=context, partition_bytes=step).items()
                assert [str(item) for item in found] == expected


def test_a_feed_takes_members_and_remembers_them(archive: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.state"
    for record, count in (("/r/v", 6), ("/r", 5)):
        feed = Feed(record, state=known)
        assert sum(isinstance(change, Change) for change in feed.changes(archive)) == count + 3
        assert (feed.counts["new"], feed.has_read(archive)) == (count, True)
        assert [*feed.changes(f"{archive}!second.xml")]
        assert (feed.has_read(Path(f"{archive}!second.xml")), feed.has_read(Path(f"{archive}!z/sheet"))) == (
            True,
            False,
        )
        feed.close()
        known.unlink()


def test_large_members_are_scanned(tmp_path: Path) -> None:
    large = b"<r>" + b"<v>1</v>" * 800_000 + b"</r>"
    made = zip_of(tmp_path / "large.zip", {"a.xml": large, "b.xml": b"<r><v>9</v></r>"})
    packed = tmp_path / "large.tar.gz"
    packed.write_bytes(gzip.compress(tar_of({"b.xml": b"<r><v>9</v></r>", "a.xml": large}), 1))
    for context, answer in ((made, [800_000, 1]), (packed, [1, 800_000]), (f"{packed}!a.xml", [800_000])):
        assert query("count(//v)", context=context).to_list() == answer
        assert query("for $v in //v where $v > 5 return $v/number()", context=context).to_list() == [9] * (
            len(answer) - 1
        )
    assert query(f"let $n := count(doc('{made}!a.xml')//v) return (doc('{made}!a.xml')//v)[$n]/number()").to_list() == [
        1
    ]


def test_members_of_a_packed_tar_are_read_on_from_one_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "many.tar.gz"
    made.write_bytes(gzip.compress(tar_of({f"{number}.xml": b"<r><v>%d</v></r>" % number for number in range(50)})))
    opened: list[Path] = []
    original = encoding.open_input

    def noted(source: Any, *more: Any) -> Any:
        opened.append(source)
        return original(source, *more)

    monkeypatch.setattr(archive_formats, "open_input", noted)
    assert query("//v/number()", context=made).to_list() == list(range(50))
    assert opened == [made] * 3  # for the list, for the namespace of the first, and for all members
    assert query("//v/number()", context=[f"{made}!40.xml", f"{made}!3.xml"]).to_list() == [40, 3]
    assert len(opened) <= 6


def test_an_archive_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    made = zip_of(tmp_path / "a.zip", {"a.xml": b"<v>1</v>"})
    assert query("//v/number()", context=made).to_list() == [1]
    zip_of(tmp_path / "other.zip", {"a.xml": b"<v>2</v>", "b.xml": b"<v>3</v>"}).replace(made)
    assert query("//v/number()", context=made).to_list() == [2, 3]


# -------------------------------------------------------------------------------------------------------- refused


def refused(context: Any) -> XStreamError:
    with pytest.raises(XStreamError) as caught:
        query("count(//v)", context=context).to_list()
    return caught.value


def test_bombs_are_refused_before_they_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_formats, "UNPACKED_FREE", 1 << 16)
    bomb = {"a.xml": b"<r>" + b" " * (4 << 20) + b"</r>"}
    packed = tmp_path / "b.tar.gz"
    packed.write_bytes(gzip.compress(tar_of(bomb)))
    header = tmp_path / "header.tar.xz"  # what is not a member counts too
    info = tarfile.TarInfo("a.xml")
    info.pax_headers = {"comment": " " * (4 << 20)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
    header.write_bytes(lzma.compress(made.getvalue()))
    for path in (zip_of(tmp_path / "b.zip", bomb), packed, header):
        fault = refused(path)
        assert (fault.code, str(fault.place)) == ("XSC0009", str(path))
        assert "unpack it and name the folder" in fault.hint
    ordinary = zip_of(tmp_path / "o.zip", {"a.xml": bytes(b"<v>%d</v>" % 3)})
    assert query("//v/number()", context=ordinary).to_list() == [3]
    monkeypatch.setattr(archive_formats, "MEMBERS_LIMIT", 2)
    crowd = zip_of(tmp_path / "c.zip", {f"{number}.xml": b"<v/>" for number in range(3)})
    assert (refused(crowd).code, "more than 2 members" in refused(crowd).message) == ("XSC0009", True)


def test_a_member_gives_no_more_than_the_archive_says(tmp_path: Path) -> None:
    made = zip_of(tmp_path / "a.zip", {"a.xml": b"<r><v>1</v></r>" + b" " * 9000})
    data = bytearray(made.read_bytes())
    for size in (b"PK\x01\x02", b"PK\x03\x04"):  # both claim 15 bytes
        at = data.index(size) + (24 if size == b"PK\x01\x02" else 22)
        data[at : at + 4] = (15).to_bytes(4, "little")
    made.write_bytes(data)
    assert "Bad CRC" in refused(made).message


def test_what_cannot_be_read_of_an_archive_has_its_place(tmp_path: Path) -> None:
    made = zip_of(
        tmp_path / "a.zip", {"a.xml": b"<r>" + b"<v>1</v>" * 99 + b"</r>", "bad.xml": b"<r>\n<v></r>", "n.txt": b"x"}
    )
    assert (str(refused(f"{made}!bad.xml").place), refused(f"{made}!bad.xml").code) == (
        f"{made}!bad.xml:2:6",
        "XSC0001",
    )
    fault = refused(f"{made}!no.xml")
    assert (fault.code, fault.hint) == ("XSC0006", "it has a.xml, bad.xml, n.txt")
    assert refused(f"{made}!*.txt").message == "no member of that name in the archive"
    assert refused(f"{tmp_path}/none.zip!a.xml").code == "XSC0006"
    assert isinstance(refused(f"{tmp_path}/none.zip!a.xml"), MissingFileError)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(made.read_bytes()[:-30])
    assert "the archive cannot be read" in refused(cut).message
    torn = tmp_path / "torn.tar"
    torn.write_bytes(tar_of({"a.xml": b"<r>" + b"<v>1</v>" * 999 + b"</r>"})[:4000])
    assert refused(torn).code == "XSC0006"
    dull = zip_of(tmp_path / "dull.zip", {"a.txt": b"words"})
    assert (refused(dull).message, refused(dull).hint) == ("there is no XML in the archive", "it has a.txt")
    empty = zip_of(tmp_path / "empty.zip", {})
    assert refused(empty).hint == "it is empty"
    locked = bytearray(made.read_bytes())
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    cut.write_bytes(locked)
    assert refused(f"{cut}!a.xml").message == "the member is encrypted"


def test_an_archive_where_a_document_is_wanted_says_so(tmp_path: Path) -> None:
    made = zip_of(tmp_path / "a.zip", {"a.xml": b"<a/>"})
    tar = tar_of({"a.xml": b"<a/>"})
    inner = zip_of(tmp_path / "outer.zip", {"inner.zip": made.read_bytes()})
    unnamed = tmp_path / "odd.gz"
    unnamed.write_bytes(gzip.compress(tar))
    for context in (made.read_bytes(), io.BytesIO(tar), unnamed, f"{inner}!inner.zip"):
        fault = refused(context)
        assert (fault.code, fault.message) == ("XSC0006", "it is an archive, not a document")


def test_a_file_whose_name_has_an_exclamation_mark_is_that_file(tmp_path: Path) -> None:
    zip_of(tmp_path / "a.zip", {"b.xml": b"<v>1</v>"})
    for name in ("a.zip!b.xml", "wow!.xml"):
        (tmp_path / name).write_text("<v>2</v>")
        assert query("//v/number()", context=tmp_path / name).to_list() == [2]
    (tmp_path / "a.zip!b.xml").unlink()
    assert query("//v/number()", context=tmp_path / "[!x]*.xml").to_list() == [2]


def test_few_lists_are_kept(tmp_path: Path) -> None:
    made = [zip_of(tmp_path / f"{number}.zip", {"a.xml": b"<v>%d</v>" % number}) for number in range(20)]
    assert query("//v/number()", context=list(map(str, made))).to_list() == list(range(20))
    assert len(archives._archives) <= 8
