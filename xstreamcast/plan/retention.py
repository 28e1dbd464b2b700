"""How long the versions and events of each tag must be kept for a query (SIGMOD'04 §6).

What a query sees of a tag only through ``?[now-D, …]`` it cannot see again once it has ended more than D ago, because
now never decreases. So every projection whose lower bound is the current time less a fixed while, or a fixed time, is a
*window*; each step that a window is of gets a name of its own, and the analysis of paths (:mod:`~xstreamcast.plan.
projection.project`) tells what is seen below which window, and what outside of all of them:

    kept of a tag = the longest window it is seen through; everything, if it is seen otherwise

``?[now]`` keeps what is alive; ``e#[last]`` the newest version of each hole. vtTo of a version is its successor's
vtFrom, which is kept at least as long. What is in a window began to be seen no further back than that: so
``?[vtFrom($r)-d, …]`` of another stream is a window of D + d, where $r is in one of D.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.clock import is_now
from xstreamcast.lang.context import STREAM
from xstreamcast.lang.walk import rebuild
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import XS
from xstreamcast.model.structure import UNNAMED
from xstreamcast.model.time import Instant, format_instant, parse_instant
from xstreamcast.plan.algebra import PLAN, Strategy
from xstreamcast.plan.explain.structure import elements
from xstreamcast.plan.projection.project import project
from xstreamcast.scan.automaton import Action
from xstreamcast.scan.path import Path, Step

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Plan, VarName
    from xstreamcast.scan.automaton import Target
    from xstreamcast.scan.path import NodeTest

_MONTH: Final = 31 * dt.DAY
_WINDOW: Final = "window "
_FROM, _TO = (STREAM, "vtFrom"), (STREAM, "vtTo")


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept of a tag: ``everything``; what was alive within ``back`` (in microseconds) of now; what was alive
    at ``since`` or later; the ``last`` version of each hole."""

    everything: bool = False
    back: int | None = None
    since: Instant | None = None
    last: bool = False

    def __or__(self, other: Keep) -> Keep:
        if self.everything or other.everything:
            return EVERYTHING
        back = max((one.back for one in (self, other) if one.back is not None), default=None)
        since = min((one.since for one in (self, other) if one.since is not None), default=None)
        return Keep(False, back, since, self.last or other.last)

    def __str__(self) -> str:
        if self.everything:
            return "everything"
        parts = []
        if self.back is not None:
            parts.append(f"the last {dt.DayTimeDuration(0, self.back * 1000)}" if self.back else "what is alive")
        if self.since is not None:
            parts.append(f"since {format_instant(self.since)}")
        if self.last:
            parts.append("the last version")
        return ", ".join(parts) or "nothing"


EVERYTHING: Final = Keep(everything=True)
NEWEST: Final = Keep(last=True)


def retention(plan: Plan, structures: Mapping[str, Structure]) -> dict[str, dict[int, Keep]]:
    """Of each stream with a structure, what must be kept of the tags that come in versions and as events.

    A tag that is not among them is not looked at.
    """
    known = {
        source.variable: (source.uri or "", structures[source.uri or ""])
        for source in plan.sources
        if (source.uri or "") in structures
    }
    body = plan.module.body
    assert body is not None
    windows = _Windows()
    marked = windows.visit(body)
    assert isinstance(marked, ast.Expr)
    if plan.strategy is Strategy.NONE:
        return {name: dict.fromkeys(_timed(structure), EVERYTHING) for name, structure in known.values()}
    seen = project(marked, {source.variable: Path() for source in plan.sources}, module=plan.module)
    sure = {*range(len(windows.found))}
    for source in plan.sources:
        structure = known[source.variable][1] if source.variable in known else None
        sure -= _unsure(seen.get(source.variable, ()), windows.found, structure)
    found = [
        (window if window.given <= sure else replace(window, keep=EVERYTHING), step) for window, step in windows.found
    ]
    return {name: _kept(seen.get(variable, ()), found, structure) for variable, (name, structure) in known.items()}


