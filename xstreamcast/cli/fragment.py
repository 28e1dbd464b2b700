"""``xcast fragment``: a document as a fragment stream."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument, Option


class OrderName(StrEnum):
    """In which order the fragments are written."""

    document = "document"
    breadth = "breadth"
    shuffle = "shuffle"
    priority = "priority"


def fragment_command(
    document: Annotated[str, Argument(metavar="DOC", help="An XML document (gz too); - is stdin.")],
    structure: Annotated[Path | None, Option(help="Its tag structure; inferred first when left out.")] = None,
    order: Annotated[OrderName, Option(help="The order of the fragments.")] = OrderName.document,
    seed: Annotated[int, Option(help="For shuffle and repeat: the same seed, the same stream.")] = 0,
    repeat: Annotated[float, Option(metavar="P", help="Send each fragment again with this probability.")] = 0.0,
    out: Annotated[Path | None, Option("-o", "--out", help="Write to a file (.gz packs it).")] = None,
) -> None:
    """Cut a document into fillers with holes, in one pass and flat memory, whatever its size.

    Orders: document (parents before children), breadth (level by level), shuffle (at random, by --seed), priority
    (by the priority attributes of the structure's tags, higher first).

    Examples:

      xcast fragment auction.xml --structure auction.tags -o auction.stream.xml

      xcast fragment auction.xml --order shuffle --seed 7 --repeat 0.1 | xcast materialise -
    """
    from xstreamcast.cast import fragment
    from xstreamcast.cli.terminal import file_size, output, progress_bar

    tags = None
    if structure is not None:
        from xstreamcast.cli.files import read_structure

        tags = read_structure(structure)
    with progress_bar("fragmenting", file_size(document)) as progress, output(out) as file:
        count = fragment(document, file, tags, order=order.value, seed=seed, repeat=repeat, progress=progress)
    if sys.stderr.isatty():
        print(f"{count:,} fragments", file=sys.stderr)
