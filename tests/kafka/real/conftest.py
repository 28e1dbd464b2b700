"""One broker and one Spark session for all tests of Kafka."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from broker import Broker


@pytest.fixture(scope="session")
def ports() -> Iterator[list[int]]:
    import socket
    from contextlib import ExitStack

    with ExitStack() as stack:
        kept = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in kept:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does: only to listen is exclusive
            one.bind(("127.0.0.1", 0))
        yield [one.getsockname()[1] for one in kept]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, ports: list[int]) -> Iterator[Broker]:
    running = Broker(tmp_path_factory.mktemp("broker"), *ports)
    yield running
    running.kill()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    jars: dict[str, Any] = {"spark.jars": os.environ["XCAST_KAFKA_CONNECTOR"]}
    running = session("kafka tests", scratch=tmp_path_factory.mktemp("spark"), **SHORT_LIVED, **jars)
    yield running
    shut_down(running)


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, with three partitions."""
    return broker.topic(request.node.name, 3)
