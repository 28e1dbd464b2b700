"""``xcast demo``: a live credit card stream, broadcast, and two of SIGMOD'04's queries that Spark keeps answered.

    the bank  --HTTP-->  xcast serve  --xcast://-->  Spark's structured streaming  -->  the live display

Each is a process of its own. The bank (:mod:`~xstreamcast.cli.demo_bank`) publishes fragments out of order, the server
logs and broadcasts them, Spark reads the server's log; alerts come and are withdrawn. At the end the answers are
compared with the same queries run from scratch on the server's log.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from xstreamcast.cli.demo_bank import PATIENCE
from xstreamcast.cli.demo_processes import Child, Server, publishing, serving
from xstreamcast.cli.interrupts import held, kept
from xstreamcast.cli.options import Done, Option
from xstreamcast.cli.own_spark import own_spark
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.continuous_query import Motion, Running
    from xstreamcast.spark.motion.listener import Figures
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

FRAUD: Final = """\
for $a in stream("credit")//account
where sum($a/transaction?[now-PT1H,now][status = "charged"]/amount) >= max(($a/creditLimit?[now] * 0.9, 5000))
return <alert><account id="{$a/@id}">{$a/customer}</account></alert>"""

MAXED_OUT: Final = """\
for $a in stream("credit")//account
where sum($a/transaction?[2003-11-01,2003-12-01][status = "charged"]/amount) >= $a/creditLimit?[now]
return <account>{ attribute id {$a/@id}, $a/customer, $a/creditLimit }</account>"""

QUERIES: Final = {"fraud": FRAUD, "maxed-out": MAXED_OUT}


def demo_command(
    factor: Annotated[float, Option(help="How much: 1 is 2,000 accounts.")] = 0.2,
    seed: Annotated[int, Option(help="Which accounts, and what happens to them.")] = 1,
    seconds: Annotated[float, Option(help="How long the story goes on.")] = 35.0,
    keep: Annotated[bool, Option("--keep", help="Go on until Ctrl-C.")] = False,
    plain: Annotated[bool, Option("--plain", help="Lines instead of a live view.")] = False,
) -> None:
    """Credit cards live: a bank, a broadcast server, Spark; alerts that come and are withdrawn.

    A bank publishes fragments out of order to a server, and Spark reads them from there. Two queries run
    continuously: cards that were charged too much within the hour, and accounts that are maxed out this month.
    Everything stays on this machine, in a temporary folder, and goes away afterwards. Takes about a minute.
    """
    if not (0 < factor <= 10 and 0 < seconds <= 3600):
        raise error("XSC0051", f"factor {factor:g}, {seconds:g} seconds", hint="a factor up to 10, up to 3600 seconds")
    if not demo(factor, seed, None if keep else seconds, live=sys.stdout.isatty() and not plain):
        raise Done(1)


class Show:
    """Follows the batches: counts what comes and goes, tells the bank how far Spark is, and says lines if wanted."""

    def __init__(self, console: Console, read: Callable[[int], None], figures: Figures, *, lines: bool) -> None:
        self.console = console
        self.read = read
        self.figures = figures
        self.lines = lines
        self.batches = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.said: dict[tuple[str, int], bytes] = {}
        self.since = time.monotonic()
        self.slowest = 0.0

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        """One micro-batch."""
        self.batches += 1
        self.since = time.monotonic()
        self.slowest = max(self.slowest, self.figures.seconds if self.batches > 2 else 0.0)
        for answer, emitted in zip(answers.queries, told, strict=True):
            for change, order in emitted:
                if order is not None:
                    self.counts[answer.name, change.kind] += 1
        self.read(answers.n)
        if self.lines:
            self._line(batch, answers, told)

    def _line(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        shown = ", ".join(f"{answer.name} {answer.shown}" for answer in answers.queries)
        self.console.print(
            f"batch {batch.number:>3}: {answers.n:>6,} fragments, {self.figures.rows_per_second:>5,.0f}/s, "
            f"{len(answers.sizes.table):,} regions, {answers.sizes.kept / 1e6:.2f} MB of state; shown: {shown}"
        )
        for answer, emitted in zip(answers.queries, told, strict=True):
            for change, order in emitted:
                sign = {"after": "+", "replace": "~", "remove": "-"}.get(change.kind) if order is not None else None
                if sign is not None:
                    said = self.said.pop((answer.name, change.region), b"")
                    if sign != "-":
                        said = self.said[answer.name, change.region] = getattr(change, "content", b"")
                    self.console.print(f"  {sign} {answer.name} {said.decode()}"[:150], markup=False)

    def close(self) -> None:
        """What there is to say at the end is said elsewhere."""


def demo(factor: float, seed: int, seconds: float | None, *, live: bool) -> bool:
    """Play it; whether the answers at the end are those of the queries run from scratch on the server's log."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not live)
    began = time.monotonic()
    with kept(_folder, _remove) as folder, serving(folder / "log") as server:
        with _spark(folder, console) as spark:
            show, running = play(spark, folder, server, factor, seed, seconds, console, live=live)
        expected = from_scratch(server.address, running.answers.n)
    return verdict(expected, show, running.answers, console, time.monotonic() - began)


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="xstreamcast-demo-"))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def play(
    spark: SparkSession,
    folder: Path,
    server: Server,
    factor: float,
    seed: int,
    seconds: float | None,
    console: Console,
    *,
    live: bool,
) -> tuple[Show, Running]:
    """Broadcast the stream and keep the queries answered while it comes, to its end."""
    from xstreamcast.generate.credit import GENERATOR
    from xstreamcast.spark.motion.continuous_query import continuous_many

    console.print(f"On the air: {server.address}  (xcast listen, or xcast watch, in another terminal)\n", markup=False)
    motion = continuous_many(
        spark, list(QUERIES.values()), {"credit": server.address}, names=list(QUERIES), structures=GENERATOR.structures
    )
    tell_plan(motion, console)
    shows: list[Show] = []
    with publishing(server, factor, seed, seconds) as bank:

        def make(answers: Answers, figures: Figures) -> list[Any]:
            from xstreamcast.spark.motion.sink_display import LiveDisplay

            shows.append(Show(console, bank.tell, figures, lines=not live))
            return [*shows, *([LiveDisplay(answers, figures, console)] if live else [])]

        # Spark asks for the stream when it starts: it is there once the bank has registered it.
        _registered(server, bank)
        running = motion.start(checkpoint=folder / "state", make_sinks=make, every="500 milliseconds")
        try:
            _wait(running, shows[0], (server.child, bank))
        except KeyboardInterrupt:
            if seconds is not None:
                raise
        finally:
            with held():
                running.stop()
    return shows[0], running


