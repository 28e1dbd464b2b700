"""A query with columns: its items become maps, one expression for each column, which looks at the item.

    xcast query '//book' --columns '@id, title, price as xs:decimal, authors=author/name as xs:string*' …

An entry without a name is called as the last name in it. What stands behind ``as`` is the type, as XQuery writes it;
``as xml`` is the markup of what is there.

>>> parse_columns("@id, price as xs:decimal, by=string-join(author, ', ')")
{'id': '@id', 'price': 'price as xs:decimal', 'by': "string-join(author, ', ')"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from xstreamcast.errors import error
from xstreamcast.functions.registry import known_function
from xstreamcast.functions.registry import names as function_names
from xstreamcast.lang import ast
from xstreamcast.lang.ast.node import NOWHERE, Node
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.tables.columns import TYPES, declared
from xstreamcast.tables.kinds import Kind, listed

_ROW: Final = ast.Name("", "xstreamcast-row", "")
_NAMED: Final = re.compile(r"\s*([^\W\d][\w.-]*|\"[^\"]+\")\s*=(?!=)\s*(.*)", re.DOTALL)
_ALONE: Final = re.compile(r"\s*(?:[^\s=]*[/@?:])?([^\W\d][\w.-]*)\s*(?:\sas\s.*)?", re.DOTALL)
_XML: Final = re.compile(r"(.*\S)\s+as\s+xml\s*", re.DOTALL)
_PIECES: Final = re.compile(r"""\"[^\"]*\"|'[^']*'|[(\[{]|[)\]}]|,|[^\"'()\[\]{},]+""")
_HINT: Final = "columns are such as: @id, title, price as xs:decimal, authors=author/name as xs:string*"


def parse_columns(text: str) -> dict[str, str]:
    """The columns of ``--columns``: name and expression."""
    made: dict[str, str] = {}
    for entry in _entries(text):
        named, alone = _NAMED.fullmatch(entry), _ALONE.fullmatch(entry)
        if named is not None:
            name, value = named[1].strip('"'), named[2]
        elif alone is not None:
            name, value = alone[1], entry
        else:
            raise error("XSC0154", f"a column without a name: {entry.strip()!r}", hint=f"NAME=EXPRESSION; {_HINT}")
        if name in made:
            raise error("XSC0154", f"two columns are called {name}", hint=_HINT)
        made[name] = value.strip()
    return made


def _entries(text: str) -> list[str]:
    """The texts between commas that are in no string, parenthesis or bracket."""
    made, depth = [""], 0
    for piece in _PIECES.findall(text):
        if piece == "," and not depth:
            made.append("")
            continue
        depth += (piece in "([{") - (piece in ")]}")
        made[-1] += piece
    if not all(entry.strip() for entry in made):
        raise error("XSC0154", f"a column that is empty: {text!r}", hint=_HINT)
    return made


def with_columns(module: ast.Module, columns: Mapping[str, str]) -> tuple[ast.Module, dict[str, Kind | None]]:
    """The query whose items are maps of some columns, and the types that were declared for them.

    ``q`` becomes ``for $row in q return map { "name" : $row/path, … }``.
    """
    assert module.body is not None
    kinds: dict[str, Kind | None] = {}
    values = [_value(name, text, module, kinds) for name, text in columns.items()]
    entries = [ast.MapEntry(ast.StringLiteral(name), value) for name, value in zip(columns, values, strict=True)]
    loop = ast.ForClause(_ROW, None, False, None, module.body, span=module.body.span)
    body = ast.FLWOR((loop,), ast.MapConstructor(tuple(entries)), span=module.body.span)
    return replace(module, body=body), kinds


def _value(name: str, text: str, module: ast.Module, kinds: dict[str, Kind | None]) -> ast.Expr:
    """The expression of a column, of ``$row``."""
    as_xml = _XML.fullmatch(text)
    path, said, repeated = (as_xml[1], "string", False) if as_xml else declared(name, text)
    parsed = parse(
        path, source=f"column {name}", static=_inside(module), known_functions=partial(_known, module),
        function_names=function_names,
    )  # fmt: skip
    if parsed.body is None or parsed.prolog:
        raise error("XSC0154", f"column {name}: {text!r} is no expression", hint=_HINT)
    expr = _of_row(_nowhere(parsed.body))
    kinds[name] = None
    if said:
        kind = Kind(TYPES[said])
        kinds[name] = listed(kind) if repeated else kind
        cast = ast.Name("fn", "serialize", FN) if as_xml else ast.Name("xs", said, XS)
        expr = ast.SimpleMap((expr, ast.FunctionCall(cast, (ast.ContextItem(),))))
    return expr


def _inside(module: ast.Module) -> StaticContext:
    """The static context that a query's prolog declares, for an expression that stands in its body."""
    assert module.static is not None
    declared = [each.name.expanded for part in (module, *module.imported) for each in part.prolog
                if isinstance(each, ast.VariableDecl)]  # fmt: skip
    return replace(module.static, variables=module.static.variables.union(declared))


def _known(module: ast.Module, uri: str, local: str, arity: int) -> bool:
    """Whether a query, or the library, has a function."""
    own = (each for part in (module, *module.imported) for each in part.prolog if isinstance(each, ast.FunctionDecl))
    wanted = ((uri, local), arity)
    return known_function(uri, local, arity) or any((f.name.expanded, len(f.params)) == wanted for f in own)


def _of_row(expr: ast.Expr) -> ast.Expr:
    """An expression about the context item, about ``$row``: a path of steps stays one."""
    row = ast.VarRef(_ROW)
    steps = expr.steps if isinstance(expr, ast.Path) else (expr,)
    if isinstance(steps[0], ast.ContextItem):
        steps = steps[1:]
    if all(isinstance(step, ast.AxisStep) for step in steps):
        return ast.Path((row, *steps)) if steps else row
    return ast.SimpleMap((row, expr))


def _nowhere(node: ast.Expr) -> ast.Expr:
    """An expression whose places are not those of the query's text."""

    def moved(each: Node) -> Node:
        return replace(rebuild(each, moved), span=NOWHERE)

    made = moved(node)
    assert isinstance(made, ast.Expr)
    return made
