"""The files by which a project is adopted say what is true: versions, paths, commands."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

import xstreamcast
from xstreamcast.cli import COMMANDS

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's: lines joined where they end with a backslash, without comments."""
    lines = [line for line in text("Dockerfile").splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def test_the_dockerfile_has_instructions_of_docker_and_begins_with_an_image() -> None:
    found = [name for name, _ in instructions()]
    assert found[0] == "FROM"
    assert set(found) <= INSTRUCTIONS
    assert found.count("ENTRYPOINT") == found.count("CMD") == found.count("USER") == 1
    assert all(shlex.split(words) for name, words in instructions() if name == "RUN")


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    stages = [words.rpartition(" AS ")[2] for name, words in instructions() if name == "FROM" and " AS " in words]
    patterns = text(".dockerignore").split()
    copied = []
    for name, words in instructions():
        if name != "COPY":
            continue
        *sources, _ = words.split()
        if sources[0].startswith("--from="):
            assert sources[0].removeprefix("--from=") in stages
        else:
            copied += sources
    assert copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [source for source in copied if f"!{source}" not in patterns] == []


def test_the_dockerfile_copies_what_the_package_is_built_from() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    needed = {"pyproject.toml", project["readme"], *project["license-files"], "xstreamcast", "examples"}
    copied = {one for name, words in instructions() if name == "COPY" for one in words.split()[:-1]}
    assert needed <= copied
    extras = set(re.findall(r"\[([\w,]+)\]\"", text("Dockerfile")))
    assert {one for extra in extras for one in extra.split(",")} <= set(project["optional-dependencies"])


def test_the_dockerfile_starts_a_command_as_somebody_without_rights() -> None:
    given = dict(instructions())
    assert json.loads(given["ENTRYPOINT"]) == ["xcast"]
    assert given["USER"] != "root"
    assert "EXPOSE" in given
    assert f"= {given['EXPOSE']}" in text("xstreamcast/cli/serve.py"), "the port that a server has by default"


def test_the_hooks_of_pre_commit_are_commands_of_this_tree() -> None:
    (local,) = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", text("Makefile"), re.MULTILINE)
    assert lint is not None
    for hook in local["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
        program, *arguments = shlex.split(hook["entry"])
        assert program in (".venv/bin/ruff", ".venv/bin/python")
        assert [one for one in arguments if one.endswith(".py") and not (ROOT / one).is_file()] == []
    entries = [hook["entry"].replace(".venv/bin", "$(BIN)").replace(" --force-exclude", "") for hook in local["hooks"]]
    linted = [line.strip().removesuffix(" .") for line in lint[1].splitlines()]
    assert linted == entries[: len(linted)], "a commit passes what make lint asks for"


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    cited = yaml.safe_load(text("CITATION.cff"))
    assert project["version"] == xstreamcast.__version__ == cited["version"]
    assert f"## {xstreamcast.__version__}" in text("CHANGELOG.md")
    assert cited["license"] == project["license"]
    assert cited["repository-code"] == project["urls"]["Source"]


def test_the_citation_names_the_five_papers() -> None:
    cited: dict[str, Any] = yaml.safe_load(text("CITATION.cff"))
    papers = text("docs/papers.md")
    assert cited["cff-version"] == "1.2.0"
    assert len(cited["references"]) == 5
    for paper in cited["references"]:
        assert paper["authors"]
        conference, year = paper["conference"]["name"].split()
        assert f"{conference}'{year[2:]}" in papers


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_what_a_page_tells_to_call_is_there(page: str) -> None:
    told = text(page)
    targets = set(re.findall(r"^([a-z0-9-]+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(re.findall(r"`[^`]+`|^make .*$", told, re.MULTILINE))))
    assert named <= targets
    commands = set(re.findall(r"`xcast ([a-z]+)", told))
    assert commands <= set(COMMANDS)
    files = re.findall(r"`((?:docs|tools|xstreamcast|tests)/[\w./-]+)`", told)
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_what_the_machine_makes_is_no_part_of_the_tree() -> None:
    ignored = text(".gitignore").split()
    for made in ("build/", "dist/", "site/", "xstreamcast/native/objects/"):
        assert any(fnmatch(made, pattern.lstrip("/")) for pattern in ignored), made
