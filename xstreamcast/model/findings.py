"""What was found odd about inputs, counted by kind: nothing is put aside in silence.

>>> from xstreamcast.errors import Place
>>> findings = Findings(lambda _: None)
>>> for line in (3, 7):
...     findings(Diagnostic("XSC0003", "quarantine", "a filler without an id", Place("s.xml", line)))
>>> findings.texts()
('put aside: XSC0003 s.xml:3 a filler without an id, and 1 more like it',)
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from xstreamcast.errors import XStreamWarning
from xstreamcast.model.diagnostic import Diagnostic

Kind = tuple[str, str]
_OURS: Final = (str(Path(__file__).parents[1]), "<query ")
"""Where code of this package stands, also what is made of queries."""


_OPEN: Final = ("XSC0030", "XSC0032")
"""What is so of every stream that has not ended: holes and fillers that still wait for each other."""


class Findings:
    """A report of diagnostics. Where nobody else hears of them (``report``), Python's warnings tell: of each kind once,
    with how many there are by then; ``texts`` has the counts at any time. Notes are counted, and not told; nor is
    warned of what still waits for more of a stream."""

    def __init__(self, report: Callable[[Diagnostic], None] | None = None) -> None:
        self.report = report
        self.counts: Counter[Kind] = Counter()
        """How many there were, by severity and code."""
        self.first: dict[Kind, Diagnostic] = {}
        self._told: Counter[Kind] = Counter()

    def __call__(self, diagnostic: Diagnostic) -> None:
        kind = diagnostic.severity, diagnostic.code
        self.counts[kind] += 1
        self.first.setdefault(kind, diagnostic)
        if self.report is not None:
            self.report(diagnostic)

    def texts(self) -> tuple[str, ...]:
        """A line for each kind: the first of it, and how many more there were."""
        return tuple(self._text(kind) for kind in self.first if kind[0] != "note")

    def tell(self, again: bool = False) -> None:
        """Warn of kinds that nobody was warned of; ``again``: also of those of which there are more now."""
        if self.report is not None:
            return
        for kind, count in self.counts.items():
            told = self._told[kind]
            if kind[0] != "note" and kind[1] not in _OPEN and (count > told if again else not told):
                self._told[kind] = count
                warn(self._text(kind))

    def _text(self, kind: Kind) -> str:
        one, more = self.first[kind], self.counts[kind] - 1
        aside = "put aside: " if one.severity == "quarantine" else ""
        place = f" {one.place}" if str(one.place) else ""
        return f"{aside}{one.code}{place} {one.message}" + (f", and {more:,} more like it" if more else "")


def warn(text: str) -> None:
    """A warning of Python's, at the line that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, XStreamWarning, stacklevel=level)
