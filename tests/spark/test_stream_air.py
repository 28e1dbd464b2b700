"""Spark reads a stream of a server with replayable offsets: a query goes on where it was, server or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import Place, XStreamError
from xstreamcast.generate import find
from xstreamcast.model.change import Change
from xstreamcast.model.structure import parse_structure
from xstreamcast.serve.channel import Incoming
from xstreamcast.serve.station import Station
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.stream_air import LogStreamReader

DEADLINE = 300.0
GOODS = find("commodities")
assert GOODS.changes is not None
STRUCTURE = parse_structure(GOODS.structures["commodities"])
CHANGES = [change for _, change in GOODS.changes(0.02, 5, 300)]


@contextmanager
def broadcasting(folder: Path, port: int = 0) -> Iterator[Any]:
    """A station with a stream, in a thread of its own; calls are made there."""
    loop = asyncio.new_event_loop()
    station = Station(folder, cycle=0.5, sync="never", token="secret")

    async def start() -> None:
        await station.start(port=port)
        station.register("goods")

    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop).result(DEADLINE)

    def put(items: list[Any]) -> None:
        async def take() -> None:
            channel = station.channels["goods"]
            channel.take("test", [Incoming(item, Place("test"), "") for item in items])
            await channel.durable()

        asyncio.run_coroutine_threadsafe(take(), loop).result(DEADLINE)

    try:
        yield station.port, put
    finally:
        asyncio.run_coroutine_threadsafe(station.stop(), loop).result(DEADLINE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)
        loop.close()


def text_of(changes: list[Change]) -> bytes:
    materialiser = Materialiser(STRUCTURE, lambda diagnostic: None)
    for change in changes:
        materialiser.apply(change)
    return b"".join(materialiser.document(""))


def test_micro_batches_hold_every_record_once_whatever_is_read_again(tmp_path: Path) -> None:
    with broadcasting(tmp_path) as (port, put):
        put([STRUCTURE, *CHANGES[:50]])
        options = {"path": f"xcast://127.0.0.1:{port}/goods", "maxFragmentsPerTrigger": "40"}
        reader = LogStreamReader(dict(options))
        at = reader.initialOffset()
        limit = reader.getDefaultReadLimit()
        found = []
        for _ in range(2):
            end = reader.latestOffset(at, limit)
            again = LogStreamReader(dict(options))
            read = [batch for part in reader.partitions(at, end) for batch in reader.read(part)]
            assert read == [batch for part in again.partitions(at, end) for batch in again.read(part)]
            found += [n for batch in read for n in batch.column("seq").to_pylist()]
            at = end
        assert found == list(range(1, 52))
        assert reader.latestOffset(at, limit) == at
    assert reader.latestOffset(at, limit) == at  # the server is away: nothing is new


def test_another_log_of_that_name_is_refused(tmp_path: Path, own_port: int) -> None:
    with broadcasting(tmp_path / "one", own_port) as (port, put):
        put([STRUCTURE, *CHANGES[:5]])
        reader = LogStreamReader({"path": f"xcast://127.0.0.1:{port}/goods"})
        at = reader.initialOffset()
    with broadcasting(tmp_path / "two", port) as (_, put):
        put([STRUCTURE, *CHANGES[:5]])
        with pytest.raises(XStreamError, match="XSC0105"):
            reader.latestOffset(at, reader.getDefaultReadLimit())


def test_options_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(XStreamError, match="XSC0065"):
        LogStreamReader({"path": "xcast://127.0.0.1:1/goods", "tail": "wait"})


@pytest.mark.spark
def test_a_query_on_spark_started_again_has_read_all_once(spark: Any, tmp_path: Path) -> None:
    with broadcasting(tmp_path / "log") as (port, put):

        def run() -> None:
            rows = spark.readStream.format("xstreamcast").load(f"xcast://127.0.0.1:{port}/goods")
            query = (
                rows.writeStream.format("parquet")
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start(str(tmp_path / "rows"))
            )
            assert query.awaitTermination(DEADLINE)

        put([STRUCTURE, *CHANGES[:100]])
        run()
        put(CHANGES[100:])
        run()
    table = spark.read.parquet(str(tmp_path / "rows")).toArrow()
    rows = Brought(table).in_order().rows
    assert len({row["seq"] for row in rows}) == len(rows)
    assert text_of([item for item in map(item_of, rows) if isinstance(item, Change)]) == text_of(CHANGES)
