"""Ctrl-C while standard input is open and silent: the command says so and leaves, whoever waits for the input."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

FRAGMENT = b'<stream:filler id="0"><s/></stream:filler>'


@pytest.mark.parametrize(
    ("arguments", "brought"),
    [
        (["watch", 'count(stream("s")//s)', "--stream", "s=-", "--clock", "wall", "--format", "json"], FRAGMENT),
        (["feed", "/m", "-", "--key", "@k"], b'<m k="1"/>'),
    ],
    ids=["watch", "feed"],
)
def test_an_interrupted_command_is_not_aborted(arguments: list[str], brought: bytes) -> None:
    command = [sys.executable, "-m", "xstreamcast", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(brought)
        running.stdin.flush()
        assert running.stdout.readline()  # it has told something, and waits for more
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 130
        assert running.stderr.read().splitlines()[-1] == b"xcast: interrupted"


_BEFORE = re.compile(r'File ".*xstreamcast/(__init__|__main__|start)\.py", line \d+, in <module>')


@pytest.mark.parametrize("after", range(0, 300, 12))
def test_a_command_that_is_interrupted_as_it_starts_says_so(after: int) -> None:
    """Ctrl-C some milliseconds after the start, while Python and then our modules are read in.

    Before the first line of ``xstreamcast.start.main`` nothing is ours: Python's own start shows a traceback.
    """
    command = [sys.executable, "-m", "xstreamcast", "feed", "/m", "-", "--key", "@k"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        time.sleep(after / 1000)
        running.send_signal(signal.SIGINT)
        running.wait(300)  # its input is open meanwhile: it sees no end of it
        assert running.stderr is not None
        told = running.stderr.read().decode()
    ours = [line for line in told.splitlines() if "xstreamcast/" in line and not _BEFORE.search(line)]
    assert not ours, told
    assert (running.returncode, told) == (130, "xcast: interrupted\n") or running.returncode in (-signal.SIGINT, 1)


@pytest.mark.parametrize("moment", [3, 10, 100, 1000, 3000, 10_000, 30_000, 60_000])
def test_no_moment_of_the_start_shows_a_traceback(moment: int) -> None:
    """Ctrl-C at a line of Python's that runs after the first one of ``main``: in imports, mostly."""
    code = f"""
import signal, sys
from xstreamcast.start import main
lines = 0
def trace(frame, event, argument):
    global lines
    if event == "line":
        lines += 1
        if lines == {moment}:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
    return trace
sys.argv = ["xcast", "feed", "/m", "-", "--key", "@k"]
sys.settrace(trace)
main()
"""
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.PIPE, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"xcast: interrupted\n")
