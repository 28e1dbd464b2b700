"""An error is an answer: it is shown when the query fails on what has come, with its code, and withdrawn when not."""

from __future__ import annotations

import pytest
from law_draw import draw_failing_case
from law_oracle import LawBroken, check

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Fill, Hide, Remove, Replace, Show

BLOCK = 6


@pytest.mark.parametrize("block", range(8))
def test_the_error_after_every_change_is_that_of_the_query_run_from_scratch_and_saxons(block: int) -> None:
    errors = answers = 0
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        try:
            told = check(draw_failing_case(seed), saxon="always")
        except LawBroken as broken:
            raise AssertionError(f"seed {seed}: {broken}") from None
        errors, answers = errors + told.errors, answers + told.answers
    assert errors
    assert answers > BLOCK, "errors come and go"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('stream("s")//v ! (12 idiv .)', "FOAR0001"),
        ('sum(stream("s")//v ! xs:integer(12 div xs:decimal(.)))', "FOAR0001"),
        ('for $v in stream("s")//v order by 12 idiv xs:integer($v) return string($v)', "FOAR0001"),
        ('for $v in stream("s")//v group by $k := 12 mod xs:integer($v) order by $k return $k', "FOAR0001"),
        ('<o>{ for $v in stream("s")//v where 12 idiv xs:integer($v) > 1 return $v }</o>', "FOAR0001"),
        ('let $n := count(stream("s")//v[. = 0]) return 12 idiv (1 - $n)', "FOAR0001"),
        ('exactly-one(stream("s")//v[. != 0])/string()', "FORG0005"),
        ('xs:date(stream("s")//v[. = 0] ! "x"), 1', "FORG0001"),
        ('if (stream("s")//v = 0) then error(xs:QName("local:zero")) else 1', "zero"),
    ],
)
def test_an_error_comes_with_a_change_and_goes_with_the_next(text: str, code: str) -> None:
    query = xstreamcast.continuous(text)
    query.feed(Fill(region=0, content=b'<r><v>3</v><stream:hole id="1"/></r>'))
    sound = query.text()
    assert sound
    bad = b"<v>0</v>" if code != "FORG0005" else b"<v>2</v>"
    for change, recovers in (
        (Fill(region=1, content=bad), Remove(region=1)),
        (Fill(region=1, version=3, content=bad), Replace(region=1, version=4, content=b"")),
        (Replace(region=1, version=5, content=bad), Hide(region=1)),
        (Show(region=1), Fill(region=0, content=b"<r><v>3</v></r>")),
    ):
        query.feed(change)
        with pytest.raises(XStreamError) as failure:
            query.answer().items()
        assert code in failure.value.code
        query.feed(recovers)
        assert query.text() == sound
