"""The units of an expression, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import (
    PLAN,
    Concat,
    Fold,
    Gather,
    Group,
    Rank,
    Reduce,
    Reduction,
    Slice,
    Sort,
    Unit,
    VarName,
    Versions,
    Windows,
    is_weak,
    reads_items,
)
from xstreamcast.plan.decompose.collect import collected
from xstreamcast.plan.decompose.containers import nest_of
from xstreamcast.plan.decompose.distributed import Spread, under
from xstreamcast.plan.decompose.forms import Forms, is_root_attribute, known_everywhere, over_parts, with_items
from xstreamcast.plan.decompose.frames import frame_of
from xstreamcast.plan.decompose.groups import Grouping, grouping_of
from xstreamcast.plan.decompose.joins import Joins
from xstreamcast.plan.decompose.marks import sided
from xstreamcast.plan.decompose.ranks import in_two, ranked, sorted_by_call
from xstreamcast.plan.decompose.record import Functions
from xstreamcast.plan.decompose.record_paths import ABOVE_ATTRIBUTE, MIXED, Blocking
from xstreamcast.plan.decompose.recursive_elements import each_of
from xstreamcast.plan.decompose.residual import Residual
from xstreamcast.plan.decompose.scan_filters import tests_of
from xstreamcast.plan.decompose.spread import OUTSIDE, Spreading
from xstreamcast.plan.decompose.unit_view import named
from xstreamcast.plan.decompose.windows import windowed
from xstreamcast.plan.passes.dependence import focus_of, navigates, repeatable
from xstreamcast.plan.passes.shapes import is_fn, nodes
from xstreamcast.plan.passes.variables import Names, free, names_of
from xstreamcast.scan.path import Path


class Decomposition(Residual):
    """The units of an expression over some roots: the documents of a query, or the element of a nest."""

    def __init__(
        self,
        module: ast.Module,
        roots: Mapping[VarName, Path],
        outer: Decomposition | None = None,
        changing: bool = False,
        following: bool = False,
    ) -> None:
        super().__init__(roots)
        self.module = module
        self.joins = Joins(self) if changing else None
        """Of documents that change, sequences may be kept, and looked up."""
        self.following = following
        """Streams are followed: tuples may be known by their numbers."""
        self.outer = outer
        self.names: Names = names_of(module) if outer is None else outer.names
        self.functions: Functions = Functions(module) if outer is None else outer.functions
        self.forms = Forms(self.reads, self.is_root, self.names, self.converted, following)
        self.converters: dict[ast.SequenceType, ast.FunctionDecl] = {} if outer is None else outer.converters
        """Functions that do no more than convert a value to a type."""
        self._numbers: list[int] = [0] if outer is None else outer._numbers

    # --------------------------------------------------------------------------------------------------- the answer

    def output(self, e: ast.Expr) -> tuple[Unit | ast.Expr, ...]:
        """The parts of the answer, in order."""
        if isinstance(e, ast.Sequence):
            return tuple([part for item in e.items for part in self.output(item)])
        if isinstance(e, ast.FunctionCall) and is_fn(e, "unordered", 1):
            return self.output(e.args[0])
        if self.following and self.reads(e):
            apart = in_two(e)
            if apart is not None:
                return self.output(apart)
        made = self.kept(self.residual(e, True))
        known = {unit.variable: unit for unit in self.units}
        return (known[made.name.expanded] if isinstance(made, ast.VarRef) and made.name.expanded in known else made,)

    # --------------------------------------------------------------------------------------------------------- units

    def mark(self) -> Callable[[], None]:
        """Gives a function that forgets the units that have been made since."""
        mark, number = len(self.units), self._numbers[0]

        def forget() -> None:
            del self.units[mark:]
            self._numbers[0] = number

        return forget

    def inside(self, variable: VarName, path: Path) -> Decomposition:
        """The decomposition of an expression about one element of a path."""
        made = Decomposition(self.module, {variable: path}, self)
        made.forms.following = self.following
        return made

    def unit_of(self, e: ast.Expr) -> Unit | None:
        if not isinstance(e, ast.VarRef):
            return None
        return next((unit for unit in self.units if unit.variable == e.name.expanded), None)

    def unit(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """The expression as a unit, if it is one: the unit's variable, or what calls its value."""
        if focus_of(e) or (isinstance(e, ast.If) and self.decided_late(e.condition)):
            raise Blocking(e, OUTSIDE)
        if is_root_attribute(e):
            return self.reduced(e, e, Slice(1, 1))
        apart = over_parts(e, self.reads)
        if apart is not None:
            return self.residual(apart, unbounded)
        if self.following:
            beside = sided(self, e)
            if beside is not None:
                return beside
            numbered = ranked(self, e) or (windowed(self, e) if isinstance(e, ast.FLWOR) else None)
            if numbered is not None:
                return numbered
            by_key = sorted_by_call(e, self) if isinstance(e, ast.FunctionCall) else None
            if by_key is not None:
                return self.unit(by_key, unbounded)
        found = self.forms.of(e)
        if found is not None:
            items, reduction, after = found
            if is_root_attribute(items) and reads_items(reduction):
                raise Blocking(e, OUTSIDE)  # an aggregate of one attribute at most
            if isinstance(items, ast.If) and self.decided_late(items.condition):
                # The condition and the items are computed in the same pass, and put together at its end.
                parts = [with_items(e, items, part) for part in (items.then, items.otherwise)]
                return self.residual(ast.If(items.condition, *parts, span=e.span), unbounded)
            return after(self.reduced(e, items, reduction))
        if self.joins is not None and isinstance(e, ast.FLWOR):
            found_unit = collected(self, e)
            if found_unit is not None:
                return found_unit
        if self.joins is not None and isinstance(e, ast.VersionProjection):
            bounds = [_numbered(bound) for bound in (e.first, e.last or e.first)]
            if bounds[0] is not None and bounds[1] is not None:
                return self.reduced(e, e.base, Versions(bounds[0], bounds[1]))
        if not unbounded and (self.joins is None or not navigates(e)):
            raise Blocking(e, OUTSIDE if not nodes(e) else "a sequence as long as the document must be kept")
        return self.reduced(e, e, Concat())

    def decided_late(self, e: ast.Expr) -> bool:
        """Whether a condition is about more of a document than what every piece of it has."""
        return self.reads(e) and not (self.alone and known_everywhere(e, self.reads))

    def reduced(self, e: ast.Expr, items: ast.Expr, reduction: Reduction) -> ast.Expr:
        """A unit of these items."""
        if isinstance(reduction, Reduce) and reduction.argument is not None:
            reduction = replace(reduction, argument=self.given(reduction.argument))
        elif isinstance(reduction, Fold):
            reduction = replace(reduction, zero=self.given(reduction.zero), step=self.given(reduction.step))
        if self.joins is not None and isinstance(items, ast.FLWOR) and isinstance(reduction, Slice):
            found = collected(self, items, reduction)
            if found is not None:
                return found
        grouping = self.grouping(items)
        if grouping is not None:
            assert not isinstance(reduction, Group | Sort | Gather | Rank | Windows | Versions)
            items = grouping.items
            reduction = Group(grouping.item.expanded, grouping.keys, reduction)
        spread = self.spreading().visit(items)
        if grouping is not None:
            if spread.bare:
                steps = spread.path.steps
                record = Path(steps[: len(steps) - grouping.up])
                spread = replace(spread, bare=False, records=(record,), where=grouping.up)
            body = self.spreading().body({grouping.item.expanded: spread.where})
            for key in grouping.keys:
                body.atomised(key, None)  # nothing outside of its record is there when an item is put into its group
        unit = self.made(e, spread, reduction)
        variable = ast.VarRef(named(unit.variable), span=e.span)
        if grouping is None:
            return variable
        arguments = tuple([self.residual(argument, False) for argument in grouping.arguments])
        return ast.DynamicCall(variable, arguments, span=e.span)

    def given(self, e: ast.Expr) -> ast.Expr:
        """An expression that the scan of a unit needs besides its items, with the lets that it reads."""
        if self.reads(e):
            raise Blocking(e, "it is not known before the scan")
        made = under(self.bindings(e), e)
        if free(made) & self.loops.keys():
            raise Blocking(e, "it is read again for each item of a loop around it")
        return made

    def grouping(self, items: ast.Expr) -> Grouping | None:
        """``E[key = $i]`` in a loop over ``$i``: all groups at once."""
        around = free(items) & self.loops.keys()
        if not around:
            return None
        found = grouping_of(items, {name: loop for name, loop in self.loops.items() if name in around}, self.names)
        if found is None or any(free(part) & self.loops.keys() for part in (found.items, *found.keys)):
            names = ", ".join(f"${local}" for _, local in sorted(around))
            raise Blocking(items, f"it is read again for each {names} of a loop around it")
        return found

    def spreading(self) -> Spreading:
        return Spreading(self.roots, self.functions, self.names, self.whole, self.joins, self.following)

    def whole(self, e: ast.Expr) -> ast.Expr:
        """An expression about documents in a record's body: computed in an earlier pass, if its value is small."""
        if self.is_part(e) or (self.alone and known_everywhere(e, self.reads)):
            return e
        try:
            made = self.residual(e, False)
        except Blocking:
            raise Blocking(e, "a join: it is read again for each record") from None
        if self.joins is not None:
            return self.kept(made)
        read = free(made)
        if any(unit.variable in read and not isinstance(unit.reduction, Reduce) for unit in self.known()):
            raise Blocking(e, "a join: it is read again for each record")
        return made

    def made(self, e: ast.Expr, spread: Spread, reduction: Reduction) -> Unit:
        """The unit of an expression that distributes; an equal one that is known already, if there is one."""
        if self.spreading().is_root(spread):
            raise Blocking(e, "the whole document is looked at")
        if spread.where == ABOVE_ATTRIBUTE and not isinstance(reduction, Reduce | Concat):
            raise Blocking(e, "attributes of ancestors are kept")
        lets = self.bindings(spread.expr)
        items = ast.FLWOR(lets, spread.expr, span=e.span) if lets else spread.expr
        if free(items) & self.loops.keys():
            raise Blocking(e, "it is read again for each item of a loop around it")
        keyed = isinstance(reduction, Group) and not reduction.rows  # the keys are read of the items themselves
        whole = spread.counted is None and not keyed
        nest = nest_of(self, spread, lets) if whole else None
        if nest is None and self.joins is not None and whole:
            nest = frame_of(self, spread, lets)
        tests = () if nest is not None or spread.counted is not None else tests_of(spread)
        # That a node is there may be said twice, and so may the first of all: open ancestors need not be in one piece.
        there = is_weak(reduction)
        again = there or (reduction == Slice(1, 1) and is_root_attribute(spread.expr))
        apart = self.outer is not None and self.outer.following  # in a frame they are counted where they come
        records = () if spread.bare and again and not apart else spread.cuts
        if nest is not None:
            assert spread.loop is not None
            if spread.loop.written and not (nest.frame and self.following):
                loop = ast.ForClause(spread.loop.variable, None, False, None, spread.loop.source)
                items = ast.FLWOR((loop,), under(lets, spread.loop.body), span=e.span)
            if not nest.frame:
                records = tuple(dict.fromkeys(path for unit in nest.units for path in unit.records))
        read = free(items) | {name for part in _beside(reduction) for name in free(part)}
        needs = read & {unit.variable for unit in self.known()}
        unit = Unit(
            self.variable(),
            spread.root,
            items,
            records,
            reduction,
            e.span,
            needs,
            nest,
            tests,
            spread.path if spread.bare and not lets and self.outer is None and isinstance(reduction, Reduce) else None,
            each_of(self, spread, lets, reduction) if self.following and self.outer is None and not keyed else None,
        )
        if spread.counted is not None and unit.each is None:
            raise Blocking(e, "a position among all the nodes below the document")
        for other in self.units if _gives_the_same(unit) else ():
            if replace(other, variable=unit.variable, span=unit.span, each=unit.each) == unit:
                return other
        self.units.append(unit)
        if isinstance(reduction, Concat | Slice) and spread.where > MIXED:
            self.in_order.add(unit.variable)
        return unit

    def converted(self, e: ast.Expr, declared: ast.SequenceType | None) -> ast.Expr:
        """The value as a parameter of that type would have it."""
        if declared is None or (isinstance(declared.item, ast.AnyItem) and declared.occurrence == "*"):
            return e
        if isinstance(e, ast.FunctionCall) and self.functions.result(e) == declared:
            return e
        function = self.converters.get(declared)
        if function is None:
            value = ast.Name("", "value", PLAN)
            name = ast.Name("", f"convert-{len(self.converters) + 1}", PLAN)
            function = ast.FunctionDecl(name, (ast.Param(value, declared),), None, ast.VarRef(value))
            self.converters[declared] = function
            self.functions.declare(function)
        return ast.FunctionCall(function.name, (e,), span=e.span)

    def known(self) -> list[Unit]:
        """The units so far, those around a nest too."""
        return self.units if self.outer is None else [*self.outer.known(), *self.units]

    def variable(self) -> VarName:
        self._numbers[0] += 1
        return PLAN, f"unit-{self._numbers[0]}"

    def bindings(self, e: ast.Expr) -> tuple[ast.LetClause, ...]:
        """The lets around the place that an expression needs, in their order."""
        wanted = set(free(e))
        found: list[ast.LetClause] = []
        for name, clause in reversed(self.lets.items()):
            if name in wanted:
                if any(isinstance(part, ast.CONSTRUCTORS) for part in descendants(clause.value)):
                    raise Blocking(clause.value, "nodes made once are used all over the document")
                if focus_of(clause.value):
                    raise Blocking(clause.value, "it is read again for each item of a loop around it")
                found.append(clause)
                wanted |= free(clause.value)
        return tuple(reversed(found))


