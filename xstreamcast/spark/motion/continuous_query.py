"""``xstreamcast.spark.continuous``: queries that go on, run by Spark's structured streaming.

>>> motion = continuous(spark, 'count(stream("s")//item)', {"s": "incoming"})    # doctest: +SKIP
>>> motion.writeStream.format("parquet").start("changes")                        # doctest: +SKIP
>>> running = motion.start(display="live", checkpoint="state")                   # doctest: +SKIP
>>> running.answer()                                                             # doctest: +SKIP

The law holds at the end of every micro-batch: the answer is that of the query run from scratch on all that has come.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.garbage import not_collecting
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.spark.connect import LEFT_OUT, is_connect
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.handover import Handover
from xstreamcast.spark.motion.sink import SINKS, Called, ChangeLog, LogFormat, Sink, Trace, UpsertTable, close_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from xstreamcast.plan.modes.rewrite import Emission
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.time.clock import Clock
    from xstreamcast.spark.motion.association import Streams
    from xstreamcast.spark.motion.association_spread import Spread
    from xstreamcast.spark.motion.feed import Fed
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.keeper import Keeper
    from xstreamcast.spark.motion.listener import Figures
    from xstreamcast.spark.motion.micro_batch import Pool
    from xstreamcast.spark.motion.sink_answers import Answers

SETTINGS: Final = {
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}  # fmt: skip
"""What the state needs: a store on disk whose checkpoints are differences."""
_CODE: Final = re.compile(r"\b(X[A-Z]{2,3}\d{4}|F[A-Z]{3}\d{4}) ([^\n]+)")
_LOOK: Final = 0.1
"""Seconds between two looks at whether something has come about."""
_FIGURES: Final = 5.0
"""Seconds that the last figures may take; who stops a query whose session is gone need not wait for ever."""


def continuous(
    spark: SparkSession,
    text: str,
    streams: Streams,
    *,
    name: str = "answer",
    **given: Any,
) -> Motion:
    """A query over streams that Spark keeps answered. See :func:`continuous_many` for what else may be given."""
    return continuous_many(spark, [text], streams, names=[name], **given)


def continuous_many(
    spark: SparkSession,
    texts: Sequence[str],
    streams: Streams,
    *,
    names: Sequence[str] = (),
    structures: Mapping[str, Structure | str | bytes] | Structure | str | bytes | None = None,
    variables: Mapping[str, Any] | None = None,
    docs: Mapping[str, Any] | None = None,
    emit: Emission = "eager",
    clock: Clock = "event",
    now: str | datetime | None = None,
    lateness: float | Mapping[str, float] | None = None,
    options: Mapping[str, str] | None = None,
    base_uri: str | None = None,
    assume: str | None = None,
    compact_bytes: int | None = None,
    bucket_records: int | None = None,
    keeper: type[Keeper] | None = None,
) -> Motion:
    """Several queries over the same streams, in one streaming query of Spark's.

    ``streams``: by name, a path (a file, a folder that grows, a pattern), documents that bring records
    (:func:`~xstreamcast.spark.motion.feed.feed`), or a streaming DataFrame. Its rows are change rows (columns as in
    :data:`xstreamcast.model.change.ROW`: ``region`` and ``content`` at least), or messages as on the wire (``content``
    alone); either way with ``seq`` or ``version``, which order the rows of a micro-batch.
    ``options`` are those of the source, such as ``maxFragmentsPerTrigger``. ``clock="wall"``: what time it is comes
    with the batches, every second. ``compact_bytes``: see ``docs/spark.md``. Everything else is as in
    :func:`xstreamcast.continuous_many`. ``bucket_records``: spread one query over buckets of about so many records of
    its streams, whose structures are given; what cannot be is refused (XSC0069). ``keeper`` is the operator, for tests
    that hold it up.
    """
    from pyspark.sql import functions as f

    from xstreamcast.run.continuous.query import continuous_many as embedded
    from xstreamcast.spark.motion.association import packed, ticks, unpacked
    from xstreamcast.spark.motion.feed import Fed
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.keeper import Keeper
    from xstreamcast.spark.motion.micro_batch import Pool, own_workers, warm_up
    from xstreamcast.spark.motion.replica import PROGRESS
    from xstreamcast.spark.motion.stream_source import PACKED

    called = _names(texts, names)
    known = _texts(structures)
    late = lateness if isinstance(lateness, Mapping) or lateness is None else {"": lateness}
    # Compiled here too, so that what is wrong with a query is said at once.
    inflow = embedded(
        texts, structures=dict(known), variables=variables, docs=docs, emit=emit, clock=clock, now=now, lateness=late,
        names=called, base_uri=base_uri, assume=assume,
    )  # fmt: skip
    missing = [stream for query in inflow.queries for stream in query.streams if stream not in streams]
    if missing:
        raise error("FODC0002", f'there is no stream "{missing[0]}"', hint=f'name it: streams={{"{missing[0]}": …}}')
    job = Job(
        tuple(texts), called, known, dict(variables or {}), dict(docs or {}), emit, clock,
        inflow.now if now is not None else None, late, base_uri, assume,
    )  # fmt: skip
    if compact_bytes is not None:
        job = replace(job, compact_bytes=compact_bytes)
    for setting, value in SETTINGS.items():
        if spark.conf.get(setting, None) != value:
            spark.conf.set(setting, value)
    times = [ticks(spark)] if clock == "wall" else []
    how, pool = None, Pool()
    if bucket_records is None:
        warm_up(spark, pool, job)
    brought = packed(spark, streams, options or {}, *times)
    if bucket_records is None:
        operator = (keeper or Keeper)(job)
        with own_workers(spark, pool):
            rows = brought.groupBy("bucket").transformWithState(operator, PACKED, "append", "none")
    else:
        from xstreamcast.spark.motion.association_buckets import in_buckets
        from xstreamcast.spark.motion.association_spread import spread

        how = spread(inflow, dict(inflow.structures), bucket_records, job)
        with own_workers(spark, pool):
            rows = in_buckets(brought, how, job)
    changes = unpacked(rows).where(f.col("change") != PROGRESS)
    feeds = {stream: source for stream, source in streams.items() if isinstance(source, Fed)}
    packs = clock == "wall" or any(not isinstance(source, str | PathLike) for source in streams.values())
    return Motion(spark, job, inflow, changes, rows, pool, how, feeds, packs)


def _names(texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    called = list(names) or (["answer"] if len(texts) == 1 else [f"answer{number}" for number in range(len(texts))])
    if len(called) != len(texts) or len(set(called)) != len(called):
        raise error("XSC0065", f"{len(texts)} queries, called {', '.join(called)}", hint="each needs a name of its own")
    return tuple(called)


def _texts(given: Any) -> dict[str, str]:
    """Structures as texts, which travel well."""
    named = given if isinstance(given, Mapping) else {} if given is None else {"": given}
    return {
        name: write_structure(one) if isinstance(one, Structure) else one.decode() if isinstance(one, bytes) else one
        for name, one in named.items()
    }


class Motion:
    """Queries that Spark will keep answered: a streaming DataFrame of the changes of their answers, and a start.

    Everything that a DataFrame has is there (``writeStream``, ``where``, ``schema`` …): that of :attr:`changes`, whose
    rows are changes in the language that goes in. ``stream`` is the name of the query, ``order`` the place of an item;
    rows with ``change = 'quarantine'`` say what of the streams was put aside.
    """

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        inflow: Inflow,
        changes: DataFrame,
        rows: DataFrame,
        pool: Pool,
        spread: Spread | None = None,
        feeds: Mapping[str, Fed] | None = None,
        packs: bool = False,
    ) -> None:
        self.spark = spark
        self.pool = pool
        self.spread = spread
        self.feeds = feeds or {}
        """The streams that come as documents."""
        self.packs = packs
        """Whether rows come one by one, from elsewhere than a path."""
        self.job = job
        self.inflow = inflow
        self.changes = changes
        self.rows = rows
        """… packed, and with rows of progress, which say how far a batch has come."""

    def __getattr__(self, name: str) -> Any:
        if name == "changes":
            raise AttributeError(name)
        return getattr(self.changes, name)

    def plan(self, brief: bool = False) -> str:
        """What Spark runs, step by step, and what ``explain`` says of each query, or the beginning of it."""
        from xstreamcast.run.explained import explain

        streams = ", ".join(sorted({stream for query in self.inflow.queries for stream in query.streams})) or "–"
        stages = [
            f"scan       {streams}: the driver surveys what is new, tasks read it as batches of change rows",
            *(["pack       an Arrow batch of rows → one row"] if self.packs else []),
            "associate  transformWithState, one key: the steps below, by the embedded engine, over a log in RocksDB\n"
            f"             one key: {self._why_one()}",
            "display    the changes of the answers, after each micro-batch, to the sinks",
        ]
        if self.spread is not None:
            at = 1 + self.packs
            stages[at : at + 1] = [
                "route      transformWithState, one key: fragments → the bucket of the record they belong to",
                f"associate  transformWithState, a key for {self.spread.size:,} records: the steps below, "
                + ("as far as a record goes" if self.spread.last == "gather" else "all of them"),
                "combine    transformWithState, one key: the buckets' items, one bucket after the other"
                if self.spread.last == "combine"
                else "gather     transformWithState, one key: the rest of them, on the rows of the records",
            ]
        if self.feeds:
            named = ", ".join(self.feeds)
            stages[1:1] = [
                f"feed       {named}: transformWithState, one key each: documents → the changes of their records"
            ]
        if is_connect(self.spark):
            stages += ["connect    this process is a client of Spark, and is handed each micro-batch. Left out:"]
            stages += [f"             {what}" for what in LEFT_OUT]
        made = ["\n".join(["Spark", *[f"  {stage}" for stage in stages]])]
        for text, name in zip(self.job.texts, self.job.names, strict=True):
            blocks = str(explain(text, structures=self._known(), variables=tuple(self.job.variables))).split("\n\n")
            lines = "\n".join(blocks[:2] if brief else blocks).splitlines()
            made.append("\n".join([name, *[f"  {line}" for line in lines]]))
        return "\n\n".join(made)

    def _why_one(self) -> str:
        """Why the state has one key, as far as it has."""
        from xstreamcast.spark.motion.association_spread import why_not_spread

        refusal = why_not_spread(self.inflow, self._known(), self.job)
        return f"it cannot be spread: {refusal}" if refusal else "nobody asked for more; bucket_records=N spreads it"

    def _called(self) -> str:
        """What Spark's pages and metrics call it: the queries, and the ids that ``explain`` gives their steps."""
        from xstreamcast.run.explained import explain

        variables = tuple(self.job.variables)
        steps = [explain(text, structures=self._known(), variables=variables).steps for text in self.job.texts]
        name = "; ".join([f"{one}: {' '.join(ids)}" for one, ids in zip(self.job.names, steps, strict=True)])
        running = sum((query.name or "").startswith(name) for query in self.spark.streams.active)
        return f"{name} ({running + 1})" if running else name

    def _known(self) -> dict[str, Structure]:
        from xstreamcast.model.structure import parse_structure

        return {name: parse_structure(text) for name, text in self.job.structures.items()}

    def start(
        self,
        display: str | Callable[[Answers], object] | None = None,
        *,
        checkpoint: str | Path | None = None,
        table: str | UpsertTable | Sequence[str | UpsertTable] = (),
        log: str | Path | None = None,
        log_format: LogFormat = "parquet",
        sinks: Iterable[Sink] = (),
        make_sinks: Callable[[Answers, Figures], Iterable[Sink]] | None = None,
        every: str | None = None,
        available_now: bool = False,
        query_name: str | None = None,
    ) -> Running:
        """Let Spark run it.

        ``display``: ``"live"``, ``"trace"`` (JSON lines on standard output), or a function that gets the answers after
        each batch. ``table``: tables that are kept equal to answers, by URL (``sqlite:///file.db#name``) or, with more
        about them, as :class:`~xstreamcast.spark.motion.sink.UpsertTable`. ``log``: a folder for all changes,
        ``parquet`` or ``json``. ``sinks`` are more of them; ``make_sinks`` makes some that need the answers. ``every``:
        a micro-batch each so often, ``"1 second"``; by default as soon as the one before is done. ``available_now``:
        take what is there, and end.

        With a ``checkpoint`` it goes on where it was stopped, however it was stopped. Without, it begins anew.
        """
        from xstreamcast.spark.motion.listener import Listening
        from xstreamcast.spark.motion.micro_batch import light
        from xstreamcast.spark.motion.sink_answers import Answers

        answers = Answers.of(self.inflow)
        steps = ("associate",) if self.spread is None else (self.spread.last, "associate", "route")
        listening = Listening((*steps, *[f"feed {number}" for number in range(1, len(self.feeds) + 1)]))
        if checkpoint is not None:
            self._go_on(answers, str(checkpoint))
        all_sinks = [*self._sinks(display, answers, listening.figures), *sinks]
        for one in [table] if isinstance(table, str | UpsertTable) else table:
            kept = UpsertTable(one) if isinstance(one, str) else one
            kept.open(self.inflow, answers)
            all_sinks.append(kept)
        if log is not None:
            all_sinks.append(ChangeLog(log, log_format))
        if make_sinks is not None:
            all_sinks += make_sinks(answers, listening.figures)
        running = Running(self.spark, answers, listening, all_sinks, self.pool)
        writer = self.rows.writeStream.foreachBatch(running.taker).outputMode("append")
        if checkpoint is not None:
            writer = writer.option("checkpointLocation", str(checkpoint))
        if available_now:
            writer = writer.trigger(availableNow=True)
        elif every is not None:
            writer = writer.trigger(processingTime=every)
        with light(self.spark, None if checkpoint is None else str(checkpoint), one_key=self.spread is None):
            running.begin(writer.queryName(query_name or self._called()))
        return running

    def _go_on(self, answers: Answers, checkpoint: str) -> None:
        """Begin with what a checkpoint says has been told."""
        from xstreamcast.spark.motion.association_buckets import gathering_job, told_before
        from xstreamcast.spark.motion.state_read import read_replicas, taken_over
        from xstreamcast.spark.motion.state_told import told_rows

        if self.spread is None and not is_connect(self.spark):
            found = taken_over(self.spark, checkpoint, self.job, self.pool)
            if found is not None:
                answers.begin(found[1], found[0])
            return

        gathers = self.spread is not None and self.spread.last == "gather"
        replicas = read_replicas(self.spark, checkpoint, gathering_job(self.job) if gathers else self.job)
        n = max((replica.head.n for replica in replicas.values()), default=0)
        if self.spread is None or gathers:
            for replica in replicas.values():
                answers.begin([told_rows(query) for query in replica.inflow.queries], n)
        elif replicas:
            answers.begin([told_before(replicas, self.job.names[0])], n)

    def _sinks(self, display: Any, answers: Answers, figures: Figures) -> list[Sink]:
        if display is None:
            return []
        if callable(display):
            return [Called(display)]
        if display == "live":
            from xstreamcast.spark.motion.sink_display import LiveDisplay

            return [LiveDisplay(answers, figures)]
        if display == "trace":
            import sys

            return [Trace(answers, sys.stdout)]
        raise error("XSC0065", f"no display {display!r}", hint=f"{', '.join(SINKS)}, or a function")


