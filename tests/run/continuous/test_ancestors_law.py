"""Paths by way of parents, ancestors and what is below both follow their changes: the law, and what a change costs."""

from __future__ import annotations

import pytest
from changing_lists import hold
from test_axes_costs import filled as filled_anywhere
from test_axes_costs import steps as steps_anywhere
from test_change_costs import cost_the_same, over_stream
from wide_sections import STRUCTURE, changes

FOLLOWED = (
    "//s//b/..",
    "//s//b/../@id/string()",
    "//r//b/parent::s/t",
    "//s//b[2]",
    "//r//b[c][last()]/@id/string()",
    "count(//s//b[1])",
    "//s[b]/@id/string()",
    "//s[not(b)]/t",
    '//b[ancestor::s/t = "1"]/c',
    '//b[c][ancestor::s[t = "2"]]/@id/string()',
    'for $b in //b where $b/ancestor::s/t = "1" return <p>{ $b/c }</p>',
    '//b[ancestor::s/@id = "1"]/c',
)
ANYWHERE = (
    "//s//b/../@id/string()",
    "//s//b[2]",
    "//s//b[c > 10][last()]/@id/string()",
    "//s//b/../t",
)
DECLARED = ("//s[b]/@id/string()", "//s/b/../@id/string()", "//s//b/../@id/string()", "//b/../t")


@pytest.mark.parametrize("structured", [True, False], ids=["structure", "none"])
@pytest.mark.parametrize("text", FOLLOWED)
def test_what_is_above_is_followed(text: str, structured: bool) -> None:
    followed = hold(over_stream(text), changes(len(text) + structured, 30), {"s": STRUCTURE} if structured else None)
    assert followed.journal.plan.strategy.value == "stream"


@pytest.mark.parametrize("text", ANYWHERE)
def test_a_change_costs_the_same_where_nothing_tells_what_is_above(text: str) -> None:
    cost_the_same(text, 30, filled_anywhere, steps_anywhere)


@pytest.mark.parametrize("text", DECLARED)
def test_that_there_are_children_is_counted_where_they_are_declared_to_come_apart(text: str) -> None:
    cost_the_same(text, 30)