def _timed(structure: Structure) -> list[int]:
    return [number for number, tag in structure.tags.items() if tag.timed]


@dataclass(frozen=True, slots=True)
class _Window:
    """A projection that limits what is seen, and what must be kept for it."""

    keep: Keep
    whole: bool
    """Whether it limits what is below as well."""
    given: frozenset[int] = frozenset()
    """The windows whose elements its bound is about: it is one only if all of these have lifespans of their own."""


class _Windows:
    """Gives the steps that windows are of names of their own."""

    def __init__(self) -> None:
        self.found: list[tuple[_Window, ast.AxisStep]] = []
        self.loops: dict[VarName, int] = {}
        """The variables of loops over windows, and which."""

    def visit(self, e: ast.Node) -> ast.Node:
        made = rebuild(e, self.visit)
        if isinstance(made, ast.ForClause | ast.QuantifiedBinding):
            self.bound(made.var.expanded, made.source)
        window = self.window(made)
        if window is None:
            return made
        assert isinstance(made, ast.IntervalProjection | ast.VersionProjection)
        base = self.named(made.base, window)
        return made if base is None else replace(made, base=base)

    def named(self, base: ast.Expr, window: _Window) -> ast.Expr | None:
        """The path with another name for its last step; None if that is no plain one."""
        step = base.steps[-1] if isinstance(base, ast.Path) else base
        if not isinstance(step, ast.AxisStep) or step.axis not in ("child", "descendant") or step.predicates:
            return None
        if not isinstance(step.test, ast.NameTest) or step.test.name.uri is None or step.test.name.uri == PLAN:
            return None
        self.found.append((window, step))
        name = ast.Name("", f"{_WINDOW}{len(self.found) - 1}", PLAN)
        marked = replace(step, test=ast.NameTest(name))
        return replace(base, steps=(*base.steps[:-1], marked)) if isinstance(base, ast.Path) else marked

    def bound(self, variable: VarName, source: ast.Expr) -> None:
        """Remember a loop over what is in a window, by the name that its step was given."""
        while isinstance(source, ast.Filter):
            source = source.base
        if isinstance(source, ast.IntervalProjection):
            step = source.base.steps[-1] if isinstance(source.base, ast.Path) else source.base
            if isinstance(step, ast.AxisStep) and isinstance(step.test, ast.NameTest) and step.test.name.uri == PLAN:
                number = int(step.test.name.local.removeprefix(_WINDOW))
                if self.found[number][0].keep.back is not None:
                    self.loops[variable] = number

    def window(self, e: ast.Node) -> _Window | None:
        if isinstance(e, ast.VersionProjection):
            newest = isinstance(e.first, ast.Last) and (e.last is None or isinstance(e.last, ast.Last))
            return _Window(NEWEST, False) if newest else None
        if not isinstance(e, ast.IntervalProjection):
            return None
        if isinstance(e.begin, ast.InstantLiteral):
            return _Window(Keep(since=parse_instant(e.begin.value)), True)
        found = self.back(e.begin)
        return None if found is None else _Window(Keep(back=max(0, found[0])), True, found[1])

    def back(self, e: ast.Expr) -> tuple[int, frozenset[int]] | None:
        """How far behind now a bound is at most, in microseconds, given some windows; None if that is not known."""
        if is_now(e):
            return 0, frozenset()
        if isinstance(e, ast.FunctionCall) and e.name.expanded in (_FROM, _TO):
            number = self.loops.get(e.args[0].name.expanded) if isinstance(e.args[0], ast.VarRef) else None
            if number is None:
                return None
            window = self.found[number][0]
            assert window.keep.back is not None
            return window.keep.back, window.given | {number}
        if not isinstance(e, ast.Arithmetic) or e.op not in ("+", "-"):
            return None
        before, shift = self.back(e.left), _duration(e.right)
        if before is None or shift is None:
            return None
        months, ticks = abs(shift.months), abs(shift.ticks)
        if (shift.months < 0 or shift.ticks < 0) == (e.op == "-") and (months or ticks):
            return before  # a while ahead: nothing further behind than it was
        return before[0] + (ticks + months * _MONTH + (dt.DAY if months else 0) + 999) // 1000, before[1]


