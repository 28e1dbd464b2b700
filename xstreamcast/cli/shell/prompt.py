"""Reading entries: lines until a query is whole, with history and completion by ``readline``.

Python brings ``readline``: the keys are those of every other shell, ``~/.inputrc`` counts, and nothing more is
installed. Where it is missing (Windows), lines are read without history and completion.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Final

from xstreamcast.cli.shell.complete import completions
from xstreamcast.cli.shell.session import COMMANDS, TAKING_QUERIES, Leave, Session
from xstreamcast.lang.unfinished import unfinished

FIRST: Final = "xcast> "
NEXT: Final = "  ...> "
KEPT: Final = 1_000
"""So many entries of the history stay."""
_DELIMITERS: Final = " \t\n()[]{},;\"'=<>!|+*$@/?#:"


def history_file() -> Path:
    """Where the history is kept: ``XCAST_HISTORY``, or a file in the folder for states."""
    given = os.environ.get("XCAST_HISTORY")
    if given:
        return Path(given)
    states = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(states) / "xstreamcast" / "history"


class Prompt:
    """Gathers entries and has a session run them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.interactive = sys.stdin.isatty()
        self.readline = _readline() if self.interactive else None
        self._lines: list[str] = []
        self._found: list[str] = []

    def run(self) -> None:
        """Until Ctrl-D, ``.quit`` or the end of the input."""
        if self.readline is not None:
            self._begin(self.readline)
        try:
            while True:
                try:
                    entry = self.entry()
                    if entry:
                        self.session.run(entry)
                except KeyboardInterrupt:
                    if not self.interactive:
                        raise
                    print()
        except (EOFError, Leave):
            if self.interactive and sys.exc_info()[0] is EOFError:
                print()
        finally:
            if self.readline is not None:
                self._end(self.readline)

    def entry(self) -> str:
        """A query or a dot-command; EOFError: there is no more."""
        self._lines = []
        while True:
            try:
                line = self._line(NEXT if self._lines else FIRST)
            except EOFError:
                if not self._lines:
                    raise
                line = ""  # what is there is taken as it is
                if self.interactive:
                    print()
            if not line.strip() or not self._continues(line):
                text = "\n".join([*self._lines, line]).strip()
                self._remember(text)
                return text
            self._lines.append(line)

    def _line(self, prompt: str) -> str:
        if self.interactive:
            return input(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _continues(self, line: str) -> bool:
        text = "\n".join([*self._lines, line]).strip()
        if text.startswith("."):
            name, _, text = text[1:].partition(" ")
            if name not in TAKING_QUERIES or not text.strip():
                return False
        return unfinished(text)

    # --------------------------------------------------------------------------------------------- readline

    def _begin(self, readline: ModuleType) -> None:
        with suppress(OSError):  # there is none yet
            readline.read_history_file(history_file())
        readline.set_auto_history(False)
        readline.set_history_length(KEPT)
        readline.set_completer_delims(_DELIMITERS)
        readline.set_completer(self._complete)
        edit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if edit else "tab: complete")

    def _remember(self, text: str) -> None:
        """An entry of several lines is one of the history, in one line."""
        if self.readline is not None and text:
            self.readline.add_history(text.replace("\n", " "))

    def _end(self, readline: ModuleType) -> None:
        readline.set_completer(None)
        path = history_file()
        with suppress(OSError):  # without a history, then
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)

    def _complete(self, _: str, number: int) -> str | None:
        """The completions that readline asks for, one by one; a fault in here is none of the person who types."""
        if number == 0:
            assert self.readline is not None
            line = self.readline.get_line_buffer()[: self.readline.get_endidx()]
            try:
                self._found = self.candidates(line)
            except (OSError, ValueError):
                self._found = []
        return self._found[number] if number < len(self._found) else None

    def candidates(self, line: str) -> list[str]:
        """The completions of the last word of the line that is typed."""
        if not self._lines and line.startswith("."):
            name, blank, rest = line.partition(" ")
            if not blank:
                return [f".{command}" for command in COMMANDS if f".{command}".startswith(name)]
            if name == ".open":
                return _files(rest.rpartition(" ")[2].rpartition("=")[2])
            if name == ".structure":
                return [stream for stream in self.session.streams if stream.startswith(rest)]
            line = rest
        return completions("\n".join([*self._lines, line]), self.session.at_hand)


def _files(begun: str) -> list[str]:
    """The last parts of the paths that begin so."""
    folder, _, name = begun.rpartition("/")
    with suppress(OSError):
        found = sorted(os.scandir(f"{folder}/" if "/" in begun else "."), key=lambda entry: entry.name)
        return [
            f"{entry.name}/" if entry.is_dir() else entry.name for entry in found if entry.name.startswith(name or "")
        ]
    return []


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:  # a Python without it
        return None
    return readline
