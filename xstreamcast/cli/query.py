"""``xcast query``: run a query once, over files, standard input or whole streams."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from xstreamcast.errors import error

if TYPE_CHECKING:
    from xstreamcast.run.query import Result

METHODS: Final = ("xml", "json", "text", "adaptive")


def _pairs(given: list[str], option: str) -> dict[str, str]:
    """``n=v`` options as a mapping."""
    made = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise typer.BadParameter(f"write {option} NAME=VALUE, not {pair!r}")
        made[name] = value
    return made


def _standard_input() -> BinaryIO:
    return sys.stdin.buffer


def _piped() -> bool:
    """Whether something is fed into standard input, be it a file or a pipe."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _source(name: str) -> Any:
    """A document named on the command line: ``-`` is standard input."""
    if name == "-":
        return _standard_input()
    path = Path(name)
    if not path.exists() or path.is_dir():
        raise error("XSC0006", f"no file {name}", hint="a query comes first, then the file it looks at")
    return path


def query_command(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="The query (with -f: the FILE).")] = None,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="The document it looks at (gz too); - is stdin.")
    ] = None,
    query_file: Annotated[
        Path | None, typer.Option("-f", "--file", metavar="QUERYFILE", help="Read the query from a file.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="FILE", help="The same as FILE.")] = None,
    doc: Annotated[list[str], typer.Option(metavar="NAME=FILE", help='What doc("NAME") finds.')] = [],  # noqa: B006  # typer copies it
    stream: Annotated[list[str], typer.Option(metavar="NAME=FILE", help='What stream("NAME") finds.')] = [],  # noqa: B006
    structure: Annotated[
        list[str], typer.Option(metavar="[NAME=]FILE", help="The tag structure of a stream that does not bring it.")
    ] = [],  # noqa: B006
    var: Annotated[list[str], typer.Option(metavar="NAME=VALUE", help="The value of an external variable.")] = [],  # noqa: B006
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The current time; with streams, by default their last.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help=f"How to write the result: {', '.join(METHODS)}.", metavar="METHOD")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One item per line.")] = False,
    indent: Annotated[bool, typer.Option("--indent", help="Indent XML.")] = False,
) -> None:
    """Run an XQuery 3.1 or XCQL query once and print its result.

    The context item is the document FILE, or standard input if something is piped into it. Values of --var are
    untyped text, as attributes are: $n + 1 and $n = "a" both work.

    Examples:

      xcast query 'count(//item)' auction.xml

      xcast query 'for $b in //book where $b/price < 30 return $b/title' --lines catalog.xml.gz

      curl -s https://example.org/feed.xml | xcast query '//title/string()' --lines

      xcast query -f report.xq --doc auction.xml=site.xml --var year=2024 --indent

      xcast query 'stream("credit")//account/creditLimit?\\[now]' --stream credit=credit.xml --now 2003-11-15
    """
    from xstreamcast.cli.terminal import Diagnostics
    from xstreamcast.run.query import compile

    if query_file is not None:
        query, file = None, file if file is not None else query
        from xstreamcast.lang.files import read_query

        text = read_query(query_file)
    elif query is None:
        raise typer.BadParameter("give a query, or a file with one: -f QUERYFILE")
    else:
        text = query
    if method is not None and method not in METHODS:
        raise typer.BadParameter(f"--method is one of {', '.join(METHODS)}")
    base = None if query_file is None else query_file.absolute().as_uri()
    given, streams = _pairs(var, "--var"), _pairs(stream, "--stream")
    structures = {}
    if structure:
        from xstreamcast.cli.files import read_structures

        structures = read_structures(structure)
    known = structures
    if streams and not structures:
        from xstreamcast.plan.translate import brought_structures

        known = brought_structures({key: value for key, value in streams.items() if value != "-"}, {})
    compiled = compile(
        text, base_uri=base, variables=given, structures=known, source=str(query_file or "query")
    )
    for warning in compiled.warnings:
        print(f"xcast: warning: {warning}", file=sys.stderr)
    name = context or file
    if name is None and compiled.executable.program.uses_context and _piped():
        name = "-"
    from xstreamcast.model.atomic import Untyped

    sources = {key: _source(value) for key, value in streams.items()}
    report = Diagnostics()
    result = compiled(
        context=None if name is None else _source(name),
        docs={key: _source(value) for key, value in _pairs(doc, "--doc").items()},
        variables={key: Untyped(value) for key, value in given.items()},
        streams=sources or None,
        structures=structures,
        report=report,
        now=now,
    )
    _print(result, method, lines, indent)
    report.close()


def _print(result: Result, method: str | None, lines: bool, indent: bool) -> None:
    from xstreamcast.model.serialise import serialise

    chosen: dict[str, Any] = {"method": method} if method else {}
    if indent:
        chosen["indent"] = True
    write = sys.stdout.write
    if lines:
        for item in result:  # as they are computed
            write(serialise([item], result.parameters(), **chosen) + "\n")
    else:
        write(result.serialise(**chosen) + "\n")
    sys.stdout.flush()
