"""A log that is compacted: whoever comes with whatever he has gets the stream as it is; a restart goes on as if nothing
had happened; a crash at any moment of a compaction loses nothing."""

from __future__ import annotations

import asyncio
import io
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from air import SMALL, Client, address, generated, on_air, take, until
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import DEADLINE
from random_streams import streams
from test_settling import items_of, replaces_event, t

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import After, Before, Change, Eos, Fill, Remove, Replace
from xstreamcast.model.structure import Structure
from xstreamcast.serve import compaction
from xstreamcast.serve.channel import Channel, Incoming
from xstreamcast.serve.client import read, receive
from xstreamcast.serve.compaction import Keep, compact
from xstreamcast.serve.message import Header
from xstreamcast.serve.reception import Reception
from xstreamcast.serve.record import Entry
from xstreamcast.serve.station import Station
from xstreamcast.spark.motion.stream_air import LogBatchReader
from xstreamcast.wire.fragment import read_stream

checked = settings(max_examples=10 * MORE, derandomize=True, deadline=None)
SEGMENT = 700
"""Bytes: a few records each."""


def channel(folder: Path) -> Channel:
    return Channel("s", folder, segment=SEGMENT)


def compacted(made: Channel, keep: int = 1) -> None:
    """Compact as far as can be, and leave so many segments whole."""
    made.log.roll()
    segments = made.log.segments
    if len(segments) > keep:
        asyncio.run(compact(made, segments[-keep].first))


def records(made: Channel, since: int = 0) -> list[Entry]:
    return list(made.log.read(since))


def wires(entries: list[Entry]) -> list[bytes]:
    return [entry.wire for entry in entries]


def goes_on_the_same(folder: Path, items: list[Change | Structure], seed: int) -> None:
    """One channel is left alone, the other is compacted and restarted now and then: nobody can tell them apart."""
    rng = random.Random(seed)
    plain, short = channel(folder / "plain"), channel(folder / "short")
    try:
        for item in items:
            mark = str(rng.random())
            for made in (plain, short):
                made.take("test", [Incoming(item, mark=mark)])
            if rng.random() < 0.2:
                compacted(short, rng.choice((1, 1, 2, 5)))
            if rng.random() < 0.2:
                short.close()
                short = channel(folder / "short")
        compacted(short)
        everything = records(plain)
        assert short.log.head == plain.log.head
        assert [entry for entry in records(short) if entry.n >= short.log.first] == [
            entry for entry in everything if entry.n >= short.log.first
        ]
        assert short.marks == plain.marks
        assert short.positions.books() == plain.positions.books()
        whole = t(items_of(wires(everything)))
        assert t(items_of(wires(records(short)))) == whole
        # Whoever has the log up to any number gets what still counts of the rest.
        for _ in range(3):
            since = rng.randrange(plain.log.head + 1)
            assert t(items_of(wires([*everything[:since], *records(short, since)]))) == whole
        assert sorted(cycle(short)) == sorted(cycle(plain))
    finally:
        plain.close()
        short.close()


def cycle(made: Channel) -> list[bytes]:
    current = made.current
    return [made.log.fetch(current.table[key].where).wire for key in current.repeated(made.priorities)]


@checked
@given(streams(), st.integers(0, 1000))
def test_compacted_or_not_a_stream_goes_on_the_same(
    tmp_path_factory: pytest.TempPathFactory, text: str, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    items = [arrival.item for arrival in read_stream(io.BytesIO(text.encode()))]
    goes_on_the_same(
        folder, [item for item in items if isinstance(item, Change | Structure) and not replaces_event(item)], seed
    )
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["credit", "commodities", "currencies"])
def test_compacted_or_not_a_generated_stream_goes_on_the_same(tmp_path: Path, name: str) -> None:
    structure, changes = generated(name, 0.01, 1, 150)
    goes_on_the_same(tmp_path, [structure, *changes], 1)


def test_rows_of_an_update_stream_outlast_compactions(tmp_path: Path) -> None:
    rng = random.Random(4)
    items: list[Change | Structure] = [Fill(region=0, content=b'<r><stream:mutable id="1">first</stream:mutable></r>')]
    there = [1]
    for number in range(2, 150):
        kind = After if rng.random() < 0.5 else Before
        items.append(kind(region=number, target=rng.choice(there), content=b"<i>%d</i>" % number))
        there.append(number)
        if rng.random() < 0.3:
            items.append(Remove(region=there.pop(rng.randrange(1, len(there)))))
        if rng.random() < 0.2:
            items.append(Replace(region=rng.choice(there[1:]), content=b"<i>new</i>"))
    goes_on_the_same(tmp_path, items, 2)


