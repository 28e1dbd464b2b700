"""In Python too nothing is put aside in silence, and what can hardly be meant is said."""

from __future__ import annotations

import asyncio
import io
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Fill
from xstreamcast.model.diagnostic import Diagnostic

STREAM = """<stream:fragments xmlns:stream="urn:xstreamcast:stream">
<stream:filler id="0"><o><stream:hole id="1"/><stream:hole id="2"/><stream:hole id="3"/></o></stream:filler>
<stream:filler id="1"><total>3</total></stream:filler>
<stream:filler><total>7</total></stream:filler>
<stream:filler><total>8</total></stream:filler>
<stream:filler id="2"><total>4</totl></stream:filler>
<stream:filler id="3"><total>5</total></stream:filler>
</stream:fragments>"""
ASIDE = [
    f"put aside: XSC0003 {{}}@{STREAM.index('<stream:filler>')} a fill without an id (every change names its region),"
    " and 1 more like it",
    f"put aside: XSC0001 {{}}@{STREAM.index('totl')} fill 2: mismatched tag",
]
SUM = 'sum(stream("o")//total)'
WIKI = '<mediawiki xmlns="urn:wiki"><page/><page/></mediawiki>'
IN_NONE = (
    "query:1:9 the document is in the namespace urn:wiki, and page in none "
    '(hint: begin by: declare default element namespace "urn:wiki"; or write *:page)'
)


def warned(ask: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, and what is warned of at the line of the caller."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", xstreamcast.XStreamWarning)
        given = ask()
    assert [one.filename for one in heard] == [__file__] * len(heard)
    return given, [str(one.message) for one in heard]


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "o.xml"
    path.write_text(STREAM)
    return path


# ------------------------------------------------------------------------------------------------ what is put aside


def test_a_stored_query_tells_what_its_streams_put_aside(stream: Path) -> None:
    expected = [text.format(stream) for text in ASIDE]
    result, heard = warned(lambda: xstreamcast.query(SUM, streams={"o": stream}))
    assert heard == expected
    assert result.to_list() == [8.0]
    waits = f"XSC0030 {stream}@57 hole 2 is not filled; it counts as empty"
    assert result.warnings == (*expected, waits)
    assert pickle.loads(pickle.dumps(result)).warnings == result.warnings


@pytest.mark.parametrize("way", ["load", "follow", "run"])
def test_a_continuous_query_tells_once_of_each_kind(stream: Path, way: str) -> None:
    expected = [text.format(stream) for text in ASIDE]
    query = xstreamcast.continuous(SUM, streams={"o": stream})

    async def run() -> None:
        async for _ in query.run():
            pass

    ways: dict[str, Callable[[], Any]] = {
        "load": lambda: query.load(stream), "follow": lambda: list(query.follow()), "run": lambda: asyncio.run(run())
    }  # fmt: skip
    _, heard = warned(ways[way])
    assert heard == expected
    assert query.warnings == tuple(expected)
    assert query.answer().warnings == tuple(expected)
    assert query.text() == "8"


def test_what_is_fed_change_by_change_is_told_when_it_comes_first() -> None:
    query = xstreamcast.continuous('count(stream("s")//a)')
    _, heard = warned(lambda: query.feed(Fill(region=0, content=b"<r><stream:hole id='1'/></r>")))
    assert heard == []
    _, heard = warned(lambda: query.feed(Fill(region=1, content=b"<a>")))
    assert [text.partition(":")[0] for text in heard] == ["put aside"]
    _, heard = warned(lambda: query.feed(Fill(region=1, content=b"<a><b>")))
    assert heard == []
    assert [text.rpartition(", ")[2] for text in query.warnings] == ["and 1 more like it"]


def test_who_hears_of_it_otherwise_is_not_warned(stream: Path) -> None:
    found: list[Diagnostic] = []
    query, heard = warned(lambda: xstreamcast.continuous(SUM, report=found.append))
    _, more = warned(lambda: query.load(stream))
    assert heard == more == []
    assert [one.code for one in found] == ["XSC0003", "XSC0003", "XSC0001"]
    assert query.warnings == tuple(text.format(stream) for text in ASIDE)


def test_a_stream_that_is_materialised_tells_too(stream: Path) -> None:
    made, heard = warned(lambda: xstreamcast.materialise(stream))
    assert made == b"<o><total>3</total><total>5</total></o>"
    assert heard == [text.format(stream) for text in ASIDE]


def test_a_feed_with_a_wrong_key_or_path_tells_so(tmp_path: Path) -> None:
    rss = tmp_path / "rss.xml"
    rss.write_text("<rss><channel><item><guid>1</guid></item><item><guid>2</guid></item></channel></rss>")
    feed = Feed("/rss/channel/item", key="gid")
    changes, heard = warned(lambda: list(feed.changes(rss)))
    assert changes == []
    assert heard == [f"put aside: XSC0122 {rss} a record, item, without a key, and 1 more like it"]
    assert feed.warnings == tuple(heard)
    feed = Feed("/rss/chanel/item", key="guid")
    changes, heard = warned(lambda: list(feed.changes(rss)))
    assert changes == []
    assert heard == [f"XSC0123 {rss} there is no record /rss/chanel/item in it; its root is rss"]


