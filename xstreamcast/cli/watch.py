"""``xcast watch``: queries over streams, answered at every moment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from os.path import exists, isdir
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, Protocol

from xstreamcast.cli.lateness import durations
from xstreamcast.cli.options import Argument, Option, WrongCall
from xstreamcast.cli.progress import MetricsPort, Reports, Watched, wanted
from xstreamcast.cli.tables import AnswerColumns, AnswerTables, KeepRemoved, TableKey, Tables, asked_tables, tables_of
from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.serve import SCHEME

if TYPE_CHECKING:
    from xstreamcast.cli.watch_warnings import Warned
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.live_view import LiveView
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.serve.reception import Reception
    from xstreamcast.wire.fragment import FragmentWriter

FORMATS: Final = ("live", "changes", "json", "xml")
ENGINES: Final = ("embedded", "spark")
_TOGETHER: Final = 1000
"""So many changes are taken in together, where they are there."""


def watch_command(
    queries: Annotated[list[str] | None, Argument(metavar="QUERY...", help="One or more queries.")] = None,
    query_file: Annotated[
        list[Path],
        Option("-f", "--file", metavar="QUERYFILE", help="A query in a file, instead of QUERY."),
    ] = [],
    stream: Annotated[
        list[str],
        Option(metavar="NAME=SOURCE", help="A file, a folder that grows, -, or xcast://host:port/name."),
    ] = [],
    structure: Annotated[
        list[str], Option(metavar="[NAME=]FILE", help="The tag structure of a stream that does not bring it.")
    ] = [],
    var: Annotated[list[str], Option(metavar="NAME=VALUE", help="The value of an external variable.")] = [],
    emit: Annotated[
        str,
        Option(
            metavar="MODE",
            help="eager: an unfilled hole counts as empty; certain: hold back what a fill may change; optimistic: show "
            "what is not decided.",
        ),
    ] = "eager",
    clock: Annotated[
        str, Option(metavar="CLOCK", help="What now is: event (the largest valid time), wall, manual (--now).")
    ] = "event",
    now: Annotated[str | None, Option(metavar="TIME", help="The time of --clock manual.")] = None,
    assume: Annotated[
        str | None,
        Option(metavar="ROOTED", help="rooted: do not open fragments that are there for their holes only."),
    ] = None,
    fixed: Annotated[
        list[str],
        Option(
            metavar="TAG|PATH|*",
            help="Regions that keep their first content: later changes of them are ignored, and what is fixed from the "
            "root down is not kept once told. --fixed name --fixed /site/people, or --fixed '*'.",
        ),
    ] = [],
    lateness: Annotated[
        list[str], Option(metavar="[NAME=]DURATION", help="Put aside what is later than this, such as PT1M.")
    ] = [],
    memory: Annotated[
        str | None,
        Option(metavar="SIZE", help="Such as 2GB: beyond it, contents of fragments are kept on disk."),
    ] = None,
    format: Annotated[
        str | None,
        Option(metavar="FORMAT", help="live, changes (a stream), json (lines), xml (the last answer)."),
    ] = None,
    publish: Annotated[
        list[str],
        Option(metavar="NAME=FILE", help="The first (second …) query's changes, to a file or xcast://host:port."),
    ] = [],
    table: AnswerTables = [],
    columns: AnswerColumns = [],
    table_key: TableKey = [],
    keep_removed: KeepRemoved = False,
    trace: Annotated[bool, Option("--trace", help="A JSON line for each change that alters an answer.")] = False,
    until_idle: Annotated[
        float | None, Option(metavar="SECONDS", help="A folder that brings nothing for so long has ended.")
    ] = None,
    engine: Annotated[str, Option(metavar="ENGINE", help="embedded, or spark.")] = "embedded",
    master: Annotated[str, Option(metavar="MASTER", help="Where Spark runs.")] = "local[2]",
    checkpoint: Annotated[
        Path | None, Option(metavar="FOLDER", help="Where Spark keeps its state, to go on from it another time.")
    ] = None,
    batch: Annotated[int | None, Option(metavar="N", help="At most so many fragments in a micro-batch.")] = None,
    metrics: MetricsPort = None,
    report: Reports = [],
) -> None:
    """Keep the answers of queries over streams up to date, change by change, until the streams end or Ctrl-C.

    After every change the answer is that of the query run from scratch on what has come so far. Several queries share
    the streams: each is read once. --format changes writes the answer as a stream of changes in the same language
    that goes in, so that it can be watched in turn; with --publish NAME=FILE other queries of the same call find it as
    stream("NAME"). Where --format and --trace are both given, the trace goes to stderr.

    Examples:

      xcast watch 'stream("credit")//account[creditLimit > 1000]/customer' --stream credit=credit.xml

      xcast watch 'count(stream("s")//item)' 'sum(stream("s")//price)' --stream s=incoming/ --format live

      generator | xcast watch -f alerts.xq --stream feed=- --format changes > alerts.xml

      slowly report.xml | xcast watch 'count(stream("doc")//row)' --stream doc=-      # plain XML, while it arrives

      generator | xcast watch 'stream("log")//error' --stream log=- --fixed '*' --format changes

      xcast watch 'stream("s")//order[open]' --stream s=orders/ --table postgresql:///shop#open --columns '@id, total'

      xcast watch -f alerts.xq --stream credit=xcast://127.0.0.1:8203 --engine spark --metrics 9203
    """
    from xstreamcast.cli.query import pairs
    from xstreamcast.cli.terminal import Diagnostics, readers_may_leave
    from xstreamcast.cli.watch_warnings import Warned
    from xstreamcast.run.continuous.arrive.arrivals import arrivals, check_sources
    from xstreamcast.run.continuous.arrive.inflow import CLOCKS
    from xstreamcast.run.continuous.query import ASSUMPTIONS, EMISSIONS, continuous_many

    texts = _texts(queries or [], query_file)
    if format is not None and format not in FORMATS:
        raise WrongCall(f"--format is one of {', '.join(FORMATS)}")
    if clock not in CLOCKS:
        raise WrongCall(f"--clock is one of {', '.join(CLOCKS)}")
    if emit not in EMISSIONS:
        raise WrongCall(f"--emit is one of {', '.join(EMISSIONS)}")
    if now is not None and clock != "manual":
        raise WrongCall("--now is the time of --clock manual")
    if assume not in ASSUMPTIONS:
        raise WrongCall("--assume is rooted")
    if engine not in ENGINES:
        raise WrongCall(f"--engine is one of {', '.join(ENGINES)}")
    if engine == "embedded" and (checkpoint is not None or batch is not None or master != "local[2]"):
        raise WrongCall("--master, --checkpoint and --batch belong to --engine spark")
    if engine == "spark" and fixed:
        raise WrongCall("--fixed belongs to --engine embedded")
    if engine == "spark" and memory is not None:
        raise WrongCall("--memory belongs to --engine embedded: Spark has its own settings")
    if format == "changes" and len(texts) > 1:
        raise WrongCall("the changes of several queries are several streams: --format json, or --publish")
    sources, published = pairs(stream, "--stream"), pairs(publish, "--publish")
    if len(published) > len(texts):
        raise WrongCall("there is more to --publish than there are queries")
    asked = asked_tables(len(texts), table, columns, table_key, keep_removed)
    from xstreamcast.model.atomic import Untyped

    structures: dict[str, Any] = {}
    if structure:
        from xstreamcast.cli.files import read_structures

        structures = dict(read_structures(structure))
    diagnostics, figures_to = Diagnostics(quiet=True), wanted(metrics, report)
    if engine == "spark":
        from xstreamcast.cli.watch_spark import watch_on_spark

        with readers_may_leave():
            interrupted = watch_on_spark(
                texts, sources, published, diagnostics, format=format, trace=trace, until_idle=until_idle,
                master=master, checkpoint=checkpoint, batch=batch, structures=structures, emit=emit, clock=clock,
                now=now, assume=assume, figures_to=figures_to, tables=asked,
                variables={name: Untyped(value) for name, value in pairs(var, "--var").items()},
                lateness=durations(lateness) if lateness else None,
            )  # fmt: skip
        diagnostics.close()
        if interrupted:
            raise KeyboardInterrupt
        return
    inflow = continuous_many(
        texts,
        structures=structures,
        variables={name: Untyped(value) for name, value in pairs(var, "--var").items()},
        emit=emit,  # type: ignore[arg-type]  # checked above
        clock=clock,  # type: ignore[arg-type]  # checked above
        now=now,
        lateness=durations(lateness) if lateness else None,
        assume=assume,
        fixed=fixed or None,
        memory=memory,
        names=[*published, *["answer"] * len(texts)][: len(texts)],
        report=diagnostics,
    )
    _check_streams(inflow, sources, published)
    check_sources(sources)  # before anything is written
    tables = tables_of(inflow.queries, asked)
    warned, interrupted = Warned(inflow), False
    with readers_may_leave():
        sinks = sinks_of(inflow, format, trace, published, tables)
        if all(isinstance(sink, Last | Tables | Screen) for sink in sinks):
            inflow.forwards = False  # nobody reads the answer as a stream, with the holes of what it copies
        sinks += [] if figures_to is None else [Watched(inflow, *figures_to)]
        try:
            for number, name in enumerate(published):
                for other in inflow.queries:
                    if name in other.streams and name not in sources:
                        other.listen(name, inflow.queries[number])
            warned.live = any(isinstance(sink, Screen) for sink in sinks)
            servers = any("://" in file for file in published.values())
            pause = 0.25 if clock == "wall" or servers or warned.live or tables or figures_to else None
            if not lateness and all(isinstance(sink, Last | Tables) for sink in sinks) and _at_rest(sources):
                for name, source in sources.items():
                    inflow.load(source, name, telling=True)  # nobody wants to know what happens meanwhile
                for query in inflow.queries:
                    query.take()
                warned.look(inflow)
            else:
                receptions: dict[str, Reception] = {}
                for sink in sinks:
                    if isinstance(sink, Screen):
                        sink.view.receptions = receptions
                # What comes together is chance: where every change is told, they are taken in one by one.
                most = _TOGETHER if all(isinstance(sink, Last | Tables | Screen) for sink in sinks) else 1
                _follow(inflow, arrivals(sources, until_idle, pause, receptions, most), sinks, warned)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            for sink in sinks:
                if isinstance(sink, Screen):
                    sink.close()  # the terminal is left as it was
            raise
        for sink in sinks:
            sink.close()
    warned.close()
    diagnostics.close()
    if interrupted:
        for number, query in enumerate(inflow.queries):
            if query.waiting:
                print(f"xcast: note: query {number} {_waits(query)}", file=sys.stderr)
        raise KeyboardInterrupt


def _waits(query: ContinuousQuery) -> str:
    """A note on what a query in a mode other than eager waits for."""
    kept = "holds back what hangs on" if query.modes.emission == "certain" else "shows on trial what hangs on"
    return f"{kept} {query.waiting:,} open hole{'s' if query.waiting != 1 else ''}"


def _at_rest(sources: dict[str, str]) -> bool:
    """Whether all streams are files, so that nothing has to be waited for."""
    return all(Path(source).is_file() for source in sources.values())


def _texts(given: list[str], files: list[Path]) -> list[str]:
    """The queries, in their order: all as they are, or all from files."""
    from xstreamcast.lang.files import read_query

    for text in given:
        if exists(text) and "stream(" not in text:
            what = "a folder" if isdir(text) else "a file"
            hint = f"--stream NAME={text} names it as a stream, and a document is asked by xcast query"
            hint = f"-f {text}" if text.endswith((".xq", ".xquery", ".xqy")) else hint
            raise WrongCall(f"{text} is {what}, where a query is asked for: {hint}")
    if given and files:
        raise WrongCall("give all queries as they are, or all by -f: it would not be clear which is the first")
    if not given and not files:
        raise WrongCall("give a query, or a file with one: -f QUERYFILE")
    return given or [read_query(file) for file in files]


def _check_streams(inflow: Inflow, sources: dict[str, str], published: dict[str, str]) -> None:
    for file in published.values():
        if "://" in file and not file.startswith(SCHEME):
            raise WrongCall(f"--publish writes to a file or to xcast://host:port, not to {file}")
    for query in inflow.queries:
        program = query.query.executable.program
        if program.uses_context and query.names_its_streams and not query.streams:
            hint = 'what is watched are streams: a path into one begins with stream("name"), --stream name=SOURCE'
            raise error("XPDY0002", "the query reads no stream, and there is no document", Place("query"), hint)
        for name in query.streams:
            if name not in sources and name not in published:
                raise error("FODC0002", f'there is no stream "{name}"', hint=f"name it: --stream {name}=SOURCE")


# ------------------------------------------------------------------------------------------------------- following


class Sink(Protocol):
    """Who hears what the answers do."""

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """A query has told changes: after ``n`` changes of the streams, so many seconds after the last of them."""

    def pause(self, arrived: int) -> None:
        """All has been told of some changes, or of a while in which none came."""

    def close(self) -> None:
        """There will be nothing more."""


def _follow(inflow: Inflow, brought: Iterable[tuple[str, Any]], sinks: list[Sink], warned: Warned) -> None:
    from xstreamcast.model.change import Change
    from xstreamcast.wire.fragment import Arrival

    n = 0
    noted: set[int] = set()
    waiting: set[int] = set()

    def tell(began: float) -> None:
        for number, query in enumerate(inflow.queries):
            emitted = query.take(soon=True)
            if emitted:
                for sink in sinks:
                    sink.told(n, number, query, emitted, perf_counter() - began)
            if query.recomputed and number not in noted and not sys.stdout.isatty():
                noted.add(number)
                why = f"query {number} is computed anew at every change: {query.recomputed}"
                print(f"xcast: note: {why}", file=sys.stderr)
            if query.held and number not in waiting and not sys.stdout.isatty():
                waiting.add(number)
                what = f"not looked into, and not decided before the end of the streams: {'; '.join(query.held)}"
                print(f"xcast: note: query {number}, {query.modes.emission}: {what}", file=sys.stderr)

    for name, arrival in brought:
        began = perf_counter()
        some = arrival if isinstance(arrival, list) else [arrival] if isinstance(arrival, Arrival) else []
        changed = sum(isinstance(one.item, Change) for one in some)
        n += changed
        inflow.bring(name, arrival)
        warned.look(inflow)
        tell(began)
        for sink in sinks:
            sink.pause(changed)
    inflow.begin()
    tell(perf_counter())


def sinks_of(
    inflow: Inflow, format: str | None, trace: bool, published: dict[str, str], tables: Tables | None = None
) -> list[Sink]:
    """Who hears of the answers, as the options say."""
    sinks: list[Sink] = [] if tables is None else [tables]
    for number, (name, file) in enumerate(published.items()):
        if file.startswith(SCHEME):
            from xstreamcast.serve.publication import Publication

            sinks.append(Publication(number, name, file, inflow))
        else:
            sinks.append(Published(number, Path(file)))
    if trace:
        sinks.append(Trace(inflow, sys.stderr if format else sys.stdout))
    chosen = format
    if chosen is None and not trace and tables is None:
        chosen = "live" if sys.stdout.isatty() else "changes" if len(inflow.queries) == 1 else "json"
    match chosen:
        case "live":
            sinks.append(Screen(inflow))
        case "changes":
            sinks.append(Wire(0, sys.stdout.buffer))
        case "json":
            sinks.append(Lines())
        case "xml":
            sinks.append(Last(inflow))
    return sinks


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON has it: content is text."""
    content = row["content"]
    return row if content is None else {**row, "content": content.decode()}


