"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, and however slowly: what else the machine does is no property of what is tested.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

# Who starts the tests in the background has Ctrl-C ignored; commands that tests start and interrupt must not.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def own_ports() -> Iterator[list[int]]:
    """Ports of this machine for servers that come and go: who asks for any other is not given them meanwhile."""
    with ExitStack() as stack:
        ports: list[int] = []
        for _ in range(3):
            reserved = stack.enter_context(socket.socket())
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: only to listen is exclusive
            reserved.bind(("127.0.0.1", 0))
            ports.append(reserved.getsockname()[1])
        yield ports


@pytest.fixture
def own_port(own_ports: list[int]) -> int:
    return own_ports[0]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _never_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _never_skipped((yield))


Report = TypeVar("Report", pytest.CollectReport, pytest.TestReport)


def _never_skipped(report: Report) -> Report:
    """Nothing is left out in silence: what cannot be tested here fails, and says what it misses."""
    if report.skipped:
        _, _, why = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, str(report.longrepr))
        report.outcome, report.longrepr = "failed", f"{report.nodeid} must not be skipped ({why})"
    return report


def pytest_xdist_auto_num_workers() -> int:
    """A worker more than there are processors: some tests wait for Spark, or for other processes, to start."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return usable + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, the longest pieces of work come first, so that no processor waits for the last of them."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end, and so does most of what each makes until that ends: to look through all of
    it for garbage, again and again, took a fifth of the time of a run. So it is done as seldom as the command does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])


def pytest_unconfigure() -> None:
    """… and goes then: some libraries complain of what is left when the process ends."""
    gc.unfreeze()


def _rank(item: pytest.Item) -> int:
    """Who shares something that takes long to start, then who takes long or starts such a thing, then all others."""
    if item.get_closest_marker("xdist_group"):
        return 0
    return 1 if item.get_closest_marker("spark") or item.get_closest_marker("long") else 2
