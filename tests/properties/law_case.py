"""A case of the law: a query, and what its streams bring, step by step. It is data, so that a failure can be kept."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.wire.fragment import read_stream

REGRESSIONS = Path(__file__).parent / "regressions"
TICK = "tick "
_CALL = re.compile(r'stream\("(\w+)"\)')
_OPTIONS: dict[str, Any] = {
    "clock": "event",
    "lateness": None,
    "strict": False,
    "behind": "",
    "listens": 0,
    "together": 1,
}
"""What a case may say besides, and what it mostly does."""


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next: on ``stream``, a change or a structure as the wire has it;
    or ``tick TIME``, of a manual clock."""

    stream: str
    wire: str

    @property
    def tick(self) -> str | None:
        return self.wire.removeprefix(TICK) if self.wire.startswith(TICK) else None

    def items(self) -> tuple[Change | Structure, ...]:
        """The changes; more than one where updates stand inside a content."""
        return _items(self.wire)


@lru_cache(maxsize=4096)
def _items(wire: str) -> tuple[Change | Structure, ...]:
    found = []
    for arrival in read_stream(io.BytesIO(wire.encode())):
        if not isinstance(arrival.item, Change | Structure):
            raise ValueError(f"{arrival.item}\nin {wire}")
        found.append(arrival.item)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Case:
    """A query and its streams, up to some moment. ``clock``: ``event``, or ``manual`` with ticks among the steps.

    ``lateness``: in seconds; what comes later than that is put aside. ``strict``: nothing is left open about errors.
    ``behind``: a query over ``stream("answer")``, the answer of the other, which listens after so many steps.
    ``together``: so many steps are a batch, and the law is held against the case at the borders of batches.
    """

    query: str
    steps: tuple[Step, ...]
    clock: Literal["event", "manual"] = "event"
    about: str = ""
    lateness: float | None = None
    strict: bool = False
    behind: str = ""
    listens: int = 0
    together: int = 1

    def __str__(self) -> str:
        behind = [f"behind it, after {self.listens} steps: {self.behind}"] if self.behind else []
        late = [f"lateness: {self.lateness}"] if self.lateness is not None else []
        batches = [f"batches of {self.together}"] if self.together > 1 else []
        return "\n".join(
            [f"query: {self.query}", *behind, *late, *batches, *[f"{step.stream}: {step.wire}" for step in self.steps]]
        )

    def heard(self) -> Case:
        """The case without the streams that its query does not read: nothing can be fed to them."""
        names = {"", *_CALL.findall(self.query)}
        return replace(self, steps=tuple(step for step in self.steps if step.stream in names))

    def to_json(self) -> str:
        """As a regression file."""
        written: dict[str, Any] = {"about": self.about, "query": self.query}
        for name in _OPTIONS:
            if getattr(self, name) != _OPTIONS[name]:
                written[name] = getattr(self, name)
        written["steps"] = [[step.stream, step.wire] for step in self.steps]
        return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Case:
    read = json.loads(text)
    steps = tuple(Step(stream, wire) for stream, wire in read["steps"])
    options = {name: read.get(name, usual) for name, usual in _OPTIONS.items()}
    return Case(read["query"], steps, about=read.get("about", ""), **options)


def regressions() -> list[Path]:
    """The shrunk cases that once failed."""
    return sorted(REGRESSIONS.glob("*.json"))
