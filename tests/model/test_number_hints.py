"""A value without a type that is taken for a number and is none: the error says what may be meant."""

from __future__ import annotations

import pytest

import xstreamcast
from xstreamcast.errors import XStreamError

MEANT = {
    "2020-01-31": "xs:date(.)",
    "2020-01-31Z": "xs:date(.)",
    "2020-01-31T10:00:00.5+01:00": "xs:dateTime(.)",
    "10:00:00": "xs:time(.)",
    "PT1H": "xs:dayTimeDuration(.)",
    "-P2DT3.5S": "xs:dayTimeDuration(.)",
    "P1Y2M": "xs:yearMonthDuration(.)",
    " ": "[. != '']",
    "12,30": "",
    "P": "",
    "n/a": "",
}


@pytest.mark.parametrize("value", MEANT)
@pytest.mark.parametrize("query", ["max(//d)", "min(//d)", "sum(//d)", "avg(//d)", "//d + 1"])
def test_the_hint_says_which_type_it_looks_like(query: str, value: str) -> None:
    with pytest.raises(XStreamError) as caught:
        xstreamcast.query(query, context=f"<a><d>{value}</d></a>").to_list()
    assert caught.value.code == "FORG0001"
    assert MEANT[value] in caught.value.hint
    assert bool(caught.value.hint) == bool(MEANT[value])


def test_as_the_hint_says_it_works() -> None:
    days = "<a><d>2020-01-31</d><d>2021-01-01</d></a>"
    assert xstreamcast.query("string(max(//d/xs:date(.)))", context=days).to_list() == ["2021-01-01"]


def test_a_continuous_query_says_it_too() -> None:
    from xstreamcast.model.change import Fill

    query = xstreamcast.continuous('max(stream("s")//d)')
    query.feed(Fill(region=0, content=b"<a><d>2020-01-31</d></a>"))
    with pytest.raises(XStreamError, match="xs:date"):
        query.text()
