"""A real cluster of a master and two workers: executors run the package they are sent, and give the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_samples import document_of
from test_rest_queries import site

from xstreamcast.run.query import query
from xstreamcast.spark.cluster import Cluster
from xstreamcast.spark.package import archive

pytestmark = pytest.mark.spark

JOB = """
import json, sys
from xstreamcast.spark import query, register
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

master, document, scratch = sys.argv[1:]
from pathlib import Path
spark = session("test", master, scratch=Path(scratch), **SHORT_LIVED, **{"spark.executor.memory": "512m"})

def where(_):
    import os, xstreamcast
    return os.getppid(), xstreamcast.__file__

found = spark.sparkContext.parallelize(range(8), 8).map(where).collect()
register(spark)
answers = [
    [row.value for row in query(spark, text, context=document, partition_bytes=60_000).orderBy("position").collect()]
    for text in json.loads(sys.stdin.read())
]
reading = spark.read.format("xstreamcast").option("record", "//person").option("columns", json.dumps({"id": "@id"}))
ids = [row.id for row in reading.option("partitionBytes", "40000").load(document).collect()]
print(json.dumps({"from": sorted({file for _, file in found}), "answers": answers, "ids": ids}))
shut_down(spark)
"""

TEXTS = [
    "count(//item)",
    "for $p in /site/people/person return $p/name/text()",
    "for $i in //item order by $i/name/text() return $i/@id/string()",
    "for $p in //person return count(//closed_auction[buyer/@person = $p/@id])",
    "for $i in //item group by $l := string($i/location) order by count($i), $l return $l",
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(workers=2, memory="600m", folder=tmp_path_factory.mktemp("cluster")) as running:
        assert len(running.processes) == 3
        yield running
    assert not running.processes


def run(*command: str, given: str = "") -> str:
    """Run a driver that finds the package only where it is installed; the last line that it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, *command], input=given, capture_output=True, text=True, env=environment, timeout=400,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.splitlines()[-1]


def test_executors_of_a_cluster_run_what_they_are_sent_and_give_the_embedded_answers(
    cluster: Cluster, tmp_path: Path
) -> None:
    document = document_of(tmp_path, site())
    found = json.loads(
        run("-c", JOB, cluster.master, document.path, str(tmp_path / "scratch"), given=json.dumps(TEXTS))
    )
    assert all("xstreamcast-package" in file for file in found["from"])
    for text, answer in zip(TEXTS, found["answers"], strict=True):
        assert answer == [str(item) if not hasattr(item, "string") else item.string
                          for item in query(text, context=document.source())]  # fmt: skip
    assert found["ids"] == query("//person/@id/string()", context=document.source()).to_list()


def test_random_cases_of_the_law_hold_on_a_cluster_after_every_batch(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("saxonche")  # the cases come with an oracle that asks it
    seeds = [str(seed) for seed in range(30_100, 30_106)]
    script = Path(__file__).with_name("motion_law.py")
    answers = run(str(script), cluster.master, str(tmp_path), *seeds)  # it holds the engines against each other
    assert int(answers) > len(seeds)


def test_the_package_is_written_once(tmp_path: Path) -> None:
    first = archive(tmp_path)
    assert archive(tmp_path) == first
    assert [file.name for file in tmp_path.iterdir()] == [first.name]
