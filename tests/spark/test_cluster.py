"""A real cluster of a master and two workers: executors run the package they are sent."""

from __future__ import annotations

from pathlib import Path

from equivalence import OnCluster
from rest_samples import document_of, site

from xstreamcast.run.query import query
from xstreamcast.spark.package import archive


def test_executors_of_a_cluster_run_what_they_are_sent(on_cluster: OnCluster, tmp_path: Path) -> None:
    assert on_cluster.told["files"]
    assert all("xstreamcast-package" in file for file in on_cluster.told["files"])
    document = document_of(tmp_path, site())
    assert on_cluster.told["ids"] == query("//person/@id/string()", context=document.source()).to_list()


def test_the_package_is_written_once(tmp_path: Path) -> None:
    first = archive(tmp_path)
    assert archive(tmp_path) == first
    assert [file.name for file in tmp_path.iterdir()] == [first.name]
