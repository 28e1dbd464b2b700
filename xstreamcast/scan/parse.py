"""XML text to trees, by expat: no external entities, bounded expansion, no Python object per node.

>>> parse("<a><b n='1'>x</b></a>").string
'x'
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, XStreamError, error, missing_file
from xstreamcast.model.build import TreeBuilder, simple_content
from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.names import (
    ATTRIBUTE,
    COMMENT,
    DOCUMENT,
    ELEMENT,
    PI,
    TEXT,
    intern,
    intern_prefix,
)
from xstreamcast.model.tree import Node, Tree
from xstreamcast.scan.archives import is_document, is_member, size_of, uri_at
from xstreamcast.scan.encoding import (
    Meter,
    Source,
    decoded_chunks,
    expat_chunks,
    has_internal_subset,
    open_input,
    plain_chunks,
    read_chunks,
    source_name,
)
from xstreamcast.scan.normalise import moved, parse_fault
from xstreamcast.scan.sequence import MANY_HINT, Fed, Pieces, another, begins_document, between, told_bare

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

KERNEL_FROM = 2 << 20
"""Bytes from which the scan kernel reads a file: loading it takes as long as a tree of so much."""
TREE_FROM = 1 << 16
"""Bytes from which it reads a file once it is loaded, for a tree."""
_unaided = 0
"""Bytes of files from :data:`TREE_FROM` on that were read without it."""
_BEGINNING = 1 << 16
"""Bytes in which the root element of a document is looked for."""
LOOKED_THROUGH = 16 << 20
"""Bytes of a document in which names are looked for."""
_SEPARATOR = "\x01"  # between uri, local name and prefix in expat's names: not an XML character
_elements: dict[str, tuple[int, int]] = {}
_attributes: dict[str, tuple[int, int]] = {}
"""Expat's names that have been met: the ids of name and prefix."""


class _Deep(Exception):
    """An element in too many others."""


class _Outside(Exception):
    """An entity that is not in the document."""


def parse(
    source: str | bytes | BinaryIO,
    base_uri: str | None = None,
    document_uri: str | None = None,
    name: str = "",
    wrapped: int = 0,
    *,
    many: bool = False,
    external: External | None = None,
) -> Node:
    """The document node of XML text (str), bytes in any encoding, or an open binary file; errors call it ``name``.

    ``wrapped``: so many of its outermost elements are ours, and do not count as levels.

    ``many``: several documents may follow each other; their root elements are those of one document node.
    ``external``: DTDs outside of the document that may be read.

    >>> len(parse("<?xml version='1.0'?><a/> <?xml version='1.0'?><b/>", many=True).children())
    2
    """
    name = name or document_uri or base_uri or ""
    tree = Tree(base_uri, document_uri)
    meter = Meter()
    chunks: Iterable[bytes]
    if isinstance(source, str):
        chunks = (source.encode("utf-8", "surrogatepass"),)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        chunks = (bytes(source),) if external is not None else expat_chunks((bytes(source),), name, meter)
    else:
        name = name or source_name(source)
        chunks = read_chunks(source, name)
        chunks = chunks if external is not None else expat_chunks(chunks, name, meter)
    if external is not None:
        chunks = plain_chunks(chunks, name, many, meter, external)
        meter.decoded = True
    handlers = _Handlers(tree, deepest() + wrapped)
    pieces = Pieces(chunks)
    encoding = "utf-8" if isinstance(source, str) or external is not None else None
    at = _one(pieces, handlers, encoding, (1, 1), name, many)
    if at is not None and meter.encoding != "utf-8" and not meter.decoded:
        pieces = Pieces(decoded_chunks(pieces, meter.encoding, name, blank=False))
    bare = True
    while at is not None and (more := _passed(pieces, at, meter.encoding, name)) is not None:
        if bare and more.bare:
            told_bare(Place(name, *more.at))
        bare = False
        at = _one(pieces, handlers, "utf-8", more.at, name, many)
    handlers.finish()
    return tree.root


