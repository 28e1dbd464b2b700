"""The first screen of the README, as pasted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import xcast

from xstreamcast import query

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def commands() -> list[tuple[list[str], str]]:
    """The commands of the console, each with what is shown of its output."""
    found = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert found is not None
    made = []
    for block in re.split(r"^\$ ", found[1], flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        taken = 1
        while "\n".join(lines[:taken]).count("'") % 2:
            taken += 1
        made.append((shlex.split("\n".join(lines[:taken]), comments=True), "\n".join(lines[taken:])))
    return made


def test_the_examples_run_as_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for (program, *arguments), shown in commands():
        assert program == "xcast"
        ran = xcast(*arguments)
        assert (ran.code, ran.err) == (0, ""), arguments
        assert ran.out.decode().startswith(shown), arguments
    session = re.search(r">>> rich = \"(.*)\"\n>>> .*\n((?:.+\n)+)```", README)
    assert session is not None
    frame = query(session[1], context="auction.xml").to_pandas()
    assert str(frame) + "\n" == session[2]
