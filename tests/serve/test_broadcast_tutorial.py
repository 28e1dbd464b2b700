"""The tutorial of docs/broadcast.md, word by word: its commands run, and what it shows is what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from processes import DEADLINE, waited

DOCUMENT = Path(__file__).parents[2] / "docs" / "broadcast.md"
PORTS = (8203, 8204, 8205)


def blocks() -> Iterator[tuple[str, str]]:
    """The fenced blocks of the tutorial: what they are, and their text."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text[text.index("## Ten minutes") : text.index("## Sources")]
    yield from re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[str]:
    """The commands of a block; one may go over several lines."""
    command = ""
    for line in block.splitlines(keepends=True):
        command += line
        try:
            shlex.split(command)
        except ValueError:
            continue
        if not command.endswith("\\\n"):
            yield command.strip()
            command = ""


class Reader:
    """Somebody who follows the tutorial, in a folder of his own."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.folder = folder
        self.ports = dict(zip(PORTS, ports, strict=True))
        self.going: list[tuple[str, subprocess.Popen[bytes], Path]] = []
        self.outputs: list[Path] = []
        program = folder / "bin" / "xcast"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m xstreamcast "$@"\n')
        program.chmod(0o755)
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        self.environment = {
            **os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths,
        }  # fmt: skip

    def here(self, text: str) -> str:
        """The ports that are free on this machine."""
        for known, port in self.ports.items():
            text = text.replace(str(known), str(port))
        return text

    def does(self, command: str) -> None:
        if command.startswith("pkill -9 -f "):
            self._kill(command.split()[-1])
            return
        command = self.here(command)
        if command.startswith("xcast listen") and "--server" not in command:
            command = command.replace("listen", f"listen --server 127.0.0.1:{self.ports[PORTS[0]]}", 1)
        output = self.folder / f"{len(self.outputs)}.txt"
        self.outputs.append(output)
        with output.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.going.append((command, process, output))
        if "xcast serve" in command:
            waited(lambda: "serving on" in output.read_text())
        elif "-o goods.xml" in command:
            stored = self.folder / "goods.xml"
            waited(lambda: stored.exists() and stored.stat().st_size > 20_000)
            self._interrupt(process)
        elif "xcast watch" not in command:
            assert process.wait(DEADLINE) == 0, output.read_text()

    def sees(self, text: str) -> None:
        """What the tutorial shows is said, sooner or later."""
        for line in self.here(text).splitlines():
            pattern = re.compile("^" + ".*".join(map(re.escape, line.split("…"))), re.MULTILINE)
            waited(partial(self._said, pattern))

    def _said(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(one.read_text()) for one in self.outputs)

    def _kill(self, what: str) -> None:
        (found,) = [process for command, process, _ in self.going if what in command and process.poll() is None]
        os.killpg(found.pid, signal.SIGKILL)
        found.wait()

    @staticmethod
    def _interrupt(process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(DEADLINE)

    def leaves(self) -> None:
        """Ctrl-C everywhere, those who listen first."""
        for command, process, output in reversed(self.going):
            if process.poll() is None:
                self._interrupt(process)
                assert process.returncode in (0, 130), (command, output.read_text()[-2000:])
            assert "Traceback" not in output.read_text()

    def gone(self) -> None:
        for _, process, _ in self.going:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def test_the_tutorial_works_as_it_stands(tmp_path: Path, own_ports: list[int]) -> None:
    assert shutil.which("curl"), "the tutorial uses curl"
    reader = Reader(tmp_path, own_ports)
    try:
        for kind, text in blocks():
            if kind == "text":
                reader.sees(text)
                continue
            for command in commands(text):
                reader.does(command)
        reader.leaves()
    finally:
        reader.gone()
