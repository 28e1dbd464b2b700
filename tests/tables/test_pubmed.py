"""A baseline and updates of PubMed's shape: the tables are what a script by hand says, killed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import pubmed

pytestmark = pytest.mark.xdist_group("postgres")


def test_tables_equal_the_state_that_a_script_by_hand_finds(tmp_path: Path) -> None:
    files = pubmed.write(tmp_path / "in", 0.6, updates=10)
    assert len(files) == 11
    state = pubmed.by_hand(files)
    first = pubmed.by_hand(files[:1])
    assert len(first) > 100
    assert set(state) - set(first), "some are new"
    assert set(first) - set(state), "some were deleted"
    assert any(state[pmid] != first[pmid] for pmid in state.keys() & first.keys()), "some were revised"
    with pubmed.postgres(tmp_path) as url:
        cost = pubmed.fed(tmp_path / "in", tmp_path / "state", url, [2, 5])
        assert cost.killed == 2
        assert pubmed.differing(pubmed.from_postgres(url), state) == 0
        assert pubmed.fed(tmp_path / "in", tmp_path / "state", url, []).killed == 0  # nothing is new
        assert pubmed.differing(pubmed.from_postgres(url), state) == 0
    cost = pubmed.fed(tmp_path / "in", tmp_path / "other", f"duckdb:///{tmp_path}/t.duckdb", [2, 5])
    assert cost.killed == 2
    pubmed.to_parquet(tmp_path / "t.duckdb", tmp_path / "t.parquet")
    assert pubmed.differing(pubmed.from_parquet(tmp_path / "t.parquet"), state) == 0


def test_rows_that_differ_or_are_missing_are_counted(tmp_path: Path) -> None:
    state = pubmed.by_hand(pubmed.write(tmp_path / "in", 0.2, updates=1))
    rows = list(state.values())
    assert pubmed.differing(iter(rows), state) == 0
    assert pubmed.differing(iter(rows[1:]), state) == 1
    assert pubmed.differing(iter([(*rows[0][:2], "another", *rows[0][3:]), *rows[1:]]), state) == 2
