"""E over many fragments at once: they are written side by side into one document, which its program runs on.

    E(a ⊎ b) = E(a) ++ E(b)

The document has the elements around the fragments, and is parsed by the kernel. An item that is a node of it tells by
its row which fragment it comes from. Where items are something else (values, new elements), the program runs on each
fragment's rows by themselves. A fragment that fails is opened, and fails as a member does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.convert import atomize
from xstreamcast.model.names import name_local
from xstreamcast.model.tree import Node, Tree
from xstreamcast.plan.algebra import Concat, Reduce
from xstreamcast.run.continuous.adjust.sums import contribution
from xstreamcast.run.continuous.arrive.grove import parse_document
from xstreamcast.run.continuous.associate.fragments import NO_HOLES, Writer
from xstreamcast.run.continuous.evaluate.assemble import sliced
from xstreamcast.scan.normalise import escape_attribute

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.operators.state import State
    from xstreamcast.plan.algebra import Unit
    from xstreamcast.run.continuous.associate.mounting import Mounting
    from xstreamcast.run.continuous.associate.mounts import Above
    from xstreamcast.run.continuous.associate.runs import Run
    from xstreamcast.run.units import Evaluation, UnitCode

TOGETHER: Final = 1 << 20
"""Bytes of fragments that are evaluated at a time."""
_NOTHING: Final[tuple[Item, ...]] = ()
Span = tuple[int, int]
"""The rows of a fragment: the first, and the one behind the last."""

Fragment = tuple["Run", int, bytes, int]
"""A run, the number of a hole in it, the text of what is there, and how many elements that are."""


def adds_up(unit: Unit, shown: bool) -> bool:
    """Whether the value of a unit is made of what fragments give; ``shown``: its items are told, and read by nobody."""
    reduction = unit.reduction
    return isinstance(reduction, Reduce) or (shown and isinstance(reduction, Concat))


class Bulk:
    """The evaluation of one unit's fragments. ``shows``: outcomes are items; otherwise they are values, or counts.

    ``by_rows``: whether all items have been nodes of their fragments so far.
    """

    def __init__(self, unit: Unit, code: UnitCode, evaluation: Evaluation) -> None:
        self.unit = unit
        self.code = code
        self.evaluation = evaluation
        self.shows = isinstance(unit.reduction, Concat)
        self.counts = isinstance(unit.reduction, Reduce) and unit.reduction.aggregate.counts
        self.by_rows = True

    def total(self, outcomes: list[Any]) -> Any:
        """What some outcomes add."""
        if self.counts:
            return sum([found for found in outcomes if found])
        if self.shows:
            return sum([len(found) for found in outcomes if found])
        items = [item for found in outcomes if found for item in found]
        return contribution(self.unit.reduction, items, self._fresh)

    def _fresh(self) -> State:
        return self.evaluation.state(self.code)

    def run(self, live: Mounting, runs: list[Run]) -> int:
        """Evaluate what is to be evaluated in some runs, and add it up; how many fragments that were."""
        waiting: dict[Above | None, list[Fragment]] = {}
        patient, writer = live.runs.patient, Writer(live)
        for run in runs:
            del live.runs.due[run]
            for at, (filling, outcome) in enumerate(zip(run.fillings, run.outcomes, strict=True)):
                if filling is None or outcome is not None:
                    continue
                holes = run.holes[at]
                if patient and (holes.awaited or holes.timed):
                    live.runs.due[run] = None
                else:
                    text, tops = writer.write(live.table[live.doc, run.numbers[at]])
                    live.walked += writer.met - run.met[at]
                    run.met[at] = writer.met
                    if tops:
                        waiting.setdefault(run.above, []).append((run, at, text, tops))
                    else:
                        run.outcomes[at] = 0 if self.counts else _NOTHING
        failed: list[Fragment] = []
        count = 0
        for batch in _batches(waiting):
            failed += self._evaluated(batch)
            count += len(batch)
        for run in runs:
            self._add_up(run, failed)
            if self.shows and (any(run.outcomes) or any(run.shown)):
                live.runs.untold[run] = None
        bad: dict[Run, set[int]] = {}
        for run, at, *_ in failed:
            run.outcomes[at] = None
            bad.setdefault(run, set()).add(at)
        for run, places in bad.items():
            live.runs.due[run] = None  # its sum is not that of its outcomes
            live.runs.open(run, sorted(places))
        return count

    def _add_up(self, run: Run, failed: list[Fragment]) -> None:
        try:
            summary = self.total(run.outcomes)
        except XStreamError:
            summary = run.entry.sequence.monoid.zero
            odd = [at for at, found in enumerate(run.outcomes) if found and not self._adds(found)]
            failed += [(run, at, b"", 0) for at in odd or range(len(run.outcomes)) if run.fillings[at] is not None]
        run.entry.sequence.update(run.entry, summary)

    def _adds(self, outcome: Any) -> bool:
        try:
            self.total([outcome])
        except XStreamError:
            return False
        return True

    # ---------------------------------------------------------------------------------------------- one document

    def _evaluated(self, batch: list[Fragment]) -> list[Fragment]:
        """Evaluate some fragments, and give each its outcome; those that fail."""
        tree, spans = _document(batch)
        try:
            found = self._by_rows(tree, spans) if self.by_rows else None
            if found is None:
                self.by_rows = False
                found = self._one_by_one(batch, tree, spans)
        except XStreamError:
            if len(batch) == 1:
                return batch
            half = len(batch) // 2
            return self._evaluated(batch[:half]) + self._evaluated(batch[half:])
        if self.shows and self.by_rows:
            some = [fragment for fragment, items in zip(batch, found, strict=True) if items]
            if some and sum([len(one[2]) for one in some]) * 2 < sum([len(one[2]) for one in batch]):
                # Their nodes keep the document that they are in: one with them alone.
                for run, at, *_ in batch:
                    run.outcomes[at] = _NOTHING
                return self._evaluated(some)
        for (run, at, *_), outcome in zip(batch, found, strict=True):
            run.outcomes[at] = outcome
        if self.shows:
            self._note_single(batch, tree, spans)
        return []

    def _note_single(self, batch: list[Fragment], tree: Tree, spans: list[Span]) -> None:
        """Which fragments show what one member shows: they are one, or have one item and no holes."""
        names, route = tree.name, batch[0][0].runs.live.route
        for (run, at, _, tops), (row, _) in zip(batch, spans, strict=True):
            one = tops == 1 and route.whose(route.element(run.state, names[row])) == run.unit
            run.single[at] = one or (len(run.outcomes[at]) == 1 and run.holes[at] is NO_HOLES)

    def _by_rows(self, tree: Tree, spans: list[Span]) -> list[Any] | None:
        """The outcome of each fragment, if all items are nodes in them: E's items come in the fragments' order."""
        self.evaluation.bind(self.unit.root, tree.root)
        items = list(self.evaluation.run(self.code.program("items")))
        values: list[Any] = items if self.shows or self.counts else atomize(items)
        if len(values) != len(items):
            return None
        found: list[Any] = [0 if self.counts else _NOTHING] * len(spans)
        number, begin, end, upto = -1, 0, 0, spans[0][0]
        for item, value in zip(items, values, strict=True):
            if type(item) is not Node or item[0] is not tree:
                return None
            row = item[1]
            while row >= upto:
                number += 1
                begin, end = spans[number]
                upto = spans[number + 1][0] if number + 1 < len(spans) else len(tree)
            if not begin <= row < end:
                return None
            if self.counts:
                found[number] += 1
            elif found[number]:
                found[number].append(value)
            else:
                found[number] = [value]
        return found

    def _one_by_one(self, batch: list[Fragment], tree: Tree, spans: list[Span]) -> list[Any]:
        found: list[Any] = []
        program = self.code.program("items")
        for fragment, (begin, end) in zip(batch, spans, strict=True):
            # Of its own where namespaces are declared: what rows of a tree declare is not copied with them.
            alone = sliced(fragment[0].above, tree, begin, end)[0] if not tree.namespaces else _document([fragment])[0]
            self.evaluation.bind(self.unit.root, alone.root)
            items = list(self.evaluation.run(program))
            found.append(items if self.shows else len(items) if self.counts else atomize(items))
        return found


def _batches(waiting: dict[Above | None, list[Fragment]]) -> Iterator[list[Fragment]]:
    """Fragments that lie in the same element one after the other, so many as go together."""
    batch: list[Fragment] = []
    size = 0
    for fragments in waiting.values():
        for fragment in fragments:
            batch.append(fragment)
            size += len(fragment[2])
            if size >= TOGETHER:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _document(batch: list[Fragment]) -> tuple[Tree, list[Span]]:
    """A document with the elements around some fragments, and these; and the rows of each fragment in it."""
    text: list[bytes] = []
    path: list[Above] = []
    rows: list[int] = []  # before each fragment, those of elements that are opened there
    for run, _, fragment, _ in batch:
        above, opened, begun = run.above, 0, len(text)
        if not path or above is not path[-1]:
            chain: list[Above] = []
            while above is not None:
                chain.append(above)
                above = above.parent
            chain.reverse()
            same = 0
            while same < min(len(path), len(chain)) and path[same] is chain[same]:
                same += 1
            text += [_end(one) for one in reversed(path[same:])]
            for one in chain[same:]:
                text.append(_start(one))
                opened += 1 + len(one.attributes)
            path = chain
        if not path and begun:  # side by side at the top
            raise AssertionError("only one element is at the top of a document")
        rows.append(opened)
        text.append(fragment)
    text += [_end(one) for one in reversed(path)]
    tree = parse_document(b"".join(text))
    spans: list[Span] = []
    row, sizes = 1, tree.size
    for opened, (_, _, _, tops) in zip(rows, batch, strict=True):
        row += opened
        begin = row
        for _ in range(tops):
            row += sizes[row] + 1
        spans.append((begin, row))
    assert row == len(tree), "a fragment has elements side by side, and nothing else"
    return tree, spans


def _start(above: Above) -> bytes:
    attributes = [f' {name_local[name]}="{escape_attribute(value)}"' for name, _, value in above.attributes]
    attributes += [f' xmlns:{prefix}="{escape_attribute(uri)}"' for prefix, uri in above.namespaces]
    return f"<{name_local[above.name]}{''.join(attributes)}>".encode()


def _end(above: Above) -> bytes:
    return f"</{name_local[above.name]}>".encode()
