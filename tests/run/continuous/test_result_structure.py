"""The derived tag structure of an answer: true of every answer, and a query over the answer loses nothing by it."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from random_streams import STRUCTURE, queries, streams

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.cli import main
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, ContentChange, Eos, Fill, Replace
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.result.structure import ResultStructure
from xstreamcast.run.continuous.query import ContinuousQuery, continuous
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.wire.fragment import FragmentWriter, read_stream

KNOWN = parse_structure(STRUCTURE)
ERROR = "{urn:xstreamcast:error}error"

FIRST = (
    '<x>{ stream("s")//a }</x>',
    '<x>{ for $a in stream("s")//a where $a/b return <y n="{$a/@n}">{ $a/f, $a/c, <f><k/></f> }</y> }</x>',
    'for $c in stream("s")//c return <x>{ $c/*, count($c/d) }</x>',
    'stream("s")//a?[now]',
    'stream("s")/r',
    'for $a in stream("s")//a order by string($a/f) return <x>{ $a//f }<y>{ $a/b/k }</y></x>',
    'for $a in stream("s")//a group by $n := string($a/@n) return <x n="{$n}">{ $a }</x>',
    '<x>{ for $a in stream("s")//a return $a/c/string() }</x>',
    '<x>{ if (stream("s")//d) then stream("s")//g else <g><f>{ sum(stream("s")//k) }</f></g> }</x>',
    'stream("s")//a/element()/../f',
    'declare function local:f($v) { <y>{ $v }</y> }; <x>{ local:f(stream("s")//d), local:f(stream("s")//h/f) }</x>',
)
SECOND = (
    'stream("t")//f',
    'count(stream("t")//k)',
    'for $y in stream("t")//y return <z>{ $y/@n, $y/f }</z>',
    'stream("t")/*/*',
    'stream("t")/x/f',
    '<z>{ for $a in stream("t")//a return <w>{ count($a/c), $a//e }</w> }</z>',
    'stream("t")//*[f]/name()',
    'stream("t")//text()',
    'for $a in stream("t")//a where $a/f = 1 return count($a//*)',
    'stream("t")//*:error/@code/string()',
    'stream("t")//nowhere',
    'for $x in stream("t")//c/.. return count($x/c)',
)


def items(stream: str) -> list[Change]:
    return [one.item for one in read_stream(io.BytesIO(stream.encode())) if isinstance(one.item, Change)]


def admits(structure: Structure, text: str) -> bool:
    """Whether a structure tells of all elements of a document, or of several."""
    waiting = []
    for top in ElementTree.fromstring(f"<all>{text}</all>"):
        if top.tag != ERROR:
            if top.tag != structure.tag(structure.root).name:
                return False
            waiting.append((structure.root, top))
    while waiting:
        tag, element = waiting.pop()
        for inner in element:
            child = structure.child(tag, inner.tag) if isinstance(inner.tag, str) else tag
            if child is None:
                return False
            waiting.append((child, inner))
    return True


def tops(change: Change) -> set[str]:
    """The names of the elements at the top of a change's content."""
    content = change.content.decode() if isinstance(change, ContentChange) else ""
    found = {one.tag for one in ElementTree.fromstring(f'<all xmlns:stream="{STREAM}">{content}</all>')}
    return found - {f"{{{STREAM}}}hole"}


def apart(structure: Structure) -> set[str]:
    """The names of the tags that may come as regions of their own."""
    return {tag.name for tag in structure.tags.values() if tag.type is None}


def result(text: str) -> ResultStructure:
    module = compile(text).executable.program.module
    return ResultStructure(module, plan(module, streams=True, changing=True))


def derived(text: str, **structures: str) -> str:
    """The structure of a query's answer in short: ``x(y(f k))``; ``?`` marks the tags that may come apart."""
    known = {name: parse_structure(one) for name, one in structures.items()}
    found = result(text).derive(known)
    return "none" if found is None else short(found, found.root, ())


def short(structure: Structure, tsid: int, around: tuple[int, ...]) -> str:
    tag = structure.tag(tsid)
    name = tag.name + ("" if tag.type else "?")
    if tsid in around:
        return f"^{name}"
    children = [child for child in tag.children if structure.tag(child).name != ERROR]
    inner = " ".join([short(structure, child, (*around, tsid)) for child in children])
    return f"{name}({inner})" if inner else name


def scratch(text: str, document: str, now: int) -> str:
    node = view_of(document.encode(), "stream:t")
    try:
        return serialise(compile(text)(streams=lambda _: node, now=moment_at(now)).items())
    except XStreamError as failure:
        return f"error {failure.code}"


