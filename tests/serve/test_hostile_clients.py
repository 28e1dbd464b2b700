"""Whatever clients send, the station stays up: it answers, counts, logs, and lets go."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, WSMsgType
from air import SMALL, IdleTimeLoop, generated, on_air, take, until
from processes import DEADLINE

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Fill
from xstreamcast.serve import service
from xstreamcast.serve.limits import Allowance
from xstreamcast.serve.station import Station
from xstreamcast.wire.fragment import encode_change

TOKEN = {"Authorization": "Bearer secret"}
ROOT = Fill(region=0, content=b"<r/>")
Use = Callable[[Station, ClientSession], Awaitable[None]]


def with_station(folder: Path, use: Use, **options: Any) -> None:
    """Use a station with a stream, and see that it is still well afterwards."""

    async def run() -> None:
        async with on_air(folder, **options) as station:
            take(station.register("s"), [ROOT])
            async with ClientSession(f"http://127.0.0.1:{station.port}") as session:
                await use(station, session)
            # Another connection: the first one may have been let go.
            async with ClientSession(f"http://127.0.0.1:{station.port}") as session, session.get("/health") as answer:
                assert (await answer.json())["status"] == "ok"
            assert "failures" not in station.counts

    with asyncio.Runner(loop_factory=IdleTimeLoop) as runner:
        runner.run(run())


async def raw(station: Station, sent: bytes) -> bytes:
    """What is answered to bytes on a connection, until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", station.port)
    writer.write(sent)
    async with asyncio.timeout(DEADLINE):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({}, "a token is needed"),
        ({"Authorization": "Bearer"}, "a token is needed"),
        ({"Authorization": "Basic c2VjcmV0"}, "a token is needed"),
        ({"Authorization": "Bearer wrong"}, "the token is wrong"),
    ],
    ids=["none", "empty", "another scheme", "wrong"],
)
def test_nobody_publishes_without_the_token(tmp_path: Path, header: dict[str, str], message: str) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        for ask, path in (
            (session.post, "/streams/s/fragments"),
            (session.put, "/streams/x"),
            (session.delete, "/streams/s"),
        ):
            async with ask(path, data=b"<stream:eos/>", headers=header) as answer:
                assert answer.status == 401
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                assert (await answer.json())["message"] == message
        assert station.counts["refused_401"] == 3
        assert (station.channels["s"].log.head, list(station.channels)) == (1, ["s"])

    with_station(tmp_path, use)


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (b"GET /health HTTP/1.1\r\nHost: h\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n", 431, "is too long"),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 431, "is too long"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, "this is no HTTP request"),
        (b"GET /health HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400, "this is no HTTP request"),
        (b"PUT /streams/x HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \xff\r\n\r\n", 401, "the token is wrong"),
    ],
    ids=["a long header", "a long address", "not HTTP", "a header without a colon", "a token that is no UTF-8"],
)
def test_what_is_no_request_is_answered_and_logged_as_all_that_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: bytes, status: int, message: str
) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        head, _, body = (await raw(station, sent)).partition(b"\r\n\r\n")
        told = json.loads(body)
        assert (int(head.split()[1]), told["code"], message in told["message"]) == (status, "XSC0102", True)
        assert b"application/json" in head
        assert station.counts[f"refused_{status}"] == 1
        assert [(record.name, record.exc_info) for record in caplog.records] == [("xstreamcast.serve", None)]

    with_station(tmp_path, use)


def test_without_a_token_of_its_own_a_station_takes_no_publications(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        for header in ({}, {"Authorization": "Bearer "}):
            async with session.post("/streams/s/fragments", data=b"<stream:eos/>", headers=header) as answer:
                assert answer.status == 403

    with_station(tmp_path, use, token="")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"<a", 400, "XSC0001"),
        (b"\xff\xfe\x00", 400, "XSC0001"),
        (b'<stream:filler id="x">1</stream:filler>', 400, "XSC0003"),
        (b'<stream:filler id="1"><a></b></stream:filler>', 422, "XSC0001"),
        (b'<stream:filler id="1">&lol;</stream:filler>', 422, "XSC0001"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "/etc/passwd">]><stream:filler id="1">&x;</stream:filler>', 422, "XSC0001"),
        (b'<stream:filler id="1" tsid="4">1</stream:filler>', 422, "XSC0020"),
        (b'<stream:before id="7" target="0">\xc3\x28</stream:before>', 422, "XSC0001"),
        (b'<stream:eos/><stream:filler id="1">late</stream:filler>', 422, "XSC0107"),
        (b'<stream:filler id="1">' + b"<a>" * 10_001 + b"</a>" * 10_001 + b"</stream:filler>", 422, "XSC0007"),
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_malformed_is_answered_with_its_reason(tmp_path: Path, body: bytes, status: int, code: str) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.post("/streams/s/fragments", data=body, headers=TOKEN) as answer:
            told = await answer.json()
            assert (answer.status, told["code"]) == (status, code)
        assert station.counts[f"refused_{status}"] == 1
        assert b"passwd" not in b"".join(entry.wire for entry in station.channels["s"].log.read())

    with_station(tmp_path, use)


