"""``xcast serve``: a broadcast server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from xstreamcast.cli.options import Option, WrongCall
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


def serve_command(
    stream: Annotated[
        list[str],
        Option(
            metavar="NAME=SOURCE", help="A file, a folder that grows, -, generate:NAME?rate=50, or xcast://host:port."
        ),
    ] = [],
    structure: Annotated[
        list[str], Option(metavar="[NAME=]FILE", help="The tag structure of a stream that does not bring it.")
    ] = [],
    log: Annotated[Path, Option(metavar="FOLDER", help="Where the logs of the streams are.")] = Path("xcast-log"),
    host: Annotated[str, Option(help="The address to listen on; by default nobody outside is served.")] = ("127.0.0.1"),
    port: Annotated[int, Option(min=0, max=65_535, help="0: any that is free.")] = 8203,
    token: Annotated[str, Option(envvar="XCAST_TOKEN", help="Who has it may publish; without one nobody may.")] = "",
    cycle: Annotated[float, Option(metavar="SECONDS", help="How long a cycle of the carousel takes.")] = 10.0,
    bandwidth: Annotated[
        float, Option(metavar="MB/S", help="What a carousel may take; its cycle is longer if need be.")
    ] = 4.0,
    queue: Annotated[int, Option(metavar="KB", help="What may wait for a client before it misses some.")] = 1024,
    listeners: Annotated[int, Option(help="How many may be tuned in at a time.")] = 5000,
    post: Annotated[int, Option(metavar="KB", help="The largest publication.")] = 16_384,
    sync: Annotated[
        str,
        Option(metavar="WHEN", help="Force the log to disk: always (before anything is told), second, never."),
    ] = "second",
    keep_log: Annotated[
        str | None,
        Option(
            metavar="SIZE|TIME",
            help="Keep so much of each log whole (512MB, 36h, 7d), and of what is older what still counts; else all.",
        ),
    ] = None,
    console: Annotated[bool, Option("--console", help="Serve a console for the browser too, at /console.")] = False,
    console_queries: ConsoleQueries = QUERIES,
    console_memory: ConsoleMemory = MEMORY,
) -> None:
    """Broadcast streams: everybody may tune in, at any time, and nobody is waited for.

    Every stream has a log; a restart goes on where it stopped, and takes up all streams that have a log. A carousel
    repeats what is current, for who comes late or has missed something. Ctrl-C stops.

    Examples:

      xcast serve --stream credit=generate:credit?rate=50

      xcast serve --stream feed=incoming/ --stream prices=prices.xml --cycle 5

      generator | xcast serve --stream feed=- --keep-log 7d

      XCAST_TOKEN=secret xcast serve --log /var/lib/xcast --host 0.0.0.0

      XCAST_TOKEN=secret xcast serve --stream credit=generate:credit?rate=50 --console
    """
    from xstreamcast.serve.channel import SYNCS
    from xstreamcast.serve.compaction import Keep
    from xstreamcast.serve.limits import Limits

    sources = sources_of(stream)
    if sync not in SYNCS:
        raise WrongCall(f"--sync is one of {', '.join(SYNCS)}")
    if not (0.01 <= cycle <= 86_400 and bandwidth > 0 and queue > 0 and post > 0 and listeners > 0):
        raise WrongCall("--cycle, --bandwidth, --queue, --post and --listeners are above 0")
    try:
        keep = None if keep_log is None else Keep.parse(keep_log)
    except ValueError as fault:
        raise WrongCall(f"--keep-log is {fault}") from None
    structures = structures_of(structure, sources)
    bounds = bounds_of(console_queries, console_memory)
    limits = Limits(queue=queue << 10, listeners=listeners, connections=listeners + 1000, post=post << 10)

    def made() -> Station:
        from xstreamcast.serve.station import Station

        station = Station(
            log, token=token, limits=limits, cycle=cycle, bandwidth=bandwidth * (1 << 20), keep=keep,
            sync=sync,  # type: ignore[arg-type]  # checked above
        )  # fmt: skip
        if console:
            from xstreamcast.console.desk import Desk

            station.desk = Desk(station, bounds)
        return station

    def ready(station: Station) -> None:
        for name in station.channels:
            print(f"xcast://{host}:{station.port}/{name}", flush=True)
        print(f"xcast: serving on http://{host}:{station.port}/streams, logs in {log}", file=sys.stderr, flush=True)
        if console:
            may = "" if token else ", to look at: without --token nobody may start queries"
            print(f"xcast: console on http://{host}:{station.port}/console{may}", file=sys.stderr, flush=True)

    run_station(made, host, port, sources, structures, ready)