# ------------------------------------------------------------------------------------------- what can hardly be meant


@pytest.mark.parametrize("size", [0, 5 << 20], ids=["parsed", "scanned"])
def test_a_query_that_does_not_say_the_namespace_of_a_file_is_warned_of(tmp_path: Path, size: int) -> None:
    file = tmp_path / "wiki.xml"
    file.write_text(WIKI.replace("<page/>", f"<page>{' ' * size}</page>", 1))
    result, heard = warned(lambda: xstreamcast.query("count(//page)", context=file))
    assert heard == [IN_NONE]
    assert (result.to_list(), result.warnings) == ([0], (IN_NONE,))
    (first, second), heard = warned(lambda: xstreamcast.query_many(["count(//page)", "count(//*:page)"], context=file))
    assert heard == [IN_NONE]
    assert (first.warnings, second.warnings, second.to_list()) == ((IN_NONE,), (), [2])
    result, heard = warned(lambda: xstreamcast.query("count(//page)", context=[file, file]))
    assert (heard, result.warnings) == ([IN_NONE], (IN_NONE,))


@pytest.mark.parametrize("context", [WIKI, WIKI.encode(), io.BytesIO(WIKI.encode())], ids=["text", "bytes", "file"])
def test_nor_of_what_is_at_hand(context: Any) -> None:
    compiled = xstreamcast.compile("count(//page)")
    assert warned(lambda: compiled(context=context))[1] == [IN_NONE]


def test_of_what_is_as_it_should_be_nothing_is_said() -> None:
    for text in ("count(//*:page)", 'declare default element namespace "urn:wiki"; count(//page)', "count(//@id)"):
        assert warned(partial(xstreamcast.query, text, context=WIKI))[1] == []
    prefixed = '<w:wiki xmlns:w="urn:wiki"><page/></w:wiki>'
    assert warned(lambda: xstreamcast.query("count(//page)", context=prefixed).to_list()) == ([1], [])


def test_a_misspelt_name_is_among_the_warnings_of_a_result_that_found_nothing(tmp_path: Path) -> None:
    file = tmp_path / "books.xml"
    file.write_text("<list><book/></list>")
    assert xstreamcast.query("count(//bok)", context=file).warnings == (
        f"query:1:9 there is no bok in {file} (hint: did you mean book?)",
    )
    assert xstreamcast.query("count((//bok, //book))", context=file).warnings == ()


def test_paths_that_the_structure_of_a_stream_rules_out_are_told(tmp_path: Path) -> None:
    stream = tmp_path / "s.xml"
    xstreamcast.fragment("<list><book/></list>", stream)
    result, heard = warned(lambda: xstreamcast.query('stream("s")//bok', streams={"s": stream}))
    assert [text.partition(" ")[2] for text in heard] == [
        "nothing matches bok: the structure of stream s has none below the root (hint: did you mean book?)"
    ]
    assert result.warnings == tuple(heard)


# ------------------------------------------------------------------------------------------------ names of streams


def test_a_stream_that_nobody_gave_is_refused(stream: Path) -> None:
    with pytest.raises(XStreamError, match=r'FODC0002 there is no stream "o"\n  hint: name it: streams={"o": …}'):
        xstreamcast.continuous(SUM, streams={"typo": stream})
    with pytest.raises(XStreamError, match='FODC0002 there is no stream "o"'):
        xstreamcast.continuous_many(['count(stream("a"))', SUM], streams={"a": stream})
    chained = ['stream("o")//total', 'count(stream("totals"))']
    assert len(xstreamcast.continuous_many(chained, streams={"o": stream}, names=["totals"]).queries) == 2


def test_what_comes_of_a_stream_that_no_query_reads_is_refused(stream: Path) -> None:
    query = xstreamcast.continuous(SUM)
    hint = 'FODC0002 no query reads a stream "typo"\n  hint: they read: o'
    with pytest.raises(XStreamError, match=hint):
        query.feed(Fill(region=0, content=b"<o/>"), "typo")
    with pytest.raises(XStreamError, match=hint):
        query.feed_many([Fill(region=0, content=b"<o/>")], "typo")
    with pytest.raises(XStreamError, match=hint):
        query.load(stream, "typo")
    other = xstreamcast.continuous('stream("s")//a')
    other.feed(Fill(region=0, content=b"<a/>"))
    with pytest.raises(XStreamError, match=hint):
        query.listen("typo", other)


def test_streams_whose_names_are_computed_may_have_any() -> None:
    query = xstreamcast.continuous('for $n in ("a", "b") return count(stream($n)//x)')
    query.feed(Fill(region=0, content=b"<r><x/></r>"), "b")
    query.feed(Fill(region=0, content=b"<r/>"), "a")
    assert query.text() == "0 1"


@pytest.mark.parametrize("source", [5, None, 2.5])
def test_what_is_no_xml_cannot_be_followed(source: Any) -> None:
    with pytest.raises(XStreamError, match='XPTY0004 the stream "s" is nothing that can be followed'):
        xstreamcast.continuous('stream("s")//a', streams={"s": source})
