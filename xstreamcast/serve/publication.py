"""The answer of a query as a stream of a server: ``xcast watch --publish alerts=xcast://host:port``.

A query that is started again numbers its regions anew. So that they are not taken for those of the run before, they are
shifted behind all that the stream has spoken of; the new root takes the place of the old one, and with it the answer.
The answer's tag structure is announced first. Another query whose answer has other tags is refused (XSC0021): clients
have been told the old ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.change import ROOT, Change, ContentChange, Eos
from xstreamcast.serve.client import Publisher, parse_address

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.continuous.query import ContinuousQuery

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
        self.structure: Structure | None = None
        self.last = monotonic()

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """What the query tells, when it is its own."""
        if number == self.number:
            if query.structure is not None and query.structure is not self.structure:
                self._send()
                self._announce(query.structure)
            self.waiting += [shifted(one.change, self.publisher.next_region) for one in emitted]

    def pause(self, arrived: int) -> None:
        """Send what has gathered."""
        if self.waiting and (not arrived or monotonic() - self.last >= GATHER):
            self._send()

    def close(self) -> None:
        """The end of the answer is that of its streams; an interrupted one may go on."""
        if self.inflow.ended:
            self.waiting.append(Eos())
        self._send()

    def _announce(self, structure: Structure) -> None:
        self.structure = structure
        self._publish([structure])

    def _send(self) -> None:
        waiting, self.waiting = self.waiting, []
        if waiting:
            if self.structure is None and self.publisher.structured:
                raise self._another()  # what clients were told of its tags would not hold
            self._publish(waiting)
        self.last = monotonic()

    def _publish(self, items: Sequence[Change | Structure]) -> None:
        try:
            self.publisher.publish(items)
        except XStreamError as fault:
            if fault.code == "XSC0021":
                raise self._another() from None
            if fault.code == "XSC0107":
                raise error(fault.code, fault.message, hint="publish under another name") from None
            raise

    def _another(self) -> XStreamError:
        """A stream has one structure, which may grow: the answers of two queries are two streams."""
        hint = "publish under another name: what has been said of a stream's tags is not taken back"
        return error("XSC0021", f"{self.publisher.address} has the tags of another query's answer", hint=hint)


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