def filled(folder: Path, rounds: int = 40) -> Channel:
    """A stream of few regions that are replaced over and over."""
    made = channel(folder)
    root = Fill(region=0, content=b'<r><stream:hole id="1"/><stream:hole id="2"/></r>')
    made.take("test", [Incoming(root)])
    for number in range(rounds):
        made.take("test", [Incoming(Fill(region=number % 2 + 1, content=b"%d" % number), mark=str(number))])
    return made


def test_a_log_that_never_ends_stays_small(tmp_path: Path) -> None:
    made = filled(tmp_path, 0)
    keep = Keep(size=4 * SEGMENT)
    sizes = []
    for number in range(700):
        made.take("test", [Incoming(Fill(region=number % 2 + 1, content=b"%d" % number))])
        first = keep.due(made.log, 0.0)
        if first is not None:
            asyncio.run(compact(made, first))
            sizes.append(made.log.size)
    assert len(sizes) > 20
    assert max(sizes) < 8 * SEGMENT
    assert sum(segment.size for segment in made.log.segments) >= 4 * SEGMENT
    assert (made.log.head, len(list(tmp_path.glob("*.base")))) == (701, 1)
    made.close()


def test_what_is_younger_than_asked_for_is_kept(tmp_path: Path) -> None:
    made = filled(tmp_path)
    made.log.begun = 1000.0
    times = range(1000, 1000 + len(made.log.segments))
    for segment, written in zip(made.log.segments, times, strict=True):
        os.utime(segment.path, (written, written))
    keep = Keep(seconds=100.0)
    assert keep.due(made.log, 1100.0) is None
    assert keep.due(made.log, 1102.5) == made.log.segments[3].first
    made.close()


def test_a_base_is_not_written_for_little(tmp_path: Path) -> None:
    made = channel(tmp_path)
    big = [Fill(region=number, content=b"x" * 500) for number in range(50)]
    made.take("test", [Incoming(item) for item in big])
    compacted(made)
    assert made.log.base is not None
    keep = Keep(size=1)
    made.log.roll()
    made.take("test", [Incoming(Fill(region=1, content=b"y"))])
    made.log.roll()
    assert keep.due(made.log, 0.0) is None
    made.close()


# ------------------------------------------------------------------------------------------------- crashes


class Crash(BaseException):
    """The machine stops here."""


def crashing(monkeypatch: pytest.MonkeyPatch, target: object, name: str) -> None:
    def crash(*_: object, **__: object) -> None:
        raise Crash

    monkeypatch.setattr(target, name, crash)


MOMENTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "half written": lambda patch: crashing(patch, compaction, "number_of"),
    "before the renaming": lambda patch: crashing(patch, os, "replace"),
    "before the removal": lambda patch: crashing(patch, Path, "unlink"),
}


@pytest.mark.parametrize("moment", ["half written", "before the renaming", "before the removal"])
def test_a_crash_during_a_compaction_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    made = filled(tmp_path, 200)
    compacted(made, 12)
    assert made.log.base is not None
    everything = records(made)
    marks, books = dict(made.marks), made.positions.books()
    with monkeypatch.context() as patch:
        MOMENTS[moment](patch)
        with pytest.raises(Crash):
            compacted(made, 2)
    made.close()
    again = channel(tmp_path)
    assert t(items_of(wires(records(again)))) == t(items_of(wires(everything)))
    assert [entry for entry in everything if entry.n >= again.log.first] == records(again, again.log.first - 1)
    assert (again.log.head, again.marks, again.positions.books()) == (everything[-1].n, marks, books)
    assert len(list(tmp_path.glob("*.base"))) == 1
    assert not list(tmp_path.glob(".*"))
    compacted(again, 1)
    again.take("test", [Incoming(Fill(region=2, content=b"after"))])
    assert t(items_of(wires(records(again)))).endswith("after</r>")
    again.close()


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = filled(tmp_path)
    before = records(made)

    def full(*_: object) -> Iterator[tuple[int, bytes]]:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "_records", full)
        with pytest.raises(XStreamError, match="No space left"):
            compacted(made)
    assert records(made) == before
    assert not list(tmp_path.glob(".*"))
    compacted(made)
    assert len(records(made)) < len(before)
    made.close()


