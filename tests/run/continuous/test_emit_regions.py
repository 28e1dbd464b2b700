"""Regions in unusual places: twice in the document, inside themselves, in content that is sent again."""

from __future__ import annotations

from emission import Followed

from xstreamcast.model.change import After, Fill, Replace

TWICE = Fill(region=0, content=b'<r><stream:hole id="1"/><stream:hole id="1"/></r>')
MUTABLE = Fill(region=1, content=b'<stream:mutable id="7"><a>m</a></stream:mutable>')


def test_a_region_inside_a_filler_that_stands_twice_changes_in_both_places() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(TWICE, MUTABLE)
    query.feed(Replace(region=7, content=b"<a>n</a>"))
    assert query.shown == "n n"


def test_regions_in_a_content_that_is_replaced_are_gone() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(TWICE, MUTABLE)
    query.feed(Replace(region=1, content=b"<a>x</a>"))
    assert query.shown == "x x"


def test_a_hole_inside_its_own_filler_stays_empty_whatever_comes() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'))
    for text in (b"1", b"2", b"3"):
        query.feed(Replace(region=1, content=b"<b><a>" + text + b'</a><stream:hole id="1"/></b>'))
        assert query.shown == text.decode()


def test_a_hole_in_a_sibling_of_itself_is_shown_once_more_and_no_deeper() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'), Fill(region=1, content=b"<a>1</a>"))
    query.feed(After(region=10, target=1, content=b'<b><stream:hole id="1"/></b>'))
    assert query.shown == query.answer == "1 1"


def test_an_id_used_again_inside_its_own_region_means_the_newest() -> None:
    query = Followed('stream("s")//a/string()')
    query.feed(Fill(region=0, content=b'<r><stream:mutable id="7"><a>m</a></stream:mutable></r>'))
    query.feed(Fill(region=7, content=b'<a>x</a><stream:mutable id="7"><a>y</a></stream:mutable>'))
    assert query.shown == "x y"
    query.feed(Replace(region=7, content=b"<a>z</a>"))
    assert query.shown == "x z"


def test_a_long_chain_of_siblings_is_read_to_its_end() -> None:
    query = Followed('<all>{ for $a in stream("s")//a order by number($a) descending return string($a) }</all>')
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'), Fill(region=1, content=b"<a>1</a>"))
    chain = [After(region=n, target=n - 1, content=b"<a>%d</a>" % n) for n in range(2, 3001)]
    query.feed(*chain)
    assert query.shown.startswith("<all>3000 2999 2998 ")
