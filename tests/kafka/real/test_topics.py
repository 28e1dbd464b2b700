"""Topics in, answers out: to a topic and to a table, exactly once, over restarts."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from accounts import RICH, balances, bank, from_scratch, take_all, told
from broker import Broker, headers, in_partitions
from databases import rows

from xstreamcast.errors import XStreamError
from xstreamcast.spark import ToKafka, continuous, continuous_many, from_kafka

AMOUNT = 'sum(stream("rich")//rich)'


def values(messages: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(message.value()) for message in messages]


def test_fragments_in_three_partitions_answers_to_a_topic_and_a_table_over_a_restart(
    broker: Broker, spark: Any, topic: str, tmp_path: Path
) -> None:
    out = broker.topic("answers")
    table = f"sqlite:///{tmp_path}/answers.db"
    sent = [bank(), *balances(0)]
    broker.send(topic, *in_partitions(sent, 3))
    answers: list[str] = []
    for turn in (1, 2, 3):
        stream = from_kafka(spark, broker.servers, topic, options={"maxOffsetsPerTrigger": "9"})
        motion = continuous(spark, RICH, {"bank": stream})
        seen = take_all(motion, tmp_path, sinks=[ToKafka(broker.servers, out)], table=f"{table}#rich")
        assert len(seen) >= 2
        answers += seen
        assert answers[-1] == from_scratch(sent)
        if turn < 3:
            more = balances(turn)
            sent += more
            broker.send(topic, *in_partitions(more, 3))
    messages = broker.read(out)
    changes = [row for row in values(messages) if row["change"] != "structure"]
    assert [row["seq"] for row in changes] == list(range(1, len(changes) + 1))  # each once, in order
    assert len({headers(message)[0] for message in messages}) == 1
    keys = [message.key().decode() for message in messages]
    assert len(set(keys)) == len(keys)
    so_far: list[dict[str, Any]] = []
    for (_, number), some in groupby(messages, headers):
        so_far += values(list(some))
        assert told(so_far) == answers[number]  # T of the topic after each batch is the answer after it
    assert "".join(f'<rich id="{id}">{text}</rich>' for id, text in rows(table, "rich", "*")) == answers[-1]


def test_the_changes_of_an_answer_are_a_stream_of_another_query_and_what_is_none_is_put_aside(
    broker: Broker, spark: Any, topic: str, tmp_path: Path
) -> None:
    first = [bank(), *balances(0), *balances(1)]
    broker.send(topic, *in_partitions(first, 3))
    out = broker.topic("rich-again")
    motion = continuous(spark, RICH, {"bank": from_kafka(spark, broker.servers, topic)}, name="rich")
    (answer,) = take_all(motion, tmp_path / "one", sinks=[ToKafka(broker.servers, out)])
    assert answer == from_scratch(first)
    broken = [b"{", b"[]", b'{"change": "grow", "region": 3}', b'{"change": "fill", "region": "x", "content": ""}']
    broker.send(out, *broken)
    listed: list[str] = []
    chained = continuous(spark, 'stream("rich")//rich', {"rich": from_kafka(spark, broker.servers, out, rows=True)})
    seen = take_all(chained, tmp_path / "two", log=tmp_path / "log", log_format="json")
    assert seen == [answer]
    for file in sorted((tmp_path / "log").iterdir()):
        listed += [json.loads(line)["content"] for line in file.read_text().splitlines() if '"quarantine"' in line]
    assert [json.loads(one)["code"] for one in listed] == ["XSC0003"] * len(broken)
    last = len(broker.read(out)) - len(broken) + 1  # a transaction ends with an offset of its own
    assert [json.loads(one)["source"] for one in listed] == [f"{out}/0/{last + k}" for k in range(len(broken))]
    total = continuous(spark, AMOUNT, {"rich": from_kafka(spark, broker.servers, out, rows=True)})
    (amount,) = take_all(total, tmp_path / "three")
    assert int(amount) == sum(int(part.partition(">")[2]) for part in answer.split("</rich>") if part)


def test_a_topic_that_has_something_else_is_refused(broker: Broker, spark: Any, topic: str, tmp_path: Path) -> None:
    broker.send(topic, *in_partitions([bank(), *balances(0)], 3))

    def motion() -> Any:
        return continuous(spark, RICH, {"bank": from_kafka(spark, broker.servers, topic)})

    out = broker.topic("taken", 3)
    sink = ToKafka(broker.servers, out)
    take_all(motion(), tmp_path / "one", sinks=[sink])
    size = len(broker.read(out))
    with pytest.raises(XStreamError, match=r"XSC0085.*another checkpoint"):
        take_all(motion(), tmp_path / "two", sinks=[ToKafka(broker.servers, out)])
    broker.send(out, (1, b"hello"))
    with pytest.raises(XStreamError, match="XSC0085"):
        take_all(motion(), tmp_path / "three", sinks=[ToKafka(broker.servers, out, partition=1)])
    with pytest.raises(XStreamError, match="XSC0084"):
        take_all(motion(), tmp_path / "four", sinks=[ToKafka(broker.servers, out, partition=7)])
    take_all(motion(), tmp_path / "five", sinks=[ToKafka(broker.servers, out, partition=2)])
    assert [len(broker.read(out, partition)) for partition in range(3)] == [size, 1, size]


def test_of_several_queries_each_has_a_partition(broker: Broker, spark: Any, topic: str, tmp_path: Path) -> None:
    sent = [bank(), *balances(0)]
    broker.send(topic, *in_partitions(sent, 3))
    out = broker.topic("several", 2)
    texts = [RICH, 'count(stream("bank")//account)']

    def motion() -> Any:
        streams = {"bank": from_kafka(spark, broker.servers, topic)}
        return continuous_many(spark, texts, streams, names=["rich", "count"])

    with pytest.raises(XStreamError, match=r"(?s)XSC0065.*query= rich, count"):
        take_all(motion(), tmp_path / "none", sinks=[ToKafka(broker.servers, out)])
    both = [ToKafka(broker.servers, out, query=name, partition=at) for at, name in enumerate(("rich", "count"))]
    take_all(motion(), tmp_path / "both", sinks=both)
    assert told(values(broker.read(out, 0))) == from_scratch(sent)
    assert told(values(broker.read(out, 1))) == "12"
