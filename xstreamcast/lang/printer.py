"""Syntax trees → XQuery text. ``parse(to_xquery(m))`` equals ``m``, spans aside.

Parentheses appear where precedence asks for them. Text inside direct constructors is never re-indented, for its
whitespace is data; everything else is laid out with one clause per line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, LiteralText, Name, Node
from xstreamcast.lang.lexical import match_ncname
from xstreamcast.lang.parser import ADDITIVE, AND, COMPARISON, CONCAT, INTERSECT, LEVELS, OR, RANGE, UNION
from xstreamcast.lang.xcql import match_moment

SEQUENCE, SINGLE = -1, 0
UNARY, MAP, PATH, FIRST_STEP, STEP, PRIMARY = range(15, 21)
MODULE_WORDS = re.compile(r"(declare|import|module|xquery)\b").match


def to_xquery(node: Node) -> str:
    """The text of a module, declaration, expression or type.

    >>> from xstreamcast.lang import parse
    >>> print(to_xquery(parse("for $x in (1,2) where $x>1 return -($x+1)")))
    for $x in (1, 2)
    where $x > 1
    return -($x + 1)
    """
    return Printer().show(node)


class Printer:
    """Holds the indentation and whether XCQL's brackets are open."""

    def __init__(self) -> None:
        self.indent = 0
        self.brackets = False

    def show(self, node: Node, level: int = SEQUENCE) -> str:
        """The text of a node, in parentheses if it binds less tightly than ``level``."""
        text: str = _RULES[node.__class__](self, node)
        if level > SEQUENCE and isinstance(node, Expr) and binding(node) < level:
            return f"({text})"
        return text

    def line(self) -> str:
        """A new line at the current indentation."""
        return "\n" + "  " * self.indent

    def joined(self, nodes: Iterable[Node], level: int = SINGLE, separator: str = ", ") -> str:
        """Several nodes."""
        return separator.join([self.show(node, level) for node in nodes])

    def block(self, node: Expr | None) -> str:
        """``{ e }``, over several lines if the text has several."""
        if node is None or (isinstance(node, ast.Sequence) and not node.items):
            return "{}"
        outer, self.brackets = self.brackets, False
        self.indent += 1
        text, head = self.show_sequence(node), self.line()
        self.indent -= 1
        self.brackets = outer
        if "\n" in text:
            return "{" + head + text + self.line() + "}"
        return f"{{ {text} }}"

    def show_sequence(self, node: Expr) -> str:
        """An Expr: the one place where commas need no parentheses."""
        if isinstance(node, ast.Sequence) and node.items:
            return self.joined(node.items)
        return self.show(node, SINGLE)

    def typed(self, type_: ast.SequenceType | None) -> str:
        """`` as T`` or nothing."""
        return f" as {self.show(type_)}" if type_ is not None else ""

    # ------------------------------------------------------------------------------------ names and types

    def name(self, node: Name) -> str:
        if node.prefix is None:
            return f"{braced(node.uri or '')}{node.local}"
        return node.lexical

    def wildcard(self, node: ast.Wildcard) -> str:
        if node.local is not None:
            return f"*:{node.local}"
        if node.prefix is not None:
            return f"{node.prefix}:*"
        return "*" if node.uri is None else f"{braced(node.uri)}*"

    def element_test(self, node: ast.ElementTest | ast.AttributeTest) -> str:
        word = "element" if isinstance(node, ast.ElementTest) else "attribute"
        name = self.name(node.name) if node.name else "*" if node.type else ""
        type_ = f", {self.name(node.type)}" if node.type else ""
        nillable = "?" if isinstance(node, ast.ElementTest) and node.nillable else ""
        return f"{word}({name}{type_}{nillable})"

    def document_test(self, node: ast.DocumentTest) -> str:
        return f"document-node({self.show(node.content) if node.content else ''})"

    def pi_test(self, node: ast.PITest) -> str:
        if node.target is None or match_whole_ncname(node.target):
            return f"processing-instruction({node.target or ''})"
        return f"processing-instruction({quote(node.target)})"

    def function_test(self, node: ast.FunctionTest) -> str:
        annotations = self.annotations(node.annotations)
        if node.params is None:
            return f"{annotations}function(*)"
        return f"{annotations}function({self.joined(node.params)}){self.typed(node.result)}"

    def map_test(self, node: ast.MapTest) -> str:
        if node.key is None or node.value is None:
            return "map(*)"
        return f"map({self.show(node.key)}, {self.show(node.value)})"

    def array_test(self, node: ast.ArrayTest) -> str:
        return f"array({self.show(node.member) if node.member else '*'})"

    def sequence_type(self, node: ast.SequenceType) -> str:
        if node.item is None:
            return "empty-sequence()"
        item = self.show(node.item)
        if node.occurrence and isinstance(node.item, ast.FunctionTest):
            item = f"({item})"
        return item + node.occurrence

    def annotations(self, annotations: tuple[ast.Annotation, ...]) -> str:
        return "".join(self.show(annotation) + " " for annotation in annotations)

    def annotation(self, node: ast.Annotation) -> str:
        values = f"({self.joined(node.values)})" if node.values else ""
        return f"%{self.name(node.name)}{values}"

    # ------------------------------------------------------------------------------------------- primaries

    def decimal(self, node: ast.DecimalLiteral) -> str:
        text = format(Decimal(node.value), "f")
        return text if "." in text else text + "."

    def double(self, node: ast.DoubleLiteral) -> str:
        text = repr(node.value)
        if text == "inf":
            return "1e999"
        return text if "e" in text else text + "e0"

    def call(self, node: ast.FunctionCall) -> str:
        return f"{self.name(node.name)}({self.joined(node.args)})"

    def dynamic_call(self, node: ast.DynamicCall) -> str:
        return f"{self.postfix_base(node.function)}({self.joined(node.args)})"

    def inline_function(self, node: ast.InlineFunction) -> str:
        head = f"{self.annotations(node.annotations)}function({self.joined(node.params)})"
        return f"{head}{self.typed(node.result)} {self.block(node.body)}"

    def param(self, node: ast.Param) -> str:
        return f"${self.name(node.name)}{self.typed(node.type)}"

    def lookup(self, node: ast.Lookup) -> str:
        base = "" if node.base is None else self.postfix_base(node.base)
        key = node.key
        if key is None:
            return f"{base}?*"
        if isinstance(key, ast.StringLiteral) and match_whole_ncname(key.value):
            return f"{base}?{key.value}"
        if isinstance(key, ast.IntegerLiteral):
            return f"{base}?{key.value}"
        return f"{base}?({self.show_sequence(key)})"

    def map_constructor(self, node: ast.MapConstructor) -> str:
        if not node.entries:
            return "map {}"
        outer, self.brackets = self.brackets, False
        entries = self.joined(node.entries)
        self.brackets = outer
        return f"map {{ {entries} }}"

    def map_entry(self, node: ast.MapEntry) -> str:
        return f"{self.show(node.key, SINGLE)} : {self.show(node.value, SINGLE)}"

    def string_constructor(self, node: ast.StringConstructor) -> str:
        parts = [part.value if isinstance(part, LiteralText) else f"`{{{self.enclosed(part)}}}`" for part in node.parts]
        return f"``[{''.join(parts)}]``"

    def enclosed(self, node: Expr) -> str:
        """The inside of a ``{ }`` within text."""
        outer, self.brackets = self.brackets, False
        text = self.show_sequence(node)
        self.brackets = outer
        return text

    def pragma(self, node: ast.Pragma) -> str:
        return f"(# {self.name(node.name)} {node.content}#)"

    def extension(self, node: ast.Extension) -> str:
        body = "{ () }" if node.body == ast.Sequence() else self.block(node.body)  # {} would be no expression at all
        return f"{self.joined(node.pragmas, separator=' ')} {body}"

    # -------------------------------------------------------------------------------------------- paths

    def axis_step(self, node: ast.AxisStep) -> str:
        test, predicates = node.test, "".join(self.predicate(p) for p in node.predicates)
        shown = self.show(test)
        if node.axis == "attribute":
            return f"@{shown}{predicates}"
        if node.axis == "parent" and test == ast.KindTest("node"):
            return f"..{predicates}"
        if node.axis != "child" or self.needs_axis(test, shown):
            shown = f"{node.axis}::{shown}"
        return shown + predicates

    def needs_axis(self, test: ast.NodeTest, shown: str) -> bool:
        """Whether a child step would mean something else without ``child::``."""
        if isinstance(test, ast.AttributeTest) or shown == "namespace-node()":
            return True
        if isinstance(test, ast.SchemaTest):
            return test.kind == "schema-attribute"
        return self.brackets and match_moment(shown + "-") is not None

    def predicate(self, node: Expr) -> str:
        return f"[{self.enclosed(node)}]"

    def path(self, node: ast.Path) -> str:
        any_node = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
        text = ""
        last = len(node.steps) - 1
        for i, step in enumerate(node.steps):
            if i == 0 and isinstance(step, ast.Root):
                text = "/"
            elif step == any_node and 0 < i < last:
                text = text.removesuffix("/") + "//"
            else:
                shown = self.show(step, FIRST_STEP if i == 0 else STEP)
                text += shown if i == last else shown + "/"
        return text

    def filter(self, node: ast.Filter) -> str:
        base = self.postfix_base(node.base)
        if isinstance(node.base, ast.Filter):
            base = f"({self.show(node.base)})"
        return base + "".join(self.predicate(p) for p in node.predicates)

    def postfix_base(self, node: Expr) -> str:
        """What a predicate, call or lookup applies to: a step would take it for its own."""
        if isinstance(node, ast.AxisStep) or binding(node) < STEP:
            if has_version_projection(node):
                return self.show(node)
            return f"({self.show(node)})"
        return self.show(node)

    # ---------------------------------------------------------------------------------------- operators

    def arithmetic(self, node: ast.Arithmetic) -> str:
        level = LEVELS[node.op]
        right: list[str] = []
        left: Expr = node
        while isinstance(left, ast.Arithmetic) and LEVELS[left.op] == level:
            right.append(f" {left.op} {self.show(left.right, level + 1)}")
            left = left.left
        return self.show(left, level) + "".join(reversed(right))

    def comparison(self, node: Any) -> str:
        op = node.relation if isinstance(node, ast.AllenComparison) else node.op
        return f"{self.show(node.left, COMPARISON + 1)} {op} {self.show(node.right, COMPARISON + 1)}"

    def pair(self, word: str, level: int) -> Callable[[Any], str]:
        """A binary operator whose operands are called left and right."""
        return lambda node: f"{self.show(node.left, level)} {word} {self.show(node.right, level + 1)}"

    def intersect(self, node: ast.Intersect | ast.Except) -> str:
        word = "intersect" if isinstance(node, ast.Intersect) else "except"
        return self.pair(word, INTERSECT)(node)

    def chain(self, node: ast.Or | ast.And | ast.Concat | ast.Union) -> str:
        word, level = _CHAINS[node.__class__]
        return self.joined(node.operands, level + 1, f" {word} ")

    def unary(self, node: ast.Unary) -> str:
        return node.op + self.show(node.operand, MAP)

    def typed_operation(self, node: Any) -> str:
        word = _TYPED[node.__class__]
        return f"{self.show(node.operand, LEVELS['=>'])} {word} {self.show(node.type)}"

    # ------------------------------------------------------------------------------- FLWOR and control

    def flwor(self, node: ast.FLWOR) -> str:
        lines = [self.show(clause) for clause in node.clauses]
        lines.append(f"return {self.nested(node.result)}")
        return self.line().join(lines)

    def nested(self, node: Expr) -> str:
        """An ExprSingle; a FLWOR goes on a line of its own."""
        if not isinstance(node, ast.FLWOR):
            return self.show(node, SINGLE)
        self.indent += 1
        text = self.line() + self.show(node, SINGLE)
        self.indent -= 1
        return text

    def for_clause(self, node: ast.ForClause) -> str:
        empty = " allowing empty" if node.allowing_empty else ""
        position = f" at ${self.name(node.position)}" if node.position else ""
        return f"for ${self.name(node.var)}{self.typed(node.type)}{empty}{position} in {self.nested(node.source)}"

    def let_clause(self, node: ast.LetClause) -> str:
        return f"let ${self.name(node.var)}{self.typed(node.type)} := {self.nested(node.value)}"

    def window_clause(self, node: ast.WindowClause) -> str:
        kind = "sliding" if node.sliding else "tumbling"
        text = f"for {kind} window ${self.name(node.var)}{self.typed(node.type)} in {self.nested(node.source)}"
        self.indent += 1
        text += f"{self.line()}start {self.show(node.start)}"
        if node.end is not None:
            text += f"{self.line()}{'only ' if node.only_end else ''}end {self.show(node.end)}"
        self.indent -= 1
        return text

    def window_condition(self, node: ast.WindowCondition) -> str:
        words = (("", node.current), ("at ", node.position), ("previous ", node.previous), ("next ", node.next))
        variables = "".join(f"{word}${self.name(name)} " for word, name in words if name is not None)
        return f"{variables}when {self.show(node.when, SINGLE)}"

    def where_clause(self, node: ast.WhereClause) -> str:
        return f"where {self.nested(node.condition)}"

    def group_clause(self, node: ast.GroupClause) -> str:
        return f"group by {self.joined(node.keys)}"

    def group_key(self, node: ast.GroupKey) -> str:
        value = f"{self.typed(node.type)} := {self.show(node.value, SINGLE)}" if node.value is not None else ""
        return f"${self.name(node.var)}{value}{collated(node.collation)}"

    def order_clause(self, node: ast.OrderClause) -> str:
        return f"{'stable ' if node.stable else ''}order by {self.joined(node.keys)}"

    def order_key(self, node: ast.OrderKey) -> str:
        text = self.show(node.key, SINGLE) + (" descending" if node.descending else "")
        if node.empty_least is not None:
            text += f" empty {'least' if node.empty_least else 'greatest'}"
        return text + collated(node.collation)

    def count_clause(self, node: ast.CountClause) -> str:
        return f"count ${self.name(node.var)}"

    def quantified(self, node: ast.Quantified) -> str:
        bindings = ", ".join(
            f"${self.name(b.var)}{self.typed(b.type)} in {self.show(b.source, SINGLE)}" for b in node.bindings
        )
        return f"{'every' if node.every else 'some'} {bindings} satisfies {self.show(node.condition, SINGLE)}"

    def conditional(self, node: ast.If) -> str:
        pieces: list[str] = []
        rest: Expr = node
        while isinstance(rest, ast.If):
            pieces.append(f"if ({self.show_sequence(rest.condition)}) then {self.nested(rest.then)} else ")
            rest = rest.otherwise
        return "".join(pieces) + self.nested(rest)

    def switch(self, node: ast.Switch) -> str:
        text = f"switch ({self.show_sequence(node.operand)})"
        self.indent += 1
        for case in node.cases:
            text += self.line() + "".join(f"case {self.show(value, SINGLE)} " for value in case.values)
            text += f"return {self.nested(case.result)}"
        text += f"{self.line()}default return {self.nested(node.default)}"
        self.indent -= 1
        return text

    def typeswitch(self, node: ast.Typeswitch) -> str:
        text = f"typeswitch ({self.show_sequence(node.operand)})"
        self.indent += 1
        for case in node.cases:
            var = f"${self.name(case.var)} as " if case.var else ""
            types = self.joined(case.types, separator=" | ")
            text += f"{self.line()}case {var}{types} return {self.nested(case.result)}"
        var = f"${self.name(node.default_var)} " if node.default_var else ""
        text += f"{self.line()}default {var}return {self.nested(node.default)}"
        self.indent -= 1
        return text

    def try_catch(self, node: ast.TryCatch) -> str:
        return f"try {self.block(node.body)} {self.joined(node.catches, separator=' ')}"

    def catch(self, node: ast.Catch) -> str:
        return f"catch {self.joined(node.tests, separator=' | ')} {self.block(node.handler)}"

    # ------------------------------------------------------------------------------------- constructors

    def direct_element(self, node: ast.DirectElement) -> str:
        name = node.name.lexical
        text = f"<{name}"
        for declared in node.namespaces:
            prefix = f"xmlns:{declared.prefix}" if declared.prefix else "xmlns"
            text += f' {prefix}="{self.attribute_text(declared.uri)}"'
        for attribute in node.attributes:
            value = "".join(
                self.attribute_text(part.value) if isinstance(part, LiteralText) else f"{{{self.enclosed(part)}}}"
                for part in attribute.value
            )
            text += f' {attribute.name.lexical}="{value}"'
        if not node.content:
            return text + "/>"
        return f"{text}>{''.join(map(self.content, node.content))}</{name}>"

    def content(self, part: LiteralText | Expr) -> str:
        """One piece of a direct element's content."""
        if isinstance(part, LiteralText):
            text = escape(part.value).replace("<", "&lt;").replace("{", "{{").replace("}", "}}")
            if not part.value.strip(" \t\n"):  # else it would pass for boundary whitespace
                text = f"&#{ord(part.value[0])};{part.value[1:]}"
            return text
        if isinstance(part, ast.DirectElement | ast.DirectComment | ast.DirectPI):
            return self.show(part)
        return f"{{{self.enclosed(part)}}}"

    def attribute_text(self, value: str) -> str:
        """Literal text of an attribute value."""
        text = escape(value).replace("<", "&lt;").replace('"', "&quot;").replace("{", "{{").replace("}", "}}")
        return text.replace("\n", "&#10;").replace("\t", "&#9;")

    def direct_comment(self, node: ast.DirectComment) -> str:
        return f"<!--{node.text}-->"

    def direct_pi(self, node: ast.DirectPI) -> str:
        return f"<?{node.target} {node.text}?>" if node.text else f"<?{node.target}?>"

    def computed(self, node: Any) -> str:
        word, part = _COMPUTED[node.__class__]
        content = node.uri if isinstance(node, ast.ComputedNamespace) else node.content
        if not part:
            return f"{word} {self.block(content)}"
        name = getattr(node, part)
        shown = name if isinstance(name, str) else self.name(name) if isinstance(name, Name) else self.named(name)
        return f"{word} {shown} {self.block(content)}"

    def named(self, node: Expr) -> str:
        """``{ e }`` where e computes a name; unlike content it is never empty."""
        return f"{{ {self.enclosed(node)} }}"

    # --------------------------------------------------------------------------------------------- XCQL

    def interval_projection(self, node: ast.IntervalProjection) -> str:
        base = node.base
        own = isinstance(base, ast.AxisStep) or has_version_projection(base)
        return (self.show(base) if own else self.postfix_base(base)) + "?" + self.bounds(node.begin, node.end)

    def version_projection(self, node: ast.VersionProjection) -> str:
        return f"{self.show(node.base, PATH)}#{self.bounds(node.first, node.last)}"

    def bounds(self, lower: Expr, upper: Expr | None) -> str:
        outer, self.brackets = self.brackets, True
        both = (lower,) if upper is None else (lower, upper)
        text = f"[{self.joined(both)}]"
        self.brackets = outer
        return text

    # ------------------------------------------------------------------------------------------ modules

    def module(self, node: ast.Module) -> str:
        lines: list[str] = []
        if node.version or node.encoding:
            version = f" version {quote(node.version)}" if node.version else ""
            encoding = f" encoding {quote(node.encoding)}" if node.encoding else ""
            lines.append(f"xquery{version}{encoding};")
        if node.namespace is not None:
            lines.append(f"module namespace {node.namespace.prefix} = {quote(node.namespace.uri)};")
        lines += [self.show(declaration) + ";" for declaration in node.prolog]
        if node.body is not None:
            body = self.show_sequence(node.body)
            lines.append(f"({body})" if MODULE_WORDS(body) else body)
        return "\n".join(lines)

    def namespace_decl(self, node: ast.NamespaceDecl) -> str:
        return f"declare namespace {node.prefix} = {quote(node.uri)}"

    def default_namespace_decl(self, node: ast.DefaultNamespaceDecl) -> str:
        return f"declare default {node.kind} namespace {quote(node.uri)}"

    def setter_decl(self, node: ast.SetterDecl) -> str:
        if node.setting == "base-uri":
            return f"declare base-uri {quote(node.value)}"
        if node.setting == "default-collation":
            return f"declare default collation {quote(node.value)}"
        if node.setting == "order-empty":
            return f"declare default order empty {node.value}"
        return f"declare {node.setting} {node.value}"

    def decimal_format_decl(self, node: ast.DecimalFormatDecl) -> str:
        head = "declare default decimal-format"
        if node.name is not None:
            head = f"declare decimal-format {self.name(node.name)}"
        return head + "".join(f" {word} = {quote(value)}" for word, value in node.properties)

    def option_decl(self, node: ast.OptionDecl) -> str:
        return f"declare option {self.name(node.name)} {quote(node.value)}"

    def module_import(self, node: ast.ModuleImport) -> str:
        prefix = f" namespace {node.prefix} =" if node.prefix else ""
        locations = f" at {', '.join(map(quote, node.locations))}" if node.locations else ""
        return f"import module{prefix} {quote(node.uri)}{locations}"

    def context_item_decl(self, node: ast.ContextItemDecl) -> str:
        return f"declare context item{self.typed(node.type)}{self.initial(node)}"

    def variable_decl(self, node: ast.VariableDecl) -> str:
        head = f"declare {self.annotations(node.annotations)}variable ${self.name(node.name)}"
        return f"{head}{self.typed(node.type)}{self.initial(node)}"

    def initial(self, node: ast.ContextItemDecl | ast.VariableDecl) -> str:
        """``external`` and ``:= value``."""
        value = f" := {self.show(node.value, SINGLE)}" if node.value is not None else ""
        return (" external" if node.external else "") + value

    def function_decl(self, node: ast.FunctionDecl) -> str:
        head = f"declare {self.annotations(node.annotations)}function {self.name(node.name)}"
        body = self.block(node.body) if node.body is not None else "external"
        return f"{head}({self.joined(node.params)}){self.typed(node.result)} {body}"


