"""kill -9 of the driver in the middle of a transaction and behind it, and of the broker: every change is there once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from accounts import RICH, balances, bank, from_scratch, told
from broker import Broker, headers, in_partitions
from databases import rows

from xstreamcast.spark import ToKafka, continuous, from_kafka

DRIVER = Path(__file__).parents[1] / "kafka_driver.py"


def once(broker: Broker, out: str) -> list[dict[str, Any]]:
    """The rows of a topic, which has each once."""
    messages = broker.read(out)
    assert [headers(message)[1] for message in messages] == sorted(headers(message)[1] for message in messages)
    found: list[dict[str, Any]] = [json.loads(message.value()) for message in messages]
    seqs = [row["seq"] for row in found if row["change"] != "structure"]
    assert seqs == list(range(1, len(seqs) + 1))
    return found


def test_a_driver_that_is_killed_in_a_transaction_and_behind_one(broker: Broker, topic: str, tmp_path: Path) -> None:
    sent = [bank(), *balances(0), *balances(1), *balances(2)]
    broker.send(topic, *in_partitions(sent, 3))
    out = broker.topic("struck")

    def drive(*how: str) -> int:
        command = [sys.executable, str(DRIVER), broker.servers, topic, out, str(tmp_path), *how]
        return subprocess.run(command, timeout=500, check=False).returncode

    assert drive("inside", "2") == -9
    committed, all_rows = broker.read(out), broker.read(out, committed=False)
    assert len(all_rows) == len(committed) + 2  # they are there, and nobody sees them
    assert drive("behind", "3") == -9
    assert headers(broker.read(out)[-1])[1] == 3
    assert drive() == 0
    found = once(broker, out)
    assert told(found) == from_scratch(sent)
    in_table = rows(f"sqlite:///{tmp_path}/answers.db", "rich")
    assert "".join(f'<rich id="{id}">{text}</rich>' for id, text in in_table) == told(found)


def test_a_broker_that_is_killed_while_a_query_runs(broker: Broker, spark: Any, topic: str, tmp_path: Path) -> None:
    sent = [bank(), *balances(0)]
    broker.send(topic, *in_partitions(sent, 3))
    out = broker.topic("outlived")
    come = threading.Condition()
    seen: list[str] = []

    def show(answers: Any) -> None:
        with come:
            seen.append(answers.queries[0].text())
            come.notify_all()

    def shown(answer: str) -> bool:
        with come:
            return come.wait_for(lambda: seen[-1:] == [answer], 200)

    motion = continuous(spark, RICH, {"bank": from_kafka(spark, broker.servers, topic)})
    with motion.start(show, checkpoint=tmp_path / "state", sinks=[ToKafka(broker.servers, out)]):
        assert shown(from_scratch(sent))
        broker.kill()
        broker.start()
        sent += balances(1)
        broker.send(topic, *in_partitions(balances(1), 3))
        assert shown(from_scratch(sent))
    assert told(once(broker, out)) == from_scratch(sent)
