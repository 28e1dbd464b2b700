"""One limit on how deep documents are, whoever reads them; below it, depth is not Python's."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Ran, xcast

from xstreamcast import continuous, limit_depth, query
from xstreamcast.errors import XMLError
from xstreamcast.model.change import Fill, Remove
from xstreamcast.model.depth import DEFAULT, VARIABLE, deepest
from xstreamcast.scan.parse import KERNEL_FROM


def nested(levels: int) -> bytes:
    """A document with so many elements within each other."""
    return b"<m>" + b"<a>" * (levels - 1) + b"x" + b"</a>" * (levels - 1) + b"</m>"


@pytest.fixture(params=["small", "large", "gz", "with a DTD"])
def document(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    """Writes a document that is read by expat, by the kernel, in pieces, or by one after the other."""

    def written(levels: int) -> Path:
        data = nested(levels)
        if request.param == "large":
            data += b" " * KERNEL_FROM
        elif request.param == "gz":
            data = gzip.compress(data, 1)
        elif request.param == "with a DTD":
            data = b'<!DOCTYPE m [<!ENTITY e "e">]>' + data
        path = tmp_path / f"d{levels}.xml"
        path.write_bytes(data)
        return path

    return iter([written])


def too_deep(ran: Ran) -> bool:
    return ran.code == 1 and "XSC0007" in ran.err and "hint: if that is meant: --max-depth" in ran.err


@pytest.mark.parametrize(
    "command", [("query", "count(//a)"), ("structure",), ("fragment",)], ids=lambda words: words[0]
)
def test_a_document_may_be_as_deep_as_the_limit_and_no_deeper(
    command: tuple[str, ...], document: Iterator[object]
) -> None:
    write = next(document)
    assert callable(write)
    assert xcast(*command, write(DEFAULT)).code == 0
    ran = xcast(*command, write(DEFAULT + 1))
    assert too_deep(ran), ran.err
    assert f"more than {DEFAULT} elements" in ran.err
    assert xcast(*command, write(DEFAULT + 1), "--max-depth", DEFAULT + 1).code == 0
    assert deepest() == DEFAULT


def test_a_small_file_of_very_many_levels_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xml.gz"
    path.write_bytes(gzip.compress(b"<a>" * 2_000_000, 1))
    ran = xcast("query", "count(//a)", path)
    assert too_deep(ran)
    assert ":1:30001" in ran.err, "the place of the first that is too deep"


@pytest.mark.parametrize(
    "text",
    [
        'count(stream("s")//a)',
        'stream("s")//a[not(a)]/string()',
        'stream("s")/m/string()',
        'count(stream("s")//a/..)',
        'exists(stream("s")//b)',
    ],
)
def test_a_continuous_query_assembles_deep_content_without_recursion(text: str) -> None:
    levels = 2 * DEFAULT
    expected = query(text.replace('stream("s")', ""), context=nested(5).decode()).text()
    before = limit_depth(levels)
    frames = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(7_500)
        asked = continuous(text)
        asked.feed(Fill(region=0, content=b'<m><stream:hole id="1"/></m>'))
        asked.feed(Fill(region=1, content=nested(levels)[3:-4]))
        assert asked.text() == (str(levels - 1) if expected.isdecimal() else expected)
    finally:
        limit_depth(before)
        sys.setrecursionlimit(frames)


@pytest.mark.parametrize(("emit", "depth"), [("eager", 1_500), ("certain", 500)])
def test_holes_within_holes_count_as_levels(emit: Any, depth: int) -> None:
    said: list[str] = []
    before = limit_depth(depth)
    try:
        asked = continuous('count(stream("s")//a)', emit=emit, report=lambda found: said.append(found.code))
        asked.feed(Fill(region=0, content=b'<m><stream:hole id="1"/></m>'))
        levels = range(depth + 9, 0, -1)
        chain = [Fill(region=n, content=b'<a><stream:hole id="%d"/></a>' % (n + 1)) for n in levels]
        asked.feed_many(chain[:-1])
        asked.feed(chain[-1])  # all of them come to stand somewhere by this one
        assert (set(said), asked.text()) == ({"XSC0007"}, str(depth - 1) if emit == "eager" else "")
        asked.feed(Remove(region=1))
        assert asked.text() == "0"
    finally:
        limit_depth(before)


def test_many_fragments_within_each_other_are_no_recursion() -> None:
    """As many as take ten times the frames that Python may have."""
    for order in (1, -1):
        asked, frames = continuous('count(stream("s")//a)'), sys.getrecursionlimit()
        chain = [Fill(region=n, content=b'<a><stream:hole id="%d"/></a>' % (n + 1)) for n in range(2_500)]
        sys.setrecursionlimit(1_000)
        try:
            asked.feed_many(chain[::order])
            assert asked.text() == "2500"
            asked.feed(Fill(region=0, content=b"<a/>"))
            assert asked.text() == "1"
        finally:
            sys.setrecursionlimit(frames)


def test_watch_says_which_fragment_is_too_deep_and_goes_on(tmp_path: Path) -> None:
    stream = tmp_path / "s.xml"
    fill = b'<stream:filler id="%d">%s</stream:filler>'
    holes = b'<m><stream:hole id="1"/><stream:hole id="2"/></m>'
    stream.write_bytes(fill % (0, holes) + fill % (1, nested(DEFAULT + 1)) + fill % (2, b"<a/>"))
    ran = xcast("watch", 'count(stream("s")//a)', "--stream", f"s={stream}", "--format", "xml")
    assert (ran.code, ran.out.split()[-1]) == (0, b"1")
    assert "quarantine XSC0007 s.xml@" in ran.err.replace(str(tmp_path) + "/", "")
    deeper = xcast(
        "watch", 'count(stream("s")//a)', "--stream", f"s={stream}", "--format", "xml", "--max-depth", 20_000
    )
    assert (deeper.code, deeper.out.split()[-1]) == (0, b"%d" % (DEFAULT + 1))


def test_feed_and_watch_take_the_same_messages() -> None:
    message = nested(DEFAULT + 1).replace(b"<m>", b"<m k='1'>")
    feed = [sys.executable, "-m", "xstreamcast", "feed", "/m", "-", "--key", "@k"]
    refused = subprocess.run(feed, input=message, capture_output=True, check=False)
    assert (refused.returncode, b"XSC0007" in refused.stderr) == (1, True)
    fed = subprocess.run([*feed, "--max-depth", "20000"], input=message, capture_output=True, check=False)
    assert fed.returncode == 0, fed.stderr
    ran = xcast(
        "watch", 'count(stream("s")//a)', "--stream", "s=-", "--format", "xml", "--max-depth", 20_000, stdin=fed.stdout
    )
    assert (ran.code, ran.out.split()[-1]) == (0, b"%d" % DEFAULT)


def test_processes_that_are_started_have_the_limit_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    code = "import xstreamcast; xstreamcast.query('.', context='<a>' * 8 + '</a>' * 8).text()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "XSC0007" in ran.stderr


def test_the_error_is_one_of_xml() -> None:
    with pytest.raises(XMLError, match="XSC0007"):
        query(".", context=nested(DEFAULT + 1).decode()).text()
    with pytest.raises(ValueError, match="one level at least"):
        limit_depth(0)
