"""Node constructors, direct and computed, and string constructors (XQuery 3.1 §3.9, §3.10)."""

from __future__ import annotations

import re

from xstreamcast.lang.ast import (
    ComputedAttribute,
    ComputedComment,
    ComputedDocument,
    ComputedElement,
    ComputedNamespace,
    ComputedPI,
    ComputedText,
    DirectAttribute,
    DirectComment,
    DirectElement,
    DirectPI,
    Expr,
    LiteralText,
    Name,
    NamespaceDeclaration,
    Sequence,
    StringConstructor,
)
from xstreamcast.lang.lexical import NCNAME, make_span, match_ncname, match_qname, match_space
from xstreamcast.lang.types import TypeParser
from xstreamcast.model.namespaces import XML, XMLNS

match_content = re.compile(r"[^{}<&\0]*+").match
match_attribute_text = {'"': re.compile(r'[^{}<&"\0]*+').match, "'": re.compile(r"[^{}<&'\0]*+").match}
match_pi = re.compile(rf"<\?({NCNAME})(?:[ \t\r\n]++(.*?))?\?>", re.DOTALL).match
search_string_end = re.compile(r"`\{|\]``").search
to_spaces = str.maketrans("\t\n\r", "   ")

Part = LiteralText | Expr


class Pieces:
    """Collects literal text and expressions; neighbouring texts become one."""

    __slots__ = ("boundary", "in_element", "parts", "start", "strip", "texts")

    def __init__(self, strip: bool, in_element: bool = False) -> None:
        self.strip = strip
        self.in_element = in_element
        self.parts: list[Part] = []
        self.texts: list[str] = []
        self.boundary = True  # so far only literal whitespace, which stripping may drop
        self.start = 0

    def text(self, value: str, start: int, literal: bool = True) -> None:
        """Adds text; what comes from a reference or CDATA section is not boundary whitespace."""
        if not self.texts:
            self.start = start
        self.texts.append(value)
        if self.boundary and (not literal or not value.isspace()):
            self.boundary = False

    def flush(self, end: int) -> None:
        """Ends a run of text."""
        if self.texts:
            value = "".join(self.texts)
            if value and not (self.strip and self.boundary):
                self.parts.append(LiteralText(value, span=make_span((self.start, end))))
            self.texts = []
            self.boundary = True

    def nested(self, value: Expr, start: int) -> None:
        """Adds a constructor that stands in the content itself, from ``start``."""
        self.flush(start)
        self.parts.append(value)

    def enclosed(self, value: Expr, start: int) -> None:
        """Adds an expression in braces. ``{<b/>}`` copies its element, a nested ``<b/>`` is not copied (§3.9.1.3)."""
        if self.in_element and isinstance(value, DirectElement):
            value = Sequence((value,), span=value.span)
        self.nested(value, start)


