"""A query that goes on, in its process: records of logs go in, differences of its answer come out.

A *moment* is a number: how many records have been taken in. The answer at every moment is kept
(:class:`~xstreamcast.console.history.History`), with how far each stream was then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from xstreamcast import continuous, explain
from xstreamcast.console.counts import edge_counts
from xstreamcast.console.history import History, Items
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, format_instant
from xstreamcast.plan.modes.rewrite import Emission
from xstreamcast.wire.fragment import FragmentReader

SHOWN: Final = 1000
"""So many items of an answer are told; the others are counted."""
ERROR: Final = "!"
"""The label of the error that stands for an answer."""
_AT_A_TIME: Final = 200
"""Where more items are shown than this, the answer is looked at after several records."""
_ODD: Final = 50
_STEPS: Final = 200_000
"""How many times, and how many turns of the streams, are known of the past; older ones are let go of."""


class Standing:
    """One query. ``taken``: how many records it has taken in, over all streams."""

    def __init__(self, text: str, structures: dict[str, Structure], emit: Emission) -> None:
        self.odd: list[str] = []
        self.explanation = explain(text, structures=structures, emit=emit)
        self.query = continuous(text, emit=emit, report=self._hear)
        self.history = History()
        self.taken = 0
        self._runs: list[tuple[int, str, int]] = []  # from a moment on, a stream brought records from a number on
        self._reached: dict[str, int] = {}
        self._times: list[tuple[int, int]] = []
        self._told = 0
        self._floor = 0

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads."""
        return tuple(self.query.streams)

    def _hear(self, diagnostic: Diagnostic) -> None:
        self.odd = [*self.odd, str(diagnostic)][-_ODD:]

    # ------------------------------------------------------------------------------------------------- going on

    def feed(self, stream: str, records: Iterable[tuple[int, bytes]]) -> dict[str, Any]:
        """Take in records of a log; what they change in the answer."""
        differences: dict[str, str | None] = {}
        unseen = 0
        for n, wire in records:
            for arrival in FragmentReader([wire], source=stream):
                if isinstance(arrival.item, Change | Structure):
                    self._told += len(self.query.feed(arrival.item, stream))
            self._count(stream, n)
            unseen += 1
            if unseen >= max(1, len(self.history.items) // _AT_A_TIME):
                unseen = 0
                differences.update(self._look())
        if unseen:
            differences.update(self._look())
        return {"taken": self.taken, "changes": list(differences.items()), **self.figures()}

    def _count(self, stream: str, n: int) -> None:
        """Another record is in."""
        self.taken += 1
        if not self._runs or self._runs[-1][1] != stream or self._reached.get(stream) != n - 1:
            self._runs.append((self.taken, stream, n))
        self._reached[stream] = n
        now = self.query.inflow.now
        if now != START and (not self._times or self._times[-1][1] != now):
            self._times.append((self.taken, now))
        if len(self._runs) > _STEPS:
            self._floor = max(self._floor, self._runs[_STEPS // 2][0])
            del self._runs[: _STEPS // 2]
        if len(self._times) > _STEPS:
            self._floor = max(self._floor, self._times[_STEPS // 2][0])
            del self._times[: _STEPS // 2]

    @property
    def first(self) -> int:
        """The first moment of the time line."""
        return max(self.history.first, self._floor)

    def _look(self) -> list[tuple[str, str | None]]:
        return self.history.note(self.taken, self._items())

    def _items(self) -> Items:
        failure = self.query.failure
        if failure is not None:
            return {ERROR: f"{failure.code} {failure.message}"}
        return dict(islice(self.query.items(), SHOWN))

    def figures(self) -> dict[str, Any]:
        """The figures of the query that are told with every change."""
        return {"shown": self.query.shown, "told": self._told, "now": self._now(self.taken)}

    def state(self) -> dict[str, Any]:
        """The sizes of its state, and the counts of its plan."""
        state = self.query.state()
        return {
            **state,
            **self.figures(),
            "counts": edge_counts(self.explanation, self.query.plan, state, self.query.shown),
            "recomputed": self.query.recomputed,
            "warnings": [*self.query.warnings, *self.odd],
            "waiting": self.query.waiting,
        }

    # ------------------------------------------------------------------------------------------------- the time line

    def line(self) -> dict[str, Any]:
        """The time line: its first and last moment, and when the answer became another one."""
        return {"first": self.first, "last": self.taken, "moments": self.history.moments[-5000:]}

    def at(self, moment: int) -> dict[str, Any]:
        """The answer at a moment, with how far the streams were and what time it was."""
        moment = min(max(moment, self.first), self.taken)
        items = list(self.history.at(moment).items())
        return {"moment": moment, "streams": self._heads(moment), "now": self._now(moment), "items": items}

    def between(self, one: int, other: int) -> dict[str, Any]:
        """The difference of the answer between two moments."""
        found = self.history.between(one, other)
        return {
            "from": self._heads(min(one, other)),
            "to": self._heads(max(one, other)),
            "appeared": list(found.appeared.items()),
            "changed": [[label, before, after] for label, (before, after) in found.changed.items()],
            "vanished": list(found.vanished.items()),
        }

    def _heads(self, moment: int) -> dict[str, int]:
        """The number of the last record of each stream."""
        heads = dict.fromkeys(self.streams, 0)
        last = bisect_right(self._runs, moment, key=lambda run: run[0])
        for number, (begun, stream, n) in enumerate(self._runs[:last]):
            end = min(moment, self._runs[number + 1][0] - 1 if number + 1 < len(self._runs) else moment)
            heads[stream] = n + end - begun
        return heads

    def _now(self, moment: int) -> str:
        """The event time."""
        number = bisect_right(self._times, moment, key=lambda time: time[0])
        return format_instant(self._times[number - 1][1]) if number else ""
