"""The processes of ``xcast demo``: a broadcast server and the bank that publishes to it, gone whenever the demo is; and
those of Spark that keep answers."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from xstreamcast.cli.demo_bank import Told
from xstreamcast.cli.interrupts import kept
from xstreamcast.errors import error
from xstreamcast.serve import SCHEME

_COMMAND: Final = "from xstreamcast.cli import main; tied(); main(json.loads({}))"


class Child:
    """A process of the demo's own, which ends when we do, whatever becomes of us: it is tied to a pipe that we hold.

    It is in a group of its own, for Ctrl-C is for us.
    """

    def __init__(self, title: str, code: str, given: list[Any], token: str, told: Told | None = None) -> None:
        self.title = title
        self.told = told
        call = f"import json; from xstreamcast.cli.demo_bank import main, tied; {code.format(repr(json.dumps(given)))}"
        package = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-c", call],
            env={**os.environ, "PYTHONPATH": paths, "XCAST_TOKEN": token},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL if told is None else subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)

    def listen(self) -> None:
        """Keep what it says from now on, and do not let it wait for being read; the numbers it tells are passed on."""
        self._reader.start()
        if self.told is not None:
            threading.Thread(target=self._hear, args=(self.told,), daemon=True).start()

    def _hear(self, told: Told) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told(int(line))

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(line.rstrip() for line in self.process.stderr)

    def tell(self, count: int) -> None:
        """So many fragments have been read."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is gone: who waits for the end sees that
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()

    def check(self) -> None:
        """Raise if it has failed."""
        if self.process.poll() not in (None, 0):
            self._reader.join(5.0)
            said = self.said[-1] if self.said else f"status {self.process.returncode}"
            raise error("XSC0066", f"{self.title} has ended: {said}", hint="nothing of it is left; try again")

    def done(self) -> None:
        """Wait until it has ended by itself; raise if it has failed."""
        self.process.wait()
        self.check()

    def close(self) -> None:
        """It is gone afterwards."""
        self.process.terminate()
        with suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Server:
    """A broadcast server, and the address of the stream it is to have."""

    child: Child
    address: str
    token: str


@contextmanager
def serving(folder: Path, *, console: bool = False) -> Iterator[Server]:
    """``xcast serve`` on a free port of this machine, its log in a folder."""
    token = secrets.token_hex(16)
    given = ["serve", "--log", str(folder), "--port", "0", "--cycle", "5", *(["--console"] if console else [])]
    with kept(lambda: Child("the server", _COMMAND, given, token), Child.close) as child:
        assert child.process.stderr is not None
        ready = child.process.stderr.readline()
        port = re.search(r"serving on http://127\.0\.0\.1:(\d+)/", ready)
        child.listen()
        if port is None:
            child.said.insert(0, ready.rstrip())
            child.process.wait()
            child.check()
            raise error("XSC0066", f"the server says: {ready.rstrip()}")
        yield Server(child, f"{SCHEME}127.0.0.1:{port[1]}/credit", token)


@contextmanager
def calling(title: str, *words: str) -> Iterator[Child]:
    """A command of ``xcast``, beside us."""
    with kept(lambda: Child(title, _COMMAND, list(words), ""), Child.close) as child:
        child.listen()
        yield child


@contextmanager
def publishing(
    server: Server, factor: float, seed: int, opening: int, seconds: float | None, told: Told
) -> Iterator[Child]:
    """The bank, which publishes to a server, and tells how much of the accounts it has published."""
    given = [server.address, factor, seed, opening, seconds]
    with kept(lambda: Child("the bank", "main(*json.loads({}))", given, server.token, told), Child.close) as bank:
        bank.listen()
        yield bank


def engine_workers(pool: int) -> list[int]:
    """The Python processes of our Spark that keep an answer: workers of a pool of its own, forked from a daemon."""
    from xstreamcast.spark.motion.micro_batch import POOL

    listed = subprocess.run(["ps", "axeww", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    parents: dict[int, int] = {}
    found: list[int] = []
    for line in listed.stdout.splitlines():
        pid, parent, command = line.split(None, 2)
        parents[int(pid)] = int(parent)
        if "pyspark.daemon" in command and f" {POOL}={pool} " in f"{command} ":
            found.append(int(pid))
    return [pid for pid in found if parents[pid] in found and _is_below(os.getpid(), pid, parents)]


def _is_below(above: int, process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != above:
        process = parents[process]
    return process == above
