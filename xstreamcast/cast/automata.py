"""Automata for the scan kernel that follow a rule instead of paths: of a wire stream, and of a tag structure.

A state has a *key*; ``step`` says which key a node has below a node with a key, ``flags`` what the kernel does there.
States are made when the input first needs them. Key 0's state is dead: nobody looks below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Final

import numpy as np

from xstreamcast.model.change import CHANGES
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, NAMESPACE, TEXT
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure
from xstreamcast.scan.layout import (
    BEGINS_RECORD,
    EMITS,
    SEES_ATTRIBUTES,
    SEES_ELEMENTS,
    SEES_MISC,
)
from xstreamcast.scan.tables import Tables

DOCUMENT_KEY: Final = "document"
Name = tuple[int, str, str]
"""Kind, namespace, local name."""


class RuleAutomaton(Tables):
    """What the kernel asks of an automaton, from ``step`` and ``flags_of``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[Name] = [(TEXT, "", ""), (COMMENT, "", ""), (NAMESPACE, "", "")]  # the classes, in order
        self._class: dict[Name, int] = {}
        self.keys: list[Hashable] = []
        self._state: dict[Hashable, int] = {}
        self.state(None)
        self.state(DOCUMENT_KEY)

    @abstractmethod
    def step(self, key: Hashable, kind: int, uri: str, local: str) -> Hashable | None:
        """The key of a node below a node, None for dead."""

    @abstractmethod
    def flags_of(self, key: Hashable) -> int:
        """What the kernel does at such nodes (``layout.EMITS`` …)."""

    @abstractmethod
    def alike(self, kind: int, uri: str, local: str) -> Name:
        """A name that stands for all names ``step`` does not tell apart."""

    def numbered(self, kind: int, uri: str, local: str) -> int:
        """The class of a name, or the number of a new one."""
        name = self.alike(kind, uri, local)
        number = self._class.get(name)
        if number is None:
            number = self._class[name] = len(self.names)
            self.names.append(name)
        return number

    def state(self, key: Hashable | None) -> int:
        """The state of a key."""
        number = self._state.get(key)
        if number is not None:
            return number
        number = self._state[key] = len(self.keys)
        self.keys.append(key)
        self.add_state(number, 0 if key is None else self.flags_of(key))
        return number

    def expand(self, state: int, number: int) -> int:
        """The state a node of a class has below a node of a state."""
        to = self.state(self.step(self.keys[state], *self.names[number]))
        self.transitions[state * self.stride + number] = to
        return to


# ------------------------------------------------------------------------------------------------- wire streams

KINDS: Final = tuple(CHANGES.values())
"""The kinds of changes, by their number in a batch."""
CARRIERS: Final = {"filler" if kind == "fill" else kind: number for number, kind in enumerate(CHANGES)}
COLUMNS: Final = ("id", "tsid", "version", "target", "validTime", "doc")
"""The attributes of a change that are read."""

# What a state's rows are to the reader of a batch: a change, or part of one.
IGNORED, CHANGE, FIELD, HOLE_FIELD, HOLE, TOP, INLINE, FOREIGN = 0, 1, 20, 30, 40, 41, 42, 43
TOP_KEY: Final = "stream"


