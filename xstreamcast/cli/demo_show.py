"""What ``xcast demo`` shows: lines that tell the story, and on a terminal the alerts as they stand, below them.

An alert says itself why it stands: the charges within the hour are in it. Why it was withdrawn follows from these and
from what time it is: either some of them are more than an hour ago, or the limit is another one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
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
        return _sum(self.charges)

    def why_withdrawn(self, now: datetime) -> str:
        """What became of the reason for it.

        Its charges count for an hour, and the sum of them is compared with the limit: nothing else can be different.
        """
        old = [one for one in self.charges if one.at < now - _HOUR]
        left = self.charged - sum((one.amount for one in old), Decimal())
        if left >= self.threshold:
            return f"{left:,} are still within the hour, but its limit is no longer {self.limit:,}"
        return f"it is {now:%H:%M}, and {_sum(old)} is more than an hour ago: {left:,} is left"


def _sum(charges: Iterable[Charge]) -> str:
    return " + ".join(map(str, charges))


def counted(count: int) -> str:
    """So many alerts, in words."""
    return f"{count:,} alert{'' if count == 1 else 's'}"


class Show:
    """A sink of Spark's query: follows the micro-batches, and says what is new. The first ``bulk`` fragments come fast.

    ``n`` is how many fragments have been taken in, ``came`` and ``gone`` count alerts of the live part, ``since`` is
    when the last micro-batch ended; ``tell`` is told how far Spark is.
    """

    def __init__(self, console: Console, bulk: int) -> None:
        self.console = console
        self.bulk = bulk
        self.tell: Callable[[int], object] = lambda _: None
        self.n = self.came = self.gone = 0
        self.rate = 0.0
        self.now = _EPOCH
        self.began = self.since = time.monotonic()
        self.alerts: dict[str, Alert] = {}
        self.withdrawn: deque[tuple[float, Alert, str]] = deque(maxlen=8)
        self._first, self._first_ended = 0, 0.0
        self._lock = threading.Lock()

    def say(self, text: str, style: str = "") -> None:
        """A line, with the seconds since the beginning."""
        from rich.text import Text

        self.console.print(Text(f"{time.monotonic() - self.began:5.1f} s  {text}", style))

    def introduce(self, query: str) -> None:
        """What there will be to see."""
        self.console.print("A bank broadcasts, Spark listens. Which cards were charged too much within one hour?\n")
        self.console.print(query + "\n", style="cyan", markup=False)

    def published(self, sent: int) -> None:
        """The bank has published so many fragments of the bulk."""
        if sent == self.bulk:
            self.say("the bank has published them: they are in the server's log")

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        """A micro-batch is done, and this is the answer now."""
        ended, before = time.monotonic(), self.n
        if batch.progress is not None and batch.progress["now"] is not None:
            self.now = _EPOCH + timedelta(microseconds=batch.progress["now"])
        with self._lock:
            standing = {alert.account: alert for alert in (Alert.of(item) for _, item in answers.queries[0].items())}
            was, self.alerts = self.alerts, standing
            self.n, self.rate = answers.n, (answers.n - before) / (ended - self.since)
        if before < self.bulk:
            self._bulk(before, ended)
        else:
            self._live(was, standing, ended)
        self.since = ended
        self.tell(self.n)

    def _bulk(self, before: int, ended: float) -> None:
        if not before:  # Spark's processes have started now
            self._first, self._first_ended = self.n, ended
            self.say(f"bulk: {self.n:,} fragments, with the start of Spark's processes")
            return
        stand = f"it is {self.now:%d %b, %H:%M}, {counted(len(self.alerts))} shown"
        self.say(f"bulk: {self.n:,} fragments, {self.rate:,.0f} a second; {stand}")
        if self.n >= self.bulk:
            whole = (self.n - self._first) / (ended - self._first_ended)
            self.say(
                f"bulk: {whole:,.0f} fragments a second. The rest comes slowly, so that it can be followed:", "bold"
            )

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
        room = max(2, self.console.height // 2 - 4)
        table = Table(title=f"Alerts at {self.now:%d %B %Y, %H:%M}" if self.n else "Alerts", expand=True)
        for name in ("account", "charged", "limit", "why"):
            table.add_column(name, justify="left" if name in ("account", "why") else "right", no_wrap=name != "why")
        for alert in standing[-room:]:
            style = "bold red" if alert.kind == "maxed out" else "bold yellow"
            table.add_row(Text(alert.who), f"{alert.charged:,}", f"{alert.limit:,}", alert.why, style=style)
        for alert, why in gone[-max(0, room - len(standing)) :] if len(standing) < room else []:
            table.add_row(Text(alert.who, "strike"), "", f"{alert.limit:,}", f"withdrawn: {why}", style="dim")
        phase = "starting" if not self.n else "bulk" if self.n < self.bulk else "live"
        footing = f"{phase}: {self.n:,} fragments, {self.rate:,.0f} a second, {counted(len(standing))} shown"
        return Group(table, Text(footing, style="dim"))

    def close(self) -> None:
        """All has been said."""


@contextmanager
def showing(bulk: int, *, live: bool) -> Iterator[Show]:
    """Lines on standard output; ``live``: below them, on a terminal, the alerts as they stand."""
    from rich.console import Console
    from rich.live import Live

    show = Show(Console(highlight=False, soft_wrap=not live), bulk)
    if not live:
        yield show
        return

    def start() -> Live:
        view = Live(console=show.console, get_renderable=show.picture, refresh_per_second=_FRAMES)
        view.start()
        return view

    with kept(start, Live.stop):
        yield show
