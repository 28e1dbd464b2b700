"""Emission in the modes *certain* and *optimistic*: a live document that knows its open holes, and who asks for them.

A hole is open while a filler may come that it does not have yet: one without a time until it is filled, one that may
take several fillers (versions, events) until it is frozen; none any more at the end of the stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.change import Eos
from xstreamcast.model.names import DOCUMENT
from xstreamcast.model.time import NOW, event_lifespan, parse_instant, version_lifespan
from xstreamcast.plan.modes.rewrite import ENDED
from xstreamcast.plan.modes.ways import MODES, parse_way
from xstreamcast.run.continuous.adjust.derived import Bodied
from xstreamcast.run.continuous.adjust.sums import every
from xstreamcast.run.continuous.associate.noted import Noted
from xstreamcast.run.continuous.evaluate.marks import (
    Mark,
    States,
    Watermark,
    begun,
    entered,
    in_window,
    is_open,
    register,
    takes_more,
)
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.time.sealing import Sealed
from xstreamcast.run.temporal import VT_FROM, VT_TO, instant_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.cast.regions import Filling
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.time import Instant, Interval
    from xstreamcast.plan.algebra import VarName
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.plan.modes.ways import Way
    from xstreamcast.run.continuous.associate.mounts import Above, Occurrence

register()


class Marked(Noted):
    """A live document whose places are marked while they are open; ``pending`` has these.

    ``at_end``: the stream is at its end.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        self.pending: dict[Occurrence, None] = {}
        self.at_end = False
        self.clock = Watermark()
        self._marks: dict[int | None, Mark] = {}
        self._witnesses: dict[Way, Occurrence] = {}
        super().__init__(*args, **given)
        self._mark(self.root)

    def passes_over(self, number: int, filling: Filling) -> bool:
        """… if it has no holes that could be asked for; nor could its end, where its hole is open by itself."""
        if not super().passes_over(number, filling) or filling.has_holes:
            return False
        return all(place.tsid in (None, filling.tsid) for place in self.at(number))

    def follow(self, change: Change) -> None:
        super().follow(change)
        if isinstance(change, Eos):
            self.close()

    def close(self) -> None:
        """Nothing more will come: what hung on open holes is looked at again."""
        self.at_end = True
        for occurrence in tuple(self.pending):
            self._mark(occurrence)

    def arrive(self, filled: list[tuple[int, Filling]], timed: Mapping[int, list[Filling]], anew: set[int]) -> None:
        super().arrive(filled, timed, anew)
        for number, _ in filled:
            for occurrence in self.at(number):
                self._mark(occurrence)

    def sync(self, occurrence: Occurrence) -> None:
        super().sync(occurrence)
        self._mark(occurrence)

    def _mount(self, occurrence: Occurrence, filling: Filling, *args: Any) -> None:
        super()._mount(occurrence, filling, *args)
        for held in occurrence.mounts[id(filling)].holes.values():
            self._mark(held)

    def _dispose_one(self, occurrence: Occurrence) -> None:
        super()._dispose_one(occurrence)
        self.pending.pop(occurrence, None)

    def _mark(self, occurrence: Occurrence) -> None:
        mark = self._kind(occurrence) if self._is_open(occurrence) else None
        if mark is not occurrence.open:
            occurrence.open = mark
            if mark is None:
                self.pending.pop(occurrence, None)
            else:
                self.pending[occurrence] = None
            self.disturb(occurrence)
            for mount in occurrence.mounts.values():
                if mount.lifespan is not None:  # whether a further version may end it
                    self.dirty.update(dict.fromkeys(mount.members))

    def _is_open(self, occurrence: Occurrence) -> bool:
        if self.at_end or occurrence.inline:
            return False
        tag = None if self.structure is None else self.structure.tags.get(occurrence.tsid or 0)
        return takes_more(occurrence.region, tag)

    def _kind(self, occurrence: Occurrence) -> Mark:
        structure: Structure | None = self.structure
        tag = occurrence.tsid
        if occurrence is self.root and structure is not None and not structure.unnamed:
            tag = structure.root
        if structure is None or tag not in structure.tags:
            tag = None
        known = self._marks.get(tag)
        if known is None or known.structure is not structure:
            known = self._marks[tag] = Mark(tag, structure, self.clock)
        return known

    def waits(self, way: Way, now: Instant) -> bool:
        """Whether there is an open hole on a way from the document."""
        witness = self._witnesses.get(way)
        lasts = way.until is None and not way.windowed
        if witness is not None and lasts and witness in self.pending and _is_shown(witness):
            return True
        known: dict[Above | None, States] = {None: begun(way, DOCUMENT)}
        for occurrence, mark in [(one, one.open) for one in self.pending]:
            states = _states(way, occurrence.above, known, now)
            if mark is not None and is_open(way, states, mark) and _is_shown(occurrence):
                self._witnesses[way] = occurrence
                return True
        self._witnesses.pop(way, None)
        return False


