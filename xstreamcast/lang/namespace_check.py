"""The classic mistake: a query that names elements in no namespace, of a document whose elements are in one."""

from __future__ import annotations

from xstreamcast.lang.ast import AxisStep, Module, NameTest, Warning, Wildcard
from xstreamcast.lang.walk import descendants


def unqualified_names(module: Module, uri: str) -> tuple[Warning, ...]:
    """A warning if steps name elements, none of them in a namespace, though the document has a default one."""
    first: NameTest | None = None
    for part in (module, *module.imported):
        for step in descendants(part):
            if not isinstance(step, AxisStep) or step.axis == "attribute":
                continue
            if isinstance(step.test, Wildcard) and (step.test.local is not None or step.test.uri):
                return ()  # *:name, p:*
            if isinstance(step.test, NameTest):
                if step.test.name.uri:
                    return ()
                first = first or step.test
    if first is None:
        return ()
    name = first.name.local
    message = f"the document is in the namespace {uri}, and {name} in none"
    hint = f'begin by: declare default element namespace "{uri}"; or write *:{name}'
    return (Warning(message, hint, span=first.span),)
