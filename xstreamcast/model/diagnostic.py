"""Diagnostics: what was odd about an input, and what became of it. Nothing is dropped without one.

A *quarantine* record says that a piece of input was put aside and has no part in T(γ); a *warning* that it was taken in
a defined but perhaps unwanted way; a *note* that it had no effect.
"""

from __future__ import annotations

from typing import Literal

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place

Severity = Literal["quarantine", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding, with its code, its place in a stream and the start of the text it concerns."""

    code: str
    severity: Severity
    message: str
    place: Place
    excerpt: str = ""

    def __str__(self) -> str:
        excerpt = f"\n  {self.excerpt}" if self.excerpt else ""
        return f"{self.severity} {self.code} {self.place} {self.message}{excerpt}"


def excerpt(data: bytes, limit: int = 100) -> str:
    """The beginning of a piece of input on one line, whatever is in it: a terminal has nothing to obey in it."""
    text = " ".join(data[: limit * 4].decode(errors="replace").split())
    text = "".join([char if char.isprintable() else "\ufffd" for char in text])
    return text if len(text) <= limit else text[: limit - 1] + "…"