class Running:
    """Queries that Spark is running. ``query`` is Spark's own handle, ``figures`` what it says of itself."""

    query: StreamingQuery

    def __init__(self, spark: SparkSession, answers: Answers, listening: Any, sinks: list[Sink], pool: Pool) -> None:
        self.spark = spark
        self.pool = pool
        self.answers = answers
        self.sinks = sinks
        self.figures: Figures = listening.figures
        self.last = -1
        self._listening = listening
        self._fault: Exception | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        self._handover = Handover(spark, self.hear, self.figures.ended) if is_connect(spark) else None

    def begin(self, writer: Any) -> None:
        """Start; called once."""
        self.spark.streams.addListener(self._listening)
        try:
            self.query = writer.start()
        except BaseException:
            self.spark.streams.removeListener(self._listening)
            close_all(self.sinks)
            raise
        finally:
            self._started.set()
        self._listening.run = str(self.query.runId)
        if self._handover is not None:
            self._handover.start(self.query)

    @property
    def taker(self) -> Callable[[DataFrame, int], None]:
        """Who gets the micro-batches from Spark: this process, or the server's of which this one is a client."""
        return self.take if self._handover is None else self._handover.given

    def take(self, frame: DataFrame, number: int) -> None:
        """One micro-batch, on the driver: what is different of the answers, and nothing else, has come here."""
        self.hear([bytes(row.changes) for row in frame.collect()], number)

    def hear(self, blobs: list[bytes], number: int) -> None:
        """The packed rows of a micro-batch."""
        from xstreamcast.spark.motion.sink_answers import Batch

        self._started.wait()  # Spark may be faster than who started it learns of
        if number <= self.last:
            return
        try:
            with not_collecting():
                batch = Batch.of(number, Brought.read(*blobs).rows, str(self.query.id))
                before = self.answers.n
                told = self.answers.take(batch)
            self.figures.take(number, self.answers.n - before)
            for sink in self.sinks:
                sink.take(batch, self.answers, told)
        except Exception as fault:
            self._fault = fault
            raise
        self.last = number
        if self.answers.ended:
            self._ended.set()

    def answer(self, number: int = 0) -> str:
        """The answer of a query after the last micro-batch; raises the error that it is."""
        return self.answers.queries[number].text()

    @property
    def is_idle(self) -> bool:
        """Whether Spark has looked for something new and has found nothing."""
        return self.figures.looked and not self.query.status["isDataAvailable"]

    def wait(self, seconds: float | None = None) -> bool:
        """Until it ends by itself, or so long; whether it has ended. Raises what made it fail."""
        from pyspark.errors import PySparkException

        try:
            ended: bool = (
                self.query.awaitTermination(seconds) if seconds is not None else self.query.awaitTermination() or True
            )
        except PySparkException as fault:
            raise self._explained(fault) from None
        if ended and self._handover is not None and self._handover.fault is not None:  # the query was stopped for that
            raise self._handover.fault
        return ended

    def until_ended(self, seconds: float | None = None) -> bool:
        """Until all streams have said that they are at their end, or so long; whether they have."""
        began = time.monotonic()
        while not self._ended.wait(_LOOK):
            if not self.query.isActive:
                self.wait()
                break
            if seconds is not None and time.monotonic() - began > seconds:
                break
        return self._ended.is_set()

    def _explained(self, fault: Exception) -> Exception:
        """What went wrong in the words of who noticed it: a sink, or an operator on its way through Java."""
        if self._fault is not None:
            return self._fault
        if self._handover is not None:
            text = f"{self.query.exception() or fault}"
        else:
            failed = self.query._jsq.exception() if hasattr(self.query, "_jsq") else None
            text = failed.get().toString() if failed is not None and failed.isDefined() else ""
        found = _CODE.search(text)
        return fault if found is None else error(found[1], found[2])

    def stop(self) -> None:
        """Stop it, after the batch at hand or in the middle of it; nothing is lost where there is a checkpoint.

        Spark tells its figures a little later, those of the last batch before that it has ended: then they are whole.
        """
        try:
            self.query.stop()
            self.figures.ended.wait(_FIGURES)
        finally:
            if self._handover is not None:
                self._handover.stop()
            self.spark.streams.removeListener(self._listening)
            close_all(self.sinks)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
