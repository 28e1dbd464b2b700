"""The shell, in a real terminal: queries of several lines, completion, history, errors, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Terminal, terminal

ROOT = Path(__file__).parents[2]
CREDIT = ROOT / "examples" / "sigmod04" / "accounts" / "credit.xml"
SHOP = """<shop><book isbn="1"><title>Rivers</title><price>12</price></book>
<book isbn="2"><title>Bats</title><price>40</price></book></shop>"""
PROMPT = "xcast> "
MORE = "  ...> "
TAB, UP, CTRL_D, CTRL_R = "\t", "\x1b[A", "\x04", "\x12"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "shop.xml").write_text(SHOP)
    return tmp_path


@pytest.fixture
def shell(here: Path) -> Iterator[Terminal]:
    with terminal("shell", "shop.xml", "--stream", f"credit={CREDIT}", cwd=here, NO_COLOR="1") as made:
        made.wait_for(PROMPT)
        yield made


def answer(shell: Terminal, entry: str) -> str:
    """What is shown below an entry, until the next prompt."""
    shell.type(f"{entry}\r")
    shell.wait_for(f"{entry}\n")
    return shell.wait_for(PROMPT).removesuffix(PROMPT)


def test_a_query_is_answered_and_ctrl_d_leaves(shell: Terminal) -> None:
    assert answer(shell, "//title/string()") == "Rivers\nBats\n"
    assert answer(shell, 'count(stream("credit")//account)') == "2\n"
    shell.type(CTRL_D)
    assert shell.end() == 0


def test_a_query_has_as_many_lines_as_it_needs(shell: Terminal) -> None:
    shell.type("for $b in //book\r")
    shell.wait_for(MORE)
    shell.type("where $b/price < 30\r")
    shell.wait_for(MORE)
    assert answer(shell, "return $b/title") == "<title>Rivers</title>\n"


@pytest.mark.parametrize("begun", ["(1, 2", "<a>", '"text', "(: note", "let $a := 1", "if (1) then 2"])
def test_an_empty_line_ends_a_query_anywhere(shell: Terminal, begun: str) -> None:
    shell.type(f"{begun}\r")
    shell.wait_for(MORE)
    shell.type("\r")
    assert "XPST0003 query:1:" in shell.wait_for(PROMPT)


def test_ctrl_d_in_the_middle_of_a_query_takes_it_as_it_is(shell: Terminal) -> None:
    shell.type("1 +\r")
    shell.wait_for(MORE)
    shell.type(CTRL_D)
    assert "XPST0003 query:1:4" in shell.wait_for(PROMPT)
    assert answer(shell, "1 + 1") == "2\n"


def test_ctrl_c_drops_what_is_typed(shell: Terminal) -> None:
    shell.type("1 + 1")
    shell.wait_for("1 + 1")
    shell.interrupt_to(PROMPT)
    shell.type("for $x in (1,\r")
    shell.wait_for(MORE)
    shell.interrupt_to(PROMPT)
    assert answer(shell, "2 + 3") == "5\n"


def test_ctrl_c_stops_a_query_and_the_shell_goes_on(shell: Terminal) -> None:
    shell.type("for $i in 1 to 1000000000000 return if ($i mod 1000000000000 = 1) then 'begun' else ()\r")
    shell.wait_for("begun\n")
    shell.interrupt_to(PROMPT)
    assert answer(shell, "2 + 3") == "5\n"


def test_tab_completes_by_the_structure(shell: Terminal) -> None:
    shell.type(f"for $b in /sh{TAB}/bo{TAB}")
    shell.wait_for("/shop/book")
    shell.type(f" return $b/ti{TAB}")
    shell.wait_for("$b/title")
    assert "<title>Bats</title>" in answer(shell, "")


def test_tab_completes_tags_of_streams_attributes_and_functions(shell: Terminal) -> None:
    shell.type(f'stream("cr{TAB}')
    shell.wait_for('"credit"')  # readline closes the quote
    shell.type(f")//acc{TAB}/credit{TAB}")
    shell.wait_for("//account/creditLimit")
    shell.type("\x15")
    shell.type(f"//book/@is{TAB}/string-le{TAB}")
    shell.wait_for("//book/@isbn/string-length(")
    assert answer(shell, ")") == "1\n1\n"


def test_two_tabs_show_what_there_is(shell: Terminal) -> None:
    shell.type(f"//book/{TAB}{TAB}")
    shown = shell.wait_for(f"{PROMPT}//book/")
    assert {"price", "title"} <= set(shown.split())
    shell.type(f"\x15.e{TAB}")
    shell.wait_for(".explain")


def test_tab_completes_files(shell: Terminal) -> None:
    shell.type(f".open sho{TAB}")
    shell.wait_for(".open shop.xml")
    assert "document shop.xml" in answer(shell, "")


def test_the_history_stays_and_several_lines_are_one(here: Path) -> None:
    for _ in range(2):
        with terminal("shell", "shop.xml", cwd=here) as shell:
            shell.wait_for(PROMPT)
            if (here / "history").exists():
                shell.type(f"{UP}")
                shell.wait_for("let $a := 40 return $a + 2")
                assert answer(shell, "") == "42\n"
            else:
                shell.type("let $a := 40\r")
                shell.wait_for(MORE)
                assert answer(shell, "return $a + 2") == "42\n"
            shell.type(CTRL_D)
            assert shell.end() == 0
    entries = (here / "history").read_text().splitlines()
    assert [entry for entry in entries if "_HiStOrY_" not in entry] == ["let $a := 40 return $a + 2"] * 2


def test_an_error_is_shown_with_its_place_in_colour(here: Path) -> None:
    with terminal("shell", "shop.xml", cwd=here) as shell:
        shell.wait_for(PROMPT)
        said = answer(shell, "for $b in //book return $c")
        assert "XPST0008 query:1:25 the variable $c is not declared" in said
        assert "\x1b[1;31mXPST0008\x1b[0m" in shell.raw
        caret = [line for line in shell.raw.splitlines() if "^" in line]
        assert [line.strip("\r") for line in caret] == ["\x1b[1;31m" + " " * 26 + "^\x1b[0m"]
        assert "\x1b[2m  hint: in scope: $b\x1b[0m" in shell.raw


def test_a_plan_is_explained(shell: Terminal) -> None:
    assert "Kept at any moment: one book at a time." in answer(shell, ".explain for $b in //book return $b/title")


def test_a_stream_is_watched_live_until_it_ends(shell: Terminal) -> None:
    shell.type('.watch for $a in stream("credit")//account return $a/customer\r')
    said = shell.wait_for(PROMPT)
    assert "John Smith" in said
    assert answer(shell, "1") == "1\n"


def test_a_stream_that_goes_on_is_left_by_ctrl_c(shell: Terminal, here: Path) -> None:
    folder = here / "growing"
    folder.mkdir()
    (folder / "1.xml").write_text('<filler id="0"><r><a>first</a></r></filler>')
    assert 'stream("g") growing' in answer(shell, ".open g=growing")
    shell.type('.watch stream("g")//a\r')
    shell.wait_for("first")
    (folder / "2.xml").write_text('<filler id="0"><r><a>second</a></r></filler>')
    shell.wait_for("second")
    shell.interrupt_to(PROMPT)
    assert answer(shell, "2 + 2") == "4\n"


def test_what_is_open_is_told_and_changed(shell: Terminal, here: Path) -> None:
    (here / "other.xml").write_text("<other><x/></other>")
    assert answer(shell, ".open").splitlines() == ["document shop.xml", f'stream("credit") {CREDIT}']
    assert answer(shell, ".open other.xml").splitlines()[0] == "document other.xml"
    assert answer(shell, "count(//x)") == "1\n"
    assert "XSC0006 none.xml no such file" in answer(shell, ".open none.xml")
    assert answer(shell, ".structure") == "other\n  x\n"


def test_the_time_is_set_and_set_back(shell: Terminal) -> None:
    count = 'count(stream("credit")//account?[now])'
    answer(shell, ".now 2000-01-01")
    assert answer(shell, count) == "1\n"
    answer(shell, ".now")
    assert answer(shell, count) == "2\n"
    assert "FORG0001" in answer(shell, ".now yesterday")


def test_help_lists_the_commands_and_a_wrong_one_is_told(shell: Terminal) -> None:
    told = answer(shell, ".help")
    for command in (".open", ".explain", ".watch", ".structure", ".now", ".help", ".quit", "Ctrl-C"):
        assert command in told
    assert "no such command: .wacth; did you mean watch?" in answer(shell, ".wacth 1")
    assert ".explain takes a query" in answer(shell, ".explain")
    shell.type(".quit\r")
    assert shell.end() == 0


def piped(here: Path, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "xstreamcast", "shell", "shop.xml"]
    return subprocess.run(command, cwd=here, input=text, capture_output=True, text=True, check=False)


def test_what_is_piped_in_is_run_without_prompts(here: Path) -> None:
    done = piped(here, "count(//book)\nfor $b in //book\nreturn $b/title/string()\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\nRivers\nBats\n", "")


def test_what_is_piped_in_and_fails_is_told_by_the_exit_code(here: Path) -> None:
    done = piped(here, "1 +* 2\n3")
    assert (done.returncode, done.stdout) == (1, "3\n")
    assert done.stderr.startswith("XPST0003 query:1:6")


def test_who_reads_the_output_may_leave(here: Path) -> None:
    command = f"printf '1 to 200000\n2\n' | {sys.executable} -m xstreamcast shell | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_entries_are_no_document(here: Path) -> None:
    command = [sys.executable, "-m", "xstreamcast", "shell"]
    done = subprocess.run(command, cwd=here, input="count(//a)\n1\n", capture_output=True, text=True, check=False)
    assert done.stdout == "1\n"
    assert "XPDY0002" in done.stderr


def test_a_file_that_is_not_there_is_told_before_anything(here: Path) -> None:
    command = [sys.executable, "-m", "xstreamcast", "shell", "none.xml"]
    done = subprocess.run(command, cwd=here, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("xcast: XSC0006 none.xml")
