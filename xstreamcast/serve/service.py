"""The server's HTTP service: the registry, publishing, the log, metrics; and tuning in, over WebSocket.

    GET    /health                      is it there
    GET    /metrics                     figures, as Prometheus reads them
    GET    /streams                     all streams
    GET    /streams/NAME                one of them
    GET    /streams/NAME/structure      its tag structure
    GET    /streams/NAME/log            its log: ?since=N&until=M&limit=L
    GET    /streams/NAME/tune           WebSocket: ?from=beginning, ?from=now, ?since=N
    PUT    /streams/NAME                register it (token); the body may be its tag structure
    DELETE /streams/NAME                unregister it (token); its log stays
    POST   /streams/NAME/fragments      publish (token): structures and changes in the wire form
    …      /console                     the console, where it is served (xstreamcast.console.routes)

What is refused is answered with a JSON object (code, message, hint), counted, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import CRITICAL, Logger
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import LineTooLong

from xstreamcast.errors import XStreamError, error
from xstreamcast.metrics import CONTENT_TYPE
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.serve.channel import Channel, Incoming, Listener
from xstreamcast.serve.limits import Allowance
from xstreamcast.wire.fragment import FragmentReader

if TYPE_CHECKING:
    from xstreamcast.serve.station import Station

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_NO_LOG: Final = Logger("access", CRITICAL)  # of requests that were answered
_LOG_LIMIT: Final = 10_000
_LOG_BYTES: Final = 8 << 20
_WORD: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_STATUS: Final = {"XSC0107": 409, "XSC0020": 409, "XSC0021": 409, "XSC0100": 503, "XSC0141": 409, "XSC0142": 404}


def application(station: Station) -> web.Application:
    """The service of a station."""
    service = _Service(station)
    app = web.Application(middlewares=[service.guard], client_max_size=station.limits.post)
    app.add_routes(
        [
            web.get("/health", service.health),
            web.get("/metrics", service.metrics),
            web.get("/streams", service.streams),
            web.get("/streams/{name}", service.stream),
            web.get("/streams/{name}/structure", service.structure),
            web.get("/streams/{name}/log", service.log),
            web.get("/streams/{name}/tune", service.tune),
            web.put("/streams/{name}", service.register),
            web.delete("/streams/{name}", service.unregister),
            web.post("/streams/{name}/fragments", service.publish),
        ]
    )
    if station.desk is not None:
        app.add_routes(station.desk.routes())
    return app


class _Refused(Exception):
    """Answered with a status and a reason."""

    def __init__(self, status: int, fault: XStreamError, **headers: str) -> None:
        super().__init__(fault.message)
        self.status = status
        self.fault = fault
        self.headers = headers


def refused(status: int, message: str, hint: str = "", **headers: str) -> _Refused:
    """An error that is raised to answer with a status and a reason."""
    return _Refused(status, error("XSC0102", message, hint=hint), **headers)


def authorise(station: Station, request: web.Request) -> None:
    """Raise unless a request has the token of the server; it is compared in constant time."""
    token = station.token
    if not token:
        raise refused(403, "this server takes no publications", "start it with --token")
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given.strip():
        raise refused(401, "a token is needed", "Authorization: Bearer TOKEN", **{"WWW-Authenticate": "Bearer"})
    if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode()):
        hint = "it is the one that the server was started with: --token"
        raise refused(401, "the token is wrong", hint, **{"WWW-Authenticate": 'Bearer error="invalid_token"'})


class Connection(web.RequestHandler):
    """A connection to a station: what is no request, or ours to answer for, is answered in the same form."""

    __slots__ = ("station",)

    def __init__(self, station: Station, server: web.Server) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), access_log=_NO_LOG, lingering_time=1.0)
        self.station = station

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what could not be read, or has failed; only a failure of ours has a traceback in the log."""
        if status >= 500:
            self.log_exception("a request from %s has failed", request.remote, exc_info=exc)
            if request.writer.output_size > 0:
                raise ConnectionError("a part of the answer has been sent")
            fault = error("XSC0102", "the server has failed", hint="its log says why")
        elif isinstance(exc, LineTooLong):
            status = 431
            fault = error("XSC0102", "a line of the request is too long", hint=f"at most {self.max_field_size} bytes")
        else:
            reason = (message or "").partition("\n")[0].rstrip(":")
            fault = error("XSC0102", f"this is no HTTP request: {reason}")
        return _answer(self.station, request, status, fault, {})


