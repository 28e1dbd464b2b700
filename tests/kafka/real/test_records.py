"""Plain XML records from topics: the feed, by key, with removals and several paths to records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accounts import take_all
from broker import Broker
from databases import rows

from xstreamcast import Feed
from xstreamcast.run.continuous.query import continuous as embedded
from xstreamcast.spark import ToKafka, continuous, feed, from_kafka

RECORDS = "/order|/cancelled"
OPEN = """for $o in stream("orders")//order order by xs:integer($o/@id)
return <open id="{$o/@id}">{ string($o/total) }</open>"""
ASKED: dict[str, Any] = {"key": "@id", "removed": "/cancelled"}
TURNS = [
    [
        b'<order id="1"><total>10</total></order>',
        b'<order id="2"><total>5</total></order><order id="3"><total>1</total></order>',
        b'<order id="4"><total>',
    ],
    [b'<cancelled id="2"/>', b'<order id="1"><total>7</total></order>', b"<order><total>3</total></order>"],
    [b'<order id="2"><total>6</total></order>', b'<cancelled id="3"/>'],
]


def test_records_of_a_topic_are_a_stream_by_key_over_restarts(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic, out = broker.topic("orders", 2), broker.topic("open")
    ours = embedded(OPEN, feed=Feed(RECORDS, report=lambda _: None, **ASKED))
    table = f"sqlite:///{tmp_path}/answers.db"
    for turn in TURNS:
        broker.send(topic, *[(1, message) for message in turn])
        source = feed(RECORDS, source=from_kafka(spark, broker.servers, topic), **ASKED)
        motion = continuous(spark, OPEN, {"orders": source})
        given: dict[str, Any] = {"log": tmp_path / "log", "log_format": "json", "table": f"{table}#open"}
        seen = take_all(motion, tmp_path, sinks=[ToKafka(broker.servers, out)], **given)
        ours.feed_xml(turn)
        assert seen == [ours.text()]
    assert ours.text() == '<open id="1">7</open><open id="2">6</open>'
    assert rows(table, "open") == [("1", "7"), ("2", "6")]
    told = [json.loads(line) for file in sorted((tmp_path / "log").iterdir()) for line in file.read_text().splitlines()]
    codes = [json.loads(row["content"])["code"] for row in told if row["change"] == "quarantine"]
    assert codes == ["XSC0001", "XSC0122"]
