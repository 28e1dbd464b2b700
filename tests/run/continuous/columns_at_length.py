"""The streams that the tests of columns draw, at length: any shape with any query, in batches of any size."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import test_columns_alike as alike
import test_columns_clock_law as clock
import test_columns_law as law
import test_columns_namespaces as namespaces
import test_columns_pages as pages
import test_columns_widening as widening
import test_lookups as lookups

SIZES = {1: 40, 7: 120, 50: 250, 1000: 300}
"""So many changes for batches of so many."""
DRAWN = (*law.QUERIES, *law.OPERATORS, *lookups.SEEN)
NAMED = (*namespaces.ABOUT, *law.QUERIES, *law.OPERATORS)


def check(seed: int) -> str:
    """One case; says which. AssertionError: the law does not hold."""
    r = Random(seed)
    name, kind = r.choice([*KINDS.items()])
    return f"{name}: {kind(r)}"


def drawn(r: Random) -> str:
    shape, text, size, odd = r.choice([*law.SHAPES]), r.choice(DRAWN), r.choice([*SIZES]), r.random() < 0.3
    changes = law.Drawn(law.SHAPES[shape], r.getrandbits(32), odd).changes(SIZES[size])
    law.follow(text, law.SHAPES[shape], changes, size)
    return f"{shape}, {size}, {text}"


def in_time(r: Random) -> str:
    shape, text, size = r.choice(clock.TIMED), r.choice(clock.CLOCKED), r.choice([*SIZES])
    law.follow(text, law.SHAPES[shape], clock.InTime(law.SHAPES[shape], r.getrandbits(32)).changes(SIZES[size]), size)
    return f"{shape}, {size}, {text}"


def by_hand(r: Random) -> str:
    shape, text = r.choice(clock.TIMED), r.choice(clock.CLOCKED)
    clock.follow_by_hand(text, law.SHAPES[shape], r.getrandbits(32), 160)
    return f"{shape}, {text}"


def in_pages(r: Random) -> str:
    shape, text, size = r.choice([*law.SHAPES]), r.choice(pages.HELD), r.choice([*SIZES])
    changes = pages.Paged(law.SHAPES[shape], r.getrandbits(32)).changes(SIZES[size])
    law.follow(text, law.SHAPES[shape], changes, size)
    return f"{shape}, {size}, {text}"


def in_namespaces(r: Random) -> str:
    shape, way, text, size = (
        r.choice([*law.SHAPES]),
        r.choice([*namespaces.WRITTEN]),
        r.choice(NAMED),
        r.choice([7, 1000]),
    )
    changes = namespaces.changes(shape, way, r.getrandbits(32), SIZES[size])
    law.follow(namespaces.NAMED + text, namespaces.in_namespace(law.SHAPES[shape]), changes, size)
    return f"{shape}, {way}, {size}, {text}"


def families(r: Random) -> str:
    shape, family, size = r.choice([*law.SHAPES]), r.choice([*alike.FAMILIES]), r.choice([1, 7, 40])
    changes = law.Drawn(law.SHAPES[shape], r.getrandbits(32), r.random() < 0.2).changes(30 if size == 1 else 160)
    alike.follow(alike.FAMILIES[family], shape, changes, size)
    return f"{shape}, {size}, {family}"


def copies(r: Random) -> str:
    shape, text, size = r.choice([*law.SHAPES]), r.choice(law.COPIES), r.choice([*SIZES])
    changes = law.Drawn(law.SHAPES[shape], r.getrandbits(32), r.random() < 0.2).changes(SIZES[size])
    forwards = r.random() < 0.7
    law.follow(text, law.SHAPES[shape], changes, size, forwards)
    return f"{shape}, {size}, {forwards}, {text}"


def growing(r: Random) -> str:
    shape, text, size = r.choice([*widening.SHAPES]), r.choice((*law.QUERIES, *law.OPERATORS)), r.choice([*SIZES])
    widening.follow(text, shape, size, SIZES[size] // 2, r.getrandbits(32))
    return f"{shape}, {size}, {text}"


KINDS: dict[str, Callable[[Random], str]] = {
    "drawn": drawn, "in time": in_time, "by hand": by_hand, "pages": in_pages, "namespaces": in_namespaces,
    "families": families, "copies": copies, "growing": growing,
}  # fmt: skip
