"""Limits: what one connection may ask of a server, and how much the server keeps for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them; sizes in bytes, times in seconds."""

    queue: int = 1 << 20
    """What may wait to be sent to a client; beyond it messages are dropped, and the carousel repairs."""
    message: int = 1 << 16
    """Fragments are gathered into messages of about this size; a larger fragment is a message of its own."""
    post: int = 16 << 20
    """A publication."""
    fragment: int = 8 << 20
    """A fragment in a publication."""
    listeners: int = 5000
    """Clients tuned in at a time, over all streams."""
    connections: int = 6000
    """Connections at a time, of listeners and of all others."""
    streams: int = 1000
    requests: float = 200.0
    """Requests a second on one connection."""
    published: float = 32 << 20
    """Bytes published a second on one connection."""
    patience: float = 10.0
    """A connection says what it wants, and sends what it announced, within this time."""
    delivery: float = 60.0
    """An answer over HTTP is taken within this time."""
    tidying: float = 1.0
    """How often it is looked whether a log is to be compacted."""
    heartbeat: float = 20.0
    """A client that is silent for so long is asked whether it is there; without a sign it is let go."""


class Allowance:
    """A token bucket: so much a second, and at most two seconds' worth at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self.rate = rate
        self.clock = clock
        self.left = 2 * rate
        self.since = clock()

    def take(self, amount: float = 1.0) -> float:
        """Take some; 0 if it was there, else the seconds after which it would be, and nothing is taken.

        >>> now = [0.0]
        >>> bucket = Allowance(10.0, lambda: now[0])
        >>> bucket.take(20), bucket.take(5)
        (0.0, 0.5)
        """
        now = self.clock()
        self.left = min(2 * self.rate, self.left + (now - self.since) * self.rate)
        self.since = now
        # What is larger than the bucket may pass when it is full.
        wanted = min(amount, 2 * self.rate)
        if wanted > self.left:
            return (wanted - self.left) / self.rate
        self.left -= amount
        return 0.0
