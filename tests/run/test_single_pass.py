"""The executor, on plans written by hand: any way of cutting a document into batches gives the same answer."""

from __future__ import annotations

import os
import threading
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from plans_by_hand import DOCUMENT, SOURCE, WHOLE, answer, answers, expression, module, nest, plan, unit

from xstreamcast.errors import XStreamError
from xstreamcast.model.serialise import serialise
from xstreamcast.plan.algebra import PLAN, Fold, Group, Pass, Plan, RecordTest, Reduce, Slice, Strategy
from xstreamcast.run.library import moment_of
from xstreamcast.run.single_pass import PlanCode, run_many
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.parse import parse
from xstreamcast.scan.path import parse_path

STEPS = (1, 7, 60, 1 << 20)
XML = "<s>" + "".join(f"<p i='{i % 3}'><n>{i}</n></p>" for i in range(10)) + "<o><n>99</n></o></s>"
ITEM = (PLAN, "it")
NUMBERS = ("//n",)
PEOPLE = ("/s/p",)


def both(made: Plan, xml: str = XML) -> str:
    """The answer, the same by every step, and on the document as a tree."""
    found = {serialise(answer(made, BytesIO(xml.encode()), step=step)) for step in STEPS}
    found.add(serialise(answer(made, parse(xml))))
    assert len(found) == 1, found
    return found.pop()


def test_items_come_in_document_order() -> None:
    people = unit("a", "$document/s/p[@i = '1']/n/string()", records=PEOPLE)
    assert both(plan([people], [people])) == "1 4 7"


def test_the_rest_of_the_query_sees_values() -> None:
    total = unit("a", "$document//n", Reduce("sum"), NUMBERS)
    most = unit("b", "$document//n", Reduce("max"), NUMBERS)
    assert both(plan(["$a + $b", "'end'"], [total, most])) == "243 end"


def test_parts_of_the_answer_keep_their_order() -> None:
    people = unit("a", "$document/s/p[1 = @i]/n/string()", records=PEOPLE)
    total = unit("b", "$document//n", Reduce("count"), NUMBERS)
    third = unit("c", "$document//n/string()", Slice(3, 3), NUMBERS)
    steps = [people, total, third]
    assert both(plan(["'begin'", people, "$b", third], steps)) == "begin 1 4 7 11 2"
    assert both(plan([third, people, "$b"], steps)) == "2 1 4 7 11"
    assert both(plan(["$b", people, third, people], steps)) == "11 1 4 7 2 1 4 7"


def test_slices_and_folds() -> None:
    some = unit("a", "$document//n", Slice(2, 3), NUMBERS)
    assert both(plan([some], [some])) == "<n>1</n><n>2</n>"
    fold = Fold(expression("0"), (PLAN, "acc"), ITEM, expression("$acc * 2 + $it"))
    folded = unit("a", "$document//n", fold, NUMBERS)
    assert both(plan(["$a"], [folded])) == "2125"


def test_groups_are_functions_of_their_keys() -> None:
    counts = unit("a", "$document/s/p", Group(ITEM, (expression("$it/@i"),), Reduce("count")), PEOPLE)
    assert both(plan(["for $i in 0 to 3 return $a($i)", "$a('1')"], [counts])) == "4 3 3 0 3"
    keys = (expression("$it/../@i"), expression("$it mod 2"))
    lists = unit("a", "$document/s/p/n", Group(ITEM, keys, Slice(1, 1)), PEOPLE)
    assert both(plan(["$a(0, 1)/string(), $a('0', 0)/string()"], [lists])) == "3 0"


def test_a_unit_that_needs_another_is_in_a_later_pass() -> None:
    count = unit("a", "$document//n", Reduce("count"), NUMBERS, path=parse_path("//n"))
    shares = unit("b", "for $n in $document//n return $n idiv $a", records=NUMBERS, needs=frozenset({(PLAN, "a")}))
    assert both(plan([shares], [count], [shares])) == "0 0 0 0 0 0 0 0 0 0 9"


# ----------------------------------------------------------------------------------------------------------- nests


def test_an_instance_that_is_cut_is_computed_piece_by_piece() -> None:
    root = (PLAN, "x")
    inner = unit("c", "$x/n", Reduce("count"), NUMBERS, root=root)
    whole = "for $x in $document/s/* return <r>{$x/@i, count($x/n)}</r>"
    outer = unit("a", whole, records=NUMBERS, nest=nest("x", "/s/*", (inner,), "<r>{$x/@i, $c}</r>"))
    expected = "".join(f'<r i="{i % 3}">1</r>' for i in range(10)) + "<r>1</r>"
    assert both(plan([outer], [outer])) == expected


def test_positions_under_a_parent_without_end() -> None:
    third = unit("c", "$x/p", Slice(3, 3), PEOPLE, root=(PLAN, "x"))
    outer = unit("a", "for $x in $document/s return $x/p[3]", records=PEOPLE, nest=nest("x", "/s", (third,), "$c"))
    assert both(plan([outer], [outer])) == '<p i="2"><n>2</n></p>'


