"""What emission must know of a change besides the answer: who looked again, who left, appeared, vanished or moved.

    shown after = shown before − left − vanished + appeared, in order

Everything else of an answer stays as it stands, and is not visited: a change of the answer costs what is different.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from xstreamcast.plan.algebra import PLAN, Unit
from xstreamcast.run.continuous.engine import Continuous, Number
from xstreamcast.run.continuous.labels import in_order
from xstreamcast.run.continuous.live import Live, Member, Mount, Occurrence, side_by_side
from xstreamcast.run.continuous.order import Sequence
from xstreamcast.run.continuous.sums import content_of, members

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.model.time import Interval
    from xstreamcast.model.tree import Tree
    from xstreamcast.run.evaluate import Executable


class Noted(Live):
    """A live document that notes the places which are hidden or shown, or that stand elsewhere than before."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.turned: dict[Occurrence, None] = {}
        self.trees: dict[int, tuple[Filling, Tree]] | None = None
        """The trees of the contents of the change at hand, where several documents share them."""

    def content_tree(self, filling: Filling) -> Tree:
        if self.trees is None:
            return super().content_tree(filling)
        known = self.trees.get(id(filling))
        if known is None:
            known = self.trees[id(filling)] = filling, super().content_tree(filling)
        return known[1]

    def sync(self, occurrence: Occurrence) -> None:
        hidden = occurrence.hidden
        super().sync(occurrence)
        if occurrence.hidden != hidden:
            self.turned[occurrence] = None

    def _settle(
        self,
        occurrence: Occurrence,
        gone: list[Mount],
        fresh: list[tuple[tuple[Any, ...], Filling, Interval | None]],
    ) -> None:
        was = {held: (mount.key, row) for mount in gone for row, held in mount.holes.items()}
        others = len(occurrence.mounts) > len(gone)
        super()._settle(occurrence, gone, fresh)
        if not was:
            return
        mounts = [occurrence.mounts[id(filling)] for _, filling, _ in fresh if id(filling) in occurrence.mounts]
        kept = [(mount.key, held) for mount in sorted(mounts, key=_key) for held in mount.holes.values() if held in was]
        stay = in_order([was[held] for _, held in kept])
        for number, (key, held) in enumerate(kept):
            # Beside contents that are not sent again, only the same key is the same place.
            if number not in stay or (others and key != was[held][0]):
                self.turned[held] = None


def _key(mount: Mount) -> tuple[Any, ...]:
    return mount.key


class Journal(Continuous):
    """A query that goes on, and what happened to its members since :meth:`forget`.

    ``looked``: the members of whole documents that were evaluated; ``left``: those that are no longer in T; ``bound``:
    the units whose value was computed; ``redone``: whether a document was read as a whole.
    """

    live_type = Noted

    def __init__(self, *args: Any, **given: Any) -> None:
        self.looked: dict[Member, str] = {}
        self.left: dict[Member, str] = {}
        self.bound: set[Number] = set()
        self.redone = True
        super().__init__(*args, **given)

    def settle(self) -> None:
        """Evaluate what the changes that its documents have followed make necessary."""
        self._settle()

    def tick(self, now: DateTime) -> None:
        """The current time is another: whatever may depend on it is looked at again."""
        evaluation = self.evaluation
        evaluation.now = now
        evaluation._contexts.clear()
        for variable in [variable for variable in evaluation.globals if variable[0] != PLAN]:
            del evaluation.globals[variable]  # of the prolog: they may have read the clock
        for live in self.live.values():
            for sequence in live.top.values():
                live.dirty.update(dict.fromkeys(every(sequence)))
        self.redone = True

    def _settle(self) -> None:
        for name, live in self.live.items():
            for member in live.gone:
                self.looked.pop(member, None)
                if member.unit in live.top:
                    self.left[member] = name
            self.redone |= live.whole in live.dirty
        super()._settle()

    def _evaluate(self, name: str, member: Member) -> None:
        super()._evaluate(name, member)
        if member.unit in self.live[name].top:
            self.looked[member] = name

    def _bind(self, where: Number, sequence: Any) -> None:
        super()._bind(where, sequence)
        self.bound.add(where)

    def forget(self) -> None:
        """All that was noted has been dealt with."""
        self.looked.clear()
        self.left.clear()
        self.bound.clear()
        self.redone = False
        for live in self.live.values():
            assert isinstance(live, Noted)
            live.turned.clear()

    def part(self, part: Unit | Executable, reads: Iterable[Number]) -> list[Item]:
        """The items of a part of the output; ``reads``: the units that it looks at."""
        for where in reads:
            self._refresh(where)
        self._bind_documents()
        return self._part(part)

    def touched(self, where: Number) -> Iterator[Member]:
        """The members of a unit that may be shown otherwise than before, each once or more; none that have left."""
        name, unit = where
        for member, stream in self.looked.items():
            if member.unit == unit and stream == name:
                yield member
        live = self.live[name]
        assert isinstance(live, Noted)
        for occurrence in live.turned:
            for place in side_by_side(occurrence):
                content = place.content.get(unit)
                if content is not None:
                    yield from members(content)


def every(sequence: Sequence[Any]) -> Iterator[Member]:
    """All members of a sequence, hidden ones and those inside of frames too."""
    waiting = [sequence]
    while waiting:
        for entry in waiting.pop():
            item = entry.item
            if isinstance(item, Member):
                yield item
                waiting += (item.inner or {}).values()
            else:
                waiting.append(content_of(entry))


def identity(member: Member) -> tuple[Any, ...]:
    """What a member is known by when its content is sent again: where it stands, by hole ids and times."""
    path: list[Any] = [member.unit, member.entry.key[1]]
    mount: Mount | None = member.mount
    while mount is not None:
        path.append((mount.occurrence.id, mount.key[:2]))
        mount = mount.occurrence.parent
    return tuple(path)
