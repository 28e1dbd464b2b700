"""The text of ``xcast explain``: sentences, what blocks, the operators, the passes; why, by the theorems, if asked."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from xstreamcast.lang.ast import Span
from xstreamcast.plan.algebra import Gather, Pass, Strategy, Unit
from xstreamcast.plan.explain.words import blamed, construct, named, needed_by, place, reasons
from xstreamcast.plan.graph.nodes import Graph, Node
from xstreamcast.plan.graph.verdict import CLAIMS, Judgement
from xstreamcast.plan.operators import Operator, is_unseen, numbered, reduced
from xstreamcast.plan.projection.project import describe, describe_path

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation

WIDTH: Final = 100
HINTS: Final = {
    "order by": "without the order the answer would stream; with it, only keys and what is returned are kept",
    "group by": "groups are known when all input is; only keys and what is returned are kept",
    "join": "the sides meet in memory, by hashed keys; only keys and what is returned are kept",
}
SECOND_PASS: Final = "a file is read twice; a pipe cannot be: save it first, or let --spool do so"


def to_text(explanation: Explanation) -> str:
    """The plan; no line is longer than :data:`WIDTH`."""
    from xstreamcast.plan.explain.changes import change_lines
    from xstreamcast.plan.explain.sentences import sentences
    from xstreamcast.plan.explain.structure import structure_lines

    return _sections(
        [line for sentence in sentences(explanation) for line in wrap(sentence, WIDTH, subsequent_indent="  ")],
        list(blocking_lines(explanation)),
        list(column_lines(explanation)),
        list(step_lines(explanation.top)),
        *[list(pass_lines(each, number, len(explanation.plan.passes)))
          for number, each in enumerate(explanation.plan.passes, 1)],
        list(change_lines(explanation)),
        list(structure_lines(explanation)),
    )  # fmt: skip


def to_reasons(explanation: Explanation) -> str:
    """Why it is so: the verdict, the stream data-flow graph, and the theorems of VLDB'05 that decide over it."""
    return _sections(
        wrap(f"verdict: {explanation.verdict}", WIDTH, subsequent_indent="  "),
        list(graph_lines(explanation.judgement)),
        list(theorem_lines(explanation)),
    )


def _sections(*sections: list[str]) -> str:
    return "\n\n".join("\n".join(cut(line) for line in section) for section in sections if section)


def cut(line: str, width: int = WIDTH) -> str:
    """A line that is not longer than it may be."""
    line = line.rstrip()
    return line if len(line) <= width else line[: width - 1] + "…"


# ----------------------------------------------------------------------------------------------- blocking


def blocking_lines(explanation: Explanation) -> Iterator[str]:
    """The sub-expressions that block or need another pass: place, excerpt and a hint."""
    plan = explanation.plan
    if plan.strategy is Strategy.PROJECT:
        for expr, reason in blamed(plan):
            hint = HINTS.get(construct(plan, expr, reason), "")
            yield from located(explanation, expr.span, f"blocking: {reason}", hint)
    elif reasons(plan):
        units = {unit.variable: unit for each in plan.passes for unit in each.units}
        needed = dict.fromkeys(name for unit in units.values() for name in needed_by(unit, units)[:1])
        for number, name in enumerate(needed):
            hint = SECOND_PASS if number == len(needed) - 1 else ""
            yield from located(explanation, units[name].span, "needed before the next pass", hint)


def column_lines(explanation: Explanation) -> Iterator[str]:
    """The sorts and groups that keep a large document in columns, and whether these may go to disk."""
    for each in explanation.columns:
        what = "group by" if isinstance(each.reduction, Gather) else "order by"
        keys = ", ".join(describe_path(each.path / key.path) for key in each.keys)
        kept = "keys and what is reduced" if isinstance(each.reduction, Gather) else "keys and records"
        beyond = "spills beyond --memory" if each.spills else "in memory"
        yield f"{what} in columns, by {keys}; state: {kept}; {beyond}"


def located(explanation: Explanation, span: Span, what: str, hint: str) -> Iterator[str]:
    """A piece of the query with its line."""
    yield f"{place(explanation.module, span)}  {what}"
    yield from explanation.module.source.excerpt(span).splitlines()
    if hint:
        yield from wrap(f"hint: {hint}", WIDTH, initial_indent="  ", subsequent_indent="  ")


# ---------------------------------------------------------------------------------------------- operators


def step_lines(top: Operator | None) -> Iterator[str]:
    """The operators as a tree, with step ids and classes."""
    if top is None:
        return
    rows = []
    for id, depth, each in numbered(top):
        branch = "  " * (depth - 1) + "└ " if depth else ""
        rows.append((id, f"{branch}{each.symbol.value} {each.detail}", each))
    width = min(max(len(text) for _, text, _ in rows), 62)
    last = len(f"s{len(rows)}")
    yield f"{'steps':{last + 2 + width}}  {'class':11}  {'state':6}  output"
    for id, text, each in rows:
        yield f"{id:>{last}}  {cut(text, width):{width}}  {each.blocking:11}  {each.state:6}  {each.changelog}"


