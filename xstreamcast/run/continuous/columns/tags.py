"""The tags of a structure as rows: how their fragments come, where they stand, how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xstreamcast.model.structure import UNNAMED
from xstreamcast.run.continuous.columns.arrays import table
from xstreamcast.run.continuous.columns.layout import (
    ABOVE,
    EVENT,
    KIND,
    NAME_FROM,
    NAME_TO,
    NEEDED,
    NOWHERE,
    ROOTED,
    ROOTLESS,
    SENSE,
    TAG_WORDS,
    TEMPORAL,
    TOP,
    UNKNOWN,
    UNTIMED,
)

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.native.vector import Bytes, Table


def tags_of(structure: Structure) -> tuple[Table, Bytes]:
    """A row for each number up to the largest, and one more for pages; and the names, one after the other."""
    rows = table(max(structure.tags) + 2, TAG_WORDS)
    rows[:, [KIND, ABOVE, SENSE]] = UNKNOWN, NOWHERE, NOWHERE
    rows[-1, [KIND, NEEDED]] = UNTIMED, 1
    names = b""
    for tsid in structure.tops:
        rows[tsid, TOP] = ROOTLESS if structure.unnamed else ROOTED
    for tsid, tag in structure.tags.items():
        if tsid == UNNAMED:
            continue
        if tag.fragment or tsid == structure.root:
            rows[tsid, KIND] = {"temporal": TEMPORAL, "event": EVENT}.get(tag.type or "", UNTIMED)
        rows[tsid, [NAME_FROM, NAME_TO]] = len(names), len(names) + len(tag.name.encode())
        names += tag.name.encode()
        above = structure.parents[tsid]
        rows[tsid, ABOVE] = above[0] if len(above) == 1 else -1
    return rows, np.frombuffer(names or b" ", np.uint8)
