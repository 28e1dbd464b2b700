"""A real cluster of a master and two workers: executors run the package they are sent, and give the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
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
]


def test_executors_of_a_cluster_run_what_they_are_sent_and_give_the_embedded_answers(tmp_path: Path) -> None:
    import json

    document = document_of(tmp_path, site())
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (tmp_path / "cluster").mkdir()
    with Cluster(workers=2, memory="600m", folder=tmp_path / "cluster") as cluster:
        assert len(cluster.processes) == 3
        ran = subprocess.run(
            [sys.executable, "-c", JOB, cluster.master, document.path, str(tmp_path / "scratch")],
            input=json.dumps(TEXTS), capture_output=True, text=True, env=environment, timeout=400, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr[-3000:]
    assert not cluster.processes
    found = json.loads(ran.stdout.splitlines()[-1])
    assert all("xstreamcast-package" in file for file in found["from"])
    for text, answer in zip(TEXTS, found["answers"], strict=True):
        assert answer == [str(item) if not hasattr(item, "string") else item.string
                          for item in query(text, context=document.source())]  # fmt: skip
    assert found["ids"] == query("//person/@id/string()", context=document.source()).to_list()


def test_the_package_is_written_once(tmp_path: Path) -> None:
    first = archive(tmp_path)
    assert archive(tmp_path) == first
    assert [file.name for file in tmp_path.iterdir()] == [first.name]
