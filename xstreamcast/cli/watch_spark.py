"""``xcast watch --engine spark``: the same queries and formats, run by Spark micro-batch by micro-batch."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cli.interrupts import held
from xstreamcast.cli.options import WrongCall
from xstreamcast.cli.own_spark import own_spark
from xstreamcast.cli.progress import SparkWatched
from xstreamcast.cli.watch_warnings import Warned
from xstreamcast.errors import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.cli.tables import AskedTable
    from xstreamcast.cli.terminal import Diagnostics
    from xstreamcast.cli.watch import Sink as WatchSink
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.serve.client import Address
    from xstreamcast.spark.motion.continuous_query import Motion, Running
    from xstreamcast.spark.motion.sink import UpsertTable
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

_LOOK: Final = 0.2
"""Seconds between two looks at whether it is over."""


def watch_on_spark(
    texts: list[str], sources: Mapping[str, str], published: Mapping[str, str], report: Diagnostics, **given: Any
) -> bool:
    """Start Spark and let it run queries until their streams end; whether Ctrl-C ended it. ``given``: see `follow`."""
    master = given.pop("master")
    for name, source in sources.items():
        if source == "-":
            raise WrongCall(f"Spark reads what can be read again, not {name}=-")
    with (
        tempfile.TemporaryDirectory(prefix="xstreamcast-watch-") as folder,
        own_spark("xcast watch", master, Path(folder)) as spark,
    ):
        return follow(spark, texts, sources, published, report, **given)


def follow(
    spark: SparkSession,
    texts: list[str],
    sources: Mapping[str, str],
    published: Mapping[str, str],
    report: Diagnostics,
    *,
    format: str | None,
    trace: bool,
    until_idle: float | None,
    checkpoint: Path | None,
    batch: int | None,
    figures_to: tuple[tuple[str, int] | None, dict[str, Address]] | None = None,
    options: Mapping[str, str] | None = None,
    tables: Sequence[AskedTable] = (),
    **given: Any,
) -> bool:
    """Run queries until their streams end; whether Ctrl-C ended it.

    ``batch``: at most so many fragments in a micro-batch; ``tables``: of the first query, the second …; ``given``: as
    of `continuous_many` on Spark.
    """
    from xstreamcast.spark.motion.continuous_query import continuous_many
    from xstreamcast.spark.motion.sink import UpsertTable

    names = [*published, *[f"answer{number}" for number in range(len(published), len(texts))]]
    limits = dict(options or {}) if batch is None else {**(options or {}), "maxFragmentsPerTrigger": str(batch)}
    motion = continuous_many(spark, texts, dict(sources), names=names, options=limits, **given)
    # Files that are there have an end; folders and servers go on.
    stored = all(Path(source).is_file() for source in sources.values())
    kept = [UpsertTable(query=name, **table) for name, table in zip(names, tables, strict=False)]
    return _run(motion, format, trace, published, report, checkpoint, stored, until_idle, kept, figures_to)


def _run(
    motion: Motion,
    format: str | None,
    trace: bool,
    published: Mapping[str, str],
    report: Diagnostics,
    checkpoint: Path | None,
    stored: bool,
    until_idle: float | None,
    tables: Sequence[UpsertTable],
    figures_to: tuple[tuple[str, int] | None, dict[str, Address]] | None = None,
) -> bool:
    following: list[Following] = []
    warned = Warned(motion.inflow)

    def make(answers: Answers, figures: Any) -> list[Any]:
        from xstreamcast.cli.watch import sinks_of
        from xstreamcast.spark.motion.sink_display import LiveDisplay

        shown: Any = answers  # it has the face of an inflow, as far as who shows it looks
        chosen = format or ("none" if tables and not trace else "live" if sys.stdout.isatty() and not trace else None)
        sinks = sinks_of(shown, "none" if chosen == "live" else chosen, trace, dict(published))
        warned.live = chosen == "live"
        following.append(Following(sinks, report, warned))
        told_of = [] if figures_to is None else [SparkWatched(answers, figures, *figures_to)]
        return [*following, *told_of, *([LiveDisplay(answers, figures)] if chosen == "live" else [])]

    running = motion.start(checkpoint=checkpoint, table=tables, make_sinks=make, available_now=stored)
    interrupted = False
    try:
        _wait(running, following[0], until_idle)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        with held():
            running.stop()
            warned.close()
    return interrupted


def _wait(running: Running, following: Following, until_idle: float | None) -> None:
    """Until Spark ends by itself, all streams have ended, or nothing has come for so long."""
    idleness = following.idleness
    while not running.wait(_LOOK):
        if running.answers.ended:
            return
        if until_idle is not None:
            if running.is_idle:
                idleness.goes_on()
            if idleness.seconds > until_idle:
                return


class Idleness:
    """For how long nothing has come: from when Spark first looked, or from the last micro-batch with changes, to when
    it was last seen that there was no more. While Spark starts, or has a batch at hand, nobody knows.
    """

    def __init__(self) -> None:
        self._begin: float | None = None
        self._end = 0.0

    @property
    def seconds(self) -> float:
        return 0.0 if self._begin is None else self._end - self._begin

    def goes_on(self) -> None:
        """There is nothing new now."""
        self._end = time.monotonic()
        if self._begin is None:
            self._begin = self._end

    def begins(self) -> None:
        """Something has come, until now."""
        self._begin = self._end = time.monotonic()


class Following:
    """Hands what Spark tells on to the sinks of the command, and what was put aside to the diagnostics."""

    def __init__(self, sinks: Iterable[WatchSink], report: Diagnostics, warned: Warned) -> None:
        self.sinks = list(sinks)
        self.report = report
        self.warned = warned
        self.idleness = Idleness()
        self._n = 0

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        from xstreamcast.model.diagnostic import Diagnostic

        if answers.n != self._n or batch.put_aside:
            self._n = answers.n
            self.idleness.begins()
        else:  # the time has come, of a wall clock
            self.idleness.goes_on()
        self.warned.say(answers.warnings)
        for row in batch.put_aside:
            found = json.loads(row["content"])
            place = Place(found["source"], offset=found["offset"])
            self.report(Diagnostic(found["code"], "quarantine", found["message"], place, found["excerpt"]))
        for number, emitted in enumerate(told):
            shown: Any = answers.queries[number]  # it has the face of a continuous query
            for sink in self.sinks:
                if emitted:
                    sink.told(answers.n, number, shown, emitted, 0.0)
        for sink in self.sinks:
            sink.pause(True)

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()
