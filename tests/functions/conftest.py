"""Calling library functions as a query does: arguments converted, sequences in, a sequence out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.functions.context import DynamicContext, StaticContext
from xstreamcast.functions.registry import lookup
from xstreamcast.model.datetime import DateTime, parse_moment
from xstreamcast.model.namespaces import PREFIXES

Call = Callable[..., list[Any]]


def _sequence(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if type(value) is list else [value]


@pytest.fixture(scope="session")
def context() -> DynamicContext:
    now = parse_moment(DateTime, "2020-01-02T03:04:05Z")
    assert isinstance(now, DateTime)
    static = StaticContext(base_uri="http://example.org/base/query.xq")
    return DynamicContext(static, now, environment={"HOME": "/home/me"})


@pytest.fixture(scope="session")
def call(context: DynamicContext) -> Call:
    """``call("fn:substring", "hello", 2)``; ``None`` is the empty sequence, a list a sequence."""

    def run(name: str, *args: Any, focus: Any = None) -> list[Any]:
        prefix, _, local = name.partition(":")
        entry = lookup(PREFIXES[prefix], local, len(args))
        assert entry is not None, f"{name}#{len(args)}"
        where = context if focus is None else context.focused(focus, 1, 1)
        return entry.item(where).invoke([_sequence(arg) for arg in args])

    return run


@pytest.fixture(scope="session")
def fails(call: Call) -> Callable[..., None]:
    """``fails("FORG0001", "xs:integer", "x")``"""

    def run(code: str, name: str, *args: Any) -> None:
        with pytest.raises(XStreamError) as caught:
            call(name, *args)
        assert caught.value.code == code

    return run


def typed(sequence: list[Any]) -> list[tuple[type, str]]:
    """Values with their types; text makes NaN equal to itself and tells 0 from -0."""
    return [(type(item), str(item)) for item in sequence]


@pytest.fixture(scope="session")
def gives(call: Call) -> Callable[..., None]:
    """``gives(["ello"], "fn:substring", "hello", 2)``: equal values of equal types."""

    def run(expected: Any, name: str, *args: Any) -> None:
        assert typed(call(name, *args)) == typed(_sequence(expected))

    return run
