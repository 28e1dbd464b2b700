"""Satellite pixels (VLDB'05 §2 and §6): x, y, time and five 16-bit bands, pass after pass over the same ground.

The application composes an image: for each (x, y) of a region, the greatest vegetation index ((band1 − band0)
div (band1 + band0) + 1) * 512 over all passes. Factor 1 is about 100 MB, the paper's largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from xstreamcast.generate.draw import Draw, Floats
from xstreamcast.generate.generator import Generator, scaled

PIXELS: Final = 642_000
SIDE: Final = 100
"""A pass scans a square of this side, line by line."""

_LINES: Final = 40
_CLOUD: Final = 0.2


def _ground(draw: Draw) -> Floats:
    """How green each place is, smoothly from place to place, in [0.1, 0.9]."""
    coarse = draw.unit(144).reshape(12, 12)
    at = np.linspace(0, 10.999, SIDE)
    cell = at.astype(np.int64)
    part = at - cell
    rows = coarse[cell] * (1 - part)[:, None] + coarse[cell + 1] * part[:, None]
    return 0.1 + 0.8 * (rows[:, cell] * (1 - part) + rows[:, cell + 1] * part)


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The pixels in the order the satellite sends them."""
    draw = Draw(seed, "satellite")
    ground = _ground(draw)
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<stream>\n<data>\n'
    count, block = scaled(PIXELS, factor), SIDE * _LINES
    for first in range(0, count, block):
        sent = np.arange(first, min(first + block, count))
        size = len(sent)
        y, x = np.divmod(sent % (SIDE * SIDE), SIDE)
        green = ground[y, x]
        light = 12_000 + 30_000 * draw.unit(size)
        cloudy = draw.chance(_CLOUD, size)
        red = light * np.where(cloudy, 1.0, 1.1 - green)
        near_infrared = light * np.where(cloudy, 1.0, 0.3 + green)
        others = (light * (0.5 + draw.unit(size)) for _ in range(3))
        bands = (np.minimum(band, 65_535).astype(np.int64).tolist() for band in (red, near_infrared, *others))
        columns = zip(x.tolist(), y.tolist(), sent.tolist(), *bands, strict=True)
        yield "".join(
            f"<pixel><x>{x}</x><y>{y}</y><time>{time}</time><band0>{b0}</band0><band1>{b1}</band1>"
            f"<band2>{b2}</band2><band3>{b3}</band3><band4>{b4}</band4></pixel>\n"
            for x, y, time, b0, b1, b2, b3, b4 in columns
        ).encode("ascii")
    yield b"</data>\n</stream>\n"


GENERATOR: Final = Generator(
    name="satellite",
    summary="VLDB'05's satellite pixels with five bands, as a stored document; factor 1 is about 100 MB",
    document=document,
)
