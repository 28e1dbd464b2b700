"""``xcast translate``: an XCQL query as a standard XQuery program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument, Option, WrongCall


def translate_command(
    query: Annotated[str | None, Argument(metavar="QUERY", help="The query's text.", show_default=False)] = None,
    file: Annotated[Path | None, Option("-f", "--file", help="Read the query from a file.")] = None,
    strategy: Annotated[str, Option(metavar="CaQ|QaC|QaC+", help="How to get from fragments to the answer.")] = "QaC",
    stream: Annotated[
        list[str] | None, Option(metavar="NAME=FRAGMENTS", help="The fragments file of a stream.")
    ] = None,
    structure: Annotated[
        list[str] | None, Option(metavar="[NAME=]FILE", help="A stream's tag structure, if its file brings none.")
    ] = None,
    now: Annotated[str | None, Option(metavar="TIME", help="Fixes the current time.")] = None,
    assume: Annotated[
        str | None, Option(metavar="rooted", help="QaC+: every filler hangs on a hole, no need to look.")
    ] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write to a file.")] = None,
) -> None:
    """Print a query as standard XQuery 3.1 that any engine runs on the fragments files.

    CaQ constructs the temporal view and queries it. QaC queries the fragments and constructs what is returned. QaC+
    takes fragments by their tsid instead of following the path from the root. All three give the same answer.

    A stream without --stream becomes an external variable, $xcql:NAME-file. Without --now the current time is the
    largest validTime of all streams; $xcql:now is external too.

    Examples:

      xcast translate -f fraud.xq --strategy QaC --stream credit=credit.xml > fraud-fragments.xq

      xcast translate 'count(stream("auction")//item)' --strategy QaC+ --structure auction=auction.tags
    """
    import sys

    from xstreamcast.cli.files import read_structure
    from xstreamcast.cli.terminal import output
    from xstreamcast.functions.registry import known_function
    from xstreamcast.lang.files import read_query
    from xstreamcast.lang.link import parse
    from xstreamcast.lang.warning_texts import warning_texts
    from xstreamcast.plan.translate.program import STRATEGIES, brought_structures, translate_module

    if (query is None) == (file is None):
        raise WrongCall("give either a query or a file with one: -f FILE")
    chosen = next((known for known in STRATEGIES if known.lower() == strategy.lower()), None)
    if chosen is None:
        raise WrongCall(f"--strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}")
    if assume not in (None, "rooted"):
        raise WrongCall(f"--assume {assume}: only rooted can be assumed")
    files: dict[str, str | Path] = {}
    for given in stream or ():
        name, equals, path = given.partition("=")
        if not (name and equals and path):
            raise WrongCall(f"write --stream NAME=FRAGMENTS, not {given!r}")
        files[name] = path
    structures = {}
    for given in structure or ():
        name, _, path = given.rpartition("=")
        found = read_structure(Path(path))
        structures[name or found.stream] = found
    brought = brought_structures(files, structures)
    module = parse(
        read_query(file) if file is not None else query or "",
        source=str(file) if file else "query",
        structures={**brought, **structures},
        known_functions=known_function,
    )
    for warning in warning_texts(module):
        print(f"xcast: warning: {warning}", file=sys.stderr)
    text = translate_module(
        module, chosen, streams=files, structures=structures, brought=brought, now=now, rooted=assume == "rooted"
    )
    with output(out) as target:
        target.write(text.encode())
