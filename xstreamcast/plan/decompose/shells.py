"""New elements around units: ``<alerts>{ for … }</alerts>`` is a shell with a place in it where the items come.

What is around a unit that stands by itself between braces does not depend on its items, so it can be written before
they are known, and a change among them leaves it as it is.
"""

from __future__ import annotations

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import VarName

_ELEMENTS = ("child", "descendant")
CHILDREN = (ast.DirectElement, ast.ComputedElement, ast.ComputedText, ast.ComputedComment, ast.ComputedPI)
"""What makes a node that may be the child of another."""
_ATOMS = (
    ast.StringLiteral,
    ast.IntegerLiteral,
    ast.DecimalLiteral,
    ast.DoubleLiteral,
    ast.Arithmetic,
    ast.GeneralComparison,
    ast.ValueComparison,
    ast.Concat,
)


def stands(part: ast.Expr, variable: VarName) -> bool:
    """Whether all that an expression does with a variable is to put it, by itself, into new elements."""
    if mentions(part, variable) == 0:
        return True
    match part:
        case ast.DirectElement(attributes=attributes, content=content):
            return not any(mentions(one, variable) for one in attributes) and all(
                _by_itself(one, variable) for one in content
            )
        case ast.ComputedElement(name=name, content=content):
            computed = isinstance(name, ast.Expr) and mentions(name, variable)
            return not computed and _by_itself(content, variable)
        case ast.FLWOR(clauses=clauses, result=result):
            lets = all(isinstance(clause, ast.LetClause) for clause in clauses)
            return lets and not any(mentions(clause, variable) for clause in clauses) and stands(result, variable)
        case ast.If(condition=condition, then=then, otherwise=otherwise):
            return not mentions(condition, variable) and stands(then, variable) and stands(otherwise, variable)
    return False


def _by_itself(content: ast.Node, variable: VarName) -> bool:
    if isinstance(content, ast.VarRef):
        return True
    return stands(content, variable) if isinstance(content, ast.Expr) else not mentions(content, variable)


def mentions(part: ast.Node, variable: VarName) -> int:
    """How often a variable is mentioned."""
    return sum(isinstance(one, ast.VarRef) and one.name.expanded == variable for one in descendants(part))


def only_content(items: ast.Expr) -> bool:
    """Whether an expression is sure to give no attributes, namespaces, documents or functions: whatever comes of it
    stands in an element as it would stand by itself."""
    match items:
        case ast.FLWOR(result=result):
            return only_content(result)
        case ast.If(then=then, otherwise=otherwise):
            return only_content(then) and only_content(otherwise)
        case ast.Sequence(items=parts):
            return all(map(only_content, parts))
        case ast.Filter(base=base):
            return only_content(base)
        case ast.Path(steps=steps):
            return only_content(steps[-1])
        case ast.AxisStep(axis=axis):
            return axis in _ELEMENTS
        case ast.FunctionCall(name=name, args=args):
            entry = lookup(name.uri or "", name.local, len(args)) if name.uri == FN else None
            return entry is not None and isinstance(entry.result.item, AtomicType)
    return isinstance(items, (*CHILDREN, *_ATOMS))
