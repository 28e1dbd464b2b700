"""Streams in every spelling, and what the embedded reader makes of them: the rows Spark must show."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from xstreamcast.model.change import ROW, Change, to_row
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import write_structure
from xstreamcast.scan.encoding import plain_xml, source_name
from xstreamcast.wire.fragment import FragmentReader

Row = tuple[Any, ...]


def embedded_rows(path: Path, stream: str) -> list[Row]:
    """What the embedded reader makes of a file, as the rows Spark must show."""
    rows: list[Row] = []
    seq = 0
    for arrival in FragmentReader(plain_xml(path), source=source_name(path)):
        item = arrival.item
        if isinstance(item, Change):
            seq += 1
            rows.append(tuple(to_row(item, stream, seq)))
        elif isinstance(item, Diagnostic):
            at = arrival.place.offset if item.place.offset is None else item.place.offset
            rows.append((stream, seq, "quarantine", "", *[None] * 6, (item.code, item.message, at)))
        else:
            rows.append((stream, seq, "structure", "", *[None] * 6, write_structure(item).encode()))
    return [comparable(row) for row in rows]


def comparable(row: Row) -> Row:
    """Instants as datetimes, quarantine records without the file's name, which depends on how one came to it."""
    fields = dict(zip(ROW, row, strict=True))
    if isinstance(fields["valid_time"], int):
        fields["valid_time"] = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=fields["valid_time"])
    if fields["change"] == "quarantine" and isinstance(fields["content"], bytes):
        report = json.loads(fields["content"])
        fields["content"] = report["code"], report["message"], report["offset"]
    return tuple(fields.values())


def spark_rows(frame: Any) -> list[Row]:
    """The rows of a DataFrame in the order of their tasks, which is that of the stream."""
    return [comparable(tuple(row[name] for name in ROW)) for row in frame.toArrow().to_pylist()]


PREFIXED = b"""<?xml version="1.0"?>
<stream:fragments xmlns:stream="urn:xstreamcast:stream">
<stream:structure><tag id="1" name="accounts"><tag id="2" name="account" type="temporal">
  <tag id="4" name="creditLimit" type="temporal"/></tag></tag></stream:structure>
<stream:filler id="0" tsid="1"><accounts><stream:hole id="10" tsid="2"/></accounts></stream:filler>
<stream:filler id="20" tsid="4" version="2" validTime="2001-04-23T23:11:08">\
<creditLimit>5000</creditLimit></stream:filler>
<stream:filler id="10" tsid="2" validTime="1998-10-10T12:20:22.25">\
<account id="1234"><customer>J\xc3\xb6hn Smith</customer><stream:hole id="20" tsid="4"/></account></stream:filler>
<stream:filler tsid="4" id="20" version="1" validTime="1998-10-10"><creditLimit>2000</creditLimit></stream:filler>
<stream:filler id="20" tsid="4" version="3"><!-- </stream:filler> --><creditLimit>7000</creditLimit></stream:filler>
<stream:filler id="7" doc="other" version="1">text</stream:filler>
<stream:repeat id="7" doc="other" version="1">text</stream:repeat>
<stream:remove id="7" doc="other" version="2"/>
<stream:eos/>
</stream:fragments>
"""

BARE = b"""<tag name="commodities" id="1"><tag name="vendor" id="2" filler="true"/></tag>
<filler id="0" tsid="1"><commodities><hole id="10" tsid="2"/><hole id="20" tsid="2"/></commodities></filler>
<filler id="10" tsid="2"><vendor><name>Wal-Mart</name><hole id="30" tsid="5"/></vendor></filler>
<repeat id="10" tsid="2"><vendor><name>Wal-Mart</name><hole id="30" tsid="5"/></vendor></repeat>
<replace id="10" tsid="2"><vendor><name>Wal-Mart</name></vendor></replace>
<remove id="20" tsid="2"/>
<eos/>
"""

UPDATES = b"""<stream:updates xmlns:stream="urn:xstreamcast:stream">
<stream:filler id="0"><a><stream:mutable id="1">x</stream:mutable><stream:mutable id="2">y</stream:mutable></a>
</stream:filler>
<stream:replace target="1" id="3">w</stream:replace>
<stream:before target="3" id="4"><b/></stream:before>
<stream:after target="3" id="5"><c/></stream:after>
<stream:filler id="9">p<stream:replace target="3" id="6">q</stream:replace>r<stream:hide id="6"/></stream:filler>
<stream:hide id="2"/><stream:show id="2"/><stream:freeze id="2"/>
<stream:eos/>
</stream:updates>
"""

MALFORMED = b"""<stream:fragments xmlns:stream="urn:xstreamcast:stream">
<stream:filler id="0"><a><stream:hole id="1"/><stream:hole id="2"/></a></stream:filler>
<stream:filler id="one">no number</stream:filler>
stray text
<stream:filler id="1" validTime="2003-02-30T00:00:00">no such day</stream:filler>
<stream:filler id="1">never closed <b>
<stream:filler id="1">one</stream:filler>
<stream:structure><tag name="no id"/></stream:structure>
<stream:filler id="2">two</stream:filler>
<stream:filler id="3">torn
"""

SAMPLES = {
    "prefixed.xml": PREFIXED,
    "bare.xml": BARE,
    "updates.xml": UPDATES,
    "packed.xml.gz": gzip.compress(PREFIXED),
    "malformed.xml": MALFORMED,
    "marked.xml": b"\xef\xbb\xbf" + PREFIXED,
    "wide.xml": ('<?xml version="1.0" encoding="UTF-16"?>' + UPDATES.decode()).encode("utf-16"),
}
