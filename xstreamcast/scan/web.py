"""Documents from the web, where that was allowed: one GET each, within limits, and from the host that was named.

A redirect is followed on the same host, and from ``http`` to ``https`` there; to another host it is refused. Nothing is
sent but the request; no cookies, no credentials other than those of the URL's own.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any, BinaryIO, Final, cast
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from xstreamcast.errors import Place, XStreamError, error

SILENCE: Final = 30.0
"""Seconds that a server may say nothing."""
TIME: Final = 3600.0
"""Seconds that a document may take."""
SIZE: Final = 4 << 30
"""Bytes that a document may have, as it is sent."""
REDIRECTS: Final = 5
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_MOVED: Final = (301, 302, 303, 307, 308)


def is_url(name: object) -> bool:
    """Whether a name is one of the web."""
    return isinstance(name, str) and _URL.match(name) is not None


def fault(url: str, message: str, hint: str = "") -> XStreamError:
    """XSC0008 for what goes wrong with a URL."""
    return error("XSC0008", message, Place(_shown(url)), hint)


@dataclass(slots=True)
class Fetched:
    """An answer: what is sent, and what to ask with next time."""

    body: BinaryIO
    marks: dict[str, str] = field(default_factory=dict)


def fetch(url: str, marks: Mapping[str, str] | None = None) -> Fetched | None:
    """GET a document; None if it is the one that ``marks`` (of an earlier answer) are about. XSC0008 if it fails."""
    began = monotonic()
    headers = {"Accept": "application/xml, text/xml, */*;q=0.5", "Accept-Encoding": "identity", "User-Agent": "xcast"}
    headers |= marks or {}
    at = url
    for _ in range(REDIRECTS + 1):
        response = _asked(url, urlsplit(at), headers)
        if response.status in _MOVED:
            at = _redirected(url, at, response)
            continue
        if response.status == 304 and marks:
            response.close()
            return None
        if response.status != 200:
            response.close()
            raise fault(url, f"the server answers {response.status} {response.reason}", "is it the right address?")
        found = {"If-None-Match": response.getheader("ETag"), "If-Modified-Since": response.getheader("Last-Modified")}
        length = response.getheader("Content-Length")
        if length is not None and length.isdecimal() and int(length) > SIZE:
            response.close()
            raise _too_large(url)
        body = io.BufferedReader(_Body(response, url, began), 1 << 18)
        return Fetched(cast(BinaryIO, body), {name: value for name, value in found.items() if value})
    raise fault(url, f"more than {REDIRECTS} redirects")


def fetched(source: Any) -> Any:
    """What a URL leads to, as a file that is read once; any other source as it is."""
    if not is_url(source):
        return source
    found = fetch(source)
    assert found is not None, "no marks were sent"
    return found.body


def _asked(url: str, parts: SplitResult, headers: Mapping[str, str]) -> HTTPResponse:
    try:
        secure = parts.scheme.lower() == "https"
        connection = (HTTPSConnection if secure else HTTPConnection)(parts.hostname or "", parts.port, timeout=SILENCE)
        sent = dict(headers)
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            sent["Authorization"] = f"Basic {b64encode(secret).decode()}"
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=sent)
        return connection.getresponse()
    except (OSError, HTTPException, ValueError) as failure:
        raise fault(url, f"cannot be fetched: {failure}", "is the server there?") from None


def _redirected(url: str, at: str, response: HTTPResponse) -> str:
    target = urljoin(at, response.getheader("Location") or "")
    response.close()
    before, after = urlsplit(at), urlsplit(target)
    secure = before.scheme == after.scheme or (before.scheme, after.scheme) == ("http", "https")
    ports = before.port == after.port or (before.scheme != after.scheme and not before.port and not after.port)
    if before.hostname != after.hostname or not ports or not secure:
        raise fault(url, f"the server sends to {_shown(target)}", "if that is meant, name it")
    if before.username is not None and after.username is None:
        user = before.netloc.rpartition("@")[0]
        after = after._replace(netloc=f"{user}@{after.netloc}")
    return after.geturl()


def _shown(url: str) -> str:
    """A URL without its password."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def _too_large(url: str) -> XStreamError:
    return fault(url, f"the document has more than {SIZE >> 20:,} MB", "fetch it to a file first")


class _Body(io.RawIOBase):
    """What a server sends, within the limits of size and time."""

    def __init__(self, response: HTTPResponse, url: str, began: float) -> None:
        self.response, self.url, self.began = response, url, began
        self.name = _shown(url)
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.response.read1(len(buffer))
        except (OSError, HTTPException, ValueError) as failure:
            raise fault(self.url, f"cannot be read on: {failure}", "is the connection lost?") from None
        left = self.response.length
        if not data and left:
            raise fault(self.url, f"the answer ends {left:,} bytes early", "is the connection lost?")
        self.taken += len(data)
        if self.taken > SIZE:
            raise _too_large(self.url)
        if monotonic() - self.began > TIME:
            raise fault(self.url, f"the document takes longer than {TIME:,.0f} s", "fetch it to a file first")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.response.close()
        super().close()
