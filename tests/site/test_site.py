"""The documentation: the site is built without a warning, its reference has everything, and all commands work."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions import ROOT, Reader, steps

import xstreamcast
from xstreamcast.cli import COMMANDS, find_command
from xstreamcast.cli.help import paragraphs
from xstreamcast.cli.options import read
from xstreamcast.error_codes import CODES
from xstreamcast.functions.topics import TOPICS
from xstreamcast.lang import parse_syntax

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
ELSEWHERE = {"explain.md"}
"""Pages whose commands are run by another test."""
FOLLOWED = {
    path.relative_to(ROOT).as_posix(): path
    for path in PAGES
    if any(step.kind == "python" or path.name not in ELSEWHERE for step in steps(path.read_text(encoding="utf-8")))
}


# -------------------------------------------------------------------------------------------------- what is done


def test_the_pages_of_a_newcomer_are_followed() -> None:
    tutorials = {f"docs/tutorials/{name}.md" for name in ("dump", "feed", "history", "spark", "broadcast")}
    assert {"README.md", "docs/start.md", "docs/how-to.md", "docs/shell.md", "docs/python.md", *tutorials} <= set(
        FOLLOWED
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.spark] if "spark" in name else []) for name in FOLLOWED]
)
def test_a_page_goes_as_it_says(name: str, tmp_path: Path, own_port: int) -> None:
    path = FOLLOWED[name]
    page = path.read_text(encoding="utf-8")
    if path.name in ELSEWHERE:
        page = page.replace("```console", "```text")
    different = Reader(tmp_path, own_port).follow(page)
    assert "\n".join(f"$ {step.text}\n{said}" for step, said in different) == ""


# ------------------------------------------------------------------------------------------- what is called rightly


def written_commands() -> Iterator[tuple[str, str]]:
    """The calls of ``xcast`` on pages and in help texts: where they stand, and the text of each line of a shell's."""
    for path in [*PAGES, ROOT / "examples" / "README.md"]:
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for command in commands_of(block):
                yield path.name, command
        for block in re.findall(r"(?:^    xcast .*\n(?:^      .*\n)*)+", text, re.MULTILINE):
            yield from (
                (path.name, command) for command in commands_of(re.sub(r"^    ", "", block, flags=re.MULTILINE))
            )
    for name in COMMANDS:
        for paragraph in paragraphs(find_command(name)):
            if "xcast " in paragraph and paragraph.startswith(" "):
                yield f"xcast {name} --help", paragraph.strip()


def commands_of(block: str) -> Iterator[str]:
    command = ""
    for line in block.splitlines(keepends=True):
        command += line.removeprefix("$ ") if not command else line
        try:
            shlex.split(command, comments=True)
        except ValueError:
            continue
        if not command.endswith("\\\n"):
            if re.match(r"\s*(?:\w+=\S+ )*(?:xcast\b|.*\| xcast\b)", command):
                yield command.strip()
            command = ""


def calls(command: str) -> Iterator[list[str]]:
    """The words of each ``xcast`` of a shell's line, as that splits it."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if re.fullmatch(r"[|&;<>()]+", word):
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words.pop(0)
            if words[:1] == ["xcast"]:
                yield words[1:]
            words = []
        else:
            words.append(word)


WRITTEN = [
    (where, command) for where, command in written_commands() if not re.search(r"[A-Z]\.\.\.|\[-|…|\|eager", command)
]


def test_there_are_many_commands() -> None:
    assert len(WRITTEN) > 150
    assert {where for where, _ in WRITTEN} >= {"recipes.md", "tables.md", "xcast query --help"}


@pytest.mark.parametrize(("where", "command"), WRITTEN, ids=[f"{where}-{n}" for n, (where, _) in enumerate(WRITTEN)])
def test_a_command_is_one_that_xcast_takes(where: str, command: str) -> None:
    for name, *words in calls(command):
        if name.startswith("-"):
            continue
        given = read(find_command(name), words)
        if given is None:
            continue
        asked = given.get("query") if name in ("query", "explain", "translate") else None
        if isinstance(asked, str) and not given.get("query_file") and not given.get("file"):
            assert parse_syntax(asked), where


# ------------------------------------------------------------------------------------------------------ the site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert "ERROR" not in done.stderr
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    expected = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    expected |= {Path("reference") / f"{name}.html" for name in ("commands", "functions", "api", "codes")}
    assert {path.relative_to(site) for path in site.rglob("*.html")} - expected == {Path("404.html")}
    assert [path for path in expected if not (site / path).is_file()] == []


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?://(?!xstreamcast)[^\s\">]+", text) == [], (
            path
        )


def test_links_that_lead_out_of_the_pages_lead_to_the_repository(site: Path) -> None:
    text = (site / "papers.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/xstreamcast/xstreamcast/blob/main/xstreamcast/model/change.py"' in text
    for path in site.rglob("*.html"):
        links = re.findall(r"href=\"?(\.\./[^\s\">#]*)", path.read_text(encoding="utf-8"))
        assert [link for link in links if not (path.parent / link).exists()] == [], path


def test_queries_are_coloured_by_our_own_lexer(site: Path) -> None:
    text = (site / "xcql.html").read_text(encoding="utf-8")
    assert '<span class="nb">stream</span>' in text
    assert '<span class="kc">now</span>' in text


def test_the_reference_has_all_commands_functions_names_and_codes() -> None:
    tool: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "site_pages.py"))
    pages = {path: made() for path, made in tool["PAGES"].items()}
    assert [name for name in COMMANDS if f"## xcast {name}\n" not in pages["reference/commands.md"]] == []
    known = pages["reference/functions.md"]
    assert [name for name in TOPICS if f"[{name.removeprefix('fn:')}](" not in known] == []
    assert [name for name in xstreamcast.__all__ if f"{name}" not in pages["reference/api.md"]] == []
    assert "### Result.to_pandas" in pages["reference/api.md"]
    assert "### xstreamcast.spark.continuous\n" in pages["reference/api.md"]
    assert [code for code in CODES if f">{code}<" not in pages["reference/codes.md"]] == []


def test_every_public_name_says_what_it_is() -> None:
    assert [name for name in xstreamcast.__all__ if not (getattr(xstreamcast, name).__doc__ or "").strip()] == []
