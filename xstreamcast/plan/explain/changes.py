"""The cost of a change of a stream: which operators follow it by difference, and what is computed anew.

Δ is what a change makes different, n how many records there are. Everything that is not named as computed anew costs
what the change touches, and O(log n) for its place among the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import (
    Fold,
    Gather,
    Group,
    Rank,
    Reduce,
    Reduction,
    Slice,
    Sort,
    Strategy,
    Versions,
    Windows,
    in_parts,
    reads_items,
)
from xstreamcast.plan.decompose.folds import last_item
from xstreamcast.plan.decompose.splices import splices
from xstreamcast.plan.operators import Symbol, shown
from xstreamcast.plan.passes.variables import free
from xstreamcast.plan.projection.project import describe_path
from xstreamcast.scan.automaton import Action

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Plan, Unit
    from xstreamcast.plan.explain.explanation import Explanation

LONGEST: Final = 84
_TOUCHED: Final = "the records that Δ touches"
_NUMBERED: Final = re.compile(r"\$([\w.-]*\w)-\d+(?![\w-])")


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A piece of a query that is computed anew when what it reads changes."""

    span: ast.Span
    reason: str


def units_of(plan: Plan) -> list[Unit]:
    """The units of whole documents, those that others need first."""
    return [unit for each in plan.passes for unit in each.units]


def obstacle(plan: Plan) -> str:
    """Why a query over streams is computed anew as a whole, at every change, by its plan alone; "" if it is not."""
    if plan.strategy is Strategy.NONE:
        return "it reads its streams in a way that is known only when it runs"
    if any(not source.stream for source in plan.sources):
        return "it reads a stored document beside its streams"
    return ""


def recomputed(plan: Plan) -> list[Recomputed]:
    """The parts of a plan that do not follow their changes by difference."""
    if plan.strategy is not Strategy.STREAM:
        return [Recomputed(expr.span, reason) for expr, reason in zip(plan.blocking, plan.reasons, strict=True)]
    found: list[Recomputed] = []
    units = {unit.variable: unit for unit in units_of(plan)}
    for unit in units.values():
        for name in sorted(unit.needs):
            if not isinstance(units[name].reduction, Reduce | Group) and in_parts(units[name].reduction):
                reason = f"a join without an equation: every {record(unit)} looks again when it changes"
                found.append(Recomputed(units[name].span, reason))
    for part in plan.output:
        if isinstance(part, ast.Expr):
            names = sorted(free(part) & units.keys())
            whole = [units[n] for n in names if in_parts(units[n].reduction) and not splices(part, units[n])]
            whole = [unit for unit in whole if not _is_copied(part, unit)]
            if whole:
                items = " and ".join(dict.fromkeys(record(unit) for unit in whole))
                found.append(Recomputed(part.span, f"computed anew from every {items} that is kept, when one changes"))
    return found


def _is_copied(part: ast.Expr, unit: Unit) -> bool:
    """Whether the root element, which is all there is, is a part of the answer as it is."""
    copies = [one.content for one in descendants(part) if isinstance(one, ast.ComputedDocument)]
    root = len(unit.records) == 1 and len(unit.records[0].steps) == 1 and not unit.records[0].steps[0].deep
    return root and any(isinstance(copy, ast.VarRef) and copy.name.expanded == unit.variable for copy in copies)


def record(unit: Unit) -> str:
    """The name of a unit's records."""
    paths = unit.records if unit.nest is None else (unit.nest.path,)
    return ", ".join(describe_path(path) for path in paths) or "node"


def change_lines(explanation: Explanation) -> Iterator[str]:
    """The operators that follow changes, with what one costs; of a mode, what it waits for; what is computed anew."""
    plan, modes = explanation.changing, explanation.modes
    if plan is None:
        return
    yield "when a stream changes  (Δ: what is different; n: how many records there are)"
    if explanation.anew:
        yield "  anew       the whole query, from all that is there:"
        yield from wrap(explanation.anew, LONGEST, initial_indent=" " * 13, subsequent_indent=" " * 13)
        return
    by_objects = explanation.by_objects
    yield f"  followed   {f'by objects, one by one: {by_objects}' if by_objects else 'in columns, batch by batch'}"
    for symbol, words, cost in follows(plan):
        yield f"  {symbol.value:10} {written(words, plan)}: {cost}"
    if modes is not None and modes.emission != "eager":
        yield f"  {modes.emission:10} an open hole on the way of a path holds back what it may change"
        for reason in modes.reasons:
            yield f"  {'':10} not looked into, and known at the end of the streams: {reason}"
    for each in recomputed(plan):
        text = " ".join(plan.module.source.text[max(each.span.start, 0) : max(each.span.end, 0)].split())
        yield f"  anew       {text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}:"
        yield from wrap(each.reason, LONGEST, initial_indent=" " * 13, subsequent_indent=" " * 13)


def follows(plan: Plan) -> Iterator[tuple[Symbol, str, str]]:
    """The operators that follow a change by its difference: of what, and what one costs."""
    if plan.strategy is Strategy.STREAM:
        for unit in units_of(plan):
            yield from _operators(unit)


def written(words: str, plan: Plan) -> str:
    """A text with the names of variables as the query has them: where two have one name, the plan numbers them."""

    def name(found: re.Match[str]) -> str:
        return found[0] if found[0] in plan.module.source.text else f"${found[1]}"

    return _NUMBERED.sub(name, words)


