"""The units of a plan, compiled: their expressions run unchanged on every batch document.

A batch document is a document with the open ancestors and what was projected since the last cut. A unit's ``E``
distributes over cuts, so its items are those of the batches, one after the other. A :class:`~xstreamcast.plan.algebra.
Nest` instance that is cut has states of its own, found again in the next batch by where its element begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.model.tree import Node
from xstreamcast.operators.aggregates import Distinct, decoded
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import PLAN, Concat, Fold, Group, Nest, Plan, Reduce, Slice, Unit, VarName
from xstreamcast.run.evaluate import EvaluationContext, Executable
from xstreamcast.run.reductions import Collected, Folded, Sliced, state_of
from xstreamcast.run.sharing import Shared, share

if TYPE_CHECKING:
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.run.collected import CollectedCode
    from xstreamcast.run.continuous.time.horizon import Horizon
    from xstreamcast.tables.batches import Rows
    from xstreamcast.tables.cells import Nested
    from xstreamcast.tables.fields import Fields

_INSTANCES: Final = "instances"
_DOCUMENT: Final = ast.SequenceType(ast.DocumentTest())
_ITEM: Final = ast.SequenceType(ast.AnyItem())
_ELEMENT: Final = ast.SequenceType(ast.ElementTest())
_NODE: Final = ast.SequenceType(ast.KindTest("node"))
_FUNCTION: Final = ast.SequenceType(ast.FunctionTest())


def atomic_type(name: str, occurrence: str) -> ast.SequenceType:
    """Values of a type of xs."""
    return ast.SequenceType(ast.AtomicType(ast.Name("xs", name, XS)), occurrence)


def plan_name(variable: VarName) -> ast.Name:
    """The name of a variable of the plan."""
    return ast.Name(None, variable[1], variable[0])


def _call(function: str, *args: ast.Expr) -> ast.FunctionCall:
    return ast.FunctionCall(ast.Name("fn", function, FN), args, span=args[0].span)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a batch ends inside of an element: the row of the element in the batch, and where it began in the input.

    ``before``: whether it began in an earlier batch; ``after``: whether it goes on in the next.
    """

    row: int
    identity: int
    before: bool
    after: bool


# ------------------------------------------------------------------------------------------------------- compiled


class Parts:
    """Compiles expressions of one plan: each becomes the body of the query's module, the plan's variables external."""

    def __init__(self, plan: Plan) -> None:
        module, units = plan.module, [unit for step in plan.passes for unit in step.units]
        documents = [source.variable for source in plan.sources]
        self.declared = [declaration(variable, _DOCUMENT) for variable in documents]
        self.bound: set[VarName] = set()
        # An error of a variable of the prolog is not caught by the expression that reads it; that of a unit may be.
        readers = (module, *module.imported, *[part for part in plan.output if not isinstance(part, Unit)])
        tries = any(isinstance(part, ast.TryCatch) for reader in readers for part in descendants(reader))
        for unit in units:
            self._declare(unit, tries)
        assert module.static is not None
        static = replace(module.static, variables=module.static.variables | self.bound)
        self.module = replace(module, static=static)

    def _declare(self, unit: Unit, tries: bool) -> None:
        if tries:
            self.bound.add(unit.variable)
        else:
            self.declared.append(declaration(unit.variable, value_type(unit)))
        if unit.nest is not None:
            self.declared.append(declaration(unit.nest.variable, _NODE))
            for inner in unit.nest.units:
                self._declare(inner, tries)

    def compile(self, body: ast.Expr, *more: ast.VariableDecl, bound: Iterable[VarName] = ()) -> Executable:
        """The program of an expression. ``bound``: variables whose errors may be caught where they are read."""
        prolog = (*self.module.prolog, *self.declared, *more)
        static = self.module.static
        assert static is not None
        static = replace(static, variables=static.variables.union(bound)) if bound else static
        return Executable(replace(self.module, prolog=prolog, body=body, static=static))


def declaration(variable: VarName, declared: ast.SequenceType | None) -> ast.VariableDecl:
    return ast.VariableDecl(plan_name(variable), declared, None, external=True)


def value_type(unit: Unit) -> ast.SequenceType | None:
    """The type of the one item a unit's value always is; None where it is a sequence."""
    if isinstance(unit.reduction, Reduce):
        return atomic_type(*unit.reduction.aggregate.result) if unit.reduction.aggregate.counts else None
    return _FUNCTION if isinstance(unit.reduction, Group) else None


