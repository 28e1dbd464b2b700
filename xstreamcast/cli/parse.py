"""``xcast parse``: the syntax tree of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument, Option, WrongCall


def parse_command(
    query: Annotated[str | None, Argument(metavar="QUERY", help="The query's text.", show_default=False)] = None,
    file: Annotated[Path | None, Option("-f", "--file", help="Read the query from a file.")] = None,
    structure: Annotated[
        list[str] | None,
        Option(metavar="[NAME=]FILE", help="A stream's tag structure: warns of paths that match nothing."),
    ] = None,
    xquery: Annotated[bool, Option("--xquery", help="Print the query again instead, laid out afresh.")] = False,
) -> None:
    """Print the syntax tree of a query, after all its names have been checked.

    Examples:

      xcast parse 'for $b in //book where $b/price > 30 return $b/title'

      xcast parse -f fraud.xq --structure credit=credit.tags
    """
    import sys

    from xstreamcast.lang import parse
    from xstreamcast.lang.files import read_query
    from xstreamcast.lang.outline import outline
    from xstreamcast.lang.printer import to_xquery
    from xstreamcast.lang.warning_texts import warning_texts

    if (query is None) == (file is None):
        raise WrongCall("give either a query or a file with one: -f FILE")
    text = read_query(file) if file is not None else query or ""
    structures = {}
    for given in structure or ():
        from xstreamcast.cli.files import read_structure

        name, _, path = given.rpartition("=")
        found = read_structure(Path(path))
        structures[name or found.stream or Path(path).stem] = found
    module = parse(text, source=str(file) if file else "query", structures=structures)
    for warning in warning_texts(module):
        print(f"xcast: warning: {warning}", file=sys.stderr)
    print(to_xquery(module) if xquery else outline(module))
