"""TCP packets at a router (SIGMOD'04 §2): a stream of SYN packets and a stream of the ACK packets that answer
them.

An answer carries the same id with source and destination exchanged, mostly within seconds; one of thirty
comes more than a minute late, and one of thirty never. Both streams have one hole, which all their packets
fill as events.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final

from xstreamcast.generate.draw import Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.time import Instant, parse_instant

PACKETS: Final = 2000
"""Packets of both streams in the initial part, at factor 1."""

SYN: Final = "gsyn"
ACK: Final = "ack"
STRUCTURE: Final = """<stream:structure>
  <tag type="snapshot" id="1" name="packets">
    <tag type="event" id="2" name="packet">
      <tag type="snapshot" id="3" name="id"/>
      <tag type="snapshot" id="4" name="srcIP"/>
      <tag type="snapshot" id="5" name="srcPort"/>
      <tag type="snapshot" id="6" name="destIP"/>
      <tag type="snapshot" id="7" name="destPort"/>
    </tag>
  </tag>
</stream:structure>
"""

_MILLISECOND: Final = 1000
_START: Final = parse_instant("2004-06-14T09:00:00")
_PORTS: Final = (22, 25, 53, 80, 110, 143, 443, 8080)

_Sent = tuple[Instant, int, int, int, int, int]
"""(arrival, id, source address, source port, destination address, destination port) of an answer on its way."""


def _address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _packet(version: int, at: Instant, number: int, source: int, port: int, target: int, target_port: int) -> Change:
    content = (
        f"<packet><id>{number}</id><srcIP>{_address(source)}</srcIP><srcPort>{port}</srcPort>"
        f"<destIP>{_address(target)}</destIP><destPort>{target_port}</destPort></packet>"
    )
    return Fill(region=1, tsid=2, version=version, valid_time=at, content=content.encode("ascii"))


def _traffic(seed: int) -> Iterator[tuple[str, Change]]:
    """Endless packets in the order of their times; what is held are the answers on their way."""
    pick = Pick(seed, "packets")
    answers: list[_Sent] = []
    at, number = _START, 0
    sent = {SYN: 0, ACK: 0}
    while True:
        at += (1 + int(pick.exponential(400))) * _MILLISECOND
        while answers and answers[0][0] <= at:
            arrival, *answer = heappop(answers)
            sent[ACK] += 1
            yield ACK, _packet(sent[ACK], arrival, *answer)
        number += 1
        source, port = pick.below(1 << 24), pick.between(1024, 65_535)
        target, target_port = pick.below(1 << 12), _PORTS[pick.below(len(_PORTS))]
        sent[SYN] += 1
        yield SYN, _packet(sent[SYN], at, number, source, port, target, target_port)
        fate = pick.below(30)
        if fate == 0:
            continue
        delay = pick.between(61_000, 180_000) if fate == 1 else 5 + int(pick.exponential(900)) % 30_000
        heappush(answers, (at + delay * _MILLISECOND, number, target, target_port, source, port))


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """Both roots, then packets of both streams interleaved by time."""
    root = f"<packets>{hole(1, 2)}</packets>".encode("ascii")
    for stream in (SYN, ACK):
        yield stream, Fill(region=0, tsid=1, content=root)
    traffic = _traffic(seed)
    for _ in range(scaled(PACKETS, factor) + updates):
        yield next(traffic)
    for stream in (SYN, ACK):
        yield stream, Eos()


GENERATOR: Final = Generator(
    name="packets",
    summary="SIGMOD'04's SYN and ACK packets: two event streams, some answers late, some missing",
    structures={SYN: STRUCTURE, ACK: STRUCTURE},
    changes=changes,
)
