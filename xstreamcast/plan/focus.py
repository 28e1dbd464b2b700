"""Questions about syntax that decide how an expression is compiled."""

from __future__ import annotations

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants
from xstreamcast.model.namespaces import FN, MATH, STREAM, XS

ITEM, POSITION, LAST, ROOT = 1, 2, 4, 8
_EVERYTHING = ITEM | POSITION | LAST

VarName = tuple[str, str]


class Analysis:
    """Answers, remembered per syntax node (nodes are looked up by identity and kept alive by the key's owner)."""

    def __init__(self) -> None:
        self._focus: dict[int, int] = {}
        self._names: dict[int, frozenset[VarName]] = {}
        self._invariant: dict[int, bool] = {}
        self._keep: list[ast.Node] = []

    def focus(self, e: ast.Node) -> int:
        """Which parts of the focus around it an expression looks at: ITEM | POSITION | LAST, or only the ROOT above."""
        known = self._focus.get(id(e))
        if known is None:
            known = self._focus[id(e)] = self._focus_of(e)
            self._keep.append(e)
        return known

    def _focus_of(self, e: ast.Node) -> int:
        if isinstance(e, ast.Root):
            return ROOT
        if isinstance(e, (ast.ContextItem, ast.AxisStep)):
            return ITEM
        if isinstance(e, ast.Path):
            return self.focus(e.steps[0])
        if isinstance(e, ast.SimpleMap):
            return self.focus(e.steps[0])
        if isinstance(e, ast.Filter):
            return self.focus(e.base)
        if isinstance(e, ast.InlineFunction):
            return 0
        own = 0
        if isinstance(e, ast.Lookup) and e.base is None:
            own = ITEM
        elif isinstance(e, ast.FunctionCall):
            own = _function_focus(e.name, len(e.args))
        elif isinstance(e, ast.NamedFunctionRef):
            own = _function_focus(e.name, e.arity)
        for child in children(e):
            own |= self.focus(child)
        return own

    def names(self, e: ast.Node) -> frozenset[VarName]:
        """The names of all variables mentioned (a safe guess at the free ones)."""
        known = self._names.get(id(e))
        if known is None:
            known = frozenset(d.name.expanded for d in descendants(e) if isinstance(d, ast.VarRef))
            self._names[id(e)] = known
            self._keep.append(e)
        return known

    def repeatable(self, e: ast.Node) -> bool:
        """Whether evaluating twice gives the same nodes: no constructors, no functions that could hold one."""
        known = self._invariant.get(id(e))
        if known is None:
            known = self._invariant[id(e)] = all(_repeatable(d) for d in descendants(e))
            self._keep.append(e)
        return known


_OTHER_EACH_TIME = (
    *ast.CONSTRUCTORS,
    ast.InlineFunction,
    ast.DynamicCall,
    ast.NamedFunctionRef,
    ast.TryCatch,
)
_UNREPEATABLE = frozenset({"error", "trace", "random-number-generator", "parse-xml", "parse-xml-fragment"})


def _repeatable(e: ast.Node) -> bool:
    if isinstance(e, _OTHER_EACH_TIME):
        return False
    if isinstance(e, ast.FunctionCall):
        return e.name.uri in (FN, XS, MATH, STREAM) and e.name.local not in _UNREPEATABLE
    return True


def _function_focus(name: ast.Name, arity: int) -> int:
    if name.uri == FN:
        if name.local == "position":
            return POSITION
        if name.local == "last":
            return LAST
        if name.local == "function-lookup":
            return _EVERYTHING
        if name.local in _PLAIN:
            return 0
        entry = lookup(FN, name.local, arity)
        if entry is not None and entry.reads_focus:
            return ITEM
    return 0


_PLAIN = frozenset({"count", "exists", "empty", "not", "sum", "true", "false", "concat", "contains", "doc"})


def literal_number(e: ast.Node) -> int | None:
    """The value of an integer literal."""
    return e.value if isinstance(e, ast.IntegerLiteral) else None


def is_call(e: ast.Node, local: str, arity: int) -> bool:
    """Whether an expression calls this function of the fn namespace."""
    return isinstance(e, ast.FunctionCall) and e.name.local == local and e.name.uri == FN and len(e.args) == arity
