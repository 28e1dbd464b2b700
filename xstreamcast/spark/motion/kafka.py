"""Kafka: topics as streams, and the changes of an answer to a topic, exactly once.

>>> credit = from_kafka(spark, "localhost:9092", "credit")                                        # doctest: +SKIP
>>> motion = continuous(spark, query, {"credit": credit})                                         # doctest: +SKIP
>>> motion.start(checkpoint="state", sinks=[ToKafka("localhost:9092", "alerts")])                 # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import ROW
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.spark.motion.rows import STRUCTURE, arrival_rows, batch_of_rows, item_of
from xstreamcast.spark.motion.sink import plain
from xstreamcast.wire.fragment import Arrival

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.model.change import ChangeRow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.brought import Row
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

_READ: Final = {"startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
_OFFSET_BITS: Final = 48
_PATIENCE: Final = 60.0
"""Seconds that a broker may take to answer."""
_LOOK: Final = 1.0
_UNFIT: Final = (ValueError, TypeError, ArithmeticError)
"""What Python and Arrow say of a value that is none of its type."""
_TAIL: Final = 16
"""So many offsets from the end it is looked for the last row; twice as many where there are none."""
_QUERY: Final = "query"
_BATCH: Final = "batch"
"""The headers of a record: the id of Spark's query, the number of the micro-batch."""


# ----------------------------------------------------------------------------------------------------------------- in


def from_kafka(
    spark: SparkSession, servers: str, topic: str, *, rows: bool = False, options: Mapping[str, str] | None = None
) -> DataFrame:
    """The records of a topic as a stream of :func:`~xstreamcast.spark.continuous`, or as the source of a feed.

    A value is XML as it stands (``content``): fragments, or documents for a feed. With ``rows`` it is a change row in
    JSON, as :class:`ToKafka` writes them; what is none is put aside. ``seq`` = partition · 2⁴⁸ + offset: unique, and
    in the order of each partition. ``options`` are those of Spark's Kafka source. All that the topic has is read, and
    of transactions what was committed, unless they say otherwise.
    """
    from pyspark.sql import functions as f

    reader = spark.readStream.format("kafka").options(**{**_READ, **(options or {})})
    frame = reader.option("kafka.bootstrap.servers", servers).option("subscribe", topic).load()
    seq = f.shiftleft(f.col("partition").cast("long"), _OFFSET_BITS) + f.col("offset")
    messages = frame.select(f.col("value").alias("content"), seq.alias("seq"))
    if not rows:
        return messages
    from xstreamcast.spark.motion.stream_source import SCHEMA

    return messages.mapInArrow(partial(_read_rows, topic), SCHEMA)


