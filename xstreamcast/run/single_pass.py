"""Running a plan: scan by scan, batch by batch, and every item of the answer as soon as it is known.

For each pass the scan hands over batch documents; each unit's program runs on each, its items go into its reduction's
state or, where everything before them in the answer is out, straight into the answer. What is left of the query runs
when the values it needs are there. A plan that keeps projected documents (strategy PROJECT) is one scan of each, and
then the query itself.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XMLError, XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.atomic import Item
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.serialise import QUICK, STEADY, Markup
from xstreamcast.model.tree import Node
from xstreamcast.operators.aggregates import Counted
from xstreamcast.plan.algebra import Concat, Pass, Plan, Slice, Source, Strategy, Unit, VarName
from xstreamcast.run.asking import Whole, asked, counted_units, cuts_of
from xstreamcast.run.evaluate import Executable
from xstreamcast.run.growing import growing_units, opened
from xstreamcast.run.inputs import Scannable, Scanning, rewound, spooled, start_of, twice
from xstreamcast.run.reductions import Kept, Sliced
from xstreamcast.run.units import Cut, Evaluation, Parts, UnitCode, UnitRun, codes_of

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from xstreamcast.model.datetime import DateTime
    from xstreamcast.scan.automaton import Target
    from xstreamcast.scan.documents import BatchDocument
    from xstreamcast.tables.batches import Rows
    from xstreamcast.tables.cells import Nested


_SPOOL: Final = "save the input to a file, or have a copy of it kept while the query runs: --spool, spool=True"
_AT_ONCE: Final = 4096
"""Items handed on at once."""
_NEVER: Final = 1 << 62
"""A step that no document is as long as."""


class PlanCode:
    """A plan's programs; they are kept with the query and run any number of times."""

    def __init__(self, plan: Plan, by_columns: PlanCode | None = None) -> None:
        self.plan = plan
        self.by_columns = by_columns
        """The same by columns, of a plan that projects its document: if that is what the document has."""
        units = [unit for step in plan.passes for unit in step.units]
        parts = Parts(plan)
        self.units: dict[VarName, UnitCode] = {}
        for step in plan.passes:
            self.units.update(codes_of(parts, step.units))
        self.output: list[tuple[Unit | Executable, frozenset[VarName]]] = []
        for part in plan.output:
            if isinstance(part, Unit):
                self.output.append((part, frozenset({part.variable})))
            else:
                self.output.append((parts.compile(part), self._needs(part)))
        reread = {name for _, needs in self.output if isinstance(_, Executable) for name in needs}
        reread.update(name for unit in units for name in unit.needs)
        in_order = [part.variable for part in plan.output if isinstance(part, Unit)]
        self.streamable = {
            name
            for name in in_order
            if isinstance(self.units[name].unit.reduction, Concat | Slice)
            and name not in reread
            and in_order.count(name) == 1
        }
        """The units whose items go out at once and are not kept: nobody else asks for them."""
        self.unread = {name for name in in_order if name not in reread and in_order.count(name) == 1}
        """The units whose values are asked for once, where they are in the answer."""
        self.growing = growing_units(plan)

    def _needs(self, part: ast.Expr) -> frozenset[VarName]:
        """The units whose values an expression reads, through functions and variables of the prolog too."""
        known = {
            declaration.name.expanded: declaration
            for declaration in self.plan.module.prolog
            if isinstance(declaration, ast.FunctionDecl | ast.VariableDecl)
        }
        reached: set[VarName] = set()
        waiting: list[ast.Node] = [part]
        while waiting:
            for node in descendants(waiting.pop()):
                if isinstance(node, ast.VarRef | ast.FunctionCall | ast.NamedFunctionRef):
                    name = node.name.expanded
                    if name not in reached:
                        reached.add(name)
                        if name in known:
                            waiting.append(known[name])
        return frozenset(reached & self.units.keys())


