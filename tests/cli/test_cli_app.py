"""The command as a whole: help, exit codes, pipes, interruption, output files that are whole or not there."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import xcast

from xstreamcast.cli.terminal import output

ROOT = Path(__file__).parents[2]
COMMANDS = ["structure", "fragment", "materialise", "generate"]


def test_without_arguments_the_help_is_shown() -> None:
    ran = xcast()
    shown = ran.out.decode() + ran.err
    for command in COMMANDS:
        assert command in shown


def test_help_is_a_success_and_lists_the_commands() -> None:
    for flag in ("--help", "-h"):
        ran = xcast(flag)
        assert ran.code == 0
        for command in COMMANDS:
            assert command in ran.out.decode()


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("structure", ["--fragment", "--out"]),
        ("fragment", ["--structure", "--order", "--seed", "--repeat", "--out"]),
        ("materialise", ["--structure", "--at", "--temporal", "--no-lifespans", "--doc", "--out"]),
    ],
)
def test_every_commands_help_shows_its_flags_and_examples(command: str, flags: list[str]) -> None:
    ran = xcast(command, "--help")
    assert ran.code == 0
    text = ran.out.decode()
    for flag in flags:
        assert flag in text
    assert "Examples" in text
    assert f"xcast {command}" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["fragment"],
        ["materialise"],
        ["structure"],
        ["fragment", "a", "b"],
        ["fragment", "-", "--order", "backwards"],
        ["fragment", "-", "--seed", "x"],
        ["fragment", "-", "--repeat", "often"],
        ["materialise", "-", "--nonsense"],
    ],
)
def test_a_wrong_call_exits_with_2(arguments: list[str]) -> None:
    ran = xcast(*arguments)
    assert ran.code == 2
    assert ran.out == b""


@pytest.mark.parametrize(
    "arguments", [["fragment", "none.xml"], ["materialise", "none.xml"], ["structure", "none.xml"]]
)
def test_an_error_in_the_input_exits_with_1_code_place_and_hint(arguments: list[str]) -> None:
    ran = xcast(*arguments)
    assert ran.code == 1
    assert ran.out == b""
    assert ran.err.startswith("xcast: XSC0006 none.xml ")
    assert "hint:" in ran.err
    assert "Traceback" not in ran.err


# -- output files -----------------------------------------------------------------------------------------------------


def test_an_output_file_is_whole_or_not_there(tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    broken = b"<a>" + b"<b>text</b>" * 1000
    assert xcast("fragment", "-", "--order", "shuffle", "-o", out, stdin=broken).code == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_what_was_there_before(tmp_path: Path) -> None:
    out, tags = tmp_path / "out.xml", tmp_path / "tags.xml"
    out.write_bytes(b"before")
    tags.write_text('<structure><tag id="1" name="a"/></structure>')
    assert xcast("fragment", "-", "--structure", tags, "-o", out, stdin=b"<a><b>").code == 1
    assert out.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.xml", "tags.xml"]


def test_an_output_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    ran = xcast("fragment", "-", "-o", tmp_path / "none" / "out.xml", stdin=b"<a/>")
    assert ran.code == 1
    assert "XSC0006" in ran.err
    assert "hint:" in ran.err


def test_a_folder_in_the_place_of_an_output_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = xcast("fragment", "-", "-o", tmp_path / "folder", stdin=b"<a/>")
    assert ran.code == 1
    assert "XSC0006" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_input_may_be_its_own_output(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(b"<a/>")
    assert xcast("fragment", file, "-o", file).code == 0
    assert xcast("materialise", file).out == b"<a/>\n"


def test_an_output_called_gz_is_packed_and_the_same_every_time(tmp_path: Path) -> None:
    packed = []
    for name in ("one.xml.gz", "one.xml.gz"):
        assert xcast("fragment", "-", "-o", tmp_path / name, stdin=b"<a>x</a>").code == 0
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1]
    assert b"<a>x</a>" in gzip.decompress(packed[0])
    assert xcast("materialise", tmp_path / "one.xml.gz").out == b"<a>x</a>\n"


def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    assert b"<a/>" in xcast("fragment", "-", "-o", "-", stdin=b"<a/>").out
    assert list(tmp_path.iterdir()) == []


# -- processes --------------------------------------------------------------------------------------------------------


def test_who_reads_only_the_beginning_of_the_output_gets_no_complaint(tmp_path: Path) -> None:
    stream = tmp_path / "stream.xml"
    stream.write_bytes(b'<filler id="0"><a>' + b"<b>text</b>" * 200_000 + b"</a></filler>")
    run = subprocess.Popen(
        [sys.executable, "-m", "xstreamcast", "materialise", str(stream)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.read(10) == b"<a><b>text"
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait(300) == 0


def test_an_interrupted_command_exits_with_130_and_leaves_no_file(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "xstreamcast", "fragment", "-", "-o", str(tmp_path / "out.xml")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert run.stdin is not None
    assert run.stderr is not None
    run.stdin.write(b"<a>" + b"<b/>" * 1000)
    run.stdin.flush()
    while not list(tmp_path.iterdir()):  # it has begun when its file is there
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    stderr = run.stderr.read()
    run.stdin.close()
    run.stderr.close()
    assert run.wait(300) == 130
    assert stderr == b"xcast: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_file_is_being_opened_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, mode: str) -> None:
        open(path, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr("xstreamcast.cli.terminal.open", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt), output(tmp_path / "out.xml"):
        pass
    assert list(tmp_path.iterdir()) == []
