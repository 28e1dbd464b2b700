"""How commands are called: options anywhere, what is wrong with a call, help, completion."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
from command import xcast

from xstreamcast import __version__
from xstreamcast.cli import COMMANDS, find_command
from xstreamcast.cli.options import Argument, Done, Option, WrongCall, parameters, read
from xstreamcast.model.depth import DEFAULT

told: list[str] = []
NO_NAMES: list[str] = []


class Order(StrEnum):
    up = "up"
    down = "down"


def example(
    first: Annotated[str, Argument(metavar="FIRST")],
    rest: Annotated[list[Path] | None, Argument(metavar="REST")] = None,
    flag: Annotated[bool, Option("-x", "--flag", help="A flag.")] = False,
    other: Annotated[bool, Option("-y", help="Another.")] = False,
    kept: Annotated[bool, Option(help="Kept unless said otherwise.")] = True,
    count: Annotated[int, Option("-n", "--count", min=1, max=9)] = 1,
    share: Annotated[float | None, Option()] = None,
    names: Annotated[list[str], Option("--name")] = NO_NAMES,
    order: Annotated[Order, Option()] = Order.up,
    secret: Annotated[str, Option(envvar="EXAMPLE_SECRET")] = "",
    shown: Annotated[bool, Option("--list", instead=lambda: told.append("listed"))] = False,
) -> None:
    """An example."""


BASE: dict[str, object] = {
    "first": "a", "rest": None, "flag": False, "other": False, "kept": True, "count": 1, "share": None, "names": [],
    "order": Order.up, "secret": "", "shown": False, "max_depth": DEFAULT,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "different"),
    [
        ("a", {}),
        ("a b --flag c", {"rest": [Path("b"), Path("c")], "flag": True}),
        ("--count 3 a", {"count": 3}),
        ("a --count=3", {"count": 3}),
        ("a -n3", {"count": 3}),
        ("a -n 3 -n 4", {"count": 4}),
        ("a -xy", {"flag": True, "other": True}),
        ("a -xn3", {"flag": True, "count": 3}),
        ("a --no-kept", {"kept": False}),
        ("a --no-kept --kept", {"kept": True}),
        ("a --share -0.5", {"share": -0.5}),
        ("a --name b --name=", {"names": ["b", ""]}),
        ("a --order down", {"order": Order.down}),
        ("-", {"first": "-"}),
        ("-- -x", {"first": "-x"}),
    ],
)
def test_options_stand_anywhere_and_in_any_form(words: str, different: dict[str, object]) -> None:
    assert read(example, words.split(" ")) == BASE | different


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "missing: FIRST"),
        ("a --cuont 3", "no such option: --cuont; did you mean --count?"),
        ("a -z", "no such option: -z"),
        ("a --count", "--count takes a value: --count N"),
        ("a --count x", "--count takes a whole number, not 'x'"),
        ("a --count 0", "--count takes a number from 1 to 9, not 0"),
        ("a --share x", "--share takes a number, not 'x'"),
        ("a --flag=1", "--flag takes no value"),
        ("a --order sideways", "--order takes one of up, down, not 'sideways'"),
    ],
)
def test_what_is_wrong_with_a_call_is_said(words: str, message: str) -> None:
    with pytest.raises(WrongCall) as caught:
        read(example, words.split())
    assert str(caught.value).startswith(message)


def test_a_word_too_many_is_told() -> None:
    ran = xcast("fragment", "a.xml", "b.xml")
    assert ran.code == 2
    assert ran.err.startswith("Usage: xcast fragment [OPTIONS] DOC\nTry 'xcast fragment -h' for help.\n")
    assert ran.err.endswith("xcast: unexpected: b.xml\n")


def test_a_misspelt_command_is_told() -> None:
    assert xcast("qurey").err.endswith("xcast: no such command: qurey; did you mean query?\n")


def test_defaults_are_not_shared_between_calls() -> None:
    one, two = read(example, ["a"]), read(example, ["a"])
    assert one is not None
    assert two is not None
    one["names"].append("b")
    assert two["names"] == []


def test_an_option_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_SECRET", "s")
    assert read(example, ["a"]) == BASE | {"secret": "s"}
    assert read(example, ["a", "--secret", "t"]) == BASE | {"secret": "t"}


def test_an_option_may_stand_instead_of_the_command() -> None:
    with pytest.raises(Done):
        read(example, ["--list"])
    assert told == ["listed"]


def test_help_is_asked_for_anywhere_but_as_a_value() -> None:
    assert read(example, ["a", "-h", "--nonsense"]) is None
    assert read(example, ["a", "--name", "-h"]) == BASE | {"names": ["-h"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_names_its_options_and_no_types_of_python(name: str) -> None:
    shown = xcast(name, "--help", columns=100).out.decode()
    for one in parameters(find_command(name)):
        assert all(option in shown for option in one.names)
        assert one.metavar in shown or one.flag
    assert "<bool>" not in shown
    assert "list[" not in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


# ------------------------------------------------------------------------------------------------------- completion


def completed(*words: str, folder: Path) -> list[str]:
    script = xcast("completion", "bash").out.decode()
    line = " ".join(f"'{word}'" for word in ("xcast", *words))
    asked = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _xcast; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True, cwd=folder).stdout.split()


def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "auction.xml").touch()
    assert completed("tr", folder=tmp_path) == ["translate"]
    assert completed("query", "--li", folder=tmp_path) == ["--lines"]
    assert completed("materialise", "--no", folder=tmp_path) == ["--no-lifespans"]
    assert completed("query", "count(//a)", "auc", folder=tmp_path) == ["auction.xml"]


@pytest.mark.parametrize(("shell", "written"), [("zsh", "'--lines[One item per line.]'"), ("fish", "-l lines -d")])
def test_the_other_shells_get_every_command_and_option(shell: str, written: str) -> None:
    script = xcast("completion", shell).out.decode()
    assert written in script
    for name in COMMANDS:
        assert name in script


def test_another_shell_is_refused() -> None:
    assert xcast("completion", "csh").err.endswith("xcast: SHELL is one of bash, zsh, fish, not 'csh'\n")


# --------------------------------------------------------------------------------------------------------- start-up


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has imported by its end."""
    script = (
        "import sys\nfrom xstreamcast.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_commands_import_what_they_need(tmp_path: Path) -> None:
    small = tmp_path / "small.xml"
    small.write_text("<a><b/></a>")
    version, query = loaded("--version"), loaded("query", "count(//b)", str(small))
    heavy = {"rich", "numpy", "numba", "llvmlite", "asyncio", "xstreamcast.plan.decompose.plan", "ssl"}
    assert not heavy & query
    assert {name for name in version if name.startswith("xstreamcast.")} == {"xstreamcast.cli"}


ENDING = """
import atexit, sys, threading
from xstreamcast.start import main
atexit.register(print, "at last")
if sys.argv[1] == "beside":
    threading.Thread(target=lambda: (threading.main_thread().join(), print("beside"))).start()
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.mark.parametrize(
    ("beside", "arguments", "code", "out"),
    [
        ("alone", ["query", "1 to 3"], 0, "1 2 3\nat last\n"),
        ("alone", ["query", "1 +"], 1, "at last\n"),
        ("alone", ["nonsense"], 2, "at last\n"),
        ("alone", ["--version"], 0, f"xcast {__version__}\nat last\n"),
        ("beside", ["query", "1 to 3"], 0, "1 2 3\nbeside\nat last\n"),
    ],
)
def test_a_process_ends_when_all_is_written_and_undone(beside: str, arguments: list[str], code: int, out: str) -> None:
    command = [sys.executable, "-c", ENDING, beside, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (code, out)