def _one(
    pieces: Pieces, handlers: _Handlers, encoding: str | None, begin: tuple[int, int], name: str, many: bool
) -> tuple[int, int] | None:
    """Parse a document that begins at a line and a column; where another begins, if one does: it is given back."""
    import pyexpat

    parser = pyexpat.ParserCreate(encoding, _SEPARATOR)
    handlers.attach(parser)
    fed = Fed()
    try:
        for chunk in pieces:
            parser.Parse(fed.take(chunk, handlers.ended), False)
        parser.Parse(b"", True)
    except pyexpat.ExpatError as failure:
        hint = ""
        if handlers.ended:
            rest = fed.rest(parser.ErrorByteIndex)
            if many and another(rest, pieces):
                return moved(begin, failure.lineno, failure.offset + 1)
            hint = MANY_HINT if begins_document(rest) else ""
        raise parse_fault(failure, name, unclosed=handlers.unclosed(), begin=begin, hint=hint) from None
    except _Deep:
        place = Place(name, *moved(begin, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        raise too_deep(place) from None
    except _Outside as entity:
        place = Place(name, *moved(begin, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        hint = "name the DTD that declares it: --dtd FILE, dtd="
        raise error("XSC0001", f"entity {entity} is outside the document", place, hint) from None
    return None


@dataclass(frozen=True, slots=True)
class _Next:
    """Where the next document begins, and whether nothing told that one would."""

    at: tuple[int, int]
    bare: bool


def _passed(pieces: Pieces, at: tuple[int, int], encoding: str, name: str) -> _Next | None:
    """Pass over what stands between two documents; None if there is no other."""
    passed, whole, head = b"", False, b""
    while True:
        try:
            size = between(head, encoding)
        except XStreamError as fault:
            raise error("XSC0001", fault.message, Place(name, *_after(at, passed)), fault.hint) from None
        blank = len(head) - len(head.lstrip(b" \t\r\n"))
        if size and b"<?xml" in passed and head.startswith(b"<?xml"):
            raise error("XSC0001", "a second XML declaration", Place(name, *_after(at, passed)), "a document has one")
        if size or blank:
            passed, head = passed + head[: size or blank], head[size or blank :]
        elif size is None and not whole:
            piece = next(pieces, None)
            whole, head = piece is None, head + (piece or b"")
        else:
            pieces.give_back(head)
            if not head and b"<?xml" not in passed:
                return None
            return _Next(_after(at, passed), not passed.strip() and not head.startswith(b"<!DOCTYPE"))


def _after(at: tuple[int, int], passed: bytes) -> tuple[int, int]:
    """The line and column after some bytes."""
    line, last = passed.count(b"\n"), passed.rpartition(b"\n")[2]
    return moved(at, line + 1, len(last.decode("utf-8", "replace")) + 1)


def parse_forest(text: str | bytes, base_uri: str | None = None, document_uri: str | None = None) -> Node:
    """A document node whose children are any content: text, several elements, or nothing at all.

    >>> [child.string for child in parse_forest("a<b>c</b>d").children()]
    ['a', 'c', 'd']
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    wrapper = parse(b"<forest>" + data + b"</forest>", base_uri, document_uri, wrapped=1).children()
    if len(wrapper) != 1:
        raise error("XSC0001", "the content ends what it did not begin", Place(document_uri or base_uri or ""))
    builder = TreeBuilder(base_uri, document_uri)
    builder.start_document()
    for child in wrapper[0].children():
        builder.copy(child)
    return builder.finish().root


def kernel_ready() -> bool:
    """Whether the kernel is loaded, or so much was read without it that loading it would have paid.

    Who reads many small documents then pays at most twice: for reading them slowly at first, and for loading.
    """
    return "xstreamcast.scan.kernel" in sys.modules or _unaided >= KERNEL_FROM


def parse_file(path: str | Path, document_uri: str | None = None, external: External | None = None) -> Node:
    """The document node of a file (compressed or not, told by its first bytes).

    Large files are read by the scan kernel, five times as fast; for small ones loading it would cost more than it
    gains, unless there are many. What an internal DTD says about IDs only expat tells. Several documents in a file, one
    after the other, have one document node. ``external``: DTDs outside of it that may be read.
    """
    global _unaided
    given, path = str(path), Path(path)
    if not path.exists() and not is_member(path):
        raise no_document(given, "give an existing file, or XML as text, which begins with <")
    uri = document_uri or uri_at(path)
    size = size_of(path) if is_document(path) and external is None else 0
    if size >= (TREE_FROM if kernel_ready() else KERNEL_FROM) and not has_internal_subset(path):
        from xstreamcast.scan.scanner import InternalSubset
        from xstreamcast.scan.tree import parse_tree

        with suppress(InternalSubset):  # of a later document
            return parse_tree(path, uri, uri, many=True).root
    _unaided += size if size >= TREE_FROM else 0
    with open_input(path) as file:
        return parse(file, uri, uri, str(path), many=True, external=external)


def no_document(name: str, hint: str) -> XStreamError:
    """XSC0006 for a document that is not there."""
    if name.startswith("file:"):
        hint = "give a path, not a URI"
    elif "://" in name:
        hint = "the network is not read unless that is allowed: --allow-http, allow_http=True"
    return missing_file(name, "no such file", hint)


def default_namespace(source: Path | bytes) -> str:
    """The namespace of a root element if it has one and no prefix, else ``""``; only the beginning is read."""
    found = _root(BytesIO(source) if isinstance(source, bytes) else source)
    return found[0] if len(found) == 2 else ""


def root_name(source: Path | bytes) -> tuple[str, str] | None:
    """The namespace and the local name of a document's root element; None if it has none."""
    if isinstance(source, Path) and not source.is_file():
        return None  # a pipe with a name: it has been read
    found = _root(BytesIO(source) if isinstance(source, bytes) else source)
    return None if not found else ("", found[0]) if len(found) == 1 else (found[0], found[1])


def _root(source: Source) -> list[str]:
    """The namespace, the local name and the prefix of the root element, those that it has; nothing if there is none."""
    import pyexpat

    found: list[str] = []

    def start(name: str, _: object) -> None:
        if not found:
            found.extend(name.split(_SEPARATOR))

    parser = pyexpat.ParserCreate(None, _SEPARATOR)
    parser.namespace_prefixes = True
    parser.StartElementHandler = start
    try:
        with open_input(source) as file:
            for chunk in expat_chunks(read_chunks(file)):
                parser.Parse(chunk[:_BEGINNING], False)
                if found or len(chunk) > _BEGINNING:
                    break
    except (pyexpat.ExpatError, XStreamError):
        pass  # whoever reads the document tells what is wrong with it
    return found


def names_in(path: Path) -> tuple[set[str], set[str], bool]:
    """The local names of a file's elements and attributes, of its beginning if it is large; whether they are all."""
    import pyexpat

    elements: set[str] = set()
    attributes: set[str] = set()

    def start(name: str, having: dict[str, str]) -> None:
        elements.add(name)
        attributes.update(having)

    parser = pyexpat.ParserCreate(None, _SEPARATOR)
    parser.StartElementHandler = start
    size = 0
    try:
        with open_input(path) as file:
            for chunk in expat_chunks(read_chunks(file)):
                parser.Parse(chunk, False)
                size += len(chunk)
                if size > LOOKED_THROUGH:
                    break
    except (pyexpat.ExpatError, XStreamError):
        pass  # whoever reads the document tells what is wrong with it
    return _local(elements), _local(attributes), size <= LOOKED_THROUGH


def _local(names: set[str]) -> set[str]:
    return {name.rpartition(_SEPARATOR)[2] for name in names}


def _known(names: dict[str, tuple[int, int]], node_kind: int, raw: str) -> tuple[int, int]:
    parts = raw.split(_SEPARATOR)
    if len(parts) == 1:
        ids = (intern(node_kind, "", parts[0]), 0)
    else:
        ids = (intern(node_kind, parts[0], parts[1]), intern_prefix(parts[2]) if len(parts) > 2 else 0)
    names[raw] = ids
    return ids


class _Handlers:
    """Handlers of expat that append rows to a tree, of ``most`` levels at most.

    No handler refers to the parser: what is made here goes when the parser goes, without the help of a collector.
    """

    def __init__(self, tree: Tree, most: int) -> None:
        self._attach, self.finish, self._stack = _handlers(tree, most)
        self._tree, self._first = tree, 0

    def attach(self, parser: Any) -> None:
        """Take in what a parser reads: the next document."""
        self._first = len(self._tree.kind)
        self._attach(parser)

    @property
    def ended(self) -> bool:
        """Whether the root element of the document has ended."""
        return len(self._stack) == 1 and self._tree.kind.find(ELEMENT, self._first) >= 0

    def unclosed(self) -> str:
        """The innermost element that is open."""
        return self._tree.lexical(self._stack[-1]) if len(self._stack) > 1 else ""


def _handlers(tree: Tree, most: int) -> tuple[Callable[[Any], None], Callable[[], None], list[int]]:
    """Functions that set the handlers of a parser and end the document, and the rows of what is open."""
    kind, name, prefix, up, size, value = tree.kind, tree.name, tree.prefix, tree.up, tree.size, tree.value
    add_kind, add_name, add_prefix = kind.append, name.append, prefix.append
    add_up, add_size, add_value = up.append, size.append, value.append
    stack: list[int] = [0]
    declared: dict[str, str] = {}
    elements, attributes = _elements, _attributes

    def row_of(node_kind: int, ids: tuple[int, int], text: str | None) -> None:
        add_up(len(kind) - stack[-1])
        add_kind(node_kind)
        add_name(ids[0])
        add_prefix(ids[1])
        add_size(0)
        add_value(text)

    def start(raw: str, pairs: list[str]) -> None:
        ids = elements.get(raw) or _known(elements, ELEMENT, raw)
        row = len(kind)
        add_kind(ELEMENT)
        add_name(ids[0])
        add_prefix(ids[1])
        add_up(row - stack[-1])
        add_size(0)
        add_value("")
        if len(stack) > most:
            raise _Deep
        stack.append(row)
        if declared:
            tree.namespaces[row] = dict(declared)
            declared.clear()
        if pairs:
            words = iter(pairs)
            for distance, (raw_name, text) in enumerate(zip(words, words, strict=True), 1):
                ids = attributes.get(raw_name) or _known(attributes, ATTRIBUTE, raw_name)
                add_kind(ATTRIBUTE)
                add_name(ids[0])
                add_prefix(ids[1])
                add_up(distance)
                add_size(0)
                add_value(text)

    def end(raw: str) -> None:
        row = stack.pop()
        last = len(kind) - 1
        if last != row:
            size[row] = last - row
            value[row] = simple_content(tree, row, last)

    def characters(text: str) -> None:
        row = len(kind)
        distance = row - stack[-1]
        if kind[-1] == TEXT and up[-1] == distance - 1:
            held = value.pop()
            held += text  # type: ignore[operator]  # texts have values
            add_value(held)  # the only one to hold it: Python then adds in place, and a long text costs its length
            return
        add_kind(TEXT)
        add_name(TEXT)
        add_prefix(0)
        add_up(distance)
        add_size(0)
        add_value(text)

    def comment(text: str) -> None:
        if not in_dtd:
            row_of(COMMENT, (COMMENT, 0), text)

    def instruction(target: str, text: str) -> None:
        if not in_dtd:
            row_of(PI, (intern(PI, "", target), 0), text)

    in_dtd: list[str] = []

    def start_doctype(*_: object) -> None:
        in_dtd.append("")

    def end_doctype() -> None:
        in_dtd.clear()

    def attribute_list(element: str, attribute: str, kind_of: str, *_: object) -> None:
        if kind_of in ("ID", "IDREF", "IDREFS"):
            tree.dtd.setdefault((element, attribute), kind_of)

    def skipped(entity: str, is_parameter: bool) -> None:
        if not is_parameter:
            raise _Outside(entity)

    def external(context: str, base: str | None, system: str | None, public: str | None) -> int:
        skipped(system or public or "", False)
        return 0

    def declare(of: str | None, uri: str | None) -> None:
        declared[of or ""] = uri or ""

    def attach(parser: Any) -> None:
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = characters
        parser.CommentHandler = comment
        parser.ProcessingInstructionHandler = instruction
        parser.StartNamespaceDeclHandler = declare
        parser.StartDoctypeDeclHandler = start_doctype
        parser.EndDoctypeDeclHandler = end_doctype
        parser.AttlistDeclHandler = attribute_list
        parser.SkippedEntityHandler = skipped
        parser.ExternalEntityRefHandler = external
        parser.ordered_attributes = parser.namespace_prefixes = parser.buffer_text = True
        parser.buffer_size = 1 << 16

    add_kind(DOCUMENT)
    add_name(DOCUMENT)
    add_prefix(0)
    add_up(0)
    add_size(0)
    add_value(None)

    def finish() -> None:
        size[0] = len(kind) - 1
        tree.finish()

    return attach, finish, stack
