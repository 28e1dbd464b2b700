"""Node tests as conditions on columns."""

from __future__ import annotations

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.lexical import is_ncname
from xstreamcast.model.names import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, intern
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.values import NODE_KINDS


@dataclass(frozen=True, slots=True)
class Test:
    """A node test: one name id that decides it, or a kind with conditions, or a test at run time.

    ``name``: the test is ``name column == name``. ``kind`` None is any kind. ``matcher`` is the name of a constant
    with a ``matches(node)`` method, asked last.
    """

    kind: int | None = None
    name: int | None = None
    uri: str | None = None
    local: str | None = None
    matcher: str | None = None
    never: bool = False

    @property
    def static_kind(self) -> str:
        return "node" if self.kind is None else NODE_KINDS[self.kind]

    def condition(self, c: Compiler, tree: str, row: str, attributes: bool) -> str:
        """Source text of the test on a row, "" if always true; ``attributes``: rows of attributes may be met."""
        if self.never:
            return "False"
        if self.name is not None:
            return f"{c.column(tree, 'name')}[{row}] == {self.name}"
        conditions = []
        if self.kind is not None:
            conditions.append(f"{c.column(tree, 'kind')}[{row}] == {self.kind}")
        elif attributes:
            conditions.append(f"{c.column(tree, 'kind')}[{row}] != {ATTRIBUTE}")
        if self.uri is not None:
            conditions.append(f"name_uri[{c.column(tree, 'name')}[{row}]] == {c.out.literal(self.uri)}")
        if self.local is not None:
            conditions.append(f"name_local[{c.column(tree, 'name')}[{row}]] == {c.out.literal(self.local)}")
        if self.matcher is not None:
            conditions.append(f"{self.matcher}.matches(Node(({tree}, {row})))")
        return " and ".join(conditions)


_HOLDS_ATTRIBUTES = frozenset({"attribute", "self", "descendant-or-self", "ancestor-or-self"})


def node_test(c: Compiler, axis: str, test: ast.NodeTest) -> Test:
    """The test of a step; what an axis never holds is never found."""
    made = _node_test(c, axis, test)
    if made.kind == ATTRIBUTE and axis not in _HOLDS_ATTRIBUTES:
        return Test(never=True)
    if axis == "attribute" and made.kind not in (ATTRIBUTE, None):
        return Test(never=True)
    return made


def _node_test(c: Compiler, axis: str, test: ast.NodeTest) -> Test:
    principal = ATTRIBUTE if axis == "attribute" else ELEMENT
    if isinstance(test, ast.NameTest):
        return Test(principal, intern(principal, test.name.uri or "", test.name.local))
    if isinstance(test, ast.Wildcard):
        return Test(principal, uri=test.uri, local=test.local)
    if isinstance(test, ast.KindTest):
        if test.kind == "text":
            return Test(TEXT, TEXT)
        if test.kind == "comment":
            return Test(COMMENT, COMMENT)
        if test.kind == "namespace-node":
            return Test(NAMESPACE)
        return Test()
    if isinstance(test, ast.PITest):
        if test.target is None:
            return Test(PI)
        if not is_ncname(test.target.strip()):
            raise c.fault("XPTY0004", f'"{test.target}" cannot be the target of a processing instruction')
        return Test(PI, intern(PI, "", test.target.strip()))
    if isinstance(test, (ast.ElementTest, ast.AttributeTest)):
        kind = ELEMENT if isinstance(test, ast.ElementTest) else ATTRIBUTE
        if test.type is not None:
            from xstreamcast.run.compile.types import item_type

            return Test(kind, matcher=c.out.constant(item_type(c, test)))
        if test.name is None:
            return Test(kind)
        return Test(kind, intern(kind, test.name.uri or "", test.name.local))
    if isinstance(test, ast.DocumentTest):
        if test.content is None:
            return Test(DOCUMENT)
        from xstreamcast.run.compile.types import item_type

        return Test(DOCUMENT, matcher=c.out.constant(item_type(c, test)))
    raise c.fault("XPST0008", f"{test.kind}({test.name.lexical}) needs a schema, and there is none")