def _held(value: list[Item], declared: ast.SequenceType | None) -> Any:
    """A value as a variable of its declared type is held."""
    if declared is None or declared.occurrence not in ("", "?"):
        return value
    return value[0] if value else None


class Start:
    """The program of nodes that several units begin with."""

    def __init__(self, parts: Parts, shared: Shared) -> None:
        self.shared = shared
        self.program = parts.compile(shared.nodes)


class UnitCode:
    """A unit's programs, made when first asked for and kept with the query."""

    def __init__(self, parts: Parts, unit: Unit, start: Start | None = None) -> None:
        self.parts = parts
        self.unit = unit
        self.start = start
        self.nest = None if unit.nest is None else NestCode(parts, unit, unit.nest)
        self._programs: dict[str, Executable] = {}
        self._fields: list[Fields | None] = []  # found when first asked for
        self.collected: CollectedCode | None = None
        """How it is sorted or grouped by columns."""

    @property
    def fields(self) -> Fields | None:
        """The columns of its items, if they are maps whose values are paths from its records."""
        if not self._fields:
            from xstreamcast.tables.fields import fields_of

            self._fields.append(fields_of(self.unit.items) if self.nest is None else None)
        return self._fields[0]

    def program(self, form: str) -> Executable:
        """The program of one form of E: see :attr:`xstreamcast.run.reductions.State.part`."""
        made = self._programs.get(form)
        if made is None:
            reduction = self.unit.reduction
            more = [] if self.start is None else [declaration(self.start.shared.variable, self.start.shared.type)]
            if isinstance(reduction, Fold):
                more.append(declaration(self.accumulator, reduction.type))
            made = self._programs[form] = self.parts.compile(self._form(form), *more)
        return made

    @property
    def accumulator(self) -> VarName:
        """Stands for the value of a fold before the batch."""
        return PLAN, f"accumulator of {self.unit.variable[1]}"

    def _form(self, form: str) -> ast.Expr:
        unit, reduction = self.unit, self.unit.reduction
        if form == "argument":
            inner = reduction.inner if isinstance(reduction, Group) else reduction
            given = inner.zero if isinstance(inner, Fold) else inner.argument if isinstance(inner, Reduce) else None
            return given or ast.Sequence(())
        if form == "step":
            inner = reduction.inner if isinstance(reduction, Group) else reduction
            assert isinstance(inner, Fold)
            return _step(inner, _item_type(unit.items))
        if form == "fold":
            assert isinstance(reduction, Fold)
            before = ast.VarRef(plan_name(self.accumulator), span=unit.items.span)
            return _call("fold-left", unit.items, before, _step(reduction))
        if form == "values":
            return _call("data", unit.items)
        if form in ("count", "exists"):
            return _call(form, unit.items)
        if form == "records":
            assert self.fields is not None
            return self.fields.records
        if isinstance(reduction, Group) and not reduction.rows:
            item = plan_name(reduction.item)
            keys = tuple(_call("data", key) for key in reduction.keys)
            array = ast.SquareArray((ast.VarRef(item), *keys), span=unit.items.span)
            return ast.FLWOR((ast.ForClause(item, None, False, None, unit.items),), array, span=unit.items.span)
        return unit.items


def _item_type(items: ast.Expr) -> ast.SequenceType:
    """What each of some items is sure to be."""
    last = items.steps[-1] if isinstance(items, ast.Path) else None
    return (
        _ELEMENT
        if isinstance(last, ast.AxisStep)
        and isinstance(last.test, ast.NameTest)
        and last.axis in ("child", "descendant")
        else _ITEM
    )


def _step(fold: Fold, item: ast.SequenceType | None = None) -> ast.InlineFunction:
    params = (ast.Param(plan_name(fold.accumulator), fold.type), ast.Param(plan_name(fold.item), item))
    return ast.InlineFunction(params, fold.type, fold.step, span=fold.step.span)


def codes_of(parts: Parts, units: Sequence[Unit]) -> dict[VarName, UnitCode]:
    """The code of the units of one pass."""
    shared = share(units)
    starts: dict[VarName, Start] = {}
    made: dict[VarName, UnitCode] = {}
    for unit in units:
        if unit.variable not in shared:
            made[unit.variable] = UnitCode(parts, unit)
            continue
        begun, nodes = shared[unit.variable]
        if nodes.variable not in starts:
            starts[nodes.variable] = Start(parts, nodes)
        made[unit.variable] = UnitCode(parts, begun, starts[nodes.variable])
    return made


