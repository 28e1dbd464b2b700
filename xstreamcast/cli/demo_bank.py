"""The bank of ``xcast demo``, in a process of its own: it publishes its story to a server, over HTTP and with a token.

First come the accounts as they stand, every fragment on its own and in random order, and then what happens: purchases,
limits that change, cards that are stolen. A fragment may be overtaken by a few others. The accounts are published as
fast as the server takes them, the rest slowly.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xstreamcast.model.change import Change

Told = Callable[[int], object]

RATE: Final = 20.0
"""Fragments a second in the live part: slow enough to see an alert come and go."""
_TICK: Final = 0.25
"""Seconds between two publications of the live part."""
_AT_ONCE: Final = 2_000
"""Fragments of a publication before that."""
_AHEAD: Final = 20
"""The live part waits for Spark when more fragments than these have not been read: an alert lasts for several times as
many, and is to be seen also where a micro-batch takes long."""
_DISORDER: Final = 4
"""A fragment of the story may be overtaken by about so many."""


def live_fragments(seconds: float | None) -> int:
    """How many fragments the live part has; without an end, as many as can be followed for a while."""
    return round(RATE * (20.0 if seconds is None else seconds))


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

    def wait_for(self, count: int) -> None:
        """Until so many have been read, however long that takes: who reads them ends us where it fails."""
        with self._told:
            self._told.wait_for(lambda: self._read >= count)


def publish(
    address: str, token: str, factor: float, seed: int, opening: int, seconds: float | None, pace: Pace, told: Told
) -> None:
    """Play the bank: so many fragments at once, then live for so long, or for ever. ``told``: how many there are."""
    from xstreamcast.generate.credit import GENERATOR
    from xstreamcast.model.change import Eos
    from xstreamcast.model.structure import parse_structure
    from xstreamcast.serve.client import Publisher, parse_address

    publisher = Publisher(parse_address(address), token)
    publisher.publish([parse_structure(GENERATOR.structures["credit"])])
    sent = 0
    story = out_of_order(factor, seed)
    while sent < opening:
        part = list(islice(story, min(_AT_ONCE, opening - sent)))
        publisher.publish(part)
        sent += len(part)
        told(sent)
    pace.wait_for(sent)
    last = None if seconds is None else sent + live_fragments(seconds)
    due, following = 0.0, time.monotonic()
    while last is None or sent < last:
        following = max(following + _TICK, time.monotonic())
        time.sleep(max(0.0, following - time.monotonic()))
        due += RATE * _TICK
        part = list(islice(story, int(due) if last is None else min(int(due), last - sent)))
        due -= int(due)
        publisher.publish(part)
        sent += len(part)
        pace.wait_for(sent - _AHEAD)
    publisher.publish([Eos()])


def accounts(factor: float, seed: int) -> int:
    """How many fragments the accounts have as they stand, the root among them."""
    from xstreamcast.generate.credit import GENERATOR

    assert GENERATOR.changes is not None
    return sum(1 for _ in GENERATOR.changes(factor, seed, 0)) - 1  # without the end of the stream


def out_of_order(factor: float, seed: int) -> Iterator[Change]:
    """The accounts as they stand, every fragment on its own and in random order, then what happens to them."""
    from xstreamcast.generate.credit import GENERATOR

    assert GENERATOR.changes is not None
    rng = random.Random(seed)
    changes = (change for _, change in GENERATOR.changes(factor, seed, 1 << 40))
    yield next(changes)  # the root comes first, so that there is something to see; it holds nothing but holes
    standing = list(islice(changes, accounts(factor, seed) - 1))
    rng.shuffle(standing)
    yield from standing
    waiting: list[Change] = []
    while True:
        waiting += islice(changes, _DISORDER - len(waiting))
        yield waiting.pop(rng.randrange(len(waiting)))


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


def main(address: str, factor: float, seed: int, opening: int, seconds: float | None) -> None:
    """The process."""
    from xstreamcast.errors import XStreamError

    pace = Pace()
    tied(pace)
    try:
        publish(
            address, os.environ["XCAST_TOKEN"], factor, seed, opening, seconds, pace, lambda n: print(n, flush=True)
        )
    except XStreamError as fault:
        sys.exit(f"xcast: the bank: {fault}")
