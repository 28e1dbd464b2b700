"""Continuous queries of the papers, and their streams as folders of files: a file is a micro-batch."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.wire.fragment import FragmentWriter, encode_change, read_stream

MAXED_OUT = """for $a in stream("credit")//account
where sum($a/transaction?[2003-11-01,2003-12-01][status = "charged"]/amount) >= $a/creditLimit?[now]
return <account>{ attribute id {$a/@id}, $a/customer, $a/creditLimit }</account>"""

FRAUD = """for $a in stream("credit")//account
where sum($a/transaction?[now-PT1H,now][status = "charged"]/amount) >= max(($a/creditLimit?[now] * 0.9, 5000))
return <alert><account id="{$a/@id}">{$a/customer}</account></alert>"""

LIMITS = """for $a in stream("credit")//account
order by number($a/creditLimit?[now]) descending, $a/@id
return <account id="{$a/@id}">{ count($a/transaction[status = "charged"]) }</account>"""

UNANSWERED = """for $s in stream("gsyn")//packet
where not(some $a in stream("ack")//packet?[vtFrom($s), vtFrom($s) + PT1M]
          satisfies $s/id = $a/id and $s/srcIP = $a/destIP and $s/srcPort = $a/destPort)
return <warning>{ $s/id }</warning>"""

COINCIDENCE = """for $r in stream("radar1")//event, $s in stream("radar2")//event?[vtFrom($r)-PT1S, vtTo($r)+PT1S]
where $r/frequency = $s/frequency
return <position>{ $r/frequency/text(), $r/angle/text(), $s/angle/text() }</position>"""

GENERATORS = {
    "credit": (0.005, 22),  # ends while a card is being misused
    "packets": (0.01, 60),
    "radar": (0.005, 20),
    "commodities": (0.02, 40),
    "currencies": (0.1, 20),
    "stock": (0.02, 60),
}
"""By name: how much, and how many changes after the beginning."""


def write_streams(folder: Path, files: int, generators: dict[str, tuple[float, int]]) -> dict[str, str]:
    """The streams of generators, fragments out of order: by name, the folder of each."""
    made: dict[str, str] = {}
    for name, (factor, updates) in generators.items():
        generator: Any = import_module(f"xstreamcast.generate.{name}").GENERATOR
        changes: dict[str, list[Change]] = {}
        for stream, change in generator.changes(factor, 1, updates):
            changes.setdefault(stream, []).append(change)
        for stream, all_changes in changes.items():
            if stream != "ticker":  # its updates say which was before which by their order alone
                middle = all_changes[1:-1]
                random.Random(stream).shuffle(middle)
                all_changes[1:-1] = middle
            write_stream(folder / stream, files, all_changes, parse_structure(generator.structures[stream]))
            made[stream] = str(folder / stream)
    return made


def write_stream(folder: Path, files: int, changes: Sequence[Change], structure: Structure | None) -> None:
    """A stream as a folder of so many files."""
    folder.mkdir(parents=True)
    for number in range(files):
        part = changes[len(changes) * number // files : len(changes) * (number + 1) // files]
        write_file(folder / f"{number:03}.xml", part, None if number else structure)


def as_messages(folder: str, name: str) -> str:
    """A stream's files again, as files of JSON lines: one message with a number for each fragment."""
    target = Path(folder).with_name(f"{name}-messages")
    target.mkdir()
    seq = 0
    for number, file in enumerate(sorted(Path(folder).iterdir())):
        lines = []
        for arrival in read_stream(file):
            item = arrival.item
            assert isinstance(item, Change | Structure)
            seq += isinstance(item, Change)
            text = encode_change(item).decode() if isinstance(item, Change) else write_structure(item)
            lines.append(json.dumps({"seq": seq, "content": text}) + "\n")
        path = target / f"{number:03}.json"
        path.write_text("".join(lines))
        os.utime(path, (number, number))  # files are taken in the order of their times
    return str(target)


def write_file(path: Path, changes: Iterable[Change], structure: Structure | None = None) -> None:
    """A file of a stream, which appears whole."""
    hidden = path.with_name(f".{path.name}")
    with hidden.open("wb") as file:
        writer = FragmentWriter(file, structure)
        for change in changes:
            writer.write(change)
        writer.close()
    hidden.rename(path)


def embedded_answers(queries: dict[str, str], streams: dict[str, str], files: int, **given: Any) -> list[list[str]]:
    """What the embedded engine says when it is fed the same batches: the answers after each."""
    from xstreamcast.run.continuous.query import continuous_many

    inflow = continuous_many(queries.values(), names=list(queries), **given)
    answers = []
    for number in range(files):
        for stream, folder in sorted(streams.items()):
            inflow.feed_many([arrival.item for arrival in read_stream(Path(folder, f"{number:03}.xml"))], stream)
        answers.append([spoken(query.told()) for query in inflow.queries])
    return answers


def spoken(told: Any) -> str:
    return told if isinstance(told, str) else f"error {told.code}"