def test_a_malformed_batch_is_not_taken_in_by_half(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        body = encode_change(Fill(region=1, content=b"good")) + b"<stream:filler"
        async with session.post("/streams/s/fragments", data=body, headers=TOKEN) as answer:
            assert answer.status == 400
            assert answer.headers["Connection"] == "close"
        assert station.channels["s"].log.head == 1

    with_station(tmp_path, use)


def test_fuzzed_publications_leave_the_log_readable(tmp_path: Path) -> None:
    structure, changes = generated("commodities", 0.005, 3, 30)
    rng = random.Random(5)
    wires = [encode_change(change) for change in changes[:-1]]

    def fuzzed() -> bytes:
        at = rng.randrange(len(wires))
        data = bytearray(b"\n".join(wires[at : at + rng.randrange(5)]))
        for _ in range(rng.randrange(4)):
            if data:
                data[rng.randrange(len(data))] = rng.choice(b"<>&\"'/ \x00\xff]-!=:0a")
        return bytes(data)

    async def use(station: Station, session: ClientSession) -> None:
        station.register("f", structure)
        seen = set()
        for _ in range(150):
            async with session.post("/streams/f/fragments", data=fuzzed(), headers=TOKEN) as answer:
                seen.add(answer.status)
        assert seen == {200, 400, 422}
        head = station.channels["f"].log.head
        assert len(list(station.channels["f"].log.read())) == head

    with_station(tmp_path, use, limits=replace(SMALL, requests=1e6))


def test_what_is_too_large_is_refused_whether_it_says_so_or_not(tmp_path: Path) -> None:
    limits = replace(SMALL, post=10_000, fragment=5000)

    async def use(station: Station, session: ClientSession) -> None:
        async def chunks() -> object:
            for _ in range(20):
                yield b"x" * 1000

        for data in (b"x" * 10_001, chunks()):
            async with session.post("/streams/s/fragments", data=data, headers=TOKEN) as answer:
                assert answer.status == 413
        body = encode_change(Fill(region=1, content=b"x" * 6000))
        async with session.post("/streams/s/fragments", data=body, headers=TOKEN) as answer:
            assert "larger than 5000 bytes" in (await answer.json())["message"]
        huge = await raw(station, b"GET /streams HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
        assert huge.startswith((b"HTTP/1.1 431", b"HTTP/1.0 431"))
        assert station.channels["s"].log.head == 1

    with_station(tmp_path, use, limits=limits)


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fx", "a%2fb", ".lock", "a%00", "x" * 65, "1a", "%20", "a.b"])
def test_a_name_is_no_way_out_of_the_folder(tmp_path: Path, name: str) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        request = (
            f"PUT /streams/{name} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 0\r\n\r\n"
        )
        answer = await raw(station, request.encode())
        assert answer.split()[1] in (b"400", b"404", b"405")
        assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [".lock", "s"]
        assert [path.name for path in tmp_path.iterdir()] == ["logs"]

    with_station(tmp_path / "logs", use)


def test_a_client_that_speaks_is_told_and_let_go(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.ws_connect("/streams/s/tune") as socket:
            await socket.send_str("hello")
            said = [message async for message in socket]
            assert json.loads(next(one.data for one in said if one.type is WSMsgType.TEXT))["code"] == "XSC0104"
            assert socket.close_code == 1008
        async with session.ws_connect("/streams/s/tune") as socket:
            await socket.send_bytes(b"x" * 100_000)
            async for _ in socket:
                pass
            assert socket.close_code == 1009
        await until(lambda: station.listening == 0)
        assert station.counts["refused_1008"] == 1

    with_station(tmp_path, use)


@pytest.mark.parametrize("frame", [b"\xff\xff\xff\xff", b"\x82\x7f" + b"\xff" * 8, b"\x00" * 50, b"\x81\x05hello"])
def test_garbage_instead_of_frames_ends_the_connection(tmp_path: Path, frame: bytes) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        answer = await raw(
            station,
            b"GET /streams/s/tune HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + frame,
        )
        assert answer.startswith(b"HTTP/1.1 101")
        await until(lambda: station.listening == 0)
        assert sum(count for name, count in station.counts.items() if name.startswith("refused_")) == 1

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.5))  # who says well-formed things is waited for


@pytest.mark.parametrize("sent", [b"", b"GET /stre", b"GET /streams HTTP/1.1\r\nHost: x\r\n"])
def test_a_half_open_connection_is_let_go(tmp_path: Path, sent: bytes) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        assert await raw(station, sent) == b""
        assert station.counts["half_open"] == 1

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.2))


