"""``xcast demo``: a credit card stream, taken apart, shuffled, sent, and put together again by Spark while it arrives.

A thread plays the sender: it writes the fragments of SIGMOD'04's credit accounts in random order into a growing
directory, at a steady pace. Spark's structured streaming reads them; after every micro-batch T of DBPL'03 §2.3 is
materialised, so one sees the document come together. At the end it is compared with the original, canonically.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from rich.console import Console, RenderableType

    from xstreamcast.cast.materialise import Materialiser
    from xstreamcast.model.change import Change

_TICK: Final = 0.25
"""Seconds between two files of the sender."""
_PATIENCE: Final = 60.0
"""Seconds without a micro-batch after which something is wrong."""
_SAMPLES: Final = 4

_ELEMENT: Final = re.compile(rb"<[^/!?]")
_LIMIT: Final = re.compile(rb"<creditLimit[^>]*>([^<]*)<")


def demo_command(
    factor: Annotated[float, typer.Option(help="How much: 1 is 2,000 accounts.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Which accounts, and in which order their fragments come.")] = 1,
    seconds: Annotated[float, typer.Option(help="How long the sender takes.")] = 18.0,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a live view.")] = False,
) -> None:
    """A shuffled credit card stream through Spark: watch the document come together, then compare it with the original.

    Everything stays on this machine, in a temporary folder, and goes away afterwards. Takes about 40 seconds.
    """
    if not (0 < factor <= 10 and 0 < seconds <= 3600):
        raise error("XSC0051", f"factor {factor:g}, {seconds:g} seconds", hint="a factor up to 10, up to 3600 seconds")
    if not demo(factor, seed, seconds, live=sys.stdout.isatty() and not plain):
        raise typer.Exit(1)


@dataclass(slots=True)
class Scene:
    """What the demo plays with: the original document, and its fragments in the order they are sent."""

    original: bytes
    structure: str
    changes: list[Change]
    accounts: list[tuple[str, re.Pattern[bytes]]]
    elements: int

    @classmethod
    def of(cls, factor: float, seed: int) -> Scene:
        from xstreamcast.generate.credit import GENERATOR

        assert GENERATOR.document is not None
        assert GENERATOR.changes is not None
        original = b"".join(GENERATOR.document(factor, seed))
        root, *changes, eos = [change for _, change in GENERATOR.changes(factor, seed, 0)]
        rng = random.Random(seed)
        rng.shuffle(changes)
        # The root comes first, so that there is something to see; it holds nothing but holes.
        numbers = re.findall(rb'<account id="(\d+)"', original)
        chosen = sorted(rng.sample(numbers, min(_SAMPLES, len(numbers))))
        samples = [(number.decode(), _account(number)) for number in chosen]
        structure = GENERATOR.structures["credit"]
        return cls(original, structure, [root, *changes, eos], samples, len(_ELEMENT.findall(original)))


def _account(number: bytes) -> re.Pattern[bytes]:
    return re.compile(rb'<account id="' + number + rb'"[^>]*><customer>([^<]*)</customer>(.*?)</account>', re.DOTALL)


@dataclass(slots=True)
class Progress:
    """What is known after a micro-batch."""

    batches: int = 0
    fragments: int = 0
    rate: float = 0.0
    open_holes: int = 0
    unheld: int = 0
    elements: int = 0
    size: int = 0
    seconds: float = 0.0
    accounts: list[str] = field(default_factory=list)


class Sender(threading.Thread):
    """Writes the fragments into a growing directory: small files in name order, each renamed into place when whole."""

    def __init__(self, scene: Scene, folder: Path, seconds: float) -> None:
        super().__init__(name="sender", daemon=True)
        self.scene = scene
        self.folder = folder
        self.seconds = seconds
        self.stopped = threading.Event()
        self.files = 0
        self.fault: XStreamError | None = None

    def run(self) -> None:
        ticks = max(1, round(self.seconds / _TICK))
        count = len(self.scene.changes)
        begin = time.monotonic()
        try:
            for tick in range(ticks):
                self.write(self.scene.changes[count * tick // ticks : count * (tick + 1) // ticks])
                if self.stopped.wait(max(0.0, begin + (tick + 1) * _TICK - time.monotonic())):
                    return
        except XStreamError as fault:
            self.fault = fault

    def write(self, changes: list[Change]) -> None:
        from xstreamcast.cli.terminal import output
        from xstreamcast.model.fragment import FragmentWriter
        from xstreamcast.model.structure import parse_structure

        with output(self.folder / f"{self.files:06}.xml") as file:
            writer = FragmentWriter(file, None if self.files else parse_structure(self.scene.structure))
            for change in changes:
                writer.write(change)
            writer.close()
        self.files += 1


class Rebuilder:
    """Takes micro-batches and materialises T after each."""

    def __init__(self, scene: Scene, show: Callable[[Progress], None]) -> None:
        from xstreamcast.cast.materialise import Materialiser

        self.scene = scene
        self.show = show
        self.regions: Materialiser = Materialiser()
        self.progress = Progress()
        self.document = b""
        self.ended = threading.Event()
        self.began = time.monotonic()

    def take(self, rows: DataFrame, _: int) -> None:
        """One micro-batch, on the driver."""
        from xstreamcast.model.diagnostic import Diagnostic
        from xstreamcast.spark.rows import items_of

        begin = time.monotonic()
        seq = self.progress.fragments
        for seq, item in items_of(rows.toArrow()):  # noqa: B007 - the last one counts
            self.regions.apply(item)
        found: list[Diagnostic] = []
        self.document = b"".join(self.regions.document("", None, found.append))
        now = time.monotonic()
        self.progress = Progress(
            self.progress.batches + 1,
            seq,
            seq / (now - self.began),
            sum(diagnostic.code == "XSC0030" for diagnostic in found),
            sum(diagnostic.code == "XSC0032" for diagnostic in found),
            len(_ELEMENT.findall(self.document)),
            len(self.document),
            now - begin,
            [self.sample(number, account) for number, account in self.scene.accounts],
        )
        self.show(self.progress)
        if self.regions.ended:
            self.ended.set()

    def sample(self, number: str, account: re.Pattern[bytes]) -> str:
        found = account.search(self.document)
        if found is None:
            return f"{number}  …"
        limits = _LIMIT.findall(found[2])
        limit = f"limit {limits[-1].decode()}" if limits else "limit unknown yet"
        spent = found[2].count(b"<transaction ")
        return f"{number}  {found[1].decode()}, {limit}, {spent} transaction{'' if spent == 1 else 's'}"


def demo(factor: float, seed: int, seconds: float, *, live: bool) -> bool:
    """Play it; whether the rebuilt document equals the original."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not live)
    began = time.monotonic()
    scene = Scene.of(factor, seed)
    console.print(
        f"A credit card stream: {len(scene.changes):,} fragments of a document of {len(scene.original):,} bytes, "
        "sent in random order."
    )
    folder = Path(tempfile.mkdtemp(prefix="xstreamcast-demo-"))
    try:
        with _spark(folder, console) as spark:
            rebuilder, sender = play(scene, spark, folder, seconds, console, live=live)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return verdict(scene, rebuilder, sender, console, time.monotonic() - began)


