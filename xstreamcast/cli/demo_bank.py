"""The bank of ``xcast demo``, in a process of its own: it publishes its story to a server, over HTTP and with a token.

First come the accounts as they stand, every fragment on its own and in random order, and then what happens: purchases,
limits that change, cards that are stolen. A fragment may be overtaken by a few others.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.serve.client import Publisher

PATIENCE: Final = 120.0
"""Seconds without a micro-batch after which something is wrong."""
_TICK: Final = 0.25
"""Seconds between two publications."""
_RATE: Final = 8.0
"""Fragments a second in the story: slow enough to see an alert come and go."""
_OPENING: Final = 2.0
"""Seconds in which the accounts are sent."""
_AHEAD: Final = 6
"""The story waits for Spark when more fragments than these have not been read: an alert lasts for about three times as
many, and is to be seen also where a micro-batch takes long."""
_LEAST: Final = 64
"""So many fragments the story has in any case: cards have been stolen by then, and suspended."""
_DISORDER: Final = 4
"""A fragment of the story may be overtaken by about so many."""


class Pace:
    """How many fragments have been read, as who reads them says."""

    def __init__(self, read: int = 0) -> None:
        self._read = read
        self._told = threading.Condition()

    def tell(self, read: int) -> None:
        """So many have been read."""
        with self._told:
            self._read = read
            self._told.notify_all()

    def wait_for(self, count: int, seconds: float) -> None:
        """Until so many have been read, or so long."""
        with self._told:
            self._told.wait_for(lambda: self._read >= count, seconds)


def publish(address: str, token: str, factor: float, seed: int, seconds: float | None, pace: Pace) -> None:
    """Play the bank until the time is over; without a time for ever."""
    from xstreamcast.generate.credit import GENERATOR
    from xstreamcast.model.change import Eos
    from xstreamcast.model.structure import parse_structure
    from xstreamcast.serve.client import Publisher, parse_address

    assert GENERATOR.changes is not None
    rng = random.Random(seed)
    opening = sum(1 for _ in GENERATOR.changes(factor, seed, 0)) - 1
    changes = (change for _, change in GENERATOR.changes(factor, seed, 1 << 40))
    first = list(islice(changes, opening))
    rest = first[1:]  # the root comes first, so that there is something to see; it holds nothing but holes
    rng.shuffle(rest)
    air = _Air(Publisher(parse_address(address), token))
    steps = max(1, round(_OPENING / _TICK))
    for step in range(steps):
        some = rest[len(rest) * step // steps : len(rest) * (step + 1) // steps]
        if not step:
            air.put([parse_structure(GENERATOR.structures["credit"]), first[0]])
        air.put(some)
    pace.wait_for(air.sent, PATIENCE)
    began, opened = time.monotonic(), air.sent
    waiting: list[Change] = []
    due = 0.0
    while seconds is None or _goes_on(time.monotonic() - began, seconds, air.sent - opened):
        due += _RATE * _TICK
        part: list[Change] = []
        while due >= 1:
            due -= 1
            waiting += islice(changes, _DISORDER - len(waiting))
            part.append(waiting.pop(rng.randrange(len(waiting))))
        air.put(part)
        pace.wait_for(air.sent - _AHEAD, 10.0)
    air.put([*waiting, Eos()])


def _goes_on(elapsed: float, seconds: float, sent: int) -> bool:
    """Whether the story does: for so long, and on a very slow machine until something has happened."""
    return elapsed < seconds or (sent < _LEAST and elapsed < 4 * seconds)


class _Air:
    """Publications at a steady pace; ``sent`` is how many changes the server's log has."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.sent = 0
        self.next = time.monotonic()

    def put(self, items: Sequence[Change | Structure]) -> None:
        """Publish some, when their time has come."""
        self.next = max(self.next + _TICK, time.monotonic())
        time.sleep(max(0.0, self.next - time.monotonic()))
        if items:
            self.sent = self.publisher.publish(items)["head"] - 1  # the log begins with the structure


def tied(pace: Pace | None = None) -> None:
    """End with who started this process, whatever becomes of it: it holds the other end of standard input.

    What comes on it is how many fragments have been read.
    """

    def listen() -> None:
        for line in sys.stdin:
            if pace is not None:
                pace.tell(int(line))
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()


def main(address: str, factor: float, seed: int, seconds: float | None) -> None:
    """The process."""
    from xstreamcast.errors import XStreamError

    pace = Pace()
    tied(pace)
    try:
        publish(address, os.environ["XCAST_TOKEN"], factor, seed, seconds, pace)
    except XStreamError as fault:
        sys.exit(f"xcast: the bank: {fault}")
