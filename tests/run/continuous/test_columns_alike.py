"""Standing queries that differ in constants: each is answered as if alone, and costs where it is concerned."""

from __future__ import annotations

import pytest
from test_columns_law import RECORD, SECTION, SHAPES, Drawn, answer, in_turn, told

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.run.continuous.arrive.inflow import Inflow
from xstreamcast.run.continuous.columns.alike import guard_of, shape_of
from xstreamcast.run.continuous.query import continuous, continuous_many

NUMBERS = ("1", "5", "7.5", "3", "4", "12", "0.5e1")
FAMILIES: dict[str, list[str]] = {
    "told": [f'for $b in stream("s")//b where $b/k = "k{n}" return <m>{{ $b/@id, $b/x/text() }}</m>' for n in range(4)],
    "count": [f'count(stream("s")//b[x > {c}])' for c in NUMBERS],
    "path": [f'stream("s")//b[k = "k{n}"]/x' for n in range(4)],
    "sum": [f'sum(stream("s")//b[{c} >= x]/x)' for c in NUMBERS],
    "two constants": [
        f'for $b in stream("s")//b[k = "k{n}"] where $b/x < {c} and $b/c = "1" return $b/@id/string()'
        for n in range(3)
        for c in NUMBERS[:4]
    ],
    "attribute": [f'for $b in stream("s")//b where {n} = $b/@id return $b/x' for n in range(100, 140, 3)],
    "strings": [f'exists(stream("s")//b[c = "{n}"])' for n in range(4)],
    "no condition first": [
        f'for $b in stream("s")//b where contains($b/k, "1") and $b/x = {c} return $b/k' for c in NUMBERS
    ],
    "around": [f'<all>{{ for $b in stream("s")//b where $b/k = "k{n}" return $b/x }}</all>' for n in range(3)],
    "sorted": [
        f'for $b in stream("s")//b where $b/k = "k{n}" order by $b/@id descending return $b/@id/string()'
        for n in range(3)
    ],
    "per section": [f'for $s in stream("s")//s where sum($s/b/x) > {c} return $s/@n/string()' for c in NUMBERS],
    "against a value": [
        f'for $b in stream("s")//b where $b/x > {n} and $b/x >= avg(stream("s")//b[k = "k{n}"]/x) return $b/@id/data()'
        for n in range(3)
    ],
    "first ones": [
        f'(for $b in stream("s")//b where $b/k = "k{n}" return $b/@id/string())[position() < 3]' for n in range(3)
    ],
    "numbered": [f'for $b at $i in stream("s")//b[k = "k{n}"] return <m n="{{ $i }}">{{ $b/c }}</m>' for n in range(3)],
    "joined": [
        f'for $b in stream("s")//b where $b/k = "k{n}" return count(stream("s")//b[k = "k{n}"][x = $b/x])'
        for n in range(3)
    ],
}  # fmt: skip
INDEXED = ("told", "count", "path", "sum", "two constants", "attribute", "strings")


def follow(texts: list[str], shape: str, changes: list[Change], size: int) -> Inflow:
    """Feed changes in batches; after each, what every query has told is its answer, and so is T of that."""
    many, document = continuous_many(texts, structures=SHAPES[shape]), Materialiser(SHAPES[shape])
    displays = [Materialiser() for _ in texts]
    for begin in range(0, len(changes), size):
        some = changes[begin : begin + size]
        for change in some:
            document.apply(change)
        many.feed_many(some, "s")
        for text, query, display in zip(texts, many.queries, displays, strict=True):
            for emitted in query.take():
                display.apply(emitted.change)
            expected = answer(text, document)
            assert told(query) == expected, f"{text} after {begin + len(some)} changes"
            if query.failure is None:
                assert display.text() == expected, f"{text} after {begin + len(some)} changes"
    return many


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_is_answered_as_if_it_were_alone(family: str, shape: str) -> None:
    size, count = in_turn(shape, family, ((1, 30), (40, 160)))
    follow(FAMILIES[family], shape, Drawn(SHAPES[shape], len(family) + size).changes(count), size)


def test_families_beside_each_other_and_what_columns_do_not_follow() -> None:
    texts = [text for family in FAMILIES.values() for text in family[:2]]
    follow(texts, "fillers", Drawn(SHAPES["fillers"], 4).changes(150), 30)
    assert follow(texts, "fillers", Drawn(SHAPES["fillers"], 5, odd=True).changes(150), 30).by_objects


def test_the_answer_by_its_items_is_that_of_each_query() -> None:
    many = follow(FAMILIES["told"] + FAMILIES["path"], "fillers", Drawn(SHAPES["fillers"], 8).changes(120), 60)
    for query in many.queries:
        assert query.engine is not None
        assert query.answer().xml() == query.text()


@pytest.mark.parametrize("family", FAMILIES)
def test_queries_of_a_family_have_one_shape_and_others_another(family: str) -> None:
    shapes = {shape_of(continuous(text).plan) for text in FAMILIES[family]}
    others = {shape_of(continuous(some[0]).plan) for name, some in FAMILIES.items() if name != family}
    kinds = 2 if any("e1" in text for text in FAMILIES[family]) else 1  # a double is no decimal
    decimals = any("7.5" in text for text in FAMILIES[family])
    assert len(shapes) == kinds + decimals
    assert shapes.isdisjoint(others)
    for text in FAMILIES[family] if family in INDEXED else ():
        (unit,) = [unit for step in continuous(text).plan.passes for unit in step.units]
        assert guard_of(unit) is not None, text


def test_a_change_is_evaluated_for_those_whom_it_concerns() -> None:
    texts = [f'for $b in stream("s")//b where $b/k = "k{n}" return <m>{{ $b/x/text() }}</m>' for n in range(500)]
    many = continuous_many(texts, structures=SHAPES["fillers"])
    holes = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in range(100, 1100))
    records = [
        Fill(region=100 + n, tsid=RECORD, content=f"<b><x>{n}</x><k>k{n % 500}</k></b>".encode()) for n in range(1000)
    ]
    root = Fill(region=0, content=b'<r><stream:hole id="10" tsid="2"/></r>')
    many.feed_many([root, Fill(region=10, tsid=SECTION, content=f"<s>{holes}</s>".encode()), *records], "s")
    assert [query.text() for query in many.queries] == [f"<m>{n}</m><m>{n + 500}</m>" for n in range(500)]

    def evaluated() -> list[int]:
        return [query.engine.evaluated if query.engine is not None else -1 for query in many.queries]

    before = evaluated()
    assert before[1:] == [2] * 499
    # From one key to another: those with the old one let go of it, those with the new one look at it.
    many.feed_many([Replace(region=100, tsid=RECORD, content=b"<b><x>7</x><k>k3</k></b>")], "s")
    after = evaluated()
    assert [number for number in range(1, 500) if after[number] != before[number]] == [3]
    assert [many.queries[n].text() for n in (0, 3)] == ["<m>500</m>", "<m>7</m><m>3</m><m>503</m>"]
    assert [number for number, query in enumerate(many.queries) if len(query.take()) > 4] == [*range(500)]
    many.feed_many([Remove(region=103, tsid=RECORD)], "s")
    assert [number for number, query in enumerate(many.queries) if query.take()] == [3]
    assert many.queries[3].text() == "<m>7</m><m>503</m>"