# ------------------------------------------------------------------------------------------------- passes


def pass_lines(each: Pass, number: int, count: int) -> Iterator[str]:
    """The units and targets of one scan."""
    yield f"pass{f' {number}' if count > 1 else ''} over {named(each.source)}"
    for unit in each.units:
        yield from labelled("unit", unit_words(unit))
        if unit.tests:
            yield from labelled("test", f"{tested(unit)}, in the scan")
    yield from labelled("keeps", *(describe(each.targets) or ["nothing: it only counts"]))


def unit_words(unit: Unit) -> str:
    """A unit: its reduction and its records."""
    if is_unseen(unit) and unit.path is not None:
        return f"{reduced(unit.reduction)} of {describe_path(unit.path)}, in the scan"
    records = unit.records if unit.nest is None else (unit.nest.path,)
    text = f"{reduced(unit.reduction)} of {', '.join(map(describe_path, records))}, one at a time"
    if unit.nest is not None:
        inner = dict.fromkeys(record for each in unit.nest.units for record in each.records)
        if unit.nest.path not in inner:
            text += f"; one that is long by its {', '.join(map(describe_path, inner))}"
    return text


def tested(unit: Unit) -> str:
    """The tests on the characters of the scan, as they are said of the record."""
    record = describe_path(unit.records[0])
    found = []
    for test in unit.tests:
        path = describe_path(test.path).removeprefix(record).lstrip("/") or "."
        if isinstance(test.value, str):
            path += f' {test.relation} "{test.value}"'
        elif test.value is not None:
            path += f" {test.relation} {test.value:g}"
        found.append(path)
    return " and ".join(found)


def labelled(label: str, *texts: str) -> Iterator[str]:
    """Lines with a label before the first; long ones go on below."""
    for text in texts:
        for line in wrap(text, WIDTH - 9, break_long_words=False):
            yield f"  {label:7}{line}"
            label = ""


# -------------------------------------------------------------------------------------------------- graph


def graph_lines(judgement: Judgement) -> Iterator[str]:
    """Nodes with what they depend on, then what was fused."""
    graph = judgement.fused.before
    if not graph.nodes:
        return
    yield "graph  (▭ sequence  ○ atomic  ← flow  ≺ aggregate)"
    rows = [(node, f"{node.id} {'▭' if node.sequence else '○'} {node.label}") for node in graph.nodes]
    width = min(max(len(text) for _, text in rows), 62)
    for node, text in rows:
        yield f"  {cut(text, width):{width}}  {dependences(graph, node)}"
    for fusion in (*judgement.fused.horizontal, *judgement.fused.grouped):
        yield f"  {fusion}"
    for supernode in judgement.fused.supernodes:
        if len(supernode.members) > 1:
            yield f"  super-node {supernode.id}"


def dependences(graph: Graph, node: Node) -> str:
    """``≺ S1``, ``← $i, v1 (control)``."""
    edges = graph.incoming(node.id)
    found = []
    for sign, aggregate in (("≺", True), ("←", False)):
        names = [e.origin + (" (control)" if e.control else "") for e in edges if e.aggregate is aggregate]
        if names:
            found.append(f"{sign} {', '.join(names)}")
    return "  ".join(found)


def theorem_lines(explanation: Explanation) -> Iterator[str]:
    """Which of the theorems stand against a single pass, each with its witness."""
    judgement, plan = explanation.judgement, explanation.plan
    if not judgement.fused.before.nodes:
        return
    yield "single pass, by VLDB'05 §4.4"
    for theorem, claim in CLAIMS.items():
        obstacles = against(explanation, theorem)
        name = f"theorem {theorem}" if theorem else "§3.2     "
        if not obstacles:
            yield f"  {name}  yes  {claim}"
        for text in obstacles:
            yield from wrap(f"  {name}  no   {text}", WIDTH, subsequent_indent=" " * 18)
    if not judgement.single_pass and plan.strategy is Strategy.STREAM and explanation.passes == 1:
        yield "  one pass all the same: what a condition decides over is kept until it is known"


def against(explanation: Explanation, theorem: int) -> list[str]:
    """The obstacles to a single pass by one theorem; 0 is the first condition of §3.2."""
    judgement = explanation.judgement
    if theorem == 0 and judgement.single_pass:  # the graph does not see positions, axes and the like
        return [reason for _, reason in blamed(explanation.plan)]
    return [obstacle.text for obstacle in judgement.against(theorem)]
