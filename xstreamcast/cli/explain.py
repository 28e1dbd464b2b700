"""``xcast explain``: how a query will be run, and what it keeps meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

from xstreamcast.cli.options import Argument, Option, WrongCall


def explain_command(
    query: Annotated[str | None, Argument(metavar="QUERY", help="The query's text.", show_default=False)] = None,
    file: Annotated[
        Path | None, Option("-f", "--file", metavar="QUERYFILE", help="Read the query from a file.")
    ] = None,
    structure: Annotated[
        list[str] | None,
        Option(metavar="[NAME=]FILE", help="A tag structure: resolves // and *, lists the fragments needed."),
    ] = None,
    var: Annotated[
        list[str] | None, Option(metavar="NAME", help="A variable that will be given with query --var.")
    ] = None,
    fixed: Annotated[
        list[str] | None,
        Option(metavar="TAG|PATH|*", help="Regions that will be declared fixed with watch --fixed."),
    ] = None,
    emit: Annotated[
        str, Option(metavar="MODE", help="How a query over streams is followed: eager, certain or optimistic.")
    ] = "eager",
    why: Annotated[
        bool, Option("--why", help="Also the stream data-flow graph, and the theorems that decide over it.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print the same facts as JSON, for programs.")] = False,
    dot: Annotated[bool, Option("--dot", help="Print the stream data-flow graph for Graphviz instead.")] = False,
    svg: Annotated[bool, Option("--svg", help="Print the operators as a picture (SVG) instead.")] = False,
    engine: Annotated[
        str, Option(metavar="ENGINE", help="embedded, or spark: adds the stages and what runs in each.")
    ] = "embedded",
    context: Annotated[
        list[str] | None,
        Option(metavar="FILE", help="With --engine spark: how many tasks would read it, and why it is one."),
    ] = None,
) -> None:
    """Say how a query will be run: in how many passes, what is kept at any moment, and what blocks.

    First in sentences. Then what blocks; the operators, each with its class (pipeline, progressive, blocking), what it
    keeps and how its output changes; what each scan keeps and tests; what a change of a stream costs. With --why also
    the verdict's reasons: the theorems of VLDB'05, and the graph that they are about.

    Examples:

      xcast explain 'for $b in //book where $b/price < 30 return $b/title'

      xcast explain -f report.xq --structure auction.tags

      xcast explain -f report.xq --engine spark --context auction.xml.gz

      xcast explain -f report.xq --json | jq .operators

      xcast explain -f report.xq --svg > report.svg

      xcast explain -f report.xq --dot | dot -Tsvg > graph.svg
    """
    import sys

    from xstreamcast.cli.files import read_structures
    from xstreamcast.lang.files import read_query
    from xstreamcast.plan.modes.rewrite import Emission
    from xstreamcast.run.explained import explain

    if (query is None) == (file is None):
        raise WrongCall("give either a query or a file with one: -f FILE")
    if emit not in get_args(Emission):
        raise WrongCall(f"--emit is one of {', '.join(get_args(Emission))}")
    if engine not in ("embedded", "spark"):
        raise WrongCall("--engine is one of embedded, spark")
    if context and engine != "spark":
        raise WrongCall("--context belongs to --engine spark")
    if dot + svg + json > 1:
        raise WrongCall("--dot, --svg and --json are printed instead of the text: give one of them")
    if why and (dot or svg or json):
        raise WrongCall("--why belongs to the text; --json has the theorems in any case")
    if json and engine == "spark":
        raise WrongCall("--json tells what both engines share; the stages of --engine spark are text")
    text = read_query(file) if file is not None else query or ""
    explanation = explain(
        text,
        structures=read_structures(structure or ()),
        variables=[given.partition("=")[0] for given in var or ()],
        base_uri=None if file is None else file.absolute().as_uri(),
        source=str(file) if file else "query",
        fixed=fixed,
        emit=cast(Emission, emit),
    )
    for warning in explanation.warnings:
        print(f"xcast: warning: {warning}", file=sys.stderr)
    if json:
        from json import dumps

        print(dumps(explanation.facts(), ensure_ascii=False, indent=2))
        return
    print(explanation.dot() if dot else explanation.svg() if svg else explanation)
    if why:
        print(f"\n{explanation.why()}")
    if engine == "spark" and not (dot or svg):
        from xstreamcast.spark.stages import stage_lines

        print("\n" + "\n".join(stage_lines(explanation)))
        if context:
            from xstreamcast.spark.rest.shares import documents, shares

            print("\n" + "\n".join(shares(documents(context))))
