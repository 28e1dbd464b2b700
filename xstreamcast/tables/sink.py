"""Changes of an answer → changes of its table: whole transactions, and after a restart nothing before the answer is as
far as it was.

A query is asked again from the beginning of its streams when it is started again. Its answer at a position depends on
what the streams brought up to there and nothing else, so the table stays as it is until the answer has come to the
position of the table; then what differs is written, and from there on every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final

from xstreamcast.model.change import ANSWER, ERROR, ContentChange, Hide, Remove, Replace, Show

if TYPE_CHECKING:
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.tables.answer_table import AnswerTable, RowChange
    from xstreamcast.tables.contents import Contents

_MANY: Final = 5_000
"""Changed rows that are written, whatever the time."""
_SOON: Final = 0.25
"""Seconds after which rows are written that have changed."""
_ROWS: Final = 1_000
"""Contents that are read together."""


class TableSink:
    """Keeps a table equal to an answer, of which it hears every change, with its place.

    ``where`` tells how much of each stream has come, ``over`` whether the streams are at their end: then the answer
    stands, however far it was before.
    """

    def __init__(
        self, table: AnswerTable, contents: Contents, where: Callable[[], dict[str, int]], over: Callable[[], bool]
    ) -> None:
        self.table, self.contents, self.where, self.over = table, contents, where, over
        self.catching_up = table.begun
        """Whether the answer is not yet as far as the table."""
        self.position: dict[str, int] = {}
        self._net: dict[int, tuple[str, bytes] | None] = {}
        self._cleared = False
        self._failing = False
        self._failure = ""
        self._told = False
        self._written = monotonic()

    def take(self, emitted: Iterable[Emitted], soon: bool = False) -> None:
        """Takes the difference of the answer; it is written now, or ``soon``."""
        self.position = self.where()
        for change, order in emitted:
            self._told = True
            if change.region == ANSWER and isinstance(change, Hide | Show):
                self._failing = isinstance(change, Hide)
            elif change.region == ANSWER and isinstance(change, Replace):  # it is told anew: what was in it is gone
                self._cleared = True
                self._net = {}
            elif change.region == ERROR:
                self._failure = change.content.decode() if isinstance(change, ContentChange) else ""
            elif order is not None:
                if isinstance(change, Remove):
                    self._net[change.region] = None
                elif isinstance(change, ContentChange):
                    self._net[change.region] = order, change.content
        self.flush(soon=soon)

    def flush(self, *, soon: bool = False) -> None:
        """Write what has changed; ``soon``: if it is much, or a while ago that something was written."""
        if soon and len(self._net) < _MANY and monotonic() - self._written < _SOON:
            return
        if self.catching_up:
            known = self.table.position
            if any(count < known.get(stream, 0) for stream, count in self.position.items()):
                return
            self._reconcile()
        elif self._told or self.position != self.table.position:
            self._write()
        self._written = monotonic()

    def close(self, over: bool) -> None:
        """There will be no more. ``over``: the streams are at their end."""
        try:
            if self.catching_up and over:
                self._reconcile()
            self.flush()
        finally:
            self.table.close()

    def __enter__(self) -> TableSink:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(over=kind is None and self.over())

    def _write(self) -> None:
        if self._failing:
            self.table.fail(self.position, self._failure)
            self._told = False
            return
        with self.table.transaction(self.position):
            if self._cleared:
                self.table.clear()
            self.table.write(self._rows())
        self._settled()

    def _reconcile(self) -> None:
        if self._failing:
            self.table.fail(self.position, self._failure)
            return
        self.table.reconcile(self._rows(), self.position)
        self.catching_up = False
        self._settled()

    def _settled(self) -> None:
        self._net, self._cleared, self._told = {}, False, False

    def _rows(self) -> Iterable[RowChange]:
        """The rows that have changed."""
        from xstreamcast.tables.answer_table import RowChange

        there = [(region, *told) for region, told in self._net.items() if told is not None]
        for region, told in self._net.items():
            if told is None:
                yield RowChange(region, None, None)
        for start in range(0, len(there), _ROWS):
            some = there[start : start + _ROWS]
            rows = self.contents.rows([content for _, _, content in some])
            for (region, place, _), values in zip(some, rows, strict=True):
                yield RowChange(region, place, values)
