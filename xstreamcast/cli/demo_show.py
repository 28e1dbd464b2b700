"""What ``xcast demo`` shows: lines that tell the story, and on a terminal the alerts as they stand, below them.

An alert says itself why it stands: the charges within the hour are in it. Why it was withdrawn follows from these and
from what time it is: either some of them are more than an hour ago, or the limit is another one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from xstreamcast.cli.interrupts import kept

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

_HOUR: Final = timedelta(hours=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FRAMES: Final = 8
"""Pictures a second."""
_GLOW: Final = 5.0
"""Seconds for which an alert that was withdrawn can still be seen on a terminal."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A transaction that was charged."""

    at: datetime
    amount: Decimal
    vendor: str

    def __str__(self) -> str:
        return f"{self.at:%H:%M} {self.amount:,}"


@dataclass(frozen=True, slots=True)
class Alert:
    """An account that was charged too much within the hour, with the charges."""

    account: str
    customer: str
    limit: Decimal
    charges: tuple[Charge, ...]

    @classmethod
    def of(cls, markup: str) -> Alert:
        """From an item of the answer."""
        alert = ElementTree.fromstring(markup)
        charges = [
            Charge(
                datetime.fromisoformat(one.attrib["at"]).replace(tzinfo=UTC),
                Decimal(one.attrib["amount"]),
                one.text or "",
            )
            for one in alert
        ]
        told = alert.attrib
        return cls(told["account"], told["customer"], Decimal(told["limit"]), tuple(charges))

    @property
    def who(self) -> str:
        return f"{self.account} {self.customer}"

    @property
    def charged(self) -> Decimal:
        return sum((one.amount for one in self.charges), Decimal())

    @property
    def threshold(self) -> Decimal:
        return max(self.limit * Decimal("0.9"), Decimal(5000))

    @property
    def kind(self) -> str:
        return "maxed out" if self.charged >= self.limit else "suspicious"

    @property
    def why(self) -> str:
        """The charges within the hour."""
        return " + ".join(map(str, self.charges))

    def why_withdrawn(self, now: datetime) -> str:
        """What became of the reason for it.

        Its charges count for an hour, and the sum of them is compared with the limit: nothing else can be different.
        """
        old = [one for one in self.charges if one.at < now - _HOUR]
        left = self.charged - sum((one.amount for one in old), Decimal())
        if left >= self.threshold:
            return f"{left:,} are still within the hour, but its limit is no longer {self.limit:,}"
        gone = f"{old[0]} is" if len(old) == 1 else f"{len(old)} charges of {old[0].at:%H:%M} to {old[-1].at:%H:%M} are"
        return f"it is {now:%H:%M}, and {gone} more than an hour ago; {left:,} of {self.charged:,} is left"


