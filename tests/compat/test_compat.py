"""What must work on every Spark that is supported: ``make compat`` runs this in an environment of each.

Micro-batches are not compared one by one: Spark 4.1 takes all that is there when ``availableNow`` begins as one batch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from equivalence import CASES, AtRest, Case, Embedded, OnSpark
from lake import LAKE, TABLE, lake_settings
from motion_streams import FRAUD, GENERATORS, MAXED_OUT, embedded_answers, spoken, write_streams
from test_stream_air import CHANGES, STRUCTURE, broadcasting
from test_stream_writer import Goods, changes_of, document

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change
from xstreamcast.serve.client import parse_address, read
from xstreamcast.spark import continuous_many
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down
from xstreamcast.spark.versions import check

FILES = 4
AT_REST = [case for case in CASES["cluster"] if isinstance(case.given, AtRest)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of the Spark that is in this environment, with the jars of a lakehouse where there are any for it."""
    folder = tmp_path_factory.mktemp("spark")
    running = session("xstreamcast compat", scratch=folder, **SHORT_LIVED, **lake_settings(folder))
    yield running
    shut_down(running)


class Stream:
    """The stream of a bank, half of which comes later."""

    def __init__(self, folder: Path) -> None:
        self.streams = write_streams(folder, FILES, {"credit": GENERATORS["credit"]})
        self.answers = embedded_answers({"maxed out": MAXED_OUT, "fraud": FRAUD}, self.streams, FILES)
        self.later = sorted(Path(self.streams["credit"]).glob("*.xml"))[FILES // 2 :]
        for file in self.later:
            file.rename(file.with_name(f".{file.name}"))

    def go_on(self) -> None:
        for file in self.later:
            file.with_name(f".{file.name}").rename(file)


@pytest.mark.parametrize("case", AT_REST, ids=[case.name for case in AT_REST])
def test_documents_at_rest(case: Case, spark: Any, tmp_path: Path) -> None:
    embedded, engine = Embedded(AT_REST, tmp_path / "embedded"), OnSpark(spark, AT_REST, tmp_path / "spark")
    for one in (embedded, engine):
        one.folder.mkdir()
    assert engine.answers(case.query, case.given) == embedded.answers(case.query, case.given)


def test_queries_in_motion_go_on_from_their_checkpoint_and_a_lake_has_the_answer(spark: Any, tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    for turn, wanted in enumerate((stream.answers[FILES // 2 - 1], stream.answers[-1])):
        if turn:
            stream.go_on()
        motion = continuous_many(spark, [MAXED_OUT, FRAUD], stream.streams, names=["maxed", "fraud"])
        sinks = []
        if LAKE:
            from xstreamcast.spark import MergeTable

            columns = {"id": "@id", "customer": "customer", "limit": "creditLimit[last()] as xs:decimal"}
            sinks.append(MergeTable(spark, TABLE, LAKE, columns=columns, query="maxed"))
        running = motion.start(checkpoint=tmp_path / "checkpoint", sinks=sinks, available_now=True)
        try:
            assert running.wait(300)
            assert [spoken(query.told()) for query in running.answers.queries] == wanted
        finally:
            running.stop()
        if LAKE:
            rows = spark.sql(f"SELECT id, customer FROM {TABLE} ORDER BY xcast_place").collect()
            items = "".join(f'<account id="{row.id}"><customer>{row.customer}</customer>' for row in rows)
            assert _heads(wanted[0]) == items
    assert stream.answers[-1][0] != stream.answers[FILES // 2 - 1][0]


def _heads(answer: str) -> str:
    """The beginning of each account of an answer."""
    end = "</customer>"
    return "".join(part[: part.index(end) + len(end)] for part in answer.split("\n") if end in part)


def test_a_batch_that_comes_again_is_in_a_folder_once(spark: Any, tmp_path: Path) -> None:
    goods, target = Goods(spark, tmp_path), tmp_path / "copy"
    goods.copy(str(target))
    before = {file.name: file.read_bytes() for file in target.iterdir()}
    for commit in sorted((tmp_path / "checkpoint" / "commits").iterdir(), key=lambda file: file.name.strip(".")):
        last = commit
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    goods.copy(str(target))
    assert changes_of(target) == CHANGES
    assert {file.name: file.read_bytes() for file in target.iterdir()} == before


def test_a_server_is_read_and_written(spark: Any, tmp_path: Path) -> None:
    with broadcasting(tmp_path / "station") as (port, put):
        put([STRUCTURE, *CHANGES])
        frame = spark.readStream.format("xstreamcast").load(f"xcast://127.0.0.1:{port}/goods")
        address = f"xcast://127.0.0.1:{port}/copy"
        Goods(spark, tmp_path).copy(address, frame=frame, token="secret")
        entries = read(parse_address(address), 0, 10_000).entries
        assert document(item for _, item in entries if isinstance(item, Change)) == document(CHANGES)


def test_a_client_of_spark_connect(tmp_path: Path) -> None:
    driver = Path(__file__).parents[1] / "spark" / "connect_driver.py"
    paths = os.pathsep.join(path for path in sys.path if path)
    ran = subprocess.run(
        [sys.executable, str(driver), "local[2]", str(tmp_path), "everything"],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    cases = CASES["connect"]
    embedded = Embedded(cases, tmp_path / "embedded")
    embedded.folder.mkdir()
    for case, said in zip(cases, told["answers"], strict=True):
        assert [tuple(one) for one in said] == embedded.answers(case.query, case.given)
    streams = write_streams(tmp_path / "stream", 3, {"credit": GENERATORS["credit"]})
    answers = embedded_answers({"maxed out": MAXED_OUT, "fraud": FRAUD}, streams, 3)
    assert [run[-1] for run in told["restarted"]] == [answers[0], answers[-1]]
    assert (told["sink"], told["stream"]) == ("no room for this answer", "XSC0006")


def test_an_older_spark_is_refused() -> None:
    with pytest.raises(XStreamError, match="XSC0088"):
        check("4.0.5")
