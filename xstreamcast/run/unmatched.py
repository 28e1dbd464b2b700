"""Steps of a query that the tag structures of its streams rule out: paths that can match nothing, as they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from xstreamcast.lang.structures import unmatched_paths
from xstreamcast.lang.warning_texts import warning_texts

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.query import Query


def unmatched(query: Query, structures: Mapping[str, Structure]) -> tuple[str, ...]:
    """A text for every step of a query that no document of its stream can match, by structures of streams' names.

    >>> from xstreamcast.model.structure import parse_structure
    >>> from xstreamcast.run.query import compile
    >>> books = parse_structure('<stream:structure><tag id="1" name="book" type="snapshot"/></stream:structure>')
    >>> [text.partition(" ")[2] for text in unmatched(compile('stream("s")/book/title'), {"s": books})]
    ['nothing matches title: the structure of stream s has none below /book']
    """
    module = query.executable.program.module
    return warning_texts(replace(module, warnings=unmatched_paths(module, structures)))
