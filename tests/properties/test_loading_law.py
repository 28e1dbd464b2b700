"""What a file brings at once gives the answer that it gives change by change, and so does all that comes after it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Followed, Scratch
from law_streams import Writer, draw_shape

import xstreamcast
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.evaluate import bulk

pytest.importorskip("saxonche")


@pytest.mark.parametrize("seed", range(9200, 9260))
def test_a_file_and_what_comes_after_it_give_what_the_changes_give_one_by_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(bulk, "TOGETHER", 200)
    case, r = draw_case(seed), Random(seed)
    steps = [Step(step.stream, step.wire.replace(' version="1"', "")) for step in case.steps]
    ticks = [number for number, step in enumerate(steps) if step.tick is not None]
    structures = [number for number, step in enumerate(steps) if step.wire.startswith("<stream:structure")]
    # At the end of a file, what still waits for a structure is put aside.
    at = min([max([r.randint(len(steps) // 2, len(steps)), *[number + 1 for number in structures]]), *ticks])
    if any(number >= at for number in structures):
        at = 0
    _follow(case, steps, at, tmp_path)


FORMS = (
    'count(stream("s")//{0})',
    'stream("s")//{0}',
    'stream("s")//{0}[*]',
    "string-join(stream(\"s\")//{0}, '|')",
    'distinct-values(stream("s")//{0}/string())',
    'for $e in stream("s")//{0} where exists($e/*) return <e>{{ $e/@*, $e/*[1] }}</e>',
    'for $e in stream("s")//{0} return string-length($e)',
    '(sum(stream("s")//{0}/count(*)), stream("s")//{0}/*)',
)
"""Queries whose records may stand in runs."""


@pytest.mark.parametrize("block", range(10))
def test_so_it_is_where_fragments_are_plain_and_stand_in_runs(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(bulk, "TOGETHER", 200)
    stood = 0
    for seed in range(9300 + 8 * block, 9308 + 8 * block):
        r = Random(seed)
        shape = draw_shape(r)
        while not shape.declared or shape.unnamed or shape.timed or shape.late:
            shape = draw_shape(r)
        steps = [Step("s", wire.replace(' version="1"', "")) for wire in Writer(r, shape).write(24)]
        name = r.choice(sorted({tag.name for tag in shape.tags.values()}))
        at = r.randint(len(steps) // 2, len(steps))
        stood += _follow(Case(r.choice(FORMS).format(name), tuple(steps)), steps, at, tmp_path)
    assert stood, "otherwise this says nothing about runs"


def _follow(case: Case, steps: list[Step], at: int, folder: Path) -> int:
    """Hold a query against the one from scratch, after a file of the first steps and after each one behind them.

    How many fragments have stood in runs.
    """
    scratch = Scratch(case.query, case.clock)
    followed = Followed(xstreamcast.continuous(case.query, clock=case.clock))
    files: dict[str, list[str]] = {}
    stood = 0
    for step in steps[:at]:
        scratch.take(step)
        files.setdefault(step.stream, []).append(step.wire)
    for stream, wires in files.items():
        (folder / stream).write_text("\n".join(wires))
        followed.show(followed.query.load(str(folder / stream), stream))
        stood += followed.query.state()["streams"].get(stream, {}).get("in_runs", 0)
    for step in (None, *steps[at:]):
        if step is not None:
            scratch.take(step)
            followed.take(step)
        expected = scratch.answer()
        if followed.answer().failed == expected.failed:
            assert followed.differs(expected) is None, f"{case}\nafter {at} steps in files, then {step}"
    return stood
