"""One real Spark session for all Spark tests, and streams in every spelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the Spark tests need xstreamcast[spark]")

from spark_samples import SAMPLES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts Spark says so, and stays together: two sessions at once are too many for a small machine."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from xstreamcast.spark import register
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    running = session("xstreamcast tests", scratch=tmp_path_factory.mktemp("spark"), **SHORT_LIVED)
    register(running)
    yield running
    shut_down(running)


@pytest.fixture
def samples(tmp_path: Path) -> list[Path]:
    """A stream in each spelling, packing and encoding."""
    for name, data in SAMPLES.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in SAMPLES]
