"""Ctrl-C while standard input is open and silent: the command says so and leaves, whoever waits for the input."""

from __future__ import annotations

import signal
import subprocess
import sys

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
