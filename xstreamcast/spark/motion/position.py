"""Positions: how far a stream of files has been read. This is what Spark's offset log keeps.

A position is all that is needed to go on from the middle of a stream, in another process or after a crash: the file
and the byte in it, how many changes came before, and what the reader has learnt so far (the spelling of the stream,
whether its root has come, the wrapper's namespaces). Bytes count in the file's plain XML: after decompression and
transcoding.

>>> Position.parse(Position("a.xml", 2, 180, 7).dump()) == Position("a.xml", 2, 180, 7)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from xstreamcast.errors import error
from xstreamcast.wire.fragment import Form, ReaderState

FORMAT: Final = 1
"""The version of the saved form; it changes when an older one can no longer be read."""


@dataclass(frozen=True, slots=True)
class Position:
    """Before the next piece of a stream: ``files`` files lie behind, and ``seq`` changes."""

    file: str = ""
    files: int = 0
    offset: int = 0
    seq: int = 0
    form: Form | None = None
    rooted: bool = False
    wrapped: bool = False
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        """Plain data for the offset log."""
        return {
            "format": FORMAT,
            "file": self.file,
            "files": self.files,
            "offset": self.offset,
            "seq": self.seq,
            "form": self.form,
            "rooted": self.rooted,
            "wrapped": self.wrapped,
            "namespaces": dict(self.namespaces),
        }

    @classmethod
    def parse(cls, saved: Mapping[str, Any]) -> Position:
        """The position that was dumped, by this version or an older one."""
        fields = dict(saved)
        if fields.pop("format", None) != FORMAT:
            hint = "start the query with a new checkpoint location, or with the version that wrote this one"
            raise error("XSC0062", f"an offset of another format: {saved}", hint=hint)
        return cls(**fields)

    def next_file(self, name: str) -> Position:
        """The beginning of the file after this one; the spelling and the root belong to the stream, not to a file."""
        files = self.files + 1 if self.file else 0
        return Position(name, files, 0, self.seq, self.form, self.rooted)

    def moved(self, offset: int, changes: int, *, rooted: bool = False) -> Position:
        """Further on in the same file."""
        return replace(self, offset=offset, seq=self.seq + changes, rooted=self.rooted or rooted)

    def reader_state(self) -> ReaderState:
        """What a reader that goes on from here must know."""
        return ReaderState(self.offset, self.form, self.rooted, dict(self.namespaces))
