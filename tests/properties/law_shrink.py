"""Shrinking a case that breaks the law: fewer steps, a smaller query, smaller contents, as long as it breaks as before.

The query is cut by the spans of its syntax tree: an expression gives way to one inside it, or to nothing. Contents are
cut as trees: an element goes, or gives way to what is in it. What followed its structure goes on to do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType

from law_case import Case, Step
from law_oracle import LawBroken, check
from lxml import etree

from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang.ast import Expr, Module
from xstreamcast.lang.link import parse
from xstreamcast.lang.walk import descendants
from xstreamcast.model.structure import Structure

Failure = tuple[str, ...]
_STREAM = "{urn:xstreamcast:stream}"
_OPEN = '<w xmlns:stream="urn:xstreamcast:stream">'


def failure(case: Case, saxon: str = "always") -> Failure | None:
    """How a case breaks the law, if it does; not where."""
    try:
        check(case, saxon=saxon)
    except LawBroken as broken:
        return ("law", broken.which, *broken.errors)
    except XStreamError as error:
        return ("error", error.code)
    except Exception as fault:  # a crash is a finding of its own, whatever it is
        return ("crash", type(fault).__name__, _last(fault.__traceback__))
    return None


def _last(trace: TracebackType | None) -> str:
    """The function in which a crash happened."""
    name = ""
    while trace is not None:
        name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
    return name


def shrink(case: Case, tries: int = 1500, saxon: str = "always") -> Case:
    """A smaller case that breaks the law in the same way."""
    known = failure(case, saxon)
    if known is None:
        return case
    left, orderly = tries, follows_structures(case)

    def still(smaller: Case) -> bool:
        nonlocal left
        if orderly and not follows_structures(smaller):
            return False
        left -= 1
        return failure(smaller, saxon) == known

    while True:
        before = case
        for cuts in (_fewer_steps, _smaller_query, _smaller_contents):
            case = _cut(case, cuts, still, lambda: left > 0)
        if case == before or left <= 0:
            return case


def _cut(
    case: Case, cuts: Callable[[Case], Iterator[Case]], still: Callable[[Case], bool], going: Callable[[], bool]
) -> Case:
    """Take the first smaller case that still fails, until there is none."""
    found = True
    while found and going():
        found = False
        for smaller in cuts(case):
            if not going():
                break
            if still(smaller):
                case, found = smaller, True
                break
    return case


def _fewer_steps(case: Case) -> Iterator[Case]:
    size = len(case.steps)
    chunk = max(1, size // 2)
    while chunk:
        for at in range(size - chunk, -1, -chunk):
            yield replace(case, steps=case.steps[:at] + case.steps[at + chunk :])
        chunk //= 2


def _smaller_query(case: Case) -> Iterator[Case]:
    text = case.query
    try:
        module = parse(text, known_functions=known_function)
    except XStreamError:
        return
    tried = {text}
    for part in descendants(module):
        start, end = part.span.start, part.span.end
        inner = [one for one in descendants(part) if one is not part and isinstance(one, Expr)]
        offered = ["", *[text[one.span.start : one.span.end] for one in inner]]
        if isinstance(part, Expr):
            offered += ["1", "()"]
        if isinstance(part, Module):
            offered = offered[1:]
        for instead in offered:
            made = text[:start] + instead + text[end:]
            if len(made) < len(text) and made not in tried and _names_streams(made):
                tried.add(made)
                yield replace(case, query=made)


def _names_streams(text: str) -> bool:
    """Whether every stream is still named by a literal."""
    return text.count("stream(") == text.count('stream("')


def _smaller_contents(case: Case) -> Iterator[Case]:
    for number, step in enumerate(case.steps):
        if step.tick is None:
            for wire in _smaller_wires(step.wire):
                yield replace(case, steps=(*case.steps[:number], Step(step.stream, wire), *case.steps[number + 1 :]))


def _smaller_wires(wire: str) -> Iterator[str]:
    count = len(list(_tree(wire).iter()))
    for at in range(count):
        for way in ("drop", "unwrap", "text", "tail", "attributes"):
            tree = _tree(wire)
            it = list(tree.iter())[at]
            parent = it.getparent()
            if parent is None or way in _kept(parent):
                continue
            for smaller in _without(it, way):
                yield _wire(smaller)


def follows_structures(case: Case) -> bool:
    """Whether contents have only what the structures of their streams declare in that place."""
    structures: dict[str, Structure] = {}
    try:
        for step in case.steps:
            for item in () if step.tick is not None else step.items():
                if isinstance(item, Structure):
                    structures[step.stream] = item
    except ValueError:  # what is no fragment any more
        return False
    for step in case.steps:
        structure = structures.get(step.stream)
        if structure is None or step.tick is not None or "<stream:structure" in step.wire:
            continue
        fragment = _tree(step.wire)[0]
        tsid = fragment.get("tsid") or ("1" if fragment.get("id") == "0" else None)
        if tsid is not None and int(tsid) not in structure.tags:
            return False
        above: list[int | None] = [None]
        if tsid is not None and structure.parents[int(tsid)]:
            above = list(structure.parents[int(tsid)])
        if not all(any(_declared(it, parent, structure, int(tsid or 0)) for parent in above) for it in fragment):
            return False
    return True


def _declared(it: etree._Element, parent: int | None, structure: Structure, tsid: int = 0) -> bool:
    """Whether an element may stand under a tag; None: at the top, or somewhere."""
    if not isinstance(it.tag, str):
        return True
    if it.tag.startswith(_STREAM):
        number = it.get("tsid")
        if it.tag == f"{_STREAM}hole":
            return number is None or parent is None or int(number) in structure.tags[parent].children
        return all(_declared(child, parent, structure, tsid) for child in it)
    if parent is None:
        among = [tsid] if tsid else [number for number, tag in structure.tags.items() if tag.name == it.tag]
        found = [number for number in among if structure.tags[number].name == it.tag]
    else:
        child = structure.child(parent, it.tag)
        found = [] if child is None else [child]
    return any(all(_declared(child, number, structure) for child in it) for number in found)


def _kept(parent: etree._Element) -> tuple[str, ...]:
    """What is not done to a child: a change itself stays, and so does a root element, for documents with none or
    several are a case of their own."""
    above = parent.getparent()
    if above is None:
        return ("drop", "unwrap", "tail")
    return ("drop", "unwrap") if above.tag == "w" and parent.get("id") == "0" else ()


def _without(it: etree._Element, way: str) -> list[etree._Element]:
    """Trees in which an element has less."""
    tree = it.getroottree().getroot()
    parent = it.getparent()
    assert parent is not None
    if way == "drop":
        _join(it, it.tail or "")
        it.tail = None
        parent.remove(it)
        return [tree]
    if way == "unwrap" and isinstance(it.tag, str):
        if len(it) == 0 and not it.text:
            return []
        place, tail = parent.index(it), it.tail or ""
        inner = list(it)
        if inner:
            inner[-1].tail = (inner[-1].tail or "") + tail
        _join(it, (it.text or "") + ("" if inner else tail))
        for child in reversed(inner):
            parent.insert(place + 1, child)
        it.tail = None
        parent.remove(it)
        return [tree]
    if way == "text" and it.text:
        it.text = None
        return [tree]
    if way == "tail" and it.tail:
        it.tail = None
        return [tree]
    if way == "attributes" and isinstance(it.tag, str):
        return [_detached(tree, it, name) for name in it.attrib if name not in ("id", "target", "name", "tsid", "ref")]
    return []


def _detached(tree: etree._Element, it: etree._Element, name: str | bytes) -> etree._Element:
    """A copy of the tree without one attribute."""
    path = tree.getroottree().getpath(it)
    copy = etree.fromstring(etree.tostring(tree))
    found = copy.xpath(path, namespaces={"stream": "urn:xstreamcast:stream"})
    assert isinstance(found, list)
    element = found[0]
    assert isinstance(element, etree._Element)
    del element.attrib[name]
    return copy


def _join(it: etree._Element, text: str) -> None:
    """Text that takes the place of an element."""
    before, parent = it.getprevious(), it.getparent()
    assert parent is not None
    if before is not None:
        before.tail = (before.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _tree(wire: str) -> etree._Element:
    return etree.fromstring(f"{_OPEN}{wire}</w>")


def _wire(tree: etree._Element) -> str:
    text = etree.tostring(tree[0], encoding="unicode")
    return text.replace(' xmlns:stream="urn:xstreamcast:stream"', "")
