"""What a file brings at once gives the answer that it gives change by change, and so does all that comes after it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from budget import MORE
from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Followed, Scratch
from law_queries import draw_query
from law_streams import Writer, draw_shape
from law_wide import draw_wide

import xstreamcast
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.evaluate import bulk


@pytest.mark.parametrize("seed", range(9200, 9200 + 20 * MORE))
def test_a_file_and_what_comes_after_it_give_what_the_changes_give_one_by_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(bulk, "TOGETHER", 200)
    case, r = draw_case(seed, draw=draw_wide if seed % 3 == 0 else draw_query), Random(seed)
    steps = [Step(step.stream, step.wire.replace(' version="1"', "")) for step in case.steps]
    ticks = [number for number, step in enumerate(steps) if step.tick is not None]
    structures = [number for number, step in enumerate(steps) if step.wire.startswith("<stream:structure")]
    # At the end of a file, what still waits for a structure is put aside.
    at = min([max([r.randint(len(steps) // 2, len(steps)), *[number + 1 for number in structures]]), *ticks])
    if any(number >= at for number in structures):
        at = 0
    _follow(case, steps, at, tmp_path, memory=1 if seed % 2 else None)


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


@pytest.mark.parametrize("block", range(4 * MORE))
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


NESTED = (
    *FORMS,
    'stream("s")//{0}[count(*) > 1]/@*',
    'for $e in stream("s")//{0} where sum($e//{1}/string-length()) > 1 return <e>{{ $e/@*, count($e/*) }}</e>',
    'for $e in stream("s")//{0} return <e from="{{ $e/@vtFrom }}">{{ count($e//{1}), $e/{1}[last()]/@vtTo }}</e>',
    'for $e in stream("s")//{0} where some $i in $e/{1} satisfies $i/* return <e>{{ $e/{1} }}</e>',
    'max(for $e in stream("s")//{0} return count($e//{1}))',
    'stream("s")//{0}/..',
    'count(stream("s")//{0}/ancestor::*)',
    'stream("s")//{0}//{1}/@vtFrom/string()',
    'for $e in stream("s")//{0}#[last] return string-join($e//{1}, ",")',
    'count(stream("s")//*)',
)
"""… with much in their holes, and times."""


@pytest.mark.parametrize("block", range(4 * MORE))
def test_so_it_is_where_fragments_have_times_and_are_in_each_other(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(bulk, "TOGETHER", 200)
    stood = 0
    for seed in range(9400 + 10 * block, 9410 + 10 * block):
        r = Random(seed)
        shape = draw_shape(r)
        while not shape.declared or shape.unnamed or shape.late or not shape.timed:
            shape = draw_shape(r)
        steps = [Step("s", wire) for wire in Writer(r, shape).write(24)]
        names = sorted({tag.name for tag in shape.tags.values()})
        case = Case(r.choice(NESTED).format(r.choice(names), r.choice(names)), tuple(steps))
        stood += _follow(case, steps, r.randint(len(steps) // 2, len(steps)), tmp_path, r.randint(1, 3))
    assert stood, "otherwise this says nothing about runs"


def _follow(case: Case, steps: list[Step], at: int, folder: Path, files: int = 1, memory: int | None = None) -> int:
    """Hold a query against the one from scratch, after some files of the first steps and after each one behind them.

    With a byte of ``memory``, contents are on disk. How many fragments have stood in runs.
    """
    scratch = Scratch(case.query, case.clock)
    followed = Followed(xstreamcast.continuous(case.query, clock=case.clock, memory=memory))
    brought: dict[tuple[int, str], list[str]] = {}
    stood = 0
    for number, step in enumerate(steps[:at]):
        scratch.take(step)
        brought.setdefault((number * files // at, step.stream), []).append(step.wire)
    for number, ((_, stream), wires) in enumerate(brought.items()):
        file = folder / f"{len(list(folder.iterdir()))}.{number}"  # contents stay in their files
        file.write_text("\n".join(wires))
        followed.show(followed.query.load(str(file), stream))
        stood += followed.query.state()["streams"].get(stream, {}).get("in_runs", 0)
    for later in (None, *steps[at:]):
        if later is not None:
            scratch.take(later)
            followed.take(later)
        expected = scratch.answer()
        if followed.answer().failed == expected.failed:
            assert followed.differs(expected) is None, f"{case}\nafter {at} steps in files, then {step}"
    return stood
