"""One stream in many buckets: the answer is that of the whole, after every micro-batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from motion_stores import batches, in_buckets, rows_of
from motion_streams import FRAUD, GENERATORS, UNANSWERED, embedded_answers, spoken, write_streams

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import continuous, continuous_many
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.association_spread import spread, why_not_spread
from xstreamcast.spark.motion.brought import Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.replica import PROGRESS
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state_log import row_of

STRUCTURE = GENERATOR.structures["credit"]


@pytest.fixture(autouse=True)
def _no_engine_lives_on() -> Iterator[None]:
    state._ENGINES.clear()
    yield
    state._ENGINES.clear()


def check(text: str, rows: list[Row], size: int, structure: str = STRUCTURE, per_batch: int = 15) -> list[str]:
    """Play a stream in buckets of a size beside the embedded engine: the answers after each batch."""
    (stream,) = {row["stream"] for row in rows}
    structures = {stream: parse_structure(structure)}
    job = Job((text,), ("answer",), {stream: structure}, compact_bytes=5000)
    how = spread(continuous_many([text], structures=structures), structures, size, job)
    whole, told, answers = continuous(text, structures=structures), Materialiser(), []
    parts = batches(rows, per_batch)
    for batch, brought in zip(parts, in_buckets(parts, how, job), strict=True):
        for row in brought:
            if row["change"] not in (PROGRESS, "quarantine"):
                told.apply(item_of(row))
        whole.feed_many([item_of(row) for row in batch], stream)
        expected = whole.told()
        if isinstance(expected, XStreamError):
            assert f'code="{expected.code}"' in told.text()
        elif told.text() or expected not in ("0", "false"):  # before the root has come nothing is told
            assert told.text() == expected
        answers.append(spoken(expected))
    return answers


def credit(updates: int, seed: int) -> list[Row]:
    """Credit cards, out of order."""
    assert GENERATOR.changes is not None
    changes = [change for _, change in GENERATOR.changes(0.01, 1, updates)]
    middle = changes[1:-1]
    head, tail = middle[:100], middle[100:]
    random.Random(seed).shuffle(head)
    return [
        {**row_of(change, "credit"), "seq": n} for n, change in enumerate([changes[0], *head, *tail, changes[-1]], 1)
    ]


QUERIES = {
    "items": 'for $a in stream("credit")//account where sum($a/transaction[status = "charged"]/amount) > 100 '
    "return <account>{ $a/@id, $a/customer }</account>",
    "paths": 'stream("credit")//transaction[amount > 90]/vendor',
    "count": 'count(stream("credit")//transaction[status = "charged"])',
    "sum": 'sum(stream("credit")//transaction[status = "charged"]/amount)',
    "average": 'avg(stream("credit")//transaction[status = "suspended"]/amount)',
    "largest": 'max(stream("credit")//transaction[status = "charged"]/amount)',
    "last-name": 'max(stream("credit")//account/customer/string())',
    "vendors": 'distinct-values(stream("credit")//transaction[amount > 60]/vendor)',
    "joined": 'string-join(stream("credit")//transaction[amount > 90]/vendor)',
    "exists": 'exists(stream("credit")//transaction[amount > 350])',
    "sorted": 'for $a in stream("credit")//account order by $a/customer, $a/@id return <a>{ $a/@id }</a>',
    "sorted-in-a-window": 'for $a in stream("credit")//account let $s := sum($a/transaction?[now-P2D,now]/amount) '
    "where $s > 60 order by $s descending return <a>{ $a/@id, $s }</a>",
    "groups": 'for $t in stream("credit")//transaction group by $v := $t/vendor return <v n="{ $v }">{ count($t) }</v>',
    "sorted-groups": 'for $t in stream("credit")//transaction let $m := $t/amount group by $v := $t/vendor '
    'order by sum($m) descending, $v return <v n="{ $v }">{ $t[1]/@id, sum($m) }</v>',
    "distinct": 'for $v in distinct-values(stream("credit")//transaction/vendor) '
    'return <v n="{ $v }">{ count(stream("credit")//transaction[vendor = $v]) }</v>',
    "join": 'for $a in stream("credit")//transaction[amount > 50] '
    'for $b in stream("credit")//transaction[vendor = $a/vendor] '
    "where $b/amount < $a/amount return <less>{ $a/@id, $b/amount }</less>",
    "above-average": 'let $m := avg(stream("credit")//transaction/amount) '
    'for $t in stream("credit")//transaction where $t/amount > 2 * $m return $t/vendor',
    "how-many-above": 'let $m := avg(stream("credit")//transaction/amount) '
    'return count(stream("credit")//transaction[amount > $m])',
    "numbered": 'for $a at $i in stream("credit")//account return <a n="{ $i }">{ $a/customer/string() }</a>',
    "third": '(stream("credit")//transaction[amount > 50])[3]',
    "last": '(stream("credit")//transaction)[last()]/vendor',
    "reversed": 'reverse(stream("credit")//account/customer)',
    "separated": 'string-join(stream("credit")//transaction[amount > 90]/vendor, "; ")',
    "atomic": 'stream("credit")//customer/string()',
    "both": 'count(stream("credit")//account), max(stream("credit")//transaction/amount), stream("credit")//vendor',
    "framed": '<all n="{ count(stream("credit")//account) }">{ for $t in stream("credit")//transaction '
    "where $t/amount > 90 return <t>{ $t/vendor }</t> }</all>",
    "folded": 'fold-left(stream("credit")//transaction/amount, 0, function($a, $b) { $a * 0.5 + $b })',
    "window": 'for $a in stream("credit")//account where sum($a/transaction?[now-P2D,now]/amount) > 60 '
    "return <a>{ $a/@id }</a>",
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_of_the_buckets_is_that_of_the_whole(name: str) -> None:
    answers = check(QUERIES[name], credit(60, 1), 4, per_batch=25)
    assert len(set(answers)) > 1


def test_fragments_before_their_holes_and_the_root_at_the_end() -> None:
    rows = credit(0, 2)
    late = [*rows[1:-1], rows[0]]
    assert check(QUERIES["items"], [{**row, "seq": n} for n, row in enumerate(late, 1)], 3)[-1]


LIST = """<stream:structure><tag id="1" name="list" type="snapshot"><tag id="2" name="item" type="filler"/></tag>
</stream:structure>"""


def root(*holes: int) -> str:
    content = "".join(f'<stream:hole id="{hole}" tsid="2"/>' for hole in holes)
    return f'<stream:replace id="0" tsid="1"><list>{content}</list></stream:replace>'


def item(region: int, text: str) -> str:
    return f'<stream:replace id="{region}" tsid="2"><item>{text}</item></stream:replace>'


def test_records_come_and_go_where_the_root_says() -> None:
    stream = [
        root(1, 2, 3),
        *[item(n, str(n)) for n in range(1, 9)],
        root(1, 2, 3, 4, 5),
        root(1, 6, 3, 4, 5, 7, 8),
        root(8),
    ]
    answers = check('stream("s")//item', rows_of("".join(stream)), 2, LIST, per_batch=1)
    assert answers[-1] == "<item>8</item>"
    assert answers[-2] == "".join(f"<item>{n}</item>" for n in (1, 6, 3, 4, 5, 7, 8))


def test_an_error_in_one_bucket_is_the_answer_of_all_until_it_ends() -> None:
    stream = [root(1, 2, 3, 4), item(1, "1"), item(4, "x"), item(2, "y"), item(4, "4"), item(2, "2")]
    text = 'for $i in stream("s")//item where xs:integer($i) > 0 return $i'
    answers = check(text, rows_of("".join(stream)), 1, LIST, per_batch=1)
    assert answers[2:] == [
        "error FORG0001",
        "error FORG0001",
        "error FORG0001",
        "<item>1</item><item>2</item><item>4</item>",
    ]


def test_values_of_buckets_that_do_not_compare_are_an_error_of_all_until_they_do() -> None:
    stream = [root(1, 2), item(1, "1"), item(2, "x"), item(2, "2")]
    text = 'max(for $i in stream("s")//item return if ($i = "x") then string($i) else xs:integer($i))'
    assert check(text, rows_of("".join(stream)), 1, LIST, per_batch=1)[1:] == ["1", "error FORG0006", "2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('stream("s")/list/count(item)', "larger"),
        ('stream("s")//item[. << stream("s")//item[2]]', "not about records"),
        ('stream("s")', "records are larger|not about records"),
        ('stream("s")//item, doc("a.xml")//item', "stored document"),
        ('stream("s")//item, stream("t")//item', "structures"),
        ('for $e in stream("s")//* return $e//item', "in turn"),
    ],
    ids=["root", "anew", "whole", "document", "unknown", "nested"],
)
def test_what_does_not_distribute_is_refused_with_the_reason(text: str, why: str) -> None:
    structures = {"s": parse_structure(LIST)}
    with pytest.raises(XStreamError, match=f"XSC0069.*({why})"):
        spread(continuous_many([text], structures=structures), structures, 2, Job((text,), ("answer",)))


def test_why_a_query_has_one_key_is_told() -> None:
    structures = {"": parse_structure(LIST)}

    def told(text: str, **given: Any) -> str | None:
        return why_not_spread(continuous_many([text], structures=structures), structures, Job((text,), ("a",), **given))

    assert told('max(stream("s")//item)') is None
    assert (
        told('max(stream("s")//item)', emit="certain")
        == "buckets are for eager emission, the event clock and no lateness"
    )
    assert told('stream("s")/list/count(item)') == "its records are larger than the fragments that the root holds"


@pytest.mark.parametrize(
    "last",
    [root(2, 1, 3), '<stream:after target="1" id="9"><item>9</item></stream:after>'],
    ids=["moved", "update-stream"],
)
def test_a_stream_that_does_what_buckets_cannot_follow_stops_with_a_clear_error(last: str) -> None:
    with pytest.raises(XStreamError, match="XSC0069"):
        check('stream("s")//item', rows_of("".join([root(1, 2, 3), last])), 1, LIST, per_batch=1)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "last", "generator"),
    [(FRAUD, "combine", "credit"), (UNANSWERED, "gather", "packets")],
    ids=["items", "join-of-two-streams"],
)
def test_on_spark_the_buckets_say_what_the_embedded_engine_says(
    spark: Any, tmp_path: Path, text: str, last: str, generator: str
) -> None:
    from xstreamcast.spark import continuous as on_spark

    streams = write_streams(tmp_path, 3, {generator: GENERATORS[generator]})
    structures = import_module(f"xstreamcast.generate.{generator}").GENERATOR.structures
    expected = [answers[0] for answers in embedded_answers({"answer": text}, streams, 3)]
    held_up = [Path(folder, "002.xml") for folder in streams.values()]
    for file in held_up:
        file.rename(file.with_name(f".{file.name}"))
    seen: list[str] = []
    motions = []  # the first stays: so the second has workers of its own, and must read what is saved
    for goes_on in (False, True):
        if goes_on:
            for file in held_up:
                file.with_name(f".{file.name}").rename(file)
        limit = {"maxFilesPerTrigger": "1"}
        motions.append(on_spark(spark, text, streams, structures=structures, options=limit, bucket_records=3))
        assert last in motions[-1].plan()
        running = motions[-1].start(
            display=lambda answers: seen.append(spoken(answers.queries[0].told())),
            checkpoint=tmp_path / "state",
            available_now=True,
        )
        try:
            assert running.wait(300)
        finally:
            running.stop()
    assert seen == expected
    assert seen[-1]
    assert running.answer() == seen[-1]
