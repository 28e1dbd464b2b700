"""``xcast watch`` says what the structures of its streams rule out in a query: once, however they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import xcast

from xstreamcast.cli.watch_warnings import Warned
from xstreamcast.run.continuous.query import continuous_many

STRUCTURE = (
    '<stream:structure><tag id="1" name="r" type="snapshot"><tag id="2" name="a" type="filler"/></tag>'
    "</stream:structure>"
)
STREAM = (
    f'<stream:fragments xmlns:stream="urn:xstreamcast:stream">{STRUCTURE}'
    '<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/></r></stream:filler>'
    '<stream:filler id="1" tsid="2"><a>1</a></stream:filler><stream:eos/></stream:fragments>'
)
RULED_OUT = "query:1:14 nothing matches b: the structure of stream s has none below the root"


@pytest.mark.parametrize("format", ["xml", "changes", "json"])
def test_a_path_that_the_structure_of_a_stream_rules_out_is_warned_of_once(tmp_path: Path, format: str) -> None:
    (tmp_path / "s.xml").write_text(STREAM)
    (tmp_path / "r.xml").write_text(STRUCTURE)
    given = ("watch", 'stream("s")//b', "--stream", f"s={tmp_path / 's.xml'}", "--format", format)
    for known in ((), ("--structure", f"s={tmp_path / 'r.xml'}")):
        ran = xcast(*given, *known)
        assert ran.code == 0
        assert ran.err.splitlines() == [f"xcast: warning: {RULED_OUT}"]


def test_paths_that_lead_somewhere_are_not_warned_of(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(STREAM)
    ran = xcast("watch", 'stream("s")//a', "--stream", f"s={tmp_path / 's.xml'}", "--format", "xml")
    assert (ran.out, ran.err) == (b"<a>1</a>\n", "")


def test_while_a_live_view_has_the_terminal_warnings_wait(capsys: pytest.CaptureFixture[str]) -> None:
    warned = Warned(continuous_many(['stream("s")//b']))
    warned.live = True
    warned.say([RULED_OUT])
    warned.say([RULED_OUT])
    assert capsys.readouterr().err == ""
    warned.close()
    warned.close()
    assert capsys.readouterr().err == f"xcast: warning: {RULED_OUT}\n"
