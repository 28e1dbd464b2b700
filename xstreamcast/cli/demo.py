"""``xcast demo``: a live credit card stream, and two of SIGMOD'04's queries that Spark keeps answered while it comes.

A process of its own plays the bank. It sends the accounts as they stand, every fragment on its own and in random order,
and then a story: purchases, limits that change, cards that are stolen. Spark's structured streaming reads the fragments
as they appear; alerts come and are withdrawn. At the end the answers are compared with the same queries run from
scratch over all that was sent.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from xstreamcast.model.change import Change
    from xstreamcast.run.continuous.shelf import Emitted
    from xstreamcast.spark.continuous_query import Motion, Running
    from xstreamcast.spark.listener import Figures
    from xstreamcast.spark.sink_answers import Answers, Batch

FRAUD: Final = """\
for $a in stream("credit")//account
where sum($a/transaction?[now-PT1H,now][status = "charged"]/amount) >= max(($a/creditLimit?[now] * 0.9, 5000))
return <alert><account id="{$a/@id}">{$a/customer}</account></alert>"""

MAXED_OUT: Final = """\
for $a in stream("credit")//account
where sum($a/transaction?[2003-11-01,2003-12-01][status = "charged"]/amount) >= $a/creditLimit?[now]
return <account>{ attribute id {$a/@id}, $a/customer, $a/creditLimit }</account>"""

QUERIES: Final = {"fraud": FRAUD, "maxed-out": MAXED_OUT}

_TICK: Final = 0.25
"""Seconds between two files of the sender."""
_RATE: Final = 8.0
"""Fragments a second in the story: slow enough to see an alert come and go."""
_OPENING: Final = 2.0
"""Seconds in which the accounts are sent."""
_AHEAD: Final = 6
"""The story waits for Spark when more fragments than these have not been read: an alert lasts for about three times as
many, and is to be seen also where a micro-batch takes long."""
_LEAST: Final = 64
"""So many fragments the story has in any case: cards have been stolen by then, and suspended."""
_DISORDER: Final = 4
"""A fragment of the story may be overtaken by about so many."""
_PATIENCE: Final = 120.0
"""Seconds without a micro-batch after which something is wrong."""


def demo_command(
    factor: Annotated[float, typer.Option(help="How much: 1 is 2,000 accounts.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Which accounts, and what happens to them.")] = 1,
    seconds: Annotated[float, typer.Option(help="How long the story goes on.")] = 35.0,
    keep: Annotated[bool, typer.Option("--keep", help="Go on until Ctrl-C.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a live view.")] = False,
) -> None:
    """Credit cards live on Spark: fragments out of order in, alerts that come and are withdrawn out.

    Two queries run continuously: cards that were charged too much within the hour, and accounts that are maxed out this
    month. Everything stays on this machine, in a temporary folder, and goes away afterwards. Takes about a minute.
    """
    if not (0 < factor <= 10 and 0 < seconds <= 3600):
        raise error("XSC0051", f"factor {factor:g}, {seconds:g} seconds", hint="a factor up to 10, up to 3600 seconds")
    if not demo(factor, seed, None if keep else seconds, live=sys.stdout.isatty() and not plain):
        raise typer.Exit(1)


# ------------------------------------------------------------------------------------------------------- the sender


def send(folder: str, factor: float, seed: int, seconds: float | None) -> None:
    """Play the bank: write fragments into a growing folder, in files that appear whole, until the time is over.

    Beside the folder lies ``ack``: how many of them have been read, by which the story keeps in step.
    """
    from xstreamcast.generate.credit import GENERATOR

    assert GENERATOR.changes is not None
    rng = random.Random(seed)
    opening = sum(1 for _ in GENERATOR.changes(factor, seed, 0)) - 1
    changes = (change for _, change in GENERATOR.changes(factor, seed, 1 << 40))
    first = list(islice(changes, opening))
    rest = first[1:]  # the root comes first, so that there is something to see; it holds nothing but holes
    rng.shuffle(rest)
    sender = _Files(Path(folder), GENERATOR.structures["credit"])
    steps = max(1, round(_OPENING / _TICK))
    for step in range(steps):
        sender.put(([first[0]] if not step else []) + rest[len(rest) * step // steps : len(rest) * (step + 1) // steps])
    sender.wait_for(opening, _PATIENCE)
    began = time.monotonic()
    waiting: list[Change] = []
    due = 0.0
    while seconds is None or _goes_on(time.monotonic() - began, seconds, sender.sent - opening):
        due += _RATE * _TICK
        part = []
        while due >= 1:
            due -= 1
            waiting += islice(changes, _DISORDER - len(waiting))
            part.append(waiting.pop(rng.randrange(len(waiting))))
        sender.put(part)
        sender.wait_for(sender.sent - _AHEAD, 10.0)
    from xstreamcast.model.change import Eos

    sender.put([*waiting, Eos()])


def _goes_on(elapsed: float, seconds: float, sent: int) -> bool:
    """Whether the story does: for so long, and on a very slow machine until something has happened."""
    return elapsed < seconds or (sent < _LEAST and elapsed < 4 * seconds)


class _Files:
    """A growing folder: small files in name order, each renamed into place when it is whole."""

    def __init__(self, folder: Path, structure: str) -> None:
        self.folder = folder
        self.structure = structure
        self.files = 0
        self.sent = 0
        self.next = time.monotonic()

    def put(self, changes: list[Change]) -> None:
        """Write a file, when its time has come."""
        from xstreamcast.cli.terminal import output
        from xstreamcast.model.fragment import FragmentWriter
        from xstreamcast.model.structure import parse_structure

        self.next = max(self.next + _TICK, time.monotonic())
        time.sleep(max(0.0, self.next - time.monotonic()))
        if not changes:
            return
        with output(self.folder / f"{self.files:06}.xml") as file:
            writer = FragmentWriter(file, None if self.files else parse_structure(self.structure))
            for change in changes:
                writer.write(change)
            writer.close()
        self.files += 1
        self.sent += len(changes)

    def wait_for(self, count: int, seconds: float) -> None:
        """Until so many have been read, or so long."""
        ack, until = self.folder.parent / "ack", time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(FileNotFoundError, ValueError):
                if int(ack.read_text()) >= count:
                    return
            time.sleep(_TICK / 2)


@contextmanager
def sending(feed: Path, factor: float, seed: int, seconds: float | None) -> Iterator[subprocess.Popen[bytes]]:
    """The sender's process, which is gone afterwards."""
    given = json.dumps([str(feed), factor, seed, seconds])
    code = f"import json; from xstreamcast.cli.demo import send; send(*json.loads({given!r}))"
    package = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    # Ctrl-C is for us; the sender ends because we end it.
    process = subprocess.Popen(
        [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {code}"],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


# --------------------------------------------------------------------------------------------------------- the show


class Show:
    """Follows the batches: counts what comes and goes, tells the sender how far Spark is, and says lines if wanted."""

    def __init__(self, console: Console, ack: Path, figures: Figures, *, lines: bool) -> None:
        self.console = console
        self.ack = ack
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
        partial = self.ack.with_name(".ack")
        partial.write_text(str(answers.n))
        partial.replace(self.ack)
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
    """Play it; whether the answers at the end are those of the queries run from scratch."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not live)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="xstreamcast-demo-"))
    try:
        with _spark(folder, console) as spark:
            show, running = play(spark, folder, factor, seed, seconds, console, live=live)
        return verdict(folder / "credit", show, running.answers, console, time.monotonic() - began)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def play(
    spark: SparkSession, folder: Path, factor: float, seed: int, seconds: float | None, console: Console, *, live: bool
) -> tuple[Show, Running]:
    """Send the stream and keep the queries answered while it comes, to its end."""
    from xstreamcast.generate.credit import GENERATOR
    from xstreamcast.spark.continuous_query import continuous_many

    feed = folder / "credit"
    feed.mkdir()
    motion = continuous_many(
        spark, list(QUERIES.values()), {"credit": str(feed)}, names=list(QUERIES), structures=GENERATOR.structures
    )
    tell_plan(motion, console)
    shows: list[Show] = []

    def make(answers: Answers, figures: Figures) -> list[Any]:
        from xstreamcast.spark.sink_display import LiveDisplay

        shows.append(Show(console, folder / "ack", figures, lines=not live))
        return [*shows, *([LiveDisplay(answers, figures, console)] if live else [])]

    with sending(feed, factor, seed, seconds) as sender:
        running = motion.start(checkpoint=folder / "state", make_sinks=make, every="500 milliseconds")
        try:
            _wait(running, shows[0], sender)
        except KeyboardInterrupt:
            if seconds is not None:
                raise
        finally:
            # A second Ctrl-C must not leave half of it behind.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN) if _is_main() else None
            running.stop()
            if before is not None:
                signal.signal(signal.SIGINT, before)
    return shows[0], running


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def tell_plan(motion: Motion, console: Console) -> None:
    """What is going to run: Spark's steps, the queries, and of each the verdict and the operators."""
    stages, *queries = motion.plan(brief=True).split("\n\n")
    console.print(stages, markup=False)
    for block, text in zip(queries, QUERIES.values(), strict=True):
        console.print(f"\n{text}\n", markup=False)
        console.print(block, markup=False)
    console.print()


def _wait(running: Running, show: Show, sender: subprocess.Popen[bytes]) -> None:
    """Until the stream has ended; raises when the query or the sender failed, or nothing comes any more."""
    while not running.until_ended(0.2):
        if sender.poll() not in (None, 0):
            raise error("XSC0066", f"the sender ended with {sender.returncode}", hint="see the message above")
        if not running.query.isActive:
            raise error("XSC0066", "the query stopped", hint="see the message above")
        if time.monotonic() - show.since > _PATIENCE:
            raise error("XSC0066", f"no micro-batch for {_PATIENCE:g} seconds", hint="is the machine very busy?")


@contextmanager
def _spark(folder: Path, console: Console) -> Iterator[SparkSession]:
    """A session whose traces all lie in the folder. However one leaves, it and its Java process are gone first."""
    from xstreamcast.cli.watch_spark import quiet_java
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    console.print("Starting Spark on this machine (local[2]) …")
    begin = time.monotonic()
    scratch = folder / "spark"
    scratch.mkdir()
    with quiet_java(folder / "spark.log"):
        spark = session("xstreamcast demo", log="OFF", scratch=scratch, **{**SHORT_LIVED, **SMALL})
    try:
        console.print(f"Spark {spark.version} is up after {time.monotonic() - begin:.1f} s.\n")
        yield spark
    finally:
        # A second Ctrl-C must not leave half of it behind.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        shut_down(spark)
        signal.signal(signal.SIGINT, before)


SMALL: Final = {"spark.sql.shuffle.partitions": "1"}
"""The state has one key: a task more would do nothing."""


def verdict(feed: Path, show: Show, answers: Answers, console: Console, seconds: float) -> bool:
    """Run the queries from scratch over what Spark has read, compare, and say how it all went."""
    equal = True
    expected = from_scratch(feed, answers.n)
    for answer in answers.queries:
        counts = {kind: show.counts[answer.name, kind] for kind in ("after", "remove", "replace")}
        told = answer.told()
        same = not isinstance(told, XStreamError) and told == expected[answer.name]
        equal &= same
        console.print(
            f"{answer.name}: {counts['after']:,} appeared, {counts['remove']:,} were withdrawn, {counts['replace']:,} "
            f"changed, {answer.shown:,} are shown. "
            + ("That is" if same else "That is NOT")
            + f" what the query says when it is run from scratch over all {answers.n:,} fragments."
        )
    console.print(
        f"{answers.n:,} fragments came out of order and were read by Spark in {show.batches} micro-batches, the "
        f"slowest of which took {show.slowest:.1f} s; {len(answers.sizes.table):,} regions and "
        f"{answers.sizes.kept / 1e6:.2f} MB of state were kept. It took {seconds:.0f} s in all."
    )
    return equal


def from_scratch(feed: Path, count: int) -> dict[str, str]:
    """The answers of the queries over the document that the first changes of a folder describe."""
    from xstreamcast.cast.materialise import Materialiser
    from xstreamcast.model.change import Change
    from xstreamcast.model.fragment import read_stream
    from xstreamcast.model.serialise import serialise
    from xstreamcast.run.query import compile
    from xstreamcast.run.streams import view_of
    from xstreamcast.run.temporal import moment_at

    table = Materialiser()
    for file in sorted(feed.glob("*.xml")):
        for arrival in read_stream(file):
            count -= isinstance(arrival.item, Change)
            if count >= 0:
                table.apply(arrival.item)
    view = view_of(table.text().encode(), "stream:credit")
    now = moment_at(table.now)
    return {name: serialise(compile(text)(streams=lambda _: view, now=now).items()) for name, text in QUERIES.items()}
