"""How the elements of a stream are spelt: the prefixes of their names, and the namespaces in scope in fragments.

T puts a fragment where its hole is: what its own start tag declares is in scope in it, and what those around it do.
Columns expect that all fragments of a tag declare the same and spell their names alike, as they do in practice: the
first one that comes of a tag says how, and one that comes otherwise is odd (:mod:`taking`). Declarations within a
fragment may be any, but for elements around holes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from xstreamcast.model.names import ELEMENT, intern, intern_prefix
from xstreamcast.model.serialise_xml import ATTRIBUTE_ESCAPES
from xstreamcast.model.structure import UNNAMED
from xstreamcast.run.continuous.associate.mounts import Above

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.native.vector import Bytes, Longs

Scope = Mapping[str, str]
NEVER: Final = -2
"""Instead of a sense: fragments of the tag are always odd."""
_MOST: Final = 1 << 10
"""Of so many contexts of a scan senses are told; further ones are those of streams that columns do not expect."""
_OWN: Final = ("xml", "stream")


class Around:
    """The elements around the fragments of a tag, from the root on."""

    def __init__(self, names: Sequence[tuple[str, str, str]], scopes: Sequence[Scope]) -> None:
        """``names``: the namespace, the prefix and the local name of each; ``scopes``: what it declares."""
        self.names = [intern(ELEMENT, uri, local) for uri, _, local in names]
        self.above: Above | None = None
        start, end = "", ""
        for (uri, prefix, local), scope in zip(names, scopes, strict=True):
            name = f"{prefix}:{local}" if prefix else local
            declared = [(f"xmlns:{key}" if key else "xmlns", value) for key, value in scope.items()]
            start += (
                f"<{name}"
                + "".join([f' {key}="{value.translate(ATTRIBUTE_ESCAPES)}"' for key, value in declared])
                + ">"
            )
            end = f"</{name}>" + end
            namespaces = tuple(scope.items())
            self.above = Above(self.above, intern(ELEMENT, uri, local), intern_prefix(prefix), (), namespaces)
        self.start: Bytes = np.frombuffer(start.encode(), np.uint8)
        self.end: Bytes = np.frombuffer(end.encode(), np.uint8)

    def __len__(self) -> int:
        return len(self.names)


class Spelling:
    """What has been learnt of the tags of a structure. A *sense* is the number of a set of declarations."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._numbers: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._contexts: Sequence[Scope] = ()
        self._senses: Longs = np.zeros(0, np.int64)
        self._scopes: dict[int, Scope] = {}
        self._prefixes: dict[int, str] = {}
        self.unknown = {tsid for tsid, tag in structure.tags.items() if tag.fragment or tsid in structure.tops}
        """The tags of which no fragment has come."""

    def senses(self, contexts: Sequence[Scope]) -> Longs:
        """The senses of the contexts that a scan has met so far."""
        if contexts is not self._contexts:
            self._contexts, self._senses = contexts, np.zeros(0, np.int64)
        done = len(self._senses)
        if done < len(contexts):
            fresh = [self._sense(contexts[k]) if k < _MOST else NEVER for k in range(done, len(contexts))]
            self._senses = np.concatenate([self._senses, np.array(fresh, np.int64)])
        return self._senses

    def _sense(self, context: Scope) -> int:
        return self._numbers.setdefault(frozenset(_declared(context).items()), len(self._numbers))

    def learn(self, tsid: int, written: str, context: Scope) -> Iterator[tuple[int, int, str]]:
        """A fragment of a tag has come, with a name and with namespaces in scope: the tags that this tells of, the
        sense that is in scope in elements of them, and how their names are written."""
        scope = _declared(context)
        prefix, _, local = written.rpartition(":")
        if (scope.get(prefix, ""), local) != _parts(self._structure.tags[tsid].name):
            return
        self.unknown.discard(tsid)
        self._scopes[tsid], self._prefixes[tsid] = scope, prefix
        if any(self._changes(one) for one in self._scopes):
            del self._scopes[tsid]
            yield tsid, NEVER, written
            return
        yield tsid, self._sense(scope), written
        for inner in self._within(tsid):
            yield from self._spelt(inner, scope)

    def widen(self, structure: Structure) -> Iterator[tuple[int, int, str]]:
        """The structure has more tags than before: how the elements of those are written that stand in known ones."""
        before, self._structure = self._structure, structure
        fresh = [tsid for tsid in structure.tags if tsid not in before.tags]
        self.unknown.update([tsid for tsid in fresh if structure.tags[tsid].fragment or tsid in structure.tops])
        for tsid, scope in self._scopes.items():
            for inner in self._within(tsid):
                if inner not in before.tags:
                    yield from self._spelt(inner, scope)

    def _spelt(self, inner: int, scope: Scope) -> Iterator[tuple[int, int, str]]:
        """How the elements of a tag are written in a fragment, if the namespaces in scope there tell."""
        uri, local = _parts(self._structure.tags[inner].name)
        fitting = sorted([key for key, value in ({"": ""} | dict(scope)).items() if value == uri])
        if fitting:
            self._prefixes[inner] = fitting[0]
            yield inner, self._sense(scope), f"{fitting[0]}:{local}" if fitting[0] else local

    def _within(self, tsid: int) -> Iterator[int]:
        """The tags of the elements of a fragment that are no fragments themselves; those that stand in one place."""
        for child in self._structure.tags[tsid].children:
            apart = self._structure.tags[child].fragment or child == self._structure.root
            if not apart and self._structure.parents[child] == (tsid,):
                yield child
                yield from self._within(child)

    def _changes(self, tsid: int) -> bool:
        """Whether names in a fragment mean something else where it is put: a default namespace is around it that it
        does not have."""
        around = [self._scopes[one].get("", "") for one in self._outwards(tsid) if one in self._scopes]
        return self._scopes[tsid].get("", "") == "" and any(around)

    def _outwards(self, tsid: int) -> Iterator[int]:
        seen = {tsid}
        while len(above := self._structure.parents[tsid]) == 1 and above[0] not in (UNNAMED, *seen):
            (tsid,) = above
            seen.add(tsid)
            yield tsid

    def around(self, tsid: int) -> Around | None:
        """The elements around the fragments of a tag; None if it is not known how they are spelt."""
        tags = [*self._outwards(tsid)][::-1]
        if not all(one in self._prefixes for one in tags):
            return None
        parts = [_parts(self._structure.tags[one].name) for one in tags]
        names = [(uri, self._prefixes[one], local) for one, (uri, local) in zip(tags, parts, strict=True)]
        return Around(names, [self._scopes.get(one, {}) for one in tags])


def _declared(context: Scope) -> dict[str, str]:
    """What contents declare."""
    found = sorted(context.items())
    return {prefix: uri for prefix, uri in found if prefix not in _OWN and (prefix or uri)}


def _parts(name: str) -> tuple[str, str]:
    """The namespace and the local name of a tag."""
    uri, _, local = name.removeprefix("{").rpartition("}")
    return uri, local
