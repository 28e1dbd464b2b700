"""Tests that share something stay together when tests run side by side."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_a_test_of_a_group_goes_where_its_group_goes(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not spread over processes by groups")
    assert request.node.nodeid.endswith("@together")
