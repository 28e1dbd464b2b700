"""The state of a continuous query on Spark: what a batch gives is a function of the saved state and the batch alone."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from motion_stores import MemoryStore, advance, batches, rows_of
from random_streams import queries, streams

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import from_row
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.arrive.inflow import Inflow
from xstreamcast.run.continuous.columns.arrived import Arrived
from xstreamcast.run.continuous.columns.inlet import Inlet
from xstreamcast.run.continuous.query import continuous
from xstreamcast.run.query import Query, compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.replica import PROGRESS, Replica
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state_log import read_head, row_of
from xstreamcast.spark.motion.state_told import told_rows
from xstreamcast.wire.fragment import FragmentWriter

EAGER_COMPACTION: dict[str, Any] = {"compact_bytes": 1, "compact_blobs": 1}
SUMS = """for $a in stream("credit")//account return <sum id="{$a/@id}">{ sum($a/transaction/amount) }</sum>"""
LIMITS = 'stream("credit")//creditLimit#[last]'  # by objects, and so are those beside it


@pytest.fixture(autouse=True)
def _no_engine_lives_on() -> Iterator[None]:
    state._ENGINES.clear()
    yield
    state._ENGINES.clear()


def from_scratch(query: Query, t: Materialiser, stream: str = "s") -> str:
    node = view_of(t.text().encode(), f"stream:{stream}")
    try:
        return serialise(query(streams=lambda _: node, now=moment_at(t.now)).items())
    except XStreamError as failure:
        return f"error {failure.code}"


def changes(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["change"] not in (PROGRESS, "quarantine")]


def shown(sink: Materialiser) -> str:
    text = sink.text()
    code = text.partition('<error xmlns="urn:xstreamcast:error" code="')[2].partition('"')[0]
    return f"error {code}" if code else text


