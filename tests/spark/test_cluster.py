"""A real cluster of a master and two workers: executors run the package they are sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rest_samples import document_of, site

from xstreamcast.run.query import query
from xstreamcast.spark.cluster import Cluster
from xstreamcast.spark.package import archive

pytestmark = pytest.mark.spark

JOB = """
import json, sys
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

master, document, scratch = sys.argv[1:]
from pathlib import Path
spark = session("test", master, scratch=Path(scratch), **SHORT_LIVED, **{"spark.executor.memory": "512m"})

def where(_):
    import xstreamcast
    return xstreamcast.__file__

found = spark.sparkContext.parallelize(range(8), 8).map(where).collect()
reading = spark.read.format("xstreamcast").option("record", "//person").option("columns", json.dumps({"id": "@id"}))
ids = [row.id for row in reading.option("partitionBytes", "40000").load(document).collect()]
print(json.dumps({"from": sorted(set(found)), "ids": ids}))
shut_down(spark)
"""


def test_executors_of_a_cluster_run_what_they_are_sent(cluster: Cluster, tmp_path: Path) -> None:
    document = document_of(tmp_path, site())
    installed_only = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, "-c", JOB, cluster.master, document.path, str(tmp_path / "scratch")], env=installed_only,
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert all("xstreamcast-package" in file for file in found["from"])
    assert found["ids"] == query("//person/@id/string()", context=document.source()).to_list()


def test_the_package_is_written_once(tmp_path: Path) -> None:
    first = archive(tmp_path)
    assert archive(tmp_path) == first
    assert [file.name for file in tmp_path.iterdir()] == [first.name]