def escape(text: str) -> str:
    """Ampersands and carriage returns as references."""
    return text.replace("&", "&amp;").replace("\r", "&#13;")


def braced(uri: str) -> str:
    """``Q{uri}``."""
    inside = escape(uri).replace("{", "&#123;").replace("}", "&#125;")
    return f"Q{{{inside}}}"


def quote(text: str) -> str:
    """A string literal."""
    return '"' + escape(text).replace('"', '""') + '"'


def match_whole_ncname(text: str) -> bool:
    """Whether a text can be written as a name; beyond ASCII it is quoted, which is always right."""
    found = match_ncname(text)
    return found is not None and found.end() == len(text) and text.isascii()


def collated(uri: str | None) -> str:
    """`` collation "uri"`` or nothing."""
    return f" collation {quote(uri)}" if uri is not None else ""


def has_version_projection(node: Expr) -> bool:
    """Whether a postfix chain hangs on a version projection, which takes the whole path on its left."""
    while isinstance(node, ast.Filter | ast.IntervalProjection | ast.Lookup | ast.DynamicCall):
        below = node.function if isinstance(node, ast.DynamicCall) else node.base
        if below is None:
            return False
        node = below
    return isinstance(node, ast.VersionProjection)


def binding(node: Expr) -> int:
    """How tightly an expression binds: the level it can be an operand of without parentheses."""
    if isinstance(node, ast.Arithmetic):
        return LEVELS[node.op]
    if has_version_projection(node):
        return FIRST_STEP  # never a later one
    return _BINDING.get(node.__class__, PRIMARY)


