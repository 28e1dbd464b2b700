"""Tuning in to a stream, reading its log, publishing: the client's side.

An address is ``xcast://host:port/stream``, with ``?from=beginning`` (the default), ``?from=now`` or ``?since=N``.

* :func:`tune`     asyncio: what is on the air, for ever, whatever becomes of the connection
* :func:`receive`  the same for a thread that waits: an iterator of arrivals, as a file gives them
* :func:`read`     the log by numbers, over plain HTTP: what has been read once is read again the same
* :class:`Publisher`  changes to a stream of a server, each batch exactly once

Only tuning in needs aiohttp.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import sleep
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import Request, urlopen
from uuid import uuid4

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.fragment import Arrival, FragmentReader, encode_change
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.serve import SCHEME
from xstreamcast.serve.message import Header, parse_message
from xstreamcast.serve.reception import Reception

if TYPE_CHECKING:
    from aiohttp import ClientSession

PORT: Final = 8203
STARTS: Final = ("beginning", "now")
MESSAGE_LIMIT: Final = 64 << 20
"""No message of a server is larger than this."""

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 10.0
_SILENCE: Final = 30.0
_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Address:
    """A stream of a server. ``start``: "beginning", "now", or N, which is the same as since N."""

    host: str
    port: int
    stream: str
    start: str | int = "beginning"

    def __str__(self) -> str:
        return f"{SCHEME}{self._host}:{self.port}/{self.stream}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def url(self, path: str = "", **query: object) -> str:
        """Where the server's HTTP service has something about the stream."""
        asked = f"?{urlencode(query)}" if query else ""
        return f"http://{self._host}:{self.port}/streams/{quote(self.stream, safe='')}{path}{asked}"


def parse_address(text: str, stream: str = "") -> Address:
    """An address as it is written; ``stream`` is the name where the address has none.

    >>> parse_address("xcast://127.0.0.1:8203/credit?since=17")
    Address(host='127.0.0.1', port=8203, stream='credit', start=17)
    """
    hint = "write xcast://host:port/stream, and ?from=beginning, ?from=now or ?since=N"
    parts = urlsplit(text)
    try:
        host, port = parts.hostname, parts.port or PORT
        asked = parse_qs(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        raise error("XSC0103", f"not an address: {text}", hint=hint) from None
    name = parts.path.strip("/") or stream
    since, place = asked.pop("since", [""])[-1], asked.pop("from", ["beginning"])[-1]
    start = int(since) if since.isascii() and since.isdecimal() else place
    known = not since if isinstance(start, str) else True
    if parts.scheme != "xcast" or not host or not name or "/" in name or asked or not known or place not in STARTS:
        raise error("XSC0103", f"not an address: {text}", hint=hint)
    return Address(host, port, name, start)


# ------------------------------------------------------------------------------------------------------- tuning in


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message brought that is new: numbers and elements."""

    header: Header
    news: list[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The connection is gone, or none could be made; it is tried again after ``wait`` seconds."""

    message: str
    wait: float


async def tune(
    address: Address, reception: Reception | None = None, *, rng: random.Random | None = None
) -> AsyncGenerator[Heard | Trouble, None]:
    """What is on the air, until the stream has ended and all of it has come.

    A connection that is lost is made again, after 0.1 s, 0.2 s … 10 s (and up to half of that more, so that not all
    clients come at once), and goes on since the last N that nothing is missing before. ``reception`` is what has come
    so far; it is kept up to date.
    """
    from aiohttp import ClientError, ClientSession, ClientTimeout

    state = Reception() if reception is None else reception
    chance = rng or random.Random()
    wait = _FIRST_WAIT
    # No limit in time on the whole: a stream goes on for ever. Silence is the heartbeat's business.
    async with ClientSession(timeout=ClientTimeout(total=None, sock_connect=_TIMEOUT)) as session:
        while True:
            try:
                async with aclosing(_listen(session, address, state)) as messages:
                    async for heard in messages:
                        wait = _FIRST_WAIT
                        yield heard
                        if state.ended is not None and state.complete:
                            return
                reason = "the server has closed the connection"
            except XStreamError as fault:
                reason = str(fault)
            except (ClientError, OSError, TimeoutError) as fault:
                reason = f"no connection: {fault or type(fault).__name__}"
            pause = wait * (1 + chance.random() / 2)
            yield Trouble(reason, pause)
            await asyncio.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT)


async def _listen(session: ClientSession, address: Address, state: Reception) -> AsyncGenerator[Heard, None]:
    from aiohttp import WSMsgType, WSServerHandshakeError

    asked: dict[str, object] = {"from": address.start}
    if isinstance(address.start, int):
        asked = {"since": address.start}
    if state.since:
        asked = {"since": state.since, "log": state.log}
    try:
        connection = await session.ws_connect(
            address.url("/tune", **asked), heartbeat=_SILENCE, max_msg_size=MESSAGE_LIMIT
        )
    except WSServerHandshakeError as refusal:
        hint = "xcast serve lists its streams at /streams" if refusal.status == 404 else ""
        what = f"there is no stream {address.stream!r}" if refusal.status == 404 else f"status {refusal.status}"
        raise error("XSC0102", f"the server refuses: {what}", hint=hint) from None
    async with connection:
        async for received in connection:
            if received.type is WSMsgType.BINARY:
                header, elements = parse_message(received.data)
                yield Heard(header, state.take(header, elements))
            elif received.type is WSMsgType.TEXT:
                raise error("XSC0102", f"the server says: {received.data[:500]}")