def _states(way: Way, above: Above | None, known: dict[Above | None, States], now: Instant) -> States:
    chain: list[Above] = []
    while above not in known:
        assert above is not None
        chain.append(above)
        above = above.parent
    states = known[above]
    for one in reversed(chain):
        states = entered(way, states, one.name)
        span = _lifespan(one) if way.windowed else None
        known[one] = states = states if span is None else in_window(way, states, span, now)
    return states


def _lifespan(above: Above) -> Interval | None:
    """That of an element that is a version or an event."""
    ends = {name: parse_instant(value) for name, _, value in above.attributes if name in (VT_FROM, VT_TO)}
    if VT_FROM not in ends:
        return None
    begin, end = ends[VT_FROM], ends.get(VT_TO, NOW)
    return event_lifespan(begin) if begin == end else version_lifespan(begin, end)


def _is_shown(occurrence: Occurrence) -> bool:
    """Whether nothing around a place is hidden, nor itself."""
    while not occurrence.hidden:
        if occurrence.parent is None:
            return True
        occurrence = occurrence.parent.occurrence
    return False


def _until(part: ast.Node) -> Instant | None:
    """The end of the window that a question for open holes is about."""
    if isinstance(part, ast.FunctionCall) and part.name.uri == MODES and isinstance(part.args[1], ast.StringLiteral):
        return parse_way(part.args[1].value).until
    return None


def ends_of_windows(modes: Modes) -> list[Instant]:
    """The ends of the windows in which a query asks for open holes."""
    ends = {until for until in map(_until, descendants(modes.module)) if until is not None}
    return sorted(ends | {way.until for _, (_, way) in modes.asked if way.until is not None})


class Modal(Journal):
    """A query in a mode that goes on. The variables that ask for open holes are kept as they are."""

    live_type = Marked

    def __init__(self, modes: Modes, *args: Any, **given: Any) -> None:
        self.modes = modes
        self.answers: dict[VarName, bool] = {}
        self._ends = ends_of_windows(modes)
        super().__init__(*args, **given)

    def _bulk(self) -> None:
        """Every hole may be asked whether it is open: none stands in a run.

        What is closed with all that is in it has no open holes. It may be let go of where nothing is asked of the
        documents as a whole: that will be answered otherwise.
        """
        asked = {ENDED, *[name for name, _ in self.modes.asked]}
        for where in self.alone():
            parts = descendants(self.unit(where).items)
            asks = any(isinstance(part, ast.VarRef) and part.name.expanded in asked for part in parts)
            if not asks and where[1] not in self.live[where[0]].route.each:
                self.sealable.add(where)

    def close(self, stream: str) -> None:
        """A stream is at its end."""
        live = self.live.get(stream)
        if live is not None:
            assert isinstance(live, Marked)
            live.close()

    @property
    def waiting(self) -> int:
        """How many holes that the query looks into are open."""
        return sum(len(live.pending) for live in self.live.values() if isinstance(live, Marked))

    def _settle(self) -> None:
        self._ask()
        super()._settle()

    def _ask(self) -> None:
        """See what the variables say now; if one says something else, whoever may read it looks again."""
        found: dict[VarName, bool] = {}
        lives = {name: live for name, live in self.live.items() if isinstance(live, Marked)}
        for name, (stream, way) in self.modes.asked:
            found[name] = lives[stream].waits(way, instant_of(self.evaluation.now)) if stream in lives else False
        if self.modes.ended:
            found[ENDED] = all(live.at_end for live in lives.values())
        if found != self.answers:
            self.answers = found
            for name, answer in found.items():
                self.evaluation.given[name] = [answer]
                self.evaluation.bind(name, answer)
            self._look_again()

    def pass_by(self, watermark: Instant) -> None:
        """Nothing that begins before the watermark comes any more: windows that end before it are complete."""
        passed = False
        for live in self.live.values():
            assert isinstance(live, Marked)
            passed |= any(live.clock.at <= end < watermark for end in self._ends)
            live.clock.at = max(live.clock.at, watermark)
        if passed:
            self._look_again()

    def _look_again(self) -> None:
        for live in self.live.values():
            for sequence in live.top.values():
                live.dirty.update(dict.fromkeys([one for one in every(sequence) if not isinstance(one, Sealed)]))
        for derived in self.derived.values():
            if isinstance(derived, Bodied):
                derived.again()
        self.redone = True
