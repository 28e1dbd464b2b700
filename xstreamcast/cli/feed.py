"""``xcast feed``: documents that bring records, as a stream of changes."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile, TemporaryDirectory
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Annotated, BinaryIO, Final, Protocol, cast

from xstreamcast.cli.options import Argument, Option, WrongCall
from xstreamcast.cli.tables import KeepRemoved, TableKey, feed_table
from xstreamcast.errors import Place, XStreamError, error, missing_file

if TYPE_CHECKING:
    from xstreamcast.feeds import Feed
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.wire.fragment import FragmentWriter

_WAITING: Final = 1 << 24
"""Bytes of a document's changes that wait in memory; more of them wait on disk."""


def feed_command(
    record: Annotated[
        str,
        Argument(metavar="RECORD", help="The path to the records: /feed/entry. * is any name; several with |."),
    ],
    sources: Annotated[
        list[str],
        Argument(metavar="SOURCE...", help="Documents in order, folders and archives of them; - is stdin."),
    ],
    key: Annotated[
        str | None, Option(metavar="EXPR", help="What a record is known by. Without: each is a new one.")
    ] = None,
    time: Annotated[
        str | None,
        Option(metavar="EXPR", help="Since when it is so: records are versions in time; without a key, events."),
    ] = None,
    removed: Annotated[
        str | None, Option(metavar="EXPR", help="Of a document: records that are gone, or the keys of such.")
    ] = None,
    whole: Annotated[
        bool, Option("--whole", help="Each document is the whole state: what it does not have is gone.")
    ] = False,
    namespace: Annotated[
        list[str], Option(metavar="[PREFIX=]URI", help="A prefix; without one, that of names without a prefix.")
    ] = [],
    dtd: Annotated[Path | None, Option(metavar="FILE", help="The DTD of the documents: entities, defaults.")] = None,
    catalog: Annotated[
        Path | None, Option(metavar="FILE", help="An XML catalog, which names the files of DTDs.")
    ] = None,
    every: Annotated[
        str | None, Option(metavar="TIME", help="Ask URLs again so often (30s, 5m, 1h), for what has changed.")
    ] = None,
    follow: Annotated[bool, Option("--follow", help="Go on with documents that appear or are replaced.")] = False,
    until_idle: Annotated[
        float | None, Option(metavar="SECONDS", help="With --follow: until nothing has come for so long.")
    ] = None,
    state: Annotated[Path | None, Option(metavar="FILE", help="What is known, to go on with it another time.")] = None,
    out: Annotated[
        str | None, Option("-o", "--out", metavar="OUT", help="A file, or a folder/ that grows by a file each.")
    ] = None,
    table: Annotated[
        str | None,
        Option(
            metavar="URL#NAME",
            help="Instead of a stream, a table of the records as they are: sqlite:///FILE, duckdb:///FILE, postgresql://…",
        ),
    ] = None,
    columns: Annotated[
        str | None, Option(metavar="COLUMNS", help="Its columns, of each record: '@id, price as xs:decimal'.")
    ] = None,
    table_key: TableKey = [],
    keep_removed: KeepRemoved = False,
) -> None:
    """Turn documents that bring records into a stream: of each document what is new, different and gone.

    Expressions are XQuery; the context of --key and --time is the record. Records stand in the elements that RECORD
    names, of several paths the first, in the order in which they first came. If RECORD is one name, documents are
    records: there may be several in a file, or on standard input without end. --removed is a path to records that are
    gone, or any expression that gives their keys. A document without a record is warned of.

    Examples:

      xcast feed /PubmedArticleSet/PubmedArticle baseline/ updatefiles/ --key MedlineCitation/PMID
      --removed /PubmedArticleSet/DeleteCitation/PMID -o pubmed/ --state pubmed.state

      xcast feed /feed/entry polls/ --namespace http://www.w3.org/2005/Atom --key id --time updated --whole --follow
      | xcast watch -f news.xq --stream news=-

      xcast feed '/osm/node|/osmChange/*/node' base.osm diffs/ --key @id --removed /osmChange/delete/node -o nodes/

      xcast feed /rss/channel/item --every 5m https://example.org/news.rss --key guid --whole -o news/

      sensors | xcast feed /reading - --time @at | xcast watch -f alerts.xq --stream readings=-

      xcast feed /PubmedArticleSet/PubmedArticle baseline/ updatefiles/ --key MedlineCitation/PMID --state pubmed.state
      --removed /PubmedArticleSet/DeleteCitation/PMID --table postgresql:///pubmed#articles --table-key pmid
      --columns 'pmid=MedlineCitation/PMID as xs:integer, title=.//ArticleTitle as xs:string'
    """
    from xstreamcast.cli.terminal import Diagnostics, output
    from xstreamcast.feeds import Feed
    from xstreamcast.feeds.documents import documents as documents_of
    from xstreamcast.run.stored import in_archives
    from xstreamcast.scan.web import is_url

    folder = out is not None and (out.endswith("/") or Path(out).is_dir())
    piped = out is None or out == "-"
    if table is None and (columns or table_key or keep_removed):
        raise WrongCall("--columns, --table-key and --keep-removed are of --table")
    if table is not None and (out is not None or state is None or time is not None):
        raise WrongCall("--table goes on by --state, has records as they are now (no --time), and is no -o")
    if until_idle is not None and not follow and every is None:
        raise WrongCall("--until-idle belongs to --follow and --every")
    urls = [source for source in sources if is_url(source)]
    if urls and every is None:
        raise WrongCall("a URL is asked again and again: say how often with --every 30s")
    if every is not None and (len(urls) < len(sources) or follow):
        raise WrongCall("--every belongs to URLs, which stand alone")
    seconds = None if every is None else _seconds(every)
    follow = follow or every is not None
    if "-" in sources and (follow or len(sources) > 1):
        raise WrongCall("standard input stands alone, and is followed anyway")
    if (follow or state is not None) and not (folder or piped):
        raise WrongCall("what goes on with --follow or --state is written to a folder/ or a pipe")
    for source in sources:
        if source != "-" and not urls and not Path(source).exists() and in_archives(Path(source)) is None:
            raise missing_file(source, "no such file or folder", "give documents, folders, or -")
    report = Diagnostics()
    feed = Feed(
        record, key=key, time=time, removed=removed, whole=whole, namespaces=dict(map(_namespace, namespace)),
        state=state, report=report, dtd=dtd, catalog=catalog,
    )  # fmt: skip
    ends = not follow and state is None
    try:
        found = _polled(feed, urls, seconds, until_idle) if seconds else documents_of(feed, sources, follow, until_idle)
        documents = (document for document in found if document is not None)
        if table is not None:
            about = f"{record}\n{key}\n{removed}\n{whole}"
            with closing(feed_table(feed, about, table, columns, table_key, keep_removed)) as filled:
                _tell(feed, documents, filled, ends, follow)
        elif folder:
            assert out is not None
            with closing(_GrowingFolder(Path(out), feed.begun)) as growing:
                _tell(feed, documents, growing, ends, follow)
        else:
            with output(out) as file:
                flowing = _Flowing(file, feed.structure(), ends)
                _tell(feed, documents, flowing, ends, follow)
                flowing.close()
    finally:
        feed.close()
        report.close()


