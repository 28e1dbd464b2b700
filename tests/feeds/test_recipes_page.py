"""``docs/recipes.md`` is true: its commands give what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    ("command", "expected"), RECIPES,
    ids=["dblp", "gleif", "wikipedia", "discogs", "camt", "pacs", "siri", "rss", "uspto"],
)  # fmt: skip
def test_a_recipe_gives_what_the_page_says(command: str, expected: str) -> None:
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=here, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (expected, "")
