"""``xcast query``: run a query once, over files, standard input or whole streams."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from xstreamcast.cli.options import Argument, Option, WrongCall
from xstreamcast.cli.query_table import FORMATS, answers_to, table_file
from xstreamcast.errors import Place, XStreamError, error

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Report
    from xstreamcast.cli.terminal import ScanProgress
    from xstreamcast.model.serialise import Output, Parameters
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.query import Query
    from xstreamcast.run.result import Result
    from xstreamcast.run.streams import Streams

METHODS: Final = ("xml", "html", "xhtml", "json", "text", "adaptive")
ENGINES: Final = ("embedded", "spark")
_BEGINNING: Final = 8
"""So many pieces of the output tell whether it is more than nothing."""


def pairs(given: list[str], option: str) -> dict[str, str]:
    """``n=v`` options as a mapping."""
    made = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise WrongCall(f"write {option} NAME=VALUE, not {pair!r}")
        made[name] = value
    return made


def _piped() -> bool:
    """Whether something is fed into standard input, be it a file or a pipe."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _source(name: str, allow_http: bool = False) -> Any:
    """A document named on the command line: ``-`` is standard input."""
    from xstreamcast.scan.archives import is_member

    if allow_http:
        from xstreamcast.scan.web import fetched, is_url

        if is_url(name):
            return fetched(name)
    if name == "-":
        from xstreamcast.scan.encoding import standard_input

        return standard_input()
    path = Path(name)
    if path.is_dir():
        raise error("XSC0006", "it is a folder", Place(name), "name a file in it")
    if not path.exists() and not is_member(path):
        from xstreamcast.scan.parse import no_document

        raise no_document(name, "a query comes first, then the file it looks at")
    return path


def _stream(name: str) -> Any:
    """A stream named on the command line: also a folder of its files, as it is now."""
    return Path(name) if Path(name).is_dir() else _source(name)


def _expanded(names: list[str]) -> list[str]:
    """The documents of files, folders, archives and patterns."""
    from xstreamcast.run.stored import several

    made: list[str] = []
    for name in names:
        found = None if name == "-" or "://" in name else several(name)
        made += [name] if found is None else map(str, found)
    return made


