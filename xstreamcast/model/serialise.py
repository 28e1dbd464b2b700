"""Serialisation of sequences (XSLT and XQuery Serialization 3.1): methods xml, html, xhtml, text, json and adaptive.

>>> serialise([1, 2, "a < b"])
'1 2 a &lt; b'
>>> serialise([1, "a"], method="adaptive", item_separator=",")
'1,"a"'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from operator import is_, itemgetter
from typing import Any, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import error
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.serialise_parameters import Parameters, from_element, from_map, from_options
from xstreamcast.model.serialise_xml import XMLWriter, escape_text, ordinary, writers
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, Node

__all__ = ["Markup", "Output", "Parameters", "from_element", "from_map", "from_options", "grows", "pieces", "serialise"]

_DEFAULTS = Parameters()
_TOGETHER: Final = 4096
"""Nodes that are held back at most."""
_FEW: Final = 32
"""Nodes, or rows of nodes: fewer are not worth more than a look at each."""
_TREE, _ROW = itemgetter(0), itemgetter(1)


def serialise(items: Iterable[Item], parameters: Parameters | None = None, **overrides: Any) -> str:
    """The text of a sequence. Keywords override single parameters, with ``_`` for ``-``."""
    chosen = _chosen(parameters, overrides)
    texts: list[str] = []
    if chosen.method == "xml":
        Output(chosen, texts.append).extend(items)
    else:
        texts.extend(pieces(items, chosen))
    return "".join(texts)


def _chosen(parameters: Parameters | None, overrides: dict[str, Any]) -> Parameters:
    chosen = parameters or _DEFAULTS
    return (replace(chosen, **overrides) if overrides else chosen).checked()


def pieces(items: Iterable[Item], parameters: Parameters | None = None, **overrides: Any) -> Iterator[str]:
    """The text of a sequence, a piece as soon as the items it is about are there: ``"".join`` is :func:`serialise`.

    >>> list(pieces([1, 2, "a"]))
    ['1', ' 2', ' a']
    """
    chosen = _chosen(parameters, overrides)
    if chosen.method == "json":
        from xstreamcast.model.serialise_json import json_text

        yield json_text(list(items), chosen)
    elif chosen.method == "adaptive":
        yield from _adaptive(items, chosen)
    elif chosen.method == "text":
        if chosen.use_character_maps or chosen.normalization_form != "none":
            yield _finished_text("".join(_text(_flattened(items), chosen)), chosen)
        else:
            yield from _text(_flattened(items), chosen)
    else:
        if chosen.standalone is not None or chosen.doctype_system is not None:  # about the document as a whole
            items = list(_flattened(items))
        if chosen.method != "html" and (prologue := _prologue(items, chosen)):
            yield prologue
        yield from _xml(_flattened(items), chosen)


def _flattened(items: Iterable[Item]) -> Iterator[Item]:
    """Sequence normalisation, first step: arrays give their members."""
    for item in items:
        if isinstance(item, Array):
            for member in item.members():
                yield from _flattened(member)
        else:
            yield item


def _adaptive(items: Iterable[Item], parameters: Parameters) -> Iterator[str]:
    from xstreamcast.model.serialise_json import adaptive_text

    separator = "\n" if parameters.item_separator is None else parameters.item_separator
    for position, item in enumerate(items):
        text = adaptive_text([item], parameters)
        yield separator + text if position else text


def _node(item: Node | FunctionItem) -> Node:
    """A node that has markup of its own; SENR0001 for all else."""
    if isinstance(item, FunctionItem):
        raise error("SENR0001", f"a {item.described} cannot be serialised by this method")
    if item.kind in (ATTRIBUTE, NAMESPACE):
        what = "an attribute" if item.kind == ATTRIBUTE else "a namespace node"
        raise error("SENR0001", f"{what} cannot be serialised on its own", hint="the adaptive method can")
    return item


def _text(items: Iterable[Item], parameters: Parameters) -> Iterator[str]:
    """String values of nodes and atomic values, nothing escaped."""
    previous_atomic = False
    separator = parameters.item_separator
    for position, item in enumerate(items):
        text = separator if separator is not None and position else ""
        if isinstance(item, (Node, FunctionItem)):
            node = _node(item)
            if node.kind not in (COMMENT, PI):
                text += node.string
            previous_atomic = False
        else:
            if previous_atomic and separator is None:
                text += " "
            text += to_string(item)
            previous_atomic = True
        yield text


def _finished_text(text: str, parameters: Parameters) -> str:
    if parameters.use_character_maps:
        text = text.translate({ord(c): mapped for c, mapped in parameters.use_character_maps.items()})
    if parameters.normalization_form != "none":
        import unicodedata

        text = unicodedata.normalize(parameters.normalization_form, text)  # type: ignore[arg-type]  # checked
    return text


def _xml(items: Iterable[Item], parameters: Parameters) -> Iterator[str]:
    out: list[str] = []
    written = _XMLItems(parameters, out.append)
    for item in items:
        written.put(item)
        yield "".join(out)
        out.clear()


def _writer(parameters: Parameters) -> XMLWriter:
    if parameters.method == "xml":
        return XMLWriter(parameters, [])
    from xstreamcast.model.serialise_html import HTMLWriter

    return HTMLWriter(parameters, [])


class _XMLItems:
    """Items of a sequence, one after the other, as the methods xml, html and xhtml write them."""

    def __init__(self, parameters: Parameters, write: Callable[[str], object]) -> None:
        self.parameters = parameters
        self.write = write
        self.writer = _writer(parameters)
        self.first = self.blank = True
        self.closed = False  # whether what is out ends with markup
        self.previous_atomic = False

    def put(self, item: Item) -> None:
        """Write an item."""
        writer, separator = self.writer, self.parameters.item_separator
        out = writer.out
        if separator is not None and not self.first:
            out.append(writer.text(separator))
        self.first = False
        if isinstance(item, (Node, FunctionItem)):
            _write_node(_node(item), writer, self.parameters, self.closed, self.blank)
            self.blank = False
            self.previous_atomic = False
        else:
            if self.previous_atomic and separator is None:
                out.append(" ")
            out.append(writer.text(to_string(item)))
            self.previous_atomic, self.blank = True, False
        if out:
            text = "".join(out)
            out.clear()
            self.closed = text.endswith(">") if text else self.closed
            self.write(text)

    def put_nodes(self, nodes: list[Node]) -> None:
        """Write nodes of one scanned tree."""
        separator = escape_text(self.parameters.item_separator or "")
        text = _together(nodes, self.parameters, separator)
        if text is None:
            for node in nodes:
                self.put(node)
            return
        if separator:
            text = text[: -len(separator)]
            if not self.first:
                text = separator + text
        self.first = self.previous_atomic = False
        self.closed = text.endswith(">")
        self.write(text)

    def put_texts(self, texts: list[str]) -> None:
        """Write atomic values that are texts; the parameters are ordinary."""
        separator = self.parameters.item_separator
        text = self.writer.text((" " if separator is None else separator).join(texts))
        if separator is not None and not self.first:
            text = self.writer.text(separator) + text
        elif self.previous_atomic and separator is None:
            text = " " + text
        self.first, self.previous_atomic, self.blank = False, True, False
        self.closed = text.endswith(">") if text else self.closed
        self.write(text)

    def put_markup(self, elements: list[str]) -> None:
        """Write elements that are markup already; there is no separator."""
        self.first = self.blank = self.previous_atomic = False
        self.closed = True
        self.write("".join(elements))


def _together(nodes: list[Node], parameters: Parameters, after: str) -> str | None:
    """The markup of nodes of a tree that has its values as they were read; None where they go one by one."""
    tree = nodes[0][0]
    if tree.octets is None or not ordinary(parameters):
        return None
    if len(nodes) < _FEW and sum(tree.size[row] for _, row in nodes) < _FEW:
        return None
    return tree.octets.markup(tree, list(map(_ROW, nodes)), after)


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of an element that is written before all of its content is known: :class:`Output` takes it as it is.

    ``opens``: it ends with a start tag, and all in that element is yet to come; there may be nothing.
    """

    text: str
    opens: bool = False


