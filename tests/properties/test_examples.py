"""Every example in ``examples/`` runs: right after every change, told as changes, and in the end what Saxon says.

The answers stated beside the queries are Saxon's on T of the streams; for XCQL, those of the translation that
constructs the temporal view first.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from law_case import Case, Step
from law_oracle import Followed, Scratch, by_saxon, canonical, check, is_standard
from saxon_answers import translated

import xstreamcast
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.wire.fragment import encode_change, read_stream

EXAMPLES = Path(__file__).parents[2] / "examples"
QUERIES = sorted(EXAMPLES.glob("*/*/*.xq"))
each_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.parent.parent.name}-{query.stem}")


def streams_of(query: Path) -> dict[str, Path]:
    """The streams that a query reads: the files beside it."""
    return {name: query.with_name(f"{name}.xml") for name in re.findall(r'stream\("(\w+)"\)', read(query))}


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def case_of(query: Path) -> Case:
    """The streams take turns, change by change."""
    waiting = {name: list(steps(name, file)) for name, file in streams_of(query).items()}
    taken: list[Step] = []
    while any(waiting.values()):
        taken += [brought.pop(0) for brought in waiting.values() if brought]
    return Case(read(query), tuple(taken))


def steps(name: str, file: Path) -> Iterator[Step]:
    text = file.read_bytes()
    for arrival in read_stream(io.BytesIO(text)):
        if isinstance(arrival.item, Structure):
            yield Step(name, text[arrival.place.offset : arrival.end].decode())
        else:
            assert isinstance(arrival.item, Change), arrival.item
            yield Step(name, encode_change(arrival.item).decode())


def stated(query: Path) -> str:
    return read(query.with_suffix(".answer"))


@each_query
def test_an_example_is_answered_after_every_change(query: Path) -> None:
    told = check(case_of(query), saxon="always")
    assert told.answers >= 2, "an example in which nothing happens shows nothing"


@each_query
def test_the_answer_stated_beside_an_example_is_saxons(query: Path) -> None:
    text = read(query)
    if is_standard(text):
        scratch = Scratch(text)
        for step in case_of(query).steps:
            scratch.take(step)
        found = by_saxon(text, {name: scratch.text(name) for name in streams_of(query)})
    else:
        found = translated(text, "CaQ", streams_of(query))
    assert canonical(found.strip()) == canonical(stated(query).strip())


@each_query
def test_the_answer_stated_beside_an_example_is_ours(query: Path) -> None:
    followed = Followed(xstreamcast.continuous(read(query)))
    for step in case_of(query).steps:
        followed.take(step)
    assert canonical(followed.query.text()) == canonical(stated(query).strip())
    assert followed.display.text() == followed.query.text()


@each_query
def test_an_example_is_the_same_with_each_stream_as_a_whole_one_after_the_other(query: Path) -> None:
    case = case_of(query)
    streams = {name: [step for step in case.steps if step.stream == name] for name in streams_of(query)}
    followed = Followed(xstreamcast.continuous(case.query))
    for name in sorted(streams, reverse=True):
        for step in streams[name]:
            followed.take(step)
    assert canonical(followed.query.text()) == canonical(stated(query).strip())


def test_every_example_has_its_line_in_the_list() -> None:
    listed = read(EXAMPLES / "README.md")
    assert [str(query) for query in QUERIES if str(query.relative_to(EXAMPLES)) not in listed] == []
