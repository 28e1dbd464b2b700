"""The benchmarks compare what is equal: every query, its lxml script and the workers give one answer."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import documents, papers, peers, xcql
from bench.__main__ import BENCHMARKS, main
from bench.answers import normal, same
from bench.cases import CASES, Case, find
from bench.plots import Curves, Dots, Plot, save
from bench.report import sections, write
from xstreamcast import query


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Documents of a few hundred KB, generated into a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("bench")))
        patch.delenv("XMARK", raising=False)
        documents.scale(0.001)
        yield
        documents.scale(1.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_a_script_for_lxml_answers_what_its_query_answers(case: Case) -> None:
    # A file too small to be scanned meets the recursion as it is written, in quadratic time.
    document = case.document(0.1 if case.source == "items" else 1.0)
    assert normal("".join(case.script(str(document)))) == normal(query(case.query, context=document).xml())


def test_the_cases_are_xmark_xflux_xfrag_and_the_three_applications() -> None:
    groups = [case.group for case in CASES]
    assert [groups.count(group) for group in dict.fromkeys(groups)] == [20, 9, 3, 3]
    assert sum(case.selective for case in CASES) == 15
    assert all("stream(" not in case.query for case in CASES if case.group != "XMark")


@pytest.mark.parametrize("tool", ["xstreamcast", "lxml"])
def test_a_worker_tells_its_cost_and_leaves_its_answer(tool: str, tmp_path: Path) -> None:
    case = find("xmark-20")
    cost = peers.run(tool, case, case.document(), case.document(), tmp_path / "answer")
    assert not cost.failure
    assert 0 < cost.first <= cost.wall
    assert "".join(case.script(str(case.document()))) == normal((tmp_path / "answer").read_text())[8:-9]


def test_a_worker_that_takes_too_long_is_ended_and_said_so(tmp_path: Path) -> None:
    case = find("xmark-1")
    cost = peers.run("lxml", case, case.document(), case.document(), tmp_path / "answer", limit=0)
    assert cost.failure == "> 0 s"


def test_a_worker_that_fails_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<site>")
    assert peers.run("lxml", find("xmark-1"), broken, broken, tmp_path / "answer").failure == "failed"
    assert "XMLSyntaxError" in capsys.readouterr().err


def test_answers_are_the_same_whatever_their_spelling(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text('<?xml version="1.0"?>\n<a y="2" x="1"></a>3.0000000001')
    other.write_text("<a x='1' y='2'/>3.00000000012")
    assert same(one, other)
    other.write_text("<a x='1' y='2'/>3.1")
    assert not same(one, other)


def test_a_report_keeps_the_sections_of_benchmarks_that_did_not_run(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    for name, printed in (("scan", "| 1 |"), ("shell", "| 2 |"), ("scan", "| 3 |")):
        write(name, "What it is.", printed, (), page)
    found = sections(page.read_text())
    assert list(found) == ["scan", "shell"]
    assert "| 3 |" in found["scan"]
    assert "| 1 |" not in page.read_text()
    assert "| 2 |" in found["shell"]


@pytest.mark.parametrize(
    "plot",
    [
        Dots("dots.svg", "Costs", "s", ["a", "b"], {"xstreamcast": [1, 2], "lxml": [3, None]}),
        Curves("curves.svg", "Growth", "s", {name: ([1, 10], {"xstreamcast": [1, 9]}) for name in ("a", "b")}),
    ],
    ids=["dots", "curves"],
)
def test_equal_figures_give_equal_plots(plot: Plot, tmp_path: Path) -> None:
    drawn = [save(plot, tmp_path).read_bytes() for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert plot.title.encode() in drawn[0]


def test_an_unknown_benchmark_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "nonesuch"])
    with pytest.raises(SystemExit, match="no benchmark nonesuch; there are papers, start, single_pass"):
        main()


def test_every_benchmark_is_a_module_with_a_run() -> None:
    folder = Path(peers.__file__).parent
    assert all("def run(" in (folder / f"{name}.py").read_text() for name in BENCHMARKS)


def test_the_papers_tables_have_a_figure_in_every_cell() -> None:
    for number, printed in papers.VLDB05.items():
        assert find(f"xmark-{number}").printed.startswith(printed["120"].split()[0])
        assert printed.keys() == papers.SIZES.keys()
        assert all(len(row.split()) == 4 for row in printed.values())
    for number, row in papers.ICDE08.items():
        printed_there = find(f"icde08-{number}").printed
        assert printed_there.startswith(f"{row[0]} s, ")
        assert printed_there.endswith(row[-1])


def test_the_methods_over_fragments_and_the_peers_memory_can_be_measured() -> None:
    found = xcql.measured("5", 1.0)
    assert found.same
    assert list(found.methods) == ["CaQ", "QaC", "QaC+"]
    times, held = papers._saxon_memory("//increase", str(documents.xmark(1.0)))
    assert len(times) == len(held) > 0
    assert max(held) > 0
