"""The documents that a shell has open, and its entries: queries by ``xcast query``, dot-commands by name."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from xstreamcast.cli.options import WrongCall
from xstreamcast.cli.shell.at_hand import AtHand, look_at
from xstreamcast.errors import XStreamError, missing_file
from xstreamcast.model.structure import Structure

_RED: Final = "\x1b[1;31m"
_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"


class Leave(Exception):
    """The shell is to end."""


class Session:
    """The documents and streams that are open, the time that is asked at, and how entries are run on them."""

    def __init__(self, documents: list[str], streams: dict[str, str], now: str | None = None) -> None:
        self.documents = [_opened(one)[1] for one in documents]
        self.streams = dict(_opened(f"{name}={source}") for name, source in streams.items())
        self.now = now
        self.failed = False
        """Whether an entry has failed."""
        self._at_hand: AtHand | None = None

    @property
    def at_hand(self) -> AtHand:
        """The names that completion knows: found out when it is first asked for."""
        if self._at_hand is None:
            self._at_hand = look_at(self.documents[0] if self.documents else None, self.streams)
        return self._at_hand

    # --------------------------------------------------------------------------------------------- entries

    def run(self, entry: str) -> None:
        """Run an entry; what goes wrong is shown."""
        try:
            with _nothing_piped():
                if entry.startswith("."):
                    name, _, rest = entry[1:].partition(" ")
                    self._command(name.strip())(rest.strip())
                else:
                    self._query(entry)
        except XStreamError as fault:
            self._failed(str(fault))
        except WrongCall as fault:
            self._failed(str(fault))
        except BrokenPipeError:  # who reads our output has seen enough
            raise
        except OSError as fault:
            self._failed(fault.strerror or str(fault))
        finally:
            sys.stdout.flush()

    def _failed(self, text: str) -> None:
        self.failed = True
        sys.stdout.flush()
        print(coloured(text) if _in_colour() else text, file=sys.stderr, flush=True)

    def _command(self, name: str) -> Callable[[str], None]:
        found = COMMANDS.get(name)
        if found is None:
            from xstreamcast.cli.options import near

            raise WrongCall(f"no such command: .{name}{near(name, list(COMMANDS))}; .help lists all")
        return lambda rest: found(self, rest)

    def _query(self, text: str) -> None:
        from xstreamcast.cli.query import query_command

        query_command(text, self.documents, stream=self._streams(text), now=self.now, lines=True)

    def _streams(self, text: str) -> list[str]:
        """The streams that a query reads: those that it names, or all, if it computes a name."""
        called = re.findall(r"\bstream\s*\(\s*(?:[\"']([^\"']*)[\"']\s*\))?", text)
        return [f"{name}={source}" for name, source in self.streams.items() if name in called or "" in called]

    # -------------------------------------------------------------------------------------------- commands

    def open(self, rest: str) -> None:
        """FILE… is what paths look at; NAME=FILE is the stream "NAME". Without: what is open."""
        given = [_opened(one) for one in shlex.split(rest)]
        documents = [source for name, source in given if not name]
        self.documents = documents or self.documents
        self.streams |= {name: source for name, source in given if name}
        self._at_hand = None if given else self._at_hand
        for document in self.documents:
            print(f"document {document}")
        for name, source in self.streams.items():
            print(f'stream("{name}") {source}')
        if not (self.documents or self.streams):
            print("nothing is open: .open FILE, or .open NAME=FILE for a stream")

    def explain(self, rest: str) -> None:
        """QUERY: how it will be run: passes, state, what blocks."""
        from xstreamcast.run.explained import explain

        if not rest:
            raise WrongCall(".explain takes a query")
        print(explain(rest, structures=self.at_hand.structures))

    def watch(self, rest: str) -> None:
        """QUERY: follow the streams that it reads until they end; Ctrl-C comes back."""
        from xstreamcast.cli.watch import watch_command

        if not rest:
            raise WrongCall(".watch takes a query")
        watch_command([rest], stream=self._streams(rest), format="live" if sys.stdout.isatty() else "xml")

    def structure(self, rest: str) -> None:
        """[NAME]: the tags of the document, or of a stream."""
        known = self.at_hand.structures.get(rest)
        if known is None:
            what = f'stream("{rest}")' if rest else "the document"
            raise WrongCall(f"nothing is known of {what}: .open tells what is open")
        for line in outline(known):
            print(line)

    def at(self, rest: str) -> None:
        """[TIME]: the current time of queries; without, the last time of the streams again."""
        from xstreamcast.run.library import moment_of

        if rest:
            moment_of(rest)  # XSC…, FORG0001: it is none
        self.now = rest or None

    def help(self, rest: str) -> None:
        """This text."""
        print("A query ends where it is whole; an empty line ends it anywhere. Tab completes.")
        for name, command in COMMANDS.items():
            print(f"  .{name:<10} {' '.join((command.__doc__ or '').split())}")
        print("  Ctrl-C      drops what is typed, or stops what runs")

    def quit(self, rest: str) -> None:
        """Leave; so does Ctrl-D."""
        raise Leave


COMMANDS: Final[dict[str, Callable[[Session, str], None]]] = {
    "open": Session.open,
    "explain": Session.explain,
    "watch": Session.watch,
    "structure": Session.structure,
    "now": Session.at,
    "help": Session.help,
    "quit": Session.quit,
}
TAKING_QUERIES: Final = frozenset({"explain", "watch"})


def _opened(given: str) -> tuple[str, str]:
    """``NAME=FILE``, a stream, or ``FILE``, a document without a name. XSC0006: it is not there."""
    found = re.match(r"([\w.\-]+)=(.+)", given)
    name, source = ("", given) if found is None else found.groups()
    if "://" not in source and not Path(source.partition("!")[0]).exists():
        raise missing_file(source, "no such file", ".open FILE, or .open NAME=FILE for a stream")
    return name, source


def outline(structure: Structure) -> Iterator[str]:
    """The tags of a structure, a line each, those below indented."""
    tops = structure.tops
    waiting: list[tuple[int, tuple[int, ...]]] = [(top, ()) for top in reversed(tops)]
    while waiting:
        tsid, above = waiting.pop()
        tag = structure.tag(tsid)
        kind = f" ({tag.type})" if tag.type not in (None, "snapshot") else ""
        again = " …" if tsid in above else ""
        yield f"{'  ' * len(above)}{structure.lexical(tag.name)}{kind}{again}"
        if not again:
            waiting += [(child, (*above, tsid)) for child in reversed(tag.children)]


@contextmanager
def _nothing_piped() -> Iterator[None]:
    """The standard input of a shell has entries, and no document."""
    before = sys.stdin
    with open(os.devnull, encoding="utf-8") as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = before


def _in_colour() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def coloured(text: str) -> str:
    """An error in colour: its code and the caret under its place red, the hint dim.

    >>> coloured("XPST0003 query:1:1 no\\n  ^\\n  hint: yes").count("[1;31m")
    2
    """
    code, _, rest = text.partition(" ")
    lines = f"{_RED}{code}{_PLAIN} {rest}".splitlines()
    for number, line in enumerate(lines):
        if line.strip() and not line.strip(" ^"):
            lines[number] = f"{_RED}{line}{_PLAIN}"
        elif line.startswith("  hint: "):
            lines[number] = f"{_DIM}{line}{_PLAIN}"
    return "\n".join(lines)
