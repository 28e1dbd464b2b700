"""What all tests share."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, and however slowly: what else the machine does is no property of what is tested.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

# Who starts the tests in the background has Ctrl-C ignored; commands that tests start and interrupt must not.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, the longest pieces of work come first, so that no processor waits for the last of them."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    """Who shares something that takes long to start, then who starts such a thing for itself, then all others."""
    if item.get_closest_marker("xdist_group"):
        return 0
    return 1 if item.get_closest_marker("spark") else 2
