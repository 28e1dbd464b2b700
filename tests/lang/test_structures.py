"""With tag structures known, a path that can match nothing is warned of."""

from __future__ import annotations

import pytest

from xstreamcast.lang import parse
from xstreamcast.model.structure import parse_structure

CREDIT = parse_structure(
    """<stream:structure xmlns:c="urn:c"><tag id="1" name="creditAccounts"><tag id="2" name="account" type="temporal">
         <tag id="3" name="customer"/><tag id="4" name="creditLimit" type="temporal"/>
         <tag id="5" name="transaction" type="event"><tag id="6" name="vendor"/>
         <tag id="7" name="status" type="temporal"/><tag id="8" name="amount"/></tag>
         <tag id="9" name="c:note"/></tag></tag></stream:structure>"""
)
PARTS = parse_structure(
    '<stream:structure><tag id="1" name="part"><tag id="2" name="name"/><tag ref="1"/></tag></stream:structure>'
)
STRUCTURES = {"credit": CREDIT, "parts": PARTS}


def warnings(query: str) -> list[tuple[str, str]]:
    module = parse(query, structures=STRUCTURES)
    return [(module.source.text[slice(*w.span)], w.hint) for w in module.warnings]


@pytest.mark.parametrize(
    "query",
    [
        'stream("credit")//account/transaction[status = "charged"]/amount/text()',
        'stream("credit")/creditAccounts/account/@id',
        'stream("credit")//transaction/../customer',
        'stream("credit")//account/*/amount',
        'for $a in stream("credit")//account, $t in $a/transaction?[now-PT1H,now] return ($t/vendor, $t/amount)',
        'let $all := stream("credit") for $x in $all//status where $x/../amount > 1 return $x',
        'stream("elsewhere")//anything',
        'for $x in ("account", "customer") return stream($x)//what',
        'stream("credit")//account/descendant::amount',
        'declare namespace n = "urn:c"; stream("credit")//n:note',
        'stream("credit")//*:note',
        'stream("parts")/part/part/part/name',
        'stream("credit")//account/self::account',
        'for $a in stream("credit")//account group by $c := $a/customer return $a/creditLimit',
        'stream("credit")//account ! customer',
        'stream("credit")//account/(customer | creditLimit)',
    ],
)
def test_paths_that_can_match_are_not_warned_of(query: str) -> None:
    assert warnings(query) == []


@pytest.mark.parametrize(
    ("query", "step", "hint"),
    [
        ('stream("credit")//acount', "acount", "did you mean account?"),
        ('stream("credit")/account', "account", "it lies deeper: write //account"),
        ('stream("credit")//account[limit > 1]', "limit", ""),
        ('for $a in stream("credit")//account return $a/transaction?[now]/amont', "amont", "did you mean amount?"),
        ('let $a := stream("credit")//account where $a/custmer return 1', "custmer", "did you mean customer?"),
        ('some $t in stream("credit")//transaction satisfies $t/vendr', "vendr", "did you mean vendor?"),
        ('stream("credit")//note', "note", ""),
        ('stream("parts")/part/nam', "nam", "did you mean name?"),
        ('declare variable $s := stream("credit"); $s//acct', "acct", "did you mean account?"),
        ('stream("credit")//account ! costumer', "costumer", "did you mean customer?"),
        ('stream("credit")//account/(customer | creditLimits)', "creditLimits", "did you mean creditLimit?"),
    ],
)
def test_a_step_to_nowhere_is_warned_of_once_with_a_hint(query: str, step: str, hint: str) -> None:
    [(shown, given)] = warnings(query)
    assert shown == step
    assert hint == given or (not hint and "did you mean" in given)


def test_only_the_first_step_to_nowhere_is_named() -> None:
    assert [shown for shown, _ in warnings('stream("credit")//acount/foo/bar')] == ["acount"]
