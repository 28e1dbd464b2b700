"""``xcast listen``: what is on the air, printed or stored."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

from xstreamcast.cli.options import Argument, Option, WrongCall
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.serve.client import Address, Heard
    from xstreamcast.serve.reception import Reception

FORMATS: Final = ("wire", "json")
_SINCE: Final = re.compile(rb'<\?xcast log="([0-9a-f]*)" since="(\d+)"\?>\n')
_TAIL: Final = 1 << 16


def listen_command(
    names: Annotated[list[str] | None, Argument(metavar="NAME...", help="Streams, or xcast:// addresses.")] = None,
    server: Annotated[str, Option(metavar="HOST:PORT", help="Where streams without an address are.")] = (
        "127.0.0.1:8203"
    ),
    start: Annotated[str, Option("--from", metavar="PLACE", help="beginning, now, or N: since N.")] = "beginning",
    out: Annotated[
        Path | None, Option("-o", "--out", metavar="FILE", help="Store it; a folder for several streams.")
    ] = None,
    format: Annotated[str, Option(metavar="FORMAT", help="wire, or json: a line for each change.")] = "wire",
    count: Annotated[int | None, Option(metavar="N", help="Leave after so many.")] = None,
    listing: Annotated[bool, Option("--list", help="Show the server's streams and leave.")] = False,
) -> None:
    """Tune in to streams and print what comes, or store it, until they end or Ctrl-C.

    What has come before is not printed again, whatever the carousel repeats. A lost connection is made again, and goes
    on where it stopped. A stored stream is a file that xcast reads as any other; called again with the same file,
    listen goes on since what is in it.

    Examples:

      xcast listen --list

      xcast listen credit --from now

      xcast listen xcast://127.0.0.1:8203/credit -o credit.xml
    """
    if format not in FORMATS:
        raise WrongCall(f"--format is one of {', '.join(FORMATS)}")
    if count is not None and count < 1:
        raise WrongCall("--count is above 0")
    place = f"since={start}" if start.isdecimal() else f"from={start}"
    from xstreamcast.serve.client import parse_address

    if listing:
        _list(server)
        return
    if not names:
        raise WrongCall("name a stream, or see what there is: --list")
    addresses = [
        parse_address(name if "://" in name else f"xcast://{server}/{name}?{place}") for name in dict.fromkeys(names)
    ]
    if len(addresses) > 1 and format == "wire" and out is None:
        raise WrongCall("several streams side by side: --format json, or -o FOLDER")
    if len(addresses) > 1 and out is not None:
        out.mkdir(parents=True, exist_ok=True)
    from xstreamcast.cli.interrupts import run
    from xstreamcast.cli.terminal import readers_may_leave

    with readers_may_leave():
        run(lambda: _listen(addresses, out, format, count))


def _list(server: str) -> None:
    from urllib.request import Request

    from xstreamcast.serve.client import Address, ask, parse_address

    at = parse_address(f"xcast://{server}/streams")
    url = Address(at.host, at.port, "x").url().removesuffix("/x")
    for told in json.loads(ask(Request(url), at)):
        kept = f", all from {told['first']:,} on" if told["first"] > 1 else ""
        ended = ", ended" if told["ended"] else ""
        print(f"{told['name']:<24} {told['head']:>10,} records{kept}, {told['listeners']:,} tuned in{ended}")


async def _listen(addresses: list[Address], out: Path | None, format: str, count: int | None) -> None:
    """All streams at once; the first to bring the last of ``count`` ends it."""
    import asyncio

    left = [count]
    stores = [
        _Store(address, None if out is None else out / f"{address.stream}.xml" if len(addresses) > 1 else out, format)
        for address in addresses
    ]
    try:
        async with asyncio.TaskGroup() as group:
            for store in stores:
                group.create_task(_one(store, left))
    except* _Enough:
        pass
    finally:
        for store in stores:
            store.close()


class _Enough(Exception):
    """There have been as many as were asked for."""


async def _one(store: _Store, left: list[int | None]) -> None:
    from xstreamcast.serve.client import Outage, Trouble, check_log, shortened, tune

    outage, log, told = Outage(), store.reception.log, ""
    async for came in tune(store.address, store.reception):
        said = outage.gone(came) if isinstance(came, Trouble) else outage.back()
        if said:
            print(f"xcast: {store.address}: {said}", file=sys.stderr, flush=True)
        if isinstance(came, Trouble):
            continue
        log = check_log(store.address, log, came)
        if not told and (told := shortened(came)):
            print(f"xcast: {store.address}: {told}", file=sys.stderr, flush=True)
        for _ in range(store.write(came, left[0])):
            left[0] = None if left[0] is None else left[0] - 1
        if left[0] == 0:
            raise _Enough


class _Store:
    """Where one stream goes: standard output, or a file that says how far it is."""

    def __init__(self, address: Address, path: Path | None, format: str) -> None:
        from xstreamcast.serve.reception import Reception

        self.address = address
        self.format = format
        self.reception: Reception = Reception()
        self.file: BinaryIO | None = None
        if path is not None:
            try:
                self.file = path.open("ab" if format == "wire" else "wb")
                if format == "wire":
                    self._resume(path)
            except XStreamError:
                raise
            except OSError as fault:
                raise error(
                    "XSC0006", f"cannot write {path}: {fault.strerror}", hint="choose another with -o"
                ) from None

    def _resume(self, path: Path) -> None:
        """Go on after the last note in the file; what comes after it may be torn, and comes again."""
        assert self.file is not None
        size = path.stat().st_size
        with path.open("rb") as file:
            end = size
            while end:
                begin = max(0, end - _TAIL)
                file.seek(begin)
                found = list(_SINCE.finditer(file.read(min(size, end + 128) - begin)))
                if found:
                    note = found[-1]
                    self.file.truncate(begin + note.end())
                    self.reception.log, self.reception.since = note[1].decode(), int(note[2])
                    self.reception.head = self.reception.since
                    return
                end = begin
        if size:
            hint = "choose another with -o"
            raise error("XSC0006", f"{path} is there, and was not stored by listen", hint=hint)

    def write(self, heard: Heard, most: int | None) -> int:
        """Print or store what is new; how many changes it was."""
        from xstreamcast.wire.fragment import FragmentReader

        lines: list[bytes] = []
        changes = 0
        for n, element in heard.news:
            if most is not None and changes >= most:
                break
            structure = element.startswith(b"<stream:structure")
            changes += not structure
            if self.format == "wire":
                lines.append(element + b"\n")
            else:
                for arrival in FragmentReader([element], source=str(self.address)):
                    lines.append(
                        json.dumps(_row(arrival.item, self.address.stream, n), ensure_ascii=False).encode() + b"\n"
                    )
        if self.file is not None:
            if self.format == "wire":
                lines.append(b'<?xcast log="%b" since="%d"?>\n' % (self.reception.log.encode(), self.reception.since))
            self.file.write(b"".join(lines))
            self.file.flush()
        else:
            sys.stdout.buffer.write(b"".join(lines))
            sys.stdout.buffer.flush()
        return changes

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def _row(item: Any, stream: str, n: int) -> dict[str, Any]:
    """A change as a row of the one schema; a structure as on Spark."""
    from xstreamcast.model.change import ROW, Change, to_row

    if isinstance(item, Change):
        row = dict(zip(ROW, to_row(item, stream, n), strict=True))
        return {**row, "content": row["content"].decode() if isinstance(row["content"], bytes) else None}
    structure: Structure = item
    from xstreamcast.model.structure import write_structure

    return {
        **dict.fromkeys(ROW),
        "stream": stream,
        "seq": n,
        "change": "structure",
        "content": write_structure(structure),
    }
