"""Random syntax trees, as the parser could have built them."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr

NAMES = st.sampled_from(
    [
        *("a", "b", "div", "or", "for", "if", "element", "map", "now", "last", "PT1H", "before", "return", "text"),
        *("x-1", "declare"),
    ]
)
TEXTS = st.text(alphabet="ab <>&{}\"'\n]`$é", min_size=1, max_size=6)


def name(local: str, prefix: str = "") -> ast.Name:
    return ast.Name(prefix, local)


VARIABLES = st.sampled_from(["x", "y", "n-1"]).map(lambda local: ast.VarRef(name(local)))
LITERALS = st.one_of(
    TEXTS.map(ast.StringLiteral),
    st.integers(0, 10**20).map(ast.IntegerLiteral),
    st.integers(0, 10**9).map(lambda n: ast.DecimalLiteral(Decimal(n) / 1000)),
    st.floats(0, allow_nan=False).map(lambda f: ast.DoubleLiteral(abs(f))),
)
TESTS = st.one_of(
    NAMES.map(lambda local: ast.NameTest(name(local))),
    st.sampled_from(
        [
            ast.Wildcard(None, None, None),
            ast.Wildcard(None, None, "n"),
            ast.Wildcard("p", None, None),
            ast.KindTest("text"),
            ast.KindTest("node"),
            ast.ElementTest(name("e")),
            ast.AttributeTest(),
            ast.NameTest(ast.Name(None, "q", "urn:{&}")),
        ]
    ),
)
TYPES = st.sampled_from(
    [
        ast.SequenceType(ast.AnyItem(), "*"),
        ast.SequenceType(ast.AtomicType(name("int", "xs")), "?"),
        ast.SequenceType(ast.AtomicType(name("int", "xs"))),
        ast.SequenceType(ast.FunctionTest((), ast.SequenceType(ast.AnyItem())), "+"),
        ast.SequenceType(None),
    ]
)
SINGLE_TYPES = st.sampled_from([ast.SingleType(name("int", "xs")), ast.SingleType(name("int", "xs"), True)])
MOMENTS = st.sampled_from(
    [ast.Now(), ast.Start(), ast.Last(), ast.InstantLiteral("2003-11-01T00:00:00Z"), ast.DurationLiteral("PT1H")]
)
LEAVES = st.one_of(
    VARIABLES,
    LITERALS,
    st.sampled_from([ast.ContextItem(), ast.Sequence(), ast.Root(), ast.NamedFunctionRef(name("f"), 1)]),
)


def steps(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    axes = st.sampled_from(["child", "attribute", "descendant-or-self", "parent", "ancestor"])
    return st.builds(ast.AxisStep, axes, TESTS, st.lists(exprs, max_size=2).map(tuple))


def content(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[tuple[object, ...]]:
    """Text and expressions in turn: neighbouring texts would be one."""
    texts = TEXTS.map(ast.LiteralText)
    pairs = st.lists(st.tuples(texts, exprs), max_size=2)
    return pairs.map(lambda found: tuple(part for pair in found for part in pair))


def tuples(exprs: st.SearchStrategy[Expr], least: int = 2, most: int = 3) -> st.SearchStrategy[tuple[Expr, ...]]:
    return st.lists(exprs, min_size=least, max_size=most).map(tuple)


def arithmetic(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.builds(ast.Arithmetic, st.sampled_from(["+", "-", "*", "div", "idiv", "mod"]), exprs, exprs)


def larger(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """One more level."""
    postfix_base = exprs.filter(lambda e: not isinstance(e, ast.Filter))
    in_brackets = st.one_of(MOMENTS, exprs, arithmetic(MOMENTS))
    return st.one_of(
        steps(exprs),
        st.builds(ast.Path, tuples(st.one_of(exprs, steps(exprs)))),
        st.builds(ast.Filter, postfix_base, tuples(exprs, 1, 2)),
        st.builds(ast.SimpleMap, tuples(exprs)),
        st.builds(ast.Lookup, st.one_of(st.none(), exprs), st.one_of(st.none(), exprs)),
        st.builds(ast.DynamicCall, exprs, tuples(st.one_of(exprs, st.just(ast.Placeholder())), 0, 2)),
        st.builds(ast.FunctionCall, st.just(name("f")), tuples(exprs, 0, 2)),
        st.builds(ast.Sequence, tuples(exprs)),
        arithmetic(exprs),
        st.builds(ast.Unary, st.sampled_from("+-"), exprs),
        *(st.builds(chain, tuples(exprs)) for chain in (ast.Or, ast.And, ast.Concat, ast.Union)),
        st.builds(ast.GeneralComparison, st.sampled_from(["=", "<", ">="]), exprs, exprs),
        st.builds(ast.ValueComparison, st.sampled_from(["eq", "lt"]), exprs, exprs),
        st.builds(ast.NodeComparison, st.sampled_from(["is", "<<"]), exprs, exprs),
        st.builds(ast.AllenComparison, st.sampled_from(ast.ALLEN), exprs, exprs),
        *(st.builds(pair, exprs, exprs) for pair in (ast.Range, ast.Intersect, ast.Except)),
        *(st.builds(typed, exprs, TYPES) for typed in (ast.InstanceOf, ast.TreatAs)),
        *(st.builds(typed, exprs, SINGLE_TYPES) for typed in (ast.CastAs, ast.CastableAs)),
        st.builds(ast.If, exprs, exprs, exprs),
        st.builds(lambda a, b: ast.FLWOR((ast.ForClause(name("x"), None, False, None, a),), b), exprs, exprs),
        st.builds(lambda a, b: ast.Quantified(True, (ast.QuantifiedBinding(name("x"), None, a),), b), exprs, exprs),
        st.builds(ast.Extension, st.just((ast.Pragma(name("g", "p"), "c "),)), exprs),
        st.builds(lambda body: ast.InlineFunction((), None, body), exprs),
        st.builds(ast.IntervalProjection, exprs, in_brackets, st.one_of(st.none(), in_brackets)),
        st.builds(ast.VersionProjection, exprs, in_brackets, st.one_of(st.none(), in_brackets)),
        st.builds(lambda parts: ast.DirectElement(name("e"), (), (), parts), content(exprs)),
        st.builds(
            lambda parts: ast.DirectElement(name("e"), (), (ast.DirectAttribute(name("b"), parts),), ()), content(exprs)
        ),
        st.builds(ast.ComputedElement, st.one_of(st.just(name("e")), exprs), exprs),
        st.builds(ast.ComputedText, exprs),
        st.builds(ast.SquareArray, tuples(exprs, 0, 2)),
        st.builds(ast.CurlyArray, exprs),
        st.builds(lambda key, value: ast.MapConstructor((ast.MapEntry(key, value),)), exprs, exprs),
    )


TREES = st.recursive(LEAVES, larger, max_leaves=8)
