"""``explain()``: the verdict in words, the text, the page in docs."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from xstreamcast import explain
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.plan.explain.sentences import sentences

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
QUERIES = [*sorted((FIXTURES / "xmark").glob("*.xq")), *sorted((FIXTURES / "papers").glob("*.xq"))]

AUCTION = """<stream:structure><tag id="1" name="site">
  <tag id="2" name="regions">
    <tag id="3" name="africa"><tag id="4" name="item" type="filler"><tag id="5" name="name"/></tag></tag>
    <tag id="6" name="asia"><tag id="7" name="item" type="filler"><tag id="8" name="name"/></tag></tag>
  </tag>
  <tag id="9" name="people"><tag id="10" name="person" type="filler"><tag id="11" name="name"/></tag></tag>
</tag></stream:structure>"""


@pytest.fixture
def auction() -> Structure:
    return parse_structure(AUCTION)


def verdict(text: str) -> str:
    return explain(text).verdict


# ------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for $p in //person return $p/name", "one pass; state: one person at a time"),
        ("count(//person)", "one pass; state: a count"),
        ("sum(//price) div count(//price)", "one pass; state: one price at a time, a sum and a count"),
        ("count(//a) + count(//b)", "one pass; state: two counts"),
        ("distinct-values(//item/@id)", "one pass; state: one item at a time and the distinct values"),
        ("(//person)[1]", "one pass; state: one person at a time and an item"),
        ("1 + 1", "no scan: the query reads no document that is known beforehand"),
        ("doc(concat('a', '.xml'))//b", "no scan: the query reads no document that is known beforehand"),
    ],
)
def test_the_verdict_says_passes_and_state(text: str, expected: str) -> None:
    assert verdict(text) == expected


def test_a_second_pass_is_explained() -> None:
    assert verdict("let $n := count(//a) for $i in //b return $i/x div $n") == (
        "two passes: count(//a) is needed while //b is traversed; state: one b at a time and a count"
    )


def test_what_waits_for_its_place_is_state() -> None:
    assert verdict("(count(//a), //b)") == "one pass; state: one b at a time, a count and //b until count(//a) is known"


def test_passes_over_several_documents() -> None:
    explanation = explain('count(doc("a.xml")//x) + count(doc("b.xml")//x)')
    assert explanation.verdict == "one pass over each of two documents; state: two counts"
    assert explanation.passes == 1


def test_a_document_that_is_read_more_often_than_another_is_named() -> None:
    text = verdict('count(doc("a")//x) + count(doc("b")//y[. > max(doc("b")//y)])')
    assert text.startswith('one pass over doc("a") and two passes over doc("b"): max(')


def test_a_query_may_import_modules(tmp_path: Path) -> None:
    (tmp_path / "m.xqm").write_text("module namespace m = 'urn:m'; declare function m:name($p) { $p/name };")
    query = "import module namespace m = 'urn:m' at 'm.xqm'; for $p in //person return m:name($p)"
    explanation = explain(query, base_uri=tmp_path.as_uri() + "/")
    assert explanation.verdict == "one pass; state: one person at a time"
    assert "Project π m:name($p)" in str(explanation)


def test_a_sort_blocks_with_its_place() -> None:
    assert verdict("for $i in //item\norder by $i/price\nreturn $i/name").startswith("one scan; blocking: order by (")


def test_a_join_keeps_keys_and_projected_parts() -> None:
    text = verdict("for $a in //a for $b in //b where $a/@k = $b/@k return <p>{$a/x, $b/y}</p>")
    assert text.startswith("one scan; blocking: join (")
    assert text.endswith("state: keys and projected parts of //a and //b")


def test_streams_are_explained_as_the_document_they_describe() -> None:
    assert explain('count(stream("s")//a)').verdict == explain("count(//a)").verdict


def test_external_variables_need_no_declaration_when_they_are_named() -> None:
    assert explain("//a[@k = $k]", variables=["k"]).passes == 1


# ------------------------------------------------------------------------------------------------ sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//person", "The context document is read once, and the answer comes while it is read."),
        ("count(//person)", "The context document is read once, and the answer is known at its end."),
        (
            "count(doc('a')//x) + count(doc('b')//x)",
            'doc("a") and doc("b") are read once, and the answer is known at its end.',
        ),
        (
            "for $i in //b return count(//a)",
            "The context document is read twice: count(//a) is needed while //b is traversed.",
        ),
        (
            "//b[last()]",
            "The context document is read once; //b[last()] (1:1) needs all of it before the first answer.",
        ),
        ("1 + 1", "No document is scanned: the query reads none whose name is known before it runs."),
    ],
)  # fmt: skip
def test_the_first_sentence_says_when_the_answer_comes(text: str, expected: str) -> None:
    assert next(sentences(explain(text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('count(stream("s")//a)', "only what a change touches is evaluated again."),
        ('(stream("s")//a, doc("b.xml"))', "the whole query is computed anew at every change: it reads a stored "),
        (
            'deep-equal(stream("s")//a, 1)',
            "what a change touches is evaluated again, and the parts named below are computed anew.",
        ),
    ],
)
def test_the_last_sentence_says_how_changes_are_followed(text: str, expected: str) -> None:
    *_, last = sentences(explain(text))
    assert last.startswith(f"Where a stream goes on (xcast watch), {expected}")


# ----------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_no_line_is_longer_than_100_and_none_is_ragged(file: Path) -> None:
    explanation = explain(file.read_text())
    lines = f"{explanation}\n{explanation.why()}".splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_every_step_has_an_id_and_a_class(file: Path) -> None:
    steps = [line for line in str(explain(file.read_text())).splitlines() if re.match(r" *s\d+ ", line)]
    assert [line.split()[0] for line in steps] == [f"s{number}" for number in range(1, len(steps) + 1)]
    classes = r"(pipeline|progressive|blocking) +(none|depth|window|keys|result|input) +(append|upsert|retract)$"
    assert all(re.search(classes, line) for line in steps)


def steps(text: str) -> list[str]:
    top = explain(text).top
    return [] if top is None else top.outline().splitlines()


def test_the_operators_of_a_nested_loop_over_the_document() -> None:
    assert steps((FIXTURES / "xmark" / "q08.xq").read_text()) == [
        "Construct θ <item>",
        "  Join ⋈ $t/buyer/@person = $p/@id",
        "    Extract ρ $p in /site/people/person",
        "    Reduce Δ count",
        "      Extract ρ $t in /site/closed_auctions/closed_auction",
    ]


def test_the_operators_of_a_grouped_pass() -> None:
    assert steps("for $i in 1 to 9 return <n>{$i, count(//pixel[x = $i])}</n>") == [
        "Construct θ <n>",
        "  Unnest μ $i in 1 to 9",
        "    Nest Γ count by x",
        "      Select σ x = $i",
        "        Extract ρ //pixel",
    ]


def test_the_operators_of_several_aggregates() -> None:
    assert steps("<r>{count(//a[x > 1])}{//b}</r>") == [
        "Construct θ <r>",
        "  Reduce Δ count",
        "    Select σ x > 1",
        "      Extract ρ //a",
        "  Extract ρ //b",
    ]


def test_a_loop_within_an_item_is_unnested() -> None:
    assert steps("for $a in //a for $b in $a/b order by $b return $b") == [
        "Sort by $b",
        "  Unnest μ $b in $a/b",
        "    Extract ρ $a in //a",
    ]


def test_steps_have_ids() -> None:
    found = explain("count(//a)").steps
    assert [(id, each.symbol.value) for id, each in found.items()] == [("s1", "Reduce Δ"), ("s2", "Extract ρ")]


def test_the_operators_of_a_join() -> None:
    explanation = explain("for $a in //a for $b in //b where $a/@k = $b/@k return <p>{$a/x}</p>")
    assert explanation.top is not None
    assert explanation.top.outline().splitlines() == [
        "Construct θ <p>",
        "  Join ⋈ $a/@k = $b/@k",
        "    Extract ρ $a in //a",
        "    Extract ρ $b in //b",
    ]


def test_tests_in_the_scan_are_told() -> None:
    text = str(explain('for $p in /site/people/person[@id = "person0"] return $p/name/text()'))
    assert '@id = "person0", in the scan' in text


def test_counting_keeps_nothing() -> None:
    assert "count of //a, in the scan" in str(explain("count(//a)"))


def test_the_blocking_part_is_shown_with_its_line() -> None:
    text = str(explain("for $i in //item\norder by $i/price\nreturn $i"))
    assert "blocking: order by over the whole document" in text
    assert "hint: without the order the answer would stream" in text


def test_what_the_theorems_do_not_see_is_said_beside_them() -> None:
    text = explain("//a/following::b").why()
    assert "§3.2       no   the following axis leaves the record" in text
    text = explain("if (exists(//a)) then //b else ()").why()
    assert "theorem 3  no   a cycle: S1 ≻ v1 → output" in text
    assert "one pass all the same" in text


def test_the_graph_in_dot_has_both_states_and_clusters() -> None:
    drawn = explain("count(/a/b) + count(/a/c)").dot()
    assert drawn.count("subgraph cluster_") == 3
    assert '"before S1" -> "before v1" [style=dashed];' in drawn
    assert '"after S0" -> "after S1";' in drawn
    assert drawn.count("{") == drawn.count("}")


# ------------------------------------------------------------------------------------------------ structure


def test_a_structure_resolves_paths(auction: Structure) -> None:
    text = str(explain("count(//item)", structures={"": auction}))
    assert "//item is /site/regions/africa/item, /site/regions/asia/item" in text


def test_a_structure_tells_which_fragments_a_stream_s_query_needs(auction: Structure) -> None:
    text = str(explain('stream("auction")//person/name', structures={"auction": auction}))
    assert "fragments needed: tsid 1, 9, 10, 11 (4 of 11)" in text, "a tag without a type may come as a fragment"


def test_paths_that_lead_nowhere_are_warned_of(auction: Structure) -> None:
    [warning] = explain("count(/site/items)", structures={"": auction}).warnings
    assert warning == "nothing matches /site/items by the structure"
    [warning] = explain('stream("auction")/site/items', structures={"auction": auction}).warnings
    assert "nothing matches items" in warning


# ----------------------------------------------------------------------------------------------------- docs


def test_the_page_in_docs_says_what_the_code_says() -> None:
    tool = imported(ROOT / "tools" / "xmark_explain.py")
    page = (ROOT / "docs" / "explain.md").read_text()
    assert tool.written(page) == page, "run tools/xmark_explain.py"


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
