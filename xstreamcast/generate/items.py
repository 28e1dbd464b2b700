"""Frequent items (VLDB'05 §6): a long sequence of items, a few of which are frequent.

Karp, Shenker and Papadimitriou's one-pass algorithm finds a superset of the items that make up more than 1/k
of the sequence. Items have ranks: one of rank r comes with probability about 1/r (log-uniform), and the ranks
are dealt to item numbers at random, so that the frequent ones are not the smallest. Factor 1 is about 100 MB,
the paper's largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from xstreamcast.generate.draw import Draw
from xstreamcast.generate.generator import Generator, scaled

ITEMS: Final = 4_900_000
DISTINCT: Final = 50_000

_BLOCK: Final = 20_000


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The sequence, in arrival order."""
    draw = Draw(seed, "items")
    number_of_rank = 10_000 + np.argsort(draw.raw(DISTINCT), kind="stable")
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<stream>\n'
    count = scaled(ITEMS, factor)
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        rank = np.exp(draw.unit(size) * np.log(DISTINCT)).astype(np.int64) - 1
        numbers = number_of_rank[rank].tolist()
        yield "".join(f"<item>{number}</item>\n" for number in numbers).encode("ascii")
    yield b"</stream>\n"


GENERATOR: Final = Generator(
    name="items",
    summary="VLDB'05's frequent items: a sequence with a few heavy hitters, stored; factor 1 is about 100 MB",
    document=document,
)