def _read_rows(topic: str, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        messages = [(message["seq"], message["content"] or b"") for message in batch.to_pylist()]
        rows = [_row(topic, seq, text) for seq, text in messages]
        try:
            yield batch_of_rows(rows)
        except _UNFIT:  # some value is not of its column's type
            yield batch_of_rows([_fitting(topic, *message, row) for message, row in zip(messages, rows, strict=True)])


def _row(topic: str, seq: int, text: bytes) -> ChangeRow:
    """The row of a record; one that says what is wrong with it, where it is none."""
    try:
        found: dict[str, Any] = json.loads(text)
        item_of(found)
        if isinstance(found.get("content"), str):
            found["content"] = found["content"].encode()
        # A structure before all changes stays there, whatever partition it is in.
        found["seq"] = 0 if found["change"] == STRUCTURE and not found.get("seq") else seq
        row: Any = tuple([found.get(name) for name in ROW])
    except (*_UNFIT, KeyError, AttributeError, XStreamError) as fault:
        row = _put_aside(topic, seq, text, fault)
    return cast("ChangeRow", row)


def _fitting(topic: str, seq: int, text: bytes, row: ChangeRow) -> ChangeRow:
    try:
        batch_of_rows([row])
    except _UNFIT as fault:
        return _put_aside(topic, seq, text, fault)
    return row


def _put_aside(topic: str, seq: int, text: bytes, fault: Exception) -> ChangeRow:
    partition, offset = divmod(seq, 1 << _OFFSET_BITS)
    place = Place(f"{topic}/{partition}/{offset}")
    why = fault.message if isinstance(fault, XStreamError) else f"{type(fault).__name__}: {fault}"
    diagnostic = Diagnostic("XSC0003", "quarantine", f"no change row: {why}", place, excerpt(text[:400]))
    (row,) = arrival_rows([Arrival(diagnostic, place, 0)], topic, seq)
    return row


# ---------------------------------------------------------------------------------------------------------------- out


class ToKafka:
    """A sink that writes the changes of an answer to a topic, exactly once: change rows in JSON, in their order.

    The rows of a micro-batch are one transaction: who reads what is committed sees all of them, or none. Each has the
    key ``query/seq``, and in its headers the id of Spark's query and the number of the batch, by which a batch that
    Spark brings again is known. ``query`` names the query where there are several; all rows of an answer go to one
    ``partition``, which has no other writer: whoever begins to write there ends the transactions of those before.
    ``client`` has further settings of the client (``security.protocol`` …), as librdkafka calls them.

    XSC0084: the broker, or the topic, is not to be had. XSC0085: what the topic has is not what comes before.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        query: str | None = None,
        partition: int = 0,
        client: Mapping[str, Any] | None = None,
    ) -> None:
        from xstreamcast.tables.batches import needed

        self._kafka = needed("confluent_kafka", "kafka")
        self.topic, self.query, self.partition = topic, query, partition
        self.place = Place(f"{topic}/{partition}")
        self._settings = {"bootstrap.servers": servers, **(client or {})}
        self._producer: Any = None
        self._last: _Last | None = None

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        name = self._name([query.name for query in answers.queries])
        rows = batch.rows.get(name, [])
        try:
            if self._producer is None:
                self._producer = self._opened()
                self._last = self._looked_up()
            if rows and not self._has(batch, rows):
                self._write(batch, name, rows)
        except self._kafka.KafkaException as fault:
            hint = "is the broker running, and has the topic that partition?"
            raise error("XSC0084", f"the topic cannot be written: {fault.args[0]}", self.place, hint) from None

    def _name(self, names: list[str]) -> str:
        if self.query is None and len(names) > 1:
            raise error("XSC0065", f"{self.topic} has the changes of which query?", hint=f"query= {', '.join(names)}")
        if self.query is not None and self.query not in names:
            raise error("XSC0065", f"there is no query {self.query}", hint=f"query= {', '.join(names)}")
        return self.query or names[0]

    def _opened(self) -> Any:
        """A producer that is alone: what those before it have not committed is undone, and they are refused."""
        writer = f"xstreamcast/{self.topic}/{self.partition}"
        producer = self._kafka.Producer({**self._settings, "transactional.id": writer})
        producer.init_transactions(_PATIENCE)
        return producer

    def _has(self, batch: Batch, rows: list[Row]) -> bool:
        """Whether the topic has a batch already. XSC0085: it cannot tell, since it is not where the checkpoint is."""
        last = self._last
        if last is None:
            return False
        hint = "write to an empty topic, or to another partition"
        if last.query != batch.query_id:
            raise error("XSC0085", "the topic has the changes of another checkpoint", self.place, hint)
        if last.batch == batch.number and last.seq == rows[-1]["seq"]:
            return True
        first = next((row["seq"] for row in rows if row["change"] != STRUCTURE), last.seq + 1)
        if last.batch >= batch.number or first != last.seq + 1:
            ends, begins = f"ends with batch {last.batch}, change {last.seq}", f"batch {batch.number}, change {first}"
            raise error("XSC0085", f"the topic {ends}; {begins} comes", self.place, hint)
        return False

    def _write(self, batch: Batch, name: str, rows: list[Row]) -> None:
        producer = self._producer
        headers = [(_QUERY, batch.query_id.encode()), (_BATCH, str(batch.number).encode())]
        producer.begin_transaction()
        try:
            for row in rows:
                key = f"{name}/{row['seq']}{'/structure' if row['change'] == STRUCTURE else ''}"
                value = json.dumps(plain(row), ensure_ascii=False).encode()
                self._produce(key.encode(), value, headers)
            producer.commit_transaction(_PATIENCE)
        except BaseException:
            self._producer = None  # whether it was committed is seen when it is opened again
            raise
        self._last = _Last(batch.query_id, batch.number, rows[-1]["seq"])

    def _produce(self, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> None:
        while True:
            try:
                self._producer.produce(self.topic, value, key, partition=self.partition, headers=headers)
                return
            except BufferError:  # so many wait to be sent
                self._producer.poll(_LOOK)

    def _looked_up(self) -> _Last | None:
        """The last row that was committed; None: there is none."""
        kafka = self._kafka
        reading = {"group.id": "xstreamcast", "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = kafka.Consumer({**self._settings, **reading, "isolation.level": "read_committed"})
        try:
            low, high = consumer.get_watermark_offsets(kafka.TopicPartition(self.topic, self.partition), _PATIENCE)
            begin, size = high, _TAIL
            last = None
            while last is None and begin > low:
                end, begin, size = begin, max(low, high - size), size * 2
                consumer.assign([kafka.TopicPartition(self.topic, self.partition, begin)])
                last = self._last_before(consumer, end)
            return last
        finally:
            consumer.close()

    def _last_before(self, consumer: Any, end: int) -> _Last | None:
        """The last row before an offset, of those that a consumer is going to read."""
        last = None
        while (message := consumer.poll(_PATIENCE)) is not None:
            fault = message.error()
            if fault is None and message.offset() < end:
                last = _Last.of(message)
            elif fault is None or fault.code() == self._kafka.KafkaError._PARTITION_EOF:
                return last
            else:
                raise self._kafka.KafkaException(fault)
        raise error("XSC0084", f"no answer within {_PATIENCE:.0f} s", self.place, "is the broker running?")

    def close(self) -> None:
        """Every batch that counts is committed."""
        self._producer = None


class _Last:
    """How far a topic is: whose rows it has, up to which batch and which change."""

    def __init__(self, query: str, batch: int, seq: int) -> None:
        self.query, self.batch, self.seq = query, batch, seq

    @classmethod
    def of(cls, message: Any) -> _Last:
        """… by a record. What others wrote is of no query."""
        headers = dict(message.headers() or ())
        try:
            return cls(headers[_QUERY].decode(), int(headers[_BATCH]), int(json.loads(message.value())["seq"]))
        except (KeyError, ValueError, TypeError):
            return cls("", -1, -1)
