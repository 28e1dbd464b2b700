"""The papers' queries, translated by each method and run by Saxon on the fragments, give what the view gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from saxon_answers import FIXTURES, Streams, bag, evaluated, normal, translated, write_streams

from xstreamcast.plan.translate.program import STRATEGIES, Strategy, translate
from xstreamcast.run.query import query

QUERIES = sorted(FIXTURES.glob("*.xq"))
Written = Callable[[str, bool], Streams]
"""The streams of a generator, shuffled or not."""


def generator_of(file: Path) -> str:
    found = re.match(r"\(: (\w+)\.", file.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Written:
    @lru_cache
    def written(name: str, shuffled: bool) -> Streams:
        return write_streams(tmp_path_factory.mktemp(name), name, shuffled)

    return written


@lru_cache
def expected(file: Path, *streams: tuple[str, Path]) -> str:
    return normal(evaluated(file.read_text(encoding="utf-8"), dict(streams)))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_saxon_gives_the_answer_of_the_view(file: Path, strategy: Strategy, streams: Written) -> None:
    found = streams(generator_of(file), False)
    answer = expected(file, *found.items())
    assert answer, "a query without an answer shows nothing"
    assert normal(translated(file.read_text(encoding="utf-8"), strategy, found)) == answer


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "name",
    [
        "maxed-out",
        "charged-now",
        "last-of-each",
        "first-ten",
        "syn-without-ack",
        "lights-now",
        "xmark-2",
        "xmark-items",
    ],
)
def test_the_order_of_arrival_does_not_matter(name: str, strategy: Strategy, streams: Written) -> None:
    file = FIXTURES / f"{name}.xq"
    found = streams(generator_of(file), True)
    answer = translated(file.read_text(encoding="utf-8"), strategy, found)
    assert normal(answer) == expected(file, *found.items())


@pytest.mark.parametrize("name", ["charged-now", "xmark-1", "xmark-5", "xmark-items", "syn-as-printed"])
def test_fillers_taken_by_tsid_alone_are_the_same_collection(name: str, streams: Written) -> None:
    file = FIXTURES / f"{name}.xq"
    found = streams(generator_of(file), True)
    answer = translated(file.read_text(encoding="utf-8"), "QaC+", found, rooted=True)
    assert bag(normal(answer)) == bag(expected(file, *found.items()))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["maxed-out", "last-of-each", "functions", "lights-now", "xmark-items"])
def test_the_program_asks_nothing_of_the_engine_but_the_standard(
    name: str, strategy: Strategy, streams: Written
) -> None:
    file = FIXTURES / f"{name}.xq"
    found = streams(generator_of(file), False)
    program = translate(file.read_text(encoding="utf-8"), strategy, streams=found)
    assert normal(query(program).xml()) == expected(file, *found.items())