@seed(7)
@settings(max_examples=10 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(streams(), queries(), st.integers(1, 9), st.sampled_from([1, 20, 128]))
def test_the_law_holds_after_every_batch_and_whoever_has_it(stream: str, text: str, size: int, rows: int) -> None:
    job, whole = Job((text,), ("answer",), **EAGER_COMPACTION, compact_rows=rows), compile(text)
    store, t, sink = MemoryStore(), Materialiser(), Materialiser()
    begun = False
    for batch in batches(rows_of(stream), size):
        before = store.copy()
        told = list(advance(job, store, batch))
        mine = dict(state._ENGINES)
        state._ENGINES.clear()  # another worker gets the same batch again, and makes its engine from what is saved
        assert list(advance(job, before, batch)) == told
        state._ENGINES.clear()
        state._ENGINES.update(mine)
        for row in batch:
            t.apply(item_of(row))
        for row in changes(told):
            begun = True
            sink.apply(item_of(row))
        if begun:
            assert shown(sink) == from_scratch(whole, t)


def test_labels_stay_in_the_order_of_the_answer_across_compactions() -> None:
    job = Job(('stream("s")//a',), ("answer",), **EAGER_COMPACTION)
    holes = "".join(f'<stream:hole id="{n}"/>' for n in range(1, 8))
    fills = [f'<stream:filler id="{n}"><a>{n}</a></stream:filler>' for n in (7, 1, 4, 2, 6, 3, 5)]
    store, labels = MemoryStore(), dict[str, str]()
    for batch in batches(rows_of("".join([f'<stream:filler id="0"><r>{holes}</r></stream:filler>', *fills])), 1):
        for row in changes(list(advance(job, store, batch))):
            if row["order"] is not None and row["change"] == "after":
                labels[row["content"].decode()] = row["order"]
    assert sorted(labels, key=labels.__getitem__) == [f"<a>{n}</a>" for n in range(1, 8)]
    assert len(set(labels.values())) == 7


def test_an_engine_that_saw_a_batch_which_was_never_committed_is_not_used() -> None:
    job = Job(('count(stream("s")//a)',), ("answer",))
    store = MemoryStore()
    fill = '<stream:filler id="0"><r><a/><stream:hole id="1"/></r></stream:filler>'
    list(advance(job, store, rows_of(fill)))
    lost = store.copy()
    list(advance(job, lost, rows_of('<stream:filler id="1"><a/><a/><a/></stream:filler>')))
    told = changes(list(advance(job, store, rows_of('<stream:filler id="1"><a/></stream:filler>'))))
    assert [row["content"] for row in told] == [b"2"]


def test_an_engine_that_has_missed_batches_takes_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(('sum(stream("s")//a)',), ("answer",))
    store = MemoryStore()
    holes = "".join(f'<stream:hole id="{n}"/>' for n in range(1, 9))
    stream = [f'<stream:filler id="0"><r>{holes}</r></stream:filler>']
    stream += [f'<stream:filler id="{n}"><a>{n}</a></stream:filler>' for n in range(1, 9)]
    list(advance(job, store, rows_of(stream[0])))
    mine = dict(state._ENGINES)
    for change in stream[1:5]:
        state._ENGINES.clear()
        list(advance(job, store, rows_of(change)))
    state._ENGINES.clear()
    state._ENGINES.update(mine)
    monkeypatch.setattr(state, "from_base", lambda *_: pytest.fail("made anew"))
    (row,) = changes(list(advance(job, store, rows_of(stream[5]))))
    assert row["content"] == b"15"


def test_what_is_saved_stays_small_when_the_same_regions_change_again_and_again() -> None:
    job = Job(('count(stream("s")//a[. > 50])',), ("answer",), compact_bytes=20_000, compact_blobs=50)
    store = MemoryStore()
    holes = "".join(f'<stream:hole id="{n}"/>' for n in range(1, 21))
    list(advance(job, store, rows_of(f'<stream:filler id="0"><r>{holes}</r></stream:filler>')))
    sizes = []
    for step in range(400):
        change = f'<stream:replace id="{1 + step % 20}" version="{step}"><a>{step * 37 % 100}</a></stream:replace>'
        list(advance(job, store, rows_of(change)))
        sizes.append(sum(map(len, (*store.log.values(), *store.base.values()))))
    assert max(sizes[200:]) < 1.1 * max(sizes[:200])
    assert len(store.log) <= 51


def test_update_streams_keep_their_log() -> None:
    job = Job(('stream("s")//a',), ("answer",), **EAGER_COMPACTION)
    store, sink = MemoryStore(), Materialiser()
    updates = [
        '<stream:filler id="0"><r><stream:mutable id="1"><a>1</a></stream:mutable></r></stream:filler>',
        '<stream:replace target="1" id="2"><a>2</a></stream:replace>',
        '<stream:after target="1" id="3"><a>3</a></stream:after>',
        '<stream:replace target="3" id="4"><a>4</a></stream:replace>',
        '<stream:hide id="1"/>',
    ]
    answers = []
    for change in updates:
        state._ENGINES.clear()
        for row in changes(list(advance(job, store, rows_of(change)))):
            sink.apply(item_of(row))
        answers.append(sink.text())
    assert answers == ["<a>1</a>", "<a>2</a>", "<a>2</a><a>3</a>", "<a>2</a><a>4</a>", "<a>4</a>"]


def test_an_answer_that_is_an_error_is_compacted_too_and_withdrawn() -> None:
    job = Job(('stream("s")//a/xs:integer(.)',), ("answer",), **EAGER_COMPACTION)
    store, sink = MemoryStore(), Materialiser()
    seen = []
    for number, value in enumerate(["1", "x", "x", "y", "5"]):
        content = f"<r><a>1</a><a>{value}</a></r>"
        for row in changes(list(advance(job, store, rows_of(f'<stream:replace id="0">{content}</stream:replace>')))):
            sink.apply(item_of(row))
        seen.append(shown(sink))
        assert read_head(store) is not None, number
    assert seen == ["1 1", "error FORG0001", "error FORG0001", "error FORG0001", "1 5"]


def test_moving_windows_over_shuffled_credit_cards_with_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inflow, "columns", False)  # where most of a log is live, it is not compacted in columns
    text = ALERTS
    structure = GENERATOR.structures["credit"]
    job = Job((text,), ("alerts",), {"credit": structure}, compact_bytes=3000)
    whole, t, sink, store = compile(text), Materialiser(parse_structure(structure)), Materialiser(), MemoryStore()
    seen = set()
    for batch in batches(credit_rows(250), 20):
        told = list(advance(job, store, list(reversed(batch))))  # a shuffle knows no order; seq does
        for row in batch:
            t.apply(from_row(row))
        for row in changes(told):
            sink.apply(item_of(row))
        expected = from_scratch(whole, t, "credit")
        assert sink.text() == expected
        seen.add(expected)
    head = read_head(store)
    assert head is not None
    assert head.parts
    assert len(seen) > 2, "alerts come and go"