def receive(address: Address, reception: Reception | None = None) -> Iterator[Arrival]:
    """The arrivals of a stream, waited for; trouble with the connection is a diagnostic, and passes."""
    loop = asyncio.new_event_loop()
    messages = tune(address, reception)
    known = ""
    try:
        while True:
            try:
                came = loop.run_until_complete(anext(messages))
            except StopAsyncIteration:
                return
            if isinstance(came, Trouble):
                text = f"{came.message}; trying again"
                place = Place(str(address))
                if text != known:  # once, however often it is tried
                    yield Arrival(Diagnostic("XSC0101", "warning", text, place), place, 0)
                known = text
                continue
            known = ""
            for n, element in came.news:
                yield from _arrivals(n, element, address)
    finally:
        loop.run_until_complete(messages.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _arrivals(n: int, element: bytes, address: Address) -> Iterator[Arrival]:
    place = Place(str(address), offset=n)
    for arrival in FragmentReader([element], source=str(address)):
        yield replace(arrival, place=place, end=n)


# ------------------------------------------------------------------------------------------------------- the log


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a log: changes and structures by number; ``next`` is the N to go on since, ``head`` the last.

    ``log`` is the identity of the log: numbers of another one mean something else.
    """

    log: str
    head: int
    next: int
    entries: tuple[tuple[int, Change | Structure], ...]


def read(address: Address, since: int = 0, limit: int = 1000, *, log: str = "") -> Stretch:
    """At most so many records of a stream's log after N. The same N gives the same records, whenever it is asked.

    With ``log``, it is an error if the server's log has another identity.
    """
    asked: dict[str, object] = {"since": since, "limit": limit} | ({"log": log} if log else {})
    header, elements = parse_message(ask(Request(address.url("/log", **asked)), address))
    entries: list[tuple[int, Change | Structure]] = []
    for n, element in zip(header.n, elements, strict=True):
        for arrival in _arrivals(n, element, address):
            if isinstance(arrival.item, Diagnostic):
                raise error(arrival.item.code, arrival.item.message, arrival.place)
            entries.append((n, arrival.item))
    return Stretch(header.log, header.head, header.n[-1] if header.n else since, tuple(entries))


def ask(request: Request, address: Address) -> bytes:
    """What a server answers; raises what it refuses, and XSC0101 where there is none."""
    try:
        with urlopen(request, timeout=_TIMEOUT) as response:
            answer: bytes = response.read()
            return answer
    except HTTPError as refusal:
        try:
            told = json.loads(refusal.read())
        except ValueError:
            told = {}
        code, message = told.get("code", "XSC0102"), told.get("message", refusal.reason)
        raise error(code, f"{address}: {message}", hint=told.get("hint", "")) from None
    except (URLError, OSError) as fault:
        reason = getattr(fault, "reason", fault)
        raise error("XSC0101", f"{address}: no connection: {reason}", hint="is the server there?") from None


# ------------------------------------------------------------------------------------------------------- publishing


class Publisher:
    """Publishes to one stream of a server, which is registered if it is not there.

    A batch that may or may not have arrived is sent again with the same number, and the server takes it in once.
    """

    def __init__(self, address: Address, token: str) -> None:
        self.address = address
        self.token = token
        self.name = uuid4().hex
        self.batch = 0
        answer = json.loads(ask(self._request("PUT", b""), address))
        self.next_region: int = answer["next_region"]
        """Regions from this number on have not been spoken of."""

    def _request(self, method: str, body: bytes, path: str = "", **headers: str) -> Request:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/xml", **headers}
        return Request(self.address.url(path), data=body, method=method, headers=headers)

    def publish(self, items: Iterable[Change | Structure], patience: float = 60.0) -> dict[str, Any]:
        """Send a batch; what the server says about it. Without a connection it is tried again for so many seconds."""
        wires = [
            write_structure(item, declare=False).encode() if isinstance(item, Structure) else encode_change(item)
            for item in items
        ]
        self.batch += 1
        headers = {"Xcast-Publisher": self.name, "Xcast-Batch": str(self.batch)}
        request = self._request("POST", b"\n".join(wires), "/fragments", **headers)
        wait = _FIRST_WAIT
        while True:
            try:
                answer: dict[str, Any] = json.loads(ask(request, self.address))
                return answer
            except XStreamError as fault:
                if fault.code != "XSC0101" or patience <= 0:
                    raise
            sleep(wait)
            patience -= wait
            wait = min(2 * wait, _LONGEST_WAIT)
