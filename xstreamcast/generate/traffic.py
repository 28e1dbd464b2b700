"""Road traffic (SIGMOD'04 §2): vehicles report where they are, road sensors the speed of who passes, lights
their status.

Vehicles (buses, and some ambulances) drive along the streets of a grid and report every few seconds. When a
vehicle passes a road sensor, the sensor reports its speed at the same instant. Traffic lights stand at the
crossings; a light's status is temporal, it lasts until the next report. Reports of all three streams come in
the order of their times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from xstreamcast.generate.draw import Draw, Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.time import parse_instant

REPORTS: Final = 2000
"""Reports in the initial part, besides the lights' first ones, at factor 1."""
VEHICLES: Final = 100
LIGHTS: Final = 64

VEHICLE: Final = "vehicle"
ROAD_SENSOR: Final = "road_sensor"
TRAFFIC_LIGHT: Final = "traffic_light"


def _structure(root: str, kind: str, *fields: str) -> str:
    inner = "".join(f'      <tag type="snapshot" id="{3 + n}" name="{field}"/>\n' for n, field in enumerate(fields))
    x = 3 + len(fields)
    return (
        f'<stream:structure>\n  <tag type="snapshot" id="1" name="{root}">\n'
        f'    <tag type="{kind}" id="2" name="event">\n'
        f'{inner}      <tag type="snapshot" id="{x}" name="location">\n'
        f'        <tag type="snapshot" id="{x + 1}" name="x"/>\n        <tag type="snapshot" id="{x + 2}" name="y"/>\n'
        f"      </tag>\n    </tag>\n  </tag>\n</stream:structure>\n"
    )


STRUCTURES: Final = {
    VEHICLE: _structure("vehicles", "event", "id", "type"),
    ROAD_SENSOR: _structure("roadSensors", "event", "id", "speed"),
    TRAFFIC_LIGHT: _structure("trafficLights", "temporal", "id", "status"),
}

_SECOND: Final = 1_000_000
_START: Final = parse_instant("2004-06-14T09:00:00")
_BLOCK: Final = 100
"""Metres between crossings; sensors lie halfway."""
_NEXT: Final = {"red": ("green", 30), "green": ("yellow", 25), "yellow": ("red", 5)}
_AMBULANCES: Final = 10


def _location(x: float, y: float) -> str:
    return f"<location><x>{x:.1f}</x><y>{y:.1f}</y></location>"


class _City:
    """Lights in a square grid, and vehicles going round on its streets."""

    def __init__(self, factor: float, seed: int) -> None:
        draw = Draw(seed, "traffic/city")
        self.lights = scaled(LIGHTS, factor, 4)
        self.side = max(2, int(self.lights**0.5))
        self.vehicles = scaled(VEHICLES, factor, 4)
        self.street = draw.below(self.side, self.vehicles)
        self.upwards = draw.chance(0.5, self.vehicles)
        self.start = draw.unit(self.vehicles) * self.side * _BLOCK
        self.speed = 6 + draw.unit(self.vehicles) * 14
        self.sent: dict[str, int] = {VEHICLE: 0, ROAD_SENSOR: 0}

    def crossing(self, light: int) -> tuple[int, int]:
        return light % self.side * _BLOCK, light // self.side * _BLOCK

    def on_street(self, vehicle: int, along: float) -> tuple[float, float]:
        across = float(self.street[vehicle] * _BLOCK)
        return (across, along) if self.upwards[vehicle] else (along, across)

    def along(self, vehicle: int, second: int) -> float:
        return float((self.start[vehicle] + self.speed[vehicle] * second) % (self.side * _BLOCK))

    def event(self, stream: str, second: int, fields: str, x: float, y: float) -> tuple[str, Change]:
        self.sent[stream] += 1
        content = f"<event>{fields}{_location(x, y)}</event>".encode("ascii")
        at = _START + second * _SECOND
        return stream, Fill(region=1, tsid=2, version=self.sent[stream], valid_time=at, content=content)

    def light(self, light: int, second: int, version: int, status: str) -> tuple[str, Change]:
        x, y = self.crossing(light)
        content = f"<event><id>{light + 1}</id><status>{status}</status>{_location(x, y)}</event>".encode("ascii")
        at = _START + second * _SECOND
        return TRAFFIC_LIGHT, Fill(region=1 + light, tsid=2, version=version, valid_time=at, content=content)


def _reports(city: _City, seed: int) -> Iterator[tuple[str, Change]]:
    """Endless reports, second by second. First every light says what it shows."""
    pick = Pick(seed, "traffic/lights")
    showing = [("red", "green", "yellow")[pick.below(3)] for _ in range(city.lights)]
    until = [1 + pick.below(_NEXT[_NEXT[status][0]][1]) for status in showing]
    versions = [1] * city.lights
    for light, status in enumerate(showing):
        yield city.light(light, 0, 1, status)
    second = 0
    while True:
        second += 1
        for light in range(city.lights):
            if until[light] == second:
                status, lasts = _NEXT[showing[light]]
                showing[light], until[light] = status, second + lasts
                versions[light] += 1
                yield city.light(light, second, versions[light], status)
        for vehicle in range(second % 4, city.vehicles, 4):
            along = city.along(vehicle, second)
            x, y = city.on_street(vehicle, along)
            kind = "ambulance" if vehicle % _AMBULANCES == 1 else "bus"
            yield city.event(VEHICLE, second, f"<id>{vehicle + 1}</id><type>{kind}</type>", x, y)
            middle = along // _BLOCK * _BLOCK + _BLOCK / 2
            speed = float(city.speed[vehicle])
            if abs(along - middle) < speed:
                sensor_x, sensor_y = city.on_street(vehicle, middle)
                sensor = int(sensor_x / _BLOCK * 2) * 2 * city.side + int(sensor_y / _BLOCK * 2)
                fields = f"<id>{sensor}</id><speed>{speed:.1f}</speed>"
                yield city.event(ROAD_SENSOR, second, fields, sensor_x, sensor_y)


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """The three roots, the lights' first reports, then reports of all streams by time."""
    city = _City(factor, seed)
    lights = "".join(hole(1 + light, 2) for light in range(city.lights))
    for stream, root, holes in (
        (VEHICLE, "vehicles", hole(1, 2)),
        (ROAD_SENSOR, "roadSensors", hole(1, 2)),
        (TRAFFIC_LIGHT, "trafficLights", lights),
    ):
        yield stream, Fill(region=0, tsid=1, content=f"<{root}>{holes}</{root}>".encode("ascii"))
    reports = _reports(city, seed)
    for _ in range(city.lights + scaled(REPORTS, factor) + updates):
        yield next(reports)
    for stream in STRUCTURES:
        yield stream, Eos()


GENERATOR: Final = Generator(
    name="traffic",
    summary="SIGMOD'04's traffic: vehicles, road sensors and lights, three streams in step",
    structures=STRUCTURES,
    changes=changes,
)
