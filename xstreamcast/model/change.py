"""Changes: the one language in which everything flows (a tree of regions, changed one region at a time).

A *region* is the content of a hole; its content may hold further holes. Region 0 is the root. Three dialects are read
into these types and written from them (see :mod:`xstreamcast.wire.fragment` and ``docs/wire.md``):

=========  ===========================  ======================  ======================================
change     fragments (DBPL'03, XFrag)   update stream (XFlux)   temporal (XCQL)
=========  ===========================  ======================  ======================================
fill       ``<filler>``                 ``sM … eM``             ``<filler validTime>``: a new version
repeat     ``<repeat>``                                         the same filler again
replace    ``<replace>``                ``sR … eR``             ``<replace validTime>``
remove     ``<remove/>``                replace by nothing      ``<remove validTime/>``: ends its life
before     –                            ``sB … eB``             –
after      –                            ``sA … eA``             –
hide       –                            ``hide``                –
show       –                            ``show``                –
freeze     –                            ``freeze``              –
eos        ``<eos/>``                   ``eS``                  ``<eos/>``
=========  ===========================  ======================  ======================================

``content`` is UTF-8 XML content: text, elements, comments, processing instructions, in any number. Two elements of the
stream namespace may stand in it: ``<stream:hole id tsid/>`` and ``<stream:mutable id>…</stream:mutable>``, a hole with
its first filling in place. The prefix ``stream`` is bound to it without being declared.

>>> change = Fill(region=20, tsid=4, content=b"<creditLimit>2000</creditLimit>")
>>> from_row(dict(zip(ROW, to_row(change, "credit", 1)))) == change
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from xstreamcast.errors import error
from xstreamcast.model.time import Instant

ROOT: Final = 0
ANSWER: Final = 1
ERROR: Final = 2
"""In a stream that is an answer: the regions of the answer, and of the error that stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a region. ``version`` orders the changes of one region; without it, arrival does."""

    kind: ClassVar[str]
    region: int
    doc: str = ""
    tsid: int | None = None
    version: int | None = None
    valid_time: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentChange(Change):
    """A change that brings content."""

    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill(ContentChange):
    """F(m, n, x): x fills the hole m. With a valid time: a version, or an event, of m."""

    kind: ClassVar[str] = "fill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(ContentChange):
    """R(m, n, x): x was sent before; for who missed it, a filler."""

    kind: ClassVar[str] = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace(ContentChange):
    """U(m, n, x): the content of m becomes x. With ``target``, sR(target, m): target's content becomes region m."""

    kind: ClassVar[str] = "replace"
    target: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Before(ContentChange):
    """sB(target, m): region m, a sibling just before the target, outside it."""

    kind: ClassVar[str] = "before"
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class After(ContentChange):
    """sA(target, m): region m, a sibling just after the target, outside it."""

    kind: ClassVar[str] = "after"
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove(Change):
    """D(m, n): unbinds m. With a valid time: ends m's life then; what was before stays history."""

    kind: ClassVar[str] = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hide(Change):
    """The region is out of sight until shown; it goes on changing meanwhile."""

    kind: ClassVar[str] = "hide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(Change):
    """The region is in sight again, with its current content."""

    kind: ClassVar[str] = "show"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze(Change):
    """The region is closed to changes for good."""

    kind: ClassVar[str] = "freeze"


@dataclass(frozen=True, slots=True, kw_only=True)
class Eos(Change):
    """The stream has ended: unfilled holes stay empty."""

    kind: ClassVar[str] = "eos"
    region: int = ROOT


CHANGES: Final[dict[str, type[Change]]] = {
    cls.kind: cls for cls in (Fill, Repeat, Replace, Before, After, Remove, Hide, Show, Freeze, Eos)
}

ROW: Final = (
    "stream", "seq", "change", "doc", "region", "target", "tsid", "version", "valid_time", "order", "content",
)  # fmt: skip
"""The columns of a change as a row, in and out, embedded and on Spark."""

ChangeRow = tuple[
    str, int, str, str, int | None, int | None, int | None, int | None, Instant | None, str | None, bytes | None
]


def to_row(change: Change, stream: str, seq: int, order: str | None = None) -> ChangeRow:
    """A change as a row of :data:`ROW`; ``order`` is the place of an item in an answer."""
    return (
        stream,
        seq,
        change.kind,
        change.doc,
        change.region,
        getattr(change, "target", None),
        change.tsid,
        change.version,
        change.valid_time,
        order,
        getattr(change, "content", None),
    )


def from_row(row: Mapping[str, Any]) -> Change:
    """The change of a row; missing optional columns count as null."""
    cls = CHANGES.get(row["change"])
    if cls is None:
        raise error("XSC0003", f"unknown change {row['change']!r}", hint=f"one of {', '.join(CHANGES)}")
    fields: dict[str, Any] = {
        "doc": row.get("doc") or "",
        "region": ROOT if row.get("region") is None else row["region"],
        "tsid": row.get("tsid"),
        "version": row.get("version"),
        "valid_time": row.get("valid_time"),
    }
    if issubclass(cls, ContentChange):
        content = row.get("content")
        fields["content"] = content.encode() if isinstance(content, str) else bytes(content or b"")
    if issubclass(cls, Replace | Before | After) and row.get("target") is not None:
        fields["target"] = row["target"]
    elif issubclass(cls, Before | After):
        raise error("XSC0003", f"{cls.kind} without a target", hint="say which region it stands beside")
    return cls(**fields)
