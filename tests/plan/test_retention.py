"""How long versions and events must be kept for a query, and what explain says of it."""

from __future__ import annotations

import pytest

from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.retention import EVERYTHING, Keep, retention
from xstreamcast.run.explained import explain

STRUCTURE = parse_structure("""<tag type="snapshot" id="1" name="creditAccounts">
  <tag type="temporal" id="2" name="account">
    <tag type="snapshot" id="3" name="customer"/>
    <tag type="temporal" id="4" name="creditLimit"/>
    <tag type="event" id="5" name="transaction">
      <tag type="temporal" id="6" name="status"/><tag type="snapshot" id="7" name="amount"/>
    </tag>
  </tag>
</tag>""")
ALL = "everything"
ALIVE = "what is alive"
LAST = "the last version"
CASES = [
    ('stream("c")//transaction', {"account": ALL, "transaction": ALL, "status": ALL}),
    ('stream("c")//amount/text()', {"account": ALL, "transaction": ALL}),
    ('count(stream("c")//transaction?[now-PT1H,now])', {"account": ALL, "transaction": "the last PT1H"}),
    ('stream("c")//account?[now]/creditLimit/text()', {"account": ALIVE, "creditLimit": ALIVE}),
    ('stream("c")/creditAccounts?[now-P1D,now]', {"account": "the last P1D", "status": "the last P1D"}),
    ('stream("c")//transaction?[now-P1M,now]', {"transaction": "the last P32D"}),
    ('stream("c")//transaction?[now+PT1H,now+PT2H]', {"transaction": ALIVE}),
    ('stream("c")//transaction?[now() - xs:dayTimeDuration("PT5M"), now]', {"transaction": "the last PT5M"}),
    ('stream("c")//transaction?[2003-11-01,now]', {"transaction": "since 2003-11-01T00:00:00"}),
    ('for $a in stream("c")//account return $a/creditLimit#[last]', {"account": ALL, "creditLimit": LAST}),
    # seen in two windows, or in one and otherwise
    ('stream("c")//transaction?[now-PT1H,now], stream("c")//status?[now-PT5M,now]', {"status": "the last PT1H"}),
    ('stream("c")//transaction?[now-PT1H,now], stream("c")//transaction[1]', {"transaction": ALL}),
    ('for $a in stream("c")//account return ($a/creditLimit#[last], $a/creditLimit?[now])',
     {"creditLimit": "what is alive, the last version"}),
    # what nobody declared may be anywhere
    ('count(stream("c")//transaction?[now-PT1H,now]), stream("c")//note', {"transaction": ALL}),
    ('count(stream("c")//transaction?[now-PT1H,now]), stream("c")//note?[now]', {"transaction": ALL}),
    # a window about what is in another
    ('for $t in stream("c")//transaction?[now-PT1M,now] return stream("c")//creditLimit?[vtFrom($t)-PT5S,now]',
     {"creditLimit": "the last PT1M5S"}),
    ('for $t in stream("c")//transaction return stream("c")//creditLimit?[vtFrom($t)-PT5S,now]',
     {"creditLimit": ALL}),
    ('for $t in stream("c")//amount?[now-PT1M,now] return stream("c")//creditLimit?[vtFrom($t)-PT5S,now]',
     {"creditLimit": ALL}),
    # seen by itself on the way to what is in a window
    ('for $x at $i in stream("c")//* return <o>{ $x/creditLimit?[now] }</o>', {"creditLimit": ALL}),
    ('for $x in stream("c")//account/* return ($x/amount, $x/status?[now])', {"creditLimit": ALL, "transaction": ALL}),
    ('for $x in stream("c")//account?[now-PT1H,now]/* return count($x/status?[now])', {"transaction": "the last PT1H"}),
    # not windows that end with now
    ('stream("c")//transaction?[start,now]', {"transaction": ALL}),
    ('stream("c")//transaction[amount > 1]?[now]', {"transaction": ALL}),
    ('stream("c")//creditLimit#[1]', {"creditLimit": ALL}),
    ('for $t in stream("c")//transaction return $t?[now]/status', {"transaction": ALL, "status": ALL}),
    ('for $a in stream("c")//account return vtFrom($a/customer)', {"account": ALL}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_a_tag_is_kept_as_long_as_a_window_can_see_it(text: str, wanted: dict[str, str]) -> None:
    made = plan(parse(text, known_functions=known_function), streams=True, changing=True)
    kept = {STRUCTURE.tags[tag].name: str(keep) for tag, keep in retention(made, {"c": STRUCTURE})["c"].items()}
    assert {name: kept.get(name) for name in wanted} == wanted


def test_the_longest_counts() -> None:
    assert Keep(back=5) | Keep(back=7) == Keep(back=7)
    assert Keep(since=5) | Keep(since=7) | Keep(last=True) == Keep(since=5, last=True)
    assert Keep(back=5) | EVERYTHING == EVERYTHING


def test_explain_tells_it() -> None:
    text = 'for $t in stream("c")//transaction?[now-PT1H,now] return $t/amount'
    said = str(explain(text, structures={"c": STRUCTURE}))
    assert "/creditAccounts/account/transaction (event) is kept: the last PT1H" in said