def test_a_damaged_base_is_an_error_and_nothing_is_removed(tmp_path: Path) -> None:
    made = filled(tmp_path)
    compacted(made)
    made.close()
    (base,) = tmp_path.glob("*.base")
    whole = base.read_bytes()
    for data in (whole[:-1], whole[:20], whole[:60] + b"!" + whole[61:], whole + b"x"):
        base.write_bytes(data)
        names = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(XStreamError, match="damaged"):
            channel(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == names
    base.write_bytes(whole)
    assert channel(tmp_path).log.head == 41


def test_a_log_without_its_beginning_and_without_a_base_is_damaged(tmp_path: Path) -> None:
    made = filled(tmp_path)
    made.close()
    made.log.segments[0].path.unlink()
    with pytest.raises(XStreamError, match="damaged"):
        channel(tmp_path)


# ------------------------------------------------------------------------------------------------- clients


def test_a_client_that_asks_for_what_is_gone_is_told_and_gets_the_stream_as_it_is(tmp_path: Path) -> None:
    async def run() -> None:
        limits, keep = replace(SMALL, tidying=0.02), Keep(size=4000)
        async with on_air(tmp_path, limits=limits, keep=keep, cycle=3600.0) as station:
            made = station.register("s")
            take(made, [Fill(region=0, content=b'<r><stream:hole id="1"/><stream:hole id="2"/></r>')])
            early = Client('string(stream("s"))', s=address(station, "s"))
            await until(lambda: early.complete)
            for number in range(2000):
                take(made, [Fill(region=number % 2 + 1, content=b"<i>%05d</i>" % number)])
                if not number % 200:
                    await until(lambda: early.complete)
            await until(lambda: made.counts["compactions"] and keep.due(made.log, 0.0) is None)  # all there will be
            first = made.log.first
            assert first > 1
            take(made, [Eos()])
            await asyncio.gather(*early.tasks)
            for start in (0, 3, first - 1, first, first + 1):
                client = Client('string(stream("s"))', s=address(station, "s", start))
                async with asyncio.timeout(DEADLINE):
                    await asyncio.gather(*client.tasks)
                assert client.complete
                # Since the number from which on all is kept, all comes.
                assert (len(client.numbers) == 2002 - start) == (start >= first - 1)
                assert client.answer == ("" if start else early.answer)
            await asyncio.to_thread(asked, station, first)

    asyncio.run(run())


def asked(station: Station, first: int) -> None:
    where = address(station, "s")
    stretch, since, items = read(where, 0, 7), 0, []
    assert stretch.first == first
    while since < stretch.head:
        stretch = read(where, since, 7)
        items += [item for _, item in stretch.entries]
        assert stretch.next > since
        since = stretch.next
    assert t(items).endswith("<i>01999</i></r>")
    assert read(where, first - 1, 7).first == 0
    assert not read(where, 5, until=first - 100).entries
    assert read(where, 5, until=first - 100).next == first - 100
    reader = LogBatchReader({"path": str(where)})
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert [row["seq"] for row in rows] == [entry.n for entry in station.channels["s"].log.read()]
    said = [str(arrival.item) for arrival in receive(where) if not isinstance(arrival.item, Change | Structure)]
    assert len(said) == 1
    assert f"XSC0110 {where} the server keeps its log from {first:,} on: of 1 to {first - 1:,}" in said[0]


def test_what_still_counts_may_come_in_any_order_and_by_half() -> None:
    parts = [
        (Header("s", "a", 100, (3, 7), (1, 1), first=90, after=0, through=40), [b"x", b"y"]),
        (Header("s", "a", 100, (), (), first=90, after=40, through=89), []),
        (Header("s", "a", 100, tuple(range(90, 101)), (1,) * 11), [b"z"] * 11),
    ]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        reception = Reception()
        news = 0
        for at, part in enumerate(order):
            assert not reception.complete
            news += len(reception.take(*parts[part]))
            assert reception.complete == (at == 2)
        assert (news, reception.since, reception.missing) == (13, 100, 0)
