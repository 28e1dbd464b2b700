"""Modules and their prologs: versions, imports, declarations (XQuery 3.1 §4)."""

from __future__ import annotations

import re

from xstreamcast.lang.ast import (
    Annotation,
    ContextItemDecl,
    DecimalFormatDecl,
    Declaration,
    DefaultNamespaceDecl,
    FunctionDecl,
    Module,
    ModuleImport,
    NamespaceDecl,
    OptionDecl,
    SequenceType,
    SetterDecl,
    VariableDecl,
)
from xstreamcast.lang.lexical import match_ncname
from xstreamcast.lang.parser import ExpressionParser
from xstreamcast.lang.types import RESERVED_FUNCTIONS

VERSIONS = ("1.0", "3.0", "3.1")
match_encoding = re.compile(r"[A-Za-z][A-Za-z0-9._\-]*\Z").match

SETTERS = {
    "boundary-space": ("XQST0068", ("preserve", "strip")),
    "construction": ("XQST0067", ("strip", "preserve")),
    "ordering": ("XQST0065", ("ordered", "unordered")),
    "base-uri": ("XQST0032", ()),
    "default-collation": ("XQST0038", ()),
    "order-empty": ("XQST0069", ()),
    "copy-namespaces": ("XQST0055", ()),
}
"""Settings a prolog may give once: the error for twice, and the words a simple one takes."""

DECIMAL_PROPERTIES = (
    *("decimal-separator", "grouping-separator", "infinity", "minus-sign", "NaN", "percent", "per-mille"),
    *("zero-digit", "digit", "pattern-separator", "exponent-separator"),
)

DECLARED = frozenset(
    {
        *("namespace", "default", "boundary-space", "construction", "ordering", "base-uri", "copy-namespaces"),
        *("decimal-format", "option", "context", "variable", "function"),
    }
)
LATE = (ContextItemDecl, VariableDecl, FunctionDecl, OptionDecl)
"""Declarations of the prolog's second part, behind which none of the first part may come."""


