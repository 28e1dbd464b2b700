"""A station and many clients on real sockets: who hears what, from where on; and nobody is waited for."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from air import SMALL, Client, address, generated, on_air, take, until
from processes import DEADLINE

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, ContentChange, Eos, Fill, Remove, Replace
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.serve.channel import Channel, Listener
from xstreamcast.serve.client import Heard, Publisher, parse_address, read, tune
from xstreamcast.serve.message import Header, parse_message
from xstreamcast.serve.reception import Reception
from xstreamcast.serve.station import Station

ROOT = Fill(region=0, content=b'<r><stream:hole id="1"/><stream:hole id="2"/></r>')
QUIET: dict[str, Any] = {"cycle": 3600.0}


def filler(region: int, text: str, version: int | None = None) -> Fill:
    return Fill(region=region, version=version, content=text.encode())


def get(station: Station, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{station.port}{path}", timeout=DEADLINE) as response:
        return str(response.read().decode())


async def first(station: Station, stream: str, start: str | int, count: int) -> list[tuple[int, bytes]]:
    """The first so many records that a client hears."""
    heard: list[tuple[int, bytes]] = []
    async with aclosing(tune(address(station, stream, start))) as messages:
        async for came in messages:
            assert isinstance(came, Heard)
            heard += came.news
            if len(heard) >= count:
                break
    return heard


def test_the_structure_comes_first_wherever_one_begins(tmp_path: Path) -> None:
    async def run() -> None:
        structure, changes = generated("commodities", 0.01, 1, 0)
        async with on_air(tmp_path) as station:
            channel = station.register("goods", structure)
            take(channel, changes)
            for start in ("beginning", "now", 7):
                heard = await first(station, "goods", start, 1)
                assert heard[0][1].startswith(b"<stream:structure")

    asyncio.run(run())


def test_from_the_beginning_from_now_and_since_n(tmp_path: Path) -> None:
    async def run() -> None:
        async with on_air(tmp_path, **QUIET) as station:
            channel = station.register("s")
            take(channel, [ROOT, filler(1, "a"), filler(2, "b")])
            everything = await first(station, "s", "beginning", 3)
            assert [n for n, _ in everything] == [1, 2, 3]
            assert [n for n, _ in await first(station, "s", 2, 1)] == [3]
            client = Client(None, s=address(station, "s", "now"))
            await until(lambda: len(channel.live) == 1 and station.listening == 1)
            take(channel, [filler(1, "c")])
            await until(lambda: 4 in client.numbers)
            await client.close()

    asyncio.run(run())


def test_the_stream_is_over_when_eos_and_all_before_it_have_come(tmp_path: Path) -> None:
    async def run() -> None:
        async with on_air(tmp_path) as station:
            take(station.register("s"), [ROOT, filler(1, "a"), Eos()])
            for start in ("beginning", "now", 1):
                client = Client(None, s=address(station, "s", start))
                async with asyncio.timeout(DEADLINE):
                    await asyncio.gather(*client.tasks)
                assert client.receptions["s"].ended == 3

    asyncio.run(run())


def test_higher_priorities_go_first_live_and_in_the_carousel(tmp_path: Path) -> None:
    tags = parse_structure(
        '<structure><tag id="1" name="r"><tag id="2" name="a" type="filler"/>'
        '<tag id="3" name="b" type="filler" priority="5"/></tag></structure>'
    )

    async def run() -> None:
        async with on_air(tmp_path) as station:
            channel = station.register("s", tags)
            outlet = Outlet()
            channel.join(Listener(outlet))
            low, high = Fill(region=1, tsid=2, content=b"<a/>"), Fill(region=2, tsid=3, content=b"<b/>")
            take(channel, [ROOT, low, high])
            await until(lambda: len(outlet.cycles) >= 2)
            assert [header.n for header in outlet.headers if header.cycle is None] == [(1, 4, 2, 3)]
            for numbers in outlet.cycles[1:]:
                assert numbers == [1, 4, 2, 3]

    asyncio.run(run())


class Outlet:
    """A connection that takes everything, or nothing."""

    def __init__(self) -> None:
        self.waiting = 0
        self.stalled = False
        self.headers: list[Header] = []

    @property
    def cycles(self) -> list[list[int]]:
        """The numbers of each whole cycle."""
        made: dict[int, list[int]] = {}
        for header in self.headers:
            if header.cycle is not None:
                made.setdefault(header.cycle, []).extend(header.n)
        ends = {header.cycle: header.of for header in self.headers}
        return [numbers for turn, numbers in made.items() if len(numbers) == ends[turn]]

    def write(self, data: bytes) -> None:
        at = {126: 4, 127: 10}.get(data[1], 2)
        self.headers.append(parse_message(data[at:])[0])
        if self.stalled:
            self.waiting += len(data)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing to close."""


