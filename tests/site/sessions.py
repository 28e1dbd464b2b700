"""Pages as somebody follows them: the commands and the Python of a page, from its first line to its last.

A block ``console`` has commands after ``$``, each with what it shows below; ``...`` stands for anything. A command that
ends with ``&`` goes on while the page does. A block ``python`` with ``>>>`` is a session of Python's. All run in one
folder, which has the examples in it.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORT = "8203"
"""What pages say; another one is used."""
PATIENCE = 120.0
ANSWERING = "--answer-sessions"
_BLOCK = re.compile(r"^( *)```(console|python)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SAME = doctest.OutputChecker()


@dataclass(frozen=True)
class Step:
    """A command, or a session of Python's, with what it shows."""

    kind: str
    text: str
    shown: str = ""


def steps(page: str) -> Iterator[Step]:
    """What a page has its reader do, in order."""
    for indent, kind, block in _BLOCK.findall(page):
        text = "".join(line.removeprefix(indent) for line in block.splitlines(keepends=True))
        if kind == "python":
            if text.startswith(">>>"):
                yield Step("python", text)
            continue
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            taken = 1
            while not _whole("\n".join(lines[:taken])):
                taken += 1
            shown = "\n".join(lines[taken:]).strip("\n")
            yield Step("console", "\n".join(lines[:taken]), shown + "\n" if shown else "")


def _whole(command: str) -> bool:
    """Whether a command ends with its line."""
    here = re.search(r"<<'(\w+)'", command)
    if here is not None:
        return command.endswith(f"\n{here[1]}")
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not command.rstrip().endswith(("\\", "|"))


class Reader:
    """Somebody who does what a page says."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = str(port)
        self.going: list[subprocess.Popen[bytes]] = []
        self.python: subprocess.Popen[bytes] | None = None
        programs = folder / "bin"
        programs.mkdir()
        for name, module in (("xcast", "xstreamcast"), ("python", "")):
            script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {f"-m {module}" if module else ""} "$@"\n'
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}

    def follow(self, page: str) -> list[tuple[Step, str]]:
        """The steps whose output is another than the page shows, each with what it was."""
        with ExitStack() as stack:
            stack.callback(self.end)
            return [(step, said) for step in steps(page) if not _alike(step.shown, said := self.do(step))]

    def do(self, step: Step) -> str:
        if step.kind == "python":
            return self._python(step.text)
        command = step.text.replace(PORT, self.port)
        going = re.sub(r"\s*&\s*\Z", "", command)
        if going != command:
            return self._start(going)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return self._here(done.stdout.decode())

    def _start(self, command: str) -> str:
        """Begin something that goes on; it has begun when it says something."""
        told = self.folder / f".told-{len(self.going)}"
        with open(told, "wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        self.going.append(process)
        until = time.monotonic() + PATIENCE
        while not told.read_bytes().endswith(b"\n"):
            assert process.poll() is None, f"{command} has ended"
            assert time.monotonic() < until, f"{command} says nothing"
            time.sleep(0.02)
        return self._here(told.read_text())

    def _here(self, said: str) -> str:
        return said.replace(self.port, PORT).replace(str(self.folder), "")

    def _python(self, text: str) -> str:
        """Run a session in a process that stays while the page does; what is different is told."""
        if self.python is None:
            self.python = subprocess.Popen(
                [sys.executable, __file__, ANSWERING], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            self.going.append(self.python)
        assert self.python.stdin is not None
        assert self.python.stdout is not None
        self.python.stdin.write(json.dumps(text).encode() + b"\n")
        self.python.stdin.flush()
        said: str = json.loads(self.python.stdout.readline())
        return said

    def end(self) -> None:
        for process in self.going:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(PATIENCE)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _alike(shown: str, said: str) -> bool:
    return _SAME.check_output(shown.strip("\n") + "\n", said.strip("\n") + "\n", doctest.ELLIPSIS)


def written(page: str, reader: Reader) -> str:
    """A page with what its commands really show."""

    def block(found: re.Match[str]) -> str:
        indent, kind, _ = found.groups()
        made = []
        for step in steps(found.group()):
            said = reader.do(step)
            if kind == "python":
                print(said, end="")  # is corrected by hand
                return found.group()
            made.append(f"$ {step.text}\n{said.lstrip(chr(10)) if not _alike(step.shown, said) else step.shown}")
        text = "".join(f"{indent}{line}" if line.strip() else line for line in "".join(made).splitlines(keepends=True))
        return f"{indent}```{kind}\n{text}{indent}```" if made else found.group()

    return _BLOCK.sub(block, page)


def answer_sessions() -> None:
    """Run sessions, one a line as JSON, and answer each with what is different."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    space: dict[str, object] = {}
    for line in sys.stdin:
        session = doctest.DocTestParser().get_doctest(json.loads(line), space, "page", "page", 0)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=said.append, clear_globs=False)
        space = session.globs
        print(json.dumps("".join(said)), file=answers, flush=True)


if __name__ == "__main__" and sys.argv[1:] == [ANSWERING]:
    answer_sessions()
elif __name__ == "__main__":  # python tests/site/sessions.py PAGE...: writes what commands show into pages
    import tempfile

    for name in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
            reader = Reader(Path(made), 18203)
            stack.callback(reader.end)
            name.write_text(written(name.read_text(encoding="utf-8"), reader), encoding="utf-8")