def told(query: ContinuousQuery) -> str:
    found = query.told()
    return f"error {found.code}" if isinstance(found, XStreamError) else found


# ------------------------------------------------------------------------------------------------------------ the law


@seed(19)
@settings(max_examples=32 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(streams(), st.sampled_from(FIRST), st.sampled_from(SECOND))
def test_a_query_over_the_answer_with_its_structure_is_that_over_the_answer(stream: str, one: str, two: str) -> None:
    first, second, sink = continuous(one, structures={"s": KNOWN}), continuous(two), Materialiser()
    second.listen("t", first)
    for change in items(stream):
        for made in first.feed(change, "s"):
            sink.apply(made)
        assert told(second) == scratch(two, sink.text(), second.inflow.now), f"{one}\n{two}\n{sink.text()}"
    assert second.inflow.association("t").structure is first.structure
    assert first.structure is None or admits(first.structure, sink.text())


@seed(23)
@settings(max_examples=48 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(streams(), queries())
def test_what_is_announced_is_true_of_every_answer(stream: str, text: str) -> None:
    query, sink = continuous(text, structures={"s": KNOWN}), Materialiser()
    for change in items(stream):
        for made in query.feed(change, "s"):
            sink.apply(made)
            assert query.structure is None or tops(made) <= apart(query.structure)
        assert query.structure is None or admits(query.structure, sink.text())


@pytest.mark.parametrize("number", range(len(FIRST)))
def test_a_published_answer_is_read_at_rest_with_its_structure(number: int) -> None:
    changes = [
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="2"/><g><h><f>7</f></h></g></r>'),
        Fill(region=1, tsid=2, valid_time=1, content=b'<a n="1"><b><k>2</k></b><c><e/><d>1</d></c><f>1</f></a>'),
    ]
    first, out = continuous(FIRST[number], structures={"s": KNOWN}), io.BytesIO()
    made = first.feed_many(changes, "s")
    assert first.structure is not None
    writer = FragmentWriter(out, first.structure)
    for change in made:
        writer.write(change)
    writer.close()
    (answer,) = [one.item for one in read_stream(io.BytesIO(out.getvalue())) if isinstance(one.item, Structure)]
    assert answer.tags == first.structure.tags
    for text in SECOND:
        found = compile(text)(streams={"t": io.BytesIO(out.getvalue())}).xml()
        assert found == scratch(text, first.text(), 1), text


# ---------------------------------------------------------------------------------------------------- what is derived

SHELF = '<tag id="1" name="shelf"><tag id="2" name="book" type="filler"><tag id="3" name="title"/></tag></tag>'
PARTS = '<tag id="1" name="all"><tag id="5" name="part"><tag id="6" name="name"/><tag ref="5"/></tag></tag>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('stream("s")//book', "book?(title?)"),
        ('<n>{ count(stream("u")//a) }</n>', "n?"),
        ('<books>{ stream("s")//book }</books>', "books?(book?(title?))"),
        ('for $b in stream("s")//book return <b>{ $b/title, <title><i/></title> }</b>', "b?(title(i))"),
        ('stream("p")//part', "part?(^part? name?)"),
        ('if (stream("s")//x) then <a><b/></a> else <a>{ stream("s")//title }</a>', "a?(b? title?)"),
        ('reverse(stream("s")//book)[1]', "book?(title?)"),
        ('<a>{ stream("s")/shelf/* }</a>', "a?(book?(title?))"),
    ],
)
def test_new_elements_and_copies_have_tags(text: str, expected: str) -> None:
    assert derived(text, s=SHELF, p=PARTS) == expected


@pytest.mark.parametrize(
    "text",
    [
        'stream("s")//book/string()',
        '<a/>, "text"',
        '(<a/>, <b/>)',
        'stream("u")//book',
        '<a>{ stream("u")//book }</a>',
        'stream("s")/shelf/*',
        'stream("s")//*',
        'stream("s")',
        '<a>{ stream("s")/* }</a>',
        '<a>{ parse-xml("<b/>") }</a>',
        'element { "a" || "b" } { }',
        'stream("s")//*:error',
        'declare variable $x external; <a>{ $x }</a>',
        'declare function local:f($n) { if ($n > 0) then <a>{ local:f($n - 1) }</a> else () }; local:f(3)',
        'let $a := <a>{ stream("s")//title }</a> return <b>{ $a/title/.. }</b>',
    ],
)  # fmt: skip
def test_nothing_is_announced_where_it_is_not_certain(text: str) -> None:
    assert derived(text, s=SHELF) == "none"


