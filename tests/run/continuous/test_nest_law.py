"""Aggregates in the body of a record: one more of what is counted is added, the others are not looked at."""

from __future__ import annotations

import pytest
from changing_lists import changes, hold
from emission import Followed

from xstreamcast.model.change import Fill
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.algebra import Strategy

R = 'stream("s")/r'
NESTS = (
    f"for $a in {R}/a where sum($a/v) > 2 return <z>{{ $a/x, count($a/v) }}</z>",
    f"for $a in {R}/a let $t := $a/v where count($t) > 1 return <m>{{ $a/@n, max($t), $t }}</m>",
    f"for $a in {R}/a where $a/@n > 2 return sum($a/v/xs:date(.))",
    f"for $a in {R}/a return if ($a/@n > 2) then string-join($a/v, '-') else exists($a/v[. > 2])",
    f"let $n := count({R}//v) for $a in {R}/a where sum(for $v in $a/v return $v * $n) > 3 return <z>{{ $a/x }}</z>",
    f"for $a in {R}/a where some $v in $a/v satisfies {R}/b/v = $v return <s>{{ $a/x }}</s>",
    f"for $a in {R}/a order by count($a/v), $a/@n return <o>{{ min($a/v) }}</o>",
    f"for $a in {R}/a return <n>{{ for $b in {R}/b where $b/y = $a/x return count($b/v) + count($a/v) }}</n>",
)


@pytest.mark.parametrize("number", range(len(NESTS)))
def test_aggregates_in_bodies_are_those_of_the_document_after_every_change(number: int) -> None:
    for seed in range(4):
        followed = hold(NESTS[number], changes(seed, 25))
        assert followed.journal.plan.strategy is Strategy.STREAM


ANCESTORS = (
    'for $v in stream("s")//a/v return <p>{ $v/../x, string($v) }</p>',
    'stream("s")//a/v[../x = 2]',
    'for $v in stream("s")//a/v where $v/following-sibling::v > $v return <p>{ $v/../@n, $v }</p>',
    'for $v in stream("s")//a/v order by $v/../@n, count($v/preceding-sibling::v) return <p>{ $v/../x }</p>',
    'for $v in stream("s")//a/v, $b in stream("s")//b where $b/y = $v/../x return <p>{ $v/../x, $b/v }</p>',
)


@pytest.mark.parametrize("number", range(len(ANCESTORS)))
def test_what_looks_at_other_parts_of_an_ancestor_is_about_that_ancestor(number: int) -> None:
    for seed in range(3):
        followed = hold(ANCESTORS[number], changes(seed, 25))
        assert followed.journal.plan.strategy is Strategy.STREAM


CONDITIONS = (
    'stream("s")/r[a/@n = 2]/b',
    '<all>{ for $b in stream("s")/r[a/@n = 2]/b order by $b/@m return <x>{ $b/v }</x> }</all>',
    'for $b in stream("s")/r[a/@n = 2]/b return string($b/@m)',
    '(if (count(stream("s")//a) > 2) then stream("s")//b/v else (), count(stream("s")//a))',
)


@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_a_condition_on_an_ancestor_shows_and_hides_what_is_below_it(number: int) -> None:
    for seed in range(4):
        followed = hold(CONDITIONS[number], changes(seed, 25))
        assert followed.journal.plan.strategy is Strategy.STREAM


STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="accounts" type="snapshot"><tag id="2" name="account" type="temporal">
    <tag id="3" name="limit" type="temporal"/>
    <tag id="4" name="transaction" type="event"><tag id="5" name="amount" type="snapshot"/></tag>
  </tag></tag>
</stream:structure>"""


def test_one_more_transaction_does_not_look_at_the_others() -> None:
    text = (
        'for $a in stream("s")//account where sum($a/transaction/amount) >= $a/limit[last()] '
        "return <maxed>{ $a/@id, count($a/transaction) }</maxed>"
    )
    followed = Followed(text, {"s": parse_structure(STRUCTURE)})
    root = b"<accounts><stream:hole id='1' tsid='2'/></accounts>"
    account = b"<account id='7'><stream:hole id='2' tsid='4'/></account>"
    followed.feed(Fill(region=0, tsid=1, content=root))
    followed.feed(Fill(region=1, tsid=2, valid_time=0, content=account))
    followed.feed(Fill(region=2, tsid=3, valid_time=0, content=b"<limit>300</limit>"))
    amount = b"<transaction><amount>1</amount></transaction>"
    for second in range(1, 301):
        followed.feed(Fill(region=2, tsid=4, valid_time=second * 1_000_000, content=amount))
    assert followed.shown == '<maxed id="7">300</maxed>'
    before, assembled = followed.journal.evaluated, dict(followed.journal.frames)
    followed.feed(Fill(region=2, tsid=4, valid_time=400_000_000, content=amount))
    assert followed.shown == '<maxed id="7">301</maxed>'
    assert followed.journal.evaluated == before + 3, "what it adds to the sum, to the count, and the account"
    assert followed.journal.frames == assembled, "what is read of the account itself is still good"
    followed.feed(Fill(region=2, tsid=3, valid_time=500_000_000, content=b"<limit>1000</limit>"))
    assert followed.shown == ""
