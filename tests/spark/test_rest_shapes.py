"""Trees between processes: what looks alike is written once, and what differs is never taken for the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from xstreamcast.model.serialise import serialise
from xstreamcast.run.query import query
from xstreamcast.spark.rest.relational.sending import Received, sent_rows
from xstreamcast.spark.rest.shapes import shape_of
from xstreamcast.spark.transport import dumps, loads

ALIKE = "for $i in 1 to 5 return <a n='{$i}'><b>{$i}</b><!--c--></a>"
DIFFERENT = (
    "<a n='1'/>", "<a n='1'>t</a>", "<a>1<n/></a>", "<a><n/>1</a>", "<a><n>1</n></a>", "<a xmlns='u' n='1'/>",
    "<a xmlns:p='u' n='1'/>", "<a xmlns:p='v' n='1'/>", "<p:a xmlns:p='u' n='1'/>", "<q:a xmlns:q='u' n='1'/>",
    "<a><x xmlns:p='u'/><y/></a>", "<a><x/><y xmlns:p='u'/></a>",
)  # fmt: skip


def test_trees_that_look_alike_have_one_shape_and_values_of_their_own() -> None:
    items = list(query(ALIKE))
    assert len({shape_of(item.tree) for item in items}) == 1
    came = loads(dumps(items))
    assert serialise(came) == serialise(items)
    assert sorted(came) == came, "in the order in which they were sent"


def test_what_differs_has_another_shape() -> None:
    items = [item for text in DIFFERENT for item in query(text)]
    assert len({shape_of(item.tree) for item in items}) == len(DIFFERENT)
    assert [serialise([item]) for item in loads(dumps(items))] == [serialise([item]) for item in items]


def test_records_are_cut_out_with_the_namespaces_around_them() -> None:
    records = "".join(f"<p:e xmlns:q{k % 2}='w'><f>{k}</f></p:e>" for k in range(6))
    document = f"<r xmlns:p='u' xmlns:n='v' n:k='0'><s>{records}</s></r>"
    found = list(query("//*:e", context=document.encode()))
    received = Received()
    came = [received.row(row)[0][0] for row in sent_rows([[[node]] for node in found], 0, 0)]
    assert [serialise([node]) for node in came] == [serialise([node]) for node in found]
    above = (
        "declare variable $n external; "
        "for $e in $n return string-join(($e/ancestor::*/@*/name(), sort(in-scope-prefixes($e))), ' ')"
    )
    assert query(above, variables={"n": came}).to_list() == query(above, variables={"n": found}).to_list()


def test_names_have_other_numbers_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(dumps(list(query(f"{ALIKE}, {', '.join(DIFFERENT)}"))))
    reading = (
        "import sys; from xstreamcast.model.names import ELEMENT, intern, intern_prefix\n"
        "for k in range(50): intern(ELEMENT, '', f'other{k}'), intern_prefix(f'other{k}')\n"
        "from xstreamcast.model.serialise import serialise; from xstreamcast.spark.transport import loads\n"
        "sys.stdout.write(serialise(loads(open(sys.argv[1], 'rb').read())))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", reading, str(tmp_path / "sent")], capture_output=True, text=True, check=True
    )
    assert done.stdout == query(f"{ALIKE}, {', '.join(DIFFERENT)}").xml()
