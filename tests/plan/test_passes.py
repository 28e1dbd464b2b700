"""The passes before decomposition: what becomes of a query, and that its answer stays what it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xstreamcast.functions.registry import known_function
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse as parse_query
from xstreamcast.lang.printer import to_xquery
from xstreamcast.model.serialise import serialise
from xstreamcast.plan.passes import PASSES, normalise
from xstreamcast.plan.sources import sources_of
from xstreamcast.run.evaluate import EvaluationContext, Executable
from xstreamcast.run.library import moment_of
from xstreamcast.scan.parse import parse

FIXTURES = Path(__file__).parents[1] / "fixtures" / "passes"
CASES = sorted(FIXTURES.glob("*/*.xq"))
NAMED = {rewrite.__name__: rewrite for rewrite in PASSES}


def module_of(text: str) -> ast.Module:
    return parse_query(text, static=StaticContext(base_uri="file:///"), known_functions=known_function)


def until(name: str, module: ast.Module) -> ast.Module:
    """The module after the passes up to this one; a pass may count on those before it."""
    for rewrite in PASSES:
        module = rewrite(module)
        if rewrite.__name__ == name:
            break
    return module


def answer(module: ast.Module) -> str:
    document = parse((FIXTURES / "sample.xml").read_text())
    sources = [source.variable for source in sources_of(module)]
    declared = [ast.VariableDecl(ast.Name(None, local, uri), None, None, external=True) for uri, local in sources]
    program = Executable(replace(module, prolog=(*module.prolog, *declared)))
    given = {source: [document] for source in sources}
    items = program.run(EvaluationContext(program.program, moment_of("2005-09-01"), document, given))
    return "\n".join(serialise([item], method="adaptive") for item in items)


def words(text: str) -> str:
    return " ".join(text.split())


def test_every_pass_has_cases() -> None:
    assert {case.parent.name for case in CASES} == NAMED.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_a_pass_makes_of_a_query_what_is_written(case: Path) -> None:
    before, after = case.read_text().split("(: becomes :)")
    assert words(to_xquery(until(case.parent.name, module_of(before)))) == words(after)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_a_pass_leaves_the_answer_as_it_was(case: Path) -> None:
    module = module_of(case.read_text().split("(: becomes :)")[0])
    assert answer(until(case.parent.name, module)) == answer(module) == answer(normalise(module))


def test_a_long_recursion_is_a_loop() -> None:
    module = module_of(
        "declare function local:sum($v) { if (empty($v)) then 0 else head($v) + local:sum(tail($v)) };"
        "local:sum(1 to 100000)"
    )
    assert answer(until("fold_recursion", module)) == "5000050000"


def test_a_type_that_a_document_may_not_match_stays_in_force() -> None:
    module = module_of("declare function local:f($x as element(b)*) { count($x) }; local:f(/r/*)")
    with pytest.raises(TypeError, match="XPTY0004"):
        answer(normalise(module))
