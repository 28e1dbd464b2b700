"""What a translation looks like, where it constructs first, what it refuses; the command; the examples of the docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command import Ran, xcast

from xstreamcast.errors import XStreamError
from xstreamcast.lang import parse
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.translate.program import STRATEGIES, Strategy, translate

CREDIT = """<structure><tag type="snapshot" id="1" name="creditAccounts"><tag type="temporal" id="2" name="account">
  <tag type="snapshot" id="3" name="customer"/><tag type="temporal" id="4" name="creditLimit"/>
  <tag type="event" id="5" name="transaction"><tag type="snapshot" id="6" name="vendor"/>
    <tag type="temporal" id="7" name="status"/><tag type="snapshot" id="8" name="amount"/></tag></tag></tag>
</structure>"""
PARTS = '<structure><tag id="1" name="part" type="filler"><tag id="2" name="name"/><tag ref="1"/></tag></structure>'
DOCS = Path(__file__).parents[2] / "docs" / "xcql.md"


def query_of(text: str, strategy: Strategy = "QaC", tags: str = CREDIT, **options: Any) -> str:
    """The translated query itself, on one line."""
    program = translate(text, strategy, structures={"s": parse_structure(tags)}, **options)
    return " ".join(program.split("(: the query :)")[1].split())


def heading(text: str, strategy: Strategy = "QaC", tags: str = CREDIT) -> str:
    return translate(text, strategy, structures={"s": parse_structure(tags)}).split(":)")[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_program_is_standard_xquery(strategy: Strategy) -> None:
    text = """for $a in stream("s")//account?[start, now] where $a/creditLimit?[now] > 9 and $a before now()
              return $a/transaction#[last]"""
    program = translate(text, strategy, structures={"s": parse_structure(CREDIT)})
    assert parse(program).body is not None
    assert not re.search(r"[?#]\[", re.sub(r"\(:.*?:\)", "", program, flags=re.DOTALL))


def test_construct_and_query_leaves_the_path_as_it_is() -> None:
    assert query_of('stream("s")//account/customer', "CaQ") == "$xcql:s-view//account/customer"


def test_a_step_goes_through_holes_only_where_the_structure_has_them() -> None:
    text = 'for $a in stream("s")/creditAccounts/account return data($a/customer)'
    child = 'xcql:child($xcql:s, ., fn:QName("", "account"))'
    assert query_of(text) == f"for $a in $xcql:s-document/creditAccounts ! {child} return data($a/customer)"


def test_only_what_leaves_the_query_is_constructed() -> None:
    assert "temporalize" not in query_of('count(stream("s")//transaction[amount > 5])')
    assert query_of('<x>{ stream("s")//account[@id = 1] }</x>').startswith("<x>{xcql:temporalize($xcql:s, ")
    assert "temporalize" not in query_of('stream("s")//account?[now]/creditLimit')


def test_fillers_are_taken_by_tsid() -> None:
    text = 'stream("s")//transaction[amount > 5]/@id/string()'
    fillers = 'xcql:fillers_by_tsid($xcql:s, 5, (1, 2), fn:QName("", "transaction"))[amount > 5]'
    assert query_of(text, "QaC+") == f"{fillers} ! @id ! string()"


def test_positions_count_from_the_parent_so_the_path_stays() -> None:
    assert "fillers_by_tsid($xcql:s, 2, 1" in query_of('stream("s")//transaction[1]', "QaC+")


def test_versions_of_a_parent_are_not_skipped_by_assuming_fillers_rooted() -> None:
    program = query_of('stream("s")//transaction', "QaC+", rooted=True)
    assert 'xcql:all_fillers_by_tsid($xcql:s, $xcql:s-arrivals, 2, fn:QName("", "account"))' in program
    assert "child" in program


