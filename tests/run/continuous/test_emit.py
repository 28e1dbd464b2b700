"""The output stream: T(output) is the answer after every change, and nothing is told that is not different."""

from __future__ import annotations

import pytest
from budget import MORE
from emission import Followed, told
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import After, Before, Change, Fill, Freeze, Hide, Remove, Replace, Show
from xstreamcast.run.continuous.display.shelf import Emitted
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of

QUERIES = (
    'stream("s")//a',
    'stream("s")//a/string()',
    'stream("s")//a/@n/string()',
    'stream("s")//b[a]',
    'for $x in stream("s")//a return ($x/text(), <y>{ $x/@n }</y>)',
    'for $x in stream("s")//a return (data($x), "-"[$x/@n])',
    'count(stream("s")//a), stream("s")//a/data(), "end"',
    'stream("s")//a/data(), stream("s")//b/data()',
    'stream("s")//a ! [data(.)[. != "1"]]',
    'stream("s")//a ! xs:integer(.)',
    'stream("s")//a/@n',
    'sum(stream("s")//a ! number(.)), stream("s")//b',
    'for $x in stream("s")//a order by string($x) descending return $x',
    '<x>{ stream("s")//a }</x>, 1, stream("s")//a/string()',
    '<x n="{count(stream("s")//a)}">t{ stream("s")//a/string() }<y>{ stream("s")//b }</y></x>',
    'let $n := 1 return element x { for $a in stream("s")//a return ($a/@n, <z>{ data($a) }</z>) }',
    '<x>{ for $a in stream("s")//a return <p:z xmlns:p="u">{ data($a) }</p:z> }</x>',
    'if (exists(stream("s")//b)) then <x>{ stream("s")//a }</x> else <none/>',
    '<x>{ stream("s")//a }{ stream("s")//a/data() }</x>',
    '(stream("s")//a)[2], (stream("s")//a)[2]/string()',
    'distinct-values(stream("s")//a)',
    'if (stream("s")//b) then stream("s")//a/string() else "none"',
)

CHILD = st.one_of(
    st.builds("<a{}>{}</a>".format, st.sampled_from(["", ' n="1"', ' n="2"']), st.sampled_from(["1", "2", "x", ""])),
    st.builds('<b><stream:hole id="{}"/></b>'.format, st.integers(1, 6)),
    st.builds('<stream:hole id="{}"/>'.format, st.integers(1, 6)),
    st.builds('<stream:hole id="{}"/>'.format, st.integers(1, 6)),
    st.builds('<stream:mutable id="{}"><a>m</a></stream:mutable>'.format, st.integers(7, 9)),
    st.just("text"),
)
CONTENT = st.lists(CHILD, max_size=5).map(lambda parts: "".join(parts).encode())
REGION = st.integers(1, 9)
CHANGE: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda c: Replace(region=0, content=b"<r>" + c + b"</r>"), CONTENT),
    st.builds(lambda r, c: Fill(region=r, content=c), REGION, CONTENT),
    st.builds(lambda r, c: Replace(region=r, content=c), REGION, CONTENT),
    st.builds(lambda r, c: Replace(region=r, content=c), REGION, CONTENT),
    st.builds(lambda r: Remove(region=r), REGION),
    st.builds(lambda r: Hide(region=r), REGION),
    st.builds(lambda r: Show(region=r), REGION),
    st.builds(lambda r, t, c: After(region=r, target=t, content=c), st.integers(10, 12), REGION, CONTENT),
    st.builds(lambda r, t, c: Before(region=r, target=t, content=c), st.integers(10, 12), REGION, CONTENT),
    st.builds(lambda r: Freeze(region=r), st.just(99)),
)
FIRST = Fill(region=0, content=b'<r><stream:hole id="1"/><a>1</a><stream:hole id="2"/><stream:hole id="3"/></r>')
SECOND = Fill(region=1, content=b'<a n="1">2</a><stream:hole id="4"/><a>3</a>')


def code_of(answer: str) -> str:
    """An answer, or only the code of the error that it is."""
    return answer.split('"')[3] if answer.startswith("<error ") else answer


@seed(5)
@settings(max_examples=60 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(QUERIES), st.lists(st.lists(CHANGE, min_size=1, max_size=3), max_size=12))
def test_the_output_stream_describes_the_answer_after_every_change(text: str, changes: list[list[Change]]) -> None:
    query, t, whole = Followed(text), Materialiser(), compile(text)
    before = query.answer
    opening: list[list[Change]] = [[FIRST], [SECOND]]
    for batch in opening + changes:
        made = query.feed(*batch)
        answer = query.answer
        assert query.shown == answer
        assert not query.odd
        for change in batch:
            t.apply(change)
        document = view_of(t.text().encode(), "stream:s")
        scratch = told(lambda: whole(streams=lambda _: document).items())  # noqa: B023 - called at once
        assert code_of(answer) == code_of(scratch)
        if answer == before:  # no net change, no output, unless equal items change places
            assert {emitted.change.kind for emitted in made} <= {"remove", "after"}
        before = answer
        labels = [label for label, _ in query.output.items()]
        assert labels == sorted(set(labels))


def numbers(*values: int) -> bytes:
    return "".join([f'<stream:hole id="{value}"/>' for value in values]).encode()


