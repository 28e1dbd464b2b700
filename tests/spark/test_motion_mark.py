"""Marks in the log: an engine made from one goes on exactly as the one that saved it, whatever lies before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from motion_stores import MemoryStore, advance, batches

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Fill, Replace, from_row
from xstreamcast.run.continuous.query import continuous
from xstreamcast.spark.motion import state, state_mark
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.replica import PROGRESS, Replica
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state_log import read_head, row_of
from xstreamcast.spark.motion.state_mark import MARK

STRUCTURES = {"credit": GENERATOR.structures["credit"]}
QUERIES = {
    "sums": """for $a in stream("credit")//account return <sum id="{$a/@id}">{ sum($a/transaction/amount) }</sum>""",
    "paths": 'stream("credit")//account[sum(transaction/amount) > 100]/customer',
    "events": 'stream("credit")//transaction[status = "charged"]/vendor',
    "sorted": 'for $a in stream("credit")//account order by sum($a/transaction/amount) descending return $a/customer',
    "grouped": """for $t in stream("credit")//transaction group by $v := $t/vendor order by $v
        return <v name="{$v}">{ count($t), sum($t/amount) }</v>""",
    "inside": """<all>{ for $a in stream("credit")//account where count($a/transaction) > 1 return <a>{ $a/customer,
        max($a/transaction/amount) }</a> }</all>""",
    "total": 'sum(stream("credit")//transaction[status = "charged"]/amount)',
    "joined": """for $a in stream("credit")//account, $b in stream("credit")//account
        where $a/customer = $b/customer and $a/@id < $b/@id return <same>{ $a/@id }</same>""",
}


@pytest.fixture(autouse=True)
def _no_engine_lives_on() -> Iterator[None]:
    state._ENGINES.clear()
    yield
    state._ENGINES.clear()


def shuffled(seed: int) -> list[Row]:
    """Credit cards, in any order, and some changes again, later, as something else."""
    assert GENERATOR.changes is not None
    drawn = random.Random(seed)
    made = [change for _, change in GENERATOR.changes(0.01, seed, 60)][:-1]
    drawn.shuffle(made)
    spoken = [change for change in made if change.tsid == 4 and isinstance(change, Fill)]
    made += [
        Replace(region=change.region, tsid=4, version=100, valid_time=change.valid_time, content=change.content)
        for change in drawn.sample(spoken, 5)
    ]
    return [{**row_of(change, "credit"), "seq": number} for number, change in enumerate(made, 1)]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", QUERIES)
def test_whoever_begins_at_a_mark_tells_the_same(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_mark, "LEAST", 4000)
    job, rows = Job((QUERIES[name],), (name,), STRUCTURES, compact_bytes=25_000), shuffled(seed)
    store, sink, marks = MemoryStore(), Materialiser(), set()
    whole = continuous(QUERIES[name], structures=STRUCTURES)
    head = None
    for batch in batches(rows, 12):
        before = store.copy()
        told = list(advance(job, store, batch))
        mine = dict(state._ENGINES)
        state._ENGINES.clear()
        assert list(advance(job, before, batch)) == told
        if head is not None:  # a state that is begun has a birth of its own
            assert before.saved == store.saved
        state._ENGINES.clear()
        state._ENGINES.update(mine)
        whole.feed_many([from_row(row) for row in batch], "credit")
        for row in told:
            if row["change"] != PROGRESS:
                sink.apply(item_of(row))
        assert sink.text() == whole.text()
        head = read_head(store)
        assert head is not None
        marks.add(head.mark)
    assert len(marks) > 2, "again and again"


def test_all_before_a_mark_is_taken_in_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_mark, "LEAST", 100)
    job, store, rows = Job((QUERIES["sums"],), ("sums",), STRUCTURES), MemoryStore(), shuffled(1)
    for batch in batches(rows, 10):
        list(advance(job, store, batch))
    head = read_head(store)
    assert head is not None
    taken: list[int] = []
    take = Replica.take

    def counted(replica: Replica, brought: Brought) -> None:
        taken.append(len(brought))
        take(replica, brought)

    monkeypatch.setattr(Replica, "take", counted)
    state._ENGINES.clear()
    state.current(job, store, head)
    assert sum(taken) == len(rows)
    assert len(taken) == 2 + head.version - head.mark, "of which one is empty"


@pytest.mark.parametrize("other", [{"emit": "certain"}, {"clock": "wall"}, {"lateness": {"": 5.0}}])
def test_where_it_matters_how_changes_came_together_nothing_is_marked(
    other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_mark, "LEAST", 0)
    store, job = MemoryStore(), Job((QUERIES["sums"],), ("sums",), STRUCTURES, **other)
    for batch in batches(shuffled(1), 50):
        list(advance(job, store, batch))
    assert MARK not in store.base
