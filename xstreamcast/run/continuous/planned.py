"""The plan of a query over streams, which what is known of the streams may change, and why there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.plan.algebra import Plan
from xstreamcast.plan.decompose.one_root import looks_beside_root, names_elements, rests_on_one_root
from xstreamcast.plan.decompose.plan import looks_everywhere, plan
from xstreamcast.plan.explain.changes import obstacle
from xstreamcast.scan.encoding import plain_xml, source_name
from xstreamcast.scan.given import readable

if TYPE_CHECKING:
    from xstreamcast.lang import ast
    from xstreamcast.run.continuous.arrive.share import Association


class Planned:
    """``plan`` is that of the query as its streams are known. ``spelled``: the structures by which it spells paths out.

    ``parts``: all of the query, to see what it takes for granted.
    """

    def __init__(self, module: ast.Module, parts: Collection[ast.Node]) -> None:
        self.module = module
        self.plan: Plan = plan(module, streams=True, changing=True)
        self.spelled: dict[str, Structure] = {}
        self._rests_on_one_root = rests_on_one_root(parts)
        self._names_elements = names_elements(parts)
        self._looks_beside_root = looks_beside_root(parts)

    def again(self, associations: Mapping[str, Association]) -> bool:
        """Plan the query by what is known of its streams now; whether that is another plan.

        One that has other than one element at its top is a forest. Where nothing but the tag structures tells what is
        around the elements that the query looks for, its paths are spelled out by these.
        """
        forests, structures = self._forests(), self.spelled
        if self._rests_on_one_root:
            forests |= _rootless(associations)  # whose fragments are elements, or they are not followed so
        if self._rests_on_one_root and self._names_elements:
            forests |= _odd(associations)
        if structures or looks_everywhere(self.plan):
            structures = known_structures(associations)
        if (forests, structures) == (self._forests(), self.spelled):
            return False
        self.spelled = structures
        made = self._made(forests, structures)
        if made == self.plan:
            return False
        self.plan = made
        return True

    def _made(self, forests: set[str], structures: Mapping[str, Structure]) -> Plan:
        return plan(self.module, streams=True, changing=True, forests=forests, structures=structures)

    def differs(self, structures: Mapping[str, Structure]) -> bool:
        """Whether the plan would be another one by these structures of its streams."""
        return bool(self.spelled) and self._made(self._forests(), structures) != self.plan

    def _forests(self) -> set[str]:
        """The streams that the plan takes to have any number of elements at their top."""
        return {source.uri for source in self.plan.sources if source.forest and source.uri is not None}

    def obstacle(self, associations: Mapping[str, Association], in_columns: bool = False) -> str:
        """Why the query must be computed anew at every change, if it must."""
        found = obstacle(self.plan)
        if found:
            return found
        rootless = _rootless(associations)
        if rootless and (not in_columns or (self._rests_on_one_root and not self._forests().issuperset(rootless))):
            return "a stream has no root element of its own"
        if any(one.named for one in associations.values()):
            return "a stream has documents with names"
        odd = _odd(associations)
        rests = self._rests_on_one_root and not self._forests().issuperset(odd)
        if any(rests or associations[name].standing.besides for name in odd):
            return "a stream has other than one element at its top"
        if self._looks_beside_root and any(one.standing.prolog for one in associations.values()):
            return "a stream has comments or instructions beside its root element"
        return ""


def _odd(associations: Mapping[str, Association]) -> set[str]:
    """The streams that have come to have other than one element at their top.

    What nobody needs may have been passed over before: T without it gives the same answer, unless it is the root.
    """
    return {name for name, one in associations.items() if not (one.standing.of_one_root or one.passed_root)}


def _rootless(associations: Mapping[str, Association]) -> set[str]:
    """The streams whose structures say that they have no root element of their own."""
    return {name for name, structure in known_structures(associations).items() if structure.unnamed}


def given_structures(given: Any) -> dict[str, Structure]:
    """The tag structures that somebody gives, by their streams' names, or one for all: as they are, or as XML."""
    named = given if isinstance(given, Mapping) else {} if given is None else {"": given}
    return {name: one if isinstance(one, Structure) else _read(one) for name, one in named.items()}


def _read(given: Any) -> Structure:
    source = readable(given)
    name = source_name(source) if isinstance(source, str | Path) else "structure"
    return parse_structure(b"".join(plain_xml(source)), name)


def known_structures(associations: Mapping[str, Association]) -> dict[str, Structure]:
    """The tag structures that streams have, by their names."""
    return {name: one.structure for name, one in associations.items() if one.structure is not None}
