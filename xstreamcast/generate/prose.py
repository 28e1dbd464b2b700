"""Prose in XMark's manner: runs of words with ``keyword``, ``bold`` and ``emph`` among them, one inside another.

A text of m marks is run (mark run)ᵐ. Runs have 31 words on average, falling geometrically; the first and the
last may be missing where there are marks. A mark has some five words, and in one of ten another mark or two,
of another name, never deeper. The frequencies are those measured in documents of the original generator.

Everything is drawn as columns: word numbers for thousands of texts at a time, then one join over the
vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from xstreamcast.generate.draw import Draw, Ints
from xstreamcast.generate.words import vocabulary

_MARKS: Final = ("keyword", "bold", "emph")
_END: Final = "\0"
"""Ends a text in the joined column; no text can hold it."""

_MARKS_PER_TEXT: Final = (
    0.3085, 0.2704, 0.1659, 0.0974, 0.0617, 0.0375, 0.0220, 0.0140, 0.0083, 0.0051, 0.0032, 0.0021, 0.0011, 0.0009,
    0.0006, 0.0004, 0.0002, 0.0001,
)  # fmt: skip
_MARKS_PER_MARK: Final = (0.8837, 0.1044, 0.0119)

_RUN: Final = 31.6
_FIRST_RUN_MISSING: Final = 0.145
_LAST_RUN_MISSING: Final = 0.187
_MARK_RUN: Final = 5.45
_LAST_MARK_RUN_MISSING: Final = 0.067

_RANK_BITS: Final = 20
_BLOCK: Final = 2048


@cache
def _tokens() -> npt.NDArray[np.object_]:
    """Words and marks by number, each with the space after it: the vocabulary, starts, ends, the end of a text."""
    starts = [f"<{mark}> " for mark in _MARKS]
    ends = [f"</{mark}> " for mark in _MARKS]
    return np.array([f"{word} " for word in vocabulary()] + starts + ends + [_END], dtype=object)


@cache
def _ranks() -> npt.NDArray[np.int32]:
    """20 random bits → a rank, falling exponentially: the inverse of the distribution, as a table."""
    size = len(vocabulary())
    below = 1.0 - np.exp(-5.0 / size * np.arange(size + 1))
    bounds = np.rint(below / below[-1] * 2**_RANK_BITS).astype(np.int64)
    return np.repeat(np.arange(size, dtype=np.int32), np.diff(bounds))


def _words(draw: Draw, size: int) -> npt.NDArray[np.int32]:
    """Word numbers, three from each 64 random bits."""
    raw = draw.raw(-(-size // 3))
    mask = np.uint64(2**_RANK_BITS - 1)
    shifts = (np.uint64(0), np.uint64(_RANK_BITS), np.uint64(2 * _RANK_BITS))
    words: npt.NDArray[np.int32] = _ranks()[np.concatenate([(raw >> shift) & mask for shift in shifts])[:size]]
    return words


def _run_lengths(draw: Draw, marks: Ints) -> tuple[Ints, Ints]:
    """For texts with these numbers of marks: the length of every run and the token that ends it."""
    word_count = len(vocabulary())
    start, end, end_of_text = word_count, word_count + 3, word_count + 6
    total = int(marks.sum())
    inner = draw.weighted(_MARKS_PER_MARK, total)
    name = draw.below(3, total)
    # The tokens of a mark: its start, start and end of each inner mark, its end.
    extent = 2 + 2 * inner
    tag_at = np.cumsum(extent) - extent
    text_of_mark = np.repeat(np.arange(len(marks)), marks)
    # Every tag ends one run, and one more run ends each text.
    mark_at = tag_at + text_of_mark
    runs = np.full(int(extent.sum()) + len(marks), -1, np.int64)
    ends = np.full(len(runs), end_of_text, np.int64)

    lengths = draw.length(_MARK_RUN, len(runs))
    first_of_text = np.cumsum(marks) - marks
    outer = draw.length(_RUN, total)
    firsts = first_of_text[marks > 0]
    outer[firsts[draw.chance(_FIRST_RUN_MISSING, len(firsts))]] = 0
    runs[mark_at] = outer
    ends[mark_at] = start + name
    for nth in (1, 2):
        chosen = inner >= nth
        at = mark_at[chosen] + 2 * nth - 1
        other = (name[chosen] + 1 + draw.below(2, len(at))) % 3
        runs[at] = lengths[at]
        ends[at] = start + other
        runs[at + 1] = lengths[at + 1]
        ends[at + 1] = end + other
    at = mark_at + extent - 1
    closing = lengths[at]
    closing[draw.chance(_LAST_MARK_RUN_MISSING, total) & (inner > 0)] = 0
    runs[at] = closing
    ends[at] = end + name
    last = draw.length(_RUN, len(marks))
    last[draw.chance(_LAST_RUN_MISSING, len(marks)) & (marks > 0)] = 0
    runs[runs < 0] = last
    return runs, ends


def texts(draw: Draw) -> Iterator[str]:
    """Endless prose: the content of ``text`` elements, every word and mark with a space after it."""
    tokens = _tokens()
    while True:
        marks = draw.weighted(_MARKS_PER_TEXT, _BLOCK)
        runs, ends = _run_lengths(draw, marks)
        after = np.cumsum(runs + 1)
        numbers = _words(draw, int(after[-1]))
        numbers[after - 1] = ends
        yield from "".join(tokens[numbers].tolist()).split(_END)[:-1]


def phrases(draw: Draw, most: int) -> Iterator[str]:
    """Endless phrases of one to ``most`` words, each word with a space after it."""
    tokens = _tokens()
    while True:
        lengths = 1 + draw.below(most, _BLOCK)
        after = np.cumsum(lengths + 1)
        numbers = _words(draw, int(after[-1]))
        numbers[after - 1] = len(tokens) - 1
        yield from "".join(tokens[numbers].tolist()).split(_END)[:-1]
