"""``xcast query --stream``: a stream is read once, and what it brings with it is known from then on."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

from command import xcast

STREAM = (
    b'<fragments><structure><tag id="1" name="a" type="snapshot"><tag id="2" name="p" type="temporal"/></tag>'
    b'</structure><filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler>'
    b'<filler id="1" tsid="2" validTime="2003-01-01T00:00:00"><p>1</p></filler></fragments>'
)


def test_a_stream_that_can_be_read_only_once_gives_answer_and_warning(tmp_path: Path) -> None:
    pipe = tmp_path / "stream"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(STREAM))
    writer.start()
    ran = xcast("query", 'count(stream("s")//p), stream("s")//q', "--stream", f"s={pipe}")
    writer.join()
    assert (ran.code, ran.out) == (0, b"1\n")
    assert "warning" in ran.err
    assert "nothing matches q" in ran.err


def test_a_mistake_in_the_query_is_told_before_the_stream_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "stream"
    os.mkfifo(pipe)  # nobody ever writes into it: reading would wait for ever
    ran = xcast("query", "1 +", "--stream", f"s={pipe}")
    assert ran.code == 1
    assert "XPST0003" in ran.err
