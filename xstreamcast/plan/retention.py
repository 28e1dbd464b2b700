"""How long the versions and events of each tag must be kept for a query (SIGMOD'04 §6).

What a query sees of a tag only through ``?[now-D, …]`` it cannot see again once it has ended more than D ago, because
now never decreases. So every projection whose lower bound is the current time less a fixed while, or a fixed time, is a
*window*; each step that a window is of gets a name of its own, and the analysis of paths (:mod:`~xstreamcast.plan.
projection.project`) tells what is seen below which window, and what outside of all of them:

    kept of a tag = the longest window it is seen through; everything, if it is seen otherwise

``?[now]`` keeps what is alive; ``e#[last]`` the newest version of each hole. vtTo of a version is its successor's
vtFrom, which is kept at least as long. What is in a window began to be seen no further back than that: so
``?[vtFrom($r)-d, …]`` of another stream is a window of D + d, where $r is in one of D.

In the modes certain and optimistic a query also asks whether holes on the way of a path are open
(:mod:`~xstreamcast.plan.modes.ways`): what it asks of what is in a window needs no more to be kept than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.model import datetime as dt
from xstreamcast.model.structure import UNNAMED
from xstreamcast.model.time import Instant, format_instant, parse_instant
from xstreamcast.plan.algebra import PLAN, Strategy
from xstreamcast.plan.explain.structure import elements
from xstreamcast.plan.modes.ways import MODES, Way, ask, parse_way
from xstreamcast.plan.projection.project import project
from xstreamcast.plan.windows import Behind, behind_now, is_newest
from xstreamcast.scan.automaton import Action
from xstreamcast.scan.path import Path, Step

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Plan, VarName
    from xstreamcast.scan.automaton import Target
    from xstreamcast.scan.path import NodeTest

_WINDOW: Final = "window-"


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


def retention(
    plan: Plan, structures: Mapping[str, Structure], asked: Iterable[tuple[str, Way]] = ()
) -> dict[str, dict[int, Keep]]:
    """Of each stream with a structure, what must be kept of the tags that come in versions and as events.

    A tag that is not among them is not looked at. ``asked``: the ways from documents on which holes are asked for.
    """
    known = {
        source.variable: (source.uri or "", structures[source.uri or ""])
        for source in plan.sources
        if (source.uri or "") in structures
    }
    body = plan.module.body
    assert body is not None
    windows = _Windows()
    variables = {source.uri or "": ast.Name(None, source.variable[1], source.variable[0]) for source in plan.sources}
    questions = [ask(ast.VarRef(variables[stream]), way) for stream, way in asked if stream in variables]
    marked = windows.visit(ast.Sequence((body, *questions)))
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
        if isinstance(made, ast.FunctionCall) and made.name.uri == MODES:
            return self.asked(made)
        if isinstance(made, ast.ForClause | ast.QuantifiedBinding):
            self.bound(made.var.expanded, made.source)
        window = self.window(made)
        if window is None:
            return made
        assert isinstance(made, ast.IntervalProjection | ast.VersionProjection)
        base = self.named(_unasked(made.base), window)
        return made if base is None else replace(made, base=base)

    def asked(self, question: ast.FunctionCall) -> ast.Expr:
        """The question for open holes, with another name for the last step of its way if that is in a window."""
        nodes, spelled = question.args
        assert isinstance(spelled, ast.StringLiteral)
        way = parse_way(spelled.value)
        step = way.steps[-1] if way.windowed or way.newest else None
        if step is None or step.test.uri is None or step.test.local is None or step.axis not in ("child", "descendant"):
            return question
        window = _Window(NEWEST, False) if way.newest else _Window(Keep(False, way.back, way.since), True)
        name = ast.NameTest(ast.Name("", step.test.local, step.test.uri))
        self.found.append((window, ast.AxisStep(step.axis, name, ())))
        marked = replace(step, test=replace(step.test, uri=PLAN, local=f"{_WINDOW}{len(self.found) - 1}"))
        return ask(nodes, replace(way, steps=(*way.steps[:-1], marked)))

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
            return _Window(NEWEST, False) if is_newest(e) else None
        if not isinstance(e, ast.IntervalProjection):
            return None
        if isinstance(e.begin, ast.InstantLiteral):
            return _Window(Keep(since=parse_instant(e.begin.value)), True)
        found = behind_now(e.begin, self.lives)
        return None if found is None else _Window(Keep(back=max(0, found[0])), True, found[1])

    def lives(self, e: ast.Expr) -> Behind | None:
        """How far behind now the life of what a loop over a window goes through begins, at most."""
        number = self.loops.get(e.name.expanded) if isinstance(e, ast.VarRef) else None
        if number is None:
            return None
        window = self.found[number][0]
        assert window.keep.back is not None
        return window.keep.back, window.given | {number}


def _unasked(base: ast.Expr) -> ast.Expr:
    """A path without the predicates of its last step that ask for open holes in what that leads to."""
    if isinstance(base, ast.Path):
        return replace(base, steps=(*base.steps[:-1], _unasked(base.steps[-1])))
    if not isinstance(base, ast.AxisStep):
        return base
    return replace(base, predicates=tuple([p for p in base.predicates if not _asks_within(p)]))


def _asks_within(p: ast.Expr) -> bool:
    if isinstance(p, ast.FunctionCall) and p.name.uri != MODES and len(p.args) == 1:
        return _asks_within(p.args[0])  # not(…)
    return isinstance(p, ast.FunctionCall) and p.name.uri == MODES and isinstance(p.args[0], ast.ContextItem)


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
        for tags in _passed(steps[:at], structure):  # which are looked at on the way, whatever is below them
            keep(_with_ancestors(tags, structure), EVERYTHING)
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
        around = {parent for tag in top for parent in structure.parents[tag]}  # which may be what the window is of, too
        keep(_with_ancestors(around, structure), EVERYTHING)
        keep(top, window.keep)
        path = Path(tuple([_restored(one, windows) for one in steps]))
        within = _reached(path, structure).union(*_passed(path.steps, structure, at + 1))
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


def _passed(steps: tuple[Step, ...], structure: Structure, begin: int = 0) -> list[set[int]]:
    """The tags that each of some steps leads to, from one on."""
    return [_reached(Path(steps[: end + 1]), structure) for end in range(begin, len(steps))]


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
