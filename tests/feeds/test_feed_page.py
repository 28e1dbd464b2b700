"""``docs/feeds.md`` is true: its commands give what stands below them, its queries are those of the examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "feeds.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
QUERIES = re.findall(r"```xquery\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = ROOT / "examples" / "feeds"


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=["baseline", "changes", "polls", "messages"])
def test_a_command_gives_what_the_page_says(command: str, expected: str) -> None:
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=here, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (expected, "")


def test_its_queries_are_the_examples() -> None:
    stored = {re.sub(r"^\(:.*:\)\n", "", file.read_text(encoding="utf-8")) for file in EXAMPLES.glob("*.xq")}
    assert set(QUERIES) == stored