def _is_whole(unit: Unit) -> bool:
    """Whether a record is put together as it is, with all that is in it, when something in it changes."""
    if unit.path is not None:
        return reads_items(unit.reduction)
    nest = unit.nest or unit.each
    return nest is None or any(part.action == Action.PROJECT for part in nest.parts)


def _operators(unit: Unit) -> Iterator[tuple[Symbol, str, str]]:
    """The operators that a unit has for changes; where a record is looked at whole, that is part of the cost."""
    whole = _is_whole(unit)
    for number, (symbol, words, cost) in enumerate(_operations(unit)):
        told = whole and not number and cost != _TOUCHED
        yield symbol, words, f"{cost}, and the records that Δ is in, whole" if told else cost


def _operations(unit: Unit) -> Iterator[tuple[Symbol, str, str]]:
    records, one = record(unit), _TOUCHED
    match unit.reduction:
        case Group() as group:
            keys = ", ".join([*[shown(key) for key in group.keys], *(["lifespan"] if group.interval else [])])
            inner = f"{group.inner.function} of " if isinstance(group.inner, Reduce) else ""
            cost = f"those who have asked for {'an interval that meets' if group.interval else 'a key of'} Δ look again"
            if group.relation != "=":
                keys += f" {group.relation} a bound"
                cost = "those whose bound lets Δ in look again"
            elif group.theta is not None:
                keys = f"a condition on {keys}"
                cost = "those for whom Δ meets it look again; each is asked"
            yield Symbol.JOIN, f"{inner}{records} by {keys}", cost
        case Sort() as sort:
            keys = ", ".join(shown(key.key) for key in sort.keys)
            chosen = "" if sort.chosen is None else f", {_positions(sort.chosen)}"
            yield Symbol.SORT, f"{records} by {keys}{chosen}", "O(|Δ| log n)"
        case Gather() as gather:
            keys = ", ".join(f"${key.var.lexical}" for key in gather.keys)
            yield Symbol.NEST, f"{records} by {keys}", "the groups that Δ touches"
            if gather.order is not None:
                by = ", ".join(shown(key.key) for key in gather.order.keys)
                yield Symbol.SORT, f"groups by {by}", "O(|Δ| log n)"
        case Rank() as rank:
            yield from _ranked(rank, records)
        case Windows() as windows:
            kind = "sliding" if windows.sliding else "tumbling"
            behind = ", and those behind it" if windows.numbered else ", and those behind it until they are as before"
            cost = f"the windows that Δ is in{'' if windows.sliding and not windows.numbered else behind}"
            yield Symbol.SELECT, f"{kind} windows of {records}", cost
        case Fold() as fold:
            last = fold == last_item()
            cost = "O(log n)" if last else "replayed from Δ on, until it is as before"
            yield Symbol.REDUCE, f"{'the last' if last else 'left fold'} of {records}", cost
        case Reduce() as reduce:
            yield Symbol.REDUCE, f"{reduce.function} of {records}", "O(log n)"
        case Versions():
            yield Symbol.SELECT, f"versions of {records} by number", "O(log n), and those chosen"
        case Slice() as chosen_items:
            yield Symbol.SELECT, f"{_positions(chosen_items)} of {records}", "O(log n)"
        case _:
            yield Symbol.MERGE, records, one
    nest = unit.nest or unit.each
    if nest is not None:
        choice = None if nest.each is None else nest.each.choice
        for inner_unit in nest.units:
            if choice is not None and choice.counted == inner_unit.variable:
                numbers = f"{_positions(Slice(choice.first, choice.last))}{' from the end' if choice.from_end else ''}"
                yield Symbol.SELECT, f"{numbers} of {record(inner_unit)} in each parent", "O(log n), and those chosen"
                continue
            found = _inside(inner_unit.reduction)
            if found:
                words = f"{found} of {record(inner_unit)} within {describe_path(nest.path)}"
                yield Symbol.NEST, words, "O(log n), where they may come apart"
    if unit.each is not None:
        words = f"each {describe_path(unit.each.path)} by itself, also inside of another"
        yield Symbol.UNNEST, words, "O(log n), and those that Δ is about"


def _ranked(rank: Rank, records: str) -> Iterator[tuple[Symbol, str, str]]:
    if rank.mark is not None:
        side = "after the first mark" if rank.mark.after else "before the last mark"
        words = f"{records}, {'not ' if rank.mark.negated else ''}{side}"
        yield Symbol.SELECT, words, "O(|Δ| log n), and those that a mark passes"
        return
    if rank.keys:
        yield Symbol.SORT, f"{records} by {', '.join(shown(key.key) for key in rank.keys)}", "O(|Δ| log n)"
    words = "numbered" if rank.position is not None else "in their order"
    if rank.chosen is not None:
        words = f"{_positions(rank.chosen)}{' from the end' if rank.from_end else ''}"
    elif rank.backward:
        words = "backward"
    cost = "O(|Δ| log n)" if rank.position is None else "O(|Δ| log n), and those whose number is another"
    yield Symbol.SELECT, f"{records}, {words}", cost


def _inside(reduction: Reduction) -> str:
    """The choice that a nest has of the nodes of a unit inside; "" is all of them."""
    match reduction:
        case Reduce():
            return reduction.function
        case Slice():
            return _positions(reduction)
        case Fold() if reduction == last_item():
            return "the last"
        case _:
            return ""


def _positions(chosen: Slice) -> str:
    if chosen.last is None:
        return f"from {chosen.first} on"
    return f"{chosen.first}" if chosen.first == chosen.last else f"{chosen.first} to {chosen.last}"
