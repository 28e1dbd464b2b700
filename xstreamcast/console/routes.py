"""The console's HTTP service, below ``/console``.

GET    /console                             the page; /console/page/… what it is made of
GET    /console/api/status                  streams, queries, reports
GET    /console/api/events?query=ID         the same every second, and the answer of a query as it changes (SSE)
POST   /console/api/check                   {"query": …}: colours, the error, the plan and its picture
POST   /console/api/complete                {"query": …, "at": 17}: what may stand there
GET    /console/api/streams/NAME            a stream and its structure as a tree
GET    /console/api/streams/NAME/at?n=N     T after N records
GET    /console/api/streams/NAME/between?from=N&to=M
GET    /console/api/queries/ID              a query and its answer
GET    /console/api/queries/ID/line         its time line
GET    /console/api/queries/ID/at?moment=K  its answer after K records
GET    /console/api/queries/ID/between?from=K&to=L
GET    /console/api/token                   whether the token is right (token)
POST   /console/api/queries                 {"query": …, "emit": "eager"}: start one (token)
POST   /console/api/queries/ID/start, stop  (token)
DELETE /console/api/queries/ID              (token)
PUT    /console/api/reports/NAME            how a query elsewhere is (token)
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, Final

from aiohttp import web

from xstreamcast.console.desk import EMISSIONS, Desk, Page
from xstreamcast.errors import error
from xstreamcast.model.structure import UNNAMED, Structure
from xstreamcast.serve.channel import Channel
from xstreamcast.serve.service import authorise, refused

KINDS: Final = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
}  # fmt: skip
GUARDED: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""What is said with every answer: the page runs and loads what comes from here, and nothing else."""
_TAGS: Final = 2000
_NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")


@cache
def page_files() -> dict[str, bytes]:
    """What the page is made of, by name."""
    found = [file for file in files("xstreamcast.console").joinpath("page").iterdir() if "." in file.name]
    return {file.name: file.read_bytes() for file in found if file.name.rpartition(".")[2] in KINDS}


def routes(desk: Desk) -> list[web.RouteDef]:
    """All of them."""
    made = _Routes(desk)
    api = "/console/api"
    return [
        web.get("/console", made.page),
        web.get("/console/page/{file}", made.file),
        web.get(f"{api}/status", made.status),
        web.get(f"{api}/events", made.events),
        web.get(f"{api}/token", made.token),
        web.post(f"{api}/check", made.check),
        web.post(f"{api}/complete", made.complete),
        web.get(f"{api}/streams/{{name}}", made.stream),
        web.get(f"{api}/streams/{{name}}/at", made.document),
        web.get(f"{api}/streams/{{name}}/between", made.difference),
        web.post(f"{api}/queries", made.add),
        web.get(f"{api}/queries/{{id}}", made.query),
        web.get(f"{api}/queries/{{id}}/line", made.line),
        web.get(f"{api}/queries/{{id}}/at", made.at),
        web.get(f"{api}/queries/{{id}}/between", made.between),
        web.post(f"{api}/queries/{{id}}/start", made.start),
        web.post(f"{api}/queries/{{id}}/stop", made.stop),
        web.delete(f"{api}/queries/{{id}}", made.remove),
        web.put(f"{api}/reports/{{name}}", made.report),
    ]


def _json(told: Any, status: int = 200) -> web.Response:
    return web.json_response(told, status=status, headers=GUARDED, dumps=_dumps)


def _dumps(told: Any) -> str:
    return json.dumps(told, ensure_ascii=False)


def _number(request: web.Request, name: str) -> int:
    asked = request.query.get(name, "")
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= 18):
        raise refused(400, f"{name} is a whole number")
    return int(asked)


