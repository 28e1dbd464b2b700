"""Which namespaces directly nested element constructors share."""

from __future__ import annotations

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast


@dataclass(frozen=True, slots=True)
class Nesting:
    """The prefixes that the direct elements around one bind, by declarations or only because names have them.

    XQuery 3.1 §3.9.4: a nested direct element has the former in scope and not the latter, for it is not copied.
    """

    declared: frozenset[str] = frozenset()
    implied: frozenset[str] = frozenset()

    def within(self, e: ast.DirectElement) -> tuple[Nesting, list[str]]:
        """The nesting of what is directly in an element, and what the element must not inherit."""
        declared = self.declared | {declaration.prefix for declaration in e.namespaces}
        names = [e.name, *(attribute.name for attribute in e.attributes)]
        own = {name.prefix for name in names if name.prefix and name.prefix != "xml"}
        return Nesting(declared, (self.implied | own) - declared), sorted(self.implied - own - declared)
