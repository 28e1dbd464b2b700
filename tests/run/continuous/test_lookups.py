"""What is seen of the documents that look-ups are about: what their keys and their callers read, and no more."""

from __future__ import annotations

import pytest
from test_columns_law import RECORD, SECTION, SHAPES, Drawn, follow, in_turn

from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.plan.projection.lookups import gives_rows, project_lookup
from xstreamcast.plan.projection.project import describe
from xstreamcast.run.continuous.query import continuous
from xstreamcast.scan.path import Path

EACH = 'for $b in stream("s")//b for $s in stream("s")//s where $s/@n = $b/k '
SEEN = {
    EACH + "return <m>{ $b/x }</m>": ["//s/@n"],
    EACH + "return $s/b/x/text()": ["//s/@n", "//s/b/x/text()"],
    EACH + "return $s": ["//s (whole)"],
    EACH + "return <m>{ $b/x, name($s) }</m>": ["//s/@n"],
    EACH + "order by $s/@z return <m>{ $s/b/c }</m>": ["//s/@n", "//s/@z", "//s/b/c (whole)"],
    EACH + "group by $g := $s/@m return <m>{ $g, count($b) }</m>": ["//s/@m", "//s/@n"],
    "declare function local:name($s) { $s/@m/string() }; " + EACH + "return local:name($s)": ["//s/@m", "//s/@n"],
    EACH + 'for $o in stream("s")//b where $o/k = $s/@m return $o/c': ["//s/@m", "//s/@n"],
}


@pytest.mark.parametrize("text", SEEN)
def test_rows_that_are_looked_up_are_seen_as_far_as_anybody_reads_them(text: str) -> None:
    query = continuous(text, structures=SHAPES["fillers"])
    (unit, *_) = [one for made in query.plan.passes for one in made.units if gives_rows(one)]
    (root,) = set(unit.records)
    assert root.steps[-1].test.local == "s"
    assert describe(project_lookup(unit, query.plan, Path(), SHAPES["fillers"])) == SEEN[text]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", SEEN)
def test_what_is_told_is_the_answer_after_every_batch(text: str, shape: str) -> None:
    size, count = in_turn(shape, text, ((1, 40), (7, 100)))
    follow(text, SHAPES[shape], Drawn(SHAPES[shape], len(text) + size).changes(count), size)


@pytest.mark.parametrize(("returned", "expected"), [("<m>{ $b/x }</m>", 2), ("<m>{ $s/b/x/text() }</m>", 5)])
def test_a_change_below_a_row_is_looked_at_where_somebody_reads_it(returned: str, expected: int) -> None:
    """The record asks for its key, and again with what it has found; and so does, of a section that is seen to have
    changed, the record that had found it."""
    query = continuous(EACH + "return " + returned, structures=SHAPES["fillers"])
    holes = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in range(100, 150))
    record = "<b><x>{0}</x><k>{0}</k></b>"
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=SECTION, content=f'<s n="7">{holes}</s>'.encode()),
        *[Fill(region=n, tsid=RECORD, content=record.format(n - 100).encode()) for n in range(100, 150)],
    ]
    query.feed_many(changes, "s")
    query.answer()
    assert query.engine is not None
    before = query.engine.evaluated
    query.feed_many([Replace(region=120, tsid=RECORD, content=record.format(21).encode())], "s")
    query.answer()
    assert query.engine.evaluated - before == expected