_CHAINS = {
    ast.Or: ("or", OR),
    ast.And: ("and", AND),
    ast.Concat: ("||", CONCAT),
    ast.Union: ("|", UNION),
}
_TYPED = {
    ast.InstanceOf: "instance of",
    ast.TreatAs: "treat as",
    ast.CastableAs: "castable as",
    ast.CastAs: "cast as",
}
_COMPUTED = {
    ast.ComputedDocument: ("document", ""),
    ast.ComputedElement: ("element", "name"),
    ast.ComputedAttribute: ("attribute", "name"),
    ast.ComputedText: ("text", ""),
    ast.ComputedComment: ("comment", ""),
    ast.ComputedPI: ("processing-instruction", "target"),
    ast.ComputedNamespace: ("namespace", "prefix"),
}
_BINDING: dict[type[Node], int] = {
    **dict.fromkeys((ast.FLWOR, ast.Quantified, ast.If, ast.Switch, ast.Typeswitch, ast.TryCatch), SINGLE),
    # a type at the end would take a following * or + for its occurrence sign, so these always get parentheses
    **dict.fromkeys(_TYPED, OR),
    ast.Or: OR,
    ast.And: AND,
    **dict.fromkeys((ast.GeneralComparison, ast.ValueComparison, ast.NodeComparison, ast.AllenComparison), COMPARISON),
    ast.Concat: CONCAT,
    ast.Range: RANGE,
    ast.Union: UNION,
    ast.Intersect: INTERSECT,
    ast.Except: INTERSECT,
    ast.Unary: UNARY,
    ast.SimpleMap: MAP,
    ast.Extension: MAP,
    # bare words of the brackets take no postfix and no further steps
    **dict.fromkeys((ast.Now, ast.Start, ast.Last, ast.InstantLiteral, ast.DurationLiteral), PATH),
    ast.Path: PATH,
    ast.AxisStep: STEP,
}


