"""The static phase: names become expanded names, and what the query refers to must exist.

:class:`Resolver` rebuilds an expression bottom-up; each method gives the scoping rule of one construct. What it
raises: XPST0008 (variable), XPST0017 (function), XPST0051, XQST0052, XPST0080 (types), XPST0081 (prefix),
XQST0039 (parameter), XQST0040 (attribute), XQST0076 (collation), XQST0079 (pragma), XQST0089, XQST0094, XQST0103
(FLWOR variables), XQST0045, XQST0106, XQST0116, XQST0125 (annotations).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from xstreamcast.lang.ast import (
    FLWOR,
    Annotation,
    Arithmetic,
    AtomicType,
    AttributeTest,
    AxisStep,
    CastableAs,
    CastAs,
    Catch,
    ComputedAttribute,
    ComputedElement,
    ContextItem,
    CountClause,
    DecimalLiteral,
    DirectAttribute,
    DirectElement,
    DoubleLiteral,
    DurationLiteral,
    ElementTest,
    Expr,
    Extension,
    ForClause,
    FunctionCall,
    GroupClause,
    GroupKey,
    If,
    InlineFunction,
    InstantLiteral,
    IntegerLiteral,
    KindTest,
    Last,
    LetClause,
    LiteralText,
    Name,
    NamedFunctionRef,
    NameTest,
    Node,
    Now,
    OrderKey,
    Param,
    Path,
    PITest,
    Placeholder,
    Pragma,
    Quantified,
    QuantifiedBinding,
    Root,
    SchemaTest,
    SingleType,
    Start,
    StringLiteral,
    TypeCase,
    Typeswitch,
    VarRef,
    Warning,
    Wildcard,
    WindowClause,
    WindowCondition,
)
from xstreamcast.lang.context import RESERVED
from xstreamcast.lang.lexical import NCNAME
from xstreamcast.lang.scope import Scope
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import ERR, XQUERY

N = TypeVar("N", bound=Node)
find_variables = re.compile(rf"\$({NCNAME})").findall
CATCH_VARIABLES = tuple(
    (ERR, local) for local in ("code", "description", "value", "module", "line-number", "column-number", "additional")
)


class Resolver:
    """Applies a scope to syntax trees."""

    __slots__ = ("flwor_start", "scope", "warnings")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.flwor_start = 0
        self.warnings: list[Warning] = []

    def resolve(self, node: N) -> N:
        """The tree with every name expanded and every reference checked."""
        rule = _RULES.get(node.__class__)
        if rule is None:
            return rebuild(node, self.resolve)
        result: N = rule(self, node)
        return result

    def optional(self, node: N | None) -> N | None:
        """The same for what may be absent."""
        return None if node is None else self.resolve(node)

    def each(self, nodes: tuple[N, ...]) -> tuple[N, ...]:
        """The same for several."""
        return tuple([self.resolve(node) for node in nodes])

    def leaf(self, node: Node) -> Node:
        """Nothing below, nothing to resolve."""
        return node

    # ------------------------------------------------------------------------------ names and references

    def name_test(self, node: NameTest) -> NameTest:
        return NameTest(self.scope.expand(node.name, self.scope.default_element), span=node.span)

    def axis_step(self, node: AxisStep) -> AxisStep:
        test = node.test
        if isinstance(test, NameTest):
            default = "" if node.axis == "attribute" else self.scope.default_element
            name = self.scope.expand(test.name, default)
            return AxisStep(node.axis, NameTest(name, span=test.span), self.each(node.predicates), span=node.span)
        return AxisStep(node.axis, self.resolve(test), self.each(node.predicates), span=node.span)

    def wildcard(self, node: Wildcard) -> Wildcard:
        if node.prefix is None:
            return node
        return Wildcard(node.prefix, self.scope.uri_of(node.prefix, node.span), None, span=node.span)

    def path(self, node: Path) -> Path:
        return Path(self.each(node.steps), span=node.span)

    def var_ref(self, node: VarRef) -> VarRef:
        return VarRef(self.scope.reference(node.name), span=node.span)

    def function_call(self, node: FunctionCall) -> FunctionCall:
        name = self.scope.function(node.name, len(node.args))
        return FunctionCall(name, self.each(node.args), span=node.span)

    def function_ref(self, node: NamedFunctionRef) -> NamedFunctionRef:
        return NamedFunctionRef(self.scope.function(node.name, node.arity), node.arity, span=node.span)

    def arithmetic(self, node: Arithmetic) -> Expr:
        """Long sums lean to the left; the loop keeps the stack flat."""
        spine = [node]
        while isinstance(spine[-1].left, Arithmetic):
            spine.append(spine[-1].left)
        result: Expr = self.resolve(spine[-1].left)
        for link in reversed(spine):
            result = Arithmetic(link.op, result, self.resolve(link.right), span=link.span)
        return result

    def conditional(self, node: If) -> Expr:
        """``else if`` chains lean to the right, and are long in generated queries."""
        chain = [node]
        while isinstance(chain[-1].otherwise, If):
            chain.append(chain[-1].otherwise)
        branches = [(self.resolve(link.condition), self.resolve(link.then)) for link in chain]
        result: Expr = self.resolve(chain[-1].otherwise)
        for link, (condition, then) in zip(reversed(chain), reversed(branches), strict=True):
            result = If(condition, then, result, span=link.span)
        return result

    def extension(self, node: Extension) -> Extension:
        pragmas = []
        for pragma in node.pragmas:
            pragmas.append(Pragma(self.scope.expand(pragma.name), pragma.content, span=pragma.span))
        if node.body is None:
            message = "no pragma is known here, and there is no expression to fall back on"
            raise self.scope.fault("XQST0079", message, node.span, "put an expression into the braces")
        return Extension(tuple(pragmas), self.resolve(node.body), span=node.span)

    # ----------------------------------------------------------------------------------------------- types

    def atomic_type(self, node: AtomicType) -> AtomicType:
        return AtomicType(self.scope.atomic_type(node.name), span=node.span)

    def element_test(self, node: ElementTest) -> ElementTest:
        name = node.name and self.scope.expand(node.name, self.scope.default_element)
        type_ = node.type and self.scope.node_type(node.type)
        return ElementTest(name, type_, node.nillable, span=node.span)

    def attribute_test(self, node: AttributeTest) -> AttributeTest:
        name = node.name and self.scope.expand(node.name)
        type_ = node.type and self.scope.node_type(node.type)
        return AttributeTest(name, type_, span=node.span)

    def schema_test(self, node: SchemaTest) -> SchemaTest:
        name = self.scope.expand(node.name, self.scope.default_element)
        message = f"{node.kind}({name.lexical}): no schema declares it"
        raise self.scope.fault("XPST0008", message, node.span, "schemas are not supported")

    def cast(self, node: CastAs | CastableAs) -> CastAs | CastableAs:
        target = SingleType(self.scope.cast_type(node.type.name), node.type.optional, span=node.type.span)
        return node.__class__(self.resolve(node.operand), target, span=node.span)

    # ----------------------------------------------------------------------------------------- FLWOR scopes

    def flwor(self, node: FLWOR) -> FLWOR:
        """Each clause sees the variables of those before it."""
        variables = self.scope.locals
        outer, self.flwor_start = self.flwor_start, len(variables)
        clauses = self.each(node.clauses)
        result = self.resolve(node.result)
        del variables[self.flwor_start :]
        self.flwor_start = outer
        return FLWOR(clauses, result, span=node.span)

    def for_clause(self, node: ForClause) -> ForClause:
        source = self.resolve(node.source)
        type_ = self.optional(node.type)
        var = self.scope.bind(node.var)
        position = node.position and self.scope.bind(node.position)
        if position is not None and position.expanded == var.expanded:
            message = f"${var.lexical} is both the item and its position"
            raise self.scope.fault("XQST0089", message, position.span, "use two names")
        return ForClause(var, type_, node.allowing_empty, position, source, span=node.span)

    def let_clause(self, node: LetClause) -> LetClause:
        value = self.resolve(node.value)
        type_ = self.optional(node.type)
        return LetClause(self.scope.bind(node.var), type_, value, span=node.span)

    def window_clause(self, node: WindowClause) -> WindowClause:
        """The start's variables are in scope of both conditions; all of them, of the clauses behind."""
        mark = len(self.scope.locals)
        source = self.resolve(node.source)
        type_ = self.optional(node.type)
        start = self.resolve(node.start)
        end = self.optional(node.end)
        var = self.scope.bind(node.var)
        bound = self.scope.locals[mark:]
        for i, name in enumerate(bound):
            if name in bound[:i]:
                message = f"${name[1]} is bound twice in one window clause"
                raise self.scope.fault("XQST0103", message, node.span, "use different names")
        return WindowClause(node.sliding, var, type_, source, start, end, node.only_end, span=node.span)

    def window_condition(self, node: WindowCondition) -> WindowCondition:
        bind = self.scope.bind
        current = node.current and bind(node.current)
        position = node.position and bind(node.position)
        previous = node.previous and bind(node.previous)
        following = node.next and bind(node.next)
        return WindowCondition(current, position, previous, following, self.resolve(node.when), span=node.span)

    def group_clause(self, node: GroupClause) -> GroupClause:
        keys = []
        for key in node.keys:
            collation = self.collation(key.collation, key)
            type_ = self.optional(key.type)
            if key.value is None:
                var = self.scope.expand(key.var)
                if var.expanded not in self.scope.locals[self.flwor_start :]:
                    message = f"${var.lexical} is not a variable of this FLWOR"
                    hint = f"group by ${var.lexical} := expression"
                    raise self.scope.fault("XQST0094", message, key.span, hint)
                keys.append(GroupKey(var, type_, None, collation, span=key.span))
            else:
                value = self.resolve(key.value)
                keys.append(GroupKey(self.scope.bind(key.var), type_, value, collation, span=key.span))
        return GroupClause(tuple(keys), span=node.span)

    def order_key(self, node: OrderKey) -> OrderKey:
        collation = self.collation(node.collation, node)
        return OrderKey(self.resolve(node.key), node.descending, node.empty_least, collation, span=node.span)

    def collation(self, uri: str | None, node: Node) -> str | None:
        """The absolute URI of a collation, or XQST0076."""
        if uri is None:
            return None
        known = self.scope.static.collation(uri)
        if known is None:
            raise self.scope.fault("XQST0076", f"the collation {uri} is not known", node.span)
        return known

    def count_clause(self, node: CountClause) -> CountClause:
        return CountClause(self.scope.bind(node.var), span=node.span)

    # ------------------------------------------------------------------------------------------ other scopes

    def quantified(self, node: Quantified) -> Quantified:
        mark = len(self.scope.locals)
        bindings = []
        for binding in node.bindings:
            source = self.resolve(binding.source)
            type_ = self.optional(binding.type)
            var = self.scope.bind(binding.var)
            bindings.append(QuantifiedBinding(var, type_, source, span=binding.span))
        condition = self.resolve(node.condition)
        del self.scope.locals[mark:]
        return Quantified(node.every, tuple(bindings), condition, span=node.span)

    def typeswitch(self, node: Typeswitch) -> Typeswitch:
        operand = self.resolve(node.operand)
        cases = self.each(node.cases)
        mark = len(self.scope.locals)
        var = node.default_var and self.scope.bind(node.default_var)
        default = self.resolve(node.default)
        del self.scope.locals[mark:]
        return Typeswitch(operand, cases, var, default, span=node.span)

    def type_case(self, node: TypeCase) -> TypeCase:
        types = self.each(node.types)
        mark = len(self.scope.locals)
        var = node.var and self.scope.bind(node.var)
        result = self.resolve(node.result)
        del self.scope.locals[mark:]
        return TypeCase(var, types, result, span=node.span)

    def catch(self, node: Catch) -> Catch:
        """The handler sees ``$err:code`` and its kin."""
        tests = tuple(
            NameTest(self.scope.expand(test.name), span=test.span)
            if isinstance(test, NameTest)
            else self.wildcard(test)
            for test in node.tests
        )
        mark = len(self.scope.locals)
        self.scope.locals.extend(CATCH_VARIABLES)
        handler = self.resolve(node.handler)
        del self.scope.locals[mark:]
        return Catch(tests, handler, span=node.span)

    def inline_function(self, node: InlineFunction) -> InlineFunction:
        annotations = self.annotations(node.annotations, "XQST0125")
        result = self.optional(node.result)
        mark = len(self.scope.locals)
        params = self.params(node.params)
        outer, self.flwor_start = self.flwor_start, len(self.scope.locals)
        body = self.resolve(node.body)
        self.flwor_start = outer
        del self.scope.locals[mark:]
        return InlineFunction(params, result, body, annotations, span=node.span)

    def params(self, params: tuple[Param, ...]) -> tuple[Param, ...]:
        """Binds parameters; XQST0039 if two have one name."""
        types = [self.optional(param.type) for param in params]
        found: list[Param] = []
        for param, type_ in zip(params, types, strict=True):
            name = self.scope.bind(param.name)
            if any(name.expanded == other.name.expanded for other in found):
                message = f"two parameters are called ${name.lexical}"
                raise self.scope.fault("XQST0039", message, param.span, "use different names")
            found.append(Param(name, type_, span=param.span))
        return tuple(found)

    def annotations(self, annotations: tuple[Annotation, ...], visibility: str) -> tuple[Annotation, ...]:
        """Checks annotations; ``visibility`` is the error for a wrong use of %public and %private."""
        found: list[Annotation] = []
        seen = 0
        for annotation in annotations:
            name = self.scope.expand(annotation.name, XQUERY)
            if name.uri == XQUERY and name.local in ("public", "private"):
                seen += 1
                if seen > 1 or visibility == "XQST0125":
                    message = f"%{name.local} does not belong here"
                    hint = "one %public or %private per declaration, none on inline functions"
                    raise self.scope.fault(visibility, message, annotation.span, hint)
            elif name.uri in RESERVED:
                message = f"there is no annotation %{name.lexical}"
                hint = "the language knows %public and %private; others need a namespace of yours"
                raise self.scope.fault("XQST0045", message, annotation.span, hint)
            found.append(Annotation(name, annotation.values, span=annotation.span))
        return tuple(found)

    def type_annotation(self, node: Annotation) -> Annotation:
        """An annotation of a function type."""
        return self.annotations((node,), "XQST0045")[0]

    # ------------------------------------------------------------------------------------------ constructors

    def direct_element(self, node: DirectElement) -> DirectElement:
        """Its own namespace declarations hold for its name, its attributes and its content."""
        scope = self.scope
        outer = scope.namespaces, scope.default_element
        if node.namespaces:
            declared = dict(scope.namespaces)
            for declaration in node.namespaces:
                if declaration.prefix:
                    declared[declaration.prefix] = declaration.uri
                else:
                    scope.default_element = declaration.uri
            scope.namespaces = declared
        name = scope.expand(node.name, scope.default_element)
        attributes: list[DirectAttribute] = []
        for attribute in node.attributes:
            attribute_name = scope.expand(attribute.name)
            if any(attribute_name.expanded == other.name.expanded for other in attributes):
                message = f"two attributes of <{name.lexical}> are called {attribute_name.lexical}"
                raise scope.fault("XQST0040", message, attribute.span, "attribute names are unique")
            attributes.append(DirectAttribute(attribute_name, self.each(attribute.value), span=attribute.span))
        content = self.each(node.content)
        for part in content:
            if isinstance(part, LiteralText) and "$" in part.value:
                self.literal_variable(part)
        scope.namespaces, scope.default_element = outer
        return DirectElement(name, node.namespaces, tuple(attributes), content, span=node.span)

    def literal_variable(self, part: LiteralText) -> None:
        """Warns of ``<a>$x</a>`` where $x is in scope: without braces it is text."""
        for found in find_variables(part.value):
            if ("", found) in self.scope.locals or ("", found) in self.scope.globals:
                message = f"${found} in the content of an element is text, not the variable"
                self.warnings.append(Warning(message, f"write {{${found}}}", span=part.span))

    def computed_element(self, node: ComputedElement) -> ComputedElement:
        if isinstance(node.name, Name):
            name: Name | Expr = self.scope.expand(node.name, self.scope.default_element)
        else:
            name = self.resolve(node.name)
        return ComputedElement(name, self.resolve(node.content), span=node.span)

    def computed_attribute(self, node: ComputedAttribute) -> ComputedAttribute:
        if isinstance(node.name, Name):
            name: Name | Expr = self.scope.expand(node.name)
        else:
            name = self.resolve(node.name)
        return ComputedAttribute(name, self.resolve(node.content), span=node.span)


