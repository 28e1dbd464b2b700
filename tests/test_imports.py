"""``import xstreamcast`` costs nothing, and what is used then imports no more than it needs: modules are named here."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = {"numba", "llvmlite", "rich", "pyarrow", "pandas", "polars", "duckdb", "lxml", "pyspark", "aiohttp", "icu"}
NETWORK = {"asyncio", "socket", "ssl", "http", "email", "urllib.request", "concurrent.futures", "multiprocessing"}


def imported(script: str) -> set[str]:
    """The modules that a script imports which Python itself does not begin with."""
    told = "import sys; before = set(sys.modules)\n" + script + "\nprint(*set(sys.modules) - before)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_the_package_itself_is_one_module() -> None:
    assert imported("import xstreamcast") == {"xstreamcast"}


@pytest.mark.parametrize(
    ("script", "unwanted"),
    [
        ("from xstreamcast import query, compile, query_many", {"numpy", "sqlite3", "xstreamcast.scan.kernel"}),
        ("from xstreamcast import query; query('count(//b)', context='<a><b/></a>').one()", {"numpy", "sqlite3"}),
        ("from xstreamcast import Fill, Replace, Remove, Structure, XStreamError", {"numpy", "xstreamcast.run"}),
        ("from xstreamcast import continuous; continuous('stream(\"s\")//a')", {"xstreamcast.tables.answer_table"}),
        ("from xstreamcast import *", {"xstreamcast.spark", "xstreamcast.serve.client", "xstreamcast.cli"}),
    ],
    ids=["query", "asked", "changes", "continuous", "all"],
)
def test_names_import_what_they_need(script: str, unwanted: set[str]) -> None:
    found = imported(script)
    assert "xstreamcast" in found
    assert sorted((PACKAGES | NETWORK | unwanted) & found) == []