def test_what_is_gone_for_good_stays_gone_after_compaction() -> None:
    structure = """<stream:structure><tag id="1" name="r" type="snapshot">
        <tag id="2" name="a" type="filler" reuse="no"/></tag></stream:structure>"""
    job = Job(('stream("s")//a',), ("answer",), {"s": structure}, **EAGER_COMPACTION)
    store, sink = MemoryStore(), Materialiser()
    stream = [
        '<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="2"/></r>'
        "</stream:filler>",
        '<stream:filler id="2" tsid="2" version="1"><a>2</a></stream:filler>',
        '<stream:remove id="1" tsid="2" version="2"/>',
        '<stream:filler id="2" tsid="2" version="1"><a>2</a></stream:filler>',
        '<stream:filler id="1" tsid="2" version="1"><a>late</a></stream:filler>',
    ]
    for change in stream:
        for row in changes(list(advance(job, store, rows_of(change)))):
            sink.apply(item_of(row))
    assert sink.text() == "<a>2</a>"


def test_a_clock_by_hand_goes_with_the_batches() -> None:
    job = Job(("now()",), ("time",), clock="wall")
    store = MemoryStore()
    tick = {**row_of(from_row({"change": "eos"}), ""), "change": "tick", "seq": 1}
    rows = rows_of('<stream:filler id="0"><a/></stream:filler>')
    told = list(advance(job, store, [*rows, {**tick, "valid_time": 10**15}]))
    state._ENGINES.clear()
    more = list(advance(job, store, [{**tick, "valid_time": 10**15 + 10**6}]))
    assert changes(told)[-1]["content"] == b"2001-09-09T01:46:40Z"
    assert changes(more)[-1]["content"] == b"2001-09-09T01:46:41Z"


def test_what_was_put_aside_comes_out_as_a_row() -> None:
    job = Job(('count(stream("s")//a)',), ("answer",), lateness={"": 60.0})
    store = MemoryStore()
    times = ("2003-11-01T00:00:00", "2003-11-01T02:00:00", "2003-11-01T01:00:00")
    stream = "".join(f'<stream:filler id="{n}" validTime="{time}"><a/></stream:filler>' for n, time in enumerate(times))
    told = list(advance(job, store, rows_of(stream)))
    (row,) = [row for row in told if row["change"] == "quarantine"]
    assert (row["stream"], json.loads(row["content"])["code"]) == ("s", "XSC0090")


def test_a_stream_behind_the_others_is_not_late_because_its_past_was_compacted() -> None:
    job = Job(('count((stream("a")//x, stream("b")//x))',), ("answer",), lateness={"": 60.0}, **EAGER_COMPACTION)
    store, sink = MemoryStore(), Materialiser()
    brought = [
        [("a", 0, "08:59"), ("b", 0, "08:59")],
        [("a", 0, "10:00")],
        [("b", 0, "09:00")],
        [("b", 0, "09:01")],
    ]
    seen = []
    for batch in brought:
        rows = []
        for stream, region, at in batch:
            rows += rows_of(
                f'<stream:filler id="{region}" validTime="2003-11-01T{at}:00"><r at="{at}"><x/></r></stream:filler>',
                stream,
            )
        for row in changes(list(advance(job, store, rows))):
            sink.apply(item_of(row))
        seen.append(sink.text())
    assert seen == ["2"] * 4


def answers_of(job: Job, *stream: str) -> list[str]:
    """What is told after each change of a stream, by another worker each time."""
    store, sink, seen = MemoryStore(), Materialiser(), list[str]()
    for change in stream:
        state._ENGINES.clear()
        for row in changes(list(advance(job, store, rows_of(change)))):
            sink.apply(item_of(row))
        seen.append(sink.text())
    head = read_head(store)
    assert head is not None
    assert head.parts, "it has been compacted"
    return seen


