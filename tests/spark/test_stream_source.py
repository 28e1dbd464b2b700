"""Real Spark: the stream as change rows, each exactly once, whatever happens between two micro-batches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from spark_samples import MALFORMED, Row, embedded_rows, spark_rows

from xstreamcast.model.change import ROW, Fill, from_row
from xstreamcast.wire.fragment import FragmentWriter

pytestmark = pytest.mark.spark

SEQ, CHANGE, REGION, CONTENT = (ROW.index(name) for name in ("seq", "change", "region", "content"))


def put(folder: Path, name: str, *numbers: int) -> None:
    """A file of fillers appears whole, by a rename."""
    hidden = folder / f".{name}"
    with hidden.open("wb") as file:
        writer = FragmentWriter(file)
        for number in numbers:
            writer.write(Fill(region=number, content=b"<a>%d</a>" % number))
        writer.close()
    os.replace(hidden, folder / name)


class Sink:
    """Keeps every micro-batch under its number, as an idempotent sink does; may be told what to do in between."""

    def __init__(self, between: Callable[[int], None] = lambda _: None) -> None:
        self.batches: dict[int, list[Row]] = {}
        self.between = between

    def __call__(self, frame: Any, batch: int) -> None:
        self.between(batch)
        self.batches[batch] = spark_rows(frame)

    @property
    def rows(self) -> list[Row]:
        return [row for _, rows in sorted(self.batches.items()) for row in rows]

    @property
    def regions(self) -> list[int]:
        return [row[REGION] for row in self.rows]


def start(frame: Any, checkpoint: Path, sink: Sink, **trigger: Any) -> Any:
    writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    return (writer.trigger(**trigger) if trigger else writer).start()


def finish(query: Any) -> None:
    """Wait until a query ends by itself; it must."""
    ended = query.awaitTermination(300)  # a deadline, no pace
    query.stop()
    assert ended


def run(spark: Any, path: Path, checkpoint: Path, sink: Sink, **options: str) -> None:
    """Read all that is there, and stop."""
    frame = spark.readStream.format("xstreamcast").options(**options).load(str(path))
    finish(start(frame, checkpoint, sink, availableNow=True))


@pytest.mark.parametrize("way", ["read", "readStream"])
def test_every_spelling_gives_the_rows_of_the_embedded_reader(
    spark: Any, samples: list[Path], tmp_path: Path, way: str
) -> None:
    if way == "read":
        whole = reduce(DataFrame.union, [spark.read.format("xstreamcast").load(str(path)) for path in samples])
        rows = spark_rows(whole)
    else:
        source = spark.readStream.format("xstreamcast").option("tail", "quarantine").option("maxBytesPerTrigger", "900")
        samples = samples[:4]  # each needs a process of its own; the rest differs only in how it is decoded
        whole = reduce(DataFrame.union, [source.load(str(path)) for path in samples])
        sink = Sink()
        finish(start(whole, tmp_path / "check", sink, availableNow=True))
        assert len(sink.batches) > 1
        rows = sink.rows
    for path in samples:
        name = path.name.partition(".")[0]
        assert [row for row in rows if row[0] == name] == embedded_rows(path, name)


def test_the_columns_are_those_of_a_change_row(spark: Any, tmp_path: Path) -> None:
    put(tmp_path, "s.xml", 0)
    frame = spark.read.format("xstreamcast").load(str(tmp_path / "s.xml"))
    assert tuple(frame.columns) == ROW
    types = dict(frame.dtypes)
    assert (types["valid_time"], types["content"], types["seq"]) == ("timestamp", "binary", "bigint")
    (row,) = frame.collect()
    assert from_row(row.asDict()) == Fill(region=0, content=b"<a>0</a>")


def test_a_large_batch_is_read_by_several_tasks_and_stays_in_order(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        writer = FragmentWriter(file)
        for number in range(6000):
            writer.write(Fill(region=number, tsid=2, valid_time=number * 10**6, content=b"<a>" + b"x" * 700 + b"</a>"))
            if number % 1000 == 7:
                file.write(b"<!-- in between -->stray")
        writer.close()
    frame = spark.read.format("xstreamcast").load(str(path))
    assert frame.rdd.getNumPartitions() >= 4
    expected = embedded_rows(path, "large")
    assert spark_rows(frame) == expected
    sink = Sink()
    run(spark, path, tmp_path / "check", sink)
    assert sink.rows == expected


def test_malformed_pieces_become_quarantine_rows_and_lose_nothing_else(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_bytes(MALFORMED)
    rows = spark_rows(spark.read.format("xstreamcast").load(str(path)))
    kept = [(row[SEQ], row[REGION], row[CONTENT]) for row in rows if row[CHANGE] == "fill"]
    assert [(seq, region) for seq, region, _ in kept] == [(1, 0), (2, 1), (3, 2)]
    put_aside = [row for row in rows if row[CHANGE] == "quarantine"]
    assert [row[SEQ] for row in put_aside] == [1, 1, 1, 1, 2, 3]
    assert all(code.startswith("XSC") and offset is not None for code, _, offset in (row[CONTENT] for row in put_aside))


def test_a_directory_may_grow_between_micro_batches(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    put(feed, "1.xml", 0, 1)
    done = threading.Event()

    def grow(batch: int) -> None:
        if batch < 3:
            put(feed, f"{batch + 2}.xml", 10 * batch + 10, 10 * batch + 11)

    class Growing(Sink):
        def __call__(self, frame: Any, batch: int) -> None:
            super().__call__(frame, batch)
            if len(self.rows) == 8:
                done.set()

    sink = Growing(grow)
    query = start(spark.readStream.format("xstreamcast").load(str(feed)), tmp_path / "check", sink)
    finished = done.wait(300)
    query.stop()
    assert finished, query.exception()
    assert sink.regions == [0, 1, 10, 11, 20, 21, 30, 31]
    assert [row[SEQ] for row in sink.rows] == list(range(1, 9))


@pytest.mark.parametrize(
    ("option", "sizes"),
    [
        ({"maxFragmentsPerTrigger": "4"}, [4, 4, 1]),
        ({"maxFragmentsPerTrigger": "4", "maxFilesPerTrigger": "1"}, [3, 3, 3]),
    ],
)
def test_admission_limits_are_kept(spark: Any, tmp_path: Path, option: dict[str, str], sizes: list[int]) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    for name in range(3):
        put(feed, f"{name}.xml", *range(3 * name, 3 * name + 3))
    sink = Sink()
    run(spark, feed, tmp_path / "check", sink, **option)
    assert [len(rows) for _, rows in sorted(sink.batches.items())] == sizes
    assert sink.regions == list(range(9))


def test_available_now_ends_with_what_was_there_when_it_began(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    put(feed, "1.xml", 0)
    put(feed, "2.xml", 1)
    sink = Sink(lambda batch: put(feed, f"{batch + 3}.xml", 9))
    run(spark, feed, tmp_path / "check", sink, maxFilesPerTrigger="1")
    assert sink.regions == [0, 1]
    sink.between = lambda _: None
    run(spark, feed, tmp_path / "check", sink)
    assert sink.regions == [0, 1, 9, 9]


def test_a_query_started_again_goes_on_from_its_checkpoint(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    put(feed, "1.xml", 0, 1, 2)
    sink = Sink()
    run(spark, feed, tmp_path / "check", sink)
    run(spark, feed, tmp_path / "check", sink)
    put(feed, "2.xml", 3, 4)
    run(spark, feed, tmp_path / "check", sink)
    assert sink.regions == [0, 1, 2, 3, 4]
    assert [row[SEQ] for row in sink.rows] == [1, 2, 3, 4, 5]


def test_a_batch_that_failed_is_replayed_as_it_was(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    put(tmp_path, "s.xml", *range(10))

    def fail(batch: int) -> None:
        if batch == 1:
            raise RuntimeError("the sink is down")

    broken = Sink(fail)
    with pytest.raises(Exception, match="the sink is down"):
        run(spark, path, tmp_path / "check", broken, maxFragmentsPerTrigger="4")
    assert broken.regions == [0, 1, 2, 3]
    # It was planned with four fragments; whatever the limit is now, and however the file has grown, it has four.
    with path.open("ab") as file:
        file.write(b'<stream:filler id="10">more</stream:filler>')
    sink = Sink()
    run(spark, path, tmp_path / "check", sink, maxFragmentsPerTrigger="100")
    assert [row[REGION] for row in sink.batches[1]] == [4, 5, 6, 7]
    assert broken.regions + sink.regions == list(range(11))


DRIVER = """
import os, sys
from pathlib import Path
from xstreamcast.spark.session import SHORT_LIVED, session

