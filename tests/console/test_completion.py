"""What may stand at a place of a query that is being written."""

from __future__ import annotations

import pytest

from xstreamcast.console.completion import completions
from xstreamcast.generate import find
from xstreamcast.model.structure import parse_structure

STRUCTURES = {name: parse_structure(find(name).structures[name]) for name in ("credit",)}
INSIDE = ["creditLimit", "customer", "transaction"]


def offered(text: str) -> list[str]:
    """What is offered where ``|`` stands."""
    at = text.index("|")
    return [choice.text for choice in completions(text.replace("|", ""), at, STRUCTURES).choices]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('stream("|', ["credit"]),
        ('count(stream("cr|")//account)', ["credit"]),
        ('stream("credit")/|', ["creditAccounts"]),
        ('stream("credit")//acc|', ["account", "creditAccounts"]),
        ('stream("credit")/creditAccounts/account/|', INSIDE),
        ('stream("credit")//account[creditLimit > 5]?[now]/|', INSIDE),
        ('for $a in stream("credit")//account where $a/|', INSIDE),
        ('for $a in stream("credit")//account let $t := $a/transaction return $t/|', ["amount", "status", "vendor"]),
        ('for $a at $i in stream("credit")//account return $|', ["$a", "$i"]),
        ('for $a in stream("none")//account return $a/|', []),
        ('let $a := $a/b return $a/|', []),
        ("distinct-v|", ["distinct-values"]),
        ('stream("credit")//account/@|', []),
        ("1 + |", []),
    ],
)  # fmt: skip
def test_names_come_from_structures_variables_and_functions(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


def test_words_that_begin_so_come_before_those_that_have_it_inside() -> None:
    found = offered("sat|")
    assert found[0] == "satisfies"