class _Routes:
    """What answers."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    # ------------------------------------------------------------------------------------------------- the page

    async def page(self, request: web.Request) -> web.StreamResponse:
        return self._file("index.html")

    async def file(self, request: web.Request) -> web.StreamResponse:
        return self._file(request.match_info["file"])

    def _file(self, name: str) -> web.StreamResponse:
        data = page_files().get(name)
        if data is None:
            raise refused(404, "the page has no such file")
        kind = KINDS[name.rpartition(".")[2]]
        return web.Response(body=data, content_type=kind, charset="utf-8", headers=GUARDED)

    async def status(self, request: web.Request) -> web.StreamResponse:
        return _json(self.desk.status())

    async def token(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        return _json({"token": "right"})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Events until the page is closed; each is a line of JSON."""
        if len(self.desk.pages) >= self.desk.bounds.pages:
            raise refused(503, "too many pages are open", "come again later", **{"Retry-After": "30"})
        page = Page(request.query.get("query", ""))
        headers = {**GUARDED, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        response = web.StreamResponse(headers=headers)
        response.content_type = "text/event-stream"
        await response.prepare(request)
        self.desk.pages[page] = None
        page.put("status", self.desk.status())
        try:
            with suppress(ConnectionError, TimeoutError):
                while (found := await page.waiting.get()) is not None:
                    event, told = found
                    text = f"event: {event}\ndata: {_dumps(told)}\n\n"
                    if page.lost and page.waiting.empty():
                        page.lost = False
                        text += "event: lost\ndata: {}\n\n"
                    async with asyncio.timeout(self.desk.station.limits.delivery):
                        await response.write(text.encode("utf-8", "replace"))
        finally:
            del self.desk.pages[page]
        return response

    # ------------------------------------------------------------------------------------------------- texts

    async def _body(self, request: web.Request) -> dict[str, Any]:
        """A JSON object of bounded size; what another site may send without asking is not one."""
        if request.content_type != "application/json":
            raise refused(415, "the body is JSON", "Content-Type: application/json")
        most = self.desk.bounds.body
        if request.content_length is None or request.content_length > most:
            raise refused(413, f"the body has at most {most} bytes")
        async with asyncio.timeout(self.desk.station.limits.patience):
            data = await request.read()
        try:
            told = json.loads(data)
        except ValueError:
            raise refused(400, "the body is not JSON") from None
        if not isinstance(told, dict):
            raise refused(400, "the body is a JSON object")
        return told

    async def _text(self, request: web.Request) -> tuple[str, dict[str, Any]]:
        told = await self._body(request)
        text, most = told.get("query"), self.desk.bounds.text
        if not isinstance(text, str) or len(text) > most:
            raise refused(400, f"query is a text of at most {most} characters")
        return text, told

    async def check(self, request: web.Request) -> web.StreamResponse:
        text, _ = await self._text(request)
        return _json(await self.desk.check("check", query=text))

    async def complete(self, request: web.Request) -> web.StreamResponse:
        text, told = await self._text(request)
        at = told.get("at")
        if not isinstance(at, int) or not 0 <= at <= len(text):
            raise refused(400, "at is a place in the query")
        return _json(await self.desk.check("complete", query=text, at=at))

    # ------------------------------------------------------------------------------------------------- streams

    def _channel(self, request: web.Request) -> Channel:
        channel = self.desk.channels.get(request.match_info["name"])
        if channel is None:
            raise refused(404, "there is no such stream", "see /streams")
        return channel

    async def stream(self, request: web.Request) -> web.StreamResponse:
        channel = self._channel(request)
        structure = channel.current.structure
        told = self.desk.stream(channel.name)
        told["tree"] = None if structure is None else tree(structure)
        told["refused"] = [str(diagnostic) for diagnostic in channel.refused[-10:]]
        return _json(told)

    async def document(self, request: web.Request) -> web.StreamResponse:
        channel = self._channel(request)
        n = min(_number(request, "n"), channel.log.head)
        found = await self.desk.document(channel.name, n)
        return _json({**found, "head": channel.log.head, "first": channel.log.first})

    async def difference(self, request: web.Request) -> web.StreamResponse:
        channel = self._channel(request)
        ends = [min(_number(request, name), channel.log.head) for name in ("from", "to")]
        return _json(await self.desk.difference(channel.name, *ends))

    # ------------------------------------------------------------------------------------------------- queries

    async def add(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        text, told = await self._text(request)
        emit = told.get("emit", "eager")
        if emit not in EMISSIONS:
            raise refused(400, f"emit is one of {', '.join(EMISSIONS)}")
        if not text.strip():
            raise refused(400, "the query is empty")
        return _json((await self.desk.add(text, emit)).described(), 201)

    async def query(self, request: web.Request) -> web.StreamResponse:
        return _json(await self.desk.query(request.match_info["id"]).snapshot())

    async def line(self, request: web.Request) -> web.StreamResponse:
        return _json(await self.desk.query(request.match_info["id"]).ask("line"))

    async def at(self, request: web.Request) -> web.StreamResponse:
        return _json(await self.desk.query(request.match_info["id"]).ask("at", moment=_number(request, "moment")))

    async def between(self, request: web.Request) -> web.StreamResponse:
        one, other = _number(request, "from"), _number(request, "to")
        return _json(await self.desk.query(request.match_info["id"]).ask("between", one=one, other=other))

    async def start(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        return _json((await self.desk.start_query(request.match_info["id"])).described())

    async def stop(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        return _json((await self.desk.stop_query(request.match_info["id"])).described())

    async def remove(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        await self.desk.remove(request.match_info["id"])
        return _json({"removed": request.match_info["id"]})

    async def report(self, request: web.Request) -> web.StreamResponse:
        authorise(self.desk.station, request)
        name = request.match_info["name"]
        if not _NAME.fullmatch(name):
            raise error("XSC0141", "not a name for a report", hint="letters, digits, . _ : and -")
        self.desk.report(name, await self._body(request))
        return _json({"reported": name})


def tree(structure: Structure) -> dict[str, Any]:
    """A tag structure as a tree; a tag within itself is not opened again."""
    left = _TAGS

    def below(tsid: int, above: frozenset[int]) -> dict[str, Any]:
        nonlocal left
        left -= 1
        tag = structure.tag(tsid)
        again = tsid in above or left < 0
        children = [] if again else [below(child, above | {tsid}) for child in tag.children]
        name = "" if tsid == UNNAMED else structure.lexical(tag.name)
        return {"name": name, "id": tsid, "type": tag.type, "again": again and bool(tag.children), "children": children}

    return below(structure.root, frozenset())
