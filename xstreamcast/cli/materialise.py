"""``xcast materialise``: the document that a fragment stream describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument, Option


def materialise_command(
    fragments: Annotated[
        str, Argument(metavar="FRAGMENTS", help="A fragment stream (gz too), a folder of its files; - is stdin.")
    ],
    structure: Annotated[Path | None, Option(help="Its tag structure, if the stream does not bring it.")] = None,
    at: Annotated[str | None, Option(metavar="TIME", help="Only what is alive at that time.")] = None,
    temporal: Annotated[bool, Option("--temporal", help="The whole history; with --at, as it was known then.")] = False,
    lifespans: Annotated[bool, Option(help="Write vtFrom and vtTo on temporal elements and events.")] = True,
    doc: Annotated[str | None, Option(help="Which document, if the stream has several.")] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write to a file (.gz packs it).")] = None,
) -> None:
    """Rebuild the document from its fragments: any order, repeats, versions, replacements, removals, updates.

    Of a stream with temporal or event tags this is the temporal view: all versions and events with their lifespans.
    --at TIME projects it to an instant (events last only for theirs). What is odd about the stream (unfilled holes,
    fillers no hole holds, cycles, unknown tsids, malformed fragments) is told on stderr and loses nothing else.

    Examples:

      xcast materialise auction.stream.xml -o auction.xml

      xcast materialise credit.xml --at 2003-11-15T00:00:00
    """
    from xstreamcast.cast.materialise import View, pick, read_regions
    from xstreamcast.cli.files import read_structure
    from xstreamcast.cli.terminal import Diagnostics, output
    from xstreamcast.model.time import parse_instant

    tags = read_structure(structure) if structure is not None else None
    instant = parse_instant(at) if at is not None else None
    view = View(now=instant, lifespans=lifespans) if temporal else View(at=instant, lifespans=lifespans)
    report = Diagnostics()
    regions = read_regions(fragments, tags, report)
    with output(out) as file:
        for piece in regions.document(pick(regions.documents(), doc), view, report):
            file.write(piece)
        file.write(b"\n")
    report.close()
