"""Fragment streams for the benchmarks: XMark's documents cut up, and a plain one of any number of regions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.documents import scaled, xmark

if TYPE_CHECKING:
    from xstreamcast.cast import Order

FRAGMENTS: Final = "item,category,person,open_auction,bidder,closed_auction"
_SECTION: Final = 1000

PLAIN: Final = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="r" type="snapshot">
    <tag id="2" name="section" type="filler">
      <tag id="3" name="b" type="filler">
        <tag id="4" name="x" type="snapshot"/>
        <tag id="5" name="k" type="snapshot"/>
        <tag id="6" name="t" type="snapshot"/>
      </tag>
      <tag id="7" name="o" type="filler"><tag id="8" name="z" type="snapshot"/></tag>
    </tag>
  </tag>
</stream:structure>"""


def folder() -> Path:
    """Where streams are kept from one run to the next."""
    made = Path(tempfile.gettempdir()) / "xstreamcast-bench"
    made.mkdir(exist_ok=True)
    return made


def fragments(factor: float, order: Order = "document") -> Path:
    """An XMark document in fragments, in some order."""
    from xstreamcast.cast import fragment
    from xstreamcast.cast.infer import infer_structure

    document = xmark(factor)
    path = folder() / f"{document.stem}-{order}.stream.xml"
    if not path.exists():
        tags = infer_structure([str(document)], FRAGMENTS)
        with path.open("wb") as file:
            fragment(str(document), file, tags, order=order)
    return path


def credit(factor: float, updates: int | None = None) -> Path:
    """Accounts with their transactions: versions and events, in each other, in fragments of their own."""
    from xstreamcast.cli.generate import generate

    count = round(5000 * factor) if updates is None else updates
    path = folder() / f"credit-{factor}-{count}.stream.xml"
    if not path.exists():
        generate("credit", str(path), factor=factor, updates=count)
    return path


def record(number: int, value: int) -> bytes:
    """The content of a region of the plain stream."""
    text = f"<b><x>{value}</x><k>key{number % 997}</k><t>what is said of {number}</t></b>"
    return text.encode()


def plain(regions: int) -> Path:
    """A stream of so many records and as many fragments that are of no interest, in sections."""
    path = folder() / f"plain-{regions}.stream.xml"
    if path.exists():
        return path
    with path.open("wb") as file:
        file.write(b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">' + PLAIN.encode())
        sections = range(1, 2 * regions + 1, _SECTION)
        first = 10_000_000
        holes = "".join(f'<stream:hole id="{first + k}" tsid="2"/>' for k in range(len(sections)))
        file.write(f'<stream:filler id="0"><r>{holes}</r></stream:filler>\n'.encode())
        for k, start in enumerate(sections):
            numbers = range(start, min(start + _SECTION, 2 * regions + 1))
            holes = "".join(f'<stream:hole id="{n}" tsid="{3 if n % 2 else 7}"/>' for n in numbers)
            file.write(
                f'<stream:filler id="{first + k}" tsid="2"><section>{holes}</section></stream:filler>\n'.encode()
            )
            for n in numbers:
                content = record(n, n * 7 % 1000) if n % 2 else f"<o><z>nothing of interest {n}</z></o>".encode()
                file.write(b'<stream:filler id="%d" tsid="%d">%s</stream:filler>\n' % (n, 3 if n % 2 else 7, content))
        file.write(b"</stream:fragments>\n")
    return path


def size(regions: int) -> int:
    """So many regions, or fewer in a quick run."""
    return max(100, round(regions * scaled()))