# ------------------------------------------------------------------------------------------------------------ going on


def test_what_is_added_to_the_structure_of_a_stream_is_added_to_that_of_the_answer() -> None:
    text = '<x>{ for $a in stream("s")//a return <y>{ $a/*, <k><v/></k> }</y> }</x>'
    found = result(text)
    before = parse_structure('<tag id="1" name="r"><tag id="2" name="a"><tag id="3" name="b"/></tag></tag>')
    after = parse_structure(
        '<tag id="1" name="r"><tag id="2" name="a"><tag id="3" name="b"><tag id="6" name="c"/></tag>'
        '<tag id="4" name="k"><tag id="5" name="w"/></tag></tag></tag>'
    )
    first, second = found.derive({"s": before}), found.derive({"s": after})
    assert first is not None
    assert second is not None
    assert after.only_adds_to(before)
    assert second.only_adds_to(first)
    assert short(first, 1, ()) == "x?(y?(k(v) b))"
    assert short(second, 1, ()) == "x?(y?(k(v w?) b(c?)))"


def test_a_structure_that_comes_late_is_announced_before_the_next_change() -> None:
    first, second = continuous('<x>{ stream("s")//a }</x>'), continuous('count(stream("t")//b)')
    second.listen("t", first)
    first.feed(Fill(region=0, content=b"<r><a><b/></a></r>"), "s")
    assert first.structure is None
    assert second.text() == "1"
    first.feed(parse_structure('<tag id="1" name="r"><tag id="2" name="a"><tag id="3" name="b"/></tag></tag>'), "s")
    first.feed(Replace(region=0, content=b"<r><a><b/><b/></a></r>"), "s")
    assert second.inflow.association("t").structure is first.structure is not None
    assert second.text() == "2"


def test_who_listens_later_hears_the_structure_too() -> None:
    first, second = continuous("<x>{ count(stream('s')//a) }</x>"), continuous('stream("t")/x/text()')
    first.feed(Fill(region=0, content=b"<r><a/></r>"), "s")
    second.listen("t", first)
    assert second.inflow.association("t").structure is first.structure is not None
    assert second.text() == "1"


def test_an_error_stands_outside_of_the_structure_and_is_seen() -> None:
    first = continuous("<x>{ for $a in stream('s')//a return <y>{ 1 idiv xs:integer($a) }</y> }</x>")
    second = continuous('stream("t")//*:error/@code/string(), count(stream("t")//y)')
    third = continuous('stream("t")/*:error')
    second.listen("t", first)
    third.listen("t", first)
    first.feed(Fill(region=0, content=b"<r><a>0</a></r>"), "s")
    assert second.text() == "FOAR0001 0"
    assert not second.recomputed
    assert third.text() == '<error xmlns="urn:xstreamcast:error" code="FOAR0001">integer division by zero</error>'
    first.feed(Replace(region=0, content=b"<r><a>1</a></r>"), "s")
    assert (second.text(), third.text()) == ("1", "")


def test_watch_writes_the_structure_first(tmp_path: Path) -> None:
    source, out = tmp_path / "s.xml", tmp_path / "t.xml"
    with source.open("wb") as file:
        writer = FragmentWriter(file, parse_structure(SHELF))
        writer.write(Fill(region=0, tsid=1, content=b'<shelf><stream:hole id="1" tsid="2"/></shelf>'))
        writer.write(Fill(region=1, tsid=2, content=b"<book><title>T</title></book>"))
        writer.write(Eos())
        writer.close()
    text = '<l>{ for $b in stream("s")//book return <b>{ $b/title }</b> }</l>'
    with pytest.raises(SystemExit, match="0"):
        main(["watch", text, "--stream", f"s={source}", "--publish", f"t={out}", "--format", "xml"])
    first, *changes = [arrival.item for arrival in read_stream(out)]
    assert isinstance(first, Structure)
    assert short(first, first.root, ()) == "l?(b?(title))"
    assert all(isinstance(change, Change) for change in changes)
    assert xstreamcast.query('stream("t")//b/title/string()', streams={"t": out}).to_list() == ["T"]


def test_the_same_query_announces_the_same_text() -> None:
    texts = set()
    for _ in range(3):
        made = result(FIRST[1]).derive({"s": KNOWN})
        assert made is not None
        texts.add(write_structure(made))
    assert len(texts) == 1
