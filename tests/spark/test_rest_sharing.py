"""How documents are shared out: as few tasks as keep all cores busy, cut where a walk over the tags says."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rest_samples import document_of, open_tags

from xstreamcast.spark.rest import indexing
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.indexing import LEAST, MOST, Workforce, forget_seams, planned, seams_of, summary_of
from xstreamcast.spark.rest.seams import Window, behind

MB = 1 << 20
TWO = Workforce(2, lambda stretches: [summary_of(each) for each in stretches])
PIECES = (
    '<a x="/>">', "<a y='1/>2' z=\"'/>\">", "<a/>", '<a b="c"/>', "<a b='/'/>", "<a\n b='>' />", "text />", "/>", ">",
    "<!-- <b/> /> -->", "<![CDATA[</a>/>]]>", "<?p <a> /> ?>", "é漢" * 9, " " * 63, "</a>", "</a>", "</a \t>",
)  # fmt: skip
"""Of these documents are made in which a tag's end is hard to tell from what only looks like one."""


def puzzle(seed: int, length: int) -> str:
    """A well-formed document of some pieces, which are spread over blocks of the walk in any way."""
    dice = random.Random(seed)
    depth, parts = 1, ["<a>"]
    for _ in range(length):
        piece = dice.choice(PIECES)
        if piece.startswith("</"):
            if depth == 1:
                continue
            depth -= 1
        elif piece.startswith("<a") and not piece.endswith("/>"):
            depth += 1
        parts.append(piece)
    return "".join([*parts, "</a>" * depth])


@pytest.mark.parametrize("seed", range(12))
def test_what_is_open_is_known_whatever_looks_like_a_tags_end(tmp_path: Path, seed: int) -> None:
    text = puzzle(seed, 60)
    document, known = document_of(tmp_path, text), open_tags(text)
    for step in (1, 2, 7, 31, 32, 33, 64, 65, 200):
        for seam in seams_of(document, step):
            assert [each.tag for each in seam.open] == known[seam.offset], (step, seam.offset)
    forget_seams()


@pytest.mark.parametrize("seed", range(4))
def test_a_scan_goes_on_behind_the_elements_that_are_open(seed: int) -> None:
    text = puzzle(seed, 40)
    window = Window(np.frombuffer(bytearray(text.encode()), np.uint8), 0, True)
    for offset, tags in open_tags(text).items():
        for levels in range(1, len(tags) + 1):
            place = behind(window, offset, levels)
            left = len(tags) - levels
            rest = [len(open_) for at, open_ in open_tags(text).items() if at >= place]
            assert rest[0] == left if rest else left == 0


def test_a_task_for_each_core_scans_as_much() -> None:
    assert [TWO.step(size * MB) // MB for size in (8, 20, 116, 256)] == [4, 10, 58, 128]


def test_more_tasks_come_where_one_for_each_core_would_be_long() -> None:
    assert TWO.step(1000 * MB) == 125 * MB
    assert TWO.step(10_000 * MB) <= MOST


def test_no_task_is_smaller_than_it_is_worth() -> None:
    assert TWO.step(1) == TWO.step(2 * LEAST) == LEAST
    assert Workforce(64, TWO.walk).step(100 * MB) == LEAST


def test_the_ranges_of_a_document_are_of_one_size(tmp_path: Path) -> None:
    document = document_of(tmp_path, "<a>" + "<b/>" * 1000 + "</a>")
    sizes = [part.size for (part,) in planned([document], document.size - 1, TWO)]
    assert len(sizes) == 2
    assert max(sizes) - min(sizes) <= len("<b/>") * 2


def test_small_documents_share_a_task(tmp_path: Path) -> None:
    documents = [document_of(tmp_path, "<a/>", f"{number}.xml") for number in range(5)]
    assert [len(parts) for parts in planned(documents, 8, TWO)] == [2, 2, 1]
    assert [len(parts) for parts in planned(documents, None, TWO)] == [5]


def test_seams_that_are_known_are_not_looked_for_again(tmp_path: Path) -> None:
    asked: list[Document] = []

    def walk(stretches: Sequence[Any]) -> list[Any]:
        asked.extend(document for document, _, _ in stretches)
        return [summary_of(each) for each in stretches]

    document = document_of(tmp_path, "<a>" + "<b/>" * 50 + "</a>")
    forget_seams()
    counting = Workforce(2, walk)
    assert seams_of(document, 100, counting) == seams_of(document, 100, counting)
    assert len(asked) == 3
    forget_seams()


def test_tasks_of_a_cluster_walk_as_the_driver_does(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_of(tmp_path, puzzle(1, 60))
    stretches = [(document, start, start + 100) for start in range(3, document.size, 100)]
    monkeypatch.setattr(indexing, "HERE", 0)
    assert indexing.by_tasks(spark.sparkContext, stretches) == TWO.walk(stretches)


_WORKER = """
import gc
from xstreamcast.spark.worker import keep_loaded
keep_loaded()
first = gc.get_freeze_count()
keep_loaded()
again = gc.get_freeze_count()
import xstreamcast.scan.automaton
keep_loaded()
print(first > 0, again == first, gc.get_freeze_count() > first)
"""


def test_a_worker_that_spark_uses_again_takes_what_is_loaded_for_good() -> None:
    given = {**os.environ, "SPARK_REUSE_WORKER": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", _WORKER], env=given, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True"] * 3


def test_no_other_process_is_touched() -> None:
    from xstreamcast.spark.worker import keep_loaded

    before = gc.get_freeze_count()
    keep_loaded()
    assert gc.get_freeze_count() == before