def test_nests_in_nests() -> None:
    xml = "<s>" + "<q><p><n>1</n><n>2</n></p><p><n>3</n></p></q>" * 2 + "</s>"
    numbers = unit("c", "$y/n", Reduce("sum"), NUMBERS, root=(PLAN, "y"))
    inner = unit(
        "b",
        "for $y in $x/p return sum($y/n)",
        Reduce("string-join", expression("'+'")),
        NUMBERS,
        root=(PLAN, "x"),
        nest=nest("y", "/s/q/p", (numbers,), "$c"),
    )
    outer = unit(
        "a",
        "for $x in $document/s/q return string-join(for $y in $x/p return sum($y/n), '+')",
        records=NUMBERS,
        nest=nest("x", "/s/q", (inner,), "$b"),
    )
    assert both(plan([outer], [outer]), xml) == "3+3 3+3"


def test_the_parts_of_an_instance_are_there_at_its_end() -> None:
    xml = "<s><q><name>a</name><n>1</n><n>2</n></q><q><n>3</n><name>b</name></q></s>"
    numbers = unit("c", "$x/n", Reduce("sum"), NUMBERS, root=(PLAN, "x"))
    parts = (Target(parse_path("/s/q/name"), Action.PROJECT),)
    named = nest("x", "/s/q", (numbers,), "$x/name || $c", parts)
    outer = unit("a", "for $x in $document/s/q return $x/name || sum($x/n)", records=NUMBERS, nest=named)
    assert both(plan([outer], [outer]), xml) == "a3 b3"


# ------------------------------------------------------------------------------------------------- what is not built


def test_counting_needs_no_rows() -> None:
    count = unit("a", "$document//n", Reduce("count"), path=parse_path("//n"))
    made = plan(["$a"], [count], targets=())
    rows: list[int] = []
    from xstreamcast.scan import documents

    real = documents.document_batches

    def watched(*args: Any, **options: Any) -> Any:
        for batch in real(*args, **options):
            rows.append(len(batch.tree))
            yield batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "document_batches", watched)
        assert answer(made, BytesIO(XML.encode()), step=10) == [11]
    assert set(rows) == {1}  # the document node


def test_records_that_fail_their_tests_are_not_built() -> None:
    test = RecordTest(parse_path("/s/p/n"), "=", 4.0)
    found = unit("a", "$document/s/p[n = 4]", records=PEOPLE, tests=(test,))
    other = unit("b", "$document/s/o/n/string()", records=("/s/o",))
    assert both(plan([found], [found])) == '<p i="1"><n>4</n></p>'
    assert both(plan([found, other], [found, other])) == '<p i="1"><n>4</n></p>99'
    everybody = unit("c", "$document/s/p", Reduce("count"), PEOPLE)
    inside = unit("c", "$document//n", Reduce("count"), NUMBERS)
    assert both(plan(["$c", found], [found, everybody])) == '10<p i="1"><n>4</n></p>'
    assert both(plan(["$c", found], [found, inside])) == '11<p i="1"><n>4</n></p>'


def test_a_scan_ends_when_nothing_more_can_matter() -> None:
    broken = BytesIO(b"<s><n>1</n><n>2</n><broken")
    first = unit("a", "$document//n/string()", Slice(1, 1), NUMBERS)
    some = unit("b", "$document//n", Reduce("exists"), NUMBERS)
    assert answer(plan([first, "$b"], [first, some]), broken, step=1) == ["1", True]


def test_a_projected_document_is_one_scan() -> None:
    body = expression("for $n in $document//n order by $n descending return string($n)")
    targets = (Target(parse_path("//n"), Action.PROJECT),)
    made = Plan(module("()"), Strategy.PROJECT, (SOURCE,), (Pass(SOURCE, (), targets),), (body,))
    assert both(made) == "99 9 8 7 6 5 4 3 2 1 0"


# ------------------------------------------------------------------------------------------------------------ inputs