def play(
    scene: Scene, spark: SparkSession, folder: Path, seconds: float, console: Console, *, live: bool
) -> tuple[Rebuilder, Sender]:
    """Send the stream and rebuild the document while it comes, to its end."""
    feed = folder / "credit"
    feed.mkdir()
    sender = Sender(scene, feed, seconds)
    with _view(scene, console, live=live) as show:
        rebuilder = Rebuilder(scene, show)
        query: StreamingQuery = (
            spark.readStream.format("xstreamcast")
            .load(str(feed))
            .writeStream.foreachBatch(rebuilder.take)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(processingTime="1 second")
            .start()
        )
        sender.start()
        try:
            _wait(query, rebuilder, sender)
        finally:
            sender.stopped.set()
            sender.join()
            query.stop()
    return rebuilder, sender


def _wait(query: StreamingQuery, rebuilder: Rebuilder, sender: Sender) -> None:
    """Until the stream has ended; raises when the query or the sender failed, or nothing comes any more."""
    batches, since = -1, time.monotonic()
    while not rebuilder.ended.wait(0.2):
        if sender.fault is not None:
            raise sender.fault
        if not query.isActive:
            raise error("XSC0066", f"the query stopped: {query.exception()}", hint="see the message above")
        if rebuilder.progress.batches != batches:
            batches, since = rebuilder.progress.batches, time.monotonic()
        elif time.monotonic() - since > _PATIENCE:
            raise error("XSC0066", f"no micro-batch for {_PATIENCE:g} seconds", hint="is the machine very busy?")