class StreamAutomaton(RuleAutomaton):
    """The changes of a stream in the prefixed form, the holes in their content, the top elements around those.

    Which tag a change's content is of is only known from its ``tsid``. An element below a top element therefore has
    the tags it would be for each of them: pairs (tsid of the change, tag); where one of these is a fragment, it came
    inline, and has a row.
    """

    def __init__(self, structure: Structure | None) -> None:
        self.structure = structure
        self.local: set[tuple[str, str]] = set()
        tops: list[tuple[int, int]] = []
        if structure is not None:
            tops = [(tag.id, tag.id) for tag in structure.tags.values() if tag.fragment or tag.id == structure.root]
            self.local = {_split(tag.name) for tag in structure.tags.values()}
        self.starting = frozenset(tops)
        self.watched = frozenset(tsid for tsid, _ in tops)
        """The tags whose content is looked through for fragments that came inline."""
        super().__init__()
        self.top = self.state(TOP_KEY)

    def alike(self, kind: int, uri: str, local: str) -> Name:
        if kind == ATTRIBUTE:
            return (kind, "", local) if not uri and local in COLUMNS else (kind, "", "")
        return (kind, uri, local) if uri == STREAM or (uri, local) in self.local else (kind, "", "")

    def step(self, key: Hashable, kind: int, uri: str, local: str) -> Hashable | None:
        what, of = key if isinstance(key, tuple) else (key, None)
        if kind == ATTRIBUTE and local:
            field = COLUMNS.index(local)
            if what == "change":
                return "field", field
            return ("hole field", field) if what == "hole" and field < 2 else None
        if kind != ELEMENT:
            return None
        if what == TOP_KEY:
            carries = uri == STREAM and local in CARRIERS
            return ("change", CARRIERS[local]) if carries else ("foreign", None)
        if uri == STREAM:
            return ("hole", None) if local == "hole" and what != "hole" else ("foreign", None)
        if what == "change":
            return "top", self.starting
        if what in ("top", "element"):
            return "element", self.below(of, uri, local)
        return ("foreign", None) if what == "hole" else None

    def below(self, pairs: Any, uri: str, local: str) -> frozenset[tuple[int, int]]:
        assert self.structure is not None or not pairs
        name = f"{{{uri}}}{local}" if uri else local
        found = ((tsid, self.structure.child(tag, name)) for tsid, tag in pairs) if self.structure else ()
        return frozenset((tsid, tag) for tsid, tag in found if tag is not None)

    def flags_of(self, key: Hashable) -> int:
        what = key[0] if isinstance(key, tuple) else key
        if what == "change":
            return EMITS | BEGINS_RECORD | SEES_ATTRIBUTES | SEES_ELEMENTS
        if what == "hole":
            return EMITS | SEES_ATTRIBUTES | SEES_ELEMENTS
        if what in ("top", "element"):
            return SEES_ELEMENTS | (EMITS if what == "top" or self.inline(key) else 0)
        return SEES_ELEMENTS if what in (TOP_KEY, DOCUMENT_KEY) else EMITS

    def inline(self, key: Hashable) -> dict[int, int]:
        """By the tsid of a change: which fragment tag an element with this key is in its content."""
        if not isinstance(key, tuple) or key[0] != "element" or self.structure is None:
            return {}
        return {tsid: tag for tsid, tag in key[1] if self.structure.tag(tag).fragment}

    def codes(self) -> Any:
        """By state: what its rows are."""
        codes = np.zeros(len(self.keys), np.int64)
        known = {"hole": HOLE, "top": TOP, "element": INLINE, "foreign": FOREIGN}
        for state, key in enumerate(self.keys):
            if isinstance(key, tuple):
                what, of = key
                if what == "change":
                    codes[state] = CHANGE + of
                elif what in ("field", "hole field"):
                    codes[state] = (FIELD if what == "field" else HOLE_FIELD) + of
                else:
                    codes[state] = known[what]
        return codes


# ------------------------------------------------------------------------------------------------- tag structures


class TagAutomaton(RuleAutomaton):
    """The elements of a document that a structure makes fragments, and the comments and PIs outside its root."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.known = {_split(tag.name) for tag in structure.tags.values()}
        fragments = {tag.id for tag in structure.tags.values() if tag.fragment} | {structure.root}
        self.fragments = frozenset(fragments)
        self.live = frozenset(
            tag.id
            for tag in structure.tags.values()
            if any(structure.tag(below).fragment for below in structure.descendants([tag.id]))
        )
        super().__init__()

    def alike(self, kind: int, uri: str, local: str) -> Name:
        return (kind, uri, local) if kind == ELEMENT and (uri, local) in self.known else (kind, "", "")

    def step(self, key: Hashable, kind: int, uri: str, local: str) -> Hashable | None:
        structure = self.structure
        if key == DOCUMENT_KEY:
            if kind != ELEMENT:
                return "misc" if kind not in (TEXT, NAMESPACE, ATTRIBUTE) else None
            return structure.root if (uri, local) == _split(structure.tag(structure.root).name) else "wrong"
        if kind != ELEMENT or not isinstance(key, int):
            return None
        child = structure.child(key, f"{{{uri}}}{local}" if uri else local)
        return child if child is not None and (child in self.fragments or child in self.live) else None

    def flags_of(self, key: Hashable) -> int:
        if key == DOCUMENT_KEY:
            return SEES_ELEMENTS | SEES_MISC
        if not isinstance(key, int):
            return EMITS
        return (EMITS if key in self.fragments else 0) | (SEES_ELEMENTS if key in self.live else 0)

    def tags(self) -> Any:
        """By state: the tag whose fragments its rows are, or -1."""
        return np.array([key if isinstance(key, int) and key in self.fragments else -1 for key in self.keys], np.int64)


def _split(name: str) -> tuple[str, str]:
    """``{uri}local`` taken apart."""
    uri, _, local = name.rpartition("}")
    return uri[1:], local
