"""Tests that share something stay together when tests run side by side."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_a_test_of_a_group_goes_where_its_group_goes(request: pytest.FixtureRequest) -> None:
    grouped = bool(getattr(request.config.option, "loadgroup", False))  # else there is nothing to go together in
    assert request.node.nodeid.endswith("@together") is grouped