def _namespace(given: str) -> tuple[str, str]:
    prefix, sign, uri = given.partition("=")
    return (prefix, uri) if sign and prefix.isidentifier() else ("", given)


def _seconds(every: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", every)
    if match is None or not float(match[1]):
        raise WrongCall(f"--every is a time such as 30s, 5m or 1h, not {every!r}")
    return float(match[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[match[2]]


class _Copy(str):
    """The URL of a document, of which there is a copy."""

    path: Path


def _polled(feed: Feed, urls: list[str], seconds: float, until_idle: float | None) -> Iterator[str]:
    """The documents of URLs, each time that one is another; one that cannot be had is told, and asked for again."""
    from xstreamcast.model.diagnostic import Diagnostic
    from xstreamcast.scan.web import fetch

    last = monotonic()
    with TemporaryDirectory(prefix="xstreamcast-") as folder:
        while True:
            due = monotonic() + seconds
            for url in urls:
                marks = json.loads(feed.known.get(f"asked {url}", "{}"))
                document = _Copy(url)
                document.path = Path(folder, "document.xml")
                try:
                    found = fetch(url, marks)
                    if found is None:
                        continue
                    with found.body as body, open(document.path, "wb") as copy:
                        copyfileobj(body, copy)
                except XStreamError as failure:
                    feed.report(Diagnostic(failure.code, "quarantine", failure.message, failure.place or Place(url)))
                    continue
                yield document
                with feed.known.whole():
                    feed.known.put(f"asked {url}", json.dumps(found.marks))
                last = monotonic()
            if until_idle is not None and monotonic() - last >= until_idle:
                return
            sleep(max(0.0, due - monotonic()))


class _Writer(Protocol):
    """Who is told changes, and structures before them."""

    def write(self, change: Change, /) -> None: ...

    def write_structure(self, structure: Structure, /) -> None: ...


class _Telling(Protocol):
    """Where the changes of documents go."""

    def writer(self) -> _Writer:
        """Who writes the changes of a document."""

    def publish(self) -> None:
        """The rows that were written count."""

    def discard(self) -> None:
        """The rows that were written since do not count."""


def _tell(feed: Feed, documents: Iterator[str], telling: _Telling, ends: bool, follow: bool) -> None:
    for document in documents:
        before = feed.counts.copy()
        for item in _changes(feed, document, telling, follow):
            _write(telling.writer(), item)
        _told(document, feed.counts - before, follow)
    if ends:
        telling.writer().write(feed.end())
        telling.publish()


def _changes(feed: Feed, document: str, telling: _Telling, follow: bool) -> Iterator[Structure | Change]:
    """The changes of a document. One that cannot be read is put aside, with its place, where others are waited for."""
    from xstreamcast.model.diagnostic import Diagnostic

    try:
        copy = document.path if isinstance(document, _Copy) else document
        yield from feed.changes(copy, telling.publish, document if isinstance(document, _Copy) else "")
    except XStreamError as fault:  # of reading: what goes wrong in writing is met where it is written
        if not follow:
            raise
        telling.discard()
        text = f"{fault.message}; the document is put aside until it is another"
        place = Place(document) if fault.place is None else replace(fault.place, source=document)
        feed.report(Diagnostic(fault.code, "quarantine", text, place))


class _Flowing:
    """A stream in one piece, to a file or a pipe. Where it goes on, it gets a document when all of it was read."""

    def __init__(self, file: BinaryIO, structure: Structure | None, ends: bool) -> None:
        from xstreamcast.wire.fragment import FragmentWriter

        self.file = file
        self.open_writer = FragmentWriter(file, structure)
        self.waiting: IO[bytes] | None = None if ends else SpooledTemporaryFile(_WAITING)  # noqa: SIM115 - to the end

    def writer(self) -> FragmentWriter:
        self.open_writer.out = self.file if self.waiting is None else cast(BinaryIO, self.waiting)
        return self.open_writer

    def publish(self) -> None:
        if self.waiting is not None:
            self.waiting.seek(0)
            copyfileobj(self.waiting, self.file)
            self.discard()
        self.file.flush()

    def discard(self) -> None:
        if self.waiting is not None:
            self.waiting.seek(0)
            self.waiting.truncate()

    def close(self) -> None:
        """The end of the stream."""
        self.writer().close()
        self.publish()


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
        from xstreamcast.wire.fragment import FragmentWriter

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

    def discard(self) -> None:
        """A file that is not whole is not there."""
        if self.file is not None:
            self.file.__exit__(GeneratorExit, GeneratorExit(), None)
            self.open_writer = self.file = None

    close = discard


def _write(writer: _Writer, item: Structure | Change) -> None:
    from xstreamcast.model.change import Change

    if isinstance(item, Change):
        writer.write(item)
    else:
        writer.write_structure(item)


def _told(document: str, counts: Counter[str], follow: bool) -> None:
    """Tells how much a document brought, where somebody looks, or reads a log."""
    if follow or sys.stderr.isatty():
        words = ("new", "changed", "removed", "same", "aside")
        told = ", ".join(f"{counts[word]:,} {word}" for word in words if counts[word])
        print(f"{document}: {told or 'nothing'}", file=sys.stderr, flush=True)