@pytest.fixture
def list_of_three() -> Followed:
    query = Followed('stream("s")//a')
    query.feed(Fill(region=0, content=b"<r>" + numbers(1, 2, 3) + b"</r>"))
    query.feed(*[Fill(region=n, content=b"<a>%d</a>" % n) for n in (1, 2, 3)])
    return query


def kinds(made: list[Emitted]) -> list[str]:
    return [emitted.change.kind for emitted in made]


def test_an_item_that_changes_is_replaced_where_it_stands(list_of_three: Followed) -> None:
    made = list_of_three.feed(Replace(region=2, content=b"<a>two</a>"))
    assert kinds(made) == ["replace"]
    assert list_of_three.shown == "<a>1</a><a>two</a><a>3</a>"


def test_what_is_sent_again_with_equal_content_tells_nothing(list_of_three: Followed) -> None:
    assert not list_of_three.feed(Fill(region=2, content=b"<a>2</a>"))
    assert not list_of_three.feed(Replace(region=2, content=b"<!-- other, but not to this query --><a>2</a>"))
    assert not list_of_three.feed(Replace(region=0, content=b"<r x='1'>" + numbers(1, 2, 3) + b"</r>"))


def test_a_parent_with_one_hole_in_another_place_moves_one_item(list_of_three: Followed) -> None:
    made = list_of_three.feed(Replace(region=0, content=b"<r>" + numbers(2, 3, 1) + b"</r>"))
    assert list_of_three.shown == "<a>2</a><a>3</a><a>1</a>"
    assert kinds(made) == ["remove", "after"]


def test_hiding_and_showing_a_region_touches_what_is_in_it_and_nothing_else(list_of_three: Followed) -> None:
    assert kinds(list_of_three.feed(Hide(region=1))) == ["remove"]
    assert list_of_three.shown == "<a>2</a><a>3</a>"
    assert kinds(list_of_three.feed(Show(region=1))) == ["after"]
    assert list_of_three.shown == "<a>1</a><a>2</a><a>3</a>"


def test_a_blank_between_atomic_values_comes_and_goes_with_the_neighbour() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(Fill(region=0, content=b"<r>" + numbers(1, 2) + b"</r>"), Fill(region=2, content=b"<a>2</a>"))
    assert query.shown == "2"
    assert kinds(query.feed(Fill(region=1, content=b"<a>1</a>"))) == ["after", "replace"]
    assert query.shown == "1 2"
    assert kinds(query.feed(Remove(region=1))) == ["remove", "replace"]
    assert query.shown == "2"


def test_an_error_is_the_answer_until_it_ceases() -> None:
    query = Followed('stream("s")//a ! xs:integer(.)')
    query.feed(Fill(region=0, content=b"<r>" + numbers(1, 2) + b"</r>"), Fill(region=2, content=b"<a>2</a>"))
    made = query.feed(Fill(region=1, content=b"<a>x</a>"))
    assert kinds(made) == ["hide", "replace"]
    assert 'code="FORG0001"' in query.shown
    assert not query.feed(Replace(region=2, content=b"<a>3</a>")), "it is the same error"
    query.feed(Replace(region=1, content=b"<a>1</a>"))
    assert query.shown == "1 3"


def test_items_in_a_new_element_are_told_one_by_one() -> None:
    items = 'for $a in stream("s")//a return <it>{ data($a) }</it>'
    query = Followed(f'<all n="{{ count(stream("s")//b) }}">{{ {items} }}</all>')
    query.feed(Fill(region=0, content=b"<r>" + numbers(1, 2, 3) + b"</r>"))
    assert query.shown == '<all n="0"/>'
    query.feed(Fill(region=1, content=b"<a>1</a>"), Fill(region=3, content=b"<a>3</a>"))
    made = query.feed(Fill(region=2, content=b"<a>2</a>"))
    (one,) = made
    assert isinstance(one.change, After)
    assert one.change.content == b"<it>2</it>"
    assert query.shown == '<all n="0"><it>1</it><it>2</it><it>3</it></all>'
    made = query.feed(Replace(region=1, content=b"<b/>"))
    assert sorted(kinds(made)) == ["remove", "replace"]
    assert query.shown == '<all n="1"><it>2</it><it>3</it></all>'


def test_the_order_labels_of_rows_sort_as_the_answer_does(list_of_three: Followed) -> None:
    made = list_of_three.feed(Replace(region=1, content=b"<a>0</a><a>1</a><a>1b</a>"))
    labels = dict(list_of_three.output.items())
    assert "".join(labels[label] for label in sorted(labels)) == list_of_three.shown
    assert all(emitted.order in labels for emitted in made if emitted.change.kind != "remove")


def test_a_change_looks_at_few_places_however_many_items_there_are() -> None:
    looked = []
    for size in (500, 4000):
        query = Followed('stream("s")//a')
        query.feed(Fill(region=0, content=b"<r>" + numbers(*range(1, size + 1)) + b"</r>"))
        query.feed(*[Fill(region=n, content=b"<a>%d</a>" % n) for n in range(1, size + 1)])
        top = query.journal.live["s"].top[0]
        before = top.touched
        made = query.feed(Replace(region=size // 2, content=b"<a>x</a><a>y</a>"))
        assert len(made) == 2
        looked.append(top.touched - before)
    assert looked[1] <= looked[0] + 20
