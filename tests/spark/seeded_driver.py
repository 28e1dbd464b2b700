"""A driver with a hash seed of its own: some queries of each kind, from their checkpoint in other workers.

    PYTHONHASHSEED=22 python seeded_driver.py FOLDER

Prints the hash seed of the workers. After every micro-batch the answers must be those from scratch.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from random import Random

from law_case import Step
from motion_queries import QUERIES, SHAPES, draw_changes
from motion_streams import spoken, write_file
from test_motion_queries import END, STRUCTURES, batches, from_scratch

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.spark import continuous_many
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down


def main(folder: Path) -> None:
    del os.environ["PYTHONHASHSEED"]  # of this process it counts already; workers have what Spark gives them: 0
    spark = session("xstreamcast tests of seeds", scratch=folder / "spark", **SHORT_LIVED)
    try:
        seed = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("os").environ["PYTHONHASHSEED"]).first()
        check(spark, folder)
    finally:
        shut_down(spark)
    print(json.dumps({"workers": seed, "answers": "as from scratch"}))


def check(spark: object, folder: Path) -> None:
    r, queries = Random(5), dict([*QUERIES.items()][::4])
    steps = (*draw_changes(r, 12), *END)
    # A file that brings nothing would be taken together with the next one.
    each = [batches([step for step in steps if step.stream == name], 4, r) for name in SHAPES]
    parts = [[step for part in together for step in part] for together in zip(*each, strict=True)]
    feeds = {name: folder / name for name in SHAPES}
    for feed in feeds.values():
        feed.mkdir()
    seen: list[list[str]] = []
    motions = []  # the first stays: so the second has workers of its own, and must read what is saved
    for files in (parts[:2], parts[2:]):
        for part in files:
            write(feeds, len(list(feeds["s"].iterdir())), part)
        streams = {name: str(feed) for name, feed in feeds.items()}
        limit = {"maxFilesPerTrigger": "1"}
        motions.append(continuous_many(spark, list(queries.values()), streams, structures=STRUCTURES, options=limit))
        running = motions[-1].start(
            display=lambda answers: seen.append([spoken(one.told()) for one in answers.queries]),
            checkpoint=folder / "state",
            available_now=True,
        )
        try:
            assert running.wait(300)
        finally:
            running.stop()
    assert motions[0].pool.number != motions[1].pool.number
    for one, (name, text) in enumerate(queries.items()):
        assert [answers[one] for answers in seen] == from_scratch(text, parts), name
    moved = [len(set(said)) > 1 for said in zip(*seen, strict=True)]
    assert sum(moved) > len(moved) / 2, "answers that are always the same show little"


def write(feeds: dict[str, Path], number: int, part: list[Step]) -> None:
    """A micro-batch, as a file of each stream."""
    for name, feed in feeds.items():
        items = [item for step in part if step.stream == name for item in step.items()]
        changes = [item for item in items if isinstance(item, Change)]
        structures = [item for item in items if isinstance(item, Structure)]
        write_file(feed / f"{number:03}.xml", changes, structures[0] if structures else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