def _answer(
    station: Station, request: web.BaseRequest, status: int, fault: XStreamError, headers: dict[str, str]
) -> web.StreamResponse:
    station.refused(request.remote or "", f"{request.method} {request.path[:200]}", status, fault)
    told: dict[str, Any] = {"code": fault.code, "message": fault.message, "hint": fault.hint}
    if fault.place is not None:
        told |= {"place": str(fault.place), "line": fault.place.line, "column": fault.place.column}
    response = web.json_response(told, status=status, headers=headers)
    response.force_close()
    return response


class _Service:
    """The handlers of requests; ``guard`` is around all of them."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.limits = station.limits
        self.requests: WeakKeyDictionary[Any, Allowance] = WeakKeyDictionary()
        self.published: WeakKeyDictionary[Any, Allowance] = WeakKeyDictionary()

    # ------------------------------------------------------------------------------------------------- guarding

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Limits, and answers to what is wrong; whatever happens to one request, the server stays up."""
        self.station.greeted(request.transport)
        try:
            self._allow(self.requests, self.limits.requests, request, 1.0)
            return await handler(request)
        except _Refused as refusal:
            return _answer(self.station, request, refusal.status, refusal.fault, refusal.headers)
        except XStreamError as fault:
            return _answer(self.station, request, _STATUS.get(fault.code, 400), fault, {})
        except web.HTTPException as fault:
            hint = {413: f"at most {self.limits.post} bytes", 404: "see /streams"}.get(fault.status, "")
            return _answer(self.station, request, fault.status, error("XSC0102", fault.reason, hint=hint), {})
        except TimeoutError:
            return _answer(self.station, request, 408, error("XSC0102", "what was announced did not come in time"), {})
        finally:
            self.station.answered(request.transport)

    def _allow(
        self, allowances: WeakKeyDictionary[Any, Allowance], rate: float, request: web.Request, amount: float
    ) -> None:
        connection = request.transport
        allowance = allowances.get(connection)
        if allowance is None:
            allowance = allowances[connection] = Allowance(rate)
        wait = allowance.take(amount)
        if wait:
            message = "too much at once on one connection"
            raise refused(429, message, f"come again in {wait:.1f} s", **{"Retry-After": str(int(wait) + 1)})

    def _channel(self, request: web.Request) -> Channel:
        channel = self.station.channels.get(request.match_info["name"])
        if channel is None:
            raise refused(404, "there is no such stream", "see /streams")
        return channel

    # ------------------------------------------------------------------------------------------------- asking

    async def health(self, request: web.Request) -> web.StreamResponse:
        """It is there."""
        return web.json_response({"status": "ok", "streams": len(self.station.channels)})

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        """Counts and sizes, one line each."""
        return web.Response(body=self.station.metrics().encode(), headers={"Content-Type": CONTENT_TYPE})

    async def streams(self, request: web.Request) -> web.StreamResponse:
        """All streams."""
        return web.json_response([self.station.described(name) for name in sorted(self.station.channels)])

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """One stream, with who listens and what was refused last."""
        channel = self._channel(request)
        listeners = [
            {"peer": one.peer, "sent": one.sent, "dropped": one.dropped, "missed": one.missed} for one in channel.live
        ]
        last = [str(diagnostic) for diagnostic in channel.refused]
        return web.json_response({**self.station.described(channel.name), "tuned_in": listeners, "refused": last})

    async def structure(self, request: web.Request) -> web.StreamResponse:
        """The tag structure."""
        channel = self._channel(request)
        if channel.current.structure is None:
            raise refused(404, "the stream has no structure yet", "it comes with the stream")
        return web.Response(body=channel.current.structure_text, content_type="application/xml")

    def _since(self, request: web.Request, channel: Channel) -> int:
        asked = request.query.get("since", "0")
        if not (asked.isascii() and asked.isdecimal() and len(asked) <= 18):
            raise refused(400, "since is a whole number", "the last N that has come")
        log = request.query.get("log", "")
        if (log and log != channel.log.id) or int(asked) > channel.log.head:
            hint = f"it has the identity {channel.log.id} and ends at {channel.log.head}"
            raise _Refused(409, error("XSC0105", "that is not a place in this log", hint=hint))
        return int(asked)

    async def log(self, request: web.Request) -> web.StreamResponse:
        """Some records after N, as a message."""
        channel = self._channel(request)
        since = self._since(request, channel)
        asked = request.query.get("limit", "1000")
        if not (asked.isascii() and asked.isdecimal() and 0 < int(asked[:9]) <= _LOG_LIMIT):
            raise refused(400, f"limit is a number from 1 to {_LOG_LIMIT}")
        until = request.query.get("until", str(channel.log.head))
        if not (until.isascii() and until.isdecimal() and since <= int(until[:18]) <= channel.log.head):
            raise refused(400, "until is a number from since to the head of the log")
        await channel.durable()
        data, _, _ = channel.stretch(since, int(asked), _LOG_BYTES, int(until))
        return web.Response(body=data, content_type="application/octet-stream")

    # ------------------------------------------------------------------------------------------------- tuning in

    async def tune(self, request: web.Request) -> web.StreamResponse:
        """The structure, what is asked for of the log, and then what is on the air."""
        channel = self._channel(request)
        start = request.query.get("from", "beginning")
        if start not in ("beginning", "now"):
            raise refused(400, "from is beginning or now", "or write since=N")
        # A client with another log in mind begins this one.
        same = request.query.get("log", channel.log.id) == channel.log.id
        since = self._since(request, channel) if "since" in request.query and same else 0
        if start == "now" and "since" not in request.query:
            since = channel.log.head
        if self.station.listening >= self.limits.listeners:
            raise refused(503, "too many are tuned in", "come again later", **{"Retry-After": "30"})
        transport = request.transport
        socket = web.WebSocketResponse(
            compress=False, heartbeat=self.limits.heartbeat, max_msg_size=1 << 12, timeout=self.limits.patience
        )
        if transport is None or not socket.can_prepare(request).ok:
            raise refused(400, "this is a WebSocket", "use xcast listen, or any WebSocket client")
        await socket.prepare(request)
        listener = Listener(transport, request.remote or "")
        self.station.sockets[socket] = channel
        try:
            catching_up = asyncio.create_task(self._catch_up(channel, listener, socket, since))
            try:
                await self._hear(socket, request)
            finally:
                catching_up.cancel()
        finally:
            self.station.sockets.pop(socket, None)
            channel.leave(listener)
        return socket

    async def _catch_up(self, channel: Channel, listener: Listener, socket: web.WebSocketResponse, since: int) -> None:
        """As fast as the client takes it, and nobody else is kept waiting; then it is live."""
        first = channel.structure_message()
        try:
            if first is not None:
                await socket.send_bytes(first)
            while since < channel.log.head:
                await channel.durable()
                data, count, since = channel.stretch(since, size=self.limits.message)
                await socket.send_bytes(data)
                listener.sent += count
                await asyncio.sleep(0)
        except (ConnectionError, RuntimeError):
            return  # it is gone; who hears it, sees that too
        if not socket.closed:
            channel.join(listener)

    async def _hear(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        """Clients have nothing to say: whoever says something is told so, and let go."""
        received = await socket.receive()
        if received.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            fault = error("XSC0104", "a message from a client", hint="publish with POST")
            self.station.refused(request.remote or "", "a message", 1008, fault)
            told = json.dumps({"code": fault.code, "message": fault.message, "hint": fault.hint})
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(self.limits.patience):
                    await socket.send_str(told)
                    await socket.close(code=1008, message=b"clients do not speak")
        elif received.type is WSMsgType.ERROR:
            fault = error("XSC0104", "a malformed message", hint=str(socket.exception() or ""))
            self.station.refused(request.remote or "", "a message", 1002, fault)

    # ------------------------------------------------------------------------------------------------- publishing

    async def register(self, request: web.Request) -> web.StreamResponse:
        """A stream of that name is there from now on; a structure in the body is its structure."""
        authorise(self.station, request)
        name = request.match_info["name"]
        body = await self._body(request)
        incoming = self._incoming(body, "")
        if any(not isinstance(one.item, Structure) for one in incoming):
            raise refused(400, "a stream is registered with its tag structure, or with nothing", "publish with POST")
        known = name in self.station.channels
        channel = self.station.register(name)
        if incoming:
            taken = await channel.absorb("registry", incoming)
            if taken.refused:
                raise error(taken.refused[0].code, taken.refused[0].message)
            await channel.durable()
        told = {**self.station.described(name), "next_region": channel.positions.unused()}
        return web.json_response(told, status=200 if known else 201)

    async def unregister(self, request: web.Request) -> web.StreamResponse:
        """The stream is off the air, and not taken up again at a restart; its log stays."""
        authorise(self.station, request)
        name = self._channel(request).name
        await self.station.unregister(name)
        return web.json_response({"unregistered": name})

    async def publish(self, request: web.Request) -> web.StreamResponse:
        """Take in a batch, all of it or nothing where it is malformed; and once, if it has a number."""
        authorise(self.station, request)
        channel = self._channel(request)
        body = await self._body(request)
        self._allow(self.published, self.limits.published, request, len(body))
        publisher, batch = request.headers.get("Xcast-Publisher", ""), request.headers.get("Xcast-Batch", "")
        if (publisher and not _WORD.fullmatch(publisher)) or (batch and not (batch.isascii() and batch.isdecimal())):
            raise refused(400, "Xcast-Publisher is a word, Xcast-Batch a number")
        source = f"post:{publisher}"
        if publisher and batch and int(channel.marks.get(source, "-1")) >= int(batch):
            return web.json_response({"logged": 0, "without_effect": 0, "head": channel.log.head, "again": True})
        incoming = await asyncio.to_thread(self._incoming, body, batch if publisher else "")
        taken = await channel.absorb(source, incoming, wait=False)
        await channel.durable()
        turned_down = [{"code": one.code, "message": one.message, "place": str(one.place)} for one in taken.refused]
        told = {"logged": taken.logged, "without_effect": taken.without_effect, "head": channel.log.head}
        if not turned_down:
            return web.json_response(told)
        self.station.refused(
            request.remote or "", f"POST {request.path}", 422, error(taken.refused[0].code, taken.refused[0].message)
        )
        return web.json_response({**turned_down[0], **told, "refused": turned_down}, status=422)

    def _incoming(self, body: bytes, mark: str) -> list[Incoming]:
        """The arrivals in a body. It is cut as a stream is: there is no document type, and so there are no entities."""
        incoming = []
        for arrival in FragmentReader([body], source="the body", limit=self.limits.fragment):
            if isinstance(arrival.item, Diagnostic):
                raise error(arrival.item.code, arrival.item.message, arrival.place)
            incoming.append(Incoming(arrival.item, arrival.place, mark))
        return incoming

    async def _body(self, request: web.Request) -> bytes:
        if request.content_length is not None and request.content_length > self.limits.post:
            raise web.HTTPRequestEntityTooLarge(self.limits.post, request.content_length)
        async with asyncio.timeout(self.limits.patience):
            return await request.read()
