"""What a confined process of the console may still do: run compiled kernels, which it could not keep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONFINED = """
import sys
from xstreamcast import continuous
from xstreamcast.console.confine import confine
from xstreamcast.model.structure import parse_structure
confine(1 << 30, sys.argv[1])
query = continuous('count(stream("s")//b)')
tags = '<tag id="1" name="r"><tag id="2" name="b" type="filler"/></tag>'
query.feed(parse_structure(f'<stream:structure>{tags}</stream:structure>'))
query.feed_many(b'<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/></r></stream:filler>'
                b'<stream:filler id="1" tsid="2"><b/></stream:filler>')
print(query.text(), query.state()["followed"], "numba" in sys.modules)
"""


def test_a_confined_process_has_the_code_of_kernels_and_does_not_compile_them_anew(tmp_path: Path) -> None:
    from xstreamcast.native.ahead import compile_ahead

    compile_ahead()
    command = [sys.executable, "-c", CONFINED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["1", "columns", "False"], "")
