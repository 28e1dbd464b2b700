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
"""Constructors of nodes that may be children of another."""
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


def stands(part: ast.Expr, variable: VarName, nodes: bool = False) -> bool:
    """Whether all that an expression does with a variable is to put it, by itself, into new elements.

    ``nodes``: it stands for nodes, so that no blank is due between them and what is beside them in a sequence.
    """
    if mentions(part, variable) == 0:
        return True
    match part:
        case ast.DirectElement(attributes=attributes, content=content):
            return not any(mentions(one, variable) for one in attributes) and all(
                _inside(one, variable, nodes) for one in content
            )
        case ast.ComputedElement(name=name, content=content):
            computed = isinstance(name, ast.Expr) and mentions(name, variable)
            return not computed and _inside(content, variable, nodes)
        case ast.ComputedDocument(content=content):
            return _inside(content, variable, nodes)
    chosen = _chosen(part, variable)
    return chosen is not None and all(stands(one, variable, nodes) for one in chosen)


def _inside(content: ast.Node, variable: VarName, nodes: bool) -> bool:
    """The same of what is between braces, where the variable may be by itself."""
    if isinstance(content, ast.VarRef) or not isinstance(content, ast.Expr):
        return isinstance(content, ast.VarRef) or not mentions(content, variable)
    chosen = None if isinstance(content, ast.Sequence) and not nodes else _chosen(content, variable)
    if chosen is None:
        return stands(content, variable, nodes)
    return all(_inside(one, variable, nodes) for one in chosen)


def _chosen(e: ast.Expr, variable: VarName) -> tuple[ast.Expr, ...] | None:
    """The expressions of which one, or one after the other, is the value of another: what chooses does not look at the
    variable. None if it is not of such a form."""
    match e:
        case ast.FLWOR(clauses=clauses, result=result) if all(isinstance(one, ast.LetClause) for one in clauses):
            return None if any(mentions(one, variable) for one in clauses) else (result,)
        case ast.If(condition=condition, then=then, otherwise=otherwise):
            return None if mentions(condition, variable) else (then, otherwise)
        case ast.Switch(operand=operand, cases=cases, default=default):
            values = [value for case in cases for value in case.values]
            choosing = any(mentions(one, variable) for one in (operand, *values))
            return None if choosing else (*[case.result for case in cases], default)
        case ast.Typeswitch(operand=operand, cases=kinds, default=default):
            return None if mentions(operand, variable) else (*[case.result for case in kinds], default)
        case ast.Sequence(items=items):
            return items
        case _:
            return None


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
