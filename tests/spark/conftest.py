"""One real Spark session for all Spark tests, one cluster, and streams in every spelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from equivalence import CASES, OnCluster, OnConnect
from spark_samples import SAMPLES


@pytest.hookimpl(tryfirst=True)  # before groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts Spark says so. Who shares the session of this process, or the cluster, stays together."""
    for item in items:
        for shared in {"spark", "cluster"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group(shared))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    running = session("xstreamcast tests", scratch=tmp_path_factory.mktemp("spark"), **SHORT_LIVED)
    yield running
    shut_down(running)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A master and two workers, each a process."""
    from xstreamcast.spark.cluster import Cluster

    with Cluster(workers=2, memory="600m", folder=tmp_path_factory.mktemp("cluster")) as running:
        assert len(running.processes) == 3
        yield running
    assert not running.processes


@pytest.fixture(scope="session")
def on_cluster(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> OnCluster:
    """The cases that the cluster answers, by one driver."""
    return OnCluster(cluster.master, CASES["cluster"], tmp_path_factory.mktemp("on-cluster"))


@pytest.fixture(scope="session")
def on_connect(tmp_path_factory: pytest.TempPathFactory) -> OnConnect:
    """The cases that a server of Spark Connect answers, and more that its client is told."""
    return OnConnect("local[2]", CASES["connect"], tmp_path_factory.mktemp("on-connect"))


@pytest.fixture
def samples(tmp_path: Path) -> list[Path]:
    """A stream in each spelling, packing and encoding."""
    for name, data in SAMPLES.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in SAMPLES]
