"""The answer on a terminal, alive: items appear, change and vanish where they stand; below, rates, state and lag."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.serve.reception import Reception

FRAMES: Final = 8
"""At most so many pictures a second."""
GLOW: Final = 1.5
"""So many seconds an item shows that it is new, or gone."""
_STYLES: Final = {"after": "bold green", "replace": "bold yellow", "remove": "red strike"}


class LiveView:
    """What has been told of some queries, drawn now and then."""

    def __init__(self, inflow: Inflow, console: Console | None = None) -> None:
        from rich.console import Console as Made
        from rich.live import Live

        self.inflow = inflow
        self.console = console or Made()
        self.count = 0
        self.receptions: dict[str, Reception] = {}
        """What is known of the connections to servers, by stream."""
        self._marks: list[dict[str, tuple[str, float]]] = [{} for _ in inflow.queries]
        self._texts: list[dict[str, str]] = [{} for _ in inflow.queries]
        self._times: deque[float] = deque(maxlen=1000)
        self._lag = 0.0
        self._drawn = 0.0
        self._live = Live(console=self.console, auto_refresh=False)
        self._live.start()

    def changed(self, number: int, emitted: Iterable[Emitted], lag: float) -> None:
        """A query has told changes of its answer, so many seconds after what caused them was read."""
        self._lag = max(lag, self._lag)
        now = monotonic()
        for change, order in emitted:
            if order is not None:
                self._marks[number][order] = change.kind, now

    def arrived(self, changes: int) -> None:
        """So many changes have been taken in."""
        self.count += changes
        self._times.extend([monotonic()] * changes)

    def draw(self, last: bool = False) -> None:
        """A new picture, if it is time for one."""
        now = monotonic()
        if not last and now - self._drawn < 1 / FRAMES:
            return
        self._drawn = now
        self._live.update(self._picture(now, last), refresh=True)
        self._lag = 0.0

    def close(self) -> None:
        """The last picture stays: of the answer as it is, without what is gone."""
        self.draw(last=True)
        self._live.stop()

    def _picture(self, now: float, last: bool) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        room = max(3, (self.console.height - 2) // len(self.inflow.queries) - 3)
        panels = []
        for number, query in enumerate(self.inflow.queries):
            title = " ".join(query.query.text.split())
            title = title if len(title) <= 60 else title[:59] + "…"
            body = self._body(number, query, room, now, last)
            note = f"{query.shown:,} items" + (f", computed anew: {query.recomputed}" if query.recomputed else "")
            if query.waiting:
                note += f", {query.modes.emission}: {query.waiting:,} open holes"
            panels.append(Panel(body, title=Text(title), title_align="left", subtitle=Text(note)))
        return Group(*panels, Text(self._footing(now), style="dim"))

    def _body(self, number: int, query: ContinuousQuery, room: int, now: float, last: bool) -> RenderableType:
        from rich.text import Text

        told = query.failure
        if told is not None:
            return Text(_failure(told), style="bold red")
        marks, texts = self._marks[number], self._texts[number]
        for order in [order for order, (_, since) in marks.items() if now - since > GLOW]:
            del marks[order]
        shown = dict(islice(query.items(), room))
        for order, text in shown.items():  # what changes inside of an item is told without its place
            if texts.get(order, text) != text:
                marks[order] = "replace", now
        removed = [order for order, (kind, _) in marks.items() if kind == "remove"]
        gone = [order for order in removed if order in texts and order not in shown]
        # What is there comes first: what is gone is shown where there is room for it.
        gone = [] if last else gone[: room - len(shown)]
        self._texts[number] = {**{order: texts[order] for order in gone}, **shown}
        lines = Text(no_wrap=True, overflow="ellipsis")
        for order, text in sorted(self._texts[number].items()):
            style = _STYLES.get(marks[order][0], "") if order in marks else ""
            lines.append(" ".join(text.split()) + "\n", style=style)
        if query.shown > room:
            lines.append(f"… {query.shown - room:,} more", style="dim")
        return lines

    def _footing(self, now: float) -> str:
        recent = [time for time in self._times if now - time < 5]
        span = now - recent[0] if recent else 0
        rate = len(recent) / span if span > 0.05 else 0
        sizes = [one.sizes() for one in self.inflow.associations.values()]
        regions, taken = sum(one["regions"] for one in sizes), sum(one["bytes"] for one in sizes)
        return (
            f"{self.count:,} changes  {rate:,.0f}/s  {regions:,} regions  {taken / 1e6:,.1f} MB taken in  "
            f"lag {self._lag * 1000:.1f} ms" + "".join(f"  {name}: {one}" for name, one in self.receptions.items())
        )


def _failure(failure: XStreamError) -> str:
    return f"{failure.code} {failure.message}"
