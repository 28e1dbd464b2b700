"""Order trees: sequences of any length whose sums follow every change in logarithmic time (XFlux's regions).

A sequence is a B+ tree; every block has the sum of what is below it in some :class:`Monoid`. An entry may stand for
another sequence (a region inside a region): its summary is then that sequence's total, and a change runs on upward. So
the place of an item in an answer, ``[n]``, ``[last()]``, an aggregate, and hiding a whole region cost O(depth · log n);
what is hidden is left out of the sum, its members are not visited.

    total(a ++ b) = add(total(a), total(b))
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, takewhile
from typing import Any, Final, Generic, TypeVar

from xstreamcast.operators.monoid import Monoid

S = TypeVar("S")

WIDTH: Final = 32
"""A block has between WIDTH / 2 and WIDTH children (the root may have fewer)."""


class Entry(Generic[S]):
    """One place in a sequence: ``item`` is whose place it is, ``summary`` what it adds, unless it is hidden."""

    __slots__ = ("block", "hidden", "item", "key", "summary")

    def __init__(self, item: Any, summary: S, key: Any = None) -> None:
        self.item = item
        self.summary = summary
        self.key = key
        self.hidden = False
        self.block: Block[S] | None = None

    @property
    def sequence(self) -> Sequence[S]:
        """The sequence it is in."""
        block = self.block
        assert block is not None, "this entry is in no sequence"
        while block.parent is not None:
            block = block.parent
        assert block.owner is not None
        return block.owner


class Backward:
    """A key that orders the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Backward) -> bool:
        return bool(other.key < self.key)


class Block(Generic[S]):
    """A node of the tree. ``children``: entries in a leaf, blocks elsewhere."""

    __slots__ = ("children", "leaf", "owner", "parent", "total")

    def __init__(self, leaf: bool, children: list[Any], total: S) -> None:
        self.leaf = leaf
        self.children = children
        self.total = total
        self.parent: Block[S] | None = None
        self.owner: Sequence[S] | None = None


