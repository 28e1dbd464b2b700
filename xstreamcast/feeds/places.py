"""Where the records of a feed stand: in the order in which they first came, in pages, so that one more costs a page.

Record n is region n + 1. A page is a region of up to :data:`PAGE` holes of records, a section one of as many pages, and
the root holds the sections; their numbers are computed, so that nothing but the count has to be remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from xstreamcast.model.change import ROOT, Fill, Replace
from xstreamcast.model.serialise_xml import escape_attribute

PAGE: Final = 256
_PAGES: Final = 1 << 40
_SECTIONS: Final = 1 << 41


def region(number: int) -> int:
    """The region of a record."""
    return number + 1


def is_record(number: int) -> bool:
    """Whether a region is that of a record, not a page, a section or the root."""
    return ROOT < number < _PAGES


def grown(before: int, after: int, around: Sequence[str], tsid: int | None) -> Iterator[Fill | Replace]:
    """The changes that make room for records, of which there were so many before; ``tsid``: if all have that tag."""
    if after == before:
        return
    for page in range(before // PAGE, -(-after // PAGE)):
        first = page * PAGE
        records = range(first, min(after, first + PAGE))
        yield _sent(_PAGES + page, _holes((region(n) for n in records), tsid), first < before, after)
    pages_before, pages = -(-before // PAGE), -(-after // PAGE)
    if pages == pages_before:
        return
    for section in range(pages_before // PAGE, -(-pages // PAGE)):
        first = section * PAGE
        inside = (_PAGES + page for page in range(first, min(pages, first + PAGE)))
        yield _sent(_SECTIONS + section, _holes(inside), first < pages_before, after)
    sections_before, sections = -(-pages_before // PAGE), -(-pages // PAGE)
    if sections > sections_before:
        content = around_content(around, _holes(_SECTIONS + section for section in range(sections)))
        yield _sent(ROOT, content, before > 0, after, 1)


def around_content(around: Sequence[str], content: bytes) -> bytes:
    """Content in the elements around the records."""
    for name in reversed(around):
        uri, _, local = name.removeprefix("{").rpartition("}")
        declared = f' xmlns="{escape_attribute(uri)}"' if uri or any("{" in other for other in around) else ""
        content = f"<{local}{declared}>".encode() + content + f"</{local}>".encode()
    return content


def _sent(number: int, content: bytes, again: bool, version: int, tsid: int | None = None) -> Fill | Replace:
    kind = Replace if again else Fill
    return kind(region=number, tsid=tsid, version=version, content=content)


def _holes(numbers: Iterator[int], tsid: int | None = None) -> bytes:
    tag = f' tsid="{tsid}"' if tsid is not None else ""
    return "".join(f'<stream:hole id="{number}"{tag}/>' for number in numbers).encode()
