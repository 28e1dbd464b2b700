"""Two sweeping antennas (SIGMOD'04 §2): each reports frequency, angle and intensity of the signals it passes.

Vehicles drive on a plane and transmit now and then, each on a frequency of its own. An antenna turns once a
second and hears a transmission when it points at the vehicle, so both hear it within the same second; one of
eight is heard by one antenna only. The antennas stand at (0, 0) and (10, 0); angles are degrees from the x
axis, so that triangulation finds the vehicle.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, degrees
from typing import Final

from xstreamcast.generate.draw import Draw, Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.time import parse_instant

EVENTS: Final = 2000
"""Events of both streams in the initial part, at factor 1."""
VEHICLES: Final = 200

STREAMS: Final = ("radar1", "radar2")
ANTENNAS: Final = ((0.0, 0.0), (10.0, 0.0))
STRUCTURE: Final = """<stream:structure>
  <tag type="snapshot" id="1" name="radar">
    <tag type="event" id="2" name="event">
      <tag type="snapshot" id="3" name="frequency"/>
      <tag type="snapshot" id="4" name="angle"/>
      <tag type="snapshot" id="5" name="intensity"/>
    </tag>
  </tag>
</stream:structure>
"""

_SECOND: Final = 1_000_000
_START: Final = parse_instant("2004-06-14T09:00:00")
_PER_SECOND: Final = 3
_UNHEARD: Final = 0.125
_FIELD: Final = (10.0, 8.0)


class _Vehicles:
    """Where each vehicle is; positions are brought up to date when one transmits."""

    def __init__(self, count: int, seed: int) -> None:
        draw = Draw(seed, "radar/vehicles")
        self.x = draw.unit(count) * _FIELD[0]
        self.y = 0.5 + draw.unit(count) * _FIELD[1]
        self.dx = (draw.unit(count) - 0.5) * 0.04
        self.dy = (draw.unit(count) - 0.5) * 0.04

    def place(self, vehicle: int, second: int) -> tuple[float, float]:
        """Back and forth over the field, at a speed of its own."""
        x = _reflected(float(self.x[vehicle] + self.dx[vehicle] * second), _FIELD[0])
        y = _reflected(float(self.y[vehicle] + self.dy[vehicle] * second), _FIELD[1])
        return x, 0.5 + y


def _reflected(at: float, width: float) -> float:
    at %= 2 * width
    return at if at < width else 2 * width - at


def _sweeps(factor: float, seed: int) -> Iterator[tuple[str, Change]]:
    """Endless events, second by second, in the order of their times."""
    count = scaled(VEHICLES, factor, 2)
    vehicles, pick = _Vehicles(count, seed), Pick(seed, "radar/signals")
    sent = [0, 0]
    second = 0
    while True:
        heard: list[tuple[int, int, str]] = []
        speaking = {pick.below(count) for _ in range(pick.between(0, 2 * _PER_SECOND))}
        for vehicle in sorted(speaking):
            x, y = vehicles.place(vehicle, second)
            frequency = f"{100 + vehicle * 0.025:.3f}"
            deaf = pick.below(2) if pick.chance(_UNHEARD) else -1
            for antenna, (at_x, at_y) in enumerate(ANTENNAS):
                if antenna == deaf:
                    continue
                angle = round(degrees(atan2(y - at_y, x - at_x)) % 360, 2)
                intensity = 1000 / (1 + (x - at_x) ** 2 + (y - at_y) ** 2)
                content = (
                    f"<event><frequency>{frequency}</frequency><angle>{angle:.2f}</angle>"
                    f"<intensity>{intensity:.1f}</intensity></event>"
                )
                heard.append((int(angle / 360 * _SECOND), antenna, content))
        for offset, antenna, content in sorted(heard):
            sent[antenna] += 1
            at = _START + second * _SECOND + offset
            data = content.encode("ascii")
            yield STREAMS[antenna], Fill(region=1, tsid=2, version=sent[antenna], valid_time=at, content=data)
        second += 1


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """Both roots, then events of both antennas interleaved by time."""
    root = f"<radar>{hole(1, 2)}</radar>".encode("ascii")
    for stream in STREAMS:
        yield stream, Fill(region=0, tsid=1, content=root)
    sweeps = _sweeps(factor, seed)
    for _ in range(scaled(EVENTS, factor) + updates):
        yield next(sweeps)
    for stream in STREAMS:
        yield stream, Eos()


GENERATOR: Final = Generator(
    name="radar",
    summary="SIGMOD'04's two radar antennas: two event streams that coincide within a second",
    structures=dict.fromkeys(STREAMS, STRUCTURE),
    changes=changes,
)