class ConstructorParser(TypeParser):
    """The rules of constructors."""

    __slots__ = ()

    # ---------------------------------------------------------------------------------------- direct

    def direct(self) -> Expr:
        """A direct constructor where an operand is due; ends like any token, with the space after it skipped."""
        if not self.at("<!--") and not self.at("<?") and match_ncname(self.text, self.pos + 1) is None:
            hint = "'<' begins an element here: its name follows at once"
            self.fail("expected an expression, found '<'", hint=hint)
        constructor = self.direct_constructor(self.pos)
        self.skip(self.pos)
        return constructor

    def direct_constructor(self, start: int) -> Expr:
        """The element, comment or processing instruction at ``start``; ``pos`` ends right behind it."""
        text = self.text
        if text.startswith("<!--", start):
            return self.direct_comment(start)
        if text.startswith("<?", start):
            return self.direct_pi(start)
        return self.direct_element(start)

    def direct_comment(self, start: int) -> DirectComment:
        """``<!-- … -->``; two hyphens only at the end."""
        end = self.text.find("--", start + 4)
        if end < 0:
            self.fail("this comment is not closed", start, "an XML comment ends with '-->'")
        if self.text[end + 2] != ">":
            self.fail("'--' inside an XML comment", end, "only '-->' may hold two hyphens")
        self.pos = self.last = end + 3
        return DirectComment(self.text[start + 4 : end], span=self.span(start))

    def direct_pi(self, start: int) -> DirectPI:
        """``<?target … ?>``."""
        found = match_pi(self.text, start)
        if found is None:
            self.fail("not a processing instruction", start, "it is written <?target content?>")
        target, content = found.groups()
        if not target.isascii():
            self.check_name(*found.span(1))
        if target.lower() == "xml":
            self.fail("a processing instruction cannot be named 'xml'", start)
        self.pos = self.last = found.end()
        return DirectPI(target, content or "", span=self.span(start))

    def direct_name(self, pos: int, what: str) -> Name:
        """A QName at ``pos`` inside a tag; ``pos`` ends right behind it."""
        found = match_qname(self.text, pos)
        if found is None:
            self.pos = pos
            self.unexpected(what)
        if not found.group().isascii():
            self.check_name(*found.span())
        prefix, local = found.groups()
        self.pos = found.end()
        span = make_span((pos, found.end()))
        return Name("", prefix, span=span) if local is None else Name(prefix, local, span=span)

    def direct_element(self, start: int) -> DirectElement:
        """``<name attributes>content</name>`` or ``<name attributes/>``."""
        self.enter()
        outer = self.brackets
        self.brackets = False
        text = self.text
        name = self.direct_name(start + 1, "an element name")
        if name.prefix == "xmlns":
            self.fail("no element can have the prefix 'xmlns'", start + 1, code="XPST0081")
        namespaces: list[NamespaceDeclaration] = []
        attributes: list[DirectAttribute] = []
        while True:
            pos = match_space(text, self.pos).end()
            if text[pos] == ">" or text.startswith("/>", pos):
                break
            if pos == self.pos:
                self.unexpected("'>', '/>' or a space and an attribute")
            self.attribute(pos, namespaces, attributes)
        content: tuple[Part, ...] = ()
        if text[pos] == ">":
            self.pos = pos + 1
            content = self.element_content(name, start)
        else:
            self.pos = pos + 2
        self.last = self.pos
        self.depth -= 1
        self.brackets = outer
        return DirectElement(name, tuple(namespaces), tuple(attributes), content, span=self.span(start))

    def attribute(self, start: int, namespaces: list[NamespaceDeclaration], attributes: list[DirectAttribute]) -> None:
        """One attribute or namespace declaration of a start tag."""
        text = self.text
        name = self.direct_name(start, "an attribute, '>' or '/>'")
        pos = match_space(text, self.pos).end()
        if text[pos] != "=":
            self.pos = pos
            self.unexpected("'='", "every attribute has a value in quotes")
        pos = match_space(text, pos + 1).end()
        if text[pos] not in "\"'":
            self.pos = pos
            self.unexpected("a value in quotes", 'attribute values are quoted: name="{ expression }"')
        value = self.attribute_value(pos)
        self.last = self.pos
        if name.prefix == "xmlns" or (name.prefix == "" and name.local == "xmlns"):
            declaration = self.namespace_attribute(name, value)
            if any(declaration.prefix == other.prefix for other in namespaces):
                message = f"the prefix '{declaration.prefix}' is declared twice"
                self.fail(message, start, "an element declares each prefix once", "XQST0071")
            namespaces.append(declaration)
        else:
            attributes.append(DirectAttribute(name, value, span=self.span(start)))

    def namespace_attribute(self, name: Name, value: tuple[Part, ...]) -> NamespaceDeclaration:
        """``xmlns="uri"`` or ``xmlns:prefix="uri"``: literal, and true to the two names XML reserves."""
        start = name.span.start
        if any(not isinstance(part, LiteralText) for part in value):
            hint = "use 'namespace prefix { uri }' in the content for a computed one"
            self.fail("a namespace declaration cannot hold an expression", start, hint, "XQST0022")
        uri = " ".join("".join(part.value for part in value if isinstance(part, LiteralText)).split())
        prefix = name.local if name.prefix else ""
        if prefix == "xmlns" or uri == XMLNS or (prefix == "xml") != (uri == XML):
            self.fail("xml and xmlns, and their namespaces, cannot be redeclared", start, code="XQST0070")
        if prefix and not uri:
            self.fail(f"the prefix '{prefix}' cannot be undeclared", start, code="XQST0085")
        return NamespaceDeclaration(prefix, uri, span=make_span((start, self.last)))

    def attribute_value(self, start: int) -> tuple[Part, ...]:
        """``"text{e}text"`` from its opening quote; ``pos`` ends behind the closing one."""
        text = self.text
        quote = text[start]
        match_text = match_attribute_text[quote]
        pieces = Pieces(strip=False)
        pos = start + 1
        while True:
            found = match_text(text, pos)
            assert found is not None
            if found.end() > pos:
                pieces.text(found.group().translate(to_spaces), pos)
                pos = found.end()
            char = text[pos]
            if char == quote:
                if text[pos + 1] != quote:
                    break
                pieces.text(quote, pos)
                pos += 2
            elif char == "<":
                self.fail("'<' in an attribute value", pos, "write '&lt;'")
            elif char == "\0":
                self.fail("this attribute value is not closed", start, "it ends with the quote it began with")
            else:
                pos = self.common_content(pieces, pos)
        pieces.flush(pos)
        self.pos = pos + 1
        return tuple(pieces.parts)

    def element_content(self, name: Name, start: int) -> tuple[Part, ...]:
        """From behind a start tag to behind its end tag."""
        text = self.text
        pieces = Pieces(self.strip, in_element=True)
        pos = self.pos
        while True:
            found = match_content(text, pos)
            assert found is not None
            if found.end() > pos:
                pieces.text(found.group(), pos)
                pos = found.end()
            char = text[pos]
            if char == "<":
                if text[pos + 1] == "/":
                    break
                if text.startswith("<![CDATA[", pos):
                    end = text.find("]]>", pos)
                    if end < 0:
                        self.fail("this CDATA section is not closed", pos, "it ends with ']]>'")
                    pieces.text(text[pos + 9 : end], pos, literal=False)
                    pos = end + 3
                else:
                    pieces.nested(self.direct_constructor(pos), pos)
                    pos = self.pos
            elif char == "\0":
                self.fail(f"<{name.lexical}> is not closed", start, f"close it with </{name.lexical}>")
            else:
                pos = self.common_content(pieces, pos)
        pieces.flush(pos)
        closing = self.direct_name(pos + 2, "the name of an end tag")
        if closing.lexical != name.lexical:
            message = f"<{name.lexical}> is closed by </{closing.lexical}>"
            self.fail(message, pos, f"close it with </{name.lexical}>", "XQST0118")
        self.pos = match_space(text, self.pos).end()
        if text[self.pos] != ">":
            self.unexpected("'>'")
        self.pos += 1
        return tuple(pieces.parts)

    def common_content(self, pieces: Pieces, pos: int) -> int:
        """What element content and attribute values share: ``{{``, ``}}``, ``{e}`` and references."""
        text = self.text
        char = text[pos]
        if char == "&":
            value, after = self.reference(pos)
            pieces.text(value, pos, literal=False)
            return after
        if text[pos + 1] == char:  # {{ or }}
            pieces.text(char, pos)
            return pos + 2
        if char == "}":
            self.fail("a lone '}'", pos, "write '}}' for a closing brace in text")
        self.skip(pos + 1)
        pieces.enclosed(self.enclosed_rest(pos), pos)
        return self.pos + 1

    # --------------------------------------------------------------------------------------- computed

    def computed(self, word: str, start: int) -> Expr | None:
        """A computed constructor if what follows ``word`` (already read) makes it one, else None."""
        text = self.text
        if text[self.pos] == "{":
            if word in ("document", "text", "comment"):
                content = self.enclosed()
                span = self.span(start)
                if word == "document":
                    return ComputedDocument(content, span=span)
                return ComputedText(content, span=span) if word == "text" else ComputedComment(content, span=span)
            if word not in ("element", "attribute", "processing-instruction", "namespace"):
                return None
            self.expect("{")
            if self.at("}"):
                self.unexpected("an expression for the name")
            computed_name = self.enclosed_rest(start)
            self.skip(self.pos + 1)
            return self.named_constructor(word, computed_name, start)
        if word not in ("element", "attribute", "processing-instruction", "namespace"):
            return None
        found = match_qname(text, self.pos)
        if found is None:
            return None
        before = self.pos, self.last
        name = self.name()
        if text[self.pos] != "{" or (name.prefix != "" and word in ("processing-instruction", "namespace")):
            self.pos, self.last = before
            return None
        return self.named_constructor(word, name, start)

    def named_constructor(self, word: str, name: Name | Expr, start: int) -> Expr:
        """``word name`` has been read; the content comes next."""
        content = self.enclosed(f"'{word} {{ name }}' is followed by '{{ content }}'")
        span = self.span(start)
        if word == "element":
            return ComputedElement(name, content, span=span)
        if word == "attribute":
            return ComputedAttribute(name, content, span=span)
        target = name.local if isinstance(name, Name) else name
        if word == "namespace":
            return ComputedNamespace(target, content, span=span)
        return ComputedPI(target, content, span=span)

    # ---------------------------------------------------------------------------------------- strings

    def string_constructor(self) -> StringConstructor:
        """```` ``[ … `{e}` … ]`` ````."""
        start = self.pos
        text = self.text
        pieces = Pieces(strip=False)
        pos = start + 3
        while True:
            found = search_string_end(text, pos)
            if found is None:
                self.fail("this string constructor is not closed", start, "it ends with ']``'")
            if found.start() > pos:
                pieces.text(text[pos : found.start()], pos)
            if found.group() == "]``":
                break
            self.skip(found.end())
            pieces.enclosed(self.enclosed_rest(found.start()), found.start())
            if text[self.pos + 1] != "`":
                self.pos += 1
                self.unexpected("'`' after '}'", "an interpolation is written `{ expression }`")
            pos = self.pos + 2
        pieces.flush(found.start())
        self.skip(found.end())
        return StringConstructor(tuple(pieces.parts), span=self.span(start))
