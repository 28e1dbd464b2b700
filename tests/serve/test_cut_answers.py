"""A server that goes away in the middle of an answer: that is no connection, and is tried again where one waits."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.serve.client import parse_address, read
from xstreamcast.serve.message import Header, message

FILLER = b'<stream:filler id="0"><r/></stream:filler>'
WHOLE = message(Header("s", "L", 1, (1,), (len(FILLER),)), [FILLER])


@contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A port on which each connection gets the next answer, and is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for data in answers:
                connection, _ = server.accept()
                with connection:
                    asked = b""
                    while not asked.endswith(b"\r\n\r\n"):
                        asked += connection.recv(65_536)
                    connection.sendall(data)

        thread = Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def answered(status: str, body: bytes, sent: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body[:sent]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (answered("200 OK", WHOLE, 10), "XSC0101"),
        (answered("200 OK", WHOLE)[:9], "XSC0101"),
        (b"", "XSC0101"),
        (answered("409 Conflict", b'{"code": "XSC0105"}', 5), "XSC0102"),
    ],
    ids=["body", "head", "nothing", "refusal"],
)
def test_half_an_answer_is_none(answer: bytes, code: str) -> None:
    with answering(answer) as port, pytest.raises(XStreamError) as fault:
        read(parse_address(f"xcast://127.0.0.1:{port}/s"))
    assert fault.value.code == code


def test_who_has_patience_asks_again() -> None:
    with answering(answered("200 OK", WHOLE, 10), answered("200 OK", WHOLE)) as port:
        assert read(parse_address(f"xcast://127.0.0.1:{port}/s"), patience=300.0).head == 1
