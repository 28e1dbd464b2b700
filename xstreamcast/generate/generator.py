"""What a generator is: a stored document, a stream of changes, or both, from a factor and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from xstreamcast.model.change import Change

DocumentOf = Callable[[float, int], Iterator[bytes]]
"""(factor, seed) → the document, in chunks."""

ChangesOf = Callable[[float, int, int], Iterator[tuple[str, Change]]]
"""(factor, seed, updates) → (stream, change) as they arrive: initial fragments, ``updates`` changes, eos per stream."""


@dataclass(frozen=True, slots=True)
class Generator:
    """One source of data. Equal factor, seed and updates give equal bytes.

    ``structures`` maps each stream to its tag structure. Where there are both a document and changes,
    T(initial changes of the first stream) = the document. Region ids only grow; ``version`` counts the changes of a
    region that can change again.
    """

    name: str
    summary: str
    structures: Mapping[str, str] = field(default_factory=dict)
    document: DocumentOf | None = None
    changes: ChangesOf | None = None


def scaled(count: int, factor: float, least: int = 1) -> int:
    """How many of something there are at a factor, given how many at factor 1; never fewer than ``least``."""
    # The tiny excess keeps 0.29 × 100 = 28.999… at 29.
    return max(least, int(count * factor + 1e-9))


def hole(region: int, tsid: int) -> str:
    """The place of a region in the content of another."""
    return f'<stream:hole id="{region}" tsid="{tsid}"/>'
