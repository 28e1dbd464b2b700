"""Questions about a query's text, and about a stream's past: is it right, how will it run, what was T then.

T at a number of a stream's log is T(γ) of the records up to it. A reader of the past goes forwards record by record,
and begins anew where it goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from typing import Any, Final

from xstreamcast import Structure, XStreamError, explain, query
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.console.completion import completions
from xstreamcast.errors import Place
from xstreamcast.lang.tokens import tokens
from xstreamcast.model.change import Change, ContentChange
from xstreamcast.model.time import START, format_instant
from xstreamcast.plan.explain.picture import to_svg
from xstreamcast.run.streams import streams_named
from xstreamcast.wire.fragment import FragmentReader

LETTERS: Final = 96 << 10
"""So much of a document is shown."""
INDENTED: Final = 1 << 20
"""A document is indented up to this size."""
LINES: Final = 1500
CHANGES: Final = 500
EXCERPT: Final = 400


def told(fault: XStreamError) -> dict[str, Any]:
    """An error, with its place in the query."""
    place = fault.place or Place()
    return {
        "code": fault.code, "message": fault.message, "hint": fault.hint, "line": place.line, "column": place.column,
    }  # fmt: skip


def check(text: str, structures: dict[str, Structure]) -> dict[str, Any]:
    """Tokens for colours; the error, or how the query will run, with a picture."""
    made: dict[str, Any] = {"tokens": [list(token) for token in tokens(text)], "error": None}
    try:
        explanation = explain(text, structures=structures)
        streams = list(streams_named(explanation.module))
        picture = to_svg(explanation, styled=False)
        made |= {
            "verdict": explanation.verdict, "streams": streams, "svg": picture,
            "explanation": f"{explanation}\n\n{explanation.why()}", "warnings": list(explanation.warnings),
        }  # fmt: skip
    except XStreamError as fault:
        made["error"] = told(fault)
    return made


def complete(text: str, at: int, structures: dict[str, Structure]) -> dict[str, Any]:
    """The completions at a place of a query."""
    found = completions(text, at, structures)
    return {"from": found.start, "choices": [list(choice) for choice in found.choices]}


class Past:
    """T of one stream at a number of its log."""

    def __init__(self) -> None:
        self.regions = Materialiser()
        self.n = 0
        self.now = START

    def go_on(self, records: Iterable[tuple[int, bytes]]) -> None:
        """Take in further records."""
        for n, wire in records:
            for arrival in FragmentReader([wire]):
                if isinstance(arrival.item, Change | Structure):
                    self.regions.apply(arrival.item)
                if isinstance(arrival.item, Change) and arrival.item.valid_time is not None:
                    self.now = max(self.now, arrival.item.valid_time)
            self.n = n

    def document(self) -> dict[str, Any]:
        """T, indented, as much of it as is shown; its size, and the time."""
        names = self.regions.documents()
        whole = self.regions.text(names[0]) if names else ""
        text = _indented(whole)
        now = "" if self.now == START else format_instant(self.now)
        cut = len(text) > LETTERS
        return {"n": self.n, "now": now, "size": len(whole), "cut": cut, "text": text[:LETTERS] if cut else text}


def _indented(text: str) -> str:
    """A document with each element on its line, unless it is none or too large for that."""
    if not text or len(text) > INDENTED:
        return text
    try:
        declared = 'serialize(., map { "indent": true() })'
        return str(query(declared, context=text.encode()).text())
    except XStreamError:  # T of a prefix need not have one element at its top
        return text


def difference(before: str, after: str) -> dict[str, Any]:
    """The lines that are different, with some around them."""
    lines = list(unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm=""))[2:]
    return {"lines": lines[:LINES], "cut": len(lines) > LINES}


def described(records: Iterable[tuple[int, bytes]], structure: Structure | None) -> list[dict[str, Any]]:
    """Changes as they stand in a log: number, kind, where, when, and the beginning of what they bring."""
    made: list[dict[str, Any]] = []
    for n, wire in records:
        for arrival in FragmentReader([wire]):
            item = arrival.item
            if isinstance(item, Change) and len(made) < CHANGES:
                path = "" if structure is None or item.tsid is None else structure.path(item.tsid)
                content = item.content.decode() if isinstance(item, ContentChange) else ""
                entry = {"n": n, "kind": item.kind, "region": item.region, "path": path}
                entry["time"] = "" if item.valid_time is None else format_instant(item.valid_time)
                entry["content"] = content[:EXCERPT] + ("…" if len(content) > EXCERPT else "")
                made.append(entry)
    return made
