"""``xcast serve``: a broadcast server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Option, WrongCall
from xstreamcast.errors import error


def serve_command(
    stream: Annotated[
        list[str],
        Option(metavar="NAME=SOURCE", help="A file, a folder that grows, -, or generate:NAME?rate=50."),
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
) -> None:
    """Broadcast streams: everybody may tune in, at any time, and nobody is waited for.

    Every stream has a log; a restart goes on where it stopped, and takes up all streams that have a log. A carousel
    repeats what is current, for who comes late or has missed something. Ctrl-C stops.

    Examples:

      xcast serve --stream credit=generate:credit?rate=50

      xcast serve --stream feed=incoming/ --stream prices=prices.xml --cycle 5

      generator | xcast serve --stream feed=- --keep-log 7d

      XCAST_TOKEN=secret xcast serve --log /var/lib/xcast --host 0.0.0.0
    """
    from xstreamcast.cli.query import pairs
    from xstreamcast.serve.channel import SYNCS
    from xstreamcast.serve.compaction import Keep
    from xstreamcast.serve.sources import check
    from xstreamcast.serve.station import check_name

    sources = pairs(stream, "--stream")
    for name, source in sources.items():
        check_name(name)
        check(source, name)
    if list(sources.values()).count("-") > 1:
        raise WrongCall("standard input is one stream")
    if sync not in SYNCS:
        raise WrongCall(f"--sync is one of {', '.join(SYNCS)}")
    if not (0.01 <= cycle <= 86_400 and bandwidth > 0 and queue > 0 and post > 0 and listeners > 0):
        raise WrongCall("--cycle, --bandwidth, --queue, --post and --listeners are above 0")
    try:
        keep = None if keep_log is None else Keep.parse(keep_log)
    except ValueError as fault:
        raise WrongCall(f"--keep-log is {fault}") from None
    structures = {}
    if structure:
        from xstreamcast.cli.files import read_structures

        structures = read_structures(structure)
        unknown = set(structures) - set(sources) - {""}
        if unknown:
            raise WrongCall(f"--structure {min(unknown)}=…: there is no --stream of that name")
    try:
        import aiohttp  # noqa: F401 - whether it is there
    except ImportError:
        raise error("XSC0109", "a server needs aiohttp", hint="pip install 'xstreamcast[serve]'") from None

    import logging

    from xstreamcast.cli.interrupts import run
    from xstreamcast.serve.limits import Limits
    from xstreamcast.serve.station import Station

    logging.basicConfig(stream=sys.stderr, format="xcast: %(message)s", level=logging.WARNING)
    limits = Limits(queue=queue << 10, listeners=listeners, connections=listeners + 1000, post=post << 10)
    _open_files(limits.connections + 2 * limits.streams)

    async def serve() -> None:
        station = Station(
            log, token=token, limits=limits, cycle=cycle, bandwidth=bandwidth * (1 << 20), keep=keep,
            sync=sync,  # type: ignore[arg-type]  # checked above
        )  # fmt: skip
        await station.start(host, port)
        try:
            for name, source in sources.items():
                station.register(name, structures.get(name) or structures.get(""))
                station.serve(name, source)
        except BaseException:
            await station.stop()
            raise

        def ready() -> None:
            for name in station.channels:
                print(f"xcast://{host}:{station.port}/{name}", flush=True)
            print(f"xcast: serving on http://{host}:{station.port}/streams, logs in {log}", file=sys.stderr, flush=True)

        await station.run(ready)

    run(serve)


def _open_files(count: int) -> None:
    """Every connection is an open file: have as many as may be needed, if the system lets us."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
