"""The kernel within bounds and without a compiler: parts of this suite in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
CHECKED = [
    "test_scan_corpus.py",
    "test_spans.py",
    "test_scan_expat.py",
    "test_scan_paths.py",
    "test_documents.py::test_what_a_path_finds_in_batches_is_what_it_finds_in_the_document",
    "test_documents.py::test_a_cut_at_any_step_changes_nothing",
    "test_filters.py",
    "test_octets.py",
]
PLAIN = [
    "test_scan_corpus.py",
    "test_spans.py::test_integers_are_exact_or_refused",
    "test_documents.py::test_carried_parts_stay_until_their_element_ends",
    "test_filters.py::test_a_record_stays_when_any_of_its_filters_lets_it_pass",
]


def suite(names: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), **settings}
    files = [str(HERE / name) for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE.parents[1], check=False)


def test_no_index_leaves_its_array() -> None:
    done = suite(CHECKED, NUMBA_BOUNDSCHECK="1")
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_plain_twins_do_what_the_intrinsics_do() -> None:
    done = suite(PLAIN, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout[-3000:]