class Wire:
    """The changes of one query as a stream on the wire."""

    def __init__(self, number: int, out: BinaryIO) -> None:
        from xstreamcast.wire.fragment import FragmentWriter

        self.number = number
        self.out = out
        self.writer: FragmentWriter = FragmentWriter(out)
        self.structure: Structure | None = None

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        if number == self.number:
            announced: Structure | None = query.structure
            if announced is not None and announced is not self.structure:
                self.structure = announced
                self.writer.write_structure(announced)
            for one in emitted:
                self.writer.write(one.change)

    def pause(self, arrived: int) -> None:
        self.out.flush()

    def close(self) -> None:
        from xstreamcast.model.change import Eos

        self.writer.write(Eos())
        self.writer.close()
        self.out.flush()


class Published(Wire):
    """… in a file that grows."""

    def __init__(self, number: int, path: Path) -> None:
        try:
            file = open(path, "wb")  # noqa: SIM115 - closed at the end
        except OSError as fault:
            raise error("XSC0006", f"cannot write {path}: {fault.strerror}", hint="does the folder exist?") from None
        super().__init__(number, file)

    def close(self) -> None:
        super().close()
        self.out.close()


class Lines:
    """Rows as JSON lines; ``query`` is the number of the query, from 0."""

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        for row in query.rows(emitted):
            print(json.dumps({"query": number, **_row(row)}, ensure_ascii=False))

    def pause(self, arrived: int) -> None:
        sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.flush()