@dataclass(slots=True)
class PlanRun:
    """One run of a plan: the values of its units so far, and how much of the answer is out."""

    code: PlanCode
    evaluation: Evaluation
    units: dict[VarName, UnitRun] = field(default_factory=dict)
    done: set[VarName] = field(default_factory=set)
    output: list[tuple[Unit | Executable | Markup, frozenset[VarName]]] = field(default_factory=list)
    out: int = 0
    """How many parts of the output are out."""
    growing: dict[int, tuple[Unit, ...]] = field(default_factory=dict)
    """The parts that may come in pieces."""
    grown: set[VarName] = field(default_factory=set)
    """The units whose items stand between such pieces."""
    written: bool = False
    """Whoever takes the items may be given markup."""
    nested: Nested | None = None
    """The items are to be rows of a table, with nested elements as this says."""

    def __post_init__(self) -> None:
        self.output += self.code.output

    def begin(self, step: Pass) -> None:
        """The units of a pass, with nothing taken yet."""
        for unit in step.units:
            self.units[unit.variable] = UnitRun(self.evaluation, self.code.units[unit.variable])

    def streaming(self, step: Pass) -> UnitRun | None:
        """The unit of a pass whose items are next in the answer."""
        if self.out < len(self.output):
            part, _ = self.output[self.out]
            if isinstance(part, Unit) and part in step.units and part.variable in self.code.streamable | self.grown:
                return self.units[part.variable]
        return None

    def take(self, step: Pass, batch: BatchDocument | Whole) -> Iterator[Iterable[Item] | Rows]:
        """A batch for the units of a pass; items that are known to be next in the answer come out."""
        root, cuts = batch.tree.root, cuts_of(batch)
        ahead = self.streaming(step)
        counted = () if isinstance(batch, Whole) else counted_units(step)
        for unit in step.units:
            work = self.units[unit.variable]
            if work is not ahead and unit not in counted:
                work.take(root, cuts)
        while ahead is not None:
            if self.nested is not None and not isinstance(ahead.state, Sliced) and ahead.code.nest is None:
                yield ahead.rows(root, self.nested)
            else:
                yield from _streamed(ahead, root, cuts)
            if not ahead.settled:
                return
            self.done.add(ahead.unit.variable)
            self.out += 1
            yield self.ready()
            ahead = self.streaming(step)
            if ahead is not None:  # it has taken this batch, and what it took is next
                yield ahead.value()
                assert isinstance(ahead.state, Kept | Sliced)
                ahead.state.items = []
                return

    def count(self, step: Pass, batch: BatchDocument | Whole, first: int = 0) -> int:
        """Take what the scan has counted so far, from the ``first`` of its counts on; the number of the next."""
        if isinstance(batch, Whole):
            return 0
        units = counted_units(step)
        for unit, count in zip(units, batch.counts[first:], strict=False):
            state = self.units[unit.variable].state
            assert isinstance(state, Counted)
            state.count = count
        return first + len(units)

    def settled(self, step: Pass) -> bool:
        """Whether nothing to come can change the values of a pass's units."""
        return all(self.units[unit.variable].settled for unit in step.units)

    def end(self, step: Pass) -> None:
        """The document has ended: the units' values are known."""
        ahead = self.streaming(step)
        if ahead is not None:
            self.out += 1
        for unit in step.units:
            self.done.add(unit.variable)
            if unit.variable not in self.code.unread:
                self.evaluation.bind_unit(self.units[unit.variable])

    def ready(self) -> Iterator[Item]:
        """The next parts of the answer, as far as all they need is known."""
        output = self.output
        while self.out < len(output):
            part, needs = output[self.out]
            if not needs <= self.done and not self._opened():
                return
            part, _ = output[self.out]
            if isinstance(part, Markup):
                yield part  # whoever asks for growing elements knows what to do with it
            elif isinstance(part, Unit):
                unit = self.units[part.variable]
                marks = self.written and unit.is_kept
                if marks:
                    yield QUICK
                yield from unit.answer(self.written)
                if marks:
                    yield STEADY
            else:
                yield from self.evaluation.run(part)
            self.out += 1

    def _opened(self) -> bool:
        """Put the pieces of the next part in its place, if it can come in pieces."""
        units = self.growing.get(self.out, ())
        part, needs = self.output[self.out]
        inside = {unit.variable for unit in units}
        if not units or not isinstance(part, Executable) or not needs - inside <= self.done:
            return False
        del self.growing[self.out]
        pieces = opened(part, units, self.evaluation)
        if pieces is None:
            return False
        self.output[self.out : self.out + 1] = [
            (piece, frozenset({piece.variable} if isinstance(piece, Unit) else ())) for piece in pieces
        ]
        self.growing = {number + len(pieces) - 1: later for number, later in self.growing.items()}
        self.grown |= inside
        return True