def _duration(e: ast.Expr) -> dt.Duration | None:
    if isinstance(e, ast.DurationLiteral):
        return dt.parse_duration(e.value)
    if isinstance(e, ast.FunctionCall) and e.name.uri == XS and len(e.args) == 1:
        text = e.args[0]
        if e.name.local in ("dayTimeDuration", "yearMonthDuration", "duration") and isinstance(text, ast.StringLiteral):
            return dt.parse_duration(text.value)
    return None


# ------------------------------------------------------------------------------------------------ by the structure


def _unsure(
    targets: Iterable[Target], windows: list[tuple[_Window, ast.AxisStep]], structure: Structure | None
) -> set[int]:
    """The windows of which elements may have no lifespans of their own."""
    found = set()
    for target in targets:
        for at, step in enumerate(target.path.steps):
            if step.test.uri == PLAN:
                path = Path(tuple([_restored(one, windows) for one in target.path.steps[: at + 1]]))
                if structure is None or not all(structure.tags[tag].timed for tag in _reached(path, structure)):
                    found.add(int((step.test.local or "").removeprefix(_WINDOW)))
    return found


def _kept(
    targets: Iterable[Target], windows: list[tuple[_Window, ast.AxisStep]], structure: Structure
) -> dict[int, Keep]:
    kept: dict[int, Keep] = {}

    def keep(tags: Iterable[int], how: Keep) -> None:
        for tag in tags:
            if tag != UNNAMED and structure.tags[tag].timed:
                kept[tag] = kept[tag] | how if tag in kept else how

    for target in targets:
        steps = target.path.steps
        at = next((k for k, step in enumerate(steps) if step.test.uri == PLAN), None)
        if at is None:
            reached = _reached(target.path, structure)
            if not reached:  # what the structure does not know may be anywhere
                keep(_timed(structure), EVERYTHING)
            keep(_with_ancestors(reached, structure), EVERYTHING)
            keep(_below(target, reached, structure), EVERYTHING)
            continue
        window, step = windows[int((steps[at].test.local or "").removeprefix(_WINDOW))]
        assert isinstance(step.test, ast.NameTest)
        test = replace(steps[at].test, uri=step.test.name.uri, local=step.test.name.local)
        top = _reached(Path((*steps[:at], Step(test, steps[at].deep))), structure)
        if not top:
            keep(_timed(structure), EVERYTHING)
        keep(_with_ancestors(top, structure) - top, EVERYTHING)
        keep(top, window.keep)
        path = Path(tuple([_restored(one, windows) for one in steps]))
        within = _reached(path, structure)
        inside = (_with_ancestors(within, structure) & structure.descendants(top)) | _below(target, within, structure)
        keep(inside - top if window.whole else inside, window.keep if window.whole else EVERYTHING)
    return kept


def _restored(step: Step, windows: list[tuple[_Window, ast.AxisStep]]) -> Step:
    """The step as the query wrote it."""
    if step.test.uri != PLAN:
        return step
    test = windows[int((step.test.local or "").removeprefix(_WINDOW))][1].test
    assert isinstance(test, ast.NameTest)
    restored: NodeTest = replace(step.test, uri=test.name.uri, local=test.name.local)
    return Step(restored, step.deep)


def _reached(path: Path, structure: Structure) -> set[int]:
    text = elements(path)
    return structure.expand(text) if text else {structure.root}


def _below(target: Target, reached: set[int], structure: Structure) -> set[int]:
    """The tags inside of what is seen whole."""
    return structure.descendants(reached) if target.action == Action.PROJECT else set()


def _with_ancestors(tags: set[int], structure: Structure) -> set[int]:
    found, waiting = set(tags), list(tags)
    while waiting:
        for parent in structure.parents[waiting.pop()]:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found