def _numbered(e: ast.Expr) -> tuple[bool, int] | None:
    """A version number: whether it counts from the last one, and how far; None if it is known only when it is asked."""
    if isinstance(e, ast.Last):
        return True, 0
    if isinstance(e, ast.IntegerLiteral):
        return False, e.value
    if isinstance(e, ast.Arithmetic) and e.op == "-" and isinstance(e.left, ast.Last):
        return (True, e.right.value) if isinstance(e.right, ast.IntegerLiteral) else None
    return None


def _gives_the_same(unit: Unit) -> bool:
    """Whether a unit evaluated twice would give the same nodes: new elements, and copies by lifespans, are others."""
    if isinstance(unit.reduction, Reduce | Gather | Rank | Windows):
        return True
    copies = any(isinstance(part, ast.IntervalProjection | ast.VersionProjection) for part in descendants(unit.items))
    return not (copies or isinstance(unit.reduction, Versions)) and repeatable(unit.items)


def _beside(reduction: Reduction) -> tuple[ast.Expr, ...]:
    """The expressions that a reduction needs besides the items."""
    match reduction:
        case Group():
            return *reduction.keys, *_beside(reduction.inner)
        case Fold():
            return reduction.zero, reduction.step
        case Reduce() if reduction.argument is not None:
            return (reduction.argument,)
        case Gather() | Rank() | Windows():
            return (reduction.body,)
        case _:
            return ()
