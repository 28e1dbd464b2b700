"""``xcast console``: streams and queries in the browser."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from xstreamcast.cli.options import Argument, Option, WrongCall
from xstreamcast.cli.serving import (
    MEMORY,
    QUERIES,
    ConsoleMemory,
    ConsoleQueries,
    bounds_of,
    run_station,
    sources_of,
    structures_of,
)

if TYPE_CHECKING:
    from xstreamcast.serve.station import Station


def console_command(
    queries: Annotated[list[str] | None, Argument(metavar="QUERY", help="Queries to begin with.")] = None,
    query_file: Annotated[
        list[Path], Option("-f", "--file", metavar="QUERYFILE", help="A query to begin with, in a file.")
    ] = [],
    stream: Annotated[
        list[str],
        Option(
            metavar="NAME=SOURCE", help="A file, a folder that grows, -, generate:NAME?rate=50, or xcast://host:port."
        ),
    ] = [],
    structure: Annotated[
        list[str], Option(metavar="[NAME=]FILE", help="The tag structure of a stream that does not bring it.")
    ] = [],
    log: Annotated[
        Path | None, Option(metavar="FOLDER", help="Where the logs are kept; by default nothing is kept.")
    ] = None,
    host: Annotated[str, Option(help="The address to listen on; by default nobody outside is served.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65_535, help="0: any that is free.")] = 8280,
    token: Annotated[
        str, Option(envvar="XCAST_TOKEN", help="Who has it may start and stop queries; by default one is made.")
    ] = "",
    read_only: Annotated[bool, Option("--read-only", help="Nobody may start or stop queries.")] = False,
    open: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
    console_queries: ConsoleQueries = QUERIES,
    console_memory: ConsoleMemory = MEMORY,
) -> None:
    """Look at streams in the browser, ask them, and see the answers change; Ctrl-C stops.

    One page: streams with their rates and structures; a query with colours, errors and completion; its plan with live
    counts; answers that appear, change and vanish; a time line, to see any moment of the past and what changed between
    two. The address that is printed has the token in it. To look at a server that runs, name its streams, or start it
    with serve --console.

    Examples:

      xcast console --stream 'credit=generate:credit?rate=20&factor=0.02' --open

      xcast console 'count(stream("feed")//item)' --stream feed=incoming/

      xcast console -f alerts.xq --stream credit=xcast://bank.example:8203
    """
    from xstreamcast.lang.files import read_query

    if read_only and token:
        raise WrongCall("with --read-only there is no --token")
    sources = sources_of(stream)
    structures = structures_of(structure, sources)
    bounds = bounds_of(console_queries, console_memory)
    texts = (*(queries or []), *(read_query(file) for file in query_file))
    if len(texts) > bounds.queries:
        raise WrongCall(f"{len(texts)} queries are more than --console-queries {bounds.queries}")
    if not token and not read_only:
        from secrets import token_urlsafe

        token = token_urlsafe(18)
    with ExitStack() as stack:
        if log is None:
            from tempfile import TemporaryDirectory

            log = Path(stack.enter_context(TemporaryDirectory(prefix="xcast-console-")))
        folder = log

        def made() -> Station:
            from xstreamcast.console.desk import Desk
            from xstreamcast.serve.station import Station

            station = Station(folder, token=token)
            station.desk = Desk(station, bounds)
            return station

        def ready(station: Station) -> None:
            # What comes after # is not sent: a proxy's log does not have the token.
            address = f"http://{host}:{station.port}/console" + (f"#token={token}" if token else "")
            print(address, flush=True)
            if open:
                import webbrowser

                if not webbrowser.open(address):
                    print("xcast: there is no browser to open it in", file=sys.stderr)

        run_station(made, host, port, sources, structures, ready, texts)
