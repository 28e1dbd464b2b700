"""The body of a function: what it ends with, and itself called last as a jump back to its beginning."""

from __future__ import annotations

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.types import ANYTHING
from xstreamcast.run.compile.calls import UserFunction, held
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.values import Rep


@dataclass(frozen=True, slots=True)
class Tail:
    """Writes a body whose value is returned; ``parameters`` are the Python names of the parameters."""

    c: Compiler
    function: UserFunction
    parameters: tuple[str, ...]
    role: str

    def write(self, body: ast.Expr, scope: Scope) -> None:
        if self._calls_itself(body):
            with self.c.out.block("while True:"):
                self._tail(body, scope)
        else:
            self._return(body, scope)

    def _is_itself(self, e: ast.Expr) -> bool:
        if not isinstance(e, ast.FunctionCall) or any(isinstance(arg, ast.Placeholder) for arg in e.args):
            return False
        key = (e.name.uri or "", e.name.local, len(e.args))
        return self.c.functions.get(key) is self.function

    def _calls_itself(self, e: ast.Expr) -> bool:
        """Whether the last act of a body may be to call the function."""
        while True:
            if isinstance(e, ast.If):
                if self._calls_itself(e.then):
                    return True
                e = e.otherwise
            elif isinstance(e, ast.FLWOR) and _only_lets(e):
                e = e.result
            else:
                return self._is_itself(e)

    def _tail(self, e: ast.Expr, scope: Scope) -> None:
        c = self.c
        if not self._calls_itself(e) or c.deep:
            self._return(e, scope)
        elif isinstance(e, ast.If):
            with c.out.block(f"if {c.cond(e.condition, scope)}:"):
                self._tail(e.then, scope)
            self._tail(e.otherwise, scope)  # the branch above has returned or jumped
        elif isinstance(e, ast.FLWOR):
            for clause in e.clauses:
                assert isinstance(clause, ast.LetClause)
                val = c.value(clause.value, scope)
                scope = c.declare(scope, (clause.var, val if val.constant else c.bind(val)))
            self._tail(e.result, scope)
        else:
            assert isinstance(e, ast.FunctionCall)
            self._jump(e, scope)

    def _jump(self, e: ast.FunctionCall, scope: Scope) -> None:
        c = self.c
        with c.at(e):
            codes = []
            for number, (arg, param) in enumerate(zip(e.args, self.function.params, strict=True), 1):
                val = c.convert(c.value(arg, scope), param, f"argument {number} of {e.name.lexical}")
                if held(param) is Rep.SEQ:
                    codes.append(c.list(val))
                else:
                    codes.append(c.item(val) if val.rep is Rep.ROW else val.code)
            if codes:
                c.out.line(f"{', '.join(self.parameters)} = {', '.join(codes)}")
            c.out.line("continue")

    def _return(self, e: ast.Expr, scope: Scope) -> None:
        c = self.c
        result = c.value(e, scope)
        if self.function.declared is not ANYTHING:
            result = c.convert(result, self.function.declared, self.role)
        if self.function.result_rep is Rep.SEQ:
            c.out.line(f"return {c.list(result)}")
        else:
            c.out.line(f"return {c.item(result) if result.rep is Rep.ROW else result.code}")


def _only_lets(e: ast.FLWOR) -> bool:
    return all(isinstance(clause, ast.LetClause) and clause.type is None for clause in e.clauses)