QUICK: Final = Markup("")
"""What follows is computed already, up to :data:`STEADY`: values may wait for each other to be written together."""
STEADY: Final = Markup("")


def grows(parameters: Parameters) -> bool:
    """Whether elements may be written in pieces: the rest of one changes nothing about how it begins."""
    plain = parameters.method == "xml" and parameters.standalone is None and parameters.item_separator is None
    return plain and ordinary(parameters)


class _Gate:
    """Where texts go out. ``open``: a start tag is out but for its last character."""

    __slots__ = ("open", "write")

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write
        self.open = False

    def say(self, text: str) -> None:
        if self.open and text:
            self.open = False
            self.write(">")
        self.write(text)


class Output:
    """Where a sequence is written as it is computed, by ``write``; in ``lines``, each item is a text of its own.

    Nodes of one scanned tree that come one after the other are written together. They are held back for that, a few
    thousand at most: whoever is about to wait for more items calls :meth:`flush`.

    >>> made = []
    >>> Output(Parameters(), made.append).extend([1, 2, "a"])
    >>> made
    ['1', ' 2', ' a']
    """

    def __init__(self, parameters: Parameters, write: Callable[[str], object], *, lines: bool = False) -> None:
        self.parameters = parameters.checked()
        self.write = write
        self.lines = lines
        self._gate = _Gate(write)
        self._written = _XMLItems(parameters, self._gate.say)
        self._nodes: list[Node] = []  # of one scanned tree, held back to be written together
        self._others: list[str] = []  # texts that are held back, or elements that are markup already
        self._texts = False
        self._plain = ordinary(self.parameters)
        bare = self._plain and self.parameters.item_separator is None and not lines
        self._formed = self._written.writer.formed if bare else None

    def extend(self, items: Iterable[Item | Markup]) -> None:
        """Write the items of a sequence."""
        parameters = self.parameters
        whole = parameters.standalone is not None or parameters.doctype_system is not None
        if parameters.method != "xml" or whole:
            each_line = (serialise([item], parameters) + "\n" for item in items)
            for text in each_line if self.lines else pieces(items, parameters):
                self.write(text)
            return
        prologue = _prologue((), parameters)
        if prologue and not self.lines:
            self.write(prologue)
        holds = not (prologue and self.lines)
        try:
            if isinstance(items, list) and holds:
                for first in range(0, len(items), _TOGETHER):
                    self._extend_list(items[first : first + _TOGETHER])
            else:
                self._extend(items, holds)
        finally:  # an error later on takes nothing back
            self.flush()

    def _extend_list(self, items: list[Any]) -> None:
        """Items that are there already: nodes of one tree, mostly, which are not looked at one by one."""
        if set(map(type, items)) == {Node}:
            tree = items[0][0]
            if tree.octets is not None and all(map(is_, map(_TREE, items), repeat(tree))):
                self.flush()
                self._nodes += items
                self.flush()
                return
        self._extend(items, holds=True, quick=True)

    def _markup(self, piece: Markup) -> None:
        self.flush()
        self._written.previous_atomic = False
        text, gate = piece.text, self._gate
        if gate.open and text.startswith("</"):
            gate.open = False
            self.write("/>")
            text = text[text.index(">") + 1 :]
        if piece.opens:
            gate.say(text[:-1])
            gate.open = True
        else:
            gate.say(text)

    def _extend(self, items: Iterable[Item | Markup], holds: bool, quick: bool = False) -> None:
        """``quick``: the items are there already. The next one may take long else: an atomic value goes out at once."""
        nodes, others = self._nodes, self._others
        formed, plain = self._formed if quick else None, self._plain and holds and quick
        item: Any
        for item in items:
            kind = type(item)
            if kind is Node:
                tree = item[0]
                if tree.octets is not None and holds:
                    if others or (nodes and nodes[0][0] is not tree):
                        self.flush()
                    nodes.append(item)
                    if len(nodes) == _TOGETHER:
                        self.flush()
                    continue
                if formed is not None and holds and not item[1] and (text := formed(tree)) is not None:
                    self._hold(text, False)
                    continue
            elif item is QUICK or item is STEADY:
                self.flush()
                formed = self._formed if item is QUICK else None
                plain = self._plain and holds and item is QUICK
                continue
            elif kind is Markup:
                self._markup(item)
                continue
            elif plain and (kind is str or kind is Untyped):
                if others and self._texts and len(others) < _TOGETHER:
                    others.append(item)
                else:
                    self._hold(item, True)
                continue
            if nodes or others:
                self.flush()
            self._put(item)

    def _hold(self, text: str, is_text: bool) -> None:
        others = self._others
        if self._nodes or len(others) == _TOGETHER or (others and self._texts != is_text):
            self.flush()
        self._texts = is_text
        others.append(text)

    def _put(self, item: Item) -> None:
        if self.lines:
            self.write(serialise([item], self.parameters) + "\n")
        elif isinstance(item, Array):
            for member in _flattened([item]):
                self._written.put(member)
        else:
            self._written.put(item)

    def flush(self) -> None:
        """Write what is held back."""
        if self._others:
            texts = self._others.copy()
            self._others.clear()
            if self.lines:
                self.write(self._written.writer.text("\n".join([*texts, ""])))
            elif self._texts:
                self._written.put_texts(texts)
            else:
                self._written.put_markup(texts)
        if not self._nodes:
            return
        nodes = self._nodes.copy()
        self._nodes.clear()
        if not self.lines:
            self._written.put_nodes(nodes)
        elif (text := _together(nodes, self.parameters, "\n")) is not None:
            self.write(text)
        else:
            for node in nodes:
                self._put(node)


