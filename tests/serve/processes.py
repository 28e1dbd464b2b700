"""Servers and clients in processes of their own, for tests that kill them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from xstreamcast.errors import XStreamError
from xstreamcast.serve.client import parse_address, read

DEADLINE = 300.0
"""How long something may take before it is said never to come: no pace, however slow the machine."""
COMMAND = [sys.executable, "-m", "xstreamcast"]


@contextmanager
def serving(folder: Path, *arguments: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port, once it is ready."""
    command = [*COMMAND, "serve", "--log", str(folder), "--port", str(port), *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            ready = process.stderr.readline()
            assert "serving on" in ready, ready
            yield process, int(ready.split(":")[3].split("/")[0])
        finally:
            process.kill()


def waited(condition: Callable[[], object]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def head(port: int, stream: str) -> int:
    try:
        return read(parse_address(f"xcast://127.0.0.1:{port}/{stream}"), limit=1).head
    except XStreamError:
        return 0