def test_what_came_too_late_for_an_update_stream_is_not_in_the_base_which_has_its_whole_log() -> None:
    structure = """<stream:structure><tag id="1" name="r" type="snapshot"><tag id="2" name="a" type="event"/>
        <tag id="3" name="c" type="snapshot"/></tag></stream:structure>"""
    job = Job(('stream("s")//a/string()',), ("answer",), {"s": structure}, lateness={"": 60.0}, **EAGER_COMPACTION)
    seen = answers_of(
        job,
        '<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/>'
        '<stream:mutable id="9"><c/></stream:mutable></r></stream:filler>',
        '<stream:filler id="1" tsid="2" validTime="2003-11-05T00:00:00"><a>in time</a></stream:filler>',
        '<stream:filler id="1" tsid="2" validTime="2003-11-01T00:00:00"><a>late</a></stream:filler>',
        '<stream:filler id="1" tsid="2" validTime="2003-11-06T00:00:00"><a>now</a></stream:filler>',
        '<stream:filler id="1" tsid="2" validTime="2003-11-07T00:00:00"><a>then</a></stream:filler>',
    )
    assert seen == ["", "in time", "in time", "in time now", "in time now then"]


def test_what_was_removed_is_not_an_open_hole_after_compaction() -> None:
    job = Job(('count(stream("s")//a)',), ("answer",), emit="certain", **EAGER_COMPACTION)
    seen = answers_of(
        job,
        '<stream:filler id="0"><r><stream:hole id="1"/><stream:hole id="2"/></r></stream:filler>',
        '<stream:filler id="1"><a/></stream:filler>',
        '<stream:remove id="1"/>',
        '<stream:filler id="2"><a/></stream:filler>',
        '<stream:filler id="2"><a/><a/></stream:filler>',
        '<stream:filler id="1"><a/></stream:filler>',
    )
    assert seen == ["", "", "", "1", "2", "3"]


def credit_rows(updates: int) -> list[Row]:
    """Credit cards, each change a row."""
    assert GENERATOR.changes is not None
    made = GENERATOR.changes(0.003, 1, updates)
    return [{**row_of(change, "credit"), "seq": number} for number, (_, change) in enumerate(made, 1)]


ALERTS = """for $a in stream("credit")//account
where sum($a/transaction?[now-P2D,now][status = "charged"]/amount) >= 100 return <alert id="{$a/@id}"/>"""


def test_a_batch_does_no_more_of_a_compaction_than_its_rows_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = Replica.take

    def counted(replica: Replica, brought: Brought) -> None:
        taken.append(len(brought))
        take(replica, brought)

    monkeypatch.setattr(Replica, "take", counted)
    structures = {"credit": GENERATOR.structures["credit"]}
    job = Job((ALERTS, LIMITS), ("alerts", "limits"), structures, compact_bytes=4000, compact_rows=16)
    store, spans, began = MemoryStore(), list[int](), 0
    for number, batch in enumerate(batches(credit_rows(200), 5)):
        taken.clear()
        list(advance(job, store, batch))
        head = read_head(store)
        assert head is not None
        assert sum(taken) <= len(batch) + 2 * job.compact_rows
        if head.rising is not None and head.rising.at == head.version:
            began = number
        if head.adopts == head.version:
            spans.append(number - began)
            assert head.rising is None
    assert max(spans) > 3, "over several batches"
    assert len(spans) > 1, "again and again"


def test_an_engine_whose_successor_has_taken_over_elsewhere_is_made_anew() -> None:
    structures = {"credit": GENERATOR.structures["credit"]}
    job = Job((ALERTS, LIMITS), ("alerts", "limits"), structures, compact_bytes=4000, compact_rows=16)
    store, taken_over = MemoryStore(), 0
    old: dict[str, Replica] = {}
    for batch in batches(credit_rows(80), 5):
        before = store.copy()
        told = list(advance(job, store, batch))
        head = read_head(store)
        assert head is not None
        mine = dict(state._ENGINES)
        if head.adopts == head.version and old:
            taken_over += 1
            state._ENGINES.clear()  # whoever has nothing comes to the same, and so does who has seen less
            assert list(advance(job, before, batch)) == told
            assert before.saved == store.saved
            state._ENGINES.clear()
            state._ENGINES.update(old)
            assert state.current(job, store, head) not in old.values()
        elif head.rising is not None and head.rising.at == head.version:
            state._ENGINES.clear()
            list(advance(job, before, batch))
            old = dict(state._ENGINES)
        state._ENGINES.clear()
        state._ENGINES.update(mine)
    assert taken_over


