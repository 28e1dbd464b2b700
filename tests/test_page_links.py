"""What the pages point to is there: files, headings, and the names of code in ``docs/papers.md``."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "examples" / "README.md",
        ROOT / "editors" / "README.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_NAME = re.compile(r"`([A-Z]\w*)(?:\.(\w+))?`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_of_the_repository(page: Path) -> None:
    links = [link for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))) if "://" not in link]
    assert [link for link in links if not _leads_somewhere(page, link)] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if page.name == "index.md" and path.startswith("reference/"):
        return True  # the first page of the site, where the reference is made
    return target.exists() and (not heading or heading in _headings(target))


@cache
def _headings(page: Path) -> frozenset[str]:
    """The anchors of a page: its headings in small letters, blanks as hyphens, without punctuation."""
    lines = _CODE.sub("", page.read_text(encoding="utf-8")).splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return frozenset([re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles])


def test_what_the_page_of_the_papers_names_is_in_the_code() -> None:
    named = _NAME.findall((ROOT / "docs" / "papers.md").read_text(encoding="utf-8"))
    assert len(named) > 5, "otherwise this says nothing"
    known = _defined()
    assert [
        (name, inside) for name, inside in named if name not in known or (inside and inside not in known[name])
    ] == []


def test_what_the_page_of_the_papers_calls_by_a_file_alone_is_one() -> None:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    files = {path.relative_to(ROOT / "xstreamcast").as_posix() for path in (ROOT / "xstreamcast").rglob("*.py")}
    named = re.findall(r"`([\w/]+\.py)`", page)
    assert [
        name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files) and name[:6] != "tests/"
    ] == []


@cache
def _defined() -> dict[str, set[str]]:
    """The classes of the package, with what is defined in each."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "xstreamcast").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                inside = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                found.setdefault(node.name, set()).update(inside)
    return found