class Pipe:
    """Two ends of a pipe; what is written is read, and it cannot be read twice."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self.file: BinaryIO = os.fdopen(reading, "rb")

    def write(self, text: str) -> None:
        os.write(self.writing, text.encode())

    def close(self) -> None:
        os.close(self.writing)


def two_passes() -> Plan:
    count = unit("a", "$document//n", Reduce("count"), NUMBERS, path=parse_path("//n"))
    shares = unit("b", "$document//n ! (. - $a)", records=NUMBERS, needs=frozenset({(PLAN, "a")}))
    return plan([shares], [count], [shares])


def test_what_can_be_read_once_is_not_read_twice() -> None:
    pipe = Pipe()
    with pytest.raises(XStreamError, match="XSC0080") as failure:
        answers(two_passes(), pipe.file)
    assert "2 passes" in failure.value.message
    assert "--spool" in failure.value.hint
    pipe.close()
    pipe.file.close()


def test_a_copy_may_be_kept_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipe = Pipe()
    pipe.write("<s><n>1</n><n>2</n></s>")
    pipe.close()
    items = answers(two_passes(), pipe.file, spool=True)
    assert next(items) == -1
    assert len(list(tmp_path.iterdir())) == 1
    assert list(items) == [0]
    assert list(tmp_path.iterdir()) == []
    pipe.file.close()


def test_results_come_before_the_input_ends() -> None:
    pipe = Pipe()
    numbers = unit("a", "$document//n/string()", records=NUMBERS)
    items = answers(plan([numbers], [numbers]), pipe.file)
    pipe.write("<s><n>1</n><n>2</n>")
    assert [next(items), next(items)] == ["1", "2"]
    pipe.write("<n>3</n></s>")
    pipe.close()
    assert list(items) == ["3"]
    pipe.file.close()


def test_an_input_is_read_on_only_when_items_are_asked_for() -> None:
    pauses: list[int] = []
    numbers = unit("a", "$document//n/string()", records=NUMBERS)
    made = plan([numbers], [numbers])
    items = answers(made, BytesIO(XML.encode()), step=1, pause=lambda: pauses.append(1))
    assert not pauses
    next(items)
    seen = len(pauses)
    assert 0 < seen < 10
    list(items)
    assert len(pauses) > seen


def test_progress_tells_bytes() -> None:
    done: list[int] = []
    numbers = unit("a", "$document//n", Reduce("count"), NUMBERS)
    answer(plan(["$a"], [numbers]), BytesIO(XML.encode()), progress=done.append)
    assert done[-1] == len(XML)


def test_errors_tell_where_in_the_input() -> None:
    numbers = unit("a", "$document//n", records=NUMBERS)
    with pytest.raises(XStreamError, match="XSC0001") as failure:
        answer(plan([numbers], [numbers]), BytesIO(b"<s>\n<n>1</n>\n</t>"), step=1)
    assert failure.value.place is not None
    assert failure.value.place.line == 3


def test_an_error_is_met_by_who_reads_the_value() -> None:
    bad = unit("a", "$document//n ! (1 idiv xs:integer(.))", Reduce("sum"), NUMBERS)
    good = unit("b", "$document//n", Reduce("count"), NUMBERS)
    assert both(plan(["if ($b > 1) then $b else $a"], [bad, good])) == "11"
    assert both(plan(["try { $a } catch * { 'zero' }, try { $a + 1 } catch * { 'zero' }"], [bad, good])) == "zero zero"
    with pytest.raises(XStreamError, match="FOAR0001"):
        both(plan(["$a"], [bad, good]))
    late = unit("c", "$document//n[$a]", Reduce("count"), NUMBERS, needs=frozenset({(PLAN, "a")}))
    assert both(plan(["$b, $b[. > 20] ! $c"], [bad, good], [late])) == "11"
    inner = unit("c", "$x/n ! (1 idiv xs:integer(.))", Reduce("sum"), NUMBERS, root=(PLAN, "x"))
    body = "if ($x/@i = '0') then 'zero' else $c"
    whole = "for $x in $document/s/* return if ($x/@i = '0') then 'zero' else sum($x/n ! (1 idiv xs:integer(.)))"
    outer = unit("a", whole, records=NUMBERS, nest=nest("x", "/s/*", (inner,), body))
    assert both(plan([outer], [outer])) == "zero 1 0 zero 0 0 zero 0 0 zero 0"


# ------------------------------------------------------------------------------------------------- several queries


@pytest.mark.parametrize("step", STEPS)
def test_many_queries_share_a_scan(step: int) -> None:
    total = unit("a", "$document//n", Reduce("count"), path=parse_path("//n"))
    people = unit("b", "$document/s/p[@i = '2']/n/string()", records=PEOPLE)
    others = unit("c", "$document/s/o", Reduce("count"), path=parse_path("/s/o"))
    body = expression("for $n in $document//n order by number($n) descending return string($n)")
    sorted_plan = Plan(module("()"), Strategy.PROJECT, (SOURCE,), (Pass(SOURCE, (), WHOLE),), (body,))
    plans = [plan(["$a"], [total], targets=()), plan([people], [people]), two_passes(), sorted_plan]
    plans.append(plan(["$c"], [others], targets=()))
    scans: list[int] = []

    class Counted(BytesIO):
        def seek(self, *where: int) -> int:
            scans.append(1)
            return super().seek(*where)

    from xstreamcast.run.inputs import Scanning

    found = run_many(
        [PlanCode(made) for made in plans], {SOURCE: Counted(XML.encode())}, {}, moment_of("2024-01-01"),
        scanning=Scanning(step=step),
    )  # fmt: skip
    assert [serialise(items) for items in found] == [
        "11", "2 5 8", "-11 -10 -9 -8 -7 -6 -5 -4 -3 -2 88", "99 9 8 7 6 5 4 3 2 1 0", "1",
    ]  # fmt: skip
    assert len(scans) == 3  # one to project, and two passes


def test_runs_do_not_disturb_each_other() -> None:
    numbers = unit("a", "$document//n/string()", records=NUMBERS)
    made = plan([numbers], [numbers])
    one = answers(made, BytesIO(b"<s><n>1</n><n>2</n></s>"), step=1)
    other = answers(made, BytesIO(XML.encode()), step=1)
    assert [next(one), next(other), next(one)] == ["1", "0", "2"]
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(answer(made, BytesIO(XML.encode())))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert SOURCE.variable == DOCUMENT
