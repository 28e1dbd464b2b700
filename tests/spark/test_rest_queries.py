"""The plan of a query says what tasks compute of the ranges of a document."""

from __future__ import annotations

import pytest

from xstreamcast.run.query import compile
from xstreamcast.spark.rest.at_rest import PARTIALS, PROJECTED, ROWS, WHOLE, way


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for $p in /site/people/person return $p/name", ROWS),
        ("<r>{ for $p in /site/people/person return $p/name }</r>", PARTIALS),
        ("sum(//quantity), avg(//quantity)", PARTIALS),
        ("let $n := count(//item) for $i in //item return $i/quantity div $n", PARTIALS),
        ("for $i in //item order by $i/name return $i/name", PROJECTED),
        ("for $i in 1 to 3 return $i", WHOLE),
    ],
)
def test_the_plan_says_what_is_computed_where(text: str, expected: str) -> None:
    code = compile(text).plan()
    assert way(None if code is None else code.plan) == expected
