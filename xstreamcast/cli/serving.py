"""What ``xcast serve`` and ``xcast console`` share: a station with its streams, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Final

from xstreamcast.cli.options import Option, WrongCall
from xstreamcast.errors import error

if TYPE_CHECKING:
    from xstreamcast.console.desk import Bounds
    from xstreamcast.model.structure import Structure
    from xstreamcast.serve.station import Station

ConsoleQueries = Annotated[int, Option(min=1, max=100, help="How many queries the console may have.")]
ConsoleMemory = Annotated[str, Option(metavar="SIZE", help="What each query of the console may have of memory.")]
QUERIES: Final = 8
MEMORY: Final = "512MB"


def sources_of(stream: list[str]) -> dict[str, str]:
    """The streams of a command line, each with a source that is there."""
    from xstreamcast.cli.query import pairs
    from xstreamcast.serve.sources import check
    from xstreamcast.serve.station import check_name

    sources = pairs(stream, "--stream")
    for name, source in sources.items():
        check_name(name)
        check(source, name)
    if list(sources.values()).count("-") > 1:
        raise WrongCall("standard input is one stream")
    return sources


def structures_of(structure: list[str], sources: Mapping[str, str]) -> dict[str, Structure]:
    """The structures of a command line, of streams that are there."""
    if not structure:
        return {}
    from xstreamcast.cli.files import read_structures

    structures = dict(read_structures(structure))
    unknown = set(structures) - set(sources) - {""}
    if unknown:
        raise WrongCall(f"--structure {min(unknown)}=…: there is no --stream of that name")
    return structures


def bounds_of(queries: int, memory: str) -> Bounds:
    """What the console may take."""
    from xstreamcast.console.desk import Bounds
    from xstreamcast.run.continuous.sizes import bytes_of

    size = bytes_of(memory)
    if size < 64 << 20:
        raise WrongCall("--console-memory is 64MB at least: Python needs as much")
    return Bounds(queries=queries, memory=size)


def run_station(
    make: Callable[[], Station],
    host: str,
    port: int,
    sources: Mapping[str, str],
    structures: Mapping[str, Structure],
    ready: Callable[[Station], None],
    queries: tuple[str, ...] = (),
) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called when everything is there."""
    import logging
    from importlib.util import find_spec

    if find_spec("aiohttp") is None:
        raise error("XSC0109", "a server needs aiohttp", hint="pip install 'xstreamcast[serve]'")

    from xstreamcast.cli.interrupts import run

    logging.basicConfig(stream=sys.stderr, format="xcast: %(message)s", level=logging.WARNING)

    async def serve() -> None:
        station = make()
        _open_files(station.limits.connections + 2 * station.limits.streams)
        await station.start(host, port)
        try:
            for name, source in sources.items():
                station.register(name, structures.get(name) or structures.get(""))
                station.serve(name, source)
            if station.desk is not None:
                await station.desk.start(queries)
        except BaseException:
            await station.stop()
            raise
        await station.run(lambda: ready(station))

    run(serve)


def _open_files(count: int) -> None:
    """Every connection is an open file: have as many as may be needed, if the system lets us."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
