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
import os
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from http.client import HTTPException
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import Request, urlopen
from uuid import uuid4

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.serve import SCHEME
from xstreamcast.serve.message import Header, parse_message
from xstreamcast.serve.reception import Reception
from xstreamcast.wire.fragment import Arrival, FragmentReader, encode_change

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

    @property
    def site(self) -> str:
        """Where the server's HTTP service is."""
        return f"http://{self._host}:{self.port}"

    def url(self, path: str = "", **query: object) -> str:
        """Where it has something about the stream."""
        asked = f"?{urlencode(query)}" if query else ""
        return f"{self.site}/streams/{quote(self.stream, safe='')}{path}{asked}"


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
    """The news of a message: numbers and elements."""

    header: Header
    news: list[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The connection is gone, or none could be made; it is tried again after ``wait`` seconds.

    ``refused``: there is a server, and it says why.
    """

    message: str
    wait: float
    refused: bool = False


async def tune(
    address: Address, reception: Reception | None = None, *, rng: random.Random | None = None
) -> AsyncGenerator[Heard | Trouble, None]:
    """The messages on the air, until the stream has ended and all of it has come.

    A connection that is lost is made again, after 0.1 s, 0.2 s … 10 s (and up to half of that more, so that not all
    clients come at once), and goes on since the last N that nothing is missing before. ``reception`` is what has come
    so far; it is kept up to date.
    """
    from aiohttp import ClientError, ClientSession, ClientTimeout

    state = Reception() if reception is None else reception
    chance = rng or random.Random()
    wait = _FIRST_WAIT
    if isinstance(address.start, int) and not state.log:
        state.since = state.head = address.start  # who asks for what comes after it has the rest
    # No limit in time on the whole: a stream goes on for ever. Silence is the heartbeat's business.
    async with ClientSession(timeout=ClientTimeout(total=None, sock_connect=_TIMEOUT)) as session:
        while True:
            try:
                async with aclosing(_listen(session, address, state)) as messages:
                    async for heard in messages:
                        wait, state.trouble = _FIRST_WAIT, ""
                        yield heard
                        if state.ended is not None and state.complete:
                            return
                state.trouble, refused = "the server has closed the connection", False
            except XStreamError as fault:
                state.trouble, refused = fault.message, fault.code == "XSC0102"
            except (ClientError, OSError, TimeoutError) as fault:
                state.trouble, refused = f"no connection: {_reason(fault)}", False
            pause = wait * (1 + chance.random() / 2)
            yield Trouble(state.trouble, pause, refused)
            await asyncio.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT)


async def _listen(session: ClientSession, address: Address, state: Reception) -> AsyncGenerator[Heard, None]:
    from aiohttp import WSMsgType, WSServerHandshakeError

    asked: dict[str, object] = {"from": address.start}
    if state.since or isinstance(address.start, int):
        asked = {"since": state.since} | ({"log": state.log} if state.log else {})
    try:
        connection = await session.ws_connect(
            address.url("/tune", **asked), heartbeat=_SILENCE, max_msg_size=MESSAGE_LIMIT
        )
    except WSServerHandshakeError as refusal:
        unknown = f"there is no stream {address.stream!r} (xcast listen --list shows which there are)"
        what = unknown if refusal.status == 404 else f"status {refusal.status}"
        raise error("XSC0102", f"the server refuses: {what}") from None
    async with connection:
        async for received in connection:
            if received.type is WSMsgType.BINARY:
                header, elements = parse_message(received.data)
                yield Heard(header, state.take(header, elements))
            elif received.type is WSMsgType.TEXT:
                raise error("XSC0102", f"the server says: {received.data[:500]}")


def _reason(fault: BaseException) -> str:
    """Why there is no connection, in a few words."""
    system = getattr(fault, "os_error", fault)
    number = getattr(system, "errno", None) or 0
    said = os.strerror(number) if number > 0 else getattr(system, "strerror", None)
    return said or str(fault) or type(fault).__name__


class Outage:
    """Reports of a connection that comes and goes: once that it is gone, and why; once that it is back.

    While it is gone, only a server that is there and refuses is worth another word.

    >>> now = [0.0]
    >>> outage = Outage(lambda: now[0])
    >>> outage.gone(Trouble("no connection: Connection refused", 0.1)), outage.gone(Trouble("no connection: …", 0.2))
    ('no connection: Connection refused; trying again', '')
    >>> now[0] = 4.2
    >>> outage.back(), outage.back()
    ('connected again after 4.2 s', '')
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.since: float | None = None
        self.said: set[str] = set()

    def gone(self, trouble: Trouble) -> str:
        """There is no connection; empty where nothing is to be said."""
        if self.since is None:
            self.since = self.clock()
        elif not trouble.refused or trouble.message in self.said:
            return ""
        self.said.add(trouble.message)
        return f"{trouble.message}; trying again"

    def back(self) -> str:
        """There is a connection."""
        if self.since is None:
            return ""
        gone, self.since = self.clock() - self.since, None
        self.said.clear()
        return f"connected again after {gone:.1f} s"


def shortened(heard: Heard) -> str:
    """A report that a server keeps less of its log than was asked for; empty where it keeps all."""
    first, after = heard.header.first, heard.header.after
    if not first:
        return ""
    return f"the server keeps its log from {first:,} on: of {after + 1:,} to {first - 1:,} came what still counts"


def check_log(address: Address, known: str, heard: Heard) -> str:
    """The identity of the log that something came from; raises where it is not the one that is known."""
    if known and heard.header.log != known:
        hint = "what came before is not of this stream any more: begin anew"
        raise error("XSC0105", f"{address} has another log than before", hint=hint)
    return heard.header.log


def receive(address: Address, reception: Reception | None = None) -> Iterator[Arrival]:
    """The arrivals of a stream, waited for; trouble with the connection is a diagnostic, and passes.

    Another log under the same name is an error: what has been handed on cannot be taken back.
    """
    loop = asyncio.new_event_loop()
    state = Reception() if reception is None else reception
    messages = tune(address, state)
    place, outage, log, told = Place(str(address)), Outage(), state.log, ""

    async def following() -> Heard | Trouble:
        return await anext(messages)

    try:
        while True:
            try:
                came = loop.run_until_complete(following())
            except StopAsyncIteration:
                return
            said = outage.gone(came) if isinstance(came, Trouble) else outage.back()
            if said:
                yield Arrival(Diagnostic("XSC0101", "warning", said, place), place, 0)
            if isinstance(came, Trouble):
                continue
            log = check_log(address, log, came)
            if not told and (told := shortened(came)):
                yield Arrival(Diagnostic("XSC0110", "warning", told, place), place, 0)
            for n, element in came.news:
                yield from arrivals_of(n, element, address)
    finally:
        if waiting := sorted(asyncio.all_tasks(loop), key=asyncio.Task.get_name):  # interrupted, not yet waited for
            for task in waiting:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
        loop.run_until_complete(messages.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def arrivals_of(n: int, element: bytes, address: Address) -> Iterator[Arrival]:
    """The arrivals of an element of a message; their place is the number."""
    place = Place(str(address), offset=n)
    for arrival in FragmentReader([element], source=str(address)):
        yield replace(arrival, place=place, end=n)


# ------------------------------------------------------------------------------------------------------- the log


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a log: changes and structures by number; ``next`` is the N to go on since, ``head`` the last.

    ``log`` is the identity of the log: numbers of another one mean something else. ``first``: not 0 where the log is
    compacted, and the stretch lies before that number, from which on all records are kept: it has what still counts.
    """

    log: str
    head: int
    next: int
    entries: tuple[tuple[int, Change | Structure], ...]
    first: int = 0


def read(
    address: Address,
    since: int = 0,
    limit: int = 1000,
    *,
    until: int | None = None,
    log: str = "",
    patience: float = 0.0,
) -> Stretch:
    """At most so many records of a stream's log after N, up to another number if one is given.

    The same N gives the same records, whenever it is asked, as long as the server keeps them. With ``log``, it is an
    error if the server's log has another identity. Without a connection it is tried again for so many seconds.
    """
    asked: dict[str, object] = {"since": since, "limit": limit} | ({"log": log} if log else {})
    asked |= {} if until is None else {"until": until}
    header, elements = parse_message(ask_again(Request(address.url("/log", **asked)), address, patience))
    entries: list[tuple[int, Change | Structure]] = []
    for n, element in zip(header.n, elements, strict=True):
        for arrival in arrivals_of(n, element, address):
            if isinstance(arrival.item, Diagnostic):
                raise error(arrival.item.code, arrival.item.message, arrival.place)
            entries.append((n, arrival.item))
    reached = header.through if header.first else header.n[-1] if header.n else since
    return Stretch(header.log, header.head, reached, tuple(entries), header.first)


def ask(request: Request, address: Address) -> bytes:
    """The answer of a server; raises its refusal, and XSC0101 where there is none."""
    try:
        with urlopen(request, timeout=_TIMEOUT) as response:
            answer: bytes = response.read()
            return answer
    except HTTPError as refusal:
        try:
            told = json.loads(refusal.read())
        except (ValueError, OSError, HTTPException):
            told = {}
        code, message = told.get("code", "XSC0102"), told.get("message", refusal.reason)
        raise error(code, f"{address}: {message}", hint=told.get("hint", "")) from None
    except (URLError, OSError, HTTPException) as fault:  # the last: it went away in the middle of its answer
        reason = getattr(fault, "reason", fault)
        why = _reason(reason) if isinstance(reason, OSError) else str(reason)
        raise error("XSC0101", f"{address}: no connection: {why}", hint="is the server there?") from None


def ask_again(request: Request, address: Address, patience: float) -> bytes:
    """The same, and without a connection again for so many seconds."""
    wait = _FIRST_WAIT
    while True:
        try:
            return ask(request, address)
        except XStreamError as fault:
            if fault.code != "XSC0101" or patience <= 0:
                raise
        sleep(wait)
        patience -= wait
        wait = min(2 * wait, _LONGEST_WAIT)


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
        self.structured: bool = answer["structure"]
        """Whether the stream had a tag structure before."""

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
        answer: dict[str, Any] = json.loads(ask_again(request, self.address, patience))
        return answer
