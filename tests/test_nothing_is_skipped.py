"""A test that cannot run here fails: what it would show is not taken for shown."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPING = """
import pytest

@pytest.mark.skipif(True, reason="no such device")
def test_marked(): ...

def test_in_the_middle():
    pytest.importorskip("no_such_module")

@pytest.mark.parametrize("case", [])
def test_of_no_case(case): ...

@pytest.mark.xfail
def test_that_is_known_to_fail():
    raise ValueError

@pytest.fixture
def peer():
    pytest.skip("the peer is not there")

def test_with_a_peer(peer): ...

def test_that_runs(): ...
"""


def test_whoever_skips_fails(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_items.py").write_text(SKIPPING)
    (tmp_path / "test_module.py").write_text('import pytest\npytest.importorskip("no_such_module")\n')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"^2 failed, 1 passed, 4 errors in", ran.stdout, re.MULTILINE), ran.stdout
    assert "test_items.py::test_marked must not be skipped (Skipped: no such device)" in ran.stdout
    assert "test_module.py must not be skipped (Skipped: could not import 'no_such_module'" in ran.stdout
