"""``xcast watch --fixed``: regions that keep their first content."""

from __future__ import annotations

import json
from pathlib import Path

from command import xcast


def test_watch_takes_what_is_fixed(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_text(
        '<stream:fragments xmlns:stream="urn:xstreamcast:stream">'
        '<stream:filler id="0"><r><stream:hole id="1"/></r></stream:filler>'
        '<stream:filler id="1"><x>1</x></stream:filler><stream:replace id="1"><x>2</x></stream:replace>'
        "</stream:fragments>"
    )
    given = ("watch", 'stream("s")//x', "--stream", f"s={path}")
    assert xcast(*given, "--format", "xml").out == b"<x>2</x>\n"
    assert xcast(*given, "--fixed", "*", "--format", "xml").out == b"<x>1</x>\n"
    lines = xcast(*given, "--fixed", "*", "--format", "json").out.decode().splitlines()
    assert [json.loads(line)["change"] for line in lines if json.loads(line)["content"]][-1] == "after"
    assert xcast(*given, "--fixed", "*", "--engine", "spark").code == 2
