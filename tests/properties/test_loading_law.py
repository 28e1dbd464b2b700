"""What a file brings at once gives the answer that it gives change by change, and so does all that comes after it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from law_case import Step
from law_draw import draw_case
from law_oracle import Followed, Scratch

import xstreamcast
from xstreamcast.run.continuous import bulk, inflow

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
    scratch = Scratch(case.query, case.clock)
    followed = Followed(xstreamcast.continuous(case.query, clock=case.clock))
    files: dict[str, list[str]] = {}
    for step in steps[:at]:
        scratch.take(step)
        files.setdefault(step.stream, []).append(step.wire)
    for stream, wires in files.items():
        (tmp_path / stream).write_text("\n".join(wires))
        followed.show(followed.query.load(str(tmp_path / stream), stream))
    for step in (None, *steps[at:]):
        if step is not None:
            scratch.take(step)
            followed.take(step)
        expected = scratch.answer()
        if followed.answer().failed == expected.failed:
            assert followed.differs(expected) is None, f"{case}\nafter {at} steps in files, then {step}"