def _streamed(work: UnitRun, root: Node, cuts: Sequence[Cut]) -> Iterator[Iterable[Item]]:
    """The items of a unit that go straight into the answer."""
    state = work.state
    if not isinstance(state, Sliced):
        yield from _parts(work.items(root, cuts))
        return
    if state.settled:
        return
    for item in work.items(root, cuts):
        yield state.chosen([item])
        if state.settled:
            return


def _parts(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Items in lists, the first ones at once: what hands on a list does nothing for each item."""
    size = 1
    while True:
        made: list[Item] = []
        try:
            made.extend(islice(items, size))
        except XStreamError:
            yield made  # those before the error are known
            raise
        yield made
        if len(made) < size:
            return
        size = min(8 * size, _AT_ONCE)


# -------------------------------------------------------------------------------------------------------- running


def refuse_second_reading(plan: Plan, inputs: Mapping[Source, Scannable]) -> None:
    """XSC0080 where a document that can be read once would have to be scanned again."""
    for source, scanned in inputs.items():
        steps = [step for step in plan.passes if step.source == source]
        if len(steps) < 2 or twice(scanned):
            continue
        second = steps[1].units[0]
        needed = next(
            (unit for step in plan.passes for unit in step.units if unit.variable in second.needs), steps[0].units[0]
        )
        text = plan.module.source
        what = " ".join(text.text[slice(*needed.span)].split())
        message = f"this needs {len(steps)} passes over an input that can be read once: {what} must be known before"
        raise text.fault("XSC0080", message, second.span, _SPOOL)


def run(
    code: PlanCode,
    inputs: Mapping[Source, Scannable],
    uris: Mapping[Source, str | None],
    now: DateTime,
    given: dict[VarName, list[Item]] | None = None,
    doors: dict[str, Any] | None = None,
    *,
    scanning: Scanning | None = None,
) -> Iterator[Item]:
    """The items of the answer, each as soon as it is known. ``inputs``: what the plan's sources are."""
    scanning = scanning or Scanning()
    if not scanning.spool:
        refuse_second_reading(code.plan, inputs)
    work = PlanRun(
        code,
        Evaluation(now, given or {}, doors or {}, scanning.memory),
        written=scanning.grow,
        growing=dict(code.growing) if scanning.grow else {},
    )
    return chain.from_iterable(cast("Iterator[Iterable[Item]]", _run(code, inputs, uris, work, scanning)))


def run_rows(
    code: PlanCode,
    inputs: Mapping[Source, Scannable],
    uris: Mapping[Source, str | None],
    now: DateTime,
    given: dict[VarName, list[Item]],
    doors: dict[str, Any],
    nested: Nested,
    *,
    scanning: Scanning,
) -> Iterator[Rows]:
    """As :func:`run`, but the items are rows of a table."""
    from xstreamcast.tables.batches import item_rows

    if not scanning.spool:
        refuse_second_reading(code.plan, inputs)
    work = PlanRun(code, Evaluation(now, given, doors, scanning.memory), nested=nested)
    for part in _run(code, inputs, uris, work, scanning):
        if isinstance(part, Iterable):
            yield from item_rows(part, nested)
        elif len(part):
            yield part


def run_many(
    codes: Sequence[PlanCode],
    inputs: Mapping[Source, Scannable],
    uris: Mapping[Source, str | None],
    now: DateTime,
    given: dict[VarName, list[Item]] | None = None,
    doors: dict[str, Any] | None = None,
    *,
    scanning: Scanning | None = None,
) -> list[list[Item]]:
    """The answers of several plans, whose passes over one document share a scan."""
    scanning = scanning or Scanning()
    plans = [code.plan for code in codes]
    for source, scanned in inputs.items():
        if not scanning.spool and not twice(scanned) and scans(plans, source) > 1:
            message = f"these queries need {scans(plans, source)} scans of an input that can be read once"
            raise error("XSC0080", message, hint=_SPOOL)
    works = [PlanRun(code, Evaluation(now, given or {}, doors or {})) for code in codes]
    answers: list[list[Item]] = [[] for _ in works]
    with ExitStack() as stack:
        documents = _Documents(plans, inputs, uris, scanning, stack)
        documents.project([work for work in works if work.code.plan.strategy is Strategy.PROJECT])
        streams = [(work, answer) for work, answer in zip(works, answers, strict=True)
                   if work.code.plan.strategy is not Strategy.PROJECT]  # fmt: skip
        for turn in range(max((len(work.code.plan.passes) for work, _ in streams), default=0)):
            waiting = [(work, answer) for work, answer in streams if turn < len(work.code.plan.passes)]
            for source in dict.fromkeys(work.code.plan.passes[turn].source for work, _ in waiting):
                taking = [
                    (work, work.code.plan.passes[turn], answer)
                    for work, answer in waiting
                    if work.code.plan.passes[turn].source == source
                ]
                _scan_for(taking, documents)
        for work, answer in zip(works, answers, strict=True):
            answer.extend(work.ready())
    return answers


def _scan_for(taking: list[tuple[PlanRun, Pass, list[Item]]], documents: _Documents) -> None:
    """One scan for a pass of each of several plans."""
    steps = [step for _, step, _ in taking]
    for work, step, answer in taking:
        work.begin(step)
        answer.extend(work.ready())
    with closing(documents.scan(steps)) as made:
        for batch in made:
            first = 0
            for work, step, answer in taking:
                answer.extend(chain.from_iterable(cast("Iterator[Iterable[Item]]", work.take(step, batch))))
                first = work.count(step, batch, first)
            if all(work.settled(step) for work, step, _ in taking):
                break
    for work, step, answer in taking:
        work.end(step)
        answer.extend(work.ready())


def _run(code: PlanCode, inputs: Mapping[Source, Scannable], uris: Mapping[Source, str | None], work: PlanRun,
         scanning: Scanning) -> Iterator[Iterable[Item] | Rows]:  # fmt: skip
    plan = code.plan
    with ExitStack() as stack:
        documents = _Documents([plan], inputs, uris, scanning, stack)
        if plan.strategy is Strategy.PROJECT:
            if code.by_columns is not None and all(map(twice, inputs.values())):
                collected = _by_columns(code.by_columns, inputs, uris, work, scanning)
                if collected is not None:
                    yield collected.ready()
                    return
            documents.project([work])
        else:
            for step in plan.passes:
                work.begin(step)
                yield work.ready()
                with closing(documents.scan([step])) as made:
                    while not work.settled(step):
                        scanning.pause()
                        batch = next(made, None)
                        if batch is None:
                            break
                        yield from work.take(step, batch)
                        work.count(step, batch)
                work.end(step)
                yield work.ready()
        yield work.ready()


def _by_columns(
    code: PlanCode,
    inputs: Mapping[Source, Scannable],
    uris: Mapping[Source, str | None],
    work: PlanRun,
    scanning: Scanning,
) -> PlanRun | None:
    """The same by columns, all but its answer; None where the documents have something that columns do not hold."""
    from xstreamcast.run.collected import NotColumns

    evaluation = work.evaluation
    given = dict(evaluation.given)
    evaluation = Evaluation(evaluation.now, given, evaluation.doors, evaluation.memory)
    made = PlanRun(code, evaluation, written=scanning.grow, nested=work.nested)
    (step,) = code.plan.passes
    with ExitStack() as stack:
        documents = _Documents([code.plan], inputs, uris, scanning, stack)
        made.begin(step)
        try:
            with closing(documents.scan([step])) as batches:
                for batch in batches:
                    scanning.pause()
                    for _ in made.take(step, batch):
                        pass
                    made.count(step, batch)
            made.end(step)
        except NotColumns:
            return None
    return made


class _Documents:
    """The documents of some plans, to be scanned as often as they need."""

    def __init__(
        self,
        plans: Sequence[Plan],
        inputs: Mapping[Source, Scannable],
        uris: Mapping[Source, str | None],
        scanning: Scanning,
        stack: ExitStack,
    ) -> None:
        self.inputs, self.uris, self.scanning = dict(inputs), uris, scanning
        for source, scanned in inputs.items():
            if not twice(scanned) and scans(plans, source) > 1:
                self.inputs[source] = stack.enter_context(spooled(scanned))  # type: ignore[arg-type]  # a pipe
        self.starts = {source: start_of(scanned) for source, scanned in self.inputs.items()}

    def _input(self, source: Source) -> Scannable:
        return rewound(self.inputs[source], self.starts[source])

    def scan(self, steps: Sequence[Pass]) -> Generator[BatchDocument | Whole]:
        """One scan for the units of some passes over the same document."""
        source = steps[0].source
        scanned = self._input(source)
        if isinstance(scanned, Node):
            yield Whole(scanned)
            return
        yield from self._batches(source, scanned, self.scanning, **asked(steps))

    def project(self, works: Sequence[PlanRun]) -> None:
        """Give plans what they look at of their documents, as trees."""
        for source in dict.fromkeys(source for work in works for source in work.code.plan.sources):
            asking = [work for work in works if source in work.code.plan.sources]
            steps = [step for work in asking for step in work.code.plan.passes if step.source == source]
            root = self._projected(source, tuple(dict.fromkeys(target for step in steps for target in step.targets)))
            for work in asking:
                work.evaluation.bind(source.variable, root)

    def _projected(self, source: Source, targets: tuple[Target, ...]) -> Node:
        scanned = self._input(source)
        if isinstance(scanned, Node):
            return scanned
        from xstreamcast.scan.path import parse_path

        self.scanning.pause()
        # The root element is the record: at most what follows it comes apart.
        never = replace(self.scanning, step=_NEVER)
        made = self._batches(source, scanned, never, targets=targets, records=(parse_path("/*"),))
        trees = [batch.tree for batch in made]
        if len(trees) == 1:
            return trees[0].root
        builder = TreeBuilder(self.uris.get(source), self.uris.get(source))
        builder.start_document()
        for tree in trees:
            for child in tree.root.children():
                builder.copy(child)
        return builder.finish().root

    def _batches(
        self, source: Source, scanned: FilePath | BinaryIO, scanning: Scanning, **wanted: Any
    ) -> Iterator[BatchDocument]:
        from xstreamcast.scan.documents import document_batches
        from xstreamcast.scan.scanner import STEP

        uri = self.uris.get(source)
        try:
            yield from document_batches(
                scanned,
                **wanted,
                step=scanning.step or STEP,
                progress=scanning.progress,
                threads=scanning.threads,
                many=source.forest,
                external=scanning.external,
                base_uri=uri,
                document_uri=uri,
            )
        except XMLError as failure:
            if source.uri is None:
                raise
            raise error("FODC0002", f"{source.uri}: {failure.message}", failure.place) from None  # as fn:doc has it


def scans(plans: Sequence[Plan], source: Source) -> int:
    """How often a document is scanned: once to project it, and as often as the plan with the most passes needs."""
    streams = [plan for plan in plans if plan.strategy is not Strategy.PROJECT]
    projects = any(source in plan.sources for plan in plans if plan.strategy is Strategy.PROJECT)
    return projects + max((sum(step.source == source for step in plan.passes) for plan in streams), default=0)
