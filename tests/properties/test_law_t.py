"""T by the product and T by the specification (:mod:`law_t`) are one, after every change, where no query is asked: so
these changes need make no sense."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from law_case import Case, Step
from law_changes import draw_changes
from law_oracle import LawBroken, Scratch, t_differs, take_into, whole
from law_t import Streams

BLOCK = 25


def check_t(steps: tuple[Step, ...]) -> int:
    """Hold T against the specification after every step; how many documents there were."""
    scratch, streams, seen = Scratch("()"), Streams(), set()
    for number, step in enumerate(steps, 1):
        scratch.take(step)
        take_into(streams, step)
        wrong = t_differs(scratch, streams)
        if wrong is not None:
            raise LawBroken(Case("()", steps[:number]), number, *wrong)
        seen.add(whole(streams.text("s")))
    return len(seen)


@pytest.mark.parametrize("block", range(20))
def test_the_document_after_every_change_is_that_of_the_specification(block: int) -> None:
    seen = 0
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        try:
            seen += check_t(draw_changes(seed))
        except LawBroken as broken:
            raise AssertionError(f"seed {seed}: {broken}") from None
    assert seen > 2 * BLOCK, "changes after which nothing is otherwise show nothing"


def test_the_changes_are_of_every_kind() -> None:
    wires = [step.wire for seed in range(200) for step in draw_changes(seed)]
    kinds = ("filler", "repeat", "replace", "remove", "before", "after", "hide", "show", "freeze", "eos", "structure")
    forms = (*[f"<stream:{kind}" for kind in kinds], "<stream:mutable", "validTime=", "xmlns:p=", 'xmlns="', "CDATA")
    forms += ("<!--", "<?p", "&#13;", "xml:space", 'doc="', '<tag stream="s">', 'validTime="start"', "+01:00")
    assert [form for form in forms if not any(form in wire for wire in wires)] == []
    flags = [wire for wire in wires if wire.startswith(("<stream:hide", "<stream:show", "<stream:freeze"))]
    assert any("version=" in wire for wire in flags)
    assert any("version=" not in wire for wire in flags)


@pytest.mark.parametrize("module", ["law_t", "law_wire"])
def test_the_specification_has_no_code_of_the_product(module: str) -> None:
    parsed = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    ours = {name for name in imported if name.startswith(("xstreamcast", "law_"))}
    assert ours <= {"law_wire"}
