"""Paths a scan can follow: child and descendant steps with name and kind tests, an attribute last.

>>> parse_path("/site//item/@id")
Path(steps=(Step(test=NodeTest(kind=1, uri='', local='site'), deep=False), \
Step(test=NodeTest(kind=1, uri='', local='item'), deep=True), \
Step(test=NodeTest(kind=2, uri='', local='id'), deep=False)))
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, error
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT

NODE: Final = -1
"""The kind of ``node()``: any but an attribute."""


@dataclass(frozen=True, slots=True)
class NodeTest:
    """A node test; None is the wild part of ``*``, ``p:*`` and ``*:l``."""

    kind: int
    uri: str | None = None
    local: str | None = None

    def matches(self, kind: int, uri: str, local: str) -> bool:
        """Whether a node of this kind and name passes."""
        if self.kind == NODE:
            return kind != ATTRIBUTE
        return kind == self.kind and self.uri in (None, uri) and self.local in (None, local)


@dataclass(frozen=True, slots=True)
class Step:
    """``/test``, or ``//test`` when deep."""

    test: NodeTest
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from the document node."""

    steps: tuple[Step, ...] = ()

    def __truediv__(self, other: Path) -> Path:
        """``p / q``: q's steps from where p leads."""
        return Path(self.steps + other.steps)


_TOKEN: Final = re.compile(
    r"(?P<slash>//?)(?P<at>@)?(?:(?P<kind>text|node|comment|processing-instruction)\(\s*(?P<target>[^)\s]*)\s*\)"
    r"|Q\{(?P<uri>[^}]*)\}(?P<qlocal>[^/@]+)|(?:(?P<prefix>[^/@:{}()]+):)?(?P<local>[^/@:{}()]+))"
)
_KINDS: Final = {"text": TEXT, "node": NODE, "comment": COMMENT, "processing-instruction": PI}


def parse_path(text: str, namespaces: Mapping[str, str] | None = None) -> Path:
    """The path of its XPath spelling; ``namespaces`` has the prefixes, "" the default for elements."""
    scope = namespaces or {}
    steps: list[Step] = []
    at = 0
    if text == "/":
        return Path()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (steps and steps[-1].test.kind not in (ELEMENT, NODE)):
            hint = "a path has child and descendant steps, and may end in @name, text(), comment() or a PI"
            raise error("XPST0003", f"not a path a scan follows: {text!r}", Place(column=at + 1), hint)
        steps.append(Step(_test(match, scope), match["slash"] == "//"))
        at = match.end()
    return Path(tuple(steps))


def _test(match: re.Match[str], scope: Mapping[str, str]) -> NodeTest:
    if match["kind"]:
        kind = _KINDS[match["kind"]]
        return NodeTest(kind, "" if kind == PI and match["target"] else None, match["target"] or None)
    kind = ATTRIBUTE if match["at"] else ELEMENT
    if match["uri"] is not None:
        return NodeTest(kind, match["uri"], None if match["qlocal"] == "*" else match["qlocal"])
    local = None if match["local"] == "*" else match["local"]
    prefix = match["prefix"]
    if prefix == "*" or (prefix is None and local is None):
        return NodeTest(kind, None, local)
    if prefix is None:
        return NodeTest(kind, scope.get("", "") if kind == ELEMENT else "", local)
    if prefix not in scope:
        raise error("XPST0081", f"prefix {prefix!r} is not declared", Place(column=match.start() + 1))
    return NodeTest(kind, scope[prefix], local)
