"""Queries over the answers of others, and paths that a tag structure spells out: followed, and exact."""

from __future__ import annotations

import pytest
from changing_lists import hold, without_message
from emission import told
from wide_sections import STRUCTURE, changes

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import After, Fill, Remove, Replace
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.run.continuous.query import ContinuousQuery, continuous
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of

FIRST = (
    'for $b in stream("s")//b return <x id="{$b/@id}">{ $b/c }</x>',
    '<r>{ for $b in stream("s")//b return <x id="{$b/@id}">{ $b/c }</x> }</r>',
    '(stream("s")//b/c, count(stream("s")//b))',
)
SECOND = (
    'stream("t")/x',
    'stream("t")/x[c = 2]/@id/string()',
    'for $x in stream("t")/x where $x/c > 2 return <z>{ $x/c }</z>',
    'count(stream("t")/x)',
    'sum(stream("t")/*/c)',
    'stream("t")/x[2]',
    'stream("t")/r/x[2]',
    '<q>{ stream("t")/x }</q>',
    'for $x at $i in stream("t")/x return <z n="{$i}">{ $x/c }</z>',
    'stream("t")/*',
)
SPELLED = (
    "//b/..",
    "//b[c]/../t",
    "//b[2]",
    "//b[last()]",
    "//b[c][2]/c",
    "//b/ancestor::s/t",
    "//b/ancestor::r/t",
    "//c/../../t",
    "//b[../t = 1]",
    "//b/following-sibling::b",
    "//b[not(following-sibling::b)]",
    "//s[2]",
)


def agrees(query: ContinuousQuery, text: str, stream: str, document: str) -> None:
    """The answer, and what has been told of it, are those of the query on a document."""
    node = view_of(document.encode(), f"stream:{stream}")
    expected = told(lambda: compile(text)(streams=lambda _: node, now="2003-11-30").items())
    assert without_message(told(lambda: query.answer().items())) == without_message(expected), document
    if not expected.startswith("<error"):
        assert query.text() == expected, document


@pytest.mark.parametrize("first", FIRST, ids=["forest", "document", "values"])
@pytest.mark.parametrize("second", SECOND)
def test_a_query_follows_the_answer_of_another_from_the_top(first: str, second: str) -> None:
    feeding, following = continuous(first), continuous(second)
    for number, change in enumerate(changes(len(second), 24)):
        if number == 5:  # from any moment on
            following.listen("t", feeding)
        feeding.feed(change, "s")
        if number >= 5:
            agrees(following, second, "t", feeding.text())
    assert not following.recomputed


def test_a_stream_may_turn_out_to_have_several_elements_at_its_top() -> None:
    query = continuous('stream("s")/a[@n = 1]/b')
    query.feed(Fill(region=0, content=b"<a n='1'><b/></a><stream:hole id='1'/>"))
    assert query.text() == "<b/>"
    query.feed(Replace(region=1, content=b"<a n='1'><b>2</b></a><a n='2'><b>3</b></a>"))
    assert query.text() == "<b/><b>2</b>"
    query.feed(Replace(region=0, content=b"<a n='1'><b/></a>"))
    assert query.text() == "<b/>"


def test_one_that_has_had_one_element_may_get_another() -> None:
    query = continuous('stream("s")/a[@n = 1]/b')
    query.feed(Fill(region=0, content=b"<a n='1'><b>1</b></a>"))
    query.feed(Replace(region=0, content=b"<a n='2'><b>1</b></a><a n='1'><b>2</b></a>"))
    assert query.text() == "<b>2</b>"
    assert not query.recomputed


@pytest.mark.parametrize("late", [False, True], ids=["known", "late"])
@pytest.mark.parametrize("path", SPELLED)
def test_a_structure_tells_what_is_around_an_element(path: str, late: bool) -> None:
    text = f'stream("s"){path}'
    query = continuous(text, structures=None if late else {"s": STRUCTURE})
    materialiser = Materialiser()
    for number, change in enumerate(changes(len(path), 30)):
        if late and number == 6:
            query.feed(STRUCTURE, "s")
        materialiser.apply(change)
        query.feed(change, "s")
        agrees(query, text, "s", materialiser.text())
    assert not query.recomputed


def test_what_stands_beside_a_hole_moves_with_it() -> None:
    """A hole of a content that is sent again, and a change of what stands beside it: the record is the new one."""
    given = [
        Fill(region=0, content=b"<r><stream:hole id='1'/></r>"),
        Fill(region=1, content=b"<s><stream:hole id='2'/></s>"),
        Fill(region=2, content=b"<b/>"),
        After(region=3, target=2, content=b"<b><c>1</c></b>"),
        Replace(region=1, content=b"<s><t/><stream:hole id='2'/></s>"),
        Replace(region=3, content=b"<b><c>2</c></b>"),
        Remove(region=3),
    ]
    hold('for $s in stream("s")//s return <o>{ $s/t, $s/b/c }</o>', given)


@pytest.mark.parametrize(("path", "names"), [("//b", ["r", "s"]), ("//b/..", ["r"]), ("/r/s/b", [])])
def test_elements_that_the_structure_does_not_declare_are_reported_where_the_query_looks(
    path: str, names: list[str]
) -> None:
    found: list[Diagnostic] = []
    query = continuous(f'stream("s"){path}', structures={"s": STRUCTURE}, report=found.append)
    query.feed(Fill(region=0, content=b"<r><z><b/></z><s><b/><z/></s><s><b/><z/></s></r>"))
    query.feed(Replace(region=0, content=b"<r><z/><z/></r>"))
    assert [one.code for one in found] == ["XSC0037"] * len(names)
    assert [one.message.split()[3] for one in found] == [f"<{name}>" for name in names]
