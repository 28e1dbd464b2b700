"""XML text to trees, by expat: no external entities, bounded expansion, no Python object per node.

>>> parse("<a><b n='1'>x</b></a>").string
'x'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

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
from xstreamcast.scan.encoding import Source, expat_chunks, has_internal_subset, open_input, read_chunks, source_name
from xstreamcast.scan.normalise import parse_fault

KERNEL_FROM = 2 << 20
"""Bytes from which the scan kernel reads a file: loading it takes as long as a tree of so much."""
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
) -> Node:
    """The document node of XML text (str), bytes in any encoding, or an open binary file; errors call it ``name``.

    ``wrapped``: so many of its outermost elements are ours, and do not count as levels.
    """
    import pyexpat

    name = name or document_uri or base_uri or ""
    tree = Tree(base_uri, document_uri)
    parser = pyexpat.ParserCreate("utf-8" if isinstance(source, str) else None, _SEPARATOR)
    finish, unclosed = _attach(parser, tree, deepest() + wrapped)
    chunks: Iterable[bytes]
    if isinstance(source, str):
        chunks = (source.encode("utf-8", "surrogatepass"),)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        chunks = expat_chunks((bytes(source),), name)
    else:
        name = name or source_name(source)
        chunks = expat_chunks(read_chunks(source, name), name)
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except pyexpat.ExpatError as failure:
        raise parse_fault(failure, name, unclosed=unclosed()) from None
    except _Deep:
        raise too_deep(Place(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)) from None
    except _Outside as entity:
        place = Place(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        hint = "external entities and DTDs are not read"
        raise error("XSC0001", f"entity {entity} is outside the document", place, hint) from None
    finish()
    return tree.root


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


def parse_file(path: str | Path, document_uri: str | None = None) -> Node:
    """The document node of a file (compressed or not, told by its first bytes).

    Large files are read by the scan kernel, five times as fast; for small ones loading it would cost more than it
    gains. What an internal DTD says about IDs only expat tells.
    """
    given, path = str(path), Path(path)
    if not path.exists():
        raise no_document(given, "give an existing file, or XML as text, which begins with <")
    uri = document_uri or path.absolute().as_uri()
    if path.is_file() and path.stat().st_size >= KERNEL_FROM and not has_internal_subset(path):
        from xstreamcast.scan.tree import parse_tree

        return parse_tree(path, uri, uri).root
    with open_input(path) as file:
        return parse(file, uri, uri, str(path))


def no_document(name: str, hint: str) -> XStreamError:
    """XSC0006 for a document that is not there."""
    if name.startswith("file:"):
        hint = "give a path, not a URI"
    elif "://" in name:
        hint = "the network is not read: fetch it first, or pipe it in (curl … | xcast query …)"
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


def _attach(parser: Any, tree: Tree, most: int) -> tuple[Callable[[], None], Callable[[], str]]:
    """Set handlers that append rows to a tree; the functions returned end the document and name what is open.

    No handler refers to the parser: what is made here goes when the parser goes, without the help of a collector.
    """
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

    def unclosed() -> str:
        return tree.lexical(stack[-1]) if len(stack) > 1 else ""

    return finish, unclosed
