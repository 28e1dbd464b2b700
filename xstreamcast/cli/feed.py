"""``xcast feed``: documents that bring records, as a stream of changes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer

from xstreamcast.errors import Place, error

if TYPE_CHECKING:
    from xstreamcast.feeds import Feed
    from xstreamcast.model.change import Change
    from xstreamcast.model.fragment import FragmentWriter
    from xstreamcast.model.structure import Structure

POLL: Final = 0.5
"""Seconds between two looks for further documents."""


def feed_command(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="The path to the records, such as /feed/entry.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Documents in order, folders of them (gz too); - is stdin.")
    ],
    key: Annotated[
        str | None, typer.Option(metavar="EXPR", help="What a record is known by. Without: each is a new one.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="EXPR", help="Since when it is so: records are versions in time; without a key, events."),
    ] = None,
    removed: Annotated[
        str | None, typer.Option(metavar="EXPR", help="Of a document: the keys of records that are gone.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Each document is the whole state: what it does not have is gone.")
    ] = False,
    namespace: Annotated[
        list[str], typer.Option(metavar="[PREFIX=]URI", help="A prefix; without one, that of names without a prefix.")
    ] = [],
    follow: Annotated[bool, typer.Option("--follow", help="Go on with documents that appear or are replaced.")] = False,
    until_idle: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="With --follow: until nothing has come for so long.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What is known, to go on with it another time.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="OUT", help="A file, or a folder/ that grows by a file each.")
    ] = None,
) -> None:
    """Turn documents that bring records into a stream: of each document what is new, different and gone.

    Expressions are XQuery; the context of --key and --time is the record. Records stand in the elements that RECORD
    names, in the order in which they first came. If RECORD is one name, documents are records: there may be several
    in a file, or on standard input without end.

    Examples:

      xcast feed /PubmedArticleSet/PubmedArticle baseline/ updatefiles/ --key MedlineCitation/PMID
      --removed /PubmedArticleSet/DeleteCitation/PMID -o pubmed/ --state pubmed.state

      xcast feed /feed/entry polls/ --namespace http://www.w3.org/2005/Atom --key id --time updated --whole --follow
      | xcast watch -f news.xq --stream news=-

      sensors | xcast feed /reading - --time @at | xcast watch -f alerts.xq --stream readings=-
    """
    from xstreamcast.cli.terminal import Diagnostics
    from xstreamcast.feeds import Feed

    folder = out is not None and (out.endswith("/") or Path(out).is_dir())
    piped = out is None or out == "-"
    if until_idle is not None and not follow:
        raise typer.BadParameter("--until-idle belongs to --follow")
    if "-" in sources and (follow or len(sources) > 1):
        raise typer.BadParameter("standard input stands alone, and is followed anyway")
    if (follow or state is not None) and not (folder or piped):
        raise typer.BadParameter("what goes on with --follow or --state is written to a folder/ or a pipe")
    for source in sources:
        if source != "-" and not Path(source).exists():
            raise error("XSC0006", "no such file or folder", Place(source), "give documents, folders, or -")
    report = Diagnostics()
    feed = Feed(
        record, key=key, time=time, removed=removed, whole=whole, namespaces=dict(map(_namespace, namespace)),
        state=state, report=report,
    )  # fmt: skip
    ends = not follow and state is None
    try:
        documents = _documents(feed, sources, follow, until_idle)
        if folder:
            assert out is not None
            _to_folder(feed, documents, Path(out), ends, follow)
        else:
            _to_file(feed, documents, out, ends, follow)
    finally:
        feed.close()
        report.close()


def _namespace(given: str) -> tuple[str, str]:
    prefix, sign, uri = given.partition("=")
    return (prefix, uri) if sign and prefix.isidentifier() else ("", given)


def _documents(feed: Feed, sources: list[str], follow: bool, until_idle: float | None) -> Iterator[str]:
    """What is to be read, in the order of the sources, of a folder in that of its names."""
    last = monotonic()
    while True:
        for source in sources:
            path = Path(source)
            if source == "-":
                yield source
                continue
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                if file.is_file() and not file.name.startswith(".") and not feed.has_read(file):
                    yield str(file)
                    last = monotonic()
        if not follow or (until_idle is not None and monotonic() - last >= until_idle):
            return
        sleep(POLL)


def _to_file(feed: Feed, documents: Iterator[str], out: str | None, ends: bool, follow: bool) -> None:
    from xstreamcast.cli.terminal import output
    from xstreamcast.model.fragment import FragmentWriter

    with output(out) as file:
        writer = FragmentWriter(file, feed.structure())
        for document in documents:
            before = feed.counts.copy()
            for item in feed.changes(document, told=file.flush):
                _write(writer, item)
            _tell(document, feed.counts - before, follow)
        if ends:
            writer.write(feed.end())
        writer.close()


def _to_folder(feed: Feed, documents: Iterator[str], folder: Path, ends: bool, follow: bool) -> None:
    growing = _GrowingFolder(folder, feed.begun)
    try:
        for document in documents:
            before = feed.counts.copy()
            for item in feed.changes(document, told=growing.publish):
                _write(growing.writer(), item)
            _tell(document, feed.counts - before, follow)
        if ends:
            growing.writer().write(feed.end())
            growing.publish()
    finally:
        growing.close()


class _GrowingFolder:
    """A stream as files that appear whole, in the order of their names."""

    def __init__(self, folder: Path, begun: bool) -> None:
        self.folder = folder
        try:
            folder.mkdir(exist_ok=True)
            names = [file.stem for file in folder.iterdir() if not file.name.startswith(".")]
        except OSError as fault:
            hint = "can a folder be made there?"
            raise error("XSC0006", fault.strerror or str(fault), Place(str(folder)), hint) from None
        if names and not begun:
            hint = "a stream begins in an empty folder; --state FILE goes on with one"
            raise error("XSC0006", "the folder is not empty", Place(str(folder)), hint)
        self.number = max((int(name) for name in names if name.isdecimal()), default=0)
        self.file: AbstractContextManager[BinaryIO] | None = None
        self.open_writer: FragmentWriter | None = None

    def writer(self) -> FragmentWriter:
        """Who writes the next file."""
        from xstreamcast.cli.terminal import output
        from xstreamcast.model.fragment import FragmentWriter

        if self.open_writer is None:
            file = output(self.folder / f"{self.number + 1:010}.xml")
            self.open_writer, self.file = FragmentWriter(file.__enter__()), file
        return self.open_writer

    def publish(self) -> None:
        """The file is there, if something was written to it."""
        if self.open_writer is not None and self.file is not None:
            self.open_writer.close()
            self.file.__exit__(None, None, None)
            self.number += 1
            self.open_writer = self.file = None

    def close(self) -> None:
        """What is not whole is not there."""
        if self.file is not None:
            self.file.__exit__(GeneratorExit, GeneratorExit(), None)


def _write(writer: FragmentWriter, item: Structure | Change) -> None:
    from xstreamcast.model.change import Change

    if isinstance(item, Change):
        writer.write(item)
    else:
        writer.write_structure(item)


def _tell(document: str, counts: Counter[str], follow: bool) -> None:
    """What a document brought, where somebody looks, or reads a log."""
    if follow or sys.stderr.isatty():
        words = ("new", "changed", "removed", "same", "aside")
        told = ", ".join(f"{counts[word]:,} {word}" for word in words if counts[word])
        print(f"{document}: {told or 'nothing'}", file=sys.stderr, flush=True)
