"""The units of an expression, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import (
    PLAN,
    Concat,
    Fold,
    Gather,
    Group,
    Nest,
    Rank,
    Reduce,
    Reduction,
    Slice,
    Sort,
    Unit,
    VarName,
    Versions,
)
from xstreamcast.plan.decompose.collect import bound_in, collected
from xstreamcast.plan.decompose.distributed import Spread
from xstreamcast.plan.decompose.each import each_of
from xstreamcast.plan.decompose.folds import is_one
from xstreamcast.plan.decompose.forms import Forms, is_root_attribute, known_everywhere, over_parts, with_items
from xstreamcast.plan.decompose.frames import frame_of
from xstreamcast.plan.decompose.groups import Grouping, grouping_of
from xstreamcast.plan.decompose.joins import Joins
from xstreamcast.plan.decompose.paths import nested
from xstreamcast.plan.decompose.ranks import in_two, ranked, sorted_by_call
from xstreamcast.plan.decompose.record import Functions
from xstreamcast.plan.decompose.spread import OUTSIDE, Spreading
from xstreamcast.plan.decompose.tests import tests_of
from xstreamcast.plan.decompose.where import ABOVE_ATTRIBUTE, MIXED, Blocking
from xstreamcast.plan.passes.dependence import call_key, focus_of, navigates
from xstreamcast.plan.passes.shapes import is_fn, nodes
from xstreamcast.plan.passes.variables import Names, binders, free, names_of
from xstreamcast.scan.path import Path

_DOWN: Final = ("child", "descendant", "descendant-or-self", "attribute", "self")
_MERGING: Final = (ast.NodeComparison, ast.Union, ast.Intersect, ast.Except, ast.Root)
_NAME_FUNCTIONS: Final = frozenset(("name", "local-name", "namespace-uri", "node-name"))


def named(variable: VarName) -> ast.Name:
    """The name of a variable of the plan."""
    return ast.Name("", variable[1], variable[0])


class Decomposition:
    """The units of an expression over some roots: the documents of a query, or the element of a nest.

    ``lets`` are the variables that what is left of the query binds around the place being looked at: a unit that reads
    one gets the binding as well. ``loops`` are variables of its loops, which no unit can read, with what they range
    over where that is known before a scan.
    """

    def __init__(
        self,
        module: ast.Module,
        roots: Mapping[VarName, Path],
        outer: Decomposition | None = None,
        changing: bool = False,
        following: bool = False,
    ) -> None:
        self.module = module
        self.joins = Joins(self) if changing else None
        """Of documents that change, sequences may be kept, and looked up."""
        self.following = following
        """Streams are followed: tuples may be known by their numbers."""
        self.roots = dict(roots)
        self.outer = outer
        self.names: Names = names_of(module) if outer is None else outer.names
        self.functions: Functions = Functions(module) if outer is None else outer.functions
        self.units: list[Unit] = []
        self.in_order: set[VarName] = set()
        """The units whose nodes are all of their own records."""
        self.lets: dict[VarName, ast.LetClause] = {}
        self.loops: dict[VarName, ast.Expr | None] = {}
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

    # ---------------------------------------------------------------------------------------------------- what is left

    def residual(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """What is left of an expression; ``unbounded``: its value may be as long as the document."""
        if not self.reads(e) or self.is_part(e):
            return e
        forget = self.mark()
        try:
            return self.unit(e, unbounded)
        except Blocking as failure:
            forget()
            first = failure
        try:
            return self.left(e, unbounded)
        except Blocking as failure:
            raise (failure if first.reason == OUTSIDE else first) from None

    def mark(self) -> Callable[[], None]:
        """What forgets the units that have been made since."""
        mark, number = len(self.units), self._numbers[0]

        def forget() -> None:
            del self.units[mark:]
            self._numbers[0] = number

        return forget

    def reads(self, e: ast.Node) -> bool:
        """Whether an expression reads a root."""
        return bool(free(e) & self.roots.keys())

    def is_part(self, e: ast.Expr) -> bool:
        """Whether an expression looks at no more of a nest's element than its name or an attribute of it."""
        if isinstance(e, ast.FunctionCall) and len(e.args) == 1:
            return e.name.uri == FN and e.name.local in _NAME_FUNCTIONS and self.is_open(e.args[0])
        if isinstance(e, ast.Path) and len(e.steps) == 2 and isinstance(e.steps[1], ast.AxisStep):
            step = e.steps[1]
            return self.is_open(e.steps[0]) and step.axis == "attribute" and not step.predicates
        return False

    def is_root(self, e: ast.Expr) -> bool:
        return isinstance(e, ast.VarRef) and e.name.expanded in self.roots

    def is_open(self, e: ast.Expr) -> bool:
        return isinstance(e, ast.VarRef) and bool(self.roots.get(e.name.expanded, Path()).steps)

    def left(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """The expression with what is left of its operands."""
        match e:
            case ast.VarRef():
                raise Blocking(e, "the whole document is looked at")
            case ast.Sequence():
                return ast.Sequence(tuple([self.residual(item, unbounded) for item in e.items]), span=e.span)
            case ast.FLWOR():
                return self.flwor(e, unbounded)
            case ast.If():
                condition = self.condition(e.condition)
                then, otherwise = self.residual(e.then, unbounded), self.residual(e.otherwise, unbounded)
                return ast.If(condition, then, otherwise, span=e.span)
            case ast.And() | ast.Or():
                return e.__class__(tuple([self.condition(operand) for operand in e.operands]), span=e.span)
            case ast.FunctionCall() if is_fn(e, "not", 1) or is_fn(e, "boolean", 1):
                return ast.FunctionCall(e.name, (self.condition(e.args[0]),), span=e.span)
            case ast.FunctionCall() if is_fn(e, "unordered", 1):
                return ast.FunctionCall(e.name, (self.residual(e.args[0], unbounded),), span=e.span)
            case ast.TryCatch():
                raise Blocking(e, "an error must be caught where it happens")
            case ast.NodeComparison() | ast.Union() | ast.Intersect() | ast.Except():
                raise Blocking(e, "nodes from different places of the document are compared")
            case ast.Path():
                return self.path(e)
            case ast.Filter():
                return self.parts(e, False)
            case ast.DirectElement() | ast.ComputedElement() | ast.ComputedDocument():
                return self.parts(e, True)
            case ast.Quantified():
                return self.quantified(e)
            case ast.InlineFunction():
                before = self.loops
                self.loops = before | dict.fromkeys(param.name.expanded for param in e.params)
                made = self.parts(e, False)
                self.loops = before
                return made
            case ast.Typeswitch():
                self.loops |= dict.fromkeys(name.expanded for part in (e, *e.cases) for name in binders(part))
                return self.parts(e, False)
            case _:
                return self.parts(e, False)

    def parts(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        def change(part: ast.Node) -> ast.Node:
            return self.residual(part, unbounded) if isinstance(part, ast.Expr) else rebuild(part, change)

        return rebuild(e, change)

    def path(self, e: ast.Path) -> ast.Expr:
        """Steps down from a single node that a unit gives."""
        first = self.residual(e.steps[0], False)
        unit = self.unit_of(first)
        single = unit is not None and is_one(unit.reduction)
        if self.joins is not None and unit is not None and unit.variable in self.in_order:
            if not single:
                self.units[self.units.index(unit)] = replace(unit, each=None)
            single = True  # its nodes are in order, and none of a record is within another's
        # Versions are copies, each in a tree of its own.
        copied = isinstance(first, ast.VersionProjection) if unit is None else isinstance(unit.reduction, Versions)
        copied = copied and self.joins is not None
        if not copied and not single:
            raise Blocking(e, "nodes from different places of the document are merged")
        if any(self.reads(step) for step in e.steps[1:]):
            raise Blocking(e, "the whole document is read for each node")
        made = ast.Path((first, *e.steps[1:]), span=e.span)
        return self.kept_below(made) if copied else made

    def kept(self, e: ast.Expr) -> ast.Expr:
        """What is left of an expression, if it stays within the nodes that units have kept for it."""
        kept = {unit.variable for unit in self.units if isinstance(unit.reduction, Slice | Fold | Group)}
        if self.joins is not None and not isinstance(e, ast.VarRef):
            kept |= {unit.variable for unit in self.units if not isinstance(unit.reduction, Reduce)}
        return self.kept_below(e) if free(e) & kept else e

    def kept_below(self, e: ast.Expr) -> ast.Expr:
        """An expression that stays within the nodes it is given."""
        for part in descendants(e):
            key = call_key(part)
            far = isinstance(part, _MERGING) or (isinstance(part, ast.AxisStep) and part.axis not in _DOWN)
            if far or (key is not None and not self.functions.stays(key)):
                assert isinstance(part, ast.Expr)
                raise Blocking(part, "it leaves the parts of the document that are kept")
        return e

    def inside(self, variable: VarName, path: Path) -> Decomposition:
        """The decomposition of an expression about one element of a path."""
        made = Decomposition(self.module, {variable: path}, self)
        made.forms.following = self.following
        return made

    def unit_of(self, e: ast.Expr) -> Unit | None:
        if not isinstance(e, ast.VarRef):
            return None
        return next((unit for unit in self.units if unit.variable == e.name.expanded), None)

    def flwor(self, e: ast.FLWOR, unbounded: bool) -> ast.Expr:
        clauses: list[ast.Clause] = []
        bound: list[VarName] = []
        loops = dict(self.loops)
        for clause in e.clauses:
            match clause:
                case ast.LetClause():
                    value = self.residual(clause.value, False)
                    made = ast.LetClause(clause.var, clause.type, value, span=clause.span)
                    if free(value) & self.loops.keys():
                        self.loops[clause.var.expanded] = None  # as good as one of a loop
                    else:
                        self.lets[clause.var.expanded] = made
                        bound.append(clause.var.expanded)
                    clauses.append(made)
                case ast.WhereClause():
                    clauses.append(ast.WhereClause(self.condition(clause.condition), span=clause.span))
                case _:
                    clauses.append(rebuild(clause, self.operand))
                    self.loops |= dict.fromkeys(name.expanded for name in bound_in(clause))
                    if isinstance(clause, ast.ForClause) and self.before_scans(clause.source):
                        self.loops[clause.var.expanded] = clause.source
        result = self.residual(e.result, unbounded)
        for name in bound:
            del self.lets[name]
        self.loops = loops
        return ast.FLWOR(tuple(clauses), result, span=e.span)

    def before_scans(self, e: ast.Expr) -> bool:
        """Whether an expression is the same wherever it stands, and no document has a part in it."""
        return not self.reads(e) and not focus_of(e) and not free(e) & (self.loops.keys() | self.lets.keys())

    def operand(self, part: ast.Node) -> ast.Node:
        return self.residual(part, False) if isinstance(part, ast.Expr) else rebuild(part, self.operand)

    def condition(self, e: ast.Expr) -> ast.Expr:
        """An expression of which only the effective boolean value counts: nodes are there, or not."""
        if self.reads(e) and nodes(e) and not self.is_part(e):
            return self.residual(ast.FunctionCall(ast.Name("fn", "exists", FN), (e,), span=e.span), False)
        return self.residual(e, False)

    def quantified(self, e: ast.Quantified) -> ast.Expr:
        bindings = []
        for binding in e.bindings:
            source = self.residual(binding.source, False)
            bindings.append(ast.QuantifiedBinding(binding.var, binding.type, source, span=binding.span))
            self.loops[binding.var.expanded] = None
        return ast.Quantified(e.every, tuple(bindings), self.condition(e.condition), span=e.span)

    # --------------------------------------------------------------------------------------------------------- units

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
            numbered = ranked(self, e)
            if numbered is not None:
                return numbered
            by_key = sorted_by_call(e, self) if isinstance(e, ast.FunctionCall) else None
            if by_key is not None:
                return self.unit(by_key, unbounded)
        found = self.forms.of(e)
        if found is not None:
            items, reduction, after = found
            if is_root_attribute(items) and reduction not in (Reduce("count"), Reduce("exists"), Reduce("empty")):
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
        return self.reads(e) and not known_everywhere(e, self.reads)

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
            assert not isinstance(reduction, Group | Sort | Gather | Rank | Versions)
            items = grouping.items
            reduction = Group(grouping.item.expanded, grouping.keys, reduction)
        spread = self.spreading().visit(items)
        if grouping is not None and spread.bare:
            steps = spread.path.steps
            spread = replace(spread, bare=False, records=(Path(steps[: len(steps) - grouping.up]),))
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
        made = _under(self.bindings(e), e)
        if free(made) & self.loops.keys():
            raise Blocking(e, "it is read again for each item of a loop around it")
        return made

    def grouping(self, items: ast.Expr) -> Grouping | None:
        """``E[key = $i]`` in a loop over ``$i``: all groups at once."""
        around = free(items) & self.loops.keys()
        if not around:
            return None
        found = grouping_of(items, {name: self.loops[name] for name in around}, self.names)
        if found is None or any(free(part) & self.loops.keys() for part in (found.items, *found.keys)):
            names = ", ".join(f"${local}" for _, local in sorted(around))
            raise Blocking(items, f"it is read again for each {names} of a loop around it")
        return found

    def spreading(self) -> Spreading:
        return Spreading(self.roots, self.functions, self.names, self.whole, self.joins, self.following)

    def whole(self, e: ast.Expr) -> ast.Expr:
        """An expression about documents in a record's body: computed in an earlier pass, if its value is small."""
        if self.is_part(e) or known_everywhere(e, self.reads):
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
        nest = self.nest(spread, lets) if spread.counted is None else None
        if nest is None and self.joins is not None and spread.counted is None:
            nest = frame_of(self, spread, lets)
        tests = () if nest is not None or spread.counted is not None else tests_of(spread)
        # That a node is there may be said twice, and so may the first of all: open ancestors need not be in one piece.
        there = reduction in (Reduce("exists"), Reduce("empty"))
        again = there or (reduction == Slice(1, 1) and is_root_attribute(spread.expr))
        records = () if spread.bare and again else spread.cuts
        if nest is not None:
            assert spread.loop is not None
            if spread.loop.written and not (nest.frame and self.following):
                loop = ast.ForClause(spread.loop.variable, None, False, None, spread.loop.source)
                items = ast.FLWOR((loop,), _under(lets, spread.loop.body), span=e.span)
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
            each_of(self, spread, lets, reduction) if self.following and self.outer is None else None,
        )
        if spread.counted is not None and unit.each is None:
            raise Blocking(e, "a position among all the nodes below the document")
        for other in self.units:
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
                found.append(clause)
                wanted |= free(clause.value)
        return tuple(reversed(found))

    # --------------------------------------------------------------------------------------------------------- nests

    def nest(self, spread: Spread, lets: tuple[ast.LetClause, ...]) -> Nest | None:
        """How a loop over containers is computed for one that is cut; None for a loop over records.

        A container is an element whose children are counted by position, or whose body looks for descendants: such
        elements tend to be as large as the document. A nest costs a look at every instance. Where tests choose a few
        of many elements that may be anywhere, the scan drops the others: they are records.
        """
        loop = spread.loop
        if loop is None or self.outer is not None:
            return None
        if nested(loop.path) and not self.following and tests_of(spread):
            return None
        inner = self.inside(loop.variable.expanded, loop.path)
        number = self._numbers[0]
        try:
            body = inner.kept(inner.residual(_under(lets, loop.body), True))
        except Blocking:
            self._numbers[0] = number
            return None
        own = {unit.variable for unit in inner.units}
        twice = any(unit.needs & own for unit in inner.units)  # two passes over the instance
        if twice or not (spread.container or any(_deep(unit, loop.path) for unit in inner.units)):
            self._numbers[0] = number
            return None
        from xstreamcast.plan.projection.project import project

        seen = project(body, {loop.variable.expanded: loop.path}, module=self.module)
        return Nest(loop.variable.expanded, loop.path, tuple(inner.units), body, seen.get(loop.variable.expanded, ()))


def _numbered(e: ast.Expr) -> tuple[bool, int] | None:
    """A version number: whether it counts from the last one, and how far; None if it is known only when it is asked."""
    if isinstance(e, ast.Last):
        return True, 0
    if isinstance(e, ast.IntegerLiteral):
        return False, e.value
    if isinstance(e, ast.Arithmetic) and e.op == "-" and isinstance(e.left, ast.Last):
        return (True, e.right.value) if isinstance(e.right, ast.IntegerLiteral) else None
    return None


def _beside(reduction: Reduction) -> tuple[ast.Expr, ...]:
    """The expressions that a reduction needs besides the items."""
    match reduction:
        case Group():
            return *reduction.keys, *_beside(reduction.inner)
        case Fold():
            return reduction.zero, reduction.step
        case Reduce() if reduction.argument is not None:
            return (reduction.argument,)
        case Gather() | Rank():
            return (reduction.body,)
        case _:
            return ()


def _deep(unit: Unit, above: Path) -> bool:
    return any(step.deep for path in unit.records for step in path.steps[len(above.steps) :])


def _under(lets: tuple[ast.LetClause, ...], e: ast.Expr) -> ast.Expr:
    return ast.FLWOR(lets, e, span=e.span) if lets else e
