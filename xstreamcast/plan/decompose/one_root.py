"""Whether the plan of a query takes for granted that a document has one element at its top, and no text there.

Passes such as ``open_root`` rest on it: ``/b[c]/t`` becomes ``if (/b/c) then /b/t``. What a stream describes need not
be a document in this sense: the answer of another query, for one, is whatever it is.
"""

from __future__ import annotations

from collections.abc import Collection

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import STREAM


def rests_on_one_root(parts: Collection[ast.Node]) -> bool:
    """Whether it may; ``parts`` are all nodes of a query over streams.

    It does not where elements are looked for at any depth, ``stream("s")//x``, and nothing looks back up from there.

    >>> from xstreamcast.lang.link import parse
    >>> from xstreamcast.lang.walk import descendants
    >>> [rests_on_one_root(list(descendants(parse(q)))) for q in ('stream("s")//x[y]', 'stream("s")/x[y]')]
    [False, True]
    """
    deep = [part for part in parts if isinstance(part, ast.Path) and _is_deep(part)]
    searched = {id(path.steps[0]) for path in deep}
    implied = {id(step.test) for path in deep if isinstance(step := path.steps[1], ast.AxisStep)}
    return any(
        (_is_stream(part) and id(part) not in searched)
        or (isinstance(part, ast.KindTest) and id(part) not in implied)
        or (isinstance(part, ast.AxisStep) and part.axis.startswith("ancestor"))
        for part in parts
    )


def looks_beside_root(parts: Collection[ast.Node]) -> bool:
    """Whether a query may see comments and instructions beside the root element, or the document node around all.

    >>> from xstreamcast.lang.link import parse
    >>> from xstreamcast.lang.walk import descendants
    >>> queries = ('stream("s")//x/text()', 'stream("s")//x/..', 'stream("s")//comment()')
    >>> [looks_beside_root(list(descendants(parse(q)))) for q in queries]
    [False, True, True]
    """
    paths = [part for part in parts if isinstance(part, ast.Path)]
    implied = {id(step.test) for path in paths if _is_deep(path) and isinstance(step := path.steps[1], ast.AxisStep)}
    kinds = [part for part in parts if isinstance(part, ast.KindTest) and id(part) not in implied]
    instructions = any(isinstance(part, ast.PITest) for part in parts)
    return instructions or any(part.kind in ("node", "comment") for part in kinds)


def names_elements(parts: Collection[ast.Node]) -> bool:
    """Whether all that a query over streams looks for in them is elements, from the top on or at any depth.

    Then they are followed as forests. Text at the top of a stream is in no element, and has no place of its own.

    >>> from xstreamcast.lang.link import parse
    >>> from xstreamcast.lang.walk import descendants
    >>> [names_elements(list(descendants(parse(q)))) for q in ('stream("s")/x[y]', 'stream("s")/node()')]
    [True, False]
    """
    paths = [part for part in parts if isinstance(part, ast.Path)]
    begun = {id(path.steps[0]) for path in paths if _is_deep(path) or _is_named(path.steps[1])}
    implied = {id(step.test) for path in paths if _is_deep(path) and isinstance(step := path.steps[1], ast.AxisStep)}
    return all(
        id(part) in begun if _is_stream(part) else not isinstance(part, ast.KindTest) or id(part) in implied
        for part in parts
    )


def _is_named(step: ast.Expr) -> bool:
    if not isinstance(step, ast.AxisStep) or step.axis not in ("child", "descendant"):
        return False
    return isinstance(step.test, ast.NameTest | ast.Wildcard)


def _is_stream(part: ast.Node) -> bool:
    return isinstance(part, ast.FunctionCall) and part.name.expanded == (STREAM, "stream")


def _is_deep(path: ast.Path) -> bool:
    """``e//x``, x a name or ``*``."""
    if len(path.steps) < 3:
        return False
    step, last = path.steps[1], path.steps[2]
    whole = isinstance(step, ast.AxisStep) and step.axis == "descendant-or-self" and not step.predicates
    return whole and isinstance(last, ast.AxisStep) and isinstance(last.test, ast.NameTest | ast.Wildcard)