def _registered(server: Server, bank: Child) -> None:
    """Wait until the stream is there."""
    from xstreamcast.serve.client import parse_address, read

    until = time.monotonic() + PATIENCE
    while True:
        try:
            read(parse_address(server.address), limit=1)
            return
        except XStreamError:
            server.child.check()
            bank.check()
            if time.monotonic() > until:
                raise
        time.sleep(0.1)


def tell_plan(motion: Motion, console: Console) -> None:
    """What is going to run: Spark's steps, the queries, and of each the verdict and the operators."""
    stages, *queries = motion.plan(brief=True).split("\n\n")
    console.print(stages, markup=False)
    for block, text in zip(queries, QUERIES.values(), strict=True):
        console.print(f"\n{text}\n", markup=False)
        console.print(block, markup=False)
    console.print()


def _wait(running: Running, show: Show, children: tuple[Child, ...]) -> None:
    """Until the stream has ended; raises when the query or a child failed, or nothing comes any more."""
    while not running.until_ended(0.2):
        for child in children:
            child.check()
        if not running.query.isActive:
            raise error("XSC0066", "the query stopped", hint="see the message above")
        if time.monotonic() - show.since > PATIENCE:
            raise error("XSC0066", f"no micro-batch for {PATIENCE:g} seconds", hint="is the machine very busy?")


@contextmanager
def _spark(folder: Path, console: Console) -> Iterator[SparkSession]:
    from xstreamcast.spark.session import SHORT_LIVED

    console.print("Starting Spark on this machine (local[2]) …")
    begin = time.monotonic()
    with own_spark("xstreamcast demo", "local[2]", folder, **{**SHORT_LIVED, **SMALL}) as spark:
        console.print(f"Spark {spark.version} is up after {time.monotonic() - begin:.1f} s.\n")
        yield spark


SMALL: Final = {"spark.sql.shuffle.partitions": "1"}
"""The state has one key: a task more would do nothing."""


def verdict(expected: dict[str, str], show: Show, answers: Answers, console: Console, seconds: float) -> bool:
    """Compare with the queries run from scratch over what Spark has read, and say how it all went."""
    equal = True
    for answer in answers.queries:
        counts = {kind: show.counts[answer.name, kind] for kind in ("after", "remove", "replace")}
        told = answer.told()
        same = not isinstance(told, XStreamError) and told == expected[answer.name]
        equal &= same
        console.print(
            f"{answer.name}: {counts['after']:,} appeared, {counts['remove']:,} were withdrawn, {counts['replace']:,} "
            f"changed, {answer.shown:,} are shown. "
            + ("That is" if same else "That is NOT")
            + f" what the query says when it is run from scratch over the {answers.n:,} fragments in the server's log."
        )
    console.print(
        f"{answers.n:,} fragments came out of order and were read by Spark in {show.batches} micro-batches, the "
        f"slowest of which took {show.slowest:.1f} s; {len(answers.sizes.table):,} regions and "
        f"{answers.sizes.kept / 1e6:.2f} MB of state were kept. It took {seconds:.0f} s in all."
    )
    return equal


def from_scratch(address: str, count: int) -> dict[str, str]:
    """The answers of the queries over the document that the first changes of a server's log describe."""
    from xstreamcast.cast.materialise import Materialiser
    from xstreamcast.model.change import Change
    from xstreamcast.model.serialise import serialise
    from xstreamcast.run.query import compile
    from xstreamcast.run.streams import view_of
    from xstreamcast.run.temporal import moment_at
    from xstreamcast.serve.client import parse_address, read

    table = Materialiser()
    stretch = read(parse_address(address))
    while stretch.entries and count > 0:
        for _, item in stretch.entries:
            count -= isinstance(item, Change)
            if count >= 0:
                table.apply(item)
        stretch = read(parse_address(address), stretch.next, log=stretch.log)
    view = view_of(table.text().encode(), "stream:credit")
    now = moment_at(table.now)
    found = {name: compile(text).ask(streams=lambda _: view, now=now) for name, text in QUERIES.items()}
    return {name: serialise(result.items()) for name, result in found.items()}