def test_a_publication_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        answer = await raw(
            station,
            b"POST /streams/s/fragments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n"
            b"Content-Length: 100\r\n\r\n<stream:eos/>",
        )
        assert answer.split()[1] == b"408"
        assert not station.channels["s"].current.ended

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.5))


def test_a_client_that_is_silently_gone_is_noticed(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.ws_connect("/streams/s/tune", autoping=False):  # it does not answer pings
            await until(lambda: station.listening == 1)
            await until(lambda: station.listening == 0)

    with_station(tmp_path, use, limits=replace(SMALL, heartbeat=1.0))


def test_too_much_on_one_connection_is_refused_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "Allowance", partial(Allowance, clock=lambda: 0.0))  # all in one moment

    async def use(station: Station, session: ClientSession) -> None:
        request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        answers = await raw(station, request * 30)
        assert answers.count(b"HTTP/1.1 200") == 10
        assert answers.count(b"HTTP/1.1 429") == 1  # and the connection is closed
        assert b"Retry-After: 1" in answers

    with_station(tmp_path, use, limits=replace(SMALL, requests=5.0))


def test_too_many_listeners_are_told_to_come_later(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.ws_connect("/streams/s/tune"), session.get("/streams/s/tune") as answer:
            assert answer.status == 503
            assert "Retry-After" in answer.headers
        async with session.get("/streams/s/tune") as answer:
            assert answer.status == 400  # it is no WebSocket

    with_station(tmp_path, use, limits=replace(SMALL, listeners=1))


@pytest.mark.parametrize("asked", ["since=-1", "since=x", "since=99", "since=1&limit=0", "limit=99999999999999"])
def test_places_that_are_none_are_refused(tmp_path: Path, asked: str) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.get(f"/streams/s/log?{asked}") as answer:
            assert answer.status in (400, 409)

    with_station(tmp_path, use)


def test_one_station_has_a_folder_at_a_time(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        with pytest.raises(XStreamError, match="in use"):
            await Station(tmp_path).start()

    with_station(tmp_path, use)


@pytest.mark.parametrize("second", [b"", b"GET /stre", b"POST /streams/s/fragments HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_connection_that_was_answered_does_not_stay_for_ever(tmp_path: Path, second: bytes) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        answer = await raw(station, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + second)
        assert answer.startswith(b"HTTP/1.1 200")
        assert (station.counts["idle"], station.counts["half_open"]) == (1, 0)

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.5))


def test_headers_that_come_byte_by_byte_are_not_waited_for(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", station.port)
        writer.write(b"GET /health HTTP/1.1\r\n")
        async with asyncio.timeout(DEADLINE):
            while not reader.at_eof() and reader.exception() is None:
                writer.write(b"X-A: b\r\n")
                with suppress(TimeoutError, ConnectionError):
                    await asyncio.wait_for(reader.read(1), 0.05)
        assert station.counts["half_open"] == 1
        writer.close()

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.3))


def test_an_answer_that_is_not_taken_is_taken_back(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        take(station.channels["s"], [Fill(region=1, content=b"x" * 4_000_000)])
        _, writer = await asyncio.open_connection("127.0.0.1", station.port, limit=1)
        writer.write(b"GET /streams/s/log HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: station.counts["slow_readers"] == 1)
        writer.close()

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.1, delivery=0.3, queue=4096))


def test_a_connection_too_many_is_turned_away(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        held = [await asyncio.open_connection("127.0.0.1", station.port) for _ in range(3)]
        answers = await asyncio.gather(*[raw(station, b"") for _ in range(5)])
        assert all(answer.startswith(b"HTTP/1.1 503") for answer in answers)
        assert station.counts["turned_away"] == 5
        for _, writer in held:
            writer.close()
        await until(lambda: len(station.connections) == 0)

    with_station(tmp_path, use, limits=replace(SMALL, connections=3))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_refused_when_it_has_become_too_large(tmp_path: Path, encoding: str) -> None:
    bomb = (gzip if encoding == "gzip" else zlib).compress(b"<stream:filler id='1'>" + b" " * 20_000_000)

    async def use(station: Station, session: ClientSession) -> None:
        assert len(bomb) < 100_000
        headers = {**TOKEN, "Content-Encoding": encoding}
        async with session.post("/streams/s/fragments", data=bomb, headers=headers) as answer:
            assert answer.status == 413
        assert station.counts["refused_413"] == 1
        body = gzip.compress(encode_change(Fill(region=1, content=b"good")))
        async with session.post(
            "/streams/s/fragments", data=body, headers={**TOKEN, "Content-Encoding": "gzip"}
        ) as answer:
            assert answer.status == 200

    with_station(tmp_path, use, limits=replace(SMALL, post=1_000_000))


def test_messages_are_not_compressed_whoever_asks_for_it(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.ws_connect("/streams/s/tune", compress=15) as socket:
            assert socket.compress == 0

    with_station(tmp_path, use)


def test_a_link_in_a_folder_does_not_lead_out_of_it(tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    (tmp_path / "secret.xml").write_text('<stream:filler id="7">secret</stream:filler>')
    (feed / "1.xml").symlink_to(tmp_path / "secret.xml")
    (feed / "2.xml").symlink_to("/etc/passwd")
    (feed / "4.xml").write_text('<stream:filler id="1">own</stream:filler>')
    (feed / "5.xml").symlink_to("4.xml")

    async def use(station: Station, session: ClientSession) -> None:
        station.serve("f", str(feed))
        await until(lambda: station.channels["f"].counts["without_effect"] == 1)
        assert [entry.region for entry in station.channels["f"].log.read()] == [1]
        assert not station.channels["f"].refused

    with_station(tmp_path / "log", use)


def test_hundreds_of_registrations_end_at_the_limit(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        seen: Counter[int] = Counter()
        for number in range(300):
            async with session.put(f"/streams/n{number % 30}", headers=TOKEN) as answer:
                seen[answer.status] += 1
        # Nineteen beside the one that is there, each ten times; the others are refused.
        assert seen == {201: 19, 200: 9 * 19, 400: 10 * 11}
        assert len(station.channels) == 20
        async with session.delete("/streams/n1", headers=TOKEN) as answer:
            assert answer.status == 200
        async with session.put("/streams/another", headers=TOKEN) as answer:
            assert answer.status == 201

    with_station(tmp_path, use, limits=replace(SMALL, streams=20, requests=1e6))


def test_whoever_listens_to_a_stream_that_is_unregistered_is_told(tmp_path: Path) -> None:
    async def use(station: Station, session: ClientSession) -> None:
        async with session.ws_connect("/streams/s/tune") as socket:
            await until(lambda: station.listening == 1)
            deleting = asyncio.create_task(session.delete("/streams/s", headers=TOKEN))
            async for _ in socket:
                pass
            assert socket.close_code == 1001
            assert (await deleting).status == 200
        await until(lambda: station.listening == 0)

    with_station(tmp_path, use)


def test_fuzzed_requests_and_frames_are_survived(tmp_path: Path) -> None:
    rng = random.Random(8)
    request = (
        b"POST /streams/s/fragments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 13\r\n\r\n"
        b"<stream:eos/>"
    )
    tune = (
        b"GET /streams/s/tune?since=0 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    def fuzzed(whole: bytes) -> bytes:
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.2 else data)

    async def use(station: Station, session: ClientSession) -> None:
        sent = [fuzzed(request) for _ in range(60)] + [fuzzed(tune) for _ in range(60)]
        sent += [tune + rng.randbytes(rng.randrange(1, 60)) for _ in range(60)]
        for at in range(0, len(sent), 20):
            await asyncio.gather(*[raw(station, data) for data in sent[at : at + 20]], return_exceptions=True)
        await until(lambda: station.listening == 0)
        assert len(list(station.channels["s"].log.read())) == station.channels["s"].log.head

    with_station(tmp_path, use, limits=replace(SMALL, patience=0.3, heartbeat=0.3))