class NestCode:
    """A nest's programs: its instances in a batch, E for those that are whole, and the body for one that was cut."""

    def __init__(self, parts: Parts, unit: Unit, nest: Nest) -> None:
        self.nest = nest
        self.units = tuple(UnitCode(parts, inner) for inner in nest.units)
        self.key: VarName = (PLAN, f"{_INSTANCES} of {unit.variable[1]}")
        self.body = parts.compile(nest.body)
        self._parts, self._unit = parts, unit

    # A nest that is there for what changes inside is never cut: these are made when they are asked for.

    @cached_property
    def instances(self) -> Executable:
        """The nodes of the loop."""
        return self._parts.compile(self._loop[1].source)

    @cached_property
    def whole(self) -> Executable:
        """The loop over instances that are given."""
        loop, over = self._loop
        given = replace(over, source=ast.VarRef(plan_name(self.key), span=over.source.span))
        declared = declaration(self.key, ast.SequenceType(ast.KindTest("node"), "*"))
        return self._parts.compile(replace(loop, clauses=(given, *loop.clauses[1:])), declared)

    @cached_property
    def each(self) -> Executable:
        """What is made of instances that are given, where they may be inside each other."""
        assert self.nest.each is not None
        given = ast.ForClause(plan_name(self.nest.variable), None, False, None, ast.VarRef(plan_name(self.key)))
        declared = declaration(self.key, ast.SequenceType(ast.KindTest("node"), "*"))
        return self._parts.compile(ast.FLWOR((given,), self.nest.each.whole, span=self._unit.span), declared)

    @cached_property
    def inside(self) -> Executable:
        """What is made of those that are chosen inside of an instance."""
        assert self.nest.each is not None
        assert self.nest.each.choice is not None
        return self._parts.compile(self.nest.each.choice.inside)

    @cached_property
    def parent(self) -> Executable:
        """Whether the children of an instance may be chosen."""
        assert self.nest.each is not None
        assert self.nest.each.choice is not None
        assert self.nest.each.choice.parent is not None
        return self._parts.compile(_call("boolean", self.nest.each.choice.parent))

    @cached_property
    def guard(self) -> Executable:
        """Whether an instance gives anything at all."""
        assert self.nest.each is not None
        assert self.nest.each.guard is not None
        return self._parts.compile(_call("boolean", self.nest.each.guard))

    @property
    def _loop(self) -> tuple[ast.FLWOR, ast.ForClause]:
        items = self._unit.items
        assert isinstance(items, ast.FLWOR), "a nest is a loop"
        over = items.clauses[0]
        assert isinstance(over, ast.ForClause)
        assert over.var.expanded == self.nest.variable
        return items, over


# -------------------------------------------------------------------------------------------------------- running