feed, check, out, gate, scratch = sys.argv[1:]
spark = session(master="local[1]", scratch=Path(scratch), **SHORT_LIVED)

def sink(frame, batch):
    rows = [row.region for row in frame.collect()]
    if batch == 2:
        Path(out, str(batch)).write_text("half of it")
        os.open(gate, os.O_WRONLY)       # opens when the test looks, which then kills us
        os.read(os.open(gate, os.O_RDONLY), 1)
    Path(out, str(batch)).write_text(" ".join(map(str, rows)))

source = spark.readStream.format("xstreamcast").option("maxFragmentsPerTrigger", "4").load(feed)
source.writeStream.foreachBatch(sink).option("checkpointLocation", check).start().awaitTermination()
"""


def test_a_driver_killed_in_the_middle_of_a_batch_loses_and_repeats_nothing(spark: Any, tmp_path: Path) -> None:
    feed, check, out, gate = (tmp_path / name for name in ("feed", "check", "out", "gate"))
    feed.mkdir()
    out.mkdir()
    os.mkfifo(gate)
    put(feed, "1.xml", *range(7))
    put(feed, "2.xml", *range(7, 14))
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, (feed, check, out, gate, tmp_path))],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        threading.Thread(target=_release, args=(driver, gate), daemon=True).start()
        with gate.open("rb"):
            assert driver.poll() is None, "the driver ended by itself"
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert (out / "2").read_text() == "half of it"

    sink = Sink()
    run(spark, feed, check, sink, maxFragmentsPerTrigger="4")
    for batch, rows in sink.batches.items():
        (out / str(batch)).write_text(" ".join(str(row[REGION]) for row in rows))
    found = [number for batch in range(4) for number in map(int, (out / str(batch)).read_text().split())]
    assert found == list(range(14))
    assert min(sink.batches) == 2


def _release(driver: subprocess.Popen[bytes], gate: Path) -> None:
    """A driver that dies before the gate must fail the test, not hang it."""
    driver.wait()
    with suppress(OSError):  # nobody waits at it any more
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))


def test_a_file_that_shrank_stops_the_query_with_a_clear_error(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    put(tmp_path, "s.xml", 0, 1, 2)
    run(spark, path, tmp_path / "check", Sink())
    put(tmp_path, "s.xml", 0)
    with pytest.raises(Exception, match="XSC0063"):
        run(spark, path, tmp_path / "check", Sink())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxFragmentsPerTriger": "4"}, "unknown option"),
        ({"maxBytesPerTrigger": "much"}, "a whole number above 0"),
        ({"tail": "chop"}, "wait or quarantine"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    spark: Any, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    put(tmp_path, "s.xml", 0)
    with pytest.raises(Exception, match=message):
        spark.read.format("xstreamcast").options(**options).load(str(tmp_path / "s.xml")).collect()


def test_a_missing_path_is_an_error_at_once(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="No such file"):
        run(spark, tmp_path / "gone", tmp_path / "check", Sink())


def test_the_session_stays_on_this_machine_and_is_one(spark: Any) -> None:
    from xstreamcast.spark import session

    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.pythonExec == sys.executable
    assert session() is spark
