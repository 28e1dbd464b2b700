"""A document with an internal DTD subset → the same document without it: entities expanded, defaults written out.

expat does the work the specification asks of a non-validating processor: entities, attribute defaults and attribute
types (an ``ID`` is trimmed, a ``CDATA`` is not). External entities are never fetched; expansion is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from xml.parsers import expat
from xml.parsers.expat import ExpatError, errors

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.scan.sequence import Fed, Pieces, another

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

EXPANSION_LIMIT: Final = 100
"""Output may be this many times the input, beyond a first :data:`EXPANSION_FREE` bytes."""
EXPANSION_FREE: Final = 8 << 20


def escape_text(text: str) -> str:
    """Character data as it may stand between tags."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;") if "\r" in text else text


def escape_attribute(text: str) -> str:
    """An attribute's value between double quotes; white space that is not a blank would be normalised away."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")
    return text


_ENTITY: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);|#)([^;\s<&]+);")


_NO_DECLARATION: Final = "declare it in the document, or name the DTD that does: --dtd FILE, dtd="
_HINTS: Final = {
    errors.XML_ERROR_SYNTAX: "this is no XML; is it the right file?",
    errors.XML_ERROR_NO_ELEMENTS: "a document has one root element; is the file complete?",
    errors.XML_ERROR_INVALID_TOKEN: "a tag, a reference or a character is malformed; is the encoding declared rightly?",
    errors.XML_ERROR_UNCLOSED_TOKEN: "is the file complete?",
    errors.XML_ERROR_TAG_MISMATCH: "the element opened last must be closed first",
    errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "an element has an attribute of a name once",
    errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "a document has one root element and no text beside it",
    errors.XML_ERROR_UNDEFINED_ENTITY: _NO_DECLARATION,
    errors.XML_ERROR_RECURSIVE_ENTITY_REF: "an entity must not contain itself",
    errors.XML_ERROR_BAD_CHAR_REF: "XML has no such character",
    errors.XML_ERROR_XML_DECL: 'write <?xml version="1.0" encoding="UTF-8"?>',
    errors.XML_ERROR_MISPLACED_XML_PI: "nothing may stand before <?xml …?>, not even a blank",
    errors.XML_ERROR_INCORRECT_ENCODING: "the bytes are not of that encoding; correct the declaration",
    errors.XML_ERROR_UNBOUND_PREFIX: 'declare its namespace: xmlns:prefix="…"',
}


def moved(begin: tuple[int, int], line: int, column: int) -> tuple[int, int]:
    """The line and column in the input of a place in a document that begins at a line and a column there."""
    return begin[0] + line - 1, column + (begin[1] - 1 if line == 1 else 0)


def parse_fault(
    fault: ExpatError,
    name: str,
    text: bytes = b"",
    unclosed: str = "",
    begin: tuple[int, int] = (1, 1),
    hint: str = "",
) -> XStreamError:
    """expat's error as ours, with its place; ``text``: the input from there on; ``unclosed``: the innermost element;
    ``begin``: line and column where the document begins."""
    message = errors.messages[fault.code]
    hint = hint or _HINTS.get(message, "external entities are not read" if "external" in message else "")
    if message == errors.XML_ERROR_UNDEFINED_ENTITY:
        entity = _ENTITY.search(text)
        message = f"entity {entity[0].decode()} has no declaration here" if entity else message
    elif message == errors.XML_ERROR_NO_ELEMENTS and unclosed:
        message, hint = f"the document is truncated: <{unclosed}> is not closed", "is the file complete?"
    elif message == errors.XML_ERROR_UNCLOSED_TOKEN:
        message = "the document is truncated: a token is not closed"
    elif "amplification" in message:  # older versions of Python have no name for it
        hint = "the entities expand to far more than the document; this is refused"
    return error("XSC0001", message, Place(name, *moved(begin, fault.lineno, fault.offset + 1)), hint)


class _Writer:
    """expat events → text."""

    def __init__(self, name: str, external: External | None = None) -> None:
        self.name = name
        self.out: list[str] = []
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.CommentHandler = self.comment
        parser.ProcessingInstructionHandler = self.instruction
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EndDoctypeDeclHandler = self.doctype_end
        parser.ExternalEntityRefHandler = self.external
        parser.SkippedEntityHandler = self.skipped
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)  # internal ones; external are refused
        if external is not None:
            external.attach(parser, name)
        self.in_dtd = False
        self.depth = 0
        self.ended = False

    def start(self, tag: str, attributes: list[str]) -> None:
        self.depth += 1
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        self.out.append(f"<{tag}" + "".join(f' {key}="{escape_attribute(value)}"' for key, value in pairs) + ">")

    def end(self, tag: str) -> None:
        self.out.append(f"</{tag}>")
        self.depth -= 1
        self.ended = not self.depth

    def text(self, data: str) -> None:
        self.out.append(escape_text(data))

    def comment(self, data: str) -> None:
        if not self.in_dtd:
            self.out.append(f"<!--{data}-->")

    def instruction(self, target: str, data: str) -> None:
        if not self.in_dtd:
            self.out.append(f"<?{target} {data}?>" if data else f"<?{target}?>")

    def doctype(self, *_: object) -> None:
        self.in_dtd = True

    def doctype_end(self) -> None:
        self.in_dtd = False

    def place(self) -> Place:
        return Place(self.name, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def external(self, _context: str, _base: str | None, system: str | None, _public: str | None) -> int:
        raise error("XSC0001", f"external entity {system!r}", self.place(), "external entities are not read")

    def skipped(self, entity: str, parameter: bool) -> None:
        sign = "%" if parameter else "&"
        raise error("XSC0001", f"entity {sign}{entity}; has no declaration here", self.place(), _NO_DECLARATION)


def without_dtd(chunks: Pieces, name: str, many: bool = False, external: External | None = None) -> Iterator[bytes]:
    """Chunks of UTF-8 XML with a DTD → chunks of plain XML.

    ``many``: another document may follow; it is given back to ``chunks``. ``external``: DTDs that may be read.
    """
    writer, fed = _Writer(name, external), Fed()
    given = 0
    try:
        for chunk in chunks:
            writer.parser.Parse(fed.take(chunk, writer.ended), False)
            taken = fed.size
            if writer.out:
                text = "".join(writer.out).encode()
                writer.out.clear()
                given += len(text)
                if given > EXPANSION_FREE + EXPANSION_LIMIT * taken:
                    hint = f"more than {EXPANSION_LIMIT} times the document is refused"
                    raise error("XSC0001", "entities expand without bound", writer.place(), hint)
                yield text
        writer.parser.Parse(b"", True)
    except expat.ExpatError as fault:
        if not many or not writer.ended or not another(fed.rest(writer.parser.ErrorByteIndex), chunks):
            raise parse_fault(fault, name) from None
    finally:
        writer.parser.ExternalEntityRefHandler = None  # it knows the parser
    if writer.out:
        yield "".join(writer.out).encode()