def query_command(
    query: Annotated[str | None, Argument(metavar="QUERY", help="The query (with -f: the FILE).")] = None,
    files: Annotated[
        list[str] | None,
        Argument(metavar="FILE", help="Documents (gz too), folders, archives (a.zip, a.zip!b*); - is stdin."),
    ] = None,
    query_file: Annotated[
        Path | None, Option("-f", "--file", metavar="QUERYFILE", help="Read the query from a file.")
    ] = None,
    context: Annotated[str | None, Option(metavar="FILE", help="The same as FILE.")] = None,
    doc: Annotated[list[str], Option(metavar="NAME=FILE", help='What doc("NAME") finds.')] = [],
    stream: Annotated[
        list[str], Option(metavar="NAME=FILE", help='What stream("NAME") finds: a file, or a folder of them.')
    ] = [],
    structure: Annotated[
        list[str], Option(metavar="[NAME=]FILE", help="The tag structure of a stream that does not bring it.")
    ] = [],
    var: Annotated[list[str], Option(metavar="NAME=VALUE", help="The value of an external variable.")] = [],
    now: Annotated[
        str | None, Option(metavar="TIME", help="The current time; with streams, by default their last.")
    ] = None,
    format: Annotated[
        str | None, Option(metavar="FORMAT", help=f"Write a table, a row an item: {', '.join(FORMATS)}.")
    ] = None,
    columns: Annotated[
        str | None,
        Option(metavar="COLUMNS", help="Its columns, of each item: '@id, price as xs:decimal, n=count(b)'."),
    ] = None,
    nested: Annotated[
        str, Option(metavar="FORM", help="Elements with attributes or children in it: struct, columns, xml, text.")
    ] = "struct",
    out: Annotated[
        Path | None,
        Option("-o", "--out", metavar="FILE", help="Write to a file; it is there when it is whole."),
    ] = None,
    method: Annotated[
        str | None, Option(help=f"How to write the result: {', '.join(METHODS)}.", metavar="METHOD")
    ] = None,
    lines: Annotated[bool, Option("--lines", help="One item per line.")] = False,
    indent: Annotated[bool, Option("--indent", help="Indent XML.")] = False,
    threads: Annotated[
        int, Option(metavar="N", min=1, help="Scan large files, and unpack bz2 and gz, by so many threads.")
    ] = 1,
    spool: Annotated[
        bool, Option("--spool", help="Keep a copy of a pipe while it runs, if the query must read it twice.")
    ] = False,
    many: Annotated[
        bool, Option("--many", help="There are several documents in a file; told if the first is over 2 MB.")
    ] = False,
    dtd: Annotated[Path | None, Option(metavar="FILE", help="The DTD of the documents: entities, defaults.")] = None,
    catalog: Annotated[
        Path | None, Option(metavar="FILE", help="An XML catalog, which names the files of DTDs.")
    ] = None,
    allow_http: Annotated[
        bool, Option("--allow-http", help="FILEs may be URLs: each is fetched once, while it is read.")
    ] = False,
    memory: Annotated[
        str | None,
        Option(metavar="SIZE", help="Such as 512MB: beyond it, order by and group by of a large file use the disk."),
    ] = None,
    engine: Annotated[str, Option(metavar="ENGINE", help="embedded, or spark.")] = "embedded",
    master: Annotated[
        str, Option(metavar="MASTER", help="Where Spark runs: local[2], spark://host:port …")
    ] = "local[2]",
) -> None:
    """Run an XQuery 3.1 or XCQL query and print its result.

    The context item is the document FILE, or standard input if something is piped into it. Of several FILEs, a folder,
    an archive (zip, tar, docx …) or a pattern in quotes the query is asked one after the other; collection() has all of
    them.
    Values of --var are untyped text, as attributes are:
    $n + 1 and $n = "a" both work. Large documents are scanned, not loaded: results are printed as soon as they are
    known, and memory holds what the query needs (see xcast explain).

    Examples:

      xcast query 'count(//item)' auction.xml

      xcast query 'for $b in //book where $b/price < 30 return $b/title' --lines catalog.xml.gz

      xcast query '//title/string()' --lines --allow-http https://example.org/feed.xml

      zcat dump.xml.gz | xcast query 'count(//page[redirect])'

      xcast query '//error/string()' --lines logs/*.xml

      xcast query 'sum(collection()//amount)' messages/*.xml

      xcast query '//*:t/string()' --lines 'letter.docx!word/document.xml'

      xcast query 'count(//article)' dblp.xml.gz --dtd dblp.dtd

      xcast query -f report.xq --doc auction.xml=site.xml --var year=2024 --indent

      xcast query 'stream("credit")//account/creditLimit?[now]' --stream credit=credit.xml --now 2003-11-15

      xcast query //book catalog.xml --columns '@id, price as xs:decimal, by=author as xs:string*' -o books.parquet

      xcast query 'for $b in //book return map { "id": $b/@id, "year": xs:integer($b/@year) }' catalog.xml --format csv

      xcast query 'count(//item)' auction.xml --engine spark --master spark://127.0.0.1:7077
    """
    from xstreamcast.cli.terminal import Diagnostics, scan_progress
    from xstreamcast.model.serialise import grows
    from xstreamcast.run.doubts import namespace_doubts, spelling_doubts
    from xstreamcast.run.inputs import Scanning, bytes_or_none, ignored
    from xstreamcast.run.query import compile

    if query_file is not None:
        query, files = None, [*([] if query is None else [query]), *(files or [])]
        from xstreamcast.lang.files import read_query

        text = read_query(query_file)
    elif query is None:
        raise WrongCall("give a query, or a file with one: -f QUERYFILE")
    else:
        text = query
    if method is not None and method not in METHODS:
        raise WrongCall(f"--method is one of {', '.join(METHODS)}")
    table = table_file(format, columns, nested, out)
    if table is not None and (method or lines or indent):
        raise WrongCall("--method, --lines and --indent are of answers that are no table")
    if engine not in ENGINES:
        raise WrongCall(f"--engine is one of {', '.join(ENGINES)}")
    if engine == "embedded" and master != "local[2]":
        raise WrongCall("--master belongs to --engine spark")
    if engine == "spark" and (structure or threads > 1 or spool or many or dtd or catalog or allow_http or memory):
        options = "--structure, --threads, --spool, --many, --dtd, --catalog, --allow-http and --memory"
        raise WrongCall(f"{options} belong to --engine embedded")
    base = None if query_file is None else query_file.absolute().as_uri()
    given, streams = pairs(var, "--var"), pairs(stream, "--stream")
    structures = {}
    if structure:
        from xstreamcast.cli.files import read_structures

        structures = read_structures(structure)
    early = None if streams else structures
    compiled = compile(
        text, base_uri=base, variables=given, structures=early, columns=columns, source=str(query_file or "query")
    )  # fmt: skip
    _warn(compiled.warnings)
    names = [context] if context else list(files or [])
    if not names and compiled.executable.program.uses_context and _piped():
        names = ["-"]
    if names.count("-") > 1:
        raise WrongCall("standard input can be read once")
    from xstreamcast.model.atomic import Untyped

    if engine == "spark":
        if "-" in names:
            raise WrongCall("--engine spark reads files: tasks cannot read the standard input of another")
        from xstreamcast.cli.query_spark import query_on_spark

        with answers_to(None if table else out):
            query_on_spark(
                text, lambda: _output(_parameters(compiled, method, indent), lines, None, []), master=master,
                lines=lines, table=table, context=names or None, docs=pairs(doc, "--doc"), streams=streams, now=now,
                base_uri=base, variables={key: Untyped(value) for key, value in given.items()},
                columns=columns, source=str(query_file or "query"),
            )  # fmt: skip
        return
    from xstreamcast.scan.external import named

    external = named(dtd, catalog)
    names = _expanded(names)
    report = Diagnostics()
    known = _streams(compiled, {key: _stream(value) for key, value in streams.items()}, structures, now, report)
    docs = {key: _source(value, allow_http) for key, value in pairs(doc, "--doc").items()}
    progress = scan_progress(*_scanned_file(names or list(pairs(doc, "--doc").values())))
    sources = [_source(name, allow_http) for name in names]
    if sources and isinstance(sources[0], Path):
        _warn(namespace_doubts(compiled, sources[0]))
    each = sources if compiled.executable.program.uses_context and sources else [None]
    outputs: list[Output] = []
    written: list[str] = []
    parameters = _parameters(compiled, method, indent)
    stdout = sys.stdout  # a progress bar puts another in its place
    asked: Any = None

    def pause() -> None:
        for output in outputs:
            output.flush()
        stdout.flush()

    def results() -> Iterator[Result]:
        nonlocal asked
        for source in each:
            asked = source
            yield compiled.ask(
                context=source,
                docs=docs,
                collections={"": sources} if sources else None,
                variables={key: Untyped(value) for key, value in given.items()},
                streams=known,
                now=now if known is None else known.now,
                scanning=Scanning(
                    threads,
                    spool=spool,
                    many=many,
                    external=external,
                    progress=progress or ignored,
                    pause=pause,
                    grow=not lines and grows(parameters),
                    memory=bytes_or_none(memory),
                ),
            )

    try:
        if table is not None:
            written += ["rows"] * (table.write(compiled, results()) > 0)
        else:
            with answers_to(out):
                for result in results():
                    output = _output(parameters, lines, progress, written)
                    outputs[:] = [output]
                    output.extend(result.consume())
                    if not lines:
                        output.write("\n")
    except XStreamError as failure:
        if len(each) > 1 and (failure.place is None or failure.place.source == str(query_file or "query")):
            failure.hint = f"{failure.hint}; " * bool(failure.hint) + f"it was asked of {asked}"
        raise
    except KeyboardInterrupt:
        stdout.flush()  # what is known is shown
        raise
    finally:
        if progress is not None:
            progress.close()
    report.close()
    if len(sources) == 1 and isinstance(sources[0], Path) and "".join(written).strip() in ("", "0", "false"):
        _warn(spelling_doubts(compiled, sources[0]))


