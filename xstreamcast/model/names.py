"""Names of nodes as small integers, so that a name test is one integer comparison.

An id stands for (node kind, namespace, local name): the element ``id`` and the attribute ``id`` have
different ids, so one look at a tree's ``name`` column answers a name test *and* a kind test. Unnamed nodes
carry their kind as id. Prefixes are kept apart, for they take no part in comparisons.

>>> intern(ELEMENT, "", "book") == intern(ELEMENT, "", "book") != intern(ATTRIBUTE, "", "book")
True
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xstreamcast.model.atomic import QName

DOCUMENT, ELEMENT, ATTRIBUTE, TEXT, COMMENT, PI, NAMESPACE = range(7)
KIND_NAMES = ("document", "element", "attribute", "text", "comment", "processing-instruction", "namespace")


FIRST_NAME = 16  # ids below are kinds of unnamed nodes, or free

name_kind: list[int] = list(range(FIRST_NAME))
name_uri: list[str] = [""] * FIRST_NAME
name_local: list[str] = [""] * FIRST_NAME
prefixes: list[str] = [""]

_ids: dict[tuple[int, str, str], int] = {}
_prefix_ids: dict[str, int] = {"": 0}
_qnames: dict[tuple[int, int], QName] = {}
_growing = Lock()


def intern(kind: int, uri: str, local: str) -> int:
    """The id of a name of a node of this kind."""
    key = (kind, uri, local)
    number = _ids.get(key)
    if number is None:
        with _growing:
            number = _ids.get(key)
            if number is None:
                name_kind.append(kind)
                name_uri.append(uri)
                name_local.append(local)
                # Published last: another thread that finds the id must find its columns filled.
                number = _ids[key] = len(name_local) - 1
    return number


def intern_prefix(prefix: str) -> int:
    """The id of a prefix; 0 is no prefix."""
    number = _prefix_ids.get(prefix)
    if number is None:
        with _growing:
            number = _prefix_ids.get(prefix)
            if number is None:
                prefixes.append(prefix)
                number = _prefix_ids[prefix] = len(prefixes) - 1
    return number


def qname(name: int, prefix: int) -> QName:
    """The QName value of an interned name."""
    value = _qnames.get((name, prefix))
    if value is None:
        from xstreamcast.model.atomic import QName

        value = _qnames[name, prefix] = QName(name_uri[name], name_local[name], prefixes[prefix])
    return value