def _fixed(text: str) -> Callable[[Printer, Any], str]:
    return lambda printer, node: text


_RULES: dict[type[Node], Callable[[Printer, Any], str]] = {
    ast.Name: Printer.name,
    ast.NameTest: lambda p, n: p.name(n.name),
    ast.Wildcard: Printer.wildcard,
    ast.KindTest: lambda p, n: f"{n.kind}()",
    ast.ElementTest: Printer.element_test,
    ast.AttributeTest: Printer.element_test,
    ast.DocumentTest: Printer.document_test,
    ast.PITest: Printer.pi_test,
    ast.SchemaTest: lambda p, n: f"{n.kind}({p.name(n.name)})",
    ast.AnyItem: _fixed("item()"),
    ast.AtomicType: lambda p, n: p.name(n.name),
    ast.FunctionTest: Printer.function_test,
    ast.MapTest: Printer.map_test,
    ast.ArrayTest: Printer.array_test,
    ast.SequenceType: Printer.sequence_type,
    ast.SingleType: lambda p, n: p.name(n.name) + ("?" if n.optional else ""),
    ast.StringLiteral: lambda p, n: quote(n.value),
    ast.IntegerLiteral: lambda p, n: str(n.value),
    ast.DecimalLiteral: Printer.decimal,
    ast.DoubleLiteral: Printer.double,
    ast.VarRef: lambda p, n: f"${p.name(n.name)}",
    ast.ContextItem: _fixed("."),
    ast.Sequence: lambda p, n: f"({p.joined(n.items)})",
    ast.Placeholder: _fixed("?"),
    ast.FunctionCall: Printer.call,
    ast.NamedFunctionRef: lambda p, n: f"{p.name(n.name)}#{n.arity}",
    ast.Param: Printer.param,
    ast.Annotation: Printer.annotation,
    ast.InlineFunction: Printer.inline_function,
    ast.DynamicCall: Printer.dynamic_call,
    ast.Lookup: Printer.lookup,
    ast.MapConstructor: Printer.map_constructor,
    ast.MapEntry: Printer.map_entry,
    ast.SquareArray: lambda p, n: f"[{p.joined(n.members)}]",
    ast.CurlyArray: lambda p, n: f"array {p.block(n.content)}",
    ast.StringConstructor: Printer.string_constructor,
    ast.Ordering: lambda p, n: f"{'ordered' if n.ordered else 'unordered'} {p.block(n.body)}",
    ast.Pragma: Printer.pragma,
    ast.Extension: Printer.extension,
    ast.Root: _fixed("(/)"),
    ast.AxisStep: Printer.axis_step,
    ast.Path: Printer.path,
    ast.Filter: Printer.filter,
    ast.SimpleMap: lambda p, n: p.joined(n.steps, PATH, " ! "),
    **dict.fromkeys(_CHAINS, Printer.chain),
    ast.GeneralComparison: Printer.comparison,
    ast.ValueComparison: Printer.comparison,
    ast.NodeComparison: Printer.comparison,
    ast.AllenComparison: Printer.comparison,
    ast.Range: lambda p, n: f"{p.show(n.first, ADDITIVE)} to {p.show(n.last, ADDITIVE)}",
    ast.Arithmetic: Printer.arithmetic,
    ast.Unary: Printer.unary,
    ast.Intersect: Printer.intersect,
    ast.Except: Printer.intersect,
    **dict.fromkeys(_TYPED, Printer.typed_operation),
    ast.FLWOR: Printer.flwor,
    ast.ForClause: Printer.for_clause,
    ast.LetClause: Printer.let_clause,
    ast.WindowClause: Printer.window_clause,
    ast.WindowCondition: Printer.window_condition,
    ast.WhereClause: Printer.where_clause,
    ast.GroupClause: Printer.group_clause,
    ast.GroupKey: Printer.group_key,
    ast.OrderClause: Printer.order_clause,
    ast.OrderKey: Printer.order_key,
    ast.CountClause: Printer.count_clause,
    ast.Quantified: Printer.quantified,
    ast.If: Printer.conditional,
    ast.Switch: Printer.switch,
    ast.Typeswitch: Printer.typeswitch,
    ast.TryCatch: Printer.try_catch,
    ast.Catch: Printer.catch,
    ast.DirectElement: Printer.direct_element,
    ast.DirectComment: Printer.direct_comment,
    ast.DirectPI: Printer.direct_pi,
    **dict.fromkeys(_COMPUTED, Printer.computed),
    ast.IntervalProjection: Printer.interval_projection,
    ast.VersionProjection: Printer.version_projection,
    ast.Now: _fixed("now"),
    ast.Start: _fixed("start"),
    ast.Last: _fixed("last"),
    ast.InstantLiteral: lambda p, n: n.value,
    ast.DurationLiteral: lambda p, n: n.value,
    ast.Module: Printer.module,
    ast.NamespaceDecl: Printer.namespace_decl,
    ast.DefaultNamespaceDecl: Printer.default_namespace_decl,
    ast.SetterDecl: Printer.setter_decl,
    ast.DecimalFormatDecl: Printer.decimal_format_decl,
    ast.OptionDecl: Printer.option_decl,
    ast.ModuleImport: Printer.module_import,
    ast.ContextItemDecl: Printer.context_item_decl,
    ast.VariableDecl: Printer.variable_decl,
    ast.FunctionDecl: Printer.function_decl,
}
"""How each construct is written."""