def _warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        print(f"xcast: warning: {warning}", file=sys.stderr)


def _scanned_file(names: list[str]) -> tuple[str, int | None]:
    """How a progress bar calls what is scanned, and its size as stored, if that can be known."""
    if len(names) != 1 or names[0] == "-":
        return ("standard input" if names == ["-"] else "scanning"), None
    from xstreamcast.scan.archives import is_document, size_of

    path = Path(names[0])
    return path.name, size_of(path) if is_document(path) else None


def _streams(
    compiled: Query, sources: dict[str, Any], structures: dict[str, Structure], now: str | None, report: Report
) -> Streams | None:
    """The streams, read once. With the tag structures that they bring it is known which paths can match nothing."""
    if not sources:
        return None
    from xstreamcast.run.library import moment_of
    from xstreamcast.run.streams import Streams
    from xstreamcast.run.unmatched import unmatched

    made = Streams(sources, structures, None if now is None else moment_of(now), report)
    _warn(unmatched(compiled, made.structures))
    return made


def _parameters(compiled: Query, method: str | None, indent: bool) -> Parameters:
    """How the result is written: as the query declares, and as the options say."""
    from dataclasses import replace

    chosen: dict[str, Any] = {"method": method} if method else {}
    if indent:
        chosen["indent"] = True
    return replace(compiled.parameters(), **chosen)


def _output(parameters: Parameters, lines: bool, progress: ScanProgress | None, begun: list[str]) -> Output:
    """Where the items are written as they are computed; they are not kept, but for what is written first."""
    from xstreamcast.model.serialise import Output

    put = sys.stdout.write

    def write(text: str) -> None:
        if progress is not None:
            progress.hide()
        if len(begun) < _BEGINNING and text.strip():
            begun.append(text)
        put(text)

    return Output(parameters, write, lines=lines)
