"""Embedded ≡ Spark: whatever is asked, at rest or in motion, both say the same, after every micro-batch, errors too.

LAW_ON_SPARK says how many random cases of the law there are (12 if it does not), which run in one streaming query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from equivalence import CASES, Case, Drawn, Embedded, Engine, Given, InMotion, OnSpark
from local_frames import LocalSpark
from motion_law import BATCHES, play

from xstreamcast.run.continuous.query import EMISSIONS
from xstreamcast.spark.rest.indexing import forget_seams

MARKS = {
    "local[2]": [pytest.mark.spark, pytest.mark.xdist_group("spark")],
    "cluster": [pytest.mark.spark, pytest.mark.xdist_group("cluster")],
    "connect": [pytest.mark.spark, pytest.mark.xdist_group("connect")],
}
EVERYTHING = [case for cases in CASES.values() for case in cases]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return Embedded(EVERYTHING, tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Engine]]:
    """Those that have been asked something."""
    yield {}
    forget_seams()


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, engines: dict[str, Engine], tmp_path_factory: pytest.TempPathFactory
) -> Engine:
    """Spark: a stand-in for it in this process, two threads of a real one, a cluster, or a server of Connect."""
    where = request.param
    if where not in engines:
        cases, folder = CASES[where], tmp_path_factory.mktemp("spark")
        match where:
            case "here":
                engines[where] = OnSpark(LocalSpark(), cases, folder)
            case "local[2]":
                engines[where] = OnSpark(request.getfixturevalue("spark"), cases, folder, stops=(2, BATCHES))
            case "connect":
                engines[where] = request.getfixturevalue("on_connect")
            case _:
                engines[where] = request.getfixturevalue("on_cluster")
    return engines[where]


def same(query: str, given: Given, engine: Engine, embedded: Engine) -> None:
    """The one body. Which of several errors is met is left open by XQuery 3.1 (§2.3.4); these engines meet the same."""
    assert engine.answers(query, given) == embedded.answers(query, given)


def params() -> Iterator[Any]:
    for where, cases in CASES.items():
        marks = MARKS.get(where, ())
        for case in cases:
            yield pytest.param(where, case, id=f"{where}-{case.name}", marks=marks)


@pytest.mark.parametrize(("engine", "case"), [*params()], indirect=["engine"])
def test_spark_answers_as_the_embedded_engine_does(engine: Engine, case: Case, embedded: Embedded) -> None:
    same(case.query, case.given, engine, embedded)


@pytest.mark.xdist_group("spark")  # where the answers are known
def test_what_is_in_motion_moves(embedded: Embedded) -> None:
    """Answers that never change, or never are, show nothing."""
    drawn = [embedded.answers(case.query, case.given) for case in EVERYTHING if isinstance(case.given, Drawn)]
    assert sum(len(set(said)) for said in drawn) > 1.5 * len(drawn)
    for case in EVERYTHING:
        if isinstance(case.given, InMotion):
            assert any(answer for answer, _ in embedded.answers(case.query, case.given)), case.name


def test_random_cases_have_every_emission_both_clocks_and_lateness() -> None:
    jobs = [play(case.given.seed).job for case in EVERYTHING if isinstance(case.given, Drawn)]
    assert {job.emit for job in jobs} == set(EMISSIONS)
    assert {job.clock for job in jobs} == {"event", "wall"}
    assert {job.lateness is None for job in jobs} == {True, False}