class Sequence(Generic[S]):
    """A sequence of entries in order. ``place``: the entry of another sequence that this one fills, if any.

    ``home``: whose sequence it is, of an outermost one and of those in frames; its ``moved()`` is called at every
    change. ``touched`` counts the blocks that changes have visited: what a test holds against log n.
    """

    __slots__ = ("home", "monoid", "place", "root", "touched")

    def __init__(
        self, monoid: Monoid[S], entries: Iterable[Entry[S]] = (), place: Entry[S] | None = None, home: Any = None
    ) -> None:
        self.monoid = monoid
        self.touched = 0
        self.place = place
        self.home = home
        self.root: Block[S] = self._built(list(entries))
        self.root.owner = self

    # ---------------------------------------------------------------------------------------------- building

    def _built(self, children: list[Any]) -> Block[S]:
        """A tree over entries in order, level by level."""
        if len(children) <= WIDTH:
            return self._block(True, children)
        leaf = True
        while True:
            count = max(1, -(-len(children) // (WIDTH * 3 // 4)))
            edges = [len(children) * k // count for k in range(count + 1)]
            blocks = [self._block(leaf, children[a:b]) for a, b in pairwise(edges)]
            if len(blocks) == 1:
                return blocks[0]
            children, leaf = blocks, False

    def _block(self, leaf: bool, children: list[Any]) -> Block[S]:
        block: Block[S] = Block(leaf, children, self.monoid.zero)
        for child in children:
            if leaf:
                child.block = block
            else:
                child.parent = block
        self._sum(block)
        return block

    def _sum(self, block: Block[S]) -> None:
        add, total = self.monoid.add, self.monoid.zero
        if block.leaf:
            for entry in block.children:
                if not entry.hidden:
                    total = add(total, entry.summary)
        else:
            for child in block.children:
                total = add(total, child.total)
        block.total = total
        self.touched += 1

    # ---------------------------------------------------------------------------------------------- reading

    @property
    def total(self) -> S:
        """The sum of all that is visible."""
        return self.root.total

    @property
    def outermost(self) -> Sequence[S]:
        """The sequence that it is, in the end, a part of."""
        sequence = self
        while sequence.place is not None:
            sequence = sequence.place.sequence
        return sequence

    def __iter__(self) -> Iterator[Entry[S]]:
        """All entries in order, hidden ones too."""
        stack: list[Iterator[Any]] = [iter((self.root,))]
        while stack:
            block = next(stack[-1], None)
            if block is None:
                stack.pop()
            elif block.leaf:
                yield from block.children
            else:
                stack.append(iter(block.children))

    def __len__(self) -> int:
        count, blocks = 0, [self.root]
        while blocks:
            block = blocks.pop()
            if block.leaf:
                count += len(block.children)
            else:
                blocks += block.children
        return count

    def before_here(self, entry: Entry[S]) -> S:
        """The sum of all that stands before an entry in this sequence."""
        add, total, block = self.monoid.add, self.monoid.zero, entry.block
        assert block is not None
        for other in block.children:
            if other is entry:
                break
            if not other.hidden:
                total = add(total, other.summary)
        while block.parent is not None:
            parent, earlier = block.parent, self.monoid.zero
            for sibling in parent.children:
                if sibling is block:
                    break
                earlier = add(earlier, sibling.total)
            total, block = add(earlier, total), parent
        return total

    def before(self, entry: Entry[S]) -> S:
        """The sum of all that stands before an entry, here and in the sequences around."""
        total = self.before_here(entry)
        place = self.place
        while place is not None:
            around = place.sequence
            total, place = self.monoid.add(around.before_here(place), total), around.place
        return total

    def find(self, reached: Callable[[S], bool]) -> Entry[S] | None:
        """The first visible entry with which the sum of all up to it ``reached`` something, which then stays so."""
        add, block, total = self.monoid.add, self.root, self.monoid.zero
        if not reached(block.total):
            return None
        while True:
            for child in block.children:
                if block.leaf and child.hidden:
                    continue
                sum_here = add(total, child.summary if block.leaf else child.total)
                if reached(sum_here):
                    if block.leaf:
                        found: Entry[S] = child
                        return found
                    block = child
                    break
                total = sum_here

    # ---------------------------------------------------------------------------------------------- changing

    def append(self, entry: Entry[S]) -> Entry[S]:
        """A new last entry."""
        block = self.root
        while not block.leaf:
            block = block.children[-1]
        return self._put(block, len(block.children), entry)

    def insert_before(self, place: Entry[S], entry: Entry[S]) -> Entry[S]:
        """A new entry just before another."""
        block = place.block
        assert block is not None
        return self._put(block, block.children.index(place), entry)

    def insert_after(self, place: Entry[S], entry: Entry[S]) -> Entry[S]:
        """A new entry just after another."""
        block = place.block
        assert block is not None
        return self._put(block, block.children.index(place) + 1, entry)

    def prepend(self, entry: Entry[S]) -> Entry[S]:
        """A new first entry."""
        block = self.root
        while not block.leaf:
            block = block.children[0]
        return self._put(block, 0, entry)

    def insert_sorted(self, entry: Entry[S]) -> Entry[S]:
        """A new entry after all whose key is not greater; all entries have keys, in order."""
        block, key = self.root, entry.key
        while not block.leaf:
            self.touched += 1
            place = bisect_right(block.children, key, key=_least) - 1
            block = block.children[max(place, 0)]
        return self._put(block, bisect_right(block.children, key, key=_key), entry)

    def around(self, key: Any) -> tuple[Entry[S] | None, Entry[S] | None]:
        """The last entry whose key is not greater than another, and the one behind it; keys are in order."""
        block, behind = self.root, None
        while not block.leaf:
            at = max(bisect_right(block.children, key, key=_least), 1)
            behind = block.children[at] if at < len(block.children) else behind
            block = block.children[at - 1]
        at = bisect_right(block.children, key, key=_key)
        before: Entry[S] | None = block.children[at - 1] if at else None
        if at < len(block.children):
            return before, block.children[at]
        while behind is not None and not behind.leaf:
            behind = behind.children[0]
        return before, None if behind is None else behind.children[0]

    def total_while(self, passes: Callable[[Any], bool]) -> S:
        """The sum of the entries whose keys pass: those from the first one up to some place; none is hidden."""
        add, total, block = self.monoid.add, self.monoid.zero, self.root
        while not block.leaf:
            self.touched += 1
            through: Block[S] | None = None
            for child in block.children:
                if not passes(_least(child)):
                    break
                if through is not None:
                    total = add(total, through.total)
                through = child
            if through is None:
                return total
            block = through
        for entry in block.children:
            if not passes(entry.key):
                break
            total = add(total, entry.summary)
        return total

    def first_after(self, passes: Callable[[Any], bool]) -> Entry[S] | None:
        """The first entry whose key does not pass, where all before it do."""
        block, behind = self.root, None
        while not block.leaf:
            self.touched += 1
            at = sum(1 for _ in takewhile(passes, map(_least, block.children)))
            behind = block.children[at] if at < len(block.children) else behind
            block = block.children[max(at - 1, 0)]
        for entry in block.children:
            if not passes(entry.key):
                first: Entry[S] = entry
                return first
        while behind is not None and not behind.leaf:
            behind = behind.children[0]
        return None if behind is None else behind.children[0]

    def extend_sorted(self, entries: list[Entry[S]]) -> None:
        """New entries in the order of their keys; at once when the sequence was empty."""
        if self.root.leaf and not self.root.children:
            before = self.root.total
            self.root = self._built(entries)
            self.root.owner = self
            if self.root.total is before:
                self._stirred()
            else:
                self._upward()
        else:
            for entry in entries:
                self.insert_sorted(entry)

    def _put(self, block: Block[S], at: int, entry: Entry[S]) -> Entry[S]:
        block.children.insert(at, entry)
        entry.block = block
        if not entry.hidden:
            self._added(block, entry.summary)
        self._split(block)
        return entry

    def remove(self, entry: Entry[S]) -> None:
        """Take an entry out."""
        block = entry.block
        assert block is not None
        block.children.remove(entry)
        entry.block = None
        if len(block.children) * 2 < WIDTH and block.parent is not None:
            self._refill(block)
        elif not entry.hidden:
            self._taken(block, entry.summary)

    def divide(self, entry: Entry[S], entries: list[Entry[S]]) -> None:
        """Put others, up to WIDTH, that add the same where one stood that is not hidden. It may be among them."""
        block = entry.block
        assert block is not None
        at = block.children.index(entry)
        block.children[at : at + 1] = entries
        entry.block = None
        for other in entries:
            other.block = block
        self._split(block)
        self._stirred()

    def update(self, entry: Entry[S], summary: S) -> None:
        """An entry adds something else from now on."""
        old, entry.summary = entry.summary, summary
        if not entry.hidden and entry.block is not None:
            self._changed(entry.block, old, summary)

    def hide(self, entry: Entry[S], hidden: bool) -> None:
        """Leave an entry out of the sum, or take it in again."""
        if entry.hidden != hidden:
            entry.hidden = hidden
            assert entry.block is not None
            if hidden:
                self._taken(entry.block, entry.summary)
            else:
                self._added(entry.block, entry.summary)

    # ---------------------------------------------------------------------------------------------- sums

    def _changed(self, block: Block[S], old: S, new: S) -> None:
        if old is new:
            self._stirred()
            return
        add, less, swap = self.monoid.add, self.monoid.less, self.monoid.swap
        if less is None:
            self._resum(block)
            return
        # In a group the order of a sum does not matter, nor where the difference is put in.
        walk: Block[S] | None = block
        while walk is not None:
            walk.total = add(less(walk.total, old), new) if swap is None else swap(walk.total, old, new)
            self.touched += 1
            walk = walk.parent
        self._upward()

    def _added(self, block: Block[S], summary: S) -> None:
        self._changed(block, self.monoid.zero, summary)

    def _taken(self, block: Block[S], summary: S) -> None:
        self._changed(block, summary, self.monoid.zero)

    def _resum(self, block: Block[S] | None) -> None:
        while block is not None:
            self._sum(block)
            block = block.parent
        self._upward()

    def _upward(self) -> None:
        """The sequence around learns the new total, or whose sequence it is."""
        if self.home is not None:
            self.home.moved()
        if self.place is None:
            return
        if self.place.block is not None:
            self.place.sequence.update(self.place, self.root.total)
        else:
            self.place.summary = self.root.total

    def _stirred(self) -> None:
        """Something in it is another, though no sum is: only whose sequence it is learns of it."""
        sequence: Sequence[S] | None = self
        while sequence is not None:
            if sequence.home is not None:
                sequence.home.moved()
            place = sequence.place
            sequence = None if place is None or place.block is None or place.hidden else place.sequence

    # ---------------------------------------------------------------------------------------------- balance

    def _split(self, block: Block[S]) -> None:
        """Divide a block that has too many children, and those around it: what is summed is the half that leaves."""
        less = self.monoid.less
        while len(block.children) > WIDTH:
            half = len(block.children) // 2
            other = self._block(block.leaf, block.children[half:])
            del block.children[half:]
            parent = block.parent
            if parent is None:
                parent = Block(False, [block], block.total)
                block.parent = parent
                block.owner, parent.owner, self.root = None, self, parent
            if less is None:
                self._sum(block)
            else:
                block.total = less(block.total, other.total)
                self.touched += 1
            parent.children.insert(parent.children.index(block) + 1, other)
            other.parent = parent
            block = parent

    def _refill(self, block: Block[S]) -> None:
        """A block with too few children takes some of a neighbour's, or all."""
        while block.parent is not None and len(block.children) * 2 < WIDTH:
            parent = block.parent
            at = parent.children.index(block)
            left, right = (parent.children[at - 1], block) if at else (block, parent.children[1])
            children = left.children + right.children
            half = len(children) // 2 if len(children) > WIDTH else len(children)
            left.children[:], right.children[:] = children[:half], children[half:]
            for part in (left, right):
                for child in part.children:
                    if part.leaf:
                        child.block = part
                    else:
                        child.parent = part
                self._sum(part)
            if not right.children:
                parent.children.remove(right)
            block = parent
        if block.parent is None and not block.leaf and len(block.children) == 1:
            self.root = block.children[0]
            self.root.parent, self.root.owner = None, self
            block = self.root
        self._resum(block)


def _key(entry: Any) -> Any:
    return entry.key


def _least(block: Any) -> Any:
    while not block.leaf:
        block = block.children[0]
    return block.children[0].key
