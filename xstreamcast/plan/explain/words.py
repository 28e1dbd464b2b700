"""A plan's verdict and the bound of its state, in words: "one pass; state: one open_auction at a time"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import (
    PLAN,
    Concat,
    Fold,
    Gather,
    Group,
    Plan,
    Rank,
    Reduce,
    Slice,
    Sort,
    Source,
    Strategy,
    Unit,
    VarName,
    Versions,
    Windows,
)
from xstreamcast.plan.operators import Operator, Symbol, is_unseen, keys_of, shown
from xstreamcast.plan.projection.project import WHOLE_DOCUMENT, describe_path
from xstreamcast.scan.path import Path

NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LONGEST: Final = 48

PLURALS: Final = {
    "a count": "counts",
    "a sum": "sums",
    "an average": "averages",
    "a minimum": "minima",
    "a maximum": "maxima",
    "a yes or no": "times yes or no",
    "an accumulator": "accumulators",
    "an item": "items",
}


WHOLE: Final = "what is kept of the whole document"
"""The state where the root element is a record."""


def number(count: int) -> str:
    """Small numbers as words."""
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def listed(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    several = list(dict.fromkeys(parts))
    return " and ".join([", ".join(several[:-1]), several[-1]] if len(several) > 1 else several)


def said(module: ast.Module, span: ast.Span, expr: ast.Node) -> str:
    """A sub-expression on one line, cut if it is long: as the query has it, or, where modules are imported, as the plan
    does, for its span may be one of another text."""
    text = module.source.text[max(span.start, 0) : max(span.end, 0)]
    text = shown(expr) if module.imported else " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def unit_text(plan: Plan, unit: Unit) -> str:
    """The sub-expression that a unit is."""
    return said(plan.module, unit.span, unit.items)


def place(module: ast.Module, span: ast.Span) -> str:
    """Line and column of a piece of the query."""
    where = module.source.place(span)
    return f"{where.line}:{where.column}" if where.line is not None else "?"


# ------------------------------------------------------------------------------------------------- verdict


def verdict(plan: Plan, top: Operator | None) -> str:
    """The verdict line."""
    if plan.strategy is Strategy.NONE:
        return "no scan: the query reads no document that is known beforehand"
    state = f"; state: {state_bound(plan, top)}"
    if plan.strategy is Strategy.PROJECT:
        blocking = [f"{construct(plan, *each)} ({place(plan.module, each[0].span)})" for each in blamed(plan)]
        return f"one scan; blocking: {listed(blocking)}{state}"
    why = "".join(f": {reason}" for reason in reasons(plan)[:1])
    return passes_in_words(plan) + why + state


def blamed(plan: Plan) -> list[tuple[ast.Expr, str]]:
    """The sub-expressions that block, and why."""
    return list(zip(plan.blocking, plan.reasons, strict=True))


def construct(plan: Plan, expr: ast.Node, reason: str) -> str:
    """A blocking sub-expression by the word that makes it so, or as it stands in the query."""
    for word in ("order by", "group by", "window"):
        if word in reason:
            return word
    if "for each" in reason:
        return "join"
    text = said(plan.module, expr.span, expr)
    return text if len(text) > 2 else shown(expr)[:LONGEST]


def count_passes(plan: Plan) -> int:
    """How often the document that is read most often is read."""
    return max(Counter(each.source.variable for each in plan.passes).values(), default=0)


def passes_in_words(plan: Plan) -> str:
    """``one pass``, ``one pass over each of two documents``, ``two passes over doc("a") and one pass over …``."""
    passes = Counter(each.source for each in plan.passes)
    words = {count: f"{number(count)} pass{'es' if count != 1 else ''}" for count in passes.values()}
    if len(passes) > 1 and len(words) > 1:
        return listed(f"{words[count]} over {named(source)}" for source, count in passes.items())
    text = listed(words.values())
    return text if len(passes) < 2 else f"{text} over each of {number(len(passes))} documents"


def named(source: Source) -> str:
    """An input as the query calls it."""
    if source.uri is None:
        return "the context document"
    return f'{"stream" if source.stream else "doc"}("{source.uri}")'


def reasons(plan: Plan) -> list[str]:
    """Why there is a second pass: what is needed, and while what is traversed."""
    units = {unit.variable: unit for each in plan.passes for unit in each.units}
    found = []
    for unit in units.values():
        for name in needed_by(unit, units):
            needed = unit_text(plan, units[name])
            traversed = listed(describe_path(path) for path in unit.records) or unit_text(plan, unit)
            found.append(f"{needed} is needed while {traversed} is traversed")
    return list(dict.fromkeys(found))


def needed_by(unit: Unit, units: Mapping[VarName, Unit]) -> list[VarName]:
    """The units that one waits for; first those that stand in the query by themselves, not around it."""
    return sorted(unit.needs, key=lambda name: (encloses(units[name].span, unit.span), name))


def encloses(outer: ast.Span, inner: ast.Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


# --------------------------------------------------------------------------------------------------- state


def state_bound(plan: Plan, top: Operator | None) -> str:
    """What is kept at any moment, at most."""
    if plan.strategy is Strategy.PROJECT:
        return projected_parts(plan, [] if top is None else list(top.walk()))
    units = [unit for each in plan.passes for unit in each.units]
    names = [name for unit in units for name in record_names(unit)]
    if WHOLE in names:
        return WHOLE
    one_at_a_time = listed(f"one {name}" for name in names)
    everything = [*([f"{one_at_a_time} at a time"] if one_at_a_time else []), *kept_values(plan, units)]
    return listed(everything) or "the depth of the document"


def projected_parts(plan: Plan, steps: list[Operator]) -> str:
    """What is kept of documents that are read once for an operator that blocks."""
    paths = [each.detail.rpartition(" in ")[2] for each in steps if each.symbol is Symbol.EXTRACT]
    keys = "keys and " if any(each.state == "keys" for each in steps) else ""
    if any(target == WHOLE_DOCUMENT for each in plan.passes for target in each.targets):
        return f"{keys}the whole document"
    return f"{keys}projected parts of {listed(paths)}"


def record_names(unit: Unit) -> Iterator[str]:
    """The elements of which a unit holds one at a time; where it can take one apart, what it takes it apart into."""
    if is_unseen(unit):
        return
    if unit.nest is not None:
        for inner in unit.nest.units:
            yield from record_names(inner)
        return
    for record in unit.records:
        yield record_name(record)


def record_name(path: Path) -> str:
    """The last step: ``open_auction``; the root element is as large as the document."""
    if len(path.steps) < 2 and not any(step.deep for step in path.steps):
        return WHOLE
    name = describe_path(Path(path.steps[-1:])).lstrip("/")
    return {"*": "element", "node()": "node", "text()": "text node"}.get(name, name)


def kept_values(plan: Plan, units: list[Unit]) -> Iterator[str]:
    """What reductions keep, and what waits for its place in the answer."""
    groups: dict[str, list[str]] = {"": []}
    for unit in units:
        if isinstance(unit.reduction, Group):
            groups.setdefault(keys_of(unit.reduction), []).append(kept(unit.reduction.inner) or "all items")
        else:
            groups[""].append(kept(unit.reduction))
        if unit.nest is not None:
            words = [kept_within(inner) for inner in unit.nest.units]
            groups[""] += [word or f"the result of one {record_name(unit.nest.path)}" for word in words]
    for keys, words in groups.items():
        texts = []
        for word, count in Counter(word for word in words if word).items():
            texts.append(word if count == 1 or word not in PLURALS else f"{number(count)} {PLURALS[word]}")
        if keys:
            yield f"for each {keys} {listed(texts)}" if "," not in keys else f"for each ({keys}) {listed(texts)}"
        else:
            yield from texts
    for unit in units:
        if isinstance(unit.reduction, Concat):
            yield from waiting(plan, unit)


def kept_within(unit: Unit) -> str:
    """What a unit inside of an element that may be cut keeps until the element's end; "" is its items."""
    reduction = unit.reduction.inner if isinstance(unit.reduction, Group) else unit.reduction
    return kept(reduction)


