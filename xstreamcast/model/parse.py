"""XML text to trees, by expat: no external entities, bounded expansion, no Python object per node.

>>> parse("<a><b n='1'>x</b></a>").string
'x'
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from xstreamcast.errors import Place, error
from xstreamcast.model.build import TreeBuilder, simple_content
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
from xstreamcast.scan.encoding import has_internal_subset, open_input, read_chunks, source_name

KERNEL_FROM = 4 << 20
"""Bytes from which the scan kernel reads a file."""
_SEPARATOR = "\x01"  # between uri, local name and prefix in expat's names: not an XML character


def parse(source: str | bytes | BinaryIO, base_uri: str | None = None, document_uri: str | None = None) -> Node:
    """The document node of XML text (str), bytes in any encoding expat knows, or an open binary file."""
    import pyexpat

    tree = Tree(base_uri, document_uri)
    encoding = "utf-8" if isinstance(source, str) else None
    parser = pyexpat.ParserCreate(encoding, _SEPARATOR)
    finish = _attach(parser, tree, document_uri or base_uri or "")
    try:
        if isinstance(source, str):
            parser.Parse(source.encode("utf-8", "surrogatepass"), True)
        elif isinstance(source, (bytes, bytearray, memoryview)):
            parser.Parse(bytes(source), True)
        else:
            for chunk in read_chunks(source, document_uri or base_uri or source_name(source)):
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
    except pyexpat.ExpatError as failure:
        place = Place(document_uri or base_uri or "", failure.lineno, failure.offset + 1)
        raise error("XSC0001", pyexpat.ErrorString(failure.code), place) from None
    finish()
    return tree.root


def parse_forest(text: str | bytes, base_uri: str | None = None, document_uri: str | None = None) -> Node:
    """A document node whose children are any content: text, several elements, or nothing at all.

    >>> [child.string for child in parse_forest("a<b>c</b>d").children()]
    ['a', 'c', 'd']
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    wrapper = parse(b"<forest>" + data + b"</forest>", base_uri, document_uri).children()
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
    path = Path(path)
    uri = document_uri or path.absolute().as_uri()
    if path.stat().st_size >= KERNEL_FROM and not has_internal_subset(path):
        from xstreamcast.scan.tree import parse_tree

        return parse_tree(path, uri, uri).root
    with open_input(path) as file:
        return parse(file, uri, uri)


def _attach(parser: object, tree: Tree, uri: str) -> Callable[[], None]:
    """Set handlers that append rows to a tree; the function returned ends the document."""
    kind, name, prefix, up, size, value = tree.kind, tree.name, tree.prefix, tree.up, tree.size, tree.value
    add_kind, add_name, add_prefix = kind.append, name.append, prefix.append
    add_up, add_size, add_value = up.append, size.append, value.append
    stack: list[int] = [0]
    declared: dict[str, str] = {}
    elements: dict[str, tuple[int, int]] = {}
    attributes: dict[str, tuple[int, int]] = {}

    def known(names: dict[str, tuple[int, int]], node_kind: int, raw: str) -> tuple[int, int]:
        parts = raw.split(_SEPARATOR)
        if len(parts) == 1:
            ids = (intern(node_kind, "", parts[0]), 0)
        else:
            ids = (intern(node_kind, parts[0], parts[1]), intern_prefix(parts[2]) if len(parts) > 2 else 0)
        names[raw] = ids
        return ids

    def row_of(node_kind: int, ids: tuple[int, int], text: str | None) -> None:
        add_up(len(kind) - stack[-1])
        add_kind(node_kind)
        add_name(ids[0])
        add_prefix(ids[1])
        add_size(0)
        add_value(text)

    def start(raw: str, pairs: list[str]) -> None:
        ids = elements.get(raw) or known(elements, ELEMENT, raw)
        row = len(kind)
        add_kind(ELEMENT)
        add_name(ids[0])
        add_prefix(ids[1])
        add_up(row - stack[-1])
        add_size(0)
        add_value("")
        stack.append(row)
        if declared:
            tree.namespaces[row] = dict(declared)
            declared.clear()
        if pairs:
            words = iter(pairs)
            for distance, (raw_name, text) in enumerate(zip(words, words, strict=True), 1):
                ids = attributes.get(raw_name) or known(attributes, ATTRIBUTE, raw_name)
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
            value[-1] += text  # type: ignore[operator]  # texts have values
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
            hint = "external entities and DTDs are not read"
            place = Place(uri, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)  # type: ignore[attr-defined]
            raise error("XSC0001", f"entity {entity} is outside the document", place, hint)

    def external(context: str, base: str | None, system: str | None, public: str | None) -> int:
        skipped(system or public or "", False)
        return 0

    handlers: dict[str, object] = {
        "StartElementHandler": start,
        "EndElementHandler": end,
        "CharacterDataHandler": characters,
        "CommentHandler": comment,
        "ProcessingInstructionHandler": instruction,
        "StartNamespaceDeclHandler": lambda p, u: declared.__setitem__(p or "", u or ""),
        "StartDoctypeDeclHandler": start_doctype,
        "EndDoctypeDeclHandler": end_doctype,
        "AttlistDeclHandler": attribute_list,
        "SkippedEntityHandler": skipped,
        "ExternalEntityRefHandler": external,
        "ordered_attributes": True,
        "namespace_prefixes": True,
        "buffer_text": True,
        "buffer_size": 1 << 16,
    }
    for attribute, handler in handlers.items():
        setattr(parser, attribute, handler)
    add_kind(DOCUMENT)
    add_name(DOCUMENT)
    add_prefix(0)
    add_up(0)
    add_size(0)
    add_value(None)

    def finish() -> None:
        size[0] = len(kind) - 1
        tree.finish()

    return finish