def test_a_full_queue_drops_for_that_client_alone_and_counts_it(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel("s", tmp_path, replace(SMALL, queue=4000, message=500), "never")
        slow, fast = Outlet(), Outlet()
        slow.stalled = True
        listeners = [Listener(slow), Listener(fast)]
        for listener in listeners:
            channel.join(listener)
        take(channel, [ROOT, *[filler(number, "x" * 300) for number in range(1, 50)]])
        for data, fragments in channel.fresh():
            channel.push(data, fragments)
        assert listeners[0].sent + listeners[0].dropped == listeners[1].sent == 50
        assert listeners[0].dropped == channel.counts["dropped_fragments"] > 30
        assert slow.waiting <= 4000
        assert listeners[1].dropped == 0
        # A repeat gives way to what is live: it is not even tried.
        before = len(slow.headers)
        channel.push(channel.message(list(channel.log.read(count=1))), 1, repeats=True)
        assert (len(slow.headers), listeners[0].missed) == (before, 1)
        channel.close()

    asyncio.run(run())


def all_heard(clients: list[Client], fragments: int) -> bool:
    return all(client.heard == fragments for client in clients)


def test_fifty_clients_hear_everything_though_five_of_them_are_stalled(tmp_path: Path) -> None:
    clients, stalled, batches = 45, 5, 40

    async def run() -> None:
        async with on_air(tmp_path, limits=replace(SMALL, queue=1 << 16), **QUIET) as station:
            channel = station.register("s")
            take(channel, [ROOT])
            healthy = [Client(None, s=address(station, "s")) for _ in range(clients)]
            deaf = [stall(station.port, "s") for _ in range(stalled)]
            await until(lambda: len(channel.live) == clients + stalled)
            for batch in range(batches):
                take(channel, [filler(1, f"{batch}" + "x" * 20_000)])
                # They keep up: a client is healthy if it takes what comes at the rate at which it comes.
                await until(partial(all_heard, healthy, 2 + batch))
            assert all(client.complete for client in healthy)
            assert len([listener for listener in channel.live if listener.dropped]) == stalled
            assert channel.counts["dropped_fragments"] >= stalled
            told = json.loads(await asyncio.to_thread(get, station, "/streams/s"))
            assert sum(one["dropped"] for one in told["tuned_in"]) == channel.counts["dropped_fragments"]
            assert 'event="dropped_fragments"' in await asyncio.to_thread(get, station, "/metrics")
            for connection in deaf:
                connection.close()
            for client in healthy:
                await client.close()

    asyncio.run(run())


def stall(port: int, stream: str) -> socket.socket:
    """A client that tunes in and never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(
        f"GET /streams/{stream}/tune HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    return connection


def test_a_client_that_missed_something_is_repaired_by_the_carousel(tmp_path: Path) -> None:
    async def run() -> None:
        async with on_air(tmp_path) as station:
            channel = station.register("s")
            take(channel, [ROOT, filler(1, "a"), filler(2, "b")])
            client = Client('string(stream("s"))', s=address(station, "s"))
            await until(lambda: client.answer == "ab")
            (listener,) = channel.live
            channel.live.clear()  # nothing reaches it
            take(channel, [filler(1, "A"), Remove(region=2)])
            await until(lambda: not channel._fresh)
            channel.live[listener] = None
            await until(lambda: client.answer == "A")
            assert client.complete
            await client.close()

    asyncio.run(run())


# ------------------------------------------------------------------------------------------------- the registry


def test_streams_are_registered_published_to_and_unregistered(tmp_path: Path) -> None:
    structure, changes = generated("currencies", 0.1, 1, 20)

    def use(station: Station) -> None:
        publisher = Publisher(address(station, "rates"), "secret")
        assert publisher.publish([structure, *changes])["logged"] == read(address(station, "rates")).head
        assert [told["name"] for told in json.loads(get(station, "/streams"))] == ["rates"]
        assert parse_structure(get(station, "/streams/rates/structure")).tags == structure.tags
        assert json.loads(get(station, "/health"))["status"] == "ok"
        address_of = f"http://127.0.0.1:{station.port}/streams/rates"
        unregister = Request(address_of, method="DELETE", headers={"Authorization": "Bearer secret"})
        urlopen(unregister, timeout=DEADLINE).close()
        assert json.loads(get(station, "/streams")) == []
        with pytest.raises(XStreamError, match="no such stream"):
            read(address(station, "rates"))

    async def run() -> None:
        async with on_air(tmp_path) as station:
            await asyncio.to_thread(use, station)
        async with on_air(tmp_path) as station:
            assert not station.channels
            station.register("rates")  # its log is still there
            assert station.channels["rates"].current.ended

    asyncio.run(run())


def test_a_batch_that_is_sent_twice_is_taken_in_once(tmp_path: Path) -> None:
    def use(station: Station) -> None:
        publisher = Publisher(address(station, "s"), "secret")
        publisher.publish([ROOT, filler(1, "a")])
        publisher.publish([filler(1, "b")])
        publisher.batch -= 1  # as if the answer had been lost
        assert publisher.publish([filler(1, "b")])["again"]
        publisher.publish([filler(1, "a")])
        log = [item for _, item in read(address(station, "s")).entries[1:]]
        assert [item.content for item in log if isinstance(item, ContentChange)] == [b"a", b"b", b"a"]
        assert len(log) == 3

    async def run() -> None:
        async with on_air(tmp_path) as station:
            await asyncio.to_thread(use, station)
        async with on_air(tmp_path) as station:
            marks = station.channels["s"].marks
            assert list(marks.values()) == ["3"]

    asyncio.run(run())


def test_the_log_is_read_by_number_and_reads_the_same_every_time(tmp_path: Path) -> None:
    structure, changes = generated("commodities", 0.02, 1, 100)

    def use(station: Station) -> None:
        where = address(station, "goods")
        since, entries = 0, list[Any]()
        while (stretch := read(where, since, 50)).entries:
            assert stretch == read(where, since, 50, log=stretch.log)
            assert len(stretch.entries) <= 50
            entries += stretch.entries
            since = stretch.next
        assert since == stretch.head == entries[-1][0]
        assert [n for n, _ in entries] == list(range(1, since + 1))
        assert sum(isinstance(item, Structure) for _, item in entries) == 1
        assert sum(isinstance(item, Change) for _, item in entries) == since - 1
        with pytest.raises(XStreamError, match="not a place in this log"):
            read(where, since, log="0" * 32)
        with pytest.raises(XStreamError, match="not a place in this log"):
            read(where, since + 1)

    async def run() -> None:
        async with on_air(tmp_path) as station:
            take(station.register("goods", structure), changes)
            await asyncio.to_thread(use, station)

    asyncio.run(run())


def test_a_reader_with_patience_waits_for_a_server_that_is_away(tmp_path: Path, own_port: int) -> None:
    async def run() -> None:
        async with on_air(tmp_path, port=own_port) as station:
            take(station.register("s"), [ROOT])
            where = address(station, "s")
        with pytest.raises(XStreamError, match="no connection: Connection refused"):
            await asyncio.to_thread(read, where)
        waiting = asyncio.create_task(asyncio.to_thread(read, where, patience=DEADLINE))
        again = Station(tmp_path, limits=SMALL)
        await again.start(port=own_port)
        assert (await waiting).head == 1
        await again.stop()

    asyncio.run(run())


def test_a_restarted_station_goes_on_and_its_clients_come_back_by_themselves(tmp_path: Path, own_port: int) -> None:
    async def run() -> None:
        async with on_air(tmp_path, port=own_port) as station:
            take(station.register("s"), [ROOT, filler(1, "a")])
            client = Client('string(stream("s"))', s=address(station, "s"))
            await until(lambda: client.answer == "a")
        await until(lambda: client.troubles > 1)
        again = Station(tmp_path, limits=SMALL, cycle=0.1)
        await again.start(port=own_port)
        take(again.channels["s"], [filler(2, "b"), Replace(region=1, content=b"A"), Eos()])
        async with asyncio.timeout(DEADLINE):
            await asyncio.gather(*client.tasks)
        assert client.answer == "Ab"
        assert client.receptions["s"].since == 5
        await again.stop()

    asyncio.run(run())


def test_a_client_of_a_log_that_is_no_more_begins_the_new_one(tmp_path: Path) -> None:
    async def run() -> None:
        reception = Reception(log="0" * 32, since=50, head=50)
        async with on_air(tmp_path) as station:
            take(station.register("s"), [ROOT, filler(1, "a"), Eos()])
            async for _ in tune(address(station, "s"), reception):
                pass
            assert (reception.log, reception.since) == (station.channels["s"].log.id, 3)

    asyncio.run(run())


@pytest.mark.parametrize(
    "text", ["xcast://", "http://h:1/s", "xcast://h/a/b", "xcast://h:x/s", "xcast://h/s?from=then", "xcast://h/s?x=1"]
)
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(XStreamError) as fault:
        parse_address(text)
    assert fault.value.code == "XSC0103"


def test_addresses() -> None:
    assert str(parse_address("xcast://[::1]:99/s?from=now")) == "xcast://[::1]:99/s"
    assert parse_address("xcast://host", "s").port == 8203
