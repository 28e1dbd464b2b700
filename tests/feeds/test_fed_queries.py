"""Queries that are fed documents: what a document may be, and where documents may come from."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Timer
from typing import Any
from xml.etree import ElementTree

import pytest
from lxml import etree

import xstreamcast
from xstreamcast import Feed, XStreamError, continuous, query

TOTAL = 'sum(stream("orders")//order/total)'
ORDER = "<order id='{}'><total>{}</total></order>"


def fed(**options: Any) -> xstreamcast.ContinuousQuery:
    return continuous(TOTAL, feed=Feed("/order", key="@id"), **options)


FORMS = ("bytes", "text", "path", "name", "file", "text file", "lxml", "tree", "element", "node")


@pytest.mark.parametrize("form", FORMS)
def test_a_document_may_be_anything_that_has_xml(form: str, tmp_path: Path) -> None:
    text = ORDER.format(1, 7)
    file = tmp_path / "order.xml"
    file.write_text(text)
    given: Any = {
        "bytes": text.encode(), "text": text, "path": file, "name": str(file), "file": io.BytesIO(text.encode()),
        "text file": io.StringIO(text), "lxml": etree.fromstring(text), "tree": etree.parse(file),
        "element": ElementTree.fromstring(text), "node": query("/order", context=text)[0],
    }[form]  # fmt: skip
    q = fed()
    assert [change.kind for change in q.feed_xml(given)]
    assert q.text() == "7"


def test_messages_take_the_place_of_those_with_their_key() -> None:
    q = fed()
    for number, total in ((1, 10), (2, 5), (1, 7)):
        q.feed_xml(ORDER.format(number, total).encode())
    assert q.text() == "12"
    q.feed_xml(ORDER.format(3, 1) + ORDER.format(4, 1))  # several in one text
    assert q.text() == "14"


def test_a_file_an_iterable_and_an_asynchronous_one_are_followed_to_their_end(tmp_path: Path) -> None:
    file = tmp_path / "orders.xml"
    file.write_text(ORDER.format(1, 3) + ORDER.format(2, 4))
    for source in (file, [ORDER.format(1, 3).encode(), ORDER.format(2, 4)], iter([file])):
        q = fed(source=source)
        assert list(q.follow())
        assert q.text() == "7"

    async def messages() -> AsyncIterator[bytes]:
        for number in (1, 2):
            await asyncio.sleep(0)
            yield ORDER.format(number, 10).encode()

    async def followed(q: xstreamcast.ContinuousQuery) -> int:
        return len([change async for change in q.run()])

    q = fed(source=messages())
    assert asyncio.run(followed(q)) > 1
    assert q.text() == "20"
    with pytest.raises(XStreamError, match=r"XSC0091.*\n.*async for"):
        list(fed(source=messages()).follow())
    q = fed(source=[ORDER.format(1, 3)])
    assert asyncio.run(followed(q)) > 0


def test_a_folder_is_followed_while_it_grows(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.xml").write_text(ORDER.format(1, 3))

    def later() -> None:
        (folder / ".2").write_text(ORDER.format(2, 4))
        os.replace(folder / ".2", folder / "2.xml")

    q = fed(source=folder)
    timer = Timer(0.2, later)
    timer.start()
    for _ in q.follow():
        if q.text() == "7":
            break
    timer.join()


def test_what_cannot_be_fed_is_told(tmp_path: Path) -> None:
    for code, ask in (
        ("XSC0091", lambda: continuous(TOTAL, source="in/")),
        ("XSC0091", lambda: continuous(TOTAL).feed_xml(b"<order/>")),
        ("XPTY0004", lambda: fed().feed_xml(7)),
        ("XSC0006", lambda: list(fed(source=tmp_path / "none").follow())),
    ):
        with pytest.raises(XStreamError) as failure:
            ask()
        assert failure.value.code == code
        assert failure.value.hint


def test_every_public_name_is_there_and_typed() -> None:
    from typing import get_type_hints

    assert sorted(xstreamcast.__all__) == xstreamcast.__all__
    for name in xstreamcast.__all__:
        found = getattr(xstreamcast, name)
        assert found.__doc__, name
        if not isinstance(found, type):
            assert "return" in found.__annotations__
    assert get_type_hints(xstreamcast.Fill)["content"] is bytes
