"""The stream data-flow graph and its fusions, by the figures of VLDB'05 §4."""

from __future__ import annotations

import pytest
from random_queries import Random  # the generator of the evaluator's tests

from xstreamcast.functions.registry import known_function
from xstreamcast.lang import parse
from xstreamcast.plan.graph.build import stream_graph
from xstreamcast.plan.graph.fusion import fuse
from xstreamcast.plan.graph.nodes import Graph, path_between, successors

QUERY_1 = "let $b := count(/stream/pixel[x > 0]) for $i in /stream/pixel return $i/x idiv $b"
QUERY_2 = "let $b := count(/stream/pixel[x > 0]) return sum(/stream/pixel/y) idiv $b"
QUERY_3 = "let $b := for $i in /stream/pixel[x > 0] return $i for $j in $b/y where $j = count($b) return $j"


def graph(text: str) -> Graph:
    return stream_graph(parse(text, known_functions=known_function))


def edges(text: str) -> set[str]:
    return set(map(str, graph(text).edges))


def sequences(text: str) -> list[str]:
    return [node.id for node in graph(text).nodes if node.sequence]


def supernodes(text: str) -> list[set[str]]:
    return [set(supernode.members) for supernode in fuse(graph(text)).supernodes]


def fusions(text: str) -> list[str]:
    fused = fuse(graph(text))
    return [str(fusion) for fusion in (*fused.horizontal, *fused.grouped)]


def is_acyclic(drawn: Graph) -> bool:
    after = successors(drawn.edges)
    return not any(path_between(after, node.id, node.id) for node in drawn.nodes)


def test_figure_3_the_graph_of_query_1() -> None:
    assert edges(QUERY_1) == {"S1 ≻ v1", "v1 → $b", "S2 → $i", "$i → output", "$b → output"}
    assert sequences(QUERY_1) == ["S1", "S2", "output"]


def test_figure_4_horizontal_fusion_of_query_2_leaves_the_rest_of_each_path() -> None:
    fused = fuse(graph(QUERY_2))
    assert [str(fusion) for fusion in fused.horizontal] == ["fused /stream/pixel: S1, S2"]
    labels = {node.id: node.label for node in fused.graph.nodes}
    assert (labels["S0"], labels["S1"], labels["S2"]) == ("/stream/pixel", "[x > 0]", "/y")
    assert {str(edge) for edge in fused.graph.edges} >= {"S0 → S1", "S0 → S2"}


def test_figure_5_a_traversal_without_a_rest_is_gone_and_its_children_hang_on_the_prefix() -> None:
    fused = fuse(graph(QUERY_1))
    assert "S2" not in {node.id for node in fused.graph.nodes}
    assert "S0 → $i" in {str(edge) for edge in fused.graph.edges}
    assert [set(supernode.members) for supernode in fused.supernodes] == [{"S0", "S1", "$i", "output"}]


def test_figure_6_vertical_fusion_of_query_3_leaves_only_the_count_outside() -> None:
    assert edges(QUERY_3) >= {"$i → $b", "$b → S2", "$b ≻ v1", "v1 → output (control)"}
    assert supernodes(QUERY_3) == [{"S1", "$i", "$b", "S2", "$j", "output"}]


def test_prefixes_are_shared_as_far_as_each_group_goes() -> None:
    assert fusions("count(/a/b) + count(/a/b/c) + count(/a/b/c/d) + count(/a/e)") == [
        "fused /a: S1, S2, S3, S4",
        "fused /a/b: S1, S2, S3",
        "fused /a/b/c: S2, S3",
    ]


def test_paths_without_a_common_step_share_the_document() -> None:
    assert fusions("count(//a) + count(/b)") == ["fused /: S1, S2"]


def test_traversals_of_two_documents_are_not_fused() -> None:
    assert fusions('count(doc("a")//x) + count(doc("b")//x)') == []


def test_a_loop_over_a_range_is_one_grouped_traversal_not_unrolled() -> None:
    loop = "for $i in 1 to 2 for $j in 1 to 9 let $b := //pixel[x = $i and y = $j] return count($b)"
    assert fusions(loop) == ["grouped by $i: S1", "grouped by $j: S1"]
    assert supernodes(loop) == [{"S1", "$b"}]


