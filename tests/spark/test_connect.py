"""Spark Connect: a session that is a client, without Java beside it, is told what the embedded engine says.

What is asked at rest and in motion is among the cases of ``test_equivalence.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from equivalence import OnConnect
from motion_streams import FRAUD, GENERATORS, MAXED_OUT, embedded_answers, write_streams
from rest_samples import site

from xstreamcast.run.query import query
from xstreamcast.spark.connect import LEFT_OUT

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("connect")]


@pytest.fixture
def told(on_connect: OnConnect) -> dict[str, Any]:
    return on_connect.told


def test_the_session_is_a_client(told: dict[str, Any]) -> None:
    assert told["client"] == "pyspark.sql.connect.session"


def test_documents_are_read_through_the_source(told: dict[str, Any]) -> None:
    ids = list(query("//person/@id/string()", context=site()))
    assert sorted(told["ids"]) == sorted(ids)
    assert len(ids) > 50


def test_queries_go_on_from_their_checkpoint(told: dict[str, Any], tmp_path: Path) -> None:
    streams = write_streams(tmp_path, 3, {"credit": GENERATORS["credit"]})
    answers = embedded_answers({"maxed out": MAXED_OUT, "fraud": FRAUD}, streams, 3)
    assert [said for run in told["restarted"] for said in run] == answers
    assert all(len(set(said)) > 1 for said in zip(*answers, strict=True))
    assert {"0000000000.parquet", "0000000002.parquet"} <= set(told["log"])  # of those that tell something


def test_the_plan_tells_what_is_left_out(told: dict[str, Any]) -> None:
    assert "client of Spark" in told["plan"]
    for what in LEFT_OUT:
        assert what in told["plan"]
