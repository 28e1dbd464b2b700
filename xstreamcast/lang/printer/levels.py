"""How tightly expressions bind: where parentheses are needed."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Node
from xstreamcast.lang.parser import AND, COMPARISON, CONCAT, INTERSECT, LEVELS, OR, RANGE, UNION

SEQUENCE, SINGLE = -1, 0
UNARY, MAP, PATH, FIRST_STEP, STEP, PRIMARY = range(15, 21)

CHAINS = {
    ast.Or: ("or", OR),
    ast.And: ("and", AND),
    ast.Concat: ("||", CONCAT),
    ast.Union: ("|", UNION),
}
TYPED = {
    ast.InstanceOf: "instance of",
    ast.TreatAs: "treat as",
    ast.CastableAs: "castable as",
    ast.CastAs: "cast as",
}
BINDING: dict[type[Node], int] = {
    **dict.fromkeys((ast.FLWOR, ast.Quantified, ast.If, ast.Switch, ast.Typeswitch, ast.TryCatch), SINGLE),
    # a type at the end would take a following * or + for its occurrence sign, so these always get parentheses
    **dict.fromkeys(TYPED, OR),
    ast.Or: OR,
    ast.And: AND,
    **dict.fromkeys((ast.GeneralComparison, ast.ValueComparison, ast.NodeComparison, ast.AllenComparison), COMPARISON),
    ast.Concat: CONCAT,
    ast.Range: RANGE,
    ast.Union: UNION,
    ast.Intersect: INTERSECT,
    ast.Except: INTERSECT,
    ast.Unary: UNARY,
    ast.SimpleMap: MAP,
    ast.Extension: MAP,
    # bare words of the brackets take no postfix and no further steps
    **dict.fromkeys((ast.Now, ast.Start, ast.Last, ast.InstantLiteral, ast.DurationLiteral), PATH),
    ast.Path: PATH,
    ast.AxisStep: STEP,
}


def has_version_projection(node: Expr) -> bool:
    """Whether a postfix chain hangs on a version projection, which takes the whole path on its left."""
    while isinstance(node, ast.Filter | ast.IntervalProjection | ast.Lookup | ast.DynamicCall):
        below = node.function if isinstance(node, ast.DynamicCall) else node.base
        if below is None:
            return False
        node = below
    return isinstance(node, ast.VersionProjection)


def binding(node: Expr) -> int:
    """How tightly an expression binds: the level it can be an operand of without parentheses."""
    if isinstance(node, ast.Arithmetic):
        return LEVELS[node.op]
    if has_version_projection(node):
        return FIRST_STEP  # never a later one
    return BINDING.get(node.__class__, PRIMARY)