_RULES: dict[type[Node], Callable[[Resolver, Any], Any]] = {
    **dict.fromkeys(
        (
            *(StringLiteral, IntegerLiteral, DecimalLiteral, DoubleLiteral, LiteralText, ContextItem, Root),
            *(Placeholder, KindTest, PITest, Now, Start, Last, InstantLiteral, DurationLiteral),
        ),
        Resolver.leaf,
    ),
    Annotation: Resolver.type_annotation,
    Arithmetic: Resolver.arithmetic,
    AtomicType: Resolver.atomic_type,
    AttributeTest: Resolver.attribute_test,
    AxisStep: Resolver.axis_step,
    CastAs: Resolver.cast,
    CastableAs: Resolver.cast,
    Catch: Resolver.catch,
    ComputedAttribute: Resolver.computed_attribute,
    ComputedElement: Resolver.computed_element,
    CountClause: Resolver.count_clause,
    DirectElement: Resolver.direct_element,
    ElementTest: Resolver.element_test,
    Extension: Resolver.extension,
    FLWOR: Resolver.flwor,
    ForClause: Resolver.for_clause,
    FunctionCall: Resolver.function_call,
    GroupClause: Resolver.group_clause,
    If: Resolver.conditional,
    InlineFunction: Resolver.inline_function,
    LetClause: Resolver.let_clause,
    NameTest: Resolver.name_test,
    NamedFunctionRef: Resolver.function_ref,
    OrderKey: Resolver.order_key,
    Path: Resolver.path,
    Quantified: Resolver.quantified,
    SchemaTest: Resolver.schema_test,
    TypeCase: Resolver.type_case,
    Typeswitch: Resolver.typeswitch,
    VarRef: Resolver.var_ref,
    Wildcard: Resolver.wildcard,
    WindowClause: Resolver.window_clause,
    WindowCondition: Resolver.window_condition,
}
"""The constructs with a rule of their own; any other only has its children resolved."""
