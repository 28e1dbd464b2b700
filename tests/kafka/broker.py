"""Kafka's own server, as a process on loopback, and what tests write to it and read from it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from xstreamcast.spark.java import find_java

PATIENCE = 60
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={folder}/log
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class Broker:
    """A broker in a folder: killed and started again, it has what it had."""

    def __init__(self, folder: Path, port: int, controller: int) -> None:
        self.servers = f"127.0.0.1:{port}"
        self.settings = folder / "server.properties"
        self.settings.write_text(SETTINGS.format(folder=folder, port=port, controller=controller))
        self.java = [
            str(find_java().home / "bin" / "java"), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", f"{os.environ['XCAST_KAFKA_BROKER']}/*",
        ]  # fmt: skip
        formatting = ["kafka.tools.StorageTool", "format", "-t", "Y2FzdC1rYWZrYS10ZXN0cw", "-c", str(self.settings)]
        subprocess.run([*self.java, *formatting], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.start()

    def start(self) -> None:
        command = [*self.java, "kafka.Kafka", str(self.settings)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.admin.list_topics(timeout=1)
                return
            except Exception:
                assert self.process.poll() is None, "the broker has ended"
                assert time.monotonic() < until, "the broker does not answer"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def topic(self, name: str, partitions: int = 1) -> str:
        """Make a topic."""
        (made,) = self.admin.create_topics([NewTopic(name, partitions, 1)]).values()
        made.result(PATIENCE)
        return name

    def send(self, topic: str, *messages: bytes | tuple[int, bytes]) -> None:
        """Write messages, to partition 0 or where they say."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
        for message in messages:
            partition, value = message if isinstance(message, tuple) else (0, message)
            producer.produce(topic, value, partition=partition)
        assert producer.flush(PATIENCE) == 0

    def read(self, topic: str, partition: int = 0, committed: bool = True) -> list[Any]:
        """All messages of a partition: those that were committed, or all."""
        level = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": "tests", "enable.partition.eof": True,
             "isolation.level": level, "enable.auto.commit": False}
        )  # fmt: skip
        consumer.assign([TopicPartition(topic, partition, 0)])
        found: list[Any] = []
        while True:
            message = consumer.poll(PATIENCE)
            assert message is not None, "the broker does not answer"
            fault = message.error()
            if fault is not None:
                assert fault.code() == KafkaError._PARTITION_EOF, fault
                consumer.close()
                return found
            found.append(message)


def headers(message: Any) -> tuple[str, int]:
    """Whose row it is, and of which batch."""
    found = dict(message.headers())
    return found["query"].decode(), int(found["batch"])


def in_partitions(fragments: Iterable[tuple[int, bytes]], partitions: int) -> list[tuple[int, bytes]]:
    """Fragments by the number of their region: what is about one region is in one partition."""
    return [(region % partitions, content) for region, content in fragments]