def counted(count: int, what: str) -> str:
    """So many of something, in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class Show:
    """Says what is new, micro-batch by micro-batch, and is a sink of the query that runs live.

    ``opening`` is how many fragments come before the live part; ``n`` how many have been taken in, ``bulk_rate`` how
    many of the ledger in a second after the first micro-batch; ``came`` and ``gone`` count alerts, ``since`` is when
    the last micro-batch ended; ``tell`` is told how far Spark is.
    """

    def __init__(self, console: Console, opening: int) -> None:
        self.console = console
        self.opening = opening
        self.tell: Callable[[int], object] = lambda _: None
        self.n = self.came = self.gone = 0
        self.rate = self.bulk_rate = 0.0
        self.phase = "starting"
        self.now = _EPOCH
        self.began = self.since = time.monotonic()
        self.alerts: dict[str, Alert] = {}
        self.withdrawn: deque[tuple[float, Alert, str]] = deque(maxlen=8)
        self._warm = 0, 0.0
        self._lock = threading.Lock()

    def say(self, text: str, style: str = "") -> None:
        """A line, with the seconds since the beginning."""
        from rich.text import Text

        self.console.print(Text(f"{time.monotonic() - self.began:5.1f} s  {text}", style))

    def ask(self, title: str, query: str) -> None:
        """What is asked now; nothing has been taken in."""
        self.console.print(f"\n{title}", style="bold")
        self.console.print(query, style="cyan", markup=False)
        self.phase, self.n, self.rate, self.since = "starting", 0, 0.0, time.monotonic()

    def published(self, sent: int) -> None:
        """The bank has published so many fragments of its accounts."""
        if sent == self.opening:
            self.say(f"the bank is open: {sent:,} fragments, out of order, are in the server's log")

    def read(self, answers: Answers) -> None:
        """A micro-batch of the ledger has been taken in."""
        ended = self._taken("bulk", answers.n)
        shown = f"{counted(answers.queries[0].shown, 'spender')} shown"
        if not self._warm[0]:  # Spark's processes have started, too
            self._warm = self.n, ended
            self.say(f"{self.n:,} fragments, with the start of Spark's processes; {shown}")
            return
        self.bulk_rate = (self.n - self._warm[0]) / (ended - self._warm[1])
        self.say(f"{self.n:,} fragments, {self.rate:,.0f} a second; {shown}")

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        """A micro-batch of the live stream is done, and these are the alerts now."""
        before = self.n
        ended = self._taken("live", answers.n)
        if batch.progress is not None and batch.progress["now"] is not None:
            self.now = _EPOCH + timedelta(microseconds=batch.progress["now"])
        with self._lock:
            standing = {alert.account: alert for alert in (Alert.of(item) for _, item in answers.queries[0].items())}
            was, self.alerts = self.alerts, standing
        if before < self.opening <= self.n:
            self.say(f"the accounts are there, {self.n:,} fragments; from here on slowly, so that it can be followed:")
        self._live(was, standing, ended)
        self.tell(self.n)

    def _taken(self, phase: str, n: int) -> float:
        """So many fragments have been taken in; when that was."""
        ended = time.monotonic()
        self.phase, self.rate = phase, (n - self.n) / (ended - self.since)
        self.n, self.since = n, ended
        return ended

    def _live(self, was: dict[str, Alert], standing: dict[str, Alert], ended: float) -> None:
        for account, alert in was.items():
            if account not in standing:
                self.gone += 1
                reason = alert.why_withdrawn(self.now)
                self.withdrawn.append((ended, alert, reason))
                self.say(f"- {alert.who} is withdrawn: {reason}", "dim")
        for account, alert in standing.items():
            if account not in was:
                self.came += 1
                self.say(
                    f"+ {alert.who} is {alert.kind}: {alert.charged:,} within the hour, limit {alert.limit:,}", "yellow"
                )
                self.say(f"  {alert.why}", "yellow")

    def picture(self) -> RenderableType:
        """The alerts as they stand, and what was withdrawn a moment ago; below, how fast it goes."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            standing = sorted(self.alerts.values(), key=lambda alert: alert.charges[-1].at if alert.charges else _EPOCH)
            gone = [(alert, why) for ended, alert, why in self.withdrawn if time.monotonic() - ended < _GLOW]
        footing = Text(f"{self.phase}: {self.n:,} fragments, {self.rate:,.0f} a second", style="dim")
        if not standing and not gone:
            return footing
        room = max(2, self.console.height // 2 - 4)
        table = Table(title=f"{counted(len(standing), 'alert')} at {self.now:%d %B %Y, %H:%M}", expand=True)
        for name in ("account", "charged", "limit"):
            table.add_column(name, justify="left" if name == "account" else "right", no_wrap=True)
        table.add_column("why", ratio=1)
        for alert in standing[-room:]:
            style = "bold red" if alert.kind == "maxed out" else "bold yellow"
            table.add_row(Text(alert.who), f"{alert.charged:,}", f"{alert.limit:,}", alert.why, style=style)
        for alert, why in gone[: max(0, room - len(standing))]:
            table.add_row(Text(alert.who, "strike"), "", f"{alert.limit:,}", f"withdrawn: {why}", style="dim")
        return Group(table, footing)

    def compared(self, what: str, shown: str, expected: str, where: str) -> bool:
        """Say whether an answer is that of the query run from scratch."""
        equal = shown == expected
        counts = [
            f"{counted(text.count(f'<{what} '), what)}, {len(text.encode()):,} bytes" for text in (shown, expected)
        ]
        self.say(
            f"  shown {counts[0]}; from scratch on {where} {counts[1]}: "
            + ("the same, byte for byte" if equal else "NOT the same"),
            "bold green" if equal else "bold red",
        )
        return equal

    def close(self) -> None:
        """All has been said."""


@contextmanager
def showing(opening: int, *, live: bool) -> Iterator[Show]:
    """Lines on standard output; ``live``: below them, on a terminal, the alerts as they stand."""
    from rich.console import Console
    from rich.live import Live

    show = Show(Console(highlight=False, soft_wrap=not live), opening)
    if not live:
        yield show
        return

    def start() -> Live:
        view = Live(console=show.console, get_renderable=show.picture, refresh_per_second=_FRAMES)
        view.start()
        return view

    with kept(start, Live.stop):
        yield show