@pytest.mark.parametrize(
    ("text", "why"),
    {
        'stream("s")//transaction/..': "the parent axis leaves the fragment (1:26)",
        'stream("s")//transaction/following-sibling::*': "the following-sibling axis leaves the fragment",
        'stream("s")//creditLimit | stream("s")//status': "node identity",
        'stream("s")//status is stream("s")//status': "node identity",
        'for $t in stream("s")//transaction return generate-id($t)': "generate-id() looks around the node",
        '(for $t in stream("s")//transaction order by $t/amount return $t)/vendor': "a step from nodes that are not in",
        "declare function local:f($x) { $x/.. }; local:f(stream('s')//status)": "the parent axis leaves the fragment",
        "for $n in ('s', 't') return stream($n), stream('s')": "stream() is called with a computed name",
    }.items(),
)
def test_where_a_fragment_is_not_as_good_as_the_node_the_stream_is_constructed_first(text: str, why: str) -> None:
    assert f"s is constructed first: {why}" in heading(text)
    assert "constructed first" not in heading(text, "CaQ")


def test_a_parent_in_the_same_fragment_is_no_reason_to_construct() -> None:
    text = 'for $v in stream("s")//vendor where $v/../amount > 5 return string($v)'
    assert "constructed first" not in heading(text)


def test_recursive_fragments_and_unknown_structures_are_constructed_first() -> None:
    assert "its fragments are recursive" in heading('stream("s")//part/name', "QaC", PARTS)
    assert "no tag structure is known" in translate('stream("t")//part', "QaC+").split(":)")[0]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("module namespace m = 'urn:m';", {}, "library module"),
        ("declare copy-namespaces no-preserve, inherit; 1", {}, "copy-namespaces"),
        ("declare namespace map = 'urn:m'; 1", {}, "prefix map"),
        ("1", {"strategy": "qac"}, "no strategy 'qac'"),
        ("1", {"rooted": True}, "QaC assumes nothing"),
        ("1", {"streams": {"s": "s.xml.gz"}, "structures": {"s": parse_structure(PARTS)}}, "compressed"),
    ],
)
def test_what_cannot_be_translated_is_refused_by_name(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(XStreamError, match=message) as raised:
        translate(text, **options)
    assert raised.value.code == "XSC0073"


# ------------------------------------------------------------------------------------------------------- the command


def run(*arguments: str) -> Ran:
    return xcast("translate", *arguments)


def test_the_command_prints_the_program_and_warns_of_paths_to_nowhere(tmp_path: Path) -> None:
    tags = tmp_path / "credit.tags"
    tags.write_text(CREDIT, encoding="utf-8")
    done = run('stream("s")//acount', "--strategy", "qac+", "--structure", f"s={tags}", "--now", "2003-11-02")
    assert done.code == 0
    assert done.out.decode().startswith('xquery version "3.1";')
    assert "nothing matches acount" in done.err
    assert 'external := xcql:time("2003-11-02T00:00:00")' in done.out.decode()


def test_the_command_writes_the_address_of_the_file(tmp_path: Path) -> None:
    query, stream, out = tmp_path / "q.xq", tmp_path / "credit.xml", tmp_path / "program.xq"
    query.write_text('count(stream("credit")//account)', encoding="utf-8")
    stream.write_text(f"<fragments>{CREDIT}</fragments>", encoding="utf-8")
    assert run("-f", str(query), "--stream", f"credit={stream}", "-o", str(out)).code == 0
    assert f'$xcql:credit-file as xs:string external := "{stream.as_uri()}";' in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [(), ("1", "--strategy", "best"), ("1", "--stream", "credit.xml"), ("1", "--assume", "nothing")]
)
def test_a_wrong_call_is_told_so(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 2


# ------------------------------------------------------------------------------------------------------- the docs


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{re.escape(kind)}\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)


EXAMPLES = list(zip(blocks("xquery"), blocks("result"), strict=True))


@pytest.mark.parametrize(("text", "result"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_docs_give_what_they_say(text: str, result: str, tmp_path: Path) -> None:
    from saxon_answers import evaluated, translated

    stream = tmp_path / "credit.xml"
    stream.write_text(blocks("xml")[0], encoding="utf-8")
    answers = [evaluated(text, {"credit": stream})]
    answers += [translated(text, strategy, {"credit": stream}) for strategy in STRATEGIES]
    assert {answer.replace("\n", "") for answer in answers} == {result.replace("\n", "")}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_docs_show_the_translation_as_it_is(strategy: Strategy) -> None:
    text = blocks("xquery")[-1]
    program = translate(text, strategy, structures={"credit": parse_structure(CREDIT)})
    (shown,) = blocks(f"translation {strategy}")
    assert re.sub(r"\s", "", program.split("(: the query :)")[1]) == re.sub(r"\s", "", shown)
