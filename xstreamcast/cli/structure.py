"""``xcast structure``: a tag structure from documents or a DTD."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument, Option


def structure_command(
    documents: Annotated[list[str], Argument(metavar="DOC", help="XML documents, or one .dtd; - is stdin.")],
    fragment: Annotated[
        str | None,
        Option(metavar="TAG[:TYPE],…", help="Which tags become fragments: names or paths, with a type."),
    ] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write it to a file instead of stdout.")] = None,
) -> None:
    """Infer the tag structure of documents (or of a DTD) in one pass, and propose which tags become fragments.

    Types: filler (the default), temporal, event, snapshot.

    Examples:

      xcast structure auction.xml -o auction.tags

      xcast structure credit.xml --fragment account:temporal,transaction:event,creditLimit:temporal
    """
    from xstreamcast.cast.infer import infer_structure
    from xstreamcast.cli.terminal import file_size, output, progress_bar
    from xstreamcast.model.structure import write_structure

    sizes = [file_size(document) for document in documents]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    with progress_bar("reading", total) as progress:
        found = infer_structure(documents, fragment, progress)
    with output(out) as file:
        file.write(write_structure(found).encode() + b"\n")