def _write_node(node: Node, writer: XMLWriter, parameters: Parameters, closed: bool, first: bool) -> None:
    """``closed``: what is out before this item ends with markup, so that indentation may begin a new line; ``first``:
    nothing but blanks is out."""
    out = writer.out
    rows = node.tree.children(node.row) if node.kind == DOCUMENT else [node.row]
    for row in rows:
        kind = node.tree.kind[row]
        after_markup = out[-1].endswith(">") if out else closed
        if parameters.indent and after_markup and kind in (ELEMENT, COMMENT, PI):
            out.append("\n")
        if kind == ELEMENT and parameters.method != "xml":
            if first:
                from xstreamcast.model.serialise_html import doctype

                out.append(doctype(node.tree, row, parameters))
        elif kind == ELEMENT and parameters.doctype_system is not None:
            out.append(_doctype(node.tree.lexical(row), parameters))
        first = first and (kind in (COMMENT, PI) or (kind == TEXT and not node.tree.string(row).strip(" \t\r\n")))
        writer.subtree(node.tree, row)


def _prologue(items: Iterable[Item], parameters: Parameters) -> str:
    """The XML declaration; SEPM0004 where a document type or standalone needs one root element."""
    if parameters.standalone is not None or parameters.doctype_system is not None:
        top: list[Item] = []
        for item in items:
            top.extend(item.children() if isinstance(item, Node) and item.kind == DOCUMENT else [item])
        elements = [item for item in top if isinstance(item, Node) and item.kind == ELEMENT]
        texts = [item for item in top if not isinstance(item, Node) or item.kind == TEXT]
        if len(elements) != 1 or texts:
            raise error("SEPM0004", "standalone and doctype-system need a document with one element")
    omit = parameters.omit_xml_declaration
    if omit or (omit is None and parameters.standalone is None):
        return ""
    declaration = f'<?xml version="{parameters.version}" encoding="{parameters.encoding}"'
    if parameters.standalone is not None:
        declaration += f' standalone="{parameters.standalone}"'
    return declaration + "?>"


def _doctype(name: str, parameters: Parameters) -> str:
    system = parameters.doctype_system or ""
    quoted = f"'{system}'" if '"' in system else f'"{system}"'
    if parameters.doctype_public is not None:
        return f'<!DOCTYPE {name} PUBLIC "{parameters.doctype_public}" {quoted}>\n'
    return f"<!DOCTYPE {name} SYSTEM {quoted}>\n"


def node_text(node: Node, parameters: Parameters) -> str:
    """One node as the adaptive and json methods write it: attributes and namespaces too."""
    if node.kind == ATTRIBUTE:
        _, attribute = writers(parameters)
        return f'{node.lexical}="{attribute(node.string)}"'
    if node.kind == NAMESPACE:
        _, attribute = writers(parameters)
        return f'xmlns{":" + node.local if node.local else ""}="{attribute(node.string)}"'
    method = parameters.method if parameters.method in ("html", "xhtml") else "xml"
    alone = replace(parameters, method=method, item_separator=None)
    return ("" if method == "html" else _prologue([node], alone)) + "".join(_xml([node], alone))
