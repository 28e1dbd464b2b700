"""The Python sessions of the documentation, as pasted."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SESSION = re.compile(r"^```python\n(>>> .*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(page.name for page in DOCS.glob("*.md") if SESSION.search(page.read_text(encoding="utf-8")))


def test_there_are_sessions() -> None:
    assert "python.md" in PAGES
    assert "continuous.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_session_goes_as_the_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(SESSION.findall((DOCS / page).read_text(encoding="utf-8")))
    session = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    told: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=told.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(told)
