"""A file may be walked over in any steps, by any process, from any position: the rows are those of the reader."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from spark_samples import Row, comparable, embedded_rows

from xstreamcast.model.change import ROW
from xstreamcast.spark.motion import survey
from xstreamcast.spark.motion.position import Position
from xstreamcast.spark.motion.stream_files import StreamFiles
from xstreamcast.spark.motion.stream_source import FragmentBatchReader, FragmentStreamReader
from xstreamcast.spark.motion.walk import Run, Walk

PIECES = (
    b'<stream:filler id="%d" tsid="2" validTime="2003-10-%02dT10:00:00.5">x<b>y</b><stream:hole id="9"/>'
    b"</stream:filler>\n",
    b'<stream:filler id="%d" version="%d"><!-- </stream:filler> -->c</stream:filler>',
    b'<stream:filler tsid="%d" id="%d">another order</stream:filler >',
    b'<stream:remove id="%d" version="%d"/>',
    b'<stream:filler id="%d" validTime="2003-02-%02dT00:00:00">perhaps no date</stream:filler>',
    b'<stream:filler id="x%d%d">no number</stream:filler>',
    b"junk %d %d <",
    b'<stream:filler id="%d%d">not closed ',
    b'<stream:filler id="%d">t<stream:replace target="3" id="%d">n</stream:replace><stream:hide id="4"/>'
    b"</stream:filler>",
    b'<stream:structure><tag id="%d" name="a%d"/></stream:structure>',
    b'<stream:replace id="%d">z%d</stream:replace>',
    b'<other n="%d" m="%d"/>',
    b"<stream:eos/><!-- %d %d -->",
    b'<stream:filler id="%d" doc="d%d">x</stream:filler>',
    b'<stream:filler id="%d"><n:a xmlns:n="urn:%d"/></stream:filler>',
)


def random_stream(rng: random.Random) -> bytes:
    """Mostly plain fillers, with everything between them that may go wrong or stand in the way."""
    weights = [rng.choice((1, 20, 600)), *[1] * (len(PIECES) - 1)]
    chosen = rng.choices(PIECES, weights, k=rng.randint(0, 300))
    body = b"".join(piece % (rng.randint(0, 50), rng.randint(1, 31)) for piece in chosen)
    wrapper = rng.choice((b"", b"stream", b"s"))
    if wrapper:
        if wrapper == b"s":
            body = body.replace(b"stream:", b"s:")
        head = b'<%s:fragments xmlns:%s="urn:xstreamcast:stream">' % (wrapper, wrapper)
        body = head + body + b"</%s:fragments>\n" % wrapper
    return rng.choice((b"", b"", b"\xef\xbb\xbf", b'<?xml version="1.0"?>\n')) + body


def rows_of(reader: Any, partitions: list[Any]) -> list[Row]:
    return [
        comparable(tuple(row[name] for name in ROW))
        for partition in partitions
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("seed", range(60))
def test_any_cutting_of_any_stream_gives_the_rows_of_the_reader(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    packed = rng.random() < 0.3
    path = tmp_path / ("c.xml.gz" if packed else "c.xml")
    data = random_stream(rng)
    path.write_bytes(gzip.compress(data) if packed else data)
    monkeypatch.setattr(survey, "_GRAIN", rng.choice((100, 1000, 1 << 20)))
    monkeypatch.setattr(survey, "_CARRIED", rng.choice((0, 2000, 1 << 26)))
    limit = rng.choice(({}, {"maxFragmentsPerTrigger": str(rng.randint(1, 40))}, {"maxBytesPerTrigger": "2k"}))
    options = {"path": str(path), "tail": "quarantine", "partitionBytes": "1000", **limit}

    reader = FragmentStreamReader(options)
    found: list[Row] = []
    start = reader.initialOffset()
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        # Now and then the driver is another one: it knows nothing but the offsets.
        planner = FragmentStreamReader(options) if rng.random() < 0.3 else reader
        found += rows_of(reader, planner.partitions(start, end))
        reader.commit(end)
        if rng.random() < 0.2:
            reader = FragmentStreamReader(options)
        start = end

    expected = embedded_rows(path, "c")
    assert found == expected
    whole = FragmentBatchReader({"path": str(path), "partitionBytes": "1000"})
    assert rows_of(whole, whole.partitions()) == expected


def test_a_stream_in_the_writers_own_spelling_is_walked_over_in_plain_runs(tmp_path: Path) -> None:
    from xstreamcast.generate.credit import GENERATOR
    from xstreamcast.wire.fragment import FragmentWriter

    path = tmp_path / "credit.xml"
    with path.open("wb") as file:
        writer = FragmentWriter(file)
        assert GENERATOR.changes is not None
        for _, change in GENERATOR.changes(0.05, 1, 0):
            writer.write(change)
        writer.close()
    files = StreamFiles(str(path))
    chunks = files.seek(path.name, 0, 0)
    stretches = list(Walk(chunks, Position().next_file(path.name), files.place(path.name)))
    in_runs = sum(stretch.rows for stretch in stretches if isinstance(stretch, Run))
    assert in_runs >= sum(stretch.rows for stretch in stretches) - 5


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_a_run_split_in_two_is_the_run(count: int) -> None:
    text = b"".join(b'<stream:filler id="%d">%s</stream:filler>\n' % (n, b"x" * n) for n in range(4))
    begin = Position("f", 0, 0, 0, "prefixed", wrapped=True)
    (run,) = (s for s in Walk(iter([text]), begin, StreamFiles("/f").place("f")) if isinstance(s, Run))
    first, others = run.split(count)
    assert (first.rows, others.rows) == (count, 4 - count)
    assert first.end == others.begin
    assert others.end == run.end if others.rows else first.end == run.end
    assert run.fitting(first.end.offset) == count


def test_files_behind_the_first_are_read_by_the_kernel_though_the_spelling_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fillers = b"".join([PIECES[0] % (n, 1) for n in range(500)])
    for number in range(3):
        wrapped = b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">%b</stream:fragments>'
        (tmp_path / f"{number}.xml").write_bytes(wrapped % fillers)
    reader = FragmentStreamReader({"path": str(tmp_path), "maxFilesPerTrigger": "1"})
    at, pieces, rows = reader.initialOffset(), list[int](), 0
    next_of = survey._OpenFile.next

    def counted(opened: Any) -> Any:
        stretch = next_of(opened)
        if stretch is not None and not isinstance(stretch, Run):
            pieces.append(stretch.rows)
        return stretch

    monkeypatch.setattr(survey._OpenFile, "next", counted)
    for _ in range(3):
        reached = reader.latestOffset(at, reader.getDefaultReadLimit())
        rows += len(rows_of(reader, reader.partitions(at, reached)))
        at = reached
    assert rows == 1500
    assert sum(pieces) <= 6, "what begins and ends a file is looked at closely, no more"
