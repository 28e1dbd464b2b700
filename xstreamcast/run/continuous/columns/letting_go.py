"""What has passed all windows is let go of, in columns (:mod:`xstreamcast.run.continuous.time.retention` has the rule).

    a version [b, e) or an event at e is let go of when   e < now − D   (≤ for a version, whose end is open)

Which fillings these are is seen for all of them at once, whenever there are twice as many as were left the last time:
that costs each of them little, and what is kept is at most twice what must be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xstreamcast.model.time import NOW as FOREVER
from xstreamcast.model.time import START as BEGINNING
from xstreamcast.native.kernel import I64, I64x2, kernel
from xstreamcast.run.continuous.columns.layout import (
    AHEAD,
    ENDED,
    EVENT,
    FILLING_WORDS,
    FILLINGS,
    FLAGS,
    HEAD,
    IS_GONE,
    KIND,
    LET_GO,
    N_FILLING,
    N_SINCE,
    NEXT,
    NODES,
    NOWHERE,
    OF,
    REGIONS,
    TEMPORAL,
    TIME,
    TSID,
)

if TYPE_CHECKING:
    from xstreamcast.model.time import Instant
    from xstreamcast.native.vector import Longs
    from xstreamcast.plan.retention import Keep


def passed(fillings: Any, tags: Any, kept: Mapping[int, Keep], now: Instant) -> Longs:
    """The fillings that no query can see again."""
    ends = _ends(fillings, tags)
    gone = np.zeros(len(fillings), np.bool_)
    for tag, keep in kept.items():
        if not keep.everything and not keep.last:
            mine = (fillings[:, TSID] == tag) & (ends != FOREVER) & (fillings[:, TIME] != BEGINNING)
            if keep.since is not None:
                mine &= ends <= keep.since
            gone |= mine & (ends <= now - (keep.back or 0))
    found: Longs = np.flatnonzero(gone & (fillings[:, FLAGS] & LET_GO == 0))
    return found


def _ends(fillings: Any, tags: Any) -> Longs:
    """The first instant at which each filling is no more: that after an event, or when the next version begins."""
    kinds = tags[fillings[:, TSID], KIND]
    ends: Longs = np.full(len(fillings), FOREVER, np.int64)
    ends[kinds == EVENT] = fillings[kinds == EVENT, TIME] + 1
    versions = np.flatnonzero((kinds == TEMPORAL) & (fillings[:, FLAGS] & AHEAD == 0))
    versions = versions[np.lexsort((fillings[versions, TIME], fillings[versions, OF]))]
    followed = fillings[versions[:-1], OF] == fillings[versions[1:], OF]
    ends[versions[:-1][followed]] = fillings[versions[1:][followed], TIME]
    return ends


@kernel
def forget(regions: I64x2, fillings: I64x2, nodes: I64x2, moved: I64, tally: I64) -> None:
    """The fillings that were let go of are rows no more; those behind them move up. All has been settled."""
    count = tally[FILLINGS]
    row = 0
    for f in range(count):
        moved[f] = NOWHERE
        if fillings[f, FLAGS] & LET_GO == 0 or fillings[f, FLAGS] & ENDED == 0:  # it may have been sent again
            fillings[f, FLAGS] &= ~LET_GO
            moved[f] = row
            row += 1
    for slot in range(tally[REGIONS]):
        last = NOWHERE
        f = regions[slot, HEAD]
        regions[slot, HEAD] = NOWHERE
        while f >= 0:
            if moved[f] >= 0:
                if last < 0:
                    regions[slot, HEAD] = moved[f]
                else:
                    fillings[last, NEXT] = moved[f]
                last = f
            f = fillings[f, NEXT]
        if last >= 0:
            fillings[last, NEXT] = NOWHERE
    for f in range(count):
        if moved[f] >= 0:
            for word in range(FILLING_WORDS):
                fillings[moved[f], word] = fillings[f, word]
    for n in range(tally[NODES]):
        if nodes[n, N_SINCE] != IS_GONE:
            nodes[n, N_FILLING] = moved[nodes[n, N_FILLING]]
    tally[FILLINGS] = row
