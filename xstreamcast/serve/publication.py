"""The answer of a query as a stream of a server: ``xcast watch --publish alerts=xcast://host:port``.

A query that is started again numbers its regions anew. So that they are not taken for those of the run before, they are
shifted behind all that the stream has spoken of; the new root takes the place of the old one, and with it the answer.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.change import ROOT, Change, ContentChange, Eos
from xstreamcast.serve.client import Publisher, parse_address

if TYPE_CHECKING:
    from xstreamcast.run.continuous.inflow import Inflow
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.continuous.shelf import Emitted

GATHER: Final = 0.05
"""Seconds in which what is told goes out together."""

_HOLE: Final = re.compile(rb'(<stream:(?:hole|mutable) id=")(\d+)(")')


class Publication:
    """Publishes what one query tells. The token is that of the environment, ``XCAST_TOKEN``."""

    def __init__(self, number: int, name: str, address: str, inflow: Inflow) -> None:
        token = os.environ.get("XCAST_TOKEN", "")
        if not token:
            raise error("XSC0102", f"publishing to {address} needs a token", hint="set XCAST_TOKEN")
        self.number = number
        self.inflow = inflow
        self.publisher = Publisher(parse_address(address, name), token)
        self.waiting: list[Change] = []
        self.last = monotonic()

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """What the query tells, when it is its own."""
        if number == self.number:
            self.waiting += [shifted(one.change, self.publisher.next_region) for one in emitted]

    def pause(self, arrived: bool) -> None:
        """Send what has gathered."""
        if self.waiting and (not arrived or monotonic() - self.last >= GATHER):
            self._send()

    def close(self) -> None:
        """The end of the answer is that of its streams; an interrupted one may go on."""
        if self.inflow.ended:
            self.waiting.append(Eos())
        self._send()

    def _send(self) -> None:
        waiting, self.waiting = self.waiting, []
        if waiting:
            self.publisher.publish(waiting)
        self.last = monotonic()


def shifted(change: Change, by: int) -> Change:
    """A change whose regions have numbers that are larger by some; the root stays the root.

    >>> from xstreamcast.model.change import Fill
    >>> shifted(Fill(region=0, content=b'<stream:hole id="1"/>'), 100).content
    b'<stream:hole id="101"/>'
    """
    fields: dict[str, Any] = {"region": change.region + by if change.region != ROOT else ROOT}
    target = getattr(change, "target", None)
    if target is not None:
        fields["target"] = target + by if target != ROOT else ROOT
    if isinstance(change, ContentChange):
        fields["content"] = _HOLE.sub(lambda hole: b"%b%d%b" % (hole[1], int(hole[2]) + by, hole[3]), change.content)
    return replace(change, **fields)
