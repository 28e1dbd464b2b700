"""A command in a terminal of its own: what is typed goes in, what is shown comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r|\a")


_NOTICED = 10.0
"""Seconds in which a key is noticed, however busy the machine."""


class Terminal:
    """A process whose terminal we hold the other end of."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.raw = ""
        self._seen = 0

    @property
    def shown(self) -> str:
        """All that was shown, without colours and movements."""
        return _CONTROL.sub("", self.raw)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """What is shown from here on until a text is; that included."""
        until = time.monotonic() + PATIENCE
        while (found := self.shown.find(text, self._seen)) < 0:
            assert time.monotonic() < until, f"{text!r} is not shown in {self.shown[self._seen :]!r}"
            assert self._read(), f"it ended without {text!r}: {self.shown[self._seen :]!r}"
        end = found + len(text)
        since, self._seen = self.shown[self._seen : end], end
        return since

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 1.0)
        if not ready:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)

    def end(self) -> int:
        """The exit code, when it has ended."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def interrupt_to(self, text: str) -> None:
        """Ctrl-C, as the terminal has it, until a text is shown: one that comes while Python's line editor draws is
        noticed with the next key only."""
        until = time.monotonic() + PATIENCE
        while self.shown.find(text, self._seen) < 0 and time.monotonic() < until:
            self.type("\x03")
            again = time.monotonic() + _NOTICED
            while self.shown.find(text, self._seen) < 0 and time.monotonic() < again:
                self._read()
        self.wait_for(text)


@contextmanager
def terminal(*arguments: str, cwd: Path, **env: str) -> Iterator[Terminal]:
    """``xcast`` in a terminal of 24 lines."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    given = {**os.environ, "TERM": "xterm", "XCAST_HISTORY": str(cwd / "history"), "INPUTRC": os.devnull, **env}
    process = subprocess.Popen(
        [sys.executable, "-m", "xstreamcast", *arguments], cwd=cwd, env=given, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True, preexec_fn=_own_terminal,
    )  # fmt: skip
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(master)


def _own_terminal() -> None:
    """The terminal is the session's: Ctrl-C there reaches the process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
