"""What an answer was at every moment: its differences, by how many records had been taken in.

    answer(k) = answer(base) ⊕ the differences after base and up to k

>>> history = History()
>>> _ = history.note(1, {"a": "x"}), history.note(4, {"a": "x", "b": "y"}), history.note(9, {"b": "z"})
>>> history.at(3), history.at(4), history.at(9)
({'a': 'x'}, {'a': 'x', 'b': 'y'}, {'b': 'z'})
>>> history.between(1, 9)
Difference(appeared={'b': 'z'}, changed={}, vanished={'a': 'x'})
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

Items = dict[str, str]
"""The items of an answer: their texts by their labels, which have the order of the answer."""

STRETCH: Final = 256
"""After so many differences the answer is kept as a whole: no moment is further from one."""
DIFFERENCES: Final = 100_000
LETTERS: Final = 32 << 20
"""At most so many differences, and letters of them, are kept; the oldest are let go of."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What is different at a later moment: items that are there, that have another text, that are gone."""

    appeared: Items
    changed: dict[str, tuple[str, str]]
    vanished: Items


@dataclass(slots=True)
class _Stretch:
    """From a moment on: the answer then, and the differences after it, each with its moment."""

    moment: int
    items: Items
    moments: list[int] = field(default_factory=list)
    differences: list[list[tuple[str, str | None]]] = field(default_factory=list)
    count: int = 0
    letters: int = 0


class History:
    """The answers at all moments from ``first`` on. Moments only go up."""

    def __init__(self, differences: int = DIFFERENCES, letters: int = LETTERS) -> None:
        self.limits = differences, letters
        self.items: Items = {}
        """The answer now."""
        self._stretches = [_Stretch(0, {})]

    @property
    def first(self) -> int:
        """The earliest moment that is known."""
        return self._stretches[0].moment

    @property
    def moments(self) -> list[int]:
        """When the answer became another one."""
        return [moment for stretch in self._stretches for moment in stretch.moments]

    def note(self, moment: int, items: Items) -> list[tuple[str, str | None]]:
        """The answer at a moment; what is different from the one before: labels and texts, None where one is gone."""
        before = self.items
        difference: list[tuple[str, str | None]] = [
            (label, text) for label, text in items.items() if before.get(label) != text
        ]
        difference += [(label, None) for label in before if label not in items]
        if difference:
            self.items = items
            last = self._stretches[-1]
            if last.count >= STRETCH:
                last = _Stretch(moment, items)
                self._stretches.append(last)
            else:
                last.moments.append(moment)
                last.differences.append(difference)
            last.count += len(difference)
            last.letters += sum(len(text or "") for _, text in difference)
            self._let_go()
        return difference

    def _let_go(self) -> None:
        most, letters = self.limits
        while len(self._stretches) > 1 and (
            sum(each.count for each in self._stretches) > most
            or sum(each.letters for each in self._stretches) > letters
        ):
            del self._stretches[0]

    def at(self, moment: int) -> Items:
        """The answer when so many records had been taken in."""
        number = bisect_right(self._stretches, moment, key=lambda each: each.moment) - 1
        stretch = self._stretches[max(0, number)]
        items = dict(stretch.items)
        for when, difference in zip(stretch.moments, stretch.differences, strict=True):
            if when > moment:
                break
            for label, text in difference:
                if text is None:
                    items.pop(label, None)
                else:
                    items[label] = text
        return dict(sorted(items.items()))

    def between(self, one: int, other: int) -> Difference:
        """What is different at the later of two moments."""
        before, after = self.at(min(one, other)), self.at(max(one, other))
        return Difference(
            {label: text for label, text in after.items() if label not in before},
            {
                label: (before[label], text)
                for label, text in after.items()
                if label in before and before[label] != text
            },
            {label: text for label, text in before.items() if label not in after},
        )