def kept(reduction: Concat | Reduce | Slice | Fold | Sort | Gather | Rank | Windows | Versions) -> str:
    """What one reduction keeps."""
    match reduction:
        case Reduce():
            return reduction.aggregate.keeps
        case Fold():
            return "an accumulator"
        case Slice() if reduction.last is not None:
            count = reduction.last - reduction.first + 1
            return "an item" if count == 1 else f"{number(count)} items"
        case _:
            return ""


def waiting(plan: Plan, unit: Unit) -> Iterator[str]:
    """A unit whose items are not handed out at once: they are read by the rest of the query, or others come first."""
    if unit not in plan.output:
        if any(reads(part, unit.variable) for part in plan.output if not isinstance(part, Unit)):
            yield f"the result of {unit_text(plan, unit)}"
        return
    before = plan.output[: plan.output.index(unit)]
    for part in before:
        if depends(part):
            until = unit_text(plan, part) if isinstance(part, Unit) else said(plan.module, part.span, part)
            yield f"{unit_text(plan, unit)} until {until} is known"
            return


def depends(part: Unit | ast.Expr) -> bool:
    """Whether a part of the answer is known only when a scan ends; a part that streams ends with it, too."""
    return isinstance(part, Unit) or bool(list(unit_names(part)))


def unit_names(expr: ast.Expr) -> Iterator[VarName]:
    """The plan's variables that an expression reads."""
    for node in descendants(expr):
        if isinstance(node, ast.VarRef) and node.name.uri == PLAN:
            yield node.name.expanded


def reads(expr: ast.Expr, variable: VarName) -> bool:
    """Whether an expression reads a unit."""
    return variable in set(unit_names(expr))
