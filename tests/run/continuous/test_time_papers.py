"""SIGMOD'04's queries while time passes: all has been sent ahead, and each answer is that of T as of the tick."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from timed import Beside

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.wire.fragment import read_stream

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "sigmod04").glob("*/*.xq"))
MINUTE = 60_000_000


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_an_example_by_a_clock_that_ticks(file: Path) -> None:
    text = file.read_text()
    items = {
        source.stem: [arrival.item for arrival in read_stream(source)]
        for source in sorted(file.parent.glob("*.xml"))
        if f'stream("{source.stem}")' in text
    }
    structures = {name: next(one for one in found if isinstance(one, Structure)) for name, found in items.items()}
    changes = [(name, one) for name, found in items.items() for one in found if isinstance(one, Change)]
    times = {change.valid_time for _, change in changes if change.valid_time is not None}
    beside = Beside(text, structures, "manual")
    beside.happen(*changes[:3], min(times), *changes[3:])
    for time in sorted({*times, *[time + 1 for time in times], *[time + MINUTE for time in times]}):
        beside.happen(time)
