"""Virtual microscope (VLDB'05 §6): a digitised tissue specimen, pixel by pixel, at several focal planes.

The application shows a region at a lower magnification: each shown pixel is the average colour of a square of
scanned ones. Factor 1 is about 100 MB, the paper's largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from xstreamcast.generate.draw import Draw, Ints
from xstreamcast.generate.generator import Generator, scaled

PIXELS: Final = 995_000
SIDE: Final = 256
PLANES: Final = 4
"""A slide is SIDE × SIDE pixels in each plane; the next slide follows below it."""

_BLOCK: Final = 16 * SIDE
_TISSUE: Final = (224, 160, 200)
_NUCLEUS: Final = (96, 64, 150)


def _nuclei(x: Ints, y: Ints, shift: Ints) -> Ints:
    """Squared distance to the centre of the cell a pixel lies in; cells are 16 pixels wide, every other row moved."""
    row = y >> 4
    across = (x + 8 * (row & 1) + shift[row & 15]) % 16 - 8
    down = y % 16 - 8
    distance: Ints = across * across + down * down
    return distance


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The pixels, slide by slide, plane by plane, line by line."""
    draw = Draw(seed, "microscope")
    shift = draw.below(16, 16)
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<stream>\n<data>\n'
    count = scaled(PIXELS, factor)
    for first in range(0, count, _BLOCK):
        scanned = np.arange(first, min(first + _BLOCK, count))
        size = len(scanned)
        plane_number, at = np.divmod(scanned, SIDE * SIDE)
        slide, plane = np.divmod(plane_number, PLANES)
        line, x = np.divmod(at, SIDE)
        y = slide * SIDE + line
        inside = _nuclei(x, line, shift) < 20 + 4 * plane
        colours = (
            np.clip(np.where(inside, dark, light) + draw.below(33, size) - 16, 0, 255).tolist()
            for light, dark in zip(_TISSUE, _NUCLEUS, strict=True)
        )
        columns = zip(x.tolist(), y.tolist(), plane.tolist(), *colours, strict=True)
        yield "".join(
            f"<pixel><x>{x}</x><y>{y}</y><focus>{focus}</focus>"
            f"<red>{red}</red><green>{green}</green><blue>{blue}</blue></pixel>\n"
            for x, y, focus, red, green, blue in columns
        ).encode("ascii")
    yield b"</data>\n</stream>\n"


GENERATOR: Final = Generator(
    name="microscope",
    summary="VLDB'05's microscope slides, colours by pixel, as a stored document; factor 1 is about 100 MB",
    document=document,
)