class _Given(dict[VarName, list[Item]]):
    """The values of external variables; units whose computation has failed are among them.

    ``if (c) then sum(E) else 0``: a pass computes the sum before the condition is known, and where it is not asked
    for its error must not be met (XQuery 3.1 §2.3.4).
    """

    def __init__(self, given: dict[VarName, list[Item]]) -> None:
        super().__init__(given)
        self.failures: dict[VarName, tuple[XStreamError, dict[VarName, Any]]] = {}

    def __bool__(self) -> bool:
        return True  # nobody is to take another one for it

    def get(self, key: VarName, default: Any = None) -> Any:
        self._check(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.failures or super().__contains__(key)

    def __getitem__(self, key: VarName) -> list[Item]:
        self._check(key)
        return super().__getitem__(key)

    def _check(self, key: VarName) -> None:
        if key in self.failures:
            failure, known = self.failures[key]
            known.pop(key, None)  # it is not being computed: asked for again, it fails again
            raise failure


class Evaluation:
    """What all programs of one run share: the values of variables, the clock, the doors."""

    def __init__(
        self, now: DateTime, given: dict[VarName, list[Item]], doors: dict[str, Any], memory: int | None = None
    ) -> None:
        self.now = now
        self.memory = memory
        """Bytes that what is sorted or grouped may have; more of it goes to disk."""
        self.horizon: Horizon | None = None
        """Hears how what is evaluated depends on the clock, where a query goes on."""
        self.given = _Given(given)
        self.doors = doors
        self.globals: dict[VarName, Any] = {}
        self._contexts: dict[int, EvaluationContext] = {}
        self._started: dict[VarName, Any] = {}

    def bind(self, variable: VarName, value: Any) -> None:
        """The value of a variable of the plan, held as its declared type says."""
        self.globals[variable] = [value]

    def begin(self, code: UnitCode, root: Node) -> None:
        """What a unit's programs read of a batch: its document, or what it shares with other units of it."""
        self.bind(code.unit.root, root)
        if code.start is not None and self._started.get(code.start.shared.variable) is not root[0]:
            variable = code.start.shared.variable
            self.bind(variable, list(self.run(code.start.program)))
            self._started[variable] = root[0]

    def bind_unit(self, work: UnitRun) -> None:
        """The value of a unit, or its error, for who reads it."""
        if work.failure is None:
            self.give(work.unit.variable, work.state.value(), value_type(work.unit) is not None)
        else:
            self.fail(work.unit.variable, work.failure)

    def give(self, variable: VarName, value: list[Item], single: bool = False) -> None:
        """A value that has been computed, for who reads it. ``single``: the declared type has one item."""
        if self.given.failures:
            self.given.failures.pop(variable, None)
        self.given[variable] = value
        self.bind(variable, value[0] if single else value)

    def fail(self, variable: VarName, failure: XStreamError) -> None:
        """The error that stands for a value: whoever reads it meets it."""
        self.globals.pop(variable, None)
        self.given.failures[variable] = failure, self.globals

    def context(self, program: Executable) -> EvaluationContext:
        made = self._contexts.get(id(program))
        if made is None:
            made = EvaluationContext(program.program, self.now, None, self.given, **self.doors)
            made.horizon = self.horizon
            made.globals = self.globals  # one value for all programs: the prolog's variables are computed once
            self._contexts[id(program)] = made
        return made

    def forget_prolog(self) -> None:
        """The variables of the prolog are computed anew: what they have read is another."""
        for variable in [variable for variable in self.globals if variable[0] != PLAN]:
            del self.globals[variable]

    def tick(self, now: DateTime) -> None:
        """The current time is another."""
        self.now = now
        for ctx in self._contexts.values():
            ctx.tick(now)

    def run(self, program: Executable) -> Iterator[Item]:
        return program.run(self.context(program))

    def state(self, code: UnitCode) -> State:
        """A fresh state of a unit's reduction."""
        reduction = code.unit.reduction
        if isinstance(reduction, Concat | Slice):
            return state_of(reduction, self.context(code.program("items")), [], None)
        inner = reduction.inner if isinstance(reduction, Group) else reduction
        argument = code.program("argument")
        step = next(self.run(code.program("step"))) if isinstance(inner, Fold) else None
        return state_of(reduction, self.context(argument), list(self.run(argument)), step)


@dataclass(slots=True)
class _Instance:
    """An instance of a nest, or several in a row: the units of one that is cut, and its items once they are known."""

    units: tuple[UnitRun, ...]
    items: list[Item] | None = None


class UnitRun:
    """A unit at work: what it keeps, and of nests that are cut, what their units keep."""

    def __init__(self, evaluation: Evaluation, code: UnitCode) -> None:
        self.evaluation = evaluation
        self.code = code
        self.unit = code.unit
        self.failure: XStreamError | None = None
        """Of its computation: whoever reads its value meets it."""
        if code.collected is None:
            self.state = evaluation.state(code)
        else:
            from xstreamcast.run.collected import collected

            self.state = collected(evaluation, code.collected)
        self.open: dict[int, _Instance] = {}
        """The nest instances that are cut, by where they begin."""
        self.waiting: deque[_Instance] = deque()
        """The same and those that began after them, in document order."""

    def items(self, root: Node, cuts: Sequence[Cut]) -> Iterator[Item]:
        """E's items in a batch, as they are computed."""
        self.evaluation.begin(self.code, root)
        if self.code.nest is None:
            return self.evaluation.run(self.code.program("items"))
        return self._nested(self.code.nest, root, cuts)

    def rows(self, root: Node, nested: Nested) -> Rows:
        """E's items in a batch, as rows of a table: where they are maps of paths, whole columns at a time."""
        from importlib.util import find_spec

        from xstreamcast.scan.octets import Octets
        from xstreamcast.tables.batches import ItemRows

        fields = self.code.fields if find_spec("pyarrow") else None
        if fields is not None and isinstance(root[0].octets, Octets):
            self.evaluation.begin(self.code, root)
            records = list(self.evaluation.run(self.code.program("records")))
            if records and all(isinstance(record, Node) and record[0] is root[0] for record in records):
                from xstreamcast.tables.fields import RecordRows

                return RecordRows(fields.fields, records, self.evaluation.now, nested)
        return ItemRows(self.items(root, ()), nested)

    @property
    def settled(self) -> bool:
        """Whether nothing to come can change the value."""
        return self.failure is not None or self.state.settled

    def take(self, root: Node, cuts: Sequence[Cut]) -> None:
        """Take E's items in a batch into the state."""
        if not self.settled:
            try:
                self._take(root, cuts)
            except XStreamError as failure:
                self.failure = failure

    def _take(self, root: Node, cuts: Sequence[Cut]) -> None:
        state = self.state
        if isinstance(state, Collected):
            self.evaluation.begin(self.code, root)
            state.take(root)
        elif isinstance(state, Distinct) and self.unit.path is not None and (texts := self._texts(root)) is not None:
            state.add_texts(*texts)
        elif self.code.nest is None and not isinstance(self.unit.reduction, Group):
            if isinstance(state, Sliced):
                state.add(list(islice(self.items(root, cuts), state.wanted)))
                return
            self.evaluation.begin(self.code, root)
            if isinstance(state, Folded):
                assert isinstance(self.unit.reduction, Fold)
                self.evaluation.bind(self.code.accumulator, _held(state.value(), self.unit.reduction.type))
            state.add_part(list(self.evaluation.run(self.code.program(state.part))))
        else:
            state.add(list(self.items(root, cuts)))

    def _texts(self, root: Node) -> tuple[Any, Any] | None:
        """The untyped values of E's nodes in a batch, side by side; None if they are no columns, or not untyped."""
        path = self.unit.path
        assert path is not None
        if path.steps[-1].test.kind not in (ELEMENT, ATTRIBUTE, TEXT) or root[0].octets is None:
            return None
        from xstreamcast.tables.columns import Table

        return Table(root[0]).texts(path)

    def _nested(self, code: NestCode, root: Node, cuts: Sequence[Cut]) -> Iterator[Item]:
        """E's items, in the order in which the instances begin: those within one that is open wait for its end."""
        evaluation, nest = self.evaluation, code.nest
        instances = list(evaluation.run(code.instances))
        cut = {c.row: c for c in cuts}
        whole: list[Node] = []
        for instance in instances:
            place = cut.get(instance.row)
            if place is None or not (place.before or place.after):
                whole.append(instance)
                continue
            yield from self._whole(code, whole)
            whole = []
            opened = self.open.get(place.identity)
            if opened is None:
                opened = self.open[place.identity] = _Instance(tuple(UnitRun(evaluation, unit) for unit in code.units))
                self.waiting.append(opened)
            evaluation.bind(nest.variable, instance)
            for unit in opened.units:
                unit.take(instance, cuts)
            if not place.after:
                del self.open[place.identity]
                for unit in opened.units:
                    evaluation.bind_unit(unit)
                evaluation.bind(nest.variable, instance)
                if self.waiting[0] is opened:
                    self.waiting.popleft()
                    yield from evaluation.run(code.body)
                    while self.waiting and (known := self.waiting[0].items) is not None:
                        self.waiting.popleft()
                        yield from known
                else:
                    opened.items = list(evaluation.run(code.body))
        yield from self._whole(code, whole)

    def _whole(self, code: NestCode, instances: list[Node]) -> Iterator[Item]:
        """Instances that lie within the batch, and follow those that wait."""
        if not instances:
            return
        self.evaluation.bind(code.key, instances)
        if self.waiting:
            self.waiting.append(_Instance((), list(self.evaluation.run(code.whole))))
        else:
            yield from self.evaluation.run(code.whole)

    def value(self) -> list[Item]:
        """The unit's value so far, or its error."""
        if self.failure is not None:
            raise self.failure
        return self.state.value()

    @property
    def is_kept(self) -> bool:
        """Whether its answer is made of columns that are there already."""
        return isinstance(self.state, Collected | Distinct)

    def answer(self, written: bool) -> Iterable[Item]:
        """As :meth:`value`, where it is in the answer and asked for once. ``written``: elements may be markup."""
        if self.failure is None and isinstance(self.state, Collected):
            return self.state.answer(written)
        if self.failure is None and written and isinstance(self.state, Distinct) and self.state.texts is not None:
            return decoded(*self.state.texts.keys)  # written as untyped values are
        return self.value()