class ModuleParser(ExpressionParser):
    """The rules of modules."""

    __slots__ = ()

    def module(self) -> Module:
        """A main or library module, to the end of the text."""
        version, encoding = self.version_declaration()
        namespace = self.module_declaration()
        prolog = self.prolog()
        body = None
        if namespace is None:
            if self.at("\0"):
                self.unexpected("an expression", "a query is a prolog and then an expression")
            body = self.expr()
        if self.pos != len(self.source.text):
            self.unexpected("the end of the query" if body else "a declaration", self.misspelt_declaration())
        self.last = self.pos
        return Module(prolog, body, namespace, version, encoding, source=self.source, span=self.span(0))

    def misspelt_declaration(self) -> str:
        """A hint if what stands here follows the word ``declare``."""
        if not self.source.text[: self.last].endswith("declare"):
            return ""
        from difflib import get_close_matches

        near = get_close_matches(self.word(), sorted(DECLARED), 1)
        return f"did you mean 'declare {near[0]}'?" if near else ""

    def version_declaration(self) -> tuple[str | None, str | None]:
        """``xquery version "3.1" encoding "utf-8";``."""
        start = self.pos
        if self.take_word("xquery") == "":
            return None, None
        version = encoding = None
        if self.word() == "version":
            self.take_word("version")
            here = self.pos
            if self.text[here] not in "\"'":
                self.pos = start
                return None, None
            version = self.string("a version in quotes")
            if version not in VERSIONS:
                hint = "versions 1.0, 3.0 and 3.1 are understood"
                self.fail(f"XQuery version '{version}' is not supported", here, hint, "XQST0031")
        if self.word() == "encoding":
            self.take_word("encoding")
            here = self.pos
            encoding = self.string("an encoding in quotes")
            if match_encoding(encoding) is None:
                self.fail(f"'{encoding}' is not the name of an encoding", here, code="XQST0087")
        if version is None and encoding is None:  # a path that begins with an element called xquery
            self.pos = start
            return None, None
        self.expect(";", "the version declaration ends with a semicolon")
        return version, encoding

    def module_declaration(self) -> NamespaceDecl | None:
        """``module namespace prefix = "uri";``."""
        start = self.pos
        if not self.take_word("module"):
            return None
        if not self.take_word("namespace"):
            self.pos = start
            return None
        prefix = self.ncname("a prefix")
        self.expect("=")
        here = self.pos
        uri = self.uri()
        if not uri:
            self.fail("a module's namespace cannot be empty", here, code="XQST0088")
        self.expect(";", "the module declaration ends with a semicolon")
        return NamespaceDecl(prefix, uri, span=self.span(start))

    # ------------------------------------------------------------------------------------------- prolog

    def prolog(self) -> tuple[Declaration, ...]:
        """Declarations, each with its semicolon."""
        found: list[Declaration] = []
        given: set[str] = set()
        late = False
        while (word := self.word()) in ("declare", "import"):
            start = self.pos
            self.take_word(word)
            following = self.word()
            if word == "import":
                if following not in ("module", "schema"):
                    self.pos = start
                    break
                declaration: Declaration = self.import_(start)
            elif following in DECLARED or self.at("%"):
                declaration = self.declaration(start, given)
            else:
                self.pos = start
                break
            self.expect(";", "a declaration ends with a semicolon")
            if isinstance(declaration, LATE):
                late = True
            elif late:
                hint = "variables, functions and options come after all other declarations"
                self.fail("this declaration comes too late", start, hint)
            found.append(declaration)
        return tuple(found)

    def import_(self, start: int) -> ModuleImport:
        """``import module namespace p = "uri" at "l", …``; a schema import is refused by name."""
        schema = self.take_word("module", "schema") == "schema"
        prefix = ""
        if self.take_word("namespace"):
            prefix = self.ncname("a prefix")
            self.expect("=")
        elif schema and self.take_word("default"):
            self.expect_word("element")
            self.expect_word("namespace")
        here = self.pos
        uri = self.uri()
        if not uri and not schema:
            self.fail("a module's namespace cannot be empty", here, code="XQST0088")
        locations: list[str] = []
        if self.take_word("at"):
            locations.append(self.uri())
            while self.take(","):
                locations.append(self.uri())
        if schema:
            if prefix in ("xml", "xmlns"):
                self.fail("xml and xmlns cannot be declared", start, code="XQST0070")
            if prefix and not uri:
                self.fail("a schema without a namespace takes no prefix", start, code="XQST0057")
            self.fail("schemas are not supported", start, "leave the import out", "XQST0009")
        return ModuleImport(prefix, uri, tuple(locations), span=self.span(start))

    def declaration(self, start: int, given: set[str]) -> Declaration:
        """What follows ``declare``."""
        annotations = self.annotations()
        if annotations:
            word = self.expect_word("function", "variable", hint="only functions and variables are annotated")
        else:
            word = self.ncname()
        if word == "function":
            return self.function_declaration(start, annotations)
        if word == "variable":
            return self.variable_declaration(start, annotations)
        if word == "namespace":
            prefix = self.ncname("a prefix")
            self.expect("=")
            return NamespaceDecl(prefix, self.uri(), span=self.span(start))
        if word == "option":
            name = self.name("the name of an option")
            return OptionDecl(name, self.string(), span=self.span(start))
        if word == "context":
            return self.context_item(start)
        if word == "decimal-format":
            name = self.name("the name of a decimal format")
            return DecimalFormatDecl(name, self.decimal_properties(), span=self.span(start))
        if word == "default":
            return self.default_declaration(start, given)
        return self.setter(word, start, given)

    def default_declaration(self, start: int, given: set[str]) -> Declaration:
        """What follows ``declare default``."""
        word = self.expect_word("element", "function", "collation", "order", "decimal-format")
        if word in ("element", "function"):
            self.expect_word("namespace")
            return DefaultNamespaceDecl(word, self.uri(), span=self.span(start))
        if word == "decimal-format":
            return DecimalFormatDecl(None, self.decimal_properties(), span=self.span(start))
        if word == "collation":
            return self.set_once("default-collation", self.uri(), start, given)
        self.expect_word("empty")
        return self.set_once("order-empty", self.expect_word("greatest", "least"), start, given)

    def setter(self, word: str, start: int, given: set[str]) -> SetterDecl:
        """``declare word value`` for boundary-space, construction, ordering, base-uri, copy-namespaces."""
        if word == "base-uri":
            value = self.uri()
        elif word == "copy-namespaces":
            preserve = self.expect_word("preserve", "no-preserve")
            self.expect(",")
            value = f"{preserve},{self.expect_word('inherit', 'no-inherit')}"
        else:
            value = self.expect_word(*SETTERS[word][1])
        if word == "boundary-space":
            self.strip = value == "strip"
        return self.set_once(word, value, start, given)

    def set_once(self, word: str, value: str, start: int, given: set[str]) -> SetterDecl:
        """A setting, unless it was given before."""
        if word in given:
            self.fail(f"{word} is declared twice", start, code=SETTERS[word][0])
        given.add(word)
        return SetterDecl(word, value, span=self.span(start))

    def decimal_properties(self) -> tuple[tuple[str, str], ...]:
        """``property = "value"``, any number of them."""
        found: list[tuple[str, str]] = []
        while match_ncname(self.text, self.pos):
            here = self.pos
            word = self.expect_word(*DECIMAL_PROPERTIES)
            self.expect("=")
            if any(word == name for name, _ in found):
                self.fail(f"{word} is given twice", here, code="XQST0114")
            found.append((word, self.string()))
        return tuple(found)

    def context_item(self, start: int) -> ContextItemDecl:
        """``declare context`` has been read."""
        self.expect_word("item")
        type_ = self.item_type() if self.take_word("as") else None
        declared = None if type_ is None else SequenceType(type_, span=type_.span)
        external = bool(self.take_word("external"))
        if not external:
            self.expect(":=", "a context item has a value, or is external")
            return ContextItemDecl(declared, self.single(), span=self.span(start))
        value = self.single() if self.take(":=") else None
        return ContextItemDecl(declared, value, True, span=self.span(start))

    def variable_declaration(self, start: int, annotations: tuple[Annotation, ...]) -> VariableDecl:
        """``declare variable`` has been read."""
        name = self.variable()
        type_ = self.type_declaration()
        external = bool(self.take_word("external"))
        value = None
        if external:
            value = self.single() if self.take(":=") else None
        else:
            self.expect(":=", "a variable has a value, or is external")
            value = self.single()
        return VariableDecl(name, type_, value, external, annotations, span=self.span(start))

    def function_declaration(self, start: int, annotations: tuple[Annotation, ...]) -> FunctionDecl:
        """``declare function`` has been read."""
        here = self.pos
        name = self.name("the name of the function")
        if name.prefix == "" and name.local in RESERVED_FUNCTIONS:
            self.fail(f"'{name.local}' is reserved", here, "call it local:" + name.local)
        params = self.params()
        result = self.type_declaration()
        body = None
        if not self.take_word("external"):
            body = self.enclosed("a function's body stands in braces")
        return FunctionDecl(name, params, result, body, annotations, span=self.span(start))
