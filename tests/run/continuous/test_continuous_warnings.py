"""A continuous query says which of its paths can match nothing, as soon as the structure of the stream has come."""

from __future__ import annotations

from xstreamcast import continuous
from xstreamcast.model.structure import parse_structure

STRUCTURE = (
    '<stream:structure><tag id="1" name="r" type="snapshot"><tag id="2" name="account" type="filler"/></tag>'
    "</stream:structure>"
)
RULED_OUT = (
    "query:1:20 nothing matches acount: the structure of stream s has none below the root (hint: did you mean account?)"
)


def test_by_a_structure_that_the_stream_brings() -> None:
    query = continuous('count(stream("s")//acount)')
    assert not query.warnings
    query.feed(parse_structure(STRUCTURE))
    assert query.warnings == (RULED_OUT,)


def test_by_a_structure_that_was_given_and_comes_again_once() -> None:
    query = continuous('count(stream("s")//acount)', structures={"s": STRUCTURE})
    assert query.warnings == (RULED_OUT,)
    query.feed(parse_structure(STRUCTURE))
    assert query.warnings == (RULED_OUT,)


def test_of_paths_that_lead_somewhere_nothing_is_said() -> None:
    query = continuous('count(stream("s")//account)')
    query.feed(parse_structure(STRUCTURE))
    assert query.warnings == ()