class Trace:
    """A JSON line for each change that alters an answer: its number, the query's, the rows, and the answer."""

    def __init__(self, inflow: Inflow, out: Any) -> None:
        self.out = out
        self.before = [_answer(query.at_first()) for query in inflow.queries]
        self.rows: list[list[dict[str, Any]]] = [[] for _ in inflow.queries]

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        self.rows[number] += [_row(row) for row in query.rows(emitted)]
        answer = _answer(query.told())
        if answer != self.before[number]:
            line = {"n": n, "query": number, "changes": self.rows[number], **answer}
            print(json.dumps(line, ensure_ascii=False), file=self.out)
            self.before[number], self.rows[number] = answer, []

    def pause(self, arrived: int) -> None:
        self.out.flush()

    def close(self) -> None:
        self.out.flush()


def _answer(told: str | XStreamError) -> dict[str, Any]:
    if isinstance(told, str):
        return {"answer": told}
    return {"error": {"code": told.code, "message": told.message}}


class Last:
    """The answers at the end."""

    def __init__(self, inflow: Inflow) -> None:
        self.inflow = inflow

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """The end is what counts."""

    def pause(self, arrived: int) -> None:
        """… and has not come."""

    def close(self) -> None:
        for query in self.inflow.queries:
            told = query.told()
            if isinstance(told, XStreamError):
                raise told
            print(told)


class Screen:
    """The live view."""

    def __init__(self, inflow: Inflow) -> None:
        from xstreamcast.run.continuous.display.live_view import LiveView

        self.view: LiveView = LiveView(inflow)

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        self.view.changed(number, emitted, lag)

    def pause(self, arrived: int) -> None:
        if arrived:
            self.view.arrived(arrived)
        self.view.draw()

    def close(self) -> None:
        self.view.close()
