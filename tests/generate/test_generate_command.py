"""``xcast generate``: where results go, what is refused, and what an interruption leaves behind."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import called, xcast

import xstreamcast.cli.generate as command
from xstreamcast.errors import XStreamError
from xstreamcast.generate import NAMES, find
from xstreamcast.generate import credit as credit_module
from xstreamcast.model.change import Change, Eos
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.wire.fragment import read_stream


def run(*arguments: str) -> str:
    return called(command.generate_command, *arguments)


def changes_in(path: Path) -> list[Change]:
    return [arrival.item for arrival in read_stream(path) if isinstance(arrival.item, Change)]


def test_a_document_goes_to_a_file(tmp_path: Path) -> None:
    run("xmark", "--factor", "0.001", "-o", str(tmp_path / "auction.xml"))
    assert (tmp_path / "auction.xml").read_bytes() == b"".join(document("xmark", 0.001))
    assert [path.name for path in tmp_path.iterdir()] == ["auction.xml"]


def document(name: str, factor: float, seed: int = 1) -> Iterator[bytes]:
    made = find(name).document
    assert made is not None
    return made(factor, seed)


def test_a_packed_document_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    packed = b""
    for _ in range(2):
        before = packed
        run("items", "--factor", "0.0001", "--seed", "5", "-o", str(tmp_path / "items.xml.gz"))
        packed = (tmp_path / "items.xml.gz").read_bytes()
    assert packed == before
    assert gzip.decompress(packed) == b"".join(document("items", 0.0001, 5))


def test_standard_output_takes_one_result(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    command.generate("satellite", "-", factor=0.00001)
    assert capsysbinary.readouterr().out == b"".join(document("satellite", 0.00001))


def test_one_stream_goes_to_a_file_with_its_structure_first(tmp_path: Path) -> None:
    run("credit", "--factor", "0.01", "--updates", "20", "-o", str(tmp_path / "credit.xml"))
    arrived = [arrival.item for arrival in read_stream(tmp_path / "credit.xml")]
    assert isinstance(arrived[0], Structure)
    assert arrived[1:] == [change for _, change in credit_module.changes(0.01, 1, 20)]


def test_several_results_go_to_a_folder(tmp_path: Path) -> None:
    run("stock", "--factor", "0.01", "--updates", "10", "-o", str(tmp_path / "market"))
    assert sorted(path.name for path in (tmp_path / "market").iterdir()) == [
        "document.xml",
        "stock.xml",
        "structure-stock.xml",
        "structure-ticker.xml",
        "ticker.xml",
    ]
    assert isinstance(changes_in(tmp_path / "market" / "stock.xml")[-1], Eos)
    parse_structure((tmp_path / "market" / "structure-ticker.xml").read_bytes())


def test_a_folder_may_hold_one_stream_beside_its_document(tmp_path: Path) -> None:
    run("currencies", "--updates", "0", "-o", f"{tmp_path}/")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["currencies.xml", "document.xml", "structure.xml"]


def test_at_a_rate_a_folder_grows_file_by_file_in_name_order(tmp_path: Path) -> None:
    run("radar", "--factor", "0.001", "--updates", "30", "--rate", "200", "-o", str(tmp_path))
    made = find("radar").changes
    assert made is not None
    for stream in ("radar1", "radar2"):
        files = sorted((tmp_path / stream).iterdir())
        assert len(files) > 1
        together = [change for path in files for change in changes_in(path)]
        assert together == [change for name, change in made(0.001, 1, 30) if name == stream]


def test_at_a_rate_a_file_is_written_change_by_change(tmp_path: Path) -> None:
    run("commodities", "--factor", "0.001", "--updates", "3", "--rate", "1000", "-o", str(tmp_path / "c.xml"))
    assert isinstance(changes_in(tmp_path / "c.xml")[-1], Eos)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("xmrk", "-o", "x"), "did you mean xmark"),
        (("xmark", "--factor", "0", "-o", "x"), "factor 0"),
        (("xmark", "--factor", "nan", "-o", "x"), "factor nan"),
        (("credit", "--updates", "-1", "-o", "x"), "-1 updates"),
        (("credit", "--rate", "0", "-o", "x"), "rate 0"),
        (("xmark", "--updates", "5", "-o", "x"), "stored document, --updates has no meaning"),
        (("dblp", "--rate", "5", "-o", "x"), "stored document, --rate has no meaning"),
        (("packets", "-o", "both.xml"), "several streams"),
        (("packets", "-o", "-"), "several streams"),
        (("items", "-o", "no/such/folder/x.xml"), "cannot write"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(XStreamError) as refused:
        run(*arguments)
    assert message in str(refused.value)
    assert refused.value.hint
    assert not list(tmp_path.iterdir())


def test_a_growing_stream_does_not_mix_with_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "gsyn").mkdir()
    (tmp_path / "gsyn" / "000000000007.xml").touch()
    with pytest.raises(XStreamError, match="not empty"):
        run("packets", "--rate", "10", "-o", str(tmp_path))


def interrupting(after: int) -> Callable[[float, int, int], Iterator[tuple[str, Change]]]:
    def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
        for number, arrival in enumerate(credit_module.changes(factor, seed, updates)):
            if number == after:
                raise KeyboardInterrupt
            yield arrival

    return changes


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    made = replace(credit_module.GENERATOR, changes=interrupting(7))
    monkeypatch.setattr(credit_module, "GENERATOR", made)


@pytest.mark.usefixtures("interrupted")
def test_an_interruption_leaves_no_unfinished_file(tmp_path: Path) -> None:
    for out in ("credit.xml", "credit.xml.gz", "folder"):
        assert xcast("generate", "credit", "--factor", "0.01", "-o", tmp_path / out).code == 130
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"document.xml", "structure.xml"}


@pytest.mark.usefixtures("interrupted")
def test_an_interrupted_live_stream_is_closed_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "live.xml"
    assert xcast("generate", "credit", "--factor", "0.01", "--rate", "5000", "-o", out).code == 130
    assert b"<!-- interrupted after 7 changes -->" in out.read_bytes()
    assert len(changes_in(out)) == 7


def test_the_list_names_every_generator() -> None:
    lines = xcast("generate", "--list").out.decode().splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)


def test_the_help_shows_examples() -> None:
    assert "xcast generate xmark --factor 0.1 -o auction.xml" in xcast("generate", "--help").out.decode()


def test_progress_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run("items", "--factor", "0.0001", "-o", str(tmp_path / "i.xml"))
    assert capsys.readouterr().err == ""


def test_progress_hears_of_every_byte_of_a_document(tmp_path: Path) -> None:
    heard: list[int] = []
    command.generate("items", str(tmp_path / "i.xml"), factor=0.0001, step=heard.append)
    assert sum(heard) == (tmp_path / "i.xml").stat().st_size