def test_the_structure_of_the_answer_comes_before_its_first_change_and_once() -> None:
    text = 'for $a in stream("credit")//account return <found>{ $a/customer }</found>'
    job = Job((text,), ("found",), {"credit": GENERATOR.structures["credit"]}, compact_bytes=3000, compact_rows=16)
    store, told = MemoryStore(), list[Row]()
    for number, batch in enumerate(batches(credit_rows(60), 10)):
        if number % 3 == 2:
            state._ENGINES.clear()
        told += changes(list(advance(job, store, batch)))
    (structure,) = [row for row in told if row["change"] == "structure"]
    assert told[0] is structure
    assert (structure["stream"], structure["seq"]) == ("found", 0)
    whole = continuous(text, structures={"credit": GENERATOR.structures["credit"]})
    whole.feed_many([from_row(row) for row in credit_rows(60)], "credit")
    assert parse_structure(structure["content"]) == whole.structure


def test_what_a_structure_rules_out_in_a_query_is_reported_once_it_has_come() -> None:
    job = Job(('stream("s")//items',), ("answer",))
    structure = """<stream:structure><tag id="1" name="list" type="snapshot"/></stream:structure>"""
    rows = rows_of(f'{structure}<stream:filler id="0" tsid="1"><list/></stream:filler>')
    report = json.loads(list(advance(job, MemoryStore(), rows))[-1]["content"])
    assert report["warnings"] == [
        "query:1:14 nothing matches items: the structure of stream s has none below the root",
    ]


def test_what_is_saved_for_small_updates_is_no_more_than_three_times_what_came() -> None:
    job = Job((SUMS,), ("sums",), {"credit": GENERATOR.structures["credit"]}, compact_bytes=30_000, compact_blobs=40)
    store, rows = Counting(), credit_rows(2000)
    came = io.BytesIO()
    writer = FragmentWriter(came, None)
    for row in rows:
        writer.write(from_row(row))
    writer.close()
    banks = set()
    for batch in batches(rows, 10):
        list(advance(job, store, batch))
        head = read_head(store)
        assert head is not None
        banks.add(head.bank if head.parts else None)
    assert {0, 1} < banks, "what was compacted again and again is counted, too"
    assert 0.5 < store.written / came.tell() < 3


def test_nothing_of_a_large_micro_batch_is_scanned_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[int] = []
    scan = Inlet._scanned

    def counted(inlet: Inlet, arrived: Arrived) -> Any:
        scanned.append(len(arrived))
        return scan(inlet, arrived)

    monkeypatch.setattr(Inlet, "_scanned", counted)
    assert GENERATOR.changes is not None
    made = list(GENERATOR.changes(1, 1, 0))[:-1]
    rows = [{**row_of(change, "credit"), "seq": number} for number, (_, change) in enumerate(made, 1)]
    list(advance(Job((SUMS,), ("sums",), {"credit": GENERATOR.structures["credit"]}), MemoryStore(), rows))
    assert len(rows) > 10_000
    assert sum(scanned) == len(rows)
    assert len(scanned) > 1


def test_what_is_told_to_whoever_comes_later_takes_no_numbers() -> None:
    job, store = Job((SUMS,), ("sums",), {"credit": GENERATOR.structures["credit"]}), MemoryStore()
    list(advance(job, store, credit_rows(0)))
    head = read_head(store)
    assert head is not None
    (query,) = state.current(job, store, head).inflow.queries
    assert told_rows(query) == told_rows(query) != []


def test_what_declares_the_state_of_an_operator_loads_no_engine() -> None:
    code = "import sys, xstreamcast.spark.motion.keeper; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pyspark.sql.streaming.stateful_processor" in loaded
    assert not {"xstreamcast.run.continuous", "xstreamcast.plan", "numpy", "pandas", "pyarrow"}.intersection(loaded)


class Counting(MemoryStore):
    """Counts the bytes that are saved."""

    written = 0

    def put_head(self, format: int, head: bytes) -> None:
        self.written += len(head)
        super().put_head(format, head)

    def put_delta(self, version: int, blob: bytes) -> None:
        self.written += len(blob)
        super().put_delta(version, blob)

    def put_part(self, number: int, blob: bytes) -> None:
        self.written += len(blob)
        super().put_part(number, blob)
