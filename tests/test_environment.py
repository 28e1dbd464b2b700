"""Setting up says clearly what is missing."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "environment.py"


@pytest.fixture
def environment() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_an_old_python_is_named_with_the_version_needed(
    environment: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    with pytest.raises(SystemExit) as stopped:
        environment["create"](str(tmp_path / "venv"))
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert "3.11 or newer" in said
    assert "3.9.2" in said
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_what_to_install(
    environment: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as stopped:
        environment["create"](str(tmp_path / "venv"))
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert module in said
    assert "python3-venv" in said