@contextmanager
def _spark(folder: Path, console: Console) -> Iterator[SparkSession]:
    """A session whose traces all lie in the folder. However one leaves, it and its Java process are gone first."""
    from xstreamcast.spark import register
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    console.print("Starting Spark on this machine (local[2]) …")
    begin = time.monotonic()
    scratch = folder / "spark"
    scratch.mkdir()
    spark = session("xstreamcast demo", log="OFF", scratch=scratch, **SHORT_LIVED)
    try:
        register(spark)
        console.print(f"Spark {spark.version} is up after {time.monotonic() - begin:.1f} s.")
        yield spark
    finally:
        # A second Ctrl-C must not leave half of it behind.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        shut_down(spark)
        signal.signal(signal.SIGINT, before)


@contextmanager
def _view(scene: Scene, console: Console, *, live: bool) -> Iterator[Callable[[Progress], None]]:
    if not live:
        yield lambda progress: console.print(_line(scene, progress))
        return
    from rich.live import Live

    with Live(_panel(scene, Progress()), console=console, refresh_per_second=8) as view:
        yield lambda progress: view.update(_panel(scene, progress))


def _share(scene: Scene, progress: Progress) -> float:
    return progress.elements / scene.elements


def _line(scene: Scene, progress: Progress) -> str:
    return (
        f"batch {progress.batches:>3}: {progress.fragments:>6,} of {len(scene.changes):,} fragments, "
        f"{_share(scene, progress):>6.1%} of the elements, {progress.open_holes:>5,} holes open, "
        f"{progress.unheld:>5,} fillers without their hole, {progress.seconds:.2f} s"
    )


def _panel(scene: Scene, progress: Progress) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    figures = Table.grid(padding=(0, 2))
    for label, value in (
        ("fragments read", f"{progress.fragments:,} of {len(scene.changes):,}   {progress.rate:,.0f}/s"),
        ("holes open", f"{progress.open_holes:,}"),
        ("fillers without their hole", f"{progress.unheld:,}"),
        ("rebuilt document", f"{progress.size:,} of {len(scene.original):,} bytes"),
        ("elements present", f"{progress.elements:,} of {scene.elements:,}   {_share(scene, progress):.1%}"),
        ("micro-batch", f"{progress.batches}   last one {progress.seconds:.2f} s"),
    ):
        figures.add_row(f"[dim]{label}[/dim]", value)
    bar = ProgressBar(total=1.0, completed=min(1.0, _share(scene, progress)), width=60)
    accounts = "\n".join(["", *(progress.accounts or (f"{number}  …" for number, _ in scene.accounts))])
    return Panel(Group(bar, "", figures, accounts), title="T of the fragments so far", width=78)


def verdict(scene: Scene, rebuilder: Rebuilder, sender: Sender, console: Console, seconds: float) -> bool:
    """Compare the rebuilt document with the original, canonically, and say how it came out."""
    from xml.etree.ElementTree import canonicalize

    progress = rebuilder.progress
    equal = canonicalize(rebuilder.document.decode(), with_comments=True) == canonicalize(
        scene.original.decode(), with_comments=True
    )
    if equal:
        console.print(
            f"The rebuilt document equals the original: {progress.elements:,} elements, {progress.size:,} bytes, "
            "compared as canonical XML."
        )
    else:
        console.print(
            f"The rebuilt document DIFFERS from the original: {progress.elements:,} elements instead of "
            f"{scene.elements:,}, {progress.open_holes:,} holes open."
        )
    console.print(
        f"{progress.fragments:,} fragments in {sender.files} files came in random order and were read by Spark in "
        f"{progress.batches} micro-batches. It took {seconds:.0f} s in all."
    )
    return equal
