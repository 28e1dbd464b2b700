"""Queries over timed streams beside the evaluator on T(γ) as of now, change by change and tick by tick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xstreamcast.cast.materialise import Materialiser, View
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, Instant, parse_instant
from xstreamcast.run.continuous.query import ContinuousQuery, continuous
from xstreamcast.run.continuous.time.clock import Clock
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at

Happening = tuple[str, Change] | Instant
"""A change of a stream, or a tick."""


class Beside:
    """A query that goes on, and T of its streams; :meth:`happen` compares the answers, and what was told of them."""

    def __init__(self, text: str, structures: Mapping[str, Structure], clock: Clock = "event") -> None:
        self.text = text
        self.clock = clock
        self.whole = compile(text)
        self.query: ContinuousQuery = continuous(text, structures=structures, clock=clock)
        self.t = {name: Materialiser(structure) for name, structure in structures.items()}
        self.sink = Materialiser()
        self.now: Instant = START

    def happen(self, *happenings: Happening) -> None:
        for one in happenings:
            if isinstance(one, tuple):
                name, change = one
                if name in self.query.streams:
                    self.t[name].apply(change)
                    self.query.inflow.feed(change, name)
            else:
                self.now = max(self.now, one)
                self.query.inflow.tick(one)
            if self.clock == "event":
                self.now = max([self.now, *[t.now for t in self.t.values()]])
            self.compare(one)

    def compare(self, after: object) -> None:
        expected = self.from_scratch()
        told = self.query.told()
        for emitted in self.query.take():
            self.sink.apply(emitted.change)
        if isinstance(told, XStreamError):
            assert f"error {told.code}" == expected, f"{self.text}\nafter {after}: {told}"
            return
        assert told == expected, f"{self.text}\nafter {after}"
        assert serialise(self.query.answer().items()) == expected, f"{self.text}\nafter {after}"
        assert self.sink.text() == expected, f"{self.text}\nafter {after}"

    def from_scratch(self) -> str:
        nodes = {
            name: view_of(t.text(view=View(now=self.now)).encode(), f"stream:{name}") for name, t in self.t.items()
        }
        try:
            return serialise(self.whole(streams=lambda name: nodes[name], now=moment_at(self.now)).items())
        except XStreamError as failure:
            return f"error {failure.code}"

    @property
    def evaluated(self) -> int:
        found: int = self.query.state()["evaluated"]
        return found


def at(text: str) -> Instant:
    """An instant of a day in November 2003: a day, or a time of the first."""
    return parse_instant(f"2003-11-{text}" if "T" in text or len(text) == 2 else f"2003-11-01T{text}")


def in_turn(stream: str, changes: Iterable[Change]) -> list[Happening]:
    """The changes of one stream."""
    return [(stream, change) for change in changes]
