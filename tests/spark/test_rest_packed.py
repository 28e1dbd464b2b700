"""Packed documents that have blocks, members or frames are cut there, and give what plain ones give."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from local_frames import LocalSpark
from rest_samples import NASTY, document_of, said, site
from test_rest_commands import ran
from test_rest_splits import rows

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.scan import blocks
from xstreamcast.scan.pieces import packing_of
from xstreamcast.spark.rest import packed
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.at_rest import query as spread
from xstreamcast.spark.rest.indexing import Workforce, alone, forget_seams, planned, summary_of
from xstreamcast.spark.rest.shares import documents, shares

TEXT = NASTY.encode()
ONE = Workforce(2, lambda stretches: [summary_of(each) for each in stretches])


def zstd(data: bytes) -> bytes:
    made: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return made


def flushed(data: bytes, size: int = 1 << 14, how: int = zlib.Z_FULL_FLUSH) -> bytes:
    """One member of gz, flushed every so many bytes."""
    made = zlib.compressobj(6, wbits=31)
    parts = [made.compress(data[at : at + size]) + made.flush(how) for at in range(0, len(data), size)]
    return b"".join(parts) + made.flush()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1, mtime=0),
    "bz2": lambda data: bz2.compress(data, 1),
    "zst": zstd,
}
_PASSED_OVER = ("bz2", "missing")
"""Behind a stream of bz2 may stand what is none."""
packings = pytest.mark.parametrize("kind", PACKINGS)


def in_pieces(kind: str, data: bytes, size: int) -> bytes:
    """So many bytes in each piece, as bgzip and pzstd write them, or as ``cat`` puts files together."""
    return b"".join(PACKINGS[kind](data[at : at + size]) for at in range(0, len(data), size))


@packings
@pytest.mark.parametrize("size", [11, 301])
def test_no_record_is_lost_or_doubled_wherever_pieces_end(tmp_path: Path, kind: str, size: int) -> None:
    whole = rows(document_of(tmp_path, TEXT, "plain.xml"), len(TEXT))
    document = document_of(tmp_path, in_pieces(kind, TEXT, size), f"packed.xml.{kind}")
    counts = []
    for step in (1, 120, 400):
        assert rows(document, step) == whole, step
        counts.append(len(planned([document], step)))
    assert counts[0] >= counts[1] >= counts[2] >= 3
    forget_seams()


def test_a_member_that_begins_anew_now_and_then_is_cut_there(tmp_path: Path) -> None:
    for size in (60, 300):
        document = document_of(tmp_path, flushed(TEXT, size), "packed.xml.gz")
        assert rows(document, 1) == rows(document_of(tmp_path, TEXT, "plain.xml"), len(TEXT))
        assert len(planned([document], 1)) >= 3
    data = flushed(site())
    assert len(planned([document_of(tmp_path, data, "a.xml.gz")], 30_000)) > 4
    # Where it is flushed and goes on with what it knows, there is one beginning.
    known = document_of(tmp_path, flushed(site(), how=zlib.Z_SYNC_FLUSH), "b.xml.gz")
    assert "one member" in str(packed.cut(known, lambda _: 30_000, ONE.walk))
    # The sum of the member is that of its pieces, put together.
    wrong = bytearray(data)
    wrong[-6] ^= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "HEAD", 1000)
        document = document_of(tmp_path, bytes(wrong), "c.xml.gz")
        assert "cannot be told apart" in str(packed.cut(document, lambda _: 30_000, ONE.walk))
    forget_seams()


def skipped(kind: int, content: bytes) -> bytes:
    return (0x184D2A50 + kind).to_bytes(4, "little") + len(content).to_bytes(4, "little") + content


def test_frames_that_are_skipped_are_no_pieces(tmp_path: Path) -> None:
    frames = [zstd(TEXT[at : at + 200]) for at in range(0, len(TEXT), 200)]
    parallel = b"".join(skipped(0, len(each).to_bytes(4, "little")) + each for each in frames)  # as pzstd writes
    seekable = b"".join(frames) + skipped(14, b"a table of the frames")
    whole = rows(document_of(tmp_path, TEXT, "plain.xml"), len(TEXT))
    for data in (parallel, seekable):
        document = document_of(tmp_path, data, "packed.xml.zst")
        assert query("count(//*:r)", context=document.path).one() == 12
        assert len(planned([document], 1)) >= 3
        assert rows(document, 1) == whole
        forget_seams()


@packings
def test_a_task_unpacks_what_is_its_own(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = document_of(tmp_path, in_pieces(kind, site(), 20_000), "auction.xml")
    monkeypatch.setattr("xstreamcast.spark.rest.files._UNPACKED_SLACK", 1)
    tasks = planned([document], 40_000, ONE)
    assert len(tasks) >= 4
    for (part,) in tasks[1:-1]:
        assert part.end is not None
        window = next(part.document.windows(part.begin, part.end))
        assert part.document.entry is not None
        assert 0 <= part.begin - part.document.entry.before < 20_000
        assert bytes(window.bytes) == site()[part.begin : part.end + 1]


@packings
@pytest.mark.parametrize(
    "text", ["count(//item), sum(//price)", "//person/name/string()", "for $i in //item order by $i/name return $i/@id"]
)
def test_answers_are_those_of_the_embedded_engine(tmp_path: Path, kind: str, text: str) -> None:
    path = tmp_path / "auction.xml"
    path.write_bytes(in_pieces(kind, site(), 15_000))
    spark: Any = LocalSpark()
    spread_ = prepare(spark, text, context=path, partition_bytes=50_000)
    assert len(spread_.tasks(next(iter(spread_.sources)))) >= 3
    assert said(spread_.items()) == said(query(text, context=site()))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_one_member_is_one_task(tmp_path: Path, kind: str) -> None:
    document = document_of(tmp_path, PACKINGS[kind](site()), "auction.xml")
    assert len(planned([document], 1000)) == 1
    piece, name = ("member", "gz") if kind == "gz" else ("frame", "zstd")
    expected = f"it is one {piece} of {name}, which one task unpacks from its beginning"
    assert packed.cut(document, lambda _: 1000, ONE.walk) == expected


@packings
def test_a_piece_that_is_too_long_is_left_to_one_task(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_of(tmp_path, in_pieces(kind, site(), 60_000), "auction.xml")
    monkeypatch.setattr(packed, "MOST_UNPACKED", 30_000)
    if kind != "bz2":  # its blocks have 900 kB at most
        assert "holds more than" in str(packed.cut(document, lambda _: 1000, ONE.walk))
    assert len(planned([document], 1000)) == 1
    forget_seams()


@pytest.mark.parametrize(
    ("kind", "damage"),
    [(kind, damage) for kind in PACKINGS for damage in ("cut", "flipped", "missing") if (kind, damage) != _PASSED_OVER],
)
def test_what_is_damaged_is_told_as_by_the_embedded_engine(tmp_path: Path, kind: str, damage: str) -> None:
    data = in_pieces(kind, site(), 20_000)
    document = document_of(tmp_path, data, f"auction.xml.{kind}")
    pieces = packing_of(data).pieces(io.BytesIO(data), 0, len(data), 1 << 20)  # type: ignore[union-attr]
    middle = next(piece for piece in pieces if piece.begin > 4 * len(data))
    begin, end = middle.begin // 8, -(-middle.end // 8)
    broken = bytearray(data)
    if damage == "cut":
        del broken[(begin + end) // 2 :]
    elif damage == "flipped":
        broken[(begin + end) // 2] ^= 255
    else:
        del broken[begin : begin + 10]
    Path(document.path).write_bytes(broken)
    told = []
    spark: Any = LocalSpark()
    for ask in (query, lambda text, context: prepare(spark, text, context=context, partition_bytes=30_000).items()):
        with pytest.raises(XStreamError) as caught:
            list(ask("count(//item)", context=document.path))
        told.append((caught.value.code, caught.value.hint, caught.value.place))
    assert told[0] == told[1]
    assert told[0][0] == "XSC0006"
    forget_seams()


def test_sums_of_streams_of_bz2_are_looked_at_across_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "HEAD", 1000)
    data = bytearray(bz2.compress(site(), 1))
    assert len(planned([document_of(tmp_path, bytes(data))], 10_000)) > 2
    place, _ = blocks._marks(bytes(data), 0, 0, True)[-1]
    data[(place + 48) // 8 + 2] ^= 1  # the sum of all blocks: each of them is as it was
    document = document_of(tmp_path, bytes(data))
    assert "cannot be told apart" in str(packed.cut(document, lambda _: 10_000, ONE.walk))
    forget_seams()


def test_a_beginning_that_is_none_does_not_matter(tmp_path: Path) -> None:
    inner = PACKINGS["gz"](b"<r>no</r>")
    values = b"".join(b"<v>%d</v>" % n for n in range(3000))
    stored = b"<r><!--" + inner + b"-->" + values + b"</r>"
    # Members that are stored as they are: the one in the comment can be seen, and unpacked.
    data = b"".join(gzip.compress(stored[at : at + 700], 0, mtime=0) for at in range(0, len(stored), 700))
    assert inner in data
    document = document_of(tmp_path, data, "v.xml.gz")
    tasks = planned([document], 500, ONE)
    assert len(tasks) > 20
    read = b""
    for (part,) in tasks:
        window = next(part.document.windows(part.begin, len(stored) if part.end is None else part.end))
        read += bytes(window.bytes)[: part.size]
    assert read == stored


@packings
def test_tasks_of_spark_read_a_packed_document(spark: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"auction.xml.{kind}"
    path.write_bytes(in_pieces(kind, site(), 20_000))
    text = "/site/people/person/name/string()"
    frame = spread(spark, text, context=path, partition_bytes=50_000)
    assert frame.rdd.getNumPartitions() >= 3
    assert [row.value for row in frame.collect()] == query(text, context=site()).to_list()
    reading = spark.read.format("xstreamcast").option("record", "//person").option("columns", '{"id": "@id"}')
    named = reading.option("partitionBytes", "50k").option("offset", "true").load(str(path))
    assert named.rdd.getNumPartitions() >= 3
    found = [(row.id, row.offset) for row in named.collect()]
    assert [id for id, _ in found] == query("//person/string(@id)", context=site()).to_list()
    assert all(site()[at:].startswith(b'<person id="%s"' % id.encode()) for id, at in found)


def test_explain_says_how_many_tasks_read_a_file_and_why_it_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"one.xml.gz": PACKINGS["gz"](site()), "many.xml.gz": in_pieces("gz", site(), 20_000),
             "wide.xml": site().decode().encode("utf-16"), "plain.xml": site(), "small.xml": b"<r/>"}  # fmt: skip
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    told = dict(line.strip().split("  ") for line in [*shares(documents(str(tmp_path)), 50_000, ONE)][1:])
    assert told["one.xml.gz"] == "1 task: it is one member of gz, which one task unpacks from its beginning"
    assert told["wide.xml"].startswith("1 task: it is in another encoding")
    assert told["small.xml"].startswith("1 task: it is not larger than what one task reads")
    for name in ("many.xml.gz", "plain.xml"):
        tasks = planned(documents(str(tmp_path)), 50_000, ONE)
        count = sum(part.document.path.endswith(name) for task in tasks for part in task)
        assert told[name] == f"{count} tasks"
        assert count > 3
    assert ran("explain", "count(//a)", "--engine", "spark", "--context", str(tmp_path / "one.xml.gz")) == 0
    assert "the driver answers at once, without a job" in capsys.readouterr().out
    forget_seams()


def test_all_of_a_workforce_unpacks(tmp_path: Path) -> None:
    asked: list[int] = []

    def walk(stretches: Any) -> list[Any]:
        asked.append(len(stretches))
        return ONE.walk(stretches)

    document = document_of(tmp_path, in_pieces("gz", site(), 5_000), "auction.xml")
    planned([document], 20_000, Workforce(2, walk))
    planned([document], 20_000, Workforce(2, walk))
    assert len(asked) == 1, "the file is as it was"
    assert asked[0] > 3
    assert alone().cores >= 1
    forget_seams()
