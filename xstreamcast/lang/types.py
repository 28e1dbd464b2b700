"""Sequence types, item types and node tests (XQuery 3.1 §2.5.4)."""

from __future__ import annotations

from xstreamcast.lang.ast import (
    Annotation,
    AnyItem,
    ArrayTest,
    AtomicType,
    AttributeTest,
    DocumentTest,
    ElementTest,
    FunctionTest,
    ItemType,
    KindTest,
    Literal,
    MapTest,
    Name,
    PITest,
    SchemaTest,
    SequenceType,
    SingleType,
)
from xstreamcast.lang.lexical import Scanner

KINDS = frozenset(
    {
        *("node", "text", "comment", "namespace-node", "element", "attribute", "document-node"),
        *("processing-instruction", "schema-element", "schema-attribute"),
    }
)

RESERVED_FUNCTIONS = KINDS | {"empty-sequence", "function", "if", "item", "switch", "typeswitch", "array", "map"}
"""Unprefixed names that cannot be called (XQuery 3.1 A.3)."""


class TypeParser(Scanner):
    """The rules of types."""

    __slots__ = ()

    def type_declaration(self) -> SequenceType | None:
        """``as T``, if it is there."""
        return self.sequence_type() if self.take_word("as") else None

    def sequence_type(self) -> SequenceType:
        """An item type with its occurrence sign; ``?`` here is never XCQL's ``?[``."""
        start = self.pos
        if self.word() == "empty-sequence":
            mark = self.pos
            self.ncname()
            if self.take("("):
                self.expect(")")
                return SequenceType(None, span=self.span(start))
            self.pos = mark
        item = self.item_type()
        occurrence = ""
        if self.text[self.pos] in "?*+":
            occurrence = self.text[self.pos]
            self.skip(self.pos + 1)
        return SequenceType(item, occurrence, span=self.span(start))

    def single_type(self) -> SingleType:
        """A simple type name and perhaps ``?``."""
        start = self.pos
        name = self.name("a type name")
        return SingleType(name, self.take("?"), span=self.span(start))

    def item_type(self) -> ItemType:
        """ItemType."""
        start = self.pos
        if self.take("("):
            self.enter()
            inner = self.item_type()
            self.depth -= 1
            self.expect(")")
            return inner
        annotations = self.annotations()
        name = self.name("a type")
        if self.text[self.pos] != "(":
            if annotations:
                self.unexpected("'function('", "only function types can carry annotations")
            return AtomicType(name, span=self.span(start))
        if annotations and name.lexical != "function":
            self.fail("only function types can carry annotations", start)
        self.enter()
        found = self.parenthesized_type(name.lexical, start, annotations)
        self.depth -= 1
        if found is None:
            self.fail(f"{name.lexical}() is not a type", start, "atomic types are written without parentheses")
        return found

    def parenthesized_type(self, word: str, start: int, annotations: tuple[Annotation, ...]) -> ItemType | None:
        """``word(…)`` where word is one of the grammar's own; the parenthesis comes next."""
        if word in KINDS:
            return self.kind_test(word, start)
        if word == "item":
            self.expect("(")
            self.expect(")")
            return AnyItem(span=self.span(start))
        if word == "function":
            return self.function_test(start, annotations)
        if word == "map":
            self.expect("(")
            if self.take("*"):
                self.expect(")")
                return MapTest(span=self.span(start))
            key_start = self.pos
            key = AtomicType(self.name("an atomic type"), span=self.span(key_start))
            self.expect(",", "a map type is map(*) or map(key type, value type)")
            value = self.sequence_type()
            self.expect(")")
            return MapTest(key, value, span=self.span(start))
        if word == "array":
            self.expect("(")
            member = None if self.take("*") else self.sequence_type()
            self.expect(")")
            return ArrayTest(member, span=self.span(start))
        return None

    def function_test(self, start: int, annotations: tuple[Annotation, ...]) -> FunctionTest:
        """``(*)`` or ``(T, …) as R``."""
        self.expect("(")
        if self.take("*"):
            self.expect(")")
            return FunctionTest(annotations=annotations, span=self.span(start))
        params: list[SequenceType] = []
        if not self.at(")"):
            params.append(self.sequence_type())
            while self.take(","):
                params.append(self.sequence_type())
        self.expect(")")
        self.expect_word("as", hint="a function type is function(*) or function(T, …) as R")
        return FunctionTest(tuple(params), self.sequence_type(), annotations, span=self.span(start))

    def kind_test(
        self, kind: str, start: int
    ) -> KindTest | ElementTest | AttributeTest | DocumentTest | PITest | SchemaTest:
        """A KindTest whose word has been read; the parenthesis comes next."""
        self.expect("(")
        if kind in ("node", "text", "comment", "namespace-node"):
            self.expect(")", f"{kind}() takes nothing between its parentheses")
            return KindTest(kind, span=self.span(start))
        if kind == "document-node":
            return self.document_test(start)
        if kind == "processing-instruction":
            target = None
            if not self.at(")"):
                quoted = self.text[self.pos] in "\"'"
                target = " ".join(self.string().split()) if quoted else self.ncname("a target name")
            self.expect(")")
            return PITest(target, span=self.span(start))
        if kind.startswith("schema-"):
            declared = self.name("the name of a declaration")
            self.expect(")")
            return SchemaTest(kind, declared, span=self.span(start))
        name, type_, nillable = self.element_or_attribute(kind)
        if kind == "element":
            return ElementTest(name, type_, nillable, span=self.span(start))
        return AttributeTest(name, type_, span=self.span(start))

    def document_test(self, start: int) -> DocumentTest:
        """``document-node(`` has been read."""
        content: ElementTest | SchemaTest | None = None
        if not self.at(")"):
            inner_start = self.pos
            word = self.expect_word("element", "schema-element")
            inner = self.kind_test(word, inner_start)
            assert isinstance(inner, ElementTest | SchemaTest)
            content = inner
        self.expect(")")
        return DocumentTest(content, span=self.span(start))

    def element_or_attribute(self, kind: str) -> tuple[Name | None, Name | None, bool]:
        """``name-or-star, type?)``: what ``element(`` and ``attribute(`` share."""
        if self.take(")"):
            return None, None, False
        name = None if self.take("*") else self.name("a name or '*'")
        type_ = self.name("a type name") if self.take(",") else None
        nillable = type_ is not None and kind == "element" and self.take("?")
        self.expect(")")
        return name, type_, nillable

    def annotations(self) -> tuple[Annotation, ...]:
        """``%name(literals)``, any number of them."""
        found: list[Annotation] = []
        while self.text[self.pos] == "%":
            start = self.pos
            self.skip(start + 1)
            name = self.name("an annotation name")
            values: list[Literal] = []
            if self.take("("):
                values.append(self.literal())
                while self.take(","):
                    values.append(self.literal())
                self.expect(")")
            found.append(Annotation(name, tuple(values), span=self.span(start)))
        return tuple(found)