def test_what_looks_at_one_item_is_no_node() -> None:
    text = "for $p in //person let $n := $p/name where count($p/watch) > 2 and $n != '' return <p>{$n, $p/age[1]}</p>"
    assert edges(text) == {"S1 → $p", "$p → output"}


def test_the_output_has_a_node_for_each_part_so_that_none_waits_for_another() -> None:
    assert edges("<r n='{count(//a)}'>{//b}{sum(//c)}</r>") == {
        *("S1 ≻ v1", "v1 → output 1", "S2 → output 2", "S3 ≻ v2", "v2 → output 3"),
    }


def test_a_predicate_on_an_aggregate_is_control() -> None:
    assert "v1 → S2 (control)" in edges("//a[x > avg(//a/x)]")


def test_united_paths_are_one_traversal() -> None:
    assert fusions("count(/r/a | /r/b)") == ["fused /r: S1, S2"]
    assert supernodes("count(/r/a | /r/b)") == [{"S0", "S1", "S2", "S3"}]


def test_a_loop_over_the_root_element_is_no_loop_for_there_is_one() -> None:
    text = "for $s in /site return count($s//item) + count($s/people/person)"
    assert fusions(text) == ["fused /site: S1, S2"]
    assert edges(text) == {"S1 ≻ v1", "S2 ≻ v2", "v1 → output", "v2 → output"}


def test_a_predicate_on_the_root_element_is_about_the_whole_document() -> None:
    assert "v1 → S2 (control)" in edges("/biblio[publisher = 'Wiley']/book")


def test_functions_of_the_query_are_looked_into() -> None:
    text = "declare function local:half($s) { sum($s/x) div 2 }; local:half(/a/b)"
    assert edges(text) == {"S1 → S2", "S2 ≻ v1", "v1 → output"}


def test_prolog_variables_are_nodes_when_they_are_used() -> None:
    assert edges("declare variable $all := //a; declare variable $none := //b; count($all)") == {
        *("S1 → $all", "$all ≻ v1", "v1 → output"),
    }


def test_prolog_variables_are_the_same_in_functions() -> None:
    text = "declare variable $d := //a; declare function local:f() { sum($d/x) }; (count($d), local:f())"
    assert edges(text) == {
        *("S1 → $d", "$d ≻ v1", "$d → S2", "S2 ≻ v2", "v1 → output 1", "v2 → output 2"),
    }


def test_functions_that_call_each_other_often_are_not_looked_into_forever() -> None:
    functions = "".join(
        f"declare function local:f{n}($s) {{ local:f{n + 1}($s/a) + local:f{n + 1}($s/b) }}; " for n in range(20)
    )
    drawn = graph(functions + "declare function local:f20($s) { count($s) }; local:f0(//x)")
    assert len(drawn.nodes) < 3000


def test_variables_of_one_name_are_told_apart() -> None:
    ids = [node.id for node in graph("(for $i in //a return $i, for $i in //b return $i)").nodes]
    assert [id for id in ids if id.startswith("$")] == ["$i", "$i′"]


@pytest.mark.parametrize("text", ["1 + 1", "for $i in 1 to 3 return $i", "declare variable $x external; $x"])
def test_a_query_without_documents_has_no_sequence_nodes(text: str) -> None:
    assert sequences(text) == []


@pytest.mark.parametrize("text", [QUERY_1, QUERY_2, QUERY_3, "for $a in //a, $b in //b where $a = $b return $a"])
def test_lemma_1_the_graph_of_a_query_has_no_cycle(text: str) -> None:
    assert is_acyclic(graph(text))


@pytest.mark.parametrize("seed", range(150))
def test_the_graph_of_any_query_is_sound_before_and_after_fusion(seed: int) -> None:
    drawn = graph(Random(seed).query())
    assert is_acyclic(drawn)
    fused = fuse(drawn)
    for each in (drawn, fused.graph):
        ids = [node.id for node in each.nodes]
        assert len(set(ids)) == len(ids)
        assert {end for edge in each.edges for end in (edge.origin, edge.target)} <= set(ids)
    members = [member for supernode in fused.supernodes for member in supernode.members]
    assert len(set(members)) == len(members)
